package rollout

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
)

// Claims says whose pods are whose. Each slice is ordered by pod name, then UID.
type Claims struct {
	// Pods of the set: those it controls, and those to adopt. Pass them to [Snapshot].
	Pods []*corev1.Pod
	// Adopt lists the orphans among Pods, which match the selector: give them the set's controller reference.
	Adopt []*corev1.Pod
	// Release lists pods that the set controls although the selector does not match them any more: take the
	// reference away. They are not among Pods.
	Release []*corev1.Pod
}

// Claim sorts out which pods of the namespace belong to the set: the controller reference decides, and among pods
// without one the selector. Pods of other namespaces and other controllers are left out. A terminating orphan is
// not adopted, and a terminating pod is not released, because both will be gone soon: as the controllers do it.
//
// It fails if the selector is missing, empty or malformed, and on a nil pod.
func Claim(spec Spec, pods []*corev1.Pod) (Claims, error) {
	owner, err := newOwner(spec)
	if err != nil {
		return Claims{}, err
	}
	var claims Claims
	for i, pod := range pods {
		if pod == nil {
			return Claims{}, at("Pods", i, "must not be nil")
		}
		switch owner.claim(pod) {
		case adopted:
			claims.Adopt = append(claims.Adopt, pod)
			claims.Pods = append(claims.Pods, pod)
		case owned:
			claims.Pods = append(claims.Pods, pod)
		case released:
			claims.Release = append(claims.Release, pod)
		case foreign:
		}
	}
	for _, s := range [][]*corev1.Pod{claims.Pods, claims.Adopt, claims.Release} {
		slices.SortFunc(s, byName)
	}
	return claims, nil
}

// ClaimRevisions picks the revisions of the set, as Claim picks its pods, in the order of name, then UID. It fails
// as Claim does.
func ClaimRevisions(spec Spec, revisions []*appsv1.ControllerRevision) ([]*appsv1.ControllerRevision, error) {
	owner, err := newOwner(spec)
	if err != nil {
		return nil, err
	}
	var own []*appsv1.ControllerRevision
	for i, revision := range revisions {
		if revision == nil {
			return nil, at("Revisions", i, "must not be nil")
		}
		if c := owner.claim(revision); c == owned || c == adopted {
			own = append(own, revision)
		}
	}
	slices.SortFunc(own, byName)
	return own, nil
}

// owner decides whether an object belongs to a set.
type owner struct {
	namespace string
	uid       types.UID
	selector  labels.Selector
}

func newOwner(spec Spec) (owner, error) {
	selector, err := metav1.LabelSelectorAsSelector(spec.Selector)
	if err != nil {
		return owner{}, fmt.Errorf("spec.selector: %w", err)
	}
	if spec.Selector == nil || selector.Empty() {
		return owner{}, errors.New("spec.selector: must be set and must not be empty")
	}
	setDefault(&spec.Namespace, DefaultNamespace)
	return owner{namespace: spec.Namespace, uid: spec.UID, selector: selector}, nil
}

// claim is what the set has to do with an object.
type claim uint8

const (
	foreign claim = iota
	owned
	adopted
	released
)

func (o owner) claim(object metav1.Object) claim {
	if object.GetNamespace() != o.namespace {
		return foreign
	}
	matches := o.selector.Matches(labels.Set(object.GetLabels()))
	terminating := object.GetDeletionTimestamp() != nil
	switch controller := metav1.GetControllerOfNoCopy(object); {
	case controller == nil && matches && !terminating:
		return adopted
	case controller == nil || o.uid == "" || controller.UID != o.uid:
		return foreign
	case matches || terminating:
		return owned
	default:
		return released
	}
}

func byName[T metav1.Object](a, b T) int {
	return cmp.Or(cmp.Compare(a.GetName(), b.GetName()), cmp.Compare(a.GetUID(), b.GetUID()))
}
