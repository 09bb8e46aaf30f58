package simulation

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The error for a mistake names what would be right.
func TestArguments(t *testing.T) {
	for _, tt := range []struct {
		name, why string
		args      string
		want      []string
	}{
		{"no such command", "a slip of the pen", "rnu", []string{`no command "rnu"`, "simulate, forecast, suggest, study"}},
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
		{"from with a dump", "pods are in the dump", "simulate --dump ../plan/fleet.yaml --from testdata/v1.yaml", []string{"--from is for generated nodes"}},
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
		{"no set of that name in the dump", "those that there are, are named", "simulate --dump ../plan/fleet.yaml --name other",
			[]string{"no set is called other", "node-agent"}},
		{"knob", "there are three", "suggest --nodes 3 --spec testdata/v2.yaml --knob partition --deadline 1m",
			[]string{"--knob partition", "maxUnavailable, maxSurge, slowStart"}},
		{"deadline", "it must be given", "suggest --nodes 3 --spec testdata/v2.yaml", []string{"--deadline 0s", "such as 30m"}},
		{"suggest for two", "one answer is wanted", "suggest --nodes 3 --spec testdata/v2.yaml --spec testdata/v2-surge.yaml --deadline 1m",
			[]string{"--spec is there 2 times"}},
		{"until with a deadline", "they would contradict each other", "suggest --nodes 3 --spec testdata/v2.yaml --deadline 1m --until 1h",
			[]string{"--until 1h00m"}},
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
			[]string{"pools[0].name: 3 is no text", `pools[0].nodes: "x" is no whole number`, `pools[0].zones: "a" is no list`}},
		{"the same key twice", "which one counts?", "--fleet", "pools: []\npools: []", []string{"already set"}},
		{"binary", "no text at all", "--fleet", "\x00\x01\xff\xfe", []string{"fleet.yaml"}},
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
			string(manifest) + "---\n" + strings.Replace(string(manifest), "name: agent", "name: other", 1), []string{"--name", "agent, other"}},
		{"a mistake in the manifest", "with the path of the manifest", "--spec",
			strings.Replace(string(manifest), "25%", "a lot", 1), []string{"spec.updateStrategy.rollingUpdate.maxUnavailable"}},
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
	if code != exitUsage || stdout != "" {
		t.Errorf("exit code %d, standard output %q", code, stdout)
	}
	for _, want := range want {
		if !strings.Contains(stderr, want) {
			t.Errorf("standard error lacks %q:\n%s", want, stderr)
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
