package rollout_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/predownload"
	"github.com/daemonplan/daemonplan/rollout"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
	"github.com/daemonplan/daemonplan/status"
)

// A snapshot that breaks its contract gives an error and never a half plan.
func TestSnapshotContract(t *testing.T) {
	revision := func(name string) *appsv1.ControllerRevision {
		return &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Name: name}}
	}
	tests := []struct {
		name, why string
		edit      func(*rollout.Snapshot)
		want      rollout.SnapshotError
	}{
		{
			"zero Now", "there is no other clock",
			func(s *rollout.Snapshot) { s.Now = time.Time{} },
			rollout.SnapshotError{Field: "Now", Problem: "must be set: the planner has no clock of its own"},
		},
		{
			"nil node", "there is nothing to evaluate",
			func(s *rollout.Snapshot) { s.Nodes = append(s.Nodes, nil) },
			rollout.SnapshotError{Field: "Nodes[2]", Problem: "must not be nil"},
		},
		{
			"node without name", "decisions are by name",
			func(s *rollout.Snapshot) { s.Nodes = append([]*corev1.Node{{}}, s.Nodes...) },
			rollout.SnapshotError{Field: "Nodes[0]", Problem: "must have a name"},
		},
		{
			"two nodes of one name", "decisions are by name",
			func(s *rollout.Snapshot) { s.Nodes = append(s.Nodes, kit.Node("a")) },
			rollout.SnapshotError{Field: "Nodes", Problem: `names must be unique: there are two nodes "a"`},
		},
		{
			"two nodes of the last name", "the last in order is looked at as well",
			func(s *rollout.Snapshot) { s.Nodes = append(s.Nodes, kit.Node("b")) },
			rollout.SnapshotError{Field: "Nodes", Problem: `names must be unique: there are two nodes "b"`},
		},
		{
			"nil pod", "there is nothing to read",
			func(s *rollout.Snapshot) { s.Pods = append(s.Pods, nil) },
			rollout.SnapshotError{Field: "Pods[1]", Problem: "must not be nil"},
		},
		{
			"pod without UID", "deletes use it as precondition",
			func(s *rollout.Snapshot) { s.Pods[0] = kit.Pod("p", withUID("")) },
			rollout.SnapshotError{Field: "Pods[0]", Problem: "must have a UID: deletes use it as precondition (pod p)"},
		},
		{
			"another pod without UID", "the place names it",
			func(s *rollout.Snapshot) { s.Pods = append(s.Pods, kit.Pod("q", withUID(""))) },
			rollout.SnapshotError{Field: "Pods[1]", Problem: "must have a UID: deletes use it as precondition (pod q)"},
		},
		{
			"two pods of one UID", "in-flight requests are by UID",
			func(s *rollout.Snapshot) {
				s.Pods = append(s.Pods, kit.Pod("other", withUID("pod-a0"), controlledBy("set-agent")))
			},
			rollout.SnapshotError{Field: "Pods", Problem: `UIDs must be unique: two pods have "pod-a0"`},
		},
		{
			"two finished pods of one UID", "M1 ignores finished pods on their way out, the contract does not",
			func(s *rollout.Snapshot) {
				s.Pods = append(s.Pods, kit.Pod("x", kit.Failed(), terminating(), controlledBy("set-agent")), kit.Pod("x", kit.Failed(), terminating(), controlledBy("set-agent")))
			},
			rollout.SnapshotError{Field: "Pods", Problem: `UIDs must be unique: two pods have "pod-x"`},
		},
		{
			"pod of another controller", "M3: it would be deleted as one too many",
			func(s *rollout.Snapshot) {
				s.Pods = append(s.Pods, kit.Pod("web", func(p *corev1.Pod) {
					p.OwnerReferences = []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "web-1", UID: "other", Controller: new(true)}}
				}))
			},
			rollout.SnapshotError{
				Field: "Pods[1]", Problem: "must be of the set: pod web belongs to another controller, ReplicaSet \"web-1\" with UID \"other\"; Claim picks the set's",
			},
		},
		{
			"pod of nobody that is not selected", "likewise",
			func(s *rollout.Snapshot) {
				s.Pods = append(s.Pods, kit.Pod("web", func(p *corev1.Pod) {
					p.OwnerReferences, p.Labels = nil, map[string]string{"app": "web"}
				}))
			},
			rollout.SnapshotError{
				Field: "Pods[1]", Problem: "must be of the set: pod web has no controller, and the set's selector does not match it; Claim picks the set's",
			},
		},
		{
			"pod of another namespace", "likewise",
			func(s *rollout.Snapshot) {
				s.Pods = append(s.Pods, kit.Pod("web", func(p *corev1.Pod) { p.Namespace = "web" }))
			},
			rollout.SnapshotError{
				Field: "Pods[1]", Problem: "must be of the set: pod web is in namespace web, and the set in default; Claim picks the set's",
			},
		},
		{
			"nil revision", "there is nothing to compare",
			func(s *rollout.Snapshot) { s.Revisions = append(s.Revisions, nil) },
			rollout.SnapshotError{Field: "Revisions[2]", Problem: "must not be nil"},
		},
		{
			"two revisions of one name", "actions on revisions are by name",
			func(s *rollout.Snapshot) { s.Revisions = append(s.Revisions, revision("x"), revision("x")) },
			rollout.SnapshotError{Field: "Revisions[3]", Problem: "must have a name of its own: there is another x"},
		},
		{
			"revision of another controller", "R4: it would be trimmed as the set's own",
			func(s *rollout.Snapshot) {
				foreign := revision("x")
				foreign.OwnerReferences = []metav1.OwnerReference{{UID: "other", Controller: new(true)}}
				s.Revisions = append(s.Revisions, foreign)
			},
			rollout.SnapshotError{
				Field: "Revisions[2]", Problem: "must not belong to another controller, as x does: ClaimRevisions picks the set's",
			},
		},
		{
			"revision without name", "actions on revisions are by name",
			func(s *rollout.Snapshot) { s.Revisions = append(s.Revisions, revision("")) },
			rollout.SnapshotError{Field: "Revisions", Problem: "revision: no name"},
		},
		{
			"several mistakes", "the first in the order of the fields is reported",
			func(s *rollout.Snapshot) {
				s.Nodes = append(s.Nodes, nil)
				s.Pods = append(s.Pods, nil)
				s.Revisions = append(s.Revisions, nil)
			},
			rollout.SnapshotError{Field: "Nodes[2]", Problem: "must not be nil"},
		},
	}
	rows := uniqueRows{}
	for _, tt := range tests {
		rows.check(t, tt.name, tt.why)
		t.Run(tt.name, func(t *testing.T) {
			// There is much to do here, of which nothing may be seen.
			l := newLab().add(on("a", newPod(kit.Failed())), on("b"))
			tt.edit(&l.snapshot)
			planner, err := rollout.New(l.spec)
			if err != nil {
				t.Fatal(err)
			}
			plan, err := planner.Plan(l.snapshot)
			var got *rollout.SnapshotError
			if !errors.As(err, &got) {
				t.Fatalf("got error %v, want a *SnapshotError: %s", err, tt.why)
			}
			if *got != tt.want {
				t.Errorf("got  %+v\nwant %+v: %s", *got, tt.want, tt.why)
			}
			if want := "snapshot." + tt.want.Field + ": " + tt.want.Problem; err.Error() != want {
				t.Errorf("the error reads %q, want %q", err, want)
			}
			if diff := cmp.Diff(rollout.Plan{}, plan); diff != "" {
				t.Errorf("beside an error there must be the zero plan, -want +got:\n%s", diff)
			}
		})
	}
}

// What looks odd and keeps the contract is planned for.
func TestSnapshotOdd(t *testing.T) {
	tests := []struct {
		name, why string
		edit      func(*lab)
		acts      string
	}{
		{"nothing at all", "a set on an empty cluster: only the revision is created",
			func(l *lab) { l.snapshot = rollout.Snapshot{Now: kit.Noon()} }, ""},
		{"pods of one name", "the UID tells them apart",
			func(l *lab) { l.add(on("c", newPod(named("x")), newPod(named("x"), withUID("other")))) }, "delete x Surplus"},
		{"node without labels or conditions", "nothing in the template asks for any",
			func(l *lab) {
				l.snapshot.Nodes = append(l.snapshot.Nodes, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "c"}})
			}, "create c Missing"},
		{"empty pod", "P7: all that is known of it is its UID and whose it is, so nothing is done",
			func(l *lab) {
				p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "1"}}
				controlledBy(l.spec.UID)(p)
				l.snapshot.Pods = append(l.snapshot.Pods, p)
			}, ""},
		{"revisions of a controller, set without UID", "a set that does not exist yet cannot tell its own from others",
			func(l *lab) { l.spec.UID = "" }, ""},
		{"requests that mean nothing", "a request for what is not there concerns nothing that is",
			func(l *lab) {
				l.snapshot.InFlight = rollout.InFlight{
					Creates: []rollout.InFlightCreate{{}, {Node: "nowhere"}, {Revision: "x"}}, Deletes: []types.UID{"", "x"},
					Patches: []types.UID{"", "x"}, Revisions: []string{"", "x"},
				}
			}, ""},
	}
	rows := uniqueRows{}
	for _, tt := range tests {
		rows.check(t, tt.name, tt.why)
		t.Run(tt.name, func(t *testing.T) {
			l := newLab().add(on("a", newPod()), on("b", newPod()))
			tt.edit(l)
			if got := acts(l.plan(t)); got != tt.acts {
				t.Errorf("got %q, want %q: %s", got, tt.acts, tt.why)
			}
		})
	}
}

func TestEmpty(t *testing.T) {
	for _, tt := range []struct {
		name, why string
		plan      rollout.Plan
		want      bool
	}{
		{"zero", "nothing is nothing", rollout.Plan{}, true},
		{"revision", "an action", rollout.Plan{Revisions: make([]rollout.RevisionAction, 1)}, false},
		{"patch", "an action", rollout.Plan{Patches: make([]rollout.Patch, 1)}, false},
		{"delete", "an action", rollout.Plan{Deletes: make([]rollout.Delete, 1)}, false},
		{"create", "an action", rollout.Plan{Creates: make([]rollout.Create, 1)}, false},
		{"decision", "no action", rollout.Plan{Decisions: make([]rollout.Decision, 1)}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.plan.Empty(); got != tt.want {
				t.Errorf("got %v, want %v: %s", got, tt.want, tt.why)
			}
		})
	}
}

// TestInFlightCounts: whatever is in flight, something is being done (S2), and none of it outweighs another.
func TestInFlightCounts(t *testing.T) {
	lists := map[string]func(*rollout.InFlight){
		"Creates":   func(f *rollout.InFlight) { f.Creates = []rollout.InFlightCreate{{Node: "elsewhere"}} },
		"Deletes":   func(f *rollout.InFlight) { f.Deletes = []types.UID{"x"} },
		"Patches":   func(f *rollout.InFlight) { f.Patches = []types.UID{"x"} },
		"Revisions": func(f *rollout.InFlight) { f.Revisions = []string{"x"} },
		"Pulls":     func(f *rollout.InFlight) { f.Pulls = []predownload.Request{{Node: "elsewhere", Image: "x"}} },
	}
	for one, add := range lists {
		for other, addOther := range lists {
			l := newLab().add(on("a", newPod(kit.Unready())))
			add(&l.snapshot.InFlight)
			addOther(&l.snapshot.InFlight)
			if got := l.plan(t).Status.Reason; got != status.RolloutInProgress {
				t.Errorf("with %s and %s in flight the status says %v, want %v", one, other, got, status.RolloutInProgress)
			}
		}
	}
}

func TestInFlightWithKeepsTheReceiver(t *testing.T) {
	// Spare capacity shows an append that writes into the receiver's memory.
	before := rollout.InFlight{
		Creates: append(make([]rollout.InFlightCreate, 0, 9), rollout.InFlightCreate{Node: "n"}), Deletes: append(make([]types.UID, 0, 9), "d"),
		Patches: append(make([]types.UID, 0, 9), "p"), Revisions: append(make([]string, 0, 9), "r"),
	}
	one := before.With(&rollout.Plan{
		Creates: []rollout.Create{{Node: "n1", Revision: "h1"}}, Deletes: []rollout.Delete{{UID: "d1"}},
		Patches: []rollout.Patch{{UID: "p1"}}, Revisions: []rollout.RevisionAction{{Name: "r1"}},
	})
	before.With(&rollout.Plan{
		Creates: []rollout.Create{{Node: "n2"}}, Deletes: []rollout.Delete{{UID: "d2"}},
		Patches: []rollout.Patch{{UID: "p2"}}, Revisions: []rollout.RevisionAction{{Name: "r2"}},
	})
	want := rollout.InFlight{
		Creates: []rollout.InFlightCreate{{Node: "n"}, {Node: "n1", Revision: "h1"}}, Deletes: []types.UID{"d", "d1"},
		Patches: []types.UID{"p", "p1"}, Revisions: []string{"r", "r1"},
	}
	if diff := cmp.Diff(want, one); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if len(before.Creates) != 1 || len(before.Deletes) != 1 || len(before.Patches) != 1 || len(before.Revisions) != 1 {
		t.Errorf("the receiver was changed: %+v", before)
	}
}

// Decisions are in the order of node names, byte by byte, whatever the names have in common and in whatever order
// the nodes come.
func TestNodeOrder(t *testing.T) {
	tests := []struct {
		name, why string
		nodes     []string
	}{
		{"one", "nothing to compare", []string{"n"}},
		{"numbers", "a name before its own continuations", []string{"n10", "n1", "n2", "n", "n100"}},
		{"common beginning", "what all have in common is skipped", []string{"worker-pool-2", "worker-pool-1", "worker-pool-3"}},
		{"common beginning is a name", "nothing is left of one of them", []string{"worker-1", "worker", "worker-0"}},
		{"late difference", "more than eight bytes behind what all have in common",
			[]string{"a-0123456789-2", "b", "a-0123456789-1", "a-0123456789", "a-012345678"}},
		{"exactly eight", "the difference is in the eighth byte, and in the ninth",
			[]string{"x12345679", "x12345678", "x123456781", "x123456780", "y"}},
		{"high bytes", "bytes are not signed", []string{"é", "z", "a", "\xff", "\x80"}},
	}
	rows := uniqueRows{}
	for _, tt := range tests {
		rows.check(t, tt.name, tt.why)
		t.Run(tt.name, func(t *testing.T) {
			l := newLab()
			for _, name := range tt.nodes {
				l.add(on(name))
			}
			want := slices.Sorted(slices.Values(tt.nodes))
			for range 2 {
				var got []string
				for _, d := range l.plan(t).Decisions {
					got = append(got, d.Node)
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("-want +got:\n%s why: %s", diff, tt.why)
				}
				l.reverse()
			}
		})
	}
}
