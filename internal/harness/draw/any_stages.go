package draw

import (
	"maps"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"

	"github.com/daemonplan/daemonplan/internal/harness"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/history"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
	"github.com/daemonplan/daemonplan/rollout/stage"
)

// Rings are the values of [harness.RingLabel]: numbers, of which 9 comes before 10, and a text; and "", which stands for no
// label.
func Rings() []string { return []string{"0", "1", "", "9", "10", "x"} }

// InStages generates cases as the given generator does, and adds what stages are about (T8): stages with approvals, some of them
// of other revisions, some expedited; rings that nodes are in; the marks of completed rollouts; and in memories and marks a
// frontier, also one that does not fit. They are drawn at the end, so that what was drawn before stays what it is without stages.
func InStages(cases *rapid.Generator[harness.Case]) *rapid.Generator[harness.Case] {
	return rapid.Custom(func(t *rapid.T) harness.Case {
		c := cases.Draw(t, "case without stages")
		stages := AnyStages().Draw(t, "stages")
		kit.Stages(stages...)(&c.Spec)
		hash := kit.Hash(c.Spec)
		kit.Approve(AnyApprovals(stages, hash).Draw(t, "approvals")...)(&c.Spec)
		kit.Expedite(pick(t, "expedite", "", "", "", "", "5f46b89dcc", hash, setName+"-"+hash, canary.Any))(&c.Spec)
		for _, n := range c.Snapshot.Nodes {
			if ring := pick(t, "ring", Rings()...); ring != "" {
				kit.Label(harness.RingLabel, ring)(n)
			}
		}
		for _, r := range c.Snapshot.Revisions {
			if r != nil && pick(t, "rolled out", false, false, true) {
				r.Annotations = with(r.Annotations, history.CompletedAnnotation,
					pick(t, "when", "2026-01-01T10:00:00Z", "", "some day"))
			}
		}
		drawFrontier(t, stages, hash, &c.Snapshot)
		return c
	})
}

// with is a copy of the map with one more element.
func with(m map[string]string, key, value string) map[string]string {
	all := maps.Clone(m)
	if all == nil {
		all = map[string]string{}
	}
	all[key] = value
	return all
}

// AnyStages generates one to four valid stages: by ring, by zone, or of all nodes that are left, some of them cut by a label.
func AnyStages() *rapid.Generator[[]stage.Stage] {
	return rapid.Custom(func(t *rapid.T) []stage.Stage {
		stages := make([]stage.Stage, rapid.IntRange(1, 4).Draw(t, "number of stages"))
		for i := range stages {
			s := &stages[i]
			s.Name = letters(i)
			s.Selector = pick(t, "nodes of the stage",
				&metav1.LabelSelector{MatchLabels: map[string]string{harness.RingLabel: "0"}},
				&metav1.LabelSelector{MatchLabels: map[string]string{harness.RingLabel: "1"}},
				&metav1.LabelSelector{MatchLabels: map[string]string{harness.ZoneLabel: "a"}},
				&metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
					{Key: harness.RingLabel, Operator: metav1.LabelSelectorOpExists},
				}},
				&metav1.LabelSelector{}, nil)
			s.Key = pick(t, "key of the stage", "", "", harness.ZoneLabel, harness.RingLabel, "absent")
			s.Soak = pick(t, "soak", 0, 0, time.Second, 10*time.Minute, 24*time.Hour)
			s.Approval = pick(t, "approval", false, false, true)
			if quantity := pick(t, "tolerance", "", "", "0", "1", "34%", "99%"); quantity != "" {
				s.Tolerance = new(intstr.Parse(quantity))
			}
		}
		return stages
	})
}

// AnyApprovals generates approvals of such stages: for the revision of the given hash, by hash or by name, or for another one; of
// all parts of a stage, or of single ones.
func AnyApprovals(stages []stage.Stage, hash string) *rapid.Generator[[]stage.Approval] {
	return rapid.Custom(func(t *rapid.T) []stage.Approval {
		var approvals []stage.Approval
		for _, s := range stages {
			if !s.Approval && !pick(t, "approved though it needs none", false, false, false, true) {
				continue
			}
			for range pick(t, "approvals of the stage", 1, 0, 1, 2) {
				revision := pick(t, "approved revision", hash, hash, setName+"-"+hash, "5f46b89dcc")
				a := stage.Approval{Stage: s.Name, Revision: revision}
				switch s.Key {
				case harness.ZoneLabel:
					a.Value = pick(t, "approved zone", "", "a", "b", "c")
				case harness.RingLabel:
					a.Value = pick(t, "approved ring", Rings()...)
				}
				approvals = append(approvals, a)
			}
		}
		return approvals
	})
}

// drawFrontier draws what a memory says of stages, for most of them what fits: then the memory is of the update revision. Some of
// it is on the update revision as well, or only there.
func drawFrontier(t *rapid.T, stages []stage.Stage, hash string, s *rollout.Snapshot) {
	m := &s.Memory
	if pick(t, "remembers the rollout", false, true, true) {
		m.Version, m.Rollout.Revision = rollout.MemoryVersion, hash
	}
	if m.Version == 0 {
		return
	}
	at := pick[time.Duration](t, "done since", 0, -1, time.Second-1, time.Second, 10*time.Minute, 24*time.Hour, -time.Minute)
	if at == -1 { // before any part is done
		return
	}
	names := []string{"", "gone"}
	for _, s := range stages {
		names = append(names, s.Name, s.Name)
	}
	frontier := stage.Frontier{
		Stage: pick(t, "frontier", names...),
		Value: pick(t, "frontier value", "", "", "a", "b", "0", "9", "10", "x"),
		At:    kit.Noon().Add(-at),
	}
	inMemory := pick(t, "frontier is in the memory", true, true, false)
	if inMemory {
		m.Rollout.Frontier = frontier
	}
	if inMemory && pick(t, "frontier is not marked", true, false) {
		return
	}
	behind := pick[int64](t, "number of the mark", 0, 0, 0, 1)
	for _, revision := range s.Revisions {
		if revision != nil && history.HashOf(revision) == hash {
			mark := frontier.Annotation(revision.Revision - behind)
			revision.Annotations = with(revision.Annotations, history.FrontierAnnotation, mark)
		}
	}
}
