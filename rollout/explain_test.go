package rollout_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/rollout"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// What Explain says of nodes that the spec holds, and of pods in the middle of an update or of a hook.
func TestExplainHoldsAndSteps(t *testing.T) {
	inPlace := method(inplace.IfPossible)
	tests := []struct {
		scene
		says string // of node "a"
	}{
		{scene{name: "partition", why: "T2: with its places", spec: []kit.SpecOption{partition("1")}, fleet: []spot{on("a", oldPod())}},
			`a: outdated; is held: its pod a0 is outdated, but partition 1: 1 of 1 places taken`},
		{scene{name: "selector", why: "T3: as kubectl spells it", spec: []kit.SpecOption{nodeType("canary")}, fleet: []spot{on("a", oldPod())}},
			`a: outdated; is held: its pod a0 is outdated, but selector nodeType=canary does not match the node`},
		{scene{name: "in place only, the pod", why: "I1, I3", spec: []kit.SpecOption{method(inplace.Only)}, fleet: []spot{on("a", oldPod())}},
			`a: outdated; is held: its pod a0 is outdated, but the method is InPlaceOnly: no readiness gate InPlaceUpdateReady`},
		{scene{name: "not in place, the pod", why: "I1, I3", spec: []kit.SpecOption{inPlace}, fleet: []spot{on("a", oldPod())}},
			`a: outdated; replace pod a0: the pod is outdated, and the budget allows it; not in place: no readiness gate ` +
				`InPlaceUpdateReady; counts against maxUnavailable`},
		{scene{name: "not in place, the revision", why: "I1, I3", spec: []kit.SpecOption{inPlace}, fleet: []spot{on("a", podAt("lost", updatable))}},
			`a: outdated; replace pod a0: the pod is outdated, and the budget allows it; not in place: the history has no readable revision "lost"; ` +
				`counts against maxUnavailable`},
		{scene{name: "in place", why: "I4", spec: []kit.SpecOption{inPlace}, fleet: []spot{on("a", oldPod(updatable))}},
			`a: outdated; update pod a0 in place: the pod is outdated, and the budget allows it; counts against maxUnavailable`},
		{scene{name: "grace", why: "I4: with the instant", spec: []kit.SpecOption{inPlace, grace(30)}, fleet: []spot{on("a", oldPod(inGrace(ago(0))))}},
			`a: outdated; waits: pod a0 was made unready, and is updated in place after the grace period, until 2026-01-01T12:00:30Z; ` +
				`counts against maxUnavailable`},
		{scene{name: "updating", why: "I5", spec: []kit.SpecOption{inPlace}, fleet: []spot{on("a", newPod(updatingSince(ago(0))))}},
			`a: starting; waits: pod a0 is being updated in place; counts against maxUnavailable`},
		{scene{name: "complete", why: "I4", spec: []kit.SpecOption{inPlace}, fleet: []spot{on("a", newPod(restarted(ago(0))))}},
			`a: starting; patch pod a0: an in-place update or a hook goes on; counts against maxUnavailable`},
		{scene{name: "asked", why: "L2", spec: []kit.SpecOption{draining}, fleet: []spot{on("a", oldPod(hooked))}},
			`a: outdated; prepare pod a0: the pod is outdated, and the budget allows it; counts against maxUnavailable`},
		{scene{name: "preDelete", why: "L2", spec: []kit.SpecOption{draining}, fleet: []spot{on("a", oldPod(hooked, asked))}},
			`a: terminating; waits: pod a0 is to be deleted, and waits for its preDelete hook; counts against maxUnavailable`},
		{scene{name: "let go", why: "L2", spec: []kit.SpecOption{draining}, fleet: []spot{on("a", oldPod(asked))}},
			`a: terminating; delete pod a0: the pod is to leave, and no preDelete hook holds it; counts against maxUnavailable`},
		{scene{name: "taken back", why: "L2", spec: []kit.SpecOption{draining}, fleet: []spot{on("a", newPod(hooked, asked))}},
			`a: updated; patch pod a0: pod a0 was to be deleted or updated, and is not any more; counts against maxUnavailable`},
	}
	rows := uniqueRows{}
	for _, tt := range tests {
		rows.check(t, tt.name, tt.why)
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.lab().plan(t).Explain("a"); got != tt.says {
				t.Errorf("\n got: %s\nwant: %s\n why: %s", got, tt.says, tt.why)
			}
		})
	}
}

// The first obstacle is named by its field path, the others are counted.
func TestExplainNamesTheObstacle(t *testing.T) {
	l := newLab(method(inplace.IfPossible), func(s *rollout.Spec) {
		c := &s.Template.Spec.Containers[0]
		c.Env = []corev1.EnvVar{{Name: "LEVEL", Value: "info"}}
		c.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}
	})
	// The old revision has the same spec as the new one, but for its image; make it differ further.
	old := l.spec.Default()
	kit.Image("agent:v1")(&old)
	old.Template.Spec.Containers[0].Env = nil
	old.Template.Spec.Containers[0].Command = []string{"run"}
	l.snapshot.Revisions[0] = kit.Revision(old, 1)
	l.old = kit.Hash(old)
	l.add(on("a", oldPod(updatable)))
	says := l.plan(t).Explain("a")
	if want := "not in place: spec.containers[main].command[0]: "; !strings.Contains(says, want) {
		t.Errorf("got %s, want it to contain %q", says, want)
	}
	if want := ", and 1 more"; !strings.Contains(says, want) {
		t.Errorf("got %s, want it to contain %q: an environment variable was added, too", says, want)
	}
}

func TestExplainPartitionedScaling(t *testing.T) {
	says := firstInstallation(partition("2")).add(on("a")).plan(t).Explain("a")
	want := "a: missing; is held: partition 2: a first installation leaves as many nodes empty; counts against maxUnavailable"
	if says != want {
		t.Errorf("\n got: %s\nwant: %s", says, want)
	}
}
