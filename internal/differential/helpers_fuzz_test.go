package differential_test

import (
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"
)

// FuzzHelpers lets the fuzzer choose the comparison, and draw its input.
func FuzzHelpers(f *testing.F) {
	all := comparisons()
	f.Fuzz(rapid.MakeFuzz(func(t *rapid.T) {
		all[rapid.IntRange(0, len(all)-1).Draw(t, "comparison")].once(t)
	}))
}

// Quantities with such exponents take for ever to read, whoever reads them.
var slowQuantity = regexp.MustCompile(`[eE][+-]?[0-9]{4,}`)

// message is objects as they are written down: JSON, or protobuf, which has what no generator thinks of, like text that is
// no UTF-8, fields in any order, and empty fields that are there.
type message struct {
	Binary         bool
	Template, Node []byte
	// Other is data of a revision, and Count how often its name was taken.
	Other []byte
	Count int32
}

// FuzzHelpersDecoded lets the fuzzer write the objects.
func FuzzHelpersDecoded(f *testing.F) {
	for seed := range 60 {
		m := anyMessage().Example(seed)
		f.Add(m.Binary, m.Template, m.Node, m.Other, m.Count)
	}
	f.Fuzz(func(t *testing.T, binary bool, template, node, other []byte, count int32) {
		m := message{binary, template, node, other, count}
		if s, readable := m.understood(); readable {
			if err := compareDecoded(m, s); err != nil {
				t.Error(err)
			}
		}
	})
}

// TestHelpersDecoded does the same without a fuzzer, which has all of Kubernetes to instrument: it spoils objects that are
// written down well.
func TestHelpersDecoded(t *testing.T) {
	var read, spoiled int
	check(t, 200, func(t *rapid.T) {
		for range 25 {
			m := anyMessage().Draw(t, "message")
			if rapid.Bool().Draw(t, "the template") {
				m.Template = spoil(t, m.Template)
			} else {
				m.Node = spoil(t, m.Node)
			}
			spoiled++
			if s, readable := m.understood(); readable {
				read++
				if err := compareDecoded(m, s); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
	t.Logf("%d of %d spoiled messages can be read", read, spoiled)
	if read < spoiled/10 && !t.Failed() {
		t.Error("too few to compare anything")
	}
}

func anyMessage() *rapid.Generator[message] {
	return rapid.Custom(func(t *rapid.T) message {
		s := anySituation().Draw(t, "situation")
		drawn := anyMatch().Draw(t, "match")
		drawn.Template.ManagedFields = nil // some of which cannot be written down
		if oneIn(t, 3, "placement alone") {
			drawn.Template = s.Template
		}
		m := message{Binary: !oneIn(t, 4, "JSON"), Other: drawn.Raw, Count: rapid.Int32().Draw(t, "count")}
		var errT, errN error
		m.Template, errT = encodedObject(drawn.Template, m.Binary)
		m.Node, errN = encodedObject(s.Node, m.Binary)
		if err := errors.Join(errT, errN); err != nil {
			t.Fatal(err)
		}
		return m
	})
}

// spoil changes, takes out or repeats a few bytes.
func spoil(t *rapid.T, data []byte) []byte {
	data = slices.Clone(data)
	for range rapid.IntRange(1, 2).Draw(t, "edits") {
		if len(data) == 0 {
			break
		}
		from := rapid.IntRange(0, len(data)-1).Draw(t, "from")
		to := min(len(data), from+rapid.IntRange(1, 12).Draw(t, "length"))
		switch rapid.IntRange(0, 19).Draw(t, "edit") { // lengths are part of protobuf: other sizes rarely make sense
		case 18:
			data = slices.Delete(data, from, to)
		case 19:
			data = slices.Insert(data, from, slices.Clone(data[from:to])...)
		default:
			data[from] = rapid.Byte().Draw(t, "byte")
		}
	}
	return data
}

// understood is what the message says, if it can be read.
func (m message) understood() (situation, bool) {
	s := situation{new(corev1.PodTemplateSpec), new(corev1.Node)}
	slow := slowQuantity.Match(m.Template) || slowQuantity.Match(m.Node) || slowQuantity.Match(m.Other)
	return s, !slow && decodeObject(s.Template, m.Template, m.Binary) == nil && decodeObject(s.Node, m.Node, m.Binary) == nil
}

// compareDecoded makes all comparisons that take a template or a node.
func compareDecoded(m message, s situation) error {
	spec := &s.Template.Spec
	return errors.Join(
		asked(compareTolerations(), spec),
		asked(comparePlacement(), s),
		asked(comparePinning(), pinning{spec.Affinity, s.Node.Name}),
		asked(compareTargetNodes(), &corev1.Pod{Spec: *spec}),
		asked(compareData(), s.Template),
		asked(compareMatches(), match{Template: s.Template, Raw: m.Other}),
		asked(compareHashes(), hashing{Template: s.Template}),
		asked(compareHashes(), hashing{Template: s.Template, Count: &m.Count}),
	)
}

func asked[I, O any](c comparison[I, O], input I) error { return c.property(input, c.answer).err }

// object is one of the API.
type object interface {
	Marshal() ([]byte, error)
	Unmarshal([]byte) error
}

func encodedObject(o object, binary bool) ([]byte, error) {
	if binary {
		return o.Marshal()
	}
	return json.Marshal(o)
}

func decodeObject(o object, data []byte, binary bool) error {
	if binary {
		return o.Unmarshal(data)
	}
	return json.Unmarshal(data, o)
}
