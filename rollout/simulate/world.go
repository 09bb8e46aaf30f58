package simulate

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/internal/apiserver"
	"github.com/daemonplan/daemonplan/internal/kubelet"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/tolerations"
)

// collected is the time from the removal of a node until its pods are garbage-collected.
const collected = 20 * time.Second

// node is a node as it is.
type node struct {
	object *corev1.Node // replaced, never written to
	name   string
	zone   string
	pool   *Pool // nil: of none
	pods   []*pod
	// late are pulls that ended while the node was silent.
	late []pulled
	// begun counts the events that are not over, by what they do. labels has the labels that events have changed.
	begun  map[effect]int
	labels map[string]*relabelled
	// ahead are the pulls of images that no pod has asked for.
	ahead []*ahead
	// runs reports whether the pod of the spec in force is to run here (P2).
	runs bool
	// silent: the kubelet reports and does nothing. gone: the node was removed.
	silent, gone bool
	state        NodeState
	counted      string // the zone that it is counted in
	// digest is that of the overrides that apply to the node. anyResources: an annotation of it cannot be read, so that no
	// running pod is outdated because of its resources (P8).
	digest       string
	anyResources bool
	// soon fires when the node's pod has been Ready for minReadySeconds.
	soon timer
	// shown is what the controller's watch shows of it.
	shown sights[*corev1.Node]
}

// pod is a pod as it is, and what its kubelet is about to do with it.
type pod struct {
	object *corev1.Pod // replaced, never written to
	node   *node       // that it is bound or pinned to; nil: none that exists
	serial int
	// rules apply to what the pod is to run, runs to what it does run.
	rules, runs *Kubelet
	stage       podStage
	// since is when the stage began, up when the containers last started, changed when the pod was last changed so that its
	// containers have to change, asked when the controllers of hooks were given something to do, and marked when the pod was
	// marked for deletion.
	since, up, changed, asked, marked time.Duration
	// attempt counts starts of the containers, crashes those that failed.
	attempt, crashes int
	// inARow counts crashes for the back-off, sickly the crashes since the pod was last ready.
	inARow, sickly int
	// pullsFailed counts pulls of its images that failed, in a row.
	pullsFailed int
	running     []kubelet.Running
	next        act
	timer       timer
	hook        *hookTimer // nil: no hook has asked for anything yet
	shown       sights[*corev1.Pod]
	// matcher decides on which nodes the template of the pod may run; nil: that is to be read off the pod.
	matcher *placement.Matcher
}

// setNode adds a node to the cluster.
func (s *Simulation) setNode(object *corev1.Node) *node {
	n := &node{object: object, name: object.Name, zone: object.Labels[corev1.LabelTopologyZone]}
	if pool, ok := s.pools[object.Labels[PoolLabel]]; ok {
		n.pool = pool
	}
	n.silent = !isReady(object)
	s.evaluate(n)
	s.nodes[n.name] = n
	at, _ := slices.BinarySearchFunc(s.names, n.name, func(n *node, name string) int { return cmp.Compare(n.name, name) })
	s.names = slices.Insert(s.names, at, n)
	for _, image := range object.Status.Images {
		for _, name := range image.Names {
			s.registry.put(n.name, n.zone, name)
		}
	}
	return n
}

// isReady reports whether the node is reported Ready. A node without such a condition counts as Ready.
func isReady(n *corev1.Node) bool {
	for i := range n.Status.Conditions {
		if c := &n.Status.Conditions[i]; c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return true
}

// evaluate finds what the spec in force means for the node.
func (s *Simulation) evaluate(n *node) {
	n.runs = s.runsOn(n)
	by := s.overrides.Evaluate(n.object)
	n.digest, n.anyResources = by.Digest, len(by.Malformed) > 0
}

// runsOn reports whether the pod of the spec in force is to run on the node. The taints of a lost node keep new pods away (P3),
// but the node is to run one all the same: whoever counts nodes without an agent counts it.
func (s *Simulation) runsOn(n *node) bool {
	object := n.object
	if n.silent {
		object = new(corev1.Node)
		*object = *n.object
		object.Spec.Taints = reachable(n.object.Spec.Taints)
	}
	return s.matcher.Evaluate(object).Outcome == placement.Run
}

// changeNode puts another object in the place of a node's.
func (s *Simulation) changeNode(n *node, change func(*corev1.Node)) {
	object := n.object.DeepCopy()
	change(object)
	object.ResourceVersion = s.nextVersion()
	n.object, n.zone = object, object.Labels[corev1.LabelTopologyZone]
	s.evaluate(n)
	s.showNode(n, object)
	for _, p := range slices.Clone(n.pods) {
		s.tolerate(p)
		s.schedule(p)
	}
	s.observe(n)
}

// tolerate evicts a pod that does not tolerate a taint of its node.
func (s *Simulation) tolerate(p *pod) {
	for i := range p.node.object.Spec.Taints {
		taint := &p.node.object.Spec.Taints[i]
		if taint.Effect != corev1.TaintEffectNoExecute || p.object.Spec.NodeName == "" {
			continue
		}
		tolerates := func(t corev1.Toleration) bool { return tolerations.Tolerates(&t, taint) }
		if !slices.ContainsFunc(p.object.Spec.Tolerations, tolerates) {
			s.deletePod(p)
			return
		}
	}
}

// removeNode takes a node away. What runs on it is collected later.
func (s *Simulation) removeNode(n *node) {
	n.gone = true
	delete(s.nodes, n.name)
	s.names = slices.DeleteFunc(s.names, func(other *node) bool { return other == n })
	s.registry.forgetNode(s.elapsed, n.name)
	for len(n.ahead) > 0 {
		s.dropAhead(n.ahead[0])
	}
	s.showNode(n, nil)
	for _, p := range n.pods {
		p.since = s.elapsed
		s.schedule(p)
	}
	s.observe(n)
}

// addPod adds a pod that is new to the cluster, or was there from the beginning.
func (s *Simulation) addPod(object *corev1.Pod) *pod {
	s.created++
	p := &pod{object: object, serial: s.created, since: s.elapsed, up: s.elapsed, changed: s.elapsed, asked: s.elapsed}
	p.timer.owner = p
	if name, ok := placement.TargetNode(object); ok {
		if p.node = s.nodes[name]; p.node != nil {
			p.node.pods = append(p.node.pods, p)
		}
	}
	p.rules, p.runs = s.rulesFor(p), &s.noRules
	p.running = make([]kubelet.Running, kubelet.Count(object))
	s.pods[object.UID] = p
	s.order = append(s.order, p)
	return p
}

// changePod puts another object in the place of a pod's; it must be one of its own.
func (s *Simulation) changePod(p *pod, object *corev1.Pod) {
	wasMarked, marked := p.object.DeletionTimestamp != nil, object.DeletionTimestamp != nil
	if lifecycle.StateOf(object) != lifecycle.StateOf(p.object) || marked != wasMarked {
		p.asked = s.elapsed
	}
	object.ResourceVersion = s.nextVersion()
	p.object = object
	s.showPod(p, object)
	s.schedule(p)
	if p.node != nil {
		s.observe(p.node)
	}
}

// deletePod does what an API server does on a request to delete a pod.
func (s *Simulation) deletePod(p *pod) {
	switch object := apiserver.Delete(p.object, s.stamp()); object {
	case p.object: // marked already
	case nil:
		s.removePod(p)
	default:
		p.marked = s.elapsed
		s.changePod(p, object)
	}
}

// removePod takes away a pod that has ended.
func (s *Simulation) removePod(p *pod) {
	p.stage = gone
	s.queue.stop(&p.timer)
	p.stopHook(s)
	delete(s.pods, p.object.UID)
	const share = 16 // of those that are kept; each takes the memory of its last object
	if s.dead++; s.dead > len(s.order)/share {
		s.order = slices.DeleteFunc(s.order, func(p *pod) bool { return p.stage == gone })
		s.dead = 0
	}
	s.showPod(p, nil)
	if p.node != nil {
		p.node.pods = slices.DeleteFunc(p.node.pods, func(other *pod) bool { return other == p })
	}
	for _, other := range s.rivals(p.node) { // there may be room now
		s.schedule(other)
	}
	if p.node != nil {
		s.observe(p.node)
	}
}

func (s *Simulation) nextVersion() string {
	s.version++
	return strconv.Itoa(s.version)
}

// rulesFor is one rule that joins all rules that apply to the pod. Pods with the same rules share it.
func (s *Simulation) rulesFor(p *pod) *Kubelet {
	which := make([]byte, 0, 16) // ordinals of the rules, in a row
	for i := range s.scenario.Model.Kubelets {
		rule := &s.scenario.Model.Kubelets[i]
		if !rule.matches(p) {
			continue
		}
		s.usedRules[i] = true
		if rule.NodeShare > 0 && !s.random.happens(rule.NodeShare, "nodes of rule "+strconv.Itoa(i), p.node.name) {
			continue
		}
		if rule.Share == 0 || s.random.happens(rule.Share, "rule "+strconv.Itoa(i), p.object.Name) {
			which = binary.AppendUvarint(which, uint64(i))
		}
	}
	if known, ok := s.ruleSets[string(which)]; ok {
		return known
	}
	all := new(Kubelet)
	for rest := which; len(rest) > 0; {
		i, n := binary.Uvarint(rest)
		all.overlay(&s.scenario.Model.Kubelets[i])
		rest = rest[n:]
	}
	s.ruleSets[string(which)] = all
	return all
}

// matches reports whether the rule is about the pod, apart from its Share and NodeShare.
func (k *Kubelet) matches(p *pod) bool {
	byNode := k.Pool != "" || len(k.Nodes) > 0 || k.NodeShare > 0
	if k.Revision != "" && k.Revision != revisionOf(p.object) || byNode && p.node == nil {
		return false
	}
	if k.Pool != "" && p.node.object.Labels[PoolLabel] != k.Pool {
		return false
	}
	for key, value := range k.Nodes {
		if has, ok := p.node.object.Labels[key]; !ok || has != value {
			return false
		}
	}
	return k.Image == "" || slices.ContainsFunc(p.object.Spec.Containers, func(c corev1.Container) bool {
		return c.Image == k.Image
	})
}

// overlay takes over what a later rule says.
func (k *Kubelet) overlay(later *Kubelet) {
	for _, field := range [...]struct{ to, from *Distribution }{
		{&k.Create, &later.Create}, {&k.Start, &later.Start}, {&k.Ready, &later.Ready}, {&k.Stop, &later.Stop},
		{&k.Restart, &later.Restart}, {&k.Resize, &later.Resize}, {&k.Fail, &later.Fail},
	} {
		if field.from.isSet() {
			*field.to = *field.from
		}
	}
	if later.Crash.isSet() {
		k.Crash, k.Crashes = later.Crash, later.Crashes
	}
	if later.NeverReady != nil {
		k.NeverReady = later.NeverReady
	}
	if later.NoImage != nil {
		k.NoImage = later.NoImage
	}
}

// draw draws one of the pod's durations. It is the same each time within one attempt.
func (s *Simulation) draw(d Distribution, purpose string, p *pod) time.Duration {
	if !d.isSet() {
		return 0
	}
	return s.random.durationOf(d, purpose, p.object.Name+"/"+strconv.Itoa(p.attempt))
}

// rivals are the pods that may keep others off the node: those there, and those of all nodes where only one pod may use a claim.
// A nil node has none of its own. Some may be gone.
func (s *Simulation) rivals(n *node) []*pod {
	switch {
	case len(s.claims) > 0:
		return s.order
	case n == nil:
		return nil
	default:
		return n.pods
	}
}

// excluded returns what the scheduler says of a pod that another one of the set keeps off its node; "": nothing.
func (s *Simulation) excluded(p *pod) string {
	for _, other := range s.rivals(p.node) {
		if other == p || other.stage == gone {
			continue
		}
		if why := kubelet.Excluded(p.object, other.object, p.node.object, s.claims); why != "" {
			return why
		}
	}
	return ""
}

// fits reports whether the scheduler can bind the pod to its node: selector, affinity and taints, room, and what other pods of
// the set leave it.
func (s *Simulation) fits(p *pod) bool {
	matcher := p.matcher
	if matcher == nil {
		var err error
		if matcher, err = placement.Compile(&corev1.PodTemplateSpec{Spec: p.object.Spec}); err != nil {
			return false
		}
	}
	if matcher.Evaluate(p.node.object).Outcome != placement.Run ||
		placement.Undeclared(placement.Features(&p.object.Spec), p.node.object) != "" || s.excluded(p) != "" {
		return false
	}
	if p.node.pool == nil {
		return true
	}
	for name, free := range p.node.pool.Allocatable {
		free = free.DeepCopy()
		if used, ok := p.node.pool.Used[name]; ok {
			free.Sub(used)
		}
		for _, other := range p.node.pods {
			if other.object.Spec.NodeName != "" && !lifecycle.Terminal(other.object) {
				free.Sub(requested(other.object, name))
			}
		}
		if want := requested(p.object, name); want.Cmp(free) > 0 {
			return false
		}
	}
	return true
}

// requested is how much of a resource the pod's containers ask for. Every pod asks for room for one pod.
func requested(p *corev1.Pod, name corev1.ResourceName) resource.Quantity {
	if name == corev1.ResourcePods {
		return *resource.NewQuantity(1, resource.DecimalSI)
	}
	var sum resource.Quantity
	for i := range p.Spec.Containers {
		if q, ok := p.Spec.Containers[i].Resources.Requests[name]; ok {
			sum.Add(q)
		}
	}
	return sum
}

// targetOf is the node that the pod is bound or pinned to, whether it exists or not.
func targetOf(p *pod) string {
	name, _ := placement.TargetNode(p.object)
	return name
}

func revisionOf(p *corev1.Pod) string { return p.Labels[hashLabel] }

func uidOf(serial int) types.UID { return types.UID(fmt.Sprintf("pod-%08d", serial)) }
