package worlds

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/domain"
	"github.com/daemonplan/daemonplan/rollout/failure"
	"github.com/daemonplan/daemonplan/rollout/outage"
	"github.com/daemonplan/daemonplan/rollout/stage"
)

// Documented are the policies of the page docs/policies-for-fleets.md, in its order. Each sets the policy of a spec, whose plan,
// as far as there is one, names the revision that is rolled out. A test holds them to the snippets of the page.
var Documented = []func(*rollout.Spec, *rollout.Plan){
	nodesThatAreDown, nodesThatLeave, racksAndZones, ringsWithApproval, zoneByZone, lastTheGPUs, backByItself, threeInQuarantine,
	securityFix, allTogether,
}

func nodesThatAreDown(spec *rollout.Spec, _ *rollout.Plan) {
	spec.Strategy.Policy.Outages = &outage.Options{MaxExempt: new(intstr.FromString("5%")), ProvenAfter: time.Hour}
}

func nodesThatLeave(spec *rollout.Spec, _ *rollout.Plan) {
	spec.Strategy.Policy.Outages = &outage.Options{
		MaxExempt: new(intstr.FromString("5%")),
		Taints:    []string{"example.com/retiring"}, Conditions: []string{"example.com/Draining"},
	}
}

func racksAndZones(spec *rollout.Spec, _ *rollout.Plan) {
	spec.Strategy.Policy.Domains = []domain.Domain{
		{Key: "example.com/rack", Max: new(intstr.FromInt32(1))},
		{Key: "topology.kubernetes.io/zone", AtOnce: 1},
	}
}

func ringsWithApproval(spec *rollout.Spec, plan *rollout.Plan) {
	spec.Strategy.Policy.Stages = []stage.Stage{
		{Name: "ring-0", Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"ring": "0"}}, Soak: time.Hour},
		{Name: "production", Approval: true, Tolerance: new(intstr.FromString("2%"))},
	}
	spec.Strategy.Policy.Approved = []stage.Approval{{Stage: "production", Revision: plan.Status.UpdateRevision}}
}

func zoneByZone(spec *rollout.Spec, _ *rollout.Plan) {
	spec.Strategy.Policy.Stages = []stage.Stage{{
		Name: "zones", Key: "topology.kubernetes.io/zone", Tolerance: new(intstr.FromString("1%")), Soak: 30 * time.Minute,
	}}
}

func lastTheGPUs(spec *rollout.Spec, _ *rollout.Plan) {
	gpu := map[string]string{"pool": "gpu"}
	spec.Strategy.Policy.Stages = []stage.Stage{
		{Name: "cpu", Tolerance: new(intstr.FromString("1%")), Soak: time.Hour, Selector: &metav1.LabelSelector{
			MatchExpressions: []metav1.LabelSelectorRequirement{
				{Key: "pool", Operator: metav1.LabelSelectorOpNotIn, Values: []string{"gpu"}},
			},
		}},
		{Name: "gpu"},
	}
	spec.Strategy.Policy.Domains = []domain.Domain{
		{Selector: &metav1.LabelSelector{MatchLabels: gpu}, Max: new(intstr.FromInt32(2))},
	}
}

func backByItself(spec *rollout.Spec, _ *rollout.Plan) {
	spec.Strategy.Policy.Failures = &failure.Options{
		Action: failure.Rollback, MaxFailed: new(intstr.FromString("2%")), Deadline: 10 * time.Minute, MaxRestarts: new(int32(3)),
	}
}

func threeInQuarantine(spec *rollout.Spec, _ *rollout.Plan) {
	spec.Strategy.Policy.Failures = &failure.Options{
		MaxFailed: new(intstr.FromInt32(5)), Quarantine: new(intstr.FromInt32(3)),
	}
}

func securityFix(spec *rollout.Spec, plan *rollout.Plan) {
	spec.Strategy.Policy.Stages = []stage.Stage{
		{Name: "ring-0", Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"ring": "0"}}, Soak: 24 * time.Hour},
		{Name: "production", Approval: true},
	}
	spec.Strategy.Policy.Expedite = plan.Status.UpdateRevision
}

func allTogether(spec *rollout.Spec, _ *rollout.Plan) {
	spec.Strategy.Policy = rollout.Policy{
		Stages: []stage.Stage{
			{Name: "ring-0", Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"ring": "0"}}, Soak: time.Hour},
			{Name: "ring-1", Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"ring": "1"}}, Soak: time.Hour},
			{Name: "production"},
		},
		Domains: []domain.Domain{{Key: "example.com/rack", AtOnce: 1}},
		Outages: &outage.Options{MaxExempt: new(intstr.FromString("5%"))},
		Failures: &failure.Options{
			Action: failure.Rollback, MaxFailed: new(intstr.FromString("2%")), Quarantine: new(intstr.FromString("2%")),
		},
	}
}
