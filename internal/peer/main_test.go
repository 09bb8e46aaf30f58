package main

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestParseVersion(t *testing.T) {
	for text, want := range map[string]string{
		"v1.38.0": "v0.38.0", "v1.38.0-beta.0": "v0.38.0-beta.0", "1.38.0": "", "v1.38": "", "v2.0.0": "", "v1..0": "", "": "",
	} {
		v, err := parseVersion(text)
		if err == nil && (v.staging() != want || v.String() != text) || (err == nil) != (want != "") {
			t.Errorf("%q is %q (error %v), want %q", text, v.staging(), err, want)
		}
	}
}

// TestTheProjectIsAtOneVersion: every module that has to do with Kubernetes is at that of the peer.
func TestTheProjectIsAtOneVersion(t *testing.T) {
	p := &peer{root: "../.."}
	var err error
	if p.was, err = p.current(t.Context()); err != nil {
		t.Fatal(err)
	}
	folders, err := p.modules(p.was)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"", "cmd/kubectl-daemonplan", "internal/differential", "internal/release", "test/cluster", "test/integration",
		"examples/controller", "examples/minimal-controller"} {
		if !slices.Contains(folders, filepath.Join(p.root, name)) {
			t.Errorf("module %q is not at %s", name, p.was.staging())
		}
	}
	text, err := os.ReadFile(filepath.Join(p.root, "test", "cluster", "main.go"))
	if err != nil || !strings.Contains(string(text), "gitVersion="+p.was.String()) {
		t.Errorf("the programs of the test cluster do not say that they are of %s (error %v)", p.was, err)
	}
}

func TestFailures(t *testing.T) {
	p := &peer{}
	if got := p.failures("all is well", nil); got != nil {
		t.Errorf("nothing fails, and that is said: %q", got)
	}
	told := p.failures("", errors.New("exit status 1\n=== RUN TestA\n--- FAIL: TestA (0.00s)\n    a_test.go:1: x\nFAIL\tpkg\t0.1s\nok\tother"))
	if want := []string{"--- FAIL: TestA (0.00s)", "FAIL\tpkg\t0.1s"}; !slices.Equal(told, want) {
		t.Errorf("got %q, want %q", told, want)
	}
	if got := p.failures("", errors.New("no network\nat all")); !slices.Equal(got, []string{"no network", "at all"}) {
		t.Errorf("what is not known is not told: %q", got)
	}
}
