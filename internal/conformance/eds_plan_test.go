package conformance_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/daemonplan/daemonplan/internal/conformance/peer"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/verify"
)

// edsDecided is what a plan does, as far as it can be compared with the controller.
type edsDecided struct {
	creates []string // nodes
	deletes []string // pods
	// desired and updated are counts of the plan's status. The filter counts no node as updated.
	desired, updated int32
}

func edsDecidedBy(plan rollout.Plan) edsDecided {
	return edsDecided{
		creates: peer.DecidedBy(plan).Creates, deletes: peer.Deleted.Among(peer.FatesOf(plan)), desired: plan.Status.Desired, updated: plan.Status.Updated,
	}
}

// permits reports whether what was decided is what one of the outcome's choices does.
func (o edsOutcome) permits(d edsDecided) bool {
	return !o.panics && o.counters.Desired == d.desired && o.counters.Current == d.updated &&
		peer.Permits(o.creates, peer.Act{}, d.creates) && peer.Permits(o.deletes, peer.Act{}, d.deletes)
}

// explainEDS finds a smallest set of rules with which the model permits what was decided. The function of makes the outcome of a
// model with some rules.
func explainEDS(d edsDecided, of func(edsRuleSet) edsOutcome) (needed edsRuleSet, ok bool) {
	if !of(edsAllRules).permits(d) {
		return 0, false
	}
	needed = edsAllRules
	for r := edsRuleCount; r > 0; r-- {
		if fewer := needed &^ (1 << (r - 1)); of(fewer).permits(d) {
			needed = fewer
		}
	}
	return needed, true
}

// edsCall is one call of the controller, and the plan that we make in its place.
type edsCall struct {
	name  string
	world *edsWorld
	in    edsTranslated
	plan  rollout.Plan
	// outcome returns that of the model with some rules.
	outcome func(edsRuleSet) edsOutcome
}

// edsCalls plans for the calls of a recording. refused is the field for which the spec is refused instead.
func edsCalls(t *testing.T, file string, c *edsCase) (calls []edsCall, refused string) {
	t.Helper()
	w := newEDSWorld(t, c, edsRoleIn(c, file))
	in, err := w.translate(t)
	if path := c.refused(); path != "" || err != nil {
		assertEDSRefused(t, c.Name, err, path)
		return nil, path
	}
	planner, err := rollout.New(in.spec)
	if err != nil {
		t.Fatalf("%s: New: %v", c.Name, err)
	}
	at := []float64{0}
	at = append(at, c.Input.LaterCallsAtSeconds...)
	for i := range at {
		in.snapshot.Now = c.now().Add(edsSeconds(at[i]))
		plan, err := planner.Plan(in.snapshot)
		if err != nil {
			t.Fatalf("%s: Plan: %v", c.Name, err)
		}
		verifyEDS(t, c.Name, in.spec, in.snapshot, plan)
		calls = append(calls, edsCall{
			name: fmt.Sprintf("%s, call %d", c.Name, i), world: w, in: in, plan: plan,
			outcome: func(rules edsRuleSet) (o edsOutcome) {
				m := newEDSModel(w, rules)
				m.picked = plan.Canary.Nodes
				for _, seconds := range at[:i+1] {
					m.at = c.now().Add(edsSeconds(seconds))
					o = m.outcome()
				}
				return o
			},
		})
		in.snapshot.Memory = plan.Memory
	}
	return calls, ""
}

func verifyEDS(t *testing.T, name string, spec rollout.Spec, snapshot rollout.Snapshot, plan rollout.Plan) {
	t.Helper()
	for _, v := range verify.Plan(spec, snapshot, &plan) {
		t.Errorf("%s: %v", name, v)
	}
}

func assertEDSRefused(t *testing.T, name string, err error, path string) {
	t.Helper()
	of := func(e *field.Error) bool {
		return e.Field == path || strings.HasPrefix(e.Field,
			path+".") || strings.HasPrefix(e.Field, path+"[")
	}
	if path == "" || !slices.ContainsFunc(rollout.FieldErrors(err), of) {
		t.Errorf("%s: %q is to be refused, but the error is %v", name, path, err)
	}
}

var edsFiles = []string{"filter", "rolling", "ers-reconcile"}

// TestConformanceEDSPlans compares whole plans with what the controller did. If a plan differs, it must be what the model of the
// controller does with the rules of the table of deliberate differences.
func TestConformanceEDSPlans(t *testing.T) {
	for _, file := range edsFiles {
		t.Run(file, func(t *testing.T) {
			var total, agree, explained, bad int
			refused := make(map[string]int)
			var needed [edsRuleCount]int
			for _, c := range edsLines[edsCase](t, file) {
				calls, path := edsCalls(t, file, c)
				if path != "" {
					refused[path]++
				}
				for _, call := range calls {
					total++
					d := edsDecidedBy(call.plan)
					rules, ok := explainEDS(d, call.outcome)
					switch {
					case !ok:
						bad++
						if bad < 15 {
							t.Errorf("%s %v: unexplained\n%s", call.name, c.Features, edsWhy(call, d))
						}
					case rules == 0:
						agree++
					default:
						explained++
						for r := range edsRuleCount {
							needed[r] += int(rules >> r & 1)
						}
					}
				}
			}
			t.Logf("%d calls: %d agree, %d explained (%d%%), %v refused, %d unexplained", total, agree, explained,
				100*explained/max(1, total), refused, bad)
			for r, e := range edsEntries {
				t.Logf("%4d calls need %s (%s): %s", needed[r], e.id, e.rule, e.why)
			}
		})
	}
}

func edsWhy(call edsCall, d edsDecided) string {
	return fmt.Sprintf("    model of the rules: %v\n    plan: creates %v, deletes %v, desired %d, updated %d\n    controller: %v",
		call.outcome(edsAllRules),
		d.creates, d.deletes, d.desired, d.updated, call.outcome(0))
}
