package simulate

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/stage"
)

// StageReport says how one part of the stages of the last revision went, as the plans saw it (T8). After the rollout is complete
// no part is judged any more, so that the report says how it stood then.
type StageReport struct {
	// Stage is its name; "" for the nodes that no stage selects. Key is the stage's key, and Value the value that these nodes
	// have; "" for nodes without the label, and for a stage without a key.
	Stage string `json:"stage,omitempty"`
	Key   string `json:"key,omitempty"`
	Value string `json:"value,omitempty"`
	// Phase is the last one that the part was in.
	Phase stage.Phase `json:"phase"`
	// Opened is when the part was opened first, from the beginning of the run, if WasOpened. A part that is skipped is not
	// opened.
	Opened    time.Duration `json:"opened"`
	WasOpened bool          `json:"wasOpened"`
	// Done is when the part was done, if Phase is Done or Soaking.
	Done time.Duration `json:"done"`
	// Nodes is how many nodes of the part are to run the pod. Settled of them have an available pod of the update revision,
	// Unavailable one that is not available, and Exempt are left out (B8, B9).
	Nodes       int `json:"nodes"`
	Settled     int `json:"settled"`
	Unavailable int `json:"unavailable"`
	Exempt      int `json:"exempt"`
}

// String returns in words how the part went.
func (s StageReport) String() string {
	text := cmp.Or(s.Stage, "the rest")
	switch {
	case s.Key != "" && s.Value == "":
		text += fmt.Sprintf(" (nodes without %s)", s.Key)
	case s.Key != "":
		text += fmt.Sprintf(" (%s)", s.Value)
	}
	text += ": " + s.Phase.String()
	if s.WasOpened {
		text += fmt.Sprintf(", opened after %s", rounded(s.Opened))
	}
	if s.isDone() {
		text += fmt.Sprintf(", done after %s", rounded(s.Done))
	}
	text += fmt.Sprintf("; %d nodes, %d settled", s.Nodes, s.Settled)
	if s.Unavailable > 0 {
		text += fmt.Sprintf(", %d unavailable", s.Unavailable)
	}
	if s.Exempt > 0 {
		text += fmt.Sprintf(", %d left out", s.Exempt)
	}
	return text
}

func (s *StageReport) isDone() bool { return s.Phase == stage.Done || s.Phase == stage.Soaking }

// parts follows the parts of the stages of the last revision.
type parts struct {
	revision string
	list     []StageReport
}

func (ps *parts) plan(at time.Duration, p *rollout.Plan) {
	if p.Status.UpdateRevision != ps.revision {
		*ps = parts{revision: p.Status.UpdateRevision}
	}
	if len(p.Parts) == 0 {
		return
	}
	before := ps.list
	ps.list = make([]StageReport, len(p.Parts))
	for i := range p.Parts {
		ps.list[i] = standsIn(before, at, &p.Parts[i])
	}
}

// standsIn is how a part stands in a plan, with what is known of it from the plans before.
func standsIn(before []StageReport, at time.Duration, p *rollout.PartState) StageReport {
	s := StageReport{Opened: at, Done: at}
	i := slices.IndexFunc(before, func(b StageReport) bool { return b.Stage == p.Stage && b.Value == p.Value })
	if i >= 0 {
		s = before[i]
		if !s.WasOpened {
			s.Opened = at
		}
		if !s.isDone() {
			s.Done = at
		}
	}
	s.Stage, s.Key, s.Value, s.Phase = p.Stage, p.Key, p.Value, p.Phase
	s.Nodes, s.Settled, s.Unavailable, s.Exempt = int(p.Nodes), int(p.Settled), int(p.Unavailable), int(p.Exempt)
	if s.WasOpened = s.WasOpened || p.Phase.IsOpen() && p.Phase != stage.Skipped; !s.WasOpened {
		s.Opened = 0
	}
	if !s.isDone() {
		s.Done = 0
	}
	return s
}
