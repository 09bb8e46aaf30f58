//go:build teeth

package properties_test

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/daemonplan/daemonplan/internal/harness"
	"github.com/daemonplan/daemonplan/rollout"
	policy "github.com/daemonplan/daemonplan/rollout/outage"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// outagesBy changes the policy for outages, if there is one.
func outagesBy(change func(*policy.Options)) rollouttest.SpecOption {
	return func(s *rollout.Spec) {
		if s.Strategy.Policy.Outages != nil {
			o := s.Strategy.Policy.Outages.DeepCopy()
			change(&o)
			s.Strategy.Policy.Outages = &o
		}
	}
}

// downSince plans as if nodes that are not Ready were so since another instant.
func downSince(other func(metav1.Time) metav1.Time) func(rollout.Spec, harness.PlanFunc) harness.PlanFunc {
	return misreading(func(s *rollout.Snapshot) {
		s.Nodes = slices.Clone(s.Nodes)
		for i, n := range s.Nodes {
			s.Nodes[i] = n.DeepCopy()
			for j := range s.Nodes[i].Status.Conditions {
				if c := &s.Nodes[i].Status.Conditions[j]; c.Type == corev1.NodeReady && c.Status != corev1.ConditionTrue {
					c.LastTransitionTime = other(c.LastTransitionTime)
				}
			}
		}
	})
}

// neverStarted plans as if no kubelet had started any pod.
func neverStarted(s *rollout.Snapshot) {
	s.Pods = slices.Clone(s.Pods)
	for i, p := range s.Pods {
		s.Pods[i] = p.DeepCopy()
		s.Pods[i].Status.StartTime = nil
	}
}

func longAgo(metav1.Time) metav1.Time {
	return metav1.NewTime(rollouttest.Noon().Add(-1000 * time.Hour))
}

// whateverItsPods plans as if a node that is down had been so before everything, and its pods had never been started.
func whateverItsPods(spec rollout.Spec, plan harness.PlanFunc) harness.PlanFunc {
	return downSince(longAgo)(spec, misreading(neverStarted)(spec, plan))
}

var (
	touches       = asIf(outagesBy(func(o *policy.Options) { o.Touch = true }))
	exemptsAll    = asIf(outagesBy(func(o *policy.Options) { o.MaxExempt = new(intstr.FromString("100%")) }))
	exemptsNobody = asIf(outagesBy(func(o *policy.Options) { o.MaxExempt = nil }))
	tiesExcuse    = downSince(func(at metav1.Time) metav1.Time {
		if at.IsZero() {
			return at
		}
		return metav1.NewTime(at.Add(-time.Second))
	})
	unknownIsLongAgo = downSince(func(at metav1.Time) metav1.Time {
		if at.IsZero() {
			return longAgo(at)
		}
		return at
	})
	// repairsDeparting touches departing nodes, but begins no update there.
	repairsDeparting = func(spec rollout.Spec, plan harness.PlanFunc) harness.PlanFunc {
		touching := touches(spec, plan)
		return func(s rollout.Snapshot) (rollout.Plan, error) {
			right, err := plan(s)
			if err != nil {
				return right, err
			}
			p, err := touching(s)
			for _, d := range right.Decisions {
				if d.Reason == rollout.ReasonDeparting {
					return p, err
				}
			}
			return right, nil
		}
	}
)

// undrained takes off the conditions of drains.
func undrained(s *rollout.Snapshot) {
	s.Nodes = slices.Clone(s.Nodes)
	for i, n := range s.Nodes {
		n = n.DeepCopy()
		n.Status.Conditions = slices.DeleteFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
			return c.Type == "DrainInProgress" || c.Type == "Drained"
		})
		s.Nodes[i] = n
	}
}

var outageMutants = []mutant{
	{"exempts any node that is down", "the pods there are not looked at", excusedByEvidence, whateverItsPods},
	{"exempts more than may be", "the limit is not looked at", excusedByEvidence, exemptsAll},
	{"takes a tie for evidence", "not after is taken for before", excusedByEvidence, tiesExcuse},
	{"takes unknown for long ago", "the zero time is before any other", excusedByEvidence, unknownIsLongAgo},
	{"does not see that a pod was started", "only when it was created counts", excusedByEvidence, misreading(neverStarted)},
	{"exempts more than may be, with canaries", "the limit is not looked at", excusedOnTrial, exemptsAll},
	{"repairs departing nodes", "repair comes before the rollout", leftAlone, repairsDeparting},
	{"touches departing nodes", "Ready is all that counts", leftAlone, touches},
	{"begins updates on drained nodes", "drains pass daemons by", leftAlone, misreading(undrained)},
}

var outageTaleMutants = []taleMutant{
	{"exempts what the revision broke", "any node that is down is left out", passesOutages, whateverItsPods},
	{"exempts all of a mass outage", "the limit is not looked at", passesOutages, exemptsAll},
	{"touches departing nodes, all the way", "Ready is all that counts", passesDeparting, touches},
	{"repairs departing nodes, all the way", "repair comes before the rollout", passesDeparting, repairsDeparting},
	{"exempts nobody", "the limit counts from one", endsOutages, exemptsNobody},
}

func TestOutagePropertiesRejectMutants(t *testing.T) {
	t.Parallel()
	named := unique(t)
	for _, m := range outageMutants {
		named(m.name, m.why)
		t.Run(m.name, func(t *testing.T) { rejects(t, m) })
	}
	for _, m := range outageTaleMutants {
		named(m.name, m.why)
		t.Run(m.name, func(t *testing.T) { m.isRejected(t) })
	}
}
