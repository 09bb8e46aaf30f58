package cli

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/cluster/fakeapi"
	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/exit"
)

// live runs the program on a cluster with that kubeconfig. Answer is what is typed at a terminal; without a terminal it is "-".
func live(kubeconfig, answer string, args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	p := newProgram(genericiooptions.IOStreams{In: strings.NewReader(answer), Out: &out, ErrOut: &errs}, fleetTime)
	p.terminal = func() bool { return answer != "-" }
	code = p.run(append(args, "--kubeconfig", kubeconfig))
	return code, out.String(), errs.String()
}

// TestLiveIsTheDump plans every fleet from an API server, and compares with the plan of the dump. It also checks what was asked of
// the server: the namespace of the set only, in pages, and nothing but reads.
func TestLiveIsTheDump(t *testing.T) {
	for _, c := range []struct {
		example   string
		file      []byte
		namespace string
	}{{exampleKubernetes, fleetFile, "observability"}, {exampleKruise, kruiseFile, "logging"}, {exampleEDS, edsFile, "default"}} {
		server := fakeapi.New(t, c.file)
		kubeconfig := server.Kubeconfig(t, c.namespace)
		for _, args := range [][]string{{"plan", "-o", "wide"}, {"plan", "-o", "json"}, {"diff"}, {"get"}, {"rollout", "status"}} {
			code, stdout, stderr := live(kubeconfig, "-", args...)
			if want := plans(t, "", append(args, "--example", c.example)...); !answered(code, args) || stdout != want || stderr != "" {
				t.Errorf("%s %q: exit code %d, standard error %q, got\n%s\nwant\n%s", c.example, args, code, stderr, stdout, want)
			}
		}
		allowed := regexp.MustCompile(`^GET /apis?\?timeout=\w+$|^GET /api/v1/nodes\?limit=500$|` +
			`^GET /(api/v1|apis/[a-z.]+/v1[a-z0-9]*)/namespaces/` + c.namespace + `/[a-z]+\?limit=500$`)
		for _, request := range server.Requests() {
			if !allowed.MatchString(request) {
				t.Errorf("%s: request %s", c.example, request)
			}
		}
	}
}

// TestLivePages reads more objects than a page has.
func TestLivePages(t *testing.T) {
	server := fakeapi.New(t, dump(1100))
	code, stdout, stderr := live(server.Kubeconfig(t, "kube-system"), "-", "plan", "ds/node-agent")
	if code != 0 || stderr != "" || !strings.Contains(stdout, "node-agent   1100 ") {
		t.Errorf("exit code %d, standard error %q:\n%s", code, stderr, stdout)
	}
	pages := slices.DeleteFunc(server.Requests(), func(request string) bool { return !strings.Contains(request, "/nodes?") })
	if len(pages) != 3 {
		t.Errorf("%d pages: %q", len(pages), pages)
	}
}

func TestLiveNamespaces(t *testing.T) {
	server := fakeapi.New(t, []byte(join(smallSet, strings.Replace(smallSet, "namespace: web", "namespace: db", 1), smallNode)))
	kubeconfig := server.Kubeconfig(t, "web")
	for _, c := range []struct {
		name, why string
		args      []string
		code      int
		want      string
	}{
		{"context", "its namespace counts", []string{"get"}, 0, "agent   1 "},
		{"another one", "-n", []string{"get", "-n", "db"}, 0, "agent   1 "},
		{"all, with two sets", "one has to be chosen", []string{"get", "-A"}, 2, "daemonset.apps/agent (-n db), daemonset.apps/agent (-n web)"},
		{"an empty one", "says where it was looked", []string{"get", "-n", "none"}, 2, ", namespace none; choose another one with -n, or look at all with -A)"},
		{"both", "one would be ignored", []string{"get", "-A", "-n", "web"}, 2, "error: --all-namespaces and --namespace exclude each other\n"},
		{"no such set", "lists those of the namespace", []string{"get", "ds/x"}, 2, "error: there is no set daemonset.apps/x in namespace web; there are: daemonset.apps/agent (-n web)\n"},
		{"no such context", "names it", []string{"get", "--context", "nowhere"}, 2, "context was not found for specified context: nowhere; give a kubeconfig"},
	} {
		code, stdout, stderr := live(kubeconfig, "-", c.args...)
		if code != c.code || !strings.Contains(stdout+stderr, c.want) {
			t.Errorf("%s (%s): exit code %d, %q %q, want %q", c.name, c.why, code, stdout, stderr, c.want)
		}
	}
}

func TestLiveForbidden(t *testing.T) {
	server := fakeapi.New(t, []byte(join(smallSet, smallKruise, smallNode)))
	kubeconfig := server.Kubeconfig(t, "web")
	server.Forbidden = []string{"pods"}
	code, stdout, stderr := live(kubeconfig, "-", "plan", "ds/agent")
	if want := "error: the cluster: pods in namespace web cannot be read: "; code != 2 || stdout != "" || !strings.HasPrefix(stderr, want) {
		t.Errorf("pods: exit code %d, %q, %q, want %q", code, stdout, stderr, want)
	}
	server.Forbidden = []string{"daemonsets"}
	if code, _, stderr := live(kubeconfig, "-", "plan"); code != 2 || !strings.HasPrefix(stderr, "error: the cluster: daemonsets.apps in namespace web cannot be read: ") {
		t.Errorf("sets: exit code %d, %q", code, stderr)
	}
}

// TestLiveBrokenSet has a set beside that cannot be understood. It is an error only for those who ask for it.
func TestLiveBrokenSet(t *testing.T) {
	const broken = "apiVersion: datadoghq.com/v1alpha1\nkind: ExtendedDaemonSet\nmetadata: {name: broken, namespace: web}\n" +
		"spec: {strategy: {canary: {duration: soon}}, template: {}}\n"
	server := fakeapi.New(t, []byte(join(smallSet, broken, smallNode)))
	kubeconfig := server.Kubeconfig(t, "web")
	const why = "the cluster (ExtendedDaemonSet web/broken): spec.strategy.canary.duration: Invalid value: \"soon\""
	for _, c := range []struct {
		set  string
		code int
		want string
	}{
		{"agent", 0, "ignored set: " + why},
		{"", 0, "ignored set: " + why},
		{"ds/agent", 0, "agent   1 "},
		{"eds/broken", 2, "error: " + why},
		{"broken", 2, "error: " + why},
		{"other", 2, "error: there is no set other in namespace web; there are: daemonset.apps/agent (-n web)"},
	} {
		code, stdout, stderr := live(kubeconfig, "-", strings.Fields("plan "+c.set)...)
		if code != c.code || !strings.Contains(stdout+stderr, c.want) {
			t.Errorf("plan %s: exit code %d, want %q\n%s%s", c.set, code, c.want, stdout, stderr)
		}
	}
}

// TestNoKubeconfig is told that there is none, beside the address that a client takes then.
func TestNoKubeconfig(t *testing.T) {
	t.Setenv("KUBECONFIG", "/none/such")
	var out, errs bytes.Buffer
	streams := genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &errs}
	code := run([]string{"plan", "-n", "web", "-s", "http://127.0.0.1:1"}, streams, fleetTime)
	const want = "; there is no kubeconfig with a cluster in it (/none/such): give one with --kubeconfig, or a dump with -f\n"
	if code != 2 || out.Len() > 0 || !strings.HasSuffix(errs.String(), want) {
		t.Errorf("exit code %d, want %q\n%s%s", code, want, &out, &errs)
	}
}

// TestLiveCommands gives commands to a cluster.
func TestLiveCommands(t *testing.T) {
	const sets = "/apis/datadoghq.com/v1alpha1/extendeddaemonsets"
	for _, c := range []struct {
		name, why, answer string
		args              []string
		code              int
		sent              bool
		want              []string
	}{
		{"yes", "sent", "y\n", []string{"canary", "fail"}, 0, true, []string{"kubectl patch extendeddaemonsets.datadoghq.com foo -n default",
			"Obeyed by controllers that plan with daemonplan. Datadog's own controller obeys this instead:\n", "canary-failed", "foo in namespace default patched\n",
			"Send this patch to extendeddaemonset.datadoghq.com/foo in namespace default? [y/N] ", "The next plan then:"}},
		{"no", "not sent", "n\n", []string{"canary", "fail"}, 0, false, []string{"Nothing was sent.\n"}},
		{"no answer", "not sent", "", []string{"canary", "fail"}, 0, false, []string{"Nothing was sent.\n"}},
		{"no terminal", "nobody can be asked", "-", []string{"canary", "fail"}, 2, false, []string{"error: the patch is not sent: standard input is no terminal"}},
		{"--yes", "nobody is asked", "-", []string{"rollout", "pause", "--yes"}, 0, true, []string{"Obeyed by Datadog's own controller, and by controllers", "patched\n"}},
		{"refused", "nothing to retry", "y\n", []string{"canary", "retry"}, 2, false, []string{"error: the cluster (ExtendedDaemonSet default/foo): canary retry: "}},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := fakeapi.New(t, edsFile)
			code, stdout, stderr := live(server.Kubeconfig(t, "default"), c.answer, c.args...)
			if code != c.code || (server.Patched(sets) != nil) != c.sent {
				t.Errorf("%s: exit code %d, sent %v\n%s%s", c.why, code, server.Patched(sets), stdout, stderr)
			}
			for _, want := range c.want {
				if !strings.Contains(stdout+stderr, want) {
					t.Errorf("%s: lacks %q:\n%s%s", c.why, want, stdout, stderr)
				}
			}
		})
	}
	server := fakeapi.New(t, edsFile)
	server.Forbidden = []string{"patch extendeddaemonsets"}
	code, _, stderr := live(server.Kubeconfig(t, "default"), "-", "canary", "pause", "--yes")
	if code != 2 || !strings.Contains(stderr, "error: the cluster: extendeddaemonset.datadoghq.com/default/foo cannot be patched: ") {
		t.Errorf("a patch that is refused: exit code %d, %q", code, stderr)
	}
	if code, stdout, stderr := call("", "canary", "fail", "--example", "eds", "--yes"); code != 2 || stdout != "" || !strings.Contains(stderr, "--yes is for a cluster") {
		t.Errorf("--yes with an example: exit code %d, %q", code, stderr)
	}
}

// TestDatadogsOwnController gives commands to a set that Datadog's own controller runs: the patches are its own.
func TestDatadogsOwnController(t *testing.T) {
	const sets = "/apis/datadoghq.com/v1alpha1/extendeddaemonsets"
	set := strings.Replace(smallEDS, "spec:\n  template", "status: {activeReplicaSet: foo-a, canary: {replicaSet: foo-b, nodes: [a]}}\nspec:\n  strategy: {canary: {}}\n  template", 1)
	set = strings.Replace(set, "uid: e-1", "uid: e-1, namespace: default", 1)
	for _, name := range []string{"foo-a", "foo-b"} {
		set = join(set, `apiVersion: datadoghq.com/v1alpha1
kind: ExtendedDaemonSetReplicaSet
metadata: {name: `+name+`, namespace: default, uid: `+name+`, labels: {extendeddaemonset.datadoghq.com/name: foo}}
spec: {templateGeneration: `+name+`, template: {spec: {containers: [{name: daemon, image: "pause:`+name+`"}]}}}
`)
	}
	for words, want := range map[string]string{
		"canary validate": `{"metadata":{"annotations":{"extendeddaemonset.datadoghq.com/canary-valid":"foo-b"}}}`,
		"canary fail":     `{"metadata":{"annotations":{"extendeddaemonset.datadoghq.com/canary-failed":"true"}}}`,
		"canary pause":    `{"metadata":{"annotations":{"extendeddaemonset.datadoghq.com/canary-paused":"true","extendeddaemonset.datadoghq.com/canary-unpaused":null}}}`,
		"rollout pause":   `{"metadata":{"annotations":{"extendeddaemonset.datadoghq.com/rolling-update-paused":"true"}}}`,
		"rollout freeze":  `{"metadata":{"annotations":{"extendeddaemonset.datadoghq.com/rollout-frozen":"true"}}}`,
	} {
		server := fakeapi.New(t, []byte(join(set, smallNode)))
		code, stdout, stderr := live(server.Kubeconfig(t, "default"), "-", append(strings.Fields(words), "--yes")...)
		got, _ := json.Marshal(server.Patched(sets))
		if code != 0 || stderr != "" || string(got) != want || !strings.Contains(stdout, "Datadog's own controller runs this set, and obeys this patch.") {
			t.Errorf("%s: exit code %d, %q, sent %s, want %s\n%s", words, code, stderr, got, want, stdout)
		}
	}
	for name, c := range map[string][2]string{
		"retry":     {"canary retry", "canary retry: Datadog's own controller has no such command"},
		"no canary": {"canary fail", "canary fail: no canary is under way: status.canary of default/foo names no replica set"},
	} {
		without := set
		if name == "no canary" {
			without = strings.Replace(set, ", canary: {replicaSet: foo-b, nodes: [a]}", "", 1)
		}
		if code, _, stderr := call(join(without, smallNode), append(strings.Fields(c[0]), "-f", "-")...); code != 2 || !strings.Contains(stderr, c[1]) {
			t.Errorf("%s: exit code %d, %q", name, code, stderr)
		}
	}
}

// A claim that only one pod may use keeps a second pod of the set off a node: the claims of the namespace are read where pods use
// some, and it is said if they cannot be.
func TestLiveClaims(t *testing.T) {
	set := strings.Replace(smallSet, "spec: {containers:", "spec: {volumes: [{name: data, persistentVolumeClaim: {claimName: shared}}], containers:", 1) +
		"  updateStrategy: {rollingUpdate: {maxSurge: 1, maxUnavailable: 0}}\n"
	if !strings.Contains(set, "claimName") {
		t.Fatalf("the set has no volume: %s", set)
	}
	claim := func(mode string) string {
		return "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: shared, namespace: web, uid: c-1}\nspec: {accessModes: [" + mode + "]}\n"
	}
	pod := strings.Replace(smallPod, "app: agent}", "app: agent, controller-revision-hash: abc}", 1)
	revision := strings.Replace(smallRevision, "{spec: 5}", `{spec: {template: {$patch: replace, metadata: {labels: {app: agent}}, `+
		`spec: {volumes: [{name: data, persistentVolumeClaim: {claimName: shared}}], containers: [{name: agent, image: agent:v0}]}}}}`, 1)
	const found, unknown = "only one pod may use", "you may not read persistentvolumeclaims"
	for _, tt := range []struct {
		name, mode     string
		forbidden      bool
		found, unknown bool
	}{
		{"one pod", "ReadWriteOncePod", false, true, false},
		{"one node", "ReadWriteOnce", false, false, false},
		{"forbidden", "ReadWriteOncePod", true, false, true},
	} {
		server := fakeapi.New(t, []byte(join(set, smallNode, pod, revision, claim(tt.mode))))
		if tt.forbidden {
			server.Forbidden = []string{"persistentvolumeclaims"}
		}
		code, stdout, stderr := live(server.Kubeconfig(t, "web"), "-", "plan")
		if code != 0 || strings.Contains(stdout, found) != tt.found || strings.Contains(stdout, unknown) != tt.unknown {
			t.Errorf("%s: exit code %d, %s\n%s", tt.name, code, stderr, stdout)
		}
	}
}

// answering is a stream whose first line has the API server answer.
type answering struct {
	server *fakeapi.Server
	bytes.Buffer
}

func (a *answering) Write(data []byte) (int, error) {
	a.server.Answer()
	return a.Buffer.Write(data)
}

// TestLiveServerHangs has an API server accept connections and answer nothing, until somebody has been told.
func TestLiveServerHangs(t *testing.T) {
	t.Parallel()
	const silence = `The API server at http://127\.0\.0\.1:\d+ has not answered since \d\d:\d\d:\d\d UTC \(\d+s ago\)\. ` +
		`It was asked for the groups of its API\.\n`
	for _, args := range [][]string{{"plan"}, {"get"}, {"diff"}, {"explain", "a"}, {"rollout", "status"}, {"pods"}, {"watch"}} {
		server := fakeapi.NewRollout(t, fakeapi.OnDelete)
		server.Hang()
		stdout, stderr := &answering{server: server}, &answering{server: server}
		p := &program{
			streams: genericiooptions.IOStreams{In: strings.NewReader(""), Out: stdout, ErrOut: stderr},
			clock:   fleetTime, terminal: func() bool { return false }, silence: 20 * time.Millisecond,
		}
		code := p.run(append(args, "--kubeconfig", server.Kubeconfig(t, "web")))
		said, want, wantCode := stderr.String(), "^"+silence, exit.OK
		if args[0] == "diff" || args[0] == "rollout" { // the answer is negative
			wantCode = exit.Negative
		}
		if args[0] == "watch" { // it goes into the log, and the watch goes on
			said, want, wantCode = stdout.String(), `^\S+Z `+silence+`(?s:.*)\S+Z Running \(OnDelete\): 0 of 3 nodes`, exit.Negative
		}
		if code != wantCode || !regexp.MustCompile(want).MatchString(said) || stdout.Len() == 0 {
			t.Errorf("%q: exit code %d, want %q\n%s%s", args, code, want, stdout, stderr)
		}
	}
}
