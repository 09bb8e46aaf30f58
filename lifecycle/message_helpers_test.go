package lifecycle_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/lifecycle"
)

// The messages as OpenKruise writes them; the last one is this library's alone.
var (
	ours = []lifecycle.Message{
		{UserAgent: "Lifecycle", Key: "preDeleteHook"},
		{UserAgent: "Lifecycle", Key: "preUpdateHook"},
		{UserAgent: "Lifecycle", Key: "preNormalHook"},
	}
	theirs = lifecycle.Message{UserAgent: "ContainerRecreateRequest", Key: "restart-1"}
)

// setMessages writes the condition as OpenKruise does.
func setMessages(pod *corev1.Pod, list ...lifecycle.Message) {
	text, _ := json.Marshal(list)
	status := corev1.ConditionTrue
	if len(list) > 0 {
		status = corev1.ConditionFalse
	}
	setReadiness(pod, status, string(text))
}

func setReadiness(pod *corev1.Pod, status corev1.ConditionStatus, message string) {
	c := find(pod, lifecycle.PodReady)
	if c == nil {
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: lifecycle.PodReady})
		c = find(pod, lifecycle.PodReady)
	}
	c.Status, c.Message = status, message
}

func messages(t *testing.T, pod *corev1.Pod) (list []lifecycle.Message) {
	t.Helper()
	c := find(pod, lifecycle.PodReady)
	if c == nil || c.Message == "" {
		return nil
	}
	if err := json.Unmarshal([]byte(c.Message), &list); err != nil {
		t.Fatal(err)
	}
	return list
}

func sameMessages(a, b []lifecycle.Message) bool {
	sorted := func(list []lifecycle.Message) []lifecycle.Message {
		return slices.SortedFunc(slices.Values(list), func(a, b lifecycle.Message) int {
			return strings.Compare(a.UserAgent+"/"+a.Key, b.UserAgent+"/"+b.Key)
		})
	}
	return slices.Equal(sorted(a), sorted(b))
}
