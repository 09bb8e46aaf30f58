package judge

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/rollout/history"
	"github.com/daemonplan/daemonplan/rollout/stage"
)

// part is what is opened at once (T8): its stage's place in the list, whose length stands for the nodes that no stage selects.
type part struct {
	stage int
	value string
}

func (v *view) partOf(n *seenNode) part {
	stages := v.policy().Stages
	for i := range stages {
		if s := &stages[i]; selects(s.Selector, n.Labels) {
			if s.Key == "" {
				return part{stage: i}
			}
			return part{i, n.Labels[s.Key]}
		}
	}
	return part{stage: len(stages)}
}

// compare is the order in which parts are opened: integers by number, then texts, nodes without the label at the end. The values
// of these worlds are small.
func (p part) compare(other part) int {
	rank := func(value string) (int, uint64) {
		number, err := strconv.ParseUint(value, 10, 64)
		switch {
		case value == "":
			return 2, 0
		case err != nil:
			return 1, 0
		}
		return 0, number
	}
	kind, number := rank(p.value)
	otherKind, otherNumber := rank(other.value)
	return cmp.Or(cmp.Compare(p.stage, other.stage), cmp.Compare(kind, otherKind), cmp.Compare(number, otherNumber),
		cmp.Compare(p.value, other.value))
}

// crew is how the nodes of a part stand, with the benefit of the doubt.
type crew struct {
	part
	of                stage.Stage
	nodes, held       int
	runs              int // nodes that are to run the pod, also those that depart
	settled           int
	behind, disturbed []*seenNode
	// silent is how many say nothing for now: they depart, or a taint is in the way of a pod that could run there.
	silent int
	// doubtful is how many nodes are not settled for certain.
	doubtful int
}

// crews of all parts with nodes, in the order in which they are opened.
func (v *view) crews() []*crew {
	byPart := map[part]*crew{}
	for _, n := range v.nodes {
		p := v.partOf(n)
		c := byPart[p]
		if c == nil {
			c = &crew{part: p}
			if stages := v.policy().Stages; p.stage < len(stages) {
				c.of = stages[p.stage]
			}
			byPart[p] = c
		}
		v.enter(n, c)
	}
	var list []*crew
	for _, c := range byPart {
		list = append(list, c)
	}
	slices.SortFunc(list, func(a, b *crew) int { return a.compare(b.part) })
	return list
}

// enter counts a node in its part.
func (v *view) enter(n *seenNode, c *crew) {
	fresh := func(p *seenPod) bool { return v.isFresh(p) && !p.asked }
	there := n.first(fresh)
	settled := n.first(func(p *seenPod) bool { return fresh(p) && available(p.Pod, v.spec.MinReadySeconds, v.now) })
	if n.verdict == runs {
		c.runs++
	}
	if n.verdict != runs || settled == nil || !settled.available || !normal(settled.Pod) || v.overrides() {
		c.doubtful++
	}
	switch {
	case n.departs && selects(v.spec.Strategy.NodeSelector, n.Labels):
		if n.verdict != leave || v.isTaintedAway(n) {
			c.silent++
		}
	case n.verdict == keep && there != nil && settled == nil && !there.requested && !ended(there.Pod) &&
		there.Spec.NodeName != "" && !v.overrides():
		c.disturbed = append(c.disturbed, n)
	case n.verdict != runs:
		if v.isTaintedAway(n) {
			c.silent++
		}
	default:
		c.nodes++
		switch {
		case !selects(v.spec.Strategy.NodeSelector, n.Labels):
			c.held++
		case settled != nil:
			c.settled++
		case there != nil || slices.Contains(n.asked, v.update):
			c.disturbed = append(c.disturbed, n)
		case v.spec.Strategy.Method == "InPlaceOnly": // it may be one that nothing can update (I1)
			c.silent++
		case v.isOutOfReach(n):
			c.disturbed = append(c.disturbed, n)
		default:
			c.behind = append(c.behind, n)
		}
	}
}

// isFresh reports whether the pod is a live one of the update revision.
func (v *view) isFresh(p *seenPod) bool {
	return live(p.Pod) && hashOf(p.Pod) == v.update && !ofPredecessor(p.Pod, &v.spec)
}

// isTaintedAway reports whether the node would run the pod but for its taints, and the node selector of the strategy selects it.
func (v *view) isTaintedAway(n *seenNode) bool {
	untainted := n.DeepCopy()
	untainted.Spec.Taints = nil
	return verdictOn(&v.spec.Template, untainted) == runs && selects(v.spec.Strategy.NodeSelector, n.Labels)
}

// isOutOfReach reports whether the node is unreachable, or a pod there should be gone by now.
func (v *view) isOutOfReach(n *seenNode) bool {
	unreachable := slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool {
		return t.Key == corev1.TaintNodeUnreachable
	}) ||
		slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
			return c.Type == corev1.NodeReady && c.Status == corev1.ConditionUnknown
		})
	return unreachable || n.first(func(p *seenPod) bool {
		return !p.requested && p.DeletionTimestamp != nil && !p.DeletionTimestamp.After(v.now)
	}) != nil
}

// skipped reports whether the part has no nodes that the rollout is for. A part after which there is nothing is as good as
// skipped if taints keep all of its nodes from having a pod.
func (v *view) skipped(c *crew) bool {
	return c.nodes <= c.held && len(c.disturbed)+c.silent == 0
}

// done reports whether the part may be.
func (v *view) done(c *crew) bool {
	behind, _ := v.counting(c.behind)
	away, _ := v.counting(slices.Concat(c.behind, c.disturbed))
	return c.settled > 0 && behind == 0 && away <= rounded(c.of.Tolerance, c.settled+len(c.behind)+len(c.disturbed), false)
}

// names reports whether a text is the hash of the update revision or its name.
func (v *view) names(text string) bool {
	return text != "" && (text == v.update || text == v.revisions[v.update].name)
}

// allOpen reports whether no part is closed: there are no stages, nothing was rolled out before, or the revision is expedited.
func (v *view) allOpen() bool {
	policy := v.policy()
	if len(policy.Stages) == 0 || policy.Expedite == "*" || v.names(policy.Expedite) {
		return true
	}
	other := func(p *seenPod) bool { return !p.requested && live(p.Pod) && !v.isFresh(p) }
	for _, n := range v.nodes {
		if n.first(other) != nil {
			return false
		}
	}
	return len(v.revisions) == 1
}

func (v *view) approved(c *crew) bool {
	return !c.of.Approval || slices.ContainsFunc(v.policy().Approved, func(a stage.Approval) bool {
		return a.Stage == c.of.Name && (a.Value == "" || a.Value == c.value) && v.names(a.Revision)
	})
}

// reached is the last part that may be done, by the name of its stage and its value, and since when; zero: there is none.
type reached struct {
	name, value string
	at          time.Time
}

// staging is how far the rollout of the update revision is at most (T8).
type staging struct {
	update string
	// name and value of the last part that may be done, since at; zero: there is none.
	name, value string
	at          time.Time
	// before is the same, as it was at the last look without a trial.
	before reached
	// completes: all parts may have been done at a look. marked: the revision was marked as completed at the last one.
	completes, marked bool
}

// place of the last part that is done; false: there is none, or its stage is gone.
func (s *staging) place(v *view) (part, bool) {
	stages := v.policy().Stages
	switch i := slices.IndexFunc(stages, func(of stage.Stage) bool { return of.Name == s.name }); {
	case s.at.IsZero():
		return part{}, false
	case s.name == "":
		return part{len(stages), s.value}, true
	default:
		return part{i, s.value}, i >= 0
	}
}

func (s *staging) advance(c *crew, now time.Time) { s.name, s.value, s.at = c.of.Name, c.value, now }

// soaked is when the last part that is done has soaked.
func (s *staging) soaked(v *view) time.Time {
	if at, known := s.place(v); known && at.stage < len(v.policy().Stages) {
		return s.at.Add(v.policy().Stages[at.stage].Soak)
	}
	return time.Time{}
}

// look goes on from the part that was done last.
func (s *staging) look(j *Judge) {
	v := j.view
	marked := j.marked(v.update, history.CompletedAnnotation)
	if s.update != v.update {
		*s = staging{update: v.update, marked: marked}
	}
	if marked && !s.marked && !s.completes && v.update != "" {
		j.find(Stage, "", nil, "revision %s was marked as completed, and not all parts of stages were done", v.update)
	}
	if s.marked = marked; v.update == "" {
		return
	}
	if s.at.After(v.now) { // the clock was set back
		s.at = v.now
	}
	crews := v.crews()
	// Stages begin when the trial ends, which the next plan may find. Once it has, the plan that found it was the first one.
	tried := v.trial && !j.marked(v.update, history.PromotedAnnotation)
	if tried { // what was done before the trial began stays so
		s.name, s.value, s.at = s.before.name, s.before.value, s.before.at
	}
	if _, known := s.place(v); !known {
		s.name, s.value, s.at = "", "", time.Time{}
	}
	s.passAll(v, crews, func(c *crew) bool { return v.allOpen() || !s.soaked(v).After(v.now) && v.approved(c) })
	if !tried {
		s.before = reached{s.name, s.value, s.at}
	}
	left := func(c *crew) bool {
		barred := c.nodes <= c.held && len(c.disturbed) == 0 && c.settled == 0 // what taints bar at the end keeps nothing waiting
		return !s.passed(v, c) && !barred
	}
	s.completes = s.completes || !slices.ContainsFunc(crews, left)
}

// passed reports whether the part is done or skipped.
func (s *staging) passed(v *view, c *crew) bool {
	at, known := s.place(v)
	return known && c.compare(at) <= 0 || v.skipped(c)
}

// passAll goes past the parts that are done, as long as they are such.
func (s *staging) passAll(v *view, crews []*crew, such func(*crew) bool) {
	for _, c := range crews {
		switch {
		case s.passed(v, c):
		case such(c) && v.done(c):
			s.advance(c, v.now)
		default:
			return
		}
	}
}

// inStages reports whether stages may keep nodes waiting.
func (j *Judge) inStages() bool {
	v := j.view
	return v.update != "" && !v.allOpen() && !v.trial && !v.revisions[v.update].completed && !v.revisions[v.update].failed
}

// serveNobody reports whether the pod may go although its node's part is not open: its revision never was everywhere, and it does
// not serve, or is of one that has failed (P-E). Who serves is not moved back.
func (j *Judge) serveNobody(p *seenPod) bool {
	of := j.view.revisions[hashOf(p.Pod)]
	return j.inStages() && of != nil && !of.completed && (of.failed || !ready(p.Pod))
}

// judgeOpen judges a node that gets the update revision, or whose update is begun: its part was open (V20), and the one before
// had soaked (V21). Who asks knows that it is none that has the revision already.
func (j *Judge) judgeOpen(w *write, what string) {
	v, s := j.view, &j.staging
	if !j.inStages() || w.node.verdict != runs {
		return
	}
	crews := v.crews()
	own := crews[slices.IndexFunc(crews, func(c *crew) bool { return c.part == v.partOf(w.node) })]
	if s.passed(v, own) { // of a part that is skipped nothing is held back (T1)
		return
	}
	at, _ := s.place(v)
	for _, c := range crews {
		if c.compare(own.part) < 0 && !s.passed(v, c) {
			j.find(Stage, w.node.Name, w.pod, "%s in part %q of stage %d, and part %q of stage %d is not done: "+
				"%d settled, %d behind, %d unavailable", what, own.value, own.stage, c.value, c.stage,
				c.settled, len(c.behind), len(c.disturbed))
			return
		}
	}
	if until := s.soaked(v); until.After(v.now) {
		j.find(Soak, w.node.Name, w.pod, "%s in part %q of stage %d, and part %q of stage %d soaks until %s",
			what, own.value, own.stage, at.value, at.stage, until.UTC().Format(time.TimeOnly))
	}
	if !v.approved(own) {
		j.find(Stage, w.node.Name, w.pod, "%s in part %q of stage %d, which is not approved", what, own.value, own.stage)
	}
}

// surelyOpen are the parts that are open for certain: all before them are done.
func (v *view) surelyOpen() map[part]bool {
	open := map[part]bool{}
	for _, c := range v.crews() {
		if !v.approved(c) {
			break
		}
		open[c.part] = true
		if c.doubtful > 0 || c.settled == 0 {
			break
		}
	}
	return open
}
