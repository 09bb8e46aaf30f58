package rollout_test

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// fuzz runs a property on native fuzz input. A scenario takes thousands of draws, and rapid skips an input that ends
// before they do. So the fuzzer's own words, with which it steers the first draws (those of the spec), are followed by
// as many as it takes from a generator that the fuzzer seeds. Words, not bytes: go test does not minimise numbers, which
// with bytes takes all of its time.
func fuzz(f *testing.F, p property) {
	check := rapid.MakeFuzz(p.check)
	for seed := range uint64(8) {
		random := rand.New(rand.NewPCG(seed, 1))
		f.Add(seed, random.Uint64(), random.Uint64(), random.Uint64(), random.Uint64(), random.Uint64(), random.Uint64())
	}
	f.Fuzz(func(t *testing.T, seed, a, b, c, d, e, g uint64) {
		const words = 16 << 10
		random := rand.New(rand.NewPCG(seed, 0))
		var input []byte
		for _, word := range []uint64{a, b, c, d, e, g} {
			input = binary.LittleEndian.AppendUint64(input, word)
		}
		for range words {
			input = binary.LittleEndian.AppendUint64(input, random.Uint64())
		}
		check(t, input)
	})
}

func FuzzPlanSafety(f *testing.F) { fuzz(f, safe) }

func FuzzPlanPurity(f *testing.F) { fuzz(f, pure) }

func FuzzPlanIdempotence(f *testing.F) { fuzz(f, idempotent) }

func FuzzNextWake(f *testing.F) { fuzz(f, nextWake) }

func FuzzPlanSafetyAlong(f *testing.F) { fuzz(f, safeAlong) }

func FuzzPlanLive(f *testing.F) { fuzz(f, live) }

func FuzzPlanRecovery(f *testing.F) { fuzz(f, changed) }

func FuzzPlanWithEverything(f *testing.F) { fuzz(f, safeKruise) }

func FuzzPlanWakeWithEverything(f *testing.F) { fuzz(f, wakesKruise) }

func FuzzPlanMinds(f *testing.F) { fuzz(f, minds) }

func FuzzStories(f *testing.F) { fuzz(f, toldAll) }

func FuzzStoriesSafety(f *testing.F) { fuzz(f, toldSafe) }
