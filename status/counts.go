package status

import (
	"fmt"
	"strings"
)

// Facts are what is known of one node, from which every counter is derived (S1). The zero value is a node that neither is to
// run the pod nor has it. Available needs Ready, and Ready needs Present; [Counts.Add] ignores bits that lack what they need.
type Facts uint16

// The facts. A live pod is one that is not marked for deletion; one that has Failed is live until then.
const (
	// Desired: the node is to run the pod.
	Desired Facts = 1 << iota
	// Present: there is a pod object on the node, a terminating one included.
	Present
	// Ready: any live pod there is ready.
	Ready
	// Available: any live pod there is available (B5).
	Available
	// Updated: any live pod there is at the update revision (R5). Needs Present.
	Updated
)

// Has reports whether f has all of bits. It is true if bits is 0.
func (f Facts) Has(bits Facts) bool {
	return f&bits == bits
}

// String lists the facts, as in "desired|present|ready". No facts are "none"; bits without a name are shown
// last, in hexadecimal.
func (f Facts) String() string {
	if f == 0 {
		return "none"
	}
	var words []string
	for i, name := range factNames {
		if bit := Facts(1) << i; f.Has(bit) {
			words = append(words, name)
			f &^= bit
		}
	}
	if f != 0 {
		words = append(words, fmt.Sprintf("%#x", uint16(f)))
	}
	return strings.Join(words, "|")
}

// MarshalText is String, so that a plan encoded as JSON reads in words.
func (f Facts) MarshalText() ([]byte, error) { return []byte(f.String()), nil }

var factNames = [...]string{"desired", "present", "ready", "available", "updated"}

// Counts are the counters of a set, in nodes (S1). Made by [Counts.Add] they satisfy, at any time,
//
//	0 <= Available <= Ready <= Current <= Desired
//	0 <= Updated <= Current
//	Unavailable = Desired - Available
type Counts struct {
	// Desired nodes are to run the pod.
	Desired int32 `json:"desired"`
	// Current are desired nodes with a pod object.
	Current int32 `json:"current"`
	// Misscheduled are nodes with a pod object that are not to run the pod.
	Misscheduled int32 `json:"misscheduled"`
	// Ready are desired nodes with a ready live pod.
	Ready int32 `json:"ready"`
	// Available are desired nodes with an available live pod.
	Available int32 `json:"available"`
	// Unavailable are desired nodes without an available live pod.
	Unavailable int32 `json:"unavailable"`
	// Updated are desired nodes with a live pod at the update revision, available or not.
	Updated int32 `json:"updated"`
}

// Add counts one node. Each fact counts only if the facts it needs are there, so that the counters are
// ordered whatever the facts. The order in which nodes are added does not matter. A nil receiver counts
// nothing.
func (c *Counts) Add(f Facts) {
	if c == nil {
		return
	}
	if !f.Has(Desired) {
		if f.Has(Present) {
			c.Misscheduled++
		}
		return
	}
	c.Desired++
	if f.Has(Present | Ready | Available) {
		c.Available++
	} else {
		c.Unavailable++
	}
	if f.Has(Present | Ready) {
		c.Ready++
	}
	if f.Has(Present | Updated) {
		c.Updated++
	}
	if f.Has(Present) {
		c.Current++
	}
}
