package main

import (
	"errors"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/rollout"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// trouble is what may happen and need not.
type trouble uint8

const (
	podFails trouble = iota
	podUnready
	podBreaks // it is not Ready, and stays so
	podCrashes
	podEvicted
	podDeleted // by a user
	nodeTainted
	nodeDown
	nodeDeparts
	nodeRelabelled // it moves to another part
	userChanges    // one of the changes of the configuration
	partly         // a plan is carried out in part: a prefix, or all but one action
	watchLags      // what a plan has done is not seen by the next ones, until the watch catches up
	memoryLost     // the controller forgets what its last plan has told it
	late           // time passes although somebody could do something

	kindsOfTrouble
)

// change is from one spec to another, as numbers of the configuration's specs.
type change struct {
	from, to int
	// fair changes come some day, as approvals do; others are trouble.
	fair bool
	name string
}

// Configuration is a small world.
type Configuration struct {
	Name     string
	Nodes    int
	Specs    []rollout.Spec // the first of which was rolled out in the beginning
	Changes  []change
	Troubles [kindsOfTrouble]int8
	// Ages are those of objects that a rule may ask for, ascending from 0, and Ticks how far the clock goes at once.
	Ages, Ticks []time.Duration
	// Images of the specs, by their order. Pods of Broken run and are never Ready.
	Images []string
	Broken string
	// Labels of nodes, by their order. Nil: none, so that the nodes are alike. Ring is the key of the label that decides
	// about the part of a node, whose values are numbers; "": there are no stages.
	Labels []map[string]string
	Ring   string
	// Blame: the past of pods is kept for who may be blamed.
	Blame bool
	// MaxDown is how many nodes that could serve may be without a Ready pod because of the controller; Surge how many may
	// have a pod beside another.
	MaxDown, Surge int
	// Exempt is how many nodes that are down do not count, or that nothing was begun on; with Quarantine also those on which
	// the update revision has failed.
	Exempt     int
	Quarantine bool
	// Order: each plan is made once more of the same objects in another order.
	Order bool
	// Most is at how many states an exploration is cut off.
	Most int
}

// world explores a configuration.
type world struct {
	*Configuration
	stores
	views        views
	clock        clock
	permutations []*permutation
	planners     []*rollout.Planner
	plan         planner
	moved        map[podMove]id // what kubelets make of pods
	edits        map[nodeEdit]id
	created      map[creation]id
	hashes       []string // of the specs
	images       []int    // of the specs
}

// planner plans by the spec of that number.
type planner func(w *world, spec int, snapshot rollout.Snapshot) (rollout.Plan, error)

// errRefused: the features do not go together.
var errRefused = errors.New("refused")

type podMove struct {
	pod  id
	what string
}

type nodeEdit struct {
	node id
	what string
}

type creation struct {
	create string
	slot   int
}

func newWorld(c *Configuration) (*world, error) {
	w := &world{
		Configuration: c, stores: newStores(), views: views{numbers: map[view]int32{}},
		clock: clock{ages: c.Ages}, permutations: permutations(c.Nodes),
		moved: map[podMove]id{}, edits: map[nodeEdit]id{}, created: map[creation]id{},
		plan: func(w *world, spec int, snapshot rollout.Snapshot) (rollout.Plan, error) {
			return w.planners[spec].Plan(snapshot)
		},
	}
	if c.Labels != nil {
		w.permutations = w.permutations[:1] // nodes with labels are not alike
	}
	for i := range c.Specs {
		planner, err := rollout.New(c.Specs[i])
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errRefused, err)
		}
		w.planners = append(w.planners, planner)
		w.hashes = append(w.hashes, kit.Hash(c.Specs[i]))
		w.images = append(w.images, slices.Index(c.Images, c.Specs[i].Template.Spec.Containers[0].Image))
	}
	return w, nil
}

// begin is the state in which the first spec has been rolled out for a long time.
func (w *world) begin() (state, error) {
	s := state{troubles: w.Troubles}
	empty(s.nodes[:])
	empty(s.pods[:])
	empty(s.revisions[:])
	long := now.Add(-w.Ages[len(w.Ages)-1])
	revision := kit.RolledOut(w.Specs[0], 1)
	settle(revision, long)
	s.revisions[0] = w.revisions.put(revision)
	for i := range w.Nodes {
		node := kit.Node(nodeName(i))
		if w.Labels != nil {
			for key, value := range w.Labels[i] {
				kit.Label(key, value)(node)
			}
		}
		for k := range node.Status.Conditions {
			node.Status.Conditions[k].LastTransitionTime.Time = long
		}
		s.nodes[i] = w.nodes.put(node)
		pod, err := w.planners[0].Pod(rollout.Create{Node: node.Name, Revision: w.hashes[0]})
		if err != nil {
			return s, err
		}
		admit(pod, node.Name, 0)
		bind(pod, node)
		start(pod)
		number := w.pods.put(pod)
		for range 2 { // it gets as old as it may
			number = w.pods.after(number, &w.clock, w.Ages[len(w.Ages)-1])
		}
		with(s.pods[:], number)
	}
	s.memory = w.memories.put(&rollout.Memory{})
	w.remember(&s)
	return s, nil
}

// settle gives a revision a name that may stand in any state, and its age.
func settle(r *appsv1.ControllerRevision, at time.Time) {
	r.UID, r.CreationTimestamp.Time = types.UID(r.Name), at
	r.ResourceVersion = ""
}

// snapshot is what the controller sees.
func (w *world) snapshot(s *state) rollout.Snapshot {
	snapshot := rollout.Snapshot{Now: now, Memory: *w.memories.at(s.memory)}
	seen := &s.view
	if s.behind {
		seen, snapshot.InFlight = &w.views.list[s.seen], *w.inFlights.at(s.inFlight)
	}
	for _, i := range seen.nodes[:w.Nodes] {
		snapshot.Nodes = append(snapshot.Nodes, w.nodes.at(i))
	}
	snapshot.Pods = w.podsOf(seen)
	for _, i := range seen.revisions {
		if i != nothing {
			snapshot.Revisions = append(snapshot.Revisions, w.revisions.at(i))
		}
	}
	return snapshot
}

func (w *world) podsOf(v *view) []*corev1.Pod {
	var pods []*corev1.Pod
	for _, i := range v.pods {
		if i != nothing {
			pods = append(pods, w.pods.at(i))
		}
	}
	return pods
}

// podName is that of the pod in a slot of a node. A slot is free again once nobody knows of its last pod any more.
func podName(node string, slot int) string { return fmt.Sprintf("%s.%c", node, 'a'+slot) }

func (w *world) slotFree(s *state, name string) bool {
	taken := func(i id) bool { return i != nothing && w.pods.at(i).Name == name }
	if slices.ContainsFunc(s.pods[:], taken) || s.behind && slices.ContainsFunc(w.views.list[s.seen].pods[:], taken) {
		return false
	}
	if s.behind && slices.Contains(w.inFlights.at(s.inFlight).Deletes, types.UID(name)) {
		return false
	}
	for _, b := range w.memories.at(s.memory).Backoffs {
		if slices.Contains(b.Going, types.UID(name)) {
			return false
		}
	}
	return true
}
