package simulate

import (
	"time"
)

// Record is one thing that happened: a change of a node's state, an action, or an event of the world.
type Record struct {
	// At is when it happened, from the beginning of the run.
	At time.Duration `json:"at"`
	// Step is the number of plans made by then.
	Step int `json:"step"`
	// Kind says what happened.
	Kind RecordKind `json:"kind"`
	// Node is the name of the node that the record is about, Zone its zone, and Pod the name of the pod; empty: none.
	Node string `json:"node,omitempty"`
	Zone string `json:"zone,omitempty"`
	Pod  string `json:"pod,omitempty"`
	// Revision is the hash of the pod's revision, or the name of the revision that an action is about. For [NodeChanged] it
	// is the hash of the revision that serves on the node in state To, so that it tells which version a node has after the
	// spec has changed, too; empty: none serves.
	Revision string `json:"revision,omitempty"`
	// From and To are the states of the node before and after, for [NodeChanged]; 0: the node did not exist.
	From NodeState `json:"from,omitempty"`
	To   NodeState `json:"to,omitempty"`
	// Bytes is how many bytes came, and Took how long they took, for [ImagePulled]. For [CallsSent] Took is a wait.
	Bytes int64         `json:"bytes,omitempty"`
	Took  time.Duration `json:"took,omitempty"`
	// Detail is the reason of an action, or what an event did.
	Detail string `json:"detail,omitempty"`
	// Count is a number of nodes, calls or restarts, and Limit how many nodes it may be or are there. The kind says of what.
	Count int `json:"count,omitempty"`
	Limit int `json:"limit,omitempty"`
}

// RecordKind says what a record is about.
type RecordKind uint8

const (
	// NodeChanged: the state of a node changed, or its zone, and then From and To are equal. Each node that exists at the
	// beginning has such a record at instant 0.
	NodeChanged RecordKind = iota + 1
	// Planned: a plan was made; Detail says how many actions it has, and Revision is the hash of its update revision.
	Planned
	// PodCreated: an action took effect that created a pod.
	PodCreated
	// PodDeleted: an action took effect that deleted a pod.
	PodDeleted
	// PodPatched: an action took effect that patched a pod.
	PodPatched
	// PullStarted: an action took effect that pulls an image ahead.
	PullStarted
	// RevisionChanged: an action on a revision took effect.
	RevisionChanged
	// CallFailed: the controller heard that a call failed; Detail says which.
	CallFailed
	// ContainerRestarted: a container was started again. Count is 1 after a crash, and 0 for an update in place.
	ContainerRestarted
	// ImagePulled: a pull of an image ended. Detail says from where the bytes came ("registry" or "peer"), followed by
	// "failed" or "abandoned" if the node does not have the image after the pull.
	ImagePulled
	// EventHappened: an event of the scenario happened, or was undone; Detail says what.
	EventHappened
	// ControllerCrashed: the controller crashed.
	ControllerCrashed
	// ControllerStarted: the controller started again after a crash.
	ControllerStarted
	// CanaryChanged: the phase of the canary, or the reason for it, changed; Detail has both, and Revision is the one on trial.
	CanaryChanged
	// NodeLabelled: Detail has the labels of the node, as a selector lists them: "key=value,key=value", in order of their keys.
	// Each node has such a record when it is seen first, and one when an event changed its labels.
	NodeLabelled
	// BudgetUsed: Count nodes count against the budget in a plan, which is Limit. Detail says which budget is in use,
	// "maxUnavailable" or "maxSurge". The first plan has such a record, and each plan in which something of it changed.
	BudgetUsed
	// NodesWait: in a plan, Count nodes wait for what Detail says: the reason and the limit of their decisions, such as "Budget
	// maxUnavailable" or "NotReady none". It holds until the next such record with the same Detail. A plan has one for each
	// number that changed.
	NodesWait
	// NodesUpdated: Count nodes have a pod of the update revision, which is Revision, as a plan saw it: what the status shows.
	// The first plan has such a record, and each plan in which that changed.
	NodesUpdated
	// NodesFailed: the update revision, which is Revision, had failed on Count nodes, as a plan saw it, and Limit might fail
	// (F1). A plan has such a record if that changed.
	NodesFailed
	// NodesQuarantined: Count nodes were in quarantine, as a plan saw it (F4). A plan has such a record if that changed.
	NodesQuarantined
	// RevisionGivenUp: a plan gave Revision up because of failures, for the reason in Detail (F3). An empty Detail takes it back.
	RevisionGivenUp
	// StageChanged: a part of the stages came into another phase, or another number of its nodes is unavailable, as a plan saw it
	// (T8). Detail has the phase, a space, the name of the stage, "/", its key, "=", and the value that the nodes have. Count
	// nodes of the part have a pod of the update revision that is not available, and Limit nodes are in the part.
	StageChanged
	// CallsSent: the controller had carried a plan out, or crashed, or the run ended; Count says how many API calls it had sent
	// since the record of that kind before, and Took for how long actions waited for the rate of calls meanwhile.
	CallsSent
	// RunEnded: the run ended as Detail says, in the words of [End]. It is the last record, unless a condition ended the run.
	RunEnded
	recordKinds
)

// NodeState says how a node stands with the set's pod, as the node is and not as the controller sees it. 0 stands for a node
// that does not exist.
type NodeState uint8

const (
	// NodeOutside: no pod is to run on the node.
	NodeOutside NodeState = iota + 1
	// NodeEmpty: the node has no pod, although one is to run there.
	NodeEmpty
	// NodeTerminating: all pods on the node are on their way out.
	NodeTerminating
	// NodePending: the pod is not bound, or cannot be.
	NodePending
	// NodePulling: the pod waits for its image.
	NodePulling
	// NodeStarting: the pod is bound and not available.
	NodeStarting
	// NodeBroken: the pod crashes, has failed, or cannot get its image.
	NodeBroken
	// NodeLost: the node is not Ready, whatever runs there. It would be to run the pod if it did not have the taints of
	// nodes that are not Ready.
	NodeLost
	// NodeOld: a pod of an older revision serves.
	NodeOld
	// NodeSurging: a pod of an older revision serves, and one of the update revision is on its way.
	NodeSurging
	// NodeNew: a pod of the update revision is available.
	NodeNew
	nodeStates
)

// Serving reports whether a pod serves on a node in that state: it does the daemon's work (B2).
func (s NodeState) Serving() bool { return s >= NodeOld && s < nodeStates }
