package rollout_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/daemonplan/daemonplan/internal/apiserver"
	"github.com/daemonplan/daemonplan/internal/harness"
	"github.com/daemonplan/daemonplan/internal/harness/draw"
	"github.com/daemonplan/daemonplan/rollout"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
)

func TestPatchesByPod(t *testing.T) {
	tests := []struct {
		name, why string
		patches   string // pods by UID, with the subresource
		want      string
	}{
		{"none", "no groups", "", ""},
		{"one", "one group", "a", "a"},
		{"one pod", "in their order", "a/status a a/resize", "a/status a a/resize"},
		{"two pods", "each its own", "a b", "a | b"},
		{"in between", "a group is at the place of its first", "b/status a b c a/resize", "b/status b | a a/resize | c"},
		{"the same twice", "that is for the planner to judge", "a a", "a a"},
	}
	rows := uniqueRows{}
	for _, tt := range tests {
		rows.check(t, tt.name, tt.why)
		t.Run(tt.name, func(t *testing.T) {
			plan := rollout.Plan{}
			for word := range strings.FieldsSeq(tt.patches) {
				uid, subresource, _ := strings.Cut(word, "/")
				plan.Patches = append(plan.Patches, rollout.Patch{UID: types.UID(uid), Subresource: subresource})
			}
			before := slices.Clone(plan.Patches)
			groups := plan.PatchesByPod()
			if (groups == nil) != (tt.want == "") {
				t.Errorf("%d groups", len(groups))
			}
			if got := groupsText(groups); got != tt.want {
				t.Errorf("groups are %q, want %q: %s", got, tt.want, tt.why)
			}
			for _, group := range groups {
				group[0].Pod = "written"
				_ = append(group, rollout.Patch{Pod: "written"})
			}
			if diff := cmp.Diff(before, plan.Patches); diff != "" {
				t.Errorf("whoever writes to a group writes to the plan:\n%s", diff)
			}
			if got := groupsText(groups); got != tt.want {
				t.Errorf("whoever appends to a group writes to another: %q", got)
			}
		})
	}
}

func groupsText(groups [][]rollout.Patch) string {
	var texts []string
	for _, group := range groups {
		var words []string
		for _, p := range group {
			word := string(p.UID)
			if p.Subresource != "" {
				word += "/" + p.Subresource
			}
			words = append(words, word)
		}
		texts = append(texts, strings.Join(words, " "))
	}
	return strings.Join(texts, " | ")
}

// The groups of a plan hold its patches, each once, and a group those of one pod, in their order.
func TestPatchesByPodProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		uids := rapid.SliceOfN(rapid.SampledFrom([]types.UID{"a", "b", "c", "d"}), 0, 12).Draw(t, "uids")
		var plan rollout.Plan
		of := map[types.UID][]rollout.Patch{}
		for i, uid := range uids {
			patch := rollout.Patch{UID: uid, Pod: fmt.Sprint(i)}
			plan.Patches = append(plan.Patches, patch)
			of[uid] = append(of[uid], patch)
		}
		groups := plan.PatchesByPod()
		if len(groups) != len(of) {
			t.Fatalf("%d groups of %d pods", len(groups), len(of))
		}
		last := -1
		for _, group := range groups {
			if diff := cmp.Diff(of[group[0].UID], group); diff != "" {
				t.Fatal(diff)
			}
			if first := slices.Index(uids, group[0].UID); first <= last {
				t.Fatalf("the group of %s comes too late", group[0].UID)
			} else {
				last = first
			}
		}
	})
}

// errConflict is what an API server answers if UID or resource version are others by now.
var errConflict = errors.New("conflict")

// served returns an object after a merge patch, as an API server takes it: RFC 7386, with UID and resource version, if they
// are not empty, as preconditions.
func served[T any](object *T, patch []byte) (*T, error) {
	var target, change map[string]any
	data, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(json.Unmarshal(data, &target), json.Unmarshal(patch, &change)); err != nil {
		return nil, err
	}
	was, _ := target["metadata"].(map[string]any)
	says, _ := change["metadata"].(map[string]any)
	for _, key := range []string{"uid", "resourceVersion"} {
		if value, ok := says[key]; ok && value != "" && value != was[key] {
			return nil, fmt.Errorf("%w: %s is %v, not %v", errConflict, key, was[key], value)
		}
	}
	if data, err = json.Marshal(merged(target, change)); err != nil {
		return nil, err
	}
	after := new(T)
	return after, json.Unmarshal(data, after)
}

func merged(target, change map[string]any) map[string]any {
	if target == nil {
		target = map[string]any{}
	}
	for key, value := range change {
		switch value := value.(type) {
		case nil:
			delete(target, key)
		case map[string]any:
			inner, _ := target[key].(map[string]any)
			target[key] = merged(inner, value)
		default:
			target[key] = value
		}
	}
	return target
}

func TestRevisionActionPatch(t *testing.T) {
	spec := kit.Spec("agent")
	revision := func(change ...func(*appsv1.ControllerRevision)) *appsv1.ControllerRevision {
		r := kit.Revision(spec, 3)
		r.UID, r.ResourceVersion = "r1", "7"
		r.Annotations = map[string]string{"keep": "1", "old": "2"}
		for _, f := range change {
			f(r)
		}
		return r
	}
	tests := []struct {
		name, why string
		action    rollout.RevisionAction
		live      *appsv1.ControllerRevision
		want      *appsv1.ControllerRevision // nil: a conflict
	}{
		{"renumber", "the number, and nothing else", rollout.RevisionAction{Verb: rollout.RenumberRevision, UID: "r1", Number: 9}, revision(),
			revision(func(r *appsv1.ControllerRevision) { r.Revision = 9 })},
		{"renumber, great number", "the greatest there is, digit for digit",
			rollout.RevisionAction{Verb: rollout.RenumberRevision, UID: "r1", Number: 9007199254740991}, revision(),
			revision(func(r *appsv1.ControllerRevision) { r.Revision = 9007199254740991 })},
		{"renumber, annotations are not its business", "whatever the action says",
			rollout.RevisionAction{Verb: rollout.RenumberRevision, UID: "r1", Number: 9, Annotations: map[string]string{"a": "b"}}, revision(),
			revision(func(r *appsv1.ControllerRevision) { r.Revision = 9 })},
		{"renumber a namesake", "the one that was planned for is gone", rollout.RevisionAction{Verb: rollout.RenumberRevision, UID: "r0", Number: 9},
			revision(), nil},
		{"renumber a newer version", "a number does not depend on what else changed",
			rollout.RevisionAction{Verb: rollout.RenumberRevision, UID: "r1", Number: 9},
			revision(func(r *appsv1.ControllerRevision) { r.ResourceVersion = "8" }),
			revision(func(r *appsv1.ControllerRevision) { r.ResourceVersion, r.Revision = "8", 9 })},
		{"annotate", "one more, one changed, and the others stay", rollout.RevisionAction{
			Verb: rollout.AnnotateRevision, UID: "r1", Number: 5, Annotations: map[string]string{"new": "3", "old": "4"}}, revision(),
			revision(func(r *appsv1.ControllerRevision) {
				r.Annotations = map[string]string{"keep": "1", "old": "4", "new": "3"}
			})},
		{"annotate the first", "there are none yet", rollout.RevisionAction{
			Verb: rollout.AnnotateRevision, UID: "r1", Annotations: map[string]string{"new": "3"}},
			revision(func(r *appsv1.ControllerRevision) { r.Annotations = nil }),
			revision(func(r *appsv1.ControllerRevision) { r.Annotations = map[string]string{"new": "3"} })},
		{"annotate with nothing", "empty is a value", rollout.RevisionAction{
			Verb: rollout.AnnotateRevision, UID: "r1", Annotations: map[string]string{"old": ""}}, revision(),
			revision(func(r *appsv1.ControllerRevision) { r.Annotations["old"] = "" })},
		{"remove annotations", "one that is there, and one that is not", rollout.RevisionAction{
			Verb: rollout.AnnotateRevision, UID: "r1", RemoveAnnotations: []string{"old", "never"}}, revision(),
			revision(func(r *appsv1.ControllerRevision) { r.Annotations = map[string]string{"keep": "1"} })},
		{"annotate a namesake", "the one that was tried is gone", rollout.RevisionAction{
			Verb: rollout.AnnotateRevision, UID: "r0", Annotations: map[string]string{"new": "3"}}, revision(), nil},
	}
	rows := uniqueRows{}
	for _, tt := range tests {
		rows.check(t, tt.name, tt.why)
		t.Run(tt.name, func(t *testing.T) {
			got, err := served(tt.live, tt.action.Patch())
			switch {
			case tt.want == nil:
				if !errors.Is(err, errConflict) {
					t.Errorf("no conflict, but %v: %s", err, tt.why)
				}
			case err != nil:
				t.Error(err)
			default:
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("%s: %s", tt.why, diff)
				}
			}
		})
	}
	for _, verb := range []rollout.RevisionVerb{rollout.CreateRevision, rollout.DeleteRevision, rollout.DeleteRevision + 1} {
		if patch := (rollout.RevisionAction{Verb: verb, UID: "r1", Number: 2}).Patch(); patch != nil {
			t.Errorf("%s is no patch, but %s", verb, patch)
		}
	}
}

// What plans do to revisions is the same as a patch.
func TestRevisionActionPatchProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, plan := drawRevising(t)
		for _, action := range plan.Revisions {
			patch := action.Patch()
			if patch == nil {
				continue
			}
			after, done, _, err := apiserver.Revise(c.Snapshot.Revisions, &action, c.Snapshot.Now, "")
			if err != nil || !done {
				t.Fatalf("%s of %s: %v, done: %v", action.Verb, action.Name, err, done)
			}
			named := slices.IndexFunc(after, func(r *appsv1.ControllerRevision) bool { return r.Name == action.Name })
			before := c.Snapshot.Revisions[named].DeepCopy()
			before.Data.Raw, after[named].Data.Raw = nil, nil // it may be no JSON
			got, err := served(before, patch)
			if err != nil {
				t.Fatal(err)
			}
			want, err := served(after[named], []byte(`{}`))
			if err != nil || cmp.Diff(want, got) != "" {
				t.Fatalf("%s of %s: %v %s", action.Verb, action.Name, err, cmp.Diff(want, got))
			}
		}
	})
}

// patchesRevisions reports whether the plan patches a revision.
func patchesRevisions(plan rollout.Plan) bool {
	return slices.ContainsFunc(plan.Revisions, func(a rollout.RevisionAction) bool { return a.Patch() != nil })
}

// drawRevising draws a case, and tries for one whose plan patches a revision: one in four does.
func drawRevising(t *rapid.T) (c harness.Case, plan rollout.Plan) {
	for range 10 {
		c = rapid.OneOf(draw.AnyCase(), draw.AnyCanaryCase()).Draw(t, "case")
		planner, err := rollout.New(c.Spec)
		if err != nil {
			t.Fatal(err)
		}
		if plan, err = planner.Plan(c.Snapshot); err != nil {
			t.Fatal(err)
		}
		if patchesRevisions(plan) {
			break
		}
	}
	return c, plan
}

func TestOwnerPatches(t *testing.T) {
	spec := kit.Spec("agent")
	own := metav1.OwnerReference{
		APIVersion: "apps/v1", Kind: "DaemonSet", Name: "agent", UID: spec.UID, Controller: new(true), BlockOwnerDeletion: new(true),
	}
	plain := metav1.OwnerReference{APIVersion: "apps/v1", Kind: "DaemonSet", Name: "agent", UID: spec.UID}
	other := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "c", UID: "other"}
	second := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "d", UID: "second", BlockOwnerDeletion: new(true)}
	references := func(list ...metav1.OwnerReference) []metav1.OwnerReference { return list }
	tests := []struct {
		name, why             string
		has, adopted, release []metav1.OwnerReference
	}{
		{"orphan", "nothing to keep, and nothing to take away", nil, references(own), nil},
		{"owned by another", "who owns without controlling stays", references(other, second), references(other, second, own), references(other, second)},
		{"controlled already", "one reference is enough", references(own), references(own), nil},
		{"owned without being controlled", "the reference becomes that of a controller", references(plain), references(own), nil},
		{"among others", "their order stays", references(other, own, second), references(other, second, own), references(other, second)},
		{"twice", "no reference of the set is left", references(plain, other, own), references(other, own), references(other)},
	}
	rows := uniqueRows{}
	for _, tt := range tests {
		rows.check(t, tt.name, tt.why)
		t.Run(tt.name, func(t *testing.T) {
			for verb, p := range map[string]struct {
				patch func(rollout.Spec, *metav1.ObjectMeta) []byte
				want  []metav1.OwnerReference
			}{"adopt": {rollout.AdoptPatch, tt.adopted}, "release": {rollout.ReleasePatch, tt.release}} {
				object := kit.Pod("p", kit.Of(spec))
				object.ResourceVersion, object.Finalizers = "7", []string{"keep"}
				// Capacity to spare, in which an append could write.
				object.OwnerReferences = append(make([]metav1.OwnerReference, 0, len(tt.has)+2), tt.has...)
				before := object.DeepCopy()
				patch := p.patch(spec, &object.ObjectMeta)
				spare := object.OwnerReferences[:cap(object.OwnerReferences)]
				if diff := cmp.Diff(before, object); diff != "" || spare[len(spare)-1].UID != "" || spare[len(spare)-2].UID != "" {
					t.Fatalf("%s: the object was written to: %s", verb, diff)
				}
				want, err := served(before, []byte(`{}`))
				if err != nil {
					t.Fatal(err)
				}
				want.OwnerReferences = p.want
				got, err := served(object, patch)
				if err != nil {
					t.Fatal(verb, err)
				}
				if len(got.OwnerReferences) == 0 {
					got.OwnerReferences = nil
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s: %s: %s", verb, tt.why, diff)
				}
				for what, change := range map[string]func(*corev1.Pod){
					"another object": func(p *corev1.Pod) { p.UID = "another" },
					"a newer one":    func(p *corev1.Pod) { p.ResourceVersion = "8" },
				} {
					live := before.DeepCopy()
					change(live)
					if _, err := served(live, patch); !errors.Is(err, errConflict) {
						t.Errorf("%s: %s is patched: %v", verb, what, err)
					}
				}
			}
		})
	}
	if rollout.AdoptPatch(spec, nil) != nil || rollout.ReleasePatch(spec, nil) != nil {
		t.Error("a patch of no object")
	}
}

// What was adopted is controlled by the set, and what was released is nobody's: Claim agrees.
func TestOwnerPatchesAgreeWithClaim(t *testing.T) {
	spec := kit.Spec("agent")
	orphan := kit.Pod("p", kit.PodLabel("app", "agent"))
	claims, err := rollout.Claim(spec, []*corev1.Pod{orphan})
	if err != nil || len(claims.Adopt) != 1 {
		t.Fatal(err, claims)
	}
	adopted, err := served(orphan, rollout.AdoptPatch(spec, &claims.Adopt[0].ObjectMeta))
	if err != nil {
		t.Fatal(err)
	}
	if claims, err = rollout.Claim(spec, []*corev1.Pod{adopted}); err != nil || len(claims.Pods) != 1 || len(claims.Adopt) != 0 {
		t.Errorf("%v; an adopted pod is the set's: %+v", err, claims)
	}
	delete(adopted.Labels, "app")
	if claims, err = rollout.Claim(spec, []*corev1.Pod{adopted}); err != nil || len(claims.Release) != 1 {
		t.Fatal(err, claims)
	}
	released, err := served(adopted, rollout.ReleasePatch(spec, &claims.Release[0].ObjectMeta))
	if err != nil {
		t.Fatal(err)
	}
	if claims, err = rollout.Claim(spec, []*corev1.Pod{released}); err != nil || len(claims.Pods)+len(claims.Release) != 0 {
		t.Errorf("%v; a released pod is nobody's: %+v", err, claims)
	}
}

// The patches of a spec with and without defaults are the same.
func TestAdoptPatchOfAnySpec(t *testing.T) {
	spec := agent()
	spec.UID = "u"
	object := &metav1.ObjectMeta{Name: "p", UID: "p"}
	if diff := cmp.Diff(string(rollout.AdoptPatch(spec.Default(), object)), string(rollout.AdoptPatch(spec, object))); diff != "" {
		t.Error(diff)
	}
}

func TestPlanRequeueAfter(t *testing.T) {
	now := time.Date(2026, 7, 2, 12, 0, 0, 0, time.UTC)
	tests := []struct {
		name, why string
		wake      time.Time
		others    []time.Time
		want      time.Duration
	}{
		{name: "never", why: "zero instants are never", others: []time.Time{{}}},
		{name: "wake alone", why: "nothing else is due", wake: now.Add(time.Minute), want: time.Minute},
		{name: "other first", why: "the earliest counts", wake: now.Add(time.Minute), others: []time.Time{{}, now.Add(time.Second)}, want: time.Second},
		{name: "wake first", why: "in whatever order", wake: now.Add(time.Second), others: []time.Time{now.Add(time.Minute)}, want: time.Second},
		{name: "past", why: "at once is not never", wake: now.Add(-time.Hour), want: time.Millisecond},
		{name: "now", why: "at once is not never", wake: now, want: time.Millisecond},
		{name: "far apart", why: "no overflow", wake: now.AddDate(1000, 0, 0), want: math.MaxInt64},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := (&rollout.Plan{NextWake: test.wake}).RequeueAfter(now, test.others...); got != test.want {
				t.Errorf("%v, want %v: %s", got, test.want, test.why)
			}
		})
	}
}
