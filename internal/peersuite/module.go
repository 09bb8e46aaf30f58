package main

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
)

const (
	// module is the path of the temporary module.
	module = "peersuite"
	// upstream is the package of the controller, and library the module under test.
	upstream = "k8s.io/kubernetes/pkg/controller/daemon"
	library  = "github.com/daemonplan/daemonplan"
)

// adapter holds the source that takes the place of what is replaced. It compiles with the controller only.
//
//go:embed testdata/adapter testdata/kubelet
var adapter embed.FS

// workspace is the temporary module. Its place is the same each time, because the build cache goes by it.
type workspace struct {
	root string // of the checkout
	dir  string
	// version of the published module, such as v1.37.2.
	version string
}

func newWorkspace(root string) *workspace {
	return &workspace{root: root, dir: filepath.Join(root, "build", "peersuite")}
}

// fill writes the temporary module: the controller's package, its tests as they are published, and the adapter.
func (w *workspace) fill(ctx context.Context) error {
	if err := errors.Join(w.remove(), os.MkdirAll(w.dir, 0o755)); err != nil {
		return err
	}
	published, err := w.published(ctx)
	if err != nil {
		return err
	}
	return errors.Join(
		w.writeModule(ctx),
		w.copyPackage(filepath.Join(published, "pkg", "controller", "daemon"), "daemon", &daemonEdits),
		w.copyPackage(filepath.Join(published, "pkg", "controller", "daemon", "util"), "daemon/util", &utilEdits),
		w.writeAdapter("daemon/plan.go", "daemon"),
		w.writeAdapter("daemon/claim.go", "daemon"),
		w.writeAdapter("daemon/bench.go", "daemon"),
		w.writeAdapter("util/util.go", "daemon/util"),
	)
}

// remove takes the temporary module away.
func (w *workspace) remove() error { return os.RemoveAll(w.dir) }

// published is the folder of the module that the differential requires, in the module cache.
func (w *workspace) published(ctx context.Context) (string, error) {
	differential := filepath.Join(w.root, "internal", "differential")
	out, err := goCommand(ctx, differential, "list", "-m", "-f", "{{.Version}}", "k8s.io/kubernetes")
	if err != nil {
		return "", err
	}
	w.version = strings.TrimSpace(string(out))
	out, err = goCommand(ctx, differential, "mod", "download", "-json", "k8s.io/kubernetes@"+w.version)
	if err != nil {
		return "", err
	}
	var downloaded struct{ Dir string }
	if err := json.Unmarshal(out, &downloaded); err != nil {
		return "", err
	}
	return downloaded.Dir, nil
}

// writeModule derives go.mod and go.sum from those of the differential, which requires all of k8s.io/kubernetes already.
func (w *workspace) writeModule(ctx context.Context) error {
	for _, name := range []string{"go.mod", "go.sum"} {
		data, err := os.ReadFile(filepath.Join(w.root, "internal", "differential", name))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(w.dir, name), data, 0o644); err != nil {
			return err
		}
	}
	_, err := goCommand(ctx, w.dir, "mod", "edit", "-module="+module, "-replace="+library+"="+w.root)
	return err
}

// copyPackage copies one folder without those below it. Tests are copied as they are.
func (w *workspace) copyPackage(from, to string, e *edits) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(w.dir, filepath.FromSlash(to)), 0o755); err != nil {
		return err
	}
	var found []string
	for _, entry := range entries {
		name := entry.Name()
		if entry.IsDir() || !strings.HasSuffix(name, ".go") {
			continue
		}
		data, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			return err
		}
		if !strings.HasSuffix(name, "_test.go") {
			var here []string
			if data, here, err = e.apply(name, data); err != nil {
				return err
			}
			found = append(found, here...)
		}
		if err := os.WriteFile(filepath.Join(w.dir, filepath.FromSlash(to), name), data, 0o644); err != nil {
			return err
		}
	}
	return e.complete(found)
}

// writeAdapter writes a file of ours beside the controller's, into package to.
func (w *workspace) writeAdapter(from, to string) error {
	data, err := adapter.ReadFile("testdata/adapter/" + from)
	if err != nil {
		return err
	}
	data = bytes.ReplaceAll(data, []byte(`"`+upstream+`/util"`), []byte(`"`+path.Join(module, "daemon", "util")+`"`))
	return os.WriteFile(filepath.Join(w.dir, filepath.FromSlash(to), "adapter_"+path.Base(from)), data, 0o644)
}

// goCommand runs the go command in a folder. A failure holds what it printed.
func goCommand(ctx context.Context, dir string, args ...string) ([]byte, error) {
	command := exec.CommandContext(ctx, "go", args...)
	command.Dir = dir
	command.Env = append(os.Environ(), "GOWORK=off")
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		return out, fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, bytes.TrimSpace(stderr.Bytes()))
	}
	return out, nil
}
