package canary

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Options say how a new revision is tried. The zero value is a canary of one node that is promoted after ten minutes.
type Options struct {
	// Replicas is the number of canary nodes: an integer of at least 1, or a percentage of desired from 1% to 100%, rounded
	// up (C1). Default (nil): 1.
	Replicas *intstr.IntOrString
	// Mode is how a revision is promoted: Auto (default, also for "") or Manual (C2).
	Mode Mode
	// Duration is how long the revision is watched before it is promoted (C2). The clock starts when every canary node holds
	// an available pod of it. A pod that is not available in between does not stop the clock, but at the end every canary
	// node must hold an available pod again. Not negative. Mode Auto only. Default (nil): 10 minutes.
	Duration *time.Duration
	// NoRestartsDuration is how long no canary pod may have restarted, failed or been evicted before the revision is
	// promoted (C2). Not negative. Mode Auto only. Default (nil): 5 minutes.
	NoRestartsDuration *time.Duration
	// NodeSelector selects the nodes that may be canary nodes (C1). Default (nil): all nodes, as with an empty selector.
	NodeSelector *metav1.LabelSelector
	// NodeAntiAffinityKeys are labels of nodes over whose values the canary nodes are spread (C1). A node without the
	// label has the value "". Default: none.
	NodeAntiAffinityKeys []string
	// AutoPause pauses the canary when a pod does not come up (C3).
	AutoPause AutoPause
	// AutoFail gives the revision up (C4).
	AutoFail AutoFail
	// Commands are those that somebody gave (C5). Default (zero): none.
	Commands Commands
}

// Mode is how a revision is promoted.
type Mode string

// The modes.
const (
	// Auto promotes by the clock (C2).
	Auto Mode = "auto"
	// Manual promotes by the command Validate only (C2).
	Manual Mode = "manual"
)

// AutoPause says when a canary is paused automatically (C3). The zero value is on.
type AutoPause struct {
	// Disabled turns it off. Default: false.
	Disabled bool
	// MaxRestarts is how often a container of one pod may have restarted; one restart more pauses. Not negative. Default
	// (nil): 2.
	MaxRestarts *int32
	// MaxSlowStartDuration is how long a pod may take to be created. A pod that cannot start is given that time too. Not
	// negative. Default (nil): a pod that cannot start pauses the canary at once, and one that is being created never does.
	MaxSlowStartDuration *time.Duration
}

// AutoFail says when a revision fails automatically (C4). The zero value is on.
type AutoFail struct {
	// Disabled turns it off. Default: false.
	Disabled bool
	// MaxRestarts is how often a container of one pod may have restarted; one restart more fails the revision. Not negative.
	// Default (nil): 5.
	MaxRestarts *int32
	// MaxRestartsDuration is how long restarts may go on: from the first to the last restart of any container of a canary
	// pod since the canary began. Not negative. Default (nil): for ever.
	MaxRestartsDuration *time.Duration
	// CanaryTimeout is how long the canary may take, whatever the state of its pods, and whether or not it is paused. It
	// must be positive, and in mode Auto more than Duration. Default (nil): for ever.
	CanaryTimeout *time.Duration
}

// Commands are standing orders. The value of a command names the revision that it is for, by its hash or by the name of its
// ControllerRevision (C5). A command that names another revision is ignored, and reported in Judgement.Stale. [Any] stands
// for whatever revision is on trial. An empty value means that there is no such command.
type Commands struct {
	// Pause pauses the canary until the command is taken back.
	Pause string
	// Unpause lifts automatic pauses, present and future (C3). It does not lift Pause.
	Unpause string
	// Validate promotes the revision at once. It does not revive a failed one.
	Validate string
	// Fail gives the revision up.
	Fail string
	// Retry revives a failed revision: its canary begins again. One value works once; to retry again, append a slash and
	// any text that is new: "5d8f7b9c4/2".
	Retry string
}

// Any stands in Commands for whatever revision is on trial. It is for manifests that cannot name one.
const Any = "*"

// Defaults of Options.
const (
	DefaultReplicas             = 1
	DefaultDuration             = 10 * time.Minute
	DefaultNoRestartsDuration   = 5 * time.Minute
	DefaultAutoPauseMaxRestarts = 2
	DefaultAutoFailMaxRestarts  = 5
)

// DeepCopy returns a copy that shares no memory with the options.
func (o Options) DeepCopy() Options {
	o.Replicas = clone(o.Replicas)
	o.Duration = clone(o.Duration)
	o.NoRestartsDuration = clone(o.NoRestartsDuration)
	o.NodeSelector = o.NodeSelector.DeepCopy()
	o.NodeAntiAffinityKeys = slices.Clone(o.NodeAntiAffinityKeys)
	o.AutoPause.MaxRestarts = clone(o.AutoPause.MaxRestarts)
	o.AutoPause.MaxSlowStartDuration = clone(o.AutoPause.MaxSlowStartDuration)
	o.AutoFail.MaxRestarts = clone(o.AutoFail.MaxRestarts)
	o.AutoFail.MaxRestartsDuration = clone(o.AutoFail.MaxRestartsDuration)
	o.AutoFail.CanaryTimeout = clone(o.AutoFail.CanaryTimeout)
	return o
}

// Default returns a deep copy in which every unset field has its default. Fields whose default is nil stay nil, and so do
// Duration and NoRestartsDuration in mode Manual, where they have no meaning. Invalid values stay as they are, for Validate
// to report.
func (o Options) Default() Options {
	o = o.DeepCopy()
	if o.Mode == "" {
		o.Mode = Auto
	}
	setDefault(&o.Replicas, intstr.FromInt32(DefaultReplicas))
	if o.Mode != Manual {
		setDefault(&o.Duration, DefaultDuration)
		setDefault(&o.NoRestartsDuration, DefaultNoRestartsDuration)
	}
	setDefault(&o.AutoPause.MaxRestarts, DefaultAutoPauseMaxRestarts)
	setDefault(&o.AutoFail.MaxRestarts, DefaultAutoFailMaxRestarts)
	return o
}

func setDefault[T any](field **T, value T) {
	if *field == nil {
		*field = &value
	}
}

func clone[T any](p *T) *T {
	if p == nil {
		return nil
	}
	return new(*p)
}
