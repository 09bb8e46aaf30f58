package rollouttest

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/daemonplan/daemonplan/rollout/simulate"
)

// Simulate runs a scenario with the real planner to its end and holds it to the promises. The test fails
//   - at once if an argument of a promise makes no sense, if the scenario is refused, or if a plan breaks an invariant that
//     [verify.Plan] checks;
//   - for every promise that is broken, with what it says, at which step and instant it broke, what the
//     plan of that step says about the nodes concerned, and how to see that step again;
//   - if nothing at all happened in the run: then no promise was put to the test;
//   - if the run was cut off by its Limit: then nobody knows what would have come;
//   - for every rule of the model that was about no pod, and every event that happened to no node, unless [AllowUnused] is
//     among the promises: then what they say was not put to the test.
//
// A run that ends stuck is no failure by itself: that is for [DoneWithin] and [EndsAtUpdateRevision] to say. The report is that
// of the run, also of one that failed.
func Simulate(t TB, scenario simulate.Scenario, promises ...Promise) simulate.Report {
	t.Helper()
	for i := range promises {
		if wrong := promises[i].wrong; wrong != "" {
			t.Fatalf("%s", wrong)
			return simulate.Report{}
		}
	}
	w := watched{states: map[string]simulate.NodeState{}, acted: map[string]said{}}
	history := scenario.History
	scenario.History = func(r simulate.Record) {
		if history != nil {
			history(r)
		}
		w.record(r)
	}
	s, err := simulate.New(scenario)
	if err != nil {
		t.Fatalf("the scenario cannot be simulated: %v", err)
		return simulate.Report{}
	}
	w.begin(scenario, s, promises)
	report, err := s.Run(nil, w.step)
	for _, failure := range w.failures {
		t.Errorf("%s", failure)
	}
	if err != nil {
		if failed, ok := errors.AsType[*simulate.StepError](err); ok {
			w.last = &failed.Step
		}
		t.Fatalf("%v%s", err, w.keepCase("invariant"))
		return report
	}
	w.failures = nil
	w.instant()
	w.end(report)
	for _, failure := range w.failures {
		t.Errorf("%s", failure)
	}
	if !w.happened {
		t.Errorf("nothing happened in the run, so that no promise was put to the test: no node, pod or revision has changed\n"+
			"  report: %s", indented(report.String()))
	}
	if failure := cutOff(report); failure != "" {
		t.Errorf("%s", failure)
	}
	if !w.allowsUnused {
		for _, failure := range unused(report) {
			t.Errorf("%s", failure)
		}
	}
	return report
}

// watched is a run that is held to promises.
type watched struct {
	scenario simulate.Scenario
	run      *simulate.Simulation
	guards   []guarded
	keep     func(string, []byte) error
	failures []string
	// allowsUnused: parts of the scenario may be for nothing.
	allowsUnused bool

	last     *simulate.Step
	acted    map[string]said               // what the plan said that did something about a node last
	states   map[string]simulate.NodeState // as they were after the last record
	at       time.Duration                 // of that record
	happened bool
}

// said is what the plan of a step said about a node.
type said struct {
	step int
	at   time.Duration
	text string
}

// guarded is a promise in this run; over when it is broken.
type guarded struct {
	promise string
	Guard
	over bool
}

func (w *watched) begin(scenario simulate.Scenario, s *simulate.Simulation, promises []Promise) {
	w.scenario, w.run = scenario, s
	for i := range promises {
		if promises[i].keep != nil {
			w.keep = promises[i].keep
		}
		w.allowsUnused = w.allowsUnused || promises[i].allowsUnused
		if promises[i].Begin != nil {
			w.guards = append(w.guards, guarded{promise: promises[i].Says, Guard: promises[i].Begin(scenario, s)})
		}
	}
}

func (w *watched) record(r simulate.Record) {
	if r.At > w.at {
		w.instant()
	}
	w.at = r.At
	switch r.Kind {
	case simulate.NodeChanged:
		w.states[r.Node] = r.To
		w.happened = w.happened || r.From != 0 && r.From != r.To
	case simulate.Planned, simulate.CanaryChanged, simulate.BudgetUsed, simulate.NodesWait, simulate.NodesUpdated,
		simulate.NodesFailed, simulate.NodesQuarantined, simulate.RevisionGivenUp, simulate.StageChanged: // thoughts
	case simulate.NodeLabelled, simulate.CallsSent, simulate.RunEnded: // other records tell what happened
	default:
		w.happened = true
	}
	for i := range w.guards {
		if g := &w.guards[i]; !g.over && g.Record != nil {
			g.Record(r)
		}
	}
}

// instant asks the guards about the instant that is over.
func (w *watched) instant() {
	for i := range w.guards {
		if g := &w.guards[i]; !g.over && g.Instant != nil {
			w.judge(g, w.at, g.Instant(w.at))
		}
	}
}

func (w *watched) step(s *simulate.Simulation, step *simulate.Step) error {
	w.last = step
	for i := range step.Plan.Decisions {
		if d := &step.Plan.Decisions[i]; d.Creates+d.Deletes+d.Patches > 0 {
			w.acted[d.Node] = said{step.Number, step.At, step.Plan.Explain(d.Node)}
		}
	}
	for i := range w.guards {
		if g := &w.guards[i]; !g.over && g.Step != nil {
			w.judge(g, step.At, g.Step(s, step))
		}
	}
	return nil
}

func (w *watched) end(report simulate.Report) {
	for i := range w.guards {
		if g := &w.guards[i]; !g.over && g.End != nil {
			w.judge(g, report.Elapsed, g.End(w.run, report))
		}
	}
}

// judge takes down how a promise was broken, if it was.
func (w *watched) judge(g *guarded, at time.Duration, err error) {
	if err == nil {
		return
	}
	g.over = true
	var b strings.Builder
	step := 0
	if w.last != nil {
		step = w.last.Number
	}
	fmt.Fprintf(&b, "promised: %s\n  broken at step %d, %v after the beginning (%s): %v", g.promise, step, at,
		w.clock(at), err)
	if broken, ok := errors.AsType[*BreachError](err); ok && broken != nil {
		w.explain(&b, broken.Nodes)
	}
	fmt.Fprintf(&b, "\n  to see it again (seed %d): simulate.New(scenario), then Step %s", w.scenario.Seed, times(step))
	if w.keep == nil {
		b.WriteString("; KeepCases keeps what the controller saw")
	}
	b.WriteString(w.keepCase(g.promise))
	w.failures = append(w.failures, b.String())
}

func (w *watched) clock(at time.Duration) string {
	return w.run.Now().Add(at - w.run.Elapsed()).UTC().Format(time.RFC3339)
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// explain shows the state of nodes, and what the last plan says of them; those first that hold up others.
func (w *watched) explain(b *strings.Builder, nodes []string) {
	const shown = 5
	for i, node := range w.culpritsFirst(nodes) {
		if i == shown {
			fmt.Fprintf(b, "\n  and %d more nodes", len(nodes)-shown)
			return
		}
		fmt.Fprintf(b, "\n  %s is %s", node, cmp.Or(w.states[node].String(), "gone"))
		if w.last == nil {
			continue
		}
		if acted, ok := w.acted[node]; ok && acted.step != w.last.Number {
			fmt.Fprintf(b, "\n    plan of step %d (%v): %s", acted.step, acted.at, withoutNode(acted.text, node))
		}
		fmt.Fprintf(b, "\n    plan of step %d (%v): %s", w.last.Number, w.last.At, withoutNode(w.last.Plan.Explain(node), node))
	}
}

// culpritsFirst puts the nodes that do not serve, or hold a place of the budget, before those that only wait.
func (w *watched) culpritsFirst(nodes []string) []string {
	holds := map[string]bool{}
	if w.last != nil {
		for i := range w.last.Plan.Decisions {
			if d := &w.last.Plan.Decisions[i]; d.Unavailable || d.Surging {
				holds[d.Node] = true
			}
		}
	}
	var culprits, others []string
	for _, node := range nodes {
		if state := w.states[node]; holds[node] || !state.Serving() && state != simulate.NodeOutside {
			culprits = append(culprits, node)
		} else {
			others = append(others, node)
		}
	}
	return append(culprits, others...)
}

// withoutNode is an explanation without the name of the node that it begins with.
func withoutNode(text, node string) string { return indented(strings.TrimPrefix(text, node+": ")) }

func indented(text string) string { return strings.ReplaceAll(text, "\n", "\n    ") }

// keepCase hands out the case of the last step, and says what it is called.
func (w *watched) keepCase(promise string) string {
	if w.keep == nil || w.last == nil {
		return ""
	}
	name := fmt.Sprintf("%s-step-%d.json", slug(promise), w.last.Number)
	data, err := w.last.Case().Encode()
	if err == nil {
		err = w.keep(name, data)
	}
	if err != nil {
		return fmt.Sprintf("\n  its case could not be kept: %v", err)
	}
	return fmt.Sprintf("\n  what the controller saw is kept as %s, for: kubectl daemonplan plan --case %s", name, name)
}

// slug is a sentence fit for the name of a file.
func slug(sentence string) string {
	words := strings.FieldsFunc(strings.ToLower(sentence), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
	return strings.Join(words[:min(len(words), 8)], "-")
}

// sortedNodes lists the nodes for which the condition holds, by name.
func sortedNodes[V any](m map[string]V, in func(string, V) bool) []string {
	var nodes []string
	for node, v := range m {
		if in(node, v) {
			nodes = append(nodes, node)
		}
	}
	slices.Sort(nodes)
	return nodes
}

// listed joins a few names.
func listed(names []string) string {
	const shown = 5
	text := strings.Join(names[:min(len(names), shown)], ", ")
	if more := len(names) - shown; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
