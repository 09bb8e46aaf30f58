package simulate

import (
	"fmt"
	"slices"
	"strings"
)

// The enumerations have a text form, their String, so that scenarios, records and reports read in words. The numbers may change
// between versions; the words do not. The text of the zero value is empty, like an empty cell of a table: a node that joins was
// in no state. The exception is End: a run without an end is "running".

var whatNames = [whats]string{
	AddNodes:         "AddNodes",
	RemoveNode:       "RemoveNode",
	NodeNotReady:     "NodeNotReady",
	NodeReady:        "NodeReady",
	CordonNode:       "CordonNode",
	UncordonNode:     "UncordonNode",
	DrainNode:        "DrainNode",
	LabelNode:        "LabelNode",
	TaintNode:        "TaintNode",
	UntaintNode:      "UntaintNode",
	MaintainNode:     "MaintainNode",
	EvictPod:         "EvictPod",
	DeletePod:        "DeletePod",
	CrashPod:         "CrashPod",
	SetSpec:          "SetSpec",
	GiveCommands:     "GiveCommands",
	ApproveStage:     "ApproveStage",
	ExpediteRevision: "ExpediteRevision",
	RetryRevision:    "RetryRevision",
	CrashController:  "CrashController",
	SetClock:         "SetClock",
}

var recordKindNames = [recordKinds]string{
	NodeChanged:        "NodeChanged",
	Planned:            "Planned",
	PodCreated:         "PodCreated",
	PodDeleted:         "PodDeleted",
	PodPatched:         "PodPatched",
	PullStarted:        "PullStarted",
	RevisionChanged:    "RevisionChanged",
	CallFailed:         "CallFailed",
	ContainerRestarted: "ContainerRestarted",
	ImagePulled:        "ImagePulled",
	EventHappened:      "EventHappened",
	ControllerCrashed:  "ControllerCrashed",
	ControllerStarted:  "ControllerStarted",
	CanaryChanged:      "CanaryChanged",
	NodeLabelled:       "NodeLabelled",
	BudgetUsed:         "BudgetUsed",
	NodesWait:          "NodesWait",
	NodesUpdated:       "NodesUpdated",
	NodesFailed:        "NodesFailed",
	NodesQuarantined:   "NodesQuarantined",
	RevisionGivenUp:    "RevisionGivenUp",
	StageChanged:       "StageChanged",
	CallsSent:          "CallsSent",
	RunEnded:           "RunEnded",
}

var nodeStateNames = [nodeStates]string{
	NodeOutside:     "outside",
	NodeEmpty:       "empty",
	NodeTerminating: "terminating",
	NodePending:     "pending",
	NodePulling:     "pulling",
	NodeStarting:    "starting",
	NodeBroken:      "broken",
	NodeLost:        "lost",
	NodeOld:         "old",
	NodeSurging:     "surging",
	NodeNew:         "new",
}

var endNames = [ends]string{
	0:            "running",
	EndDone:      "done",
	EndStuck:     "stuck",
	EndLimit:     "limit",
	EndCondition: "condition",
	EndViolation: "violation",
}

var knobNames = [knobs]string{
	KnobMaxUnavailable: "maxUnavailable",
	KnobMaxSurge:       "maxSurge",
	KnobSlowStart:      "slowStart",
}

// String returns the name of the constant, such as "AddNodes"; "" for 0, "unknown" for a value that was never declared.
func (w What) String() string { return name(whatNames[:], w) }

// MarshalText is String, but fails for a value that was never declared.
func (w What) MarshalText() ([]byte, error) { return marshal(whatNames[:], w) }

// UnmarshalText reads what MarshalText wrote. On error the receiver is left as it was.
func (w *What) UnmarshalText(text []byte) error { return unmarshal(whatNames[:], w, text) }

// String returns the name of the constant, such as "PodCreated"; "" for 0, "unknown" for a value that was never declared.
func (k RecordKind) String() string { return name(recordKindNames[:], k) }

// MarshalText is String, but fails for a value that was never declared.
func (k RecordKind) MarshalText() ([]byte, error) { return marshal(recordKindNames[:], k) }

// UnmarshalText reads what MarshalText wrote. On error the receiver is left as it was.
func (k *RecordKind) UnmarshalText(text []byte) error { return unmarshal(recordKindNames[:], k, text) }

// String returns the name of the constant in lower case and without Node, such as "surging"; "" for 0, "unknown" for a value
// that was never declared.
func (s NodeState) String() string { return name(nodeStateNames[:], s) }

// MarshalText is String, but fails for a value that was never declared.
func (s NodeState) MarshalText() ([]byte, error) { return marshal(nodeStateNames[:], s) }

// UnmarshalText reads what MarshalText wrote. On error the receiver is left as it was.
func (s *NodeState) UnmarshalText(text []byte) error { return unmarshal(nodeStateNames[:], s, text) }

// String returns the name of the constant in lower case and without End, such as "stuck"; "running" for 0, "unknown" for a
// value that was never declared.
func (e End) String() string { return name(endNames[:], e) }

// MarshalText is String, but fails for a value that was never declared.
func (e End) MarshalText() ([]byte, error) { return marshal(endNames[:], e) }

// UnmarshalText reads what MarshalText wrote. On error the receiver is left as it was.
func (e *End) UnmarshalText(text []byte) error { return unmarshal(endNames[:], e, text) }

// String returns the name of the field of the strategy, such as "maxSurge"; "" for 0, "unknown" for a value that was never
// declared.
func (k Knob) String() string { return name(knobNames[:], k) }

// MarshalText is String, but fails for a value that was never declared.
func (k Knob) MarshalText() ([]byte, error) { return marshal(knobNames[:], k) }

// UnmarshalText reads what MarshalText wrote. On error the receiver is left as it was.
func (k *Knob) UnmarshalText(text []byte) error { return unmarshal(knobNames[:], k, text) }

// name looks up an enumeration value in its table. The text of a value that was never declared is "unknown".
func name[T ~uint8](names []string, v T) string {
	if int(v) < len(names) {
		return names[v]
	}
	return "unknown"
}

func marshal[T ~uint8](names []string, v T) ([]byte, error) {
	if int(v) >= len(names) {
		return nil, fmt.Errorf("%T: %d was never declared", v, v)
	}
	return []byte(names[v]), nil
}

func unmarshal[T ~uint8](names []string, to *T, text []byte) error {
	code := slices.Index(names, string(text))
	if code < 0 {
		return fmt.Errorf("%q is none of %s", text, strings.Join(names[1:], ", "))
	}
	*to = T(code)
	return nil
}
