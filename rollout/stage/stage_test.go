package stage_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/daemonplan/daemonplan/rollout/stage"
)

func quantity(s string) *intstr.IntOrString { return new(intstr.Parse(s)) }

func selecting(key, value string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{key: value}}
}

const (
	notDNS = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an " +
		"alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
	notLabel = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric " +
		"character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)

func TestValidate(t *testing.T) {
	ring := stage.Stage{Name: "ring", Selector: selecting("ring", "0"), Tolerance: quantity("10%"), Soak: time.Hour, Approval: true}
	zones := stage.Stage{Name: "zones", Key: "topology.kubernetes.io/zone"}
	for _, c := range []struct {
		name, why string
		stages    []stage.Stage
		approved  []stage.Approval
		want      []string
	}{
		{"all fields", "they are valid", []stage.Stage{ring, zones}, []stage.Approval{
			{Stage: "ring", Revision: "abc"}, {Stage: "zones", Value: "a", Revision: "abc"}, {Stage: "zones", Revision: "abc"},
		}, nil},
		{"the name alone", "all others have defaults", []stage.Stage{{Name: "all"}}, nil, nil},
		{"no name", "approvals name it", []stage.Stage{{}}, nil, []string{
			"policy.stages[0].name: Required value: every stage needs a name, by which approvals name it",
		}},
		{"name", "it is a DNS label", []stage.Stage{{Name: "Ring 0"}}, nil, []string{
			`policy.stages[0].name: Invalid value: "Ring 0": ` + notDNS,
		}},
		{"a name twice", "names are unique", []stage.Stage{ring, zones, ring}, nil, []string{
			`policy.stages[2].name: Duplicate value: "ring"`,
		}},
		{"key", "it is a label", []stage.Stage{{Name: "zones", Key: "no label"}}, nil, []string{
			`policy.stages[0].key: Invalid value: "no label": ` + notLabel,
		}},
		{"selector", "an operator that there is not", []stage.Stage{{Name: "ring", Selector: &metav1.LabelSelector{
			MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Like"}},
		}}}, nil, []string{
			`policy.stages[0].selector.matchExpressions[0].operator: Invalid value: "Like": not a valid selector operator`,
		}},
		{"tolerance 0 and 99%", "the ends", []stage.Stage{{Name: "a", Tolerance: quantity("0")}, {Name: "b", Tolerance: quantity("99%")}}, nil, nil},
		{"tolerance 100%", "nothing would show that the revision works", []stage.Stage{{Name: "a", Tolerance: quantity("100%")}}, nil, []string{
			`policy.stages[0].tolerance: Invalid value: "100%": must not be more than 99%: at least one node has to show that the revision works`,
		}},
		{"tolerance -1", "it is a number of nodes", []stage.Stage{{Name: "a", Tolerance: quantity("-1")}}, nil, []string{
			`policy.stages[0].tolerance: Invalid value: "-1": must not be negative`,
		}},
		{"tolerance in words", "it is no number", []stage.Stage{{Name: "a", Tolerance: quantity("some")}}, nil, []string{
			`policy.stages[0].tolerance: Invalid value: "some": must be an integer or a percentage such as "10%"`,
		}},
		{"soak", "no time is negative", []stage.Stage{{Name: "a", Soak: -time.Second}}, nil, []string{
			`policy.stages[0].soak: Invalid value: "-1s": must not be negative`,
		}},
		{"too many", "64 are enough", numbered(stage.MaxStages + 1), nil, []string{"policy.stages: Too many: 65: must have at most 64 items"}},
		{"as many as may be", "", numbered(stage.MaxStages), nil, nil},
		{"approval of nothing", "it names a stage and a revision", []stage.Stage{ring}, []stage.Approval{{}}, []string{
			"policy.approved[0].stage: Required value: the name of the stage that is approved",
			"policy.approved[0].revision: Required value: the hash of the revision that is approved, or its name",
		}},
		{"approval of an unknown stage", "a typing mistake would wait for ever", []stage.Stage{ring}, []stage.Approval{{Stage: "rings", Revision: "abc"}}, []string{
			`policy.approved[0].stage: Not found: "rings"`,
		}},
		{"approval of a value", "the stage has one part", []stage.Stage{ring}, []stage.Approval{{Stage: "ring", Value: "a", Revision: "abc"}}, []string{
			`policy.approved[0].value: Invalid value: "a": must be unset: the stage has no key, and so only one part`,
		}},
		{"approval of any revision", "nobody knows the next one", []stage.Stage{ring}, []stage.Approval{{Stage: "ring", Revision: "*"}}, []string{
			`policy.approved[0].revision: Invalid value: "*": must name one revision: a stage that any revision may enter needs no approval`,
		}},
		{"all at once", "every mistake is reported", []stage.Stage{{Soak: -1}, {Name: "a", Key: "b c"}}, []stage.Approval{{Stage: "c", Revision: "*"}}, []string{
			"policy.stages[0].name: Required value: every stage needs a name, by which approvals name it",
			`policy.stages[0].soak: Invalid value: "-1ns": must not be negative`,
			`policy.stages[1].key: Invalid value: "b c": ` + notLabel,
			`policy.approved[0].stage: Not found: "c"`,
			`policy.approved[0].revision: Invalid value: "*": must name one revision: a stage that any revision may enter needs no approval`,
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got, ofStages []string
			for _, err := range stage.Validate(c.stages, c.approved, field.NewPath("policy")) {
				got = append(got, err.Error())
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s, -want +got:\n%s", c.why, diff)
			}
			for _, err := range c.want {
				if strings.HasPrefix(err, "policy.stages") {
					ofStages = append(ofStages, strings.TrimPrefix(err, "policy."))
				}
			}
			s, err := stage.Compile(c.stages)
			if (err != nil) != (len(ofStages) > 0) || err == nil && s.Len() != len(c.stages) {
				t.Errorf("Compile: %v, %v; want %v", s, err, ofStages)
			}
		})
	}
	if s, err := stage.Compile(nil); s != nil || err != nil || s.Len() != 0 {
		t.Errorf("none: %v, %v", s, err)
	}
}

func numbered(n int) []stage.Stage {
	var list []stage.Stage
	for i := range n {
		list = append(list, stage.Stage{Name: fmt.Sprint("s", i)})
	}
	return list
}

func TestDeepCopy(t *testing.T) {
	of := stage.Stage{Name: "ring", Selector: selecting("a", "b"), Tolerance: quantity("1")}
	same := of.DeepCopy()
	if diff := cmp.Diff(of, same); diff != "" {
		t.Error(diff)
	}
	same.Selector.MatchLabels["a"] = "c"
	*same.Tolerance = *quantity("2")
	if of.Selector.MatchLabels["a"] != "b" || of.Tolerance.IntValue() != 1 {
		t.Errorf("the copy shares memory: %+v", of)
	}
	if empty := (stage.Stage{}).DeepCopy(); empty.Tolerance != nil || empty.Selector != nil {
		t.Errorf("the copy of an empty stage is %+v", empty)
	}
}

// What is compiled does not change when the caller writes the stages.
func TestCompileCopies(t *testing.T) {
	list := []stage.Stage{{Name: "ring", Selector: selecting("ring", "0"), Tolerance: quantity("1")}}
	s := compile(t, list...)
	list[0].Selector.MatchLabels["ring"] = "1"
	if part := s.NewParts().Of(map[string]string{"ring": "0"}); s.NewParts().Part(part).Stage != 0 {
		t.Error("the stages share memory with the caller")
	}
}

func compile(t interface{ Fatal(...any) }, stages ...stage.Stage) *stage.Stages {
	s, err := stage.Compile(stages)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Nodes are in the first stage that selects them; with a key in a part for each value, and else in the rest.
func TestParts(t *testing.T) {
	s := compile(t,
		stage.Stage{Name: "first", Selector: selecting("ring", "0")},
		stage.Stage{Name: "gpu", Selector: selecting("pool", "gpu"), Key: "zone"},
		stage.Stage{Name: "last", Selector: selecting("ring", "1")},
	)
	parts := s.NewParts()
	if n := parts.Len(); n != 3 {
		t.Errorf("there are %d parts before any node, want one for each stage without a key, and the rest", n)
	}
	for _, c := range []struct {
		labels map[string]string
		want   stage.Part
	}{
		{map[string]string{"ring": "0", "pool": "gpu", "zone": "a"}, stage.Part{Stage: 0}}, // the first that selects it
		{map[string]string{"ring": "1", "pool": "gpu", "zone": "a"}, stage.Part{Stage: 1, Value: "a"}},
		{map[string]string{"pool": "gpu", "zone": "b"}, stage.Part{Stage: 1, Value: "b"}},
		{map[string]string{"pool": "gpu"}, stage.Part{Stage: 1}},
		{map[string]string{"pool": "gpu", "zone": ""}, stage.Part{Stage: 1}}, // the same as without the label
		{map[string]string{"ring": "1", "zone": "a"}, stage.Part{Stage: 2}},  // it has no key
		{map[string]string{"zone": "a"}, stage.Part{Stage: 3}},
		{nil, stage.Part{Stage: 3}},
		{map[string]string{"pool": "gpu", "zone": "a"}, stage.Part{Stage: 1, Value: "a"}},
	} {
		ordinal := parts.Of(c.labels)
		if got := parts.Part(ordinal); got != c.want {
			t.Errorf("%v are in part %+v, want %+v", c.labels, got, c.want)
		}
		if again := parts.Of(c.labels); again != ordinal {
			t.Errorf("%v are in part %d, then in %d", c.labels, ordinal, again)
		}
	}
	if n := parts.Len(); n != 6 {
		t.Errorf("there are %d parts, want 6", n)
	}
	clone := parts.Clone()
	if diff := cmp.Diff(parts.Order(), clone.Order()); diff != "" {
		t.Errorf("a clone is in another order: %s", diff)
	}
	if n := clone.Of(map[string]string{"pool": "gpu", "zone": "new"}); n != 6 || parts.Len() != 6 || clone.Len() != 7 {
		t.Errorf("a clone numbers a new part %d, has %d parts, and what it was made from has %d", n, clone.Len(), parts.Len())
	}
	if n := parts.Of(map[string]string{"pool": "gpu", "zone": "other"}); n != 6 || clone.Part(6).Value != "new" {
		t.Errorf("what a clone was made from numbers a new part %d; the clone's is %q", n, clone.Part(6).Value)
	}
	none := (*stage.Stages)(nil).NewParts()
	if none.Of(map[string]string{"ring": "0"}) != 0 || none.Len() != 1 {
		t.Error("without stages not all nodes are in one part")
	}
	all := compile(t, stage.Stage{Name: "all"}, stage.Stage{Name: "never", Key: "zone"}).NewParts()
	if part := all.Part(all.Of(map[string]string{"zone": "a"})); part.Stage != 0 {
		t.Errorf("a stage without a selector does not select all that are left: %+v", part)
	}
}

// Integers by number, texts by their bytes, nodes without the label last; stages as they are listed, whatever comes first.
func TestOrder(t *testing.T) {
	parts := compile(t, stage.Stage{Name: "zones", Selector: selecting("in", "zones"), Key: "zone"}, stage.Stage{Name: "racks", Key: "rack"}).NewParts()
	inOrder := []stage.Part{
		{Stage: 0, Value: "0"}, {Stage: 0, Value: "01"}, {Stage: 0, Value: "1"}, {Stage: 0, Value: "2"}, {Stage: 0, Value: "10"},
		{Stage: 0, Value: "00011"}, {Stage: 0, Value: "99999999999999999999998"}, {Stage: 0, Value: "99999999999999999999999"},
		{Stage: 0, Value: "-1"}, {Stage: 0, Value: "1.5"}, {Stage: 0, Value: "A"}, {Stage: 0, Value: "a"}, {Stage: 0, Value: "a-10"},
		{Stage: 0, Value: "a-9"}, {Stage: 0, Value: "b"}, {Stage: 0},
		{Stage: 1, Value: "2"}, {Stage: 1, Value: "b"}, {Stage: 1}, {Stage: 2},
	}
	for _, part := range []int{15, 3, 19, 18, 0, 11, 7, 6, 5, 16, 10, 9, 8, 2, 1, 4, 12, 17, 14, 13} {
		in := map[string]string{"rack": inOrder[part].Value}
		if inOrder[part].Stage == 0 {
			in = map[string]string{"in": "zones", "zone": inOrder[part].Value}
		}
		parts.Of(in)
	}
	var got []stage.Part
	for _, ordinal := range parts.Order() {
		got = append(got, parts.Part(ordinal))
	}
	if diff := cmp.Diff(inOrder, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestPhases(t *testing.T) {
	var names, open []string
	for p := stage.Phase(0); p.String() != "unknown"; p++ {
		names = append(names, p.String())
		if p.IsOpen() {
			open = append(open, p.String())
		}
		text, err := p.MarshalText()
		var back stage.Phase
		if err != nil || back.UnmarshalText(text) != nil || back != p {
			t.Errorf("%v is written %q, %v, and read as %v", p, text, err, back)
		}
	}
	if want := "Waiting Approving Open NoEvidence Soaking Done Skipped"; strings.Join(names, " ") != want {
		t.Errorf("phases %v, want %v", names, want)
	}
	if want := []string{"Open", "NoEvidence", "Soaking", "Done", "Skipped"}; !slices.Equal(open, want) {
		t.Errorf("open phases are %v, want %v", open, want)
	}
	if text, err := stage.Phase(99).MarshalText(); err == nil {
		t.Errorf("a phase that was never declared is written %q", text)
	}
	back := stage.Soaking
	if err := back.UnmarshalText([]byte("Sleeping")); err == nil || back != stage.Soaking {
		t.Errorf("an unknown name is read as %v, %v", back, err)
	}
	if (*stage.Phase)(nil).UnmarshalText([]byte("Open")) == nil {
		t.Error("a name is read into nothing")
	}
}

// Facts about parts are kept only for the same stages: Judge reads of them all that is here.
func TestEqual(t *testing.T) {
	of := stage.Stage{Name: "ring", Selector: selecting("ring", "0")}
	one := compile(t, of)
	with := func(change func(*stage.Stage)) *stage.Stages {
		s := of.DeepCopy()
		change(&s)
		return compile(t, s)
	}
	for name, c := range map[string]struct {
		other *stage.Stages
		want  bool
	}{
		"itself":            {one, true},
		"the same":          {compile(t, of), true},
		"tolerance 0":       {with(func(s *stage.Stage) { s.Tolerance = quantity("0") }), true}, // the default
		"two":               {compile(t, of, stage.Stage{Name: "more"}), false},
		"none":              {nil, false},
		"another name":      {with(func(s *stage.Stage) { s.Name = "other" }), false},
		"a key":             {with(func(s *stage.Stage) { s.Key = "zone" }), false},
		"a soak":            {with(func(s *stage.Stage) { s.Soak = 1 }), false},
		"an approval":       {with(func(s *stage.Stage) { s.Approval = true }), false},
		"a tolerance":       {with(func(s *stage.Stage) { s.Tolerance = quantity("1") }), false},
		"another selector":  {with(func(s *stage.Stage) { s.Selector = selecting("ring", "1") }), false},
		"without selector":  {with(func(s *stage.Stage) { s.Selector = nil }), false},
		"an empty selector": {with(func(s *stage.Stage) { s.Selector = &metav1.LabelSelector{} }), false},
	} {
		if got, back := one.Equal(c.other), c.other.Equal(one); got != c.want || back != c.want {
			t.Errorf("%s: %t, and the other way round %t; want %t", name, got, back, c.want)
		}
	}
	if none := (*stage.Stages)(nil); !none.Equal(nil) || !compile(t, stage.Stage{Name: "a"}).Equal(compile(t, stage.Stage{Name: "a", Selector: &metav1.LabelSelector{}})) {
		t.Error("no stages differ from none, or a nil selector from an empty one")
	}
}
