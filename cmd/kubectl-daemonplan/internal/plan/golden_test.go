package plan

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/daemonplan/daemonplan/rollout/verify"
)

var update = flag.Bool("update", false, "write the golden files and the embedded fleet anew")

// present is the time of the tests, a year after the embedded fleet was recorded.
func present() time.Time { return fleetTime().AddDate(1, 0, 0) }

// call runs the program.
func call(stdin string, args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = run(args, strings.NewReader(stdin), &out, &errs, present)
	return code, out.String(), errs.String()
}

// plans runs the program on input that it must accept without a message.
func plans(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	code, stdout, stderr := call(stdin, args...)
	if code != 0 || stderr != "" {
		t.Fatalf("plan %q: exit code %d, standard error:\n%s", args, code, stderr)
	}
	return stdout
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("%s (-file +program); run with -update and read the diff:\n%s", file, diff)
	}
}

func TestGolden(t *testing.T) {
	for name, args := range map[string][]string{
		"table.txt": nil,
		"wide.txt":  {"-o", "wide"},
		"plan.json": {"-o", "json"},
		"plan.yaml": {"-o", "yaml"},
		"diff.txt":  {"-diff"},
	} {
		t.Run(name, func(t *testing.T) { golden(t, name, plans(t, "", args...)) })
	}
}

// TestExplainEveryNode explains all 62 nodes, also those on which nothing happens, and the node that is gone.
func TestExplainEveryNode(t *testing.T) {
	var out strings.Builder
	f := newFleet()
	for _, node := range f.nodes {
		text := plans(t, "", "-explain", node.Name)
		if !strings.HasPrefix(text, node.Name+": ") || strings.Count(text, "\n") != 1 {
			t.Errorf("-explain %s prints %q", node.Name, text)
		}
		out.WriteString(text)
	}
	out.WriteString(plans(t, "", "-explain", "general-1a-12"))
	golden(t, "explain.txt", out.String())
}

// TestJSONAgreesWithTable compares the JSON output with the table.
func TestJSONAgreesWithTable(t *testing.T) {
	var d document
	if err := json.Unmarshal([]byte(plans(t, "", "-o", "json")), &d); err != nil {
		t.Fatal(err)
	}
	if len(d.Nodes) != 63 { // 62 nodes and the pod on the node that is gone
		t.Errorf("%d decisions, want 63", len(d.Nodes))
	}
	table := plans(t, "")
	for _, action := range append(d.Actions.Deletes, d.Actions.Creates...) {
		if !strings.Contains(table, "  "+action.Node+" ") || !strings.Contains(table, action.Reason+": ") {
			t.Errorf("the table lacks %+v", action)
		}
	}
	if got, want := len(d.Actions.Deletes)+len(d.Actions.Creates), 4; got != want {
		t.Errorf("%d actions on pods, want %d", got, want)
	}
	if d.Budget.Unavailable != 6 || d.Budget.Waiting != int32(len(d.Waits[len(d.Waits)-1].Nodes)) {
		t.Errorf("budget %+v does not fit the waits %+v", d.Budget, d.Waits)
	}
	var same document
	if err := yaml.UnmarshalStrict([]byte(plans(t, "", "-o", "yaml")), &same); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(d, same, cmp.AllowUnexported(revision{})); diff != "" {
		t.Errorf("json and yaml differ:\n%s", diff)
	}
}

// TestExamplesKeepTheInvariants has the library verify the plans of all fleets.
func TestExamplesKeepTheInvariants(t *testing.T) {
	for _, name := range []string{exampleKubernetes, exampleKruise, exampleEDS} {
		in := newInput()
		if err := in.addExample(name); err != nil {
			t.Fatal(err)
		}
		result, err := in.decide(in.sets[0], fleetTime())
		if err != nil {
			t.Fatal(err)
		}
		for _, violation := range verify.Plan(result.set.Spec, result.snapshot, &result.plan) {
			t.Errorf("%s: %s", name, violation)
		}
	}
}

func TestHelp(t *testing.T) {
	code, stdout, stderr := call("", "-h")
	if code != 0 || stdout != "" || !strings.HasPrefix(stderr, "usage: plan ") {
		t.Errorf("-h: exit code %d, standard output %q, standard error %q", code, stdout, stderr)
	}
	for _, flag := range []string{"-explain NODE", "-example FLEET", "-n SET", "-resize\n", "-cgroup-v1\n", "-pre-download\n", "-memory FILE"} {
		if !strings.Contains(stderr, "  "+flag) {
			t.Errorf("-h does not tell of %s:\n%s", flag, stderr)
		}
	}
}
