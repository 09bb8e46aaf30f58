package stage

import (
	"fmt"
	"slices"
	"time"
)

// Count is how the nodes of a part stand. The zero value is that of a part without nodes.
type Count struct {
	// Nodes that are to run the pod. Of these the rollout leaves Held alone whatever part is open (T3), and Obstructed cannot be
	// updated, because InPlaceOnly has no way to (I1), or because the new pod could not run there (T9).
	Nodes, Held, Obstructed int32
	// Away are the nodes that say nothing for now, and may come back: departing ones (M8), and those with a pod that a taint
	// keeps from being replaced. Barred are the nodes that only a taint keeps from running the pod, and that have none.
	Away, Barred int32
	// Exempt nodes are left out (B8, B9, F4). Those that may only keep their pod are among them if they would be Unavailable.
	Exempt int32
	// Of the other nodes, Settled are at the update revision and available, Unavailable are there and not available, or out of
	// reach, and Behind are not there. Nodes that may only keep their pod are among Unavailable if the revision may have broken
	// them (B2).
	Settled, Unavailable, Behind int32
}

// counted is how many nodes say something about the revision.
func (c *Count) counted() int32 { return c.Settled + c.Unavailable + c.Behind }

// isSkipped reports whether the part has no nodes, or T3 holds them all. What may pass by itself, such as a taint or the
// departure of nodes, is no reason to go past a part: it would open those behind it without evidence.
func (c *Count) isSkipped() bool {
	return c.Nodes <= c.Held && c.Unavailable == 0 && c.Exempt == 0 && c.Away == 0 && c.Barred == 0
}

// isBarred reports whether taints keep all of the part's nodes from having a pod, as those of control planes do.
func (c *Count) isBarred() bool {
	return c.Barred > 0 && c.Nodes <= c.Held && c.Unavailable == 0 && c.Exempt == 0 && c.Away == 0
}

// isDone reports whether the part is done, with that many nodes tolerated.
func (s *compiled) isDone(c *Count) bool {
	return c.Settled > 0 && c.Behind == 0 && c.Unavailable <= s.tolerance.RoundDown(c.counted())
}

// Frontier is what one judgement hands to the next: the last part that is done, and since when. It and the parts before it are
// done for good. The zero value is that before any part is done, or when it was lost. It ends with the revision.
type Frontier struct {
	// Stage is the name of its stage; "" for the nodes that no stage selects.
	Stage string `json:"stage,omitempty"`
	// Value of the stage's key.
	Value string `json:"value,omitempty"`
	// At is when it was first seen to be done. Zero: no part is done.
	At time.Time `json:"at,omitzero"`
	// Layout is [Layout] of the stages up to that of the part. If the spec says otherwise by now, the parts before need not
	// be those that were done, and the frontier counts as lost. Empty: it is not known, and does not matter.
	Layout string `json:"layout,omitempty"`
}

// Phase says how a part stands.
type Phase uint8

// The phases.
const (
	// Waiting is a part that is not open yet, because a part before it is not done or soaks.
	Waiting Phase = iota
	// Approving is a part that only lacks its approval.
	Approving
	// Open is a part that is open and not done.
	Open
	// NoEvidence is an open part of which no node says anything: all are left out, away, or cannot be updated. Nothing shows
	// whether the revision works there.
	NoEvidence
	// Soaking is a part that is done, and that the next part waits for until its time is over.
	Soaking
	// Done is a part that is done.
	Done
	// Skipped is a part without nodes that the rollout is for.
	Skipped

	phases // count
)

var phaseNames = [phases]string{"Waiting", "Approving", "Open", "NoEvidence", "Soaking", "Done", "Skipped"}

// String returns the phase in one word; "unknown" for a value that was never declared.
func (p Phase) String() string {
	if p >= phases {
		return "unknown"
	}
	return phaseNames[p]
}

// MarshalText is String, but an error for a value that was never declared.
func (p Phase) MarshalText() ([]byte, error) {
	if p >= phases {
		return nil, fmt.Errorf("stage: phase %d has no name", uint8(p))
	}
	return []byte(p.String()), nil
}

// UnmarshalText reads the name of a phase. On error the receiver is left as it was.
func (p *Phase) UnmarshalText(name []byte) error {
	i := slices.Index(phaseNames[:], string(name))
	if i < 0 || p == nil {
		return fmt.Errorf("stage: %q is no phase", name)
	}
	*p = Phase(i)
	return nil
}

// IsOpen reports whether nodes of a part in this phase may be begun.
func (p Phase) IsOpen() bool { return p != Waiting && p != Approving }

// Input is what [Judge] goes by.
type Input struct {
	// Now is the time of the judgement.
	Now time.Time
	// Revision is the hash of the update revision, and Name the name of its ControllerRevision.
	Revision, Name string
	// Counts has one element for each part, by ordinal. Parts beyond its end have no nodes.
	Counts []Count
	// Approved are the approvals.
	Approved []Approval
	// Frontier is that of the judgement before, about the same revision. Zero: nothing is done, or it is not known what was; then
	// all parts pass anew, one after the other.
	Frontier Frontier
	// AllOpen says that no part is closed: in a first installation, and for a revision that is expedited.
	AllOpen bool
}

// State is how one part stands.
type State struct {
	// Part is its ordinal.
	Part int32
	// Phase that it is in.
	Phase Phase
	// Done is when the part was first seen to be done, if it is the last one that is; zero: it is not.
	Done time.Time
	// Until is when its time to soak is over, or of a part that only waits for that, when it is opened. Zero: it does not
	// soak, or waits for something else.
	Until time.Time
}

// Judgement is what [Judge] finds.
type Judgement struct {
	// States of all parts, in the order in which they are opened.
	States []State
	// Frontier to pass to the next judgement about the revision.
	Frontier Frontier
	// Completed reports whether every part is done or skipped, and at least one is done.
	Completed bool
	// Wake is when the time to soak is over. Zero: nothing waits for that.
	Wake time.Time
	// Stale are the approvals that name another revision, in their order.
	Stale []Approval
}

// Judge finds which parts are open.
func Judge(parts *Parts, in Input) Judgement {
	w := walk{parts: parts, in: in, order: parts.Order()}
	w.States = make([]State, len(w.order))
	for i, part := range w.order {
		w.States[i] = State{Part: part, Phase: Waiting}
	}
	for _, a := range in.Approved {
		if !w.names(a.Revision) {
			w.Stale = append(w.Stale, a)
		}
	}
	w.passed()
	w.opened()
	return w.Judgement
}

// walk goes through the parts in order.
type walk struct {
	Judgement
	parts *Parts
	in    Input
	order []int32
	next  int // the first part that is not passed
}

func (w *walk) stage(i int) *compiled { return w.parts.stages.at(w.parts.list[w.order[i]].Stage) }

func (w *walk) count(i int) *Count {
	if part := w.order[i]; int(part) < len(w.in.Counts) {
		return &w.in.Counts[part]
	}
	return &Count{}
}

// names reports whether a name is that of the update revision.
func (w *walk) names(revision string) bool {
	return revision != "" && (revision == w.in.Revision || revision == w.in.Name)
}

// passed goes past what is done by the frontier. How the nodes stand does not count here: a canary, an earlier attempt or a node
// that was relabelled leave the revision in parts that were never open.
func (w *walk) passed() {
	at, known := w.place(w.in.Frontier)
	if !known {
		return
	}
	w.Frontier = w.in.Frontier
	if w.Frontier.At.After(w.in.Now) {
		w.Frontier.At = w.in.Now // a clock was set back
	}
	for ; w.next < len(w.order) && compare(w.parts.list[w.order[w.next]], at) <= 0; w.next++ {
		w.pass()
	}
}

// pass marks the next part as done or skipped.
func (w *walk) pass() {
	w.States[w.next].Phase = Done
	if w.count(w.next).isSkipped() {
		w.States[w.next].Phase = Skipped
	}
}

// place returns the part at a frontier, which need not have nodes any more; known is false if there is none, if its stage is
// gone, or if the stages up to it are others by now.
func (w *walk) place(f Frontier) (at Part, known bool) {
	if f.At.IsZero() {
		return Part{}, false
	}
	stages := w.parts.stages
	at = Part{Stage: int32(stages.Len()), Value: f.Value}
	for i := range stages.Len() {
		if stages.list[i].Name == f.Stage {
			at.Stage = int32(i)
		}
	}
	known = f.Stage == stages.at(at.Stage).Name && (f.Layout == "" || f.Layout == stages.layout(int(at.Stage)))
	return at, known
}

// advance moves the frontier to a part that is done now.
func (w *walk) advance(i int) {
	part := w.parts.list[w.order[i]]
	w.Frontier = Frontier{
		Stage: w.stage(i).Name, Value: part.Value, At: w.in.Now, Layout: w.parts.stages.layout(int(part.Stage)),
	}
	w.States[i].Phase = Done
}

// opened goes on from the first part that is not passed: it opens one part after the other until one is not done.
func (w *walk) opened() {
	closed, behind := false, false
	for i := w.next; i < len(w.order); i++ {
		s, c := &w.States[i], w.count(i)
		switch {
		case c.isSkipped() && (!closed || c.Nodes == 0):
			s.Phase = Skipped
			continue
		case closed:
			continue // also with nodes that cannot be updated: what they lose is not to be of the new revision
		case !w.in.AllOpen && !w.opens(i):
			closed, behind = true, true
			continue
		case c.isBarred() && w.isLast(i):
			s.Phase = Skipped // its turn has come, and no part waits for it
			continue
		}
		switch {
		case !behind && w.stage(i).isDone(c):
			w.advance(i)
			continue
		case c.counted() == 0:
			s.Phase = NoEvidence
		default:
			s.Phase = Open
		}
		closed, behind = !w.in.AllOpen, true
	}
	if !w.Frontier.At.IsZero() {
		w.Completed = !behind
		if last := w.lastDone(); last != nil {
			last.Done = w.Frontier.At
		}
	}
}

// isLast reports whether no part behind has nodes that the rollout is for.
func (w *walk) isLast(i int) bool {
	for i++; i < len(w.order); i++ {
		if c := w.count(i); !c.isSkipped() && !c.isBarred() {
			return false
		}
	}
	return true
}

// lastDone returns the state of the part at the frontier; nil: it has no nodes any more. It is not that of a part before, as it
// is the frontier's instant that is told of it.
func (w *walk) lastDone() *State {
	at, _ := w.place(w.Frontier)
	for i, part := range w.order {
		if w.parts.list[part] == at && w.States[i].Phase != Skipped {
			return &w.States[i]
		}
	}
	return nil
}

// opens reports whether a part may be opened, as the ones before it are done: they have soaked, and it is approved if it needs to
// be. If not, it says what the part waits for.
func (w *walk) opens(i int) bool {
	s, stage := &w.States[i], w.stage(i)
	if !w.Frontier.At.IsZero() {
		at, _ := w.place(w.Frontier) // it is known, or made from a part
		if until := w.Frontier.At.Add(w.parts.stages.at(at.Stage).Soak); until.After(w.in.Now) {
			s.Until, w.Wake = until, until
			if last := w.lastDone(); last != nil {
				last.Phase, last.Until = Soaking, until
			}
			return false
		}
	}
	if stage.Approval && !w.isApproved(i) {
		s.Phase = Approving
		return false
	}
	return true
}

// isApproved reports whether an approval for the part names the update revision.
func (w *walk) isApproved(i int) bool {
	value := w.parts.list[w.order[i]].Value
	for _, a := range w.in.Approved {
		if a.Stage == w.stage(i).Name && (a.Value == "" || a.Value == value) && w.names(a.Revision) {
			return true
		}
	}
	return false
}
