package simulate

import (
	"maps"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/rollout"
)

func (s *Simulation) now() time.Time { return s.start.Add(s.elapsed) }

// stamp is now as objects have it: in whole seconds, which is all that the JSON of API objects keeps.
func (s *Simulation) stamp() time.Time { return s.now().Truncate(time.Second) }

// Now returns the virtual time. The clock of the controller may differ from it ([SetClock]).
func (s *Simulation) Now() time.Time { return s.now() }

// Elapsed returns how much virtual time has passed since the beginning.
func (s *Simulation) Elapsed() time.Duration { return s.elapsed }

// Spec returns the spec in force. It must not be written to.
func (s *Simulation) Spec() rollout.Spec { return s.spec }

// Nodes returns all nodes as they are, by name. The objects must not be written to.
func (s *Simulation) Nodes() []*corev1.Node {
	nodes := make([]*corev1.Node, len(s.names))
	for i, n := range s.names {
		nodes[i] = n.object
	}
	return nodes
}

// Pods returns all pods as they are, in the order of their creation. The objects must not be written to.
func (s *Simulation) Pods() []*corev1.Pod {
	pods := make([]*corev1.Pod, 0, len(s.pods))
	for _, p := range s.order {
		if p.stage != gone {
			pods = append(pods, p.object)
		}
	}
	return pods
}

// Revisions returns all revisions of the set as they are, in no particular order. The objects must not be written to.
func (s *Simulation) Revisions() []*appsv1.ControllerRevision { return slices.Clone(s.revisions) }

// NodeState returns the state of the node; 0 if there is no node of that name, or the run has not begun.
func (s *Simulation) NodeState(name string) NodeState {
	if n := s.nodes[name]; n != nil {
		return n.state
	}
	return 0
}

// Count returns how many nodes are in the state; 0 for a state that was never declared.
func (s *Simulation) Count(state NodeState) int {
	if state == 0 || state >= nodeStates {
		return 0
	}
	return s.counts[state]
}

// Unavailable returns how many nodes are to run the pod and have none that serves (B2).
func (s *Simulation) Unavailable() int {
	sum := 0
	for state, count := range s.counts {
		if unavailable(NodeState(state)) {
			sum += count
		}
	}
	return sum
}

// UnavailableByZone returns the number of such nodes for each zone that has any. The map is the caller's.
func (s *Simulation) UnavailableByZone() map[string]int {
	zones := maps.Clone(s.lacking)
	maps.DeleteFunc(zones, func(_ string, n int) bool { return n == 0 })
	return zones
}

// Pulled returns how many bytes of images have come so far, from the registry and from peers.
func (s *Simulation) Pulled() (registry, peers int64) { return s.registry.bytes() }
