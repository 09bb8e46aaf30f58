package manifest

import (
	"cmp"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
)

// PredecessorOf returns what a set needs to know to take over from the set of spec, whatever kind that is: a DaemonSet that an
// ExtendedDaemonSet follows, or the other way round. It shares no memory with spec.
//
// The pods of an ExtendedDaemonSet that EDS's own controller has run are controlled by its replica sets: add their UIDs.
func PredecessorOf(spec rollout.Spec) rollout.Predecessor {
	predecessor := rollout.Predecessor{Selector: spec.Selector.DeepCopy()}
	if spec.UID != "" {
		predecessor.UIDs = []types.UID{spec.UID}
	}
	return predecessor
}

func decodeEDS(object Object) (Set, error) {
	var set eds
	unknown, err := decode(object, &set)
	if err != nil {
		return Set{}, err
	}
	t := edsTranslation{meta: &set.ObjectMeta, spec: &set.Spec}
	spec := t.translate()
	if len(t.errs) > 0 {
		// The caller cannot go on to New, which would find the other mistakes, so they are reported here.
		return Set{}, append(t.errs, inManifest(spec, spec.Validate(field.NewPath("spec")))...).ToAggregate()
	}
	return Set{
		Spec:               spec,
		Memory:             edsMemory(set.Status.Canary.Nodes),
		OldDaemonSet:       set.Annotations[EDSOldDaemonSetAnnotation],
		CanaryPausedReason: set.Annotations[EDSCanaryPausedReasonAnnotation],
		Unknown:            unknown,
	}, nil
}

// edsMemory returns a memory of the chosen canary nodes, so that they stay chosen (C1) when this library takes over. It retains
// the list.
func edsMemory(nodes []string) rollout.Memory {
	slices.Sort(nodes)
	nodes = slices.Compact(nodes)
	if len(nodes) == 0 {
		return rollout.Memory{}
	}
	return rollout.Memory{Version: rollout.MemoryVersion, Canary: canary.Record{Nodes: nodes}}
}

// edsTranslation makes a Spec of a decoded object. The two may share memory, because the object is not used for anything else.
type edsTranslation struct {
	meta *metav1.ObjectMeta
	spec *edsSpec
	errs field.ErrorList // what a Spec cannot express, for New to find
}

func (t *edsTranslation) translate() rollout.Spec {
	if len(t.meta.Name) > utilvalidation.LabelValueMaxLength {
		t.errs = append(t.errs, field.TooLong(field.NewPath("metadata", "name"), t.meta.Name, utilvalidation.LabelValueMaxLength))
	}
	template := t.template()
	policy, mistakes := policyOf(t.meta.Annotations)
	t.errs = append(t.errs, mistakes...)
	return rollout.Spec{
		Name:       t.meta.Name,
		Namespace:  t.meta.Namespace,
		UID:        t.meta.UID,
		APIVersion: edsAPIVersion,
		Kind:       edsKind,
		Generation: t.meta.Generation,
		Selector:   t.selector(template),
		Template:   *template,
		Strategy: rollout.Strategy{
			MaxUnavailable:   t.spec.Strategy.RollingUpdate.MaxUnavailable,
			MaxUnschedulable: t.spec.Strategy.RollingUpdate.MaxPodSchedulerFailure,
			SlowStart:        t.slowStart(),
			Canary:           t.canary(),
			Policy:           policy,
			Paused:           t.isOn(EDSRollingUpdatePausedAnnotation),
			Frozen:           t.isOn(EDSRolloutFrozenAnnotation) || t.meta.DeletionTimestamp != nil,
		},
		Burst: t.burst(),
	}
}

// template returns that of the manifest with what EDS puts on every pod. A name is of no use for more than one pod: EDS
// removes it.
func (t *edsTranslation) template() *corev1.PodTemplateSpec {
	template := &t.spec.Template
	template.Name = ""
	metav1.SetMetaDataLabel(&template.ObjectMeta, edsNameLabel, t.nameLabel())
	metav1.SetMetaDataAnnotation(&template.ObjectMeta, edsAutoscalerAnnotation, "true")
	return template
}

// nameLabel returns the label value by which pods are found: the name of the set. A name that cannot be a label value is
// reported once, as a name, and not at every place of the label.
func (t *edsTranslation) nameLabel() string {
	if len(utilvalidation.IsValidLabelValue(t.meta.Name)) > 0 {
		return ""
	}
	return t.meta.Name
}

// selector returns that of the pods, which EDS finds by their label alone. Its documentation calls spec.selector a selector
// of pods, its controller selects nodes with it. A selector that the template matches is taken at its word, any other
// one would leave the set without pods and is one of nodes.
func (t *edsTranslation) selector(template *corev1.PodTemplateSpec) *metav1.LabelSelector {
	pods := &metav1.LabelSelector{MatchLabels: map[string]string{edsNameLabel: t.nameLabel()}}
	given := t.spec.Selector
	if given == nil {
		return pods
	}
	selector, err := metav1.LabelSelectorAsSelector(given)
	if err == nil && !selector.Matches(labels.Set(template.Labels)) {
		requireNodes(template, given)
		return pods
	}
	maps.Copy(pods.MatchLabels, given.MatchLabels)
	pods.MatchExpressions = given.MatchExpressions
	return pods
}

// requireNodes lets the template run only on nodes that also match the selector.
func requireNodes(template *corev1.PodTemplateSpec, selector *metav1.LabelSelector) {
	var wanted []corev1.NodeSelectorRequirement
	for _, key := range slices.Sorted(maps.Keys(selector.MatchLabels)) {
		wanted = append(wanted, corev1.NodeSelectorRequirement{
			Key: key, Operator: corev1.NodeSelectorOpIn, Values: []string{selector.MatchLabels[key]},
		})
	}
	for _, e := range selector.MatchExpressions {
		wanted = append(wanted, corev1.NodeSelectorRequirement{
			Key: e.Key, Operator: corev1.NodeSelectorOperator(e.Operator), Values: e.Values,
		})
	}
	spec := &template.Spec
	spec.Affinity = cmp.Or(spec.Affinity, new(corev1.Affinity))
	spec.Affinity.NodeAffinity = cmp.Or(spec.Affinity.NodeAffinity, new(corev1.NodeAffinity))
	affinity := spec.Affinity.NodeAffinity
	if affinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		affinity.RequiredDuringSchedulingIgnoredDuringExecution = &corev1.NodeSelector{
			NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: wanted}},
		}
		return
	}
	terms := affinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
	for i := range terms {
		if len(terms[i].MatchExpressions)+len(terms[i].MatchFields) > 0 { // an empty term matches no node
			terms[i].MatchExpressions = slices.Concat(terms[i].MatchExpressions, wanted)
		}
	}
}

// slowStart is never nil, because EDS always has slow start: one more pod a minute by default.
func (t *edsTranslation) slowStart() *rollout.SlowStart {
	update := &t.spec.Strategy.RollingUpdate
	slow := &rollout.SlowStart{Increase: update.SlowStartAdditiveIncrease}
	if interval := update.SlowStartIntervalDuration; interval != nil {
		slow.Interval = interval.Duration
		if interval.Duration == 0 {
			// In a Spec 0 is the default. EDS's controller divides by it.
			t.errs = append(t.errs, field.Invalid(field.NewPath("spec", "strategy", "rollingUpdate", "slowStartIntervalDuration"),
				interval.Duration.String(), "must be positive"))
		}
	}
	if parallel := update.MaxParallelPodCreation; parallel != nil {
		slow.MaxParallel = new(intstr.FromInt32(*parallel))
	}
	return slow
}

// burst returns nil, which stands for the default, unless more pods than that may be created in parallel.
func (t *edsTranslation) burst() *intstr.IntOrString {
	if parallel := t.spec.Strategy.RollingUpdate.MaxParallelPodCreation; parallel != nil && *parallel > rollout.DefaultBurst {
		return new(intstr.FromInt32(*parallel))
	}
	return nil
}

func (t *edsTranslation) canary() *canary.Options {
	c := t.spec.Strategy.Canary
	if c == nil {
		return nil
	}
	return &canary.Options{
		Replicas:             c.Replicas,
		Mode:                 canary.Mode(c.ValidationMode),
		Duration:             duration(c.Duration),
		NoRestartsDuration:   duration(c.NoRestartsDuration),
		NodeSelector:         c.NodeSelector,
		NodeAntiAffinityKeys: c.NodeAntiAffinityKeys,
		AutoPause: canary.AutoPause{
			Disabled:             isFalse(c.AutoPause.Enabled),
			MaxRestarts:          c.AutoPause.MaxRestarts,
			MaxSlowStartDuration: duration(c.AutoPause.MaxSlowStartDuration),
		},
		AutoFail: canary.AutoFail{
			Disabled:            isFalse(c.AutoFail.Enabled),
			MaxRestarts:         c.AutoFail.MaxRestarts,
			MaxRestartsDuration: duration(c.AutoFail.MaxRestartsDuration),
			CanaryTimeout:       duration(c.AutoFail.CanaryTimeout),
		},
		Commands: t.commands(),
	}
}

// commands reads EDS's commands, and the revisions that they are for where annotations of this library name them (C5).
func (t *edsTranslation) commands() canary.Commands {
	given := t.meta.Annotations
	commands := canary.Commands{
		Validate: cmp.Or(given[CanaryValidateAnnotation], given[EDSCanaryValidAnnotation]),
		Fail:     given[CanaryFailAnnotation],
		Retry:    given[CanaryRetryAnnotation],
	}
	if t.isOn(EDSCanaryPausedAnnotation) {
		commands.Pause = cmp.Or(given[CanaryPauseAnnotation], canary.Any)
	}
	if t.isOn(EDSCanaryUnpausedAnnotation) {
		commands.Unpause = cmp.Or(given[CanaryUnpauseAnnotation], canary.Any)
	}
	return commands
}

// isOn reports whether a switch is on. As in EDS, any value but "true" is off.
func (t *edsTranslation) isOn(key string) bool {
	return t.meta.Annotations[key] == "true"
}

func duration(d *metav1.Duration) *time.Duration {
	if d == nil {
		return nil
	}
	return &d.Duration
}

func isFalse(b *bool) bool { return b != nil && !*b }
