package rollout

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
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
	selector, err := metav1.LabelSelectorAsSelector(spec.Selector)
	if err != nil {
		return Claims{}, fmt.Errorf("spec.selector: %w", err)
	}
	if selector.Empty() || spec.Selector == nil {
		return Claims{}, fmt.Errorf("spec.selector: must be set and must not be empty")
	}
	namespace := spec.Namespace
	setDefault(&namespace, DefaultNamespace)

	var claims Claims
	for i, pod := range pods {
		if pod == nil {
			return Claims{}, &SnapshotError{Field: fmt.Sprintf("Pods[%d]", i), Problem: "must not be nil"}
		}
		if pod.Namespace != namespace {
			continue
		}
		matches := selector.Matches(labels.Set(pod.Labels))
		terminating := pod.DeletionTimestamp != nil
		switch owner := metav1.GetControllerOfNoCopy(pod); {
		case owner == nil:
			if matches && !terminating {
				claims.Adopt = append(claims.Adopt, pod)
				claims.Pods = append(claims.Pods, pod)
			}
		case owner.UID != spec.UID || spec.UID == "":
		case matches || terminating:
			claims.Pods = append(claims.Pods, pod)
		default:
			claims.Release = append(claims.Release, pod)
		}
	}
	for _, s := range [][]*corev1.Pod{claims.Pods, claims.Adopt, claims.Release} {
		slices.SortFunc(s, byName)
	}
	return claims, nil
}

func byName(a, b *corev1.Pod) int {
	return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.UID, b.UID))
}
