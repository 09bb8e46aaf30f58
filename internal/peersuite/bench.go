package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
)

// benchmark runs the controller's own benchmarks: of the controller as it is published, and with the planner in its place,
// which makes a first plan each time, or plans again with what it read before. It prints medians of so many runs, one row for
// each benchmark.
func (w *workspace) benchmark(ctx context.Context, out io.Writer, count int) error {
	differential := filepath.Join(w.root, "internal", "differential")
	sides := []struct{ dir, pkg, plans string }{
		{differential, upstream, ""}, {w.dir, "./daemon", "first"}, {w.dir, "./daemon", "again"},
	}
	var names []string
	var costs [3]map[string][]float64 // nanoseconds, by benchmark
	for i, side := range sides {
		text, err := w.measure(ctx, side.dir, side.pkg, side.plans, count)
		if err != nil {
			return err
		}
		var order []string
		if order, costs[i] = parseBenchmarks(text); len(order) == 0 {
			return fmt.Errorf("%s has no benchmark\n%s", side.pkg, text)
		}
		if names == nil {
			names = order
		}
		if !slices.Equal(names, order) {
			return fmt.Errorf("the controller has the benchmarks %q, and with the planner there are %q", names, order)
		}
	}
	const line = "%-80s %14s %14s %14s\n"
	fmt.Fprintf(out, line, "ns/op", "controller", "first plan", "plan again")
	for _, name := range names {
		row := []any{name}
		for i := range costs {
			row = append(row, strconv.FormatFloat(median(costs[i][name]), 'f', 0, 64))
		}
		fmt.Fprintf(out, line, row...)
	}
	return nil
}

// measure runs the benchmarks of a package in a module, and returns what they print.
func (w *workspace) measure(ctx context.Context, dir, pkg, plans string, count int) ([]byte, error) {
	command := exec.CommandContext(ctx, "go", "test", "-run", "^$", "-bench", ".", "-count", strconv.Itoa(count), pkg)
	command.Dir, command.Env = dir, append(os.Environ(), "GOWORK=off", "PEERSUITE_BENCHMARK="+plans)
	var stderr bytes.Buffer
	command.Stderr = &stderr
	text, err := command.Output()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("benchmarks of %s: %w\n%s%s", pkg, err, text, stderr.Bytes()), ctx.Err())
	}
	return text, nil
}

var benchmarkLine = regexp.MustCompile(`^(Benchmark\S+?)(?:-\d+)?\s+\d+\s+([0-9.]+) ns/op`)

// parseBenchmarks returns the names of benchmarks in the order of their first lines, and what each has cost.
func parseBenchmarks(text []byte) (names []string, costs map[string][]float64) {
	costs = map[string][]float64{}
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		found := benchmarkLine.FindStringSubmatch(lines.Text())
		if found == nil {
			continue
		}
		cost, err := strconv.ParseFloat(found[2], 64)
		if err != nil {
			continue
		}
		if costs[found[1]] == nil {
			names = append(names, found[1])
		}
		costs[found[1]] = append(costs[found[1]], cost)
	}
	return names, costs
}

func median(list []float64) float64 {
	slices.Sort(list)
	if n := len(list); n%2 == 0 {
		return (list[n/2-1] + list[n/2]) / 2
	}
	return list[len(list)/2]
}
