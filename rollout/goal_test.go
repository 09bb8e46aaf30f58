package rollout_test

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/daemonplan/daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/history"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
)

func partition(value string) kit.SpecOption {
	return func(s *rollout.Spec) { s.Strategy.Partition = new(intstr.Parse(value)) }
}

func nodeType(value string) kit.SpecOption {
	return func(s *rollout.Spec) {
		s.Strategy.NodeSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"nodeType": value}}
	}
}

func holdRevision(s *rollout.Spec) { s.Strategy.HoldRevision = true }

func partitionedScaling(s *rollout.Spec) { s.Strategy.PartitionedScaling = true }

func TestTargetT2Partition(t *testing.T) { playScenes(t, partitionScenes()) }

func partitionScenes() []scene {
	all, isBig := kit.MaxUnavailable("100%"), kit.Label("size", "big")
	held := func(node string) string { return node + ": outdated>held hold Held " + node + "0 partition" }
	goes := func(node string) string { return node + ": outdated>update replace Outdated " + node + "0 U" }
	return []scene{
		{
			name: "the first by name are held", why: "T2: ascending by name",
			spec: []kit.SpecOption{all, partition("2")}, fleet: []spot{on("a", oldPod()), on("b", oldPod()), on("c", oldPod())},
			acts: "delete c0 Outdated",
			want: []string{held("a"), held("b"), goes("c")},
		},
		{
			name: "percentages round down", why: "T2: 50% of 3 is 1",
			spec: []kit.SpecOption{all, partition("50%")}, fleet: []spot{on("a", oldPod()), on("b", oldPod()), on("c", oldPod())},
			acts: "delete c0 Outdated, delete b0 Outdated",
			want: []string{held("a"), goes("b"), goes("c")},
		},
		{
			name: "an updated node is never held", why: "T2: its place goes to the next one",
			spec: []kit.SpecOption{all, partition("1")}, fleet: []spot{on("a", newPod()), on("b", oldPod()), on("c", oldPod())},
			acts: "delete c0 Outdated",
			want: []string{"a: updated>update none UpToDate", held("b"), goes("c")},
		},
		{
			name: "raised in the middle of a rollout", why: "T2: what is updated stays so, all others are held",
			spec: []kit.SpecOption{all, partition("9")}, fleet: []spot{on("a", oldPod()), on("b", newPod())},
			want: []string{held("a"), "b: updated>update none UpToDate"},
		},
		{
			name: "raised while a patch is in flight", why: "T2: it may bring the update, so that its node holds nothing back",
			spec: []kit.SpecOption{all, partition("1")}, patching: []string{"a0"},
			fleet: []spot{on("a", oldPod()), on("b", oldPod())},
			want:  []string{"a: outdated>update wait Requested a0 U", held("b")},
		},
		{
			name: "of all nodes", why: "T2: 100% holds every node",
			spec: []kit.SpecOption{all, partition("100%")}, fleet: []spot{on("a", oldPod()), on("b", oldPod())},
			want: []string{held("a"), held("b")},
		},
		{
			name: "keep nodes are held first", why: "T2: they cannot be updated anyway",
			spec:  []kit.SpecOption{all, partition("1")},
			fleet: []spot{on("a", oldPod()), on("b", oldPod()).keep()},
			acts:  "delete a0 Outdated",
			want:  []string{goes("a"), "b: kept>none none Kept"},
		},
		{
			name: "a keep node without a pod is no base", why: "T2: half of one node is none",
			spec:  []kit.SpecOption{all, partition("50%")},
			fleet: []spot{on("a", oldPod()), on("b").keep()},
			acts:  "delete a0 Outdated",
			want:  []string{goes("a"), "b: ineligible>none none Ineligible"},
		},
		{
			name: "a keep node with an updated pod is base", why: "T2: half of two nodes is one, and the other is updated",
			spec:  []kit.SpecOption{all, partition("50%")},
			fleet: []spot{on("a", oldPod()), on("b", newPod()).keep()},
			want:  []string{held("a"), "b: kept>none none Kept"},
		},
		{
			name: "leave nodes do not count", why: "T2, not as Kruise: what runs there is no part of the rollout",
			spec:  []kit.SpecOption{all, partition("1")},
			fleet: []spot{on("a", oldPod()).leave(), on("b", oldPod())},
			acts:  "delete a0 Leaving",
			want:  []string{"a: leaving>none delete Leaving a0", held("b")},
		},
		{
			name: "a lost pod comes back updated", why: "T1: only with holdRevision as it was",
			spec: []kit.SpecOption{all, partition("2")}, fleet: []spot{on("a"), on("b", oldPod())},
			acts: "create a Missing",
			want: []string{"a: missing>update create Missing U", held("b")},
		},
		{
			name: "broken old pods are held too", why: "T1: a held node keeps what it has; B2: it is unavailable all the same",
			spec: []kit.SpecOption{partition("1")}, fleet: []spot{on("a", oldPod(kit.Unready())), on("b", oldPod())},
			want: []string{"a: outdated>held hold Held a0 partition U", "b: outdated>update wait Budget b0 maxUnavailable"},
		},
		{
			name: "failed old pods are not held", why: "T2: there is nothing live to hold, and M2 deletes it",
			spec: []kit.SpecOption{all, partition("1")}, fleet: []spot{on("a", oldPod(kit.Failed())), on("b", oldPod())},
			acts: "delete a0 OutdatedFailed",
			want: []string{"a: broken>update replace OutdatedFailed a0 U", held("b")},
		},
		{
			name: "an update in flight is an update", why: "T2: what is requested counts as done",
			spec: []kit.SpecOption{all, partition("1")}, fleet: []spot{on("a"), on("b", oldPod())}, requested: []string{"a"},
			want: []string{"a: starting>update wait Requested U", held("b")},
		},
		{
			name: "another override is held too", why: "T2, P8: it is rolled out like a template",
			spec:  []kit.SpecOption{all, partition("1"), big("3")},
			fleet: []spot{on("a", newPod(withTwoCPUs())).with(isBig), on("b", newPod(withTwoCPUs())).with(isBig)},
			acts:  "delete b0 Outdated",
			want:  []string{held("a"), goes("b")},
		},
		{
			name: "paused shows first", why: "T4 holds all nodes, T2 only some",
			spec: []kit.SpecOption{all, partition("1"), kit.Paused()}, fleet: []spot{on("a", oldPod())},
			want: []string{"a: outdated>held hold Held a0 paused"},
		},
	}
}

// TestTargetT9DeclaredFeatures: where a pod of the update revision could not run, none is given up for it.
func TestTargetT9DeclaredFeatures(t *testing.T) { playScenes(t, undeclaredScenes()) }

// ownUsers makes pods need nodes that can give them users of their own beside the network of the host.
func ownUsers(s *rollout.Spec) {
	s.Template.Spec.HostNetwork, s.Template.Spec.HostUsers = true, new(false)
}

func undeclaredScenes() []scene {
	all := kit.MaxUnavailable("100%")
	declares := kit.Kubelet("v1.37.2", "UserNamespacesHostNetworkSupport")
	held := func(node string) string { return node + ": outdated>held hold Held " + node + "0 declaredFeatures" }
	goes := func(node string) string { return node + ": outdated>update replace Outdated " + node + "0 U" }
	// The revision before needs nothing of nodes.
	plain := func(l *lab) {
		old := l.spec.Default()
		old.Template.Spec.HostUsers = nil
		l.snapshot.Revisions = []*appsv1.ControllerRevision{kit.Revision(old, 1), kit.Revision(l.spec, 2)}
		l.old, l.update = kit.Hash(old), kit.Hash(l.spec)
		for _, pod := range l.snapshot.Pods {
			pod.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] = l.old
		}
	}
	return []scene{
		{
			name: "only nodes that declare it are updated", why: "T9: elsewhere the new pod would stay Pending",
			spec:  []kit.SpecOption{all, ownUsers},
			fleet: []spot{on("a", oldPod()), on("b", oldPod()).with(declares), on("c", oldPod()).with(kit.Kubelet("v1.36.0", "Other"))},
			acts:  "delete b0 Outdated",
			want:  []string{held("a"), goes("b"), held("c")},
		},
		{
			name: "a pod that needs nothing", why: "T9: nothing is asked of nodes", spec: []kit.SpecOption{all},
			fleet: []spot{on("a", oldPod())}, acts: "delete a0 Outdated", want: []string{goes("a")},
		},
		{
			name: "a lost pod", why: "T9: it comes back at the revision that can run there, without holdRevision, too",
			spec: []kit.SpecOption{all, ownUsers}, fleet: []spot{on("a"), on("b").with(declares), on("c", oldPod())}, set: plain,
			acts: "create a Missing at old, create b Missing",
			want: []string{"a: missing>held create Missing U", "b: missing>update create Missing U", held("c")},
		},
		{
			name: "a pod that has failed and is on its way out", why: "T9, T1: what it ran still tells what comes back",
			spec: []kit.SpecOption{all, ownUsers}, fleet: []spot{on("a", oldPod(kit.Failed(), terminating())), on("b").with(declares)}, set: plain,
			acts: "create a Missing at old, create b Missing",
			want: []string{"a: missing>held create Missing U", "b: missing>update create Missing U"},
		},
		{
			name: "a lost pod, and no revision that can run there", why: "T9: it makes no difference",
			spec: []kit.SpecOption{all, ownUsers}, fleet: []spot{on("a")},
			acts: "create a Missing", want: []string{"a: missing>update create Missing U"},
		},
		{
			name: "a pod that is there", why: "T1: somebody has made it, and it is where its node is to end",
			spec: []kit.SpecOption{all, ownUsers}, fleet: []spot{on("a", newPod())},
			want: []string{"a: updated>update none UpToDate"},
		},
		{
			name: "surge", why: "T9: no pod is made beside the one that serves, which would stay Pending there",
			spec: []kit.SpecOption{kit.MaxSurge("1"), ownUsers}, fleet: []spot{on("a", oldPod()), on("b", oldPod()).with(declares)},
			acts: "create b Outdated",
			want: []string{held("a"), "b: outdated>update surge Outdated S"},
		},
		{
			name: "places of the partition", why: "T2: nodes that are held in any case take them first",
			spec: []kit.SpecOption{all, ownUsers, partition("1")}, fleet: []spot{on("a", oldPod()).with(declares), on("b", oldPod())},
			acts: "delete a0 Outdated", want: []string{goes("a"), held("b")},
		},
	}
}

func TestTargetT3NodeSelector(t *testing.T) { playScenes(t, selectorScenes()) }

func selectorScenes() []scene {
	all := kit.MaxUnavailable("100%")
	canary := kit.Label("nodeType", "canary")
	selector := nodeType("canary")
	unselected := func(node string) string { return node + ": outdated>held hold Held " + node + "0 nodeSelector" }
	goes := func(node string) string { return node + ": outdated>update replace Outdated " + node + "0 U" }
	return []scene{
		{
			name: "only selected nodes are updated", why: "T3",
			spec:  []kit.SpecOption{all, selector},
			fleet: []spot{on("a", oldPod()), on("b", oldPod()).with(canary)},
			acts:  "delete b0 Outdated",
			want:  []string{unselected("a"), goes("b")},
		},
		{
			name: "an empty selector selects all", why: "T3, as labels do everywhere",
			spec:  []kit.SpecOption{all, func(s *rollout.Spec) { s.Strategy.NodeSelector = &metav1.LabelSelector{} }},
			fleet: []spot{on("a", oldPod())}, acts: "delete a0 Outdated", want: []string{goes("a")},
		},
		{
			name: "lost pods come back updated", why: "T1",
			spec: []kit.SpecOption{all, selector}, fleet: []spot{on("a")},
			acts: "create a Missing", want: []string{"a: missing>update create Missing U"},
		},
		{
			name: "a moved selector takes nothing back", why: "T1: the update revision is the target of every node that has it",
			spec: []kit.SpecOption{all, selector}, fleet: []spot{on("a", newPod())},
			want: []string{"a: updated>update none UpToDate"},
		},
		{
			name: "partition inside the selector", why: "T2: nodes that T3 holds take the places first, here all of them",
			spec:  []kit.SpecOption{all, selector, partition("2")},
			fleet: []spot{on("a", oldPod()).with(canary), on("b", oldPod()), on("c", oldPod()).with(canary), on("d", oldPod())},
			acts:  "delete c0 Outdated, delete a0 Outdated",
			want:  []string{goes("a"), unselected("b"), goes("c"), unselected("d")},
		},
		{
			name: "partition beyond the unselected", why: "T2: one place is left for the first selected node by name",
			spec:  []kit.SpecOption{all, selector, partition("3")},
			fleet: []spot{on("a", oldPod()).with(canary), on("b", oldPod()), on("c", oldPod()).with(canary), on("d", oldPod())},
			acts:  "delete c0 Outdated",
			want: []string{"a: outdated>held hold Held a0 partition", unselected("b"), goes("c"),
				unselected("d")},
		},
		{
			name: "keep nodes before unselected ones", why: "T2: b takes the place and is held, so that M2's back-off counts there",
			spec:     []kit.SpecOption{all, selector, partition("1")},
			fleet:    []spot{on("a", oldPod()), on("b", oldPod(), oldPod(kit.Failed())).keep().with(canary)},
			backoffs: []rollout.Backoff{{Node: "b", Revision: "old", Delay: 60e9, Since: kit.Noon()}},
			want:     []string{unselected("a"), "b: kept>none wait Backoff b1 backoff until=+1m0s"},
		},
		{
			name: "failed outdated pods of held nodes wait", why: "M2: a fixed revision does not come to a held node, so the back-off counts",
			spec: []kit.SpecOption{all, selector}, fleet: []spot{on("a", oldPod(kit.Failed()))},
			backoffs: []rollout.Backoff{{Node: "a", Revision: "old", Delay: 60e9, Since: kit.Noon()}},
			want:     []string{"a: broken>update wait Backoff a0 backoff until=+1m0s U"},
		},
	}
}

func TestTargetT1HoldRevision(t *testing.T) { playScenes(t, holdRevisionScenes()) }

func holdRevisionScenes() []scene {
	hold := []kit.SpecOption{holdRevision, partition("2"), kit.MaxUnavailable("100%")}
	selector := []kit.SpecOption{holdRevision, nodeType("canary")}
	isCanary := kit.Label("nodeType", "canary")
	return []scene{
		{
			name: "a lost pod comes back as the stable revision", why: "T1: nothing tells what it was",
			spec: hold, fleet: []spot{on("a"), on("b", oldPod())},
			acts: "create a Missing at old",
			want: []string{"a: missing>held create Missing U", "b: outdated>held hold Held b0 partition"},
		},
		{
			name: "unselected nodes too", why: "T1: nodes held by T2 or T3",
			spec: selector, fleet: []spot{on("a"), on("b", oldPod())},
			acts: "create a Missing at old",
			want: []string{"a: missing>held create Missing U", "b: outdated>held hold Held b0 nodeSelector"},
		},
		{
			name: "without any old pod there is no stable revision", why: "C6: the update revision is stable then, so there is nothing to hold",
			spec: hold, fleet: []spot{on("a")},
			acts: "create a Missing", want: []string{"a: missing>update create Missing U"},
		},
		{
			name: "what is held comes before what was lost", why: "T2: a node that has nothing to hold takes no place from one that has",
			spec: []kit.SpecOption{holdRevision, partition("1")}, fleet: []spot{on("a"), on("b", oldPod())},
			acts: "create a Missing",
			want: []string{"a: missing>update create Missing U", "b: outdated>held hold Held b0 partition"},
		},
		{
			name: "what comes back updated takes no place", why: "T2: after repair the node has an updated pod",
			spec: hold, fleet: []spot{on("a", newPod(terminating())), on("b", oldPod())},
			want: []string{"a: terminating>update wait Terminating U", "b: outdated>held hold Held b0 partition"},
		},
		{
			name: "a lost pod that is still seen", why: "T1: the revision it ran; it comes back when the pod is gone",
			spec: hold, fleet: []spot{on("a", oldPod(terminating())), on("b", oldPod())},
			want: []string{"a: terminating>held wait Terminating U", "b: outdated>held hold Held b0 partition"},
		},
		{
			name: "a failed pod that is going is still seen", why: "T1: M1 ignores it, but it says what the node ran",
			spec: hold, fleet: []spot{on("a", newPod(kit.Failed(), terminating())), on("b", oldPod())},
			acts: "create a Missing",
			want: []string{"a: missing>update create Missing U", "b: outdated>held hold Held b0 partition"},
		},
		{
			name: "what is held comes before what was lost and is not selected", why: "T2: nor does such a node take a place from one that has",
			spec:  []kit.SpecOption{holdRevision, nodeType("canary"), partition("1")},
			fleet: []spot{on("a"), on("b", oldPod()).with(isCanary)},
			acts:  "create a Missing at old",
			want:  []string{"a: missing>held create Missing U", "b: outdated>held hold Held b0 partition"},
		},
		{
			name: "unselected nodes first among those that lost their pod", why: "T2: after b and c there is no place left",
			spec:  []kit.SpecOption{holdRevision, nodeType("canary"), partition("2")},
			fleet: []spot{on("a").with(isCanary), on("b"), on("c", oldPod()).with(isCanary)},
			acts:  "create a Missing, create b Missing at old",
			want: []string{"a: missing>update create Missing U", "b: missing>held create Missing U",
				"c: outdated>held hold Held c0 partition"},
		},
		{
			name: "the youngest of those seen", why: "T1: the failed pod was there before",
			spec: hold,
			fleet: []spot{
				on("a", oldPod(terminating(), kit.Created(ago(time.Minute))), newPod(kit.Failed(), terminating(), kit.Created(ago(time.Hour)))),
				on("b", oldPod()),
			},
			want: []string{"a: terminating>held wait Terminating U", "b: outdated>held hold Held b0 partition"},
		},
		{
			name: "a lost pod of a revision that is gone", why: "T1: no pod can be made of it any more, so it is the stable one",
			spec: hold, fleet: []spot{on("a", podAt("lost", kit.Failed(), terminating())), on("b", oldPod())},
			acts: "create a Missing at old",
			want: []string{"a: missing>held create Missing U", "b: outdated>held hold Held b0 partition"},
		},
		{
			name: "a lost pod without a hash", why: "T1, R5: its template generation says that it was updated",
			spec: append(hold, objects.TemplateGeneration(7)),
			fleet: []spot{
				on("a", barePod(terminating(), kit.PodLabel(rollout.TemplateGenerationLabel, "7"))), on("b", oldPod()),
			},
			want: []string{"a: terminating>update wait Terminating U", "b: outdated>held hold Held b0 partition"},
		},
		{
			name: "not with OnDelete", why: "T1: only T2 and T3 hold the revision; a deleted pod asks for the new one",
			spec: []kit.SpecOption{holdRevision, kit.OnDelete()}, fleet: []spot{on("a"), on("b", oldPod())},
			acts: "create a Missing",
			want: []string{"a: missing>update create Missing U", "b: outdated>held hold Held b0 onDelete"},
		},
		{
			name: "an old pod on its way", why: "what is requested counts as done: nothing more is created",
			spec: hold, fleet: []spot{on("a"), on("b", newPod())}, requested: []string{"a@old"},
			want: []string{"a: outdated>held wait Requested U", "b: updated>update none UpToDate"},
		},
	}
}

// unreadable returns a held node that has lost a pod of a revision whose template cannot be read.
func unreadable() *lab {
	l := newLab(holdRevision, partition("2")).add(on("a"), on("b", oldPod()))
	l.snapshot.Revisions[0].Data.Raw = []byte(`{"spec":{}}`)
	return l
}

func TestTargetT1RevisionUnreadable(t *testing.T) {
	l := unreadable()
	compare(t, l, l.plan(t), "", []string{
		"a: missing>held wait RevisionUnreadable U",
		"b: outdated>held hold Held b0 partition",
	}, "fail closed: at the update revision the pod would be past the partition")
}

// Of two revisions of one hash nobody knows which of them a pod was of.
func TestTargetT1RevisionTwice(t *testing.T) {
	l := newLab(holdRevision, partition("2")).add(on("a"), on("b", oldPod()))
	twin := l.snapshot.Revisions[0].DeepCopy()
	twin.Name += "-twin"
	twin.Data.Raw = []byte(`{"spec":{"template":{"$patch":"replace","spec":{"containers":[{"name":"main","image":"agent:v0"}]}}}}`)
	l.snapshot.Revisions = append(l.snapshot.Revisions, twin)
	compare(t, l, l.plan(t), "", []string{
		"a: missing>held wait RevisionUnreadable U",
		"b: outdated>held hold Held b0 partition",
	}, "fail closed: pods of one would be made of the other")
}

// firstInstallation has no revision yet.
func firstInstallation(options ...kit.SpecOption) *lab {
	l := newLab(append(options, partitionedScaling)...)
	l.snapshot.Revisions = nil
	return l
}

func TestTargetT7PartitionedScaling(t *testing.T) {
	first := firstInstallation
	empty := func(node string) string { return node + ": missing>update hold PartitionedScaling partition U" }
	tests := []struct {
		name, why string
		lab       *lab
		fleet     []spot
		acts      string
		want      []string
	}{
		{
			name: "the first by name are filled", why: "T7: 3 - 2 nodes get a pod",
			lab: first(partition("2")), fleet: []spot{on("a"), on("b"), on("c")},
			acts: "create a Missing", want: []string{"a: missing>update create Missing U", empty("b"), empty("c")},
		},
		{
			name: "those that are there count", why: "T7: 3 - 1 - 1",
			lab: first(partition("1")), fleet: []spot{on("a"), on("b", newPod()), on("c")},
			acts: "create a Missing",
			want: []string{"a: missing>update create Missing U", "b: updated>update none UpToDate", empty("c")},
		},
		{
			name: "percent of desired now", why: "T2, not as Kruise: 50% of 4 are 2, whatever status was stored",
			lab: first(partition("50%")), fleet: []spot{on("a"), on("b"), on("c"), on("d")},
			acts: "create a Missing, create b Missing",
			want: []string{"a: missing>update create Missing U", "b: missing>update create Missing U", empty("c"), empty("d")},
		},
		{
			name: "no partition", why: "T7: with a partition",
			lab: first(), fleet: []spot{on("a")},
			acts: "create a Missing", want: []string{"a: missing>update create Missing U"},
		},
		{
			name: "a lost pod comes back where it was", why: "T7: its node has its place until then, so no other is filled",
			lab: first(partition("1")), fleet: []spot{on("a"), on("b", newPod(terminating()))},
			want: []string{empty("a"), "b: terminating>update wait Terminating U"},
		},
		{
			name: "an update is no installation", why: "T7 bounds missing pods, not those that surge beside an old one",
			lab: first(partition("1"), kit.MaxSurge("1")), fleet: []spot{on("a", podAt("lost")).keep(), on("b", podAt("lost"))},
			acts: "create b Outdated",
			want: []string{"a: kept>none none Kept", "b: outdated>update surge Outdated S"},
		},
		{
			name: "not in a later rollout", why: "T7, not as Kruise: nodes that join are not left empty",
			lab: newLab(partition("1"), partitionedScaling), fleet: []spot{on("a"), on("b", oldPod())},
			acts: "create a Missing",
			want: []string{"a: missing>update create Missing U", "b: outdated>held hold Held b0 partition"},
		},
		{
			name: "a partition of more than there are", why: "T7: at most no node, not fewer",
			lab: first(partition("5")), fleet: []spot{on("a")},
			want: []string{empty("a")},
		},
	}
	rows := uniqueRows{}
	for _, tt := range tests {
		rows.check(t, tt.name, tt.why)
		t.Run(tt.name, func(t *testing.T) {
			plan := tt.lab.add(tt.fleet...).plan(t)
			compare(t, tt.lab, plan, tt.acts, tt.want, tt.why)
		})
	}
}

// withOlder adds a revision "older" of agent:v0, numbered below the two of the lab.
func withOlder(l *lab) {
	spec := l.spec.Default()
	kit.Image("agent:v0")(&spec)
	older := kit.Revision(spec, 1)
	older.Name, older.UID = "agent-older", "revision-older"
	older.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] = "older"
	for _, revision := range l.snapshot.Revisions {
		revision.Revision++
	}
	l.snapshot.Revisions = append(l.snapshot.Revisions, older)
}

// Which places a partition has left, and what lost pods come back at, while a revision is on trial.
func TestTargetCanary(t *testing.T) { playScenes(t, targetCanaryScenes()) }

func targetCanaryScenes() []scene {
	isCanary := kit.Label("nodeType", "canary")
	tried := "c: updated>update none UpToDate C"
	return []scene{
		{
			name: "what comes back updated takes no place", why: "T2: so that the place is left for b, which has something to hold",
			spec: []kit.SpecOption{kit.Canary("2"), holdRevision, partition("1")}, set: tryingOn("a", "b"),
			fleet: []spot{on("a", newPod(terminating())), on("b", oldPod())},
			want:  []string{"a: terminating>update wait Terminating U C", "b: outdated>held hold Held b0 partition C"},
		},
		{
			name: "a stable pod on its way takes no place", why: "T2: what is requested counts as done, and b was held before the stable revision",
			spec: []kit.SpecOption{kit.Canary("1"), partition("1")}, set: tryingOn("c"), requested: []string{"a@old"},
			fleet: []spot{on("a"), on("b", podAt("older")), on("c", trialPod())},
			want:  []string{"a: starting>stable wait Requested U", "b: outdated>held hold Held b0 partition", tried},
		},
		{
			name: "a lost pod of a revision before the stable one", why: "T1, C7: among what is to end stable the partition holds what it held",
			spec: []kit.SpecOption{kit.Canary("1"), holdRevision, partition("1")}, set: all(withOlder, tryingOn("c")),
			fleet: []spot{on("a", podAt("older", terminating())), on("b", oldPod()), on("c", trialPod())},
			want:  []string{"a: terminating>held wait Terminating U", "b: stable>stable none Stable", tried},
		},
		{
			name: "a lost pod of the revision on trial", why: "T6: its node is none of the canary's, and does not come back at it",
			spec: []kit.SpecOption{kit.Canary("1"), holdRevision, nodeType("canary")}, set: tryingOn("c"),
			fleet: []spot{on("a", newPod(terminating())), on("b", oldPod()), on("c", trialPod()).with(isCanary)},
			want:  []string{"a: terminating>stable wait Terminating U", "b: stable>stable none Stable", tried},
		},
		{
			name: "nothing tells what it was", why: "T1: it comes back at the stable revision, whatever the others that are held run",
			spec:  []kit.SpecOption{kit.Canary("1"), holdRevision, nodeType("canary")},
			set:   all(withOlder, withMark("old", history.PromotedAnnotation, "x"), tryingOn("c")),
			fleet: []spot{on("a"), on("b", podAt("older")), on("c", trialPod()).with(isCanary)},
			acts:  "create a Missing at old",
			want:  []string{"a: missing>stable create Missing U", "b: outdated>held hold Held b0 nodeSelector", tried},
		},
	}
}
