package cli

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/plan"
	"github.com/daemonplan/daemonplan/rollout/command"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/daemonplan/daemonplan/internal/harness"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
)

func TestEDSGolden(t *testing.T) {
	for name, args := range map[string][]string{
		"eds-table.txt": nil,
		"eds-wide.txt":  {"-o", "wide"},
		"eds-plan.json": {"-o", "json"},
		"eds-plan.yaml": {"-o", "yaml"},
		"eds-diff.txt":  {"diff"},
	} {
		t.Run(name, func(t *testing.T) { golden(t, name, plans(t, "", append(args, "--example", "eds")...)) })
	}
	var explained strings.Builder
	for _, node := range []string{"kind-control-plane", "kind-worker", "kind-worker2"} {
		explained.WriteString(plans(t, "", "explain", "--example", "eds", node))
	}
	golden(t, "eds-explain.txt", explained.String())
}

// TestCommandsGolden runs every command on each embedded fleet.
func TestCommandsGolden(t *testing.T) {
	for example, name := range map[string]string{
		exampleKubernetes: "commands.txt", exampleKruise: "kruise-commands.txt", exampleEDS: "eds-commands.txt",
	} {
		var out strings.Builder
		for _, words := range words() {
			out.WriteString("$ kubectl daemonplan " + words + " --example " + example + "\n")
			_, stdout, stderr := call("", append(strings.Fields(words), "--example", example)...)
			out.WriteString(stdout + stderr + "\n")
		}
		golden(t, name, out.String())
	}
}

func TestEDSJSONAgreesWithYAML(t *testing.T) {
	var a, b plan.Document
	if err := json.Unmarshal([]byte(plans(t, "", "--example", "eds", "-o", "json")), &a); err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict([]byte(plans(t, "", "--example", "eds", "-o", "yaml")), &b); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(a, b, cmp.AllowUnexported(plan.Revision{})); diff != "" {
		t.Error(diff)
	}
	if c := a.Canary; c == nil || c.Phase != "Running" || len(c.Nodes) != 1 || c.Nodes[0] != "kind-control-plane" || c.Wanted != 1 || c.Until == "" {
		t.Errorf("canary %+v", c)
	}
}

// words are all commands that show or change one set.
func words() []string {
	list := []string{"get", "revisions", "pods", "diff", "rollout status", "canary pods"}
	for _, c := range command.All() {
		if c >= command.Pause {
			list = append(list, "rollout "+c.String())
		} else {
			list = append(list, c.String())
		}
	}
	return list
}

// TestSpellings checks that the names of the kubectl plugin of ExtendedDaemonSet do the same as the names here.
func TestSpellings(t *testing.T) {
	for _, c := range []struct{ name, why, theirs, ours string }{
		{"get-ers", "there are no replica sets here", "get-ers", "revisions"},
		{"pause", "a long name", "rollout pause-rolling-update", "rollout pause"},
		{"freeze", "a long name", "rollout freeze-rollout", "rollout freeze"},
		{"name of the set", "it comes first there", "get foo", "get"},
		{"name after two words", "the same", "canary pause foo", "canary pause"},
		{"kind", "as kubectl has it", "get eds/foo", "get"},
		{"kind in the plural, with its group", "the same", "get extendeddaemonsets.datadoghq.com/foo", "get"},
		{"namespace", "with -n", "canary pods foo -n default", "canary pods"},
		{"all namespaces", "with -A", "canary pods foo -A", "canary pods"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.name == "" || c.why == "" {
				t.Fatal("a row needs a name and a reason")
			}
			theirs := plans(t, "", append(strings.Fields(c.theirs), "--example", "eds")...)
			if ours := plans(t, "", append(strings.Fields(c.ours), "--example", "eds")...); theirs != ours {
				t.Errorf("%s: %s prints\n%s\n%s prints\n%s", c.why, c.theirs, theirs, c.ours, ours)
			}
		})
	}
}

func TestBadCommands(t *testing.T) {
	memory := files(t, map[string]string{"text.json": "hello", "old.json": `{"memory": {"version": 99}}`, "empty.json": "{}",
		"typed.json": `{"memory": {"version": "x"}}`})
	for _, c := range []struct {
		name, why, stdin string
		args             []string
		want             string
	}{
		{"unknown", "lists what there is", "", []string{"kill"}, `there is no command "kill"; there are: canary, diff, explain, `},
		{"unknown below", "the same", "", []string{"canary", "kill"}, `there is no command "canary kill"; there are: `},
		{"half", "the same", "", []string{"canary"}, "canary is followed by one of: fail, pause, pods, retry, unpause, validate"},
		{"half with a flag", "the command below is missing, not the flag", "", []string{"canary", "foo", "-n", "default"},
			"canary is followed by one of: fail, pause, pods, retry, unpause, validate"},
		{"half with a flag of those below", "the same", "", []string{"rollout", "--example", "eds"},
			"rollout is followed by one of: freeze, pause, status, unfreeze, unpause"},
		{"flag below", "names the command", "", []string{"canary", "pods", "--nope"},
			"unknown flag: --nope; see kubectl daemonplan canary pods --help"},
		{"no set there", "names the namespace", "", []string{"get", "-n", "none", "--example", "eds"},
			"there is no set in namespace none; there are: extendeddaemonset.datadoghq.com/foo (-n default)"},
		{"two sets", "one of them would be ignored", "", []string{"get", "foo", "bar"}, `unexpected argument "bar": there is one SET; files are given with -f`},
		{"another set", "there is no such one", "", []string{"get", "bar", "--example", "eds"}, "there is no set bar; there are: extendeddaemonset.datadoghq.com/foo (-n default)"},
		{"format", "the output is text", "", []string{"get", "-o", "json"}, `unknown shorthand flag: 'o' in -o; see kubectl daemonplan get --help`},
		{"canary of another kind", "it has none", "", []string{"canary", "pause"},
			"fleet.yaml: document 1, item 124 (DaemonSet observability/node-agent): canary pause: daemonsets.apps takes no commands; "},
		{"pods without a canary", "there are none", "", []string{"canary", "pods", "--example", "kruise"}, "canary pods: no revision is on trial"},
		{"freeze of OpenKruise", "it cannot", "", []string{"rollout", "freeze", "--example", "kruise"}, "daemonsets.apps.kruise.io takes pause and unpause only"},
		{"retry of what runs", "nothing to retry", "", []string{"canary", "retry", "--example", "eds"}, "has not failed"},
		{"no memory", "names the file", "", []string{"--memory", memory + "/none.json"}, memory + "/none.json: no such file or directory"},
		{"memory of no name", "usage", "", []string{"--memory", ""}, `--memory must not be empty`},
		{"memory that is none", "names the file", "", []string{"--memory", memory + "/text.json"}, memory + "/text.json: invalid character"},
		{"memory of another version", "it would be taken for lost", "", []string{"--memory", memory + "/old.json"},
			"/old.json: there is no memory of version 1 in it; it is what plan -o json printed"},
		{"memory of nothing", "the same", "", []string{"--memory", memory + "/empty.json"}, "/empty.json: there is no memory of version 1 in it"},
		{"memory of the wrong type", "names the field", "", []string{"--memory", memory + "/typed.json"}, "/typed.json: json: cannot unmarshal string into Go struct field Memory.version"},
		{"invalid set", "with the paths of its manifest", join(smallNode, "apiVersion: datadoghq.com/v1alpha1\nkind: ExtendedDaemonSet\nmetadata: {name: foo}\n"+
			"spec: {strategy: {canary: {replicas: 0}}, template: {spec: {containers: [{name: a, image: b}]}}}\n"), []string{"get", "-f", "-"},
			"standard input: document 2 (ExtendedDaemonSet default/foo): spec.strategy.canary.replicas: Invalid value: "},
		{"no such version", "names what is supported", "apiVersion: datadoghq.com/v2\nkind: ExtendedDaemonSet\nmetadata: {name: foo}\n", []string{"-f", "-"},
			`standard input: document 1 (ExtendedDaemonSet foo): apiVersion: Unsupported value: "datadoghq.com/v2"`},
		{"setting twice", "names both places", join(smallNode, smallSetting("a", "foo"), smallSetting("a", "foo")), []string{"-f", "-"},
			"standard input: document 3 (ExtendedDaemonsetSetting a): metadata.name: Duplicate value: ExtendedDaemonsetSetting default/a was there before, in standard input: document 2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.name == "" || c.why == "" {
				t.Fatal("a row needs a name and a reason")
			}
			code, stdout, stderr := call(c.stdin, c.args...)
			if code != 2 || stdout != "" || !strings.HasPrefix(stderr, "error: ") || !strings.Contains(stderr, c.want) {
				t.Errorf("exit code %d, standard output %q\ngot  %swant %s (%s)", code, stdout, stderr, c.want, c.why)
			}
		})
	}
}

// TestDemoCommands gives commands during the demo, applies the patches that the program prints, and checks their effect.
func TestDemoCommands(t *testing.T) {
	d := newDemo(t)
	var out strings.Builder
	give := func(comment string, words ...string) {
		t.Helper()
		d.console(&out, comment, words...)
		line, _, _ := strings.Cut(d.show(words...), "\n")
		d.patch(line)
	}
	look := func(comment string, words ...string) { d.console(&out, comment, words...) }

	d.until(demoApplied)
	d.apply("foo-v2.yaml")
	d.until(demoCanary)
	give("The canary is paused by hand.", "canary", "pause")
	d.until(3 * time.Minute)
	look("", "get")
	give("Somebody gives it up.", "canary", "fail")
	d.until(4 * time.Minute)
	look("", "get")
	look("", "revisions")
	give("That was a mistake.", "canary", "retry")
	d.until(5 * time.Minute)
	look("The pause was for this revision, and is still there.", "get")
	look("", "canary", "pods")
	give("", "canary", "unpause")
	d.until(6 * time.Minute)
	look("", "get")
	give("Somebody validates it. The rest follows at the pace of slow start.", "canary", "validate")
	d.until(6*time.Minute + 10*time.Second)
	look("", "get")
	give("", "rollout", "pause")
	d.until(10 * time.Minute)
	look("", "get")
	give("", "rollout", "unpause")
	d.until(15 * time.Minute)
	look("", "get")
	d.apply("foo-v1.yaml")
	d.until(20 * time.Minute)
	look("The old image was promoted before, so it needs no canary.", "get")
	golden(t, "demo-commands.txt", out.String())
}

// TestDemoCrashes runs the demo with a next image that crashes.
func TestDemoCrashes(t *testing.T) {
	d := newDemo(t)
	var out strings.Builder
	d.until(demoApplied)
	d.apply("foo-v2.yaml")
	d.SetBehavior(harness.Behavior{Crashing: []string{rollouttest.Hash(d.Spec())}})
	d.until(3 * time.Minute)
	d.console(&out, "The container ends as soon as it has started.", "get")
	d.console(&out, "", "canary", "pods")
	d.until(20 * time.Minute)
	d.console(&out, "After more than five restarts it is given up, as autoFail says.", "get")
	d.console(&out, "", "revisions")
	d.console(&out, "")
	golden(t, "demo-crashes.txt", out.String())
}

// TestForecast compares what a command prints about the next plan with that plan.
func TestForecast(t *testing.T) {
	for _, words := range []string{"canary validate", "canary pause", "canary unpause", "canary fail", "rollout pause", "rollout freeze"} {
		d := newDemo(t)
		d.until(demoApplied)
		d.apply("foo-v2.yaml")
		d.until(demoCanary)
		said := d.show(strings.Fields(words)...)
		line, _, _ := strings.Cut(said, "\n")
		_, forecast, _ := strings.Cut(said, "The next plan then:\n")
		d.patch(line)
		plan := d.show()
		actions := plan[strings.Index(plan, "\n\n")+2:]
		for line := range strings.Lines(forecast) {
			if !strings.Contains(actions, line) {
				t.Errorf("%s: the forecast says %q, the plan says\n%s", words, line, plan)
			}
		}
		if len(forecast) < 40 {
			t.Errorf("%s: no forecast in\n%s", words, said)
		}
	}
}
