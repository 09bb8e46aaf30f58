//go:build teeth

package properties_test

import (
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/internal/harness"
	"github.com/daemonplan/daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/history"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// withPods plans as if some pods were others; nil: not there.
func withPods(change func(spec rollout.Spec, s rollout.Snapshot, p *corev1.Pod) *corev1.Pod) func(rollout.Spec, harness.PlanFunc) harness.PlanFunc {
	return func(spec rollout.Spec, plan harness.PlanFunc) harness.PlanFunc {
		return func(s rollout.Snapshot) (rollout.Plan, error) {
			var pods []*corev1.Pod
			for _, p := range s.Pods {
				if p = change(spec, s, p.DeepCopy()); p != nil {
					pods = append(pods, p)
				}
			}
			s.Pods = pods
			return plan(s)
		}
	}
}

// onceLost is a bug that shows only after the memory was lost.
func onceLost(bug func(rollout.Spec, harness.PlanFunc) harness.PlanFunc) func(rollout.Spec, harness.PlanFunc) harness.PlanFunc {
	return func(spec rollout.Spec, plan harness.PlanFunc) harness.PlanFunc {
		lost, buggy := false, bug(spec, plan)
		return func(s rollout.Snapshot) (rollout.Plan, error) {
			lost = lost || s.Memory.Version == 0 && s.Now.After(rollouttest.Noon())
			if lost {
				return buggy(s)
			}
			return plan(s)
		}
	}
}

// memoryMutants are made anew for each run, because some of them keep state: that is their bug.
func memoryMutants() []taleMutant {
	return []taleMutant{
		{
			"a loss skips the clock", "a record that is lost counts as one that is old", lossDelays,
			func(spec rollout.Spec, plan harness.PlanFunc) harness.PlanFunc {
				tried := rollouttest.Hash(spec)
				return misreading(func(s *rollout.Snapshot) {
					if s.Memory.Version != 0 || s.Now.Equal(rollouttest.Noon()) {
						return
					}
					s.Memory = rollout.Memory{Version: rollout.MemoryVersion, Canary: canary.Record{
						Revision: tried, Began: rollouttest.Noon().Add(-time.Hour), Since: rollouttest.Noon().Add(-time.Hour),
					}}
					for _, p := range s.Pods {
						if revisionOf(p) == tried {
							s.Memory.Canary.Nodes = append(s.Memory.Canary.Nodes, nodeOf(p))
						}
					}
					slices.Sort(s.Memory.Canary.Nodes)
				})(spec, plan)
			},
		},
		{
			"a loss delays a canary in slow start", "which is slow anyway", lossInRamp,
			onceLost(asIf(trying(func(o *canary.Options) { *o.Duration += time.Minute }))),
		},
		{
			"a loss ends the watch for restarts", "what befalls pods is not written down any more",
			statement{lossDelays.name, lossyWorlds(rollouttest.CanaryFor(time.Minute, 20*time.Minute)), checkLossDelays},
			onceLost(asIf(trying(func(o *canary.Options) { *o.NoRestartsDuration = 0 }))),
		},
		{
			"a loss promotes", "without a record nothing is on trial", lossAlways,
			promoteIf(func(s rollout.Snapshot, p *rollout.Plan) bool {
				return isTrial(p) && s.Memory.Canary.Revision == "" && s.Now.After(rollouttest.Noon())
			}),
		},
		{
			"a loss stops the canary", "it began before anybody knows, and is taken for over", lossPromotes,
			onceLost(asIf(rollouttest.Command(canary.Commands{Pause: canary.Any}))),
		},
		{
			"a loss loses the verdict", "the mark on the revision is not read", lossKeeps,
			remarked(func(a map[string]string) { delete(a, history.FailedAnnotation) }),
		},
		{
			"a loss begins with other nodes", "which nodes have the revision is not looked at", lossIsOutside,
			func(spec rollout.Spec, plan harness.PlanFunc) harness.PlanFunc {
				blind := withPods(func(spec rollout.Spec, _ rollout.Snapshot, p *corev1.Pod) *corev1.Pod {
					if revisionOf(p) == rollouttest.Hash(spec) {
						p.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] = "5f46b89dcc"
						rollouttest.Restarted(1, rollouttest.Noon(), "Error")(p) // and it is not their turn
					}
					return p
				})(spec, plan)
				return func(s rollout.Snapshot) (rollout.Plan, error) {
					if s.Memory.Version == 0 && s.Now.After(rollouttest.Noon()) {
						return blind(s)
					}
					return plan(s)
				}
			},
		},
	}
}

// templateMutants go wrong when canaries follow each other.
var templateMutants = []taleMutant{
	{
		"tries the first template only", "a canary was there, and that is enough", untriedFew,
		asIf(func(s *rollout.Spec) {
			if s.Template.Spec.Containers[0].Image != nextImage {
				s.Strategy.Canary = nil
			}
		}),
	},
	{
		"goes on from what was tried", "the revision before is the stable one", untriedFew,
		func(spec rollout.Spec, plan harness.PlanFunc) harness.PlanFunc {
			return func(s rollout.Snapshot) (rollout.Plan, error) {
				s.Revisions, s.Memory.Rollout.Stable = slices.Clone(s.Revisions), ""
				for i, r := range s.Revisions {
					if r.Name != nameOf(spec) {
						s.Revisions[i] = objects.Marked(r, map[string]string{history.PromotedAnnotation: "so"})
					}
				}
				return plan(s)
			}
		},
	},
	{
		"does not fail by command", "the command is read, and not obeyed", obeyed,
		asIf(trying(func(o *canary.Options) { o.Commands.Fail = "" })),
	},
	{
		"does not pause by command", "the clock goes on", obeyed, asIf(trying(func(o *canary.Options) { o.Commands.Pause = "" })),
	},
	{
		"promotes while the set is paused", "its pause is for other nodes", obeyed,
		asIf(func(s *rollout.Spec) { s.Strategy.Paused = false }),
	},
	{
		"retries again and again", "which value was obeyed is not on record", obeyed,
		remarked(func(a map[string]string) { delete(a, history.RetriedAnnotation) }),
	},
	{
		"retries what nobody asked for", "any command takes back a fail", obeyed,
		asIf(trying(func(o *canary.Options) {
			if o.Commands != (canary.Commands{}) {
				o.Commands = canary.Commands{Retry: canary.Any}
			}
		})),
	},
	{
		"validates what has failed", "the order of verdicts", obeyed,
		promoteIf(func(_ rollout.Snapshot, p *rollout.Plan) bool { return p.Canary.Phase == canary.Failed }),
	},
	{
		"validates what is to fail", "validate comes before fail", hastyObeyed,
		asIf(trying(func(o *canary.Options) {
			if o.Commands.Validate == o.Commands.Fail {
				o.Commands.Fail = ""
			}
		})),
	},
	{
		"the mark of a promotion is never late", "what the memory knows is not written down", hastyObeyed,
		spoiling(func(_ rollout.Spec, s rollout.Snapshot, p *rollout.Plan) {
			if v := s.Memory.Canary.Verdict; v != nil && v.Phase == canary.Idle {
				p.Revisions = nil
			}
		}),
	},
	{
		"two verdicts on a revision", "a promotion leaves the mark of the fail that was retried", hastyObeyed,
		spoiling(func(_ rollout.Spec, _ rollout.Snapshot, p *rollout.Plan) {
			p.Revisions = slices.Clone(p.Revisions)
			for i := range p.Revisions {
				if _, promotes := p.Revisions[i].Annotations[history.PromotedAnnotation]; promotes {
					p.Revisions[i].RemoveAnnotations = nil
				}
			}
		}),
	},
	{
		"does not validate", "the command is read, and not obeyed", validated,
		asIf(trying(func(o *canary.Options) { o.Commands.Validate = "" })),
	},
	{
		"validates by itself", "manual is taken for auto", validated, asIf(rollouttest.CanaryFor(time.Minute, 0)),
	},
	{
		"all for the next template", "its canary is past the budget", busyServing, asIf(rollouttest.MaxUnavailable("100%")),
	},
	{
		"the label stays", "nobody takes it off", busySettles,
		dropping(func(_ rollout.Snapshot, patch rollout.Patch, _ *corev1.Pod) bool {
			return patch.Reason == rollout.ReasonCanaryLabel
		}),
	},
}

// whileFailed is a bug that shows only after a fail.
func whileFailed(bug func(rollout.Spec, harness.PlanFunc) harness.PlanFunc) func(rollout.Spec, harness.PlanFunc) harness.PlanFunc {
	return func(spec rollout.Spec, plan harness.PlanFunc) harness.PlanFunc {
		buggy := bug(spec, plan)
		return func(s rollout.Snapshot) (rollout.Plan, error) {
			p, err := plan(s)
			if err == nil && p.Canary.Phase == canary.Failed {
				return buggy(s)
			}
			return p, err
		}
	}
}

// fleetMutants go wrong with slow start, overrides, and the pods of a predecessor.
var fleetMutants = []taleMutant{
	{
		"slow start for each call", "what is under way is not counted", ramps, settling,
	},
	{
		"no slow start", "the limit is not looked at", ramps, asIf(func(s *rollout.Spec) { s.Strategy.SlowStart = nil }),
	},
	{
		"starts with two", "off by one step", ramps, asIf(func(s *rollout.Spec) { steadily(s.Strategy.SlowStart.Interval, "2")(s) }),
	},
	{
		"gathers speed too soon", "half of an interval is rounded up", ramps,
		asIf(func(s *rollout.Spec) {
			slow := *s.Strategy.SlowStart
			slow.Interval /= 2
			s.Strategy.SlowStart = &slow
		}),
	},
	{
		"deletes outrun creates", "missing pods are not counted", ramps,
		spoiling(func(_ rollout.Spec, s rollout.Snapshot, p *rollout.Plan) {
			if len(p.Creates) > 0 && s.Now.After(rollouttest.Noon()) {
				alsoDelete(s, p, rollout.StateOutdated)
			}
		}),
	},
	{
		"slow start for good revisions only", "pods that do not come up are not counted", rampsWithIll,
		asIf(func(s *rollout.Spec) { s.Strategy.SlowStart = nil }),
	},
	{
		"slow start on the way there only", "what goes back goes at once", rampsBack,
		whileFailed(asIf(func(s *rollout.Spec) { s.Strategy.SlowStart = nil })),
	},
	{
		"what comes back is not counted", "only pods of the update revision are under way", rampsBack, whileFailed(settling),
	},
	{
		"the digest is ignored", "the revision is enough", overridesMove,
		withPods(func(spec rollout.Spec, s rollout.Snapshot, p *corev1.Pod) *corev1.Pod {
			for _, n := range s.Nodes {
				compiled, err := placement.CompileOverrides(spec.Namespace, spec.Name, &spec.Template, spec.Overrides)
				if err == nil && n.Name == nodeOf(p) {
					compiled.Evaluate(n).Apply(p)
				}
			}
			return p
		}),
	},
	{
		"what is overridden is replaced", "a digest is taken for a change", overridesMove,
		withPods(func(_ rollout.Spec, s rollout.Snapshot, p *corev1.Pod) *corev1.Pod {
			if s.Now.Equal(rollouttest.Noon()) {
				delete(p.Annotations, placement.DigestAnnotation)
			}
			return p
		}),
	},
	{
		"an override replaces all", "a changed spec is a new revision", overridesMove,
		spoiling(func(_ rollout.Spec, s rollout.Snapshot, p *rollout.Plan) {
			if len(p.Deletes) > 0 {
				alsoDelete(s, p, rollout.StateUpdated)
			}
		}),
	},
	{
		"overrides are forgotten in new pods", "the pod is made of the template", overridesMove,
		spoiling(func(_ rollout.Spec, _ rollout.Snapshot, p *rollout.Plan) {
			for i := range p.Creates {
				p.Creates[i].Resources = nil
			}
		}),
	},
	{
		"the first override wins", "conflicts are settled the wrong way round", overridesMove,
		asIf(func(s *rollout.Spec) {
			s.Overrides = slices.Clone(s.Overrides)
			for i := range s.Overrides {
				s.Overrides[i].Name = string(rune('z' - i))
			}
		}),
	},
	{
		"an override is past the budget", "it is no rollout", overridesMove, asIf(rollouttest.MaxUnavailable("100%")),
	},
	{
		"leaves nobody out", "the limit counts from one", leavesOut, asIf(func(s *rollout.Spec) { s.Strategy.MaxUnschedulable = nil }),
	},
	{
		"leaves all of them out", "the limit is not looked at", leavesOut, asIf(rollouttest.MaxUnschedulable("100%")),
	},
	{
		"leaves out who has room", "every node without a pod that is Ready", leavesOut, asIf(rollouttest.MaxUnavailable("100%")),
	},
	{
		"a predecessor's pods are the set's", "the hash says that they are updated", takesOver,
		asIf(func(s *rollout.Spec) { s.Predecessor = nil }),
	},
	{
		"a predecessor's pods are not seen", "they belong to somebody else", takesOver,
		withPods(func(_ rollout.Spec, _ rollout.Snapshot, p *corev1.Pod) *corev1.Pod {
			if p.Labels["app"] == "before" || len(p.OwnerReferences) > 0 && p.OwnerReferences[0].UID == beforeUID {
				return nil
			}
			return p
		}),
	},
	{
		"a predecessor's pods all go at once", "they are strays", takesOver, asIf(rollouttest.MaxUnavailable("100%")),
	},
}
