package lifecycle_test

import (
	"math"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daemonplan/daemonplan/lifecycle"
)

var noon = time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC)

func condition(kind corev1.PodConditionType, status corev1.ConditionStatus, since time.Time) corev1.PodCondition {
	return corev1.PodCondition{Type: kind, Status: status, LastTransitionTime: metav1.NewTime(since)}
}

func ready(since time.Time) corev1.PodCondition {
	return condition(corev1.PodReady, corev1.ConditionTrue, since)
}

func notReady(since time.Time) corev1.PodCondition {
	return condition(corev1.PodReady, corev1.ConditionFalse, since)
}

func pod(phase corev1.PodPhase, conditions ...corev1.PodCondition) *corev1.Pod {
	return &corev1.Pod{Status: corev1.PodStatus{Phase: phase, Conditions: conditions}}
}

func running(conditions ...corev1.PodCondition) *corev1.Pod {
	return pod(corev1.PodRunning, conditions...)
}

// results in the words of B5
var (
	unready   = lifecycle.Readiness{}
	readyOnly = lifecycle.Readiness{Ready: true}
	available = lifecycle.Readiness{Ready: true, Available: true}
)

func availableAt(t time.Time) lifecycle.Readiness {
	return lifecycle.Readiness{Ready: true, AvailableAt: t}
}

func TestEvaluateB5(t *testing.T) {
	const minute = 60
	longAgo := noon.Add(-time.Hour)
	inPlace := func(s corev1.ConditionStatus) corev1.PodCondition {
		return condition(lifecycle.InPlaceUpdateReady, s, longAgo)
	}
	tests := []struct {
		name string
		why  string
		pod  *corev1.Pod
		min  int32
		want lifecycle.Readiness
	}{
		{"nil", "no pod is no reason to panic, and nothing is available", nil, 0, unready},
		{"empty", "a pod without conditions has not reported yet", running(), 0, unready},
		{"no Ready", "other conditions do not make it ready",
			running(condition(corev1.ContainersReady, corev1.ConditionTrue, longAgo)), 0, unready},
		{"Ready False", "the condition must be True", running(notReady(longAgo)), 0, unready},
		{"Ready Unknown", "a lost node makes it Unknown, which is not True",
			running(condition(corev1.PodReady, corev1.ConditionUnknown, longAgo)), 0, unready},
		{"Ready odd", "a status nobody defined is not True", running(condition(corev1.PodReady, "true", longAgo)), 0, unready},
		{"pending", "phase Pending does not outrank the condition", pod(corev1.PodPending, ready(longAgo)), minute, available},

		{"0 s", "without minReadySeconds ready is available", running(ready(noon)), 0, available},
		{"0 s, no time", "without minReadySeconds the time does not matter", running(ready(time.Time{})), 0, available},
		{"0 s, future", "nor does a clock ahead of ours", running(ready(noon.Add(time.Hour))), 0, available},
		{"-1 s, future", "a negative value is the same as 0", running(ready(noon.Add(time.Hour))), -1, available},
		{"min int32", "the most negative one too", running(ready(time.Time{})), math.MinInt32, available},

		{"long", "ready for longer than needed", running(ready(longAgo)), minute, available},
		{"exactly", "exactly that long is enough", running(ready(noon.Add(-time.Minute))), minute, available},
		{"1 ns short", "a nanosecond less is not",
			running(ready(noon.Add(-time.Minute + 1))), minute, availableAt(noon.Add(1))},
		{"1 s", "1 is the least value that waits", running(ready(noon)), 1, availableAt(noon.Add(time.Second))},
		{"future", "clock skew makes it later, never earlier",
			running(ready(noon.Add(time.Hour))), minute, availableAt(noon.Add(time.Hour + time.Minute))},
		{"no time", "the clock alone never makes it available", running(ready(time.Time{})), 1, readyOnly},
		{"max int32", "68 years do not overflow",
			running(ready(noon)), math.MaxInt32, availableAt(noon.Add(math.MaxInt32 * time.Second))},
		{"max int32 ago", "and are enough once they are over",
			running(ready(noon.Add(-math.MaxInt32 * time.Second))), math.MaxInt32, available},

		{"Failed", "the conditions of a failed pod may be stale", pod(corev1.PodFailed, ready(longAgo)), 0, unready},
		{"Succeeded", "those of a finished one too", pod(corev1.PodSucceeded, ready(longAgo)), 0, unready},

		{"in place True", "an update that is complete holds nothing back",
			running(inPlace(corev1.ConditionTrue), ready(longAgo)), minute, available},
		{"in place False", "an in-place update is under way, whatever Ready says",
			running(inPlace(corev1.ConditionFalse), ready(longAgo)), minute, unready},
		{"in place False after Ready", "the order of conditions does not matter",
			running(ready(longAgo), inPlace(corev1.ConditionFalse)), minute, unready},
		{"in place Unknown", "present and not True is enough",
			running(ready(longAgo), inPlace(corev1.ConditionUnknown)), 0, unready},
		{"in place twice", "any that is not True counts: fail closed",
			running(inPlace(corev1.ConditionTrue), ready(longAgo), inPlace("")), 0, unready},
		{"in place only", "the gate is not the Ready condition", running(inPlace(corev1.ConditionTrue)), 0, unready},

		{"twice, first True", "of several Ready conditions the first counts",
			running(ready(longAgo), notReady(longAgo)), minute, available},
		{"twice, first False", "of several Ready conditions the first counts",
			running(notReady(longAgo), ready(longAgo)), minute, unready},
		{"twice, first later", "its transition time counts too",
			running(ready(noon), ready(longAgo)), minute, availableAt(noon.Add(time.Minute))},
	}
	seen := map[string]bool{}
	for _, tt := range tests {
		if tt.name == "" || tt.why == "" || seen[tt.name] {
			t.Fatalf("row %q needs a unique name and a why", tt.name)
		}
		seen[tt.name] = true
		t.Run(tt.name, func(t *testing.T) {
			if got := lifecycle.Evaluate(tt.pod, tt.min, noon); got != tt.want {
				t.Errorf("Evaluate = %+v, want %+v: %s", got, tt.want, tt.why)
			}
			if got := lifecycle.Ready(tt.pod); got != tt.want.Ready {
				t.Errorf("Ready = %v, want %v: %s", got, tt.want.Ready, tt.why)
			}
			if got := lifecycle.Available(tt.pod, tt.min, noon); got != tt.want.Available {
				t.Errorf("Available = %v, want %v: %s", got, tt.want.Available, tt.why)
			}
		})
	}
}

func TestTerminal(t *testing.T) {
	if lifecycle.Terminal(nil) {
		t.Error("a nil pod has not ended")
	}
	for phase, want := range map[corev1.PodPhase]bool{
		corev1.PodFailed: true, corev1.PodSucceeded: true,
		corev1.PodPending: false, corev1.PodRunning: false, corev1.PodUnknown: false, "": false, "failed": false,
	} {
		if got := lifecycle.Terminal(pod(phase)); got != want {
			t.Errorf("Terminal(phase %q) = %v, want %v", phase, got, want)
		}
	}
}

func TestEvaluateAllocatesNothing(t *testing.T) {
	p := usual(noon)
	if n := testing.AllocsPerRun(100, func() { lifecycle.Evaluate(p, 10, noon) }); n != 0 {
		t.Errorf("Evaluate allocates %v objects, want none", n)
	}
}
