package harness_test

import (
	"fmt"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/internal/harness"
	"github.com/daemonplan/daemonplan/internal/kubelet"
	"github.com/daemonplan/daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/outage"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// An older spec and the one in force, with the same options.
func generations(options ...rollouttest.SpecOption) (old, spec rollout.Spec) {
	return rollouttest.Spec("agent", options...), rollouttest.Spec("agent", append(slices.Clone(options), rollouttest.Image("agent:v2"))...)
}

// fleetOf has one node for each letter of the word, of the name of its position: "o" with an old pod, "u" with an updated
// one, "-" with none; capital ones are on nodes with the label canary=yes.
func fleetOf(word string, options ...rollouttest.SpecOption) harness.Case {
	old, spec := generations(options...)
	s := harness.Case{Spec: spec, Snapshot: rollout.Snapshot{
		Now:       rollouttest.Noon(),
		Revisions: []*appsv1.ControllerRevision{rollouttest.Revision(old, 1), rollouttest.Revision(spec, 2)},
	}}
	for i, letter := range word {
		name := string(rune('a' + i))
		node := rollouttest.Node(name)
		if letter == 'O' || letter == 'U' {
			rollouttest.Label("canary", "yes")(node)
		}
		s.Snapshot.Nodes = append(s.Snapshot.Nodes, node)
		of := old
		switch letter {
		case '-':
			continue
		case 'u', 'U':
			of = spec
		}
		s.Snapshot.Pods = append(s.Snapshot.Pods, rollouttest.Pod("agent-"+name, rollouttest.OnNode(name), rollouttest.Of(of)))
	}
	return s
}

func TestCheckLiveKnowsWhatIsHeld(t *testing.T) {
	inPlace, only := rollouttest.InPlaceIfPossible(), rollouttest.InPlaceOnly()
	partition := rollouttest.Partition
	selected := rollouttest.StrategyNodeSelector("canary", "yes")
	// pod applies options to the pod of node a.
	pod := func(options ...rollouttest.PodOption) func(*harness.Case) {
		return func(s *harness.Case) {
			for _, option := range options {
				option(s.Snapshot.Pods[0])
			}
		}
	}
	unreadable := rollouttest.PodAnnotation(inplace.StateKey, "{")
	closed := objects.Condition(lifecycle.InPlaceUpdateReady, corev1.ConditionFalse, rollouttest.Noon())
	drained := func(s *harness.Case) {
		objects.NodeCondition(corev1.NodeDrained, corev1.ConditionTrue, rollouttest.Noon())(s.Snapshot.Nodes[0])
	}
	ownUsers := func(s *rollout.Spec) { s.Template.Spec.HostNetwork, s.Template.Spec.HostUsers = true, new(false) }
	ownNetwork := func(s *rollout.Spec) { s.Template.Spec.HostNetwork = false }
	declaring := func(s *harness.Case) {
		rollouttest.Kubelet("v1.37.2", "UserNamespacesHostNetworkSupport")(s.Snapshot.Nodes[0])
	}
	tests := []struct {
		name, why string
		fleet     harness.Case
		change    func(*harness.Case)
		want      string
	}{
		{"partition", "one is held", fleetOf("ou", partition("1")), nil, ""},
		{"partition of another node", "nodes that are updated already take no place", fleetOf("uo", partition("1")), nil, ""},
		{"beyond the partition", "the second by name is not held", fleetOf("oo", partition("1")), nil, "node b has pod agent-b, which is outdated"},
		{"partition in percent", "half of three is one", fleetOf("oou", partition("50%")), nil, "node b has pod agent-b, which is outdated"},
		{"partition that is too large", "it holds what there is", fleetOf("oo", partition("9")), nil, ""},
		{"drained", "nothing is begun there", fleetOf("o", rollouttest.Outages(outage.Options{})), drained, ""},
		{
			"drained, and to be touched", "the policy says so", fleetOf("o", rollouttest.Outages(outage.Options{Touch: true})), drained,
			"node a has pod agent-a, which is outdated",
		},
		{"drained, no policy", "nobody asks", fleetOf("o"), drained, "node a has pod agent-a, which is outdated"},
		{"own users", "no new pod could run there", fleetOf("o", ownUsers), nil, ""},
		{"own users, declared", "the new pod can run there", fleetOf("o", ownUsers), declaring, "node a has pod agent-a, which is outdated"},
		{"own users, own network", "nothing has to be declared", fleetOf("o", ownUsers, ownNetwork), nil, "node a has pod agent-a, which is outdated"},
		{"selector", "what does not match is held", fleetOf("oU", selected), nil, ""},
		{"selector that matches", "what matches is not", fleetOf("Ou", selected), nil, "node a has pod agent-a, which is outdated"},
		{
			"partition outside the selector", "nodes that are held anyway take the places first", fleetOf("Oo", selected, partition("1")), nil,
			"node a has pod agent-a, which is outdated",
		},
		{"partition beyond the selector", "then the others", fleetOf("Oo", selected, partition("2")), nil, ""},
		{
			"partition on keep nodes", "they take the places first of all", fleetOf("oo", partition("1")), func(s *harness.Case) {
				rollouttest.Cordoned()(s.Snapshot.Nodes[1]) // tolerated: no keep node yet
				rollouttest.Taint("k", "v", corev1.TaintEffectNoSchedule)(s.Snapshot.Nodes[1])
			}, "node a has pod agent-a, which is outdated",
		},
		{"lost on a held node", "what is lost does not take a place", fleetOf("-o", partition("1")), nil, "node a has 0 pods"},
		{"InPlaceOnly", "it could be updated in place", fleetOf("o", only), nil, "node a has pod agent-a, which is outdated"},
		{"InPlaceOnly without gate", "it is held", fleetOf("o", only), pod(func(p *corev1.Pod) { p.Spec.ReadinessGates = nil }), ""},
		{
			"InPlaceIfPossible without gate", "it is recreated", fleetOf("o", inPlace), pod(func(p *corev1.Pod) { p.Spec.ReadinessGates = nil }),
			"node a has pod agent-a, which is outdated",
		},
		{"InPlaceOnly of an unknown revision", "nobody knows what would change", fleetOf("o", only), pod(rollouttest.AtRevision("unknown")), ""},
		{
			"InPlaceOnly of two revisions", "nobody knows what would change", fleetOf("o", only), func(s *harness.Case) {
				again := s.Snapshot.Revisions[0].DeepCopy()
				again.Name = "again"
				s.Snapshot.Revisions = append(s.Snapshot.Revisions, again)
			}, "",
		},
		{
			"InPlaceOnly of an unreadable revision", "nobody knows what would change", fleetOf("o", only), func(s *harness.Case) {
				s.Snapshot.Revisions[0].Data = runtime.RawExtension{Raw: []byte("{")}
			}, "",
		},
		{"unreadable", "nobody touches it", fleetOf("o", inPlace), pod(unreadable), ""},
		{"unreadable and terminating", "that is none of its business", fleetOf("o", inPlace), pod(unreadable, func(p *corev1.Pod) {
			rollouttest.Terminating(rollouttest.Noon())(p)
			objects.Finalizer("x/y")(p)
		}), "node a has 0 pods"},
		{
			"beside an unreadable one", "a new one that does not become available pushes nobody out", fleetOf("u", inPlace),
			func(s *harness.Case) {
				old, _ := generations(inPlace)
				pod(unreadable, closed)(s)
				s.Snapshot.Pods = append(s.Snapshot.Pods, rollouttest.Pod("other", rollouttest.OnNode("a"), rollouttest.Of(old)))
			}, "",
		},
		{
			"two beside an unreadable one", "one of each kind is enough", fleetOf("u", inPlace), func(s *harness.Case) {
				old, _ := generations(inPlace)
				pod(unreadable, closed)(s)
				for _, name := range []string{"b", "c"} {
					s.Snapshot.Pods = append(s.Snapshot.Pods, rollouttest.Pod(name, rollouttest.OnNode("a"), rollouttest.Of(old)))
				}
			}, "node a has 3 pods",
		},
		{"budget used up for ever", "the unreadable pod is not Ready", fleetOf("uo", inPlace), pod(unreadable, closed), ""},
		{
			"budget used up by one that is prepared", "such a pod does not serve", fleetOf("oo", inPlace),
			pod(unreadable, objects.InState(lifecycle.PreparingUpdate)), "",
		},
		{"budget used up by one that may be incomplete", "nobody knows whether it is", fleetOf("uo", inPlace), pod(unreadable), ""},
		{"budget not used up", "the unreadable pod serves", fleetOf("oo", inPlace), pod(unreadable), "node b has pod agent-b, which is outdated"},
		{
			"budget not used up yet", "there are two places", fleetOf("uo", inPlace, rollouttest.MaxUnavailable("2")), pod(unreadable, closed),
			"node b has pod agent-b, which is outdated",
		},
		{
			"partitioned scaling", "the partition stays empty", fleetOf("u-", rollouttest.PartitionedScaling(), partition("1")),
			func(s *harness.Case) { s.Snapshot.Revisions = s.Snapshot.Revisions[1:] }, "",
		},
		{
			"budget used up by a node that is left empty", "it is unavailable, and two keep nodes have the places of the partition",
			fleetOf("u-o", rollouttest.PartitionedScaling(), partition("2")), func(s *harness.Case) {
				s.Snapshot.Revisions = s.Snapshot.Revisions[1:]
				old, _ := generations()
				for _, name := range []string{"x", "y"} {
					s.Snapshot.Nodes = append(s.Snapshot.Nodes, rollouttest.Node(name, rollouttest.Taint("k", "v", corev1.TaintEffectNoSchedule)))
					s.Snapshot.Pods = append(s.Snapshot.Pods, rollouttest.Pod(name, rollouttest.OnNode(name), rollouttest.Of(old)))
				}
			}, "",
		},
		{
			"leaving a node while others stay empty", "with surge it serves until there are enough others (M4)",
			fleetOf("u-", rollouttest.PartitionedScaling(), partition("1"), rollouttest.MaxSurge("1")), func(s *harness.Case) {
				s.Snapshot.Revisions = s.Snapshot.Revisions[1:]
				rollouttest.Taint("k", "v", corev1.TaintEffectNoExecute)(s.Snapshot.Nodes[0])
			}, "",
		},
		{
			"leaving a node without surge", "then nothing is waited for",
			fleetOf("u-", rollouttest.PartitionedScaling(), partition("1")), func(s *harness.Case) {
				s.Snapshot.Revisions = s.Snapshot.Revisions[1:]
				rollouttest.Taint("k", "v", corev1.TaintEffectNoExecute)(s.Snapshot.Nodes[0])
			}, "node a has 1 pods and should have none",
		},
		{
			"partitioned scaling without partition", "there is nothing to leave empty", fleetOf("u-", rollouttest.PartitionedScaling()),
			func(s *harness.Case) { s.Snapshot.Revisions = s.Snapshot.Revisions[1:] }, "node b has 0 pods",
		},
		{
			"partitioned scaling, two missing", "one is left empty", fleetOf("u--", rollouttest.PartitionedScaling(), partition("1")),
			func(s *harness.Case) { s.Snapshot.Revisions = s.Snapshot.Revisions[1:] }, "node b has 0 pods",
		},
		{
			"partitioned scaling later", "it is for first installations", fleetOf("u-", rollouttest.PartitionedScaling(), partition("1")), nil,
			"node b has 0 pods",
		},
		{
			"lost revision unreadable", "nobody knows what to create", fleetOf("-", selected, rollouttest.HoldRevision()),
			func(s *harness.Case) { s.Snapshot.Revisions[0].Data = runtime.RawExtension{Raw: []byte("{")} }, "",
		},
		{
			"lost revision unreadable, leaving another node", "with surge it serves until there are enough others (M4)",
			fleetOf("-u", selected, rollouttest.HoldRevision(), rollouttest.MaxSurge("1")), func(s *harness.Case) {
				s.Snapshot.Revisions[0].Data = runtime.RawExtension{Raw: []byte("{")}
				rollouttest.Taint("k", "v", corev1.TaintEffectNoExecute)(s.Snapshot.Nodes[1])
			}, "",
		},
		{
			"lost revision readable, leaving another node", "then there will be enough others",
			fleetOf("-u", selected, rollouttest.HoldRevision(), rollouttest.MaxSurge("1")), func(s *harness.Case) {
				rollouttest.Taint("k", "v", corev1.TaintEffectNoExecute)(s.Snapshot.Nodes[1])
			}, "node a has 0 pods",
		},
		{
			"lost revision readable", "it comes back", fleetOf("-", selected, rollouttest.HoldRevision()), nil, "node a has 0 pods",
		},
		{
			"nothing lost of an unreadable revision", "on this node it is the update revision",
			fleetOf("-", rollouttest.HoldRevision()), func(s *harness.Case) {
				s.Snapshot.Revisions[0].Data = runtime.RawExtension{Raw: []byte("{")}
			}, "node a has 0 pods",
		},
		{"in-place update not complete", "the kubelet says so", fleetOf("u", inPlace), pod(func(p *corev1.Pod) {
			state := fmt.Sprintf(`{"revision":"x","updateTimestamp":"2026-01-01T12:00:00Z","lastContainerStatuses":{"main":{"imageID":%q}}}`,
				kubelet.ImageID("agent:v2"))
			rollouttest.PodAnnotation(inplace.StateKey, state)(p)
			p.Status.ContainerStatuses[0].Image = "" // it reports no name, and the same ID as before
		}), "whose in-place update is not complete"},
	}
	for _, state := range []lifecycle.State{
		lifecycle.PreparingNormal, lifecycle.PreparingUpdate, lifecycle.Updating, lifecycle.Updated, lifecycle.PreparingDelete,
	} {
		tests = append(tests, struct {
			name, why string
			fleet     harness.Case
			change    func(*harness.Case)
			want      string
		}{string(state), "somebody waits for the next state", fleetOf("u"), pod(objects.InState(state)), "which is still " + string(state)})
	}
	seen := map[string]bool{}
	for _, test := range tests {
		if test.why == "" || seen[test.name] {
			t.Fatalf("row %q needs a reason and a name of its own", test.name)
		}
		seen[test.name] = true
		t.Run(test.name, func(t *testing.T) {
			s := test.fleet
			if test.change != nil {
				test.change(&s)
			}
			mustContain(t, harness.CheckLive(s.Spec, idle, s.Snapshot, harness.Behavior{Restart: -1}), test.want)
		})
	}
}

func TestCheckLiveWantsHeldPodsReady(t *testing.T) {
	s := fleetOf("ou", rollouttest.Partition("1"))
	rollouttest.Unready()(s.Snapshot.Pods[0])
	hash := s.Snapshot.Pods[0].Labels[appsv1.DefaultDaemonSetUniqueLabelKey]
	err := harness.CheckLive(s.Spec, idle, s.Snapshot, harness.Behavior{NeverReady: []string{hash}})
	mustContain(t, err, "node a has pod agent-a, which is held and not ready")
}

// A planner that does not know of the partition updates what should be held (V5).
func TestCheckLiveCountsWhatIsHeld(t *testing.T) {
	for _, test := range []struct {
		name, why, word string
		change          func(*harness.Case)
		behavior        harness.Behavior
		options         []rollouttest.SpecOption
		want            string
	}{
		{"all", "one should be left", "oo", nil, harness.Behavior{}, nil, "0 nodes are outdated, of which the partition should hold 1"},
		{"lagging", "what is in flight was decided before", "oo", nil, harness.Behavior{Lag: 1}, nil, ""},
		{"failed", "it could not be held", "o", func(s *harness.Case) { rollouttest.Failed()(s.Snapshot.Pods[0]) }, harness.Behavior{}, nil, ""},
		{"leaving", "it goes in any case", "o", func(s *harness.Case) {
			objects.InState(lifecycle.PreparingDelete)(s.Snapshot.Pods[0])
		}, harness.Behavior{}, nil, ""},
		{"pinned", "it has yet to run", "o", func(s *harness.Case) {
			rollouttest.PinnedTo("a")(s.Snapshot.Pods[0])
		}, harness.Behavior{}, nil, ""},
		{
			"beside a lost one", "with holdRevision that takes a place", "o-", nil, harness.Behavior{},
			[]rollouttest.SpecOption{rollouttest.HoldRevision()}, "",
		},
		{"beside a missing one", "without holdRevision it does not", "o-", nil, harness.Behavior{}, nil, "should hold 1"},
	} {
		s := fleetOf(test.word, append(test.options, rollouttest.Partition("1"))...)
		if test.change != nil {
			test.change(&s)
		}
		released := s
		objects.Released()(&released.Spec)
		err := harness.CheckLive(s.Spec, planner(released), s.Snapshot, test.behavior)
		if mustContain(t, err, test.want); t.Failed() {
			t.Fatalf("%s: %s", test.name, test.why)
		}
	}
}

// A planner that says it has updated a pod in place, and has not.
func TestCheckLiveComparesWithTheTemplate(t *testing.T) {
	other := []rollouttest.SpecOption{rollouttest.PodTemplateLabel("app", "agent"), rollouttest.PodTemplateAnnotation("x", "y")}
	tests := []struct {
		name, why string
		options   []rollouttest.SpecOption
		pod       rollouttest.PodOption
		want      string
	}{
		{"done", "the pod happens to be what it should", other, rollouttest.PodAnnotation("x", "y"), ""},
		{"image", "it is the old one", []rollouttest.SpecOption{rollouttest.Image("agent:v2")}, nil, "has image agent:v1 instead of agent:v2"},
		{"label", "it is not there", []rollouttest.SpecOption{rollouttest.PodTemplateLabel("x", "y")}, nil, "which has label x= instead of y"},
		{"annotation", "it is not there", other, nil, "which has annotation x= instead of y"},
		{
			"request", "it is the old one", []rollouttest.SpecOption{rollouttest.Requests(corev1.ResourceCPU, "200m")}, nil,
			"whose container main has resources",
		},
		{
			"limit", "it is not there", []rollouttest.SpecOption{rollouttest.Limits(corev1.ResourceMemory, "1Gi")}, nil,
			"whose container main has resources",
		},
		{"container", "it is not there", []rollouttest.SpecOption{side}, nil, "which has no container side"},
		{
			"kubelet", "it has not given what the spec says", other, func(p *corev1.Pod) {
				rollouttest.PodAnnotation("x", "y")(p)
				p.Status.ContainerStatuses[0].Resources = nil
			}, "whose container main does not have the resources of its spec",
		},
	}
	for _, hook := range []func(lifecycle.Hook) rollouttest.SpecOption{
		rollouttest.PreDeleteHook, rollouttest.InPlaceUpdateHook, rollouttest.PreNormalHook,
	} {
		tests = append(tests, struct {
			name, why string
			options   []rollouttest.SpecOption
			pod       rollouttest.PodOption
			want      string
		}{
			fmt.Sprint("label of hook ", len(tests)), "labels that hooks look for come and go",
			[]rollouttest.SpecOption{rollouttest.PodTemplateLabel("x", "y"), hook(rollouttest.HookLabel("x", "y"))}, nil, "",
		})
	}
	seen := map[string]bool{}
	for _, test := range tests {
		if test.why == "" || seen[test.name] {
			t.Fatalf("row %q needs a reason and a name of its own", test.name)
		}
		seen[test.name] = true
		t.Run(test.name, func(t *testing.T) {
			begin := []rollouttest.SpecOption{rollouttest.InPlaceIfPossible(), rollouttest.Requests(corev1.ResourceCPU, "100m")}
			old := rollouttest.Spec("agent", begin...)
			spec := rollouttest.Spec("agent", append(begin, test.options...)...)
			pod := rollouttest.Pod("agent-a", rollouttest.OnNode("a"), rollouttest.Of(old))
			if test.pod != nil {
				test.pod(pod)
			}
			hash := rollouttest.Hash(spec)
			lying := func(snapshot rollout.Snapshot) (rollout.Plan, error) {
				p := snapshot.Pods[0]
				if p.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] == hash {
					return rollout.Plan{}, nil
				}
				return rollout.Plan{Patches: []rollout.Patch{{
					Node: "a", Pod: p.Name, UID: p.UID, Type: types.StrategicMergePatchType,
					Data: fmt.Appendf(nil, `{"metadata":{"labels":{"controller-revision-hash":%q},"annotations":{%q:"{}"}}}`, hash, inplace.StateKey),
				}}}, nil
			}
			err := harness.CheckLive(spec, lying, rollout.Snapshot{
				Now: rollouttest.Noon(), Nodes: rollouttest.Nodes("a"), Pods: []*corev1.Pod{pod},
				Revisions: []*appsv1.ControllerRevision{rollouttest.Revision(old, 1), rollouttest.Revision(spec, 2)},
			}, harness.Behavior{Resize: -1})
			mustContain(t, err, test.want)
		})
	}
}

func side(s *rollout.Spec) {
	s.Template.Spec.Containers = append(slices.Clone(s.Template.Spec.Containers), corev1.Container{Name: "side", Image: "side:v1"})
}
