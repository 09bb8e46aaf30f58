package rollout

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/daemonplan/daemonplan/rollout/stage"
)

// What [Plan.Because] says of nodes that a policy keeps waiting: a domain that is used up (B10), a part of a stage that is not
// open (T8), nodes that have failed (F3).

// gated returns why a policy keeps a node from being begun.
func (p *Plan) gated(d *Decision) string {
	switch d.Limit {
	case LimitFailures:
		return p.failures()
	case LimitStage, LimitSoak, LimitApproval:
		part, next := p.partOf(d), p.nextPart()
		if part == nil || next == nil {
			return "the stable revision had not come to the node in its stages when the update revision was tried"
		}
		return part.name() + " is not open: " + next.obstacle(part)
	default:
		return d.Limit.ofNode()
	}
}

// failures says how many nodes have failed, and which.
func (p *Plan) failures() string {
	names := p.failed()
	b := &p.Budget
	return fmt.Sprintf("the update revision has failed on %s, at most %d may: %s", counted(b.Failed, "node"), b.MaxFailed,
		list(names, int(b.Failed)))
}

// partOf returns the part that a node waits for; nil: it waits for none, or for the stages of an earlier revision.
func (p *Plan) partOf(d *Decision) *PartState {
	if d.Part <= 0 || int(d.Part) > len(p.Parts) {
		return nil
	}
	return &p.Parts[d.Part-1]
}

// nextPart returns the first part that is neither done nor skipped: the parts behind it wait for it. Nil: there is none.
func (p *Plan) nextPart() *PartState {
	for i := range p.Parts {
		switch p.Parts[i].Phase {
		case stage.Done, stage.Soaking, stage.Skipped:
		default:
			return &p.Parts[i]
		}
	}
	return nil
}

// name returns the part in words.
func (s *PartState) name() string {
	switch {
	case s.Stage == "":
		return "the last stage (nodes that no other selects)"
	case s.Key == "":
		return "stage " + s.Stage
	case s.Value == "":
		return "stage " + s.Stage + " (nodes without " + s.Key + ")"
	default:
		return "stage " + s.Stage + " (" + s.Value + ")"
	}
}

// before returns why nodes of later parts wait for this one.
func (s *PartState) before() string {
	switch text := s.obstacle(s); {
	case s.Phase == stage.Approving || s.Phase == stage.Waiting && !s.Until.IsZero():
		return s.name() + " comes first, and" + strings.TrimPrefix(text, "it")
	default:
		return s.obstacle(nil)
	}
}

// obstacle returns what keeps a later part, or this one itself, from being opened.
func (s *PartState) obstacle(part *PartState) string {
	name := "it"
	if s != part {
		name = s.name()
	}
	switch {
	case s.Phase == stage.Approving:
		return name + " needs an approval for this revision"
	case s.Phase == stage.Waiting && !s.Until.IsZero():
		return name + " opens when the part before has soaked, at " + s.Until.UTC().Format(time.RFC3339)
	case s.Phase == stage.NoEvidence:
		return name + " comes first, and nothing shows there that the revision works: all its nodes are left out, " +
			list(s.Blocking, int(s.Exempt))
	default:
		return name + " comes first, and is not done: " + list(s.Blocking, int(s.Behind+s.Unavailable))
	}
}

// limit returns the bound that nodes of the value wait for: Max, or if that has room, AtOnce.
func (s *DomainState) limit() int32 {
	if s.Max > 0 && s.Taken >= s.Max {
		return s.Max
	}
	return s.AtOnce
}

// spent returns what of the domain is used up, by whom.
func (s *DomainState) spent() string {
	where, value := "of domain "+strconv.Itoa(int(s.Index)+1), "a node without the label"
	switch {
	case s.Key != "" && s.Value != "":
		where, value = "with "+s.Key+"="+s.Value, s.Value
	case s.Key != "":
		where = "without the label " + s.Key
	}
	if s.Max > 0 && s.Taken >= s.Max {
		users := list(s.Users, int(s.Taken))
		return fmt.Sprintf("at most %s %s may be disturbed at once: %s", counted(s.Max, "node"), where, users)
	}
	return fmt.Sprintf("at most %s of %s may be disturbed at once, and %s has no place among them; disturbed are %s",
		counted(s.AtOnce, "value"), s.Key, value, list(s.Users, len(s.Users)))
}

// CauseOf returns why the pod of a node does not serve; nil: it serves, there is none, or it starts or terminates as every pod
// does.
func (p *Plan) CauseOf(node string) *NodeCause {
	i, found := slices.BinarySearchFunc(p.Causes, node, func(c NodeCause, name string) int {
		return strings.Compare(c.Node, name)
	})
	if !found {
		return nil
	}
	return &p.Causes[i]
}

// String returns the blocker as one sentence: who is in the way, if it is a node, since when, why, and what would help.
func (b Blocker) String() string {
	text := ""
	if b.Count > 0 {
		text = list(b.Nodes, int(b.Count))
		if !b.Since.IsZero() {
			text += ", since " + b.Since.UTC().Format(time.RFC3339)
		}
		text += ": "
	}
	return text + b.Why + " (what helps: " + strings.Join(b.Helps, "; or ") + ")"
}

// withBlockers adds the first blocker to what is in the way.
func (p *Plan) withBlockers(obstacle string) string {
	if len(p.Blockers) == 0 {
		return obstacle
	}
	text := p.Blockers[0].String()
	if more := len(p.Blockers) - 1; more > 0 {
		text += ", and " + counted(int32(more), "other reason")
	}
	if obstacle == "" {
		return text
	}
	return obstacle + "; " + text
}
