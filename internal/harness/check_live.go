package harness

import (
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/verify"
)

// CheckLive checks V16, and V18 for whatever state the snapshot is in: a cluster that begins there settles within
// [Cluster.Steps], and then
//   - every node that is to run the pod has exactly one pod, which is at the update revision and available, or is Ready and
//     held: by the partition, the strategy's node selector, or the method InPlaceOnly (T2, T3, I1);
//   - the partition holds as many nodes as it can and no more, those that T2 names;
//   - no in-place update and no hook is waited for, and a pod that was updated in place is what the template says (I5, L3);
//   - a node that is empty is one that partitioned scaling leaves so (T7);
//   - no node that the pod must leave has one, and no pod is pinned to a node that does not exist;
//   - the plan stays empty, an hour and a year later, and with the memory lost.
//
// The spec must be one that nothing stops as a whole (see [objects.Rolling]), and the behavior must be fair: it lets pods of the
// update revision become Ready, containers restart and hooks be seen to. A pod with an in-place update that cannot be read
// stays as it is; one that is not Ready uses up budget for ever, and if that leaves none, Ready nodes may stay outdated.
func CheckLive(spec rollout.Spec, plan PlanFunc, snapshot rollout.Snapshot, behavior Behavior) error {
	c, err := NewCluster(spec, snapshot, behavior)
	if err != nil {
		return fmt.Errorf("V16: %w", err)
	}
	return c.checkLive(plan, snapshot)
}

// checkLive checks V16 from where the cluster is; begin is what it showed then.
func (c *Cluster) checkLive(plan PlanFunc, begin rollout.Snapshot) error {
	r, err := c.settle(plan)
	if err != nil {
		return fmt.Errorf("V16: %w", err)
	}
	if err := c.arrived(begin); err != nil {
		return fmt.Errorf("V16: settled after %d steps, but %w\n%s", r.Steps, err, recent(c))
	}
	return c.checkStaysEmpty(plan, r)
}

// CheckNoThrash checks V17 on the way that [CheckLive] takes. Since the spec stays as it is and kubelets are fair,
// whatever the state at the beginning:
//   - each node gets at most one pod;
//   - no pod that was created or updated in place on the way is deleted, or updated in place after that;
//   - no pod is deleted twice.
//
// So a node is recreated or updated at most once, and pods that were there from the beginning are deleted at most once
// each.
func CheckNoThrash(spec rollout.Spec, plan PlanFunc, snapshot rollout.Snapshot, behavior Behavior) error {
	c, err := NewCluster(spec, snapshot, behavior)
	if err != nil {
		return fmt.Errorf("V17: %w", err)
	}
	if _, err := c.settle(plan); err != nil && !errors.Is(err, errUnsettled) {
		return fmt.Errorf("V17: %w", err)
	}
	if err := thrash(c.events); err != nil {
		return fmt.Errorf("V17: %w\n%s", err, recent(c))
	}
	return nil
}

// CheckSafeAlong checks with [verify.Plan] every plan on the way of [CheckLive], wherever it leads: the spec may
// hold nodes back, and pods may never become Ready.
func CheckSafeAlong(spec rollout.Spec, plan PlanFunc, snapshot rollout.Snapshot, behavior Behavior) error {
	c, err := NewCluster(spec, snapshot, behavior)
	if err != nil {
		return err
	}
	check := Recheck(new(verify.Verifier).Plan)
	_, err = c.Run(plan, c.Steps(), func(s rollout.Snapshot, p rollout.Plan) error { return check(spec, s, p) })
	if err != nil {
		return fmt.Errorf("%w\n%s", err, recent(c))
	}
	return nil
}

var errUnsettled = errors.New("not settled")

// settle runs the cluster until it is settled.
func (c *Cluster) settle(plan PlanFunc) (Result, error) {
	r, err := c.Run(plan, c.Steps(), nil)
	if err == nil && !r.Settled {
		err = fmt.Errorf("%w after %d steps; last plan: %s\n%s", errUnsettled, r.Steps, actions(r.Plan), recent(c))
	}
	return r, err
}

func thrash(events []Event) error {
	created := map[string]types.UID{}
	deleted, updated := map[types.UID]bool{}, map[types.UID]bool{}
	for _, e := range events {
		switch e.Kind {
		case PodCreated:
			if created[e.Node] != "" {
				return fmt.Errorf("node %s gets a second pod, %s", e.Node, e.Object)
			}
			created[e.Node] = e.UID
		case PodDeleted:
			switch {
			case deleted[e.UID]:
				return fmt.Errorf("pod %s is deleted twice", e.Object)
			case created[e.Node] == e.UID:
				return fmt.Errorf("pod %s is deleted, which was created on the way", e.Object)
			case updated[e.UID]:
				return fmt.Errorf("pod %s is deleted, which was updated in place on the way", e.Object)
			}
			deleted[e.UID] = true
		case PodUpdated:
			switch {
			case updated[e.UID]:
				return fmt.Errorf("pod %s is updated in place twice", e.Object)
			case created[e.Node] == e.UID:
				return fmt.Errorf("pod %s is updated in place, which was created on the way", e.Object)
			}
			updated[e.UID] = true
		default: // neither makes nor ends a pod
		}
	}
	return nil
}

// actions lists the actions of a plan in a few words.
func actions(p rollout.Plan) string {
	if p.Empty() {
		return "no action"
	}
	var words []string
	for _, a := range p.Revisions {
		words = append(words, fmt.Sprintf("%s revision %s", a.Verb, a.Name))
	}
	for _, a := range p.Patches {
		words = append(words, fmt.Sprintf("patch %s (%s)", a.Pod, a.Reason))
	}
	for _, a := range p.Pulls {
		words = append(words, fmt.Sprintf("pull %s on %s", a.Image, a.Node))
	}
	for _, a := range p.Deletes {
		words = append(words, fmt.Sprintf("delete %s (%s)", a.Pod, a.Reason))
	}
	for _, a := range p.Creates {
		words = append(words, fmt.Sprintf("create on %s (%s)", a.Node, a.Reason))
	}
	return strings.Join(words, "; ")
}
