package domain

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/labels"
)

// None stands for no ordinal: no value, where a domain does not select a node.
const None = -1

// Value is one value of the key of one domain, with the nodes that have it.
type Value struct {
	// Domain is its place in the list of domains.
	Domain int32
	// Text is the value; "" for nodes without the label, and for a domain without a key.
	Text string
}

// Cells number the values of the domains, and the combinations of values that nodes have: all nodes of one cell are in the same
// domains.
type Cells struct {
	domains *Domains
	values  []Value
	ofValue map[Value]int32 // ordinals of values
	cells   [][]int32       // for each cell and domain the ordinal of the value, or None
	ofCell  map[cellKey]int32
	last    [MaxDomains]int32 // for each domain the value that was asked for last
}

// cellKey has, for each domain, 1 more than the ordinal of the value, or 0 where the domain does not select the nodes.
type cellKey [MaxDomains]int32

// NewCells returns a table without any cell.
func (d *Domains) NewCells() *Cells {
	return &Cells{domains: d, ofValue: map[Value]int32{}, ofCell: map[cellKey]int32{}}
}

// Clone returns a table with the same cells, which can be changed by itself.
func (c *Cells) Clone() *Cells {
	return &Cells{
		domains: c.domains, values: slices.Clone(c.values), ofValue: maps.Clone(c.ofValue), cells: slices.Clone(c.cells),
		ofCell: maps.Clone(c.ofCell),
	}
}

// Len returns how many cells there are. A cell is a number below.
func (c *Cells) Len() int { return len(c.cells) }

// Values returns the values, whose ordinals are their places. The caller must not write them.
func (c *Cells) Values() []Value { return c.values }

// Value returns the ordinal of the value that nodes of a cell have in a domain; None: the domain does not select them.
func (c *Cells) Value(cell, domain int32) int32 { return c.cells[cell][domain] }

// Of returns the cell of a node with the labels, which is added if it is not known.
func (c *Cells) Of(set map[string]string) int32 {
	var in cellKey
	for i := range c.domains.list {
		d := &c.domains.list[i]
		if d.all || d.selector.Matches(labels.Set(set)) {
			in[i] = c.value(int32(i), set[d.key]) + 1
		}
	}
	cell, known := c.ofCell[in]
	if !known {
		cell = int32(len(c.cells))
		c.ofCell[in] = cell
		values := make([]int32, len(c.domains.list))
		for i := range values {
			values[i] = in[i] - 1
		}
		c.cells = append(c.cells, values)
	}
	return cell
}

// value returns the ordinal of a value, which is added if it is not known. Mostly it is the one that was asked for last.
func (c *Cells) value(domain int32, text string) int32 {
	if last := c.last[domain]; last < int32(len(c.values)) && c.values[last] == (Value{domain, text}) {
		return last
	}
	v := Value{domain, text}
	ordinal, known := c.ofValue[v]
	if !known {
		ordinal = int32(len(c.values))
		c.ofValue[v] = ordinal
		c.values = append(c.values, v)
	}
	c.last[domain] = ordinal
	return ordinal
}
