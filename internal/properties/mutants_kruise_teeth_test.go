//go:build teeth

package properties_test

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/internal/harness"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// withRoom plans for a budget that is larger by what the snapshot has of something that should count against it.
func withRoom(uncounted func(*corev1.Pod) bool) func(rollout.Spec, harness.PlanFunc) harness.PlanFunc {
	return func(spec rollout.Spec, plan harness.PlanFunc) harness.PlanFunc {
		return func(s rollout.Snapshot) (rollout.Plan, error) {
			limit := spec.Strategy.MaxUnavailable
			if limit == nil || limit.Type != 0 {
				return plan(s)
			}
			more := *limit
			for _, p := range s.Pods {
				if uncounted(p) {
					more.IntVal++
				}
			}
			wider := spec
			wider.Strategy.MaxUnavailable = &more
			planner, err := rollout.New(wider)
			if err != nil {
				return rollout.Plan{}, err
			}
			return planner.Plan(s)
		}
	}
}

// dropping leaves out patches of pods.
func dropping(drop func(s rollout.Snapshot, patch rollout.Patch, pod *corev1.Pod) bool) func(rollout.Spec, harness.PlanFunc) harness.PlanFunc {
	return spoiling(func(_ rollout.Spec, s rollout.Snapshot, p *rollout.Plan) {
		p.Patches = slices.DeleteFunc(slices.Clone(p.Patches), func(patch rollout.Patch) bool {
			return drop(s, patch, podWith(s, patch.UID))
		})
	})
}

// alsoPatch adds a patch of the pod, and books it on its node.
func alsoPatch(p *rollout.Plan, pod *corev1.Pod, subresource, data string) {
	node := nodeOfAny(pod)
	for i := range p.Decisions {
		if d := &p.Decisions[i]; d.Node == node {
			d.Patches++
			p.Patches = append(p.Patches, rollout.Patch{
				Node: node, Pod: pod.Name, UID: pod.UID, Type: types.StrategicMergePatchType, Subresource: subresource,
				Data: []byte(data), Revision: revisionOf(pod), Reason: rollout.ReasonInPlaceUnfinished,
			})
			return
		}
	}
}

// swappedIn plans as the planner of another spec, and takes only some of it.
func swappedIn(take func(to *rollout.Plan, from rollout.Plan), options ...rollouttest.SpecOption) func(rollout.Spec, harness.PlanFunc) harness.PlanFunc {
	return func(spec rollout.Spec, plan harness.PlanFunc) harness.PlanFunc {
		other := asIf(options...)(spec, plan)
		return func(s rollout.Snapshot) (rollout.Plan, error) {
			p, err := plan(s)
			if err != nil {
				return p, err
			}
			from, err := other(s)
			take(&p, from)
			return p, err
		}
	}
}

func noSelector(s *rollout.Spec)  { s.Strategy.NodeSelector = nil }
func noPartition(s *rollout.Spec) { s.Strategy.Partition = nil }

// onePlaceLess and onePlaceMore take an integer for the partition by one.
func onePlaceLess(s *rollout.Spec) { placesMore(s, -1) }
func onePlaceMore(s *rollout.Spec) { placesMore(s, 1) }

func placesMore(s *rollout.Spec, n int32) {
	q := s.Strategy.Partition
	if q == nil || q.Type != 0 || q.IntVal+n < 0 {
		return
	}
	more := *q
	more.IntVal += n
	s.Strategy.Partition = &more
}

var holdMutants = []mutant{
	{
		"a place of the partition less", "off by one", partitioned, asIf(onePlaceLess),
	},
	{
		"a place of the partition less, as witnessed", "the same along a story", toldHeld, asIf(onePlaceLess),
	},
	{
		"a place of the partition more", "off by one the other way: a node is never updated", toldEnd, asIf(onePlaceMore),
	},
	{
		"partition forgotten", "only the node selector is looked at", toldHeld, asIf(noPartition),
	},
	{
		"held nodes are those with the last names", "the other end of the order", accountedFor,
		spoiling(func(_ rollout.Spec, _ rollout.Snapshot, p *rollout.Plan) {
			for i := range p.Decisions {
				if d := &p.Decisions[i]; d.State == rollout.StateOutdated {
					d.Target = rollout.TargetUpdate + rollout.TargetHeld - d.Target
				}
			}
		}),
	},
	{
		"updated nodes take places", "places go by name, whatever is on the node", accountedFor,
		spoiling(func(_ rollout.Spec, _ rollout.Snapshot, p *rollout.Plan) {
			for i := range p.Decisions {
				if d := &p.Decisions[i]; d.State == rollout.StateUpdated {
					d.Target, p.Budget.Partitioned = rollout.TargetHeld, p.Budget.Partition
				}
			}
		}),
	},
	{
		"installs everywhere", "partitionedScaling is not looked at", installing,
		asIf(func(s *rollout.Spec) { s.Strategy.PartitionedScaling = false }),
	},
	{
		"updates unselected nodes", "the selector is for the pods of the template only", selected, asIf(noSelector),
	},
	{
		"updates unselected nodes, as witnessed", "the same along a story", toldHeld, asIf(noSelector),
	},
	{
		"recreates although in place only", "InPlaceOnly is taken for a wish", onlyInPlace, asIf(rollouttest.InPlaceIfPossible()),
	},
	{
		"begins in place while paused", "what is not deleted is no update", pausedInPlace,
		asIf(func(s *rollout.Spec) { s.Strategy.Paused = false }),
	},
	{
		"begins while paused, as witnessed", "the same along a story", toldHeld,
		asIf(func(s *rollout.Spec) { s.Strategy.Paused = false }),
	},
	{
		"comes back updated", "holdRevision is not looked at", comesBack,
		spoiling(func(spec rollout.Spec, _ rollout.Snapshot, p *rollout.Plan) {
			for i := range p.Creates {
				p.Creates[i].Revision, p.Creates[i].Template = rollouttest.Hash(spec), nil
			}
		}),
	},
	{
		"comes back without its template", "the revision is named, and the pod made of another", comesBack,
		spoiling(func(_ rollout.Spec, _ rollout.Snapshot, p *rollout.Plan) {
			for i := range p.Creates {
				p.Creates[i].Template = nil
			}
		}),
	},
}

// goesOnRegardless takes what goes on with prepared pods from a planner with room for all.
var goesOnRegardless = swappedIn(func(to *rollout.Plan, from rollout.Plan) {
	goesOn := func(reason rollout.Reason) bool {
		return reason == rollout.ReasonBegun || reason == rollout.ReasonReleased
	}
	patches := slices.DeleteFunc(slices.Clone(from.Patches), func(p rollout.Patch) bool { return !goesOn(p.Reason) })
	to.Patches = append(slices.DeleteFunc(to.Patches, func(p rollout.Patch) bool { return goesOn(p.Reason) }), patches...)
	deletes := slices.DeleteFunc(slices.Clone(from.Deletes), func(d rollout.Delete) bool { return !goesOn(d.Reason) })
	to.Deletes = append(slices.DeleteFunc(to.Deletes, func(d rollout.Delete) bool { return goesOn(d.Reason) }), deletes...)
}, rollouttest.MaxUnavailable("100%"))

var hookMutants = []mutant{
	{
		"takes what is under way for done", "a pod that is ready is taken for updated, whatever its kubelet has to restart", servedOn,
		func(_ rollout.Spec, plan harness.PlanFunc) harness.PlanFunc {
			return func(s rollout.Snapshot) (rollout.Plan, error) {
				s.Pods = slices.Clone(s.Pods)
				for i, p := range s.Pods {
					p = p.DeepCopy()
					delete(p.Annotations, inplace.StateKey)
					s.Pods[i] = p
				}
				return plan(s)
			}
		},
	},
	{
		"makes pods not ready for nothing", "serveOn is not looked at", servedOn,
		asIf(func(s *rollout.Spec) { s.Strategy.InPlace.ServeOn = nil }),
	},
	{
		"lets all prepared pods go at once", "they are taken for what has room already", preparedInOutage, goesOnRegardless,
	},
	{
		"lets all prepared pods go at once, as the verifier sees it", "the same along the way", safeInOutage, goesOnRegardless,
	},
	{
		"lets all prepared pods go at once, one plan", "the same, as the verifier sees it", takenPrepared, goesOnRegardless,
	},
	{
		"deletes hooked pods", "the hook is not looked at", deletesHooked, asIf(func(s *rollout.Spec) { s.Lifecycle.PreDelete = nil }),
	},
	{
		"deletes hooked pods, as witnessed", "the same along a story", toldHooks,
		asIf(func(s *rollout.Spec) { s.Lifecycle.PreDelete = nil }),
	},
	{
		"deletes instead of preparing", "the mark is taken for the permission", deletesHooked,
		spoiling(func(_ rollout.Spec, s rollout.Snapshot, p *rollout.Plan) {
			for _, patch := range p.Patches {
				if pod := podWith(s, patch.UID); pod != nil && lifecycle.StateOf(pod) != lifecycle.PreparingDelete && patch.Reason == rollout.ReasonOutdated {
					p.Deletes = append(p.Deletes, rollout.Delete{Node: patch.Node, Pod: patch.Pod, UID: patch.UID, Revision: patch.Revision})
				}
			}
		}),
	},
	{
		"updates hooked pods", "the hook before in-place updates is not waited for", toldHooks,
		asIf(func(s *rollout.Spec) { s.Lifecycle.InPlaceUpdate = nil }),
	},
	{
		"takes back what should go", "a mark without a delete is taken for a mistake", takenBack,
		spoiling(func(_ rollout.Spec, s rollout.Snapshot, p *rollout.Plan) {
			for _, d := range p.Deletes {
				if pod := podWith(s, d.UID); lifecycle.StateOf(pod) == lifecycle.PreparingDelete {
					alsoPatch(p, pod, "", `{"metadata":{"uid":"`+string(pod.UID)+`","labels":{"`+lifecycle.StateLabel+`":"Normal"}}}`)
				}
			}
			p.Deletes = nil
		}),
	},
	{
		"never deletes what has left", "the hook is waited for after it let the pod go", toldEnd,
		spoiling(func(_ rollout.Spec, s rollout.Snapshot, p *rollout.Plan) {
			p.Deletes = slices.DeleteFunc(slices.Clone(p.Deletes), func(d rollout.Delete) bool {
				return lifecycle.StateOf(podWith(s, d.UID)) == lifecycle.PreparingDelete
			})
		}),
	},
	{
		"forgets the pod after its hook", "Updated is taken for the end", toldEnd,
		dropping(func(_ rollout.Snapshot, _ rollout.Patch, pod *corev1.Pod) bool {
			return lifecycle.StateOf(pod) == lifecycle.Updated
		}),
	},
}
