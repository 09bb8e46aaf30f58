package placement

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/component-helpers/nodedeclaredfeatures"
)

// featuresVersion is the version of Kubernetes whose scheduler is asked for. Features that nodes need not declare any more drop
// out with later ones.
const featuresVersion = "1.37.0"

// Features returns the features that a node has to declare (status.declaredFeatures) before the scheduler binds a pod of that
// spec to it, in ascending order; nil if it needs none, as almost all pods do. A nil spec needs none. Features that only an
// update of a running pod needs are for package inplace.
func Features(spec *corev1.PodSpec) []string {
	if spec == nil {
		return nil
	}
	framework := nodedeclaredfeatures.DefaultFramework
	pod := &nodedeclaredfeatures.PodInfo{Spec: spec}
	set, err := framework.InferForPodScheduling(pod, version.MustParseSemantic(featuresVersion))
	if err != nil {
		return nil
	}
	features, _ := framework.Unmap(set) // the set is the framework's own
	return features
}

// Undeclared returns the first of the features that a node does not declare; "" if it declares all. A nil node declares none.
func Undeclared(features []string, node *corev1.Node) string {
	for _, feature := range features {
		if node == nil || !slices.Contains(node.Status.DeclaredFeatures, feature) {
			return feature
		}
	}
	return ""
}
