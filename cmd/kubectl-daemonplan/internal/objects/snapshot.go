package objects

import (
	"errors"
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/text"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/manifest"
)

// Snapshot is what the set is planned from: all nodes, and the pods and revisions that belong to it. The claims say which pods
// these are, and why.
func (in *Input) Snapshot(s *Set, now time.Time) (rollout.Snapshot, rollout.Claims, error) {
	claims, err := rollout.Claim(s.Spec, in.Pods)
	if err != nil {
		return rollout.Snapshot{}, claims, fmt.Errorf("%s: %w", in.SetPlace(s), err)
	}
	if err := in.checkUIDs(claims.Pods); err != nil {
		return rollout.Snapshot{}, claims, err
	}
	history, err := rollout.ClaimRevisions(s.Spec, in.Revisions)
	if err != nil {
		return rollout.Snapshot{}, claims, fmt.Errorf("%s: %w", in.SetPlace(s), err)
	}
	return rollout.Snapshot{
		Now: now, Nodes: in.Nodes, Pods: claims.Pods, Revisions: history.Revisions, Memory: s.Memory,
	}, claims, nil
}

// checkUIDs refuses objects that the planner would refuse, because here the error can name the file.
func (in *Input) checkUIDs(pods []*corev1.Pod) error {
	seen := make(map[types.UID]*corev1.Pod, len(pods))
	for _, pod := range pods {
		if pod.UID == "" {
			return fmt.Errorf("%s: metadata.uid: Required value: deletes use it as precondition", in.Place("Pod", pod))
		}
		if first, taken := seen[pod.UID]; taken {
			return fmt.Errorf("%s: metadata.uid: Duplicate value: Pod %s/%s has it too, in %s", in.Place("Pod", pod),
				text.Printable(first.Namespace), text.Printable(first.Name), in.Origin(first))
		}
		seen[pod.UID] = pod
	}
	return nil
}

// Invalid lists every mistake in the spec of a set, with the paths of its manifest.
func Invalid(place string, spec rollout.Spec, err error) error {
	var lines []error
	for _, mistake := range manifest.FieldErrors(spec, err) {
		mistake.Detail = strings.Replace(mistake.Detail, "strategy.paused stops a rollout", stopOf(spec), 1)
		lines = append(lines, fmt.Errorf("%s: %w", place, mistake))
	}
	if len(lines) == 0 {
		return fmt.Errorf("%s: %w", place, err)
	}
	return errors.Join(lines...)
}

// stopOf is how a rollout of the spec is stopped, with fields that its manifest has.
func stopOf(spec rollout.Spec) string {
	switch group, _, _ := strings.Cut(spec.APIVersion, "/"); group {
	case GroupKruise:
		return "updateStrategy.rollingUpdate.paused: true stops a rollout"
	case GroupEDS:
		return "the annotation " + manifest.EDSRollingUpdatePausedAnnotation + ": \"true\" stops a rollout"
	default:
		return "updateStrategy.type: OnDelete stops a rollout"
	}
}

// Unrevised says that there are no revisions although pods carry the hash of one, so that nobody can tell which pods are up to
// date; empty: there are, or no pod does.
func Unrevised(snapshot *rollout.Snapshot) string {
	if len(snapshot.Revisions) > 0 {
		return ""
	}
	for _, pod := range snapshot.Pods {
		if pod.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] != "" {
			return "There is no ControllerRevision of the set in the input: which pods are up to date is not known, " +
				"and all are taken to be outdated. A dump has them: kubectl get nodes,pods,controllerrevisions,ds -A -o json"
		}
	}
	return ""
}

// Printed is when the cluster was printed, or a little before: the latest instant in any of its objects, and zero if they have
// none. With an earlier clock, pods would be from the future. A kubelet reports at least every five minutes, and thus its node.
func (in *Input) Printed() time.Time {
	var last time.Time
	see := func(t metav1.Time) {
		if t.After(last) {
			last = t.Time
		}
	}
	for _, node := range in.Nodes {
		see(node.CreationTimestamp)
		for i := range node.Status.Conditions {
			see(node.Status.Conditions[i].LastTransitionTime)
			see(node.Status.Conditions[i].LastHeartbeatTime)
		}
	}
	for _, pod := range in.Pods {
		see(pod.CreationTimestamp)
		for i := range pod.Status.Conditions {
			see(pod.Status.Conditions[i].LastTransitionTime)
		}
		for i := range pod.Status.ContainerStatuses {
			if running := pod.Status.ContainerStatuses[i].State.Running; running != nil {
				see(running.StartedAt)
			}
		}
	}
	for _, revision := range in.Revisions {
		see(revision.CreationTimestamp)
	}
	for _, replicaSet := range in.ReplicaSets {
		see(replicaSet.CreationTimestamp)
		for _, c := range replicaSet.Status.Conditions {
			see(c.LastUpdateTime)
		}
	}
	return last
}
