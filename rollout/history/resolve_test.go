package history_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daemonplan/daemonplan/rollout/history"
)

func image(name string) *corev1.PodTemplateSpec {
	return &corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "agent"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: name}}},
	}
}

func compile(tb testing.TB, template *corev1.PodTemplateSpec) *history.Resolver {
	tb.Helper()
	resolver, err := history.Compile(history.Set{Name: "agent"}, template)
	if err != nil {
		tb.Fatal(err)
	}
	return resolver
}

// rev describes a revision in a table: its hash label (and name agent-<hash>), number and image.
type rev struct {
	hash   string
	number int64
	image  string
}

// outcome is a Resolution by names.
type outcome struct {
	update, stable string
	number         int64
	create         bool
	renumber       int64
	matches        []string
	relabel        []string
	deletes        []string
}

func TestResolve(t *testing.T) {
	const create = "created"
	live := func(hashes ...string) (carriers []history.Carrier) {
		for _, hash := range hashes {
			carriers = append(carriers, history.Carrier{Hash: hash, Live: true})
		}
		return carriers
	}
	gone := func(hash string) history.Carrier { return history.Carrier{Hash: hash} }
	created := history.Hash(image("v3"), nil)
	for _, row := range []struct {
		name, why string
		revisions []rev
		carriers  []history.Carrier
		limit     int32
		want      outcome
	}{
		{
			name: "first installation", why: "R3: without others the number is 1; C6: then update is stable",
			limit: 10,
			want:  outcome{update: create, stable: create, number: 1, create: true, matches: []string{create}},
		},
		{
			name: "new template", why: "R3: max+1; C6: the pods' revision is stable",
			revisions: []rev{{"a", 4, "v1"}, {"b", 7, "v2"}}, carriers: live("b", "a"), limit: 10,
			want: outcome{update: create, stable: "b", number: 8, create: true, matches: []string{create}},
		},
		{
			name: "steady", why: "a match with the highest number is left alone, gaps in the numbers too",
			revisions: []rev{{"a", 4, "v1"}, {"c", 9, "v3"}}, carriers: live("c"), limit: 10,
			want: outcome{update: "c", stable: "c", number: 9, matches: []string{"c"}},
		},
		{
			name: "just above", why: "a number that is max+1 already stays",
			revisions: []rev{{"a", 4, "v1"}, {"c", 5, "v3"}}, limit: 10,
			want: outcome{update: "c", stable: "c", number: 5, matches: []string{"c"}},
		},
		{
			name: "rollback", why: "R3: an older match becomes max+1",
			revisions: []rev{{"c", 2, "v3"}, {"b", 7, "v2"}}, carriers: live("b"), limit: 10,
			want: outcome{update: "c", stable: "b", number: 8, renumber: 8, matches: []string{"c"}},
		},
		{
			name: "equal numbers", why: "R3: two revisions of one number have no order yet",
			revisions: []rev{{"c", 7, "v3"}, {"b", 7, "v2"}}, limit: 10,
			want: outcome{update: "c", stable: "c", number: 8, renumber: 8, matches: []string{"c"}},
		},
		{
			name: "last number", why: "no number follows the greatest: it stays, instead of overflowing",
			revisions: []rev{{"b", math.MaxInt64, "v2"}, {"c", 3, "v3"}}, limit: 10,
			want: outcome{
				update: "c", stable: "c", number: math.MaxInt64, renumber: math.MaxInt64, matches: []string{"c"},
			},
		},
		{
			name: "negative numbers", why: "numbers begin with 1 whatever is there",
			revisions: []rev{{"b", -5, "v2"}}, limit: 10,
			want: outcome{update: create, stable: create, number: 1, create: true, matches: []string{create}},
		},
		{
			name: "duplicates", why: "R3: highest kept, carried one relabelled and kept until no pod is seen with it",
			revisions: []rev{{"x", 1, "v3"}, {"y", 2, "v3"}, {"z", 3, "v3"}}, carriers: live("y", "z"), limit: 10,
			want: outcome{
				update: "z", stable: "z", number: 3, matches: []string{"x", "y", "z"},
				relabel: []string{"y"}, deletes: []string{"x"},
			},
		},
		{
			name: "duplicates of one number", why: "R3: ties go to the last name",
			revisions: []rev{{"z", 3, "v3"}, {"x", 3, "v3"}, {"y", 3, "v3"}}, limit: 10,
			want: outcome{
				update: "z", stable: "z", number: 3, matches: []string{"x", "y", "z"}, deletes: []string{"x", "y"},
			},
		},
		{
			name: "dying pod of a duplicate", why: "R3: no carrier of any kind may be left without its revision",
			revisions: []rev{{"x", 1, "v3"}, {"z", 3, "v3"}}, carriers: []history.Carrier{gone("x")}, limit: 0,
			want: outcome{
				update: "z", stable: "z", number: 3, matches: []string{"x", "z"}, relabel: []string{"x"},
			},
		},
		{
			name: "trim", why: "R4: beyond the limit, oldest first, the update revision does not count",
			revisions: []rev{{"c", 9, "v3"}, {"a", 1, "v1"}, {"b", 2, "v2"}, {"d", 3, "v4"}}, limit: 1,
			want: outcome{update: "c", stable: "c", number: 9, matches: []string{"c"}, deletes: []string{"a", "b"}},
		},
		{
			name: "at the limit", why: "R4: as many as the limit are kept",
			revisions: []rev{{"c", 9, "v3"}, {"a", 1, "v1"}, {"b", 2, "v2"}, {"d", 3, "v4"}}, limit: 3,
			want: outcome{update: "c", stable: "c", number: 9, matches: []string{"c"}},
		},
		{
			name: "negative limit", why: "counts as 0",
			revisions: []rev{{"c", 9, "v3"}, {"a", 1, "v1"}}, limit: -1,
			want: outcome{update: "c", stable: "c", number: 9, matches: []string{"c"}, deletes: []string{"a"}},
		},
		{
			name: "trim spares carried", why: "R4: what a dying pod carries stays, the next oldest goes instead",
			revisions: []rev{{"c", 9, "v3"}, {"a", 1, "v1"}, {"b", 2, "v2"}}, carriers: []history.Carrier{gone("a")},
			limit: 1,
			want:  outcome{update: "c", stable: "c", number: 9, matches: []string{"c"}, deletes: []string{"b"}},
		},
		{
			name: "trim spares stable", why: "R4, C6: the revision to fall back to stays whatever the limit",
			revisions: []rev{{"c", 9, "v3"}, {"a", 1, "v1"}, {"b", 2, "v2"}}, carriers: live("a"), limit: 0,
			want: outcome{update: "c", stable: "a", number: 9, matches: []string{"c"}, deletes: []string{"b"}},
		},
		{
			name: "dying pods are not stable", why: "C6: only a live pod makes a revision stable",
			revisions: []rev{{"c", 9, "v3"}, {"a", 1, "v1"}, {"b", 2, "v2"}},
			carriers:  append(live("a"), gone("b")), limit: 10,
			want: outcome{update: "c", stable: "a", number: 9, matches: []string{"c"}},
		},
		{
			name: "duplicate before trimmed", why: "duplicates come first in Delete, each group oldest first",
			revisions: []rev{{"c", 9, "v3"}, {"a", 1, "v1"}, {"x", 5, "v3"}, {"b", 2, "v2"}}, limit: 0,
			want: outcome{
				update: "c", stable: "c", number: 9, matches: []string{"c", "x"}, deletes: []string{"x", "a", "b"},
			},
		},
		{
			name: "unknown carrier", why: "pods of a revision that is gone change nothing",
			revisions: []rev{{"c", 9, "v3"}}, carriers: live("q", ""), limit: 10,
			want: outcome{update: "c", stable: "c", number: 9, matches: []string{"c"}},
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			if row.why == "" {
				t.Fatal("a row needs a reason")
			}
			in := history.Input{Carriers: row.carriers, Limit: row.limit}
			for _, r := range row.revisions {
				in.Revisions = append(in.Revisions, revisionOf(t, r.hash, r.number, image(r.image)))
			}
			got, err := compile(t, image("v3")).Resolve(in)
			if err != nil {
				t.Fatal(err)
			}
			short := func(name string) string {
				if name == created {
					return create
				}
				return name
			}
			have := outcome{
				update: short(got.Update.Hash), stable: short(got.Stable.Hash), number: got.Update.Number,
				create: got.Create != nil, relabel: got.Relabel,
			}
			for _, hash := range got.Matches {
				have.matches = append(have.matches, short(hash))
			}
			for _, revision := range got.Delete {
				have.deletes = append(have.deletes, history.HashOf(revision))
			}
			if got.Renumber != nil {
				have.renumber = got.Renumber.Number
				if got.Renumber.Revision != got.Update.Existing {
					t.Error("another revision than the update revision is renumbered")
				}
			}
			if diff := cmp.Diff(row.want, have, cmp.AllowUnexported(outcome{})); diff != "" {
				t.Errorf("%s\n(-want +got):\n%s", row.why, diff)
			}
			if got.CollisionCount != nil {
				t.Errorf("collision count %d", *got.CollisionCount)
			}
		})
	}
}

func TestResolveNames(t *testing.T) {
	resolver := compile(t, image("v3"))
	got, err := resolver.Resolve(history.Input{Revisions: []*appsv1.ControllerRevision{
		revisionOf(t, "a", 4, image("v1")), revisionOf(t, "b", 5, image("v3")),
	}, Carriers: []history.Carrier{{Hash: "a", Live: true}}})
	if err != nil {
		t.Fatal(err)
	}
	if got.Update.Name != "agent-b" || got.Stable.Name != "agent-a" || got.Stable.Number != 4 ||
		got.Stable.Existing == nil || got.Stable.Existing.Name != "agent-a" || got.Update.Existing == nil {
		t.Errorf("update %+v, stable %+v", got.Update, got.Stable)
	}
}

func TestResolveCreates(t *testing.T) {
	template := image("v3")
	for _, row := range []struct {
		name, why  string
		set        history.Set
		references []metav1.OwnerReference
	}{
		{
			name: "without UID", why: "there is no owner to refer to",
			set: history.Set{Name: "agent", Namespace: "monitoring"},
		},
		{
			name: "DaemonSet", why: "the default owner, blocking as the controller's references do",
			set: history.Set{Name: "agent", Namespace: "monitoring", UID: "u"},
			references: []metav1.OwnerReference{{
				APIVersion: "apps/v1", Kind: "DaemonSet", Name: "agent", UID: "u",
				Controller: new(true), BlockOwnerDeletion: new(true),
			}},
		},
		{
			name: "other owner", why: "custom controllers own their revisions",
			set: history.Set{Name: "agent", Namespace: "monitoring", UID: "u", APIVersion: "x/v1", Kind: "Fleet"},
			references: []metav1.OwnerReference{{
				APIVersion: "x/v1", Kind: "Fleet", Name: "agent", UID: "u",
				Controller: new(true), BlockOwnerDeletion: new(true),
			}},
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			if row.why == "" {
				t.Fatal("a row needs a reason")
			}
			resolver, err := history.Compile(row.set, template)
			if err != nil {
				t.Fatal(err)
			}
			got, err := resolver.Resolve(history.Input{})
			if err != nil {
				t.Fatal(err)
			}
			hash := history.Hash(template, nil)
			want := &appsv1.ControllerRevision{
				ObjectMeta: metav1.ObjectMeta{
					Name: "agent-" + hash, Namespace: "monitoring", OwnerReferences: row.references,
					Labels: map[string]string{"app": "agent", "controller-revision-hash": hash},
				},
				Revision: 1,
			}
			want.Data.Raw = mustData(template)
			if diff := cmp.Diff(want, got.Create); diff != "" {
				t.Errorf("%s\n(-want +got):\n%s", row.why, diff)
			}
			if got.Update.Name != want.Name || got.Update.Hash != hash || got.Update.Existing != nil {
				t.Errorf("update %+v", got.Update)
			}
			// What is handed out is the caller's.
			got.Create.Data.Raw[0], got.Create.Labels["app"] = 'x', "other"
			resolver.Data()[0] = 'y'
			again, err := resolver.Resolve(history.Input{})
			if err != nil || !cmp.Equal(again.Create, want) {
				t.Errorf("writing to one result changed the next: %v, %v", again.Create, err)
			}
		})
	}
}

func TestResolveCollisions(t *testing.T) {
	template := image("v3")
	resolver := compile(t, template)
	hash := func(count int32) string { return history.Hash(template, &count) }
	none := history.Hash(template, nil)
	for _, row := range []struct {
		name, why string
		taken     []string
		before    *int32
		after     *int32
		hash      string
	}{
		{name: "free", why: "nothing to count", hash: none},
		{name: "stored count", why: "the count of earlier collisions stays in use", before: new(int32(4)), after: new(int32(4)), hash: hash(4)},
		{name: "first collision", why: "nil becomes 1, as in Kubernetes", taken: []string{none}, after: new(int32(1)), hash: hash(1)},
		{name: "zero", why: "0 is a count, nil is none", before: new(int32(0)), taken: []string{hash(0)}, after: new(int32(1)), hash: hash(1)},
		{name: "again", why: "until a name is free", taken: []string{none, hash(1), hash(2)}, after: new(int32(3)), hash: hash(3)},
		{
			name: "overflow", why: "the API does not take a negative count", taken: []string{hash(math.MaxInt32)},
			before: new(int32(math.MaxInt32)), after: new(int32(0)), hash: hash(0),
		},
	} {
		for _, by := range []string{"name", "label"} {
			t.Run(row.name+" by "+by, func(t *testing.T) {
				if row.why == "" {
					t.Fatal("a row needs a reason")
				}
				in := history.Input{CollisionCount: row.before, Limit: 10}
				for i, taken := range row.taken {
					revision := revisionOf(t, taken, int64(i), image("other"))
					if by == "name" {
						revision.Labels = map[string]string{appsv1.DefaultDaemonSetUniqueLabelKey: "own" + taken}
					} else {
						revision.Name = "named-by-hand-" + taken
					}
					in.Revisions = append(in.Revisions, revision)
				}
				got, err := resolver.Resolve(in)
				if err != nil {
					t.Fatal(err)
				}
				if got.Update.Hash != row.hash || got.Create == nil || got.Create.Name != "agent-"+row.hash {
					t.Errorf("%s: hash %s, want %s", row.why, got.Update.Hash, row.hash)
				}
				if !cmp.Equal(got.CollisionCount, row.after) {
					t.Errorf("%s: count %v, want %v", row.why, got.CollisionCount, row.after)
				}
				if got.CollisionCount != nil && got.CollisionCount == row.before {
					t.Error("the stored count itself is handed out")
				}
			})
		}
	}
}

func TestResolveAmbiguousHashes(t *testing.T) {
	labelled := func(name, hash string, number int64, image_ string) *appsv1.ControllerRevision {
		revision := revisionOf(t, hash, number, image(image_))
		revision.Name = name
		return revision
	}
	live := []history.Carrier{{Hash: "h", Live: true}}

	// An old revision has the update revision's hash: pods with it count as updated, and both stay.
	got, err := compile(t, image("v3")).Resolve(history.Input{Carriers: live, Revisions: []*appsv1.ControllerRevision{
		labelled("old", "h", 1, "v1"), labelled("new", "h", 2, "v3"),
	}})
	if err != nil || got.Update.Name != "new" || got.Stable.Name != "new" || len(got.Delete) != 0 {
		t.Errorf("%+v, %v", got, err)
	}

	// A duplicate has an old revision's hash: nobody knows what such a pod runs, so it is not called updated.
	got, err = compile(t, image("v3")).Resolve(history.Input{Carriers: live, Revisions: []*appsv1.ControllerRevision{
		labelled("old", "h", 1, "v1"), labelled("twin", "h", 2, "v3"), labelled("new", "u", 3, "v3"),
	}})
	if err != nil || !slices.Equal(got.Matches, []string{"u"}) || len(got.Relabel)+len(got.Delete) != 0 || got.Stable.Name != "old" {
		t.Errorf("%+v, %v", got, err)
	}

	// Duplicates that share the update revision's hash need no relabelling.
	got, err = compile(t, image("v3")).Resolve(history.Input{Carriers: live, Revisions: []*appsv1.ControllerRevision{
		labelled("twin", "h", 2, "v3"), labelled("new", "h", 3, "v3"),
	}})
	if err != nil || !slices.Equal(got.Matches, []string{"h"}) || len(got.Relabel) != 0 ||
		len(got.Delete) != 1 || got.Delete[0].Name != "twin" {
		t.Errorf("%+v, %v", got, err)
	}

	// Two duplicates of one hash: its pods are relabelled once.
	got, err = compile(t, image("v3")).Resolve(history.Input{Carriers: live, Revisions: []*appsv1.ControllerRevision{
		labelled("twin1", "h", 1, "v3"), labelled("twin2", "h", 2, "v3"), labelled("new", "u", 3, "v3"),
	}})
	if err != nil || !slices.Equal(got.Matches, []string{"h", "u"}) || !slices.Equal(got.Relabel, []string{"h"}) || len(got.Delete) != 0 {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestResolveMatchesSemantically(t *testing.T) {
	template := image("v3")
	data := string(mustData(template))
	deep := strings.Repeat("[", 300) + strings.Repeat("]", 300)
	unreadable := compile(t, &corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{ManagedFields: []metav1.ManagedFieldsEntry{{
		FieldsV1: metav1.NewFieldsV1(deep),
	}}}})
	for _, row := range []struct {
		name, why string
		resolver  *history.Resolver
		data      string
		matches   bool
	}{
		{name: "same bytes", why: "R2", data: data, matches: true},
		{
			name: "older library", why: "R2: v0.33 and before wrote a creationTimestamp",
			data: strings.Replace(data, `"labels"`, `"creationTimestamp":null,"labels"`, 1), matches: true,
		},
		{
			name: "newer library", why: "R2: an unknown field that is empty",
			data: strings.Replace(data, `"resources":{}`, `"resources":{},"vision":{"eyes":0}`, 1), matches: true,
		},
		{
			name: "unknown field", why: "what cannot be read is not the same",
			data: strings.Replace(data, `"resources":{}`, `"resources":{},"vision":{"eyes":2}`, 1),
		},
		{
			name: "another order", why: "R2 compares what is decoded",
			data: strings.Replace(data, `"image":"v3","name":"main"`, `"name":"main","image":"v3"`, 1), matches: true,
		},
		{name: "another image", why: "R2", data: strings.Replace(data, "v3", "v4", 1)},
		{name: "no data", why: "not readable", data: ""},
		{
			name: "own data unreadable", why: "equal bytes are the same even so",
			resolver: unreadable, data: string(unreadable.Data()), matches: true,
		},
		{
			name: "own data unreadable, null added", why: "unreadable data equals only the same bytes",
			resolver: unreadable, data: strings.Replace(string(unreadable.Data()), `{"managedFields"`, `{"labels":null,"managedFields"`, 1),
		},
		{
			name: "own data unreadable, that of the revision is not", why: "there is nothing to compare it with",
			resolver: unreadable, data: strings.Replace(string(unreadable.Data()), deep, "{}", 1),
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			if row.why == "" {
				t.Fatal("a row needs a reason")
			}
			resolver := row.resolver
			if resolver == nil {
				resolver = compile(t, template)
			}
			revision := revisionOf(t, "x", 1, template)
			revision.Data.Raw = []byte(row.data)
			got, err := resolver.Resolve(history.Input{Revisions: []*appsv1.ControllerRevision{revision}, Limit: 10})
			if err != nil {
				t.Fatal(err)
			}
			if matches := got.Update.Existing == revision; matches != row.matches {
				t.Errorf("matches: %v, want %v: %s\n%s", matches, row.matches, row.why, row.data)
			}
		})
	}
}

func TestContractErrors(t *testing.T) {
	template := image("v1")
	named := func(name string) *appsv1.ControllerRevision {
		return &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Name: name}}
	}
	resolve := func(revisions ...*appsv1.ControllerRevision) error {
		got, err := compile(t, template).Resolve(history.Input{Revisions: revisions})
		if err != nil && !cmp.Equal(got, history.Resolution{}) {
			t.Errorf("a resolution beside an error: %+v", got)
		}
		return err
	}
	compiled := func(set history.Set, template *corev1.PodTemplateSpec) error {
		_, err := history.Compile(set, template)
		return err
	}
	var none *history.Resolver
	_, noneErr := none.Resolve(history.Input{})
	_, zeroErr := new(history.Resolver).Resolve(history.Input{})
	_, rollbackErr := history.Rollback([]*appsv1.ControllerRevision{nil}, template, 0)
	_, rollbackNilErr := history.Rollback(nil, nil, 0)
	_, dataErr := history.Data(nil)
	for _, row := range []struct {
		name, why string
		got, want error
	}{
		{"nil revision", "the snapshot is broken", resolve(nil), history.ErrNilRevision},
		{"nil among others", "the snapshot is broken", resolve(named("a"), nil), history.ErrNilRevision},
		{"no name", "it could not be acted on", resolve(named("")), history.ErrNoName},
		{"one name", "the snapshot is broken", resolve(named("b"), named("a"), named("b")), history.ErrDuplicateRevision},
		{"nil resolver", "no panic", noneErr, history.ErrNotCompiled},
		{"zero resolver", "no panic", zeroErr, history.ErrNotCompiled},
		{"set without name", "revisions are named after it", compiled(history.Set{}, template), history.ErrNoName},
		{"nil template", "there is nothing to resolve", compiled(history.Set{Name: "a"}, nil), history.ErrNoTemplate},
		{"rollback, nil revision", "the snapshot is broken", rollbackErr, history.ErrNilRevision},
		{"rollback, nil template", "no panic", rollbackNilErr, history.ErrNoTemplate},
		{"data of nil", "no panic", dataErr, history.ErrNoTemplate},
	} {
		t.Run(row.name, func(t *testing.T) {
			if row.why == "" {
				t.Fatal("a row needs a reason")
			}
			if !errors.Is(row.got, row.want) {
				t.Errorf("got %v, want %v", row.got, row.want)
			}
		})
	}
	if none.Data() != nil || none.Hash(nil) != "" || new(history.Resolver).Hash(nil) != "" {
		t.Error("a resolver that is not compiled has neither data nor hash")
	}
}
