package main

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// record is what is known of one package, kept in a file between runs.
type record struct {
	Package string        `json:"package"` // directory relative to the root of the module
	Tests   int           `json:"tests"`
	Effort  time.Duration `json:"effort"`
	Also    []string      `json:"also,omitempty"` // packages whose tests were run on what the package's own left alive
	Slow    []string      `json:"slow,omitempty"` // tests left out for their length
	Failing []string      `json:"failing,omitempty"`
	Results []result      `json:"results"`
}

func recordName(dir, directory string) string {
	return filepath.Join(directory, strings.ReplaceAll(dir, "/", "-")+".json")
}

// readRecord returns an empty record if there is none.
func readRecord(dir, directory string) (*record, error) {
	r := &record{Package: dir}
	text, err := os.ReadFile(recordName(dir, directory))
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	} else if err != nil {
		return nil, err
	}
	return r, json.Unmarshal(text, r)
}

// readRecords reads all there are, by package.
func readRecords(directory string) ([]*record, error) {
	names, err := filepath.Glob(filepath.Join(directory, "*.json"))
	if err != nil {
		return nil, err
	}
	var records []*record
	for _, name := range names {
		r := &record{}
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		if err := json.Unmarshal(text, r); err != nil {
			return nil, err
		}
		records = append(records, r)
	}
	slices.SortFunc(records, func(a, b *record) int { return strings.Compare(a.Package, b.Package) })
	return records, nil
}

func (r *record) write(directory string) error {
	slices.SortFunc(r.Results, func(a, b result) int { return compareMutants(a.Mutant, b.Mutant) })
	text, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(directory, 0o755); err != nil {
		return err
	}
	return os.WriteFile(recordName(r.Package, directory), text, 0o644)
}

// count says how many mutants have a status.
func (r *record) count(s status) int {
	n := 0
	for _, result := range r.Results {
		if result.Status == s {
			n++
		}
	}
	return n
}

// covered counts the mutants that were tried.
func (r *record) covered() int { return r.dead() + r.count(lived) }

func (r *record) dead() int { return r.count(killed) + r.count(expired) }
