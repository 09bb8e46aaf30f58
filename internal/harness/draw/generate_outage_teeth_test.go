//go:build teeth

package draw_test

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/internal/harness"
	"github.com/daemonplan/daemonplan/internal/harness/draw"
	"github.com/daemonplan/daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
)

func TestAnyScenarioReachesOutages(t *testing.T) {
	reachesEveryCase(t, draw.AnyCase(), func(note func(string, bool), s harness.Case, plan rollout.Plan) {
		o := s.Spec.Strategy.Policy.Outages
		if o == nil {
			return
		}
		note("default maxExempt", o.MaxExempt == nil)
		note("maxExempt in nodes", o.MaxExempt != nil && o.MaxExempt.IntVal > 0)
		note("maxExempt in percent", o.MaxExempt != nil && o.MaxExempt.StrVal != "")
		note("provenAfter", o.ProvenAfter > 0)
		note("touch", o.Touch)
		note("further signs", len(o.Taints)+len(o.Conditions) > 0)
		note("with surge", s.Spec.Strategy.MaxSurge != nil)
		note("in place", objects.UpdatesInPlace(&s.Spec))
		for _, n := range s.Snapshot.Nodes {
			noteOutage(note, s, n)
		}
		for _, p := range s.Snapshot.Pods {
			note("started", p.Status.StartTime != nil)
			note("not started", p.Status.StartTime == nil)
			note("grace period", p.DeletionTimestamp != nil && p.DeletionGracePeriodSeconds != nil)
		}
		for _, d := range plan.Decisions {
			for e := rollout.Exemption(0); e.String() != "unknown"; e++ {
				note("exempt "+e.String(), d.Exemption == e || e == rollout.ExemptionUnschedulable || e == rollout.ExemptionQuarantined) // no spec here has those
			}
			note("surge place left out", d.Exemption == rollout.ExemptionOut && s.Spec.Strategy.MaxSurge != nil)
		}
		note("all places taken", plan.Budget.ExemptOut > 0 && plan.Budget.ExemptOut == plan.Budget.MaxExempt)
		note("places left", plan.Budget.ExemptOut < plan.Budget.MaxExempt)
	})
}

// noteOutage notes how a node is out, and when its new pod came.
func noteOutage(note func(string, bool), s harness.Case, n *corev1.Node) {
	out := s.Spec.Strategy.Policy.Outages.Of(n)
	note("departing", out.Departing)
	note("down", out.Out && !out.Departing)
	note("since unknown", out.Out && out.Since.IsZero())
	note("marked for deletion", n.DeletionTimestamp != nil)
	for _, t := range n.Spec.Taints {
		note("taint with a time", t.TimeAdded != nil)
	}
	note("without conditions", len(n.Status.Conditions) == 0)
	for _, p := range s.Snapshot.Pods {
		if node, ok := placement.TargetNode(p); !ok || node != n.Name || !out.Out || objects.RevisionOf(p) != kit.Hash(s.Spec) {
			continue
		}
		created := p.CreationTimestamp.Unix()
		note("down before", !out.Since.IsZero() && out.Since.Unix() < created)
		note("tie", out.Since.Unix() == created)
		note("down after", out.Since.Unix() > created)
		note("in a hook", slices.Contains([]string{"PreparingDelete", "PreparingUpdate"}, p.Labels["lifecycle.apps.kruise.io/state"]))
		note("updated in place", p.Annotations["apps.kruise.io/inplace-update-state"] != "")
	}
}
