package simulation

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/text"
	"github.com/daemonplan/daemonplan/rollout/simulate"
	"github.com/daemonplan/daemonplan/rollout/stage"
)

// partsShown is how many parts of stages have a line of their own. Stages with a key may have many.
const partsShown = 20

// partKey names a part of the stages of any candidate.
type partKey struct{ Stage, Key, Value string }

func keyOf(s *simulate.StageReport) partKey { return partKey{s.Stage, s.Key, s.Value} }

func (k partKey) String() string {
	name := cmp.Or(k.Stage, "all other nodes")
	switch {
	case k.Key == "":
	case k.Value == "":
		name += " (no " + k.Key + ")"
	default:
		name += " (" + k.Value + ")"
	}
	return text.Printable(name)
}

// stageAnswer is a part of the stages, as -o json has it.
type stageAnswer struct {
	// Stage is its name; absent for the nodes that no stage selects. Key is the stage's key, and Value the value that these nodes
	// have; absent for nodes without the label, and for a stage without a key.
	Stage string `json:"stage,omitempty"`
	Key   string `json:"key,omitempty"`
	Value string `json:"value,omitempty"`
	// SkippedRuns is in how many runs no node of the part could be updated. Of the other runs OpenedSeconds is when the part was
	// opened, and DoneSeconds when it was done, in a run in which it never was after any other.
	SkippedRuns   int       `json:"skippedRuns"`
	OpenedSeconds quantiles `json:"openedSeconds"`
	DoneSeconds   quantiles `json:"doneSeconds"`
	// UnavailableNodes is how many nodes of the part had a pod of the new version that was not available, in the end.
	UnavailableNodes quantiles `json:"unavailableNodes"`
}

// stageAnswers are those of the parts of any run.
func (o *outcome) stageAnswers() []stageAnswer {
	var list []stageAnswer
	for _, key := range partKeys([]*outcome{o}) {
		a := stageAnswer{Stage: key.Stage, Key: key.Key, Value: key.Value}
		var opened, done, unavailable []float64
		for _, s := range o.ofPart(key) {
			if s.Phase == stage.Skipped {
				a.SkippedRuns++
				continue
			}
			opened, done = append(opened, openedSeconds(s)), append(done, doneSeconds(s))
			unavailable = append(unavailable, float64(s.Unavailable))
		}
		a.OpenedSeconds, a.DoneSeconds, a.UnavailableNodes = quantilesIn(opened), quantilesIn(done), quantilesIn(unavailable)
		list = append(list, a)
	}
	return list
}

// ofPart is how a part went in each run that had it.
func (o *outcome) ofPart(key partKey) []*simulate.StageReport {
	var list []*simulate.StageReport
	for i := range o.Reports {
		for j := range o.Reports[i].Stages {
			if s := &o.Reports[i].Stages[j]; keyOf(s) == key {
				list = append(list, s)
			}
		}
	}
	return list
}

func openedSeconds(s *simulate.StageReport) float64 {
	if !s.WasOpened {
		return math.Inf(1)
	}
	return s.Opened.Seconds()
}

func doneSeconds(s *simulate.StageReport) float64 {
	if s.Phase != stage.Done && s.Phase != stage.Soaking {
		return math.Inf(1)
	}
	return s.Done.Seconds()
}

// partKeys are the parts of all runs, in the order in which they are opened.
func partKeys(outcomes []*outcome) []partKey {
	var keys []partKey
	for _, o := range outcomes {
		for i := range o.Reports {
			for j := range o.Reports[i].Stages {
				if key := keyOf(&o.Reports[i].Stages[j]); !slices.Contains(keys, key) {
					keys = append(keys, key)
				}
			}
		}
	}
	return keys
}

// stages adds a line for each part of the stages, with when it was opened, and when it was done (T8).
func (t *comparison) stages() {
	keys := partKeys(t.outcomes)
	if len(keys) == 0 {
		return
	}
	t.line("stages done", (*outcome).partsDone)
	for _, key := range keys[:min(len(keys), partsShown)] {
		t.line("  "+key.String(), func(o *outcome) string { return o.partText(key) })
	}
}

// partsDone is how many parts are done, under the first seed, and skipped ones aside.
func (o *outcome) partsDone() string {
	all, done := 0, 0
	for i := range o.Reports[0].Stages {
		switch o.Reports[0].Stages[i].Phase {
		case stage.Skipped:
			continue
		case stage.Done, stage.Soaking:
			done++
		default: // it is not done
		}
		all++
	}
	if all == 0 {
		return "-"
	}
	return fmt.Sprintf("%d of %s", done, text.Counted(all, "part"))
}

// partText says when a part was opened and done.
func (o *outcome) partText(key partKey) string {
	var opened, took []float64
	skipped := 0
	for _, s := range o.ofPart(key) {
		if s.Phase == stage.Skipped {
			skipped++
			continue
		}
		opened = append(opened, openedSeconds(s)*float64(time.Second))
		if until := doneSeconds(s); s.WasOpened && !math.IsInf(until, 1) {
			took = append(took, float64(s.Done-s.Opened))
		} else {
			took = append(took, math.Inf(1))
		}
	}
	switch {
	case len(opened) == 0 && skipped > 0:
		return "skipped"
	case len(opened) == 0:
		return "-"
	}
	slices.Sort(opened)
	slices.Sort(took)
	switch {
	case math.IsInf(opened[0], 1):
		return "never opened"
	case math.IsInf(took[0], 1):
		return "opened " + spread(opened, asDuration) + ", never done"
	}
	return "opened " + spread(opened, asDuration) + ", done " + spread(took, asDuration) + " later"
}
