package cli

import (
	"strings"
	"testing"
)

const smallEDS = `apiVersion: datadoghq.com/v1alpha1
kind: ExtendedDaemonSet
metadata: {name: foo, uid: e-1}
spec:
  template:
    spec: {containers: [{name: daemon, image: "pause:3.1"}]}
`

// smallSetting is a setting of the set that gives the container "daemon" half a core everywhere.
func smallSetting(name, set string) string {
	return `apiVersion: datadoghq.com/v1alpha1
kind: ExtendedDaemonsetSetting
metadata: {name: ` + name + `, creationTimestamp: "2026-01-01T00:00:00Z"}
spec:
  reference: {kind: ExtendedDaemonset, name: ` + set + `}
  nodeSelector: {}
  containers: [{name: daemon, resources: {requests: {cpu: 500m}}}]
`
}

// oldPod is a pod of the DaemonSet "old", which smallEDS may take over from, or with another kind a pod of its own replica set.
func oldPod(apiVersion, kind string) string {
	return `apiVersion: v1
kind: Pod
metadata: {name: old-x, uid: p-old, labels: {extendeddaemonset.datadoghq.com/name: foo}, ownerReferences: [{apiVersion: ` + apiVersion +
		`, kind: ` + kind + `, name: old, uid: o-1, controller: true}]}
spec: {nodeName: a, containers: [{name: daemon, image: "pause:3.0"}]}
status: {phase: Running, conditions: [{type: Ready, status: "True"}]}
`
}

const oldSet = `apiVersion: apps/v1
kind: DaemonSet
metadata: {name: old, uid: o-1}
spec:
  selector: {matchLabels: {app: old}}
  template:
    metadata: {labels: {app: old}}
    spec: {containers: [{name: daemon, image: "pause:3.0"}]}
`

func TestEDSOutput(t *testing.T) {
	follows := strings.Replace(smallEDS, "uid: e-1", "uid: e-1, annotations: {extendeddaemonset.datadoghq.com/old-daemonset: old}", 1)
	node := func(annotations string) string {
		return "apiVersion: v1\nkind: Node\nmetadata: {name: a, annotations: {" + annotations + "}}\n"
	}
	const key = "resources.extendeddaemonset.datadoghq.com/default.foo.daemon"
	second := "apiVersion: v1\nkind: Node\nmetadata: {name: b}\n"
	unreachable := "apiVersion: v1\nkind: Node\nmetadata: {name: u}\nstatus: {conditions: [{type: Ready, status: Unknown}]}\n"
	for _, c := range []struct {
		name, why string
		stdin     string
		args      []string
		want      []string // what the output contains
	}{
		{"setting", "the pod gets other resources", join(smallEDS, smallNode, smallSetting("a", "foo")), nil, []string{"; cpu request of daemon 500m\n"}},
		{"setting in JSON", "the same", join(smallEDS, smallNode, smallSetting("a", "foo")), []string{"-o", "json"}, []string{`"cpu": "500m"`}},
		{"setting for another set", "no concern of this one", join(smallEDS, smallNode, smallSetting("a", "bar")), nil, []string{"Missing: the node is eligible and has no pod\n"}},
		{"annotation", "of the node", join(smallEDS, node(key+`: '{"limits": {"memory": "1Gi"}}'`)), nil, []string{"; memory limit of daemon 1Gi\n"}},
		{"annotation that takes away", "none is a value too",
			join(strings.Replace(smallEDS, `"pause:3.1"`, `"pause:3.1", resources: {limits: {cpu: 1}}`, 1), node(key+`: '{}'`)), nil, []string{"; no limits and requests of daemon\n"}},
		{"conflict", "the winner is named", join(smallEDS, smallNode, second, smallSetting("a", "foo"), strings.Replace(smallSetting("b", "foo"), "500m", "2", 1)), nil,
			[]string{"\nOverrides: settings b and a both give resources to daemon on 2 nodes, the first of them a; the newer one, b, counts.\n"}},
		{"conflict in JSON", "the same", join(smallEDS, smallNode, smallSetting("a", "foo"), strings.Replace(smallSetting("b", "foo"), "500m", "2", 1)), []string{"-o", "json"},
			[]string{`"winner": "b",`, `"loser": "a"`}},
		{"malformed annotation", "it counts for nothing on that node", join(smallEDS, node(key+": 5 cores")), nil,
			[]string{"\nOverrides: annotation of node a for the resources of daemon cannot be read, and counts for nothing: "}},
		{"setting with a mistake", "the others count", join(smallEDS, smallNode, smallSetting("a", "foo"), strings.Replace(smallSetting("b", "foo"), "500m", "lots", 1)), nil,
			[]string{"Warning: ignored setting: standard input: document 4: ", "; cpu request of daemon 500m\n"}},
		{"set that is followed, in the dump", "its pods count as outdated, and none is doubled", join(follows, oldSet, smallNode, second, oldPod("apps/v1", "DaemonSet")),
			[]string{"plan", "foo"}, []string{"1 pod is of another controller, which this set takes over from", "Create 1 pod:\n  b  "}},
		{"set that is followed, gone", "its pods say whose they were", join(follows, smallNode, second, oldPod("apps/v1", "DaemonSet")), nil,
			[]string{"1 pod is of another controller, which this set takes over from", "Create 1 pod:\n  b  "}},
		{"own replica sets", "the same, when this library takes over", join(smallEDS, smallNode, second, oldPod("datadoghq.com/v1alpha1", "ExtendedDaemonSetReplicaSet")), nil,
			[]string{"1 pod is of another controller, which this set takes over from", "Create 1 pod:\n  b  "}},
		{"another controller", "it is somebody else's", join(smallEDS, smallNode, oldPod("apps/v1", "DaemonSet")), nil,
			[]string{"Warning: 1 pod matches the selector but belongs to another controller, as old-x does to DaemonSet old."}},
		{"not created yet", "says which kind", join(strings.Replace(smallEDS, ", uid: e-1", "", 1), smallNode, oldPod("apps/v1", "DaemonSet")), nil,
			[]string{"; the ExtendedDaemonSet in the input has no uid.\n"}},
		{"slow start", "the limit of now", join(smallEDS, smallNode, second), nil, []string{"\nSlow start: 1 node may be under way now, 0 were before this plan\n"}},
		{"left out", "and which", join(smallEDS+"  strategy: {rollingUpdate: {maxPodSchedulerFailure: 1}}\n", smallNode, unreachable,
			strings.NewReplacer("name: a", "name: u", "nodeName: a", "nodeName: u", `status: "True"`, `status: "False"`).Replace(oldPod("datadoghq.com/v1alpha1", "ExtendedDaemonSetReplicaSet"))), nil,
			[]string{"Left out of the budget: 1 node, of at most 1 (maxUnschedulable): u\n"}},
		{"sets of three kinds", "each can be chosen", join(smallEDS, oldSet, smallKruise, smallNode), []string{"plan", "extendeddaemonset.datadoghq.com/foo"}, []string{"\nfoo    1 "}},
		{"no canary", "no line about it", join(smallEDS, smallNode), []string{"-o", "json"}, []string{`"daemonSetAPIVersion": "datadoghq.com/v1alpha1"`}},
		{"stale command", "it is mentioned", join(strings.Replace(smallEDS, "spec:\n  template", "spec:\n  strategy: {canary: {}}\n  template", 1), smallNode), nil,
			[]string{"\nCanary: Idle (FirstInstallation): there is no other revision, so this one needs no canary\n"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.name == "" || c.why == "" {
				t.Fatal("a row needs a name and a reason")
			}
			out := ours(t, c.stdin, append(c.args, "-f", "-")...)
			for _, want := range c.want {
				if !strings.Contains(out, want) {
					t.Errorf("the output lacks %q (%s):\n%s", want, c.why, out)
				}
			}
		})
	}
}

// TestCommandsObeyNothing gives commands in a cluster in which every string has control characters.
func TestCommandsObeyNothing(t *testing.T) {
	const evil = `\e[31m\nWarning: \t\u202e`
	name := func(text string) string { return `"` + text + evil + `"` }
	set := strings.NewReplacer("uid: e-1", "uid: e-1, annotations: {extendeddaemonset.datadoghq.com/canary-paused-reason: "+name("why")+
		", daemonplan.io/canary-fail: "+name("stale")+"}",
		"spec:\n  template", "spec:\n  strategy: {canary: {}}\n  template").Replace(smallEDS)
	owned := func(pod, hash, node string) string {
		return "apiVersion: v1\nkind: Pod\nmetadata: {name: " + name(pod) + ", uid: " + pod + ", labels: {controller-revision-hash: " + hash +
			", extendeddaemonset.datadoghq.com/name: foo}, ownerReferences: [{apiVersion: datadoghq.com/v1alpha1, kind: ExtendedDaemonSet, name: foo, uid: e-1, controller: true}]}\n" +
			"spec: {nodeName: " + name(node) + ", containers: [{name: daemon, image: x}]}\n" +
			"status: {phase: " + name("Running") + ", reason: " + name("Reason") + ", containerStatuses: [{name: " + name("c") + ", state: {waiting: {reason: " + name("Waits") + "}}}]}\n"
	}
	revision := "apiVersion: apps/v1\nkind: ControllerRevision\nrevision: 1\nmetadata: {name: " + name("rev") + ", labels: {controller-revision-hash: old, extendeddaemonset.datadoghq.com/name: foo}}\n" +
		"data: {spec: {template: {$patch: replace, metadata: {labels: {extendeddaemonset.datadoghq.com/name: foo}}, spec: {containers: [{name: daemon, image: " + name("x") + "}]}}}}\n"
	nodes := join("apiVersion: v1\nkind: Node\nmetadata: {name: "+name("a")+", annotations: {resources.extendeddaemonset.datadoghq.com/default.foo.daemon: "+name("{")+"}}\n",
		"apiVersion: v1\nkind: Node\nmetadata: {name: "+name("b")+"}\n")
	stdin := join(set, nodes, revision, owned("p", "old", "a"), owned("q", "old", "b"),
		strings.NewReplacer("name: s,", "name: "+name("s")+",", "500m", name("lots")).Replace(smallSetting("s", "foo")))
	for _, words := range append(words(), "") {
		code, stdout, stderr := call(stdin, append(strings.Fields(words), "-f", "-")...)
		if !answered(code, strings.Fields(words)) && stdout != "" || stdout+stderr == "" {
			t.Errorf("%s: exit code %d, %q", words, code, stderr)
		}
		for line := range strings.Lines(stdout + stderr) {
			if strings.HasPrefix(line, "Warning: \\t") || strings.ContainsAny(line, "\x1b\t\u202e") {
				t.Errorf("%s: raw text of the input in %q", words, line)
			}
		}
		if code == 0 && words != "get" && !strings.Contains(stdout, `\x1b[31m\nWarning: \t\u202e`) {
			t.Errorf("%s: the names are not there:\n%s", words, stdout)
		}
	}
}
