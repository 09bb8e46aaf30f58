package inflight_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/daemonplan/daemonplan/internal/fuzzing"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/inflight"
)

// tracker is the tracker under test, or one with a planted bug.
type tracker interface {
	Create(time.Time, rollout.Create) *inflight.Request
	Delete(time.Time, rollout.Delete) *inflight.Request
	Patch(time.Time, rollout.Patch) *inflight.Request
	Revise(time.Time, rollout.RevisionAction) *inflight.Request
	Answer(time.Time, *inflight.Request, metav1.Object, error)
	Observe(time.Time, []*corev1.Pod, []*appsv1.ControllerRevision) (rollout.InFlight, time.Time)
	GiveUp() time.Time
}

const (
	unseenAfter = 40 * time.Second
	lostAfter   = 15 * time.Second
)

func realTracker() tracker {
	return &inflight.Tracker{UnseenAfter: unseenAfter, LostAfter: lostAfter}
}

// story is what happens, as numbers. The methods of teller turn each number into something that is possible at that point.
type story struct {
	unreadable bool
	steps      []step
}

type step struct {
	what    int
	a, b, c int
}

func stories() *rapid.Generator[story] {
	return rapid.Custom(func(t *rapid.T) story {
		number := rapid.IntRange(0, 11)
		return story{
			unreadable: rapid.IntRange(0, 7).Draw(t, "readable") == 7,
			steps: rapid.SliceOfN(rapid.Custom(func(t *rapid.T) step {
				return step{rapid.IntRange(0, 11).Draw(t, "what"), number.Draw(t, "a"), number.Draw(t, "b"), number.Draw(t, "c")}
			}), 30, 120).Draw(t, "steps"),
		}
	})
}

// teller carries a story out on a server and on two trackers. One tracker sees the caches in order, the other one shuffled and
// with nil elements.
type teller struct {
	server   *server
	trackers [2]tracker
	requests [2][]*inflight.Request
	asked    []*asked
	now      time.Time
	nodes    int
}

// tracksWell is the property. What a tracker holds lies between two bounds. No request is taken out before the caches show it or
// its time is over (safety). No request is kept once answer and caches show that there is nothing to wait for (liveness).
func tracksWell(begin func() tracker) func(story) error {
	return func(told story) error {
		w := &teller{
			server:   &server{version: 5, unreadable: told.unreadable, shown: map[resource]int{}},
			trackers: [2]tracker{begin(), begin()}, now: noon,
		}
		for _, of := range []resource{pods, revisions, pods, revisions} {
			w.server.add(of, 0)
			w.server.advance(of, 1)
		}
		for i, s := range told.steps {
			w.happens(s)
			if err := w.check(s.a + s.b); err != nil {
				return fmt.Errorf("after step %d: %w", i, err)
			}
		}
		return nil
	}
}

func (w *teller) happens(s step) {
	of := resource(s.a % 2)
	switch s.what {
	case 0:
		w.create(of)
	case 1, 2:
		w.change(of, deed(s.what), s.b)
	case 3, 4:
		w.execute(s.a, s.b)
	case 5, 6:
		w.end(s.a, s.b)
	case 7:
		w.server.advance(of, s.b)
	case 8:
		w.server.advance(of, 2*s.b)
	case 9:
		w.now = w.now.Add(time.Duration(s.b) * time.Second)
	case 10:
		w.others(of, s.b, s.c)
	default:
		w.misdirect(s.a, s.b)
	}
}

// create asks for a pod on a node of its own, or for a revision with a name of its own, so that the key of each is unique.
func (w *teller) create(of resource) {
	w.nodes++
	node := fmt.Sprint("n", w.nodes)
	a := &asked{deed: create, resource: of, key: "create " + node + "@6f", name: node}
	if of == revisions {
		a.key = "revision " + node
	}
	w.note(a)
}

// change asks for a patch or a deletion of an object in the cache. The object must have no request yet, because no plan makes a
// second one, except that a second patch is possible.
func (w *teller) change(of resource, do deed, choice int) {
	cached := w.server.cached(of)
	if len(cached) == 0 {
		return
	}
	e := cached[choice%len(cached)]
	for _, a := range w.asked {
		if a.resource == of && (a.uid == e.uid || a.name == e.name) && (do != patch || a.deed != patch) {
			return
		}
	}
	a := &asked{deed: do, resource: of, uid: e.uid, name: e.name}
	switch {
	case of == revisions:
		a.key = "revision " + e.name
	case do == patch:
		a.key = "patch " + string(e.uid)
	default:
		a.key = "delete " + string(e.uid)
	}
	w.note(a)
}

func (w *teller) note(a *asked) {
	a.until = w.now.Add(unseenAfter)
	a.slot = len(w.requests[0])
	w.asked = append(w.asked, a)
	for i, t := range w.trackers {
		var request *inflight.Request
		switch {
		case a.resource == revisions:
			verb := map[deed]rollout.RevisionVerb{
				create: rollout.CreateRevision, patch: rollout.RenumberRevision, remove: rollout.DeleteRevision,
			}[a.deed]
			request = t.Revise(w.now, rollout.RevisionAction{Verb: verb, Name: a.name, UID: a.uid})
		case a.deed == create:
			request = t.Create(w.now, rollout.Create{Node: a.name, Revision: "6f"})
		case a.deed == patch:
			request = t.Patch(w.now, rollout.Patch{UID: a.uid})
		default:
			request = t.Delete(w.now, rollout.Delete{UID: a.uid})
		}
		w.requests[i] = append(w.requests[i], request)
	}
}

// pending picks one of the requests for which is reports true; nil if there are none.
func (w *teller) pending(choice int, is func(*asked) bool) *asked {
	var list []*asked
	for _, a := range w.asked {
		if is(a) {
			list = append(list, a)
		}
	}
	if len(list) == 0 {
		return nil
	}
	return list[choice%len(list)]
}

// execute has the server carry a request out. That may be one whose answer was lost.
func (w *teller) execute(choice, how int) {
	s := w.server
	a := w.pending(choice, func(a *asked) bool { return a.executed == nil && (!a.ended || a.maybe) && w.now.Before(a.until) })
	if a == nil {
		return
	}
	if a.deed == create {
		e := s.write(event{resource: a.resource, uid: types.UID("uid-of-" + a.name), name: a.name}, how)
		a.executed, a.uid = &e, e.uid
		return
	}
	there := find(s.now(a.resource), a.uid)
	switch {
	case there == nil: // end answers that it is not found
	case a.deed == patch && how%4 == 0: // the object has what the patch sets already
		a.executed = there
	case a.deed == patch:
		e := s.write(*there, how)
		a.executed = &e
	default:
		e := *there
		e.marked = true
		e.gone = how%2 == 0
		e = s.write(e, how)
		a.executed = &e
	}
}

// end answers a request, or loses the answer.
func (w *teller) end(choice, how int) {
	a := w.pending(choice, func(a *asked) bool { return !a.ended })
	if a == nil {
		return
	}
	var object metav1.Object
	err := errLost
	there := find(w.server.now(a.resource), a.uid)
	switch {
	case how%3 == 0:
	case a.executed != nil:
		err = nil
		if a.told = a.deed != remove && how%7 != 1; a.told {
			object = w.server.object(*a.executed)
		}
	case a.deed != create && there == nil || a.deed == create && how%3 == 1:
		err = errNotFound
	default:
		err = errRefused
	}
	a.ended = true
	switch {
	case err == nil || a.deed != create && apierrors.IsNotFound(err):
		a.until = w.now.Add(unseenAfter)
	case errors.Is(err, errLost):
		a.maybe = true
		a.until = w.now.Add(lostAfter)
	default:
		a.refused = true
	}
	for i, t := range w.trackers {
		t.Answer(w.now, w.requests[i][a.slot], object, err)
	}
}

// others writes objects as other clients do: new ones, and ones that the trackers ask for.
func (w *teller) others(of resource, how, choice int) {
	s := w.server
	there := s.now(of)
	if how%3 == 0 || len(there) == 0 {
		s.add(of, choice)
		return
	}
	e := there[choice%len(there)]
	switch how % 3 {
	case 1:
		s.write(e, how)
	default:
		e.gone, e.marked = e.marked || how%2 == 0, true
		s.write(e, how)
	}
}

// misdirect gives answers that must not change a tracker: to nil, to a request of the other tracker, and to a request that was
// taken out.
func (w *teller) misdirect(choice, how int) {
	err := []error{nil, errLost, errRefused, errNotFound}[how%4]
	object := w.server.object(event{resource: resource(choice % 2), uid: "u", version: w.server.version + 1})
	for i, t := range w.trackers {
		t.Answer(w.now, nil, object, err)
		for slot, theirs := range w.requests[1-i] {
			if slot%3 == choice%3 {
				t.Answer(w.now, theirs, object, err)
			}
			if !slices.ContainsFunc(w.asked, func(a *asked) bool { return a.slot == slot }) {
				t.Answer(w.now, w.requests[i][slot], object, err)
			}
		}
	}
}

// check compares what the trackers return with the two bounds of [tracksWell], and with each other.
func (w *teller) check(seed int) error {
	p, r := w.server.caches()
	got, giveUp := w.trackers[0].Observe(w.now, p, r)
	if again, _ := w.server.caches(); !reflect.DeepEqual(p, again) {
		return errors.New("the caches were written to")
	}
	other, otherGiveUp := w.trackers[1].Observe(w.now, shuffled(p, seed), shuffled(r, seed))
	if !reflect.DeepEqual(got, other) || !giveUp.Equal(otherGiveUp) {
		return fmt.Errorf("in another order, with nil elements, it waits for %s until %v, else for %s until %v",
			text(other), otherGiveUp, text(got), giveUp)
	}
	if giveUp != w.trackers[0].GiveUp() {
		return errors.New("Observe and GiveUp disagree")
	}
	var keys []string
	if line := text(got); line != "" {
		keys = strings.Split(line, ", ")
	}
	for _, key := range keys {
		if !slices.ContainsFunc(w.asked, func(a *asked) bool { return a.key == key && !a.mustGo(w.server, w.now) }) {
			return fmt.Errorf("%s: is waited for in vain", key)
		}
	}
	var left []*asked
	var latest time.Time // GiveUp must not be later than the earliest end of the requests that the tracker must wait for.
	for _, a := range w.asked {
		listed, may := slices.Contains(keys, a.key), a.mayGo(w.server, w.now)
		if !listed && !may {
			return fmt.Errorf("%s: is not waited for any more", a.key)
		}
		if listed && !a.mustGo(w.server, w.now) {
			left = append(left, a)
		}
		if !may && (latest.IsZero() || a.until.Before(latest)) {
			latest = a.until
		}
	}
	w.asked = left
	switch {
	case giveUp.IsZero() != (len(keys) == 0):
		return fmt.Errorf("gives up at %v what is %q", giveUp, keys)
	case giveUp.IsZero():
	case !giveUp.After(w.now), !latest.IsZero() && giveUp.After(latest):
		return fmt.Errorf("gives up at %v, now is %v, and the first is over at %v", giveUp, w.now, latest)
	case !slices.ContainsFunc(left, func(a *asked) bool { return a.until.Equal(giveUp) }):
		return fmt.Errorf("gives up at %v, when nothing is over", giveUp)
	}
	return nil
}

// shuffled returns the elements in another order, with nil ones in between.
func shuffled[T any](list []*T, seed int) []*T {
	out := []*T{nil}
	for i := range list {
		out = slices.Insert(out, (i*7+seed)%(len(out)+1), list[i])
		if i%3 == 0 {
			out = append(out, nil)
		}
	}
	return out
}

func TestTrackerProperty(t *testing.T) {
	rapid.Check(t, trackerProperty)
}

func FuzzTracker(f *testing.F) {
	fuzzing.Property(f, rapid.MakeFuzz(trackerProperty))
}

func trackerProperty(t *rapid.T) {
	if err := tracksWell(realTracker)(stories().Draw(t, "story")); err != nil {
		t.Fatal(err)
	}
}
