package simulation

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/daemonplan/daemonplan/rollout/simulate"
)

// newVersion is what happened in one run to the new version: the one of the candidate's manifest. When another spec is put in
// force during the run, the reports of package simulate are about the version of that spec, and this is still about the new one.
type newVersion struct {
	// Hash is that of its revision; empty until the first plan.
	Hash string
	// Replaced reports whether the run put another version in force, and ReplacedAt when.
	Replaced   bool
	ReplacedAt time.Duration
	// Arrivals are when each node first had an available pod of the new version, in order.
	Arrivals []time.Duration
	// Now is how many nodes have an available pod of it, Most the greatest number at one time.
	Now, Most int
	// Given is how many nodes were given a pod of it, whether or not that pod became available.
	Given int

	nodes map[string]versionNode
	kept  []having
}

// versionNode is what is known of one node.
type versionNode struct{ has, had, given bool }

// having is how many nodes had the new version from an instant on.
type having struct {
	At    time.Duration
	Nodes int
}

// record takes note of a record of the run.
func (v *newVersion) record(r simulate.Record) {
	switch r.Kind {
	case simulate.NodeChanged:
		n := v.nodes[r.Node]
		// While the new version is the one to reach, a node has it in state New only: one with the right image but other
		// resources than are wanted is not where it is to be.
		of := v.Hash == "" || r.Revision == v.Hash
		v.set(r.At, r.Node, of && (r.To == simulate.NodeNew || r.To.Serving() && (n.has || v.Replaced)))
	case simulate.PodCreated, simulate.PodPatched:
		if v.Hash != "" && r.Revision == v.Hash && r.Node != "" {
			v.give(r.Node, v.nodes[r.Node])
		}
	default: // says nothing about versions of nodes
	}
}

// seen is the record, which was noted before, as a picture about the new version shows it. When another version is put in force,
// "new" and "old" in records are about that one; in the picture a node that serves is new if it serves with the new version.
func (v *newVersion) seen(r simulate.Record) simulate.Record {
	switch {
	case r.Kind != simulate.NodeChanged || !r.To.Serving():
	case v.nodes[r.Node].has:
		r.To = simulate.NodeNew
	case v.Replaced || r.To == simulate.NodeNew:
		r.To = simulate.NodeOld
	}
	return r
}

func (v *newVersion) set(at time.Duration, name string, has bool) {
	n := v.nodes[name]
	if n.has == has {
		return
	}
	v.Now += one(has) - one(n.has)
	v.Most = max(v.Most, v.Now)
	if n.has = has; has && !n.had {
		n.had = true
		v.Arrivals = append(v.Arrivals, at)
	}
	if has {
		v.give(name, n)
	} else {
		v.nodes[name] = n
	}
	last := len(v.kept) - 1
	if last >= 0 && at-v.kept[last].At <= at/sampling { // more than a picture can show
		v.kept[last].Nodes = v.Now
		return
	}
	v.kept = append(v.kept, having{at, v.Now})
}

func (v *newVersion) give(name string, n versionNode) {
	if v.nodes == nil {
		v.nodes = make(map[string]versionNode)
	}
	v.Given += one(!n.given)
	n.given = true
	v.nodes[name] = n
}

// plan is told which revision a plan works towards.
func (v *newVersion) plan(at time.Duration, update string) {
	switch {
	case v.Hash == "":
		v.Hash = update
	case update != v.Hash && !v.Replaced:
		v.Replaced, v.ReplacedAt = true, at
	case update == v.Hash: // it was put back
		v.Replaced, v.ReplacedAt = false, 0
	}
}

// at is how many nodes had the new version at an instant.
func (v *newVersion) at(instant time.Duration) int {
	after, _ := slices.BinarySearchFunc(v.kept, instant+1, func(k having, to time.Duration) int { return cmp.Compare(k.At, to) })
	if after == 0 {
		return 0
	}
	return v.kept[after-1].Nodes
}

// reached is when that percentage of the nodes had got the new version. In a run that replaced it, a node counts from the first
// time that it had it; else from the last, as in the report.
func (o *outcome) reached(seed, percent int) (time.Duration, bool) {
	r, v := &o.Reports[seed], &o.Traces[seed].Version
	if v.Replaced || givenUp(r) {
		n := (r.Desired*percent + 99) / 100
		if n == 0 || n > len(v.Arrivals) {
			return 0, false
		}
		return v.Arrivals[n-1], true
	}
	for _, mark := range r.Reached {
		if mark.Percent == percent {
			return mark.After, true
		}
	}
	return 0, false
}

// givenUp reports whether the canary gave the new version up, or failures did.
func givenUp(r *simulate.Report) bool { return canaryWord(&r.Canary) == "failed" || failedTooOften(r) }

// failedTooOften reports whether the new version was given up because it failed on too many nodes (F3).
func failedTooOften(r *simulate.Report) bool { return r.Failures != nil && r.Failures.GaveUp != "" }

// ending is how a run ended, as a person would say it: what became of the new version comes first.
type ending string

const (
	endDone      ending = "done"
	endBut       ending = "done but for nodes down before"
	endGivenUp   ending = "given up"
	endReplaced  ending = "replaced"
	endStuck     ending = "stuck"
	endLimit     ending = "time is up"
	endViolation ending = "violation"
	endStopped   ending = "stopped"
)

// endings are all of them, in the order in which they are listed.
var endings = []ending{endDone, endBut, endGivenUp, endReplaced, endStuck, endLimit, endViolation, endStopped}

// ending is how the run under a seed ended.
func (o *outcome) ending(seed int) ending {
	r := &o.Reports[seed]
	switch {
	case r.End == simulate.EndViolation:
		return endViolation
	case givenUp(r):
		return endGivenUp
	case o.Traces[seed].Version.Replaced:
		return endReplaced
	case r.End == simulate.EndDone:
		return endDone
	case (r.End == simulate.EndStuck || r.End == simulate.EndLimit) && onlyDownBefore(o.Traces[seed].Left):
		return endBut
	case r.End == simulate.EndStuck:
		return endStuck
	case r.End == simulate.EndLimit:
		return endLimit
	default:
		return endStopped
	}
}

// count is how many runs ended in one of these ways.
func (o *outcome) count(ends ...ending) int {
	n := 0
	for i := range o.Reports {
		n += one(slices.Contains(ends, o.ending(i)))
	}
	return n
}

// worst is the run with most nodes that do not have the new version in the end.
func (o *outcome) worst() int {
	lacking := func(seed int) int { return o.Reports[seed].Desired - o.Traces[seed].Version.Now }
	worst := 0
	for i := range o.Reports {
		if lacking(i) > lacking(worst) {
			worst = i
		}
	}
	return worst
}

// finished is the time until every node of a run is updated, in nanoseconds; infinite if that does not happen.
func (o *outcome) finished(seed int) float64 {
	if o.ending(seed) != endDone {
		return math.Inf(1)
	}
	return float64(o.Reports[seed].Finished)
}

// reachable is the time until every node was updated that could be in the run: until the last node came to the new version. It is
// infinite in a run whose canary gave that version up, or that replaced it, in one that left nodes waiting for a stage or for
// others, and in one in which no node came to it.
func (o *outcome) reachable(seed int) float64 {
	waits := func(left leftNodes) bool { return left.WaitFor != "" }
	switch o.ending(seed) {
	case endDone:
		return float64(o.Reports[seed].Finished)
	case endBut, endStuck, endLimit:
		if o.Traces[seed].Version.Now == 0 || slices.ContainsFunc(o.Traces[seed].Left, waits) {
			return math.Inf(1)
		}
		return float64(o.Traces[seed].reached)
	default:
		return math.Inf(1)
	}
}
