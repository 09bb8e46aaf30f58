package simulate

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
)

// Event is something that the world or a user does: once, or again and again.
type Event struct {
	// At is when it happens first, from the beginning of the run.
	At time.Duration `json:"at,omitempty"`
	// Every is the time to the next time, drawn anew each time. Unset: once.
	Every Distribution `json:"every,omitzero"`
	// Until is when it ceases to happen, from the beginning. 0: with the run. Without it an event that recurs does not
	// keep a run from being done.
	Until time.Duration `json:"until,omitempty"`

	// What happens.
	What What `json:"what,omitempty"`
	// Which nodes it may happen to: by name, else those of the pool and with all the labels. Empty: any.
	Node  string            `json:"node,omitempty"`
	Pool  string            `json:"pool,omitempty"`
	Nodes map[string]string `json:"nodes,omitempty"`
	// Count is how many of these nodes it happens to, drawn anew each time. 0: one, and with a Share: that share of them,
	// rounded up.
	Count int     `json:"count,omitempty"`
	Share float64 `json:"share,omitempty"`

	// For is how long it lasts, if it ends by itself: [NodeNotReady], [CordonNode], [TaintNode], [DrainNode],
	// [LabelNode] are undone then. Unset: it lasts.
	For Distribution `json:"for,omitzero"`
	// Labels for [LabelNode]; an empty value takes the label away. Taint for [TaintNode] and [UntaintNode] (by key and effect).
	Labels map[string]string `json:"labels,omitempty"`
	Taint  corev1.Taint      `json:"taint,omitzero"`
	// Join is the pool for [AddNodes]; nodes are numbered on.
	Join Pool `json:"join,omitzero"`
	// Spec for [SetSpec], Commands for [GiveCommands].
	Spec     *rollout.Spec   `json:"spec,omitempty"`
	Commands canary.Commands `json:"commands,omitzero"`
	// Behind is how far the controller's clock is behind that of the cluster from then on, for [SetClock]. 0: it is right again.
	Behind time.Duration `json:"behind,omitempty"`
}

// What can happen.
type What uint8

const (
	// AddNodes: nodes of Join join.
	AddNodes What = iota + 1
	// RemoveNode: the node and what runs on it are gone.
	RemoveNode
	// NodeNotReady: the kubelet falls silent; the node is reported NotReady, with the taints of that, and its pods are not
	// Ready. When it is back, they are again, and everything due goes on.
	NodeNotReady
	// NodeReady: a kubelet that is silent, also from the beginning, is back.
	NodeReady
	// CordonNode makes the node unschedulable.
	CordonNode
	// UncordonNode makes the node schedulable again.
	UncordonNode
	// DrainNode cordons the node and deletes its daemon pod, as drains do that do not leave daemons alone.
	DrainNode
	// LabelNode changes labels of the node.
	LabelNode
	// TaintNode adds a taint. NoExecute evicts pods that do not tolerate it.
	TaintNode
	// UntaintNode takes a taint away.
	UntaintNode
	// EvictPod ends the pods on the node as a kubelet does that is short of something: phase Failed, reason Evicted.
	EvictPod
	// DeletePod deletes the pods on the node by hand.
	DeletePod
	// CrashPod crashes the containers of the pods on the node, once.
	CrashPod
	// SetSpec puts another spec in force.
	SetSpec
	// GiveCommands puts canary commands in force, in the spec of that moment.
	GiveCommands
	// CrashController crashes the controller, at once.
	CrashController
	// SetClock sets the clock of the controller; those of the nodes and of the API server stay right.
	SetClock
	whats
)
