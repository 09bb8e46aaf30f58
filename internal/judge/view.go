package judge

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/daemonplan/daemonplan/rollout"
)

// view is the cluster as the controller saw it when it looked: its watches may lag, but it knows what it has asked for.
type view struct {
	spec  rollout.Spec
	now   time.Time
	nodes map[string]*seenNode
	// desired is the number of run nodes (B1).
	desired int
	// update is the hash of the revision of the spec's template; empty: there is none yet.
	update    string
	revisions map[string]*revision
	// open: not every node is to end at the update revision, because a canary has not promoted it.
	open bool
	// trial: that is because of a canary. Else nodes may go back from the update revision, because it was given up (F3).
	trial bool
}

// seenNode is a node with the pods on it.
type seenNode struct {
	*corev1.Node
	verdict verdict
	pods    []*seenPod
	// asked are the revisions of pods that were asked for and are not seen, created those of this turn.
	asked, created []string
	// out: it is departing, or not Ready, since that instant, which is zero if it is unknown (B9). departs: the policy leaves it
	// alone for that (M8).
	out, departs bool
	since        time.Time
}

// seenPod is a pod as the controller saw it.
type seenPod struct {
	*corev1.Pod
	// prepared: it waits to be deleted or updated in place, so that it does not serve any more (B2).
	prepared bool
	// requested: its deletion, or a patch of it, was asked for and is not seen. asked: it was its deletion.
	requested, asked bool
	// ready and available, as long as nothing was requested of it.
	ready, available bool
	// outdated for certain: whatever its node is to end at, it is not the pod's revision.
	outdated bool
	// deleted and changed in this turn.
	deleted, changed bool
}

// view makes a view of what the controller saw.
// A revision of that hash may have been given up before it is seen (F3).
func (r *reader) view(spec rollout.Spec, seen *rollout.Snapshot, gaveUp string) *view {
	v := &view{spec: spec, now: seen.Now, nodes: make(map[string]*seenNode, len(seen.Nodes))}
	v.revisions, v.update = r.read(&spec, seen.Revisions)
	v.trial = spec.Strategy.Canary != nil && (v.update == "" || !v.revisions[v.update].promoted)
	v.open = v.trial || v.update != "" && v.policy().Failures != nil && (v.revisions[v.update].givenUp || gaveUp == v.update)
	templates := []*corev1.PodTemplateSpec{&spec.Template}
	if v.open || spec.Strategy.HoldRevision {
		for _, revision := range v.revisions {
			templates = append(templates, revision.template)
		}
	}
	for _, n := range seen.Nodes {
		v.nodes[n.Name] = &seenNode{Node: n, verdict: agreed(templates, n)}
		v.judgeOut(v.nodes[n.Name])
		if v.nodes[n.Name].verdict == runs {
			v.desired++
		}
	}
	for _, p := range seen.Pods {
		if n := v.nodes[target(p)]; n != nil {
			n.pods = append(n.pods, v.pod(p, &seen.InFlight))
		}
	}
	for _, create := range seen.InFlight.Creates {
		if n := v.nodes[create.Node]; n != nil {
			n.asked = append(n.asked, create.Revision)
		}
	}
	return v
}

// agreed is the verdict of all the templates.
func agreed(templates []*corev1.PodTemplateSpec, n *corev1.Node) verdict {
	all := verdictOn(templates[0], n)
	for _, t := range templates[1:] {
		if t != nil && verdictOn(t, n) != all {
			return unclear
		}
	}
	return all
}

func (v *view) pod(p *corev1.Pod, sent *rollout.InFlight) *seenPod {
	s := &seenPod{Pod: p, asked: slices.Contains(sent.Deletes, p.UID)}
	s.requested = s.asked || slices.Contains(sent.Patches, p.UID)
	// One of the revision of the spec is taken back, and serves (B2, L2).
	s.prepared = (state(p) == preparingDelete || state(p) == preparingUpdate) && hashOf(p) != v.update
	s.outdated = ofPredecessor(p, &v.spec) || hashOf(p) != v.update && !v.open
	if live(p) && !s.requested {
		s.ready, s.available = ready(p), available(p, v.spec.MinReadySeconds, v.now)
	}
	return s
}

// couldServe reports whether the pod does, as far as its target is not known (B2): the most that it can be given credit for.
func (p *seenPod) couldServe() bool { return p.ready && !p.deleted && !p.changed }

// serves reports whether the pod does for certain (B2).
func (p *seenPod) serves() bool {
	return p.couldServe() && !p.prepared && (p.available || p.outdated)
}

// serving is a pod of the node that serves for certain; nil: none.
func (n *seenNode) serving() *seenPod { return n.first((*seenPod).serves) }

func (n *seenNode) first(is func(*seenPod) bool) *seenPod {
	for _, p := range n.pods {
		if is(p) {
			return p
		}
	}
	return nil
}

// alone is the only pod object of the node that counts; nil: there is none, or another one, or one was asked for.
func (n *seenNode) alone() *seenPod {
	if len(n.pods) != 1 || len(n.asked) > 0 {
		return nil
	}
	return n.pods[0]
}

// rounded is a number of nodes, or a percentage of so many, rounded up.
func rounded(q *intstr.IntOrString, of int, up bool) int {
	if q == nil {
		return 0
	}
	n, err := intstr.GetScaledValueFromIntOrPercent(q, of, up)
	if err != nil {
		return 0
	}
	return n
}

// turn is what the controller has done since it looked.
type turn struct {
	// refused: a request of the controller was.
	refused bool
	counts  map[kind]int
	// down are nodes that stopped serving, letGo those whose prepared pod went, surged those that got a pod beside one that
	// serves, fresh those that were begun.
	down, letGo, surged, fresh map[string]bool
	// updated are nodes whose outdated pod was given up, for T2 and T3.
	updated map[string]bool
}

// kind of requests that burst bounds, in words.
type kind string

const (
	creates kind = "creates"
	deletes kind = "deletes"
	updates kind = "new updates in place"
)

func newTurn() *turn {
	return &turn{
		counts: map[kind]int{},
		down:   map[string]bool{}, letGo: map[string]bool{}, surged: map[string]bool{}, fresh: map[string]bool{},
		updated: map[string]bool{},
	}
}
