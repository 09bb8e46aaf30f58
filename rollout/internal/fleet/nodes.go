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
// those that differ from the rules of earlier facts. The fresh nodes are taken block by block, so that the labels of a node are
// read while they are near.
func (f *Nodes) evaluate(list *edited[Node], earlier *Nodes, rules *Rules, fresh []int32) {
	f.rules = rules
	evaluator := rules.Compiled.Evaluator()
	allCells, allParts := f.tables(list, earlier, len(fresh))
	for rest := fresh; len(rest) > 0; {
		now := rest[:min(block, len(rest))]
		f.judge(list, now)
		f.override(list, evaluator, now)
		f.selectNodes(list, now)
		f.divide(list, now, f.Cells != nil, f.Parts != nil)
		rest = rest[len(now):]
	}
	if earlier != nil {
		others := othersOf(list.Len(), fresh)
		if !rules.sameVerdicts(earlier.rules) {
			f.judge(list, others())
		}
		switch {
		case !rules.sameEffects(earlier.rules):
			f.override(list, evaluator, others())
		case len(earlier.Effects) > 0:
			f.takeOver(list, earlier, others())
		}
		if !rules.sameSelection(earlier.rules) {
			f.selectNodes(list, others())
		}
		if allCells || allParts {
			f.divide(list, others(), allCells, allParts)
		}
	}
	f.List = list.List
	for _, nodes := range f.List.chunks {
		for i := range nodes {
			if nodes[i].Verdict.Outcome == placement.Run {
				f.Runs++
			}
		}
	}
}

// othersOf returns a function that lists the ordinals of all nodes but the fresh ones, which it makes when it is first asked.
func othersOf(all int, fresh []int32) func() []int32 {
	var others []int32
	return func() []int32 {
		if others != nil {
			return others
		}
		others = make([]int32, 0, all-len(fresh))
		next := 0
		for i := range int32(all) {
			if next < len(fresh) && fresh[next] == i {
				next++
				continue
			}
			others = append(others, i)
		}
		return others
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

// override gives the nodes of these ordinals what overrides say.
func (f *Nodes) override(list *edited[Node], evaluator *placement.Evaluator, nodes []int32) {
	for _, i := range nodes {
		n := list.write(i)
		n.Effect = None
		if effect := evaluator.Evaluate(n.Object); HasEffect(&effect) {
			n.Effect = int32(len(f.Effects))
			f.Effects = append(f.Effects, effect)
		}
	}
}

// takeOver gives the nodes of these ordinals the effects that they have in earlier facts.
func (f *Nodes) takeOver(list *edited[Node], earlier *Nodes, nodes []int32) {
	for _, i := range nodes {
		if list.At(i).Effect != None {
			n := list.write(i)
			f.Effects = append(f.Effects, earlier.Effects[n.Effect])
			n.Effect = int32(len(f.Effects)) - 1
		}
	}
}

// selectNodes finds which of the nodes the node selector does not match (T3).
func (f *Nodes) selectNodes(list *edited[Node], nodes []int32) {
	for _, i := range nodes {
		n := list.write(i)
		n.Unselected = !f.rules.NodeSelector.Empty() && !f.rules.NodeSelector.Matches(labels.Set(n.Object.Labels))
	}
}

// tables makes the tables of cells and of parts: copies of those in earlier facts, to which fresh nodes may add, or new ones for
// all nodes; none without domains or stages. It reports where the numbers of all nodes change.
func (f *Nodes) tables(list *edited[Node], earlier *Nodes, fresh int) (cells, parts bool) {
	if domains := f.rules.Domains; domains.Len() > 0 {
		if earlier != nil && domains.SameCells(earlier.rules.Domains) {
			f.Cells = kept(earlier.Cells, list.Len(), fresh)
		}
		if cells = f.Cells == nil; cells {
			f.Cells = domains.NewCells()
		}
	} else {
		cells = earlier != nil && earlier.Cells != nil
	}
	if stages := f.rules.Stages; stages.Len() > 0 {
		if earlier != nil && stages.Equal(earlier.rules.Stages) {
			f.Parts = kept(earlier.Parts, list.Len(), fresh)
		}
		if parts = f.Parts == nil; parts {
			f.Parts = stages.NewParts()
		}
	} else {
		parts = earlier != nil && earlier.Parts != nil
	}
	return cells, parts
}

// table is what numbers what the labels of nodes mean.
type table[T any] interface {
	comparable
	Len() int
	Clone() T
}

// kept returns a table that can be used further for so many nodes, of which some are fresh; nil: many of its numbers may be those
// of nodes that are gone or have other labels by now.
func kept[T table[T]](earlier T, nodes, fresh int) T {
	var none T
	switch {
	case earlier == none || earlier.Len()+fresh > 2*nodes+block:
		return none
	case fresh == 0:
		return earlier
	default:
		return earlier.Clone()
	}
}

// divide gives the nodes of these ordinals their cells and their parts; without domains or stages 0.
func (f *Nodes) divide(list *edited[Node], nodes []int32, cells, parts bool) {
	if !cells && !parts {
		return
	}
	for _, i := range nodes {
		n := list.write(i)
		if cells {
			n.Cell = 0
			if f.Cells != nil {
				n.Cell = f.Cells.Of(n.Object.Labels)
			}
		}
		if parts {
			n.Part = 0
			if f.Parts != nil {
				n.Part = f.Parts.Of(n.Object.Labels)
			}
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
