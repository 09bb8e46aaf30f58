//go:build teeth

package properties_test

import (
	"time"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// steadily is slow start for specs of mutants.
func steadily(interval time.Duration, increase string) rollouttest.SpecOption {
	return func(s *rollout.Spec) {
		if s.Strategy.SlowStart != nil {
			rollouttest.SlowStart(interval, increase, "250")(s)
		}
	}
}
