package verify

import (
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/history"
)

// trial is how the trial of the update revision stands. Phase and nodes are what the plan says, which
// checkTrial judges; what follows from them for the nodes is found here.
type trial struct {
	phase canary.Phase
	// nodes of the canary, as far as the snapshot has them.
	nodes []*node
	// stables are the hashes that may be the stable revision: one, but for revisions of one number. stable is it, as the
	// plan says if it is one of them.
	stables map[string]bool
	// before are they as the history has them, whatever this plan promotes.
	before map[string]bool
	// kept are those that the history may not lose: before, and the last one with a mark until another has one.
	kept   map[string]bool
	stable string
	// goals are the two revisions where nodes end, each as a set.
	goals map[string]map[string]bool
}

// observeTrial reads off the plan what it takes the trial to be, and off the history which revision is the stable one.
func (v *verifier) observeTrial() {
	t := &v.trial
	t.before = v.stableRevisions()
	t.stables, t.kept = t.before, maps.Clone(t.before)
	if v.spec.Strategy.Canary != nil && !v.history.promoted {
		maps.Copy(t.kept, v.highest(history.Promoted))
	}
	if v.failed.givenUp {
		t.stables = v.staging.bases // F3
	} else if v.spec.Strategy.Canary != nil && v.plan.Canary.Phase == canary.Idle { // a promotion makes it so at once (C6)
		t.stables = map[string]bool{v.plan.Status.UpdateRevision: true}
	}
	t.stable = v.plan.Status.StableRevision
	if !t.stables[t.stable] {
		t.stable = sortedKeys(t.stables)[0]
	}
	t.goals = make(map[string]map[string]bool)
	for _, hash := range []string{v.plan.Status.UpdateRevision, t.stable} {
		t.goals[hash] = map[string]bool{hash: true}
	}
	if v.failed.givenUp {
		t.phase = canary.Failed // nodes go back as after a canary that failed
		return
	}
	if v.spec.Strategy.Canary == nil {
		return
	}
	t.phase = v.plan.Canary.Phase
	if !v.onTrial() {
		return
	}
	for _, name := range v.plan.Canary.Nodes {
		if node := v.nodeOf(name); node != nil && !node.canary {
			node.canary = true
			t.nodes = append(t.nodes, node)
		}
	}
}

// onTrial reports whether the update revision is being tried, as the plan says.
func (v *verifier) onTrial() bool {
	return v.trial.phase == canary.Running || v.trial.phase == canary.Paused
}

// halted reports whether nothing may be begun (T4), which stops a canary too (C7).
func (v *verifier) halted() bool { return v.spec.Strategy.Paused || v.spec.Strategy.Frozen }

// stableRevisions are the hashes of the revision to fall back to (C6). Where new revisions are tried, that is the last one
// that was promoted, or while none is marked the one that was remembered; else the older one. It is the update revision if
// there is none.
func (v *verifier) stableRevisions() map[string]bool {
	remembered := v.remembered.Rollout.Stable
	if trial := v.remembered.Canary; trial.Verdict != nil && trial.Verdict.Phase == canary.Idle { // its mark is not seen yet
		remembered = trial.Revision
	} else if trial.Verdict != nil && remembered == trial.Revision { // it is remembered as failed, too
		remembered = ""
	}
	if remembered != "" && v.isUpdate(remembered) {
		remembered = v.plan.Status.UpdateRevision
	}
	if remembered == v.plan.Status.UpdateRevision && history.Failed(v.history.update) {
		remembered = ""
	}
	switch {
	case v.spec.Strategy.Canary == nil:
		return v.olderRevisions()
	case v.history.promoted || remembered == v.plan.Status.UpdateRevision:
		return map[string]bool{v.plan.Status.UpdateRevision: true}
	}
	isPromoted := func(revision *appsv1.ControllerRevision) bool {
		return history.Promoted(revision) || history.HashOf(revision) == remembered
	}
	switch {
	case slices.ContainsFunc(v.snapshot.Revisions, isPromoted):
		return v.highest(isPromoted)
	case remembered != "": // it is gone, and nothing else is known to be stable
		return map[string]bool{remembered: true}
	}
	return v.fallbackRevisions()
}

// fallbackRevisions are the hashes of the revision to fall back to where revisions are tried and nothing is known to be stable:
// the older one, or if no pod shows any, the highest of the history that can be read and has not failed. Where more nodes have
// the update revision than a canary would, it was rolled out before, and is the one.
func (v *verifier) fallbackRevisions() map[string]bool {
	older := v.olderRevisions()
	if !older[v.plan.Status.UpdateRevision] || v.updatedNodes() > v.wantedNodes() && !history.Failed(v.history.update) {
		return older
	}
	return v.highest(func(revision *appsv1.ControllerRevision) bool {
		return !history.Failed(revision) && v.templateOf(history.HashOf(revision)) != nil
	})
}

// updatedNodes is the number of nodes with a pod that is seen to live at the update revision.
func (v *verifier) updatedNodes() int {
	updated := 0
	for _, node := range v.nodes {
		if node.any(func(p *pod) bool { return p.seen() && p.atUpdate }) {
			updated += node.weight
		}
	}
	return updated
}

// olderRevisions are the hashes of the highest older revision that a live pod, or a requested one, carries, and that has not
// failed; where revisions are tried, of one that any pod carries if no live one does, and then of one that has failed.
func (v *verifier) olderRevisions() map[string]bool {
	if v.older == nil { // it may be asked for every node
		v.older = v.findOlderRevisions()
	}
	return v.older
}

func (v *verifier) findOlderRevisions() map[string]bool {
	carried := func(by map[string]bool, failed bool) map[string]bool {
		return v.highest(func(revision *appsv1.ControllerRevision) bool {
			return by[history.HashOf(revision)] && history.Failed(revision) == failed
		})
	}
	live := v.liveHashes()
	older := carried(live, false)
	if v.spec.Strategy.Canary == nil {
		return older
	}
	all := maps.Clone(live)
	for _, pod := range v.pods {
		all[pod.hash] = true
	}
	for _, next := range []map[string]bool{carried(all, false), carried(live, true)} {
		if older[v.plan.Status.UpdateRevision] {
			older = next
		}
	}
	return older
}

// highest are the hashes of the highest revisions of other templates that count; if there is none, that of the update
// revision.
func (v *verifier) highest(counts func(*appsv1.ControllerRevision) bool) map[string]bool {
	hashes := make(map[string]bool)
	var highest int64
	for _, revision := range v.snapshot.Revisions {
		hash := history.HashOf(revision)
		if v.holdsTemplate(revision) || hash == v.plan.Status.UpdateRevision || !counts(revision) ||
			len(hashes) > 0 && revision.Revision < highest {
			continue
		}
		if len(hashes) == 0 || revision.Revision > highest {
			highest = revision.Revision
			clear(hashes)
		}
		hashes[hash] = true
	}
	if len(hashes) == 0 {
		hashes[v.plan.Status.UpdateRevision] = true
	}
	return hashes
}

// liveHashes are those that live pods, or requested ones, carry. Those whose deletion is only in flight count: what was
// decided when it was requested must not change by that.
func (v *verifier) liveHashes() map[string]bool {
	live := make(map[string]bool)
	var last *pod // of those that are seen; most pods carry its hash
	for _, pod := range v.pods {
		if (last == nil || pod.hash != last.hash) && pod.seen() {
			live[pod.hash], last = true, pod
		}
	}
	for _, create := range v.snapshot.InFlight.Creates {
		live[create.Revision] = true
	}
	return live
}

// observeGoals finds out where each node is to end (T1, T6), what it gives to the containers there (P8), and what that
// makes of its pods.
func (v *verifier) observeGoals() {
	stable := v.templateAt(v.trial.stable)
	place := placerOf(stable)
	for _, node := range v.nodes {
		if node.goesStable = v.goesStable(node); node.goesStable {
			node.placeStable(stable, place)
		}
		if node.concerned {
			node.overridden = v.overrides.on(node.object, v.goalTemplate(node))
		}
	}
	for _, pod := range v.pods {
		if pod.node == nil {
			continue
		}
		pod.updated = pod.atUpdate && (pod.node.goesStable || v.becomesRight(pod))
		carries := pod.atUpdate
		if pod.node.goesStable {
			carries = !pod.atUpdate && pod.hash == v.trial.stable
		}
		pod.atGoal = carries
		pod.current = carries && v.becomesRight(pod)
	}
	for _, create := range v.snapshot.InFlight.Creates {
		if node := v.nodeOf(create.Node); node != nil {
			goal := v.isGoal(node, create.Revision)
			node.asksCurrent, node.asksOther = node.asksCurrent || goal, node.asksOther || !goal
			node.asksOld = node.asksOld || !goal && !v.isUpdate(create.Revision)
		}
	}
}

// placeStable lets the template of the stable revision say whether the node runs it (T6). One that cannot be read, nil, vacates
// none.
func (n *node) placeStable(stable *corev1.PodTemplateSpec, place placer) {
	switch {
	case stable != nil:
		n.outcome, n.tainted = place(n.object)
	case n.outcome == placement.Leave && len(n.pods) > 0:
		n.outcome = placement.Keep
	}
}

// goesStable is T6: while a revision is tried, only the canary nodes go to it, and those that are there stay. After a fail,
// or where the canary rests, none does.
func (v *verifier) goesStable(node *node) bool {
	switch {
	case v.trial.phase == canary.Idle, v.isUpdate(v.trial.stable): // there is nothing else to go to
		return false
	case v.trial.phase == canary.Failed:
		return true
	case v.trial.phase == canary.Running && node.canary && !v.halted():
		return false
	default:
		return !node.asksUpdated && !node.any(func(p *pod) bool { return p.active() && p.atUpdate })
	}
}

// isGoal reports whether the hash of a requested pod, or of one to be created, is that of the revision where the node is to
// end.
func (v *verifier) isGoal(node *node, hash string) bool {
	switch {
	case node != nil && node.goesStable:
		return hash == v.trial.stable
	case node != nil && node.goesBack:
		return v.staging.bases[hash]
	default:
		return v.isUpdate(hash)
	}
}

// goalHash is the revision where the node is to end, goalTemplate its template; nil: it cannot be read.
func (v *verifier) goalHash(node *node) string {
	switch {
	case node != nil && node.goesStable:
		return v.trial.stable
	case node != nil && node.goesBack:
		return v.base()
	default:
		return v.plan.Status.UpdateRevision
	}
}

func (v *verifier) goalTemplate(node *node) *corev1.PodTemplateSpec {
	return v.templateAt(v.goalHash(node))
}
