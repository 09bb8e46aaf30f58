package controller

import (
	"errors"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// isNormal tells whether an error is one that happens in a healthy cluster: somebody else was faster, and the next plan goes
// on from what is then.
func isNormal(err error) bool {
	return apierrors.IsNotFound(err) || apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) ||
		apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}

// maybeExecuted tells whether a request that failed may have been executed: the answer was lost, or the server gave up
// waiting for itself.
func maybeExecuted(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return true
	}
	code := status.Status().Code
	return code == 0 || code >= http.StatusInternalServerError
}
