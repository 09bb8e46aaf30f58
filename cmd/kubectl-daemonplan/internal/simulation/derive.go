package simulation

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/text"
	"github.com/daemonplan/daemonplan/predownload"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/simulate"
)

// Derived is what the objects of a cluster tell about the times that a rollout will take there.
type Derived struct {
	Model simulate.Model
	// Grace is the grace period that each pod is taken to use up when it stops, because no object tells how long pods take to
	// stop; 0: objects tell it, or pods have no time to stop.
	Grace time.Duration
	// Sentences say what each time was derived from, and what the objects do not tell.
	Sentences []string
}

// atOnce is the model in which pods stop at once: with the other, in which each uses up its grace period, it bounds the truth.
func (d *Derived) atOnce() *Derived {
	quick := *d
	quick.Model.Kubelets = slices.Clone(d.Model.Kubelets)
	quick.Model.Kubelets[0].Stop = simulate.Distribution{}
	return &quick
}

// Derive reads off the nodes and the pods of a set how long pods take to be scheduled, to start and to stop, and how large
// the images of the spec are. The pods are those of the set (see [rollout.Claim]); none of the arguments is written to. The
// model has what can be derived:
//
//   - Schedule is the time from the creation of pods to their condition PodScheduled;
//   - the first rule of Kubelets is for all pods: Ready is the time from PodScheduled to Ready, with the pull of the image in it,
//     and Stop is the time from the event Killing of a pod to the creation of the one that took its place. Without such events
//     it is the grace period of the spec, the most that it can be;
//   - Registry.Sizes are the sizes of images that nodes report. Bandwidths stay unlimited, because the pulls are in the times
//     already;
//   - further rules of Kubelets are for pods that are in trouble now: those that crash, lack their image or hang go on to do so.
//
// Pods whose Ready condition may have changed for another reason than their start are left out: those with restarts, and
// those that became Ready with or after their node. The error says that no pod tells the times.
func Derive(
	nodes []*corev1.Node, pods []*corev1.Pod, events []*corev1.Event, spec rollout.Spec, now time.Time,
) (Derived, error) {
	nodeReady := make(map[string]time.Time)
	for _, node := range nodes {
		if at, ok := nodeReadySince(node); ok {
			nodeReady[node.Name] = at
		}
	}
	var scheduled, started []time.Duration
	for _, pod := range pods {
		bound, ready, ok := startOf(pod, nodeReady[pod.Spec.NodeName])
		if !ok {
			continue
		}
		started = append(started, ready.Sub(bound))
		if wait := bound.Sub(pod.CreationTimestamp.Time); !pod.CreationTimestamp.IsZero() && wait >= 0 {
			scheduled = append(scheduled, wait)
		}
	}
	name := text.Printable(spec.Default().Name)
	if len(started) == 0 {
		return Derived{}, fmt.Errorf("of the %s of %s none tells how long a start takes "+
			"(conditions PodScheduled and Ready, both True, and no restart)",
			text.Counted(len(pods), "pod"), name)
	}
	d := Derived{
		Model: simulate.Model{Schedule: distributionOf(scheduled)},
	}
	from := fmt.Sprintf("%s of %s", text.Counted(len(started), "pod"), name)
	ready := distributionOf(started)
	d.say("a pod takes %s from PodScheduled to Ready, with the pull of its image: from %s", inWords(started), from)
	if !d.Model.Schedule.IsZero() {
		d.say("it takes %s to be scheduled: from %s of %s", inWords(scheduled),
			text.Counted(len(scheduled), "pod"), name)
	}
	d.Model.Kubelets = []simulate.Kubelet{{Ready: ready, Stop: d.stop(pods, events, spec)}}
	d.sizes(nodes, &spec.Template.Spec)
	d.goOn(nodes, pods, now, slices.Max(started))
	d.say("each call of the controller succeeds, and the registry is as fast as asked: failures of both are not in the cluster")
	return d, nil
}

// stop is how long pods take to stop.
func (d *Derived) stop(pods []*corev1.Pod, events []*corev1.Event, spec rollout.Spec) simulate.Distribution {
	grace := 30 * time.Second
	if seconds := spec.Template.Spec.TerminationGracePeriodSeconds; seconds != nil {
		grace = time.Duration(*seconds) * time.Second
	}
	if took := stops(pods, events, grace); len(took) > 0 {
		of := distributionOf(took)
		d.say("it takes %s to stop: from the events of %s replaced", inWords(took),
			text.Agree(len(took), "pod that was", "pods that were"))
		return of
	}
	d.Grace = grace
	d.say("it takes up to %s to stop, its grace period: how long pods take is not known; the events of pods that were replaced "+
		"in the last hour tell it, if the dump has them (kubectl get nodes,pods,controllerrevisions,ds,events -A), and so does "+
		"kubectl daemonplan watch --learn during a rollout; --world takes it as stop in kubelets", asDuration(float64(d.Grace)))
	return simulate.Fixed(d.Grace)
}

// stops are the times that pods took to stop, as far as events tell: from the event Killing, which the kubelet of a node writes
// when it begins to stop the containers of a pod, to the creation of the pod that took its place. A controller creates that one
// when the first is gone, but for surge: with surge it is there before, and tells nothing.
func stops(pods []*corev1.Pod, events []*corev1.Event, grace time.Duration) []time.Duration {
	alive := make(map[types.UID]bool, len(pods))
	for _, pod := range pods {
		alive[pod.UID] = true
	}
	begun := make(map[types.UID]time.Time) // each of a pod's containers has an event of its own
	where := make(map[types.UID]string)
	for _, event := range events {
		of := event.InvolvedObject
		at := event.FirstTimestamp.Time
		if at.IsZero() {
			at = event.EventTime.Time
		}
		if event.Reason != killing || of.Kind != "Pod" || of.UID == "" || alive[of.UID] || at.IsZero() {
			continue
		}
		if first, seen := begun[of.UID]; !seen || at.Before(first) {
			begun[of.UID] = at
			where[of.UID] = placeOf(cmp.Or(event.Source.Host, event.ReportingInstance), of.Namespace, of.Name)
		}
	}
	stopped := make(map[string][]time.Time)
	for uid, at := range begun {
		stopped[where[uid]] = append(stopped[where[uid]], at)
	}
	var took []time.Duration
	for _, pod := range pods {
		var last time.Time
		for _, at := range stopped[placeOf(pod.Spec.NodeName, pod.Namespace, pod.Name)] {
			if at.After(last) && !at.After(pod.CreationTimestamp.Time) {
				last = at
			}
		}
		// What took longer than a pod may take was no replacement: the node was away meanwhile, or not to run the pod.
		if wait := pod.CreationTimestamp.Sub(last); !last.IsZero() && wait <= grace+time.Second {
			took = append(took, wait)
		}
	}
	return took
}

// killing is the reason of the event that a kubelet writes when it begins to stop a container.
const killing = "Killing"

// placeOf is the same for the pods of one set on one node: their names differ after the last dash only.
func placeOf(node, namespace, pod string) string {
	set := pod
	if dash := strings.LastIndex(pod, "-"); dash > 0 {
		set = pod[:dash]
	}
	return node + "/" + namespace + "/" + set
}

func (d *Derived) say(format string, arguments ...any) {
	d.Sentences = append(d.Sentences, fmt.Sprintf(format, arguments...))
}

// sizes looks up how large the images of the template are. The size of an image that is on no node is taken from another
// one of the same repository.
func (d *Derived) sizes(nodes []*corev1.Node, template *corev1.PodSpec) {
	sizes := make(map[string]int64)
	byRepository := make(map[string]int64)
	for _, node := range nodes {
		for i := range node.Status.Images {
			image := &node.Status.Images[i]
			for _, name := range image.Names {
				sizes[name] = max(sizes[name], image.SizeBytes)
				byRepository[repository(name)] = max(byRepository[repository(name)], image.SizeBytes)
			}
		}
	}
	var known, unknown []string
	for _, image := range predownload.Images(&corev1.PodTemplateSpec{Spec: *template}) {
		size, like := sizes[image], ""
		if size == 0 {
			size, like = byRepository[repository(image)], ", as other versions of it"
		}
		switch name := text.Printable(image); {
		case slices.Contains(unknown, name) || d.Model.Registry.Sizes[image] > 0:
		case size <= 0:
			unknown = append(unknown, name)
		default:
			if d.Model.Registry.Sizes == nil {
				d.Model.Registry.Sizes = make(map[string]int64)
			}
			d.Model.Registry.Sizes[image] = size
			known = append(known, fmt.Sprintf("%s has %s%s", name, asBytes(float64(size)), like))
		}
	}
	if len(known) > 0 {
		d.say("%s: from the images that nodes report", strings.Join(known, ", "))
	}
	if len(unknown) > 0 {
		d.say("the size of %s is unknown, because no node reports such an image: bytes from the registry are not counted",
			strings.Join(unknown, ", "))
	}
}

// repository is the image without its tag and digest.
func repository(image string) string {
	image, _, _ = strings.Cut(image, "@")
	if colon := strings.LastIndex(image, ":"); colon > strings.LastIndex(image, "/") {
		image = image[:colon]
	}
	return image
}

// startOf is when the pod was scheduled and when it became Ready, if that was its start.
func startOf(pod *corev1.Pod, node time.Time) (bound, ready time.Time, ok bool) {
	for i := range pod.Status.Conditions {
		c := &pod.Status.Conditions[i]
		if c.Status != corev1.ConditionTrue {
			continue
		}
		switch c.Type {
		case corev1.PodScheduled:
			bound = c.LastTransitionTime.Time
		case corev1.PodReady:
			ready = c.LastTransitionTime.Time
		default: // another condition
		}
	}
	for i := range pod.Status.ContainerStatuses {
		if pod.Status.ContainerStatuses[i].RestartCount > 0 {
			return bound, ready, false
		}
	}
	back := !node.IsZero() && node.After(bound) && !ready.Before(node)
	return bound, ready, !bound.IsZero() && !ready.IsZero() && !ready.Before(bound) && !back
}

// nodeReadySince is since when a node is Ready.
func nodeReadySince(node *corev1.Node) (time.Time, bool) {
	for i := range node.Status.Conditions {
		c := &node.Status.Conditions[i]
		if c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue {
			return c.LastTransitionTime.Time, true
		}
	}
	return time.Time{}, false
}

// distributionOf is a distribution with the median and the 95th percentile of the times. Objects have whole seconds, so a
// median of 0 means less than one.
func distributionOf(times []time.Duration) simulate.Distribution {
	if len(times) == 0 {
		return simulate.Distribution{}
	}
	slices.Sort(times)
	median, p95 := times[(len(times)-1)/2], times[(len(times)*95+99)/100-1]
	if median == 0 {
		return simulate.Uniform(0, max(p95, time.Second))
	}
	if median == p95 {
		return simulate.Fixed(median)
	}
	return simulate.LogNormal(median, p95)
}

// inWords says the median and the 95th percentile of sorted times.
func inWords(sorted []time.Duration) string {
	median, p95 := sorted[(len(sorted)-1)/2], sorted[(len(sorted)*95+99)/100-1]
	text := asDuration(float64(median))
	if median == 0 {
		text = "less than 1s"
	}
	if p95 > median {
		text += ", and 19 of 20 no more than " + asDuration(float64(p95))
	}
	return text
}
