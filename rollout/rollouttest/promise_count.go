package rollouttest

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/rollout/simulate"
)

// Count is what is counted of the nodes that are to run the pod.
type Count struct {
	words string // before "nodes": "unavailable"
	in    func(simulate.NodeState) bool
	label string // they are counted for each value of it; empty: all together
	short string // what that was called
	wrong string // with the arguments that it was made of
}

// Unavailable nodes are to run the pod and have none that serves (B2), whatever the reason: it is on its way, broken, or the
// node is not Ready.
func Unavailable() Count { return CountStates("unavailable", lacking...) }

// UnavailableIn is [Unavailable] for each value of a label; see [Count.In].
func UnavailableIn(label string) Count { return Unavailable().In(label) }

// Broken nodes have a pod that crashes, has failed, or cannot get its image.
func Broken() Count { return CountStates("broken", simulate.NodeBroken) }

// Serving nodes have a pod that serves, of any revision.
func Serving() Count {
	return CountStates("serving", simulate.NodeOld, simulate.NodeSurging, simulate.NodeNew)
}

// Updated nodes have an available pod of the update revision.
func Updated() Count { return CountStates("updated", simulate.NodeNew) }

// CountStates counts nodes in any of the states. The words say what that means, as they precede "nodes": "pulling".
// [simulate.NodeOutside] is never counted: such nodes are not to run the pod.
func CountStates(words string, states ...simulate.NodeState) Count {
	states = slices.Clone(states)
	return Count{words: words, wrong: wrongStates(states), in: func(s simulate.NodeState) bool {
		return s != simulate.NodeOutside && slices.Contains(states, s)
	}}
}

// wrongStates says why nobody could be counted in these states; empty if that makes sense.
func wrongStates(states []simulate.NodeState) string {
	only := true // outside
	for _, s := range states {
		if s < simulate.NodeOutside || s > simulate.NodeNew {
			return fmt.Sprintf("CountStates has state %d, which is not declared", uint8(s))
		}
		only = only && s == simulate.NodeOutside
	}
	switch {
	case len(states) == 0:
		return "CountStates has no states"
	case only:
		return "CountStates has no states but NodeOutside, which is never counted"
	}
	return ""
}

// lacking are the states of unavailable nodes.
var lacking = []simulate.NodeState{
	simulate.NodeEmpty, simulate.NodeTerminating, simulate.NodePending, simulate.NodePulling, simulate.NodeStarting,
	simulate.NodeBroken, simulate.NodeLost,
}

// In counts for each value of a label by itself. "zone", "region", "pool" and "rack" stand for topology.kubernetes.io/zone,
// topology.kubernetes.io/region and the labels of generated fleets; anything else is the label's key. Nodes without the
// label are a value of their own, "", as in [simulate.Report.Zones], so that none is left out.
func (c Count) In(label string) Count {
	if label == "" {
		c.wrong = cmp.Or(c.wrong, "the label is empty")
	}
	c.short, c.label = label, label
	switch label {
	case "zone":
		c.label = corev1.LabelTopologyZone
	case "region":
		c.label = corev1.LabelTopologyRegion
	case "pool":
		c.label = simulate.PoolLabel
	case "rack":
		c.label = simulate.RackLabel
	}
	return c
}

// phrase is "2 unavailable nodes in any one zone".
func (c Count) phrase(n int) string {
	where := ""
	if c.label != "" {
		where = " in any one " + c.short
	}
	return fmt.Sprintf("%d %s %s%s", n, c.words, plural(n), where)
}

func plural(n int) string {
	if n == 1 {
		return "node"
	}
	return "nodes"
}

// refused says what is wrong with the count as an argument of the function; empty if nothing is.
func (c Count) refused(by string) string {
	switch {
	case c.in == nil:
		return by + ": what is the zero Count, of which nothing is counted"
	case c.wrong != "":
		return by + ": " + c.wrong
	}
	return ""
}

func nodesOf(n int) string { return fmt.Sprintf("%d %s", n, plural(n)) }

// NeverMoreThan promises that at no instant more nodes are counted: NeverMoreThan(2, UnavailableIn("zone")). It fails also if
// no node that is to run the pod could ever be counted, because there is none, or none has the label, and if no node was begun
// or came to have another revision in the run, as when it is paused: then nothing was put to the test.
func NeverMoreThan(n int, what Count) Promise {
	const name = "NeverMoreThan"
	if n < 0 {
		return Promise{wrong: fmt.Sprintf("%s: n is %d, and it cannot be negative", name, n)}
	}
	return Promise{
		wrong: what.refused(name),
		Says:  "never more than " + what.phrase(n),
		Begin: what.watch(func(t tally) bool { return t.have > n }, what.in),
	}
}

// NeverFewerThan promises that at every instant at least so many nodes are counted: NeverFewerThan(10, Serving()); of each
// value of a label that a node has. A first installation begins with none. It fails also where [NeverMoreThan] does because
// nothing was counted or put to the test.
func NeverFewerThan(n int, what Count) Promise {
	const name = "NeverFewerThan"
	if n <= 0 {
		return Promise{wrong: fmt.Sprintf("%s: n is %d, and fewer than that cannot be", name, n)}
	}
	return Promise{
		wrong: what.refused(name),
		Says:  "never fewer than " + what.phrase(n),
		Begin: what.watch(func(t tally) bool { return t.have < n && t.of > 0 },
			func(s simulate.NodeState) bool { return s != 0 && s != simulate.NodeOutside && !what.in(s) }),
	}
}

// watch counts along a run, and breaks when the condition holds for one of the groups. The nodes in the other states given are
// those concerned.
func (c Count) watch(
	broken func(tally) bool, concerned func(simulate.NodeState) bool,
) func(simulate.Scenario, *simulate.Simulation) Guard {
	return func(_ simulate.Scenario, s *simulate.Simulation) Guard {
		t := &counter{Count: c, run: s, states: map[string]simulate.NodeState{}, groups: map[string]string{}}
		t.regroup()
		var put effort
		return Guard{
			Step: put.step,
			Record: func(r simulate.Record) {
				put.record(r)
				t.record(r)
			},
			Instant: func(time.Duration) error {
				if t.stale {
					t.regroup()
				}
				for _, group := range t.touched() {
					if tally := t.tallies[group]; broken(tally) {
						return breach(t.nodes(group, concerned), "%s", t.found(group, tally))
					}
				}
				return nil
			},
			End: func(_ *simulate.Simulation, report simulate.Report) error {
				switch {
				case t.seen:
					return put.toTheTest(report)
				case c.label != "":
					return breach(nil, "no node that is to run the pod has the label %s, so that none was ever counted", c.label)
				}
				return breach(nil, "no node is to run the pod, so that none was ever counted")
			},
		}
	}
}

// counter counts nodes by the value of a label. What a record costs does not depend on the number of nodes.
type counter struct {
	Count
	run     *simulate.Simulation
	states  map[string]simulate.NodeState
	groups  map[string]string // of each node that has the label; the others are in ""
	tallies map[string]tally
	changed []string // groups, since the last instant
	stale   bool     // labels have to be read again
	seen    bool     // a node that may be counted, and has the label
}

// tally is how many nodes of a group are counted, of how many that are to run the pod.
type tally struct{ have, of int }

func (t *counter) record(r simulate.Record) {
	switch r.Kind {
	case simulate.EventHappened: // labels may have changed, and nodes joined
		t.stale = t.label != ""
	case simulate.NodeChanged:
		t.add(r.Node, -1)
		t.states[r.Node] = r.To
		t.add(r.Node, 1)
	default: // says nothing about the state of a node
	}
}

// add counts a node in its group, or takes it out again.
func (t *counter) add(node string, n int) {
	state := t.states[node]
	if state == 0 || state == simulate.NodeOutside {
		return
	}
	group, labelled := t.groups[node]
	tally := t.tallies[group]
	tally.of += n
	if t.in(state) {
		tally.have += n
	}
	t.tallies[group] = tally
	t.changed = append(t.changed, group)
	t.seen = t.seen || labelled || t.label == ""
}

// regroup reads the labels of all nodes.
func (t *counter) regroup() {
	t.stale = false
	t.tallies = map[string]tally{}
	t.changed = nil
	if t.label != "" {
		clear(t.groups)
		for _, n := range t.run.Nodes() {
			if value, ok := n.Labels[t.label]; ok {
				t.groups[n.Name] = value
			}
		}
	}
	for node := range t.states {
		t.add(node, 1)
	}
}

// touched are the groups that changed since the last call, in order.
func (t *counter) touched() []string {
	groups := slices.Compact(slices.Sorted(slices.Values(t.changed)))
	t.changed = t.changed[:0]
	return groups
}

// nodes of the group in certain states.
func (t *counter) nodes(group string, in func(simulate.NodeState) bool) []string {
	return sortedNodes(t.states, func(node string, state simulate.NodeState) bool {
		return in(state) && (t.label == "" || t.groups[node] == group)
	})
}

func (t *counter) found(group string, n tally) string {
	where := ""
	if t.label != "" {
		where = fmt.Sprintf(" in %s %s", t.short, cmp.Or(group, `""`))
	}
	return fmt.Sprintf("%d %s %s, of %d%s", n.have, t.words, plural(n.have), n.of, where)
}
