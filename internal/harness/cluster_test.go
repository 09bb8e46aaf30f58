package harness_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/internal/harness"
	"github.com/daemonplan/daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
)

func newCluster(t *testing.T, behavior harness.Behavior, nodes []*corev1.Node, pods ...*corev1.Pod) *harness.Cluster {
	t.Helper()
	spec := rollouttest.Spec("agent")
	for _, p := range pods {
		rollouttest.ControlledBy(spec)(p)
	}
	c, err := harness.NewCluster(spec, rollout.Snapshot{
		Now: rollouttest.Noon(), Nodes: nodes, Pods: pods,
		Revisions: []*appsv1.ControllerRevision{rollouttest.Revision(spec, 1)},
	}, behavior)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// told is what happened, one event per line and without the date.
func told(c *harness.Cluster) string {
	var lines []string
	for _, e := range c.Events() {
		lines = append(lines, e.String())
	}
	return strings.Join(lines, "\n")
}

func TestClusterPlaysOnePod(t *testing.T) {
	hash := rollouttest.Hash(rollouttest.Spec("agent"))
	marked := rollouttest.Terminating(rollouttest.Noon())
	bound, pinned := rollouttest.OnNode("a"), rollouttest.PinnedTo("a")
	tests := []struct {
		name     string
		why      string
		pod      []rollouttest.PodOption
		node     []rollouttest.NodeOption
		behavior harness.Behavior
		want     string
	}{
		{
			name: "healthy", why: "nothing is to be done about it",
			pod: []rollouttest.PodOption{bound}, want: "",
		},
		{
			name: "pinned", why: "the scheduler binds at once, the kubelet starts after 5 s",
			pod: []rollouttest.PodOption{pinned}, want: "12:00:00 bound p on a\n12:00:05 ready p on a",
		},
		{
			name: "slow", why: "the delay is the configured one",
			pod: []rollouttest.PodOption{pinned}, behavior: harness.Behavior{Start: time.Minute},
			want: "12:00:00 bound p on a\n12:01:00 ready p on a",
		},
		{
			name: "not ready", why: "a fair kubelet makes it Ready in the end",
			pod: []rollouttest.PodOption{bound, rollouttest.Unready()}, want: "12:00:05 ready p on a",
		},
		{
			name: "never ready", why: "the revision is broken",
			pod:      []rollouttest.PodOption{pinned, rollouttest.AtRevision(hash)},
			behavior: harness.Behavior{NeverReady: []string{hash}}, want: "12:00:00 bound p on a",
		},
		{
			name: "failing", why: "the revision is broken worse",
			pod:      []rollouttest.PodOption{pinned, rollouttest.AtRevision(hash)},
			behavior: harness.Behavior{Failing: []string{hash}}, want: "12:00:00 bound p on a\n12:00:05 failed p on a",
		},
		{
			name: "failing other revision", why: "only the given one is broken",
			pod:      []rollouttest.PodOption{pinned, rollouttest.AtRevision("other")},
			behavior: harness.Behavior{Failing: []string{hash}}, want: "12:00:00 bound p on a\n12:00:05 ready p on a",
		},
		{
			name: "terminating", why: "the kubelet needs 2 s",
			pod: []rollouttest.PodOption{bound, marked}, want: "12:00:02 gone p on a",
		},
		{
			name: "terminating slowly", why: "the delay is the configured one",
			pod:      []rollouttest.PodOption{bound, marked},
			behavior: harness.Behavior{Stop: 30 * time.Second}, want: "12:00:30 gone p on a",
		},
		{
			name: "terminating and never bound", why: "no kubelet waits for anything",
			pod: []rollouttest.PodOption{pinned, marked}, want: "12:00:00 gone p on a",
		},
		{
			name: "failed", why: "it stays until somebody deletes it",
			pod: []rollouttest.PodOption{bound, rollouttest.Failed()}, want: "",
		},
		{
			name: "failed and terminating", why: "its end is no reason to keep it",
			pod: []rollouttest.PodOption{bound, rollouttest.Failed(), marked}, want: "12:00:02 gone p on a",
		},
		{
			name: "bound to a vanished node", why: "the pod garbage collector takes it",
			pod: []rollouttest.PodOption{rollouttest.OnNode("z")}, want: "12:00:02 collected p on z",
		},
		{
			name: "pinned to a vanished node", why: "it is the planner's (M5)",
			pod: []rollouttest.PodOption{rollouttest.PinnedTo("z")}, want: "",
		},
		{
			name: "of no node", why: "nobody knows where to bind it",
			pod: []rollouttest.PodOption{rollouttest.Pending()}, want: "",
		},
		{
			name: "not tolerating", why: "the scheduler keeps it off a tainted node",
			pod:  []rollouttest.PodOption{pinned},
			node: []rollouttest.NodeOption{rollouttest.Taint("gpu", "", corev1.TaintEffectNoSchedule)}, want: "",
		},
		{
			name: "ready since ever", why: "a kubelet that is back says since when",
			pod: []rollouttest.PodOption{bound, rollouttest.Ready(time.Time{})}, want: "12:00:05 ready p on a",
		},
		{
			name: "in-place update under way", why: "it completes",
			pod: []rollouttest.PodOption{bound, objects.Updating()}, want: "12:00:05 ready p on a",
		},
		{
			name: "of unknown phase", why: "the kubelet comes back",
			pod:  []rollouttest.PodOption{bound, func(p *corev1.Pod) { p.Status.Phase = corev1.PodUnknown }},
			want: "12:00:05 ready p on a",
		},
	}
	seen := map[string]bool{}
	for _, test := range tests {
		if test.why == "" || seen[test.name] {
			t.Fatalf("row %q needs a reason and a name of its own", test.name)
		}
		seen[test.name] = true
		t.Run(test.name, func(t *testing.T) {
			pod := rollouttest.Pod("p", test.pod...)
			c := newCluster(t, test.behavior, []*corev1.Node{rollouttest.Node("a", test.node...)}, pod)
			c.Tick(time.Hour)
			if got := told(c); got != test.want {
				t.Errorf("got\n%s\nwant\n%s", got, test.want)
			}
			if next := c.Next(); !next.IsZero() {
				t.Errorf("after an hour something is still due at %v", next)
			}
			if now := c.Now(); !now.Equal(rollouttest.Noon().Add(time.Hour)) {
				t.Errorf("after an hour it is %v", now)
			}
		})
	}
}

// Time passes in the order of events however it is cut into ticks.
func TestTicksAddUp(t *testing.T) {
	run := func(ticks ...time.Duration) string {
		c := newCluster(t, harness.Behavior{Jitter: 3}, rollouttest.Nodes("a", "b"),
			rollouttest.Pod("p", rollouttest.PinnedTo("a")), rollouttest.Pod("q", rollouttest.PinnedTo("b")),
			rollouttest.Pod("r", rollouttest.OnNode("a"), rollouttest.Terminating(rollouttest.Noon())))
		for _, d := range ticks {
			c.Tick(d)
		}
		return told(c)
	}
	want := run(time.Minute)
	if strings.Count(want, "ready") != 2 || strings.Count(want, "gone") != 1 {
		t.Fatalf("too little happened:\n%s", want)
	}
	if got := run(0, -time.Second, time.Second, 6*time.Second, 53*time.Second); got != want {
		t.Errorf("in parts:\n%s\nat once:\n%s", got, want)
	}
}

func TestJitterMakesPodsDiffer(t *testing.T) {
	ready := func(jitter uint64) []time.Time {
		var pods []*corev1.Pod
		for i := range 12 {
			pods = append(pods, rollouttest.Pod(fmt.Sprint("p", i), rollouttest.PinnedTo("a")))
		}
		c := newCluster(t, harness.Behavior{Jitter: jitter}, rollouttest.Nodes("a"), pods...)
		c.Tick(time.Minute)
		var at []time.Time
		for _, e := range c.Events() {
			if e.Kind == harness.PodReady {
				at = append(at, e.At)
			}
		}
		return slices.CompactFunc(at, time.Time.Equal)
	}
	if got := ready(0); len(got) != 1 {
		t.Errorf("without jitter pods become ready at %v", got)
	}
	got := ready(1)
	if len(got) < 2 {
		t.Errorf("with jitter pods become ready at %v", got)
	}
	if latest := got[len(got)-1]; latest.After(rollouttest.Noon().Add(20 * time.Second)) {
		t.Errorf("a pod became ready at %v, more than four times the delay", latest)
	}
	if other := ready(2); slices.EqualFunc(got, other, time.Time.Equal) {
		t.Logf("jitter 1 and 2 agree: %v", got) // possible, and no reason to fail
	}
}

func TestLaggingWatch(t *testing.T) {
	c := newCluster(t, harness.Behavior{Lag: 2}, rollouttest.Nodes("a", "b"),
		rollouttest.Pod("p", rollouttest.OnNode("a")), rollouttest.Pod("q", rollouttest.OnNode("a")))
	if c.Behind() {
		t.Fatal("behind from the beginning")
	}
	err := c.Apply(rollout.Plan{
		Patches:   []rollout.Patch{{Pod: "q", UID: "pod-q", Type: types.MergePatchType, Data: []byte(`{"metadata":{"labels":{"x":"y"}}}`)}},
		Deletes:   []rollout.Delete{{Node: "a", Pod: "p", UID: "pod-p"}},
		Creates:   []rollout.Create{{Node: "b", Revision: "x"}},
		Revisions: []rollout.RevisionAction{{Verb: rollout.DeleteRevision, Name: "other"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := rollout.InFlight{
		Creates:   []rollout.InFlightCreate{{Node: "b", Revision: "x"}},
		Deletes:   []types.UID{"pod-p"},
		Patches:   []types.UID{"pod-q"},
		Revisions: []string{"other"},
	}
	for range 2 {
		s := c.Snapshot()
		if len(s.Pods) != 2 || s.Pods[0].DeletionTimestamp != nil {
			t.Fatalf("the snapshot shows the effect too early: %d pods", len(s.Pods))
		}
		if got := fmt.Sprint(s.InFlight); got != fmt.Sprint(want) {
			t.Fatalf("in flight are %s, want %v", got, want)
		}
		if !c.Behind() {
			t.Fatal("not behind although requests are in flight")
		}
		c.Tick(0)
	}
	s := c.Snapshot()
	if len(s.Pods) != 3 || s.Pods[0].DeletionTimestamp == nil || len(s.InFlight.Creates) != 0 {
		t.Errorf("after two ticks the snapshot shows %d pods and %v in flight", len(s.Pods), s.InFlight)
	}
}

func TestNodesComeAndGo(t *testing.T) {
	c := newCluster(t, harness.Behavior{}, rollouttest.Nodes("a"), rollouttest.Pod("p", rollouttest.OnNode("a")))
	c.Tick(time.Minute)
	c.RemoveNode("a")
	c.SetNode(rollouttest.Node("b"))
	c.SetPod(rollouttest.Pod("q", rollouttest.PinnedTo("b")))
	c.Tick(time.Minute)
	want := "12:01:00 bound q on b\n12:01:02 collected p on a\n12:01:05 ready q on b"
	if got := told(c); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	c.SetPod(rollouttest.Pod("q", rollouttest.OnNode("b"), rollouttest.Failed()))
	s := c.Snapshot()
	if len(s.Nodes) != 1 || s.Nodes[0].Name != "b" || len(s.Pods) != 1 || s.Pods[0].Status.Phase != corev1.PodFailed {
		t.Errorf("nodes %v, pods %v", s.Nodes, s.Pods)
	}
}

func TestSpecChanges(t *testing.T) {
	c := newCluster(t, harness.Behavior{}, rollouttest.Nodes("a"))
	bad := rollouttest.Spec("agent", func(s *rollout.Spec) { s.Selector = nil })
	if err := c.SetSpec(bad); err == nil {
		t.Error("a spec without selector was taken")
	}
	if got := c.Spec().Selector; got == nil {
		t.Error("the refused spec is in force")
	}
	if err := c.SetSpec(rollouttest.Spec("agent", rollouttest.Image("agent:v2"))); err != nil {
		t.Error(err)
	}
	if got := c.Spec().Template.Spec.Containers[0].Image; got != "agent:v2" {
		t.Errorf("the image is %s", got)
	}
	if _, err := harness.NewCluster(bad, rollout.Snapshot{Now: rollouttest.Noon()}, harness.Behavior{}); err == nil {
		t.Error("a cluster was made with a spec without selector")
	}
}

func TestRunStopsAtErrors(t *testing.T) {
	planned, checked := errors.New("planned"), errors.New("checked")
	empty := func(rollout.Snapshot) (rollout.Plan, error) { return rollout.Plan{}, nil }
	c := newCluster(t, harness.Behavior{}, rollouttest.Nodes("a"))
	_, err := c.Run(func(rollout.Snapshot) (rollout.Plan, error) { return rollout.Plan{}, planned }, 5, nil)
	if !errors.Is(err, planned) {
		t.Errorf("error is %v", err)
	}
	_, err = c.Run(empty, 5, func(rollout.Snapshot, rollout.Plan) error { return checked })
	if !errors.Is(err, checked) {
		t.Errorf("error is %v", err)
	}
	create := func(rollout.Snapshot) (rollout.Plan, error) {
		return rollout.Plan{Creates: []rollout.Create{{Revision: "x"}}}, nil
	}
	if _, err = c.Run(create, 5, nil); err == nil {
		t.Error("a request that no server takes is no error")
	}
	r, err := c.Run(empty, 5, nil)
	if err != nil || !r.Settled || r.Steps != 1 {
		t.Errorf("an empty plan in a quiet cluster: %+v, %v", r, err)
	}
	r, err = c.Run(c.Plan, 2, nil)
	if err != nil || r.Settled || r.Steps != 2 {
		t.Errorf("two steps are not enough to start a pod: settled %v after %d, %v", r.Settled, r.Steps, err)
	}
}

func TestEventKindsHaveNames(t *testing.T) {
	seen := map[string]bool{}
	kind := harness.EventKind(0)
	for ; kind.String() != "unknown"; kind++ {
		if name := kind.String(); name == "" || seen[name] {
			t.Errorf("kind %d is named %q", kind, name)
		}
		seen[kind.String()] = true
	}
	if last := harness.PodDrained; kind != last+1 {
		t.Errorf("names end before kind %d, kinds after %d", kind, last)
	}
}
