package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"
)

func TestParse(t *testing.T) {
	for _, row := range []struct {
		name      string
		arguments []string
		err       string // part of it; empty: none
	}{
		{"defaults", nil, ""},
		{"some cases", []string{"-case", "^plain", "-runs", "3"}, ""},
		{"no runs", []string{"-runs", "0"}, "-runs 0"},
		{"no seeds", []string{"-seeds", "-1"}, "-seeds -1"},
		{"no expression", []string{"-case", "("}, "-case: "},
		{"argument", []string{"plain"}, `"plain"`},
	} {
		_, err := parse(row.arguments, io.Discard)
		if (err == nil) != (row.err == "") || err != nil && !strings.Contains(err.Error(), row.err) {
			t.Errorf("%s: %v, want one about %q", row.name, err, row.err)
		}
	}
}

// The command is told of each case what KWOK does in it.
func TestWorlds(t *testing.T) {
	for _, c := range cases() {
		var world struct {
			Model struct {
				Kubelets []struct {
					Start, Ready, Stop string
					NeverReady         bool
				}
			}
			Events []struct {
				At    string
				Count int
			}
		}
		if err := yaml.Unmarshal([]byte(c.world()), &world); err != nil || len(world.Model.Kubelets) == 0 {
			t.Fatalf("%s: %v\n%s", c.name, err, c.world())
		}
		first := world.Model.Kubelets[0]
		if first.Start != c.create.String() || first.Ready != c.ready.String() || first.Stop != c.stop.String() {
			t.Errorf("%s: %+v, want %v, %v, %v", c.name, first, c.create, c.ready, c.stop)
		}
		if dies := len(world.Events) == 1; dies != (c.die > 0) || dies && world.Events[0].Count != c.nodes-c.reachable() {
			t.Errorf("%s: events %+v, and %d of %d nodes can be reached", c.name, world.Events, c.reachable(), c.nodes)
		}
		stages := (&fleet{scenario: &c}).kwokStages()
		for i, text := range strings.Split(stages, "---\n") {
			var stage struct {
				Metadata struct{ Name string }
				Spec     struct {
					Delay struct{ DurationMilliseconds, JitterDurationMilliseconds int64 }
				}
			}
			if err := yaml.Unmarshal([]byte(text), &stage); err != nil {
				t.Fatalf("%s: stage %d: %v\n%s", c.name, i, err, text)
			}
			want, ok := map[string]span{"pod-start": c.create, "pod-ready": c.ready, "pod-delete": c.stop}[stage.Metadata.Name]
			if ok && (stage.Spec.Delay.DurationMilliseconds != want.from.Milliseconds() ||
				stage.Spec.Delay.JitterDurationMilliseconds != max(want.to, time.Millisecond).Milliseconds()) {
				t.Errorf("%s: %s has %+v, want %v", c.name, stage.Metadata.Name, stage.Spec.Delay, want)
			}
		}
		if named := strings.Contains(stages, "'node-0016'"); named != c.neverReady {
			t.Errorf("%s: weak nodes are left out: %t", c.name, named)
		}
	}
}

func TestWeak(t *testing.T) {
	c := scenario{nodes: 300, neverReady: true}
	if c.reachable() != 291 || c.serving() != 291 || c.labels(16)[weakLabel] != "yes" || c.labels(0)["ring"] != "0" || c.labels(299)["ring"] != "2" {
		t.Errorf("%d can be reached, %d serve, labels %v %v %v", c.reachable(), c.serving(), c.labels(16), c.labels(0), c.labels(299))
	}
	c = scenario{nodes: 300, die: time.Second}
	if c.reachable() != 291 || c.serving() != 300 {
		t.Errorf("of nodes that are to die %d serve, and %d can be reached", c.serving(), c.reachable())
	}
	if c = (scenario{nodes: 300}); c.reachable() != 300 {
		t.Errorf("without trouble %d of 300 can be reached", c.reachable())
	}
}

func TestRead(t *testing.T) {
	const all = `{"specs": [{"headline": "fine", "reachableDurationSeconds": {"p5": 1, "p50": 2, "p90": 3, "p95": 4, "max": 5}, "peakTakenNodes": {"max": 6}}]}`
	if got, err := read([]byte(all)); err != nil || got != (forecast{1, 2, 3, 4, 6}) {
		t.Errorf("%+v, %v", got, err)
	}
	for name, answer := range map[string]string{
		"no JSON": "", "no spec": "{}", "never": strings.Replace(all, `"p50": 2`, `"p50": null`, 1),
	} {
		if got, err := read([]byte(answer)); err == nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// A forecast that does not come true is an error: too slow, too quick, too often outside, too many nodes down.
func TestJudge(t *testing.T) {
	true10 := []float64{100, 100, 100, 100, 101, 101, 101, 101, 101, 101}
	with := func(change func(*result)) result {
		r := result{Name: "x", Nodes: 300, Forecast: forecast{90, 100, 108, 110, 30}, Seconds: append([]float64{}, true10...), Peaks: []int{29, 30}}
		change(&r)
		return r
	}
	for _, row := range []struct {
		name   string
		change func(*result)
		err    string
	}{
		{"true", func(*result) {}, ""},
		{"one outside", func(r *result) { r.Seconds[9] = 120 }, ""},
		{"two outside", func(r *result) { r.Seconds[0], r.Seconds[9] = 80, 120 }, "8 of 10 rollouts"},
		{"slow", func(r *result) { r.Forecast.P50 = 91 }, "1.11 of the predicted"},
		{"quick", func(r *result) { r.Forecast.P50 = 113 }, "0.89 of the predicted"},
		{"peak", func(r *result) { r.Peaks[0] = 31 }, "31 nodes were down at once, predicted were 30"},
	} {
		err := judge([]result{with(row.change)})
		if (err == nil) != (row.err == "") || err != nil && !strings.Contains(err.Error(), row.err) {
			t.Errorf("%s: %v, want one about %q", row.name, err, row.err)
		}
	}
	const want = "| maxUnavailable 10 % | 300 | 1m40s | 1m30s to 1m50s | 1m41s | 1m40s to 1m41s | 1.01 | 10 of 10 | 30 | 30 |\n"
	r := with(func(r *result) { r.What = "maxUnavailable 10 %" })
	if got := table([]result{r}); !strings.HasSuffix(got, want) {
		t.Errorf("the table is\n%swant\n%s", got, want)
	}
}

func TestResultsAreKept(t *testing.T) {
	folder := t.TempDir()
	page := filepath.Join(folder, "page.md")
	if err := os.WriteFile(page, []byte("a\n"+beginMark+"old\n"+endMark+"b\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"surge-300", "plain-300"} {
		if err := (result{Name: name, Seconds: []float64{1}, Peaks: []int{1}}).save(folder); err != nil {
			t.Fatal(err)
		}
	}
	results, err := load(folder)
	if err != nil || len(results) != 2 || results[0].Name != "plain-300" {
		t.Errorf("%+v, %v", results, err)
	}
	if err := insert(page, "new\n"); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(page); err != nil || string(text) != "a\n"+beginMark+"new\n"+endMark+"b\n" {
		t.Errorf("%q, %v", text, err)
	}
	if err := insert(filepath.Join(folder, "plain-300.json"), ""); err == nil {
		t.Error("a file without marks is written")
	}
}
