package outage

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/lifecycle"
)

// Outage is how a node is out. The zero value is a node that is not.
type Outage struct {
	// Out reports whether the node is departing, or its condition Ready is not True (B9). A node without the condition is out.
	Out bool
	// Departing reports whether the node is on its way out of the cluster, or under maintenance (M8).
	Departing bool
	// Draining reports whether the node is being drained, or has been: its condition DrainInProgress or Drained is True (M8).
	// That alone does not make it out: drains pass daemons by.
	Draining bool
	// DrainingSince is since when, by the first of the two conditions. Zero: unknown, or the node is not draining.
	DrainingSince time.Time
	// Since is when the node was first seen to be out. Zero: unknown.
	Since time.Time
}

// Of returns how the node is out. A nil node is not.
func (o Options) Of(node *corev1.Node) Outage {
	var out Outage
	if node == nil {
		return out
	}
	if node.DeletionTimestamp != nil {
		out.depart(requested(node.DeletionTimestamp, node.DeletionGracePeriodSeconds))
	}
	for i := range node.Spec.Taints {
		taint := &node.Spec.Taints[i]
		if !slices.Contains(departingTaints[:], taint.Key) && !slices.Contains(o.Taints, taint.Key) {
			continue
		}
		var since time.Time
		if taint.TimeAdded != nil {
			since = taint.TimeAdded.Time
		}
		out.depart(since)
	}
	ready := false
	for i := range node.Status.Conditions {
		c := &node.Status.Conditions[i]
		switch {
		case c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue:
			ready = true
		case c.Type == corev1.NodeReady:
			out.add(c.LastTransitionTime.Time)
		case c.Status != corev1.ConditionTrue:
		case slices.Contains(departingConditions[:], c.Type) || slices.Contains(o.Conditions, string(c.Type)):
			out.depart(c.LastTransitionTime.Time)
		case c.Type == corev1.NodeDrainInProgress || c.Type == corev1.NodeDrained:
			out.Draining, out.DrainingSince = true, earlierKnown(out.DrainingSince, c.LastTransitionTime.Time)
		}
	}
	out.Out = out.Out || !ready
	return out
}

// add records a sign that the node is out, since an instant that is zero if it is unknown.
func (out *Outage) add(since time.Time) {
	out.Out = true
	out.Since = earlierKnown(out.Since, since)
}

// earlierKnown is the earlier of two instants, of which one that is unknown is zero.
func earlierKnown(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

func (out *Outage) depart(since time.Time) {
	out.Departing = true
	out.add(since)
}

// Update is what the pods of a node say of its update. The zero value is that of a node without pods.
type Update struct {
	// began is when the update of the node began, if it has; zero: it has not.
	began time.Time
	// someBegan reports whether the update has begun, also if it is not known when.
	someBegan bool
	// notBefore is when the update can have begun at the earliest; zero: nobody knows.
	notBefore time.Time
	// started reports whether a kubelet has started a pod of the new revision, unseen whether one may have.
	started, unseen bool
	// accused reports whether a tie speaks for the update.
	accused bool
	// inHook reports whether a pod is in a hook, or is prepared for its update in place. Then nothing is proven by what ran.
	inHook bool
	// news counts the new pods. ranSince is when the last container of the only one started; zero: not all have.
	news     int
	ranSince time.Time
}

// NewPod adds a pod of the revision where the node is to end, also one that is marked for deletion or has ended. A nil pod is
// passed over.
func (u *Update) NewPod(pod *corev1.Pod) {
	if pod == nil {
		return
	}
	u.inHook = u.inHook || hooked(pod)
	u.news++
	u.ranSince = containersRunSince(pod)
	state, err := inplace.StateOf(pod)
	switch {
	case err != nil:
		u.begin(time.Time{})
		u.started, u.ranSince = true, time.Time{} // nor is it known since when its containers run what they should
	case state != nil:
		updated := state.UpdateTimestamp.Time
		u.begin(updated)
		if !u.ranSince.IsZero() && u.ranSince.Before(updated) {
			u.ranSince = updated // what ran before was another revision, also in containers that were not restarted
		}
		u.started = u.started || inplace.Completed(pod).Done || anyStartedSince(pod, updated)
	default:
		u.begin(pod.CreationTimestamp.Time)
		u.started = u.started || pod.Status.StartTime != nil
	}
}

// OutdatedPod adds a pod of any other revision. If its deletion was requested, or a hook was asked to let it go or be
// updated, the update of the node has begun: what the hook's handlers do may take the node down. A nil pod is passed over.
func (u *Update) OutdatedPod(pod *corev1.Pod) {
	if pod == nil {
		return
	}
	if hooked(pod) {
		u.inHook = u.inHook || pod.DeletionTimestamp == nil
		u.begin(askedAt(pod))
	}
	if pod.DeletionTimestamp != nil {
		u.begin(requested(pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds))
	}
}

// Requested records that the deletion of an outdated pod was requested and is not seen yet: the update of the node began not
// later than now.
func (u *Update) Requested(now time.Time) { u.begin(now) }

// Unseen records that a request is not seen yet which may have brought the new revision to the node: the creation of a pod, or a
// patch of an outdated one. A kubelet may have started it by now, and nobody knows when, so that the outage may be its doing.
func (u *Update) Unseen() {
	u.begin(time.Time{})
	u.unseen = true
}

// NotBefore records that the new revision did not exist before that instant, so that no update to it began before. What an object
// says of an earlier one is wrong.
func (u *Update) NotBefore(at time.Time) { u.notBefore = at }

// Accuse records that the question is whether the update is to blame for the outage, and not whether the node may be left out.
// What happened in one second is then no evidence against the update, as it is no evidence for it otherwise.
func (u *Update) Accuse() { u.accused = true }

// SomeBegan reports whether the update of the node has begun, as far as its pods and requests show.
func (u *Update) SomeBegan() bool { return u.someBegan }

// Began returns when the update of the node began. It is zero if that is unknown, and ok is false if it has not begun.
func (u *Update) Began() (at time.Time, ok bool) { return u.began, u.someBegan }

// begin records that the update has begun, at an instant that is zero if it is unknown. An unknown one is earlier than any other.
func (u *Update) begin(at time.Time) {
	if !u.someBegan || at.Before(u.began) {
		u.began = at
	}
	u.someBegan = true
}

// hooked reports whether the pod is in a hook, or prepared for its update in place.
func hooked(pod *corev1.Pod) bool {
	state := lifecycle.StateOf(pod)
	return state != "" && state != lifecycle.Normal || inplace.Preparing(pod)
}

// askedAt returns since when a pod is in its hook, or prepared; zero: nobody knows.
func askedAt(pod *corev1.Pod) time.Time {
	if state := lifecycle.StateOf(pod); state != "" && state != lifecycle.Normal {
		asked, _ := time.Parse(time.RFC3339, pod.Annotations[lifecycle.TimestampAnnotation]) // zero if it cannot be read
		return asked
	}
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == lifecycle.InPlaceUpdateReady {
			return c.LastTransitionTime.Time
		}
	}
	return time.Time{}
}

// Excuses reports whether the update has not caused the outage of its node (B9): the node went down before its update began, and
// no kubelet has started the new pod; or, with ProvenAfter, the containers of the node's new pod had all run for so long when it
// went down, and no pod is in a hook. A node that is not out is not excused. Instants are compared in whole seconds.
func (o Options) Excuses(out Outage, u *Update) bool {
	down, began := out.Since.Unix(), u.began.Unix()
	if !u.unseen {
		began = max(began, u.notBefore.Unix())
	}
	switch {
	case !out.Out:
		return false
	case !u.someBegan:
		return true
	case out.Since.IsZero():
		return false
	case (down < began || down == began && u.accused) && !u.started:
		return true
	default:
		proven := o.ProvenAfter > 0 && u.news == 1 && !u.inHook && !u.ranSince.IsZero()
		return proven && !u.ranSince.Add(o.ProvenAfter).After(out.Since)
	}
}

// requested returns when the deletion of an object was requested. The timestamp on the object is when its grace period ends.
func requested(deletion *metav1.Time, graceSeconds *int64) time.Time {
	if graceSeconds == nil {
		return deletion.Time
	}
	return deletion.Add(-time.Duration(max(min(*graceSeconds, maxGraceSeconds), 0)) * time.Second)
}

// maxGraceSeconds is more than any grace period, and keeps a duration from overflowing.
const maxGraceSeconds = 1 << 32

// containersRunSince returns when the last of the pod's containers started; zero: one has not, or it is not known.
func containersRunSince(pod *corev1.Pod) time.Time {
	var last time.Time
	for i := range pod.Spec.Containers {
		s := statusOf(pod.Status.ContainerStatuses, pod.Spec.Containers[i].Name)
		if s == nil {
			return time.Time{}
		}
		started := startedAt(&s.State)
		if started.IsZero() {
			return time.Time{}
		}
		if started.After(last) {
			last = started
		}
	}
	return last
}

// anyStartedSince reports whether a container of the pod started at an instant or later, in whole seconds.
func anyStartedSince(pod *corev1.Pod, at time.Time) bool {
	for _, statuses := range [...][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for i := range statuses {
			for _, state := range [...]*corev1.ContainerState{&statuses[i].State, &statuses[i].LastTerminationState} {
				if started := startedAt(state); !started.IsZero() && started.Unix() >= at.Unix() {
					return true
				}
			}
		}
	}
	return false
}

func startedAt(state *corev1.ContainerState) time.Time {
	switch {
	case state.Running != nil:
		return state.Running.StartedAt.Time
	case state.Terminated != nil:
		return state.Terminated.StartedAt.Time
	default:
		return time.Time{}
	}
}

func statusOf(statuses []corev1.ContainerStatus, name string) *corev1.ContainerStatus {
	for i := range statuses {
		if statuses[i].Name == name {
			return &statuses[i]
		}
	}
	return nil
}
