package main

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/simulate"
)

// choices are the nodes that plans have chosen to disturb, as the cluster is. The controller learns later than we do that a
// node is in order again, so it counts at least these, whatever the lag of its watches.
type choices struct {
	// down are nodes that a plan has taken the serving pod from, and that have not served since.
	down map[string]bool
	// surging are nodes that a plan has given another pod beside the old one, which is still so, with that pod.
	surging map[string]string
	// deleted is the node of the pod that was deleted just now, if the reason was the update; dropped the node that ceased
	// to serve just now.
	deleted, dropped string
	at               time.Duration // that is now
}

func newChoices() choices { return choices{down: map[string]bool{}, surging: map[string]string{}} }

// chosen follows what plans do to nodes, and holds it to the budget of the last plan (V1, V2). Nodes that are not to run the
// pod do not count, nor as many as maxUnschedulable.
func (c *checker) chosen(r *simulate.Record) *broken {
	x := &c.choices
	deleted, dropped := x.deleted, x.dropped
	if x.at != r.At {
		deleted, dropped = "", ""
	}
	x.deleted, x.dropped, x.at = "", "", r.At
	switch r.Kind {
	case simulate.NodeChanged:
		if r.To.Serving() || r.To == simulate.NodeOutside || r.To == 0 {
			delete(x.down, r.Node)
		}
		if r.To < simulate.NodePending || r.To == simulate.NodeOld || r.To == simulate.NodeNew {
			delete(x.surging, r.Node)
		}
		if !r.From.Serving() || r.To.Serving() || r.To == simulate.NodeLost {
			return nil
		}
		x.dropped = r.Node
		if deleted == r.Node && c.runs[r.Node] {
			x.down[r.Node] = true
			return c.withinUnavailable(r.Node)
		}
	case simulate.PodDeleted:
		if x.surging[r.Node] == r.Pod { // it was evicted, say, and holds no place any more
			delete(x.surging, r.Node)
		}
		if c.byUpdate(r.Detail) {
			x.deleted = r.Node
		}
	case simulate.PodPatched:
		if r.Detail == rollout.ReasonTakenBack.String() {
			delete(x.down, r.Node)
		}
		if c.runs[r.Node] && c.byUpdate(r.Detail) && (dropped == r.Node || c.prepares(r)) {
			x.down[r.Node] = true
			return c.withinUnavailable(r.Node)
		}
	case simulate.PodCreated:
		if r.Detail == rollout.ReasonOutdated.String() && c.runs[r.Node] {
			if state := c.sim.NodeState(r.Node); state == simulate.NodeSurging {
				x.surging[r.Node] = r.Pod
				return c.withinSurge(r.Node)
			}
		}
	default:
	}
	return nil
}

// prepares tells whether a serving pod was given to its inPlaceUpdate hook. From then on it does not serve, by B2, as it may
// cease to at any time.
func (c *checker) prepares(r *simulate.Record) bool {
	return r.Detail == rollout.ReasonOutdated.String() && c.sim.NodeState(r.Node).Serving() &&
		slices.ContainsFunc(c.sim.Pods(), func(p *corev1.Pod) bool {
			return p.Name == r.Pod && lifecycle.StateOf(p) == lifecycle.PreparingUpdate
		})
}

// byUpdate tells whether an action of that reason is one that the budget is for. Repair acts on what the controller sees,
// and may be wrong about it if that is the past. What was begun counted when it was.
func (c *checker) byUpdate(reason string) bool {
	controller := &c.scenario.Controller
	past := !controller.Lag.IsZero() || controller.CallsPerSecond > 0 || controller.LostAnswers > 0
	return reason == rollout.ReasonOutdated.String() || !past && reason != rollout.ReasonBegun.String()
}

func (c *checker) withinUnavailable(node string) *broken {
	strategy := c.step.Spec.Strategy
	unset := 1
	if surge := strategy.MaxSurge; surge != nil && resolve(surge, 0, 100, true) > 0 {
		unset = 0
	}
	limit := resolve(strategy.MaxUnavailable, unset, len(c.runs), true)
	return c.within("budget", node, slices.Collect(maps.Keys(c.choices.down)), limit, "were taken down by plans and do not serve")
}

func (c *checker) withinSurge(node string) *broken {
	limit := resolve(c.step.Spec.Strategy.MaxSurge, 0, len(c.runs), true)
	return c.within("surge", node, slices.Collect(maps.Keys(c.choices.surging)), limit,
		"have a new pod that plans put beside the old one, not available")
}

func (c *checker) within(oracle, node string, nodes []string, limit int, what string) *broken {
	if c.step.Spec.MinReadySeconds > 0 && !c.scenario.Controller.Lag.IsZero() {
		// A pod that was Ready, but not for long enough, looks available to a controller that does not see yet that it is no
		// longer Ready.
		return nil
	}
	limit += resolve(c.step.Spec.Strategy.MaxUnschedulable, 0, len(c.runs), true)
	var count []string
	for _, name := range nodes {
		if c.runs[name] {
			count = append(count, name)
		}
	}
	if len(count) <= limit {
		return nil
	}
	slices.Sort(count)
	return brokenAt(oracle, node, "%d nodes %s; the limit is %d: %v", len(count), what, limit, count)
}
