package lifecycle

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Transition is the next step of one pod: what [Hooks.Next] answers. The zero value does nothing.
type Transition struct {
	// From is the pod's state, To the one it is to have. Equal: the label is left as it is.
	From, To State
	// Intent is what Proceed allows. It is what was asked for, except that Update of a pod that is already leaving
	// becomes Delete (L2).
	Intent Intent
	// Proceed: what Intent says may be done now: the delete, or the in-place update, whose spec patch has to carry
	// [Transition.Metadata].
	Proceed bool
	// Wait is what the pod waits for once it is in state To. Proceed ⇒ Wait == NotWaiting.
	Wait Awaited
	// Restore lists the handlers of InPlaceUpdate that the patches put back on the pod, so that the hook is asked
	// anew. Restore != nil ⇒ From == Updated and To == PreparingUpdate.
	Restore []Handler
	// Mark is what happens to the pod's [PodReady] condition (L4).
	Mark Mark
	// Set are the messages that have to be in that condition, Clear those to be taken out of it.
	// Set != nil ⇔ Mark == SetMark. Clear != nil ⇒ Mark is SetMark or ClearMark.
	Set, Clear []Message
}

// Next says what to do with pod, given what is wanted with it; the documentation of the package has the whole table.
// complete tells whether the pod's in-place update is complete (I5), true also if it has none.
//
// The step is carried out by sending [Transition.Patches], and, if it may proceed, by deleting the pod or updating it in
// place. Asking again is safe at any time: what has been done already is not asked for again. Whether the pod is
// being deleted already is not looked at. A nil pod gets the zero Transition, an intent that is not defined is Keep.
func (h Hooks) Next(pod *corev1.Pod, intent Intent, complete bool) Transition {
	if pod == nil {
		return Transition{}
	}
	t := Transition{From: StateOf(pod)}
	t.To = t.From
	switch intent {
	case Delete:
		h.delete(&t, pod)
	case Update:
		h.update(&t, pod)
	default:
		h.keep(&t, pod, complete)
	}
	h.mark(pod, &t)
	return t
}

// Changes reports whether the step needs any patch of its own: [Transition.Patches] is not empty.
func (t Transition) Changes() bool {
	return t.patchesState() || t.Mark == SetMark || t.Mark == ClearMark || t.Mark == BeginMark
}

// Metadata returns the label and the annotation that put a pod into state To at now, to be merged into another patch:
// the spec patch of an in-place update. Both are nil if the state stays, otherwise new maps of the caller's.
func (t Transition) Metadata(now time.Time) (labels, annotations map[string]string) {
	if t.To == t.From {
		return nil, nil
	}
	return map[string]string{StateLabel: string(t.To)},
		map[string]string{TimestampAnnotation: now.UTC().Format(time.RFC3339)}
}

// patchesState reports whether the state needs a patch of its own: that of an in-place update goes with its spec.
func (t Transition) patchesState() bool { return t.To != t.From && !t.Proceed }

func (h Hooks) delete(t *Transition, pod *corev1.Pod) {
	t.Intent = Delete
	if !h.PreDelete.Matches(pod) {
		t.Proceed = true
		return
	}
	t.To, t.Wait = PreparingDelete, WaitPreDelete
}

func (h Hooks) update(t *Transition, pod *corev1.Pod) {
	if t.From == PreparingDelete {
		h.delete(t, pod) // L2: the label means deletion; whoever wants the pod after all says Keep
		return
	}
	t.Intent = Update
	// In Updated the handlers may be coming back at this very moment: only a hook that is asked anew has let go.
	again := t.From == Updated && !h.InPlaceUpdate.empty()
	if t.From != Updating && (again || h.InPlaceUpdate.Matches(pod)) {
		t.To, t.Wait = PreparingUpdate, WaitInPlaceUpdate
		if again {
			t.Restore = h.Pending(pod, WaitUpdated)
		}
		return
	}
	t.Proceed = true
	switch {
	case t.From == PreparingNormal:
		// Not in use yet, and not to be Normal before PreNormal says so, updated or not.
	case t.From != "" || h.InPlaceUpdate != nil:
		t.To = Updating
	}
}

func (h Hooks) keep(t *Transition, pod *corev1.Pod, complete bool) {
	switch t.From {
	case PreparingNormal:
		h.toNormal(t, pod)
	case Updated:
		h.toUpdated(t, pod)
	case Updating, PreparingUpdate, PreparingDelete:
		switch {
		case !complete:
			t.To, t.Wait = Updating, WaitCompletion
		case t.From == PreparingDelete:
			h.toNormal(t, pod)
		default:
			h.toUpdated(t, pod)
		}
	default:
		// Normal, none or unknown: nothing is under way that the state tells of.
	}
}

// toNormal is the end of the way of a pod that is new, or as good as new: it was on its way out.
func (h Hooks) toNormal(t *Transition, pod *corev1.Pod) {
	if h.PreNormal.MatchesAll(pod) {
		t.To = Normal
		return
	}
	t.To, t.Wait = PreparingNormal, WaitPreNormal
}

// toUpdated is the end of an in-place update, also of one that was only prepared: handlers that were taken off have to
// come back.
func (h Hooks) toUpdated(t *Transition, pod *corev1.Pod) {
	if h.InPlaceUpdate.MatchesAll(pod) {
		t.To = Normal
		return
	}
	t.To, t.Wait = Updated, WaitUpdated
}
