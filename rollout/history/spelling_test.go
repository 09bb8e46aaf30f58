package history_test

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/daemonplan/daemonplan/rollout/history"
)

// withLimit returns the data of a revision whose container has a limit of cpu, as it is spelled.
func withLimit(cpu string) []byte {
	return []byte(`{"spec":{"template":{"$patch":"replace","spec":{"containers":[{"name":"a","resources":{"limits":{"cpu":"` +
		cpu + `"}}}]}}}}`)
}

// TestSpellingsOfOneQuantity: texts that look different at first sight are decoded before they are told apart (R2).
func TestSpellingsOfOneQuantity(t *testing.T) {
	for _, pair := range [][2]string{{"9", "9.0"}, {"1", "1e0"}, {"10G", "1e10"}, {"0.9", "900m"}, {"1Ki", "1024"}} {
		if !history.SameData(withLimit(pair[0]), withLimit(pair[1])) || !history.SameData(withLimit(pair[1]), withLimit(pair[0])) {
			t.Errorf("%s and %s are not the same", pair[0], pair[1])
		}
	}
	for _, pair := range [][2]string{{"9", "8"}, {"1e0", "1e1"}, {"abcd-ef", "abcd-eg"}, {"2026-01", "2026-02"}} {
		if history.SameData(withLimit(pair[0]), withLimit(pair[1])) {
			t.Errorf("%s and %s are the same", pair[0], pair[1])
		}
	}
}

// TestNullIsNothing, and so is an empty object or text where null stands on the other side (R2).
func TestNullIsNothing(t *testing.T) {
	around := func(member string) []byte {
		return []byte(`{"spec":{"template":{"$patch":"replace","spec":{"containers":[{"name":"a"}],"hostname":` + member + `}}}}`)
	}
	for _, pair := range [][2]string{{`null`, `""`}, {`""`, `null`}} {
		if !history.SameData(around(pair[0]), around(pair[1])) {
			t.Errorf("%s and %s are not the same", pair[0], pair[1])
		}
	}
	for _, pair := range [][2]string{{`null`, `"a"`}, {`"a"`, `null`}} {
		if history.SameData(around(pair[0]), around(pair[1])) {
			t.Errorf("%s and %s are the same", pair[0], pair[1])
		}
	}
}

// TestPlainKeysStandWithoutQuotes: a path quotes what could be read in another way, and nothing else.
func TestPlainKeysStandWithoutQuotes(t *testing.T) {
	for key, want := range map[string]string{
		"azAZ09": "metadata.labels[azAZ09]", "a{": `metadata.labels["a{"]`, "a[": `metadata.labels["a["]`, "a`": "metadata.labels[\"a`\"]",
		"a@": `metadata.labels["a@"]`,
	} {
		changed := markTemplate("a")
		changed.Labels = map[string]string{"app": "x", key: "x"}
		old := markTemplate("a")
		old.Labels = map[string]string{"app": "x"}
		if changes := history.Changes(old, changed); len(changes) != 1 || changes[0].Path != want {
			t.Errorf("%q: %+v, want a change of %s", key, changes, want)
		}
	}
}

// TestValuesThatDecodeThemselves have members that are no fields, and lists where none are expected are no reason to panic.
func TestValuesThatDecodeThemselves(t *testing.T) {
	revision := &appsv1.ControllerRevision{}
	revision.Data.Raw = []byte(`{"spec":{"template":{"$patch":"replace","metadata":{"managedFields":[{"fieldsV1":{"f:spec":{},"v":1}}]},` +
		`"spec":{"containers":[{"name":"a"}]}}}}`)
	if _, err := history.Template(revision); err != nil {
		t.Errorf("raw JSON: %v", err)
	}
	revision.Data.Raw = []byte(`{"spec":{"template":{"$patch":"replace","spec":{"hostPID":[{}]}}}}`)
	if _, err := history.Template(revision); err == nil {
		t.Error("a list is taken for a boolean")
	}
}
