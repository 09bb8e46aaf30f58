package rollout

// allowance is how many pods the plan may still create, delete and begin to update in place (M6). If it is frozen, none.
type allowance struct {
	creates, deletes, updates int32
	frozen                    bool
}

func (r *run) newAllowance() allowance {
	burst := r.plan.Budget.Burst
	return allowance{creates: burst, deletes: burst, updates: burst, frozen: r.spec.Strategy.Frozen}
}

// take spends one action, or returns the limit that forbids it.
func (l *allowance) take(of *int32) Limit {
	switch {
	case l.frozen:
		return LimitFrozen
	case *of == 0:
		return LimitBurst
	default:
		*of--
		return LimitNone
	}
}
