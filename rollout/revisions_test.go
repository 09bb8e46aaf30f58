package rollout_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/history"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
	"github.com/daemonplan/daemonplan/rollout/verify"
)

// In these tables "update" and "old" stand for the hashes of the lab's two revisions, and "twin" is the hash of a
// revision whose data equals that of the update revision (R3).
const twin = "6twin"

// numbered replaces the lab's revisions. "update", "old" and "twin" name what they hold; any other name is that of an
// older revision with data of its own.
func (l *lab) numbered(t *testing.T, revisions ...numbered) {
	t.Helper()
	l.snapshot.Revisions = nil
	for _, r := range revisions {
		spec := l.spec.Default()
		switch r.holds {
		case "update", "twin":
		case "old":
			kit.Image("agent:v1")(&spec)
		default:
			kit.Image("agent:" + r.holds)(&spec)
		}
		object := kit.Revision(spec, r.number)
		if object == nil {
			t.Fatalf("no revision for %+v", r)
		}
		hash := object.Labels[appsv1.DefaultDaemonSetUniqueLabelKey]
		switch r.holds {
		case "update", "old":
		case "twin":
			hash = twin
		default:
			hash = r.holds
		}
		object.Name, object.UID = "agent-"+hash, types.UID("revision-"+hash)
		object.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] = hash
		l.snapshot.Revisions = append(l.snapshot.Revisions, object)
	}
}

type numbered struct {
	holds  string
	number int64
}

// revise writes the actions on revisions as "verb hash number", with the lab's names for hashes.
func (l *lab) revise(plan rollout.Plan) string {
	var list []string
	for _, a := range plan.Revisions {
		hash := strings.TrimPrefix(a.Name, "agent-")
		switch hash {
		case l.update:
			hash = "update"
		case l.old:
			hash = "old"
		case twin:
			hash = "twin"
		}
		list = append(list, fmt.Sprintf("%s %s %d", a.Verb, hash, a.Number))
	}
	return strings.Join(list, ", ")
}

func TestRevisionsR3(t *testing.T) {
	both := []numbered{{"old", 1}, {"update", 2}}
	twins := []numbered{{"update", 3}, {"twin", 2}, {"old", 1}}
	tests := []struct {
		name, why string
		spec      []kit.SpecOption
		revisions []numbered
		fleet     []spot
		inFlight  rollout.InFlight
		revise    string
		acts      string
	}{
		{name: "first installation", why: "R3: created, with number 1", revise: "create update 1"},
		{name: "new template", why: "R3: one higher than all", revisions: []numbered{{"old", 4}, {"older", 7}}, revise: "create update 8"},
		{name: "nothing new", why: "R2: the one that matches is used", revisions: both},
		{name: "rollback", why: "R3: renumbered to be the newest", revisions: []numbered{{"update", 1}, {"old", 2}}, revise: "renumber update 3"},
		{name: "equal number", why: "R3: the highest alone is the newest", revisions: []numbered{{"update", 2}, {"old", 2}}, revise: "renumber update 3"},
		{
			name: "create in flight", why: "requests count as done",
			inFlight: rollout.InFlight{Revisions: []string{"agent-update"}},
		},
		{
			name: "another in flight", why: "only the one of that name",
			inFlight: rollout.InFlight{Revisions: []string{"agent-old"}}, revise: "create update 1",
		},
		{
			name: "renumber in flight", why: "requests count as done",
			revisions: []numbered{{"update", 1}, {"old", 2}},
			inFlight:  rollout.InFlight{Revisions: []string{"agent-update"}},
		},
		{
			name: "frozen", why: "T4: the revision history rests too",
			spec: []kit.SpecOption{kit.Frozen(), kit.HistoryLimit(0)}, revisions: []numbered{{"older", 1}},
		},
		{
			name: "paused", why: "T4: only frozen stops the history",
			spec: []kit.SpecOption{kit.Paused()}, revise: "create update 1",
		},
		{
			name: "duplicate without pods", why: "R3: of several that match the highest stays, the others are deleted",
			revisions: twins, revise: "delete twin 2",
		},
		{
			name: "duplicate with pods", why: "R3: its pods are relabelled; it is deleted once none carries it",
			revisions: twins, fleet: []spot{on("a", podAt(twin)), on("b", newPod())},
			acts: "patch a0 DuplicateRevision",
		},
		{
			name: "duplicate is the highest", why: "R3: the highest stays, whichever was first",
			revisions: []numbered{{"update", 1}, {"twin", 2}}, fleet: []spot{on("a", podAt(twin))},
			revise: "delete update 1",
		},
		{
			name: "pods of a duplicate that go", why: "pods on their way out, finished ones and those with a patch in flight are left alone",
			revisions: twins,
			fleet: []spot{
				on("a", podAt(twin, terminating())), on("b", podAt(twin, kit.Failed())), on("c", podAt(twin), podAt(twin)),
				on("d", podAt(twin)), on("e", podAt(twin)).leave(), on("f", newPod(terminating()), podAt(twin)),
			},
			inFlight: rollout.InFlight{Patches: []types.UID{"pod-d0"}},
			acts:     "patch c0 DuplicateRevision, patch f1 DuplicateRevision, delete b0 Failed, delete c1 Surplus, delete e0 Leaving",
		},
		{
			name: "pods of a duplicate on keep nodes", why: "R3: relabelling disturbs nobody",
			revisions: twins, fleet: []spot{on("a", podAt(twin)).keep()}, acts: "patch a0 DuplicateRevision",
		},
		{
			name: "duplicate while paused", why: "T4: only frozen stops it",
			spec: []kit.SpecOption{kit.Paused()}, revisions: twins, fleet: []spot{on("a", podAt(twin))},
			acts: "patch a0 DuplicateRevision",
		},
		{
			name: "duplicate while frozen", why: "T4: the revision history rests too",
			spec: []kit.SpecOption{kit.Frozen()}, revisions: twins, fleet: []spot{on("a", podAt(twin)), on("b", newPod())},
		},
		{
			name: "duplicate that a requested pod will carry", why: "R3: requests count as done, so a pod carries it",
			revisions: twins, inFlight: rollout.InFlight{Creates: []rollout.InFlightCreate{{Node: "a", Revision: twin}}},
		},
		{
			name: "duplicate that another requested pod does not carry", why: "R3: a request without revision is at the update revision",
			revisions: twins, inFlight: rollout.InFlight{Creates: []rollout.InFlightCreate{{Node: "a"}, {Node: "b", Revision: "x"}}},
			revise: "delete twin 2",
		},
		{
			name: "within the limit", why: "R4: as many old revisions as the limit says are kept",
			spec: []kit.SpecOption{kit.HistoryLimit(1)}, revisions: both,
		},
		{
			name: "beyond the limit", why: "R4: the oldest goes first",
			spec: []kit.SpecOption{kit.HistoryLimit(1)}, revisions: []numbered{{"old", 2}, {"older", 1}, {"update", 3}},
			revise: "delete older 1",
		},
		{
			name: "delete in flight", why: "requests count as done",
			spec: []kit.SpecOption{kit.HistoryLimit(1)}, revisions: []numbered{{"old", 2}, {"older", 1}, {"update", 3}},
			inFlight: rollout.InFlight{Revisions: []string{"agent-older"}},
		},
		{
			name: "carried", why: "R4: never one that a pod carries",
			spec: []kit.SpecOption{kit.HistoryLimit(0), kit.Paused()}, revisions: both, fleet: []spot{on("a", oldPod())},
		},
		{
			name: "carried by a terminating terminal pod", why: "R4: those that M1 ignores count here",
			spec: []kit.SpecOption{kit.HistoryLimit(0)}, revisions: both,
			fleet: []spot{on("a", newPod(), oldPod(kit.Failed(), terminating()))},
		},
		{
			name: "carried on a node that is gone", why: "R4: by any pod",
			spec: []kit.SpecOption{kit.HistoryLimit(0)}, revisions: both, fleet: []spot{gone("z", oldPod())},
		},
		{
			name: "default limit", why: "R4: 10 old revisions are kept",
			revisions: []numbered{
				{"r1", 1}, {"r2", 2}, {"r3", 3}, {"r4", 4}, {"r5", 5}, {"r6", 6}, {"r7", 7}, {"r8", 8}, {"r9", 9}, {"r10", 10},
				{"r11", 11}, {"update", 12},
			},
			revise: "delete r1 1",
		},
	}
	rows := uniqueRows{}
	for _, tt := range tests {
		rows.check(t, tt.name, tt.why)
		t.Run(tt.name, func(t *testing.T) {
			l := newLab(tt.spec...).add(tt.fleet...)
			l.numbered(t, tt.revisions...)
			l.snapshot.InFlight = tt.inFlight
			for i, name := range tt.inFlight.Revisions {
				l.snapshot.InFlight.Revisions[i] = "agent-" + l.hash(strings.TrimPrefix(name, "agent-"))
			}
			for range 2 {
				plan := l.plan(t)
				if got := l.revise(plan); got != tt.revise {
					t.Errorf("revisions\n got: %s\nwant: %s\n why: %s", got, tt.revise, tt.why)
				}
				if got := acts(plan); got != tt.acts {
					t.Errorf("actions\n got: %s\nwant: %s\n why: %s", got, tt.acts, tt.why)
				}
				l.reverse()
			}
		})
	}
}

// C6, R4: a pod that was requested at the old revision carries it, and is live: the old revision is the stable one.
func TestRevisionOfRequestedPod(t *testing.T) {
	tests := []struct {
		name, why string
		fleet     []spot
		requested []string
		want      string
	}{
		{"nobody", "without any, the update revision is the stable one", nil, nil, "update"},
		{"live", "a live pod carries the old revision", []spot{on("a", oldPod())}, nil, "old"},
		{"terminating", "a pod on its way out is not live", []spot{on("a", oldPod(terminating()))}, nil, "update"},
		{"requested", "a requested pod is as good as there", []spot{on("a")}, []string{"a@old"}, "old"},
		{"requested beside terminating", "of two that carry it one is live", []spot{on("a", oldPod(terminating()))}, []string{"a@old"}, "old"},
		{"requested beside terminating, among others", "whatever else is carried",
			[]spot{on("a", newPod()), on("b", oldPod(terminating()))}, []string{"b@old"}, "old"},
		{"requested without revision", "that is the update revision", []spot{on("a", oldPod(terminating()))}, []string{"a"}, "update"},
	}
	rows := uniqueRows{}
	for _, tt := range tests {
		rows.check(t, tt.name, tt.why)
		t.Run(tt.name, func(t *testing.T) {
			l := scene{spec: []kit.SpecOption{kit.Paused()}, fleet: tt.fleet, requested: tt.requested}.lab()
			if got := l.plan(t).Status.StableRevision; got != l.hash(tt.want) {
				t.Errorf("the stable revision is %s, want %s, the %s one: %s", got, l.hash(tt.want), tt.want, tt.why)
			}
		})
	}
}

// Each action on a revision carries what it takes to perform it.
func TestRevisionActions(t *testing.T) {
	l := newLab(kit.HistoryLimit(0))
	trimmed := l.plan(t)
	if len(trimmed.Revisions) != 1 || trimmed.Revisions[0].Verb != rollout.DeleteRevision {
		t.Fatalf("got %+v, want the old revision to be deleted (R4)", trimmed.Revisions)
	}
	if a := trimmed.Revisions[0]; a.Name != "agent-"+l.old || a.UID != types.UID("revision-agent-"+l.old) || a.Number != 1 || a.Object != nil {
		t.Errorf("got %+v, want name, UID and number of the old revision and no object", a)
	}

	l.numbered(t)
	a := l.plan(t).Revisions[0]
	if a.Verb != rollout.CreateRevision || a.UID != "" || a.Object == nil {
		t.Fatalf("got %+v, want a create with an object and without a UID", a)
	}
	if o := a.Object; o.Name != a.Name || o.Revision != a.Number || o.Namespace != "default" ||
		o.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] != l.update || o.OwnerReferences[0].UID != l.spec.UID {
		t.Errorf("object %+v does not fit action %+v", o, a)
	}

	l.numbered(t, numbered{"update", 1}, numbered{"old", 2})
	l.spec.RevisionHistoryLimit = nil
	a = l.plan(t).Revisions[0]
	want := rollout.RevisionAction{
		Verb: rollout.RenumberRevision, Name: "agent-" + l.update, UID: types.UID("revision-" + l.update), Number: 3,
	}
	if diff := cmp.Diff(want, a); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// R3: a relabelling patch in full.
func TestRelabelPatch(t *testing.T) {
	l := newLab().add(on("a", podAt(twin)))
	l.numbered(t, numbered{"update", 2}, numbered{"twin", 1})
	plan := l.plan(t)
	want := []rollout.Patch{{
		Node: "a", Pod: "a0", UID: "pod-a0", Type: types.StrategicMergePatchType,
		Data:     []byte(`{"metadata":{"uid":"pod-a0","labels":{"controller-revision-hash":"` + l.update + `"}}}`),
		Revision: l.update, Reason: rollout.ReasonDuplicateRevision,
	}}
	if diff := cmp.Diff(want, plan.Patches); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if got, want := line(plan.Decisions[0]), "a: updated>update patch DuplicateRevision a0"; got != want || plan.Decisions[0].Patches != 1 {
		t.Errorf("got %s with %d patches, want %s with one", got, plan.Decisions[0].Patches, want)
	}
}

// R3: a name that is taken by other data raises the collision count, which the memory keeps.
func TestRevisionCollision(t *testing.T) {
	l := newLab().add(on("a"))
	l.numbered(t, numbered{"old", 1})
	l.snapshot.Revisions[0].Name = "agent-" + l.update
	plan := l.plan(t)
	a := plan.Revisions[0]
	if a.Verb != rollout.CreateRevision || a.Name == "agent-"+l.update || a.Name != "agent-"+plan.Creates[0].Revision {
		t.Errorf("got %s %s and a pod of %s, want a create under another name, and pods of it", a.Verb, a.Name, plan.Creates[0].Revision)
	}
	for _, count := range []*int32{plan.Memory.CollisionCount, plan.Status.CollisionCount} {
		if count == nil || *count != 1 {
			t.Errorf("the collision count is %v, want 1 in memory and status", count)
		}
	}
	l.snapshot.Memory = plan.Memory
	if next := l.plan(t); next.Revisions[0].Name != a.Name || *next.Memory.CollisionCount != 1 {
		t.Errorf("with the memory the name is %s, want %s again", next.Revisions[0].Name, a.Name)
	}
}

// R5: which revision a pod is at. The node holds that one pod, and is "updated" or "outdated" by it.
func TestRevisionOfPodR5(t *testing.T) {
	generation := func(value string) kit.PodOption { return kit.PodLabel("pod-template-generation", value) }
	five := []kit.SpecOption{objects.TemplateGeneration(5), kit.Paused()}
	none := []kit.SpecOption{kit.Paused()}
	tests := []struct {
		name, why string
		spec      []kit.SpecOption
		pod       podOf
		want      rollout.NodeState
	}{
		{"hash", "R5: by its hash label", none, newPod(), rollout.StateUpdated},
		{"old hash", "R5: by its hash label", none, oldPod(), rollout.StateOutdated},
		{"unknown hash", "R5: whatever it is, it is not the update revision", none, podAt("unheard"), rollout.StateOutdated},
		{"no label", "R5: nothing says that it is updated", none, barePod(), rollout.StateOutdated},
		{"generation", "R5: it counts for pods without a hash", five, barePod(generation("5")), rollout.StateUpdated},
		{"other generation", "R5: it counts, and it is another", five, barePod(generation("4")), rollout.StateOutdated},
		{"generation, spec without", "R5: the spec has none to compare with", none, barePod(generation("5")), rollout.StateOutdated},
		{"no generation, spec with", "R5: nothing says that it is updated", five, barePod(), rollout.StateOutdated},
		{"generation with old hash", "R5: only for pods without a hash: it can hide no outdated pod", five, oldPod(generation("5")), rollout.StateOutdated},
		{"other generation with hash", "R5: only for pods without a hash", five, newPod(generation("4")), rollout.StateUpdated},
		{"generation with empty hash", "R5: an empty label is a label", five, podAt("", generation("5")), rollout.StateOutdated},
		{"generation that is no number", "R5: equal as text", five, barePod(generation("05")), rollout.StateOutdated},
		{"generation of two digits", "R5: in decimal", []kit.SpecOption{objects.TemplateGeneration(12), kit.Paused()},
			barePod(generation("12")), rollout.StateUpdated},
		{"generation 0", "R5: 0 is a value too", []kit.SpecOption{objects.TemplateGeneration(0), kit.Paused()},
			barePod(generation("0")), rollout.StateUpdated},
		{"generation 0, no label", "R5: a missing label is not 0", []kit.SpecOption{objects.TemplateGeneration(0), kit.Paused()},
			barePod(), rollout.StateOutdated},
	}
	rows := uniqueRows{}
	for _, tt := range tests {
		rows.check(t, tt.name, tt.why)
		t.Run(tt.name, func(t *testing.T) {
			if got := newLab(tt.spec...).add(on("a", tt.pod)).plan(t).Decisions[0].State; got != tt.want {
				t.Errorf("the node is %s, want %s: %s", got, tt.want, tt.why)
			}
		})
	}
}

// Many different hashes on one fleet are told apart.
func TestRevisionManyHashes(t *testing.T) {
	l := newLab(kit.Paused())
	want := map[string]rollout.NodeState{}
	for i := range 40 {
		name := fmt.Sprintf("n%02d", i)
		pod := podAt(fmt.Sprintf("hash-%d", i%7))
		want[name] = rollout.StateOutdated
		if i%7 == 3 {
			pod = newPod()
			want[name] = rollout.StateUpdated
		}
		l.add(on(name, pod))
	}
	for _, d := range l.plan(t).Decisions {
		if d.State != want[d.Node] {
			t.Errorf("%s is %s, want %s", d.Node, d.State, want[d.Node])
		}
	}
}

// A revision whose data cannot be read is no reason to fail: it matches nothing (R2).
func TestRevisionUnreadable(t *testing.T) {
	l := newLab().add(on("a", oldPod()))
	l.numbered(t, numbered{"old", 1}, numbered{"update", 2})
	for _, r := range l.snapshot.Revisions {
		r.Data.Raw = []byte("{")
	}
	plan := l.plan(t)
	if got := plan.Revisions[0]; got.Verb != rollout.CreateRevision || got.Number != 3 {
		t.Errorf("got %s with number %d, want a new revision with number 3", got.Verb, got.Number)
	}
	if got := plan.Decisions[0].State; got != rollout.StateOutdated {
		t.Errorf("the node is %s, want outdated", got)
	}
}

// The pods of a template are those of its revision, whatever the labels of its own.
func TestRevisionHashLabelOfPodWins(t *testing.T) {
	l := newLab().add(on("a", newPod(func(p *corev1.Pod) { p.Spec.Containers = nil })))
	if got := l.plan(t).Decisions[0].State; got != rollout.StateUpdated {
		t.Errorf("the node is %s, want updated: what a pod contains is not compared", got)
	}
}

// A duplicate that alone says that its template was promoted stays until the mark is seen on the revision that stays (C6): the
// planner keeps it, and the verifier refuses a plan in which it goes, whatever else is true of the set.
func TestVerifyPromotedDuplicateGoes(t *testing.T) {
	specs := map[string][]kit.SpecOption{
		"with a canary": {kit.Canary("1")}, "without a canary": nil, "frozen": {kit.Canary("1"), kit.Frozen()},
		"manual": {kit.Canary("1"), kit.CanaryManual()},
	}
	fleets := map[string][]spot{
		"on trial": {on("a", newPod()), on("b", oldPod())}, "empty": {on("a"), on("b")}, "rolled out": {on("a", newPod()), on("b", newPod())},
		"carried": {on("a", newPod(kit.AtRevision(twin))), on("b", oldPod())},
	}
	marks := func(hash string) func(*lab) { return withMark(hash, history.PromotedAnnotation, "x") }
	labelled := func(hash string) func(*lab) {
		return func(l *lab) {
			for _, revision := range l.snapshot.Revisions {
				if history.HashOf(revision) == twin {
					revision.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] = l.hash(hash)
				}
			}
		}
	}
	flying := func(names ...string) func(*lab) {
		return func(l *lab) {
			for _, name := range names {
				l.snapshot.InFlight.Revisions = append(l.snapshot.InFlight.Revisions, "agent-"+l.hash(name))
			}
		}
	}
	histories := map[string]func(*lab){
		"marked": marks(twin), "marked, and the stable one": all(marks(twin), marks("old")), "marked, and it has failed": all(marks(twin), failedRevision),
		"marked, with the same hash": all(marks(twin), labelled("update")), "marked, with the hash of another": all(marks(twin), labelled("old")),
		"the mark is on its way": all(marks(twin), flying("update")),
		"empty": all(marks(twin), func(l *lab) {
			for _, revision := range l.snapshot.Revisions {
				if _, ok := revision.Annotations[history.PromotedAnnotation]; ok {
					revision.Annotations[history.PromotedAnnotation] = ""
				}
			}
		}),
	}
	for of, spec := range specs {
		for fleet, spots := range fleets {
			for name, set := range histories {
				l := newLab(spec...).add(spots...)
				l.numbered(t, numbered{"old", 2}, numbered{"twin", 5}, numbered{"update", 9})
				set(l)
				plan := l.plan(t)
				for _, violation := range verify.Plan(l.spec, l.snapshot, &plan) {
					t.Errorf("%s, %s, %s: the planner's own plan: %v", of, fleet, name, violation)
				}
				i := slices.IndexFunc(l.snapshot.Revisions, func(r *appsv1.ControllerRevision) bool { return r.Name == "agent-"+twin })
				gone := l.snapshot.Revisions[i]
				plan.Revisions = append(plan.Revisions, rollout.RevisionAction{
					Verb: rollout.DeleteRevision, Name: gone.Name, UID: gone.UID, Number: gone.Revision,
				})
				violations := verify.Plan(l.spec, l.snapshot, &plan)
				if !slices.ContainsFunc(violations, func(v verify.Violation) bool {
					return v.Invariant == 4 && strings.Contains(v.Message, "alone says that its template was promoted")
				}) {
					t.Errorf("%s, %s, %s: the duplicate goes: %v", of, fleet, name, violations)
				}
			}
		}
	}
}
