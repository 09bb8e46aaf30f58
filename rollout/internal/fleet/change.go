package fleet

import (
	"math/bits"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/placement"
)

// changed returns the facts without the gone pods, which are places in List, with the fresh ones, and on these nodes. Objects of
// the other pods are not looked at, but for strays when nodes have come. It returns nil if a fresh one breaks the contract,
// unless that is about whose it is, and the pods were claimed.
func (f *Pods) changed(rules *Rules, nodes *Nodes, fresh []*corev1.Pod, gone []int32, claimed bool) *Pods {
	sharesNames := nodes.sharesNames(f.nodes)
	if sharesNames && len(fresh)+len(gone) == 0 {
		return f.on(nodes)
	}
	read := newReader(rules, nodes, f.Hashes, claimed)
	records := make([]Pod, len(fresh))
	if read.all(records, fresh) != nil {
		return nil
	}
	c := &changing{Pods: *f, list: f.List.edit(), touched: NewOrdinals(nodes.List.Len())}
	c.nodes, c.Hashes = nodes, read.hashes
	c.First, c.Plain, c.free = slices.Clone(f.First), slices.Clone(f.Plain), slices.Clone(f.free)
	c.makeRoom(len(fresh))
	if !sharesNames {
		c.renumber(f.nodes)
	}
	for _, j := range gone {
		c.drop(j)
	}
	places := make([]int32, len(fresh))
	for k := range records {
		places[k] = c.place()
		*c.list.write(places[k]) = records[k]
		if !c.enter(places[k]) {
			return nil
		}
	}
	out := c.done(gone)
	if f.pointers.isMade() {
		out.pointers = f.pointers.with(gone, places, fresh)
	}
	return out
}

// on returns the same facts on nodes of the same names.
func (f *Pods) on(nodes *Nodes) *Pods {
	if f.nodes == nodes {
		return f
	}
	same := *f
	same.nodes = nodes
	return &same
}

// changing are facts that are being made or changed, before anybody else sees them.
type changing struct {
	Pods
	list edited[Pod] // takes the place of List
	// touched are the nodes whose pods have changed: their lists of pods are put right in the end.
	touched       Ordinals
	straysTouched bool // likewise for the pods on no known node
}

// makeRoom sees to it that the index by UID can be written, and has room for some more pods.
func (c *changing) makeRoom(fresh int) {
	size := c.list.Len() + max(0, fresh-len(c.free))
	if c.uids.holds(size) {
		if edited, hasRoom := c.uids.edit(fresh); hasRoom {
			c.uids = edited
			return
		}
	} else {
		size *= 2
	}
	c.uids = newIndex(size)
	for i := range int32(c.list.Len()) {
		if p := c.list.At(i); p.Object != nil {
			c.uids.add(i, p.uid, func(int32) bool { return false })
		}
	}
}

// place returns a free place for a pod.
func (c *changing) place() int32 {
	if last := len(c.free) - 1; last >= 0 {
		j := c.free[last]
		c.free = c.free[:last]
		return j
	}
	c.list.add(Pod{})
	return int32(c.list.Len() - 1)
}

// drop takes a pod out. It stays in the list of its node, from which done unlinks it.
func (c *changing) drop(j int32) {
	p := c.list.write(j)
	h := &c.Hashes[p.Hash]
	h.Pods--
	if !p.Traits.HasAny(Marked | Failed | Succeeded) {
		h.Live--
	}
	c.touch(p.NodeOrdinal)
	p.Object = nil
}

// enter puts in the pod that is at a place, and reports whether there is no other one with its UID.
func (c *changing) enter(j int32) bool {
	p := c.list.At(j)
	if c.uids.add(j, p.uid, func(i int32) bool { return c.list.At(i).isOf(p.uid, p.Object.UID) }) != None {
		return false
	}
	c.link(j)
	return true
}

// link puts a pod before the others of its node.
func (c *changing) link(j int32) {
	p, first := c.list.write(j), &c.Strays
	if p.NodeOrdinal != None {
		first = &c.First[p.NodeOrdinal]
	}
	p.Next, *first = *first, j
	c.touch(p.NodeOrdinal)
}

func (c *changing) touch(node int32) {
	if node == None {
		c.straysTouched = true
		return
	}
	c.touched.Add(node)
}

// done puts the lists of the touched nodes right, frees the places of the gone pods, and returns the facts.
func (c *changing) done(gone []int32) *Pods {
	var pods []int32 // of one node
	for word, some := range c.touched {
		for ; some != 0; some &= some - 1 {
			node := int32(word*64 + bits.TrailingZeros64(some))
			c.First[node], pods = c.relink(c.First[node], pods)
			c.summarize(node)
		}
	}
	if c.straysTouched {
		c.Strays, _ = c.relink(c.Strays, pods)
	}
	for _, j := range gone {
		*c.list.write(j) = Pod{}
	}
	c.free = append(c.free, gone...)
	c.List = c.list.List
	out := c.Pods // a pointer into c would keep what only this change needs
	return &out
}

// relink takes the gone pods out of a list of pods that begins at first, and puts the others in the order of age. It returns
// where the list begins then. room is memory for it to work in.
func (c *changing) relink(first int32, room []int32) (now int32, _ []int32) {
	if first != None && c.list.At(first).Next == None && c.list.At(first).Object != nil {
		return first, room
	}
	pods := room[:0]
	for j := first; j != None; j = c.list.At(j).Next {
		if c.list.At(j).Object != nil {
			pods = append(pods, j)
		}
	}
	slices.SortFunc(pods, func(a, b int32) int { return ByAge(c.list.At(a), c.list.At(b)) })
	now = None
	for _, j := range slices.Backward(pods) {
		c.list.write(j).Next = now
		now = j
	}
	return now, pods
}

// summarize finds out whether the node has a plain pod.
func (c *changing) summarize(node int32) {
	first := c.First[node]
	if first == None {
		c.Plain[node] = NoPod
		return
	}
	p := c.list.At(first)
	if p.Next != None || p.Traits != Bound|Ready || p.ReadySince.IsZero() {
		c.Plain[node] = NotPlain
		return
	}
	c.Plain[node] = p.Hash
	if p.ReadySince.After(c.LastReady) {
		c.LastReady = p.ReadySince
	}
}

// renumber takes the pods over from earlier nodes to those of today. Those of nodes that are gone become strays, and strays are
// looked for, because their nodes may have come.
func (c *changing) renumber(earlier *Nodes) {
	now := c.nodes.numbersOf(earlier)
	first, strays, count := c.First, c.Strays, c.nodes.List.Len()
	c.First, c.Strays = slices.Repeat([]int32{None}, count), None
	c.Plain = slices.Repeat([]int32{NoPod}, count)
	for i, j := range first {
		if now[i] != None {
			c.First[now[i]] = j
			c.touch(now[i])
		}
		for j != None {
			p := c.list.write(j)
			next := p.Next
			if p.NodeOrdinal = now[i]; p.NodeOrdinal == None {
				c.link(j)
			}
			j = next
		}
	}
	for j := strays; j != None; {
		p := c.list.write(j)
		next := p.Next
		target, _ := placement.TargetNode(p.Object)
		p.NodeOrdinal = c.nodes.Find(target)
		c.link(j)
		j = next
	}
}

// numbersOf returns for each ordinal in earlier facts the ordinal of the node of that name today, or None.
func (f *Nodes) numbersOf(earlier *Nodes) []int32 {
	now := make([]int32, earlier.List.Len())
	j, end := int32(0), int32(f.List.Len())
	for i := range now { // both lists ascend by name
		name := earlier.List.At(int32(i)).Name
		for j < end && f.List.At(j).Name < name {
			j++
		}
		now[i] = None
		if j < end && f.List.At(j).Name == name {
			now[i] = j
		}
	}
	return now
}
