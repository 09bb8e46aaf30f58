// Package fuzzing makes properties of package rapid fuzz targets that are worth running.
//
// rapid reads the bytes of an input as its random numbers, and skips an input that ends before all values are drawn. What the
// engine finds by itself is a few bytes long, so that a target which is nothing but rapid.MakeFuzz skips nearly every input, and
// passes without having tested anything. See [Property].
package fuzzing

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"
)

// words is how many numbers an input has at least: more than any property of this module draws.
const words = 16 << 10

// steered is how many of them the engine chooses one by one.
const steered = 6

// Property fuzzes a property, given what rapid.MakeFuzz makes of it. The engine's own words, with which it steers the first
// draws, are followed by as many as it takes from a generator that the engine seeds, so that no input ends too early. They are
// words, not bytes: go test does not minimise numbers, which with bytes takes all of its time.
func Property(f *testing.F, check func(*testing.T, []byte)) {
	f.Helper()
	for seed := range uint64(8) {
		random := rand.New(rand.NewPCG(seed, 1))
		f.Add(seed, random.Uint64(), random.Uint64(), random.Uint64(), random.Uint64(), random.Uint64(), random.Uint64())
	}
	f.Fuzz(func(t *testing.T, seed, a, b, c, d, e, g uint64) {
		check(t, input(seed, [steered]uint64{a, b, c, d, e, g}))
	})
}

// input is what rapid draws from.
func input(seed uint64, first [steered]uint64) []byte {
	random := rand.New(rand.NewPCG(seed, 0))
	data := make([]byte, 0, 8*(steered+words))
	for _, word := range first {
		data = binary.LittleEndian.AppendUint64(data, word)
	}
	for range words {
		data = binary.LittleEndian.AppendUint64(data, random.Uint64())
	}
	return data
}
