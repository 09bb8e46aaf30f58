package differential_test

import (
	"math"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	"pgregory.net/rapid"

	"github.com/daemonplan/daemonplan/lifecycle"
)

var helperNow = time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC)

// podMoment is a pod at an instant.
type podMoment struct {
	Pod             *corev1.Pod
	MinReadySeconds int32
	Now             time.Time
}

func anyMoment() *rapid.Generator[podMoment] {
	return rapid.Custom(func(t *rapid.T) podMoment {
		m := podMoment{
			Pod: &corev1.Pod{}, Now: helperNow,
			MinReadySeconds: rapid.SampledFrom([]int32{0, 1, 30, 3600, math.MaxInt32, -1, math.MinInt32}).Draw(t, "minReadySeconds"),
		}
		if oneIn(t, 8, "odd now") {
			elsewhere := helperNow.In(time.FixedZone("", 20700))
			m.Now = rapid.SampledFrom([]time.Time{{}, time.Unix(0, 0), elsewhere, helperNow.Add(1), time.Unix(1<<40, 0)}).Draw(t, "now")
		}
		edge := m.Now.Add(-time.Duration(m.MinReadySeconds) * time.Second)
		since := []time.Time{
			edge, edge.Add(1), edge.Add(-1), edge.Add(time.Second), edge.Add(-time.Second), m.Now, m.Now.Add(1), {},
			m.Now.Add(time.Hour), time.Unix(0, 0), time.Unix(-1<<50, 0), time.Unix(1<<50, 0), edge.In(time.FixedZone("", -3600)),
		}
		m.Pod.Status.Phase = mostly(t, 4, []corev1.PodPhase{corev1.PodRunning, corev1.PodPending, ""},
			[]corev1.PodPhase{corev1.PodFailed, corev1.PodSucceeded, corev1.PodUnknown, "Weird"}, "phase")
		m.Pod.Status.Conditions = anyList(t, 3, rapid.Custom(func(t *rapid.T) corev1.PodCondition {
			return corev1.PodCondition{
				Type: rapid.SampledFrom([]corev1.PodConditionType{
					corev1.PodReady, corev1.PodReady, corev1.PodReady, corev1.ContainersReady, lifecycle.InPlaceUpdateReady, "ready", "",
				}).Draw(t, "type"),
				Status: mostly(t, 3, []corev1.ConditionStatus{corev1.ConditionTrue},
					[]corev1.ConditionStatus{corev1.ConditionFalse, corev1.ConditionUnknown, "", "true"}, "status"),
				LastTransitionTime: metav1.NewTime(rapid.SampledFrom(since).Draw(t, "since")),
				LastProbeTime:      anyInstant(t, "probed"),
			}
		}), "conditions")
		return m
	})
}

func compareAvailable() comparison[podMoment, bool] {
	available := func(m podMoment) bool { return lifecycle.Available(m.Pod, m.MinReadySeconds, m.Now) }
	return comparison[podMoment, bool]{
		theirs: "IsPodAvailable", ours: "lifecycle.Available",
		kinds:    []string{"not available", "available"},
		deviates: []deviation{endedIsNotReady, inPlaceConditionHolds, negativeIsZero},
		inputs:   anyMoment(), batch: 300, answer: available,
		judge: func(m podMoment, ours bool) judgement {
			now := metav1.NewTime(m.Now)
			theirs := podutil.IsPodAvailable(m.Pod.DeepCopy(), m.MinReadySeconds, now)
			f := judgement{kind: kindIf(theirs)}
			// The deliberate differences, one after the other; the first that changes the answer is what explains it.
			if patient := podutil.IsPodAvailable(m.Pod.DeepCopy(), max(0, m.MinReadySeconds), now); patient != theirs {
				theirs, f.because = patient, negativeIsZero
			}
			if phase := m.Pod.Status.Phase; theirs && (phase == corev1.PodFailed || phase == corev1.PodSucceeded) {
				theirs, f.because = false, endedIsNotReady
			}
			for _, c := range m.Pod.Status.Conditions {
				if theirs && c.Type == lifecycle.InPlaceUpdateReady && c.Status != corev1.ConditionTrue {
					theirs, f.because = false, inPlaceConditionHolds
				}
			}
			if theirs != ours {
				f.err = disagree(m, theirs, ours)
			}
			return f
		},
		bugs: []plantedBug[podMoment, bool]{
			{"a nanosecond more", "exactly minReadySeconds are enough", func(m podMoment) bool {
				return lifecycle.Available(m.Pod, m.MinReadySeconds, m.Now.Add(-1))
			}},
			{"without transition time", "the passing of time never makes such a pod available", func(m podMoment) bool {
				return available(m) || lifecycle.Ready(m.Pod) && m.Pod.Status.Conditions[0].LastTransitionTime.IsZero()
			}},
			{"any Ready condition", "the first one counts", func(m podMoment) bool {
				for i := range m.Pod.Status.Conditions {
					pod := m.Pod.DeepCopy()
					pod.Status.Conditions = pod.Status.Conditions[i:]
					if lifecycle.Available(pod, m.MinReadySeconds, m.Now) {
						return true
					}
				}
				return false
			}},
			{"as the controller", "the deliberate differences are needed", func(m podMoment) bool {
				return podutil.IsPodAvailable(m.Pod, m.MinReadySeconds, metav1.NewTime(m.Now))
			}},
		},
	}
}
