package simulation

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/daemonplan/daemonplan/rollout/domain"
	"github.com/daemonplan/daemonplan/rollout/simulate"
)

const (
	rackedFleet = "pools:\n" +
		"- {name: one, nodes: 4, zones: [a], labels: {rack: r1}}\n" +
		"- {name: two, nodes: 4, zones: [b], labels: {rack: r2}}\n" +
		"- {name: two-a, nodes: 2, labels: {rack: r2}}\n" +
		"- {name: wild, nodes: 2, zones: [b]}\n"
	policy = "\n  annotations: {daemonplan.io/policy: \"domains: [{key: rack, max: 1}," +
		" {key: topology.kubernetes.io/zone, max: 2, atOnce: 1}, {selector: {matchLabels: {rack: r2}}, max: 1}," +
		" {selector: {matchLabels: {rack: r1}}, key: rack, max: 4}]\"}\n"
)

// The comparison shows for each domain of a policy what all specs do in it, those without a policy, too.
func TestDomainsInComparison(t *testing.T) {
	fleet := write(t, "fleet.yaml", rackedFleet)
	manifest := string(opened(t, newManifest).Text)
	manifest = strings.Replace(manifest, "25%", "6", 1)
	plain := write(t, "plain.yaml", manifest)
	bounded := write(t, "bounded.yaml", strings.Replace(manifest, "metadata: {name: agent, namespace: monitoring}\n",
		"metadata:\n  name: agent\n  namespace: monitoring"+policy, 1))
	out := answer(t, "simulate", "--controller", "daemonplan", "--fleet", fleet, "--from", oldManifest, "--world", worldFileIn, "--spec", "plain="+plain,
		"--spec", "bounded="+bounded)
	var got [][]string
	for line := range strings.Lines(out) {
		if strings.HasPrefix(line, "  ") && !strings.HasPrefix(line, "   ") && !strings.Contains(line, "most in one zone") {
			cells := slices.DeleteFunc(strings.Split(line, "  "), func(cell string) bool { return strings.TrimSpace(cell) == "" })
			for i := range cells {
				cells[i] = strings.TrimSpace(cells[i])
			}
			got = append(got, cells)
		}
	}
	// By descending name, the pools wild and two-a and two nodes of pool two come first. When one is done, the next follows.
	want := [][]string{
		{"most in one rack", "5 of 6 nodes in r2", "1 of 2 nodes without the label"},
		{"topology.kubernetes.io/zone at once", "3 values", "1 value"},
		{"most of rack=r2", "5 of 6 nodes", "1 of 6 nodes"},
		{"most in one rack of rack=r1", "4 of 4 nodes in r1", "1 of 4 nodes in r1"},
	}
	if !slices.EqualFunc(got, want, slices.Equal[[]string]) {
		t.Errorf("%q, want %q\n%s", got, want, out)
	}
}

// Six racks are down anyway, and the rollout goes through the others one at a time: that is one at once, and not seven.
func TestWhatIsDownAnywayIsNotDisturbed(t *testing.T) {
	var pools, events strings.Builder
	for i := range 8 {
		fmt.Fprintf(&pools, "- {name: rack-%d, nodes: 2, labels: {rack: r%d}}\n", i, i)
		if i < 6 {
			fmt.Fprintf(&events, "- {what: NodeNotReady, node: rack-%d-00000}\n", i)
		}
	}
	set := write(t, "racks.yaml", strings.Replace(string(opened(t, newManifest).Text), "metadata: {name: agent, namespace: monitoring}\n",
		"metadata:\n  name: agent\n  namespace: monitoring\n  annotations: {daemonplan.io/policy: "+
			"\"{domains: [{key: rack, atOnce: 1}], outages: {maxExempt: 100%}}\"}\n", 1))
	out := answer(t, "simulate", "--controller", "daemonplan", "--fleet", write(t, "fleet.yaml", "pools:\n"+pools.String()), "--from", oldManifest,
		"--world", write(t, "world.yaml", "events:\n"+events.String()), "--spec", set)
	if !regexp.MustCompile(`(?m)^  rack at once +1 value$`).MatchString(out) {
		t.Errorf("the comparison does not say that one rack was disturbed at once:\n%s", out)
	}
}

// What is counted as nodes change agrees with a count of all nodes after each instant, when nodes join, leave, are not to run
// the pod, and change their labels.
func TestPlacesAgreeWithNaive(t *testing.T) {
	world := write(t, "world.yaml", `
model: {schedule: 1s, kubelets: [{ready: 5s..30s, stop: 2s..20s}]}
events:
- {at: 5s, every: 7s..20s, until: 5m, what: LabelNode, count: 2, labels: {rack: r1}, for: 20s..40s}
- {at: 9s, every: 7s..20s, until: 5m, what: LabelNode, labels: {rack: ""}}
- {at: 11s, every: 20s..40s, until: 5m, what: NodeNotReady, count: 3, for: 10s..60s}
- {at: 13s, every: 20s..40s, until: 5m, what: RemoveNode}
- {at: 15s, every: 20s..40s, until: 5m, what: TaintNode, taint: {key: other, effect: NoExecute}, for: 20s..60s}
- {at: 17s, every: 30s..50s, until: 5m, what: AddNodes, join: {name: two, nodes: 2, labels: {rack: r3}}}
`)
	e := loaded(t, func(q *question) {
		q.Fleet, q.From, q.Specs, q.World = write(t, "fleet.yaml", rackedFleet), oldManifest, []string{newManifest}, world
	})
	most := new(intstr.FromInt32(1))
	list := []bounded{
		{Domain: domain.Domain{Key: "rack", Max: most}},
		{Domain: domain.Domain{Key: "rack", Max: most, Selector: &metav1.LabelSelector{
			MatchExpressions: []metav1.LabelSelectorRequirement{
				{Key: "rack", Operator: metav1.LabelSelectorOpIn, Values: []string{"r2", "r3"}},
			},
		}}},
		{Domain: domain.Domain{Max: most, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"rack": "r1"}}}},
	}
	values := []func(labels map[string]string) (string, bool){
		func(labels map[string]string) (string, bool) { return labels["rack"], true },
		func(labels map[string]string) (string, bool) {
			return labels["rack"], labels["rack"] == "r2" || labels["rack"] == "r3"
		},
		func(labels map[string]string) (string, bool) { return "", labels["rack"] == "r1" },
	}
	for seed := range uint64(20) {
		type naive struct{ worst, places int }
		peaks := make([]naive, len(list))
		kept := newTrace(false, list...)
		scenario := e.scenario(e.Candidates[0], seed)
		scenario.History = kept.add
		s, err := simulate.New(scenario)
		if err != nil {
			t.Fatal(err)
		}
		served := make([]map[string]bool, len(list)) // whether a node of the domain has, since it was seen there first
		look := func(s *simulate.Simulation) {
			kept.look(s)
			for i, value := range values {
				down, disturbed, seen := map[string]int{}, map[string]bool{}, map[string]bool{}
				for _, node := range s.Nodes() {
					v, counts := value(node.Labels)
					if !counts {
						continue
					}
					state := s.NodeState(node.Name)
					lacks := state > simulate.NodeOutside && !state.Serving()
					ever, known := served[i][node.Name]
					if seen[node.Name] = known && ever || !lacks; lacks {
						down[v]++
						disturbed[v] = disturbed[v] || seen[node.Name] && state != simulate.NodeLost
					}
				}
				served[i] = seen
				if len(down) > 0 {
					peaks[i].worst = max(peaks[i].worst, slices.Max(slices.Collect(maps.Values(down))))
				}
				places := 0
				for _, by := range disturbed {
					places += one(by)
				}
				peaks[i].places = max(peaks[i].places, places)
				if got := (naive{kept.Places[i].Worst.Unavailable, kept.Places[i].Most}); got != peaks[i] {
					t.Fatalf("seed %d at %v: domain %d had %+v, want %+v", seed, s.Elapsed(), i, got, peaks[i])
				}
			}
		}
		s.Watch(func(s *simulate.Simulation) error { look(s); return nil })
		if _, err := s.Run(func(s *simulate.Simulation, _ *simulate.Step) bool { look(s); return false }); err != nil {
			t.Fatal(err)
		}
	}
}
