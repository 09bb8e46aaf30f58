package daemon

// Compiled in the controller's package: whose pods and revisions are whose.

import (
	"context"
	"fmt"

	apps "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/daemonplan/daemonplan/rollout"
	"k8s.io/kubernetes/pkg/controller/daemon/util"
)

// getDaemonPods claims pods.
func (dsc *DaemonSetsController) getDaemonPods(ctx context.Context, ds *apps.DaemonSet) ([]*v1.Pod, error) {
	spec, err := dsc.specOf(ds)
	if err != nil {
		return nil, err
	}
	all, err := dsc.podLister.List(labels.Everything())
	if err != nil {
		return nil, err
	}
	claims, err := rollout.Claim(spec, util.Identified(all))
	util.Asked("Claim", err)
	if err != nil {
		return nil, err
	}
	of := func(pod *v1.Pod) *metav1.ObjectMeta { return &pod.ObjectMeta }
	return claims.Pods, dsc.own(ctx, ds, spec, metaOf(claims.Adopt, of), metaOf(claims.Release, of), dsc.podControl.PatchPod)
}

// controlledHistories claims revisions.
func (dsc *DaemonSetsController) controlledHistories(
	ctx context.Context, ds *apps.DaemonSet,
) ([]*apps.ControllerRevision, error) {
	spec, err := dsc.specOf(ds)
	if err != nil {
		return nil, err
	}
	all, err := dsc.historyLister.List(labels.Everything())
	if err != nil {
		return nil, err
	}
	claims, err := rollout.ClaimRevisions(spec, all)
	util.Asked("ClaimRevisions", err)
	if err != nil {
		return nil, err
	}
	of := func(r *apps.ControllerRevision) *metav1.ObjectMeta { return &r.ObjectMeta }
	adopt, release := metaOf(claims.Adopt, of), metaOf(claims.Release, of)
	return claims.Revisions, dsc.own(ctx, ds, spec, adopt, release, dsc.crControl.PatchControllerRevision)
}

func metaOf[T any](objects []T, of func(T) *metav1.ObjectMeta) []*metav1.ObjectMeta {
	var metas []*metav1.ObjectMeta
	for _, o := range objects {
		metas = append(metas, of(o))
	}
	return metas
}

// own adopts and releases, but adopts nothing before the API server says that the set is there still.
func (dsc *DaemonSetsController) own(
	ctx context.Context, ds *apps.DaemonSet, spec rollout.Spec, adopt, release []*metav1.ObjectMeta,
	patch func(ctx context.Context, namespace, name string, data []byte) error,
) error {
	if len(adopt) > 0 {
		live, err := dsc.kubeClient.AppsV1().DaemonSets(ds.Namespace).Get(ctx, ds.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if live.UID != ds.UID || live.DeletionTimestamp != nil {
			return fmt.Errorf("%s is gone, or will be: it adopts nothing", ds.Name)
		}
	}
	for _, object := range adopt {
		if err := patch(ctx, object.Namespace, object.Name, rollout.AdoptPatch(spec, object)); err != nil {
			return err
		}
	}
	for _, object := range release {
		if err := patch(ctx, object.Namespace, object.Name, rollout.ReleasePatch(spec, object)); err != nil {
			return err
		}
	}
	return nil
}
