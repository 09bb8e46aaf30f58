package verify

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout"
)

// Most nodes of a large fleet are alike: the same is there, and the plan says the same of them. What the checks make of one of
// them they make of each, but for its name. So a Verifier judges one of them, which counts as often as there are such nodes. If
// it finds anything wrong, all nodes are judged by themselves, as Plan does, to find out about each.
//
// A node is alike to others only as far as nothing that the checks ask could tell them apart: it has one pod that is available
// and with which nothing is going on, or none; nothing overrides its resources; no request, action or back-off names it.

// kind is what makes a node alike to others, whatever the time and the plan.
type kind struct {
	name  string // of the node
	plain bool   // it can be alike to others at all, since then
	since time.Time
	traits
}

// traits are in what nodes that can be alike differ.
type traits struct {
	tried                          placement.Outcome
	triedTainted, cutOff, selected bool
	empty                          bool
	hash                           string // of the revision of the pod
	cell                           string // of domains and of stages
}

// settle finds out anew what makes a node alike to others, after it or its pods have changed. Nil is no node.
func (k *kept) settle(r *nodeRecord) {
	if r == nil {
		return
	}
	of := kind{name: r.name, plain: !r.concerned && !r.out && !r.leftAlone && !r.drained && !r.undeclared}
	of.traits = traits{
		tried: r.tried, triedTainted: r.triedTainted, cutOff: r.cutOff, selected: r.selected, empty: r.pods.count == 0,
		cell: r.cell,
	}
	if p := r.pods.first; p != nil {
		of.hash, of.plain = p.hash, of.plain && r.pods.count == 1 && p.plain() && !k.terms.restartsTooOften(p.object)
		if wait := k.terms.spec.MinReadySeconds; wait > 0 {
			of.plain = of.plain && !p.readySince.IsZero()
			of.since = p.readySince.Add(time.Duration(wait) * time.Second)
		}
	}
	k.kinds[r.place] = of
}

// plain reports whether the pod is ready and nothing is going on with it, so that its revision says all about it but since when
// it is ready.
func (r *podRecord) plain() bool {
	return r.ready && r.complete && r.object.Spec.NodeName != "" && r.digest == "" && !r.isDeleted &&
		!r.leaving && !r.preparing && !r.inherited && !r.numbered && !r.unschedulable
}

// pick is a node that is judged, and how many nodes it stands for.
type pick struct{ place, weight int }

// statement is what the plan says of a node, or of a stray pod, and for how many it stands.
type statement struct {
	*rollout.Decision
	node   *node // nil: a stray pod
	weight int
}

// class is a set of nodes that are alike.
type class struct {
	traits
	said *rollout.Decision
	pick int // the first of them
}

// pickAll picks each node.
func (v *verifier) pickAll() {
	v.picks = v.kept.room.picks[:0]
	for i := range v.kept.byName {
		v.picks = append(v.picks, pick{i, 1})
	}
	v.kept.room.picks = v.picks
}

// pickAlike picks one of the nodes that are alike, and each other node. It returns false if it cannot: if the Decisions are not
// those of the nodes in order, or if the spec asks for something that tells apart nodes that are alike.
func (v *verifier) pickAlike() bool {
	k, strategy := v.kept, &v.spec.Strategy
	if strategy.Canary != nil || v.spec.PreDownload != nil || ofDesired(strategy.Partition, 100, 0) > 0 ||
		len(v.plan.Decisions) < len(k.kinds) {
		return false
	}
	v.alike = true
	v.setApart()
	picks, last := k.room.picks[:0], 0
	var classes []class
	for i := range k.kinds {
		of, d := &k.kinds[i], &v.plan.Decisions[i]
		if d.Node != of.name {
			return false
		}
		if of.plain && !k.room.apart[i] && !of.since.After(v.snapshot.Now) {
			if last = classOf(classes, last, of, d); last < len(classes) {
				picks[classes[last].pick].weight++
				continue
			}
			// Whether an outdated pod can be updated in place depends on more of it than its revision.
			outdated := !of.empty && !v.updates[of.hash]
			if len(classes) < mostClasses && (!outdated || strategy.Method == inplace.Recreate) {
				classes = append(classes, class{of.traits, d, len(picks)})
			}
		}
		picks = append(picks, pick{i, 1})
	}
	v.picks, k.room.picks = picks, picks
	return true
}

// mostClasses is how many sets of alike nodes are looked for. Where there are more, little is saved.
const mostClasses = 32

// classOf is the class of a node of which the plan says this, or the number of classes. Most often it is the last one.
func classOf(classes []class, last int, of *kind, d *rollout.Decision) int {
	if last < len(classes) && classes[last].has(of, d) {
		return last
	}
	for i := range classes {
		if classes[i].has(of, d) {
			return i
		}
	}
	return len(classes)
}

// has reports whether the plan says of a node all that it says of those of the class, and the node has what they have.
func (c *class) has(of *kind, d *rollout.Decision) bool {
	if c.said.Reason != d.Reason || c.traits != of.traits {
		return false
	}
	said := *d
	said.Node, said.Pod = c.said.Node, c.said.Pod
	return said == *c.said
}

// setApart notes the nodes that a request, an action, a back-off or a part of a stage names, or a pod of which it does, and those
// of which it matters which comes first.
func (v *verifier) setApart() {
	k := v.kept
	k.room.apart = resized(k.room.apart, len(k.kinds))
	clear(k.room.apart)
	named := func(name string) {
		if r := k.nodes.byKey[name]; r != nil {
			k.room.apart[r.place] = true
		}
	}
	of := func(uid types.UID) {
		if r := k.pods.byKey[uid]; r != nil && r.on != nil {
			k.room.apart[r.on.place] = true
		}
	}
	for i := range v.plan.Creates {
		named(v.plan.Creates[i].Node)
	}
	for i := range v.plan.Deletes {
		named(v.plan.Deletes[i].Node)
		of(v.plan.Deletes[i].UID)
	}
	for i := range v.plan.Patches {
		named(v.plan.Patches[i].Node)
		of(v.plan.Patches[i].UID)
	}
	for _, create := range v.snapshot.InFlight.Creates {
		named(create.Node)
	}
	for _, uid := range v.snapshot.InFlight.Deletes {
		of(uid)
	}
	for _, uid := range v.snapshot.InFlight.Patches {
		of(uid)
	}
	for i := range v.plan.Parts {
		for _, name := range v.plan.Parts[i].Blocking {
			named(name)
		}
	}
	if v.followsParts() { // the first by name are left out of their parts
		for i, r := range k.byName {
			k.room.apart[i] = k.room.apart[i] || r.cutOff
		}
	}
	for _, backoffs := range [][]rollout.Backoff{v.snapshot.Memory.Backoffs, v.plan.Memory.Backoffs} {
		for i := range backoffs {
			named(backoffs[i].Node)
		}
	}
}
