package harness_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/internal/harness"
	"github.com/daemonplan/daemonplan/predownload"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// A cluster that goes on from the snapshot of another one gives out no UID, name or resource version twice.
func TestClustersGoOn(t *testing.T) {
	old, odd := rollouttest.Pod("agent-x0007", rollouttest.OnNode("a")), rollouttest.Pod("odd", rollouttest.OnNode("b"))
	old.UID, old.ResourceVersion, odd.ResourceVersion = "created-7", "41", "unknown"
	c := newCluster(t, harness.Behavior{}, rollouttest.Nodes("a", "b", "c"), old, odd)
	if err := c.Apply(rollout.Plan{Creates: []rollout.Create{{Node: "c", Revision: "x"}}}); err != nil {
		t.Fatal(err)
	}
	created := c.PodsOn("c")[0]
	if created.UID != "created-8" || created.Name != "agent-x0008" || created.ResourceVersion != "42" {
		t.Errorf("the next pod is %s with UID %s, version %s", created.Name, created.UID, created.ResourceVersion)
	}
	if got := c.PodsOn("b")[0].ResourceVersion; got != "unknown" {
		t.Errorf("a version that is no number became %q", got)
	}
}

// A pod that is set has a version of its own: patches that are for the one before are refused.
func TestSetPodGivesVersions(t *testing.T) {
	for i, node := range []string{"a", "b"} { // the first pod, and another one
		c := newCluster(t, harness.Behavior{}, rollouttest.Nodes("a", "b"),
			rollouttest.Pod("p0", rollouttest.OnNode("a")), rollouttest.Pod("p1", rollouttest.OnNode("b")))
		shown := func() *corev1.Pod { return c.PodsOn(node)[0] }
		first := shown().ResourceVersion
		if first == "" || c.PodsOn("a")[0].ResourceVersion == c.PodsOn("b")[0].ResourceVersion {
			t.Errorf("versions are %q and %q", c.PodsOn("a")[0].ResourceVersion, c.PodsOn("b")[0].ResourceVersion)
		}
		c.SetPod(shown())
		second := shown().ResourceVersion
		if second == first || second == "" {
			t.Errorf("the same pod again has version %q after %q", second, first)
		}
		p := rollouttest.Pod(fmt.Sprint("p", i), rollouttest.OnNode(node))
		p.ResourceVersion = "own"
		c.SetPod(p)
		if got := shown().ResourceVersion; got != "own" {
			t.Errorf("a pod with a version of its own has %q", got)
		}
		p.ResourceVersion = ""
		c.SetPod(p)
		if got := shown().ResourceVersion; got == "" || got == second || len(c.PodsOn(node)) != 1 {
			t.Errorf("a pod without a version has %q", got)
		}
	}
}

// No time passes in a tick of none.
func TestTickOfNothing(t *testing.T) {
	c := newCluster(t, harness.Behavior{}, rollouttest.Nodes("a"), rollouttest.Pod("p", rollouttest.PinnedTo("a")))
	for _, d := range []time.Duration{0, -1, -time.Hour} {
		if c.Tick(d); !c.Now().Equal(rollouttest.Noon()) {
			t.Errorf("after a tick of %v it is %v", d, c.Now())
		}
	}
	if got := told(c); got != "12:00:00 bound p on a" {
		t.Errorf("what is due at once did not happen: %s", got)
	}
}

// What is due first happens first, whatever was asked for first.
func TestPullsAndPodsInOrderOfTime(t *testing.T) {
	pull := func(image string, timeout time.Duration) rollout.Pull {
		return rollout.Pull{Pull: predownload.Pull{Node: "a", Image: image, Timeout: timeout}}
	}
	c := newCluster(t, harness.Behavior{Pull: -1}, rollouttest.Nodes("a"), rollouttest.Pod("p", rollouttest.PinnedTo("a")))
	err := c.Apply(rollout.Plan{Pulls: []rollout.Pull{pull("x", 6*time.Second), pull("y", time.Second), pull("z", 8*time.Second)}})
	if err != nil {
		t.Fatal(err)
	}
	c.Tick(time.Minute)
	var at []string
	for _, e := range c.Events()[3:] {
		at = append(at, e.At.Format("05 ")+e.Object)
	}
	if want := []string{"00 p", "01 y", "05 p", "06 x", "08 z"}; !slices.Equal(at, want) {
		t.Errorf("%q, want %q:\n%s", at, want, told(c))
	}
}

// Failures count for one image on one node.
func TestPullsFailForEachNodeAndImage(t *testing.T) {
	c := newCluster(t, harness.Behavior{FailedPulls: 1}, rollouttest.Nodes("a", "b"))
	pull := func(node, image string) {
		if err := c.Apply(pulls(image, node)); err != nil {
			t.Fatal(err)
		}
		c.Tick(time.Minute)
	}
	pull("a", "x")
	pull("b", "x")
	pull("a", "y")
	if got := c.Snapshot().FailedPulls; len(got) != 3 || got[0].Count+got[1].Count+got[2].Count != 3 {
		t.Errorf("each pull fails once: %+v\n%s", got, told(c))
	}
	pull("a", "x")
	if got := c.Snapshot().FailedPulls; len(got) != 2 || got[0].Image != "y" || got[1].Node != "b" {
		t.Errorf("the second pull succeeds: %+v\n%s", got, told(c))
	}
}

// What befalls a node does not befall the snapshots from before, or any other pod.
func TestMishapsKeepToTheirNode(t *testing.T) {
	c := newCluster(t, harness.Behavior{}, rollouttest.Nodes("a", "b"), rollouttest.Pod("other", rollouttest.OnNode("b")),
		rollouttest.Pod("gone", rollouttest.OnNode("a"), rollouttest.Terminating(rollouttest.Noon())), rollouttest.Pod("p", rollouttest.OnNode("a")))
	before := c.Snapshot()
	if !c.Drain("a") || !c.ChangeNode("a", rollouttest.Label("x", "y")) {
		t.Error("node a is not there")
	}
	if got := told(c); got != "12:00:00 drained p on a" {
		t.Errorf("a drain does not end just the pod that stayed: %s", got)
	}
	if n := before.Nodes[0]; n.Spec.Unschedulable || n.Labels["x"] != "" {
		t.Error("the snapshot from before was written to")
	}
	if c.Drain("z") || c.ChangeNode("z", rollouttest.Cordoned()) || c.Evict("z") || c.Crash("z") {
		t.Error("something has befallen what is not there")
	}
	c.Befall(harness.Mishap{Kind: harness.LoseNode, Node: "z"})
	c.SetNode(rollouttest.Node("z"))
	c.SetPod(rollouttest.Pod("q", rollouttest.PinnedTo("z")))
	c.Tick(time.Minute)
	if got := told(c); !strings.Contains(got, "ready q on z") {
		t.Errorf("a node is silent that was lost before it was there: %s", got)
	}
	// Lost, it is silent until it is found, and its pod starts then.
	c.Befall(harness.Mishap{Kind: harness.LoseNode, Node: "z"})
	c.SetPod(rollouttest.Pod("r", rollouttest.OnNode("z"), rollouttest.Unready()))
	c.Tick(time.Hour)
	if got := told(c); strings.Contains(got, "ready r on z") {
		t.Errorf("a lost node starts pods: %s", got)
	}
	c.Befall(harness.Mishap{Kind: harness.FindNode, Node: "z"})
	c.Tick(time.Minute)
	if got := told(c); !strings.Contains(got, "13:01:00 ready r on z") {
		t.Errorf("a node that was found does not go on: %s", got)
	}
}

// An evicted pod is down from now on, and stays so.
func TestEvictedPodsStayDown(t *testing.T) {
	c := newCluster(t, harness.Behavior{}, rollouttest.Nodes("a"), rollouttest.Pod("p", rollouttest.OnNode("a")))
	if !c.Evict("p") || c.Evict("p") || c.Crash("p") {
		t.Error("a pod that runs is evicted once, and does not crash after that")
	}
	c.Tick(time.Hour)
	if p := c.PodsOn("a")[0]; p.Status.Phase != corev1.PodFailed || strings.Count(told(c), "\n") != 0 {
		t.Errorf("it is %s: %s", p.Status.Phase, told(c))
	}
}
