package draw

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/internal/harness"
	"github.com/daemonplan/daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/outage"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// drainedCondition is a condition by which specs tell departing nodes, beside those that all of them go by.
const drainedCondition = "Drained"

// drawOutages draws a policy for outages, for a third of the specs (B9, M8).
func drawOutages(t *rapid.T, spec *rollout.Spec) {
	if !pick(t, "outages", false, false, true) {
		return
	}
	options := outage.Options{
		ProvenAfter: pick(t, "proven after", 0, 0, time.Second, time.Minute, time.Hour),
		Touch:       pick(t, "touch", false, false, false, true),
	}
	if quantity := pick(t, "maxExempt", "1", "1", "", "0", "2", "50%", "100%"); quantity != "" {
		options.MaxExempt = new(intstr.Parse(quantity))
	}
	if pick(t, "more signs", false, false, true) {
		options.Taints, options.Conditions = []string{harness.TaintKey}, []string{drainedCondition}
	}
	kit.Outages(options)(spec)
}

// ages are how long ago things happened that B9 compares. They are drawn for nodes and pods alike, so that they tie.
func (f *fleet) age(t *rapid.T, label string) time.Duration {
	return pick(t, label, time.Minute, time.Minute, 0, time.Second, time.Minute-time.Second, time.Minute-time.Second/2, time.Hour,
		2*time.Hour)
}

// drawOutage draws how a node is out, if it is.
func (f *fleet) drawOutage(t *rapid.T) []kit.NodeOption {
	if f.spec.Strategy.Policy.Outages == nil {
		return nil
	}
	at := func() metav1.Time { return metav1.NewTime(kit.Noon().Add(-f.age(t, "out for"))) }
	timed := func(known bool) *metav1.Time {
		if !known {
			return nil
		}
		return new(at())
	}
	condition := func(kind corev1.NodeConditionType, status corev1.ConditionStatus, since metav1.Time) kit.NodeOption {
		return objects.NodeCondition(kind, status, since.Time)
	}
	taint := func(key string, since *metav1.Time) kit.NodeOption {
		return func(n *corev1.Node) {
			n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: key, Effect: corev1.TaintEffectNoSchedule, TimeAdded: since})
		}
	}
	switch pick(t, "out", "", "", "", "down", "down", "down", "unknown", "since unknown", "departing", "both", "no condition") {
	case "down":
		return []kit.NodeOption{condition(corev1.NodeReady, corev1.ConditionFalse, at())}
	case "unknown":
		return []kit.NodeOption{condition(corev1.NodeReady, corev1.ConditionUnknown, at())}
	case "since unknown":
		return []kit.NodeOption{condition(corev1.NodeReady, corev1.ConditionFalse, metav1.Time{})}
	case "both":
		return []kit.NodeOption{
			condition(corev1.NodeReady, corev1.ConditionFalse, at()),
			condition("MaintenanceInProgress", corev1.ConditionTrue, at()),
		}
	case "no condition":
		return []kit.NodeOption{func(n *corev1.Node) { n.Status.Conditions = nil }}
	case "departing":
		switch sign := pick(t, "sign", "MaintenanceInProgress", "GracefulNodeShutdownInProgress",
			drainedCondition, drainedCondition, drainedCondition, "deleted",
			"ToBeDeletedByClusterAutoscaler", "karpenter.sh/disrupted", corev1.TaintNodeOutOfService); sign {
		case "MaintenanceInProgress", "GracefulNodeShutdownInProgress", drainedCondition:
			status := pick(t, "status", corev1.ConditionTrue, corev1.ConditionTrue, corev1.ConditionFalse)
			return []kit.NodeOption{condition(corev1.NodeConditionType(sign), status, at())}
		case "deleted":
			return []kit.NodeOption{func(n *corev1.Node) { n.DeletionTimestamp = new(at()) }}
		default:
			return []kit.NodeOption{taint(sign, timed(pick(t, "time added", true, false)))}
		}
	}
	return nil
}

// drawStart draws when a pod was created, when a kubelet has started it, and for how long its containers have been running; some
// of it is left as it is.
func (f *fleet) drawStart(t *rapid.T) kit.PodOption {
	if f.spec.Strategy.Policy.Outages == nil {
		return func(*corev1.Pod) {}
	}
	var options []kit.PodOption
	ago := func(label string) time.Time { return kit.Noon().Add(-f.age(t, label)) }
	if pick(t, "created anew", false, true) {
		options = append(options, kit.Created(ago("created")))
	}
	switch pick(t, "start", "as it is", "as it is", "never", "started", "running", "running") {
	case "never":
		options = append(options, func(p *corev1.Pod) { p.Status.StartTime = nil })
	case "started":
		options = append(options, objects.StartedAt(ago("started")))
	case "running":
		started := ago("running")
		options = append(options, objects.StartedAt(started), func(p *corev1.Pod) {
			if _, updated := p.Annotations[inplace.StateKey]; !updated { // what runs there decides whether the update is complete
				objects.RunningSince(started)(p)
			}
		})
	}
	if pick(t, "grace", false, false, true) {
		options = append(options, func(p *corev1.Pod) {
			if p.DeletionTimestamp != nil {
				p.DeletionGracePeriodSeconds = new(int64(30))
			}
		})
	}
	return func(p *corev1.Pod) {
		for _, option := range options {
			option(p)
		}
	}
}
