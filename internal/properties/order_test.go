package properties_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/daemonplan/daemonplan/internal/harness"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// ordered states that neither the plan nor a word of what it says depends on the order of anything in the input.
var ordered = property{"V13 order", alike(), checkOrder}

func TestPlanIgnoresOrder(t *testing.T) { test(t, ordered) }

// orders is how many are tried of each input.
const orders = 50

// alike generates trials with everything in them, in many of which objects differ in nothing but their names, or their UIDs:
// whatever else they are sorted by does not tell them apart.
func alike() *rapid.Generator[trial] {
	return rapid.Custom(func(t *rapid.T) trial {
		drawn := rapid.OneOf(
			anyTrial(), anyTrial(inPlace, hooking, onTrial, overriding, rollouttest.PreDownload("2")), everything(),
		).Draw(t, "trial")
		drawn.count = rapid.Int().Draw(t, "seed")
		pods, names := rapid.Bool().Draw(t, "pods of one age"), rapid.Bool().Draw(t, "pods of one name")
		for i, p := range drawn.Snapshot.Pods {
			p = p.DeepCopy()
			if pods {
				p.CreationTimestamp = metav1.NewTime(drawn.Snapshot.Now.Add(-3600e9))
			}
			if names {
				p.Name = "agent"
			}
			drawn.Snapshot.Pods[i] = p
		}
		if rapid.Bool().Draw(t, "revisions of one number") {
			for i, r := range drawn.Snapshot.Revisions {
				drawn.Snapshot.Revisions[i] = r.DeepCopy()
				drawn.Snapshot.Revisions[i].Revision = 7
			}
		}
		if rapid.Bool().Draw(t, "overrides of one age") {
			for i := range drawn.Spec.Overrides {
				drawn.Spec.Overrides[i].Created = drawn.Spec.Overrides[0].Created
			}
		}
		return drawn
	})
}

func checkOrder(c trial, f factory) error {
	random := rand.New(rand.NewPCG(uint64(c.count), 0))
	first, said, err := planInWords(c.Case, f)
	if err != nil {
		return err
	}
	for range orders {
		again, says, err := planInWords(inAnyOrder(random, c.Case), f)
		first.Reading, again.Reading = nil, nil
		switch {
		case err != nil:
			return err
		case !bytes.Equal(said, says):
			return fmt.Errorf("V13: another order gives another plan, or another word for it:\n%s\nthen:\n%s", said, says)
		case !reflect.DeepEqual(first, again):
			return fmt.Errorf("V13: another order gives a plan that differs in what is not written out:\n%+v\nthen:\n%+v", first, again)
		}
	}
	return nil
}

// planInWords is the plan, and all of it in bytes, with what it says of each node.
func planInWords(c harness.Case, f factory) (rollout.Plan, []byte, error) {
	planner, err := f(c.Spec)
	if err != nil {
		return rollout.Plan{}, nil, err
	}
	plan, err := planner(c.Snapshot)
	if err != nil {
		return plan, nil, err
	}
	text, err := json.MarshalIndent(plan, "", " ")
	if err != nil {
		return plan, nil, err
	}
	lines := map[string]int{}
	for i := range plan.Decisions {
		lines[plan.Decisions[i].Node]++
	}
	for i := range plan.Decisions {
		node := plan.Decisions[i].Node
		says := plan.Explain(node)
		if got := strings.Count(says, "\n") + 1; got != lines[node] {
			return plan, nil, fmt.Errorf("Explain(%q) has %d lines for %d decisions:\n%s", node, got, lines[node], says)
		}
		text = append(append(text, '\n'), says...)
	}
	return plan, text, nil
}

// inAnyOrder is the same spec and snapshot in another order.
func inAnyOrder(random *rand.Rand, c harness.Case) harness.Case {
	s := &c.Snapshot
	s.Nodes, s.Pods, s.Revisions = mixed(random, s.Nodes), mixed(random, s.Pods), mixed(random, s.Revisions)
	in := &s.InFlight
	in.Creates, in.Deletes, in.Patches = mixed(random, in.Creates), mixed(random, in.Deletes), mixed(random, in.Patches)
	in.Revisions, in.Pulls = mixed(random, in.Revisions), mixed(random, in.Pulls)
	s.FailedPulls, s.Memory.Backoffs = mixed(random, s.FailedPulls), mixed(random, s.Memory.Backoffs)
	c.Spec.Overrides = mixed(random, c.Spec.Overrides)
	return c
}
