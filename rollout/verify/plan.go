package verify

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/daemonplan/daemonplan/rollout"
)

// Violation is one broken invariant.
type Violation struct {
	// Invariant is its number, as docs/invariants.md has it. 0: the spec or the snapshot breaks its contract, so that no plan
	// can be right for it, and nothing else was checked.
	Invariant int
	// Node concerned; empty if it is about the whole plan.
	Node string
	// Message says what was found and what would have been right. It begins with the rule that was broken
	// where the invariant alone does not name it.
	Message string
}

// String is the violation in one line.
func (v Violation) String() string {
	if v.Node == "" {
		return fmt.Sprintf("V%d: %s", v.Invariant, v.Message)
	}
	return fmt.Sprintf("V%d: node %s: %s", v.Invariant, v.Node, v.Message)
}

// Plan checks a plan that was made for a spec and a snapshot against the invariants that one plan alone can break, which the
// package documentation lists. It returns what the plan breaks in order of invariant, node and message; nil if nothing. The
// spec is the one given to [rollout.New], with or without its defaults. A nil plan is judged as an empty one.
//
// A [Verifier] finds the same, and is cheaper for plan after plan of one set.
func Plan(spec rollout.Spec, snapshot rollout.Snapshot, plan *rollout.Plan) []Violation {
	v := begin(&kept{}, snapshot, plan)
	if v.checkInput(spec); len(v.found) == 0 {
		v.read()
		v.pickAll()
		v.judge()
	}
	return v.sorted()
}

// Verifier checks plan after plan as [Plan] does. It keeps what it has read from the objects of the snapshot before, by
// their pointers, so that what has not changed is not read again, and of nodes that are alike it judges one. Whoever uses one
// owes it what [rollout.Snapshot.Reading] asks for: objects that were in a snapshot are never changed in place, but replaced by
// others, as in a cache of client-go. It finds what Plan finds, whatever the snapshots before were: the order of the lists is
// free, and objects may come and go; with another spec, which is compared with a copy of the last one, everything is read anew.
//
// The zero value is ready to use. It is not to be used by several goroutines at once, nor copied. Between two plans it keeps the
// objects of the last snapshot alive and no others, and about 550 bytes for each node with its pod, or 1.3 KiB once it had to
// judge each node by itself. After a snapshot that breaks its contract it has nothing left.
type Verifier struct{ kept kept }

// Plan is the function [Plan].
func (k *Verifier) Plan(spec rollout.Spec, snapshot rollout.Snapshot, plan *rollout.Plan) []Violation {
	v := begin(&k.kept, snapshot, plan)
	if v.checkInput(spec); len(v.found) > 0 {
		k.kept = kept{}
		return v.sorted()
	}
	v.read()
	if alike := *v; alike.pickAlike() {
		if alike.judge(); len(alike.found) == 0 && !alike.unsure {
			return nil
		}
	}
	v.pickAll()
	v.judge()
	return v.sorted()
}

// Claimed is the function [Claimed].
func (k *Verifier) Claimed(spec rollout.Spec, snapshot rollout.Snapshot, claimed *rollout.Claimed) []Violation {
	return k.Plan(spec, ofSet(snapshot, claimed), planOf(claimed))
}

// Claimed checks what [rollout.Planner.ClaimAndPlan] returned for a snapshot, whose lists hold objects of others, too: it
// checks the plan, as [Plan] does, with the pods and revisions that were claimed. Whether the right ones were claimed is not
// checked. Nil counts as an empty plan.
func Claimed(spec rollout.Spec, snapshot rollout.Snapshot, claimed *rollout.Claimed) []Violation {
	return Plan(spec, ofSet(snapshot, claimed), planOf(claimed))
}

func planOf(claimed *rollout.Claimed) *rollout.Plan {
	if claimed == nil {
		return nil
	}
	return &claimed.Plan
}

// ofSet returns the snapshot of the objects that belong to the set.
func ofSet(snapshot rollout.Snapshot, claimed *rollout.Claimed) rollout.Snapshot {
	snapshot.Pods, snapshot.Revisions = nil, nil
	if claimed != nil {
		snapshot.Pods, snapshot.Revisions = claimed.Pods.Pods, claimed.Revisions.Revisions
	}
	return snapshot
}

// begin begins to check a plan.
func begin(kept *kept, snapshot rollout.Snapshot, plan *rollout.Plan) *verifier {
	v := &verifier{kept: kept, snapshot: snapshot}
	if plan != nil {
		v.plan = *plan
	}
	if snapshot.Memory.Version == rollout.MemoryVersion {
		v.remembered = snapshot.Memory
	}
	return v
}

// judge checks what was picked.
func (v *verifier) judge() {
	v.observe()
	v.checkTrial()
	v.checkOverrides()
	v.checkBudget()
	v.checkTaken()
	v.checkSurge()
	v.checkDomains()
	v.checkStages()
	v.checkFailures()
	v.checkCreates()
	v.checkDeletes()
	v.checkPatches()
	v.checkRevisions()
	v.checkFrozen()
	v.checkDeparting()
	v.checkPrinciples()
	v.checkBurst()
	v.checkPulls()
	v.checkDecisions()
	v.checkActions()
	v.checkCounters()
	v.checkMemory()
	v.checkNextWake()
	v.release()
}

// sorted are the violations in order.
func (v *verifier) sorted() []Violation {
	slices.SortFunc(v.found, func(a, b Violation) int {
		return cmp.Or(cmp.Compare(a.Invariant, b.Invariant), cmp.Compare(a.Node, b.Node), cmp.Compare(a.Message, b.Message))
	})
	return v.found
}

// report notes a violation.
func (v *verifier) report(invariant int, node, format string, args ...any) {
	v.found = append(v.found, Violation{Invariant: invariant, Node: node, Message: fmt.Sprintf(format, args...)})
}
