package stock

import (
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/tolerations"
)

// replicaSet is a revision, as the ExtendedDaemonSet controller keeps it.
type replicaSet struct {
	hash, name string
	created    time.Time
	template   *corev1.PodTemplateSpec
	matcher    *placement.Matcher
	overrides  *placement.Evaluator
	backoffs   backoffs
	failing    map[string]bool // nodes of which a failed pod is deleted in this call
	handled    handled
}

// extendedBackoff is the first back-off of failed pods.
const extendedBackoff = 10 * time.Second

func (s *extendedRound) newReplicaSet(
	hash string, revision *appsv1.ControllerRevision, template *corev1.PodTemplateSpec, snapshot rollout.Snapshot,
) *replicaSet {
	r := &replicaSet{hash: hash, name: revision.Name, created: revision.CreationTimestamp.Time, template: template,
		failing: make(map[string]bool)}
	r.matcher, _ = placement.Compile(template) // what is mistaken matches nothing
	overrides, _ := placement.CompileOverrides(s.spec.Namespace, s.spec.Name, template, s.spec.Overrides)
	r.overrides = overrides.Evaluator()
	r.backoffs = newBackoffs(snapshot, hash, extendedBackoff)
	r.handled = readHandled(s.memory.Conditions, hash, s.now)
	return r
}

// extendedTolerations are the tolerations that the controller takes all pods to have. The operator Exists covers all values.
var extendedTolerations = []corev1.Toleration{
	{Key: corev1.TaintNodeNotReady, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute},
	{Key: corev1.TaintNodeUnreachable, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute},
	{Key: corev1.TaintNodeDiskPressure, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule},
	{Key: corev1.TaintNodeMemoryPressure, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule},
	{Key: corev1.TaintNodeUnschedulable, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule},
	{Key: corev1.TaintNodeNetworkUnavailable, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule},
}

// fits reports whether the controller runs the pod on the node. There is no middle way: a pod that may not start there may not go
// on there either.
func (r *replicaSet) fits(node *corev1.Node) bool {
	if node == nil {
		return false
	}
	bare := *node
	bare.Spec.Taints = nil
	if r.matcher.Evaluate(&bare).Outcome != placement.Run {
		return false
	}
	for i := range node.Spec.Taints {
		taint := &node.Spec.Taints[i]
		covers := func(t corev1.Toleration) bool { return tolerations.Tolerates(&t, taint) }
		if taint.Effect != corev1.TaintEffectPreferNoSchedule &&
			!slices.ContainsFunc(r.template.Spec.Tolerations, covers) && !slices.ContainsFunc(extendedTolerations, covers) {
			return false
		}
	}
	return true
}

// These are kinds of conditions of a replica set that say when the controller last did something for it.
const (
	fullSync    = "LastFullSync"
	podCreation = "PodCreation"
	podDeletion = "PodDeletion"
	// trialFailed is when its trial failed. For two minutes after that it is not deleted.
	trialFailed = "Canary-Failed"
	// templateRestored is when the template of the active one was put back into the spec, as its trial had failed.
	templateRestored = "TemplateRestored"
)

const failedStays = 2 * time.Minute

// handled is when the controller last handled a replica set, and when it last created and deleted pods of it; by kind of
// condition. In the memory each is a condition with the hash of the revision in its type.
type handled map[string]time.Time

func readHandled(conditions []metav1.Condition, hash string, now time.Time) handled {
	h := make(handled)
	for _, c := range conditions {
		for _, kind := range []string{fullSync, podCreation, podDeletion, trialFailed, templateRestored} {
			if c.Type == kind+"-"+hash {
				h[kind] = c.LastTransitionTime.Time
				if h[kind].After(now) {
					h[kind] = now // a clock was set back
				}
			}
		}
	}
	return h
}

func (h handled) conditions(hash string) (list []metav1.Condition) {
	for kind, at := range h {
		list = append(list, metav1.Condition{
			Type: kind + "-" + hash, Status: metav1.ConditionTrue, Reason: kind, LastTransitionTime: metav1.NewTime(at),
		})
	}
	slices.SortFunc(list, func(a, b metav1.Condition) int { return strings.Compare(a.Type, b.Type) })
	return list
}

// delayed reports whether the controller did that a short time ago. Then it waits, and a sync is due when the time is over.
func (s *extendedRound) delayed(r *replicaSet, kind string) bool {
	at, did := r.handled[kind]
	due := at.Add(s.of.frequency)
	if !did || !s.now.Before(due) {
		return false
	}
	s.wakeAt(due)
	return true
}
