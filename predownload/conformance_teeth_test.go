//go:build teeth

package predownload_test

import (
	"os"
	"testing"

	"github.com/daemonplan/daemonplan/internal/conformance"
)

// TestConformanceRejects shows that the comparison can fail: whatever is changed in what the library does, some case is
// then not explained.
func TestConformanceRejects(t *testing.T) {
	changes := []struct {
		name, why string
		change    func(*outcome)
	}{
		{name: "decision", why: "another word", change: func(o *outcome) { o.Decision += "x" }},
		{name: "error", why: "an error that is none, or none that is one", change: func(o *outcome) { o.Failed = !o.Failed }},
		{name: "images", why: "one more image", change: func(o *outcome) { o.ChangedImagesByContainer["x"] = "x" }},
		{name: "jobs", why: "jobs that are missing", change: func(o *outcome) { o.Jobs = nil }},
		{name: "name", why: "another job", change: func(o *outcome) { eachJob(o, func(j *recordedJob) { j.Name += "x" }) }},
		{name: "image", why: "another image", change: func(o *outcome) { eachJob(o, func(j *recordedJob) { j.Image += "x" }) }},
		{name: "labels", why: "no labels", change: func(o *outcome) { eachJob(o, func(j *recordedJob) { j.Labels = nil }) }},
		{name: "parallelism", why: "another number", change: func(o *outcome) { eachJob(o, func(j *recordedJob) { j.Parallelism.IntVal++ }) }},
		{name: "timeout", why: "another number", change: func(o *outcome) { eachJob(o, func(j *recordedJob) { j.TimeoutSeconds++ }) }},
		{name: "back-off", why: "another number", change: func(o *outcome) { eachJob(o, func(j *recordedJob) { j.BackoffLimit++ }) }},
		{name: "time to live", why: "another number", change: func(o *outcome) { eachJob(o, func(j *recordedJob) { j.TTLSecondsAfterFinished++ }) }},
		{name: "secrets", why: "no secrets", change: func(o *outcome) { eachJob(o, func(j *recordedJob) { j.PullSecrets = nil }) }},
		{name: "selector", why: "all pods", change: func(o *outcome) { eachJob(o, func(j *recordedJob) { j.PodSelector.MatchExpressions = nil }) }},
		{name: "annotations", why: "no annotations", change: func(o *outcome) { eachJob(o, func(j *recordedJob) { j.SandboxAnnotations = nil }) }},
	}
	all := cases(t)
	rows := make(rowNames)
	for _, test := range changes {
		rows.check(t, test.name, test.why)
		unexplained := 0
		for _, c := range all {
			ours := c.ours(t)
			if test.change(&ours); !same(ours, c.model(allRules)) {
				unexplained++
			}
		}
		if unexplained == 0 && os.Getenv(conformance.EnvDir) == "" {
			t.Errorf("%s: %s, and every case is still explained", test.name, test.why)
		}
	}
}

func eachJob(o *outcome, change func(*recordedJob)) {
	for i := range o.Jobs {
		change(&o.Jobs[i])
	}
}

// TestConformanceVariationsNeedEntries: some variation needs each entry of the table.
func TestConformanceVariationsNeedEntries(t *testing.T) {
	neededBy := variations(t, 10)
	for rule, e := range entries {
		if neededBy[rule] == 0 && os.Getenv(conformance.EnvDir) == "" {
			t.Errorf("no variation needs %s", e.id)
		}
	}
}
