// Package cluster reads from an API server what a plan is made of. It reads the namespace of the set only, and the nodes, in
// pages. It writes nothing but the patches that it is asked to send.
package cluster

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	appsclient "k8s.io/client-go/kubernetes/typed/apps/v1"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/pager"
	"k8s.io/client-go/util/retry"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/rollout/manifest"
)

// Origin is where objects of a live cluster come from, in messages.
const Origin = "the cluster"

// fieldManager is the name under which patches are sent.
const fieldManager = "kubectl-daemonplan"

// Cluster is a connection to an API server.
type Cluster struct {
	core      coreclient.CoreV1Interface
	apps      appsclient.AppsV1Interface
	dynamic   dynamic.Interface
	discovery discovery.ServerGroupsInterfaceWithContext
	waits     *waits
	host      string
	hint      string // what may be wrong if the host cannot be read
}

// New connects to the cluster that the kubeconfig and the flags name. Nothing is sent yet.
func New(getter genericclioptions.RESTClientGetter) (*Cluster, error) {
	config, err := getter.ToRESTConfig()
	if err != nil {
		return nil, fmt.Errorf("there is no cluster to read: %w; give a kubeconfig with --kubeconfig, or a dump with -f", err)
	}
	c, err := ForConfig(config)
	if err != nil {
		return nil, err
	}
	// Without a kubeconfig the client takes an address on this machine, where a proxy may listen. Nobody has chosen it.
	loader := getter.ToRawKubeConfigLoader()
	if raw, err := loader.RawConfig(); err == nil && len(raw.Clusters) == 0 {
		c.hint = fmt.Sprintf("; there is no kubeconfig with a cluster in it (%s): give one with --kubeconfig, or a dump with -f",
			strings.Join(loader.ConfigAccess().GetLoadingPrecedence(), ", "))
	}
	return c, nil
}

// These are limits for a server that does not answer. Discovery comes first, and its limit is kubectl's: a plugin that lets
// the user log in needs time. A network that drops what is sent is noticed sooner.
const (
	dialTime      = 5 * time.Second
	discoveryTime = 32 * time.Second
)

// ForConfig connects to the cluster of a client's configuration.
func ForConfig(config *rest.Config) (*Cluster, error) {
	config = rest.CopyConfig(config)
	// These are kubectl's limits. The defaults of the client would make a large cluster wait after ten pages.
	config.QPS, config.Burst = 50, 300
	config.WarningHandler = rest.NoWarnings{}
	config.Dial = (&net.Dialer{Timeout: dialTime}).DialContext
	silence := &waits{
		base: basePath(config.Host), after: LongestSilence, tell: func([]Unanswered) {}, open: make(map[*http.Request]*waiting),
	}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return watchful{silence, next} })
	// All clients share one, and so its connection.
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", config.Host, err)
	}
	first := *client
	first.Timeout = cmp.Or(config.Timeout, discoveryTime)
	objectsConfig := rest.CopyConfig(config)
	// Nodes and pods are most of what is read. Protobuf takes a third of the time of JSON.
	objectsConfig.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	c := &Cluster{host: config.Host, waits: silence}
	if c.core, err = coreclient.NewForConfigAndClient(objectsConfig, client); err != nil {
		return nil, fmt.Errorf("%s: %w", config.Host, err)
	}
	if c.apps, err = appsclient.NewForConfigAndClient(objectsConfig, client); err != nil {
		return nil, fmt.Errorf("%s: %w", config.Host, err)
	}
	if c.dynamic, err = dynamic.NewForConfigAndClient(config, client); err != nil {
		return nil, fmt.Errorf("%s: %w", config.Host, err)
	}
	if c.discovery, err = discovery.NewDiscoveryClientForConfigAndClient(config, &first); err != nil {
		return nil, fmt.Errorf("%s: %w", config.Host, err)
	}
	return c, nil
}

const extendedDaemonSets = "extendeddaemonsets"

// kinds are the sets that are read, with the replica sets and settings of ExtendedDaemonSets, where the API has their group. The
// first version of a group that is served counts.
var kinds = []schema.GroupVersionResource{
	{Group: objects.GroupApps, Version: "v1", Resource: "daemonsets"},
	{Group: objects.GroupKruise, Version: "v1beta1", Resource: "daemonsets"},
	{Group: objects.GroupKruise, Version: "v1alpha1", Resource: "daemonsets"},
	{Group: objects.GroupEDS, Version: "v1alpha1", Resource: extendedDaemonSets},
	{Group: objects.GroupEDS, Version: "v1alpha1", Resource: "extendeddaemonsetreplicasets"},
	{Group: objects.GroupEDS, Version: "v1alpha1", Resource: "extendeddaemonsetsettings"},
}

// Sets reads the sets of a namespace, or of all namespaces if it is empty, and the settings. Those that cannot be understood are
// left out, with warnings.
func (c *Cluster) Sets(ctx context.Context, namespace string) (*objects.Input, error) {
	input, _, err := c.sets(ctx, namespace)
	return input, err
}

// broken is a set that cannot be understood, and why.
type broken struct {
	ref objects.Ref
	err error
}

func (c *Cluster) sets(ctx context.Context, namespace string) (*objects.Input, []broken, error) {
	groups, err := c.discovery.ServerGroupsWithContext(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("%s at %s cannot be read: %w%s", Origin, c.host, err, c.hint)
	}
	served := make(map[string]bool)
	for _, group := range groups.Groups {
		served[group.Name] = true
	}
	lists := make([][]unstructured.Unstructured, len(kinds))
	missing := make([]bool, len(kinds))
	refused := make([]error, len(kinds))
	var all errgroup.Group
	for i, kind := range kinds {
		if !served[kind.Group] {
			continue
		}
		all.Go(func() error {
			list, err := c.list(ctx, kind, namespace)
			switch {
			case apierrors.IsNotFound(err): // the group has no such version, or no such kind
				missing[i] = true
				return nil
			case apierrors.IsForbidden(err) && kind.Group != objects.GroupApps:
				refused[i] = err
				return nil
			case err != nil:
				return fmt.Errorf("%s: %s%s cannot be read: %w", Origin, resourceName(kind), in(namespace), err)
			}
			lists[i] = list
			return nil
		})
	}
	if err := all.Wait(); err != nil {
		return nil, nil, err
	}
	var unclear []broken
	input := objects.New()
	read := make(map[schema.GroupResource]bool)
	for i, kind := range kinds {
		if refused[i] != nil {
			input.Warnings = append(input.Warnings,
				fmt.Sprintf("%s cannot be read, and are left out: %v", resourceName(kind), refused[i]))
		}
		if missing[i] || !served[kind.Group] || read[kind.GroupResource()] {
			continue
		}
		read[kind.GroupResource()] = true
		for j := range lists[i] {
			object := &lists[i][j]
			err := add(input, object)
			if err == nil {
				continue
			}
			// It is nothing to those who ask for another set, of another team perhaps.
			ref := objects.Ref{Group: kind.Group, Namespace: object.GetNamespace(), Name: object.GetName()}
			unclear = append(unclear, broken{ref, err})
			for line := range strings.Lines(err.Error()) {
				input.Warnings = append(input.Warnings, "ignored set: "+strings.TrimSuffix(line, "\n"))
			}
		}
	}
	return input, unclear, nil
}

func resourceName(kind schema.GroupVersionResource) string { return kind.GroupResource().String() }

// in is the namespace as a part of a sentence.
func in(namespace string) string {
	if namespace == "" {
		return ""
	}
	return " in namespace " + namespace
}

func add(input *objects.Input, object *unstructured.Unstructured) error {
	data, err := object.MarshalJSON()
	if err != nil {
		return err
	}
	return input.AddObject(manifest.Object{APIVersion: object.GetAPIVersion(), Kind: object.GetKind(), JSON: data}, Origin)
}

// Read reads the set that is meant, and what a plan for it is made from.
func (c *Cluster) Read(ctx context.Context, ref objects.Ref) (*objects.Input, *objects.Set, error) {
	input, unclear, err := c.sets(ctx, ref.Namespace)
	if err != nil {
		return nil, nil, err
	}
	set, err := input.Choose(ref)
	if err != nil {
		if why := meant(ref, unclear); why != nil {
			return nil, nil, why
		}
		return nil, nil, fmt.Errorf("%w%s", err, c.where(ref, input))
	}
	if err := c.around(ctx, input, set.Spec.Namespace); err != nil {
		return input, set, err
	}
	return input, set, c.claims(ctx, input, set)
}

// claims reads the claims of the namespace if the pods of the set use some: one that only one pod may use keeps a second pod off
// a node. Who may not read them is told so.
func (c *Cluster) claims(ctx context.Context, input *objects.Input, set *objects.Set) error {
	volumes := set.Spec.Template.Spec.Volumes
	if !slices.ContainsFunc(volumes, func(v corev1.Volume) bool { return v.PersistentVolumeClaim != nil }) {
		return nil
	}
	namespace := set.Spec.Namespace
	page := func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		return c.core.PersistentVolumeClaims(namespace).List(ctx, o)
	}
	claims, err := listAll[*corev1.PersistentVolumeClaim](ctx, "persistentvolumeclaims"+in(namespace), page)
	if apierrors.IsForbidden(err) {
		input.Warnings = append(input.Warnings,
			"It is not known whether a claim keeps a second pod of the set off a node: you may not read persistentvolumeclaims.")
		return nil
	}
	input.Claims = claims
	return err
}

// meant is why the set that is meant cannot be understood; nil if it is none of these.
func meant(ref objects.Ref, unclear []broken) error {
	var why []error
	for _, set := range unclear {
		if (ref.Group == "" || ref.Group == set.ref.Group) && (ref.Name == "" || ref.Name == set.ref.Name) {
			why = append(why, set.err)
		}
	}
	return errors.Join(why...)
}

// where adds to the message that there is no set where it was looked for.
func (c *Cluster) where(ref objects.Ref, input *objects.Input) string {
	if ref.Namespace == "" || len(input.Sets) > 0 {
		return ""
	}
	return fmt.Sprintf(" (%s at %s, namespace %s; choose another one with -n, or look at all with -A)",
		Origin, c.host, ref.Namespace)
}

// around reads the nodes, and the pods and revisions of the namespace.
func (c *Cluster) around(ctx context.Context, input *objects.Input, namespace string) error {
	var nodes []*corev1.Node
	var pods []*corev1.Pod
	var revisions []*appsv1.ControllerRevision
	var all errgroup.Group
	all.Go(func() (err error) {
		nodes, err = c.nodes(ctx)
		return err
	})
	all.Go(func() (err error) {
		what := "pods" + in(namespace)
		pods, err = listAll[*corev1.Pod](ctx, what, func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return c.core.Pods(namespace).List(ctx, o)
		})
		return err
	})
	all.Go(func() (err error) {
		what := "controllerrevisions" + in(namespace)
		page := func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return c.apps.ControllerRevisions(namespace).List(ctx, o)
		}
		revisions, err = listAll[*appsv1.ControllerRevision](ctx, what, page)
		return err
	})
	if err := all.Wait(); err != nil {
		return err
	}
	objects.Hold(input, Origin, &input.Nodes, nodes)
	objects.Hold(input, Origin, &input.Pods, pods)
	objects.Hold(input, Origin, &input.Revisions, revisions)
	return nil
}

func (c *Cluster) nodes(ctx context.Context) ([]*corev1.Node, error) {
	return listAll[*corev1.Node](ctx, "nodes", func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		return c.core.Nodes().List(ctx, o)
	})
}

// Nodes lists the names of the nodes.
func (c *Cluster) Nodes(ctx context.Context) ([]string, error) {
	nodes, err := c.nodes(ctx)
	var names []string
	for _, node := range nodes {
		names = append(names, node.Name)
	}
	return names, err
}

// listAll lists all objects of a kind, in pages. What is what the objects are called in an error.
func listAll[T runtime.Object](
	ctx context.Context, what string, page func(context.Context, metav1.ListOptions) (runtime.Object, error),
) ([]T, error) {
	var list []T
	err := pager.New(page).EachListItem(ctx, metav1.ListOptions{}, func(object runtime.Object) error {
		one, ok := object.(T)
		if !ok {
			return fmt.Errorf("%T", object)
		}
		list = append(list, one)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %s cannot be read: %w", Origin, what, err)
	}
	return list, nil
}

// list lists all objects of a kind of sets.
func (c *Cluster) list(
	ctx context.Context, kind schema.GroupVersionResource, namespace string,
) ([]unstructured.Unstructured, error) {
	page := func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		return c.dynamic.Resource(kind).Namespace(namespace).List(ctx, o)
	}
	var list []unstructured.Unstructured
	err := pager.New(page).EachListItem(ctx, metav1.ListOptions{}, func(object runtime.Object) error {
		if one, ok := object.(*unstructured.Unstructured); ok {
			list = append(list, *one)
		}
		return nil
	})
	return list, err
}

// of is the client for the kind of a set in a version of its API, in its namespace.
func (c *Cluster) of(set *objects.Set, apiVersion string) (dynamic.ResourceInterface, error) {
	version, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return nil, err
	}
	resource := "daemonsets"
	if set.Group == objects.GroupEDS {
		resource = extendedDaemonSets
	}
	return c.dynamic.Resource(version.WithResource(resource)).Namespace(set.Spec.Namespace), nil
}

// conflicts is how long an update is tried again that names an old version of its object: about two seconds.
var conflicts = wait.Backoff{Steps: 30, Duration: 10 * time.Millisecond, Factor: 1.1, Jitter: 0.1}

// DryRun is the set as the API server would store it with this JSON in the place of its object: with all defaults, and changed by
// admission. The server stores nothing.
func (c *Cluster) DryRun(ctx context.Context, set *objects.Set, object []byte) ([]byte, error) {
	var changed unstructured.Unstructured
	if err := json.Unmarshal(object, &changed.Object); err != nil {
		return nil, err
	}
	client, err := c.of(set, changed.GetAPIVersion()) // which may be another one than the set was read in
	if err != nil {
		return nil, err
	}
	options := metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}, FieldManager: fieldManager}
	var stored *unstructured.Unstructured
	// In the middle of a rollout the status changes all the time, and with it the version of the object. An update of a
	// DaemonSet of Kubernetes need not name one, and is about the object as it is then. One of a custom resource has to, and
	// is tried again.
	if set.Group == objects.GroupApps {
		changed.SetResourceVersion("")
	}
	err = retry.RetryOnConflict(conflicts, func() (err error) {
		stored, err = client.Update(ctx, &changed, options)
		if apierrors.IsConflict(err) {
			if latest, err := client.Get(ctx, set.Spec.Name, metav1.GetOptions{}); err == nil {
				changed.SetResourceVersion(latest.GetResourceVersion())
			}
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return stored.MarshalJSON()
}

// Patch sends a patch of the set.
func (c *Cluster) Patch(ctx context.Context, set *objects.Set, kind types.PatchType, data []byte) error {
	client, err := c.of(set, set.Spec.APIVersion)
	if err != nil {
		return err
	}
	if _, err := client.Patch(ctx, set.Spec.Name, kind, data, metav1.PatchOptions{FieldManager: fieldManager}); err != nil {
		return fmt.Errorf("%s: %s/%s cannot be patched: %w", Origin, objects.ResourceOf(set.Group), set.FullName(), err)
	}
	return nil
}
