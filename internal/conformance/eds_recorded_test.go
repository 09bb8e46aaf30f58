package conformance_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/daemonplan/daemonplan/internal/conformance/peer"
	"github.com/daemonplan/daemonplan/placement"
)

// edsRecorded returns the outcome that was recorded.
func edsRecorded(c *edsCase, file string) edsOutcome {
	e := c.Expect
	switch file {
	case "rolling":
		return edsOutcome{
			creates:  peer.Act{From: e.CreateFrom, Count: e.CreateCount},
			deletes:  peer.Act{Must: e.CleanedUpPods, From: e.DeleteFrom, Count: e.DeleteCount},
			counters: e.Status, panics: e.Error != "",
		}
	case "ers-reconcile":
		return edsOutcome{
			creates:  peer.Act{Must: e.Create, From: e.ChooseCreate.From, Count: e.ChooseCreate.Count},
			deletes:  peer.Act{Must: e.Delete, From: e.ChooseDelete.From, Count: e.ChooseDelete.Count},
			counters: e.ReplicaSetStat, panics: e.Panic != "",
		}
	default:
		return edsOutcome{}
	}
}

// String lists the outcome in a fixed order, so that equal outcomes have equal strings.
func (o edsOutcome) String() string {
	if o.panics {
		return "panics"
	}
	settled := func(a peer.Act) string {
		if a.Count >= len(a.From) {
			a = peer.Act{Must: slices.Concat(a.Must, a.From)}
		}
		must, from := slices.Sorted(slices.Values(a.Must)), slices.Sorted(slices.Values(a.From))
		if a.Count == 0 {
			from = nil
		}
		return fmt.Sprintf("%v and %d of %v", slices.Compact(must), a.Count, from)
	}
	return fmt.Sprintf("creates %s, deletes %s, %v", settled(o.creates), settled(o.deletes), o.counters)
}

// TestConformanceEDSModel compares the model of the controller with what was recorded. Only a model that is right about the
// controller can show how our rules differ from it.
func TestConformanceEDSModel(t *testing.T) {
	for _, file := range []string{"rolling", "ers-reconcile"} {
		for _, c := range edsLines[edsCase](t, file) {
			got := newEDSModel(newEDSWorld(t, c, edsRoleIn(c, file)), 0).outcome()
			if want := edsRecorded(c, file); got.String() != want.String() {
				t.Errorf("%s %v:\n got %s\nwant %s", c.Name, c.Features, got, want)
			}
		}
	}
}

// TestConformanceEDSFilterModel compares the model's filter with what was recorded, call by call.
func TestConformanceEDSFilterModel(t *testing.T) {
	for _, c := range edsLines[edsCase](t, "filter") {
		m := newEDSModel(newEDSWorld(t, c, edsFilterAlone), 0)
		for i, want := range append([]edsFiltered{c.Expect.edsFiltered}, c.Expect.Later...) {
			if i > 0 {
				m.at = m.now().Add(edsSeconds(c.Input.LaterCallsAtSeconds[i-1]))
			}
			if got, want := edsFilterString(edsFilteredBy(m.filter())), edsFilterString(want); got != want {
				t.Errorf("%s, call %d, %v:\n got %s\nwant %s", c.Name, i, c.Features, got, want)
			}
		}
	}
}

func edsFilteredBy(views []*edsView) edsFiltered {
	f := edsFiltered{PodByNode: make(map[string]*string)}
	for _, v := range views {
		for _, p := range v.goes {
			f.PodsToDelete = append(f.PodsToDelete, p.Name)
		}
		if v.object == nil || v.outcome != placement.Run {
			continue
		}
		f.PodByNode[v.name] = nil
		if len(v.kept) > 0 {
			f.PodByNode[v.name] = &v.kept[0].Name
		}
	}
	return f
}

func edsFilterString(f edsFiltered) string {
	s := ""
	for _, name := range slices.Sorted(maps.Keys(f.PodByNode)) {
		pod := "-"
		if p := f.PodByNode[name]; p != nil {
			pod = *p
		}
		s += name + "=" + pod + " "
	}
	return s + fmt.Sprint("delete ", slices.Sorted(slices.Values(f.PodsToDelete)))
}

// edsRoleIn returns the role of the replica set in a recording of the file.
func edsRoleIn(c *edsCase, file string) edsRole {
	switch {
	case file == "filter":
		return edsFilterAlone
	case file == "ers-reconcile":
		return edsRoleOf(c)
	case len(c.Input.CanaryNodes) > 0:
		return edsStable
	default:
		return edsActive
	}
}
