//go:build teeth

package conformance_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/status"
)

// TestEDSStockRejectsWrongPlans: what a planner that is wrong would decide is none of the controller's choices.
func TestEDSStockRejectsWrongPlans(t *testing.T) {
	for name, spoil := range map[string]func(w *edsWorld, plan *rollout.Plan) bool{
		"one delete fewer": func(_ *edsWorld, plan *rollout.Plan) bool {
			if len(plan.Deletes) == 0 {
				return false
			}
			plan.Deletes = plan.Deletes[1:]
			return true
		},
		"one create fewer": func(_ *edsWorld, plan *rollout.Plan) bool {
			if len(plan.Creates) == 0 {
				return false
			}
			plan.Creates = plan.Creates[1:]
			return true
		},
		"one more pod is deleted": func(w *edsWorld, plan *rollout.Plan) bool {
			for _, n := range w.nodes {
				for _, p := range n.pods {
					if !marked(p) && p.Status.Phase != corev1.PodUnknown && newEDSSightOf(plan).deleted(p.Name) == rollout.ReasonNone {
						plan.Deletes = append(plan.Deletes, rollout.Delete{Node: n.name, Pod: p.Name})
						return true
					}
				}
			}
			return false
		},
		"a create where there is one": func(_ *edsWorld, plan *rollout.Plan) bool {
			if len(plan.Creates) == 0 {
				return false
			}
			plan.Creates = append(plan.Creates, plan.Creates[0])
			return true
		},
		"a ready node fewer": func(w *edsWorld, plan *rollout.Plan) bool {
			for i := range plan.Decisions {
				d := &plan.Decisions[i]
				if n := w.node(d.Node); d.Facts.Has(status.Ready) && n != nil && (w.role == edsOnTrial) == n.canary && !n.ignored {
					d.Facts &^= status.Ready
					return w.role != edsFilterAlone
				}
			}
			return false
		},
	} {
		t.Run(name, func(t *testing.T) {
			changed := 0
			for _, file := range edsFiles {
				for _, c := range edsLines[edsCase](t, file) {
					w := newEDSWorld(t, c, edsRoleIn(c, file))
					m := newEDSModel(w, 0)
					if c.refused() != "" || m.undefaulted() || file == "rolling" && !edsFilters(w) {
						continue
					}
					in, err := w.stock(t, 1)
					if err != nil {
						continue
					}
					plan, err := in.planner.Plan(in.at(w.now()))
					if err != nil {
						t.Fatal(err)
					}
					want := m.outcome()
					if !spoil(w, &plan) {
						continue
					}
					if changed++; want.differs(w, plan) == "" && want.counters != (edsCounters{}) {
						t.Errorf("%s: it passes for %v", c.Name, want)
					}
				}
			}
			if changed < 40 {
				t.Errorf("it changes %d cases only", changed)
			}
		})
	}
}

func newEDSSightOf(plan *rollout.Plan) edsSight { return edsSight{edsCall: edsCall{plan: *plan}} }
