package simulate

// waves finds the longest chain of nodes of which each began only when the one before was done: a node is in the wave
// after the highest one that had a node done when it began.
type waves struct {
	begun, done int // the highest that began, and that had a node done
}

// begin puts a node into its wave. A node that is under way stays in the one in which it was begun first: what is done
// to its pods meanwhile, such as an update in place after a grace period, is the same beginning.
func (w *waves) begin(n *tallied) {
	if n.begun {
		return
	}
	n.begun, n.wave = true, int32(w.done+1)
	w.begun = max(w.begun, w.done+1)
}

// changed is told of the new state of a node. It is done when the new pod is available. Back with an old pod, or without
// any, whatever was begun came to nothing.
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
