package simulate

import (
	"math/bits"
	"math/rand/v2"
	"time"
)

// random is the seed of a scenario, the only source of chance. Whatever is drawn is drawn for a purpose and a key, such as the
// name of a pod or node. It depends on nothing else, not even on what was drawn before, so that what one pod meets is the same
// whatever happens to others.
type random uint64

// stream is a generator for one purpose and key. Equal ones give equal streams.
func (r random) stream(purpose, key string) *rand.Rand {
	h := r.hash(purpose, key)
	return rand.New(rand.NewPCG(h, mix(h+golden)))
}

// fraction draws a number of at least 0 and less than 1, without allocating.
func (r random) fraction(purpose, key string) float64 {
	const digits = 53 // of a float64
	return float64(r.hash(purpose, key)>>(64-digits)) / (1 << digits)
}

// happens draws whether something happens that happens in that share of all cases.
func (r random) happens(share float64, purpose, key string) bool {
	return r.fraction(purpose, key) < share
}

// durationOf draws a duration, without allocating.
func (r random) durationOf(d Distribution, purpose, key string) time.Duration {
	if d.kind == unset || d.kind == fixed {
		return d.from(0)
	}
	return d.from(r.fraction(purpose, key))
}

// sub is a source of its own, for one of several like things, such as each event of a scenario.
func (r random) sub(purpose, key string) random { return random(r.hash(purpose, key)) }

// hash of seed, purpose and key. The texts are hashed eight bytes at a time with a multiplication that keeps all 128 bits,
// their lengths included, so that "a"+"bc" is not "ab"+"c".
func (r random) hash(purpose, key string) uint64 {
	h := mix(uint64(r) + golden)
	h = hashText(h, purpose)
	return mix(hashText(h, key))
}

func hashText(h uint64, text string) uint64 {
	h ^= uint64(len(text)) * golden
	for len(text) >= 8 {
		h = fold(h ^ word(text))
		text = text[8:]
	}
	var rest uint64
	for i := range len(text) {
		rest = rest<<8 | uint64(text[i])
	}
	return fold(h ^ rest)
}

func word(text string) uint64 {
	_ = text[7] // one check of the bounds instead of eight
	return uint64(text[0]) | uint64(text[1])<<8 | uint64(text[2])<<16 | uint64(text[3])<<24 |
		uint64(text[4])<<32 | uint64(text[5])<<40 | uint64(text[6])<<48 | uint64(text[7])<<56
}

// golden is 2⁶⁴ divided by the golden ratio, and odd.
const golden = 0x9e3779b97f4a7c15

func fold(h uint64) uint64 {
	high, low := bits.Mul64(h^0x2d358dccaa6c78a5, golden)
	return high ^ low
}

// mix is a bijection in which each bit of the input changes half of the output's.
func mix(h uint64) uint64 {
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}
