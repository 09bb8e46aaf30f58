package fleet

import (
	"fmt"
	"hash/maphash"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout/domain"
	"github.com/daemonplan/daemonplan/rollout/stage"
)

// None stands for no ordinal.
const None = -1

// Node is what one node says by itself and by the rules.
type Node struct {
	Object *corev1.Node
	Name   string
	// Verdict on the node for the template of the update revision (P2, P3).
	Verdict placement.Verdict
	// Effect is the ordinal in Nodes.Effects of what overrides give the node (P8), or None.
	Effect int32
	// Cell is the ordinal in Nodes.Cells of the node's cell, by which it is in domains (B10). 0 without domains.
	Cell int32
	// Part is the ordinal in Nodes.Parts of the part of a stage that the node is in (T8). 0 without stages.
	Part int32
	// Unselected reports whether the node selector of the strategy does not match the node (T3).
	Unselected bool
}

// Nodes are the facts of all nodes. They are immutable.
type Nodes struct {
	// List has the nodes, ascending by name.
	List List[Node]
	// Effects of overrides that nodes have, in no particular order.
	Effects []placement.Overridden
	// Cells of the nodes, and maybe some that no node has any more; nil without domains. They are not written any more.
	Cells *domain.Cells
	// Parts of stages, and maybe some that no node is in any more; nil without stages. They are not written any more.
	Parts *stage.Parts
	// Runs is how many nodes run the pod by the template of the update revision.
	Runs int32

	rules    *Rules
	seed     maphash.Seed
	names    index                 // of List, by name
	pointers pointers[corev1.Node] // of List, if it is made
}

// Error says which element of a list of objects breaks the contract.
type Error struct {
	// List is the name of the list, such as "Pods", and Index the place in it. None: the whole list is meant.
	List  string
	Index int
	// Problem says what is wrong there, and what would be right.
	Problem string
}

// Field returns the place, such as "Pods[3]".
func (e *Error) Field() string {
	if e.Index == None {
		return e.List
	}
	return fmt.Sprintf("%s[%d]", e.List, e.Index)
}

// Error joins place and problem.
func (e *Error) Error() string { return e.Field() + ": " + e.Problem }

// Find returns the ordinal of the node of that name, or None.
func (f *Nodes) Find(name string) int32 { return f.find(maphash.String(f.seed, name), name) }

// find is Find for a name whose hash is known.
func (f *Nodes) find(hash uint64, name string) int32 {
	return f.names.find(hash, func(i int32) bool { return f.List.At(i).Name == name })
}

// sharesNames reports whether both have one table of names, as facts have that only replace objects. Then the ordinals are the
// same.
func (f *Nodes) sharesNames(other *Nodes) bool { return &f.names.slots[0] == &other.names.slots[0] }

// ReadNodes returns the facts of the nodes by the rules, and reads only objects that are not in earlier facts; nil: all of them.
// It fails with an *Error if an object is nil, or has no name, or the name of another.
func ReadNodes(earlier *Nodes, rules *Rules, objects []*corev1.Node) (*Nodes, error) {
	if earlier == nil {
		return readNodes(nil, rules, objects)
	}
	earlier = earlier.indexed()
	differs := earlier.pointers.compare(objects)
	switch {
	case differs.twice:
		return readNodes(nil, rules, objects)
	case differs.isNone() && rules == earlier.rules:
		return earlier, nil
	}
	fresh := earlier.replaced(&differs, objects)
	if fresh == nil {
		return readNodes(earlier, rules, objects)
	}
	f := &Nodes{seed: earlier.seed, names: earlier.names, pointers: earlier.pointers}
	list := earlier.List.edit()
	versions := make([]*corev1.Node, len(fresh))
	for k, i := range differs.strange {
		versions[k] = objects[i]
		*list.write(fresh[k]) = Node{Object: objects[i], Name: objects[i].Name, Effect: None}
	}
	if len(fresh) > 0 {
		f.pointers = earlier.pointers.with(differs.gone, fresh, versions)
	}
	slices.Sort(fresh)
	f.evaluate(&list, earlier, rules, fresh)
	return f, nil
}

// replaced returns the ordinals of the nodes of which the strange objects are newer versions, if these replace just the objects
// that are gone; else nil.
func (f *Nodes) replaced(differs *difference, objects []*corev1.Node) []int32 {
	if len(differs.strange) != len(differs.gone) {
		return nil
	}
	missing := NewOrdinals(f.List.Len())
	for _, j := range differs.gone {
		missing.Add(j)
	}
	found := make([]int32, len(differs.strange))
	for k, i := range differs.strange {
		if objects[i] == nil {
			return nil
		}
		found[k] = f.Find(objects[i].Name)
		if found[k] == None || !missing.Has(found[k]) {
			return nil
		}
		missing.remove(found[k])
	}
	return found
}

// readNodes puts the nodes in order, and reads those that are not in earlier facts, which have their table of pointers; nil: no
// node is.
func readNodes(earlier *Nodes, rules *Rules, objects []*corev1.Node) (*Nodes, error) {
	f := &Nodes{names: newIndex(len(objects))}
	records := make([]Node, len(objects))
	var at []int32 // the ordinals in earlier facts, None for nodes that are not there
	if earlier == nil {
		f.seed = maphash.MakeSeed()
	} else {
		f.seed = earlier.seed
		at = make([]int32, len(objects))
		for i, object := range objects {
			at[i] = earlier.pointers.find(object)
		}
	}
	names := make([]string, len(objects))
	for i, object := range objects {
		switch {
		case earlier != nil && at[i] != None:
			names[i] = earlier.List.At(at[i]).Name
			continue
		case object == nil:
			return nil, wrong("Nodes", i, "must not be nil")
		case object.Name == "":
			return nil, wrong("Nodes", i, "must have a name")
		}
		names[i] = object.Name
	}
	// The table is made for places in the snapshot, so that the error is of the first name that is there twice.
	order := ascending(names)
	rank := make([]int32, len(objects))
	for i := range order {
		rank[order[i].i] = int32(i)
	}
	for i, name := range names {
		if f.names.add(rank[i], maphash.String(f.seed, name), func(j int32) bool { return names[order[j].i] == name }) != None {
			problem := fmt.Sprintf("names must be unique: there are two nodes %q", name)
			return nil, &Error{List: "Nodes", Index: None, Problem: problem}
		}
	}
	fresh := make([]int32, 0, len(objects))
	for i := range order {
		from := order[i].i
		if earlier != nil && at[from] != None {
			records[i] = *earlier.List.At(at[from])
			continue
		}
		records[i] = Node{Object: objects[from], Name: names[from], Effect: None}
		fresh = append(fresh, int32(i))
	}
	list := listOf(records)
	f.evaluate(&list, earlier, rules, fresh)
	return f, nil
}

// block is how many objects are read side by side. On large fleets reading is waiting for memory, and the processor waits for
// several objects at once.
const block = 64

// evaluate applies the rules to the nodes of a list, which becomes that of f: all of them to the fresh nodes, and to the others
// those that differ from the rules of earlier facts.
func (f *Nodes) evaluate(list *edited[Node], earlier *Nodes, rules *Rules, fresh []int32) {
	f.rules = rules
	var all []int32 // ordinals of all nodes, if any rule has to be applied to all of them
	which := func(same bool) []int32 {
		if same || len(fresh) == list.Len() {
			return fresh
		}
		if all == nil {
			all = make([]int32, list.Len())
			for i := range all {
				all[i] = int32(i)
			}
		}
		return all
	}
	f.judge(list, which(earlier == nil || rules.sameVerdicts(earlier.rules)))
	f.override(list, earlier, which(earlier == nil || rules.sameEffects(earlier.rules)))
	for _, i := range which(earlier == nil || rules.sameSelection(earlier.rules)) {
		n := list.write(i)
		n.Unselected = !rules.NodeSelector.Empty() && !rules.NodeSelector.Matches(labels.Set(n.Object.Labels))
	}
	f.divide(list, earlier, fresh)
	f.List = list.List
	for _, nodes := range f.List.chunks {
		for i := range nodes {
			if nodes[i].Verdict.Outcome == placement.Run {
				f.Runs++
			}
		}
	}
}

// judge gives the nodes of these ordinals their verdicts.
func (f *Nodes) judge(list *edited[Node], nodes []int32) {
	var some [block]*corev1.Node
	var verdicts [block]placement.Verdict
	for len(nodes) > 0 {
		now := nodes[:min(block, len(nodes))]
		for k, i := range now {
			some[k] = list.At(i).Object
		}
		for k, verdict := range f.rules.Matcher.EvaluateAll(verdicts[:0], some[:len(now)]) {
			list.write(now[k]).Verdict = verdict
		}
		nodes = nodes[len(now):]
	}
}

// divide gives each node its cell and its part.
func (f *Nodes) divide(list *edited[Node], earlier *Nodes, fresh []int32) {
	if domains := f.rules.Domains; domains.Len() > 0 {
		var cells *domain.Cells
		if earlier != nil && domains.SameCells(earlier.rules.Domains) {
			cells = earlier.Cells
		}
		f.Cells = number(list, cells, fresh, domains.NewCells, func(n *Node, cell int32) { n.Cell = cell })
	}
	if stages := f.rules.Stages; stages.Len() > 0 {
		var parts *stage.Parts
		if earlier != nil && stages.SameParts(earlier.rules.Stages) {
			parts = earlier.Parts
		}
		f.Parts = number(list, parts, fresh, stages.NewParts, func(n *Node, part int32) { n.Part = part })
	}
}

// numbers are what number gives nodes: numbers of what their labels mean.
type numbers[T any] interface {
	comparable
	Len() int
	Clone() T
	Of(labels map[string]string) int32
}

// number gives nodes the numbers of their labels: the fresh nodes from a copy of an earlier table, or all nodes from a new one, if
// there is no earlier one or if many of its numbers are those of nodes that are gone or have other labels by now.
func number[T numbers[T]](list *edited[Node], earlier T, fresh []int32, table func() T, set func(*Node, int32)) T {
	var none T
	if earlier != none && earlier.Len()+len(fresh) <= 2*list.Len()+block {
		if len(fresh) > 0 {
			earlier = earlier.Clone()
		}
		for _, i := range fresh {
			n := list.write(i)
			set(n, earlier.Of(n.Object.Labels))
		}
		return earlier
	}
	made := table()
	for i := range int32(list.Len()) {
		n := list.write(i)
		set(n, made.Of(n.Object.Labels))
	}
	return made
}

// override gives the nodes of these ordinals what overrides say, and takes over the effects of the others from earlier facts.
func (f *Nodes) override(list *edited[Node], earlier *Nodes, nodes []int32) {
	evaluator := f.rules.Compiled.Evaluator()
	evaluate := func(n *Node) {
		n.Effect = None
		if effect := evaluator.Evaluate(n.Object); HasEffect(&effect) {
			n.Effect = int32(len(f.Effects))
			f.Effects = append(f.Effects, effect)
		}
	}
	if earlier == nil || len(earlier.Effects) == 0 {
		for _, i := range nodes {
			evaluate(list.write(i))
		}
		return
	}
	next := 0
	for i := range int32(list.Len()) {
		switch {
		case next < len(nodes) && nodes[next] == i:
			next++
			evaluate(list.write(i))
		case list.At(i).Effect != None:
			n := list.write(i)
			f.Effects = append(f.Effects, earlier.Effects[n.Effect])
			n.Effect = int32(len(f.Effects)) - 1
		}
	}
}

// HasEffect reports whether overrides give a node anything, or have something to report about it.
func HasEffect(effect *placement.Overridden) bool {
	return len(effect.Resources) > 0 || len(effect.Malformed) > 0 || len(effect.Conflicts) > 0
}

// indexed returns the same facts with the table of pointers.
func (f *Nodes) indexed() *Nodes {
	if f.pointers.isMade() {
		return f
	}
	objects := make([]*corev1.Node, 0, f.List.Len())
	for _, nodes := range f.List.chunks {
		for i := range nodes {
			objects = append(objects, nodes[i].Object)
		}
	}
	same := *f
	same.pointers = newPointers(f.seed, objects)
	return &same
}

func wrong(list string, i int, problem string) error {
	return &Error{List: list, Index: i, Problem: problem}
}
