//go:build teeth

package properties_test

import (
	"maps"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/daemonplan/daemonplan/internal/harness"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/failure"
	"github.com/daemonplan/daemonplan/rollout/history"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// failuresAs changes the policy for failures that the planner sees.
func failuresAs(change func(*failure.Options)) func(rollout.Spec, harness.PlanFunc) harness.PlanFunc {
	return asIf(func(s *rollout.Spec) {
		o := s.Strategy.Policy.Failures.DeepCopy()
		change(&o)
		s.Strategy.Policy.Failures = &o
	})
}

// restartsDeadline forgets since when the first of the pods was down that were deleted on a node one after the other, so that the
// deadline begins anew with each.
func restartsDeadline(s *rollout.Snapshot) {
	s.Memory.Backoffs = slices.Clone(s.Memory.Backoffs)
	for i := range s.Memory.Backoffs {
		b := &s.Memory.Backoffs[i]
		b.First, b.Deleted, b.Going = s.Now, 0, nil
	}
}

// forgetsDeleted forgets how many pods were deleted on a node one after the other, and knows since when the first of them was down.
func forgetsDeleted(s *rollout.Snapshot) {
	s.Memory.Backoffs = slices.Clone(s.Memory.Backoffs)
	for i := range s.Memory.Backoffs {
		s.Memory.Backoffs[i].Deleted, s.Memory.Backoffs[i].Going = 0, nil
	}
}

// forgetsVerdict does not see that the revision was given up.
func forgetsVerdict(s *rollout.Snapshot) {
	s.Memory.Rollout.GaveUp = ""
	s.Revisions = slices.Clone(s.Revisions)
	for i, r := range s.Revisions {
		if history.Failed(r) {
			r = r.DeepCopy()
			delete(r.Annotations, history.FailedAnnotation)
			s.Revisions[i] = r
		}
	}
}

// unwrittenVerdict neither writes a verdict down nor remembers it.
func unwrittenVerdict(_ rollout.Spec, _ rollout.Snapshot, p *rollout.Plan) {
	p.Memory.Rollout.GaveUp = ""
	p.Revisions = slices.Clone(p.Revisions)
	for i := range p.Revisions {
		p.Revisions[i].Annotations = maps.Clone(p.Revisions[i].Annotations)
		delete(p.Revisions[i].Annotations, history.FailedAnnotation)
	}
}

// newestThough gives what is lost the update revision, and nodes that join, although too many have failed.
func newestThough(spec rollout.Spec, _ rollout.Snapshot, p *rollout.Plan) {
	if p.Budget.Failed <= p.Budget.MaxFailed {
		return
	}
	p.Creates = slices.Clone(p.Creates)
	for i := range p.Creates {
		p.Creates[i].Revision = rollouttest.Hash(spec)
	}
}

// ofWholeFleet takes a percentage of all nodes that are to run the pod, in open parts or not.
func ofWholeFleet(spec rollout.Spec, asked harness.PlanFunc) harness.PlanFunc {
	return func(s rollout.Snapshot) (rollout.Plan, error) {
		o := spec.Strategy.Policy.Failures.DeepCopy()
		o.MaxFailed = new(intstr.FromInt(quantity(o.MaxFailed, len(s.Nodes))))
		changed := altered(spec, rollouttest.Failures(o))
		planner, err := rollout.New(changed)
		if err != nil {
			return asked(s)
		}
		return planner.Plan(s)
	}
}

// noKept sees no pods on nodes that need only keep theirs.
func noKept(s *rollout.Snapshot) {
	kept := map[string]bool{}
	for _, n := range s.Nodes {
		kept[n.Name] = !runs(n)
	}
	s.Pods = slices.DeleteFunc(slices.Clone(s.Pods), func(p *corev1.Pod) bool { return kept[nodeOfAny(p)] })
}

var (
	noFailures = asIf(func(s *rollout.Spec) { s.Strategy.Policy.Failures = nil })
	onlyPauses = failuresAs(func(o *failure.Options) { o.Action = failure.Pause })
	oneMore    = failuresAs(func(o *failure.Options) { o.MaxFailed = new(intstr.FromInt32(o.MaxFailed.IntVal + 1)) })
	longer     = failuresAs(func(o *failure.Options) { o.Deadline *= 3 })
	allExempt  = failuresAs(func(o *failure.Options) {
		o.MaxFailed, o.Quarantine = new(intstr.FromInt32(99)), new(intstr.FromInt32(99))
	})
)

var failureTaleMutants = []taleMutant{
	{"failures are not looked at", "the policy is ignored", stopsFailures, noFailures},
	{"deadline restarts with each new pod", "the pods that were deleted before are forgotten", stopsFailures, misreading(restartsDeadline)},
	{"one more may fail", "at most is taken for less than", stopsFailures, oneMore},
	{"a longer deadline", "another time is looked at", stopsFailures, longer},
	{"what joins gets the revision all the same", "only what there is, is not begun", stopsFailures, spoiling(newestThough)},
	{"restarts are not counted", "only availability is looked at", stopsFailures, failuresAs(func(o *failure.Options) { o.MaxRestarts = nil })},
	{"pods that were deleted are no restarts", "only those of the pod that is there are counted", stopsFailures, misreading(forgetsDeleted)},
	{"a percentage of the whole fleet", "parts that are not open are counted, too", ofOpenParts, ofWholeFleet},
	{"nodes that may only keep their pods are not looked at", "they are not to run the pod", stopsInParts, misreading(noKept)},
	{"goes on in stages", "only parts are looked at", stopsInParts, noFailures},
	{"the last stage is left behind", "only nodes of parts that are open go back", backInParts, onlyPauses},
	{"the verdict is forgotten", "failed nodes are counted anew after the rollback", givesUpOnce, misreading(forgetsVerdict)},
	{"never goes back", "the action is not looked at", goesBack, onlyPauses},
	{"the verdict is not written", "nothing knows of it in the next plan", goesBack, spoiling(unwrittenVerdict)},
	{"quarantine without end", "every failed node is left out", quarantines, allExempt},
}

func TestFailurePropertiesRejectMutants(t *testing.T) {
	t.Parallel()
	named := unique(t)
	for _, m := range failureMutants {
		named(m.name, m.why)
		t.Run(m.name, func(t *testing.T) { rejects(t, m) })
	}
	for _, m := range failureTaleMutants {
		named(m.name, m.why)
		t.Run(m.name, func(t *testing.T) { m.isRejected(t) })
	}
}

// onFailing changes what is begun by a plan that finds too many failed nodes, or says about them.
func onFailing(change func(s rollout.Snapshot, p *rollout.Plan)) func(rollout.Spec, harness.PlanFunc) harness.PlanFunc {
	return spoiling(func(_ rollout.Spec, s rollout.Snapshot, p *rollout.Plan) {
		if p.Budget.Failed > p.Budget.MaxFailed {
			change(s, p)
		}
	})
}

var failureMutants = []mutant{
	{"depends on what was planned before", "a counter is kept from plan to plan", failuresPure, countsPlans},
	{"goes on", "failed nodes are counted, and nothing follows", failuresHold, onFailing(func(s rollout.Snapshot, p *rollout.Plan) {
		for _, d := range p.Decisions {
			i := slices.IndexFunc(s.Pods, func(pod *corev1.Pod) bool { return pod.Name == d.Pod })
			if d.Limit == rollout.LimitFailures && i >= 0 {
				p.Deletes = append(slices.Clone(p.Deletes), rollout.Delete{Node: d.Node, Pod: d.Pod, UID: s.Pods[i].UID, Reason: rollout.ReasonOutdated})
				return
			}
		}
	})},
	{"does not say it", "only the count is reported", failuresSaid, onFailing(func(_ rollout.Snapshot, p *rollout.Plan) {
		p.Decisions = slices.Clone(p.Decisions)
		for i := range p.Decisions {
			p.Decisions[i].Failed = false
		}
	})},
}

// countsPlans adds to what it reports how often it has planned.
func countsPlans(_ rollout.Spec, plan harness.PlanFunc) harness.PlanFunc {
	before := int32(0)
	return func(s rollout.Snapshot) (rollout.Plan, error) {
		p, err := plan(s)
		p.Budget.Waiting += before
		before++
		return p, err
	}
}
