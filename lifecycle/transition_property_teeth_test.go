//go:build teeth

package lifecycle_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/lifecycle"
)

// TestLifecyclePropertyRejectsMutants holds the property itself: each planted bug must be found.
func TestLifecyclePropertyRejectsMutants(t *testing.T) {
	type mutant func(h lifecycle.Hooks, p *corev1.Pod, i lifecycle.Intent, complete bool, t *lifecycle.Transition)
	mutants := map[string]mutant{
		"a hooked pod is deleted": func(_ lifecycle.Hooks, _ *corev1.Pod, i lifecycle.Intent, _ bool, t *lifecycle.Transition) {
			if i == lifecycle.Delete {
				t.Proceed, t.Wait = true, lifecycle.NotWaiting
			}
		},
		"any one handler is enough": func(h lifecycle.Hooks, p *corev1.Pod, i lifecycle.Intent, _ bool, t *lifecycle.Transition) {
			if t.Wait == lifecycle.WaitPreDelete && len(h.Pending(p, t.Wait)) == 1 {
				t.Proceed = true
			}
		},
		"a deletion is never taken back": func(_ lifecycle.Hooks, _ *corev1.Pod, i lifecycle.Intent, _ bool, t *lifecycle.Transition) {
			if t.From == lifecycle.PreparingDelete {
				t.To = t.From
			}
		},
		"Updated is where it ends": func(_ lifecycle.Hooks, _ *corev1.Pod, _ lifecycle.Intent, _ bool, t *lifecycle.Transition) {
			if t.From == lifecycle.Updated {
				t.To, t.Wait = t.From, lifecycle.NotWaiting
			}
		},
		"an update is prepared for ever": func(h lifecycle.Hooks, _ *corev1.Pod, _ lifecycle.Intent, _ bool, t *lifecycle.Transition) {
			if t.To == lifecycle.Updating && h.InPlaceUpdate != nil {
				t.To, t.Proceed = lifecycle.PreparingUpdate, false
			}
		},
		"Normal and PreparingNormal take turns": func(h lifecycle.Hooks, _ *corev1.Pod, _ lifecycle.Intent, _ bool, t *lifecycle.Transition) {
			if t.From == lifecycle.Normal && t.To == lifecycle.Normal && h.PreNormal != nil {
				t.To = lifecycle.PreparingNormal
			}
		},
		"the message stays": func(_ lifecycle.Hooks, _ *corev1.Pod, _ lifecycle.Intent, _ bool, t *lifecycle.Transition) {
			if t.Mark == lifecycle.ClearMark {
				t.Mark = lifecycle.KeepMark
			}
		},
		"the condition is not begun": func(_ lifecycle.Hooks, _ *corev1.Pod, _ lifecycle.Intent, _ bool, t *lifecycle.Transition) {
			if t.Mark == lifecycle.BeginMark {
				t.Mark = lifecycle.KeepMark
			}
		},
		"others' messages go too": func(_ lifecycle.Hooks, _ *corev1.Pod, _ lifecycle.Intent, _ bool, t *lifecycle.Transition) {
			if t.Mark == lifecycle.ClearMark {
				t.Clear = append(t.Clear, lifecycle.Message{UserAgent: "zoo", Key: "a"})
			}
		},
		"the state of an update is lost": func(_ lifecycle.Hooks, _ *corev1.Pod, _ lifecycle.Intent, _ bool, t *lifecycle.Transition) {
			if t.Proceed && t.To == lifecycle.Updating {
				t.To = t.From
			}
		},
		"the pod is written": func(_ lifecycle.Hooks, p *corev1.Pod, _ lifecycle.Intent, _ bool, t *lifecycle.Transition) {
			p.Annotations["written"] = "yes"
		},
		"unknown states are tidied up": func(_ lifecycle.Hooks, _ *corev1.Pod, _ lifecycle.Intent, _ bool, t *lifecycle.Transition) {
			if t.From == "Mystery" && t.To == "Mystery" && !t.Proceed {
				t.To = ""
			}
		},
	}
	for name, spoil := range mutants {
		t.Run(name, func(t *testing.T) {
			spoiled := func(h lifecycle.Hooks, p *corev1.Pod, i lifecycle.Intent, complete bool) lifecycle.Transition {
				step := h.Next(p, i, complete)
				spoil(h, p, i, complete, &step)
				return step
			}
			for seed := range 2000 {
				if live(spoiled, worlds.Example(seed)) != nil {
					return
				}
			}
			t.Error("the property does not notice")
		})
	}
}
