package lifecycle_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	_ "github.com/daemonplan/daemonplan/internal/fixedseed"
	"github.com/daemonplan/daemonplan/internal/fuzzing"
	"github.com/daemonplan/daemonplan/lifecycle"
)

// question is one call of Evaluate.
type question struct {
	pod *corev1.Pod
	min int32
	now time.Time
}

// questions draws times close to the boundary of B5, where the mistakes are.
var questions = rapid.Custom(func(t *rapid.T) question {
	q := question{now: noon.Add(time.Duration(rapid.IntRange(0, 2).Draw(t, "now")))}
	q.min = rapid.OneOf(
		rapid.SampledFrom([]int32{-1, 0, 1, 30, 1<<31 - 1}),
		rapid.Int32(),
	).Draw(t, "minReadySeconds")
	since := rapid.Custom(func(t *rapid.T) metav1.Time {
		edge := noon.Add(-time.Duration(q.min) * time.Second)
		at := rapid.SampledFrom([]time.Time{{}, edge, edge.Add(1), edge.Add(-1), noon, noon.Add(time.Hour)}).Draw(t, "since")
		return metav1.NewTime(at)
	})
	status := rapid.SampledFrom([]corev1.ConditionStatus{
		corev1.ConditionTrue, corev1.ConditionTrue, corev1.ConditionTrue, corev1.ConditionFalse, corev1.ConditionUnknown, "",
	})
	kind := rapid.SampledFrom([]corev1.PodConditionType{
		corev1.PodReady, corev1.PodReady, lifecycle.InPlaceUpdateReady, corev1.ContainersReady, "",
	})
	one := rapid.Custom(func(t *rapid.T) corev1.PodCondition {
		return corev1.PodCondition{
			Type: kind.Draw(t, "type"), Status: status.Draw(t, "status"), LastTransitionTime: since.Draw(t, "since"),
		}
	})
	phase := rapid.SampledFrom([]corev1.PodPhase{
		corev1.PodRunning, corev1.PodRunning, corev1.PodPending, corev1.PodFailed, corev1.PodSucceeded, "",
	}).Draw(t, "phase")
	q.pod = pod(phase, rapid.SliceOfN(one, 0, 4).Draw(t, "conditions")...)
	if rapid.IntRange(0, 30).Draw(t, "nil") == 30 {
		q.pod = nil
	}
	return q
})

type evaluate func(*corev1.Pod, int32, time.Time) lifecycle.Readiness

// oracle is B5 sentence by sentence.
func oracle(p *corev1.Pod, minReadySeconds int32, now time.Time) lifecycle.Readiness {
	if p == nil || slices.Contains([]corev1.PodPhase{corev1.PodFailed, corev1.PodSucceeded}, p.Status.Phase) {
		return lifecycle.Readiness{}
	}
	of := func(kind corev1.PodConditionType) (found []corev1.PodCondition) {
		for _, c := range p.Status.Conditions {
			if c.Type == kind {
				found = append(found, c)
			}
		}
		return found
	}
	for _, c := range of(lifecycle.InPlaceUpdateReady) {
		if c.Status != corev1.ConditionTrue {
			return lifecycle.Readiness{}
		}
	}
	readies := of(corev1.PodReady)
	if len(readies) == 0 || readies[0].Status != corev1.ConditionTrue {
		return lifecycle.Readiness{}
	}
	r := lifecycle.Readiness{Ready: true}
	since := readies[0].LastTransitionTime.Time
	needed := time.Duration(minReadySeconds) * time.Second
	switch {
	case minReadySeconds <= 0:
		r.Available = true
	case since.IsZero():
	case now.Sub(since) >= needed:
		r.Available = true
	default:
		r.AvailableAt = since.Add(needed)
	}
	return r
}

// violation returns in which way f breaks the guarantees of the package for q; nil if it keeps them.
func violation(f evaluate, q question) error {
	got := f(q.pod, q.min, q.now)
	if want := oracle(q.pod, q.min, q.now); got != want {
		return fmt.Errorf("got %+v, the oracle says %+v", got, want)
	}
	if got.Available && !got.Ready {
		return fmt.Errorf("available but not ready")
	}
	if got.Ready && lifecycle.Terminal(q.pod) {
		return fmt.Errorf("ready but terminal")
	}
	if later := f(q.pod, q.min, q.now.Add(time.Hour)); got.Available && !later.Available {
		return fmt.Errorf("available, but no longer an hour later")
	}
	if !got.AvailableAt.IsZero() {
		if got.Available || !got.Ready {
			return fmt.Errorf("AvailableAt is set in %+v", got)
		}
		if !f(q.pod, q.min, got.AvailableAt).Available {
			return fmt.Errorf("not available at AvailableAt %v", got.AvailableAt)
		}
		if f(q.pod, q.min, got.AvailableAt.Add(-1)).Available {
			return fmt.Errorf("available before AvailableAt %v", got.AvailableAt)
		}
	}
	return nil
}

func property(t *rapid.T) {
	q := questions.Draw(t, "question")
	before := q.pod.DeepCopy()
	if err := violation(lifecycle.Evaluate, q); err != nil {
		t.Fatal(err)
	}
	if got, want := lifecycle.Ready(q.pod), oracle(q.pod, q.min, q.now).Ready; got != want {
		t.Fatalf("Ready = %v, want %v", got, want)
	}
	if got, want := lifecycle.Available(q.pod, q.min, q.now), oracle(q.pod, q.min, q.now).Available; got != want {
		t.Fatalf("Available = %v, want %v", got, want)
	}
	if diff := cmp.Diff(before, q.pod); diff != "" {
		t.Fatalf("the pod was written (-before +after):\n%s", diff)
	}
}

func TestEvaluateProperty(t *testing.T) { rapid.Check(t, property) }

func FuzzEvaluate(f *testing.F) { fuzzing.Property(f, rapid.MakeFuzz(property)) }
