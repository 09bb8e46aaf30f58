package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/cluster/fakeapi"
	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/exit"
)

// TestSimulationsReadACluster: of a cluster the commands answer what they answer of its dump.
func TestSimulationsReadACluster(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	dump := write("fleet.yaml", string(fleetFile))
	spec := write("new.yaml", agentAt("2.15.0"))
	world := write("world.yaml", "model: {kubelets: [{start: 10s}]}\n")
	server := fakeapi.New(t, fleetFile)
	kubeconfig := server.Kubeconfig(t, "observability")
	for _, words := range []string{
		"simulate", "forecast --seeds 2", "suggest --deadline 1h --seeds 2", "simulate --controller kubernetes --controller daemonplan",
	} {
		args := append(strings.Fields(words), "--world", world, "--until", "3h")
		if args[0] == "suggest" {
			args = args[:len(args)-2]
		}
		for _, change := range [][]string{nil, {"--spec", spec}} {
			args := append(args, change...)
			code, stdout, stderr := live(kubeconfig, "-", append(args, "ds/node-agent")...)
			wantCode, want, _ := call("", append(args, "-f", dump)...)
			if code == exit.Failed || code != wantCode || stdout != want {
				t.Errorf("%q: exit code %d, standard error %q, got\n%s\nwant %d\n%s", args, code, stderr, stdout, wantCode, want)
			}
		}
	}
	for _, request := range server.Requests() {
		if !strings.HasPrefix(request, "GET ") {
			t.Errorf("a simulation wrote: %s", request)
		}
	}
	report := filepath.Join(dir, "report")
	if code, _, stderr := live(kubeconfig, "-", "simulate", "node-agent", "-n", "observability", "--world", world, "--until", "3h",
		"--out", report); code == exit.Failed {
		t.Fatal(stderr)
	}
	page, err := os.ReadFile(filepath.Join(report, "report.html"))
	if err != nil || !strings.Contains(string(page), "kubectl daemonplan simulate node-agent --namespace observability") {
		t.Errorf("the page does not say how it was made (%v)", err)
	}
}

// TestSimulationsOfNoSet: what the argument is not gets an error that says what it is.
func TestSimulationsOfNoSet(t *testing.T) {
	server := fakeapi.New(t, fleetFile)
	kubeconfig := server.Kubeconfig(t, "observability")
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"simulate", "none"}, "there is no set none"},
		{[]string{"simulate", "job/a"}, "job/a"},
		{[]string{"simulate", "a", "b"}, `unexpected argument "b": there is one SET`},
		{[]string{"simulate", "new.yaml"}, "files are given with flags, such as --spec new.yaml"},
		{[]string{"simulate", "node-agent", "--nodes", "3"}, "--nodes and the cluster of SET are given together"},
		{[]string{"simulate", "node-agent", "--from", "x.yaml"}, "--from is for generated nodes"},
		{[]string{"forecast", "-f", "a", "--dump", "b"}, "--dump and --filename are given together"},
		{[]string{"forecast", "node-agent", "--name", "x"}, "node-agent and --name both name a set"},
		{[]string{"forecast"}, "there is no fleet: give --nodes N, --fleet FILE, --dump FILE, or SET, a set of the cluster"},
	} {
		if code, stdout, stderr := live(kubeconfig, "-", test.args...); code != exit.Failed || stdout != "" ||
			!strings.Contains(stderr, test.want) {
			t.Errorf("%q: exit code %d, %q, want %q", test.args, code, stderr, test.want)
		}
	}
}
