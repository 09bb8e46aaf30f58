package main

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/daemonplan/daemonplan/internal/doctable"
)

// scenarios are the fleets of the tables, by the name of their benchmark.
var scenarios = []struct{ benchmark, name string }{
	{"Decision steady", "at rest"},
	{"Decision rollout", "mid-rollout"},
}

// write puts the tables of a run into the documents.
func (r results) write(folder string) error {
	readme, speed := r.timesTable(), r.costsTable()
	if strings.Contains(readme, missing) || strings.Contains(speed, missing) {
		return errors.New("the tables need all that BenchmarkDecision measures: COMPARE=Decision")
	}
	return cmp.Or(
		doctable.Write(filepath.Join(folder, "README.md"), map[string]string{"compare": readme}),
		doctable.Write(filepath.Join(folder, "docs", "speed.md"), map[string]string{"compare": speed}),
	)
}

// missing stands for what was not measured.
const missing = "?"

// timesTable says how long the controller takes and how long we take, and how many times faster that is.
func (r results) timesTable() string {
	var b strings.Builder
	b.WriteString("| fleet | nodes | controller's sync | first plan | again, nothing changed | again, 1 % changed |\n" +
		"|---|---|---|---|---|---|\n")
	for _, s := range scenarios {
		for _, nodes := range r.sizes(s.benchmark) {
			theirs := r.at(s.benchmark, nodes, "controller").time
			if theirs == 0 {
				continue // one that only we are measured at
			}
			fmt.Fprintf(&b, "| %s | %s | %s", s.name, thousands(nodes), lasts(theirs*float64(nodes)))
			for _, impl := range []string{"first", "warm", "changed"} {
				ours := r.at(s.benchmark, nodes, impl).time
				fmt.Fprintf(&b, " | %s (%s)", lasts(ours*float64(nodes)), times(theirs, ours))
			}
			b.WriteString(" |\n")
		}
	}
	return b.String()
}

// costsTable says what a node costs in nanoseconds, and what it would cost just to look.
func (r results) costsTable() string {
	impls := []string{"controller", "plan", "first", "warm", "changed", "touch", "compare"}
	var b strings.Builder
	b.WriteString("| fleet | nodes | controller's sync | plan, first | claim and plan, first | again, nothing changed " +
		"| again, 1 % changed | floor: touch | floor: compare |\n|---|---|---|---|---|---|---|---|---|\n")
	for _, s := range scenarios {
		for _, nodes := range r.sizes(s.benchmark) {
			fmt.Fprintf(&b, "| %s | %s", s.name, thousands(nodes))
			for _, impl := range impls {
				b.WriteString(" | " + perNode(r.at(s.benchmark, nodes, impl).time, impl))
			}
			b.WriteString(" |\n")
		}
	}
	return b.String()
}

// perNode is what one node costs in nanoseconds. The controller is not measured on the largest fleets.
func perNode(seconds float64, impl string) string {
	switch {
	case seconds == 0 && impl == "controller":
		return "-"
	case seconds == 0:
		return missing
	case seconds < 10e-9:
		return strconv.FormatFloat(seconds*1e9, 'f', 1, 64)
	default:
		return grouped(nanoseconds(seconds))
	}
}

// lasts is a time with two digits or three.
func lasts(seconds float64) string {
	if seconds == 0 {
		return missing
	}
	d := time.Duration(seconds * 1e9)
	switch {
	case d < time.Millisecond:
		return fmt.Sprintf("%.2f ms", seconds*1e3)
	case d < 10*time.Millisecond:
		return fmt.Sprintf("%.1f ms", seconds*1e3)
	case d < time.Second:
		return fmt.Sprintf("%.0f ms", seconds*1e3)
	default:
		return fmt.Sprintf("%.1f s", seconds)
	}
}

// times is how many times longer they take.
func times(theirs, ours float64) string {
	switch ratio := theirs / ours; {
	case ours == 0:
		return missing
	case ratio < 10:
		return fmt.Sprintf("%.1f×", ratio)
	default:
		return grouped(strconv.FormatFloat(ratio, 'f', 0, 64)) + "×"
	}
}

func thousands(n int) string { return grouped(strconv.Itoa(n)) }

// grouped puts a comma before each three digits from the right.
func grouped(digits string) string {
	if len(digits) <= 3 {
		return digits
	}
	return grouped(digits[:len(digits)-3]) + "," + digits[len(digits)-3:]
}
