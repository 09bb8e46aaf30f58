package verify_test

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/daemonplan/daemonplan/internal/harness"
	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
	"github.com/daemonplan/daemonplan/rollout/verify"
)

// Of many terms and overrides, the verifier checks only those that a node can match. It must read them as the planner does.
// Package placement compares the planner's reading with an oracle that checks them all.
func TestVerifyAcceptsManyTermsAndOverrides(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := manyConditions().Draw(t, "scenario")
		planner, err := rollout.New(c.Spec)
		if err != nil {
			t.Fatal(err)
		}
		plan, err := planner.Plan(c.Snapshot)
		if err != nil {
			t.Fatal(err)
		}
		if violations := verify.Plan(c.Spec, c.Snapshot, &plan); violations != nil {
			t.Fatalf("P4, P8: %v", violations)
		}
	})
}

// manyConditions generates specs with terms and overrides that require one label or several, with one value or several, or a
// name, or nothing that has a value. The nodes have some of these labels, beside few others or many.
func manyConditions() *rapid.Generator[harness.Case] {
	keys, values := []string{"zone", "pool", corev1.LabelHostname}, []string{"a", "b", "c"}
	return rapid.Custom(func(t *rapid.T) harness.Case {
		c := harness.Case{Spec: rollouttest.Spec("agent"), Snapshot: rollout.Snapshot{Now: rollouttest.Noon()}}
		wants := func(of string) (wants []corev1.NodeSelectorRequirement) {
			for _, key := range keys {
				r := corev1.NodeSelectorRequirement{Key: key, Operator: corev1.NodeSelectorOpIn}
				switch rapid.IntRange(0, 5).Draw(t, of+" "+key) {
				case 0:
					r.Values = []string{rapid.SampledFrom(values).Draw(t, "value")}
				case 1:
					r.Values = rapid.SliceOfN(rapid.SampledFrom(values), 2, 3).Draw(t, "values")
				case 2:
					r.Operator, r.Values = corev1.NodeSelectorOpNotIn, []string{rapid.SampledFrom(values).Draw(t, "value")}
				case 3:
					r.Operator = corev1.NodeSelectorOpExists
				default:
					continue
				}
				wants = append(wants, r)
			}
			return wants
		}
		var terms []corev1.NodeSelectorTerm
		for range rapid.IntRange(1, 12).Draw(t, "terms") {
			term := corev1.NodeSelectorTerm{MatchExpressions: wants("term")}
			if rapid.IntRange(0, 3).Draw(t, "named") == 0 {
				term.MatchFields = []corev1.NodeSelectorRequirement{{
					Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpIn, Values: []string{rapid.SampledFrom(values).Draw(t, "name")},
				}}
			}
			terms = append(terms, term)
		}
		c.Spec.Template.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: terms},
		}}
		for i := range rapid.IntRange(0, 12).Draw(t, "overrides") {
			override := placement.Override{
				Name: fmt.Sprint(i * 5 % 12), Created: c.Snapshot.Now.Add(time.Duration(i%3) * time.Hour),
				Containers: map[string]corev1.ResourceRequirements{c.Spec.Template.Spec.Containers[0].Name: {}},
			}
			for _, r := range wants("override") {
				if r.Operator == corev1.NodeSelectorOpIn && len(r.Values) == 1 {
					metav1.AddLabelToSelector(&override.NodeSelector, r.Key, r.Values[0])
					continue
				}
				override.NodeSelector.MatchExpressions = append(override.NodeSelector.MatchExpressions,
					metav1.LabelSelectorRequirement{Key: r.Key, Operator: metav1.LabelSelectorOperator(r.Operator), Values: r.Values})
			}
			c.Spec.Overrides = append(c.Spec.Overrides, override)
		}
		for _, name := range values {
			node := rollouttest.Node(name)
			for _, key := range keys {
				if rapid.IntRange(0, 3).Draw(t, "has "+key) > 0 {
					metav1.SetMetaDataLabel(&node.ObjectMeta, key, rapid.SampledFrom(values).Draw(t, key))
				}
			}
			if rapid.Bool().Draw(t, "more labels") {
				for i := range 4 {
					metav1.SetMetaDataLabel(&node.ObjectMeta, fmt.Sprint("more", i), "a")
				}
			}
			c.Snapshot.Nodes = append(c.Snapshot.Nodes, node)
		}
		return c
	})
}
