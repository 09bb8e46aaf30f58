package stock

import (
	"cmp"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/status"
)

// What the controller decides about the set: which replica set is active, which is on trial, and on which nodes.

// elect gives replica sets their roles. A call in which a replica set is created does nothing else.
func (s *extendedRound) elect() {
	s.active = s.replicaSets[s.memory.Rollout.Revision]
	update := s.replicaSets[s.hash]
	if update == nil {
		s.goOn()
		return
	}
	if s.memory.Rollout.Revision == "" {
		s.active = s.established(update)
	}
	if _, s.restored = update.handled[templateRestored]; s.restored && s.active != nil && s.active != update {
		return
	}
	s.restored = false
	before := s.canary
	if s.canary.Revision != s.hash {
		s.canary = canary.Record{Revision: s.hash, Nodes: s.canary.Nodes}
	}
	switch {
	case s.active == nil:
		s.activate(update, canary.FirstInstallation)
	case s.active == update, s.spec.Strategy.Canary == nil:
		s.activate(update, canary.Stable)
	case s.validated(update):
		s.activate(update, canary.Validated)
	case !s.paused() && s.isOver(update):
		s.activate(update, canary.Promoted)
	case s.failed():
		s.restored, s.canary.Nodes = true, nil
		update.handled[templateRestored] = s.now
	case !s.try(update):
		s.canary, s.unable = before, true
		s.goOn()
	}
}

// goOn leaves the replica set on trial that was so before.
func (s *extendedRound) goOn() {
	if r := s.replicaSets[s.canary.Revision]; r != s.active && !s.canary.Began.IsZero() {
		s.trial = r
	}
}

// activate makes the replica set the active one. Nothing is on trial then. One that has failed and is promoted all the same,
// because its canary is over, still counts as failed in the status.
func (s *extendedRound) activate(r *replicaSet, because canary.PhaseReason) {
	s.because = because
	if s.active != r || s.memory.Rollout.Revision != r.hash {
		s.memory.Rollout = rollout.Record{Revision: r.hash}
	}
	s.active, s.canary = r, canary.Record{Revision: r.hash, Verdict: s.canary.Verdict}
}

// established returns the replica set that is active although the memory was lost, or that was so before there was one: the one
// of which there are most pods. It is the given one if more nodes have its pods than a canary would, and nil if there are no
// pods.
func (s *extendedRound) established(update *replicaSet) *replicaSet {
	pods := make(map[string]int32)
	for _, n := range s.nodes {
		for _, pod := range n.pods {
			pods[pod.Labels[appsv1.DefaultDaemonSetUniqueLabelKey]]++
		}
	}
	options := s.spec.Strategy.Canary
	if options == nil || pods[update.hash] > canary.Size(*options, int32(len(s.nodes))) {
		return update
	}
	var best *replicaSet
	for _, r := range s.replicaSets {
		if r == update || pods[r.hash] == 0 {
			continue
		}
		if best == nil || cmp.Or(cmp.Compare(pods[r.hash], pods[best.hash]), strings.Compare(r.hash, best.hash)) > 0 {
			best = r
		}
	}
	if best == nil {
		return nil
	}
	s.memory.Rollout = rollout.Record{Revision: best.hash, Began: best.created}
	return best
}

// commands are those of the canary; there are none without a canary.
func (s *extendedRound) commands() canary.Commands {
	if s.spec.Strategy.Canary == nil {
		return canary.Commands{}
	}
	return s.spec.Strategy.Canary.Commands
}

func (s *extendedRound) failed() bool { return s.canary.Verdict != nil || s.commands().Fail != "" }

func (s *extendedRound) failReason() canary.PhaseReason {
	if s.canary.Verdict != nil {
		return s.canary.Verdict.Reason
	}
	return canary.ByCommand
}

func (s *extendedRound) paused() bool { return s.canary.Pause != nil || s.commands().Pause != "" }

// validated reports whether the command to validate names the replica set.
func (s *extendedRound) validated(r *replicaSet) bool {
	name := s.commands().Validate
	return name != "" && (name == r.name || name == r.hash || name == canary.Any)
}

// isOver reports whether the canary has lasted long enough, since the replica set was created and since a pod last restarted.
// What ran meanwhile does not matter, and neither does whether the canary has failed. A canary of no duration is never over by
// the clock while no pod has restarted.
func (s *extendedRound) isOver(r *replicaSet) bool {
	options := s.spec.Strategy.Canary.Default()
	if options.Mode == canary.Manual || *options.Duration == 0 && s.canary.Restarted.IsZero() {
		return false
	}
	created := r.created
	if created.IsZero() { // the API server gives one to all
		created = s.now
		if !s.canary.Began.IsZero() {
			created = s.canary.Began
		}
	}
	end := created.Add(*options.Duration)
	if last := s.canary.Restarted; !last.IsZero() {
		if calm := last.Add(*options.NoRestartsDuration); calm.After(end) {
			end = calm
		}
	}
	if end.Before(s.now) {
		return true
	}
	s.wakeAt(end.Add(1)) // at the very instant it is not over yet
	return false
}

// try puts the replica set on trial, on more nodes if there are not as many as there are to be. It reports whether enough were
// found.
func (s *extendedRound) try(r *replicaSet) bool {
	options := s.spec.Strategy.Canary.Default()
	wanted := int(scaled(options.Replicas, s.desiredNodes()))
	nodes := s.canary.Nodes
	if wanted != len(nodes) {
		nodes = s.choose(r, options, wanted)
		if len(nodes) < wanted {
			return false
		}
	}
	s.trial = r
	s.canary.Nodes = nodes
	if s.canary.Began.IsZero() {
		s.canary.Began = s.now
	}
	return true
}

// desiredNodes is how many nodes are desired, of which the number of canary nodes is a percentage: by the stored status, or else
// now.
func (s *extendedRound) desiredNodes() (nodes int32) {
	if s.stored != nil {
		return *s.stored
	}
	for _, n := range s.nodes {
		nodes += count(s.active.fits(n.object))
	}
	return nodes
}

// choose adds nodes to those of the canary: the ones where pods have restarted least, of equal ones any. With anti-affinity each
// value of the labels has an equal share, which nodes use up that do not run the pod, too. Nodes that run it no more are left
// out.
func (s *extendedRound) choose(r *replicaSet, options canary.Options, wanted int) []string {
	selector, err := metav1.LabelSelectorAsSelector(options.NodeSelector)
	if options.NodeSelector == nil || err != nil {
		selector = labels.Everything()
	}
	var candidates []*node
	kept := slices.Clone(s.canary.Nodes)
	used := make(map[string]int)
	for _, n := range s.nodes {
		if n.object == nil || !selector.Matches(labels.Set(n.object.Labels)) {
			continue
		}
		value := shared(n, options)
		used[value] += 0
		switch i := slices.Index(kept, n.name); {
		case i < 0:
			candidates = append(candidates, n)
		case r.fits(n.object):
			used[value]++
		default:
			kept, candidates = slices.Delete(kept, i, i+1), append(candidates, n)
		}
	}
	share := wanted
	if len(options.NodeAntiAffinityKeys) > 0 && len(used) > 0 {
		share = (wanted + len(used) - 1) / len(used)
	}
	shuffle(s.round, candidates)
	slices.SortStableFunc(candidates, func(a, b *node) int { return cmp.Compare(restarts(a), restarts(b)) })
	for _, n := range candidates {
		value := shared(n, options)
		if len(kept) >= wanted {
			break
		}
		if len(options.NodeAntiAffinityKeys) > 0 {
			if used[value] >= share {
				continue
			}
			used[value]++
		}
		if r.fits(n.object) {
			kept = append(kept, n.name)
		}
	}
	return kept
}

// shared is what nodes have in common over which the canary is spread.
func shared(n *node, options canary.Options) string {
	values := make([]string, len(options.NodeAntiAffinityKeys))
	for i, key := range options.NodeAntiAffinityKeys {
		values[i] = n.object.Labels[key]
	}
	return strings.Join(values, "$")
}

// restarts are those of the pods on the node, without those of init containers.
func restarts(n *node) (sum int64) {
	for _, pod := range n.pods {
		if pod.Spec.NodeName != n.name {
			continue
		}
		for i := range pod.Status.ContainerStatuses {
			sum += int64(pod.Status.ContainerStatuses[i].RestartCount)
		}
	}
	return sum
}

// keepRevisions leaves out of the plan that revisions are deleted which have a role, or whose trial failed a short time ago.
func (s *extendedRound) keepRevisions() {
	s.plan.Revisions = slices.DeleteFunc(s.plan.Revisions, func(a rollout.RevisionAction) bool {
		if a.Verb != rollout.DeleteRevision {
			return false
		}
		if s.replicaSets[s.hash] == nil {
			return true // the call that creates it does nothing else
		}
		for _, r := range s.replicaSets {
			if at, failed := r.handled[trialFailed]; r.name == a.Name {
				return r == s.active || r == s.trial || failed && s.now.Before(at.Add(failedStays))
			}
		}
		return false
	})
}

// running says what a trial waits for that goes on. The controller's clock runs all the same.
func (s *extendedRound) running() canary.PhaseReason {
	available := 0
	for _, n := range s.nodes {
		available += int(count(s.tried[n.name] && n.facts.Has(status.Available)))
	}
	switch {
	case len(s.canary.Nodes) == 0:
		return canary.NoNodes
	case available < len(s.canary.Nodes):
		return canary.Starting
	case s.spec.Strategy.Canary.Default().Mode == canary.Manual:
		return canary.AwaitingValidation
	default:
		return canary.Observing
	}
}

// reportTrial says in the plan how the trial stands.
func (s *extendedRound) reportTrial() {
	if s.spec.Strategy.Canary == nil || s.active == nil {
		return
	}
	trial := rollout.Canary{Revision: s.hash, Stable: s.active.hash}
	switch {
	case s.failed():
		trial.Phase, trial.Reason = canary.Failed, s.failReason()
		if s.canary.Verdict != nil {
			trial.Finding = *s.canary.Verdict
		}
	case s.trial == nil && (s.unable || s.replicaSets[s.hash] == nil): // it is not tried yet, and its clock runs all the same
		trial.Phase, trial.Reason = canary.Running, canary.Starting
		trial.Wanted = scaled(s.spec.Strategy.Canary.Default().Replicas, s.desiredNodes())
	case s.trial == nil:
		trial.Phase, trial.Reason = canary.Idle, cmp.Or(s.because, canary.Stable)
	default:
		trial.Nodes, trial.Wanted = slices.Sorted(slices.Values(s.canary.Nodes)), int32(len(s.canary.Nodes))
		trial.Revision = s.trial.hash
		trial.Phase, trial.Reason = canary.Running, s.running()
		if s.canary.Pause != nil {
			trial.Finding = *s.canary.Pause
		} else if s.paused() {
			trial.Phase, trial.Reason = canary.Paused, canary.ByCommand
		}
	}
	s.plan.Canary, s.stable = trial, s.active.hash
	s.trialStatus = status.Trial{Reason: trial.Reason.String(), Message: trial.Message()}
	switch trial.Phase {
	case canary.Idle: // nothing is on trial
	case canary.Running:
		s.trialStatus.State = status.Canary
	case canary.Paused:
		s.trialStatus.State = status.CanaryPaused
	case canary.Failed:
		s.trialStatus.State = status.CanaryFailed
	}
}
