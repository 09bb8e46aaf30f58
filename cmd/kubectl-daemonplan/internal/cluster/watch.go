package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/objects"
)

// Watch keeps up to date what a plan of one set is made of: the set, the nodes, and of the set's namespace the revisions and the
// pods that the selector matches. For an ExtendedDaemonSet it is all pods of the namespace, because it takes over pods that its
// selector does not match, the replica sets and the settings.
type Watch struct {
	cluster *Cluster
	ref     objects.Ref
	others  []*objects.Set // the other sets as they were when the watch began; one of them may be taken over from
	ctx     context.Context
	changed chan struct{}

	set, nodes, pods, revisions *source
	selector                    string    // of pods
	extended                    []*source // what belongs to an ExtendedDaemonSet: its replica sets and settings

	mu      sync.Mutex
	failed  error
	expired Expired
}

// Expired is the last time that the API server ended a watch because it had fallen too far behind, so that the objects had to be
// listed anew. The zero value: never.
type Expired struct {
	What string
	At   time.Time
}

// Broken is a connection that is broken: what was read over it is old.
type Broken struct {
	What  string
	Since time.Time
	Err   error
}

// source is what one kind of objects is read with.
type source struct {
	what     string
	optional bool // plans can do without
	store    cache.Store
	synced   func() bool
	stop     context.CancelFunc

	mu    sync.Mutex
	open  bool // the watch has been begun
	since time.Time
	err   error // of the last attempt; nil: it went well
	left  error // why these objects are done without
}

// Watch looks for the set that is meant, and begins to watch it. The context ends it.
func (c *Cluster) Watch(ctx context.Context, ref objects.Ref) (*Watch, error) {
	input, err := c.Sets(ctx, ref.Namespace)
	if err != nil {
		return nil, err
	}
	set, err := input.Choose(ref)
	if err != nil {
		return nil, fmt.Errorf("%w%s", err, c.where(ref, input))
	}
	version, err := schema.ParseGroupVersion(set.Spec.APIVersion)
	if err != nil {
		return nil, err
	}
	w := &Watch{
		cluster: c,
		ref:     objects.Ref{Group: set.Group, Namespace: set.Spec.Namespace, Name: set.Spec.Name},
		ctx:     klog.NewContext(ctx, logr.Discard()), // client-go would write into the screen
		changed: make(chan struct{}, 1),
	}
	c.OnSilence(c.silence(), func([]Unanswered) { w.notify() })
	w.others = slices.DeleteFunc(input.Sets, func(other *objects.Set) bool { return other == set })
	namespace := set.Spec.Namespace
	w.set = w.followSet(version)
	w.nodes = w.follow("nodes", "", &corev1.Node{}, lister{
		list: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return c.core.Nodes().List(ctx, o)
		},
		watch: c.core.Nodes().Watch,
	})
	revisions := c.apps.ControllerRevisions(namespace)
	w.revisions = w.follow("controllerrevisions.apps", namespace, &appsv1.ControllerRevision{}, lister{
		list:  func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return revisions.List(ctx, o) },
		watch: revisions.Watch,
	})
	w.followPods(set)
	if set.Group == objects.GroupEDS {
		for _, kind := range kinds {
			if kind.Group == objects.GroupEDS && kind.Resource != extendedDaemonSets {
				l := w.dynamic(kind, "")
				l.optional = true
				w.extended = append(w.extended, w.follow(resourceName(kind), namespace, &unstructured.Unstructured{}, l))
			}
		}
	}
	return w, nil
}

func (w *Watch) followSet(version schema.GroupVersion) *source {
	kind := version.WithResource("daemonsets")
	if version.Group == objects.GroupEDS {
		kind.Resource = extendedDaemonSets
	}
	return w.follow(resourceName(kind), w.ref.Namespace, &unstructured.Unstructured{}, w.dynamic(kind, w.ref.Name))
}

// dynamic lists and watches sets, or what belongs to them: the one of that name, or all.
func (w *Watch) dynamic(kind schema.GroupVersionResource, name string) lister {
	client := w.cluster.dynamic.Resource(kind).Namespace(w.ref.Namespace)
	l := lister{
		list:  func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return client.List(ctx, o) },
		watch: client.Watch,
	}
	if name != "" {
		l.fields = fields.OneTermEqualSelector(metav1.ObjectNameField, name).String()
	}
	return l
}

// followPods watches the pods of the set. It is called again if the selector has changed.
func (w *Watch) followPods(set *objects.Set) {
	if w.pods != nil {
		w.pods.stop()
	}
	w.selector = podSelector(set)
	pods := w.cluster.core.Pods(w.ref.Namespace)
	w.pods = w.follow("pods", w.ref.Namespace, &corev1.Pod{}, lister{
		list:   func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return pods.List(ctx, o) },
		watch:  pods.Watch,
		labels: w.selector,
	})
}

// podSelector selects the pods that are watched; empty: all.
func podSelector(set *objects.Set) string {
	if set.Group == objects.GroupEDS {
		return ""
	}
	return metav1.FormatLabelSelector(set.Spec.Selector)
}

// lister lists and watches objects of one kind.
type lister struct {
	list           func(context.Context, metav1.ListOptions) (runtime.Object, error)
	watch          func(context.Context, metav1.ListOptions) (watch.Interface, error)
	labels, fields string
	optional       bool // plans can do without
}

// follow keeps the objects of one kind up to date. What is what they are called in messages.
func (w *Watch) follow(what, namespace string, kind runtime.Object, l lister) *source {
	ctx, stop := context.WithCancel(w.ctx)
	s := &source{what: what + in(namespace), optional: l.optional, stop: stop}
	restrict := func(o *metav1.ListOptions) { o.LabelSelector, o.FieldSelector = l.labels, l.fields }
	options := cache.InformerOptions{
		ObjectType: kind,
		Logger:     new(logr.Discard()),
		ListerWatcher: &cache.ListWatch{
			ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
				restrict(&o)
				list, err := l.list(ctx, o)
				w.attempted(s, err)
				return list, err
			},
			WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
				restrict(&o)
				stream, err := l.watch(ctx, o)
				if isListing(o) && apierrors.IsInvalid(err) {
					return stream, err // a server that cannot stream lists is asked for a list next
				}
				if _, open := stream.(*watch.StreamWatcher); err == nil && !open {
					// For a connection that was closed before the answer the client returns a watch that has ended.
					w.attempted(s, errClosed)
					return stream, nil
				}
				w.attempted(s, err)
				if err != nil {
					return stream, err
				}
				s.opened()
				return watch.Filter(stream, func(event watch.Event) (watch.Event, bool) {
					w.ended(s, event)
					return event, true
				}), nil
			},
		},
		Handler: cache.ResourceEventHandlerFuncs{
			AddFunc:    func(any) { w.notify() },
			UpdateFunc: func(any, any) { w.notify() },
			DeleteFunc: func(any) { w.notify() },
		},
		Transform: withoutManagedFields,
	}
	store, controller := cache.NewInformerWithOptions(options)
	s.store, s.synced = store, controller.HasSynced
	go controller.RunWithContext(ctx)
	go func() { // an empty list has no event
		if cache.WaitForCacheSync(ctx.Done(), controller.HasSynced) {
			w.notify()
		}
	}()
	return s
}

var errClosed = errors.New("the connection was closed without an answer")

// isListing reports whether a watch is to begin with all objects that there are.
func isListing(o metav1.ListOptions) bool { return o.SendInitialEvents != nil && *o.SendInitialEvents }

// withoutManagedFields drops what no plan reads. It can be half of an object.
func withoutManagedFields(object any) (any, error) {
	if object, ok := object.(metav1.Object); ok {
		object.SetManagedFields(nil)
	}
	return object, nil
}

// notify says that something has changed. It does not wait for anybody to listen.
func (w *Watch) notify() {
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

// Changed is sent to when objects, or the state of a connection, have changed since it was last received from.
func (w *Watch) Changed() <-chan struct{} { return w.changed }

// attempted notes how a request went. What may not be read will not be readable soon, so that the watch has failed then.
func (w *Watch) attempted(s *source, err error) {
	if errors.Is(err, context.Canceled) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err == nil && s.err == nil:
		return
	case err == nil:
		s.err = nil
	case s.optional && (apierrors.IsForbidden(err) || apierrors.IsNotFound(err)):
		s.left = err
		s.stop()
	case apierrors.IsForbidden(err):
		const why = "%s: %s cannot be watched, for which the verbs list and watch must be allowed: %w"
		w.fail(fmt.Errorf(why, Origin, s.what, err))
	case s.err == nil:
		s.err, s.since = err, time.Now()
	default:
		s.err = err
	}
	w.notify()
}

func (s *source) opened() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open = true
}

func (w *Watch) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failed == nil {
		w.failed = err
	}
}

// ended notes that the API server has ended a watch with an error.
func (w *Watch) ended(s *source, event watch.Event) {
	if event.Type != watch.Error {
		return
	}
	err := apierrors.FromObject(event.Object)
	if !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err) {
		w.attempted(s, err)
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.expired = Expired{What: s.what, At: time.Now()}
	w.notify()
}

// Err is why the watch cannot go on; nil: it can.
func (w *Watch) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.failed
}

// Expired is the last watch that had expired.
func (w *Watch) Expired() Expired {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.expired
}

func (w *Watch) sources() []*source {
	return slices.Concat([]*source{w.set, w.nodes, w.pods, w.revisions}, w.extended)
}

// Broken lists the connections that are broken now, the one that broke first at the front.
func (w *Watch) Broken() []Broken {
	var list []Broken
	for _, s := range w.sources() {
		s.mu.Lock()
		if s.err != nil && s.left == nil {
			list = append(list, Broken{What: s.what, Since: s.since, Err: s.err})
		}
		s.mu.Unlock()
	}
	slices.SortStableFunc(list, func(a, b Broken) int { return a.Since.Compare(b.Since) })
	return list
}

// Unanswered lists what the API server has not answered for too long, the oldest first; empty: nothing.
func (w *Watch) Unanswered() []Unanswered { return w.cluster.waits.list() }

// ready reports whether all objects have been read, and changes of them will be.
func (s *source) ready() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.left != nil || s.open && s.synced()
}

// Missing lists what has not been read yet.
func (w *Watch) Missing() []string {
	var list []string
	for _, s := range w.sources() {
		if !s.ready() {
			list = append(list, s.what)
		}
	}
	return list
}

// Ref is the set that is watched.
func (w *Watch) Ref() objects.Ref { return w.ref }

// Input is what a plan is made of, as it is now. It may be called when nothing is missing. The set is nil if it has been deleted.
// The objects are shared: nobody may write to them. If the selector of the set has changed, pods are missing again, and both
// results are nil.
func (w *Watch) Input() (*objects.Input, *objects.Set, error) {
	input := objects.New()
	for _, s := range slices.Concat([]*source{w.set}, w.extended) {
		if s.left != nil {
			input.Warnings = append(input.Warnings, fmt.Sprintf("%s cannot be read, and are left out: %v", s.what, s.left))
			continue
		}
		for _, object := range s.store.List() {
			if object, ok := object.(*unstructured.Unstructured); ok {
				if err := add(input, object); err != nil {
					return nil, nil, err
				}
			}
		}
	}
	if len(input.Sets) == 0 {
		return input, nil, nil
	}
	set := input.Sets[0]
	if podSelector(set) != w.selector {
		w.followPods(set)
		return nil, nil, nil
	}
	input.Sets = append(input.Sets, w.others...)
	objects.Hold(input, Origin, &input.Nodes, stored[*corev1.Node](w.nodes))
	objects.Hold(input, Origin, &input.Pods, stored[*corev1.Pod](w.pods))
	objects.Hold(input, Origin, &input.Revisions, stored[*appsv1.ControllerRevision](w.revisions))
	return input, set, nil
}

// stored are the objects of a store, in the order of their names, so that the same objects make the same text.
func stored[T metav1.Object](s *source) []T {
	all := s.store.List()
	list := make([]T, 0, len(all))
	for _, object := range all {
		if object, ok := object.(T); ok {
			list = append(list, object)
		}
	}
	slices.SortFunc(list, func(a, b T) int { return strings.Compare(a.GetName(), b.GetName()) })
	return list
}
