package rollouttest

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/daemonplan/daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/rollout"
)

// Noon is the instant at which tests begin: 2026-01-01 12:00 UTC. Builders count from it, and [Fleet] begins at it.
func Noon() time.Time {
	return objects.Noon()
}

// SpecOption changes one thing about a spec. Options are applied in order, so that a later one overrides an earlier, unless it
// says that it adds something. Where none does what a test needs, any function of that type will do.
type SpecOption func(*rollout.Spec)

// Spec returns a valid spec of a set with the given name: namespace "default", UID "set-<name>", the label
// app=<name> as selector, one container "main" of image "<name>:v1". All else has the defaults of [rollout.Spec],
// so one node at a time is updated.
func Spec(name string, options ...SpecOption) rollout.Spec {
	spec := rollout.Spec{
		Name:      name,
		Namespace: rollout.DefaultNamespace,
		UID:       types.UID("set-" + name),
		Selector:  &metav1.LabelSelector{MatchLabels: map[string]string{appLabel: name}},
		Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{appLabel: name}},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: objects.MainContainer, Image: name + ":v1"}}},
		},
	}
	for _, option := range options {
		option(&spec)
	}
	return spec
}

const appLabel = "app"

// Image sets the image of the first container: the usual way to a new revision. Without it the image is "<name>:v1". A
// template without containers stays one.
func Image(image string) SpecOption {
	return func(s *rollout.Spec) {
		if len(s.Template.Spec.Containers) > 0 {
			s.Template.Spec.Containers[0].Image = image
		}
	}
}

// MaxUnavailable sets the budget without surge (B3): how many nodes may lack a serving pod because of the rollout. Without it,
// and without [MaxSurge], it is 1. It takes a MaxSurge before it back.
func MaxUnavailable(quantity string) SpecOption {
	return func(s *rollout.Spec) {
		s.Strategy.MaxUnavailable, s.Strategy.MaxSurge = new(intstr.Parse(quantity)), nil
	}
}

// MaxSurge sets the budget with surge (B4): how many nodes may hold a new pod that is not available yet beside their old one.
// Without it there is no surge. It takes a MaxUnavailable before it back, and does not go with updates in place.
func MaxSurge(quantity string) SpecOption {
	return func(s *rollout.Spec) {
		s.Strategy.MaxUnavailable, s.Strategy.MaxSurge = nil, new(intstr.Parse(quantity))
	}
}

// OnDelete lets pods be updated by hand only (T5): whoever deletes one gets it back at the update revision.
func OnDelete() SpecOption {
	return func(s *rollout.Spec) { s.Strategy.Type = rollout.OnDelete }
}

// Paused begins no node; what was begun is finished, and repair goes on (T4).
func Paused() SpecOption {
	return func(s *rollout.Spec) { s.Strategy.Paused = true }
}

// Frozen creates and deletes nothing at all (T4).
func Frozen() SpecOption {
	return func(s *rollout.Spec) { s.Strategy.Frozen = true }
}

// MinReadySeconds sets how long a pod must have been Ready to be available (B5). Without it that is 0.
func MinReadySeconds(seconds int32) SpecOption {
	return func(s *rollout.Spec) { s.MinReadySeconds = seconds }
}

// Burst bounds the creates of one plan, and separately its deletes and new updates in place (M6): "2", or a percentage such as
// "10%", of at least 1. Without it that is 250.
func Burst(quantity string) SpecOption {
	return func(s *rollout.Spec) { s.Burst = new(intstr.Parse(quantity)) }
}

// HistoryLimit sets how many old revisions are kept (R4). Without it that is 10.
func HistoryLimit(limit int32) SpecOption {
	return func(s *rollout.Spec) { s.RevisionHistoryLimit = new(limit) }
}

// TemplateNodeSelector adds a label that nodes must have to run the pod (P2). Several are ANDed; of two with one key the later
// counts. Without it all nodes match.
func TemplateNodeSelector(key, value string) SpecOption {
	return func(s *rollout.Spec) {
		if s.Template.Spec.NodeSelector == nil {
			s.Template.Spec.NodeSelector = map[string]string{}
		}
		s.Template.Spec.NodeSelector[key] = value
	}
}

// Affinity adds a term to the required node affinity: the label must have one of the values. Several terms are ORed (P4). A
// term without values is invalid, and [rollout.New] refuses it.
func Affinity(key string, values ...string) SpecOption {
	return func(s *rollout.Spec) {
		required := objects.RequiredAffinity(&s.Template.Spec)
		required.NodeSelectorTerms = append(required.NodeSelectorTerms, corev1.NodeSelectorTerm{
			MatchExpressions: []corev1.NodeSelectorRequirement{
				{Key: key, Operator: corev1.NodeSelectorOpIn, Values: values},
			},
		})
	}
}

// Tolerating adds a toleration to the template, with the operator Exists: an empty key tolerates every taint, an empty effect
// every effect. Daemon pods have some tolerations anyway (P1).
func Tolerating(key string, effect corev1.TaintEffect) SpecOption {
	return func(s *rollout.Spec) {
		s.Template.Spec.Tolerations = append(s.Template.Spec.Tolerations,
			corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists, Effect: effect})
	}
}
