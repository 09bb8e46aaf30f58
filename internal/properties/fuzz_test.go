package properties_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/daemonplan/daemonplan/internal/fuzzing"
)

// fuzz runs a property on native fuzz input.
func fuzz(f *testing.F, p property) {
	f.Helper()
	fuzzing.Property(f, rapid.MakeFuzz(p.check))
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
