package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// variant is a package rewritten: all its mutants in one copy of the source, which exists only in the overlay that the go
// command is given. The checkout is never written.
type variant struct {
	*subject
	sites      []*site
	last       int // the largest number of a mutant
	scratch    string
	uncompiled []*mutant
}

// newVariant rewrites a package into a directory of its own. Only sites that keep accepts are changed.
func newVariant(s *subject, scratch string, keep func(*mutant) bool) *variant {
	v := &variant{subject: s, scratch: scratch}
	var all []*site
	all, v.last = find(s)
	for _, site := range all {
		site.mutants = slices.DeleteFunc(site.mutants, func(m *mutant) bool { return !keep(m) })
		if len(site.mutants) > 0 {
			v.sites = append(v.sites, site)
		}
	}
	return v
}

// mutants in the order of the source.
func (v *variant) mutants() []*mutant {
	var all []*mutant
	for _, s := range v.sites {
		all = append(all, s.mutants...)
	}
	slices.SortFunc(all, compareMutants)
	return all
}

// overlay writes the rewritten files and returns the name of the file that tells the go command about them.
func (v *variant) overlay() (string, error) {
	replace := map[string]string{}
	put := func(name string, text []byte) error {
		file := filepath.Join(v.scratch, name)
		replace[filepath.Join(v.root, filepath.FromSlash(v.dir), name)] = file
		return os.WriteFile(file, text, 0o644)
	}
	for _, file := range v.files {
		if err := put(file.name, render(file, v.sites)); err != nil {
			return "", err
		}
	}
	if err := put("mutation_schema.go", schema(v.name, v.last)); err != nil {
		return "", err
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	name := filepath.Join(v.scratch, "overlay.json")
	return name, os.WriteFile(name, text, 0o644)
}

// attempts is how often a build is tried again without what did not compile.
const attempts = 8

// binary builds the tests of the package in dir (relative to root, like subject.dir) against the mutants. It returns "" if
// there are none. What does not compile is left out.
func (v *variant) binary(dir string) (string, error) {
	out := filepath.Join(v.scratch, strings.ReplaceAll(dir, "/", "-")+".test")
	for range attempts {
		overlay, err := v.overlay()
		if err != nil {
			return "", err
		}
		_, err = goCommand(v.root, "test", "-c", "-gcflags=-e", "-overlay", overlay, "-o", out, "./"+dir)
		if err == nil {
			if _, err := os.Stat(out); errors.Is(err, fs.ErrNotExist) {
				return "", nil
			}
			return out, nil
		}
		if v.leaveOut(err.Error()) == 0 {
			return "", err
		}
	}
	return "", fmt.Errorf("%s: does not compile even without what did not in %d attempts", v.path, attempts)
}

var complaint = regexp.MustCompile(`(?m)^(?:\S*/)?([^/\s:]+\.go):(\d+):`)

// leaveOut drops the sites on the lines that the compiler complains about, and says how many there were.
func (v *variant) leaveOut(output string) int {
	bad := map[string]bool{}
	for _, m := range complaint.FindAllStringSubmatch(output, -1) {
		bad[m[1]+":"+m[2]] = true
	}
	before := len(v.sites)
	v.sites = slices.DeleteFunc(v.sites, func(s *site) bool {
		if !bad[s.mutants[0].File+":"+strconv.Itoa(s.mutants[0].Line)] {
			return false
		}
		v.uncompiled = append(v.uncompiled, s.mutants...)
		return true
	})
	return before - len(v.sites)
}
