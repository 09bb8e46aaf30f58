package simulate_test

import (
	"fmt"
	"maps"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/daemonplan/daemonplan/internal/fuzzing"
	"github.com/daemonplan/daemonplan/internal/harness/draw"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/history"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
	"github.com/daemonplan/daemonplan/rollout/simulate"
	"github.com/daemonplan/daemonplan/rollout/verify"
)

func inputBuild(t *testing.T, fleet simulate.Fleet) rollout.Snapshot {
	t.Helper()
	snapshot, err := fleet.Build()
	if err != nil {
		t.Fatal(err)
	}
	return snapshot
}

// The fields of a node follow from its pool and its number.
func TestBuildNodes(t *testing.T) {
	pool := simulate.Pool{
		Name: "web", Nodes: 8, Zones: []string{"a", "b"}, Racks: 3, Labels: map[string]string{"disk": "ssd"},
		Taints:      []corev1.Taint{{Key: "gpu", Effect: corev1.TaintEffectNoSchedule}},
		Allocatable: corev1.ResourceList{"cpu": resource.MustParse("4")}, Images: []string{"pause:3"},
	}
	snapshot := inputBuild(t, simulate.Fleet{Pools: []simulate.Pool{pool, {Name: "db", Nodes: 2, Racks: 1}, {Name: "none"}}})
	if want := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC); !snapshot.Now.Equal(want) {
		t.Errorf("it begins at %v, want %v", snapshot.Now, want)
	}
	if len(snapshot.Pods)+len(snapshot.Revisions) != 0 {
		t.Errorf("nothing is to run, but there are %d pods and %d revisions", len(snapshot.Pods), len(snapshot.Revisions))
	}
	var got []string
	for _, node := range snapshot.Nodes {
		got = append(got, fmt.Sprint(node.Name, " ", node.Labels[corev1.LabelTopologyZone], " ", node.Labels[simulate.RackLabel]))
	}
	want := []string{
		"web-00000 a a-r1", "web-00001 b b-r1", "web-00002 a a-r2", "web-00003 b b-r2", "web-00004 a a-r3", "web-00005 b b-r3",
		"web-00006 a a-r1", "web-00007 b b-r1", "db-00000  r1", "db-00001  r1",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("names, zones and racks, -want +got:\n%s", diff)
	}
	since := metav1.NewTime(snapshot.Now.Add(-time.Hour))
	if diff := cmp.Diff(&corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: "web-00003", UID: "node-web-00003", CreationTimestamp: since,
			Labels: map[string]string{
				"kubernetes.io/hostname": "web-00003", "topology.kubernetes.io/zone": "b", "daemonplan.io/rack": "b-r2",
				"daemonplan.io/pool": "web", "disk": "ssd",
			},
		},
		Spec: corev1.NodeSpec{Taints: pool.Taints},
		Status: corev1.NodeStatus{
			Capacity: pool.Allocatable, Allocatable: pool.Allocatable,
			Conditions: []corev1.NodeCondition{{Type: "Ready", Status: "True", LastTransitionTime: since}},
			Images:     []corev1.ContainerImage{{Names: []string{"pause:3"}}},
		},
	}, snapshot.Nodes[3]); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if db := snapshot.Nodes[8].Labels; len(db) != 3 {
		t.Errorf("a pool without zones labels %v", db)
	}
}

func TestBuildNow(t *testing.T) {
	at, other := time.Date(2027, 3, 4, 5, 6, 7, 0, time.UTC), time.Date(2028, 3, 4, 5, 6, 7, 0, time.UTC)
	tests := []struct {
		name, why string
		fleet     simulate.Fleet
		want      time.Time
	}{
		{"given", "what is asked for counts", simulate.Fleet{Now: at, Snapshot: &rollout.Snapshot{Now: other}}, at},
		{"of the snapshot", "a dump knows when it was made", simulate.Fleet{Snapshot: &rollout.Snapshot{Now: other}}, other},
		{"of a snapshot without", "a list of objects does not", simulate.Fleet{Snapshot: &rollout.Snapshot{}}, time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)},
	}
	rows := inputRows{}
	for _, tt := range tests {
		rows.check(t, tt.name, tt.why)
		t.Run(tt.name, func(t *testing.T) {
			if got := inputBuild(t, tt.fleet).Now; !got.Equal(tt.want) {
				t.Errorf("got %v, want %v: %s", got, tt.want, tt.why)
			}
		})
	}
}

func TestFirstNumber(t *testing.T) {
	tests := []struct {
		name, why string
		nodes     []string
		want      int
	}{
		{"none", "numbers begin at 0", nil, 0},
		{"others", "another pool has its own numbers", []string{"web2-00007", "we-1", "web", "web-"}, 0},
		{"a bare number", "a node that is called so is of no pool", []string{"00007"}, 0},
		{"of the pool", "after the highest", []string{"web-00001", "web-00007", "web-00003"}, 8},
		{"no digits", "a name that only looks alike", []string{"web-00001", "web-a", "web-00x", "web--5", "web-+5"}, 2},
		{"huge", "no pool ever comes so far", []string{"web-99999999999999999999", "web-3000000000", "web-2"}, 3},
	}
	rows := inputRows{}
	for _, tt := range tests {
		rows.check(t, tt.name, tt.why)
		t.Run(tt.name, func(t *testing.T) {
			if got := simulate.FirstNumber("web", append([]*corev1.Node{nil}, kit.Nodes(tt.nodes...)...)); got != tt.want {
				t.Errorf("got %d, want %d: %s", got, tt.want, tt.why)
			}
		})
	}
}

// A fleet adds to a snapshot without changing it.
func TestBuildAddsToSnapshot(t *testing.T) {
	spec := kit.Spec("agent")
	before := rollout.Snapshot{
		Now:       kit.Noon(),
		Nodes:     append(make([]*corev1.Node, 0, 9), kit.Nodes("web-00004", "x")...),
		Pods:      append(make([]*corev1.Pod, 0, 9), kit.Pod("p", kit.Of(spec), kit.OnNode("x"))),
		Revisions: append(make([]*appsv1.ControllerRevision, 0, 9), kit.Revision(spec, 7)),
		Memory:    rollout.Memory{Version: rollout.MemoryVersion},
	}
	fleet := simulate.Fleet{Snapshot: &before, Pools: []simulate.Pool{{Name: "web", Nodes: 2}}, Running: &spec}
	got := inputBuild(t, fleet)
	var names []string
	for _, node := range got.Nodes {
		names = append(names, node.Name)
	}
	if want := []string{"web-00004", "x", "web-00005", "web-00006"}; !slices.Equal(names, want) {
		t.Errorf("nodes %v, want %v", names, want)
	}
	if len(got.Pods) != 3 || got.Pods[0] != before.Pods[0] || len(got.Revisions) != 1 || got.Memory.Version != rollout.MemoryVersion {
		t.Errorf("%d pods and %d revisions, want 3 and the one that was there", len(got.Pods), len(got.Revisions))
	}
	for _, pod := range got.Pods[1:] {
		if hash := pod.Labels[appsv1.DefaultDaemonSetUniqueLabelKey]; hash != kit.Hash(spec) {
			t.Errorf("pod %s is at %q, want the revision that was there, %q", pod.Name, hash, kit.Hash(spec))
		}
	}
	if nodes := before.Nodes[:4]; nodes[2] != nil || nodes[3] != nil || before.Pods[:2][1] != nil {
		t.Error("the caller's arrays were written to")
	}
	other := kit.Spec("agent", kit.Image("agent:v9"))
	fleet.Running = &other
	if got := inputBuild(t, fleet); len(got.Revisions) != 2 || got.Revisions[1].Revision != 8 {
		t.Errorf("%d revisions, want one more, with the next number", len(got.Revisions))
	}
	if before.Revisions[:2][1] != nil {
		t.Error("a revision was written to the caller's array")
	}
}

// The running spec runs only where it is to run, and its pods are those that the planner would have made.
func TestBuildRunning(t *testing.T) {
	spec := kit.Spec("agent", func(s *rollout.Spec) {
		s.Template.Spec.NodeSelector = map[string]string{simulate.PoolLabel: "web"}
		s.Overrides = []placement.Override{{
			Name: "big", NodeSelector: metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelTopologyZone: "b"}},
			Containers: map[string]corev1.ResourceRequirements{
				s.Template.Spec.Containers[0].Name: {Requests: corev1.ResourceList{"cpu": resource.MustParse("2")}},
			},
		}}
		s.MinReadySeconds = 7200
		s.Strategy.Frozen = true // the spec is frozen now, but was not when its pods were made
	})
	fleet := simulate.Fleet{
		Running: &spec,
		Pools: []simulate.Pool{
			{Name: "db", Nodes: 3}, {Name: "web", Nodes: 4, Zones: []string{"a", "b"}, Images: []string{"pause:3"}},
		},
	}
	snapshot := inputBuild(t, fleet)
	var got []string
	for _, pod := range snapshot.Pods {
		got = append(got, fmt.Sprint(pod.Name, " on ", pod.Spec.NodeName, " with ", pod.Spec.Containers[0].Resources.Requests.Cpu()))
		if !lifecycle.Available(pod, spec.MinReadySeconds, snapshot.Now) {
			t.Errorf("pod %s is not available", pod.Name)
		}
	}
	want := []string{
		spec.Name + "-web-00000 on web-00000 with 0", spec.Name + "-web-00001 on web-00001 with 2",
		spec.Name + "-web-00002 on web-00002 with 0", spec.Name + "-web-00003 on web-00003 with 2",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	planner, err := rollout.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	pod := snapshot.Pods[2]
	built, err := planner.Pod(rollout.Create{Node: "web-00002", Revision: kit.Hash(spec)})
	if err != nil {
		t.Fatal(err)
	}
	built.Spec.NodeName = "web-00002"
	if diff := cmp.Diff(built.Spec, pod.Spec); diff != "" {
		t.Errorf("the spec of a pod, -planner +fleet:\n%s", diff)
	}
	if diff := cmp.Diff([]any{built.Labels, built.Annotations, built.OwnerReferences, built.Namespace},
		[]any{pod.Labels, pod.Annotations, pod.OwnerReferences, pod.Namespace}); diff != "" {
		t.Errorf("metadata of a pod, -planner +fleet:\n%s", diff)
	}
	status := pod.Status.ContainerStatuses[0]
	if status.ImageID == "" || !status.Ready || status.RestartCount != 0 || !strings.Contains(status.ContainerID, string(pod.UID)) {
		t.Errorf("a container that runs for long reports %+v", status)
	}
	for _, node := range snapshot.Nodes {
		var images []string
		for _, image := range node.Status.Images {
			images = append(images, image.Names...)
		}
		var want []string
		if node.Labels[simulate.PoolLabel] == "web" {
			want = []string{"pause:3", spec.Template.Spec.Containers[0].Image}
		}
		if !slices.Equal(images, want) {
			t.Errorf("node %s has images %v, want %v", node.Name, images, want)
		}
	}
}

// A revision is marked as promoted if its set has canaries, otherwise not.
func TestBuildMarks(t *testing.T) {
	for _, tt := range []struct {
		name, why string
		spec      rollout.Spec
		want      bool
	}{
		{"canary", "its own canary promoted it", kit.Spec("agent", kit.Canary("1")), true},
		{"none", "nothing marks revisions", kit.Spec("agent"), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			snapshot := inputBuild(t, simulate.Fleet{Running: &tt.spec, Pools: []simulate.Pool{{Name: "web", Nodes: 1}}})
			if len(snapshot.Revisions) != 1 {
				t.Fatalf("%d revisions", len(snapshot.Revisions))
			}
			revision := snapshot.Revisions[0]
			if got := history.Promoted(revision); got != tt.want || revision.Revision != 1 || revision.UID != types.UID("revision-"+revision.Name) {
				t.Errorf("promoted %v, number %d, UID %q: %s", got, revision.Revision, revision.UID, tt.why)
			}
		})
	}
}

// On a fleet that runs a spec, the planner of that spec has nothing to do, and all nodes are where they are to end.
func TestBuildIsSettled(t *testing.T) { rapid.Check(t, inputSettled) }

func FuzzBuildIsSettled(f *testing.F) { fuzzing.Property(f, rapid.MakeFuzz(inputSettled)) }

func inputSettled(t *rapid.T) {
	spec := rapid.OneOf(draw.AnySpec(), draw.AnyCanarySpec()).Draw(t, "spec")
	spec.Strategy.Canary = nil
	if rapid.Bool().Draw(t, "canary") && spec.Strategy.Type != rollout.OnDelete {
		spec.Strategy.Canary = &canary.Options{}
	}
	if _, err := rollout.New(spec); err != nil {
		t.Skip(err)
	}
	fleet := simulate.Fleet{Running: &spec, Pools: []simulate.Pool{inputPool("a").Draw(t, "a"), inputPool("b").Draw(t, "b")}}
	snapshot, err := fleet.Build()
	if err != nil {
		t.Fatal(err)
	}
	again, err := fleet.Build()
	if err != nil || !reflect.DeepEqual(snapshot, again) {
		t.Fatalf("built twice, it is another one: %v", err)
	}
	if err := inputSettledError(spec, snapshot); err != nil {
		t.Fatal(err)
	}
}

// inputSettledError returns what the planner would do about a snapshot in which there should be nothing to do.
func inputSettledError(spec rollout.Spec, snapshot rollout.Snapshot) error {
	planner, err := rollout.New(spec)
	if err != nil {
		return err
	}
	plan, err := planner.Plan(snapshot)
	if err != nil {
		return err
	}
	if !plan.Empty() {
		return fmt.Errorf("the plan has actions: %+v %+v %+v %+v %+v", plan.Revisions, plan.Patches, plan.Pulls, plan.Deletes, plan.Creates)
	}
	if plan.Status.Available != plan.Status.Desired || plan.Status.Updated != plan.Status.Desired {
		return fmt.Errorf("status %+v", plan.Status)
	}
	if violations := verify.Plan(spec, snapshot, &plan); len(violations) > 0 {
		return fmt.Errorf("%v", violations)
	}
	return nil
}

// inputPool draws a small pool of that name, with labels and taints that the templates of the generators refer to.
func inputPool(name string) *rapid.Generator[simulate.Pool] {
	return rapid.Custom(func(t *rapid.T) simulate.Pool {
		p := simulate.Pool{
			Name: name, Nodes: rapid.IntRange(0, 6).Draw(t, "nodes"), Racks: rapid.IntRange(0, 2).Draw(t, "racks"),
			Zones:  rapid.SampledFrom([][]string{nil, {"a"}, {"a", "b", "c"}}).Draw(t, "zones"),
			Labels: rapid.SampledFrom([]map[string]string{nil, {"zone": "a"}, {"zone": "b", "disk": "ssd"}}).Draw(t, "labels"),
			Images: rapid.SampledFrom([][]string{nil, {"agent:v1"}, {"other:v1", "agent:v2"}}).Draw(t, "images"),
		}
		if rapid.IntRange(0, 3).Draw(t, "tainted") == 0 {
			p.Taints = []corev1.Taint{{Key: "dedicated", Value: "x", Effect: rapid.SampledFrom([]corev1.TaintEffect{
				corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute, corev1.TaintEffectPreferNoSchedule,
			}).Draw(t, "effect")}}
		}
		return p
	})
}

// Replacing one object of a fleet changes no other one. So objects must not share what is about one node. What they do share is
// equal for all nodes.
func TestBuildOwnsWhatDiffers(t *testing.T) {
	spec := kit.Spec("agent")
	snapshot := inputBuild(t, simulate.Fleet{Running: &spec, Pools: []simulate.Pool{{Name: "web", Nodes: 50, Zones: []string{"a", "b"}}}})
	copies := make([]*corev1.Pod, len(snapshot.Pods))
	for i, pod := range snapshot.Pods {
		copies[i] = pod.DeepCopy()
		node, ok := placement.TargetNode(&corev1.Pod{Spec: corev1.PodSpec{Affinity: pod.Spec.Affinity}})
		if !ok || node != pod.Spec.NodeName {
			t.Fatalf("pod %s on %s is pinned to %q", pod.Name, pod.Spec.NodeName, node)
		}
	}
	for i := range snapshot.Pods[1:] {
		a, b := copies[i], copies[i+1]
		if a.UID == b.UID || a.Status.ContainerStatuses[0].ContainerID == b.Status.ContainerStatuses[0].ContainerID {
			t.Fatalf("pods %s and %s are one", a.Name, b.Name)
		}
	}
	for i, node := range snapshot.Nodes {
		if want := fmt.Sprintf("web-%05d", i); node.Labels[corev1.LabelHostname] != want {
			t.Fatalf("node %s is labelled %v", want, node.Labels)
		}
	}
}

// The update method of a set decides what its pods carry.
func TestBuildInPlace(t *testing.T) {
	spec := kit.Spec("agent", kit.InPlaceOnly(), func(s *rollout.Spec) {
		s.Lifecycle.PreNormal = &lifecycle.Hook{Labels: map[string]string{"hook": "on"}, Finalizers: []string{"x.io/hook"}, MarkPodNotReady: true}
	})
	snapshot := inputBuild(t, simulate.Fleet{Running: &spec, Pools: []simulate.Pool{{Name: "web", Nodes: 1}}})
	pod := snapshot.Pods[0]
	if lifecycle.StateOf(pod) != lifecycle.Normal || pod.Labels["hook"] != "on" || !slices.Equal(pod.Finalizers, []string{"x.io/hook"}) {
		t.Errorf("state %q, labels %v, finalizers %v", lifecycle.StateOf(pod), pod.Labels, pod.Finalizers)
	}
	gates := map[corev1.PodConditionType]bool{}
	for _, gate := range pod.Spec.ReadinessGates {
		gates[gate.ConditionType] = true
	}
	if !maps.Equal(gates, map[corev1.PodConditionType]bool{lifecycle.InPlaceUpdateReady: true, lifecycle.PodReady: true}) {
		t.Errorf("gates %v", gates)
	}
}

// Building a fleet of 100,000 nodes takes about a second, and leaves memory for the run.
func TestBuildIsFrugal(t *testing.T) {
	if testing.Short() {
		t.Skip("builds 20,000 nodes")
	}
	spec := kit.Spec("agent")
	const nodes = 20_000
	fleet := simulate.Fleet{Running: &spec, Pools: []simulate.Pool{{Name: "web", Nodes: nodes, Zones: []string{"a", "b", "c"}, Racks: 20}}}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	snapshot := inputBuild(t, fleet)
	runtime.GC()
	runtime.ReadMemStats(&after)
	perNode := (int64(after.HeapAlloc) - int64(before.HeapAlloc)) / nodes
	runtime.KeepAlive(snapshot)
	if perNode > 6000 {
		t.Errorf("%d bytes a node and its pod, want at most 6000", perNode)
	}
	t.Logf("%d bytes a node and its pod", perNode)
}

func TestBuildErrors(t *testing.T) {
	broken := rollout.Spec{}
	_, err := simulate.Fleet{Pools: []simulate.Pool{{Nodes: -1}}, Running: &broken}.Build()
	var fields []string
	for _, mistake := range rollout.FieldErrors(err) {
		fields = append(fields, mistake.Field)
	}
	for _, want := range []string{"fleet.pools[0].name", "fleet.pools[0].nodes", "fleet.running.name", "fleet.running.selector"} {
		if !slices.Contains(fields, want) {
			t.Errorf("%s is not among %v", want, fields)
		}
	}
}

func BenchmarkBuild(b *testing.B) {
	spec := kit.Spec("agent")
	for _, nodes := range []int{1_000, 100_000} {
		b.Run(fmt.Sprint(nodes), func(b *testing.B) {
			fleet := simulate.Fleet{Running: &spec, Pools: []simulate.Pool{{Name: "web", Nodes: nodes, Zones: []string{"a", "b", "c"}, Racks: 20}}}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := fleet.Build(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(nodes), "ns/node")
		})
	}
}
