package command

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/daemonplan/daemonplan/test/integration/kubelet"
)

// A fleet that takes several pages of nodes and of pods. Nodes are about as large as real ones: each reports fifty images. How
// long each command takes is logged, and judged by nobody.
func TestThousandNodes(t *testing.T) {
	w := newWorld(t)
	t.Parallel()
	w.addFleet(1000)
	w.apply(set("v1", "large"))
	w.installed(1000)
	change := w.file("v2.yaml", strings.Replace(set("v2", "large"), "maxUnavailable: 2", "maxUnavailable: 10%", 1))
	for _, c := range []struct{ args, want string }{
		{"plan", "1000 of 1000 nodes updated and available"},
		{"get", "agent   1000      1000      1000    1000         1000"},
		{"pods", "0 pods are not ready."},
		{"revisions", "active   1000      1000      1000    1000"},
		{"explain large-0999", "large-0999.eu.example: updated; nothing to do"},
		{"diff", "the update restarts nothing"},
		{"rollout status", "1000 of 1000 nodes updated and available"},
		{"plan -o json", `"node": "large-0999.eu.example"`},
		{"plan --change " + change, "Delete 100 pods:"},
		{"diff --change " + change, "1,000 pods are at revision 1"},
		{"plan --forecast --change " + change, "peak unavailable nodes"},
	} {
		a, code := w.daemonplan(c.args), 0
		if strings.HasPrefix(c.args, "diff --change") { // there is a difference
			code = 1
		}
		w.says(a, code, c.want)
		t.Logf("%-17s %4d ms, CPU %4d ms", strings.ReplaceAll(c.args, change, "FILE"), a.took.Milliseconds(), a.cpu.Milliseconds())
	}
}

// addFleet makes so many ready nodes.
func (w *world) addFleet(count int) {
	w.Helper()
	var all errgroup.Group
	all.SetLimit(16)
	for i := range count {
		all.Go(func() error {
			node := kubelet.Node(fmt.Sprintf("large-%04d.eu.example", i), map[string]string{
				"fleet": "large", "topology.kubernetes.io/region": "eu", "topology.kubernetes.io/zone": fmt.Sprint("eu-", i%3),
				"node.kubernetes.io/instance-type": "m5.2xlarge", "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64",
			})
			if err := w.Create(w.Context(), node); err != nil {
				return err
			}
			if err := kubelet.MakeReady(w.Context(), w, node); err != nil {
				return err
			}
			for j := range 50 {
				repository := fmt.Sprintf("registry.example/team-%d/service-%d", j%7, j)
				node.Status.Images = append(node.Status.Images, corev1.ContainerImage{
					Names:     []string{fmt.Sprintf("%s@sha256:%064x", repository, j), repository + ":v1.2.3"},
					SizeBytes: int64(j) << 20,
				})
			}
			return w.Status().Update(w.Context(), node)
		})
	}
	if err := all.Wait(); err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { // other tests do without
		_ = w.DeleteAllOf(context.Background(), &corev1.Node{}, client.MatchingLabels{"fleet": "large"})
	})
}
