package rollouttest

import (
	"cmp"
	"fmt"
	"time"

	"github.com/daemonplan/daemonplan/rollout/simulate"
)

// DoneWithin promises that every node is where it is to end at that time from the beginning of the run, or earlier
// ([simulate.Report.Succeeded]); nodes that the spec holds are so where they are. A canary that failed is no end, though
// every node is where it is to be then. It fails also if no node came to have the update revision in the run: then there
// was nothing to roll out.
func DoneWithin(limit time.Duration) Promise {
	if limit <= 0 {
		return Promise{wrong: fmt.Sprintf("DoneWithin: limit is %v, and no rollout takes so little time", limit)}
	}
	return Promise{
		Says: fmt.Sprintf("done within %v", limit),
		Begin: func(simulate.Scenario, *simulate.Simulation) Guard {
			f := fates{}
			return Guard{Record: f.record, End: func(_ *simulate.Simulation, report simulate.Report) error {
				switch {
				case report.End != simulate.EndDone:
					return breach(f.not(simulate.NodeNew), "%s", howItEnded(report))
				case !report.Succeeded():
					return breach(f.not(simulate.NodeNew), "the canary failed after %v: %s; %d of %s are updated%s",
						report.Canary.Failed, report.Canary.Reason, report.Updated, nodesOf(report.Desired), standing(report))
				case report.Finished > limit:
					return breach(nil, "done after %v%s%s", report.Finished, standing(report), waitedFor(report))
				}
				return f.rolledOut(report)
			}}
		},
	}
}

// EndsAtUpdateRevision promises that in the end every node that is to run the pod has an available one of the update revision.
// It fails also if all had one in the beginning: then there was nothing to roll out.
func EndsAtUpdateRevision() Promise {
	return Promise{
		Says: "every node ends at the update revision",
		Begin: func(simulate.Scenario, *simulate.Simulation) Guard {
			f := fates{}
			return Guard{Record: f.record, End: func(_ *simulate.Simulation, report simulate.Report) error {
				if report.Updated < report.Desired {
					return breach(f.not(simulate.NodeNew), "%s", howItEnded(report))
				}
				return f.rolledOut(report)
			}}
		},
	}
}

// fates is what became of each node: its last state, and whether it was another one before.
type fates map[string]fate

type fate struct {
	state    simulate.NodeState
	improved bool // it came to have the update revision
}

func (f fates) record(r simulate.Record) {
	if r.Kind == simulate.NodeChanged {
		f[r.Node] = fate{r.To, f[r.Node].improved || r.To == simulate.NodeNew && r.From != 0 && r.From != r.To}
	}
}

// not are the nodes that are to run the pod and are in another state.
func (f fates) not(state simulate.NodeState) []string {
	return sortedNodes(f, func(_ string, fate fate) bool {
		return fate.state != 0 && fate.state != simulate.NodeOutside && fate.state != state
	})
}

// rolledOut is an error if no node came to have the update revision.
func (f fates) rolledOut(report simulate.Report) error {
	for _, fate := range f {
		if fate.improved {
			return nil
		}
	}
	return breach(nil, "there was nothing to roll out: no node came to have the update revision in this run%s", standing(report))
}

// NoPodRecreatedTwice promises that no node gets a second pod of one revision, whatever became of the first. It fails also if
// no pod is created at all.
func NoPodRecreatedTwice() Promise {
	type place struct{ node, revision string }
	return Promise{
		Says: "no pod is recreated twice",
		Begin: func(simulate.Scenario, *simulate.Simulation) Guard {
			first := map[place]string{}
			var broken error
			return Guard{
				Record: func(r simulate.Record) {
					if r.Kind != simulate.PodCreated || broken != nil {
						return
					}
					at := place{r.Node, r.Revision}
					if before, ok := first[at]; ok {
						broken = breach([]string{r.Node}, "%s gets pod %s of revision %s (%s) after pod %s",
							r.Node, r.Pod, r.Revision, r.Detail, before)
					}
					first[at] = r.Pod
				},
				Instant: func(time.Duration) error { return broken },
				End: func(*simulate.Simulation, simulate.Report) error {
					if len(first) == 0 {
						return breach(nil, "no pod was created in this run")
					}
					return nil
				},
			}
		},
	}
}

// NoPodDeletedOn promises that the controller deletes no pod on these nodes. It fails also if one of them never had a pod, if no
// node at all was begun in the run, and without nodes.
func NoPodDeletedOn(nodes ...string) Promise {
	return Promise{
		Says: fmt.Sprintf("no pod is deleted on %s", cmp.Or(listed(nodes), "no node")),
		Begin: func(simulate.Scenario, *simulate.Simulation) Guard {
			ran := map[string]bool{} // whether they had a pod
			for _, node := range nodes {
				ran[node] = false
			}
			var broken error
			var put effort
			return Guard{
				Step: put.step,
				Record: func(r simulate.Record) {
					put.record(r)
					if _, ok := ran[r.Node]; !ok || broken != nil {
						return
					}
					switch {
					case r.Kind == simulate.PodDeleted:
						broken = breach([]string{r.Node}, "pod %s on %s is deleted (%s)", r.Pod, r.Node, r.Detail)
					case r.Kind == simulate.NodeChanged && r.To > simulate.NodeEmpty:
						ran[r.Node] = true
					}
				},
				Instant: func(time.Duration) error { return broken },
				End: func(_ *simulate.Simulation, report simulate.Report) error {
					if never := sortedNodes(ran, func(_ string, ran bool) bool { return !ran }); len(never) > 0 {
						return breach(never, "there was never a pod to delete on %s", listed(never))
					}
					if len(nodes) == 0 {
						return breach(nil, "no nodes are named")
					}
					return put.toTheTest(report)
				},
			}
		},
	}
}
