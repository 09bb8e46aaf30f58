package simulation

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/rollout/manifest"
)

// A rollout that was watched tells how long pods take to start and to stop, but for those on nodes that are not Ready.
func TestLearner(t *testing.T) {
	set := &objects.Set{Set: manifest.Set{Spec: derivedSpec("a:v1")}}
	set.Spec.UID, set.Spec.Namespace, set.Spec.Name = "set", "monitoring", "agent"
	set.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "agent"}}
	pod := func(name, node string, start time.Duration) *corev1.Pod {
		p := startedPod(node, start)
		p.Name, p.UID, p.Namespace, p.Labels = name, types.UID(name), set.Spec.Namespace, set.Spec.Selector.MatchLabels
		p.OwnerReferences = []metav1.OwnerReference{{Kind: "DaemonSet", Name: set.Spec.Name, UID: set.Spec.UID, Controller: new(true)}}
		return p
	}
	leaving := func(p *corev1.Pod, asked time.Duration) *corev1.Pod {
		p = p.DeepCopy()
		p.DeletionTimestamp, p.DeletionGracePeriodSeconds = new(metav1.NewTime(noon.Add(asked+45*time.Second))), new(int64(45))
		return p
	}
	nodes := []*corev1.Node{readyNode("a", noon.Add(-time.Hour)), readyNode("b", noon.Add(-time.Hour)), {ObjectMeta: metav1.ObjectMeta{Name: "lost"}}}
	var l Learner
	if _, err := l.World(); err == nil || !strings.Contains(err.Error(), "nothing to learn") {
		t.Errorf("without a look: %v", err)
	}
	see := func(at time.Duration, pods ...*corev1.Pod) {
		l.See(&objects.Input{Nodes: nodes, Pods: pods}, set, noon.Add(at))
	}
	a, b, lost := pod("a", "a", 8*time.Second), pod("b", "b", 8*time.Second), pod("lost", "lost", 8*time.Second)
	other := pod("other", "a", time.Hour)
	other.OwnerReferences[0].UID = "another"
	see(60*time.Second, a, b, lost, other)
	see(70*time.Second, leaving(a, 65*time.Second), b, leaving(lost, 65*time.Second))
	see(75*time.Second, leaving(a, 65*time.Second), leaving(b, 72*time.Second))
	see(77*time.Second, leaving(b, 72*time.Second)) // a took 12 s
	see(84*time.Second, pod("c", "a", 20*time.Second))
	world, err := l.World()
	if err != nil {
		t.Fatal(err)
	}
	const want = `# Times of monitoring/agent, seen from 2026-03-02T12:01:00Z to 2026-03-02T12:01:24Z, to the second.
model:
  kubelets:
  - ready: lognormal 8s p95 20s # from PodScheduled to Ready, with the pull of the image: 8s, and 19 of 20 no more than 20s of 3 pods
    stop: 12s # from the request to the end: 12s of 2 pods
`
	if world != want {
		t.Errorf("it has learnt\n%s\nwant\n%s", world, want)
	}
	file := write(t, "world.yaml", world)
	if out := answer(t, "forecast", "--nodes", "12", "--from", oldManifest, "--spec", newManifest, "--world", file, "--seeds", "2"); !strings.Contains(out, "every node is updated") {
		t.Errorf("a forecast with it says\n%s", out)
	}
}
