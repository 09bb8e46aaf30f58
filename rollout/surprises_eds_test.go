package rollout_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/daemonplan/daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/history"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
	"github.com/daemonplan/daemonplan/rollout/verify"
)

// edsSurprise is what we do where the ExtendedDaemonSet controller surprises. The number is that of the recordings' README.
type edsSurprise struct {
	number          int
	name, rule, why string
	spec            []kit.SpecOption
	fleet           []spot
	set             func(*lab)
	acts            string // see acts
	says            string // see edsSays
	refused         string // the field for which New refuses the spec; all else is empty
}

// edsSays returns how the trial stands, or without a canary what is counted.
func edsSays(plan rollout.Plan) string {
	if c := plan.Canary; c.Phase != canary.Idle || c.Reason != canary.ReasonNone {
		return fmt.Sprintf("%v %v %v", c.Phase, c.Reason, c.Nodes)
	}
	s := plan.Status
	return fmt.Sprintf("%d desired, %d available, %d updated", s.Desired, s.Available, s.Updated)
}

// edsBegun lets the rollout have begun so long ago.
func edsBegun(d time.Duration) func(*lab) {
	return func(l *lab) {
		l.snapshot.Memory = rollout.Memory{Version: rollout.MemoryVersion, Rollout: rollout.Record{Revision: l.update,
			Began: ago(d)}}
	}
}

// edsTried lets the update revision have been on trial for an hour on the nodes, with the revision before as the stable one.
func edsTried(change func(*lab, *canary.Record), nodes ...string) func(*lab) {
	return func(l *lab) {
		l.snapshot.Revisions[0] = objects.Marked(l.snapshot.Revisions[0],
			map[string]string{history.PromotedAnnotation: "2026-01-01T00:00:00Z"})
		l.snapshot.Memory = rollout.Memory{Version: rollout.MemoryVersion, Canary: canary.Record{
			Revision: l.update, Began: ago(time.Hour), Nodes: nodes,
		}}
		if change != nil {
			change(l, &l.snapshot.Memory.Canary)
		}
	}
}

// edsPausedByItself lets an automatic pause stand.
func edsPausedByItself(_ *lab, r *canary.Record) {
	r.Pause = &canary.Finding{Phase: canary.Paused, Reason: canary.TooManyRestarts, At: ago(time.Minute)}
}

// edsFailedBefore lets the revision have failed.
func edsFailedBefore(l *lab, _ *canary.Record) {
	l.snapshot.Revisions[1] = objects.Marked(l.snapshot.Revisions[1],
		map[string]string{history.FailedAnnotation: canary.TooManyRestarts.String()})
}

func edsEmpty(names ...string) (spots []spot) {
	for _, name := range names {
		spots = append(spots, on(name))
	}
	return spots
}

func edsInPhase(phase corev1.PodPhase) kit.PodOption {
	return func(p *corev1.Pod) { p.Status = corev1.PodStatus{Phase: phase} }
}

func edsInitRestarts(times int32) kit.PodOption {
	return func(p *corev1.Pod) {
		p.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "init", RestartCount: times}}
	}
}

func edsTimeout(d time.Duration) kit.SpecOption {
	return kit.AutoFail(canary.AutoFail{CanaryTimeout: &d})
}

var edsSurprises = []edsSurprise{
	{number: 1, name: "victims", rule: "B3, B6", why: "the broken pod goes, and no healthy one for it",
		spec: []kit.SpecOption{kit.MaxUnavailable("1")}, fleet: []spot{on("a", oldPod(kit.Unready())), on("b", oldPod()),
			on("c", oldPod())},
		acts: "delete a0 OutdatedNotReady", says: "3 desired, 2 available, 0 updated"},
	{number: 2, name: "unschedulable old pod", rule: "B3", why: "the new template may fit where the old one does not",
		fleet: []spot{on("a", oldPod(kit.Unscheduled("a", ago(11*time.Minute))))},
		acts:  "delete a0 OutdatedNotReady", says: "1 desired, 0 available, 0 updated"},
	{number: 2, name: "old pod that does not terminate", rule: "M1, B8", why: "it holds its node, and is not deleted again",
		fleet: []spot{on("a", oldPod(kit.Terminating(ago(time.Hour))))},
		acts:  "", says: "1 desired, 0 available, 0 updated"},
	{number: 3, name: "one stuck node", rule: "B8",
		why:   "the default leaves no node out, as theirs; Decision.Limit says what holds the others",
		fleet: []spot{on("a", newPod(kit.Unscheduled("a", ago(time.Hour)))), on("b", oldPod()), on("c", oldPod())},
		acts:  "", says: "3 desired, 2 available, 1 updated"},
	{number: 3, name: "one stuck node left out", rule: "B8", why: "the others go on",
		spec:  []kit.SpecOption{kit.MaxUnschedulable("1")},
		fleet: []spot{on("a", newPod(kit.Unscheduled("a", ago(time.Hour)))), on("b", oldPod()), on("c", oldPod())},
		acts:  "delete c0 Outdated", says: "3 desired, 2 available, 1 updated"},
	{number: 4, name: "grace period once", rule: "B8", why: "the deletion timestamp has the grace period in it",
		spec:  []kit.SpecOption{kit.MaxUnschedulable("1")},
		fleet: []spot{on("a", oldPod(kit.Terminating(ago(31*time.Second)))), on("b", oldPod()), on("c", oldPod())},
		acts:  "delete c0 Outdated", says: "3 desired, 2 available, 0 updated"},
	{number: 5, name: "terminating new pod", rule: "S1, B2", why: "it is on its way out, whatever it says of itself",
		fleet: []spot{on("a", newPod(terminating()))}, acts: "", says: "1 desired, 0 available, 0 updated"},
	{number: 6, name: "creates in flight", rule: "B7", why: "the pod that is not ready yet takes the one place there is",
		spec: []kit.SpecOption{kit.SlowStart(time.Minute, "1", "250")}, set: edsBegun(0),
		fleet: append(edsEmpty("b", "c"), on("a", newPod(kit.Unready(), kit.Created(ago(10*time.Second))))),
		acts:  "", says: "3 desired, 0 available, 1 updated"},
	{number: 7, name: "slow start before a pause", rule: "B7, T4", why: "two minutes and a pause of three make the limit 3",
		spec: []kit.SpecOption{kit.SlowStart(time.Minute, "1", "250"), kit.Paused()}, fleet: edsEmpty("a", "b", "c", "d", "e"),
		set: func(l *lab) {
			edsBegun(5 * time.Minute)(l)
			l.snapshot.Memory.Rollout.PausedSince = ago(3 * time.Minute)
		},
		acts: "create a Missing, create b Missing, create c Missing", says: "5 desired, 0 available, 0 updated"},
	{number: 7, name: "increase of nothing", rule: "B7", why: "no pod would ever be created",
		spec: []kit.SpecOption{kit.SlowStart(time.Minute, "0%", "250")}, refused: "spec.strategy.slowStart.increase"},
	{number: 7, name: "negative interval", rule: "B7",
		why:  "there is nothing to divide by; 0 is the default here, and refused by manifest.Decode",
		spec: []kit.SpecOption{kit.SlowStart(-time.Minute, "1", "250")}, refused: "spec.strategy.slowStart.interval"},
	{number: 8, name: "default increase", rule: "B7", why: "1, and documented so",
		spec:  []kit.SpecOption{func(s *rollout.Spec) { s.Strategy.SlowStart = new(rollout.SlowStart) }},
		fleet: edsEmpty("a", "b", "c"), set: edsBegun(0), acts: "create a Missing", says: "3 desired, 0 available, 0 updated"},
	{number: 9, name: "no percentage", rule: "B1", why: "the spec is refused, nothing panics",
		spec:    []kit.SpecOption{func(s *rollout.Spec) { s.Strategy.MaxUnavailable = new(intstr.FromString("abc")) }},
		refused: "spec.strategy.maxUnavailable"},
	{number: 10, name: "timeout without a pod", rule: "C4", why: "the canary took too long, pod or no pod",
		spec: []kit.SpecOption{edsTimeout(20 * time.Minute)}, fleet: []spot{on("a"), on("b", oldPod())}, set: edsTried(nil, "a"),
		acts: "create a Missing at old", says: "Failed TimedOut []"},
	{number: 11, name: "reason of a failure", rule: "C6", why: "it is on the ControllerRevision, and stays there",
		spec: []kit.SpecOption{kit.Canary("1")}, fleet: []spot{on("a", oldPod())}, set: edsTried(edsFailedBefore, "a"),
		acts: "", says: "Failed TooManyRestarts []"},
	{number: 14, name: "unpaused without a pod", rule: "C3", why: "the command lifts the pause, and the node gets its pod",
		spec: []kit.SpecOption{kit.Command(canary.Commands{Unpause: canary.Any})}, fleet: []spot{on("a"), on("b", oldPod())},
		set: edsTried(edsPausedByItself, "a"), acts: "create a Missing", says: "Running Starting [a]"},
	{number: 14, name: "paused without a pod", rule: "C7", why: "the lost pod comes back at the stable revision",
		spec: []kit.SpecOption{kit.Canary("1")}, fleet: []spot{on("a"), on("b", oldPod())},
		set: edsTried(edsPausedByItself, "a"), acts: "create a Missing at old", says: "Paused TooManyRestarts [a]"},
	{number: 16, name: "failed canary", rule: "C4, C7",
		why:  "time promotes no failed revision: its node goes back to the stable one",
		spec: []kit.SpecOption{kit.Canary("1")}, fleet: []spot{on("a", newPod()), on("b", oldPod())},
		set:  edsTried(edsFailedBefore, "a"),
		acts: "delete a0 Outdated", says: "Failed TooManyRestarts []"},
	{number: 17, name: "at the very instant", rule: "C2, B5", why: "exactly the duration is enough",
		spec: []kit.SpecOption{kit.CanaryFor(10*time.Minute, 0)}, fleet: []spot{on("a", newPod()), on("b", oldPod())},
		set:  edsTried(func(_ *lab, r *canary.Record) { r.Since = ago(10 * time.Minute) }, "a"),
		acts: "delete b0 Outdated", says: "Idle Promoted []"},
	{number: 18, name: "outdated pods of a paused canary", rule: "C7", why: "a paused canary replaces nothing",
		spec: []kit.SpecOption{kit.Canary("2")}, fleet: []spot{on("a", oldPod()), on("b", oldPod()), on("c", oldPod())},
		set: edsTried(edsPausedByItself, "a", "b"), acts: "", says: "Paused TooManyRestarts [a b]"},
	{number: 18, name: "old pods of a failed canary", rule: "C7", why: "they are what the nodes are to have",
		spec: []kit.SpecOption{kit.Canary("2")}, fleet: []spot{on("a", oldPod()), on("b", oldPod()), on("c", oldPod())},
		set: edsTried(edsFailedBefore, "a", "b"), acts: "", says: "Failed TooManyRestarts []"},
	{number: 18, name: "outdated pods of a canary", rule: "C7, B3", why: "canary nodes are replaced under the same budget",
		spec: []kit.SpecOption{kit.Canary("2")}, fleet: []spot{on("a", oldPod()), on("b", oldPod()), on("c", oldPod())},
		set: edsTried(nil, "a", "b"), acts: "delete b0 Outdated", says: "Running Starting [a b]"},
	{number: 19, name: "unfit node of the zone", rule: "C1", why: "only nodes that run the pod count",
		spec: []kit.SpecOption{kit.CanarySpread("zone")},
		fleet: []spot{on("a").with(kit.Label("zone", "z")).keep(), on("b", oldPod()).with(kit.Label("zone", "z")),
			on("c", oldPod()).with(kit.Label("zone", "z"))},
		set: edsTried(nil), acts: "delete b0 Outdated", says: "Running Starting [b]"},
	{number: 19, name: "a percentage of few nodes", rule: "C1", why: "it is never a canary of no node",
		spec: []kit.SpecOption{kit.Canary("1%")}, fleet: []spot{on("a", oldPod()), on("b", oldPod())}, set: edsTried(nil),
		acts: "delete a0 Outdated", says: "Running Starting [a]"},
	{number: 19, name: "a canary of no node", rule: "C1", why: "it would skip the trial",
		spec: []kit.SpecOption{kit.Canary("0")}, refused: "spec.strategy.canary.replicas"},
	{number: 20, name: "invalid selector of canary nodes", rule: "C1", why: "unreadable never means all",
		spec: []kit.SpecOption{kit.Canary("1"), func(s *rollout.Spec) {
			weird := []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Weird"}}
			s.Strategy.Canary.NodeSelector = &metav1.LabelSelector{MatchExpressions: weird}
		}}, refused: "spec.strategy.canary.nodeSelector.matchExpressions[0].operator"},
	{number: 21, name: "canary node that is gone", rule: "C1", why: "another takes its place",
		spec: []kit.SpecOption{kit.Canary("1")}, fleet: []spot{on("a", oldPod()), on("b", oldPod())}, set: edsTried(nil, "gone"),
		acts: "delete a0 Outdated", says: "Running Starting [a]"},
	{number: 21, name: "fewer canary nodes", rule: "C1", why: "those at the revision stay, and no node has to go back",
		spec: []kit.SpecOption{kit.Canary("1")}, fleet: []spot{on("a", oldPod()), on("b", newPod()), on("c", oldPod())},
		set: edsTried(nil, "a", "b"), acts: "patch b0 CanaryLabel", says: "Running Observing [b]"},
	{number: 22, name: "restarts of init containers", rule: "C1", why: "they count; what is equal goes by name",
		spec: []kit.SpecOption{kit.Canary("1")}, fleet: []spot{on("a", oldPod(edsInitRestarts(3))), on("b", oldPod()),
			on("c", oldPod())},
		set: edsTried(nil), acts: "delete b0 Outdated", says: "Running Starting [b]"},
	{number: 28, name: "terminating beside healthy", rule: "M3", why: "the healthy pod stays",
		fleet: []spot{on("a", newPod(terminating()), newPod(kit.Created(ago(time.Minute)), readyFor(time.Minute)))},
		acts:  "", says: "1 desired, 1 available, 1 updated"},
	{number: 28, name: "two failed beside healthy", rule: "M2, M3", why: "both failed pods go, the healthy one stays",
		fleet: []spot{on("a", newPod(kit.Failed()), newPod(kit.Failed()), newPod(kit.Created(ago(time.Minute)),
			readyFor(time.Minute)))},
		acts: "delete a0 Failed, delete a1 Failed", says: "1 desired, 1 available, 1 updated"},
	{number: 29, name: "new taint NoSchedule", rule: "P3, M4", why: "it keeps pods away and lets running ones be",
		fleet: []spot{on("a", oldPod()).keep()}, acts: "", says: "0 desired, 0 available, 0 updated"},
	{number: 29, name: "pid pressure", rule: "P1", why: "daemon pods tolerate it",
		fleet: []spot{on("a").with(kit.Taint(corev1.TaintNodePIDPressure, "", corev1.TaintEffectNoSchedule))},
		acts:  "create a Missing", says: "1 desired, 0 available, 0 updated"},
	{number: 30, name: "phase Unknown", rule: "M1, V3", why: "it is a pod, and may run on",
		fleet: []spot{on("a", newPod(edsInPhase(corev1.PodUnknown)))}, acts: "", says: "1 desired, 0 available, 1 updated"},
	{number: 30, name: "succeeded", rule: "M2", why: "a daemon pod is to run for ever",
		fleet: []spot{on("a", newPod(kit.Succeeded()))}, acts: "delete a0 Succeeded", says: "1 desired, 0 available, 1 updated"},
	{number: 30, name: "pod without a node", rule: "P7", why: "it is left alone, with a decision that says so",
		fleet: []spot{on("a", newPod()), gone("", newPod())}, acts: "", says: "1 desired, 1 available, 1 updated"},
}

// TestConformanceEDSSurprises shows what we do in each situation of planning in which the controller surprises.
func TestConformanceEDSSurprises(t *testing.T) {
	rows, numbers := uniqueRows{}, make(map[int]bool)
	for _, want := range edsSurprises {
		rows.check(t, want.name, want.why)
		numbers[want.number] = true
		t.Run(fmt.Sprintf("%02d %s", want.number, want.name), func(t *testing.T) {
			if want.refused != "" {
				_, err := rollout.New(kit.Spec("agent", want.spec...))
				if !slices.ContainsFunc(rollout.FieldErrors(err), func(e *field.Error) bool { return within(e.Field, want.refused) }) {
					t.Errorf("%s: %q is to be refused, but the error is %v", want.why, want.refused, err)
				}
				return
			}
			l := scene{spec: want.spec, fleet: want.fleet, set: want.set}.lab()
			plan := l.plan(t)
			if got := acts(plan); got != want.acts {
				t.Errorf("%s: %s:\n got %s\nwant %s", want.rule, want.why, got, want.acts)
			}
			if got := edsSays(plan); got != want.says {
				t.Errorf("%s: %s: the plan says %q, want %q", want.rule, want.why, got, want.says)
			}
			if !plan.NextWake.IsZero() && !plan.NextWake.After(l.snapshot.Now) {
				t.Errorf("NextWake is %v, not after now", plan.NextWake)
			}
			for _, v := range verify.Plan(l.spec, l.snapshot, &plan) {
				t.Error(v)
			}
		})
	}
	// 12, 13 and 15 are about the judgement of pods, 23 to 27 about overrides and defaults: other packages have them.
	for _, n := range []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 14, 16, 17, 18, 19, 20, 21, 22, 28, 29, 30} {
		if !numbers[n] {
			t.Errorf("surprise %d is not here", n)
		}
	}
}

// within reports whether a field is the one at the path, or below it.
func within(at, path string) bool {
	rest, ok := strings.CutPrefix(at, path)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}
