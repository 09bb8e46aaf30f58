package main

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// TestBuildsAtOnce: clones that share a cache folder may build at the same time. Each ends with the binary in its place, and
// nothing else is left behind.
func TestBuildsAtOnce(t *testing.T) {
	assets := filepath.Join(t.TempDir(), "assets")
	hello := component{name: "hello", path: "./testdata/hello"}
	errs := make([]error, 4)
	var builds sync.WaitGroup
	for i := range errs {
		builds.Go(func() { errs[i] = hello.build(t.Context(), assets, io.Discard) })
	}
	builds.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Error(err)
	}
	out, err := exec.CommandContext(t.Context(), filepath.Join(assets, "hello")).CombinedOutput()
	if err != nil || string(out) != "hello\n" {
		t.Errorf("it says %q: %v", out, err)
	}
	if left, err := os.ReadDir(assets); err != nil || len(left) != 1 {
		t.Errorf("left behind: %v: %v", left, err)
	}
}

// TestBuildThatFails: nothing is left behind that the next run would take for the binary.
func TestBuildThatFails(t *testing.T) {
	assets := t.TempDir()
	missing := component{name: "missing", path: "./testdata/missing"}
	if err := missing.build(t.Context(), assets, io.Discard); err == nil {
		t.Error("no error")
	}
	if left, err := os.ReadDir(assets); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v: %v", left, err)
	}
}

// TestBuildOnce: what is there is not built again.
func TestBuildOnce(t *testing.T) {
	assets := t.TempDir()
	if err := os.WriteFile(filepath.Join(assets, "missing"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	missing := component{name: "missing", path: "./testdata/missing"}
	if err := missing.build(t.Context(), assets, io.Discard); err != nil {
		t.Error(err)
	}
}

func TestChoose(t *testing.T) {
	chosen, err := choose([]string{"kubectl"})
	var names []string
	for _, c := range chosen {
		names = append(names, c.name)
	}
	if got := strings.Join(names, " "); err != nil || got != "etcd kube-apiserver kubectl" {
		t.Errorf("chosen are %s: %v", got, err)
	}
	if _, err := choose([]string{"kubelet"}); err == nil || !strings.Contains(err.Error(), `no component "kubelet"`) {
		t.Errorf("the error is %v", err)
	}
}
