package verify_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/rollout"
)

// change is one change of a scene before its plan is made.
type change func(*handmade)

// handFleet is a scene with the planner's plan: a spec with maxUnavailable 2 and the changes. Nodes are named after their pods,
// such as a for a-old. The name "c" alone is a node without a pod.
func handFleet(changes ...change) func() *handmade {
	return func() *handmade {
		s := newHandmade("2", "0")
		for _, apply := range changes {
			apply(s)
		}
		return s.replan()
	}
}

// handPods puts pods of one state on their nodes. Pods named -new are of the update revision, the others of the old one. All have
// the readiness gates of updates in place and of hooks, and run the image of their revision.
func handPods(state string, names ...string) change {
	return func(s *handmade) {
		for _, name := range names {
			node, kind, _ := strings.Cut(name, "-")
			if kind == "" {
				s.node(node, "d")
				continue
			}
			hash, tag := staleHash, "v1"
			if kind == "new" {
				hash, tag = freshHash, "v2"
			}
			pod := handPod(name, hash, state)
			pod.ResourceVersion = "7"
			pod.Spec.Containers = handTemplate(tag).Spec.Containers
			for _, gate := range []corev1.PodConditionType{lifecycle.InPlaceUpdateReady, lifecycle.PodReady} {
				pod.Spec.ReadinessGates = append(pod.Spec.ReadinessGates, corev1.PodReadinessGate{ConditionType: gate})
				pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: gate, Status: corev1.ConditionTrue})
			}
			if slices.ContainsFunc(s.snapshot.Nodes, func(n *corev1.Node) bool { return n.Name == node }) {
				pod.Spec.NodeName = node
				s.snapshot.Pods = append(s.snapshot.Pods, pod)
				continue
			}
			s.node(node, "d", pod)
		}
	}
}

// handStrategy changes the strategy.
func handStrategy(apply func(*rollout.Strategy)) change {
	return func(s *handmade) { apply(&s.spec.Strategy) }
}

func atMost(maxUnavailable string) change {
	return handStrategy(func(s *rollout.Strategy) { s.MaxUnavailable = new(intstr.Parse(maxUnavailable)) })
}

func partitionOf(quantity string) change {
	return handStrategy(func(s *rollout.Strategy) { s.Partition = new(intstr.Parse(quantity)) })
}

func holdingRevisions(s *rollout.Strategy) { s.HoldRevision = true }

func inPlaceBy(method inplace.Method) change {
	return handStrategy(func(s *rollout.Strategy) { s.Method = method })
}

// handSelecting makes the strategy's selector match only the named nodes.
func handSelecting(nodes ...string) change {
	return func(s *handmade) {
		s.spec.Strategy.NodeSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"canary": "yes"}}
		for _, n := range s.snapshot.Nodes {
			if slices.Contains(nodes, n.Name) {
				n.Labels["canary"] = "yes"
			}
		}
	}
}

// tainted makes the named nodes keep nodes.
func tainted(nodes ...string) change {
	return func(s *handmade) {
		for _, n := range s.snapshot.Nodes {
			if slices.Contains(nodes, n.Name) {
				n.Spec.Taints = []corev1.Taint{{Key: "drain", Effect: corev1.TaintEffectNoSchedule}}
			}
		}
	}
}

// preDelete is a hook of the label drain=wanted. hookedBy adds that label to pods, and inStateOf the label of their state.
func preDelete(s *handmade) {
	s.spec.Lifecycle.PreDelete = &lifecycle.Hook{Labels: map[string]string{"drain": "wanted"}}
}

func inPlaceHook(s *handmade) {
	s.spec.Lifecycle.InPlaceUpdate = &lifecycle.Hook{Labels: map[string]string{"drain": "wanted"}}
}

func hookedBy(names ...string) change {
	return onPods(func(p *corev1.Pod) { p.Labels["drain"] = "wanted" }, names...)
}

func inStateOf(state lifecycle.State, names ...string) change {
	return onPods(func(p *corev1.Pod) { p.Labels[lifecycle.StateLabel] = string(state) }, names...)
}

func onPods(apply func(*corev1.Pod), names ...string) change {
	return func(s *handmade) {
		for _, name := range names {
			apply(s.pod(name))
		}
	}
}

// made makes the pods unready for an update in place that long ago.
func made(unready time.Duration, names ...string) change {
	return onPods(func(p *corev1.Pod) {
		for i := range p.Status.Conditions {
			if c := &p.Status.Conditions[i]; c.Type != lifecycle.PodReady {
				c.Status, c.LastTransitionTime = corev1.ConditionFalse, metav1.NewTime(handNow().Add(-unready))
			}
		}
	}, names...)
}

// templates changes the old template and the new one, and their pods where apply does that.
func templates(old, new func(*corev1.PodTemplateSpec)) change {
	return func(s *handmade) {
		before := handTemplate("v1")
		old(&before)
		new(&s.spec.Template)
		s.snapshot.Revisions[0] = handRevision(staleHash, 1, before)
		s.snapshot.Revisions[1] = handRevision(freshHash, 2, s.spec.Template)
	}
}

// patchOf adds a patch of a pod, and sets its decision.
func (s *handmade) patchOf(name, subresource, data string) {
	pod := s.pod(name)
	s.plan.Patches = append(s.plan.Patches, rollout.Patch{
		Node: pod.Spec.NodeName, Pod: name, UID: pod.UID, Type: types.StrategicMergePatchType, Subresource: subresource,
		Data: []byte(data), Revision: pod.Labels["controller-revision-hash"], Reason: rollout.ReasonInPlaceUnfinished,
	})
	d := s.decision(pod.Spec.NodeName)
	d.Patches++
	d.Verb, d.Reason = rollout.VerbPatch, rollout.ReasonInPlaceUnfinished
}

// labelPatch labels a pod with a state of its lifecycle.
func labelPatch(s *handmade, name string, state lifecycle.State) {
	s.patchOf(name, "", fmt.Sprintf(`{"metadata":{"uid":"uid-%s","labels":{%q:%q},"annotations":{%q:"2026-01-15T12:00:00Z"}}}`,
		name, lifecycle.StateLabel, state, lifecycle.TimestampAnnotation))
}

// conditionPatch makes a condition of a pod False.
func conditionPatch(s *handmade, name string, kind corev1.PodConditionType) {
	s.patchOf(name, "status", fmt.Sprintf(`{"metadata":{"uid":"uid-%s"},"status":{"conditions":[{"type":%q,"status":"False"}]}}`,
		name, kind))
}

// patchTo is the plan's patch of the pod to the subresource.
func (s *handmade) patchTo(name, subresource string) *rollout.Patch {
	i := slices.IndexFunc(s.plan.Patches, func(p rollout.Patch) bool { return p.Pod == name && p.Subresource == subresource })
	return &s.plan.Patches[i]
}

// unpatch removes the patch of pod b-old to the subresource from the plan.
func (s *handmade) unpatch(subresource string) {
	const name = "b-old"
	s.plan.Patches = slices.DeleteFunc(s.plan.Patches, func(p rollout.Patch) bool { return p.Pod == name && p.Subresource == subresource })
	s.decision(s.pod(name).Spec.NodeName).Patches--
}

// object is a part of a decoded patch.
type object = map[string]any

// at returns a part of the patch, such as at("metadata", "labels"). It creates the part if it is missing.
func (p *rewritten) at(path ...string) object {
	part := p.body
	for _, key := range path {
		inner, ok := part[key].(object)
		if !ok {
			inner = object{}
			part[key] = inner
		}
		part = inner
	}
	return part
}

type rewritten struct{ body object }

// edit rewrites the data of the patch of pod b-old to the subresource.
func edit(subresource string, apply func(*rewritten)) func(*handmade) {
	return func(s *handmade) {
		patch := s.patchTo("b-old", subresource)
		p := &rewritten{}
		if err := json.Unmarshal(patch.Data, &p.body); err != nil {
			panic(err)
		}
		apply(p)
		data, err := json.Marshal(p.body)
		if err != nil {
			panic(err)
		}
		patch.Data = data
	}
}

// container is the entry of container main in a patch of the spec.
func (p *rewritten) container() object { return p.at("spec")["containers"].([]any)[0].(object) }

// addContainer adds an entry for a container.
func (p *rewritten) addContainer(container object) {
	spec := p.at("spec")
	list, _ := spec["containers"].([]any)
	spec["containers"] = append(list, container)
}

// addCondition adds an entry for a condition.
func (p *rewritten) addCondition(kind corev1.PodConditionType, status corev1.ConditionStatus) {
	of := p.at("status")
	list, _ := of["conditions"].([]any)
	of["conditions"] = append(list, object{"type": string(kind), "status": string(status)})
}

// both plants two things.
func both(plants ...func(*handmade)) func(*handmade) {
	return func(s *handmade) {
		for _, plant := range plants {
			plant(s)
		}
	}
}
