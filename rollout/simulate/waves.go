package simulate

// waves finds the longest chain of nodes of which each began only when the one before was done. When a node begins, its wave is
// the one after the highest wave that has a node that is done.
type waves struct {
	begun, done int // the highest that began, and that had a node done
}

// begin puts a node into its wave. A node that is under way stays in its wave: what is done to its pods meanwhile, such as an
// update in place after a grace period, belongs to the same beginning.
func (w *waves) begin(n *tallied) {
	if n.begun {
		return
	}
	n.begun, n.wave = true, int32(w.done+1)
	w.begun = max(w.begun, w.done+1)
}

// changed is told of the new state of a node. The node is done when its new pod is available. If it is back with an old pod,
// or is to have none, what was begun came to nothing.
func (w *waves) changed(n *tallied) {
	switch n.state {
	case NodeNew:
		if n.begun {
			w.done = max(w.done, int(n.wave))
		}
		n.begun = false
	case 0, NodeOutside, NodeOld:
		n.begun = false
	default: // under way
	}
}
