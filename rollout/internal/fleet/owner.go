package fleet

import (
	"cmp"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
)

// Owner decides whether an object belongs to a set.
type Owner struct {
	// Namespace of the set.
	Namespace string
	// UID of the set. Empty: it controls nothing yet.
	UID types.UID
	// Selector of the set. Nil: nothing can be claimed by labels.
	Selector labels.Selector
}

// defaultNamespace is that of an object without one.
const defaultNamespace = metav1.NamespaceDefault

// Claim returns how an object belongs to the set. It is for an owner with a selector.
func (o *Owner) Claim(object metav1.Object) Claim {
	if cmp.Or(object.GetNamespace(), defaultNamespace) != o.Namespace {
		return Foreign
	}
	matches := o.Selector.Matches(labels.Set(object.GetLabels()))
	terminating := object.GetDeletionTimestamp() != nil
	switch controller := metav1.GetControllerOfNoCopy(object); {
	case controller == nil && matches && !terminating:
		return Adopted
	case controller == nil || o.UID == "" || controller.UID != o.UID:
		return Foreign
	case matches || terminating:
		return Owned
	default:
		return Released
	}
}

// Foreign says why an object cannot be one of the set or of its predecessor; "" if it may be. It refuses less than Claim: what
// the set is about to release is its own until then, a terminating object that nobody controls may have been the set's, and a set
// without a UID does not know what it controls. A nil owner refuses nothing.
func (o *Owner) Foreign(object metav1.Object, predecessor *Predecessor) string {
	if o == nil {
		return ""
	}
	if namespace := cmp.Or(object.GetNamespace(), defaultNamespace); namespace != o.Namespace {
		return fmt.Sprintf("is in namespace %s, and the set in %s", namespace, o.Namespace)
	}
	switch controller := metav1.GetControllerOfNoCopy(object); {
	case controller != nil && (o.UID == "" || controller.UID == o.UID), predecessor.Owns(object):
		return ""
	case controller != nil:
		return fmt.Sprintf("belongs to another controller, %s %q with UID %q", controller.Kind, controller.Name, controller.UID)
	case o.Selector != nil && !o.Selector.Matches(labels.Set(object.GetLabels())):
		return "has no controller, and the set's selector does not match it"
	default:
		return ""
	}
}

// same reports whether both own the same objects.
func (o *Owner) same(other *Owner) bool {
	if o == nil || other == nil {
		return o == other
	}
	if o.Selector == nil || other.Selector == nil {
		return o.Selector == nil && other.Selector == nil && o.Namespace == other.Namespace && o.UID == other.UID
	}
	return o.Namespace == other.Namespace && o.UID == other.UID && sameSelector(o.Selector, other.Selector)
}
