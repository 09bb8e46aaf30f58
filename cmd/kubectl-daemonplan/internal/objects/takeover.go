package objects

import (
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/manifest"
)

// These are the kind of the replica sets of ExtendedDaemonSet's own controller, and the label by which their pods name the set.
const (
	edsReplicaSetKind = "ExtendedDaemonSetReplicaSet"
	edsNameLabel      = "extendeddaemonset.datadoghq.com/name"
)

// Surround adds to the spec of the set what other objects than its manifest contain.
func (in *Input) Surround(s *Set) {
	s.Spec.Overrides = manifest.Overrides(s.Spec, in.Settings)
	s.Spec.Predecessor = in.predecessor(s)
	s.Revised = slices.ContainsFunc(in.Revisions, func(r *appsv1.ControllerRevision) bool {
		of := metav1.GetControllerOfNoCopy(r)
		return of != nil && of.UID == s.Spec.UID && of.UID != ""
	})
}

// predecessor is what the set takes over from; nil: nothing. It is the DaemonSet that its annotation names, even if only the pods
// of that still exist, and the replica sets of ExtendedDaemonSet's own controller.
func (in *Input) predecessor(s *Set) *rollout.Predecessor {
	var found rollout.Predecessor
	if s.OldDaemonSet != "" {
		for _, old := range in.Sets {
			if old.Group == GroupApps && old.Spec.Name == s.OldDaemonSet && old.Spec.Namespace == s.Spec.Namespace {
				found = manifest.PredecessorOf(old.Spec)
			}
		}
	}
	for _, pod := range in.Pods {
		of := metav1.GetControllerOfNoCopy(pod)
		if of == nil || of.UID == "" || pod.Namespace != s.Spec.Namespace || slices.Contains(found.UIDs, of.UID) {
			continue
		}
		group, _, _ := strings.Cut(of.APIVersion, "/")
		fromDaemonSet := s.OldDaemonSet != "" && of.Kind == "DaemonSet" && group == GroupApps && of.Name == s.OldDaemonSet
		fromReplicaSet := s.Group == GroupEDS && group == GroupEDS && of.Kind == edsReplicaSetKind &&
			pod.Labels[edsNameLabel] == s.Spec.Name
		if fromDaemonSet || fromReplicaSet {
			found.UIDs = append(found.UIDs, of.UID)
		}
	}
	if len(found.UIDs) == 0 && found.Selector == nil {
		return nil
	}
	return &found
}
