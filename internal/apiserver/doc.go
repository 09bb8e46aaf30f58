// Package apiserver carries out the requests of a plan as an API server does. It merges patches into pods and returns which of
// them are refused, writes revisions, marks pods for deletion and completes new pods. It consists of functions of the objects
// that are given. The caller keeps the objects, their names and their resource versions.
//
//	patched, err := apiserver.Patch(pod, &plan.Patches[0])
//	switch {
//	case errors.Is(err, apiserver.ErrConflict):
//		// refused: the patch is for another pod of that name, or for another version of it
//	case err != nil:
//		return err // no planner may send that
//	}
//
// # Contract
//
// Inputs are not written to, except by [Admit], [DefaultRequests] and [Terminate], which write to an object that only the caller
// holds. Pods, revisions and actions must not be nil.
//
// # Differences from real API servers
//
// There is no admission, and there are no defaults but those of requests. Of the rules for what may change there are only those
// that a planner could break. Directives of strategic merge patches, and patches of other types, are errors.
package apiserver
