package canary

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/daemonplan/daemonplan/rollout/history"
)

// Finding is the state of a canary, the reason for it, and the pod that gave the reason.
type Finding struct {
	Phase  Phase       `json:"phase"`
	Reason PhaseReason `json:"reason"`
	// Node, Pod and Container are the names of what gave the reason; empty if nothing in particular did.
	Node      string `json:"node,omitempty"`
	Pod       string `json:"pod,omitempty"`
	Container string `json:"container,omitempty"`
	// Detail is the waiting or termination reason as the kubelet reports it: ErrImagePull, OOMKilled.
	Detail string `json:"detail,omitempty"`
	// Restarts is how often the container restarted, those restarts left out that do not count (Baseline).
	Restarts int32 `json:"restarts,omitempty"`
	// At is when a finding was made that goes on record: a verdict or an automatic pause. It is zero for any other finding,
	// which holds only as long as its cause is seen.
	At time.Time `json:"at,omitzero"`
	// Recorded is the message that stands on the ControllerRevision of a failed revision, if the record that knew more was
	// lost. Otherwise it is empty.
	Recorded string `json:"recorded,omitempty"`
}

// Message returns the finding as one sentence, without a full stop.
func (f Finding) Message() string {
	if f.Recorded != "" {
		return f.Recorded
	}
	var b strings.Builder
	b.WriteString(f.opening())
	if f.Reason == TooManyRestarts || f.Reason == RestartsGoOn {
		f.writeRestarts(&b)
	}
	if f.Reason == CannotStart || f.Reason == SlowStart {
		f.writeWait(&b)
	}
	return b.String()
}

// opening is what the reason alone says.
func (f Finding) opening() string {
	switch f.Reason {
	case FirstInstallation:
		return "there is no other revision, so this one needs no canary"
	case Stable:
		return "the revision is the stable one, or was promoted before"
	case Promoted:
		return "the canary has passed, and the revision is promoted"
	case Validated:
		return "the revision is promoted by command"
	case NoNodes:
		return "there is no node for the canary, so nothing can be promoted"
	case Starting:
		return "not every canary node has an available pod of the revision"
	case Observing:
		return "every canary node has an available pod, and the canary goes on until its duration has passed"
	case Settling:
		return "the duration has passed, but not long enough since a canary pod last restarted, failed or was evicted"
	case AwaitingValidation:
		return "every canary node has an available pod, and the canary waits to be validated"
	case Halted:
		return "the set is paused or frozen, and so is the canary"
	case ByCommand:
		if f.Phase == Failed {
			return "the revision is given up by command"
		}
		return "the canary is paused by command"
	case TooManyRestarts:
		return "too many restarts"
	case CannotStart:
		return "a pod cannot start"
	case SlowStart:
		return "a pod is still being created"
	case RestartsGoOn:
		return "restarts have gone on for too long"
	case TimedOut:
		return "the canary has taken too long"
	default:
		return "nothing is known about a canary"
	}
}

// writeRestarts writes who restarted how often.
func (f Finding) writeRestarts(b *strings.Builder) {
	if f.Pod == "" {
		return
	}
	b.WriteString(": ")
	f.writeWho(b)
	b.WriteString(" restarted ")
	if f.Restarts == 1 {
		b.WriteString("once")
	} else {
		b.WriteString(strconv.Itoa(int(f.Restarts)) + " times")
	}
	if f.Detail != "" {
		b.WriteString(", last after " + f.Detail)
	}
}

// writeWait writes who waits for what.
func (f Finding) writeWait(b *strings.Builder) {
	if f.Pod == "" {
		return
	}
	b.WriteString(": ")
	f.writeWho(b)
	if f.Detail != "" {
		b.WriteString(" waits with " + f.Detail)
	} else {
		b.WriteString(" waits")
	}
}

func (f Finding) writeWho(b *strings.Builder) {
	if f.Container != "" {
		b.WriteString("container " + f.Container + " of ")
	}
	b.WriteString("pod " + f.Pod + " on node " + f.Node)
}

// annotations are those that record the fail (C6).
func (f Finding) annotations() map[string]string {
	return map[string]string{
		history.FailedAnnotation:        f.Reason.String(),
		history.FailedMessageAnnotation: f.Message(),
	}
}

// failedBefore is the verdict as far as it can be read off the annotations of a ControllerRevision, for a record that was
// lost. A value that is none of our reasons was put there by somebody: the reason is then ByCommand, and the value is kept
// as the detail.
func failedBefore(annotations map[string]string) Finding {
	f := Finding{Phase: Failed, Reason: ByCommand, Recorded: annotations[history.FailedMessageAnnotation]}
	value := annotations[history.FailedAnnotation]
	if at := slices.Index(reasonNames[ByCommand:], value); at >= 0 {
		f.Reason = ByCommand + PhaseReason(at)
	} else {
		f.Detail = value
	}
	return f
}
