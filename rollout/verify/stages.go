package verify

import (
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/history"
	"github.com/daemonplan/daemonplan/rollout/stage"
	"github.com/daemonplan/daemonplan/status"
)

// What V20 and V21 forbid is judged with the action: see bar, gate and rightInClosed. Here is what the plan says of stages (V12).

// observeBases finds what nodes get that are not to get the update revision yet: the last other revision that was rolled out
// everywhere, or while there is none the one that most nodes have.
func (v *verifier) observeBases() {
	v.staging = staging{}
	if len(v.stages) == 0 && v.failed.options == nil || v.history.completed {
		return
	}
	known := func(revision *appsv1.ControllerRevision) bool {
		return history.Completed(revision) && !history.Failed(revision)
	}
	on, most := v.nodesAt(), 0
	for _, revision := range v.snapshot.Revisions {
		if hash := history.HashOf(revision); !v.holdsTemplate(revision) && !v.isUpdate(hash) && !history.Failed(revision) {
			most = max(most, on[hash])
		}
	}
	common := func(revision *appsv1.ControllerRevision) bool {
		return most > 0 && on[history.HashOf(revision)] == most && !history.Failed(revision)
	}
	readable := func(revision *appsv1.ControllerRevision) bool {
		return !history.Failed(revision) && v.templateOf(history.HashOf(revision)) != nil
	}
	update := v.plan.Status.UpdateRevision
	for _, next := range []func() map[string]bool{
		func() map[string]bool { return v.highest(known) },
		func() map[string]bool { return v.highest(common) },
		func() map[string]bool { return v.highest(readable) },
	} {
		if v.staging.bases = next(); !v.staging.bases[update] {
			return
		}
	}
}

// checkStages compares what the plan says of stages with what is right.
func (v *verifier) checkStages() {
	v.checkStagesMemory()
	v.checkFrontierMark()
	var right []*partState // those that the plan lists
	reported := v.staging.followed && len(v.stages) > 0
	if reported {
		for _, p := range v.staging.parts {
			named := p.stage < len(v.stages) && p.of.Key == ""
			if named || p.nodes+p.unavailable+p.exempt+p.away+p.barred > 0 {
				right = append(right, p)
			}
		}
	}
	v.checkStale(reported)
	if len(v.plan.Parts) != len(right) {
		v.report(12, "", "T8: the plan lists %d parts, right are %d", len(v.plan.Parts), len(right))
		return
	}
	places := make(map[part]int32, len(right)) // from 1
	for i, p := range right {
		places[p.part] = int32(i + 1)
		v.checkPart(&v.plan.Parts[i], p)
	}
	gated := 0
	for _, d := range v.statements {
		v.checkGated(d, places)
		if v.isGated(d) {
			gated += d.weight
		}
	}
	v.checkGate(gated)
}

// checkPart compares what the plan says of a part with what is right. Which nodes others made unfit to be updated in place is
// found out only while none of the part is behind.
func (v *verifier) checkPart(is *rollout.PartState, p *partState) {
	want := rollout.PartState{
		Stage: p.of.Name, Key: p.of.Key, Value: p.value, Phase: p.phase, Nodes: int32(p.nodes),
		Held: int32(p.held + p.obstructed), Exempt: int32(p.exempt), Away: int32(p.away + p.barred),
		Settled: int32(p.settled), Unavailable: int32(p.unavailable), Behind: int32(p.behind),
	}
	if p.behind > 0 && is.Behind > 0 && int(is.Held) >= p.held+p.plainlyObstructed && is.Held+is.Behind == want.Held+want.Behind {
		want.Held, want.Behind = is.Held, is.Behind
	}
	same := is.Stage == want.Stage && is.Key == want.Key && is.Value == want.Value && is.Phase == want.Phase &&
		is.Nodes == want.Nodes && is.Held == want.Held && is.Exempt == want.Exempt && is.Away == want.Away &&
		is.Settled == want.Settled &&
		is.Unavailable == want.Unavailable && is.Behind == want.Behind
	if !same {
		v.report(12, "", "T8: part %+v, right is %+v", *is, want)
	}
	if !is.Done.Equal(p.done) || !is.Until.Equal(p.until) {
		v.report(12, "", "T8: part %q %q done at %s and until %s, right are %s and %s", is.Stage, is.Value, spelled(is.Done),
			spelled(is.Until), spelled(p.done), spelled(p.until))
	}
	if !slices.IsSorted(is.Blocking) || len(is.Blocking) > 5 {
		v.report(12, "", "T8: part %q %q names %q as blocking, right are at most five, by name", is.Stage, is.Value, is.Blocking)
	}
	for _, name := range is.Blocking {
		if node := v.nodeOf(name); node == nil || node.part != p.part || !v.blocks(node, p.phase) {
			v.report(12, name, "T8: named as a node that keeps part %q %q from being done, and does not", is.Stage, is.Value)
		}
	}
}

func spelled(at time.Time) string {
	if at.IsZero() {
		return "no time"
	}
	return at.UTC().Format(time.RFC3339Nano)
}

// blocks reports whether a node keeps its part, which is in that phase, from being done.
func (v *verifier) blocks(node *node, phase stage.Phase) bool {
	_, available := v.standsAtUpdate(node)
	run, silent := node.outcome == placement.Run, phase == stage.NoEvidence
	switch {
	case phase != stage.Open && !silent, run && !node.selected:
		return false
	case node.exempt || node.leftAlone || v.drainedBehind(node):
		return silent
	case run:
		return !available
	default:
		return node.unavailable || silent && (node.outcome == placement.Keep || node.tainted)
	}
}

// checkGated holds what a Decision says of its part to what is right.
func (v *verifier) checkGated(d statement, places map[part]int32) {
	closed := d.Limit == rollout.LimitStage || d.Limit == rollout.LimitSoak || d.Limit == rollout.LimitApproval
	place := int32(0)
	if closed && d.node != nil && d.Reason == rollout.ReasonGated {
		place = places[d.node.part]
	}
	switch {
	case d.Limit == rollout.LimitFailures && (d.node == nil || d.node.closed != d.Limit):
		v.report(12, d.Node, "F3: limit %s, right is another: %d nodes have failed, at most %d may", d.Limit, v.failed.nodes,
			v.failed.most)
	case d.Reason == rollout.ReasonGated && !closed && d.Limit != rollout.LimitDeparting && d.Limit != rollout.LimitDraining &&
		d.Limit != rollout.LimitFailures:
		v.report(12, d.Node, "T8: gated by %s, right is why its part is not open", d.Limit)
	case closed && d.node == nil:
		v.report(12, d.Node, "T8: limit %s of a stray pod", d.Limit)
	case closed && d.Limit != d.node.closed:
		v.report(12, d.Node, "T8: limit %s, right is %s: why its part is not open", d.Limit, d.node.closed)
	case d.Part != place:
		v.report(12, d.Node, "T8: waits for part %d, right is %d", d.Part, place)
	}
}

// checkStale compares the approvals that the plan calls stale with those that name another revision.
func (v *verifier) checkStale(reported bool) {
	var stale []stage.Approval
	for _, a := range v.spec.Strategy.Policy.Approved {
		if reported && !v.namesUpdate(a.Revision) {
			stale = append(stale, a)
		}
	}
	if !slices.Equal(v.plan.StaleApprovals, stale) {
		v.report(12, "", "T8: stale approvals are %v, right are %v", v.plan.StaleApprovals, stale)
	}
}

// checkStagesMemory holds what is remembered of stages to what is right.
func (v *verifier) checkStagesMemory() {
	is, right := v.plan.Memory.Rollout, v.staging.frontier
	if is.Frontier.Stage != right.Stage || is.Frontier.Value != right.Value || !is.Frontier.At.Equal(right.At) ||
		is.Frontier.Layout != right.Layout {
		v.report(12, "", "T8: memory has the frontier at part %q %q since %s, right is %q %q since %s", is.Frontier.Stage,
			is.Frontier.Value, spelled(is.Frontier.At), right.Stage, right.Value, spelled(right.At))
	}
}

// nodesAt counts by revision the nodes that are to run the pod, by the template, and have a live one of it.
func (v *verifier) nodesAt() map[string]int {
	on := make(map[string]int)
	for _, node := range v.nodes {
		if node.tried != placement.Run {
			continue
		}
		there := make(map[string]bool)
		for _, p := range node.pods {
			if p.active() && !there[p.hash] {
				there[p.hash] = true
				on[p.hash] += node.weight
			}
		}
	}
	return on
}

// isGated reports whether only the stages keep the outdated pod of a node at its revision.
func (v *verifier) isGated(d statement) bool {
	node := d.node
	return node != nil && node.closed != rollout.LimitNone && v.state(node) == rollout.StateOutdated &&
		v.holdsUpdate(node, nil) == rollout.LimitNone && d.Limit != rollout.LimitInPlaceOnly
}

// checkGate holds the status to how many nodes wait for their part, and for what the next part waits.
func (v *verifier) checkGate(gated int) {
	s, right := &v.plan.Status, status.ReasonNone
	for _, p := range v.staging.parts {
		switch {
		case p.phase == stage.Approving:
			right = status.ApprovalNeeded
		case p.phase == stage.NoEvidence:
			right = status.StageWithoutEvidence
		case p.phase == stage.Waiting && !p.until.IsZero():
			right = status.StageSoaking
		case p.phase != stage.Open:
			continue
		}
		break
	}
	waits := s.Reason == status.ApprovalNeeded || s.Reason == status.StageWithoutEvidence || s.Reason == status.StageSoaking
	if waits && (gated == 0 || s.Reason != right) {
		v.report(12, "", "T8: status.reason is %s, but %d nodes wait for their part", s.Reason, gated)
	}
	text := ""
	if gated > 0 {
		text = fmt.Sprintf(", %d kept waiting by the policy", gated)
	}
	for _, c := range s.Conditions {
		says := strings.Contains(c.Message, "kept waiting by the policy")
		if c.Type == status.ConditionProgressing && (says != (gated > 0) || !strings.Contains(c.Message, text)) {
			v.report(12, "", "T8: status says %q, but %d nodes wait for their part", c.Message, gated)
		}
	}
}
