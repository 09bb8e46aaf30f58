package placement_test

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	schedulinghelpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/tolerations"
)

// evaluator is anything that evaluates nodes against a template: the matcher, the oracle, a planted bug.
type evaluator func(*corev1.PodTemplateSpec, *corev1.Node) placement.Verdict

// compiled returns the code under test. Its errors are judged by other tests.
func compiled(template *corev1.PodTemplateSpec, node *corev1.Node) placement.Verdict {
	matcher, _ := placement.Compile(template)
	return matcher.Evaluate(node)
}

// hoisted decides with the library that the Kubernetes controller itself calls, template parsing taken out of
// the loop. It is the oracle of outcomes and the opponent in the benchmark.
func hoisted(template *corev1.PodTemplateSpec) func(*corev1.Node) placement.Outcome {
	spec := &template.Spec
	affinity := nodeaffinity.GetRequiredNodeAffinity(&corev1.Pod{Spec: *spec})
	tolerated := tolerations.ForDaemon(spec)
	return func(node *corev1.Node) placement.Outcome {
		if spec.NodeName != "" && spec.NodeName != node.Name {
			return placement.Leave
		}
		if matched, _ := affinity.Match(node); !matched {
			return placement.Leave
		}
		if _, found := untolerated(tolerated, node.Spec.Taints, keepsAway); !found {
			return placement.Run
		}
		if _, found := untolerated(tolerated, node.Spec.Taints, drivesAway); found {
			return placement.Leave
		}
		return placement.Keep
	}
}

// oracle adds the reason of P5 to hoisted, by asking the helpers about one label, one requirement and one
// effect at a time.
func oracle(template *corev1.PodTemplateSpec, node *corev1.Node) placement.Verdict {
	spec := &template.Spec
	verdict := placement.Verdict{Outcome: hoisted(template)(node)}
	if verdict.Outcome == placement.Run {
		return verdict
	}
	if spec.NodeName != "" && spec.NodeName != node.Name {
		verdict.Test, verdict.Value = placement.TestNodeName, spec.NodeName
		return verdict
	}
	for _, key := range slices.Sorted(maps.Keys(spec.NodeSelector)) {
		if value, found := node.Labels[key]; !found || value != spec.NodeSelector[key] {
			verdict.Test, verdict.Key, verdict.Value = placement.TestNodeSelector, key, spec.NodeSelector[key]
			return verdict
		}
	}
	if terms := termsOf(template); terms != nil {
		if matched, _ := nodeaffinity.NewLazyErrorNodeSelector(terms).Match(node); !matched {
			verdict.Test = placement.TestNodeAffinity
			verdict.Key, verdict.Field = failingRequirement(terms, node)
			return verdict
		}
	}
	effect, filter := placement.EffectNoSchedule, schedules
	if verdict.Outcome == placement.Leave {
		effect, filter = placement.EffectNoExecute, drivesAway
	}
	taint, _ := untolerated(tolerations.ForDaemon(spec), node.Spec.Taints, filter)
	verdict.Test, verdict.Effect, verdict.Key, verdict.Value = placement.TestTaint, effect, taint.Key, taint.Value
	return verdict
}

// termsOf returns the template's required node affinity.
func termsOf(template *corev1.PodTemplateSpec) *corev1.NodeSelector {
	if affinity := template.Spec.Affinity; affinity != nil && affinity.NodeAffinity != nil {
		return affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	}
	return nil
}

// failingRequirement splits the first valid term into terms of one requirement and returns the first that
// fails.
func failingRequirement(terms *corev1.NodeSelector, node *corev1.Node) (string, bool) {
	for _, term := range terms.NodeSelectorTerms {
		empty := len(term.MatchExpressions) == 0 && len(term.MatchFields) == 0
		if empty || len(parseErrors(term)) > 0 {
			continue
		}
		for _, expression := range term.MatchExpressions {
			if !alone(corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{expression}}, node) {
				return expression.Key, false
			}
		}
		for _, requirement := range term.MatchFields {
			if !alone(corev1.NodeSelectorTerm{MatchFields: []corev1.NodeSelectorRequirement{requirement}}, node) {
				return requirement.Key, true
			}
		}
	}
	return "", false
}

func alone(term corev1.NodeSelectorTerm, node *corev1.Node) bool {
	matched, _ := nodeaffinity.NewLazyErrorNodeSelector(
		&corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{term}}).Match(node)
	return matched
}

// parseErrors returns the errors for which the helpers drop the term.
func parseErrors(term corev1.NodeSelectorTerm) []error {
	_, err := nodeaffinity.NewNodeSelector(&corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{term}})
	if err == nil {
		return nil
	}
	return err.(interface{ Errors() []error }).Errors()
}

func keepsAway(taint *corev1.Taint) bool { return schedules(taint) || drivesAway(taint) }

func schedules(taint *corev1.Taint) bool { return taint.Effect == corev1.TaintEffectNoSchedule }

func drivesAway(taint *corev1.Taint) bool { return taint.Effect == corev1.TaintEffectNoExecute }

func untolerated(
	tolerated []corev1.Toleration, taints []corev1.Taint, filter func(*corev1.Taint) bool,
) (corev1.Taint, bool) {
	return silently(schedulinghelpers.FindMatchingUntoleratedTaint, tolerated, taints, filter)
}

// silently calls the helper with the zero value of its logger, whose type it leaves to inference: the gate is
// off, so nothing is logged, and the tests need no logging module.
func silently[L any, F ~func(*corev1.Taint) bool](
	find func(L, []corev1.Taint, []corev1.Toleration, F, bool) (corev1.Taint, bool),
	tolerated []corev1.Toleration, taints []corev1.Taint, filter F,
) (corev1.Taint, bool) {
	var silent L
	return find(silent, taints, tolerated, filter, false)
}

// required returns an affinity that requires one of the terms.
func required(terms ...corev1.NodeSelectorTerm) *corev1.Affinity {
	return &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: terms},
	}}
}
