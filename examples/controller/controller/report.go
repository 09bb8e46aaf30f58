package controller

import (
	"cmp"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/daemonplan/daemonplan/rollout"
)

// What Prometheus sees, by namespace and name of the set.
var (
	bySet       = []string{"namespace", "name"}
	planSeconds = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "daemonplan_plan_seconds", Help: "Time that a plan takes.", Buckets: prometheus.ExponentialBuckets(1e-5, 4, 10),
	}, bySet)
	actions = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "daemonplan_actions_total",
		Help: "Requests to the API server, by verb and outcome: done, normal (somebody else was faster) or failed.",
	}, with("verb", "outcome"))
	nodes = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "daemonplan_nodes", Help: "Nodes by the state of their pod.",
	}, with("state"))
	blocked = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "daemonplan_blocked_nodes", Help: "Nodes that wait, by reason and by the limit that they wait for.",
	}, with("reason", "limit"))
	progress = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "daemonplan_last_action_timestamp_seconds", Help: "When a plan last had an action.",
	}, bySet)
)

func with(labels ...string) []string { return slices.Concat(bySet, labels) }

func init() {
	metrics.Registry.MustRegister(planSeconds, actions, nodes, blocked, progress)
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

// forgetMetrics of a set that is gone.
func forgetMetrics(name types.NamespacedName) {
	of := prometheus.Labels{"namespace": name.Namespace, "name": name.Name}
	for _, vec := range []interface{ DeletePartialMatch(prometheus.Labels) int }{planSeconds, actions, nodes, blocked, progress} {
		vec.DeletePartialMatch(of)
	}
}

// tell shows a plan: metrics, and an event when something else blocks the rollout than before.
func (r *Reconciler) tell(s *set, plan rollout.Plan) {
	namespace, name := s.object.GetNamespace(), s.object.GetName()
	of := prometheus.Labels{"namespace": namespace, "name": name}
	nodes.DeletePartialMatch(of)
	for i := range plan.Decisions {
		nodes.WithLabelValues(namespace, name, plan.Decisions[i].State.String()).Inc()
	}
	if !plan.Empty() {
		progress.WithLabelValues(namespace, name).Set(float64(r.Clock.Now().Unix()))
	}
	blocked.DeletePartialMatch(of)
	var lines []string
	for _, wait := range plan.Waits() {
		blocked.WithLabelValues(namespace, name, wait.Reason.String(), wait.Limit.String()).Set(float64(len(wait.Nodes)))
		lines = append(lines, wait.String())
	}
	if now := strings.Join(lines, "; "); now != s.told {
		s.told = now
		reason, note := plan.Status.State.String(), cmp.Or(now, "no node waits")
		r.Events.Eventf(s.object, nil, corev1.EventTypeNormal, reason, "Plan", "%s", note)
	}
}
