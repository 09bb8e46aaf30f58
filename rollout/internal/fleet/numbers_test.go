package fleet_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/daemonplan/daemonplan/rollout/domain"
	"github.com/daemonplan/daemonplan/rollout/internal/fleet"
	"github.com/daemonplan/daemonplan/rollout/stage"
)

// numbering are rules with domains and stages by the label "rack".
func numbering(t *testing.T) *fleet.Rules {
	t.Helper()
	r := &fleet.Rules{Template: &corev1.PodTemplateSpec{}, NodeSelector: labels.Everything()}
	var err error
	if r.Domains, err = domain.Compile([]domain.Domain{{Key: "rack", Max: new(intstr.FromInt32(1))}}); err != nil {
		t.Fatal(err)
	}
	if r.Stages, err = stage.Compile([]stage.Stage{{Name: "racks", Key: "rack"}}); err != nil {
		t.Fatal(err)
	}
	return compiled(t, r)
}

func inRack(name, rack string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"rack": rack}}}
}

// rackOf is the rack of each node by its cell, which is that by its part.
func rackOf(t *testing.T, f *fleet.Nodes) map[string]string {
	t.Helper()
	racks := map[string]string{}
	for i := range int32(f.List.Len()) {
		n := f.List.At(i)
		racks[n.Name] = f.Parts.Part(n.Part).Value
		if cell := cellOf(f.Cells, n.Cell, 1)[0]; cell != "="+racks[n.Name] {
			t.Errorf("node %s is in the part of rack %q, and in cell %q", n.Name, racks[n.Name], cell)
		}
	}
	return racks
}

// TestNumbersOfEarlierReadings: the tables of earlier facts are not written, and new nodes are numbered in copies of them.
func TestNumbersOfEarlierReadings(t *testing.T) {
	r := numbering(t)
	read := func(earlier *fleet.Nodes, nodes ...*corev1.Node) *fleet.Nodes {
		f, err := fleet.ReadNodes(earlier, r, nodes)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	a, b := inRack("a", "1"), inRack("b", "2")
	first := read(nil, a, b)
	cells, parts := first.Cells.Len(), first.Parts.Len()
	for name, c := range map[string]struct {
		nodes []*corev1.Node
		want  map[string]string
	}{
		"the same":             {[]*corev1.Node{a, b}, map[string]string{"a": "1", "b": "2"}},
		"another version":      {[]*corev1.Node{a, inRack("b", "2")}, map[string]string{"a": "1", "b": "2"}},
		"another label":        {[]*corev1.Node{a, inRack("b", "3")}, map[string]string{"a": "1", "b": "3"}},
		"that of another node": {[]*corev1.Node{a, inRack("b", "1")}, map[string]string{"a": "1", "b": "1"}},
		"without the label":    {[]*corev1.Node{a, {ObjectMeta: metav1.ObjectMeta{Name: "b"}}}, map[string]string{"a": "1", "b": ""}},
		"gone":                 {[]*corev1.Node{b}, map[string]string{"b": "2"}},
		"joined":               {[]*corev1.Node{a, inRack("aa", "4"), b}, map[string]string{"a": "1", "aa": "4", "b": "2"}},
		"others":               {[]*corev1.Node{inRack("x", "9")}, map[string]string{"x": "9"}},
		"none":                 {nil, map[string]string{}},
	} {
		if got := rackOf(t, read(first, c.nodes...)); fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%s: racks %v, want %v", name, got, c.want)
		}
		if first.Cells.Len() != cells || first.Parts.Len() != parts {
			t.Errorf("%s: earlier facts have %d cells and %d parts now, and had %d and %d", name, first.Cells.Len(), first.Parts.Len(), cells, parts)
		}
	}
	if same := read(first, a, inRack("b", "2")); same.Cells == first.Cells || same.Parts == first.Parts {
		t.Error("a node is numbered in the table of earlier facts")
	}
}

// TestNumbersDoNotPileUp: labels that come and go, such as those of nodes that are replaced, do not make the tables longer for ever.
func TestNumbersDoNotPileUp(t *testing.T) {
	r := numbering(t)
	var f *fleet.Nodes
	for i := range 1000 {
		var err error
		if f, err = fleet.ReadNodes(f, r, []*corev1.Node{inRack("a", fmt.Sprint("rack-", i)), inRack("b", "always")}); err != nil {
			t.Fatal(err)
		}
	}
	if cells, parts := f.Cells.Len(), f.Parts.Len(); cells > 100 || parts > 100 {
		t.Errorf("two nodes have %d cells and %d parts", cells, parts)
	}
	if racks := rackOf(t, f); racks["a"] != "rack-999" || racks["b"] != "always" {
		t.Errorf("racks %v", racks)
	}
}

// TestNumbersOfOtherRules: with other stages or domains all nodes are numbered anew; without any, none is.
func TestNumbersOfOtherRules(t *testing.T) {
	was, nodes := numbering(t), []*corev1.Node{inRack("a", "1"), inRack("b", "2")}
	before, err := fleet.ReadNodes(nil, was, nodes)
	if err != nil {
		t.Fatal(err)
	}
	is := numbering(t)
	is.Domains, is.Stages = nil, nil
	after, err := fleet.ReadNodes(before, is, nodes)
	if err != nil {
		t.Fatal(err)
	}
	if after.Cells != nil || after.Parts != nil {
		t.Error("there are tables without domains and stages")
	}
	again, err := fleet.ReadNodes(after, was, nodes)
	if err != nil {
		t.Fatal(err)
	}
	if racks := rackOf(t, again); racks["a"] != "1" || racks["b"] != "2" {
		t.Errorf("racks %v", racks)
	}
}
