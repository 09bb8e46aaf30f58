package differential_test

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller/daemon"

	"github.com/daemonplan/daemonplan/placement"
)

func comparePlacement() comparison[situation, placement.Outcome] {
	return comparison[situation, placement.Outcome]{
		theirs: "NodeShouldRunDaemonPod", ours: "placement.Matcher.Evaluate",
		kinds:  []string{placement.Leave: "leave", placement.Keep: "keep", placement.Run: "run"},
		inputs: anySituation(), batch: 200, answer: evaluated,
		judge: func(s situation, ours placement.Outcome) judgement {
			theirs := placement.Leave
			set := &appsv1.DaemonSet{Spec: appsv1.DaemonSetSpec{Template: *s.Template}}
			switch run, stay := daemon.NodeShouldRunDaemonPod(klog.Logger{}, s.Node, set); {
			case run:
				theirs = placement.Run
			case stay:
				theirs = placement.Keep
			}
			j := judgement{kind: int(theirs)}
			if theirs != ours {
				j.err = disagree(s, theirs.String(), ours.String())
			}
			return j
		},
		bugs: placementBugs(),
	}
}

// evaluated is the outcome of a situation. That mistakes in the template are reported is for other tests.
func evaluated(s situation) placement.Outcome {
	matcher, _ := placement.Compile(s.Template)
	return matcher.Evaluate(s.Node).Outcome
}

// placementBugs evaluate something else than they were asked to.
func placementBugs() []plantedBug[situation, placement.Outcome] {
	instead := func(change func(situation)) func(situation) placement.Outcome {
		return func(s situation) placement.Outcome {
			s = situation{s.Template.DeepCopy(), s.Node.DeepCopy()}
			change(s)
			return evaluated(s)
		}
	}
	return []plantedBug[situation, placement.Outcome]{
		{"unknown effects keep away", "only NoSchedule and NoExecute do", instead(func(s situation) {
			for i := range s.Node.Spec.Taints {
				if s.Node.Spec.Taints[i].Effect == "Weird" {
					s.Node.Spec.Taints[i].Effect = corev1.TaintEffectNoSchedule
				}
			}
		})},
		{"drops a toleration", "the template's count", instead(func(s situation) {
			if n := len(s.Template.Spec.Tolerations); n > 0 {
				s.Template.Spec.Tolerations = s.Template.Spec.Tolerations[:n-1]
			}
		})},
		{"cordoned by the field", "spec.unschedulable without the taint counts for nothing", instead(func(s situation) {
			if s.Node.Spec.Unschedulable {
				s.Node.Spec.Taints = append(s.Node.Spec.Taints, corev1.Taint{Key: "field", Effect: corev1.TaintEffectNoSchedule})
			}
		})},
		{"other fields are ignored", "a matchField for anything but the name reads as empty", instead(func(s situation) {
			eachTerm(&s.Template.Spec, func(term *corev1.NodeSelectorTerm) {
				term.MatchFields = slices.DeleteFunc(term.MatchFields, func(f corev1.NodeSelectorRequirement) bool {
					return f.Key != metav1.ObjectNameField
				})
			})
		})},
		{"an invalid requirement is ignored", "it makes its term match nothing", instead(func(s situation) {
			eachTerm(&s.Template.Spec, func(term *corev1.NodeSelectorTerm) {
				term.MatchExpressions = slices.DeleteFunc(term.MatchExpressions, func(e corev1.NodeSelectorRequirement) bool {
					return slices.Contains(helperOddSelects, e.Operator)
				})
			})
		})},
		{"greater or equal", "Gt is strict", instead(func(s situation) {
			eachTerm(&s.Template.Spec, func(term *corev1.NodeSelectorTerm) {
				for i, e := range term.MatchExpressions {
					if e.Operator == corev1.NodeSelectorOpGt && slices.Equal(e.Values, []string{"8"}) {
						term.MatchExpressions[i].Values[0] = "7"
					}
				}
			})
		})},
		{"keep is leave", "a running pod may stay under NoSchedule", func(s situation) placement.Outcome {
			if outcome := evaluated(s); outcome != placement.Keep {
				return outcome
			}
			return placement.Leave
		}},
	}
}

// eachTerm visits the terms of the required node affinity.
func eachTerm(spec *corev1.PodSpec, visit func(*corev1.NodeSelectorTerm)) {
	if spec.Affinity == nil || spec.Affinity.NodeAffinity == nil {
		return
	}
	required := spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	if required == nil {
		return
	}
	for i := range required.NodeSelectorTerms {
		visit(&required.NodeSelectorTerms[i])
	}
}
