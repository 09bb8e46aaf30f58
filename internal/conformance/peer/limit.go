package peer

import (
	"math"
	"slices"
)

// queue is what there is to do on one node: first anyOrder and one of oneOf, in any order, and then the rest.
type queue struct{ anyOrder, oneOf, then []string }

func (q queue) len() int { return len(q.anyOrder) + min(1, len(q.oneOf)) + len(q.then) }

// unlimited reports whether no burst limits the action: it deletes nothing.
func unlimited(action string) bool {
	k := FateOf(action)
	return k == Preparing || k == TakenBack
}

// split separates the actions that no burst limits.
func (q queue) split() (rest queue, free []string) {
	limited := func(from []string) []string {
		free = append(free, slices.DeleteFunc(slices.Clone(from), func(a string) bool { return !unlimited(a) })...)
		return slices.DeleteFunc(slices.Clone(from), unlimited)
	}
	rest = queue{anyOrder: limited(q.anyOrder), oneOf: q.oneOf, then: limited(q.then)}
	return rest, free
}

// limit applies burst to the queues, which come in any order, and to last, which comes after all of them. An action that is
// within burst in every order of the queues is done for sure, one that is within it in some order may be done. Our plan has no
// such order.
func (m *Model) limit(queues []queue, last queue) (a Act) {
	var free []string
	hooked := 0 // choices that no burst limits
	for i := range queues {
		var out []string
		queues[i], out = queues[i].split()
		free = append(free, out...)
		if one := queues[i].oneOf; slices.ContainsFunc(one, unlimited) {
			a.From = append(a.From, one...)
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
	burst, all := m.Burst(), total+last.len()
	enter := func(names []string, latest, earliest int) {
		if m.on(BurstIsPerPlan) {
			latest, earliest = all-1, 0
		}
		switch {
		case latest < burst:
			a.Must = append(a.Must, names...)
		case earliest < burst:
			a.From = append(a.From, names...)
		}
	}
	for _, q := range queues {
		before := total - q.len()
		first := q.len() - len(q.then)
		enter(q.anyOrder, before+first-1, 0)
		if len(q.oneOf) > 0 && burst > 0 {
			a.From = append(a.From, q.oneOf...)
		}
		for i, name := range q.then {
			enter([]string{name}, before+first+i, first+i)
		}
	}
	enter(last.anyOrder, all-1, total)
	a.Count = min(burst, all) - len(a.Must) + hooked
	a.Must = append(a.Must, free...)
	return a
}

// limitCreates applies partitioned scaling and burst to the nodes that lack a pod. They come in any order, but in that
// of their names where there is a partition.
func (m *Model) limitCreates(nodes []*Node) Act {
	limit, ordered := m.Scaling()
	if !ordered {
		limit = math.MaxInt
	}
	var names []string // by name, as the nodes are
	for _, n := range nodes {
		filled := m.filled(n)
		if filled || limit > 0 {
			names = append(names, n.Name)
			limit -= int(count(!filled))
		}
	}
	if ordered || m.ordered() {
		return Act{Must: names[:min(m.Burst(), len(names))]}
	}
	return inOrder(nil, names, len(names), bursts{creates: m.Burst()})
}

// ordered reports whether updates are picked in the order of B6 (descending by name), and creates in that of M6. This is one of
// the choices that the controller has, so that it is no difference by itself: only the model with all rules makes it.
func (m *Model) ordered() bool { return m.Rules == AllRules }

// bursts are how many actions of a kind are left to do, and whether in order.
type bursts struct {
	creates, deletes, updates int
	ordered                   bool
}

func (b bursts) of(kind Fate) int {
	switch kind {
	case "":
		return b.creates
	case Deleted:
		return b.deletes
	case InPlace:
		return b.updates
	default:
		return math.MaxInt
	}
}

// inOrder returns an act that does the first, any number of them, and then at most n of the second. Of what is done to
// pods, each kind has a burst of its own, but marking for a hook has none. No recording has a choice between kinds that
// burst cuts short.
func inOrder(first, second []string, n int, burst bursts) (a Act) {
	n = max(min(n, len(second)), 0)
	kinds := kindsOf(slices.Concat(first, second))
	switch {
	case burst.ordered:
		return descending(first, second, n, burst)
	case len(kinds) > 1 && 0 < n && n < len(second):
		return Act{Must: first, From: second, Count: n}
	}
	for _, kind := range kinds {
		sure, maybe := kind.actions(first), kind.actions(second)
		limit := burst.of(kind)
		m := min(n, len(maybe), limit-len(sure))
		switch {
		case m < 0:
			a.From = append(a.From, sure...)
			a.Count += limit
		case m == len(maybe):
			a.Must = slices.Concat(a.Must, sure, maybe)
		default:
			a.Must = append(a.Must, sure...)
			if m > 0 {
				a.From = append(a.From, maybe...)
			}
			a.Count += m
		}
	}
	return a
}

// descending returns the only outcome that B6 has.
func descending(first, second []string, n int, burst bursts) (a Act) {
	done := make(map[Fate]int)
	for i, action := range slices.Backward(slices.Concat(second, first)) {
		kind := FateOf(action)
		if sure := i >= len(second); done[kind] < burst.of(kind) && (sure || n > 0) {
			done[kind]++
			a.Must = append(a.Must, action)
			if !sure {
				n--
			}
		}
	}
	return a
}
