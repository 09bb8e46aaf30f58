package simulation

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// stagedSet is a manifest with a policy.
func stagedSet(image, policy string) string {
	return "apiVersion: apps/v1\nkind: DaemonSet\nmetadata:\n  name: agent\n  annotations:\n    daemonplan.io/policy: |\n      " +
		strings.ReplaceAll(policy, "\n", "\n      ") + "\nspec:\n  updateStrategy: {rollingUpdate: {maxUnavailable: 50%}}\n" +
		"  selector: {matchLabels: {app: agent}}\n  template:\n    metadata: {labels: {app: agent}}\n" +
		"    spec: {containers: [{name: agent, image: \"" + image + "\"}]}\n"
}

// The comparison says when each part of the stages was opened and done, and events of the world approve one.
func TestStagesInComparison(t *testing.T) {
	write := func(name, text string) string { return write(t, name, text) }
	const policy = "stages:\n- {name: ring-0, selector: {matchLabels: {ring: '0'}}, soak: 10m}\n- {name: none, selector: {matchLabels: {ring: '9'}}}\n" +
		"- {name: zones, key: topology.kubernetes.io/zone, approval: true}"
	args := []string{
		"simulate", "--controller", "daemonplan", "--from", write("v1.yaml", stagedSet("agent:v1", "{}")),
		"--spec", "staged=" + write("staged.yaml", stagedSet("agent:v2", policy)), "--spec", "all=" + write("all.yaml", stagedSet("agent:v2", "{}")),
		"--fleet", write("fleet.yaml", "pools:\n- {name: first, nodes: 2, labels: {ring: '0'}}\n- {name: rest, nodes: 4, zones: [a, b]}\n"),
		"--world", write("world.yaml", "model: {kubelets: [{start: 10s, stop: 10s}]}\ncontroller: {}\nevents:\n"+
			"- {at: 1h, what: approve stage, approval: {stage: zones, value: a}}\n- {at: 2h, what: ApproveStage, approval: {stage: zones}}\n"),
	}
	out := answer(t, args...)
	for _, want := range []string{
		"stages done", "3 of 3 parts", "ring-0", "opened 0s, done 20s later", "  none", "skipped",
		"  zones (a)", "opened 1h00m, done 20s later", "  zones (b)", "opened 2h00m, done 20s later",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the comparison lacks %q:\n%s", want, out)
		}
	}
	var found simulateAnswer
	if err := json.Unmarshal([]byte(answer(t, append(slices.Clip(args), "-o", "json")...)), &found); err != nil {
		t.Fatal(err)
	}
	if list := found.Specs[0].Stages; len(list) != 4 || len(found.Specs[1].Stages) != 0 || list[1].SkippedRuns != 1 ||
		list[1].DoneSeconds.P50 != nil || *list[2].OpenedSeconds.P50 != 3600 || *list[2].DoneSeconds.Max != 3620 ||
		list[2].Value != "a" || *list[2].UnavailableNodes.P90 != 0 {
		t.Errorf("stages: %+v", list)
	}
	// The spec without stages is no reason to warn of the approvals; a stage that no spec has is one.
	if _, _, stderr := call(1, false, args...); stderr != "" {
		t.Errorf("it warns:\n%s", stderr)
	}
	other := write("other.yaml", "model: {kubelets: [{start: 10s}]}\nevents: [{at: 1h, what: ApproveStage, approval: {stage: other}}]\n")
	if _, _, stderr := call(1, false, append(args[:len(args)-1:len(args)-1], other, "--until", "2h")...); !strings.Contains(stderr,
		`events[0]: there is no stage "other" to approve`) {
		t.Errorf("it does not warn:\n%s", stderr)
	}
	_, out, _ = call(1, false, append(args[:len(args)-2:len(args)-2], "--until", "6h")...)
	if !strings.Contains(out, "never opened") || !strings.Contains(out, "1 of 3 parts") {
		t.Errorf("without approvals the zones are never opened:\n%s", out)
	}
}
