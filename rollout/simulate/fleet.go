package simulate

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/daemonplan/daemonplan/rollout"
)

// Fleet is where a run begins: nodes that are generated, those of a snapshot, or both.
type Fleet struct {
	// Now is the instant at which the run begins. Zero: that of the snapshot, else noon of 2026-01-01, UTC.
	Now time.Time `json:"now,omitzero"`
	// Snapshot is the cluster to begin with, such as a dump of a real one. Nil: none.
	Snapshot *rollout.Snapshot `json:"snapshot,omitempty"`
	// Pools are nodes to generate, in addition to those of the snapshot. Nil: none.
	Pools []Pool `json:"pools,omitempty"`
	// Running is the spec that was rolled out on the generated nodes long ago. Each of them that is to run its pod has an
	// available one, and the revision of its template exists. Nil: nothing runs on them, so that Scenario.Spec is installed for
	// the first time.
	Running *rollout.Spec `json:"running,omitempty"`
	// Claims are the claims that the pods of the set may use. One that only one pod may use (ReadWriteOncePod) keeps all other
	// pods off all nodes while the first is there. Nil: nothing is known of claims, and they keep nobody apart.
	Claims []*corev1.PersistentVolumeClaim `json:"claims,omitempty"`
}

// Pool is a number of equal nodes. They are named after the pool and numbered from 0, as in "web-00017". If a snapshot has
// nodes with such names, the numbers go on after theirs.
type Pool struct {
	// Name is the name of the pool, and the value of the label [PoolLabel] of its nodes. Required, unique.
	Name string `json:"name,omitempty"`
	// Nodes is the number of nodes.
	Nodes int `json:"nodes,omitempty"`
	// Zones are the zones over which the nodes are spread in turn (label topology.kubernetes.io/zone). Nil: no label.
	Zones []string `json:"zones,omitempty"`
	// Racks is the number of racks in each zone, over which the nodes of the zone are spread in turn (label [RackLabel], such as
	// "zone-a-r2", or "r2" without zones). 0: no label.
	Racks int `json:"racks,omitempty"`
	// Labels and Taints are further labels, and the taints, of each node.
	Labels map[string]string `json:"labels,omitempty"`
	Taints []corev1.Taint    `json:"taints,omitempty"`
	// Allocatable has the resources of each node, and Used how much of them other pods use. A resource that Allocatable does
	// not name is unlimited.
	Allocatable corev1.ResourceList `json:"allocatable,omitempty"`
	Used        corev1.ResourceList `json:"used,omitempty"`
	// Bandwidth is that of each node, in bytes per second. 0: Registry.NodeBandwidth.
	Bandwidth int64 `json:"bandwidth,omitempty"`
	// Images are those that the nodes have from the beginning, in addition to the images that run there.
	Images []string `json:"images,omitempty"`
}

// Labels of generated nodes: the pool of a node (Pool.Name) and its rack (Pool.Racks).
const (
	PoolLabel = "daemonplan.io/pool"
	RackLabel = "daemonplan.io/rack"
)

// Build generates the fleet, and returns what a controller would see at the beginning of a run. The objects share memory with
// each other and with the fleet, so they must not be written to. The error lists every mistake in the fleet, with field
// paths.
func (f Fleet) Build() (rollout.Snapshot, error) {
	if errs := f.validate(field.NewPath("fleet")); len(errs) > 0 {
		return rollout.Snapshot{}, scenarioError{errs}
	}
	return f.snapshot()
}

// snapshot builds a fleet that was validated.
func (f Fleet) snapshot() (rollout.Snapshot, error) {
	snapshot := rollout.Snapshot{}
	if f.Snapshot != nil {
		snapshot = *f.Snapshot
		// Without the clips, what is added could go into the caller's arrays.
		snapshot.Nodes, snapshot.Pods = slices.Clip(snapshot.Nodes), slices.Clip(snapshot.Pods)
		snapshot.Revisions = slices.Clip(snapshot.Revisions)
	}
	snapshot.Now = f.begin()
	var generated []*corev1.Node
	for i := range f.Pools {
		maker := f.Pools[i].maker(snapshot.Now.Add(-age).Truncate(time.Second))
		first := firstNumber(f.Pools[i].Name, snapshot.Nodes)
		for number := first; number < first+f.Pools[i].Nodes; number++ {
			generated = append(generated, maker.node(number))
		}
	}
	if f.Running != nil {
		if err := populate(&snapshot, generated, *f.Running); err != nil {
			return rollout.Snapshot{}, fmt.Errorf("fleet.running: %w", err)
		}
	}
	snapshot.Nodes = append(snapshot.Nodes, generated...)
	return snapshot, nil
}

// age is how old generated objects are: the fleet has been as it is for a while.
const age = time.Hour

// begin is the instant of the beginning.
func (f Fleet) begin() time.Time {
	switch {
	case !f.Now.IsZero():
		return f.Now
	case f.Snapshot != nil && !f.Snapshot.Now.IsZero():
		return f.Snapshot.Now
	}
	return time.Date(2026, time.January, 1, 12, 0, 0, 0, time.UTC)
}

// maker makes the nodes of one pool. They share what they have in common.
type maker struct {
	*Pool
	since      metav1.Time
	conditions []corev1.NodeCondition
	images     []corev1.ContainerImage
}

// maker returns the maker of nodes that have been Ready since that instant.
func (p *Pool) maker(since time.Time) maker {
	at := metav1.NewTime(since)
	return maker{
		Pool: p, since: at, images: reported(p.Images),
		conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastTransitionTime: at}},
	}
}

// reported is what a node's status says about images that the node has.
func reported(images []string) []corev1.ContainerImage {
	var out []corev1.ContainerImage
	for _, image := range images {
		out = append(out, corev1.ContainerImage{Names: []string{image}})
	}
	return out
}

// node makes the node of that number, from 0.
func (m *maker) node(number int) *corev1.Node {
	name := nodeName(m.Name, number)
	labels := make(map[string]string, len(m.Labels)+4)
	maps.Copy(labels, m.Labels)
	labels[corev1.LabelHostname] = name
	labels[PoolLabel] = m.Name
	turn, prefix := number, ""
	if len(m.Zones) > 0 {
		zone := m.Zones[number%len(m.Zones)]
		labels[corev1.LabelTopologyZone] = zone
		turn, prefix = number/len(m.Zones), zone+"-"
	}
	if m.Racks > 0 {
		labels[RackLabel] = rackName(prefix, turn%m.Racks)
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, UID: types.UID("node-" + name), Labels: labels, CreationTimestamp: m.since,
		},
		Spec: corev1.NodeSpec{Taints: m.Taints},
		Status: corev1.NodeStatus{
			Capacity: m.Allocatable, Allocatable: m.Allocatable, Conditions: m.conditions, Images: m.images,
		},
	}
}

func nodeName(pool string, number int) string { return fmt.Sprintf("%s-%05d", pool, number) }

// rackName is unique in the cluster, because its prefix names the zone.
func rackName(prefix string, number int) string { return prefix + "r" + strconv.Itoa(number+1) }

// firstNumber is the number of the next node of the pool, after all nodes that exist.
func firstNumber(pool string, nodes []*corev1.Node) int {
	first := 0
	for _, node := range nodes {
		if node == nil {
			continue
		}
		if digits, ok := strings.CutPrefix(node.Name, pool+"-"); ok {
			if number, err := strconv.ParseUint(digits, 10, 31); err == nil {
				first = max(first, int(number)+1)
			}
		}
	}
	return first
}
