package lifecycle

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Mark is what a step does to the [PodReady] condition of a pod (L4).
type Mark uint8

// What a step can do.
const (
	// KeepMark: the condition stays as it is, or the pod has no such readiness gate.
	KeepMark Mark = iota
	// SetMark: the message of a hook is put into the condition, which becomes False.
	SetMark
	// ClearMark: messages of hooks are taken out; if there is no other, the condition becomes True.
	ClearMark
	// BeginMark: the condition is not there yet, and is made True: without it the pod cannot become ready.
	BeginMark
	// UnreadableMark: the messages cannot be read, so the condition is left alone. Somebody has to look at it.
	UnreadableMark

	marks
)

// String returns "keep", "set", "clear", "begin" or "unreadable"; for other values "Mark(n)".
func (m Mark) String() string {
	names := [marks]string{"keep", "set", "clear", "begin", "unreadable"}
	if m >= marks {
		return fmt.Sprintf("Mark(%d)", uint8(m))
	}
	return names[m]
}

// The messages of the hooks in the [PodReady] condition. Those of preDelete and inPlaceUpdate are OpenKruise's, so
// that each understands what the other wrote. OpenKruise marks no pod because of preNormal.
const (
	userAgent          = "Lifecycle"
	preDeleteKey       = "preDeleteHook"
	inPlaceUpdateKey   = "preUpdateHook"
	preNormalKey       = "preNormalHook"
	readinessGateCause = "ReadinessGatesNotReady" // the kubelet's reason for a Ready condition that a gate makes False
)

// reasons are hooks because of which a pod is marked, one bit each.
type reasons uint8

const (
	byPreDelete reasons = 1 << iota
	byInPlaceUpdate
	byPreNormal

	allReasons = byPreDelete | byInPlaceUpdate | byPreNormal
)

func (r reasons) messages() []Message {
	var list []Message
	for i, key := range [...]string{preDeleteKey, inPlaceUpdateKey, preNormalKey} {
		if r>>i&1 != 0 {
			list = append(list, Message{UserAgent: userAgent, Key: key})
		}
	}
	return list
}

// Unfinished reports whether a step may have to change the [PodReady] condition of pod, whatever the pod's state: the
// condition is still missing ([BeginMark]), or it has a message of a hook. It is a quick test that spares most pods of a
// fleet the call of [Hooks.Next]. It is false for a nil pod.
func Unfinished(pod *corev1.Pod) bool {
	if !gated(pod) {
		return false
	}
	c := podReady(pod)
	if c == nil {
		return canBegin(pod)
	}
	if noMessages(c.Message) {
		return false
	}
	list, err := parseMessages(c.Message)
	return err == nil && list.containsAny(allReasons.messages())
}

// Unmark returns the patch that takes the messages of all hooks out of the [PodReady] condition of pod; none (nil) if there
// are none. It is for a pod that no hook holds and that stays all the same, because something else delays its deletion.
// The error is [ErrMessages], wrapped; then there is no patch.
func Unmark(pod *corev1.Pod, now time.Time) ([]Patch, error) {
	edit, err := editMessages(pod, nil, allReasons.messages())
	return edit.patches(pod, now), err
}

// mark sets the fields of t that say what happens to the condition. The other fields of t must be set.
func (h Hooks) mark(pod *corev1.Pod, t *Transition) {
	if !gated(pod) || t.Proceed && t.Intent == Delete {
		return // a mark has no effect without the gate, and none any more on a pod that goes at once
	}
	set, out := h.reasons(t)
	c := podReady(pod)
	switch {
	case c == nil && set == 0:
		if canBegin(pod) {
			t.Mark = BeginMark
		}
		return
	case c != nil && noMessages(c.Message) && set == 0:
		return
	}
	edit, err := editMessages(pod, set.messages(), out.messages())
	switch {
	case err != nil:
		t.Mark = UnreadableMark
	case !edit.needed:
	case set != 0:
		t.Mark, t.Set, t.Clear = SetMark, set.messages(), edit.cleared
	default:
		t.Mark, t.Clear = ClearMark, edit.cleared
	}
}

// reasons returns the hooks whose messages have to be there in state To, and those whose messages must not be.
func (h Hooks) reasons(t *Transition) (set, out reasons) {
	var left reasons // neither set nor taken back
	switch t.To {
	case PreparingDelete:
		set, left = byPreDelete.onlyIf(h.PreDelete), byInPlaceUpdate|byPreNormal
	case PreparingUpdate:
		set = byInPlaceUpdate.onlyIf(h.InPlaceUpdate)
	case Updating:
		// As in OpenKruise, an update that no handler delays needs no mark, because InPlaceUpdateReady makes the pod not
		// ready. The mark goes in Updated, because the hook's controller may want the pod ready before it puts the handlers
		// back.
		left = byInPlaceUpdate
	case PreparingNormal:
		set = byPreNormal.onlyIf(h.PreNormal)
	default:
	}
	return set, allReasons &^ (set | left)
}

func (r reasons) onlyIf(hook *Hook) reasons {
	if hook.marks() {
		return r
	}
	return 0
}

// gated reports whether pod has the readiness gate. On other pods the condition would have no effect.
func gated(pod *corev1.Pod) bool {
	if pod == nil {
		return false
	}
	for i := range pod.Spec.ReadinessGates {
		if pod.Spec.ReadinessGates[i].ConditionType == PodReady {
			return true
		}
	}
	return false
}

// canBegin reports whether the missing condition is worth setting: pods that go or have ended will not become ready again.
func canBegin(pod *corev1.Pod) bool { return pod.DeletionTimestamp == nil && !Terminal(pod) }

func podReady(pod *corev1.Pod) *corev1.PodCondition { return findCondition(pod, PodReady) }

func findCondition(pod *corev1.Pod, kind corev1.PodConditionType) *corev1.PodCondition {
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == kind {
			return c
		}
	}
	return nil
}

// beginPatch makes the missing condition True. It carries the resource version: without it, a message that somebody
// else has begun the condition with meanwhile would be lost.
func beginPatch(pod *corev1.Pod, now time.Time) Patch {
	return statusPatch(pod, patchCondition{
		Type: PodReady, Status: corev1.ConditionTrue, LastTransitionTime: now.UTC().Format(time.RFC3339),
	})
}
