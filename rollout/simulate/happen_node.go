package simulate

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daemonplan/daemonplan/internal/kubelet"
)

// What events do to nodes.

// join adds the nodes of a pool. Their numbers go on after those of earlier nodes.
func (s *Simulation) join(pool *Pool) {
	first := s.joined[pool.Name] // a number is never used again
	s.joined[pool.Name] = first + pool.Nodes
	if s.pools[pool.Name] == nil {
		s.pools[pool.Name] = pool
	}
	m := pool.maker(s.stamp())
	for i := range pool.Nodes {
		n := s.setNode(m.node(first + i))
		s.showNode(n, n.object)
		s.observe(n)
	}
}

// silence makes a kubelet fall silent, or report again.
func (s *Simulation) silence(n *node, silent bool) {
	if n.silent == silent {
		return
	}
	n.silent = silent
	status, taints := corev1.ConditionTrue, reachable(n.object.Spec.Taints)
	if silent {
		status = corev1.ConditionUnknown
		taints = append(taints, unreachable(corev1.TaintEffectNoSchedule), unreachable(corev1.TaintEffectNoExecute))
	}
	s.changeNode(n, func(object *corev1.Node) {
		object.Spec.Taints = taints
		since := s.stamp()
		if s.elapsed == 0 {
			since = since.Add(-downBefore)
		}
		setNodeReady(object, status, since)
	})
	for _, p := range slices.Clone(n.pods) {
		object := statusCopy(p.object)
		if !silent && object.Spec.NodeName != "" && object.Status.StartTime == nil { // it was bound while the kubelet was silent
			kubelet.Notice(object, s.stamp())
		}
		s.report(p, object)
		s.changePod(p, object)
	}
	if silent {
		return
	}
	late := n.late
	n.late = nil
	for _, pull := range late {
		s.pulledImage(pull)
	}
	for _, a := range n.ahead {
		s.registry.begin(s.elapsed, n.name, n.zone, a.image, s.bandwidth(n))
	}
}

// downBefore is for how long a node has been down that is so at the first instant of a run. It is longer than a second, because
// policies ask what was first, the outage of a node or its update, and take instants by the second (B9).
const downBefore = time.Minute

// reachable returns the taints without those that a node has because it is not Ready.
func reachable(taints []corev1.Taint) []corev1.Taint {
	return slices.DeleteFunc(slices.Clone(taints), func(t corev1.Taint) bool {
		return t.Key == corev1.TaintNodeUnreachable || t.Key == corev1.TaintNodeNotReady
	})
}

func unreachable(effect corev1.TaintEffect) corev1.Taint {
	return corev1.Taint{Key: corev1.TaintNodeUnreachable, Effect: effect}
}

func setNodeReady(n *corev1.Node, status corev1.ConditionStatus, now time.Time) {
	setNodeCondition(n, corev1.NodeReady, status, now)
}

// setNodeCondition sets a condition of the node. One that has the status already keeps its time.
func setNodeCondition(n *corev1.Node, kind corev1.NodeConditionType, status corev1.ConditionStatus, now time.Time) {
	for i := range n.Status.Conditions {
		if c := &n.Status.Conditions[i]; c.Type == kind {
			if c.Status != status {
				c.Status, c.LastTransitionTime = status, metav1.NewTime(now)
			}
			return
		}
	}
	n.Status.Conditions = append(n.Status.Conditions, corev1.NodeCondition{
		Type: kind, Status: status, LastTransitionTime: metav1.NewTime(now),
	})
}

func (s *Simulation) maintain(n *node, status corev1.ConditionStatus) {
	s.changeNode(n, func(object *corev1.Node) { setNodeCondition(object, maintenanceInProgress, status, s.stamp()) })
}

func (s *Simulation) cordon(n *node, cordoned bool) {
	taint := corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule}
	s.changeNode(n, func(object *corev1.Node) {
		object.Spec.Unschedulable = cordoned
		object.Spec.Taints = withoutTaint(object.Spec.Taints, taint)
		if cordoned {
			object.Spec.Taints = append(object.Spec.Taints, taint)
		}
	})
}

func (s *Simulation) taint(n *node, taint corev1.Taint, on bool) {
	s.changeNode(n, func(object *corev1.Node) {
		object.Spec.Taints = withoutTaint(object.Spec.Taints, taint)
		if on {
			taint.TimeAdded = new(metav1.NewTime(s.stamp()))
			object.Spec.Taints = append(object.Spec.Taints, taint)
		}
	})
}

func withoutTaint(taints []corev1.Taint, taint corev1.Taint) []corev1.Taint {
	return slices.DeleteFunc(slices.Clone(taints), func(t corev1.Taint) bool {
		return t.Key == taint.Key && t.Effect == taint.Effect
	})
}

func (s *Simulation) label(n *node, labels map[string]string) {
	s.changeNode(n, func(object *corev1.Node) {
		if object.Labels == nil {
			object.Labels = map[string]string{}
		}
		for key, value := range labels {
			if value == "" {
				delete(object.Labels, key)
			} else {
				object.Labels[key] = value
			}
		}
	})
	s.recordLabels(n)
}
