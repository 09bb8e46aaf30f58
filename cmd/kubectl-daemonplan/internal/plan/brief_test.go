package plan

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/rollout"
)

// TestGrouped: the most frequent kinds come first, and what is left out is counted.
func TestGrouped(t *testing.T) {
	r := &Result{brief: true}
	var rows []row
	for kind := range 6 {
		for i := range 10 - kind {
			rows = append(rows, row{fmt.Sprintf("node-%d-%d", kind, i), fmt.Sprintf("kind %d", kind)})
		}
	}
	rows = append(rows, row{"", "kind 0"})
	var out strings.Builder
	const want = "  11 pods: kind 0 (node-0-0, node-0-1, node-0-2, node-0-3, node-0-4, node-0-5, node-0-6, node-0-7 and 3 more)\n" +
		"  9 pods: kind 1 (node-1-0, node-1-1, node-1-2, node-1-3, node-1-4, node-1-5, node-1-6, node-1-7 and 1 more)\n" +
		"  8 pods: kind 2 (node-2-0, node-2-1, node-2-2, node-2-3, node-2-4, node-2-5, node-2-6, node-2-7)\n" +
		"  7 pods: kind 3 (node-3-0, node-3-1, node-3-2, node-3-3, node-3-4, node-3-5, node-3-6)\n" +
		"  11 pods for 2 other reasons\n"
	if !r.grouped(&out, "pod", rows) || out.String() != want || !r.omits {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
	out.Reset()
	if r.grouped(&out, "pod", rows[:rowsShown]) || (&Result{}).grouped(&out, "pod", rows) || out.Len() > 0 {
		t.Errorf("few rows, or a wide report, are grouped: %s", out.String())
	}
	fleet := &Result{Plan: rollout.Plan{Decisions: make([]rollout.Decision, largeFleet)}}
	if !fleet.isLarge() {
		t.Errorf("a fleet of %d nodes is not large", largeFleet)
	}
	if fleet.Plan.Decisions = fleet.Plan.Decisions[1:]; fleet.isLarge() {
		t.Errorf("a fleet of %d nodes is large", largeFleet-1)
	}
}

// TestCut: a line ends with a whole word.
func TestCut(t *testing.T) {
	line := "5 nodes wait: " + strings.Repeat("ip-10-0-0-1.eu-central-1.compute.internal, ", 9)
	if got := (&Result{brief: true}).cut(line); !strings.HasSuffix(got, ".internal, …") || len(got) > briefColumns+2 {
		t.Errorf("it is cut to %q", got)
	}
	if got := (&Result{}).cut(line); got != line {
		t.Errorf("a wide report has %q", got)
	}
}

// TestSectionsAreGrouped: patches, pulls and pods that wait are grouped like deletes and creates.
func TestSectionsAreGrouped(t *testing.T) {
	r := &Result{brief: true}
	var waits []podWait
	for i := range 20 {
		node := fmt.Sprintf("n-%02d", i)
		r.Plan.Patches = append(r.Plan.Patches, rollout.Patch{Node: node, Pod: "p-" + node, UID: types.UID(node), Reason: rollout.ReasonOutdated})
		r.Plan.Decisions = append(r.Plan.Decisions, rollout.Decision{Node: node, Pod: "p-" + node, Verb: rollout.VerbUpdate})
		pull := rollout.Pull{Revision: "v2"}
		pull.Node, pull.Image = node, "agent:v2"
		r.Plan.Pulls = append(r.Plan.Pulls, pull)
		waits = append(waits, podWait{Node: node, Pod: "p-" + node, Waits: []string{"a container restarts"}})
	}
	var out strings.Builder
	r.reportPatches(&out, func(string, rollout.Reason) string { return "" })
	r.reportPulls(&out)
	r.reportPodWaits(&out, waits)
	const nodes = "(n-00, n-01, n-02, n-03, n-04, n-05, n-06, n-07 and 12 more)\n"
	const want = "Patch 20 pods (20 patches):\n  20 pods: update, Outdated " + nodes +
		"Start 20 pulls:\n  20 nodes: agent:v2, revision v2 " + nodes + "  20 pods: a container restarts " + nodes
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
}
