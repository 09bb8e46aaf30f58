//go:build teeth

package inflight_test

import (
	"errors"
	"slices"
	"strconv"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/inflight"
)

// bugged is the real tracker with one bug planted in front of it. A nil function plants none.
type bugged struct {
	*inflight.Tracker
	noted   func(b *bugged, now time.Time, r *inflight.Request)
	answer  func(b *bugged, now time.Time, r *inflight.Request, object metav1.Object, err error)
	observe func(b *bugged, pods []*corev1.Pod, revisions []*appsv1.ControllerRevision) ([]*corev1.Pod, []*appsv1.ControllerRevision)
	giveUp  func(rollout.InFlight, time.Time) (rollout.InFlight, time.Time)

	creates map[*inflight.Request]bool
	own     map[types.UID]bool // UIDs of objects in answers
}

func (b *bugged) note(now time.Time, r *inflight.Request, create bool) *inflight.Request {
	b.creates[r] = create
	if b.noted != nil {
		b.noted(b, now, r)
	}
	return r
}

func (b *bugged) Create(now time.Time, a rollout.Create) *inflight.Request {
	return b.note(now, b.Tracker.Create(now, a), true)
}

func (b *bugged) Delete(now time.Time, a rollout.Delete) *inflight.Request {
	return b.note(now, b.Tracker.Delete(now, a), false)
}

func (b *bugged) Patch(now time.Time, a rollout.Patch) *inflight.Request {
	return b.note(now, b.Tracker.Patch(now, a), false)
}

func (b *bugged) Revise(now time.Time, a rollout.RevisionAction) *inflight.Request {
	return b.note(now, b.Tracker.Revise(now, a), a.Verb == rollout.CreateRevision)
}

func (b *bugged) Answer(now time.Time, r *inflight.Request, object metav1.Object, err error) {
	if object != nil {
		b.own[object.GetUID()] = true
	}
	if b.answer == nil {
		b.Tracker.Answer(now, r, object, err)
		return
	}
	b.answer(b, now, r, object, err)
}

func (b *bugged) Observe(
	now time.Time, pods []*corev1.Pod, revisions []*appsv1.ControllerRevision,
) (rollout.InFlight, time.Time) {
	if b.observe != nil {
		pods, revisions = b.observe(b, pods, revisions)
	}
	out, giveUp := b.Tracker.Observe(now, pods, revisions)
	if b.giveUp != nil {
		return b.giveUp(out, giveUp)
	}
	return out, giveUp
}

// otherVersion is an object with the UID of the given one and a version that differs by so much.
func otherVersion(object metav1.Object, by int) metav1.Object {
	if object == nil {
		return nil
	}
	version, err := strconv.Atoi(object.GetResourceVersion())
	if err != nil {
		return object
	}
	return pod(object.GetUID(), strconv.Itoa(version+by))
}

func TestTrackerPropertyRejectsMutants(t *testing.T) {
	answering := func(change func(create bool, object metav1.Object, err error) (metav1.Object, error)) func(*bugged) {
		return func(b *bugged) {
			b.answer = func(b *bugged, now time.Time, r *inflight.Request, object metav1.Object, err error) {
				object, err = change(b.creates[r], object, err)
				b.Tracker.Answer(now, r, object, err)
			}
		}
	}
	seeing := func(pods func(*bugged, []*corev1.Pod) []*corev1.Pod) func(*bugged) {
		return func(b *bugged) {
			b.observe = func(b *bugged, p []*corev1.Pod, r []*appsv1.ControllerRevision) ([]*corev1.Pod, []*appsv1.ControllerRevision) {
				return pods(b, p), r
			}
		}
	}
	tests := []struct {
		name, why string
		mutant    func(*bugged)
	}{
		{"a create without a UID is seen at once", "any pod will do", func(b *bugged) {
			b.noted = func(b *bugged, now time.Time, r *inflight.Request) {
				if b.creates[r] {
					b.Tracker.Answer(now, r, pod("", "1"), nil)
				}
			}
		}},
		{"only known pods are looked at", "a pod that came and went is waited for till the end", seeing(func(b *bugged, p []*corev1.Pod) []*corev1.Pod {
			return slices.DeleteFunc(slices.Clone(p), func(p *corev1.Pod) bool { return p != nil && !b.own[p.UID] })
		})},
		{"the last pod is forgotten", "an off-by-one, and the order matters", seeing(func(_ *bugged, p []*corev1.Pod) []*corev1.Pod {
			return p[:max(0, len(p)-1)]
		})},
		{"versions are not compared", "nothing that is patched is ever seen", seeing(func(_ *bugged, p []*corev1.Pod) []*corev1.Pod {
			out := make([]*corev1.Pod, len(p))
			for i := range p {
				if p[i] != nil {
					out[i] = p[i].DeepCopy()
					out[i].ResourceVersion = ""
				}
			}
			return out
		})},
		{"writes to the caches", "those belong to the informer", seeing(func(_ *bugged, p []*corev1.Pod) []*corev1.Pod {
			for i := range p {
				if p[i] != nil {
					p[i].ResourceVersion += "0"
				}
			}
			return p
		})},
		{"> instead of >=", "the very version of the answer is not enough", answering(func(_ bool, object metav1.Object, err error) (metav1.Object, error) {
			return otherVersion(object, 1), err
		})},
		{"one version too early", "the version before the patch is enough", answering(func(_ bool, object metav1.Object, err error) (metav1.Object, error) {
			return otherVersion(object, -1), err
		})},
		{"what is lost was not executed", "the answer of an executed one is lost, too", answering(func(_ bool, object metav1.Object, err error) (metav1.Object, error) {
			if errors.Is(err, errLost) {
				return object, errRefused
			}
			return object, err
		})},
		{"what is refused is lost", "it is waited for in vain", answering(func(_ bool, object metav1.Object, err error) (metav1.Object, error) {
			if errors.Is(err, errRefused) {
				return object, errLost
			}
			return object, err
		})},
		{"a create that is not found is kept", "there is no namespace, so nothing will be shown", answering(func(create bool, object metav1.Object, err error) (metav1.Object, error) {
			if create && apierrors.IsNotFound(err) {
				return object, errLost
			}
			return object, err
		})},
		{"what is not found is taken out", "it would be deleted again and again", answering(func(_ bool, object metav1.Object, err error) (metav1.Object, error) {
			if apierrors.IsNotFound(err) {
				return object, errRefused
			}
			return object, err
		})},
		{"what is lost is not given up", "its node waits for ever", func(b *bugged) { b.LostAfter = time.Hour }},
		{"what is lost is given up too soon", "the API server is still at it", func(b *bugged) { b.LostAfter = lostAfter / 2 }},
		{"what is unseen is not given up", "a broken watch stops all", func(b *bugged) { b.UnseenAfter = time.Hour }},
		{"what is unseen is given up too soon", "a slow watch is a watch", func(b *bugged) { b.UnseenAfter = unseenAfter / 2 }},
		{"never wakes", "nobody looks when time is over", func(b *bugged) {
			b.giveUp = func(f rollout.InFlight, _ time.Time) (rollout.InFlight, time.Time) { return f, time.Time{} }
		}},
		{"answers go anywhere", "a foreign answer ends whatever was noted first", func(b *bugged) {
			var first *inflight.Request
			b.noted = func(_ *bugged, _ time.Time, r *inflight.Request) {
				if first == nil {
					first = r
				}
			}
			b.answer = func(b *bugged, now time.Time, r *inflight.Request, object metav1.Object, err error) {
				if r == nil {
					r = first
				}
				b.Tracker.Answer(now, r, object, err)
			}
		}},
	}
	rows := uniqueRows{}
	for _, mutant := range tests {
		rows.check(t, mutant.name, mutant.why)
		t.Run(mutant.name, func(t *testing.T) {
			holds := tracksWell(func() tracker {
				b := &bugged{
					Tracker: &inflight.Tracker{UnseenAfter: unseenAfter, LostAfter: lostAfter},
					creates: map[*inflight.Request]bool{}, own: map[types.UID]bool{},
				}
				mutant.mutant(b)
				return b
			})
			for seed := range 3000 {
				if err := holds(stories().Example(seed)); err != nil {
					t.Logf("story %d: %v", seed, err)
					return
				}
			}
			t.Errorf("no story refutes it: %s", mutant.why)
		})
	}
}
