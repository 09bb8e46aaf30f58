package rollout_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/daemonplan/daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/predownload"
	"github.com/daemonplan/daemonplan/rollout"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
)

func preDownload(parallelism string) kit.SpecOption {
	return func(s *rollout.Spec) {
		s.PreDownload = &predownload.Options{Parallelism: new(intstr.Parse(parallelism))}
	}
}

// running gives an old pod the container that its revision's template has.
func running(p *corev1.Pod) { runningImage("agent:v1")(p) }

func runningImage(image string) kit.PodOption {
	return func(p *corev1.Pod) { p.Spec.Containers = []corev1.Container{{Name: "main", Image: image}} }
}

// initialized gives an old pod an init container with the image of the update.
func initialized(p *corev1.Pod) {
	p.Spec.InitContainers = []corev1.Container{{Name: "init", Image: "agent:v2"}}
}

func TestPreDownloadD1(t *testing.T) {
	old := oldPod(running)
	waits := func(node string) string { return node + ": outdated>update wait Budget " + node + "0 maxUnavailable" }
	goes := func(node string) string { return node + ": outdated>update replace Outdated " + node + "0 U" }
	reported := func(n *corev1.Node) {
		n.Status.Images = []corev1.ContainerImage{{Names: []string{"docker.io/library/agent:v2"}}}
	}
	playScenes(t, []scene{
		{
			name: "where the update waits", why: "D2: in the order of admission; the node that is updated now pulls by itself",
			spec: []kit.SpecOption{preDownload("2")}, fleet: []spot{on("a", old), on("b", old), on("c", old), on("d", old)},
			acts: "pull agent:v2 on c, pull agent:v2 on b, delete d0 Outdated",
			want: []string{waits("a"), waits("b"), waits("c"), goes("d")},
		},
		{
			name: "one batch", why: "D1: everything updates at once",
			spec: []kit.SpecOption{preDownload("2"), kit.MaxUnavailable("100%")}, fleet: []spot{on("a", old), on("b", old)},
			acts: "delete b0 Outdated, delete a0 Outdated", want: []string{goes("a"), goes("b")},
		},
		{
			name: "nodes that report the image", why: "D1: they need no pull, by whatever spelling",
			spec: []kit.SpecOption{preDownload("1")}, fleet: []spot{on("a", old), on("b", old).with(reported), on("c", old)},
			acts: "pull agent:v2 on a, delete c0 Outdated",
			want: []string{waits("a"), waits("b"), goes("c")},
		},
		{
			name: "used by an init container", why: "D1: what the old pod has run is on its node",
			spec: []kit.SpecOption{preDownload("9")}, fleet: []spot{on("a", oldPod(running, initialized)), on("b", old), on("c", old)},
			acts: "pull agent:v2 on b, delete c0 Outdated",
			want: []string{waits("a"), waits("b"), goes("c")},
		},
		{
			name: "used by an init container of another node", why: "D1: what runs on b is not on a",
			spec: []kit.SpecOption{preDownload("9")}, fleet: []spot{on("a", old), on("b", oldPod(running, initialized)), on("c", old)},
			acts: "pull agent:v2 on a, delete c0 Outdated",
			want: []string{waits("a"), waits("b"), goes("c")},
		},
		{
			name: "used by a container", why: "D1: revisions can differ in something else than the image",
			spec: []kit.SpecOption{preDownload("9")}, fleet: []spot{on("a", oldPod(runningImage("agent:v2"))), on("b", old), on("c", old)},
			acts: "pull agent:v2 on b, delete c0 Outdated",
			want: []string{waits("a"), waits("b"), goes("c")},
		},
		{
			name: "held nodes", why: "D1: only nodes whose target is the update revision",
			spec: []kit.SpecOption{preDownload("9"), partition("1")}, fleet: []spot{on("a", old), on("b", old), on("c", old)},
			acts: "pull agent:v2 on b, delete c0 Outdated",
			want: []string{"a: outdated>held hold Held a0 partition", waits("b"), goes("c")},
		},
		{
			name: "paused", why: "D1: no rollout is under way",
			spec: []kit.SpecOption{preDownload("9"), kit.Paused()}, fleet: []spot{on("a", old)},
			want: []string{"a: outdated>held hold Held a0 paused"},
		},
		{
			name: "parallelism 0", why: "D1: 0 pauses",
			spec: []kit.SpecOption{preDownload("0")}, fleet: []spot{on("a", old), on("b", old)},
			acts: "delete b0 Outdated", want: []string{waits("a"), goes("b")},
		},
		{
			name: "broken nodes first", why: "D2, B6: not Ready is admitted first, here kept back by burst",
			spec:  []kit.SpecOption{preDownload("1"), kit.Burst("1")},
			fleet: []spot{on("a", oldPod(running, kit.Unready())), on("b", old), on("c", oldPod(running, kit.Unready()))},
			acts:  "pull agent:v2 on a, delete c0 OutdatedNotReady",
			want: []string{"a: outdated>update wait Burst a0 burst U", waits("b"),
				"c: outdated>update replace OutdatedNotReady c0 U"},
		},
	})
}

func TestPreDownloadInFlightAndFailed(t *testing.T) {
	old := oldPod(running)
	fleet := []spot{on("a", old), on("b", old), on("c", old)}
	tests := []struct {
		name, why string
		inFlight  []predownload.Request
		failed    []predownload.Failure
		acts      string
		wake      time.Time
	}{
		{"in flight", "V10: it takes the only place", []predownload.Request{{Node: "b", Image: "agent:v2"}}, nil,
			"delete c0 Outdated", time.Time{}},
		{"failed a moment ago", "the next node gets the place, and the plan wakes when the back-off ends", nil,
			[]predownload.Failure{{Node: "b", Image: "agent:v2", Count: 1, At: ago(4 * time.Second)}},
			"pull agent:v2 on a, delete c0 Outdated", time.Time{}},
		{"all failed a moment ago", "the plan wakes when the first back-off ends", nil,
			[]predownload.Failure{
				{Node: "b", Image: "agent:v2", Count: 1, At: ago(4 * time.Second)}, {Node: "a", Image: "agent:v2", Count: 2, At: ago(0)},
			},
			"delete c0 Outdated", kit.Noon().Add(6 * time.Second)},
	}
	rows := uniqueRows{}
	for _, tt := range tests {
		rows.check(t, tt.name, tt.why)
		t.Run(tt.name, func(t *testing.T) {
			l := newLab(preDownload("1")).add(fleet...)
			l.snapshot.InFlight.Pulls, l.snapshot.FailedPulls = tt.inFlight, tt.failed
			plan := l.plan(t)
			if got := acts(plan); got != tt.acts {
				t.Errorf("got %s, want %s: %s", got, tt.acts, tt.why)
			}
			if !plan.NextWake.Equal(tt.wake) && !tt.wake.IsZero() {
				t.Errorf("next wake %v, want %v: %s", plan.NextWake, tt.wake, tt.why)
			}
		})
	}
}

// A pull carries all that the caller needs, and counts as in flight once it is sent.
func TestPreDownloadPull(t *testing.T) {
	l := newLab(preDownload("1"), func(s *rollout.Spec) {
		s.Template.Spec.ImagePullSecrets = []corev1.LocalObjectReference{{Name: "registry"}}
		s.PreDownload.TimeoutSeconds = 60
		s.PreDownload.BackoffLimit = new(int32(1))
	}).add(on("a", oldPod(running)), on("b", oldPod(running)))
	plan := l.plan(t)
	want := []rollout.Pull{{
		Pull: predownload.Pull{
			Node: "a", Image: "agent:v2", Secrets: []string{"registry"}, Timeout: time.Minute, BackoffLimit: 1,
		},
		Revision: l.update,
	}}
	if diff := cmp.Diff(want, plan.Pulls); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	l.snapshot.InFlight = l.snapshot.InFlight.With(&plan)
	if again := l.plan(t); !again.Empty() {
		t.Errorf("with everything in flight there is more to do: %s", acts(again))
	}
}

// The failures are the caller's to hand in again, also while nothing is pulled; and what is waited for has a reason.
func TestPreDownloadFailedPulls(t *testing.T) {
	failed := func(node string, count int32, age time.Duration) predownload.Failure {
		return predownload.Failure{Node: node, Image: "agent:v2", Count: count, At: ago(age)}
	}
	waits := []predownload.ImageWait{{Image: "agent:v2", Reason: predownload.ReasonParallelism, Limit: 1}}
	tests := []struct {
		name, why string
		spec      kit.SpecOption
		failed    []predownload.Failure
		want      []predownload.Failure
		waits     []predownload.ImageWait
	}{
		{"paused", "in their order, and nothing waits for a pull", kit.Paused(),
			[]predownload.Failure{failed("b", 1, 0), failed("a", 2, time.Hour)}, []predownload.Failure{failed("a", 2, time.Hour), failed("b", 1, 0)}, nil},
		{"under way", "one per node and image; a clock that was set back keeps none from being tried", objects.Rolling(),
			[]predownload.Failure{failed("b", 1, -time.Hour), failed("a", 2, 0), failed("a", 1, time.Hour)},
			[]predownload.Failure{failed("a", 2, 0), failed("b", 1, 0)}, waits},
	}
	rows := uniqueRows{}
	for _, tt := range tests {
		rows.check(t, tt.name, tt.why)
		t.Run(tt.name, func(t *testing.T) {
			old := oldPod(running)
			l := newLab(preDownload("1"), tt.spec).add(on("a", old), on("b", old), on("c", old), on("d", old), on("e", old))
			l.snapshot.FailedPulls = tt.failed
			plan := l.plan(t)
			if diff := cmp.Diff(tt.want, plan.FailedPulls); diff != "" {
				t.Errorf("failed pulls, -want +got:\n%s why: %s", diff, tt.why)
			}
			if diff := cmp.Diff(tt.waits, plan.PullWaits); diff != "" {
				t.Errorf("waits, -want +got:\n%s why: %s", diff, tt.why)
			}
		})
	}
}

func TestPreDownloadMinUpdatedReadyPods(t *testing.T) {
	l := newLab(preDownload("1"), func(s *rollout.Spec) { s.PreDownload.MinUpdatedReadyPods = new(intstr.FromInt32(1)) })
	l.add(on("a", oldPod(running)), on("b", oldPod(running)))
	if plan := l.plan(t); len(plan.Pulls) > 0 {
		t.Errorf("got %s, want no pull: no pod of the update revision is ready", acts(plan))
	}
	l.add(on("aa", newPod()).keep())
	if plan := l.plan(t); len(plan.Pulls) > 0 {
		t.Errorf("got %s, want no pull: aa has a ready one, but is not to run it", acts(plan))
	}
	l.add(on("c", newPod()))
	if plan := l.plan(t); len(plan.Pulls) != 1 {
		t.Errorf("got %s, want one pull: c is updated and ready", acts(plan))
	}
}
