package sameplans_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/daemonplan/daemonplan/internal/conformance"
	"github.com/daemonplan/daemonplan/internal/conformance/peer"
	"github.com/daemonplan/daemonplan/internal/harness"
	"github.com/daemonplan/daemonplan/internal/sameplans"
	"github.com/daemonplan/daemonplan/internal/worlds"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/rollouttest/transcript"
	"github.com/daemonplan/daemonplan/rollout/simulate"
)

var (
	rewrite = flag.Bool("rewrite", false, "write testdata/plans.txt anew: only after a rule has changed")
	dump    = flag.String("dump", "", "write what the plans say into this folder, to be compared with that of another commit")
)

// seeds is how many worlds are run. Each makes some seventy plans.
const seeds = 60

// least is how many plans there are at least; fewer would be too loose a net.
const least = 3000

const file = "testdata/plans.txt"

// run is one source of plans.
type run struct {
	name  string
	plans func(*testing.T, *sameplans.Recorder)
}

// TestPlansAreTheSame plans everything there is to plan: the transcripts, the worlds of the first seeds, and the recorded decisions
// of both DaemonSet controllers.
func TestPlansAreTheSame(t *testing.T) {
	data, err := os.ReadFile(file)
	if err != nil && !*rewrite {
		t.Fatal(err)
	}
	want := map[string]string{}
	for line := range strings.Lines(string(data)) {
		name, sum, _ := strings.Cut(strings.TrimSpace(line), " ")
		want[name] = sum
	}
	var made strings.Builder
	total := 0
	for _, r := range runs(t) {
		sum := sumOf(t, r)
		plans, _, _ := strings.Cut(sum, " ")
		n, err := strconv.Atoi(plans)
		if err != nil {
			t.Fatal(err)
		}
		total += n
		fmt.Fprintln(&made, r.name, sum)
		if !*rewrite && want[r.name] != sum {
			t.Errorf("%s: plans have changed: %s, and were %q. To see how, run this test with -dump here and on the commit before, "+
				"and compare the folders. If a rule has changed, run it with -rewrite.", r.name, sum, want[r.name])
		}
		delete(want, r.name)
	}
	for name := range want {
		if !*rewrite {
			t.Errorf("%s is in %s and was not run", name, file)
		}
	}
	if total < least {
		t.Errorf("there are %d plans, fewer than %d", total, least)
	}
	if *rewrite {
		if err := os.WriteFile(file, []byte(made.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func sumOf(t *testing.T, r run) string {
	t.Helper()
	var text *bytes.Buffer
	recorder := sameplans.NewRecorder(nil)
	if *dump != "" {
		text = new(bytes.Buffer)
		recorder = sameplans.NewRecorder(text)
	}
	r.plans(t, recorder)
	sum, err := recorder.Sum()
	if err != nil {
		t.Fatalf("%s: %v", r.name, err)
	}
	if text != nil {
		path := filepath.Join(*dump, r.name+".txt")
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, text.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return sum
}

func runs(t *testing.T) []run {
	t.Helper()
	all := transcripts(t)
	for seed := range uint64(seeds) {
		all = append(all, world(seed))
	}
	for _, name := range []string{
		"kubernetes/decisions.jsonl", "kubernetes/varying.jsonl", "kubernetes/surprises.jsonl",
		"kruise/decisions.jsonl", "kruise/varying.jsonl", "kruise/surprises.jsonl",
	} {
		all = append(all, recorded(t, name)...)
	}
	return all
}

func transcripts(t *testing.T) []run {
	t.Helper()
	files, err := filepath.Glob("../../rollout/testdata/scenarios/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no transcripts (error: %v)", err)
	}
	var all []run
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txt")
		all = append(all, run{"transcript/" + name, func(t *testing.T, r *sameplans.Recorder) {
			t.Helper()
			transcript.Run(t, []string{file}, false, transcript.WithCheck(
				func(spec rollout.Spec, snapshot rollout.Snapshot, plan rollout.Plan) error {
					r.Plan(&plan)
					plans, err := harness.Planner(spec)
					if err != nil {
						return err
					}
					_, err = plans(snapshot)
					return err
				}))
		}})
	}
	return all
}

func world(seed uint64) run {
	return run{fmt.Sprintf("world/%d", seed), func(t *testing.T, r *sameplans.Recorder) {
		t.Helper()
		scenario := worlds.Scenario(seed)
		scenario.Planner = func(spec rollout.Spec) (simulate.PlanFunc, error) {
			planner, err := rollout.New(spec)
			if err != nil {
				return nil, err
			}
			reread := harness.Reread(planner)
			return func(snapshot rollout.Snapshot) (rollout.Plan, error) {
				plan, err := reread(snapshot)
				if err != nil {
					r.Refused(err)
					return plan, err
				}
				r.Plan(&plan)
				return plan, nil
			}, nil
		}
		if _, err := simulate.Run(scenario); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}}
}

func recorded(t *testing.T, file string) []run {
	t.Helper()
	var all []run
	for name, line := range conformance.Lines(t, file) {
		c, err := peer.Decode(line)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		all = append(all, run{"recorded/" + c.Name, func(t *testing.T, r *sameplans.Recorder) {
			t.Helper()
			spec, err := c.Spec()
			if err != nil {
				t.Fatalf("%s: %v", c.Name, err)
			}
			planner, err := rollout.New(spec)
			if err != nil {
				r.Refused(err)
				return
			}
			plan, err := harness.Reread(planner)(c.Snapshot())
			if err != nil {
				r.Refused(err)
				return
			}
			r.Plan(&plan)
		}})
	}
	return all
}

// TestRecorderKnowsAllFields: a field that nobody takes down could change unseen. Whoever adds one adds it to record.go, and here.
func TestRecorderKnowsAllFields(t *testing.T) {
	for _, known := range []struct {
		of     any
		fields int
	}{
		{rollout.Plan{}, 27}, {rollout.Decision{}, 24}, {rollout.Budget{}, 19}, {rollout.Patch{}, 8}, {rollout.Memory{}, 6},
		{rollout.Record{}, 10}, {rollout.Backoff{}, 7},
	} {
		if has := reflect.TypeOf(known.of).NumField(); has != known.fields {
			t.Errorf("%T has %d fields, and %d are taken down", known.of, has, known.fields)
		}
	}
}

// TestRecorderNotices: whatever is changed in a plan changes its hash.
func TestRecorderNotices(t *testing.T) {
	sum := func(change func(*rollout.Plan)) string {
		plan := rollout.Plan{Decisions: []rollout.Decision{{Node: "a"}}, Creates: []rollout.Create{{Node: "a"}}}
		change(&plan)
		r := sameplans.NewRecorder(nil)
		r.Plan(&plan)
		s, err := r.Sum()
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	seen := map[string]string{sum(func(*rollout.Plan) {}): "nothing"}
	for what, change := range map[string]func(*rollout.Plan){
		"the reason":      func(p *rollout.Plan) { p.Decisions[0].Reason++ },
		"the verdict":     func(p *rollout.Plan) { p.Decisions[0].Placement.Outcome++ },
		"the limit":       func(p *rollout.Plan) { p.Decisions[0].Limit++ },
		"an action":       func(p *rollout.Plan) { p.Creates[0].Node = "b" },
		"no action":       func(p *rollout.Plan) { p.Creates = nil },
		"the budget":      func(p *rollout.Plan) { p.Budget.Waiting++ },
		"the status":      func(p *rollout.Plan) { p.Status.Ready++ },
		"the memory":      func(p *rollout.Plan) { p.Memory.Version++ },
		"the next wake":   func(p *rollout.Plan) { p.NextWake = p.NextWake.Add(1) },
		"the canary":      func(p *rollout.Plan) { p.Canary.Wanted++ },
		"a patch's bytes": func(p *rollout.Plan) { p.Patches = []rollout.Patch{{Data: []byte("{}")}} },
	} {
		s := sum(change)
		if before, ok := seen[s]; ok {
			t.Errorf("%s and %s have one hash", what, before)
		}
		seen[s] = what
	}
}
