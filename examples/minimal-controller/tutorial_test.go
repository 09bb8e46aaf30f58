package main

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/manifest"
)

const tutorial = "../../docs/write-your-own-controller.md"

// block matches one block of the tutorial: its kind (code, file or part), the file that it is of, the language, and the text.
//
//nolint:gocritic // with (?m) ^ is the beginning of any line
var block = regexp.MustCompile("(?ms)^(?:<!-- (\\w+): (\\S+) -->\n)?```(\\w+)\n(.*?)^```\n")

// The blocks of the tutorial, joined, are the program.
func TestTutorial(t *testing.T) {
	shown := map[string]string{}
	for _, parts := range block.FindAllStringSubmatch(read(t, tutorial), -1) {
		kind, name, language, text := parts[1], parts[2], parts[3], parts[4]
		switch {
		case kind == "code" && language == "go", kind == "file" && language == "yaml":
			shown[name] += text
		case kind == "part" && language == "go":
			if !strings.Contains(read(t, name), text) {
				t.Errorf("%s does not contain what the tutorial shows of it:\n%s", name, text)
			}
		case kind == "" && language == "sh":
		default:
			t.Errorf("the test does not know what to do with a block of %s: %s", language, text)
		}
	}
	for _, name := range []string{"minimal/controller.go", "main.go", "agent.yaml"} {
		if diff := cmp.Diff(lines(read(t, name)), lines(shown[name])); diff != "" {
			t.Errorf("%s is not what the tutorial shows (-program +tutorial):\n%s", name, diff)
		}
		delete(shown, name)
	}
	for name := range shown {
		t.Errorf("the tutorial shows %s, which nobody has", name)
	}
}

// The programs have at most as many lines as the tutorial says.
func TestLines(t *testing.T) {
	for name, most := range map[string]int{"minimal/controller.go": 150, "main.go": 25} {
		if got := strings.Count(read(t, name), "\n"); got > most {
			t.Errorf("%s has %d lines, and the tutorial says %d", name, got, most)
		}
	}
}

// The ConfigMap of the tutorial holds a valid set.
func TestManifest(t *testing.T) {
	var object corev1.ConfigMap
	if err := yaml.UnmarshalStrict([]byte(read(t, "agent.yaml")), &object); err != nil {
		t.Fatal(err)
	}
	set, err := manifest.Decode([]byte(object.Data["daemonset.yaml"]))
	if err != nil {
		t.Fatal(err)
	}
	if len(set.Unknown) > 0 {
		t.Errorf("unknown fields: %v", set.Unknown)
	}
	if _, err := rollout.New(set.Spec); err != nil {
		t.Error(err)
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// lines are the lines of a text without empty ones, because the tutorial does not show those between two blocks.
func lines(text string) []string {
	return slices.DeleteFunc(strings.Split(text, "\n"), func(line string) bool { return line == "" })
}
