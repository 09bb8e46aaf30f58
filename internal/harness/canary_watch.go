package harness

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/history"
)

// CanaryWatch follows the canaries of one set from plan to plan, and tells what must not be (C rules, T6):
//   - C1: at most so many canary nodes as the strategy wants, all of them nodes that may be; a node that was chosen stays
//     chosen while it may be one;
//   - C1, C6: no other node is chosen while one that may be a canary node is at the revision and is none;
//   - T6: while a revision is on trial, no pod of it is created or begun outside the canary nodes, but on nodes that have it
//     already. So no more nodes are given it than are wanted, but for those that take the place of nodes that left the canary;
//   - C7: no pod of the stable revision that serves is deleted outside the canary nodes, nor anywhere while the canary or the
//     set rests; then, and after a fail, no pod of the revision is created or begun;
//   - C1, C2: no revision is promoted by the clock before as many nodes as may be have tried it, and one at least; before that
//     has run, by the time of the snapshots, for the whole duration; while a canary pod is missing or not available; or before
//     it has been quiet for long enough; with Manual only by command;
//   - C4, C6: a revision is promoted once, and one that has failed is neither tried nor promoted until it is retried; one that
//     was tried and not promoted is never the stable one; one that needs a trial is not rolled out without it.
//
// What it knows it computes from specs and objects. Of the plan it believes which nodes are the canary's and in which phase
// that is, and holds it to both. The zero value is ready for the first plan. A set whose revisions collide or cannot be read
// is too much for it.
type CanaryWatch struct {
	revision string   // on trial
	lost     bool     // the memory of it
	nodes    []string // of the plan before

	started, ticking bool
	elapsed          time.Duration
	last             time.Time
	failures         map[types.UID]time.Time // when failed canary pods failed
	disturbed        time.Time

	promoted, failed map[string]bool // revisions for which that was requested, by name
	tried            map[string]bool // hashes that were on trial
}

// Check looks at one plan before it is carried out. It is for [Cluster.Run], with the spec that the plan was made for, and
// for every plan of the set.
func (w *CanaryWatch) Check(spec rollout.Spec, s rollout.Snapshot, p rollout.Plan) error {
	f, err := factsOf(spec, s)
	if err != nil {
		return err
	}
	w.begin(f, &p)
	err = errors.Join(w.checkPhase(f, &p), w.checkNodes(f, &p), w.checkActions(f, &p), w.checkPromotion(f, &p))
	w.remember(f, &p)
	return err
}

// begin prepares for a revision that was not on trial before, or whose record was lost.
func (w *CanaryWatch) begin(f *canaryFacts, p *rollout.Plan) {
	if w.promoted == nil {
		w.promoted, w.failed, w.tried = map[string]bool{}, map[string]bool{}, map[string]bool{}
	}
	w.lost = f.snapshot.Memory.Canary.Revision != p.Canary.Revision
	if w.lost || w.revision != p.Canary.Revision {
		w.revision = p.Canary.Revision
		w.restart()
	}
	if len(f.snapshot.Memory.Canary.Nodes) == 0 {
		w.nodes = nil
	}
	if w.ticking {
		w.elapsed += f.snapshot.Now.Sub(w.last)
	}
	if added(w.nodes, p.Canary.Nodes) {
		w.started, w.elapsed = false, 0
	}
}

// restart begins the clock anew.
func (w *CanaryWatch) restart() {
	w.failures, w.disturbed = map[types.UID]time.Time{}, time.Time{}
	w.started, w.ticking, w.elapsed = false, false, 0
}

func added(before, now []string) bool {
	return slices.ContainsFunc(now, func(node string) bool { return !slices.Contains(before, node) })
}

// onTrial reports whether the plan says that the revision is on trial.
func onTrial(p *rollout.Plan) bool {
	return p.Canary.Phase == canary.Running || p.Canary.Phase == canary.Paused
}

func (w *CanaryWatch) checkPhase(f *canaryFacts, p *rollout.Plan) error {
	promotes := promotes(f, p)
	rejected := f.failed != "" || w.failed[f.name] && !w.lost
	retried := f.commanded(retryOf(f)) && f.retry != f.options.Commands.Retry
	switch {
	case p.Canary.Phase == canary.Idle && f.needsTrial() && !promotes && !w.promoted[f.name]:
		return fmt.Errorf("C6: revision %s needs a trial, and there is none", f.name)
	case rejected && !retried && !f.promoted && f.needsTrial() && p.Canary.Phase != canary.Failed:
		return fmt.Errorf("C4: revision %s has failed, and its canary is %s", f.name, p.Canary.Phase)
	case p.Canary.Phase != canary.Idle && w.tried[p.Canary.Stable] && !w.promoted[f.spec.Name+"-"+p.Canary.Stable] &&
		!f.promotedHash(p.Canary.Stable):
		return fmt.Errorf("C6: revision %s was tried and never promoted, and is taken for the stable one", p.Canary.Stable)
	}
	return nil
}

// retryOf is the revision that the command retry names.
func retryOf(f *canaryFacts) string {
	retry := f.options.Commands.Retry
	for i := range retry {
		if retry[i] == '/' {
			return retry[:i]
		}
	}
	return retry
}

func (f *canaryFacts) promotedHash(hash string) bool {
	for _, r := range f.snapshot.Revisions {
		if history.HashOf(r) == hash && history.Promoted(r) {
			return true
		}
	}
	return false
}

// checkNodes is C1.
func (w *CanaryWatch) checkNodes(f *canaryFacts, p *rollout.Plan) error {
	nodes := p.Canary.Nodes
	if !onTrial(p) {
		if len(nodes) > 0 {
			return fmt.Errorf("C1: nothing is on trial, and %v are canary nodes", nodes)
		}
		return nil
	}
	wanted, candidates := f.wanted(), f.candidates(nodes)
	switch {
	case int(p.Canary.Wanted) != wanted:
		return fmt.Errorf("C1: %d canary nodes are said to be wanted, and it is %d", p.Canary.Wanted, wanted)
	case len(nodes) != min(wanted, candidates):
		return fmt.Errorf("C1: %d canary nodes, wanted are %d of %d that may be", len(nodes), wanted, candidates)
	case len(slices.Compact(slices.Sorted(slices.Values(nodes)))) != len(nodes):
		return fmt.Errorf("C1: of the canary nodes %v one is there twice", nodes)
	}
	for _, node := range nodes {
		if !f.candidate[node] && !f.mayBeBroken(node) {
			return fmt.Errorf("C1: node %s is a canary node, and may not be one", node)
		}
		if slices.Contains(w.nodes, node) || f.holdsUpdate(node) {
			continue
		}
		for _, other := range sortedKeys(f.candidate) {
			if f.candidate[other] && f.holdsUpdate(other) && !slices.Contains(nodes, other) {
				return fmt.Errorf("C6: node %s is made a canary node, and not %s, which has the revision already", node, other)
			}
		}
	}
	if wanted >= len(w.nodes) {
		for _, node := range w.nodes {
			if f.candidate[node] && !slices.Contains(nodes, node) {
				return fmt.Errorf("C1: node %s was a canary node, may still be one, and is none any more", node)
			}
		}
	}
	return nil
}

// checkActions is T6 and C7.
func (w *CanaryWatch) checkActions(f *canaryFacts, p *rollout.Plan) error {
	if p.Canary.Phase == canary.Idle {
		return nil
	}
	rests := p.Canary.Phase != canary.Running || f.spec.Strategy.Paused || f.spec.Strategy.Frozen
	give := func(node, what string) error {
		switch {
		case rests:
			return fmt.Errorf("C7: %s of the revision on trial on node %s, while the canary is %s", what, node, p.Canary.Phase)
		case !slices.Contains(p.Canary.Nodes, node) && !f.holdsUpdate(node): // one that has it keeps it
			return fmt.Errorf("T6: %s of the revision on trial on node %s, outside the canary", what, node)
		}
		return nil
	}
	var errs []error
	for _, a := range p.Creates {
		if f.update[a.Revision] {
			errs = append(errs, give(a.Node, "create"))
		}
	}
	for i := range p.Patches {
		patch := &p.Patches[i]
		if hash := becomes(patch); f.update[hash] && !f.underWay(patch.UID) {
			errs = append(errs, give(patch.Node, "in-place update to a pod"))
		}
	}
	for _, a := range p.Deletes {
		outside := rests || !slices.Contains(p.Canary.Nodes, a.Node)
		if outside && f.serves(a.UID, p.Canary.Stable) {
			errs = append(errs, fmt.Errorf("C7: delete of %s on node %s, which serves at the stable revision", a.Pod, a.Node))
		}
	}
	return errors.Join(errs...)
}

// underWay reports whether the pod is at the update revision already, or in the middle of an in-place update, which is
// finished whatever else rests (T4).
func (f *canaryFacts) underWay(uid types.UID) bool {
	return slices.ContainsFunc(f.snapshot.Pods, func(p *corev1.Pod) bool {
		return p.UID == uid && (f.update[objects.RevisionOf(p)] || inplace.Unfinished(p) ||
			lifecycle.StateOf(p) == lifecycle.PreparingUpdate || lifecycle.StateOf(p) == lifecycle.Updating)
	})
}

// promotes reports whether the plan marks the update revision as promoted.
func promotes(f *canaryFacts, p *rollout.Plan) bool {
	return slices.ContainsFunc(p.Revisions, func(a rollout.RevisionAction) bool {
		_, mark := a.Annotations[history.PromotedAnnotation]
		return a.Name == f.name && (mark || a.Object != nil && history.Promoted(a.Object))
	})
}

// checkPromotion is C2, and that it happens once.
func (w *CanaryWatch) checkPromotion(f *canaryFacts, p *rollout.Plan) error {
	if !promotes(f, p) {
		return nil
	}
	switch {
	case f.promoted:
		return fmt.Errorf("C6: revision %s is promoted again", f.name)
	case slices.Contains(f.snapshot.InFlight.Revisions, f.name):
		return fmt.Errorf("C6: revision %s is promoted while a request for it is in flight", f.name)
	case w.promoted[f.name] || !f.needsTrial():
		return nil // judged before, and not seen yet; or there was nothing to try
	case f.commanded(f.options.Commands.Validate) && !f.commanded(f.options.Commands.Fail):
		return nil
	}
	nodes := w.remaining(f)
	elapsed := w.elapsed
	if f.full(nodes) && !w.started {
		w.started = true // this very instant, for a duration of 0
	}
	if f.options.Mode == canary.Manual {
		return fmt.Errorf("C2: revision %s is promoted without a command", f.name)
	}
	if err := f.checkTried(nodes); err != nil {
		return err
	}
	switch {
	case len(nodes) > 0 && !f.full(nodes):
		return fmt.Errorf("C2: revision %s is promoted, and not all of the canary nodes %v have an available pod", f.name, nodes)
	case len(nodes) > 0 && elapsed < *f.options.Duration:
		return fmt.Errorf("C2: revision %s is promoted after %v, and its duration is %v", f.name, elapsed, *f.options.Duration)
	}
	for _, last := range [...]time.Time{f.restarted(nodes), w.disturbed} {
		if !f.settled(last) {
			return fmt.Errorf("C2: revision %s is promoted %v after a canary pod was disturbed, and not %v",
				f.name, f.snapshot.Now.Sub(last), *f.options.NoRestartsDuration)
		}
	}
	return nil
}

// remaining are the canary nodes of the plan before that are still some. Those that may not be any more, as they are gone,
// count no longer, and neither do those that are more than are wanted by now: nodes without the revision leave the canary
// first (C1).
func (w *CanaryWatch) remaining(f *canaryFacts) []string {
	nodes := slices.DeleteFunc(slices.Clone(w.nodes), func(node string) bool {
		return !f.candidate[node] && !f.mayBeBroken(node)
	})
	slices.SortFunc(nodes, func(a, b string) int {
		switch has := f.holdsUpdate(a); {
		case has == f.holdsUpdate(b):
			return strings.Compare(a, b)
		case has:
			return -1
		default:
			return 1
		}
	})
	return nodes[:min(len(nodes), f.wanted())]
}

// settled reports whether a disturbance is long enough ago (C2); zero: there was none.
func (f *canaryFacts) settled(last time.Time) bool {
	return last.IsZero() || f.snapshot.Now.Sub(last) >= *f.options.NoRestartsDuration
}

// checkTried is C1 for a revision that is promoted by the clock: as many canary nodes as may be have tried it, and one at
// least. A plan that replaces a node that is gone begins the clock anew, which only without a duration is over at once: then
// any other node with an available pod that has been quiet for long enough may be the one.
func (f *canaryFacts) checkTried(nodes []string) error {
	tried, wanted, candidates := len(nodes), f.wanted(), f.candidates(nodes)
	if *f.options.Duration == 0 {
		for node, ok := range f.candidate {
			other := []string{node}
			if ok && !slices.Contains(nodes, node) && f.full(other) && f.settled(f.restarted(other)) {
				tried++
			}
		}
	}
	switch {
	case tried == 0:
		return fmt.Errorf("C1: revision %s is promoted, and no node has tried it", f.name)
	case tried < min(wanted, candidates):
		return fmt.Errorf("C1: revision %s is promoted, and %d canary nodes have tried it, wanted are %d of %d that may be",
			f.name, tried, wanted, candidates)
	}
	return nil
}

// remember is what the next plan is held to.
func (w *CanaryWatch) remember(f *canaryFacts, p *rollout.Plan) {
	if promotes(f, p) {
		w.promoted[f.name] = true
	}
	w.failed[f.name] = p.Canary.Phase == canary.Failed
	if p.Canary.Phase != canary.Idle {
		w.tried[p.Canary.Revision] = true
	}
	w.last = f.snapshot.Now
	if !onTrial(p) {
		w.ticking = false
		if p.Canary.Phase == canary.Idle {
			w.nodes = nil
		}
		return
	}
	w.nodes = slices.Clone(p.Canary.Nodes)
	for _, node := range w.nodes {
		for _, pod := range f.on[node] {
			if f.update[objects.RevisionOf(pod)] && lifecycle.Terminal(pod) && w.failures[pod.UID].IsZero() {
				w.failures[pod.UID] = f.snapshot.Now
				w.disturbed = f.snapshot.Now
			}
		}
	}
	halted := f.spec.Strategy.Paused || f.spec.Strategy.Frozen
	if p.Canary.Phase == canary.Running && !halted && f.full(w.nodes) {
		w.started = true
	}
	w.ticking = w.started && p.Canary.Phase == canary.Running && !halted
}
