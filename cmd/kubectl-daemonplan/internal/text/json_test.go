package text

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"

	"sigs.k8s.io/yaml"
)

// TestJSON: nothing that a terminal might obey is in JSON, and no control character in the YAML that is made of it; and programs
// read what was there.
func TestJSON(t *testing.T) {
	const text = "a\x00\x1b[2J\u0085\u009b31m\u007f \u202eevil\u2028 \U000e0001 \U0001f600 é <&>"
	data, err := JSON(map[string]any{"text": text, "list": []int{1}})
	if err != nil {
		t.Fatal(err)
	}
	var read struct{ Text string }
	if err := json.Unmarshal(data, &read); err != nil || read.Text != text {
		t.Errorf("read is %q, error %v", read.Text, err)
	}
	asYAML, err := yaml.JSONToYAML(data)
	if err != nil {
		t.Fatal(err)
	}
	read.Text = ""
	if err := yaml.Unmarshal(asYAML, &read); err != nil || read.Text != text {
		t.Errorf("read from YAML is %q, error %v", read.Text, err)
	}
	control := func(r rune) bool { return r != '\n' && unicode.IsControl(r) }
	if strings.ContainsFunc(string(data), control) || strings.ContainsFunc(string(data), func(r rune) bool { return r == '\u202e' }) {
		t.Errorf("JSON: %q", data)
	}
	if strings.ContainsFunc(string(asYAML), control) {
		t.Errorf("YAML: %q", asYAML)
	}
	if !strings.Contains(string(data), "\n  \"list\": [\n    1\n  ],\n") || !strings.Contains(string(data), "é") {
		t.Errorf("%s", data)
	}
	if _, err := JSON(func() {}); err == nil {
		t.Error("a function is encoded")
	}
}
