package properties_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/daemonplan/daemonplan/internal/harness"
	"github.com/daemonplan/daemonplan/internal/harness/draw"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// The properties of a planner as a function of snapshot and clock.
var (
	pure       = property{"V13 pure", onePlan(), once(checkPure)}
	idempotent = property{"V14 idempotent", onePlan(), once(checkIdempotent)}
	nextWake   = property{"V15 next wake", onePlan(), once(checkNextWake)}
	exactWake  = property{"V15 wake is needed", quietFleets(), once(checkExactWake)}
)

func TestPlanIsPure(t *testing.T) { test(t, pure) }

func TestPlanIsIdempotent(t *testing.T) { test(t, idempotent) }

func TestNextWake(t *testing.T) { test(t, nextWake, exactWake) }

func checkPure(c trial, plan harness.PlanFunc) error {
	return harness.CheckPure(plan, c.Snapshot)
}

func checkIdempotent(c trial, plan harness.PlanFunc) error {
	return harness.CheckIdempotent(c.Spec, plan, c.Snapshot)
}

// checkNextWake leaves out back-offs that were recorded after now, by a clock that was set back since: they count from
// whatever is now, until a plan's memory says from when.
func checkNextWake(c trial, plan harness.PlanFunc) error {
	c.Snapshot.Memory.Backoffs = slices.DeleteFunc(slices.Clone(c.Snapshot.Memory.Backoffs), func(b rollout.Backoff) bool {
		return b.Since.After(c.Snapshot.Now)
	})
	return harness.CheckNextWake(plan, c.Snapshot, c.after)
}

// quietFleets generates fleets in which only the clock is missing: one Ready pod of the update revision on each node,
// some not available yet.
func quietFleets() *rapid.Generator[trial] {
	return rapid.Custom(func(t *rapid.T) trial {
		const seconds = 30
		spec := rollouttest.Spec("agent", rollouttest.MinReadySeconds(seconds))
		c := trial{Case: harness.Case{Spec: spec, Snapshot: rollout.Snapshot{Now: rollouttest.Noon()}}}
		of := rollouttest.Of(spec)
		since := rapid.SliceOfN(rapid.IntRange(-2*seconds, 10), 1, 6).Draw(t, "since")
		for i, s := range since {
			name := string(rune('a' + i))
			c.Snapshot.Nodes = append(c.Snapshot.Nodes, rollouttest.Node(name))
			c.Snapshot.Pods = append(c.Snapshot.Pods, rollouttest.Pod("agent-"+name, of, rollouttest.OnNode(name),
				rollouttest.Ready(c.Snapshot.Now.Add(time.Duration(s)*time.Second))))
		}
		return c
	})
}

// checkExactWake computes the instant itself: when the first of the pods becomes available (B5).
func checkExactWake(c trial, plan harness.PlanFunc) error {
	p, err := plan(c.Snapshot)
	if err != nil {
		return err
	}
	var want time.Time
	for _, pod := range c.Snapshot.Pods {
		at := readySince(pod).Add(time.Duration(c.Spec.MinReadySeconds) * time.Second)
		if at.After(c.Snapshot.Now) && (want.IsZero() || at.Before(want)) {
			want = at
		}
	}
	if !p.NextWake.Equal(want) {
		return fmt.Errorf("NextWake is %v, the first pod becomes available at %v", p.NextWake, want)
	}
	return nil
}

func readySince(p *corev1.Pod) time.Time {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.LastTransitionTime.Time
		}
	}
	return time.Time{}
}

// New must not keep what the caller may change afterwards, and Pod must build a pod of its own each time (V13).
func TestPlannerOwnsWhatItKeeps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := draw.AnyCase().Draw(t, "scenario")
		if err := checkOwned(c); err != nil {
			t.Fatal(err)
		}
	})
}

func checkOwned(c harness.Case) error {
	spec := c.Spec
	spec.Template = *c.Spec.Template.DeepCopy()
	planner, err := rollout.New(spec)
	if err != nil {
		return err
	}
	first, err := planner.Plan(c.Snapshot)
	if err != nil {
		return err
	}
	spec.Template.Labels["app"] = "changed"
	spec.Template.Spec.Containers[0].Image = "changed"
	for i := range spec.Template.Spec.Tolerations {
		spec.Template.Spec.Tolerations[i].Key = "changed"
	}
	second, err := planner.Plan(c.Snapshot)
	first.Reading, second.Reading = nil, nil
	switch {
	case err != nil:
		return err
	case !reflect.DeepEqual(first, second):
		return errors.New("the plan changed with the spec that New was given")
	}
	create := rollout.Create{Node: "a", Revision: rollouttest.Hash(c.Spec)}
	pod, err := planner.Pod(create)
	if err != nil {
		return err
	}
	want := pod.DeepCopy()
	pod.Labels["app"], pod.Spec.Containers[0].Image = "changed", "changed"
	pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution = nil
	again, err := planner.Pod(create)
	switch {
	case err != nil:
		return err
	case !reflect.DeepEqual(want, again):
		return errors.New("a pod shares memory with the planner")
	case again.Spec.Containers[0].Image != c.Spec.Template.Spec.Containers[0].Image:
		return errors.New("the pod changed with the spec that New was given")
	}
	return nil
}
