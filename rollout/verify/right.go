package verify

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/history"
)

// Which revisions a pod that is created may be of, and what a node has to declare for them.

// rightRevisions are the revisions that a pod created on the node may be of (T1): that where it is to end, or with
// holdRevision on a node that T2 or T3 holds what it had before, but not the one on trial elsewhere (T6).
func (v *verifier) rightRevisions(node *node) map[string]bool {
	if node.right == nil { // it is asked again and again
		node.right = v.findRightRevisions(node)
	}
	return node.right
}

func (v *verifier) findRightRevisions(node *node) map[string]bool {
	if node.goesBack {
		return v.staging.bases
	}
	if node.closed != rollout.LimitNone {
		return v.rightInClosed(node)
	}
	if node.hold == rollout.LimitUndeclared {
		return v.rightUndeclared(node)
	}
	if v.spec.Strategy.HoldRevision && (node.hold == rollout.LimitPartition || node.hold == rollout.LimitNodeSelector) {
		before := v.revisionsBefore(node)
		if !node.goesStable || !before[v.plan.Status.UpdateRevision] {
			return before
		}
	}
	return v.trial.goals[v.goalHash(node)]
}

// rightUndeclared is what a pod created on a node may be of where one of the update revision could not run: what the node had
// before, if that can (T9).
func (v *verifier) rightUndeclared(node *node) map[string]bool {
	before := v.revisionsBefore(node)
	for hash := range before {
		if template := v.templateOf(hash); template == nil || !declaresAll(node.object, needsOf(template)) {
			return v.trial.goals[v.goalHash(node)]
		}
	}
	if len(before) == 0 {
		return v.trial.goals[v.goalHash(node)]
	}
	return before
}

// revisionsBefore are what the node ran last, while that is seen and known, else the stable revision (T1): one, but for
// stable revisions of one number. Of pods of one age the first by name tells.
func (v *verifier) revisionsBefore(node *node) map[string]bool {
	if ran := v.lostRevision(node); ran != "" {
		return map[string]bool{ran: true}
	}
	if v.isUpdate(v.trial.stable) { // what other nodes are still held at
		return v.olderRevisions()
	}
	return v.trial.stables
}

// rightInClosed is what a pod created in a part that is not open may be of (T8): what the node ran last, while that is seen and
// known and has not failed, else the base. Where a revision is tried, it is not that one.
func (v *verifier) rightInClosed(node *node) map[string]bool {
	ran := v.lostRevision(node)
	if _, known := v.seriesOf(node, v.plan.Status.UpdateRevision); known && !node.goesStable { // M2 deleted a failed one there
		ran = v.plan.Status.UpdateRevision
	}
	failed := slices.ContainsFunc(v.history.byHash[ran], history.Failed)
	at := v.backAt(node, ran, nil)
	if isDue := !at.IsZero() && !at.After(v.snapshot.Now); isDue && node.closed != rollout.LimitFailures && v.canGoBack() {
		return v.staging.bases
	}
	switch {
	case ran != "" && v.isUpdate(ran) && !node.goesStable, ran != "" && !v.isUpdate(ran) && !failed:
		return map[string]bool{ran: true}
	case len(v.staging.bases) > 0 && !v.staging.bases[v.plan.Status.UpdateRevision]:
		return v.staging.bases
	default:
		return map[string]bool{v.goalHash(node): true}
	}
}

// lostRevision is what the node ran last, while that is seen and known; empty: it is not.
func (v *verifier) lostRevision(node *node) string {
	var youngest time.Time
	ran, found := "", false
	for _, pod := range slices.Concat(node.pods, node.ignored) {
		hash, created := pod.hash, pod.object.CreationTimestamp.Time
		if pod.atUpdate {
			hash = v.plan.Status.UpdateRevision
		}
		if (pod.atUpdate || v.templateOf(hash) != nil) && (!found || created.After(youngest)) {
			ran, youngest, found = hash, created, true
		}
	}
	return ran
}

// needsOf are the features that a node has to declare before the scheduler binds a pod of the template to it (T9).
func needsOf(template *corev1.PodTemplateSpec) []string {
	var needs []string
	if users := template.Spec.HostUsers; template.Spec.HostNetwork && users != nil && !*users {
		needs = append(needs, "UserNamespacesHostNetworkSupport")
	}
	for _, c := range slices.Concat(template.Spec.InitContainers, template.Spec.Containers) {
		for _, rule := range c.RestartPolicyRules {
			if rule.Action == corev1.ContainerRestartRuleActionRestartAllContainers {
				needs = append(needs, "RestartAllContainersOnContainerExits")
			}
		}
		for _, mount := range c.VolumeMounts {
			if len(mount.BindMountOptions) > 0 {
				needs = append(needs, "VolumeBindMountOptions")
			}
		}
	}
	return needs
}

// declaresAll reports whether a node declares all of the features.
func declaresAll(node *corev1.Node, features []string) bool {
	return !slices.ContainsFunc(features, func(feature string) bool {
		return !slices.Contains(node.Status.DeclaredFeatures, feature)
	})
}
