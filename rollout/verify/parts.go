package verify

import (
	"cmp"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/history"
	"github.com/daemonplan/daemonplan/rollout/stage"
)

// stageTerms are the stages of the policy (T8), with their selectors read.
type stageTerms []struct {
	stage.Stage
	selector labels.Selector
}

// part is what is opened at once: the nodes of a stage, or with a key those of one value. The number of all stages stands for the
// nodes that no stage selects.
type part struct {
	stage int
	value string
}

func stagesOf(spec *rollout.Spec) stageTerms {
	if spec.Strategy.Type != rollout.RollingUpdate { // OnDelete does not use policies
		return nil
	}
	var stages stageTerms
	for _, s := range spec.Strategy.Policy.Stages {
		selector := labels.Everything()
		if s.Selector != nil {
			selector, _ = metav1.LabelSelectorAsSelector(s.Selector) // that it can be read is part of the validation
		}
		stages = append(stages, struct {
			stage.Stage
			selector labels.Selector
		}{s, selector})
	}
	return stages
}

// partOf is the part that a node is in: that of the first stage that selects it.
func (t *terms) partOf(node *corev1.Node) part {
	for i := range t.stages {
		s := &t.stages[i]
		switch {
		case !s.selector.Matches(labels.Set(node.Labels)):
		case s.Key == "":
			return part{stage: i}
		default:
			return part{i, node.Labels[s.Key]}
		}
	}
	return part{stage: len(t.stages)}
}

// stageOf is the stage of a part; one without a name for the nodes that no stage selects.
func (t *terms) stageOf(p part) stage.Stage {
	if p.stage < len(t.stages) {
		return t.stages[p.stage].Stage
	}
	return stage.Stage{}
}

// compareParts is the order in which parts are opened: by stage, then integers by number, then texts, then nodes without the
// label.
func compareParts(a, b part) int {
	rank := func(value string) int {
		switch {
		case value == "":
			return 2
		case strings.Trim(value, "0123456789") != "":
			return 1
		default:
			return 0
		}
	}
	if c := cmp.Or(cmp.Compare(a.stage, b.stage), cmp.Compare(rank(a.value), rank(b.value))); c != 0 {
		return c
	}
	one, isNumber := new(big.Int).SetString(a.value, 10)
	other, areNumbers := new(big.Int).SetString(b.value, 10)
	if rank(a.value) == 0 && isNumber && areNumbers {
		if c := one.Cmp(other); c != 0 {
			return c
		}
	}
	return strings.Compare(a.value, b.value)
}

// partState is how a part stands before the plan's actions, and what is to be said of it.
type partState struct {
	part
	of stage.Stage
	// nodes are to run the pod, of which held cannot be updated in any case, and plainlyHeld are those of held of which nothing
	// has to be looked at closely.
	nodes, held, plainlyHeld int
	exempt                   int // are left out
	// Of the others: at the update revision and available, there and not available, and not there.
	settled, unavailable, behind int

	phase       stage.Phase
	done, until time.Time
}

// skipped reports whether nothing in the part can be updated, and nothing tells of the revision.
func (s *partState) skipped() bool { return s.nodes == s.held && s.unavailable == 0 && s.exempt == 0 }

// complete reports whether the part is done by how its nodes stand now.
func (s *partState) complete() bool {
	tolerated := 0
	if s.of.Tolerance != nil {
		tolerated = ofDesired(s.of.Tolerance, s.settled+s.unavailable+s.behind, 0)
	}
	return s.settled >= 1 && s.behind == 0 && s.unavailable <= tolerated
}

// isAt reports whether the part is at a frontier.
func (s *partState) isAt(f stage.Frontier) bool { return s.of.Name == f.Stage && s.value == f.Value }

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

// countParts counts how the nodes of each part stand. Nodes are left out as B8 and B9 say, the first by name.
func (v *verifier) countParts() {
	s := &v.staging
	s.byPart = make(map[part]*partState)
	add := func(p part) {
		if s.byPart[p] == nil {
			s.byPart[p] = &partState{part: p, of: v.stageOf(p)}
			s.parts = append(s.parts, s.byPart[p])
		}
	}
	for i := range len(v.stages) + 1 {
		if p := (part{stage: i}); v.stageOf(p).Key == "" {
			add(p)
		}
	}
	out, unschedulable, quarantine := v.limits.maxExempt, v.limits.maxUnschedulable, v.failed.quarantined
	for _, node := range v.nodes {
		add(node.part)
		spare := 0 // of these nodes, how many are left out
		switch counts := v.isUnavailable(node) || v.isSurging(node); {
		case !counts:
		case out > 0 && v.excused(node):
			spare, out = 1, out-1 // such nodes stand for themselves alone
			node.excusedFromFailing = true
		case node.isolated() && unschedulable > 0:
			spare = min(node.weight, unschedulable)
			unschedulable -= spare
			node.excusedFromFailing = true
		case node.hasFailed && quarantine > 0: // and so do these
			spare, quarantine = 1, quarantine-1
		}
		v.countInPart(node, s.byPart[node.part], spare)
	}
	slices.SortFunc(s.parts, func(a, b *partState) int { return compareParts(a.part, b.part) })
}

func (v *verifier) countInPart(node *node, s *partState, exempt int) {
	run := node.outcome == placement.Run
	if run {
		s.nodes += node.weight
	}
	if run && !node.selected {
		s.held, s.plainlyHeld = s.held+node.weight, s.plainlyHeld+node.weight
		return
	}
	s.exempt += exempt
	weight := node.weight - exempt
	if !run {
		if v.isUnavailable(node) {
			s.unavailable += weight
		}
		return
	}
	there, available := v.standsAtUpdate(node)
	old, only := node.bestOutdated, v.spec.Strategy.Method == inplace.Only
	switch {
	case weight == 0:
	case available:
		s.settled += weight
	case there:
		s.unavailable += weight
	case only && old != nil && v.plainlyObstructed(old):
		s.held, s.plainlyHeld = s.held+weight, s.plainlyHeld+weight
	case only && old != nil && s.behind == 0 && v.obstructed(old): // what others made of a pod decides only for the first
		s.held += weight
	default:
		s.behind += weight
	}
}

// standsAtUpdate reports whether a run node has, or is about to get, a pod of the update revision, and whether an available one.
func (v *verifier) standsAtUpdate(node *node) (there, available bool) {
	there = node.requestsGoal
	for _, p := range node.pods {
		if p.live() && p.current {
			there, available = true, available || p.settled() && !p.terminal
		}
	}
	return there, available
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

// cellOfPart tells nodes of different parts apart.
func (t *terms) cellOfPart(p part) string {
	if len(t.stages) == 0 {
		return ""
	}
	return strconv.Itoa(p.stage) + "=" + p.value + "\x00"
}
