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

	"github.com/daemonplan/daemonplan/internal/selectors"
)

// newPredecessor compiles what recognizes the pods of the set that this one takes over from. Nil: there is no such set.
func newPredecessor(spec Spec) (*predecessor, error) {
	if spec.Predecessor == nil {
		return nil, nil
	}
	p := &predecessor{uids: spec.Predecessor.UIDs}
	var err error
	if p.own, err = selectors.Compile(spec.Selector); err != nil {
		return nil, fmt.Errorf("spec.selector: %w", err)
	}
	if p.selector, err = selectors.Compile(spec.Predecessor.Selector); err != nil { // nil selects nothing
		return nil, fmt.Errorf("spec.predecessor.selector: %w", err)
	}
	return p, nil
}

// predecessor decides whether a pod belongs to the set that this one takes over from.
type predecessor struct {
	uids          []types.UID
	own, selector labels.Selector // the set's selector, and the predecessor's
}

// owns reports whether the pod is the predecessor's. It is if the predecessor controls it, or if nothing controls it and of the
// two selectors only the predecessor's matches. A nil predecessor owns nothing.
func (p *predecessor) owns(object metav1.Object) bool {
	if p == nil {
		return false
	}
	if controller := metav1.GetControllerOfNoCopy(object); controller != nil {
		return slices.Contains(p.uids, controller.UID)
	}
	set := labels.Set(object.GetLabels())
	return p.selector.Matches(set) && !p.own.Matches(set)
}

// Claims says which pods belong to the set, and which references to it are to be set or removed. Each slice is ordered by pod
// name, then UID.
type Claims struct {
	// Pods of the set: those it controls, and those to adopt. Pass them to [Snapshot].
	Pods []*corev1.Pod
	// Adopt lists those of Pods that have no controller and match the selector: give them the set's controller reference, with
	// [AdoptPatch].
	Adopt []*corev1.Pod
	// Old lists the pods of the predecessor among Pods. They are replaced under the budgets; until then their controller
	// reference stays as it is.
	Old []*corev1.Pod
	// Release lists pods that the set controls although the selector does not match them any more: take the reference away,
	// with [ReleasePatch]. They are not among Pods.
	Release []*corev1.Pod
}

// Claim finds the pods that belong to the set. The controller reference decides, and for pods without one the selector. Pods
// of other namespaces and other controllers are left out. An object without a namespace counts as one in the default
// namespace.
//
// A terminating pod without a controller is not adopted, because it will be gone soon; the controllers do the same. A
// terminating pod of the set is not released either, because it holds its node until it is gone (M1); there the Kubernetes
// controller differs.
//
// If the spec has a predecessor, the predecessor's pods in the namespace belong to the set, too: those that it controls, and
// those without a controller that its selector matches and the set's does not.
//
// Claim fails if the set's selector is missing or empty, if a selector is malformed, and on a nil pod.
func Claim(spec Spec, pods []*corev1.Pod) (Claims, error) {
	own, adopt, release, err := claimAll(spec, "Pods", pods)
	if err != nil {
		return Claims{}, err
	}
	claims := Claims{Pods: own, Adopt: adopt, Release: release}
	old, err := newPredecessor(spec)
	if err != nil {
		return Claims{}, err
	}
	setDefault(&spec.Namespace, DefaultNamespace)
	for _, pod := range pods {
		if cmp.Or(pod.Namespace, DefaultNamespace) == spec.Namespace && old.owns(pod) {
			claims.Old = append(claims.Old, pod)
		}
	}
	slices.SortFunc(claims.Old, byName)
	claims.Pods = append(claims.Pods, claims.Old...)
	slices.SortFunc(claims.Pods, byName)
	return claims, nil
}

// RevisionClaims says which revisions belong to the set, as [Claims] does for pods.
type RevisionClaims struct {
	// Revisions of the set: those it controls, and those to adopt. Pass them to [Snapshot].
	Revisions []*appsv1.ControllerRevision
	// Adopt lists those of Revisions that have no controller: give them the set's controller reference, with [AdoptPatch].
	Adopt []*appsv1.ControllerRevision
	// Release lists revisions that the set controls although the selector does not match them any more. They are not among
	// Revisions.
	Release []*appsv1.ControllerRevision
}

// ClaimRevisions finds the revisions that belong to the set, by the rules of [Claim], but without regard to a predecessor.
func ClaimRevisions(spec Spec, revisions []*appsv1.ControllerRevision) (RevisionClaims, error) {
	own, adopt, release, err := claimAll(spec, "Revisions", revisions)
	if err != nil {
		return RevisionClaims{}, err
	}
	return RevisionClaims{Revisions: own, Adopt: adopt, Release: release}, nil
}

func claimAll[T interface {
	comparable
	metav1.Object
}](spec Spec, list string, objects []T) (own, adopt, release []T, err error) {
	owner, err := newOwner(spec)
	if err != nil {
		return nil, nil, nil, err
	}
	var missing T
	for i, object := range objects {
		if object == missing {
			return nil, nil, nil, at(list, i, "must not be nil")
		}
		switch owner.claim(object) {
		case adopted:
			adopt = append(adopt, object)
			own = append(own, object)
		case owned:
			own = append(own, object)
		case released:
			release = append(release, object)
		case foreign:
		}
	}
	for _, claimed := range [][]T{own, adopt, release} {
		slices.SortFunc(claimed, byName)
	}
	return own, adopt, release, nil
}

// owner decides whether an object belongs to a set.
type owner struct {
	namespace string
	uid       types.UID
	selector  labels.Selector
}

func newOwner(spec Spec) (owner, error) {
	selector, err := selectors.Compile(spec.Selector)
	if err != nil {
		return owner{}, fmt.Errorf("spec.selector: %w", err)
	}
	if spec.Selector == nil || selector.Empty() {
		return owner{}, errors.New("spec.selector: must be set and must not be empty")
	}
	setDefault(&spec.Namespace, DefaultNamespace)
	return owner{namespace: spec.Namespace, uid: spec.UID, selector: selector}, nil
}

// claim is how an object belongs to the set, if it does.
type claim uint8

const (
	foreign claim = iota
	owned
	adopted
	released
)

func (o owner) claim(object metav1.Object) claim {
	namespace := object.GetNamespace()
	setDefault(&namespace, DefaultNamespace)
	if namespace != o.namespace {
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
