package inflight_test

import (
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// server is an API server as a log, and what the watches have shown of it. It serves as the oracle of the property: what it says
// comes from the whole log, and from no resource version of an object in a cache.
type server struct {
	log     []event
	version int
	// shown is up to which version each of the two watches has got.
	shown map[resource]int
	// unreadable: the versions are no numbers.
	unreadable bool
	objects    int // for names
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
	marked   bool // for deletion
	gone     bool
}

// write appends an event, some versions after the last one: other resources have versions, too.
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

// view is the last version of each object up to a version of the log, in the order of their creation.
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

// find looks an object up; nil: it is not there.
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

// advance shows some more events of a watch.
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

// caches as a controller lists them.
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

// deed is what a request is for.
type deed int

const (
	create deed = iota
	patch
	remove
)

// asked is a request as the oracle knows it.
type asked struct {
	deed     deed
	resource resource
	key      string    // what Observe calls it
	uid      types.UID // of the object; empty until it is created
	name     string    // of a revision
	executed *event    // what it wrote, or found that there is nothing to write
	ended    bool
	refused  bool
	maybe    bool // it ended, and may be executed until its time is over
	told     bool // the answer had the object
	until    time.Time
	slot     int // of the requests of the trackers
}

// mayGo reports whether it is safe not to wait any more: its time is over, it was not executed, or the watch has got past what it
// did, or past what makes it pointless.
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
