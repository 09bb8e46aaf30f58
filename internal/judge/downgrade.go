package judge

import (
	"github.com/daemonplan/daemonplan/placement"
)

// judgeHandsOff: the only pod of a run node, available and of the revision of the spec, is not deleted (V4).
func (j *Judge) judgeHandsOff(w *write) {
	v, p := j.view, w.seen
	if w.node.verdict != runs || w.node.alone() != p || hashOf(p.Pod) != v.update || !p.available || j.mayGoBack() ||
		ofPredecessor(p.Pod, &v.spec) || v.overridden(w) {
		return
	}
	j.find(HandsOff, w.node.Name, p.Pod, "it is the only pod of the node, available and of the revision of the spec")
}

// overridden reports whether resources of the node, or of the pod, may make the pod outdated (P8).
func (v *view) overridden(w *write) bool {
	_, has := w.seen.Annotations[placement.DigestAnnotation]
	return has || len(v.spec.Overrides) > 0 || len(w.node.Annotations) > 0
}

// overrides reports whether resources of any node or pod may make a pod outdated that is of the right revision (P8).
func (v *view) overrides() bool {
	if len(v.spec.Overrides) > 0 {
		return true
	}
	has := func(p *seenPod) bool { return p.Annotations[placement.DigestAnnotation] != "" }
	for _, n := range v.nodes {
		if len(n.Annotations) > 0 || n.first(has) != nil {
			return true
		}
	}
	return false
}

// mayGoBack reports whether nodes may go from the update revision to another one: as long as a canary has not promoted it, or
// after it failed (T6).
func (j *Judge) mayGoBack() bool {
	v := j.view
	return v.open || v.update != "" && v.revisions[v.update].failed
}

// judgeDowngrade: nodes get the revision of the spec (T1, M7), unless they are to go back to another one or get back what they
// lost.
func (j *Judge) judgeDowngrade(w *write) {
	v := j.view
	if j.mayKeepWaiting() && w.node.verdict == runs {
		if !v.spec.Strategy.HoldRevision { // with it a held node gets the highest older revision that a live pod carries (T1)
			j.judgeBase(w)
		}
		return
	}
	if v.update != "" && hashOf(w.pod) != v.update && !v.spec.Strategy.HoldRevision && !j.mayGoBack() && w.node.verdict == runs {
		j.find(Downgrade, w.node.Name, w.pod, "the node gets revision %s, and that of the spec is %s", hashOf(w.pod), v.update)
	}
}

// mayKeepWaiting reports whether nodes may wait for the update revision, because of stages or of failures (T8, F3).
func (j *Judge) mayKeepWaiting() bool {
	v := j.view
	policy := v.policy()
	return v.update != "" && !v.revisions[v.update].completed && (len(policy.Stages) > 0 || policy.Failures != nil)
}

// judgeBase: what nodes lose while they wait comes back as it was, or at a revision that was rolled out everywhere, if one is
// known (T8).
func (j *Judge) judgeBase(w *write) {
	v, hash := j.view, hashOf(w.pod)
	of := v.revisions[hash]
	if hash == v.update || j.mayGoBack() || j.failing.had(w.node.Name, hash) || of != nil && of.completed {
		return
	}
	for _, r := range v.revisions {
		if r.completed && !r.failed {
			j.find(Downgrade, w.node.Name, w.pod,
				"the node gets revision %s, which it never had, and %s was rolled out everywhere", hash, r.hash)
			return
		}
	}
}

// judgeInPlaceDowngrade is that for an update in place.
func (j *Judge) judgeInPlaceDowngrade(w *write) {
	v := j.view
	if j.inStages() && !w.seen.available {
		return // what serves nobody in a part that is not open goes back (T8)
	}
	if hashOf(w.seen.Pod) == v.update && v.update != "" && hashOf(w.pod) != v.update && !j.mayGoBack() && w.node.verdict == runs {
		j.find(Downgrade, w.node.Name, w.pod, "it was at revision %s of the spec, and was updated to %s", v.update, hashOf(w.pod))
	}
}
