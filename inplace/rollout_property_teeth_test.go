//go:build teeth

package inplace_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/lifecycle"
)

// Steps with a planted bug, which the property must reject.
func TestRolloutsHaveTeeth(t *testing.T) {
	// without leaves out patches of a subresource.
	without := func(step inplace.Step, subresource string) inplace.Step {
		step.Patches = slices.DeleteFunc(slices.Clone(step.Patches), func(p lifecycle.Patch) bool { return p.Subresource == subresource })
		return step
	}
	// edited changes the pod that a step is computed from.
	edited := func(pod *corev1.Pod, edit func(*corev1.Pod)) *corev1.Pod {
		pod = pod.DeepCopy()
		edit(pod)
		return pod
	}
	forget := func(field string) func(*corev1.Pod) {
		return func(pod *corev1.Pod) {
			var state map[string]any
			if json.Unmarshal([]byte(pod.Annotations[inplace.StateKey]), &state) == nil {
				delete(state, field)
				pod.Annotations[inplace.StateKey] = text(state)
			}
		}
	}
	begin := func(change func(*corev1.Pod)) steps {
		return steps{advance: inplace.Continue, begin: func(u *inplace.Update, pod *corev1.Pod, target inplace.Target, metadata inplace.Metadata, now time.Time) (inplace.Step, error) {
			return u.Begin(edited(pod, change), target, metadata, now)
		}}
	}
	advance := func(change func(*corev1.Pod)) steps {
		return steps{begin: realSteps.begin, advance: func(pod *corev1.Pod, now time.Time) (inplace.Step, error) {
			return inplace.Continue(edited(pod, change), now)
		}}
	}
	mutants := []struct {
		name, why string
		steps     steps
	}{
		{"never not ready", "containers restart in a pod that is ready", steps{advance: inplace.Continue, begin: func(u *inplace.Update, pod *corev1.Pod, target inplace.Target, metadata inplace.Metadata, now time.Time) (inplace.Step, error) {
			step, err := u.Begin(pod, target, metadata, now)
			return without(step, "status"), err
		}}},
		{"no resize", "the label claims resources that the spec does not have", steps{advance: inplace.Continue, begin: func(u *inplace.Update, pod *corev1.Pod, target inplace.Target, metadata inplace.Metadata, now time.Time) (inplace.Step, error) {
			step, err := u.Begin(pod, target, metadata, now)
			return without(step, "resize"), err
		}}},
		{"never ready again", "the pod stays out of service", steps{begin: realSteps.begin, advance: func(pod *corev1.Pod, now time.Time) (inplace.Step, error) {
			step, err := inplace.Continue(pod, now)
			return without(step, "status"), err
		}}},
		{"never advances", "later batches do not come", steps{begin: realSteps.begin, advance: func(*corev1.Pod, time.Time) (inplace.Step, error) {
			return inplace.Step{}, nil
		}}},
		{"grace period skipped", "the next look is taken for one of tomorrow", steps{advance: inplace.Continue, begin: func(u *inplace.Update, pod *corev1.Pod, target inplace.Target, metadata inplace.Metadata, now time.Time) (inplace.Step, error) {
			if condition(pod) == corev1.ConditionFalse {
				now = now.Add(24 * time.Hour)
			}
			return u.Begin(pod, target, metadata, now)
		}}},
		{"earlier update forgotten", "its later batches never come", begin(func(pod *corev1.Pod) { delete(pod.Annotations, inplace.StateKey) })},
		{"later images forgotten", "they never come", begin(forget("nextContainerImages"))},
		{"records forgotten", "what is back at what it runs is waited for", begin(forget("daemonplanRecords"))},
		{"served on without any", "containers restart in a pod that is ready", steps{advance: inplace.Continue, begin: func(u *inplace.Update, pod *corev1.Pod, target inplace.Target, metadata inplace.Metadata, now time.Time) (inplace.Step, error) {
			step, err := u.Begin(pod, target, metadata, now)
			if len(u.Images) == 1 {
				step = without(step, "status")
			}
			return step, err
		}}},
		{"nothing waited for", "ready too early, and batches at once", advance(func(pod *corev1.Pod) {
			forget("lastContainerStatuses")(pod)
			forget("daemonplanRecords")(pod)
		})},
	}
	for _, m := range mutants {
		t.Run(m.name, func(t *testing.T) {
			generate := rapid.Custom(func(t *rapid.T) string { return violation(t, m.steps) })
			for seed := range 3000 {
				if text := generate.Example(seed); text != "" {
					t.Log(seed, text)
					return
				}
			}
			t.Errorf("the property accepts it, although %s", m.why)
		})
	}
}
