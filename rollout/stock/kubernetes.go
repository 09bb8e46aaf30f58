package stock

import (
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/rollout"
)

// burstReplicas is how many pods one sync creates, and how many it deletes, unless the spec says otherwise.
const burstReplicas = 250

// Kubernetes plans as the DaemonSet controller of Kubernetes does. It comes from [NewKubernetes], and is not changed after that,
// so that several goroutines may use it.
type Kubernetes struct {
	spec rollout.Spec
	// base finds revisions and verdicts of placement, and makes pods. Its own decisions about pods are not used.
	base *rollout.Planner
	seed uint64
}

// Obeyed returns what of a spec the DaemonSet controller of Kubernetes obeys: of the strategy Type, MaxUnavailable and MaxSurge,
// and no hooks, overrides, pulls ahead or predecessor. Burst is the setting of the controller, which is 250 if it is nil, and of
// which a percentage is of the desired nodes. The spec is not validated.
func Obeyed(spec rollout.Spec) rollout.Spec {
	if spec.Burst == nil {
		spec.Burst = new(intstr.FromInt32(burstReplicas))
	}
	spec.Lifecycle, spec.Overrides, spec.PreDownload, spec.Predecessor = lifecycle.Hooks{}, nil, nil, nil
	spec.Strategy = rollout.Strategy{
		Type: spec.Strategy.Type, MaxUnavailable: spec.Strategy.MaxUnavailable, MaxSurge: spec.Strategy.MaxSurge,
	}
	return spec
}

// NewKubernetes returns a planner for what [Obeyed] leaves of the spec. The seed draws what is chance with the controller. The
// errors are those of [rollout.New].
func NewKubernetes(spec rollout.Spec, seed uint64) (*Kubernetes, error) {
	known := Obeyed(spec)
	if _, err := rollout.New(known); err != nil {
		return nil, err
	}
	k := &Kubernetes{spec: known.Default(), seed: seed}
	known.Strategy = rollout.Strategy{Type: rollout.OnDelete}
	var err error
	k.base, err = rollout.New(known)
	return k, err
}

// Plan returns what one sync of the controller would ask for, and the status that it would write. A nil planner fails, as one
// that [NewKubernetes] did not make. Of the plan's Memory the back-off of failed pods is the controller's own.
func (k *Kubernetes) Plan(snapshot rollout.Snapshot) (rollout.Plan, error) {
	if k == nil {
		return (*rollout.Planner)(nil).Plan(snapshot)
	}
	plan, err := k.base.Plan(snapshot)
	if err != nil {
		return rollout.Plan{}, err
	}
	s := k.newSync(snapshot, &plan)
	s.repair()
	if k.spec.Strategy.Type == rollout.RollingUpdate {
		changes := s.survey()
		room := s.room(&changes)
		if !s.acts() && !s.requested {
			s.update(changes, room)
		}
	}
	s.report()
	return plan, nil
}
