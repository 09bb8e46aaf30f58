package placement_test

import (
	"errors"
	"fmt"
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
	rapid.Check(t, func(t *rapid.T) {
		terms := rapid.SliceOfN(termGen(), 1, 3).Draw(t, "terms")
		for i, found := range mistakesIn(terms) {
			if want := len(parseErrors(terms[i])); found.fatal != want {
				t.Fatalf("%d mistakes at term %d, the helpers have %d", found.fatal, i, want)
			}
		}
	})
}

// mistakes counts those that Validate finds in a term: fatal ones, for which the helpers drop the term, and harmless ones.
type mistakes struct{ fatal, harmless int }

func mistakesIn(terms []corev1.NodeSelectorTerm) []mistakes {
	template := &corev1.PodTemplateSpec{Spec: corev1.PodSpec{Affinity: required(terms...)}}
	found := make([]mistakes, len(terms))
	for _, mistake := range placement.Validate(template, field.NewPath("root")) {
		for i := range terms {
			rest, here := strings.CutPrefix(mistake.Field, fmt.Sprintf(
				"root.spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[%d].", i))
			keyOrValue := strings.HasSuffix(rest, "].key") || strings.HasSuffix(rest, "]")
			switch {
			case !here:
			case strings.HasPrefix(rest, "matchFields") && keyOrValue:
				found[i].harmless++
			default:
				found[i].fatal++
			}
		}
	}
	return found
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
