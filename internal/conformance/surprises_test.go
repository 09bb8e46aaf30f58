package conformance_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/daemonplan/daemonplan/internal/conformance"
	"github.com/daemonplan/daemonplan/internal/conformance/peer"
	"github.com/daemonplan/daemonplan/rollout"
)

// surprise is what we do in a situation in which the recorded controller does something surprising.
type surprise struct {
	name    string // as recorded
	rule    string
	why     string
	creates string // nodes
	deletes string // pods
	// status has the counts desired, current, misscheduled, ready, updated and available.
	status [6]int32
	// patches are the changes of pods beside creates and deletes.
	patches string
	// refused is the field for which New refuses the spec. Then all else is empty.
	refused string
}

var surprises = []surprise{
	{"01-surge-missing-node", "B4, M5", "a pod on a vanished node stops nothing: b, the last by name, surges",
		"b", "", [6]int32{2, 2, 0, 2, 0, 2}, "", ""},
	{"02-terminating-on-missing-node-eats-budget", "B2", "a vanished node is no run node and costs no budget",
		"", "agent-b", [6]int32{2, 2, 0, 2, 0, 2}, "", ""},
	{"03-rolling-deletes-where-it-cannot-recreate", "P3, M4", "on a keep node nothing is replaced",
		"", "", [6]int32{0, 0, 1, 0, 0, 0}, "", ""},
	{"03b-and-then-nothing-is-created", "P2", "a keep node gets no pod",
		"", "", [6]int32{0, 0, 0, 0, 0, 0}, "", ""},
	{"04-healthy-duplicates-eat-budget", "M3, B2", "a node with a serving pod is available, however many it has",
		"", "agent-a2 agent-b", [6]int32{2, 2, 0, 2, 1, 2}, "", ""},
	{"05-unavailable-old-pods-unbounded", "B3", "outdated pods that are not Ready are replaced in full: they disturb nobody",
		"", "agent-d agent-c agent-b agent-a", [6]int32{4, 4, 0, 0, 0, 0}, "", ""},
	{"05b-unavailable-old-counts", "B2, B3", "the broken node uses up the budget, so the healthy one waits",
		"", "agent-a", [6]int32{2, 2, 0, 1, 0, 1}, "", ""},
	{"06-surge-unbounded-for-unavailable", "B4", "a node whose outdated pod is not Ready gets its new pod at once",
		"d c b a", "", [6]int32{4, 4, 0, 0, 0, 0}, "", ""},
	{"07-status-looks-at-oldest-only", "S1", "any live pod of the node counts: 1 ready, 1 updated, 1 available",
		"", "agent-old", [6]int32{1, 1, 0, 1, 1, 1}, "", ""},
	{"08-terminating-counts-as-available", "S1", "a terminating pod holds the node, and is neither ready nor available",
		"", "", [6]int32{1, 1, 0, 0, 0, 0}, "", ""},
	{"09-two-failed-pods-one-delete", "M2", "a node's failed pods go together",
		"", "agent-f1 agent-f2", [6]int32{1, 1, 0, 0, 1, 0}, "", ""},
	{"10-terminating-unscheduled-deleted-again", "M5", "a pod that is marked for deletion is not deleted again",
		"", "", [6]int32{1, 1, 0, 1, 1, 1}, "", ""},
	{"11-template-generation", "R5", "the hash label decides, so the pod is outdated and is replaced",
		"", "agent-a", [6]int32{1, 1, 0, 1, 0, 1}, "", ""},
	{"12-zero-zero", "B1, B6", "refused by New; unset it is maxUnavailable 1, and the last node by name goes first",
		"", "agent-b", [6]int32{2, 2, 0, 2, 0, 2}, "", ""},
	{"13-min-ready-boundary", "B5", "exactly minReadySeconds is enough",
		"", "", [6]int32{1, 1, 0, 1, 1, 1}, "", ""},
	{"14-terminating-terminal-ignored", "M1", "a finished pod that is marked for deletion is ignored altogether",
		"a", "", [6]int32{1, 0, 0, 0, 0, 0}, "", ""},
	{"15-succeeded-deleted", "M2", "a daemon pod is to run for ever",
		"", "agent-a", [6]int32{1, 1, 0, 0, 1, 0}, "", ""},
	{"16-unready-pod-on-ineligible-node-eats-budget", "B2", "a leave node costs no budget, so b is updated",
		"", "agent-a agent-b", [6]int32{1, 1, 1, 1, 0, 1}, "", ""},
	{"17-budget-spent-on-pods-that-must-go-anyway", "B2, M7", "the leave node is emptied by repair, and b has the whole budget",
		"", "agent-a agent-b", [6]int32{1, 1, 1, 1, 0, 1}, "", ""},
	{"18-untargeted-pod-invisible", "P7", "a pod without a node is left alone, but has a decision that says so",
		"", "", [6]int32{1, 1, 0, 1, 1, 1}, "", ""},
	{"19-surge-pair-both-unready", "M3", "of two pods that are not ready the outdated one goes",
		"", "agent-old", [6]int32{1, 1, 0, 0, 1, 0}, "", ""},
	{"20-percent-base-is-eligible-nodes-only", "B1, M4", "50% of 2 run nodes is 1, and only run nodes are candidates",
		"", "agent-b", [6]int32{2, 2, 4, 2, 0, 2}, "", ""},
}

// TestConformanceSurprises shows what we do in each situation in which the recorded controller does something surprising.
func TestConformanceSurprises(t *testing.T) { testSurprises(t, "kubernetes", surprises) }

func testSurprises(t *testing.T, dir string, surprises []surprise) {
	t.Helper()
	recordings := make(map[string]*peer.Case)
	for _, c := range cases(t, dir+"/surprises.jsonl") {
		recordings[strings.TrimPrefix(c.Name, dir+"/surprise-")] = c
	}
	for _, want := range surprises {
		t.Run(want.name, func(t *testing.T) {
			if want.rule == "" || want.why == "" {
				t.Fatal("a surprise needs a rule and a reason")
			}
			c := recordings[want.name]
			if c == nil && os.Getenv(conformance.EnvDir) != "" {
				t.Skipf("%s has no such recording", conformance.EnvDir)
			}
			if c == nil {
				t.Fatal("no such recording")
			}
			delete(recordings, want.name)
			spec := specOf(t, c)
			if field := c.Refused(spec); want.refused != "" {
				if assertRefused(t, c, spec, want.refused); field != want.refused {
					t.Errorf("%s: %s: the recording is refused for %q, want %q", want.rule, want.why, field, want.refused)
				}
				return
			}
			plan := planOf(t, c, spec)
			explained(t, situationOf(t, c, spec), plan, peer.Compare(c.Expected(), plan))
			if got := fmt.Sprint(peer.DecidedBy(plan).Creates); got != "["+want.creates+"]" {
				t.Errorf("%s: %s: creates %s, want [%s]", want.rule, want.why, got, want.creates)
			}
			if got := fmt.Sprint(peer.Deleted.Among(peer.FatesOf(plan))); got != "["+want.deletes+"]" {
				t.Errorf("%s: %s: deletes %s, want [%s]", want.rule, want.why, got, want.deletes)
			}
			if got := fmt.Sprint(peer.FatesOf(plan)[len(plan.Deletes):]); got != "["+want.patches+"]" {
				t.Errorf("%s: %s: patches %s, want [%s]", want.rule, want.why, got, want.patches)
			}
			s := plan.Status
			got := [6]int32{s.Desired, s.Current, s.Misscheduled, s.Ready, s.Updated, s.Available}
			if diff := cmp.Diff(want.status, got); diff != "" {
				t.Errorf("%s: %s: status (-want +got):\n%s", want.rule, want.why, diff)
			}
		})
	}
	for name, c := range recordings {
		if os.Getenv(conformance.EnvDir) == "" {
			t.Errorf("no expectation for the recorded surprise %q", name)
			continue
		}
		if spec := specOf(t, c); c.Refused(spec) == "" {
			plan := planOf(t, c, spec)
			explained(t, situationOf(t, c, spec), plan, peer.Compare(c.Expected(), plan))
		}
	}
}

// TestConformanceZeroBudgetsRefused tests the other half of surprise 12.
func TestConformanceZeroBudgetsRefused(t *testing.T) {
	refused := 0
	for _, file := range []string{"kubernetes/decisions.jsonl", "kubernetes/surprises.jsonl"} {
		for _, c := range cases(t, file) {
			update := c.Set.Spec.UpdateStrategy.RollingUpdate
			if update == nil || !peer.Zero(update.MaxUnavailable) || !peer.Zero(update.MaxSurge) {
				continue
			}
			spec := specOf(t, c)
			spec.Strategy.MaxUnavailable, spec.Strategy.MaxSurge = update.MaxUnavailable, update.MaxSurge
			_, err := rollout.New(spec)
			errs := rollout.FieldErrors(err)
			if len(errs) != 1 || errs[0].Field != "spec.strategy.maxUnavailable" {
				t.Errorf("%s: New returned %v", c.Name, err)
			}
			refused++
		}
	}
	if refused == 0 {
		t.Error("no recorded case has both budgets zero")
	}
}
