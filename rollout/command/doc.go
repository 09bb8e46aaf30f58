// Package command has the commands that people give to a set while it is rolled out, and the tables in which they see how
// it is doing: those of the kubectl plugin of ExtendedDaemonSet, as functions.
//
//	view := command.View{Spec: set.Spec, Snapshot: snapshot, Plan: plan, Created: created}
//	fmt.Print(command.Table(command.Get(view)))             // NAME DESIRED CURRENT READY UP-TO-DATE …
//	fmt.Print(command.Table(command.CanaryPods(view)...))   // what the canary's pods wait for
//	patch, err := command.CanaryPause.Patch(view)           // an error says why it would have no effect
//	if err != nil {
//		return err
//	}
//	fmt.Println(patch.Kubectl(set.Spec))                    // kubectl patch … -p '{"metadata":…}'
//
// A command is a patch of the object of the set. To see what it would do, apply it to the manifest and plan again:
//
//	patched, err := patch.Apply(object.JSON)
//	next, err := manifest.Decode(patched)
//	// … plan for next.Spec and the same snapshot …
//	for _, effect := range command.Effects(plan, nextPlan) {
//		fmt.Println(nextPlan.Explain(effect.Node))
//	}
//
// # The commands
//
//	command           ExtendedDaemonSet: metadata.annotations
//	canary validate   extendeddaemonset.datadoghq.com/canary-valid and daemonplan.io/canary-validate name the revision
//	canary pause      …/canary-paused "true", daemonplan.io/canary-pause names the revision
//	canary unpause    …/canary-unpaused "true", daemonplan.io/canary-unpause names the revision
//	canary fail       daemonplan.io/canary-fail names the revision
//	canary retry      daemonplan.io/canary-retry names the revision and the time
//	pause, unpause    …/rolling-update-paused "true", or gone
//	freeze, unfreeze  …/rollout-frozen "true", or gone
//
// Each also takes back what contradicts it. Sets of other kinds have no canary. An Advanced DaemonSet of OpenKruise can be
// paused and unpaused (spec.updateStrategy.rollingUpdate.paused). A DaemonSet of apps/v1 takes no command. Everybody who
// writes a [rollout.Spec] gives the same commands in its Strategy.Canary.Commands, Strategy.Paused and Strategy.Frozen.
//
// # Contract
//
// Every function is a function of its arguments: no clock is read, inputs are neither written nor retained, except that an
// [Effect] points to the decisions of its plans, and nothing panics, whatever the view. Order and repetition of the
// snapshot's pods, nodes and revisions change nothing, as long as UIDs and names are unique. A view whose plan is not that
// of its snapshot gives tables that do not fit together, and nothing worse.
//
// Tables count by node, as the status of a plan does (S1). Names in them are printed with escapes where a terminal
// might obey them; patches are ASCII.
//
// # Differences from the three controllers
//
// Kubernetes and OpenKruise have no such commands: "kubectl rollout pause" does not know their daemon sets.
//
// The plugin of ExtendedDaemonSet (compared with commit b6860a0 of April 2026):
//   - pause and unpause of a canary name no revision there, and hit the next one if they come late or are left behind. Here
//     every command of a canary does (C5), and validate takes a pause back;
//   - fail patches the status of a replica set there, and nothing revives the revision. Here it is an annotation, and
//     retry takes it back;
//   - pause and freeze are refused there while there is a canary. Here they stop it (C7);
//   - diff starts a program on two files. Here history.DiffData lists the changes;
//   - the column UP-TO-DATE counts available pods of the active and the canary's replica set there, two for a node with two.
//     Here it counts nodes, each once, that have a pod of the revision that is to be theirs, available or not;
//   - CURRENT counts available pods there. Here it is what kubectl shows of a DaemonSet.
package command
