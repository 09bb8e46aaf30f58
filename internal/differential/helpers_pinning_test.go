package differential_test

import (
	"reflect"

	corev1 "k8s.io/api/core/v1"
	daemonutil "k8s.io/kubernetes/pkg/controller/daemon/util"
	"pgregory.net/rapid"

	"github.com/daemonplan/daemonplan/placement"
)

// pinning is an affinity and the node that it is to name.
type pinning struct {
	Affinity *corev1.Affinity
	Node     string
}

// required is what the affinity required so far.
func (p pinning) required() *corev1.NodeSelector {
	if p.Affinity == nil || p.Affinity.NodeAffinity == nil {
		return nil
	}
	return p.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
}

func comparePinning() comparison[pinning, *corev1.Affinity] {
	const (
		open = iota
		replaced
	)
	pin := func(p pinning) *corev1.Affinity { return placement.Pin(p.Affinity, p.Node) }
	return comparison[pinning, *corev1.Affinity]{
		theirs: "ReplaceDaemonSetPodNodeNameNodeAffinity", ours: "placement.Pin",
		kinds: []string{open: "nothing required", replaced: "terms replaced"},
		inputs: rapid.Custom(func(t *rapid.T) pinning {
			return pinning{anyAffinity().Draw(t, "affinity"), rapid.SampledFrom(helperNodeNames).Draw(t, "node")}
		}),
		batch: 150, answer: pin,
		judge: func(p pinning, ours *corev1.Affinity) judgement {
			j := judgement{kind: kindIf(p.required() != nil)}
			theirs := daemonutil.ReplaceDaemonSetPodNodeNameNodeAffinity(p.Affinity.DeepCopy(), p.Node) // writes to its argument
			if !reflect.DeepEqual(theirs, ours) {
				j.err = disagree(p, theirs, ours)
			}
			return j
		},
		bugs: []plantedBug[pinning, *corev1.Affinity]{
			{"keeps the terms", "they are alternatives: the pod could go anywhere", func(p pinning) *corev1.Affinity {
				pinned := pin(p)
				if had := p.required(); had != nil {
					required := pinned.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
					required.NodeSelectorTerms = append(required.NodeSelectorTerms, had.NodeSelectorTerms...)
				}
				return pinned
			}},
			{"drops preferences", "only what is required is replaced", func(p pinning) *corev1.Affinity {
				pinned := pin(p)
				pinned.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution = nil
				return pinned
			}},
			{"drops pod affinity", "only what is required of nodes is replaced", func(p pinning) *corev1.Affinity {
				return &corev1.Affinity{NodeAffinity: pin(p).NodeAffinity}
			}},
		},
	}
}

// attribution is the node of a pod, if it has one.
type attribution struct {
	Node  string
	Found bool
}

func compareTargetNodes() comparison[*corev1.Pod, attribution] {
	const (
		bound = iota
		pinned
		nowhere
	)
	target := func(pod *corev1.Pod) attribution {
		node, found := placement.TargetNode(pod)
		return attribution{node, found}
	}
	instead := func(change func(*corev1.Pod)) func(*corev1.Pod) attribution {
		return func(pod *corev1.Pod) attribution {
			pod = pod.DeepCopy()
			change(pod)
			return target(pod)
		}
	}
	return comparison[*corev1.Pod, attribution]{
		theirs: "GetTargetNodeName", ours: "placement.TargetNode",
		kinds:    []string{bound: "bound", pinned: "pinned", nowhere: "nowhere"},
		deviates: []deviation{emptyNameIsNone},
		inputs: rapid.Custom(func(t *rapid.T) *corev1.Pod {
			pod := &corev1.Pod{Spec: corev1.PodSpec{Affinity: anyAffinity().Draw(t, "affinity")}}
			if oneIn(t, 2, "by fields") {
				eachTerm(&pod.Spec, func(term *corev1.NodeSelectorTerm) { term.MatchFields = anyList(t, 3, anyField(), "fields") })
			}
			if oneIn(t, 4, "bound") {
				pod.Spec.NodeName = rapid.SampledFrom(helperNodeNames).Draw(t, "nodeName")
			}
			return pod
		}),
		batch: 200, answer: target,
		judge: func(pod *corev1.Pod, ours attribution) judgement {
			name, err := daemonutil.GetTargetNodeName(pod)
			theirs, j := attribution{name, err == nil}, judgement{kind: nowhere}
			switch {
			case pod.Spec.NodeName != "":
				j.kind = bound
			case theirs.Found:
				j.kind = pinned
			}
			if theirs == (attribution{Found: true}) {
				theirs, j.because = attribution{}, emptyNameIsNone
			}
			if theirs != ours {
				j.err = disagree(pod, theirs, ours)
			}
			return j
		},
		bugs: []plantedBug[*corev1.Pod, attribution]{
			{"by affinity alone", "a bound pod belongs to where it is", instead(func(pod *corev1.Pod) { pod.Spec.NodeName = "" })},
			{"first of several", "a field with several values names no node", instead(func(pod *corev1.Pod) {
				eachTerm(&pod.Spec, func(term *corev1.NodeSelectorTerm) {
					for i := range term.MatchFields {
						term.MatchFields[i].Values = term.MatchFields[i].Values[:min(1, len(term.MatchFields[i].Values))]
					}
				})
			})},
			{"any operator", "NotIn names where the pod is not", instead(func(pod *corev1.Pod) {
				eachTerm(&pod.Spec, func(term *corev1.NodeSelectorTerm) {
					for i := range term.MatchFields {
						term.MatchFields[i].Operator = corev1.NodeSelectorOpIn
					}
				})
			})},
			{"as the controller", "the deliberate difference is needed", func(pod *corev1.Pod) attribution {
				name, err := daemonutil.GetTargetNodeName(pod)
				return attribution{name, err == nil}
			}},
		},
	}
}
