//go:build teeth

package manifest_test

import (
	"bytes"
	"testing"
)

// TestPlantedSplitters shows that the property rejects splitters that are wrong.
func TestPlantedSplitters(t *testing.T) {
	for name, planted := range map[string]func([]byte) []byte{
		"takes a quote after a backslash for the end of a string": func(data []byte) []byte {
			return bytes.ReplaceAll(data, []byte(`\\`), nil)
		},
		"drops space within strings": func(data []byte) []byte { return bytes.ReplaceAll(data, []byte(": "), []byte(":")) },
		"sees one document only": func(data []byte) []byte {
			before, _, _ := bytes.Cut(data, []byte("\n---\n"))
			return before
		},
	} {
		caught := false
		for seed := range 300 {
			caught = caught || splitError(genDump().Example(seed), func(data []byte) ([]map[string]any, error) {
				return objectsOf(planted(data))
			}) != nil
		}
		if !caught {
			t.Errorf("the property accepts a splitter that %s", name)
		}
	}
}
