package placement_test

import (
	"crypto/md5"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

// overrideRule is one deliberate difference from the ExtendedDaemonSet controller: a switch of the model.
type overrideRule uint8

const (
	malformedReported overrideRule = iota
	misspeltReported
	refusedByServer
	ownDigest
	daemonTolerations
	alwaysPinned
	termsReplaced
	annotationBeatsSetting
	lastEntryCounts
	wholeCompared
	effectsCompared
	malformedHolds
	perContainer
	ownSettingsOnly
	invalidAlone

	overrideRules // count
)

type overrideRuleSet uint32

const allOverrideRules overrideRuleSet = 1<<overrideRules - 1

func (s overrideRuleSet) has(r overrideRule) bool { return s>>r&1 == 1 }

// resourceAnnotations returns the node's annotations for the set, by container.
func (c *recordedOverride) resourceAnnotations() map[string]string {
	found := map[string]string{}
	if c.Input.Node == nil {
		return found
	}
	for key, text := range c.Input.Node.Annotations {
		prefix := "resources.extendeddaemonset.datadoghq.com/" + c.Input.ReplicaSet.Metadata.Namespace + "." + c.setName() + "."
		if container, ok := strings.CutPrefix(key, prefix); ok {
			found[container] = text
		}
	}
	return found
}

// modelRead decodes an annotation as the peer does, or refuses it as the API server would refuse the pod.
func modelRead(text string, on overrideRuleSet) (corev1.ResourceRequirements, bool) {
	var resources corev1.ResourceRequirements
	if json.Unmarshal([]byte(text), &resources) != nil || on.has(misspeltReported) && misspelt(text) {
		return corev1.ResourceRequirements{}, false
	}
	return resources, !on.has(refusedByServer) || !overcommitted(resources)
}

// misspelt reports whether an object has fields, and none that resources have.
func misspelt(text string) bool {
	var fields map[string]any
	_ = json.Unmarshal([]byte(text), &fields)
	return len(fields) > 0 && !slices.ContainsFunc(slices.Collect(maps.Keys(fields)), func(key string) bool {
		return slices.ContainsFunc([]string{"limits", "requests", "claims"}, func(known string) bool { return strings.EqualFold(key, known) })
	})
}

// overcommitted reports whether the API server refuses the resources; no recorded ones are refused for something else.
func overcommitted(resources corev1.ResourceRequirements) bool {
	for _, list := range []corev1.ResourceList{resources.Limits, resources.Requests} {
		for name, amount := range list {
			if amount.Sign() < 0 || name == "CPU" || name == "pods" {
				return true
			}
		}
	}
	for name, request := range resources.Requests {
		if limit, ok := resources.Limits[name]; ok && request.Cmp(limit) > 0 {
			return true
		}
	}
	return false
}

// modelWanted returns what a pod created now gets, by container, and for which containers the annotation cannot be read.
func (c *recordedOverride) modelWanted(on overrideRuleSet) (map[string]corev1.ResourceRequirements, []string) {
	wanted, unreadable := map[string]corev1.ResourceRequirements{}, []string(nil)
	annotations := c.resourceAnnotations()
	for _, container := range c.Input.ReplicaSet.Spec.Template.Spec.Containers {
		name := container.Name
		wanted[name] = container.Resources
		if entry := c.settingEntry(name, true); entry != nil && (!on.has(refusedByServer) || !overcommitted(*entry)) {
			wanted[name] = *entry
		}
		if text, ok := annotations[name]; ok {
			resources, ok := modelRead(text, on)
			if ok {
				wanted[name] = resources
			} else {
				unreadable = append(unreadable, name)
			}
		}
	}
	return wanted, unreadable
}

// settingEntry returns what the setting gives a container: its last or its first entry.
func (c *recordedOverride) settingEntry(name string, last bool) *corev1.ResourceRequirements {
	var entry *corev1.ResourceRequirements
	if c.Input.Setting != nil {
		for _, container := range c.Input.Setting.Spec.Containers {
			if container.Name == name && (last || entry == nil) {
				entry = container.Resources.DeepCopy()
			}
		}
	}
	return entry
}

// model returns what the peer does, or with rules switched on, what it would do if it had them.
func (c *recordedOverride) model(on overrideRuleSet) effects {
	switch c.Input.Kind {
	case "createPod":
		pod, _ := c.modelPod(on)
		o := effectsOf(pod, c.Input.Node)
		wanted, unreadable := c.modelWanted(on)
		_, hashed := pod.Annotations["extendeddaemonset.datadoghq.com/nodehash"]
		o.Marked = hashed || c.Input.Setting != nil
		if on.has(ownDigest) {
			o.Marked = slices.ContainsFunc(c.Input.ReplicaSet.Spec.Template.Spec.Containers, func(container corev1.Container) bool {
				return !sameAmounts(container.Resources, wanted[container.Name])
			})
		}
		if on.has(malformedReported) {
			o.Reported = unreadable
		}
		return o
	case "comparePod":
		template, settings, node := c.modelMatches(on)
		return effects{UpToDate: template && settings && node}
	}
	return c.modelAssigned(on)
}

// modelPod returns the pod that is created, and whether the function that makes it fails.
func (c *recordedOverride) modelPod(on overrideRuleSet) (*corev1.Pod, bool) {
	set, node := c.Input.ReplicaSet, c.Input.Node
	template := set.Spec.Template.DeepCopy()
	pod := &corev1.Pod{ObjectMeta: template.ObjectMeta, Spec: template.Spec}
	pod.Namespace, pod.GenerateName = set.Metadata.Namespace, set.Metadata.Name+"-"
	pod.Labels = withEntries(pod.Labels, "extendeddaemonset.datadoghq.com/name", c.setName(),
		"extendeddaemonsetreplicaset.datadoghq.com/name", set.Metadata.Name)
	pod.Annotations = withEntries(pod.Annotations, "cluster-autoscaler.kubernetes.io/daemonset-pod", "true",
		"extendeddaemonset.datadoghq.com/templatehash", set.Spec.TemplateGeneration)
	if s := c.Input.Setting; s != nil {
		pod.Labels = withEntries(pod.Labels, "extendeddaemonsetsetting.datadoghq.com/name", s.Metadata.Name,
			"extendeddaemonsetsetting.datadoghq.com/namespace", s.Metadata.Namespace)
	}
	if hash := c.modelHash(); hash != "" {
		pod.Annotations["extendeddaemonset.datadoghq.com/nodehash"] = hash
	}
	wanted, unreadable := c.modelWanted(on)
	for i := range pod.Spec.Containers {
		pod.Spec.Containers[i].Resources = wanted[pod.Spec.Containers[i].Name]
	}
	effect := "NoSchedule"
	toleration := func(what string) {
		pod.Spec.Tolerations = append(pod.Spec.Tolerations, corev1.Toleration{
			Key: "node.kubernetes.io/" + what, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffect(effect),
		})
	}
	if on.has(daemonTolerations) {
		toleration("pid-pressure")
	}
	for _, what := range []string{"disk-pressure", "memory-pressure", "unschedulable", "network-unavailable"} {
		if what != "network-unavailable" || !on.has(daemonTolerations) || pod.Spec.HostNetwork {
			toleration(what)
		}
	}
	effect = "NoExecute"
	toleration("not-ready")
	toleration("unreachable")
	if n := len(pod.Spec.Tolerations); !on.has(daemonTolerations) {
		// The recorded order.
		pod.Spec.Tolerations = append(pod.Spec.Tolerations[:n-6:n-6],
			append(slices.Clone(pod.Spec.Tolerations[n-2:]), pod.Spec.Tolerations[n-6:n-2]...)...)
	}
	switch {
	case node == nil:
	case c.Input.AddNodeAffinity || on.has(alwaysPinned):
		pinned := pod.Spec.Affinity.DeepCopy()
		if pinned == nil {
			pinned = &corev1.Affinity{}
		}
		if pinned.NodeAffinity == nil {
			pinned.NodeAffinity = &corev1.NodeAffinity{}
		}
		pin := nodeField("metadata.name", "In", node.Name)
		required := pinned.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
		if required == nil || on.has(termsReplaced) {
			required = &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{}}}
		}
		for i := range required.NodeSelectorTerms {
			required.NodeSelectorTerms[i].MatchFields = modelPinned(required.NodeSelectorTerms[i].MatchFields, pin.MatchFields[0])
		}
		pinned.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution = required
		pod.Spec.Affinity = pinned
	default:
		pod.Spec.NodeName = node.Name
	}
	return pod, len(unreadable) > 0
}

// modelPinned puts the pin in place of each field that is the name of the node, or behind the others.
func modelPinned(fields []corev1.NodeSelectorRequirement, pin corev1.NodeSelectorRequirement) []corev1.NodeSelectorRequirement {
	found := false
	for i := range fields {
		if fields[i].Key == pin.Key {
			fields[i], found = pin, true
		}
	}
	if !found {
		fields = append(fields, pin)
	}
	return fields
}

func withEntries(entries map[string]string, pairs ...string) map[string]string {
	if entries == nil {
		entries = map[string]string{}
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		entries[pairs[i]] = pairs[i+1]
	}
	return entries
}

// modelHash returns the peer's digest of the texts of all annotations for the set, of containers that it does not have too.
func (c *recordedOverride) modelHash() string {
	annotations := c.resourceAnnotations()
	if len(annotations) == 0 {
		return ""
	}
	var texts strings.Builder
	for _, container := range slices.Sorted(maps.Keys(annotations)) {
		texts.WriteString("resources.extendeddaemonset.datadoghq.com/" + c.Input.ReplicaSet.Metadata.Namespace + "." + c.setName() +
			"." + container + "=" + annotations[container])
	}
	sum := md5.Sum([]byte(texts.String()))
	return hex.EncodeToString(sum[:])
}

// modelMatches compares a pod with what is wanted now: its template, the setting, the annotations.
func (c *recordedOverride) modelMatches(on overrideRuleSet) (template, settings, node bool) {
	pod := c.Input.Pod
	template = pod.Annotations["extendeddaemonset.datadoghq.com/templatehash"] == c.Input.ReplicaSet.Spec.TemplateGeneration
	node = pod.Annotations["extendeddaemonset.datadoghq.com/nodehash"] == c.modelHash()
	wanted, unreadable := c.modelWanted(on)
	annotations := c.resourceAnnotations()
	settings = true
	for _, container := range pod.Spec.Containers {
		entry := c.settingEntry(container.Name, on.has(lastEntryCounts))
		if entry != nil && on.has(refusedByServer) && overcommitted(*entry) {
			entry = nil
		}
		annotated := false
		if text, ok := annotations[container.Name]; ok {
			_, annotated = modelRead(text, on)
		}
		switch {
		case annotated && on.has(annotationBeatsSetting):
		case entry == nil:
			settings = settings && (annotated || !on.has(wholeCompared) || sameAmounts(container.Resources, wanted[container.Name]))
		case on.has(wholeCompared):
			settings = settings && sameAmounts(container.Resources, *entry)
		default:
			settings = settings && equality.Semantic.DeepEqual(container.Resources, modelMerged(container.Resources, *entry))
		}
	}
	if on.has(effectsCompared) {
		node = true
		for _, container := range pod.Spec.Containers {
			if text, ok := annotations[container.Name]; ok {
				if resources, ok := modelRead(text, on); ok {
					node = node && sameAmounts(container.Resources, resources)
				}
			}
		}
	}
	if on.has(malformedHolds) && len(unreadable) > 0 {
		settings, node = true, true
	}
	return template, settings, node
}

func modelMerged(base, entry corev1.ResourceRequirements) corev1.ResourceRequirements {
	merged := *base.DeepCopy()
	into := func(list *corev1.ResourceList, from corev1.ResourceList) {
		for name, quantity := range from {
			if *list == nil {
				*list = corev1.ResourceList{}
			}
			(*list)[name] = quantity
		}
	}
	into(&merged.Limits, entry.Limits)
	into(&merged.Requests, entry.Requests)
	return merged
}

// sameAmounts compares resources after the API server has filled in requests from limits.
func sameAmounts(a, b corev1.ResourceRequirements) bool {
	return equality.Semantic.DeepEqual(filled(a), filled(b))
}

func filled(r corev1.ResourceRequirements) corev1.ResourceRequirements {
	full := modelMerged(corev1.ResourceRequirements{Requests: r.Limits, Claims: r.Claims}, corev1.ResourceRequirements{Requests: r.Requests})
	full.Limits = r.Limits
	return full
}
