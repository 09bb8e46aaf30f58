package fleet

import "hash/maphash"

// pointers finds the ordinals of objects by their addresses. The objects have a list of their own, because looking into their
// records costs a cache miss each.
//
// Facts are made without the table, as its zero value: a plan whose Reading nobody uses does not pay for it. The next plan makes
// it, and the facts that follow take it over, with what has changed.
type pointers[T any] struct {
	seed    maphash.Seed
	objects []*T // by ordinal; nil: the ordinal is free
	count   int  // of objects
	index   index
}

// newPointers indexes objects, each of which is there once, by their places in the list; nil stands for a free ordinal.
func newPointers[T any](seed maphash.Seed, objects []*T) pointers[T] {
	p := pointers[T]{seed: seed, objects: objects, index: newIndex(len(objects))}
	for i, object := range objects {
		if object != nil {
			p.enter(int32(i), object)
		}
	}
	return p
}

func (p *pointers[T]) hash(object *T) uint64 { return maphash.Comparable(p.seed, object) }

func (p *pointers[T]) enter(i int32, object *T) {
	p.index.add(i, p.hash(object), func(int32) bool { return false })
	p.count++
}

// isMade reports whether there is a table.
func (p *pointers[T]) isMade() bool { return p.index.slots != nil }

// find returns the ordinal of the object, or None, as for nil. It is index.find written out, because a call for each object
// would cost more than the comparison that it makes.
func (p *pointers[T]) find(object *T) int32 {
	if object == nil {
		return None
	}
	x, hash := &p.index, p.hash(object)
	mask, tag := uint64(len(x.slots)-1), x.tag(hash)
	for at := hash & mask; ; at = (at + 1) & mask {
		slot := x.slots[at]
		if slot == 0 {
			if x.lately == 0 {
				return None
			}
			i, _ := x.probe(x.late, hash, func(i int32) bool { return p.objects[i] == object })
			return i
		}
		if slot&^x.ordinals == tag {
			if i := int32(slot&x.ordinals) - 1; p.objects[i] == object {
				return i
			}
		}
	}
}

// difference is how a list of objects differs from those of a table.
type difference struct {
	strange []int32 // places in the list of objects that the table does not have
	gone    []int32 // ordinals of objects that the list does not have
	twice   bool    // an object of the table is in the list twice; the rest means nothing then
}

func (d *difference) isNone() bool { return !d.twice && len(d.strange)+len(d.gone) == 0 }

// compare returns how the list differs from the objects of the table, whatever its order. Objects that follow each other as their
// ordinals do are found without the table, which is faster.
func (p *pointers[T]) compare(list []*T) difference {
	var d difference
	seen, next := NewOrdinals(len(p.objects)), int32(0)
	for i, object := range list {
		j := next
		if int(j) >= len(p.objects) || p.objects[j] != object || object == nil {
			if j = p.find(object); j == None {
				d.strange = append(d.strange, int32(i))
				continue
			}
		}
		if !seen.Add(j) {
			return difference{twice: true}
		}
		next = j + 1
	}
	if len(list)-len(d.strange) == p.count {
		return d
	}
	for j, object := range p.objects {
		if object != nil && !seen.Has(int32(j)) {
			d.gone = append(d.gone, int32(j))
		}
	}
	return d
}

// with returns the table without the objects of the gone ordinals, and with others at theirs. Both tables share nothing that is
// written.
func (p *pointers[T]) with(gone []int32, at []int32, objects []*T) pointers[T] {
	size := len(p.objects)
	for _, i := range at {
		size = max(size, int(i)+1)
	}
	out := pointers[T]{seed: p.seed, count: p.count - len(gone), objects: make([]*T, size)}
	copy(out.objects, p.objects)
	for _, i := range gone {
		out.objects[i] = nil
	}
	for k, i := range at {
		out.objects[i] = objects[k]
	}
	var hasRoom bool
	if out.index, hasRoom = p.index.edit(len(at)); !hasRoom || !p.index.holds(size) {
		return newPointers(p.seed, out.objects)
	}
	for k, i := range at {
		out.enter(i, objects[k])
	}
	return out
}
