package rollout_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/outage"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
	"github.com/daemonplan/daemonplan/rollout/verify"
	"github.com/daemonplan/daemonplan/status"
)

// downFor returns the option for a node whose Ready condition is False for so long. It has no taint, so that it is a run node.
func downFor(d time.Duration) kit.NodeOption {
	return func(n *corev1.Node) {
		n.Status.Conditions = []corev1.NodeCondition{
			{Type: corev1.NodeReady, Status: corev1.ConditionFalse, LastTransitionTime: metav1.NewTime(ago(d))},
		}
	}
}

// up makes the node Ready: in these scenes a node without the condition is out.
func up(n *corev1.Node) { nodeReady(corev1.ConditionTrue)(n) }

// departingFor gives the node a condition that says so for so long. It is Ready.
func departingFor(d time.Duration) kit.NodeOption {
	return func(n *corev1.Node) {
		up(n)
		n.Status.Conditions = append(n.Status.Conditions, corev1.NodeCondition{
			Type: "MaintenanceInProgress", Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(ago(d)),
		})
	}
}

// beingDrained gives the node a condition that says that it is drained, for an hour. It is Ready.
func beingDrained(n *corev1.Node) {
	up(n)
	n.Status.Conditions = append(n.Status.Conditions, corev1.NodeCondition{
		Type: corev1.NodeDrainInProgress, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(ago(time.Hour)),
	})
}

// unstarted returns a pod of the update revision that was created so long ago and that no kubelet has started.
func unstarted(d time.Duration) podOf {
	return newPod(kit.Pending(), kit.Created(ago(d)))
}

// startedPod returns a pod of the update revision that was created so long ago, was started, and is not ready.
func startedPod(d time.Duration, options ...kit.PodOption) podOf {
	started := func(p *corev1.Pod) {
		p.Spec.Containers = []corev1.Container{{Name: "main"}}
		p.Status.StartTime = new(metav1.NewTime(ago(d)))
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{
			Name: "main", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(ago(d))}},
		}}
	}
	return newPod(append([]kit.PodOption{kit.Unready(), kit.Created(ago(d)), started}, options...)...)
}

// deletedBefore returns an outdated pod whose deletion was requested a minute ago, with a grace period of 30 s.
func deletedBefore(options ...kit.PodOption) podOf {
	grace := func(p *corev1.Pod) { p.DeletionGracePeriodSeconds = new(int64(30)) }
	return oldPod(append([]kit.PodOption{kit.Unready(), kit.Terminating(ago(time.Minute)), grace}, options...)...)
}

// letGo gives the pod a preDelete hook that was asked so long ago.
func letGo(asked time.Duration) kit.PodOption {
	return func(p *corev1.Pod) {
		kit.PodLabel(lifecycle.StateLabel, "PreparingDelete")(p)
		kit.PodAnnotation(lifecycle.TimestampAnnotation, ago(asked).Format(time.RFC3339))(p)
	}
}

// drains is a preDelete hook by label.
var drains = lifecycle.Hook{Labels: map[string]string{"hook": "on"}}

func TestOutagesB9(t *testing.T) { playVerified(t, outageScenes()) }

// TestADrainThatNobodyEnds is in the way of a rollout that has done all else: the plan says where, since when and what helps (P-A).
func TestADrainThatNobodyEnds(t *testing.T) {
	drained := scene{
		spec:  []kit.SpecOption{kit.Outages(outage.Options{})},
		fleet: []spot{on("a", oldPod()).with(beingDrained), on("b", newPod()).with(up)},
	}
	plan := drained.lab().plan(t)
	if plan.Status.State != status.Stuck || len(plan.Blockers) != 1 {
		t.Fatalf("state %v with the blockers %+v, want Stuck with one", plan.Status.State, plan.Blockers)
	}
	b := plan.Blockers[0]
	helps := strings.Join(b.Helps, "; ")
	if !slices.Equal(b.Nodes, []string{"a"}) || !b.Since.Equal(ago(time.Hour)) || !strings.Contains(helps, "Drained of a ") {
		t.Errorf("the blocker is %+v", b)
	}
}

// TestSurgeWithoutASecondPlace: where no second pod can be bound, the blocker says which budget would do; where only room is missing,
// it asks for room (B4, P-A).
func TestSurgeWithoutASecondPlace(t *testing.T) {
	for _, port := range []int32{9100, 0} {
		standing := scene{
			spec:  []kit.SpecOption{kit.MaxSurge("1"), hostPort(port)},
			fleet: []spot{on("a", oldPod(), newPod(kit.Unscheduled("a", ago(time.Hour)), kit.Created(ago(time.Hour))))},
		}
		plan := standing.lab().plan(t)
		if plan.Status.State != status.Stuck || len(plan.Blockers) != 1 {
			t.Fatalf("state %v with the blockers %+v, want Stuck with one", plan.Status.State, plan.Blockers)
		}
		helps := strings.Join(plan.Blockers[0].Helps, "; ")
		if other := strings.Contains(helps, "set maxUnavailable in the place of maxSurge"); other != (port > 0) {
			t.Errorf("with the port %d of the host it helps to %s", port, helps)
		}
	}
}

// playVerified is playScenes with the verifier's opinion on each plan.
func playVerified(t *testing.T, scenes []scene) {
	t.Helper()
	playScenes(t, scenes)
	for _, s := range scenes {
		l := s.lab()
		plan := l.plan(t)
		for _, violation := range verify.Plan(l.spec, l.snapshot, &plan) {
			t.Errorf("%s: %v", s.name, violation)
		}
	}
}

func outageScenes() []scene {
	limit := func(value string) []kit.SpecOption { return []kit.SpecOption{kit.MaxExempt(value)} }
	proven := func(after time.Duration) []kit.SpecOption {
		return []kit.SpecOption{kit.Outages(outage.Options{ProvenAfter: after}), kit.MaxExempt("1")}
	}
	goes := "b: outdated>update replace Outdated b0 U"
	waits := "b: outdated>update wait Budget b0 maxUnavailable"
	b := on("b", oldPod()).with(up)
	return []scene{
		{
			name: "down before its update", why: "B9: the new pod was created later and never started", spec: limit("1"),
			fleet: []spot{on("a", unstarted(time.Minute)).with(downFor(2 * time.Minute)), b}, acts: "delete b0 Outdated",
			want:  []string{"a: starting>update wait NotReady a0 X", goes},
			spent: "unavailable 1 of 1, surging 0 of 0, waiting 0",
		},
		{
			name: "off by default", why: "B9: without the policy it counts",
			fleet: []spot{on("a", unstarted(time.Minute)).with(downFor(2 * time.Minute)), b},
			want:  []string{"a: starting>update wait NotReady a0 U", waits},
		},
		{
			name: "none by default", why: "B9: MaxExempt is 0 if it is unset", spec: []kit.SpecOption{kit.Outages(outage.Options{})},
			fleet: []spot{on("a", unstarted(time.Minute)).with(downFor(2 * time.Minute)), b},
			want:  []string{"a: starting>update wait NotReady a0 U", waits},
		},
		{
			name: "down in the second of its update", why: "B9: a tie is no evidence", spec: limit("1"),
			fleet: []spot{on("a", unstarted(time.Minute)).with(downFor(time.Minute)), b},
			want:  []string{"a: starting>update wait NotReady a0 U", waits},
		},
		{
			name: "down after its update", why: "B9: the update may have done it", spec: limit("1"),
			fleet: []spot{on("a", unstarted(2*time.Minute)).with(downFor(time.Minute)), b},
			want:  []string{"a: starting>update wait NotReady a0 U", waits},
		},
		{
			name: "down before, but the new pod was started", why: "B9: what keeps it down may be the new pod", spec: limit("1"),
			fleet: []spot{on("a", startedPod(time.Minute)).with(downFor(2 * time.Minute)), b},
			want:  []string{"a: starting>update wait NotReady a0 U", waits},
		},
		{
			name: "ready", why: "B9: a node that is up is not left out, whatever its pod", spec: limit("1"),
			fleet: []spot{on("a", unstarted(time.Minute)).with(up), b},
			want:  []string{"a: starting>update wait NotReady a0 U", waits},
		},
		{
			name: "down since when nobody knows", why: "B9: no evidence that it was before the update", spec: limit("1"),
			fleet: []spot{on("a", unstarted(time.Minute)).with(nodeReady(corev1.ConditionFalse)), b},
			want:  []string{"a: starting>update wait NotReady a0 U", waits},
		},
		{
			name: "not begun, and down since when nobody knows", why: "B9: what was not begun cannot have been broken", spec: limit("1"),
			fleet: []spot{on("a", oldPod(kit.Unready())).with(nodeReady(corev1.ConditionUnknown)), b},
			acts:  "delete a0 OutdatedNotReady, delete b0 Outdated",
			want:  []string{"a: outdated>update replace OutdatedNotReady a0 X", goes},
		},
		{
			name: "deleted before it went down", why: "B9: the request is the deletion timestamp less the grace period", spec: limit("1"),
			fleet: []spot{on("a", deletedBefore()).with(downFor(50 * time.Second)), b},
			want:  []string{"a: terminating>update wait Terminating U", waits},
		},
		{
			name: "deleted after it went down", why: "B9: its pod would not go because nobody ends it", spec: limit("1"),
			fleet: []spot{on("a", deletedBefore()).with(downFor(70 * time.Second)), b}, acts: "delete b0 Outdated",
			want: []string{"a: terminating>update wait Terminating X", goes},
		},
		{
			name: "deletion in flight", why: "B9: it is requested now", spec: limit("1"), deleting: []string{"a0"},
			fleet: []spot{on("a", oldPod(kit.Unready())).with(downFor(time.Second)), b}, acts: "delete b0 Outdated",
			want: []string{"a: terminating>update wait Terminating X", goes},
		},
		{
			name: "create in flight", why: "B9: its pod may run by now, and nobody knows since when", spec: limit("1"), requested: []string{"a"},
			fleet: []spot{on("a").with(downFor(2 * time.Minute)), b},
			want:  []string{"a: starting>update wait Requested U", waits},
		},
		{
			name: "patch in flight", why: "B9: it may have begun the update in place", spec: limit("1"), patching: []string{"a0"},
			fleet: []spot{on("a", oldPod(kit.Unready())).with(downFor(2 * time.Minute)), b},
			want:  []string{"a: outdated>update wait Requested a0 U", waits},
		},
		{
			name: "deletion in flight, and down right now", why: "B9: a tie is no evidence", spec: limit("1"), deleting: []string{"a0"},
			fleet: []spot{on("a", oldPod(kit.Unready())).with(downFor(0)), b},
			want:  []string{"a: terminating>update wait Terminating U", waits},
		},
		{
			name: "in a hook", why: "B9: what the hook's handlers do may take the node down", spec: limit("1"),
			fleet: []spot{on("a", unstarted(time.Minute), oldPod(kit.Unready(), kit.PodLabel(lifecycle.StateLabel, "PreparingDelete"))).with(downFor(2 * time.Minute)), b},
			acts:  "delete a1 Released",
			want:  []string{"a: starting>update delete Released a1 U", waits},
		},
		{
			name: "waits for its first hook", why: "B9: the new pod was created in it", spec: limit("1"),
			fleet: []spot{on("a", newPod(kit.Pending(), kit.Created(ago(time.Minute)), kit.PodLabel(lifecycle.StateLabel, "PreparingNormal"))).with(downFor(2 * time.Minute)), b},
			acts:  "patch a0 NewPod, delete b0 Outdated",
			want:  []string{"a: starting>update patch NewPod a0 X", goes},
		},
		{
			name: "down, then asked to let go", why: "B9: nobody there can answer the hook", spec: []kit.SpecOption{kit.MaxExempt("1"), kit.PreDeleteHook(drains)},
			fleet: []spot{on("a", oldPod(kit.Unready(), kit.PodLabel("hook", "on"), letGo(time.Minute))).with(downFor(2 * time.Minute)), b}, acts: "delete b0 Outdated",
			want: []string{"a: terminating>update wait PreDelete a0 hook X", goes},
		},
		{
			name: "let go by its hook", why: "B9: it was down when the hook was asked, and its pod does not go because nobody ends it", spec: limit("1"),
			fleet: []spot{on("a", deletedBefore(letGo(2*time.Minute))).with(downFor(3 * time.Minute)), b}, acts: "delete b0 Outdated",
			want: []string{"a: terminating>update wait Terminating X", goes},
		},
		{
			name: "down while its hook was asked", why: "B9: what the hook's handlers did may have taken it down", spec: limit("1"),
			fleet: []spot{on("a", deletedBefore(letGo(2*time.Minute))).with(downFor(90 * time.Second)), b},
			want:  []string{"a: terminating>update wait Terminating U", waits},
		},
		{
			name: "more than the limit", why: "B9: the first by name are left out; in a mass outage the rest stops the rollout", spec: limit("1"),
			fleet: []spot{on("a", unstarted(time.Minute)).with(downFor(2 * time.Minute)), on("aa", unstarted(time.Minute)).with(downFor(2 * time.Minute)), b},
			want:  []string{"a: starting>update wait NotReady a0 X", "aa: starting>update wait NotReady aa0 U", waits},
		},
		{
			name: "percentages round up", why: "B9: 34% of 3 is 2", spec: limit("34%"),
			fleet: []spot{on("a", unstarted(time.Minute)).with(downFor(2 * time.Minute)), on("aa", unstarted(time.Minute)).with(downFor(2 * time.Minute)), b},
			acts:  "delete b0 Outdated",
			want:  []string{"a: starting>update wait NotReady a0 X", "aa: starting>update wait NotReady aa0 X", goes},
		},
		{
			name: "beside maxUnschedulable", why: "B9: it uses no place of B8", spec: []kit.SpecOption{kit.MaxExempt("1"), kit.MaxUnschedulable("1")},
			fleet: []spot{on("a", unstarted(time.Minute)).with(downFor(2 * time.Minute)), on("aa", unschedulable()).with(up), b}, acts: "delete b0 Outdated",
			want: []string{"a: starting>update wait NotReady a0 X", "aa: starting>update wait NotReady aa0 X", goes},
		},
		{
			name: "surge places", why: "B9: it holds none", spec: []kit.SpecOption{kit.MaxExempt("1"), kit.MaxSurge("1")},
			fleet: []spot{on("a", oldPod(), unstarted(time.Minute)).with(downFor(2 * time.Minute)), b}, acts: "create b Outdated",
			want:  []string{"a: surging>update wait NotReady a1 X", "b: outdated>update surge Outdated S"},
			spent: "unavailable 0 of 0, surging 1 of 1, waiting 0",
		},
		{
			name: "available pods that outnumber desired", why: "M4: nodes left out are not waited for",
			spec: []kit.SpecOption{kit.MaxSurge("1"), kit.MaxExempt("1"), kit.TemplateNodeSelector("daemon", "yes")},
			fleet: []spot{
				on("a", unstarted(time.Minute)).with(downFor(2*time.Minute), kit.Label("daemon", "yes")),
				on("b", newPod()).with(up, kit.Label("daemon", "yes")), on("c", newPod()).with(up),
			},
			acts: "delete c0 Leaving",
			want: []string{"a: starting>update wait NotReady a0 X", "b: updated>update none UpToDate", "c: leaving>none delete Leaving c0"},
		},
		{
			name: "a keep node", why: "B9: it counts by its new pod (B2), unless it was down before that", spec: limit("1"),
			fleet: []spot{on("a", newPod(kit.Unready(), kit.Created(ago(time.Minute)))).with(downFor(2 * time.Minute)).keep(), b}, acts: "delete b0 Outdated",
			want: []string{"a: kept>none none Kept X", goes},
		},
		{
			name: "proven", why: "B9: its containers had run for ProvenAfter when it went down", spec: proven(time.Hour),
			fleet: []spot{on("a", startedPod(2*time.Hour)).with(downFor(time.Hour)), b}, acts: "delete b0 Outdated",
			want: []string{"a: starting>update wait NotReady a0 X", goes},
		},
		{
			name: "not proven for long enough", why: "B9: by a second", spec: proven(time.Hour),
			fleet: []spot{on("a", startedPod(2*time.Hour)).with(downFor(time.Hour + time.Second)), b},
			want:  []string{"a: starting>update wait NotReady a0 U", waits},
		},
		{
			name: "proven by what cannot be read", why: "B9: nobody knows since when its containers run what they should", spec: proven(time.Hour),
			fleet: []spot{on("a", startedPod(2*time.Hour, unreadableRecord)).with(downFor(time.Hour)), b},
			want:  []string{"a: starting>update wait InPlaceUnreadable a0 U", waits},
		},
		{
			name: "prepared pods go while it is down", why: "B3: a node left out is not down for the budget",
			spec:  []kit.SpecOption{kit.MaxExempt("1"), kit.PreDeleteHook(drains)},
			fleet: []spot{on("a", unstarted(time.Minute)).with(downFor(2 * time.Minute)), on("b", oldPod(kit.PodLabel(lifecycle.StateLabel, "PreparingDelete"))).with(up)},
			acts:  "delete b0 Released",
			want:  []string{"a: starting>update wait NotReady a0 X", "b: terminating>update delete Released b0 U"},
		},
		{
			name: "an update that was begun waits while it is down", why: "B3: a node left out needs room in the budget for the pod that serves",
			spec: []kit.SpecOption{kit.MaxExempt("1"), method(inplace.IfPossible)},
			fleet: []spot{
				on("a", newPod(kit.Unready())).with(up),
				on("b", oldPod(updatable, inState(lifecycle.PreparingUpdate),
					kit.PodAnnotation(lifecycle.TimestampAnnotation, ago(time.Minute).Format(time.RFC3339)))).with(downFor(2 * time.Minute)),
			},
			want: []string{"a: starting>update wait NotReady a0 U", "b: outdated>update wait Prepared b0 maxUnavailable X"},
		},
		{
			name: "long down and requested", why: "V15: what B9 does not wait for any more does not hide what B8 waits for",
			spec:     []kit.SpecOption{kit.MaxExempt("1"), kit.MaxUnschedulable("1")},
			fleet:    []spot{on("a", oldPod(kit.Unready(), kit.Terminating(ago(0))), oldPod(kit.Unready())).with(nodeReady(corev1.ConditionFalse)), b},
			deleting: []string{"a1"}, want: []string{"a: terminating>update wait Terminating U", waits},
		},
		{
			name: "a place of slow start", why: "B7: a prepared pod takes one when it goes, although its node is left out",
			spec:  []kit.SpecOption{kit.MaxExempt("1"), kit.MaxUnavailable("2"), kit.SlowStart(time.Minute, "1", "1")},
			fleet: []spot{on("a", oldPod(letGo(time.Minute))).with(downFor(2 * time.Minute)), b}, acts: "delete a0 Released",
			want: []string{"a: terminating>update delete Released a0 X", "b: outdated>update wait Budget b0 slowStart"},
		},
		{
			name: "room is taken once", why: "P-D: what the node that is left out takes is not there for another one",
			spec:  []kit.SpecOption{kit.MaxExempt("1")},
			fleet: []spot{on("a", oldPod(letGo(time.Minute))).with(downFor(2 * time.Minute)), b}, acts: "delete a0 Released",
			want: []string{"a: terminating>update delete Released a0 X", "b: outdated>update wait Budget b0 maxUnavailable"},
		},
		{
			name: "OnDelete", why: "T5: it uses no policy", spec: []kit.SpecOption{kit.OnDelete(), kit.MaxExempt("1")},
			fleet: []spot{on("a", unstarted(time.Minute)).with(downFor(2 * time.Minute))},
			want:  []string{"a: starting>update wait NotReady a0 U"},
		},
	}
}

func TestDepartingM8(t *testing.T) { playVerified(t, departingScenes()) }

func departingScenes() []scene {
	policy := []kit.SpecOption{kit.Outages(outage.Options{})}
	with := func(options ...kit.SpecOption) []kit.SpecOption { return append(options, policy...) }
	leaves := kit.PodLabel(lifecycle.StateLabel, "PreparingDelete")
	gated := "a: outdated>update wait Gated a0 departing"
	return []scene{
		{
			name: "nothing is begun", why: "M8: the update waits for the node to go or to come back", spec: policy,
			fleet: []spot{on("a", oldPod()).with(departingFor(0)), on("b", oldPod()).with(up)}, acts: "delete b0 Outdated",
			want:  []string{gated, "b: outdated>update replace Outdated b0 U"},
			spent: "unavailable 1 of 1, surging 0 of 0, waiting 0",
		},
		{
			name: "a pod that is not ready", why: "M8: nor is what disturbs nobody begun", spec: policy,
			fleet: []spot{on("a", oldPod(kit.Unready())).with(departingFor(0))},
			want:  []string{gated + " U"},
		},
		{
			name: "no update is begun on a drained node", why: "M8: that is by choice", spec: policy,
			fleet: []spot{on("a", oldPod()).with(beingDrained), on("b", oldPod()).with(up)}, acts: "delete b0 Outdated",
			want:  []string{"a: outdated>update wait Gated a0 draining", "b: outdated>update replace Outdated b0 U"},
			spent: "unavailable 1 of 1, surging 0 of 0, waiting 0",
		},
		{
			name: "none beside a pod either", why: "M8: surge begins an update, too", spec: with(kit.MaxSurge("1")),
			fleet: []spot{on("a", oldPod()).with(beingDrained)},
			want:  []string{"a: outdated>update wait Gated a0 draining"},
		},
		{
			name: "what is missing is created on a drained node", why: "M8: drains pass daemons by", spec: policy,
			fleet: []spot{on("a").with(beingDrained)}, acts: "create a Missing",
			want: []string{"a: missing>update create Missing U"},
		},
		{
			name: "what has failed there is replaced", why: "M8: M2 is as ever", spec: policy,
			fleet: []spot{on("a", oldPod(kit.Failed())).with(beingDrained)}, acts: "delete a0 OutdatedFailed",
			want: []string{"a: broken>update replace OutdatedFailed a0 U"},
		},
		{
			name: "drained, and touched", why: "M8: if the spec says so", spec: []kit.SpecOption{kit.Outages(outage.Options{Touch: true})},
			fleet: []spot{on("a", oldPod()).with(beingDrained)}, acts: "delete a0 Outdated",
			want: []string{"a: outdated>update replace Outdated a0 U"},
		},
		{
			name: "drained, without the policy", why: "M8: a node like any other",
			fleet: []spot{on("a", oldPod()).with(beingDrained)}, acts: "delete a0 Outdated",
			want: []string{"a: outdated>update replace Outdated a0 U"},
		},
		{
			name: "nothing is created", why: "M8", spec: policy,
			fleet: []spot{on("a").with(departingFor(0))},
			want:  []string{"a: missing>update wait Departing departing U"},
		},
		{
			name: "a failed pod stays", why: "M8: kubelets fail the pods of a node that shuts down", spec: policy,
			fleet: []spot{on("a", newPod(kit.Failed())).with(departingFor(0))},
			want:  []string{"a: broken>update wait Departing a0 departing U"},
		},
		{
			name: "a surplus pod stays", why: "M8", spec: policy,
			fleet: []spot{on("a", newPod(), newPod()).with(departingFor(0))},
			want:  []string{"a: updated>update wait Departing a1 departing"},
		},
		{
			name: "pods of a leave node stay", why: "M8", spec: policy,
			fleet: []spot{on("a", newPod()).with(departingFor(0)).leave()},
			want:  []string{"a: leaving>none wait Departing a0 departing"},
		},
		{
			name: "touched", why: "M8: if the spec says so", spec: []kit.SpecOption{kit.Outages(outage.Options{Touch: true})},
			fleet: []spot{on("a").with(departingFor(0))}, acts: "create a Missing",
			want: []string{"a: missing>update create Missing U"},
		},
		{
			name: "without the policy", why: "M8: a departing node is like any other",
			fleet: []spot{on("a").with(departingFor(0))}, acts: "create a Missing",
			want: []string{"a: missing>update create Missing U"},
		},
		{
			name: "marked for deletion", why: "M8", spec: policy,
			fleet: []spot{on("a").with(up, func(n *corev1.Node) { n.DeletionTimestamp = new(metav1.NewTime(kit.Noon())) })},
			want:  []string{"a: missing>update wait Departing departing U"},
		},
		{
			name: "tainted by the cluster autoscaler", why: "M8: the pods tolerate it",
			spec: with(func(s *rollout.Spec) {
				s.Template.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
			}),
			fleet: []spot{on("a").with(up, kit.Taint("ToBeDeletedByClusterAutoscaler", "1", corev1.TaintEffectNoSchedule))},
			want:  []string{"a: missing>update wait Departing departing U"},
		},
		{
			name: "not ready alone", why: "M8: a CNI daemon must start there", spec: policy,
			fleet: []spot{on("a").with(downFor(time.Minute))}, acts: "create a Missing",
			want: []string{"a: missing>update create Missing U"},
		},
		{
			name: "a condition of the spec", why: "M8",
			spec: []kit.SpecOption{kit.Outages(outage.Options{Conditions: []string{"example.com/Drained"}})},
			fleet: []spot{on("a").with(up, func(n *corev1.Node) {
				n.Status.Conditions = append(n.Status.Conditions, corev1.NodeCondition{Type: "example.com/Drained", Status: corev1.ConditionTrue})
			})},
			want: []string{"a: missing>update wait Departing departing U"},
		},
		{
			name: "no deletion is prepared", why: "M8: the hook is not asked", spec: with(kit.PreDeleteHook(drains)),
			fleet: []spot{on("a", oldPod(kit.PodLabel("hook", "on"))).with(departingFor(0))},
			want:  []string{gated},
		},
		{
			name: "a pod that was let go stays", why: "M8: it is deleted when the node is back", spec: with(kit.PreDeleteHook(drains)),
			fleet: []spot{on("a", oldPod(leaves)).with(departingFor(0))},
			want:  []string{"a: terminating>update wait Departing a0 departing U"},
		},
		{
			name: "an update in place that waits for its hook", why: "M8: nobody knows how long it would be out of service for nothing",
			spec:  with(kit.InPlaceIfPossible(), kit.InPlaceUpdateHook(drains)),
			fleet: []spot{on("a", oldPod(updatable, kit.PodLabel("hook", "on"), kit.PodLabel(lifecycle.StateLabel, "PreparingUpdate"))).with(departingFor(0))},
			acts:  "patch a0 TakenBack", want: []string{"a: outdated>update patch TakenBack a0 departing U"},
		},
		{
			name: "a first installation with a partition", why: "T7: another node gets the pod", spec: with(kit.Partition("1"), kit.PartitionedScaling()), set: noHistory,
			fleet: []spot{on("a").with(departingFor(0)), on("b").with(up)}, acts: "create b Missing",
			want: []string{"a: missing>update wait Departing departing U", "b: missing>update create Missing U"},
		},
		{
			name: "a first installation, and a departing node has failed", why: "T7, M8: nothing comes back there, so that it keeps no place",
			spec: with(kit.Partition("1"), kit.PartitionedScaling()), set: noHistory,
			fleet: []spot{on("a", newPod(kit.Failed())).with(departingFor(0)), on("b").with(up)}, acts: "create b Missing",
			want: []string{"a: broken>update wait Departing a0 departing U", "b: missing>update create Missing U"},
		},
		{
			name: "a first installation, and a departing node loses its pod", why: "T7, M8: likewise",
			spec: with(kit.Partition("1"), kit.PartitionedScaling()), set: noHistory,
			fleet: []spot{on("a", newPod(kit.Terminating(ago(0)))).with(departingFor(0)), on("b").with(up)}, acts: "create b Missing",
			want: []string{"a: terminating>update wait Terminating U", "b: missing>update create Missing U"},
		},
		{
			name: "a first installation, and a departing node serves", why: "T7: it has its place, and no other node gets one",
			spec: with(kit.Partition("1"), kit.PartitionedScaling()), set: noHistory,
			fleet: []spot{on("a", newPod()).with(departingFor(0)), on("b").with(up)},
			want:  []string{"a: updated>update none UpToDate", "b: missing>update hold PartitionedScaling partition U"},
		},
		{
			name: "a create of surge", why: "M8", spec: with(kit.MaxSurge("1")),
			fleet: []spot{on("a", oldPod()).with(departingFor(0))},
			want:  []string{gated},
		},
		{
			name: "out and departing", why: "B9: it departs, and its pod was deleted later", spec: []kit.SpecOption{kit.MaxExempt("1")},
			fleet: []spot{on("a", deletedBefore()).with(departingFor(2 * time.Minute)), on("b", oldPod()).with(up)}, acts: "delete b0 Outdated",
			want: []string{"a: terminating>update wait Terminating X", "b: outdated>update replace Outdated b0 U"},
		},
		{
			name: "slow start", why: "B7: no place is kept for a pod that is not created",
			spec:  with(kit.SlowStart(time.Minute, "1", "1")),
			fleet: []spot{on("a").with(departingFor(0)), on("b", oldPod(kit.Unready())).with(up)}, acts: "delete b0 OutdatedNotReady",
			want: []string{"a: missing>update wait Departing departing U", "b: outdated>update replace OutdatedNotReady b0 U"},
		},
		{
			name: "pods that linger", why: "M4: one that stays does not use up what others may spend",
			spec: with(kit.MaxSurge("1"), kit.TemplateNodeSelector("daemon", "yes")),
			fleet: []spot{
				on("a", newPod()).with(departingFor(0)), on("b", newPod()).with(up, kit.Label("daemon", "yes")), on("c", newPod()).with(up),
			},
			acts: "delete c0 Leaving",
			want: []string{
				"a: leaving>none wait Departing a0 departing", "b: updated>update none UpToDate", "c: leaving>none delete Leaving c0",
			},
		},
	}
}
