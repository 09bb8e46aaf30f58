// Package apiserver takes the requests of a plan as an API server does: it merges patches into pods and says which it
// refuses, writes revisions, marks pods for deletion and fills in new ones. It is a number of functions of the objects that
// are given; who keeps the objects, their names and resource versions, is the caller.
//
//	patched, err := apiserver.Patch(pod, &plan.Patches[0])
//	switch {
//	case errors.Is(err, apiserver.ErrConflict):
//		// refused: another pod of that name, or another version of it
//	case err != nil:
//		return err // no planner may send that
//	}
//
// # Contract
//
// Inputs are not written to, except by [Admit], [DefaultRequests] and [Terminate], which write to the object that is the
// caller's own. Pods, revisions and actions must not be nil.
//
// # Differences from real API servers
//
// No admission, no defaults but those of requests, and of the rules for what may change only those that a planner could
// break. Directives of strategic merge patches, and patches of other types, are errors.
package apiserver
