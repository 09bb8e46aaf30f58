package simulate

import (
	"fmt"
	"time"

	"github.com/daemonplan/daemonplan/rollout"
)

// FailureReport says on how many nodes the last revision that failed on any did, as the plans saw it (F1), and whether it was
// given up.
type FailureReport struct {
	// Peak is the most nodes that had failed at one time, and PeakAt when they were so many first. MaxFailed is how many might
	// have failed then. Nodes that are left out because of outages do not count.
	Peak      int           `json:"peak"`
	PeakAt    time.Duration `json:"peakAt"`
	MaxFailed int           `json:"maxFailed"`
	// Quarantined is the most nodes that were in quarantine at one time (F4).
	Quarantined int `json:"quarantined"`
	// GaveUp says why the revision was given up, and GaveUpAt when. A retry takes that back. Empty: it was not.
	GaveUp   string        `json:"gaveUp,omitempty"`
	GaveUpAt time.Duration `json:"gaveUpAt"`
}

// String returns it in words.
func (f FailureReport) String() string {
	text := fmt.Sprintf("at most %d nodes had failed at once, %d might", f.Peak, f.MaxFailed)
	if f.Quarantined > 0 {
		text += fmt.Sprintf("; at most %d in quarantine", f.Quarantined)
	}
	if f.GaveUp != "" {
		text += fmt.Sprintf("; given up after %s: %s", rounded(f.GaveUpAt), f.GaveUp)
	}
	return text
}

// fails follows the failures of the last revision that has any. What puts another revision into force, such as somebody who takes
// this one back, does not undo them.
type fails struct {
	revision string
	report   FailureReport
}

func (f *fails) plan(at time.Duration, p *rollout.Plan) {
	b := &p.Budget
	if p.Status.UpdateRevision != f.revision {
		if b.Failed == 0 && p.GaveUp == "" {
			return
		}
		*f = fails{revision: p.Status.UpdateRevision}
	}
	r := &f.report
	if failed := int(b.Failed); failed > r.Peak {
		r.Peak, r.PeakAt, r.MaxFailed = failed, at, int(b.MaxFailed)
	}
	r.Quarantined = max(r.Quarantined, int(b.Quarantined))
	if p.GaveUp == "" {
		r.GaveUp, r.GaveUpAt = "", 0
	} else if r.GaveUp == "" {
		r.GaveUp, r.GaveUpAt = p.GaveUp, at
	}
}

// result is the report; nil: no revision failed on any node.
func (f *fails) result() *FailureReport {
	if f.revision == "" {
		return nil
	}
	return new(f.report)
}
