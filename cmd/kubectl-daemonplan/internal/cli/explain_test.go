package cli

import (
	"strings"
	"testing"
)

// troubled is a pod of smallSet on node a, with that status.
func troubled(status string) string {
	return ownedPod("x") + "status: " + status + "\n"
}

func TestExplainCauses(t *testing.T) {
	now := []string{"-f", "-", "--now", "2026-03-02T09:15:00Z"}
	for _, c := range []struct {
		name, why, node, pod string
		want                 string // the lines after the first
	}{
		{"crashes", "the reason, how often, and how it ended", smallNode,
			troubled(`{phase: Running, containerStatuses: [{name: agent, image: agent:v1, restartCount: 17,
 state: {waiting: {reason: CrashLoopBackOff, message: back-off 5m0s restarting failed container}},
 lastState: {terminated: {exitCode: 137, reason: OOMKilled, finishedAt: "2026-03-02T09:13:00Z"}}}]}`),
			"  pod agent-x: container agent: CrashLoopBackOff: back-off 5m0s restarting failed container, last OOMKilled with exit code 137, 17 restarts\n"},
		{"image", "which one", smallNode,
			troubled(`{phase: Pending, containerStatuses: [{name: agent, image: "agent:v9", state: {waiting: {reason: ImagePullBackOff, message: Back-off pulling image "r.example/agent:v9"}}}]}`),
			"  pod agent-x: container agent: ImagePullBackOff: Back-off pulling image \"r.example/agent:v9\"\n"},
		{"image without a message", "the kubelet's own name of it", smallNode,
			troubled(`{phase: Pending, containerStatuses: [{name: agent, image: "agent:v9", state: {waiting: {reason: ErrImagePull}}}]}`),
			"  pod agent-x: container agent: ErrImagePull: image agent:v9\n"},
		{"init container", "it is a container, too", smallNode,
			troubled(`{phase: Pending, initContainerStatuses: [{name: setup, state: {terminated: {exitCode: 1, reason: Error}}}], containerStatuses: [{name: agent, state: {waiting: {reason: PodInitializing}}}]}`),
			"  pod agent-x: container setup: Crashed, last Error with exit code 1\n"},
		{"not ready", "after a restart", smallNode,
			troubled(`{phase: Running, containerStatuses: [{name: agent, restartCount: 1, state: {running: {}}, lastState: {terminated: {exitCode: 2}}}]}`),
			"  pod agent-x: container agent runs, and is not ready, last exit code 2, 1 restart\n"},
		{"unschedulable", "what the scheduler says", smallNode,
			troubled(`{phase: Pending, conditions: [{type: PodScheduled, status: "False", reason: Unschedulable, message: "0/1 nodes are available: 1 Insufficient cpu."}]}`),
			"  pod agent-x: Unschedulable: 0/1 nodes are available: 1 Insufficient cpu\n"},
		{"evicted", "what the kubelet says", smallNode, troubled(`{phase: Failed, reason: Evicted, message: The node was low on memory.}`),
			"  pod agent-x: Evicted: The node was low on memory\n"},
		{"node", "since when", smallNode + `status: {conditions: [{type: Ready, status: Unknown, lastTransitionTime: "2026-03-02T08:03:00Z", reason: NodeStatusUnknown, message: Kubelet stopped posting node status.}]}` + "\n",
			troubled(`{phase: Running, conditions: [{type: Ready, status: "True"}]}`),
			"  node NotReady since 2026-03-02T08:03:00Z (1h12m): NodeStatusUnknown: Kubelet stopped posting node status.\n"},
		{"nothing", "a pod that is ready has no cause", smallNode,
			troubled(`{phase: Running, conditions: [{type: Ready, status: "True"}], containerStatuses: [{name: agent, ready: true, restartCount: 3, state: {running: {}}, lastState: {terminated: {exitCode: 2}}}]}`), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.name == "" || c.why == "" {
				t.Fatal("a row needs a name and a reason")
			}
			out := answers(t, join(smallSet, c.node, c.pod), append([]string{"explain", "a"}, now...)...)
			first, rest, _ := strings.Cut(out, "\n")
			if !strings.HasPrefix(first, "a: ") || rest != c.want {
				t.Errorf("%s: got\n%s\nwant\n%s", c.why, out, c.want)
			}
		})
	}
}

// The policy in the set's annotation is in force, and the sign that a node departs by is named, with the time since when.
func TestPolicyOfTheAnnotation(t *testing.T) {
	policied := strings.Replace(smallSet, "metadata: {", "metadata: {annotations: {daemonplan.io/policy: 'outages: {maxExempt: 1, conditions: [Draining]}'}, ", 1)
	if policied == smallSet {
		t.Fatal("the set has no annotation")
	}
	const maintained = smallNode + `status: {conditions: [{type: Ready, status: "True"}, {type: Draining, status: "True", lastTransitionTime: "2026-03-02T08:03:00Z", reason: Kernel}]}` + "\n"
	lifecycleOf := func(kind string) string { return strings.Replace(maintained, "Draining", kind, 1) }
	now := []string{"-f", "-", "--now", "2026-03-02T09:15:00Z"}
	for _, c := range []struct{ name, why, stdin, want string }{
		{"condition", "one that the policy names", join(policied, maintained), "a: missing; waits: the node is leaving the cluster or under maintenance: " +
			"no pod is created or deleted there until that ends; is left out of the budget until the node is back: it is down or departing, and its update is not the cause (maxExempt 1, 1 used)\n" +
			"  node departing: condition Draining since 2026-03-02T08:03:00Z (1h12m): Kernel\n"},
		{"no policy", "nobody looks at the sign", join(smallSet, maintained), "a: missing; create a pod: the node is eligible and has no pod; counts against maxUnavailable\n"},
		{"taint", "one that every policy looks at", join(policied, smallNode+
			`spec: {taints: [{key: ToBeDeletedByClusterAutoscaler, effect: PreferNoSchedule, timeAdded: "2026-03-02T09:00:00Z"}]}`+"\n"),
			"a: missing; waits: the node is leaving the cluster or under maintenance: no pod is created or deleted there until that ends; " +
				"is left out of the budget until the node is back: it is down or departing, and its update is not the cause (maxExempt 1, 1 used)\n" +
				"  node departing: taint ToBeDeletedByClusterAutoscaler since 2026-03-02T09:00:00Z (15m)\n"},
		{"drain", "why no update would be begun", join(policied, lifecycleOf("DrainInProgress")), "a: missing; create a pod: the node is eligible and has no pod; " +
			"counts against maxUnavailable\n  node draining: condition DrainInProgress since 2026-03-02T08:03:00Z (1h12m): Kernel\n"},
		{"planned", "it stops nothing, with or without a policy", join(smallSet, lifecycleOf("MaintenancePlanned")),
			"a: missing; create a pod: the node is eligible and has no pod; counts against maxUnavailable\n" +
				"  node maintenance is planned, which stops nothing: condition MaintenancePlanned since 2026-03-02T08:03:00Z (1h12m): Kernel\n"},
	} {
		if _, out, _ := strings.Cut(ours(t, c.stdin, append([]string{"explain", "a"}, now...)...), "\n"); !strings.HasPrefix(out, c.want) {
			t.Errorf("%s: %s: got\n%s\nwant\n%s", c.name, c.why, out, c.want)
		}
	}
	out := ours(t, join(policied, maintained), append([]string{"plan"}, now...)...)
	if !strings.Contains(out, "Left out of the budget: 1 node, of at most 1 (maxExempt: they are down or departing, and their update is not the cause): a\n") {
		t.Errorf("plan: got\n%s", out)
	}
	code, stdout, stderr := call(join(strings.Replace(policied, "maxExempt: 1", "maxexempt: 1", 1), maintained), append([]string{"plan"}, now...)...)
	const mistake = "metadata.annotations[daemonplan.io/policy].outages.maxexempt: Forbidden: unknown field; known are conditions, maxExempt, provenAfter, taints, touch (line 1 of it)"
	if code != 2 || stdout != "" || !strings.Contains(stderr, mistake) {
		t.Errorf("exit code %d, %q, %q", code, stdout, stderr)
	}
}

// Simulations have the policy, too: the node that is down when the rollout begins does not use up the budget, so that another one
// is begun.
func TestPolicyInSimulations(t *testing.T) {
	set := func(annotations, image string) string {
		return "apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: agent, annotations: {" + annotations + "}}\nspec:\n" +
			"  selector: {matchLabels: {app: agent}}\n  template:\n    metadata: {labels: {app: agent}}\n" +
			"    spec: {tolerations: [{operator: Exists}], containers: [{name: agent, image: \"" + image + "\"}]}\n"
	}
	dir := files(t, map[string]string{
		"v1.yaml":      set("", "agent:v1"),
		"without.yaml": set("", "agent:v2"),
		"with.yaml":    set("daemonplan.io/policy: 'outages: {maxExempt: 1}'", "agent:v2"),
		"bad.yaml":     set("daemonplan.io/policy: 'outages: {maxExempt: [1]}'", "agent:v2"),
		"world.yaml":   "events:\n- {at: 0s, what: NodeNotReady, node: node-00002}\n",
	})
	for spec, want := range map[string]string{
		"without": "without: stuck: 0 of 6 nodes have the new version", "with": "with: complete but for 1 node that was down before: the new version is on 5 of 6 nodes",
		"bad": "metadata.annotations[daemonplan.io/policy].outages.maxExempt: Invalid value: ",
	} {
		_, stdout, stderr := call("", "simulate", "--controller", "daemonplan", "--nodes", "6", "--from", dir+"/v1.yaml", "--spec", dir+"/"+spec+".yaml", "--world", dir+"/world.yaml", "--until", "1h")
		if !strings.Contains(stdout+stderr, want) {
			t.Errorf("%s: got\n%s\n%s\nwant %s", spec, stdout, stderr, want)
		}
	}
}

func TestExplainHostNames(t *testing.T) {
	node := func(name string) string { return strings.Replace(smallNode, "name: a", "name: "+name, 1) }
	stdin := join(smallSet, node("node-17.eu.example"), node("node-18.eu.example"), node("node-18.us.example"), node("node-19"), node("node-19.eu.example"))
	for _, c := range []struct{ name, why, node, want string }{
		{"full name", "as it is", "node-17.eu.example", "node-17.eu.example: "},
		{"host name", "said, and taken", "node-17", "node-17 is taken for node-17.eu.example.\nnode-17.eu.example: "},
		{"with a part of the domain", "the same", "node-17.eu", "node-17.eu is taken for node-17.eu.example.\n"},
		{"exact", "before any other", "node-19", "node-19: "},
		{"two hosts", "a choice", "node-18", `error: there is no node "node-18"; did you mean node-18.eu.example or node-18.us.example?` + "\n"},
		{"not a whole name", "no node is guessed", "node-1", `error: there is no node "node-1"; did you mean node-17.eu.example, node-18.eu.example or node-18.us.example?` + "\n"},
		{"misspelt", "a suggestion", "nod-17", `error: there is no node "nod-17"; did you mean node-17.eu.example, `},
		{"nothing like it", "a list", "gateway", `error: there is no node "gateway" among the 5 nodes: node-17.eu.example, `},
	} {
		_, stdout, stderr := call(stdin, "explain", c.node, "-f", "-")
		_, stdout, _ = strings.Cut(stdout, "\n")
		if !strings.HasPrefix(stdout+stderr, c.want) {
			t.Errorf("%s (%s): got %q %q, want %q", c.name, c.why, stdout, stderr, c.want)
		}
	}
}

// TestExplainSeveral names sets and nodes in every way.
func TestExplainSeveral(t *testing.T) {
	b := strings.Replace(smallNode, "name: a", "name: b", 1)
	stdin := join(smallSet, smallNode, b)
	for _, args := range [][]string{{"a", "b"}, {"agent", "a", "b"}, {"ds/agent", "a", "b"}} {
		out := answers(t, stdin, append(append([]string{"explain"}, args...), "-f", "-")...)
		if !strings.HasPrefix(out, "a: ") || !strings.Contains(out, "\nb: ") || strings.Count(out, "Warning: ") != 1 {
			t.Errorf("%q: %s", args, out)
		}
	}
	two := join(stdin, strings.Replace(smallSet, "name: agent,", "name: other,", 1))
	for want, args := range map[string][]string{
		"error: there is no set a; there are: daemonset.apps/agent (-n web), daemonset.apps/other (-n web)\n":             {"a", "b"},
		"error: there are several sets; name one of them: daemonset.apps/agent (-n web), daemonset.apps/other (-n web)\n": {"a"},
	} {
		if code, _, stderr := call(two, append(append([]string{"explain"}, args...), "-f", "-")...); code != 2 || stderr != want {
			t.Errorf("%q: exit code %d, %q, want %q", args, code, stderr, want)
		}
	}
}

// TestCompletion asks for names as a shell does.
func TestCompletion(t *testing.T) {
	for _, c := range []struct {
		name, why string
		args      []string
		want      []string
	}{
		{"sets", "of the input", []string{"get", "--example", "kubernetes", ""}, []string{"daemonset/node-agent"}},
		{"sets of OpenKruise", "with their group", []string{"rollout", "status", "--example", "kruise", ""}, []string{"daemonset.apps.kruise.io/log-agent"}},
		{"nodes", "and sets", []string{"explain", "--example", "eds", ""}, []string{"extendeddaemonset.datadoghq.com/foo", "kind-control-plane", "kind-worker", "kind-worker2"}},
		{"nodes after a set", "no set", []string{"explain", "--example", "eds", "eds/foo", ""}, []string{"kind-control-plane", "kind-worker", "kind-worker2"}},
		{"nothing more", "there is one set", []string{"get", "--example", "eds", "foo", ""}, nil},
		{"fleets", "by name", []string{"plan", "--example", ""}, []string{"kubernetes", "kruise", "eds"}},
		{"formats", "by name", []string{"plan", "-o", ""}, []string{"table", "wide", "json", "yaml", "jsonpath="}},
		{"commands", "with their help lines", []string{"canary", "f"}, []string{"fail\tGive the revision on trial up: all nodes go back to the stable one"}},
	} {
		_, stdout, _ := call("", append([]string{"__complete"}, c.args...)...)
		lines := strings.Split(strings.TrimSpace(stdout), "\n")
		if got := lines[:len(lines)-1]; strings.Join(got, ";") != strings.Join(c.want, ";") {
			t.Errorf("%s (%s): %q, want %q", c.name, c.why, got, c.want)
		}
	}
}

func TestDiffIgnoresLeftovers(t *testing.T) {
	revision := strings.NewReplacer("{spec: 5}", "{spec: {template: {$patch: replace, metadata: {creationTimestamp: null, labels: {app: agent}}, "+
		"spec: {containers: [{name: agent, image: agent:v0, resources: {}}]}}}}").Replace(smallRevision)
	pod := strings.Replace(ownedPod("x"), "app: agent}", "app: agent, controller-revision-hash: abc}", 1)
	out := plans(t, join(smallSet, smallNode, revision, pod), "diff", "-f", "-")
	if !strings.Contains(out, " 1 value changes, and pods restart:\n") || strings.Contains(out, "creationTimestamp") {
		t.Errorf("the timestamp that old versions left in revisions counts:\n%s", out)
	}
}
