package inplace

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/component-helpers/nodedeclaredfeatures"
	"k8s.io/component-helpers/nodedeclaredfeatures/features/inplacepodresize"
)

const (
	// serverVersion is the version of the API server whose demands on nodes are asked for. Features that nodes need not declare
	// any more drop out with later ones.
	serverVersion = "1.37.0"
	// sidecarVersion is the first kubelet that restarts a sidecar whose image changes.
	sidecarVersion = "1.33.0"
)

// needs finds what a node has to offer for the update. It is asked of updates without obstacles, whose templates have the same
// containers.
func (d *differ) needs() {
	u := d.update
	for _, change := range u.Images {
		if initContainerIn(&d.new.Spec, change.Container) != nil {
			u.kubelet = version.MustParseSemantic(sidecarVersion)
		}
	}
	framework := nodedeclaredfeatures.DefaultFramework
	// The framework compares how quantities are written, and the server stores them in one way.
	old := d.old.Spec
	old.InitContainers = slices.Clone(old.InitContainers)
	for i := range old.InitContainers {
		if now := d.new.Spec.InitContainers[i].Resources; apiequality.Semantic.DeepEqual(old.InitContainers[i].Resources, now) {
			old.InitContainers[i].Resources = now
		}
	}
	set, err := framework.InferForPodUpdate(
		&nodedeclaredfeatures.PodInfo{Spec: &old}, &nodedeclaredfeatures.PodInfo{Spec: &d.new.Spec},
		version.MustParseSemantic(serverVersion))
	if err == nil {
		u.features, _ = framework.Unmap(set) // the set is the framework's own
	}
	// A server without that feature refuses every resize of a pod that has resources as a whole, and knows no node that declares
	// it.
	const whole = inplacepodresize.IPPRPodLevelResourcesFeatureGate
	if u.whole != nil && !slices.Contains(u.features, whole) {
		u.features = append(u.features, whole)
	}
}

// Lacks returns what a node lacks to take the update in place, for a reader; "" if nothing. The API server refuses an update
// that needs a feature which the node does not declare (status.declaredFeatures), and kubelets before 1.33 restart no sidecar. A
// kubelet that does not say its version is taken for a newer one. A nil node declares nothing. An update with obstacles needs
// nothing more.
func (u *Update) Lacks(node *corev1.Node) string {
	if u == nil || len(u.features) == 0 && u.kubelet == nil {
		return ""
	}
	var status corev1.NodeStatus
	if node != nil {
		status = node.Status
	}
	for _, feature := range u.features {
		if !slices.Contains(status.DeclaredFeatures, feature) {
			return "it does not declare the feature " + feature
		}
	}
	if u.kubelet == nil {
		return ""
	}
	if kubelet, err := version.ParseGeneric(status.NodeInfo.KubeletVersion); err == nil && kubelet.LessThan(u.kubelet) {
		return fmt.Sprintf("its kubelet %s does not restart sidecars, which needs %s", status.NodeInfo.KubeletVersion, u.kubelet)
	}
	return ""
}
