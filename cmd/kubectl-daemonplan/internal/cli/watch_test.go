package cli

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/cluster/fakeapi"
	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/exit"
)

// TestWatchLines watches rollouts off a terminal, and checks what is printed last, and the exit code.
func TestWatchLines(t *testing.T) {
	t.Parallel()
	const complete = `^\S+Z Running \(RolloutComplete\): 3 of 3 nodes updated and available; 0 unavailable\n$`
	for _, c := range []struct {
		name, why string
		arrange   func(*fakeapi.Server)
		strategy  string
		code      int
		stdout    string
		stderr    string
	}{
		{"complete", "0", func(s *fakeapi.Server) {
			for _, node := range []string{"a", "b", "c"} {
				s.Put(fakeapi.Pod(node, "v2", true))
			}
		}, fakeapi.Rolling, 0, complete, `^$`},
		{"stopped", "somebody has to delete the pods", nil, fakeapi.OnDelete, 1,
			`^\S+Z Running \(OnDelete\): 0 of 3 nodes updated and available, 3 held back; 0 unavailable; 3 nodes wait for onDelete\n$`,
			`^error: the rollout of daemonset.apps/agent in namespace web goes on only when somebody acts: Running \(OnDelete\): 0 of 3 .*\n$`},
		{"forbidden", "names verb and resource", func(s *fakeapi.Server) { s.Forbidden = []string{"watch nodes"} }, fakeapi.Rolling, 2,
			`^(\S+Z Updating.*\n)?$`, `^error: the cluster: nodes cannot be watched, for which the verbs list and watch must be allowed: watch nodes is forbidden`},
		{"no set", "says where it was looked for", func(s *fakeapi.Server) { s.Delete("/apis/apps/v1/daemonsets", "web", "agent") }, fakeapi.Rolling, 2,
			`^$`, `^error: there is no DaemonSet .* \(the cluster at .*, namespace web; choose another one with -n`},
	} {
		server := fakeapi.NewRollout(t, c.strategy)
		if c.arrange != nil {
			c.arrange(server)
		}
		code, stdout, stderr := live(server.Kubeconfig(t, "web"), "-", "watch")
		if code != c.code || !regexp.MustCompile(c.stdout).MatchString(stdout) || !regexp.MustCompile(c.stderr).MatchString(stderr) {
			t.Errorf("%s (%s): exit code %d\n%s%s", c.name, c.why, code, stdout, stderr)
		}
	}
}

// TestWatchLearns: a watch writes what it has learnt, or says that there was nothing to learn.
func TestWatchLearns(t *testing.T) {
	t.Parallel()
	server := fakeapi.NewRollout(t, fakeapi.Rolling)
	for _, node := range []string{"a", "b", "c"} {
		server.Put(fakeapi.Pod(node, "v2", true))
	}
	file := filepath.Join(t.TempDir(), "world.yaml")
	code, stdout, stderr := live(server.Kubeconfig(t, "web"), "-", "watch", "--learn", file)
	if code != 2 || !strings.Contains(stderr, "--learn "+file+": no pod of web/agent started or stopped, so that there is nothing to learn") {
		t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
	}
	for _, node := range []string{"a", "b", "c"} {
		pod := strings.Replace(fakeapi.Pod(node, "v2", true), `"conditions":[`,
			`"conditions":[{"type":"PodScheduled","status":"True","lastTransitionTime":"2019-12-31T23:59:53Z"},`, 1)
		server.Put(pod)
	}
	code, stdout, stderr = live(server.Kubeconfig(t, "web"), "-", "watch", "--learn", file)
	text, err := os.ReadFile(file)
	if code != 0 || err != nil || !strings.Contains(string(text), "  - ready: 7s # ") || stderr != "wrote "+file+": forecast and simulate take it with --world\n" {
		t.Errorf("exit code %d, %v\n%s%s%s", code, err, stdout, stderr, text)
	}
}

// TestWatchTimeout ends a watch of a rollout that goes on, and one of a server that never answers.
func TestWatchTimeout(t *testing.T) {
	t.Parallel()
	server := fakeapi.NewRollout(t, fakeapi.Rolling)
	server.Hang()
	code, stdout, stderr := live(server.Kubeconfig(t, "web"), "-", "watch", "--timeout", "30ms")
	const silent = `^error: the rollout is not complete after 1s: the cluster at http://127\.0\.0\.1:\d+ cannot be read: .*: timed out after 1s\n$`
	if code != 1 || !regexp.MustCompile(silent).MatchString(stderr) {
		t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
	}
	code, stdout, stderr = live(server.Kubeconfig(t, "web"), "-", "watch", "--timeout", "-1s")
	if code != 2 || stderr != "error: --timeout -1s: must not be negative; 0 waits forever\n" {
		t.Errorf("a negative one: exit code %d\n%s%s", code, stdout, stderr)
	}
}

func TestWatchBrokenOutput(t *testing.T) {
	t.Parallel()
	server := fakeapi.NewRollout(t, fakeapi.Rolling)
	var stderr strings.Builder
	streams := genericiooptions.IOStreams{In: strings.NewReader(""), Out: broken{}, ErrOut: &stderr}
	if code := Main([]string{"watch", "--kubeconfig", server.Kubeconfig(t, "web")}, streams); code != 2 || !strings.HasPrefix(stderr.String(), "error: ") {
		t.Errorf("exit code %d, %q", code, stderr.String())
	}
}

// TestWatchKinds watches the sets of all three kinds.
func TestWatchKinds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		file            []byte
		namespace, name string
		want            string
	}{
		{fleetFile, "observability", "daemonset.apps/node-agent", "Updating"},
		{kruiseFile, "logging", "daemonset.apps.kruise.io/log-agent", "Updating"},
		{edsFile, "default", "extendeddaemonset.datadoghq.com/foo", "Canary"},
	} {
		server := fakeapi.New(t, c.file)
		reader, writer := io.Pipe()
		done := make(chan int)
		var stderr strings.Builder
		go func() {
			streams := genericiooptions.IOStreams{In: strings.NewReader(""), Out: writer, ErrOut: &stderr}
			done <- Main([]string{"watch", c.name, "--kubeconfig", server.Kubeconfig(t, c.namespace)}, streams)
		}()
		line := make([]byte, 4096)
		n, err := reader.Read(line)
		if err != nil || !strings.Contains(string(line[:n]), "Z "+c.want+": ") {
			t.Errorf("%s: %v, %q", c.name, err, line[:n])
		}
		_ = reader.Close() // the next line cannot be written
		kind, name, _ := strings.Cut(c.name, "/")
		resource, group, _ := strings.Cut(strings.Replace(kind, "set", "sets", 1), ".")
		version := map[string]string{"apps": "v1", "apps.kruise.io": "v1beta1", "datadoghq.com": "v1alpha1"}[group]
		server.Delete("/apis/"+group+"/"+version+"/"+resource, c.namespace, name)
		if code := <-done; code != exit.Failed {
			t.Errorf("%s: exit code %d, %s", c.name, code, stderr.String())
		}
	}
}
