package simulate_test

import (
	"fmt"
	"time"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
	"github.com/daemonplan/daemonplan/rollout/simulate"
)

// forecastFleet is 20 nodes that run version 1, as a controller sees them.
func forecastFleet() rollout.Snapshot {
	running := rollouttest.Spec("agent", rollouttest.Image("agent:v1"))
	snapshot, err := simulate.Fleet{Pools: []simulate.Pool{{Name: "web", Nodes: 20}}, Running: &running}.Build()
	if err != nil {
		panic(err)
	}
	return snapshot
}

// forecastModel has pods that start slowly, some of them very slowly.
var forecastModel = simulate.Model{Kubelets: []simulate.Kubelet{{
	Stop: simulate.Fixed(10 * time.Second), Start: simulate.LogNormal(20*time.Second, time.Minute),
}}}

func ExampleForecast() {
	spec := rollouttest.Spec("agent", rollouttest.Image("agent:v2"), rollouttest.MaxUnavailable("10%"))
	forecast, err := simulate.Forecast(spec, forecastFleet(), simulate.Assumptions{Model: forecastModel})
	if err != nil {
		fmt.Println(err)
	}
	fmt.Printf("%d runs, %d unfinished\n", forecast.Runs, forecast.Unfinished)
	fmt.Printf("half are done after %v, nine of ten after %v, all after %v\n",
		forecast.Duration.P50.Round(time.Second), forecast.Duration.P90.Round(time.Second), forecast.Duration.Max.Round(time.Second))
	fmt.Printf("at most %d nodes are unavailable\n", forecast.Peak.Max)
	// Output:
	// 20 runs, 0 unfinished
	// half are done after 5m43s, nine of ten after 6m48s, all after 7m54s
	// at most 2 nodes are unavailable
}

func ExampleSuggest() {
	spec := rollouttest.Spec("agent", rollouttest.Image("agent:v2"))
	assume := simulate.Assumptions{Model: forecastModel}
	for _, deadline := range []time.Duration{5 * time.Minute, time.Second} {
		suggestion, err := simulate.Suggest(spec, forecastFleet(), assume, simulate.KnobMaxUnavailable, deadline)
		fmt.Printf("%v: maxUnavailable %d, %d of %d runs are late, %v\n",
			deadline, suggestion.Value, suggestion.Prediction.Unfinished, suggestion.Prediction.Runs, err)
	}
	// Output:
	// 5m0s: maxUnavailable 3, 2 of 20 runs are late, <nil>
	// 1s: maxUnavailable 0, 20 of 20 runs are late, <nil>
}

// The caller makes the runs of this forecast. They may be made in parallel.
func ExamplePredict() {
	spec := rollouttest.Spec("agent", rollouttest.Image("agent:v2"), rollouttest.MaxUnavailable("10%"))
	snapshot, assume := forecastFleet(), simulate.Assumptions{Model: forecastModel, Seeds: 8}
	reports := make([]simulate.Report, assume.Runs())
	for i := range reports {
		var err error
		if reports[i], err = simulate.Run(assume.Scenario(spec, snapshot, i)); err != nil {
			fmt.Println(err)
		}
	}
	forecast, err := simulate.Forecast(spec, snapshot, assume)
	fmt.Println(simulate.Predict(reports) == forecast, err)
	// Output: true <nil>
}

func ExampleAssumptions_Scenario() {
	assume := simulate.Assumptions{Seed: 100}
	scenario := assume.Scenario(rollouttest.Spec("agent"), forecastFleet(), 3)
	fmt.Println(scenario.Seed, len(scenario.Fleet.Snapshot.Nodes))
	// Output: 103 20
}

func ExampleAssumptions_Runs() {
	fmt.Println(simulate.Assumptions{}.Runs(), simulate.Assumptions{Seeds: 1}.Runs(), simulate.Assumptions{Seeds: 100}.Runs())
	// Output: 20 1 100
}

func ExampleKnob_Set() {
	spec, err := simulate.KnobMaxSurge.Set(rollouttest.Spec("agent"), 3)
	fmt.Println(spec.Strategy.MaxUnavailable, spec.Strategy.MaxSurge, err)
	// Output: 0 3 <nil>
}
