package recount_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// endings are how runs end, in the order in which they are listed.
var endings = []string{"done", butBefore, "given up", "replaced", "stuck", "time is up"}

const butBefore = "done but for nodes down before"

// column is what was counted for one spec: in each of its runs, the first one first.
type column struct {
	label string
	runs  []*counted
}

func each[T any](c column, of func(*counted) T) []T {
	var list []T
	for _, run := range c.runs {
		list = append(list, of(run))
	}
	return list
}

// cell is what a row of the table has to show for a spec; false: the row is not known.
func (c column) cell(name string) (string, bool) {
	first := c.runs[0]
	times := func(of func(*counted) time.Duration) (string, bool) { return over(each(c, of), clock), true }
	number := func(one string, of func(*counted) int) (string, bool) {
		return over(each(c, of), func(n int) string { return some(n, one) }), true
	}
	bytes := func(of func(*counted) int64) (string, bool) { return over(each(c, of), size), true }
	var percent int
	if _, err := fmt.Sscanf(name, "time to %d %%", &percent); err == nil {
		return times(func(r *counted) time.Duration { return r.reached(percent) })
	}
	if key, found := strings.CutSuffix(strings.TrimSpace(name), " at once"); found {
		return number("value", func(r *counted) int { return r.atOnce[key] })
	}
	if key, found := strings.CutPrefix(name, "  most in one "); found {
		return c.worst(key), true
	}
	switch strings.TrimSpace(name) {
	case "ends":
		return c.ends(), true
	case "waves":
		return number("wave", func(r *counted) int { return r.highestWave })
	case "peak unavailable nodes":
		return number("node", func(r *counted) int { return r.peak })
	case "beside those down before":
		return number("node", func(r *counted) int { return r.peakBeside })
	case "time without a serving pod":
		return c.atLeast(func(n *watched) bool { return true }) + over(each(c, func(r *counted) time.Duration { return r.downTime }), nodeMinutes), true
	case "beside nodes down before":
		return c.atLeast(beside) + over(each(c, func(r *counted) time.Duration { return r.downTimeBeside }), nodeMinutes), true
	case "every node serves from":
		return times(func(r *counted) time.Duration {
			if r.anyDown {
				return never
			}
			return r.allServeFrom
		})
	case "nodes that broke":
		return nodes(first.number(func(n *watched) bool { return n.broke })), true
	case "budget used":
		limit := first.atPeak
		if first.budgetPeak == 0 {
			limit = first.limit
		}
		return fmt.Sprintf("%s of %s, mean %.1f nodes", grouped(first.budgetPeak), nodes(limit), first.meanUsed()), true
	case "pods created":
		return number("pod", func(r *counted) int { return r.created })
	case "API calls":
		return number("call", func(r *counted) int { return r.calls })
	case "failed":
		return number("call", func(r *counted) int { return r.failedCalls })
	case "pulled from the registry":
		return bytes(func(r *counted) int64 { return r.pulled })
	case "from peers":
		return bytes(func(r *counted) int64 { return r.fromPeers })
	case "container restarts":
		return number("restart", func(r *counted) int { return r.restarts })
	case "crashes":
		return some2(each(c, func(r *counted) int { return r.crashes }), "crash", "crashes"), true
	case "controller crashes":
		return some2(each(c, func(r *counted) int { return r.controllerCrashes }), "crash", "crashes"), true
	case "canary":
		return c.canary(), true
	case "stages done":
		return c.stagesDone(), true
	case "nodes that failed":
		return c.failedNodes(), true
	case "in quarantine":
		return number("node", func(r *counted) int { return r.failed.away })
	case "given up":
		return c.gaveUp(), true
	case "longest wait":
		return c.longestWait(), true
	case "nodes with the new version":
		return c.versionNodes(), true
	case "ever given a pod of it":
		return number("node", func(r *counted) int { return r.given })
	}
	return c.stageRow(strings.TrimSpace(name))
}

// longestWait is what nodes waited for, after the rate of calls if that was waited for most of the time.
func (c column) longestWait() string {
	text := "-"
	if what, lasted := longestWait(c.runs); what != "" {
		text = what + ": " + nodeMinutes(lasted)
	}
	var limited, all time.Duration
	for _, run := range c.runs {
		limited += run.rateLimited
		if run.ended == "done" {
			all += run.last
		} else {
			all += run.end
		}
	}
	if 2*limited <= all {
		return text
	}
	return strings.TrimSuffix(fmt.Sprintf("callsPerSecond for %d %% of the time, then %s", 100*limited/all, text), ", then -")
}

// beside reports whether a node was not down before the run.
func beside(n *watched) bool { return !n.downBefore }

// atLeast is put before a time for which nodes were down if such nodes still are at the end of any run.
func (c column) atLeast(such func(*watched) bool) string {
	if slices.ContainsFunc(c.runs, func(r *counted) bool {
		return r.number(func(n *watched) bool { return down[n.state] && such(n) }) > 0
	}) {
		return "at least "
	}
	return ""
}

func some2(values []int, one, many string) string {
	return over(values, func(n int) string {
		if n == 1 {
			return "1 " + one
		}
		return grouped(n) + " " + many
	})
}

// ends lists how the runs ended, with the numbers of runs if they ended differently.
func (c column) ends() string {
	counts := make(map[string]int)
	for _, run := range c.runs {
		counts[run.ending()]++
	}
	if len(counts) == 1 {
		return c.runs[0].ending()
	}
	var parts []string
	for _, ending := range endings {
		if counts[ending] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", counts[ending], ending))
		}
	}
	return strings.Join(parts, ", ")
}

// worst is the zone, or the value of a label, with most nodes down at one time in any run.
func (c column) worst(key string) string {
	best := place{}
	zones := make(map[string]bool)
	for _, run := range c.runs {
		if key != "zone" {
			if p := run.keyPeak[key]; p.down > best.down {
				best = p
			}
			continue
		}
		for _, n := range run.list {
			zones[n.zone] = true
		}
		for _, zone := range slices.Sorted(maps.Keys(run.zonePeak)) {
			if peak := run.zonePeak[zone]; peak > best.down {
				of := run.number(func(n *watched) bool { return n.state != "" && n.zone == zone })
				best = place{zone, peak, of}
			}
		}
	}
	if best.down == 0 || key == "zone" && len(zones) < 2 {
		return "-"
	}
	return fmt.Sprintf("%s of %s in %s", grouped(best.down), nodes(best.of), best.name)
}

// canary says how the canary of a spec ended, in words if that is the same in all runs.
func (c column) canary() string {
	var texts, words []string
	for _, run := range c.runs {
		t := &run.trial
		text, word := "none", "none"
		on := " on " + nodes(t.nodes)
		switch {
		case t.promoted > 0:
			text, word = "promoted after "+clock(t.promoted)+on, "promoted"
		case run.canaryFailed():
			text, word = "failed after "+clock(t.failed)+on+": "+t.reason, "failed"
		case t.phase == "Running" || t.phase == "Paused":
			word = strings.ToLower(t.phase)
			text = word + on + ": " + t.reason
		}
		texts, words = append(texts, text), append(words, word)
	}
	if len(slices.Compact(slices.Sorted(slices.Values(texts)))) == 1 {
		return texts[0]
	}
	var parts []string
	for _, word := range []string{"promoted", "failed", "paused", "running", "none"} {
		n := 0
		for _, w := range words {
			if w == word {
				n++
			}
		}
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, word))
		}
	}
	return strings.Join(parts, ", ")
}

func (c column) stagesDone() string {
	all, done := 0, 0
	for _, p := range c.runs[0].partsNow() {
		if p.phase == "Skipped" {
			continue
		}
		if all++; p.phase == "Done" || p.phase == "Soaking" {
			done++
		}
	}
	if all == 0 {
		return "-"
	}
	return fmt.Sprintf("%d of %s", done, some(all, "part"))
}

// stageRow is the row of a part of a stage: when it was opened, and how much later it was done.
func (c column) stageRow(name string) (string, bool) {
	var opened, took []time.Duration
	known, skipped := false, false
	for _, run := range c.runs {
		for _, p := range run.partsNow() {
			stage, value, _ := strings.Cut(p.name, "/")
			key, value, _ := strings.Cut(value, "=")
			written := cmp.Or(stage, "all other nodes")
			switch {
			case key != "" && value != "":
				written += " (" + value + ")"
			case key != "":
				written += " (no " + key + ")"
			}
			if written != name {
				continue
			}
			known = true
			if p.phase == "Skipped" {
				skipped = true
				continue
			}
			opened = append(opened, p.opened)
			if p.opened == never || p.done == never {
				took = append(took, never)
			} else {
				took = append(took, p.done-p.opened)
			}
		}
	}
	switch {
	case !known:
		return "-", name != ""
	case len(opened) == 0 && skipped:
		return "skipped", true
	case slices.Min(opened) == never:
		return "never opened", true
	case slices.Min(took) == never:
		return "opened " + over(opened, clock) + ", never done", true
	}
	return "opened " + over(opened, clock) + ", done " + over(took, clock) + " later", true
}

// anyFailed reports whether the version failed on a node in any run.
func (c column) anyFailed() bool {
	return slices.ContainsFunc(c.runs, func(r *counted) bool { return r.failed.revision != "" })
}

func (c column) failedNodes() string {
	if !c.anyFailed() {
		return "-"
	}
	return "at most " + over(each(c, func(r *counted) int { return r.failed.peak }), nodes) + " at once"
}

// gaveUp is when failures gave the version up, in the runs in which they did.
func (c column) gaveUp() string {
	var after []time.Duration
	for _, run := range c.runs {
		if run.failed.gaveUp != "" {
			after = append(after, run.failed.gaveUpAt)
		}
	}
	switch {
	case len(after) == 0:
		return "-"
	case len(after) < len(c.runs):
		return fmt.Sprintf("in %d of %s after %s", len(after), some(len(c.runs), "run"), over(after, clock))
	}
	return "after " + over(after, clock)
}

// versionNodes is how many nodes have the new version in the run in which most lack it.
func (c column) versionNodes() string {
	worst := c.runs[0]
	for _, run := range c.runs {
		if run.desired()-run.having > worst.desired()-worst.having {
			worst = run
		}
	}
	text := fmt.Sprintf("%s of %s", grouped(worst.having), nodes(worst.desired()))
	if worst.replaced() && worst.mostHad > worst.having {
		text += ", at most " + nodes(worst.mostHad)
	}
	return text
}

// story is the sentence above the table about a spec.
func (c column) story() string {
	var parts []string
	for _, ending := range endings {
		var runs []*counted
		for _, run := range c.runs {
			if run.ending() == ending {
				runs = append(runs, run)
			}
		}
		if len(runs) == 0 {
			continue
		}
		text := column{c.label, runs}.storyOf(ending)
		if len(runs) < len(c.runs) {
			text = fmt.Sprintf("in %d of %d runs %s", len(runs), len(c.runs), text)
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "; ") + "."
}

// storyOf is the story of runs that ended in the same way. Numbers of nodes are those of the first of them.
func (c column) storyOf(ending string) string {
	first := c.runs[0]
	desired := first.desired()
	when := func(of func(*counted) time.Duration) string {
		values := each(c, of)
		if len(values) == 1 {
			return clock(values[0])
		}
		return fmt.Sprintf("%s in half of the runs and %s in nine of ten", clock(middle(values, 50)), clock(middle(values, 90)))
	}
	switch ending {
	case "done":
		after := when(func(r *counted) time.Duration { return r.last })
		if first.having < desired {
			return fmt.Sprintf("the new version is on %s of %s after %s, and the spec leaves the others as they are",
				grouped(first.having), nodes(desired), after)
		}
		return fmt.Sprintf("the new version is on all %s after %s", nodes(desired), after)
	case "given up":
		given := fmt.Sprintf("%s of %s were given it, %s never", grouped(first.given), nodes(desired), grouped(desired-first.given))
		if first.failed.gaveUp == "" {
			return fmt.Sprintf("the canary gave the new version up after %s (%s): %s",
				when(func(r *counted) time.Duration { return r.trial.failed }), first.trial.reason, given)
		}
		text := fmt.Sprintf("the new version was given up after %s, because it had failed on %s, and %d might: %s",
			when(func(r *counted) time.Duration { return r.failed.gaveUpAt }), nodes(first.failed.peak), first.failed.might, given)
		back := each(c, func(r *counted) time.Duration {
			if r.backAt == never {
				return never
			}
			return r.backAt - r.failed.gaveUpAt
		})
		if !slices.Contains(back, never) {
			text += "; all were back after " + over(back, clock) + " more"
		}
		return text
	case "replaced":
		text := fmt.Sprintf("another version replaced the new one after %s: %s of %s had been given it by then",
			when(func(r *counted) time.Duration { return r.replacedAt }), grouped(first.given), nodes(desired))
		if all := first.reached(100); all != never {
			text += ", all after " + clock(all)
		}
		return text
	case butBefore:
		left := some(first.left(), "node that was")
		if first.left() != 1 {
			left = grouped(first.left()) + " nodes that were"
		}
		return fmt.Sprintf("complete but for %s down before: the new version is on %s of %s after %s", left, grouped(first.having),
			nodes(desired), when(func(r *counted) time.Duration { return r.lastArrival }))
	case "time is up":
		return fmt.Sprintf("not done after %s: %s of %s have the new version", clock(first.end), grouped(first.having), nodes(desired))
	}
	return "(the story of runs that are " + ending + " is not counted)"
}

// compared is a line about all specs.
type compared struct {
	about  string
	values []time.Duration // or numbers of nodes
	labels []string
	shown  []string
}

// contrasts are the lines below the stories: which spec is better at what.
func contrasts(columns []column) []verdict {
	var lines []verdict
	someDone := slices.ContainsFunc(columns, func(c column) bool { return !c.unfinished() })
	before := false
	besides := ""
	if slices.ContainsFunc(columns, column.hadNodesDown) {
		besides = ", beside those that were down before"
	}
	measures := []struct {
		about string
		show  func(time.Duration) string
		of    func(*counted) time.Duration
		done  bool
	}{
		{"Time until every node is updated", clock, func(r *counted) time.Duration { return r.last }, true},
		{"Time until 90 % of the nodes are updated", clock, func(r *counted) time.Duration { return r.reached(90) }, true},
		{"Most nodes down at once" + besides, func(n time.Duration) string { return nodes(int(n)) },
			func(r *counted) time.Duration { return time.Duration(r.peakBeside) }, false},
		{"Time without a serving pod, summed over nodes" + besides, nodeMinutes,
			func(r *counted) time.Duration { return r.downTimeBeside }, false},
	}
	for i, m := range measures {
		line := compared{about: m.about}
		for _, c := range columns {
			if someDone && c.unfinished() || m.done && c.ends() != "done" {
				continue
			}
			value := middle(each(c, m.of), 50)
			shown := m.show(value)
			if i == 3 {
				shown = c.atLeast(beside) + shown
			}
			line.labels, line.values, line.shown = append(line.labels, c.label), append(line.values, value), append(line.shown, shown)
		}
		if len(line.values) < 2 {
			continue
		}
		tie := near(slices.Min(line.values), slices.Max(line.values))
		if show := i != 1 || before && !tie; show {
			lines = append(lines, verdict{about: line.about, text: line.words()})
		}
		before = tie
	}
	return lines
}

// unfinished reports whether a run of the spec did not come to its end.
func (c column) unfinished() bool {
	return slices.ContainsFunc(c.runs, func(r *counted) bool { return r.ending() == "stuck" || r.ending() == "time is up" })
}

// hadNodesDown reports whether nodes were down before any run of the spec.
func (c column) hadNodesDown() bool {
	return slices.ContainsFunc(c.runs, func(r *counted) bool {
		return r.peak != r.peakBeside || r.downTime != r.downTimeBeside
	})
}

// words says which is least and most.
func (l compared) words() string {
	order := make([]int, len(l.values))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(l.values[a], l.values[b]) })
	least, most := order[0], order[len(order)-1]
	var best []string
	for _, i := range order {
		if near(l.values[least], l.values[i]) {
			best = append(best, l.labels[i])
		}
	}
	low, high := l.shown[least], l.shown[most]
	switch {
	case low == high:
		return fmt.Sprintf("the same with all (%s).", low)
	case len(best) == len(order):
		return fmt.Sprintf("less than 5 %% apart (%s with %s, %s with %s).", low, l.labels[least], high, l.labels[most])
	case len(best) > 1:
		return fmt.Sprintf("least with %s (from %s on, less than 5 %% apart), most with %s (%s).", strings.Join(best, " and "), low,
			l.labels[most], high)
	}
	return fmt.Sprintf("least with %s (%s), most with %s (%s).", l.labels[least], low, l.labels[most], high)
}

// gate is what --fail-if says of a spec if it compares this; "": nothing is known of it.
func (c column) gate(metric string) string {
	besides := ""
	if c.hadNodesDown() {
		besides = ", beside those that were down before"
	}
	most := func(of func(*counted) int) (int, string) {
		n, share := slices.Max(each(c, of)), 0.
		for _, run := range c.runs {
			share = max(share, 100*float64(of(run))/float64(max(run.desired(), 1)))
		}
		return n, strings.TrimSuffix(fmt.Sprintf("%.1f", share), ".0")
	}
	verb := func(n int, one, many string) string {
		if n == 1 {
			return "1 " + one
		}
		return grouped(n) + " " + many
	}
	all := "every node"
	durations := each(c, func(r *counted) time.Duration {
		switch r.ending() {
		case "done":
			return r.last
		case butBefore:
			all = "every node that can be reached"
			return r.lastArrival
		}
		return never
	})
	switch metric {
	case "peak":
		n, share := most(func(r *counted) int { return r.peakBeside })
		return fmt.Sprintf("at most %s down at once (%s %%)%s", verb(n, "node is", "nodes are"), share, besides)
	case "down":
		n, share := most(func(r *counted) int { return r.peak })
		return fmt.Sprintf("at most %s down at once (%s %%), with those that were down before", verb(n, "node is", "nodes are"), share)
	case "duration":
		return "the longest run until " + all + " is updated: " + clock(slices.Max(durations))
	case "p50":
		return "half of the runs until " + all + " is updated: " + clock(middle(durations, 50))
	case "p90":
		return "nine of ten runs until " + all + " is updated: " + clock(middle(durations, 90))
	case "stuck":
		n := 0
		for _, run := range c.runs {
			if run.ending() == "stuck" {
				n++
			}
		}
		return fmt.Sprintf("%d of %s stuck", n, verb(len(c.runs), "run is", "runs are"))
	case "left":
		n, share := most(func(r *counted) int {
			if r.ended != "stuck" && r.ended != "limit" {
				return 0
			}
			return r.left()
		})
		return fmt.Sprintf("at most %s left without the new version (%s %%)", verb(n, "node is", "nodes are"), share)
	case "violations":
		return fmt.Sprintf("0 of %s an invariant", verb(len(c.runs), "run broke", "runs broke"))
	}
	return ""
}

// causes are the objections to the causes for which nodes are left: all of them together are those that are left.
func (c column) causes(lines []string) []string {
	i := slices.IndexFunc(c.runs, func(r *counted) bool {
		return slices.Contains([]string{butBefore, "stuck", "time is up"}, r.ending()) && r.left() > 0
	})
	sum, want := 0, 0
	if i >= 0 {
		want = c.runs[i].left()
	}
	for _, line := range lines {
		number, _, _ := strings.Cut(line, " ")
		n, err := strconv.Atoi(strings.ReplaceAll(number, ",", ""))
		if err != nil {
			return []string{fmt.Sprintf("cause of %s: %q does not begin with a number of nodes", c.label, line)}
		}
		sum += n
	}
	if sum != want {
		return []string{fmt.Sprintf("causes of %s: the page says that %d nodes are left, the history %d", c.label, sum, want)}
	}
	return nil
}

// outage is a row of the table of nodes that were down longest.
type outage struct {
	node, total, longest, zone string
	lasted                     time.Duration
}

// longestDown are the nodes that were down longest in all, at most ten.
func (c *counted) longestDown() []outage {
	var list []outage
	for _, n := range c.list {
		if o, was := n.longest(c.end); was {
			list = append(list, o)
		}
	}
	slices.SortFunc(list, func(a, b outage) int {
		return cmp.Or(cmp.Compare(b.lasted, a.lasted), strings.Compare(a.node, b.node))
	})
	return list[:min(len(list), 10)]
}

// longest is how long a node was down in all, and its longest outage.
func (n *watched) longest(end time.Duration) (outage, bool) {
	o := outage{node: n.name, zone: n.zone}
	var from, bestFrom, bestTo time.Duration
	bestOver := false
	before := false
	for i, s := range n.course {
		to := end
		over := i+1 < len(n.course)
		if over {
			to = n.course[i+1].at
		}
		if !down[s.state] {
			before = false
			continue
		}
		if !before {
			from, before = s.at, true
		}
		o.lasted += to - s.at
		if to-from > bestTo-bestFrom {
			bestFrom, bestTo, bestOver = from, to, over
		}
	}
	o.total = clock(o.lasted)
	if before { // it is down at the end
		o.total = "at least " + o.total
	}
	first, last := clock(bestFrom), clock(bestTo)
	o.longest = fmt.Sprintf("%s, from %s to %s", clock(bestTo-bestFrom), first, last)
	if first == last {
		o.longest = fmt.Sprintf("%s, after %s", clock(bestTo-bestFrom), first)
	}
	if !bestOver {
		o.longest = fmt.Sprintf("at least %s, from %s on, still down", clock(bestTo-bestFrom), first)
	}
	return o, o.lasted > 0
}
