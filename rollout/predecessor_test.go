package rollout_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/history"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// follows makes the set one that takes over from a DaemonSet with the UID "before" and pods with app=before.
func follows(s *rollout.Spec) {
	s.Predecessor = &rollout.Predecessor{
		UIDs: []types.UID{"before"}, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "before"}},
	}
}

// of makes another object the controller of a pod; "" takes it away.
func of(uid types.UID) kit.PodOption {
	return func(p *corev1.Pod) {
		p.OwnerReferences = nil
		if uid != "" {
			p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "DaemonSet", Name: "x", UID: uid, Controller: new(true)}}
		}
	}
}

func TestPredecessor(t *testing.T) {
	spec := []kit.SpecOption{follows}
	theirs := func(options ...kit.PodOption) podOf { return newPod(append(options, of("before"))...) }
	playScenes(t, []scene{
		{
			name: "its pods are outdated", why: "whatever hash they carry: another set gave it to them", spec: spec,
			fleet: []spot{on("a", theirs()), on("b", theirs()), on("c", newPod())}, acts: "delete b0 Outdated",
			want: []string{
				"a: outdated>update wait Budget a0 maxUnavailable", "b: outdated>update replace Outdated b0 U", "c: updated>update none UpToDate",
			},
		},
		{
			name: "never doubled", why: "M1: while one is on the node, no other is created", spec: spec,
			fleet: []spot{on("a", theirs(terminating())), on("b", theirs())},
			want:  []string{"a: terminating>update wait Terminating U", "b: outdated>update wait Budget b0 maxUnavailable"},
		},
		{
			name: "both on a node", why: "M3: theirs goes, as ours serves", spec: spec,
			fleet: []spot{on("a", theirs(), newPod())}, acts: "delete a0 Superseded",
			want: []string{"a: surging>update delete Superseded a0"},
		},
		{
			name: "an orphan", why: "with their labels and no controller it is theirs; with ours it is ours", spec: spec,
			fleet: []spot{on("a", newPod(of(""), relabelled("before"))), on("b", newPod(of(""), relabelled("agent")))}, acts: "delete a0 Outdated",
			want: []string{"a: outdated>update replace Outdated a0 U", "b: updated>update none UpToDate"},
		},
		{
			name: "labelled by a canary of theirs", why: "the label that another set gave is left to it",
			spec: []kit.SpecOption{follows, kit.Canary("1")}, set: all(withMark("old", history.PromotedAnnotation, "x"), tryingOn("a")),
			fleet: []spot{
				on("a", theirs(kit.PodLabel(rollout.CanaryLabel, "true")), newPod()), on("b", theirs(kit.PodLabel(rollout.CanaryLabel, "true"))),
				on("c", theirs(kit.PodLabel(rollout.CanaryLabel, "true"))),
			},
			acts: "patch a1 CanaryLabel, delete a0 Superseded, delete c0 Outdated",
			want: []string{
				"a: surging>update delete Superseded a0 C", "b: outdated>stable wait Budget b0 maxUnavailable", "c: outdated>stable replace Outdated c0 U",
			},
		},
		{
			name: "not in place", why: "I3: their revision is not in the history", spec: []kit.SpecOption{follows, kit.InPlaceIfPossible()},
			fleet: []spot{on("a", newPod(updatable, of("before")))}, acts: "delete a0 Outdated",
			want: []string{"a: outdated>update replace Outdated a0 U"},
		},
	})
}

// relabelled puts app on the pod, in place of all labels but the revision hash.
func relabelled(app string) kit.PodOption {
	return func(p *corev1.Pod) {
		hash := p.Labels["controller-revision-hash"]
		p.Labels = map[string]string{"app": app, "controller-revision-hash": hash}
	}
}

func TestClaimPredecessor(t *testing.T) {
	tests := []struct {
		name, why string
		spec      kit.SpecOption
		want      [][]string // pods, adopt, release, old
	}{
		{"by UID and selector", "what it controls, and orphans that its selector matches", func(*rollout.Spec) {},
			[][]string{{"adopted", "orphan", "ours", "theirs"}, {"adopted"}, nil, {"orphan", "theirs"}}},
		{"without namespace", "a spec without one is of the default namespace", func(s *rollout.Spec) { s.Namespace = "" },
			[][]string{{"adopted", "orphan", "ours", "theirs"}, {"adopted"}, nil, {"orphan", "theirs"}}},
		{"by UID alone", "no selector matches no orphan", func(s *rollout.Spec) { s.Predecessor.Selector = nil },
			[][]string{{"adopted", "ours", "theirs"}, {"adopted"}, nil, {"theirs"}}},
	}
	rows := uniqueRows{}
	for _, tt := range tests {
		rows.check(t, tt.name, tt.why)
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, claimed(t, kit.Spec("agent", follows, tt.spec))); diff != "" {
				t.Errorf("pods, adopt, release, old; -want +got:\n%s why: %s", diff, tt.why)
			}
		})
	}
}

// claimed returns the names of what a spec claims of pods that are of several controllers: pods, adopt, release, old.
func claimed(t *testing.T, spec rollout.Spec) [][]string {
	t.Helper()
	pod := func(name string, options ...kit.PodOption) *corev1.Pod {
		return kit.Pod(name, append([]kit.PodOption{kit.Of(spec)}, options...)...)
	}
	pods := []*corev1.Pod{
		pod("theirs", of("before")), pod("orphan", of(""), relabelled("before")), pod("ours"), pod("foreign", of("other")),
		pod("elsewhere", of("before"), func(p *corev1.Pod) { p.Namespace = "other" }), pod("adopted", of("")),
	}
	claims, err := rollout.Claim(spec, pods)
	if err != nil {
		t.Fatal(err)
	}
	names := func(pods []*corev1.Pod) []string {
		var list []string
		for _, p := range pods {
			list = append(list, p.Name)
		}
		return list
	}
	return [][]string{names(claims.Pods), names(claims.Adopt), names(claims.Release), names(claims.Old)}
}

func TestValidatePredecessor(t *testing.T) {
	spec := kit.Spec("agent")
	spec.Predecessor = &rollout.Predecessor{
		UIDs:     []types.UID{"", spec.UID},
		Selector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Like"}}},
	}
	_, err := rollout.New(spec)
	var got []string
	for _, e := range rollout.FieldErrors(err) {
		got = append(got, e.Field)
	}
	want := []string{"spec.predecessor.uids[0]", "spec.predecessor.uids[1]", "spec.predecessor.selector.matchExpressions[0].operator"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("fields, -want +got:\n%s", diff)
	}
}
