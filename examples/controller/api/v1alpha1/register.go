package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion of this API.
var GroupVersion = schema.GroupVersion{Group: "daemonplan.io", Version: "v1alpha1"}

// Kind of its only object.
const Kind = "PlannedDaemonSet"

// AddToScheme makes the types known to a client.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &PlannedDaemonSet{}, &PlannedDaemonSetList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
