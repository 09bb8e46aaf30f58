package verify_test

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/rollout"
)

// handPromise sets what the state annotation of b's pod lists for the next batch. All else is as between makes it.
func handPromise(next string) change {
	return onPods(func(p *corev1.Pod) {
		p.Annotations[inplace.StateKey] = `{"revision":"fresh","updateTimestamp":"2026-01-15T11:00:00Z",` +
			`"lastContainerStatuses":{"main":{"imageID":"before"}},"updateImages":true,` + next +
			`,"preCheckBeforeNext":{"containersRequiredReady":["main"]}}`
	}, "b-old")
}

// betweenSizes is between with a second container to resize, from 100m to the promised amount. The template has 200m.
func betweenSizes(promised string) change {
	return func(s *handmade) {
		between(s)
		sized := func(list []corev1.Container, cpu string) {
			list[1].Image, list[1].Resources = "reg.example/second:v2", handRequests(cpu)
		}
		before := handTemplate("v1")
		before.Spec.Containers = append(before.Spec.Containers, *s.spec.Template.Spec.Containers[1].DeepCopy())
		sized(before.Spec.Containers, "100m")
		s.snapshot.Revisions[0] = handRevision(staleHash, 1, before)
		sized(s.spec.Template.Spec.Containers, "200m")
		s.snapshot.Revisions[1] = handRevision(freshHash, 2, s.spec.Template)
		sized(s.pod("a-new").Spec.Containers, "200m")
		sized(s.pod("b-old").Spec.Containers, "100m")
		handPromise(fmt.Sprintf(`"nextContainerResources":{"second":{"requests":{"cpu":%q}}}`, promised))(s)
		s.spec.Strategy.InPlace.Resize = true
	}
}

// handGrace is a pod that Kruise has given its new labels, and that Kruise would change after its grace period, which is over.
func handGrace(changes string) change {
	return func(s *handmade) {
		made(time.Hour, "b-old")(s)
		pod := s.pod("b-old")
		pod.Labels["controller-revision-hash"] = freshHash
		pod.Annotations = map[string]string{
			inplace.StateKey: `{"revision":"fresh","updateTimestamp":"2026-01-15T11:00:00Z","lastContainerStatuses":{"main":{"imageID":"before"}}}`,
			inplace.GraceKey: `{"revision":"fresh","graceSeconds":60,` + changes + `}`,
		}
	}
}

// readByNext makes the second container read the label tier, which the new template changes along with its image.
func readByNext(s *handmade) {
	prioritised(s)
	read := func(list []corev1.Container) {
		list[1].Env = append(list[1].Env, corev1.EnvVar{Name: "TIER", ValueFrom: &corev1.EnvVarSource{
			FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.labels['tier']"},
		}})
	}
	before := handTemplate("v1")
	before.Spec.Containers = s.pod("b-old").DeepCopy().Spec.Containers
	before.Labels["tier"] = "old"
	read(before.Spec.Containers)
	s.spec.Template.Labels["tier"] = "new"
	read(s.spec.Template.Spec.Containers)
	s.snapshot.Revisions[0], s.snapshot.Revisions[1] = handRevision(staleHash, 1, before), handRevision(freshHash, 2, s.spec.Template)
	for name, tier := range map[string]string{"a-new": "new", "b-old": "old"} {
		read(s.pod(name).Spec.Containers)
		s.pod(name).Labels["tier"] = tier
	}
	s.spec.Strategy.InPlace.EnvFromMetadata = true
}

// TestVerifyBatches: an update that has begun continues as its annotations say (I5), and in no other way.
func TestVerifyBatches(t *testing.T) {
	hotfix := handGrace(`"containerImages":{"main":"reg.example/agent:v2-hotfix"}`)
	graceful := handGrace(`"containerImages":{"main":"reg.example/agent:v2"},"containerResources":{"main":{"requests":{"cpu":"200m"}}}`)
	ending := begun(resizing(inplace.Options{}), graceful)
	forgetting := func(p *rewritten) { delete(p.at("metadata", "annotations"), inplace.StateKey) }
	runAccepts(t, []acceptRow{
		{name: "a label that the next batch brings", why: "I5: until its reader restarts the old one is right", scene: begun(readByNext)},
		{name: "a promise that the template does not make", why: "V9: the annotation was the promise, and it is kept", scene: begun(between,
			handPromise(`"nextContainerImages":{"second":"mirror.example/second:v2"}`))},
		{name: "a batch of cpu", why: "I5: the annotation lists it", scene: begun(betweenSizes("200m"))},
		{name: "a batch of cpu that the template does not ask for", why: "V9: the annotation was the promise, and it is kept", scene: begun(betweenSizes("300m"))},
		{name: "a batch of cpu with resize turned off since", why: "I2 is about what begins", scene: begun(betweenSizes("200m"), func(s *handmade) {
			s.spec.Strategy.InPlace.Resize = false
		})},
		{name: "what Kruise has begun", why: "it ends as its record says", scene: begun(hotfix)},
		{name: "resources that Kruise has begun to change", why: "it ends as its record says, resize or not", scene: ending},
	})
	runViolations(t, []violationRow{
		{
			name: "cpu that is not promised", why: "V9: neither the annotation nor the template says 250m", scene: begun(betweenSizes("300m")),
			plant: edit("resize", func(p *rewritten) { p.container()["resources"] = object{"requests": object{"cpu": "250m"}} }),
			want:  9, mention: "container second has another cpu than 200m, which the revision label says",
		},
		{
			name: "cpu that is not promised, with resize turned off since", why: "V9: what was begun goes on as it was promised", scene: begun(betweenSizes("300m"), func(s *handmade) {
				s.spec.Strategy.InPlace.Resize = false
			}),
			plant: edit("resize", func(p *rewritten) { p.container()["resources"] = object{"requests": object{"cpu": "250m"}} }),
			want:  9, mention: "container second has another cpu than 200m, which the revision label says",
		},
		{
			name: "a label with the next batch", why: "V9: the template says agent", scene: begun(between),
			plant: edit("", func(p *rewritten) { p.at("metadata", "labels")["app"] = "other" }), want: 9, mention: `changes the label app to "other"`,
		},
		{
			name: "an image that Kruise did not record", why: "V9: what goes on without its record has to be what the label says", scene: begun(hotfix),
			plant: edit("", forgetting), want: 9, mention: "container main has image reg.example/agent:v2-hotfix, but the revision label says reg.example/agent:v2",
		},
		{
			name: "an image that Kruise did not record, with resources", why: "V9: what goes on without its record has to be what the label says", scene: ending,
			plant: edit("", func(p *rewritten) {
				forgetting(p)
				p.container()["image"] = "reg.example/agent:v3"
			}),
			want: 9, mention: "container main has image reg.example/agent:v3, but the revision label says reg.example/agent:v2",
		},
		{
			name: "a label left behind that nothing promises", why: "V9: the annotation would have to", scene: begun(readByNext),
			plant: edit("", func(p *rewritten) { delete(p.at("metadata"), "annotations") }), want: 9, mention: `the label tier is "old", but the revision label says "new"`,
		},
		{
			name: "a label left behind, and a promise that cannot be read", why: "V9: it promises nothing", scene: begun(readByNext),
			plant: edit("", func(p *rewritten) { p.at("metadata", "annotations")[inplace.StateKey] = "{" }), want: 9, mention: `the label tier is "old", but the revision label says "new"`,
		},
		{
			name: "to a stable revision that cannot be read", why: "I3: nobody knows what it would be", scene: handRejected(inPlaceBy(inplace.IfPossible), func(s *handmade) {
				s.snapshot.Revisions[0].Data.Raw = []byte("{")
			}),
			plant: func(s *handmade) {
				conditionPatch(s, "a-new", lifecycle.InPlaceUpdateReady)
				s.bring()
			},
			want: 9, mention: `I3: begins an update in place to revision "stale", which is not known`,
		},
	})
}

// TestVerifyMetadata: each label, annotation, finalizer and condition may be changed by one side only (I2, I4, L3, L4).
func TestVerifyMetadata(t *testing.T) {
	finalizing := func(names ...string) change {
		return func(s *handmade) { s.spec.Lifecycle.InPlaceUpdate.Finalizers = names }
	}
	asked := func(changes ...change) func() *handmade { // the hook, of the label drain and of finalizers, is asked again
		all := append([]change{handPods("unready", "b-old"), inPlaceBy(inplace.IfPossible), inPlaceHook}, changes...)
		return handFleet(append(all, inStateOf(lifecycle.Updated, "b-old"))...)
	}
	hooked := handFleet(handPods("available", "b-new"), inPlaceBy(inplace.IfPossible), inPlaceHook, finalizing("x.io/drain"))
	runAccepts(t, []acceptRow{
		{name: "asked anew by two finalizers", why: "L3: all handlers come back", scene: asked(func(s *handmade) {
			s.spec.Lifecycle.InPlaceUpdate = &lifecycle.Hook{Finalizers: []string{"x.io/a", "x.io/b"}}
		})},
		{name: "a surplus pod that waited for its update", why: "M3: it is not the one to be updated, so that nobody need wait for it", scene: func() *handmade {
			s := handFleet(handPods("unready", "b-older", "b-old"), inPlaceBy(inplace.IfPossible), inPlaceHook, hookedBy("b-older", "b-old"),
				inStateOf(lifecycle.PreparingUpdate, "b-older", "b-old"))()
			s.plan.Deletes, s.decision("b").Deletes, s.plan.Patches, s.decision("b").Patches = nil, 0, nil, 0
			labelPatch(s, "b-older", lifecycle.Normal)
			return s
		}},
	})
	runViolations(t, []violationRow{
		{
			name: "a label beside the canary's", why: "C1: only that one", scene: handTrial(onPods(func(p *corev1.Pod) {
				delete(p.Labels, rollout.CanaryLabel)
			}, "a-new")),
			plant: func(s *handmade) {
				s.plan.Patches[0].Data = []byte(handReplaced(string(s.plan.Patches[0].Data), `"labels":{`, `"labels":{"zone":"x",`))
			},
			want: 4, mention: "changes the label zone without an update in place",
		},
		{
			name: "from an unknown revision to other labels", why: "I3: nobody knows which are its own", scene: begun(relabelling),
			plant: func(s *handmade) {
				s.snapshot.Revisions, s.plan.Status.StableRevision = s.snapshot.Revisions[1:], freshHash
			},
			want: 9, mention: "I3: begins an update in place from revision",
		},
		{
			name: "a handler for nothing", why: "L3: the hook is asked in state PreparingUpdate", scene: hooked,
			plant: func(s *handmade) {
				s.patchOf("b-new", "", `{"metadata":{"uid":"uid-b-new","labels":{"drain":"wanted"}}}`)
			}, want: 4, mention: "changes the label drain without",
		},
		{
			name: "a finalizer for nothing", why: "L3: the hook is asked in state PreparingUpdate", scene: hooked,
			plant: func(s *handmade) {
				s.patchOf("b-new", "", `{"metadata":{"uid":"uid-b-new","finalizers":["x.io/drain"]}}`)
			}, want: 9, mention: "adds the finalizer x.io/drain, which is no handler of inPlaceUpdate that comes back",
		},
		{
			name: "a finalizer of others with the handlers", why: "L3: only those of the hook", scene: asked(finalizing("x.io/drain")),
			plant: edit("", func(p *rewritten) { p.at("metadata")["finalizers"] = []any{"x.io/drain", "x.io/other"} }), want: 9, mention: "adds the finalizer x.io/other",
		},
		{
			name: "Ready taken away", why: "it is the kubelet's, and nothing marks the pod", scene: handFleet(handPods("available", "b-new"), onPods(func(p *corev1.Pod) {
				p.Status.Conditions, p.Spec.ReadinessGates = p.Status.Conditions[:2], p.Spec.ReadinessGates[:1]
			}, "b-new")),
			plant: func(s *handmade) { conditionPatch(s, "b-new", corev1.PodReady) }, want: 9, mention: "sets condition Ready to False, which is the kubelet's to set",
		},
	})
}

// TestVerifySubresources: each patch changes only what its subresource covers, however small the change (I4).
func TestVerifySubresources(t *testing.T) {
	resized := begun(resizing(inplace.Options{Resize: true}))
	status := func(apply func(*rewritten)) func(*handmade) { return edit("status", apply) }
	taken := handFleet(handPods("available", "a-new"), handPredecessors("a-new"), preDelete, hookedBy("a-new"))
	runAccepts(t, []acceptRow{
		{name: "a pod of the predecessor that is prepared to leave", why: "it is at no revision of this set", scene: taken},
	})
	runViolations(t, []violationRow{
		{
			name: "a label and an annotation by the status", why: "they are not there", scene: begun(relabelling),
			plant: status(func(p *rewritten) {
				p.at("metadata", "labels")["tier"] = "new"
				p.at("metadata", "annotations")["note"] = nil
			}),
			want: 9, mention: `to subresource "status" changes what is not to be changed there`,
		},
		{
			name: "a label and a finalizer by the status", why: "they are not there", scene: begun(relabelling),
			plant: status(func(p *rewritten) {
				p.at("metadata", "labels")["tier"] = "new"
				p.at("metadata")["finalizers"] = []any{"x.io/mine"}
			}),
			want: 9, mention: `to subresource "status" changes what is not to be changed there`,
		},
		{
			name: "an image by the status", why: "it is not there", scene: begun(),
			plant: status(func(p *rewritten) { p.addContainer(object{"name": "main", "image": "reg.example/agent:v2"}) }), want: 9, mention: `to subresource "status" changes what is not to be changed there`,
		},
		{
			name: "an image and cpu by the status", why: "they are not there", scene: resized,
			plant: status(func(p *rewritten) {
				p.addContainer(object{"name": "main", "image": "reg.example/agent:v3", "resources": object{"requests": object{"cpu": "300m"}}})
			}),
			want: 9, mention: `to subresource "status" changes what is not to be changed there`,
		},
		{
			name: "an image and a condition by the resize", why: "they are not there", scene: resized,
			plant: edit("resize", func(p *rewritten) {
				p.container()["image"] = "reg.example/agent:v2"
				p.addCondition(lifecycle.InPlaceUpdateReady, corev1.ConditionUnknown)
			}),
			want: 9, mention: `to subresource "resize" changes what is not to be changed there`,
		},
		{
			name: "at no revision", why: "only a predecessor's pod is at none, whatever it carries", scene: begun(),
			plant: func(s *handmade) { s.patchTo("b-old", "status").Revision = "" }, want: 12, mention: `says that the pod is at revision "" then, but it is at "stale"`,
		},
		{
			name: "a pod of the predecessor at a revision", why: "it is at no revision of this set", scene: taken,
			plant: func(s *handmade) { s.plan.Patches[0].Revision = staleHash }, want: 12, mention: `says that the pod is at revision "stale" then`,
		},
		{
			name: "a patch behind one of nobody", why: "one that goes nowhere hides no other", scene: duplicated,
			plant: func(s *handmade) {
				nobody := s.plan.Patches[0]
				nobody.UID = "uid-other"
				s.plan.Patches = append([]rollout.Patch{nobody}, s.plan.Patches...)
				s.decision("a").Patches++
				s.relabel("a-new")
			},
			want: 14, mention: "patch 2 of pod a-new changes nothing",
		},
		{
			name: "a patch behind one that cannot be read", why: "what cannot be read hides no pod that comes after it", scene: handFleet(handPods("unready", "a-old", "b-old"),
				inPlaceBy(inplace.IfPossible)),
			plant: func(s *handmade) {
				s.patchTo("b-old", "status").Data = []byte("{")
				next := s.patchTo("a-old", "")
				next.Data = []byte(handReplaced(string(next.Data), "reg.example/agent:v2", "reg.example/agent:v3"))
			},
			want: 9, mention: "container main has image reg.example/agent:v3",
		},
	})
}
