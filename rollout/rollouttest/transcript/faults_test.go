package transcript_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/daemonplan/daemonplan/rollout/rollouttest/transcript"
)

// TestFaults holds the runner to its word: a transcript that breaks the form, or asks for what there is not,
// must not pass for one without differences.
func TestFaults(t *testing.T) {
	object := func(name string) string {
		return "<<EOF\napiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: " + name + "}\nspec:\n" +
			"  selector: {matchLabels: {app: " + name + "}}\n  template:\n    metadata: {labels: {app: " + name + "}}\n    spec:\n" +
			"      containers: [{name: main, image: a}]\nEOF\n"
	}
	apply := func(name string) string { return "manifest " + object(name) }
	takeover := func(name string) string { return "takeover " + object(name) }
	const begin = "# Placement (P2).\n\n# One node.\ncluster nodes=a\n----\n\n"
	tests := []struct{ name, why, text, want string }{
		{"empty", "nothing is told", "", "1: a transcript begins with"},
		{"no header", "the first stanza is no header", "# One node (P2).\ncluster nodes=a\n----\n", "1: a transcript begins with"},
		{"blank header", "hashes alone say nothing", "#\n#\n\n# Why.\nstatus\n----\n", "1: a transcript begins with"},
		{"only a header", "there is nothing to play", "# Placement (P2).\n", "3: a transcript has at least one stanza"},
		{"no narration", "the reason is mandatory", begin + "status\n----\n", "7: a stanza begins with a comment"},
		{"blank narration", "a hash alone is no reason", begin + "# \nstatus\n----\n", "7: a stanza begins with a comment"},
		{"no command", "a reason for nothing", begin + "# Why.\n----\n", "7: a stanza needs a command"},
		{"no separator", "commands and output could not be told apart", begin + "# Why.\nstatus\n", "7: the commands of a stanza end"},
		{"late comment", "the reason comes first", begin + "# Why.\nstatus\n# Why.\n----\n", "9: comments stand before"},
		{"dangling comment", "it belongs to no stanza", begin + "# Why.\n\n# Why.\nstatus\n----\n", "7: the commands of a stanza end"},
		{"unknown command", "a typo must not pass as an empty output", begin + "# Why.\nfly\n----\n", "8: fly: there is no command"},
		{"unknown argument", "a typo must not pass as a default", begin + "# Why.\nspec imgae=v2\n----\n", "8: spec imgae=v2: unknown argument imgae=v2"},
		{"superfluous argument", "as above", begin + "# Why.\nstep a\n----\n", "8: step a: unknown argument a"},
		{"unknown node", "nothing would happen", begin + "# Why.\nnode remove b\n----\n", "8: node remove b: there is no node b"},
		{"unknown pod", "nothing would happen", begin + "# Why.\npod delete a\n----\n", "8: pod delete a: 0 pods"},
		{"bad spec", "the planner refuses it", begin + "# Why.\nspec maxUnavailable=0\n----\n", "8: spec maxUnavailable=0: cluster: spec.strategy"},
		{"bad duration", "time must pass", begin + "# Why.\nadvance soon\n----\n", "8: advance soon: time: invalid duration"},
		{"open text", "the rest of the stanza would be swallowed", begin + "# Why.\nmanifest <<EOF\nkind: DaemonSet\n----\n", "8: the text ends with EOF"},
		{"open text later on", "as above", begin + "# Why.\nstatus\nstep\nmanifest <<EOF\nkind: DaemonSet\n----\n", "10: the text ends with EOF"},
		{"text for no one", "it would be ignored", begin + "# Why.\nstatus <<EOF\na\nEOF\n----\n", "8: status <<EOF: this command takes no text"},
		{"no text", "a manifest is wanted", begin + "# Why.\nmanifest\n----\n", "8: manifest: the command wants a text"},
		{"line after a text", "texts have lines too", begin + "# Why.\nobjects <<EOF\nkind: Pod\nmetadata: {name: p, uid: u}\nEOF\nfly\n----\n", "12: fly: there is no command"},
		{"object of a wrong kind", "it would be left out", begin + "# Why.\nobjects <<EOF\nkind: Job\nEOF\n----\n", "8: objects <<EOF: a Job is neither"},
		{"bad quantity", "it is no amount", begin + "# Why.\nspec limits=cpu\n----\n", "8: spec limits=cpu: limits: cpu must be"},
		{"nothing to edit", "there is no object", begin + "# Why.\nedit a=b\n----\n", "8: edit a=b: no manifest was applied yet"},
		{"nothing to edit there", "a typo must not add a field", begin + "# Why.\n" + apply("a") + "edit spec.template.spec.containers.1.image=b\n----\n",
			"19: edit spec.template.spec.containers.1.image=b: spec.template.spec.containers.1.image: there is no 1"},
		{"no pair", "nothing would change", begin + "# Why.\n" + apply("a") + "edit spec\n----\n", "19: edit spec: spec must be path=value"},
		{"no canary", "nobody would obey", begin + "# Why.\ncommand pause=r1\n----\n", "8: command pause=r1: the set has no canary"},
		{"no plugin", "kubectl knows more than we do", begin + "# Why.\nkubectl get ds\n----\n", "8: kubectl get ds: only the plugin eds"},
		{"no command of the plugin", "a typo must not do nothing", begin + "# Why.\nkubectl eds melt\n----\n", "8: kubectl eds melt: "},
		{"no reason to wait", "nothing would wait", begin + "# Why.\nbehave waiting=v2\n----\n", "8: behave waiting=v2: v2 must be image:reason"},
		{"half a slow start", "it has three parts", begin + "# Why.\nspec slowStart=1m\n----\n", "8: spec slowStart=1m: slowStart: 1m must be"},
		{"nothing to crash", "a pod that has Failed runs no container", begin + "# Why.\ninstall\npod fail a\npod crash a\n----\n",
			"10: pod crash a: the pod does not run"},
		{"takeover by itself", "there is nothing to take over", begin + "# Why.\n" + takeover("a") + takeover("a") + "----\n",
			"19: takeover <<EOF: this is the set that there is"},
		{"two pods", "that is what a takeover must not do", begin + "# Why.\ninstall\n" + takeover("b") + "run\n----\n",
			"20: run: node a holds 2 pods"},
		{"two pods at once", "as above", begin + "# Why.\ninstall\n" + takeover("b") + "step\n----\n",
			"20: step: node a holds 2 pods"},
		{"no spec of that name", "the test has given none", "# Specs.\n\n# Why.\ncluster spec=mine\n----\n", "4: cluster spec=mine: no spec is called mine"},
		{"no spec to apply", "as above", begin + "# Why.\napply spec=mine\n----\n", "8: apply spec=mine: no spec is called mine"},
		{"no files", "Play has none by itself", begin + "# Why.\napply a.yaml\n----\n", "8: apply a.yaml: no files are given here"},
		{"a fleet of none", "nothing would join", begin + "# Why.\nfleet 0\n----\n", "8: fleet 0: 0 must be a number of nodes"},
		{"a fleet of many", "it is no number", begin + "# Why.\nfleet many\n----\n", "8: fleet many: many must be a number of nodes"},
		{"a fleet twice", "the nodes of the first would be lost", begin + "# Why.\nfleet 1\nfleet 2\n----\n", "9: fleet 2: there is a node n001 already"},
		{"nothing to be ready", "the pod is on no node", begin + "# Why.\nstep\nready a\n----\n", "9: ready a: the pod does not run"},
		{"nothing ready any more", "the pod is at its end", begin + "# Why.\ninstall\nfail a\nready a\n----\n", "10: ready a: the pod does not run"},
		{"time backwards", "it goes on", begin + "# Why.\ntick -1s\n----\n", "8: tick -1s: no time passes in -1s"},
		{"a ramp that stands still", "it would never end", begin + "# Why.\nramp 1m every=-1s\n----\n", "8: ramp 1m every=-1s: no time passes in -1s"},
		{"no time", "a tick is some", begin + "# Why.\ntick tock\n----\n", "8: tick tock: time: invalid duration"},
		{"no cluster", "there is nothing to plan for", "# Placement (P2).\n\n# Why.\nstep\n----\n", "4: step: there is no cluster yet"},
	}
	seen := map[string]bool{}
	for _, tt := range tests {
		if tt.name == "" || tt.why == "" || seen[tt.name] {
			t.Fatalf("row %q: needs a name of its own and a reason", tt.name)
		}
		seen[tt.name] = true
		t.Run(tt.name, func(t *testing.T) {
			_, err := transcript.Play(tt.text)
			if err == nil || !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("got error %v, want one that begins with %q: %s", err, tt.want, tt.why)
			}
		})
	}
}

// TestDifference: an output that is not what is planned is found, and one that is stays as it is.
func TestDifference(t *testing.T) {
	const script = "# Placement (P2).\n\n# One node.\ncluster nodes=a\n----\n\n# A pod is missing (M1).\nstep\n----\ndelete everything\n"
	played, err := transcript.Play(script)
	if err != nil {
		t.Fatal(err)
	}
	if played == script || !strings.Contains(played, "create on a") || strings.Contains(played, "everything") {
		t.Errorf("the wrong output was not replaced by the right one:\n%s", played)
	}
	again, err := transcript.Play(played)
	if err != nil || again != played {
		t.Errorf("the rewritten transcript is not stable (error %v):\n%s", err, cmp.Diff(played, again))
	}
}
