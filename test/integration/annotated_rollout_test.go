package integration_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/examples/controller/controller"
	"github.com/daemonplan/daemonplan/test/integration/controlplane"
)

// Each pod is replaced once, within the budget; what we write into the annotations makes no new generation.
func (w *annotated) rollsOut() {
	sent := w.install(`{"maxUnavailable": 2}`)
	w.change(tag("v2"))
	w.rolledOut(6)
	w.endedSoundly(6, 2)
	if _, _, peak := w.counts(); peak == 0 {
		w.Error("the auditor has seen no node without a serving pod")
	}
	if n := sent.deletes.Load(); n != 6 || sent.actions() != n {
		w.Errorf("our controller has sent %v; want 6 deletes, and annotations", sent)
	}
	if generation := w.current().Generation; generation != 2 {
		w.Errorf("generation %d, want one for each of the two templates", generation)
	}
}

// The nodes that come first by name wait until the partition lets them go.
func (w *annotated) holdsPartition() {
	w.install(`{"maxUnavailable": 2, "partition": 4}`)
	w.change(tag("v2"))
	w.updated(2, "")
	w.stands(2)
	for node, tag := range w.tags() {
		if held := node < w.node(4); held != (tag == "v1") {
			w.Errorf("node %s runs %s", node, tag)
		}
	}
	w.change(strategy(`{"maxUnavailable": 2, "partition": 1}`))
	w.updated(5, "")
	w.stands(5)
	w.change(strategy(`{"maxUnavailable": 2}`))
	w.rolledOut(6)
	w.endedSoundly(6, 2)
}

// A pod that is lost meanwhile comes back at the newest template, because the DaemonSet controller knows no other.
func (w *annotated) pauses() {
	w.install(`{"maxUnavailable": 2}`)
	w.change(tag("v2"), strategy(`{"maxUnavailable": 2, "paused": true}`))
	w.updated(0, "Paused")
	w.stands(0)
	if err := w.Delete(w.Context(), w.pods()[w.node(3)]); err != nil {
		w.Fatal(err)
	}
	w.updated(1, "Paused")
	w.stands(1)
	if tag := w.tags()[w.node(3)]; tag != "v2" {
		w.Errorf("the lost pod came back at %s", tag)
	}
	w.change(strategy(`{"maxUnavailable": 2}`))
	w.rolledOut(6)
	w.endedSoundly(6, 2)
}

func (w *annotated) holdsNodes() {
	for _, i := range []int{0, 3} {
		w.editNode(w.node(i), func(n *corev1.Node) { n.Labels["wave"] = "first" })
	}
	w.install(`{"maxUnavailable": 2, "nodeSelector": {"matchLabels": {"wave": "first"}}}`)
	w.change(tag("v2"))
	w.updated(2, "")
	w.stands(2)
	for node, tag := range w.tags() {
		if first := node == w.node(0) || node == w.node(3); first != (tag == "v2") {
			w.Errorf("node %s runs %s", node, tag)
		}
	}
	w.change(strategy(`{"maxUnavailable": 2}`))
	w.rolledOut(6)
	w.endedSoundly(6, 2)
}

// The pods stay, and the DaemonSet controller takes them for updated. Another change is too much, and replaces them.
func (w *annotated) updatesInPlace() {
	w.install(`{"maxUnavailable": 2, "method": "InPlaceIfPossible"}`, gate)
	before := w.pods()
	w.change(tag("v2"))
	w.rolledOut(6)
	for node, pod := range w.pods() {
		if pod.UID != before[node].UID || pod.Spec.Containers[0].Image != "registry.example/agent:v2" {
			w.Errorf("%s: pod %s runs %s, want the same pod with the new image", node, pod.Name, pod.Spec.Containers[0].Image)
		}
	}
	if created, deleted, peak := w.counts(); created != 0 || deleted != 0 || peak == 0 || peak > 2 {
		w.Errorf("%d pods created, %d deleted, %d nodes without a serving pod at a time; want 0, 0, and 1 or 2", created, deleted, peak)
	}
	w.change(tag("v1"))
	w.rolledOut(6)
	if created, deleted, _ := w.counts(); created != 0 || deleted != 0 {
		w.Errorf("%d pods created and %d deleted while it was rolled back, want none", created, deleted)
	}
	w.audit.Begin()
	w.change(func(ds *appsv1.DaemonSet) { ds.Spec.Template.Spec.Containers[0].Args = []string{"-v"} })
	w.rolledOut(6)
	w.endedSoundly(6, 2)
}

// A template that was there before is the newest again: no third revision, and only the nodes that left it go back.
func (w *annotated) rollsBack() {
	w.install(`{"maxUnavailable": 2, "partition": 3}`)
	w.change(tag("v2"))
	w.updated(3, "")
	w.audit.Begin()
	w.change(tag("v1"), strategy(`{"maxUnavailable": 2}`))
	w.rolledOut(6)
	w.endedSoundly(3, 2)
	if n := len(w.revisions()); n != 2 {
		w.Errorf("%d revisions, want the two templates that there were", n)
	}
}

// Pods that crash use the budget up; a template that is mended goes to their nodes first, and then on.
func (w *annotated) stopsAtBroken() {
	w.install(`{"maxUnavailable": 2}`)
	w.change(tag("broken"))
	broken := func() (n int) {
		for _, tag := range w.tags() {
			if tag == "broken" {
				n++
			}
		}
		return n
	}
	w.eventually("two nodes with a pod that crashes", func() error {
		if n := broken(); n != 2 {
			return fmt.Errorf("%d", n)
		}
		return nil
	})
	w.stays("two broken nodes", 2*time.Second, func() error {
		if n := broken(); n > 2 {
			return fmt.Errorf("%d", n)
		}
		return nil
	})
	if state := w.current().Annotations[controller.StateAnnotation]; !strings.Contains(state, "maxUnavailable") {
		w.Errorf("ours says %s, want what the rollout waits for", state)
	}
	w.change(tag("v3"))
	w.rolledOut(6)
	w.endedSoundly(8, 2)
}

// While a rollout is under way, a node comes, one is no longer wanted, and one evicts its pod: the DaemonSet controller deletes the
// pods of these, perhaps together with us.
func (w *annotated) nodesComeAndGo() {
	w.install(`{"maxUnavailable": 2}`)
	w.change(tag("v2"))
	w.begun()
	w.addNode(w.namespace + "-more")
	w.editNode(w.node(0), func(n *corev1.Node) { delete(n.Labels, "world") })
	w.editNode(w.node(3), func(n *corev1.Node) {
		n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: "dedicated", Effect: corev1.TaintEffectNoExecute})
	})
	w.rolledOut(5)
	if created, _, _ := w.counts(); created > 7 {
		w.Errorf("%d pods created, want at most one for each node", created)
	}
	if err := w.audit.Sound(); err != nil {
		w.Error(err)
	}
	w.noWarnings()
}

func (w *annotated) noWarnings() {
	w.Helper()
	if warnings := w.warnings(); len(warnings) > 0 {
		w.Errorf("our controller warns: %q", warnings)
	}
}

// What the README of the controller has people type does what it says, and the way back too: a DaemonSet that is there is taken over,
// and none of its pods is touched for that.
func (w *annotated) isAdoptedByKubectl() {
	binary, err := controlplane.Binary("kubectl")
	if err != nil {
		w.Skip(err)
	}
	kubectl := func(line string) string {
		w.Helper()
		command := exec.CommandContext(w.Context(), "/bin/sh", "-c", `kubectl() { "$KUBECTL" -n "$NAMESPACE" "$@"; }; `+line)
		command.Env = append(os.Environ(), "KUBECTL="+binary, "NAMESPACE="+w.namespace, "KUBECONFIG="+w.theirs.cluster.Kubeconfig)
		out, err := command.CombinedOutput()
		if err != nil {
			w.Fatalf("%s: %v\n%s", line, err, out)
		}
		return string(out)
	}
	text, err := os.ReadFile(filepath.Join("..", "..", "examples", "controller", "README.md"))
	if err != nil {
		w.Fatal(err)
	}
	_, text, _ = bytes.Cut(text, []byte("\n## DaemonSets of apps/v1\n"))
	_, text, _ = bytes.Cut(text, []byte("```sh\n"))
	text, _, _ = bytes.Cut(text, []byte("```"))
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if len(lines) != 4 {
		w.Fatalf("the README has %d lines to type: %q", len(lines), lines)
	}

	w.set("", func(ds *appsv1.DaemonSet) {
		delete(ds.Annotations, controller.StrategyAnnotation)
		ds.Spec.UpdateStrategy.Type = appsv1.RollingUpdateDaemonSetStrategyType
	})
	w.runOurs()
	w.eventually("6 pods of the DaemonSet controller", func() error {
		if n := w.current().Status.NumberAvailable; n != 6 {
			return fmt.Errorf("%d", n)
		}
		return nil
	})
	w.audit.Begin()
	kubectl(lines[0])
	kubectl(lines[1])
	w.rolledOut(6)
	if created, deleted, _ := w.counts(); created+deleted > 0 {
		w.Errorf("%d pods created and %d deleted because another controller took over", created, deleted)
	}
	kubectl(lines[2])
	w.rolledOut(6)
	w.endedSoundly(6, 1)
	if state := kubectl(lines[3]); state != "Running" {
		w.Errorf("the last line shows %q", state)
	}
	kubectl("kubectl rollout undo daemonset agent")
	w.rolledOut(6)
	w.endedSoundly(12, 1)
	for node, tag := range w.tags() {
		if tag != "v1" {
			w.Errorf("node %s runs %s after it was undone", node, tag)
		}
	}
}
