package inflight

import (
	"errors"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// Status codes from firstRefusal on, below firstFailure, say that the request was refused.
const (
	firstRefusal = 400
	firstFailure = 500
)

// MaybeExecuted reports whether a request that ended in this error may have been executed all the same: its answer was lost, or
// the API server itself gave up waiting. A refused connection, and every answer of the 4xx range such as a conflict, show that
// the request was not executed. The result for a nil error is true, because the request was executed.
func MaybeExecuted(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return !utilnet.IsConnectionRefused(err)
	}
	code := status.Status().Code
	return code < firstRefusal || code >= firstFailure
}

// IsGone reports whether a request ended in this error because its object does not exist. An API server that does not know the
// resource or subresource, such as pods/resize, answers with the same code. That answer means that the operation does not exist
// there, and IsGone is false.
func IsGone(err error) bool {
	return apierrors.IsNotFound(err) && !apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}

// IsRefused reports whether a request ended in this error because of what it asks for, so that it would be refused again: it is
// invalid or forbidden, or the API server does not know the subresource. A conflict and an object that is gone are none, nor is
// anything that passes by itself, such as too many requests.
func IsRefused(err error) bool {
	switch {
	case apierrors.IsInvalid(err), apierrors.IsForbidden(err), apierrors.IsBadRequest(err), apierrors.IsMethodNotSupported(err),
		apierrors.IsUnsupportedMediaType(err):
		return !apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
	}
	return apierrors.IsNotFound(err) && !IsGone(err)
}
