package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

func (r result) save(folder string) error {
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, r.Name+".json"), append(data, '\n'), 0o600)
}

// load reads the results that there are, in the order of the cases.
func load(folder string) ([]result, error) {
	var results []result
	for _, c := range cases() {
		data, err := os.ReadFile(filepath.Join(folder, c.name+".json"))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		var r result
		if err := json.Unmarshal(data, &r); err != nil {
			return nil, fmt.Errorf("%s: %w", c.name, err)
		}
		results = append(results, r)
	}
	return results, nil
}

// quantile is the smallest value that such a share of the values does not exceed, as in a forecast.
func quantile(values []float64, share float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[max(0, int(math.Ceil(share*float64(len(sorted))))-1)]
}

// within is how many rollouts took as long as nine of ten simulated runs.
func (r result) within() int {
	n := 0
	for _, took := range r.Seconds {
		if took >= r.Forecast.P5 && took <= r.Forecast.P95 {
			n++
		}
	}
	return n
}

// ratio is the real median by the predicted one.
func (r result) ratio() float64 { return quantile(r.Seconds, 0.5) / r.Forecast.P50 }

// table compares, a line for each case.
func table(results []result) string {
	var b strings.Builder
	b.WriteString("| rollout | nodes | predicted p50 | p5 to p95 | real median | least to most | ratio | within | " +
		"peak predicted | peak |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n")
	for _, r := range results {
		f := r.Forecast
		fmt.Fprintf(&b, "| %s | %d | %s | %s to %s | %s | %s to %s | %.2f | %d of %d | %d | %d |\n", r.What, r.Nodes,
			seconds(f.P50), seconds(f.P5), seconds(f.P95), seconds(quantile(r.Seconds, 0.5)), seconds(slices.Min(r.Seconds)),
			seconds(slices.Max(r.Seconds)), r.ratio(), r.within(), len(r.Seconds), f.Peak, slices.Max(r.Peaks))
	}
	return b.String()
}

func seconds(s float64) string {
	return time.Duration(s * float64(time.Second)).Round(time.Second).String()
}

// tolerance is how far the real median may be from the predicted one.
const tolerance = 0.10

// judge says which forecasts did not come true.
func judge(results []result) error {
	var wrong []error
	for _, r := range results {
		switch {
		case math.Abs(r.ratio()-1) > tolerance:
			wrong = append(wrong, fmt.Errorf("%s: the real median is %.2f of the predicted one", r.Name, r.ratio()))
		case r.within()*10 < 9*len(r.Seconds):
			wrong = append(wrong, fmt.Errorf("%s: %d of %d rollouts are within p5 to p95", r.Name, r.within(), len(r.Seconds)))
		}
		if peak := slices.Max(r.Peaks); peak > r.Forecast.Peak {
			wrong = append(wrong, fmt.Errorf("%s: %d nodes were down at once, predicted were %d", r.Name, peak, r.Forecast.Peak))
		}
	}
	return errors.Join(wrong...)
}

// marks are around the table in a file.
const beginMark, endMark = "<!-- forecasts -->\n", "<!-- /forecasts -->\n"

// insert writes a text between the marks of a file.
func insert(path, text string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	before, rest, ok := strings.Cut(string(data), beginMark)
	_, after, closed := strings.Cut(rest, endMark)
	if !ok || !closed {
		return fmt.Errorf("%s: there is no %s or no %s", path, strings.TrimSpace(beginMark), strings.TrimSpace(endMark))
	}
	return os.WriteFile(path, []byte(before+beginMark+text+endMark+after), 0o600)
}
