package controller

import (
	"context"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/daemonplan/daemonplan/predownload"
	"github.com/daemonplan/daemonplan/rollout"
)

// watch makes a request for a set when something changes that its plan depends on.
func (r *Reconciler) watch(b *builder.Builder) *builder.Builder {
	concerned := handler.EnqueueRequestsFromMapFunc(func(_ context.Context, object client.Object) []reconcile.Request {
		return r.sets.concerned(func(s *set) bool { return s.concerns(object) })
	})
	all := handler.EnqueueRequestsFromMapFunc(func(context.Context, client.Object) []reconcile.Request {
		return r.sets.concerned(func(*set) bool { return true })
	})
	b = b.For(r.Kind.New()).
		Watches(&corev1.Pod{}, concerned).
		Watches(&appsv1.ControllerRevision{}, concerned).
		Watches(&corev1.Node{}, all, builder.WithPredicates(predicate.Funcs{UpdateFunc: matters})).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: 4,
			// An action that fails for good must not delay for long what is to be done at a certain time.
			RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](
				5*time.Millisecond, 30*time.Second,
			),
		})
	if r.ImagePullJobs {
		b = b.Watches(ofKind(predownload.PullJobKind()), concerned)
	}
	return b
}

// concerns reports whether a pod, revision or pull belongs to the set, or is to be adopted. Orphans and the pods of a predecessor
// are to be adopted, although they have no owner reference to the set.
func (s *set) concerns(object client.Object) bool {
	if isPullOf(s.object.GetUID(), object) {
		return true
	}
	if owner := metav1.GetControllerOfNoCopy(object); owner != nil && s.spec.UID != "" && owner.UID == s.spec.UID {
		return true // as nearly all that are the set's: claims, which cost more, would say the same
	}
	switch object := object.(type) {
	case *corev1.Pod:
		claims, err := rollout.Claim(s.spec, []*corev1.Pod{object})
		return err == nil && len(claims.Pods)+len(claims.Release) > 0
	case *appsv1.ControllerRevision:
		claims, err := rollout.ClaimRevisions(s.spec, []*appsv1.ControllerRevision{object})
		return err == nil && len(claims.Revisions)+len(claims.Release) > 0
	default:
		return false
	}
}

// matters reports whether an update changes more than the heartbeat of a node. Heartbeats are frequent, and change no plan.
func matters(e event.UpdateEvent) bool {
	before, after := typed[*corev1.Node](e.ObjectOld), typed[*corev1.Node](e.ObjectNew)
	same := equality.Semantic.DeepEqual(before.Labels, after.Labels) &&
		equality.Semantic.DeepEqual(before.Annotations, after.Annotations) &&
		equality.Semantic.DeepEqual(before.Spec, after.Spec) &&
		equality.Semantic.DeepEqual(before.Status.Images, after.Status.Images) &&
		equality.Semantic.DeepEqual(conditions(before), conditions(after)) &&
		before.DeletionTimestamp.Equal(after.DeletionTimestamp)
	return !same
}

// conditions are the conditions of a node without the times of the heartbeats.
func conditions(node *corev1.Node) []corev1.NodeCondition {
	out := append([]corev1.NodeCondition(nil), node.Status.Conditions...)
	for i := range out {
		out[i].LastHeartbeatTime = metav1.Time{}
	}
	return out
}
