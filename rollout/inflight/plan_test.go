package inflight_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	_ "github.com/daemonplan/daemonplan/internal/fixedseed"
	"github.com/daemonplan/daemonplan/internal/harness/draw"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/inflight"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// noteAll notes all requests of a plan. Every other one is answered, with versions that no cache shows yet.
func noteAll(tracker *inflight.Tracker, now time.Time, plan rollout.Plan) {
	asked := 0
	answer := func(request *inflight.Request, object metav1.Object) {
		if asked++; asked%2 == 0 {
			tracker.Answer(now, request, object, nil)
		}
	}
	version := func() string { return fmt.Sprint(1_000_000_000 + asked) }
	for _, a := range plan.Revisions {
		answer(tracker.Revise(now, a), revision(a.Name, types.UID("new-"+a.Name), version()))
	}
	for _, a := range plan.Patches {
		answer(tracker.Patch(now, a), pod(a.UID, version()))
	}
	for _, a := range plan.Deletes {
		answer(tracker.Delete(now, a), nil)
	}
	for _, a := range plan.Creates {
		answer(tracker.Create(now, a), pod(types.UID("new-"+a.Node+a.Revision), version()))
	}
}

// again plans with the caches as they were, and with what Observe returns in flight.
func again(planner *rollout.Planner, tracker *inflight.Tracker, snapshot *rollout.Snapshot, last rollout.Plan) (rollout.Plan, error) {
	pulls := snapshot.InFlight.With(&last).Pulls // The caller keeps the pulls.
	snapshot.InFlight, _ = tracker.Observe(snapshot.Now, snapshot.Pods, snapshot.Revisions)
	snapshot.InFlight.Pulls = pulls
	snapshot.Memory = last.Memory
	return planner.Plan(*snapshot)
}

// While the caches stay as they were, a plan's requests are not made again.
func TestPlanIsAskedForOnce(t *testing.T) {
	old := kit.Spec("agent", kit.Image("agent:v1"))
	running := func(spec rollout.Spec, node string, options ...kit.PodOption) *corev1.Pod {
		return kit.Pod("agent-"+node, append([]kit.PodOption{kit.Of(spec), kit.OnNode(node)}, options...)...)
	}
	tests := []struct {
		name, why string
		spec      rollout.Spec
		revisions []*appsv1.ControllerRevision
		pods      func(rollout.Spec) []*corev1.Pod
		want      string // what is in flight
	}{
		{"installation", "the revision, and a pod on each node", kit.Spec("agent"), nil, nil,
			"create n1@HASH, create n2@HASH, create n3@HASH, revision agent-HASH"},
		{"update", "a new revision, and the pod that the budget lets go", kit.Spec("agent", kit.Image("agent:v2")),
			[]*appsv1.ControllerRevision{kit.Revision(old, 1)},
			func(rollout.Spec) []*corev1.Pod {
				return []*corev1.Pod{running(old, "n1"), running(old, "n2"), running(old, "n3")}
			}, "delete pod-agent-n3, revision agent-HASH"},
		{"rollback", "an old revision becomes the newest again", kit.Spec("agent", kit.Image("agent:v1")),
			[]*appsv1.ControllerRevision{kit.Revision(old, 1), kit.Revision(kit.Spec("agent", kit.Image("agent:v2")), 2)},
			func(spec rollout.Spec) []*corev1.Pod {
				return []*corev1.Pod{running(spec, "n1"), running(spec, "n2"), running(spec, "n3")}
			}, "revision agent-HASH"},
		{"in place", "several patches of one pod", kit.Spec("agent", kit.InPlaceIfPossible(), kit.MaxUnavailable("2"), kit.Image("agent:v2")),
			[]*appsv1.ControllerRevision{
				kit.Revision(kit.Spec("agent", kit.InPlaceIfPossible(), kit.Image("agent:v1")), 1),
				kit.Revision(kit.Spec("agent", kit.InPlaceIfPossible(), kit.Image("agent:v2")), 2),
			},
			func(rollout.Spec) []*corev1.Pod {
				old := kit.Spec("agent", kit.InPlaceIfPossible(), kit.Image("agent:v1"))
				return []*corev1.Pod{running(old, "n1"), running(old, "n2"), running(old, "n3")}
			}, "patch pod-agent-n2, patch pod-agent-n3"},
		{"repair", "a surplus pod and a missing one", kit.Spec("agent"), []*appsv1.ControllerRevision{kit.Revision(kit.Spec("agent"), 1)},
			func(spec rollout.Spec) []*corev1.Pod {
				return []*corev1.Pod{running(spec, "n1"), kit.Pod("surplus", kit.Of(spec), kit.OnNode("n1"), kit.Unready()), running(spec, "n2")}
			}, "create n3@HASH, delete pod-surplus"},
	}
	rows := uniqueRows{}
	for _, tt := range tests {
		rows.check(t, tt.name, tt.why)
		t.Run(tt.name, func(t *testing.T) {
			planner, err := rollout.New(tt.spec)
			if err != nil {
				t.Fatal(err)
			}
			snapshot := rollout.Snapshot{Now: noon, Nodes: kit.Nodes("n1", "n2", "n3"), Revisions: tt.revisions}
			if tt.pods != nil {
				snapshot.Pods = tt.pods(tt.spec)
			}
			plan, err := planner.Plan(snapshot)
			if err != nil {
				t.Fatal(err)
			}
			var tracker inflight.Tracker
			noteAll(&tracker, noon, plan)
			next, err := again(planner, &tracker, &snapshot, plan)
			if err != nil {
				t.Fatal(err)
			}
			want := strings.ReplaceAll(tt.want, "HASH", kit.Hash(tt.spec))
			if got := text(snapshot.InFlight); got != want {
				t.Errorf("in flight are\n%s, want\n%s: %s", got, want, tt.why)
			}
			if !next.Empty() {
				t.Errorf("asks again: %d revisions, %d patches, %d deletes, %d creates",
					len(next.Revisions), len(next.Patches), len(next.Deletes), len(next.Creates))
			}
		})
	}
}

// While the caches show nothing, Observe returns what InFlight.With returns, so that no plan repeats what is in flight (V14).
func TestPlansAreAskedForOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := rapid.OneOf(draw.AnyCase(), draw.AnyCanaryCase()).Draw(t, "scenario")
		planner, err := rollout.New(c.Spec)
		if err != nil {
			t.Fatal(err)
		}
		snapshot := c.Snapshot
		snapshot.InFlight = rollout.InFlight{} // the tracker was not told of it
		plan, err := planner.Plan(snapshot)
		if err != nil {
			t.Fatal(err)
		}
		var tracker inflight.Tracker
		var want rollout.InFlight
		for range 3 {
			want = want.With(&plan)
			noteAll(&tracker, snapshot.Now, plan)
			next, err := again(planner, &tracker, &snapshot, plan)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(sorted(want), sorted(snapshot.InFlight), cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("in flight is (-asked +observed):\n%s", diff)
			}
			if wrong := repeats(want, next); wrong != "" {
				t.Fatal(wrong)
			}
			plan = next
		}
	})
}

// sorted returns the requests in flight as sorted words, so that two of them can be compared.
func sorted(f rollout.InFlight) []string {
	var words []string
	if line := text(f); line != "" {
		words = strings.Split(line, ", ")
	}
	for _, p := range f.Pulls {
		words = append(words, "pull "+p.Node+" "+p.Image)
	}
	slices.Sort(words)
	return slices.Compact(words)
}

// repeats returns a request of the plan that is in flight already; empty if there is none.
func repeats(f rollout.InFlight, plan rollout.Plan) string {
	known := sorted(f)
	for _, word := range sorted(rollout.InFlight{}.With(&plan)) {
		if slices.Contains(known, word) {
			return word + ": again"
		}
	}
	return ""
}
