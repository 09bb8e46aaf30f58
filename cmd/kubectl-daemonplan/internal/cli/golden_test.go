package cli

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/controllers"
	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/exit"
	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/plan"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/daemonplan/daemonplan/rollout/verify"
)

var update = flag.Bool("update", false, "write the golden files and the embedded fleet anew")

// present is the time of the tests, a year after the embedded fleet was recorded.
func present() time.Time { return fleetTime().AddDate(1, 0, 0) }

// planned puts the command plan before arguments that begin with a flag, and names the embedded fleet if no other input is named.
// Most tests are about plans, and many about that fleet.
func planned(args []string) []string {
	if len(args) == 0 || strings.HasPrefix(args[0], "-") && args[0] != "--version" {
		args = append([]string{"plan"}, args...)
	}
	inputs := []string{"-f", "--filename", "--example", "--case", "--server"}
	if slices.ContainsFunc(args, func(arg string) bool { return slices.Contains(inputs, arg) }) {
		return args
	}
	if c, _, err := Root().Find(args); err != nil || c.Flags().Lookup("example") == nil {
		return args
	}
	return append(slices.Clip(args), "--example", "kubernetes")
}

func timestamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// run runs the program in an environment without variables.
func run(args []string, streams genericiooptions.IOStreams, clock func() time.Time) int {
	return newProgram(streams, clock).run(args)
}

// call runs the program.
func call(stdin string, args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	streams := genericiooptions.IOStreams{In: strings.NewReader(stdin), Out: &out, ErrOut: &errs}
	code = run(planned(args), streams, present)
	return code, out.String(), errs.String()
}

// plans runs the program on input that it must accept without a message.
func plans(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	code, stdout, stderr := call(stdin, args...)
	if !answered(code, args) || stderr != "" {
		t.Fatalf("plan %q: exit code %d, standard error:\n%s", args, code, stderr)
	}
	return stdout
}

// answered reports whether the exit code is that of an answer. TestExitCodes knows which code diff has when.
func answered(code int, args []string) bool {
	return code == exit.OK || code == exit.Negative && slices.Contains(args, "diff")
}

// said is what the program answers, positive or negative, for a controller that plans with daemonplan.
func said(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	code, stdout, stderr := call(stdin, append(args, "--controller", string(controllers.Daemonplan))...)
	if code == exit.Failed {
		t.Fatalf("%q: %s", args, stderr)
	}
	return stdout
}

// ours is plans for a controller that plans with daemonplan.
func ours(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	return plans(t, stdin, append(args, "--controller", string(controllers.Daemonplan))...)
}

// answers runs the program, and returns what it prints after the lines that say whose answer it is.
func answers(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	whose, rest, _ := strings.Cut(plans(t, stdin, args...), "\n")
	if !strings.HasPrefix(whose, "As ") {
		t.Errorf("%q does not say first whose answer it is: %s", args, whose)
	}
	return rest
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
		"diff.txt":  {"diff"},

		"controller-table.txt":   {"--controller", "kubernetes"},
		"controller-explain.txt": {"explain", "general-1a-01", "gpu-1c-02", "--controller", "kubernetes"},
	} {
		t.Run(name, func(t *testing.T) { golden(t, name, plans(t, "", args...)) })
	}
}

// TestExplainEveryNode explains all 62 nodes, also those on which nothing happens, and the node that is gone.
func TestExplainEveryNode(t *testing.T) {
	var out strings.Builder
	f := newFleet()
	for _, node := range f.nodes {
		text := answers(t, "", "explain", node.Name)
		more := map[string]int{"general-1c-04": 2, "memory-1a-03": 1}[node.Name] // what is wrong with the node, and with its pod
		if !strings.HasPrefix(text, node.Name+": ") || strings.Count(text, "\n") != 1+more {
			t.Errorf("explain %s prints %q", node.Name, text)
		}
		out.WriteString(text)
	}
	out.WriteString(answers(t, "", "explain", "general-1a-12"))
	golden(t, "explain.txt", out.String())
}

// TestJSONAgreesWithTable compares the JSON output with the table.
func TestJSONAgreesWithTable(t *testing.T) {
	var d plan.Document
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
	if got, want := len(d.Actions.Deletes)+len(d.Actions.Creates), 3; got != want {
		t.Errorf("%d actions on pods, want %d", got, want)
	}
	if d.Budget.Unavailable != 5 || d.Budget.Waiting != int32(len(d.Waits[len(d.Waits)-1].Nodes)) {
		t.Errorf("budget %+v does not fit the waits %+v", d.Budget, d.Waits)
	}
	var same plan.Document
	if err := yaml.UnmarshalStrict([]byte(plans(t, "", "-o", "yaml")), &same); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(d, same, cmp.AllowUnexported(plan.Revision{})); diff != "" {
		t.Errorf("json and yaml differ:\n%s", diff)
	}
}

// TestExamplesKeepTheInvariants has the library verify the plans of all fleets.
func TestExamplesKeepTheInvariants(t *testing.T) {
	for _, name := range []string{exampleKubernetes, exampleKruise, exampleEDS} {
		in := objects.New()
		if err := addExample(in, name); err != nil {
			t.Fatal(err)
		}
		result, err := plan.Decide(in, in.Sets[0], fleetTime(), controllers.Daemonplan)
		if err != nil {
			t.Fatal(err)
		}
		for _, violation := range verify.Plan(result.Set.Spec, result.Snapshot, &result.Plan) {
			t.Errorf("%s: %s", name, violation)
		}
	}
}

// TestHelp checks that every command has a help line, a text and, if it does something, an example that names it.
func TestHelp(t *testing.T) {
	var look func(c *cobra.Command)
	look = func(c *cobra.Command) {
		if c.Short == "" || strings.HasSuffix(c.Short, ".") || c.Long == "" || c.Long == c.Short {
			t.Errorf("%s has no help line, or one that ends with a dot: %q", c.CommandPath(), c.Short)
		}
		if c.Runnable() && c.HasParent() && !c.HasSubCommands() && c.Name() != "help" &&
			!strings.Contains(c.Example, "kubectl daemonplan "+
				strings.TrimPrefix(c.CommandPath(), "kubectl daemonplan ")) {
			t.Errorf("%s has no example of itself: %q", c.CommandPath(), c.Example)
		}
		for _, child := range c.Commands() {
			look(child)
		}
	}
	look(Root())
	code, stdout, stderr := call("", "plan", "--help")
	if code != 0 || stderr != "" || !strings.Contains(stdout, "\nUsage:\n  kubectl daemonplan plan [SET] [flags]\n") {
		t.Errorf("--help: exit code %d, standard output %q, standard error %q", code, stdout, stderr)
	}
	for _, flag := range []string{
		"-f, --filename FILE", "--example FLEET", "-n, --namespace string", "--resize ", "--cgroup-v1 ", "--pre-download ",
		"--memory FILE", "--controller CONTROLLER",
		"-o, --output FORMAT", "--change FILE", "--case FILE", "--context string", "--kubeconfig string", "-A, --all-namespaces",
	} {
		if !strings.Contains(stdout, "  "+flag) {
			t.Errorf("--help does not tell of %s:\n%s", flag, stdout)
		}
	}
}

// The version is that of the module, which a test binary does not have. internal/release sees that of a release.
func TestVersion(t *testing.T) {
	if code, stdout, stderr := call("", "--version"); code != 0 || stdout != "kubectl-daemonplan devel\n" || stderr != "" {
		t.Errorf("exit code %d, %q, %q", code, stdout, stderr)
	}
}

func TestVersionOfACommit(t *testing.T) {
	setting := func(key, value string) debug.BuildSetting { return debug.BuildSetting{Key: key, Value: value} }
	for want, info := range map[string]*debug.BuildInfo{
		"devel":  {},
		"v0.1.0": {Main: debug.Module{Version: "v0.1.0"}, Settings: []debug.BuildSetting{setting("-trimpath", "true")}},
		"v0.1.0 (commit 0123456789ab)": {
			Main:     debug.Module{Version: "v0.1.0"},
			Settings: []debug.BuildSetting{setting("vcs.revision", "0123456789abcdef"), setting("vcs.modified", "false")},
		},
		"devel (commit 0123, with changes)": {
			Main: debug.Module{Version: "(devel)"}, Settings: []debug.BuildSetting{setting("vcs.revision", "0123"), setting("vcs.modified", "true")},
		},
	} {
		if got := versionOf(info); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestDumpsOfAnOlderCluster plans what a Kubernetes v1.36 has stored: its revisions have the hashes that version gave them,
// which a newer API gives to no template. Each plan is the one that was made with the API of that version, so that an upgrade of
// the library, or of the cluster, restarts nothing (R1, R2).
func TestDumpsOfAnOlderCluster(t *testing.T) {
	for _, name := range []string{"kubernetes", "kruise", "eds"} {
		t.Run(name, func(t *testing.T) {
			want, err := os.ReadFile("testdata/v1.36/" + name + ".txt") // which -update does not write anew
			if err != nil {
				t.Fatal(err)
			}
			got := ours(t, "", "-f", "testdata/v1.36/"+name+".yaml", "-o", "wide", "--now", "2026-03-02T09:15:00Z")
			_, got, _ = strings.Cut(got, "\n") // the first line says whose plan it is
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("-then +now:\n%s", diff)
			}
		})
	}
}
