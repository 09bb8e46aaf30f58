package simulate

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
)

// String returns the report as lines of text for people, without a line end after the last one. Durations are rounded, to
// milliseconds below a minute and to seconds from there on. Lines about things that did not occur are left out.
func (r Report) String() string {
	lines := []string{fmt.Sprintf("%s, seed %d: %s", r.Name, r.Seed, r.outcome())}
	add := func(title, format string, args ...any) {
		lines = append(lines, fmt.Sprintf("  %-13s", title)+fmt.Sprintf(format, args...))
	}
	add("nodes", "%d, %d to run the pod, %d of them updated", r.Nodes, r.Desired, r.Updated)
	if len(r.Reached) > 0 {
		add("reached", "%s", r.reachedText())
	}
	add("waves", "%d", r.Waves)
	add("unavailable", "%s", r.Unavailable)
	if len(r.Zones) > 1 {
		for _, z := range r.Zones {
			add("", "zone %q of %d: %s", z.Zone, z.Nodes, z.Unavailable)
		}
	}
	add("budget", "%s", r.Budget)
	add("pods", "created %d, deleted %d, patched %d", r.Created, r.Deleted, r.Patched)
	add("calls", "%d of %d plans, %d failed", r.Calls, r.Plans, r.FailedCalls)
	if r.PulledBytes+r.PeerBytes > 0 || r.Pulls > 0 {
		add("images", "%s from the registry, %s from peers, %d pulls ahead",
			byteSize(r.PulledBytes), byteSize(r.PeerBytes), r.Pulls)
	}
	if r.Restarts+r.ControllerCrashes > 0 {
		add("restarts", "%d, %d of them after crashes; the controller crashed %d times",
			r.Restarts, r.Crashes, r.ControllerCrashes)
	}
	if r.Canary.ran() {
		add("canary", "%s", r.Canary)
	}
	for i, s := range r.Stages {
		title := ""
		if i == 0 {
			title = "stages"
		}
		add(title, "%s", s)
	}
	if r.Failures != nil {
		add("failures", "%s", r.Failures)
	}
	for i, w := range r.Waits {
		title := ""
		if i == 0 {
			title = "waited for"
		}
		add(title, "%s", w)
	}
	for _, v := range r.Violations {
		add("violation", "%s", v)
	}
	return strings.Join(lines, "\n")
}

func (r Report) outcome() string {
	if r.End == EndDone {
		return fmt.Sprintf("done after %s", rounded(r.Finished))
	}
	text := r.End.String()
	switch r.End {
	case EndStuck:
		text = "stuck for good"
	case EndLimit:
		text = "not done in time"
	case EndCondition:
		text = "ended by the caller"
	case EndViolation:
		text = "ended by a violation"
	case 0:
		text = "under way"
	default: // its number, or whatever String says
	}
	return fmt.Sprintf("%s, after %s", text, rounded(r.Elapsed))
}

func (r Report) reachedText() string {
	parts := make([]string, len(r.Reached))
	for i, reached := range r.Reached {
		parts[i] = fmt.Sprintf("%d%% after %s", reached.Percent, rounded(reached.After))
	}
	return strings.Join(parts, ", ")
}

// String returns the peak and the sum in words; "none" if no node was unavailable.
func (u Unavailable) String() string {
	if u.Peak == 0 {
		return "none"
	}
	return fmt.Sprintf("at most %d, first after %s; %s summed over nodes", u.Peak, rounded(u.PeakAt), rounded(u.NodeTime))
}

// String returns the budget and its use in words.
func (b BudgetReport) String() string {
	limit := rollout.LimitMaxUnavailable
	if b.Surge {
		limit = rollout.LimitMaxSurge
	}
	return fmt.Sprintf("%s %d, used at most %d, on average %.1f", limit, b.Limit, b.Peak, b.Mean)
}

// String returns in words how the canary ended, or how far it has come.
func (c CanaryReport) String() string {
	text := fmt.Sprintf("%s (%s), on at most %d nodes", c.Phase, c.Reason, c.Nodes)
	if c.Promoted > 0 {
		text += fmt.Sprintf(", promoted after %s", rounded(c.Promoted))
	}
	if c.Failed > 0 {
		text += fmt.Sprintf(", failed after %s", rounded(c.Failed))
	}
	return text
}

// ran reports whether there was a trial of a revision.
func (c CanaryReport) ran() bool {
	return c.Phase != canary.Idle || c.Reason == canary.Promoted || c.Reason == canary.Validated
}

// String returns the wait in words.
func (w WaitReport) String() string {
	what := w.Reason.String()
	if w.Limit != rollout.LimitNone {
		what += fmt.Sprintf(" (%s)", w.Limit)
	}
	return fmt.Sprintf("%s: %s summed over nodes", what, rounded(w.NodeTime))
}

// Table is a header and rows of cells. Each row has as many cells as Header.
type Table struct {
	Header []string
	Rows   [][]string
}

// Compare sets reports side by side. The table has a column for each report, in their order and under its name, and a row for
// each figure, which the first column names. A report without a name is called by its number, counted from 1. Names beyond the
// reports are ignored.
func Compare(names []string, reports []Report) Table {
	table := Table{Header: []string{""}}
	for i := range reports {
		if i < len(names) {
			table.Header = append(table.Header, names[i])
		} else {
			table.Header = append(table.Header, strconv.Itoa(i+1))
		}
	}
	for _, figure := range figures {
		row := []string{figure.name}
		for i := range reports {
			row = append(row, figure.of(&reports[i]))
		}
		table.Rows = append(table.Rows, row)
	}
	return table
}

// String returns the table with a line for each row and no line end after the last one. The first column is aligned to the
// left, the others to the right.
func (t Table) String() string {
	var widths []int
	rows := append([][]string{t.Header}, t.Rows...)
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], len([]rune(cell)))
		}
	}
	lines := make([]string, len(rows))
	for i, row := range rows {
		var line strings.Builder
		for j, cell := range row {
			if j == 0 {
				fmt.Fprintf(&line, "%-*s", widths[j], cell)
			} else {
				fmt.Fprintf(&line, "  %*s", widths[j], cell)
			}
		}
		lines[i] = strings.TrimRight(line.String(), " ")
	}
	return strings.Join(lines, "\n")
}

// figures are the rows of a comparison.
var figures = [...]struct {
	name string
	of   func(*Report) string
}{
	{"outcome", func(r *Report) string { return r.End.String() }},
	{"done after", func(r *Report) string { return unlessNone(r.End == EndDone, r.Finished) }},
	{"50% after", func(r *Report) string { return r.after(50) }},
	{"90% after", func(r *Report) string { return r.after(90) }},
	{"99% after", func(r *Report) string { return r.after(99) }},
	{"100% after", func(r *Report) string { return r.after(100) }},
	{"updated", func(r *Report) string { return fmt.Sprintf("%d of %d", r.Updated, r.Desired) }},
	{"waves", func(r *Report) string { return strconv.Itoa(r.Waves) }},
	{"unavailable at most", func(r *Report) string { return strconv.Itoa(r.Unavailable.Peak) }},
	{"unavailable, sum", func(r *Report) string { return rounded(r.Unavailable.NodeTime).String() }},
	{"budget", func(r *Report) string { return strconv.Itoa(r.Budget.Limit) }},
	{"budget used, mean", func(r *Report) string { return fmt.Sprintf("%.1f", r.Budget.Mean) }},
	{"plans", func(r *Report) string { return strconv.Itoa(r.Plans) }},
	{"calls", func(r *Report) string { return strconv.Itoa(r.Calls) }},
	{"pods created", func(r *Report) string { return strconv.Itoa(r.Created) }},
	{"pods patched", func(r *Report) string { return strconv.Itoa(r.Patched) }},
	{"from registry", func(r *Report) string { return byteSize(r.PulledBytes) }},
	{"from peers", func(r *Report) string { return byteSize(r.PeerBytes) }},
	{"crashes", func(r *Report) string { return strconv.Itoa(r.Crashes) }},
	{"canary", func(r *Report) string { return r.Canary.word() }},
	{"waited longest for", func(r *Report) string { return r.longestWait() }},
}

func (r *Report) after(percent int) string {
	for _, reached := range r.Reached {
		if reached.Percent == percent {
			return rounded(reached.After).String()
		}
	}
	return "-"
}

func (r *Report) longestWait() string {
	if len(r.Waits) == 0 {
		return "-"
	}
	return r.Waits[0].Reason.String()
}

func (c CanaryReport) word() string {
	switch {
	case !c.ran():
		return "-"
	case c.Phase == canary.Idle:
		return c.Reason.String()
	}
	return c.Phase.String()
}

func unlessNone(is bool, d time.Duration) string {
	if !is {
		return "-"
	}
	return rounded(d).String()
}

// rounded is the duration, rounded for people: to milliseconds below a minute, and to seconds from there on.
func rounded(d time.Duration) time.Duration {
	if d >= time.Minute {
		return d.Round(time.Second)
	}
	return d.Round(time.Millisecond)
}

// byteSize is a number of bytes in the largest binary unit of which there is at least one.
func byteSize(bytes int64) string {
	const units = "KMGTPE"
	if bytes < 1024 {
		return fmt.Sprintf("%d B", bytes)
	}
	value, unit := float64(bytes)/1024, 0
	for ; value >= 1024; unit++ {
		value /= 1024
	}
	return fmt.Sprintf("%.1f %ciB", value, units[unit])
}
