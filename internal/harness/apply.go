package harness

import (
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/rollout"
)

// Actions is the number of actions of the plan, of all five kinds.
func Actions(plan rollout.Plan) int {
	return len(plan.Revisions) + len(plan.Patches) + len(plan.Pulls) + len(plan.Deletes) + len(plan.Creates)
}

// Prefix is the plan with its first n actions only, in the order in which they are executed. All else, the memory
// too, is that of the whole plan. A negative n counts as 0.
func Prefix(plan rollout.Plan, n int) rollout.Plan {
	n = max(n, 0)
	plan.Revisions = first(plan.Revisions, &n)
	plan.Patches = first(plan.Patches, &n)
	plan.Pulls = first(plan.Pulls, &n)
	plan.Deletes = first(plan.Deletes, &n)
	plan.Creates = first(plan.Creates, &n)
	return plan
}

func first[T any](list []T, n *int) []T {
	take := min(*n, len(list))
	*n -= take
	return list[:take:take]
}

// Apply executes the plan as a controller and an API server do together, and keeps its memory for the next one. A
// request that meets an object which is gone, was replaced, or was written meanwhile (if a patch says which version it is
// for) is refused, and that is no error; after a patch that is refused the others of that pod are not sent. An error is
// a request that no API server would take.
func (c *Cluster) Apply(plan rollout.Plan) error {
	return c.ApplyPrefix(plan, Actions(plan))
}

// ApplyPrefix is [Cluster.Apply] for the first n actions, as if the controller had stopped there.
func (c *Cluster) ApplyPrefix(plan rollout.Plan, n int) error {
	plan = Prefix(plan, n)
	c.memory = plan.Memory
	var errs []error
	for i := range plan.Revisions {
		c.requests = append(c.requests, request{kind: ofRevision, name: plan.Revisions[i].Name})
		errs = append(errs, c.revise(&plan.Revisions[i]))
	}
	given := map[types.UID]bool{}
	for i := range plan.Patches {
		patch := &plan.Patches[i]
		if given[patch.UID] {
			continue
		}
		c.requests = append(c.requests, request{kind: ofPatch, uid: patch.UID})
		done, err := c.patch(patch)
		given[patch.UID] = !done
		errs = append(errs, err)
	}
	for i := range plan.Pulls {
		c.startPull(&plan.Pulls[i])
	}
	for i := range plan.Deletes {
		c.requests = append(c.requests, request{kind: ofDelete, uid: plan.Deletes[i].UID})
		c.delete(&plan.Deletes[i])
	}
	for i := range plan.Creates {
		create := plan.Creates[i]
		c.requests = append(c.requests, request{kind: ofCreate, name: create.Node, revision: create.Revision})
		errs = append(errs, c.create(create))
	}
	return errors.Join(errs...)
}

// request is one action that was sent.
type request struct {
	kind           requestKind
	name, revision string
	uid            types.UID
}

type requestKind uint8

const (
	ofRevision requestKind = iota
	ofPatch
	ofDelete
	ofCreate
)

func (r request) add(f *rollout.InFlight) {
	switch r.kind {
	case ofRevision:
		f.Revisions = append(f.Revisions, r.name)
	case ofPatch:
		f.Patches = append(f.Patches, r.uid)
	case ofDelete:
		f.Deletes = append(f.Deletes, r.uid)
	case ofCreate:
		f.Creates = append(f.Creates, rollout.InFlightCreate{Node: r.name, Revision: r.revision})
	}
}

// createdUID begins the UIDs of pods that a cluster creates; a number follows.
const createdUID = "created-"

// serial is the number of a pod that some cluster created; 0 for all others.
func serial(uid types.UID) int {
	digits, ok := strings.CutPrefix(string(uid), createdUID)
	if !ok {
		return 0
	}
	n, err := strconv.Atoi(digits)
	if err != nil {
		return 0
	}
	return n
}

// sortedKeys lists the keys in order.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// earlier is the earlier of two instants; the zero one stands for never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
