package canary_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func (c *statusCase) setting() *setting {
	in := &c.Input
	s := &setting{
		now: in.Now, annotations: in.ExtendedDaemonSet.Metadata.Annotations, spec: in.ExtendedDaemonSet.Spec.Strategy.Canary,
		tried: in.ReplicaSet, nodes: in.CanaryNodes, pods: in.PodByNode, surplus: in.PodsToCleanUp,
	}
	if c := conditionOf(in.ReplicaSet.Status.Conditions, beganCondition); c != nil {
		s.began = c.LastTransitionTime.Time
	}
	return s
}

// TestConformanceStatusModel checks that the model decides what was recorded. Only a model that is right about the controller can
// show how Judge differs from it.
func TestConformanceStatusModel(t *testing.T) {
	checkStatusModel(t, recordings[statusCase](t, "eds/canary-status.jsonl"))
}

func checkStatusModel(t *testing.T, cases []*statusCase) {
	t.Helper()
	for _, c := range cases {
		got, _, problem := peer{}.watch(c.setting())
		if problem != "" || c.Expect.Panic != "" {
			if problem == "" || c.Expect.Panic == "" {
				t.Errorf("%s: problem %q, recorded %q", c.Name, problem, c.Expect.Panic)
			}
			continue
		}
		if d := cmp.Diff(c.Expect.statusOutcome, got); d != "" {
			t.Errorf("%s: (-recorded +model)\n%s", c.Name, d)
		}
	}
}

func (c *promotionCase) setting() *setting {
	in := &c.Input
	return &setting{
		now: in.Now, annotations: in.ExtendedDaemonSet.Metadata.Annotations, spec: in.ExtendedDaemonSet.Spec.Strategy.Canary,
		tried: in.UpToDateReplicaSet, active: in.ActiveReplicaSet, same: in.SameObject,
		began: in.UpToDateReplicaSet.Metadata.CreationTimestamp.Time,
	}
}

func TestConformancePromotionModel(t *testing.T) {
	checkPromotionModel(t, recordings[promotionCase](t, "eds/canary-promotion.jsonl"))
}

func checkPromotionModel(t *testing.T, cases []*promotionCase) {
	t.Helper()
	for _, c := range cases {
		got := peer{}.report(c.setting(), c.Input.ExtendedDaemonSet.Status)
		if d := cmp.Diff(c.Expect, got); d != "" {
			t.Errorf("%s: (-recorded +model)\n%s", c.Name, d)
		}
	}
}

func (c *nodesCase) fleet() *fleet {
	in := &c.Input
	return &fleet{
		spec: in.ExtendedDaemonSet.Spec.Strategy.Canary, desired: in.ExtendedDaemonSet.Status.Desired,
		template: in.ReplicaSet.Spec.Template, nodes: in.Nodes, chosen: in.CurrentCanaryNodes,
		set: in.ExtendedDaemonSet.Metadata.Name, pods: in.Pods,
	}
}

const setLabel = annotationPrefix + "name"

func TestConformanceNodesModel(t *testing.T) {
	checkNodesModel(t, recordings[nodesCase](t, "eds/canary-nodes.jsonl"))
}

func checkNodesModel(t *testing.T, cases []*nodesCase) {
	t.Helper()
	for _, c := range cases {
		if why := c.fleet().impossible(); why != "" || len(c.Input.Nodes) > mostWalked {
			t.Logf("%s: not modelled: %d nodes %s", c.Name, len(c.Input.Nodes), why)
			continue
		}
		got := peer{}.choose(c.fleet(), nil)
		e := c.Expect
		if got.err != "" || e.Wanted == nil {
			if got.err == "" || e.Wanted != nil || !slices.Equal(e.Errors, []string{got.err}) {
				t.Errorf("%s: error %q, recorded %q", c.Name, got.err, e.Errors)
			}
			continue
		}
		if got.wanted != *e.Wanted || (*e.Wanted != len(c.Input.CurrentCanaryNodes)) != e.ControllerWouldCallSelectNodes {
			t.Errorf("%s: wanted %d, recorded %d", c.Name, got.wanted, *e.Wanted)
		}
		all, some := intersect(got.sets)
		var want []string
		switch {
		case e.Deterministic:
			want = []string{strings.Join(e.Nodes, " ")}
		default:
			if !slices.Equal(all, e.MustInclude) || !slices.Equal(some, e.From) {
				t.Errorf("%s: got %v of %v, recorded %v of %v", c.Name, all, some, e.MustInclude, e.From)
			}
			for _, set := range e.ObservedSets {
				want = append(want, strings.Join(set, " "))
			}
			// The runs of the recording need not have made every one of many choices.
			if len(want) > 20 || e.ObservedSets == nil {
				want = slices.Concat(want, got.sets)
			}
		}
		want = slices.Compact(inOrder(want))
		if !slices.Equal(want, got.sets) {
			t.Errorf("%s:\n got %q\nwant %q", c.Name, got.sets, want)
		}
	}
}

// intersect returns what is in all sets, and what is in at least one.
func intersect(sets []string) (all, some []string) {
	count := make(map[string]int)
	for _, set := range sets {
		for name := range strings.FieldsSeq(set) {
			count[name]++
		}
	}
	all = []string{}
	for _, name := range slices.Sorted(maps.Keys(count)) {
		if count[name] == len(sets) {
			all = append(all, name)
		} else {
			some = append(some, name)
		}
	}
	return all, some
}
