package simulation

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/simulate"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/exit"
)

func TestTable(t *testing.T) {
	golden(t, "table.txt", answer(t, small()...))
	golden(t, "table-seeds.txt", answer(t, small("--seeds", "9")...))
}

// The same seed gives the same bytes. They depend neither on how many runs are made at a time, nor on whether there is a
// terminal.
func TestSameBytes(t *testing.T) {
	for _, name := range studyNames() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args := []string{"study", name, "--scale", "0.01", "--seeds", "2", "--out"}
			first, second := t.TempDir(), t.TempDir()
			code, table, stderr := call(1, false, append(args, first)...)
			if code != exit.OK {
				t.Fatal(stderr)
			}
			_, again, _ := call(3, true, append(args, second)...)
			if again != table {
				t.Errorf("the tables differ:\n%s\n%s", table, again)
			}
			files, others := tree(t, first), tree(t, second)
			if !slices.Equal(slices.Sorted(maps.Keys(files)), slices.Sorted(maps.Keys(others))) {
				t.Fatalf("there are other files: %v and %v", slices.Sorted(maps.Keys(files)), slices.Sorted(maps.Keys(others)))
			}
			for file := range files {
				if files[file] != others[file] {
					t.Errorf("%s differs between two runs", file)
				}
			}
			_, other, _ := call(2, false, "study", name, "--scale", "0.01", "--seeds", "2", "--seed", "77")
			if other == table {
				t.Error("another seed gives the same table: nothing is drawn")
			}
		})
	}
}

func TestOut(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "report")
	answer(t, small("--out", dir)...)
	files := tree(t, dir)
	want := []string{
		"heatmap.png", "heatmap.svg", "history-surge.csv", "history-surge.jsonl", "history-v2.csv", "history-v2.jsonl",
		"progress.png", "progress.svg", "registry.png", "registry.svg", "report.html", "unavailable.png", "unavailable.svg",
	}
	if got := slices.Sorted(maps.Keys(files)); !slices.Equal(got, want) {
		t.Fatalf("files %v, want %v", got, want)
	}
	for _, name := range want {
		if strings.HasSuffix(name, ".png") && !strings.HasPrefix(files[name], "\x89PNG") {
			t.Errorf("%s is no PNG", name)
		}
	}
	rows, err := csv.NewReader(strings.NewReader(files["history-v2.csv"])).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(files["history-v2.jsonl"]), "\n")
	if len(rows) != len(lines)+1 || len(lines) < 12*5 {
		t.Errorf("%d rows of CSV with the head, %d lines of JSON", len(rows), len(lines))
	}
	var created int
	for _, line := range lines {
		var r simulate.Record
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		created += one(r.Kind == simulate.PodCreated)
	}
	if created != 12 {
		t.Errorf("the history has %d pods created, want one on each of 12 nodes", created)
	}
}

// fetches matches what a browser would load: everything but anchors within the page and data in the page itself.
var fetches = regexp.MustCompile(`(?i)(\b(src|href|data|action|poster|srcset)\s*=\s*["']?(?:[^"'\s>]*)|@import[^;]*|url\([^)]*\)|<(link|iframe|object|embed|base)\b[^>]*)`)

func TestPageNeedsNoNetwork(t *testing.T) {
	dir := t.TempDir()
	answer(t, small("--out", dir)...)
	page := tree(t, dir)["report.html"]
	for _, found := range fetches.FindAllString(page, -1) {
		_, target, _ := strings.Cut(found, "=")
		if target = strings.Trim(target, `"' `); !strings.HasPrefix(target, "data:image/png;base64,") {
			t.Errorf("the page would load %.80q", found)
		}
	}
	for _, scheme := range []string{"http:", "https:", "ws:", "file:", `"//`} {
		if strings.Contains(page, scheme) {
			t.Errorf("%s is in the page", scheme)
		}
	}
	for _, call := range []string{"fetch(", "XMLHttpRequest", "import(", "sendBeacon"} {
		if strings.Contains(page, call) {
			t.Errorf("%s is in the page", call)
		}
	}
	if !strings.Contains(page, `default-src 'none'`) {
		t.Error("no policy in the page forbids to load anything")
	}
	for _, planted := range []string{`<img src="http://x/y.png">`, `<link rel=stylesheet href=x.css>`, `<a href=x>`, `@import "x";`} {
		if !fetches.MatchString(planted) {
			t.Errorf("the test would not see %s", planted)
		}
	}
}

// Names come from files of an unknown source, so the page escapes them.
func TestPageEscapes(t *testing.T) {
	const evil = `</script><script>alert(1)</script>`
	fleet := write(t, "fleet.yaml", "pools:\n- {name: web, nodes: 4, zones: [a, b]}\n# "+evil+"\n")
	dir := t.TempDir()
	answer(t, "simulate", "--fleet", fleet, "--from", oldManifest, "--spec", evil+"="+newManifest, "--world", worldFileIn, "--out", dir)
	files := tree(t, dir)
	for name, text := range files {
		if strings.HasSuffix(name, ".html") || strings.HasSuffix(name, ".svg") {
			if strings.Contains(text, "<script>alert") {
				t.Errorf("a label became a script in %s", name)
			}
		}
	}
	if n := strings.Count(files["report.html"], "<script>"); n != 1 {
		t.Errorf("%d scripts in the page, want its own", n)
	}
}

func TestProgressBar(t *testing.T) {
	_, _, silent := call(2, false, small()...)
	if silent != "" {
		t.Errorf("without a terminal standard error has %q", silent)
	}
	_, _, shown := call(2, true, small()...)
	if !strings.Contains(shown, "simulating") {
		t.Errorf("on a terminal standard error has %q, and no progress", shown)
	}
}

func TestHistoryFile(t *testing.T) {
	dir := t.TempDir()
	answer(t, "simulate", "--nodes", "3", "--spec", newManifest, "--history", filepath.Join(dir, "one.csv"))
	answer(t, small("--history", filepath.Join(dir, "two.jsonl"))...)
	want := []string{"one.csv", "two-surge.jsonl", "two-v2.jsonl"}
	if got := slices.Sorted(maps.Keys(tree(t, dir))); !slices.Equal(got, want) {
		t.Errorf("files %v, want %v", got, want)
	}
}

// Without a terminal, a line now and then says how much is done: no line for what is done at once.
func TestProgressInALog(t *testing.T) {
	begin := time.Date(2026, 3, 2, 9, 15, 0, 0, time.UTC)
	var out strings.Builder
	s := &progress{jobs: make([]int, 2), out: &out, every: time.Minute, begun: begin, spoken: begin}
	for _, step := range []struct {
		after time.Duration
		shown int
		want  string
	}{
		{30 * time.Second, 100, ""},
		{time.Minute, 500, "simulating: 25 % of 2 runs after 1m\n"},
		{90 * time.Second, 700, ""},
		{2 * time.Minute, 1990, "simulating: 99 % of 2 runs after 2m\n"},
	} {
		out.Reset()
		s.shown = step.shown
		if s.say(begin.Add(step.after)); out.String() != step.want {
			t.Errorf("after %v: %q, want %q", step.after, out.String(), step.want)
		}
	}
	out.Reset()
	now := &progress{jobs: make([]int, 2), out: &out}
	if now.set(1, thousand); !strings.HasPrefix(out.String(), "simulating: 50 % of 2 runs after ") {
		t.Errorf("of a run that is done it says %q", out.String())
	}
	if _, _, stderr := call(1, false, small()...); strings.Contains(stderr, "simulating") {
		t.Errorf("a short simulation says %s", stderr)
	}
}

// A run that breaks an invariant gives no answer. The error names the seed and the step, and the case is kept for plan --case.
func TestBrokenRun(t *testing.T) {
	var out, errs strings.Builder
	dir := t.TempDir()
	p := program{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, Workers: 1}
	p.Engine = func(s simulate.Scenario, t *trace, stop func() bool) (simulate.Report, error) {
		s.Planner = func(spec rollout.Spec) (simulate.PlanFunc, error) {
			planner, err := rollout.New(spec)
			return func(snapshot rollout.Snapshot) (rollout.Plan, error) {
				plan, err := planner.Plan(snapshot)
				plan.Budget.Unavailable++ // the plan has a false number
				return plan, err
			}, err
		}
		return simulation(s, t, stop)
	}
	if code := p.Main(small("--controller", "daemonplan", "--out", dir, "--seed", "5")); code != exit.Negative {
		t.Errorf("exit code %d, want %d", code, exit.Negative)
	}
	for _, want := range []string{"seed 5", "step 1", "invariant", "case.json"} {
		if !strings.Contains(errs.String(), want) {
			t.Errorf("standard error lacks %q:\n%s", want, errs.String())
		}
	}
	data, err := os.ReadFile(filepath.Join(dir, "case.json"))
	if err != nil {
		t.Fatal(err)
	}
	kept, err := simulate.ReadCase(data)
	if err != nil || len(kept.Snapshot.Nodes) != 12 {
		t.Errorf("the case has %d nodes: %v", len(kept.Snapshot.Nodes), err)
	}
}

func TestParallelReturnsTheFirstError(t *testing.T) {
	p := program{Workers: 4}
	err := p.parallel(100, func(job int) error {
		if job%10 == 3 {
			return errors.New("job " + string(rune('0'+job/10)))
		}
		return nil
	})
	if err == nil || !strings.HasPrefix(err.Error(), "job ") {
		t.Errorf("error %v", err)
	}
	if err := p.parallel(0, nil); err != nil {
		t.Errorf("no job: %v", err)
	}
}
