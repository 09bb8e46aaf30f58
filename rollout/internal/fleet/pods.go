package fleet

import (
	"cmp"
	"fmt"
	"hash/maphash"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/placement"
)

// Pods are the facts of all pods. They are immutable.
type Pods struct {
	// List has the pods by node, in the order of the nodes, those of one node by age. Pods on no known node come last.
	List []Pod
	// Hashes are the distinct revision hashes that the pods carry, in no particular order. Each is carried by a pod.
	Hashes []string

	nodes    *Nodes
	first    []int32              // where the pods of each node begin in List, and at last those on no known node
	uids     index                // of List, by UID
	pointers pointers[corev1.Pod] // of List, if it is made
	claims   *Claims              // that List is of; nil: it is of pods that were claimed before
}

// On returns the places in List of the pods on the node with that ordinal: first to end.
func (f *Pods) On(node int32) (first, end int32) { return f.first[node], f.first[node+1] }

// Strays returns the places in List of the pods on no known node: first to end. Their order means nothing.
func (f *Pods) Strays() (first, end int32) { return f.first[len(f.first)-1], int32(len(f.List)) }

// Find returns the place in List of the pod with that UID, or None.
func (f *Pods) Find(uid types.UID) int32 {
	return f.find(maphash.String(f.nodes.seed, string(uid)), uid)
}

func (f *Pods) find(hash uint64, uid types.UID) int32 {
	return f.uids.find(hash, func(i int32) bool { return f.List[i].uid == hash && f.List[i].Object.UID == uid })
}

// ReadPods returns the facts of the pods on the nodes by the rules, and reads only objects that are not in earlier facts; nil:
// all of them. It fails with an *Error if an object is nil, or has no UID, or the UID of another.
func ReadPods(earlier *Pods, rules *Rules, nodes *Nodes, objects []*corev1.Pod) (*Pods, error) {
	if earlier == nil || !rules.samePods(earlier.nodes.rules) {
		return readPods(nil, nil, rules, nodes, objects)
	}
	earlier = earlier.indexed()
	stay := nodes.sameNames(earlier.nodes)
	if stay && earlier.pointers.areAll(objects) {
		return earlier.on(nodes, nil), nil
	}
	at, strange := earlier.pointers.known(objects)
	if at == nil {
		return readPods(nil, nil, rules, nodes, objects)
	}
	if stay && len(objects) == len(earlier.List) {
		if f := earlier.replaced(at, strange, rules, nodes, objects); f != nil {
			return f, nil
		}
	}
	return readPods(earlier, at, rules, nodes, objects)
}

// ReadClaimed is [ReadPods] for the pods of the set by the claims. If earlier facts are of these very claims, it looks at no pod.
func ReadClaimed(earlier *Pods, rules *Rules, nodes *Nodes, claims *Claims) (*Pods, error) {
	if earlier != nil && earlier.claims.same(claims) && rules.samePods(earlier.nodes.rules) && nodes.sameNames(earlier.nodes) {
		return earlier.on(nodes, claims), nil
	}
	f, err := ReadPods(earlier, rules, nodes, claims.Own)
	if err != nil {
		return nil, err
	}
	return f.on(nodes, claims), nil
}

// on returns the same facts with nodes of the same names, as those of the pods of the claims; nil: of pods that were claimed
// before.
func (f *Pods) on(nodes *Nodes, claims *Claims) *Pods {
	if f.nodes == nodes && f.claims == claims {
		return f
	}
	same := *f
	same.nodes, same.claims = nodes, claims
	return &same
}

// replaced returns the facts if the strange objects are newer versions of just those pods of f that are not among the objects,
// and keep their places in the order; else nil.
func (f *Pods) replaced(at, strange []int32, rules *Rules, nodes *Nodes, objects []*corev1.Pod) *Pods {
	seen := newSet(len(f.List))
	for _, j := range at {
		if j != None {
			seen.add(j)
		}
	}
	found := make([]int32, len(strange))
	for k, i := range strange {
		object := objects[i]
		if object == nil {
			return nil
		}
		j := f.Find(object.UID)
		if j == None || !seen.add(j) || !f.keepsPlace(j, object) {
			return nil
		}
		found[k] = j
	}
	list := slices.Clone(f.List)
	read := newReader(rules, nodes)
	read.hashes = slices.Clone(f.Hashes)
	for k, j := range found {
		before := &f.List[j]
		list[j] = read.pod(objects[strange[k]])
		list[j].Node, list[j].uid = before.Node, before.uid
	}
	out := &Pods{List: list, Hashes: read.hashes, nodes: nodes, first: f.first, uids: f.uids}
	out.dropHashes()
	return out
}

// keepsPlace reports whether another version of a pod of f stands in the same place of the order.
func (f *Pods) keepsPlace(j int32, object *corev1.Pod) bool {
	before := f.List[j].Object
	if object.Name != before.Name || !object.CreationTimestamp.Time.Equal(before.CreationTimestamp.Time) {
		return false
	}
	was, _ := placement.TargetNode(before)
	is, _ := placement.TargetNode(object)
	return was == is
}

// readPods reads the pods that are not in earlier facts, and puts all of them in order. at has the places there, None for others;
// nil: no pod is in earlier facts.
func readPods(earlier *Pods, at []int32, rules *Rules, nodes *Nodes, objects []*corev1.Pod) (*Pods, error) {
	f := &Pods{nodes: nodes, uids: newIndex(len(objects))}
	read := newReader(rules, nodes)
	records := make([]Pod, len(objects))
	if earlier == nil {
		if err := read.all(records, objects); err != nil {
			return nil, err
		}
	} else {
		read.take(records, at, earlier)
		for i, object := range objects {
			if at[i] != None {
				continue
			}
			if object == nil || object.UID == "" {
				return readPods(nil, nil, rules, nodes, objects) // the error is that of reading all
			}
			records[i] = read.pod(object)
			records[i].uid = maphash.String(f.nodes.seed, string(object.UID))
			target, _ := placement.TargetNode(object)
			records[i].Node = nodes.Find(target)
		}
	}
	f.Hashes = read.hashes
	f.group(records)
	for i := range f.List {
		p := &f.List[i]
		twin := func(j int32) bool { return f.List[j].uid == p.uid && f.List[j].Object.UID == p.Object.UID }
		if f.uids.add(int32(i), p.uid, twin) != None {
			problem := fmt.Sprintf("UIDs must be unique: two pods have %q", p.Object.UID)
			return nil, &Error{List: "Pods", Index: None, Problem: problem}
		}
	}
	return f, nil
}

// group sorts the records by node, and those of one node by age. Those on no known node come last.
func (f *Pods) group(records []Pod) {
	n := len(f.nodes.List)
	next := make([]int32, n+2) // next[i+1] counts the pods of node i, and becomes the place of its next pod
	at := func(p *Pod) int32 {
		if p.Node == None {
			return int32(n)
		}
		return p.Node
	}
	for i := range records {
		next[at(&records[i])+1]++
	}
	for i := 1; i < len(next); i++ {
		next[i] += next[i-1]
	}
	f.first = slices.Clone(next[:n+1])
	f.List = make([]Pod, len(records))
	for i := range records {
		place := &next[at(&records[i])]
		f.List[*place] = records[i]
		*place++
	}
	for i := range n {
		if first, end := f.On(int32(i)); end-first > 1 {
			slices.SortFunc(f.List[first:end], func(a, b Pod) int { return ByAge(&a, &b) })
		}
	}
}

// ByAge compares two pods: the older one comes first, then name and UID decide. The order is total.
func ByAge(a, b *Pod) int {
	return cmp.Or(
		a.Object.CreationTimestamp.Compare(b.Object.CreationTimestamp.Time),
		cmp.Compare(a.Name, b.Name),
		cmp.Compare(a.Object.UID, b.Object.UID),
	)
}

// dropHashes leaves out the hashes that no pod carries any more.
func (f *Pods) dropHashes() {
	const unused = None
	now := make([]int32, len(f.Hashes))
	for h := range now {
		now[h] = unused
	}
	for i := range f.List {
		now[f.List[i].Hash] = 0
	}
	if !slices.Contains(now, unused) {
		return
	}
	var kept []string
	for h, value := range f.Hashes {
		if now[h] != unused {
			now[h] = int32(len(kept))
			kept = append(kept, value)
		}
	}
	for i := range f.List {
		f.List[i].Hash = now[f.List[i].Hash]
	}
	f.Hashes = kept
}

// indexed returns the same facts with the table of pointers.
func (f *Pods) indexed() *Pods {
	if f.pointers.isMade() {
		return f
	}
	objects := make([]*corev1.Pod, len(f.List))
	for i := range f.List {
		objects[i] = f.List[i].Object
	}
	same := *f
	same.pointers = newPointers(f.nodes.seed, objects)
	return &same
}
