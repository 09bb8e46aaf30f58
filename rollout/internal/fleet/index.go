package fleet

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

// holds reports whether the index has room for the ordinals 0 to n-1.
func (x *index) holds(n int) bool { return len(x.slots) >= 2*n }

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

// remove takes out ordinal i, which is there under the hash. hashOf returns the hash of the key of any ordinal that is there.
func (x *index) remove(i int32, hash uint64, hashOf func(int32) uint64) {
	_, free := x.probe(hash, func(j int32) bool { return j == i })
	mask := uint64(len(x.slots) - 1)
	// What was put behind the slot because that was taken moves up, so that no search ends too early.
	for at := (free + 1) & mask; x.slots[at] != 0; at = (at + 1) & mask {
		home := hashOf(int32(x.slots[at]&x.ordinals)-1) & mask
		if (at-home)&mask >= (at-free)&mask {
			x.slots[free], free = x.slots[at], at
		}
	}
	x.slots[free] = 0
}

// tag returns the bits of a hash that are kept in a slot. They are not those that choose the slot.
func (x *index) tag(hash uint64) uint32 { return uint32(hash>>32) &^ x.ordinals }

// probe returns the ordinal that has the key, or None, and the slot where it is or belongs.
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
