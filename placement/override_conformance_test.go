package placement_test

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/daemonplan/daemonplan/internal/conformance"
	"github.com/daemonplan/daemonplan/placement"
)

// recordedOverride is one case of what the ExtendedDaemonSet controller does with settings and annotations.
type recordedOverride struct {
	Name  string
	Input struct {
		Kind                  string
		AddNodeAffinity       bool
		ExtendedDaemonSetName string
		Node                  *corev1.Node
		Nodes                 []*corev1.Node
		Pod                   *corev1.Pod
		ReplicaSet            struct {
			Metadata metav1.ObjectMeta
			Spec     struct {
				Template           corev1.PodTemplateSpec
				TemplateGeneration string
			}
		}
		Setting  *setting
		Settings []setting
	}
	Expect struct {
		Pod                                                            *corev1.Pod
		Error, ErrorInController                                       string
		UpToDate, TemplateHashMatches, SettingMatches, NodeHashMatches bool
		ObservedSettingsByNode                                         map[string][]string
		ObservedStatusesBySetting                                      map[string][]struct{ Status, Error string }
		NodeListErrors                                                 []string
	}
}

// setting is an ExtendedDaemonsetSetting, as far as it says something.
type setting struct {
	Metadata metav1.ObjectMeta
	Spec     struct {
		Reference    *struct{ Name string }
		NodeSelector metav1.LabelSelector
		Containers   []struct {
			Name      string
			Resources corev1.ResourceRequirements
		}
	}
}

// effects is what comes of overrides, the peer's or ours, in common words. Each kind of case has its own fields.
type effects struct {
	// Of a pod that is created: the resources that its containers have on the API server, where it goes, what it tolerates, whether it carries a
	// mark of being overridden, and for which containers an unreadable annotation is made known.
	Resources   map[string]string
	Goes        string
	Tolerations []string
	Marked      bool
	Reported    []string
	// Of a pod that is there.
	UpToDate bool
	// Of settings on nodes: whose resources each container gets, by node, and what is said of each setting.
	Sources map[string]map[string]string
	Said    map[string][]string
}

func (c *recordedOverride) setName() string {
	if c.Input.Kind == "createPod" {
		return c.Input.ReplicaSet.Metadata.Labels["extendeddaemonset.datadoghq.com/name"]
	}
	return c.Input.ExtendedDaemonSetName
}

// override translates a setting as package manifest does: of two entries for one container the last counts.
func (s *setting) override() placement.Override {
	override := placement.Override{
		Name: s.Metadata.Name, Created: s.Metadata.CreationTimestamp.Time, NodeSelector: s.Spec.NodeSelector,
		Containers: map[string]corev1.ResourceRequirements{},
	}
	for _, container := range s.Spec.Containers {
		override.Containers[container.Name] = container.Resources
	}
	return override
}

// evaluate returns what the library says of the case's node and setting, which the recording has matched already.
func (c *recordedOverride) evaluate() placement.Overridden {
	var overrides []placement.Override
	if c.Input.Setting != nil {
		override := c.Input.Setting.override()
		override.NodeSelector = metav1.LabelSelector{}
		overrides = append(overrides, override)
	}
	node := c.Input.Node
	if node == nil {
		node = &corev1.Node{} // the peer creates pods for no node; the setting is to have its effect
	}
	set := c.Input.ReplicaSet
	compiled, _ := placement.CompileOverrides(set.Metadata.Namespace, c.setName(), &set.Spec.Template, overrides)
	return compiled.Evaluate(node)
}

// ours returns what the library does.
func (c *recordedOverride) ours() effects {
	switch c.Input.Kind {
	case "createPod":
		return c.ourPod()
	case "comparePod":
		overridden := c.evaluate()
		matches := c.Input.Pod.Annotations["extendeddaemonset.datadoghq.com/templatehash"] == c.Input.ReplicaSet.Spec.TemplateGeneration
		return effects{UpToDate: matches && (len(overridden.Malformed) > 0 || c.recordedDigest() == overridden.Digest)}
	}
	return c.ourSettings()
}

func (c *recordedOverride) ourPod() effects {
	overridden := c.evaluate()
	pod := placement.Pod(&c.Input.ReplicaSet.Spec.Template, nameOf(c.Input.Node))
	overridden.Apply(pod)
	o := effectsOf(pod, c.Input.Node)
	o.Marked = pod.Annotations[placement.DigestAnnotation] != ""
	for _, malformed := range overridden.Malformed {
		o.Reported = append(o.Reported, malformed.Container)
	}
	return o
}

// recordedDigest returns the digest that the pod would carry had this library created it: that of the containers that differ
// from the template.
func (c *recordedOverride) recordedDigest() string {
	var differ []placement.Resources
	for _, container := range c.Input.ReplicaSet.Spec.Template.Spec.Containers {
		template := placement.Resources{Container: container.Name, Resources: container.Resources}
		for _, other := range c.Input.Pod.Spec.Containers {
			has := placement.Resources{Container: other.Name, Resources: other.Resources}
			if other.Name == container.Name && placement.Digest([]placement.Resources{has}) != placement.Digest([]placement.Resources{template}) {
				differ = append(differ, has)
			}
		}
	}
	return placement.Digest(differ)
}

func (c *recordedOverride) ourSettings() effects {
	o := effects{Sources: map[string]map[string]string{}, Said: map[string][]string{}}
	template := &corev1.PodTemplateSpec{}
	var overrides []placement.Override
	for _, s := range c.Input.Settings {
		for _, container := range s.Spec.Containers {
			if !slices.ContainsFunc(template.Spec.Containers, func(c corev1.Container) bool { return c.Name == container.Name }) {
				// Amounts that no setting has, so that each has an effect.
				template.Spec.Containers = append(template.Spec.Containers,
					corev1.Container{Name: container.Name, Resources: amounts("cpu", "77777")})
			}
		}
		switch reference := s.Spec.Reference; {
		case reference == nil || reference.Name == "":
			o.Said[s.Metadata.Name] = []string{"missing reference"}
		case reference.Name == c.setName():
			o.Said[s.Metadata.Name] = nil
			overrides = append(overrides, s.override())
		}
	}
	for i, override := range overrides {
		path := field.NewPath("overrides")
		for _, mistake := range placement.ValidateOverrides(overrides, path) {
			if strings.HasPrefix(mistake.Field, path.Index(i).Child("nodeSelector").String()) {
				o.Said[override.Name] = []string{"invalid selector"}
			}
		}
	}
	compiled, _ := placement.CompileOverrides("ns", c.setName(), template, overrides)
	evaluator := compiled.Evaluator()
	for _, node := range c.Input.Nodes {
		overridden := evaluator.Evaluate(node)
		o.Sources[node.Name] = map[string]string{}
		for _, resources := range overridden.Resources {
			o.Sources[node.Name][resources.Container] = resources.Source
		}
		for _, conflict := range overridden.Conflicts {
			o.Said[conflict.Loser] = append(o.Said[conflict.Loser], "conflict "+conflict.Winner)
		}
	}
	return o.tidy()
}

// effectsOf reads a pod that was created for a node.
func effectsOf(pod *corev1.Pod, node *corev1.Node) effects {
	o := effects{Resources: map[string]string{}}
	for _, container := range pod.Spec.Containers {
		o.Resources[container.Name] = asJSON(filled(container.Resources))
	}
	for _, toleration := range pod.Spec.Tolerations {
		o.Tolerations = append(o.Tolerations, asJSON(toleration))
	}
	if node != nil {
		o.Goes = "bound to " + pod.Spec.NodeName
		if pod.Spec.NodeName == "" {
			o.Goes = asJSON(pod.Spec.Affinity)
		}
	}
	return o.tidy()
}

// tidy sorts what is in no order, and says valid of settings of which nothing else is said.
func (o effects) tidy() effects {
	slices.Sort(o.Tolerations)
	o.Tolerations = slices.Compact(o.Tolerations)
	for name, said := range o.Said {
		slices.Sort(said)
		if o.Said[name] = slices.Compact(said); len(said) == 0 {
			o.Said[name] = []string{"valid"}
		}
	}
	return o
}

func nameOf(node *corev1.Node) string {
	if node == nil {
		return ""
	}
	return node.Name
}

func asJSON(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func sameEffects(a, b effects) bool { return cmp.Equal(a, b, cmpopts.EquateEmpty()) }

func overrideCases(t *testing.T) []*recordedOverride {
	t.Helper()
	return overrideCasesFrom(t, func(line []byte) []byte { return line })
}

// overrideCasesFrom decodes the recorded cases after a change of their text.
func overrideCasesFrom(t *testing.T, change func([]byte) []byte) []*recordedOverride {
	t.Helper()
	var all []*recordedOverride
	for name, line := range conformance.Lines(t, "eds/overrides.jsonl") {
		line = change(line)
		c := new(recordedOverride)
		if err := json.Unmarshal(line, c); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		all = append(all, c)
	}
	return all
}

// TestConformanceOverridesModel holds the model of the peer to what was recorded: only a model that is right about the
// peer can say what sets our rules apart from it.
func TestConformanceOverridesModel(t *testing.T) {
	checkOverridesModel(t, overrideCases(t))
}

func checkOverridesModel(t *testing.T, all []*recordedOverride) {
	t.Helper()
	kinds := map[string]int{}
	for _, c := range all {
		kinds[c.Input.Kind]++
		var differs string
		switch c.Input.Kind {
		case "createPod":
			pod, failed := c.modelPod(0)
			differs = cmp.Diff(c.Expect.Pod, pod, cmpopts.EquateEmpty())
			if failed != (c.Expect.Error != "") || c.Expect.ErrorInController != "" {
				differs += fmt.Sprintf("failed: %v", failed)
			}
		case "comparePod":
			template, settings, node := c.modelMatches(0)
			differs = cmp.Diff([]bool{c.Expect.TemplateHashMatches, c.Expect.SettingMatches, c.Expect.NodeHashMatches, c.Expect.UpToDate},
				[]bool{template, settings, node, template && settings && node})
		case "assignSettings":
			statuses := map[string][]string{}
			for name, observed := range c.Expect.ObservedStatusesBySetting {
				for _, status := range observed {
					statuses[name] = append(statuses[name], said(status.Status, status.Error))
				}
				slices.Sort(statuses[name])
			}
			byNode, said := c.modelSettings(0)
			differs = cmp.Diff(statuses, said) + cmp.Diff(c.Expect.ObservedSettingsByNode, byNode) +
				cmp.Diff([]string{""}, c.Expect.NodeListErrors)
		default:
			t.Errorf("%s: kind %q is unknown", c.Name, c.Input.Kind)
		}
		if differs != "" {
			t.Errorf("%s: the model does something else (-recorded +model):\n%s", c.Name, differs)
		}
	}
	t.Logf("cases: %v", kinds)
}

func said(status, text string) string {
	if status == "valid" {
		return status
	}
	if other, ok := strings.CutPrefix(text, "conflict with another ExtendedDaemonsetSetting: "); ok {
		return "conflict " + other
	}
	return strings.TrimSuffix(text, " in spec")
}

// TestConformanceOverrides compares with the peer. What differs must be what the model does with the rules of the table
// of deliberate differences, all of them, and each difference must keep its entry's invariant.
func TestConformanceOverrides(t *testing.T) {
	var agree, explained int
	var neededBy [overrideRules]int
	all := overrideCases(t)
	for _, c := range all {
		ours := c.ours()
		if want := c.model(allOverrideRules); !sameEffects(ours, want) {
			t.Errorf("%s: not explained (-wanted +ours):\n%s", c.Name, cmp.Diff(want, ours, cmpopts.EquateEmpty()))
			continue
		}
		if sameEffects(ours, c.model(0)) {
			agree++
			continue
		}
		explained++
		c.attribute(t, ours, &neededBy)
	}
	t.Logf("%d cases: %d agree, %d are explained", len(all), agree, explained)
	for r, entry := range overrideEntries {
		t.Logf("%3d cases need %s (%s): %s", neededBy[r], entry.id, entry.rule, entry.why)
		if (neededBy[r] == 0) != unrecorded.has(overrideRule(r)) && os.Getenv(conformance.EnvDir) == "" {
			t.Errorf("%d cases need %s, unrecorded: %v", neededBy[r], entry.id, unrecorded.has(overrideRule(r)))
		}
	}
}

// explain gives the entries that the difference is put down to: a set of which none can be left out for the model to
// become ours.
func (c *recordedOverride) explain(ours effects) overrideRuleSet {
	on := allOverrideRules
	for r := range overrideRules {
		if without := on &^ (1 << r); sameEffects(c.model(without), ours) {
			on = without
		}
	}
	return on
}

// attribute counts the entries that the difference is put down to, and holds ours to the invariant of each.
func (c *recordedOverride) attribute(t *testing.T, ours effects, neededBy *[overrideRules]int) {
	t.Helper()
	explanation := c.explain(ours)
	for r := range overrideEntries {
		if explanation>>r&1 == 0 {
			continue
		}
		neededBy[r]++
		entry := &overrideEntries[r]
		if broken := entry.broken(c, ours, c.evaluate()); broken != "" {
			t.Errorf("%s: %s: %s", c.Name, entry.id, broken)
		}
	}
}
