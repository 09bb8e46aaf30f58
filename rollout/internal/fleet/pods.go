package fleet

import (
	"cmp"
	"fmt"
	"hash/maphash"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Pods are the facts of all pods. They are immutable.
type Pods struct {
	// List has the pods: First and Pod.Next say which pods a node has. When they are first read, they are in the order of their
	// nodes; those that come later are anywhere. Elements without an object stand for nothing.
	List List[Pod]
	// First has for each node the place in List of its oldest pod, and Strays that of the first pod on no known node; None: there
	// is none.
	First  []int32
	Strays int32
	// Hashes are the distinct revision hashes that the pods carry, in no particular order.
	Hashes []Hash
	// Plain has for each node the ordinal of the hash that its plain pod carries, or NoPod, or NotPlain. A plain pod is the only
	// one of its node, bound and ready, known since when, and no other trait is known of it.
	Plain []int32
	// LastReady is an upper bound of when the plain pods became ready: pods that are gone may have raised it. Zero: there was
	// none.
	LastReady time.Time

	nodes    *Nodes
	free     []int32              // elements of List that stand for nothing
	uids     index                // of List, by UID
	pointers pointers[corev1.Pod] // of List, if it is made
	claims   *claimsID            // whose pods List has; nil: pods that were claimed before
}

// Hash is a revision hash that pods carry.
type Hash struct {
	Value string
	// Pods is how many pods carry it; 0: the element stands for nothing. Live is how many of them are neither finished nor marked
	// for deletion.
	Pods, Live int32
}

// What Pods.Plain has of nodes without a plain pod.
const (
	// NoPod: the node has no pod.
	NoPod = -1
	// NotPlain: it has several pods, or one of which there is more to say.
	NotPlain = -2
)

// Find returns the place in List of the pod with that UID, or None.
func (f *Pods) Find(uid types.UID) int32 {
	return f.find(maphash.String(f.nodes.seed, string(uid)), uid)
}

func (f *Pods) find(hash uint64, uid types.UID) int32 {
	return f.uids.find(hash, func(i int32) bool { return f.List.At(i).isOf(hash, uid) })
}

// ReadPods returns the facts of the pods on the nodes by the rules, and reads only objects that are not in earlier facts; nil:
// all of them. It fails with an *Error if an object is nil, or has no UID, or the UID of another.
func ReadPods(earlier *Pods, rules *Rules, nodes *Nodes, objects []*corev1.Pod) (*Pods, error) {
	return read(earlier, rules, nodes, objects, false)
}

func read(earlier *Pods, rules *Rules, nodes *Nodes, objects []*corev1.Pod, claimed bool) (*Pods, error) {
	if earlier == nil || !rules.samePods(earlier.nodes.rules) {
		return readPods(rules, nodes, objects, claimed)
	}
	earlier = earlier.indexed()
	differs := earlier.pointers.compare(objects)
	if differs.twice {
		return readPods(rules, nodes, objects, claimed)
	}
	fresh := make([]*corev1.Pod, len(differs.strange))
	for k, i := range differs.strange {
		fresh[k] = objects[i]
	}
	if f := earlier.changed(rules, nodes, fresh, differs.gone, claimed); f != nil {
		return f.of(nil), nil
	}
	return readPods(rules, nodes, objects, claimed)
}

// readOwn is [ReadPods] for the pods of the set by the claims. If earlier facts are of these very claims, or of those that these
// were made from, it looks at no pod that both have. It returns nil if a pod breaks the contract.
func readOwn(earlier *Pods, rules *Rules, nodes *Nodes, claims *Claims) *Pods {
	if earlier != nil && earlier.claims != nil && rules.samePods(earlier.nodes.rules) {
		var f *Pods
		switch earlier.claims {
		case claims.id:
			f = earlier.changed(rules, nodes, nil, nil, true)
		case claims.from:
			f = earlier.changed(rules, nodes, claims.came, earlier.places(claims.went), true)
		}
		if f != nil {
			return f.of(claims.id)
		}
	}
	f, err := read(earlier, rules, nodes, claims.Own, true)
	if err != nil {
		return nil
	}
	return f.of(claims.id)
}

// places returns the places in List of pods that are there.
func (f *Pods) places(uids []types.UID) []int32 {
	places := make([]int32, len(uids))
	for k, uid := range uids {
		places[k] = f.Find(uid)
	}
	return places
}

// of returns the same facts as those of the pods of the claims; nil: of pods that were claimed before.
func (f *Pods) of(claims *claimsID) *Pods {
	if f.claims == claims {
		return f
	}
	same := *f
	same.claims = claims
	return &same
}

// readPods reads all the pods.
func readPods(rules *Rules, nodes *Nodes, objects []*corev1.Pod, claimed bool) (*Pods, error) {
	read := newReader(rules, nodes, nil, claimed)
	records := make([]Pod, len(objects))
	if err := read.all(records, objects); err != nil {
		return nil, err
	}
	return read.facts(records)
}

// facts are those of the records that were read. It fails with an *Error if two have the same UID.
func (read *reader) facts(records []Pod) (*Pods, error) {
	count := read.nodes.List.Len()
	records = byNode(records, count)
	c := &changing{list: listOf(records), touched: NewOrdinals(count)}
	c.nodes, c.Hashes, c.uids = read.nodes, read.hashes, newIndex(len(records))
	c.First, c.Strays = slices.Repeat([]int32{None}, count), None
	c.Plain = slices.Repeat([]int32{NoPod}, count)
	for i := range records {
		if !c.enter(int32(i)) {
			problem := fmt.Sprintf("UIDs must be unique: two pods have %q", records[i].Object.UID)
			return nil, &Error{List: "Pods", Index: None, Problem: problem}
		}
	}
	return c.done(nil), nil
}

// byNode returns the records in the order of their nodes, those on no known node last. Steps that go from node to node then find
// the pods one beside the other. Pods that come later take the places of others that are gone, which in a rollout were on nodes
// nearby.
func byNode(records []Pod, nodes int) []Pod {
	place := func(p *Pod) int32 {
		if p.NodeOrdinal == None {
			return int32(nodes)
		}
		return p.NodeOrdinal
	}
	next := make([]int32, nodes+2) // where the next pod of a node goes
	for i := range records {
		next[place(&records[i])+1]++
	}
	for i := range nodes {
		next[i+1] += next[i]
	}
	sorted := make([]Pod, len(records))
	for i := range records {
		at := &next[place(&records[i])]
		sorted[*at] = records[i]
		*at++
	}
	return sorted
}

// ByAge compares two pods: the older one comes first, then name and UID decide. The order is total.
func ByAge(a, b *Pod) int {
	return cmp.Or(
		a.Object.CreationTimestamp.Compare(b.Object.CreationTimestamp.Time),
		cmp.Compare(a.Name, b.Name),
		cmp.Compare(a.Object.UID, b.Object.UID),
	)
}

// indexed returns the same facts with the table of pointers.
func (f *Pods) indexed() *Pods {
	if f.pointers.isMade() {
		return f
	}
	objects := make([]*corev1.Pod, 0, f.List.Len())
	for _, pods := range f.List.chunks {
		for i := range pods {
			objects = append(objects, pods[i].Object)
		}
	}
	same := *f
	same.pointers = newPointers(f.nodes.seed, objects)
	return &same
}
