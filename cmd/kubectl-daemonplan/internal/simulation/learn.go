package simulation

import (
	"cmp"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/text"
	"github.com/daemonplan/daemonplan/rollout"
)

// Learner learns from a cluster that is watched how long the pods of a set take to start and to stop. The zero value has seen
// nothing.
type Learner struct {
	set              string
	first, last      time.Time
	pods             map[types.UID]*learntPod
	started, stopped []time.Duration
}

// learntPod is a pod of the set that was there at the last look.
type learntPod struct {
	stopping time.Time // when it was asked to stop; zero: it was not
	started  bool      // how long its start took is known
	healthy  bool      // its node was Ready: on others pods wait for the node
	seen     time.Time
}

// See looks at the cluster at a time, which is later than that of the look before. Pods that were there before the first look are
// learnt from, too: their conditions tell how long they took to start.
func (l *Learner) See(in *objects.Input, set *objects.Set, now time.Time) {
	claims, err := rollout.Claim(set.Spec, in.Pods)
	if err != nil {
		return // the plan says so
	}
	if l.pods == nil {
		l.pods, l.first = make(map[types.UID]*learntPod), now
	}
	l.set, l.last = set.FullName(), now
	ready := make(map[string]time.Time, len(in.Nodes))
	for _, node := range in.Nodes {
		if at, ok := nodeReadySince(node); ok {
			ready[node.Name] = at
		}
	}
	for _, pod := range claims.Pods {
		since, healthy := ready[pod.Spec.NodeName]
		l.see(pod, since, healthy, now)
	}
	for uid, pod := range l.pods {
		if pod.seen.Equal(now) {
			continue
		}
		delete(l.pods, uid)
		if pod.healthy && !pod.stopping.IsZero() {
			l.stopped = append(l.stopped, max(now.Sub(pod.stopping), 0).Round(time.Second))
		}
	}
}

// see looks at a pod, whose node is Ready since then if it is healthy.
func (l *Learner) see(pod *corev1.Pod, since time.Time, healthy bool, now time.Time) {
	known := l.pods[pod.UID]
	if known == nil {
		known = &learntPod{}
		l.pods[pod.UID] = known
	}
	known.seen, known.healthy = now, healthy
	if !known.started && healthy {
		if bound, ready, ok := startOf(pod, since); ok {
			known.started = true
			l.started = append(l.started, ready.Sub(bound))
		}
	}
	if at := pod.DeletionTimestamp; at != nil && known.stopping.IsZero() {
		known.stopping = at.Time
		if grace := pod.DeletionGracePeriodSeconds; grace != nil { // the timestamp is when that is over
			known.stopping = known.stopping.Add(-time.Duration(*grace) * time.Second)
		}
	}
}

// World is a world file with the times that were learnt. The error says that there are none.
func (l *Learner) World() (string, error) {
	if len(l.started)+len(l.stopped) == 0 {
		return "", fmt.Errorf("no pod of %s started or stopped, so that there is nothing to learn",
			cmp.Or(text.Printable(l.set), "the set"))
	}
	line := func(name, what string, times []time.Duration) string {
		if len(times) == 0 {
			return fmt.Sprintf("# %s: no pod was seen to do that: %s", name, what)
		}
		return fmt.Sprintf("%s: %s # %s: %s of %s", name, distributionOf(times), what, inWords(times),
			text.Counted(len(times), "pod"))
	}
	return fmt.Sprintf("# Times of %s, seen from %s to %s, to the second.\nmodel:\n  kubelets:\n  - %s\n    %s\n",
		text.Printable(l.set), l.first.UTC().Format(time.RFC3339), l.last.UTC().Format(time.RFC3339),
		line("ready", "from PodScheduled to Ready, with the pull of the image", l.started),
		line("stop", "from the request to the end", l.stopped)), nil
}
