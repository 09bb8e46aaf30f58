package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// kubelet puts a test into the package of the kubelet that decides which containers restart, in the place of its own, and runs
// it for that many drawn updates in place. What is drawn, and the API server that takes the patches, are those of the
// differential.
func (w *workspace) kubelet(ctx context.Context, cases int, out io.Writer) error {
	if err := errors.Join(w.remove(), os.MkdirAll(w.dir, 0o755)); err != nil {
		return err
	}
	published, err := w.published(ctx)
	if err != nil {
		return err
	}
	if err := w.writeModule(ctx); err != nil {
		return err
	}
	if err := w.copyKubelet(filepath.Join(published, "pkg", "kubelet", "kuberuntime")); err != nil {
		return err
	}
	command := exec.CommandContext(ctx, "go", "test", "-mod=mod", "-vet=off", "-count=1", "-v",
		"./kuberuntime", "-args", "-n", strconv.Itoa(cases))
	command.Dir, command.Env = w.dir, append(os.Environ(), "GOWORK=off")
	command.Stdout, command.Stderr = out, out
	return command.Run()
}

// copyKubelet copies the package, without its own tests, which need more modules than the kubelet, and puts the test there.
func (w *workspace) copyKubelet(from string) error {
	to := filepath.Join(w.dir, "kuberuntime")
	entries, err := os.ReadDir(from)
	if err := errors.Join(err, os.MkdirAll(to, 0o755)); err != nil {
		return err
	}
	files := map[string][]byte{}
	for _, entry := range entries {
		name := entry.Name()
		if entry.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			continue
		}
		if files[name], err = os.ReadFile(filepath.Join(from, name)); err != nil {
			return err
		}
	}
	if files["daemonplan_restarts_test.go"], err = adapter.ReadFile("testdata/kubelet/restarts.go"); err != nil {
		return err
	}
	for _, name := range []string{"draw_test.go", "server_test.go", "text_test.go"} {
		data, err := os.ReadFile(filepath.Join(w.root, "internal", "differential", "podupdates", name))
		if err != nil {
			return err
		}
		files["daemonplan_"+name] = bytes.Replace(data, []byte("package podupdates\n"), []byte("package kuberuntime\n"), 1)
	}
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(to, name), data, 0o644); err != nil {
			return err
		}
	}
	return nil
}
