package placement

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// Resources are what one container gets on a node in place of the template's.
type Resources struct {
	// Container name.
	Container string
	// Resources that replace those of the template as a whole. They are shared between nodes and must not be written.
	Resources corev1.ResourceRequirements
	// Source is the name of the Override; empty: the annotation of the node.
	Source string
}

// Overridden is the effect of all overrides on one node. Its slices are shared between nodes: they are not to be
// written, but may be appended to.
type Overridden struct {
	// Resources that differ from the template, in the order of its containers, init containers first. Nil: none. A
	// container that is overridden with the amounts that the template has already, in whatever spelling, is left out, so
	// that an override that changes nothing restarts nothing, neither when it comes nor when it goes.
	Resources []Resources
	// Digest of Resources; empty: none.
	Digest string
	// Conflicts between overrides, in the order of the containers, and for one container in that in which its losers would
	// win. They are listed also if the overrides give the same, and if an annotation of the node counts more than all.
	Conflicts []Conflict
	// Malformed annotations of the node, in the order of the containers. While there are any, Digest is for new pods only:
	// it makes no running pod outdated (P8).
	Malformed []Malformed
}

// Conflict is a conflict between two overrides that match one node and container.
type Conflict struct {
	// Container that both override.
	Container string
	// Winner is the name of the newest, Loser that of another one.
	Winner, Loser string
}

// Malformed is an annotation that cannot be read, or that asks for what the API server would refuse.
type Malformed struct {
	// Container it is for.
	Container string
	// Problem with it.
	Problem string
}

// Evaluate returns the effect on one node. It does not allocate for nodes that nothing overrides, nor for those that one
// Override matches and that have no annotation for the set. For all other nodes an [Evaluator] is cheaper. For a nil node
// the effect is zero.
func (o *Overrides) Evaluate(node *corev1.Node) Overridden {
	if o == nil || node == nil {
		return Overridden{}
	}
	var few [8]int
	matched := o.match(node, few[:0])
	switch {
	case o.annotated(node):
	case len(matched) == 0:
		return Overridden{}
	case len(matched) == 1:
		return o.rules[matched[0]].alone
	}
	return o.combine(matched, node.Annotations)
}

// Evaluator evaluates like the Overrides it is made from, and remembers results: a node that is overridden like one before
// it costs no allocation and shares that one's result. It is made for one pass over the nodes, grows with the number of
// different effects, and is not safe for concurrent use. A nil Evaluator and the zero value override nothing.
type Evaluator struct {
	overrides *Overrides
	known     map[string]Overridden
	matched   []int
	key       []byte
}

// Evaluator returns a new Evaluator, which has seen no node.
func (o *Overrides) Evaluator() *Evaluator { return &Evaluator{overrides: o} }

// Evaluate returns what [Overrides.Evaluate] does.
func (e *Evaluator) Evaluate(node *corev1.Node) Overridden {
	if e == nil || e.overrides == nil || node == nil {
		return Overridden{}
	}
	o := e.overrides
	e.matched = o.match(node, e.matched[:0])
	annotated := o.annotated(node)
	switch {
	case annotated:
	case len(e.matched) == 0:
		return Overridden{}
	case len(e.matched) == 1:
		return o.rules[e.matched[0]].alone
	}
	e.key = binary.AppendUvarint(e.key[:0], uint64(len(e.matched)))
	for _, i := range e.matched {
		e.key = binary.AppendUvarint(e.key, uint64(i))
	}
	if annotated {
		for i := range o.slots {
			if text, ok := node.Annotations[o.slots[i].key]; ok {
				e.key = binary.AppendUvarint(e.key, uint64(i))
				e.key = binary.AppendUvarint(e.key, uint64(len(text)))
				e.key = append(e.key, text...)
			}
		}
	}
	if result, ok := e.known[string(e.key)]; ok {
		return result
	}
	if e.known == nil {
		e.known = map[string]Overridden{}
	}
	result := o.combine(e.matched, node.Annotations)
	e.known[string(e.key)] = result
	return result
}

// match appends the indexes of the rules that match the node to matched, which must be empty, in ascending order.
func (o *Overrides) match(node *corev1.Node, matched []int) []int {
	o.candidates.each(node, func(i int32) bool {
		if o.rules[i].matches(node) {
			matched = append(matched, int(i))
		}
		return true
	})
	slices.Sort(matched)
	return matched
}

func (r *rule) matches(node *corev1.Node) bool {
	for i := range r.labels {
		if value, ok := node.Labels[r.labels[i].key]; !ok || value != r.labels[i].value {
			return false
		}
	}
	return r.selector == nil || r.selector.Matches(labels.Set(node.Labels))
}

// annotated reports whether the node has an annotation for any container.
func (o *Overrides) annotated(node *corev1.Node) bool {
	if len(node.Annotations) == 0 {
		return false
	}
	for i := range o.slots {
		if _, ok := node.Annotations[o.slots[i].key]; ok {
			return true
		}
	}
	return false
}

// combine joins the rules with these indexes, in ascending order, and the annotations of a node (P8).
func (o *Overrides) combine(matched []int, annotations map[string]string) Overridden {
	var result Overridden
	for i := range o.slots {
		slot := &o.slots[i]
		var winner *effect
		for _, m := range matched {
			switch other := o.rules[m].effects[i]; {
			case other == nil:
			case winner == nil:
				winner = other
			default:
				result.Conflicts = append(result.Conflicts, Conflict{
					Container: slot.name, Winner: winner.given.Source, Loser: other.given.Source,
				})
			}
		}
		if text, ok := annotations[slot.key]; ok {
			if annotation, problem := slot.read(text); problem == "" {
				winner = annotation
			} else {
				result.Malformed = append(result.Malformed, Malformed{Container: slot.name, Problem: problem})
			}
		}
		if winner != nil && !winner.same {
			result.Resources = append(result.Resources, winner.given)
		}
	}
	result.Resources = slices.Clip(result.Resources)
	result.Conflicts = slices.Clip(result.Conflicts)
	result.Malformed = slices.Clip(result.Malformed)
	result.Digest = Digest(result.Resources)
	return result
}

// read returns what the annotation gives the container, or what is wrong with it.
func (s *slot) read(text string) (*effect, string) {
	resources, err := readResources(text)
	if err != nil {
		return nil, err.Error()
	}
	mistakes := append(validateResources(resources, nil), s.missingClaims(resources.Claims, nil)...)
	if len(mistakes) > 0 {
		problems := make([]string, len(mistakes))
		for i, mistake := range mistakes {
			problems[i] = mistake.Error()
		}
		const enough = 400 // an annotation can hold thousands of mistakes, and nodes are many
		return nil, fmt.Sprintf("%.*s", enough, strings.Join(problems, "; "))
	}
	return s.effect(resources, ""), ""
}
