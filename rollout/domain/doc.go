// Package domain bounds how much of a fleet a rollout disturbs at once, by label: at most so many nodes of each rack, at most one
// zone at a time (B10).
//
// A [Domain] splits the nodes that it selects by the value of a label, and bounds the nodes of each value that are disturbed, or
// the number of values with such nodes. Several domains apply side by side:
//
//	domains, err := domain.Compile([]domain.Domain{
//		{Key: "topology.kubernetes.io/zone", AtOnce: 1},
//		{Key: "example.com/rack", Max: new(intstr.FromInt32(2))},
//	})
//	cells := domains.NewCells()
//	cell := cells.Of(node.Labels) // all nodes of one cell are in the same domains
//
//	ledger := domain.NewLedger(domains, cells, desired) // desired nodes of each cell
//	ledger.Add(cell)                                    // for each node that is disturbed
//	if _, full := ledger.Full(cell); !full {
//		// one more node of that cell may be disturbed
//	}
//
// A planner of package rollout does all this by itself.
//
// # Contract
//
// Every function is a function of its arguments: no I/O, clock, randomness or package state. Labels are read and not kept,
// except that strings are. Compile refuses what Validate reports. A [Cells] may be read from several goroutines while nobody
// asks it for a cell that it does not know.
//
// # How the rules are read
//
//   - A node without the label has the value "". Such nodes are a domain like any other, and not unlimited.
//   - A domain without Key is one domain for all nodes that it selects.
//   - A percentage is of the nodes of the value that are to run the pod, rounded up: 10% of three nodes are one.
package domain
