package simulation

import (
	"strings"
	"testing"
	"time"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/exit"
	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/rollout/simulate"
)

const someDump = "../cli/fleet.yaml"

// loaded is the experiment for a question with some flags set.
func loaded(t *testing.T, set func(*question)) *experiment {
	t.Helper()
	q := question{Scale: 1, Seeds: 10, Seed: 1}
	set(&q)
	e, err := q.load(&objects.Files{})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestForecast(t *testing.T) {
	golden(t, "forecast.txt", answer(t, "forecast", "--nodes", "12", "--from", oldManifest, "--spec", newManifest,
		"--world", worldFileIn, "--seeds", "10"))
}

// The command makes the runs on all cores. The results are those of the library, which makes them one by one.
func TestForecastIsTheLibrarys(t *testing.T) {
	e := loaded(t, func(q *question) {
		q.Dump, q.World, q.Controllers = someDump, worldFileIn, []string{"daemonplan"}
	})
	spec, snapshot := e.Candidates[0].Set.Spec, *e.Candidates[0].Fleet.Snapshot
	want, err := simulate.Forecast(spec, snapshot, simulate.Assumptions{
		Model: *e.World.Model, Controller: e.World.controller(size(e.Candidates[0].Fleet)), Seeds: 10, Seed: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	p := program{Workers: 3, Engine: simulation}
	outcomes, err := p.compare(e, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := simulate.Predict(outcomes[0].Reports); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestSuggest(t *testing.T) {
	args := []string{
		"suggest", "--nodes", "12", "--from", oldManifest, "--spec", newManifest, "--world", worldFileIn, "--seeds", "10",
	}
	golden(t, "suggest.txt", answer(t, append(args, "--deadline", "2m")...))
	code, stdout, stderr := call(2, false, append(args, "--deadline", "10s")...)
	const whose = "As the DaemonSet controller of Kubernetes does it.\n"
	const why = "no maxUnavailable meets 10s: with 12, the largest, 10 of 10 runs are late; nine of ten runs need 51s\n"
	if code != exit.Negative || !strings.HasPrefix(stdout, whose+why) || stderr != "error: "+why {
		t.Errorf("exit code %d, %q, %q", code, stdout, stderr)
	}
}

func TestSuggestIsTheLibrarys(t *testing.T) {
	for _, knob := range []simulate.Knob{simulate.KnobMaxUnavailable, simulate.KnobMaxSurge, simulate.KnobSlowStart} {
		t.Run(knob.String(), func(t *testing.T) {
			// The library forecasts from a snapshot, so it gets the one at the beginning of a generated fleet.
			e := loaded(t, func(q *question) {
				q.Nodes, q.From, q.Specs, q.World = 12, oldManifest, []string{newManifest}, worldFileIn
				q.Controllers = []string{"daemonplan"}
			})
			s, err := simulate.New(e.scenario(e.Candidates[0], 1))
			if err != nil {
				t.Fatal(err)
			}
			step, err := s.Step()
			if err != nil {
				t.Fatal(err)
			}
			spec, snapshot := e.Candidates[0].Set.Spec, step.Snapshot
			e.Candidates[0].Fleet = simulate.Fleet{Snapshot: &snapshot}
			const deadline = 3 * time.Minute
			want, err := simulate.Suggest(spec, snapshot, simulate.Assumptions{
				Model: *e.World.Model, Controller: e.World.controller(size(e.Candidates[0].Fleet)), Seeds: 10, Seed: 1,
			}, knob, deadline)
			if err != nil {
				t.Fatal(err)
			}
			e.Deadline = deadline
			find := search{program: &program{Workers: 3, Engine: simulation}, experiment: e, knob: knob, spec: spec}
			got, err := find.find()
			if err != nil {
				t.Fatal(err)
			}
			if got != want || want.Value == 0 {
				t.Errorf("got %+v, want %+v", got, want)
			}
		})
	}
}
