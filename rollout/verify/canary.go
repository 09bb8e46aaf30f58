package verify

import (
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/history"
)

// judgedCanary is what the verifier finds out about the trial by itself: what is on record, which commands count, and which
// nodes are the canary's. What it cannot know for certain it does not hold against the plan.
type judgedCanary struct {
	*verifier
	options canary.Options // with defaults
	object  *appsv1.ControllerRevision
	// record of the trial of this very revision; the zero value if there is none, or if it begins anew.
	record canary.Record
	// fresh: there is no such record.
	fresh bool
	// known: the revision needs no trial. promoted and failed: that is on record. retried: a fail is, but is taken back, by this
	// plan or by the one before that promoted the revision.
	known, promoted, failed, retried      bool
	pause, unpause, validate, fail, retry bool
	chosen                                map[string]bool // the nodes chosen before
	candidates                            []*node
	wanted                                int
	// canaries are the nodes of the canary; not certain: others join them, and nobody can tell which.
	canaries []*node
	certain  bool
}

// checkTrial judges what the plan says of the trial (C1 to C6).
func (v *verifier) checkTrial() {
	trial := &v.plan.Canary
	if v.spec.Strategy.Canary == nil || v.failed.givenUp {
		if trial.Phase != canary.Idle || len(trial.Nodes) > 0 || trial.Wanted != 0 || len(trial.Stale) > 0 ||
			!trial.Until.IsZero() {
			v.report(12, "", "C1: canary %s with nodes %q, right is none: the spec asks for none", trial.Phase, trial.Nodes)
		}
		return
	}
	if trial.Phase > canary.Failed {
		v.report(12, "", "canary with an unknown phase (code %d)", uint8(trial.Phase))
		return
	}
	if trial.Revision != v.plan.Status.UpdateRevision || trial.Stable != v.trial.stable {
		v.report(12, "", "C6: canary of revision %q with the stable revision %q, right are %q and %q", trial.Revision,
			trial.Stable, v.plan.Status.UpdateRevision, v.trial.stable)
	}
	v.judged.checkStale()
	v.judged.checkCanaryNodes()
	v.judged.checkPhase()
	v.judged.checkRecord()
	v.judged.checkVerdict()
}

func (v *verifier) observeCanary() *judgedCanary {
	c := &judgedCanary{verifier: v, options: *v.spec.Strategy.Canary, object: v.history.update}
	c.record = v.remembered.Canary
	if c.record.Revision != v.plan.Status.UpdateRevision || v.failed.retries { // then it is tried as if it were new (F3)
		c.record, c.fresh = canary.Record{}, true
	}
	c.observeCommands()
	c.observeVerdict()
	c.chosen = v.chosenBefore()
	c.observeCanaryNodes()
	return c
}

// observeCommands tells which commands name the update revision (C5).
func (c *judgedCanary) observeCommands() {
	hash, commands := c.plan.Status.UpdateRevision, c.options.Commands
	name := c.spec.Name + "-" + hash
	if c.object != nil {
		name = c.object.Name
	}
	names := func(command string) bool {
		return command != "" && (command == canary.Any || command == hash || command == name)
	}
	revived, _, _ := strings.Cut(commands.Retry, "/")
	c.pause, c.unpause, c.validate, c.fail, c.retry = names(commands.Pause), names(commands.Unpause),
		names(commands.Validate), names(commands.Fail), names(revived)
}

// observeVerdict finds what is on record about the revision (C6). A retry that is not on record wipes a fail out (C5).
func (c *judgedCanary) observeVerdict() {
	var annotations map[string]string
	if c.object != nil && !c.verifier.failed.retries {
		annotations = c.object.Annotations
	}
	c.promoted = c.history.promoted // a duplicate of it may have been, too
	_, c.failed = annotations[history.FailedAnnotation]
	if verdict := c.record.Verdict; verdict != nil {
		c.promoted = c.promoted || verdict.Phase == canary.Idle
		c.failed = c.failed || verdict.Phase == canary.Failed
	}
	c.known = c.trial.before[c.plan.Status.UpdateRevision]
	c.retried = c.retry && c.failed && !c.history.promoted && annotations[history.RetriedAnnotation] != c.options.Commands.Retry
	if c.retried && !c.promoted {
		c.record, c.fresh = canary.Record{}, true
	}
}

// chosenBefore are the canary nodes that are remembered, or if none is, those on which a live pod carries the label.
func (v *verifier) chosenBefore() map[string]bool {
	chosen := setOfNames(v.remembered.Canary.Nodes)
	if len(chosen) > 0 {
		return chosen
	}
	for _, node := range v.nodes {
		if node.any(func(p *pod) bool { return p.active() && p.object.Labels[rollout.CanaryLabel] != "" }) {
			chosen[node.name] = true
		}
	}
	return chosen
}

func setOfNames(names []string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, name := range names {
		set[name] = true
	}
	return set
}

// canaryCandidates are the nodes that may be canary nodes (C1): they run the pod, T3 lets them go, and the canary's own
// selector matches them. One that was chosen and may only keep its pod by now stays, if that is of the revision and not
// available, or the node is not ready: the revision may have broken it. A departing or drained one may not, unless it has the
// revision, and one that does not declare what the revision needs may not.
func (c *judgedCanary) canaryCandidates() []*node {
	broken := func(node *node) bool {
		tried := func(p *pod) bool { return p.active() && p.atUpdate && p.ran(node) }
		return node.tried == placement.Keep && c.chosen[node.name] && node.any(tried) &&
			(isDown(node.object) || !node.any(func(p *pod) bool { return tried(p) && p.settled() }))
	}
	var candidates []*node
	spared, wanted := selects(c.spec.Strategy.NodeSelector), selects(c.options.NodeSelector)
	for _, node := range c.nodes {
		if (node.leftAlone || node.drained) && !node.carriesUpdate() || node.undeclared {
			continue // it would not be begun (M8), or could not run the pod (T9)
		}
		if (node.tried == placement.Run || broken(node)) && spared(node.object.Labels) && wanted(node.object.Labels) {
			candidates = append(candidates, node)
		}
	}
	return candidates
}

// observeCanaryNodes finds the nodes of the canary: those chosen before, also for another revision, as long as they are
// candidates. If they are too many, those that are updated stay, then those that come first (C1).
func (c *judgedCanary) observeCanaryNodes() {
	c.candidates = c.canaryCandidates()
	c.wanted = c.wantedNodes()
	if c.onTrial() {
		c.canaries, c.certain = c.trial.nodes, true
		return
	}
	for _, node := range c.candidates {
		if c.chosen[node.name] {
			c.canaries = append(c.canaries, node)
		}
	}
	if len(c.canaries) > c.wanted {
		slices.SortStableFunc(c.canaries, func(a, b *node) int { return trueFirst(a.carriesUpdate(), b.carriesUpdate()) })
		c.canaries = c.canaries[:c.wanted]
	}
	c.certain = len(c.canaries) == min(c.wanted, len(c.candidates))
}

// carriesUpdate reports whether the node has a live pod of the update revision, or one is asked for.
func (n *node) carriesUpdate() bool {
	return n.asksUpdated || n.any(func(p *pod) bool { return p.active() && p.atUpdate })
}

// wantedNodes is the number of canary nodes that there should be (C1): at least one, no more than run the revision on trial,
// and a percentage below 100 leaves one out, unless there is only one.
func (v *verifier) wantedNodes() int {
	desired := 0
	for _, node := range v.nodes {
		if node.tried == placement.Run {
			desired += node.weight
		}
	}
	replicas, most := v.spec.Strategy.Canary.Replicas, desired
	if replicas.StrVal != "" && replicas.StrVal != "100%" {
		most--
	}
	return max(1, min(ofDesired(replicas, desired, 99), most))
}

// isDown reports whether the node is not ready, or unreachable.
func isDown(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status != corev1.ConditionTrue
	}) || slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == corev1.TaintNodeUnreachable })
}

// checkStale is C5: commands that name another revision are reported.
func (c *judgedCanary) checkStale() {
	var stale []string
	for _, command := range []struct {
		verb, value string
		counts      bool
	}{
		{"pause", c.options.Commands.Pause, c.pause},
		{"unpause", c.options.Commands.Unpause, c.unpause},
		{"validate", c.options.Commands.Validate, c.validate},
		{"fail", c.options.Commands.Fail, c.fail},
		{"retry", c.options.Commands.Retry, c.retry},
	} {
		if command.value != "" && !command.counts {
			stale = append(stale, command.verb+" "+command.value)
		}
	}
	if !slices.Equal(c.plan.Canary.Stale, stale) {
		c.report(12, "", "C5: stale commands are %q, right are %q", c.plan.Canary.Stale, stale)
	}
}

// checkCanaryNodes is C1.
func (c *judgedCanary) checkCanaryNodes() {
	names := c.plan.Canary.Nodes
	if !c.onTrial() {
		if len(names) > 0 {
			c.report(12, "", "C1: canary nodes %q, although nothing is on trial (%s)", names, c.trial.phase)
		}
		return
	}
	if int(c.plan.Canary.Wanted) != c.wanted {
		c.report(12, "", "C1: %d canary nodes are wanted, right are %d", c.plan.Canary.Wanted, c.wanted)
	}
	fit := make(map[string]bool)
	remembered := 0
	for _, node := range c.candidates {
		fit[node.name] = true
		if c.chosen[node.name] {
			remembered++
		}
	}
	for i, name := range names {
		switch {
		case !fit[name]:
			c.report(6, name, "C1: canary node that does not run the pod, or that a selector leaves out")
		case i > 0 && names[i-1] >= name:
			c.report(12, name, "C1: canary node after %s, right are nodes in ascending order, each once", names[i-1])
		}
	}
	right := min(c.wanted, len(c.candidates))
	switch {
	case len(names) > right:
		c.report(6, "", "C1: %d canary nodes, right are at most %d", len(names), right)
	case len(names) < right:
		c.report(12, "", "C1: %d canary nodes, right are %d", len(names), right)
	}
	stay, named := 0, setOfNames(names)
	for _, node := range c.candidates {
		switch {
		case !c.chosen[node.name]:
		case named[node.name]:
			stay++
		case remembered <= c.wanted:
			c.report(6, node.name, "C1: a canary node that was chosen before and is still fit is given up")
		}
	}
	if remembered > c.wanted && stay < len(names) {
		c.report(6, "", "C1: only %d of %d canary nodes were chosen before, although enough of those are still fit", stay,
			len(names))
	}
}

// checkPhase is C2 to C6: what is on record and the commands leave no choice; else the pods and the clock must give a
// reason for what the plan says.
func (c *judgedCanary) checkPhase() {
	phase := c.trial.phase
	wrong := func(invariant int, right, why string) {
		c.report(invariant, "", "C5, C6: canary is %s (%s), right is %s: %s", phase, c.plan.Canary.Reason, right, why)
	}
	idle, failed := phase == canary.Idle, phase == canary.Failed
	switch {
	case c.promoted || c.known && (!c.failed || c.retried):
		if !idle {
			wrong(12, "Idle", "the revision is promoted, or needs no canary")
		}
	case c.failed && !c.retried:
		if !failed {
			wrong(6, "Failed", "that is on record, and nobody has retried it")
		}
	case c.fail:
		if !failed {
			wrong(6, "Failed", "by command")
		}
	case c.validate:
		if !idle {
			wrong(12, "Idle", "validated by command")
		}
	case idle:
		if why := c.notPassed(); why != "" {
			wrong(6, "on trial", why)
		}
	case failed:
		if !c.mayFail() {
			wrong(12, "on trial", "nothing shows that it has failed")
		}
	case phase == canary.Running:
		if why := c.mustRest(); why != "" {
			wrong(6, "Paused or Failed", why)
		}
	default:
		if !c.mayPause() {
			wrong(12, "Running", "nothing shows that it is to rest")
		}
	}
}

// checkVerdict is C6: what was decided is remembered, and written on the revision as soon as that is there.
func (c *judgedCanary) checkVerdict() {
	phase, record := c.trial.phase, c.plan.Memory.Canary
	key := history.PromotedAnnotation
	switch phase {
	case canary.Failed:
		key = history.FailedAnnotation
	case canary.Idle:
		if c.spec.Strategy.Frozen && len(c.snapshot.Revisions) == 0 && c.trial.stable == c.plan.Status.UpdateRevision {
			return // a first revision that is not written is nothing to go back to (T4)
		}
	default:
		return
	}
	if c.object != nil && !c.retried {
		if _, seen := c.object.Annotations[key]; seen {
			return
		}
	}
	if verdict := record.Verdict; record.Revision != c.plan.Status.UpdateRevision || verdict == nil || verdict.Phase != phase {
		c.report(12, "", "C6: memory forgets that the canary is %s", phase)
	}
	if f := &c.verifier.failed; f.retries || f.givesUp { // F3: that verdict counts more
		return
	}
	if c.object == nil || c.history.asked[c.object.Name] {
		return
	}
	if !slices.ContainsFunc(c.plan.Revisions, func(action rollout.RevisionAction) bool {
		_, sets := action.Annotations[key]
		return action.Verb == rollout.AnnotateRevision && action.Name == c.object.Name && sets
	}) {
		c.report(12, "", "C6: nothing writes %s on revision %s, right is to mark it: the canary is %s", key, c.object.Name, phase)
	}
}

// earliest is the earlier of two instants.
func earliest(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
