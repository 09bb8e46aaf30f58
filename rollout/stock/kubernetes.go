package stock

import (
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/rollout"
)

// Kubernetes plans as the DaemonSet controller of Kubernetes does. It comes from [NewKubernetes], and is not changed after that,
// so that several goroutines may use it.
type Kubernetes struct{ planner }

// ObeyedByKubernetes returns what of a spec the DaemonSet controller of Kubernetes obeys: of the strategy Type, MaxUnavailable
// and MaxSurge, and no hooks, overrides, pulls ahead or predecessor. Burst is the setting of the controller, which is 250 if it
// is nil, and of which a percentage is of the desired nodes. The spec is not validated.
func ObeyedByKubernetes(spec rollout.Spec) rollout.Spec {
	if spec.Burst == nil {
		spec.Burst = new(intstr.FromInt32(burstReplicas))
	}
	spec.Lifecycle, spec.Overrides, spec.PreDownload, spec.Predecessor = lifecycle.Hooks{}, nil, nil, nil
	spec.Strategy = rollout.Strategy{
		Type: spec.Strategy.Type, MaxUnavailable: spec.Strategy.MaxUnavailable, MaxSurge: spec.Strategy.MaxSurge,
	}
	return spec
}

// NewKubernetes returns a planner for what [ObeyedByKubernetes] leaves of the spec. The seed draws what is chance with the
// controller. The errors are those of [rollout.New].
func NewKubernetes(spec rollout.Spec, seed uint64) (*Kubernetes, error) {
	p, err := newPlanner(ObeyedByKubernetes(spec), seed)
	if err != nil {
		return nil, err
	}
	p.name = "the DaemonSet controller"
	return &Kubernetes{p}, nil
}

// Plan returns what one sync of the controller would ask for, and the status that it would write. A nil planner fails, as one
// that [NewKubernetes] did not make. Of the plan's Memory the back-off of failed pods is the controller's own.
func (k *Kubernetes) Plan(snapshot rollout.Snapshot) (rollout.Plan, error) {
	if k == nil {
		return (*rollout.Planner)(nil).Plan(snapshot)
	}
	return k.plan(snapshot)
}
