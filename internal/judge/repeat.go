package judge

import (
	"time"
)

// repeats are what the controller has done again and again.
type repeats struct {
	// since is when the update revision became what it is.
	since  time.Time
	update string
	// began: it is another one than at the look before.
	began bool
	// recreated counts how often a healthy pod of the node was taken away, since the spec or the node changed last.
	recreated map[string]int
	versions  map[string]string
	// failures are the deletions of Failed pods, by node and revision.
	failures map[[2]string]backOff
}

// backOff is when the Failed pods of a node were deleted last, and how long the next of them have to wait.
type backOff struct {
	at    time.Time
	delay time.Duration
	// first of them was not available since then.
	first time.Time
}

func newRepeats() repeats {
	return repeats{
		recreated: map[string]int{}, versions: map[string]string{}, failures: map[[2]string]backOff{},
	}
}

// look takes note of changes that make what was done before count no more.
func (r *repeats) look(j *Judge, changed bool) {
	v := j.view
	if r.began = r.update != v.update; r.began {
		if r.update != "" || r.since.IsZero() { // a revision that is created belongs to the rollout that began without it
			r.since = v.now
		}
		r.update = v.update
		clear(r.failures)
	}
	if r.since.IsZero() || v.now.Before(r.since) {
		r.since = v.now
	}
	for key, last := range r.failures {
		if last.at.After(v.now) { // the clock was set back, and a back-off of the future begins now
			r.failures[key] = backOff{v.now, last.delay, last.first}
		}
	}
	if changed {
		clear(r.recreated)
		for _, of := range j.pods {
			of.patches, of.excused = 0, 0
		}
	}
	for name, n := range v.nodes {
		if r.versions[name] != n.ResourceVersion {
			r.versions[name] = n.ResourceVersion
			delete(r.recreated, name)
		}
	}
}

// judgeRecreate: no node is recreated more than once per change of the spec (V17): a healthy pod is taken away to be replaced
// once, with a canary once more, to go back or for other resources before the promotion, and with failures once more, to go back.
func (j *Judge) judgeRecreate(w *write) {
	p := w.seen
	if w.node.verdict != runs || w.node.alone() != p || !p.couldServe() {
		return
	}
	most := 1
	if j.view.spec.Strategy.Canary != nil {
		most++
	}
	if j.view.policy().Failures != nil {
		most++
	}
	j.repeats.recreated[w.node.Name]++
	if n := j.repeats.recreated[w.node.Name]; n > most {
		j.find(Thrash, w.node.Name, p.Pod, "it is healthy pod no. %d that the node loses since the spec or the node changed", n)
	}
}

// mostPatches of one pod per change of the spec. The longest way, with every hook and an update in place in three steps, takes
// about a dozen.
const mostPatches = 30

// judgePatches: no pod is patched without end. Whenever a container of another pod on its node was started again, it may have
// been let go before, and taken back since.
func (j *Judge) judgePatches(w *write) {
	of := j.pods[w.pod.UID]
	if of.patches++; of.patches-of.excused == mostPatches {
		j.find(Thrash, w.node.Name, w.pod, "it was patched %d times since the spec changed", of.patches)
	}
}

// The back-off of Failed pods (M2).
const (
	firstDelay = time.Second
	lastDelay  = 15 * time.Minute
	forgotten  = 30 * time.Minute
)

// judgeBackOff: Failed pods of a node's update revision are deleted once, and again after a delay that doubles (M2). The pods
// of one turn go together. The delay may be a second shorter, because the times on objects have no fractions of a second.
func (j *Judge) judgeBackOff(w *write) {
	v, p := j.view, w.seen
	if p.Status.Phase != "Failed" || hashOf(p.Pod) != v.update || v.update == "" || v.open || w.node.verdict != runs ||
		state(p.Pod) == preparingDelete || v.overrides() {
		return
	}
	key := [2]string{w.node.Name, v.update}
	last, known := j.repeats.failures[key]
	first := downSince(p.Pod)
	if known && last.first.Before(first) {
		first = last.first
	}
	switch since := v.now.Sub(last.at); {
	case known && since == 0 && last.delay > 0:
		return
	case !known || since >= forgotten || since < 0:
		j.repeats.failures[key] = backOff{v.now, firstDelay, downSince(p.Pod)}
	default:
		if since < last.delay-time.Second {
			j.find(BackOff, w.node.Name, p.Pod, "the last Failed pod was deleted %v ago, and the next has to wait for %v",
				since, last.delay)
		}
		j.repeats.failures[key] = backOff{v.now, min(2*last.delay, lastDelay), first}
	}
}

// Crashed tells that the controller has crashed, and may have forgotten what is nowhere to be seen.
func (j *Judge) Crashed() {
	clear(j.repeats.failures)
	clear(j.begun)
}
