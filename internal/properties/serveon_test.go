package properties_test

import (
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/daemonplan/daemonplan/internal/harness"
	"github.com/daemonplan/daemonplan/internal/kubelet"
	"github.com/daemonplan/daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// servedOn is what users are promised of pods that serve on without a container (I4, B2), seen from their kubelets: no pod is made
// not ready on purpose, and at no instant are more nodes than maxUnavailable not Ready, or about to be, because a kubelet has a
// container to restart that its pod asks for.
var servedOn = property{"V1, of pods that serve on", servingFleets(), servesOn}

func TestPodsServeOn(t *testing.T) { test(t, servedOn) }

const exporter = "exporter"

// servingFleets generates fleets that serve, whose exporters get another image, with count for maxUnavailable.
func servingFleets() *rapid.Generator[trial] {
	return rapid.Custom(func(t *rapid.T) trial {
		c := trial{count: rapid.IntRange(1, 3).Draw(t, "maxUnavailable")}
		c.behavior = harness.Behavior{
			Lag:     rapid.SampledFrom([]int{0, 0, 1, 3}).Draw(t, "lag"),
			Jitter:  rapid.SampledFrom([]uint64{0, 1, 2}).Draw(t, "jitter"),
			Restart: rapid.SampledFrom([]time.Duration{0, time.Second, time.Minute}).Draw(t, "restart"),
			Start:   rapid.SampledFrom([]time.Duration{0, 2 * time.Second}).Draw(t, "start"),
		}
		first := rollouttest.Spec("agent", rollouttest.InPlaceIfPossible(), rollouttest.MaxUnavailable(fmt.Sprint(c.count)), rollouttest.ServeOn(exporter))
		first.Strategy.InPlace.GracePeriodSeconds = rapid.SampledFrom([]int32{0, 10}).Draw(t, "grace period")
		first.Template.Spec.Containers = append(first.Template.Spec.Containers, corev1.Container{Name: exporter, Image: "exporter:v1"})
		c.Spec = altered(first, func(s *rollout.Spec) { s.Template.Spec.Containers[1].Image = "exporter:v2" })
		c.Snapshot = rollout.Snapshot{Now: rollouttest.Noon(), Revisions: []*appsv1.ControllerRevision{rollouttest.Revision(first, 1)}}
		for i := range rapid.IntRange(2, 7).Draw(t, "nodes") {
			name := string(rune('a' + i))
			pod := rollouttest.Pod("agent-"+name, rollouttest.Of(first), rollouttest.OnNode(name))
			objects.Containers()(pod)
			c.Snapshot.Nodes = append(c.Snapshot.Nodes, rollouttest.Node(name))
			c.Snapshot.Pods = append(c.Snapshot.Pods, pod)
		}
		return c
	})
}

func servesOn(c trial, f factory) error {
	plan, err := f(c.Spec)
	if err != nil {
		return err
	}
	cluster, err := harness.NewCluster(c.Spec, c.Snapshot, c.behavior)
	if err != nil {
		return err
	}
	ends := c.Snapshot.Now.Add(2 * time.Hour)
	for cluster.Now().Before(ends) {
		decided, err := plan(cluster.Snapshot())
		if err != nil {
			return err
		}
		if err := cluster.Apply(decided); err != nil {
			return err
		}
		down, behind := 0, 0
		for _, node := range c.Snapshot.Nodes {
			for _, p := range cluster.PodsOn(node.Name) {
				old := kubelet.StatusOf(p, exporter).Image != p.Spec.Containers[1].Image
				if old || !lifecycle.Ready(p) {
					down++
				}
				if old || revisionOf(p) != rollouttest.Hash(c.Spec) {
					behind++
				}
				if kubelet.ConditionStatus(p, lifecycle.InPlaceUpdateReady) != corev1.ConditionTrue {
					return fmt.Errorf("I4: at %s pod %s is made not ready", cluster.Now().Format(time.TimeOnly), p.Name)
				}
			}
		}
		if down > c.count {
			return fmt.Errorf("V1: at %s %d nodes are down or about to be, with maxUnavailable %d", cluster.Now().Format(time.TimeOnly), down, c.count)
		}
		if behind == 0 && down == 0 {
			return nil
		}
		cluster.Tick(time.Second)
	}
	return fmt.Errorf("V16: not every exporter is updated after %s", ends.Sub(c.Snapshot.Now))
}
