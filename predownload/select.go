package predownload

import (
	"iter"
	"slices"
	"time"
)

// Request is a pull in flight: it was asked for and has not ended.
type Request struct {
	Node, Image string
}

// Input is what [Select] decides on.
type Input struct {
	// Now is the time of the decision.
	Now time.Time
	// Options as for the set. Invalid ones pull nothing.
	Options Options
	// Images of the update revision, as [Images] returns them. A repeated image counts once, in its first spelling.
	Images []string
	// Secrets are the names of the pull secrets, which each Pull carries.
	Secrets []string
	// Candidates, in the order in which their nodes will be admitted, each node once. A repeated node gets one pull, but may take
	// up the place of another. With an integer parallelism they are read only until every image has its pulls, with a percentage
	// once to the end. Nil: none.
	Candidates iter.Seq[Candidate]
	// Desired is the number of nodes that are to run the pod, UpdatedReady that of those with a ready pod of the update revision.
	// Options.MinUpdatedReadyPods is compared with UpdatedReady; its percentages are of Desired.
	Desired, UpdatedReady int32
	// InFlight are the pulls under way, in any order. Each counts against the parallelism of its image while it is listed,
	// even if its node no longer needs the image.
	InFlight []Request
	// Failures so far, in any order.
	Failures []Failure
}

// Pull asks for an image on a node.
type Pull struct {
	Node, Image string
	// Secrets are the names of the pull secrets. All pulls of a Selection share the slice.
	Secrets []string
	// Timeout is the time after which the pull has failed.
	Timeout time.Duration
	// BackoffLimit is how many further pulls follow one that failed. Select counts them by Input.Failures, so that an executor
	// that retries by itself reports a Failure only when it has given up.
	BackoffLimit int32
}

// ImageWait is why Select asks for no more pulls of one image.
type ImageWait struct {
	Image  string
	Reason WaitReason
	// InFlight is the number of its pulls under way, without those just asked for.
	InFlight int32
	// Limit is how many may be under way: InFlight plus those just asked for is at most max(InFlight, Limit) (V10). It is 0 if
	// Reason is one for which nothing is asked for on any node.
	Limit int32
}

// Selection is the result of [Select].
type Selection struct {
	// Pulls to start now, in the order of the candidates; on one node in the order of the images.
	Pulls []Pull
	// Waits has one element per image, in their order.
	Waits []ImageWait
	// Wake is the first instant at which the end of a back-off changes Pulls. Zero: only another input changes them.
	Wake time.Time
	// Failures are those to keep and to pass to the next call: one per node and image, sorted, with times after Now replaced
	// by Now.
	Failures []Failure
}

// Select decides which images to pull on which nodes now (D1, D2). It does not find out whether everything may update in one
// batch, so that nothing need be pulled ahead: a caller who knows that does not call Select.
//
// Per image, Select goes through the candidates in order and asks for a pull where the image is needed (Needs), not in
// flight and not backing off, until as many pulls are under way as Options.Parallelism allows. A node whose pulls of
// an image failed more often than Options.BackoffLimit allows is passed over for good. Nothing waits for it, because an
// update that finds no image pulls it itself (D2).
func Select(in Input) Selection {
	s := Selection{Failures: settle(in.Failures, in.Now)}
	settings, errs := in.Options.read(nil)
	pass := newPass(in, settings, s.Failures)
	switch {
	case len(errs) > 0:
		s.Waits = pass.blocked(ReasonInvalidOptions)
	case settings.parallelism.Value == 0:
		s.Waits = pass.blocked(ReasonPaused)
	case in.UpdatedReady < settings.minReady.RoundUp(in.Desired):
		s.Waits = pass.blocked(ReasonMinUpdatedReadyPods)
	default:
		pass.walk(in.Candidates)
		s.Pulls = pass.pulls(slices.Clone(in.Secrets))
		s.Waits, s.Wake = pass.waits()
	}
	return s
}
