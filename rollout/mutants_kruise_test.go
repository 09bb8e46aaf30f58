package rollout_test

import (
	"encoding/json"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// withRoom plans for a budget that is larger by what the snapshot has of something that should count against it.
func withRoom(uncounted func(*corev1.Pod) bool) func(rollout.Spec, rollouttest.PlanFunc) rollouttest.PlanFunc {
	return func(spec rollout.Spec, plan rollouttest.PlanFunc) rollouttest.PlanFunc {
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

// rewriting changes the data of the patches that change a pod at all, not only its status; nil drops the patch.
func rewriting(change func(s rollout.Snapshot, patch *rollout.Patch, data map[string]any) map[string]any,
) func(rollout.Spec, rollouttest.PlanFunc) rollouttest.PlanFunc {
	return spoiling(func(_ rollout.Spec, s rollout.Snapshot, p *rollout.Plan) {
		var patches []rollout.Patch
		for _, patch := range p.Patches {
			var data map[string]any
			if err := json.Unmarshal(patch.Data, &data); err != nil {
				panic(err) // patches are JSON
			}
			if data = change(s, &patch, data); data == nil {
				continue
			}
			text, err := json.Marshal(data)
			if err != nil {
				panic(err) // as before
			}
			patch.Data = text
			patches = append(patches, patch)
		}
		p.Patches = patches
	})
}

// labelsIn are the labels that a patch sets, if it sets the revision; else nil.
func labelsIn(data map[string]any) map[string]any {
	metadata, _ := data["metadata"].(map[string]any)
	labels, _ := metadata["labels"].(map[string]any)
	if _, ok := labels[appsv1.DefaultDaemonSetUniqueLabelKey]; !ok {
		return nil
	}
	return labels
}

// dropping leaves out patches of pods.
func dropping(drop func(s rollout.Snapshot, patch rollout.Patch, pod *corev1.Pod) bool) func(rollout.Spec, rollouttest.PlanFunc) rollouttest.PlanFunc {
	return spoiling(func(_ rollout.Spec, s rollout.Snapshot, p *rollout.Plan) {
		p.Patches = slices.DeleteFunc(slices.Clone(p.Patches), func(patch rollout.Patch) bool {
			return drop(s, patch, podWith(s, patch.UID))
		})
	})
}

func podWith(s rollout.Snapshot, uid types.UID) *corev1.Pod {
	for _, p := range s.Pods {
		if p.UID == uid {
			return p
		}
	}
	return nil
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
func swappedIn(take func(to *rollout.Plan, from rollout.Plan), options ...rollouttest.SpecOption) func(rollout.Spec, rollouttest.PlanFunc) rollouttest.PlanFunc {
	return func(spec rollout.Spec, plan rollouttest.PlanFunc) rollouttest.PlanFunc {
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

func pullsMore(s *rollout.Spec) {
	if s.PreDownload == nil {
		return
	}
	options := *s.PreDownload
	more := *options.Parallelism
	more.IntVal++
	options.Parallelism = &more
	s.PreDownload = &options
}

// unready tells whether the pod is in the middle of an in-place update.
func unready(p *corev1.Pod) bool {
	return p != nil && slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == lifecycle.InPlaceUpdateReady && c.Status == corev1.ConditionFalse
	})
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
		"recreates although in place only", "InPlaceOnly is taken for a wish", onlyInPlace, asIf(rollouttest.InPlace()),
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

var hookMutants = []mutant{
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

var inPlaceMutants = []mutant{
	{
		"spec without label", "two patches where one is needed", truthful,
		rewriting(func(_ rollout.Snapshot, _ *rollout.Patch, data map[string]any) map[string]any {
			delete(labelsIn(data), appsv1.DefaultDaemonSetUniqueLabelKey)
			return data
		}),
	},
	{
		"label without spec", "the other half of it", truthful,
		rewriting(func(_ rollout.Snapshot, _ *rollout.Patch, data map[string]any) map[string]any {
			if labelsIn(data) != nil {
				delete(data, "spec")
			}
			return data
		}),
	},
	{
		"label without spec, as witnessed", "the same along a story", toldTruth,
		rewriting(func(_ rollout.Snapshot, _ *rollout.Patch, data map[string]any) map[string]any {
			if labelsIn(data) != nil {
				delete(data, "spec")
			}
			return data
		}),
	},
	{
		"another revision in the label", "the revision of the pod instead of the update's", truthful,
		rewriting(func(s rollout.Snapshot, patch *rollout.Patch, data map[string]any) map[string]any {
			if labels := labelsIn(data); labels != nil {
				labels[appsv1.DefaultDaemonSetUniqueLabelKey] = revisionOf(podWith(s, patch.UID)) + "x"
			}
			return data
		}),
	},
	{
		"a key of nobody's", "a mark of our own on the pod", truthful,
		rewriting(func(_ rollout.Snapshot, _ *rollout.Patch, data map[string]any) map[string]any {
			if labels := labelsIn(data); labels != nil {
				labels["updated-by"] = "daemonplan"
			}
			return data
		}),
	},
	{
		"another pod's UID", "the patch could hit a namesake", truthful,
		rewriting(func(_ rollout.Snapshot, _ *rollout.Patch, data map[string]any) map[string]any {
			if metadata, ok := data["metadata"].(map[string]any); ok {
				metadata["uid"] = "another"
			}
			return data
		}),
	},
	{
		"not made unready", "traffic goes on to a container that restarts", truthful,
		dropping(func(_ rollout.Snapshot, patch rollout.Patch, pod *corev1.Pod) bool {
			return patch.Subresource == "status" && !unready(pod)
		}),
	},
	{
		"not made unready, as witnessed", "the same along a story", toldTruth,
		dropping(func(_ rollout.Snapshot, patch rollout.Patch, pod *corev1.Pod) bool {
			return patch.Subresource == "status" && !unready(pod)
		}),
	},
	{
		"no grace period", "unready is taken for drained", toldTruth, asIf(rollouttest.GracePeriod(0)),
	},
	{
		"patches in the wrong order", "the label is there before what it says", toldTruth,
		spoiling(func(_ rollout.Spec, _ rollout.Snapshot, p *rollout.Plan) { slices.Reverse(p.Patches) }),
	},
	{
		"completes too early", "the spec is taken for what runs", truthful, completing,
	},
	{
		"completes too early, as witnessed", "the same along a story", toldTruth, completing,
	},
	{
		"never completes", "nobody makes the pod ready again", toldEnd,
		dropping(func(_ rollout.Snapshot, patch rollout.Patch, pod *corev1.Pod) bool {
			return unready(pod) && patch.Reason == rollout.ReasonInPlaceUnfinished
		}),
	},
	{
		"second update hangs", "a pod in an update is not touched before that is complete", toldEnd,
		dropping(func(_ rollout.Snapshot, patch rollout.Patch, pod *corev1.Pod) bool {
			return unready(pod) && !inplace.Completed(pod).Done && !inplace.Preparing(pod)
		}),
	},
	{
		"resizes unasked", "the option is not looked at", notResized, asIf(rollouttest.Resize()),
	},
	{
		"recreates what can stay", "in place is tried and not done", toldIdentity,
		asIf(func(s *rollout.Spec) { s.Strategy.Method = inplace.Recreate }),
	},
	{
		"recreates what it has updated", "the new pod is not recognised until it is ready", toldIdentity,
		spoiling(func(_ rollout.Spec, s rollout.Snapshot, p *rollout.Plan) {
			if s.Now.After(rollouttest.Noon()) {
				alsoDelete(s, p, rollout.StateStarting)
			}
		}),
	},
	{
		"waiting pods cost nothing", "a pod that waits for its hook counts as serving", budgetInPlace,
		withRoom(func(p *corev1.Pod) bool { return lifecycle.StateOf(p) == lifecycle.PreparingUpdate }),
	},
	{
		"waiting pods cost nothing, as witnessed", "the same along a story", toldBudget,
		withRoom(func(p *corev1.Pod) bool { return lifecycle.StateOf(p) == lifecycle.PreparingUpdate }),
	},
	{
		"resizes cost nothing", "a pod that never gets its resources counts as serving", toldBudget,
		withRoom(func(p *corev1.Pod) bool { return isTrue(p, corev1.PodReady) && !asSpec(p) }),
	},
	{
		"burst is for deletes", "in-place updates begin without limit", burstInPlace,
		swappedIn(func(to *rollout.Plan, from rollout.Plan) {
			if len(from.Deletes) == len(to.Deletes) && len(from.Creates) == len(to.Creates) {
				*to = from
			}
		}, noBurst),
	},
}

// completing makes pods ready while their update is not complete.
var completing = spoiling(func(_ rollout.Spec, s rollout.Snapshot, p *rollout.Plan) {
	for _, pod := range s.Pods {
		if unready(pod) && !inplace.Preparing(pod) && !inplace.Completed(pod).Done && pod.DeletionTimestamp == nil {
			alsoPatch(p, pod, "status", `{"metadata":{"uid":"`+string(pod.UID)+`"},"status":{"conditions":[{"type":"InPlaceUpdateReady","status":"True"}]}}`)
		}
	}
})

var pullMutants = []mutant{
	{
		"one pull more", "the limit is compared the wrong way", pulled, asIf(pullsMore),
	},
	{
		"one pull more, as witnessed", "the same along a story", toldPulls, asIf(pullsMore),
	},
	{
		"pulls in flight do not count", "the limit is for one plan", toldPulls,
		misreading(func(s *rollout.Snapshot) { s.InFlight.Pulls = nil }),
	},
	{
		"pulls on held nodes", "all outdated nodes need the image", toldPulls,
		swappedIn(func(to *rollout.Plan, from rollout.Plan) { to.Pulls = from.Pulls }, noSelector, noPartition),
	},
	{
		"pulls while paused", "pulls are no update", toldHeld,
		swappedIn(func(to *rollout.Plan, from rollout.Plan) { to.Pulls = from.Pulls }, onePullAtATime, rollouttest.Rolling()),
	},
	{
		"pulls what is there", "what the node reports is not looked at", pulled,
		misreading(func(s *rollout.Snapshot) {
			s.Nodes = slices.Clone(s.Nodes)
			for i := range s.Nodes {
				s.Nodes[i] = s.Nodes[i].DeepCopy()
				s.Nodes[i].Status.Images = nil
			}
		}),
	},
	{
		"pulls again at once", "failed pulls have no back-off", pulled,
		misreading(func(s *rollout.Snapshot) { s.FailedPulls = nil }),
	},
}
