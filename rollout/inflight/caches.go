package inflight

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// caches are what a controller sees. newestPod and newestRevision are the highest resource version of either kind. A watch shows
// changes in the order of their versions, so a watch that shows a version has shown all older changes.
type caches struct {
	pods           map[types.UID]*corev1.Pod
	revisions      map[types.UID]*appsv1.ControllerRevision
	newestPod      string
	newestRevision string
}

func newCaches(pods []*corev1.Pod, revisions []*appsv1.ControllerRevision) *caches {
	c := &caches{
		pods:      make(map[types.UID]*corev1.Pod, len(pods)),
		revisions: make(map[types.UID]*appsv1.ControllerRevision, len(revisions)),
	}
	for _, p := range pods {
		if p != nil {
			c.pods[p.UID] = p
			c.newestPod = newer(c.newestPod, p.ResourceVersion)
		}
	}
	for _, r := range revisions {
		if r != nil {
			c.revisions[r.UID] = r
			c.newestRevision = newer(c.newestRevision, r.ResourceVersion)
		}
	}
	return c
}

// show reports whether the caches show that a request was executed. A plan patches and deletes only objects that the caches had,
// so an object that is not in them any more is gone.
func (c *caches) show(r *Request) bool {
	pod, revision := c.pods[r.uid], c.revisions[r.uid]
	switch r.kind {
	case podCreated:
		return r.uid != "" && pod != nil || atLeast(c.newestPod, r.version)
	case podDeleted:
		return pod == nil || pod.DeletionTimestamp != nil
	case podPatched:
		return pod == nil || atLeast(pod.ResourceVersion, r.version)
	case revisionCreated:
		return r.uid != "" && revision != nil || atLeast(c.newestRevision, r.version)
	case revisionPatched:
		return revision == nil || atLeast(revision.ResourceVersion, r.version)
	default:
		return revision == nil || revision.DeletionTimestamp != nil
	}
}

// atLeast reports whether a resource version is as new as that of an answer. It is false without an answer, and with versions
// that cannot be compared.
func atLeast(version, answer string) bool {
	order, err := resourceversion.CompareResourceVersion(version, answer)
	return err == nil && order >= 0
}

// newer is the newer of two versions. A version that cannot be read is older than any.
func newer(a, b string) string {
	if !atLeast(a, a) || atLeast(b, a) {
		return b
	}
	return a
}
