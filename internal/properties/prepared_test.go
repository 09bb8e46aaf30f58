package properties_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/internal/harness"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// preparedInOutage is V1 at each instant of a run: an outage lets the planner prepare any number of pods, it ends, and then the
// hooks let all of them go at once.
var preparedInOutage = property{"V1, of what was prepared in an outage", outages(), outage(witnessTaken)}

// safeInOutage is the same as the verifier sees it, and all else that it sees.
var safeInOutage = property{"V1 to V12, V14, V15, in an outage", outages(), outage(witnessVerify)}

// takenPrepared is the same for one plan.
var takenPrepared = property{"V1, of what is prepared", rapid.Map(outages(), prepared), verified(1)}

func TestPreparedInAnOutage(t *testing.T) { test(t, preparedInOutage, safeInOutage, takenPrepared) }

// prepared is a fleet all of whose pods were prepared in the outage and have been let go since.
func prepared(c trial) trial {
	for _, p := range c.Snapshot.Pods {
		p.Labels[lifecycle.StateLabel] = string(lifecycle.PreparingUpdate)
		if c.Spec.Strategy.Method == inplace.Recreate {
			p.Labels[lifecycle.StateLabel] = string(lifecycle.PreparingDelete)
		}
		delete(p.Labels, hookKey)
		recovered(p)
	}
	return c
}

// outages generates fleets in the middle of a rollout through hooks, with count for maxUnavailable. The world's hook is when the
// hooks let go, in seconds after the outage, which ends at after.
func outages() *rapid.Generator[trial] {
	return rapid.Custom(func(t *rapid.T) trial {
		c := trial{count: rapid.IntRange(1, 3).Draw(t, "maxUnavailable"), after: time.Duration(rapid.IntRange(1, 5).Draw(t, "end")) * time.Second}
		c.world.hook = time.Duration(rapid.IntRange(0, 5).Draw(t, "let go")) * time.Second
		hook := rollouttest.HookLabel(hookKey, "true")
		hook.MarkPodNotReady = rapid.SampledFrom([]bool{false, false, true}).Draw(t, "marks")
		first := rollouttest.Spec("agent", rollouttest.MaxUnavailable(fmt.Sprint(c.count)), rollouttest.PodTemplateLabel(hookKey, "true"))
		first.Strategy.Method = rapid.SampledFrom([]inplace.Method{inplace.IfPossible, inplace.Only, inplace.Recreate}).Draw(t, "method")
		if first.Strategy.Method == inplace.Recreate {
			rollouttest.PreDeleteHook(hook)(&first)
		} else {
			rollouttest.InPlaceUpdateHook(hook)(&first)
			first.Strategy.InPlace.GracePeriodSeconds = rapid.SampledFrom([]int32{0, 0, 3}).Draw(t, "grace period")
		}
		if increase := rapid.SampledFrom([]string{"", "1", "2"}).Draw(t, "slow start"); increase != "" {
			rollouttest.SlowStart(10*time.Second, increase, rapid.SampledFrom([]string{"1", "250"}).Draw(t, "at most"))(&first)
		}
		c.Spec = altered(first, rollouttest.Image(nextImage))
		c.Snapshot = rollout.Snapshot{Now: rollouttest.Noon(), Revisions: []*appsv1.ControllerRevision{rollouttest.Revision(first, 1)}}
		for i := range rapid.IntRange(2, 7).Draw(t, "nodes") {
			name := string(rune('a' + i))
			pod := rollouttest.Pod("agent-"+name, rollouttest.Of(first), rollouttest.OnNode(name))
			c.Snapshot.Nodes = append(c.Snapshot.Nodes, rollouttest.Node(name))
			switch rapid.SampledFrom([]string{"hit", "hit", "hit", "spared", "spared", "lost"}).Draw(t, "pod") {
			case "hit":
				rollouttest.Unready()(pod)
			case "lost":
				continue
			}
			c.Snapshot.Pods = append(c.Snapshot.Pods, pod)
		}
		c.behavior.Hook = -1 // this story sees to the hooks
		c.behavior.Start = rapid.SampledFrom([]time.Duration{0, 2 * time.Second}).Draw(t, "start")
		return c
	})
}

// outage runs the trial with a witness, and wants every node updated in the end (V16).
func outage(at func(*moment) error) func(trial, factory) error {
	return func(c trial, f factory) error {
		plan, err := f(c.Spec)
		if err != nil {
			return err
		}
		cluster, err := harness.NewCluster(c.Spec, c.Snapshot, c.behavior)
		if err != nil {
			return err
		}
		ends, letGo := c.Snapshot.Now.Add(c.after), c.Snapshot.Now.Add(c.after+c.world.hook)
		const steps = 200
		for range steps {
			if !cluster.Now().Before(ends) {
				everyPod(cluster, recovered)
			}
			if !cluster.Now().Before(letGo) {
				everyPod(cluster, released)
			}
			s := moment{trial: c, spec: c.Spec, before: cluster.Snapshot()}
			if s.plan, err = plan(s.before); err != nil {
				return err
			}
			if err := cluster.Apply(s.plan); err != nil {
				return err
			}
			s.seen, s.decided, s.after = s.before, s.plan, cluster.Snapshot()
			if err := at(&s); err != nil {
				return fmt.Errorf("at %s: %w", cluster.Now().Format(time.TimeOnly), err)
			}
			cluster.Tick(time.Second)
		}
		updated := func(p *corev1.Pod) bool { return revisionOf(p) == rollouttest.Hash(c.Spec) }
		for _, node := range c.Snapshot.Nodes {
			if !slices.ContainsFunc(onNode(cluster.Snapshot(), node.Name), updated) {
				return fmt.Errorf("V16: node %s is not updated after %d steps", node.Name, steps)
			}
		}
		return nil
	}
}

// witnessTaken asks neither the verifier nor the plan, but counts the nodes without a Ready pod around each plan.
func witnessTaken(s *moment) error {
	before, without := withoutReady(s.before), withoutReady(s.after)
	taken := slices.DeleteFunc(slices.Clone(without), func(node string) bool { return slices.Contains(before, node) })
	if len(taken) > 0 && len(without) > s.count {
		return fmt.Errorf("V1: nodes %v have no Ready pod, %d may; this plan has taken those of %v", without, s.count, taken)
	}
	return nil
}

func everyPod(cluster *harness.Cluster, change func(*corev1.Pod) bool) {
	for _, p := range cluster.Snapshot().Pods {
		if changed := p.DeepCopy(); change(changed) {
			cluster.SetPod(changed)
		}
	}
}

// recovered makes a pod of the outage Ready, if its readiness gates let it.
func recovered(p *corev1.Pod) bool {
	if p.Spec.NodeName == "" || p.DeletionTimestamp != nil || isTrue(p, corev1.PodReady) || revisionOf(p) == "" || !gatesOpen(p) ||
		p.Spec.Containers[0].Image == nextImage {
		return false
	}
	rollouttest.Ready(rollouttest.Noon())(p)
	return true
}

// released takes the hook's label off a pod that waits for that, and puts it back on one that was updated.
func released(p *corev1.Pod) bool {
	_, hooked := p.Labels[hookKey]
	switch state := lifecycle.StateOf(p); {
	case hooked && (state == lifecycle.PreparingDelete || state == lifecycle.PreparingUpdate):
		delete(p.Labels, hookKey)
	case !hooked && state == lifecycle.Updated:
		p.Labels[hookKey] = "true"
	default:
		return false
	}
	return true
}

// withoutReady lists the nodes without a Ready pod.
func withoutReady(s rollout.Snapshot) []string {
	var list []string
	for _, node := range s.Nodes {
		if !slices.ContainsFunc(onNode(s, node.Name), func(p *corev1.Pod) bool {
			return p.DeletionTimestamp == nil && isTrue(p, corev1.PodReady) && gatesOpen(p)
		}) {
			list = append(list, node.Name)
		}
	}
	return list
}
