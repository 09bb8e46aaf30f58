package watch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/cluster"
	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/cluster/fakeapi"
	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/exit"
	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/plan"
)

// output collects what is written.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *output) Write(data []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(data)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// lines is a watch that prints lines.
type lines struct {
	out  output
	done chan error
	stop context.CancelFunc
}

// watchLines begins to watch the set.
func watchLines(t *testing.T, server *fakeapi.Server) *lines {
	t.Helper()
	return watchImpatiently(t, server, cluster.LongestSilence)
}

// watchImpatiently begins to watch the set, and says so if a request has no answer for a time.
func watchImpatiently(t *testing.T, server *fakeapi.Server, silence time.Duration) *lines {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	l := &lines{done: make(chan error, 1), stop: stop}
	c, err := cluster.ForConfig(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	c.OnSilence(silence, func([]cluster.Unanswered) {})
	watched, err := c.Watch(ctx, objects.Ref{Group: objects.GroupApps, Namespace: "web", Name: "agent"})
	if err != nil {
		t.Fatal(err)
	}
	go func() { l.done <- Lines(ctx, watched, plan.Settings{}, &l.out) }()
	t.Cleanup(func() {
		stop()
		<-l.done
	})
	return l
}

// see waits for text in what is printed.
func (l *lines) see(t *testing.T, want string) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !regexp.MustCompile(want).MatchString(l.out.String()); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("no %q in\n%s", want, l.out.String())
		}
	}
}

// end waits for the end.
func (l *lines) end(t *testing.T) error {
	t.Helper()
	select {
	case err := <-l.done:
		l.done <- err
		return err
	case <-time.After(time.Minute):
		t.Fatalf("no end:\n%s", l.out.String())
		return nil
	}
}

// endedWith checks that the error is the answer that a rollout has stopped, for this reason.
func endedWith(t *testing.T, err error, want string) {
	t.Helper()
	if one, ok := errors.AsType[*exit.NegativeError](err); !ok || !strings.Contains(one.Error(), want) {
		t.Errorf("the end is %v, want %s", err, want)
	}
}

func TestLinesOfARollout(t *testing.T) {
	t.Parallel()
	server := fakeapi.NewRollout(t, fakeapi.Rolling)
	server.NoListStreams = true
	l := watchLines(t, server)
	l.see(t, `Z Updating: 0 of 3 nodes updated and available, 2 waiting for the budget; 0 unavailable; 2 nodes wait for maxUnavailable\n`)
	server.Delete("/api/v1/pods", "web", "agent-a")
	server.Put(fakeapi.Pod("a", "v2", false))
	l.see(t, `Z Updating: 0 of 3 nodes updated and available, 2 waiting for the budget; 1 unavailable; 2 nodes wait for maxUnavailable; `+
		`a: container agent: CrashLoopBackOff, last OOMKilled with exit code 137, 17 restarts since .*\n`)
	for range 20 { // heartbeats are no news
		server.Put(fakeapi.Node("b"))
	}
	server.Put(fakeapi.Pod("a", "v2", true))
	l.see(t, `Z Updating: 1 of 3 nodes updated and available, 1 waiting for the budget; 0 unavailable; `)
	server.Put(fakeapi.Pod("b", "v2", true))
	server.Put(fakeapi.Pod("c", "v2", true))
	if err := l.end(t); err != nil {
		t.Error(err)
	}
	l.see(t, `Z Running \(RolloutComplete\): 3 of 3 nodes updated and available; 0 unavailable\n$`)
	if n := strings.Count(l.out.String(), "\n"); n > 5 {
		t.Errorf("%d lines:\n%s", n, l.out.String())
	}
	for _, request := range server.Requests() {
		allowed := `^GET /apis?\?|/daemonsets\?limit=500$|^GET /(api/v1/nodes|api/v1/namespaces/web/pods|apis/apps/v1/namespaces/web/(daemonsets|controllerrevisions))\?`
		if !regexp.MustCompile(allowed).MatchString(request) {
			t.Errorf("request %s", request)
		}
		if strings.Contains(request, "/pods?") && !strings.Contains(request, "labelSelector=app%3Dagent") ||
			strings.Contains(request, "/daemonsets?") && strings.Contains(request, "watch") && !strings.Contains(request, "fieldSelector=metadata.name%3Dagent") {
			t.Errorf("request %s is for too much", request)
		}
	}
}

func TestLinesOfAStoppedRollout(t *testing.T) {
	t.Parallel()
	l := watchLines(t, fakeapi.NewRollout(t, fakeapi.OnDelete))
	endedWith(t, l.end(t), "the rollout of daemonset.apps/agent in namespace web goes on only when somebody acts: Running (OnDelete): 0 of 3 nodes")
}

func TestLinesOfADeletedSet(t *testing.T) {
	t.Parallel()
	server := fakeapi.NewRollout(t, fakeapi.Rolling)
	l := watchLines(t, server)
	l.see(t, "Updating")
	server.Delete("/apis/apps/v1/daemonsets", "web", "agent")
	endedWith(t, l.end(t), "daemonset.apps/agent in namespace web has been deleted")
	l.see(t, "Z The set has been deleted.\n$")
}

func TestLinesInterrupted(t *testing.T) {
	t.Parallel()
	l := watchLines(t, fakeapi.NewRollout(t, fakeapi.Rolling))
	l.see(t, "Updating")
	l.stop()
	endedWith(t, l.end(t), "the watch of daemonset.apps/agent was interrupted before the rollout was complete")
}

// TestLinesTimeout: the last line and the answer say what is not done.
func TestLinesTimeout(t *testing.T) {
	ctx, stop := context.WithCancelCause(t.Context())
	stop(TimeoutError(10 * time.Minute))
	f := framed(planned(t, "fleet.yaml"))
	f.Unanswered = []cluster.Unanswered{{Server: "https://api.example:6443", What: "nodes", Since: fleetTime}}
	var l log
	lines, err := l.interrupted(ctx, f, fleetTime)
	endedWith(t, err, "the rollout is not complete after 10m: The API server at https://api.example:6443 has not answered since ")
	want := `^2026-03-02T09:15:00Z Timed out: The API server .* It was asked for nodes; Updating: 14 of 56 nodes updated and available.* unavailable; ` +
		`.* nodes? waits? for .*; not updated and available: general-1a-01, [^;]* and 34 more$`
	if len(lines) != 1 || !regexp.MustCompile(want).MatchString(lines[0]) {
		t.Errorf("want %s:\n%s", want, strings.Join(lines, "\n"))
	}
	lines, _ = l.interrupted(ctx, &Frame{Missing: []string{"nodes", "pods in namespace web"}}, fleetTime)
	if len(lines) != 1 || lines[0] != "2026-03-02T09:15:00Z Timed out: Not read yet: nodes, pods in namespace web" {
		t.Errorf("before anything was read: %q", lines)
	}
	if err := f.timedOut(ctx); err == nil || !strings.Contains(err.Error(), "the rollout is not complete after 10m: ") {
		t.Errorf("on a screen: %v", err)
	}
	if err := f.timedOut(t.Context()); err != nil {
		t.Errorf("in time: %v", err)
	}
}

// TestRepeats: lines that say again what is there are counted, and what is the case now is never held back for long.
func TestRepeats(t *testing.T) {
	const lost, back = "Connection lost at 14:05:%02d (3s ago), trying again. refused", "Connected again."
	type step struct {
		second int
		words  string // empty: it is looked whether lines are due
		want   string // lines without the date; empty: none
	}
	for _, tt := range []struct {
		name, why string
		steps     []step
		left      string // at the end
	}{
		{"the same line", "it is counted, and the last time is said", []step{
			{0, "a", "00Z a"}, {1, "a", ""}, {8, "a", ""}, {100, "", ""}, {101, "b", "08Z … 2 more times until 14:05:08|41Z b"}, {102, "c", "42Z c"},
		}, ""},
		{"two by turns", "what is said at another time is the same", []step{
			{0, fmt.Sprintf(lost, 0), "00Z " + fmt.Sprintf(lost, 0)}, {1, back, "01Z " + back},
			{2, fmt.Sprintf(lost, 2), ""}, {3, back, ""}, {4, fmt.Sprintf(lost, 4), ""}, {5, back, ""},
			{6, "b", "05Z … the last two lines 2 more times until 14:05:05|06Z b"},
		}, ""},
		{"half a turn", "the last line says what is the case, so that it is printed", []step{
			{0, "a", "00Z a"}, {1, "b", "01Z b"}, {2, "a", ""}, {3, "b", ""}, {4, "a", ""}, {8, "", ""},
			{9, "", "03Z … the last two lines 1 more time until 14:05:03|04Z a"}, {10, "", ""}, {11, "b", ""},
		}, "11Z b"},
		{"the end", "what was left out is counted", []step{{0, "a", "00Z a"}, {1, "a", ""}}, "01Z … 1 more time until 14:05:01"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			start := time.Date(2026, 3, 2, 14, 5, 0, 0, time.UTC)
			var r repeats
			short := func(lines []string) string {
				for i := range lines {
					lines[i] = lines[i][len("2026-03-02T14:05:"):]
				}
				return strings.Join(lines, "|")
			}
			for _, s := range tt.steps {
				now := start.Add(time.Duration(s.second) * time.Second)
				var lines []string
				if s.words != "" {
					lines = r.add(s.words, now)
				} else if due := r.due(); !due.IsZero() && !due.After(now) {
					lines = r.flush()
				}
				if got := short(lines); got != s.want {
					t.Errorf("%s: after %ds %q prints %q, want %q", tt.why, s.second, s.words, got, s.want)
				}
			}
			if got := short(r.flush()); got != tt.left {
				t.Errorf("%s: at the end %q, want %q", tt.why, got, tt.left)
			}
		})
	}
}

// TestLinesForbidden refuses verbs one by one.
func TestLinesForbidden(t *testing.T) {
	for _, streams := range []bool{false, true} {
		for _, forbidden := range []string{"pods", "watch pods", "nodes", "watch nodes", "watch controllerrevisions", "watch daemonsets"} {
			t.Run(forbidden, func(t *testing.T) {
				t.Parallel()
				server := fakeapi.NewRollout(t, fakeapi.Rolling)
				server.NoListStreams = !streams
				server.Forbidden = []string{forbidden, "watch " + forbidden}
				err := watchLines(t, server).end(t)
				words := strings.Fields(forbidden)
				if err == nil || !strings.Contains(err.Error(), "the cluster: "+words[len(words)-1]) ||
					!strings.Contains(err.Error(), " cannot be watched, for which the verbs list and watch must be allowed: ") {
					t.Errorf("%v", err)
				}
			})
		}
	}
}

func TestLinesReconnect(t *testing.T) {
	t.Parallel()
	server := fakeapi.NewRollout(t, fakeapi.Rolling)
	l := watchLines(t, server)
	l.see(t, "Updating: 0 of 3")
	server.Disconnect()
	l.see(t, `Z Connection lost at \d\d:\d\d:\d\d \(\d+s ago\), trying again\. What is shown of .* may be old\. `)
	server.Put(fakeapi.Pod("a", "v2", true))
	server.Reconnect()
	l.see(t, `Z Connected again\.\n`)
	l.see(t, "Updating: 1 of 3")
	server.Disconnect()
	server.Close() // nobody listens any more
	l.see(t, "connection refused")
}

// TestLinesOfAServerThatHangs has the API server accept connections and answer nothing, in the middle of a watch.
func TestLinesOfAServerThatHangs(t *testing.T) {
	t.Parallel()
	server := fakeapi.NewRollout(t, fakeapi.Rolling)
	l := watchImpatiently(t, server, 20*time.Millisecond)
	l.see(t, "Updating: 0 of 3")
	server.Hang()
	server.Expire() // all has to be listed anew
	l.see(t, `Z The API server at http://127\.0\.0\.1:\d+ has not answered since \d\d:\d\d:\d\d UTC \(\d+s ago\)\. It was asked for `+
		`(nodes|pods in namespace web|daemonsets\.apps in namespace web|controllerrevisions\.apps in namespace web)`)
	server.Put(fakeapi.Pod("a", "v2", true))
	server.Answer()
	l.see(t, `Z The API server has answered\.\n`)
	l.see(t, "Updating: 1 of 3")
}

// While the server does not answer, time alone completes no rollout, and after the patience the watch ends.
func TestLogOfAServerThatHangs(t *testing.T) {
	f := framed(planned(t, "fleet.yaml"))
	since := fleetTime.Add(-5 * time.Second)
	f.Unanswered = []cluster.Unanswered{
		{Server: "https://api.example:6443", What: "nodes", Since: since},
		{Server: "https://api.example:6443", What: "pods in namespace\x1b web", Since: since.Add(time.Second)},
	}
	var l log
	const want = "2026-03-02T09:15:00Z The API server at https://api.example:6443 has not answered since 09:14:55 UTC (5s ago). " +
		`It was asked for nodes and pods in namespace\x1b web.`
	if lines, end, err := l.add(f, fleetTime); len(lines) != 1 || lines[0] != want || end || err != nil {
		t.Errorf("%q, %v, %v; want %q", lines, end, err, want)
	}
	if lines, end, _ := l.add(f, fleetTime.Add(time.Minute)); len(lines) > 0 || end {
		t.Errorf("a minute later: %q, %v", lines, end)
	}
	if screen := shown(t, f, fleetTime, 0, 200, 24); !strings.Contains(screen, want[len("2026-03-02T09:15:00Z "):]) {
		t.Errorf("the screen lacks %q:\n%s", want, screen)
	}
	f.Result = nil // the first read hangs, too
	lines, end, err := l.add(f, since.Add(patience))
	if len(lines) != 1 || lines[0] != "2026-03-02T09:24:55Z Given up: nothing was read for 10m." || !end {
		t.Errorf("ten minutes later: %q, %v", lines, end)
	}
	endedWith(t, err, "the connection to the cluster was lost before the rollout of daemonset.apps/node-agent in namespace "+
		"observability was complete")
}

// severed is a source whose connection is broken for as long as the test says.
type severed struct {
	Source
	since atomic.Pointer[time.Time]
}

func (c *severed) Broken() []cluster.Broken {
	if since := c.since.Load(); since != nil {
		err := &url.Error{Op: "Get", URL: "https://api.example:6443/api/v1/pods?watch=true", Err: errors.New("connection refused")}
		return []cluster.Broken{{What: "pods", Since: *since, Err: err}}
	}
	return nil
}

// While nothing is seen, nodes become available with time in what was seen before. That does not make a rollout complete.
func TestLinesWithoutAConnection(t *testing.T) {
	t.Parallel()
	server := fakeapi.NewRollout(t, fakeapi.Rolling)
	for _, node := range []string{"a", "b", "c"} {
		server.Delete("/api/v1/pods", "web", "agent-"+node)
		server.Put(fakeapi.Pod(node, "v2", true))
	}
	c, err := cluster.ForConfig(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name  string
		since time.Duration
	}{{"comes back", time.Minute}, {"never comes back", patience}} {
		t.Run(tt.name, func(t *testing.T) {
			ctx, stop := context.WithCancel(t.Context())
			l := &lines{done: make(chan error, 1), stop: stop}
			watched, err := c.Watch(ctx, objects.Ref{Group: objects.GroupApps, Namespace: "web", Name: "agent"})
			if err != nil {
				t.Fatal(err)
			}
			source := &severed{Source: watched}
			since := time.Now().Add(-tt.since)
			source.since.Store(&since)
			go func() { l.done <- Lines(ctx, source, plan.Settings{}, &l.out) }()
			t.Cleanup(func() {
				stop()
				<-l.done
			})
			l.see(t, `may be old\. https://api\.example:6443: connection refused\n`)
			if tt.since == patience {
				endedWith(t, l.end(t), "the connection to the cluster was lost before the rollout of daemonset.apps/agent in "+
					"namespace web was complete")
				l.see(t, `Z Given up: nothing was read for 10m\d*s?\.\n$`)
				return
			}
			for range 3 { // frames
				server.Put(fakeapi.Node("b"))
				time.Sleep(1100 * time.Millisecond)
			}
			if out := l.out.String(); strings.Contains(out, "Running") {
				t.Errorf("without a connection it says\n%s", out)
			}
			source.since.Store(nil)
			server.Put(fakeapi.Node("b"))
			if err := l.end(t); err != nil {
				t.Error(err)
			}
			l.see(t, `Z Connected again\.\n.*Z Running \(RolloutComplete\): 3 of 3 nodes`)
		})
	}
}

func TestLinesExpired(t *testing.T) {
	t.Parallel()
	server := fakeapi.NewRollout(t, fakeapi.Rolling)
	l := watchLines(t, server)
	l.see(t, "Updating: 0 of 3")
	server.Expire()
	l.see(t, `Z The watch of .* had expired at \d\d:\d\d:\d\d; they were listed anew\.\n`)
	server.Put(fakeapi.Pod("a", "v2", true))
	l.see(t, "Updating: 1 of 3")
}

// TestLinesOfAnotherSelector deletes the set, and creates it with other labels while nobody looks.
func TestLinesOfAnotherSelector(t *testing.T) {
	t.Parallel()
	server := fakeapi.NewRollout(t, fakeapi.Rolling)
	l := watchLines(t, server)
	l.see(t, "Updating: 0 of 3")
	other := strings.ReplaceAll(fakeapi.Set(fakeapi.Rolling), `"app":"agent"`, `"app":"other"`)
	server.Put(strings.ReplaceAll(other, "d-1", "d-2"))
	l.see(t, "Updating: 0 of 3 nodes updated and available; 3 unavailable")
	server.Put(strings.NewReplacer("d-1", "d-2", `"app":"agent"`, `"app":"other"`).Replace(fakeapi.Pod("b", "v9", true)))
	l.see(t, "Updating: 0 of 3 nodes updated and available.*; 2 unavailable")
	server.Put(fakeapi.Set(fakeapi.Rolling))
	l.see(t, "(?s)2 unavailable.*Updating: 0 of 3 nodes updated and available, 2 waiting for the budget; 1 unavailable")
}

// TestLinesOfABadSpec has the set get a spec that is none, and mends it.
func TestLinesOfABadSpec(t *testing.T) {
	t.Parallel()
	server := fakeapi.NewRollout(t, fakeapi.Rolling)
	l := watchLines(t, server)
	l.see(t, "Updating: 0 of 3")
	server.Put(fakeapi.Set(`{"type":"RollingUpdate","rollingUpdate":{"maxUnavailable":"x"}}`))
	l.see(t, `Z No plan: the cluster \(DaemonSet web/agent\): spec.updateStrategy.rollingUpdate.maxUnavailable: `)
	server.Put(fakeapi.Set(fakeapi.OnDelete))
	endedWith(t, l.end(t), "OnDelete")
}
