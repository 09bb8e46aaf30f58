package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/controllers"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/plan"
)

// TestDump plans a small dump, and compares the plan with what the dump was generated from.
func TestDump(t *testing.T) {
	var d plan.Document
	out := ours(t, string(dump(300)), "-f", "-", "-o", "json", "--now", dumpNow.Format(time.RFC3339))
	if err := json.Unmarshal([]byte(out), &d); err != nil {
		t.Fatal(err)
	}
	// A third of the nodes is updated. Of the other nodes, as many as 2 % of the 300 may be replaced.
	if s := d.Status; s.Desired != 300 || s.Available != 300 || s.Updated != 100 || len(d.Actions.Deletes) != 6 || d.Budget.Waiting != 194 {
		t.Errorf("status %+v, %d deletes, %d waiting", s, len(d.Actions.Deletes), d.Budget.Waiting)
	}
	explain := []string{"explain", "-f", "-", "ip-10-0-1-43.eu-west-1.compute.internal"}
	now := dumpNow.Format(time.RFC3339)
	if text := ours(t, string(dump(300)), append(explain, "--now", now)...); !strings.Contains(text, "outdated; ") {
		t.Errorf("explain prints %q", text)
	}
}

// Whoever looks at an old dump is told that the plan is for another time, and how to plan for that of the dump.
func TestOldDumpsSaySo(t *testing.T) {
	const old = "warning: the latest time in the objects is 2026-03-02T09:00:00Z, 365d1h ago, and this is planned for now; " +
		"--now 2026-03-02T09:00:00Z plans for then\n"
	for _, args := range [][]string{{"plan"}, {"diff"}, {"rollout", "status"}} {
		if _, _, stderr := call(string(dump(3)), append(args, "-f", "-")...); stderr != old {
			t.Errorf("%v: standard error is %q, want %q", args, stderr, old)
		}
		if _, _, stderr := call(string(dump(3)), append(args, "-f", "-", "--now", present().Format(time.RFC3339))...); stderr != "" {
			t.Errorf("%v with --now: standard error is %q", args, stderr)
		}
	}
	const young = "apiVersion: v1\nkind: Node\nmetadata: {name: a}\nstatus: {conditions: [{type: Ready, status: 'True', lastHeartbeatTime: '%s'}]}\n"
	node := fmt.Sprintf(young, present().Add(-longestFresh+time.Second).Format(time.RFC3339))
	if _, _, stderr := call(string(dump(3))+"---\n"+node, "plan", "-f", "-"); stderr != "" {
		t.Errorf("with a dump of the last minutes, standard error is %q", stderr)
	}
}

// BenchmarkLoad reads the dump of a large cluster. Its MB/s can be compared with those of the parser.
func BenchmarkLoad(b *testing.B) {
	data := dump(*dumpNodes)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if err := objects.New().Add(objects.File{Name: "dump", Text: data}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkPlanShare runs the whole program on the dump, and reports the share of the time that planning takes.
func BenchmarkPlanShare(b *testing.B) {
	data := string(dump(*dumpNodes))
	var read, planned time.Duration
	for b.Loop() {
		begin := time.Now()
		in := objects.New()
		if err := in.Read(&objects.Files{Stdin: strings.NewReader(data)}, []string{"-"}); err != nil {
			b.Fatal(err)
		}
		target, err := in.Choose(objects.Ref{})
		if err != nil {
			b.Fatal(err)
		}
		middle := time.Now()
		result, err := plan.Decide(in, target, dumpNow, controllers.Daemonplan)
		if err != nil {
			b.Fatal(err)
		}
		planned += time.Since(middle)
		read += middle.Sub(begin)
		result.Report(io.Discard, false)
	}
	b.ReportMetric(100*planned.Seconds()/(read+planned).Seconds(), "%planning")
}
