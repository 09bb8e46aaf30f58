package rollout_test

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	_ "github.com/daemonplan/daemonplan/internal/fixedseed"
	"github.com/daemonplan/daemonplan/rollout"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
)

func TestClaim(t *testing.T) {
	const uid = "set-agent" // of kit.Spec("agent")
	labelled := kit.PodLabel("app", "agent")
	in := func(namespace string) kit.PodOption { return func(p *corev1.Pod) { p.Namespace = namespace } }
	tests := []struct {
		name, why string
		spec      func(*rollout.Spec)
		pod       []kit.PodOption
		want      string // which of the three lists the pod is in
	}{
		{"controlled and selected", "the ordinary pod", nil, []kit.PodOption{labelled, controlledBy(uid)}, "Pods"},
		{"orphan", "one without a controller that the selector matches is adopted", nil, []kit.PodOption{labelled}, "Pods Adopt"},
		{"orphan of an owner", "an owner that is no controller controls nothing", nil,
			[]kit.PodOption{labelled, func(p *corev1.Pod) {
				p.OwnerReferences = []metav1.OwnerReference{{UID: "other"}}
			}}, "Pods Adopt"},
		{"terminating orphan", "it will be gone soon, so nobody adopts it", nil, []kit.PodOption{labelled, terminating()}, ""},
		{"stranger", "no controller and not selected", nil, nil, ""},
		{"of another controller", "though selected", nil, []kit.PodOption{labelled, controlledBy("other")}, ""},
		{"relabelled", "controlled but not selected any more: released", nil, []kit.PodOption{controlledBy(uid)}, "Release"},
		{"relabelled and terminating", "it will be gone soon; until then it holds its node", nil,
			[]kit.PodOption{controlledBy(uid), terminating()}, "Pods"},
		{"controlled, selected, terminating", "it holds its node", nil,
			[]kit.PodOption{labelled, controlledBy(uid), terminating()}, "Pods"},
		{"elsewhere", "another namespace is another world", nil, []kit.PodOption{labelled, in("other")}, ""},
		{"default namespace", "a spec without a namespace is of the default one",
			func(s *rollout.Spec) { s.Namespace = "" }, []kit.PodOption{labelled}, "Pods Adopt"},
		{"pod without namespace", "an object without one counts as in the default one", nil, []kit.PodOption{labelled, in("")}, "Pods Adopt"},
		{"own namespace", "else of its own", func(s *rollout.Spec) { s.Namespace = "mine" },
			[]kit.PodOption{labelled, in("mine")}, "Pods Adopt"},
		{"set without UID, orphan", "a set that does not exist yet goes by the selector alone",
			func(s *rollout.Spec) { s.UID = "" }, []kit.PodOption{labelled}, "Pods Adopt"},
		{"set without UID, controlled", "and controls nothing, not even by an empty reference",
			func(s *rollout.Spec) { s.UID = "" }, []kit.PodOption{labelled, controlledBy("")}, ""},
		{"set without UID, unselected", "so there is nothing to release either",
			func(s *rollout.Spec) { s.UID = "" }, []kit.PodOption{controlledBy("")}, ""},
		{"empty reference", "a reference without UID is not to a set that has one", nil,
			[]kit.PodOption{labelled, controlledBy("")}, ""},
	}
	rows := uniqueRows{}
	for _, tt := range tests {
		rows.check(t, tt.name, tt.why)
		t.Run(tt.name, func(t *testing.T) {
			spec := kit.Spec("agent")
			if tt.spec != nil {
				tt.spec(&spec)
			}
			pod := kit.Pod("p", tt.pod...)
			claims, err := rollout.Claim(spec, []*corev1.Pod{pod})
			if err != nil {
				t.Fatal(err)
			}
			var lists []string
			for _, list := range []struct {
				name string
				pods []*corev1.Pod
			}{{"Pods", claims.Pods}, {"Adopt", claims.Adopt}, {"Release", claims.Release}} {
				if slices.Contains(list.pods, pod) {
					lists = append(lists, list.name)
				}
			}
			if got := strings.Join(lists, " "); got != tt.want {
				t.Errorf("the pod is in %q, want %q: %s", got, tt.want, tt.why)
			}
		})
	}
}

// The order of the input changes nothing: each list is ordered by name, then UID.
func TestClaimOrder(t *testing.T) {
	var pods []*corev1.Pod
	for _, name := range []string{"b", "a", "c"} {
		owner := func(p *corev1.Pod) {
			p.OwnerReferences = []metav1.OwnerReference{{UID: "set-agent", Controller: new(true)}}
		}
		pods = append(pods,
			kit.Pod(name, kit.PodLabel("app", "agent"), withUID("2")), kit.Pod(name, kit.PodLabel("app", "agent"), withUID("1")),
			kit.Pod(name, owner, withUID("4")), kit.Pod(name, owner, withUID("3")))
	}
	claims, err := rollout.Claim(kit.Spec("agent"), pods)
	if err != nil {
		t.Fatal(err)
	}
	text := func(pods []*corev1.Pod) string {
		var words []string
		for _, p := range pods {
			words = append(words, p.Name+string(p.UID))
		}
		return strings.Join(words, " ")
	}
	for _, list := range []struct {
		name, got, want string
	}{
		{"Pods", text(claims.Pods), "a1 a2 b1 b2 c1 c2"},
		{"Adopt", text(claims.Adopt), "a1 a2 b1 b2 c1 c2"},
		{"Release", text(claims.Release), "a3 a4 b3 b4 c3 c4"},
	} {
		if list.got != list.want {
			t.Errorf("%s: got %s, want %s", list.name, list.got, list.want)
		}
	}
	if got := text(pods[:2]); got != "b2 b1" {
		t.Errorf("the input was reordered: it begins with %s", got)
	}
}

func TestClaimRefuses(t *testing.T) {
	malformed := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Like"}}}
	selecting := func(selector *metav1.LabelSelector) kit.SpecOption {
		return func(s *rollout.Spec) { s.Selector = selector }
	}
	tests := []struct {
		name, why string
		spec      kit.SpecOption
		pods      []*corev1.Pod
		want      string
	}{
		{"no selector", "a set must say which pods are its own", selecting(nil), nil, "spec.selector: must be set and must not be empty"},
		{"empty selector", "it would claim every pod of the namespace", selecting(&metav1.LabelSelector{}), nil,
			"spec.selector: must be set and must not be empty"},
		{"malformed selector", "unreadable never means unlimited", selecting(malformed), nil,
			`spec.selector: "Like" is not a valid label selector operator`},
		{"malformed selector of the predecessor", "nor does it mean that there is none",
			func(s *rollout.Spec) { s.Predecessor = &rollout.Predecessor{Selector: malformed} }, nil,
			`spec.predecessor.selector: "Like" is not a valid label selector operator`},
		{"nil pod", "the contract of a snapshot", func(*rollout.Spec) {},
			[]*corev1.Pod{kit.Pod("p", kit.PodLabel("app", "agent")), nil}, "snapshot.Pods[1]: must not be nil"},
	}
	rows := uniqueRows{}
	for _, tt := range tests {
		rows.check(t, tt.name, tt.why)
		t.Run(tt.name, func(t *testing.T) {
			claims, err := rollout.Claim(kit.Spec("agent", tt.spec), tt.pods)
			if err == nil || err.Error() != tt.want {
				t.Errorf("got error %v, want %q: %s", err, tt.want, tt.why)
			}
			if claims.Pods != nil || claims.Adopt != nil || claims.Release != nil || claims.Old != nil {
				t.Errorf("claimed beside an error: %+v", claims)
			}
			var contract *rollout.SnapshotError
			if want := tt.pods != nil; errors.As(err, &contract) != want {
				t.Errorf("a *SnapshotError: %v, want %v", !want, want)
			}
		})
	}
}

// Revisions are claimed as pods are; the table of TestClaim says how.
func TestClaimRevisions(t *testing.T) {
	revision := func(name string, controller types.UID, labels map[string]string) *appsv1.ControllerRevision {
		r := &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID(name), Labels: labels}}
		if controller != "" {
			r.OwnerReferences = []metav1.OwnerReference{{UID: controller, Controller: new(true)}}
		}
		return r
	}
	own := map[string]string{"app": "agent"}
	elsewhere := revision("elsewhere", "", own)
	elsewhere.Namespace = "other"
	given := []*appsv1.ControllerRevision{
		revision("own", "set-agent", own), revision("orphan", "", own), revision("foreign", "other", own),
		revision("relabelled", "set-agent", nil), revision("stranger", "", nil), elsewhere, revision("also", "set-agent", own),
	}
	claimed, err := rollout.ClaimRevisions(kit.Spec("agent"), given)
	if err != nil {
		t.Fatal(err)
	}
	names := func(list []*appsv1.ControllerRevision) string {
		var names []string
		for _, r := range list {
			names = append(names, r.Name)
		}
		return strings.Join(names, " ")
	}
	if got := names(claimed.Revisions); got != "also orphan own" {
		t.Errorf("claimed %s, want those that are controlled and selected, and orphans that are selected, by name", got)
	}
	if got := names(claimed.Adopt); got != "orphan" {
		t.Errorf("to adopt: %s, want the orphan that is selected", got)
	}
	if got := names(claimed.Release); got != "relabelled" {
		t.Errorf("to release: %s, want the one that is controlled and not selected", got)
	}
	if given[0].Name != "own" || given[6].Name != "also" {
		t.Error("the input was reordered")
	}

	_, err = rollout.ClaimRevisions(kit.Spec("agent"), []*appsv1.ControllerRevision{given[0], nil})
	if err == nil || err.Error() != "snapshot.Revisions[1]: must not be nil" {
		t.Errorf("got error %v for a nil revision", err)
	}
	if claimed, err = rollout.ClaimRevisions(rollout.Spec{}, given); err == nil || claimed.Revisions != nil {
		t.Errorf("got %v and error %v for a spec without selector, want an error alone", claimed, err)
	}
}

// TestClaimAndPlan: whatever happens to the pods of a namespace, to the spec and to their order, one call gives the claims and the
// plan that Claim, ClaimRevisions and Plan give one after the other, with the Reading of the call before as well as without.
func TestClaimAndPlan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec := kit.Spec("agent")
		nodes := []*corev1.Node{kit.Node("a"), kit.Node("b"), kit.Node("c")}
		var pods []*corev1.Pod
		var reading *rollout.Reading
		for step := range 6 {
			for range rapid.IntRange(0, 3).Draw(t, "changes") {
				pods = changeNamespace(t, pods, spec)
			}
			pods = rapid.Permutation(pods).Draw(t, "order")
			switch rapid.IntRange(0, 9).Draw(t, "spec") {
			case 0:
				spec = kit.Spec("agent", kit.Image("agent:v2"))
			case 1:
				spec.UID = ""
			case 2:
				spec.Predecessor = &rollout.Predecessor{UIDs: []types.UID{"other"}, Selector: rapid.SampledFrom([]*metav1.LabelSelector{
					{MatchLabels: map[string]string{"app": "old"}}, {}, nil, // all pods, no pod
				}).Draw(t, "selector of the predecessor")}
			case 3:
				spec = kit.Spec("agent")
			}
			planner, err := rollout.New(spec)
			if err != nil {
				t.Fatal(err)
			}
			snapshot := rollout.Snapshot{Now: kit.Noon(), Nodes: nodes, Pods: pods, Revisions: []*appsv1.ControllerRevision{kit.Revision(spec, 1)}}
			want, wantErr := claimThenPlan(planner, spec, snapshot)
			snapshot.Reading = reading
			got, err := planner.ClaimAndPlan(snapshot)
			if (err == nil) != (wantErr == nil) {
				t.Fatalf("step %d: %v, not %v", step, err, wantErr)
			}
			if err != nil {
				continue
			}
			slices.SortFunc(got.Pods.Pods, func(a, b *corev1.Pod) int {
				return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(string(a.UID), string(b.UID)))
			})
			if diff := gocmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("step %d: %s", step, diff)
			}
			reading = got.Plan.Reading
		}
	})
}

func claimThenPlan(planner *rollout.Planner, spec rollout.Spec, snapshot rollout.Snapshot) (rollout.Claimed, error) {
	var c rollout.Claimed
	var err error
	if c.Pods, err = rollout.Claim(spec, snapshot.Pods); err != nil {
		return c, err
	}
	if c.Revisions, err = rollout.ClaimRevisions(spec, snapshot.Revisions); err != nil {
		return c, err
	}
	snapshot.Pods, snapshot.Revisions = c.Pods.Pods, c.Revisions.Revisions
	c.Plan, err = planner.Plan(snapshot)
	return c, err
}

// changeNamespace adds a pod of anybody's, drops one, or replaces one by another version.
func changeNamespace(t *rapid.T, pods []*corev1.Pod, spec rollout.Spec) []*corev1.Pod {
	pods = slices.Clone(pods)
	i := rapid.IntRange(0, 5).Draw(t, "pod")
	name := fmt.Sprintf("pod-%d", i)
	at := slices.IndexFunc(pods, func(p *corev1.Pod) bool { return p.Name == name })
	if at >= 0 && rapid.IntRange(0, 3).Draw(t, "drop") == 0 {
		return slices.Delete(pods, at, at+1)
	}
	p := kit.Pod(name, kit.OnNode(rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "node")), kit.Of(spec))
	p.Name, p.UID = name, types.UID(name)
	p.Labels["app"] = rapid.SampledFrom([]string{"agent", "agent", "old", "x"}).Draw(t, "app")
	p.Namespace = rapid.SampledFrom([]string{"default", "default", "", "elsewhere"}).Draw(t, "namespace")
	p.OwnerReferences = nil
	if of := rapid.SampledFrom([]types.UID{"set-agent", "set-agent", "other", "stranger", ""}).Draw(t, "of"); of != "" {
		p.OwnerReferences = []metav1.OwnerReference{{UID: of, Controller: new(true)}}
	}
	if rapid.IntRange(0, 4).Draw(t, "terminating") == 0 {
		p.DeletionTimestamp = new(metav1.NewTime(kit.Noon()))
	}
	if at >= 0 {
		pods[at] = p
		return pods
	}
	return append(pods, p)
}

// TestClaimAndPlanRefuses: what is wrong is said as by Claim and Plan.
func TestClaimAndPlanRefuses(t *testing.T) {
	planner, err := rollout.New(kit.Spec("agent"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := planner.ClaimAndPlan(rollout.Snapshot{Now: kit.Noon(), Pods: []*corev1.Pod{nil}}); err == nil || err.Error() != "snapshot.Pods[0]: must not be nil" {
		t.Error(err)
	}
	if _, err := planner.ClaimAndPlan(rollout.Snapshot{Now: kit.Noon(), Revisions: []*appsv1.ControllerRevision{nil}}); err == nil {
		t.Error("no revision is none")
	}
	if _, err := planner.ClaimAndPlan(rollout.Snapshot{}); err == nil || !strings.Contains(err.Error(), "Now") {
		t.Error(err)
	}
	// The place is that in the list of the namespace, not among the objects that are the set's.
	own := func(of types.UID) []metav1.OwnerReference {
		return []metav1.OwnerReference{{UID: of, Controller: new(true)}}
	}
	spec := kit.Spec("agent")
	foreign, noUID := kit.Pod("foreign"), kit.Pod("no-uid", kit.OnNode("a"), kit.Of(spec))
	foreign.OwnerReferences, noUID.OwnerReferences, noUID.UID = own("other"), own(spec.UID), ""
	_, err = planner.ClaimAndPlan(rollout.Snapshot{Now: kit.Noon(), Pods: []*corev1.Pod{foreign, foreign, noUID}})
	if err == nil || !strings.HasPrefix(err.Error(), "snapshot.Pods[2]: must have a UID") {
		t.Error(err)
	}
	other, twin := kit.Revision(spec, 1), kit.Revision(spec, 1)
	other.OwnerReferences, other.Name = own("other"), "other"
	_, err = planner.ClaimAndPlan(rollout.Snapshot{Now: kit.Noon(), Revisions: []*appsv1.ControllerRevision{
		other, kit.Revision(spec, 1), other, twin,
	}})
	if err == nil || !strings.HasPrefix(err.Error(), "snapshot.Revisions[3]: must have a name of its own") {
		t.Error(err)
	}
	var none *rollout.Planner
	if _, err := none.ClaimAndPlan(rollout.Snapshot{Now: kit.Noon()}); err == nil {
		t.Error("a nil planner plans")
	}
}

// TestBrokenListsAreToldAlike: of a list that breaks the contract in several places, ClaimAndPlan says the same with a Reading and
// without, and it claims two versions of a released pod in the order of the list.
func TestBrokenListsAreToldAlike(t *testing.T) {
	spec := kit.Spec("agent")
	planner, err := rollout.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	pod := func(uid string) *corev1.Pod {
		p := kit.Pod("pod", kit.Of(spec), kit.OnNode("n"))
		p.UID = types.UID(uid)
		return p
	}
	released := pod("r")
	released.Labels["app"] = "another"
	version := released.DeepCopy()
	a, b := pod("a"), pod("b")
	for name, tt := range map[string][2][]*corev1.Pod{
		"two have a twin":              {{pod("x"), pod("y"), a, b}, {a, b, pod("b"), pod("a")}},
		"two have no UID":              {{pod("x"), pod("y"), a, b}, {a, b, pod(""), pod("")}},
		"versions of a released pod":   {{released, version}, {version, released}},
		"the same in the other order":  {{version, released}, {released, version}},
		"a new version, and the twins": {{released, a}, {version, released, pod("a")}},
	} {
		t.Run(name, func(t *testing.T) {
			s := rollout.Snapshot{Now: kit.Noon(), Nodes: kit.Nodes("n"), Pods: tt[0]}
			before, err := planner.ClaimAndPlan(s)
			if err != nil {
				t.Fatal(err)
			}
			s.Pods = tt[1]
			want, wantErr := planner.ClaimAndPlan(s)
			s.Reading = before.Plan.Reading
			got, err := planner.ClaimAndPlan(s)
			if fmt.Sprint(err) != fmt.Sprint(wantErr) {
				t.Errorf("with a Reading: %v, without: %v", err, wantErr)
			}
			if !slices.Equal(got.Pods.Release, want.Pods.Release) {
				t.Error("with a Reading the released pods are listed in another order")
			}
		})
	}
}
