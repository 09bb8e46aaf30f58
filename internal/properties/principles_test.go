package properties_test

import (
	"testing"

	"github.com/daemonplan/daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// The principles that stand above the rules, as far as one plan shows them (P-A to P-E). What whole runs show of them is in the
// statements about stages, failures and outages.
var (
	nothingUnsaid = property{"V28 nothing stands still unsaid", failurePlans(), verified(28)}
	noBlame       = property{"V29 no blame without evidence", failurePlans(), verified(29)}
	noWayAround   = property{"V30 no way around a gate", stagePlans(), verified(30)}
	noPermission  = property{"V31 leaving out is not permission", onePlan(objects.Released(), rollouttest.MaxExempt("50%"), rollouttest.MaxUnavailable("1")), verified(31)}
	closedHold    = property{"V32 closed parts hold what was good", stagePlans(), verified(32)}
)

func TestPrinciplesHold(t *testing.T) {
	test(t, nothingUnsaid, noBlame, noWayAround, noPermission, closedHold)
}
