package outage

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/daemonplan/daemonplan/internal/count"
)

// Options say how a rollout deals with nodes that are out. The zero value leaves departing nodes alone, and leaves no node out of
// the budgets.
type Options struct {
	// MaxExempt is how many nodes that were down before their update may be left out of the budgets (B9): an integer, or a
	// percentage of desired, rounded up. Not negative, and at most 100%. Default (nil): 0.
	MaxExempt *intstr.IntOrString
	// ProvenAfter is how long the containers of a node's new pod must have run before the node went down, so that the outage
	// is not put down to the update. Not negative. Default (0): a node that goes down after its update always counts.
	ProvenAfter time.Duration
	// Taints are keys of further taints, and Conditions types of further conditions of nodes, whose presence, for a condition
	// with the status True, says that the node is departing (M8). Default: none beside those of [Signs].
	Taints, Conditions []string
	// Touch lets departing nodes be repaired and updated like any other (M8). They are out all the same. Default: false.
	Touch bool
}

// Signs returns the keys of taints and the types of conditions that mark a departing node, whatever the options say. A node
// that is marked for deletion is departing, too.
func Signs() (taints, conditions []string) {
	for _, condition := range departingConditions {
		conditions = append(conditions, string(condition))
	}
	return slices.Clone(departingTaints[:]), conditions
}

// LifecycleConditions returns the conditions of a node's lifecycle (KEP-5683), in the order in which they follow each other.
// Those of a shutdown and of a maintenance that goes on make a node departing, those of a drain keep updates from being begun
// there (M8), and a maintenance that is only planned stops nothing.
func LifecycleConditions() []corev1.NodeConditionType {
	return []corev1.NodeConditionType{
		corev1.NodeMaintenancePlanned, corev1.NodeDrainInProgress, corev1.NodeDrained, corev1.NodeMaintenanceInProgress,
		corev1.NodeGracefulNodeShutdownInProgress,
	}
}

var departingTaints = [...]string{
	"ToBeDeletedByClusterAutoscaler",
	"karpenter.sh/disrupted",
	corev1.TaintNodeOutOfService,
}

var departingConditions = [...]corev1.NodeConditionType{
	corev1.NodeGracefulNodeShutdownInProgress,
	corev1.NodeMaintenanceInProgress,
}

// DeepCopy returns a copy that shares no memory with the options.
func (o Options) DeepCopy() Options {
	if o.MaxExempt != nil {
		o.MaxExempt = new(*o.MaxExempt)
	}
	o.Taints, o.Conditions = slices.Clone(o.Taints), slices.Clone(o.Conditions)
	return o
}

// Default returns a deep copy in which MaxExempt has its default. Invalid values stay as they are, for Validate to report.
func (o Options) Default() Options {
	o = o.DeepCopy()
	if o.MaxExempt == nil {
		o.MaxExempt = new(intstr.FromInt32(0))
	}
	return o
}

// Validate returns every mistake in the options, with field paths below path, in the order of the fields; nil if there is
// none. A nil path is allowed.
func (o Options) Validate(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if o.MaxExempt != nil {
		at := path.Child("maxExempt")
		switch q, err := count.Parse(*o.MaxExempt); {
		case err != nil:
			errs = append(errs, field.Invalid(at, o.MaxExempt.String(), err.Error()))
		case q.Value < 0:
			errs = append(errs, field.Invalid(at, q.Value, "must not be negative"))
		case q.Percent && q.Value > 100:
			errs = append(errs, field.Invalid(at, o.MaxExempt.String(), "must not be more than 100%"))
		}
	}
	if o.ProvenAfter < 0 {
		errs = append(errs, field.Invalid(path.Child("provenAfter"), o.ProvenAfter.String(), "must not be negative"))
	}
	for i, key := range o.Taints {
		for _, msg := range utilvalidation.IsQualifiedName(key) {
			errs = append(errs, field.Invalid(path.Child("taints").Index(i), key, msg))
		}
	}
	for i, kind := range o.Conditions {
		at := path.Child("conditions").Index(i)
		for _, msg := range utilvalidation.IsQualifiedName(kind) {
			errs = append(errs, field.Invalid(at, kind, msg))
		}
		if kind == string(corev1.NodeReady) {
			errs = append(errs, field.Invalid(at, kind, "must not be Ready: a node that is Ready would be departing"))
		}
	}
	return errs
}
