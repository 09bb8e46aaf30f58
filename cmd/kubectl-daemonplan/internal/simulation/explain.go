package simulation

import (
	"strings"
	"time"

	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout"
)

// said is what was said of a node from an instant on.
type said struct {
	At   time.Duration
	Text int // index in explanations.Texts
}

// explanations are what each plan says of each node, and what events happened to it. A text is kept when the decision about a
// node changes, because a plan says the same of most nodes as the plan before.
type explanations struct {
	// Texts are the different texts.
	Texts []string
	// Of are the texts about each node, in order of time.
	Of map[string]*nodeExplanations

	index map[string]int
	last  []*nodeExplanations // those of the decisions of the last plan, in their order
}

type nodeExplanations struct {
	List []said

	node string
	now  decisionKind
	any  bool // there was a plan
}

// decisionKind is what two decisions must have in common for the same explanation.
type decisionKind struct {
	verb      rollout.Verb
	reason    rollout.Reason
	limit     rollout.Limit
	placement placement.Verdict
}

func newExplanations() *explanations {
	return &explanations{Of: make(map[string]*nodeExplanations), index: make(map[string]int)}
}

// plan takes note of what a plan says. Most plans have the same nodes as the plan before, so they are not looked up by name.
func (e *explanations) plan(at time.Duration, p *rollout.Plan) {
	for i := range p.Decisions {
		d := &p.Decisions[i]
		if i >= len(e.last) {
			e.last = append(e.last, e.node(d.Node))
		} else if e.last[i].node != d.Node {
			e.last[i] = e.node(d.Node)
		}
		n := e.last[i]
		kind := decisionKind{d.Verb, d.Reason, d.Limit, d.Placement}
		if n.any && n.now == kind {
			continue
		}
		n.any, n.now = true, kind
		n.List = append(n.List, said{at, e.text(explanation(p, d))})
	}
}

// event takes note of an event that happened to a node.
func (e *explanations) event(h happening) {
	n := e.node(h.Node)
	n.List = append(n.List, said{h.At, e.text(eventPrefix + h.What)})
}

// eventPrefix distinguishes what happened from what a plan says.
const eventPrefix = "event: "

func (e *explanations) isEvent(s said) bool { return strings.HasPrefix(e.Texts[s.Text], eventPrefix) }

func (e *explanations) node(name string) *nodeExplanations {
	n := e.Of[name]
	if n == nil {
		n = &nodeExplanations{node: name}
		e.Of[name] = n
	}
	return n
}

func (e *explanations) text(text string) int {
	i, ok := e.index[text]
	if !ok {
		i = len(e.Texts)
		e.index[text] = i
		e.Texts = append(e.Texts, text)
	}
	return i
}

// verbs begin an explanation with what the plan does.
var verbs = map[rollout.Verb]string{
	rollout.VerbNone: "nothing to do: ", rollout.VerbWait: "waits: ", rollout.VerbHold: "held: ",
	rollout.VerbPatch: "pod patched: ", rollout.VerbDelete: "pod deleted: ", rollout.VerbCreate: "pod created: ",
	rollout.VerbPrepare: "pod prepared: ", rollout.VerbUpdate: "updated in place: ", rollout.VerbReplace: "pod replaced: ",
	rollout.VerbSurge: "new pod beside the old one: ",
}

// explanation is why the plan does what it does about a node, without names, so that nodes to which the same applies share it.
// The nodes that use up the budget change with every plan, so they are left out, too.
func explanation(p *rollout.Plan, d *rollout.Decision) string {
	text := p.Because(d)
	if d.Pod != "" {
		for _, end := range []string{" ", ":", ",", ";"} {
			text = strings.ReplaceAll(text, "pod "+d.Pod+end, "pod"+end)
		}
	}
	if limit, users, ok := strings.Cut(text, " is used up by "); ok {
		text = limit + " is used up by other nodes"
		if _, rest, ok := strings.Cut(users, "; "); ok {
			text += "; " + rest
		}
	}
	return verbs[d.Verb] + text
}
