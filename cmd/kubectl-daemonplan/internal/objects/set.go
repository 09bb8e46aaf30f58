package objects

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/text"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/manifest"
)

// These are the API groups that have a DaemonSet or an ExtendedDaemonSet.
const (
	GroupApps   = "apps"
	GroupKruise = "apps.kruise.io"
	GroupEDS    = "datadoghq.com"
)

// Set is a set that was read.
type Set struct {
	manifest.Set
	Group string
	Meta  metav1.ObjectMeta // for the age, which the spec does not have
	// Stored is how many nodes are desired by the status; nil: it does not say.
	Stored *int32
	// Frequency is the reconcileFrequency of an ExtendedDaemonSet; nil: it has none.
	Frequency *metav1.Duration
	// Revised reports whether the set has ControllerRevisions. The ExtendedDaemonSet controller makes none.
	Revised bool
	Object  manifest.Object // the object, which commands patch
}

// IsSet reports whether a controller of daemon pods would handle the object.
func IsSet(object manifest.Object) bool {
	group := groupOf(object)
	return object.Kind == "DaemonSet" && (group == GroupApps || group == GroupKruise) ||
		object.Kind == "ExtendedDaemonSet" && group == GroupEDS
}

// groupOf is the API group of an object; that of the core has none, so that it is the version.
func groupOf(object manifest.Object) string {
	group, _, _ := strings.Cut(object.APIVersion, "/")
	return group
}

// outdated is the mistake of a DaemonSet of a version that no API server takes any more; nil: it is none.
func outdated(object manifest.Object) error {
	how := ""
	switch object.APIVersion + " " + object.Kind {
	case "extensions/v1beta1 DaemonSet":
		how = ", add spec.selector.matchLabels with labels of spec.template.metadata.labels, and drop spec.templateGeneration"
	case "apps/v1beta2 DaemonSet":
	default:
		return nil
	}
	return fmt.Errorf("apiVersion: no API server takes %s any more; convert it to apps/v1: set apiVersion: apps/v1%s",
		object.APIVersion, how)
}

// decodeSet reads the object.
func decodeSet(object manifest.Object) (*Set, error) {
	decoded, err := object.Set()
	if err != nil {
		return nil, err
	}
	s := &Set{Set: decoded, Group: groupOf(object), Object: object}
	var meta struct {
		metav1.PartialObjectMetadata
		Spec struct {
			Strategy struct {
				ReconcileFrequency *metav1.Duration `json:"reconcileFrequency"`
			} `json:"strategy"`
		} `json:"spec"`
		Status struct {
			DesiredNumberScheduled *int32 `json:"desiredNumberScheduled"`
			Desired                *int32 `json:"desired"` // of an ExtendedDaemonSet
		} `json:"status"`
	}
	if err := object.Decode(&meta); err != nil {
		return nil, err
	}
	s.Meta, s.Stored = meta.ObjectMeta, cmp.Or(meta.Status.DesiredNumberScheduled, meta.Status.Desired)
	s.Frequency = meta.Spec.Strategy.ReconcileFrequency
	s.Spec.Namespace = cmp.Or(s.Spec.Namespace, rollout.DefaultNamespace)
	return s, nil
}

// With is the set as it would be with this JSON in the place of its object.
func (s *Set) With(object []byte) (*Set, error) {
	changed := s.Object
	changed.JSON = object
	next, err := decodeSet(changed)
	if err != nil {
		return nil, err
	}
	next.Spec.Namespace = s.Spec.Namespace
	next.Memory = s.Memory
	return next, nil
}

func (in *Input) addSet(object manifest.Object, origin string) error {
	s, err := decodeSet(object)
	if err != nil {
		return err
	}
	if err := in.enter(KindOf(s.Group), &s.Meta, origin); err != nil {
		return err
	}
	in.origins[s] = origin
	in.Sets = append(in.Sets, s)
	return nil
}

// KindOf is the name of a set's kind in errors. It has the group, except for the kinds of Kubernetes and Datadog.
func KindOf(group string) string {
	switch group {
	case GroupApps:
		return "DaemonSet"
	case GroupEDS:
		return "ExtendedDaemonSet"
	default:
		return group + " DaemonSet"
	}
}

// ResourceOf is the beginning of a set's name as "kubectl get -o name" prints it.
func ResourceOf(group string) string {
	if group == GroupEDS {
		return "extendeddaemonset." + group
	}
	return "daemonset." + group
}

// FullName is NAMESPACE/NAME.
func (s *Set) FullName() string { return s.Spec.Namespace + "/" + s.Spec.Name }

// Ref says which set is meant. Empty fields mean any.
type Ref struct {
	// Group is the API group, Namespace the namespace, and Name the name of the set.
	Group, Namespace, Name string
}

// resources are the words for the kinds, as kubectl takes them, and their groups; empty: any DaemonSet.
var resources = map[string]string{
	"ds": "", "daemonset": "", "daemonsets": "",
	"daemonset.apps": GroupApps, "daemonsets.apps": GroupApps,
	"daemonset.apps.kruise.io": GroupKruise, "daemonsets.apps.kruise.io": GroupKruise,
	"eds": GroupEDS, "extendeddaemonset": GroupEDS, "extendeddaemonsets": GroupEDS,
	"extendeddaemonset.datadoghq.com": GroupEDS, "extendeddaemonsets.datadoghq.com": GroupEDS,
}

// ParseRef reads SET: NAME, or RESOURCE/NAME. As for kubectl, "ds" without a group is the DaemonSet of Kubernetes.
func ParseRef(set string) (Ref, error) {
	resource, name, found := strings.Cut(set, "/")
	if !found {
		return Ref{Name: set}, nil
	}
	group, known := resources[strings.ToLower(resource)]
	if !known || name == "" || strings.Contains(name, "/") {
		return Ref{}, fmt.Errorf("there is no set %q: it is NAME, ds/NAME, daemonset.apps/NAME, daemonset.apps.kruise.io/NAME, "+
			"eds/NAME or extendeddaemonset.datadoghq.com/NAME; the namespace is given with -n", set)
	}
	return Ref{Group: cmp.Or(group, GroupApps), Name: name}, nil
}

// String is what was asked for, in words.
func (r Ref) String() string {
	words := r.Name
	if r.Group != "" {
		words = ResourceOf(r.Group) + "/" + r.Name
	}
	if r.Namespace != "" {
		words += " in namespace " + r.Namespace
	}
	return strings.TrimSpace(words)
}

func (r Ref) means(s *Set) bool {
	return (r.Group == "" || r.Group == s.Group) && (r.Namespace == "" || r.Namespace == s.Spec.Namespace) &&
		(r.Name == "" || r.Name == s.Spec.Name)
}

// names lists sets as SET is written, with the namespace: daemonset.apps/agent (namespace web).
func names(sets []*Set) string {
	var list []string
	for _, s := range sets {
		list = append(list, text.Printable(fmt.Sprintf("%s/%s (-n %s)", ResourceOf(s.Group), s.Spec.Name, s.Spec.Namespace)))
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}

// NoSetError is the error that there is no set that is meant, although there are others.
type NoSetError struct{ text string }

// Error returns what was meant, and what there is.
func (e *NoSetError) Error() string { return e.text }

// Find lists the sets that are meant.
func (in *Input) Find(ref Ref) []*Set {
	var found []*Set
	for _, s := range in.Sets {
		if ref.means(s) {
			found = append(found, s)
		}
	}
	return found
}

// Choose picks the set that is meant.
func (in *Input) Choose(ref Ref) (*Set, error) {
	chosen := in.Find(ref)
	const none = "there is no DaemonSet of apps/v1 or apps.kruise.io, and no ExtendedDaemonSet, in the input"
	switch {
	case len(chosen) == 1:
		return chosen[0], nil
	case len(in.Sets) == 0 && len(in.Ignored) > 0:
		return nil, fmt.Errorf("%s (ignored: %s)", none, in.IgnoredKinds())
	case len(in.Sets) == 0:
		return nil, errors.New(none)
	case len(chosen) == 0:
		return nil, &NoSetError{fmt.Sprintf("there is no set %s; there are: %s", text.Printable(ref.String()), names(in.Sets))}
	default:
		return nil, fmt.Errorf("there are several sets; name one of them: %s", names(chosen))
	}
}
