package predownload

import "strconv"

// WaitReason is why no more pulls of an image are asked for.
type WaitReason uint8

// The reasons. Where several hold, the first in this order is given, except that ReasonServed holds only if no other does.
const (
	// ReasonServed: every node that needs the image is pulling it or has just been asked to.
	ReasonServed WaitReason = iota
	// ReasonInvalidOptions: the options cannot be read. What cannot be read never means unlimited, so nothing is pulled.
	ReasonInvalidOptions
	// ReasonPaused: parallelism is 0.
	ReasonPaused
	// ReasonMinUpdatedReadyPods: fewer pods of the update revision are ready than minUpdatedReadyPods.
	ReasonMinUpdatedReadyPods
	// ReasonParallelism: as many pulls as parallelism allows are under way. It is not known whether more nodes need the
	// image.
	ReasonParallelism
	// ReasonBackOff: the remaining nodes failed to pull it a short while ago.
	ReasonBackOff
	// ReasonGivenUp: the remaining nodes failed more often than the back-off limit allows.
	ReasonGivenUp

	reasons // count
)

// String returns a short text for people. A value that is none of the reasons gives its number.
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
