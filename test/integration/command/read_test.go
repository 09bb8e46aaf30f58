package command

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// A DaemonSet that the DaemonSet controller runs: at rest, and when an update crashes on the first nodes.
func TestReads(t *testing.T) {
	w := newWorld(t)
	w.apply(set("v1", "small"))
	w.installed(5)
	w.says(w.daemonplan("plan"), 0, "agent   5         5         5       5            5", "Running (RolloutComplete): 5 of 5 nodes updated and available", "Nothing to do now.")
	w.says(w.daemonplan("get ds/agent"), 0, "agent   5         5         5       5            5           Running   agent-")
	w.says(w.daemonplan("pods"), 0, "0 pods are not ready.")
	w.says(w.daemonplan("revisions daemonset.apps/agent"), 0, "active   5         5         5       5")
	w.says(w.daemonplan("explain w-2"), 0, "w-2.eu.example: updated; nothing to do")
	w.says(w.daemonplan("explain agent w-1 w-5"), 0, "w-1.eu.example: updated", "\nw-5: updated")
	w.says(w.daemonplan("diff"), 0, "the update restarts nothing")
	w.says(w.daemonplan("rollout status"), 0, "5 of 5 nodes updated and available")

	w.tag("broken")
	w.eventually("two pods crash", func() error {
		if n := strings.Count(w.daemonplan("pods").stdout, "CrashLoopBackOff"); n != 2 {
			return fmt.Errorf("%d do", n)
		}
		return nil
	})
	w.says(w.daemonplan("plan"), 0, "Updating (WaitingForAvailability): 0 of 5 nodes updated and available, 3 waiting for the budget",
		"maxUnavailable 2 is used up by w-")
	w.says(w.daemonplan("get"), 0, "Updating")
	w.says(w.daemonplan("revisions"), 0, "active   5         2         0       0", "old      0         3         3       3")
	w.says(w.daemonplan("diff"), 1, "3 pods are at revision 1", `spec.containers[agent].image: "registry.example/agent:v1" -> "registry.example/agent:broken" (restarts)`)
	w.says(w.daemonplan("pods"), 0, "2 pods are not ready.", "0/1     Running")
	crashing := regexp.MustCompile(`(?m)^(w-\d)\S*.*CrashLoopBackOff`).FindStringSubmatch(w.daemonplan("pods").stdout)
	w.says(w.daemonplan("explain "+crashing[1]), 0, crashing[1], "CrashLoopBackOff", "exit code 1")
	w.says(w.daemonplan("plan -o json"), 0, `"reason": "WaitingForAvailability"`, `"waiting": 3`)
}

// The plan of a change names the revision that the DaemonSet controller then makes, and nothing of it is stored.
func TestRevisionOfChange(t *testing.T) {
	w := newWorld(t)
	w.apply(set("v1", "small"))
	w.installed(5)
	before := w.daemonSet().ResourceVersion
	plan := w.daemonplan("plan --change " + w.file("v2.yaml", set("v2", "small")))
	w.says(plan, 0, "v2.yaml: document 1 (DaemonSet "+w.namespace+"/agent), as the API server would store it (dry run)",
		"5 nodes are updated:", `"registry.example/agent:v1" -> "registry.example/agent:v2" (restarts)`)
	name := regexp.MustCompile(`Create revision (\S+) \(number 2\)`).FindStringSubmatch(plan.stdout)
	if name == nil {
		t.Fatal(plan.stdout)
	}
	if after := w.daemonSet().ResourceVersion; after != before {
		t.Errorf("resourceVersion %s, was %s", after, before)
	}
	w.tag("v2")
	w.installed(5)
	var made appsv1.ControllerRevision
	if err := w.Get(w.Context(), client.ObjectKey{Namespace: w.namespace, Name: name[1]}, &made); err != nil || made.Revision != 2 {
		t.Errorf("revision %d: %v", made.Revision, err)
	}
}

// A node that is not ready, and one that has gone.
func TestNodes(t *testing.T) {
	w := newWorld(t)
	w.apply(set("v1", "small"))
	w.installed(5)
	var node corev1.Node
	if err := w.Get(w.Context(), client.ObjectKey{Name: "w-3.eu.example"}, &node); err != nil {
		t.Fatal(err)
	}
	ready := node.DeepCopy()
	node.Status.Conditions[0].Status, node.Status.Conditions[0].Reason = corev1.ConditionFalse, "KubeletNotReady"
	node.Status.Conditions[0].Message = "container runtime is down"
	node.Status.Conditions[0].LastTransitionTime = metav1.Now()
	if err := w.Status().Update(t.Context(), &node); err != nil {
		t.Fatal(err)
	}
	w.says(w.daemonplan("explain w-3"), 0, "w-3.eu.example: ", "NotReady", "container runtime is down")
	ready.ResourceVersion = node.ResourceVersion
	if err := w.Status().Update(t.Context(), ready); err != nil {
		t.Fatal(err)
	}
	w.says(w.daemonplan("explain w-7"), 2, `there is no node "w-7"; did you mean w-1.eu.example, `)
}
