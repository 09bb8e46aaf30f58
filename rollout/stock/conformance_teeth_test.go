//go:build teeth

package stock_test

import (
	"slices"
	"testing"

	"github.com/daemonplan/daemonplan/internal/conformance/peer"
	"github.com/daemonplan/daemonplan/placement"
)

// TestWrongDecisionsAreFound: what a planner that is wrong would decide is none of the controllers' decisions.
func TestWrongDecisionsAreFound(t *testing.T) {
	t.Run("kubernetes", func(t *testing.T) { findWrong(t, peer.Kubernetes) })
	t.Run("kruise", func(t *testing.T) { findWrong(t, peer.Kruise) })
}

func findWrong(t *testing.T, controller peer.Controller) {
	t.Helper()
	for _, wrong := range []struct {
		name  string
		spoil func(c *peer.Case, d *peer.Decided)
		least int // of the cases, which it has to change
	}{
		{"one delete fewer", func(_ *peer.Case, d *peer.Decided) { d.Fates = d.Fates[:max(0, len(d.Fates)-1)] }, 100},
		{"one create fewer", func(_ *peer.Case, d *peer.Decided) { d.Creates = d.Creates[:max(0, len(d.Creates)-1)] }, 50},
		{"repair and update at once", func(c *peer.Case, d *peer.Decided) {
			both := c.Expected().Decision(true)
			d.Creates, d.Fates = both.Creates, both.Fates
		}, 20},
		{"nothing is deleted", func(_ *peer.Case, d *peer.Decided) { d.Fates = nil }, 100},
		{"one more pod is deleted", func(c *peer.Case, d *peer.Decided) {
			for _, p := range c.Own() {
				if _, known := placement.TargetNode(p); known && d.Fate(p) == "" && p.DeletionTimestamp == nil {
					d.Fates = append(d.Fates, peer.Deleted.Of(p.Name)...)
					return
				}
			}
		}, 100},
		{"a create where there is one", func(_ *peer.Case, d *peer.Decided) {
			d.Creates = append(d.Creates, d.Creates[:min(1, len(d.Creates))]...)
		}, 50},
		{"an updated node more", func(_ *peer.Case, d *peer.Decided) { d.Status.Updated++ }, 200},
		{"a ready node fewer", func(_ *peer.Case, d *peer.Decided) { d.Status.Ready-- }, 200},
		{"available as ready", func(_ *peer.Case, d *peer.Decided) { d.Status.Available = d.Status.Ready }, 20},
	} {
		t.Run(wrong.name, func(t *testing.T) {
			changed := 0
			for _, c := range recorded(t, controller) {
				right := decided(t, c, 1)
				d := peer.Decided{Status: right.Status, Creates: slices.Clone(right.Creates), Fates: slices.Clone(right.Fates)}
				wrong.spoil(c, &d)
				slices.Sort(d.Creates)
				slices.Sort(d.Fates)
				if d.Status == right.Status && slices.Equal(d.Creates, right.Creates) && slices.Equal(d.Fates, right.Fates) {
					continue
				}
				want := c.Expected().OneSync(d)
				if wrong.name == "repair and update at once" && len(d.Fates)+len(d.Creates) == len(right.Fates)+len(right.Creates) {
					continue // another choice of one phase
				}
				changed++
				if want.Permits(d) {
					t.Errorf("%s: %+v passes for %v", c.Name, d, want)
				}
			}
			if changed < wrong.least {
				t.Errorf("it changes %d cases only, of at least %d", changed, wrong.least)
			}
		})
	}
}
