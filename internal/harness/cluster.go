package harness

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/predownload"
	"github.com/daemonplan/daemonplan/rollout"
)

// Cluster is a small fair cluster in virtual time. It executes plans as an API server would, and plays scheduler,
// kubelets and pod garbage collector: pinned pods are bound, bound ones start and become Ready, terminating ones go
// away. Containers of pods that are updated in place restart or get their new resources, nodes pull images ahead, and the
// controllers of users see to the hooks. It is deterministic: equal beginnings and equal calls give equal clusters.
//
// The objects that it hands out are never written to again, so a snapshot stays as it is while the cluster goes on;
// like those of an informer cache they must not be written to.
type Cluster struct {
	spec     rollout.Spec
	planner  *rollout.Planner
	behavior Behavior

	now       time.Time
	nodes     map[string]*corev1.Node
	pods      []*simulated // in order of appearance
	revisions []*appsv1.ControllerRevision
	memory    rollout.Memory

	pulls       []*pull // under way, the oldest first
	failedPulls []predownload.Failure

	created  int // serial number of the last pod created
	version  int // resource version of the pod that was written last
	requests []request
	refused  []rollout.RefusedPatch
	views    []view
	events   []Event
}

// NewCluster returns a cluster that is in the state of the snapshot. What is in flight in it is dropped: the
// cluster knows what was requested. It fails for a spec that [rollout.New] refuses.
func NewCluster(spec rollout.Spec, snapshot rollout.Snapshot, behavior Behavior) (*Cluster, error) {
	c := &Cluster{
		behavior: behavior,
		now:      snapshot.Now,
		nodes:    make(map[string]*corev1.Node, len(snapshot.Nodes)),
		memory:   snapshot.Memory,

		failedPulls: slices.Clone(snapshot.FailedPulls),
	}
	if err := c.SetSpec(spec); err != nil {
		return nil, err
	}
	for _, node := range snapshot.Nodes {
		c.nodes[node.Name] = node.DeepCopy()
	}
	for _, pod := range snapshot.Pods {
		c.created = max(c.created, serial(pod.UID))
		if version, err := strconv.Atoi(pod.ResourceVersion); err == nil {
			c.version = max(c.version, version)
		}
	}
	for _, pod := range snapshot.Pods {
		c.SetPod(pod)
	}
	for _, revision := range snapshot.Revisions {
		c.revisions = append(c.revisions, revision.DeepCopy())
	}
	c.show()
	return c, nil
}

// Now is the virtual time.
func (c *Cluster) Now() time.Time { return c.now }

// Spec is the spec in force.
func (c *Cluster) Spec() rollout.Spec { return c.spec }

// Events lists all that happened so far, in order. The caller owns the list.
func (c *Cluster) Events() []Event { return slices.Clone(c.events) }

// SetSpec puts another spec in force: a new template, another budget. Requests are built from it from now on. It
// fails for a spec that [rollout.New] refuses, and leaves the old one in force.
func (c *Cluster) SetSpec(spec rollout.Spec) error {
	planner, err := rollout.New(spec)
	if err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	c.spec, c.planner = spec, planner
	return nil
}

// Plan plans with the real planner for the spec in force, as a [PlanFunc] does.
func (c *Cluster) Plan(snapshot rollout.Snapshot) (rollout.Plan, error) {
	return c.planner.Plan(snapshot)
}

// SetNode adds the node or puts it in the place of the one of that name.
func (c *Cluster) SetNode(node *corev1.Node) {
	c.nodes[node.Name] = node.DeepCopy()
}

// RemoveNode removes the node, and the pulls of images on it. Its bound pods are collected at the next event, its
// unbound ones are the planner's (M5).
func (c *Cluster) RemoveNode(name string) {
	delete(c.nodes, name)
	c.pulls = slices.DeleteFunc(slices.Clone(c.pulls), func(p *pull) bool { return p.node == name })
	for _, p := range c.pods {
		p.since = c.now
	}
}

// SetPod adds the pod, or puts it in the place of the one of that UID: for what happens to pods in other ways than
// by plans. It gets a resource version if it has none, or the one of the pod in whose place it comes.
func (c *Cluster) SetPod(pod *corev1.Pod) {
	p := c.newSimulated(pod.DeepCopy())
	i := slices.IndexFunc(c.pods, func(p *simulated) bool { return p.UID == pod.UID })
	if p.ResourceVersion == "" || i >= 0 && c.pods[i].ResourceVersion == p.ResourceVersion {
		p.ResourceVersion = c.nextVersion()
	}
	if i < 0 {
		c.pods = append(c.pods, p)
		return
	}
	p.unnoticed = c.pods[i].unnoticed
	c.pods[i] = p
}

func (c *Cluster) nextVersion() string {
	c.version++
	return strconv.Itoa(c.version)
}

// LoseMemory forgets the memory of the last plan, as a controller does that keeps it in its process and restarts.
func (c *Cluster) LoseMemory() { c.memory, c.refused = rollout.Memory{}, nil }

// Snapshot is what a controller sees: nodes and pulls of images as they are, pods and revisions as a watch with the
// behavior's Lag shows them, and in flight what was requested and is not shown yet. The slices are the caller's.
func (c *Cluster) Snapshot() rollout.Snapshot {
	v := c.seen()
	snapshot := rollout.Snapshot{
		Now:       c.now,
		Pods:      slices.Clone(v.pods),
		Revisions: slices.Clone(v.revisions),
		Memory:    c.memory,

		FailedPulls: slices.Clone(c.failedPulls),
	}
	for _, p := range c.pulls {
		snapshot.InFlight.Pulls = append(snapshot.InFlight.Pulls, predownload.Request{Node: p.node, Image: p.image})
	}
	for _, name := range sortedKeys(c.nodes) {
		snapshot.Nodes = append(snapshot.Nodes, c.nodes[name])
	}
	for _, r := range c.requests[v.requests:] {
		r.add(&snapshot.InFlight)
	}
	snapshot.InFlight.Refused = slices.Clone(c.refused)
	return snapshot
}

// Behind reports whether the snapshot is older than the cluster, so that only a tick or two will show what is.
func (c *Cluster) Behind() bool {
	return c.seen().requests < len(c.requests) || c.seen().events < len(c.events)
}

// view is the state of the cluster at one tick, as a lagging watch shows it.
type view struct {
	pods      []*corev1.Pod
	revisions []*appsv1.ControllerRevision
	requests  int // of all requests, how many it shows the effect of
	events    int
}

// seen is the view that the snapshot shows.
func (c *Cluster) seen() view {
	if c.behavior.Lag <= 0 {
		return c.view()
	}
	return c.views[max(0, len(c.views)-c.behavior.Lag)]
}

func (c *Cluster) view() view {
	v := view{requests: len(c.requests), events: len(c.events), revisions: slices.Clone(c.revisions)}
	for _, p := range c.pods {
		v.pods = append(v.pods, p.Pod)
	}
	return v
}

// show makes the present state one that a lagging watch will show.
func (c *Cluster) show() {
	if c.behavior.Lag > 0 {
		c.views = append(c.views, c.view())
		c.views = c.views[max(0, len(c.views)-c.behavior.Lag):]
	}
}

func (c *Cluster) record(kind EventKind, p *corev1.Pod) { c.recordDetail(kind, p, "") }

func (c *Cluster) recordDetail(kind EventKind, p *corev1.Pod, detail string) {
	node, _ := placement.TargetNode(p)
	c.events = append(c.events, Event{
		At: c.now, Kind: kind, Node: node, Object: p.Name, UID: p.UID,
		Revision: p.Labels[appsv1.DefaultDaemonSetUniqueLabelKey], Detail: detail,
	})
}
