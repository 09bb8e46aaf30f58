package harness_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/internal/harness"
	"github.com/daemonplan/daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
)

func TestCheckLiveSaysWhatIsMissing(t *testing.T) {
	tests := []struct {
		name   string
		why    string
		change func(*harness.Case)
		plan   harness.PlanFunc
		want   string
	}{
		{"done", "nothing is missing", nil, idle, ""},
		{"failing", "a plan that fails is wrong too", nil, failing, "no plan"},
		{
			"pod missing", "each node must run one",
			func(s *harness.Case) { s.Snapshot.Pods = s.Snapshot.Pods[:1] }, idle, "node a has 0 pods instead of one",
		},
		{
			"two pods", "each node must run just one",
			func(s *harness.Case) {
				s.Snapshot.Pods = append(s.Snapshot.Pods, rollouttest.Pod("two", rollouttest.Of(s.Spec), rollouttest.OnNode("a")))
			}, idle, "node a has 2 pods instead of one",
		},
		{
			"outdated", "the revision does not exist",
			func(s *harness.Case) { rollouttest.AtRevision("old")(s.Snapshot.Pods[0]) }, idle, "outdated",
		},
		{
			"of no revision", "only a template generation could say otherwise",
			func(s *harness.Case) { s.Snapshot.Pods[0].Labels = nil }, idle, "outdated",
		},
		{
			"of the template generation", "R5",
			func(s *harness.Case) {
				objects.TemplateGeneration(3)(&s.Spec)
				s.Snapshot.Pods[0].Labels = nil
				rollouttest.PodLabel(rollout.TemplateGenerationLabel, "3")(s.Snapshot.Pods[0])
			}, idle, "",
		},
		{
			"failed", "it is not available",
			func(s *harness.Case) { rollouttest.Failed()(s.Snapshot.Pods[0]) }, idle, "not available",
		},
		{
			"minReadySeconds", "nobody woke up",
			func(s *harness.Case) {
				rollouttest.MinReadySeconds(60)(&s.Spec)
				rollouttest.Ready(rollouttest.Noon())(s.Snapshot.Pods[0])
			}, idle, "not available",
		},
		{
			"pod on a leave node", "it must go",
			func(s *harness.Case) {
				rollouttest.Taint("x", "", corev1.TaintEffectNoExecute)(s.Snapshot.Nodes[0])
			}, idle, "node b has 1 pods and should have none",
		},
		{
			"no pod on a leave node", "there it is as it should be",
			func(s *harness.Case) {
				rollouttest.Taint("x", "", corev1.TaintEffectNoExecute)(s.Snapshot.Nodes[0])
				s.Snapshot.Pods = s.Snapshot.Pods[1:]
			}, idle, "",
		},
		{
			"two pods on a keep node", "one of each kind may stay (M3)",
			func(s *harness.Case) {
				rollouttest.Taint("x", "", corev1.TaintEffectNoSchedule)(s.Snapshot.Nodes[0])
				s.Snapshot.Pods = append(s.Snapshot.Pods, rollouttest.Pod("two", rollouttest.OnNode("b")))
			}, idle, "",
		},
		{
			"pod on a keep node", "it may stay",
			func(s *harness.Case) {
				rollouttest.Taint("x", "", corev1.TaintEffectNoSchedule)(s.Snapshot.Nodes[0])
				rollouttest.AtRevision("old")(s.Snapshot.Pods[0])
			}, idle, "",
		},
		{
			"three pods on a keep node", "M3 holds there too",
			func(s *harness.Case) {
				rollouttest.Taint("x", "", corev1.TaintEffectNoSchedule)(s.Snapshot.Nodes[0])
				for _, name := range []string{"two", "three"} {
					s.Snapshot.Pods = append(s.Snapshot.Pods, rollouttest.Pod(name, rollouttest.OnNode("b")))
				}
			}, idle, "node b has 3 pods",
		},
		{
			"pinned to nowhere", "M5",
			func(s *harness.Case) {
				s.Snapshot.Pods = append(s.Snapshot.Pods, rollouttest.Pod("lost", rollouttest.PinnedTo("z")))
			}, idle, "pod lost is still pinned to z",
		},
		{
			"of no node", "nobody can do anything about it",
			func(s *harness.Case) {
				s.Snapshot.Pods = append(s.Snapshot.Pods, rollouttest.Pod("lost"))
			}, idle, "",
		},
		{
			"never at rest", "a plan must be empty in the end", nil,
			func(s rollout.Snapshot) (rollout.Plan, error) {
				r := s.Revisions[0]
				return rollout.Plan{Revisions: []rollout.RevisionAction{
					{Verb: rollout.RenumberRevision, Name: r.Name, UID: r.UID, Number: r.Revision + 1},
				}}, nil
			}, "not settled after",
		},
		{
			"not for long", "a settled plan stays empty", nil,
			func(s rollout.Snapshot) (rollout.Plan, error) {
				if !s.Now.Equal(rollouttest.Noon()) {
					return rollout.Plan{Deletes: []rollout.Delete{{Pod: "agent-a", UID: "pod-agent-a"}}}, nil
				}
				return rollout.Plan{}, nil
			}, "1h0m0s later the plan has 1 actions: delete agent-a",
		},
		{
			"not for long, and failing", "a plan that fails later is wrong too", nil,
			func(s rollout.Snapshot) (rollout.Plan, error) {
				if !s.Now.Equal(rollouttest.Noon()) {
					return rollout.Plan{}, errPlan
				}
				return rollout.Plan{}, nil
			}, "1h0m0s later: no plan",
		},
	}
	seen := map[string]bool{}
	for _, test := range tests {
		if test.why == "" || seen[test.name] {
			t.Fatalf("row %q needs a reason and a name of its own", test.name)
		}
		seen[test.name] = true
		t.Run(test.name, func(t *testing.T) {
			s := fleet()
			if test.change != nil {
				test.change(&s)
			}
			mustContain(t, harness.CheckLive(s.Spec, test.plan, s.Snapshot, harness.Behavior{}), test.want)
		})
	}
	mustContain(t, harness.CheckLive(rollout.Spec{}, idle, rollout.Snapshot{}, harness.Behavior{}), "spec.name")
}

func TestCheckNoThrashSaysWhatIsDoneTwice(t *testing.T) {
	s := fleet()
	hash := rollouttest.Hash(s.Spec)
	// each returns these plans, one after the other, and then empty ones.
	each := func(plans ...rollout.Plan) harness.PlanFunc {
		return func(rollout.Snapshot) (rollout.Plan, error) {
			if len(plans) == 0 {
				return rollout.Plan{}, nil
			}
			p := plans[0]
			plans = plans[1:]
			return p, nil
		}
	}
	create := rollout.Plan{Creates: []rollout.Create{{Node: "a", Revision: hash}}}
	remove := rollout.Plan{Deletes: []rollout.Delete{{Node: "a", Pod: "agent-a", UID: "pod-agent-a"}}}
	// updated is a patch that says it has updated the pod in place.
	updated := func(pod string, uid types.UID, hash string) rollout.Plan {
		data := fmt.Appendf(nil, `{"metadata":{"labels":{"controller-revision-hash":%q},"annotations":{%q:%q}}}`, hash, inplace.StateKey, hash)
		return rollout.Plan{Patches: []rollout.Patch{
			{Node: "a", Pod: pod, UID: uid, Type: types.StrategicMergePatchType, Data: data},
		}}
	}
	relabel := rollout.Plan{Patches: []rollout.Patch{{
		Node: "a", Pod: "agent-a", UID: "pod-agent-a", Type: types.StrategicMergePatchType,
		Data: []byte(`{"metadata":{"labels":{"controller-revision-hash":"x"}}}`),
	}}}
	removeCreated := rollout.Plan{Deletes: []rollout.Delete{{Node: "a", Pod: "agent-x0001", UID: "created-1"}}}
	tests := []struct {
		name string
		why  string
		plan harness.PlanFunc
		want string
	}{
		{"nothing", "nothing is done at all", each(), ""},
		{"replaced", "once is what a rollout does", each(remove, create), ""},
		{"created twice", "one pod is enough", each(create, create), "node a gets a second pod"},
		{"deleted twice", "once is enough", each(remove, remove), "pod agent-a is deleted twice"},
		{"created in vain", "what is created stays", each(create, removeCreated), "created on the way"},
		{"updated in place", "once is what a rollout does", each(updated("agent-a", "pod-agent-a", "x")), ""},
		{
			"updated twice", "once is enough", each(updated("agent-a", "pod-agent-a", "x"), updated("agent-a", "pod-agent-a", "y")),
			"pod agent-a is updated in place twice",
		},
		{
			"updated in vain", "what is updated stays", each(updated("agent-a", "pod-agent-a", "x"), remove),
			"pod agent-a is deleted, which was updated in place on the way",
		},
		{
			"created and updated", "what is created is up to date", each(create, updated("agent-x0001", "created-1", "x")),
			"pod agent-x0001 is updated in place, which was created on the way",
		},
		{"relabelled", "that is no update (R3)", each(relabel, remove), ""},
		{"failing", "a plan that fails is wrong too", failing, "no plan"},
	}
	seen := map[string]bool{}
	for _, test := range tests {
		if test.why == "" || seen[test.name] {
			t.Fatalf("row %q needs a reason and a name of its own", test.name)
		}
		seen[test.name] = true
		t.Run(test.name, func(t *testing.T) {
			mustContain(t, harness.CheckNoThrash(s.Spec, test.plan, s.Snapshot, harness.Behavior{}), test.want)
		})
	}
	// Not to settle is for CheckLive to say.
	busy := func(s rollout.Snapshot) (rollout.Plan, error) {
		r := s.Revisions[0]
		return rollout.Plan{Revisions: []rollout.RevisionAction{
			{Verb: rollout.RenumberRevision, Name: r.Name, UID: r.UID, Number: r.Revision + 1},
		}}, nil
	}
	mustContain(t, harness.CheckNoThrash(s.Spec, busy, s.Snapshot, harness.Behavior{}), "")
}
