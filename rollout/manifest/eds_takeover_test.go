package manifest_test

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/manifest"
)

// TestEDSKeepsCanaryNodes takes over in the middle of a canary: the nodes that EDS chose stay chosen (C1).
func TestEDSKeepsCanaryNodes(t *testing.T) {
	type test struct {
		row
		status string
		want   []string
	}
	each(t, []test{
		{row{"no status", "the first by name is chosen"}, "", []string{"a"}},
		{row{"chosen by EDS", "it stays"}, "canary: {replicaSet: foo-xdj4b, nodes: [b]}", []string{"b"}},
		{row{"chosen by EDS, and gone", "another one is chosen"}, "canary: {replicaSet: foo-xdj4b, nodes: [z]}", []string{"a"}},
	}, func(c test) row { return c.row }, func(t *testing.T, c test) {
		manifestOf := func(image string) manifest.Set {
			text := eds{metadata: "  uid: u-1\n", canary: "replicas: 1", status: c.status}.text()
			set, err := manifest.Decode([]byte(strings.Replace(text, "pause:3.1", image, 1)))
			if err != nil {
				t.Fatal(err)
			}
			return set
		}
		plan := func(set manifest.Set, snapshot rollout.Snapshot) rollout.Plan {
			planner, err := rollout.New(set.Spec)
			if err != nil {
				t.Fatal(err)
			}
			plan, err := planner.Plan(snapshot)
			if err != nil {
				t.Fatal(err)
			}
			return plan
		}
		snapshot := rollout.Snapshot{Now: ready.Add(time.Hour)}
		for _, name := range []string{"a", "b", "c"} {
			snapshot.Nodes = append(snapshot.Nodes, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}})
		}
		before := manifestOf("pause:3.0")
		first := plan(before, snapshot)
		revision := first.Revisions[0].Object
		snapshot.Revisions = []*appsv1.ControllerRevision{revision}
		for _, node := range snapshot.Nodes {
			pod := runningPod(before.Spec, node.Name)
			pod.Labels = map[string]string{"controller-revision-hash": revision.Labels["controller-revision-hash"]}
			maps.Copy(pod.Labels, before.Spec.Template.Labels)
			snapshot.Pods = append(snapshot.Pods, pod)
		}
		set := manifestOf("pause:3.1")
		snapshot.Memory = set.Memory
		second := plan(set, snapshot)
		if diff := cmp.Diff(c.want, second.Canary.Nodes); diff != "" {
			t.Errorf("nodes of the canary: -want +got\n%s", diff)
		}
		if diff := cmp.Diff(c.want, second.Memory.Canary.Nodes); diff != "" {
			t.Errorf("remembered: -want +got\n%s", diff)
		}
	})
}
