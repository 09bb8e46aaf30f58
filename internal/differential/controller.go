package differential

import (
	"context"
	"errors"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/klog/v2"
	kubecontroller "k8s.io/kubernetes/pkg/controller"
	"k8s.io/kubernetes/pkg/controller/daemon"
	testingclock "k8s.io/utils/clock/testing"
)

// The controller's back-off for failed pods, as kube-controller-manager configures it.
const (
	backoffInitial = time.Second
	backoffMax     = 15 * time.Minute
)

// Controller drives the real DaemonSet controller. It is not safe for concurrent use.
type Controller struct {
	real   *daemon.DaemonSetsController
	clock  *testingclock.FakeClock
	server *server

	sets, revisions, pods, nodes cache.Indexer

	burst        *int
	expectations *kubecontroller.ControllerExpectationsInterface
	backoff      **flowcontrol.Backoff
}

// NewController starts nothing: no informer runs, and the stores are empty until Load.
func NewController() (*Controller, error) {
	c := &Controller{clock: testingclock.NewFakeClock(time.Time{}), server: new(server)}
	calls := client{server: c.server}
	factory := informers.NewSharedInformerFactory(calls, 0)
	sets, revisions := factory.Apps().V1().DaemonSets(), factory.Apps().V1().ControllerRevisions()
	pods, nodes := factory.Core().V1().Pods(), factory.Core().V1().Nodes()
	var err error
	ctx := quiet(context.Background())
	c.real, err = daemon.NewDaemonSetsController(ctx, sets, revisions, pods, nodes, calls, c.newBackoff())
	if err != nil {
		return nil, err
	}
	c.sets, c.revisions = sets.Informer().GetIndexer(), revisions.Informer().GetIndexer()
	c.pods, c.nodes = pods.Informer().GetIndexer(), nodes.Informer().GetIndexer()

	podControl, err1 := field[kubecontroller.PodControlInterface](c.real, "podControl")
	var err2, err3, err4 error
	c.burst, err2 = field[int](c.real, "burstReplicas")
	c.expectations, err3 = field[kubecontroller.ControllerExpectationsInterface](c.real, "expectations")
	c.backoff, err4 = field[*flowcontrol.Backoff](c.real, "failedPodsBackoff")
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return nil, err
	}
	*podControl = c.server
	return c, nil
}

func (c *Controller) newBackoff() *flowcontrol.Backoff {
	return flowcontrol.NewFakeBackOff(backoffInitial, backoffMax, c.clock)
}

// Load shows a world to the controller, in place of the one before. The objects are kept, and must not be changed. The
// controller forgets what it has asked for, but not which pods have failed: see Forget.
func (c *Controller) Load(w World) error {
	c.clock.SetTime(w.Now)
	*c.burst = daemon.BurstReplicas
	if w.Burst > 0 {
		*c.burst = w.Burst
	}
	c.server.set, c.server.revisions = w.Set, w.Revisions
	(*c.expectations).DeleteExpectations(logr.Discard(), key(w.Set))
	return errors.Join(
		fill(c.sets, []*appsv1.DaemonSet{w.Set}), fill(c.revisions, w.Revisions), fill(c.pods, w.Pods), fill(c.nodes, w.Nodes),
	)
}

// Settle lets the controller forget what it has asked for, as if it had seen all of it. Without, a sync of a world that it
// has acted on would wait for its informers.
func (c *Controller) Settle() {
	(*c.expectations).DeleteExpectations(logr.Discard(), key(c.server.set))
}

// Forget makes the controller forget which pods have failed.
func (c *Controller) Forget() { *c.backoff = c.newBackoff() }

func fill[T any](store cache.Indexer, objects []T) error {
	list := make([]any, len(objects))
	for i := range objects {
		list[i] = objects[i]
	}
	return store.Replace(list, "")
}

// Manage runs the phase that creates and deletes pods regardless of any rollout, at the revision of the hash.
func (c *Controller) Manage(hash string) (Requests, error) {
	return c.requests(func(ctx context.Context) error {
		return manage(c.real, ctx, c.server.set, c.list(), hash)
	})
}

// RollingUpdate runs the phase that updates pods to the revision of the hash, whatever the strategy's type.
func (c *Controller) RollingUpdate(hash string) (Requests, error) {
	return c.requests(func(ctx context.Context) error {
		return rollingUpdate(c.real, ctx, c.server.set, c.list(), hash)
	})
}

// Report runs the phase that stores the status. Unlike the controller's own sync it stores one that is stored already.
func (c *Controller) Report(hash string) (Requests, error) {
	stale := c.server.set.DeepCopy()
	stale.Status.DesiredNumberScheduled = -1
	return c.requests(func(ctx context.Context) error {
		return updateStatus(c.real, ctx, stale, c.list(), hash, true)
	})
}

// Sync is what the controller does when it is called: history, then Manage, then, if that did nothing, RollingUpdate,
// then Report.
func (c *Controller) Sync() (Requests, error) {
	return c.requests(func(ctx context.Context) error { return syncDaemonSet(c.real, ctx, key(c.server.set)) })
}

func (c *Controller) requests(phase func(context.Context) error) (Requests, error) {
	c.server.requests = Requests{}
	err := phase(quiet(context.Background()))
	return c.server.requests, err
}

// list gives the nodes as the controller's sync lists them: in no order.
func (c *Controller) list() []*corev1.Node {
	objects := c.nodes.List()
	nodes := make([]*corev1.Node, 0, len(objects))
	for _, o := range objects {
		if node, ok := o.(*corev1.Node); ok { // the store holds nothing else
			nodes = append(nodes, node)
		}
	}
	return nodes
}

// quiet keeps the controller from logging.
func quiet(ctx context.Context) context.Context { return klog.NewContext(ctx, logr.Discard()) }
