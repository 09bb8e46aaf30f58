package controller

import (
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/daemonplan/daemonplan/rollout"
)

// These are the metrics for Prometheus, by namespace, name and kind of the set.
var (
	bySet       = []string{"namespace", "name", "kind"}
	planSeconds = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "daemonplan_plan_seconds", Help: "Time that a plan and its claims take.",
		Buckets: prometheus.ExponentialBuckets(1e-5, 4, 10),
	}, bySet)
	actions = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "daemonplan_actions_total",
		Help: "Requests about pods, revisions and pulls, by verb and outcome: done, normal (somebody else was faster) or failed.",
	}, with("verb", "outcome"))
	nodes = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "daemonplan_nodes", Help: "Nodes by the state of their pod.",
	}, with("state"))
	blocked = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "daemonplan_blocked_nodes", Help: "Nodes that wait, by reason and by the limit that they wait for.",
	}, with("reason", "limit"))
	valid = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "daemonplan_spec_valid", Help: "Whether the spec can be planned for: 1 or 0.",
	}, bySet)
	progress = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "daemonplan_last_action_timestamp_seconds", Help: "When a plan last had an action.",
	}, bySet)
)

func with(labels ...string) []string { return slices.Concat(bySet, labels) }

func init() {
	metrics.Registry.MustRegister(planSeconds, actions, nodes, blocked, valid, progress)
}

func outcome(err error) string {
	switch {
	case err == nil:
		return "done"
	case isNormal(err):
		return "normal"
	default:
		return "failed"
	}
}

// identity is the labels that identify the metrics of the set.
func (s *set) identity() prometheus.Labels {
	labels := prometheus.Labels{}
	for i, value := range s.labels() {
		labels[bySet[i]] = value
	}
	return labels
}

// forgetMetrics drops all metrics of a set that is gone.
func forgetMetrics(s *set) {
	forgetNodes(s)
	for _, vec := range []interface{ DeletePartialMatch(prometheus.Labels) int }{planSeconds, actions, valid, progress} {
		vec.DeletePartialMatch(s.identity())
	}
}

// tellValid shows whether the spec is valid: in a metric, and if it is invalid in an event with the mistakes, whenever they
// change.
func (r *Reconciler) tellValid(s *set, invalid error) {
	mistake, value := "", 1.0
	if invalid != nil {
		mistake, value = invalid.Error(), 0
	}
	valid.WithLabelValues(s.labels()...).Set(value)
	if invalid != nil && mistake != s.refused {
		r.warn(s, nil, "Invalid", "Plan", invalid)
	}
	s.refused = mistake
}

// forgetNodes drops the metrics that come from a plan, when there is no plan that shows them.
func forgetNodes(s *set) {
	nodes.DeletePartialMatch(s.identity())
	blocked.DeletePartialMatch(s.identity())
}

// tell shows a plan: in metrics, and in an event when the rollout is blocked by something else than before. If the spec is
// invalid by now, the plan is one of the last valid spec, paused. There is an event about the mistake already, so there is none
// about the pause.
func (r *Reconciler) tell(s *set, plan *rollout.Plan, invalid bool) {
	states := map[string]int{}
	for i := range plan.Decisions {
		states[plan.Decisions[i].State.String()]++
	}
	forgetNodes(s)
	for state, count := range states {
		nodes.WithLabelValues(append(s.labels(), state)...).Set(float64(count))
	}
	if !plan.Empty() {
		progress.WithLabelValues(s.labels()...).Set(float64(r.Clock.Now().Unix()))
	}
	why := []string{plan.Status.State.String()}
	for _, wait := range plan.Waits() {
		blocked.WithLabelValues(append(s.labels(), wait.Reason.String(), wait.Limit.String())...).Set(float64(len(wait.Nodes)))
		why = append(why, wait.Reason.String(), wait.Limit.String())
	}
	if !invalid && !slices.Equal(why, s.told) { // why has no numbers and no names of nodes, which change with each step
		s.told = why
		// A recorder combines events that differ in their text only, so they need different actions.
		r.Events.Eventf(s.object, nil, corev1.EventTypeNormal, why[0], action(plan), "%s", note(summary(plan)))
	}
}

// action is what a plan is about in one word, for its event.
func action(plan *rollout.Plan) string {
	if waits := plan.Waits(); len(waits) > 0 {
		return "Wait" + waits[0].Reason.String()
	}
	return "Plan"
}

// summary is the state in one word, and what nodes wait for.
func summary(plan *rollout.Plan) string {
	lines := []string{plan.Status.State.String()}
	for _, wait := range plan.Waits() {
		lines = append(lines, wait.String())
	}
	return note(strings.Join(lines, "; "))
}

// note is a text that fits into an event.
func note(text string) string {
	const longest = 1000 // the API server accepts 1,024 bytes
	if len(text) <= longest {
		return text
	}
	return strings.ToValidUTF8(text[:longest], "") + "…"
}
