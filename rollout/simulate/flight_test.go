package simulate_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
	"github.com/daemonplan/daemonplan/rollout/simulate"
)

// A controller whose watches show everything 5 s late counts what it has asked for as in flight until they show it, and no
// longer.
func TestWhatIsInFlight(t *testing.T) {
	const mega = 1_000_000
	late := simulate.Controller{Lag: simulate.Fixed(5 * time.Second)}
	inPlace := rollouttest.InPlaceIfPossible()
	for _, row := range []struct {
		name, why string
		scenario  simulate.Scenario
		looks     []int // the seconds at which a plan is made, whatever else happens
		want      []string
	}{
		{
			name: "a pod that is replaced",
			why: `The revision and the delete of 0 s are seen at 5 s. The pod is gone at 10 s, seen at 15 s; the new one is asked
				for then, and seen at 20 s.`,
			scenario: simulate.Scenario{Fleet: fleetOf(1), Spec: second(), Controller: late},
			looks:    []int{1, 4, 6, 9, 14, 16, 19},
			want: []string{
				"0s", "1s revision delete n-00000", "4s revision delete n-00000", "5s", "6s", "9s", "14s", "15s",
				"16s create n-00000", "19s create n-00000", "20s", "21s", "23s", "30s",
			},
		},
		{
			name: "a pod that is updated in place",
			why: `1 is patched at 0 s, which is seen at 5 s. Its container runs at 2 s, seen at 7 s: it is patched once more, seen at 12 s.
				It is ready at 9 s, seen at 14 s. So 0 follows 14 s later.`,
			scenario: simulate.Scenario{Fleet: fleetOf(2, inPlace), Spec: second(inPlace), Controller: late},
			looks:    []int{1, 4, 6, 9, 12, 14, 16, 19},
			want: []string{
				"0s", "1s revision patch n-00001", "4s revision patch n-00001", "5s", "6s", "7s", "9s patch n-00001", "12s", "14s",
				"16s patch n-00000", "19s", "21s", "26s", "28s",
			},
		},
		{
			name: "pods that are updated in place after a grace period",
			why:  `They are made not ready at 0 s and changed at 5 s, when the first is seen. Each is in flight once.`,
			scenario: simulate.Scenario{
				Fleet: fleetOf(2, inPlace), Controller: late,
				Spec: second(inPlace, rollouttest.MaxUnavailable("2"), rollouttest.GracePeriod(2)),
			},
			looks: []int{1, 4, 6, 9, 12, 14, 16, 19},
			want: []string{
				"0s", "1s revision patch n-00000 patch n-00001", "4s revision patch n-00000 patch n-00001", "5s",
				"6s patch n-00000 patch n-00001", "9s patch n-00000 patch n-00001", "10s", "12s",
				"14s patch n-00000 patch n-00001", "16s patch n-00000 patch n-00001", "17s", "19s",
			},
		},
		{
			name: "images that are pulled ahead",
			why:  `They have come at 10 s, and the nodes are seen to have them at 15 s.`,
			scenario: simulate.Scenario{
				Fleet: fleetOf(3, inPlace), Spec: second(inPlace, rollouttest.PreDownload("2")), Controller: late, Limit: 20 * time.Second,
				Model: simulate.Model{Registry: simulate.Registry{NodeBandwidth: 10 * mega, Size: 100 * mega}},
			},
			looks: []int{1, 9, 11, 14},
			want: []string{
				"0s", "1s revision patch n-00002 pull on n-00001 pull on n-00000", "5s pull on n-00001 pull on n-00000",
				"9s pull on n-00001 pull on n-00000", "10s pull on n-00000 pull on n-00001",
				"11s pull on n-00000 pull on n-00001", "14s pull on n-00000 pull on n-00001", "15s", "17s",
			},
		},
		{
			name: "a controller that starts anew",
			why:  `It has seen everything, and waits for nothing.`,
			scenario: simulate.Scenario{
				Fleet: fleetOf(2), Spec: second(), Controller: late, Limit: 10 * time.Second,
				Events: []simulate.Event{{At: 2 * time.Second, What: simulate.CrashController}},
			},
			looks: []int{1, 3},
			want: []string{
				"0s", "1s revision delete n-00001", "2s", "3s",
			},
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			scenario := row.scenario
			model := trajectoryModel()
			scenario.Model.Schedule = model.Schedule
			scenario.Model.Kubelets = model.Kubelets
			for _, at := range row.looks { // the same spec triggers a plan, and changes nothing else
				scenario.Events = append(scenario.Events, simulate.Event{
					At: time.Duration(at) * time.Second, What: simulate.SetSpec, Spec: &scenario.Spec,
				})
			}
			var got []string
			_, err := simulate.Run(scenario, func(_ *simulate.Simulation, step *simulate.Step) error {
				got = append(got, fmt.Sprint(step.At, inFlight(&step.Snapshot.InFlight)))
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Errorf("%s\n(-by hand +simulated):\n%s", row.why, diff)
			}
		})
	}
}

// inFlight lists what is in flight, in words.
func inFlight(f *rollout.InFlight) string {
	var b strings.Builder
	for range f.Revisions {
		b.WriteString(" revision")
	}
	for _, create := range f.Creates {
		b.WriteString(" create " + create.Node)
	}
	for _, uid := range f.Deletes {
		b.WriteString(" delete " + strings.TrimPrefix(string(uid), "pod-agent-"))
	}
	for _, uid := range f.Patches {
		b.WriteString(" patch " + strings.TrimPrefix(string(uid), "pod-agent-"))
	}
	for _, pull := range f.Pulls {
		b.WriteString(" pull on " + pull.Node)
	}
	return b.String()
}
