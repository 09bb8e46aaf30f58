package verify

import (
	"cmp"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/stage"
)

// stageTerms are the stages of the policy (T8), with their selectors read.
type stageTerms []struct {
	stage.Stage
	selector labels.Selector
}

// part is what is opened at once: the nodes of a stage, or with a key those of one value. The number of all stages stands for the
// nodes that no stage selects.
type part struct {
	stage int
	value string
}

func stagesOf(spec *rollout.Spec) stageTerms {
	if spec.Strategy.Type != rollout.RollingUpdate { // OnDelete does not use policies
		return nil
	}
	var stages stageTerms
	for _, s := range spec.Strategy.Policy.Stages {
		selector := labels.Everything()
		if s.Selector != nil {
			selector, _ = metav1.LabelSelectorAsSelector(s.Selector) // that it can be read is part of the validation
		}
		stages = append(stages, struct {
			stage.Stage
			selector labels.Selector
		}{s, selector})
	}
	return stages
}

// partOf is the part that a node is in: that of the first stage that selects it.
func (t *terms) partOf(node *corev1.Node) part {
	for i := range t.stages {
		s := &t.stages[i]
		switch {
		case !s.selector.Matches(labels.Set(node.Labels)):
		case s.Key == "":
			return part{stage: i}
		default:
			return part{i, node.Labels[s.Key]}
		}
	}
	return part{stage: len(t.stages)}
}

// stageOf is the stage of a part; one without a name for the nodes that no stage selects.
func (t *terms) stageOf(p part) stage.Stage {
	if p.stage < len(t.stages) {
		return t.stages[p.stage].Stage
	}
	return stage.Stage{}
}

// compareParts is the order in which parts are opened: by stage, then integers by number, then texts, then nodes without the
// label.
func compareParts(a, b part) int {
	rank := func(value string) int {
		switch {
		case value == "":
			return 2
		case strings.Trim(value, "0123456789") != "":
			return 1
		default:
			return 0
		}
	}
	if c := cmp.Or(cmp.Compare(a.stage, b.stage), cmp.Compare(rank(a.value), rank(b.value))); c != 0 {
		return c
	}
	one, isNumber := new(big.Int).SetString(a.value, 10)
	other, areNumbers := new(big.Int).SetString(b.value, 10)
	if rank(a.value) == 0 && isNumber && areNumbers {
		if c := one.Cmp(other); c != 0 {
			return c
		}
	}
	return strings.Compare(a.value, b.value)
}

// partState is how a part stands before the plan's actions, and what is to be said of it.
type partState struct {
	part
	of stage.Stage
	// nodes are to run the pod. Of these the node selector holds some, and obstructed cannot be updated in place, which is all
	// that may be done; of plainlyObstructed that is seen without a close look.
	nodes, held, obstructed, plainlyObstructed int
	exempt                                     int // are left out
	// away depart, or have a pod that a taint lets stay; barred have none because of a taint.
	away, barred int
	// Of the others: at the update revision and available, there and not available, and not there.
	settled, unavailable, behind int

	phase       stage.Phase
	done, until time.Time
}

// skipped reports whether the part has no nodes, or the node selector holds them all.
func (s *partState) skipped() bool {
	return s.nodes == s.held && s.unavailable+s.exempt+s.away+s.barred == 0
}

// empty reports whether no pod could be in the part, because it has no nodes that a taint does not bar.
func (s *partState) empty() bool { return s.nodes == s.held && s.unavailable+s.exempt+s.away == 0 }

// complete reports whether the part is done by how its nodes stand now.
func (s *partState) complete() bool {
	tolerated := 0
	if s.of.Tolerance != nil {
		tolerated = ofDesired(s.of.Tolerance, s.settled+s.unavailable+s.behind, 0)
	}
	return s.settled >= 1 && s.behind == 0 && s.unavailable <= tolerated
}

// isAt reports whether the part is at a frontier.
func (s *partState) isAt(f stage.Frontier) bool { return s.of.Name == f.Stage && s.value == f.Value }

// countParts counts how the nodes of each part stand. Nodes are left out as B8 and B9 say, the first by name.
func (v *verifier) countParts() {
	s := &v.staging
	s.byPart = make(map[part]*partState)
	add := func(p part) {
		if s.byPart[p] == nil {
			s.byPart[p] = &partState{part: p, of: v.stageOf(p)}
			s.parts = append(s.parts, s.byPart[p])
		}
	}
	for i := range len(v.stages) + 1 {
		if p := (part{stage: i}); v.stageOf(p).Key == "" {
			add(p)
		}
	}
	out, unschedulable, quarantine := v.limits.maxExempt, v.limits.maxUnschedulable, v.failed.quarantined
	for _, node := range v.nodes {
		add(node.part)
		spare := 0 // of these nodes, how many are left out
		switch counts := v.isUnavailable(node) || v.isSurging(node); {
		case !counts:
		case out > 0 && v.excused(node):
			spare, out = 1, out-1 // such nodes stand for themselves alone
		case node.isolated() && unschedulable > 0:
			spare = min(node.weight, unschedulable)
			unschedulable -= spare
		case node.hasFailed && quarantine > 0: // and so do these
			spare, quarantine = 1, quarantine-1
		}
		v.countInPart(node, s.byPart[node.part], spare)
	}
	slices.SortFunc(s.parts, func(a, b *partState) int { return compareParts(a.part, b.part) })
}

func (v *verifier) countInPart(node *node, s *partState, exempt int) {
	run := node.outcome == placement.Run
	if run {
		s.nodes += node.weight
	}
	if run && !node.selected {
		s.held += node.weight
		return
	}
	tainted := node.selected && (node.outcome == placement.Keep || node.tainted)
	switch {
	case tainted && len(node.pods) == 0:
		s.barred += node.weight
		return
	case node.leftAlone && (run || tainted || v.isUnavailable(node)):
		s.away += node.weight
		return
	case v.drainedBehind(node):
		s.away += node.weight
		return
	}
	s.exempt += exempt
	weight := node.weight - exempt
	if !run {
		switch {
		case v.isUnavailable(node):
			s.unavailable += weight
		case tainted:
			s.away += weight
		}
		return
	}
	there, available := v.standsAtUpdate(node)
	old, only := node.bestOutdated, v.spec.Strategy.Method == inplace.Only
	switch {
	case weight == 0:
	case available:
		s.settled += weight
	case there || len(v.stages) > 0 && (node.cutOff || node.any(v.isOverdue)):
		s.unavailable += weight
	case node.hold == rollout.LimitUndeclared, only && old != nil && v.plainlyObstructed(old):
		s.obstructed, s.plainlyObstructed = s.obstructed+weight, s.plainlyObstructed+weight
	case only && old != nil && s.behind == 0 && v.obstructed(old): // what others made of a pod decides only for the first
		s.obstructed += weight
	default:
		s.behind += weight
	}
}

// drainedBehind reports whether the node is to run the pod, is drained, and has nothing of the update revision: nothing is to be
// learned there until the drain ends (M8).
func (v *verifier) drainedBehind(node *node) bool {
	there, _ := v.standsAtUpdate(node)
	cutOff := len(v.stages) > 0 && (node.cutOff || node.any(v.isOverdue))
	return node.drained && node.outcome == placement.Run && !there && !cutOff
}

// standsAtUpdate reports whether a run node has, or is about to get, a pod of the update revision, and whether an available one.
func (v *verifier) standsAtUpdate(node *node) (there, available bool) {
	there = node.requestsGoal
	for _, p := range node.pods {
		if p.live() && p.current {
			there, available = true, available || p.settled() && !p.terminal
		}
	}
	return there, available
}

// cellOfPart tells nodes of different parts apart.
func (t *terms) cellOfPart(p part) string {
	if len(t.stages) == 0 {
		return ""
	}
	return strconv.Itoa(p.stage) + "=" + p.value + "\x00"
}
