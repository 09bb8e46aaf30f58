package differential_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Each function that the DaemonSet controller decides with is called with the same input as ours, and the two answers are
// compared. A difference is one of the deliberate ones, which the comparison repeats on the controller's own answer, or a
// mistake.

// deviation is a deliberate difference between one of the controller's functions and ours.
type deviation uint8

const (
	noDeviation deviation = iota
	hashComesFirst
	meaningCounts
	endedIsNotReady
	inPlaceConditionHolds
	negativeIsZero
	emptyNameIsNone
	surgeAlone

	deviations // count
)

// deviationTable says what each is. Those of whole decisions that show here too have the same names as there.
var deviationTable = [deviations]struct{ id, rule, why string }{
	hashComesFirst: {"generation-label", "R5",
		"the controller takes a pod of another revision hash for updated if its template-generation label matches"},
	meaningCounts: {"semantic-equality", "R2",
		"the controller compares bytes, so that a field left empty or a quantity spelled otherwise is another template"},
	endedIsNotReady: {"ended-is-not-ready", "B5",
		"the controller goes by the Ready condition even of a pod that has failed or succeeded"},
	inPlaceConditionHolds: {"in-place-condition-counts", "B5",
		"the controller does not know the condition InPlaceUpdateReady"},
	negativeIsZero: {"negative-is-zero", "B5",
		"with a negative minReadySeconds, which the API refuses, the controller wants a transition time"},
	emptyNameIsNone: {"empty-name-is-none", "P7",
		"the controller attributes a pod that is pinned to an empty name to the node of that name"},
	surgeAlone: {"surge-alone", "B1",
		"the API server fills in a maxUnavailable of 1 beside maxSurge, and refuses the two together; ours is 0 then"},
}

// comparison puts inputs to one of the controller's functions and to ours.
type comparison[I, O any] struct {
	// theirs and ours name the two.
	theirs, ours string
	// kinds of inputs or answers. Each has to be met (TestHelpersMeetEveryKind), so that no comparison holds because it compares
	// too little.
	kinds []string
	// deviates lists the deliberate differences that may show. Each has to.
	deviates []deviation
	inputs   *rapid.Generator[I]
	// batch is how many inputs are drawn per check of rapid.
	batch int
	// answer is our function.
	answer func(I) O
	// judge asks the controller's function and compares.
	judge func(I, O) judgement
	// bugs are functions in the place of ours that the comparison must reject.
	bugs []plantedBug[I, O]
}

// judgement is the outcome of one comparison; an err is a difference that nothing explains.
type judgement struct {
	kind    int
	because deviation
	err     error
}

// plantedBug is a wrong function in the place of ours.
type plantedBug[I, O any] struct {
	name, why string
	answer    func(I) O
}

// compared is a comparison of whatever types.
type compared interface {
	name() string
	check(*testing.T) helperTally
	teeth(*testing.T)
	meetsEveryKind(*testing.T)
	// once compares a single input.
	once(*rapid.T)
}

// helperTally counts what a comparison has seen.
type helperTally struct {
	theirs, ours string
	inputs       int
	kinds        []string
	met          []int
	differences  [deviations]int
}

func comparisons() []compared {
	return []compared{
		compareTolerations(), comparePlacement(), compareExclusions(), comparePinning(), compareTargetNodes(), comparePods(), compareMatchedPods(),
		compareBudgets(), compareGenerations(), compareUpdated(), compareAvailable(),
		compareData(), compareMatches(), compareHashes(),
	}
}

// TestHelpers compares every function on generated inputs; -n multiplies them.
func TestHelpers(t *testing.T) {
	var tallies []helperTally
	for _, c := range comparisons() {
		t.Run(c.name(), func(t *testing.T) { tallies = append(tallies, c.check(t)) })
	}
	t.Log(helperTable(tallies))
}

func TestHelperDeviationsAreNamed(t *testing.T) {
	seen := map[string]bool{"": true}
	for _, d := range deviationTable[noDeviation+1:] {
		if seen[d.id] || d.rule == "" || d.why == "" {
			t.Errorf("entry %q: the id must be there once, with a rule and a why", d.id)
		}
		seen[d.id] = true
	}
}

func (c comparison[I, O]) name() string {
	name, _, _ := strings.Cut(c.theirs, ",")
	return name
}

// property is what must hold of one input.
func (c comparison[I, O]) property(input I, answer func(I) O) judgement {
	j := c.judge(input, answer(input))
	if j.err == nil && j.because != noDeviation && !slices.Contains(c.deviates, j.because) {
		j.err = fmt.Errorf("%s is no difference between these two", deviationTable[j.because].id)
	}
	return j
}

func (c comparison[I, O]) check(t *testing.T) helperTally {
	counts := helperTally{theirs: c.theirs, ours: c.ours, kinds: c.kinds, met: make([]int, len(c.kinds))}
	check(t, 200, func(t *rapid.T) {
		for range c.batch {
			j := c.property(c.inputs.Draw(t, "input"), c.answer)
			if j.err != nil {
				t.Fatal(j.err)
			}
			counts.inputs++
			counts.met[j.kind]++
			counts.differences[j.because]++
		}
	})
	return counts
}

func (c comparison[I, O]) once(t *rapid.T) {
	if j := c.property(c.inputs.Draw(t, "input"), c.answer); j.err != nil {
		t.Fatal(j.err)
	}
}

func (c comparison[I, O]) meetsEveryKind(t *testing.T) {
	const most = 20000
	met, differences := make([]bool, len(c.kinds)), map[deviation]bool{}
	for seed := range most {
		j := c.property(c.inputs.Example(seed), c.answer)
		if j.err != nil {
			t.Fatalf("input %d: %v", seed, j.err)
		}
		met[j.kind], differences[j.because] = true, true
		if !slices.Contains(met, false) && len(differences) == len(c.deviates)+1 {
			return
		}
	}
	for i, kind := range c.kinds {
		if !met[i] {
			t.Errorf("none of %d inputs is %q", most, kind)
		}
	}
	for _, d := range c.deviates {
		if !differences[d] {
			t.Errorf("none of %d inputs shows %s", most, deviationTable[d].id)
		}
	}
}

func (c comparison[I, O]) teeth(t *testing.T) {
	const seeds = 5000
	if len(c.bugs) == 0 {
		t.Error("no bug is planted")
	}
	for _, b := range c.bugs {
		t.Run(b.name, func(t *testing.T) {
			if b.why == "" {
				t.Error("a planted bug needs a why")
			}
			for seed := range seeds {
				if c.property(c.inputs.Example(seed), b.answer).err != nil {
					return
				}
			}
			t.Errorf("none of %d inputs refutes it", seeds)
		})
	}
}

// table shows what was compared, and what differs on purpose.
func helperTable(tallies []helperTally) string {
	var out strings.Builder
	fmt.Fprintf(&out, "\n%-46s %-34s %9s  %s\n", "controller", "here", "inputs", "of them")
	for _, t := range tallies {
		fmt.Fprintf(&out, "%-46s %-34s %9d ", t.theirs, t.ours, t.inputs)
		for i, kind := range t.kinds {
			fmt.Fprintf(&out, " %s %d,", kind, t.met[i])
		}
		explained := ""
		for d, n := range t.differences {
			if n > 0 && deviation(d) != noDeviation {
				explained += fmt.Sprintf(" %s (%s) %d", deviationTable[d].id, deviationTable[d].rule, n)
			}
		}
		if explained == "" {
			explained = " none"
		}
		fmt.Fprintf(&out, " differences:%s\n", explained)
	}
	return out.String()
}

// disagree is the error of two answers that should be equal.
func disagree(input, theirs, ours any) error {
	return fmt.Errorf("they disagree on\n%s\nthe controller: %s\nours:           %s", shown(input), shown(theirs), shown(ours))
}

// shown renders objects as JSON, and what JSON cannot express, like text that is no UTF-8, as Go does.
func shown(v any) string {
	if text, err := json.Marshal(v); err == nil {
		return fmt.Sprintf("%s\n\t%#v", text, v)
	}
	return fmt.Sprintf("%#v", v)
}
