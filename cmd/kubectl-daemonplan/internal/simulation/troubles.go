package simulation

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/text"
	"github.com/daemonplan/daemonplan/internal/kubelet"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/rollout/simulate"
)

// What is wrong with pods in a dump goes on in the simulation, until a rollout changes what causes it: another revision is
// another version, which may be mended.

// trouble is what is wrong with a pod.
type trouble uint8

const (
	noTrouble trouble = iota
	crashes
	noImage
	hangs

	troubles // count
)

// words say what pods with the trouble go on to do.
func (t trouble) words() string {
	return [troubles]string{
		crashes: "crash", noImage: "lack their image, which cannot be pulled", hangs: "run and are not ready",
	}[t]
}

// rule is what a kubelet does to pods with the trouble.
func (t trouble) rule(revision string, crash time.Duration) simulate.Kubelet {
	rule := simulate.Kubelet{Revision: revision}
	switch t {
	case crashes: // before it is ready: between two crashes it does not serve
		rule.Crash, rule.NeverReady = simulate.Fixed(crash), new(true)
	case noImage:
		rule.NoImage = new(true)
	case hangs:
		rule.NeverReady = new(true)
	default:
	}
	return rule
}

// patience is how long a pod that runs may take to be ready before it is taken to hang, at least.
const patience = 2 * time.Minute

// usualCrash is the time from the start of a container to its crash, where no status tells it.
const usualCrash = 10 * time.Second

// mostNodeRules is for how many nodes a dump has rules of their own. Of more, the share of the revision's pods goes on.
const mostNodeRules = 50

// troubleOf reports what is wrong with a pod that is bound and does not terminate. Longest is how long starts take.
func troubleOf(pod *corev1.Pod, now time.Time, longest time.Duration) trouble {
	if pod.DeletionTimestamp != nil || pod.Spec.NodeName == "" || lifecycle.Terminal(pod) || lifecycle.Ready(pod) {
		return noTrouble
	}
	switch kubelet.WaitingFor(pod) {
	case kubelet.CrashLoopBackOff:
		return crashes
	case "ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull":
		return noImage
	case "":
	default:
		return noTrouble // it starts
	}
	if pod.Status.Phase != corev1.PodRunning {
		return noTrouble
	}
	since := pod.CreationTimestamp.Time
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == corev1.PodReady && c.LastTransitionTime.After(since) {
			since = c.LastTransitionTime.Time
		}
	}
	if since.IsZero() || now.Sub(since) < max(patience, 2*longest) {
		return noTrouble
	}
	return hangs
}

// crashOf is how long the container of the pod ran before it crashed last; 0: no status tells it.
func crashOf(pod *corev1.Pod) time.Duration {
	for i := range pod.Status.ContainerStatuses {
		last := pod.Status.ContainerStatuses[i].LastTerminationState.Terminated
		if last != nil && last.FinishedAt.After(last.StartedAt.Time) {
			return last.FinishedAt.Sub(last.StartedAt.Time)
		}
	}
	return 0
}

// goOn adds rules to the derived world by which the pods that are in trouble, and those that are made of the same revision on
// their nodes, are so in the simulation. If most pods of a revision are in trouble, so is that share of all pods that are made of
// it.
func (d *Derived) goOn(nodes []*corev1.Node, pods []*corev1.Pod, now time.Time, longest time.Duration) {
	byName := make(map[string]*corev1.Node, len(nodes))
	for _, node := range nodes {
		byName[node.Name] = node
	}
	type kind struct {
		revision string
		trouble  trouble
	}
	found := make(map[kind][]*corev1.Pod)
	fine, judged := make(map[string]int), make(map[string]int) // by revision; judged are those that are fine or in any trouble
	for _, pod := range pods {
		revision := pod.Labels[appsv1.DefaultDaemonSetUniqueLabelKey]
		node := byName[pod.Spec.NodeName]
		if node == nil || revision == "" || !isUp(node) {
			continue // what is wrong is the node
		}
		if of := troubleOf(pod, now, longest); of != noTrouble {
			found[kind{revision, of}] = append(found[kind{revision, of}], pod)
			judged[revision]++
		} else if lifecycle.Ready(pod) {
			fine[revision]++
			judged[revision]++
		}
	}
	kinds := slices.SortedFunc(maps.Keys(found), func(a, b kind) int {
		return cmp.Or(strings.Compare(a.revision, b.revision), cmp.Compare(a.trouble, b.trouble))
	})
	for _, k := range kinds {
		bad := found[k]
		var times []time.Duration
		for _, pod := range bad {
			if ran := crashOf(pod); ran > 0 {
				times = append(times, ran)
			}
		}
		crash := usualCrash
		if len(times) > 0 {
			slices.Sort(times)
			crash = times[len(times)/2]
		}
		all := judged[k.revision]
		pods, revision := text.Counted(all, "pod"), text.Printable(k.revision)
		if len(bad) > 1 && len(bad) >= fine[k.revision] || len(bad) > mostNodeRules {
			rule := k.trouble.rule(k.revision, crash)
			if len(bad) < all {
				rule.Share = float64(len(bad)) / float64(all)
			}
			d.Model.Kubelets = append(d.Model.Kubelets, rule)
			d.say("pods of revision %s go on to %s, as %d of its %s do", revision, k.trouble.words(), len(bad), pods)
			continue
		}
		var names []string
		for _, pod := range bad {
			if hostname := byName[pod.Spec.NodeName].Labels[corev1.LabelHostname]; hostname != "" {
				rule := k.trouble.rule(k.revision, crash)
				rule.Nodes = map[string]string{corev1.LabelHostname: hostname}
				d.Model.Kubelets = append(d.Model.Kubelets, rule)
				names = append(names, pod.Spec.NodeName)
			}
		}
		if len(names) > 0 {
			slices.Sort(names)
			d.say("pods of revision %s go on to %s on %s, as %d of its %s do", revision, k.trouble.words(),
				text.Some(names), len(names), pods)
		}
	}
}

// isUp reports whether the node says that it is Ready, or says nothing.
func isUp(node *corev1.Node) bool {
	for i := range node.Status.Conditions {
		if c := &node.Status.Conditions[i]; c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return true
}
