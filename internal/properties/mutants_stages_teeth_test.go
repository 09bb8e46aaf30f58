//go:build teeth

package properties_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/daemonplan/daemonplan/internal/harness"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/history"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
	"github.com/daemonplan/daemonplan/rollout/stage"
)

// stagesAs changes each stage that the planner sees.
func stagesAs(change func(*stage.Stage)) func(rollout.Spec, harness.PlanFunc) harness.PlanFunc {
	return asIf(func(s *rollout.Spec) {
		s.Strategy.Policy.Stages = slices.Clone(s.Strategy.Policy.Stages)
		for i := range s.Strategy.Policy.Stages {
			change(&s.Strategy.Policy.Stages[i])
		}
	})
}

// remembering changes what the planner finds in the memory of how far the rollout in stages has come.
func remembering(change func(*account, *stage.Frontier)) func(rollout.Spec, harness.PlanFunc) harness.PlanFunc {
	return func(spec rollout.Spec, plan harness.PlanFunc) harness.PlanFunc {
		return func(s rollout.Snapshot) (rollout.Plan, error) {
			a := takeAccount(&spec, s)
			if r := &s.Memory.Rollout; r.Revision == a.hash {
				change(a, &r.Frontier)
			}
			s.Revisions = slices.Clone(s.Revisions)
			for i, r := range s.Revisions { // the mark would set the memory right
				s.Revisions[i] = r.DeepCopy()
				delete(s.Revisions[i].Annotations, history.FrontierAnnotation)
			}
			return plan(s)
		}
	}
}

// at is the part of a frontier.
func (a *account) at(f stage.Frontier) spotOf {
	i := slices.IndexFunc(a.spec.Strategy.Policy.Stages, func(s stage.Stage) bool { return s.Name == f.Stage })
	if i < 0 {
		i = len(a.spec.Strategy.Policy.Stages)
	}
	return spotOf{i, f.Value}
}

// healthyIsDone takes a part for done whose nodes are served, by pods of whatever revision.
var healthyIsDone = remembering(func(a *account, f *stage.Frontier) {
	for _, at := range a.spots {
		for _, n := range a.seen.Nodes {
			if a.ofNode[n.Name] == at && !slices.ContainsFunc(a.seen.Pods, func(p *corev1.Pod) bool { return nodeOf(p) == n.Name && isReady(p) }) {
				return
			}
		}
		if f.At.IsZero() || compareSpots(a.at(*f), at) < 0 {
			*f = stage.Frontier{Stage: a.stageOf(at).Name, Value: at.value, At: a.seen.Now}
		}
	}
})

// sinceReady lets the time to soak begin when the last pod of the part became Ready, as its condition says.
var sinceReady = remembering(func(a *account, f *stage.Frontier) {
	if f.At.IsZero() {
		return
	}
	var last time.Time
	for _, p := range a.seen.Pods {
		if revisionOf(p) == a.hash && isReady(p) && a.ofNode[nodeOf(p)] == a.at(*f) {
			last = latest(last, readySince(p))
		}
	}
	if !last.IsZero() {
		f.At = last
	}
})

// reopens takes a part for not done any more when one of its nodes is not, and with it those after.
var reopens = remembering(func(a *account, f *stage.Frontier) {
	for _, at := range a.spots {
		if !f.At.IsZero() && compareSpots(at, a.at(*f)) <= 0 && !a.skipped(at) && !a.looksDone(at) {
			*f = stage.Frontier{}
			return
		}
	}
})

// withoutKeepers does not look at nodes that need only keep their pod.
func withoutKeepers(s *rollout.Snapshot) {
	gone := map[string]bool{}
	for _, n := range s.Nodes {
		gone[n.Name] = !runs(n)
	}
	s.Nodes = slices.DeleteFunc(slices.Clone(s.Nodes), func(n *corev1.Node) bool { return gone[n.Name] })
	s.Pods = slices.DeleteFunc(slices.Clone(s.Pods), func(p *corev1.Pod) bool { return gone[nodeOf(p)] })
}

// onlyIn leaves out what the plan does on other nodes, and its clock.
func onlyIn(p *rollout.Plan, stays func(node string) bool) {
	p.Deletes = slices.DeleteFunc(slices.Clone(p.Deletes), func(d rollout.Delete) bool { return !stays(d.Node) })
	p.Creates = slices.DeleteFunc(slices.Clone(p.Creates), func(c rollout.Create) bool { return !stays(c.Node) })
	p.Patches = slices.DeleteFunc(slices.Clone(p.Patches), func(c rollout.Patch) bool { return !stays(c.Node) })
}

// waitsForNobody opens no part after a stage without nodes.
func waitsForNobody(spec rollout.Spec, s rollout.Snapshot, p *rollout.Plan) {
	a := takeAccount(&spec, s)
	for i, part := range p.Parts {
		if part.Phase == stage.Skipped && part.Nodes == 0 && part.Stage != "" {
			empty := spotOf{stage: slices.IndexFunc(spec.Strategy.Policy.Stages, func(s stage.Stage) bool { return s.Name == part.Stage })}
			onlyIn(p, func(node string) bool { return compareSpots(a.ofNode[node], empty) < 0 })
			return
		}
		if i > 0 && part.Phase == stage.Waiting {
			return
		}
	}
}

// newestEverywhere brings what is lost back at the update revision, whatever part it is in.
func newestEverywhere(spec rollout.Spec, s rollout.Snapshot, p *rollout.Plan) {
	p.Creates = slices.Clone(p.Creates)
	for i := range p.Creates {
		p.Creates[i].Revision = rollouttest.Hash(spec)
	}
}

// downgrades moves a node of a part that is not open, and that serves, back to the base.
func downgrades(_ rollout.Spec, s rollout.Snapshot, p *rollout.Plan) {
	if len(p.Parts) == 0 {
		return
	}
	for _, d := range p.Decisions {
		if d.Reason != rollout.ReasonGated || d.Pod == "" {
			continue
		}
		i := slices.IndexFunc(s.Pods, func(pod *corev1.Pod) bool { return pod.Name == d.Pod })
		good := slices.ContainsFunc(s.Revisions, func(r *appsv1.ControllerRevision) bool {
			return history.Completed(r) && history.HashOf(r) == revisionOf(s.Pods[i])
		})
		if !good {
			p.Deletes = append(slices.Clone(p.Deletes), rollout.Delete{Node: d.Node, Pod: d.Pod, UID: s.Pods[i].UID, Reason: rollout.ReasonOutdated})
			return
		}
	}
}

// unmarked writes no mark.
func unmarked(_ rollout.Spec, _ rollout.Snapshot, p *rollout.Plan) {
	p.Revisions = slices.Clone(p.Revisions)
	for i := range p.Revisions {
		p.Revisions[i].Annotations = maps.Clone(p.Revisions[i].Annotations)
		delete(p.Revisions[i].Annotations, history.CompletedAnnotation)
	}
	p.Revisions = slices.DeleteFunc(p.Revisions, func(a rollout.RevisionAction) bool {
		return a.Verb == rollout.AnnotateRevision && len(a.Annotations) == 0
	})
}

// promotedIsCompleted takes the mark of a canary for that of a completed rollout.
func promotedIsCompleted(s *rollout.Snapshot) {
	s.Revisions = slices.Clone(s.Revisions)
	for i, r := range s.Revisions {
		if history.Promoted(r) {
			r = r.DeepCopy()
			r.Annotations[history.CompletedAnnotation] = r.Annotations[history.PromotedAnnotation]
			s.Revisions[i] = r
		}
	}
}

// approvedForAny takes an approval for one of any revision.
func approvedForAny(spec rollout.Spec, plan harness.PlanFunc) harness.PlanFunc {
	return asIf(func(s *rollout.Spec) {
		s.Strategy.Policy.Approved = slices.Clone(s.Strategy.Policy.Approved)
		for i := range s.Strategy.Policy.Approved {
			s.Strategy.Policy.Approved[i].Revision = rollouttest.Hash(spec)
		}
	})(spec, plan)
}

var (
	noStages   = asIf(func(s *rollout.Spec) { s.Strategy.Policy.Stages, s.Strategy.Policy.Approved = nil, nil })
	firstStage = asIf(func(s *rollout.Spec) {
		s.Strategy.Policy.Stages, s.Strategy.Policy.Approved = s.Strategy.Policy.Stages[:1], nil
	})
	labelledOnly = stagesAs(func(s *stage.Stage) {
		if s.Key != "" && s.Selector != nil {
			s.Selector = s.Selector.DeepCopy()
			s.Selector.MatchExpressions = append(s.Selector.MatchExpressions, metav1.LabelSelectorRequirement{Key: s.Key, Operator: metav1.LabelSelectorOpExists})
		}
	})
	noSoak       = stagesAs(func(s *stage.Stage) { s.Soak = 0 })
	noApproval   = stagesAs(func(s *stage.Stage) { s.Approval = false })
	noKeys       = stagesAs(func(s *stage.Stage) { s.Key = "" })
	anyTolerated = stagesAs(func(s *stage.Stage) { s.Tolerance = new(intstr.FromInt32(99)) })
)

var stageMutants = []mutant{
	{"no stages", "the policy is not looked at", stagesHold, alsoWith(noStages)},
	{"no approval, in a single plan", "a part that waits for its approval is opened", stagesSafe, noApproval},
	{"no soak, in a single plan", "the frontier does not hold the next part", stagesSafe, noSoak},
	{"keys are not looked at", "a stage is one part", stagesHold, alsoWith(noKeys)},
	{"names who keeps a part as they come", "the first of the list, not by name", stagesPure, spoiling(
		func(_ rollout.Spec, s rollout.Snapshot, p *rollout.Plan) {
			for i := range p.Parts {
				if len(p.Parts[i].Blocking) > 0 {
					p.Parts[i].Blocking = []string{s.Nodes[0].Name}
				}
			}
		})},
	{"depends on what was planned before", "a counter is kept from plan to plan", stagesPure, countsPlans},
}

// alsoWith plans as the mutant does, and says of the parts what the right plan says: by them the property tells that stages bind.
func alsoWith(mutant func(rollout.Spec, harness.PlanFunc) harness.PlanFunc) func(rollout.Spec, harness.PlanFunc) harness.PlanFunc {
	return func(spec rollout.Spec, plan harness.PlanFunc) harness.PlanFunc {
		wrong := mutant(spec, plan)
		return func(s rollout.Snapshot) (rollout.Plan, error) {
			right, err := plan(s)
			if err != nil {
				return right, err
			}
			p, err := wrong(s)
			right.Deletes, right.Creates, right.Patches = p.Deletes, p.Creates, p.Patches
			return right, err
		}
	}
}

var stageTaleMutants = []taleMutant{
	{"no stages, seen from outside", "the policy is not looked at", passesStages, noStages},
	{"the first stage only", "the others are not looked at", passesStages, firstStage},
	{"done by health", "a part is done when its pods are healthy, whatever their revision", passesStages, healthyIsDone},
	{"clock from the Ready transition", "soak is counted from what the condition says", passesStages, sinceReady},
	{"no soak", "the time is not looked at", passesStages, noSoak},
	{"no approval", "a part that is next is open", passesStages, noApproval},
	{"approved for any revision", "the revision of approvals is not looked at", passesStages, approvedForAny},
	{"keys are not looked at, seen from outside", "a stage is one part", passesStages, noKeys},
	{"nodes without the label are in no part", "a missing label is no value", passesStages, labelledOnly},
	{"anything is tolerated", "what is not available is not looked at", passesStages, anyTolerated},
	{"a promotion is the end of a rollout", "one mark is taken for the other", passesStages, misreading(promotedIsCompleted)},
	{"lost pods come back at the update revision", "closed parts are only not begun", passesStages, spoiling(newestEverywhere)},
	{"moves nodes back to the base", "the base is taken for their goal", passesStages, spoiling(downgrades)},
	{"keep nodes are ignored", "only run nodes are looked at", breaksStages, misreading(withoutKeepers)},
	{"a part without nodes waits", "nothing there can be done", endsStages, spoiling(waitsForNobody)},
	{"never marks", "the end is not written down", endsStages, spoiling(unmarked)},
	{"does not wake", "nobody plans when the time to soak is over", endsStages, spoiling(func(_ rollout.Spec, _ rollout.Snapshot, p *rollout.Plan) {
		p.NextWake = time.Time{}
	})},
	{"the revision carries no frontier", "how far the stages are is for the memory", losesNothing, misreading(
		func(s *rollout.Snapshot) {
			s.Revisions = slices.Clone(s.Revisions)
			for i, r := range s.Revisions {
				s.Revisions[i] = r.DeepCopy()
				delete(s.Revisions[i].Annotations, history.FrontierAnnotation)
			}
		})},
	{"a done part reopens", "a node that restarts or joins there closes the next ones", keepsOpen, reopens},
}

func TestStagePropertiesRejectMutants(t *testing.T) {
	t.Parallel()
	named := unique(t)
	for _, m := range stageMutants {
		named(m.name, m.why)
		t.Run(m.name, func(t *testing.T) { rejects(t, m) })
	}
	for _, m := range stageTaleMutants {
		named(m.name, m.why)
		t.Run(m.name, func(t *testing.T) { m.isRejected(t) })
	}
}
