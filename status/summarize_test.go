package status_test

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daemonplan/daemonplan/status"
)

var noon = time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC)

// underWay returns a rollout on ten nodes: five done, one starting, four outdated, of which two wait.
func underWay() status.Input {
	return status.Input{
		Now:        noon,
		Generation: 7,
		Counts: status.Counts{
			Desired: 10, Current: 10, Ready: 9, Available: 9, Unavailable: 1, Updated: 6,
		},
		UpdateRevision: "new", StableRevision: "old",
		Settled: 5, Outdated: 4, Waiting: 2, Acting: true, Moving: true,
		MaxUnavailable: 2, Unavailable: 1,
	}
}

// done returns the same rollout when it is over.
func done() status.Input {
	in := underWay()
	in.Counts = status.Counts{Desired: 10, Current: 10, Ready: 10, Available: 10, Updated: 10}
	in.Settled, in.Outdated, in.Waiting, in.Acting, in.Unavailable = 10, 0, 0, false, 0
	return in
}

// stuck returns the same rollout when two held broken pods use up the budget.
func stuck() status.Input {
	in := underWay()
	in.Counts.Available, in.Counts.Ready, in.Counts.Updated = 8, 8, 5
	in.Outdated, in.Held, in.HeldUnavailable, in.Unavailable, in.Acting = 5, 2, 2, 2, false
	return in
}

// rows is the set of names seen in one table. Each row must have a name of its own and say why.
type rows map[string]bool

func (r rows) check(t *testing.T, name, why string) {
	t.Helper()
	if name == "" || why == "" || r[name] {
		t.Fatalf("row %q needs a unique name and a why", name)
	}
	r[name] = true
}

// trying returns a canary on two of ten nodes: both have an available pod of the revision, the rest is as before.
func trying() status.Input {
	in := done()
	in.Counts.Updated, in.Settled = 2, 2
	in.Trial = status.Trial{State: status.Canary, Reason: "Observing", Message: "for another 4m0s"}
	return in
}

// seen is what a row of a table looks at.
type seen struct {
	State       status.SetState
	Reason      status.ConditionReason
	Progressing string // status and reason
	Completed   string
}

func look(s status.Status) seen {
	c := s.Conditions[1]
	return seen{s.State, s.Reason, string(c.Status) + " " + c.Reason, s.CompletedRevision}
}

func TestSummarizeStateS2(t *testing.T) {
	var (
		inProgress = seen{status.Updating, status.RolloutInProgress, "True RolloutInProgress", ""}
		waiting    = seen{status.Updating, status.WaitingForAvailability, "True WaitingForAvailability", ""}
		complete   = seen{status.Running, status.RolloutComplete, "False RolloutComplete", "new"}
		isStuck    = seen{status.Stuck, status.HeldPodsUseUpBudget, "Unknown HeldPodsUseUpBudget", ""}
		isHeld     = seen{status.Running, status.RolloutHeld, "False RolloutHeld", ""}
		onTrial    = seen{status.Canary, status.CanaryOnTrial, "True CanaryOnTrial", ""}
		onHold     = seen{status.CanaryPaused, status.CanaryOnHold, "Unknown CanaryOnHold", ""}
		rejected   = seen{status.CanaryFailed, status.CanaryRejected, "Unknown CanaryRejected", ""}
		nodeless   = seen{status.Stuck, status.CanaryWithoutNodes, "Unknown CanaryWithoutNodes", ""}
	)
	still := func(reason status.ConditionReason) seen {
		return seen{status.Stuck, reason, "Unknown " + reason.String(), ""}
	}
	tests := []struct {
		name string
		why  string
		from func() status.Input
		edit func(*status.Input)
		want seen
	}{
		{"under way", "nodes are outdated and the plan acts", underWay, nil, inProgress},
		{"waiting for the budget", "nothing under way ends by itself, but the unavailable node may come back", underWay,
			func(in *status.Input) { in.Acting = false }, waiting},
		{"waiting for a hook", "no node waits for the budget, so availability is not what is missing", underWay,
			func(in *status.Input) { in.Acting, in.Waiting = false, 0 }, inProgress},
		{"nothing moves", "P-A: what stands still goes on only when somebody acts", underWay,
			func(in *status.Input) { in.Acting, in.Moving = false, false }, still(status.NothingMoves)},
		{"it acts all the same", "P-A: an action is in motion enough", underWay, func(in *status.Input) { in.Moving = false }, inProgress},
		{"pods do not serve", "P-A: they are in the way, whatever else is", underWay,
			func(in *status.Input) { in.Acting, in.Moving, in.NotServing, in.Obstructed = false, false, 1, 4 }, still(status.PodsNotServing)},
		{"in place is not possible", "P-A: nobody holds them back, and nothing updates them", underWay,
			func(in *status.Input) { in.Acting, in.Moving, in.Obstructed = false, false, 4 }, still(status.InPlaceNotPossible)},
		{"nodes lack features", "T9: their kubelets have to be newer", underWay,
			func(in *status.Input) { in.Acting, in.Moving, in.Undeclared = false, false, 4 }, still(status.NodesLackFeatures)},
		{"nodes lack features, and in place is not possible", "P-A: together they are all that is left", underWay,
			func(in *status.Input) { in.Acting, in.Moving, in.Obstructed, in.Undeclared = false, false, 3, 1 }, still(status.NodesLackFeatures)},
		{"nodes lack features, and something else", "P-A: another keeps the fourth", underWay,
			func(in *status.Input) { in.Acting, in.Moving, in.Undeclared = false, false, 3 }, still(status.NothingMoves)},
		{"in place is not possible for some", "P-A: something else keeps the fourth", underWay,
			func(in *status.Input) { in.Acting, in.Moving, in.Obstructed = false, false, 3 }, still(status.NothingMoves)},
		{"complete, and nothing moves", "P-A: that is the end", done, func(in *status.Input) { in.Moving = false }, complete},
		{"last pod broken for good", "P-A: nine of ten are not all", done,
			func(in *status.Input) { in.Settled, in.Counts.Available, in.Moving = 9, 9, false }, still(status.NothingMoves)},
		{"last pods starting", "none outdated is not yet complete", done,
			func(in *status.Input) { in.Settled, in.Counts.Available, in.Acting = 9, 9, true }, inProgress},
		{"last pod broken", "nothing is under way, all that is missing is availability", done,
			func(in *status.Input) { in.Settled, in.Counts.Available = 9, 9 }, waiting},
		{"first installation", "nothing outdated, but nothing there either", done,
			func(in *status.Input) { in.Counts, in.Settled, in.Acting = status.Counts{Desired: 10}, 0, true }, inProgress},
		{"complete", "every desired node is settled", done, nil, complete},
		{"no revision", "complete, but there is no name to remember", done,
			func(in *status.Input) { in.UpdateRevision = "" },
			seen{status.Running, status.RolloutComplete, "False RolloutComplete", ""}},

		{"surge, new pods never started", "each node is updated by one pod and available by the other", done,
			func(in *status.Input) { in.Settled, in.Acting, in.MaxSurge, in.MaxUnavailable = 0, true, 10, 0 }, inProgress},
		{"surge, one to go", "nine of ten settled is not complete", done,
			func(in *status.Input) { in.Settled, in.Acting = 9, true }, inProgress},
		{"settled beyond available", "a claim that the counters deny does not complete a rollout", done,
			func(in *status.Input) { in.Counts.Available, in.Acting = 9, true }, inProgress},
		{"settled beyond updated", "a claim that the counters deny does not complete a rollout", done,
			func(in *status.Input) { in.Counts.Updated, in.Acting = 9, true }, inProgress},
		{"settled, yet outdated", "an outdated node that is free keeps the rollout open, whatever the sum says", done,
			func(in *status.Input) { in.Outdated, in.Acting = 1, true }, inProgress},

		{"no nodes", "nothing to roll out to is nothing to wait for (S3)", done,
			func(in *status.Input) { in.Counts, in.Settled = status.Counts{}, 0 }, complete},
		{"no nodes but pods", "such a pod may be outdated and its node come back, so nothing is recorded", done,
			func(in *status.Input) { in.Counts, in.Settled = status.Counts{Misscheduled: 1}, 0 },
			seen{status.Running, status.RolloutComplete, "False RolloutComplete", ""}},
		{"misscheduled elsewhere", "pods elsewhere do not matter where nodes were seen complete", done,
			func(in *status.Input) { in.Counts.Misscheduled = 1 }, complete},
		{"misscheduled elsewhere, one node", "one node seen complete is enough", done,
			func(in *status.Input) {
				in.Counts = status.Counts{Desired: 1, Current: 1, Misscheduled: 1, Ready: 1, Available: 1, Updated: 1}
				in.Settled = 1
			}, complete},

		{"held", "the rest is held by partition or selector, all else is done", done,
			func(in *status.Input) { in.Counts.Updated, in.Settled, in.Outdated, in.Held = 7, 7, 3, 3 }, isHeld},
		{"held and unavailable", "a held node's health is not the rollout's", done,
			func(in *status.Input) {
				in.Counts.Updated, in.Counts.Available = 7, 9
				in.Settled, in.Outdated, in.Held = 7, 3, 3
			}, isHeld},
		{"held but not all", "one free node is still outdated", underWay,
			func(in *status.Input) { in.Held = 3 }, inProgress},
		{"held, one starting", "what is not held is not done", done,
			func(in *status.Input) {
				in.Counts.Updated, in.Settled, in.Outdated, in.Held, in.Acting = 7, 6, 3, 3, true
			}, inProgress},
		{"held beyond outdated", "held nodes are outdated ones; a higher number hides nothing", done,
			func(in *status.Input) { in.Settled, in.Counts.Available, in.Held, in.Acting = 9, 9, 1, true }, inProgress},
		{"held, int32 extremes", "sums do not overflow", done,
			func(in *status.Input) {
				in.Counts = status.Counts{Desired: math.MaxInt32, Updated: math.MaxInt32, Available: math.MaxInt32}
				in.Settled, in.Outdated, in.Held = math.MaxInt32, math.MaxInt32, math.MaxInt32
			}, isHeld},
		{"OnDelete", "all outdated pods wait for a person's delete (T5)", underWay,
			func(in *status.Input) { in.OnDelete, in.Settled, in.Waiting, in.Acting = true, 6, 0, false },
			seen{status.Running, status.OnDelete, "False OnDelete", ""}},
		{"OnDelete, complete", "once nothing is outdated it is like any other", done,
			func(in *status.Input) { in.OnDelete = true }, complete},
		{"OnDelete, one starting", "a pod deleted by hand is being replaced", underWay,
			func(in *status.Input) { in.OnDelete, in.Waiting = true, 0 }, inProgress},

		{"stuck", "two held broken pods use up a budget of two", stuck, nil, isStuck},
		{"stuck by more", "three do so all the more", stuck,
			func(in *status.Input) { in.HeldUnavailable = 3 }, isStuck},
		{"not stuck, room left", "one of two places may become free by itself", stuck,
			func(in *status.Input) { in.HeldUnavailable = 1 }, waiting},
		{"not stuck, acting", "something under way may change the picture", stuck,
			func(in *status.Input) { in.Acting = true }, inProgress},
		{"not stuck, nobody waits", "a used up budget that nobody needs blocks nobody", stuck,
			func(in *status.Input) { in.Waiting = 0 }, inProgress},
		{"not stuck, no budget", "a limit of 0 is not used up by 0 held nodes", stuck,
			func(in *status.Input) { in.MaxUnavailable, in.HeldUnavailable = 0, 0 }, waiting},
		{"stuck by one", "one held broken pod and a budget of one", stuck,
			func(in *status.Input) { in.MaxUnavailable, in.HeldUnavailable = 1, 1 }, isStuck},
		{"surge, stuck", "with surge the limit in force is maxSurge", stuck,
			func(in *status.Input) { in.MaxUnavailable, in.MaxSurge = 0, 2 }, isStuck},
		{"surge, not stuck", "a place is left, though maxUnavailable is 0", stuck,
			func(in *status.Input) { in.MaxUnavailable, in.MaxSurge = 0, 3 }, waiting},
		{"surge of one, not stuck by none", "no held node takes the place", stuck,
			func(in *status.Input) { in.MaxUnavailable, in.MaxSurge, in.HeldUnavailable = 0, 1, 0 }, waiting},
		{"surge of one, stuck", "maxSurge 1 is a limit too", stuck,
			func(in *status.Input) { in.MaxUnavailable, in.MaxSurge, in.HeldUnavailable = 5, 1, 1 }, isStuck},

		{"paused", "a person's decision outranks what is observed", underWay,
			func(in *status.Input) { in.Paused = true },
			seen{status.Paused, status.PausedBySpec, "Unknown PausedBySpec", ""}},
		{"paused beats stuck", "a person's decision outranks what is observed", stuck,
			func(in *status.Input) { in.Paused = true },
			seen{status.Paused, status.PausedBySpec, "Unknown PausedBySpec", ""}},
		{"paused, complete", "the word tells of the pause, the condition of the rollout", done,
			func(in *status.Input) { in.Paused = true },
			seen{status.Paused, status.PausedBySpec, "False RolloutComplete", "new"}},
		{"paused, held", "lifting the pause would change nothing for the rollout", done,
			func(in *status.Input) {
				in.Paused, in.Counts.Updated, in.Settled, in.Outdated, in.Held = true, 7, 7, 3, 3
			},
			seen{status.Paused, status.PausedBySpec, "False RolloutHeld", ""}},
		{"frozen", "nothing is created or deleted", underWay,
			func(in *status.Input) { in.Frozen = true },
			seen{status.Frozen, status.FrozenBySpec, "Unknown FrozenBySpec", ""}},
		{"frozen beats paused", "frozen is the stricter one (T4)", underWay,
			func(in *status.Input) { in.Frozen, in.Paused = true, true },
			seen{status.Frozen, status.FrozenBySpec, "Unknown FrozenBySpec", ""}},

		{"latched, node down", "a reboot does not reopen the rollout (S3)", done,
			func(in *status.Input) { in.CompletedRevision, in.Settled, in.Counts.Available = "new", 9, 9 }, complete},
		{"latched, node joined", "nor does a node that joins", done,
			func(in *status.Input) { in.CompletedRevision, in.Counts.Desired, in.Acting = "new", 11, true }, complete},
		{"latched, outdated again", "the word tells that a pod is replaced (P8), the condition stays", done,
			func(in *status.Input) {
				in.CompletedRevision, in.Outdated, in.Acting = "new", 1, true
				in.Settled, in.Counts.Updated = 9, 9
			},
			seen{status.Updating, status.RolloutInProgress, "False RolloutComplete", "new"}},
		{"latched, frozen", "the word tells of the freeze, the condition of the rollout", underWay,
			func(in *status.Input) { in.CompletedRevision, in.Frozen = "new", true },
			seen{status.Frozen, status.FrozenBySpec, "False RolloutComplete", "new"}},
		{"latched, held again", "the word tells of the held pods, the condition stays", done,
			func(in *status.Input) {
				in.CompletedRevision, in.Settled, in.Counts.Updated, in.Outdated, in.Held = "new", 7, 8, 2, 2
			},
			seen{status.Running, status.RolloutHeld, "False RolloutComplete", "new"}},
		{"latched for another", "a completed older revision says nothing of this one", underWay,
			func(in *status.Input) { in.CompletedRevision = "old" }, inProgress},
		{"unknown is not latched", "no name equals no name, but records nothing", underWay,
			func(in *status.Input) { in.UpdateRevision = "" }, inProgress},

		{"canary", "it is tried, and goes on once it is promoted (C1)", trying, nil, onTrial},
		{"canary, begun", "what its nodes do now is no other word (S2)", trying,
			func(in *status.Input) { in.Settled, in.Outdated, in.Waiting, in.Acting = 1, 1, 1, true }, onTrial},
		{"canary on every node", "settled everywhere is not promoted (C1)", done,
			func(in *status.Input) { in.Trial.State = status.Canary }, onTrial},
		{"canary, all others held", "nor is a partition as far as it gets", done,
			func(in *status.Input) {
				in.Counts.Updated, in.Settled, in.Outdated, in.Held, in.Trial.State = 7, 7, 3, 3, status.Canary
			}, onTrial},
		{"canary without desired nodes", "nothing to roll out to, and yet not promoted", done,
			func(in *status.Input) { in.Counts, in.Settled, in.Trial.State = status.Counts{}, 0, status.Canary }, onTrial},
		{"canary of what was complete", "the record is of a revision that is not on trial any more", done,
			func(in *status.Input) { in.CompletedRevision, in.Trial.State = "new", status.Canary }, onTrial},
		{"canary blocked", "its nodes wait for a budget that only a person can free", stuck,
			func(in *status.Input) { in.Trial.State = status.Canary }, isStuck},
		{"canary paused", "somebody has to lift the pause (C3)", trying,
			func(in *status.Input) { in.Trial.State = status.CanaryPaused }, onHold},
		{"canary paused and blocked", "the pause has to be lifted first", stuck,
			func(in *status.Input) { in.Trial.State = status.CanaryPaused }, onHold},
		{"canary paused on every node", "settled everywhere is not promoted (C1)", done,
			func(in *status.Input) { in.Trial.State = status.CanaryPaused }, onHold},
		{"canary failed", "somebody has to change the template, or to retry (C4)", trying,
			func(in *status.Input) { in.Trial.State = status.CanaryFailed }, rejected},
		{"canary failed, going back", "the way back is not the rollout of the revision (C7)", underWay,
			func(in *status.Input) { in.Trial.State = status.CanaryFailed }, rejected},
		{"canary failed on every node", "what failed is not complete", done,
			func(in *status.Input) { in.Trial.State = status.CanaryFailed }, rejected},
		{"canary failed and blocked", "that it failed is what to know first", stuck,
			func(in *status.Input) { in.Trial.State = status.CanaryFailed }, rejected},
		{"canary without nodes", "nothing will be promoted until there are some (C1)", trying,
			func(in *status.Input) { in.Trial.State = status.Stuck }, nodeless},
		{"canary without nodes, acting", "repair elsewhere does not change that", trying,
			func(in *status.Input) { in.Trial.State, in.Acting = status.Stuck, true }, nodeless},
		{"canary held", "its node will not be updated until somebody lowers the partition (T2)", trying,
			func(in *status.Input) { in.Trial.Held = true },
			seen{status.Stuck, status.CanaryHeld, "Unknown CanaryHeld", ""}},
		{"canary held, acting", "what goes on may yet free its place", trying,
			func(in *status.Input) { in.Trial.Held, in.Acting = true, true }, onTrial},
		{"canary, nobody brings its pods", "P-A: it waits for pods, and nothing is in motion", trying,
			func(in *status.Input) {
				in.Trial.Held, in.Trial.Starting, in.Acting, in.Moving, in.NotServing = false, true, false, false, 1
			}, still(status.PodsNotServing)},
		{"canary, its pods are on their way", "C1: something is in motion", trying,
			func(in *status.Input) {
				in.Trial.Held, in.Trial.Starting, in.Acting, in.Moving = false, true, false, true
			}, onTrial},
		{"canary, it only waits to be validated", "C5: its pods are there", trying,
			func(in *status.Input) { in.Acting, in.Moving = false, false }, onTrial},
		{"held, nothing on trial", "Held says something of a canary only", underWay,
			func(in *status.Input) { in.Trial.Held = true }, inProgress},
		{"canary, set paused", "a person's decision about the set stops the canary too (C7)", trying,
			func(in *status.Input) { in.Paused = true },
			seen{status.Paused, status.PausedBySpec, "Unknown PausedBySpec", ""}},
		{"canary paused, set frozen", "of two stops the one of the set is told", trying,
			func(in *status.Input) { in.Frozen, in.Trial.State = true, status.CanaryPaused },
			seen{status.Frozen, status.FrozenBySpec, "Unknown FrozenBySpec", ""}},
		{"canary failed, set paused", "the condition Canary tells of the failure", trying,
			func(in *status.Input) { in.Paused, in.Trial.State = true, status.CanaryFailed },
			seen{status.Paused, status.PausedBySpec, "Unknown PausedBySpec", ""}},
		{"canary on every node, set paused", "a pause completes nothing", done,
			func(in *status.Input) { in.Paused, in.Trial.State = true, status.Canary },
			seen{status.Paused, status.PausedBySpec, "Unknown PausedBySpec", ""}},
		{"promoted", "from then on it is a rollout like any other", underWay,
			func(in *status.Input) { in.Trial.Promoted = true }, inProgress},
		{"promoted and complete", "and ends like any other", done,
			func(in *status.Input) { in.Trial.Promoted = true }, complete},
		{"no state of a trial", "it counts as none on trial", done,
			func(in *status.Input) { in.Trial.State = status.Updating }, complete},

		{"a part soaks", "time passes, and then it goes on (T8)", underWay,
			func(in *status.Input) { in.Gated, in.Gate = 2, status.GateSoak },
			seen{status.Updating, status.StageSoaking, "True StageSoaking", ""}},
		{"a part lacks its approval", "somebody has to give it (T8)", underWay,
			func(in *status.Input) { in.Gated, in.Gate = 2, status.GateApproval },
			seen{status.Paused, status.ApprovalNeeded, "Unknown ApprovalNeeded", ""}},
		{"a part without evidence", "somebody has to bring one of its nodes back (T8)", underWay,
			func(in *status.Input) { in.Gated, in.Gate, in.Acting = 2, status.GateEvidence, false },
			seen{status.Stuck, status.StageWithoutEvidence, "Unknown StageWithoutEvidence", ""}},
		{"a part without evidence, acting", "what goes on may bring some", underWay,
			func(in *status.Input) { in.Gated, in.Gate, in.Acting = 2, status.GateEvidence, true }, inProgress},
		{"a gate that keeps no node", "nothing waits for it", underWay,
			func(in *status.Input) { in.Gate = status.GateApproval }, inProgress},
		{"nodes wait for the part before", "it goes on by itself", underWay,
			func(in *status.Input) { in.Gated = 2 }, inProgress},
		{"a part lacks its approval, paused", "a person's decision about the set is told first", underWay,
			func(in *status.Input) { in.Gated, in.Gate, in.Paused = 2, status.GateApproval, true },
			seen{status.Paused, status.PausedBySpec, "Unknown PausedBySpec", ""}},
		{"too many failed", "nothing is begun until fewer have (F3)", underWay,
			func(in *status.Input) { in.TooManyFailed = true },
			seen{status.Stuck, status.TooManyFailures, "Unknown TooManyFailures", ""}},
		{"failed nodes use the budget up", "nobody knows that they come back (F1)", stuck,
			func(in *status.Input) { in.HeldUnavailable, in.FailedUnavailable = 0, 2 },
			seen{status.Stuck, status.FailedNodesUseUpBudget, "Unknown FailedNodesUseUpBudget", ""}},
		{"failed and held nodes use the budget up", "together they do", stuck,
			func(in *status.Input) { in.HeldUnavailable, in.FailedUnavailable = 1, 1 },
			seen{status.Stuck, status.FailedNodesUseUpBudget, "Unknown FailedNodesUseUpBudget", ""}},
		{"failed nodes leave room", "the others may come back by themselves", stuck,
			func(in *status.Input) { in.HeldUnavailable, in.FailedUnavailable = 0, 1 }, waiting},
		{"failed nodes, and nobody waits", "they keep nobody waiting", stuck,
			func(in *status.Input) { in.HeldUnavailable, in.FailedUnavailable, in.Waiting = 0, 2, 0 }, inProgress},
		{"failed nodes, acting", "what goes on may free their place", stuck,
			func(in *status.Input) { in.HeldUnavailable, in.FailedUnavailable, in.Acting = 0, 2, true }, inProgress},
		{"only failed nodes are left", "nothing else brings it forward (F1)", underWay,
			func(in *status.Input) { in.OnlyFailedLeft, in.Acting, in.Waiting = true, false, 0 },
			seen{status.Stuck, status.FailedNodesLeft, "Unknown FailedNodesLeft", ""}},
		{"only failed nodes are left, acting", "what goes on may bring one back", underWay,
			func(in *status.Input) { in.OnlyFailedLeft, in.Acting = true, true }, inProgress},
		{"rolled back", "somebody has to change the template, or to retry (F3)", trying,
			func(in *status.Input) { in.Trial.State = status.RolledBack },
			seen{status.RolledBack, status.TooManyFailures, "Unknown TooManyFailures", ""}},
		{"rolled back on every node", "what was given up is not complete", done,
			func(in *status.Input) { in.Trial.State = status.RolledBack },
			seen{status.RolledBack, status.TooManyFailures, "Unknown TooManyFailures", ""}},

		{"negative numbers", "they count as 0: nothing settled, nothing held, nothing stuck", func() status.Input {
			return status.Input{Now: noon, Counts: status.Counts{Desired: 1, Updated: 1, Available: 1}, Acting: true,
				Settled: -1, Outdated: -3, Held: -3, Waiting: -1, HeldUnavailable: -1, MaxSurge: -1, MaxUnavailable: -5}
		}, nil, inProgress},
		{"held below zero", "it makes no node free that is not outdated", done,
			func(in *status.Input) { in.Held = -1 }, complete},
		{"outdated below zero", "it holds nothing, under OnDelete either", done,
			func(in *status.Input) { in.Outdated, in.OnDelete = -1, true }, complete},
	}
	table := rows{}
	for _, tt := range tests {
		table.check(t, tt.name, tt.why)
		t.Run(tt.name, func(t *testing.T) {
			in := tt.from()
			if tt.edit != nil {
				tt.edit(&in)
			}
			if got := look(status.Summarize(in)); got != tt.want {
				t.Errorf("got  %v\nwant %v\n%s", got, tt.want, tt.why)
			}
		})
	}
}

func TestSummarizeCarriesItsInput(t *testing.T) {
	in := underWay()
	in.CollisionCount = new(int32(3))
	in.Counts.Misscheduled, in.Counts.Unavailable = 4, 99
	got := status.Summarize(in)
	got.Conditions = nil
	want := status.Status{
		Counts: status.Counts{
			Desired: 10, Current: 10, Misscheduled: 4, Ready: 9, Available: 9, Unavailable: 1, Updated: 6,
		},
		ObservedGeneration: 7,
		UpdateRevision:     "new", StableRevision: "old",
		CollisionCount: new(int32(3)),
		State:          status.Updating, Reason: status.RolloutInProgress,
		DisruptionsAllowed: 1,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	*in.CollisionCount = 4
	if *got.CollisionCount != 3 {
		t.Error("the collision count is shared with the input")
	}
}

func TestDisruptionsAllowedS4(t *testing.T) {
	tests := []struct {
		name                   string
		why                    string
		limit, spent, expected int32
	}{
		{"room", "what is left of the budget", 3, 1, 2},
		{"one left", "the least room", 2, 1, 1},
		{"used up", "none left", 2, 2, 0},
		{"overdrawn", "nodes that failed by themselves allow no negative number", 2, 7, 0},
		{"surge", "with maxUnavailable 0 nothing may go", 0, 0, 0},
		{"extremes up", "a negative count is 0, not a gain", math.MaxInt32, math.MinInt32, math.MaxInt32},
		{"extremes down", "no overflow", math.MinInt32, math.MaxInt32, 0},
	}
	table := rows{}
	for _, tt := range tests {
		table.check(t, tt.name, tt.why)
		in := underWay()
		in.MaxUnavailable, in.Unavailable = tt.limit, tt.spent
		if got := status.Summarize(in).DisruptionsAllowed; got != tt.expected {
			t.Errorf("%s: %d of %d spent allows %d, want %d: %s", tt.name, tt.spent, tt.limit, got, tt.expected, tt.why)
		}
	}
}

func TestDaemonSetStatus(t *testing.T) {
	at := metav1.NewTime(noon)
	s := status.Status{
		Counts: status.Counts{
			Desired: 1, Current: 2, Misscheduled: 3, Ready: 4, Available: 5, Unavailable: 6, Updated: 7,
		},
		ObservedGeneration: 8,
		UpdateRevision:     "new", StableRevision: "old", CompletedRevision: "new",
		CollisionCount: new(int32(9)),
		State:          status.Running, Reason: status.RolloutComplete, DisruptionsAllowed: 10,
		Conditions: []metav1.Condition{{
			Type: "T", Status: metav1.ConditionUnknown, ObservedGeneration: 8, LastTransitionTime: at, Reason: "R", Message: "M",
		}},
	}
	got := s.DaemonSetStatus()
	want := appsv1.DaemonSetStatus{
		DesiredNumberScheduled: 1, CurrentNumberScheduled: 2, NumberMisscheduled: 3, NumberReady: 4, NumberAvailable: 5,
		NumberUnavailable: 6, UpdatedNumberScheduled: 7, ObservedGeneration: 8, CollisionCount: new(int32(9)),
		Conditions: []appsv1.DaemonSetCondition{{
			Type: "T", Status: corev1.ConditionUnknown, LastTransitionTime: at, Reason: "R", Message: "M",
		}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if got.CollisionCount == s.CollisionCount {
		t.Error("the collision count is shared")
	}
	if diff := cmp.Diff(appsv1.DaemonSetStatus{}, status.Status{}.DaemonSetStatus()); diff != "" {
		t.Errorf("zero status (-want +got):\n%s", diff)
	}
}

// A status that went through JSON, as Memory does, leads to the same next status.
func TestStatusJSON(t *testing.T) {
	in := underWay()
	in.Now = noon.Add(987654321)
	in.CollisionCount = new(int32(2))
	first := status.Summarize(in)
	data, err := json.Marshal(first)
	if err != nil {
		t.Fatal(err)
	}
	var back status.Status
	if err := json.Unmarshal(data, &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(first, back); diff != "" {
		t.Errorf("JSON changes the status (-before +after):\n%s", diff)
	}
	var fields map[string]any
	if err := json.Unmarshal(data, &fields); err != nil {
		t.Fatal(err)
	}
	if fields["state"] != "Updating" || fields["reason"] != "RolloutInProgress" || fields["desired"] != 10.0 {
		t.Errorf("words and counters are not where they should be: %s", data)
	}
}

func TestSummarizeAllocatesAConstant(t *testing.T) {
	const ceiling = 8
	small, large := underWay(), underWay()
	large.Counts.Desired, large.Outdated, large.Waiting = math.MaxInt32, math.MaxInt32, math.MaxInt32
	large.CollisionCount = new(int32(1))
	for range 1000 {
		large.Previous = append(large.Previous, metav1.Condition{Type: "Other"})
	}
	for name, in := range map[string]status.Input{"small": small, "large": large} {
		if n := testing.AllocsPerRun(100, func() { status.Summarize(in) }); n > ceiling {
			t.Errorf("%s: %v objects, want at most %d", name, n, ceiling)
		}
	}
}
