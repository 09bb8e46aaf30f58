package verify_test

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/lifecycle"
)

// TestVerifyMerge: patches are read as the API server reads them, and those that cannot be read are refused.
func TestVerifyMerge(t *testing.T) {
	// asked has a pod whose hook, a label and a finalizer, is put on again. Others have finalizers on the pod, too.
	asked := func(finalizers ...string) func() *handmade {
		return handFleet(handPods("unready", "b-old"), inPlaceBy(inplace.IfPossible), inPlaceHook, func(s *handmade) {
			s.spec.Lifecycle.InPlaceUpdate.Finalizers = []string{"x.io/drain"}
			s.pod("b-old").Finalizers = finalizers
		}, inStateOf(lifecycle.Updated, "b-old"))
	}
	byMerge := func(subresource string) func(*handmade) {
		return func(s *handmade) { s.patchTo("b-old", subresource).Type = types.MergePatchType }
	}
	runAccepts(t, []acceptRow{
		{name: "a finalizer that is there", why: "a strategic merge patch adds what is missing of a set", scene: func() *handmade {
			s := asked("x.io/other")()
			edit("", func(p *rewritten) { p.at("metadata")["finalizers"] = []any{"x.io/other", "x.io/drain"} })(s)
			return s
		}},
		{name: "a resource version of null", why: "it demands none", scene: func() *handmade {
			s := begun()()
			edit("status", func(p *rewritten) { p.at("metadata")["resourceVersion"] = nil })(s)
			return s
		}},
		{name: "a list by a merge patch", why: "it stands for all of the list, whichever that is", scene: func() *handmade {
			s := asked()()
			byMerge("")(s)
			edit("", func(p *rewritten) { p.at("metadata")["ownerReferences"] = []any{} })(s)
			return s
		}},
		{
			name: "a condition that the pod lacks", why: "I4: a strategic merge patch adds it, and leaves the others as they are",
			scene: handFleet(handPods("available", "b-old"), inPlaceBy(inplace.IfPossible), onPods(func(p *corev1.Pod) {
				p.Status.Conditions = slices.DeleteFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
					return c.Type == lifecycle.InPlaceUpdateReady
				})
			}, "b-old")),
		},
	})
	runViolations(t, []violationRow{
		{
			name: "finalizers by a merge patch", why: "it stands for all of the list, and drops those of others", scene: asked("x.io/other"),
			plant: byMerge(""), want: 9, mention: "changes what is not to be changed there, or at all",
		},
		{
			name: "no conditions by a merge patch", why: "V9: those of others go with them", scene: begun(),
			plant: func(s *handmade) {
				byMerge("status")(s)
				edit("status", func(p *rewritten) { p.at("status")["conditions"] = []any{} })(s)
			},
			want: 9, mention: `to subresource "status" changes what is not to be changed there`,
		},
		{
			name: "metadata that is none", why: "what cannot be read is not trusted", scene: begun(),
			plant: edit("", func(p *rewritten) { p.body["metadata"] = "x" }), want: 9, mention: "patch of pod b-old cannot be read",
		},
		{
			name: "an unknown part", why: "what is not read is not trusted", scene: begun(),
			plant: edit("", func(p *rewritten) { p.at("data")["x"] = "y" }), want: 9, mention: `the field "data" is not read`,
		},
		{
			name: "a directive for a container", why: "what is not read is not trusted", scene: begun(),
			plant: edit("", func(p *rewritten) { p.container()["$patch"] = "merge" }), want: 9, mention: `the directive "$patch" is not read`,
		},
		{
			name: "a container that is none", why: "what cannot be read is not trusted", scene: begun(),
			plant: edit("", func(p *rewritten) { p.at("spec")["containers"] = []any{"main"} }), want: 9, mention: "an element of containers is no object",
		},
		{
			name: "a container without a name", why: "it could be any", scene: begun(),
			plant: edit("", func(p *rewritten) { p.addContainer(object{"image": "x"}) }), want: 9, mention: "an element of containers has no name",
		},
		{
			name: "a condition without a type", why: "it could be any", scene: begun(),
			plant: edit("status", func(p *rewritten) {
				p.addCondition("", corev1.ConditionTrue)
				delete(p.at("status")["conditions"].([]any)[1].(object), "type")
			}),
			want: 9, mention: "an element of conditions has no type",
		},
		{
			name: "a finalizer that is none", why: "what cannot be read is not trusted", scene: asked(),
			plant: edit("", func(p *rewritten) { p.at("metadata")["finalizers"] = []any{7} }), want: 9, mention: "a finalizer is no text",
		},
	})
}
