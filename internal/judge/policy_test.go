package judge_test

import (
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/daemonplan/daemonplan/internal/judge"
	"github.com/daemonplan/daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/domain"
	"github.com/daemonplan/daemonplan/rollout/outage"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
)

func ago(d time.Duration) time.Time { return rollouttest.Noon().Add(-d) }

// scene is an update that a policy is about.
type scene struct {
	old, update rollout.Spec
	nodes       []*corev1.Node
	pods        []*corev1.Pod
	inFlight    rollout.InFlight
}

// newScene is an update of a set with these options.
func newScene(options ...rollouttest.SpecOption) *scene {
	old := rollouttest.Spec("agent", append([]rollouttest.SpecOption{rollouttest.Image("agent:v1")}, options...)...)
	return &scene{old: old, update: rollouttest.Changed(old, rollouttest.Image("agent:v2"))}
}

// add adds a node with its pods, each named after the node.
func (s *scene) add(node *corev1.Node, spec *rollout.Spec, options ...rollouttest.PodOption) {
	s.nodes = append(s.nodes, node)
	if spec != nil {
		options = append([]rollouttest.PodOption{rollouttest.Of(*spec), rollouttest.OnNode(node.Name)}, options...)
		s.pods = append(s.pods, rollouttest.Pod(node.Name, options...))
	}
}

func (s *scene) pod(name string) *corev1.Pod {
	return s.pods[slices.IndexFunc(s.pods, func(p *corev1.Pod) bool { return p.Name == name })]
}

// found are the rules that the judge finds broken by what a controller does after it has looked at the scene.
func (s *scene) found(do func(*judge.Judge)) []judge.Rule {
	revisions := []*appsv1.ControllerRevision{rollouttest.Revision(s.old, 1), rollouttest.Revision(s.update, 2)}
	j := judge.New(rollouttest.Noon(), judge.Cluster{Nodes: s.nodes, Pods: s.pods, Revisions: revisions})
	j.Look(s.update, rollout.Snapshot{
		Now: rollouttest.Noon(), Nodes: s.nodes, Pods: s.pods, Revisions: revisions, InFlight: s.inFlight,
	})
	do(j)
	var rules []judge.Rule
	for _, f := range j.Findings() {
		rules = append(rules, f.Rule)
	}
	return rules
}

// TestDepartingNodesAreLeftAlone: what was begun on a departing node may end or be taken back, and nothing else happens (M8).
func TestDepartingNodesAreLeftAlone(t *testing.T) {
	maintained := objects.NodeCondition("MaintenanceInProgress", corev1.ConditionTrue, ago(time.Minute))
	patched := func(from, to lifecycle.State) func(*scene, *judge.Judge) {
		return func(s *scene, j *judge.Judge) {
			before, after := s.pod("a").DeepCopy(), s.pod("a").DeepCopy()
			objects.InState(from)(before)
			objects.InState(to)(after)
			j.Patched(before, after)
		}
	}
	deleted := func(s *scene, j *judge.Judge) { j.Deleted(s.pod("a")) }
	tests := []struct {
		name, why string
		node      func(*corev1.Node)
		policy    rollout.Policy
		onDelete  bool
		empty     bool
		do        func(*scene, *judge.Judge)
		found     bool
	}{
		{name: "deleted", why: "M8", do: deleted, found: true},
		{
			name: "created", why: "M8", empty: true, found: true,
			do: func(s *scene, j *judge.Judge) {
				j.Created(rollouttest.Pod("x", rollouttest.Of(s.update), rollouttest.OnNode("a"), rollouttest.Pending()))
			},
		},
		{
			name: "a hook asked", why: "the update begins with it", found: true,
			do: patched(lifecycle.Normal, lifecycle.PreparingDelete),
		},
		{
			name: "made unready", why: "so does an update in place", found: true,
			do: func(s *scene, j *judge.Judge) {
				after := s.pod("a").DeepCopy()
				objects.Updating()(after)
				j.Patched(s.pod("a"), after)
			},
		},
		{name: "taken back", why: "as in a frozen set (T4)", do: patched(lifecycle.PreparingDelete, lifecycle.Normal)},
		{name: "finished", why: "no pod is to stay unready", do: patched(lifecycle.Updating, lifecycle.Updated)},
		{
			name: "touched", why: "the policy lets it be", do: deleted,
			policy: rollout.Policy{Outages: &outage.Options{Touch: true}},
		},
		{name: "no policy", why: "then nobody departs", policy: rollout.Policy{Domains: oneRack()}, do: deleted},
		{name: "OnDelete", why: "it uses no policy", onDelete: true, do: deleted},
		{name: "not any more", why: "the condition is False", do: deleted,
			node: objects.NodeCondition("MaintenanceInProgress", corev1.ConditionFalse, ago(time.Minute))},
		{name: "a sign of nobody", why: "the policy does not name it", do: deleted,
			node: rollouttest.Taint("retiring", "", corev1.TaintEffectPreferNoSchedule)},
		{
			name: "a sign of its own", why: "the policy names it", do: deleted, found: true,
			node:   rollouttest.Taint("retiring", "", corev1.TaintEffectPreferNoSchedule),
			policy: rollout.Policy{Outages: &outage.Options{Taints: []string{"retiring"}}},
		},
		{name: "the autoscaler's", why: "M8", do: deleted, found: true,
			node: rollouttest.Taint("ToBeDeletedByClusterAutoscaler", "", corev1.TaintEffectPreferNoSchedule)},
		{name: "not ready alone", why: "network plugins must start there", do: deleted,
			node: objects.NodeCondition(corev1.NodeReady, corev1.ConditionFalse, ago(time.Minute))},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if test.why == "" {
				t.Error("no why")
			}
			s := newScene(rollouttest.InPlaceIfPossible())
			if test.node == nil {
				test.node = maintained
			}
			if test.policy.Outages == nil && test.policy.Domains == nil {
				test.policy.Outages = &outage.Options{}
			}
			s.update.Strategy.Policy = test.policy
			if test.onDelete {
				rollouttest.OnDelete()(&s.update)
			}
			spec := &s.old
			if test.empty {
				spec = nil
			}
			s.add(rollouttest.Node("a", test.node), spec)
			rules := s.found(func(j *judge.Judge) { test.do(s, j) })
			if slices.Contains(rules, judge.Departing) != test.found {
				t.Errorf("found %v", rules)
			}
		})
	}
}

func oneRack() []domain.Domain { return []domain.Domain{{Key: "rack", Max: new(intstr.FromInt32(1))}} }

// TestOutagesNeedEvidence: node a is out, and node b is updated although one node may be down: right if a may be left out (B9).
func TestOutagesNeedEvidence(t *testing.T) {
	down := func(since time.Duration) func(*corev1.Node) {
		return objects.NodeCondition(corev1.NodeReady, corev1.ConditionFalse, ago(since))
	}
	const long = 30 * time.Minute
	tests := []struct {
		name, why string
		options   *outage.Options
		node      func(*corev1.Node)
		isNew     bool
		pod       []rollouttest.PodOption
		asked     bool // the deletion of the pod is in flight
		excused   bool
	}{
		{name: "not begun", why: "there is no b", node: down(long), excused: true},
		{
			name: "not begun, out since nobody knows when", why: "there is no b", excused: true,
			node: func(n *corev1.Node) { n.Status.Conditions = nil },
		},
		{name: "up", why: "it is not out"},
		{
			name: "none may be left out", why: "maxExempt is 0", node: down(long),
			options: &outage.Options{MaxExempt: new(intstr.FromInt32(0))},
		},
		{
			name: "begun before", why: "b is before t", node: down(long), isNew: true,
			pod: []rollouttest.PodOption{rollouttest.Created(ago(long + time.Second))},
		},
		{
			name: "begun at once", why: "a tie is no evidence", node: down(long), isNew: true,
			pod: []rollouttest.PodOption{rollouttest.Created(ago(long))},
		},
		{
			name: "begun after", why: "t is before b", node: down(long), isNew: true, excused: true,
			pod: []rollouttest.PodOption{rollouttest.Created(ago(long - time.Second))},
		},
		{
			name: "started", why: "a kubelet has started the pod", node: down(long), isNew: true,
			pod: []rollouttest.PodOption{rollouttest.Created(ago(time.Minute)), objects.StartedAt(ago(time.Minute))},
		},
		{
			name: "proven", why: "it ran for ProvenAfter", node: down(long), isNew: true, excused: true,
			options: &outage.Options{MaxExempt: new(intstr.FromInt32(1)), ProvenAfter: time.Minute},
			pod:     []rollouttest.PodOption{objects.RunningSince(ago(long + time.Minute))},
		},
		{
			name: "not proven", why: "it ran for less", node: down(long), isNew: true,
			options: &outage.Options{MaxExempt: new(intstr.FromInt32(1)), ProvenAfter: time.Minute},
			pod:     []rollouttest.PodOption{objects.RunningSince(ago(long + time.Second))},
		},
		{
			name: "proven, and in a hook", why: "its handlers may have taken the node down", node: down(long), isNew: true,
			options: &outage.Options{MaxExempt: new(intstr.FromInt32(1)), ProvenAfter: time.Minute},
			pod: []rollouttest.PodOption{
				objects.RunningSince(ago(long + time.Minute)), objects.InState(lifecycle.PreparingNormal),
			},
		},
		{
			name: "a hook asked before", why: "its handlers may have taken the node down", node: down(long),
			pod: []rollouttest.PodOption{objects.InState(lifecycle.PreparingDelete), asked(long + time.Minute)},
		},
		{
			name: "a hook asked after", why: "t is before b", node: down(long), excused: true,
			pod: []rollouttest.PodOption{objects.InState(lifecycle.PreparingDelete), asked(time.Minute)},
		},
		{
			name: "going since before", why: "b is before t, although the grace period ends after it", node: down(long),
			pod: []rollouttest.PodOption{rollouttest.Terminating(ago(long + 10*time.Second))},
		},
		{
			name: "going since after", why: "t is before b", node: down(long), excused: true,
			pod: []rollouttest.PodOption{rollouttest.Terminating(ago(long - 10*time.Second))},
		},
		{name: "to go", why: "its deletion is in flight: b is now", node: down(long), asked: true, excused: true},
		{name: "to go, down since now", why: "a tie", node: down(0), asked: true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if test.why == "" {
				t.Error("no why")
			}
			s := newScene(rollouttest.MaxUnavailable("1"), rollouttest.MaxExempt("1"))
			if test.options != nil {
				s.update.Strategy.Policy.Outages = test.options
			}
			if test.node == nil {
				test.node = func(*corev1.Node) {}
			}
			of := &s.old
			if test.isNew {
				of = &s.update
			}
			s.add(rollouttest.Node("a", test.node), of, append([]rollouttest.PodOption{rollouttest.Unready()}, test.pod...)...)
			s.add(rollouttest.Node("b"), &s.old)
			if test.asked {
				s.inFlight.Deletes = append(s.inFlight.Deletes, s.pod("a").UID)
			}
			rules := s.found(func(j *judge.Judge) { j.Deleted(s.pod("b")) })
			if slices.Contains(rules, judge.Budget) == test.excused {
				t.Errorf("found %v", rules)
			}
		})
	}
}

func asked(since time.Duration) rollouttest.PodOption {
	return rollouttest.PodAnnotation(lifecycle.TimestampAnnotation, ago(since).Format(time.RFC3339))
}

// TestDomains: nodes that are disturbed in one turn, by name, beside a node that is down by itself (B10).
func TestDomains(t *testing.T) {
	rack := func(value string) rollouttest.NodeOption { return rollouttest.Label("rack", value) }
	quantity := func(text string) *intstr.IntOrString { return new(intstr.Parse(text)) }
	tests := []struct {
		name, why string
		domain    domain.Domain
		down      []string // nodes that are down, or with surge hold a place, by themselves
		gone      []string
		found     bool
	}{
		{
			name: "one of each", why: "racks are bounded one by one",
			domain: domain.Domain{Key: "rack", Max: quantity("1")}, gone: []string{"a1", "b1"},
		},
		{
			name: "two of one", why: "B10",
			domain: domain.Domain{Key: "rack", Max: quantity("1")}, gone: []string{"a1", "a2"}, found: true,
		},
		{
			name: "beside one that is down", why: "it counts",
			domain: domain.Domain{Key: "rack", Max: quantity("1")}, down: []string{"a2"}, gone: []string{"a1"}, found: true,
		},
		{
			name: "the one that is down", why: "it needs no room",
			domain: domain.Domain{Key: "rack", Max: quantity("1")}, down: []string{"a2"}, gone: []string{"a2"},
		},
		{
			name: "half of three", why: "percentages round up",
			domain: domain.Domain{Key: "rack", Max: quantity("50%")}, gone: []string{"a1", "a2"},
		},
		{
			name: "a third of three", why: "of the nodes of the value",
			domain: domain.Domain{Key: "rack", Max: quantity("33%")}, gone: []string{"a1", "a2"}, found: true,
		},
		{
			name: "without the label", why: "the value is empty",
			domain: domain.Domain{Key: "rack", Max: quantity("1")}, gone: []string{"n1", "n2"}, found: true,
		},
		{
			name: "without a key", why: "one domain",
			domain: domain.Domain{Max: quantity("1")}, gone: []string{"a1", "b1"}, found: true,
		},
		{
			name: "selected", why: "others are not bounded", gone: []string{"b1", "b2", "a1"},
			domain: domain.Domain{
				Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"rack": "a"}}, Max: quantity("1"),
			},
		},
		{
			name: "one rack at once", why: "it has two nodes",
			domain: domain.Domain{Key: "rack", AtOnce: 1}, gone: []string{"a1", "a2"},
		},
		{
			name: "two racks", why: "B10",
			domain: domain.Domain{Key: "rack", AtOnce: 1}, gone: []string{"a1", "b1"}, found: true,
		},
		{
			name: "two racks of two", why: "B10",
			domain: domain.Domain{Key: "rack", AtOnce: 2}, gone: []string{"a1", "b1"},
		},
		{
			name: "another rack is disturbed", why: "its node counts",
			domain: domain.Domain{Key: "rack", AtOnce: 1}, down: []string{"a1"}, gone: []string{"b1"}, found: true,
		},
		{
			name: "the rack is disturbed", why: "its value is among them",
			domain: domain.Domain{Key: "rack", AtOnce: 1}, down: []string{"a1"}, gone: []string{"a2"},
		},
		{
			name: "more racks are disturbed than may be", why: "its value is among them",
			domain: domain.Domain{Key: "rack", AtOnce: 1}, down: []string{"a1", "b1"}, gone: []string{"a2"},
		},
		{
			name: "more racks are disturbed than may be, and one more", why: "its value is not",
			domain: domain.Domain{Key: "rack", AtOnce: 1}, down: []string{"a1", "b1"}, gone: []string{"n1"}, found: true,
		},
		{
			name: "not selected", why: "the domain is not its own",
			domain: domain.Domain{
				Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"rack": "a"}}, Max: quantity("1"),
			},
			down: []string{"a1", "a2"}, gone: []string{"b1"},
		},
	}
	for _, surge := range []bool{false, true} {
		for _, test := range tests {
			t.Run(test.name+map[bool]string{true: ", with surge"}[surge], func(t *testing.T) {
				if test.why == "" {
					t.Error("no why")
				}
				limit := rollouttest.MaxUnavailable("100%")
				if surge {
					limit = rollouttest.MaxSurge("100%")
				}
				s := newScene(limit, rollouttest.Domains(test.domain))
				for _, name := range []string{"a1", "a2", "a3", "b1", "b2", "n1", "n2"} {
					node := rollouttest.Node(name)
					if name[0] != 'n' {
						rack(name[:1])(node)
					}
					var options []rollouttest.PodOption
					down := slices.Contains(test.down, name)
					if down && !surge {
						options = append(options, rollouttest.Unready())
					}
					s.add(node, &s.old, options...)
					if down && surge {
						s.pods = append(s.pods,
							rollouttest.Pod("beside-"+name, rollouttest.Of(s.update), rollouttest.OnNode(name), rollouttest.Unready()))
					}
				}
				rules := s.found(func(j *judge.Judge) {
					for _, name := range test.gone {
						if surge {
							j.Created(rollouttest.Pod("new-"+name, rollouttest.Of(s.update), rollouttest.OnNode(name),
								rollouttest.Pending()))
							continue
						}
						j.Deleted(s.pod(name))
					}
				})
				if slices.Contains(rules, judge.Domain) != test.found {
					t.Errorf("found %v", rules)
				}
			})
		}
	}
}
