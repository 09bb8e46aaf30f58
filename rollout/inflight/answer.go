package inflight

import (
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// Status codes from firstRefusal on, below firstFailure, say that the request was refused.
const (
	firstRefusal = 400
	firstFailure = 500
)

// MaybeExecuted tells whether a request that ended in this error may have been executed all the same: the answer was lost, or the
// API server gave up waiting for itself. A refused connection and every answer of the 4xx range, a conflict for one, say that it
// was not. Nil: it was executed, and the result is true.
func MaybeExecuted(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return !utilnet.IsConnectionRefused(err)
	}
	code := status.Status().Code
	return code < firstRefusal || code >= firstFailure
}

// isGone tells whether what the request is about does not exist any more.
func (r *Request) isGone(err error) bool {
	return !r.creates() && apierrors.IsNotFound(err)
}
