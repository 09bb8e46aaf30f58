//go:build teeth

package main

import (
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/daemonplan/daemonplan/internal/judge"
	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout"
	failures "github.com/daemonplan/daemonplan/rollout/failure"
	"github.com/daemonplan/daemonplan/rollout/history"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
	"github.com/daemonplan/daemonplan/rollout/simulate"
	"github.com/daemonplan/daemonplan/rollout/stage"
)

// replanStages makes the plan of a planner with other stages.
func replanStages(change func(*stage.Stage)) func(*simulate.Step) {
	return replan(func(spec *rollout.Spec, _ *rollout.Snapshot) {
		spec.Strategy.Policy.Stages = slices.Clone(spec.Strategy.Policy.Stages)
		for i := range spec.Strategy.Policy.Stages {
			change(&spec.Strategy.Policy.Stages[i])
		}
	})
}

// zones are parts by zone; without canary, with room for all nodes at once, so that stages alone keep nodes waiting.
func zones(change ...func(*stage.Stage)) func(*simulate.Scenario) {
	return everywhere(func(s *rollout.Spec) {
		of := stage.Stage{Name: "zones", Key: corev1.LabelTopologyZone}
		for _, c := range change {
			c(&of)
		}
		s.Strategy.Policy = rollout.Policy{Stages: []stage.Stage{of}}
		s.Strategy.Canary, s.Strategy.Partition, s.Strategy.MaxSurge = nil, nil, nil
		s.Strategy.MaxUnavailable = new(intstr.FromString("100%"))
	})
}

// stopping are worlds in which the second image never comes up, one node after the other is begun, and none may fail.
func stopping(kubelet simulate.Kubelet, action failures.Action) func(*simulate.Scenario) {
	return func(s *simulate.Scenario) {
		everywhere(func(s *rollout.Spec) {
			s.Strategy.Policy = rollout.Policy{Failures: &failures.Options{Deadline: 31 * time.Second, Action: action}}
			s.Strategy.Canary, s.Strategy.Partition, s.Strategy.MaxSurge, s.Strategy.Method = nil, nil, nil, ""
			s.Strategy.MaxUnavailable = new(intstr.FromString("100%"))
			rollouttest.SlowStart(2*time.Minute, "1", "100%")(s)
		})(s)
		kubelet.Image = "agent:v2"
		s.Model.Kubelets = append(s.Model.Kubelets, kubelet)
	}
}

func neverReady() simulate.Kubelet { return simulate.Kubelet{NeverReady: new(true)} }

func init() { plantedBugs = append(plantedBugs, plantedInStages...) }

// plantedInStages are bugs with stages and failures.
var plantedInStages = []planted{
	{
		rule: judge.Stage, name: "forgets stages", why: "V20: all parts are open", policies: true,
		spoil: replan(func(spec *rollout.Spec, _ *rollout.Snapshot) {
			spec.Strategy.Policy.Stages, spec.Strategy.Policy.Approved = nil, nil
		}),
	},
	{
		rule: judge.Stage, name: "asks for no approval", why: "V20: a part is open that nobody approved", policies: true,
		spoil: replanStages(func(s *stage.Stage) { s.Approval = false }),
	},
	{
		rule: judge.Stage, name: "tolerates nearly all", why: "V20: a part is not done while more nodes than tolerance are unavailable", policies: true,
		spoil: replanStages(func(s *stage.Stage) { s.Tolerance = new(intstr.FromString("99%")) }),
		shape: zones(),
	},
	{
		rule: judge.Stage, name: "ignores nodes that may keep their pod", policies: true,
		why: "V20: a node that the revision broke turns keep, and its part seems to be done",
		spoil: replan(func(spec *rollout.Spec, seen *rollout.Snapshot) {
			matcher, err := placement.Compile(&spec.Template)
			if err != nil {
				return
			}
			seen.Nodes = slices.DeleteFunc(slices.Clone(seen.Nodes), func(n *corev1.Node) bool {
				return matcher.Evaluate(n).Outcome == placement.Keep
			})
		}),
		shape: func(s *simulate.Scenario) {
			zones()(s)
			everywhere(func(s *rollout.Spec) { s.Template.Spec.Tolerations = nil })(s)
			s.Model.Kubelets = append(s.Model.Kubelets, simulate.Kubelet{Image: "agent:v2", NeverReady: new(true), Share: 0.4})
			for i := range 20 {
				s.Events = append(s.Events, simulate.Event{
					At: time.Duration(i) * 30 * time.Second, What: simulate.TaintNode, Share: 0.3, For: simulate.Fixed(2 * time.Minute),
					Taint: corev1.Taint{Key: "broken", Effect: corev1.TaintEffectNoSchedule},
				})
			}
		},
	},
	{
		rule: judge.Stage, name: "brings the update where nodes wait", policies: true,
		why: "V20: what is lost in a part that is not open comes back as it was",
		spoil: func(step *simulate.Step) {
			for i := range step.Plan.Creates {
				if hash := step.Plan.Status.UpdateRevision; hash != "" {
					step.Plan.Creates[i].Revision, step.Plan.Creates[i].Template = hash, nil
				}
			}
		},
	},
	{
		rule: judge.Stage, name: "marks revisions as completed at once", why: "V20: then no stage keeps any node waiting", policies: true,
		spoil: func(step *simulate.Step) {
			for _, r := range step.Snapshot.Revisions {
				if hash := r.Labels[appsv1.DefaultDaemonSetUniqueLabelKey]; hash == step.Plan.Status.UpdateRevision && !history.Completed(r) {
					step.Plan.Revisions = append(step.Plan.Revisions, rollout.RevisionAction{
						Verb: rollout.AnnotateRevision, Name: r.Name, UID: r.UID,
						Annotations: map[string]string{history.CompletedAnnotation: "now"},
					})
				}
			}
		},
		shape: zones(),
	},
	{
		rule: judge.Soak, name: "does not soak", why: "V21", policies: true,
		spoil: replanStages(func(s *stage.Stage) { s.Soak = 0 }),
	},
	{
		rule: judge.Soak, name: "counts the soak from earlier on", why: "V21: from when the pods became Ready, say", policies: true,
		spoil: replan(func(_ *rollout.Spec, seen *rollout.Snapshot) {
			if f := &seen.Memory.Rollout.Frontier; !f.At.IsZero() {
				f.At = f.At.Add(-10 * time.Second)
			}
		}),
		shape: zones(func(s *stage.Stage) { s.Soak = 10 * time.Minute }),
	},
	{
		rule: judge.Failures, name: "does not look at failures", why: "V25: nodes are begun while too many have failed", policies: true,
		spoil: replan(func(spec *rollout.Spec, _ *rollout.Snapshot) { spec.Strategy.Policy.Failures = nil }),
		shape: stopping(neverReady(), failures.Pause),
	},
	{
		rule: judge.Failures, name: "begins the deadline anew with each pod", why: "V25: a pod that fails again and again is always young",
		policies: true,
		spoil: replan(func(_ *rollout.Spec, seen *rollout.Snapshot) {
			seen.Memory.Backoffs = slices.Clone(seen.Memory.Backoffs)
			for i := range seen.Memory.Backoffs {
				b := &seen.Memory.Backoffs[i]
				b.First, b.Deleted, b.Going = time.Time{}, 0, nil
			}
		}),
		shape: stopping(simulate.Kubelet{Fail: simulate.Fixed(4 * time.Second)}, failures.Pause),
	},
	{
		rule: judge.Failures, name: "revives what was given up", why: "V25: after a verdict nodes go back, until somebody says retry",
		policies: true,
		spoil: replan(func(_ *rollout.Spec, seen *rollout.Snapshot) {
			seen.Memory.Rollout.GaveUp = ""
			seen.Revisions = slices.Clone(seen.Revisions)
			for i, r := range seen.Revisions {
				if history.Failed(r) {
					r = r.DeepCopy()
					delete(r.Annotations, history.FailedAnnotation)
					seen.Revisions[i] = r
				}
			}
		}),
		shape: func(s *simulate.Scenario) {
			stopping(neverReady(), failures.Rollback)(s)
			everywhere(func(s *rollout.Spec) { s.Strategy.SlowStart = nil })(s)
			s.Events = append(s.Events, simulate.Event{
				At: 5 * time.Minute, What: simulate.AddNodes,
				Join: simulate.Pool{Name: "late", Nodes: 2, Labels: map[string]string{"kind": "a"}},
			})
		},
	},
	{
		rule: judge.Budget, name: "leaves out failed nodes", why: "F4: quarantine was to be 0", policies: true,
		wanted: strategy(func(s *rollout.Strategy) {
			if s.Policy.Failures != nil {
				options := s.Policy.Failures.DeepCopy()
				options.Quarantine = nil
				s.Policy.Failures = &options
			}
		}),
		shape: func(s *simulate.Scenario) {
			stopping(neverReady(), failures.Pause)(s)
			everywhere(func(s *rollout.Spec) {
				most := new(intstr.FromString("100%"))
				s.Strategy.Policy.Failures = &failures.Options{Deadline: 31 * time.Second, MaxFailed: most, Quarantine: most}
				s.Strategy.MaxUnavailable, s.Strategy.SlowStart = nil, nil
			})(s)
		},
	},
	{
		rule: judge.Blame, name: "blames a revision at once", why: "P-B: the deadline has not passed", policies: true,
		wanted: strategy(func(s *rollout.Strategy) {
			if s.Policy.Failures != nil {
				options := s.Policy.Failures.DeepCopy()
				options.Deadline = time.Hour
				s.Policy.Failures = &options
			}
		}),
		shape: stopping(neverReady(), failures.Rollback),
	},
	{
		rule: judge.Stuck, name: "waits for approvals that nobody asked for", why: "T8: a part is open that needs none", policies: true,
		spoil: replanStages(func(s *stage.Stage) { s.Approval = true }),
		shape: zones(),
	},
}
