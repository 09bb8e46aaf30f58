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
	j.repeats.lost[w.node.Name] = v.update
	j.find(HandsOff, w.node.Name, p.Pod, "it is the only pod of the node, available and of the revision of the spec")
}

// overridden reports whether resources of the node, or of the pod, may make the pod outdated (P8).
func (v *view) overridden(w *write) bool {
	_, has := w.seen.Annotations[placement.DigestAnnotation]
	return has || len(v.spec.Overrides) > 0 || len(w.node.Annotations) > 0
}

// mayGoBack reports whether nodes may go from the update revision to another one: during a trial, or after it failed (T6).
func (j *Judge) mayGoBack() bool {
	v := j.view
	of := j.trials[v.update]
	return v.open && (of == nil || !of.over) || v.update != "" && v.revisions[v.update].failed
}

// judgeDowngrade: what the controller takes away from a node at the update revision does not come back at another one.
func (j *Judge) judgeDowngrade(w *write) {
	v, lost := j.view, j.repeats.lost[w.node.Name]
	if lost != "" && lost == v.update && hashOf(w.pod) != v.update && !j.mayGoBack() && w.node.verdict == runs {
		j.find(Downgrade, w.node.Name, w.pod, "the node was at revision %s of the spec, and gets %s", lost, hashOf(w.pod))
	}
}

// judgeInPlaceDowngrade is that for an update in place.
func (j *Judge) judgeInPlaceDowngrade(w *write) {
	v := j.view
	if hashOf(w.seen.Pod) == v.update && v.update != "" && hashOf(w.pod) != v.update && !j.mayGoBack() && w.node.verdict == runs {
		j.find(Downgrade, w.node.Name, w.pod, "the pod was at revision %s of the spec, and was updated to %s", v.update, hashOf(w.pod))
	}
}
