package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/daemonplan/daemonplan/examples/controller/controller"
	"github.com/daemonplan/daemonplan/test/integration/auditor"
	"github.com/daemonplan/daemonplan/test/integration/controlplane"
)

const (
	namespace = "fleet"
	weakLabel = "weak"
)

// fleet is a cluster with the DaemonSet of a case on all nodes.
type fleet struct {
	*scenario
	cluster *controlplane.Cluster
	api     client.Client
	pods    *auditor.Auditor
	stages  string // file
	// weak is the kubelet of the nodes that are to die, if that is one of its own.
	weak *controlplane.Process
}

// install brings up nodes, kubelets, controllers and the DaemonSet, and waits until it serves on all nodes that it can reach.
func install(cluster *controlplane.Cluster, c *scenario, p programs) (*fleet, error) {
	f := &fleet{scenario: c, cluster: cluster, stages: filepath.Join(cluster.Folder, "stages.yaml")}
	ctx := cluster.Context()
	var err error
	if f.api, err = client.New(cluster.Config, client.Options{}); err != nil {
		return nil, err
	}
	if err := f.api.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}); err != nil {
		return nil, err
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default", Namespace: namespace}}
	if err := f.api.Create(ctx, account); err != nil {
		return nil, err
	}
	if err := cluster.AddNodes(ctx, c.nodes, c.labels); err != nil {
		return nil, err
	}
	if err := f.kubelets(); err != nil {
		return nil, err
	}
	if _, err := cluster.Scheduler("kube-scheduler"); err != nil {
		return nil, err
	}
	if _, err := cluster.DaemonSetController("daemonset-controller"); err != nil {
		return nil, err
	}
	if c.strategy != "" {
		kubeconfig, err := cluster.User("daemonplan-controller")
		if err != nil {
			return nil, err
		}
		if _, err := cluster.Run("controller", p.example, "-kubeconfig="+kubeconfig, "-leader-elect=false",
			"-metrics-bind-address=0", "-health-probe-bind-address=0"); err != nil {
			return nil, err
		}
	}
	if f.pods, err = auditor.Watch(ctx, cluster.Config, namespace); err != nil {
		return nil, err
	}
	if err := f.api.Create(ctx, c.daemonSet()); err != nil {
		return nil, err
	}
	_, err = f.pods.Await(ctx, image(1), f.serving())
	return f, err
}

// labels of the node with that number: which ring it is in, and whether it is weak.
func (c *scenario) labels(i int) map[string]string {
	labels := map[string]string{"ring": "2", weakLabel: "no"}
	switch {
	case i < c.nodes/30:
		labels["ring"] = "0"
	case i < c.nodes/6:
		labels["ring"] = "1"
	}
	if c.weak(i) {
		labels[weakLabel] = "yes"
	}
	return labels
}

// serving is how many nodes serve before the rollout.
func (c *scenario) serving() int {
	if c.neverReady {
		return c.reachable()
	}
	return c.nodes
}

// daemonSet is the one of the case, at the first version.
func (c *scenario) daemonSet() *appsv1.DaemonSet {
	ds := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Name: "agent", Namespace: namespace}}
	ds.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "agent"}}
	ds.Spec.Template.Labels = map[string]string{"app": "agent"}
	ds.Spec.Template.Spec.Containers = []corev1.Container{{Name: "main", Image: image(1)}}
	c.change(ds)
	if c.strategy != "" {
		ds.Annotations = map[string]string{controller.StrategyAnnotation: c.strategy}
	}
	return ds
}

// kubelets runs KWOK for all nodes; nodes that are to die have one of their own.
func (f *fleet) kubelets() error {
	if err := os.WriteFile(f.stages, []byte(f.kwokStages()), 0o600); err != nil {
		return err
	}
	if f.die == 0 {
		_, err := f.kwok("kwok", "--manage-all-nodes")
		return err
	}
	if _, err := f.kwok("kwok", "--manage-nodes-with-label-selector="+weakLabel+"=no"); err != nil {
		return err
	}
	return f.revive()
}

// revive starts the kubelet of weak nodes.
func (f *fleet) revive() (err error) {
	f.weak, err = f.kwok("kwok-weak", "--manage-nodes-with-label-selector="+weakLabel+"=yes")
	return err
}

func (f *fleet) kwok(name string, which string) (*controlplane.Process, error) {
	binary, err := controlplane.Binary("kwok")
	if err != nil {
		return nil, err
	}
	return f.cluster.Run(name, binary, "--kubeconfig="+f.cluster.Kubeconfig, "--config="+f.stages, which,
		"--node-lease-duration-seconds=0")
}

// kill ends the kubelet of weak nodes, and does what the node lifecycle controller does when it does not hear of nodes any more.
func (f *fleet) kill(ctx context.Context) error {
	f.weak.Stop()
	var nodes corev1.NodeList
	if err := f.api.List(ctx, &nodes, client.MatchingLabels{weakLabel: "yes"}); err != nil {
		return err
	}
	dead := map[string]bool{}
	for i := range nodes.Items {
		node := &nodes.Items[i]
		dead[node.Name] = true
		if err := f.setReady(ctx, node, corev1.ConditionUnknown); err != nil {
			return err
		}
	}
	var pods corev1.PodList
	if err := f.api.List(ctx, &pods, client.InNamespace(namespace)); err != nil {
		return err
	}
	for i := range pods.Items {
		pod := &pods.Items[i]
		if !dead[pod.Spec.NodeName] {
			continue
		}
		for j := range pod.Status.Conditions {
			if c := &pod.Status.Conditions[j]; c.Type == corev1.PodReady {
				c.Status, c.LastTransitionTime = corev1.ConditionFalse, metav1.Now()
			}
		}
		if err := client.IgnoreNotFound(f.api.Status().Update(ctx, pod)); err != nil {
			return err
		}
	}
	return nil
}

// setReady writes the condition Ready of a node.
func (f *fleet) setReady(ctx context.Context, node *corev1.Node, is corev1.ConditionStatus) error {
	for i := range node.Status.Conditions {
		if c := &node.Status.Conditions[i]; c.Type == corev1.NodeReady {
			c.Status, c.LastTransitionTime = is, metav1.Now()
		}
	}
	return f.api.Status().Update(ctx, node)
}

// current is the DaemonSet that is stored.
func (f *fleet) current(ctx context.Context) (*appsv1.DaemonSet, error) {
	var ds appsv1.DaemonSet
	err := f.api.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "agent"}, &ds)
	return &ds, err
}

//go:embed stages.yaml
var stagesText string

// kwokStages are how KWOK's pods come up and go, as the world of the case says it.
func (f *fleet) kwokStages() string {
	var healthy string
	if f.neverReady {
		var weak []string
		for i := range f.nodes {
			if f.scenario.weak(i) {
				weak = append(weak, fmt.Sprintf("node-%04d", i))
			}
		}
		healthy = fmt.Sprintf("- {key: .spec.nodeName, operator: NotIn, values: ['%s']}", strings.Join(weak, "', '"))
	}
	delay := func(s span) string {
		return fmt.Sprintf("{durationMilliseconds: %d, jitterDurationMilliseconds: %d}", s.from.Milliseconds(),
			max(s.to, time.Millisecond).Milliseconds())
	}
	return strings.NewReplacer("START", delay(f.create), "READY", delay(f.ready), "STOP", delay(f.stop), "HEALTHY", healthy).
		Replace(stagesText)
}

// manifest is the DaemonSet with another version, as a user would apply it.
func manifest(ds *appsv1.DaemonSet, version int, strategy string) ([]byte, error) {
	next := ds.DeepCopy()
	next.TypeMeta = metav1.TypeMeta{APIVersion: "apps/v1", Kind: "DaemonSet"}
	next.ManagedFields = nil
	next.Spec.Template.Spec.Containers[0].Image = image(version)
	if strategy != "" {
		// The strategy of the example controller, as the command reads it.
		var options struct {
			Policy json.RawMessage `json:"policy"`
		}
		if err := json.Unmarshal([]byte(strategy), &options); err != nil {
			return nil, err
		}
		rolling("10%", "0")(next)
		next.Annotations = map[string]string{"daemonplan.io/policy": string(options.Policy)}
	}
	return json.Marshal(next)
}
