package canary

import "time"

// decide finds how the trial stands at now, and brings the record up to now. Which of several facts decides is the order of
// find (C5).
func (t *trial) decide(record Record, now time.Time) (Finding, Record) {
	record = record.advance(&t.evidence, now)
	if t.unpause {
		record.Pause = nil
	}
	f := t.find(&record, now)
	switch {
	case f.Phase == Idle || f.Phase == Failed:
		f.At = now
	case f.Phase == Paused && f.Reason != ByCommand && record.Pause == nil:
		f.At = now
		record.Pause = &f
	case record.Pause != nil:
		record.Pause = clone(record.Pause) // that of the record before is the caller's
	}
	record.run(f.Phase == Running && !t.in.Halted, &t.evidence, now)
	return f, record
}

func (t *trial) find(record *Record, now time.Time) Finding {
	switch {
	case t.orders.fail:
		return Finding{Phase: Failed, Reason: ByCommand}
	case t.validate:
		return Finding{Phase: Idle, Reason: Validated}
	case t.broken != nil:
		return *t.broken
	case t.pause:
		return Finding{Phase: Paused, Reason: ByCommand}
	case record.Pause == nil && !t.in.Halted && t.passed(record, now):
		return Finding{Phase: Idle, Reason: Promoted}
	case t.restartsGoOn(record):
		return t.lastRestart()
	case t.autoFail && t.timeout != nil && now.Sub(record.Began) > *t.timeout:
		return Finding{Phase: Failed, Reason: TimedOut}
	case record.Pause != nil:
		f := *record.Pause
		f.Phase = Paused // whatever a record that was tampered with says
		return f
	}
	if f := t.trouble(now); f != nil {
		return *f
	}
	return Finding{Phase: Running, Reason: t.waitsFor(record, now)}
}

// passed reports whether the clock promotes the revision (C2).
func (t *trial) passed(record *Record, now time.Time) bool {
	return t.byClock && t.available && record.elapsed(now) >= t.duration && now.Sub(record.Disturbed) >= t.noRestarts
}

// restartsGoOn reports whether restarts went on for longer than MaxRestartsDuration (C4).
func (t *trial) restartsGoOn(record *Record) bool {
	return t.autoFail && t.restartsDuration != nil && !record.Restarting.IsZero() &&
		record.Restarted.Sub(record.Restarting) > *t.restartsDuration
}

// lastRestart is the finding for restarts that go on for too long, with the pod that restarted last, if it is still there.
func (t *trial) lastRestart() Finding {
	var last restart
	for _, r := range t.restarts {
		if r.at.After(last.at) && !r.update {
			last = r
		}
	}
	last.finding.Phase, last.finding.Reason = Failed, RestartsGoOn
	return last.finding
}

// trouble is the first reason for an automatic pause, nil if there is none (C3).
func (t *trial) trouble(now time.Time) *Finding {
	if t.unpause {
		return nil
	}
	for i := range t.troubles {
		if !now.Before(t.troubles[i].from) {
			return &t.troubles[i].finding
		}
	}
	return nil
}

// waitsFor is what a canary waits for that is neither paused nor over.
func (t *trial) waitsFor(record *Record, now time.Time) PhaseReason {
	switch {
	case len(t.names) == 0:
		return NoNodes
	case t.in.Halted:
		return Halted
	case !t.available:
		return Starting
	case !t.byClock:
		return AwaitingValidation
	case record.elapsed(now) < t.duration:
		return Observing
	default:
		return Settling
	}
}

// until is the earliest instant at which the clock can promote the revision (C2): when it has run for the duration, and the
// last disturbance is long enough ago. The record is that which decide returned. The zero time means that there is no such
// instant, for example while a failed pod disturbs the canary for as long as it is there.
func (t *trial) until(f Finding, record Record) time.Time {
	ends := t.clockEnds(record)
	switch {
	case f.Reason != Observing && f.Reason != Settling || ends.IsZero():
		return time.Time{}
	case t.noRestarts == 0:
		return ends
	case t.disturbing:
		return time.Time{}
	default:
		return later(ends, t.settled(record))
	}
}

// clockEnds is when the clock will have run for the duration; zero: the clock does not run.
func (t *trial) clockEnds(record Record) time.Time {
	if record.Since.IsZero() {
		return time.Time{}
	}
	return record.Since.Add(t.duration - record.Elapsed)
}

// settled is when the last disturbance will be long enough ago. A restart that the kubelet dates ahead of now will have
// been the last disturbance by then.
func (t *trial) settled(record Record) time.Time {
	disturbed := record.Disturbed
	for _, r := range t.restarts {
		disturbed = later(disturbed, r.at)
	}
	return disturbed.Add(t.noRestarts)
}

// instants are the instants at which a time runs out, so that the finding may change. One of them is for restarts that the
// kubelet dates ahead of now: they may have gone on for too long by then. Troubles count in their order up to the first that
// holds already, which hides the others.
func (t *trial) instants(record Record) []time.Time {
	instants := []time.Time{t.clockEnds(record), t.settled(record)}
	if t.timeout != nil {
		instants = append(instants, record.Began.Add(*t.timeout).Add(1)) // strictly longer fails
	}
	if t.restartsDuration != nil {
		instants = append(instants, record.Restarting.Add(*t.restartsDuration).Add(1))
	}
	var soonest time.Time
	for i := range t.troubles {
		from := t.troubles[i].from
		if !from.After(t.in.Now) {
			break
		}
		if soonest.IsZero() || from.Before(soonest) {
			soonest = from
		}
	}
	return append(instants, soonest)
}

// wake is the first instant after now at which the finding changes with one of the records that the next judgement may be
// given; zero if it never changes. Each record is a function of the instant of the judgement, because the record of a canary
// that begins depends on it.
func (t *trial) wake(f Finding, records ...func(time.Time) Record) time.Time {
	f.At = time.Time{}
	var wake time.Time
	for _, record := range records {
		now := record(t.in.Now)
		// What the pods add to the record counts from now on. What the record says of the future counts from then on.
		for _, at := range append(t.instants(now), t.instants(now.advance(&t.evidence, t.in.Now))...) {
			if !at.After(t.in.Now) || !wake.IsZero() && !at.Before(wake) {
				continue
			}
			then, _ := t.decide(record(at), at)
			if then.At = (time.Time{}); then != f {
				wake = at
			}
		}
	}
	return wake
}
