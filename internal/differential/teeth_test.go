//go:build teeth

package differential_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/daemonplan/daemonplan/internal/conformance/peer"
	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout"
)

// wrong makes of a right comparison one that must fail. It tells whether it changed anything.
type wrong struct {
	name, why string
	spoil     func(s *step) bool
}

func (s *step) createOld() bool {
	s.plan.Creates = slices.Clone(s.plan.Creates)
	for i := range s.plan.Creates {
		s.plan.Creates[i].Revision = "old"
	}
	return len(s.plan.Creates) > 0
}

func without[T any](list *[]T) bool {
	if len(*list) == 0 {
		return false
	}
	*list = slices.Clone((*list)[1:])
	return true
}

var wrongs = []wrong{
	{"a create fewer in manage", "the model is held to all that the controller does", func(s *step) bool { return without(&s.manage.Creates) }},
	{"a delete fewer in manage", "the same", func(s *step) bool { return without(&s.manage.Deletes) }},
	{"a create fewer in the update", "the same", func(s *step) bool { return without(&s.roll.Creates) }},
	{"a delete fewer in the update", "the same", func(s *step) bool { return without(&s.roll.Deletes) }},
	{"a create fewer in a sync", "a sync is one of its phases", func(s *step) bool { return without(&s.sync.Creates) }},
	{"a create more", "the model may not allow what the controller does not", func(s *step) bool {
		s.manage.Creates = append(slices.Clone(s.manage.Creates), "nowhere")
		return true
	}},
	{"a delete twice", "the same", func(s *step) bool {
		s.roll.Deletes = append(slices.Clone(s.roll.Deletes), s.roll.Deletes...)
		return len(s.roll.Deletes) > 0
	}},
	{"a failure that was none", "a phase that fails does nothing", func(s *step) bool { s.rollFailed = !s.rollFailed; return true }},
	{"a pod more in the status", "counters are compared one by one", func(s *step) bool { s.status.Ready++; return true }},
	{"another generation", "the status says what was observed", func(s *step) bool { s.plan.Status.ObservedGeneration--; return true }},
	{"no adoption", "claims are compared", func(s *step) bool {
		adopted := len(s.sync.Adopts) > 0
		s.sync.Adopts = nil
		return adopted
	}},
	{"a plan with a create fewer", "the plan is held to the model with all rules", func(s *step) bool { return without(&s.plan.Creates) }},
	{"a plan with a delete fewer", "the same", func(s *step) bool { return without(&s.plan.Deletes) }},
	{"a plan with a create twice", "the same", func(s *step) bool {
		s.plan.Creates = append(slices.Clone(s.plan.Creates), s.plan.Creates...)
		return len(s.plan.Creates) > 0
	}},
	{"a plan that creates old pods", "new pods are of the set's revision", (*step).createOld},
	{"a plan that counts one more", "the same", func(s *step) bool { s.plan.Status.Updated++; return true }},
}

// TestTeeth shows that the comparison finds what is wrong: each spoiled comparison of a right one fails.
func TestTeeth(t *testing.T) {
	c := newController(t)
	changed := make([]int, len(wrongs))
	check(t, 40, func(t *rapid.T) {
		s, err := take(c, anyWorld().Draw(t, "world"))
		if err != nil {
			t.Fatal(err)
		}
		for i, wrong := range wrongs {
			spoiled := *s
			if !wrong.spoil(&spoiled) {
				continue
			}
			changed[i]++
			if _, err := spoiled.differ(); err == nil {
				t.Fatalf("%s: nobody notices, but %s", wrong.name, wrong.why)
			}
		}
	})
	for i, wrong := range wrongs {
		t.Logf("%4d worlds: %s", changed[i], wrong.name)
		if changed[i] == 0 && *snapshots >= 20000 {
			t.Errorf("%s: no world has that", wrong.name)
		}
	}
}

// TestTeethOfHistory shows the same of the comparison of histories: what differs in one action is not the same.
func TestTeethOfHistory(t *testing.T) {
	c := newController(t)
	different := 0
	for seed := range 100 {
		w := anyHistory().Example(seed)
		other := w
		other.Set = w.Set.DeepCopy()
		other.Set.Spec.RevisionHistoryLimit = new(*w.Set.Spec.RevisionHistoryLimit + 1)
		if err := c.Load(other); err != nil {
			t.Fatal(err)
		}
		theirs, err := c.Sync()
		if err != nil {
			continue // a taken name or a vanished node; neither says anything about the limit
		}
		if !slices.Equal(controllersHistory(w, theirs), naiveHistory(w, 0, nil)) {
			different++
		}
	}
	if different == 0 {
		t.Error("one revision more is kept, and the comparison never sees it")
	}
}

// TestTeethOfPromises shows that one node too many that is taken down breaks the promise, that one fewer keeps it, and that surge
// and OnDelete let none be taken down.
func TestTeethOfPromises(t *testing.T) {
	budgets, none := 0, 0
	for seed := range 400 {
		w := anyFleet().Example(seed)
		s := &step{world: w}
		if err := s.asPlanner(); err != nil {
			t.Fatal(err)
		}
		snapshot := rollout.Snapshot{Now: w.Now, Nodes: w.Nodes, Pods: w.Pods, Revisions: w.Revisions}
		bound := newPromise(w, s.spec)
		decided := peer.DecidedBy(s.plan)
		if bound.broken(snapshot, peer.Deleted.Among(decided.Fates), decided.Creates) {
			t.Fatalf("seed %d: the plan itself breaks the promise", seed)
		}
		serving, down := bound.serving(snapshot)
		left := max(bound.budget-down, 0)
		if len(serving) <= left {
			continue
		}
		if !bound.broken(snapshot, serving[:left+1], nil) {
			t.Errorf("seed %d: %d nodes are down, %d may be, and %d more break nothing", seed, down, bound.budget, left+1)
		}
		if bound.broken(snapshot, serving[:left], nil) {
			t.Errorf("seed %d: %d nodes are down, %d may be, and %d more break the promise", seed, down, bound.budget, left)
		}
		if bound.budget > 0 {
			budgets++
		} else {
			none++
		}
	}
	if budgets < 50 || none < 50 {
		t.Errorf("%d fleets with a budget and %d without: too few", budgets, none)
	}
}

// serving lists, of each run node that one pod serves alone, that pod, and counts the run nodes that none serves.
func (p *promise) serving(s rollout.Snapshot) (alone []string, down int) {
	for _, n := range s.Nodes {
		if p.Evaluate(n).Outcome != placement.Run {
			continue
		}
		var pods []string
		for _, pod := range s.Pods {
			if target, _ := placement.TargetNode(pod); target == n.Name && pod.DeletionTimestamp == nil && p.serves(pod, s.Now) {
				pods = append(pods, pod.Name)
			}
		}
		switch len(pods) {
		case 0:
			down++
		case 1:
			alone = append(alone, pods[0])
		}
	}
	return alone, down
}

// TestTeethOfRollouts shows that a rollout that ends elsewhere, or nowhere, is not let pass without a rule that says why.
func TestTeethOfRollouts(t *testing.T) {
	run, old := map[string]string{"a": "run: updated true"}, map[string]string{"a": "run: updated false"}
	kept, left := map[string]string{"a": "keep: updated false"}, map[string]string{"a": "keep:"}
	for _, test := range []struct {
		name, why    string
		ours, theirs course
		needed       peer.RuleSet
		wrong        bool
	}{
		{"alike", "nothing is to be explained", course{end: run}, course{end: run}, 0, false},
		{"elsewhere", "no step needs a rule", course{end: kept}, course{end: left}, 0, true},
		{"elsewhere by another rule", "how pods are counted moves none", course{end: kept}, course{end: left}, 1 << peer.AnyPodCounts, true},
		{"elsewhere by the rule", "keep nodes are left alone", course{end: kept}, course{end: left}, 1 << peer.KeepReplacesNothing, false},
		{"the rule of other nodes", "this is a node that runs the pod", course{end: run}, course{end: old}, 1 << peer.KeepReplacesNothing, true},
	} {
		var n journeys
		if err := n.compareEnds(test.ours, test.theirs, test.needed, nil); (err != nil) != test.wrong {
			t.Errorf("%s: %v, but %s", test.name, err, test.why)
		}
	}
}
