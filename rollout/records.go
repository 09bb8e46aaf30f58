package rollout

import (
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout/internal/fleet"
)

// Making records is part of step 3. Once it is known which revision is which, the nodes that need no further step are set aside,
// and of each other node and its pods a record is made, which steps 4 to 9 work on.
//
// A node is settled if its only pod runs there as it is to, and nothing is in flight or unfinished on it. Steps 4 to 9 would find
// nothing to do there, whatever the budgets, and so would they on a node that is not to run the pod and has none. Mostly nearly
// all nodes are such nodes. Their decisions are written here, and whatever counts nodes begins with run.settledAside.
// TestNodesAsideChangeNothing compares with plans that set no node aside.

// makeRecords writes what is known of each node into its decision, sets nodes aside, and makes the records of the others.
// updates are the hashes of the update revision.
func (r *run) makeRecords(updates map[string]bool) {
	requests := r.requestsFor(r.snapshot.InFlight)
	aside := r.asideRule(requests.nodes)
	if settled, all := aside.allAsBefore(r.nodeFacts, r.snapshot.Reading.allAside()); all {
		r.plan.Decisions, r.settledAside = slices.Clip(r.snapshot.Reading.allAside()), settled
	} else {
		r.setAside(&aside, requests)
	}
	for j := r.podFacts.Strays; j != none; j = r.podFacts.List.At(j).Next {
		p := r.pod(r.podFacts.List.At(j), none, requests.traits(j))
		if !p.traits.hasAny(marked) || !p.traits.hasAny(finished) {
			r.strays = append(r.strays, p)
		}
	}
	for _, create := range r.snapshot.InFlight.Creates {
		r.addCreate(create, updates)
	}
	if len(r.nodes) == 0 {
		r.plan.Reading = r.plan.Reading.withAllAside(slices.Clip(r.plan.Decisions))
		r.workspace.giveUp()
	}
}

// setAside decides about the nodes that need no further step, and makes the records of the others and their pods.
func (r *run) setAside(aside *asideRule, requests requests) {
	r.plan.Decisions = r.workspace.makeDecisions(r.nodeFacts.List.Len())
	rest, pods := r.workspace.unsettled[:0], 0
	for i := range int32(len(r.plan.Decisions)) {
		r.plan.Decisions[i] = Decision{}
		switch aside.decide(&r.plan.Decisions[i], r.nodeFacts.List.At(i), i) {
		case asSettled:
			r.settledAside++
		case asIdle:
		case notAside:
			rest = append(rest, i)
			for j := r.podFacts.First[i]; j != none; j = r.podFacts.List.At(j).Next {
				pods++
			}
		}
	}
	r.workspace.unsettled = rest
	r.nodes, r.pods = r.workspace.makeRecords(len(rest), pods)
	for i, ordinal := range rest {
		n := r.nodeFacts.List.At(ordinal)
		r.nodes[i] = node{
			Node: n, ordinal: ordinal, nodeAim: nodeAim{effect: n.Effect},
			nodeFindings: nodeFindings{goalPod: none, outdatedPod: none},
		}
		r.addPods(int32(i), requests)
	}
}

// strayRoom is the spare capacity of the decisions, so that a few pods on nodes that are gone do not cause a copy of them all.
const strayRoom = 16

// asideRule decides which nodes need no further step.
type asideRule struct {
	// off reports whether none may be set aside: while a revision is on trial or has failed, nodes are to end at two different
	// ones (T6).
	off bool
	// requested are the nodes that requests are in flight for.
	requested fleet.Ordinals
	pods      *fleet.Pods
	// right are, by their ordinals, the revision hashes of pods that are where all nodes are to end, and keep that hash (R3).
	right []bool
	// available reports whether every plain pod is available by now. If not, minReadySeconds and now say of each whether it is.
	available       bool
	minReadySeconds int32
	now             time.Time
}

func (r *run) asideRule(requested fleet.Ordinals) asideRule {
	a := asideRule{
		off:       (r.spec.Strategy.Canary != nil || r.isGivenUp()) && r.revision.Stable.Hash != r.revision.Update.Hash,
		requested: requested, pods: r.podFacts, right: make([]bool, len(r.hashes)),
		minReadySeconds: r.spec.MinReadySeconds, now: r.snapshot.Now,
	}
	for i := range r.hashes {
		a.right[i] = r.hashes[i].update && !r.hashes[i].relabel
	}
	a.available = a.isAvailable(r.podFacts.LastReady)
	if r.adjustAside != nil {
		r.adjustAside(r, &a)
	}
	return a
}

// isAvailable reports whether a pod that is ready since then is available (B5).
func (a *asideRule) isAvailable(readySince time.Time) bool {
	return lifecycle.EvaluateSince(readySince, a.minReadySeconds, a.now).Available
}

// asideAs is what a node is set aside as.
type asideAs uint8

const (
	notAside asideAs = iota
	asSettled
	asIdle
)

// decide writes what is known of the node into its decision, which is zero, and if the node is set aside, what is decided about
// it.
func (a *asideRule) decide(d *Decision, n *fleet.Node, ordinal int32) asideAs {
	d.Node = n.Name
	if n.Verdict.Outcome == placement.Run {
		d.Placement.Outcome = placement.Run // there is no more to such a verdict
	} else {
		d.Placement = n.Verdict
	}
	switch {
	case !a.mayBeAside(n, ordinal):
		return notAside
	case a.isSettled(n, ordinal):
		d.Facts, d.State, d.Target, d.Reason = settledFacts, StateUpdated, TargetUpdate, ReasonUpToDate
		return asSettled
	case a.isIdle(n, ordinal):
		d.State, d.Reason = StateIneligible, ReasonIneligible
		return asIdle
	default:
		return notAside
	}
}

// allAsBefore reports whether all nodes are set aside, with the decisions of an earlier plan, and how many of them are settled.
// In most plans of a fleet at rest they are, and a plan then shares the decisions instead of writing them anew.
func (a *asideRule) allAsBefore(nodes *fleet.Nodes, decisions []Decision) (settled int32, all bool) {
	if len(decisions) == 0 || len(decisions) != nodes.List.Len() {
		return 0, false
	}
	for i := range decisions {
		var d Decision
		switch a.decide(&d, nodes.List.At(int32(i)), int32(i)) {
		case asSettled:
			settled++
		case asIdle:
		case notAside:
			return 0, false
		}
		if d != decisions[i] {
			return 0, false
		}
	}
	return settled, true
}

// mayBeAside reports whether nothing is in flight for the node, and overrides give it nothing (P8) and nothing to report.
func (a *asideRule) mayBeAside(n *fleet.Node, ordinal int32) bool {
	return !a.off && n.Effect == none && !a.requested.Has(ordinal)
}

// isSettled reports whether a node that may be set aside is to run the pod, and its only pod is at the update revision,
// available, and in the middle of nothing.
func (a *asideRule) isSettled(n *fleet.Node, ordinal int32) bool {
	hash := a.pods.Plain[ordinal] // negative: the node has no pod, or one that is not plain
	return n.Verdict.Outcome == placement.Run && hash >= 0 && a.right[hash] &&
		(a.available || a.isAvailable(a.pods.List.At(a.pods.First[ordinal]).ReadySince))
}

// isIdle reports whether a node that may be set aside is not to run the pod and has none.
func (a *asideRule) isIdle(n *fleet.Node, ordinal int32) bool {
	return n.Verdict.Outcome != placement.Run && a.pods.Plain[ordinal] == fleet.NoPod
}

// addPods makes the records of a node's pods.
func (r *run) addPods(i int32, requests requests) {
	n := &r.nodes[i]
	n.first = int32(len(r.pods))
	for j := r.podFacts.First[n.ordinal]; j != none; j = r.podFacts.List.At(j).Next {
		p := r.pod(r.podFacts.List.At(j), i, requests.traits(j))
		if p.traits.hasAny(marked) && p.traits.hasAny(finished) {
			// M1 ignores a finished pod that is marked for deletion. Only its revision still counts, as one that a pod
			// carries (R4) and as what the node ran (T1), and on a canary node that it failed (C2).
			if r.remembersIgnored() {
				r.ignored = append(r.ignored, p)
			}
			continue
		}
		r.pods = append(r.pods, p)
	}
	n.end = int32(len(r.pods))
}

// pod makes the record of one pod on a node, which has these traits by the requests in flight.
func (r *run) pod(facts *fleet.Pod, node int32, requested traits) pod {
	record := pod{Pod: facts, host: node, hash: facts.Hash, traits: traits(facts.Traits) | requested}
	if facts.Traits.HasAny(fleet.Unhashed) && r.atGeneration(facts) {
		record.traits |= byGeneration
	}
	if !r.usesCanaryLabel {
		record.traits &^= labelled
	}
	switch {
	case record.traits.hasAny(marked):
		record.traits &^= ready | preparingDelete | preparingUpdate | inTransition | outOfService | unreadable
	case record.traits.hasAny(ready) && r.readiness(facts).Available:
		record.traits |= available
	}
	return record
}

func (r *run) remembersIgnored() bool {
	return r.spec.Strategy.HoldRevision || r.spec.Strategy.Canary != nil || r.maxExempt.Value > 0 ||
		r.rules.Stages.Len() > 0 || r.failures != nil || len(r.features) > 0
}

// atGeneration reports whether a pod without a revision hash is at the update revision by its template generation label (R5).
func (r *run) atGeneration(facts *fleet.Pod) bool {
	return r.spec.TemplateGeneration != nil &&
		facts.Object.Labels[TemplateGenerationLabel] == strconv.FormatInt(*r.spec.TemplateGeneration, 10)
}

// addCreate records on its node that a pod of a revision was requested.
func (r *run) addCreate(create InFlightCreate, updates map[string]bool) {
	i := r.nodeNamed(create.Node)
	switch {
	case i == none:
	case create.Revision == "" || updates[create.Revision]:
		r.nodes[i].creates |= ofUpdate
	case create.Revision == r.revision.Stable.Hash:
		r.nodes[i].creates |= ofStable
	default:
		r.nodes[i].creates |= ofOther
		if r.otherCreates == nil {
			r.otherCreates = make(map[int32][]string)
		}
		r.otherCreates[i] = append(r.otherCreates[i], create.Revision)
	}
}

// requests say which pods and nodes requests are in flight for. The zero value: for none.
type requests struct {
	pods  map[int32]traits // by their ordinals in the facts
	nodes fleet.Ordinals
}

func (r *run) requestsFor(f InFlight) requests {
	var q requests
	if len(f.Creates)+len(f.Deletes)+len(f.Patches) == 0 {
		return q
	}
	q.pods, q.nodes = make(map[int32]traits, len(f.Deletes)+len(f.Patches)), fleet.NewOrdinals(r.nodeFacts.List.Len())
	add := func(uids []types.UID, t traits) {
		for _, uid := range uids {
			if j := r.podFacts.Find(uid); j != none {
				q.pods[j] |= t
				q.add(r.podFacts.List.At(j).NodeOrdinal)
			}
		}
	}
	add(f.Deletes, marked)
	add(f.Patches, patchInFlight)
	for _, create := range f.Creates {
		q.add(r.nodeFacts.Find(create.Node))
	}
	return q
}

// add notes that a request is in flight for a node, or for none.
func (q requests) add(node int32) {
	if node != none {
		q.nodes.Add(node)
	}
}

// traits returns those that requests give the pod with an ordinal in the facts.
func (q requests) traits(j int32) traits { return q.pods[j] }

// release drops what points to facts and objects.
func (w *Workspace) release() {
	clear(w.nodeRecords)
	clear(w.podRecords)
	w.nodeRecords, w.podRecords = w.nodeRecords[:0], w.podRecords[:0]
}

// makeDecisions returns the decisions of so many nodes, with room for those of a few pods on nodes that are gone. They are as an
// earlier plan left them.
func (w *Workspace) makeDecisions(nodes int) []Decision {
	w.decisions = withRoom(w.decisions, nodes+strayRoom)
	return w.decisions[:nodes]
}

// makeRecords returns records of so many nodes, and room for those of their pods.
func (w *Workspace) makeRecords(nodes, pods int) ([]node, []pod) {
	w.nodeRecords, w.podRecords = withRoom(w.nodeRecords, nodes)[:nodes], withRoom(w.podRecords, pods)[:pods]
	return w.nodeRecords, w.podRecords[:0]
}

// giveUp hands the decisions to a Reading, which shares them with later plans.
func (w *Workspace) giveUp() { w.decisions = nil }

// withRoom returns an empty list that has the capacity, in the same memory if that is large enough.
func withRoom[E any](list []E, capacity int) []E { return slices.Grow(list[:0], capacity) }
