package manifest

import (
	"slices"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/predownload"
	"github.com/daemonplan/daemonplan/rollout"
)

// What OpenKruise puts into the pull jobs of every workload. These are not the defaults of a pull job made by hand.
const (
	kruisePullTimeoutSeconds = 300
	kruisePullBackoffLimit   = 1
)

func decodeKruiseAlpha(object Object) (Set, error) {
	var ds kruiseAlpha
	unknown, err := decode(object, &ds)
	if err != nil {
		return Set{}, err
	}
	t := kruiseTranslation{meta: &ds.ObjectMeta, spec: &ds.Spec, apiVersion: kruiseV1alpha1, unknown: unknown}
	t.partitionedScaling = t.progressive()
	return t.set(ds.Status.CollisionCount)
}

func decodeKruiseBeta(object Object) (Set, error) {
	var ds kruiseBeta
	unknown, err := decode(object, &ds)
	if err != nil {
		return Set{}, err
	}
	t := kruiseTranslation{meta: &ds.ObjectMeta, spec: &ds.Spec.kruiseSpec, apiVersion: kruiseV1beta1, unknown: unknown}
	t.partitionedScaling = ds.Spec.ScaleStrategy.PartitionedScaling
	if !t.partitionedScaling && ds.Annotations[kruiseProgressive] == "true" {
		// OpenKruise converts the annotation when it reads a v1alpha1 object, and only then.
		t.unknown = append(t.unknown, annotation(kruiseProgressive).String())
	}
	return t.set(ds.Status.CollisionCount)
}

// kruiseTranslation makes a Set of a decoded object. The two may share memory, because the object is not used for anything else.
type kruiseTranslation struct {
	meta               *metav1.ObjectMeta
	spec               *kruiseSpec
	apiVersion         string
	partitionedScaling bool
	unknown            []string        // as in Set
	errs               field.ErrorList // what a Spec cannot express, for New to find
}

func (t *kruiseTranslation) set(collisions *int32) (Set, error) {
	spec := rollout.Spec{
		Name:                 t.meta.Name,
		Namespace:            t.meta.Namespace,
		UID:                  t.meta.UID,
		APIVersion:           t.apiVersion,
		Kind:                 daemonSetKind,
		Generation:           t.meta.Generation,
		Selector:             t.spec.Selector,
		Template:             t.spec.Template,
		Strategy:             t.strategy(),
		MinReadySeconds:      t.spec.MinReadySeconds,
		RevisionHistoryLimit: t.spec.RevisionHistoryLimit,
		Burst:                t.spec.BurstReplicas,
		Lifecycle: lifecycle.Hooks{
			PreDelete:     t.spec.Lifecycle.PreDelete.hook(),
			InPlaceUpdate: t.spec.Lifecycle.InPlaceUpdate.hook(),
			PreNormal:     t.spec.Lifecycle.PreNormal.hook(),
		},
		PreDownload: t.preDownload(),
	}
	var readable bool
	if spec.TemplateGeneration, readable = templateGeneration(t.meta.Annotations); !readable {
		t.unknown = append(t.unknown, place(spec, "spec.templateGeneration"))
	}
	if patches, ok := t.spec.NodePatches.([]any); t.spec.NodePatches != nil && (!ok || len(patches) > 0) {
		// A warning would not do: without the patches the pods of those nodes would be replaced by plain ones.
		t.errs = append(t.errs, field.Forbidden(field.NewPath("spec", "nodePatches"),
			"is not supported: every node gets the template as it is"))
	}
	if len(t.errs) > 0 {
		// The caller cannot go on to New, which would find the other mistakes, so they are reported here.
		return Set{}, append(t.errs, inManifest(spec, spec.Validate(field.NewPath("spec")))...).ToAggregate()
	}
	slices.Sort(t.unknown)
	return Set{Spec: spec, Memory: memory(collisions), Unknown: t.unknown}, nil
}

func (t *kruiseTranslation) strategy() rollout.Strategy {
	policy, mistakes := policyOf(t.meta.Annotations)
	t.errs = append(t.errs, mistakes...)
	strategy := rollout.Strategy{
		Type:               rollout.StrategyType(t.spec.UpdateStrategy.Type),
		PartitionedScaling: t.partitionedScaling,
		Policy:             policy,
		Frozen:             t.meta.DeletionTimestamp != nil,
	}
	if strategy.Type == rollout.OnDelete {
		return strategy
	}
	update, path := &t.spec.UpdateStrategy.RollingUpdate, field.NewPath("spec", "updateStrategy", "rollingUpdate")
	strategy.MaxUnavailable = update.MaxUnavailable
	strategy.MaxSurge = update.MaxSurge
	strategy.Partition = update.Partition
	strategy.NodeSelector = update.Selector
	strategy.Paused = update.Paused
	switch {
	case update.Type == "":
	case update.Type == kruiseStandard:
		strategy.Method = inplace.Recreate
	case update.Type == kruiseInPlace:
		strategy.Method = inplace.IfPossible
		strategy.InPlace.EnvFromMetadata = true
	case update.Type == kruiseSurging && t.apiVersion == kruiseV1alpha1:
		strategy.Method = inplace.Recreate
		t.surging(&strategy, path)
	default:
		t.errs = append(t.errs, field.NotSupported(path.Child("rollingUpdateType"), update.Type, t.updateTypes()))
	}
	if strategy.MaxUnavailable == nil && strategy.MaxSurge != nil && isZero(*strategy.MaxSurge) {
		// Without maxSurge it would be 1, but their webhook takes it for 0 here and refuses both.
		t.errs = append(t.errs, field.Required(path.Child("maxUnavailable"), "must be set while maxSurge is 0"))
	}
	return strategy
}

// surging fills in the defaults of the type Surging, which has been Standard with a surge since there is maxSurge.
func (t *kruiseTranslation) surging(strategy *rollout.Strategy, path *field.Path) {
	if unavailable := strategy.MaxUnavailable; unavailable != nil && !isZero(*unavailable) {
		t.errs = append(t.errs, field.Invalid(path.Child("maxUnavailable"), unavailable.String(),
			"must be 0 or unset with rollingUpdateType "+kruiseSurging))
	}
	strategy.MaxUnavailable = new(intstr.FromInt32(0))
	if strategy.MaxSurge == nil {
		strategy.MaxSurge = new(intstr.FromInt32(1))
	}
}

func (t *kruiseTranslation) updateTypes() []string {
	if t.apiVersion == kruiseV1alpha1 {
		return []string{kruiseStandard, kruiseInPlace, kruiseSurging}
	}
	return []string{kruiseStandard, kruiseInPlace}
}

// progressive reads the annotation that stands for partitioned scaling in v1alpha1. OpenKruise takes any value but "true" for
// false, which creates pods on all nodes. Here a value that cannot be read is an error, because it must not mean unlimited.
func (t *kruiseTranslation) progressive() bool {
	text, found := t.meta.Annotations[kruiseProgressive]
	if found && text != "true" && text != "false" {
		t.errs = append(t.errs, field.NotSupported(annotation(kruiseProgressive), text, []string{"true", "false"}))
	}
	return text == "true"
}

// preDownload is nil without any of the annotations: the feature gate of OpenKruise is off by default.
func (t *kruiseTranslation) preDownload() *predownload.Options {
	options := predownload.Options{TimeoutSeconds: kruisePullTimeoutSeconds, BackoffLimit: new(int32(kruisePullBackoffLimit))}
	wanted := false
	if text, found := t.meta.Annotations[kruiseParallelism]; found {
		wanted = true
		options.Parallelism = t.quantity(kruiseParallelism, text)
	}
	if text, found := t.meta.Annotations[kruiseMinReady]; found {
		wanted = true
		options.MinUpdatedReadyPods = t.quantity(kruiseMinReady, text)
	}
	if text, found := t.meta.Annotations[kruiseTimeout]; found {
		wanted = true
		seconds, err := strconv.ParseInt(text, 10, 32)
		if err != nil || seconds < 1 {
			// For 0 this library would take its default, while OpenKruise makes a pull that times out at once.
			t.errs = append(t.errs, field.Invalid(annotation(kruiseTimeout), text,
				"must be a whole number of seconds, at least 1"))
		}
		options.TimeoutSeconds = int32(seconds)
	}
	if !wanted {
		return nil
	}
	return &options
}

// quantity reads the text of an annotation. New checks whether the number is in range.
func (t *kruiseTranslation) quantity(key, text string) *intstr.IntOrString {
	if number, err := strconv.ParseInt(text, 10, 32); err == nil {
		return new(intstr.FromInt32(int32(number)))
	}
	if len(utilvalidation.IsValidPercent(text)) == 0 {
		return new(intstr.FromString(text))
	}
	t.errs = append(t.errs, field.Invalid(annotation(key), text, mustBeIntOr))
	return nil
}

func (h *kruiseHook) hook() *lifecycle.Hook {
	if h == nil {
		return nil
	}
	return &lifecycle.Hook{Labels: h.LabelsHandler, Finalizers: h.FinalizersHandler, MarkPodNotReady: h.MarkPodNotReady}
}

func annotation(key string) *field.Path {
	return field.NewPath("metadata", "annotations").Key(key)
}

// isZero reports whether v is 0 or "0%". A value that cannot be read is not zero.
func isZero(v intstr.IntOrString) bool {
	n, err := intstr.GetScaledValueFromIntOrPercent(&v, 100, true)
	return err == nil && n == 0
}
