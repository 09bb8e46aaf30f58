package verify_test

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/predownload"
	"github.com/daemonplan/daemonplan/rollout"
)

// newImage is the image of the update revision.
const newImage = "reg.example/agent:v2"

// pulling has five outdated nodes, a to e. The update of e begins, and d and c pull the image ahead.
func pulling(changes ...change) func() *handmade {
	all := []change{handPods("available", "a-old", "b-old", "c-old", "d-old", "e-old"), atMost("1"), func(s *handmade) {
		s.spec.PreDownload = &predownload.Options{Parallelism: new(intstr.FromInt32(2))}
		s.spec.Template.Spec.ImagePullSecrets = []corev1.LocalObjectReference{{Name: "registry"}}
		s.snapshot.Revisions[1] = handRevision(freshHash, 2, s.spec.Template)
	}}
	return handFleet(append(all, changes...)...)
}

// handPull adds a pull with the options of the spec.
func handPull(node, image string) func(*handmade) {
	return func(s *handmade) {
		s.plan.Pulls = append(s.plan.Pulls, rollout.Pull{Revision: freshHash, Pull: predownload.Pull{
			Node: node, Image: image, Secrets: []string{"registry"}, Timeout: 600 * time.Second, BackoffLimit: 3,
		}})
		for i := range s.plan.Decisions {
			if d := &s.plan.Decisions[i]; d.Node == node {
				d.Pulls++
			}
		}
	}
}

// unpull removes the pulls of a node from the plan.
func unpull(node string) func(*handmade) {
	return func(s *handmade) {
		var rest []rollout.Pull
		for _, p := range s.plan.Pulls {
			if p.Node != node {
				rest = append(rest, p)
			}
		}
		s.plan.Pulls, s.decision(node).Pulls = rest, 0
	}
}

// handInstead removes the pulls of c from the plan, and adds a pull on another node.
func handInstead(node, image string) func(*handmade) { return both(unpull("c"), handPull(node, image)) }

// handHas makes the node report an image.
func handHas(node, image string) change {
	return func(s *handmade) {
		for _, n := range s.snapshot.Nodes {
			if n.Name == node {
				n.Status.Images = []corev1.ContainerImage{{Names: []string{image}}}
			}
		}
	}
}

func inFlightPulls(image string, nodes ...string) change {
	return func(s *handmade) {
		for _, node := range nodes {
			s.snapshot.InFlight.Pulls = append(s.snapshot.InFlight.Pulls, predownload.Request{Node: node, Image: image})
		}
	}
}

// failedPull is the first failed pull of d.
func failedPull(ago time.Duration) change { return failedPullOn("d", 1, ago) }

// failedPullOn is the failed pull with that count on the node.
func failedPullOn(node string, count int32, ago time.Duration) change {
	return func(s *handmade) {
		s.snapshot.FailedPulls = append(s.snapshot.FailedPulls, predownload.Failure{
			Node: node, Image: newImage, Count: count, At: handNow().Add(-ago),
		})
	}
}

// twoImages adds a second container to all pods. Its image changes, too.
func twoImages(s *handmade) {
	second := func(tag string) corev1.Container {
		return corev1.Container{Name: "second", Image: "reg.example/second:" + tag}
	}
	add := func(tag string) func(*corev1.PodTemplateSpec) {
		return func(t *corev1.PodTemplateSpec) { t.Spec.Containers = append(t.Spec.Containers, second(tag)) }
	}
	templates(add("v1"), add("v2"))(s)
	for _, p := range s.snapshot.Pods {
		p.Spec.Containers = append(p.Spec.Containers, second("v1"))
	}
}

func needing(minUpdatedReadyPods string) change {
	return func(s *handmade) { s.spec.PreDownload.MinUpdatedReadyPods = new(intstr.Parse(minUpdatedReadyPods)) }
}

func parallel(quantity string) change {
	return func(s *handmade) { s.spec.PreDownload.Parallelism = new(intstr.Parse(quantity)) }
}

func TestVerifyAcceptsPulls(t *testing.T) {
	runAccepts(t, []acceptRow{
		{name: "two at a time", why: "D1: d and c are updated next", scene: pulling()},
		{name: "a percentage", why: "D2: of the 4 nodes that need the image, rounded up", scene: pulling(parallel("26%"))},
		{name: "one in flight", why: "V10: it counts, on whatever node", scene: pulling(inFlightPulls(newImage, "x"))},
		{name: "there already", why: "D1: d reports it", scene: pulling(handHas("d", newImage))},
		{name: "backed off", why: "10 s after the first failure", scene: pulling(failedPull(10 * time.Second))},
		{name: "a failure in the future", why: "a clock was set back: it is now", scene: pulling(failedPull(-time.Hour))},
		{name: "enough ready", why: "D1: a fifth of 5 is 1", scene: handFleet(handPods("available", "a-new", "b-old", "c-old", "d-old"), atMost("1"), func(s *handmade) {
			s.spec.PreDownload = &predownload.Options{}
		}, needing("25%"))},
		{name: "not enough", why: "D1: nothing is pulled", scene: pulling(needing("1"))},
		{name: "not enough, and a back-off", why: "V15: when that ends nothing is pulled either", scene: pulling(needing("1"), failedPull(9*time.Second))},
		{name: "another image in flight", why: "V14: it is not this one", scene: pulling(inFlightPulls("reg.example/other:v1", "d"))},
		{name: "two images", why: "V10: parallelism is of each", scene: pulling(twoImages)},
		{name: "two images, one with more in flight than there may be now", why: "V10: parallelism was lowered, and only the other is pulled",
			scene: pulling(twoImages, inFlightPulls(newImage, "x", "y", "z"))},
		{name: "a back-off whose turn is not yet", why: "V15: d takes the only place", scene: pulling(parallel("1"), failedPullOn("c", 1, 9*time.Second))},
		{name: "a back-off behind a node that tries again", why: "V15: d takes the only place", scene: pulling(parallel("1"), failedPull(10*time.Second),
			failedPullOn("c", 1, 9*time.Second))},
		{name: "a back-off whose turn is not yet, of a percentage", why: "V15: 25% of 4 is 1", scene: pulling(parallel("25%"), failedPullOn("c", 1, 9*time.Second))},
		{name: "a back-off with all places in flight", why: "V15: when it ends there is no room", scene: pulling(parallel("1"), inFlightPulls(newImage, "x"),
			failedPull(9*time.Second))},
		{name: "a pod whose record cannot be read, before its turn", why: "D2: it may be taken for one that needs the image, so that 50% are 2 of 3", scene: handFleet(
			handPods("unready", "a-old", "b-old", "c-old", "d-old"), inPlaceBy(inplace.IfPossible), handSlowly("1", "1", 0), func(s *handmade) {
				s.spec.PreDownload = &predownload.Options{Parallelism: new(intstr.Parse("50%"))}
			}, onPods(func(p *corev1.Pod) {
				p.Annotations = map[string]string{inplace.StateKey: "{"}
				p.Status.Conditions = p.Status.Conditions[:1]
			}, "a-old"))},
	})
}

func TestVerifyPulls(t *testing.T) {
	held := pulling(partitionOf("1"))
	updated := pulling(handPods("available", "f-new"))
	retried := pulling(failedPull(10 * time.Second))
	asleep := func(s *handmade) { s.plan.NextWake = time.Time{} }
	fields := func(apply func(*rollout.Pull)) func(*handmade) {
		return func(s *handmade) { apply(&s.plan.Pulls[0]) }
	}
	rows := []violationRow{
		{
			name: "one too many", why: "V10: parallelism is 2", scene: pulling(),
			plant: handPull("b", newImage), want: 10, mention: "3 pulls of reg.example/agent:v2, 0 in flight included, right are at most 2",
		},
		{
			name: "one too many with those in flight", why: "V10", scene: pulling(inFlightPulls(newImage, "x")),
			plant: handPull("c", newImage), want: 10, mention: "3 pulls of reg.example/agent:v2, 1 in flight included",
		},
		{
			name: "a percentage rounded up twice", why: "D2: 26% of 4 is 2", scene: pulling(parallel("26%")),
			plant: handPull("b", newImage), want: 10, mention: "right are at most 2",
		},
		{
			name: "a percentage that needs no rounding", why: "D2: 25% of 4 is 1", scene: pulling(parallel("25%")),
			plant: handPull("c", newImage), want: 10, mention: "right are at most 1",
		},
		{
			name: "paused by parallelism", why: "D1: 0 pauses", scene: pulling(parallel("0")),
			plant: handPull("d", newImage), want: 10, mention: "right are at most 0",
		},
		{
			name: "not asked for", why: "the spec has no preDownload", scene: pulling(),
			plant: func(s *handmade) { s.spec.PreDownload = nil }, want: 10, mention: "2 pulls, although the spec asks for none",
		},
		{
			name: "before enough are ready", why: "D1: minUpdatedReadyPods", scene: pulling(needing("1")),
			plant: handPull("d", newImage), want: 10, mention: "although only 0 of 1 minUpdatedReadyPods are ready",
		},
		{
			name: "on the node that is begun", why: "D1: it does not wait", scene: pulling(),
			plant: handInstead("e", newImage), want: 10, mention: "node e: D1: pull of reg.example/agent:v2 on a node that does not wait",
		},
		{
			name: "on a held node", why: "D1: no update is to come", scene: held,
			plant: handInstead("a", newImage), want: 10, mention: "node a: D1: pull",
		},
		{
			name: "on an updated node", why: "D1: it has the image", scene: updated,
			plant: handInstead("f", newImage), want: 10, mention: "state updated",
		},
		{
			name: "on no node", why: "it is not in the snapshot", scene: pulling(),
			plant: both(handInstead("nowhere", newImage), func(s *handmade) {
				s.plan.Decisions = append(s.plan.Decisions, rollout.Decision{Node: "nowhere", State: rollout.StateVanished, Reason: rollout.ReasonVanished, Pulls: 1})
			}, func(s *handmade) { s.stray(handPinned(handPod("", staleHash, "unready")), "gone") }, func(s *handmade) {
				s.plan.Decisions = s.plan.Decisions[:len(s.plan.Decisions)-1]
				s.snapshot.Pods[len(s.snapshot.Pods)-1].Spec.NodeName = "nowhere"
			}),
			want: 10, mention: "node nowhere: pull of reg.example/agent:v2 on a node that is not in the snapshot",
		},
		{
			name: "what the node has", why: "D1: it reports the image, spelled out", scene: pulling(handHas("d", newImage+"@sha256:0"), handHas("b", newImage)),
			plant: handInstead("b", newImage), want: 10, mention: "which the node reports or its pod uses",
		},
		{
			name: "what the pod uses", why: "D1: its old pod runs it", scene: pulling(onPods(func(p *corev1.Pod) { p.Spec.InitContainers = []corev1.Container{{Image: newImage}} }, "b-old")),
			plant: handInstead("b", newImage), want: 10, mention: "which the node reports or its pod uses",
		},
		{
			name: "another image", why: "D1: of the update revision", scene: pulling(),
			plant: handInstead("c", "reg.example/agent:v3"), want: 10, mention: "pull of reg.example/agent:v3, which is no image of the update revision",
		},
		{
			name: "in flight", why: "V14: it was asked for", scene: pulling(inFlightPulls(newImage, "d"), parallel("3")),
			plant: func(s *handmade) {
				unpull("b")(s)
				unpull("c")(s)
				handPull("d", newImage)(s)
			},
			want: 14, mention: "node d: pull of reg.example/agent:v2, which is in flight",
		},
		{
			name: "twice", why: "V14: once is enough", scene: pulling(parallel("9"), handHas("b", newImage)),
			plant: func(s *handmade) {
				unpull("a")(s)
				handPull("c", newImage)(s)
			},
			want: 14, mention: "second pull of reg.example/agent:v2",
		},
		{
			name: "in another order", why: "D2: d is updated before c", scene: pulling(),
			plant: func(s *handmade) { s.plan.Pulls[0], s.plan.Pulls[1] = s.plan.Pulls[1], s.plan.Pulls[0] }, want: 10, mention: "node d: D2: pull after that of node c",
		},
		{
			name: "on nodes that are updated later", why: "D2: c comes before b", scene: pulling(),
			plant: handInstead("b", newImage), want: 10, mention: "node b: D2: pull of reg.example/agent:v2, although c is updated earlier",
		},
		{
			name: "within the back-off", why: "10 s after the first failure", scene: retried,
			plant: func(s *handmade) {
				s.snapshot.FailedPulls[0].At = handNow().Add(-10*time.Second + 1)
				s.plan.NextWake = handNow().Add(1)
			},
			want: 10, mention: "node d: D1: pull of reg.example/agent:v2, which failed there",
		},
		{
			name: "given up", why: "D1: tried again 3 times", scene: retried,
			plant: func(s *handmade) { s.snapshot.FailedPulls[0].Count = 4 }, want: 10, mention: "or it is not tried again",
		},
		{
			name: "asleep in the back-off", why: "the clock ends it", scene: pulling(failedPull(9 * time.Second)),
			plant: func(s *handmade) { s.plan.NextWake = time.Time{} }, want: 15, mention: "node d: D1: the back-off of the pull of reg.example/agent:v2 ends at 2026-01-15T12:00:01Z",
		},
		{
			name: "asleep in the last back-off", why: "it is tried again 3 times", scene: pulling(failedPullOn("d", 3, 39*time.Second)),
			plant: asleep, want: 15, mention: "node d: D1: the back-off of the pull of reg.example/agent:v2 ends at 2026-01-15T12:00:01Z",
		},
		{
			name: "asleep in a back-off with the last place", why: "there is room for one", scene: pulling(parallel("1"), failedPull(9*time.Second)),
			plant: asleep, want: 15, mention: "node d: D1: the back-off of the pull of reg.example/agent:v2 ends at 2026-01-15T12:00:01Z",
		},
		{
			name: "asleep in a back-off with a place of a percentage", why: "half of 4 is 2", scene: pulling(parallel("50%"), failedPull(9*time.Second)),
			plant: asleep, want: 15, mention: "node d: D1: the back-off of the pull of reg.example/agent:v2 ends at 2026-01-15T12:00:01Z",
		},
		{
			name: "within the back-off that an older record has left", why: "the latest failure counts, and it comes last", scene: pulling(failedPull(time.Hour), failedPull(10*time.Second)),
			plant: func(s *handmade) {
				s.snapshot.FailedPulls[1].At = handNow().Add(-10*time.Second + 1)
				s.plan.NextWake = handNow().Add(1)
			},
			want: 10, mention: "node d: D1: pull of reg.example/agent:v2, which failed there",
		},
		{
			name: "within the back-off that an older record follows", why: "the latest failure counts, and it comes first", scene: pulling(failedPull(10*time.Second), failedPull(time.Hour)),
			plant: func(s *handmade) {
				s.snapshot.FailedPulls[0].At = handNow().Add(-10*time.Second + 1)
				s.plan.NextWake = handNow().Add(1)
			},
			want: 10, mention: "node d: D1: pull of reg.example/agent:v2, which failed there",
		},
		{
			name: "after a failure that nobody counted", why: "D1: it has failed once, and is not tried again at all", scene: pulling(func(s *handmade) {
				s.spec.PreDownload.BackoffLimit = new(int32(0))
			}),
			plant: failedPullOn("d", 0, time.Hour), want: 10, mention: "or it is not tried again",
		},
		{
			name: "without the secrets", why: "D1: they are carried", scene: pulling(),
			plant: fields(func(p *rollout.Pull) { p.Secrets = nil }), want: 12, mention: "with secrets [],",
		},
		{
			name: "another timeout", why: "D1: the default is 600 s", scene: pulling(),
			plant: fields(func(p *rollout.Pull) { p.Timeout = time.Second }), want: 12, mention: "timeout 1s",
		},
		{
			name: "another back-off limit", why: "D1: the default is 3", scene: pulling(),
			plant: fields(func(p *rollout.Pull) { p.BackoffLimit = 4 }), want: 12, mention: "back-off limit 4",
		},
		{
			name: "for another revision", why: "it is the update revision's", scene: pulling(),
			plant: fields(func(p *rollout.Pull) { p.Revision = staleHash }), want: 12, mention: `for revision "stale"`,
		},
		{
			name: "that no decision counts", why: "V12: each belongs to one", scene: pulling(),
			plant: func(s *handmade) { s.decision("d").Pulls = 0 }, want: 12, mention: "0 patches and 0 pulls, the plan holds 0, 0, 0 and 1",
		},
	}
	for _, stop := range []string{"paused", "frozen"} {
		rows = append(rows, violationRow{
			name: "while " + stop, why: fmt.Sprintf("D1: a rollout is under way, and %s is none", stop),
			scene: pulling(handStrategy(func(s *rollout.Strategy) { s.Paused, s.Frozen = stop == "paused", stop == "frozen" })),
			plant: handPull("d", newImage), want: 10, mention: "1 pulls, although the rollout is paused or frozen",
		})
	}
	runViolations(t, rows)
}
