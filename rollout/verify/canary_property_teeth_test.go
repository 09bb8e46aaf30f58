//go:build teeth

package verify_test

import (
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/internal/harness/draw"
	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/history"
)

// plantedCanaryBugs make a plan wrong whatever it was before, as plantedBugs do.
func plantedCanaryBugs() []plantedBug {
	tried := func(p *rollout.Plan) bool { return p.Canary.Phase == canary.Running || p.Canary.Phase == canary.Paused }
	return []plantedBug{
		{"promoted before its time", func(spec *rollout.Spec, s *rollout.Snapshot, p *rollout.Plan) bool {
			runs := p.Canary.Phase == canary.Running
			if runs && spec.Strategy.Canary.Default().Mode == canary.Auto && *spec.Strategy.Canary.Default().Duration == 0 {
				// Of a canary that nodes join the verifier knows only that its clock begins anew. Without a duration that says nothing.
				runs = !slices.ContainsFunc(p.Canary.Nodes, func(n string) bool { return !slices.Contains(s.Memory.Canary.Nodes, n) })
			}
			p.Canary.Phase = canary.Idle
			return runs
		}, 6},
		{"a fail that is over", func(spec *rollout.Spec, s *rollout.Snapshot, p *rollout.Plan) bool {
			// What is retried may fail anew in the same plan, and then it is not the record that says so.
			unasked := p.Canary.Phase == canary.Failed && spec.Strategy.Canary.Commands.Retry == ""
			failed := unasked && slices.ContainsFunc(s.Revisions, func(r *appsv1.ControllerRevision) bool {
				return history.HashOf(r) == p.Status.UpdateRevision && history.Failed(r)
			})
			p.Canary.Phase = canary.Running
			return failed
		}, 6},
		{"one canary node more is wanted", func(_ *rollout.Spec, _ *rollout.Snapshot, p *rollout.Plan) bool {
			p.Canary.Wanted++
			return tried(p)
		}, 12},
		{"every node a canary node", func(_ *rollout.Spec, _ *rollout.Snapshot, p *rollout.Plan) bool {
			some := len(p.Canary.Nodes) < int(p.Status.Desired)
			p.Canary.Nodes = nil
			for _, d := range p.Decisions {
				if d.State < rollout.StateVanished {
					p.Canary.Nodes = append(p.Canary.Nodes, d.Node)
				}
			}
			return tried(p) && some
		}, 6},
		{"a decision that does not know its canary", func(_ *rollout.Spec, _ *rollout.Snapshot, p *rollout.Plan) bool {
			for i := range p.Decisions {
				p.Decisions[i].Canary = !p.Decisions[i].Canary
			}
			return len(p.Decisions) > 0
		}, 12},
		{"a clock that runs ahead", func(_ *rollout.Spec, _ *rollout.Snapshot, p *rollout.Plan) bool {
			p.Memory.Canary.Elapsed += time.Second
			return tried(p)
		}, 12},
		{"another stable revision", func(_ *rollout.Spec, _ *rollout.Snapshot, p *rollout.Plan) bool {
			p.Status.StableRevision += "x"
			return true
		}, 12},
		{"a mark on a revision that is neither", func(_ *rollout.Spec, s *rollout.Snapshot, p *rollout.Plan) bool {
			for _, r := range s.Revisions {
				hash := history.HashOf(r)
				if hash != p.Status.UpdateRevision && hash != p.Status.StableRevision && !slices.Contains(s.InFlight.Revisions, r.Name) {
					p.Revisions = []rollout.RevisionAction{{
						Verb: rollout.AnnotateRevision, Name: r.Name, UID: r.UID, Annotations: map[string]string{history.PromotedAnnotation: "x"},
					}}
					return true
				}
			}
			return false
		}, 4},
		{"the revision on trial outside its canary", func(_ *rollout.Spec, _ *rollout.Snapshot, p *rollout.Plan) bool {
			planted := false
			for i := range p.Creates {
				c := &p.Creates[i]
				d := slices.IndexFunc(p.Decisions, func(d rollout.Decision) bool { return d.Node == c.Node })
				if p.Decisions[d].Target == rollout.TargetStable {
					c.Revision, c.Template, planted = p.Status.UpdateRevision, nil, true
				}
			}
			return planted
		}, 6},
		{"a canary's pod that is not one", func(_ *rollout.Spec, _ *rollout.Snapshot, p *rollout.Plan) bool {
			for i := range p.Creates {
				p.Creates[i].Canary = !p.Creates[i].Canary
			}
			return len(p.Creates) > 0
		}, 12},
		{"other resources", func(_ *rollout.Spec, _ *rollout.Snapshot, p *rollout.Plan) bool {
			for i := range p.Creates {
				p.Creates[i].Resources = append(p.Creates[i].Resources[:0:0], placement.Resources{Container: "planted"})
			}
			return len(p.Creates) > 0
		}, 3},
		{"all left out of the budgets", func(s *rollout.Spec, _ *rollout.Snapshot, p *rollout.Plan) bool {
			count := 0
			for i := range p.Decisions {
				if d := &p.Decisions[i]; d.State < rollout.StateVanished {
					d.Exemption = rollout.ExemptionUnschedulable
					count++
				}
			}
			return count > int(p.Budget.MaxUnschedulable) && s.Strategy.MaxSurge == nil
		}, 1},
		{"a higher limit", func(_ *rollout.Spec, _ *rollout.Snapshot, p *rollout.Plan) bool {
			p.Budget.SlowStart++
			return true
		}, 12},
		{"fewer under way", func(_ *rollout.Spec, _ *rollout.Snapshot, p *rollout.Plan) bool {
			p.Budget.UnderWay--
			return true
		}, 12},
		{"a label on any pod", func(_ *rollout.Spec, s *rollout.Snapshot, p *rollout.Plan) bool {
			for _, pod := range s.Pods {
				untouched := pod.DeletionTimestamp == nil && !slices.Contains(s.InFlight.Deletes, pod.UID) &&
					!slices.Contains(s.InFlight.Patches, pod.UID) &&
					!slices.ContainsFunc(p.Deletes, func(d rollout.Delete) bool { return d.UID == pod.UID }) &&
					!slices.ContainsFunc(p.Patches, func(patch rollout.Patch) bool { return patch.UID == pod.UID })
				if untouched && pod.Labels[rollout.CanaryLabel] == "" && !tried(p) {
					p.Patches = append(p.Patches, rollout.Patch{
						Node: pod.Spec.NodeName, Pod: pod.Name, UID: pod.UID, Type: types.MergePatchType,
						Data: []byte(`{"metadata":{"uid":"` + string(pod.UID) + `","labels":{"` + rollout.CanaryLabel + `":"true"}}}`),
					})
					return true
				}
			}
			return false
		}, 4},
	}
}

// TestVerifyFindsPlantedCanaryBugs plants bugs in plans of the planner.
func TestVerifyFindsPlantedCanaryBugs(t *testing.T) {
	for _, bug := range plantedCanaryBugs() {
		t.Run(bug.name, func(t *testing.T) {
			findsPlanted(t, bug, draw.AnyCanaryCase())
		})
	}
}
