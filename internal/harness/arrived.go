package harness

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/history"
)

// rest is a cluster that has come to rest. It is looked at object by object, not through what a plan says about it.
type rest struct {
	*Cluster
	// revisions are those there are and those there were at the beginning.
	revisions []*appsv1.ControllerRevision
	outcome   map[string]placement.Outcome
	on        map[string][]*corev1.Pod
	names     []string // of the nodes, in order
	// held are the nodes that the partition holds, and outside those that the selector of the strategy does, or that could not
	// run a new pod.
	held, outside map[string]bool
	partition     int
	// stable is the hash of the revision that all nodes go back to, as the canary of the update revision has failed; empty:
	// it has not (C7).
	stable string
	// updated are the pods that were updated in place on the way.
	updated map[types.UID]bool
	// released are the pods that a controller took handlers of hooks off, of whatever spec then was in force.
	released map[types.UID]bool
	// lacked are the labels of their own revision that pods did not have at the beginning. An in-place update patches only what
	// the revisions differ in (I2), so such a label comes only with another value.
	lacked map[types.UID]map[string]string
}

// arrived tells what is wrong with a cluster at rest; begin is what it showed when the spec came into force.
func (c *Cluster) arrived(begin rollout.Snapshot) error {
	r, err := c.rest(begin)
	if err != nil {
		return err
	}
	for _, name := range r.names {
		var err error
		pods := r.on[name]
		if r.leftAlone(name) {
			continue // it stays as it is, and what leaves it does not come back (M8)
		}
		switch r.outcome[name] {
		case placement.Run:
			err = r.runs(name, pods)
		case placement.Leave:
			// With surge a pod serves there until enough others do, which they never do where nodes are left empty (M4, T7,
			// M8), or wait for a revision that cannot be read (T1).
			serves := len(pods) == 1 && r.spec.Strategy.MaxSurge != nil && (r.leftEmpty() || r.anyLeftAlone() || r.anyUnknown())
			if len(pods) > 0 && !serves {
				err = fmt.Errorf("has %d pods and should have none", len(pods))
			}
		case placement.Keep:
			if len(pods) > 2 {
				err = fmt.Errorf("has %d pods, more than one of each kind", len(pods))
			}
		}
		if err != nil {
			return fmt.Errorf("node %s %w", name, err)
		}
	}
	for _, name := range sortedKeys(r.on) {
		if r.nodes[name] == nil {
			return fmt.Errorf("pod %s is still pinned to %s, which does not exist", r.on[name][0].Name, name)
		}
	}
	return r.heldEnough(begin)
}

func (c *Cluster) rest(begin rollout.Snapshot) (*rest, error) {
	matcher, err := placement.Compile(&c.spec.Template)
	if err != nil {
		return nil, err
	}
	r := &rest{
		Cluster: c, revisions: slices.Concat(c.revisions, begin.Revisions),
		outcome: map[string]placement.Outcome{}, on: map[string][]*corev1.Pod{}, names: sortedKeys(c.nodes),
		held: map[string]bool{}, outside: map[string]bool{}, updated: map[types.UID]bool{}, released: map[types.UID]bool{},
		lacked: map[types.UID]map[string]string{},
	}
	for _, p := range c.pods {
		if node, ok := placement.TargetNode(p.Pod); ok {
			r.on[node] = append(r.on[node], p.Pod)
		}
	}
	selector := labels.Everything()
	if s := c.spec.Strategy.NodeSelector; s != nil {
		if selector, err = metav1.LabelSelectorAsSelector(s); err != nil {
			return nil, err
		}
	}
	for _, name := range r.names {
		r.outcome[name] = matcher.Evaluate(c.nodes[name]).Outcome
		r.outside[name] = !selector.Matches(labels.Set(c.nodes[name].Labels)) || !canRun(c.nodes[name], &c.spec.Template.Spec)
	}
	for _, e := range c.events {
		switch e.Kind {
		case PodUpdated:
			r.updated[e.UID] = true
		case PodReleased:
			r.released[e.UID] = true
		default: // says nothing about what the pod should look like
		}
	}
	for _, p := range begin.Pods {
		r.lacked[p.UID] = r.lacking(p)
	}
	if r.stable = c.wentBack(); r.stable != "" {
		clear(r.outside)
		return r, nil // past T2 and T3
	}
	err = r.holdPartition()
	return r, err
}

// holdPartition is T2, in as many words.
func (r *rest) holdPartition() error {
	quantity := r.spec.Default().Strategy.Partition
	base := 0
	var candidates []string
	for _, name := range r.names {
		now, old := r.live(r.on[name])
		run, keep := r.outcome[name] == placement.Run, r.outcome[name] == placement.Keep
		if run || keep && (now || old) {
			base++
		}
		if !now && (run || keep) && (old || run && r.spec.Strategy.HoldRevision) {
			candidates = append(candidates, name)
		}
	}
	var err error
	if r.partition, err = intstr.GetScaledValueFromIntOrPercent(quantity, base, false); err != nil {
		return err
	}
	turn := func(name string) int {
		_, old := r.live(r.on[name])
		lost := 0
		if !old { // what is held comes before what was lost
			lost = 3
		}
		switch {
		case r.outcome[name] == placement.Keep:
			return lost
		case r.outside[name]:
			return lost + 1
		default:
			return lost + 2
		}
	}
	slices.SortFunc(candidates, func(a, b string) int { return cmp.Or(cmp.Compare(turn(a), turn(b)), cmp.Compare(a, b)) })
	for _, name := range candidates[:min(r.partition, len(candidates))] {
		r.held[name] = true
	}
	return nil
}

// live reports whether any of the pods that are neither marked nor finished is at the update revision, and whether any is
// not.
func (r *rest) live(pods []*corev1.Pod) (now, old bool) {
	for _, p := range pods {
		switch {
		case p.DeletionTimestamp != nil || lifecycle.Terminal(p):
		case r.current(p):
			now = true
		default:
			old = true
		}
	}
	return now, old
}

// current reports whether the pod is at the revision that its node is to end at, with the resources of the node.
func (r *rest) current(p *corev1.Pod) bool { return r.atTarget(p) && r.resourced(p) }

// atTarget reports whether the pod is at the update revision: its hash is that of a revision with the template's data,
// or it has none and its template generation is the set's (R2, R5). After a canary has failed it is the stable one.
func (r *rest) atTarget(p *corev1.Pod) bool {
	hash, labelled := p.Labels[appsv1.DefaultDaemonSetUniqueLabelKey]
	if r.stable != "" {
		return hash == r.stable
	}
	if !labelled {
		generation := r.spec.TemplateGeneration
		return generation != nil && p.Labels[rollout.TemplateGenerationLabel] == strconv.FormatInt(*generation, 10)
	}
	return slices.ContainsFunc(r.revisions, func(revision *appsv1.ControllerRevision) bool {
		return revision.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] == hash && objects.Holds(revision, &r.spec.Template)
	})
}

// runs tells what is wrong with the pods of a node that is to run one.
func (r *rest) runs(node string, pods []*corev1.Pod) error {
	if len(pods) == 0 && (r.leftEmpty() || r.unknown(node)) {
		return nil
	}
	if slices.ContainsFunc(pods, unreadable) && len(pods) <= 2 {
		return nil // beside a new one that does not become available the old one stays (M3)
	}
	if len(pods) != 1 {
		return fmt.Errorf("has %d pods instead of one", len(pods))
	}
	switch p := pods[0]; {
	case !r.current(p) && (!r.staysOutdated(node, p) || r.leaves(node, p)) && r.budgetLost() && lifecycle.Ready(p):
		return nil // it waits for its turn, or for room (B3), which do not come
	case !r.current(p) && !r.staysOutdated(node, p):
		return fmt.Errorf("has pod %s, which is outdated", p.Name)
	case p.DeletionTimestamp != nil:
		return fmt.Errorf("has pod %s, which is terminating", p.Name)
	case r.current(p) && !lifecycle.Available(p, r.spec.MinReadySeconds, r.now):
		return fmt.Errorf("has pod %s, which is not available", p.Name)
	case !lifecycle.Ready(p):
		return fmt.Errorf("has pod %s, which is held and not ready", p.Name)
	}
	if err := r.finished(pods[0]); err != nil {
		return fmt.Errorf("has pod %s, %w", pods[0].Name, err)
	}
	return nil
}

// unknown reports whether the node waits for a revision that may be one of those that cannot be read (T1).
func (r *rest) unknown(node string) bool {
	return r.spec.Strategy.HoldRevision && (r.held[node] || r.outside[node]) &&
		slices.ContainsFunc(r.Cluster.revisions, func(revision *appsv1.ControllerRevision) bool {
			_, err := history.Template(revision)
			return err != nil
		})
}

// anyUnknown reports whether any node waits, empty, for a revision that may be one of those that cannot be read (T1).
func (r *rest) anyUnknown() bool {
	return slices.ContainsFunc(r.names, func(name string) bool {
		return r.outcome[name] == placement.Run && len(r.on[name]) == 0 && r.unknown(name)
	})
}

// leftEmpty reports whether nodes may stay empty (T7): the history has no other revision, and enough nodes have a pod.
func (r *rest) leftEmpty() bool {
	if !r.spec.Strategy.PartitionedScaling || r.partition == 0 {
		return false
	}
	for _, revision := range r.Cluster.revisions {
		if !objects.Holds(revision, &r.spec.Template) {
			return false
		}
	}
	desired, updated := 0, 0
	for _, name := range r.names {
		if r.outcome[name] == placement.Run {
			desired++
			if now, _ := r.live(r.on[name]); now {
				updated++
			}
		}
	}
	return updated >= desired-r.partition
}

// staysOutdated reports whether the rules hold a node at another revision.
func (r *rest) staysOutdated(node string, p *corev1.Pod) bool {
	return r.held[node] || r.outside[node] || r.drains(node) || r.spec.Strategy.Method == inplace.Only && r.obstructed(p)
}

// leaves reports whether the pod goes on its way out through its hook, whatever the method of updates is (L2).
func (r *rest) leaves(node string, p *corev1.Pod) bool {
	return lifecycle.StateOf(p) == lifecycle.PreparingDelete && !r.held[node] && !r.outside[node]
}

// budgetLost reports whether nodes that will never be available have used up the budget.
func (r *rest) budgetLost() bool {
	limit, lost := r.spec.Default().Strategy.MaxUnavailable, r.lost()
	if surge := r.spec.Strategy.MaxSurge; surge != nil {
		limit, lost = surge, r.lostPlaces()
	}
	most, err := intstr.GetScaledValueFromIntOrPercent(limit, r.desired(), true)
	return err == nil && most > 0 && lost >= most
}

func (r *rest) desired() int {
	desired := 0
	for _, outcome := range r.outcome {
		if outcome == placement.Run {
			desired++
		}
	}
	return desired
}

// lost counts the nodes that use up budget for ever: they stay empty, or nobody knows how to make their pods Ready again.
func (r *rest) lost() int {
	lost := 0
	for _, name := range r.names {
		run, alone := r.outcome[name] == placement.Run, r.leftAlone(name) && !slices.ContainsFunc(r.on[name], serves)
		if run && (len(r.on[name]) == 0 || alone) || alone && r.holdsNew(name) {
			lost++
		} else if r.outcome[name] != placement.Leave && slices.ContainsFunc(r.on[name], func(p *corev1.Pod) bool {
			// One of the update revision is taken for incomplete, and one that is being prepared does not serve either (B2).
			return unreadable(p) && (r.current(p) || !lifecycle.Ready(p) || lifecycle.StateOf(p) == lifecycle.PreparingUpdate)
		}) {
			lost++
		}
	}
	return lost
}

// serves reports whether the pod is Ready, and no hook has been asked to let it go: on a node that is left alone it stays so.
func serves(p *corev1.Pod) bool {
	return lifecycle.Ready(p) && lifecycle.StateOf(p) != lifecycle.PreparingDelete
}

// lostPlaces counts the nodes that hold a place of maxSurge for ever: a new pod that is not available stays there (M8).
func (r *rest) lostPlaces() int {
	lost := 0
	for _, name := range r.names {
		if r.leftAlone(name) && r.holdsNew(name) {
			lost++
		}
	}
	return lost
}

// holdsNew reports whether the node has a new pod that is not available.
func (r *rest) holdsNew(name string) bool {
	return slices.ContainsFunc(r.on[name], func(p *corev1.Pod) bool {
		return r.current(p) && !lifecycle.Available(p, r.spec.MinReadySeconds, r.now)
	})
}

func unreadable(p *corev1.Pod) bool {
	return p.DeletionTimestamp == nil && slices.ContainsFunc(inplace.Completed(p).Waits, func(w inplace.UpdateWait) bool {
		return w.Code == inplace.UnreadableState
	})
}

// obstructed reports whether the pod cannot be updated in place, whatever the reason (I1, I2, I3).
func (r *rest) obstructed(p *corev1.Pod) bool {
	if slices.ContainsFunc(r.refused, func(patch rollout.RefusedPatch) bool { return patch.UID == p.UID }) {
		return true
	}
	if inplace.Obstruct(p) != 0 || r.atTarget(p) { // for overridden resources pods are made anew
		return true
	}
	hash := p.Labels[appsv1.DefaultDaemonSetUniqueLabelKey]
	var found *corev1.PodTemplateSpec
	for _, revision := range r.Cluster.revisions {
		if revision.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] != hash {
			continue
		}
		template, err := history.Template(revision)
		if err != nil || found != nil {
			return true // unknown, or more than one
		}
		found = template
	}
	return !inplace.Compare(found, &r.spec.Template, r.spec.Strategy.InPlace).InPlace()
}

// heldEnough is V5, seen from the end: of the nodes that the partition could hold at the beginning as many are outdated
// still. Requests that a lagging watch does not show yet were decided before.
func (r *rest) heldEnough(begin rollout.Snapshot) error {
	if r.behavior.Lag > 0 || r.partition == 0 {
		return nil
	}
	before := map[string][]*corev1.Pod{}
	for _, p := range begin.Pods {
		if node, ok := placement.TargetNode(p); ok {
			before[node] = append(before[node], p)
		}
	}
	could, outdated, empty := 0, 0, 0
	for _, name := range r.names {
		if r.outcome[name] == placement.Leave {
			continue
		}
		if now, old := r.live(r.on[name]); old && !now {
			outdated++
		}
		now, old := r.live(before[name])
		if !now && slices.ContainsFunc(before[name], r.mayBeHeld) {
			could++
		}
		if !now && !old && r.spec.Strategy.HoldRevision {
			empty++ // such a node takes a place, whatever comes back there
		}
	}
	if want := min(r.partition, could) - empty; outdated < want {
		return fmt.Errorf("%d nodes are outdated, of which the partition should hold %d", outdated, want)
	}
	return nil
}

// mayBeHeld leaves out pods that are on their way out in any case.
func (r *rest) mayBeHeld(p *corev1.Pod) bool {
	return p.Spec.NodeName != "" && p.DeletionTimestamp == nil && !lifecycle.Terminal(p) && !r.current(p) &&
		lifecycle.StateOf(p) != lifecycle.PreparingDelete
}
