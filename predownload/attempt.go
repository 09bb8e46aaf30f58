package predownload

import (
	"cmp"
	"math"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// Attempt is one pull of an image on a node, as read from the object that [PullPod] or [PullJob] has made.
type Attempt struct {
	Request
	// Set is the UID of the set that it is made for, UID that of the object.
	Set, UID types.UID
	// Outcome so far. See [Attempt.At].
	Outcome PullOutcome
	// Due is when it should have ended, whatever its object shows, because a pod that no kubelet takes never ends by itself.
	// Zero: it has no deadline, or no creation time.
	Due time.Time
}

// At returns the outcome at an instant: an attempt that still runs when it is due has failed.
func (a Attempt) At(now time.Time) PullOutcome {
	if a.Outcome == Running && !a.Due.IsZero() && !now.Before(a.Due) {
		return Failed
	}
	return a.Outcome
}

// startWithin is how long after its creation a pull may begin before it is given up. Its deadline counts from when it begins.
const startWithin = time.Minute

// longestDeadline, in seconds, is the longest that a pod may have. With a longer one a time could overflow.
const longestDeadline = math.MaxInt32

// PullOutcome is how an attempt stands.
type PullOutcome uint8

// The outcomes.
const (
	// Running: it has not ended.
	Running PullOutcome = iota
	// Pulled: the image is on the node.
	Pulled
	// Failed: it has ended, and the image is not known to be there.
	Failed

	outcomes // count
)

// String returns the outcome in one word.
func (o PullOutcome) String() string {
	names := [outcomes]string{"running", "pulled", "failed"}
	if o >= outcomes {
		return "unknown"
	}
	return names[o]
}

// AttemptOf reads an object that [PullPod] or [PullJob] has made: a *corev1.Pod or an *unstructured.Unstructured. It returns
// false for any other object, nil included. The label alone does not make a pull: the set must be among the owners, and the
// object must have no controller, so that a pod of a set cannot be passed off as a pull.
func AttemptOf(object metav1.Object) (Attempt, bool) {
	var outcome PullOutcome
	var deadline int64
	switch object := object.(type) {
	case *corev1.Pod:
		if object == nil {
			return Attempt{}, false
		}
		outcome = podOutcome(object)
		if object.Spec.ActiveDeadlineSeconds != nil {
			deadline = *object.Spec.ActiveDeadlineSeconds
		}
	case *unstructured.Unstructured:
		if object == nil || object.GroupVersionKind().GroupKind() != PullJobKind().GroupKind() {
			return Attempt{}, false
		}
		outcome = jobOutcome(object.Object)
		deadline, _, _ = unstructured.NestedInt64(object.Object, "spec", "completionPolicy", "activeDeadlineSeconds")
	default:
		return Attempt{}, false
	}
	set := types.UID(object.GetLabels()[SetLabel])
	owners := object.GetOwnerReferences()
	if set == "" || !slices.ContainsFunc(owners, func(o metav1.OwnerReference) bool { return o.UID == set }) ||
		slices.ContainsFunc(owners, func(o metav1.OwnerReference) bool { return o.Controller != nil && *o.Controller }) {
		return Attempt{}, false
	}
	attempt := Attempt{
		Request: Request{Node: object.GetAnnotations()[NodeAnnotation], Image: object.GetAnnotations()[ImageAnnotation]},
		Set:     set, UID: object.GetUID(), Outcome: outcome,
	}
	if created := object.GetCreationTimestamp(); deadline > 0 && !created.IsZero() {
		attempt.Due = created.Add(startWithin + time.Duration(min(deadline, longestDeadline))*time.Second)
	}
	return attempt, true
}

// podOutcome reads the only container of a pod that pulls. If it fails after its image was pulled, the image is on the node.
func podOutcome(pod *corev1.Pod) PullOutcome {
	for i := range pod.Status.ContainerStatuses {
		c := &pod.Status.ContainerStatuses[i]
		if c.ImageID != "" || c.State.Waiting != nil && slices.Contains(pulledReasons, c.State.Waiting.Reason) {
			return Pulled
		}
	}
	if pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded {
		return Failed
	}
	return Running
}

// pulledReasons are the reasons for which a container waits after its image was pulled.
var pulledReasons = []string{"CreateContainerError", "CreateContainerConfigError", "RunContainerError"}

// jobOutcome reads the counters of an ImagePullJob for one node.
func jobOutcome(object map[string]any) PullOutcome {
	succeeded, _, _ := unstructured.NestedInt64(object, "status", "succeeded")
	failed, _, _ := unstructured.NestedInt64(object, "status", "failed")
	_, complete, _ := unstructured.NestedString(object, "status", "completionTime")
	switch {
	case succeeded > 0:
		return Pulled
	case failed > 0 || complete:
		return Failed
	default:
		return Running
	}
}

// Progress is what the attempts of a set mean for its next snapshot.
type Progress struct {
	// InFlight are the attempts that run. They are for rollout.InFlight.Pulls.
	InFlight []Request
	// Failures are the earlier failures with those of attempts that had not been counted. They are for
	// rollout.Snapshot.FailedPulls.
	Failures []Failure
	// Counted are the UIDs of failed attempts, to be passed to the next call of [Track].
	Counted []types.UID
	// Wake is when the first attempt that runs is due. Plan again then. Zero: never.
	Wake time.Time
	// Pulled are the pulled images by node. A kubelet may report them later, or never, because it reports only so many. Pass
	// rollout.Snapshot.Nodes with them; see [Progress.WithImages].
	Pulled map[string][]string
}

// Track sums up the attempts of one set, whose order changes nothing. Failures and counted are those of the previous Progress.
func Track(now time.Time, attempts []Attempt, failures []Failure, counted []types.UID) Progress {
	p := Progress{Failures: slices.Clone(failures)}
	attempts = slices.SortedFunc(slices.Values(attempts), func(a, b Attempt) int {
		return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.Image, b.Image), cmp.Compare(a.UID, b.UID))
	})
	for _, a := range attempts {
		switch a.At(now) {
		case Pulled:
			if p.Pulled == nil {
				p.Pulled = make(map[string][]string)
			}
			p.Pulled[a.Node] = append(p.Pulled[a.Node], a.Image)
		case Failed:
			p.Counted = append(p.Counted, a.UID)
			if !slices.Contains(counted, a.UID) {
				p.fail(now, a.Request)
			}
		default:
			p.InFlight = append(p.InFlight, a.Request)
			if !a.Due.IsZero() && (p.Wake.IsZero() || a.Due.Before(p.Wake)) {
				p.Wake = a.Due
			}
		}
	}
	return p
}

func (p *Progress) fail(now time.Time, r Request) {
	at := slices.IndexFunc(p.Failures, func(f Failure) bool { return f.Node == r.Node && f.Image == r.Image })
	if at < 0 {
		p.Failures = append(p.Failures, Failure{Node: r.Node, Image: r.Image, Count: 1, At: now})
		return
	}
	p.Failures[at].Count = max(p.Failures[at].Count, 1) + 1
	p.Failures[at].At = now
}

// WithImages returns the nodes. Those on which images were pulled are copies that report these images. Nil nodes stay nil.
func (p Progress) WithImages(nodes []*corev1.Node) []*corev1.Node {
	if len(p.Pulled) == 0 {
		return nodes
	}
	nodes = slices.Clone(nodes)
	for i, node := range nodes {
		if node == nil || p.Pulled[node.Name] == nil {
			continue
		}
		nodes[i] = node.DeepCopy()
		for _, image := range p.Pulled[node.Name] {
			nodes[i].Status.Images = append(nodes[i].Status.Images, corev1.ContainerImage{Names: []string{image}})
		}
	}
	return nodes
}
