package judge

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/rollout"
)

// rest is the cluster at the end of a run, when nothing happens any more, with the controller knowing all of it. What the
// clock alone was to bring has come by then.
type rest struct {
	*Judge
	*view
	spec *rollout.Spec
}

// later is how much later the cluster at rest is looked at: every wait that ends by the clock is over then.
const later = 30 * 24 * time.Hour

// Rest judges the cluster at the end of a run in which nothing happens any more and nothing wakes the controller: no work may
// be due, for nobody would ever do it.
func (j *Judge) Rest(spec rollout.Spec) {
	spec = spec.Default()
	seen := rollout.Snapshot{Now: j.now.Add(later), Nodes: j.cluster.Nodes, Pods: j.cluster.Pods, Revisions: j.cluster.Revisions}
	r := rest{Judge: j, view: j.reader.view(spec, &seen, j.mayHaveGivenUp()), spec: &spec}
	for _, p := range j.cluster.Pods {
		r.judgePod(p)
	}
	if r.spec.Strategy.Frozen {
		return
	}
	if r.update == "" {
		j.find(Stuck, "", nil, "there is no revision of the template of the spec")
		return
	}
	for _, n := range j.cluster.Nodes {
		r.judgeNode(r.nodes[n.Name])
	}
	r.judgeRollout()
	r.judgePromotion()
}

// judgePod judges a pod by itself.
func (r *rest) judgePod(p *corev1.Pod) {
	n := r.nodes[target(p)]
	frozen := r.spec.Strategy.Frozen || n != nil && n.departs
	waits := matches(p, r.spec.Lifecycle.PreDelete)
	switch {
	case !live(p):
	case n == nil && p.Spec.NodeName == "" && target(p) != "" && !frozen && !waits:
		r.find(Stays, target(p), p, "it waits for ever for a node that does not exist")
	case n == nil:
	case frozen:
	case state(p) == preparingDelete && !waits && r.mayGo(n, p):
		r.find(Stuck, n.Name, p, "it is PreparingDelete, and no handler of preDelete is on it")
	case n.verdict == leave && !waits && !r.mayServeOn(p):
		r.find(Stays, n.Name, p, "it stays on a node that it is to leave")
	case n.verdict == runs && ended(p) && !waits:
		r.find(Stays, n.Name, p, "it has ended, and stays")
	}
	if n == nil || n.departs || !live(p) || ended(p) {
		return
	}
	if state(p) == preparingUpdate && !matches(p, r.spec.Lifecycle.InPlaceUpdate) && !frozen && r.mayGo(n, p) {
		r.find(Stuck, n.Name, p, "it is PreparingUpdate, and no handler of inPlaceUpdate is on it")
	}
	if is(p, lifecycle.InPlaceUpdateReady, corev1.ConditionFalse) && state(p) != preparingUpdate && state(p) != preparingDelete &&
		!unreachable(n.Node) && settled(p) {
		r.find(Stuck, n.Name, p, "it is kept unready for an update in place, and its containers are what it says")
	}
}

// mayGo reports whether the budget has room for a prepared pod whose turn it is (B3). It needs none where another pod of the node
// serves, which is the only way under surge (B4).
func (r *rest) mayGo(n *seenNode, p *corev1.Pod) bool {
	if n.verdict != runs || !ready(p) || n.first(func(p *seenPod) bool { return p.serves() && normal(p.Pod) }) != nil {
		return true
	}
	down := r.counted(r.down(func(p *seenPod) bool { return p.couldServe() && p.prepared }))
	return len(r.those(down)) < rounded(r.spec.Strategy.MaxUnavailable, r.desired, true) && r.fits(n, down)
}

// mayServeOn reports whether surge lets the pod serve where it may not run any more (M4): an available one, where not a taint
// is the reason, as long as no more others are available than are desired.
func (r *rest) mayServeOn(p *corev1.Pod) bool {
	return rounded(r.spec.Strategy.MaxSurge, r.desired, true) > 0 && ready(p)
}

// unreachable reports whether nobody hears of the node's kubelet.
func unreachable(n *corev1.Node) bool {
	return slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status != corev1.ConditionTrue
	}) || slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool {
		return t.Key == corev1.TaintNodeUnreachable || t.Key == corev1.TaintNodeNotReady
	})
}

// settled reports whether each container runs what the pod says.
func settled(p *corev1.Pod) bool {
	for i := range p.Spec.Containers {
		c := &p.Spec.Containers[i]
		at := slices.IndexFunc(p.Status.ContainerStatuses, func(s corev1.ContainerStatus) bool { return s.Name == c.Name })
		if at < 0 || readsMetadata(c) {
			return false
		}
		s := &p.Status.ContainerStatuses[at]
		if s.State.Running == nil || !s.Ready || s.Image != c.Image ||
			s.Resources != nil && !equality.Semantic.DeepEqual(*s.Resources, c.Resources) {
			return false
		}
	}
	return true
}

// judgeNode judges whether a run node has its pod, and not too many.
func (r *rest) judgeNode(n *seenNode) {
	if n.verdict != runs || n.departs {
		return
	}
	if len(n.pods) == 0 {
		if !r.scaled() {
			r.find(Empty, n.Name, nil, "it is to run the pod, and nothing is there")
		}
		return
	}
	kinds, most, old := map[[2]string]int{}, 0, 0
	for _, p := range n.pods {
		if live(p.Pod) && !ended(p.Pod) && state(p.Pod) != preparingDelete {
			kinds[kindOf(p.Pod)]++
			most = max(most, kinds[kindOf(p.Pod)])
			if hashOf(p.Pod) != r.update || ofPredecessor(p.Pod, r.spec) {
				old++
			}
		}
	}
	fresh := n.first(func(p *seenPod) bool {
		return live(p.Pod) && hashOf(p.Pod) == r.update && !ofPredecessor(p.Pod, r.spec) && p.available && normal(p.Pod)
	})
	held := n.first(func(p *seenPod) bool { return matches(p.Pod, r.spec.Lifecycle.PreDelete) }) != nil
	switch {
	case held:
	case most > 1 || !r.open && old > 1:
		r.find(Stays, n.Name, nil, "there are %d pods of one revision, and %d outdated ones", most, old)
	case !r.open && old > 0 && fresh != nil:
		r.find(Stays, n.Name, fresh.Pod, "it is available, and an outdated pod stays beside it")
	}
}

// scaled reports whether partitioned scaling may leave nodes empty (T7).
func (r *rest) scaled() bool {
	s := &r.spec.Strategy
	return s.PartitionedScaling && s.Partition != nil && len(r.revisions) == 1
}

// judgeRollout judges whether an update is due and not made: on a node that nothing holds, with room in the budget.
func (r *rest) judgeRollout() {
	s := &r.spec.Strategy
	if s.Paused || s.Type == rollout.OnDelete || r.waits() {
		return
	}
	open, staged := r.surelyOpen(), len(r.policy().Stages) > 0 && !r.allOpen() && !r.revisions[r.update].completed
	if staged && s.Partition.String() != "0" || r.stops() { // what it holds is not for certain
		return
	}
	var due []*seenPod
	heldBy, base := 0, 0
	for _, object := range r.cluster.Nodes {
		n := r.nodes[object.Name]
		old := n.first(func(p *seenPod) bool {
			return live(p.Pod) && (hashOf(p.Pod) != r.update || ofPredecessor(p.Pod, r.spec))
		})
		if n.verdict == runs || n.verdict == keep && n.first(func(p *seenPod) bool { return live(p.Pod) }) != nil {
			base++
		}
		updated := n.first(func(p *seenPod) bool {
			return live(p.Pod) && hashOf(p.Pod) == r.update && !ofPredecessor(p.Pod, r.spec)
		})
		switch {
		case n.verdict == unclear || old == nil || updated != nil:
		case n.verdict == keep || n.verdict == runs && !selects(s.NodeSelector, n.Labels):
			heldBy++
		case n.departs, staged && !open[r.partOf(n)]:
		case n.verdict == runs && n.alone() == old && !ended(old.Pod) && r.changeable(old):
			due = append(due, old)
		}
	}
	slices.SortFunc(due, func(a, b *seenPod) int {
		if target(a.Pod) < target(b.Pod) {
			return -1
		}
		return 1
	})
	free := max(rounded(s.Partition, base, false)-heldBy, 0)
	if free >= len(due) {
		return
	}
	due = due[free:]
	down := r.counted(r.down(nil))
	holds := r.counted(func(n *seenNode) bool {
		return n.first(func(p *seenPod) bool {
			return live(p.Pod) && hashOf(p.Pod) == r.update && (!p.available || !normal(p.Pod))
		}) != nil
	})
	if s.SlowStart != nil && r.hooked() {
		return // what a hook holds on its way out is under way for as long as it does (B7)
	}
	used, places := len(r.those(down)), len(r.those(holds))
	room, disturbed := used < rounded(s.MaxUnavailable, r.desired, true), down
	if surge := rounded(s.MaxSurge, r.desired, true); surge > 0 {
		room, disturbed = places < surge, holds
	}
	for _, p := range due {
		if !p.ready || room && r.fits(r.nodes[target(p.Pod)], disturbed) {
			r.find(Stuck, target(p.Pod), p.Pod, "it is outdated and may be updated (%d of %d nodes are down, %d hold a place of "+
				"maxSurge), and nothing happens", used, r.desired, places)
			return
		}
	}
}

// stops reports whether too many nodes may have failed.
func (r *rest) stops() bool {
	if !r.watches() {
		return false
	}
	for _, n := range r.nodes {
		if n.first(func(p *seenPod) bool {
			return r.isFresh(p) && (!p.available || !normal(p.Pod) || restarts(n, p.Pod) > 0)
		}) != nil {
			return true
		}
	}
	return false
}

// hooked reports whether the preDelete hook of any pod holds it on its way out.
func (r *rest) hooked() bool {
	return slices.ContainsFunc(r.cluster.Pods, func(p *corev1.Pod) bool {
		return live(p) && state(p) == preparingDelete && matches(p, r.spec.Lifecycle.PreDelete)
	})
}

// down says of nodes whether they are down: run nodes without a pod that serves beyond doubt. One that waits for a hook, or is
// updated in place, does not, unless the caller wants it to. Keep nodes count by their pods of the revision that
// they are to end at alone (B2), which may be any during a trial.
func (r *rest) down(or func(*seenPod) bool) func(*seenNode) bool {
	return func(n *seenNode) bool {
		serves := n.first(func(p *seenPod) bool { return p.serves() && normal(p.Pod) || or != nil && or(p) })
		return n.verdict == runs && serves == nil || n.verdict == keep && n.first(func(p *seenPod) bool {
			return live(p.Pod) && (r.open || hashOf(p.Pod) == r.update) && (!p.available || !normal(p.Pod))
		}) != nil
	}
}

// counted says of nodes whether they are such and not left out of the budgets, which nodes are by name (B8, B9).
func (r *rest) counted(such func(*seenNode) bool) func(*seenNode) bool {
	left := map[*seenNode]bool{}
	out, stuck := r.mayBeLeftOut()
	for _, name := range slices.Sorted(maps.Keys(r.nodes)) {
		switch n := r.nodes[name]; {
		case !such(n):
		case out > 0 && r.surelyExcused(n):
			out--
			left[n] = true
		case stuck > 0 && r.isolated(n):
			stuck--
			left[n] = true
		}
	}
	return func(n *seenNode) bool { return such(n) && !left[n] }
}

// surelyExcused is excused, whatever the node is to end at. Of a node without pods the controller may remember that it was begun.
func (r *rest) surelyExcused(n *seenNode) bool {
	return len(n.pods) > 0 && n.out && !slices.ContainsFunc(r.goals(), func(goal string) bool { return !r.excusedFor(n, goal) })
}

// waits reports whether the trial of the update revision is not over, or may have come to nothing.
func (r *rest) waits() bool {
	return r.open && !r.revisions[r.update].promoted || r.revisions[r.update].failed
}

// changeable reports whether the pod can be updated as the strategy wants it (I1), for certain.
func (r *rest) changeable(p *seenPod) bool {
	if p.prepared {
		return false
	}
	return r.spec.Strategy.Method != "InPlaceOnly"
}

// judgePromotion judges whether a canary waits for nothing (C2).
func (r *rest) judgePromotion() {
	s := &r.spec.Strategy
	if s.Canary == nil || s.Paused || !r.waits() || r.revisions[r.update].failed {
		return
	}
	options := s.Canary.Default()
	commands := options.Commands
	// A partition may hold the very node that was chosen.
	if options.Mode != "auto" || s.Partition.String() != "0" || commands.Pause != "" || commands.Fail != "" {
		return
	}
	fit, lacking := 0, options.AutoPause.MaxSlowStartDuration != nil
	for _, of := range r.pods {
		lacking = lacking || of.troubled && slices.Contains(of.hashes, r.update)
	}
	for _, n := range r.nodes {
		for _, p := range n.pods {
			if hashOf(p.Pod) != r.update || !live(p.Pod) {
				continue
			}
			lacking = lacking || !p.available || n.verdict != runs || !normal(p.Pod)
		}
		if n.verdict == unclear {
			lacking = true
		}
		fits := selects(s.NodeSelector, n.Labels) && selects(options.NodeSelector, n.Labels)
		fresh := n.first(func(p *seenPod) bool { return hashOf(p.Pod) == r.update && p.available })
		if fits && n.verdict == runs && fresh != nil {
			fit++
		}
	}
	if wanted := r.canaries(); !lacking && fit >= wanted && fit > 0 {
		r.find(Stuck, "", nil, "all of %d canary nodes run revision %s, and it is never promoted", wanted, r.update)
	}
}
