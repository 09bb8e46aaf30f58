package simulation

import (
	"bytes"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/exit"
)

// The commands work under any root command, which prints their errors and ends with their exit code.
func TestCommandsUnderAnotherRoot(t *testing.T) {
	for _, tt := range []struct {
		args string
		code int
		want string // of the error
	}{
		{"simulate --nodes 4 --from " + oldManifest + " --spec " + newManifest + " --world " + worldFileIn, exit.OK, ""},
		{"forecast --nodes 4 --from " + oldManifest + " --spec " + newManifest + " --world " + worldFileIn + " --fail-if peak>0 --seeds 1", exit.Negative,
			"--fail-if 'peak>0': v2: at most 1 node is down at once (25 %)"},
		{"forecast --nodes x", exit.Failed, "--nodes x: must be a whole number such as 12"},
		{"suggest --nope", exit.Failed, "unknown flag: --nope; see root suggest --help"},
		{"study a b", exit.Failed, `unexpected argument "b": run one study at a time`},
	} {
		var out, errs bytes.Buffer
		root := &cobra.Command{Use: "root", SilenceErrors: true, SilenceUsage: true}
		root.AddCommand(Commands(strings.NewReader(""), &out, &errs, false, 2, nil, nil)...)
		root.SetArgs(strings.Fields(tt.args))
		err := root.Execute()
		if got := exit.Code(err); got != tt.code {
			t.Errorf("%s: exit code %d, want %d", tt.args, got, tt.code)
		}
		if err != nil && err.Error() != tt.want || err == nil && tt.want != "" {
			t.Errorf("%s: error %v, want %q", tt.args, err, tt.want)
		}
		if (out.Len() > 0) != (tt.code != exit.Failed) || errs.Len() > 0 {
			t.Errorf("%s: it printed\n%s\n%s", tt.args, out.String(), errs.String())
		}
	}
	if exit.Code(errors.Join(errors.New("a"), &exit.NegativeError{Reason: "b"})) != exit.Negative || exit.Code(&runError{}) != exit.Negative || exit.Code(errors.New("a")) != exit.Failed {
		t.Error("exit codes of errors")
	}
}

// The page has the command line that repeats it, as one types it.
func TestReportHasTheCommandLine(t *testing.T) {
	dir := t.TempDir()
	answer(t, small("--out", dir)...)
	const want = "kubectl daemonplan simulate --nodes 12 --zones a,b,c --from testdata/v1.yaml --spec testdata/v2.yaml " +
		"--spec surge=testdata/v2-surge.yaml --world testdata/world.yaml --seed 1 --out DIR"
	if page := read(t, filepath.Join(dir, "report.html")); !strings.Contains(page, want) {
		t.Errorf("the page lacks %q", want)
	}
	answer(t, "study", "bad-version", "--scale", "0.01", "--out", dir)
	if page := read(t, filepath.Join(dir, "report.html")); !strings.Contains(page, "kubectl daemonplan study bad-version --scale 0.01 --out DIR") {
		t.Error("the page of a study lacks its command line")
	}
}
