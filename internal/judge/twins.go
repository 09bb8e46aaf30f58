package judge

// judgeSecondPod judges whether a request gives a node a second live pod of one revision (V3), as the cluster is.
func (j *Judge) judgeSecondPod(w *write) {
	for _, p := range j.cluster.Pods {
		if p.UID != w.pod.UID && live(p) && live(w.pod) && target(p) == w.node.Name && hashOf(p) == hashOf(w.pod) {
			j.find(Twins, w.node.Name, w.pod, "pod %s of the same revision %s is on the node", p.Name, hashOf(p))
		}
	}
}
