package main

import (
	"encoding/csv"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// cost is what benchstat says about one implementation on one fleet: medians. 0 is not measured.
type cost struct {
	time   float64 // seconds per node
	bytes  float64 // per decision
	allocs float64
}

// results are the costs by benchmark, size of the fleet and implementation.
type results map[string]map[int]map[string]cost

func (r results) sizes(benchmark string) []int { return slices.Sorted(maps.Keys(r[benchmark])) }

func (r results) at(benchmark string, nodes int, impl string) cost { return r[benchmark][nodes][impl] }

// parse reads benchstat's tables. Each has two lines of headings, the implementations and the units, then a row for each
// benchmark and fleet; a value stands under its unit, and its unit under or right of its implementation.
func parse(in io.Reader) (results, error) {
	reader := csv.NewReader(in)
	reader.FieldsPerRecord = -1 // of the lines before the tables
	lines, err := reader.ReadAll()
	if err != nil {
		return nil, err
	}
	found := make(results)
	var impls, units []string
	for i, line := range lines {
		switch {
		case len(line) < 2 || line[0] == "geomean":
		case line[0] != "":
			if err := found.row(line, impls, units); err != nil {
				return nil, err
			}
		case i+1 < len(lines) && len(lines[i+1]) == len(line) && lines[i+1][0] == "":
			impls, units = line, lines[i+1]
		}
	}
	return found, nil
}

func (r results) row(line, impls, units []string) error {
	space := strings.LastIndex(line[0], " ")
	nodes, err := strconv.Atoi(line[0][space+1:])
	if err != nil || space < 0 {
		return fmt.Errorf("row %q does not end in a number of nodes", line[0])
	}
	benchmark := strings.TrimSpace(line[0][:space])
	if r[benchmark] == nil {
		r[benchmark] = make(map[int]map[string]cost)
	}
	if r[benchmark][nodes] == nil {
		r[benchmark][nodes] = make(map[string]cost)
	}
	for column := 1; column < min(len(line), len(units)); column++ {
		impl := impls[column]
		if impl == "" || line[column] == "" {
			continue
		}
		value, err := strconv.ParseFloat(line[column], 64)
		if err != nil {
			return fmt.Errorf("row %q, %s of %s: %w", line[0], units[column], impl, err)
		}
		c := r[benchmark][nodes][impl]
		switch units[column] {
		case "sec/node":
			c.time = value
		case "B/op":
			c.bytes = value
		case "allocs/op":
			c.allocs = value
		}
		r[benchmark][nodes][impl] = c
	}
	return nil
}
