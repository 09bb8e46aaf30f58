package verify

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout"
)

// observePatches applies the plan's patches to copies of their pods, and reads off what becomes of each pod.
func (v *verifier) observePatches() {
	for i := range v.plan.Patches {
		patch := &v.plan.Patches[i]
		pod := v.podOf(patch.UID)
		if pod == nil {
			continue
		}
		before := pod.last()
		if before == nil {
			continue // a patch before it cannot be read
		}
		pod.patches = append(pod.patches, stepOf(before, patch))
	}
	for _, pod := range v.pods {
		if len(pod.patches) == 0 || pod.marked {
			continue
		}
		last := pod.last()
		if last == nil { // who knows what becomes of it
			pod.begun = pod.outdated() && pod.node != nil
			continue
		}
		first := pod.patches[0].before
		state := lifecycle.StateOf(last)
		pod.dismissed = !pod.leaving && state == lifecycle.PreparingDelete
		from, to := revisionOf(first), revisionOf(last)
		updates := from != to && (!v.updates[from] || !v.updates[to]) // else only relabelled (R3)
		prepares := !pod.preparing && state == lifecycle.PreparingUpdate
		unready := readyInPlace(first) && !readyInPlace(last) &&
			first.Annotations[inplace.StateKey] == last.Annotations[inplace.StateKey]
		pod.begun = pod.outdated() && pod.node != nil && (updates || prepares || unready)
	}
}

// last is the pod after the plan's patches so far; nil: one of them cannot be read.
func (p *pod) last() *corev1.Pod {
	if len(p.patches) == 0 {
		return stored(p.object)
	}
	return p.patches[len(p.patches)-1].after
}

func revisionOf(pod *corev1.Pod) string { return pod.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] }

// readyInPlace reports whether nothing says that the pod is being updated in place (B5).
func readyInPlace(pod *corev1.Pod) bool {
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == lifecycle.InPlaceUpdateReady && c.Status != corev1.ConditionTrue {
			return false
		}
	}
	return true
}

// checkPatches is V9, V4 for patches, and what V12 and V14 say of one.
func (v *verifier) checkPatches() {
	for i := range v.plan.Patches {
		patch := &v.plan.Patches[i]
		switch pod := v.podOf(patch.UID); {
		case pod == nil:
			v.report(14, patch.Node, "patch of pod %s with UID %q, which is not in the snapshot", patch.Pod, patch.UID)
		case pod.patched:
			v.report(14, patch.Node, "second patch of pod %s, counting what is in flight", patch.Pod)
		case pod.marked || pod.deleted:
			v.report(14, patch.Node, "patch of pod %s, which is marked for deletion or deleted by this plan", patch.Pod)
		case patch.Pod != pod.object.Name || patch.Node != pod.name:
			v.report(12, patch.Node, "patch of pod %q, but UID %q is pod %q of node %q", patch.Pod, patch.UID,
				pod.object.Name, pod.name)
		}
	}
	for _, pod := range v.pods {
		if len(pod.patches) > 0 && !pod.patched && !pod.marked && !pod.deleted {
			v.checkSteps(pod)
		}
	}
}

// checkSteps judges the patches of one pod: each for itself, and what they make of the pod together. Patches that are
// not sent because one before them fails must leave a pod that tells the truth too.
func (v *verifier) checkSteps(pod *pod) {
	last := pod.last()
	for i := range pod.patches {
		step := &pod.patches[i]
		if step.problem != nil {
			v.report(9, pod.name, "patch of pod %s cannot be read: %v", pod.object.Name, step.problem)
			return
		}
		v.checkStep(pod, step, i)
		// A predecessor's pod is at no revision of the set, whatever it carries.
		revision := step.patch.Revision
		known := last == nil || revision == revisionOf(step.after) || revision == revisionOf(last)
		if !known && (revision != "" || !v.predecessor(pod.object)) {
			v.report(12, pod.name, "patch of pod %s says that the pod is at revision %q then, but it is at %q", pod.object.Name,
				revision, revisionOf(step.after))
		}
	}
	c := patchedPod{
		verifier: v, pod: pod, first: pod.patches[0].before, last: last,
		old: v.templateAt(revisionOf(pod.patches[0].before)), new: v.templateAt(revisionOf(last)),
	}
	if c.change = pod.patches[0].change; len(pod.patches) > 1 {
		c.change = changeBetween(c.first, c.last)
	}
	c.pending, _ = inplace.StateOf(pod.object)
	c.check()
}

// checkStep judges one patch by itself.
func (v *verifier) checkStep(pod *pod, step *step, i int) {
	name, change := pod.object.Name, &step.change
	*change = changeBetween(step.before, step.after)
	if step.uid != string(pod.object.UID) {
		v.report(9, pod.name, "patch of pod %s demands UID %q, right is %q: it could hit a namesake", name, step.uid,
			pod.object.UID)
	}
	if step.version != "" && (i > 0 || step.version != pod.object.ResourceVersion) {
		v.report(9, pod.name, "patch %d of pod %s demands resource version %q, which the pod does not have then", i+1, name,
			step.version)
	}
	metadata := len(change.labels)+len(change.annotations)+len(change.finalizers) > 0
	wrong := change.other
	switch subresource := step.patch.Subresource; subresource {
	case "":
		wrong = wrong || change.whole || len(change.conditions)+len(change.resources) > 0
	case "status":
		wrong = wrong || metadata || change.whole || len(change.images)+len(change.resources)+len(change.tolerations) > 0
	case "resize":
		wrong = wrong || metadata || len(change.images)+len(change.conditions)+len(change.tolerations) > 0
	default:
		wrong = true
	}
	switch {
	case wrong:
		v.report(9, pod.name, "patch of pod %s to subresource %q changes what is not to be changed there, or at all: right are "+
			"metadata, images and tolerations that are added, status: conditions, resize: cpu and memory",
			name, step.patch.Subresource)
	case change.none() && i == 0:
		v.report(4, pod.name, "patch of pod %s changes nothing; right is to leave it alone", name)
	case change.none():
		v.report(14, pod.name, "patch %d of pod %s changes nothing", i+1, name)
	}
	v.checkUnreadyFirst(pod, step, change)
}

// checkUnreadyFirst is I4: what restarts a container needs a pod that is not ready, unless the pod serves on without it. Later
// batches go by what the spec said when the update was begun, as the pod tells it.
func (v *verifier) checkUnreadyFirst(pod *pod, step *step, change *change) {
	serveOn := v.spec.Strategy.InPlace.ServeOn
	if state, err := inplace.StateOf(step.before); !pod.begun && err == nil && state != nil {
		serveOn = state.ServeOn
	}
	restarts := false
	for _, name := range change.images {
		restarts = restarts || !slices.Contains(serveOn, name)
	}
	for _, name := range change.resources {
		restarts = restarts || !slices.Contains(serveOn, name) && restartsOnResize(step.before, step.after, name)
	}
	if !restarts || !gated(pod.object, lifecycle.InPlaceUpdateReady) {
		return
	}
	if readyInPlace(step.before) {
		v.report(9, pod.name, "I4: patch of pod %s restarts a container before the pod is made unready", pod.object.Name)
		return
	}
	grace := v.spec.Strategy.InPlace.GracePeriodSeconds
	if !pod.begun || grace == 0 {
		return
	}
	condition := conditionOf(pod.object, lifecycle.InPlaceUpdateReady)
	if condition == nil || condition.Status == corev1.ConditionTrue ||
		condition.LastTransitionTime.Unix()+int64(grace) > v.snapshot.Now.Unix() {
		v.report(9, pod.name, "I4: patch of pod %s restarts a container before the %d s of grace are over",
			pod.object.Name, grace)
	}
}

func restartsOnResize(before, after *corev1.Pod, name string) bool {
	old, now := containerOf(&before.Spec, name), containerOf(&after.Spec, name)
	for _, policy := range old.ResizePolicy {
		limit, request := old.Resources.Limits[policy.ResourceName], old.Resources.Requests[policy.ResourceName]
		changed := limit.Cmp(now.Resources.Limits[policy.ResourceName]) != 0 ||
			request.Cmp(now.Resources.Requests[policy.ResourceName]) != 0
		if policy.RestartPolicy == corev1.RestartContainer && changed {
			return true
		}
	}
	return false
}

// templateAt is the template of a revision, the update revision included; nil: it is not known.
func (v *verifier) templateAt(hash string) *corev1.PodTemplateSpec {
	if v.updates[hash] {
		return &v.spec.Template
	}
	return v.templateOf(hash)
}

// checkBegun is V5, V6, and I1 to I3 of V9: whether the pod may be updated in place at all.
func (c *patchedPod) checkBegun() {
	pod, node := c.pod, c.pod.node
	if !pod.begun {
		return
	}
	if limit := c.holdsUpdate(node, pod); limit != rollout.LimitNone {
		c.report(heldInvariant(limit), pod.name, "patch of the outdated pod %s begins a held node (%s)", pod.object.Name, limit)
	}
	if limit := c.gate(node, pod); limit != rollout.LimitNone {
		c.report(closedInvariant(limit), pod.name, "patch of the outdated pod %s begins a node of a part that is not open (%s)",
			pod.object.Name, limit)
	}
	switch {
	case node.outcome != placement.Run:
		c.wrong(4, "M4: begins an update on a node that is to %s", node.outcome)
	case node.bestCurrent != nil || len(node.requested) > 0:
		c.wrong(4, "M3: begins an update beside a pod of the revision to which it leads, there or requested")
	case pod.ready && node.others(pod) > 0:
		c.wrong(4, "B3: begins the update of a Ready pod beside another live pod")
	}
	switch {
	case c.spec.Strategy.Method == inplace.Recreate:
		c.wrong(9, "I1: begins an update in place, although the method is %s", c.spec.Strategy.Method)
	case !gated(pod.object, lifecycle.InPlaceUpdateReady):
		c.wrong(9, "I3: begins an update in place of a pod without the readiness gate %s", lifecycle.InPlaceUpdateReady)
	case c.old == nil || pod.hash == "":
		c.wrong(9, "I3: begins an update in place from revision %q, which is not known", pod.hash)
	case !c.fits(pod):
		c.wrong(9, "P8: begins an update in place of a pod whose node wants other resources for it than it was created with")
	case c.goalTemplate(node) == nil:
		c.wrong(9, "I3: begins an update in place to revision %q, which is not known", c.goalHash(node))
	default:
		if why := c.differsInMore(c.old, c.goalTemplate(node)); why != "" {
			c.wrong(9, "I2: begins an update in place from a template that differs in %s", why)
		}
	}
}
