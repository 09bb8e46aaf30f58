// Package lifecycle evaluates one pod of a set: whether it is ready and available at this instant, and whether the hooks of the
// set let it be deleted, updated in place, or called normal. It only decides; the caller's client sends the patches that it
// returns.
//
// A rollout that wants to delete a pod asks first:
//
//	t := hooks.Next(pod, lifecycle.Delete, true)
//	for _, patch := range t.Patches(pod, now) {
//		send(pod, patch) // stop at the first that fails, and ask again with the newer pod
//	}
//	if t.Proceed {
//		remove(pod)
//	}
//
// and one that counts pods:
//
//	r := lifecycle.Evaluate(pod, spec.MinReadySeconds, now)
//	if !r.Available && !r.AvailableAt.IsZero() {
//		wakeAt(r.AvailableAt) // ready, only the clock is missing
//	}
//
// # Hooks
//
// A hook names labels and finalizers, its handlers (L1). The user's own controller watches the state of the pods, a
// label, and sees to the handlers: it takes them off when a pod is PreparingDelete or PreparingUpdate and has been
// drained, and puts them on when a pod is PreparingNormal or Updated and may serve again. The example of the package
// shows such a controller.
//
// The next step of a pod depends on its state and on what is wanted with it ([Intent]): the first row that fits holds.
// "Matches" means that the pod has any one handler of the hook, "all" that it has every one. A hook without handlers matches
// no pod, and every pod has all of its handlers; the same goes for a hook that is not there. The state "none" is that of a pod
// without the label, "other" that of one with an unknown value.
//
//	state                           intent  if                        next             then
//	none, Normal, other             Keep    always                    same             -
//	PreparingNormal                 Keep    preNormal all             Normal           -
//	PreparingNormal                 Keep    else                      same             wait: preNormal
//	PreparingUpdate                 Keep    update not complete       Updating         wait: completion of the in-place update
//	PreparingUpdate                 Keep    inPlaceUpdate all         Normal           -
//	PreparingUpdate                 Keep    else                      Updated          wait: inPlaceUpdate to be put back
//	Updating                        Keep    update not complete       same             wait: completion of the in-place update
//	Updating                        Keep    inPlaceUpdate all         Normal           -
//	Updating                        Keep    else                      Updated          wait: inPlaceUpdate to be put back
//	Updated                         Keep    inPlaceUpdate all         Normal           -
//	Updated                         Keep    else                      same             wait: inPlaceUpdate to be put back
//	PreparingDelete                 Keep    update not complete       Updating         wait: completion of the in-place update
//	PreparingDelete                 Keep    preNormal all             Normal           -
//	PreparingDelete                 Keep    else                      PreparingNormal  wait: preNormal
//	any                             Delete  preDelete matches         PreparingDelete  wait: preDelete
//	any                             Delete  else                      same             delete
//	PreparingDelete                 Update  preDelete matches         same             wait: preDelete
//	PreparingDelete                 Update  else                      same             delete
//	PreparingNormal                 Update  inPlaceUpdate matches     PreparingUpdate  wait: inPlaceUpdate
//	PreparingNormal                 Update  else                      same             update
//	Updating                        Update  always                    same             update
//	Updated                         Update  inPlaceUpdate has any     PreparingUpdate  wait: inPlaceUpdate
//	Updated                         Update  else                      Updating         update
//	none                            Update  inPlaceUpdate matches     PreparingUpdate  wait: inPlaceUpdate
//	none                            Update  inPlaceUpdate is nil      same             update
//	none                            Update  else                      Updating         update
//	PreparingUpdate, Normal, other  Update  inPlaceUpdate matches     PreparingUpdate  wait: inPlaceUpdate
//	PreparingUpdate, Normal, other  Update  else                      Updating         update
//
// Why some rows are as they are:
//   - PreparingDelete means deletion, whatever the hooks are by now. Only the caller knows when the pod is wanted again
//     (L2), and then asks with Keep. Update does not take the deletion back.
//   - A deletion that is taken back ends in the state in which a new pod begins. Only the preNormal hook tells a controller
//     that has taken a handler of preDelete off already to put the pod back in use.
//   - An update that was prepared and is taken back ends in Updated if a handler is off already: the controller that took it
//     off has drained the pod, and this state is its sign to put the handler back.
//   - A pod that is PreparingNormal is not in use yet. An update that inPlaceUpdate does not hold leaves it in this state, so
//     that it becomes Normal only when preNormal lets it.
//   - In Updated the hook's controller may be about to let the pod serve again. So a second update puts the missing handlers
//     back and asks the hook anew. In Updating it is not, so that the second update goes ahead.
//
// # Marking pods as not ready
//
// A hook with MarkPodNotReady puts a message into the condition [PodReady] of pods that have this readiness gate (L4).
// The next state decides what happens to the message: it is set in one state, left as it is in some, and taken out in all
// others. It is also taken out where it would be set if the hook does not mark any more. A pod that may be deleted now keeps its
// messages.
//
//	message of     set in           left in
//	preDelete      PreparingDelete  -
//	inPlaceUpdate  PreparingUpdate  Updating, PreparingDelete
//	preNormal      PreparingNormal  PreparingDelete
//
// # Contract
//
// Every function is a function of its arguments: no clock is read, nothing is written or kept, and nothing panics. A nil
// pod has not ended, is neither ready nor available, and has no state, no hooks and no next step. Evaluate, and Next
// for a pod at which nothing happens, allocate nothing.
//
// # Guarantees
//
// For any pod, minReadySeconds and now (rule B5 of docs/rules.md):
//   - an available pod is ready, and a pod that has ended is neither;
//   - a pod that is available stays so while only now advances;
//   - AvailableAt, where it is set, is the very first instant at which the unchanged pod is available.
//
// For any pod and hooks (rules L1 to L4):
//   - a pod that matches preDelete is never to be deleted now (V8), one that does not is never kept from it;
//   - with an intent that stays the same, and hooks that are seen to, every pod comes to rest: the step then has no
//     patch, and waits for nothing or may proceed;
//   - sending the patches of a step again, or losing them, does no harm: the next call asks for what is missing;
//   - labels, annotations, finalizers and messages of others stay as they are. Messages that cannot be read are
//     reported ([UnreadableMark]) and left alone, and a patch of the messages fails if another writer was faster.
//
// # Differences from the three controllers
//
//   - Terminal pods: the Kubernetes DaemonSet controller (v1.37.2) and OpenKruise judge by the Ready
//     condition alone. Here a pod of phase Failed or Succeeded is not ready even if its conditions were never
//     brought up to date.
//   - In-place condition: the Kubernetes controller and ExtendedDaemonSet do not know [InPlaceUpdateReady];
//     OpenKruise looks at it for its status but not for its budget. Here it always counts.
//   - Boundary: Ready for exactly minReadySeconds is enough, as in Kubernetes v1.37. OpenKruise, built on
//     Kubernetes 1.32 libraries, waits for the next instant, in practice a second more.
//   - Negative minReadySeconds, which the API refuses, is the same as 0. Kubernetes gives this meaning to 0
//     only.
//   - Hooks: only OpenKruise has them, its Advanced DaemonSet none but preDelete; the others are here as its CloneSet
//     has them. Labels, annotations and messages are the same, so that sets can be taken over in both directions.
//   - Empty label values: OpenKruise takes a pod without the label for one that matches a handler with the value "".
//     Here the label has to be there.
//   - No hook: OpenKruise says of a hook that is not there that a pod does not match all of it. Here it does, as it
//     matches all of a hook without handlers, so that a hook that is removed from the spec lets its pods go on.
//   - A deletion is taken back by OpenKruise's DaemonSet never, and by its CloneSet only if no hook marks pods; it does
//     not take the message back.
//   - Messages: OpenKruise overwrites a list that it cannot read, and drops fields of messages that it does not know.
//     It never marks a pod because of preNormal.
package lifecycle
