package harness

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/daemonplan/daemonplan/predownload"
	"github.com/daemonplan/daemonplan/rollout"
)

// CheckSafe plans and reports what [verify.Plan] finds: the invariants that one plan can break (V1 to V12).
func CheckSafe(spec rollout.Spec, plan PlanFunc, snapshot rollout.Snapshot) error {
	p, err := plan(snapshot)
	if err != nil {
		return err
	}
	return CheckPlan(spec, snapshot, p)
}

// CheckPure checks V13. Planning must
//   - leave the snapshot as it was, the memory behind the ends of its slices included;
//   - give the same plan again, also after the caller has overwritten the first plan;
//   - keep nothing of the snapshot: the plan must not change when the caller overwrites the snapshot;
//   - give the same plan whatever the order of nodes, pods, revisions and requests in flight.
func CheckPure(plan PlanFunc, snapshot rollout.Snapshot) error {
	input, pristine := roomy(snapshot), roomy(snapshot)
	result, err := plan(input)
	if err != nil {
		return fmt.Errorf("V13: %w", err)
	}
	if path := difference(reflect.ValueOf(input), reflect.ValueOf(pristine)); path != "" {
		return fmt.Errorf("V13: planning wrote to snapshot%s", path)
	}
	first := roomy(result)
	scribble(reflect.ValueOf(&input).Elem())
	if diff := planDiff(first, result); diff != "" {
		return fmt.Errorf("V13: the plan shares memory with the snapshot (-before, +after overwriting it):\n%s", diff)
	}
	scribble(reflect.ValueOf(&result).Elem())
	for _, variant := range variants(pristine) {
		again, err := plan(variant.snapshot)
		if err != nil {
			return fmt.Errorf("V13: %s: %w", variant.name, err)
		}
		if diff := planDiff(first, again); diff != "" {
			return fmt.Errorf("V13: %s gives another plan (-first, +then):\n%s", variant.name, diff)
		}
	}
	return nil
}

type variant struct {
	name     string
	snapshot rollout.Snapshot
}

// variants are the snapshot itself and the same in other orders.
func variants(s rollout.Snapshot) []variant {
	list := []variant{{"planning again", s}}
	for _, order := range []struct {
		name string
		at   position
	}{
		{"the opposite order", func(i, n int) int { return n - 1 - i }},
		{"the first one last", func(i, n int) int { return (i + 1) % n }},
		{"every other one first", everyOther},
	} {
		other := s
		other.Nodes = reordered(s.Nodes, order.at)
		other.Pods = reordered(s.Pods, order.at)
		other.Revisions = reordered(s.Revisions, order.at)
		other.InFlight.Creates = reordered(s.InFlight.Creates, order.at)
		other.InFlight.Deletes = reordered(s.InFlight.Deletes, order.at)
		other.InFlight.Patches = reordered(s.InFlight.Patches, order.at)
		other.InFlight.Revisions = reordered(s.InFlight.Revisions, order.at)
		other.InFlight.Pulls = reordered(s.InFlight.Pulls, order.at)
		other.InFlight.Refused = reordered(s.InFlight.Refused, order.at)
		other.FailedPulls = reordered(s.FailedPulls, order.at)
		list = append(list, variant{order.name, other})
	}
	return list
}

// position tells which of n elements comes at i.
type position func(i, n int) int

// everyOther begins with the second element, the fourth, and so on, and comes to the others then.
func everyOther(i, n int) int {
	if i < n/2 {
		return 2*i + 1
	}
	return 2 * (i - n/2)
}

func reordered[T any](list []T, at position) []T {
	other := make([]T, len(list))
	for i := range other {
		other[i] = list[at(i, len(list))]
	}
	return other
}

// planDiff shows how two plans differ; empty if they do not. Nil and empty lists are the same plan.
func planDiff(a, b rollout.Plan) string {
	a.Reading, b.Reading = nil, nil // says nothing that the plan does not say, and holds the objects
	if reflect.DeepEqual(a, b) {
		return ""
	}
	return cmp.Diff(a, b, cmpopts.EquateEmpty(), cmp.Exporter(func(reflect.Type) bool { return true }))
}

// CheckIdempotent checks V14. With the actions of a plan in flight, and with any prefix of them in flight or carried
// out, the next plans must not ask for them again, and must break no invariant that [verify.Plan] checks. A pod with a
// patch in flight must not be patched at all; one that was patched may be, but not in the same way again. Whoever carries
// out a part of the patches of a pod only is one of the prefixes.
func CheckIdempotent(spec rollout.Spec, plan PlanFunc, snapshot rollout.Snapshot) error {
	p, err := plan(snapshot)
	if err != nil {
		return fmt.Errorf("V14: %w", err)
	}
	for _, n := range prefixes(Actions(p)) {
		if err := checkInFlight(spec, plan, snapshot, Prefix(p, n)); err != nil {
			return fmt.Errorf("V14: with %d of %d actions in flight: %w", n, Actions(p), err)
		}
		if err := checkApplied(spec, plan, snapshot, p, n); err != nil {
			return fmt.Errorf("V14: with %d of %d actions carried out: %w", n, Actions(p), err)
		}
	}
	return nil
}

// prefixes are all lengths from 0 to n, or some of them if they are many.
func prefixes(n int) []int {
	const some = 8
	step := max(1, n/some)
	var list []int
	for i := 0; i < n; i += step {
		list = append(list, i)
	}
	return append(list, n)
}

// checkInFlight plans on while nothing is observed: all that was requested before stays in flight.
func checkInFlight(spec rollout.Spec, plan PlanFunc, snapshot rollout.Snapshot, p rollout.Plan) error {
	const rounds = 3
	for range rounds {
		snapshot.InFlight = snapshot.InFlight.With(&p)
		snapshot.Memory = p.Memory
		next, err := plan(snapshot)
		if err != nil {
			return err
		}
		if err := errors.Join(repeated(snapshot.InFlight, next), CheckPlan(spec, snapshot, next)); err != nil {
			return err
		}
		p = next
	}
	return nil
}

// repeated reports the actions of the plan that are in flight already.
func repeated(f rollout.InFlight, p rollout.Plan) error {
	for _, a := range p.Revisions {
		if slices.Contains(f.Revisions, a.Name) {
			return fmt.Errorf("%s of revision %s again", a.Verb, a.Name)
		}
	}
	for _, a := range p.Patches {
		if slices.Contains(f.Patches, a.UID) {
			return fmt.Errorf("patch of pod %s again", a.Pod)
		}
	}
	for _, a := range p.Pulls {
		if slices.Contains(f.Pulls, predownload.Request{Node: a.Node, Image: a.Image}) {
			return fmt.Errorf("pull of %s on node %s again", a.Image, a.Node)
		}
	}
	for _, a := range p.Deletes {
		if slices.Contains(f.Deletes, a.UID) {
			return fmt.Errorf("delete of pod %s again", a.Pod)
		}
	}
	for _, a := range p.Creates {
		if slices.Contains(f.Creates, rollout.InFlightCreate{Node: a.Node, Revision: a.Revision}) {
			return fmt.Errorf("create on node %s again", a.Node)
		}
	}
	return nil
}

// checkApplied plans again after a prefix was carried out and observed.
func checkApplied(spec rollout.Spec, plan PlanFunc, snapshot rollout.Snapshot, p rollout.Plan, n int) error {
	c, err := NewCluster(spec, snapshot, Behavior{})
	if err != nil {
		return err
	}
	if err := c.ApplyPrefix(p, n); err != nil {
		return err
	}
	after := c.Snapshot()
	// What was in flight before still is: the cluster of this check never heard of it.
	after.InFlight = snapshot.InFlight
	after.InFlight.Pulls = slices.Concat(snapshot.InFlight.Pulls, c.Snapshot().InFlight.Pulls)
	next, err := plan(after)
	if err != nil {
		return err
	}
	done := Prefix(p, n)
	requested := rollout.InFlight{}.With(&done)
	requested.Patches, requested.Revisions = nil, nil // a pod may have several steps to go, and a revision several actions
	return errors.Join(revisedAgain(done, next), patchedAgain(done, next), repeated(requested, next),
		CheckPlan(spec, after, next))
}

// revisedAgain reports an action on a revision that does what one before it did. Marks may come again with another instant.
func revisedAgain(done, next rollout.Plan) error {
	for _, a := range next.Revisions {
		if slices.ContainsFunc(done.Revisions, func(before rollout.RevisionAction) bool {
			return before.Name == a.Name && before.Verb == a.Verb &&
				slices.Equal(sortedKeys(before.Annotations), sortedKeys(a.Annotations))
		}) {
			return fmt.Errorf("%s of revision %s again", a.Verb, a.Name)
		}
	}
	return nil
}

// patchedAgain reports a patch that does what one before it did, for whatever version of its pod.
func patchedAgain(done, next rollout.Plan) error {
	known := map[string]bool{}
	key := func(patch rollout.Patch) string {
		return fmt.Sprintf("%s %q %s", patch.UID, patch.Subresource, versionless(patch))
	}
	for _, patch := range done.Patches {
		known[key(patch)] = true
	}
	for _, patch := range next.Patches {
		if known[key(patch)] {
			return fmt.Errorf("patch of pod %s again: %s", patch.Pod, patch.Data)
		}
	}
	return nil
}
