package manifest

import (
	"errors"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/daemonplan/daemonplan/rollout"
)

const (
	daemonSetAPIVersion = "apps/v1"
	daemonSetKind       = "DaemonSet"
)

// daemonSetPaths are the places of a Spec's fields in the manifest. A field that is not listed has the same place, or none.
var daemonSetPaths = [...][2]string{
	{"spec.name", "metadata.name"},
	{"spec.namespace", "metadata.namespace"},
	{"spec.uid", "metadata.uid"},
	{"spec.generation", "metadata.generation"},
	{"spec.templateGeneration", "metadata.annotations[" + appsv1.DeprecatedTemplateGeneration + "]"},
	{"spec.strategy.maxUnavailable", "spec.updateStrategy.rollingUpdate.maxUnavailable"},
	{"spec.strategy.maxSurge", "spec.updateStrategy.rollingUpdate.maxSurge"},
	{"spec.strategy.type", "spec.updateStrategy.type"},
	{"spec.strategy.policy", "metadata.annotations[" + PolicyAnnotation + "]"},
}

// FromDaemonSet translates a DaemonSet of the Kubernetes API. Its apiVersion and kind need not be set, because clients
// leave them out. The spec shares no memory with ds, has no defaults filled in, and is not validated: rollout.New does
// both. It is an error if ds is nil, or if its [PolicyAnnotation] cannot be read; then the error is that of [Decode].
//
// Some fields follow the controller or the API server:
//   - a template-generation annotation that is no number counts as absent, as in the controller;
//   - maxSurge without maxUnavailable means a maxUnavailable of 0. The API server fills in 1 there, and then refuses
//     the two together;
//   - a set with a deletion timestamp is frozen: the controller leaves it alone, and revisions may be gone before pods.
func FromDaemonSet(ds *appsv1.DaemonSet) (rollout.Spec, error) {
	if ds == nil {
		return rollout.Spec{}, errors.New("the DaemonSet must not be nil")
	}
	spec := rollout.Spec{
		Name:       ds.Name,
		Namespace:  ds.Namespace,
		UID:        ds.UID,
		APIVersion: daemonSetAPIVersion,
		Kind:       daemonSetKind,
		Generation: ds.Generation,
		Selector:   ds.Spec.Selector.DeepCopy(),
		Template:   *ds.Spec.Template.DeepCopy(),
		Strategy: rollout.Strategy{
			Type:   rollout.StrategyType(ds.Spec.UpdateStrategy.Type),
			Frozen: ds.DeletionTimestamp != nil,
		},
		MinReadySeconds:      ds.Spec.MinReadySeconds,
		RevisionHistoryLimit: clone(ds.Spec.RevisionHistoryLimit),
	}
	spec.TemplateGeneration, _ = templateGeneration(ds.Annotations)
	var mistakes field.ErrorList
	spec.Strategy.Policy, mistakes = policyOf(ds.Annotations)
	if update := ds.Spec.UpdateStrategy.RollingUpdate; update != nil {
		spec.Strategy.MaxUnavailable = clone(update.MaxUnavailable)
		spec.Strategy.MaxSurge = clone(update.MaxSurge)
	}
	if len(mistakes) > 0 {
		// The caller cannot go on to New, which would find the other mistakes, so they are reported here.
		return rollout.Spec{}, append(mistakes, inManifest(spec, spec.Validate(field.NewPath("spec")))...).ToAggregate()
	}
	return spec, nil
}

func decodeDaemonSet(object Object) (Set, error) {
	var ds appsv1.DaemonSet
	unknown, err := decode(object, &ds)
	if err != nil {
		return Set{}, err
	}
	spec, err := FromDaemonSet(&ds)
	if err != nil {
		return Set{}, err
	}
	if _, readable := templateGeneration(ds.Annotations); !readable {
		unknown = append(unknown, place(spec, "spec.templateGeneration"))
		slices.Sort(unknown)
	}
	return Set{Spec: spec, Memory: memory(ds.Status.CollisionCount), Unknown: unknown}, nil
}

// templateGeneration is nil without the annotation, and not readable if the annotation is no number.
func templateGeneration(annotations map[string]string) (generation *int64, readable bool) {
	text, found := annotations[appsv1.DeprecatedTemplateGeneration]
	if !found {
		return nil, true
	}
	number, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return nil, false
	}
	return &number, true
}

func clone[T any](p *T) *T {
	if p == nil {
		return nil
	}
	return new(*p)
}
