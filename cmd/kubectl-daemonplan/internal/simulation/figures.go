package simulation

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/text"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/simulate"
)

// figure is one line of the comparison. It shows something that was measured in every run.
type figure struct {
	Name string
	// Cells are those of the candidates, in their order.
	Cells []cell
}

// cell is what was measured for one candidate.
type cell struct {
	Text string
	// Best marks the smallest of a line in which less is better, and those that are less than 5 % above it. No cell is marked if
	// that is true of all.
	Best bool
}

// figures are the lines of the comparison table.
func figures(outcomes []*outcome) []figure {
	t := comparison{outcomes: outcomes}
	t.line("ends", t.ends)
	t.releases()
	for _, percent := range t.percents() {
		t.traced(fmt.Sprintf("time to %d %%", percent), asDuration, func(o *outcome, seed int) (float64, bool) {
			after, ok := o.reached(seed, percent)
			return float64(after), ok
		})
		if t.withdrawn() {
			t.unmark() // to bring a version to all nodes quickly is no merit if it was taken back
		}
	}
	t.number("waves", counted("wave", "waves"), func(r *simulate.Report) (float64, bool) { return float64(r.Waves), true })
	t.number("peak unavailable nodes", counted("node", "nodes"),
		func(r *simulate.Report) (float64, bool) { return float64(r.Unavailable.Peak), true })
	had := slices.ContainsFunc(t.outcomes, (*outcome).hadNodesDown)
	if had {
		t.number("  beside those down before", counted("node", "nodes"),
			func(r *simulate.Report) (float64, bool) { return float64(r.Taken.Peak), true })
	}
	t.line("  most in one zone", t.worstZone)
	t.places()
	t.downtime("time without a serving pod", func(r *simulate.Report) *simulate.Unavailable { return &r.Unavailable })
	if had {
		t.downtime("  beside nodes down before", takenDown)
	}
	t.serving()
	t.broken()
	t.line("budget used", t.budget)
	t.number("pods created", counted("pod", "pods"), func(r *simulate.Report) (float64, bool) { return float64(r.Created), true })
	t.number("API calls", counted("call", "calls"), func(r *simulate.Report) (float64, bool) { return float64(r.Calls), true })
	t.optional("  failed", counted("call", "calls"), func(r *simulate.Report) float64 { return float64(r.FailedCalls) })
	t.number("pulled from the registry", asBytes,
		func(r *simulate.Report) (float64, bool) { return float64(r.PulledBytes), true })
	t.optional("  from peers", asBytes, func(r *simulate.Report) float64 { return float64(r.PeerBytes) })
	t.number("container restarts", counted("restart", "restarts"),
		func(r *simulate.Report) (float64, bool) { return float64(r.Restarts), true })
	t.optional("  crashes", counted("crash", "crashes"), func(r *simulate.Report) float64 { return float64(r.Crashes) })
	t.optional("controller crashes", counted("crash", "crashes"),
		func(r *simulate.Report) float64 { return float64(r.ControllerCrashes) })
	t.line("canary", t.canary)
	t.stages()
	t.failures()
	t.line("longest wait", t.wait)
	t.line("nodes with the new version", t.updated)
	t.given()
	return t.lines
}

// percents are the shares of nodes of which the table says when the new version was there. Where all runs are about many
// releases, none of which is the new one, it says so of none.
func (t *comparison) percents() []int {
	if !slices.ContainsFunc(t.outcomes, func(o *outcome) bool { return !o.Traces[0].Releases.many() }) {
		return nil
	}
	return []int{50, 90, 99, 100}
}

// comparison collects the lines of the table.
type comparison struct {
	outcomes []*outcome
	lines    []figure
}

// line adds a line of texts.
func (t *comparison) line(name string, of func(*outcome) string) {
	f := figure{Name: name}
	for _, o := range t.outcomes {
		f.Cells = append(f.Cells, cell{Text: of(o)})
	}
	t.lines = append(t.lines, f)
}

// number adds a line of numbers, in which less is better. A run without a number counts as worse than any other.
func (t *comparison) number(name string, show func(float64) string, of func(*simulate.Report) (float64, bool)) {
	t.traced(name, show, func(o *outcome, seed int) (float64, bool) { return of(&o.Reports[seed]) })
}

// traced adds a line as number does, of numbers that may come from the trace of a run, too.
func (t *comparison) traced(name string, show func(float64) string, of func(o *outcome, seed int) (float64, bool)) {
	f := figure{Name: name}
	medians := make([]float64, len(t.outcomes))
	for i, o := range t.outcomes {
		values := make([]float64, len(o.Reports))
		for j := range o.Reports {
			value, ok := of(o, j)
			if !ok {
				value = math.Inf(1)
			}
			values[j] = value
		}
		slices.Sort(values)
		medians[i] = quantile(values, 0.5)
		f.Cells = append(f.Cells, cell{Text: spread(values, show)})
	}
	if best := slices.Min(medians); !about(best, slices.Max(medians)) {
		for i := range f.Cells {
			f.Cells[i].Best = about(best, medians[i])
		}
	}
	t.lines = append(t.lines, f)
}

// downtime adds a line with a time that is summed over nodes. Where nodes were still down at the end it says that it is at least
// so much.
func (t *comparison) downtime(name string, of func(*simulate.Report) *simulate.Unavailable) {
	t.number(name, asNodeMinutes, func(r *simulate.Report) (float64, bool) { return of(r).NodeTime.Minutes(), true })
	cells := t.lines[len(t.lines)-1].Cells
	for i, o := range t.outcomes {
		cells[i].Text = o.atLeast(of) + cells[i].Text
	}
}

// atLeast is put before a time for which nodes were down: "at least " if nodes still are at the end of any run, else empty.
func (o *outcome) atLeast(of func(*simulate.Report) *simulate.Unavailable) string {
	if slices.ContainsFunc(o.Reports, func(r simulate.Report) bool { return of(&r).AtEnd > 0 }) {
		return "at least "
	}
	return ""
}

// takenDown is what the rollout, and what happened meanwhile, took down.
func takenDown(r *simulate.Report) *simulate.Unavailable { return &r.Taken }

// serving adds a line with the time from which on no node is unavailable.
func (t *comparison) serving() {
	t.traced("every node serves from", asDuration, func(o *outcome, seed int) (float64, bool) {
		serves := o.Traces[seed].serves
		return serves, !math.IsInf(serves, 0)
	})
}

// broken adds a line with how many nodes had a pod that crashed, failed or could not get its image, under the first seed. It adds
// none if there is no such node.
func (t *comparison) broken() {
	sick := make([]int, len(t.outcomes))
	for i, o := range t.outcomes {
		for _, n := range o.Traces[0].Nodes {
			if slices.ContainsFunc(n.Changes, func(c simulate.Change) bool { return c.State == simulate.NodeBroken }) {
				sick[i]++
			}
		}
	}
	if slices.Max(sick) == 0 {
		return
	}
	t.line("nodes that broke", func(o *outcome) string { return text.Counted(sick[slices.Index(t.outcomes, o)], "node") })
	cells := t.lines[len(t.lines)-1].Cells
	for i := range cells {
		cells[i].Best = sick[i] == slices.Min(sick) && slices.Min(sick) < slices.Max(sick)
	}
}

// optional adds a line of numbers unless all are 0.
func (t *comparison) optional(name string, show func(float64) string, of func(*simulate.Report) float64) {
	for _, o := range t.outcomes {
		for i := range o.Reports {
			if of(&o.Reports[i]) != 0 {
				t.number(name, show, func(r *simulate.Report) (float64, bool) { return of(r), true })
				return
			}
		}
	}
}

// spread shows the median, and with several runs also the value that nine of ten runs do not exceed. A unit that both have is
// written once.
func spread(sorted []float64, show func(float64) string) string {
	text := func(value float64) string {
		if math.IsInf(value, 1) {
			return "never"
		}
		return show(value)
	}
	median := text(quantile(sorted, 0.5))
	if len(sorted) == 1 {
		return median
	}
	most := text(quantile(sorted, 0.9))
	if most == median {
		return median
	}
	number, unit, _ := strings.Cut(median, " ")
	if _, same, _ := strings.Cut(most, " "); same == unit {
		median = number
	}
	return median + " .. " + most
}

// quantile is the smallest of the sorted values that at least this share of them does not exceed.
func quantile(sorted []float64, share float64) float64 {
	return sorted[max(int(math.Ceil(share*float64(len(sorted)))), 1)-1]
}

// about reports whether two numbers differ by less than 5 %: too little for one of them to be called better, because other draws
// could turn them around.
func about(less, more float64) bool { return less == more || more < 1.05*less }

// ends shows how the runs ended.
func (*comparison) ends(o *outcome) string {
	counts := make(map[ending]int)
	for i := range o.Reports {
		counts[o.ending(i)]++
	}
	var parts []string
	for _, end := range endings {
		switch {
		case counts[end] == len(o.Reports):
			return string(end)
		case counts[end] > 0:
			parts = append(parts, fmt.Sprintf("%d %s", counts[end], end))
		}
	}
	return strings.Join(parts, ", ")
}

// worstZone shows the zone that had most nodes unavailable at once, in any run.
func (*comparison) worstZone(o *outcome) string {
	var worst simulate.ZoneReport
	several := false
	for i := range o.Reports {
		several = several || len(o.Reports[i].Zones) > 1
		for _, zone := range o.Reports[i].Zones {
			if zone.Unavailable.Peak > worst.Unavailable.Peak {
				worst = zone
			}
		}
	}
	if !several || worst.Unavailable.Peak == 0 {
		return "-"
	}
	peak, nodes := asCount(float64(worst.Unavailable.Peak)), text.Counted(worst.Nodes, "node")
	return fmt.Sprintf("%s of %s in %s", peak, nodes, zoneName(worst.Zone))
}

func zoneName(zone string) string {
	if zone == "" {
		return "no zone"
	}
	return text.Printable(zone)
}

// budget shows how much of the budget was used, and the limit in force at the peak, under the first seed.
func (*comparison) budget(o *outcome) string {
	b := o.Reports[0].Budget
	limit := b.PeakLimit
	if b.Peak == 0 { // without a peak there is no limit at it
		limit = b.Limit
	}
	return fmt.Sprintf("%s of %s, mean %s nodes", asCount(float64(b.Peak)), text.Counted(limit, "node"),
		strconv.FormatFloat(b.Mean, 'f', 1, 64))
}

// canary shows how the canaries ended.
func (*comparison) canary(o *outcome) string {
	texts := make(map[string]int)
	var order []string
	for i := range o.Reports {
		text := canaryText(&o.Reports[i].Canary)
		if texts[text] == 0 {
			order = append(order, text)
		}
		texts[text]++
	}
	if len(order) == 1 {
		return order[0]
	}
	counts := make(map[string]int)
	for i := range o.Reports {
		counts[canaryWord(&o.Reports[i].Canary)]++
	}
	var parts []string
	for _, word := range []string{"promoted", "failed", "paused", "running", "none"} {
		if counts[word] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", counts[word], word))
		}
	}
	return strings.Join(parts, ", ")
}

func canaryWord(r *simulate.CanaryReport) string {
	switch {
	case r.Promoted > 0:
		return "promoted"
	case r.Failed > 0 || r.Phase == canary.Failed:
		return "failed"
	case r.Phase == canary.Paused:
		return "paused"
	case r.Phase == canary.Running:
		return "running"
	default:
		return "none"
	}
}

func canaryText(r *simulate.CanaryReport) string {
	word := canaryWord(r)
	nodes := " on " + text.Counted(r.Nodes, "node")
	switch word {
	case "promoted":
		return "promoted after " + asDuration(float64(r.Promoted)) + nodes
	case "failed":
		return fmt.Sprintf("failed after %s%s: %s", asDuration(float64(r.Failed)), nodes, r.Reason)
	case "none":
		return "none"
	default:
		return fmt.Sprintf("%s%s: %s", word, nodes, r.Reason)
	}
}

// wait shows what the nodes waited for longest, in all runs together.
func (*comparison) wait(o *outcome) string {
	type what struct {
		reason rollout.Reason
		limit  rollout.Limit
	}
	sums := make(map[what]float64)
	for i := range o.Reports {
		for _, wait := range o.Reports[i].Waits {
			sums[what{wait.Reason, wait.Limit}] += wait.NodeTime.Minutes()
		}
	}
	var longest what
	most := 0.0
	for key, minutes := range sums {
		if minutes > most || minutes == most && minutes > 0 &&
			cmp.Or(cmp.Compare(key.reason, longest.reason), cmp.Compare(key.limit, longest.limit)) < 0 {
			longest, most = key, minutes
		}
	}
	rate := o.boundByRate()
	if most == 0 {
		return cmp.Or(rate, "-")
	}
	text := longest.reason.String()
	if longest.limit != 0 {
		text = longest.limit.String()
	}
	text = fmt.Sprintf("%s: %s", text, asNodeMinutes(most/float64(len(o.Reports))))
	if rate != "" {
		text = rate + ", then " + text
	}
	return text
}

// boundByRate says for how much of the time actions waited for the controller's rate of calls, in all runs together, if that was
// most of it: then the rate sets the pace, whatever nodes waited for by the plans. Else it is empty.
func (o *outcome) boundByRate() string {
	var limited, all time.Duration
	for i := range o.Reports {
		limited += o.Reports[i].RateLimited
		all += cmp.Or(o.Reports[i].Finished, o.Reports[i].Elapsed)
	}
	if all == 0 || 2*limited <= all {
		return ""
	}
	return fmt.Sprintf("callsPerSecond for %d %% of the time", int(min(100*limited/all, 100)))
}

// updated shows how many nodes have the new version in the end, in the run with most nodes that do not, and how many had it at
// one time if that was more.
func (*comparison) updated(o *outcome) string {
	worst := o.worst()
	v, desired := &o.Traces[worst].Version, o.Reports[worst].Desired
	now := fmt.Sprintf("%s of %s", asCount(float64(v.Now)), text.Counted(desired, "node"))
	if v.Most > v.Now && v.Replaced {
		now += fmt.Sprintf(", at most %s", text.Counted(v.Most, "node"))
	}
	return now
}

// given adds a line with how many nodes were ever given a pod of the new version, if a run replaced that version or gave it up.
func (t *comparison) given() {
	if t.withdrawn() {
		t.traced("  ever given a pod of it", counted("node", "nodes"), func(o *outcome, seed int) (float64, bool) {
			return float64(o.Traces[seed].Version.Given), true
		})
		t.unmark() // whether more or less is better depends on the version
	}
}

// withdrawn reports whether a run replaced the new version or gave it up.
func (t *comparison) withdrawn() bool {
	return slices.ContainsFunc(t.outcomes, func(o *outcome) bool { return o.count(endGivenUp, endReplaced) > 0 })
}

// unmark says of the last line that less is not better.
func (t *comparison) unmark() {
	cells := t.lines[len(t.lines)-1].Cells
	for i := range cells {
		cells[i].Best = false
	}
}
