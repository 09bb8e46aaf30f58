package stage

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
)

// Part is what is opened at once: the nodes of a stage, or with a key those with one value of it.
type Part struct {
	// Stage is its place in the list of stages; their number for the nodes that no stage selects.
	Stage int32
	// Value of the stage's key; "" for nodes without the label, and for a stage without a key.
	Value string
}

// Parts number the parts that nodes are in. The number of a part is its ordinal.
type Parts struct {
	stages  *Stages
	list    []Part
	ordinal map[Part]int32
	last    int32 // the part that was asked for last
}

// NewParts returns the parts of stages without a key, and that of the nodes that no stage selects.
func (s *Stages) NewParts() *Parts {
	p := &Parts{stages: s, ordinal: make(map[Part]int32)}
	for i := range int32(s.Len() + 1) {
		if s.at(i).Key == "" {
			p.add(Part{Stage: i})
		}
	}
	return p
}

// Clone returns parts that can be changed by themselves.
func (p *Parts) Clone() *Parts {
	return &Parts{stages: p.stages, list: slices.Clone(p.list), ordinal: maps.Clone(p.ordinal)}
}

// Len returns how many parts there are. The ordinal of a part is a number below.
func (p *Parts) Len() int { return len(p.list) }

// Part returns the part with an ordinal.
func (p *Parts) Part(ordinal int32) Part { return p.list[ordinal] }

// Of returns the ordinal of the part that a node with the labels is in. The part is added if it is not known.
func (p *Parts) Of(set map[string]string) int32 {
	part := Part{Stage: int32(p.stages.Len())}
	for i := range p.stages.Len() {
		if s := &p.stages.list[i]; s.selector.Matches(labels.Set(set)) {
			part.Stage = int32(i)
			if s.Key != "" {
				part.Value = set[s.Key]
			}
			break
		}
	}
	if p.list[p.last] != part {
		ordinal, known := p.ordinal[part]
		if !known {
			ordinal = p.add(part)
		}
		p.last = ordinal
	}
	return p.last
}

func (p *Parts) add(part Part) int32 {
	ordinal := int32(len(p.list))
	p.list = append(p.list, part)
	p.ordinal[part] = ordinal
	return ordinal
}

// Order returns the ordinals of all parts in the order in which they are opened.
func (p *Parts) Order() []int32 {
	order := make([]int32, len(p.list))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int { return compare(p.list[a], p.list[b]) })
	return order
}

// compare orders parts: by stage, then integers by number, then texts by their bytes, then the nodes without the label.
func compare(a, b Part) int {
	return cmp.Or(cmp.Compare(a.Stage, b.Stage), compareValues(a.Value, b.Value))
}

func compareValues(a, b string) int {
	kindA, kindB := kindOf(a), kindOf(b)
	if kindA == integer && kindB == integer {
		numberA, numberB := strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
		if c := cmp.Or(cmp.Compare(len(numberA), len(numberB)), strings.Compare(numberA, numberB)); c != 0 {
			return c
		}
	}
	return cmp.Or(cmp.Compare(kindA, kindB), strings.Compare(a, b))
}

// kind of a value, in the order of their parts.
type kind uint8

const (
	integer kind = iota
	anyText
	missing
)

func kindOf(value string) kind {
	switch {
	case value == "":
		return missing
	case strings.Trim(value, "0123456789") == "":
		return integer
	default:
		return anyText
	}
}
