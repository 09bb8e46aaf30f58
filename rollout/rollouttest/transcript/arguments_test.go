package transcript_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/daemonplan/daemonplan/rollout/rollouttest/transcript"
)

// text is a command with these lines as its text.
func text(command string, lines ...string) string {
	return command + " <<EOF\n" + strings.Join(lines, "\n") + "\nEOF"
}

// simple is the manifest of a set of that name with one container.
func simple(name string) string {
	return "apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: " + name + "}\nspec:\n  selector: {matchLabels: {app: " + name + "}}\n" +
		"  template: {metadata: {labels: {app: " + name + "}}, spec: {containers: [{name: main, image: a}]}}"
}

// TestArgumentsThatCannotBe: a wrong or missing argument of any command is an error that says what is wrong, in its line.
func TestArgumentsThatCannotBe(t *testing.T) {
	tests := []struct{ name, why, commands, want string }{
		{"node without a name", "which one is not said", "node cordon", "9: node cordon: which node is not said"},
		{"node twice", "it would lose what was said of it", "node add a", "9: node add a: there is a node a already"},
		{"node that is not there", "nothing would happen", "node cordon d", "9: node cordon d: there is no node d"},
		{"no nodes", "nothing would join", "node add 0", "9: node add 0: 0 must be a name or a number of nodes"},
		{"unknown verb of node", "a typo", "node melt a", "9: node melt a: there is no node command melt"},
		{"label without a value", "it could be a typo of its removal", "node label a x", `9: node label a x: "x" must be key=value or key-`},
		{"label without a key", "there is none of that name", "node label a =x", `9: node label a =x: "=x" must be key=value or key-`},
		{"no label", "nothing would change", "node label a", `9: node label a: "" must be key=value or key-`},
		{"no label to take off", "nothing would change", "node label a -", `9: node label a -: "-" must be key=value or key-`},
		{"no annotation", "nothing would change", "node annotate a", `9: node annotate a: "" must be key=value or key-`},
		{"taint without an effect", "it would have none", "node taint a x=y", `9: node taint a x=y: "x=y" must be key=value:Effect, key:Effect or key-`},
		{"taint of an unknown effect", "a typo", "node taint a x=y:NoRun", `9: node taint a x=y:NoRun: "x=y:NoRun" must be`},
		{"taint without a key", "nothing could tolerate it", "node taint a :NoSchedule", `9: node taint a :NoSchedule: ":NoSchedule" must be`},
		{"no taint to take off", "nothing would change", "node taint a -", `9: node taint a -: "-" must be`},
		{"a taint of an unknown effect to take off", "a typo", "node taint a x:NoRun-", `9: node taint a x:NoRun-: "x:NoRun-" must be key=value:Effect, key:Effect or key-, key:Effect-`},
		{"a taint without an effect to take off", "its key alone, or its effect too", "node taint a x=y-", `9: node taint a x=y-: "x=y-" must be`},
		{"a taint without a key to take off", "which one is not said", "node taint a :NoSchedule-", `9: node taint a :NoSchedule-: ":NoSchedule-" must be`},
		{"a taint to take off that is not there", "a typo", "node taint a x=y:NoSchedule\nnode taint a z-", `10: node taint a z-: node a has no taint z`},
		{"a taint to take off that is there with another effect", "a typo", "node taint a x=y:NoSchedule\nnode taint a x=y:NoExecute-",
			`10: node taint a x=y:NoExecute-: node a has no taint x=y:NoExecute`},
		{"node with a broken label", "it would not have it", "node add d label=x", `9: node add d label=x: "x" must be`},
		{"node with a broken taint", "it would not have it", "node add d taint=x", `9: node add d taint=x: "x" must be`},
		{"fleet with a broken label", "as above", "fleet 2 label=x", `9: fleet 2 label=x: "x" must be`},
		{"fleet with a broken taint", "as above", "fleet 2 taint=x", `9: fleet 2 taint=x: "x" must be`},
		{"cluster with a nameless node", "a typo", "cluster nodes=a,,b", "9: cluster nodes=a,,b: each node has a name of its own"},
		{"cluster with a node twice", "a typo", "cluster nodes=a,a", "9: cluster nodes=a,a: each node has a name of its own"},
		{"a spec that is no good", "the planner refuses it", "cluster maxUnavailable=0", "9: cluster maxUnavailable=0: cluster: spec.strategy"},
		{"a spec argument that is none", "a typo", "cluster paused=perhaps", "9: cluster paused=perhaps: paused: "},

		{"delays that are none", "all of them are said, in one order", "cluster start=soon stop=-1s restart=-1s resizing=x hook=y pull=z lag=few failedPulls=-1",
			"9: cluster start=soon stop=-1s restart=-1s resizing=x hook=y pull=z lag=few failedPulls=-1: start: time: invalid duration \"soon\"\n" +
				"stop must not be negative\nrestart must not be negative\nresizing: time: invalid duration \"x\"\nhook: time: invalid duration \"y\"\n" +
				"pull: time: invalid duration \"z\"\nlag must be a number\nfailedPulls must be a number"},
		{"a start that never comes", "neverReady is for that", "cluster start=never", "9: cluster start=never: start: time: invalid duration \"never\""},
		{"behavior that is none", "all of it is said, in one order", "behave start=soon stop=-1s create=x hook=-1s crashes=-1",
			"9: behave start=soon stop=-1s create=x hook=-1s crashes=-1: start: time: invalid duration \"soon\"\nstop must not be negative\n" +
				"create: time: invalid duration \"x\"\nhook must not be negative\ncrashes must be a number"},
		{"crashes without a number", "a typo", "behave crashes=few", "9: behave crashes=few: crashes must be a number"},
		{"waiting of no image", "nothing would wait", "behave waiting=:x", "9: behave waiting=:x: :x must be image:reason"},
		{"waiting for no reason", "nothing would wait", "behave waiting=v2:", "9: behave waiting=v2:: v2: must be image:reason"},
		{"a lag and a failing probe", "the view would show what is held as it was", "cluster nodes=a,b lag=3\ninstall\nspec image=v2\nstep\nunready a\ntick 1s",
			"14: tick 1s: failing pods and nodes that are down cannot be told together with a lag"},
		{"a lag and a dead kubelet", "as above", "cluster nodes=a,b lag=3\ninstall\nspec image=v2\nstep\nnode down a\n",
			"13: node down a: failing pods and nodes that are down cannot be told together with a lag"},
		{"a lag in a run", "as above", "cluster nodes=a,b lag=3\ninstall\nspec image=v2\nstep\nunready a\nrun", "14: run: failing pods"},

		{"pod without a name", "which one is not said", "pod fail", "9: pod fail: 0 pods are called so or are on a node called so"},
		{"two pods on a node", "which one is not said", "pod add a name=x\npod fail a", "10: pod fail a: 2 pods are called so or are on a node called so"},
		{"unknown verb of pod", "a typo", "pod melt a", "9: pod melt a: there is no pod command melt"},
		{"pod with a broken label", "nothing would change", "pod label a x", `9: pod label a x: "x" must be key=value or key-`},
		{"no finalizer", "nothing would change", "pod finalizer a", "9: pod finalizer a: which finalizer is not said"},
		{"no finalizer to take off", "nothing would change", "pod finalizer a -", "9: pod finalizer a -: which finalizer is not said"},
		{"pod of no revision", "it would be of the current one", "pod add a name=x revision=r9", "9: pod add a name=x revision=r9: there is no revision r9"},
		{"pod of somebody", "it would be the set's", "pod add a name=x owner=me", "9: pod add a name=x owner=me: unknown owner me"},
		{"pod in no state", "a typo", "pod add a name=x state=gone", "9: pod add a name=x state=gone: unknown state gone"},
		{"pod of no time", "it would be of now", "pod add a name=x created=soon", `9: pod add a name=x created=soon: created: time: invalid duration "soon"`},
		{"new pod without a name", "none could ask for it", "pod add a", "9: pod add a: a pod is added to a node, and has a name"},
		{"new pod without a node", "it would be nowhere", "pod add", "9: pod add: a pod is added to a node, and has a name"},
		{"evicting what has ended", "the kubelet holds nothing any more", "fail a\nevict a", "10: evict a: the pod does not run"},

		{"time that does not pass", "to run until everything rests is to say nothing", "run 0s", "9: run 0s: no time passes in 0s"},
		{"a run of no duration", "a typo", "run soon", `9: run soon: time: invalid duration "soon"`},
		{"a ramp without a duration", "it has none by itself", "ramp", `9: ramp: time: invalid duration ""`},
		{"a ramp in no steps", "a typo", "ramp 1m every=soon", `9: ramp 1m every=soon: time: invalid duration "soon"`},
		{"a ramp in steps of nothing", "it would stand still", "ramp 1m every=0s", "9: ramp 1m every=0s: no time passes in 0s"},
		{"a ramp of nothing", "it would show nothing", "ramp 0s", "9: ramp 0s: no time passes in 0s"},
		{"no end", "the story would go on for ever", "cluster nodes=a image=v1 crashing=v1\ninstall", "10: install: does not come to rest"},

		{"nothing to explain", "it would print nothing", "explain", "9: explain: which node is not said"},
		{"no patches asked for", "it would print nothing", "patches", "9: patches: which pod is not said"},
		{"no such patch", "it would print nothing", "patches a", "9: patches a: there is no patch of such a pod"},
		{"nothing edited", "nothing would change", "edit", "9: edit: what is edited is not said"},
		{"no annotation of the set", "nothing would change", "annotate", "9: annotate: which annotation is not said"},
		{"nothing to annotate", "there is no object", "annotate a=b", "9: annotate a=b: no manifest was applied yet"},
		{"edited to what is no YAML", "it is no value", text("apply", simple("agent")) + "\nedit spec.paused=[", "17: edit spec.paused=[: "},
		{"edited within a text", "there are no keys in it", text("apply", simple("agent")) + "\nedit kind.x=y", "17: edit kind.x=y: kind.x: x is in no object"},
		{"a place before the first", "there is none", text("apply", simple("agent")) + "\nedit spec.template.spec.containers.-1.image=b",
			"17: edit spec.template.spec.containers.-1.image=b: spec.template.spec.containers.-1.image: there is no -1 in the list"},
		{"a place that is no number", "there is none", text("apply", simple("agent")) + "\nedit spec.template.spec.containers.main.image=b",
			"17: edit spec.template.spec.containers.main.image=b: spec.template.spec.containers.main.image: there is no main in the list"},
		{"a place itself", "what is there is edited, not the place", text("apply", simple("agent")) + "\nedit spec.template.spec.containers.0=b",
			"17: edit spec.template.spec.containers.0=b: spec.template.spec.containers.0: there is no 0 in the list"},

		{"a manifest that is no YAML", "nothing could be applied", text("apply", "a: ["), "9: apply <<EOF: line 1: "},
		{"settings without a text", "there is nothing to read", "settings", "9: settings: the command wants a text"},
		{"settings that are no YAML", "nothing could be read", text("settings", "a: ["), "9: settings <<EOF: document 1: "},
		{"settings of another kind", "it would be left out", text("settings", "kind: Pod"), `9: settings <<EOF: kind: Unsupported value: "Pod"`},
		{"objects without a text", "there is nothing to read", "objects", "9: objects: the command wants a text"},
		{"objects that are no YAML", "nothing could be read", text("objects", "a: ["), "9: objects <<EOF: document 1: "},
		{"a pod that is none", "it would be empty", text("objects", "kind: Pod", "spec: 7"), "9: objects <<EOF: spec: Invalid value: 7"},
		{"a revision that is none", "it would be empty", text("objects", "kind: ControllerRevision", "revision: x"), `9: objects <<EOF: revision: Invalid value: "x"`},
		{"a replica set that is none", "it would be empty", text("objects", "kind: ExtendedDaemonSetReplicaSet", "metadata: 7"), "9: objects <<EOF: metadata: Invalid value: 7"},
		{"a takeover without a text", "nobody would take over", "takeover", "9: takeover: the command wants a text"},
		{"a takeover that is no YAML", "nobody would take over", text("takeover", "a: ["), "9: takeover <<EOF: line 1: "},
		{"a takeover with what is no truth", "it would pass for false", text("takeover orphans=yes predecessor=2 again=x", simple("b")),
			"9: takeover orphans=yes predecessor=2 again=x <<EOF: orphans must be true or false\npredecessor must be true or false\nagain must be true or false"},

		{"an explanation of no node", "it would lack everything", `expect explain d lacks "x"`, `9: expect explain d lacks "x": nothing is decided about a node "d"`},
		{"an event without a node", "a typo", "expect no event failed node=", "9: expect no event failed node=: unknown argument node="},
	}
	seen := map[string]bool{}
	for _, tt := range tests {
		if tt.name == "" || tt.why == "" || seen[tt.name] {
			t.Fatalf("row %q: needs a name of its own and a reason", tt.name)
		}
		seen[tt.name] = true
		t.Run(tt.name, func(t *testing.T) {
			played, err := transcript.Play(story(strings.TrimSuffix(tt.commands, "\n")))
			if played != "" || err == nil || !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("played %q with error\n%v, want none and one that begins with\n%s: %s", played, err, tt.want, tt.why)
			}
		})
	}
}

// TestPlansThatCannotBeMade: no command and no expectation that needs a plan goes on without one, or with an empty one. A
// pod without a UID is what no plan can be made with.
func TestPlansThatCannotBeMade(t *testing.T) {
	nameless := text("objects", "kind: Pod", "metadata: {name: x, namespace: default, labels: {app: agent}}", "spec: {nodeName: a}") + "\n"
	for _, command := range []string{
		"step", "run", "run 1m", "ramp 1m", "install", "status", "explain a", "patches a", "diff", "canary", "kubectl eds canary pause",
		"expect status ready=3", "expect actions none", "expect decision a verb=none", "expect explain a lacks x", "expect canary nodes=none",
		"expect pod x status=Ready", "expect event failed",
	} {
		t.Run(command, func(t *testing.T) {
			played, err := transcript.Play(story(nameless + command))
			failure, ok := errors.AsType[*transcript.LineError](err)
			if played != "" || !ok || failure.Line != 14 || failure.Command != command ||
				!strings.HasPrefix(failure.Err.Error(), "snapshot.Pods[0]: must have a UID") {
				t.Errorf("played %q with error %v", played, err)
			}
		})
	}
}
