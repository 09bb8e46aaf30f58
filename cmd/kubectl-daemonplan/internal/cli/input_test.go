package cli

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"sigs.k8s.io/yaml"
)

const (
	smallSet = `apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent, namespace: web, uid: u-1}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec: {containers: [{name: agent, image: agent:v1}]}
`
	smallKruise = `apiVersion: apps.kruise.io/v1beta1
kind: DaemonSet
metadata: {name: agent, namespace: web, uid: k-1}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec: {containers: [{name: agent, image: agent:v1}]}
  updateStrategy:
    rollingUpdate:
      rollingUpdateType: InPlaceIfPossible
`
	smallNode = "apiVersion: v1\nkind: Node\nmetadata: {name: a}\n"
	smallPod  = "apiVersion: v1\nkind: Pod\nmetadata: {name: agent-x, namespace: web, uid: p-1, labels: {app: agent}}\nspec: {nodeName: a}\n"
)

// evilNode has a name that turns a terminal's text red and begins a new line.
const evilNode = "apiVersion: v1\nkind: Node\nmetadata: {name: \"a\\e[31m\\nb\"}\n"

// smallRevision is a revision that cannot be read.
const smallRevision = "apiVersion: apps/v1\nkind: ControllerRevision\nrevision: 1\ndata: {spec: 5}\n" +
	"metadata: {name: agent-abc, namespace: web, labels: {app: agent, controller-revision-hash: abc}}\n"

// surgingSet is smallSet with maxSurge and another image, revisionWith the revision before. Pods of both have what a part of the
// spec says: a port of the host, or a claim.
func surgingSet(part string) string {
	surge := "spec:\n  updateStrategy: {rollingUpdate: {maxSurge: 1, maxUnavailable: 0}}\n"
	return strings.NewReplacer("spec:\n  selector", surge+"  selector", "image: agent:v1}]", "image: agent:v2"+part).Replace(smallSet)
}

func revisionWith(part string) string {
	return "apiVersion: apps/v1\nkind: ControllerRevision\nrevision: 1\n" +
		"data: {spec: {template: {$patch: replace, metadata: {labels: {app: agent}}, " +
		"spec: {containers: [{name: agent, image: agent:v1" + part + "}}}}\n" +
		"metadata: {name: agent-abc, namespace: web, labels: {app: agent, controller-revision-hash: abc}}\n"
}

const (
	hostPort = ", ports: [{containerPort: 80, hostPort: 9100}]}]"
	claimed  = "}], volumes: [{name: data, persistentVolumeClaim: {claimName: disk}}]"
	oneClaim = "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: disk, namespace: web}\n" +
		"spec: {accessModes: [ReadWriteOncePod]}\n"
)

// hashedPod is a pod of the revision agent-abc.
func hashedPod() string {
	return strings.Replace(smallPod, "app: agent}", "app: agent, controller-revision-hash: abc}", 1)
}

// ownedPod is a pod of smallSet.
func ownedPod(suffix string) string {
	return strings.NewReplacer("agent-x", "agent-"+suffix, "uid: p-1", "uid: p-"+suffix+
		", ownerReferences: [{apiVersion: apps/v1, kind: DaemonSet, name: agent, uid: u-1, controller: true}]").Replace(smallPod)
}

func join(documents ...string) string { return strings.Join(documents, "---\n") }

// files writes files into a new directory.
func files(t *testing.T, content map[string]string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range content {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestBadInput(t *testing.T) {
	dir := files(t, map[string]string{
		"empty.yaml": "", "broken.yaml": join(smallNode, "a: b: c\n"), "broken.json": "{\"kind\": \"Node\",\n\"spec\": }",
		"typed.yaml": join(smallNode, smallSet+"  minReadySeconds: soon\n  revisionHistoryLimit: x\n"),
		"notes.txt":  "hello",
	})
	other := files(t, map[string]string{"notes.txt": "hello"})
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, c := range []struct {
		name, why string
		stdin     string
		args      []string
		want      string // the lines on standard error, without "error: "
	}{
		{"missing file", "names the file", "", []string{"-f", at("none.yaml")}, at("none.yaml") + ": no such file or directory"},
		{"empty directory", "names the directory", "", []string{"-f", other}, other + ": the directory has no .yaml, .yml or .json file"},
		{"empty file", "says what is missing", "", []string{"-f", at("empty.yaml")}, at("empty.yaml") + ": it is empty; it is to hold objects in YAML or JSON, as kubectl get -o yaml prints them"},
		{"broken YAML", "names file, document and line", "", []string{"-f", at("broken.yaml")},
			at("broken.yaml") + ": document 2: line 5: mapping values are not allowed in this context"},
		{"broken JSON", "names file, document and line", "", []string{"-f", at("broken.json")},
			at("broken.json") + ": document 1 (Node): line 2: invalid character '}' looking for beginning of value"},
		{"wrong types", "names file, document and each field", "", []string{"-f", at("typed.yaml")},
			at("typed.yaml") + `: document 2 (DaemonSet web/agent): spec.minReadySeconds: Invalid value: "soon": must be a number` + "\n" +
				at("typed.yaml") + `: document 2 (DaemonSet web/agent): spec.revisionHistoryLimit: Invalid value: "x": must be a number`},
		{"binary", "is no text", "\x00\xff", []string{"-f", "-"}, "standard input: line 1: byte 1 of the file is 0xff, which is not UTF-8; the file must be text in UTF-8"},
		{"wrong type in a list", "names the item too", `{"kind":"List","items":[{"apiVersion":"v1","kind":"Node","metadata":{"name":5}}]}`, []string{"-f", "-"},
			"standard input: document 1, item 1 (Node): metadata.name: Invalid value: 5: must be a string"},
		{"broken object of an ignored kind", "the file is broken all the same", `{"kind":"Service","spec":{"a":tru}}`, []string{"-f", "-"},
			"standard input: document 1 (Service): line 1: invalid character '}' in literal true (expecting 'e')"},
		{"node without a name", "it cannot be planned", join(smallSet, "apiVersion: v1\nkind: Node\n"), []string{"-f", "-"},
			"standard input: document 2 (Node): metadata.name: Required value"},
		{"node twice", "names both places", join(smallSet, smallNode, smallNode), []string{"-f", "-"},
			"standard input: document 3 (Node a): metadata.name: Duplicate value: Node a was there before, in standard input: document 2"},
		{"set twice", "names both places", join(smallSet, smallNode, smallSet), []string{"-f", "-"},
			"standard input: document 3 (DaemonSet web/agent): metadata.name: Duplicate value: DaemonSet web/agent was there before, in standard input: document 1"},
		{"pod without uid", "deletes need it", join(smallSet, smallNode, strings.Replace(smallPod, "uid: p-1, ", "", 1)), []string{"-f", "-"},
			"standard input: document 3 (Pod web/agent-x): metadata.uid: Required value: deletes use it as precondition"},
		{"two pods of one uid", "the planner's contract", join(smallSet, smallNode, smallPod, strings.Replace(smallPod, "agent-x", "agent-y", 1)), []string{"-f", "-"},
			"standard input: document 4 (Pod web/agent-y): metadata.uid: Duplicate value: Pod web/agent-x has it too, in standard input: document 3"},
		{"invalid set", "every mistake, with the manifest's paths",
			join(smallNode, strings.Replace(smallSet, "image: agent:v1", "image: ''", 1)+"  updateStrategy: {rollingUpdate: {maxSurge: 200%}}\n"), []string{"-f", "-"},
			"standard input: document 2 (DaemonSet web/agent): spec.template.spec.containers[0].image: Required value: every container needs an image\n" +
				`standard input: document 2 (DaemonSet web/agent): spec.updateStrategy.rollingUpdate.maxSurge: Invalid value: "200%": must not be more than 100%`},
		{"unsupported version", "how to convert it", strings.Replace(smallSet, "apps/v1", "apps/v1beta2", 1), []string{"-f", "-"},
			"standard input: document 1 (DaemonSet web/agent): apiVersion: no API server takes apps/v1beta2 any more; convert it to apps/v1: set apiVersion: apps/v1"},
		{"unsupported version of OpenKruise", "the same", strings.Replace(smallSet, "apps/v1", "apps.kruise.io/v2", 1), []string{"-f", "-"},
			`standard input: document 1 (apps.kruise.io DaemonSet web/agent): apiVersion: Unsupported value: "apps.kruise.io/v2": supported values: "apps/v1", "apps.kruise.io/v1alpha1", "apps.kruise.io/v1beta1"`},
		{"no node", "a plan without nodes would delete everything", smallSet, []string{"-f", "-"}, "there is no Node in the input; a dump has them: kubectl get nodes,pods,controllerrevisions,ds -A -o json"},
		{"no set of a kind that is known", "names what was passed over, an old dump's set too",
			join(smallNode, "apiVersion: v1\nkind: Service\n", strings.Replace(smallSet, "apps/v1", "example.com/v1beta1", 1), "kind: DaemonSet\n",
				"apiVersion: v1\nkind: Service\n"), []string{"-f", "-"},
			"there is no DaemonSet of apps/v1 or apps.kruise.io, and no ExtendedDaemonSet, in the input (ignored: Service 2, <no apiVersion> DaemonSet 1, example.com/v1beta1 DaemonSet 1)"},
		{"no set", "there is nothing to plan", smallNode, []string{"-f", "-"}, "there is no DaemonSet of apps/v1 or apps.kruise.io, and no ExtendedDaemonSet, in the input"},
		{"several sets", "lists them", join(smallNode, smallSet, strings.Replace(smallSet, "namespace: web", "namespace: db", 1)), []string{"-f", "-"},
			"there are several sets; name one of them: daemonset.apps/agent (-n db), daemonset.apps/agent (-n web)"},
		{"several sets of a name", "lists only those that fit", join(smallNode, smallSet, strings.Replace(smallSet, "namespace: web", "namespace: db", 1),
			strings.Replace(smallSet, "name: agent,", "name: third,", 1)), []string{"plan", "agent", "-f", "-"},
			"there are several sets; name one of them: daemonset.apps/agent (-n db), daemonset.apps/agent (-n web)"},
		{"sets of both kinds", "lists them by kind, as -n takes them", join(smallNode, smallSet, smallKruise), []string{"plan", "agent", "-f", "-"},
			"there are several sets; name one of them: daemonset.apps.kruise.io/agent (-n web), daemonset.apps/agent (-n web)"},
		{"sets of both kinds, none meant", "lists them by kind", join(smallNode, smallSet, smallKruise), []string{"plan", "daemonset.apps/db", "-f", "-"},
			"there is no set daemonset.apps/db; there are: daemonset.apps.kruise.io/agent (-n web), daemonset.apps/agent (-n web)"},
		{"set of OpenKruise twice", "both versions are the same object", join(smallNode, smallKruise, strings.Replace(smallKruise, "v1beta1", "v1alpha1", 1)),
			[]string{"-f", "-"}, "standard input: document 3 (apps.kruise.io DaemonSet web/agent): metadata.name: Duplicate value: apps.kruise.io DaemonSet web/agent was there before, in standard input: document 2"},
		{"invalid set of OpenKruise", "every mistake, with the manifest's paths", join(smallNode, smallKruise+"      partition: -1\n      maxSurge: 1\n"), []string{"-f", "-"},
			"standard input: document 2 (apps.kruise.io DaemonSet web/agent): spec.updateStrategy.rollingUpdate.maxSurge: Invalid value: \"1\": " +
				"must be 0 or unset with method InPlaceIfPossible: a pod that is updated in place has none beside it\n" +
				"standard input: document 2 (apps.kruise.io DaemonSet web/agent): spec.updateStrategy.rollingUpdate.partition: Invalid value: -1: must not be negative"},
		{"setting that cannot be honoured", "never ignored", join(smallNode, smallKruise+"  nodePatches: [{}]\n"), []string{"-f", "-"},
			"standard input: document 2 (apps.kruise.io DaemonSet web/agent): spec.nodePatches: Forbidden: is not supported: every node gets the template as it is"},
		{"resize of the wrong kind", "the plan would look as if it were an answer", join(smallNode, smallSet), []string{"-f", "-", "--resize"},
			"standard input: document 2 (DaemonSet web/agent) has no use for --resize, --cgroup-v1 and --pre-download: they are for daemonset.apps.kruise.io"},
		{"pre-download of the wrong kind", "the same", "", []string{"--pre-download"},
			"fleet.yaml: document 1, item 124 (DaemonSet observability/node-agent) has no use for --resize, --cgroup-v1 and --pre-download: they are for daemonset.apps.kruise.io"},
		{"cgroup v1 without resize", "usage: it would be ignored", "", []string{"--example", "kruise", "--cgroup-v1"},
			"--cgroup-v1 is about how cpu and memory are changed in place; it needs --resize"},
		{"example and file", "usage: one of them would be ignored", smallSet, []string{"--example", "kruise", "-f", "-"}, "--example and --filename exclude each other"},
		{"no such example", "usage", "", []string{"--example", "datadog"}, "--example datadog: must be kubernetes, kruise or eds"},
		{"no such node of the example", "it is the other fleet's", "", []string{"explain", "--example", "kruise", "general-1a-01"},
			`there is no node "general-1a-01" among the 16 nodes: gpu-01, gpu-02, worker-01, worker-02, worker-03, worker-04, worker-05, worker-06 and 8 more`},
		{"cut off", "a full disk: names the item that is not complete", "{\"items\": [\n{\"apiVersion\": \"v1\", \"kind\": \"Node\"},\n{\"api", []string{"-f", "-"},
			"standard input: document 1, item 2: line 3: the text ends too early, within the object that begins here"},
		{"directive", "names it", "%TAG ! x\n---\n" + smallSet, []string{"-f", "-"},
			`standard input: document 1: line 1: the YAML directive "%TAG ! x" is not supported; %YAML 1.1 and %YAML 1.2 are`},
		{"control characters in a name", "shown, not obeyed", join(smallSet, evilNode, evilNode), []string{"-f", "-"},
			`standard input: document 3 (Node a\x1b[31m\nb): metadata.name: Duplicate value: Node a\x1b[31m\nb was there before, in standard input: document 2`},
		{"control characters in a set's name", "the same", join(smallNode, smallSet, strings.Replace(smallSet, "name: agent,", `name: "a\u202eb\n",`, 1)), []string{"-f", "-"},
			`there are several sets; name one of them: daemonset.apps/a\u202eb\n (-n web), daemonset.apps/agent (-n web)`},
		{"control characters in pods' names", "the same", join(smallSet, smallNode, strings.Replace(smallPod, "agent-x", `"a\e"`, 1), smallPod), []string{"-f", "-"},
			`standard input: document 4 (Pod web/agent-x): metadata.uid: Duplicate value: Pod web/a\x1b has it too, in standard input: document 3`},
		{"control characters in another message", "whoever wrote it", "", []string{"-f", "\x1b[31m"}, `\x1b[31m: no such file or directory`},
		{"no such set", "lists those there are", join(smallNode, smallSet), []string{"plan", "other", "-f", "-", "-n", "web"},
			"there is no set other in namespace web; there are: daemonset.apps/agent (-n web)"},
		{"no such node", "says so", "", []string{"explain", "nobody"}, `there is no node "nobody" among the 63 nodes: control-plane-1a-01, control-plane-1b-01, control-plane-1c-01, general-1a-01, general-1a-02, general-1a-03, general-1a-04, general-1a-05 and 55 more`},
		{"standard input twice", "the second would be empty", smallSet, []string{"-f", "-", "-f", "-"}, "standard input: it can be read only once, and - is given twice"},
		{"unknown flag", "usage", "", []string{"-x"}, "unknown shorthand flag: 'x' in -x; see kubectl daemonplan plan --help"},
		{"unknown format", "usage", "", []string{"-o", "xml"}, "--output xml: must be table, wide, json, yaml or jsonpath=TEMPLATE"},
		{"no time", "usage", "", []string{"--now", "noon"}, "--now noon: must be a time such as 2026-03-02T09:15:00Z"},
		{"zero time", "usage: it would mean that there is none", "", []string{"--now", "0001-01-01T00:00:00Z"},
			"--now 0001-01-01T00:00:00Z: must be a time such as 2026-03-02T09:15:00Z"},
		{"empty file name", "usage", "", []string{"-f", ""}, "--filename must not be empty"},
		{"argument", "usage: a forgotten -f", "", []string{"dump.yaml"}, `there is no command "dump.yaml"; there are: canary, diff, explain, forecast, get, merge, ` +
			"plan, pods, policy, revisions, rollout, simulate, study, suggest, watch; files are given with -f"},
		{"file for a set", "the same", "", []string{"plan", "dump.yaml"}, `unexpected argument "dump.yaml": SET is the name of a set; files are given with -f dump.yaml`},
		{"format of an explanation", "usage: it would be ignored", "", []string{"explain", "a", "-o", "json"}, "unknown shorthand flag: 'o' in -o; see kubectl daemonplan explain --help"},
		{"empty format", "a variable that is not set", "", []string{"-o", ""}, `--output "": must be table, wide, json, yaml or jsonpath=TEMPLATE`},
		{"broken template", "says what is wrong", "", []string{"-o", "jsonpath={.budget"}, "--output jsonpath={.budget: unclosed action; it is a template such as jsonpath='{.name}'"},
		{"no template", "the same", "", []string{"-o", "jsonpath="}, "--output jsonpath=: the template is empty; it is one such as jsonpath='{.name}'"},
		{"rows of a report", "a report is several tables", "", []string{"--no-headers"}, "--no-headers leaves nothing but the rows of the nodes, which plan has with -o wide"},
		{"rows and a forecast", "a forecast is no row", "", []string{"-o", "wide", "--no-headers", "--forecast"}, "--forecast and --no-headers exclude each other: a forecast is no row"},
		{"format of the changes", "usage: it would be ignored", "", []string{"diff", "-o", "table"}, "unknown shorthand flag: 'o' in -o; see kubectl daemonplan diff --help"},
		{"template of Helm", "says what it is, and the line", "apiVersion: v1\nkind: {{ .Values.kind }}\n", []string{"-f", "-"},
			`standard input: line 2: "{{" begins no YAML: this looks like an unrendered Helm template; render the chart first: helm template CHART > rendered.yaml`},
		{"block of a Helm template", "the same", smallNode + "{{- if .Values.x }}\n---\n" + smallSet + "{{- end }}\n", []string{"-f", "-"},
			`standard input: line 4: "{{" begins no YAML: this looks like an unrendered Helm template; render the chart first: helm template CHART > rendered.yaml`},
		{"Latin-1 in the middle", "names the byte and the line", smallNode + "# caf\xe9\n", []string{"-f", "-"}, "standard input: line 4: byte 51 of the file is 0xe9, which is not UTF-8; the file must be text in UTF-8"},
		{"UTF-16", "what PowerShell writes", "\xff\xfea\x00", []string{"-f", "-"}, "standard input: the text is UTF-16; it must be UTF-8"},
		{"gzip", "says what it is", "\x1f\x8b\x08", []string{"-f", "-"}, "standard input: the data is compressed with gzip; it must be plain text"},
		{"nothing on standard input", "a pipe from a command that failed", " \n", []string{"-f", "-"},
			"standard input: it is empty; it is to hold objects in YAML or JSON, as kubectl get -o yaml prints them"},
		{"set of an old version", "how to convert it", join(smallNode, strings.Replace(smallSet, "apps/v1", "extensions/v1beta1", 1)), []string{"-f", "-"},
			"standard input: document 2 (DaemonSet web/agent): apiVersion: no API server takes extensions/v1beta1 any more; convert it to apps/v1: set apiVersion: apps/v1, " +
				"add spec.selector.matchLabels with labels of spec.template.metadata.labels, and drop spec.templateGeneration"},
		{"no budget", "advises what the kind has", join(smallNode, smallSet+"  updateStrategy: {rollingUpdate: {maxUnavailable: 0}}\n"), []string{"-f", "-"},
			`standard input: document 2 (DaemonSet web/agent): spec.updateStrategy.rollingUpdate.maxUnavailable: Invalid value: "0": ` +
				"must not be 0 while maxSurge is 0: no node could ever be updated; updateStrategy.type: OnDelete stops a rollout"},
		{"no budget of Datadog", "the same", join(smallNode, smallEDS+"  strategy: {rollingUpdate: {maxUnavailable: 0}}\n"), []string{"-f", "-"},
			`standard input: document 2 (ExtendedDaemonSet default/foo): spec.strategy.rollingUpdate.maxUnavailable: Invalid value: "0": ` +
				`must not be 0 while maxSurge is 0: no node could ever be updated; the annotation extendeddaemonset.datadoghq.com/rolling-update-paused: "true" stops a rollout`},
		{"item of a list", "its kind and name beside its number", `{"kind":"List","items":[{"apiVersion":"v1","kind":"Node","metadata":{"name":"a"}},` +
			`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"web"},"spec":{"nodeName":7}}]}`, []string{"-f", "-"},
			"standard input: document 1, item 2 (Pod web/p): spec.nodeName: Invalid value: 7: must be a string"},
		{"revision of the wrong type", "names the field", join(smallSet, smallNode, strings.Replace(smallRevision, "revision: 1", "revision: one", 1)), []string{"-f", "-"},
			`standard input: document 3 (ControllerRevision web/agent-abc): revision: Invalid value: "one": must be a number`},
		{"set of another resource", "lists how SET is written", smallSet, []string{"plan", "deploy/agent", "-f", "-"},
			`there is no set "deploy/agent": it is NAME, ds/NAME, daemonset.apps/NAME, daemonset.apps.kruise.io/NAME, eds/NAME or ` +
				"extendeddaemonset.datadoghq.com/NAME; the namespace is given with -n"},
		{"namespace before the name", "the same", smallSet, []string{"plan", "web/agent", "-f", "-"},
			`there is no set "web/agent": it is NAME, ds/NAME, daemonset.apps/NAME, daemonset.apps.kruise.io/NAME, eds/NAME or ` +
				"extendeddaemonset.datadoghq.com/NAME; the namespace is given with -n"},
		{"kind without a name", "the same", smallSet, []string{"plan", "ds/", "-f", "-"},
			`there is no set "ds/": it is NAME, ds/NAME, daemonset.apps/NAME, daemonset.apps.kruise.io/NAME, eds/NAME or ` +
				"extendeddaemonset.datadoghq.com/NAME; the namespace is given with -n"},
		{"explain without a node", "says where it comes", smallSet, []string{"explain", "ds/agent", "-f", "-"},
			"there is no node to explain; it comes after the set: kubectl daemonplan explain ds/agent NODE"},
		{"explain without anything", "the same", smallSet, []string{"explain", "-f", "-"}, "there is no node to explain; it comes after the set: kubectl daemonplan explain NODE"},
		{"misspelt node", "suggests", "", []string{"explain", "memory-1b-5"}, `there is no node "memory-1b-5"; did you mean memory-1b-05, memory-1a-05 or memory-1b-01?`},
		{"empty namespace", "a variable that is not set", smallSet, []string{"-f", "-", "-n", ""}, "--namespace must not be empty"},
		{"empty change", "the same", smallSet, []string{"-f", "-", "--change", ""}, "--change must not be empty"},
		{"no number", "says what would be right", "", []string{"simulate", "--nodes", "many"}, "--nodes many: must be a whole number such as 12"},
		{"number out of range", "the same", "", []string{"simulate", "--nodes", "99999999999999999999"}, "--nodes 99999999999999999999: must be a whole number such as 12"},
		{"negative seed", "the same", "", []string{"simulate", "--seed", "-1"}, "--seed -1: must be a whole number such as 12, not negative"},
		{"no share", "the same", "", []string{"simulate", "--scale", "half"}, "--scale half: must be a number such as 0.1"},
		{"no duration", "the same", "", []string{"suggest", "--deadline", "30"}, "--deadline 30: must be a duration such as 90s, 30m or 2h"},
		{"no boolean", "the same", "", []string{"--resize=perhaps"}, "--resize perhaps: must be true or false"},
		{"flag without a value", "where the flags are told", "", []string{"plan", "--example", "eds", "--memory"}, "--memory needs a value: --memory FILE"},
		{"single dash", "as in earlier versions", "", []string{"plan", "-explain", "a"}, "unknown shorthand flag: 'e' in -explain; see kubectl daemonplan plan --help"},
		{"watch a dump", "it does not change", smallSet, []string{"watch", "-f", "-"}, "watch follows a cluster: what --filename and --example read does not change; plan prints what is in it, and simulate plays a rollout"},
		{"watch an example", "the same", "", []string{"watch", "ds/agent", "--example", "eds"}, "watch follows a cluster: what --filename and --example read does not change; plan prints what is in it, and simulate plays a rollout"},
		{"watch a file", "the same", "", []string{"watch", "dump.yaml"}, `unexpected argument "dump.yaml": SET is the name of a set; files are given with -f dump.yaml`},
		{"watch at a time", "its clock is that of the cluster", "", []string{"watch", "--now", "2026-03-02T09:15:00Z"}, "unknown flag: --now; see kubectl daemonplan watch --help"},
		{"no node to explain", "usage: a variable that is not set", "", []string{"explain", ""}, "the name of a node or a set must not be empty"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.name == "" || c.why == "" {
				t.Fatal("a row needs a name and a reason")
			}
			code, stdout, stderr := call(c.stdin, c.args...)
			want := "error: " + strings.ReplaceAll(c.want, "\n", "\nerror: ") + "\n"
			if code != 2 || stdout != "" || stderr != want {
				t.Errorf("exit code %d, standard output %q\ngot  %swant %s(%s)", code, stdout, stderr, want, c.why)
			}
		})
	}
}

// TestInputForms reads the embedded fleet in every form that kubectl prints or people write, and in any order.
func TestInputForms(t *testing.T) {
	want := plans(t, "", "-o", "wide")
	text, err := yaml.YAMLToJSON(fleetFile)
	if err != nil {
		t.Fatal(err)
	}
	var list struct{ Items []json.RawMessage }
	if err := json.Unmarshal(text, &list); err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	r.Shuffle(len(list.Items), func(i, j int) { list.Items[i], list.Items[j] = list.Items[j], list.Items[i] })
	var stream, documents, half strings.Builder
	for i, item := range list.Items {
		stream.Write(item)
		document, err := yaml.JSONToYAML(item)
		if err != nil {
			t.Fatal(err)
		}
		documents.WriteString("---\n")
		documents.Write(document)
		if i%2 == 0 {
			half.WriteString("---\n")
			half.Write(document)
		}
	}
	shuffled, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": list.Items})
	if err != nil {
		t.Fatal(err)
	}
	var others strings.Builder
	for i, item := range list.Items {
		if i%2 == 1 {
			others.Write(item)
		}
	}
	dir := files(t, map[string]string{
		"fleet.yaml": string(fleetFile), "list.json": string(shuffled), "stream.json": stream.String(), "documents.yml": documents.String(),
	})
	split := files(t, map[string]string{"a.yaml": half.String(), "b.JSON": others.String(), "README.md": "not read"})
	now := "--now=" + fleetTime().Format("2006-01-02T15:04:05Z07:00")
	for name, args := range map[string][]string{
		"list in YAML":   {"-f", filepath.Join(dir, "fleet.yaml")},
		"list in JSON":   {"-f", filepath.Join(dir, "list.json")},
		"stream of JSON": {"-f", filepath.Join(dir, "stream.json")},
		"documents":      {"-f", filepath.Join(dir, "documents.yml")},
		"directory":      {"-f", split},
		"files":          {"-f", filepath.Join(split, "b.JSON"), "-f", filepath.Join(split, "a.yaml")},
		"file and stdin": {"-f", filepath.Join(split, "a.yaml"), "-f", "-"},
		"with name":      {"plan", "node-agent", "-f", split, "-n", "observability"},
		"with kind":      {"plan", "ds/node-agent", "-f", split},
	} {
		t.Run(name, func(t *testing.T) {
			if got := plans(t, others.String(), append(args, "-o", "wide", now)...); got != want {
				t.Errorf("the plan is not that of the embedded fleet:\n%s", got)
			}
		})
	}
}

func TestNow(t *testing.T) {
	input := join(smallSet, smallNode)
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"the present, for real input":     {[]string{"-f", "-"}, "2027-03-02T09:15:00Z"},
		"the recording, for the embedded": {nil, "2026-03-02T09:15:00Z"},
		"as asked for":                    {[]string{"-f", "-", "--now", "2030-01-01T01:00:00+01:00"}, "2030-01-01T00:00:00Z"},
	} {
		if out := plans(t, input, append(c.args, "-o", "json")...); !strings.Contains(out, `"now": "`+c.want+`"`) {
			t.Errorf("%s: the plan is not for %s", name, c.want)
		}
	}
}

func TestSmallInputs(t *testing.T) {
	for _, c := range []struct {
		name, why string
		stdin     string
		args      []string
		want      []string // what the output contains
	}{
		{"not created yet", "no uid: a first installation", join(strings.Replace(smallSet, ", uid: u-1", "", 1), smallNode), nil,
			[]string{"agent   1         0         0       0            0           <none>          <unknown>", "Create revision agent-", "Create 1 pod:", "Missing:"}},
		{"orphan", "a pod without owner that the selector matches", join(smallSet, smallNode, smallPod), nil,
			[]string{"1 pod is owned by nobody and counted here: to be adopted."}},
		{"foreign pod", "another controller's", join(smallSet, smallNode, strings.Replace(smallPod, "uid: p-1",
			"uid: p-1, ownerReferences: [{apiVersion: v1, kind: X, name: x, uid: x, controller: true}]", 1)), nil, []string{"\nWarning: 1 pod matches the selector but belongs to another controller, as agent-x does to X x.\nCreate revision", "Create 1 pod:"}},
		{"pods of a set without uid", "the manifest of a set that is there already",
			join(strings.Replace(smallSet, ", uid: u-1", "", 1), smallNode, ownedPod("y"), ownedPod("x")), nil,
			[]string{"Warning: 2 pods match the selector but belong to another controller, as agent-x does to a DaemonSet of this name " +
				"with uid u-1; the DaemonSet in the input has no uid.\n"}},
		{"pods of a set with another uid", "it was created anew", join(strings.Replace(smallSet, "u-1", "u-2", 1), smallNode, ownedPod("x")), []string{"-o", "json"},
			[]string{"\"1 pod matches the selector but belongs to another controller, as agent-x does to a DaemonSet of this name with uid u-1.\""}},
		{"no pod", "a dump of too few kinds", join(smallSet, smallNode), nil, []string{"\nWarning: There is no Pod in the input.\nCreate revision"}},
		{"no pod, with -diff", "nothing restarts because nothing is known", join(smallSet, smallNode), []string{"diff"}, []string{"Warning: There is no Pod in the input.\nEvery pod"}},
		{"no pod, with -explain", "the reason may be there", join(smallSet, smallNode), []string{"explain", "a"}, []string{"\nWarning: There is no Pod in the input.\n"}},
		{"no pod, in JSON", "programs see it too", join(smallSet, smallNode), []string{"-o", "json"}, []string{`"There is no Pod in the input."`}},
		{"pod of an unreadable revision", "what changes cannot be known, and where to look",
			join(smallSet, smallNode, smallRevision, hashedPod()), []string{"diff"},
			[]string{"1 pod is at revision 1 (agent-abc), whose data cannot be read (standard input: document 3): what changes is not known, it restarts.\n"}},
		{"a port of the host with maxSurge", "the new pod can be bound nowhere",
			join(surgingSet(hostPort), smallNode, revisionWith(hostPort), hashedPod()), nil,
			[]string{"\nWarning: With maxSurge no new pod can be bound beside one of revision 1 (agent-abc): both listen on a port of the host: 9100/TCP " +
				"(spec.containers[agent].ports). The update of its nodes does not end.\n"}},
		{"a claim of one pod with maxSurge", "the claim in the input says so",
			join(surgingSet(claimed), smallNode, revisionWith(claimed), oneClaim, hashedPod()), []string{"diff"},
			[]string{"Warning: With maxSurge no new pod can be bound beside one of revision 1 (agent-abc): " +
				"only one pod may use the claim: disk (spec.volumes[data]). "}},
		{"a port of the host that nothing changes", "the next update would not end",
			join(strings.Replace(surgingSet(hostPort), "agent:v2", "agent:v1", 1), smallNode, revisionWith(hostPort), hashedPod()), nil,
			[]string{"(spec.containers[agent].ports). An update that leaves that as it is will not end.\n"}},
		{"directive", "YAML 1.1 is what is read", "%YAML 1.1\n---\n" + join(smallSet, smallNode), nil, []string{"Create 1 pod:"}},
		{"first installation", "more than the budget count, and none is disrupted", join(smallSet, smallNode, "apiVersion: v1\nkind: Node\nmetadata: {name: b}\n"), nil,
			[]string{"\nBudget: maxUnavailable 1; 2 nodes count as unavailable after this plan\n"}},
		{"ignored kinds", "counted, most frequent first", join(smallSet, smallNode, "apiVersion: v1\nkind: ConfigMap\n", "kind: Service\n", "kind: Service\n"), nil,
			[]string{"\nignored: 3 objects (<no apiVersion> Service 2, ConfigMap 1)\n"}},
		{"ignored kinds in JSON", "counted too", join(smallSet, smallNode, "apiVersion: a/v1\nkind: X\n"), []string{"-o", "json"}, []string{`"a/v1 X": 1`}},
		{"everything at the update revision", "nothing to show", join(smallSet, smallNode), []string{"diff"}, []string{"the update restarts nothing"}},
		{"no revisions", "pods have the hash of one", join(smallSet, smallNode, strings.Replace(smallPod, "app: agent}", "app: agent, controller-revision-hash: abc}", 1)),
			nil, []string{"\nWarning: There is no ControllerRevision of the set in the input: which pods are up to date is not known, and all are taken to be outdated."}},
		{"pod of an unknown revision", "what changes cannot be known", join(smallSet, smallNode, smallPod), []string{"diff"},
			[]string{`1 pod is at revision hash "", which is not stored: what changes is not known, it restarts.`}},
		{"surge", "the other budget", join(smallSet+"  updateStrategy: {rollingUpdate: {maxSurge: 30%}}\n", smallNode),
			[]string{"--controller", "daemonplan"}, []string{"Budget: maxSurge 30% of 1 = 1; 1 node holds a place of it after this plan\n"}},
		{"OnDelete", "no budget", join(smallSet+"  updateStrategy: {type: OnDelete}\n", smallNode), nil, []string{"Budget: none, the strategy is OnDelete"}},
		{"two mistakes in time", "a node without pod that may not have one", join(smallSet, smallNode+"spec: {taints: [{key: x, effect: NoSchedule}]}\n"), nil,
			[]string{"Look again when something changes"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.name == "" || c.why == "" {
				t.Fatal("a row needs a name and a reason")
			}
			out := plans(t, c.stdin, append(c.args, "-f", "-")...)
			for _, want := range c.want {
				if !strings.Contains(out, want) {
					t.Errorf("the output lacks %q (%s):\n%s", want, c.why, out)
				}
			}
		})
	}
}

func TestUnknownFieldsAreMentioned(t *testing.T) {
	code, _, stderr := call(join(smallSet+"  minReadySecond: 5\n", smallNode), "-f", "-")
	if want := "warning: standard input: document 1 (DaemonSet web/agent): ignored unknown field spec.minReadySecond\n"; code != 0 || stderr != want {
		t.Errorf("exit code %d, standard error %q, want %q", code, stderr, want)
	}
}

func TestTiming(t *testing.T) {
	code, _, stderr := call("", "--timing")
	if code != 0 || !strings.HasPrefix(stderr, "read ") || !strings.Contains(stderr, "planned 62 nodes in ") {
		t.Errorf("exit code %d, standard error %q", code, stderr)
	}
}

// broken is a pipe that was closed at the other end.
type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }
func (broken) Read([]byte) (int, error)  { return 0, errors.New("broken pipe") }

func TestBrokenPipes(t *testing.T) {
	var stderr strings.Builder
	if code := run(planned(nil), genericiooptions.IOStreams{In: strings.NewReader(""), Out: broken{}, ErrOut: &stderr}, present); code != 2 || stderr.String() != "error: broken pipe\n" {
		t.Errorf("standard output: exit code %d, standard error %q", code, stderr.String())
	}
	stderr.Reset()
	if code := run([]string{"plan", "--example", "kubernetes", "--timing"}, genericiooptions.IOStreams{In: strings.NewReader(""), Out: &stderr, ErrOut: broken{}}, present); code != 2 {
		t.Errorf("standard error: exit code %d", code)
	}
	stderr.Reset()
	var stdout strings.Builder
	if code := run([]string{"plan", "-f", "-"}, genericiooptions.IOStreams{In: broken{}, Out: &stdout, ErrOut: &stderr}, present); code != 2 || stderr.String() != "error: standard input: broken pipe\n" {
		t.Errorf("standard input: exit code %d, standard error %q", code, stderr.String())
	}
}

// TestNothingIsObeyed plans a cluster in which everything that may be printed has control characters.
func TestNothingIsObeyed(t *testing.T) {
	const evil = `\e[31m\nWarning: \t\u202e`
	name := func(text string) string { return `"` + text + evil + `"` }
	stdin := join(
		strings.Replace(smallSet, "agent:v1", name("v"), 1),
		"apiVersion: v1\nkind: Node\nmetadata: {name: "+name("a")+"}\nspec: {taints: [{key: "+name("t")+", effect: NoExecute}]}\n",
		"apiVersion: v1\nkind: Node\nmetadata: {name: "+name("b")+"}\n",
		strings.NewReplacer("agent-x", name("p"), "nodeName: a", "nodeName: "+name("a")).Replace(smallPod),
		strings.NewReplacer("agent-x", name("q"), "p-1", "p-2", "nodeName: a", "nodeName: "+name("gone")).Replace(smallPod),
		strings.NewReplacer("agent-x", name("r"), "app: agent}", "app: agent, controller-revision-hash: old}", "p-1", "p-3", "nodeName: a", "nodeName: "+name("gone")).Replace(smallPod),
		strings.NewReplacer("agent-x", name("s"), "p-1", "p-4, ownerReferences: [{apiVersion: v1, kind: "+name("X")+", name: "+name("x")+
			", uid: x, controller: true}]").Replace(smallPod),
		strings.Replace(smallRevision, "agent-abc", name("rev"), 1),
		strings.NewReplacer("agent-abc", name("old"), "hash: abc", "hash: old", "{spec: 5}",
			`{spec: {template: {$patch: replace, metadata: {labels: {app: agent}}, spec: {containers: [{name: agent, image: `+name("v0")+`}]}}}}`,
		).Replace(smallRevision),
		"apiVersion: "+name("v9")+"\nkind: "+name("K")+"\n",
	)
	node := "\x1b[31m\nWarning: \t\u202e"
	for _, c := range []struct {
		args  []string
		lines int // how many lines are printed; 0 if it does not matter
	}{
		{nil, 0},
		{[]string{"-o", "wide"}, 0},
		{[]string{"diff"}, 0},
		{[]string{"explain", "a" + node}, 3},    // whose it is, one line, and the warning
		{[]string{"explain", "gone" + node}, 4}, // whose it is, two pods, and the warning
	} {
		args := c.args
		code, stdout, stderr := call(stdin, append(args, "-f", "-")...)
		if !answered(code, args) || stdout == "" {
			t.Errorf("%q: exit code %d, %q", args, code, stderr)
		}
		for line := range strings.Lines(stdout + stderr) {
			if strings.HasPrefix(line, "Warning: \\t") || strings.ContainsAny(line, "\x1b\t\u202e") {
				t.Errorf("%q: raw text of the input in %q", args, line)
			}
		}
		if n := strings.Count(stdout, "\n"); c.lines > 0 && n != c.lines {
			t.Errorf("%q: %d lines, want %d:\n%s", args, n, c.lines, stdout)
		}
		if !strings.Contains(stdout, `\x1b[31m\nWarning: \t\u202e`) {
			t.Errorf("%q: the names are not there:\n%s", args, stdout)
		}
	}
}
