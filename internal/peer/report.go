package main

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
)

// report says what differs at the new version, section by section.
func (p *peer) report(ctx context.Context) error {
	was, err := p.download(ctx, kubernetes, p.was.String())
	if err != nil {
		return err
	}
	is, err := p.download(ctx, kubernetes, p.is.String())
	if err != nil {
		return err
	}
	for _, part := range []struct{ title, path string }{
		{"The controller", "pkg/controller/daemon"},
		{"Its revisions", "pkg/controller/history"},
		{"Defaults of pods", "pkg/apis/core/v1/defaults.go"},
		{"Defaults of sets", "pkg/apis/apps/v1/defaults.go"},
	} {
		p.section(part.title, p.changed(ctx, filepath.Join(was, part.path), filepath.Join(is, part.path)))
	}
	fields, err := p.fields(ctx)
	if err != nil {
		return err
	}
	p.section("Fields of objects (core/v1, apps/v1)", fields)
	folders, err := p.modules(p.is)
	if err != nil {
		return err
	}
	for _, folder := range folders {
		name, err := filepath.Rel(p.root, folder)
		if err != nil {
			return err
		}
		p.section("Module "+name+" builds", p.failures(output(ctx, folder, "go", "vet", "./...")))
	}
	p.section("The tests of the library", p.failures(output(ctx, p.root, "go", "test", "./...")))
	p.section("The controller's own tests", p.failures(output(ctx, p.root, "go", "run", "./internal/peersuite")))
	p.section("The differential", p.failures(output(ctx, filepath.Join(p.root, differential), "go", "test", "./...")))
	return nil
}

// section prints what a part says; nothing: it is the same.
func (p *peer) section(title string, lines []string) {
	if len(lines) == 0 {
		fmt.Fprintf(p.out, "\n%s: nothing differs.\n", title)
		return
	}
	fmt.Fprintf(p.out, "\n%s:\n", title)
	for _, line := range lines {
		fmt.Fprintf(p.out, "  %s\n", line)
	}
}

// download returns where a module is in the module cache.
func (p *peer) download(ctx context.Context, module, version string) (string, error) {
	text, err := output(ctx, filepath.Join(p.root, differential), "go", "mod", "download", "-json", module+"@"+version)
	if err != nil {
		return "", err
	}
	var found struct{ Dir string }
	if err := json.Unmarshal([]byte(text), &found); err != nil {
		return "", err
	}
	return found.Dir, nil
}

var (
	file    = regexp.MustCompile(`[^ {}]+\.go\b`)
	message = regexp.MustCompile(`^[-+ ]message (\w+) \{`)
)

// changed lists the files that differ, with how many lines came and went.
func (p *peer) changed(ctx context.Context, was, is string) []string {
	text, _ := output(ctx, p.root, "git", "diff", "--no-index", "--numstat", was, is) // it fails where there are differences
	var lines []string
	for line := range strings.Lines(text) {
		counts := strings.Fields(line)
		if len(counts) < 3 {
			continue
		}
		name := filepath.Base(file.FindString(line)) // which stands there twice, or once beside the null device
		lines = append(lines, fmt.Sprintf("%s: %s lines more, %s fewer", name, counts[0], counts[1]))
	}
	return lines
}

// field is a line of a definition that has come or gone.
var field = regexp.MustCompile(`^[-+] +(?:optional|repeated|map<.*>) ?.* = \d+;$`)

// fields lists the fields that objects have got or lost. Each makes other hashes of templates, if it is one of a template's.
func (p *peer) fields(ctx context.Context) ([]string, error) {
	was, err := p.download(ctx, "k8s.io/api", p.was.staging())
	if err != nil {
		return nil, err
	}
	is, err := p.download(ctx, "k8s.io/api", p.is.staging())
	if err != nil {
		return nil, err
	}
	var lines []string
	for _, group := range []string{"core", "apps"} {
		definition := filepath.Join(group, "v1", "generated.proto")
		text, _ := output(ctx, p.root, "git", "diff", "--no-index", "--function-context",
			filepath.Join(was, definition), filepath.Join(is, definition))
		of := ""
		for line := range strings.Lines(text) {
			line = strings.TrimRight(line, "\n")
			if found := message.FindStringSubmatch(line); found != nil {
				of = found[1]
			}
			if field.MatchString(line) {
				lines = append(lines, line[:1]+" "+of+": "+strings.TrimSpace(line[1:]))
			}
		}
	}
	return lines, nil
}

// failed are the lines by which the go command, its tests and our programs say what is wrong.
var failed = regexp.MustCompile(
	`(?m)^(\s*--- FAIL: .*|FAIL\t.*|.*\.go:\d+:\d+: .*|not (?:so any more|in the document): .*|panic: .*)$`)

// failures are what a command says is wrong.
func (p *peer) failures(_ string, err error) []string {
	if err == nil {
		return nil
	}
	const most = 40
	lines := failed.FindAllString(err.Error(), -1)
	switch {
	case len(lines) == 0:
		return strings.Split(strings.TrimSpace(err.Error()), "\n")
	case len(lines) > most:
		return append(lines[:most], fmt.Sprintf("and %d more", len(lines)-most))
	default:
		return lines
	}
}
