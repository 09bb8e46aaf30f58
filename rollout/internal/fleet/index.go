package fleet

import "hash/maphash"

// index finds the ordinal of a key among many. It is one table, while Go's map needs an object per entry. It does not hold the
// keys: whoever looks says which ordinal has the key. Hash values differ from process to process, but what is found does not
// depend on them.
type index struct {
	// slots hold an ordinal + 1 in as many low bits as the ordinals need, and in the bits above them a part of its key's hash,
	// which tells nearly all other keys apart without fetching them. 0 is a free slot. Their number is a power of two, and at
	// most half of them are taken.
	slots    []uint32
	ordinals uint32 // mask of the low bits
}

func newIndex(n int) index {
	size := 2
	for size < 2*n {
		size *= 2
	}
	return index{slots: make([]uint32, size), ordinals: uint32(size - 1)}
}

// add enters ordinal i under the key that has the hash. If an ordinal with that key is there already, add changes nothing and
// returns it; else it returns [None]. has reports whether an ordinal has the key.
func (x *index) add(i int32, hash uint64, has func(int32) bool) int32 {
	found, slot := x.probe(hash, has)
	if found == None {
		x.slots[slot] = x.tag(hash) | uint32(i+1)
	}
	return found
}

// find returns the ordinal that has the key, or [None].
func (x *index) find(hash uint64, has func(int32) bool) int32 {
	i, _ := x.probe(hash, has)
	return i
}

// tag returns the bits of a hash that are kept in a slot. They are not those that choose the slot.
func (x *index) tag(hash uint64) uint32 { return uint32(hash>>32) &^ x.ordinals }

// probe returns the ordinal that has the key, or None and the slot where it belongs.
func (x *index) probe(hash uint64, has func(int32) bool) (int32, uint64) {
	mask, tag := uint64(len(x.slots)-1), x.tag(hash)
	for at := hash & mask; ; at = (at + 1) & mask {
		slot := x.slots[at]
		if slot == 0 {
			return None, at
		}
		if slot&^x.ordinals == tag {
			if i := int32(slot&x.ordinals) - 1; has(i) {
				return i, at
			}
		}
	}
}

// pointers finds the ordinals of objects by their addresses. The objects have a list of their own, because looking into their
// records costs a cache miss each.
//
// Facts are made without the table, as their zero value: a plan whose Reading nobody uses does not pay for it. The next plan
// makes it, and if nothing has changed, its own facts keep it.
type pointers[T any] struct {
	seed    maphash.Seed
	objects []*T
	index   index
}

// newPointers indexes objects, each of which is there once.
func newPointers[T any](seed maphash.Seed, objects []*T) pointers[T] {
	p := pointers[T]{seed: seed, objects: objects, index: newIndex(len(objects))}
	for i, object := range objects {
		p.index.add(int32(i), maphash.Comparable(seed, object), func(int32) bool { return false })
	}
	return p
}

// isMade reports whether there is a table.
func (p *pointers[T]) isMade() bool { return p.index.slots != nil }

// find returns the ordinal of the object, or None.
func (p *pointers[T]) find(object *T) int32 {
	x, hash := &p.index, maphash.Comparable(p.seed, object)
	mask, tag := uint64(len(x.slots)-1), x.tag(hash)
	for at := hash & mask; ; at = (at + 1) & mask {
		slot := x.slots[at]
		if slot == 0 {
			return None
		}
		if slot&^x.ordinals == tag {
			if i := int32(slot&x.ordinals) - 1; p.objects[i] == object {
				return i
			}
		}
	}
}

// known returns for each object its ordinal, or None, and the places of those without one. The result is nil if an object is
// there twice.
func (p *pointers[T]) known(objects []*T) (at, strange []int32) {
	at = make([]int32, len(objects))
	seen := newSet(len(p.objects))
	for i, object := range objects {
		j := p.find(object) // nil is not found
		at[i] = j
		switch {
		case j == None:
			strange = append(strange, int32(i))
		case !seen.add(j):
			return nil, nil
		}
	}
	return at, strange
}

// areAll reports whether these are just the objects, each of them once.
func (p *pointers[T]) areAll(objects []*T) bool {
	if len(objects) != len(p.objects) {
		return false
	}
	seen := newSet(len(p.objects))
	for _, object := range objects {
		if i := p.find(object); i == None || !seen.add(i) {
			return false
		}
	}
	return true
}

// set is a set of ordinals.
type set []uint64

func newSet(n int) set { return make(set, (n+63)/64) }

// add puts i into the set and reports whether it was not there.
func (s set) add(i int32) bool {
	word, bit := &s[i/64], uint64(1)<<(i%64)
	if *word&bit != 0 {
		return false
	}
	*word |= bit
	return true
}
