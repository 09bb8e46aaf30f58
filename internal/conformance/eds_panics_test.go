package conformance_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/daemonplan/daemonplan/rollout"
)

// edsPanics lists what we do in each recording in which the controller panics.
var edsPanics = []struct {
	name, why string
	acts      string // in the form of actsOf
	refused   string // the field for which the spec is refused
}{
	{name: "ers-reconcile/0012", why: "pods were created a short time ago, and none ever deleted: there is no such delay",
		acts: "create n02 Missing, create n03 Missing"},
	{name: "ers-reconcile/0029", why: "maxUnavailable is no quantity", refused: "spec.strategy.maxUnavailable"},
	{name: "ers-reconcile/0034", why: "maxUnavailable is no quantity", refused: "spec.strategy.maxUnavailable"},
	{name: "ers-reconcile/0072", why: "no delay; the lost pod comes back at the stable revision",
		acts: "delete p03 Leaving, create n03 Missing at old"},
	{name: "ers-reconcile/0078", why: "no delay; no node matches the selector"},
	{name: "ers-reconcile/0101", why: "a setting requests more than its limit",
		refused: "spec.overrides[0].containers[process-agent]"},
	{name: "ers-reconcile/0109", why: "maxUnavailable is no quantity", refused: "spec.strategy.maxUnavailable"},
	{name: "ers-reconcile/0116", why: "no delay; the pods of the canary get their label",
		acts: "patch p01 CanaryLabel, patch p02 CanaryLabel, delete p00 Surplus, delete p09 Surplus"},
	{name: "ers-reconcile/0131", why: "no delay",
		acts: "delete p01 Leaving, delete p02 Leaving, create n04 Missing, create n05 Missing"},
	{name: "slowstart/0018", why: "maxParallelPodCreation has a default", acts: "126 creates"},
	{name: "slowstart/0050", why: "maxParallelPodCreation has a default; there is no node", acts: "0 creates"},
	{name: "slowstart/0162", why: "maxParallelPodCreation has a default, which is the limit", acts: "250 creates"},
	{name: "slowstart/0001", why: "there is nothing to divide by", refused: edsInterval},
	{name: "slowstart/0012", why: "there is nothing to divide by", refused: edsInterval},
	{name: "slowstart/0048", why: "there is nothing to divide by", refused: edsInterval},
	{name: "slowstart/0065", why: "there is nothing to divide by", refused: edsInterval},
	{name: "slowstart/0127", why: "there is nothing to divide by", refused: edsInterval},
	{name: "slowstart/0182", why: "there is nothing to divide by", refused: edsInterval},
	{name: "slowstart/0249", why: "there is nothing to divide by", refused: edsInterval},
}

const edsInterval = "spec.strategy.rollingUpdate.slowStartIntervalDuration"

// TestConformanceEDSPanics has a row for each recorded panic. No input makes our planner panic: the spec is refused, or there is
// a plan. For recordings from elsewhere, whose cases may have the same names, only that is asserted.
func TestConformanceEDSPanics(t *testing.T) {
	recorded := make(map[string]func(*testing.T) (acts, refused string))
	for _, c := range edsLines[edsCase](t, "ers-reconcile") {
		if c.Expect.Panic != "" {
			recorded[c.Name] = func(t *testing.T) (string, string) {
				calls, refused := edsCalls(t, "ers-reconcile", c)
				if refused != "" {
					return "", refused
				}
				return actsOf(calls[0].plan), ""
			}
		}
	}
	for _, c := range edsLines[edsSlowStart](t, "slowstart") {
		if c.Expect.Panic != "" {
			recorded[c.Name] = func(t *testing.T) (string, string) {
				if err := json.Unmarshal(c.Input.RollingUpdate, &c.rolling); err != nil {
					t.Fatal(err)
				}
				set := c.set()
				spec, err := edsSpec(set, nil)
				if path := edsRefused(&set); path != "" {
					assertEDSRefused(t, c.Name, err, path)
					return "", path
				}
				if why := c.impossible(); why != "" {
					t.Skip("no cluster shows this: " + why)
				}
				return fmt.Sprintf("%d creates", len(c.plan(t, spec).Creates)), ""
			}
		}
	}
	if edsElsewhere() {
		for name, of := range recorded {
			t.Run(strings.ReplaceAll(name, "/", " "), func(t *testing.T) { of(t) })
		}
		return
	}
	rows := map[string]bool{}
	for _, want := range edsPanics {
		if want.why == "" || rows[want.name] {
			t.Errorf("%q: a row needs a name of its own and a reason", want.name)
		}
		rows[want.name] = true
		t.Run(strings.ReplaceAll(want.name, "/", " "), func(t *testing.T) {
			of := recorded[want.name]
			if of == nil {
				t.Fatal("no such recorded panic")
			}
			if acts, refused := of(t); acts != want.acts || refused != want.refused {
				t.Errorf("%s:\n got %q, refused for %q\nwant %q, refused for %q", want.why, acts, refused, want.acts,
					want.refused)
			}
		})
	}
	for name := range recorded {
		if !rows[name] {
			t.Errorf("no row for the panic of %s", name)
		}
	}
}

// actsOf lists the pods that are patched and deleted, and the nodes that get pods.
func actsOf(plan rollout.Plan) string {
	var list []string
	for _, a := range plan.Patches {
		list = append(list, fmt.Sprintf("patch %s %s", a.Pod, a.Reason))
	}
	for _, a := range plan.Deletes {
		list = append(list, fmt.Sprintf("delete %s %s", a.Pod, a.Reason))
	}
	for _, a := range plan.Creates {
		act := fmt.Sprintf("create %s %s", a.Node, a.Reason)
		if a.Template != nil {
			act += " at old"
		}
		list = append(list, act)
	}
	return strings.Join(list, ", ")
}
