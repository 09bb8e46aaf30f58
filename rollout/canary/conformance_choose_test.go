package canary_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout/canary"
)

// choosing is the recorded input as an input of Choose.
func (f *fleet) choosing(t testing.TB) canary.Choosing {
	t.Helper()
	matcher, err := placement.Compile(&f.template)
	if err != nil {
		t.Fatal(err)
	}
	ours := peer{rules: 1 << initRestartsCount}
	var candidates []canary.Candidate
	for i := range f.nodes {
		if n := &f.nodes[i]; matcher.Evaluate(n).Outcome == placement.Run {
			candidates = append(candidates, canary.Candidate{Name: n.Name, Labels: n.Labels, Restarts: ours.restartsOn(f, n.Name)})
		}
	}
	return canary.Choosing{
		Desired: int32(len(candidates)), Chosen: f.chosen, All: slices.Values(candidates),
		Find: func(name string) (canary.Candidate, bool) {
			i := slices.IndexFunc(candidates, func(c canary.Candidate) bool { return c.Name == name })
			if i < 0 {
				return canary.Candidate{}, false
			}
			return candidates[i], true
		},
	}
}

// permits reports whether our choice is one of those that the controller can make.
func (p peer) permits(f *fleet, ours canary.Choice) bool {
	nodes := append([]string{}, ours.Nodes...)
	choices := p.choose(f, nodes)
	return choices.wanted == int(ours.Wanted) && slices.Contains(choices.sets, strings.Join(nodes, " "))
}

// refused lists the fields for which the options are refused; empty if they are not.
func (f *fleet) refused() (fields []string) {
	if !f.sized() {
		fields = append(fields, "canary.replicas")
	}
	if invalid(f.spec.NodeSelector) {
		fields = append(fields, "canary.nodeSelector")
	}
	return fields
}

// sized reports whether the number of canary nodes is a number or a percentage, and at least 1.
func (f *fleet) sized() bool {
	r := f.spec.Replicas
	if r == nil || r.Type == intstr.Int {
		return r == nil || r.IntVal >= 1
	}
	digits, ok := strings.CutSuffix(r.StrVal, "%")
	n, err := strconv.ParseUint(digits, 10, 31)
	return ok && err == nil && n >= 1 && n <= 100
}

func invalid(selector *metav1.LabelSelector) bool {
	_, err := metav1.LabelSelectorAsSelector(selector)
	return err != nil
}

// assertRefused checks that the options are refused for each of the fields, and for no other.
func assertRefused(t *testing.T, name string, o canary.Options, fields []string) {
	t.Helper()
	errs := o.Validate(field.NewPath("canary"))
	of := func(at string) func(*field.Error) bool {
		return func(e *field.Error) bool { return strings.HasPrefix(e.Field, at) }
	}
	for _, at := range fields {
		if !slices.ContainsFunc(errs, of(at)) {
			t.Errorf("%s: %s is to be refused, but Validate returned %v", name, at, errs)
		}
		errs = slices.DeleteFunc(errs, of(at))
	}
	if len(errs) > 0 {
		t.Errorf("%s: refused for %v, too", name, errs)
	}
}

// TestConformanceNodes compares Choose with the recorded choices of canary nodes.
func TestConformanceNodes(t *testing.T) {
	count := tally{file: "eds/canary-nodes.jsonl", of: chooseRules, own: recordedOnly(chooseRules)}
	for _, c := range recordings[nodesCase](t, count.file) {
		count.compareChoice(t, c.Name, c.fleet())
	}
	count.report(t)
}

// compareChoice compares Choose with what the controller can choose.
func (c *tally) compareChoice(t *testing.T, name string, f *fleet) {
	t.Helper()
	c.cases++
	o, in := f.spec.options(), f.choosing(t)
	ours := canary.Choose(o, in)
	if at := f.refused(); len(at) > 0 {
		c.refused++
		assertRefused(t, name, o, at)
		return
	}
	if errs := o.Validate(nil); len(errs) > 0 {
		t.Errorf("%s: refused: %v", name, errs)
	}
	assertChoice(t, name, f, in, ours)
	if why := f.impossible(); why != "" || len(f.nodes) > mostWalked {
		c.aside++
		t.Logf("%s: only asserted: %d nodes; %s", name, len(f.nodes), why)
		return
	}
	if !c.add(func(p peer) bool { return p.permits(f, ours) }) {
		t.Errorf("%s: unexplained: %v; model of the rules: %v", name, ours, peer{rules: allRules}.choose(f, nil))
	}
	if p := (peer{rules: allRules, byName: true}); !p.permits(f, ours) {
		t.Errorf("%s: of all free choices ours is %v, want %v", name, ours, p.choose(f, nil))
	}
}

// assertChoice checks our choice without the model. For each entry it asserts how the choice differs from the controller's.
func assertChoice(t reporter, name string, f *fleet, in canary.Choosing, ours canary.Choice) {
	t.Helper()
	wrong := func(id rule, format string, args ...any) {
		t.Helper()
		t.Errorf("%s: %s (%s): "+format, append([]any{name, entries[id].id, entries[id].rule}, args...)...)
	}
	value := func(c canary.Candidate) string {
		var values []string
		for _, key := range f.spec.NodeAntiAffinityKeys {
			values = append(values, c.Labels[key])
		}
		return strings.Join(values, "$")
	}
	chosen := make(map[string]int) // by value of the label
	var left, picked []canary.Candidate
	for c := range in.All {
		switch {
		case !f.selects(c.Labels):
			if slices.Contains(ours.Nodes, c.Name) {
				wrong(deselectedIsReplaced, "%s is chosen", c.Name)
			}
		case !slices.Contains(ours.Nodes, c.Name):
			left = append(left, c)
		default:
			chosen[value(c)]++
			if !slices.Contains(in.Chosen, c.Name) {
				picked = append(picked, c)
			}
		}
	}
	for _, n := range ours.Nodes {
		exists := slices.ContainsFunc(f.nodes, func(node corev1.Node) bool { return node.Name == n })
		if _, ok := in.Find(n); !ok && exists {
			wrong(pidPressureIsTolerated, "%s is chosen, but may not run the pod", n)
		} else if !ok {
			wrong(goneIsReplaced, "%s is chosen", n)
		}
	}
	f.assertWanted(in, ours, wrong)
	if len(ours.Nodes) < int(ours.Wanted) && len(left) > 0 {
		wrong(unfitUsesNoQuota, "%v is short of %d, although %v are left", ours.Nodes, ours.Wanted, left)
		wrong(pidPressureIsTolerated, "%v is short of %d, although %v are left", ours.Nodes, ours.Wanted, left)
	}
	for _, l := range left {
		if slices.Contains(in.Chosen, l.Name) && len(picked) > 0 {
			t.Errorf("%s: %s does not stay chosen, although %v are added (C1)", name, l.Name, picked)
		}
		for _, c := range picked {
			switch {
			case chosen[value(c)] > chosen[value(l)]+1:
				wrong(rarestValueFirst, "%s is chosen and %s is not, although fewer are chosen of its value", c.Name, l.Name)
			case value(c) == value(l) && c.Restarts > l.Restarts:
				wrong(initRestartsCount, "%s is chosen and %s is not, although it restarted less", c.Name, l.Name)
			case value(c) == value(l) && c.Restarts == l.Restarts && c.Name > l.Name:
				t.Errorf("%s: %s is chosen and %s is not, although it comes first (C1)", name, c.Name, l.Name)
			}
		}
	}
}

// assertWanted asserts how many nodes the canary has.
func (f *fleet) assertWanted(in canary.Choosing, ours canary.Choice, wrong func(rule, string, ...any)) {
	if len(ours.Nodes) > int(ours.Wanted) {
		wrong(surplusIsDropped, "%d nodes are chosen of %d", len(ours.Nodes), ours.Wanted)
	}
	if ours.Wanted < 1 {
		wrong(someNodeAtLeast, "%d nodes are wanted", ours.Wanted)
	}
	run := 0
	for range in.All {
		run++
	}
	if int(ours.Wanted) > max(1, run) {
		wrong(desiredAtMost, "%d nodes are wanted of %d", ours.Wanted, run)
	}
	if digits, ok := strings.CutSuffix(f.replicas().StrVal, "%"); ok {
		percent, _ := strconv.Atoi(digits)
		want := (percent*run + 99) / 100
		if percent < 100 && want == run {
			want--
		}
		if percent < 100 && run > 1 && int(ours.Wanted) == run {
			wrong(someNodeIsLeftOut, "%d nodes are wanted, which are all", ours.Wanted)
		}
		if int(ours.Wanted) != max(1, want) {
			wrong(desiredIsCounted, "%d nodes are wanted, which are not %s of %d", ours.Wanted, f.replicas().StrVal, run)
		}
	}
}

// replicas is the number of canary nodes, or its default.
func (f *fleet) replicas() intstr.IntOrString { return *f.spec.options().Default().Replicas }

// selects reports whether nodes with these labels may be chosen.
func (f *fleet) selects(nodeLabels map[string]string) bool {
	selector, err := metav1.LabelSelectorAsSelector(f.spec.NodeSelector)
	return f.spec.NodeSelector == nil || err == nil && selector.Matches(labels.Set(nodeLabels))
}
