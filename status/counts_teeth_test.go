//go:build teeth

package status_test

import (
	"testing"

	"github.com/daemonplan/daemonplan/status"
)

// TestAddPropertyRejectsMutants holds the property itself: each planted bug must be found.
func TestAddPropertyRejectsMutants(t *testing.T) {
	mutants := map[string]counter{
		"available without ready": func(c *status.Counts, f status.Facts) {
			if f.Has(status.Available) {
				f |= status.Ready
			}
			c.Add(f)
		},
		"ready without a pod": func(c *status.Counts, f status.Facts) {
			if f.Has(status.Ready) {
				f |= status.Present
			}
			c.Add(f)
		},
		"available is counted as it is said": func(c *status.Counts, f status.Facts) {
			was := c.Available
			c.Add(f)
			if f.Has(status.Desired | status.Available) {
				c.Available = was + 1
				c.Unavailable = c.Desired - c.Available
			}
		},
		"misscheduled nodes are current": func(c *status.Counts, f status.Facts) {
			if f.Has(status.Present) {
				f |= status.Desired
			}
			c.Add(f)
		},
		"updated only if available": func(c *status.Counts, f status.Facts) {
			if !f.Has(status.Available) {
				f &^= status.Updated
			}
			c.Add(f)
		},
		"the first node decides": func(c *status.Counts, f status.Facts) {
			if c.Desired == 1 {
				f &^= status.Updated
			}
			c.Add(f)
		},
		"unavailable is forgotten": func(c *status.Counts, f status.Facts) {
			c.Add(f)
			c.Unavailable = 0
		},
		"unavailable nodes are not desired": func(c *status.Counts, f status.Facts) {
			if f.Has(status.Desired | status.Available) {
				c.Add(f)
			}
		},
	}
	for name, mutant := range mutants {
		t.Run(name, func(t *testing.T) {
			for seed := range 1000 {
				if countViolation(mutant, fleets.Example(seed)) != nil {
					return
				}
			}
			t.Error("the property does not notice")
		})
	}
}
