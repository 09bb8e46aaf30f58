package conformance_test

import (
	"slices"
	"testing"
	"time"

	"github.com/daemonplan/daemonplan/internal/conformance/peer"
	"github.com/daemonplan/daemonplan/rollout"
)

// TestConformanceEDSStockJudgement compares what the planner finds out from the pods of a canary, and what it does about them, with
// what was recorded.
func TestConformanceEDSStockJudgement(t *testing.T) {
	type judgement struct {
		edsCase
		Expect struct {
			Failed, Paused                                      bool
			Creates, Deletes, CanaryLabelAddedTo, CleanedUpPods []string
			Conditions                                          []edsCondition
			Panic                                               string
		} `json:"expect"`
	}
	compared, failed, paused, panics := 0, 0, 0, 0
	for _, c := range edsLines[judgement](t, "canary-status") {
		w := newEDSWorld(t, &c.edsCase, edsOnTrial)
		if slices.ContainsFunc(w.nodes, func(n *edsNode) bool { return n.canary && n.object != nil && !n.given }) {
			continue // by the recording nothing runs there, although nothing of the node says so
		}
		if c.refused() != "" || !edsFilters(w) || w.Input.Set.Spec.Strategy.Canary == nil {
			continue
		}
		in, err := w.stock(t, 1)
		if err != nil {
			continue // such as a limit that New refuses
		}
		plan, err := in.planner.Plan(in.at(w.now()))
		if err != nil {
			t.Fatalf("%s: %v", c.Name, err)
		}
		compared++
		e := &c.Expect
		got := edsDecidedBy(plan)
		if e.Panic != "" {
			if panics++; len(got.creates)+len(got.deletes) > 0 {
				t.Errorf("%s: creates %v and deletes %v, where the controller panics", c.Name, got.creates, got.deletes)
			}
			continue
		}
		record := plan.Memory.Canary
		failed, paused = failed+int(count(e.Failed)), paused+int(count(e.Paused))
		if (record.Verdict != nil) != e.Failed || (record.Pause != nil) != e.Paused {
			t.Errorf("%s %v: failed %v, paused %v; with the controller %v and %v", c.Name, c.Features, record.Verdict, record.Pause,
				e.Failed, e.Paused)
		}
		deletes := peer.Act{Must: slices.Concat(e.Deletes, e.CleanedUpPods)}
		if !peer.Permits(peer.Act{Must: e.Creates}, peer.Act{}, got.creates) || !peer.Permits(deletes, peer.Act{}, got.deletes) {
			t.Errorf("%s %v: creates %v, deletes %v; the controller %v and %v", c.Name, c.Features, got.creates, got.deletes, e.Creates,
				deletes.Must)
		}
		for _, condition := range e.Conditions {
			last := condition.LastUpdateTime.Time
			if condition.Type == "PodRestarting" && !last.Equal(record.Restarted) {
				t.Errorf("%s: restarted %v, with the controller %v", c.Name, record.Restarted.Format(time.TimeOnly), last)
			}
		}
		var labelled []string
		for _, p := range plan.Patches {
			if p.Reason == rollout.ReasonCanaryLabel {
				labelled = append(labelled, p.Pod)
			}
		}
		if slices.Sort(labelled); !slices.Equal(labelled, slices.Sorted(slices.Values(e.CanaryLabelAddedTo))) {
			t.Errorf("%s: labels %v, and the controller %v", c.Name, labelled, e.CanaryLabelAddedTo)
		}
	}
	t.Logf("%d compared, %d failed, %d paused, %d panics", compared, failed, paused, panics)
	if (compared < 200 || failed < 20 || paused < 20 || panics == 0) && !edsElsewhere() {
		t.Error("too few to compare")
	}
}
