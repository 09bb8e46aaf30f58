package watch

import (
	"fmt"
	"regexp"
	"time"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/text"
)

// repeats leaves lines out of the log that say again what the last line said, or by turns what the last two said, as those of a
// connection that comes and goes. In their place is a line that counts them.
type repeats struct {
	said   []string // what the last two lines said, without times
	period int      // how many lines are repeated; 0: nothing has been left out
	count  int      // how many lines have been left out
	line   string   // the last of them
	at     time.Time
	whole  time.Time // when the last of the lines that are repeated came
}

// longestHeld is how long a line may be held back that says something else than the last line of the log: what is the case now
// is to be read there soon.
const longestHeld = 5 * time.Second

// add returns the lines to print now that there is something to say.
func (r *repeats) add(words string, now time.Time) []string {
	said := withoutTimes(words)
	if r.again(said) {
		r.count++
		r.line, r.at = LogLine(now, words), now
		if r.count%r.period == 0 {
			r.whole = now
		}
		return nil
	}
	lines := append(r.flush(), LogLine(now, words))
	r.remember(said)
	return lines
}

// again reports whether this is what comes next if lines are repeated.
func (r *repeats) again(said string) bool {
	n := len(r.said)
	if r.period > 0 {
		return r.said[n-r.period+r.count%r.period] == said
	}
	for period := 1; period <= n; period++ {
		if r.said[n-period] == said {
			r.period = period
			return true
		}
	}
	return false
}

func (r *repeats) remember(said string) {
	r.said = append(r.said, said)
	r.said = r.said[max(0, len(r.said)-2):]
}

// flush returns the lines in the place of what has been left out.
func (r *repeats) flush() []string {
	if r.period == 0 {
		return nil
	}
	var lines []string
	if times := r.count / r.period; times > 0 {
		what := map[int]string{1: "…", 2: "… the last two lines"}[r.period]
		lines = append(lines, LogLine(r.whole,
			fmt.Sprintf("%s %s until %s", what, text.Agree(times, "more time", "more times"), clockText(r.whole))))
	}
	if r.count%r.period > 0 {
		lines = append(lines, r.line)
		r.remember(r.said[0])
	}
	r.period, r.count = 0, 0
	return lines
}

// due is when what has been left out is to be printed even if nothing more comes; zero: never, because the last line of the log
// says what is the case.
func (r *repeats) due() time.Time {
	if r.period < 2 {
		return time.Time{}
	}
	return r.at.Add(longestHeld)
}

// timeInLine is a time of today, and how long ago that is.
var timeInLine = regexp.MustCompile(`\d\d:\d\d:\d\d( UTC)?( \([0-9dhms]+ ago\))?`)

// withoutTimes is what a line says whenever it is said.
func withoutTimes(words string) string { return timeInLine.ReplaceAllString(words, "") }
