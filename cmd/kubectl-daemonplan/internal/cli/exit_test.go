package cli

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/cluster/fakeapi"
	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/exit"
)

// TestExitCodes has each exit code of each command that reads a cluster. Those of simulations are in package simulation, and those of
// watch in TestWatchLines.
func TestExitCodes(t *testing.T) {
	all := func(hash string) func(*fakeapi.Server) {
		return func(s *fakeapi.Server) {
			for _, node := range []string{"a", "b", "c"} {
				s.Put(fakeapi.Pod(node, hash, true))
			}
		}
	}
	forbidden := func(s *fakeapi.Server) { s.Forbidden = []string{"pods"} }
	const stopped = "the rollout of daemonset.apps/agent in namespace web goes on only when somebody acts: Running (OnDelete): 0 of 3 nodes"
	for _, c := range []struct {
		name, why, command string
		arrange            func(*fakeapi.Server)
		strategy           string
		code               int
		stderr             string // how it begins; empty: there is nothing
	}{
		{"no difference", "as kubectl diff", "diff", all("v2"), fakeapi.Rolling, exit.OK, ""},
		{"difference", "as kubectl diff, which says nothing more", "diff", all("v1"), fakeapi.Rolling, exit.Negative, ""},
		{"no diff", "as kubectl diff: more than 1", "diff", forbidden, fakeapi.Rolling, exit.Failed, "error: the cluster: pods in namespace web"},
		{"complete", "as kubectl rollout status", "rollout status", all("v2"), fakeapi.Rolling, exit.OK, ""},
		{"goes on", "as kubectl rollout status --watch=false", "rollout status", all("v1"), fakeapi.Rolling, exit.OK, ""},
		{"stopped", "as kubectl rollout status of a rollout that failed", "rollout status", all("v1"), fakeapi.OnDelete, exit.Negative, "error: " + stopped},
		{"no status", "no answer", "rollout status", forbidden, fakeapi.Rolling, exit.Failed, "error: the cluster: pods in namespace web"},
		{"plan of a rollout that stopped", "the plan is the answer", "plan", all("v1"), fakeapi.OnDelete, exit.OK, ""},
		{"explanation", "the same", "explain a", all("v1"), fakeapi.OnDelete, exit.OK, ""},
		{"line", "the same", "get", all("v1"), fakeapi.OnDelete, exit.OK, ""},
		{"patch that is refused", "nothing was sent", "rollout pause", all("v1"), fakeapi.Rolling, exit.Failed, "error: the cluster (DaemonSet web/agent): pause: "},
	} {
		server := fakeapi.NewRollout(t, c.strategy)
		c.arrange(server)
		code, stdout, stderr := live(server.Kubeconfig(t, "web"), "-", strings.Fields(c.command)...)
		if code != c.code || !strings.HasPrefix(stderr, c.stderr) || c.stderr == "" && stderr != "" || (stdout != "") != (code != exit.Failed) {
			t.Errorf("%s (%s): exit code %d\n%s%s", c.name, c.why, code, stdout, stderr)
		}
	}
}

// An answer that nobody could read is none: neither a difference, nor a simulation.
func TestAnswersThatCannotBeWritten(t *testing.T) {
	fleet := files(t, map[string]string{"set.yaml": smallSet, "world.yaml": "controller: {}\n"})
	simulate := "simulate --nodes 2 --spec " + filepath.Join(fleet, "set.yaml") + " --world " + filepath.Join(fleet, "world.yaml")
	for _, words := range []string{"diff --example kruise", simulate, simulate + " -o json", "study"} {
		var stderr strings.Builder
		streams := genericiooptions.IOStreams{In: strings.NewReader(""), Out: broken{}, ErrOut: &stderr}
		if code := run(strings.Fields(words), streams, present); code != exit.Failed || !strings.HasSuffix(stderr.String(), "error: broken pipe\n") {
			t.Errorf("%s: exit code %d, %q", words, code, stderr.String())
		}
	}
}

// README.md and the help have the table of the exit codes, and each command has its own row in its help.
func TestExitCodesAreDocumented(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	help := Root().Long + "\n"
	rows := []string{"| command | 0 | 1 |", "|---|---|---|"}
	for _, row := range exit.Table {
		name := "all others"
		if len(row.Commands) > 0 {
			name = "`" + strings.Join(row.Commands, "`, `") + "`"
		}
		rows = append(rows, fmt.Sprintf("| %s | %s | %s |", name, row.OK, cmp.Or(row.Negative, "never")))
		for _, command := range row.Commands {
			_, own, _ := call("", append(strings.Fields(command), "--help")...)
			want := "\n\nExit codes:\n  0  " + row.OK + "\n  1  " + row.Negative + "\n  2  " + exit.FailedText + "\n"
			if !strings.Contains(own, want) {
				t.Errorf("%s --help lacks its exit codes:\n%s", command, own)
			}
			if want := "    0  " + row.OK + "\n    1  " + row.Negative + "\n"; !strings.Contains(help, want) {
				t.Errorf("--help lacks %q:\n%s", want, help)
			}
		}
	}
	if table := strings.Join(rows, "\n") + "\n"; !strings.Contains(string(readme), table) {
		t.Errorf("README.md lacks the table\n%s", table)
	}
	if !strings.Contains(strings.Join(strings.Fields(string(readme)), " "), "2 if "+exit.FailedText+".") || !strings.Contains(help, "    2  "+exit.FailedText) {
		t.Errorf("README.md or the help lacks: 2 if %s", exit.FailedText)
	}
}

// A rollout with surge whose new pods cannot be bound beside the old ones does not end by itself, and rollout status says so.
func TestStatusOfSurgeThatCannotEnd(t *testing.T) {
	input := join(surgingSet(hostPort), smallNode, revisionWith(hostPort), hashedPod())
	code, _, stderr := call(input, "rollout", "status", "-f", "-")
	if code != exit.Negative || !strings.Contains(stderr, "somebody acts: ") ||
		!strings.Contains(stderr, "; no new pod can be bound beside an outdated one\n") {
		t.Errorf("exit code %d, %q", code, stderr)
	}
	unchanged := strings.Replace(input, "agent:v2", "agent:v1", 1)
	if _, _, stderr := call(unchanged, "rollout", "status", "-f", "-"); strings.Contains(stderr, "beside") {
		t.Errorf("when nothing is outdated: %q", stderr)
	}
}
