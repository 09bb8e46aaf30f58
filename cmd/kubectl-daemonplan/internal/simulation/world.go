package simulation

import (
	"fmt"
	"strings"
	"time"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/simulate"
)

// fleetFile is a file of generated nodes.
type fleetFile struct {
	Now   time.Time
	Pools []simulate.Pool
}

// world is a file that describes how the cluster behaves. What it does not have is nil: the times are then derived from a dump,
// and the controller is a real one.
type world struct {
	Model      *simulate.Model
	Controller *simulate.Controller
	Events     []simulate.Event
}

// realController is the DaemonSet controller as kube-controller-manager runs it, unless its flags say otherwise. It looks again
// as soon as it is done and something has changed. A look at a large fleet takes it some 20 µs a node (docs/speed.md); of a small
// one what comes within a tenth of a second is looked at together, which saves plans and changes no answer
// (docs/forecasts-against-reality.md).
func realController(nodes int) simulate.Controller {
	return simulate.Controller{
		Interval:       max(100*time.Millisecond, time.Duration(nodes)*20*time.Microsecond),
		CallsPerSecond: 20, CallBurst: 30,
	}
}

// controller is that of the world, for so many nodes. A file with "controller: {}" has an ideal one, which loses no time.
func (w *world) controller(nodes int) simulate.Controller {
	if w.Controller == nil {
		return realController(nodes)
	}
	return *w.Controller
}

// controllerNote says which controller is taken for the one that runs, if the world does not say it; empty: it does.
func (w *world) controllerNote(nodes int) string {
	if w.Controller != nil {
		return ""
	}
	c := realController(nodes)
	return fmt.Sprintf("the controller looks at most every %s, and sends %s calls a second, %d at once after a pause, "+
		"as controllers do: the section controller of --world says otherwise", asDuration(float64(c.Interval)),
		asCount(c.CallsPerSecond), c.CallBurst)
}

// maxNodes is the largest number of nodes that are generated. More do not fit into the memory of a machine. A pool with more is
// probably a typing error.
const maxNodes = 200_000

func readFleet(file objects.File) (simulate.Fleet, error) {
	var read fleetFile
	if err := new(decoder).decode(file, &read); err != nil {
		return simulate.Fleet{}, err
	}
	if len(read.Pools) == 0 {
		return simulate.Fleet{}, fmt.Errorf("%s: pools: there must be one at least", file.Name)
	}
	return simulate.Fleet{Now: read.Now, Pools: read.Pools}, checkSize(file.Name, read.Pools)
}

// checkSize refuses pools that are so large that they are probably a mistake.
func checkSize(name string, pools []simulate.Pool) error {
	total := 0
	for i, pool := range pools {
		if pool.Nodes < 0 || pool.Nodes > maxNodes || total+pool.Nodes > maxNodes {
			return fmt.Errorf("%s: pools[%d].nodes: %d; a fleet has 1 to %d nodes", name, i, pool.Nodes, maxNodes)
		}
		total += pool.Nodes
	}
	if total == 0 {
		return fmt.Errorf("%s: pools: there is no node in them", name)
	}
	return nil
}

// generated is the fleet of --nodes and --zones: one pool of equal nodes.
func generated(nodes int, zones []string) (simulate.Fleet, error) {
	if nodes < 1 || nodes > maxNodes {
		return simulate.Fleet{}, fmt.Errorf("--nodes %d: a fleet has 1 to %d nodes", nodes, maxNodes)
	}
	for _, zone := range zones {
		if strings.TrimSpace(zone) == "" {
			return simulate.Fleet{}, fmt.Errorf("--zones %s: a name is empty; it is a list such as a,b,c",
				strings.Join(zones, ","))
		}
	}
	return simulate.Fleet{Pools: []simulate.Pool{{Name: "node", Nodes: nodes, Zones: zones}}}, nil
}

// size is how many nodes the fleet begins with.
func size(fleet simulate.Fleet) int {
	if fleet.Snapshot != nil {
		return len(fleet.Snapshot.Nodes)
	}
	total := 0
	for _, pool := range fleet.Pools {
		total += pool.Nodes
	}
	return total
}

// scaled is the fleet with that share of the nodes in each pool, but one at least.
func scaled(fleet simulate.Fleet, factor float64) simulate.Fleet {
	pools := make([]simulate.Pool, len(fleet.Pools))
	for i, pool := range fleet.Pools {
		if pool.Nodes > 0 {
			pool.Nodes = max(1, int(float64(pool.Nodes)*factor+0.5))
		}
		pools[i] = pool
	}
	fleet.Pools = pools
	return fleet
}

// readWorld reads a world, and the manifests that its events name.
func readWorld(f *objects.Files, file objects.File) (world, error) {
	var read world
	d := decoder{Spec: func(name string) (*rollout.Spec, error) {
		c, err := readManifest(f, f.Beside(file, name), "")
		if err != nil {
			return nil, err
		}
		return &c.Set.Spec, nil
	}}
	err := d.decode(file, &read)
	return read, err
}
