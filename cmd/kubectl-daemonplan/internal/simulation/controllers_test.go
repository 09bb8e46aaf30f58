package simulation

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/exit"
)

// lostWorld is a world in which three nodes were lost before the rollout, with their pods on them.
const lostWorld = `
model: {kubelets: [{ready: 10s, stop: 2s}]}
events:
- {what: NodeNotReady, node: node-00001}
- {what: NodeNotReady, node: node-00002}
- {what: NodeNotReady, node: node-00003}
`

const threeAtOnce = `
apiVersion: apps/v1
kind: DaemonSet
metadata:
  name: agent
  annotations: {daemonplan.io/policy: '{"outages":{"maxExempt":"20%"}}'}
spec:
  selector: {matchLabels: {app: agent}}
  updateStrategy: {rollingUpdate: {maxUnavailable: 3}}
  template:
    metadata: {labels: {app: agent}}
    spec: {containers: [{name: agent, image: "agent:v2"}]}
`

// lostNodes are the arguments for a rollout on sixteen nodes, of which as many are lost as may be down.
func lostNodes(t *testing.T, subcommand string, more ...string) []string {
	t.Helper()
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	return append([]string{
		subcommand, "--nodes", "16", "--world", file("world.yaml", lostWorld), "--spec", "set=" + file("v2.yaml", threeAtOnce),
		"--from", file("v1.yaml", strings.Replace(threeAtOnce, "agent:v2", "agent:v1", 1)),
	}, more...)
}

// TestControllersAreCompared: with as many nodes lost as maxUnavailable, the DaemonSet controller stands still, and a controller with a
// policy goes on; and the first lines say whose behaviour they show.
func TestControllersAreCompared(t *testing.T) {
	code, stdout, stderr := call(2, false, lostNodes(t, "simulate", "--controller", "kubernetes", "--controller", "daemonplan")...)
	if code != exit.Negative || !strings.Contains(stderr, "set by kubernetes: this controller does not obey the policy of the annotation") {
		t.Errorf("exit code %d, %s", code, stderr)
	}
	golden(t, "controllers.txt", stdout)
}

// TestControllersThatLoseNoTime: what a budget can do is asked of the controller that runs. Three nodes that were down before the
// rollout keep no answer from being given: of the others the DaemonSet controller takes one at a time with maxUnavailable 4.
func TestControllersThatLoseNoTime(t *testing.T) {
	for controller, want := range map[string]string{
		"kubernetes": "As the DaemonSet controller of Kubernetes does it.\nmaxUnavailable 4 meets 10m.",
		"daemonplan": "As a controller does it that plans with daemonplan, not as the DaemonSet controller of Kubernetes.\n" +
			"maxUnavailable 1 meets 10m.",
	} {
		got := answer(t, lostNodes(t, "suggest", "--controller", controller, "--seeds", "3", "--deadline", "10m")...)
		if !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s", controller, got)
		}
	}
	// A gate judges the nodes that can be reached, and a rollout that stands still passes none.
	if code, _, stderr := call(2, false, lostNodes(t, "simulate", "--controller", "daemonplan", "--fail-if", "p90>5m")...); code != 0 {
		t.Errorf("exit code %d, %s", code, stderr)
	}
	code, _, stderr := call(2, false, lostNodes(t, "simulate", "--controller", "daemonplan", "--fail-if", "p90>20s")...)
	if code != exit.Negative || !strings.Contains(stderr, "nine of ten runs until every node that can be reached is updated: 1m") {
		t.Errorf("exit code %d, %s", code, stderr)
	}
	code, stdout, _ := call(2, false, lostNodes(t, "forecast", "--seeds", "2")...)
	found := strings.Contains(strings.Join(strings.Fields(stdout), " "), "that can be reached "+strings.Repeat("never ", 3)+"waves")
	if code != exit.Negative || !found {
		t.Errorf("exit code %d, %s", code, stdout)
	}
}

// TestDownBeforeIsNotTaken: what the rollout took down is judged apart from the nodes that were down before.
func TestDownBeforeIsNotTaken(t *testing.T) {
	for gate, want := range map[string]string{
		"peak>3":  "",
		"peak>=3": "error: --fail-if 'peak>=3': set: at most 3 nodes are down at once (18.8 %), beside those that were down before\n",
		"down>6":  "",
		"down>5":  "error: --fail-if 'down>5': set: at most 6 nodes are down at once (37.5 %), with those that were down before\n",
	} {
		code, _, stderr := call(2, false, lostNodes(t, "simulate", "--controller", "daemonplan", "--fail-if", gate)...)
		if failed := code != 0; failed != (want != "") || failed && !strings.Contains(stderr, want) {
			t.Errorf("--fail-if %s: exit code %d, %s", gate, code, stderr)
		}
	}
}

func TestControllersAreRefused(t *testing.T) {
	kruise := filepath.Join(t.TempDir(), "kruise.yaml")
	text := strings.Replace(threeAtOnce, "apps/v1", "apps.kruise.io/v1alpha1", 1)
	if err := os.WriteFile(kruise, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		want string
		args []string
	}{
		{"it is kubernetes, the DaemonSet controller of Kubernetes, kruise, that of OpenKruise, eds, that of ExtendedDaemonSets, or daemonplan", lostNodes(t, "simulate", "--controller", "helm")},
		{"there is no spec other", lostNodes(t, "simulate", "--controller", "other=kubernetes")},
		{"--controller kubernetes is given twice", lostNodes(t, "forecast", "--controller", "kubernetes", "--controller", "kubernetes")},
		{
			"suggest answers for one --controller",
			lostNodes(t, "suggest", "--deadline", "1m", "--controller", "kubernetes", "--controller", "daemonplan"),
		},
		{"is of kind apps.kruise.io DaemonSet", []string{"simulate", "--nodes", "3", "--spec", kruise, "--controller", "kubernetes"}},
	} {
		if code, _, stderr := call(2, false, test.args...); code != exit.Failed || !strings.Contains(stderr, test.want) {
			t.Errorf("%v: exit code %d, %s", test.args, code, stderr)
		}
	}
}
