package domain

// Ledger counts the disturbed nodes of each value against the bounds of its domain. The zero value has no domains, and room for
// any node.
type Ledger struct {
	domains *Domains
	cells   *Cells
	// max is, for each value, how many nodes may be disturbed; desired is how many are to run the pod; taken is how many are
	// disturbed.
	max, desired, taken []int32
	// known is how many of those taken are known to be disturbed.
	known []int32
	// disturbed is, for each domain, how many values have disturbed nodes.
	disturbed []int32
}

// NewLedger returns a ledger for the cells, without disturbed nodes. desired is, for each cell, how many of its nodes are to run
// the pod; missing entries count as 0.
func NewLedger(domains *Domains, cells *Cells, desired []int32) Ledger {
	if domains.Len() == 0 {
		return Ledger{}
	}
	n := len(cells.values)
	numbers := make([]int32, 4*n)
	l := Ledger{
		domains: domains, cells: cells,
		max: numbers[:n:n], desired: numbers[n : 2*n : 2*n], taken: numbers[2*n : 3*n : 3*n], known: numbers[3*n:],
		disturbed: make([]int32, domains.Len()),
	}
	for cell, nodes := range desired[:min(len(desired), len(cells.cells))] {
		for _, v := range cells.cells[cell] {
			if v != None {
				l.desired[v] += nodes
			}
		}
	}
	for v := range l.max {
		if d := &domains.list[cells.values[v].Domain]; d.bounded {
			l.max[v] = d.max.RoundUp(l.desired[v])
		}
	}
	return l
}

// Add counts a disturbed node of the cell.
func (l *Ledger) Add(cell int32) { l.add(cell, 1) }

// AddUnknown counts a node of the cell that may be disturbed, such as one for which a request is not seen yet. It takes up room
// like any other, and gives none: other nodes of its value are not to be disturbed because it may be.
func (l *Ledger) AddUnknown(cell int32) { l.add(cell, 0) }

func (l *Ledger) add(cell, known int32) {
	if l.domains == nil {
		return
	}
	for domain, v := range l.cells.cells[cell] {
		if v == None {
			continue
		}
		if l.taken[v] == 0 {
			l.disturbed[domain]++
		}
		l.taken[v]++
		l.known[v] += known
	}
}

// Full reports whether a domain has no room for one more disturbed node of the cell, and returns the ordinal of the value of the
// first such domain, in the order of the list.
func (l *Ledger) Full(cell int32) (value int32, full bool) {
	if l.domains == nil {
		return None, false
	}
	for domain, v := range l.cells.cells[cell] {
		if v == None {
			continue
		}
		d := &l.domains.list[domain]
		if d.bounded && l.taken[v] >= l.max[v] || l.crowded(domain, v) {
			return v, true
		}
	}
	return None, false
}

// crowded reports whether as many other values of the domain have disturbed nodes as AtOnce allows, while none is known to be
// disturbed in this one.
func (l *Ledger) crowded(domain int, v int32) bool {
	atOnce, others := l.domains.list[domain].atOnce, l.disturbed[domain]
	if l.taken[v] > 0 {
		others--
	}
	return atOnce > 0 && l.known[v] == 0 && others >= atOnce
}

// Usage is what is spent of the bounds of one value.
type Usage struct {
	// Desired is how many of its nodes are to run the pod, Max how many may be disturbed, and Taken how many are. Max is 0 if
	// their number has no bound.
	Desired, Max, Taken int32
	// AtOnce is in how many values of the domain nodes may be disturbed, 0 if in any number. Disturbed is in how many there are.
	AtOnce, Disturbed int32
}

// Usage returns what is spent of the bounds of the value with the ordinal.
func (l *Ledger) Usage(value int32) Usage {
	domain := l.cells.values[value].Domain
	return Usage{
		Desired: l.desired[value], Max: l.max[value], Taken: l.taken[value],
		AtOnce: l.domains.list[domain].atOnce, Disturbed: l.disturbed[domain],
	}
}
