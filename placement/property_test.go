package placement_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"pgregory.net/rapid"

	"github.com/daemonplan/daemonplan/internal/fuzzing"
	"github.com/daemonplan/daemonplan/placement"
)

// disagreement returns the property of every evaluator: the oracle's verdict, reason included.
func disagreement(evaluate evaluator, template *corev1.PodTemplateSpec, node *corev1.Node) string {
	return cmp.Diff(oracle(template, node), evaluate(template, node))
}

func propertyEvaluate(t *rapid.T) {
	template, node := templateGen().Draw(t, "template"), nodeGen().Draw(t, "node")
	templateBefore, nodeBefore := template.DeepCopy(), node.DeepCopy()
	if diff := disagreement(compiled, template, node); diff != "" {
		t.Fatalf("verdict (-oracle +got):\n%s", diff)
	}
	if diff := cmp.Diff(templateBefore, template); diff != "" {
		t.Fatalf("the template was written (-before +after):\n%s", diff)
	}
	if diff := cmp.Diff(nodeBefore, node); diff != "" {
		t.Fatalf("the node was written (-before +after):\n%s", diff)
	}
}

func TestEvaluateAgreesWithOracle(t *testing.T) {
	for range 20 {
		rapid.Check(t, propertyEvaluate)
	}
}

func FuzzEvaluate(f *testing.F) { fuzzing.Property(f, rapid.MakeFuzz(propertyEvaluate)) }

// TestGeneratorsReachEverything keeps the property from becoming vacuous.
func TestGeneratorsReachEverything(t *testing.T) {
	reached := map[placement.Verdict]int{}
	invalid := 0
	for seed := range 3000 {
		template, node := templateGen().Example(seed), nodeGen().Example(seed)
		verdict := oracle(template, node)
		reached[placement.Verdict{Outcome: verdict.Outcome, Test: verdict.Test, Field: verdict.Field}]++
		if len(placement.Validate(template, nil)) > 0 {
			invalid++
		}
	}
	for _, want := range []placement.Verdict{
		{Outcome: placement.Run},
		{Outcome: placement.Keep, Test: placement.TestTaint},
		{Outcome: placement.Leave, Test: placement.TestTaint},
		{Outcome: placement.Leave, Test: placement.TestNodeName},
		{Outcome: placement.Leave, Test: placement.TestNodeSelector},
		{Outcome: placement.Leave, Test: placement.TestNodeAffinity},
		{Outcome: placement.Leave, Test: placement.TestNodeAffinity, Field: true},
	} {
		if reached[want] < 10 {
			t.Errorf("%v by %v (field %v): %d of 3000 cases, want 10", want.Outcome, want.Test, want.Field, reached[want])
		}
	}
	if invalid < 200 || invalid > 2000 {
		t.Errorf("%d of 3000 templates are invalid", invalid)
	}
}

// TestEvaluatePropertyRejects shows that the property can fail: each planted bug is found.
func TestEvaluatePropertyRejects(t *testing.T) {
	// after changes the verdict, before the template or the node.
	after := func(change func(*placement.Verdict, *corev1.Node)) evaluator {
		return func(template *corev1.PodTemplateSpec, node *corev1.Node) placement.Verdict {
			verdict := compiled(template, node)
			change(&verdict, node)
			return verdict
		}
	}
	before := func(change func(*corev1.PodTemplateSpec, *corev1.Node)) evaluator {
		return func(template *corev1.PodTemplateSpec, node *corev1.Node) placement.Verdict {
			template, node = template.DeepCopy(), node.DeepCopy()
			change(template, node)
			return compiled(template, node)
		}
	}
	onTerms := func(change func([]corev1.NodeSelectorTerm) []corev1.NodeSelectorTerm) evaluator {
		return before(func(template *corev1.PodTemplateSpec, _ *corev1.Node) {
			if selector := termsOf(template); selector != nil {
				selector.NodeSelectorTerms = change(selector.NodeSelectorTerms)
			}
		})
	}
	onExpressions := func(change func(*corev1.NodeSelectorRequirement)) evaluator {
		return onTerms(func(terms []corev1.NodeSelectorTerm) []corev1.NodeSelectorTerm {
			for i := range terms {
				for j := range terms[i].MatchExpressions {
					change(&terms[i].MatchExpressions[j])
				}
			}
			return terms
		})
	}
	mutants := []struct {
		name, why string
		evaluate  evaluator
	}{
		{"nodeName ignored", "P2", before(func(template *corev1.PodTemplateSpec, _ *corev1.Node) {
			template.Spec.NodeName = ""
		})},
		{"nodeSelector ignored", "P2", before(func(template *corev1.PodTemplateSpec, _ *corev1.Node) {
			template.Spec.NodeSelector = nil
		})},
		{"missing label equals empty value", "P2", before(func(template *corev1.PodTemplateSpec, node *corev1.Node) {
			for key, value := range template.Spec.NodeSelector {
				if _, found := node.Labels[key]; !found && value == "" {
					delete(template.Spec.NodeSelector, key)
				}
			}
		})},
		{"first term only", "P4: terms are ORed", onTerms(func(terms []corev1.NodeSelectorTerm) []corev1.NodeSelectorTerm {
			return terms[:min(len(terms), 1)]
		})},
		{"terms ANDed", "P4: terms are ORed", onTerms(func(terms []corev1.NodeSelectorTerm) []corev1.NodeSelectorTerm {
			var all corev1.NodeSelectorTerm
			for _, term := range terms {
				all.MatchExpressions = append(all.MatchExpressions, term.MatchExpressions...)
				all.MatchFields = append(all.MatchFields, term.MatchFields...)
			}
			return []corev1.NodeSelectorTerm{all}
		})},
		{"empty term matches", "P4", onTerms(func(terms []corev1.NodeSelectorTerm) []corev1.NodeSelectorTerm {
			for i := range terms {
				if len(terms[i].MatchExpressions)+len(terms[i].MatchFields) == 0 {
					terms[i].MatchExpressions = []corev1.NodeSelectorRequirement{
						{Key: "absent", Operator: corev1.NodeSelectorOpDoesNotExist},
					}
				}
			}
			return terms
		})},
		{"an invalid term spoils the others", "P4", onTerms(func(terms []corev1.NodeSelectorTerm) []corev1.NodeSelectorTerm {
			for _, term := range terms {
				if len(parseErrors(term)) > 0 {
					return nil
				}
			}
			return terms
		})},
		{"an invalid requirement is skipped", "P4: the whole term matches nothing", onTerms(
			func(terms []corev1.NodeSelectorTerm) []corev1.NodeSelectorTerm {
				for i := range terms {
					var valid []corev1.NodeSelectorRequirement
					for _, expression := range terms[i].MatchExpressions {
						one := corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{expression}}
						if len(parseErrors(one)) == 0 {
							valid = append(valid, expression)
						}
					}
					terms[i].MatchExpressions = valid
				}
				return terms
			})},
		{"matchFields ignored", "P4", onTerms(func(terms []corev1.NodeSelectorTerm) []corev1.NodeSelectorTerm {
			for i := range terms {
				terms[i].MatchFields = nil
			}
			return terms
		})},
		{"Gt includes the bound", "7 is not above 7", onExpressions(func(expression *corev1.NodeSelectorRequirement) {
			if expression.Operator == corev1.NodeSelectorOpGt && slices.Equal(expression.Values, []string{"8"}) {
				expression.Values[0] = "7"
			}
		})},
		{"last value forgotten", "In and NotIn look at all values", onExpressions(func(expression *corev1.NodeSelectorRequirement) {
			if len(expression.Values) > 1 {
				expression.Values = expression.Values[:len(expression.Values)-1]
			}
		})},
		{"host network ignored", "P1", before(func(template *corev1.PodTemplateSpec, _ *corev1.Node) {
			template.Spec.HostNetwork = false
		})},
		{"own tolerations ignored", "P1", before(func(template *corev1.PodTemplateSpec, _ *corev1.Node) {
			template.Spec.Tolerations = nil
		})},
		{"Gt tolerates", "the gate is off", before(func(template *corev1.PodTemplateSpec, _ *corev1.Node) {
			for i := range template.Spec.Tolerations {
				if template.Spec.Tolerations[i].Operator == corev1.TolerationOpGt {
					template.Spec.Tolerations[i].Operator = corev1.TolerationOpExists
				}
			}
		})},
		{"PreferNoSchedule counts", "P2", before(func(_ *corev1.PodTemplateSpec, node *corev1.Node) {
			for i := range node.Spec.Taints {
				if node.Spec.Taints[i].Effect == corev1.TaintEffectPreferNoSchedule {
					node.Spec.Taints[i].Effect = corev1.TaintEffectNoSchedule
				}
			}
		})},
		{"cordoned is left", "spec.unschedulable without the taint counts for nothing", after(
			func(verdict *placement.Verdict, node *corev1.Node) {
				if node.Spec.Unschedulable {
					verdict.Outcome = placement.Leave
				}
			})},
		{"keep becomes leave", "P3", after(func(verdict *placement.Verdict, _ *corev1.Node) {
			if verdict.Outcome == placement.Keep {
				verdict.Outcome = placement.Leave
			}
		})},
		{"NoExecute keeps", "P3", after(func(verdict *placement.Verdict, _ *corev1.Node) {
			if verdict.Test == placement.TestTaint {
				verdict.Outcome = placement.Keep
			}
		})},
		{"wrong selector keeps", "P3: only taints let a pod stay", after(func(verdict *placement.Verdict, _ *corev1.Node) {
			if verdict.Test == placement.TestNodeSelector {
				verdict.Outcome = placement.Keep
			}
		})},
		{"reason lost", "P5", after(func(verdict *placement.Verdict, _ *corev1.Node) { verdict.Key = "" })},
	}
	for _, mutant := range mutants {
		t.Run(mutant.name, func(t *testing.T) {
			if mutant.why == "" {
				t.Fatal("a mutant needs a why")
			}
			for seed := range 20_000 {
				if disagreement(mutant.evaluate, templateGen().Example(seed), nodeGen().Example(seed+1)) != "" {
					return
				}
			}
			t.Errorf("the property accepts the bug: %s", mutant.why)
		})
	}
}

// TestMatcherKeepsNoTemplateMemory overwrites everything reachable from the template after Compile.
func TestMatcherKeepsNoTemplateMemory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		template, node := templateGen().Draw(t, "template"), nodeGen().Draw(t, "node")
		want := oracle(template, node)
		matcher, err := placement.Compile(template)
		message := fmt.Sprint(err)
		overwrite(template)
		if diff := cmp.Diff(want, matcher.Evaluate(node)); diff != "" {
			t.Fatalf("verdict after overwriting the template (-want +got):\n%s", diff)
		}
		if fmt.Sprint(err) != message {
			t.Fatalf("error after overwriting the template: %v\nbefore: %s", err, message)
		}
	})
}

func overwrite(template *corev1.PodTemplateSpec) {
	spec := &template.Spec
	spec.NodeName, spec.HostNetwork = "overwritten", !spec.HostNetwork
	for key := range spec.NodeSelector {
		spec.NodeSelector[key] = "overwritten"
	}
	for i := range spec.Tolerations {
		spec.Tolerations[i] = corev1.Toleration{Operator: corev1.TolerationOpExists}
	}
	selector := termsOf(template)
	if selector == nil {
		return
	}
	terms := selector.NodeSelectorTerms
	for i := range terms {
		for _, list := range [][]corev1.NodeSelectorRequirement{terms[i].MatchExpressions, terms[i].MatchFields} {
			for j := range list {
				for k := range list[j].Values {
					list[j].Values[k] = "overwritten"
				}
				list[j] = corev1.NodeSelectorRequirement{Key: "overwritten"}
			}
		}
		terms[i] = corev1.NodeSelectorTerm{}
	}
}

// TestValidateAgreesWithHelpers: every term that the helpers drop has a mistake at that term's path, and every
// mistake at a term that they do not drop concerns a field that is not metadata.name or no node name.
func TestValidateAgreesWithHelpers(t *testing.T) {
	dropped, kept := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		terms := rapid.SliceOfN(termGen(), 1, 3).Draw(t, "terms")
		template := &corev1.PodTemplateSpec{Spec: corev1.PodSpec{Affinity: required(terms...)}}
		mistakes := placement.Validate(template, field.NewPath("root"))
		for i := range terms {
			at := fmt.Sprintf(
				"root.spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[%d].", i)
			fatal, harmless := 0, 0
			for _, mistake := range mistakes {
				rest, here := strings.CutPrefix(mistake.Field, at)
				if !here {
					continue
				}
				keyOrValue := strings.HasSuffix(rest, "].key") || strings.HasSuffix(rest, "]")
				if strings.HasPrefix(rest, "matchFields") && keyOrValue {
					harmless++
				} else {
					fatal++
				}
			}
			want := len(parseErrors(terms[i]))
			if want > 0 {
				dropped++
			}
			if harmless > 0 {
				kept++
			}
			if fatal != want {
				t.Fatalf("%d mistakes at term %d, the helpers have %d:\n%v", fatal, i, want, mistakes)
			}
		}
	})
	if dropped == 0 || kept == 0 {
		t.Errorf("%d terms dropped, %d with harmless mistakes: the property is vacuous", dropped, kept)
	}
}

// TestCompileErrorHoldsEveryMistake: Validate's list and Compile's error are the same, up to repetition.
func TestCompileErrorHoldsEveryMistake(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		template := templateGen().Draw(t, "template")
		_, err := placement.Compile(template)
		mistakes := placement.Validate(template, nil)
		if (err == nil) != (len(mistakes) == 0) {
			t.Fatalf("error %v, mistakes %v", err, mistakes)
		}
		if err == nil {
			return
		}
		want, got := map[string]bool{}, map[string]bool{}
		for _, mistake := range mistakes {
			want[mistake.Error()] = true
		}
		for _, part := range err.(interface{ Unwrap() []error }).Unwrap() {
			var one *field.Error
			if !errors.As(part, &one) {
				t.Fatalf("%v is no *field.Error", part)
			}
			got[one.Error()] = true
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("mistakes (-Validate +Compile):\n%s", diff)
		}
	})
}
