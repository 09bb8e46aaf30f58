package main

import (
	"testing"
	"time"
)

// small is a configuration in which less happens, so that it is explored in a fraction of a second.
func small(features ...feature) *Configuration {
	c := combined(features...)
	c.Troubles = [kindsOfTrouble]int8{userChanges: 1, podFails: 1}
	return c
}

// TestSmallWorlds explores a few configurations to the end. make explore has all of them, and more that happens.
func TestSmallWorlds(t *testing.T) {
	t.Parallel()
	list := []*Configuration{small()}
	var departs []feature // a pod that fails in its hook on a node that departs is not on its way
	for _, f := range features() {
		switch f.name {
		case "maxSurge", "partition", "preDelete hook", "paused", "stages":
			list = append(list, small(f))
		case "watch that lags":
			list = append(list, small(f))
			list[len(list)-1].Troubles[watchLags] = 1
		case "inPlaceUpdate hook", "departing":
			departs = append(departs, f)
		}
	}
	list = append(list, small(departs...))
	last := list[len(list)-1]
	last.Troubles[nodeDeparts], last.Most = 1, 6000 // it has many more states, and this is where it would be found
	for _, c := range list {
		t.Run(c.Name, func(t *testing.T) {
			w, err := newWorld(c)
			if err != nil {
				t.Fatal(err)
			}
			g, f, err := explore(w)
			switch {
			case err != nil:
				t.Fatal(err)
			case f != nil:
				t.Fatal(f)
			case g.cutOff && c != last, len(g.states) < 50, g.edges < 2*len(g.states):
				t.Errorf("%d states and %d edges are not all", len(g.states), g.edges)
			}
		})
	}
}

// TestTimesGetOlder: the clock stands still, and objects get older up to the ages that rules ask for.
func TestTimesGetOlder(t *testing.T) {
	w, err := newWorld(small(feature{name: "ages", ages: []time.Duration{10 * time.Second}}))
	if err != nil {
		t.Fatal(err)
	}
	s, err := w.begin()
	if err != nil {
		t.Fatal(err)
	}
	number := s.pods[0]
	ready := func(number id) time.Duration {
		conditions := w.pods.at(number).Status.Conditions
		return now.Sub(conditions[len(conditions)-1].LastTransitionTime.Time)
	}
	if ready(number) != forever {
		t.Fatalf("the pod of the beginning is ready for %s", ready(number))
	}
	for i, want := range []time.Duration{0, 10 * time.Second, 10 * time.Second, forever, forever} {
		if i == 0 {
			number = w.changed(w.changed(number, "unready", unready), "ready", start)
		} else {
			number = w.pods.after(number, &w.clock, []time.Duration{0, 10 * time.Second, 5 * time.Second, forever, forever}[i])
		}
		if got := ready(number); got != want {
			t.Errorf("step %d: ready for %s, want %s", i, got, want)
		}
	}
}

// TestNodesThatAreAlikeAreOne: a state and its mirror image have one key.
func TestNodesThatAreAlikeAreOne(t *testing.T) {
	w, err := newWorld(small())
	if err != nil {
		t.Fatal(err)
	}
	s, err := w.begin()
	if err != nil {
		t.Fatal(err)
	}
	left, right := s, s
	replace(left.pods[:], s.pods[0], w.changed(s.pods[0], "unready", unready))
	replace(right.pods[:], s.pods[1], w.changed(s.pods[1], "unready", unready))
	if w.key(&left) != w.key(&right) {
		t.Error("one pod of two is not Ready, and it makes a difference which")
	}
	if w.key(&left) == w.key(&s) {
		t.Error("a pod that is not Ready makes no difference")
	}
}

// TestPastIsRenamed: what is remembered of nodes goes with them, and what is remembered of parts stays.
func TestPastIsRenamed(t *testing.T) {
	swap := permutations(2)[1]
	var before, want past
	before.came.add(0, 1)
	want.came.add(1, 1)
	before.hurt.add(1, 0)
	want.hurt.add(0, 0)
	before.overdue.add(0, 2)
	want.overdue.add(1, 2)
	before.falls[1][2] = 3
	want.falls[0][2] = 3
	before.done.add(1, 1)
	want.done.add(1, 1)
	before.soaked.add(0, 1)
	want.soaked.add(0, 1)
	got := before.rename(swap)
	if got != want {
		t.Errorf("%+v is %+v, want %+v", before, got, want)
	}
	if back := got.rename(swap); back != before || before.compare(&back) != 0 || before.compare(&got) == 0 {
		t.Errorf("%+v is not what it was: %+v", before, back)
	}
	before.done.add(fleet, 1)
	if before.forgetParts(); before.done.has(1, 1) || before.soaked.has(0, 1) || !before.done.has(fleet, 1) {
		t.Errorf("of the parts %b are done and %b soaked", before.done, before.soaked)
	}
}
