package verify_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/predownload"
	"github.com/daemonplan/daemonplan/rollout"
)

// resizable has outdated pods whose cpu must change in place. The named pods had their cpu removed by others. They cannot be
// resized, which shows only when it is their turn (I1, I2).
func resizable(method inplace.Method, others ...string) change {
	return func(s *handmade) {
		handPods("available", "a-old", "b-old", "c-old")(s)
		templates(func(t *corev1.PodTemplateSpec) { cpu(&t.Spec, "100m") }, func(t *corev1.PodTemplateSpec) { cpu(&t.Spec, "200m") })(s)
		onPods(func(p *corev1.Pod) { cpu(&p.Spec, "100m") }, "a-old", "b-old", "c-old")(s)
		onPods(func(p *corev1.Pod) { p.Spec.Containers[0].Resources = corev1.ResourceRequirements{} }, others...)(s)
		s.spec.Strategy.Method, s.spec.Strategy.InPlace.Resize = method, true
	}
}

func burstOfOne(s *handmade) { s.spec.Burst = new(intstr.FromInt32(1)) }

// TestVerifyAcceptsWaits: what is wrong with a pod shows when it is the pod's turn. Until then the pod waits like others.
func TestVerifyAcceptsWaits(t *testing.T) {
	pulls := func(s *handmade) { s.spec.PreDownload = &predownload.Options{} }
	var rows []acceptRow
	for _, method := range []inplace.Method{inplace.IfPossible, inplace.Only} {
		for _, pod := range []string{"a-old", "b-old", "c-old"} {
			for name, limits := range map[string][]change{
				"budget":               {atMost("1")},
				"burst":                {atMost("3"), burstOfOne},
				"slow start":           {atMost("3"), handSlowly("1", "250", 0)},
				"budget, with pulls":   {atMost("1"), pulls},
				"burst, with pulls":    {atMost("3"), burstOfOne, pulls},
				"budget, and the hook": {atMost("1"), inPlaceHook, hookedBy(pod)},
				"budget, and a surplus": {atMost("1"), handPods("unready", pod[:1]+"-older"), onPods(func(p *corev1.Pod) {
					cpu(&p.Spec, "100m")
				}, pod[:1]+"-older")},
			} {
				rows = append(rows, acceptRow{
					name: string(method) + ", " + pod + " by " + name, why: "I1, I2: it is told what keeps it when its turn comes",
					scene: handFleet(append([]change{resizable(method, pod)}, limits...)...),
				})
			}
		}
	}
	rows = append(rows, acceptRow{
		name: "in its grace period by the update of before", why: "I4: the clock runs since the pod is unready, so that nobody need begin it",
		scene: begun(overtaken("b-old")),
	})
	runAccepts(t, rows)
}

// overtaken are pods in their grace period that the update before has made unready, and whose containers that update still waits
// for. The update of the plan would change the containers 20 s from now.
func overtaken(names ...string) change {
	return func(s *handmade) {
		graceful(s)
		made(10*time.Second, names...)(s)
		onPods(func(p *corev1.Pod) {
			p.Annotations = map[string]string{inplace.StateKey: `{"revision":"stale","updateTimestamp":"2026-01-15T11:59:50Z",` +
				`"lastContainerStatuses":{"main":{"imageID":"before"}},"updateImages":true}`}
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", ImageID: "before"}}
		}, names...)(s)
	}
}

// TestVerifyWaits: the decision of a node that waits for the budget, or is held, shows that.
func TestVerifyWaits(t *testing.T) {
	// labelled changes a label of the template, for which one patch is enough.
	labelled := func(s *handmade) {
		handPods("available", "a-old", "b-old", "c-old")(s)
		tier := func(tier string) func(*corev1.PodTemplateSpec) {
			return func(t *corev1.PodTemplateSpec) {
				t.Labels["tier"], t.Spec.Containers[0].Image = tier, "reg.example/agent:v2"
			}
		}
		templates(tier("old"), tier("new"))(s)
		onPods(func(p *corev1.Pod) {
			p.Labels["tier"], p.Spec.Containers[0].Image = "old", "reg.example/agent:v2"
		}, "a-old", "b-old", "c-old")(s)
		s.spec.Strategy.Method = inplace.IfPossible
	}
	bursting := func(changes ...change) func() *handmade {
		return handFleet(append(changes, atMost("3"), burstOfOne)...)
	}
	ungated := func(names ...string) change {
		return onPods(func(p *corev1.Pod) { p.Spec.ReadinessGates = nil }, names...)
	}
	// misfit has a pod that is unready, in its grace period, and that has other resources than its node requires.
	misfit := func(s *handmade) {
		handPods("available", "c-old")(s)
		handPods("unready", "a-old", "b-old")(s)
		ungated("b-old")(s)
		inPlaceBy(inplace.IfPossible)(s)
		graceful(s)
		made(10*time.Second, "a-old")(s)
		handOverridden("1", "a-old")(s)
	}
	idle := func(node string) func(*handmade) {
		return func(s *handmade) {
			s.decision(node).Verb, s.decision(node).Reason = rollout.VerbHold, rollout.ReasonHeld
		}
	}
	const replaced = "node a: verb hold, although the outdated pod is to be replaced"
	runViolations(t, []violationRow{
		{
			name: "those that are begun counted", why: "B2: they wait no more", scene: handRolling,
			plant: func(s *handmade) { s.plan.Budget.Waiting = 3 }, want: 12, mention: "budget.waiting is 3, right is 1", raw: true,
		},
		{
			name: "one that is held counted", why: "I1: c cannot be updated in place, which is told", scene: handFleet(resizable(inplace.Only, "c-old"), atMost("1")),
			plant: func(s *handmade) { s.plan.Budget.Waiting++ }, want: 12, mention: "budget.waiting is 2, right is 1",
		},
		{
			name: "one that is recreated called held", why: "I1: its turn comes by a delete", scene: bursting(resizable(inplace.IfPossible, "a-old")),
			plant: idle("a"), want: 12, mention: replaced,
		},
		{
			name: "one without the gate called held", why: "I3: its turn comes by a delete", scene: bursting(resizable(inplace.IfPossible), ungated("a-old", "b-old")),
			plant: idle("a"), want: 12, mention: replaced,
		},
		{
			name: "one for one patch called held", why: "I2: a label is enough", scene: bursting(labelled),
			plant: idle("a"), want: 12, mention: replaced,
		},
		{
			name: "one in a grace period for nothing called held", why: "P8: it is recreated, whatever was begun", scene: bursting(misfit),
			plant: idle("a"), want: 12, mention: replaced,
		},
	})
}
