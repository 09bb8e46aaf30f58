package rollout

// target is step 4: what holds each node back (T1, T4, T5). Whether a hold matters is seen in classify: a node that
// is at the update revision already, or has no pod, has the update revision as its target all the same.
func (r *run) target() {
	hold := r.holdAll()
	for i := range r.nodes {
		r.nodes[i].hold = hold
	}
}

// holdAll is the limit that holds every node, the strictest first.
func (r *run) holdAll() Limit {
	switch strategy := r.spec.Strategy; {
	case strategy.Frozen:
		return LimitFrozen
	case strategy.Paused:
		return LimitPaused
	case strategy.Type == OnDelete:
		return LimitOnDelete
	default:
		return LimitNone
	}
}
