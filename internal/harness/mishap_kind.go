package harness

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/rollout"
)

// The words that mishaps use, and what is drawn for them.
const (
	// ZoneLabel is the label that says in which zone a node is.
	ZoneLabel = "zone"
	// RingLabel is the label that says in which ring of a fleet a node is.
	RingLabel = "ring"
	// TaintKey is the key of the taint that keeps daemons off a node.
	TaintKey = "dedicated"
)

// Mishap is something that befalls a cluster while plans are carried out.
type Mishap struct {
	// After so many plans since the mishap before, or since the beginning.
	After int
	// Kind says what happens.
	Kind MishapKind
	// Node on which it happens. LoseMemory and the kinds about the set have none.
	Node string
}

// String is the mishap in a few words.
func (m Mishap) String() string {
	return fmt.Sprintf("after %d: %s %s", m.After, m.Kind, m.Node)
}

// MishapKind says what befalls a cluster.
type MishapKind uint8

// The kinds of mishaps.
const (
	// CordonNode, UncordonNode, DrainNode: an administrator keeps pods off the node, lets them on it again, or deletes those
	// there.
	CordonNode MishapKind = iota
	UncordonNode
	DrainNode
	// DeleteNode: the node is gone. AddNode: a node of that name with "-new" behind it joins, in zone b.
	DeleteNode
	AddNode
	// MoveNode: the node changes to zone c.
	MoveNode
	// TaintNode: nobody who does not tolerate it is to be on the node any more.
	TaintNode
	// LoseNode: the node is unreachable, and its kubelet silent. FindNode: it is there again.
	LoseNode
	FindNode
	// OverrideNode, RestoreNode: the node gets an annotation that overrides resources, or loses it.
	OverrideNode
	RestoreNode
	// CrashPods, EvictPods: the pods on the node crash once, or are evicted.
	CrashPods
	EvictPods
	// LoseMemory: the controller starts anew.
	LoseMemory
	// PauseSet, UnpauseSet: the spec is paused or not (T4).
	PauseSet
	UnpauseSet
	// DepartNode: the node is under maintenance, and goes on working. ReturnNode: it is not any more.
	DepartNode
	ReturnNode

	mishapKinds // count
)

// MishapKinds is how many kinds there are: each number below is one.
const MishapKinds = int(mishapKinds)

// String is the kind in two words.
func (k MishapKind) String() string {
	if k >= mishapKinds {
		return "unknown"
	}
	return mishapNames[k]
}

var mishapNames = [mishapKinds]string{
	"cordon node", "uncordon node", "drain node", "delete node", "add node", "move node", "taint node", "lose node", "find node",
	"override node", "restore node", "crash pods", "evict pods", "lose memory", "pause set", "unpause set", "depart node",
	"return node",
}

// Harmless reports whether the node stays one to be a canary node.
func (k MishapKind) Harmless() bool {
	switch k {
	case DrainNode, DeleteNode, MoveNode, TaintNode, LoseNode, DepartNode:
		return false
	default:
		return true
	}
}

// Befall lets the mishap happen now. One that has nothing to happen to does nothing.
func (c *Cluster) Befall(m Mishap) {
	set := func(option func(*rollout.Spec)) {
		spec := c.spec
		option(&spec)
		if err := c.SetSpec(spec); err != nil {
			return // a pause is never refused
		}
	}
	switch m.Kind {
	case CordonNode:
		c.ChangeNode(m.Node, objects.Uncordoned(), objects.Cordoned())
	case UncordonNode:
		c.ChangeNode(m.Node, objects.Uncordoned())
	case DrainNode:
		c.Drain(m.Node)
	case DeleteNode:
		c.RemoveNode(m.Node)
	case AddNode:
		node := objects.Node(m.Node + "-new")
		objects.Labelled(ZoneLabel, "b")(node)
		c.SetNode(node)
	case MoveNode:
		c.ChangeNode(m.Node, objects.Labelled(ZoneLabel, "c"))
	case TaintNode:
		c.ChangeNode(m.Node, objects.Tainted(TaintKey, "x", corev1.TaintEffectNoExecute))
	case LoseNode:
		lost := objects.NodeCondition(corev1.NodeReady, corev1.ConditionUnknown, c.now)
		if c.ChangeNode(m.Node, objects.Recovered(c.now), objects.Unreachable(), lost) {
			c.behavior.Silent = append(slices.Clone(c.behavior.Silent), m.Node)
		}
	case FindNode:
		c.ChangeNode(m.Node, objects.Recovered(c.now))
		c.behavior.Silent = slices.DeleteFunc(slices.Clone(c.behavior.Silent), func(node string) bool { return node == m.Node })
		c.notice(m.Node)
	case OverrideNode:
		c.ChangeNode(m.Node, objects.ResourcesFor(c.spec, objects.MainContainer, `{"requests":{"cpu":"600m"}}`))
	case RestoreNode:
		c.ChangeNode(m.Node, func(n *corev1.Node) { n.Annotations = nil })
	case CrashPods:
		for _, p := range c.PodsOn(m.Node) {
			c.Crash(p.Name)
		}
	case EvictPods:
		for _, p := range c.PodsOn(m.Node) {
			c.Evict(p.Name)
		}
	case LoseMemory:
		c.LoseMemory()
	case PauseSet:
		set(func(s *rollout.Spec) { s.Strategy.Paused = true })
	case UnpauseSet:
		set(objects.Rolling())
	case DepartNode:
		c.ChangeNode(m.Node, objects.NodeCondition(maintenance, corev1.ConditionTrue, c.now))
	case ReturnNode:
		c.ChangeNode(m.Node, objects.NodeCondition(maintenance, corev1.ConditionFalse, c.now))
	case mishapKinds:
	}
}
