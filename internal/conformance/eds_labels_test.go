package conformance_test

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout"
)

// edsReplicaName is the label with the name of the replica set that a pod belongs to.
const edsReplicaName = "extendeddaemonsetreplicaset.datadoghq.com/name"

var edsLabelEntry = edsEntry{"label-follows-the-canary", "T6",
	"the controller takes labels off for five minutes only, by the name of the replica set, and labels pods that go"}

// relabelled lists the pods that get or lose the canary label in the call.
func (m *edsModel) relabelled() (pods []string) {
	if m.delayed("LastFullSync") || m.undefaulted() || m.unreadable() && m.role != edsOnTrial {
		return nil
	}
	named := func(p *corev1.Pod) bool { return p.Labels[edsReplicaName] == m.Input.Replica.Name }
	switch m.role {
	case edsOnTrial:
		for _, v := range m.filter() {
			if v.canary && v.outcome == placement.Run && len(v.kept) > 0 && named(v.kept[0]) && !edsLabelled(v.kept[0]) {
				pods = append(pods, v.kept[0].Name)
			}
		}
	case edsActive, edsStable:
		for _, n := range m.nodes {
			for _, p := range n.pods {
				if named(p) && edsLabelled(p) && m.elapsed() < 5*time.Minute {
					pods = append(pods, p.Name)
				}
			}
		}
	}
	return pods
}

func edsLabelled(p *corev1.Pod) bool { return p.Labels[rollout.CanaryLabel] == "true" }

// relabelled lists the pods whose label the plan corrects. Pods on trial must have the label, and others must not. Pods that are
// deleted do not count.
func (s edsSight) relabelled() (pods []string) {
	for _, n := range s.world.nodes {
		for _, p := range n.pods {
			tried := slices.Contains(s.plan.Canary.Nodes, n.name) && s.hash[p.Name] == s.plan.Canary.Revision
			goes := marked(p) || lifecycle.Terminal(p) || s.deleted(p.Name) != rollout.ReasonNone || n.object == nil
			if tried != edsLabelled(p) && !goes && !s.frozen() {
				pods = append(pods, p.Name)
			}
		}
	}
	return pods
}

// TestConformanceEDSCanaryLabels compares which pods get the canary label, and which lose it.
func TestConformanceEDSCanaryLabels(t *testing.T) {
	agree, explained, changed := 0, 0, 0
	for _, file := range []string{"rolling", "ers-reconcile"} {
		for _, c := range edsLines[edsCase](t, file) {
			theirs := slices.Sorted(slices.Values(slices.Concat(c.Expect.LabelChanged, c.Expect.LabelRemoved)))
			m := newEDSModel(newEDSWorld(t, c, edsRoleIn(c, file)), 0)
			if got := slices.Sorted(slices.Values(m.relabelled())); !slices.Equal(got, theirs) {
				t.Errorf("%s: the model relabels %v, the controller %v", c.Name, got, theirs)
			}
			calls, _ := edsCalls(t, file, c)
			for _, call := range calls {
				var ours []string
				for _, p := range call.plan.Patches {
					if p.Reason == rollout.ReasonCanaryLabel {
						ours = append(ours, p.Pod)
					}
				}
				slices.Sort(ours)
				right := slices.Sorted(slices.Values(newEDSSight(call).relabelled()))
				changed += len(ours)
				switch {
				case !slices.Equal(ours, right):
					t.Errorf("%s: unexplained: the plan relabels %v, right is %v, the controller does %v", c.Name, ours,
						right, theirs)
				case slices.Equal(ours, theirs):
					agree++
				default:
					explained++
				}
			}
		}
	}
	t.Logf("%d agree, %d explained by %s (%s): %s", agree, explained, edsLabelEntry.id, edsLabelEntry.rule, edsLabelEntry.why)
	if (changed == 0 || explained == 0) && !edsElsewhere() {
		t.Errorf("%d labels are changed, %d cases need %s", changed, explained, edsLabelEntry.id)
	}
}
