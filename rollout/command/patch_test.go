package command_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"reflect"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	_ "github.com/daemonplan/daemonplan/internal/fixedseed"
	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/command"
	"github.com/daemonplan/daemonplan/rollout/manifest"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
)

func TestApply(t *testing.T) {
	for _, c := range []struct{ name, why, object, patch, want string }{
		{"sets", "a key that is not there", `{"a":1}`, `{"b":{"c":"d"}}`, `{"a":1,"b":{"c":"d"}}`},
		{"replaces", "whatever it was", `{"a":{"b":1}}`, `{"a":[null]}`, `{"a":[null]}`},
		{"goes down", "the rest stays", `{"a":{"b":1,"c":2}}`, `{"a":{"c":3}}`, `{"a":{"b":1,"c":3}}`},
		{"removes", "null", `{"a":1,"b":2}`, `{"a":null}`, `{"b":2}`},
		{"removes nothing", "what is not there", `{"b":2}`, `{"a":null,"c":{"d":null}}`, `{"b":2,"c":{}}`},
		{"into null", "annotations: null is how some write none", `{"a":null}`, `{"a":{"b":"c"}}`, `{"a":{"b":"c"}}`},
		{"into text", "no object: replaced", `{"a":"x"}`, `{"a":{"b":"c","d":null}}`, `{"a":{"b":"c"}}`},
		{"numbers", "as they are written", `{"a":12345678901234567890.10}`, `{"b":1e2}`, `{"a":12345678901234567890.10,"b":1e2}`},
		{"empty patch", "nothing", `{"a":1}`, `{}`, `{"a":1}`},
		{"no object", "a list", `[]`, `{}`, "error: the object to patch must be one JSON object"},
		{"null object", "the same", `null`, `{}`, "error: the object to patch must be one JSON object"},
		{"broken object", "the same", `{"a"`, `{}`, "error: the object to patch must be one JSON object"},
		{"two objects", "the same", `{}{}`, `{}`, "error: the object to patch must be one JSON object"},
		{"YAML", "the same", "a: 1", `{}`, "error: the object to patch must be one JSON object"},
		{"no patch", "the zero patch has the type wrong already", `{}`, ``, "error: patch: the object to patch must be one JSON object"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.name == "" || c.why == "" {
				t.Fatal("a row needs a name and a reason")
			}
			object := []byte(c.object)
			got, err := command.Patch{Type: types.MergePatchType, Data: []byte(c.patch)}.Apply(object)
			text := string(got)
			if err != nil {
				text = "error: " + err.Error()
			}
			if text != c.want || string(object) != c.object {
				t.Errorf("%s\n got %s\nwant %s", c.why, text, c.want)
			}
		})
	}
	if _, err := (command.Patch{Type: types.JSONPatchType, Data: []byte(`{}`)}).Apply([]byte(`{}`)); err == nil ||
		err.Error() != `the patch must be of the type application/merge-patch+json, not "application/json-patch+json"` {
		t.Errorf("another type: %v", err)
	}
}

// tree draws JSON of a few keys, so that trees meet.
func tree(t *rapid.T, depth int, label string) any {
	kinds := []string{"null", "text", "number", "object", "object"}
	if depth == 0 {
		kinds = kinds[:3]
	}
	switch rapid.SampledFrom(kinds).Draw(t, label) {
	case "null":
		return nil
	case "text":
		return rapid.SampledFrom([]string{"", "x", "true"}).Draw(t, label+" text")
	case "number":
		return json.Number(rapid.SampledFrom([]string{"0", "1", "2"}).Draw(t, label+" number"))
	}
	object := make(map[string]any)
	for _, key := range []string{"a", "b", "c"} {
		if rapid.Bool().Draw(t, label+" has "+key) {
			object[key] = tree(t, depth-1, label+key)
		}
	}
	return object
}

// naiveMerge returns the pseudo-code of RFC 7386, word by word.
func naiveMerge(target, patch any) any {
	object, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	result := make(map[string]any)
	if old, ok := target.(map[string]any); ok {
		maps.Copy(result, old)
	}
	for key, value := range object {
		if value == nil {
			delete(result, key)
		} else {
			result[key] = naiveMerge(result[key], value)
		}
	}
	return result
}

func TestApplyIsTheMergePatch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		object := map[string]any{"a": tree(t, 3, "object a"), "b": tree(t, 3, "object b")}
		patch := map[string]any{"a": tree(t, 3, "patch a"), "c": tree(t, 3, "patch c")}
		objectText, _ := json.Marshal(object)
		patchText, _ := json.Marshal(patch)
		got, err := command.Patch{Type: types.MergePatchType, Data: patchText}.Apply(objectText)
		if err != nil {
			t.Fatal(err)
		}
		want, _ := json.Marshal(naiveMerge(object, patch))
		if !bytes.Equal(got, want) {
			t.Fatalf("%s patched with %s\n got %s\nwant %s", objectText, patchText, got, want)
		}
	})
}

// manifestOf returns the demo's manifest with these annotations.
func manifestOf(annotations map[string]string) []byte {
	text, err := json.Marshal(map[string]any{
		"apiVersion": "datadoghq.com/v1alpha1", "kind": "ExtendedDaemonSet",
		"metadata": map[string]any{"name": "foo", "annotations": annotations},
		"spec": map[string]any{
			"strategy": map[string]any{"canary": map[string]any{"replicas": 1}},
			"template": map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"name": "daemon", "image": "pause:3.1"}}}},
		},
	})
	if err != nil {
		panic(err)
	}
	return text
}

// TestCommandsReachTheSpec gives each command to the manifest, and reads it as the next plan does.
func TestCommandsReachTheSpec(t *testing.T) {
	const eds, companion = "extendeddaemonset.datadoghq.com/", "daemonplan.io/canary-"
	// What people leave behind: every switch is on, for whatever is on trial, or for the old revision.
	leftovers := map[string]string{
		eds + "canary-valid": oldName, eds + "canary-paused": "true", eds + "canary-unpaused": "true", eds + "canary-paused-reason": "test",
		companion + "validate": oldName, companion + "fail": newName, companion + "retry": newName + "/2020", "other": "stays",
	}
	retry := newName + "/2026-01-01T12:00:00Z"
	for _, c := range []struct {
		name, why      string
		command        command.Command
		phase          canary.Phase
		want           canary.Commands
		paused, frozen bool
	}{
		{"validate", "no pause is left for the next canary", command.CanaryValidate, canary.Running,
			canary.Commands{Validate: newName, Fail: newName, Retry: newName + "/2020"}, false, false},
		{"pause", "only this revision", command.CanaryPause, canary.Running,
			canary.Commands{Pause: newName, Validate: oldName, Fail: newName, Retry: newName + "/2020"}, false, false},
		{"unpause", "only this revision", command.CanaryUnpause, canary.Paused,
			canary.Commands{Unpause: newName, Validate: oldName, Fail: newName, Retry: newName + "/2020"}, false, false},
		{"fail", "only this revision", command.CanaryFail, canary.Running,
			canary.Commands{Pause: "*", Unpause: "*", Validate: oldName, Fail: newName, Retry: newName + "/2020"}, false, false},
		{"retry", "a value that is new, and no other verdict", command.CanaryRetry, canary.Failed,
			canary.Commands{Pause: "*", Retry: retry}, false, false},
		{"rollout pause", "commands of the canary stay", command.Pause, canary.Running,
			canary.Commands{Pause: "*", Unpause: "*", Validate: oldName, Fail: newName, Retry: newName + "/2020"}, true, false},
		{"freeze", "commands of the canary stay", command.Freeze, canary.Running,
			canary.Commands{Pause: "*", Unpause: "*", Validate: oldName, Fail: newName, Retry: newName + "/2020"}, false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.name == "" || c.why == "" {
				t.Fatal("a row needs a name and a reason")
			}
			view := demo(c.phase)
			patch, err := c.command.Patch(view)
			if err != nil {
				t.Fatal(err)
			}
			patched, err := patch.Apply(manifestOf(leftovers))
			if err != nil {
				t.Fatal(err)
			}
			set, err := manifest.Decode(patched)
			if err != nil {
				t.Fatal(err)
			}
			strategy := set.Spec.Strategy
			if strategy.Canary.Commands != c.want || strategy.Paused != c.paused || strategy.Frozen != c.frozen {
				t.Errorf("%s: %+v, paused %v, frozen %v", c.why, strategy.Canary.Commands, strategy.Paused, strategy.Frozen)
			}
			if !strings.Contains(string(patched), `"other":"stays"`) {
				t.Errorf("the patch takes more than its own: %s", patched)
			}
		})
	}
}

func TestKubectlQuotes(t *testing.T) {
	spec := rollouttest.Spec("it's; rm -rf /")
	spec.Namespace, spec.APIVersion, spec.Kind = "", "example.com/v1", "-x"
	line := command.Patch{Type: types.JSONPatchType, Data: []byte(`["it's"]`)}.Kubectl(spec)
	want := `kubectl patch '-x.example.com' 'it'\''s; rm -rf /' -n default --type 'application/json-patch+json' -p '["it'\''s"]'`
	if line != want {
		t.Errorf("got  %s\nwant %s", line, want)
	}
	spec.Name = ""
	if line := (command.Patch{}).Kubectl(spec); !strings.Contains(line, " '' -n default --type '' -p ''") {
		t.Errorf("an empty word is lost: %s", line)
	}
	spec.Name = "aAZ0.9_/z-"
	if line := (command.Patch{}).Kubectl(spec); !strings.Contains(line, " aAZ0.9_/z- -n") {
		t.Errorf("a plain word is quoted: %s", line)
	}
}

// The kind of a set is called by its resource, so that kubectl finds it among kinds of that name.
func TestKubectlNamesTheResource(t *testing.T) {
	for kind, want := range map[[2]string]string{
		{"apps/v1", "DaemonSet"}:                             "daemonsets.apps",
		{"apps.kruise.io/v1alpha1", "DaemonSet"}:             "daemonsets.apps.kruise.io",
		{"datadoghq.com/v1alpha1", "ExtendedDaemonSet"}:      "extendeddaemonsets.datadoghq.com",
		{"datadoghq.com/v1alpha1", "ExtendedDaemonSetThing"}: "ExtendedDaemonSetThing.datadoghq.com",
		{"", ""}:                        "daemonsets.apps",
		{"", "DaemonSet"}:               "DaemonSet",
		{"example.com/v1", "DaemonSet"}: "DaemonSet.example.com",
		{"apps/v1", "Deployment"}:       "Deployment.apps",
	} {
		spec := rollouttest.Spec("agent")
		spec.APIVersion, spec.Kind, spec.Namespace = kind[0], kind[1], "monitoring"
		if line := (command.Patch{Type: types.MergePatchType}).Kubectl(spec); !strings.HasPrefix(line, "kubectl patch "+want+" agent -n monitoring ") {
			t.Errorf("%v: %s, want %s", kind, line, want)
		}
	}
}

// TestPatchesAreASCII for whatever name, and mean the name.
func TestPatchesAreASCII(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.String().Draw(t, "name")
		view := demo(canary.Running)
		view.Snapshot.Revisions[1].Name = name
		patch, err := command.CanaryFail.Patch(view)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range patch.Data {
			if b < ' ' || b > '~' {
				t.Fatalf("byte %#x in %q", b, patch.Data)
			}
		}
		var read struct {
			Metadata struct{ Annotations map[string]string }
		}
		if err := json.Unmarshal(patch.Data, &read); err != nil {
			t.Fatal(err)
		}
		want := map[string]string{"daemonplan.io/canary-fail": cmp.Or(name, newHash)}
		if !reflect.DeepEqual(read.Metadata.Annotations, want) {
			t.Fatalf("%q becomes %v", name, read.Metadata.Annotations)
		}
	})
}

// FuzzApply hands in any bytes: what comes out is JSON, and to patch it again changes nothing.
func FuzzApply(f *testing.F) {
	f.Add([]byte(`{"a":{"b":1}}`), []byte(`{"a":{"b":null,"c":{"d":[]}}}`))
	f.Add([]byte(`{"metadata":null}`), []byte(`{"metadata":{"annotations":{"x":"true"}}}`))
	f.Add([]byte(`[]`), []byte(`{`))
	f.Fuzz(func(t *testing.T, object, patch []byte) {
		p := command.Patch{Type: types.MergePatchType, Data: patch}
		once, err := p.Apply(object)
		if err != nil {
			if once != nil {
				t.Fatalf("%q beside an error", once)
			}
			return
		}
		twice, err := p.Apply(once)
		if err != nil || !bytes.Equal(once, twice) {
			t.Fatalf("%q patched with %q: once %q, twice %q (%v)", object, patch, once, twice, err)
		}
	})
}
