package watch

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/cluster"
	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/plan"
	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/text"
)

// line is a line of the screen. It has no control characters, and is no wider than the screen.
type line struct {
	text  string
	style ansi.Style // nil: as it is
}

// These are the colours for what is done, goes on, and is wrong. People who do not see red or green can tell them apart, as far
// as the palette of the terminal is a usual one; a test measures it. None of them says what the words of its line do not.
const (
	done  = ansi.Green
	doing = ansi.Cyan
	wrong = ansi.Red
)

var (
	colors = [...]ansi.BasicColor{done, doing, wrong}

	bold  = ansi.NewStyle().Bold()
	faint = ansi.NewStyle().Faint()
	green = ansi.NewStyle().ForegroundColor(done)
	cyan  = ansi.NewStyle().ForegroundColor(doing)
	red   = ansi.NewStyle().ForegroundColor(wrong)
)

// page is what there is to show, in a width: Head stays where it is, and Body can be scrolled.
type page struct {
	head, body []line
}

// newPage describes a frame as it looks now.
func newPage(f *Frame, now time.Time, width int) page {
	p := page{head: f.head(now, width)}
	if f.Result == nil {
		if len(f.Missing) > 0 {
			p.body = wrapped("", "Reading "+strings.Join(f.Missing, ", ")+" …", width, nil)
		}
		return p
	}
	o := f.Result.Overview(now)
	p.body = slices.Concat(f.summary(&o, now, width), zoneLines(&o, width), troubleLines(&o, width),
		listed("Stages", o.Parts, width), listed("Waiting", o.Waits, width), listed("More", f.more(&o), width))
	return p
}

// head is the set and the time, and what makes the rest doubtful.
func (f *Frame) head(now time.Time, width int) []line {
	name := text.Printable(fmt.Sprintf("%s/%s -n %s", objects.ResourceOf(f.Ref.Group), f.Ref.Name, f.Ref.Namespace))
	clock := now.UTC().Format("2006-01-02 15:04:05") + " UTC"
	title := name
	if gap := width - ansi.StringWidth(name) - len(clock); gap > 0 {
		title = name + strings.Repeat(" ", gap) + clock
	}
	lines := wrapped("", title, width, bold)
	for _, problem := range f.problems(now) {
		lines = append(lines, wrapped("", problem, width, red)...)
	}
	return lines
}

// problems are why what is shown may be old or is all there is.
func (f *Frame) problems(now time.Time) []string {
	var lines []string
	if f.Deleted {
		const deleted = "The set has been deleted. What is shown is how it was before. A new one of its name is shown, too."
		lines = append(lines, deleted)
	}
	if f.Problem != nil {
		lines = append(lines, "No plan: "+text.Printable(strings.ReplaceAll(f.Problem.Error(), "\n", "; ")))
	}
	if len(f.Broken) > 0 {
		lines = append(lines, f.brokenLine(now))
	}
	if silence := cluster.Silence(f.Unanswered, now); silence != "" {
		lines = append(lines, silence)
	}
	return lines
}

// brokenLine says since when the connection is broken.
func (f *Frame) brokenLine(now time.Time) string {
	first := f.Broken[0]
	var names []string
	for _, one := range f.Broken {
		names = append(names, one.What)
	}
	return text.Printable(fmt.Sprintf("Connection lost at %s (%s ago), trying again. What is shown of %s may be old. %v",
		clockText(first.Since), text.Duration(now.Sub(first.Since)), strings.Join(names, " and "), withoutQuery(first.Err)))
}

// withoutQuery is the error without the path and the query of the request, which tell nothing and fill half a screen.
func withoutQuery(err error) error {
	if request, ok := errors.AsType[*url.Error](err); ok {
		if where, parsed := url.Parse(request.URL); parsed == nil {
			return fmt.Errorf("%s://%s: %w", where.Scheme, where.Host, request.Err)
		}
	}
	return err
}

// clockText is a time of today.
func clockText(t time.Time) string { return t.UTC().Format("15:04:05") }

// labelled is a line of the summary with a label before it, which takes up labelWidth columns.
func labelled(label, words string, width int) []line {
	return wrapped(fmt.Sprintf("%-*s", labelWidth, label), words, width, nil)
}

const labelWidth = 12

// summary is how far the rollout is, and when it goes on.
func (f *Frame) summary(o *plan.Overview, now time.Time, width int) []line {
	style := map[plan.Progress]ansi.Style{plan.GoesOn: cyan, plan.Complete: green, plan.Stopped: red}[o.Progress]
	if f.history.stalled(f.Result, o, now) {
		style = red
	}
	began := f.history.began
	last := fmt.Sprintf("none since this watch began at %s (%s)", clockText(began), text.Duration(now.Sub(began)))
	if at := f.history.changed; !at.IsZero() {
		last = fmt.Sprintf("%s (%s ago): %s", clockText(at), text.Duration(now.Sub(at)), f.history.change)
	}
	lines := wrapped("", o.State, width, style)
	if stuck := f.stuck(o, now); stuck != "" {
		lines = append(lines, wrapped("", stuck, width, red)...)
	}
	return slices.Concat(lines,
		labelled("Revision", o.Revision, width),
		bar("Updated", o.Updated, o.Desired, width, green),
		bar("Available", o.Available, o.Desired, width, green),
		labelled("Budget", o.Budget, width),
		labelled("Time left", f.history.estimate(o, now), width),
		labelled("Next look", o.Wake, width),
		labelled("Last change", last, width))
}

// stuck says that the rollout has not got any further for too long; empty: it has.
func (f *Frame) stuck(o *plan.Overview, now time.Time) string {
	if !f.history.stalled(f.Result, o, now) {
		return ""
	}
	return fmt.Sprintf("Stuck: no further node was updated and available for %s.", text.Duration(now.Sub(f.history.lastGain())))
}

// bar is a bar with its numbers.
func bar(label string, n, of, width int, style ansi.Style) []line {
	numbers := fmt.Sprintf("%d of %d", n, of)
	if of > 0 {
		numbers += fmt.Sprintf(" (%d%%)", 100*n/of)
	}
	const most = 40
	size := min(most, width-labelWidth-len(numbers)-3)
	if of == 0 || size < 5 {
		return labelled(label, numbers, width)
	}
	full := size * min(n, of) / of
	words := fmt.Sprintf("%-*s[%s%s] %s", labelWidth, label, strings.Repeat("#", full), strings.Repeat("-", size-full), numbers)
	return []line{{words, style}}
}

// zoneLines are the nodes per state by zone: a table, or where it is too wide for the screen, a paragraph for each zone.
func zoneLines(o *plan.Overview, width int) []line {
	if len(o.Zones) == 0 {
		return nil
	}
	rows := [][]string{{"ZONE", "NODES"}}
	for _, state := range o.States {
		rows[0] = append(rows[0], strings.ToUpper(state.String()))
	}
	names := make([]string, len(o.Zones))
	for i, zone := range o.Zones {
		names[i] = zone.Name
	}
	names = text.Shorten(names, longestName(width), text.Width)
	for i, zone := range o.Zones {
		row := []string{names[i], fmt.Sprint(zone.Nodes)}
		for _, state := range o.States {
			row = append(row, fmt.Sprint(zone.States[state]))
		}
		rows = append(rows, row)
	}
	widths := make([]int, len(rows[0]))
	total := -2
	for i := range widths {
		for _, row := range rows {
			widths[i] = max(widths[i], ansi.StringWidth(row[i]))
		}
		total += widths[i] + 2
	}
	lines := []line{{}}
	if total <= width {
		for i, row := range rows {
			var words strings.Builder
			for j, cell := range row {
				pad := strings.Repeat(" ", widths[j]-ansi.StringWidth(cell))
				if j == 0 {
					words.WriteString(cell + pad)
				} else {
					words.WriteString("  " + pad + cell)
				}
			}
			lines = append(lines, line{words.String(), map[bool]ansi.Style{true: faint}[i == 0]})
		}
		return lines
	}
	for i, zone := range o.Zones {
		var counts []string
		for _, state := range o.States {
			if n := zone.States[state]; n > 0 {
				counts = append(counts, fmt.Sprintf("%d %s", n, state))
			}
		}
		pad := strings.Repeat(" ", widths[0]-ansi.StringWidth(names[i])+2)
		words := fmt.Sprintf("%s: %s", text.Counted(zone.Nodes, "node"), strings.Join(counts, ", "))
		lines = append(lines, wrapped(names[i]+pad, words, width, nil)...)
	}
	return lines
}

// listed is a section with a heading; none if there is nothing in it.
func listed(heading string, items []string, width int) []line {
	if len(items) == 0 {
		return nil
	}
	lines := []line{{}, {cut(heading, width), faint}}
	for _, item := range items {
		lines = append(lines, wrapped("  ", item, width, nil)...)
	}
	return lines
}

// troublesShown is how many nodes with troubles are listed. More are only counted, so that what follows them is near.
const troublesShown = 10

// troubleLines list the nodes that are not available, with what is wrong with them.
func troubleLines(o *plan.Overview, width int) []line {
	if len(o.Troubles) == 0 {
		return nil
	}
	lines := []line{{}, {cut(fmt.Sprintf("Not available (%d)", len(o.Troubles)), width), faint}}
	shown := o.Troubles[:min(len(o.Troubles), troublesShown)]
	names := make([]string, len(shown))
	for i, trouble := range shown {
		names[i] = trouble.Node
	}
	names = text.Shorten(names, longestName(width), text.Width)
	for i, trouble := range o.Troubles {
		if i == troublesShown {
			rest := fmt.Sprintf("and %d more: see kubectl daemonplan pods", len(o.Troubles)-i)
			lines = append(lines, wrapped("  ", rest, width, nil)...)
			break
		}
		style, mark := red, "! "
		if trouble.Starting {
			style, mark = nil, ""
		}
		lines = append(lines, wrapped("  ", mark+names[i]+": "+trouble.What, width, style)...)
	}
	return lines
}

// longestName is how many columns of a screen a name may take up, so that there is room for what is said of it.
func longestName(width int) float64 { return max(float64(2*width/3), 8) }

// more is what few need to know.
func (f *Frame) more(o *plan.Overview) []string {
	lines := o.More
	if f.Expired.What != "" {
		lines = append(slices.Clone(lines), text.Printable(f.expiredLine()))
	}
	return lines
}

func (f *Frame) expiredLine() string {
	return fmt.Sprintf("The watch of %s had expired at %s; they were listed anew.", f.Expired.What, clockText(f.Expired.At))
}

// wrapped breaks text into lines of a width, between words where it can. The first begins with the label, the others are
// indented by as much, or on a narrow screen by less. After a label of spaces, or none, they
// are indented by two more.
func wrapped(label, words string, width int, style ansi.Style) []line {
	width = max(width, 1)
	indent := ansi.StringWidth(label)
	if label != "" && width < 60 {
		indent = 2
	}
	words = label + words
	if strings.TrimSpace(label) == "" {
		indent += 2
	}
	indent = min(indent, width/2)
	var lines []line
	for words != "" {
		room := width
		if len(lines) > 0 {
			room -= indent
		}
		head := firstLine(words, room)
		words = strings.TrimLeft(words[len(head):], " ")
		head = strings.TrimRight(head, " ")
		if len(lines) > 0 {
			head = strings.Repeat(" ", indent) + head
		}
		lines = append(lines, line{head, style})
	}
	return lines
}

// firstLine is as much of the text as fits into the width: up to a space, or if there is none, up to the last character that
// fits. It is never empty.
func firstLine(words string, width int) string {
	if ansi.StringWidth(words) <= width {
		return words
	}
	fits := ansi.Truncate(words, width, "")
	if fits == "" { // one character is wider than the line
		_, size := utf8.DecodeRuneInString(words)
		return words[:size]
	}
	if strings.HasPrefix(words[len(fits):], " ") {
		return fits
	}
	if at := strings.LastIndex(fits, " "); at > 0 && strings.TrimSpace(fits[:at]) != "" {
		return fits[:at]
	}
	return fits
}

// cut shortens text to a width.
func cut(words string, width int) string { return ansi.Truncate(words, max(0, width), "…") }

// draw is the page on a screen of a height, from the line of the body that is first shown. It returns the screen, and that line,
// which is an earlier one if the end of the body would not be at the bottom. Of a head that is higher than the screen the first
// lines are shown.
func (p *page) draw(first, width, height int) (screen string, shown int) {
	foot := 1
	if height < 3 {
		foot = 0
	}
	head := p.head[:min(len(p.head), max(1, height-foot))]
	room := max(0, height-foot-len(head))
	first = max(0, min(first, len(p.body)-room))
	last := min(len(p.body), first+room)
	lines := slices.Concat(head, p.body[first:last])
	if foot > 0 {
		for len(lines) < height-foot {
			lines = append(lines, line{})
		}
		keys := "q quit"
		if len(p.body) > room {
			keys = fmt.Sprintf("lines %d-%d of %d   ↑↓ scroll   q quit", min(first+1, last), last, len(p.body))
		}
		lines = append(lines, line{cut(keys, width), faint})
	}
	var out strings.Builder
	for i, one := range lines {
		if i > 0 {
			out.WriteByte('\n')
		}
		if one.text == "" || one.style == nil {
			out.WriteString(one.text)
			continue
		}
		out.WriteString(one.style.Styled(one.text))
	}
	return out.String(), first
}
