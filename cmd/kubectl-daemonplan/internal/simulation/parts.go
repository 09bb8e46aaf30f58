package simulation

import (
	"cmp"
	"fmt"
	"math"
	"slices"

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

// stages adds a line for each part of the stages, with when it was opened, and when it was done (T8).
func (t *comparison) stages() {
	var keys []partKey
	for _, o := range t.outcomes {
		for i := range o.Reports {
			for j := range o.Reports[i].Stages {
				if key := keyOf(&o.Reports[i].Stages[j]); !slices.Contains(keys, key) {
					keys = append(keys, key)
				}
			}
		}
	}
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
	for i := range o.Reports {
		list := o.Reports[i].Stages
		j := slices.IndexFunc(list, func(s simulate.StageReport) bool { return keyOf(&s) == key })
		if j < 0 {
			continue
		}
		s, from, to := &list[j], math.Inf(1), math.Inf(1)
		if s.Phase == stage.Skipped {
			skipped++
			continue
		}
		if s.WasOpened {
			from = float64(s.Opened)
		}
		if s.WasOpened && (s.Phase == stage.Done || s.Phase == stage.Soaking) {
			to = float64(s.Done)
		}
		if opened = append(opened, from); !math.IsInf(to, 1) {
			to -= from
		}
		took = append(took, to)
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
