// Package generate draws specs and snapshots for properties that are checked with pgregory.net/rapid: what holds for every
// state that a fleet can be in, however unlikely, instead of for the few that a test writes down.
//
//	rapid.Check(t, func(t *rapid.T) {
//		snapshot := generate.Snapshot(spec).Draw(t, "snapshot")
//		plan, err := planner.Plan(snapshot)
//		if err != nil {
//			t.Fatal(err)
//		}
//		for _, d := range plan.Deletes {
//			if protected(d.Node) {
//				t.Fatalf("%s is deleted: %s", d.Pod, plan.Explain(d.Node))
//			}
//		}
//	})
//
// The spec is mostly one's own, and [Snapshot] says what becomes of it. [Spec] and [CanarySpec] are for whoever has something
// around the planner that must hold with every spec, such as an admission rule or a filter of plans.
// rollouttest.CheckInvariants takes what is drawn here.
//
// What is drawn shrinks well: to few nodes named "a", "b" and so on, each with one healthy updated pod, and to a spec with
// defaults. It is drawn from a small vocabulary on purpose, so that what is drawn meets: labels "zone", taints "dedicated",
// images "agent:v0" to "agent:v3".
//
// # Contract
//
// A generator is a function of rapid's bits alone: the same seed draws the same. Each value is new and the caller's own. Which
// values are drawn, and in which order, may change in any version.
package generate

import (
	"pgregory.net/rapid"

	"github.com/daemonplan/daemonplan/internal/harness/draw"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// Spec draws valid specs of the set "agent" with every knob that a DaemonSet or OpenKruise's Advanced DaemonSet has: both
// budgets as integers and percentages, OnDelete, paused, frozen, minReadySeconds, burst, history limit and the placement
// fields of the template; and, for every other one, partition, node selector, partitioned scaling, hold of revisions,
// in-place updates with all their options, hooks and pulls of images ahead; and, for every third one, a policy for outages.
// None has a canary, slow start or overrides: those have [CanarySpec].
//
// The options are applied to what was drawn, in order; without any nothing is. With maxSurge among them, no spec updates in
// place. An option may make the spec invalid.
func Spec(options ...rollouttest.SpecOption) *rapid.Generator[rollout.Spec] {
	return draw.AnySpec(options...)
}

// CanarySpec draws specs as [Spec] does with what the Datadog ExtendedDaemonSet adds: most of them with a canary, of all options
// and commands, stale ones too; some with slow start, maxUnschedulable, and overrides, also such that conflict or mean nothing.
// The options are applied to what was drawn. With OnDelete there is no canary, and a canary's timeout that is too short for its
// duration is dropped (C7).
func CanarySpec(options ...rollouttest.SpecOption) *rapid.Generator[rollout.Spec] {
	return draw.AnyCanarySpec(options...)
}

// Snapshot draws snapshots of the spec's set at [rollouttest.Noon] that keep the contract of [rollout.Snapshot], however unlikely
// a live cluster is to show them: up to 40 nodes with labels, taints of every effect, cordoned, not ready and unreachable ones;
// on each any number of pods of the update revision, of older, unknown or no revision, in every phase, terminating or not,
// Ready since long ago, since exactly minReadySeconds or since now, bound or only pinned; pods of nodes that are gone and of no
// node at all; revisions with duplicates, name collisions, unreadable data and a long history; requests in flight and the
// memory of other days. About half of them are calm: one pod per node, of the update revision or of an older one, most of them
// healthy. Empty ones are drawn as well.
//
// What the spec has decides what else there is: with in-place updates and hooks, pods that are half way through them; with
// pulls of images, nodes that have them, and pulls that failed; with a policy for outages, nodes that are down or departing;
// with a canary, slow start or overrides, revisions that were promoted or failed, pods that restarted or wait, nodes with
// resources of their own, and a canary that is remembered.
//
// The spec must be one that [rollout.New] accepts; its template needs a container. Older revisions have its template with
// another image.
func Snapshot(spec rollout.Spec) *rapid.Generator[rollout.Snapshot] { return draw.AnySnapshot(spec) }
