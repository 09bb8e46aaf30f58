package fleet

import (
	"hash/maphash"

	corev1 "k8s.io/api/core/v1"
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
	// Own are the pods of the set: the owned, adopted and old ones, in the order in which they were listed when one was last
	// new, or gone.
	Own []*corev1.Pod
	// Adopt, Old and Release are the adopted, old and released ones, in the same order.
	Adopt, Old, Release []*corev1.Pod

	rule     string // what the claims depend on beside the objects
	list     []claimed
	seed     maphash.Seed
	pointers pointers[corev1.Pod] // of list, if it is made
}

type claimed struct {
	object *corev1.Pod
	claim  Claim
}

// ReadClaims returns the claims on the pods, and asks only for objects that are not in earlier claims of the same rule; nil: for
// all of them. It fails with an *Error if an object is nil. An object that is there twice is claimed twice.
func ReadClaims(earlier *Claims, rule string, claim func(*corev1.Pod) Claim, objects []*corev1.Pod) (*Claims, error) {
	if earlier != nil && earlier.rule != rule {
		earlier = nil
	}
	c := &Claims{rule: rule}
	if earlier == nil {
		c.seed = maphash.MakeSeed()
	} else {
		earlier = earlier.indexed()
		if earlier.pointers.areAll(objects) {
			return earlier, nil
		}
		c.seed = earlier.seed
	}
	c.list = make([]claimed, len(objects))
	for i, object := range objects {
		if object == nil {
			return nil, wrong("Pods", i, "must not be nil")
		}
		c.list[i] = claimed{object, Foreign}
		if j := earlier.find(object); j != None {
			c.list[i].claim = earlier.list[j].claim
		} else {
			c.list[i].claim = claim(object)
		}
	}
	c.sort()
	return c, nil
}

// indexed returns the same claims with the table of pointers.
func (c *Claims) indexed() *Claims {
	if c.pointers.isMade() {
		return c
	}
	objects := make([]*corev1.Pod, len(c.list))
	for i := range c.list {
		objects[i] = c.list[i].object
	}
	same := *c
	same.pointers = newPointers(c.seed, objects)
	return &same
}

// same reports whether both are the same claims, with the table or without.
func (c *Claims) same(other *Claims) bool {
	return c == other || c != nil && other != nil && len(c.list) > 0 && len(other.list) > 0 && &c.list[0] == &other.list[0]
}

// find returns the place of an object in the claims, or None.
func (c *Claims) find(object *corev1.Pod) int32 {
	if c == nil {
		return None
	}
	return c.pointers.find(object)
}

// sort sorts the claims out.
func (c *Claims) sort() {
	c.Own = make([]*corev1.Pod, 0, len(c.list))
	for i := range c.list {
		object := c.list[i].object
		switch c.list[i].claim {
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
