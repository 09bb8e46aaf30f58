package verify_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/placement"
)

func TestVerifyInPlace(t *testing.T) {
	const revision = "controller-revision-hash"
	resized := begun(resizing(inplace.Options{Resize: true}))
	envReads := func(field string) change { // the environment in both templates reads the metadata
		return func(s *handmade) {
			read := func(t *corev1.PodTemplateSpec) {
				t.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "X", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: field}}}}
			}
			templates(
				func(t *corev1.PodTemplateSpec) {
					read(t)
					t.Labels["tier"], t.Annotations = "old", map[string]string{"note": "old"}
				},
				func(t *corev1.PodTemplateSpec) {
					read(t)
					t.Labels["tier"], t.Annotations = "new", map[string]string{"note": "new"}
				},
			)(s)
			s.pod("b-old").Labels["tier"], s.pod("b-old").Annotations = "old", map[string]string{"note": "old"}
			s.spec.Strategy.InPlace.EnvFromMetadata = true
		}
	}
	completed := handFleet(handPods("available", "a-new"), inPlaceBy(inplace.IfPossible), made(time.Hour, "a-new"))
	runViolations(t, []violationRow{
		// These rows are about the form of a patch.
		{
			name: "no precondition", why: "a namesake must not be hit", scene: begun(),
			plant: edit("", func(p *rewritten) { delete(p.at("metadata"), "uid") }), want: 9, mention: `demands UID "", right is "uid-b-old"`,
		},
		{
			name: "no precondition of the status", why: "each patch carries it", scene: begun(),
			plant: edit("status", func(p *rewritten) { p.at("metadata")["uid"] = "uid-a-new" }), want: 9, mention: `demands UID "uid-a-new"`,
		},
		{
			name: "an old resource version", why: "it could never succeed", scene: begun(),
			plant: edit("status", func(p *rewritten) { p.at("metadata")["resourceVersion"] = "6" }), want: 9, mention: `patch 1 of pod b-old demands resource version "6"`,
		},
		{
			name: "the resource version twice", why: "the first patch has changed it", scene: begun(),
			plant: edit("", func(p *rewritten) { p.at("metadata")["resourceVersion"] = "7" }), want: 9, mention: `patch 2 of pod b-old demands resource version "7"`,
		},
		{
			name: "a directive", why: "what is not read is not trusted", scene: begun(),
			plant: edit("", func(p *rewritten) { p.at("metadata", "labels")["$patch"] = "replace" }), want: 9, mention: `the directive "$patch" is not read`,
		},
		{
			name: "a list that is not known", why: "what is not read is not trusted", scene: begun(),
			plant: edit("", func(p *rewritten) { p.at("spec")["volumes"] = []any{} }), want: 9, mention: `the list "volumes" is not read`,
		},
		{
			name: "an unknown subresource", why: "there are three", scene: begun(),
			plant: func(s *handmade) { s.patchTo("b-old", "status").Subresource = "ephemeralcontainers" }, want: 9, mention: `to subresource "ephemeralcontainers"`,
		},
		{
			name: "conditions by the pod itself", why: "the API server ignores them there", scene: begun(),
			plant: func(s *handmade) { s.patchTo("b-old", "status").Subresource = "" }, want: 9, mention: `to subresource ""`,
		},
		{
			name: "labels by the status", why: "they are not there", scene: begun(relabelling),
			plant: edit("status", func(p *rewritten) { p.at("metadata", "labels")["tier"] = "new" }), want: 9, mention: `to subresource "status"`,
		},
		{
			name: "resources by the pod itself", why: "they have a subresource of their own", scene: resized,
			plant: func(s *handmade) { s.patchTo("b-old", "resize").Subresource = "" }, want: 9, mention: `to subresource ""`,
		},
		{
			name: "an image by the resize", why: "it is not there", scene: resized,
			plant: edit("resize", func(p *rewritten) { p.container()["image"] = "reg.example/agent:v2" }), want: 9, mention: `to subresource "resize"`,
		},
		{
			name: "another revision than it says", why: "Patch.Revision is what the pod is at then", scene: begun(),
			plant: func(s *handmade) { s.patchTo("b-old", "").Revision = staleHash }, want: 12, mention: `says that the pod is at revision "stale" then`,
		},
		// These rows are about whether the update may begin (I1 to I3).
		{
			name: "with method Recreate", why: "I1", scene: begun(),
			plant: func(s *handmade) { s.spec.Strategy.Method = inplace.Recreate }, want: 9, mention: "I1: begins an update in place",
		},
		{
			name: "without the readiness gate", why: "I3", scene: begun(made(time.Hour, "b-old")),
			plant: func(s *handmade) { s.pod("b-old").Spec.ReadinessGates = nil }, want: 9, mention: "I3: begins an update in place of a pod without",
		},
		{
			name: "from an unknown revision", why: "I3", scene: begun(),
			plant: func(s *handmade) {
				s.snapshot.Revisions, s.plan.Status.StableRevision = s.snapshot.Revisions[1:], freshHash
			},
			want: 9, mention: "I3: begins an update in place from revision",
		},
		{
			name: "a template that differs in more", why: "I2: a volume", scene: begun(),
			plant: func(s *handmade) {
				before := handTemplate("v1")
				before.Spec.Volumes = []corev1.Volume{{Name: "data"}}
				s.snapshot.Revisions[0] = handRevision(staleHash, 1, before)
			},
			want: 9, mention: "I2: begins an update in place from a template that differs in more",
		},
		{
			name: "cpu without resize", why: "I2: not enabled", scene: resized,
			plant: func(s *handmade) { s.spec.Strategy.InPlace.Resize = false }, want: 9, mention: "I2: ",
		},
		{
			name: "a label that an env reads", why: "I2: not enabled", scene: begun(envReads("metadata.labels['tier']")),
			plant: func(s *handmade) { s.spec.Strategy.InPlace.EnvFromMetadata = false }, want: 9, mention: "differs in the label tier",
		},
		{
			name: "an annotation that an env reads", why: "I2: not enabled", scene: begun(envReads("metadata.annotations['note']")),
			plant: func(s *handmade) { s.spec.Strategy.InPlace.EnvFromMetadata = false }, want: 9, mention: "differs in the annotation note",
		},
		{
			name: "an annotation that asks for a restart", why: "I2: the pod would go on with what it has read", scene: begun(relabelling),
			plant: func(s *handmade) { s.spec.Strategy.InPlace.RestartKeys = []string{"note"} }, want: 9,
			mention: "note, whose change asks for a restart",
		},
		{
			name: "a label that asks for a restart by its prefix", why: "I2", scene: begun(relabelling),
			plant: func(s *handmade) { s.spec.Strategy.InPlace.RestartKeys = []string{"other", "ti/", "tier"} }, want: 9,
			mention: "tier, whose change asks for a restart",
		},
		{
			name: "image and cpu at once on cgroup v1", why: "I4: the resize has to come first", scene: resized,
			plant: func(s *handmade) { s.spec.Strategy.InPlace.CgroupV1 = true }, want: 9, mention: "which cgroup v1 cannot",
		},
		// These rows are about what the update changes.
		{
			name: "another image", why: "V9: the label says v2", scene: begun(),
			plant: edit("", func(p *rewritten) { p.container()["image"] = "reg.example/agent:v3" }), want: 9, mention: "has image reg.example/agent:v3, but the revision label says",
		},
		{
			name: "the label without the image", why: "V9: the label says v2", scene: begun(),
			plant: edit("", func(p *rewritten) { delete(p.body, "spec") }), want: 9, mention: "has image reg.example/agent:v1, but the revision label says reg.example/agent:v2",
		},
		{
			name: "the label without the cpu", why: "V9: the label says 200m", scene: resized,
			plant: func(s *handmade) { s.unpatch("resize") }, want: 9, mention: "another cpu than 200m",
		},
		{
			name: "the label before the cpu", why: "V9: if the second patch fails, it lies", scene: resized,
			plant: func(s *handmade) {
				p := s.plan.Patches
				p[len(p)-1], p[len(p)-2] = p[len(p)-2], p[len(p)-1]
			},
			want: 9, mention: "another cpu than 200m",
		},
		{
			name: "other cpu", why: "V9: the label says 200m", scene: resized,
			plant: edit("resize", func(p *rewritten) { p.container()["resources"] = object{"requests": object{"cpu": "300m"}} }), want: 9, mention: "another cpu than 200m",
		},
		{
			name: "memory that was not there", why: "I2: only what the template names", scene: resized,
			plant: edit("resize", func(p *rewritten) { p.container()["resources"].(object)["requests"].(object)["memory"] = "1Gi" }),
			want:  9, mention: "gives container main memory that the template does not name",
		},
		{
			name: "another container", why: "V9: only existing ones", scene: begun(),
			plant: edit("", func(p *rewritten) { p.addContainer(object{"name": "new", "image": "x"}) }), want: 9, mention: "or at all",
		},
		{
			name: "the image of a container of others", why: "V9: the template does not name it", scene: begun(onPods(func(p *corev1.Pod) {
				p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: "injected", Image: "x"})
			}, "b-old")),
			plant: edit("", func(p *rewritten) { p.addContainer(object{"name": "injected", "image": "y"}) }), want: 9, mention: "changes container injected, which the template does not have",
		},
		{
			name: "an env", why: "I2: it cannot change in a running pod", scene: begun(),
			plant: edit("", func(p *rewritten) { p.container()["workingDir"] = "/" }), want: 9, mention: "or at all",
		},
		{
			name: "a label of others", why: "I2: only keys that a template names", scene: begun(relabelling),
			plant: edit("", func(p *rewritten) { p.at("metadata", "labels")["owner"] = "me" }), want: 9, mention: "changes the label owner",
		},
		{
			name: "an annotation of others dropped", why: "I2: what others wrote stays", scene: begun(relabelling),
			plant: edit("", func(p *rewritten) { p.at("metadata", "annotations")["mine"] = nil }), want: 9, mention: "changes the annotation mine",
		},
		{
			name: "another value of a label", why: "V9: the template says new", scene: begun(relabelling),
			plant: edit("", func(p *rewritten) { p.at("metadata", "labels")["tier"] = "other" }), want: 9, mention: "the label tier",
		},
		{
			name: "a label left behind", why: "V9: the template says new", scene: begun(relabelling),
			plant: edit("", func(p *rewritten) { delete(p.at("metadata", "labels"), "tier") }), want: 9, mention: `the label tier is "old", but the revision label says "new"`,
		},
		{
			name: "an annotation left behind", why: "V9: the template has dropped it", scene: begun(relabelling),
			plant: edit("", func(p *rewritten) { delete(p.at("metadata", "annotations"), "note") }), want: 9, mention: "the annotation note",
		},
		{
			name: "a finalizer", why: "V9: no hook has it", scene: begun(),
			plant: edit("", func(p *rewritten) { p.at("metadata")["finalizers"] = []any{"x.io/mine"} }), want: 9, mention: "adds the finalizer x.io/mine",
		},
		{
			name: "another revision", why: "V9: the update revision", scene: begun(),
			plant: both(edit("", func(p *rewritten) { p.at("metadata", "labels")[revision] = "other" }), func(s *handmade) {
				for i := range s.plan.Patches {
					s.plan.Patches[i].Revision = "other"
				}
			}),
			want: 9, mention: `sets revision "other", right is "fresh"`,
		},
		{
			name: "the image of a pod that is updated", why: "V9: not without the label", scene: begun(),
			plant: func(s *handmade) {
				s.patchOf("a-new", "", `{"metadata":{"uid":"uid-a-new"},"spec":{"containers":[{"name":"main","image":"reg.example/agent:v1"}]}}`)
				made(time.Hour, "a-new")(s)
				s.bring()
				s.withFacts("a", "dpu")
			},
			want: 9, mention: "changes the image of container main, and not the revision label with it",
		},
		{
			name: "an unreadable annotation", why: "the next plan could not go on", scene: begun(),
			plant: edit("", func(p *rewritten) { p.at("metadata", "annotations")[inplace.StateKey] = "{" }), want: 9, mention: "state annotation cannot be read",
		},
		// These rows are about batches.
		{
			name: "a batch forgotten", why: "V9: neither there nor to come", scene: begun(prioritised),
			plant: edit("", func(p *rewritten) {
				p.at("metadata", "annotations")[inplace.StateKey] = `{"revision":"fresh","lastContainerStatuses":null}`
			}),
			want: 9, mention: "container second has image reg.example/second:v1, but the revision label says reg.example/second:v2",
		},
		{
			name: "another image in the next batch", why: "V9: the annotation promises what the label says", scene: begun(prioritised),
			plant: edit("", func(p *rewritten) {
				p.at("metadata", "annotations")[inplace.StateKey] = `{"revision":"fresh","lastContainerStatuses":null,"nextContainerImages":{"second":"x"}}`
			}),
			want: 9, mention: "container second has image",
		},
		{
			name: "a batch that does not come", why: "V9: the annotation is kept", scene: begun(between),
			plant: edit("", func(p *rewritten) { delete(p.body, "spec") }), want: 9, mention: "container second has image reg.example/second:v1",
		},
		{
			name: "a batch of something else", why: "V9: only what the annotation lists", scene: begun(between),
			plant: edit("", func(p *rewritten) { p.container()["name"] = "main" }), want: 9, mention: "changes the image of container main",
		},
		// These rows are about conditions.
		{
			name: "not made unready", why: "I4: it serves until it restarts", scene: begun(),
			plant: func(s *handmade) { s.unpatch("status") }, want: 9, mention: "I4: patch of pod b-old restarts a container before the pod is made unready",
		},
		{
			name: "not made unready for another container", why: "I4: it serves on without others only", scene: begun(serveOn("exporter")),
			plant: func(s *handmade) { s.unpatch("status") }, want: 9, mention: "I4: patch of pod b-old restarts a container before the pod is made unready",
		},
		{
			name: "a next batch that the pod's record does not let it serve through", why: "I4: what the spec says by now is for what begins",
			scene: begun(between, serveOn("second"), servingOn("other")),
			plant: func(s *handmade) { s.unpatch("status") }, want: 9, mention: "I4: patch of pod b-old restarts a container before the pod is made unready",
		},
		{
			name: "made unready too late", why: "I4: first", scene: begun(),
			plant: func(s *handmade) { p := s.plan.Patches; p[0], p[1] = p[1], p[0] }, want: 9, mention: "before the pod is made unready",
		},
		{
			name: "within the grace period", why: "I4: a second is missing", scene: begun(graceful, made(30*time.Second, "b-old")),
			plant: func(s *handmade) { made(29*time.Second, "b-old")(s) }, want: 9, mention: "before the 30 s of grace are over",
		},
		{
			name: "no grace at all", why: "I4: unready, then the grace period", scene: begun(),
			plant: graceful, want: 9, mention: "before the 30 s of grace are over",
		},
		{
			name: "given back too early", why: "I5: the update is not complete", scene: completed,
			plant: func(s *handmade) {
				s.pod("a-new").Annotations = map[string]string{inplace.StateKey: `{"revision":"fresh","updateTimestamp":"2026-01-15T11:30:00Z",` +
					`"lastContainerStatuses":{"main":{"imageID":"before"}},"updateImages":true}`}
				s.pod("a-new").Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", ImageID: "before"}}
			},
			want: 9, mention: "I5: sets condition InPlaceUpdateReady True before the update is complete",
		},
		{
			name: "given back without the gate", why: "I3: it would have no effect", scene: completed,
			plant: func(s *handmade) { s.pod("a-new").Spec.ReadinessGates = nil }, want: 9, mention: "InPlaceUpdateReady of a pod without that readiness gate",
		},
		{
			name: "made unready for nothing", why: "V4: hands off", scene: begun(),
			plant: func(s *handmade) {
				conditionPatch(s, "a-new", lifecycle.InPlaceUpdateReady)
			},
			want: 4, mention: "I4: makes a pod unready that is not updated in place",
		},
		{
			name: "Ready", why: "it is the kubelet's", scene: begun(),
			plant: edit("status", func(p *rewritten) { p.addCondition(corev1.PodReady, corev1.ConditionTrue) }), want: 9, mention: "sets condition Ready to True",
		},
		{
			name: "another condition", why: "it is not the rollout's", scene: begun(),
			plant: edit("status", func(p *rewritten) { p.addCondition("Odd", corev1.ConditionTrue) }), want: 9, mention: "sets condition Odd",
		},
		{
			name: "cpu of a pod that is updated", why: "V9: not without the label", scene: resized,
			plant: func(s *handmade) {
				s.patchOf("a-new", "resize", `{"metadata":{"uid":"uid-a-new"},"spec":{"containers":[{"name":"main","resources":{"requests":{"cpu":"300m"}}}]}}`)
			},
			want: 9, mention: "resizes container main, and does not change the revision label with it",
		},
		{
			name: "a resize that restarts, not made unready", why: "I4: the resize policy says so", scene: begun(resizing(inplace.Options{Resize: true}), restarting),
			plant: func(s *handmade) { s.unpatch("status") }, want: 9, mention: "restarts a container before the pod is made unready",
		},
		{
			name: "a label for a pod without one", why: "R3: only duplicates are relabelled", scene: handFleet(handPods("available", "a-new"), func(s *handmade) {
				s.spec.TemplateGeneration = new(int64(3))
				s.pod("a-new").Labels = map[string]string{"app": "agent", "pod-template-generation": "3"}
			}),
			plant: func(s *handmade) { s.relabel("a-new") }, want: 4, mention: "R3: relabels a pod that carries no duplicate",
		},
		{
			name: "a handler that is none", why: "L3: another value", scene: handFleet(handPods("unready", "a-old"), inPlaceBy(inplace.IfPossible), inPlaceHook, inStateOf(lifecycle.Updated, "a-old")),
			plant: func(s *handmade) {
				s.plan.Patches[0].Data = []byte(handReplaced(string(s.plan.Patches[0].Data), `"wanted"`, `"other"`))
			},
			want: 9, mention: "changes the label drain",
		},
		{
			name: "nothing", why: "V4: hands off", scene: begun(),
			plant: func(s *handmade) { s.patchOf("a-new", "", `{"metadata":{"uid":"uid-a-new"}}`) }, want: 4, mention: "patch of pod a-new changes nothing",
		},
		{
			name: "beside a pod of the update revision", why: "M3: the old one goes", scene: begun(),
			plant: func(s *handmade) {
				twin := s.pod("a-new").DeepCopy()
				twin.Name, twin.UID, twin.Spec.NodeName = "b-new", "uid-b-new", "b"
				handFail(twin)
				s.snapshot.Pods = append(s.snapshot.Pods, twin)
				s.bring()
				s.withFacts("b", "dpu")
			},
			want: 4, mention: "M3: begins an update beside a pod of the revision",
		},
		{
			name: "on a keep node", why: "M4: it replaces nothing", scene: begun(),
			plant: func(s *handmade) {
				tainted("b")(s)
				s.bring()
				s.decision("b").Placement.Outcome = placement.Keep
				s.withFacts("b", "p")
				s.plan.Budget.Desired, s.plan.Budget.Unavailable = 1, 0
				s.plan.Status.DisruptionsAllowed = 2
			},
			want: 4, mention: "M4: begins an update on a node that is to keep",
		},
		{
			name: "a Ready pod beside another", why: "B3: the other would keep a successor away", scene: handFleet(handPods("available", "a-new", "b-old"), inPlaceBy(inplace.IfPossible)),
			plant: func(s *handmade) {
				done := handPod("b-done", staleHash, "succeeded")
				done.Spec.NodeName = "b"
				s.snapshot.Pods = append(s.snapshot.Pods, done)
			},
			want: 4, mention: "B3: begins the update of a Ready pod beside another live pod",
		},
	})
}

func handFail(p *corev1.Pod) {
	for i := range p.Status.Conditions {
		if p.Status.Conditions[i].Type == corev1.PodReady {
			p.Status.Conditions[i].Status = corev1.ConditionFalse
		}
	}
}
