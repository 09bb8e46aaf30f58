package stock

import (
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/rollout"
)

// burstReplicas is how many pods one sync creates, and how many it deletes, unless the spec says otherwise.
const burstReplicas = 250

// planner is what the controllers have in common. OpenKruise's grew out of that of Kubernetes.
type planner struct {
	spec rollout.Spec
	// base finds revisions and verdicts of placement, and makes pods. Its own decisions about pods are not used.
	base *rollout.Planner
	seed uint64
	// name of the controller in texts.
	name string
	// kruise: it is OpenKruise's. stored is the number of desired nodes in its status, of which it takes percentages; nil: the
	// status is up to date.
	kruise bool
	// extended: it is that of ExtendedDaemonSets.
	extended bool
	stored   *int32
}

func newPlanner(known rollout.Spec, seed uint64) (planner, error) {
	if _, err := rollout.New(known); err != nil {
		return planner{}, err
	}
	p := planner{spec: known.Default(), seed: seed}
	known.Lifecycle, known.PreDownload = lifecycle.Hooks{}, nil
	known.Strategy = rollout.Strategy{Type: rollout.OnDelete}
	var err error
	p.base, err = rollout.New(known)
	return p, err
}

// plan makes one sync.
func (p *planner) plan(snapshot rollout.Snapshot) (rollout.Plan, error) {
	if p.base == nil {
		return (*rollout.Planner)(nil).Plan(snapshot)
	}
	plan, err := p.base.Plan(snapshot)
	if err != nil {
		return rollout.Plan{}, err
	}
	p.newRound(snapshot, &plan).sync()
	return plan, nil
}

// sync decides what the controller asks for, and reports. It reports whether there are outdated nodes.
func (s *round) sync() (outdated bool) {
	p := s.planner
	s.repair()
	s.keepUp()
	if p.spec.Strategy.Type == rollout.RollingUpdate {
		changes := s.survey()
		room := s.room(&changes)
		switch {
		case p.spec.Strategy.Paused:
			changes.wait(rollout.LimitPaused)
		case !s.asked && !s.requested:
			s.update(changes, room)
		}
	}
	for _, n := range s.nodes {
		s.count(n)
	}
	return s.report()
}
