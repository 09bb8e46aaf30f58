package rollout

import "hash/maphash"

// index finds the ordinal of a string among many. It is one table, while Go's map needs an object per entry. The seed makes hash
// values differ from process to process, but what is found does not depend on them.
type index struct {
	seed maphash.Seed
	// slots hold an ordinal + 1 in as many low bits as the ordinals need, and in the bits above them a part of its key's hash,
	// which tells nearly all other keys apart without fetching them. 0 is a free slot. Their number is a power of two, and at
	// most half of them are taken.
	slots    []uint32
	ordinals uint32 // mask of the low bits
	key      func(int32) string
}

func newIndex(n int, key func(int32) string) index {
	size := 2
	for size < 2*n {
		size *= 2
	}
	return index{seed: maphash.MakeSeed(), slots: make([]uint32, size), ordinals: uint32(size - 1), key: key}
}

func (x *index) hash(s string) uint64 { return maphash.String(x.seed, s) }

// add enters ordinal i under its key, which has that hash. If the key is there already, add changes nothing and returns the
// ordinal that is there; else it returns none.
func (x *index) add(i int32, hash uint64) int32 {
	found, slot := x.probe(hash, x.key(i))
	if found == none {
		x.slots[slot] = x.tag(hash) | uint32(i+1)
	}
	return found
}

// tag returns the bits of a hash that are kept in a slot. They are not those that choose the slot.
func (x *index) tag(hash uint64) uint32 { return uint32(hash>>32) &^ x.ordinals }

// probe returns the ordinal of s, or none and the slot where it belongs.
func (x *index) probe(hash uint64, s string) (int32, uint64) {
	mask, tag := uint64(len(x.slots)-1), x.tag(hash)
	for at := hash & mask; ; at = (at + 1) & mask {
		slot := x.slots[at]
		if slot == 0 {
			return none, at
		}
		if slot&^x.ordinals == tag {
			if i := int32(slot&x.ordinals) - 1; x.key(i) == s {
				return i, at
			}
		}
	}
}
