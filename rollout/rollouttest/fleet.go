package rollouttest

import (
	"maps"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/simulate"
)

// FleetOption changes one thing about a fleet. Options are applied in order. Those for nodes are about the pool that was added
// last.
type FleetOption func(*simulate.Fleet)

// Fleet returns a fleet of so many equal nodes for a simulation, in one pool called "node", so that they are node-00000 and
// so on. It begins at [Noon], and nothing runs on it until an option says so:
//
//	rollouttest.Fleet(12, rollouttest.InZones("a", "b", "c"), rollouttest.Running(old))
func Fleet(nodes int, options ...FleetOption) simulate.Fleet {
	fleet := simulate.Fleet{Now: Noon(), Pools: []simulate.Pool{{Name: "node", Nodes: nodes}}}
	for _, option := range options {
		option(&fleet)
	}
	return fleet
}

// And adds another pool of so many nodes, which are called after it. The options after it are about that pool.
func And(nodes int, pool string) FleetOption {
	return func(f *simulate.Fleet) { f.Pools = append(f.Pools, simulate.Pool{Name: pool, Nodes: nodes}) }
}

// InPool names the pool, and its nodes after it. The name must be that of no other pool.
func InPool(name string) FleetOption {
	return ofPool(func(p *simulate.Pool) { p.Name = name })
}

// InZones spreads the nodes of the pool over zones, in turn (label topology.kubernetes.io/zone). Without names, and without
// it, they have no such label.
func InZones(zones ...string) FleetOption {
	return ofPool(func(p *simulate.Pool) { p.Zones = zones })
}

// InRacks spreads the nodes of each zone of the pool over that many racks, in turn (label [simulate.RackLabel]). With 0, and
// without it, they have no such label.
func InRacks(racks int) FleetOption {
	return ofPool(func(p *simulate.Pool) { p.Racks = racks })
}

// Labelled gives the nodes of the pool a label. Several add up.
func Labelled(key, value string) FleetOption {
	return ofPool(func(p *simulate.Pool) { p.Labels = objects.With(maps.Clone(p.Labels), key, value) })
}

// Tainted gives the nodes of the pool a taint. Several add up.
func Tainted(key, value string, effect corev1.TaintEffect) FleetOption {
	return ofPool(func(p *simulate.Pool) {
		p.Taints = append(p.Taints, corev1.Taint{Key: key, Value: value, Effect: effect})
	})
}

// Running has the nodes of all pools that are to run the spec's pod run it from the beginning: available, and for long.
// Without it nothing runs there, as before a first installation.
func Running(spec rollout.Spec) FleetOption {
	return func(f *simulate.Fleet) { f.Running = &spec }
}

// ofPool changes the pool that was added last.
func ofPool(change func(*simulate.Pool)) FleetOption {
	return func(f *simulate.Fleet) {
		if len(f.Pools) > 0 {
			change(&f.Pools[len(f.Pools)-1])
		}
	}
}
