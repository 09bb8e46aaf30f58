//go:build teeth

package canary_test

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/daemonplan/daemonplan/internal/conformance"
	"github.com/daemonplan/daemonplan/rollout/canary"
)

// wrongChoice is a Choose with a planted bug. It is the right Choose with a change of the input or of the result.
type wrongChoice struct {
	name    string
	read    func(f *fleet, o *canary.Options, in *canary.Choosing)
	say     func(in canary.Choosing, c *canary.Choice)
	asserts []rule
}

var wrongChoices = []wrongChoice{
	{name: "takes unfit nodes for candidates", asserts: []rule{pidPressureIsTolerated}, read: func(f *fleet, _ *canary.Options, in *canary.Choosing) {
		var all []canary.Candidate
		for _, n := range f.nodes {
			all = append(all, canary.Candidate{Name: n.Name, Labels: n.Labels, Restarts: peer{}.restartsOn(f, n.Name)})
		}
		offer(in, all)
	}},
	{name: "does not take nodes under pid pressure", read: func(f *fleet, _ *canary.Options, in *canary.Choosing) {
		keep(in, func(c canary.Candidate) bool {
			i := slices.IndexFunc(f.nodes, func(n corev1.Node) bool { return n.Name == c.Name })
			return peer{}.fits(f.template, f.nodes[i])
		})
	}},
	{name: "does not count restarts of init containers", asserts: []rule{initRestartsCount}, read: func(f *fleet, _ *canary.Options, in *canary.Choosing) {
		recount(in, func(c canary.Candidate) int32 { return peer{}.restartsOn(f, c.Name) })
	}},
	{name: "does not count restarts", asserts: []rule{initRestartsCount}, read: func(_ *fleet, _ *canary.Options, in *canary.Choosing) {
		recount(in, func(canary.Candidate) int32 { return 0 })
	}},
	{name: "does not spread", asserts: []rule{rarestValueFirst}, read: func(_ *fleet, o *canary.Options, _ *canary.Choosing) {
		o.NodeAntiAffinityKeys = nil
	}},
	{name: "does not select", asserts: []rule{deselectedIsReplaced}, read: func(_ *fleet, o *canary.Options, _ *canary.Choosing) {
		o.NodeSelector = nil
	}},
	{name: "chooses anew each time", read: func(_ *fleet, _ *canary.Options, in *canary.Choosing) { in.Chosen = nil }},
	{name: "keeps what is gone", asserts: []rule{goneIsReplaced}, say: func(in canary.Choosing, c *canary.Choice) {
		for _, name := range in.Chosen {
			if _, ok := in.Find(name); !ok && len(c.Nodes) > 0 {
				c.Nodes[len(c.Nodes)-1] = name
			}
		}
	}},
	{name: "drops nothing", asserts: []rule{surplusIsDropped}, say: func(in canary.Choosing, c *canary.Choice) {
		for _, name := range in.Chosen {
			if _, ok := in.Find(name); ok && !slices.Contains(c.Nodes, name) {
				c.Nodes = append(c.Nodes, name)
			}
		}
		slices.Sort(c.Nodes)
	}},
	{name: "goes by the stored status", asserts: []rule{desiredIsCounted}, read: func(f *fleet, _ *canary.Options, in *canary.Choosing) {
		in.Desired = f.desired
	}},
	{name: "takes a percentage for a number", read: func(_ *fleet, o *canary.Options, _ *canary.Choosing) {
		if o.Replicas.Type == intstr.String {
			o.Replicas = new(intstr.FromInt32(int32(o.Replicas.IntValue())))
		}
	}},
	{name: "wants nothing of nothing", asserts: []rule{someNodeAtLeast}, say: func(in canary.Choosing, c *canary.Choice) {
		c.Wanted = min(c.Wanted, in.Desired)
	}},
	{name: "wants more than there are", asserts: []rule{desiredAtMost}, say: func(in canary.Choosing, c *canary.Choice) {
		if c.Wanted == in.Desired {
			c.Wanted++
		}
	}},
	{name: "rounds a percentage up to all", asserts: []rule{someNodeIsLeftOut}, say: func(in canary.Choosing, c *canary.Choice) {
		if c.Wanted > 1 && c.Wanted == in.Desired-1 {
			c.Wanted++
		}
	}},
	{name: "is one short", asserts: []rule{unfitUsesNoQuota}, say: func(_ canary.Choosing, c *canary.Choice) {
		c.Nodes = c.Nodes[:max(0, len(c.Nodes)-1)]
	}},
	{name: "takes the last by name", say: func(in canary.Choosing, c *canary.Choice) {
		var last string
		for o := range in.All {
			last = max(last, o.Name)
		}
		if len(c.Nodes) > 0 && !slices.Contains(c.Nodes, last) {
			c.Nodes[len(c.Nodes)-1] = last
		}
	}},
}

func keep(in *canary.Choosing, keep func(canary.Candidate) bool) {
	offer(in, slices.DeleteFunc(slices.Collect(in.All), func(c canary.Candidate) bool { return !keep(c) }))
}

func recount(in *canary.Choosing, restarts func(canary.Candidate) int32) {
	all := slices.Collect(in.All)
	for i := range all {
		all[i].Restarts = restarts(all[i])
	}
	offer(in, all)
}

// TestConformanceChooseTeeth does for Choose what TestConformanceJudgeTeeth does for Judge. Some wrong choices are among those
// that the controller can make. But of those, our choice is always the one by name.
func TestConformanceChooseTeeth(t *testing.T) {
	t.Setenv(conformance.EnvDir, "")
	fleets, _ := variedFleets(t, 2)
	for _, c := range recordings[nodesCase](t, "eds/canary-nodes.jsonl") {
		fleets = append(fleets, c.fleet())
	}
	for _, w := range wrongChoices {
		changed, passed, open, seen := 0, 0, 0, complaints(nil)
		for _, f := range fleets {
			if len(f.refused()) > 0 || f.impossible() != "" {
				continue
			}
			o, right := f.spec.options(), f.choosing(t)
			wrong := canary.Choose(o, right)
			if w.read != nil {
				in := right
				w.read(f, &o, &in)
				wrong = canary.Choose(o, in)
			}
			if w.say != nil {
				w.say(right, &wrong)
			}
			if ours := canary.Choose(f.spec.options(), right); ours.Wanted == wrong.Wanted && slices.Equal(ours.Nodes, wrong.Nodes) {
				continue
			}
			changed++
			if _, ok := explain(chooseRules, func(p peer) bool { return p.permits(f, wrong) }); ok {
				open++
			}
			if (peer{rules: allRules, byName: true}).permits(f, wrong) {
				passed++
			}
			assertChoice(&seen, w.name, f, right, wrong)
		}
		t.Logf("%-44s %3d of %d cases changed are other free choices", w.name, open, changed)
		seen.check(t, w.name, changed, passed, w.asserts)
	}
}

// TestConformanceAssertionsBite checks that the assertion of every entry of the table fails for at least one planted bug.
func TestConformanceAssertionsBite(t *testing.T) {
	var bitten ruleSet
	ids := make(map[string]bool)
	for _, w := range wrongJudges {
		for _, r := range w.asserts {
			bitten |= 1 << r
		}
	}
	for _, w := range wrongChoices {
		for _, r := range w.asserts {
			bitten |= 1 << r
		}
	}
	for r, e := range entries[:] {
		if e.id == "" || e.rule == "" || e.why == "" || ids[e.id] {
			t.Errorf("entry %d (%q) needs an id of its own, a rule and a reason", r, e.id)
		}
		ids[e.id] = true
		if bitten>>r&1 == 0 {
			t.Errorf("no wrong judge or choice violates the assertion of %s", e.id)
		}
	}
}
