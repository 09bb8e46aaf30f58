package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "peer:", err)
		os.Exit(1)
	}
}

// kubernetes is the module whose controller is the peer, and differential the module of the project that requires it.
const (
	kubernetes   = "k8s.io/kubernetes"
	differential = "internal/differential"
)

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("peer", flag.ContinueOnError)
	version := flags.String("version", "", "the version of Kubernetes to take the project to, such as v1.38.0")
	write := flags.Bool("write", false, "change the checkout itself, not a copy")
	if err := flags.Parse(args); err != nil {
		return err
	}
	root, err := output(ctx, ".", "git", "rev-parse", "--show-toplevel")
	if err != nil {
		return err
	}
	p := &peer{root: strings.TrimSpace(root), out: out}
	if p.was, err = p.current(ctx); err != nil {
		return err
	}
	if *version == "" {
		return p.listNewer(ctx)
	}
	if p.is, err = parseVersion(*version); err != nil {
		return err
	}
	if !*write {
		if err := p.copy(ctx); err != nil {
			return err
		}
	}
	if err := p.take(ctx); err != nil {
		return err
	}
	return p.report(ctx)
}

// peer is the project on its way from one version to another.
type peer struct {
	root    string // of the checkout, or of the copy
	was, is version
	out     io.Writer
}

// version of Kubernetes, such as v1.37.2.
type version struct{ minor, rest string }

func parseVersion(text string) (version, error) {
	minor, rest, ok := strings.Cut(strings.TrimPrefix(text, "v1."), ".")
	if !ok || !strings.HasPrefix(text, "v1.") || strings.Trim(minor, "0123456789") != "" || minor == "" || rest == "" {
		return version{}, fmt.Errorf("version %q: it must be one of %s, such as v1.38.0", text, kubernetes)
	}
	return version{minor, rest}, nil
}

func (v version) String() string { return "v1." + v.minor + "." + v.rest }

// staging is the version of the modules that are published with it, such as k8s.io/api.
func (v version) staging() string { return "v0." + v.minor + "." + v.rest }

// current is the version that the differential requires.
func (p *peer) current(ctx context.Context) (version, error) {
	text, err := output(ctx, filepath.Join(p.root, differential), "go", "list", "-m", "-f", "{{.Version}}", kubernetes)
	if err != nil {
		return version{}, err
	}
	return parseVersion(strings.TrimSpace(text))
}

// listNewer prints the versions that come after the one that the project is at.
func (p *peer) listNewer(ctx context.Context) error {
	text, err := output(ctx, filepath.Join(p.root, differential), "go", "list", "-m", "-versions", kubernetes)
	if err != nil {
		return err
	}
	_, newer, found := strings.Cut(text, " "+p.was.String())
	if !found {
		newer = ""
	}
	fmt.Fprintf(p.out, "The project is at Kubernetes %s. Newer: %s\n", p.was, cmp.Or(strings.TrimSpace(newer), "none"))
	return nil
}

// copy makes a copy of the checkout in build/peer, of what is committed and what is not, but for what git ignores.
func (p *peer) copy(ctx context.Context) error {
	list, err := output(ctx, p.root, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	if err != nil {
		return err
	}
	to := filepath.Join(p.root, "build", "peer")
	if err := os.RemoveAll(to); err != nil {
		return err
	}
	for name := range strings.SplitSeq(strings.TrimRight(list, "\x00"), "\x00") {
		data, err := os.ReadFile(filepath.Join(p.root, name))
		if errors.Is(err, os.ErrNotExist) {
			continue // it is deleted, and not committed
		}
		if err == nil {
			err = os.MkdirAll(filepath.Dir(filepath.Join(to, name)), 0o755)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(to, name), data, 0o644)
		}
		if err != nil {
			return err
		}
	}
	fmt.Fprintf(p.out, "The copy is in %s.\n", to)
	p.root = to
	// Some tests and programs ask git where the checkout is.
	if _, err := output(ctx, to, "git", "init", "-q"); err != nil {
		return err
	}
	return nil
}

// modules are the folders of the project's modules that are at a version.
func (p *peer) modules(at version) ([]string, error) {
	var folders []string
	err := filepath.WalkDir(p.root, func(path string, entry os.DirEntry, err error) error {
		switch name := entry.Name(); {
		case err != nil:
			return err
		case entry.IsDir() && path != p.root && (name == "build" || name == "testdata" || strings.HasPrefix(name, ".")):
			return filepath.SkipDir
		case name != "go.mod":
			return nil
		}
		data, err := os.ReadFile(path)
		if err == nil && bytes.Contains(data, []byte(at.staging())) {
			folders = append(folders, filepath.Dir(path))
		}
		return err
	})
	return folders, err
}

// take sets the version in every module, and in the programs of the test cluster, which say it.
func (p *peer) take(ctx context.Context) error {
	folders, err := p.modules(p.was)
	if err != nil {
		return err
	}
	for _, folder := range folders {
		if err := replaceIn(filepath.Join(folder, "go.mod"), p.was.staging(), p.is.staging()); err != nil {
			return err
		}
		if err := replaceIn(filepath.Join(folder, "go.mod"), p.was.String(), p.is.String()); err != nil {
			return err
		}
	}
	if err := replaceIn(filepath.Join(p.root, "test", "cluster", "main.go"), p.was.String(), p.is.String()); err != nil {
		return err
	}
	for _, folder := range folders { // once all are set, since some require others
		if _, err := output(ctx, folder, "go", "mod", "tidy"); err != nil {
			return err
		}
	}
	fmt.Fprintf(p.out, "%d modules are at Kubernetes %s instead of %s.\n", len(folders), p.is, p.was)
	return nil
}

func replaceIn(file, old, now string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	return os.WriteFile(file, bytes.ReplaceAll(data, []byte(old), []byte(now)), 0o644)
}

// output runs a command in a folder and returns what it prints. A failure holds what it prints as well.
func output(ctx context.Context, dir, name string, args ...string) (string, error) {
	command := exec.CommandContext(ctx, name, args...)
	command.Dir, command.Env = dir, append(os.Environ(), "GOWORK=off")
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		return string(out), fmt.Errorf("%s %s in %s: %w\n%s%s", name, strings.Join(args, " "), dir, err, out, stderr.Bytes())
	}
	return string(out), nil
}
