package placement_test

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// modelSettings returns which setting each node gets, and what is said of each setting, in all orders of the nodes.
func (c *recordedOverride) modelSettings(on overrideRuleSet) (byNode, says map[string][]string) {
	byNode, says = map[string][]string{}, map[string][]string{}
	settings := c.candidates(on)
	for _, s := range settings {
		says[s.Metadata.Name] = c.modelConflicts(settings, s)
	}
	for _, s := range c.Input.Settings {
		if s.Spec.Reference == nil || s.Spec.Reference.Name == "" {
			says[s.Metadata.Name] = []string{"missing reference"}
		}
	}
	for _, node := range c.Input.Nodes {
		byNode[node.Name] = []string{""}
		for _, s := range settings {
			if says[s.Metadata.Name][0] == "valid" && s.Spec.Reference.Name == c.setName() && s.matches(node) {
				byNode[node.Name] = []string{s.Metadata.Name}
			}
		}
	}
	return byNode, says
}

// candidates returns the settings that count, newest first, then by name from the last.
func (c *recordedOverride) candidates(on overrideRuleSet) []setting {
	settings := slices.Clone(c.Input.Settings)
	settings = slices.DeleteFunc(settings, func(s setting) bool {
		_, err := metav1.LabelSelectorAsSelector(&s.Spec.NodeSelector)
		return on.has(ownSettingsOnly) && (s.Spec.Reference == nil || s.Spec.Reference.Name != c.setName()) ||
			on.has(invalidAlone) && err != nil
	})
	slices.SortFunc(settings, func(a, b setting) int {
		return cmp.Or(b.Metadata.CreationTimestamp.Compare(a.Metadata.CreationTimestamp.Time), strings.Compare(b.Metadata.Name, a.Metadata.Name))
	})
	return settings
}

// modelConflicts looks at one node after the other, and ends at the first with a conflict; any of them may be the first.
func (c *recordedOverride) modelConflicts(settings []setting, of setting) []string {
	var found []string
	for _, node := range c.Input.Nodes {
		previous := ""
		for _, s := range settings {
			if _, err := metav1.LabelSelectorAsSelector(&s.Spec.NodeSelector); err != nil {
				found = append(found, "conflict ")
				break
			}
			if s.matches(node) {
				if s.Metadata.Name == of.Metadata.Name && previous != "" {
					found = append(found, "conflict "+previous)
					break
				}
				previous = s.Metadata.Name
			}
		}
	}
	slices.Sort(found)
	if found = slices.Compact(found); len(found) == 0 {
		return []string{"valid"}
	}
	return found
}

func (s *setting) matches(node *corev1.Node) bool {
	selector, err := metav1.LabelSelectorAsSelector(&s.Spec.NodeSelector)
	return err == nil && selector.Matches(labels.Set(node.Labels))
}

// modelAssigned returns whose resources each container gets on each node.
func (c *recordedOverride) modelAssigned(on overrideRuleSet) effects {
	byNode, says := c.modelSettings(on)
	o := effects{Sources: map[string]map[string]string{}, Said: says}
	settings := c.candidates(on)
	if on.has(perContainer) {
		for name, said := range says {
			if said[0] != "missing reference" {
				says[name] = nil
			}
		}
	}
	for _, node := range c.Input.Nodes {
		sources := map[string]string{}
		o.Sources[node.Name] = sources
		winners := map[string]string{}
		for _, s := range settings {
			override := s.override()
			for _, container := range slices.Sorted(maps.Keys(override.Containers)) {
				name := s.Metadata.Name
				switch refused := on.has(refusedByServer) && overcommitted(override.Containers[container]); {
				case refused || !s.matches(node):
				case !on.has(perContainer):
					if byNode[node.Name][0] == name {
						sources[container] = name
					}
				case winners[container] == "":
					winners[container] = name
					if s.Spec.Reference != nil && s.Spec.Reference.Name == c.setName() {
						sources[container] = name
					}
				default:
					says[name] = append(says[name], "conflict "+winners[container])
				}
			}
		}
	}
	for _, s := range c.Input.Settings {
		name, own := s.Metadata.Name, s.Spec.Reference != nil && s.Spec.Reference.Name == c.setName()
		_, err := metav1.LabelSelectorAsSelector(&s.Spec.NodeSelector)
		if own && err != nil && on.has(invalidAlone) {
			says[name] = []string{"invalid selector"}
		}
	}
	return o.tidy()
}
