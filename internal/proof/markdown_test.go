package proof_test

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	fences   = regexp.MustCompile("(?s)```(\\w*)\n(.*?)```")
	links    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	headings = regexp.MustCompile(`(?m)^#+ (.*)$`)
	goPath   = regexp.MustCompile(`\bgo (?:run|test|build|install|vet) (?:-C (\S+) )?(?:.* )?(\./[\w./-]*|\.)(?:\s|$)`)
	target   = regexp.MustCompile(`(?m)(?:^|&& |\x60)make ([a-z-]+)`)
	targets  = regexp.MustCompile(`(?m)^([a-z-]+):`)
)

// TestLinksAndCommandsOfDocuments: what a document links to is there, and so are the folders and the targets of make that it tells
// the reader to run. What the commands print is the business of other tests.
func TestLinksAndCommandsOfDocuments(t *testing.T) {
	made := map[string]bool{}
	for _, match := range targets.FindAllStringSubmatch(readFile(t, "Makefile"), -1) {
		made[match[1]] = true
	}
	documents := 0
	err := fs.WalkDir(os.DirFS(root), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == "testdata" || name == "build" || name == ".git"):
			return fs.SkipDir
		case entry.IsDir() || path.Ext(name) != ".md":
			return nil
		}
		documents++
		checkLinks(t, name)
		checkCommands(t, name, made)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if documents < 10 {
		t.Errorf("there are %d documents only", documents)
	}
}

func checkLinks(t *testing.T, document string) {
	t.Helper()
	text := fences.ReplaceAllString(readFile(t, document), "")
	for _, match := range links.FindAllStringSubmatch(text, -1) {
		if strings.Contains(match[1], "://") {
			continue
		}
		name, anchor, anchored := strings.Cut(match[1], "#")
		linked := document
		if name != "" {
			linked = path.Join(path.Dir(document), name)
		}
		if !isThere(linked) {
			t.Errorf("%s links to %s, which is not there", document, match[1])
			continue
		}
		if anchored && path.Ext(linked) == ".md" && !hasHeading(readFile(t, linked), anchor) {
			t.Errorf("%s links to %s, and there is no such heading", document, match[1])
		}
	}
}

func checkCommands(t *testing.T, document string, made map[string]bool) {
	t.Helper()
	text := readFile(t, document)
	for _, match := range target.FindAllStringSubmatch(text, -1) {
		if !made[match[1]] {
			t.Errorf("%s says make %s, and the Makefile has no such target", document, match[1])
		}
	}
	for _, fence := range fences.FindAllStringSubmatch(text, -1) {
		if fence[1] != "sh" {
			continue
		}
		where := "" // the folder that lines before have changed to
		for line := range strings.Lines(fence[2]) {
			line, _, _ = strings.Cut(line, " #")
			if folder, found := strings.CutPrefix(strings.TrimSpace(line), "cd "); found && !strings.Contains(folder, " ") {
				where = path.Join(where, folder)
				continue
			}
			match := goPath.FindStringSubmatch(strings.TrimSpace(line))
			if match == nil {
				continue
			}
			folder := strings.TrimSuffix(path.Join(where, match[1], match[2]), "...")
			if !isThere(folder) && !isThere(path.Join(path.Dir(document), folder)) {
				t.Errorf("%s says %q, and there is no folder %s", document, strings.TrimSpace(line), folder)
			}
		}
	}
}

// hasHeading reports whether a document has the heading that an anchor names: its words in lower case, joined by hyphens.
func hasHeading(text, anchor string) bool {
	for _, match := range headings.FindAllStringSubmatch(fences.ReplaceAllString(text, ""), -1) {
		var slug strings.Builder
		for _, r := range strings.ToLower(strings.TrimSpace(match[1])) {
			switch {
			case r == ' ':
				slug.WriteRune('-')
			case r == '-' || r == '_' || r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r > 127:
				slug.WriteRune(r)
			}
		}
		if slug.String() == anchor {
			return true
		}
	}
	return false
}

func isThere(name string) bool {
	_, err := os.Stat(filepath.Join(root, filepath.FromSlash(name)))
	return err == nil
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
