package integration_test

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/daemonplan/daemonplan/test/integration/auditor"
	"github.com/daemonplan/daemonplan/test/integration/controlplane"
	"github.com/daemonplan/daemonplan/test/integration/kubelet"
)

// startReal runs a cluster of the test's own, for components of Kubernetes that the shared one lacks, and skips the test if they
// are not there. It has the definitions of the example controller, and those of these folders.
func startReal(t *testing.T, component string, agent *kubelet.Agent, crds ...string) *controlplane.Cluster {
	t.Helper()
	if config == nil {
		t.Skip(controlplane.ErrNoBinaries)
	}
	if _, err := controlplane.Binary(component); err != nil {
		t.Skip(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	c, err := controlplane.Start(ctx, controlplane.Options{
		CRDs: append(crds, filepath.Join("..", "..", "examples", "controller", "config", "crd")),
	})
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if cause := context.Cause(c.Context()); cause != nil {
			t.Errorf("the cluster ended before the test: %v", cause)
		}
		cancel()
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	agent.Start, agent.Stop, agent.Behaves = 100*time.Millisecond, 50*time.Millisecond, behaves
	if err := c.RunKubelet(agent); err != nil {
		t.Fatal(err)
	}
	return c
}

// worldOn is newWorld on another cluster than the shared one.
func worldOn(t *testing.T, c *controlplane.Cluster, nodes int) *world {
	t.Helper()
	api, err := client.New(c.Config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{T: t, Client: api, namespace: strings.ToLower(strings.ReplaceAll(t.Name(), "/", "-"))}
	w.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}})
	w.create(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default", Namespace: w.namespace}})
	for i := range nodes {
		w.addNode(w.node(i))
	}
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	if w.audit, err = auditor.Watch(ctx, c.Config, w.namespace); err != nil {
		t.Fatal(err)
	}
	return w
}

// node is the name of one of the nodes that a world begins with.
func (w *world) node(i int) string { return fmt.Sprintf("%s-%04d", w.namespace, i) }

// editNode changes a node, and its status.
func (w *world) editNode(name string, edit func(*corev1.Node)) {
	w.Helper()
	var before corev1.Node
	if err := w.Get(w.Context(), client.ObjectKey{Name: name}, &before); err != nil {
		w.Fatal(err)
	}
	after := before.DeepCopy()
	edit(after)
	if err := w.Patch(w.Context(), after.DeepCopy(), client.MergeFrom(&before)); err != nil {
		w.Fatal(err)
	}
	if err := w.Status().Patch(w.Context(), after, client.MergeFrom(&before)); err != nil {
		w.Fatal(err)
	}
}

// on has a controller talk to another cluster than the shared one.
func on(c *controlplane.Cluster) func(*rest.Config) {
	return func(access *rest.Config) { *access = *rest.CopyConfig(c.Config) }
}

// tags are the image tags that pods run, by node, without those of pods that are on their way out.
func (w *world) tags() map[string]string {
	w.Helper()
	tags := map[string]string{}
	for node, pod := range w.pods() {
		_, tag, _ := strings.Cut(pod.Spec.Containers[0].Image, ":")
		tags[node] = tag
	}
	return tags
}

// stays fails the test if a problem comes up within the time.
func (w *world) stays(what string, during time.Duration, problem func() error) {
	w.Helper()
	for end := time.Now().Add(during); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if err := problem(); err != nil {
			w.Fatalf("%s: %v\n%s", what, err, w.podsText())
		}
	}
}

// podsText shows the pods of a world.
func (w *world) podsText() string {
	var b strings.Builder
	pods := w.pods()
	for _, node := range slices.Sorted(maps.Keys(pods)) {
		pod := pods[node]
		fmt.Fprintf(&b, "%s: %s %s %s %v deleted %v\n", node, pod.Name, pod.Spec.Containers[0].Image, pod.Status.Phase, pod.Labels,
			pod.DeletionTimestamp)
		for _, c := range pod.Status.Conditions {
			fmt.Fprintf(&b, "    %s=%s %s %s\n", c.Type, c.Status, c.Reason, c.Message)
		}
	}
	return b.String()
}

// warnings are the events of a namespace that a set got and that are warnings.
func (w *world) warnings() []string {
	w.Helper()
	var list corev1.EventList
	if err := w.List(w.Context(), &list, client.InNamespace(w.namespace)); err != nil {
		w.Fatal(err)
	}
	var notes []string
	for i := range list.Items {
		if e := &list.Items[i]; e.Type == corev1.EventTypeWarning && e.Source.Component != "default-scheduler" {
			notes = append(notes, e.Reason+": "+e.Message)
		}
	}
	return notes
}

// waitFor waits until there is no problem; describe shows what a failed test wants to know.
func (w *world) waitFor(what string, describe func() string, problem func() error) {
	w.Helper()
	end := time.Now().Add(*patience)
	for {
		err := problem()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			w.Fatalf("%s: %v after %v\n%s", what, err, *patience, describe())
		}
		time.Sleep(50 * time.Millisecond)
	}
}
