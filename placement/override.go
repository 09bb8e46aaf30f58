package placement

import (
	"cmp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Override gives the containers on some nodes other resources than the template (P8).
type Override struct {
	// Name of the override; unique.
	Name string
	// Created is when it was made. Of several that match one node and container the newest wins; of equally old ones, the
	// one whose name sorts last. The zero time is older than any other.
	Created time.Time
	// NodeSelector picks the nodes. An empty one picks all.
	NodeSelector metav1.LabelSelector
	// Containers are the resources by container name, init containers included. Each replaces the resources of the
	// template's container as a whole, also where it is empty. Containers that the template lacks have no effect.
	Containers map[string]corev1.ResourceRequirements
}

const (
	// OverrideAnnotationPrefix begins the keys of node annotations that override resources; <namespace>.<name>.<container>
	// follows it. The value is a JSON object as in a container's resources. The API server takes no key with more than 63
	// characters behind the slash; sets with longer names use an Override.
	OverrideAnnotationPrefix = "resources.extendeddaemonset.datadoghq.com/"
	// DigestAnnotation is on pods whose resources are overridden. Its value is the [Digest] of these resources.
	DigestAnnotation = "daemonplan.io/resources-digest"
)

// Overrides of one template, compiled once and then evaluated against any number of nodes. It is immutable and safe
// for concurrent use. A nil Overrides and the zero value override nothing.
type Overrides struct {
	slots []slot
	rules []rule // in the order in which they win
	// candidates are the rules that can match a node.
	candidates candidates
}

// slot is a container of the template.
type slot struct {
	name string
	// key of the node annotation for the container.
	key string
	// own is the canonical form of the resources in the template.
	own string
	// claims of the pod, which the container may use.
	claims map[string]bool
}

// rule is a compiled Override.
type rule struct {
	// labels that nodes must have. selector is set instead if the override's selector has expressions, else nil.
	labels   []label
	selector labels.Selector
	// effects are what it gives each slot; a nil element: nothing.
	effects []*effect
	// alone is what a node gets that no other rule matches and that has no annotation. It is made once and shared.
	alone Overridden
}

// effect is what one container gets.
type effect struct {
	given Resources
	// same reports whether the template's container has these resources already.
	same bool
}

// CompileOverrides prepares the overrides of the set with this namespace and name for the containers of a template. The
// order of the overrides changes nothing. The result keeps nothing of the input but strings.
//
// The error holds every mistake that [ValidateOverrides] reports, with paths that begin at overrides, and every claim
// that the template's pods do not have; errors.As finds a *field.Error, and the error's Unwrap() []error holds all. The
// result is usable nevertheless: what is mistaken is left out. If the mistake is in the resources of a container, that is
// the container; else it is the whole override, and if several have one name, all of these. A nil template is an error
// too, and its result overrides nothing.
func CompileOverrides(
	namespace, name string, template *corev1.PodTemplateSpec, overrides []Override,
) (*Overrides, error) {
	path := field.NewPath("overrides")
	mistakes := ValidateOverrides(overrides, path)
	if template == nil {
		return &Overrides{}, asError(append(mistakes,
			field.Required(field.NewPath("template"), "a pod template is needed to override its resources")))
	}
	compiled := &Overrides{slots: compileSlots(OverrideAnnotationPrefix+namespace+"."+name+".", &template.Spec)}
	var wants [][]want
	for _, i := range byPrecedence(overrides) {
		rule, missing := compileRule(compiled.slots, &overrides[i], path.Index(i))
		mistakes = append(mistakes, missing...)
		if rule != nil {
			compiled.rules = append(compiled.rules, *rule)
			wants = append(wants, wantsOfSelector(&overrides[i].NodeSelector))
		}
	}
	compiled.candidates = newCandidates(wants)
	for i := range compiled.rules {
		compiled.rules[i].alone = compiled.combine([]int{i}, nil)
	}
	return compiled, asError(mistakes)
}

// byPrecedence returns the indexes of the overrides that have a name of their own, in the order in which they win (P8).
func byPrecedence(overrides []Override) []int {
	uses := map[string]int{}
	for i := range overrides {
		uses[overrides[i].Name]++
	}
	var order []int
	for i := range overrides {
		if name := overrides[i].Name; name != "" && uses[name] == 1 {
			order = append(order, i)
		}
	}
	// Round(0) drops the monotonic part: two readings of this process's clock would compare by it and other times not,
	// which need not give an order.
	slices.SortFunc(order, func(i, j int) int {
		a, b := &overrides[i], &overrides[j]
		return cmp.Or(b.Created.Round(0).Compare(a.Created.Round(0)), strings.Compare(b.Name, a.Name))
	})
	return order
}

// compileSlots returns the containers in order. Of two with one name, which no API server takes, the first counts.
func compileSlots(prefix string, spec *corev1.PodSpec) []slot {
	claims := map[string]bool{}
	for i := range spec.ResourceClaims {
		claims[spec.ResourceClaims[i].Name] = true
	}
	var slots []slot
	seen := map[string]bool{}
	for _, containers := range [...][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			name := containers[i].Name
			if !seen[name] {
				seen[name] = true
				slots = append(slots, slot{
					name: name, key: prefix + name, own: canonical(&containers[i].Resources), claims: claims,
				})
			}
		}
	}
	return slots
}

// compileRule returns nil if the override can have no effect on the containers. The mistakes are those that can be seen only
// with the template: claims that its pods do not have.
func compileRule(slots []slot, override *Override, path *field.Path) (*rule, field.ErrorList) {
	compiled := &rule{effects: make([]*effect, len(slots))}
	var missing field.ErrorList
	some := false
	for i := range slots {
		resources, ok := override.Containers[slots[i].name]
		if !ok {
			continue
		}
		at := path.Child("containers").Key(slots[i].name)
		mistakes := slots[i].missingClaims(resources.Claims, at)
		missing = append(missing, mistakes...)
		if len(mistakes) > 0 || len(validateResources(&resources, at)) > 0 {
			continue
		}
		compiled.effects[i] = slots[i].effect(resources.DeepCopy(), override.Name)
		some = true
	}
	selector, err := metav1.LabelSelectorAsSelector(override.NodeSelector.DeepCopy())
	if err != nil || !some {
		return nil, missing
	}
	// If the selector has labels only, they are compared directly: the requirements of a selector each look a label up
	// through an interface, which takes longer.
	if compiled.selector = selector; len(override.NodeSelector.MatchExpressions) == 0 {
		compiled.labels, compiled.selector = compileSelector(override.NodeSelector.MatchLabels), nil
	}
	return compiled, missing
}

func (s *slot) effect(resources *corev1.ResourceRequirements, source string) *effect {
	return &effect{
		given: Resources{Container: s.name, Resources: *resources, Source: source},
		same:  canonical(resources) == s.own,
	}
}

// missingClaims reports the claims that the template's pods do not have: the API server would refuse the pod.
func (s *slot) missingClaims(claims []corev1.ResourceClaim, path *field.Path) field.ErrorList {
	var missing field.ErrorList
	for i := range claims {
		if name := claims[i].Name; name != "" && !s.claims[name] {
			missing = append(missing, field.NotFound(path.Child("claims").Index(i).Child("name"), name))
		}
	}
	return missing
}
