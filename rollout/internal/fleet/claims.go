package fleet

import (
	"hash/maphash"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Claim is how an object belongs to the set, if it does.
type Claim uint8

// The claims.
const (
	// Foreign objects do not belong to the set.
	Foreign Claim = iota
	// Owned objects are controlled by the set, and its selector matches.
	Owned
	// Adopted objects have no controller, and the set's selector matches.
	Adopted
	// Released objects are controlled by the set, and its selector does not match.
	Released
	// Old objects are those of the predecessor.
	Old
)

// Claims are the claims on all pods of a cache. They are immutable.
type Claims struct {
	// Own are the pods of the set: the owned, adopted and old ones, in no particular order.
	Own []*corev1.Pod
	// Adopt, Old and Release are the adopted, old and released ones, likewise.
	Adopt, Old, Release []*corev1.Pod

	rule     string  // what the claims depend on beside the objects
	claims   []Claim // by the ordinals of pointers
	free     []int32 // ordinals without an object
	seed     maphash.Seed
	pointers pointers[corev1.Pod] // its objects are there before the table is made

	// id tells these claims from others. from is that of those which they were made from, and came and went say by which pods Own
	// differs from theirs; nil: they were made anew.
	id, from *claimsID
	came     []*corev1.Pod
	went     []types.UID
}

// claimsID is the identity of claims, which does not keep them alive. It has a size, because values without one may share an
// address.
type claimsID struct{ _ byte }

// Claimer claims pods.
type Claimer struct {
	// Rule is what claims depend on beside the pods. Claims of one rule are those of any other Claimer with it.
	Rule string
	// Claim returns how a pod belongs to the set.
	Claim func(*corev1.Pod) Claim
}

// ReadClaimed claims the pods, and returns the claims with the facts of those that belong to the set, on the nodes by the rules.
// It asks only for objects that are not in earlier claims of the same rule, and reads only those that are not in earlier facts;
// nil: all of them. It fails with an *Error if an object is nil, or if one of the set has no UID, or the UID of another. An
// object that is there twice is claimed twice.
func ReadClaimed(
	earlier *Claims, facts *Pods, rules *Rules, nodes *Nodes, by Claimer, objects []*corev1.Pod,
) (*Claims, *Pods, error) {
	if earlier == nil || earlier.rule != by.Rule {
		return readClaimed(rules, nodes, by, objects)
	}
	earlier = earlier.indexed()
	differs := earlier.pointers.compare(objects)
	if differs.twice {
		return readClaimed(rules, nodes, by, objects)
	}
	claims := earlier
	if !differs.isNone() {
		if claims = earlier.changed(&differs, by, objects); claims == nil {
			return readClaimed(rules, nodes, by, objects)
		}
	}
	if pods := readOwn(facts, rules, nodes, claims); pods != nil {
		return claims, pods, nil
	}
	return readClaimed(rules, nodes, by, objects) // which says what is wrong
}

// readClaimed claims all objects, and reads those of the set, in one pass: what the one needs of an object, the other needs, too.
func readClaimed(rules *Rules, nodes *Nodes, by Claimer, objects []*corev1.Pod) (*Claims, *Pods, error) {
	c := &Claims{rule: by.Rule, seed: maphash.MakeSeed(), id: new(claimsID), claims: make([]Claim, len(objects))}
	read := newReader(rules, nodes, nil, true)
	records := make([]Pod, 0, len(objects))
	var own [block]*corev1.Pod
	var places [block]int
	for first := 0; first < len(objects); first += block {
		some := objects[first:min(first+block, len(objects))]
		if i := slices.Index(some, nil); i >= 0 {
			return nil, nil, wrong("Pods", first+i, "must not be nil")
		}
		reach(some)
		owned := 0
		for k, object := range some {
			claim := by.Claim(object)
			if c.claims[first+k] = claim; claim.isOwn() {
				own[owned], places[owned] = object, first+k
				owned++
			}
		}
		records = records[:len(records)+owned]
		if i, problem := read.some(records[len(records)-owned:], own[:owned]); problem != "" {
			return nil, nil, wrong("Pods", places[i], problem)
		}
	}
	c.pointers.objects = slices.Clone(objects)
	c.sort()
	pods, err := read.facts(records)
	if err != nil {
		return nil, nil, err
	}
	return c, pods.of(c.id), nil
}

// changed returns the claims on the objects, which differ from those of c. It returns nil if an object is nil.
func (c *Claims) changed(differs *difference, by Claimer, objects []*corev1.Pod) *Claims {
	next := &Claims{
		rule: c.rule, seed: c.seed, id: new(claimsID), from: c.id, claims: slices.Clone(c.claims), free: slices.Clone(c.free),
	}
	for _, i := range differs.gone {
		if next.claims[i].isOwn() {
			next.went = append(next.went, c.pointers.objects[i].UID)
		}
	}
	next.free = append(next.free, differs.gone...)
	places, fresh := make([]int32, len(differs.strange)), make([]*corev1.Pod, len(differs.strange))
	for k, i := range differs.strange {
		object := objects[i]
		if object == nil {
			return nil
		}
		if len(next.free) == 0 {
			next.free = append(next.free, int32(len(next.claims)))
			next.claims = append(next.claims, Foreign)
		}
		last := len(next.free) - 1
		places[k], fresh[k] = next.free[last], object
		next.free = next.free[:last]
		next.claims[places[k]] = by.Claim(object)
		if next.claims[places[k]].isOwn() {
			next.came = append(next.came, object)
		}
	}
	next.pointers = c.pointers.with(differs.gone, places, fresh)
	next.sort()
	return next
}

// indexed returns the same claims with the table of pointers.
func (c *Claims) indexed() *Claims {
	if c.pointers.isMade() {
		return c
	}
	same := *c
	same.pointers = newPointers(c.seed, c.pointers.objects)
	return &same
}

// isOwn reports whether a pod belongs to the set.
func (c Claim) isOwn() bool { return c == Owned || c == Adopted || c == Old }

// sort sorts the claims out.
func (c *Claims) sort() {
	c.Own = make([]*corev1.Pod, 0, len(c.claims)-len(c.free))
	for i, object := range c.pointers.objects {
		if object == nil {
			continue
		}
		switch c.claims[i] {
		case Owned:
			c.Own = append(c.Own, object)
		case Adopted:
			c.Own, c.Adopt = append(c.Own, object), append(c.Adopt, object)
		case Old:
			c.Own, c.Old = append(c.Own, object), append(c.Old, object)
		case Released:
			c.Release = append(c.Release, object)
		case Foreign:
		}
	}
}
