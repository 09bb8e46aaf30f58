package verify_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/verify"
)

// settle fills in what rows about actions and counters do not write by hand: the facts of the nodes, who waits, what is
// remembered, and when to wake. States and targets are the planner's. What is spent, and who waits, is what the planner returns
// when the whole plan is in flight and nothing more may be done. If the planner refuses the spec or the snapshot, settle changes
// nothing.
//
// A plan of replan has all that already. Only what was planted in it may need settling: see bring.
func (s *handmade) settle() {
	if !s.planned {
		s.bring()
	}
}

// replan replaces the plan by the planner's.
func (s *handmade) replan() *handmade {
	plan, ok := handPlanned(s.spec, s.snapshot)
	if !ok {
		panic("the planner refuses " + s.spec.Name)
	}
	s.plan, s.planned = plan, true
	return s
}

// bring does what settle does, also for a plan of the planner into which actions were planted.
func (s *handmade) bring() {
	frozen, sent := s.spec, s.snapshot
	frozen.Strategy.Frozen = true
	before, ok := handPlanned(s.spec, s.snapshot)
	// A patch in flight may have any effect. This one only relabels a pod of the update revision, which continues to serve.
	disturbing := s.plan
	disturbing.Patches = slices.DeleteFunc(slices.Clone(s.plan.Patches), func(p rollout.Patch) bool {
		return p.Reason == rollout.ReasonDuplicateRevision && slices.ContainsFunc(before.Decisions, func(d rollout.Decision) bool {
			return d.Node == p.Node && d.State == rollout.StateUpdated
		})
	})
	sent.InFlight = sent.InFlight.With(&disturbing)
	after, sentToo := handPlanned(frozen, sent)
	if !ok || !sentToo {
		return
	}
	s.plan.Budget.Waiting = 0
	for i, d := range before.Decisions[:len(s.snapshot.Nodes)] {
		spent := after.Decisions[i]
		for j := range s.plan.Decisions {
			if to := &s.plan.Decisions[j]; to.Node == d.Node {
				to.State, to.Target, to.Unavailable, to.Surging = d.State, d.Target, spent.Unavailable, spent.Surging
			}
		}
		if spent.Reason == rollout.ReasonHeld && d.Target != rollout.TargetHeld {
			s.plan.Budget.Waiting++
		}
	}
	if s.planned { // else they are written by hand
		s.spend(after.Budget.Unavailable, after.Budget.Surging)
	}
	s.plan.NextWake, s.plan.Memory = before.NextWake, before.Memory
	s.plan.Status.StableRevision = before.Status.StableRevision
	for _, d := range s.plan.Deletes { // also those that the planner would not make now
		s.plan.Memory.Backoffs = append(s.plan.Memory.Backoffs, rollout.Backoff{
			Node: d.Node, Revision: d.Revision, Delay: time.Second, Since: s.snapshot.Now,
		})
	}
}

func handPlanned(spec rollout.Spec, snapshot rollout.Snapshot) (rollout.Plan, bool) {
	planner, err := rollout.New(spec)
	if err != nil {
		return rollout.Plan{}, false
	}
	plan, err := planner.Plan(snapshot)
	return plan, err == nil
}

// verify is Plan, which judges each node by itself. A Verifier, which does not, must find the same.
func (s *handmade) verify() []verify.Violation {
	right := verify.Plan(s.spec, s.snapshot, &s.plan)
	if is := new(verify.Verifier).Plan(s.spec, s.snapshot, &s.plan); !slices.Equal(is, right) {
		panic(fmt.Sprintf("a Verifier finds %v, right is %v", is, right))
	}
	return right
}

// violationRow plants one bug in a right plan.
type violationRow struct {
	name, why string
	scene     func() *handmade
	plant     func(*handmade)
	want      int    // the invariant that is broken, and the only one
	also      int    // but for this principle, which it may break with it (V28 to V32); 0: none
	mention   string // a part of one of the messages
	raw       bool   // the bug is in a value that settle would fill in
}

// acceptRow is a right plan.
type acceptRow struct {
	name, why string
	scene     func() *handmade
	raw       bool // the scene has called settle already
}

func runAccepts(t *testing.T, rows []acceptRow) {
	t.Helper()
	seen := make(map[string]bool)
	for _, row := range rows {
		if row.name == "" || row.why == "" || seen[row.name] {
			t.Fatalf("row %q: needs a name of its own and a why", row.name)
		}
		seen[row.name] = true
		t.Run(row.name, func(t *testing.T) {
			s := row.scene()
			if !row.raw {
				s.settle()
			}
			if got := s.verify(); got != nil {
				t.Errorf("%s, but: %v", row.why, got)
			}
		})
	}
}

func runViolations(t *testing.T, rows []violationRow) {
	t.Helper()
	seen := make(map[string]bool)
	for _, row := range rows {
		if row.name == "" || row.why == "" || row.mention == "" || seen[row.name] {
			t.Fatalf("row %q: needs a name of its own, a why and a mention", row.name)
		}
		seen[row.name] = true
		t.Run(row.name, func(t *testing.T) {
			s := row.scene()
			s.settle()
			if got := s.verify(); len(got) > 0 {
				t.Fatalf("the plan without the bug is right (%s), but: %v", row.why, got)
			}
			row.plant(s)
			if !row.raw {
				s.settle()
			}
			got := s.verify()
			if len(got) == 0 {
				t.Fatalf("the bug passed: %s", row.why)
			}
			mentioned := false
			for _, violation := range got {
				if violation.Invariant != row.want && (row.also == 0 || violation.Invariant != row.also) {
					t.Errorf("got %v, want V%d only: %s", violation, row.want, row.why)
				}
				mentioned = mentioned || strings.Contains(violation.String(), row.mention)
			}
			if !mentioned {
				t.Errorf("no message mentions %q: %v", row.mention, got)
			}
		})
	}
}
