package rollout

import (
	"github.com/daemonplan/daemonplan/rollout/internal/fleet"
)

// Reading is what a plan has read off the nodes and pods of its snapshot. Pass it to the next plan as [Snapshot.Reading], and
// that plan reads only objects that are new to it: it recognizes the others by their pointers, in any order. What a plan says
// does not depend on the Reading.
//
// A Reading is opaque and immutable. Several plans may use one at the same time, also plans of other specs: what does not
// depend on the spec is kept. It takes about 260 bytes a node with its pod, and while every node is where it is to be, it keeps
// the decisions of its plan, which are 144 bytes each. It keeps alive the objects of the snapshot that it was made from, and no
// others.
type Reading struct {
	nodes  *fleet.Nodes
	pods   *fleet.Pods
	claims *fleet.Claims // nil: the pods of the snapshot were claimed before
	// aside are the decisions of this plan, or of an earlier one with the same facts, that set all nodes aside. The next plan
	// shares them if it finds the same. Nil: none did.
	aside []Decision
}

// Equal returns true: a Reading says nothing about the cluster that its plan does not say, so that comparisons of plans pass it
// over.
func (r *Reading) Equal(*Reading) bool { return true }

func (r *Reading) nodeFacts() *fleet.Nodes {
	if r == nil {
		return nil
	}
	return r.nodes
}

func (r *Reading) podFacts() *fleet.Pods {
	if r == nil {
		return nil
	}
	return r.pods
}

func (r *Reading) claimFacts() *fleet.Claims {
	if r == nil {
		return nil
	}
	return r.claims
}

// allAside returns the decisions of a plan that set all nodes aside; nil: there is none.
func (r *Reading) allAside() []Decision {
	if r == nil {
		return nil
	}
	return r.aside
}

// withAllAside returns the same Reading with the decisions of a plan that set all nodes aside.
func (r *Reading) withAllAside(decisions []Decision) *Reading {
	if len(decisions) == 0 || len(r.aside) == len(decisions) && &r.aside[0] == &decisions[0] {
		return r
	}
	return &Reading{nodes: r.nodes, pods: r.pods, claims: r.claims, aside: decisions}
}

// with returns a Reading of these facts: the same one, if it has no others.
func (r *Reading) with(nodes *fleet.Nodes, pods *fleet.Pods, claims *fleet.Claims) *Reading {
	if r != nil && r.nodes == nodes && r.pods == pods && r.claims == claims {
		return r
	}
	return &Reading{nodes: nodes, pods: pods, claims: claims}
}
