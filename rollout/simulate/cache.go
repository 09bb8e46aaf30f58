package simulate

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// cache is what the controller's watches show.
type cache struct {
	pods  []*corev1.Pod
	owner []*pod // whose object pods holds, at the same place
	nodes []*corev1.Node
	// revisions are shown as one list.
	revisions []*appsv1.ControllerRevision
}

// sights are what a watch shows of one object.
type sights[T any] struct {
	// ever: the object was shown at some time. at is its place in the cache of pods, counted from 1; 0: it is not there.
	ever           bool
	at             int32
	version, shows int32       // how often it changed, and the version that is shown
	late           *pending[T] // nil: the watch has never been late
}

// pending are the changes of one object that a watch has yet to show, in order.
type pending[T any] struct {
	sights []sight[T]
	// epoch is the one in which they are pending. It ends when the controller lists all objects.
	epoch int
	timer timer
}

type sight[T any] struct {
	at      time.Duration
	object  T
	version int32
}

// lag draws how long a watch takes for one change of one object.
func (s *Simulation) lag(kind, name string, version int32) time.Duration {
	if !s.scenario.Controller.Lag.isSet() {
		return 0
	}
	return s.random.durationOf(s.scenario.Controller.Lag, kind, name+"/"+strconv.Itoa(int(version)))
}

// later queues a change behind those that the watch has not shown yet. It returns false if the change is to be shown at once.
func later[T any](s *Simulation, v *sights[T], kind, name string, object T, owner fires) bool {
	v.version++
	if v.late != nil && v.late.epoch != s.epoch {
		v.late.sights, v.late.epoch = nil, s.epoch
	}
	at := s.elapsed + s.lag(kind, name, v.version)
	if at == s.elapsed && (v.late == nil || len(v.late.sights) == 0) {
		v.shows = v.version
		return false
	}
	if v.late == nil {
		v.late = &pending[T]{epoch: s.epoch, timer: timer{owner: owner}}
	}
	v.late.sights = append(v.late.sights, sight[T]{at, object, v.version})
	s.queue.put(&v.late.timer, v.late.sights[0].at)
	return true
}

// due returns what the watch shows now, or false if it shows nothing. A change waits for those before it, even if they take
// longer.
func (v *sights[T]) due(s *Simulation) (object T, ok bool) {
	late := v.late
	if late == nil || late.epoch != s.epoch {
		return object, false
	}
	for len(late.sights) > 0 && late.sights[0].at <= s.elapsed {
		object, ok = late.sights[0].object, true
		v.shows = late.sights[0].version
		late.sights = late.sights[1:]
	}
	if len(late.sights) > 0 {
		s.queue.put(&late.timer, late.sights[0].at)
	}
	return object, ok
}

// catchUp drops what was pending, because the controller has listed all objects.
func (v *sights[T]) catchUp(s *Simulation) {
	if v.late != nil {
		s.queue.stop(&v.late.timer)
		v.late.sights = nil
	}
	v.shows, v.ever = v.version, true
}

type podSight struct{ *pod }

func (p podSight) fire(s *Simulation) {
	if object, ok := p.shown.due(s); ok {
		s.cachePod(p.pod, object)
	}
}

type nodeSight struct{ *node }

func (n nodeSight) fire(s *Simulation) {
	if object, ok := n.shown.due(s); ok {
		s.cacheNode(n.node, object)
	}
}

type revisionSight struct{}

func (revisionSight) fire(s *Simulation) {
	if list, ok := s.shownRevisions.due(s); ok {
		s.cacheRevisions(list)
	}
}

// showPod lets the watch see a pod's object; nil: the pod is gone.
func (s *Simulation) showPod(p *pod, object *corev1.Pod) {
	if !later(s, &p.shown, "pod lag", p.object.Name, object, podSight{p}) {
		s.cachePod(p, object)
	}
}

func (s *Simulation) showNode(n *node, object *corev1.Node) {
	if !later(s, &n.shown, "node lag", n.name, object, nodeSight{n}) {
		s.cacheNode(n, object)
	}
}

func (s *Simulation) showRevisions() {
	if !later(s, &s.shownRevisions, "revision lag", "", s.revisions, revisionSight{}) {
		s.cacheRevisions(s.revisions)
	}
}

func (s *Simulation) cachePod(p *pod, object *corev1.Pod) {
	c := &s.cache
	s.controller.dirty = true
	p.shown.ever = true
	switch at := p.shown.at; {
	case object == nil && at == 0:
	case object == nil:
		last := len(c.pods) - 1
		c.pods[at-1], c.owner[at-1] = c.pods[last], c.owner[last]
		c.owner[at-1].shown.at = at
		c.pods[last], c.owner[last] = nil, nil
		c.pods, c.owner = c.pods[:last], c.owner[:last]
		p.shown.at = 0
	case at == 0:
		c.pods, c.owner = append(c.pods, object), append(c.owner, p)
		p.shown.at = int32(len(c.pods))
	default:
		c.pods[at-1] = object
	}
}

func (s *Simulation) cacheNode(n *node, object *corev1.Node) {
	s.controller.dirty = true
	at, ok := slices.BinarySearchFunc(s.cache.nodes, n.name, func(o *corev1.Node, name string) int {
		return cmp.Compare(o.Name, name)
	})
	switch {
	case object == nil && ok:
		s.cache.nodes = slices.Delete(s.cache.nodes, at, at+1)
	case object == nil:
	case ok:
		s.cache.nodes[at] = object
	default:
		s.cache.nodes = slices.Insert(s.cache.nodes, at, object)
	}
}

func (s *Simulation) cacheRevisions(list []*appsv1.ControllerRevision) {
	s.controller.dirty = true
	s.cache.revisions = list
}

// relist shows the controller everything as it is.
func (s *Simulation) relist() {
	s.epoch++
	s.cache = cache{revisions: s.revisions}
	s.shownRevisions.catchUp(s)
	for _, n := range s.names {
		n.shown.catchUp(s)
		s.cache.nodes = append(s.cache.nodes, n.object)
	}
	for _, p := range s.order {
		p.shown.catchUp(s)
		p.shown.at = 0
		if p.stage != gone {
			s.cachePod(p, p.object)
		}
	}
	s.controller.dirty = true
}
