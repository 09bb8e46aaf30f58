package stock

import (
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/rollout"
)

// Kruise plans as the controller of OpenKruise's Advanced DaemonSets does. It comes from [NewKruise], and is not changed after
// that, so that several goroutines may use it.
type Kruise struct{ planner }

// ObeyedByKruise returns what of a spec OpenKruise's controller obeys: of the strategy Type, MaxUnavailable, MaxSurge, Partition,
// NodeSelector, PartitionedScaling, Method, InPlace and Paused, of the hooks PreDelete, and Burst, which is 250 if it is nil. In
// place it changes neither sidecars nor tolerations, knows no grace period, and takes no key for a request to restart.
// PreDownload is left as it is, although plans have no pulls: another controller of OpenKruise makes them of jobs. The spec is
// not validated.
func ObeyedByKruise(spec rollout.Spec) rollout.Spec {
	if spec.Burst == nil {
		spec.Burst = new(intstr.FromInt32(burstReplicas))
	}
	spec.Lifecycle = lifecycle.Hooks{PreDelete: spec.Lifecycle.PreDelete}
	spec.Overrides, spec.Predecessor = nil, nil
	of := spec.Strategy
	spec.Strategy = rollout.Strategy{
		Type: of.Type, MaxUnavailable: of.MaxUnavailable, MaxSurge: of.MaxSurge, Partition: of.Partition,
		NodeSelector: of.NodeSelector, PartitionedScaling: of.PartitionedScaling, Method: of.Method, Paused: of.Paused,
		InPlace: inplace.Options{
			Sidecars: new(false), Tolerations: new(false), Resize: of.InPlace.Resize, EnvFromMetadata: of.InPlace.EnvFromMetadata,
			CgroupV1: of.InPlace.CgroupV1,
		},
	}
	return spec
}

// NewKruise returns a planner for what [ObeyedByKruise] leaves of the spec. The seed draws what is chance with the controller.
// The errors are those of [rollout.New].
func NewKruise(spec rollout.Spec, seed uint64) (*Kruise, error) {
	p, err := newPlanner(ObeyedByKruise(spec), seed)
	if err != nil {
		return nil, err
	}
	p.kruise, p.name = true, "OpenKruise's controller"
	return &Kruise{p}, nil
}

// Stored returns the planner for a set in whose status so many nodes are desired: the controller takes percentages of partition
// and of burst of that number, which is the one that its last sync has counted. Without it, they are of the nodes that are
// desired now.
func (k *Kruise) Stored(desired int32) *Kruise {
	if k == nil {
		return nil
	}
	after := *k
	after.stored = &desired
	return &after
}

// Plan returns what one sync of the controller would ask for, and the status that it would write. A nil planner fails, as one
// that [NewKruise] did not make. Of the plan's Memory the back-off of failed pods is the controller's own.
func (k *Kruise) Plan(snapshot rollout.Snapshot) (rollout.Plan, error) {
	if k == nil {
		return (*rollout.Planner)(nil).Plan(snapshot)
	}
	return k.plan(snapshot)
}
