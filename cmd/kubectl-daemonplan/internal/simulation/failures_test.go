package simulation

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The comparison says on how many nodes the new version failed, and when it was given up; a retry tries it once more.
func TestFailuresInComparison(t *testing.T) {
	write := func(name, text string) string { return write(t, name, text) }
	args := []string{
		"simulate", "--controller", "daemonplan", "--from", write("v1.yaml", stagedSet("agent:v1", "{}")),
		"--spec", "back=" + write("back.yaml", stagedSet("agent:v2", "failures: {action: Rollback, maxFailed: 3, deadline: 5m}")),
		"--spec", "aside=" + write("aside.yaml", stagedSet("agent:v2", "failures: {maxFailed: 50%, quarantine: 50%}")),
		"--spec", "plain=" + write("plain.yaml", stagedSet("agent:v2", "{}")),
		"--fleet", write("fleet.yaml", "pools: [{name: node, nodes: 40}]\n"),
		"--world", write("world.yaml", "controller: {}\nmodel: {kubelets: [{start: 10s, stop: 10s}, "+
			"{image: 'agent:v2', nodeShare: 20%, neverReady: true}]}\nevents: [{at: 3h, what: retry revision}]\n"),
	}
	_, out, _ := call(1, false, args...)
	for _, want := range []string{
		"back: the new version was given up after 3h05m, because it had failed on ", ", and 3 might: ", "; all were back after 40s more",
		"\nnodes that failed ", "\n  in quarantine ", "\ngiven up ", "  after 3h05m  ", "\nends ", "given up",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the comparison lacks %q:\n%s", want, out)
		}
	}
	_, document, _ := call(1, false, append(slices.Clip(args), "-o", "json")...)
	var found simulateAnswer
	if err := json.Unmarshal([]byte(document), &found); err != nil {
		t.Fatal(err)
	}
	back, aside, plain := found.Specs[0], found.Specs[1], found.Specs[2]
	if back.BackSeconds == nil || *back.BackSeconds.P50 <= *back.GivenUpSeconds.P50 || aside.BackSeconds.P50 != nil {
		t.Errorf("all are back at %+v after it was given up at %+v, and aside at %+v", back.BackSeconds, back.GivenUpSeconds, aside.BackSeconds)
	}
	if back.Endings.GivenUp != 1 || back.FailedNodes == nil || *back.FailedNodes.P50 <= 3 || *back.GivenUpSeconds.Max < 3*3600 {
		t.Errorf("of a rollback it says %+v", back)
	}
	if aside.Endings.GivenUp != 0 || aside.GivenUpSeconds.P50 != nil || *aside.QuarantinedNodes.Max < 3 || plain.FailedNodes != nil {
		t.Errorf("of a quarantine it says %+v, and of no policy %+v", aside, plain)
	}
	if _, _, stderr := call(1, false, args...); strings.Contains(stderr, "retried") {
		t.Errorf("it warns although two specs watch failures:\n%s", stderr)
	}
	dir := t.TempDir()
	call(1, false, append(slices.Clip(args), "--out", dir)...)
	if page := read(t, filepath.Join(dir, "report.html")); !strings.Contains(page, "3h05m back: new version given up: TooManyFailures") {
		t.Error("the page has no mark at the time at which the new version was given up")
	}
	_, _, stderr := call(1, false, append(slices.Clone(args[:5]), append([]string{"--spec", args[10]}, args[11:]...)...)...)
	if want := "events[0]: the spec does not watch failures, so that nothing is retried"; !strings.Contains(stderr, want) {
		t.Errorf("it does not warn %q:\n%s", want, stderr)
	}
}
