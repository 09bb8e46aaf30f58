package domain

import (
	"maps"
	"slices"
	"strconv"
	"strings"

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
	ofCell  map[string]int32
	scratch []int32
}

// NewCells returns a table without any cell.
func (d *Domains) NewCells() *Cells {
	return &Cells{domains: d, ofValue: map[Value]int32{}, ofCell: map[string]int32{}, scratch: make([]int32, d.Len())}
}

// Clone returns a table with the same cells, which can be changed by itself.
func (c *Cells) Clone() *Cells {
	return &Cells{
		domains: c.domains, values: slices.Clone(c.values), ofValue: maps.Clone(c.ofValue), cells: slices.Clone(c.cells),
		ofCell: maps.Clone(c.ofCell), scratch: make([]int32, len(c.scratch)),
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
	var key strings.Builder
	for i := range c.domains.list {
		d := &c.domains.list[i]
		c.scratch[i] = None
		if d.selector.Matches(labels.Set(set)) {
			c.scratch[i] = c.value(Value{int32(i), set[d.key]})
		}
		key.WriteString(strconv.Itoa(int(c.scratch[i])))
		key.WriteByte(' ')
	}
	cell, known := c.ofCell[key.String()]
	if !known {
		cell = int32(len(c.cells))
		c.ofCell[key.String()] = cell
		c.cells = append(c.cells, slices.Clone(c.scratch))
	}
	return cell
}

func (c *Cells) value(v Value) int32 {
	ordinal, known := c.ofValue[v]
	if !known {
		ordinal = int32(len(c.values))
		c.ofValue[v] = ordinal
		c.values = append(c.values, v)
	}
	return ordinal
}
