package harness_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daemonplan/daemonplan/internal/harness"
	"github.com/daemonplan/daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// pinnedAgent is a pod of the set's first template that is to be bound to node "a".
func pinnedAgent() *corev1.Pod {
	return rollouttest.Pod("p", rollouttest.Of(rollouttest.Spec("agent")), rollouttest.PinnedTo("a"))
}

// seenOf is what a kubelet reports of the only pod of a cluster.
func seenOf(c *harness.Cluster) string {
	pods := c.PodsOn("a")
	if len(pods) != 1 {
		return fmt.Sprintf("%d pods", len(pods))
	}
	p := pods[0]
	words := []string{string(p.Status.Phase)}
	for _, condition := range p.Status.Conditions {
		words = append(words, strings.TrimSpace(fmt.Sprintf("%s=%s %s", condition.Type, condition.Status, condition.Reason)))
	}
	for _, status := range p.Status.ContainerStatuses {
		word := fmt.Sprintf("%s ready=%t restarts=%d", status.Name, status.Ready, status.RestartCount)
		if status.State.Waiting != nil {
			word += " waits " + status.State.Waiting.Reason
		}
		if ended := status.LastTerminationState.Terminated; ended != nil {
			word += fmt.Sprintf(" ended %s %s", ended.Reason, ended.FinishedAt.UTC().Format("15:04:05"))
		}
		words = append(words, word)
	}
	return strings.Join(words, ", ")
}

func TestClusterPlaysTrouble(t *testing.T) {
	hash := rollouttest.Hash(rollouttest.Spec("agent"))
	const scheduled = "PodScheduled=True"
	tests := []struct {
		name, why string
		behavior  harness.Behavior
		after     time.Duration
		events    string // without the name and the node
		seen      string
	}{
		{"healthy", "nothing is shown of the creation", harness.Behavior{}, time.Hour,
			"12:00:00 bound, 12:00:05 ready", "Running, " + scheduled + ", Ready=True, main ready=true restarts=0"},
		{"creating", "the containers wait to be created", harness.Behavior{Create: time.Minute}, 59 * time.Second,
			"12:00:00 bound", "Pending, " + scheduled + ", main ready=false restarts=0 waits ContainerCreating"},
		{"created", "the start counts from then", harness.Behavior{Create: time.Minute}, time.Hour,
			"12:00:00 bound, 12:01:00 containers created, 12:01:05 ready",
			"Running, " + scheduled + ", Ready=True, main ready=true restarts=0"},
		{"just created", "they run, and are not ready", harness.Behavior{Create: time.Minute}, time.Minute,
			"12:00:00 bound, 12:01:00 containers created", "Running, " + scheduled + ", Ready=False, main ready=false restarts=0"},
		{"never created", "nothing comes of it", harness.Behavior{Create: -1}, time.Hour,
			"12:00:00 bound", "Pending, " + scheduled + ", main ready=false restarts=0 waits ContainerCreating"},
		{"crashing once", "it ended as soon as it started", harness.Behavior{Crashing: []string{hash}}, 5 * time.Second,
			"12:00:00 bound, 12:00:05 crashed",
			"Running, " + scheduled + ", Ready=False, main ready=false restarts=1 waits CrashLoopBackOff ended Error 12:00:05"},
		{"crashing", "the back-off of kubelets doubles", harness.Behavior{Crashing: []string{hash}}, 3 * time.Minute,
			"12:00:00 bound, 12:00:05 crashed, 12:00:20 crashed, 12:00:45 crashed, 12:01:30 crashed, 12:02:55 crashed",
			"Running, " + scheduled + ", Ready=False, main ready=false restarts=5 waits CrashLoopBackOff ended Error 12:02:55"},
		{"crashing twice", "then it stays up", harness.Behavior{Crashing: []string{hash}, Crashes: 2}, time.Hour,
			"12:00:00 bound, 12:00:05 crashed, 12:00:20 crashed, 12:00:25 ready",
			"Running, " + scheduled + ", Ready=True, main ready=true restarts=2 ended Error 12:00:20"},
		{"crashing, another", "only the given revision does", harness.Behavior{Crashing: []string{"other"}}, time.Hour,
			"12:00:00 bound, 12:00:05 ready", "Running, " + scheduled + ", Ready=True, main ready=true restarts=0"},
		{"no such image", "it cannot be pulled", harness.Behavior{Waiting: map[string]string{hash: "ErrImagePull"}}, 19 * time.Second,
			"12:00:00 bound, 12:00:05 waiting (ErrImagePull)",
			"Pending, " + scheduled + ", Ready=False, main ready=false restarts=0 waits ErrImagePull"},
		{"no such image, later", "the kubelet backs off", harness.Behavior{Waiting: map[string]string{hash: "ErrImagePull"}}, time.Hour,
			"12:00:00 bound, 12:00:05 waiting (ErrImagePull), 12:00:20 waiting (ImagePullBackOff)",
			"Pending, " + scheduled + ", Ready=False, main ready=false restarts=0 waits ImagePullBackOff"},
		{"no such secret", "the reason stays", harness.Behavior{Waiting: map[string]string{hash: "CreateContainerConfigError"}}, time.Hour,
			"12:00:00 bound, 12:00:05 waiting (CreateContainerConfigError)",
			"Pending, " + scheduled + ", Ready=False, main ready=false restarts=0 waits CreateContainerConfigError"},
		{"no such image, while created", "the creation ends there",
			harness.Behavior{Create: time.Minute, Waiting: map[string]string{hash: "InvalidImageName"}}, time.Hour,
			"12:00:00 bound, 12:01:00 waiting (InvalidImageName)",
			"Pending, " + scheduled + ", Ready=False, main ready=false restarts=0 waits InvalidImageName"},
		{"full", "the scheduler says so, once", harness.Behavior{Full: []string{"a"}}, time.Hour,
			"12:00:00 unschedulable", "Pending, PodScheduled=False Unschedulable"},
		{"full elsewhere", "another node's room does not matter", harness.Behavior{Full: []string{"b"}}, time.Second,
			"12:00:00 bound", "Pending, " + scheduled},
		{"silent", "the scheduler binds, and nobody starts it", harness.Behavior{Silent: []string{"a"}}, time.Hour,
			"12:00:00 bound", "Pending, " + scheduled},
	}
	seen := map[string]bool{}
	for _, tt := range tests {
		if tt.name == "" || tt.why == "" || seen[tt.name] {
			t.Fatalf("row %q needs a unique name and a why", tt.name)
		}
		seen[tt.name] = true
		t.Run(tt.name, func(t *testing.T) {
			c := newCluster(t, tt.behavior, rollouttest.Nodes("a"), pinnedAgent())
			c.Tick(tt.after)
			events := strings.NewReplacer(" p on a", "", " (main)", "", "\n", ", ").Replace(told(c))
			if events != tt.events {
				t.Errorf("%s\nwant %s: %s", events, tt.events, tt.why)
			}
			if got := seenOf(c); got != tt.seen {
				t.Errorf("%s\nwant %s: %s", got, tt.seen, tt.why)
			}
		})
	}
}

func TestBackOffOfCrashesEnds(t *testing.T) {
	hash := rollouttest.Hash(rollouttest.Spec("agent"))
	c := newCluster(t, harness.Behavior{Crashing: []string{hash}}, rollouttest.Nodes("a"), pinnedAgent())
	c.Tick(24 * time.Hour)
	events := c.Events()
	last, before := events[len(events)-1], events[len(events)-2]
	if gap := last.At.Sub(before.At); gap != 5*time.Minute+5*time.Second {
		t.Errorf("after a day the container crashes every %v", gap)
	}
}

// What is due at another instant after a change of behavior happens then, or at once.
func TestSetBehavior(t *testing.T) {
	hash := rollouttest.Hash(rollouttest.Spec("agent"))
	for name, sick := range map[string]harness.Behavior{
		"image":  {Waiting: map[string]string{hash: "ErrImagePull"}},
		"crash":  {Crashing: []string{hash}},
		"full":   {Full: []string{"a"}},
		"silent": {Silent: []string{"a"}},
		"create": {Create: -1},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, sick, rollouttest.Nodes("a"), pinnedAgent())
			c.Tick(time.Hour)
			if fmt.Sprint(c.Behavior()) != fmt.Sprint(sick) {
				t.Errorf("behavior %+v, want %+v", c.Behavior(), sick)
			}
			c.SetBehavior(harness.Behavior{})
			c.Tick(time.Minute)
			if got := seenOf(c); !strings.HasPrefix(got, "Running") || !strings.Contains(got, "Ready=True") || strings.Contains(got, "waits") {
				t.Error(got)
			}
		})
	}
}

// Kubelets that say nothing any more end nothing either; nodes that are gone are another matter.
func TestSilentNode(t *testing.T) {
	marked := rollouttest.Pod("p", rollouttest.OnNode("a"), rollouttest.Terminating(rollouttest.Noon()))
	c := newCluster(t, harness.Behavior{Silent: []string{"a"}}, rollouttest.Nodes("a"), marked)
	c.Tick(time.Hour)
	if got := told(c); got != "" || !c.Next().IsZero() {
		t.Errorf("on a silent node happens %q, and at %v more", got, c.Next())
	}
	c.RemoveNode("a")
	c.Tick(time.Hour)
	if got := told(c); got != "13:00:02 collected p on a" {
		t.Error(got)
	}
}

// An in-place update that cannot start leaves the container waiting, and reports no new image.
func TestWaitingInPlace(t *testing.T) {
	old := rollouttest.Spec("agent", rollouttest.InPlaceIfPossible())
	next := rollouttest.Spec("agent", rollouttest.InPlaceIfPossible(), rollouttest.Image("agent:v2"))
	pod := rollouttest.Pod("p", rollouttest.Of(old), rollouttest.OnNode("a"), objects.UpdatingTo(next, rollouttest.Noon()))
	snapshot := rollout.Snapshot{Now: rollouttest.Noon(), Nodes: rollouttest.Nodes("a"), Pods: []*corev1.Pod{pod}}
	waiting := harness.Behavior{Waiting: map[string]string{rollouttest.Hash(next): "ErrImagePull"}}
	c, err := harness.NewCluster(next, snapshot, waiting)
	if err != nil {
		t.Fatal(err)
	}
	c.Tick(time.Hour)
	status := c.PodsOn("a")[0].Status.ContainerStatuses[0]
	if status.Image != "agent:v1" || status.Ready || status.State.Waiting.Reason != "ImagePullBackOff" || status.RestartCount != 1 {
		t.Errorf("%+v", status)
	}
	c.SetBehavior(harness.Behavior{})
	c.Tick(time.Minute)
	status = c.PodsOn("a")[0].Status.ContainerStatuses[0]
	if status.Image != "agent:v2" || !status.Ready || status.State.Running == nil || status.RestartCount != 1 {
		t.Errorf("%+v", status)
	}
}

func TestMishaps(t *testing.T) {
	tests := []struct {
		name, why string
		mishaps   []harness.MishapKind
		events    string
		node      string
	}{
		{"cordon", "daemon pods do not mind", []harness.MishapKind{harness.CordonNode}, "", "unschedulable, 1 taints, Ready True"},
		{"cordon twice", "one taint is enough", []harness.MishapKind{harness.CordonNode, harness.CordonNode}, "",
			"unschedulable, 1 taints, Ready True"},
		{"uncordon", "it takes all back", []harness.MishapKind{harness.CordonNode, harness.UncordonNode}, "", "0 taints, Ready True"},
		{"drain", "the pods go", []harness.MishapKind{harness.DrainNode, harness.DrainNode},
			"12:00:00 drained p on a\n12:00:02 gone p on a", "unschedulable, 1 taints, Ready True"},
		{"lose", "nobody ends anything there", []harness.MishapKind{harness.LoseNode, harness.DrainNode},
			"12:00:00 drained p on a", "unschedulable, 3 taints, Ready Unknown"},
		{"lose twice", "it is lost once", []harness.MishapKind{harness.LoseNode, harness.LoseNode}, "", "2 taints, Ready Unknown"},
		{"find", "it goes on", []harness.MishapKind{harness.LoseNode, harness.DrainNode, harness.FindNode},
			"12:00:00 drained p on a\n12:00:02 gone p on a", "unschedulable, 1 taints, Ready True"},
		{"delete", "its pods are collected", []harness.MishapKind{harness.DeleteNode}, "12:00:02 collected p on a", "none"},
		{"taint", "nobody is thrown out by that alone", []harness.MishapKind{harness.TaintNode}, "", "1 taints, Ready True"},
		{"move", "it has another zone", []harness.MishapKind{harness.MoveNode}, "", "0 taints, Ready True, zone c"},
		{"override", "its pods should have other resources", []harness.MishapKind{harness.OverrideNode}, "",
			`0 taints, Ready True, {"requests":{"cpu":"600m"}}`},
		{"restore", "or not", []harness.MishapKind{harness.OverrideNode, harness.RestoreNode}, "", "0 taints, Ready True"},
		{"crash", "the kubelet starts it again", []harness.MishapKind{harness.CrashPods},
			"12:00:00 crashed p on a (main)\n12:00:05 ready p on a", "0 taints, Ready True"},
		{"evict", "it has failed", []harness.MishapKind{harness.EvictPods, harness.EvictPods, harness.CrashPods},
			"12:00:00 failed p on a (Evicted)", "0 taints, Ready True"},
		{"add", "another node joins", []harness.MishapKind{harness.AddNode}, "", "0 taints, Ready True, and a-new"},
		{"to a node that is gone", "there is nothing to happen to", []harness.MishapKind{
			harness.DeleteNode, harness.DrainNode, harness.LoseNode, harness.FindNode, harness.CordonNode, harness.MoveNode,
		}, "12:00:02 collected p on a", "none"},
		{"pause and unpause", "the spec says so", []harness.MishapKind{harness.PauseSet, harness.UnpauseSet}, "", "0 taints, Ready True"},
		{"pause", "the spec says so", []harness.MishapKind{harness.PauseSet}, "", "0 taints, Ready True, paused"},
		{"unknown", "it does nothing", []harness.MishapKind{99}, "", "0 taints, Ready True"},
	}
	seen := map[string]bool{}
	for _, tt := range tests {
		if tt.name == "" || tt.why == "" || seen[tt.name] {
			t.Fatalf("row %q needs a unique name and a why", tt.name)
		}
		seen[tt.name] = true
		t.Run(tt.name, func(t *testing.T) {
			pod := rollouttest.Pod("p", rollouttest.Of(rollouttest.Spec("agent")), rollouttest.OnNode("a"))
			c := newCluster(t, harness.Behavior{}, rollouttest.Nodes("a"), pod)
			for _, kind := range tt.mishaps {
				c.Befall(harness.Mishap{Kind: kind, Node: "a"})
			}
			c.Tick(time.Hour)
			if got := told(c); got != tt.events {
				t.Errorf("%s\nwant %s: %s", got, tt.events, tt.why)
			}
			if got := nodeSeen(c); got != tt.node {
				t.Errorf("%s\nwant %s: %s", got, tt.node, tt.why)
			}
		})
	}
}

// nodeSeen is what there is to see of the node "a".
func nodeSeen(c *harness.Cluster) string {
	var words []string
	for _, n := range c.Snapshot().Nodes {
		if n.Name != "a" {
			words = append(words, "and "+n.Name)
			continue
		}
		if n.Spec.Unschedulable {
			words = append(words, "unschedulable")
		}
		words = append(words, fmt.Sprintf("%d taints", len(n.Spec.Taints)), "Ready "+string(n.Status.Conditions[0].Status))
		if zone := n.Labels["zone"]; zone != "" {
			words = append(words, "zone "+zone)
		}
		for _, value := range n.Annotations {
			words = append(words, value)
		}
	}
	if c.Spec().Strategy.Paused {
		words = append(words, "paused")
	}
	if len(words) == 0 {
		return "none"
	}
	return strings.Join(words, ", ")
}

func TestLoseMemoryIsAMishap(t *testing.T) {
	c := newCluster(t, harness.Behavior{}, rollouttest.Nodes("a"))
	plan, err := c.Plan(c.Snapshot())
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Apply(plan); err != nil {
		t.Fatal(err)
	}
	if c.Snapshot().Memory.Version == 0 {
		t.Fatal("nothing to lose")
	}
	c.Befall(harness.Mishap{Kind: harness.LoseMemory})
	if m := c.Snapshot().Memory; m.Version != 0 {
		t.Errorf("memory %+v", m)
	}
}

func TestMishapKindsHaveNames(t *testing.T) {
	seen := map[string]bool{}
	kind := harness.MishapKind(0)
	for ; kind.String() != "unknown"; kind++ {
		if name := kind.String(); name == "" || seen[name] {
			t.Errorf("kind %d is named %q", kind, name)
		}
		seen[kind.String()] = true
	}
	if last := harness.ReturnNode; kind != last+1 {
		t.Errorf("names end before kind %d, kinds after %d", kind, last)
	}
}

func TestEndingsHaveNames(t *testing.T) {
	for ending, want := range map[harness.Ending]string{
		harness.EndsOpen: "open", harness.EndsPromoted: "promoted", harness.EndsFailed: "failed", harness.EndsFailed + 1: "unknown",
	} {
		if got := ending.String(); got != want {
			t.Errorf("ending %d is %q, want %q", ending, got, want)
		}
	}
}

// The start time of a pod is when a kubelet saw it first: a scheduler binds pods to nodes whose kubelet is silent, too.
func TestStartTimeIsTheKubelets(t *testing.T) {
	c := newCluster(t, harness.Behavior{Silent: []string{"a"}}, rollouttest.Nodes("a"), pinnedAgent())
	start := func() *metav1.Time { return c.PodsOn("a")[0].Status.StartTime }
	c.Tick(time.Minute)
	if got := c.PodsOn("a")[0]; got.Spec.NodeName != "a" || got.Status.StartTime != nil {
		t.Errorf("while it is silent: bound to %q, started at %v", got.Spec.NodeName, got.Status.StartTime)
	}
	c.SetPod(c.PodsOn("a")[0].DeepCopy()) // what somebody else does to the pod is no start
	c.SetBehavior(harness.Behavior{})
	c.Tick(time.Minute)
	if got := start(); got == nil || !got.After(rollouttest.Noon().Add(time.Minute)) {
		t.Errorf("when it is back: started at %v", got)
	}
	c = newCluster(t, harness.Behavior{}, rollouttest.Nodes("a"), pinnedAgent())
	c.Tick(0)
	if got := start(); got == nil || !got.Time.Equal(rollouttest.Noon()) {
		t.Errorf("up: started at %v, want when it was bound", got)
	}
}
