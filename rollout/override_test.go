package rollout_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
)

func limits(cpu string) corev1.ResourceRequirements {
	return corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}}
}

// big gives the nodes with size=big that much cpu.
func big(cpu string) kit.SpecOption {
	return func(s *rollout.Spec) {
		s.Overrides = []placement.Override{{
			Name: "big", NodeSelector: metav1.LabelSelector{MatchLabels: map[string]string{"size": "big"}},
			Containers: map[string]corev1.ResourceRequirements{s.Template.Spec.Containers[0].Name: limits(cpu)},
		}}
	}
}

// withTwoCPUs returns a pod with two CPUs by an override.
func withTwoCPUs() kit.PodOption {
	return func(p *corev1.Pod) {
		spec := kit.Spec("agent")
		resources := []placement.Resources{{Container: spec.Template.Spec.Containers[0].Name, Resources: limits("2"), Source: "big"}}
		p.Annotations = map[string]string{placement.DigestAnnotation: placement.Digest(resources)}
	}
}

func TestOverrideP8(t *testing.T) { playScenes(t, overrideScenes()) }

func overrideScenes() []scene {
	isBig := kit.Label("size", "big")
	fine := func(node string) string { return node + ": updated>update none UpToDate" }
	malformed := func(l *lab) {
		kit.ResourcesFor(l.spec, l.spec.Template.Spec.Containers[0].Name, `{"limits":{"cpu":`)(l.snapshot.Nodes[0])
	}
	return []scene{
		{
			name: "as wanted", why: "P8: the digest is that of the override", spec: []kit.SpecOption{big("2")},
			fleet: []spot{on("a", newPod(withTwoCPUs())).with(isBig), on("b", newPod())},
			want:  []string{fine("a"), fine("b")},
		},
		{
			name: "changed", why: "P8: rolled out like a template, under the same budget; unchanged nodes are not touched", spec: []kit.SpecOption{big("3")},
			fleet: []spot{on("a", newPod(withTwoCPUs())).with(isBig), on("b", newPod()), on("c", newPod(withTwoCPUs())).with(isBig)},
			acts:  "delete c0 Outdated",
			want:  []string{"a: outdated>update wait Budget a0 maxUnavailable", fine("b"), "c: outdated>update replace Outdated c0 U"},
		},
		{
			name: "removed", why: "P8: not as ExtendedDaemonSet, which does not notice",
			fleet: []spot{on("a", newPod(withTwoCPUs())).with(isBig)}, acts: "delete a0 Outdated",
			want: []string{"a: outdated>update replace Outdated a0 U"},
		},
		{
			name: "the node is no longer selected", why: "P8: an override that moves", spec: []kit.SpecOption{big("2")},
			fleet: []spot{on("a", newPod(withTwoCPUs())), on("b", newPod()).with(isBig)}, acts: "delete b0 Outdated",
			want: []string{"a: outdated>update wait Budget a0 maxUnavailable", "b: outdated>update replace Outdated b0 U"},
		},
		{
			name: "malformed annotation", why: "P8: a running pod is not outdated by it, whatever digest it has", set: malformed,
			fleet: []spot{on("a", newPod(withTwoCPUs())), on("b", newPod())},
			want:  []string{fine("a"), fine("b")},
		},
		{
			name: "malformed annotation, pod lost", why: "P8: it is ignored for the new pod", set: malformed,
			fleet: []spot{on("a"), on("b", newPod())}, acts: "create a Missing",
			want: []string{"a: missing>update create Missing U", fine("b")},
		},
		{
			name: "in place", why: "P8: recreated, as it is no change of the template", spec: []kit.SpecOption{big("2"), kit.InPlaceIfPossible()},
			fleet: []spot{on("a", newPod(updatable)).with(isBig)}, acts: "delete a0 Outdated",
			want: []string{"a: outdated>update replace Outdated a0 U"},
		},
		{
			name: "in place only", why: "I1: held, and the reason says why", spec: []kit.SpecOption{big("2"), kit.InPlaceOnly()},
			fleet: []spot{on("a", newPod(updatable)).with(isBig)},
			want:  []string{"a: outdated>held hold Held a0 inPlaceOnly"},
		},
		{
			name: "surge", why: "V3: the new pod is of the same revision and another kind", spec: []kit.SpecOption{big("2"), kit.MaxSurge("1")},
			fleet: []spot{on("a", newPod()).with(isBig)}, acts: "create a Outdated",
			want: []string{"a: outdated>update surge Outdated S"},
		},
		{
			name: "surge, requested", why: "V3: the pod that is there is not the one that was asked for",
			spec: []kit.SpecOption{big("2"), kit.MaxSurge("1")}, requested: []string{"a"},
			fleet: []spot{on("a", newPod()).with(isBig)},
			want:  []string{"a: surging>update wait Requested S"},
		},
		{
			name: "during a canary", why: "T6: at the stable revision, with the resources wanted there", spec: []kit.SpecOption{big("2"), kit.Canary("1")},
			set:   tryingOn("a"),
			fleet: []spot{on("a", trialPod()), on("b", oldPod()).with(isBig), on("c", oldPod(withTwoCPUs())).with(isBig)},
			acts:  "delete b0 Outdated",
			want: []string{
				"a: updated>update none UpToDate C", "b: outdated>stable replace Outdated b0 U", "c: stable>stable none Stable",
			},
		},
	}
}

// New pods have the resources that their node gives them, and say so (P8).
func TestOverridePods(t *testing.T) {
	l := newLab(big("2")).add(on("a").with(kit.Label("size", "big")), on("b").with(kit.Label("size", "big")), on("c"))
	container := l.spec.Template.Spec.Containers[0].Name
	kit.ResourcesFor(l.spec, container, `{"limits":{"cpu":"7"}}`)(l.snapshot.Nodes[1])
	planner, err := rollout.New(l.spec)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, create := range l.plan(t).Creates {
		pod, err := planner.Pod(create)
		if err != nil {
			t.Fatal(err)
		}
		digest := placement.Digest(create.Resources)
		if pod.Annotations[placement.DigestAnnotation] != digest {
			t.Errorf("%s: digest %q on the pod, want %q", create.Node, pod.Annotations[placement.DigestAnnotation], digest)
		}
		got[create.Node] = pod.Spec.Containers[0].Resources.Limits.Cpu().String()
	}
	if diff := cmp.Diff(map[string]string{"a": "2", "b": "7", "c": "0"}, got); diff != "" {
		t.Errorf("cpu, -want +got:\n%s", diff)
	}
}

// What comes back at an older revision has the resources that the overrides give that revision's containers (P8, T1).
func TestOverrideOfOlderRevision(t *testing.T) {
	l := newLab(big("2"), holdRevision, partition("100%")).add(on("a").with(kit.Label("size", "big")), on("b", oldPod()))
	plan := l.plan(t)
	if got, want := acts(plan), "create a Missing at old"; got != want {
		t.Fatalf("got %s, want %s", got, want)
	}
	got := plan.Creates[0].Resources
	if len(got) != 1 || got[0].Source != "big" || !got[0].Resources.Limits.Cpu().Equal(resource.MustParse("2")) {
		t.Errorf("got %+v, want two CPUs by the override", got)
	}
}

// The resources in a plan are the caller's: what is done to them changes no later plan.
func TestOverrideSharesNothing(t *testing.T) {
	l := newLab(big("2")).add(on("a").with(kit.Label("size", "big")))
	planner, err := rollout.New(l.spec)
	if err != nil {
		t.Fatal(err)
	}
	create := func() rollout.Create {
		plan, err := planner.Plan(l.snapshot)
		if err != nil || len(plan.Creates) != 1 {
			t.Fatalf("got %v, error %v; want one pod to be created", plan.Creates, err)
		}
		return plan.Creates[0]
	}
	changed := create()
	changed.Resources[0].Resources.Limits[corev1.ResourceCPU] = resource.MustParse("9")
	changed.Resources[0].Source = "changed"
	want := []placement.Resources{{Container: l.spec.Template.Spec.Containers[0].Name, Resources: limits("2"), Source: "big"}}
	if diff := cmp.Diff(want, create().Resources); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// Conflicts are reported once each, malformed annotations for each node (P8).
func TestOverrideReports(t *testing.T) {
	l := newLab(big("2")).add(on("a").with(kit.Label("size", "big")), on("b").with(kit.Label("size", "big")), on("c"))
	container := l.spec.Template.Spec.Containers[0].Name
	l.spec.Overrides = append(l.spec.Overrides, placement.Override{
		Name: "newer", Created: ago(time.Hour), Containers: map[string]corev1.ResourceRequirements{container: limits("3")},
	})
	kit.ResourcesFor(l.spec, container, "no JSON")(l.snapshot.Nodes[2])
	plan := l.plan(t)
	want := []rollout.OverrideConflict{{
		Conflict: placement.Conflict{Container: container, Winner: "newer", Loser: "big"}, Node: "a", Nodes: 2,
	}}
	if diff := cmp.Diff(want, plan.OverrideConflicts); diff != "" {
		t.Errorf("conflicts, -want +got:\n%s", diff)
	}
	if got := plan.MalformedOverrides; len(got) != 1 || got[0].Node != "c" || got[0].Container != container || got[0].Problem == "" {
		t.Errorf("got %+v, want the annotation of c, and what is wrong with it", got)
	}
}

// Two overrides are in conflict, too, if neither changes anything.
func TestOverrideConflictWithoutEffect(t *testing.T) {
	l := newLab(func(s *rollout.Spec) {
		s.Template.Spec.Containers[0].Resources = limits("2")
		containers := map[string]corev1.ResourceRequirements{s.Template.Spec.Containers[0].Name: limits("2")}
		s.Overrides = []placement.Override{{Name: "one", Containers: containers}, {Name: "two", Containers: containers}}
	}).add(on("a", newPod()))
	plan := l.plan(t)
	if got := plan.OverrideConflicts; len(got) != 1 || got[0].Winner != "two" || got[0].Loser != "one" || got[0].Node != "a" {
		t.Errorf("got %+v, want one of two with one", got)
	}
	if !plan.Empty() {
		t.Errorf("got %s, want nothing", acts(plan))
	}
}
