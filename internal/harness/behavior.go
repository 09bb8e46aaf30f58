package harness

import (
	"hash/fnv"
	"strconv"
	"time"
)

// Behavior says how the cluster behaves. The zero value is a fair cluster without delay of the watch.
type Behavior struct {
	// Start is how long a bound pod takes to become Ready, and a restarted container to become ready again. Default (0):
	// 5 s.
	Start time.Duration
	// Stop is how long a terminating pod stays. Default (0): 2 s.
	Stop time.Duration
	// Restart is how long a kubelet takes to notice that a running container has to be another one, and to start that:
	// another image, or other metadata in its environment. Until then the container's status is that of before. Default
	// (0): 3 s. Negative: for ever.
	Restart time.Duration
	// Resize is how long a kubelet takes to give a container its new resources. Default (0): 1 s. Negative: for ever.
	Resize time.Duration
	// Hook is how long the controllers that see to the hooks take, and whoever else keeps a pod waiting: with a message in
	// the condition KruisePodReady, or with a finalizer on a terminating pod. Default (0): 2 s. Negative: for ever.
	Hook time.Duration
	// Pull is how long a node takes to pull an image ahead of an update. One that takes longer than its timeout fails.
	// Default (0): 10 s. Negative: for ever.
	Pull time.Duration
	// FailedPulls is how many pulls of an image fail on a node before one succeeds. Default (0): none. Negative: all.
	FailedPulls int
	// Jitter makes pods and nodes differ: each delay is up to four times as long, as a hash of the pod's UID, or of the
	// node and the image, and this value says. Default (0): all take equally long.
	Jitter uint64
	// Lag is how many calls of Tick it takes until the snapshot shows a change. What was requested since is in flight.
	// Default (0): it shows everything at once.
	Lag int
	// NeverReady are hashes of revisions whose pods start but never become Ready.
	NeverReady []string
	// Create is how long the containers of a pod are created after it was bound: the kubelet shows them as waiting with
	// ContainerCreating, and Start counts from their creation. Default (0): no time, and the kubelet does not show it.
	// Negative: for ever.
	Create time.Duration
	// Crashing are hashes of revisions whose pods never become Ready, because their first container ends as soon as it has
	// started, again and again: after Start, and then after the back-off of a kubelet, 10 s doubling to 5 minutes.
	Crashing []string
	// Crashes is how often such a container ends before it stays up. Default (0): always.
	Crashes int
	// Waiting are reasons for which the containers of a revision's pods wait instead of starting, by the revision's hash:
	// ErrImagePull, which becomes ImagePullBackOff after 15 s, or any other, which stays. Containers that run already do.
	Waiting map[string]string
	// Full are nodes without room for another pod: the scheduler reports those that are pinned there as unschedulable.
	Full []string
	// Silent are nodes whose kubelet does nothing any more: pods there neither start nor end, nor do pulls. That the node
	// looks so is for [objects.Unreachable] to say. A pod that is bound there has no start time until it is found again.
	Silent []string
	// Breaking are images that take their node down as soon as a container starts them, for good, except on the nodes Robust.
	Breaking, Robust []string
	// Failing are hashes of revisions whose pods Fail when they should become Ready.
	Failing []string
	// Stuck are images that cannot be pulled: containers that are to run them in the place of another go on as they are.
	Stuck []string
	// Refusing are nodes on whose pods the API server refuses what changes containers, as an admission webhook does. The
	// controller remembers that until it loses its memory.
	Refusing []string
	// SameID are names of images whose ID is that of what the container ran before: names for the same thing.
	SameID []string
}

// The default delays.
const (
	defaultStart   = 5 * time.Second
	defaultStop    = 2 * time.Second
	defaultRestart = 3 * time.Second
	defaultResize  = time.Second
	defaultHook    = 2 * time.Second
	defaultPull    = 10 * time.Second
)

// delay is the configured one, or the default, longer by what the jitter says for the one whose key it is.
func (b *Behavior) delay(key string, configured, otherwise time.Duration) time.Duration {
	if configured <= 0 {
		configured = otherwise
	}
	if b.Jitter == 0 {
		return configured
	}
	h := fnv.New64a()
	// Writing to a hash never fails.
	_, _ = h.Write([]byte(key + strconv.FormatUint(b.Jitter, 10)))
	return configured + configured*time.Duration(h.Sum64()%4)
}
