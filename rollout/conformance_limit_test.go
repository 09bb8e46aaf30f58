package rollout_test

import (
	"math"
	"slices"
	"strings"
)

// queue is what there is to do on one node: first anyOrder and one of oneOf, in any order, and then the rest.
type queue struct{ anyOrder, oneOf, then []string }

func (q queue) len() int { return len(q.anyOrder) + min(1, len(q.oneOf)) + len(q.then) }

// unlimited tells whether no burst limits the action: it deletes nothing.
func unlimited(action string) bool {
	k := kindOf(action)
	return k == fatePreparing || k == fateTakenBack
}

// split takes out what no burst limits.
func (q queue) split() (rest queue, free []string) {
	limited := func(from []string) []string {
		free = append(free, slices.DeleteFunc(slices.Clone(from), func(a string) bool { return !unlimited(a) })...)
		return slices.DeleteFunc(slices.Clone(from), unlimited)
	}
	rest = queue{anyOrder: limited(q.anyOrder), oneOf: q.oneOf, then: limited(q.then)}
	return rest, free
}

// limit applies burst to the queues, which come in any order, and to what comes after all of them. What is early in
// its queue is in any case among the first, what is late never. Our plan has no such order.
func (m *model) limit(queues []queue, last queue) (a act) {
	var free []string
	hooked := 0 // choices that no burst limits
	for i := range queues {
		var out []string
		queues[i], out = queues[i].split()
		free = append(free, out...)
		if one := queues[i].oneOf; slices.ContainsFunc(one, unlimited) {
			a.from = append(a.from, one...)
			hooked++
			queues[i].oneOf = nil
		}
	}
	last, out := last.split()
	free = append(free, out...)

	total := 0
	for _, q := range queues {
		total += q.len()
	}
	burst, all := m.burst(), total+last.len()
	enter := func(names []string, latest, earliest int) {
		if m.on(burstIsPerPlan) {
			latest, earliest = all-1, 0
		}
		switch {
		case latest < burst:
			a.must = append(a.must, names...)
		case earliest < burst:
			a.from = append(a.from, names...)
		}
	}
	for _, q := range queues {
		before := total - q.len()
		first := q.len() - len(q.then)
		enter(q.anyOrder, before+first-1, 0)
		if len(q.oneOf) > 0 && burst > 0 {
			a.from = append(a.from, q.oneOf...)
		}
		for i, name := range q.then {
			enter([]string{name}, before+first+i, first+i)
		}
	}
	enter(last.anyOrder, all-1, total)
	a.count = min(burst, all) - len(a.must) + hooked
	a.must = append(a.must, free...)
	return a
}

// limitCreates applies partitioned scaling and burst to the nodes that lack a pod. They come in any order, but in that
// of their names where there is a partition.
func (m *model) limitCreates(nodes []*nodeSituation) act {
	limit, ordered := m.scaling()
	if !ordered {
		limit = math.MaxInt
	}
	var names []string // by name, as the nodes are
	for _, n := range nodes {
		filled := m.filled(n)
		if filled || limit > 0 {
			names = append(names, n.name)
			limit -= int(count(!filled))
		}
	}
	if ordered || m.ordered() {
		return act{must: names[:min(m.burst(), len(names))]}
	}
	return inOrder(nil, names, len(names), bursts{creates: m.burst()})
}

// ordered tells whether updates are picked in the order of B6, and creates in that of M6. This is one of the choices that
// the controller has, so that it is no difference by itself: only the model with all rules makes it.
func (m *model) ordered() bool { return m.rules == allRules }

// bursts are how many actions of a kind are left to do, and whether in order.
type bursts struct {
	creates, deletes, updates int
	ordered                   bool
}

func (b bursts) of(kind fate) int {
	switch kind {
	case "":
		return b.creates
	case fateDeleted:
		return b.deletes
	case fateInPlace:
		return b.updates
	default:
		return math.MaxInt
	}
}

// inOrder is an act that does the first, any number of them, and then at most n of the second. Of what is done to
// pods, each kind has a burst of its own, but marking for a hook has none. No recording has a choice between kinds that
// burst cuts short.
func inOrder(first, second []string, n int, burst bursts) (a act) {
	n = max(min(n, len(second)), 0)
	kinds := kindsOf(slices.Concat(first, second))
	switch {
	case burst.ordered:
		return descending(first, second, n, burst)
	case len(kinds) > 1 && 0 < n && n < len(second):
		return act{must: first, from: second, count: n}
	}
	for _, kind := range kinds {
		sure, maybe := kind.actions(first), kind.actions(second)
		limit := burst.of(kind)
		m := min(n, len(maybe), limit-len(sure))
		switch {
		case m < 0:
			a.from = append(a.from, sure...)
			a.count += limit
		case m == len(maybe):
			a.must = slices.Concat(a.must, sure, maybe)
		default:
			a.must = append(a.must, sure...)
			if m > 0 {
				a.from = append(a.from, maybe...)
			}
			a.count += m
		}
	}
	return a
}

// descending is the only outcome that B6 has.
func descending(first, second []string, n int, burst bursts) (a act) {
	done := make(map[fate]int)
	for i, action := range slices.Backward(slices.Concat(second, first)) {
		kind := kindOf(action)
		if sure := i >= len(second); done[kind] < burst.of(kind) && (sure || n > 0) {
			done[kind]++
			a.must = append(a.must, action)
			if !sure {
				n--
			}
		}
	}
	return a
}

// kindOf is the fate in an action, empty for the create of a pod.
func kindOf(action string) fate {
	kind, _, pod := strings.Cut(action, " ")
	if !pod {
		return ""
	}
	return fate(kind)
}

func kindsOf(actions []string) (kinds []fate) {
	for _, a := range actions {
		kinds = append(kinds, kindOf(a))
	}
	slices.Sort(kinds)
	return slices.Compact(kinds)
}

// actions are those of a kind.
func (f fate) actions(all []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(a string) bool { return kindOf(a) != f })
}
