package predownload

import "strconv"

// WaitReason is why no more pulls of an image are asked for.
type WaitReason uint8

// The reasons. Where several hold, the first of this order is given, after ReasonServed, which holds if none of the
// others does.
const (
	// ReasonServed: every node that needs the image is pulling it or has just been asked to.
	ReasonServed WaitReason = iota
	// ReasonInvalidOptions: the options cannot be read, and unreadable never means unlimited.
	ReasonInvalidOptions
	// ReasonPaused: parallelism is 0.
	ReasonPaused
	// ReasonMinUpdatedReadyPods: fewer pods of the update revision than that are ready.
	ReasonMinUpdatedReadyPods
	// ReasonParallelism: as many pulls as parallelism allows are under way. Whether further nodes need the image was not
	// looked at.
	ReasonParallelism
	// ReasonBackOff: the nodes that are left failed to pull it a short while ago.
	ReasonBackOff
	// ReasonGivenUp: the nodes that are left failed more often than the back-off limit allows.
	ReasonGivenUp

	reasons // count
)

// String is a short text for people. A value that is none of the reasons gives its number.
func (r WaitReason) String() string {
	names := [reasons]string{
		ReasonServed:              "no further node needs the image",
		ReasonInvalidOptions:      "the options are invalid",
		ReasonPaused:              "paused: parallelism is 0",
		ReasonMinUpdatedReadyPods: "waiting for minUpdatedReadyPods",
		ReasonParallelism:         "parallelism is used up",
		ReasonBackOff:             "backing off after failed pulls",
		ReasonGivenUp:             "given up after failed pulls",
	}
	if r >= reasons {
		return "reason " + strconv.Itoa(int(r))
	}
	return names[r]
}

// MarshalText is String, so that a plan encoded as JSON reads in words.
func (r WaitReason) MarshalText() ([]byte, error) { return []byte(r.String()), nil }
