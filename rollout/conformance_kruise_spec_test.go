package rollout_test

import (
	"strconv"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/rollout"
)

// translated is the spec of a recorded set.
func (c *recorded) translated() rollout.Spec {
	s := c.set
	spec := rollout.Spec{
		Name: s.Name, Namespace: s.Namespace, UID: s.UID, APIVersion: s.APIVersion, Kind: s.Kind, Generation: s.Generation,
		Selector: s.Spec.Selector, Template: s.Spec.Template, MinReadySeconds: s.Spec.MinReadySeconds,
		RevisionHistoryLimit: s.Spec.RevisionHistoryLimit, Burst: s.Spec.BurstReplicas,
	}
	if g, ok := s.Annotations["deprecated.daemonset.template.generation"]; ok {
		if n, err := strconv.ParseInt(g, 10, 64); err == nil {
			spec.TemplateGeneration = &n
		}
	}
	spec.Strategy.Type = rollout.StrategyType(s.Spec.UpdateStrategy.Type)
	if r := s.Spec.UpdateStrategy.RollingUpdate; r != nil {
		spec.Strategy.MaxUnavailable, spec.Strategy.MaxSurge = r.MaxUnavailable, r.MaxSurge
		spec.Strategy.Partition, spec.Strategy.NodeSelector, spec.Strategy.Paused = r.Partition, r.Selector, r.Paused
		if r.RollingUpdateType == inPlaceIfCan {
			spec.Strategy.Method = inplace.IfPossible
			spec.Strategy.InPlace.EnvFromMetadata = true
		}
	}
	if s.Spec.ScaleStrategy != nil {
		spec.Strategy.PartitionedScaling = s.Spec.ScaleStrategy.PartitionedScaling
	}
	if h := s.hook(); h != nil {
		spec.Lifecycle.PreDelete = &lifecycle.Hook{Labels: h.LabelsHandler, Finalizers: h.FinalizersHandler, MarkPodNotReady: h.MarkPodNotReady}
	}
	return spec
}
