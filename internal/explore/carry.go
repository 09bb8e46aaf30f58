package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/internal/apiserver"
	"github.com/daemonplan/daemonplan/internal/harness"
	"github.com/daemonplan/daemonplan/rollout"
)

// controllerMoves plans, and lists what may come of it: the whole plan, a part of it, or all but one of its actions. It
// returns the plan, too.
func (w *world) controllerMoves(s *state) ([]move, *rollout.Plan, error) {
	plan, err := w.plan(w, int(s.spec), w.snapshot(s))
	if err != nil {
		return nil, nil, err
	}
	actions := harness.Actions(plan)
	all := func(int) bool { return true }
	whole, err := w.carry(s, &plan, all)
	if err != nil {
		return nil, nil, err
	}
	if s.behind {
		whole.inFlight = w.sent(w.inFlights.at(s.inFlight).With(&plan))
	}
	moves := []move{{to: whole, name: "step", fair: true, plan: &plan}}
	if s.troubles[watchLags] > 0 && !s.behind && actions > 0 {
		to := whole
		to.troubles[watchLags]--
		to.behind, to.seen, to.inFlight = true, w.views.put(&s.view), w.sent(rollout.InFlight{}.With(&plan))
		moves = append(moves, move{to: to, name: "step, of which nothing is seen yet", plan: &plan})
	}
	if s.troubles[partly] == 0 || s.behind {
		return moves, &plan, nil
	}
	part := func(name string, does func(int) bool) error {
		to, err := w.carry(s, &plan, does)
		if err == nil {
			to.troubles[partly]--
			moves = append(moves, move{to: to, name: name, plan: &plan})
		}
		return err
	}
	for n := range actions {
		some := fmt.Sprintf("step, of which %d of %d actions are carried out", n, actions)
		if err := part(some, func(i int) bool { return i < n }); err != nil {
			return nil, nil, err
		}
		if n == actions-1 {
			continue // the last action is lost in both
		}
		lost := fmt.Sprintf("step, of which action %d of %d is lost", n+1, actions)
		if err := part(lost, func(i int) bool { return i != n }); err != nil {
			return nil, nil, err
		}
	}
	return moves, &plan, nil
}

// sent returns the number of what is in flight, in an order that does not depend on that of the plans.
func (w *world) sent(f rollout.InFlight) id {
	slices.SortFunc(f.Creates, func(a, b rollout.InFlightCreate) int {
		return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.Revision, b.Revision))
	})
	slices.Sort(f.Deletes)
	slices.Sort(f.Patches)
	slices.Sort(f.Revisions)
	return w.inFlights.put(&f)
}

// carry carries out the actions of a plan for which does says so. It fails if a state has no room for what comes, because what
// is left out would pass for explored.
func (w *world) carry(s *state, plan *rollout.Plan, does func(int) bool) (to state, err error) {
	to = *s
	n := -1
	next := func() bool { n++; return does(n) }
	if err := w.revise(&to, plan, next); err != nil {
		return to, err
	}
	for i := range plan.Patches {
		if patch := &plan.Patches[i]; next() {
			if err := w.patch(&to, patch); err != nil {
				return to, err
			}
		}
	}
	for range plan.Pulls {
		next()
	}
	for i := range plan.Deletes {
		if number := w.find(&to, plan.Deletes[i].UID); next() && number != nothing {
			by := id(nothing)
			if marked := apiserver.Delete(w.pods.at(number), now); marked != nil {
				by = w.changed(number, "delete", func(p *corev1.Pod) { *p = *marked.DeepCopy() })
			}
			replace(to.pods[:], number, by)
		}
	}
	for i := range plan.Creates {
		if !next() {
			continue
		}
		number, err := w.create(&to, &plan.Creates[i])
		if err != nil {
			return to, err
		}
		if !with(to.pods[:], number) {
			return to, fmt.Errorf("there are more than %d pods", mostPods)
		}
	}
	memory := plan.Memory
	memory.Conditions = nil // they have times of their own, for people
	cut := w.memories.put(decode[rollout.Memory](encode(&memory)))
	to.memory = w.memories.after(cut, &w.clock, 0)
	w.see(&to, s, plan)
	return to, nil
}

func (w *world) find(s *state, uid types.UID) id {
	for _, number := range s.pods {
		if number != nothing && w.pods.at(number).UID == uid {
			return number
		}
	}
	return nothing
}

func (w *world) patch(s *state, patch *rollout.Patch) error {
	number := w.find(s, patch.UID)
	if number == nothing {
		return nil
	}
	isStale := s.behind && !slices.Contains(w.views.list[s.seen].pods[:], number)
	if isStale && bytes.Contains(patch.Data, []byte(`"resourceVersion"`)) {
		return nil // it is for the version that the controller saw
	}
	key := podMove{number, "patch " + patch.Subresource + string(patch.Data)}
	by, ok := w.moved[key]
	if !ok {
		patched, err := apiserver.Patch(w.pods.at(number), patch)
		if errors.Is(err, apiserver.ErrConflict) {
			return nil
		}
		if err != nil {
			return err
		}
		patched.ResourceVersion = version
		by = w.pods.put(patched)
		by = w.pods.after(by, &w.clock, 0)
		w.moved[key] = by
	}
	replace(s.pods[:], number, by)
	return nil
}

func (w *world) create(s *state, create *rollout.Create) (id, error) {
	slot := 0
	for !w.slotFree(s, podName(create.Node, slot)) {
		slot++
	}
	asked := fmt.Sprint(create.Node, create.Revision, create.Template != nil, create.Resources, create.Canary, s.spec)
	key := creation{asked, slot}
	if number, ok := w.created[key]; ok {
		return number, nil
	}
	pod, err := w.planners[s.spec].Pod(*create)
	if err != nil {
		return nothing, err
	}
	admit(pod, create.Node, slot)
	number := w.pods.put(pod)
	w.created[key] = number
	return number, nil
}

// revise carries out what a plan says about revisions. Their numbers are their places in the order of their numbers: what follows
// depends on the order alone.
func (w *world) revise(s *state, plan *rollout.Plan, next func() bool) error {
	if len(plan.Revisions) == 0 {
		return nil
	}
	var list []*appsv1.ControllerRevision
	for _, i := range s.revisions {
		if i != nothing {
			list = append(list, w.revisions.at(i))
		}
	}
	for i := range plan.Revisions {
		if !next() {
			continue
		}
		action := plan.Revisions[i]
		after, _, _, err := apiserver.Revise(list, &action, now, types.UID(action.Name))
		if err != nil {
			return err
		}
		list = after
	}
	slices.SortFunc(list, func(a, b *appsv1.ControllerRevision) int { return int(a.Revision - b.Revision) })
	empty(s.revisions[:])
	for i, r := range list {
		r = r.DeepCopy()
		r.Revision, r.ResourceVersion = int64(i)+1, ""
		if !with(s.revisions[:], w.revisions.after(w.revisions.put(r), &w.clock, 0)) {
			return fmt.Errorf("there are more than %d revisions", mostRevisions)
		}
	}
	return nil
}
