package lifecycle

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Message is one reason why the [PodReady] condition of a pod is False: who wrote it, and what for. The condition's
// message is a JSON list of them, and its status is False until the list is empty.
type Message struct {
	UserAgent string `json:"userAgent"`
	Key       string `json:"key"`
}

// ErrMessages is the error for a [PodReady] condition whose message is not a list of [Message] in JSON.
var ErrMessages = errors.New("the messages of condition " + string(PodReady) + " cannot be read")

// SetNotReady returns the patch that makes pod not ready for the reason message; none (nil) if its condition has the message
// already, if it has no readiness gate [PodReady], or if it is nil. Other messages stay as they are. If the messages cannot
// be read, the error wraps [ErrMessages] and there is no patch, because messages would be lost.
//
// The patch carries the pod's resource version: if another writer was faster it fails with a conflict, and SetNotReady has to
// be called again with the newer pod. It also sets the Ready condition to False where it is True, as OpenKruise does, so
// that traffic stops even if the kubelet is slow.
func SetNotReady(pod *corev1.Pod, message Message, now time.Time) ([]Patch, error) {
	edit, err := editMessages(pod, []Message{message}, nil)
	return edit.patches(pod, now), err
}

// ClearNotReady returns the patch that removes message; none (nil) if it is not there. When the last message is gone, the
// condition becomes True, and the kubelet then sets the Ready condition. For the rest see [SetNotReady].
func ClearNotReady(pod *corev1.Pod, message Message, now time.Time) ([]Patch, error) {
	edit, err := editMessages(pod, nil, []Message{message})
	return edit.patches(pod, now), err
}

// messageList keeps the text of each message, so that what other writers put into theirs stays.
type messageList []messageEntry

type messageEntry struct {
	Message
	text json.RawMessage
}

// noMessages reports whether text is that of a condition that nobody has written yet, or the empty list that the last message
// leaves behind. It spares most pods of a fleet the decoding.
func noMessages(text string) bool { return text == "" || text == "[]" }

func parseMessages(text string) (messageList, error) {
	if noMessages(text) {
		return nil, nil
	}
	var texts []json.RawMessage
	if err := json.Unmarshal([]byte(text), &texts); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMessages, err)
	}
	list := make(messageList, len(texts))
	for i, text := range texts {
		list[i].text = text
		if err := json.Unmarshal(text, &list[i].Message); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrMessages, err)
		}
	}
	return list, nil
}

func (l messageList) contains(m Message) bool {
	return slices.ContainsFunc(l, func(e messageEntry) bool { return e.Message == m })
}

func (l messageList) containsAny(messages []Message) bool {
	return slices.ContainsFunc(messages, l.contains)
}

// String returns the list as it is stored, sorted as OpenKruise sorts it.
func (l messageList) String() string {
	slices.SortStableFunc(l, func(a, b messageEntry) int {
		return cmp.Or(cmp.Compare(a.UserAgent, b.UserAgent), cmp.Compare(a.Key, b.Key))
	})
	texts := make([]json.RawMessage, len(l))
	for i := range l {
		texts[i] = l[i].text
	}
	data, _ := json.Marshal(texts) // each has been unmarshalled from JSON, or marshalled
	return string(data)
}

// messageEdit is a change of the condition. The zero value changes nothing.
type messageEdit struct {
	needed   bool
	messages string                 // the new list
	status   corev1.ConditionStatus // the new status
	turned   bool                   // the status is not what it was
	unready  bool                   // the Ready condition has to follow
	cleared  []Message              // those taken out
}

// editMessages returns how the condition has to change so that it has all messages of set and none of out.
func editMessages(pod *corev1.Pod, set, out []Message) (messageEdit, error) {
	if !gated(pod) {
		return messageEdit{}, nil
	}
	c := podReady(pod)
	if c == nil {
		if len(set) == 0 {
			return messageEdit{}, nil
		}
		c = &corev1.PodCondition{}
	}
	list, err := parseMessages(c.Message)
	if err != nil {
		return messageEdit{}, err
	}
	var e messageEdit
	for _, m := range out {
		if list.contains(m) {
			e.cleared = append(e.cleared, m)
		}
	}
	list = slices.DeleteFunc(list, func(entry messageEntry) bool { return slices.Contains(e.cleared, entry.Message) })
	added := false
	for _, m := range set {
		if !list.contains(m) {
			text, _ := json.Marshal(m)
			list, added = append(list, messageEntry{m, text}), true
		}
	}
	e.status = c.Status
	switch {
	case len(set) > 0:
		e.status, e.unready = corev1.ConditionFalse, true
	case len(e.cleared) > 0 && len(list) == 0:
		e.status = corev1.ConditionTrue
	}
	e.turned = e.status != c.Status
	e.needed = added || len(e.cleared) > 0 || e.turned
	e.messages = list.String()
	return e, nil
}

func (e messageEdit) patches(pod *corev1.Pod, now time.Time) []Patch {
	if !e.needed {
		return nil
	}
	changed := patchCondition{Type: PodReady, Status: e.status, Message: e.messages}
	if e.turned {
		changed.LastTransitionTime = now.UTC().Format(time.RFC3339)
	}
	conditions := []patchCondition{changed}
	if ready := findCondition(pod, corev1.PodReady); e.unready && ready != nil && ready.Status == corev1.ConditionTrue {
		conditions = append(conditions, patchCondition{
			Type: corev1.PodReady, Status: corev1.ConditionFalse, LastTransitionTime: now.UTC().Format(time.RFC3339),
			Reason:  readinessGateCause,
			Message: fmt.Sprintf("readiness gate %q is not True", PodReady),
		})
	}
	return []Patch{statusPatch(pod, conditions...)}
}

func statusPatch(pod *corev1.Pod, conditions ...patchCondition) Patch {
	return strategic("status", patchBody{
		Metadata: patchMeta{UID: pod.UID, ResourceVersion: pod.ResourceVersion},
		Status:   &patchStatus{Conditions: conditions},
	})
}
