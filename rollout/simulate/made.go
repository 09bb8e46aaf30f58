package simulate

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/internal/apiserver"
	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout"
)

// made is a pod that a planner made. What it makes for other nodes differs only in the node, so that the pods of a fleet share
// the rest.
type made struct {
	planner  *rollout.Planner
	revision string
	canary   bool
	object   *corev1.Pod
}

// pod is the pod of a create, of which the caller may write to what is no pointer. Pods of their own templates or resources are
// made each for itself.
func (m *made) pod(planner *rollout.Planner, create *rollout.Create) (*corev1.Pod, error) {
	if create.Node == "" || create.Template != nil || len(create.Resources) > 0 {
		return planner.Pod(*create)
	}
	if m.object == nil || m.planner != planner || m.revision != create.Revision || m.canary != create.Canary {
		object, err := planner.Pod(*create)
		if err != nil {
			return nil, err
		}
		apiserver.DefaultRequests(&object.Spec) // before it is shared
		*m = made{planner, create.Revision, create.Canary, object}
	}
	object := new(corev1.Pod)
	*object = *m.object
	object.Spec.Affinity = placement.Pin(m.object.Spec.Affinity, create.Node)
	return object, nil
}
