package simulation

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/simulate"
)

// traced runs a candidate and returns the outcome, with a trace of what the records do not have.
func traced(t *testing.T, e *experiment, c *candidate) (*outcome, simulate.Report) {
	t.Helper()
	kept := newTrace(true)
	scenario := e.scenario(c, 1)
	scenario.History = kept.add
	report, err := simulation(scenario, kept, func() bool { return false })
	if err != nil {
		t.Fatal(err)
	}
	kept.finish(new(simulate.Report))
	return &outcome{candidate: c, Reports: []simulate.Report{report}, Traces: []*trace{kept}}, report
}

// The line of the registry is what it really sent. It never exceeds the bandwidth, and its sum is all bytes.
func TestRegistryWithinBandwidth(t *testing.T) {
	world := write(t, "world.yaml", "model: {registry: {bandwidth: 100M, nodeBandwidth: 30M, requests: 1, size: 200M, latency: 1s..20s}}\n")
	e := loaded(t, func(q *question) { q.Nodes, q.From, q.Specs, q.World = 40, oldManifest, []string{newManifest}, world })
	o, report := traced(t, e, e.Candidates[0])
	a := newAxis([]*outcome{o})
	most := slices.Max(a.rates(o.Traces[0].Sent))
	if most > 100e6*1.001 || most < 20e6 {
		t.Errorf("the registry sends up to %v bytes a second, and can send 100 MB", most)
	}
	sum := int64(0)
	for i, s := range o.Traces[0].Sent {
		if s.Bytes <= 0 || s.From >= s.To || i > 0 && s.From < o.Traces[0].Sent[i-1].To {
			t.Fatalf("sample %+v", s)
		}
		sum += s.Bytes
	}
	if sum != report.PulledBytes || sum == 0 {
		t.Errorf("the samples have %d bytes, the report %d", sum, report.PulledBytes)
	}
}

// A run with many events does not make more samples than a picture needs.
func TestSamplesAreFew(t *testing.T) {
	kept := newTrace(false)
	looks := 0
	for i := range 1_000_000 {
		kept.sample(time.Duration(i)*time.Millisecond, func() (int64, int64) { looks++; return int64(i), 0 })
	}
	if looks < columns || looks > 20*sampling {
		t.Errorf("%d samples", looks)
	}
}

// The budget at each time is the limit of the spec at that time, so a change of the spec draws a step.
func TestLimitSteps(t *testing.T) {
	wider := filepath.Join(filepath.Dir(write(t, "v3.yaml", strings.ReplaceAll(read(t, newManifest), "agent:v2", "agent:v3"))), "v3.yaml")
	world := write(t, "world.yaml", "events: [{at: 30s, what: SetSpec, spec: "+wider+"}]\nmodel: {kubelets: [{ready: 20s}]}\n")
	e := loaded(t, func(q *question) { q.Nodes, q.From, q.Specs, q.World = 12, oldManifest, []string{newManifest}, world })
	six := intstr.FromInt32(6)
	e.World.Events[0].Spec.Strategy.MaxUnavailable = &six
	o, report := traced(t, e, e.Candidates[0])
	a := newAxis([]*outcome{o})
	list := limits(a, []*outcome{o, o})
	if len(list) != 1 || len(list[0].Values) != columns || list[0].Value != 6 || list[0].Color != black {
		t.Fatalf("limits %+v", list)
	}
	l := list[0]
	if l.Values[0] >= 6 || l.Values[columns-1] != 6 || !slices.IsSorted(l.Values) || !strings.Contains(l.Label, " to 6 nodes") {
		t.Errorf("limit %s from %v to %v", l.Label, l.Values[0], l.Values[columns-1])
	}
	for column, value := range l.Values {
		if now := a.edge(column + 1); (now > 30*time.Second) != (value == 6) {
			t.Errorf("at %v the limit is %v", now, value)
		}
	}
	if note := unavailableChart(a, []*outcome{o}).Note; !strings.Contains(note, "by themselves") || strings.Contains(note, "  ") {
		t.Errorf("the note is %q", note)
	}
	if report.Budget.Limit != 6 {
		t.Errorf("the budget is %+v", report.Budget)
	}
	surge := recorded("surge", updates("x", "", 1, 2)...)
	surge.Traces[0].Limits = []limitFrom{{Surge: true}}
	if got := limits(a, []*outcome{surge}); len(got) != 0 {
		t.Errorf("surge has the limits %+v", got)
	}
}

func TestLimitsWithinAnInstant(t *testing.T) {
	kept := newTrace(false)
	for _, l := range []limitFrom{{0, 1, false}, {0, 2, false}, {5, 2, false}, {6, 3, false}, {7, 0, true}} {
		surge := int32(0)
		if l.Surge {
			surge = 1
		}
		kept.plan(l.At, &rollout.Plan{Budget: rollout.Budget{MaxUnavailable: int32(l.Limit), MaxSurge: surge}})
	}
	if want := []limitFrom{{0, 2, false}, {6, 3, false}, {7, 0, true}}; !slices.Equal(kept.Limits, want) {
		t.Errorf("got %v, want %v", kept.Limits, want)
	}
}

func TestBudgetIsThatOfThePeak(t *testing.T) {
	for _, tt := range []struct {
		budget simulate.BudgetReport
		want   string
	}{
		{simulate.BudgetReport{Limit: 15, PeakLimit: 30, Peak: 14, Mean: 2}, "14 of 30 nodes, mean 2.0 nodes"},
		{simulate.BudgetReport{Limit: 15}, "0 of 15 nodes, mean 0.0 nodes"},
	} {
		o := &outcome{Reports: []simulate.Report{{Budget: tt.budget}}}
		if got := (*comparison)(nil).budget(o); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}

// A rule or an event that applied to nothing is reported with its path. If it applied in the runs of some candidates, the others
// are named.
func TestUnusedIsTold(t *testing.T) {
	world := write(t, "world.yaml", `
model:
  kubelets:
  - {ready: 1s}
  - {nodes: {mis: spelt}, ready: 2s}
  - {image: "registry.example/agent:v1", neverReady: true}
events:
- {at: 1s, what: NodeNotReady, nodes: {no: such}}
`)
	rule, event := world+": model.kubelets[1]: this rule applied to no pod\n", world+": events[0]: this event happened to no node\n"
	common := []string{"--nodes", "6", "--from", oldManifest, "--spec", newManifest, "--world", world, "--seeds", "2"}
	for _, command := range []string{"simulate", "forecast"} {
		_, _, stderr := call(2, false, append([]string{command}, common...)...)
		if !strings.Contains(stderr, rule) || !strings.Contains(stderr, event) || strings.Contains(stderr, "kubelets[0]") {
			t.Errorf("%s: standard error has\n%s", command, stderr)
		}
	}
	_, _, stderr := call(2, false, append([]string{"suggest", "--deadline", "1h"}, common...)...)
	if strings.Count(stderr, rule) != 1 || strings.Count(stderr, event) != 1 {
		t.Errorf("suggest: standard error has\n%s", stderr)
	}
	var errs strings.Builder
	p := program{Stderr: &errs}
	some := func(label string, unused ...[]string) *outcome {
		o := &outcome{candidate: &candidate{Label: label}}
		for _, paths := range unused {
			o.Reports = append(o.Reports, simulate.Report{Unused: paths})
		}
		return o
	}
	p.warnUnused(&experiment{question: question{World: "w"}}, []*outcome{
		some("a", []string{"model.kubelets[0]", "events[1]"}, []string{"events[1]"}), some("b", []string{"model.kubelets[3]"}, []string{"model.kubelets[3]"}),
	})
	want := "w: events[1]: this event happened to no node of a\nw: model.kubelets[3]: this rule applied to no pod of b\n"
	if errs.String() != want {
		t.Errorf("got\n%swant\n%s", errs.String(), want)
	}
}

// Zones of one region differ at the end of their names.
func TestZoneNamesDiffer(t *testing.T) {
	style := textStyle(textSize-1, false)
	for _, names := range [][]string{
		{"northamerica-northeast1-a", "northamerica-northeast1-b", "northamerica-northeast1-c"},
		{"northamerica-northeast1-a", "northamerica-southeast1-a", "no zone"},
		{"northamerica-northeast1-a", "northamerica-southeast1-a"},
		{"a-zone-with-a-very-long-name-1", "another-zone-with-a-very-long-name-2"},
		{"a", "b"}, {strings.Repeat("x", 100)}, {""},
	} {
		got := fitted(style, zoneWidth, names...)
		for i, name := range got {
			if style.Width(name) > zoneWidth || slices.Contains(got[:i], name) {
				t.Errorf("%q are shown as %q", names, got)
			}
		}
	}
	for _, tt := range []struct{ names, want []string }{
		{[]string{"northamerica-northeast1-a", "us-east1-b"}, []string{"northame…heast1-a", "us-east1-b"}},
		{[]string{"northamerica-northeast1-a", "northamerica-southeast1-a", "us-east1-b"}, []string{"north…northeast1-a", "north…southeast1-a", "us-east1-b"}},
	} {
		if got := fitted(style, zoneWidth, tt.names...); !slices.Equal(got, tt.want) {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
	if got := fitted(style, zoneWidth, "eu-west-1a", "eu-west-1b"); got[0] != "eu-west-1a" {
		t.Errorf("what fits became %q", got)
	}
}

// Marks of different nodes differ, and say all of what happened as far as there is room.
func TestMarksOfNodesDiffer(t *testing.T) {
	style := textStyle(textSize-1, false)
	marks := []mark{
		{What: "lost (NotReady)", Nodes: 1, Node: "ip-10-0-1-17.eu-central-1.compute.internal"},
		{What: "lost (NotReady)", Nodes: 1, Node: "ip-10-0-1-18.eu-central-1.compute.internal"},
		{What: "lost (NotReady)", Nodes: 3, Node: "ip-10-0-1-19.eu-central-1.compute.internal"},
		{What: "spec changed"},
	}
	want := []string{"0s ip-10-0-1-17… lost (NotReady)", "0s ip-10-0-1-18… lost (NotReady)", "0s 3 nodes lost (NotReady)", "0s spec changed"}
	if got := markTexts(style, 180, marks); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestKnobOf(t *testing.T) {
	count := func(n int32) *intstr.IntOrString { v := intstr.FromInt32(n); return &v }
	percent := func(s string) *intstr.IntOrString { v := intstr.FromString(s); return &v }
	for _, tt := range []struct {
		name, why string
		strategy  rollout.Strategy
		want      simulate.Knob
	}{
		{"default", "one node at a time", rollout.Strategy{}, simulate.KnobMaxUnavailable},
		{"surge", "maxUnavailable is 0", rollout.Strategy{MaxSurge: percent("5%")}, simulate.KnobMaxSurge},
		{"surge of nothing", "an ExtendedDaemonSet has none", rollout.Strategy{MaxSurge: count(0)}, simulate.KnobMaxUnavailable},
		{"steep", "maxUnavailable is reached at once", rollout.Strategy{SlowStart: &rollout.SlowStart{Increase: count(5)}, MaxUnavailable: percent("5%")},
			simulate.KnobMaxUnavailable},
		{"slow", "more than its steps are never down", rollout.Strategy{SlowStart: &rollout.SlowStart{Increase: count(4)}, MaxUnavailable: percent("5%")},
			simulate.KnobSlowStart},
		{"wrong", "New says so", rollout.Strategy{MaxUnavailable: percent("x")}, simulate.KnobMaxUnavailable},
	} {
		if got := knobOf(rollout.Spec{Strategy: tt.strategy}, 100); got != tt.want || tt.why == "" {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
	args := []string{"suggest", "--nodes", "6", "--from", oldManifest, "--world", worldFileIn, "--seeds", "2", "--deadline", "1h", "--spec", surging}
	if got := answer(t, args...); !strings.Contains(got, "\nmaxSurge 1 meets 1h00m.\nThe knob that was turned is maxSurge, which ") {
		t.Errorf("got %s", got)
	}
	if got := answer(t, append(args, "--knob", "maxUnavailable")...); !strings.Contains(got, "is maxUnavailable, as --knob says.") {
		t.Errorf("got %s", got)
	}
}
