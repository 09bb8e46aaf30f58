// Command plan shows how the library is used: it reads the objects of a cluster, plans, and prints what is to be done now, which
// nodes wait for what, and why one node is where it is.
//
//	go run ./examples/plan                 plan the embedded fleet
//	go run ./examples/plan memory-1b-05    explain this node only
//
// The objects are those of fleet.yaml, a DaemonSet on 20 nodes in the middle of a rollout. To plan the objects of a cluster use
// kubectl daemonplan (cmd/kubectl-daemonplan).
package main

import (
	_ "embed"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/manifest"
)

//go:embed fleet.yaml
var fleet []byte

// recorded is the instant that the fleet shows. The library has no clock of its own; a controller passes time.Now().
var recorded = time.Date(2026, time.March, 2, 9, 15, 0, 0, time.UTC)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "plan: %v\n", err)
		os.Exit(2)
	}
}

// run explains the node that the arguments name, or prints the whole plan if there are none.
func run(args []string, out io.Writer) error {
	if len(args) > 1 || len(args) == 1 && strings.HasPrefix(args[0], "-") {
		return fmt.Errorf("want at most one argument, the name of a node, and got %q", strings.Join(args, " "))
	}
	set, snapshot, err := read(fleet)
	if err != nil {
		return err
	}
	snapshot.Now = recorded
	planner, err := rollout.New(set.Spec)
	if err != nil {
		return manifest.FieldErrors(set.Spec, err).ToAggregate()
	}
	claimed, err := planner.ClaimAndPlan(snapshot)
	if err != nil {
		return err
	}
	plan := &claimed.Plan
	if len(args) == 1 {
		return explain(out, plan, args[0])
	}
	report(out, set.Spec.Name, plan, snapshot.Now)
	return nil
}

// read finds the set in a dump of a cluster, and all that its plan depends on. Pods and revisions are those of everybody in the
// namespace: the planner picks the set's.
func read(dump []byte) (manifest.Set, rollout.Snapshot, error) {
	var set manifest.Set
	var snapshot rollout.Snapshot
	for object, err := range manifest.Objects(dump) {
		if err != nil {
			return set, snapshot, err
		}
		switch object.Kind {
		case "Node":
			var node corev1.Node
			err = object.Decode(&node)
			snapshot.Nodes = append(snapshot.Nodes, &node)
		case "Pod":
			var pod corev1.Pod
			err = object.Decode(&pod)
			snapshot.Pods = append(snapshot.Pods, &pod)
		case "ControllerRevision":
			var revision appsv1.ControllerRevision
			err = object.Decode(&revision)
			snapshot.Revisions = append(snapshot.Revisions, &revision)
		case "DaemonSet":
			set, err = object.Set()
			snapshot.Memory = set.Memory
		}
		if err != nil {
			return set, snapshot, fmt.Errorf("item %d, a %s: %w", object.Item, object.Kind, err)
		}
	}
	return set, snapshot, nil
}

// report prints the status, why each pod is deleted or created now, and what nodes wait for. The fleet calls for no other
// actions: its revisions are there, nothing is updated in place, and no images are pulled ahead.
func report(out io.Writer, name string, plan *rollout.Plan, now time.Time) {
	s := plan.Status
	fmt.Fprintf(out, "%s: %s. %d nodes are to run it; %d run the new revision, and %d have an available pod.\n\n",
		name, s.State, s.Desired, s.Updated, s.Available)

	// A controller deletes each pod by its name and UID, and creates what planner.Pod returns.
	fmt.Fprintln(out, "Now:")
	for _, action := range plan.Deletes {
		fmt.Fprintf(out, "  %s\n", plan.Explain(action.Node))
	}
	for _, action := range plan.Creates {
		fmt.Fprintf(out, "  %s\n", plan.Explain(action.Node))
	}

	fmt.Fprintln(out, "\nLater:")
	for _, wait := range plan.Waits() {
		fmt.Fprintf(out, "  %s\n", wait)
	}
	if !plan.NextWake.IsZero() {
		fmt.Fprintf(out, "\nPlan again when something changes, or in %v.\n", plan.NextWake.Sub(now))
	}
}

// explain says in one line why a node is where it is.
func explain(out io.Writer, plan *rollout.Plan, node string) error {
	var names []string
	for i := range plan.Decisions {
		if plan.Decisions[i].Node == node {
			fmt.Fprintln(out, plan.Explain(node))
			return nil
		}
		names = append(names, plan.Decisions[i].Node)
	}
	return fmt.Errorf("the fleet has no node %q; it has %s", node, strings.Join(names, ", "))
}
