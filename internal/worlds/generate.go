// Package worlds draws whole runs with everything combined: fleets, specs that change, kubelets that fail, events of the cluster,
// and controllers that lag, crash and forget. What is drawn depends on the seed alone.
package worlds

import (
	"math/rand/v2"
	"time"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
	"github.com/daemonplan/daemonplan/rollout/simulate"
)

// Set is the name of the set that all scenarios are about.
const Set = "agent"

// The vocabulary of scenarios. It is small on purpose: what is drawn must meet.
const (
	poolLabel = "kind"
	taintKey  = "dedicated"
	// busy is how long events happen. After it the cluster is calm, so that what is to end can end within limit.
	busy  = 40 * time.Minute
	limit = 8 * time.Hour
)

// images are those of the templates, the oldest first.
var images = [...]string{"agent:v1", "agent:v2", "agent:v3"}

// sidecar is a second container, which most updates are not about.
const sidecar = "sidecar"

var sidecars = [...]string{"sidecar:v1", "sidecar:v2", "sidecar:v3"}

// source draws. What it draws next depends on the seed and on what was drawn before, and on nothing else.
type source struct{ *rand.Rand }

// newSource returns the source of a seed. The second word tells it from other uses of the seed.
func newSource(seed uint64) source { return source{rand.New(rand.NewPCG(seed, 0x50a4))} }

// chance is true in that share of draws.
func (r source) chance(share float64) bool { return r.Float64() < share }

// between draws a number, both ends included.
func (r source) between(least, most int) int { return least + r.IntN(most-least+1) }

// pick draws one of the choices; one that is given twice is drawn twice as often.
func pick[T any](r source, choices ...T) T { return choices[r.IntN(len(choices))] }

// seconds draws a distribution of durations up to so many seconds, of any kind.
func (r source) seconds(most int) simulate.Distribution {
	d := func() time.Duration { return time.Duration(r.between(1, most*1000)) * time.Millisecond }
	switch r.IntN(4) {
	case 0:
		return simulate.Fixed(d().Round(time.Second))
	case 1:
		a, b := d(), d()
		return simulate.Uniform(min(a, b), max(a, b))
	case 2:
		return simulate.Exponential(d() / 3)
	default:
		a, b := d(), d()
		return simulate.LogNormal(min(a, b), max(a, b))
	}
}

// at draws an instant at which something happens, in whole seconds: then it can coincide with other things. Many rollouts
// are over soon, so it is early more often than late.
func (r source) at() time.Duration {
	return time.Duration(r.IntN(int(pick(r, busy/20, busy/5, busy)/time.Second))) * time.Second
}

// Scenario returns the scenario of a seed, always the same.
func Scenario(seed uint64) simulate.Scenario {
	r := newSource(seed)
	specs := r.specs()
	s := simulate.Scenario{Seed: seed, Spec: specs.update, Limit: limit}
	pools := r.pools()
	s.Fleet.Pools = pools
	switch {
	case r.chance(0.12): // a first installation
	case specs.update.Predecessor != nil:
		r.precede(&s, specs.old)
	default:
		s.Fleet.Running = &specs.old
	}
	s.Model = r.model(specs, pools)
	s.Controller = r.controller()
	s.Events = r.events(specs, pools)
	return s
}

// precede lets another set, that of the old spec, have run on the fleet.
func (r source) precede(s *simulate.Scenario, old rollout.Spec) {
	old.Name, old.UID = "ancestor", s.Spec.Predecessor.UIDs[0]
	old.Strategy.Canary = nil
	fleet := simulate.Fleet{Pools: s.Fleet.Pools, Running: &old}
	snapshot, err := fleet.Build()
	if err != nil { // the fleet is one of ours
		return
	}
	snapshot.Revisions = nil // of the other set
	if r.chance(0.3) {
		for i, p := range snapshot.Pods { // the set is gone, its pods are orphans
			p = p.DeepCopy()
			p.OwnerReferences = nil
			snapshot.Pods[i] = p
		}
	}
	s.Fleet = simulate.Fleet{Snapshot: &snapshot}
}

// specs are those that a scenario puts in force.
type specs struct {
	// old ran before, update is in force from the beginning, and later may follow.
	old, update, later rollout.Spec
}

// all lists them.
func (s *specs) all() []*rollout.Spec { return []*rollout.Spec{&s.old, &s.update, &s.later} }

// hashes of their revisions.
func (s *specs) hashes() []string {
	var list []string
	for _, spec := range s.all() {
		list = append(list, rollouttest.Hash(*spec))
	}
	return list
}
