package harness_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	_ "github.com/daemonplan/daemonplan/internal/fixedseed"
	"github.com/daemonplan/daemonplan/internal/harness"
	"github.com/daemonplan/daemonplan/internal/harness/draw"
	"github.com/daemonplan/daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
)

func TestCanaryOfTheRealPlannerIsPromoted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := draw.AnyCanaryWorld(objects.Released()).Draw(t, "world")
		if err := harness.CheckCanaryEnds(harness.Planner, w, harness.EndsPromoted); err != nil {
			t.Fatal(err)
		}
	})
}

func TestCanaryOfTheRealPlannerIsSafe(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := draw.AnyCanaryWorld(objects.Rolling()).Draw(t, "world")
		w.Mishaps = draw.AnyMishaps(w.Snapshot.Nodes).Draw(t, "mishaps")
		if rapid.Bool().Draw(t, "ill") {
			w.Behavior = draw.AnyIllness(w.Behavior, rollouttest.Hash(w.Spec)).Draw(t, "illness")
		}
		if err := harness.CheckCanary(harness.Planner, w); err != nil {
			t.Fatal(err)
		}
	})
}

func TestIllCanaryOfTheRealPlannerIsNotPromoted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fails := rollouttest.AutoFail(canary.AutoFail{CanaryTimeout: new(2 * time.Hour)})
		w := draw.AnyCanaryWorld(objects.Rolling(), fails).Draw(t, "world")
		w.Behavior = draw.AnyIllness(w.Behavior, rollouttest.Hash(w.Spec)).Draw(t, "illness")
		if err := harness.CheckCanaryEnds(harness.Planner, w, harness.EndsFailed); err != nil {
			t.Fatal(err)
		}
	})
}

// Wherever a world leads, what is wrong on the way is found, with what happened until then.
func TestCheckCanaryRejectsWhatIsWrongOnTheWay(t *testing.T) {
	deletes := bug{after: func(s rollout.Snapshot, p *rollout.Plan) {
		if p.Canary.Phase == canary.Running && len(s.Memory.Canary.Nodes) > 0 {
			p.Deletes = append(p.Deletes, rollout.Delete{Node: "d", Pod: "agent-d", UID: "pod-agent-d"})
		}
	}}
	fails := func(rollout.Spec) (harness.PlanFunc, error) { return failing, nil }
	none := func(rollout.Spec) (harness.PlanFunc, error) { return nil, errPlan }
	paused := befallen(tryOut(), harness.Mishap{After: 6, Kind: harness.PauseSet})
	for _, check := range []func(func(rollout.Spec) (harness.PlanFunc, error), harness.World) error{
		harness.CheckCanary,
		func(planner func(rollout.Spec) (harness.PlanFunc, error), w harness.World) error {
			return harness.CheckCanaryEnds(planner, w, harness.EndsPromoted)
		},
	} {
		mustContain(t, check(deletes.planner, tryOut()), "C7: delete of agent-d on node d, which serves")
		mustContain(t, check(deletes.planner, tryOut()), "\n12:00:00 revision created agent-")
		mustContain(t, check(deletes.planner, paused), "before pause set: ")
		mustContain(t, check(fails, tryOut()), "step 1: no plan")
		mustContain(t, check(none, tryOut()), "no plan")
	}
}

// A canary node that is gone counts no longer: those that are left are enough, from that very plan on (C1, C2).
func TestCheckCanaryWithoutNodesThatAreGone(t *testing.T) {
	for after := range 14 {
		for _, node := range []string{"a", "b"} {
			w := befallen(tryOut(rollouttest.Canary("2"), rollouttest.CanaryFor(0, time.Minute), rollouttest.MaxUnavailable("1")),
				harness.Mishap{After: after, Kind: harness.DeleteNode, Node: node})
			if err := harness.CheckCanaryEnds(harness.Planner, w, harness.EndsPromoted); err != nil {
				t.Errorf("node %s is deleted after %d plans: %v", node, after, err)
			}
		}
	}
}

// A promotion is held to the nodes that may be canary nodes in that very plan (C1). The plans are written by hand: the revision
// is on trial on "a" and "b", and ten minutes later, when some of them are gone, it is promoted.
func TestCanaryWatchOfPromotionsOnTooFewNodes(t *testing.T) {
	inZone := rollouttest.CanaryOn("zone", "a")
	atOnce, instantly := rollouttest.CanaryFor(0, 0), rollouttest.CanaryFor(0, 5*time.Minute)
	tests := []struct {
		name, why string
		options   []rollouttest.SpecOption
		gone      []string
		holds     []string // nodes with an available pod of the revision then
		forgotten bool     // the memory is lost
		want      string   // empty: no error
	}{
		{"both are there", "C2: the clock has run", nil, nil, []string{"a", "b"}, false, ""},
		{"one is gone, another may follow", "C1: it would begin the clock anew", nil, []string{"a"}, []string{"b"}, false,
			"C1: revision agent-%s is promoted, and 1 canary nodes have tried it, wanted are 2 of 3 that may be"},
		{"one is gone, another has it", "C1: it would begin the clock anew, too", nil, []string{"a"}, []string{"b", "d"}, false,
			"and 1 canary nodes have tried it, wanted are 2 of 3 that may be"},
		{"one is gone, none may follow", "C1: with too few, those there are", []rollouttest.SpecOption{inZone}, []string{"a"},
			[]string{"b"}, false, ""},
		{"one is gone, another may follow, at once", "C1: it has not tried it", []rollouttest.SpecOption{atOnce}, []string{"a"},
			[]string{"b"}, false, "and 1 canary nodes have tried it, wanted are 2 of 3 that may be"},
		{"one is gone, another has it, at once", "C2: a duration of 0 is over in the plan that chooses it",
			[]rollouttest.SpecOption{atOnce}, []string{"a"}, []string{"b", "d"}, false, ""},
		{"one is gone, another has it and restarted, at once", "C2: its restart is not long enough ago", []rollouttest.SpecOption{instantly},
			[]string{"a"}, []string{"b", "d restarted"}, false, "and 1 canary nodes have tried it, wanted are 2 of 3 that may be"},
		{"one is gone, another has it and restarted, at once, and that does not matter", "C2: the duration without restarts is 0",
			[]rollouttest.SpecOption{atOnce}, []string{"a"}, []string{"b", "d restarted"}, false, ""},
		{"all are gone", "C1: with none, nothing is promoted", []rollouttest.SpecOption{inZone}, []string{"a", "b"}, nil, false,
			"C1: revision agent-%s is promoted, and no node has tried it"},
		{"all are gone, at once", "C1: with none, nothing is promoted", []rollouttest.SpecOption{inZone, atOnce}, []string{"a", "b"},
			nil, false, "C1: revision agent-%s is promoted, and no node has tried it"},
		{"all are gone, others may follow, at once", "C1: none has tried it", []rollouttest.SpecOption{atOnce}, []string{"a", "b"},
			nil, false, "and no node has tried it"},
		{"a lost memory, at once", "C6: the nodes that have it are the canary's again, and the duration is over",
			[]rollouttest.SpecOption{atOnce}, nil, []string{"a", "b"}, true, ""},
	}
	seen := map[string]bool{}
	for _, tt := range tests {
		if tt.name == "" || tt.why == "" || seen[tt.name] {
			t.Fatalf("row %q needs a unique name and a why", tt.name)
		}
		seen[tt.name] = true
		t.Run(tt.name, func(t *testing.T) {
			w := tryOut(rollouttest.Canary("2"), func(s *rollout.Spec) { s.Strategy.Canary.NodeSelector = nil })
			for _, option := range tt.options {
				option(&w.Spec)
			}
			update := rollouttest.Hash(w.Spec)
			s := w.Snapshot
			s.Revisions = append(s.Revisions, rollouttest.Revision(w.Spec, 2))
			var watch harness.CanaryWatch
			check := func(holds []string, canaries canary.Record, p rollout.Plan) error {
				s.Memory.Canary = canaries
				s.Pods = nil
				for _, n := range s.Nodes {
					of, restarted := w.Stable, slices.Contains(holds, n.Name+" restarted")
					if restarted || slices.Contains(holds, n.Name) {
						of = w.Spec
					}
					pod := rollouttest.Pod("agent-"+n.Name, rollouttest.Of(of), rollouttest.OnNode(n.Name))
					if restarted {
						pod.Status.ContainerStatuses = []corev1.ContainerStatus{{RestartCount: 1, LastTerminationState: corev1.ContainerState{
							Terminated: &corev1.ContainerStateTerminated{FinishedAt: metav1.NewTime(s.Now.Add(-time.Minute))},
						}}}
					}
					s.Pods = append(s.Pods, pod)
				}
				return watch.Check(w.Spec, s, p)
			}

			on := canary.Record{Revision: update, Nodes: []string{"a", "b"}}
			trial := rollout.Plan{Canary: rollout.Canary{Finding: canary.Finding{Phase: canary.Running}, Revision: update, Stable: rollouttest.Hash(w.Stable),
				Nodes: on.Nodes, Wanted: 2}}
			if err := check(on.Nodes, on, trial); err != nil {
				t.Fatalf("while it is on trial: %v", err)
			}
			s.Now = s.Now.Add(10 * time.Minute)
			s.Nodes = slices.DeleteFunc(s.Nodes, func(n *corev1.Node) bool { return slices.Contains(tt.gone, n.Name) })
			if tt.forgotten {
				on = canary.Record{}
			}
			promotes := rollout.Plan{Canary: rollout.Canary{Revision: update, Stable: update}}
			promoting("agent-"+update)(rollout.Snapshot{Revisions: s.Revisions, Memory: rollout.Memory{Canary: canary.Record{Nodes: []string{"a"}}}}, &promotes)
			mustContain(t, check(tt.holds, on, promotes), strings.ReplaceAll(tt.want, "%s", update))
		})
	}
}

// A planner that promotes on the nodes that are left, instead of replacing one that is gone, is found out however the node goes
// and whenever that is.
func TestCheckCanaryRejectsPromotionsWithoutTheNodesThatAreGone(t *testing.T) {
	for _, kind := range []harness.MishapKind{harness.DeleteNode, harness.TaintNode} {
		for _, lasts := range []time.Duration{0, time.Minute} {
			caught := 0
			for after := range 14 {
				w := befallen(tryOut(rollouttest.Canary("2"), rollouttest.CanaryOn("zone", "a"), rollouttest.CanaryFor(lasts, time.Minute),
					rollouttest.MaxUnavailable("2")), harness.Mishap{After: after, Kind: kind, Node: "a"})
				rollouttest.Label("zone", "a")(w.Snapshot.Nodes[2]) // so that "c" may follow
				hasty := new(hastyPlanner)
				err := harness.CheckCanary(hasty.planner, w)
				if want := "have tried it, wanted are 2 of 2 that may be"; hasty.promoted {
					caught++
					mustContain(t, err, want)
				} else if err != nil {
					t.Errorf("%s after %d plans, %v: %v", kind, after, lasts, err)
				}
			}
			if caught == 0 {
				t.Errorf("%s, %v: nothing is promoted too early", kind, lasts)
			}
		}
	}
}

// hastyPlanner promotes a revision in the plan in which it would have to replace a canary node that is gone.
type hastyPlanner struct{ promoted bool }

func (h *hastyPlanner) planner(spec rollout.Spec) (harness.PlanFunc, error) {
	right, err := harness.Planner(spec)
	if err != nil {
		return nil, err
	}
	few := spec
	few.Strategy.Canary = new(spec.Strategy.Canary.DeepCopy())
	rollouttest.Canary("1")(&few)
	wrong, err := harness.Planner(few)
	if err != nil {
		return nil, err
	}
	return func(s rollout.Snapshot) (rollout.Plan, error) {
		plan, err := right(s)
		if before := s.Memory.Canary.Nodes; err != nil || len(before) != 2 || slices.Equal(plan.Canary.Nodes, before) {
			return plan, err
		}
		s.Memory.Canary.Elapsed, s.Memory.Canary.Disturbed = time.Hour, time.Time{}
		hasty, err := wrong(s)
		if plan.Canary.Phase == canary.Running && hasty.Canary.Phase == canary.Idle {
			h.promoted = true
			return hasty, err
		}
		return plan, nil
	}, nil
}

// With the record lost the canary begins again where the revision is, but a pod that is asked to go is gone already, however
// far the cache is behind (C6).
func TestCanaryWatchOfALostRecord(t *testing.T) {
	for name, leaves := range map[string]bool{"it is there": false, "its deletion is in flight": true} {
		t.Run(name, func(t *testing.T) {
			w := tryOut()
			s := w.Snapshot
			s.Revisions = append(s.Revisions, rollouttest.Revision(w.Spec, 2))
			s.Pods[1] = rollouttest.Pod("agent-b", rollouttest.Of(w.Spec), rollouttest.OnNode("b"))
			if leaves {
				s.InFlight.Deletes = []types.UID{s.Pods[1].UID}
			}
			p := rollout.Plan{Canary: rollout.Canary{
				Finding: canary.Finding{Phase: canary.Running}, Revision: rollouttest.Hash(w.Spec), Stable: rollouttest.Hash(w.Stable),
				Nodes: []string{"a"}, Wanted: 1,
			}}
			want := "C6: node a is made a canary node, and not b, which has the revision already"
			if leaves {
				want = ""
			}
			mustContain(t, new(harness.CanaryWatch).Check(w.Spec, s, p), want)
		})
	}
}
