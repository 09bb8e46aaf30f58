package inplace_test

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/daemonplan/daemonplan/inplace"
)

// These are the numbers of the entries of calculate.
const (
	wipedMap = iota
	envNewMap
	sidecarSetVariable
	envDropped
	envGateOff
	envOfInit
	envOfResource
	otherMetadata
	qosClassFixed
	tolerationsAdded
	resourcesAdded
	pullPolicyFollows
)

var calculatePeer = peer[calculateCase]{
	file: "kruise-inplace/calculate.jsonl",
	entries: []entry{
		wipedMap: {
			id: "wiped-map", rule: "I2",
			why: "Kruise drops all of a pod's labels or annotations with the last one of the template; here only the template's own",
		},
		envNewMap: {
			id: "env-new-map", rule: "I2",
			why: "with the first label or annotation of a template Kruise leaves environment variables stale; here the containers restart",
		},
		sidecarSetVariable: {
			id: "sidecarset-variable", rule: "I2",
			why: "Kruise leaves the variables by which its SidecarSet tells versions stale, in whatever pod; here they are like any other",
		},
		envDropped: {
			id: "env-dropped", rule: "I2",
			why: "Kruise drops a label or annotation that a variable reads in place and leaves the variable stale; here it is an obstacle",
		},
		envGateOff: {
			id: "env-gate-off", rule: "I2",
			why: "with its gate off Kruise changes metadata that a variable reads and leaves the variable stale; here it is an obstacle",
		},
		envOfInit: {
			id: "env-of-init", rule: "I2", unrecorded: true,
			why: "Kruise does not look at the variables of init containers; here metadata that one reads is an obstacle",
		},
		envOfResource: {
			id: "env-of-resource", rule: "I2", unrecorded: true,
			why: "Kruise resizes what a variable reads and leaves the variable stale; here it is an obstacle",
		},
		otherMetadata: {
			id: "finalizers", rule: "I2",
			why: "Kruise adds the template's finalizers to running pods; here other metadata than labels and annotations is an obstacle",
		},
		qosClassFixed: {
			id: "qos-class", rule: "I2",
			why: "Kruise takes requests that are not given for none when it looks whether a resize changes the QoS class; the API server for the limits",
		},
		tolerationsAdded: {
			id: "tolerations-added", rule: "I2",
			why: "Kruise makes new pods for one more toleration; here running pods are given it, because nothing restarts",
		},
		resourcesAdded: {
			id: "resources-added", rule: "I2",
			why: "Kruise makes new pods for a request or limit that is new; here it is resized, but for containers that are updated in turn",
		},
		pullPolicyFollows: {
			id: "pull-policy", rule: "I2", unrecorded: true,
			why: "Kruise goes to the tag latest in place, and the pod keeps the pull policy that the API server gave it; here that is an obstacle",
		},
	},
	recorded: func(c *calculateCase) any { return normalOutcome(c.Expect) },
	model:    func(c *calculateCase, on rules) any { return normalOutcome(c.model(on)) },
	ours:     calculate,
	vary:     (*calculateCase).vary,
	reverse: func(c *calculateCase) {
		old, new := c.templates()
		slices.Reverse(old.Spec.Containers)
		slices.Reverse(new.Spec.Containers)
		c.Input.OldRevision.Data, c.Input.NewRevision.Data = revisionData(old), revisionData(new)
	},
}

// operation is a step from one JSON document to another.
type operation struct {
	kind  string // add, replace or remove
	path  []string
	value any
}

// operations lists the steps between two documents. Lists of equal length are compared element by element.
func operations(path []string, old, new any) []operation {
	at := func(key string) []string { return append(slices.Clip(path), key) }
	var steps []operation
	switch old := old.(type) {
	case map[string]any:
		new, ok := new.(map[string]any)
		if !ok {
			break
		}
		for _, key := range slices.Sorted(maps.Keys(old)) {
			if after, ok := new[key]; ok {
				steps = append(steps, operations(at(key), old[key], after)...)
			} else {
				steps = append(steps, operation{"remove", at(key), nil})
			}
		}
		for _, key := range slices.Sorted(maps.Keys(new)) {
			if _, ok := old[key]; !ok {
				steps = append(steps, operation{"add", at(key), new[key]})
			}
		}
		return steps
	case []any:
		new, ok := new.([]any)
		if !ok {
			break
		}
		if len(old) != len(new) {
			return []operation{{"add", at("-"), nil}}
		}
		for i := range old {
			steps = append(steps, operations(at(strconv.Itoa(i)), old[i], new[i])...)
		}
		return steps
	}
	if !reflect.DeepEqual(old, new) {
		return []operation{{"replace", path, new}}
	}
	return nil
}

// templates decodes both templates without checks, because recordings are well-formed.
func (c *calculateCase) templates() (old, new corev1.PodTemplateSpec) {
	decode := func(data []byte) corev1.PodTemplateSpec {
		var document struct {
			Spec struct{ Template corev1.PodTemplateSpec }
		}
		if err := json.Unmarshal(data, &document); err != nil {
			panic(err)
		}
		return document.Spec.Template
	}
	return decode(c.Input.OldRevision.Data), decode(c.Input.NewRevision.Data)
}

// model returns what Kruise calculates: it takes the steps between the two revisions, some of them in place. It identifies a
// container by its position.
func (c *calculateCase) model(on rules) calculateOutcome {
	var before, after any
	if json.Unmarshal(c.Input.OldRevision.Data, &before) != nil || json.Unmarshal(c.Input.NewRevision.Data, &after) != nil {
		return calculateOutcome{}
	}
	old, new := c.templates()
	out := calculateOutcome{
		InPlace: true, ContainerImages: map[string]string{}, ContainerResources: map[string]corev1.ResourceRequirements{},
		ContainerRefMetadata: map[string]inplace.RefMetadata{},
	}
	var metadata []operation
	for _, step := range operations(nil, before, after) {
		path := step.path
		if len(path) > 2 && path[0] == "spec" && path[1] == "template" {
			path = path[2:]
		}
		switch {
		case path[0] == "metadata":
			metadata = append(metadata, operation{step.kind, path, step.value})
		case on.has(tolerationsAdded) && len(path) > 1 && path[1] == "tolerations":
			for _, toleration := range old.Spec.Tolerations {
				same := func(other corev1.Toleration) bool { return reflect.DeepEqual(toleration, other) }
				if !slices.ContainsFunc(new.Spec.Tolerations, same) {
					return calculateOutcome{}
				}
			}
		case on.has(resourcesAdded) && c.addsResources(step.kind, path, old, new, &out):
		case !c.modelSpec(step.kind, path, step.value, old, &out):
			return calculateOutcome{}
		case on.has(pullPolicyFollows) && len(path) == 4 && path[3] == "image":
			i, _ := strconv.Atoi(path[2])
			before, after := old.Spec.Containers[i], new.Spec.Containers[i]
			if before.ImagePullPolicy == "" && isLatest(before.Image) != isLatest(after.Image) {
				return calculateOutcome{}
			}
		}
	}
	resizes := len(out.ContainerResources) > 0
	if resizes && modelQOS(old, on) != modelQOS(new, on) || resizes && on.has(envOfResource) && readsResized(new, out.ContainerResources) {
		return calculateOutcome{}
	}
	if len(metadata) > 0 {
		if !c.modelMetadata(on, metadata, old, new, &out) {
			return calculateOutcome{}
		}
	}
	out.VerticalUpdateOnly = resizes && len(out.ContainerImages) == 0 && !out.UpdateEnvFromMetadata
	return out
}

// isLatest reports whether an image without a digest is named by the tag latest or by none.
func isLatest(image string) bool {
	last := image[strings.LastIndex(image, "/")+1:]
	return !strings.Contains(last, ":") || strings.HasSuffix(last, ":latest")
}

// addsResources takes a step that adds cpu or memory to the resources of a container, and reports whether it is one that can be
// taken in place. It may add a list of them.
func (c *calculateCase) addsResources(kind string, path []string, old, new corev1.PodTemplateSpec, out *calculateOutcome) bool {
	if kind != "add" || len(path) < 5 || path[1] != "containers" || path[3] != "resources" || !c.Input.FeatureGates.InPlaceWorkloadVerticalScaling ||
		slices.ContainsFunc(new.Spec.Containers, func(c corev1.Container) bool { _, ok := launchPriority(c); return ok }) {
		return false
	}
	i, err := strconv.Atoi(path[2])
	if err != nil {
		return false
	}
	before, after := old.Spec.Containers[i].Resources, new.Spec.Containers[i].Resources
	resources := out.ContainerResources[new.Spec.Containers[i].Name]
	for _, lists := range []struct {
		before, after corev1.ResourceList
		out           *corev1.ResourceList
	}{{before.Limits, after.Limits, &resources.Limits}, {before.Requests, after.Requests, &resources.Requests}} {
		for name, amount := range lists.after {
			if _, had := lists.before[name]; had {
				continue
			}
			if name != "cpu" && name != "memory" {
				return false
			}
			if *lists.out == nil {
				*lists.out = corev1.ResourceList{}
			}
			(*lists.out)[name] = amount
		}
	}
	out.ContainerResources[new.Spec.Containers[i].Name] = resources
	return true
}

// modelSpec takes a step of the spec, and reports whether it can be taken in place.
func (c *calculateCase) modelSpec(kind string, path []string, value any, old corev1.PodTemplateSpec, out *calculateOutcome) bool {
	text, isText := value.(string)
	if kind != "replace" || !isText || len(path) < 4 || path[0] != "spec" || path[1] != "containers" {
		return false
	}
	i, err := strconv.Atoi(path[2])
	if err != nil {
		return false
	}
	name := old.Spec.Containers[i].Name
	switch {
	case len(path) == 4 && path[3] == "image":
		out.ContainerImages[name] = text
		return true
	case len(path) == 6 && path[3] == "resources" && (path[5] == "cpu" || path[5] == "memory"):
		resources := out.ContainerResources[name]
		list := &resources.Limits
		if path[4] == "requests" {
			list = &resources.Requests
		}
		if *list == nil {
			*list = corev1.ResourceList{}
		}
		(*list)[corev1.ResourceName(path[5])] = resource.MustParse(text)
		out.ContainerResources[name] = resources
		return c.Input.FeatureGates.InPlaceWorkloadVerticalScaling
	}
	return false
}

// modelMetadata takes the steps of metadata, and reports whether they can be taken in place.
func (c *calculateCase) modelMetadata(on rules, steps []operation, old, new corev1.PodTemplateSpec, out *calculateOutcome) bool {
	gate := c.Input.FeatureGates.InPlaceUpdateEnvFromMetadata
	kept := func(m corev1.PodTemplateSpec) corev1.PodTemplateSpec {
		m.Labels, m.Annotations, m.Spec = nil, nil, corev1.PodSpec{}
		return m
	}
	if on.has(otherMetadata) && !equality.Semantic.DeepEqual(kept(old), kept(new)) {
		return false
	}
	before := map[bool]map[string]string{false: maps.Clone(old.Labels), true: maps.Clone(old.Annotations)}
	after := map[bool]map[string]string{false: maps.Clone(new.Labels), true: maps.Clone(new.Annotations)}
	// takes is called for each key that is added, changed or dropped. Kruise records the value only if the key is seen, in a step
	// of its own.
	takes := func(annotation bool, key string, seen bool) bool {
		value, has := metadataOf(new, annotation)[key]
		for _, container := range new.Spec.InitContainers {
			if on.has(envOfInit) && readsKey(container, annotation, key, on) {
				return false
			}
		}
		for _, container := range new.Spec.Containers {
			switch {
			case !readsKey(container, annotation, key, on):
			case !has && on.has(envDropped), has && !gate && on.has(envGateOff):
				return false
			case has && gate && (seen || on.has(envNewMap)):
				addRef(out.ContainerRefMetadata, container.Name, annotation, key, value)
				out.UpdateEnvFromMetadata = true
				delete(before[annotation], key)
				delete(after[annotation], key)
			}
		}
		return true
	}
	for _, step := range steps {
		if len(step.path) < 2 || step.path[1] != "labels" && step.path[1] != "annotations" {
			continue
		}
		annotation := step.path[1] == "annotations"
		if len(step.path) == 3 {
			if !takes(annotation, step.path[2], true) {
				return false
			}
			continue
		}
		both := maps.Clone(metadataOf(old, annotation))
		if both == nil {
			both = map[string]string{}
		}
		maps.Copy(both, metadataOf(new, annotation))
		for key := range both {
			if !takes(annotation, key, false) {
				return false
			}
		}
	}
	out.MetadataPatch = &struct{ Metadata metadataPatch }{}
	for _, annotation := range []bool{false, true} {
		*out.MetadataPatch.Metadata.of(annotation) = modelPatch(on, before[annotation], after[annotation])
	}
	return true
}

// modelPatch returns a merge patch from one map to another. If the map is empty afterwards, the patch of Kruise says only that.
func modelPatch(on rules, old, new map[string]string) patchedMap {
	if len(new) == 0 && len(old) > 0 && !on.has(wipedMap) {
		return patchedMap{Wiped: true}
	}
	patch := patchedMap{Values: map[string]*string{}}
	for key := range old {
		if _, has := new[key]; !has {
			patch.Values[key] = nil
		}
	}
	for key, value := range new {
		if before, had := old[key]; !had || before != value {
			patch.Values[key] = &value
		}
	}
	return patch
}

// readsKey reports whether a variable of a container reads a label or annotation. Kruise ignores two variables by name, which it
// adds itself to the containers of its SidecarSet.
func readsKey(container corev1.Container, annotation bool, key string, on rules) bool {
	return slices.ContainsFunc(container.Env, func(variable corev1.EnvVar) bool {
		own := variable.Name == "SIDECARSET_VERSION" || variable.Name == "SIDECARSET_VERSION_ALT"
		ofAnnotation, read, ok := readBy(variable)
		return ok && ofAnnotation == annotation && read == key && (!own || on.has(sidecarSetVariable))
	})
}

// readBy returns the label or annotation that a variable reads.
func readBy(variable corev1.EnvVar) (annotation bool, key string, ok bool) {
	if variable.Value != "" || variable.ValueFrom == nil || variable.ValueFrom.FieldRef == nil {
		return false, "", false
	}
	path, ok := strings.CutSuffix(variable.ValueFrom.FieldRef.FieldPath, "']")
	if !ok {
		return false, "", false
	}
	if key, ok = strings.CutPrefix(path, "metadata.labels['"); ok {
		return false, key, true
	}
	key, ok = strings.CutPrefix(path, "metadata.annotations['")
	return true, key, ok
}

// readsResized reports whether a variable reads a resource that is resized, or a request that is not given and so follows a limit
// that is resized.
func readsResized(template corev1.PodTemplateSpec, resized map[string]corev1.ResourceRequirements) bool {
	all := append(slices.Clone(template.Spec.InitContainers), template.Spec.Containers...)
	for _, container := range all {
		for _, variable := range container.Env {
			if variable.ValueFrom == nil || variable.ValueFrom.ResourceFieldRef == nil {
				continue
			}
			ref := variable.ValueFrom.ResourceFieldRef
			name := ref.ContainerName
			if name == "" {
				name = container.Name
			}
			kind, what, _ := strings.Cut(ref.Resource, ".")
			_, limit := resized[name].Limits[corev1.ResourceName(what)]
			_, request := resized[name].Requests[corev1.ResourceName(what)]
			for _, other := range template.Spec.Containers {
				if _, given := other.Resources.Requests[corev1.ResourceName(what)]; other.Name == name && !given {
					request = request || limit
				}
			}
			if kind == "limits" && limit || kind == "requests" && request {
				return true
			}
		}
	}
	return false
}

func metadataOf(template corev1.PodTemplateSpec, annotation bool) map[string]string {
	if annotation {
		return template.Annotations
	}
	return template.Labels
}

// modelQOS returns the QoS class of a template, by its sums. Guaranteed also needs all limits to be given. Kruise ignores that
// the API server sets a request that is not given to the limit.
func modelQOS(template corev1.PodTemplateSpec, on rules) corev1.PodQOSClass {
	limits, requests, all := corev1.ResourceList{}, corev1.ResourceList{}, true
	for _, container := range append(slices.Clone(template.Spec.InitContainers), template.Spec.Containers...) {
		for _, name := range []corev1.ResourceName{"cpu", "memory"} {
			limit := container.Resources.Limits[name]
			request, given := container.Resources.Requests[name]
			if !given && on.has(qosClassFixed) {
				request = limit
			}
			all = all && !limit.IsZero()
			for list, amount := range map[*corev1.ResourceList]resource.Quantity{&limits: limit, &requests: request} {
				if !amount.IsZero() {
					amount.Add((*list)[name])
					(*list)[name] = amount
				}
			}
		}
	}
	switch {
	case len(limits)+len(requests) == 0:
		return corev1.PodQOSBestEffort
	case all && equality.Semantic.DeepEqual(limits, requests):
		return corev1.PodQOSGuaranteed
	}
	return corev1.PodQOSBurstable
}
