package simulate_test

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
	"github.com/daemonplan/daemonplan/rollout/simulate"
)

// inTheMiddle are trajectories of one node, a. Each begins with a snapshot of the node.
func inTheMiddle() []trajectory {
	const mega = 1_000_000
	noon := rollouttest.Noon()
	old, inPlace := rollouttest.Spec("agent"), rollouttest.Spec("agent", rollouttest.InPlaceIfPossible())
	labelled := rollouttest.Changed(old, rollouttest.PodTemplateLabel("x", "y"))
	pulls := simulate.Registry{NodeBandwidth: 10 * mega, Size: 100 * mega}
	registry := simulate.Model{Registry: pulls}
	crashing := rollouttest.WaitingFor("CrashLoopBackOff")
	marked := rollouttest.Terminating(noon.Add(-4 * time.Second))
	// shows is a fleet with a snapshot of the node and the pod on it, or without a pod if that is nil.
	shows := func(node *corev1.Node, pod *corev1.Pod) simulate.Fleet {
		snapshot := &rollout.Snapshot{
			Now: noon, Nodes: []*corev1.Node{node}, Revisions: []*appsv1.ControllerRevision{rollouttest.Revision(old, 1)},
		}
		if pod != nil {
			snapshot.Pods = []*corev1.Pod{pod}
		}
		return simulate.Fleet{Snapshot: snapshot}
	}
	node := func(options ...rollouttest.NodeOption) *corev1.Node { return rollouttest.Node("a", options...) }
	pod := func(options ...rollouttest.PodOption) *corev1.Pod {
		return rollouttest.Pod("p", append([]rollouttest.PodOption{rollouttest.Of(old), rollouttest.OnNode("a")}, options...)...)
	}
	updating := shows(node(), rollouttest.Pod("p", rollouttest.Of(inPlace), rollouttest.OnNode("a"),
		objects.UpdatingTo(second(rollouttest.InPlaceIfPossible()), noon.Add(-3*time.Second))))
	updating.Snapshot.Revisions = append(updating.Snapshot.Revisions, rollouttest.Revision(second(rollouttest.InPlaceIfPossible()), 2))
	unready := func(p *corev1.Pod) {
		rollouttest.Unready()(p)
		p.Status.ContainerStatuses[0].Ready = false
	}
	stateless := func(p *corev1.Pod) {
		status := &p.Status.ContainerStatuses[0]
		status.State, status.ContainerID, status.ImageID = corev1.ContainerState{}, "", ""
	}
	// until is a trajectory in which the node is not available until that instant, and available from then on.
	until := func(end time.Duration, name, why, course string, s simulate.Scenario) trajectory {
		if s.Spec.Name == "" {
			s.Spec = old
		}
		at := end.String()
		return trajectory{
			name: name, why: why, scenario: s, nodes: map[string]string{"a": course}, unavailable: "0s 1, " + at + " 0",
			end: simulate.EndDone, finished: end, peak: 1, nodeTime: end, reached: at + " " + at + " " + at + " " + at,
		}
	}
	rows := []trajectory{
		until(16*time.Second, "a pod that terminates", `Marked 4 s ago, it is gone 10 s after that, at 6 s.`,
			"0s terminating, 6s pending, 7s starting, 16s new", simulate.Scenario{Fleet: shows(node(), pod(marked))}),
		until(36*time.Second, "a pod that terminates for longer than it may", `30 s after it was marked, at 26 s, it is killed.`,
			"0s terminating, 26s pending, 27s starting, 36s new", simulate.Scenario{
				Fleet: shows(node(), pod(marked)), Model: simulate.Model{Kubelets: []simulate.Kubelet{{Stop: simulate.Fixed(time.Hour)}}},
			}),
		until(10*time.Second, "a pod that is not bound", `It takes the time of a new one.`,
			"0s pending, 1s starting, 10s new", simulate.Scenario{Fleet: shows(node(), pod(rollouttest.PinnedTo("a")))}),
		until(19*time.Second, "a pod that has not started", `Its image is pulled, 10 s, and 9 s later it is ready.`,
			"0s pulling, 10s starting, 19s new",
			simulate.Scenario{Fleet: shows(node(), pod(rollouttest.Pending())), Model: registry}),
		until(19*time.Second, "a pod whose image could not be pulled", `That it is tried again is all that is known of it.`,
			"0s pulling, 10s starting, 19s new",
			simulate.Scenario{Fleet: shows(node(), pod(rollouttest.WaitingFor("ImagePullBackOff"))), Model: registry}),
		until(19*time.Second, "a pod whose container has no state", `It waits, says the API: its image is pulled, 10 s, and 9 s later it is ready.`,
			"0s pulling, 10s starting, 19s new",
			simulate.Scenario{Fleet: shows(node(), pod(objects.Containers(), unready, stateless)), Model: registry}),
		until(7*time.Second, "a pod whose container has no state, and has run", `Its ID tells.`, "0s starting, 7s new",
			simulate.Scenario{Fleet: shows(node(), pod(objects.Containers(), unready, func(p *corev1.Pod) {
				p.Status.ContainerStatuses[0].State = corev1.ContainerState{}
			})), Model: registry}),
		until(7*time.Second, "a pod whose containers run", `It is ready 7 s later, as if they had just been started.`,
			"0s starting, 7s new",
			simulate.Scenario{Fleet: shows(node(), pod(objects.Containers(), unready))}),
		until(29*time.Second, "a pod that crashed twice", `It backs off for 20 s, and is ready 9 s later. Its image is there: it ran.`,
			"0s broken, 22s starting, 29s new",
			simulate.Scenario{Fleet: shows(node(), pod(rollouttest.Restarted(2, noon, "Error"), crashing)), Model: registry}),
		until(74*time.Second, "a pod that crashed twice, and does so again",
			`After the back-off of 20 s it runs at 22 s and crashes at 25 s, for the third time: after 40 s and 2 s it runs at 67 s.`,
			"0s broken, 22s starting, 25s broken, 1m7s starting, 1m14s new", simulate.Scenario{
				Fleet: shows(node(), pod(rollouttest.Restarted(2, noon, "Error"), crashing)),
				Model: simulate.Model{Kubelets: []simulate.Kubelet{{Crash: simulate.Fixed(3 * time.Second), Crashes: 3}}},
			}),
		until(10*time.Second, "a pod that has failed", `It is replaced at once (M2).`,
			"0s pending, 1s starting, 10s new", simulate.Scenario{Fleet: shows(node(), pod(rollouttest.Failed()))}),
		until(10*time.Second, "a node that reports an image", `It is not pulled.`, "0s pending, 1s starting, 10s new",
			simulate.Scenario{Fleet: shows(node(rollouttest.Images("agent:v1")), nil), Model: registry}),
		until(20*time.Second, "a node that had a pod", `It has the image, so that the next pod does not wait for it.`,
			"0s terminating, 10s pending, 11s starting, 20s new",
			simulate.Scenario{Spec: labelled, Fleet: shows(node(), pod()), Model: registry}),
		until(30*time.Second, "a node that is not Ready", `It is lost, until it is back at 30 s, with its pod.`, "0s lost, 30s new",
			simulate.Scenario{
				Fleet:  shows(node(rollouttest.NotReady()), pod()),
				Events: []simulate.Event{{At: 30 * time.Second, What: simulate.NodeReady, Node: "a"}},
			}),
		until(22*time.Second, "an update in place",
			`The container of version 1 is stopped at 3 s. The image of version 2 is not there before 13 s: ready at 22 s.`,
			"0s starting, 3s pulling, 13s starting, 22s new", simulate.Scenario{
				Spec: second(rollouttest.InPlaceIfPossible()), Fleet: updating,
				Model: simulate.Model{Registry: pulls, Kubelets: []simulate.Kubelet{{Restart: simulate.Fixed(3 * time.Second)}}},
			}),
		until(6*time.Second, "a pod that has not been ready for long", `It is available 10 s after it was Ready, 4 s ago (B5).`,
			"0s starting, 6s new", simulate.Scenario{
				Spec:  rollouttest.Spec("agent", rollouttest.MinReadySeconds(10)),
				Fleet: shows(node(), pod(rollouttest.Ready(noon.Add(-4*time.Second)))),
			}),
	}
	for i := range rows {
		if rows[i].name == "a node that had a pod" {
			rows[i].waves = 1 // the other rows begin no node
		}
	}
	return append(rows, trajectory{
		name: "a pod whose containers are ready", why: `Its kubelet says that it is Ready at once.`,
		scenario: simulate.Scenario{Spec: old, Fleet: shows(node(), pod(objects.Containers(), rollouttest.Unready()))},
		nodes:    map[string]string{"a": "0s new"}, unavailable: "0s 0", end: simulate.EndDone, reached: "0s 0s 0s 0s",
	})
}
