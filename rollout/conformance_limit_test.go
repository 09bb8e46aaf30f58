package rollout_test

import (
	"math"
	"slices"
	"strings"
)

// queue is what there is to do on one node: first anyOrder and one of oneOf, in any order, and then the rest.
type queue struct{ anyOrder, oneOf, then []string }

func (q queue) len() int { return len(q.anyOrder) + min(1, len(q.oneOf)) + len(q.then) }

// without takes out what no burst limits: pods that are only marked for a hook.
func (q queue) without(f fate) (rest queue, fates []string) {
	out := func(from []string) (rest []string) {
		for _, s := range from {
			if len(f.among([]string{s})) > 0 {
				fates = append(fates, s)
			} else {
				rest = append(rest, s)
			}
		}
		return rest
	}
	rest = queue{anyOrder: out(q.anyOrder), oneOf: q.oneOf, then: out(q.then)}
	return rest, fates
}

// limit applies burst to the queues, which come in any order, and to what comes after all of them. What is early in
// its queue is in any case among the first, what is late never. Our plan has no such order.
func (m *model) limit(queues []queue, last queue) (a act) {
	var free []string
	hooked := 0 // choices that no burst limits
	for i := range queues {
		var out []string
		queues[i], out = queues[i].without(preparingDelete)
		free = append(free, out...)
		if one := queues[i].oneOf; len(preparingDelete.among(one)) > 0 {
			a.from = append(a.from, one...)
			hooked++
			queues[i].oneOf = nil
		}
	}
	last, out := last.without(preparingDelete)
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
func (m *model) limitCreates(nodes []string) act {
	burst := m.burst()
	slices.Sort(nodes)
	if limit, ordered := m.scaling(); ordered {
		return act{must: nodes[:max(0, min(limit, burst, len(nodes)))]}
	}
	return inOrder(nil, nodes, len(nodes), burst)
}

// inOrder is an act that does the first, any number of them, and then at most n of the second. Of what is done to
// pods, each kind has a burst of its own, but marking for a hook has none. A free choice between kinds is no longer
// than burst in any case.
func inOrder(first, second []string, n, burst int) (a act) {
	n = max(min(n, len(second)), 0)
	kinds := kindsOf(slices.Concat(first, second))
	if len(kinds) > 1 && 0 < n && n < len(second) {
		return act{must: first, from: second, count: n}
	}
	for _, kind := range kinds {
		sure, maybe := kind.of(first), kind.of(second)
		m, limit := min(n, len(maybe)), burst
		if kind == actionKind(preparingDelete) {
			limit = math.MaxInt
		}
		m = min(m, limit-len(sure))
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

// actionKind is the fate of a pod; creates of pods are of one kind, the empty one.
type actionKind string

func kindOf(action string) actionKind {
	kind, _, pod := strings.Cut(action, " ")
	if !pod {
		return ""
	}
	return actionKind(kind)
}

func kindsOf(actions []string) (kinds []actionKind) {
	for _, a := range actions {
		kinds = append(kinds, kindOf(a))
	}
	slices.Sort(kinds)
	return slices.Compact(kinds)
}

func (k actionKind) of(actions []string) []string {
	return slices.DeleteFunc(slices.Clone(actions), func(a string) bool { return kindOf(a) != k })
}
