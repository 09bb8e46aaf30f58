package plan

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daemonplan/daemonplan/rollout/manifest"
)

// These are the API groups that have a DaemonSet or an ExtendedDaemonSet.
const (
	groupApps   = "apps"
	groupKruise = "apps.kruise.io"
	groupEDS    = "datadoghq.com"
)

// set is a set that was read.
type set struct {
	manifest.Set
	group  string
	meta   metav1.ObjectMeta // for the age, which the spec does not have
	object manifest.Object   // the object, which commands patch
}

// kindOf is the name of a set's kind in errors. It has the group, except for the kinds of Kubernetes and Datadog.
func kindOf(group string) string {
	switch group {
	case groupApps:
		return "DaemonSet"
	case groupEDS:
		return "ExtendedDaemonSet"
	default:
		return group + " DaemonSet"
	}
}

// resourceOf is the beginning of a set's name as "kubectl get -o name" prints it. It cannot be confused with a namespace, because
// it has a dot.
func resourceOf(group string) string {
	if group == groupEDS {
		return "extendeddaemonset." + group
	}
	return "daemonset." + group
}

func (s *set) fullName() string { return s.Spec.Namespace + "/" + s.Spec.Name }

// meant reports whether a filter matches the set.
func (s *set) meant(filter string) bool {
	resource := resourceOf(s.group)
	if filter == resource {
		return true
	}
	filter = strings.TrimPrefix(filter, resource+"/")
	return filter == s.Spec.Name || filter == s.Spec.Namespace || filter == s.fullName()
}

// choose picks the set to plan.
func (in *input) choose(filters []string) (*set, error) {
	// If all sets are of one kind, their names are sufficient to distinguish them.
	mixed := slices.ContainsFunc(in.sets, func(s *set) bool { return s.group != in.sets[0].group })
	var all, matching []string
	var chosen []*set
	for _, s := range in.sets {
		name := s.fullName()
		if mixed {
			name = resourceOf(s.group) + "/" + name
		}
		name = printable(name)
		all = append(all, name)
		if !slices.ContainsFunc(filters, func(filter string) bool { return !s.meant(filter) }) {
			chosen = append(chosen, s)
			matching = append(matching, name)
		}
	}
	slices.Sort(all)
	slices.Sort(matching)
	const none = "there is no DaemonSet of apps/v1 or apps.kruise.io, and no ExtendedDaemonSet, in the input"
	switch {
	case len(chosen) == 1:
		return chosen[0], nil
	case len(all) == 0 && len(in.ignored) > 0:
		return nil, fmt.Errorf("%s (ignored: %s)", none, ignoredKinds(in.ignored))
	case len(all) == 0:
		return nil, errors.New(none)
	case len(chosen) == 0:
		return nil, fmt.Errorf("no DaemonSet is called %s; there are: %s",
			strings.Join(filters, " and "), strings.Join(all, ", "))
	default:
		return nil, fmt.Errorf("choose one of the DaemonSets with -n: %s", strings.Join(matching, ", "))
	}
}
