package worlds

import (
	"fmt"
	"math/rand/v2"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
	"github.com/daemonplan/daemonplan/rollout/simulate"
	"github.com/daemonplan/daemonplan/rollout/stage"
)

// Troubled is a world in which a documented policy meets trouble.
type Troubled struct {
	simulate.Scenario
	// bad means that the first version does not work on some nodes. hashes are those of all versions.
	bad    bool
	hashes []string
	// blameless means that nothing else in this world can be taken for the doing of a revision: no node is broken for good, dies
	// in the middle of the rollout, or has containers that crash again and again.
	blameless bool
}

// Good returns the hashes of the revisions that nobody may give up, for nothing that happens in this world is their doing. Nil:
// there are none, because some of what happens looks like it.
func (w *Troubled) Good() []string {
	switch {
	case !w.blameless:
		return nil
	case w.bad:
		return w.hashes[2:]
	default:
		return w.hashes
	}
}

// In these worlds trouble lasts for eight hours. The longest time to soak of the documented policies is a day, and it is waited
// for by each of three versions at most.
const (
	troubled      = 8 * time.Hour
	troubledLimit = 5 * 24 * time.Hour
)

// WithTrouble returns the world of a seed for the documented policy of that number. A version is rolled out on rings, racks,
// zones and a few GPU nodes, and meets what a year brings: pods and nodes that are broken, evictions, crashes, reboots, drains,
// nodes that leave, a version that does not work, a fix in the middle, a canary before, and a controller that forgets.
func WithTrouble(policy int, seed uint64) Troubled {
	r := source{rand.New(rand.NewPCG(seed, 0xd0c0+uint64(policy)))}
	w := Troubled{Scenario: simulate.Scenario{Seed: seed, Limit: troubledLimit}, blameless: true}
	w.Fleet.Pools = r.troubledPools()
	version := r.versions(policy)
	old := version(images[0])
	old.Strategy.Canary, old.Strategy.Policy = nil, rollout.Policy{}
	w.Fleet.Running, w.Spec = &old, version(images[1])
	for _, image := range images {
		w.hashes = append(w.hashes, rollouttest.Hash(version(image)))
	}
	w.Model.Schedule = simulate.Uniform(0, 2*time.Second)
	w.Model.Kubelets = []simulate.Kubelet{{
		Start: simulate.Uniform(time.Second, 10*time.Second), Ready: simulate.Uniform(time.Second, 30*time.Second),
		Stop: simulate.Uniform(time.Second, 20*time.Second),
	}}
	if r.chance(0.5) {
		w.Controller.Interval, w.Controller.Lag = time.Second, simulate.Exponential(2*time.Second)
	}
	if r.chance(0.4) {
		w.badVersion(r)
	}
	if r.chance(0.4) {
		w.Events = append(w.Events, simulate.Event{At: r.moment(), What: simulate.SetSpec, Spec: new(version(images[2]))})
	}
	w.orders(r)
	for range pick(r, 0, 1, 1, 2, 2, 3, 4) {
		w.trouble(r)
	}
	return w
}

// troubledPools draws two rings of a few nodes, racks in three zones, and GPU nodes.
func (r source) troubledPools() []simulate.Pool {
	zones := []string{"zone-a", "zone-b", "zone-c"}
	pool := func(name string, nodes int, labels ...string) simulate.Pool {
		p := simulate.Pool{Name: name, Nodes: nodes, Zones: zones, Labels: map[string]string{"pool": name}}
		for i := 0; i < len(labels); i += 2 {
			p.Labels[labels[i]] = labels[i+1]
		}
		return p
	}
	const rack = "example.com/rack"
	pools := []simulate.Pool{
		pool("canary", r.between(1, 4), ringLabel, "0", rack, "r1"),
		pool("early", r.between(2, 6), ringLabel, "1", rack, "r2"),
		pool("gpu", r.between(1, 4), rack, "r3"),
	}
	for i := range r.between(2, 4) {
		pools = append(pools, pool(fmt.Sprintf("rack-%d", i+1), r.between(2, 12), rack, fmt.Sprintf("r%d", i+1)))
	}
	return pools
}

// versions returns the specs that are rolled out, by image.
func (r source) versions(policy int) func(image string) rollout.Spec {
	options := []rollouttest.SpecOption{rollouttest.MaxUnavailable(pick(r, "1", "10%", "10%", "25%"))}
	if r.chance(0.2) {
		options = []rollouttest.SpecOption{rollouttest.MaxSurge(pick(r, "1", "10%", "25%"))}
	}
	if r.chance(0.5) {
		options = append(options, rollouttest.MinReadySeconds(10))
	}
	if r.chance(0.5) { // else the nodes keep what they have while nobody hears of them (P3)
		options = append(options, rollouttest.Tolerating(corev1.TaintNodeUnreachable, ""))
	}
	if r.chance(0.3) {
		options = append(options, rollouttest.Canary("1"), rollouttest.CanaryFor(10*time.Minute, 0))
		if r.chance(0.5) {
			options = append(options, rollouttest.CanaryOn("pool", pick(r, "rack-1", "gpu", "canary")))
		}
	}
	expedited := r.chance(0.5)
	return func(image string) rollout.Spec {
		spec := rollouttest.Spec(Set, append([]rollouttest.SpecOption{rollouttest.Image(image)}, options...)...)
		var plan rollout.Plan
		plan.Status.UpdateRevision = rollouttest.Hash(spec)
		Documented[policy](&spec, &plan)
		spec.Strategy.Policy.Approved = nil // they are given while the rollout goes on
		if !expedited {
			spec.Strategy.Policy.Expedite = ""
		}
		return spec
	}
}

// badVersion breaks the version that is rolled out first, on all nodes or on some.
func (w *Troubled) badVersion(r source) {
	k := simulate.Kubelet{Image: images[1], NodeShare: pick(r, 0, 0.02, 0.1, 0.5)}
	switch r.IntN(4) {
	case 0:
		k.NoImage = new(true)
	case 1:
		k.NeverReady = new(true)
	default:
		k.Crash = simulate.Uniform(time.Second, time.Minute)
	}
	w.Model.Kubelets = append(w.Model.Kubelets, k)
	w.bad = true
}

// moment draws when something happens, more often early than late.
func (r source) moment() time.Duration {
	return time.Duration(r.IntN(int(pick(r, troubled/24, troubled/4, troubled)/time.Second))) * time.Second
}

// orders approves whatever stage needs it, twice a day.
func (w *Troubled) orders(r source) {
	for _, of := range w.Spec.Strategy.Policy.Stages {
		if of.Approval {
			w.Events = append(w.Events, simulate.Event{
				At: r.moment(), Every: simulate.Fixed(12 * time.Hour),
				What: simulate.ApproveStage, Approval: stage.Approval{Stage: of.Name},
			})
		}
	}
}

// trouble draws one kind of trouble.
func (w *Troubled) trouble(r source) {
	again := func(e simulate.Event) {
		e.At, e.Until = r.moment(), troubled
		e.Every = simulate.Exponential(pick(r, 20*time.Minute, time.Hour, 3*time.Hour))
		w.Events = append(w.Events, e)
	}
	minutes := func(least, most int) simulate.Distribution {
		return simulate.Uniform(time.Duration(least)*time.Minute, time.Duration(most)*time.Minute)
	}
	switch r.IntN(10) {
	case 0:
		again(simulate.Event{What: simulate.EvictPod, Count: r.between(1, 3)})
	case 1: // a container that crashes too often has failed, whoever did it
		w.blameless = w.blameless && w.Spec.Strategy.Policy.Failures == nil
		again(simulate.Event{What: simulate.CrashPod, Count: r.between(1, 3)})
	case 2: // shorter than any deadline
		again(simulate.Event{What: simulate.NodeNotReady, Count: r.between(1, 2), For: minutes(1, 8)})
	case 3:
		again(simulate.Event{What: simulate.DrainNode, For: minutes(2, 30)})
	case 4: // dead from the beginning, some for good
		e := simulate.Event{What: simulate.NodeNotReady, Count: r.between(1, 3)}
		if r.chance(0.5) {
			e.For = minutes(10, 600)
		}
		w.Events = append(w.Events, e)
	case 5: // dies in the middle of it
		w.blameless = false
		w.Events = append(w.Events, simulate.Event{At: r.moment(), What: simulate.NodeNotReady, Count: r.between(1, 3)})
	case 6: // broken for good, for every version
		w.blameless = false
		crash := simulate.Kubelet{NodeShare: 0.03, Crash: simulate.Uniform(time.Second, time.Minute)}
		w.Model.Kubelets = append(w.Model.Kubelets, crash)
	case 7:
		again(simulate.Event{What: simulate.MaintainNode, Count: r.between(1, 2), For: minutes(5, 120)})
	case 8: // an autoscaler takes some nodes away, and brings others
		at := r.moment()
		departs := corev1.Taint{Key: pick(r, "karpenter.sh/disrupted", "ToBeDeletedByClusterAutoscaler", retiringTaint)}
		departs.Effect = corev1.TaintEffectNoSchedule
		join := w.Fleet.Pools[r.IntN(len(w.Fleet.Pools))]
		join.Nodes = r.between(1, 4)
		node := w.someNode(r)
		w.Events = append(w.Events,
			simulate.Event{At: at, What: simulate.TaintNode, Node: node, Taint: departs},
			simulate.Event{At: at + 20*time.Minute, What: simulate.RemoveNode, Node: node},
			simulate.Event{At: r.moment(), What: simulate.AddNodes, Join: join})
	default:
		w.Controller.LosesMemory = true
		w.Controller.Crash = simulate.Exponential(pick(r, 5*time.Minute, time.Hour))
		w.Controller.Restart = simulate.Uniform(time.Second, time.Minute)
	}
}

// someNode draws a node of the beginning.
func (w *Troubled) someNode(r source) string {
	p := pick(r, w.Fleet.Pools...)
	return fmt.Sprintf("%s-%05d", p.Name, r.IntN(p.Nodes))
}
