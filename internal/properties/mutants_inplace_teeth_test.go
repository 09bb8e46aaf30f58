//go:build teeth

package properties_test

import (
	"encoding/json"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/internal/harness"
	"github.com/daemonplan/daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// rewriting changes the data of the patches that change a pod at all, not only its status; nil drops the patch.
func rewriting(change func(s rollout.Snapshot, patch *rollout.Patch, data map[string]any) map[string]any,
) func(rollout.Spec, harness.PlanFunc) harness.PlanFunc {
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
		"second update hangs", "a pod in an update is not touched before that is complete", toldSecond,
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
		"updated pods have nothing in flight", "a rollback makes updated what was just begun", toldRollback,
		func(spec rollout.Spec, plan harness.PlanFunc) harness.PlanFunc {
			return func(s rollout.Snapshot) (rollout.Plan, error) {
				s.InFlight.Patches = slices.DeleteFunc(slices.Clone(s.InFlight.Patches), func(uid types.UID) bool {
					return revisionOf(podWith(s, uid)) == rollouttest.Hash(spec)
				})
				return plan(s)
			}
		},
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
		swappedIn(func(to *rollout.Plan, from rollout.Plan) { to.Pulls = from.Pulls }, onePullAtATime, objects.Rolling()),
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
