package main

import (
	"bytes"
	"fmt"
	"os/exec"
	"path"
	"regexp"
	"strconv"
	"strings"
)

// lines of files (relative to the directory asked about) that changed.
type lines map[string]map[int]bool

// changedSince asks git which lines of Go files in root are not as they were at a revision, uncommitted ones included, but
// no files that git does not know yet.
func changedSince(root, revision string) (lines, error) {
	command := exec.Command(
		"git", "diff", "--no-color", "--no-ext-diff", "--no-renames", "--relative", "-U0", revision, "--", "*.go")
	command.Dir = root
	var out, complaint bytes.Buffer
	command.Stdout, command.Stderr = &out, &complaint
	if err := command.Run(); err != nil {
		return nil, fmt.Errorf("git diff %s: %w\n%s", revision, err, strings.TrimSpace(complaint.String()))
	}
	return readDiff(out.String()), nil
}

var hunk = regexp.MustCompile(`^@@ -\S+ \+(\d+)(?:,(\d+))? @@`)

// readDiff reads a unified diff without context.
func readDiff(diff string) lines {
	changed := lines{}
	file := ""
	for line := range strings.Lines(diff) {
		line = strings.TrimRight(line, "\n")
		if name, ok := strings.CutPrefix(line, "+++ "); ok {
			file = strings.TrimPrefix(name, "b/")
			continue
		}
		m := hunk.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		begin, _ := strconv.Atoi(m[1]) // the expression matched digits
		count := 1
		if m[2] != "" {
			count, _ = strconv.Atoi(m[2])
		}
		for i := range count {
			if changed[file] == nil {
				changed[file] = map[int]bool{}
			}
			changed[file][begin+i] = true
		}
	}
	return changed
}

// touches says whether a mutant of the package in dir begins on a changed line.
func (l lines) touches(dir string, m *mutant) bool {
	return l[path.Join(dir, m.File)][m.Line]
}

// inside says whether a file of the package in dir changed.
func (l lines) inside(dir string) bool {
	for file := range l {
		if path.Dir(file) == dir && !strings.HasSuffix(file, "_test.go") {
			return true
		}
	}
	return false
}
