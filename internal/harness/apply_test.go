package harness_test

import (
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/internal/harness"
	"github.com/daemonplan/daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
)

func TestApplyExecutesEachAction(t *testing.T) {
	spec := rollouttest.Spec("agent")
	hash := rollouttest.Hash(spec)
	pod := rollouttest.Pod("p", rollouttest.OnNode("a"), rollouttest.AtRevision("old"), rollouttest.PodLabel("app", "agent"))
	revision := rollouttest.Revision(spec, 1)
	other := rollouttest.Revision(rollouttest.Spec("agent", rollouttest.Image("agent:v2")), 2)
	tests := []struct {
		name string
		why  string
		plan rollout.Plan
		want string
	}{
		{
			name: "create", why: "the pod is the planner's, with a name and a UID",
			plan: rollout.Plan{Creates: []rollout.Create{{Node: "b", Revision: hash}}},
			want: "12:00:00 created agent-x0001 on b",
		},
		{
			name: "delete", why: "a bound pod is marked",
			plan: rollout.Plan{Deletes: []rollout.Delete{{Node: "a", Pod: "p", UID: pod.UID}}},
			want: "12:00:00 deleted p on a",
		},
		{
			name: "delete of a namesake", why: "the UID is a precondition",
			plan: rollout.Plan{Deletes: []rollout.Delete{{Node: "a", Pod: "p", UID: "other"}}},
			want: "12:00:00 refused p on a",
		},
		{
			name: "patch", why: "labels are merged",
			plan: rollout.Plan{Patches: []rollout.Patch{{
				Pod: "p", UID: pod.UID, Type: types.StrategicMergePatchType,
				Data: []byte(`{"metadata":{"labels":{"controller-revision-hash":"new"}}}`),
			}}},
			want: "12:00:00 patched p on a",
		},
		{
			name: "patch of a pod that is gone", why: "it is refused, and no error",
			plan: rollout.Plan{Patches: []rollout.Patch{{Node: "a", Pod: "p", UID: "other"}}},
			want: "12:00:00 refused p on a",
		},
		{
			name: "create revision", why: "it is added",
			plan: rollout.Plan{Revisions: []rollout.RevisionAction{
				{Verb: rollout.CreateRevision, Name: other.Name, Number: 2, Object: other},
			}},
			want: "12:00:00 revision created " + other.Name,
		},
		{
			name: "create revision twice", why: "the name is taken",
			plan: rollout.Plan{Revisions: []rollout.RevisionAction{
				{Verb: rollout.CreateRevision, Name: revision.Name, Number: 1, Object: revision},
			}},
			want: "12:00:00 refused " + revision.Name,
		},
		{
			name: "renumber revision", why: "its number changes",
			plan: rollout.Plan{Revisions: []rollout.RevisionAction{
				{Verb: rollout.RenumberRevision, Name: revision.Name, UID: revision.UID, Number: 9},
			}},
			want: "12:00:00 revision renumbered " + revision.Name,
		},
		{
			name: "renumber a namesake", why: "the UID is a precondition",
			plan: rollout.Plan{Revisions: []rollout.RevisionAction{
				{Verb: rollout.RenumberRevision, Name: revision.Name, UID: "other", Number: 9},
			}},
			want: "12:00:00 refused " + revision.Name,
		},
		{
			name: "annotate revision", why: "annotations are set and removed",
			plan: rollout.Plan{Revisions: []rollout.RevisionAction{{
				Verb: rollout.AnnotateRevision, Name: revision.Name, UID: revision.UID,
				Annotations: map[string]string{"b": "2", "a": "1"}, RemoveAnnotations: []string{"z", "c"},
			}}},
			want: "12:00:00 revision annotated " + revision.Name + " (a=1, b=2, c-, z-)",
		},
		{
			name: "annotate a namesake", why: "the UID is a precondition",
			plan: rollout.Plan{Revisions: []rollout.RevisionAction{{
				Verb: rollout.AnnotateRevision, Name: revision.Name, UID: "other", RemoveAnnotations: []string{"a"},
			}}},
			want: "12:00:00 refused " + revision.Name + " (a-)",
		},
		{
			name: "delete revision", why: "it is removed",
			plan: rollout.Plan{Revisions: []rollout.RevisionAction{
				{Verb: rollout.DeleteRevision, Name: revision.Name, UID: revision.UID},
			}},
			want: "12:00:00 revision deleted " + revision.Name,
		},
		{
			name: "delete a namesake of a revision", why: "the UID is a precondition",
			plan: rollout.Plan{Revisions: []rollout.RevisionAction{
				{Verb: rollout.DeleteRevision, Name: revision.Name, UID: "other"},
			}},
			want: "12:00:00 refused " + revision.Name,
		},
	}
	seen := map[string]bool{}
	for _, test := range tests {
		if test.why == "" || seen[test.name] {
			t.Fatalf("row %q needs a reason and a name of its own", test.name)
		}
		seen[test.name] = true
		t.Run(test.name, func(t *testing.T) {
			c := newCluster(t, harness.Behavior{}, rollouttest.Nodes("a", "b"), pod)
			before := c.Snapshot()
			test.plan.Memory = rollout.Memory{Version: rollout.MemoryVersion}
			if err := c.Apply(test.plan); err != nil {
				t.Fatal(err)
			}
			if got := told(c); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
			if got := c.Snapshot().Memory.Version; got != rollout.MemoryVersion {
				t.Errorf("the memory of the plan was not kept: version %d", got)
			}
			if p := before.Pods[0]; p.DeletionTimestamp != nil || p.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] != "old" {
				t.Error("the snapshot from before was written to")
			}
		})
	}
}

func TestApplyChangesObjects(t *testing.T) {
	spec := rollouttest.Spec("agent")
	revision := rollouttest.Revision(spec, 1)
	c := newCluster(t, harness.Behavior{}, rollouttest.Nodes("a", "b"),
		rollouttest.Pod("p", rollouttest.OnNode("a"), rollouttest.AtRevision("old"), rollouttest.PodLabel("keep", "me")),
		rollouttest.Pod("q", rollouttest.OnNode("a")))
	err := c.Apply(rollout.Plan{
		Revisions: []rollout.RevisionAction{{Verb: rollout.RenumberRevision, Name: revision.Name, UID: revision.UID, Number: 9}},
		Patches: []rollout.Patch{{
			Pod: "p", UID: "pod-p", Type: types.MergePatchType,
			Data: []byte(`{"metadata":{"uid":"pod-p","labels":{"controller-revision-hash":"new","keep":null},"annotations":{"a":"b"}}}`),
		}},
		Deletes: []rollout.Delete{{Pod: "q", UID: "pod-q"}},
		Creates: []rollout.Create{{Node: "b", Revision: "new"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	s := c.Snapshot()
	if len(s.Pods) != 3 || len(s.Revisions) != 1 || len(s.Nodes) != 2 {
		t.Fatalf("%d pods, %d revisions, %d nodes", len(s.Pods), len(s.Revisions), len(s.Nodes))
	}
	p, q, created := s.Pods[0], s.Pods[1], s.Pods[2]
	if got := fmt.Sprint(p.Labels, p.Annotations); got != "map[controller-revision-hash:new] map[a:b]" {
		t.Errorf("after the patch labels and annotations are %s", got)
	}
	if p.Status.Conditions[0].LastTransitionTime.IsZero() || p.Spec.NodeName != "a" {
		t.Error("the patch changed what it does not name")
	}
	if q.DeletionTimestamp == nil || !q.DeletionTimestamp.After(c.Now()) {
		t.Error("the deleted pod is not marked for the end of its grace period")
	}
	if created.Name == "" || created.UID == "" || created.Status.Phase != corev1.PodPending ||
		!created.CreationTimestamp.Time.Equal(c.Now()) || created.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] != "new" {
		t.Errorf("the created pod is not one that an API server has just taken: %v", created.ObjectMeta)
	}
	if s.Revisions[0].Revision != 9 {
		t.Errorf("the revision's number is %d", s.Revisions[0].Revision)
	}
}

func TestApplyReportsWhatNoServerWouldTake(t *testing.T) {
	revision := rollouttest.Revision(rollouttest.Spec("agent"), 1)
	patch := func(change func(*rollout.Patch)) rollout.Plan {
		p := rollout.Patch{Pod: "p", UID: "pod-p", Type: types.StrategicMergePatchType, Data: []byte(`{}`)}
		change(&p)
		return rollout.Plan{Patches: []rollout.Patch{p}}
	}
	tests := []struct {
		name string
		why  string
		plan rollout.Plan
	}{
		{"create without node", "a pod must be pinned", rollout.Plan{Creates: []rollout.Create{{Revision: "x"}}}},
		{"patch that is no JSON", "it cannot be read", patch(func(p *rollout.Patch) { p.Data = []byte(`{`) })},
		{"patch of an unknown type", "the server refuses it", patch(func(p *rollout.Patch) { p.Type = "x" })},
		{"patch of an unknown subresource", "pods have no such thing", patch(func(p *rollout.Patch) { p.Subresource = "scale" })},
		{
			"patch of what cannot change", "of the spec only images can",
			patch(func(p *rollout.Patch) { p.Data = []byte(`{"spec":{"hostNetwork":true}}`) }),
		},
		{
			"patch of an unknown field", "the object cannot be decoded any more",
			patch(func(p *rollout.Patch) { p.Data = []byte(`{"spec":{"replicas":1}}`) }),
		},
		{
			"patch of a field of a field", "a name is no object",
			patch(func(p *rollout.Patch) { p.Data = []byte(`{"metadata":{"name":{"first":"p"}}}`) }),
		},
		{
			"patch with a directive", "directives are not simulated",
			patch(func(p *rollout.Patch) { p.Data = []byte(`{"metadata":{"$patch":"delete"}}`) }),
		},
		{
			"patch with a directive in a list", "directives are not simulated there either",
			patch(func(p *rollout.Patch) { p.Data = []byte(`{"status":{"conditions":[{"type":"x","$patch":"delete"}]}}`) }),
		},
		{
			"patch with an element without key", "nobody knows which one is meant",
			patch(func(p *rollout.Patch) { p.Data = []byte(`{"spec":{"containers":[{"image":"x"}]}}`) }),
		},
		{
			"patch with a scalar among objects", "nobody knows which one is meant",
			patch(func(p *rollout.Patch) { p.Data = []byte(`{"spec":{"containers":["x"]}}`) }),
		},
		{
			"patch with an object among scalars", "a finalizer is a name",
			patch(func(p *rollout.Patch) { p.Data = []byte(`{"metadata":{"finalizers":[{"name":"x"}]}}`) }),
		},
		{
			"patch of the name", "a name never changes",
			patch(func(p *rollout.Patch) { p.Data = []byte(`{"metadata":{"name":"other"}}`) }),
		},
		{
			"patch of a wrong type of value", "the object cannot be decoded any more",
			patch(func(p *rollout.Patch) { p.Data = []byte(`{"metadata":{"labels":"x"}}`) }),
		},
		{
			"create of a revision without object", "there is nothing to create",
			rollout.Plan{Revisions: []rollout.RevisionAction{{Verb: rollout.CreateRevision, Name: "x"}}},
		},
		{
			"create of a revision of another name", "name and object must agree",
			rollout.Plan{Revisions: []rollout.RevisionAction{
				{Verb: rollout.CreateRevision, Name: "x", Number: 1, Object: revision},
			}},
		},
		{
			"create of a revision of another number", "number and object must agree",
			rollout.Plan{Revisions: []rollout.RevisionAction{
				{Verb: rollout.CreateRevision, Name: revision.Name, Number: 7, Object: revision},
			}},
		},
		{
			"annotate without annotations", "there is nothing to do",
			rollout.Plan{Revisions: []rollout.RevisionAction{
				{Verb: rollout.AnnotateRevision, Name: revision.Name, UID: revision.UID},
			}},
		},
		{
			"annotate both ways", "an annotation is set or removed, not both",
			rollout.Plan{Revisions: []rollout.RevisionAction{{
				Verb: rollout.AnnotateRevision, Name: revision.Name, UID: revision.UID,
				Annotations: map[string]string{"a": "1"}, RemoveAnnotations: []string{"a"},
			}}},
		},
		{
			"unknown verb", "nobody knows what to do",
			rollout.Plan{Revisions: []rollout.RevisionAction{{Verb: 99, Name: revision.Name}}},
		},
	}
	seen := map[string]bool{}
	for _, test := range tests {
		if test.why == "" || seen[test.name] {
			t.Fatalf("row %q needs a reason and a name of its own", test.name)
		}
		seen[test.name] = true
		t.Run(test.name, func(t *testing.T) {
			c := newCluster(t, harness.Behavior{}, rollouttest.Nodes("a"), rollouttest.Pod("p", rollouttest.OnNode("a")))
			if err := c.Apply(test.plan); err == nil {
				t.Errorf("no error; what happened: %s", told(c))
			}
		})
	}
}

func TestApplyAnnotatesARevision(t *testing.T) {
	spec := rollouttest.Spec("agent")
	revision := objects.Marked(rollouttest.Revision(spec, 1), map[string]string{"stays": "s", "changes": "before", "goes": "g"})
	c, err := harness.NewCluster(spec, rollout.Snapshot{
		Now: rollouttest.Noon(), Revisions: []*appsv1.ControllerRevision{revision},
	}, harness.Behavior{Lag: 1})
	if err != nil {
		t.Fatal(err)
	}
	before := c.Snapshot().Revisions[0]
	if err := c.Apply(rollout.Plan{Revisions: []rollout.RevisionAction{{
		Verb: rollout.AnnotateRevision, Name: revision.Name, UID: revision.UID,
		Annotations: map[string]string{"changes": "after", "comes": "c"}, RemoveAnnotations: []string{"goes", "never there"},
	}}}); err != nil {
		t.Fatal(err)
	}
	if s := c.Snapshot(); len(s.InFlight.Revisions) != 1 || s.Revisions[0] != before {
		t.Errorf("a lagging watch shows %v, in flight %v", s.Revisions[0].Annotations, s.InFlight.Revisions)
	}
	c.Tick(0)
	after := c.Snapshot().Revisions[0]
	if got := fmt.Sprint(after.Annotations); got != "map[changes:after comes:c stays:s]" || after.Revision != 1 {
		t.Errorf("annotations %s, number %d", got, after.Revision)
	}
	if got := fmt.Sprint(before.Annotations); got != "map[changes:before goes:g stays:s]" {
		t.Errorf("the object of before was written: %s", got)
	}
}

func TestPrefixCutsInOrder(t *testing.T) {
	plan := rollout.Plan{
		Revisions: make([]rollout.RevisionAction, 1),
		Patches:   make([]rollout.Patch, 2),
		Pulls:     make([]rollout.Pull, 2),
		Deletes:   make([]rollout.Delete, 3),
		Creates:   make([]rollout.Create, 4),
	}
	if n := harness.Actions(plan); n != 12 {
		t.Fatalf("%d actions, want 12", n)
	}
	for n, want := range map[int][5]int{
		-1: {0, 0, 0, 0, 0}, 0: {0, 0, 0, 0, 0}, 1: {1, 0, 0, 0, 0}, 2: {1, 1, 0, 0, 0}, 3: {1, 2, 0, 0, 0},
		4: {1, 2, 1, 0, 0}, 5: {1, 2, 2, 0, 0}, 8: {1, 2, 2, 3, 0}, 9: {1, 2, 2, 3, 1}, 12: {1, 2, 2, 3, 4}, 13: {1, 2, 2, 3, 4},
	} {
		p := harness.Prefix(plan, n)
		if got := [5]int{len(p.Revisions), len(p.Patches), len(p.Pulls), len(p.Deletes), len(p.Creates)}; got != want {
			t.Errorf("the first %d are %v, want %v", n, got, want)
		}
	}
}
