package podupdates

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/kubernetes/pkg/api/legacyscheme"

	"github.com/daemonplan/daemonplan/lifecycle"
)

// cluster is an API server that runs. Nobody runs its pods: the test writes their statuses.
type cluster struct {
	context context.Context
	api     kubernetes.Interface
}

// connect returns a cluster that has the nodes of so many cases.
func connect(ctx context.Context, kubeconfig string, cases int) (*cluster, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS, config.WarningHandler = -1, rest.NoWarnings{}
	c := &cluster{context: ctx}
	if c.api, err = kubernetes.NewForConfig(config); err != nil {
		return nil, err
	}
	space := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	if _, err = c.api.CoreV1().Namespaces().Create(ctx, space, metav1.CreateOptions{}); err != nil {
		return nil, err
	}
	made := make(map[string]bool)
	for seed := range cases {
		d := draw(uint64(seed))
		c.adapt(&d)
		if !made[d.node.Name] {
			if err := c.add(d.node); err != nil {
				return nil, err
			}
		}
		made[d.node.Name] = true
	}
	err = c.knowsNodes()
	return c, err
}

// adapt makes a case one for a cluster: its node has a name of its own. What others have made of the pod since is left to the code in
// this process, because it would be a request of its own.
func (c *cluster) adapt(d *drawn) {
	d.later = nil
	name := strings.Join(append([]string{d.node.Status.NodeInfo.KubeletVersion}, d.node.Status.DeclaredFeatures...), ".")
	d.node.Name = strings.ToLower(name)
}

// add makes a node, with room for every pod.
func (c *cluster) add(node *corev1.Node) error {
	made, err := c.api.CoreV1().Nodes().Create(c.context, node, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	made.Status = *node.Status.DeepCopy()
	made.Status.Allocatable = corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("1k"), corev1.ResourceMemory: resource.MustParse("1Ti"), corev1.ResourcePods: resource.MustParse("1k"),
	}
	_, err = c.api.CoreV1().Nodes().UpdateStatus(c.context, made, metav1.UpdateOptions{})
	return err
}

// knowsNodes waits until the API server knows what all nodes declare. It sees them in the order in which they were made, so that the
// last of them tells: a resize of a pod there is refused until then.
func (c *cluster) knowsNodes() error {
	last := draw(0)
	last.node.Name, last.node.Status.DeclaredFeatures = "last", []string{"InPlacePodLevelResourcesVerticalScaling"}
	if err := c.add(last.node); err != nil {
		return err
	}
	cpus := func(count string) *corev1.ResourceRequirements {
		return &corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(count)}}
	}
	pod, err := c.created(&corev1.Pod{Spec: corev1.PodSpec{
		NodeName: "last", Containers: []corev1.Container{{Name: "main", Image: "app:1"}}, Resources: cpus("1"),
	}})
	if err != nil {
		return err
	}
	run(pod, 1)
	if pod, err = c.reported(pod); err != nil {
		return err
	}
	pod.Spec.Resources = cpus("2")
	var refused error
	if err := wait.PollUntilContextTimeout(c.context, 20*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		_, refused = c.updated(nil, pod, "resize", nil)
		return refused == nil, nil
	}); err != nil {
		return fmt.Errorf("%w: %w", err, refused)
	}
	return nil
}

func (c *cluster) created(pod *corev1.Pod, admission ...func(*corev1.Pod)) (*corev1.Pod, error) {
	pod = pod.DeepCopy()
	legacyscheme.Scheme.Default(pod)
	for _, admit := range admission {
		admit(pod)
	}
	pod.Name, pod.GenerateName, pod.UID, pod.ResourceVersion = "", "agent-", "", ""
	return c.api.CoreV1().Pods(namespace).Create(c.context, pod, metav1.CreateOptions{})
}

func (c *cluster) reported(pod *corev1.Pod) (*corev1.Pod, error) {
	return c.api.CoreV1().Pods(namespace).UpdateStatus(c.context, pod, metav1.UpdateOptions{})
}

func (c *cluster) sent(pod *corev1.Pod, patch lifecycle.Patch, _ *corev1.Node) (*corev1.Pod, error) {
	return c.api.CoreV1().Pods(namespace).Patch(c.context, pod.Name, patch.Type, patch.Data, metav1.PatchOptions{}, subresources(patch.Subresource)...)
}

func (c *cluster) updated(_, next *corev1.Pod, subresource string, _ *corev1.Node) (*corev1.Pod, error) {
	pods := c.api.CoreV1().Pods(namespace)
	switch subresource {
	case "":
		return pods.Update(c.context, next, metav1.UpdateOptions{})
	case "resize":
		return pods.UpdateResize(c.context, next.Name, next, metav1.UpdateOptions{})
	}
	return nil, fmt.Errorf("no subresource %q", subresource)
}

func subresources(of string) []string {
	if of == "" {
		return nil
	}
	return []string{of}
}
