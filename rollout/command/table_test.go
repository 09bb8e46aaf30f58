package command_test

import (
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/google/go-cmp/cmp"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/command"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
	"github.com/daemonplan/daemonplan/status"
)

func TestGet(t *testing.T) {
	type row struct {
		upToDate, updated int32
		active, canary    string
	}
	for _, c := range []struct {
		name, why string
		phase     canary.Phase
		change    func(*command.View)
		want      row
	}{
		{"running", "each node is where it is to be", canary.Running, nil, row{3, 1, oldName, newName}},
		{"paused", "the same", canary.Paused, nil, row{3, 1, oldName, newName}},
		{"failed", "the canary's node is not where it is to be", canary.Failed, func(v *command.View) {
			v.Plan.Decisions[1].Target = rollout.TargetStable
		}, row{2, 1, oldName, newName}},
		{"rolled out", "the active one is that of the rollout", canary.Idle, nil, row{1, 1, newName, ""}},
		{"revision not stored", "the hash is all there is", canary.Running, func(v *command.View) { v.Snapshot.Revisions = nil }, row{3, 1, oldHash, newHash}},
		{"stable pod that leaves", "it is not live", canary.Running, func(v *command.View) {
			rollouttest.Terminating(rollouttest.Noon())(v.Snapshot.Pods[0])
		}, row{2, 1, oldName, newName}},
		{"stable pod whose deletion was requested", "it counts as done", canary.Running, func(v *command.View) {
			v.Snapshot.InFlight.Deletes = []types.UID{v.Snapshot.Pods[0].UID}
		}, row{2, 1, oldName, newName}},
		{"stable pod without its revision", "nobody knows what it runs", canary.Running, func(v *command.View) { v.Snapshot.Pods[0].Labels = nil }, row{2, 1, oldName, newName}},
		{"stable pod that is not ready", "as UP-TO-DATE of a DaemonSet", canary.Running, func(v *command.View) { rollouttest.Unready()(v.Snapshot.Pods[0]) }, row{3, 1, oldName, newName}},
		{"two pods on a node", "counted by node", canary.Running, func(v *command.View) {
			v.Snapshot.Pods = append(v.Snapshot.Pods, demoPod("foo-8z7lr-twin0", "kind-worker2", oldHash, time.Second))
		}, row{3, 1, oldName, newName}},
		{"node that is not to run the pod", "not desired", canary.Running, func(v *command.View) {
			v.Plan.Decisions[0].Facts &^= status.Desired
		}, row{2, 1, oldName, newName}},
		{"canary without its pod", "not yet", canary.Running, func(v *command.View) {
			v.Plan.Decisions[1].Facts &^= status.Updated
		}, row{2, 1, oldName, newName}},
		{"held node", "it is to keep the stable revision", canary.Running, func(v *command.View) {
			v.Plan.Decisions[0].Target = rollout.TargetHeld
		}, row{3, 1, oldName, newName}},
		{"pod of a vanished node", "no node counts for it", canary.Running, func(v *command.View) {
			v.Plan.Decisions = append(v.Plan.Decisions, rollout.Decision{
				Node: "kind-worker2", State: rollout.StateVanished, Facts: status.Desired | status.Present,
			})
		}, row{3, 1, oldName, newName}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.name == "" || c.why == "" {
				t.Fatal("a row needs a name and a reason")
			}
			view := demo(c.phase)
			if c.change != nil {
				c.change(&view)
			}
			got := command.Get(view)
			if have := (row{got.UpToDate, got.Updated, got.Active, got.Canary}); have != c.want {
				t.Errorf("%s: %+v, want %+v", c.why, have, c.want)
			}
		})
	}
	view := demo(canary.Running)
	view.Plan.Status.Reason = status.RolloutInProgress
	view.Plan.Status.Counts = status.Counts{Desired: 7, Current: 6, Ready: 5, Available: 4, Updated: 1}
	want := command.Row{
		Namespace: "default", Name: "foo", Desired: 7, Current: 6, Ready: 5, Available: 4, UpToDate: 3, Updated: 1, State: status.Canary,
		Reason: "RolloutInProgress", Active: oldName, Canary: newName, Created: rollouttest.Noon().Add(-85 * time.Second), Now: rollouttest.Noon(),
	}
	if diff := cmp.Diff(want, command.Get(view)); diff != "" {
		t.Error(diff)
	}
}

func TestRevisions(t *testing.T) {
	for _, c := range []struct {
		name, why string
		phase     canary.Phase
		change    func(*command.View)
		want      string
	}{
		{"running", "the newest first", canary.Running, nil,
			"foo-xdj4b canary 1 1 1 1 40s; foo-8z7lr active 2 2 2 2 2m"},
		{"paused", "the role says so", canary.Paused, nil, "foo-xdj4b canary-paused 1 1 1 1 40s; foo-8z7lr active 2 2 2 2 2m"},
		{"failed", "its pod is still there", canary.Failed, func(v *command.View) { v.Plan.Decisions[1].Target = rollout.TargetStable },
			"foo-xdj4b canary-failed 0 1 1 1 40s; foo-8z7lr active 3 2 2 2 2m"},
		{"rolling out", "the pods of the old revision are still there", canary.Idle, func(v *command.View) {
			for i := range v.Plan.Decisions {
				v.Plan.Decisions[i].Target = rollout.TargetUpdate
			}
		}, "foo-xdj4b active 3 1 1 1 40s; foo-8z7lr old 0 2 2 2 2m"},
		{"held", "a held node is to keep what it has", canary.Idle, func(v *command.View) {
			v.Plan.Decisions[0].Target = rollout.TargetHeld
			v.Plan.Decisions[2].Target = rollout.TargetUpdate
		}, "foo-xdj4b active 2 1 1 1 40s; foo-8z7lr old 1 2 2 2 2m"},
		{"held and empty", "what it lost comes back at the update revision (T1)", canary.Idle, func(v *command.View) {
			v.Plan.Decisions[0].Target, v.Plan.Decisions[2].Target = rollout.TargetHeld, rollout.TargetUpdate
			v.Snapshot.Pods = v.Snapshot.Pods[2:]
		}, "foo-xdj4b active 3 1 1 1 40s; foo-8z7lr old 0 0 0 0 2m"},
		{"surging", "a node with two pods counts for both", canary.Running, func(v *command.View) {
			v.Snapshot.Pods = append(v.Snapshot.Pods, demoPod("foo-8z7lr-other", "kind-worker", oldHash, time.Hour))
		}, "foo-xdj4b canary 1 1 1 1 40s; foo-8z7lr active 2 3 3 3 2m"},
		{"twins", "a node counts once for a revision, with the better pod", canary.Running, func(v *command.View) {
			twin := demoPod("foo-8z7lr-other", "kind-worker2", oldHash, time.Hour)
			rollouttest.Unready()(twin)
			v.Snapshot.Pods = append(v.Snapshot.Pods, twin)
		}, "foo-xdj4b canary 1 1 1 1 40s; foo-8z7lr active 2 2 2 2 2m"},
		{"not available yet", "minReadySeconds count", canary.Running, func(v *command.View) { v.Spec.MinReadySeconds = 9 },
			"foo-xdj4b canary 1 1 1 0 40s; foo-8z7lr active 2 2 2 2 2m"},
		{"not ready", "it is there", canary.Running, func(v *command.View) { rollouttest.Unready()(v.Snapshot.Pods[2]) },
			"foo-xdj4b canary 1 1 0 0 40s; foo-8z7lr active 2 2 2 2 2m"},
		{"terminating", "not live", canary.Running, func(v *command.View) { rollouttest.Terminating(rollouttest.Noon())(v.Snapshot.Pods[2]) },
			"foo-xdj4b canary 1 0 0 0 40s; foo-8z7lr active 2 2 2 2 2m"},
		{"to be created", "it has no age yet", canary.Running, func(v *command.View) {
			created := v.Snapshot.Revisions[1]
			created.CreationTimestamp = metav1.Time{}
			v.Snapshot.Revisions = v.Snapshot.Revisions[:1]
			v.Plan.Revisions = []rollout.RevisionAction{{Verb: rollout.CreateRevision, Object: created}}
		}, "foo-xdj4b canary 1 1 1 1 <unknown>; foo-8z7lr active 2 2 2 2 2m"},
		{"same number", "by name then", canary.Running, func(v *command.View) { v.Snapshot.Revisions[1].Revision = 1 },
			"foo-8z7lr active 2 2 2 2 2m; foo-xdj4b canary 1 1 1 1 40s"},
		{"without a hash", "pods without one are not its own", canary.Idle, func(v *command.View) {
			v.Plan.Status.UpdateRevision = ""
			v.Snapshot.Revisions[1].Labels = nil
			v.Snapshot.Pods[2].Labels = nil
			v.Plan.Decisions[1].Target = rollout.TargetHeld
		}, "foo-xdj4b old 0 0 0 0 40s; foo-8z7lr old 0 2 2 2 2m"},
		{"without a hash and a name", "nothing is on trial", canary.Idle, func(v *command.View) {
			v.Snapshot.Revisions[1].Labels, v.Snapshot.Revisions[1].Name = nil, ""
		}, " old 0 0 0 0 40s; foo-8z7lr old 0 2 2 2 2m"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.name == "" || c.why == "" {
				t.Fatal("a row needs a name and a reason")
			}
			view := demo(c.phase)
			if c.change != nil {
				c.change(&view)
			}
			var lines []string
			for _, one := range command.Revisions(view) {
				lines = append(lines, strings.Join(one.Cells(), " "))
			}
			if got := strings.Join(lines, "; "); got != c.want {
				t.Errorf("%s\n got %s\nwant %s", c.why, got, c.want)
			}
		})
	}
}

// TestHostileViews hands in what no plan ever was.
func TestHostileViews(t *testing.T) {
	odd := demo(canary.Phase(77))
	odd.Snapshot.Nodes = append(odd.Snapshot.Nodes, nil)
	odd.Snapshot.Pods = append(odd.Snapshot.Pods, nil, &corev1.Pod{}, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "\x1b[31m\nx"}})
	odd.Snapshot.Revisions = append(odd.Snapshot.Revisions, nil, &appsv1.ControllerRevision{})
	odd.Plan.Revisions = []rollout.RevisionAction{{}}
	odd.Plan.Decisions = append(odd.Plan.Decisions, rollout.Decision{}, rollout.Decision{State: 200, Target: 200, Verb: 200, Reason: 200})
	odd.Spec.Name = "\u202e\x00"
	odd.Snapshot.Pods[0].Status.ContainerStatuses[0].RestartCount = -5
	noOptions := demo(canary.Running)
	noOptions.Spec.Strategy.Canary = nil
	for name, view := range map[string]command.View{"zero": {}, "odd": odd, "no options": noOptions} {
		for _, c := range command.All() {
			if patch, err := c.Patch(view); err == nil {
				if _, err := patch.Apply([]byte(`{}`)); err != nil {
					t.Errorf("%s: %s: %v", name, c, err)
				}
			}
		}
		text := command.Table(command.Get(view)) + command.Table(command.Revisions(view)...) +
			command.Table(command.CanaryPods(view)...) + command.Table(command.NotReadyPods(view)...)
		for _, r := range text {
			if r < ' ' && r != '\n' || r == '\u202e' {
				t.Errorf("%s: %q is printed", name, r)
			}
		}
		command.Effects(view.Plan, odd.Plan)
	}
}

// TestViewsAreNotWritten and the order of their lists changes nothing.
func TestViewsAreNotWritten(t *testing.T) {
	tables := func(v command.View) string {
		text := command.Table(command.Get(v)) + command.Table(command.Revisions(v)...) + command.Table(command.CanaryPods(v)...) +
			command.Table(command.NotReadyPods(v)...)
		for _, c := range command.All() {
			patch, err := c.Patch(v)
			text += string(patch.Data)
			if err != nil {
				text += err.Error()
			}
		}
		return text
	}
	for phase := range canary.Failed + 1 {
		view, pristine := demo(phase), demo(phase)
		rollouttest.Unready()(view.Snapshot.Pods[0])
		rollouttest.Unready()(pristine.Snapshot.Pods[0])
		before := tables(view)
		if diff := cmp.Diff(pristine, view); diff != "" {
			t.Errorf("%s: written to: %s", phase, diff)
		}
		s := &view.Snapshot
		s.Pods[0], s.Pods[2] = s.Pods[2], s.Pods[0]
		s.Nodes[0], s.Nodes[1] = s.Nodes[1], s.Nodes[0]
		s.Revisions[0], s.Revisions[1] = s.Revisions[1], s.Revisions[0]
		if after := tables(view); after != before {
			t.Errorf("%s: the order changes\n%s\ninto\n%s", phase, before, after)
		}
	}
}

func TestTable(t *testing.T) {
	if text := command.Table[command.Pod](); text != "" {
		t.Errorf("no lines: %q", text)
	}
	// Widths are counted in characters, and nothing stands at the end of a line.
	text := command.Table(command.Row{Name: "ünïcödë", Canary: "x"}, command.Row{Name: "b"})
	lines := strings.Split(text, "\n")
	if len(lines) != 4 || lines[3] != "" || strings.Index(lines[0], "DESIRED") != 10 || !strings.HasPrefix(lines[2], "b         0 ") {
		t.Errorf("\n%s", text)
	}
	for _, line := range lines {
		if strings.TrimRight(line, " ") != line {
			t.Errorf("%q ends with a space", line)
		}
	}
	// What a terminal does not obey is printed as it stands.
	text = command.Table(command.Row{Name: `it's a\b`})
	if !strings.Contains(text, "\nit's a\\b   ") {
		t.Errorf("\n%s", text)
	}
	// A line of one's own: a column may have nothing in it, and more cells than the header is no harm.
	if text, want := command.Table(wide{}), "A      B\n1      2   3\n"; text != want {
		t.Errorf("got %q, want %q", text, want)
	}
}

// wide is a line with an empty column, and a cell that no header names.
type wide struct{}

func (wide) Header() []string { return []string{"A", "", "B"} }

func (wide) Cells() []string { return []string{"1", "", "2", "3"} }
