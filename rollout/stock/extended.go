package stock

import (
	"maps"
	"math"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/history"
)

// DefaultReconcileFrequency is how often the ExtendedDaemonSet controller handles a replica set, if its manifest does not say.
const DefaultReconcileFrequency = 10 * time.Second

// ExtendedDaemonSet plans as the ExtendedDaemonSet controller does. It comes from [NewExtendedDaemonSet], and is not changed
// after that, so that several goroutines may use it.
type ExtendedDaemonSet struct {
	planner
	frequency time.Duration
}

// ObeyedByExtendedDaemonSet returns what of a spec the ExtendedDaemonSet controller obeys: of the strategy MaxUnavailable,
// MaxUnschedulable, SlowStart, Canary, Paused and Frozen, and the overrides and the predecessor. It is always a rolling update
// that begins slowly. Of the canary's commands it obeys Validate, Pause, Unpause and Fail; of the last three no value names a
// revision. Burst is SlowStart's MaxParallel there, so that it is taken out. The spec is not validated.
func ObeyedByExtendedDaemonSet(spec rollout.Spec) rollout.Spec {
	spec.Burst = new(intstr.FromInt32(math.MaxInt32))
	spec.MinReadySeconds = 0
	spec.Lifecycle, spec.PreDownload = lifecycle.Hooks{}, nil
	of := spec.Strategy
	spec.Strategy = rollout.Strategy{
		Type: rollout.RollingUpdate, MaxUnavailable: of.MaxUnavailable, MaxUnschedulable: of.MaxUnschedulable,
		SlowStart: of.SlowStart, Canary: of.Canary, Paused: of.Paused, Frozen: of.Frozen,
	}
	if of.SlowStart == nil {
		spec.Strategy.SlowStart = &rollout.SlowStart{}
	}
	if of.Canary != nil {
		options := *of.Canary
		options.Commands.Retry = ""
		for _, command := range []*string{&options.Commands.Pause, &options.Commands.Unpause, &options.Commands.Fail} {
			if *command != "" {
				*command = canary.Any
			}
		}
		spec.Strategy.Canary = &options
	}
	return spec
}

// NewExtendedDaemonSet returns a planner for what [ObeyedByExtendedDaemonSet] leaves of the spec. The seed draws what is chance
// with the controller. The errors are those of [rollout.New].
func NewExtendedDaemonSet(spec rollout.Spec, seed uint64) (*ExtendedDaemonSet, error) {
	obeyed := ObeyedByExtendedDaemonSet(spec)
	base := obeyed
	base.RevisionHistoryLimit = new(int32) // it keeps no old ones but those it needs
	p, err := newPlanner(base, seed)
	if err != nil {
		return nil, err
	}
	if _, err := rollout.New(obeyed); err != nil {
		return nil, err
	}
	p.spec, p.extended, p.name = obeyed.Default(), true, "the ExtendedDaemonSet controller"
	return &ExtendedDaemonSet{p, DefaultReconcileFrequency}, nil
}

// Every returns the planner for a set whose reconcileFrequency is that. Zero and less: nothing is delayed.
func (e *ExtendedDaemonSet) Every(frequency time.Duration) *ExtendedDaemonSet {
	if e == nil {
		return nil
	}
	other := *e
	other.frequency = frequency
	return &other
}

// Stored returns the planner for a set in whose status so many nodes are desired: the controller takes the percentage of canary
// nodes of that number. Without it, it is of the nodes that are desired now.
func (e *ExtendedDaemonSet) Stored(desired int32) *ExtendedDaemonSet {
	if e == nil {
		return nil
	}
	other := *e
	other.stored = &desired
	return &other
}

// Plan returns what the controller would ask for in one sync of the set, followed by one of the replica set that is active, and
// one of the replica set on trial. A replica set is a revision here. What the controller keeps in the status of these objects is
// in the plan's Memory: the active revision, the canary, and as conditions when each replica set was last handled. The status
// counts as Ready and as Present the pods of the right revision alone, as the controller does. Where the controller would panic,
// nothing is done. A nil planner fails, as one that [NewExtendedDaemonSet] did not make.
//
// When a canary has failed the controller puts the active template back into the spec. A plan leaves the spec alone, so that the
// planner goes on as if the spec had that template, until the spec changes.
func (e *ExtendedDaemonSet) Plan(snapshot rollout.Snapshot) (rollout.Plan, error) {
	if e == nil || e.base == nil {
		return (*rollout.Planner)(nil).Plan(snapshot)
	}
	known := snapshot
	known.Memory = rollout.Memory{
		Version: snapshot.Memory.Version, Conditions: snapshot.Memory.Conditions, CollisionCount: snapshot.Memory.CollisionCount,
	}
	plan, err := e.base.Plan(known)
	if err != nil {
		return rollout.Plan{}, err
	}
	s := &extendedRound{round: e.newRound(snapshot, &plan), of: e, deleting: make(map[*member]bool)}
	s.readReplicaSets(snapshot)
	s.elect()
	s.tried = make(map[string]bool, len(s.canary.Nodes))
	for _, name := range s.canary.Nodes {
		s.tried[name] = true
	}
	s.unavailable, s.users = 0, nil
	s.handleTrial()
	s.handleActive()
	s.finish()
	return plan, nil
}

// extendedRound is one sync of the set and its replica sets.
type extendedRound struct {
	*round
	of     *ExtendedDaemonSet
	memory rollout.Memory
	// canary is what the controller knows of the trial, in the status of the set and of the replica set on trial.
	canary canary.Record
	// active and trial are the replica sets that have a role; nil: none has it. restored: the trial has failed, and the template
	// of the active one is back in the spec.
	active, trial *replicaSet
	restored      bool
	unable        bool                   // not enough nodes were found for a canary
	because       canary.PhaseReason     // why the update revision is active
	tried         map[string]bool        // the nodes of the canary, which s.canary has in the order in which they were chosen
	replicaSets   map[string]*replicaSet // by hash
	deleting      map[*member]bool
	settings      []labels.Selector // of the overrides
}

// readReplicaSets reads the revisions as replica sets.
func (s *extendedRound) readReplicaSets(snapshot rollout.Snapshot) {
	if snapshot.Memory.Version == rollout.MemoryVersion {
		s.memory, s.canary = snapshot.Memory, snapshot.Memory.Canary
	}
	for i := range s.spec.Overrides {
		selector, err := metav1.LabelSelectorAsSelector(&s.spec.Overrides[i].NodeSelector)
		if err != nil {
			selector = labels.Nothing() // New has validated it
		}
		s.settings = append(s.settings, selector)
	}
	s.replicaSets = make(map[string]*replicaSet, len(snapshot.Revisions))
	for _, revision := range snapshot.Revisions {
		template, err := history.Template(revision)
		if hash := history.HashOf(revision); err == nil && s.replicaSets[hash] == nil {
			s.replicaSets[hash] = s.newReplicaSet(hash, revision, template, snapshot)
		}
	}
}

// finish reports, and writes what the next sync has to know.
func (s *extendedRound) finish() {
	s.reportTrial()
	s.report()
	budget := &s.plan.Budget
	budget.Burst, budget.MaxUnschedulable = 0, scaled(s.spec.Strategy.MaxUnschedulable, s.desired)
	s.plan.Memory.Backoffs = nil
	for _, hash := range slices.Sorted(maps.Keys(s.replicaSets)) {
		r := s.replicaSets[hash]
		if hash != s.hash {
			delete(r.handled, templateRestored) // the spec has changed since
		}
		s.plan.Memory.Backoffs = append(s.plan.Memory.Backoffs, r.backoffs.list()...)
		s.plan.Memory.Conditions = append(s.plan.Memory.Conditions, r.handled.conditions(hash)...)
	}
	s.plan.Memory.Canary = s.canary
	s.plan.Memory.Rollout = s.memory.Rollout
	s.keepRevisions()
}
