package judge

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/placement"
)

// judgeSecondPod judges whether a request gives a node a second live pod of one revision (V3), as the cluster is. With other
// resources it counts as of another one (P8).
func (j *Judge) judgeSecondPod(w *write) {
	for _, p := range j.cluster.Pods {
		if p.UID != w.pod.UID && live(p) && live(w.pod) && target(p) == w.node.Name && kindOf(p) == kindOf(w.pod) &&
			!ofPredecessor(p, &j.view.spec) {
			j.find(Twins, w.node.Name, w.pod, "pod %s of the same revision %s is on the node", p.Name, hashOf(p))
		}
	}
}

// kindOf is the revision of the pod and what it was given instead of its resources.
func kindOf(p *corev1.Pod) [2]string {
	return [2]string{hashOf(p), p.Annotations[placement.DigestAnnotation]}
}
