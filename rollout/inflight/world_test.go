package inflight_test

import (
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// server is an API server as a log of events, with what the watches have shown of it. It is the oracle of the property: it
// answers from the whole log, and from no resource version of an object in a cache.
type server struct {
	log     []event
	version int
	// shown is the version up to which each of the two watches has shown the log.
	shown map[resource]int
	// unreadable reports whether the versions are texts that are no numbers.
	unreadable bool
	objects    int // the number of objects that add has made, for their names
}

type resource int

const (
	pods resource = iota
	revisions
)

// event is one version of one object.
type event struct {
	version  int
	resource resource
	uid      types.UID
	name     string
	marked   bool // it is marked for deletion
	gone     bool
}

// write appends an event. Its version is gap higher than the next one, because other resources have versions, too.
func (s *server) write(e event, gap int) event {
	s.version += 1 + gap
	e.version = s.version
	s.log = append(s.log, e)
	return e
}

// add makes an object.
func (s *server) add(of resource, gap int) {
	s.objects++
	name := "object-" + strconv.Itoa(s.objects)
	s.write(event{resource: of, uid: types.UID("uid-of-" + name), name: name}, gap)
}

// view is the last version of each object up to a version of the log, without objects that are gone, in the order of creation.
func (s *server) view(of resource, upTo int) []event {
	var list []event
	for _, e := range s.log {
		if e.resource != of || e.version > upTo {
			continue
		}
		found := false
		for i := range list {
			if list[i].uid == e.uid {
				list[i], found = e, true
			}
		}
		if !found {
			list = append(list, e)
		}
	}
	var left []event
	for _, e := range list {
		if !e.gone {
			left = append(left, e)
		}
	}
	return left
}

// find looks an object up by its UID; nil: it is not there.
func find(view []event, uid types.UID) *event {
	for i := range view {
		if view[i].uid == uid {
			return &view[i]
		}
	}
	return nil
}

func (s *server) now(of resource) []event    { return s.view(of, s.version) }
func (s *server) cached(of resource) []event { return s.view(of, s.shown[of]) }

// advance lets a watch show so many more events.
func (s *server) advance(of resource, events int) {
	for _, e := range s.log {
		if e.resource == of && e.version > s.shown[of] && events > 0 {
			s.shown[of] = e.version
			events--
		}
	}
}

func (s *server) spell(version int) string {
	if s.unreadable {
		return "v" + strconv.Itoa(version)
	}
	return strconv.Itoa(version)
}

func (s *server) meta(e event) metav1.ObjectMeta {
	meta := metav1.ObjectMeta{Name: e.name, UID: e.uid, ResourceVersion: s.spell(e.version)}
	if e.marked {
		meta.DeletionTimestamp = &metav1.Time{Time: noon}
	}
	return meta
}

func (s *server) object(e event) metav1.Object {
	if e.resource == pods {
		return &corev1.Pod{ObjectMeta: s.meta(e)}
	}
	return &appsv1.ControllerRevision{ObjectMeta: s.meta(e)}
}

// caches lists what the watches have shown, as a controller does.
func (s *server) caches() ([]*corev1.Pod, []*appsv1.ControllerRevision) {
	var p []*corev1.Pod
	for _, e := range s.cached(pods) {
		p = append(p, &corev1.Pod{ObjectMeta: s.meta(e)})
	}
	var r []*appsv1.ControllerRevision
	for _, e := range s.cached(revisions) {
		r = append(r, &appsv1.ControllerRevision{ObjectMeta: s.meta(e)})
	}
	return p, r
}

// deed is what a request does to its object.
type deed int

const (
	create deed = iota
	patch
	remove
)

// asked is a request with what the oracle knows of it.
type asked struct {
	deed     deed
	resource resource
	key      string    // the text for it in what Observe returns
	uid      types.UID // UID of the object; empty until it is created
	name     string    // name of a revision, or node of a pod that is created
	executed *event    // the event that it wrote, or that it found if there was nothing to write
	ended    bool
	refused  bool
	maybe    bool // its answer was lost, so that it may be executed until its time is over
	told     bool // the answer had the object
	until    time.Time
	slot     int // its index among the requests of the trackers
}

// mayGo reports whether it is safe not to wait any more: the time of the request is over, it was not executed, or the watch has
// shown its effect, or something that makes it pointless.
func (a *asked) mayGo(s *server, now time.Time) bool {
	there := find(s.cached(a.resource), a.uid)
	switch {
	case !now.Before(a.until) || a.refused:
		return true
	case a.executed != nil && s.shown[a.resource] >= a.executed.version:
		return true
	case a.deed == patch:
		return there == nil
	case a.deed == remove:
		return there == nil || there.marked
	default:
		return false
	}
}

// mustGo reports whether a controller can know from answer and caches that there is nothing to wait for.
func (a *asked) mustGo(s *server, now time.Time) bool {
	cached := s.cached(a.resource)
	there := find(cached, a.uid)
	known := a.ended && a.told && a.executed != nil
	switch {
	case !now.Before(a.until) || a.refused:
		return true
	case a.deed == remove:
		return there == nil || there.marked
	case a.deed == patch:
		return there == nil || known && !s.unreadable && there.version >= a.executed.version
	case !known:
		return false
	case there != nil:
		return true
	}
	for _, e := range cached {
		if !s.unreadable && e.version >= a.executed.version {
			return true
		}
	}
	return false
}
