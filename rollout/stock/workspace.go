package stock

import (
	"maps"
	"reflect"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/diagnosis"
	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/failure"
)

// Workspace is memory for plans of one [Kubernetes] or [Kruise] planner that follow each other: each reads only the pods that
// have changed since the one before. A plan of 100,000 nodes takes a fifth of the time then. What a plan does and says of nodes
// does not depend on it, but for Plan.Causes, which are then those of pods that have failed or wait for something that is not
// ordinary. The zero value is ready to use.
//
// As with [rollout.Workspace], a plan is good only until the next one, which overwrites its Decisions; objects that have changed
// have other pointers; and several goroutines may not use a Workspace at once.
type Workspace struct {
	of        *rollout.Planner
	matcher   *placement.Matcher // of the template
	nodes     []*corev1.Node
	revisions []*appsv1.ControllerRevision
	base      rollout.Plan // the last plan of package rollout

	known     []node
	list      []*node
	index     map[string]*node
	pods      []*corev1.Pod
	members   []*member // of pods; nil: it counts for nothing
	hosts     []*node   // of pods, as long as there is a member
	uids      map[types.UID]bool
	carried   map[string]int // how many pods have a hash
	decisions []rollout.Decision

	// These are lent to the next plan, so that it need not allocate them.
	kept         []int32
	spareMembers []*member
	spareHosts   []*node
	changes      changes
}

// sharing is a planner of this package that may be used with a Workspace: a *Kubernetes or a *Kruise.
type sharing interface{ shared() *planner }

// Plan is the plan of the planner for the snapshot. A nil planner fails, as one that was not made. Plan.Reading is nil, because
// the Workspace has what was read.
func (w *Workspace) Plan(planner sharing, snapshot rollout.Snapshot) (rollout.Plan, error) {
	if planner == nil || planner.shared() == nil || planner.shared().base == nil {
		return (*rollout.Planner)(nil).Plan(snapshot)
	}
	p := planner.shared()
	follows := w.follows(p, &snapshot)
	if follows {
		if plan, outdated := w.again(p, snapshot); outdated { // else package rollout may find that the rollout is complete
			return plan, nil
		}
	}
	plan, err := p.base.Plan(snapshot)
	if err != nil {
		w.of = nil
		return plan, err
	}
	w.base = plan
	w.base.Decisions, w.base.Reading = nil, nil // the memory is here
	if follows && w.leavesRevisions(&snapshot) {
		plan, _ = w.again(p, snapshot)
		return plan, nil
	}
	w.of = nil // until it is known that the memory is of use
	s := p.newRound(snapshot, &plan)
	w.keep(s, snapshot)
	s.sync()
	plan.Reading = nil
	return plan, nil
}

// again plans with the memory, which is up to date. It reports whether there are outdated nodes.
func (w *Workspace) again(p *planner, snapshot rollout.Snapshot) (plan rollout.Plan, outdated bool) {
	plan = w.base
	s := p.startRound(snapshot, &plan)
	w.lend(s)
	s.scale()
	s.reportCauses()
	outdated = s.sync()
	return plan, outdated
}

// leavesRevisions reports whether package rollout does nothing about revisions.
func (w *Workspace) leavesRevisions(snapshot *rollout.Snapshot) bool {
	return len(w.base.Revisions)+len(w.base.Patches)+len(snapshot.InFlight.Revisions) == 0
}

func (k *Kubernetes) shared() *planner {
	if k == nil {
		return nil
	}
	return &k.planner
}

func (k *Kruise) shared() *planner {
	if k == nil {
		return nil
	}
	return &k.planner
}

// keep takes over what a round has read, if it can be of use for the next one: each pod is on a node that there is, and package
// rollout leaves revisions alone.
func (w *Workspace) keep(s *round, snapshot rollout.Snapshot) {
	if len(s.strays) > 0 || !w.leavesRevisions(&snapshot) {
		return
	}
	w.matcher, _ = placement.Compile(&s.spec.Template) // what is mistaken matches nothing
	w.of, w.nodes, w.revisions = s.base, slices.Clone(snapshot.Nodes), slices.Clone(snapshot.Revisions)
	w.known, w.list = make([]node, len(s.nodes)), make([]*node, len(s.nodes))
	w.index = make(map[string]*node, len(s.nodes))
	w.uids, w.carried = make(map[types.UID]bool, len(snapshot.Pods)), make(map[string]int)
	w.pods, w.members, w.hosts = nil, nil, nil
	for i, n := range s.nodes {
		w.known[i] = node{name: n.name, object: n.object, target: n.target}
		w.known[i].place(n.placement)
		w.list[i] = &w.known[i]
		w.index[n.name] = &w.known[i]
	}
	for _, pod := range snapshot.Pods {
		m, host, ok := w.enter(s, pod)
		if !ok {
			w.of = nil
			return
		}
		w.pods, w.members, w.hosts = append(w.pods, pod), append(w.members, m), append(w.hosts, host)
	}
}

// enter reads a pod, and puts it on its node. It reports whether the pod is one as there should be.
func (w *Workspace) enter(s *round, pod *corev1.Pod) (*member, *node, bool) {
	if pod == nil || pod.UID == "" || w.uids[pod.UID] {
		return nil, nil, false
	}
	name, found := placement.TargetNode(pod)
	host := w.index[name]
	if !found || host == nil {
		return nil, nil, false
	}
	w.uids[pod.UID] = true
	w.carried[pod.Labels[appsv1.DefaultDaemonSetUniqueLabelKey]]++
	if s.ignores(pod) {
		return nil, nil, true
	}
	read := s.read(pod)
	m := &read
	host.pods = append(host.pods, m)
	if len(host.pods) > 1 {
		slices.SortFunc(host.pods, oldestFirst)
	}
	return m, host, true
}

// leave takes a pod off its node.
func (w *Workspace) leave(i int) {
	pod := w.pods[i]
	delete(w.uids, pod.UID)
	hash := pod.Labels[appsv1.DefaultDaemonSetUniqueLabelKey]
	if w.carried[hash]--; w.carried[hash] == 0 {
		delete(w.carried, hash)
	}
	if m := w.members[i]; m != nil {
		host := w.hosts[i]
		host.pods = slices.DeleteFunc(host.pods, func(other *member) bool { return other == m })
	}
}

// follows reports whether the plan for the snapshot can be made with the memory, which it brings up to date then.
func (w *Workspace) follows(p *planner, snapshot *rollout.Snapshot) bool {
	if w.of != p.base || w.of == nil || snapshot.Now.IsZero() || len(snapshot.InFlight.Revisions) > 0 ||
		!slices.Equal(w.revisions, snapshot.Revisions) ||
		snapshot.Memory.Version != w.base.Memory.Version ||
		!reflect.DeepEqual(snapshot.Memory.Rollout, w.base.Memory.Rollout) ||
		!reflect.DeepEqual(snapshot.Memory.CollisionCount, w.base.Memory.CollisionCount) {
		return false
	}
	if !w.updateNodes(snapshot.Nodes) {
		return false
	}
	before := slices.Collect(maps.Keys(w.carried))
	s := p.startRound(*snapshot, &rollout.Plan{Status: w.base.Status})
	if !w.update(s, snapshot.Pods) {
		w.of = nil
		return false
	}
	for _, hash := range before {
		if w.carried[hash] == 0 {
			return false // a revision may be deleted now
		}
	}
	return len(w.carried) == len(before)
}

// updateNodes brings the nodes up to date. It reports whether they are the same ones by name.
func (w *Workspace) updateNodes(nodes []*corev1.Node) bool {
	if len(nodes) != len(w.nodes) {
		return false
	}
	for i, object := range nodes {
		if object == w.nodes[i] {
			continue
		}
		if object == nil || object.Name != w.nodes[i].Name {
			return false
		}
		n := w.index[object.Name]
		w.nodes[i], n.object = object, object
		n.place(w.matcher.Evaluate(object))
	}
	return true
}

// nearby is how far a pod is looked for in the list of the plan before: about as far as a burst of deletes may have moved it.
const nearby = 600

// update brings the pods up to date. It reports whether they are all as there should be.
func (w *Workspace) update(s *round, pods []*corev1.Pod) bool {
	var gone []int
	kept := slices.Grow(w.kept[:0], len(pods))[:len(pods)] // where the pod was before; -1: it is new
	next := 0
	for i, pod := range pods {
		kept[i] = -1
		end := min(next+nearby, len(w.pods))
		if at := slices.Index(w.pods[next:end], pod); at >= 0 {
			for j := next; j < next+at; j++ {
				gone = append(gone, j)
			}
			kept[i], next = int32(next+at), next+at+1
		}
	}
	for j := next; j < len(w.pods); j++ {
		gone = append(gone, j)
	}
	for _, j := range gone {
		w.leave(j)
	}
	members := slices.Grow(w.spareMembers[:0], len(pods))[:len(pods)]
	hosts := slices.Grow(w.spareHosts[:0], len(pods))[:len(pods)]
	for i, pod := range pods {
		if at := kept[i]; at >= 0 {
			members[i], hosts[i] = w.members[at], w.hosts[at]
			continue
		}
		var ok bool
		if members[i], hosts[i], ok = w.enter(s, pod); !ok {
			return false
		}
	}
	w.kept, w.spareMembers, w.spareHosts = kept, w.members, w.hosts
	w.pods, w.members, w.hosts = append(w.pods[:0], pods...), members, hosts
	if s.spec.MinReadySeconds == 0 {
		return true
	}
	for _, m := range members {
		if m != nil && m.ready {
			at := s.availableAt(m)
			m.available = !at.IsZero() && !at.After(s.now)
		}
	}
	return true
}

// lend gives the round the nodes, as they are before anything is decided.
func (w *Workspace) lend(s *round) {
	if len(w.decisions) != len(w.known) {
		w.decisions = make([]rollout.Decision, len(w.known))
	}
	for i := range w.known {
		n := &w.known[i]
		n.decision = &w.decisions[i]
		n.waits, n.uses, n.begun, n.patches, n.facts, n.chance = rollout.LimitNone, false, false, 0, 0, 0
	}
	s.nodes, s.plan.Decisions, s.lent = w.list, w.decisions, &w.changes
}

// reportCauses says of each node whose pod does not serve why, unless it is what every pod goes through.
func (s *round) reportCauses() {
	s.plan.Causes = nil
	for _, n := range s.nodes {
		if !n.shouldRun || slices.ContainsFunc(n.pods, func(pod *member) bool { return !pod.marked && pod.ready }) {
			continue
		}
		for _, pod := range n.pods {
			cause, found := diagnosis.Of(pod.Pod, n.object, s.now)
			failing := !pod.marked && failure.Options{}.Default().Of(pod.Pod, failure.Series{}, s.now).Failed
			if found && (failing || !cause.Ordinary()) {
				s.plan.Causes = append(s.plan.Causes, rollout.NodeCause{Node: n.name, Pod: pod.Name, Cause: cause})
				break
			}
		}
	}
}
