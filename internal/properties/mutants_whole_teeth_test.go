//go:build teeth

package properties_test

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// Properties that sum up others, or state what others do of other inputs, are seen to fail, too: a bug that is seen by a part
// only is a part that the whole has lost.

// neverLast leaves the last outdated node as it is.
var neverLast = spoiling(func(_ rollout.Spec, _ rollout.Snapshot, p *rollout.Plan) {
	p.Deletes = slices.DeleteFunc(slices.Clone(p.Deletes), func(d rollout.Delete) bool {
		return d.Reason == rollout.ReasonOutdated && p.Status.Updated >= p.Status.Desired-1
	})
})

// wholeMutants are made anew for each run: one of them writes to what it is given.
func wholeMutants() []mutant {
	return []mutant{
		{
			"unsafe with everything", "the limits are not looked at", safeKruise, asIf(rollouttest.MaxUnavailable("100%"), noBurst),
		},
		{
			"writes to the snapshot, with everything", "a label is set on the cached pod", pureKruise,
			misreading(func(s *rollout.Snapshot) {
				for _, p := range s.Pods {
					p.Labels["seen"] = "yes"
				}
			}),
		},
		{
			"forgets pulls in flight", "pods only are remembered", requestedOnce,
			misreading(func(s *rollout.Snapshot) { s.InFlight.Pulls = nil }),
		},
		{
			"never wakes, with everything", "grace periods and back-offs of pulls pass unnoticed", wakesKruise,
			spoiling(func(_ rollout.Spec, _ rollout.Snapshot, p *rollout.Plan) { p.NextWake = time.Time{} }),
		},
		{
			"begins with held nodes", "the partition is for the status only", liveHeld,
			spoiling(func(_ rollout.Spec, s rollout.Snapshot, p *rollout.Plan) {
				for _, d := range p.Decisions {
					if d.Verb == rollout.VerbHold {
						alsoDelete(s, p, d.State)
						return
					}
				}
			}),
		},
		{
			"never updates the last node, with many specs", "off by one in the budget", minds, neverLast,
		},
		{
			"unsafe along stories", "right for the first chapter only", toldSafe,
			spoiling(func(_ rollout.Spec, s rollout.Snapshot, p *rollout.Plan) {
				if s.Now.After(rollouttest.Noon()) {
					alsoDelete(s, p, rollout.StateUpdated)
				}
			}),
		},
		{
			"label without spec, as all witnesses see it", "two patches where one is needed", toldAll,
			rewriting(func(_ rollout.Snapshot, _ *rollout.Patch, data map[string]any) map[string]any {
				if labelsIn(data) != nil {
					delete(data, "spec")
				}
				return data
			}),
		},
		{
			"never completes, as all witnesses see it", "nobody makes the pod ready again", toldAll,
			dropping(func(_ rollout.Snapshot, patch rollout.Patch, pod *corev1.Pod) bool {
				return unready(pod) && patch.Reason == rollout.ReasonInPlaceUnfinished
			}),
		},
	}
}

var wholeTaleMutants = []taleMutant{
	{
		"a canary node too many, for all observers", "off by one", keepsAll,
		asIf(trying(func(o *canary.Options) { o.Replicas.IntVal++ })),
	},
	{
		"two nodes for the canary, for all observers", "the canary is past the budget", keepsAll,
		asIf(rollouttest.MaxUnavailable("100%")),
	},
	{
		"promotes disturbed pods, for all observers", "noRestartsDuration is not looked at", keepsHarsh,
		asIf(trying(func(o *canary.Options) { *o.NoRestartsDuration = 0 })),
	},
	{
		"promotes after a fail, for all observers", "the clock promotes what was given up", keepsHarsh,
		promoteIf(func(s rollout.Snapshot, p *rollout.Plan) bool {
			return p.Canary.Phase == canary.Failed && s.Now.Sub(p.Canary.At) > 0
		}),
	},
	{
		"the label stays, for all observers", "nobody takes it off", busyAll,
		dropping(func(_ rollout.Snapshot, patch rollout.Patch, _ *corev1.Pod) bool {
			return patch.Reason == rollout.ReasonCanaryLabel
		}),
	},
	{
		"all for the next template, for all observers", "its canary is past the budget", busyAll, asIf(rollouttest.MaxUnavailable("100%")),
	},
}

func TestWholesRejectMutants(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	named := func(name, why string) {
		if name == "" || why == "" || seen[name] {
			t.Errorf("mutant %q needs a reason and a name of its own", name)
		}
		seen[name] = true
	}
	for _, m := range wholeMutants() {
		named(m.name, m.why)
		t.Run(m.name, func(t *testing.T) { rejects(t, m) })
	}
	for _, m := range wholeTaleMutants {
		named(m.name, m.why)
		t.Run(m.name, func(t *testing.T) { m.isRejected(t) })
	}
}
