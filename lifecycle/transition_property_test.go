package lifecycle_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/daemonplan/daemonplan/internal/fuzzing"
	"github.com/daemonplan/daemonplan/lifecycle"
)

// fault is what goes wrong in one step of a world.
type fault uint8

const (
	noFault   fault = iota
	lost            // no patch arrives
	half            // only the first one does
	overtaken       // another writer is faster
	faults
)

// world is a pod, its hooks, those who see to them, and a kubelet.
type world struct {
	situation
	messages   string // of the condition; "-": no condition
	ungated    bool
	pace, slow int // how many steps the hooks' controller, and the in-place update, take
	faults     []fault
}

// Foreign messages, with fields that only their writers understand.
const foreign = `{"userAgent":"Lifecycle","key":"else"},{"userAgent":"zoo","key":"a","extra":{"b":[1,2]}}`

var worlds = rapid.Custom(func(t *rapid.T) world {
	rel := rapid.Custom(func(t *rapid.T) relation { return relation(rapid.IntRange(0, int(relations)-1).Draw(t, "relation")) })
	return world{
		situation: situation{
			rapid.SampledFrom(states).Draw(t, "state"), rapid.SampledFrom(intentions).Draw(t, "intent"),
			rapid.Bool().Draw(t, "complete"), rapid.Bool().Draw(t, "marks"),
			rel.Draw(t, "preDelete"), rel.Draw(t, "inPlaceUpdate"), rel.Draw(t, "preNormal"),
		},
		messages: rapid.SampledFrom([]string{
			"-", "", "[]", "[" + foreign + "]", `[{"userAgent":"Lifecycle","key":"preDeleteHook"}]`,
			`[{"userAgent":"Lifecycle","key":"preUpdateHook"},` + foreign + `]`,
			`[{"userAgent":"Lifecycle","key":"preNormalHook"},{"userAgent":"Lifecycle","key":"preDeleteHook"}]`, "not a list",
		}).Draw(t, "messages"),
		ungated: rapid.IntRange(0, 4).Draw(t, "ungated") == 4,
		pace:    rapid.IntRange(1, 3).Draw(t, "pace"),
		slow:    rapid.IntRange(1, 3).Draw(t, "slow"),
		faults: rapid.SliceOfN(rapid.Custom(func(t *rapid.T) fault {
			return fault(rapid.IntRange(0, int(faults)-1).Draw(t, "fault"))
		}), 0, 4).Draw(t, "faults"),
	}
})

type nextStep func(lifecycle.Hooks, *corev1.Pod, lifecycle.Intent, bool) lifecycle.Transition

func realNext(h lifecycle.Hooks, p *corev1.Pod, i lifecycle.Intent, complete bool) lifecycle.Transition {
	return h.Next(p, i, complete)
}

func (w world) start() (lifecycle.Hooks, *corev1.Pod) {
	hooks, pod := w.build()
	pod.Status.Conditions = []corev1.PodCondition{ready(noon)}
	if w.messages != "-" {
		status := corev1.ConditionFalse
		if w.messages == "" || w.messages == "[]" {
			status = corev1.ConditionTrue
		}
		setReadiness(pod, status, w.messages)
	}
	if w.ungated {
		pod.Spec.ReadinessGates = nil
	}
	return hooks, pod
}

// live plays w until the pod is gone or at rest. The error says what was wrong on the way.
func live(next nextStep, w world) error {
	hooks, pod := w.start()
	first := pod.DeepCopy()
	intent, complete := w.intent, w.complete
	begun, moves := 0, []lifecycle.State{lifecycle.StateOf(pod)}
	for step := range 60 {
		now := noon.Add(time.Duration(step) * time.Minute)
		before := pod.DeepCopy()
		t := next(hooks, pod, intent, complete)
		patches := t.Patches(pod, now)
		if !reflect.DeepEqual(before, pod) {
			return fmt.Errorf("step %d: the pod was written", step)
		}
		if t.Proceed && t.Intent == lifecycle.Delete {
			// V8, in the plainest words.
			if h := hooks.PreDelete; h != nil && (pod.Labels["pre-delete"] == "on" && len(h.Labels) > 0 ||
				slices.Contains(pod.Finalizers, "example.com/pre-delete") && len(h.Finalizers) > 0) {
				return fmt.Errorf("step %d: a hooked pod is deleted: %+v", step, t)
			}
			if intent == lifecycle.Keep {
				return fmt.Errorf("step %d: a pod that is kept is deleted", step)
			}
			return w.untouched(first, pod)
		}
		trouble := noFault
		if step < len(w.faults) {
			trouble = w.faults[step]
		}
		switch trouble {
		case lost:
			patches = nil
		case half:
			patches = patches[:min(1, len(patches))]
		case overtaken:
			pod = pod.DeepCopy()
			pod.ResourceVersion += "'"
		}
		// A conflict is no failure: the next step asks again.
		pod, _ = send(pod, patches...)
		quiet := trouble == noFault && len(patches) == 0
		if t.Proceed && trouble == noFault {
			if t.Intent != lifecycle.Update {
				return fmt.Errorf("step %d: proceeds with %v", step, t.Intent)
			}
			// The spec patch, with what is merged into it. The pod is at its target then.
			l, a := t.Metadata(now)
			pod.Labels, pod.Annotations = union(pod.Labels, l), union(pod.Annotations, a)
			intent, complete, begun, quiet = lifecycle.Keep, false, step, false
			state := lifecycle.StateOf(pod)
			if hooks.InPlaceUpdate != nil && state != lifecycle.Updating && state != lifecycle.PreparingNormal {
				return fmt.Errorf("step %d: it is being updated in state %q", step, state)
			}
		}
		if state := lifecycle.StateOf(pod); state != moves[len(moves)-1] {
			moves = append(moves, state)
		}
		if len(moves) > 8 {
			return fmt.Errorf("no end of changes: %q", moves)
		}
		if quiet && t.Wait == lifecycle.NotWaiting && complete {
			return w.atRest(first, pod, intent)
		}
		if step >= begun+w.slow {
			complete = true
		}
		if step%w.pace == 0 {
			tend(hooks, pod)
		}
	}
	return fmt.Errorf("no rest after %q", moves)
}

// tend does what a user's controller has to do: one handler at a time, going by the state alone.
func tend(hooks lifecycle.Hooks, pod *corev1.Pod) {
	wait := map[lifecycle.State]lifecycle.HookWait{
		lifecycle.PreparingDelete: lifecycle.WaitPreDelete, lifecycle.PreparingUpdate: lifecycle.WaitInPlaceUpdate,
		lifecycle.Updated: lifecycle.WaitUpdated, lifecycle.PreparingNormal: lifecycle.WaitPreNormal,
	}[lifecycle.StateOf(pod)]
	pending := hooks.Pending(pod, wait)
	if len(pending) == 0 {
		return
	}
	handler, remove := pending[0], wait == lifecycle.WaitPreDelete || wait == lifecycle.WaitInPlaceUpdate
	switch {
	case handler.Finalizer != "" && remove:
		pod.Finalizers = slices.DeleteFunc(pod.Finalizers, func(f string) bool { return f == handler.Finalizer })
	case handler.Finalizer != "":
		pod.Finalizers = append(pod.Finalizers, handler.Finalizer)
	case remove:
		delete(pod.Labels, handler.Label)
	default:
		pod.Labels[handler.Label] = handler.Value
	}
	pod.ResourceVersion += "'"
}

// untouched reports what others wrote and is not there any more.
func (w world) untouched(first, pod *corev1.Pod) error {
	if pod.Labels["app"] != "agent" || pod.Annotations["theirs"] != "stays" || !slices.Contains(pod.Finalizers, "example.com/theirs") {
		return fmt.Errorf("others' metadata changed: %v %v %v", pod.Labels, pod.Annotations, pod.Finalizers)
	}
	for _, l := range slices.Sorted(maps.Keys(pod.Labels)) {
		if !slices.Contains([]string{"app", "pre-delete", "in-place-update", "pre-normal", lifecycle.StateLabel}, l) {
			return fmt.Errorf("label %q", l)
		}
	}
	was, is := find(first, lifecycle.PodReady), find(pod, lifecycle.PodReady)
	if was != nil && (w.ungated || w.messages == "not a list") && (is == nil || *is != *was) {
		return fmt.Errorf("the condition changed: %+v, was %+v", is, was)
	}
	if was == nil || w.messages == "not a list" {
		return nil
	}
	if a, b := others(was.Message), others(is.Message); !slices.Equal(a, b) {
		return fmt.Errorf("others' messages are %q, were %q", b, a)
	}
	return nil
}

// others returns the messages that are not ours as they are written.
func others(text string) (list []string) {
	var all []json.RawMessage
	if text == "" || json.Unmarshal([]byte(text), &all) != nil {
		return nil
	}
	for _, one := range all {
		if !bytes.Contains(one, []byte("Hook")) {
			list = append(list, string(one))
		}
	}
	return list
}

func (w world) atRest(first, pod *corev1.Pod, intent lifecycle.Intent) error {
	if err := w.untouched(first, pod); err != nil {
		return err
	}
	if intent != lifecycle.Keep {
		return fmt.Errorf("at rest although %v is wanted", intent)
	}
	switch state := lifecycle.StateOf(pod); {
	case state == lifecycle.Normal:
	case state == w.state && (state == "" || state == "Mystery"):
	default:
		return fmt.Errorf("at rest in state %q", state)
	}
	c := find(pod, lifecycle.PodReady)
	switch {
	case w.ungated || w.messages == "not a list":
	case c == nil:
		return fmt.Errorf("the condition was never begun")
	case bytes.Contains([]byte(c.Message), []byte("Hook")):
		return fmt.Errorf("left over: %s", c.Message)
	case (c.Status == corev1.ConditionTrue) != (len(others(c.Message)) == 0):
		return fmt.Errorf("status %s with messages %s", c.Status, c.Message)
	}
	return nil
}

func lifecycleProperty(t *rapid.T) {
	if err := live(realNext, worlds.Draw(t, "world")); err != nil {
		t.Fatal(err)
	}
}

func TestLifecycleProperty(t *testing.T) { rapid.Check(t, lifecycleProperty) }

func FuzzLifecycle(f *testing.F) { fuzzing.Property(f, rapid.MakeFuzz(lifecycleProperty)) }
