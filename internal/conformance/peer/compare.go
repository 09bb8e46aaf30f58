package peer

import (
	"fmt"
	"maps"
	"slices"

	"github.com/daemonplan/daemonplan/rollout"
)

// Aspect is the aspect of a decision in which a difference lies.
type Aspect string

// The aspects beside the fates of pods: each [Fate] is an aspect, too.
const (
	AspectCreates Aspect = "creates"
	AspectStatus  Aspect = "status"
)

// Aspects of a decision, in order.
var Aspects = []Aspect{AspectCreates, Aspect(Deleted), Aspect(InPlace), Aspect(Preparing), Aspect(TakenBack), AspectStatus}

// Difference between what the controller did and what the plan does.
type Difference struct {
	Aspect Aspect
	// Subject is a node (creates), a pod or a counter (status). Empty: only the number of free choices differs.
	Subject string
	// Ours reports whether the plan does it and the controller did not, or does more of it. Otherwise the controller did.
	Ours bool
	// By is by how much; 1 for a node or a pod.
	By int
}

func (d Difference) String() string {
	who := "only the controller"
	if d.Ours {
		who = "only the plan"
	}
	return fmt.Sprintf("%s: %s: %q by %d", d.Aspect, who, d.Subject, d.By)
}

// Compare lists the differences of a plan from what a controller did, aspect by aspect. Which action belongs to which phase
// does not matter: a sync of the real controller does one of them, a plan both.
func Compare(o Outcome, plan rollout.Plan) []Difference {
	repairs := 0
	for _, a := range plan.Creates {
		repairs += int(count(a.Reason == rollout.ReasonMissing || a.Reason == rollout.ReasonBesideTerminating))
	}
	for _, a := range plan.Deletes {
		repairs += int(count(a.Reason != rollout.ReasonOutdated && a.Reason != rollout.ReasonOutdatedNotReady))
	}
	ours := DecidedBy(plan)
	diffs := compareActions(AspectCreates, ours.Creates, o.Manage.Creates, o.Roll.Creates, repairs)
	for _, f := range []Fate{Deleted, InPlace, Preparing, TakenBack} {
		manage, roll := o.Manage.Fates.only(f), o.Roll.Fates.only(f)
		diffs = append(diffs, compareActions(Aspect(f), f.Among(ours.Fates), manage, roll, repairs)...)
	}
	return append(diffs, compareStatus(o.Status, plan)...)
}

// only returns what the act does to pods that meet the fate; of a choice between fates, the least.
func (a Act) only(f Fate) Act {
	from := f.Among(a.From)
	return Act{Must: f.Among(a.Must), From: from, Count: max(0, a.Count-len(a.From)+len(from))}
}

// compareActions checks that ours holds all that both phases did, nothing beyond what they could choose, and as
// many of their choices. Of the free choices of the update phase fewer are fine where our own repairs spend the
// budget (M7).
func compareActions(a Aspect, ours []string, repair, roll Act, repairs int) []Difference {
	rest := make(map[string]bool)
	for _, s := range ours {
		rest[s] = true
	}
	var diffs []Difference
	for _, s := range slices.Compact(slices.Sorted(slices.Values(slices.Concat(repair.Must, roll.Must)))) {
		if !rest[s] {
			diffs = append(diffs, Difference{Aspect: a, Subject: s, By: 1})
		}
		delete(rest, s)
	}
	take := func(c Act) (taken int) {
		for _, s := range c.From {
			if rest[s] && taken < c.Count {
				delete(rest, s)
				taken++
			}
		}
		return taken
	}
	if taken := take(repair); taken < repair.Count {
		diffs = append(diffs, Difference{Aspect: a, By: repair.Count - taken})
	}
	if taken := take(roll); taken+repairs < roll.Count {
		diffs = append(diffs, Difference{Aspect: a, By: roll.Count - taken})
	}
	for _, s := range slices.Sorted(maps.Keys(rest)) {
		diffs = append(diffs, Difference{Aspect: a, Subject: s, Ours: true, By: 1})
	}
	return diffs
}

func compareStatus(want Counters, plan rollout.Plan) []Difference {
	got := plan.Status
	var diffs []Difference
	for _, counter := range []struct {
		name      string
		got, want int32
	}{
		{"desired", got.Desired, want.Desired},
		{"current", got.Current, want.Current},
		{"misscheduled", got.Misscheduled, want.Misscheduled},
		{"ready", got.Ready, want.Ready},
		{"updated", got.Updated, want.Updated},
		{"available", got.Available, want.Available},
		{"unavailable", got.Unavailable, want.Unavailable},
	} {
		if counter.got != counter.want {
			diffs = append(diffs, Difference{
				Aspect: AspectStatus, Subject: counter.name, Ours: counter.got > counter.want,
				By: int(max(counter.got-counter.want, counter.want-counter.got)),
			})
		}
	}
	return diffs
}
