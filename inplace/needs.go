package inplace

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/component-helpers/nodedeclaredfeatures"
	"k8s.io/component-helpers/nodedeclaredfeatures/features/inplacepodresize"
)

var (
	// serverVersion is the version of the API server whose demands on nodes are asked for. Features that nodes need not declare
	// any more drop out with later ones.
	serverVersion = version.MustParseSemantic("1.37.0")
	// sidecarVersion is the first kubelet that restarts a sidecar whose image changes.
	sidecarVersion = version.MustParseSemantic("1.33.0")
)

// needs finds what a node has to offer for the update. It is asked of updates without obstacles, whose templates have the same
// containers.
func (d *differ) needs() {
	u := d.update
	for _, change := range u.Images {
		u.restartsSidecar = u.restartsSidecar || strings.HasPrefix(d.containerPath(change.Container), "spec.initContainers")
	}
	framework := nodedeclaredfeatures.DefaultFramework
	set, err := framework.InferForPodUpdate(&nodedeclaredfeatures.PodInfo{Spec: &d.old.Spec}, &nodedeclaredfeatures.PodInfo{Spec: &d.new.Spec}, serverVersion)
	if err == nil {
		u.features, _ = framework.Unmap(set) // the set is the framework's own
	}
	// A server without that feature refuses every resize of a pod that has resources as a whole, and knows no node that declares it.
	const whole = inplacepodresize.IPPRPodLevelResourcesFeatureGate
	if u.whole != nil && !slices.Contains(u.features, whole) {
		u.features = append(u.features, whole)
	}
}

// Lacks returns what a node lacks to take the update in place, for a reader; "" if nothing. The API server refuses an update that
// needs a feature which the node does not declare (status.declaredFeatures), and kubelets before 1.33 restart no sidecar. A kubelet
// that does not say its version is taken for a newer one. A nil node declares nothing. An update with obstacles needs nothing more.
func (u *Update) Lacks(node *corev1.Node) string {
	if u == nil || len(u.features) == 0 && !u.restartsSidecar {
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
	if kubelet, err := version.ParseGeneric(status.NodeInfo.KubeletVersion); u.restartsSidecar && err == nil && kubelet.LessThan(sidecarVersion) {
		return fmt.Sprintf("its kubelet %s does not restart sidecars, which needs %s", status.NodeInfo.KubeletVersion, sidecarVersion)
	}
	return ""
}
