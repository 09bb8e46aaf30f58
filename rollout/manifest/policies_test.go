package manifest_test

import (
	"maps"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/daemonplan/daemonplan/internal/worlds"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/manifest"
)

// The page with policies for fleets, whose snippets in Go are the functions of worlds.Documented.
const policiesPage = "../../docs/policies-for-fleets.md"

// The policies of the page are valid, say the same in YAML and in Go, and each has a transcript or a study, and a picture.
func TestPoliciesForFleets(t *testing.T) {
	page, source := readText(t, policiesPage), readText(t, "../../internal/worlds/documented.go")
	block := regexp.MustCompile("(?s)```(yaml|go)\n(.*?)```")
	plan := new(rollout.Plan)
	plan.Status.UpdateRevision = "agent-5d4f8c7b6"
	i := 0
	for _, section := range strings.Split(page, "\n## ")[1:] {
		title, _, _ := strings.Cut(section, "\n")
		t.Run(title, func(t *testing.T) {
			all := make(map[string]any)
			code := ""
			for _, found := range block.FindAllStringSubmatch(section, -1) {
				text := found[2]
				if found[1] == "go" {
					code += text
					continue
				}
				policy := policyIn(t, text)
				if policy["events"] != nil {
					continue // of a world, which is no policy
				}
				for key := range policy {
					if all[key] != nil { // another policy
						specOf(t, policy)
						policy = nil
					}
				}
				maps.Copy(all, policy)
			}
			if len(all) == 0 {
				return
			}
			if i == len(worlds.Documented) {
				t.Fatal("this policy has no function in Go")
			}
			got, want := specOf(t, all), specOf(t, nil)
			worlds.Documented[i](&want, plan)
			i++
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("the policy in YAML (+) is not that in Go (-):\n%s", diff)
			}
			indented := "\n\t" + strings.ReplaceAll(strings.TrimSpace(code), "\n", "\n\t") + "\n}\n"
			if code == "" || !strings.Contains(source, indented) {
				t.Errorf("no function is the Go of the page:\n%s", code)
			}
			for _, link := range []string{"(../rollout/testdata/scenarios/", ".png)", "(../cmd/kubectl-daemonplan/studies/"} {
				if link != "(../rollout/testdata/scenarios/" && strings.Contains(section, "(#the-gpu-nodes-last)") {
					continue // the picture is there
				}
				if !strings.Contains(strings.ReplaceAll(section, ".svg)", ".png)"), link) {
					t.Errorf("it has no link %q", link)
				}
			}
		})
	}
	if i != len(worlds.Documented) || i < 10 {
		t.Errorf("the page has %d policies", i)
	}
	_, last, _ := strings.Cut(page, "\n## All together")
	if readme := readText(t, "../../README.md"); !strings.Contains(readme, block.FindString(last)) {
		t.Error("the README shows another policy than the last of the page")
	}
	for _, link := range regexp.MustCompile(`\]\((\.\.[^)#]*)`).FindAllStringSubmatch(page, -1) {
		if _, err := os.Stat("../../docs/" + link[1]); err != nil {
			t.Errorf("the page links to %s: %v", link[1], err)
		}
	}
}

// policyIn are the fields of a policy, which may be in the annotation of an object.
func policyIn(t *testing.T, text string) map[string]any {
	t.Helper()
	var object struct{ Metadata metav1.ObjectMeta }
	if err := yaml.Unmarshal([]byte(text), &object); err != nil {
		t.Fatal(err)
	}
	if inside := object.Metadata.Annotations[manifest.PolicyAnnotation]; inside != "" {
		text = inside
	}
	var policy map[string]any
	if err := yaml.UnmarshalStrict([]byte(text), &policy); err != nil {
		t.Fatal(err)
	}
	return policy
}

// specOf is that of a DaemonSet with the policy, which must be valid.
func specOf(t *testing.T, policy map[string]any) rollout.Spec {
	t.Helper()
	text, err := yaml.Marshal(policy)
	if err != nil {
		t.Fatal(err)
	}
	if policy == nil {
		text = nil
	}
	object, err := yaml.Marshal(map[string]any{
		"apiVersion": "apps/v1", "kind": "DaemonSet",
		"metadata": map[string]any{
			"name": "agent", "namespace": "monitoring", "uid": "1", "annotations": map[string]any{manifest.PolicyAnnotation: string(text)},
		},
		"spec": map[string]any{
			"selector": map[string]any{"matchLabels": map[string]any{"app": "agent"}},
			"template": map[string]any{
				"metadata": map[string]any{"labels": map[string]any{"app": "agent"}},
				"spec":     map[string]any{"containers": []any{map[string]any{"name": "agent", "image": "agent:v2"}}},
			},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	set, err := manifest.Decode(object)
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	if _, err := rollout.New(set.Spec); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return set.Spec
}

func readText(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
