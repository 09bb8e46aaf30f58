package controlplane_test

import (
	"context"
	"errors"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/daemonplan/daemonplan/test/integration/controlplane"
	"github.com/daemonplan/daemonplan/test/integration/kubelet"
)

func TestCannotStart(t *testing.T) {
	t.Setenv("KUBEBUILDER_ASSETS", "")
	if _, err := controlplane.Start(t.Context(), controlplane.Options{}); !errors.Is(err, controlplane.ErrNoBinaries) {
		t.Errorf("%v, want that there are no binaries", err)
	}
	folder := t.TempDir()
	t.Setenv("KUBEBUILDER_ASSETS", folder)
	_, err := controlplane.Start(t.Context(), controlplane.Options{CRDs: []string{filepath.Join(folder, "crds")}})
	if !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), filepath.Join(folder, "crds")) {
		t.Errorf("%v, want that there is no such folder", err)
	}
	if _, err := controlplane.Binary("kubectl"); err == nil || !strings.Contains(err.Error(), "make cluster COMPONENTS=kubectl") {
		t.Errorf("%v, want what to do about it", err)
	}
	if err := os.WriteFile(filepath.Join(folder, "kubectl"), nil, 0o700); err != nil {
		t.Fatal(err)
	}
	if path, err := controlplane.Binary("kubectl"); err != nil || path != filepath.Join(folder, "kubectl") {
		t.Errorf("%s, %v", path, err)
	}
}

// start runs a cluster for a test, or skips it.
func start(ctx context.Context, t *testing.T, options controlplane.Options) *controlplane.Cluster {
	t.Helper()
	c, err := controlplane.Start(ctx, options)
	if errors.Is(err, controlplane.ErrNoBinaries) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// A pod that is pinned to one of the nodes runs there; what an audited user does is logged, and what others do is not; in the end
// nothing is left.
func TestCluster(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c := start(ctx, t, controlplane.Options{Audit: []string{"somebody"}})
	if err := c.AddNodes(ctx, 3, func(int) map[string]string { return map[string]string{"fleet": "yes"} }); err != nil {
		t.Fatal(err)
	}
	if err := c.RunKubelet(&kubelet.Agent{}); err != nil {
		t.Fatal(err)
	}
	kubeconfig, err := c.User("somebody")
	if err != nil {
		t.Fatal(err)
	}
	pod := pinned("node-0001")
	create(t, kubeconfig, pod)
	create(t, c.Kubeconfig, pinned("node-0002"))
	running(t, c.Config, pod)

	log, err := os.ReadFile(c.AuditLog)
	if err != nil {
		t.Fatal(err)
	}
	if text := string(log); strings.Count(text, `"verb":"create"`) != 1 || !strings.Contains(text, "node-0001") ||
		strings.Contains(text, `"username":"admin"`) {
		t.Errorf("the audit log is\n%s\nwant the one request of somebody, with its body", text)
	}

	p, err := c.Run("sleep", "/bin/sleep", "1000")
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := c.Stop(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(c.Folder); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder %s is still there: %v", c.Folder, err)
	}
	if process, err := os.FindProcess(p.PID); err == nil && process.Signal(os.Interrupt) == nil {
		t.Errorf("process %d still runs", p.PID)
	}
	host, err := url.Parse(c.Config.Host)
	if err != nil {
		t.Fatal(err)
	}
	if connection, err := net.Dial("tcp", host.Host); err == nil {
		t.Error("the API server still listens", connection.Close())
	}
}

// What ends by itself ends the cluster, and says what it wrote.
func TestProcessEnds(t *testing.T) {
	c := start(t.Context(), t, controlplane.Options{})
	if p, err := c.Run("stopped", "/bin/sleep", "1000"); err != nil {
		t.Fatal(err)
	} else if p.Stop(); c.Context().Err() != nil {
		t.Fatalf("a process that was stopped ended the cluster: %v", context.Cause(c.Context()))
	}
	if _, err := c.Run("false", "/bin/sh", "-c", "echo it broke; exit 3"); err != nil {
		t.Fatal(err)
	}
	select {
	case <-c.Context().Done():
	case <-time.After(time.Minute):
	}
	if cause := context.Cause(c.Context()); cause == nil || !strings.Contains(cause.Error(), "false ended: exit status 3\nit broke") {
		t.Errorf("the cluster ended with %v", cause)
	}
}

func pinned(node string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", GenerateName: "pod-"},
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: "main", Image: "registry.example/agent:v1"}},
			Affinity: &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
				NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchFields: []corev1.NodeSelectorRequirement{{
					Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{node},
				}}}},
			}}},
		},
	}
}

func create(t *testing.T, kubeconfig string, pod *corev1.Pod) {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	api, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := api.Create(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
}

func running(t *testing.T, config *rest.Config, pod *corev1.Pod) {
	t.Helper()
	api, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); pod.Status.Phase != corev1.PodRunning; time.Sleep(50 * time.Millisecond) {
		if err := api.Get(t.Context(), client.ObjectKeyFromObject(pod), pod); err != nil {
			t.Fatal(err)
		}
		if time.Now().After(end) {
			t.Fatalf("pod %s does not run: %v", pod.Name, pod.Status)
		}
	}
}
