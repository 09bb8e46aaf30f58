package harness_test

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/internal/harness"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// A fleet of two nodes on which the spec was changed.
func upgrade(options ...rollouttest.SpecOption) harness.Case {
	old := rollouttest.Spec("agent")
	spec := rollouttest.Spec("agent", append(options, rollouttest.Image("agent:v2"))...)
	return harness.Case{Spec: spec, Snapshot: rollout.Snapshot{
		Now:   rollouttest.Noon(),
		Nodes: rollouttest.Nodes("a", "b"),
		Pods: []*corev1.Pod{
			rollouttest.Pod("agent-a", rollouttest.Of(old), rollouttest.OnNode("a")),
			rollouttest.Pod("agent-b", rollouttest.Of(old), rollouttest.OnNode("b")),
		},
		Revisions: []*appsv1.ControllerRevision{rollouttest.Revision(old, 1)},
	}}
}

func cluster(s harness.Case, behavior harness.Behavior) *harness.Cluster {
	c, err := harness.NewCluster(s.Spec, s.Snapshot, behavior)
	if err != nil {
		fmt.Println(err)
	}
	return c
}

func planner(s harness.Case) harness.PlanFunc {
	p, err := rollout.New(s.Spec)
	if err != nil {
		fmt.Println(err)
	}
	return p.Plan
}

// reporter is what *testing.T is in a test.
type reporter struct{}

func (reporter) Helper() {}

func (reporter) Errorf(format string, args ...any) { fmt.Printf(format+"\n", args...) }

func (reporter) Fatalf(format string, args ...any) { fmt.Printf(format+"\n", args...) }
