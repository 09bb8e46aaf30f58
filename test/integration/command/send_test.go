package command

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"

	"github.com/creack/pty"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const kruise = `apiVersion: apps.kruise.io/v1alpha1
kind: DaemonSet
metadata: {name: logs}
spec:
  selector: {matchLabels: {app: logs}}
  revisionHistoryLimit: 5
  template:
    metadata: {labels: {app: logs}}
    spec:
      nodeSelector: {fleet: small}
      containers: [{name: logs, image: "registry.example/logs:v1"}]
`

// eds is a set that Datadog's own controller runs, with a canary under way.
const eds = `apiVersion: datadoghq.com/v1alpha1
kind: ExtendedDaemonSet
metadata: {name: foo}
spec:
  strategy: {canary: {replicas: 1, duration: 10m}}
  template:
    metadata: {labels: {app: foo}}
    spec:
      nodeSelector: {fleet: small}
      containers: [{name: foo, image: "registry.example/foo:v2"}]
`

// object reads a set that is not of apps/v1.
func (w *world) object(group, version, kind, name string) *unstructured.Unstructured {
	w.Helper()
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(schema.GroupVersionKind{Group: group, Version: version, Kind: kind})
	if err := w.Get(w.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, object); err != nil {
		w.Fatal(err)
	}
	return object
}

// paused is the field of an Advanced DaemonSet that a command sets.
func (w *world) paused() bool {
	w.Helper()
	paused, _, err := unstructured.NestedBool(w.object("apps.kruise.io", "v1beta1", "DaemonSet", "logs").Object,
		"spec", "updateStrategy", "rollingUpdate", "paused")
	if err != nil {
		w.Fatal(err)
	}
	return paused
}

// An Advanced DaemonSet beside a DaemonSet: which is meant, what is planned, and a command that lands.
func TestKruise(t *testing.T) {
	w := newWorld(t)
	w.apply(kruise)
	w.says(w.daemonplan("plan"), 0, "logs   5", "Create 5 pods", "Create revision logs-")
	w.says(w.daemonplan("get"), 0, "logs   5         0 ")
	w.says(w.daemonplan("explain w-5"), 0, "w-5: ", "create a pod: the node is eligible and has no pod")
	w.apply(strings.NewReplacer("apps.kruise.io/v1alpha1", "apps/v1", "name: logs}\nspec", "name: logs}\nspec").Replace(kruise))
	w.says(w.daemonplan("get logs"), 2, "there are several sets; name one of them: daemonset.apps.kruise.io/logs (-n "+w.namespace+"), daemonset.apps/logs (-n ")
	w.says(w.daemonplan("get ds/logs"), 0, "logs ")

	const name = "daemonset.apps.kruise.io/logs"
	w.says(w.daemonplan("rollout pause "+name), 2, "the patch is not sent: standard input is no terminal", "--yes sends it without a question")
	if w.paused() {
		t.Error("the patch was sent without a yes")
	}
	w.says(w.daemonplan("rollout pause --yes "+name), 0, "kubectl patch daemonsets.apps.kruise.io logs -n "+w.namespace,
		name+" in namespace "+w.namespace+" patched\n")
	if !w.paused() {
		t.Error("the patch did not land")
	}
	w.says(w.daemonplan("rollout unpause --yes "+name), 0, "patched\n")
	if w.paused() {
		t.Error("the second patch did not land")
	}
	w.says(w.daemonplan("canary fail --yes "+name), 2, "daemonsets.apps.kruise.io takes pause and unpause")
	w.says(w.daemonplan("rollout pause ds/logs"), 2, "daemonsets.apps takes no commands")
	w.says(w.daemonplan("rollout pause --yes ds/logs"), 2, "daemonsets.apps takes no commands")
}

// A set of Datadog's own controller.
func TestExtendedDaemonSet(t *testing.T) {
	w := newWorld(t)
	w.apply(eds)
	w.says(w.daemonplan("get eds/foo"), 0, "foo ")
	w.says(w.daemonplan("plan"), 0, "foo ")
	w.says(w.daemonplan("canary pods"), 2, "canary pods: no revision is on trial")
	w.says(w.daemonplan("canary fail --yes"), 2, "canary fail: no revision is on trial")
	w.says(w.daemonplan("rollout pause --yes foo"), 0, "Obeyed by Datadog's own controller", "patched\n")
	w.says(w.daemonplan("rollout freeze --yes foo"), 0, "patched\n")
	set := w.object("datadoghq.com", "v1alpha1", "ExtendedDaemonSet", "foo")
	for _, key := range []string{"rolling-update-paused", "rollout-frozen"} {
		if set.GetAnnotations()["extendeddaemonset.datadoghq.com/"+key] != "true" {
			t.Errorf("%s did not land: %v", key, set.GetAnnotations())
		}
	}
	w.may("reader", rbacv1.PolicyRule{
		APIGroups: []string{"", "apps", "apps.kruise.io", "datadoghq.com"}, Resources: []string{"*"}, Verbs: []string{"list"},
	})
	a := w.as(w.impersonating("reader"), "rollout", "unfreeze", "--yes", "-n", w.namespace)
	if a.code != 2 || !strings.Contains(a.stderr, "extendeddaemonset.datadoghq.com/"+w.namespace+"/foo cannot be patched: ") ||
		!strings.Contains(a.stderr, `User "reader" cannot patch resource "extendeddaemonsets" in API group "datadoghq.com"`) ||
		strings.Contains(a.stdout, "patched") {
		t.Errorf("exit code %d\n%s%s", a.code, a.stdout, a.stderr)
	}
}

// At a terminal it asks, and an answer that is no yes is a no.
func TestAsks(t *testing.T) {
	w := newWorld(t)
	w.apply(kruise)
	for _, c := range []struct {
		typed, want string
		paused      bool
	}{{"n\n", "Nothing was sent.", false}, {"\n", "Nothing was sent.", false}, {"y\n", "patched", true}} {
		command := w.start(cluster.Kubeconfig, "rollout", "pause", "-n", w.namespace)
		text := w.typing(command, "[y/N]", c.typed)
		if !strings.Contains(text, "Send this patch to daemonset.apps.kruise.io/logs in namespace "+w.namespace+"? [y/N]") ||
			!strings.Contains(text, c.want) || w.paused() != c.paused || command.ProcessState.ExitCode() != 0 {
			t.Errorf("%q: exit code %d, paused %v\n%s", c.typed, command.ProcessState.ExitCode(), w.paused(), text)
		}
	}
}

// typing runs a program in a terminal, types when it asks, and returns what was on the screen.
func (w *world) typing(command *exec.Cmd, question, typed string) string {
	w.Helper()
	terminal, err := pty.Start(command)
	if err != nil {
		w.Fatal(err)
	}
	defer func() { _ = terminal.Close() }()
	var screen bytes.Buffer
	for part := make([]byte, 4096); ; {
		n, err := terminal.Read(part)
		screen.Write(part[:n])
		if typed != "" && strings.Contains(screen.String(), question) {
			if _, err := terminal.WriteString(typed); err != nil {
				w.Fatal(err)
			}
			typed = ""
		}
		if err != nil { // the program has ended
			break
		}
	}
	_ = command.Wait() // the exit code is the test's
	return screen.String()
}
