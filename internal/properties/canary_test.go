package properties_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/internal/harness"
	"github.com/daemonplan/daemonplan/internal/harness/draw"
	"github.com/daemonplan/daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/history"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// The properties of one plan with what the Datadog ExtendedDaemonSet adds, from any state that a snapshot can show, and
// those of the whole way from there.
var (
	triedBudget     = property{"V1 budget, with canaries", anyTrial(objects.Released(), onTrial), verified(1)}
	triedSurge      = property{"V2 surge, with canaries", anyTrial(objects.Released(), rollouttest.MaxSurge("1")), verified(2)}
	triedOnePerNode = property{"V3 one per node, with canaries", anyTrial(onTrial), verified(3)}
	triedHandsOff   = property{"V4 hands off, with canaries", anyTrial(onTrial), verified(4)}
	triedPartition  = property{"V5 partition, with canaries", anyTrial(moving, rollouttest.Partition("2"), onTrial), verified(5)}
	triedHeld       = property{"V6 held, with canaries", anyTrial(moving, onTrial), verified(6)}
	triedFrozen     = property{"V7 frozen, with canaries", anyTrial(onTrial, rollouttest.Frozen()), verified(7)}
	triedInPlace    = property{"V9 in place, with canaries", anyTrial(inPlace, onTrial), verified(9)}
	slowly          = property{"V11 slow start", anyTrial(objects.Released(), rollouttest.SlowStart(time.Hour, "1", "2"), rollouttest.MaxUnavailable("100%")), verified(11)}
	triedAccount    = property{"V12 accounting, with canaries", anyTrial(onTrial), verified(12)}
	overridden      = property{"P8 overridden", anyTrial(overriding), verified(3)}
	exempted        = property{"B8 exempted", anyTrial(objects.Released(), rollouttest.MaxUnavailable("2"), rollouttest.MaxUnschedulable("1")), verified(1)}
	succeeding      = property{"V1 to V12, V14, V15, with a predecessor's pods", anyTrial(objects.Released(), following), once(checkSafe)}
	triedSafe       = property{"V1 to V12, V14, V15, with canaries", anyTrial(), once(checkSafe)}
	triedPure       = property{"V13 pure, with canaries", anyTrial(), once(checkPure)}
	triedIdempotent = property{"V14 idempotent, with canaries", fewNodes(anyTrial()), once(checkIdempotent)}
	triedWake       = property{"V15 next wake, with canaries", anyTrial(), once(checkNextWake)}
	triedLive       = property{"V16, V18 live, with canaries", manyTrials(ending), once(checkLive)}
	triedNoThrash   = property{"V17 no thrash, with canaries", manyTrials(ending, unfailing), once(checkTriedNoThrash)}
	triedHesitant   = property{"V18 canaries carried out in parts", manyTrials(ending), once(checkTriedHesitant)}
	triedAlong      = property{"V1 to V12, V14, V15, along the way, with canaries", manyTrials(), once(checkSafeAlong)}
)

func TestPlanIsSafeWithCanaries(t *testing.T) {
	// The others of these hold of the same specs as the whole, which has them all.
	test(t, triedSafe, triedPartition, triedFrozen, slowly, exempted, succeeding)
}

func TestPlanIsPureWithCanaries(t *testing.T) { test(t, triedPure, triedIdempotent, triedWake) }

func TestRolloutIsLiveWithCanaries(t *testing.T) {
	test(t, triedLive, triedNoThrash, triedHesitant, triedAlong)
}

func FuzzCanarySafety(f *testing.F) { fuzz(f, triedSafe) }

func FuzzCanaryWake(f *testing.F) { fuzz(f, triedWake) }

func FuzzCanaryLive(f *testing.F) { fuzz(f, triedLive) }

// anyTrial generates trials for properties of one snapshot of a set with canaries and the like.
func anyTrial(options ...rollouttest.SpecOption) *rapid.Generator[trial] {
	return rapid.Custom(func(t *rapid.T) trial {
		c := trial{
			Case:  draw.AnyCanaryCase(options...).Draw(t, "scenario"),
			after: time.Duration(rapid.Int64Range(1, int64(2*time.Hour)).Draw(t, "after")),
		}
		if c.Spec.Predecessor != nil {
			bequeath(t, &c)
		}
		return c
	})
}

// manyTrials generates trials for properties over several steps of a cluster.
func manyTrials(options ...rollouttest.SpecOption) *rapid.Generator[trial] {
	return rapid.Custom(func(t *rapid.T) trial {
		c := trial{
			Case:     draw.AnyCanaryCase(options...).Draw(t, "scenario"),
			behavior: draw.AnyBehavior().Draw(t, "behavior"),
			count:    rapid.IntRange(0, 20).Draw(t, "count"),
		}
		// Of a pod whose update cannot be read nobody knows whether it is what was tried: it keeps a canary open for ever.
		c.Snapshot.Pods = slices.DeleteFunc(c.Snapshot.Pods, func(p *corev1.Pod) bool {
			return slices.ContainsFunc(inplace.Completed(p).Waits, func(w inplace.UpdateWait) bool { return w.Code == inplace.UnreadableState })
		})
		// To a stable revision that cannot be read, or is only remembered, nothing can go back.
		c.Snapshot.Revisions = slices.DeleteFunc(c.Snapshot.Revisions, func(r *appsv1.ControllerRevision) bool {
			_, err := history.Template(r)
			return err != nil || history.HashOf(r) == ""
		})
		stable := func(r *appsv1.ControllerRevision) bool { return history.HashOf(r) == c.Snapshot.Memory.Rollout.Stable }
		if !slices.ContainsFunc(c.Snapshot.Revisions, stable) {
			c.Snapshot.Memory.Rollout.Stable = ""
		}
		// Where no revision was ever promoted, one that has failed may have none to go back to, and then nothing moves.
		if !slices.ContainsFunc(c.Snapshot.Revisions, history.Promoted) {
			for i, r := range c.Snapshot.Revisions {
				c.Snapshot.Revisions[i] = r.DeepCopy()
				delete(c.Snapshot.Revisions[i].Annotations, history.FailedAnnotation)
			}
			c.Snapshot.Memory.Canary.Verdict = nil
		}
		return c
	})
}

// onTrial specs have a canary, as most have anyway.
func onTrial(s *rollout.Spec) {
	if s.Strategy.Canary == nil {
		rollouttest.Canary("1")(s)
	}
}

// ending specs come to an end: nothing holds all of their nodes, and no canary waits for anybody, nor for the room that a departing
// node takes (M8).
func ending(s *rollout.Spec) {
	objects.Released()(s)
	if o := s.Strategy.Policy.Outages; o != nil {
		touching := o.DeepCopy()
		touching.Touch = true
		s.Strategy.Policy.Outages = &touching
	}
	if o := s.Strategy.Canary; o != nil {
		rollouttest.CanaryFor(time.Minute, time.Minute)(s)
		s.Strategy.Canary.NodeSelector = nil
		s.Strategy.Canary.Commands = canary.Commands{Unpause: canary.Any} // what is on record, too
		s.Strategy.Canary.AutoPause.Disabled = true
		s.Strategy.Canary.AutoFail.CanaryTimeout = nil
	}
}

// unfailing specs give no revision up: pods of one that is given up are replaced once more.
func unfailing(s *rollout.Spec) {
	if s.Strategy.Canary != nil {
		s.Strategy.Canary.AutoFail.Disabled = true
	}
}

// overriding specs have overrides in any case.
func overriding(s *rollout.Spec) {
	objects.Rolling()(s)
	rollouttest.Override(cpuFor("z", "a", "350m"))(s)
}

const beforeUID = types.UID("before")

// following specs take over from another set.
func following(s *rollout.Spec) {
	s.Predecessor = &rollout.Predecessor{
		UIDs: []types.UID{beforeUID}, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "before"}},
	}
}

// bequeath makes some pods those of the predecessor, whatever else they are.
func bequeath(t *rapid.T, c *trial) {
	for i, p := range c.Snapshot.Pods {
		if rapid.Bool().Draw(t, "theirs") {
			c.Snapshot.Pods[i] = p.DeepCopy()
			theirs(c.Snapshot.Pods[i])
		}
	}
}

// theirs makes a pod one that the predecessor controls.
func theirs(p *corev1.Pod) {
	p.OwnerReferences = []metav1.OwnerReference{
		{APIVersion: "apps/v1", Kind: "DaemonSet", Name: "before", UID: beforeUID, Controller: new(true)},
	}
}

// checkTriedNoThrash counts as V17 does, but for the two phases that a canary has: a node that comes in between gets the
// stable revision, and then the one that was promoted (T6).
func checkTriedNoThrash(c trial, plan harness.PlanFunc) error {
	cluster, err := harness.NewCluster(c.Spec, c.Snapshot, c.behavior)
	if err != nil {
		return err
	}
	update := "" // which a revision of another name may hold (R3)
	_, err = cluster.Run(plan, cluster.Steps(), func(_ rollout.Snapshot, p rollout.Plan) error {
		update = p.Status.UpdateRevision
		return nil
	})
	if err != nil {
		return err
	}
	made, ended := map[string]types.UID{}, map[types.UID]bool{} // by node and revision
	for _, e := range cluster.Events() {
		key := fmt.Sprint(e.Node, e.Revision == update)
		switch e.Kind {
		case harness.PodCreated, harness.PodUpdated:
			if made[key] != "" {
				return fmt.Errorf("V17: node %s gets %s, a second pod of its kind", e.Node, e.Object)
			}
			made[key] = e.UID
		case harness.PodDeleted:
			if ended[e.UID] || made[e.Node+"true"] == e.UID {
				return fmt.Errorf("V17: pod %s is deleted, which was deleted, or brought to the revision, before", e.Object)
			}
			ended[e.UID] = true
		default: // neither makes nor ends a pod
		}
	}
	return nil
}

// checkTriedHesitant carries out no plan as a whole.
func checkTriedHesitant(c trial, plan harness.PlanFunc) error {
	step := 0
	return harness.CheckLive(c.Spec, func(s rollout.Snapshot) (rollout.Plan, error) {
		p, err := plan(s)
		step++
		return harness.Prefix(p, 1+(step*c.count)%4), err
	}, c.Snapshot, c.behavior)
}
