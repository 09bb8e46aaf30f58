package simulate

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/stage"
)

// Event is something that the world or a user does, once or again and again.
type Event struct {
	// At is when the event happens first, from the beginning of the run.
	At time.Duration `json:"at,omitempty"`
	// Every is the time until the event happens again, drawn anew each time. Unset: it happens once.
	Every Distribution `json:"every,omitzero"`
	// Until is the last instant at which a recurring event may happen, from the beginning of the run. 0: it recurs until the
	// run ends, and does not keep the run from being done.
	Until time.Duration `json:"until,omitempty"`

	// What is the kind of event. Required.
	What What `json:"what,omitempty"`
	// Node, Pool and Nodes say which nodes the event may happen to: the node of that name, else the nodes of the pool that have
	// all the labels. Empty: any node.
	Node  string            `json:"node,omitempty"`
	Pool  string            `json:"pool,omitempty"`
	Nodes map[string]string `json:"nodes,omitempty"`
	// Count is how many of these nodes the event happens to; they are drawn anew each time. If it is 0, Share is the share of
	// these nodes, rounded up. If both are 0, the event happens to one node.
	Count int     `json:"count,omitempty"`
	Share float64 `json:"share,omitempty"`

	// For is the time after which the event is undone. It is for [NodeNotReady], [CordonNode], [TaintNode], [DrainNode],
	// [MaintainNode] and [LabelNode] only. Unset: the event is not undone.
	For Distribution `json:"for,omitzero"`
	// Labels are for [LabelNode]; an empty value removes the label. Taint is for [TaintNode], and for [UntaintNode], which goes
	// by key and effect.
	Labels map[string]string `json:"labels,omitempty"`
	Taint  corev1.Taint      `json:"taint,omitzero"`
	// Join is the pool for [AddNodes]; nodes are numbered on.
	Join Pool `json:"join,omitzero"`
	// Spec is for [SetSpec], Commands are for [GiveCommands].
	Spec     *rollout.Spec   `json:"spec,omitempty"`
	Commands canary.Commands `json:"commands,omitzero"`
	// Approval is for [ApproveStage]. Without a revision it is for the one that the spec of that moment rolls out, whose hash is
	// hardly known when a scenario is written.
	Approval stage.Approval `json:"approval,omitzero"`
	// Revision is for [ExpediteRevision] and [RetryRevision]: a hash, the name of a ControllerRevision, or canary.Any for
	// whatever revision there is. Empty: the one that the spec of that moment rolls out.
	Revision string `json:"revision,omitempty"`
	// Behind is how far the controller's clock is behind that of the cluster from then on, for [SetClock]. 0: it is right again.
	Behind time.Duration `json:"behind,omitempty"`
}

// What is a kind of event.
type What uint8

const (
	// AddNodes: nodes of Join join.
	AddNodes What = iota + 1
	// RemoveNode: the node and what runs on it are gone.
	RemoveNode
	// NodeNotReady: the kubelet falls silent. The node is reported NotReady and gets the taints of unreachable nodes, and its
	// pods are not Ready. When the kubelet is back, they are Ready again, and what is due goes on. At the first instant of a
	// run it has been silent for a minute.
	NodeNotReady
	// NodeReady: a silent kubelet is back. It may have been silent from the beginning of the run.
	NodeReady
	// CordonNode makes the node unschedulable.
	CordonNode
	// UncordonNode makes the node schedulable again.
	UncordonNode
	// DrainNode cordons the node and deletes its daemon pods, as drains do that do not ignore daemons.
	DrainNode
	// LabelNode changes labels of the node.
	LabelNode
	// TaintNode adds a taint. NoExecute evicts pods that do not tolerate it.
	TaintNode
	// UntaintNode removes a taint.
	UntaintNode
	// MaintainNode gives the node the condition MaintenanceInProgress, by which policies take it for departing (M8). Nothing else
	// happens to it. A node that is deleted soon is tainted before: see [TaintNode] and [RemoveNode].
	MaintainNode
	// EvictPod ends the pods on the node as a kubelet does that is short of a resource: phase Failed, reason Evicted.
	EvictPod
	// DeletePod deletes the pods on the node by hand.
	DeletePod
	// CrashPod crashes the containers of the pods on the node, once.
	CrashPod
	// SetSpec puts another spec in force.
	SetSpec
	// GiveCommands puts canary commands in force, in the spec of that moment. A spec without a canary stays as it is.
	GiveCommands
	// ApproveStage adds an approval to the policy, in the spec of that moment. A spec without that stage stays as it is.
	ApproveStage
	// ExpediteRevision lets a revision pass the stages, in the spec of that moment.
	ExpediteRevision
	// RetryRevision rolls a revision out once more that failures took back (F3), in the spec of that moment, each time anew. A
	// spec without failures stays as it is.
	RetryRevision
	// CrashController crashes the controller, at once.
	CrashController
	// SetClock sets the clock of the controller. The clocks of the nodes and of the API server stay right.
	SetClock
	whats
)
