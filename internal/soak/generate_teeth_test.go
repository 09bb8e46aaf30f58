//go:build teeth

package main

import (
	"testing"

	"github.com/daemonplan/daemonplan/internal/worlds"
	"github.com/daemonplan/daemonplan/rollout/simulate"
)

// reached are the features of runs that the generator is to come to soon.
func reached() features {
	all := features{}
	for _, name := range []string{
		"first installation", "predecessor", "little room", "tainted pool", "recurring event",
		"crashing pods", "failing pods", "pods never ready", "no image", "failed pulls", "peer-to-peer", "stubborn hooks",
		"lag", "limited calls", "failed calls", "lost answers", "controller crashed",
		"maxSurge", "maxUnavailable in percent", "OnDelete", "partition", "update selector", "holdRevision", "partitioned scaling",
		"paused", "frozen", "method InPlaceIfPossible", "method InPlaceOnly", "resize", "envFromMetadata", "grace period",
		"slow start", "maxUnschedulable", "minReadySeconds", "burst", "history limit", "pre-download", "overrides",
		"preDelete hook", "inPlaceUpdate hook", "preNormal hook", "canary", "manual canary",
		"updated in place", "surged", "waited for a back-off", "waited for preDelete", "taken back", "pulled ahead",
		"canary promoted", "canary paused", "canary failed", "ended done", "ended stuck", "sidecar", "memory lost in crashes",
		"spec changed again and again",
	} {
		all[name] = true
	}
	for what := simulate.AddNodes; what <= simulate.SetClock; what++ {
		// Silence and taints end by themselves, and maintenance and orders mean something to policies only, which these worlds
		// do not have.
		if what == simulate.ApproveStage || what == simulate.ExpediteRevision || what == simulate.RetryRevision {
			continue
		}
		if what != simulate.NodeReady && what != simulate.UntaintNode && what != simulate.MaintainNode {
			all["event "+what.String()] = true
		}
	}
	return all
}

// TestPoliciesReachEverything: so does what policies are about.
func TestPoliciesReachEverything(t *testing.T) {
	const runs = 150
	missing := features{}
	for _, name := range []string{
		"outages", "departing nodes touched", "domain with max", "domain with atOnce", "domain with a selector",
		"down from the beginning", "event MaintainNode", "left out because it was down", "left alone", "waited for a domain",
		"stage with a key", "stage with a selector", "stage that soaks", "stage with tolerance", "stage that is approved",
		"failures Pause", "failures Rollback", "failures by restarts", "quarantine", "event ApproveStage", "event ExpediteRevision",
		"left out because it has failed", "node has failed", "waited for a stage", "waited for a soak", "waited for an approval",
		"stopped by failures", "given up", "rolled back", "stale approvals",
	} {
		missing[name] = true
	}
	for seed := uint64(0); seed < runs && len(missing) > 0; seed++ {
		out := check(worlds.WithPolicies(seed), checkOptions{})
		if out.failure != nil {
			t.Fatalf("seed %dp: %s: %s", seed, out.failure.kind, out.failure.text)
		}
		for name := range out.features {
			delete(missing, name)
		}
	}
	for name := range missing {
		t.Errorf("no run of %d had: %s", runs, name)
	}
}

// TestGeneratorReachesEverything: each feature occurs soon, so that no part of the planner is left out for long.
func TestGeneratorReachesEverything(t *testing.T) {
	const runs = 300
	known, missing := reached(), reached()
	for seed := uint64(0); seed < runs && len(missing) > 0; seed++ {
		out := check(worlds.Scenario(seed), checkOptions{})
		if out.failure != nil {
			t.Fatalf("seed %d: %s: %s", seed, out.failure.kind, out.failure.text)
		}
		for name := range out.features {
			delete(missing, name)
			if !known[name] && name != "ended limit" {
				t.Errorf("the list of features lacks: %s", name)
			}
		}
	}
	for name := range missing {
		t.Errorf("no run of %d had: %s", runs, name)
	}
}
