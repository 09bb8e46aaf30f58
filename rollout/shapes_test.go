package rollout_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/history"
	"github.com/daemonplan/daemonplan/rollout/verify"
)

// shapeVariable tells a run of the tests which shape to plan, and with how many elements: "crowd 800".
const shapeVariable = "DAEMONPLAN_SHAPE"

// TestShapes plans each shape, has the plan verified, explains every node, and plans once more with half of the pods replaced.
func TestShapes(t *testing.T) {
	wanted, n := "", 60
	if text := os.Getenv(shapeVariable); text != "" {
		if _, err := fmt.Sscan(text, &wanted, &n); err != nil {
			t.Fatal(err)
		}
	}
	for _, shape := range shapes() {
		if wanted != "" && wanted != shape.name {
			continue
		}
		t.Run(shape.name, func(t *testing.T) {
			spec, snapshot := shape.build(t, n)
			planner, err := rollout.New(spec)
			if err != nil {
				t.Fatal(err)
			}
			plan, err := planner.Plan(snapshot)
			if err != nil {
				t.Fatal(err)
			}
			if violations := verify.Plan(spec, snapshot, &plan); violations != nil {
				t.Fatalf("%d violations, the first: %v", len(violations), violations[0])
			}
			for _, node := range snapshot.Nodes {
				if plan.Explain(node.Name) == "" {
					t.Fatalf("nothing is said of node %s", node.Name)
				}
			}
			again := snapshot
			again.Reading = plan.Reading
			again.Pods = slices.Clone(snapshot.Pods)
			for i := range again.Pods[:len(again.Pods)/2] {
				again.Pods[i] = again.Pods[i].DeepCopy()
			}
			slices.Reverse(again.Pods)
			if _, err := planner.Plan(again); err != nil {
				t.Fatalf("with half of the pods replaced: %v", err)
			}
		})
	}
}

// TestShapesStayLinear counts how often each block of the code runs for some elements and for four times as many. A clock would
// tell less, and something else each time; the counts are always the same. What sorts is allowed its logarithm. Loops of the
// standard library are counted where they call back, as slices.ContainsFunc does; slices.Contains is not seen.
func TestShapesStayLinear(t *testing.T) {
	t.Parallel()
	const some, factor, most, few = 300, 4, 8, 3600
	binary := filepath.Join(t.TempDir(), "rollout.test")
	build := exec.Command("go", "test", "-c", "-vet=off", "-o", binary, "-covermode", "count", "-coverpkg",
		".,./internal/fleet,./canary,./domain,./failure,./history,./outage,./stage,./verify,"+ // what plans and verifies
			"../placement,../inplace,../lifecycle,../predownload,../tolerations,../status",
		// TestShapes and what it needs; to build all the tests anew would take many times as long.
		"shapes_test.go", "bench_test.go", "bench_features_test.go", "bench_reading_test.go", "bench_verify_test.go")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v:\n%s", err, out)
	}
	for _, shape := range shapes() {
		small, large := shapeCounts(t, binary, shape.name, some), shapeCounts(t, binary, shape.name, factor*some)
		for block, count := range large {
			if count > few && count > most*small[block] {
				t.Errorf("%s: %d times as many elements run %s %d times instead of %d", shape.name, factor, block, count, small[block])
			}
		}
	}
}

// shapeCounts returns how often each block runs, by its place in the source.
func shapeCounts(t *testing.T, binary, shape string, n int) map[string]int {
	t.Helper()
	profile := filepath.Join(t.TempDir(), "profile")
	run := exec.Command(binary, "-test.run", "^TestShapes$", "-test.coverprofile", profile)
	run.Env = append(os.Environ(), fmt.Sprintf("%s=%s %d", shapeVariable, shape, n))
	if out, err := run.CombinedOutput(); err != nil {
		t.Fatalf("%s of %d: %v:\n%s", shape, n, err, out)
	}
	file, err := os.Open(profile)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	counts := map[string]int{}
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		fields := strings.Fields(lines.Text()) // place, statements, count
		if len(fields) != 3 {
			continue // the mode
		}
		count, err := strconv.Atoi(fields[2])
		if err != nil {
			t.Fatalf("%s: %v", lines.Text(), err)
		}
		counts[fields[0]] += count
	}
	if err := lines.Err(); err != nil || len(counts) == 0 {
		t.Fatalf("%d blocks counted: %v", len(counts), err)
	}
	return counts
}

// shape is an input that no healthy cluster shows, in which something is there many times over. It must cost hardly more per
// element than a small one: a controller meets it on its worst day.
type shape struct {
	name string
	// most is the greatest number of elements that is measured; a half and a quarter of it are measured, too.
	most  int
	build func(tb testing.TB, n int) (rollout.Spec, rollout.Snapshot)
}

func shapes() []shape {
	return []shape{
		{"failing", 50_000, failingNodes},
		{"revisions", 10_000, carriedRevisions},
		{"duplicates", 10_000, duplicateRevisions},
		{"crowd", 10_000, crowdedNode},
		{"requests", 10_000, requestsToOneNode},
		{"strays", 10_000, strayPods},
		{"overrides", 50_000, overriddenNodes},
		{"terms", 50_000, nodesByTerm},
	}
}

// BenchmarkShape is to show about the same time per element at every size.
func BenchmarkShape(b *testing.B) {
	for _, shape := range shapes() {
		for _, n := range []int{shape.most / 4, shape.most / 2, shape.most} {
			b.Run(fmt.Sprintf("%s/n=%d", shape.name, n), func(b *testing.B) {
				spec, snapshot := shape.build(b, n)
				benchPlanAndVerify(b, spec, snapshot, n, "ns/element")
			})
		}
	}
}

// failingNodes have a Failed pod each, half of them of the revision before, and a back-off for every second.
func failingNodes(tb testing.TB, n int) (rollout.Spec, rollout.Snapshot) {
	spec := benchSpec()
	snapshot := benchSnapshot(tb, spec, n)
	snapshot.Memory = rollout.Memory{Version: rollout.MemoryVersion}
	for i, p := range snapshot.Pods {
		p.Status.Phase = corev1.PodFailed
		if i%2 == 0 {
			p.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] = history.HashOf(snapshot.Revisions[0])
		}
		if i%4 < 2 {
			snapshot.Memory.Backoffs = append(snapshot.Memory.Backoffs, rollout.Backoff{
				Node: p.Spec.NodeName, Revision: p.Labels[appsv1.DefaultDaemonSetUniqueLabelKey],
				Since: benchNow.Add(-time.Minute), Delay: time.Duration(1+i%10) * 20 * time.Second,
			})
		}
	}
	return spec, snapshot
}

// carriedRevisions are carried by one pod each, and can all be updated in place.
func carriedRevisions(tb testing.TB, n int) (rollout.Spec, rollout.Snapshot) {
	spec := benchSpec()
	spec.Strategy.Method = inplace.IfPossible
	snapshot := benchSnapshot(tb, spec, n)
	for i, p := range snapshot.Pods {
		old := spec.Template.DeepCopy()
		old.Spec.Containers[0].Image = fmt.Sprintf("registry.example/agent:v0.%d", i)
		revision := benchRevision(tb, spec, old, int64(-i))
		snapshot.Revisions = append(snapshot.Revisions, revision)
		updatableBench(p)
		p.Spec.Containers[0].Image = old.Spec.Containers[0].Image
		p.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] = history.HashOf(revision)
	}
	return spec, snapshot
}

// duplicateRevisions hold the template all of them. Every second is carried by a pod.
func duplicateRevisions(tb testing.TB, n int) (rollout.Spec, rollout.Snapshot) {
	spec := benchSpec()
	snapshot := benchSnapshot(tb, spec, n)
	for i, p := range snapshot.Pods {
		hash := fmt.Sprintf("duplicate%d", i)
		revision := benchRevision(tb, spec, &spec.Template, 1)
		revision.Name, revision.UID = spec.Name+"-"+hash, types.UID("r-"+hash)
		revision.Labels = map[string]string{appsv1.DefaultDaemonSetUniqueLabelKey: hash}
		snapshot.Revisions = append(snapshot.Revisions, revision)
		if i%2 == 0 {
			p.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] = hash
		}
	}
	return spec, snapshot
}

// crowdedNode has all the pods there are: of both revisions, some Failed, some terminating.
func crowdedNode(tb testing.TB, n int) (rollout.Spec, rollout.Snapshot) {
	spec := benchSpec()
	spec.Strategy.Method, spec.Burst = inplace.IfPossible, new(intstr.FromInt(n))
	snapshot := benchSnapshot(tb, spec, n)
	old := history.HashOf(snapshot.Revisions[0])
	for i, p := range snapshot.Pods {
		updatableBench(p)
		p.Spec.NodeName = benchNodeName(0)
		if i%8 != 0 {
			p.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] = old
		}
		switch i % 8 {
		case 0:
			p.Status.Conditions[3].Status = corev1.ConditionFalse
		case 2, 3:
			p.Status.Phase = corev1.PodFailed
		case 4:
			p.DeletionTimestamp = new(metav1.NewTime(benchNow.Add(time.Minute)))
		}
	}
	snapshot.Nodes = []*corev1.Node{benchNode(0)}
	return spec, snapshot
}

// requestsToOneNode are creates in flight, each of another revision, half of which the node has already.
func requestsToOneNode(tb testing.TB, n int) (rollout.Spec, rollout.Snapshot) {
	spec, snapshot := crowdedNode(tb, n)
	for i, p := range snapshot.Pods {
		p.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] = fmt.Sprintf("asked%d", i)
		snapshot.InFlight.Creates = append(snapshot.InFlight.Creates, rollout.InFlightCreate{
			Node: benchNodeName(0), Revision: fmt.Sprintf("asked%d", 2*i),
		})
	}
	return spec, snapshot
}

// strayPods returns those of nodes that are gone, some pinned, some bound, some nobody knows to which.
func strayPods(tb testing.TB, n int) (rollout.Spec, rollout.Snapshot) {
	spec := benchSpec()
	snapshot := benchSnapshot(tb, spec, n)
	snapshot.Nodes = snapshot.Nodes[:1]
	for i, p := range snapshot.Pods {
		switch i % 3 {
		case 0:
			p.Spec.NodeName = ""
		case 1:
			p.Spec.NodeName = "gone"
		}
	}
	return spec, snapshot
}

// overriddenNodes returns a fleet of which every 50th node has an override of its own, by its name or by a label that no other
// has.
func overriddenNodes(tb testing.TB, n int) (rollout.Spec, rollout.Snapshot) {
	spec := benchSpec()
	snapshot := benchSnapshot(tb, spec, n)
	for i, node := range snapshot.Nodes[:n/50] {
		override := placement.Override{
			Name: fmt.Sprintf("override-%d", i), Created: benchNow,
			Containers: map[string]corev1.ResourceRequirements{"agent": {Requests: corev1.ResourceList{
				corev1.ResourceCPU: *resource.NewMilliQuantity(int64(100+i%7), resource.DecimalSI),
			}}},
		}
		switch i % 3 {
		case 0:
			override.NodeSelector.MatchLabels = map[string]string{corev1.LabelHostname: node.Name}
		case 1:
			node.Labels["slot"] = override.Name
			override.NodeSelector.MatchLabels = map[string]string{"slot": override.Name, corev1.LabelOSStable: "linux"}
		default:
			override.NodeSelector.MatchExpressions = []metav1.LabelSelectorRequirement{
				{Key: "gpu", Operator: metav1.LabelSelectorOpDoesNotExist},
				{Key: corev1.LabelHostname, Operator: metav1.LabelSelectorOpIn, Values: []string{node.Name, "another"}},
			}
		}
		spec.Overrides = append(spec.Overrides, override)
	}
	return spec, snapshot
}

// nodesByTerm returns a fleet of which every 50th node runs the pod, for an affinity term of its own says so.
func nodesByTerm(tb testing.TB, n int) (rollout.Spec, rollout.Snapshot) {
	spec := benchSpec()
	snapshot := benchSnapshot(tb, spec, n)
	required := spec.Template.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	required.NodeSelectorTerms = nil
	for i, node := range snapshot.Nodes[:n/50] {
		var term corev1.NodeSelectorTerm
		switch i % 3 {
		case 0:
			term.MatchFields = []corev1.NodeSelectorRequirement{
				{Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpIn, Values: []string{node.Name}},
			}
		case 1:
			term.MatchExpressions = []corev1.NodeSelectorRequirement{
				{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{node.Name}},
			}
		default:
			term.MatchExpressions = []corev1.NodeSelectorRequirement{
				{Key: "gpu", Operator: corev1.NodeSelectorOpDoesNotExist},
				{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{node.Name, "another"}},
			}
		}
		required.NodeSelectorTerms = append(required.NodeSelectorTerms, term)
	}
	snapshot.Revisions = []*appsv1.ControllerRevision{benchRevision(tb, spec, &spec.Template, 2)}
	for _, p := range snapshot.Pods {
		p.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] = history.HashOf(snapshot.Revisions[0])
	}
	return spec, snapshot
}
