package main

import (
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/daemonplan/daemonplan/test/integration/apilog"
)

// cell is a figure, as it is shown and as it is compared.
type cell struct {
	text  string
	value float64
}

func seconds(d time.Duration) cell { return cell{fmt.Sprintf("%.2f s", d.Seconds()), d.Seconds()} }

func count(n int) cell { return cell{fmt.Sprint(n), float64(n)} }

// report is a table of what was measured, with the ratios of the last run to those before.
func report(s settings, results []result) string {
	var b strings.Builder
	allowed, _ := s.allowed() // parse has refused what cannot be read
	binder := "the kubelet of the integration tests"
	if s.scheduler {
		binder = "kube-scheduler"
	}
	fmt.Fprintf(&b, "%d nodes, maxUnavailable %s (%d nodes), pods are ready %v after they were bound, by %s; ",
		s.nodes, s.budget, allowed, s.podStart, binder)
	fmt.Fprintf(&b, "%d CPUs for everything together.\n\n", runtime.NumCPU())
	head, rule := "| |", "|---|"
	last := len(results) - 1
	for _, r := range results {
		head, rule = head+" "+r.name+" |", rule+"---:|"
	}
	for _, r := range results[:last] {
		head, rule = head+" "+results[last].name+" : "+r.name+" |", rule+"---:|"
	}
	fmt.Fprintf(&b, "%s\n%s\n", head, rule)
	row := func(name string, of func(result) cell) {
		fmt.Fprintf(&b, "| %s |", name)
		ours := of(results[last]).value
		for _, r := range results {
			fmt.Fprintf(&b, " %s |", of(r).text)
		}
		for _, r := range results[:last] {
			fmt.Fprintf(&b, " %s |", ratio(ours, of(r).value))
		}
		b.WriteString("\n")
	}
	for _, p := range []struct {
		name string
		of   func(result) phase
	}{
		{"install", func(r result) phase { return r.install }},
		{"update", func(r result) phase { return r.update }},
	} {
		row("**"+p.name+"**: all nodes serve after", func(r result) cell { return seconds(p.of(r).done) })
		row(p.name+": the status says so after", func(r result) cell { return seconds(p.of(r).said) })
		if p.name == "update" {
			row("update: most nodes without a serving pod", func(r result) cell { return count(p.of(r).down) })
		}
		row(p.name+": CPU", func(r result) cell { return seconds(p.of(r).cpu) })
		row(p.name+": requests", func(r result) cell { return count(len(p.of(r).calls)) })
		var tallies []map[apilog.Kind]int
		for _, r := range results {
			tallies = append(tallies, apilog.Tally(p.of(r).calls))
		}
		for _, kind := range apilog.Kinds(tallies...) {
			name := fmt.Sprintf("%s: – %s %s", p.name, kind.Verb, kind.Resource)
			row(name, func(r result) cell { return count(apilog.Tally(p.of(r).calls)[kind]) })
		}
		row(p.name+": refused", func(r result) cell { return cell{text: refusals(apilog.Refused(p.of(r).calls))} })
	}
	row("peak memory of the process", func(r result) cell {
		return cell{fmt.Sprintf("%.0f MiB", float64(r.memory)/(1<<20)), float64(r.memory)}
	})
	row("carried out twice, or not at all", func(r result) cell { return count(len(r.twice) + len(r.doubled)) })
	b.WriteString("\nkube-controller-manager is built with all of its controllers, of which only the DaemonSet controller runs; ")
	b.WriteString("that is part of its memory.\n")
	return b.String()
}

// ratio of two figures. What cannot be compared has none.
func ratio(a, b float64) string {
	if a == 0 || b == 0 {
		return ""
	}
	return fmt.Sprintf("%.2f", a/b)
}

func refusals(counts map[apilog.Refusal]int) string {
	var parts []string
	for _, r := range slices.SortedFunc(maps.Keys(counts), apilog.Refusal.Compare) {
		parts = append(parts, fmt.Sprintf("%d %s %s: %d", r.Code, r.Verb, r.Resource, counts[r]))
	}
	if parts == nil {
		return "none"
	}
	return strings.Join(parts, ", ")
}

// judge says what must not be, of the example.
func judge(s settings, results []result) error {
	allowed, err := s.allowed()
	errs := []error{err}
	for _, r := range results {
		if !r.ours {
			continue
		}
		if r.update.down > allowed {
			errs = append(errs, fmt.Errorf("%s: %d nodes were without a serving pod at a time, and %d may be",
				r.name, r.update.down, allowed))
		}
		for _, what := range r.twice {
			errs = append(errs, fmt.Errorf("%s: %s", r.name, what))
		}
		for _, where := range r.doubled {
			errs = append(errs, fmt.Errorf("%s: two live pods of a revision on %s", r.name, where))
		}
	}
	return errors.Join(errs...)
}
