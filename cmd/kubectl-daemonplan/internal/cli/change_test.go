package cli

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/cluster/fakeapi"
	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/controllers"
	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/plan"
)

// agentManifest is the manifest of the fleet's set as people write it, without what the API server fills in.
const agentManifest = `apiVersion: v1
kind: ConfigMap
metadata: {name: node-agent}
---
# Source: agent/templates/daemonset.yaml
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: node-agent, labels: {team: observability}}
spec:
  selector: {matchLabels: {app.kubernetes.io/name: node-agent, app.kubernetes.io/instance: prod}}
  minReadySeconds: 30
  updateStrategy: {rollingUpdate: {maxUnavailable: 10%}}
  template:
    metadata: {labels: {app.kubernetes.io/name: node-agent, app.kubernetes.io/instance: prod, app.kubernetes.io/version: VERSION}}
    spec:
      nodeSelector: {kubernetes.io/os: linux}
      terminationGracePeriodSeconds: 60
      tolerations: [{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}]
      containers:
      - name: agent
        image: registry.example.com/observability/node-agent:VERSION
        ports: [{name: metrics, containerPort: 9100}]
        resources: {requests: {cpu: 0.1, memory: 180Mi}}
`

func agentAt(version string) string { return strings.ReplaceAll(agentManifest, "VERSION", version) }

// TestChangeOfNothing plans the manifest of what is there: no node restarts but those that would without it.
func TestChangeOfNothing(t *testing.T) {
	same := plans(t, "", "plan", "--example", "kubernetes", "-o", "wide")
	got := plans(t, agentAt("2.14.0"), "plan", "--example", "kubernetes", "-o", "wide", "--change", "-")
	whose, want, _ := strings.Cut(same, "\n")
	got = strings.TrimPrefix(got, whose+"\n")
	const spec = "With the spec of standard input: document 2 (DaemonSet observability/node-agent); the defaults that "
	if !strings.HasSuffix(got, want) || !strings.HasPrefix(got, spec) {
		t.Errorf("got\n%s\nwant at its end\n%s", got, want)
	}
	if _, after, _ := strings.Cut(got, "\n\n"); !strings.HasPrefix(after, plans(t, "", "diff", "--example", "kubernetes")) {
		t.Errorf("other changes than without:\n%s", got)
	}
}

func TestChangeGolden(t *testing.T) {
	golden(t, "controller-change.txt", plans(t, agentAt("2.15.0"), "plan", "--example", "kubernetes", "--change", "-", "--forecast"))
	golden(t, "change.txt", ours(t, agentAt("2.15.0"), "plan", "--example", "kubernetes", "--change", "-"))
	kruise := strings.ReplaceAll(string(newKruiseFleet().yaml(t)), "log-agent:2.14.0", "log-agent:2.15.0")
	golden(t, "kruise-change.txt", plans(t, kruise, "plan", "--example", "kruise", "--change", "-"))
	eds := strings.ReplaceAll(string(edsFile), "pause:3.1", "pause:3.2")
	golden(t, "eds-change.txt", plans(t, eds, "plan", "--example", "eds", "--change", "-"))
}

// TestChangeOrder checks that the first group of nodes is what the plan begins at once.
func TestChangeOrder(t *testing.T) {
	out := ours(t, agentAt("2.15.0"), "plan", "--example", "kubernetes", "--change", "-")
	_, first, _ := strings.Cut(out, "  first: ")
	first, _, _ = strings.Cut(first, "\n")
	_, deletes, _ := strings.Cut(out, "Delete 5 pods:\n")
	for node := range strings.SplitSeq(first, ", ") {
		if !strings.Contains(deletes, "  "+node+" ") {
			t.Errorf("%s is not begun now:\n%s", node, out)
		}
	}
	if strings.Count(first, ",") != 3 {
		t.Errorf("first: %s", first)
	}
}

// TestChangeKeeps checks what of the set that is there stays: uid, labels and annotations that the manifest does not have, and
// the annotation of "kubectl rollout restart".
func TestChangeKeeps(t *testing.T) {
	f := newFleet()
	f.set.Annotations["example.com/note"] = "kept"
	template := fleetTemplate("2.14.0")
	template.Annotations = map[string]string{"kubectl.kubernetes.io/restartedAt": "2026-03-01T00:00:00Z"}
	f.set.Spec.Template = template
	in := objects.New()
	if err := in.Add(objects.File{Name: "dump", Text: f.yaml(t)}); err != nil {
		t.Fatal(err)
	}
	set, err := in.Choose(objects.Ref{})
	if err != nil {
		t.Fatal(err)
	}
	for version, generation := range map[string]int64{"2.14.0": 2, "2.15.0": 3} {
		change, err := objects.ReadChange(set, &objects.Files{Stdin: strings.NewReader(agentAt(version))}, "-")
		if err != nil {
			t.Fatal(err)
		}
		next, err := change.Defaulted()
		if err != nil {
			t.Fatal(err)
		}
		if next.Spec.UID != set.Spec.UID || next.Meta.Annotations["example.com/note"] != "kept" ||
			next.Meta.Labels["team"] != "observability" || next.Meta.Labels["app.kubernetes.io/name"] != "node-agent" ||
			next.Spec.Generation != generation || *next.Spec.TemplateGeneration != generation ||
			next.Spec.Template.Annotations["kubectl.kubernetes.io/restartedAt"] == "" ||
			!next.Meta.CreationTimestamp.Equal(&set.Meta.CreationTimestamp) {
			t.Errorf("%s: %+v\n%+v", version, next.Meta, next.Spec)
		}
	}
}

// TestLiveChange asks the API server what it would store. It fills in more than is known here.
func TestLiveChange(t *testing.T) {
	server := fakeapi.New(t, fleetFile)
	kubeconfig := server.Kubeconfig(t, "observability")
	server.Store = func(object map[string]any) {
		template := object["spec"].(map[string]any)["template"].(map[string]any)
		data, _ := yaml.Marshal(template)
		var typed corev1.PodTemplateSpec
		if err := yaml.Unmarshal(data, &typed); err != nil {
			t.Error(err)
		}
		objects.SetDefaults(&typed)
		typed.Spec.PriorityClassName = "by-a-webhook"
		object["spec"].(map[string]any)["template"] = typed
	}
	dir := files(t, map[string]string{"new.yaml": agentAt("2.15.0")})
	file := filepath.Join(dir, "new.yaml")
	code, stdout, stderr := live(kubeconfig, "-", "diff", "--change", file)
	if code != 1 || stderr != "" || !strings.Contains(stdout, `spec.priorityClassName: added "by-a-webhook" (restarts)`) ||
		!strings.HasPrefix(stdout, "With the spec of "+file+": document 2 (DaemonSet observability/node-agent), as the API server would store it (dry run).\n") {
		t.Errorf("exit code %d, %q:\n%s", code, stderr, stdout)
	}
	dry := false
	for _, request := range server.Requests() {
		if strings.HasPrefix(request, "PUT ") {
			dry = strings.Contains(request, "dryRun=All")
		}
	}
	if !dry {
		t.Errorf("no dry run, or an update that is none: %q", server.Requests())
	}
	var d plan.Document
	code, stdout, stderr = live(kubeconfig, "-", "plan", "--change", file, "-o", "json")
	if err := json.Unmarshal([]byte(stdout), &d); code != 0 || err != nil || len(d.Actions.Revisions) != 1 || !strings.HasPrefix(stderr, "With the spec of ") {
		t.Errorf("json: exit code %d, %v, %q", code, err, stderr)
	}
	server.Store = func(object map[string]any) { object["refuse"] = "DaemonSet.apps \"node-agent\" is invalid: spec.x: no" }
	code, stdout, stderr = live(kubeconfig, "-", "plan", "--change", file)
	if want := ": the API server would refuse the change: DaemonSet.apps \"node-agent\" is invalid: spec.x: no\n"; code != 2 || stdout != "" || !strings.HasSuffix(stderr, want) {
		t.Errorf("refused: exit code %d, %q", code, stderr)
	}
	server.Forbidden = []string{"update daemonsets"}
	code, stdout, stderr = live(kubeconfig, "-", "plan", "--change", file)
	if code != 0 || stderr != "" || !strings.Contains(stdout, "; you may not update the set, so that the API server could not be asked; the defaults ") {
		t.Errorf("forbidden: exit code %d, %q:\n%s", code, stderr, stdout)
	}
}

// TestPlanForecast checks that the forecast is about the changed set, and what it says of nodes that cannot be updated.
func TestPlanForecast(t *testing.T) {
	out := plans(t, agentAt("2.15.0"), "plan", "--example", "kubernetes", "--change", "-", "--forecast")
	_, forecast, _ := strings.Cut(out, "\nLook again at ")
	for _, want := range []string{
		"\nnode-agent, 20 runs ", "\n  every node that can be reached  ", "\n  1 node: NotReady: general-1c-04 since ", "\nTaken for it:\n  a pod takes ",
		"node-agent:2.15.0 is unknown", "the controller looks at most every 100ms", "\n  kubectl daemonplan forecast --dump DUMP --world FILE takes times from a file\n",
	} {
		if !strings.Contains(forecast, want) {
			t.Errorf("lacks %q:\n%s", want, out)
		}
	}
	const none = "error: --forecast: of the 0 pods of agent none tells how long a start takes (conditions PodScheduled and Ready, both True, and no restart); " +
		"kubectl daemonplan forecast --dump DUMP --world FILE takes times from a file\n"
	if code, stdout, stderr := call(join(smallSet, smallNode), "plan", "-f", "-", "--forecast"); code != 2 || stdout != "" || stderr != none {
		t.Errorf("exit code %d, %q, want %q", code, stderr, none)
	}
	if code, _, stderr := call("", "plan", "--forecast", "-o", "json"); code != 2 || !strings.HasPrefix(stderr, "error: --forecast prints text; ") {
		t.Errorf("exit code %d, %q", code, stderr)
	}
}

func TestBadChanges(t *testing.T) {
	agent := agentAt("2.15.0")
	for _, c := range []struct{ name, why, change, want string }{
		{"empty", "nothing to plan", "", "standard input: it is empty; it is to hold objects in YAML or JSON, as kubectl get -o yaml prints them"},
		{"comments", "no object", "# nothing\n---\n", "standard input: there is no object in it; it is to have the manifest of DaemonSet observability/node-agent"},
		{"another set", "names what there is", strings.Replace(agent, "kind: DaemonSet\nmetadata: {name: node-agent,", "kind: DaemonSet\nmetadata: {name: agent,", 1),
			"standard input: there is no manifest of DaemonSet observability/node-agent in it; there are: ConfigMap node-agent, apps/v1 DaemonSet agent"},
		{"another namespace", "the same", strings.Replace(agent, "{name: node-agent, labels", "{name: node-agent, namespace: other, labels", 1),
			"standard input: there is no manifest of DaemonSet observability/node-agent in it; there are: ConfigMap node-agent, apps/v1 DaemonSet other/node-agent"},
		{"another kind", "the same", strings.Replace(agent, "apps/v1\n", "apps.kruise.io/v1beta1\n", 1),
			"standard input: there is no manifest of DaemonSet observability/node-agent in it; there are: ConfigMap node-agent, apps.kruise.io/v1beta1 DaemonSet node-agent"},
		{"old version", "how to convert it", strings.Replace(agent, "apps/v1\n", "extensions/v1beta1\n", 1),
			"standard input: document 2 (DaemonSet observability/node-agent): apiVersion: no API server takes extensions/v1beta1 any more; convert it to apps/v1: set apiVersion: apps/v1, " +
				"add spec.selector.matchLabels with labels of spec.template.metadata.labels, and drop spec.templateGeneration"},
		{"twice", "one would be ignored", join(agent, agent), "standard input: document 4: observability/node-agent was there before, in standard input: document 2 (DaemonSet observability/node-agent)"},
		{"template of Helm", "with the line", "apiVersion: apps/v1\nkind: DaemonSet\nmetadata:\n  {{- include \"labels\" . | nindent 4 }}\n",
			`standard input: line 4: "{{" begins no YAML: this looks like an unrendered Helm template; render the chart first: helm template CHART > rendered.yaml`},
		{"value of Helm", "the same, where a name is to be", strings.Replace(agent, "name: node-agent, labels", "name: {{ .Release.Name }}, labels", 1),
			`standard input: line 8: "{{" begins no YAML: this looks like an unrendered Helm template; render the chart first: helm template CHART > rendered.yaml`},
		{"wrong type", "names the field", strings.Replace(agent, "minReadySeconds: 30", "minReadySeconds: soon", 1),
			`standard input: document 2 (DaemonSet observability/node-agent): spec.minReadySeconds: Invalid value: "soon": must be a number`},
		{"no image", "names the field", strings.Replace(agent, "image: registry.example.com/observability/node-agent:2.15.0", "image: ''", 1),
			"standard input: document 2 (DaemonSet observability/node-agent): spec.template.spec.containers[0].image: Required value: every container needs an image"},
		{"another selector", "immutable", strings.ReplaceAll(agent, "instance: prod", "instance: test"),
			`standard input: document 2 (DaemonSet observability/node-agent): spec.selector: Invalid value: "app.kubernetes.io/instance=test,app.kubernetes.io/name=node-agent": ` +
				`the field is immutable, and the set has "app.kubernetes.io/instance=prod,app.kubernetes.io/name=node-agent"; the API server would refuse the change`},
		{"no budget", "a field that the kind has", strings.Replace(agent, "maxUnavailable: 10%", "maxUnavailable: 0", 1),
			`standard input: document 2 (DaemonSet observability/node-agent): spec.updateStrategy.rollingUpdate.maxUnavailable: Invalid value: "0": ` +
				"must not be 0 while maxSurge is 0: no node could ever be updated; updateStrategy.type: OnDelete stops a rollout"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.name == "" || c.why == "" {
				t.Fatal("a row needs a name and a reason")
			}
			code, stdout, stderr := call(c.change, "plan", "--example", "kubernetes", "--change", "-")
			if code != 2 || stdout != "" || stderr != "error: "+c.want+"\n" {
				t.Errorf("exit code %d, standard output %q\ngot  %swant error: %s (%s)", code, stdout, stderr, c.want, c.why)
			}
		})
	}
	code, _, stderr := call(smallSet, "plan", "-f", "-", "--change", "-")
	if want := "error: standard input: it can be read only once, and - is given twice\n"; code != 2 || stderr != want {
		t.Errorf("exit code %d, %q, want %q", code, stderr, want)
	}
}

// TestPolicyThatIsNotObeyed: with a policy that the controller does not obey that is said at once, and the plan shows beside what it
// does what daemonplan would.
func TestPolicyThatIsNotObeyed(t *testing.T) {
	set := staged(t, "stages: [{name: first, selector: {matchLabels: {ring: '0'}}}]")
	out := plans(t, set, "plan", "-f", "-", "--now", "2026-03-02T09:15:00Z")
	const warning = "does it. It takes nodes in an order that is chance: those named are an example.\n" +
		"Warning: this controller does not obey the policy of the annotation daemonplan.io/policy.\n"
	if !strings.Contains(out, warning) || strings.Contains(out, "Stages") || strings.Contains(out, "stage first") {
		t.Errorf("of the policy it says:\n%s", out)
	}
	for _, row := range []string{
		`Nodes now +kubernetes +with daemonplan it would be`, `  replace +1 +1`, `  wait for maxUnavailable +3 +1`, `  wait for stage +0 +2`,
	} {
		if !regexp.MustCompile("(?m)^" + row + "$").MatchString(out) {
			t.Errorf("there is no row %q:\n%s", row, out)
		}
	}
	var d plan.Document
	text := plans(t, set, "plan", "-f", "-", "--now", "2026-03-02T09:15:00Z", "-o", "json")
	if err := json.Unmarshal([]byte(text), &d); err != nil || len(d.Warnings) == 0 || !strings.HasPrefix(d.Warnings[0], "this controller does not obey") {
		t.Errorf("error %v, warnings %q", err, d.Warnings)
	}
}

// An invalid selector has no text that could be shown as what changes; its mistake is another one.
func TestChangeInvalidSelector(t *testing.T) {
	agent := strings.ReplaceAll(agentAt("2.15.0"), "instance: prod", "instance: <prod>")
	code, stdout, stderr := call(agent, "plan", "--example", "kubernetes", "--change", "-")
	want := "error: standard input: document 2 (DaemonSet observability/node-agent): " +
		`spec.selector.matchLabels: Invalid value: "<prod>": `
	if code != 2 || stdout != "" || !strings.HasPrefix(stderr, want) || strings.Contains(stderr, "immutable") {
		t.Errorf("exit code %d, %q, %q, want %q", code, stdout, stderr, want)
	}
}

func TestChangeUnknownFields(t *testing.T) {
	code, _, stderr := call(strings.Replace(agentAt("2.15.0"), "minReadySeconds", "minReadySecond", 1), "plan", "--example", "kubernetes", "--change", "-")
	if want := "warning: standard input: document 2 (DaemonSet observability/node-agent): ignored unknown field spec.minReadySecond\n"; code != 0 || stderr != want {
		t.Errorf("exit code %d, %q, want %q", code, stderr, want)
	}
}

// TestControllerOfAPlan: the plan is that of the controller that runs the set, or that is named. It is said first; JSON has a
// field.
func TestControllerOfAPlan(t *testing.T) {
	const chance = " does it. It takes nodes in an order that is chance: those named are an example.\n"
	for example, want := range map[string]controllers.Name{
		exampleKubernetes: controllers.Kubernetes, exampleKruise: controllers.Kruise, exampleEDS: controllers.Daemonplan,
	} {
		var d plan.Document
		if err := json.Unmarshal([]byte(plans(t, "", "--example", example, "-o", "json")), &d); err != nil || d.Controller != want {
			t.Errorf("%s: %s's plan (error %v), want %s", example, d.Controller, err, want)
		}
		for _, args := range [][]string{{"plan"}, {"rollout", "status"}} {
			args = append(args, "--example", example)
			byDefault := plans(t, "", args...)
			named := plans(t, "", append(args, "--controller", string(want))...)
			if byDefault != named || strings.Contains(named, chance) != want.IsStock() {
				t.Errorf("%q: by default\n%s\n--controller %s\n%s", args, byDefault, want, named)
			}
		}
	}
	if text := ours(t, ""); strings.Contains(text, chance) || text == plans(t, "") {
		t.Errorf("daemonplan's plan: %s", text)
	}
	for _, test := range [][]string{
		{"it is kubernetes, the DaemonSet controller of Kubernetes, kruise, that of OpenKruise, eds, that of ExtendedDaemonSets, or daemonplan", "plan", "--controller", "helm"},
		{"--controller must not be empty", "plan", "--controller", ""},
		{"which another controller runs", "explain", "gpu-1c-02", "--example", "kruise", "--controller", "kubernetes"},
	} {
		if code, _, stderr := call("", test[1:]...); code == 0 || !strings.Contains(stderr, test[0]) {
			t.Errorf("%v: exit code %d, %q", test[1:], code, stderr)
		}
	}
}
