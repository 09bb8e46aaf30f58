package canary_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/daemonplan/daemonplan/rollout/canary"
)

// looks is a canary whose pods are looked at again and again, with a record that may say anything of before.
type looks struct {
	Limit time.Duration
	// Began, Restarting and Restarted are of the record, before noon; negative: not on it.
	Began, Restarting, Restarted time.Duration
	// After is how long after noon each look is, and Ended what the containers then say about their last end, by pod.
	After []time.Duration
	Ended [][2][2]time.Duration
}

func anyLooks() *rapid.Generator[looks] {
	ago := rapid.SampledFrom([]time.Duration{-1, 0, 1, time.Minute, 2 * time.Minute, 5 * time.Minute, 9 * time.Minute, 20 * time.Minute})
	return rapid.Custom(func(t *rapid.T) looks {
		l := looks{
			Limit: rapid.SampledFrom([]time.Duration{0, time.Minute, 3 * time.Minute, 15 * time.Minute}).Draw(t, "limit"),
			Began: ago.Draw(t, "began"), Restarting: ago.Draw(t, "restarting"), Restarted: ago.Draw(t, "restarted"),
		}
		var after time.Duration
		for range rapid.IntRange(1, 4).Draw(t, "looks") {
			after += rapid.SampledFrom([]time.Duration{0, time.Second, time.Minute, 4 * time.Minute}).Draw(t, "after")
			l.After = append(l.After, after)
			var ended [2][2]time.Duration
			for i := range ended {
				for k := range ended[i] {
					// As long before the look, or, with a clock that is ahead, after it.
					ended[i][k] = after - ago.Draw(t, "ended") + rapid.SampledFrom([]time.Duration{0, 0, 2 * time.Minute}).Draw(t, "ahead")
				}
			}
			l.Ended = append(l.Ended, ended)
		}
		return l
	})
}

// onRecord is an instant on record; zero: none.
func onRecord(before time.Duration) time.Time {
	if before < 0 {
		return time.Time{}
	}
	return ago(before)
}

// begin is the input of the look before the first.
func (l looks) begin() (canary.Options, canary.Input) {
	o, in := watched()
	o.AutoFail = canary.AutoFail{MaxRestartsDuration: &l.Limit, MaxRestarts: new(int32(100))}
	o.AutoPause.Disabled, o.Mode, o.Duration, o.NoRestartsDuration = true, canary.Manual, nil, nil
	in.Now = noon()
	in.Record.Began, in.Record.Restarting, in.Record.Restarted = onRecord(l.Began), onRecord(l.Restarting), onRecord(l.Restarted)
	return o, in
}

// show is what a look sees.
func (l looks) show(in *canary.Input, i int) {
	in.Now = noon().Add(l.After[i])
	in.Nodes = nil
	for k, ended := range l.Ended[i] {
		in.Nodes = append(in.Nodes, good(string(rune('a'+k)),
			created(noon().Add(time.Hour)), restarted("agent", 1, noon().Add(ended[0]), ""), restarted("trace", 2, noon().Add(ended[1]), "")))
	}
}

// checkRestarts holds that restarts go on from the first to the last that is on record or was seen, those of before the canary
// left out, in whatever order they become known; and that the canary fails as soon as that is for too long, and not before (C4).
func checkRestarts(judge judger, l looks) string {
	o, in := l.begin()
	began := in.Record.Began
	var known []time.Time
	for _, at := range []time.Time{in.Record.Restarting, in.Record.Restarted} {
		if !at.IsZero() {
			known = append(known, at)
		}
	}
	for i := range l.After {
		l.show(&in, i)
		if began.IsZero() {
			began = in.Now
		}
		for _, ended := range l.Ended[i] {
			for _, at := range ended {
				known = append(known, noon().Add(at))
			}
		}
		for k, at := range known {
			if at.After(in.Now) {
				known[k] = in.Now // a clock that is ahead
			}
		}
		known = slices.DeleteFunc(known, func(at time.Time) bool { return at.Before(began) })
		var from, until time.Time
		if len(known) > 0 {
			from, until = slices.MinFunc(known, time.Time.Compare), slices.MaxFunc(known, time.Time.Compare)
		}
		j := judge(o, in)
		if failed := j.Phase == canary.Failed; failed != (until.Sub(from) > l.Limit) {
			return fmt.Sprintf("look %d: failed %v, but restarts went on for %v of %v", i, failed, until.Sub(from), l.Limit)
		} else if failed {
			return ""
		}
		if r := j.Record; !r.Restarting.Equal(from) || !r.Restarted.Equal(until) {
			return fmt.Sprintf("look %d: restarts go on from %v to %v, right is from %v to %v", i, r.Restarting, r.Restarted, from, until)
		}
		in.Record = j.Record
	}
	return ""
}

func TestJudgeRestartsGoOn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		if wrong := checkRestarts(canary.Judge, anyLooks().Draw(t, "looks")); wrong != "" {
			t.Fatal(wrong)
		}
	})
}
