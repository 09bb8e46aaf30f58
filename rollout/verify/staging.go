package verify

import (
	"slices"
	"time"

	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/history"
	"github.com/daemonplan/daemonplan/rollout/stage"
)

// Which parts of stages are open (T8), by how their nodes stand.

// staging is how the parts of stages stand, as it is found here.
type staging struct {
	// followed: it matters how the parts stand. Else there is nothing below but bases and frontier.
	followed bool
	parts    []*partState // in the order in which they are opened
	byPart   map[part]*partState
	// bases are the hashes that may be the base: one, but for revisions of one number; nil: none is needed.
	bases    map[string]bool
	frontier stage.Frontier // that is to be remembered
	// completes: every part is done or skipped, and one is done.
	completes bool
	soaked    time.Time // when the time to soak is over that a part waits for; zero: none does
}

// observeStaging finds which parts are open, and which nodes are not because of that. Nothing that the plan does is entered yet.
func (v *verifier) observeStaging() {
	s := &v.staging
	record := v.rolloutRecord()
	if s.frontier = record.Frontier; v.history.completed {
		s.frontier = stage.Frontier{}
	}
	if v.closesStable() {
		for _, node := range v.nodes {
			updated := node.asksUpdated || node.any(func(p *pod) bool { return p.active() && p.atUpdate })
			if node.outcome == placement.Run && node.goesStable && !updated {
				v.close(node, rollout.LimitStage)
			}
		}
		return
	}
	if s.followed = v.followsParts(); !s.followed {
		return
	}
	v.observeFailed()
	v.countParts()
	v.judgeParts(record.Frontier)
	if v.watches() {
		if v.failed.quarantined = ofDesired(v.failed.options.Quarantine, v.openNodes(), 0); v.failed.quarantined > 0 { // F4
			s.parts, s.soaked = nil, time.Time{}
			v.countParts()
			v.judgeParts(record.Frontier)
		}
	}
	defer v.countFailed() // once it is known which nodes are closed for another reason
	for _, node := range v.nodes {
		of := s.byPart[node.part]
		switch {
		case node.outcome != placement.Run:
		case of.phase == stage.Approving:
			v.close(node, rollout.LimitApproval)
		case of.phase == stage.Waiting && of.until.IsZero():
			v.close(node, rollout.LimitStage)
		case of.phase == stage.Waiting:
			v.close(node, rollout.LimitSoak)
		}
	}
}

// close notes why the node's part is not open. What leaves there through its hook is taken back, because it would come back as it
// is.
func (v *verifier) close(node *node, limit rollout.Limit) {
	node.closed = limit
	if node.takesBack || !node.any(func(p *pod) bool { return p.leaving }) {
		return
	}
	node.takesBack, node.sums = true, sums{}
	node.sumUp()
	v.settleRequests(node)
}

// rolloutRecord is what is remembered of the rollout of the update revision. A promotion begins it anew.
func (v *verifier) rolloutRecord() rollout.Record {
	record := v.remembered.Rollout
	if record.Revision != v.plan.Status.UpdateRevision || v.promotesNow() || v.failed.retries {
		return rollout.Record{}
	}
	return record
}

// tried reports whether the update revision is on trial, or has failed.
func (v *verifier) tried() bool { return v.trial.phase != canary.Idle }

// followsParts reports whether the plan has to know how parts stand: until the rollout of the update revision came to its end,
// and without stages only while there are marks to be kept up.
func (v *verifier) followsParts() bool {
	return v.spec.Strategy.Type == rollout.RollingUpdate && !v.tried() && !v.history.completed &&
		(len(v.stages) > 0 || v.failed.options != nil || v.history.anyCompleted)
}

// closesStable reports whether another revision is tried, or has failed, before the stable one was rolled out everywhere.
func (v *verifier) closesStable() bool {
	stable := v.trial.stable
	if len(v.stages) == 0 || !v.tried() || v.isUpdate(stable) || v.staging.bases[stable] {
		return false
	}
	return !slices.ContainsFunc(v.history.byHash[stable], history.Completed)
}

// allOpen reports whether no part is closed: there are no stages, nothing was rolled out before, or the revision is expedited.
func (v *verifier) allOpen() bool {
	if len(v.stages) == 0 {
		return true
	}
	first := !slices.ContainsFunc(v.pods, func(p *pod) bool { return p.node != nil && p.active() && !p.atUpdate })
	for _, revision := range v.snapshot.Revisions {
		first = first && v.holdsTemplate(revision)
	}
	expedite := v.spec.Strategy.Policy.Expedite
	return first || expedite == canary.Any || v.namesUpdate(expedite)
}

// namesUpdate reports whether a text is the hash of the update revision or its name.
func (v *verifier) namesUpdate(text string) bool {
	hash := v.plan.Status.UpdateRevision
	name := v.spec.Name + "-" + hash
	if v.history.update != nil {
		name = v.history.update.Name
	}
	return text != "" && (text == hash || text == name)
}

// judgeParts finds how far the rollout is, and which parts that opens.
func (v *verifier) judgeParts(remembered stage.Frontier) {
	s, now := &v.staging, v.snapshot.Now
	rest := s.passed(v, remembered)
	for _, p := range s.parts[:len(s.parts)-len(rest)] {
		p.phase = stage.Done
		if p.skipped() {
			p.phase = stage.Skipped
		}
	}
	allOpen := v.allOpen()
	unfinished, closed := false, false // a part before this one is not done, or not even open
	for _, p := range rest {
		soaked := v.soakEnds(s.frontier)
		switch {
		case p.skipped() && (!closed || p.nodes == 0):
			p.phase = stage.Skipped
			continue
		case closed:
			p.phase = stage.Waiting
		case !allOpen && soaked.After(now):
			p.phase, p.until, s.soaked = stage.Waiting, soaked, soaked
		case !allOpen && p.of.Approval && !v.isApproved(p):
			p.phase = stage.Approving
		case !unfinished && p.complete():
			p.phase, s.frontier = stage.Done, v.frontierAt(p)
			continue
		case p.settled+p.unavailable+p.behind == 0:
			p.phase = stage.NoEvidence
		default:
			p.phase = stage.Open
		}
		unfinished, closed = true, !allOpen
	}
	s.completes = !unfinished && !s.frontier.At.IsZero()
	for _, p := range s.parts {
		if p.phase != stage.Done || !p.isAt(s.frontier) {
			continue
		}
		if p.done = s.frontier.At; !s.soaked.IsZero() {
			p.phase, p.until = stage.Soaking, s.soaked
		}
	}
}

// passed finds the frontier before this plan opens anything, and returns the parts behind it: what is remembered, or if that is
// lost the last part up to which all are done.
func (s *staging) passed(v *verifier, remembered stage.Frontier) (rest []*partState) {
	at, known := part{len(v.stages), remembered.Value}, !remembered.At.IsZero()
	if remembered.Stage != "" {
		at.stage = slices.IndexFunc(v.spec.Strategy.Policy.Stages, func(s stage.Stage) bool { return s.Name == remembered.Stage })
	}
	if known && at.stage >= 0 && (remembered.Layout == "" || remembered.Layout == v.layoutTo(at.stage)) {
		s.frontier = remembered
		s.frontier.At = earliest(remembered.At, v.snapshot.Now)
		for i, p := range s.parts {
			if compareParts(p.part, at) > 0 {
				return s.parts[i:]
			}
		}
		return nil
	}
	s.frontier = stage.Frontier{}
	rest = s.parts
	for i, p := range s.parts {
		switch {
		case p.skipped():
		case p.complete():
			s.frontier, rest = v.frontierAt(p), s.parts[i+1:]
		default:
			return rest
		}
	}
	return rest
}

// frontierAt is what is to be remembered of a part that is done now.
func (v *verifier) frontierAt(p *partState) stage.Frontier {
	return stage.Frontier{Stage: p.of.Name, Value: p.value, At: v.snapshot.Now, Layout: v.layoutTo(p.stage)}
}

// layoutTo says which stages lead up to the one at the place. How that is written is for package stage to say.
func (v *verifier) layoutTo(place int) string {
	return stage.Layout(v.spec.Strategy.Policy.Stages, place)
}

// soakEnds is when the part at the frontier has soaked; zero: there is none.
func (v *verifier) soakEnds(f stage.Frontier) time.Time {
	if f.At.IsZero() {
		return time.Time{}
	}
	soak := time.Duration(0)
	for i := range v.stages {
		if v.stages[i].Name == f.Stage {
			soak = v.stages[i].Soak
		}
	}
	return f.At.Add(soak)
}

// isApproved reports whether the part is approved for the update revision.
func (v *verifier) isApproved(p *partState) bool {
	for _, a := range v.spec.Strategy.Policy.Approved {
		if a.Stage == p.of.Name && (a.Value == "" || a.Value == p.value) && v.namesUpdate(a.Revision) {
			return true
		}
	}
	return false
}
