package rollout

import "hash/maphash"

// index finds the ordinal of a string among many, with one table and no object per entry, which Go's map needs. The
// seed makes hash values differ from process to process; what is found does not depend on them.
type index struct {
	seed maphash.Seed
	// slots hold an ordinal + 1 in the low bits that all ordinals need, and above them bits of its key's hash, so that nearly
	// all other keys are told apart without fetching them; 0 is free. A power of two of them, at most half full.
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

// add enters ordinal i under a key with that hash; it returns the ordinal that is there under the same key already, else
// none.
func (x *index) add(i int32, hash uint64) int32 {
	found, slot := x.probe(hash, x.key(i))
	if found == none {
		x.slots[slot] = x.tag(hash) | uint32(i+1)
	}
	return found
}

// tag are the bits of a hash that are in a slot. They are others than those that choose the slot.
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
