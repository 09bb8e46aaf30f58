package verify_test

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/predownload"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
)

// handOverride gives container main so much CPU on the nodes with a label.
func handOverride(name, label, cpu string, age time.Duration) change {
	return func(s *handmade) {
		s.spec.Overrides = append(s.spec.Overrides, placement.Override{
			Name: name, Created: handNow().Add(-age), NodeSelector: metav1.LabelSelector{MatchLabels: map[string]string{label: "yes"}},
			Containers: map[string]corev1.ResourceRequirements{"main": handRequests(cpu)},
		})
	}
}

func handRequests(cpu string) corev1.ResourceRequirements {
	return corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}}
}

// handNode changes the node of that name.
func handNode(name string, apply func(*corev1.Node)) change {
	return func(s *handmade) {
		for _, n := range s.snapshot.Nodes {
			if n.Name == name {
				apply(n)
			}
		}
	}
}

func handAnnotated(node, value string) change {
	return handNode(node, func(n *corev1.Node) {
		n.Annotations = map[string]string{placement.OverrideAnnotationPrefix + "default.agent.main": value}
	})
}

// handOverridden records in pods that they were created with so much CPU.
func handOverridden(cpu string, names ...string) change {
	return onPods(func(p *corev1.Pod) {
		placement.Overridden{Resources: []placement.Resources{{Container: "main", Resources: handRequests(cpu)}}}.Apply(p)
	}, names...)
}

func handLabelPatch(name, value string) func(*handmade) {
	return func(s *handmade) {
		s.patchOf(name, "", fmt.Sprintf(`{"metadata":{"uid":"uid-%s","labels":{%q:%s}}}`, name, rollout.CanaryLabel, value))
	}
}

// handClaiming adds a claim to the template, and an override by which container main uses some claims.
func handClaiming(has string, uses ...string) change {
	return func(s *handmade) {
		s.spec.Template.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: has, ResourceClaimName: new("shared")}}
		var claims []corev1.ResourceClaim
		for _, name := range uses {
			claims = append(claims, corev1.ResourceClaim{Name: name})
		}
		s.spec.Overrides = append(s.spec.Overrides, placement.Override{
			Name: "o", NodeSelector: metav1.LabelSelector{MatchLabels: map[string]string{"app-node": "yes"}},
			Containers: map[string]corev1.ResourceRequirements{"main": {Claims: claims}},
		})
	}
}

// handPredecessors makes another controller the owner of pods.
func handPredecessors(names ...string) change {
	return func(s *handmade) {
		s.spec.Predecessor = &rollout.Predecessor{UIDs: []types.UID{"before"}}
		onPods(func(p *corev1.Pod) {
			p.OwnerReferences = []metav1.OwnerReference{{Kind: "DaemonSet", Name: "before", UID: "before", Controller: new(true)}}
		}, names...)(s)
	}
}

func TestVerifyAcceptsOverrides(t *testing.T) {
	fleet := handPods("available", "a-new", "b-new", "c-new")
	runAccepts(t, []acceptRow{
		{name: "an override", why: "P8: rolled out under the budget", scene: handFleet(fleet, handOverride("o", "app-node", "1", 0))},
		{name: "it is there", why: "P8: nothing to do", scene: handFleet(fleet, handOverridden("1000m", "a-new", "b-new", "c-new"),
			handOverride("o", "app-node", "1", 0))},
		{name: "it is gone", why: "P8: back to the template", scene: handFleet(fleet, handOverridden("1", "a-new"))},
		{name: "two", why: "P8: the newest wins, and that is reported", scene: handFleet(fleet, handPods("", "d"),
			handOverride("o", "app-node", "1", time.Hour), handOverride("p", "app-node", "2", 0))},
		{name: "two of one age", why: "P8: the last name wins", scene: handFleet(fleet, handPods("", "d"),
			handOverride("o", "app-node", "1", 0), handOverride("p", "app-node", "2", 0), handOverride("q", "nowhere", "3", 0))},
		{name: "an annotation", why: "P8: it beats an override", scene: handFleet(fleet, handPods("", "d"),
			handOverride("o", "app-node", "1", 0), handAnnotated("d", `{"requests":{"cpu":"3"}}`))},
		{name: "an annotation that cannot be read", why: "P8: nothing is outdated by it", scene: handFleet(fleet, handPods("", "d"),
			handOverridden("1", "b-new"), handAnnotated("b", "{"), handAnnotated("d", "{"))},
		{name: "what the template has", why: "P8: no override", scene: handFleet(fleet, handAnnotated("a", "{}"))},
		{name: "in place", why: "P8: it is recreated", scene: handFleet(fleet, handOverride("o", "app-node", "1", 0), inPlaceBy(inplace.IfPossible))},
		{name: "in place only", why: "P8: it is held", scene: handFleet(fleet, handOverride("o", "app-node", "1", 0), inPlaceBy(inplace.Only))},
		{name: "an image in place", why: "I2: the resources stay", scene: handFleet(handPods("available", "a-old"), handOverridden("1", "a-old"),
			handOverride("o", "app-node", "1", 0), inPlaceBy(inplace.Only))},
		{name: "claims", why: "P8: new pods may use what the template claims", scene: handFleet(fleet, handPods("", "d"), handClaiming("gpu", "gpu"))},
		{name: "claims during a trial", why: "P8: pods of the stable revision lack them, and get no override", scene: handTrial(handClaiming("gpu", "gpu"))},
		{name: "with surge", why: "V3: a pod with other resources is like one of another revision", scene: handFleet(fleet,
			handOverride("o", "app-node", "1", 0), handSurgingBy(1))},
		{name: "on a node that is held", why: "T3", scene: handFleet(fleet, handOverride("o", "app-node", "1", 0), handSelecting("a"))},
		{name: "during a trial", why: "T6: the stable revision gets it too", scene: handTrial(handOverride("o", "app-node", "1", 0))},
		{name: "during a trial that rests", why: "C7: nothing is replaced for it", scene: handTrial(handOverride("o", "app-node", "1", 0),
			handTrying(func(o *canary.Options) { o.Commands.Pause = canary.Any }))},
		{name: "pods of the predecessor", why: "they are outdated, whatever they carry", scene: handFleet(fleet, handPredecessors("a-new", "b-new"))},
		{name: "pods that only the predecessor's selector matches", why: "they are its too", scene: handFleet(fleet, func(s *handmade) {
			s.spec.Predecessor = &rollout.Predecessor{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "before"}}}
			s.pod("a-new").Labels["app"] = "before"
		})},
		{name: "a labelled pod of the predecessor", why: "C1: another set gave it the label, and it is left alone", scene: handTrial(handPredecessors("b-old"), handLabelled("b-old"),
			partitionOf("4"))},
	})
}

func TestVerifyOverrides(t *testing.T) {
	missing := func(changes ...change) func() *handmade {
		return handFleet(append([]change{handPods("", "a"), handOverride("o", "app-node", "1", 0)}, changes...)...)
	}
	settled := handFleet(handPods("available", "a-new"), handOverridden("1", "a-new"), handOverride("o", "app-node", "1", 0))
	runViolations(t, []violationRow{
		{
			name: "a create without its resources", why: "P8", scene: missing(),
			plant: func(s *handmade) { s.plan.Creates[0].Resources = nil }, want: 3, mention: "node a: P8: create with resources []",
		},
		{
			name: "a create with other resources", why: "P8", scene: missing(),
			plant: func(s *handmade) { s.plan.Creates[0].Resources[0].Resources = handRequests("2") }, want: 3, mention: "P8: create with resources",
		},
		{
			name: "the older override", why: "P8: the newest wins", scene: missing(handOverride("p", "app-node", "2", time.Hour)),
			plant: func(s *handmade) {
				s.plan.Creates[0].Resources[0].Source, s.plan.Creates[0].Resources[0].Resources = "p", handRequests("2")
			},
			want: 3, mention: "P8: create with resources",
		},
		{
			name: "an override in spite of the annotation", why: "P8", scene: missing(),
			plant: handAnnotated("a", `{"limits":{"cpu":"2"}}`), want: 3, mention: "P8: create with resources",
		},
		{
			name: "an override of other nodes", why: "P8", scene: missing(),
			plant: handNode("a", func(n *corev1.Node) { n.Labels = nil }), want: 3, mention: "right are []",
		},
		{
			name: "a pod that is up to date goes", why: "P8: the digest is what is wanted", scene: settled,
			plant: func(s *handmade) { s.delete("a-new").bring() }, want: 4, mention: "delete of pod a-new, the best of revision fresh",
		},
		{
			name: "a pod goes for an annotation that cannot be read", why: "P8", scene: handFleet(handPods("available", "a-new"), handAnnotated("a", "{")),
			plant: func(s *handmade) { s.delete("a-new").bring() }, want: 4, mention: "delete of pod a-new, the best of revision fresh",
		},
		{
			name: "a pod with other resources beside the old one", why: "V3: one is enough", scene: settled,
			plant: func(s *handmade) {
				s.create("a")
				s.plan.Creates[0].Resources = []placement.Resources{{Container: "main", Resources: handRequests("1"), Source: "o"}}
				s.bring()
			},
			want: 3, mention: "create, although pod a-new of that revision is there",
		},
		{
			name: "in place in spite of other resources", why: "P8: it would keep those of the old template", scene: handFleet(
				handPods("available", "a-old"), inPlaceBy(inplace.IfPossible)),
			plant: handOverridden("1", "a-old"), want: 9, mention: "P8: begins an update in place of a pod whose node wants other resources",
		},
		{
			name: "a conflict that is not reported", why: "P8", scene: missing(handOverride("p", "app-node", "2", time.Hour)),
			plant: func(s *handmade) { s.plan.OverrideConflicts = nil }, want: 12, mention: "P8: conflicts of overrides are []",
		},
		{
			name: "a conflict on more nodes", why: "P8", scene: missing(handOverride("p", "app-node", "2", time.Hour)),
			plant: func(s *handmade) { s.plan.OverrideConflicts[0].Nodes++ }, want: 12, mention: "P8: conflicts of overrides are",
		},
		{
			name: "an annotation that cannot be read is not reported", why: "P8", scene: missing(handAnnotated("a", "{")),
			plant: func(s *handmade) { s.plan.MalformedOverrides = nil }, want: 12, mention: "P8: malformed overrides are []",
		},
		{
			name: "it is not said what is wrong with it", why: "P8", scene: missing(handAnnotated("a", "{")),
			plant: func(s *handmade) { s.plan.MalformedOverrides[0].Problem = "" }, want: 12, mention: "P8: malformed overrides are",
		},
	})
}

func TestVerifyTrialActions(t *testing.T) {
	lost := handTrial(func(s *handmade) { s.snapshot.Pods = s.snapshot.Pods[:3] })
	atUpdate := func(s *handmade) { s.plan.Creates[0].Revision, s.plan.Creates[0].Template = freshHash, nil }
	commanded := func(c canary.Commands) change { return handTrying(func(o *canary.Options) { o.Commands = c }) }
	waiting := []change{handPods("available", "a-old", "b-old"), atMost("1"), func(s *handmade) {
		s.spec.PreDownload = &predownload.Options{}
	}}
	runViolations(t, []violationRow{
		{
			name: "a lost pod outside the canary at the revision on trial", why: "T6", scene: lost, plant: atUpdate, want: 6,
			mention: `node d: T1: create at revision "fresh"`,
		},
		{
			name: "a lost pod of the canary at the revision on trial, while it rests", why: "C7", scene: handTrial(
				commanded(canary.Commands{Pause: canary.Any}), func(s *handmade) { s.snapshot.Pods = s.snapshot.Pods[1:] }),
			plant: both(atUpdate, func(s *handmade) { s.plan.Creates[0].Canary = true }), want: 6, mention: `node a: T1: create at revision "fresh"`,
		},
		{
			name: "a lost pod at the revision that has failed", why: "C7", scene: handRejected(func(s *handmade) { s.snapshot.Pods = s.snapshot.Pods[:3] }),
			plant: func(s *handmade) {
				for i := range s.plan.Creates {
					s.plan.Creates[i].Revision, s.plan.Creates[i].Template = freshHash, nil
				}
			},
			want: 6, mention: `node d: T1: create at revision "fresh"`,
		},
		{
			name: "a lost pod of the canary at the stable revision", why: "T6", scene: handTrial(func(s *handmade) { s.snapshot.Pods = s.snapshot.Pods[1:] }),
			plant: func(s *handmade) {
				old := handTemplate("v1")
				s.plan.Creates[0].Revision, s.plan.Creates[0].Template, s.plan.Creates[0].Canary = staleHash, &old, false
			},
			want: 3, mention: `node a: T1: create at revision "stale"`,
		},
		{
			name: "a stable pod goes", why: "V6 by way of V4: it is where its node is to end", scene: handTrial(),
			plant: func(s *handmade) { s.delete("b-old").bring() }, want: 4, mention: "delete of pod b-old, the best of revision stale",
		},
		{
			name: "a pod of the canary goes", why: "V4", scene: handTrial(),
			plant: func(s *handmade) { s.delete("a-new").bring() }, want: 4, mention: "delete of pod a-new, the best of revision fresh",
		},
		{
			name: "a replacement for a canary that rests", why: "C7", scene: handTrial(handOverridden("1", "a-new"), commanded(canary.Commands{Pause: canary.Any})),
			plant: func(s *handmade) { s.delete("a-new").bring() }, want: 6, mention: "delete of the outdated pod a-new begins a held node (canary)",
		},
		{
			name: "a surge outside the canary", why: "T6", scene: handTrial(handSurgingBy(2)),
			plant: func(s *handmade) { s.create("b") }, want: 6, mention: `node b: T1: create at revision "fresh"`,
		},
		{
			name: "a create that is not marked", why: "C1", scene: handTrial(func(s *handmade) { s.snapshot.Pods = s.snapshot.Pods[1:] }),
			plant: func(s *handmade) { s.plan.Creates[0].Canary = false }, want: 12, mention: "node a: C1: create with canary false, right is true",
		},
		{
			name: "a create that is marked", why: "C1", scene: lost,
			plant: func(s *handmade) { s.plan.Creates[0].Canary = true }, want: 12, mention: "node d: C1: create with canary true, right is false",
		},
		{
			name: "a label outside the canary", why: "C1", scene: handTrial(), plant: handLabelPatch("b-old", `"true"`), want: 4,
			mention: `sets the canary label to "true"`,
		},
		{
			name: "another value", why: "C1", scene: handTrial(onPods(func(p *corev1.Pod) { delete(p.Labels, rollout.CanaryLabel) }, "a-new")),
			plant: func(s *handmade) {
				s.plan.Patches = nil
				handLabelPatch("a-new", `"yes"`)(s)
				s.decision("a").Patches--
			}, want: 4,
			mention: `sets the canary label to "yes"`,
		},
		{
			name: "the label goes before its time", why: "C1", scene: handTrial(), plant: handLabelPatch("a-new", "null"), want: 4,
			mention: "takes the canary label from a pod that is on trial",
		},
		{
			name: "a label after the promotion", why: "C1: it goes", scene: handPassed(), plant: handLabelPatch("a-new", `"true"`), want: 4,
			mention: `sets the canary label to "true"`,
		},
		{
			name: "a pull for the stable revision", why: "D1: of the update revision only", scene: handFleet(append([]change{handWithTrial,
				handMarkedBy("daemonplan.io/failed", "x"), handPods("available", "c-new", "d-new")}, waiting...)...),
			plant: both(handPull("c", newImage), func(s *handmade) { s.plan.Pulls[0].Secrets = nil }), want: 10, mention: "node c: D1: pull of " + newImage + " on a node that is to end at the stable revision",
		},
		{
			name: "asleep until after the clock", why: "V15", scene: handTrial(), plant: func(s *handmade) {
				s.plan.NextWake, s.plan.Canary.Until = handNow().Add(7*time.Minute+1), time.Time{}
			},
			want: 15, mention: "C2: the canary has lasted for its duration at 2026-01-15T12:07:00Z",
		},
		{
			name: "asleep until after what the plan says", why: "V15", scene: handTrial(), plant: func(s *handmade) {
				s.plan.Canary.Until = handNow().Add(7 * time.Minute)
				s.plan.NextWake = s.plan.Canary.Until.Add(1)
			},
			want: 15, mention: "the clock ends what the canary waits for at 2026-01-15T12:07:00Z",
		},
		{
			name: "the clock ends what a command ends", why: "C2: manual", scene: handTrial(handTrying(func(o *canary.Options) {
				o.Mode, o.Duration, o.NoRestartsDuration = canary.Manual, nil, nil
			})),
			plant: func(s *handmade) {
				s.plan.Canary.Until = handNow().Add(time.Minute)
				s.plan.NextWake = s.plan.Canary.Until
			},
			want: 12, mention: "C2: canary until 2026-01-15T12:01:00Z, right is none: a command ends it",
		},
		{
			name: "until the first of both", why: "C2: the clock promotes after the later of both", scene: handTrial(
				handTrying(func(o *canary.Options) { o.NoRestartsDuration = new(24 * time.Hour) }),
				handRecorded(func(r *canary.Record) { r.Disturbed = handNow().Add(-time.Hour) })),
			plant: func(s *handmade) { s.plan.Canary.Until = handNow().Add(7 * time.Minute) },
			want:  12, mention: "C2: canary until 2026-01-15T12:07:00Z, right is not before 2026-01-16T11:00:00Z",
		},
		{
			name: "until after both", why: "C2: the clock promotes at the later of both", scene: handTrial(
				handTrying(func(o *canary.Options) { o.NoRestartsDuration = new(24 * time.Hour) }),
				handRecorded(func(r *canary.Record) { r.Disturbed = handNow().Add(-time.Hour) })),
			plant: func(s *handmade) { s.plan.Canary.Until = handNow().Add(24 * time.Hour) },
			want:  12, mention: "C2: canary until 2026-01-16T12:00:00Z, right is not before 2026-01-16T11:00:00Z and not after 2026-01-16T11:00:00Z",
		},
		{
			name: "asleep until after the timeout", why: "V15", scene: handTrial(handTrying(func(o *canary.Options) {
				o.Duration, o.AutoFail.CanaryTimeout = new(23*time.Minute), new(25*time.Minute)
			})),
			plant: func(s *handmade) { s.plan.NextWake, s.plan.Canary.Until = time.Time{}, time.Time{} }, want: 15,
			mention: "C4: the canary has taken longer than its timeout at 2026-01-15T12:05:00.000000001Z",
		},
		{
			name: "a pod of the predecessor that counts as updated", why: "it is outdated whatever it carries", scene: handFleet(
				handPods("available", "a-new")),
			plant: handPredecessors("a-new"), want: 12, mention: "node a: S1: facts are",
		},
	})
}
