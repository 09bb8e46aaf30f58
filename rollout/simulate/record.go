package simulate

import (
	"time"
)

// Record is one thing that happened: a change of a node's state, an action, or an event of the world.
type Record struct {
	// At is when, from the beginning of the run.
	At time.Duration `json:"at"`
	// Step is the number of plans made by then.
	Step int `json:"step"`
	// Kind says what happened.
	Kind RecordKind `json:"kind"`
	// Node that it is about, its zone, and the pod; empty: none.
	Node string `json:"node,omitempty"`
	Zone string `json:"zone,omitempty"`
	Pod  string `json:"pod,omitempty"`
	// Revision is the hash of the pod's revision, or the name of the revision that an action is about.
	Revision string `json:"revision,omitempty"`
	// From and To are the states of the node, for [NodeChanged].
	From NodeState `json:"from,omitempty"`
	To   NodeState `json:"to,omitempty"`
	// Bytes that came, and the time that took, for [ImagePulled].
	Bytes int64         `json:"bytes,omitempty"`
	Took  time.Duration `json:"took,omitempty"`
	// Detail is the reason of an action, or what an event did.
	Detail string `json:"detail,omitempty"`
}

// RecordKind says what a record is about.
type RecordKind uint8

const (
	// NodeChanged: the state of a node changed, or its zone, with From and To equal; each node that exists in the beginning
	// has one at instant 0.
	NodeChanged RecordKind = iota + 1
	// Planned: a plan was made; Detail says how many actions it has.
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
	// CallFailed: an action that was refused; Detail says which.
	CallFailed
	// ContainerRestarted: a container was started again, after a crash or for an update in place.
	ContainerRestarted
	// ImagePulled: a pull of an image ended; Detail says from where ("registry" or "peer"), and then
	// "failed" or "abandoned" if the node does not have the image for that. Bytes came, in the time
	// Took.
	ImagePulled
	// EventHappened: an event of the scenario; Detail says what.
	EventHappened
	// ControllerCrashed: the controller crashed.
	ControllerCrashed
	// ControllerStarted: the controller started again after a crash.
	ControllerStarted
	// CanaryChanged: Detail is the phase of the canary, and the reason.
	CanaryChanged
	recordKinds
)

// NodeState is what a node is for the set, as it is and not as the controller sees it.
type NodeState uint8

const (
	// NodeOutside: no pod is to run there, and none does.
	NodeOutside NodeState = iota + 1
	// NodeEmpty: there is no pod, and one is to be.
	NodeEmpty
	// NodeTerminating: there is nothing but pods on their way out.
	NodeTerminating
	// NodePending: the pod is not bound, or cannot be.
	NodePending
	// NodePulling: the pod waits for its image.
	NodePulling
	// NodeStarting: the pod is bound and not available.
	NodeStarting
	// NodeBroken: the pod crashes, has failed, or cannot get its image.
	NodeBroken
	// NodeLost: the node is not Ready, whatever runs there, and is to run the pod but for the taints of that.
	NodeLost
	// NodeOld: a pod of an older revision serves.
	NodeOld
	// NodeSurging: such a pod serves, and one of the update revision is on its way.
	NodeSurging
	// NodeNew: a pod of the update revision is available.
	NodeNew
	nodeStates
)

// Serving reports whether a pod serves on a node in that state (B2).
func (s NodeState) Serving() bool { return s >= NodeOld && s < nodeStates }
