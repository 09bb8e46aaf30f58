//go:build teeth

package inplace_test

import (
	"os"
	"testing"

	"github.com/daemonplan/daemonplan/internal/conformance"
)

// rejects shows that the comparison can fail: each way to spoil what this package does makes some case differ.
func rejects[C, O any](t *testing.T, p *peer[C], spoiled map[string]func(*O)) {
	t.Helper()
	names, lines := p.cases(t)
	caught := map[string]int{}
	for i, line := range lines {
		c := decoded[C](t, names[i], line)
		want := text(p.model(c, p.all()))
		for what, spoil := range spoiled {
			ours := p.ours(t, c).(O)
			if spoil(&ours); text(ours) != want {
				caught[what]++
			}
		}
	}
	for what := range spoiled {
		if caught[what] == 0 && os.Getenv(conformance.EnvDir) == "" {
			t.Errorf("%s: %s, and every case is still explained", p.file, what)
		}
	}
}

// TestConformanceRejects shows that each comparison can fail. TestConformanceVariations shows that each entry is needed.
func TestConformanceRejects(t *testing.T) {
	rejects(t, &calculatePeer, map[string]func(*calculateOutcome){
		"all in place":           func(o *calculateOutcome) { o.InPlace = true },
		"nothing in place":       func(o *calculateOutcome) { *o = calculateOutcome{} },
		"images forgotten":       func(o *calculateOutcome) { o.ContainerImages = nil },
		"resources forgotten":    func(o *calculateOutcome) { o.ContainerResources = nil },
		"environments forgotten": func(o *calculateOutcome) { o.ContainerRefMetadata, o.UpdateEnvFromMetadata = nil, false },
		"metadata forgotten":     func(o *calculateOutcome) { o.MetadataPatch = nil },
	})
	rejects(t, &completedPeer, map[string]func(*bool){
		"never complete": func(done *bool) { *done = false },
		"all complete":   func(done *bool) { *done = true },
	})
	rejects(t, &unreadyPeer, map[string]func(*bool){
		"never unready":  func(unready *bool) { *unready = false },
		"always unready": func(unready *bool) { *unready = true },
	})
	rejects(t, &batchesPeer, map[string]func(*batchesOutcome){
		"one batch":            func(o *batchesOutcome) { o.LaterBatches = nil },
		"never complete":       func(o *batchesOutcome) { o.CompletedAtEnd = false },
		"never ready again":    func(o *batchesOutcome) { o.InPlaceUpdateReadyAtEnd = "False" },
		"advances unready":     func(o *batchesOutcome) { o.AdvancesWhileNotReady = new(true) },
		"last images unknown":  func(o *batchesOutcome) { o.StateAnnotation.LastContainerStatuses = nil },
		"metadata too early":   func(o *batchesOutcome) { o.PodLabels["slot"] = "b" },
		"resources too late":   func(o *batchesOutcome) { clear(o.PodResources) },
		"containers out of it": func(o *batchesOutcome) { o.UpdateNow = o.UpdateNow[:max(len(o.UpdateNow)-1, 0)] },
	})
}

// TestConformanceVariationsNeedEntries: some variation needs each entry of the tables.
func TestConformanceVariationsNeedEntries(t *testing.T) {
	t.Run("calculate", func(t *testing.T) { needed(t, &calculatePeer, 4) })
	t.Run("completed", func(t *testing.T) { needed(t, &completedPeer, 12) })
	t.Run("needs-unready", func(t *testing.T) { needed(t, &unreadyPeer, 20) })
	t.Run("batches", func(t *testing.T) { needed(t, &batchesPeer, 10) })
}

func needed[C any](t *testing.T, p *peer[C], perCase uint64) {
	counts := p.variations(t, perCase)
	for i, e := range p.entries {
		if counts[i] == 0 && os.Getenv(conformance.EnvDir) == "" {
			t.Errorf("no variation of %s needs entry %q: take it out of the table", p.file, e.id)
		}
	}
}
