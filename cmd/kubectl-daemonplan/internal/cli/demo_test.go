package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/daemonplan/daemonplan/internal/harness"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/manifest"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// demo is the demo in ExtendedDaemonSet's README: three nodes of kind, the set foo, and then its next image. A simulated cluster
// carries out the plans of the real planner, and every plan is verified.
type demo struct {
	*harness.Cluster
	t        *testing.T
	began    time.Time
	manifest map[string]any
}

// These are the instants at which the README shows the set, counted from its creation, and the one at which the next image is
// applied.
const (
	demoInstalled = 44 * time.Second
	demoApplied   = 45 * time.Second
	demoCanary    = 85 * time.Second
	demoDone      = 9*time.Minute + 21*time.Second
)

// newDemo is the demo before its first plan. It begins at a time such that the canary is shown at the time of the other fleets.
func newDemo(t *testing.T) *demo {
	t.Helper()
	d := &demo{t: t, began: fleetTime().Add(-demoCanary)}
	nodes := rollouttest.Nodes("kind-control-plane", "kind-worker", "kind-worker2")
	rollouttest.Taint("node-role.kubernetes.io/control-plane", "", corev1.TaintEffectNoSchedule)(nodes[0])
	cluster, err := harness.NewCluster(d.read("foo-v1.yaml"), rollout.Snapshot{Now: d.began, Nodes: nodes}, harness.Behavior{})
	if err != nil {
		t.Fatal(err)
	}
	d.Cluster = cluster
	return d
}

// read reads a manifest in the form in which the API server stores it.
func (d *demo) read(file string) rollout.Spec {
	d.t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "demo", file))
	if err != nil {
		d.t.Fatal(err)
	}
	d.manifest = make(map[string]any)
	if err := yaml.Unmarshal(text, &d.manifest); err != nil {
		d.t.Fatal(err)
	}
	meta := d.manifest["metadata"].(map[string]any)
	meta["namespace"], meta["uid"], meta["creationTimestamp"] = "default", "3f0e5a52-6d0b-4b53-9d0e-6a2f4d1c7e10", timestamp(d.began)
	return d.spec()
}

// spec is the spec of the present manifest.
func (d *demo) spec() rollout.Spec {
	d.t.Helper()
	set, err := manifest.Decode(d.json())
	if err != nil {
		d.t.Fatal(err)
	}
	return set.Spec
}

func (d *demo) json() []byte {
	text, err := json.Marshal(d.manifest)
	if err != nil {
		d.t.Fatal(err)
	}
	return text
}

// apply applies another manifest.
func (d *demo) apply(file string) {
	d.t.Helper()
	if err := d.SetSpec(d.read(file)); err != nil {
		d.t.Fatal(err)
	}
}

// patch applies the patch in a line that the program printed.
func (d *demo) patch(line string) {
	d.t.Helper()
	_, data, found := strings.Cut(line, " -p '")
	if !found {
		d.t.Fatalf("no patch in %q", line)
	}
	patch := strings.TrimSuffix(data, "'")
	var change struct {
		Metadata struct {
			Annotations map[string]*string `json:"annotations"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal([]byte(patch), &change); err != nil {
		d.t.Fatal(err)
	}
	meta := d.manifest["metadata"].(map[string]any)
	annotations, _ := meta["annotations"].(map[string]any)
	if annotations == nil {
		annotations = make(map[string]any)
	}
	for key, value := range change.Metadata.Annotations {
		delete(annotations, key)
		if value != nil {
			annotations[key] = *value
		}
	}
	meta["annotations"] = annotations
	if err := d.SetSpec(d.spec()); err != nil {
		d.t.Fatal(err)
	}
}

// until lets the controller work up to that instant, counted from the creation of the set.
func (d *demo) until(after time.Duration) {
	d.t.Helper()
	end := d.began.Add(after)
	for steps := 0; ; steps++ {
		snapshot := d.Snapshot()
		plan, err := d.Plan(snapshot)
		if err != nil || steps > 1000 {
			d.t.Fatalf("step %d: %v", steps, err)
		}
		rollouttest.AssertValid(d.t, d.Spec(), snapshot, plan)
		if err := d.Apply(plan); err != nil {
			d.t.Fatal(err)
		}
		next := end
		for _, at := range []time.Time{d.Next(), plan.NextWake} {
			if !at.IsZero() && at.Before(next) {
				next = at
			}
		}
		if !plan.Empty() {
			next = d.Now()
		}
		if !next.Before(end) {
			d.Tick(end.Sub(d.Now()))
			return
		}
		d.Tick(max(0, next.Sub(d.Now())))
	}
}

// dump is what kubectl would print of the cluster now.
func (d *demo) dump() []byte {
	d.t.Helper()
	snapshot := d.Snapshot()
	var nodes []*corev1.Node
	for _, node := range snapshot.Nodes {
		node = node.DeepCopy()
		node.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Node"}
		nodes = append(nodes, node)
	}
	var pods []*corev1.Pod
	for _, pod := range snapshot.Pods {
		pod = pod.DeepCopy()
		pod.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}
		pods = append(pods, pod)
	}
	var revisions []*appsv1.ControllerRevision
	for _, revision := range snapshot.Revisions {
		revision = revision.DeepCopy()
		revision.TypeMeta = metav1.TypeMeta{APIVersion: "apps/v1", Kind: "ControllerRevision"}
		if revision.CreationTimestamp.IsZero() { // an API server would have set it
			revision.CreationTimestamp = metav1.NewTime(d.began.Add(time.Duration(revision.Revision-1) * demoApplied))
		}
		revisions = append(revisions, revision)
	}
	return listYAML(d.t, nodes, pods, revisions, d.manifest)
}

// memory is a file with the memory of the last plan.
func (d *demo) memory() string {
	d.t.Helper()
	text, err := json.Marshal(map[string]any{"memory": d.Snapshot().Memory})
	if err != nil {
		d.t.Fatal(err)
	}
	file := filepath.Join(d.t.TempDir(), "plan.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		d.t.Fatal(err)
	}
	return file
}

// show runs the program on the cluster as it is now.
func (d *demo) show(args ...string) string {
	d.t.Helper()
	if d.Snapshot().Memory.Version != 0 {
		args = append(args, "--memory", d.memory())
	}
	return plans(d.t, string(d.dump()), append(args, "-f", "-", "--now", timestamp(d.Now()))...)
}

// console prints a command as in the README, and the output of the program.
func (d *demo) console(out *strings.Builder, comment string, words ...string) {
	d.t.Helper()
	if comment != "" {
		out.WriteString("# " + comment + "\n")
	}
	out.WriteString(strings.TrimSpace("$ kubectl daemonplan "+strings.Join(words, " ")) + "\n" + d.show(words...) + "\n")
}

// TestDemo runs the demo. Its tables are those of the README, except for the hashes.
func TestDemo(t *testing.T) {
	d := newDemo(t)
	var out strings.Builder
	d.until(demoInstalled)
	d.console(&out, "foo is created, and rolled out for the first time.", "get")
	d.console(&out, "", "revisions")
	d.until(demoApplied)
	d.apply("foo-v2.yaml")
	d.until(demoCanary)
	d.console(&out, "The next image is applied, and tried on one node.", "get")
	d.console(&out, "", "revisions")
	d.console(&out, "", "canary", "pods")
	d.console(&out, "", "diff")
	d.until(demoDone)
	d.console(&out, "After five minutes it is promoted, and rolled out.", "get")
	d.console(&out, "", "revisions")
	golden(t, "demo.txt", out.String())
}

// TestDemoTables has the README's tables in its code, so that -update cannot change them.
func TestDemoTables(t *testing.T) {
	d := newDemo(t)
	d.until(demoInstalled)
	old := "foo-" + rollouttest.Hash(d.Spec())
	row := func(want ...string) {
		t.Helper()
		lines := strings.Split(strings.TrimSpace(d.show("get")), "\n")
		const header = "NAME DESIRED CURRENT READY UP-TO-DATE AVAILABLE STATUS ACTIVE CANARY AGE"
		if len(lines) != 2 || strings.Join(strings.Fields(lines[0]), " ") != header ||
			strings.Join(strings.Fields(lines[1]), " ") != strings.Join(want, " ") {
			t.Errorf("got\n%s\nwant %s", strings.Join(lines, "\n"), want)
		}
	}
	row("foo", "3", "3", "3", "3", "3", "Running", old, "44s")
	d.until(demoApplied)
	d.apply("foo-v2.yaml")
	update := "foo-" + rollouttest.Hash(d.Spec())
	d.until(demoCanary)
	row("foo", "3", "3", "3", "3", "3", "Canary", old, update, "85s")
	d.until(demoDone)
	row("foo", "3", "3", "3", "3", "3", "Running", update, "9m21s")
	for _, pod := range d.Snapshot().Pods {
		if image := pod.Spec.Containers[0].Image; image != "k8s.gcr.io/pause:3.1" {
			t.Errorf("pod %s runs %s", pod.Name, image)
		}
	}
}

// TestEDSFile compares the embedded file with the demo while its canary runs. With -update it writes the file.
func TestEDSFile(t *testing.T) {
	d := newDemo(t)
	d.until(demoApplied)
	d.apply("foo-v2.yaml")
	d.until(demoCanary)
	want := d.dump()
	if *update {
		if err := os.WriteFile(edsName, want, 0o644); err != nil {
			t.Fatal(err)
		}
		edsFile = want // so that the golden files, which are written next, are made from it
		return
	}
	if !bytes.Equal(edsFile, want) {
		t.Errorf("%s is not what the test writes; run the test with -update and read the diff", edsName)
	}
}
