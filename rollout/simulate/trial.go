package simulate

import (
	"time"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
)

// trial follows the canary of the last revision that had one. After a promotion plans say only that the revision is the stable
// one (C6), and after a rollback they say that of another revision, so what was found before counts.
type trial struct {
	revision string
	decided  bool
	report   CanaryReport
}

func (c *trial) plan(at time.Duration, p *rollout.Plan) {
	found := p.Canary
	promoted := found.Reason == canary.Promoted || found.Reason == canary.Validated
	if found.Phase == canary.Idle && !promoted {
		c.idle(found.Finding)
		return
	}
	if found.Revision != c.revision {
		*c = trial{revision: found.Revision}
	}
	if !c.decided {
		c.report.Nodes = max(c.report.Nodes, int(p.Status.Updated))
	}
	if promoted && c.report.Promoted == 0 {
		c.report.Promoted = at
	}
	if found.Phase == canary.Failed && c.report.Failed == 0 {
		c.report.Failed = at
	}
	c.decided = c.decided || promoted || found.Phase == canary.Failed
	c.report.Phase, c.report.Reason = found.Phase, found.Reason
}

// idle is told that nothing is on trial. The reason is reported only as long as there has been no trial at all.
func (c *trial) idle(found canary.Finding) {
	if c.revision == "" {
		c.report.Phase, c.report.Reason = found.Phase, found.Reason
	}
}
