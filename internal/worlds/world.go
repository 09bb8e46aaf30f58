package worlds

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
	"github.com/daemonplan/daemonplan/rollout/simulate"
)

// pools draws one to thirty nodes in up to four pools. Nearly all fleets are small: what goes wrong in a fleet of thirty
// mostly does in one of six, at a tenth of the price.
func (r source) pools() []simulate.Pool {
	count := pick(r, 1, 1, 2, 2, 3, 4)
	nodes := pick(r, r.between(1, 6), r.between(1, 6), r.between(3, 6), r.between(3, 9), r.between(3, 9), r.between(6, 12))
	if r.chance(0.03) {
		nodes = r.between(10, 30)
	}
	var pools []simulate.Pool
	for i := range count {
		share := nodes / count
		if i == 0 {
			share = nodes - (count-1)*share
		}
		if share == 0 {
			continue
		}
		pool := simulate.Pool{Name: "pool-" + string(rune('a'+i)), Nodes: share}
		pool.Labels = map[string]string{poolLabel: pick(r, "a", "a", "b", "c")}
		pool.Zones = pick(r, nil, []string{"z1"}, []string{"z1", "z2"}, []string{"z1", "z2", "z3"})
		if i > 0 && r.chance(0.2) {
			pool.Taints = []corev1.Taint{r.taint()}
		}
		if r.chance(0.1) {
			pool.Allocatable = corev1.ResourceList{
				corev1.ResourceCPU:  resource.MustParse(pick(r, "1", "500m", "250m", "180m")),
				corev1.ResourcePods: resource.MustParse(pick(r, "10", "2")),
			}
		}
		pools = append(pools, pool)
	}
	return pools
}

func (r source) taint() corev1.Taint {
	const soft, hard = corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute
	return corev1.Taint{Key: taintKey, Effect: pick(r, soft, soft, hard)}
}

// model draws how long things take, and what goes wrong by itself.
func (r source) model(specs specs, pools []simulate.Pool) simulate.Model {
	var m simulate.Model
	if r.chance(0.8) {
		m.Schedule = r.seconds(3)
	}
	every := simulate.Kubelet{
		Start: r.seconds(4), Ready: r.seconds(15), Stop: r.seconds(40), Restart: r.seconds(8), Resize: r.seconds(8),
	}
	if r.chance(0.1) {
		every = simulate.Kubelet{} // everything at once
	}
	if r.chance(0.2) {
		every.Create = r.seconds(3)
	}
	m.Kubelets = append(m.Kubelets, every)
	for r.chance(0.35) {
		m.Kubelets = append(m.Kubelets, r.trouble(specs, pools))
	}
	if r.chance(0.5) {
		m.Hooks = r.seconds(pick(r, 60, 60, 900))
	}
	if r.chance(0.03) {
		m.StubbornHooks = 0.3
	}
	if r.chance(0.5) {
		m.Registry = r.registry()
	}
	return m
}

// trouble draws a rule about pods that do not come up as they should.
func (r source) trouble(specs specs, pools []simulate.Pool) simulate.Kubelet {
	var k simulate.Kubelet
	switch r.IntN(4) {
	case 0:
		k.Revision = pick(r, specs.hashes()...)
	case 1, 2:
		k.Image = pick(r, images[1], images[1], images[2])
	}
	if r.chance(0.4) {
		k.Pool = pick(r, pools...).Name
	}
	if r.chance(0.6) {
		k.Share = pick(r, 0.1, 0.3, 0.6)
	}
	switch r.IntN(7) {
	case 0:
		k.Crash = r.seconds(30)
	case 1, 2:
		k.Crash, k.Crashes = r.seconds(60), r.between(1, 4)
	case 3:
		k.Fail = r.seconds(120)
	case 4:
		k.NeverReady = new(true)
	case 5:
		k.NoImage = new(true)
	default:
		k.Ready = r.seconds(240)
	}
	return k
}

func (r source) registry() simulate.Registry {
	registry := simulate.Registry{Size: int64(r.between(1, 300)) << 20, PeerToPeer: r.chance(0.3)}
	if r.chance(0.6) {
		registry.Bandwidth = int64(r.between(5, 200)) << 20
	}
	if r.chance(0.6) {
		registry.NodeBandwidth = int64(r.between(5, 100)) << 20
	}
	if r.chance(0.3) {
		registry.Requests = pick(r, 0.2, 1, 10)
	}
	if r.chance(0.3) {
		registry.Latency = r.seconds(5)
	}
	if r.chance(0.3) {
		registry.FailedPulls = pick(r, 0.05, 0.3)
	}
	return registry
}

// controller draws the program around the planner. Every other one sees the past.
func (r source) controller() simulate.Controller {
	var c simulate.Controller
	if r.chance(0.7) {
		c.Interval = pick(r, 100*time.Millisecond, time.Second, 5*time.Second)
	}
	if r.chance(0.3) {
		c.CallsPerSecond = pick[float64](r, 0.5, 2, 10)
	}
	if r.chance(0.5) {
		c.Lag = r.seconds(pick(r, 1, 3, 20))
	}
	if r.chance(0.25) {
		c.FailedCalls = pick(r, 0.02, 0.2)
	}
	if r.chance(0.2) {
		c.LostAnswers = pick(r, 0.02, 0.2)
	}
	if r.chance(0.15) {
		c.Crash = simulate.Exponential(pick(r, 2*time.Minute, 10*time.Minute))
	}
	if r.chance(0.6) {
		c.Restart = r.seconds(30)
	}
	c.LosesMemory = r.chance(0.4)
	return c
}

// events draws what the world and its users do, until the calm.
func (r source) events(specs specs, pools []simulate.Pool) []simulate.Event {
	var events []simulate.Event
	for range pick(r, 0, 1, 2, 4, 8) {
		e := simulate.Event{At: r.at(), What: pick(r, simulate.SetClock,
			simulate.AddNodes, simulate.RemoveNode, simulate.NodeNotReady, simulate.NodeNotReady, simulate.CordonNode,
			simulate.UncordonNode, simulate.DrainNode, simulate.LabelNode, simulate.TaintNode, simulate.EvictPod,
			simulate.DeletePod, simulate.DeletePod, simulate.CrashPod, simulate.CrashController, simulate.CrashController,
			simulate.SetSpec, simulate.SetSpec, simulate.SetSpec, simulate.GiveCommands)}
		r.detail(&e, specs, pools)
		events = append(events, e)
	}
	if r.chance(0.15) {
		events = append(events, r.changes(specs)...)
	}
	return events
}

// changes are those of a user who cannot let go: every few steps there is another spec.
func (r source) changes(specs specs) []simulate.Event {
	var events []simulate.Event
	at, interval := r.at(), pick(r, 5*time.Second, 20*time.Second, time.Minute)
	for range r.between(3, 8) {
		events = append(events, simulate.Event{At: at, What: simulate.SetSpec, Spec: new(r.nextSpec(specs))})
		at = min(at+time.Duration(r.between(1, 3))*interval, busy)
	}
	return events
}

// detail draws the rest of an event.
func (r source) detail(e *simulate.Event, specs specs, pools []simulate.Pool) {
	switch e.What {
	case simulate.AddNodes:
		e.Join = pick(r, pools...)
		e.Join.Nodes = r.between(1, 3)
		return
	case simulate.SetSpec:
		e.Spec = new(r.nextSpec(specs))
		return
	case simulate.GiveCommands:
		e.Commands = r.commands()
		if r.chance(0.2) {
			e.Commands = canary.Commands{}
		}
		return
	case simulate.CrashController:
		r.recur(e)
		return
	case simulate.SetClock:
		e.Behind = pick(r, 0, 3*time.Second, time.Minute, 20*time.Minute, 3*time.Hour)
		return
	case simulate.NodeNotReady, simulate.CordonNode, simulate.DrainNode:
		if e.What == simulate.NodeNotReady || r.chance(0.5) {
			e.For = r.seconds(600)
		}
	case simulate.LabelNode:
		e.Labels = map[string]string{poolLabel: pick(r, "a", "b", "c")}
		if r.chance(0.3) {
			e.For = r.seconds(600)
		}
	case simulate.TaintNode:
		e.Taint = r.taint()
		if r.chance(0.5) {
			e.For = r.seconds(600)
		}
	default:
	}
	if r.chance(0.3) {
		e.Pool = pick(r, pools...).Name
	}
	if r.chance(0.3) {
		e.Count = r.between(1, 4)
	} else if r.chance(0.2) {
		e.Share = pick(r, 0.1, 0.5)
	}
	if e.What != simulate.RemoveNode {
		r.recur(e)
	}
}

// recur lets an event happen again and again, for a while.
func (r source) recur(e *simulate.Event) {
	if r.chance(0.25) {
		e.Every = simulate.Exponential(pick(r, 30*time.Second, 3*time.Minute, 10*time.Minute))
		e.Until = min(e.At+pick(r, 5*time.Minute, 20*time.Minute), busy)
	}
}

// nextSpec draws what the user does next: another template, back to an old one, or other knobs.
func (r source) nextSpec(specs specs) rollout.Spec {
	next := *pick(r, specs.all()...)
	if r.chance(0.4) {
		// The same template with other knobs; of them some options only add to what is there, so they begin anew.
		fresh := rollouttest.Spec(Set)
		fresh.Template, fresh.Lifecycle, fresh.Predecessor = next.Template, next.Lifecycle, next.Predecessor
		r.apply(&fresh, r.knobs()...)
		fresh.Predecessor = next.Predecessor
		next = fresh
	}
	switch r.IntN(8) {
	case 0:
		next.Strategy.Paused = !next.Strategy.Paused
	case 1:
		next.Strategy.Frozen = !next.Strategy.Frozen
	}
	next.Overrides = slices.Clone(next.Overrides)
	if specs.update.Predecessor != nil { // whose pods may still be there, and would not be the set's any more
		next.Predecessor = specs.update.Predecessor
	}
	settle(&next)
	return next
}
