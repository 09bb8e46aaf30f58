package simulation

import (
	"fmt"
	"slices"
	"time"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/text"
	"github.com/daemonplan/daemonplan/rollout/simulate"
)

// releases are the versions that a run works towards, one after the other. A run of a year has many, and what became of the first
// is of no interest there: an operator wants to know how far behind the nodes are.
type releases struct {
	// List has them in order of time.
	List []release
	// Behind is for how long nodes did not serve with the version in force, in all.
	Behind time.Duration

	desired, have int           // nodes that are to run the pod, and those that serve with the version in force
	since         time.Duration // the instant of the last record
}

// release is a version in force.
type release struct {
	Hash string
	At   time.Duration
	// Arrived is when so many nodes had it that it counts as being everywhere; negative: another one came before that.
	Arrived time.Duration
}

// everywhere is the share of the nodes, in percent, that has a release when it has arrived: in a large fleet a node is always
// down.
const everywhere = 99

// record takes note of a record of the run.
func (l *releases) record(r simulate.Record) {
	switch r.Kind {
	case simulate.Planned:
		l.until(r.At)
		if n := len(l.List); n == 0 || l.List[n-1].Hash != r.Revision {
			l.List = append(l.List, release{Hash: r.Revision, At: r.At, Arrived: -1})
		}
	case simulate.NodeChanged:
		l.until(r.At)
		l.desired += one(r.To > simulate.NodeOutside) - one(r.From > simulate.NodeOutside)
		l.have += one(r.To == simulate.NodeNew) - one(r.From == simulate.NodeNew)
	default: // says nothing of releases
	}
}

// until goes on to an instant. What was so after all records of the last one was so until then.
func (l *releases) until(at time.Duration) {
	if at == l.since {
		return
	}
	if n := len(l.List); n > 0 {
		l.Behind += time.Duration(l.desired-l.have) * (at - l.since)
		if last := &l.List[n-1]; last.Arrived < 0 && l.desired > 0 && l.have*100 >= l.desired*everywhere {
			last.Arrived = l.since
		}
	}
	l.since = at
}

// many reports whether a run is about releases, and not about one and perhaps its replacement.
func (l *releases) many() bool { return len(l.List) > 2 }

// overlapped is how many releases were replaced before they were everywhere. The last one may still be under way.
func (l *releases) overlapped() int {
	n := 0
	for _, r := range l.List[:max(len(l.List)-1, 0)] {
		n += one(r.Arrived < 0)
	}
	return n
}

// arrivals are how long releases took to be everywhere, sorted.
func (l *releases) arrivals() []float64 {
	var list []float64
	for _, r := range l.List {
		if r.Arrived >= 0 {
			list = append(list, float64(r.Arrived-r.At))
		}
	}
	slices.Sort(list)
	return list
}

// releases adds lines about releases, if a run has many.
func (t *comparison) releases() {
	if !slices.ContainsFunc(t.outcomes, func(o *outcome) bool { return o.Traces[0].Releases.many() }) {
		return
	}
	t.line("releases", func(o *outcome) string {
		l := &o.Traces[0].Releases
		return fmt.Sprintf("%s, %d replaced before %d %%", text.Counted(len(l.List), "release"), l.overlapped(), everywhere)
	})
	t.line(fmt.Sprintf("  time to %d %% of the nodes", everywhere), func(o *outcome) string {
		list := o.Traces[0].Releases.arrivals()
		if len(list) == 0 {
			return "never"
		}
		return fmt.Sprintf("half in %s, all in %s", asDuration(quantile(list, 0.5)), asDuration(list[len(list)-1]))
	})
	t.line("  nodes behind", (*outcome).behind)
	t.line(fmt.Sprintf("  time with %d %% of the nodes down", atRisk), func(o *outcome) string {
		return asDuration(float64(o.Traces[0].risky(o.Reports[0].Elapsed)))
	})
}

// atRisk is the share of the nodes, in percent, that are down when an operator worries.
const atRisk = 1

// risky is for how long so many nodes were down.
func (t *trace) risky(end time.Duration) time.Duration {
	var total time.Duration
	points := t.Series.Points
	for i := range points {
		until := end
		if i+1 < len(points) {
			until = points[i+1].At
		}
		if p := &points[i]; p.Unavailable() > 0 && p.Unavailable()*100 >= p.Desired()*atRisk {
			total += until - p.At
		}
	}
	return total
}

// behind is for how long nodes did not serve with the version in force, in all, in the first run.
func (o *outcome) behind() string {
	return asMinutes(o.Traces[0].Releases.Behind.Hours()) + " node-hours"
}

// releasesStory says in a sentence what became of the releases of the first run.
func (o *outcome) releasesStory() string {
	l, r := &o.Traces[0].Releases, &o.Reports[0]
	story := fmt.Sprintf("%s in %s", text.Counted(len(l.List), "release"), asDuration(float64(r.Elapsed)))
	if list := l.arrivals(); len(list) > 0 {
		story += fmt.Sprintf(", on %d %% of the nodes after %s in half of them, and after %s at most", everywhere,
			asDuration(quantile(list, 0.5)), asDuration(list[len(list)-1]))
	}
	if n := l.overlapped(); n > 0 {
		story += fmt.Sprintf("; %d were replaced before they were", n)
	}
	return fmt.Sprintf("%s; nodes did not serve with the newest for %s in all", story, o.behind())
}
