package judge

// judgePreDelete: no pod is deleted that the controller saw with a handler of preDelete (L2, V8).
func (j *Judge) judgePreDelete(w *write) {
	if w.seen != nil && live(w.seen.Pod) && matches(w.seen.Pod, j.view.spec.Lifecycle.PreDelete) {
		j.find(PreDelete, w.node.Name, w.pod, "it was deleted with a handler of preDelete on it")
	}
}

// judgeUpdateHook: no pod is updated in place that the controller saw with a handler of inPlaceUpdate (L3), unless that update
// was under way when the handler came back.
func (j *Judge) judgeUpdateHook(w *write) {
	if matches(w.seen.Pod, j.view.spec.Lifecycle.InPlaceUpdate) && state(w.seen.Pod) != "Updating" {
		j.find(UpdateHook, w.node.Name, w.pod, "it was updated in place with a handler of inPlaceUpdate on it")
	}
}
