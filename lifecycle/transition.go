package lifecycle

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Transition is the next step of one pod, the result of [Hooks.Next]. The zero value does nothing.
type Transition struct {
	// From is the pod's state, To the one it is to have. If they are equal, the label stays as it is.
	From, To State
	// Intent is what Proceed allows. It is the intent that Next was called with, except that Update of a pod in state
	// PreparingDelete becomes Delete (L2).
	Intent Intent
	// Proceed reports whether the delete or the in-place update of Intent may be done now. The spec patch of the update has
	// to carry [Transition.Metadata].
	Proceed bool
	// Wait is what the pod waits for once it is in state To. Proceed ⇒ Wait == NotWaiting.
	Wait HookWait
	// Restore lists the handlers of InPlaceUpdate that the patches put back on the pod, so that the hook is asked
	// anew. Restore != nil ⇒ From == Updated and To == PreparingUpdate.
	Restore []Handler
	// Mark is what happens to the pod's [PodReady] condition (L4).
	Mark Mark
	// Set are the messages that have to be in that condition, Clear those to be taken out of it.
	// Set != nil ⇔ Mark == SetMark. Clear != nil ⇒ Mark is SetMark or ClearMark.
	Set, Clear []Message
}

// Next returns what to do with pod, given what is wanted with it. The documentation of the package has the whole table.
// complete says whether the pod's in-place update is complete (I5); it is true also if there is none.
//
// To carry out the step, send [Transition.Patches] and, if it may proceed, delete the pod or update it in place. Next may be
// called again at any time: it does not ask again for what has been done. It does not check whether the pod is being deleted
// already. A nil pod gets the zero Transition, and an undefined intent counts as Keep.
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

// Changes reports whether the step needs any patch of its own, that is whether [Transition.Patches] is not empty.
func (t Transition) Changes() bool {
	return t.patchesState() || t.Mark == SetMark || t.Mark == ClearMark || t.Mark == BeginMark
}

// Metadata returns the label and the annotation that put a pod into state To at now, to be merged into the spec patch of an
// in-place update. Both are nil if the state stays as it is, otherwise new maps that belong to the caller.
func (t Transition) Metadata(now time.Time) (labels, annotations map[string]string) {
	if t.To == t.From {
		return nil, nil
	}
	return map[string]string{StateLabel: string(t.To)},
		map[string]string{TimestampAnnotation: now.UTC().Format(time.RFC3339)}
}

// patchesState reports whether the state needs a patch of its own. The state of an in-place update goes with its spec patch.
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
		h.delete(t, pod) // L2: the label means deletion; a caller that wants the pod after all asks with Keep
		return
	}
	t.Intent = Update
	// In Updated the handlers may be coming back at this very moment, so that their absence does not mean that the hook lets go.
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
		// The pod is not in use yet, and stays in this state until preNormal lets it be Normal, updated or not.
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
		// Normal, none or unknown: by its state nothing is under way.
	}
}

// toNormal takes a pod on to Normal that is new, or whose deletion is taken back, as far as preNormal lets it.
func (h Hooks) toNormal(t *Transition, pod *corev1.Pod) {
	if h.PreNormal.MatchesAll(pod) {
		t.To = Normal
		return
	}
	t.To, t.Wait = PreparingNormal, WaitPreNormal
}

// toUpdated ends an in-place update, also one that was only prepared: the pod is Normal when the handlers that were taken off are
// back.
func (h Hooks) toUpdated(t *Transition, pod *corev1.Pod) {
	if h.InPlaceUpdate.MatchesAll(pod) {
		t.To = Normal
		return
	}
	t.To, t.Wait = Updated, WaitUpdated
}
