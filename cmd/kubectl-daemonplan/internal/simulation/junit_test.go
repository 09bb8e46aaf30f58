package simulation

import (
	"bytes"
	"encoding/xml"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/exit"
	"github.com/daemonplan/daemonplan/rollout/simulate"
)

// onGitHub runs the program as a step of a workflow.
func onGitHub(engine engine, args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	p := program{
		Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, Workers: 2, Engine: engine,
		Getenv: func(name string) string { return map[string]string{"GITHUB_ACTIONS": "true"}[name] },
	}
	code = p.Main(args)
	return code, out.String(), errs.String()
}

func TestJUnit(t *testing.T) {
	const want = `<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="kubectl daemonplan COMMAND" tests="6" failures="4" errors="0">
  <testsuite name="v2" tests="3" failures="2" errors="0">
    <testcase classname="v2" name="the rollout comes to its end"></testcase>
    <testcase classname="v2" name="peak&gt;=25%">
      <failure message="at most 3 nodes are down at once (25 %); it fails if peak &gt;= 25 % of the nodes">--fail-if &#39;peak&gt;=25%&#39;: v2: at most 3 nodes are down at once (25 %)</failure>
    </testcase>
    <testcase classname="v2" name="p90&gt;1m">
      <failure message="nine of ten runs until every node is updated: 1m49s; it fails if p90 &gt; 1m">--fail-if &#39;p90&gt;1m&#39;: v2: nine of ten runs until every node is updated: 1m49s</failure>
    </testcase>
  </testsuite>
  <testsuite name="&lt;a&amp;b&gt;" tests="3" failures="2" errors="0">
    <testcase classname="&lt;a&amp;b&gt;" name="the rollout comes to its end"></testcase>
    <testcase classname="&lt;a&amp;b&gt;" name="peak&gt;=25%">
      <failure message="at most 3 nodes are down at once (25 %); it fails if peak &gt;= 25 % of the nodes">--fail-if &#39;peak&gt;=25%&#39;: &lt;a&amp;b&gt;: at most 3 nodes are down at once (25 %)</failure>
    </testcase>
    <testcase classname="&lt;a&amp;b&gt;" name="p90&gt;1m">
      <failure message="nine of ten runs until every node is updated: 1m49s; it fails if p90 &gt; 1m">--fail-if &#39;p90&gt;1m&#39;: &lt;a&amp;b&gt;: nine of ten runs until every node is updated: 1m49s</failure>
    </testcase>
  </testsuite>
</testsuites>
`
	for _, command := range []string{"simulate", "forecast"} {
		file := filepath.Join(t.TempDir(), "junit.xml")
		code, _, _ := call(2, false, command, "--nodes", "12", "--from", oldManifest, "--world", worldFileIn, "--spec", newManifest,
			"--spec", "<a&b>="+newManifest, "--seeds", "1", "--fail-if", "peak>=25%", "--fail-if", "p90>1m", "--junit", file)
		if got := read(t, file); code != exit.Negative || got != strings.Replace(want, "COMMAND", command, 1) {
			t.Errorf("%s: exit code %d\n%s", command, code, got)
		}
	}
}

// What a stuck rollout waits for is in the file, too; units of limits are those of the figures.
func TestJUnitOfStuckRuns(t *testing.T) {
	file := filepath.Join(t.TempDir(), "junit.xml")
	call(2, false, "simulate", "--nodes", "12", "--from", oldManifest, "--world", stuckWorld(t), "--spec", newManifest, "--seeds", "2",
		"--fail-if", "stuck", "--fail-if", "left>=1", "--fail-if", "violations>1", "--junit", file)
	var found junitSuites
	if err := xml.Unmarshal([]byte(read(t, file)), &found); err != nil {
		t.Fatal(err)
	}
	const stuck = "stuck: 11 of 12 nodes have the new version; 1 node cannot be updated"
	want := []junitMessage{
		{stuck, "v2: " + stuck + "\nv2: 1 node: NotReady: node-00003 since 1s"},
		{"2 of 2 runs are stuck; it fails if stuck > 0 runs", "--fail-if stuck: v2: 2 of 2 runs are stuck"},
		{"at most 1 node is left without the new version (8.3 %); it fails if left >= 1 node", "--fail-if 'left>=1': v2: at most 1 node is left without the new version (8.3 %)"},
	}
	for i, one := range found.Suites[0].Cases {
		if passed := one.Failure == nil; passed != (i == len(want)) || !passed && *one.Failure != want[i] {
			t.Errorf("%s: %v", one.Name, one.Failure)
		}
	}
	if found.junitCounts != (junitCounts{Tests: 4, Failures: 3}) {
		t.Errorf("counts %+v", found.junitCounts)
	}
}

// A run that breaks an invariant has no figures: it is an error of its policy.
func TestJUnitOfABrokenInvariant(t *testing.T) {
	broken := func(simulate.Scenario, *trace, func() bool) (simulate.Report, error) {
		return simulate.Report{}, &simulate.StepError{Err: errors.New("no, 100 %")}
	}
	file := filepath.Join(t.TempDir(), "junit.xml")
	for _, command := range []string{"simulate", "forecast"} {
		code, stdout, stderr := onGitHub(broken, command, "--nodes", "12", "--from", oldManifest, "--world", worldFileIn, "--spec", newManifest, "--junit", file)
		got := read(t, file)
		if code != exit.Negative || stdout != "" || !strings.Contains(got, `errors="1"`) || !strings.Contains(got, "<error message=") || !strings.Contains(got, "no, 100 %") {
			t.Errorf("%s: exit code %d, %s\n%s", command, code, stdout, got)
		}
		if want := "::error title=kubectl daemonplan " + command + "%3A the rollout comes to its end::v2: "; !strings.Contains(stderr, want) || !strings.Contains(stderr, "no, 100 %25") {
			t.Errorf("%s: no annotation in\n%s", command, stderr)
		}
		if err := os.Remove(file); err != nil {
			t.Error(err)
		}
	}
}

func TestJUnitThatCannotBeWritten(t *testing.T) {
	file := filepath.Join(t.TempDir(), "none", "junit.xml")
	code, _, stderr := call(2, false, small("--junit", file, "--fail-if", "peak>0")...)
	if code != exit.Failed || stderr != "error: --junit "+file+": no such file or directory\n" {
		t.Errorf("exit code %d, %q", code, stderr)
	}
	if code, _, stderr := call(2, false, small("--junit", "")...); code != exit.Failed || stderr != "error: --junit \"\": must be the name of a file\n" {
		t.Errorf("exit code %d, %q", code, stderr)
	}
}

func TestAnnotations(t *testing.T) {
	args := []string{"simulate", "--nodes", "12", "--from", oldManifest, "--world", worldFileIn, "--spec", "a,b=" + newManifest, "--seeds", "1",
		"--fail-if", "peak>=25%", "--fail-if", "stuck", "-o", "json"}
	const want = "::error title=kubectl daemonplan simulate%3A peak>=25%25::" +
		"a,b: at most 3 nodes are down at once (25 %25); it fails if peak >= 25 %25 of the nodes\n" +
		"error: --fail-if 'peak>=25%': a,b: at most 3 nodes are down at once (25 %)\n"
	code, stdout, stderr := onGitHub(simulation, args...)
	if code != exit.Negative || stderr != want || !strings.HasPrefix(stdout, "{\n") {
		t.Errorf("exit code %d, standard error\n%s", code, stderr)
	}
	if _, _, elsewhere := call(2, false, args...); strings.Contains(elsewhere, "::error") {
		t.Errorf("without GitHub: %s", elsewhere)
	}
}

func TestGitHubEscapes(t *testing.T) {
	const text = "a:b,c%d\r\n"
	if got := githubProperty.Replace(text); got != "a%3Ab%2Cc%25d%0D%0A" {
		t.Errorf("property %s", got)
	}
	if got := githubMessage.Replace(text); got != "a:b,c%25d%0D%0A" {
		t.Errorf("message %s", got)
	}
}
