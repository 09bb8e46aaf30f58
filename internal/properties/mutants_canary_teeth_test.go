//go:build teeth

package properties_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/internal/harness"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/history"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// taleMutant is a planner with one planted bug. The statement must reject it: one that does not proves nothing.
type taleMutant struct {
	name      string
	why       string // a planner could be wrong like that
	statement statement
	plan      func(rollout.Spec, harness.PlanFunc) harness.PlanFunc
}

// trying changes the options of the canary, if there is one.
func trying(change func(*canary.Options)) rollouttest.SpecOption {
	return func(s *rollout.Spec) {
		if s.Strategy.Canary != nil {
			o := s.Strategy.Canary.DeepCopy()
			change(&o)
			s.Strategy.Canary = &o
		}
	}
}

// isTrial tells whether the plan is one of a canary that runs or rests.
func isTrial(p *rollout.Plan) bool {
	return p.Canary.Phase == canary.Running || p.Canary.Phase == canary.Paused
}

// remarked plans as if there were other marks on the update revision.
func remarked(change func(annotations map[string]string)) func(rollout.Spec, harness.PlanFunc) harness.PlanFunc {
	return func(spec rollout.Spec, plan harness.PlanFunc) harness.PlanFunc {
		return func(s rollout.Snapshot) (rollout.Plan, error) {
			s.Revisions = slices.Clone(s.Revisions)
			for i, r := range s.Revisions {
				if history.HashOf(r) == rollouttest.Hash(spec) {
					s.Revisions[i] = r.DeepCopy()
					if s.Revisions[i].Annotations == nil {
						s.Revisions[i].Annotations = map[string]string{}
					}
					change(s.Revisions[i].Annotations)
				}
			}
			return plan(s)
		}
	}
}

// promoteIf adds the promotion to a plan of a canary that has not come to it.
func promoteIf(ripe func(rollout.Snapshot, *rollout.Plan) bool) func(rollout.Spec, harness.PlanFunc) harness.PlanFunc {
	return spoiling(func(spec rollout.Spec, s rollout.Snapshot, p *rollout.Plan) {
		i := slices.IndexFunc(s.Revisions, func(r *appsv1.ControllerRevision) bool { return r.Name == nameOf(spec) })
		if i < 0 || p.Canary.Phase == canary.Idle || history.Promoted(s.Revisions[i]) || slices.Contains(s.InFlight.Revisions, nameOf(spec)) || !ripe(s, p) {
			return
		}
		p.Revisions = append(slices.Clip(p.Revisions), rollout.RevisionAction{
			Verb: rollout.AnnotateRevision, Name: s.Revisions[i].Name, UID: s.Revisions[i].UID, Number: s.Revisions[i].Revision,
			Annotations: map[string]string{history.PromotedAnnotation: s.Now.UTC().Format(time.RFC3339)},
		})
	})
}

// settling plans as if every pod had been available for long, and had never ended a container.
var settling = misreading(func(s *rollout.Snapshot) {
	s.Pods = slices.Clone(s.Pods)
	for i, p := range s.Pods {
		if p.DeletionTimestamp == nil && p.Spec.NodeName != "" && p.Status.Phase != corev1.PodFailed {
			s.Pods[i] = p.DeepCopy()
			rollouttest.Ready(rollouttest.Noon().Add(-time.Hour))(s.Pods[i])
			s.Pods[i].Status.ContainerStatuses = nil
		}
	}
})

// impatient plans as if the canary had gone on for a day more than it has.
var impatient = misreading(func(s *rollout.Snapshot) {
	if !s.Memory.Canary.Since.IsZero() {
		s.Memory.Canary.Elapsed += 24 * time.Hour
	}
})

var canaryWorldMutants = []taleMutant{
	{
		"a canary node too many", "off by one", keepsToCanary,
		asIf(trying(func(o *canary.Options) { o.Replicas.IntVal++ })),
	},
	{
		"a canary of all nodes", "100% by rounding", watched,
		asIf(rollouttest.Canary("100%")),
	},
	{
		"no canary at all", "the first plan begins everywhere", keepsToCanary,
		asIf(func(s *rollout.Spec) { s.Strategy.Canary = nil }),
	},
	{
		"canary anywhere", "the canary's selector is not looked at", keepsToCanary,
		asIf(trying(func(o *canary.Options) { o.NodeSelector = nil })),
	},
	{
		"lost pods come back on trial", "repair creates at the update revision", watched,
		spoiling(func(spec rollout.Spec, _ rollout.Snapshot, p *rollout.Plan) {
			for i := range p.Creates {
				if p.Canary.Phase == canary.Running {
					p.Creates[i].Revision, p.Creates[i].Template = rollouttest.Hash(spec), nil
				}
			}
		}),
	},
	{
		"tries while paused", "the set's pause is for rollouts only", watched,
		asIf(func(s *rollout.Spec) { s.Strategy.Paused = false }),
	},
	{
		"replaces for a paused canary", "the automatic pause stops the clock only", watched,
		spoiling(func(_ rollout.Spec, s rollout.Snapshot, p *rollout.Plan) {
			if p.Canary.Phase == canary.Paused {
				alsoDelete(s, p, rollout.StateStable)
			}
		}),
	},
	{
		"disturbs a node beside the canary", "an update candidate too many", keepsToCanary,
		spoiling(func(_ rollout.Spec, s rollout.Snapshot, p *rollout.Plan) {
			if p.Canary.Phase == canary.Running && s.Now.After(rollouttest.Noon()) {
				alsoDelete(s, p, rollout.StateStable)
			}
		}),
	},
	{
		"disturbs two nodes for the canary", "the canary is past the budget", keepsBudget, asIf(rollouttest.MaxUnavailable("100%")),
	},
	{
		"promotes too early", "the duration is not looked at", promotesInTime, impatient,
	},
	{
		"promotes too late", "the instant is missed by a moment", promotesInTime,
		asIf(trying(func(o *canary.Options) { *o.Duration++ })),
	},
	{
		"promotes pods that are not available", "that they are there is enough", waits, settling,
	},
	{
		"promotes what crashes", "restarts are not looked at, nor whether it is ready", refuses,
		promoteIf(func(s rollout.Snapshot, p *rollout.Plan) bool {
			return isTrial(p) && s.Now.Sub(s.Memory.Canary.Began) > time.Minute && s.Memory.Canary.Revision != ""
		}),
	},
	{
		"promotes disturbed pods", "noRestartsDuration is not looked at", neverUnwell,
		asIf(trying(func(o *canary.Options) { *o.NoRestartsDuration = 0 })),
	},
	{
		"promotes while paused", "the clock goes on", watched,
		promoteIf(func(s rollout.Snapshot, p *rollout.Plan) bool { return p.Canary.Phase == canary.Paused }),
	},
	{
		"promotes after a fail", "the clock promotes what was given up", promotesOnce,
		promoteIf(func(s rollout.Snapshot, p *rollout.Plan) bool {
			return p.Canary.Phase == canary.Failed && s.Now.Sub(p.Canary.At) > 0
		}),
	},
	{
		"promotes again", "the mark on the revision is not looked at", promotesOnce,
		spoiling(func(spec rollout.Spec, s rollout.Snapshot, p *rollout.Plan) {
			for _, r := range s.Revisions {
				if r.Name == nameOf(spec) && history.Promoted(r) && s.Now.Second()%2 == 1 {
					p.Revisions = append(slices.Clip(p.Revisions), rollout.RevisionAction{
						Verb: rollout.AnnotateRevision, Name: r.Name, UID: r.UID, Number: r.Revision,
						Annotations: map[string]string{history.PromotedAnnotation: "again"},
					})
				}
			}
		}),
	},
	{
		"forgets the verdict", "a fail is in the memory only", givesUp,
		spoiling(func(_ rollout.Spec, _ rollout.Snapshot, p *rollout.Plan) {
			for i := range p.Revisions {
				if p.Revisions[i].Verb == rollout.AnnotateRevision {
					p.Revisions[i].Annotations = maps.Clone(p.Revisions[i].Annotations)
					if _, ok := p.Revisions[i].Annotations[history.FailedAnnotation]; ok {
						p.Revisions[i].Annotations = map[string]string{"seen": "yes"}
					}
				}
			}
		}),
	},
	{
		"tries again what has failed", "the mark is not looked at, nor remembered", givesUp,
		func(spec rollout.Spec, plan harness.PlanFunc) harness.PlanFunc {
			forget := misreading(func(s *rollout.Snapshot) {
				if v := s.Memory.Canary.Verdict; v != nil && v.Phase == canary.Failed {
					s.Memory.Canary = canary.Record{Nodes: s.Memory.Canary.Nodes}
				}
			})
			return remarked(func(a map[string]string) { delete(a, history.FailedAnnotation) })(spec, forget(spec, plan))
		},
	},
	{
		"never gives up", "the timeout is not looked at", allGoBack, asIf(trying(func(o *canary.Options) { o.AutoFail.CanaryTimeout = nil })),
	},
	{
		"a failed canary leaves a node", "off by one on the way back", allGoBack,
		spoiling(func(_ rollout.Spec, _ rollout.Snapshot, p *rollout.Plan) {
			if p.Canary.Phase == canary.Failed {
				p.Deletes = p.Deletes[:max(0, len(p.Deletes)-1)]
			}
		}),
	},
	{
		"a failed canary stops at the partition", "T2 holds the way back, too", givesUp,
		spoiling(func(spec rollout.Spec, _ rollout.Snapshot, p *rollout.Plan) {
			if p.Canary.Phase == canary.Failed && (spec.Strategy.Partition != nil || spec.Strategy.NodeSelector != nil) {
				p.Deletes, p.Patches = nil, nil
			}
		}),
	},
	{
		"a fail takes the others along", "all nodes are replaced", allGoBack,
		spoiling(func(_ rollout.Spec, s rollout.Snapshot, p *rollout.Plan) {
			if p.Canary.Phase == canary.Failed {
				alsoDelete(s, p, rollout.StateStable)
			}
		}),
	},
	{
		"never promotes", "nobody wakes up when the duration is over", promotes,
		spoiling(func(_ rollout.Spec, _ rollout.Snapshot, p *rollout.Plan) {
			if p.Canary.Phase == canary.Running {
				p.NextWake = time.Time{}
			}
		}),
	},
	{
		"marks the wrong revision", "the verdict stands on the one before", promotes,
		spoiling(func(spec rollout.Spec, s rollout.Snapshot, p *rollout.Plan) {
			for i := range p.Revisions {
				for _, r := range s.Revisions {
					if a := &p.Revisions[i]; a.Verb == rollout.AnnotateRevision && a.Name == nameOf(spec) && r.Name != a.Name {
						a.Name, a.UID, a.Number = r.Name, r.UID, r.Revision
					}
				}
			}
		}),
	},
	{
		"rolls out to the canary only", "after the promotion the other nodes are forgotten", promotes,
		spoiling(func(_ rollout.Spec, s rollout.Snapshot, p *rollout.Plan) {
			if p.Canary.Phase == canary.Idle && !s.Now.Equal(rollouttest.Noon()) {
				p.Deletes = slices.DeleteFunc(slices.Clone(p.Deletes), func(d rollout.Delete) bool { return d.Reason == rollout.ReasonOutdated })
			}
		}),
	},
}

func TestStatementsRejectMutants(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, m := range slices.Concat(canaryWorldMutants, memoryMutants(), templateMutants, fleetMutants) {
		if m.name == "" || m.why == "" || seen[m.name] {
			t.Errorf("mutant %q needs a reason and a name of its own", m.name)
		}
		seen[m.name] = true
		t.Run(m.name, func(t *testing.T) { m.isRejected(t) })
	}
}

// isRejected looks for a tale, among the same ones in every run, that the mutant fails.
func (m taleMutant) isRejected(t *testing.T) {
	const most = 400
	buggy := func(spec rollout.Spec) (harness.PlanFunc, error) {
		plan, err := realPlanner(spec)
		if err != nil {
			return nil, err
		}
		return m.plan(spec, plan), nil
	}
	for seed := range most {
		c := m.statement.tales.Example(seed)
		if err := m.statement.holds(c, buggy); err != nil {
			if err := m.statement.holds(c, realPlanner); err != nil {
				t.Fatalf("the real planner fails too: %v\n%#v", err, c)
			}
			t.Logf("tale %d: %v", seed, err)
			return
		}
	}
	t.Errorf("%s is not rejected in %d tales", m.statement.name, most)
}
