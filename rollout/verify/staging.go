package verify

import (
	"cmp"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/failure"
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
		case !of.phase.IsOpen() && v.isBackDue(node):
			v.sendBack(node)
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

// isBackDue reports whether what a node of a closed part has is to go back to the base: it is a revision that was never rolled
// out everywhere, and either was given up or has served nobody there for longer than pods may need (T8, F3).
func (v *verifier) isBackDue(node *node) bool {
	if len(node.requested) > 0 || !v.canGoBack() {
		return false
	}
	p := cmp.Or(node.bestCurrent, node.bestOutdated)
	leaving := slices.DeleteFunc(slices.Clone(node.pods), func(p *pod) bool { return !p.leaving || !p.active() })
	if p == nil && len(leaving) > 0 { // of several, one that serves counts
		slices.SortFunc(leaving, func(a, b *pod) int { return cmp.Compare(a.object.Name, b.object.Name) })
		p = leaving[max(0, slices.IndexFunc(leaving, func(p *pod) bool { return p.ready }))]
	}
	if p == nil {
		lost := v.lostRevision(node)
		if v.isUpdate(lost) && lost != "" {
			lost = v.plan.Status.UpdateRevision
		}
		node.backAt = v.backAt(node, lost, nil)
		return false
	}
	hash := p.hash
	if p.atUpdate {
		hash = v.plan.Status.UpdateRevision
	}
	switch {
	case node.bestCurrent != nil && node.bestOutdated != nil && !v.staging.bases[node.bestOutdated.hash]:
		return false // else its way back has begun
	case v.keptInClosed(hash), p.patched:
		return false
	case hash != v.plan.Status.UpdateRevision && slices.ContainsFunc(v.history.byHash[hash], history.Failed):
		return true
	case p.ready || node.hold != rollout.LimitNone || node.cutOff || node.any(v.isOverdue):
		return false
	default:
		node.backAt = v.backAt(node, hash, p.object)
		return !node.backAt.IsZero() && !node.backAt.After(v.snapshot.Now)
	}
}

// backAt is when a revision counts as one that does not work on the node, by the clock alone; zero: never. That of a pod may be
// unknown: it is none that was rolled out everywhere.
func (v *verifier) backAt(node *node, hash string, pod *corev1.Pod) time.Time {
	if hash == "" && pod == nil || v.keptInClosed(hash) {
		return time.Time{}
	}
	options, retried := v.failed.options, time.Time{}
	if options == nil {
		options = new(failure.Options{}.Default())
	}
	if hash == v.plan.Status.UpdateRevision {
		retried = v.retriedAt()
	}
	series, _ := v.seriesOf(node, hash)
	back := time.Time{}
	if pod != nil {
		back = node.backSince()
	}
	return v.failsAt(pod, series, options, retried, back, node.backSince())
}

// keptInClosed reports whether nodes of closed parts may keep a revision that does not work: it is the base, or was rolled out
// everywhere.
func (v *verifier) keptInClosed(hash string) bool {
	return v.staging.bases[hash] || slices.ContainsFunc(v.history.byHash[hash], func(revision *appsv1.ControllerRevision) bool {
		return history.Completed(revision) && !history.Failed(revision)
	})
}

// canGoBack reports whether there is a base, and pods can be made of it.
func (v *verifier) canGoBack() bool {
	for base := range v.staging.bases {
		if !v.isUpdate(base) && v.templateOf(base) != nil {
			return true
		}
	}
	return false
}

func (v *verifier) isOverdue(p *pod) bool { return p.isDeleted && !p.gone.After(v.snapshot.Now) }

// sendBack makes the base where the node is to end, past what holds it.
func (v *verifier) sendBack(node *node) {
	node.goesBack, node.hold, node.sums = true, rollout.LimitNone, sums{}
	if node.concerned {
		node.overridden = v.overrides.on(node.object, v.goalTemplate(node))
	}
	for _, pod := range node.pods {
		pod.atGoal = v.isGoal(node, pod.hash) && pod.hash != ""
		pod.current = pod.atGoal && v.becomesRight(pod)
	}
	node.takesBack = v.holdsRolling(node) != rollout.LimitNone || v.spec.Strategy.Method == inplace.Only
	node.sumUp()
}

// base is the hash of the base, if it is only one.
func (v *verifier) base() string {
	for base := range v.staging.bases {
		return base
	}
	return ""
}

// rolloutRecord is what is remembered of the rollout of the update revision, with what its mark says of stages. A promotion
// begins it anew.
func (v *verifier) rolloutRecord() rollout.Record {
	record := v.remembered.Rollout
	anew := v.promotesNow() || v.failed.retries
	if anew || record.Revision != "" && record.Revision != v.plan.Status.UpdateRevision {
		return rollout.Record{}
	}
	if record.Revision == "" { // nothing is remembered
		return rollout.Record{Frontier: v.markedFrontier()}
	}
	if marked := v.markedFrontier(); !marked.At.Before(record.Began) {
		record.Frontier = v.further(record.Frontier, marked)
	}
	return record
}

// markedFrontier is how far the stages are by the mark on the update revision. How that is written is for package stage to say.
// It is of a rollout that is over if the revision gets another number.
func (v *verifier) markedFrontier() stage.Frontier {
	update := v.history.update
	if update == nil || len(v.stages) == 0 || update.Revision < v.history.next {
		return stage.Frontier{}
	}
	return stage.ReadAnnotation(update.Annotations[history.FrontierAnnotation], update.Revision)
}

// further is the frontier of the two that is further, or was there first.
func (v *verifier) further(a, b stage.Frontier) stage.Frontier {
	at, isA := v.placeOf(a)
	bt, isB := v.placeOf(b)
	order := compareParts(at, bt)
	if !isB || isA && (order > 0 || order == 0 && !b.At.Before(a.At)) {
		return a
	}
	return b
}

// placeOf is the part at a frontier, and whether the stages of the spec still lead up to it.
func (v *verifier) placeOf(f stage.Frontier) (at part, known bool) {
	at = part{len(v.stages), f.Value}
	if f.Stage != "" {
		at.stage = slices.IndexFunc(v.spec.Strategy.Policy.Stages, func(s stage.Stage) bool { return s.Name == f.Stage })
	}
	return at, !f.At.IsZero() && at.stage >= 0 && (f.Layout == "" || f.Layout == v.layoutTo(at.stage))
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
	for i, p := range rest {
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
		case p.empty() && !slices.ContainsFunc(rest[i:], func(p *partState) bool { return !p.empty() }):
			p.phase = stage.Skipped // taints bar all that is left
			continue
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

// passed finds the frontier before this plan opens anything, and returns the parts behind it. What nodes have is no evidence that
// a part was open.
func (s *staging) passed(v *verifier, remembered stage.Frontier) (rest []*partState) {
	s.frontier = stage.Frontier{}
	at, known := v.placeOf(remembered)
	if !known {
		return s.parts
	}
	s.frontier = remembered
	s.frontier.At = earliest(remembered.At, v.snapshot.Now)
	for i, p := range s.parts {
		if compareParts(p.part, at) > 0 {
			return s.parts[i:]
		}
	}
	return nil
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
