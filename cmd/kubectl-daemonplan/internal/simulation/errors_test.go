package simulation

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/exit"
)

// The error for a mistake names what would be right.
func TestArguments(t *testing.T) {
	for _, tt := range []struct {
		name, why string
		args      string
		want      []string
	}{
		{"no such command", "a slip of the pen", "rnu", []string{`no command "rnu"`, "simulate, forecast, suggest, merge, study"}},
		{"no such flag", "cobra names it", "simulate --node 3", []string{"unknown flag: --node"}},
		{"no fleet", "all ways to give one are named", "simulate --spec testdata/v2.yaml",
			[]string{"there is no fleet", "--nodes N", "--fleet FILE", "--dump FILE"}},
		{"two fleets", "one of them would be ignored", "simulate --nodes 3 --dump x.json --spec testdata/v2.yaml",
			[]string{"--dump and --nodes are given together"}},
		{"no spec", "there is nothing to roll out", "simulate --nodes 3", []string{"there is no spec", "--spec FILE"}},
		{"everything at once", "whoever has made three mistakes wants to know all three",
			"simulate --zones a --seeds 0 --until -1s", []string{"no fleet", "--zones is for --nodes", "--seeds 0", "--until -1s", "such as 2h"}},
		{"bare argument", "a file without its flag", "simulate testdata/v2.yaml", []string{`unexpected argument "testdata/v2.yaml"`, "--spec"}},
		{"no node", "0 of them", "simulate --nodes -1 --spec testdata/v2.yaml", []string{"--nodes -1", "1 to 200000 nodes"}},
		{"too many nodes", "more than fit into memory", "simulate --nodes 999999999 --spec testdata/v2.yaml", []string{"1 to 200000 nodes"}},
		{"empty zone", "a comma too many", "simulate --nodes 3 --zones a,,b --spec testdata/v2.yaml", []string{"--zones a,,b", "such as a,b,c"}},
		{"scale", "it is a share", "simulate --nodes 3 --scale 10 --spec testdata/v2.yaml", []string{"--scale 10", "such as 0.1"}},
		{"scale not a number", "NaN is neither below nor above", "simulate --nodes 3 --scale NaN --spec testdata/v2.yaml", []string{"--scale NaN"}},
		{"from with a dump", "pods are in the dump", "simulate --dump ../cli/fleet.yaml --from testdata/v1.yaml", []string{"--from is for generated nodes"}},
		{"missing file", "named without a system call", "simulate --nodes 3 --spec nothing.yaml", []string{"nothing.yaml: no such file or directory"}},
		{"directory", "no manifest", "simulate --nodes 3 --spec testdata", []string{"testdata: is a directory"}},
		{"twice the same label", "a column would be ambiguous", "simulate --nodes 3 --spec testdata/v2.yaml --spec testdata/v2.yaml",
			[]string{"v2 is there twice", "--spec LABEL=testdata/v2.yaml"}},
		{"history of an unknown format", "the name says the format", "simulate --nodes 3 --spec testdata/v2.yaml --history x.txt",
			[]string{"--history x.txt", ".jsonl or .csv"}},
		{"history without an extension", "the name says the format", "simulate --nodes 3 --spec testdata/v2.yaml --history x",
			[]string{"--history x", ".jsonl or .csv"}},
		{"history nowhere", "the directory is missing", "simulate --nodes 3 --spec testdata/v2.yaml --history no/such/dir.csv",
			[]string{"no/such/dir.csv: no such file"}},
		{"no set of that name", "those that there are, are named", "simulate --nodes 3 --spec testdata/v2.yaml --name other",
			[]string{"no set is called other", "agent"}},
		{"no set of that name in the dump", "those that there are, are named", "simulate --dump ../cli/fleet.yaml --name other",
			[]string{"no set is called other", "node-agent"}},
		{"knob", "there are three", "suggest --nodes 3 --spec testdata/v2.yaml --knob partition --deadline 1m",
			[]string{"--knob partition", "maxUnavailable, maxSurge, slowStart"}},
		{"knob of another controller", "nothing would turn",
			"suggest --nodes 3 --from testdata/v1.yaml --spec testdata/v2.yaml --world testdata/world.yaml --knob slowStart --deadline 1m",
			[]string{"--knob slowStart: the controller that runs the set (kubernetes) does not have it"}},
		{"deadline", "it must be given", "suggest --nodes 3 --spec testdata/v2.yaml", []string{"--deadline 0s", "such as 30m"}},
		{"suggest for two", "one answer is wanted", "suggest --nodes 3 --spec testdata/v2.yaml --spec testdata/v2-surge.yaml --deadline 1m",
			[]string{"--spec is there 2 times"}},
		{"until with a deadline", "they would contradict each other", "suggest --nodes 3 --spec testdata/v2.yaml --deadline 1m --until 1h",
			[]string{"--until 1h00m"}},
		{"number", "no word of Go is in the message", "simulate --nodes x --spec testdata/v2.yaml", []string{"error: --nodes x: must be a whole number such as 12\n"}},
		{"huge number", "the same", "simulate --nodes 99999999999999999999 --spec testdata/v2.yaml", []string{"error: --nodes 99999999999999999999: must be a whole number"}},
		{"negative seed", "seeds are from 0 on", "simulate --nodes 3 --seed -1 --spec testdata/v2.yaml", []string{"error: --seed -1: must be a whole number such as 12, not negative\n"}},
		{"duration", "it has a unit", "simulate --nodes 3 --until 5 --spec testdata/v2.yaml", []string{"error: --until 5: must be a duration such as 90s, 30m or 2h\n"}},
		{"flag without a value", "with what belongs there", "forecast --dump", []string{"error: --dump needs a value: --dump FILE\n"}},
		{"label without a file", "the file is missing", "simulate --nodes 3 --spec new=", []string{"error: --spec new=: there is no file; it is FILE or LABEL=FILE\n"}},
		{"format", "there is one", "forecast --nodes 3 --spec testdata/v2.yaml -o yaml", []string{"error: --output yaml: must be json, prometheus or jsonpath=TEMPLATE\n"}},
		{"gate of no such name", "all names are told", "simulate --nodes 3 --spec testdata/v2.yaml --fail-if speed>1", []string{"there is no speed", "peak, down, duration, p50, p90, stuck, left, violations"}},
		{"gate without a value", "with what it is compared with", "simulate --nodes 3 --spec testdata/v2.yaml --fail-if peak", []string{`--fail-if "peak"`, "such as 5 or 5%", "peak>VALUE"}},
		{"gates that are malformed", "all are told, and what is right", "forecast --nodes 3 --spec testdata/v2.yaml --fail-if = --fail-if peak>NaN% --fail-if p90>5 --fail-if stuck>5% --fail-if peak>101% --fail-if peak>-1",
			[]string{`"=": it is a name, one of`, "not with NaN%", "p90 is compared with a duration, such as 30m", "not with 5%", "not with 101%", "not with -1"}},
		{"empty standard input", "it has a name in messages", "simulate --nodes 3 --spec testdata/v2.yaml --world -", []string{"error: standard input: the file is empty"}},
		{"suggest with everything wrong", "all mistakes at once", "suggest --knob x --deadline -1s --until 1h --seeds 0 -o x",
			[]string{"--knob x", "--deadline -1s", "--until 1h00m", "--seeds 0", "no fleet", "--output x"}},
		{"no such study", "those that there are, are named", "study nothing", []string{"no study nothing", "slow-registry"}},
		{"a study that is a path", "it is a name", "study ../studies", []string{"no study ../studies"}},
		{"two studies", "one at a time", "study slow-registry bad-version", []string{"one study at a time"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.why == "" {
				t.Error("a row must say why it is there")
			}
			refused(t, strings.Fields(tt.args), tt.want)
		})
	}
}

// Files from an unknown source do no harm.
func TestHostileFiles(t *testing.T) {
	const pool = "pools: [{name: web, nodes: 3}]"
	manifest, err := os.ReadFile(newManifest)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, why string
		flag      string
		text      string
		want      []string
	}{
		{"empty fleet", "nothing is in it", "--fleet", "", []string{"the file is empty", "now, pools"}},
		{"fleet without pools", "nothing is in them", "--fleet", "pools: []", []string{"pools: there must be one at least"}},
		{"fleet of no node", "there is nothing to simulate", "--fleet", "pools: [{name: a, nodes: 0}]", []string{"there is no node"}},
		{"fleet that overflows", "the sum of two would be negative", "--fleet",
			"pools: [{name: a, nodes: 9223372036854775807}, {name: b, nodes: 2}]", []string{"1 to 200000 nodes"}},
		{"unknown field", "what there is, is named", "--fleet", "pools: [{name: a, node: 3}]",
			[]string{"pools[0].node", "no such field", "nodes"}},
		{"several mistakes", "all are told", "--fleet", "pools: [{name: 3, nodes: x, zones: a}]",
			[]string{"pools[0].name: 3 is no text", `pools[0].nodes: "x" is no whole number`, `pools[0].zones: "a" is no list such as [a, b]`}},
		{"the same key twice", "which one counts?", "--fleet", "pools: []\npools: []", []string{"already set"}},
		{"binary", "no text at all", "--fleet", "\x00\x01\xff\xfe", []string{"fleet.yaml: line 1: byte 2 of the file is 0xff, which is not UTF-8; the file must be text in UTF-8"}},
		{"a scalar", "no table", "--fleet", "hello", []string{`"hello" is no table`, "pools"}},
		{"deeply nested", "no stack may overflow", "--fleet", strings.Repeat("[", 50_000), []string{"fleet.yaml"}},
		{"deep and well formed", "the same", "--fleet", "pools: " + strings.Repeat("[", 9_000) + strings.Repeat("]", 9_000), []string{"fleet.yaml"}},
		{"a bomb of aliases", "it would unfold to gigabytes", "--fleet", bomb(), []string{"fleet.yaml"}},
		{"duration", "a number has no unit", "--world", "events: [{at: 5, what: EvictPod}]", []string{"events[0].at", "such as 90s"}},
		{"negative duration", "before the beginning", "--world", "events: [{at: -5m, what: EvictPod}]", []string{"events[0].at"}},
		{"what", "all that can happen is named", "--world", "events: [{at: 5m, what: Explode}]",
			[]string{`"Explode" is none of`, "EvictPod", "NodeNotReady"}},
		{"share", "more than all", "--world", "model: {stubbornHooks: 150%}", []string{"stubbornHooks"}},
		{"distribution", "no such one", "--world", "model: {schedule: sometimes}", []string{"model.schedule", "sometimes"}},
		{"spec of an event", "a manifest that is not there", "--world", "events: [{at: 5m, what: SetSpec, spec: gone.yaml}]",
			[]string{"events[0].spec", "gone.yaml"}},
		{"no set in the manifest", "another kind", "--spec", "apiVersion: v1\nkind: Pod\nmetadata: {name: a}",
			[]string{"there is no DaemonSet"}},
		{"two sets in the manifest", "one is to be chosen", "--spec",
			string(manifest) + "---\n" + strings.Replace(string(manifest), "name: agent", "name: other", 1), []string{"--name", "monitoring/agent, monitoring/other"}},
		{"a mistake in the manifest", "with the path of the manifest", "--spec",
			strings.Replace(string(manifest), "25%", "a lot", 1), []string{"spec.updateStrategy.rollingUpdate.maxUnavailable"}},
		{"world of nothing", "what may be in it is named", "--world", "", []string{"world.yaml: the file is empty", "model, controller, events"}},
		{"world in UTF-16", "an editor of Windows wrote it", "--world", "\xff\xfem\x00", []string{"world.yaml: the text is UTF-16; it must be UTF-8"}},
		{"bytes that are no UTF-8", "with their place", "--world", "model: {}\n# \xff", []string{"world.yaml: line 2: byte 12 of the file is 0xff, which is not UTF-8"}},
		{"template", "a chart that was not rendered", "--world", "model:\n  hooks: {{ .Values.hooks }}", []string{`world.yaml: line 2: "{{" begins no YAML`, "helm template CHART > rendered.yaml"}},
		{"NaN of YAML", "no JSON can hold it", "--world", "model:\n  stubbornHooks: .nan", []string{"world.yaml: line 2: .nan is no number", "3%"}},
		{"infinity of YAML", "the same", "--world", "model: {registry: {requests: -.inf}}", []string{"world.yaml: line 1: .inf is no number"}},
		{"NaN of Go", "neither above 0 nor below 1", "--world", "model: {stubbornHooks: NaN}", []string{"world.yaml: model.stubbornHooks", "NaN", "between 0 and 1"}},
		{"tab", "YAML has none", "--world", "model:\n\thooks: 1s", []string{"world.yaml: line 2", "a tab may be one"}},
		{"two documents", "the second one would be ignored", "--world", "model: {}\n---\nmodel: {hooks: 1s}", []string{"world.yaml: there are 2 documents", "model, controller, events"}},
		{"a manifest for a world", "the wrong kind of file", "--world", "apiVersion: v1\nkind: Pod", []string{"world.yaml: kind: there is no such field; there are: model, controller, events"}},
		{"negative time", "a pod is not ready before it starts", "--world", "model: {kubelets: [{ready: -5s}]}", []string{"model.kubelets[0].ready", "must not be negative"}},
		{"range upside down", "with what was meant", "--world", "model: {kubelets: [{ready: 5s..2s}]}", []string{"model.kubelets[0].ready", "2s..5s"}},
		{"centuries", "no such time passes", "--world", "model: {kubelets: [{ready: 999999h}]}", []string{"model.kubelets[0].ready", "ten years"}},
		{"unknown key deep down", "the neighbours are named", "--world", "model: {kubelets: [{raedy: 5s}]}", []string{"model.kubelets[0].raedy", "ready"}},
		{"a table for a list", "a dash is missing", "--world", "model: {kubelets: {ready: 5s}}", []string{`model.kubelets: {"ready":"5s"} is no list`}},
		{"pool that is not there", "those that there are, are named", "--world", "model: {kubelets: [{pool: wbe, ready: 1s}]}", []string{"model.kubelets[0].pool", `"wbe"`, `"web"`}},
		{"negative bandwidth", "nothing flows backwards", "--world", "model: {registry: {bandwidth: -5M}}", []string{"model.registry.bandwidth", "must not be negative"}},
		{"a number beyond 64 bits", "it would overflow", "--world", "model: {registry: {bandwidth: 1e30}}", []string{"model.registry.bandwidth", "800M or 1Gi"}},
		{"a number that is hard to read", "it would take gigabytes", "--world", "model: {registry: {bandwidth: '1e-999999999'}}", []string{"model.registry.bandwidth", "is no whole number such as 12, 800M or 1Gi"}},
		{"interval without a unit", "seconds? minutes?", "--world", "controller: {interval: 5}", []string{"controller.interval: 5 is no duration such as 90s"}},
		{"negative interval", "before the last plan", "--world", "controller: {interval: -5s}", []string{"controller.interval", "must not be negative"}},
		{"event of no kind", "what happens?", "--world", "events: [{at: 5m}]", []string{"events[0].what: Required value"}},
		{"event on fewer than no nodes", "it is a count", "--world", "events: [{at: 5m, what: EvictPod, count: -1}]", []string{"events[0].count", "must not be negative"}},
		{"event that cannot be undone", "the field would be ignored", "--world", "events: [{at: 5m, what: EvictPod, for: 5m}]", []string{"events[0].for", "EvictPod does not end by itself"}},
		{"event again and again at once", "it would never end", "--world", "events: [{at: 0s, every: 0s, what: EvictPod}]", []string{"events[0].every", "at least 1ms"}},
		{"taint of no effect", "those that there are, are named", "--world", "events: [{at: 5m, what: TaintNode, taint: {key: a, effect: Nope}}]", []string{"events[0].taint.effect", "NoExecute"}},
		{"more nodes than fit", "a slip of the pen", "--world", "events: [{at: 5m, what: AddNodes, join: {name: more, nodes: 99999999}}]", []string{"events[0].join.nodes", "at most 1000000"}},
		{"two pools of one name", "their nodes would have the same names", "--fleet", "pools: [{name: a, nodes: 3}, {name: a, nodes: 3}]", []string{"fleet.yaml: pools[1].name: Duplicate value"}},
		{"pool without a name", "its nodes would have none", "--fleet", "pools: [{nodes: 3}]", []string{"fleet.yaml: pools[0].name: Required value"}},
		{"half a node", "they are whole", "--fleet", "pools: [{name: a, nodes: 1.5}]", []string{"pools[0].nodes: 1.5 is no whole number"}},
		{"label that is a number", "YAML and Kubernetes differ", "--fleet", "pools: [{name: a, nodes: 3, labels: {a: 1}}]", []string{"pools[0].labels[a]: 1 is no text; put it in quotes"}},
		{"unknown key of a taint", "with its name", "--fleet", "pools: [{name: a, nodes: 3, taints: [{key: a, effct: x}]}]", []string{"pools[0].taints", "effct"}},
		{"amount", "with the resource, and without a regular expression", "--fleet", "pools: [{name: a, nodes: 3, allocatable: {cpu: much}}]", []string{`pools[0].allocatable[cpu]: "much" is no amount such as 500m`}},
		{"amount that is hard to read", "it would take gigabytes", "--fleet", "pools: [{name: a, nodes: 3, allocatable: {cpu: '1e-999999999'}}]", []string{"pools[0].allocatable[cpu]", "is no amount"}},
		{"time", "with one that is right", "--fleet", "now: yesterday\npools: [{name: a, nodes: 3}]", []string{`now: "yesterday" is no time such as 2026-03-02T09:15:00Z`}},
		{"manifest of nothing", "what is to be in it is told", "--spec", "# nothing\n", []string{"spec.yaml: there is no set in it; a set is a DaemonSet"}},
		{"manifest that is a template", "a chart that was not rendered", "--spec", "{{- if .Values.x }}\napiVersion: apps/v1", []string{`spec.yaml: line 1: "{{" begins no YAML`, "helm template CHART > rendered.yaml"}},
		{"manifest of another kind", "what is there is named", "--spec", "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: x}", []string{"spec.yaml: there is no DaemonSet", "it has: apps/v1 Deployment 1"}},
		{"manifest of an old API", "with what to do", "--spec", "apiVersion: extensions/v1beta1\nkind: DaemonSet\nmetadata: {name: x}",
			[]string{"spec.yaml: document 1 (DaemonSet x): apiVersion: no API server takes extensions/v1beta1 any more", "convert it to apps/v1: set apiVersion"}},
		{"manifest without a selector", "each mistake is a line", "--spec", "apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: x}",
			[]string{"error: ", "spec.yaml: document 1 (DaemonSet default/x): spec.selector: Required value", "\nerror: ", "spec.yaml: document 1 (DaemonSet default/x): spec.template.spec.containers"}},
		{"mistake in the second document", "with document, kind and name", "--spec", "apiVersion: v1\nkind: ConfigMap\n---\napiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: x, namespace: ns}\nspec: {minReadySeconds: soon}",
			[]string{"spec.yaml: document 2 (DaemonSet ns/x): spec.minReadySeconds", `"soon"`}},
		{"dump that is no object", "with the place, once", "--dump", "hello", []string{"dump.yaml: document 1: must be an object with apiVersion and kind"}},
		{"dump cut off", "the disk was full", "--dump", `{"kind":"List","apiVersion":"v1","items":[`, []string{"dump.yaml: document 1: line 1: the text ends too early"}},
		{"broken pod in a dump", "with item, kind and name", "--dump", `{"kind":"List","apiVersion":"v1","items":[{"kind":"Node","apiVersion":"v1","metadata":{"name":"a"}},` +
			`{"kind":"Pod","apiVersion":"v1","metadata":{"name":"pod-1","namespace":"x"},"spec":{"nodeName":7}}]}`,
			[]string{"dump.yaml: document 1, item 2 (Pod x/pod-1): spec.nodeName: Invalid value: 7: must be a string"}},
		{"node twice in a dump", "which one counts?", "--dump", "apiVersion: v1\nkind: Node\nmetadata: {name: a}\n---\napiVersion: v1\nkind: Node\nmetadata: {name: a}",
			[]string{"dump.yaml: document 2 (Node a): metadata.name: Duplicate value: Node a was there before, in", "dump.yaml: document 1"}},
		{"pod without uid in a dump", "deletes need it", "--dump", "apiVersion: v1\nkind: Node\nmetadata: {name: a}\n---\napiVersion: v1\nkind: Pod\n" +
			"metadata: {name: p, namespace: monitoring, labels: {app: agent}}\nspec: {nodeName: a}",
			[]string{"dump.yaml: document 2 (Pod monitoring/p): metadata.uid: Required value"}},
		{"dump cut off after braces", "they are in a string, and it is no template", "--dump", `{"kind":"List","apiVersion":"v1","items":[{"a":"{{ x }}",`,
			[]string{"dump.yaml: document 1, item 1: line 1: the text ends too early"}},
		{"set twice in the manifest", "no name could tell them apart", "--spec", string(manifest) + "---\n" + string(manifest),
			[]string{"spec.yaml: document 2 (DaemonSet monitoring/agent): metadata.name: Duplicate value", "spec.yaml: document 1"}},
		{"no budget in the manifest", "advises what the kind has", "--spec", strings.Replace(string(manifest), "25%", "0", 1),
			[]string{"spec.updateStrategy.rollingUpdate.maxUnavailable", "updateStrategy.type: OnDelete stops a rollout"}},
		{"manifest in gzip", "somebody has packed it", "--spec", "\x1f\x8b\x08", []string{"spec.yaml: the data is compressed with gzip"}},
		{"old API in a dump", "with what to do", "--dump", "apiVersion: v1\nkind: Node\nmetadata: {name: a}\n---\napiVersion: extensions/v1beta1\nkind: DaemonSet\nmetadata: {name: x}",
			[]string{"dump.yaml: document 2 (DaemonSet x): apiVersion", "convert it to apps/v1"}},
		{"no node in the dump", "what to dump is told", "--dump", "apiVersion: v1\nkind: List\nitems: []",
			[]string{"there is no node", "kubectl get nodes"}},
		{"broken dump", "with its place", "--dump", "apiVersion: v1\nkind: Node\nmetadata: {name: [a]}", []string{"metadata.name"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.why == "" {
				t.Error("a row must say why it is there")
			}
			file := write(t, strings.TrimPrefix(tt.flag, "--")+".yaml", tt.text)
			args := []string{"simulate", tt.flag, file}
			if tt.flag != "--spec" {
				args = append(args, "--spec", newManifest)
			}
			if tt.flag != "--fleet" && tt.flag != "--dump" {
				args = append(args, "--fleet", write(t, "pool.yaml", pool))
			}
			refused(t, args, tt.want)
		})
	}
}

// refused runs the program with arguments that it must refuse. It must then print nothing on standard output, and write no
// report.
func refused(t *testing.T, args, want []string) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "out")
	if args[0] == "simulate" {
		args = append(args, "--out", out)
	}
	code, stdout, stderr := call(2, false, args...)
	if code != exit.Failed || stdout != "" {
		t.Errorf("exit code %d, standard output %q", code, stdout)
	}
	for _, want := range want {
		if !strings.Contains(stderr, want) {
			t.Errorf("standard error lacks %q:\n%s", want, stderr)
		}
	}
	for _, word := range []string{"strconv", "json:", "map[interface", "cannot unmarshal", "goroutine"} {
		if strings.Contains(stderr, word) {
			t.Errorf("standard error has the word %q of Go:\n%s", word, stderr)
		}
	}
	for line := range strings.Lines(strings.TrimPrefix(stderr, notes(stderr))) {
		if !strings.HasPrefix(line, "error: ") {
			t.Errorf("a line of standard error is no error: %q", line)
		}
	}
	if len(stderr) > 4000 {
		t.Errorf("standard error has %d bytes", len(stderr))
	}
	if _, err := os.Stat(filepath.Join(out, "report.html")); err == nil {
		t.Error("there is a report all the same")
	}
}

// bomb is a small document whose aliases expand to a huge one.
func bomb() string {
	var b strings.Builder
	b.WriteString("a0: &a0 [" + strings.Repeat("y, ", 9) + "y]\n")
	for i := 1; i < 10; i++ {
		prev := string(rune('0' + i - 1))
		b.WriteString("a" + string(rune('0'+i)) + ": &a" + string(rune('0'+i)) + " [" + strings.Repeat("*a"+prev+", ", 9) + "*a" + prev + "]\n")
	}
	return b.String()
}

// notes are the lines before the first error.
func notes(stderr string) string {
	before, _, _ := strings.Cut("\n"+stderr, "\nerror: ")
	if before == "" {
		return ""
	}
	return strings.TrimPrefix(before, "\n") + "\n"
}
