package stock

import (
	"crypto/md5" //nolint:gosec // the controller names it so; it protects nothing
	"encoding/hex"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout"
)

// Which pods a replica set sees on a node, and which of them are up to date.

// view is a node as a replica set sees it.
type view struct {
	*node
	// runs: the node is to run the pod of the replica set.
	runs bool
	// kept is the one pod that stays, which may be on its way out; nil: there is none, so that the controller takes the node for
	// empty.
	kept *member
	// current: the pod that stays is up to date.
	current bool
}

// see chooses on each node the pod that stays, and wants the others to be deleted: of several the oldest that is bound stays,
// whatever its state. The controller does that on all nodes but those that are left out.
func (s *extendedRound) see(r *replicaSet, leftOut func(*node) bool) []view {
	views := make([]view, 0, len(s.nodes))
	for _, n := range s.nodes {
		if leftOut(n) {
			continue
		}
		v := view{node: n, runs: r.fits(n.object)}
		for _, pod := range n.pods {
			switch {
			case pod.Status.Phase == corev1.PodUnknown: // the controller does not see it
			case !v.runs:
				s.clean(n, pod, rollout.ReasonLeaving)
			case pod.Status.Phase == corev1.PodFailed && s.isDue(r, n):
				s.clean(n, pod, rollout.ReasonFailed)
			case v.kept == nil: // they are in their order
				v.kept = pod
			default:
				s.clean(n, pod, rollout.ReasonSurplus)
			}
		}
		v.current = v.kept != nil && s.isCurrent(r, n, v.kept)
		views = append(views, v)
	}
	return views
}

// isDue reports whether a failed pod of the node may be deleted now: one in a call.
func (s *extendedRound) isDue(r *replicaSet, n *node) bool {
	if until := r.backoffs.until(n.name, s.now); !until.IsZero() {
		s.wakeAt(until)
		n.waits = rollout.LimitBackoff
		return false
	}
	first := !r.failing[n.name]
	r.failing[n.name] = true
	return first
}

// clean wants a pod to go, unless it is on its way out.
func (s *extendedRound) clean(n *node, pod *member, reason rollout.Reason) {
	if n.decision == nil {
		reason = rollout.ReasonNodeGone
	}
	s.delete(n, pod, reason, rollout.VerbDelete)
}

func (s *extendedRound) delete(n *node, pod *member, reason rollout.Reason, verb rollout.Verb) {
	if pod.marked || s.deleting[pod] {
		return
	}
	s.deleting[pod] = true
	s.deletes = append(s.deletes, deletion{n, pod, reason, verb, deleted, nil})
}

// These are annotations that the controller writes on pods.
const (
	templateHash = "extendeddaemonset.datadoghq.com/templatehash"
	nodeHash     = "extendeddaemonset.datadoghq.com/nodehash"
)

// isCurrent reports whether the pod is what the replica set would create on the node. Of a setting it looks at what the setting
// names, in the pod. Of the node's annotations it looks at their hash, which is on pods that the controller made; of other pods
// it looks at what they were made with.
func (s *extendedRound) isCurrent(r *replicaSet, n *node, pod *member) bool {
	if pod.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] != r.hash || !hasSetting(pod, s.settingOf(n)) {
		return false
	}
	if _, made := pod.Annotations[templateHash]; made {
		hash, has := pod.Annotations[nodeHash]
		wanted := ""
		if n.object != nil {
			wanted = s.annotationHash(n.object)
		}
		return hash == wanted && has == (wanted != "")
	}
	return pod.Annotations[placement.DigestAnnotation] == r.overrides.Evaluate(n.object).Digest
}

// settingOf returns the override that is for the node; nil: there is none.
func (s *extendedRound) settingOf(n *node) *placement.Override {
	if n.object == nil || len(s.spec.Overrides) == 0 {
		return nil
	}
	var newest *placement.Override
	for i, selector := range s.settings {
		o := &s.spec.Overrides[i]
		if selector.Matches(labels.Set(n.object.Labels)) && (newest == nil || o.Created.After(newest.Created) ||
			o.Created.Equal(newest.Created) && o.Name > newest.Name) {
			newest = o
		}
	}
	return newest
}

// hasSetting reports whether the pod has all resources that the setting names. It may have others, too.
func hasSetting(pod *member, setting *placement.Override) bool {
	if setting == nil {
		return true
	}
	for i := range pod.Spec.Containers {
		container := &pod.Spec.Containers[i]
		wanted, named := setting.Containers[container.Name]
		has := &container.Resources
		if named && (!hasAll(has.Limits, wanted.Limits) || !hasAll(has.Requests, wanted.Requests)) {
			return false
		}
	}
	return true
}

func hasAll(amounts, wanted corev1.ResourceList) bool {
	for name, quantity := range wanted {
		if has, found := amounts[name]; !found || has.Cmp(quantity) != 0 {
			return false
		}
	}
	return true
}

// annotationHash is the hash that the controller makes of the annotations by which a node changes resources; empty: there are
// none.
func (s *extendedRound) annotationHash(n *corev1.Node) string {
	prefix := placement.OverrideAnnotationPrefix + s.spec.Namespace + "." + s.spec.Name + "."
	var all []string
	for key, value := range n.Annotations {
		if strings.HasPrefix(key, prefix) {
			all = append(all, key+"="+value)
		}
	}
	if len(all) == 0 {
		return ""
	}
	slices.Sort(all)
	sum := md5.Sum([]byte(strings.Join(all, ""))) //nolint:gosec // see the import
	return hex.EncodeToString(sum[:])
}
