package judge_test

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/daemonplan/daemonplan/internal/judge"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/failure"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
	"github.com/daemonplan/daemonplan/rollout/stage"
)

// TestParts: node b of ring 1 is begun after ring 0, which is node a, and perhaps node c.
func TestParts(t *testing.T) {
	updated, old := []rollouttest.PodOption{}, []rollouttest.PodOption{rollouttest.Unready()}
	failed := []rollouttest.PodOption{rollouttest.Unready(), rollouttest.Created(ago(time.Hour))}
	tests := []struct {
		name, why string
		policy    rollout.Policy
		isNew     bool // node a has the update revision
		pod       []rollouttest.PodOption
		node      func(*corev1.Node)
		another   bool // node c has it, too, and is available
		found     judge.Rule
	}{
		{name: "done", why: "T8", isNew: true, pod: updated},
		{name: "not done", why: "V20", pod: old, found: judge.Stage},
		{name: "not available", why: "V20", isNew: true, pod: old, another: true, found: judge.Stage},
		{
			name: "tolerated", why: "T8: one of two", isNew: true, pod: old, another: true,
			policy: rollout.Policy{Stages: []stage.Stage{{Tolerance: new(intstr.FromString("50%"))}, {}}},
		},
		{
			name: "tolerance rounds down", why: "T8: 49% of two are none", isNew: true, pod: old, another: true, found: judge.Stage,
			policy: rollout.Policy{Stages: []stage.Stage{{Tolerance: new(intstr.FromString("49%"))}, {}}},
		},
		{
			name: "a keep node", why: "V20: the revision may have broken it", isNew: true, pod: old, another: true, found: judge.Stage,
			node: rollouttest.Taint("broken", "", corev1.TaintEffectNoSchedule),
		},
		{
			name: "soaks", why: "V21", isNew: true, pod: updated, found: judge.Soak,
			policy: rollout.Policy{Stages: []stage.Stage{{Soak: time.Second}, {}}},
		},
		{
			name: "not approved", why: "V20", isNew: true, pod: updated, found: judge.Stage,
			policy: rollout.Policy{Stages: []stage.Stage{{}, {Approval: true}}},
		},
		{
			name: "expedited", why: "T8", pod: old,
			policy: rollout.Policy{Stages: []stage.Stage{{}, {}}, Expedite: "*"},
		},
		{
			name: "too many failed", why: "V25", isNew: true, pod: failed, found: judge.Failures,
			policy: rollout.Policy{Failures: &failure.Options{}},
		},
		{
			name: "one may fail", why: "F2", isNew: true, pod: failed,
			policy: rollout.Policy{Failures: &failure.Options{MaxFailed: new(intstr.FromInt32(1))}},
		},
		{
			name: "quarantined", why: "F4", isNew: true, pod: failed, another: true,
			policy: rollout.Policy{
				Stages:   []stage.Stage{{}, {}},
				Failures: &failure.Options{MaxFailed: new(intstr.FromInt32(1)), Quarantine: new(intstr.FromInt32(1))},
			},
		},
		{
			name: "unavailable for a short time", why: "F1", isNew: true, pod: []rollouttest.PodOption{
				rollouttest.Unready(), rollouttest.Created(ago(time.Minute)),
			},
			policy: rollout.Policy{Failures: &failure.Options{}},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if test.why == "" {
				t.Error("no why")
			}
			s := newScene(rollouttest.MaxUnavailable("100%"))
			policy := test.policy
			if policy.Stages == nil && policy.Failures == nil {
				policy.Stages = []stage.Stage{{}, {}}
			}
			for i := range policy.Stages {
				policy.Stages[i].Name, policy.Stages[i].Key = []string{"first", "second"}[i], "ring"
				policy.Stages[i].Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"ring": []string{"0", "1"}[i]}}
			}
			s.update.Strategy.Policy = policy
			of := &s.old
			if test.isNew {
				of = &s.update
			}
			a := rollouttest.Node("a", rollouttest.Label("ring", "0"))
			if test.node != nil {
				test.node(a)
			}
			s.add(a, of, test.pod...)
			s.add(rollouttest.Node("b", rollouttest.Label("ring", "1")), &s.old)
			if test.another {
				s.add(rollouttest.Node("c", rollouttest.Label("ring", "0")), &s.update)
			}
			rules := s.found(func(j *judge.Judge) { j.Deleted(s.pod("b")) })
			if test.found == 0 && len(rules) > 0 || test.found != 0 && !slices.Contains(rules, test.found) {
				t.Errorf("found %v, want %v", rules, test.found)
			}
		})
	}
}
