package stage_test

import (
	"cmp"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	_ "github.com/daemonplan/daemonplan/internal/fixedseed"
	"github.com/daemonplan/daemonplan/rollout/stage"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// picture is a fleet in stages: one or more parts for each stage, with how their nodes stand.
type picture struct {
	stages []stage.Stage
	counts map[stage.Part]stage.Count
	in     stage.Input
}

// judged numbers the parts of the picture, and judges them.
func (p picture) judged(t interface{ Fatal(...any) }) (*stage.Parts, stage.Judgement) {
	parts := compile(t, p.stages...).NewParts()
	for _, part := range slices.SortedFunc(mapKeys(p.counts), func(a, b stage.Part) int { return cmp.Compare(b.Value, a.Value) }) {
		parts.Of(labelsOf(part))
	}
	in := p.in
	in.Counts = make([]stage.Count, parts.Len())
	for i := range in.Counts {
		in.Counts[i] = p.counts[parts.Part(int32(i))]
	}
	return parts, stage.Judge(parts, in)
}

// labelsOf are those of a node in the part, if the stages of pictures select by the label "stage".
func labelsOf(part stage.Part) map[string]string {
	set := map[string]string{"stage": strconv.Itoa(int(part.Stage))}
	if part.Value != "" {
		set["zone"] = part.Value
	}
	return set
}

func mapKeys[K comparable, V any](m map[K]V) func(func(K) bool) {
	return func(yield func(K) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// written is a judgement in lines: each part with its phase, the frontier, and what else there is.
func written(parts *stage.Parts, j stage.Judgement) []string {
	var lines []string
	for _, s := range j.States {
		part := parts.Part(s.Part)
		line := fmt.Sprintf("%d/%s %s", part.Stage, part.Value, s.Phase)
		if !s.Done.IsZero() {
			line += " done " + s.Done.Format(time.TimeOnly)
		}
		if !s.Until.IsZero() {
			line += " until " + s.Until.Format(time.TimeOnly)
		}
		lines = append(lines, line)
	}
	if f := j.Frontier; !f.At.IsZero() {
		lines = append(lines, fmt.Sprintf("frontier %s/%s at %s", f.Stage, f.Value, f.At.Format(time.TimeOnly)))
	}
	if j.Completed {
		lines = append(lines, "completed")
	}
	if !j.Wake.IsZero() {
		lines = append(lines, "wake "+j.Wake.Format(time.TimeOnly))
	}
	for _, a := range j.Stale {
		lines = append(lines, "stale "+a.Stage+"/"+a.Value+"/"+a.Revision)
	}
	return lines
}

func TestJudge(t *testing.T) {
	done, half, down := stage.Count{Nodes: 2, Settled: 2}, stage.Count{Nodes: 2, Settled: 1, Behind: 1}, stage.Count{Nodes: 2, Settled: 1, Unavailable: 1}
	behind, held, exempt := stage.Count{Nodes: 2, Behind: 2}, stage.Count{Nodes: 2, Held: 2}, stage.Count{Nodes: 2, Exempt: 2}
	soaking := func(s stage.Stage) stage.Stage { s.Soak = time.Hour; return s }
	approved := func(s stage.Stage) stage.Stage { s.Approval = true; return s }
	tolerant := func(s stage.Stage, q string) stage.Stage { s.Tolerance = quantity(q); return s }
	plain := func(name string, place int) stage.Stage {
		return stage.Stage{Name: name, Selector: selecting("stage", strconv.Itoa(place))}
	}
	a, b := plain("a", 0), plain("b", 1)
	keyed := stage.Stage{Name: "zones", Selector: selecting("stage", "0"), Key: "zone"}
	// three are the counts of stages a and b and the rest.
	three := func(a, b, rest stage.Count) map[stage.Part]stage.Count {
		return map[stage.Part]stage.Count{{Stage: 0}: a, {Stage: 1}: b, {Stage: 2}: rest}
	}
	zones := func(counts ...stage.Count) map[stage.Part]stage.Count {
		m := map[stage.Part]stage.Count{}
		for i, c := range counts {
			m[stage.Part{Value: strconv.Itoa(i)}] = c
		}
		return m
	}
	at := func(name, value string, since time.Duration) stage.Frontier {
		return stage.Frontier{Stage: name, Value: value, At: noon.Add(-since)}
	}
	for _, c := range []struct {
		name, why string
		picture   picture
		want      string
	}{
		{
			"the first part", "is open, all others wait", picture{[]stage.Stage{a, b}, three(behind, behind, behind), stage.Input{}},
			"0/ Open|1/ Waiting|2/ Waiting",
		},
		{
			"done", "the next one opens, if there is nothing to soak", picture{[]stage.Stage{a, b}, three(done, half, behind), stage.Input{}},
			"0/ Done done 12:00:00|1/ Open|2/ Waiting|frontier a/ at 12:00:00",
		},
		{
			"all done", "the rollout is completed", picture{[]stage.Stage{a, b}, three(done, done, done), stage.Input{}},
			"0/ Done|1/ Done|2/ Done done 12:00:00|frontier / at 12:00:00|completed",
		},
		{
			"soak", "from now, as nobody has seen it done before", picture{[]stage.Stage{soaking(a), b}, three(done, behind, behind), stage.Input{}},
			"0/ Soaking done 12:00:00 until 13:00:00|1/ Waiting until 13:00:00|2/ Waiting|frontier a/ at 12:00:00|wake 13:00:00",
		},
		{
			"soak goes on", "from when it was first seen", picture{[]stage.Stage{soaking(a), b}, three(done, behind, behind), stage.Input{Frontier: at("a", "", time.Hour-1)}},
			"0/ Soaking done 11:00:00 until 12:00:00|1/ Waiting until 12:00:00|2/ Waiting|frontier a/ at 11:00:00|wake 12:00:00",
		},
		{
			"soaked", "to the instant", picture{[]stage.Stage{soaking(a), b}, three(down, behind, behind), stage.Input{Frontier: at("a", "", time.Hour)}},
			"0/ Done done 11:00:00|1/ Open|2/ Waiting|frontier a/ at 11:00:00",
		},
		{
			"the last soak", "nothing waits for it", picture{[]stage.Stage{a, soaking(b)}, map[stage.Part]stage.Count{{Stage: 0}: done, {Stage: 1}: done}, stage.Input{}},
			"0/ Done|1/ Done done 12:00:00|2/ Skipped|frontier b/ at 12:00:00|completed",
		},
		{
			"approval", "comes after the soak", picture{[]stage.Stage{soaking(a), approved(b)}, three(done, behind, behind), stage.Input{Frontier: at("a", "", time.Minute)}},
			"0/ Soaking done 11:59:00 until 12:59:00|1/ Waiting until 12:59:00|2/ Waiting|frontier a/ at 11:59:00|wake 12:59:00",
		},
		{
			"no approval", "the clock does not give it", picture{[]stage.Stage{soaking(a), approved(b)}, three(done, behind, behind), stage.Input{Frontier: at("a", "", time.Hour)}},
			"0/ Done done 11:00:00|1/ Approving|2/ Waiting|frontier a/ at 11:00:00",
		},
		{
			"approved by hash", "", picture{[]stage.Stage{approved(a), b}, three(behind, behind, behind), stage.Input{Approved: []stage.Approval{{Stage: "a", Revision: "hash"}}}},
			"0/ Open|1/ Waiting|2/ Waiting",
		},
		{
			"approved by name", "", picture{[]stage.Stage{approved(a), b}, three(behind, behind, behind), stage.Input{Approved: []stage.Approval{{Stage: "a", Revision: "set-hash"}}}},
			"0/ Open|1/ Waiting|2/ Waiting",
		},
		{
			"approvals of others", "they are for one stage and one revision", picture{[]stage.Stage{approved(a), b}, three(behind, behind, behind), stage.Input{
				Approved: []stage.Approval{{Stage: "b", Revision: "hash"}, {Stage: "a", Revision: "old"}},
			}},
			"0/ Approving|1/ Waiting|2/ Waiting|stale a//old",
		},
		{
			"approval of one value", "each part needs one", picture{[]stage.Stage{approved(keyed)}, zones(done, behind, behind), stage.Input{
				Approved: []stage.Approval{{Stage: "zones", Value: "1", Revision: "hash"}}, Frontier: at("zones", "0", time.Minute),
			}},
			"0/0 Done done 11:59:00|0/1 Open|0/2 Waiting|1/ Skipped|frontier zones/0 at 11:59:00",
		},
		{
			"approval is taken back", "what is done stays so", picture{[]stage.Stage{approved(keyed)}, zones(done, half, behind), stage.Input{Frontier: at("zones", "0", time.Minute)}},
			"0/0 Done done 11:59:00|0/1 Approving|0/2 Waiting|1/ Skipped|frontier zones/0 at 11:59:00",
		},
		{
			"done without approval", "it could not have been opened, and is not seen done", picture{[]stage.Stage{a, approved(b)}, three(done, done, behind), stage.Input{Frontier: at("a", "", time.Minute)}},
			"0/ Done done 11:59:00|1/ Approving|2/ Waiting|frontier a/ at 11:59:00",
		},
		{
			"empty", "skipped, with its soak and its approval", picture{[]stage.Stage{soaking(approved(a)), b}, three(stage.Count{}, behind, behind), stage.Input{}},
			"0/ Skipped|1/ Open|2/ Waiting",
		},
		{
			"held", "likewise", picture{[]stage.Stage{a, soaking(approved(b))}, three(done, held, behind), stage.Input{}},
			"0/ Done done 12:00:00|1/ Skipped|2/ Open|frontier a/ at 12:00:00",
		},
		{
			"skipped after one that is not done", "it is closed until its turn comes", picture{[]stage.Stage{a, b}, three(behind, held, behind), stage.Input{}},
			"0/ Open|1/ Waiting|2/ Waiting",
		},
		{
			"no node but one that may only keep its pod, and is left out", "the revision may have broken it", picture{[]stage.Stage{a, b}, three(stage.Count{Exempt: 1}, behind, behind), stage.Input{}},
			"0/ NoEvidence|1/ Waiting|2/ Waiting",
		},
		{
			"held, and one is down that may only keep its pod", "the revision may have broken it", picture{[]stage.Stage{a, b}, three(stage.Count{Nodes: 2, Held: 2, Unavailable: 1}, behind, behind), stage.Input{}},
			"0/ Open|1/ Waiting|2/ Waiting",
		},
		{
			"all are left out", "nothing shows that the revision works", picture{[]stage.Stage{a, b}, three(exempt, behind, behind), stage.Input{}},
			"0/ NoEvidence|1/ Waiting|2/ Waiting",
		},
		{
			"one unavailable", "tolerance is 0", picture{[]stage.Stage{a, b}, three(down, behind, behind), stage.Input{}},
			"0/ Open|1/ Waiting|2/ Waiting",
		},
		{
			"one tolerated", "", picture{[]stage.Stage{tolerant(a, "1"), b}, three(down, behind, behind), stage.Input{}},
			"0/ Done done 12:00:00|1/ Open|2/ Waiting|frontier a/ at 12:00:00",
		},
		{
			"half of two", "50% of two is one", picture{[]stage.Stage{tolerant(a, "50%"), b}, three(down, behind, behind), stage.Input{}},
			"0/ Done done 12:00:00|1/ Open|2/ Waiting|frontier a/ at 12:00:00",
		},
		{
			"less than half of two", "49% of two is none", picture{[]stage.Stage{tolerant(a, "49%"), b}, three(down, behind, behind), stage.Input{}},
			"0/ Open|1/ Waiting|2/ Waiting",
		},
		{
			"percentages are of those that count", "those that are left out do not", picture{[]stage.Stage{tolerant(a, "50%"), b}, three(stage.Count{Nodes: 9, Settled: 1, Unavailable: 2, Exempt: 6}, behind, behind), stage.Input{}},
			"0/ Open|1/ Waiting|2/ Waiting",
		},
		{
			"none settled", "tolerance is no evidence", picture{[]stage.Stage{tolerant(a, "9"), b}, three(stage.Count{Nodes: 1, Unavailable: 1}, behind, behind), stage.Input{}},
			"0/ Open|1/ Waiting|2/ Waiting",
		},
		{
			"one behind", "tolerance is not for that", picture{[]stage.Stage{tolerant(a, "9"), b}, three(half, behind, behind), stage.Input{}},
			"0/ Open|1/ Waiting|2/ Waiting",
		},
		{
			"lost", "all parts pass anew: what nodes have is no evidence that a part was open", picture{[]stage.Stage{soaking(keyed)}, zones(done, done, half, done), stage.Input{}},
			"0/0 Soaking done 12:00:00 until 13:00:00|0/1 Waiting until 13:00:00|0/2 Waiting|0/3 Waiting|1/ Skipped|frontier zones/0 at 12:00:00|wake 13:00:00",
		},
		{
			"lost, without an approval", "each part needs its approval again", picture{[]stage.Stage{approved(keyed)}, zones(done, half), stage.Input{}},
			"0/0 Approving|0/1 Waiting|1/ Skipped",
		},
		{
			"all departing or tainted", "they may come back, and nothing shows that the revision works", picture{[]stage.Stage{a, b}, three(stage.Count{Nodes: 1, Away: 2}, behind, behind), stage.Input{}},
			"0/ NoEvidence|1/ Waiting|2/ Waiting",
		},
		{
			"taints bar all nodes", "they may come back", picture{[]stage.Stage{a, b}, three(stage.Count{Barred: 2}, behind, behind), stage.Input{}},
			"0/ NoEvidence|1/ Waiting|2/ Waiting",
		},
		{
			"taints bar all nodes of the last parts", "no part waits for them, once their turn has come", picture{[]stage.Stage{soaking(a), b}, three(done, stage.Count{Barred: 1}, stage.Count{Barred: 2}), stage.Input{Frontier: at("a", "", time.Hour)}},
			"0/ Done done 11:00:00|1/ Skipped|2/ Skipped|frontier a/ at 11:00:00|completed",
		},
		{
			"taints bar the last part while one before soaks", "its turn has not come", picture{[]stage.Stage{soaking(a)}, map[stage.Part]stage.Count{{}: done, {Stage: 1}: {Barred: 2}}, stage.Input{}},
			"0/ Soaking done 12:00:00 until 13:00:00|1/ Waiting until 13:00:00|frontier a/ at 12:00:00|wake 13:00:00",
		},
		{
			"none can be updated in place", "InPlaceOnly is no reason to skip", picture{[]stage.Stage{a, b}, three(stage.Count{Nodes: 2, Obstructed: 2}, behind, behind), stage.Input{}},
			"0/ NoEvidence|1/ Waiting|2/ Waiting",
		},
		{
			"the stage is gone", "the frontier is lost", picture{[]stage.Stage{a, b}, three(down, behind, behind), stage.Input{Frontier: at("gone", "", time.Hour)}},
			"0/ Open|1/ Waiting|2/ Waiting",
		},
		{
			"the part is gone", "the ones before are done", picture{[]stage.Stage{keyed}, map[stage.Part]stage.Count{{Value: "0"}: down, {Value: "2"}: behind, {Value: "3"}: behind}, stage.Input{
				Frontier: at("zones", "1", time.Hour),
			}},
			"0/0 Done|0/2 Open|0/3 Waiting|1/ Skipped|frontier zones/1 at 11:00:00",
		},
		{
			"a part that is new before the frontier", "it is begun at once", picture{[]stage.Stage{soaking(keyed)}, zones(behind, done, behind), stage.Input{Frontier: at("zones", "1", time.Hour)}},
			"0/0 Done|0/1 Done done 11:00:00|0/2 Open|1/ Skipped|frontier zones/1 at 11:00:00",
		},
		{
			"a clock set back", "what is to come counts as now", picture{[]stage.Stage{soaking(a), b}, three(done, behind, behind), stage.Input{Frontier: at("a", "", -time.Hour)}},
			"0/ Soaking done 12:00:00 until 13:00:00|1/ Waiting until 13:00:00|2/ Waiting|frontier a/ at 12:00:00|wake 13:00:00",
		},
		{
			"all open", "no stage keeps anything waiting, and the frontier moves along", picture{[]stage.Stage{soaking(a), approved(b)}, three(done, half, done), stage.Input{AllOpen: true}},
			"0/ Done done 12:00:00|1/ Open|2/ Open|frontier a/ at 12:00:00",
		},
		{
			"all open and done", "likewise", picture{[]stage.Stage{soaking(a), approved(b)}, three(done, done, done), stage.Input{AllOpen: true}},
			"0/ Done|1/ Done|2/ Done done 12:00:00|frontier / at 12:00:00|completed",
		},
		{
			"nothing at all", "no part is done", picture{[]stage.Stage{a}, nil, stage.Input{}},
			"0/ Skipped|1/ Skipped",
		},
		{
			"all gone since", "a part was done", picture{[]stage.Stage{a}, nil, stage.Input{Frontier: at("a", "", time.Hour)}},
			"0/ Skipped|1/ Skipped|frontier a/ at 11:00:00|completed",
		},
		{
			"without stages", "the fleet is one part", picture{nil, map[stage.Part]stage.Count{{}: half}, stage.Input{}},
			"0/ Open",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.picture.in.Now, c.picture.in.Revision, c.picture.in.Name = noon, "hash", "set-hash"
			got := written(c.picture.judged(t))
			if diff := gocmp.Diff(strings.Split(c.want, "|"), got); diff != "" {
				t.Errorf("%s, -want +got:\n%s", c.why, diff)
			}
		})
	}
}

// Counts that are missing are those of parts without nodes.
func TestJudgeWithoutCounts(t *testing.T) {
	parts := compile(t, stage.Stage{Name: "a", Selector: selecting("stage", "0")}).NewParts()
	j := stage.Judge(parts, stage.Input{Now: noon, Counts: []stage.Count{{Nodes: 1, Behind: 1}}})
	if diff := gocmp.Diff([]string{"0/ Open", "1/ Skipped"}, written(parts, j)); diff != "" {
		t.Error(diff)
	}
}

// TestJudgeAgreesWithTheRules compares judgements with what the rules say of each part by itself, over several judgements of one
// rollout, each of which gets the frontier of the one before, or a lost one.
func TestJudgeAgreesWithTheRules(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPicture(t)
		for range rapid.IntRange(1, 4).Draw(t, "judgements") {
			want := byRules(p)
			parts, got := p.judged(t)
			if diff := gocmp.Diff(want, written(parts, got)); diff != "" {
				t.Fatalf("%+v\n-want +got:\n%s", p, diff)
			}
			if before := p.in.Frontier; isRemembered(p, before) && placeOf(p, got.Frontier).before(placeOf(p, before)) {
				t.Fatalf("the frontier goes back from %+v to %+v", before, got.Frontier)
			}
			p.in.Frontier = got.Frontier
			p.counts = drawCounts(t, p.stages)
			p.in.Now = p.in.Now.Add(drawTime(t, "later"))
			p.in.Approved = drawApprovals(t, p.stages)
		}
	})
}

func isRemembered(p picture, f stage.Frontier) bool {
	return !f.At.IsZero() && (f.Stage == "" || slices.ContainsFunc(p.stages, func(s stage.Stage) bool { return s.Name == f.Stage }))
}

var times = []time.Duration{0, 0, time.Minute, time.Hour - 1, time.Hour, time.Hour + 1, 2 * time.Hour}

func drawTime(t *rapid.T, label string) time.Duration { return rapid.SampledFrom(times).Draw(t, label) }

func drawPicture(t *rapid.T) picture {
	var p picture
	for i := range rapid.IntRange(0, 3).Draw(t, "stages") {
		s := stage.Stage{Name: string(rune('a' + i)), Selector: selecting("stage", strconv.Itoa(i))}
		s.Key = rapid.SampledFrom([]string{"", "zone"}).Draw(t, "key")
		s.Soak = rapid.SampledFrom([]time.Duration{0, 0, time.Minute, time.Hour}).Draw(t, "soak")
		s.Approval = rapid.SampledFrom([]bool{false, false, true}).Draw(t, "approval")
		if q := rapid.SampledFrom([]string{"", "0", "1", "2", "34%", "50%", "99%"}).Draw(t, "tolerance"); q != "" {
			s.Tolerance = quantity(q)
		}
		p.stages = append(p.stages, s)
	}
	p.counts = drawCounts(t, p.stages)
	p.in = stage.Input{Now: noon, Revision: "hash", Name: "set-hash", Approved: drawApprovals(t, p.stages)}
	p.in.AllOpen = rapid.SampledFrom([]bool{false, false, false, true}).Draw(t, "all open")
	if rapid.Bool().Draw(t, "remembered") {
		p.in.Frontier = stage.Frontier{
			Stage: rapid.SampledFrom([]string{"", "a", "b", "c", "gone"}).Draw(t, "frontier"),
			Value: rapid.SampledFrom(values).Draw(t, "frontier value"), At: noon.Add(-drawTime(t, "since")).Add(rapid.SampledFrom([]time.Duration{0, 0, time.Minute}).Draw(t, "ahead")),
		}
	}
	return p
}

var values = []string{"", "1", "9", "10", "x", "y"}

func drawCounts(t *rapid.T, stages []stage.Stage) map[stage.Part]stage.Count {
	counts := map[stage.Part]stage.Count{}
	for i := range len(stages) + 1 {
		if i == len(stages) || stages[i].Key == "" {
			counts[stage.Part{Stage: int32(i)}] = drawCount(t)
			continue
		}
		for _, value := range rapid.SliceOfNDistinct(rapid.SampledFrom(values), 0, 3, rapid.ID).Draw(t, "values") {
			counts[stage.Part{Stage: int32(i), Value: value}] = drawCount(t)
		}
	}
	return counts
}

func drawCount(t *rapid.T) stage.Count {
	few := func(label string) int32 { return rapid.SampledFrom([]int32{0, 0, 0, 1, 2}).Draw(t, label) }
	var c stage.Count
	switch rapid.SampledFrom([]string{"done", "done", "any", "none", "held", "barred"}).Draw(t, "count") {
	case "barred":
		c = stage.Count{Barred: 1, Held: few("held"), Away: few("away")}
	case "done":
		c = stage.Count{Settled: 1 + few("settled")}
	case "any":
		c = stage.Count{Held: few("held"), Exempt: few("exempt"), Settled: few("settled"), Unavailable: few("unavailable"), Behind: few("behind"), Obstructed: few("obstructed"), Away: few("away")}
	case "held":
		c = stage.Count{Held: 1, Exempt: few("exempt")}
	}
	c.Nodes = c.Held + c.Obstructed + c.Exempt + c.Settled + c.Behind + max(0, c.Unavailable-few("keep nodes"))
	return c
}

func drawApprovals(t *rapid.T, stages []stage.Stage) []stage.Approval {
	var list []stage.Approval
	for _, s := range stages {
		if a := (stage.Approval{Stage: s.Name}); rapid.Bool().Draw(t, "approved") {
			a.Revision = rapid.SampledFrom([]string{"hash", "hash", "set-hash", "old"}).Draw(t, "revision")
			if s.Key != "" {
				a.Value = rapid.SampledFrom(append([]string{"", ""}, values...)).Draw(t, "value")
			}
			list = append(list, a)
		}
	}
	return list
}

// place is where a part comes: by stage, then by value.
type place struct {
	stage int
	value string
}

// before compares values in words of its own: integers as numbers, before texts, before none.
func (a place) before(b place) bool {
	if a.stage != b.stage {
		return a.stage < b.stage
	}
	rank := func(s string) (int, *big.Int) {
		if s == "" {
			return 2, nil
		}
		if n, isNumber := new(big.Int).SetString(s, 10); isNumber && n.Sign() >= 0 && s[0] != '+' {
			return 0, n
		}
		return 1, nil
	}
	rankA, numberA := rank(a.value)
	rankB, numberB := rank(b.value)
	if rankA == 0 && rankB == 0 && numberA.Cmp(numberB) != 0 {
		return numberA.Cmp(numberB) < 0
	}
	return rankA < rankB || rankA == rankB && a.value < b.value
}

// placeOf is where the frontier is.
func placeOf(p picture, f stage.Frontier) place {
	i := slices.IndexFunc(p.stages, func(s stage.Stage) bool { return s.Name == f.Stage })
	if i < 0 {
		i = len(p.stages)
	}
	return place{i, f.Value}
}

// byRules finds what the rules say of each part, from what they say of the parts before it.
func byRules(p picture) []string {
	places := []place{}
	for part := range p.counts {
		places = append(places, place{int(part.Stage), part.Value})
	}
	slices.SortFunc(places, func(a, b place) int {
		switch {
		case a.before(b):
			return -1
		case b.before(a):
			return 1
		}
		return 0
	})
	stageOf := func(i int) stage.Stage {
		if i < len(p.stages) {
			return p.stages[i]
		}
		return stage.Stage{}
	}
	count := func(at place) stage.Count { return p.counts[stage.Part{Stage: int32(at.stage), Value: at.value}] }
	empty := func(at place) bool { c := count(at); return c.Nodes <= c.Held && c.Unavailable+c.Exempt+c.Away == 0 }
	skipped := func(at place) bool { return empty(at) && count(at).Barred == 0 }
	lasts := func(at place) bool { // no part behind has nodes
		return !slices.ContainsFunc(places, func(other place) bool { return at.before(other) && !empty(other) })
	}
	looksDone := func(at place) bool {
		c, tolerated := count(at), 0
		if q := stageOf(at.stage).Tolerance; q != nil {
			if tolerated = q.IntValue(); q.Type != 0 {
				percent, _ := strconv.Atoi(strings.TrimSuffix(q.StrVal, "%"))
				tolerated = percent * int(c.Settled+c.Unavailable+c.Behind) / 100
			}
		}
		return c.Settled > 0 && c.Behind == 0 && int(c.Unavailable) <= tolerated
	}
	// The frontier: as it is remembered, or before all parts.
	var frontier *place
	var since time.Time
	if isRemembered(p, p.in.Frontier) {
		at := placeOf(p, p.in.Frontier)
		frontier, since = &at, p.in.Frontier.At
		if since.After(p.in.Now) {
			since = p.in.Now
		}
	}
	passed := func(at place) bool { return frontier != nil && !frontier.before(at) }
	allowed := func(at place) (phase string, until time.Time) {
		if p.in.AllOpen {
			return "", until
		}
		if frontier != nil {
			if until = since.Add(stageOf(frontier.stage).Soak); until.After(p.in.Now) {
				return "Waiting", until
			}
		}
		s := stageOf(at.stage)
		if s.Approval && !slices.ContainsFunc(p.in.Approved, func(a stage.Approval) bool {
			return a.Stage == s.Name && (a.Value == "" || a.Value == at.value) && (a.Revision == "hash" || a.Revision == "set-hash")
		}) {
			return "Approving", time.Time{}
		}
		return "", time.Time{}
	}
	phases, untils := map[place]string{}, map[place]time.Time{}
	undone := false // a part before is not done
	var soaks time.Time
	for _, at := range places {
		switch {
		case skipped(at) && (passed(at) || !undone || p.in.AllOpen || count(at).Nodes == 0):
			phases[at] = "Skipped"
		case passed(at):
			phases[at] = "Done"
		case undone && !p.in.AllOpen:
			phases[at] = "Waiting"
		default:
			phase, until := allowed(at)
			switch {
			case phase != "":
				phases[at], untils[at], soaks = phase, until, until
				undone = true
			case empty(at) && lasts(at):
				phases[at] = "Skipped"
			case looksDone(at) && !undone:
				phases[at] = "Done"
				frontier, since = &at, p.in.Now
			case count(at).Settled+count(at).Unavailable+count(at).Behind == 0:
				phases[at], undone = "NoEvidence", true
			default:
				phases[at], undone = "Open", true
			}
		}
	}
	var lines []string
	for _, at := range places {
		phase, line := phases[at], ""
		if frontier != nil && at == *frontier && phase == "Done" {
			line = " done " + since.Format(time.TimeOnly)
			if !soaks.IsZero() {
				phase, line = "Soaking", line+" until "+soaks.Format(time.TimeOnly)
			}
		}
		if until := untils[at]; !until.IsZero() {
			line += " until " + until.Format(time.TimeOnly)
		}
		lines = append(lines, fmt.Sprintf("%d/%s %s%s", at.stage, at.value, phase, line))
	}
	if frontier != nil {
		lines = append(lines, fmt.Sprintf("frontier %s/%s at %s", stageOf(frontier.stage).Name, frontier.value, since.Format(time.TimeOnly)))
	}
	if frontier != nil && !undone {
		lines = append(lines, "completed")
	}
	if !soaks.IsZero() {
		lines = append(lines, "wake "+soaks.Format(time.TimeOnly))
	}
	for _, a := range p.in.Approved {
		if a.Revision == "old" {
			lines = append(lines, "stale "+a.Stage+"/"+a.Value+"/old")
		}
	}
	return lines
}
