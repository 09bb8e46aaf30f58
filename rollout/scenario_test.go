package rollout_test

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/daemonplan/daemonplan/rollout/rollouttest/transcript"
)

var updateScenarios = flag.Bool("update", false, "rewrite the expected outputs in testdata/scenarios; read the diff before you commit it")

// TestScenario plays the narrated transcripts in testdata/scenarios: each is one story of a set on a small cluster. The
// language is that of package transcript.
func TestScenario(t *testing.T) {
	transcript.RunDir(t, filepath.Join("testdata", "scenarios"), *updateScenarios)
}

// citation is the number of a rule or an invariant.
var citation = regexp.MustCompile(`\b[PRMTBILDCFSV]\d+\b`)

// TestScenarioCites: a story of this repository shows rules, and its header says which.
func TestScenarioCites(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "scenarios", "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios found (error: %v)", err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if header, _, _ := strings.Cut(string(data), "\n\n"); !citation.MatchString(header) {
			t.Errorf("%s: the header cites no rule", file)
		}
	}
}
