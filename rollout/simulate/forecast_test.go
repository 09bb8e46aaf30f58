package simulate

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/daemonplan/daemonplan/rollout"
)

func forecastSpec() rollout.Spec {
	labels := map[string]string{"app": "agent"}
	return rollout.Spec{
		Name:     "agent",
		Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels},
			Spec: corev1.PodSpec{
				NodeSelector: map[string]string{"daemons": "yes"},
				Containers:   []corev1.Container{{Name: "agent", Image: "agent:2"}},
			},
		},
	}
}

// forecastSnapshot has that many nodes that are to run the pod, and one other node.
func forecastSnapshot(nodes int) rollout.Snapshot {
	snapshot := rollout.Snapshot{Now: time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC), Nodes: []*corev1.Node{{
		ObjectMeta: metav1.ObjectMeta{Name: "other"},
	}}}
	for i := range nodes {
		snapshot.Nodes = append(snapshot.Nodes, &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("n", i), Labels: map[string]string{"daemons": "yes"}},
		})
	}
	return snapshot
}

func TestPredict(t *testing.T) {
	done := func(d time.Duration, waves, peak int) Report {
		return Report{End: EndDone, Finished: d, Elapsed: 99, Waves: waves, Unavailable: Unavailable{Peak: peak}}
	}
	var ten, eleven []Report
	for i := range 11 {
		r := done(time.Duration(11-i), 2*(11-i), 3*(11-i)) // descending
		eleven = append(eleven, r)
		if i > 0 {
			ten = append(ten, r)
		}
	}
	tests := []struct {
		name, why string
		reports   []Report
		want      Prediction
	}{
		{"none", "no runs, no quantiles", nil, Prediction{}},
		{"one", "it is all quantiles", []Report{done(5, 2, 3)}, Prediction{
			Runs: 1, Duration: Quantiles[time.Duration]{5, 5, 5}, Waves: Quantiles[int]{2, 2, 2}, Peak: Quantiles[int]{3, 3, 3},
		}},
		{"ten", "half of ten are five, nine tenths nine; reports may come in any order", ten, Prediction{
			Runs: 10, Duration: Quantiles[time.Duration]{5, 9, 10}, Waves: Quantiles[int]{10, 18, 20}, Peak: Quantiles[int]{15, 27, 30},
		}},
		{"eleven", "half of eleven are at least six, nine tenths ten", eleven, Prediction{
			Runs: 11, Duration: Quantiles[time.Duration]{6, 10, 11}, Waves: Quantiles[int]{12, 20, 22}, Peak: Quantiles[int]{18, 30, 33},
		}},
		{
			"unfinished", "peaks are those of all, how long it took and in how many waves is known of finished ones only",
			[]Report{
				done(7, 2, 1), {End: EndLimit, Finished: 1, Waves: 9, Unavailable: Unavailable{Peak: 8}}, {End: EndStuck}, {End: EndCondition}, {},
			},
			Prediction{
				Runs: 5, Unfinished: 4, Duration: Quantiles[time.Duration]{7, 7, 7}, Waves: Quantiles[int]{2, 2, 2}, Peak: Quantiles[int]{0, 8, 8},
			},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if test.name == "" || test.why == "" {
				t.Fatal("a row needs a name and a why")
			}
			if diff := cmp.Diff(test.want, Predict(test.reports)); diff != "" {
				t.Errorf("%s\n-want +got\n%s", test.why, diff)
			}
		})
	}
}

// A quantile is computed here by its definition: the least value that at least that share of all does not exceed.
func TestQuantileIsWhatItSays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.IntRange(0, 20), 1, 40).Draw(t, "values")
		percent := rapid.IntRange(1, 100).Draw(t, "percent")
		slices.Sort(values)
		reach := func(v int) bool {
			n := 0
			for _, other := range values {
				if other <= v {
					n++
				}
			}
			return 100*n >= percent*len(values)
		}
		want := values[slices.IndexFunc(values, reach)]
		if got := quantile(values, percent); got != want {
			t.Fatalf("%d, want %d", got, want)
		}
	})
}

func TestForecastRunsEachSeedOnce(t *testing.T) {
	tests := []struct {
		name, why string
		assume    Assumptions
		seeds     []uint64
	}{
		{"default", "20 runs from seed 0", Assumptions{}, []uint64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19}},
		{"negative", "as the default", Assumptions{Seeds: -1, Seed: 100}, []uint64{
			100, 101, 102, 103, 104, 105, 106, 107, 108, 109, 110, 111, 112, 113, 114, 115, 116, 117, 118, 119,
		}},
		{"three", "counted from Seed", Assumptions{Seeds: 3, Seed: 7}, []uint64{7, 8, 9}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if test.name == "" || test.why == "" {
				t.Fatal("a row needs a name and a why")
			}
			test.assume.Model.Schedule = Fixed(time.Second)
			test.assume.Controller.Interval = time.Minute
			test.assume.Events = []Event{{At: 1}}
			test.assume.Limit = time.Hour
			var seeds []uint64
			got, err := forecaster{run: func(s Scenario) (Report, error) {
				seeds = append(seeds, s.Seed)
				want := Scenario{
					Seed: s.Seed, Spec: forecastSpec(), Fleet: Fleet{Snapshot: s.Fleet.Snapshot}, Model: test.assume.Model,
					Controller: test.assume.Controller, Events: test.assume.Events, Limit: time.Hour,
				}
				if len(s.Fleet.Snapshot.Nodes) != 4 || fmt.Sprint(s) != fmt.Sprint(want) {
					t.Errorf("ran %+v, want %+v", s, want)
				}
				return Report{End: EndDone, Finished: time.Duration(s.Seed)}, nil
			}}.forecast(forecastSpec(), forecastSnapshot(3), test.assume)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(seeds, test.seeds) {
				t.Errorf("seeds %v, want %v", seeds, test.seeds)
			}
			if got.Runs != len(test.seeds) || got.Duration.Max != time.Duration(slices.Max(test.seeds)) {
				t.Errorf("%+v", got)
			}
		})
	}
}

func TestForecastStopsAtAnError(t *testing.T) {
	runs, broken := 0, errors.New("broken")
	got, err := forecaster{run: func(Scenario) (Report, error) {
		runs++
		if runs == 3 {
			return Report{}, broken
		}
		return Report{}, nil
	}}.forecast(forecastSpec(), forecastSnapshot(3), Assumptions{})
	if !errors.Is(err, broken) || runs != 3 || got != (Prediction{}) {
		t.Errorf("%v after %d runs, %+v", err, runs, got)
	}
}
