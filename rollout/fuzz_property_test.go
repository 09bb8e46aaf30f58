package rollout_test

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// fuzz runs a property on native fuzz input. Scenarios take many draws, and rapid skips an input that ends before
// they do; so the seeds are long, and random enough for every branch of the generators.
func fuzz(f *testing.F, p property) {
	const seeds, words = 8, 8 << 10
	for seed := range uint64(seeds) {
		random := rand.New(rand.NewPCG(seed, seed))
		var input []byte
		for range words {
			input = binary.LittleEndian.AppendUint64(input, random.Uint64())
		}
		f.Add(input)
	}
	f.Fuzz(rapid.MakeFuzz(p.check))
}

func FuzzPlanSafety(f *testing.F) { fuzz(f, safe) }

func FuzzPlanPurity(f *testing.F) { fuzz(f, pure) }

func FuzzPlanIdempotence(f *testing.F) { fuzz(f, idempotent) }

func FuzzNextWake(f *testing.F) { fuzz(f, nextWake) }

func FuzzPlanSafetyAlong(f *testing.F) { fuzz(f, safeAlong) }

func FuzzPlanLive(f *testing.F) { fuzz(f, live) }

func FuzzPlanRecovery(f *testing.F) { fuzz(f, changed) }
