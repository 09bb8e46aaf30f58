package judge

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/history"
)

// trials are the revisions that are to be tried by a canary first, by hash, and how far that is.
type trials map[string]*trial

// trial of one revision. A revision that needs none is over from the beginning.
type trial struct {
	over bool
	// wanted is how many canary nodes there may be, at most.
	wanted int
	// given are the nodes that got the revision; one that was away since is none of them.
	given map[string]bool
}

// newTrials: what is there when the run begins needs no trial, as far as the judge can know.
func newTrials(start Cluster) trials {
	t := trials{}
	for _, r := range start.Revisions {
		t[r.Labels[hashLabel]] = &trial{over: true}
	}
	return t
}

// look takes note of the update revision. Its trial is over once it was promoted, or once the controller looked with a spec
// that wants none; the first revision of all needs none.
func (t trials) look(j *Judge) {
	v := j.view
	if v.update == "" {
		return
	}
	of := t[v.update]
	if of == nil {
		of = &trial{over: !j.others(v.update)}
		t[v.update] = of
	}
	if of.given == nil || j.repeats.began {
		of.given = map[string]bool{} // of another trial nodes keep what they have, without being canary nodes (T6)
	}
	if v.spec.Strategy.Canary == nil || j.marked(v.update, history.PromotedAnnotation) {
		of.over = true
	}
	if of.over {
		return
	}
	of.wanted = max(of.wanted, v.canaries())
	for name := range of.given {
		if n := v.nodes[name]; n == nil || !v.mayTry(n) {
			delete(of.given, name)
		}
	}
}

// canaries is how many canary nodes are wanted (C1).
func (v *view) canaries() int {
	q := v.spec.Strategy.Canary.Default().Replicas
	return max(rounded(q, v.desired, true), 1)
}

// others reports whether there is another revision than this one, or a pod of one.
func (j *Judge) others(hash string) bool {
	for _, r := range j.cluster.Revisions {
		if r.Labels[hashLabel] != hash {
			return true
		}
	}
	for _, p := range j.cluster.Pods {
		if hashOf(p) != hash {
			return true
		}
	}
	return false
}

// marked reports whether a revision of the cluster carries a verdict of its canary (C6).
func (j *Judge) marked(hash, annotation string) bool {
	for _, r := range j.cluster.Revisions {
		if _, ok := r.Annotations[annotation]; ok && r.Labels[hashLabel] == hash {
			return true
		}
	}
	return false
}

// revives reports whether a command names the revision and has not been obeyed for it: one value works once (C5).
func (j *Judge) revives(hash, retry string) bool {
	target, _, _ := strings.Cut(retry, "/")
	for _, r := range j.cluster.Revisions {
		if r.Labels[hashLabel] == hash && target != "" && (target == canary.Any || target == hash || target == r.Name) {
			return r.Annotations[history.RetriedAnnotation] != retry
		}
	}
	return false
}

// judgeTrial: before its promotion a revision goes to its canary nodes only (C1, T6, V6), and once it has failed to none that
// has not had it.
func (j *Judge) judgeTrial(w *write) {
	v, hash := j.view, hashOf(w.pod)
	of := j.trials[hash]
	if of == nil || of.over || hash != v.update || w.node.verdict != runs || v.spec.Strategy.Canary == nil ||
		j.marked(hash, history.PromotedAnnotation) {
		return
	}
	if of.given[w.node.Name] || j.had(w.node.Name, hash, w.pod) {
		return
	}
	switch {
	case j.marked(hash, history.FailedAnnotation) && !j.revives(hash, v.spec.Strategy.Canary.Commands.Retry):
		j.find(Trial, w.node.Name, w.pod, "the node got revision %s, which has failed", hash)
	case !selects(v.spec.Strategy.NodeSelector, w.node.Labels):
		j.find(Trial, w.node.Name, w.pod, "the selector of the strategy holds the node, which got revision %s on trial", hash)
	case !selects(v.spec.Strategy.Canary.NodeSelector, w.node.Labels):
		j.find(Trial, w.node.Name, w.pod, "the canary's selector does not match the node, which got revision %s on trial", hash)
	}
	others := 0
	for name := range of.given {
		n := v.nodes[name]
		if n != nil && n != w.node && j.had(name, hash, nil) && v.mayTry(n) {
			others++
		}
	}
	if others >= of.wanted {
		j.find(Trial, w.node.Name, w.pod, "the node got revision %s on trial beside %d others, and the canary wants %d",
			hash, others, of.wanted)
	}
	of.given[w.node.Name] = true
}

// mayTry reports whether the node may be one of the canary's: another one takes the place of one that may not (C1).
func (v *view) mayTry(n *seenNode) bool {
	s := &v.spec.Strategy
	return n.verdict == runs && selects(s.NodeSelector, n.Labels) && selects(s.Canary.NodeSelector, n.Labels)
}

// had reports whether there is a live pod of the revision on the node, other than the given one.
func (j *Judge) had(node, hash string, but *corev1.Pod) bool {
	for _, p := range j.cluster.Pods {
		if but == nil && (ended(p) || state(p) == preparingDelete) {
			continue // a lost memory takes its node for a canary node no more
		}
		if (but == nil || p.UID != but.UID) && live(p) && target(p) == node && hashOf(p) == hash {
			return true
		}
	}
	return false
}
