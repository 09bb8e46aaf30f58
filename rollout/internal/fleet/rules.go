package fleet

import (
	"maps"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout/domain"
	"github.com/daemonplan/daemonplan/rollout/failure"
	"github.com/daemonplan/daemonplan/rollout/stage"
)

// Rules are what facts depend on beside the objects: parts of a spec. They are immutable.
type Rules struct {
	// Namespace and Name of the set, which the annotations of nodes with overrides name (P8).
	Namespace, Name string
	// Template of the update revision, and its compiled placement.
	Template *corev1.PodTemplateSpec
	Matcher  *placement.Matcher
	// Overrides of the spec (P8), and what they are compiled to for the template.
	Overrides []placement.Override
	Compiled  *placement.Overrides
	// NodeSelector of the strategy (T3). An empty one selects all nodes.
	NodeSelector labels.Selector
	// Domains of the policy (B10); nil: none.
	Domains *domain.Domains
	// Stages of the policy (T8); nil: none.
	Stages *stage.Stages
	// Failures of the policy say which pods restart too often (F1); nil: none does.
	Failures *failure.Options
	// CanaryLabel is the label on the pods of canary nodes.
	CanaryLabel string
	// Owner is the set; others' pods are refused. Nil: none are.
	Owner *Owner
	// Predecessor is the set that this one takes over from; nil: there is none.
	Predecessor *Predecessor
}

// Predecessor decides whether a pod belongs to the set that this one takes over from.
type Predecessor struct {
	// UIDs of the predecessor.
	UIDs []types.UID
	// Own is the selector of the set, Selector that of the predecessor.
	Own, Selector labels.Selector
}

// Owns reports whether the pod is the predecessor's. It is if the predecessor controls it, or if nothing controls it and of the
// two selectors only the predecessor's matches. A nil predecessor owns nothing.
func (p *Predecessor) Owns(object metav1.Object) bool {
	if p == nil {
		return false
	}
	if controller := metav1.GetControllerOfNoCopy(object); controller != nil {
		return slices.Contains(p.UIDs, controller.UID)
	}
	set := labels.Set(object.GetLabels())
	return p.Selector.Matches(set) && !p.Own.Matches(set)
}

// same reports whether both recognize the same pods.
func (p *Predecessor) same(other *Predecessor) bool {
	if p == nil || other == nil {
		return p == other
	}
	return slices.Equal(p.UIDs, other.UIDs) && sameSelector(p.Own, other.Own) && sameSelector(p.Selector, other.Selector)
}

// sameSelector reports whether both select the same. The texts of one that selects all and one that selects nothing are the same.
func sameSelector(a, b labels.Selector) bool {
	return a.String() == b.String() && a.Empty() == b.Empty()
}

// sameVerdicts reports whether both give each node the same verdict.
func (r *Rules) sameVerdicts(other *Rules) bool {
	return r == other || SamePlacement(&r.Template.Spec, &other.Template.Spec)
}

// sameEffects reports whether overrides of both give each node the same.
func (r *Rules) sameEffects(other *Rules) bool {
	return r == other || r.Namespace == other.Namespace && r.Name == other.Name &&
		slices.EqualFunc(r.Overrides, other.Overrides, sameOverride) && SameResources(&r.Template.Spec, &other.Template.Spec)
}

func sameOverride(a, b placement.Override) bool {
	return a.Name == b.Name && a.Created.Equal(b.Created) && equality.Semantic.DeepEqual(a.NodeSelector, b.NodeSelector) &&
		maps.EqualFunc(a.Containers, b.Containers, sameRequirements)
}

// sameRequirements reports whether both ask for the same in the same spelling: creates have the quantities as they are spelled.
func sameRequirements(a, b corev1.ResourceRequirements) bool {
	return sameQuantities(a.Requests, b.Requests) && sameQuantities(a.Limits, b.Limits) && slices.Equal(a.Claims, b.Claims)
}

func sameQuantities(a, b corev1.ResourceList) bool {
	return maps.EqualFunc(a, b, func(a, b resource.Quantity) bool { return a.String() == b.String() && a.Format == b.Format })
}

// sameSelection reports whether the node selectors of both hold the same nodes.
func (r *Rules) sameSelection(other *Rules) bool {
	return r == other || sameSelector(r.NodeSelector, other.NodeSelector)
}

// samePods reports whether the facts of pods are the same by both.
func (r *Rules) samePods(other *Rules) bool {
	return r == other || r.Owner.same(other.Owner) && r.Predecessor.same(other.Predecessor) &&
		sameLimit(r.Failures, other.Failures)
}

// sameLimit reports whether by both the same pods restart too often.
func sameLimit(a, b *failure.Options) bool {
	limit := func(o *failure.Options) int64 {
		if o == nil || o.MaxRestarts == nil {
			return math.MaxInt64
		}
		return int64(*o.MaxRestarts)
	}
	return limit(a) == limit(b)
}

// SamePlacement reports whether pods of both templates run on the same nodes (P1, P2). It spares a second look at every node,
// where two templates differ in an image, as most do.
func SamePlacement(a, b *corev1.PodSpec) bool {
	return a.NodeName == b.NodeName && a.HostNetwork == b.HostNetwork &&
		equality.Semantic.DeepEqual(a.NodeSelector, b.NodeSelector) && equality.Semantic.DeepEqual(a.Affinity, b.Affinity) &&
		equality.Semantic.DeepEqual(a.Tolerations, b.Tolerations)
}

// SameResources reports whether overrides mean the same for both templates (P8). What they mean depends on the names of the
// containers, and on the resources that the template gives them.
func SameResources(a, b *corev1.PodSpec) bool {
	same := func(a, b corev1.Container) bool {
		return a.Name == b.Name && sameRequirements(a.Resources, b.Resources)
	}
	return slices.EqualFunc(a.InitContainers, b.InitContainers, same) && slices.EqualFunc(a.Containers, b.Containers, same) &&
		equality.Semantic.DeepEqual(a.ResourceClaims, b.ResourceClaims)
}
