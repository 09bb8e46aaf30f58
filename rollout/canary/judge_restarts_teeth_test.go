//go:build teeth

package canary_test

import (
	"testing"
	"time"

	"github.com/daemonplan/daemonplan/rollout/canary"
)

func TestJudgeRestartsGoOnRejects(t *testing.T) {
	mutants := []struct {
		name, why string
		read      func(in *canary.Input)
	}{
		{"the record is forgotten", "what was seen before counts", func(in *canary.Input) {
			in.Record.Restarting, in.Record.Restarted = time.Time{}, time.Time{}
		}},
		{"the end on record is forgotten", "the last restart may not be seen any more", func(in *canary.Input) {
			in.Record.Restarted = in.Record.Restarting
		}},
		{"restarts of before count", "they are of another canary", func(in *canary.Input) {
			if !in.Record.Began.IsZero() {
				in.Record.Began = in.Record.Began.Add(-time.Hour)
			}
		}},
		{"the record says since when", "an earlier restart may become known later", func(in *canary.Input) {
			if at := in.Record.Restarting; !at.IsZero() {
				for _, n := range in.Nodes {
					for _, pod := range n.Pods {
						for i := range pod.Status.ContainerStatuses {
							if last := pod.Status.ContainerStatuses[i].LastTerminationState.Terminated; last.FinishedAt.Time.Before(at) {
								last.FinishedAt.Time = at
							}
						}
					}
				}
			}
		}},
		{"one container of a pod", "the other restarted, too", func(in *canary.Input) {
			for _, n := range in.Nodes {
				for _, pod := range n.Pods {
					pod.Status.ContainerStatuses = pod.Status.ContainerStatuses[:1]
				}
			}
		}},
		{"the clocks of kubelets are right", "what is ahead of now is now", func(in *canary.Input) {
			in.Now = in.Now.Add(2 * time.Minute)
		}},
	}
	unique := make(uniqueRows)
	for _, m := range mutants {
		unique.check(t, m.name, m.why)
		t.Run(m.name, func(t *testing.T) {
			judge := func(o canary.Options, in canary.Input) canary.Judgement {
				in = copyInput(in)
				m.read(&in)
				return canary.Judge(o, in)
			}
			for seed := range 3000 {
				if checkRestarts(judge, anyLooks().Example(seed)) != "" {
					return
				}
			}
			t.Errorf("the bug is accepted: %s", m.why)
		})
	}
}
