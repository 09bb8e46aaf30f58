//go:build teeth

package properties_test

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/internal/harness"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// purityMutants are made anew for each run, because some of them keep state: that is their bug.
func purityMutants() []mutant {
	return []mutant{
		{
			"writes to the snapshot", "a label is set on the cached node", pure,
			misreading(func(s *rollout.Snapshot) {
				for _, n := range s.Nodes {
					n.Labels["seen"] = "yes"
				}
			}),
		},
		{
			"sorts the snapshot", "the caller's slice is put in order", pure,
			misreading(func(s *rollout.Snapshot) {
				slices.SortFunc(s.Nodes, func(a, b *corev1.Node) int { return -1 * compareNames(a, b) })
			}),
		},
		{
			"appends to the snapshot", "a helper appends to a slice that it was given", pure,
			misreading(func(s *rollout.Snapshot) {
				for _, p := range s.Pods {
					_ = append(p.Spec.Containers, corev1.Container{Name: "sidecar"})
				}
			}),
		},
		{
			"depends on the order", "the first in the list wins", pure,
			spoiling(func(_ rollout.Spec, s rollout.Snapshot, p *rollout.Plan) {
				if len(s.Pods) > 1 {
					p.Status.UpdateRevision = s.Pods[0].Name
				}
			}),
		},
		{
			"ties go to the first in the list", "a sort without a last word", ordered,
			spoiling(func(_ rollout.Spec, s rollout.Snapshot, p *rollout.Plan) {
				for i := range p.Decisions {
					d := &p.Decisions[i]
					if first := slices.IndexFunc(s.Pods, func(pod *corev1.Pod) bool { return nodeOfAny(pod) == d.Node }); first >= 0 {
						d.Pod = string(s.Pods[first].UID)
					}
				}
			}),
		},
		{
			"takes overrides as they come", "the first of one age wins", ordered,
			func(spec rollout.Spec, plan harness.PlanFunc) harness.PlanFunc {
				return func(s rollout.Snapshot) (rollout.Plan, error) {
					p, err := plan(s)
					for i := range p.OverrideConflicts {
						p.OverrideConflicts[i].Winner = spec.Overrides[0].Name
					}
					return p, err
				}
			},
		},
		{
			"remembers the call before", "state in the planner", pure,
			func(_ rollout.Spec, plan harness.PlanFunc) harness.PlanFunc {
				calls := int32(0)
				return func(s rollout.Snapshot) (rollout.Plan, error) {
					p, err := plan(s)
					calls++
					p.Budget.Waiting += calls
					return p, err
				}
			},
		},
		{
			"hands out what it was given", "the memory is passed on instead of copied", pure,
			spoiling(func(_ rollout.Spec, s rollout.Snapshot, p *rollout.Plan) {
				if len(s.Memory.Backoffs) > 0 {
					p.Memory.Backoffs = s.Memory.Backoffs
				}
			}),
		},
		{
			"hands out what it keeps", "one object for all plans", pure,
			func(_ rollout.Spec, plan harness.PlanFunc) harness.PlanFunc {
				var kept []rollout.Decision
				return func(s rollout.Snapshot) (rollout.Plan, error) {
					p, err := plan(s)
					if kept == nil {
						kept = p.Decisions
					}
					p.Decisions = kept
					return p, err
				}
			},
		},
		{
			"forgets what is in flight", "the cache is taken for the truth", idempotent,
			misreading(func(s *rollout.Snapshot) { s.InFlight = rollout.InFlight{} }),
		},
		{
			"forgets deletes in flight", "creates only are remembered", idempotent,
			misreading(func(s *rollout.Snapshot) { s.InFlight.Deletes = nil }),
		},
		{
			"forgets creates in flight", "deletes only are remembered", idempotent,
			misreading(func(s *rollout.Snapshot) { s.InFlight.Creates = nil }),
		},
		{
			"forgets revisions in flight", "pods only are remembered", idempotent,
			misreading(func(s *rollout.Snapshot) { s.InFlight.Revisions = nil }),
		},
		{
			"forgets patches in flight", "a patch is repeated until it is seen", idempotent,
			misreading(func(s *rollout.Snapshot) { s.InFlight.Patches = nil }),
		},
		{
			"never wakes", "minReadySeconds passes unnoticed", nextWake,
			spoiling(func(_ rollout.Spec, _ rollout.Snapshot, p *rollout.Plan) { p.NextWake = time.Time{} }),
		},
		{
			"wakes late", "the instants are rounded up", nextWake,
			spoiling(func(_ rollout.Spec, _ rollout.Snapshot, p *rollout.Plan) {
				if !p.NextWake.IsZero() {
					p.NextWake = p.NextWake.Add(time.Second)
				}
			}),
		},
		{
			"never sleeps", "a fixed period instead of an instant", nextWake,
			spoiling(func(_ rollout.Spec, s rollout.Snapshot, p *rollout.Plan) { p.NextWake = s.Now.Add(time.Millisecond) }),
		},
		{
			"wakes for nothing", "a pod that is available already counts", exactWake,
			spoiling(func(_ rollout.Spec, s rollout.Snapshot, p *rollout.Plan) {
				if p.NextWake.IsZero() {
					p.NextWake = s.Now.Add(time.Minute)
				}
			}),
		},
	}
}

func compareNames(a, b *corev1.Node) int {
	switch {
	case a.Name < b.Name:
		return -1
	case a.Name > b.Name:
		return 1
	}
	return 0
}

// liveMutants go wrong on the way.
var liveMutants = []mutant{
	{
		"never takes a no", "what the API server refuses is sent again and again", live,
		func(_ rollout.Spec, plan harness.PlanFunc) harness.PlanFunc {
			return func(s rollout.Snapshot) (rollout.Plan, error) {
				s.InFlight.Refused = nil
				return plan(s)
			}
		},
	},
	{
		"never updates the last node", "off by one in the budget", live,
		spoiling(func(_ rollout.Spec, _ rollout.Snapshot, p *rollout.Plan) {
			p.Deletes = slices.DeleteFunc(slices.Clone(p.Deletes), func(d rollout.Delete) bool {
				return d.Reason == rollout.ReasonOutdated && p.Status.Updated >= p.Status.Desired-1
			})
		}),
	},
	{
		"leaves failed pods", "a broken pod counts as present", live,
		spoiling(func(_ rollout.Spec, _ rollout.Snapshot, p *rollout.Plan) {
			p.Deletes = slices.DeleteFunc(slices.Clone(p.Deletes), func(d rollout.Delete) bool {
				return d.Reason == rollout.ReasonFailed
			})
		}),
	},
	{
		"creates once only", "what is created is taken for running for ever", live,
		spoiling(func(_ rollout.Spec, s rollout.Snapshot, p *rollout.Plan) {
			if s.Now.After(rollouttest.Noon()) {
				p.Creates = nil
			}
		}),
	},
	{
		"nobody wakes it", "NextWake is missing while nothing else happens", live,
		spoiling(func(_ rollout.Spec, _ rollout.Snapshot, p *rollout.Plan) { p.NextWake = time.Time{} }),
	},
	{
		"never at rest", "something is always done again", live,
		spoiling(func(_ rollout.Spec, s rollout.Snapshot, p *rollout.Plan) {
			if p.Empty() && len(s.Revisions) > 0 {
				r := s.Revisions[0]
				p.Revisions = []rollout.RevisionAction{
					{Verb: rollout.RenumberRevision, Name: r.Name, UID: r.UID, Number: r.Revision + 1},
				}
			}
		}),
	},
	{
		"deletes what it created", "the new pod is not recognised until it is ready", noThrash,
		spoiling(func(_ rollout.Spec, s rollout.Snapshot, p *rollout.Plan) { alsoDelete(s, p, rollout.StateStarting) }),
	},
	{
		"recreates healthy pods", "every pod is replaced although it is up to date", noThrash,
		spoiling(func(_ rollout.Spec, s rollout.Snapshot, p *rollout.Plan) {
			if s.Now.After(rollouttest.Noon()) {
				alsoDelete(s, p, rollout.StateUpdated)
			}
		}),
	},
	{
		"deletes terminating pods again", "a stale cache is believed", noThrash,
		misreading(func(s *rollout.Snapshot) { s.InFlight.Deletes = nil }),
	},
	{
		"counts on whole plans", "revisions are created by the first plan only", hesitant,
		spoiling(func(_ rollout.Spec, s rollout.Snapshot, p *rollout.Plan) {
			if s.Now.After(rollouttest.Noon()) {
				p.Revisions, p.Deletes = nil, nil
			}
		}),
	},
	{
		"counts on its memory", "an update begins in the first plan of a revision only", amnesiac,
		spoiling(func(_ rollout.Spec, s rollout.Snapshot, p *rollout.Plan) {
			if s.Memory.Rollout.Revision == "" {
				p.Deletes = nil
			}
		}),
	},
	{
		"finishes the old rollout first", "the spec of the first plan stays in force", changed,
		asIf(func(spec *rollout.Spec) {
			if spec.Template.Spec.Containers[0].Image == "agent:v4" {
				rollouttest.Image("agent:v3")(spec)
			}
		}),
	},
}
