package verify

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout"
)

// overrides are the overrides of the spec (P8). Which annotations can be read is a matter of their format, and
// asked of package placement, like the format of the digest; who overrides what is found here.
type overrides struct {
	prefix  string // of the node annotations of this set
	list    []placement.Override
	selects []labels.Selector
	// candidates are those of list that can match a node.
	candidates candidates
	// readers tell of one template of this plan which annotations cannot be read.
	readers map[*corev1.PodTemplateSpec]*placement.Overrides
	set     [2]string // namespace and name
}

// overridden is what one node gives to the containers of one template.
type overridden struct {
	resources []placement.Resources
	digest    string
	malformed []string // containers
	conflicts []placement.Conflict
}

func compileOverrides(spec *rollout.Spec) overrides {
	o := overrides{
		prefix: placement.OverrideAnnotationPrefix + spec.Namespace + "." + spec.Name + ".",
		list:   slices.Clone(spec.Overrides),
		set:    [2]string{spec.Namespace, spec.Name},
	}
	slices.SortFunc(o.list, func(a, b placement.Override) int { // the one that wins first
		return cmp.Or(b.Created.Round(0).Compare(a.Created.Round(0)), cmp.Compare(b.Name, a.Name))
	})
	var wants [][]oneOf
	for i := range o.list {
		// That it can be read is part of the validation of the spec.
		selector, err := metav1.LabelSelectorAsSelector(&o.list[i].NodeSelector)
		if err != nil {
			selector = labels.Nothing()
		}
		o.selects = append(o.selects, selector)
		wants = append(wants, wantsOfSelector(&o.list[i].NodeSelector))
	}
	o.candidates = candidatesOf(wants)
	return o
}

// on evaluates the overrides on one node, container by container.
func (o *overrides) on(node *corev1.Node, template *corev1.PodTemplateSpec) overridden {
	var out overridden
	if template == nil || !o.concerns(node) {
		return out
	}
	unreadable, matching := o.unreadable(node, template), o.matching(node)
	seen := make(map[string]bool)
	for _, container := range slices.Concat(template.Spec.InitContainers, template.Spec.Containers) {
		if seen[container.Name] {
			continue
		}
		seen[container.Name] = true
		winner := o.winner(matching, template, container.Name, &out)
		if text, ok := node.Annotations[o.prefix+container.Name]; ok {
			var resources corev1.ResourceRequirements
			if unreadable[container.Name] || json.Unmarshal([]byte(text), &resources) != nil {
				out.malformed = append(out.malformed, container.Name)
			} else {
				winner = &placement.Resources{Container: container.Name, Resources: resources}
			}
		}
		if winner != nil && !sameRequirements(winner.Resources, container.Resources) {
			out.resources = append(out.resources, *winner)
		}
	}
	out.digest = placement.Digest(out.resources)
	return out
}

// concerns reports whether anything overrides anything on the node.
func (o *overrides) concerns(node *corev1.Node) bool {
	if len(o.matching(node)) > 0 {
		return true
	}
	for key := range node.Annotations {
		if strings.HasPrefix(key, o.prefix) {
			return true
		}
	}
	return false
}

// matching are the overrides in list that match the node, the one that wins first.
func (o *overrides) matching(node *corev1.Node) []int {
	var matching []int
	o.candidates.any(node, func(i int) bool {
		if o.selects[i].Matches(labels.Set(node.Labels)) {
			matching = append(matching, i)
		}
		return false
	})
	slices.Sort(matching)
	return slices.Compact(matching) // a value may be named twice
}

// winner is what the newest Override that matches gives the container; the others are conflicts.
func (o *overrides) winner(
	matching []int, template *corev1.PodTemplateSpec, container string, out *overridden,
) *placement.Resources {
	var winner *placement.Resources
	for _, i := range matching {
		resources, ok := o.list[i].Containers[container]
		if !ok || !hasClaims(template, resources.Claims) {
			continue
		}
		if winner == nil {
			winner = &placement.Resources{Container: container, Resources: resources, Source: o.list[i].Name}
			continue
		}
		out.conflicts = append(out.conflicts, placement.Conflict{
			Container: container, Winner: winner.Source, Loser: o.list[i].Name,
		})
	}
	return winner
}

func (o *overrides) unreadable(node *corev1.Node, template *corev1.PodTemplateSpec) map[string]bool {
	reader, ok := o.readers[template]
	if !ok {
		// Without overrides there is nothing to be wrong with.
		reader, _ = placement.CompileOverrides(o.set[0], o.set[1], template, nil)
		o.readers[template] = reader
	}
	unreadable := make(map[string]bool)
	for _, malformed := range reader.Evaluate(node).Malformed {
		unreadable[malformed.Container] = true
	}
	return unreadable
}

// hasClaims reports whether the template's pods have the claims that a container is to use.
func hasClaims(template *corev1.PodTemplateSpec, claims []corev1.ResourceClaim) bool {
	for _, claim := range claims {
		named := func(c corev1.PodResourceClaim) bool { return c.Name == claim.Name }
		if !slices.ContainsFunc(template.Spec.ResourceClaims, named) {
			return false
		}
	}
	return true
}

// sameRequirements reports whether resources mean the same: amounts count, not how they are written, and a limit stands for
// the request that is not there.
func sameRequirements(a, b corev1.ResourceRequirements) bool {
	claims := func(list []corev1.ResourceClaim) []corev1.ResourceClaim {
		list = slices.Clone(list)
		slices.SortFunc(list, func(a, b corev1.ResourceClaim) int {
			return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Request, b.Request))
		})
		return list
	}
	return sameAmounts(a.Limits, b.Limits) && sameAmounts(requestsOf(a), requestsOf(b)) &&
		slices.Equal(claims(a.Claims), claims(b.Claims))
}

func requestsOf(resources corev1.ResourceRequirements) corev1.ResourceList {
	requests := make(corev1.ResourceList)
	maps.Copy(requests, resources.Limits)
	maps.Copy(requests, resources.Requests)
	return requests
}

func sameAmounts(a, b corev1.ResourceList) bool {
	if len(a) != len(b) {
		return false
	}
	for name := range a {
		if !equalQuantity(a, b, name) {
			return false
		}
	}
	return true
}

func digestOf(pod *corev1.Pod) string { return pod.Annotations[placement.DigestAnnotation] }

// fits reports whether the pod was created with the resources that its node gives it where it is to end. A malformed
// annotation says nothing of pods that run.
func (v *verifier) fits(p *pod) bool {
	return p.node == nil || len(p.node.overridden.malformed) > 0 || p.digest == p.node.overridden.digest
}

// checkResourcesOf holds a create to the resources that its node gives to the containers of its revision.
func (v *verifier) checkResourcesOf(create *rollout.Create, node *node) {
	right := v.overrides.on(node.object, v.templateAt(create.Revision)).resources
	same := func(a, b placement.Resources) bool {
		return a.Container == b.Container && a.Source == b.Source && sameRequirements(a.Resources, b.Resources)
	}
	if !slices.EqualFunc(create.Resources, right, same) {
		v.report(3, create.Node, "P8: create with resources %v, right are %v", create.Resources, right)
	}
}

// checkOverrides is the part of V12 about what the plan says is wrong with overrides.
func (v *verifier) checkOverrides() {
	var conflicts []rollout.OverrideConflict
	var malformed []rollout.MalformedOverride
	at := make(map[placement.Conflict]int)
	for _, node := range v.nodes {
		for _, conflict := range node.overridden.conflicts {
			i, ok := at[conflict]
			if !ok {
				i = len(conflicts)
				at[conflict] = i
				conflicts = append(conflicts, rollout.OverrideConflict{Conflict: conflict, Node: node.name})
			}
			conflicts[i].Nodes++
		}
		for _, container := range node.overridden.malformed {
			of := placement.Malformed{Container: container}
			malformed = append(malformed, rollout.MalformedOverride{Node: node.name, Malformed: of})
		}
	}
	if !slices.Equal(v.plan.OverrideConflicts, conflicts) {
		v.report(12, "", "P8: conflicts of overrides are %v, right are %v", v.plan.OverrideConflicts, conflicts)
	}
	named := func(is, right rollout.MalformedOverride) bool {
		return is.Node == right.Node && is.Container == right.Container && is.Problem != ""
	}
	if !slices.EqualFunc(v.plan.MalformedOverrides, malformed, named) {
		v.report(12, "", "P8: malformed overrides are %v, right are %v, each with what is wrong", v.plan.MalformedOverrides,
			malformed)
	}
}

// predecessors tells which pods are of the set that this one takes over from: what it controls, and of what nobody controls
// what only its selector matches.
func predecessors(spec *rollout.Spec) func(*corev1.Pod) bool {
	predecessor := spec.Predecessor
	if predecessor == nil {
		return func(*corev1.Pod) bool { return false }
	}
	left, own := selects(predecessor.Selector), selects(spec.Selector)
	return func(pod *corev1.Pod) bool {
		if controller := metav1.GetControllerOfNoCopy(pod); controller != nil {
			return slices.Contains(predecessor.UIDs, controller.UID)
		}
		return predecessor.Selector != nil && left(pod.Labels) && !own(pod.Labels)
	}
}

// selects tells which labels a selector matches, which was validated with the spec; nil matches all.
func selects(selector *metav1.LabelSelector) func(map[string]string) bool {
	if selector == nil {
		return func(map[string]string) bool { return true }
	}
	compiled, err := metav1.LabelSelectorAsSelector(selector)
	return func(set map[string]string) bool { return err == nil && compiled.Matches(labels.Set(set)) }
}
