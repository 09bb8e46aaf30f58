package verify

import (
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/rollout"
)

// patchedPod is a pod that the plan patches, from before the first patch to after the last.
type patchedPod struct {
	*verifier
	pod         *pod
	first, last *corev1.Pod
	old, new    *corev1.PodTemplateSpec // of the revisions that it carries then; nil: not known
	change      change
	pending     *inplace.UpdateState // what an earlier update has left to do; nil: nothing, or it cannot be read
}

// wrong reports what the patches of the pod do against the rules.
func (c *patchedPod) wrong(invariant int, format string, args ...any) {
	c.report(invariant, c.pod.name, "patch of pod %s: %s", c.pod.object.Name, fmt.Sprintf(format, args...))
}

func (c *patchedPod) check() {
	c.checkBegun()
	c.checkRevision()
	c.checkState()
	c.checkMetadata("label", c.change.labels, c.last.Labels,
		func(t *corev1.PodTemplateSpec) map[string]string { return t.Labels })
	c.checkMetadata("annotation", c.change.annotations, c.last.Annotations,
		func(t *corev1.PodTemplateSpec) map[string]string { return t.Annotations })
	c.checkFinalizers()
	c.checkConditions()
	c.checkContainers()
	for i := range c.pod.patches {
		// The label may name what is there already, or is to come with the next batches; never what only another patch
		// brings.
		after := c.pod.patches[i].after
		changes := c.goesOn() || len(c.change.images)+len(c.change.resources) > 0
		if c.changesRevision(after) || changes && i == len(c.pod.patches)-1 {
			c.checkTruth(after)
		}
	}
}

// changesRevision reports whether the pod is at another revision then, and not only at a duplicate of it (R3).
func (c *patchedPod) changesRevision(after *corev1.Pod) bool {
	from, to := revisionOf(c.first), revisionOf(after)
	return from != to && (!c.updates[from] || !c.updates[to])
}

// goesOn reports whether the patches go on with an update whose label the pod has already: its next batch.
func (c *patchedPod) goesOn() bool {
	return c.first.Annotations[inplace.StateKey] != c.last.Annotations[inplace.StateKey] && !c.changesRevision(c.last)
}

// checkRevision: the label changes to the update revision, with the update or as R3 has it for duplicates.
func (c *patchedPod) checkRevision() {
	if !slices.Contains(c.change.labels, appsv1.DefaultDaemonSetUniqueLabelKey) {
		return
	}
	hash, right := revisionOf(c.last), c.plan.Status.UpdateRevision
	if c.pod.begun {
		right = c.goalHash(c.pod.node)
	}
	switch {
	case hash != right:
		c.wrong(9, "sets revision %q, right is %q", hash, right)
	case !c.pod.begun && !c.updates[c.pod.hash]:
		c.wrong(4, "R3: relabels a pod that carries no duplicate of the update revision")
	}
}

// checkState holds the lifecycle state to what the hooks lead to, for what the plan does with the pod (L2, L3).
func (c *patchedPod) checkState() {
	from, to := lifecycle.StateOf(c.first), lifecycle.StateOf(c.last)
	if c.pod.begun && from == lifecycle.PreparingDelete {
		c.wrong(4, "L2, L3: updates a pod in place that is on its way out; right is to take its deletion back first")
		return
	}
	if from == to {
		return
	}
	hooks, done := c.spec.Lifecycle, inplace.Completed(c.pod.object).Done
	allowed := hooks.Next(c.pod.object, lifecycle.Keep, done).To
	switch {
	case c.pod.dismissed:
		allowed = lifecycle.PreparingDelete // see checkDelete
	case c.pod.begun:
		allowed = hooks.Next(c.pod.object, lifecycle.Update, done).To
	case c.pod.leaves():
		c.wrong(4, "L2: takes back a pod that is to be deleted")
		return
	case c.pod.preparing && c.waitsForUpdate():
		c.wrong(4, "L3: takes back a pod that is to be updated in place, and that nothing holds")
		return
	}
	if to != allowed {
		c.wrong(4, "L2, L3: leads from lifecycle state %q to %q, right is %q", from, to, allowed)
	}
}

// waitsForUpdate reports whether the update of the pod in place is to go on.
func (c *patchedPod) waitsForUpdate() bool {
	node := c.pod.node
	return node != nil && !node.leftAlone && node.bestOutdated == c.pod && c.isCandidate(node, c.pod) &&
		c.spec.Strategy.Method != inplace.Recreate && !c.obstructed(c.pod) && c.holdsUpdate(node, c.pod) == rollout.LimitNone
}

// checkMetadata: labels and annotations change only as the templates do, or as the update itself and the hooks need it.
func (c *patchedPod) checkMetadata(kind string, keys []string, has map[string]string,
	of func(*corev1.PodTemplateSpec) map[string]string,
) {
	for _, key := range keys {
		if kind == "label" && key == rollout.CanaryLabel {
			c.checkCanaryLabel(has)
			continue
		}
		if c.ownMetadata(kind, key, has) {
			continue
		}
		value, there := has[key]
		var want string
		var named, dropped bool
		if c.new != nil {
			want, named = of(c.new)[key]
		}
		if c.old != nil && c.new != nil {
			_, before := of(c.old)[key]
			dropped = before && !named
		}
		switch {
		case !c.pod.begun && !c.goesOn():
			c.wrong(4, "changes the %s %s without an update in place", kind, key)
		case there && (!named || value != want) || !there && !dropped:
			c.wrong(9, "changes the %s %s to %q, right is only what the templates name", kind, key, value)
		}
	}
	if !c.pod.begun || !c.changesRevision(c.last) || c.old == nil || c.new == nil {
		return
	}
	for _, key := range changedKeys(of(c.old), of(c.new)) {
		value, there := has[key]
		want, named := of(c.new)[key]
		if (there != named || value != want) && !c.comesLater(kind, key, want) && !c.ownMetadata(kind, key, has) {
			c.wrong(9, "the %s %s is %q, but the revision label says %q", kind, key, value, want)
		}
	}
}

// ownMetadata reports whether a key belongs to the update or the hooks, which are judged elsewhere.
func (c *patchedPod) ownMetadata(kind, key string, has map[string]string) bool {
	if kind == "annotation" {
		switch key {
		case lifecycle.TimestampAnnotation:
			return lifecycle.StateOf(c.first) != lifecycle.StateOf(c.last)
		case inplace.StateKey:
			return c.pod.begun || c.pending != nil
		case inplace.GraceKey, "inplace-update-state", "inplace-update-grace":
			_, there := has[key]
			return !there
		}
		return false
	}
	if key == lifecycle.StateLabel || key == appsv1.DefaultDaemonSetUniqueLabelKey {
		return true
	}
	hook := c.spec.Lifecycle.InPlaceUpdate
	if hook == nil || lifecycle.StateOf(c.last) != lifecycle.PreparingUpdate {
		return false
	}
	value, handles := hook.Labels[key]
	return handles && has[key] == value
}

// comesLater reports whether the state annotation says that a container's next batch brings the label or annotation.
func (c *patchedPod) comesLater(kind, key, want string) bool {
	state, err := inplace.StateOf(c.last)
	if err != nil || state == nil {
		return false
	}
	for _, ref := range state.NextContainerRefMetadata {
		later := ref.Labels
		if kind == "annotation" {
			later = ref.Annotations
		}
		if value, ok := later[key]; ok && value == want {
			return true
		}
	}
	return false
}

// checkFinalizers: a hook that is asked anew gets its handlers back (L3).
func (c *patchedPod) checkFinalizers() {
	hook := c.spec.Lifecycle.InPlaceUpdate
	for _, name := range c.change.finalizers {
		if hook == nil || !slices.Contains(hook.Finalizers, name) || lifecycle.StateOf(c.last) != lifecycle.PreparingUpdate {
			c.wrong(9, "adds the finalizer %s, which is no handler of inPlaceUpdate that comes back", name)
		}
	}
}

// checkConditions: the readiness gates' are the update's and the hooks' to set; Ready is the kubelet's, but for taking it
// away early.
func (c *patchedPod) checkConditions() {
	for _, kind := range c.change.conditions {
		status := conditionOf(c.last, kind).Status
		switch kind {
		case corev1.PodReady:
			if status != corev1.ConditionFalse || readyInPlace(c.last) && !markedNotReady(c.last) {
				c.wrong(9, "sets condition Ready to %s, which is the kubelet's to set", status)
			}
		case lifecycle.PodReady:
			switch {
			case !gated(c.pod.object, kind):
				c.wrong(9, "sets condition %s of a pod without that readiness gate", kind)
			case c.spec.Strategy.Frozen && c.bringsForward():
				c.wrong(7, "L4: marks a pod that is to leave as not ready, although the set is frozen")
			case c.pod.node != nil && c.pod.node.leftAlone && c.bringsForward():
				c.wrong(26, "M8: marks a pod that is to leave as not ready, although its node departs")
			}
		case lifecycle.InPlaceUpdateReady:
			switch {
			case !gated(c.pod.object, kind):
				c.wrong(9, "sets condition %s of a pod without that readiness gate", kind)
			case status == corev1.ConditionTrue && !inplace.Completed(c.pod.object).Done:
				c.wrong(9, "I5: sets condition %s True before the update is complete", kind)
			case status != corev1.ConditionTrue && !c.pod.begun && !c.goesOn():
				c.wrong(4, "I4: makes a pod unready that is not updated in place")
			}
		default:
			c.wrong(9, "sets condition %s, which is not for a rollout to set", kind)
		}
	}
}

// bringsForward reports whether the patches mark a pod as not ready that leaves through its hook.
func (c *patchedPod) bringsForward() bool {
	return c.pod.leaving && lifecycle.StateOf(c.last) == lifecycle.PreparingDelete && markedNotReady(c.last) &&
		!markedNotReady(c.first)
}

func markedNotReady(pod *corev1.Pod) bool {
	condition := conditionOf(pod, lifecycle.PodReady)
	return condition != nil && condition.Status != corev1.ConditionTrue
}

// checkContainers: images and resources change with an update in place, or with its next batch.
func (c *patchedPod) checkContainers() {
	taken := c.pod.begun && c.changesRevision(c.last)
	for _, name := range slices.Concat(c.change.images, c.change.resources) {
		if c.new != nil && containerOf(&c.new.Spec, name) == nil {
			c.wrong(9, "changes container %s, which the template does not have", name)
		}
	}
	for _, name := range c.change.images {
		later := c.pending != nil && c.pending.NextContainerImages[name] != "" || c.first.Annotations[inplace.GraceKey] != ""
		if !taken && !later {
			c.wrong(9, "changes the image of container %s, and not the revision label with it", name)
		}
	}
	for _, name := range c.change.resources {
		later := false
		if c.pending != nil {
			_, later = c.pending.NextContainerResources[name]
		}
		switch {
		case later || c.first.Annotations[inplace.GraceKey] != "":
		case !c.spec.Strategy.InPlace.Resize:
			c.wrong(9, "I2: resizes container %s, which is not enabled", name)
		case !taken:
			c.wrong(9, "resizes container %s, and does not change the revision label with it", name)
		}
	}
	switch {
	case c.change.whole && !c.spec.Strategy.InPlace.Resize:
		c.wrong(9, "I2: resizes the pod as a whole, which is not enabled")
	case (c.change.whole || len(c.change.tolerations) > 0) && !taken:
		c.wrong(9, "resizes the pod or adds tolerations, and does not change the revision label with it")
	}
	if node := c.pod.node; taken && node != nil && c.new != nil && c.old != nil {
		if lacks := lacking(node.object, c.old, c.new); lacks != "" {
			c.wrong(9, "I2: the update needs a node that %s", lacks)
		}
	}
	if taken && c.spec.Strategy.InPlace.CgroupV1 && len(c.change.images) > 0 && len(c.change.resources) > 0 {
		c.wrong(9, "I4: changes images and resources in one step, which cgroup v1 cannot")
	}
}
