//go:build teeth

package properties_test

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daemonplan/daemonplan/internal/harness"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
	"github.com/daemonplan/daemonplan/rollout/stage"
	"github.com/daemonplan/daemonplan/status"
)

var principleMutants = []mutant{
	{"Updating while any node is outdated", "what is not complete is taken for what goes on", nothingUnsaid, spoiling(updatingForEver)},
	{"does not say what helps", "who is in the way is enough", nothingUnsaid, spoiling(
		func(_ rollout.Spec, _ rollout.Snapshot, p *rollout.Plan) {
			p.Blockers = slices.Clone(p.Blockers)
			for i := range p.Blockers {
				p.Blockers[i].Helps = nil
			}
		})},
	{"blames any node whose pod is not ready", "which revision the pod is of is not looked at", noBlame, spoiling(
		func(_ rollout.Spec, _ rollout.Snapshot, p *rollout.Plan) {
			p.Decisions = slices.Clone(p.Decisions)
			for i := range p.Decisions {
				p.Decisions[i].Failed = p.Decisions[i].Failed || p.Decisions[i].Unavailable
			}
		})},
	{"opens what looks done", "an empty frontier is taken for a lost one", noWayAround, spoiling(
		func(spec rollout.Spec, s rollout.Snapshot, p *rollout.Plan) {
			if stages := spec.Strategy.Policy.Stages; len(stages) > 0 && p.Memory.Rollout.Frontier.At.IsZero() && len(p.Parts) > 0 {
				p.Memory.Rollout.Frontier = stage.Frontier{Stage: stages[0].Name, At: s.Now, Layout: stage.Layout(stages, 0)}
			}
		})},
	{"a later part is begun first", "stages are a matter of order alone", noWayAround, alsoWith(noStages)},
	{"exempt nodes need no room", "who is left out of a count may be taken", noPermission, takesExempt},
	{"what joins gets the newest revision", "the highest revision that any pod carries", closedHold, spoiling(newestEverywhere)},
}

// updatingForEver says that a set which is stuck goes on by itself.
func updatingForEver(_ rollout.Spec, _ rollout.Snapshot, p *rollout.Plan) {
	if p.Status.State == status.Stuck {
		p.Status.State, p.Status.Reason, p.Blockers = status.Updating, status.WaitingForAvailability, nil
	}
}

// takesExempt leaves each node whose Ready pod is deleted out of the budget, whatever is down beside it.
func takesExempt(spec rollout.Spec, plan harness.PlanFunc) harness.PlanFunc {
	rollouttest.MaxUnavailable("100%")(&spec)
	return func(s rollout.Snapshot) (rollout.Plan, error) {
		all, err := realPlanner(spec)
		if err != nil {
			return rollout.Plan{}, err
		}
		p, err := all(s)
		p.Decisions = slices.Clone(p.Decisions)
		for i := range p.Decisions {
			if d := &p.Decisions[i]; d.Verb == rollout.VerbReplace {
				d.Exemption, d.Unavailable = rollout.ExemptionOut, false
			}
		}
		return p, err
	}
}

var principleTaleMutants = []taleMutant{
	{"Updating for ever, seen at rest", "what is not complete is taken for what goes on", saysAtRest, spoiling(updatingForEver)},
	{"in the way are all", "who waits is taken for who is waited for", saysAtRest, spoiling(
		func(_ rollout.Spec, s rollout.Snapshot, p *rollout.Plan) {
			p.Blockers = slices.Clone(p.Blockers)
			for i := range p.Blockers {
				for _, n := range s.Nodes {
					p.Blockers[i].Nodes = append(slices.Clone(p.Blockers[i].Nodes), n.Name)
				}
			}
		})},
	{"blames whoever is down", "when a node went down is not looked at", blamesNobody, downSince(func(at metav1.Time) metav1.Time {
		if at.IsZero() {
			return at
		}
		return metav1.NewTime(rollouttest.Noon().Add(time.Hour)) // long after each update began
	})},
	{"dates failures by the creation of pods", "a pod that served for an hour is one that failed for an hour", blamesNobody, misreading(neverServed)},
	{"an empty frontier is a lost one", "what looks done is open, until it is known how far the rollout is", passesGates, remembering(
		func(a *account, f *stage.Frontier) {
			for _, at := range a.spots {
				if !f.At.IsZero() || !a.looksDone(at) {
					return
				}
				*f = stage.Frontier{Stage: a.stageOf(at).Name, Value: at.value, At: a.seen.Now.Add(-24 * time.Hour), Layout: stage.Layout(a.spec.Strategy.Policy.Stages, at.stage)}
			}
		})},
	{"who is left out may be taken", "a node that does not count needs no room", keepsLastPods, spoiling(takesLeftOut)},
	{"nobody goes back", "what is broken in closed parts waits for its turn", bringsBack, spoiling(goesNowhere)},
}

// neverServed plans as if pods that are not Ready had been so since they were created.
func neverServed(s *rollout.Snapshot) {
	s.Pods = slices.Clone(s.Pods)
	for i, p := range s.Pods {
		s.Pods[i] = p.DeepCopy()
		for j := range s.Pods[i].Status.Conditions {
			if c := &s.Pods[i].Status.Conditions[j]; c.Type == corev1.PodReady && c.Status != corev1.ConditionTrue {
				c.LastTransitionTime = metav1.NewTime(p.CreationTimestamp.Add(-2 * time.Hour))
				s.Pods[i].CreationTimestamp = c.LastTransitionTime
			}
		}
	}
}

// takesLeftOut deletes an outdated pod of a node that is left out, whatever comes after it.
func takesLeftOut(_ rollout.Spec, s rollout.Snapshot, p *rollout.Plan) {
	p.Decisions = slices.Clone(p.Decisions)
	for i := range p.Decisions {
		if d := &p.Decisions[i]; d.Exempt() && d.Deletes == 0 {
			only := *p
			only.Decisions = p.Decisions[i : i+1]
			alsoDelete(s, &only, d.State)
			p.Deletes = only.Deletes
		}
	}
}

// goesNowhere leaves what is broken in closed parts where it is.
func goesNowhere(_ rollout.Spec, _ rollout.Snapshot, p *rollout.Plan) {
	back := map[string]bool{}
	for i := range p.Decisions {
		back[p.Decisions[i].Node] = p.Decisions[i].Target == rollout.TargetBase
	}
	p.Deletes = slices.DeleteFunc(slices.Clone(p.Deletes), func(d rollout.Delete) bool { return back[d.Node] })
	p.Patches = slices.DeleteFunc(slices.Clone(p.Patches), func(d rollout.Patch) bool { return back[d.Node] })
	p.Creates = slices.DeleteFunc(slices.Clone(p.Creates), func(d rollout.Create) bool { return back[d.Node] })
}

func TestPrinciplesRejectMutants(t *testing.T) {
	t.Parallel()
	named := unique(t)
	for _, m := range principleMutants {
		named(m.name, m.why)
		t.Run(m.name, func(t *testing.T) { rejects(t, m) })
	}
	for _, m := range principleTaleMutants {
		named(m.name, m.why)
		t.Run(m.name, func(t *testing.T) { m.isRejected(t) })
	}
}
