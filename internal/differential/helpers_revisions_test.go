package differential_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/kubernetes/pkg/controller/daemon"
	"pgregory.net/rapid"
	kubejson "sigs.k8s.io/json"

	"github.com/daemonplan/daemonplan/rollout/history"
)

var helperSet = history.Set{Name: "agent", Namespace: "monitoring", UID: "set-uid"}

// stored is what a revision of a template stores, or why it stores nothing.
type stored struct {
	Data []byte
	Err  error
}

// compareData lets the controller match its own template against the data that ours writes. It compares bytes with those
// that it would write, which it does not export.
func compareData() comparison[*corev1.PodTemplateSpec, stored] {
	const (
		written = iota
		inexpressible
	)
	store := func(template *corev1.PodTemplateSpec) stored {
		data, err := history.Data(template)
		return stored{data, err}
	}
	instead := func(change func([]byte) []byte) func(*corev1.PodTemplateSpec) stored {
		return func(template *corev1.PodTemplateSpec) stored {
			out := store(template)
			if out.Err == nil {
				out.Data = change(out.Data)
			}
			return out
		}
	}
	return comparison[*corev1.PodTemplateSpec, stored]{
		theirs: "getPatch, Match", ours: "history.Data",
		kinds: []string{written: "written", inexpressible: "not expressible"}, inputs: anyTemplate(), batch: 30, answer: store,
		judge: func(template *corev1.PodTemplateSpec, ours stored) judgement {
			j := judgement{kind: kindIf(ours.Err != nil)}
			set := &appsv1.DaemonSet{Spec: appsv1.DaemonSetSpec{Template: *template}}
			matched, err := daemon.Match(set, &appsv1.ControllerRevision{Data: runtime.RawExtension{Raw: ours.Data}})
			resolver, errCompile := history.Compile(helperSet, template)
			switch {
			case (err != nil) != (ours.Err != nil) || (err != nil) != (errCompile != nil):
				j.err = fmt.Errorf("errors differ: the controller %w, ours %w and %w for\n%s", err, ours.Err, errCompile, shown(template))
			case err == nil && !matched:
				j.err = disagree(template, "other data", string(ours.Data))
			case err == nil && !bytes.Equal(resolver.Data(), ours.Data):
				j.err = fmt.Errorf("two data of one template:\n%s\n%s", resolver.Data(), ours.Data)
			}
			return j
		},
		bugs: []plantedBug[*corev1.PodTemplateSpec, stored]{
			{"unescaped", "HTML characters are escaped", instead(func(data []byte) []byte {
				return bytes.ReplaceAll(data, []byte(`\u003c`), []byte("<"))
			})},
			{"no directive", "the data is a patch that replaces", instead(func(data []byte) []byte {
				return bytes.Replace(data, []byte(`"$patch":"replace",`), nil, 1)
			})},
			{"floats", "large integers are kept", instead(func(data []byte) []byte {
				return bytes.ReplaceAll(data, []byte("9223372036854775807"), []byte("9223372036854775808"))
			})},
			{"no error", "a template that cannot be written has no revision", func(template *corev1.PodTemplateSpec) stored {
				return stored{Data: store(template).Data}
			}},
		},
	}
}

// match is a template and the data of a revision.
type match struct {
	Template *corev1.PodTemplateSpec
	Raw      []byte
	// Harmless: the data is the template's, spelled in another way that means the same (R2).
	Harmless bool
}

// matched is whether the two are one revision: by their data, and because the history needs no new revision.
type matched struct {
	Same, Found bool
	Err         error
}

func anyMatch() *rapid.Generator[match] {
	return rapid.Custom(func(t *rapid.T) match {
		m := match{Template: anyTemplate().Draw(t, "template")}
		m.Raw, _ = history.Data(m.Template)
		switch kind := rapid.IntRange(0, 5).Draw(t, "kind"); {
		case kind == 0 || m.Raw == nil:
		case kind == 1:
			m.Raw, _ = history.Data(anyTemplate().Draw(t, "other"))
		case kind == 2:
			m.Raw = m.Raw[:rapid.IntRange(0, len(m.Raw)).Draw(t, "cut")]
		case kind == 3:
			m.Raw = respelled(t, m.Raw, []any{"x", true, json.Number("1"), []any{""}, map[string]any{"a": nil}, map[string]any{"": "a"}})
		default:
			// A zero is a value like any other where the field is not known: it may be what switches something off.
			m.Raw, m.Harmless = respelled(t, m.Raw, []any{nil, map[string]any{}, []any{}, ""}), true
		}
		return m
	})
}

// respelled puts a field that nobody knows, with one of the values, into one of the objects of the data, or writes the
// creationTimestamp of older API versions.
func respelled(t *rapid.T, data []byte, values []any) []byte {
	root := decoded(data)
	template := child(child(root, "spec"), "template")
	objects := []map[string]any{root, child(root, "spec"), template, child(template, "metadata"), child(template, "spec")}
	if list, ok := child(template, "spec")["containers"].([]any); ok {
		for _, element := range list {
			if container, ok := element.(map[string]any); ok {
				objects = append(objects, container)
			}
		}
	}
	object := rapid.SampledFrom(objects).Draw(t, "object")
	object["future"] = rapid.SampledFrom(values).Draw(t, "value")
	if metadata := child(template, "metadata"); oneIn(t, 2, "older") && metadata["creationTimestamp"] == nil {
		metadata["creationTimestamp"] = nil
	}
	out, err := json.Marshal(root)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func decoded(data []byte) map[string]any {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var root map[string]any
	if decoder.Decode(&root) != nil {
		return nil
	}
	return root
}

// child is an object's member that is an object; an empty one that belongs to nothing if there is none.
func child(object map[string]any, key string) map[string]any {
	if member, ok := object[key].(map[string]any); ok {
		return member
	}
	return map[string]any{}
}

func compareMatches() comparison[match, matched] {
	return comparison[match, matched]{
		theirs: "Match", ours: "history.SameData, Resolve",
		kinds: []string{"another", "the same"}, deviates: []deviation{meaningCounts},
		inputs: anyMatch(), batch: 30, answer: resolved,
		judge: func(m match, ours matched) judgement {
			set := &appsv1.DaemonSet{Spec: appsv1.DaemonSetSpec{Template: *m.Template}}
			theirs, err := daemon.Match(set, &appsv1.ControllerRevision{Data: runtime.RawExtension{Raw: m.Raw}})
			j := judgement{kind: kindIf(theirs)}
			switch {
			case (err != nil) != (ours.Err != nil):
				j.err = fmt.Errorf("errors differ: the controller %w, ours %w for\n%s", err, ours.Err, shown(m))
			case err != nil:
			case ours.Same != ours.Found:
				j.err = fmt.Errorf("ours disagrees with itself: %+v for\n%s", ours, shown(m))
			case m.Harmless && !ours.Same:
				j.err = fmt.Errorf("a harmless spelling is another template:\n%s\n%s", m.Raw, shown(m.Template))
			case ours.Same && !theirs && meansTheSame(m.Template, m.Raw):
				j.because = meaningCounts
			case ours.Same != theirs:
				j.err = disagree(m, theirs, ours)
			}
			return j
		},
		bugs: []plantedBug[match, matched]{
			{"bytes", "the deliberate difference is needed", func(m match) matched {
				data, err := history.Data(m.Template)
				same := bytes.Equal(data, m.Raw)
				return matched{same, same, err}
			}},
			{"unknown fields are nothing", "one that is not empty is a difference", func(m match) matched {
				out := resolved(m)
				var e envelope
				if out.Err == nil && utiljson.Unmarshal(m.Raw, &e) == nil && apiequality.Semantic.DeepEqual(m.Template, &e.Spec.Template) {
					out.Same, out.Found = true, true
				}
				return out
			}},
			{"always the same", "other templates are other revisions", func(m match) matched {
				return matched{true, true, resolved(m).Err}
			}},
		},
	}
}

func resolved(m match) matched {
	data, err := history.Data(m.Template)
	if err != nil {
		return matched{Err: err}
	}
	resolver, err := history.Compile(helperSet, m.Template)
	if err != nil {
		return matched{Err: err}
	}
	resolution, err := resolver.Resolve(history.Input{Limit: 10, Revisions: []*appsv1.ControllerRevision{{
		ObjectMeta: metav1.ObjectMeta{Name: "agent-x", Labels: map[string]string{appsv1.DefaultDaemonSetUniqueLabelKey: "x"}},
		Data:       runtime.RawExtension{Raw: m.Raw}, Revision: 1,
	}}})
	return matched{history.SameData(data, m.Raw), resolution.Create == nil, err}
}

// envelope is what the data of a revision decodes to.
type envelope struct {
	Spec struct {
		Template corev1.PodTemplateSpec `json:"template"`
	} `json:"spec"`
}

// meansTheSame is R2, naively: what is known is equal when decoded, and what is not known is empty.
func meansTheSame(template *corev1.PodTemplateSpec, raw []byte) bool {
	data, err := history.Data(template)
	if err != nil {
		return false
	}
	var ours, theirs envelope
	if utiljson.Unmarshal(data, &ours) != nil || utiljson.Unmarshal(raw, &theirs) != nil ||
		!apiequality.Semantic.DeepEqual(ours, theirs) {
		return false
	}
	root := decoded(raw)
	delete(child(child(root, "spec"), "template"), "$patch")
	known, err := json.Marshal(pruned(root))
	if err != nil {
		return false
	}
	strict, err := kubejson.UnmarshalStrict(known, &envelope{})
	return err == nil && len(strict) == 0
}

// pruned is the tree without members that are empty.
func pruned(node any) any {
	switch node := node.(type) {
	case map[string]any:
		for _, key := range slices.Collect(maps.Keys(node)) {
			if node[key] = pruned(node[key]); node[key] == nil {
				delete(node, key)
			}
		}
		if len(node) == 0 {
			return nil
		}
	case []any:
		for i := range node {
			node[i] = pruned(node[i])
		}
		if len(node) == 0 {
			return nil
		}
	case string:
		if node == "" {
			return nil
		}
	}
	return node
}
