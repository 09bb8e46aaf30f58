package fleet

import "slices"

// index finds the ordinal of a key among many. It is one table, while Go's map needs an object per entry. It does not hold the
// keys: whoever looks says which ordinal has the key by now. Hash values differ from process to process, but what is found does
// not depend on them.
//
// Facts that follow each other share the table, which is not written any more by then. What comes later is entered in a small
// table beside it, which each of them has for itself. An entry whose ordinal has another key by now stays where it is, as nobody
// finds that ordinal under the old key. When the small table is full, the index is made anew.
type index struct {
	slots    []uint32 // twice as many as there may be ordinals, or more; see probe
	late     []uint32 // the small table; nil: the other one may still be written
	lately   int      // entries of the small table
	ordinals uint32   // mask of the low bits of a slot
}

func newIndex(n int) index {
	size := 2
	for size < 2*n {
		size *= 2
	}
	return index{slots: make([]uint32, size), ordinals: uint32(size - 1)}
}

// holds reports whether the index has room for the ordinals 0 to n-1.
func (x *index) holds(n int) bool { return len(x.slots) >= 2*n }

// edit returns an index with the same entries, to which some more can be added without writing to this one, and whether there is
// room for them.
func (x *index) edit(more int) (index, bool) {
	out := *x
	if out.late = slices.Clone(x.late); out.late == nil {
		out.late = make([]uint32, max(2, len(x.slots)/8))
	}
	return out, 2*(x.lately+more) <= len(out.late)
}

// add enters ordinal i under the key that has the hash. If another ordinal has that key, add changes nothing and returns it; else
// it returns [None]. has reports whether an ordinal has the key.
func (x *index) add(i int32, hash uint64, has func(int32) bool) int32 {
	other := func(j int32) bool { return j != i && has(j) }
	found, slot := x.probe(x.slots, hash, other)
	if x.late == nil {
		if found == None {
			x.slots[slot] = x.tag(hash) | uint32(i+1)
		}
		return found
	}
	if found == None {
		if found, slot = x.probe(x.late, hash, other); found == None {
			x.late[slot] = x.tag(hash) | uint32(i+1)
			x.lately++
		}
	}
	return found
}

// find returns the ordinal that has the key, or [None].
func (x *index) find(hash uint64, has func(int32) bool) int32 {
	i, _ := x.probe(x.slots, hash, has)
	if i == None && x.lately > 0 {
		i, _ = x.probe(x.late, hash, has)
	}
	return i
}

// tag returns the bits of a hash that are kept in a slot. They are not those that choose the slot.
func (x *index) tag(hash uint64) uint32 { return uint32(hash>>32) &^ x.ordinals }

// probe returns the ordinal that has the key, or None, and the slot of a table where it is or belongs. The slots of a table are a
// power of two, at most half of which are taken; 0 is a free one. The others hold an ordinal + 1 in as many low bits as the
// ordinals need, and in the bits above them a part of the key's hash, which tells nearly all other keys apart without fetching
// them.
func (x *index) probe(slots []uint32, hash uint64, has func(int32) bool) (int32, uint64) {
	mask, tag := uint64(len(slots)-1), x.tag(hash)
	for at := hash & mask; ; at = (at + 1) & mask {
		slot := slots[at]
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

// Ordinals is a set of ordinals. The zero value is empty, and nothing can be added to it.
type Ordinals []uint64

// NewOrdinals returns an empty set of ordinals that are less than n.
func NewOrdinals(n int) Ordinals { return make(Ordinals, (n+63)/64) }

// Add puts i into the set and reports whether it was not there.
func (s Ordinals) Add(i int32) bool {
	word, bit := &s[i/64], uint64(1)<<(i%64)
	if *word&bit != 0 {
		return false
	}
	*word |= bit
	return true
}

// Has reports whether i is in the set.
func (s Ordinals) Has(i int32) bool { return s != nil && s[i/64]&(1<<(i%64)) != 0 }

func (s Ordinals) remove(i int32) { s[i/64] &^= 1 << (i % 64) }
