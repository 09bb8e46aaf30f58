package placement_test

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/placement"
)

// unrecorded are the entries of situations that no recording shows, but variations of recordings do.
const unrecorded overrideRuleSet = 1<<misspeltReported | 1<<lastEntryCounts

// overrideEntries is the table of deliberate differences. The numbers are those of the surprises in the recording's README.
// broken says how ours, in a case that needs the entry, fails what holds instead of the peer's behaviour.
var overrideEntries = [overrideRules]struct {
	id, rule, why string
	broken        func(c *recordedOverride, ours effects, overridden placement.Overridden) string
}{
	malformedReported: {"malformed-reported", "P8, surprise 25",
		"the peer's controller loses the error of an annotation that cannot be read", brokenReport},
	misspeltReported: {"misspelt-reported", "P8",
		"the peer takes an object of which it knows no field for one that gives nothing", brokenMisspelt},
	refusedByServer: {"refused-by-server", "P8",
		"the peer makes pods with a request above its limit, which the API server refuses", brokenAmounts},
	ownDigest: {"own-digest", "P8",
		"the peer marks what it read, not what it changed: annotations of containers that the template lacks, and settings that change nothing", brokenMark},
	daemonTolerations: {"daemon-tolerations", "P1, surprise 29",
		"the peer tolerates network-unavailable without host network, and not pid-pressure", brokenTolerations},
	alwaysPinned: {"always-pinned", "P6",
		"the peer can bind pods itself", brokenPin},
	termsReplaced: {"terms-replaced", "P6",
		"the peer adds the pin to each term that the template required; here the node was evaluated already", brokenPin},
	annotationBeatsSetting: {"annotation-beats-setting", "P8, surprise 23",
		"the peer creates with the annotation and compares with the setting, so a new pod is never up to date", brokenComparison},
	lastEntryCounts: {"last-entry-counts", "P8, surprise 23",
		"of two entries for a container the peer creates with the last and compares with the first, so a new pod is never up to date",
		brokenComparison},
	wholeCompared: {"whole-compared", "P8, surprise 24",
		"the peer compares only what a setting names now: one that is gone, or names less, goes unnoticed", brokenComparison},
	effectsCompared: {"effects-compared", "P8",
		"the peer compares the texts of annotations: other spellings and containers that the template lacks restart pods", brokenComparison},
	malformedHolds: {"malformed-holds", "P8",
		"an annotation that cannot be read replaces running pods of the peer, with the template's resources", brokenComparison},
	perContainer: {"per-container", "P8, surprise 26",
		"the peer puts a whole setting out of use, on all nodes, if it meets another on one", brokenSources},
	ownSettingsOnly: {"own-settings-only", "P8, surprise 26",
		"settings for other sets, or for none, conflict with the peer's", brokenSources},
	invalidAlone: {"invalid-alone", "P8, surprise 26",
		"one invalid selector puts every setting of the peer's namespace out of use", brokenSources},
}

// brokenReport: every annotation for a container of the template that the library does not obey is reported.
func brokenReport(c *recordedOverride, ours effects, overridden placement.Overridden) string {
	for _, container := range c.Input.ReplicaSet.Spec.Template.Spec.Containers {
		if _, ok := c.resourceAnnotations()[container.Name]; !ok || slices.Contains(ours.Reported, container.Name) {
			continue
		}
		for _, resources := range overridden.Resources {
			if resources.Container == container.Name && resources.Source != "" {
				return container.Name + " has an annotation, but neither its resources nor a report"
			}
		}
	}
	if c.Input.Kind == "createPod" && len(ours.Reported) == 0 {
		return "nothing is reported"
	}
	return ""
}

// brokenMisspelt: what is misspelt is reported, and makes no running pod outdated.
func brokenMisspelt(c *recordedOverride, ours effects, overridden placement.Overridden) string {
	if c.Input.Kind == "comparePod" {
		return brokenComparison(c, ours, overridden)
	}
	return brokenReport(c, ours, overridden)
}

// brokenAmounts: no override asks for what the API server refuses.
func brokenAmounts(_ *recordedOverride, _ effects, overridden placement.Overridden) string {
	for _, resources := range overridden.Resources {
		if overcommitted(resources.Resources) {
			return resources.Container + " requests more than its limit"
		}
	}
	return ""
}

// brokenMark: the digest is there if and only if a container's amounts differ from the template's.
func brokenMark(c *recordedOverride, ours effects, overridden placement.Overridden) string {
	pod := placement.Pod(&c.Input.ReplicaSet.Spec.Template, "n")
	overridden.Apply(pod)
	differs := false
	for i, container := range c.Input.ReplicaSet.Spec.Template.Spec.Containers {
		differs = differs || !sameAmounts(container.Resources, pod.Spec.Containers[i].Resources)
	}
	if differs != ours.Marked {
		return fmt.Sprintf("marked: %v, but the resources differ: %v", ours.Marked, differs)
	}
	return ""
}

func brokenTolerations(c *recordedOverride, ours effects, _ placement.Overridden) string {
	all := strings.Join(ours.Tolerations, " ")
	if strings.Contains(all, corev1.TaintNodeNetworkUnavailable) != c.Input.ReplicaSet.Spec.Template.Spec.HostNetwork ||
		!strings.Contains(all, corev1.TaintNodePIDPressure) {
		return "the tolerations are not those of daemon pods"
	}
	return ""
}

func brokenPin(c *recordedOverride, ours effects, _ placement.Overridden) string {
	pod := placement.Pod(&c.Input.ReplicaSet.Spec.Template, nameOf(c.Input.Node))
	target, ok := placement.TargetNode(pod)
	if !ok || target != c.Input.Node.Name || pod.Spec.NodeName != "" || ours.Goes != asJSON(pod.Spec.Affinity) {
		return "the pod is not pinned to its node, and nowhere else"
	}
	return ""
}

// brokenComparison: a pod of the template is up to date if it has what a pod that is created now gets, or if that cannot
// be told; and the pod that is created now is.
func brokenComparison(c *recordedOverride, ours effects, overridden placement.Overridden) string {
	fresh := placement.Pod(&c.Input.ReplicaSet.Spec.Template, "n")
	overridden.Apply(fresh)
	if fresh.Annotations[placement.DigestAnnotation] != c.evaluate().Digest {
		return "a new pod is not up to date"
	}
	same := true
	for _, wanted := range fresh.Spec.Containers {
		for _, has := range c.Input.Pod.Spec.Containers {
			same = same && (wanted.Name != has.Name || sameAmounts(wanted.Resources, has.Resources))
		}
	}
	template, _, _ := c.modelMatches(0)
	if want := template && (same || len(overridden.Malformed) > 0); want != ours.UpToDate {
		return fmt.Sprintf("up to date: %v, but what a new pod gets says %v", ours.UpToDate, want)
	}
	return ""
}

// brokenSources: each container gets its resources from the newest of the set's own settings that match the node, have
// the container and can be used; whatever else there is changes nothing.
func brokenSources(c *recordedOverride, ours effects, _ placement.Overridden) string {
	for _, node := range c.Input.Nodes {
		want := map[string]*setting{}
		for i := range c.Input.Settings {
			s := &c.Input.Settings[i]
			if s.Spec.Reference == nil || s.Spec.Reference.Name != c.setName() || !s.matches(node) {
				continue
			}
			for name, resources := range s.override().Containers {
				at, best := s.Metadata.CreationTimestamp, want[name]
				if !overcommitted(resources) && (best == nil || at.After(best.Metadata.CreationTimestamp.Time) ||
					at.Equal(&best.Metadata.CreationTimestamp) && s.Metadata.Name > best.Metadata.Name) {
					want[name] = s
				}
			}
		}
		if len(want) != len(ours.Sources[node.Name]) {
			return fmt.Sprintf("%s has %d sources, want %d", node.Name, len(ours.Sources[node.Name]), len(want))
		}
		for name, s := range want {
			if got := ours.Sources[node.Name][name]; got != s.Metadata.Name {
				return fmt.Sprintf("%s gets %s from %s, want %s", node.Name, name, got, s.Metadata.Name)
			}
		}
	}
	return ""
}
