// Package diagnosis answers why a pod does not serve, and since when, in the words of the objects: why its containers wait or
// ended, what the scheduler says, which finalizers hold a pod that should be gone, what the condition of its node is.
//
//	cause, found := diagnosis.Of(pod, node, now)
//	if found {
//		fmt.Println(cause) // container main: CrashLoopBackOff, last OOMKilled with exit code 137, 33 restarts
//	}
//
// It tells what is in the way and blames nobody: whether a revision has failed is for package rollout/failure to say, and whether
// its update took a node down for package rollout/outage.
//
// # Contract
//
// Every function is a function of its arguments: no I/O, clock, randomness or package state. Objects are read, and neither
// written nor kept, except that strings are. Texts of objects are passed on as they are: who prints them to a terminal makes them
// printable.
package diagnosis
