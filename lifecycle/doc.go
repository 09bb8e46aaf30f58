// Package lifecycle judges one pod at one instant: is it ready, is it available, has it ended.
//
//	r := lifecycle.Evaluate(pod, spec.MinReadySeconds, now)
//	if !r.Available && !r.AvailableAt.IsZero() {
//		wakeAt(r.AvailableAt) // ready, only the clock is missing
//	}
//
// # Contract
//
// Every function is a function of its arguments: no clock is read, nothing is written, kept or allocated, and
// nothing panics; a nil pod has not ended and is neither ready nor available.
//
// # Guarantees
//
// They hold for any pod, minReadySeconds and now (rule B5 of DESIGN.md):
//   - an available pod is ready, and a pod that has ended is neither;
//   - a pod that is available stays so while only now advances;
//   - AvailableAt, where it is set, is the very first instant at which the unchanged pod is available.
//
// # Differences from the three controllers
//
//   - Terminal pods: the Kubernetes DaemonSet controller (v1.36.3) and OpenKruise judge by the Ready
//     condition alone. Here a pod of phase Failed or Succeeded is not ready even if its conditions were never
//     brought up to date.
//   - In-place condition: the Kubernetes controller and ExtendedDaemonSet do not know [InPlaceUpdateReady];
//     OpenKruise looks at it for its status but not for its budget. Here it always counts.
//   - Boundary: Ready for exactly minReadySeconds is enough, as in Kubernetes v1.36. OpenKruise, built on
//     Kubernetes 1.32 libraries, waits for the next instant, in practice a second more.
//   - Negative minReadySeconds, which the API refuses, is the same as 0. Kubernetes gives this meaning to 0
//     only.
package lifecycle
