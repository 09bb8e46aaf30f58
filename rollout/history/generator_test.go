package history_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"

	"github.com/daemonplan/daemonplan/rollout/history"
)

// templates draws small templates from small pools, so that two of them often agree in much.
func templates() *rapid.Generator[*corev1.PodTemplateSpec] {
	return rapid.Custom(func(t *rapid.T) *corev1.PodTemplateSpec {
		some := func(label string) bool { return rapid.IntRange(0, 3).Draw(t, label) == 0 }
		text := rapid.SampledFrom([]string{"", "0", "1", "1000m", "01", "a<b&c", "a", "\u2028", "1e3", "12k", "13k"})
		template := &corev1.PodTemplateSpec{}
		if some("labels") {
			template.Labels = map[string]string{"app": text.Draw(t, "app")}
		}
		if some("annotations") {
			template.Annotations = rapid.MapOfN(rapid.SampledFrom([]string{"a.b/c", "d", "e]"}), text, 0, 2).Draw(t, "annotations")
		}
		names := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"main", "side", "0"}), 0, 2, rapid.ID[string])
		for _, name := range names.Draw(t, "containers") {
			c := corev1.Container{Name: name, Image: text.Draw(t, "image")}
			if some("args") {
				c.Args = rapid.SliceOfN(text, 0, 3).Draw(t, "args")
			}
			for _, key := range rapid.SliceOfN(rapid.SampledFrom([]string{"A", "B", ""}), 0, 3).Draw(t, "env") {
				variable := corev1.EnvVar{Name: key, Value: text.Draw(t, "value")}
				if some("from") {
					variable = corev1.EnvVar{Name: key, ValueFrom: &corev1.EnvVarSource{
						ResourceFieldRef: &corev1.ResourceFieldSelector{Resource: "limits.cpu"},
					}}
				}
				c.Env = append(c.Env, variable)
			}
			if some("limits") {
				quantity := rapid.SampledFrom([]string{"1", "1000m", "0", "1Ki", "1024", "2k", "3k", "12345678901234567890"})
				c.Resources.Limits = corev1.ResourceList{"cpu": resource.MustParse(quantity.Draw(t, "cpu"))}
			}
			if some("security") {
				c.SecurityContext = &corev1.SecurityContext{}
				if some("user") {
					c.SecurityContext.RunAsUser = new(rapid.SampledFrom([]int64{0, 1, 1 << 60, 1<<63 - 1}).Draw(t, "uid"))
				}
			}
			if some("ports") {
				c.Ports = []corev1.ContainerPort{
					{ContainerPort: 53, Protocol: "UDP"}, {ContainerPort: rapid.Int32Range(53, 54).Draw(t, "port"), Protocol: "TCP"},
				}
			}
			if some("probe") {
				port := rapid.SampledFrom([]intstr.IntOrString{intstr.FromInt32(0), intstr.FromInt32(1), intstr.FromString("1")})
				c.LivenessProbe = &corev1.Probe{
					ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Port: port.Draw(t, "target")}},
				}
			}
			template.Spec.Containers = append(template.Spec.Containers, c)
		}
		template.Spec.HostNetwork = some("hostNetwork")
		if some("grace") {
			template.Spec.TerminationGracePeriodSeconds = new(rapid.Int64Range(0, 2).Draw(t, "seconds"))
		}
		if some("tolerations") {
			key := rapid.SampledFrom([]string{"", "a", "b"})
			for range rapid.IntRange(0, 2).Draw(t, "count") {
				template.Spec.Tolerations = append(template.Spec.Tolerations, corev1.Toleration{Key: key.Draw(t, "key")})
			}
		}
		if some("managed") {
			template.ManagedFields = []metav1.ManagedFieldsEntry{{
				Manager: "m", FieldsV1: metav1.NewFieldsV1(`{"f:a":{},"f:b":1}`),
			}}
		}
		return template
	})
}

// pair is the data of two revisions.
type pair struct{ a, b []byte }

func (p pair) GoString() string { return fmt.Sprintf("%s\n%s", p.a, p.b) }

// pairs draws data of two templates, or of one that is respelled, in ways that matter and in ways that do not.
func pairs() *rapid.Generator[pair] {
	return rapid.Custom(func(t *rapid.T) pair {
		first := templates().Draw(t, "first")
		a := mustData(first)
		switch rapid.IntRange(0, 5).Draw(t, "kind") {
		case 0, 1:
			return pair{a, mustData(templates().Draw(t, "second"))}
		case 2:
			slices.Reverse(first.Spec.Containers)
			return pair{a, mustData(first)}
		}
		if rapid.IntRange(0, 3).Draw(t, "respellBoth") == 0 {
			a = respell(t, a)
		}
		if !json.Valid(a) {
			return pair{a, a[:len(a)/2]}
		}
		return pair{a, respell(t, a)}
	})
}

func mustData(template *corev1.PodTemplateSpec) []byte {
	data, err := history.Data(template)
	if err != nil {
		panic(err)
	}
	return data
}

// respell changes a few members of the data, and how it is written down.
func respell(t *rapid.T, data []byte) []byte {
	root := tree(data)
	for range rapid.IntRange(0, 3).Draw(t, "edits") {
		objects := collect(root, nil)
		object := objects[rapid.IntRange(0, len(objects)-1).Draw(t, "object")]
		known := slices.Sorted(maps.Keys(object))
		key := rapid.SampledFrom(append(known, "creationTimestamp", "resources", "labels", "args", "image", "name",
			"future", "securityContext", "limits", "hostPID", "zzz", "$patch", "spec")).Draw(t, "key")
		switch rapid.IntRange(0, 6).Draw(t, "edit") {
		case 0:
			delete(object, key)
		case 1:
			object[key] = nil
		default:
			object[key] = tree([]byte(rapid.SampledFrom([]string{
				`null`, `null`, `{}`, `[]`, `""`, `0`, `-0`, `0.0`, `false`, `true`, `"0"`, `"0m"`, `"1"`, `1`, `1.0`, `2`, `"1k"`,
				`"1000"`, `" 1000 "`, `"0.1"`, `"100m"`, `"a"`, `[null]`, `[0]`, `[""]`, `["a"]`, `[{}]`, `{"a":null}`, `{"a":{}}`,
				`{"a":1}`, `{"a":"b"}`, `{"cpu":"1"}`, `{"cpu":1}`, `{"cpu":null}`, `"0001-01-01T00:00:00Z"`, `"replace"`,
				`"2024-01-01T00:00:00Z"`, `"2024-01-01T01:00:00+01:00"`, `"10E"`, `"11E"`, `"1n"`, `"0.1n"`,
			}).Draw(t, "value")))
		}
	}
	style := rapid.IntRange(0, 9).Draw(t, "style")
	return []byte(render(root, style))
}

func collect(node any, found []map[string]any) []map[string]any {
	switch node := node.(type) {
	case map[string]any:
		found = append(found, node)
		for _, key := range slices.Sorted(maps.Keys(node)) {
			found = collect(node[key], found)
		}
	case []any:
		for _, element := range node {
			found = collect(element, found)
		}
	}
	return found
}

// render writes JSON down: 0 backwards, 1 with white space, 2 with escapes, 3 with a field twice, 4 with invalid
// UTF-8, 5 cut off, and compact and sorted otherwise.
func render(node any, style int) string {
	var out strings.Builder
	twice := style == 3
	var write func(node any)
	write = func(node any) {
		space := ""
		if style == 1 {
			space = " "
		}
		switch node := node.(type) {
		case map[string]any:
			keys := slices.Sorted(maps.Keys(node))
			if style == 0 {
				slices.Reverse(keys)
			}
			out.WriteString("{" + space)
			for i, key := range keys {
				if i > 0 {
					out.WriteString("," + space)
				}
				name, _ := json.Marshal(key)
				fmt.Fprintf(&out, "%s%s:", name, space)
				write(node[key])
				if twice && len(keys) > 1 && i == len(keys)-1 {
					twice = false
					fmt.Fprintf(&out, ",%s:null", name)
				}
			}
			out.WriteString(space + "}")
		case []any:
			out.WriteString("[" + space)
			for i, element := range node {
				if i > 0 {
					out.WriteString("," + space)
				}
				write(element)
			}
			out.WriteString(space + "]")
		case string:
			text, _ := json.Marshal(node)
			switch {
			case style == 2 && node != "":
				first, _ := utf8.DecodeRuneInString(node)
				fmt.Fprintf(&out, `"\u%04x%s`, first, text[1+len(firstEncoded(node)):])
			case style == 4:
				out.WriteString(strings.Replace(string(text), "a", "\xff", 1))
			default:
				out.Write(text)
			}
		default:
			text, _ := json.Marshal(node)
			out.Write(text)
		}
	}
	write(node)
	if style == 5 {
		return out.String()[:out.Len()-1]
	}
	return out.String()
}

func firstEncoded(text string) string {
	first, _ := utf8.DecodeRuneInString(text)
	encoded, _ := json.Marshal(string(first))
	return string(encoded[1 : len(encoded)-1])
}
