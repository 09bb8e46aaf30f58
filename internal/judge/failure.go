package judge

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/rollout/failure"
)

// failing is what is known of the nodes that revisions fail on (F rules).
type failing struct {
	// tries are the pods that a node had of a revision, and when the first of them came, by node and revision.
	tries map[[2]string]*try
	// update is the update revision. gaveUp: it may have been given up, by an earlier look; stopped: by this one no node may be
	// begun, because too many have failed for certain.
	update          string
	gaveUp, stopped bool
	failed, most    int
	// blamable are the hashes of revisions that any look may have given up.
	blamable map[string]bool
}

type try struct {
	since time.Time
	pods  map[types.UID]bool
	// served is when the controller saw last that a pod of it was Ready, with the containers that the pod names.
	served time.Time
}

// look counts the failed nodes that the controller saw.
func (f *failing) look(j *Judge) {
	v := j.view
	if f.update != v.update {
		f.update, f.gaveUp = v.update, false
	}
	for name, n := range v.nodes {
		for _, p := range n.pods {
			f.enter(name, p.Pod)
			if ready(p.Pod) && settled(p.Pod) && normal(p.Pod) {
				f.tries[[2]string{name, hashOf(p.Pod)}].served = v.now
				j.endSeries(name, p.Pod)
			}
		}
	}
	j.judgeBlame()
	f.stopped = false
	options := v.failures()
	if options == nil || v.update == "" || v.revisions[v.update].completed {
		return
	}
	var surely []*seenNode
	possibly := 0
	for _, n := range v.nodes {
		if j.surelyFailed(n) {
			surely = append(surely, n)
		}
		if j.mayHaveFailed(n) {
			possibly++
		}
	}
	if possibly > 0 && (options.MaxFailed.StrVal != "" || possibly > options.MaxFailed.IntValue()) {
		f.blamable[v.update] = true // also by the plan that ends a trial
	}
	if !v.watches() {
		return
	}
	f.failed = len(surely) - v.leftOut(surely, 0)
	f.most = rounded(options.MaxFailed, j.openRuns(), false)
	f.stopped = f.failed > f.most && !f.gaveUp && !v.revisions[v.update].failed
	least := 0
	if options.MaxFailed.StrVal == "" {
		least = f.most
	}
	f.gaveUp = f.gaveUp || options.Action == failure.Rollback && possibly > least
}

// endSeries ends the series of failed pods of a node where one was seen to be available for the deadline.
func (j *Judge) endSeries(node string, p *corev1.Pod) {
	v, deadline, key := j.view, 10*time.Minute, [2]string{node, hashOf(p)}
	if o := v.failures(); o != nil {
		deadline = o.Deadline
	}
	last, known := j.repeats.failures[key]
	if known && available(p, v.spec.MinReadySeconds, v.now.Add(-deadline)) {
		last.first = v.now.Add(later) // after any pod that fails from now on
		j.repeats.failures[key] = last
		j.failing.tries[key].pods = map[types.UID]bool{p.UID: true}
		j.failing.tries[key].since = p.CreationTimestamp.Time
	}
}

func (f *failing) enter(node string, p *corev1.Pod) {
	key := [2]string{node, hashOf(p)}
	t := f.tries[key]
	if t == nil {
		t = &try{since: p.CreationTimestamp.Time, pods: map[types.UID]bool{}}
		f.tries[key] = t
	}
	if at, _ := brought(p); at.Before(t.since) {
		t.since = at
	}
	t.pods[p.UID] = true
}

// had reports whether the node had a pod of the revision at any time.
func (f *failing) had(node, hash string) bool { return f.tries[[2]string{node, hash}] != nil }

// failures are the options of the policy with their defaults; nil: nobody looks at failures.
func (v *view) failures() *failure.Options {
	options := v.policy().Failures
	if options == nil {
		return nil
	}
	o := options.Default()
	return &o
}

// watches reports whether failed nodes are counted (F2).
func (v *view) watches() bool {
	return v.update != "" && v.policy().Failures != nil && !v.trial && !v.revisions[v.update].completed
}

// openRuns is how many nodes are to run the pod in the parts that may be open.
func (j *Judge) openRuns() int {
	v, s, runs, closed := j.view, &j.staging, 0, false
	for _, c := range v.crews() {
		passed := s.passed(v, c)
		if !closed && !passed && !v.allOpen() {
			closed = s.soaked(v).After(v.now) || !v.approved(c)
		}
		if passed || !closed {
			runs += c.runs
		}
		closed = closed || !passed && !v.allOpen()
	}
	for _, n := range v.nodes {
		if n.verdict == unclear {
			runs++
		}
	}
	return runs
}

// surelyFailed reports whether the update revision has failed on the node (F1).
func (j *Judge) surelyFailed(n *seenNode) bool {
	v, o := j.view, j.view.failures()
	if n.verdict != runs && n.verdict != keep || v.overrides() || v.isolated(n) {
		return false
	}
	before := n.first(func(p *seenPod) bool { return v.isFresh(p) && downSince(p.Pod).Unix() < n.since.Unix() }) != nil
	if v.excused(n) && !before {
		return false // something else may have taken the node down (P-B)
	}
	serves, late, some := false, true, false
	for _, p := range n.pods {
		switch {
		case p.requested:
			return false
		case !v.isFresh(p) || n.verdict == keep && p.Spec.NodeName == "":
			continue
		case o.MaxRestarts != nil && !wasUpdated(p.Pod) && restarts(n, p.Pod) > *o.MaxRestarts:
			return true
		}
		some = true
		serves = serves || available(p.Pod, v.spec.MinReadySeconds, v.now)
		late = late && !j.unavailableSince(n, p.Pod).Add(o.Deadline).After(v.now)
	}
	return some && late && !serves
}

// unavailableSince is from when on the deadline runs, as far as is known.
func (j *Judge) unavailableSince(n *seenNode, p *corev1.Pod) time.Time {
	since, _ := brought(p)
	if last, known := j.repeats.failures[[2]string{n.Name, hashOf(p)}]; known && !wasUpdated(p) && last.first.Before(since) &&
		j.view.now.Sub(last.at) < forgotten {
		since = last.first
	}
	if stopped := stoppedAt(p); stopped.After(since) {
		since = stopped
	}
	for _, c := range n.Status.Conditions { // the node was down, and its kubelet had not started the pod
		ready := c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
		if back := c.LastTransitionTime.Time; ready && back.After(since) &&
			(p.Status.StartTime == nil || !p.Status.StartTime.Time.Before(back)) {
			since = back
		}
	}
	return since
}

// downSince is since when a pod that is not available was not.
func downSince(p *corev1.Pod) time.Time {
	since, _ := brought(p)
	if stopped := stoppedAt(p); stopped.After(since) {
		since = stopped
	}
	return since
}

// stoppedAt is when the pod stopped to be Ready; of one that is, when it became so, as it has not stopped since. Zero: it never
// was.
func stoppedAt(p *corev1.Pod) time.Time {
	ready, start := condition(p, corev1.PodReady), p.Status.StartTime
	switch {
	case ready == nil, ready.Status == corev1.ConditionTrue && ended(p):
		return time.Time{}
	case ready.Status != corev1.ConditionTrue && (start == nil || ready.LastTransitionTime.Sub(start.Time) <= time.Second):
		return time.Time{}
	}
	return ready.LastTransitionTime.Time
}

// mayHaveFailed reports whether the update revision may have failed on the node, whatever the controller remembers of it.
func (j *Judge) mayHaveFailed(n *seenNode) bool {
	v, o := j.view, j.view.failures()
	t := j.failing.tries[[2]string{n.Name, v.update}]
	if t == nil || n.verdict == leave {
		return false
	}
	most := int32(0)
	for _, p := range n.pods {
		most = max(most, restarts(n, p.Pod))
	}
	if o.MaxRestarts != nil && most+int32(len(t.pods)) > *o.MaxRestarts {
		return true
	}
	serves := n.first(func(p *seenPod) bool { return v.isFresh(p) && p.available && normal(p.Pod) }) != nil
	since, served := t.since, t.served
	for _, p := range n.pods { // watches lag: the look before may have seen it longer than it was so
		if c := condition(p.Pod, corev1.PodReady); v.isFresh(p) && c != nil && c.Status != corev1.ConditionTrue &&
			c.LastTransitionTime.Time.Before(served) {
			served = c.LastTransitionTime.Time
		}
	}
	if served.After(since) && len(t.pods) == 1 { // else they may make a series, which goes on beside pods that serve for a while
		since = served
	}
	return !serves && !since.Add(o.Deadline).After(v.now.Add(time.Second))
}

// judgeBlame judges a revision that was given up: it may have failed on more nodes than may, by an earlier look (P-B).
func (j *Judge) judgeBlame() {
	f, v := &j.failing, j.view
	if of := v.revisions[v.update]; of == nil || !of.givenUp || f.blamable[v.update] {
		return
	}
	f.blamable[v.update] = true // once is enough
	j.find(Blame, "", nil, "revision %s was given up, and no look showed more nodes than may on which it did not serve for long "+
		"enough, or crashed too often", v.update)
}

func wasUpdated(p *corev1.Pod) bool {
	updated, err := inplace.StateOf(p)
	return err == nil && updated != nil
}

// restarts of the container that restarted most, of those that have ended since the node is up.
func restarts(n *seenNode, p *corev1.Pod) int32 {
	most := int32(0)
	for _, s := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		byReboot := slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
			ended, ready := s.LastTerminationState.Terminated, c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
			return ready && ended != nil && !c.LastTransitionTime.IsZero() && !ended.FinishedAt.After(c.LastTransitionTime.Time)
		})
		if !byReboot {
			most = max(most, s.RestartCount)
		}
	}
	return most
}

// quarantine is how many failed nodes may be left out (F4).
func (v *view) quarantine() int {
	if !v.watches() {
		return 0
	}
	return rounded(v.failures().Quarantine, v.desired, false)
}

// givenUp reports whether the controller saw that the update revision was given up, and no retry that it has not obeyed (F3).
func (v *view) givenUp() bool {
	if !v.watches() {
		return false
	}
	of, retry := v.revisions[v.update], v.failures().Retry
	name, _, _ := strings.Cut(retry, "/")
	return of.givenUp && (of.retried == retry || name != "*" && !v.names(name))
}

// judgeFailures judges a node whose update is begun: no more nodes have failed than may (V25).
func (j *Judge) judgeFailures(w *write, what string) {
	if f := &j.failing; f.stopped && w.node.verdict == runs {
		j.find(Failures, w.node.Name, w.pod, "%s while the update revision has failed on %d nodes, of %d that may",
			what, f.failed, f.most)
	}
}

// judgeGiven judges a node that gets a pod of the update revision, or is brought to it, and never had it (V20, V25).
func (j *Judge) judgeGiven(w *write) {
	v, hash := j.view, hashOf(w.pod)
	if hash != v.update || v.update == "" || w.node.verdict != runs || j.failing.had(w.node.Name, hash) {
		return
	}
	if v.givenUp() {
		j.find(Failures, w.node.Name, w.pod, "the node gets revision %s, which was given up", hash)
		return
	}
	for _, r := range v.revisions { // if nothing is left of the time before, missing pods get this one (T8)
		if r.hash != hash && !r.failed {
			j.judgeOpen(w, "the node gets the update revision")
			j.judgeFailures(w, "the node gets the update revision")
			return
		}
	}
}
