package rollouttest

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/internal/kubelet"
	"github.com/daemonplan/daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/history"
	"github.com/daemonplan/daemonplan/rollout/simulate"
)

// CanaryBeforeAll promises that no node beyond those of the canary gets a revision before it is promoted (C1, C6), which is
// read off the mark on the ControllerRevision. Who takes the canary out of the spec in the middle of a trial breaks it. It
// fails also if no revision was on trial in the run, as in a first installation or a rollback, if no pod of it ever ran, as
// where no node matches the canary's selector, and if the canary had every node: then there is none that could have waited.
func CanaryBeforeAll() Promise {
	return Promise{
		Says: "no node beyond the canary's gets a revision before it is promoted",
		Begin: func(simulate.Scenario, *simulate.Simulation) Guard {
			c, ended := trials{}, map[string]bool{}
			waited, ran := false, false
			return Guard{
				Step: func(_ *simulate.Simulation, step *simulate.Step) error {
					c.observe(&step.Plan)
					ran = ran || c.ran(&step.Snapshot)
					update, canary := step.Plan.Status.UpdateRevision, step.Spec.Strategy.Canary != nil
					tried := c[update]
					waited = waited || tried != nil && len(tried) < int(step.Plan.Status.Desired)
					ended[update] = ended[update] || canary && promoted(step)
					// Without a canary every revision counts as promoted. One that was on trial then was given no end.
					if ended[update] || !canary && tried == nil {
						return nil
					}
					for _, node := range updatedBy(&step.Plan) {
						if !tried[node] {
							return breach([]string{node}, "%s gets revision %s, whose trial on %s has not ended", node, update,
								cmp.Or(listed(sortedNodes(tried, always)), "no node"))
						}
					}
					return nil
				},
				End: func(_ *simulate.Simulation, report simulate.Report) error {
					switch {
					case len(c) == 0:
						return breach(nil, "no revision was on trial in this run%s", standing(report))
					case !ran:
						return breach(nil, "no canary pod ever ran in this run%s", standing(report))
					case !waited:
						return breach(nil, "the canary had every node, so that none could wait for it")
					}
					return nil
				},
			}
		},
	}
}

// trials are the nodes that were a canary's, by the hash of the revision on trial.
type trials map[string]map[string]bool

func (t trials) observe(plan *rollout.Plan) {
	c := &plan.Canary
	if c.Phase != canary.Running && c.Phase != canary.Paused {
		return
	}
	if t[c.Revision] == nil {
		t[c.Revision] = map[string]bool{}
	}
	for _, node := range c.Nodes {
		t[c.Revision][node] = true
	}
}

// ran reports whether a pod of a revision on trial runs, or has run.
func (t trials) ran(snapshot *rollout.Snapshot) bool {
	return len(t) > 0 && slices.ContainsFunc(snapshot.Pods, func(p *corev1.Pod) bool {
		return t[objects.RevisionOf(p)] != nil && kubelet.HasRun(p, 0)
	})
}

// promoted reports whether the update revision has the mark, or gets it before all else that the plan does.
func promoted(step *simulate.Step) bool {
	update := step.Plan.Status.UpdateRevision
	names := map[string]bool{}
	for _, revision := range step.Snapshot.Revisions {
		if history.HashOf(revision) != update {
			continue
		}
		names[revision.Name] = true
		if _, ok := revision.Annotations[history.PromotedAnnotation]; ok {
			return true
		}
	}
	for i := range step.Plan.Revisions {
		action := &step.Plan.Revisions[i]
		if _, ok := action.Annotations[history.PromotedAnnotation]; ok && names[action.Name] {
			return true
		}
		if action.Object != nil && history.HashOf(action.Object) == update {
			if _, ok := action.Object.Annotations[history.PromotedAnnotation]; ok {
				return true
			}
		}
	}
	return false
}

// updatedBy are the nodes on which the plan creates a pod of the update revision, or updates one in place to it.
func updatedBy(plan *rollout.Plan) []string {
	var nodes []string
	for i := range plan.Creates {
		if plan.Creates[i].Revision == plan.Status.UpdateRevision {
			nodes = append(nodes, plan.Creates[i].Node)
		}
	}
	begun := map[string]bool{}
	for i := range plan.Decisions {
		if d := &plan.Decisions[i]; d.Verb == rollout.VerbUpdate {
			begun[d.Node] = true
		}
	}
	for i := range plan.Patches {
		if p := &plan.Patches[i]; begun[p.Node] && p.Revision == plan.Status.UpdateRevision {
			nodes = append(nodes, p.Node)
		}
	}
	return nodes
}

func always(string, bool) bool { return true }
