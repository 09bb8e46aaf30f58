package rollout

import "time"

// What a plan says of a node: the verb, the reason, the limit behind it, and what is in the way of an update in place. The steps
// from repair on write it, of nodes that were not set aside.

// precedence decides which verb a decision shows if several things are done about its node: that of the highest precedence. What
// changes a node counts more than what leaves it as it is, and an update more than a repair.
var precedence = [verbs]uint8{
	VerbNone:    0,
	VerbWait:    1,
	VerbHold:    2,
	VerbPatch:   3,
	VerbDelete:  4,
	VerbCreate:  5,
	VerbPrepare: 6,
	VerbReplace: 7,
	VerbUpdate:  8,
	VerbSurge:   9,
}

// note records what is done about a node, unless something of the same or a higher precedence is recorded already.
func (r *run) note(i int32, verb Verb, reason Reason, p *pod) {
	d := r.decision(i)
	if precedence[verb] <= precedence[d.Verb] {
		return
	}
	d.Verb, d.Reason, d.Pod, d.Until = verb, reason, "", time.Time{}
	if p != nil {
		d.Pod = p.Name
	}
}

// noteWait records a wait and the limit behind it. If something of the same or a higher precedence is recorded already, that
// stays with its limit, unless it has none, or is a wait for the same reason: then the limit is this one.
func (r *run) noteWait(i int32, reason Reason, p *pod, limit Limit) {
	r.note(i, VerbWait, reason, p)
	d := r.decision(i)
	if d.Limit == LimitNone || d.Verb == VerbWait && d.Reason == reason {
		d.Limit = limit
	}
}

// refuse records that a limit kept an action from the plan.
func (r *run) refuse(i int32, p *pod, limit Limit) {
	r.noteWait(i, refusal(limit), p, limit)
}

func refusal(limit Limit) Reason {
	switch limit {
	case LimitFrozen:
		return ReasonFrozen
	case LimitDeparting:
		return ReasonDeparting
	case LimitSlowStart:
		return ReasonSlowStart
	default:
		return ReasonBurst
	}
}

// waitUntil records a wait that the clock ends; zero: it does not. Of several on one node the decision shows the end that comes
// first.
func (r *run) waitUntil(i int32, p *pod, reason Reason, limit Limit, until time.Time) {
	d := r.decision(i)
	r.noteWait(i, reason, p, limit)
	if d.Verb == VerbWait && d.Reason == reason && (d.Until.IsZero() || until.Before(d.Until)) {
		d.Until = until
	}
	r.wake(until)
}

// noteInPlace records in the node's decision, and in the plan's Diffs, what was found about its outdated pod.
func (r *run) noteInPlace(i int32, found inPlace) {
	if found == (inPlace{}) {
		return
	}
	d := r.decision(i)
	d.Obstruction = found.obstruction
	if found.detail != "" {
		if r.plan.Obstructions == nil {
			r.plan.Obstructions = make(map[string]string)
		}
		r.plan.Obstructions[d.Node] = found.detail
	}
	if found.change == nil {
		return
	}
	if found.change.listed == nil {
		n := &r.nodes[i]
		found.change.listed = &RevisionDiff{
			From: r.hashes[r.pods[n.outdatedPod].hash].value, To: r.goalHash(n), Update: found.change.update,
		}
		r.plan.Diffs = append(r.plan.Diffs, found.change.listed)
	}
	if !found.change.update.InPlace() {
		d.Diff = found.change.listed
	}
}
