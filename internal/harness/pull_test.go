package harness_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/daemonplan/daemonplan/internal/harness"
	"github.com/daemonplan/daemonplan/predownload"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// pulls asks for the image on the nodes, with a timeout of a minute.
func pulls(image string, nodes ...string) rollout.Plan {
	var plan rollout.Plan
	for _, node := range nodes {
		plan.Pulls = append(plan.Pulls, rollout.Pull{Pull: predownload.Pull{Node: node, Image: image, Timeout: time.Minute}})
	}
	return plan
}

func pulling(t *testing.T, behavior harness.Behavior, failed ...predownload.Failure) *harness.Cluster {
	t.Helper()
	c, err := harness.NewCluster(rollouttest.Spec("agent"), rollout.Snapshot{
		Now: rollouttest.Noon(), Nodes: rollouttest.Nodes("a", "b"), FailedPulls: failed,
	}, behavior)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestNodesPullImages(t *testing.T) {
	before := predownload.Failure{Node: "a", Image: "x", Count: 2, At: rollouttest.Noon().Add(-time.Hour)}
	tests := []struct {
		name, why string
		behavior  harness.Behavior
		failed    []predownload.Failure
		want      string
		failures  int32
		has       bool
	}{
		{"good", "it takes 10 s", harness.Behavior{}, nil, "12:00:10 pulled x on a", 0, true},
		{"slow", "the delay is the configured one", harness.Behavior{Pull: 59 * time.Second}, nil, "12:00:59 pulled x on a", 0, true},
		{"just in time", "a minute is not longer than a minute", harness.Behavior{Pull: time.Minute}, nil, "12:01:00 pulled x on a", 0, true},
		{"too slow", "it fails at its timeout", harness.Behavior{Pull: 61 * time.Second}, nil, "12:01:00 pull failed x on a", 1, false},
		{"never", "it fails at its timeout", harness.Behavior{Pull: -1}, nil, "12:01:00 pull failed x on a", 1, false},
		{"failing", "the first fails", harness.Behavior{FailedPulls: 1}, nil, "12:00:10 pull failed x on a", 1, false},
		{"failing once more", "those of before count", harness.Behavior{FailedPulls: 3}, []predownload.Failure{before},
			"12:00:10 pull failed x on a", 3, false},
		{"succeeding at last", "failures in a row are forgotten", harness.Behavior{FailedPulls: 2}, []predownload.Failure{before},
			"12:00:10 pulled x on a", 0, true},
		{"failing for ever", "however often", harness.Behavior{FailedPulls: -1}, []predownload.Failure{before},
			"12:00:10 pull failed x on a", 3, false},
	}
	seen := map[string]bool{}
	for _, test := range tests {
		if test.why == "" || seen[test.name] {
			t.Fatalf("row %q needs a reason and a name of its own", test.name)
		}
		seen[test.name] = true
		t.Run(test.name, func(t *testing.T) {
			c := pulling(t, test.behavior, test.failed...)
			began := c.Snapshot()
			if err := c.Apply(pulls("x", "a")); err != nil {
				t.Fatal(err)
			}
			if got := fmt.Sprint(c.Snapshot().InFlight.Pulls); got != "[{a x}]" {
				t.Errorf("in flight are %s", got)
			}
			c.Tick(time.Hour)
			if want := "12:00:00 pull started x on a\n" + test.want; told(c) != want {
				t.Errorf("got\n%s\nwant\n%s", told(c), want)
			}
			s := c.Snapshot()
			if len(s.InFlight.Pulls) != 0 {
				t.Errorf("still in flight: %v", s.InFlight.Pulls)
			}
			var failures int32
			for _, f := range s.FailedPulls {
				failures += f.Count
			}
			if failures != test.failures || predownload.Reported(s.Nodes[0].Status.Images, "x") != test.has {
				t.Errorf("%v failed, the node has %v", s.FailedPulls, s.Nodes[0].Status.Images)
			}
			if len(began.Nodes[0].Status.Images) != 0 || len(began.FailedPulls) != len(test.failed) {
				t.Error("the snapshot from before was written to")
			}
		})
	}
}

func TestPullsThatAreRefused(t *testing.T) {
	c := pulling(t, harness.Behavior{})
	if err := c.Apply(pulls("x", "a", "z", "a", "b")); err != nil {
		t.Fatal(err)
	}
	want := "12:00:00 pull started x on a\n12:00:00 refused x on z\n12:00:00 refused x on a\n12:00:00 pull started x on b"
	if got := told(c); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	c.RemoveNode("a")
	c.Tick(time.Minute)
	if want += "\n12:00:10 pulled x on b"; told(c) != want {
		t.Errorf("got\n%s\nwant\n%s", told(c), want)
	}
}

// Two nodes that pull the same image take different times with jitter, and failures are listed in order.
func TestPullsDifferAndFailuresAreSorted(t *testing.T) {
	c := pulling(t, harness.Behavior{Jitter: 1, FailedPulls: -1})
	if err := c.Apply(pulls("y", "b", "a")); err != nil {
		t.Fatal(err)
	}
	if err := c.Apply(pulls("x", "b")); err != nil {
		t.Fatal(err)
	}
	c.Tick(time.Hour)
	var order string
	for _, f := range c.Snapshot().FailedPulls {
		order += f.Node + f.Image + " "
	}
	if order != "ay bx by " {
		t.Errorf("failures are listed as %s", order)
	}
	at := map[time.Time]bool{}
	for _, f := range c.Snapshot().FailedPulls {
		at[f.At] = true
	}
	if len(at) < 2 {
		t.Errorf("all failed at once: %v", at)
	}
}
