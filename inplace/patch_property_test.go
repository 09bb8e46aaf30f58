package inplace_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"pgregory.net/rapid"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/internal/fuzzing"
	"github.com/daemonplan/daemonplan/lifecycle"
)

// inPlacePair draws a change that can be taken in place.
func inPlacePair(t *rapid.T) (pair, *inplace.Update) {
	old := template(t)
	p := pair{old: old, new: mutated(t, old, inPlaceMutations), options: inplace.Options{Resize: true, EnvFromMetadata: true}}
	u := inplace.Compare(p.old, p.new, p.options)
	if !u.InPlace() || u.Lacks(nil) != "" {
		t.Skip("not in place")
	}
	return p, u
}

// wanted returns the pod that the API server would make of a template, but for what a running pod has of its own.
func wanted(template *corev1.PodTemplateSpec, pod *corev1.Pod, revision string) *corev1.Pod {
	fresh := podOf(template, revision)
	fresh.Status = pod.Status
	for key, value := range pod.Annotations {
		if strings.Contains(key, "inplace-update") {
			fresh.Annotations[key] = value
		}
	}
	return fresh
}

// play sends all steps and runs a kubelet at once until nothing is left to do.
func play(t fataler, pod *corev1.Pod, step inplace.Step) *corev1.Pod {
	t.Helper()
	now := start
	for range 20 {
		if len(step.Patches) == 0 {
			return pod
		}
		pod = apply(t, pod, step.Patches...)
		now = now.Add(minutes(1))
		all := []string{}
		for _, c := range serving(pod) {
			all = append(all, c.Name)
		}
		run(pod, all, now)
		var err error
		if step, err = inplace.Continue(pod, now); err != nil {
			t.Fatal(err)
		}
	}
	t.Fatal("there is always more to do")
	return nil
}

func patchedPodIsWanted(t *rapid.T) {
	p, u := inPlacePair(t)
	pod := podOf(p.old, "old")
	before := text(pod)
	step, err := u.Begin(pod, inplace.Target{Revision: "new"}, inplace.Metadata{Labels: map[string]string{"lifecycle": "Updating"}}, start)
	if err != nil {
		t.Fatal(err)
	}
	if text(pod) != before {
		t.Fatal("Begin has written to the pod")
	}
	if !step.Begun || !step.Until.IsZero() {
		t.Fatalf("without a grace period the update begins at once: %+v", step)
	}
	if unready := step.Patches[0].Subresource == "status"; unready && !u.NeedsUnready(pod) || u.NeedsUnready(pod) && !u.Restarts() {
		t.Fatal("the pod is made not ready although no container restarts")
	}
	again, err := u.Begin(pod, inplace.Target{Revision: "new"}, inplace.Metadata{Labels: map[string]string{"lifecycle": "Updating"}}, start)
	if err != nil || cmp.Diff(step, again) != "" {
		t.Fatalf("the same call gives another step: %v %s", err, cmp.Diff(step, again))
	}
	pod = play(t, pod, step)
	want := wanted(p.new, pod, "new")
	want.Labels["lifecycle"] = "Updating"
	if !equality.Semantic.DeepEqual(want, pod) {
		t.Fatalf("not the pod that the new template wants: %s\nfrom %s", cmp.Diff(text(want), text(pod)), before)
	}
	if completion := inplace.Completed(pod); !completion.Done || condition(pod) != corev1.ConditionTrue {
		t.Fatalf("not complete: %v, %s", completion.Waits, condition(pod))
	}
}

func TestPatchedPodIsWanted(t *testing.T) { rapid.Check(t, patchedPodIsWanted) }
func FuzzPatchedPodIsWanted(f *testing.F) { fuzzing.Property(f, rapid.MakeFuzz(patchedPodIsWanted)) }

// Any prefix of a step, followed by the same call, leads to the same pod: what was not sent is found out.
func TestPrefixesOfStepsAreSafe(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, u := inPlacePair(t)
		target := inplace.Target{Revision: "new"}
		step, err := u.Begin(podOf(p.old, "old"), target, inplace.Metadata{}, start)
		if err != nil {
			t.Fatal(err)
		}
		for n := range len(step.Patches) {
			pod := apply(t, podOf(p.old, "old"), step.Patches[:n]...)
			if pod.Labels[revisionLabel] != "old" {
				t.Fatal("the label claims a revision that the spec does not contain yet")
			}
			if n == 1 && step.Patches[0].Subresource == "status" && !inplace.Preparing(pod) {
				t.Fatal("made not ready for nothing")
			}
			next, err := u.Begin(pod, target, inplace.Metadata{}, start.Add(minutes(1)))
			if err != nil {
				t.Fatal(err)
			}
			pod = play(t, pod, next)
			want := wanted(p.new, pod, "new")
			if !equality.Semantic.DeepEqual(want, pod) {
				t.Fatalf("after %d patches: %s", n, cmp.Diff(text(want), text(pod)))
			}
		}
	})
}

// The patches name only what the templates name, and every one carries the UID.
func TestPatchesTouchOnlyWhatTheTemplatesName(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, u := inPlacePair(t)
		pod := podOf(p.old, "old")
		step, err := u.Begin(pod, inplace.Target{Revision: "new"}, inplace.Metadata{}, start)
		if err != nil {
			t.Fatal(err)
		}
		for _, patch := range step.Patches {
			var body struct {
				Metadata struct {
					UID                 string
					Labels, Annotations map[string]*string
				}
				Spec struct {
					Containers, InitContainers []map[string]any
				}
			}
			unmarshal(t, patch.Data, &body)
			if body.Metadata.UID != string(pod.UID) {
				t.Fatalf("%s: no UID", patch.Data)
			}
			for key := range body.Metadata.Labels {
				_, had := p.old.Labels[key]
				if _, has := p.new.Labels[key]; !had && !has && key != revisionLabel {
					t.Fatalf("%s: label %s", patch.Data, key)
				}
			}
			for key := range body.Metadata.Annotations {
				_, had := p.old.Annotations[key]
				if _, has := p.new.Annotations[key]; !had && !has && key != inplace.StateKey {
					t.Fatalf("%s: annotation %s", patch.Data, key)
				}
			}
			for _, c := range append(body.Spec.Containers, body.Spec.InitContainers...) {
				named := false
				for _, change := range u.Images {
					named = named || patch.Subresource == "" && change.Container == c["name"] && change.New == c["image"]
				}
				for _, change := range u.Resources {
					named = named || patch.Subresource == "resize" && change.Container == c["name"] && c["image"] == nil
				}
				if !named {
					t.Fatalf("%s: container %s", patch.Data, c["name"])
				}
			}
			if patch.Subresource == "status" && lifecycle.Ready(apply(t, pod, patch)) {
				t.Fatalf("%s leaves the pod ready", patch.Data)
			}
		}
	})
}
