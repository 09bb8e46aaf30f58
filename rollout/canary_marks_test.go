package rollout_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/history"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
	"github.com/daemonplan/daemonplan/rollout/verify"
)

// A canary writes its verdicts on the history, in the same plan in which it gives them (C6).
func TestCanaryMarks(t *testing.T) {
	now := kit.Noon().Format(time.RFC3339)
	completedTwin := func(l *lab) {
		l.numbered(t, numbered{"old", 2}, numbered{"twin", 5}, numbered{"update", 9})
		withMark("old", history.PromotedAnnotation, "x")(l)
		withMark(twin, history.CompletedAnnotation, "x")(l)
	}
	tests := []struct {
		name, why string
		spec      []kit.SpecOption
		set       func(*lab)
		want      []string
	}{
		{"while it runs", "C6: the stable revision is marked, so that it cannot be mistaken later", nil, tryingOn("a"),
			[]string{"annotate old set promoted=" + now}},
		{"while it runs, marked already", "once", nil, withMark("old", history.PromotedAnnotation, "x"), nil},
		{"promoted", "C6", nil, sinceThen(time.Hour, "a"), []string{"annotate update set promoted=" + now}},
		{"failed by command", "C5, C6: with the reason", []kit.SpecOption{kit.Command(canary.Commands{Fail: canary.Any})}, withMark("old", history.PromotedAnnotation, "x"),
			[]string{"annotate update set failed=ByCommand"}},
		{"failed, and a duplicate was rolled out", "C5, T8: only a retry takes a fail back", nil, all(completedTwin, failedRevision),
			[]string{"annotate update set completed=" + now}},
		{"retried and failed by command, and a duplicate was rolled out", "C5, T8: what fails now keeps the mark",
			[]kit.SpecOption{kit.Command(canary.Commands{Fail: canary.Any, Retry: canary.Any})}, all(completedTwin, failedRevision),
			[]string{"annotate update set completed=" + now + " set failed=ByCommand set retried=*"}},
		{"no canary, no marks", "other sets have none", []kit.SpecOption{func(s *rollout.Spec) { s.Strategy.Canary = nil }}, nil, nil},
		{"no canary any more", "C6: a canary may come back, and then the stable revision must be right",
			[]kit.SpecOption{func(s *rollout.Spec) { s.Strategy.Canary = nil }}, withMark("old", history.PromotedAnnotation, "x"),
			[]string{"annotate update set promoted=" + now}},
		{"no canary any more, and it failed", "it is rolled out all the same, so that the mark of the fail goes",
			[]kit.SpecOption{func(s *rollout.Spec) { s.Strategy.Canary = nil }}, all(withMark("old", history.PromotedAnnotation, "x"), failedRevision),
			[]string{"annotate update set promoted=" + now + " remove failed remove failed-message"}},
		{"promoted after a retry, and the fail is seen only now", "C5, C6: the retry is on record, and the fail is not",
			[]kit.SpecOption{kit.Command(canary.Commands{Validate: canary.Any, Retry: canary.Any})}, all(failedRevision, rememberedPromotion),
			[]string{"annotate update set promoted=" + now + " set retried=* remove failed remove failed-message"}},
		{"promoted after a retry that is withdrawn, and the fail is seen only now", "C6: a revision has one verdict", nil,
			all(failedRevision, rememberedPromotion),
			[]string{"annotate update set promoted=" + now + " remove failed remove failed-message"}},
		{"promoted after a retry, and another template comes before the fail is seen", "C6: the stable revision has no mark of a fail", nil,
			all(failedRevision, rememberedPromotion, func(l *lab) { kit.Image("agent:v3")(&l.spec) }),
			[]string{"annotate update set promoted=" + now + " remove failed remove failed-message"}},
		{"frozen", "C6: a verdict is written down, whatever else rests", []kit.SpecOption{kit.Frozen()}, tryingOn("a"),
			[]string{"annotate old set promoted=" + now}},
		{"in flight", "what was asked for is not asked for again", nil, func(l *lab) {
			tryingOn("a")(l)
			for _, object := range l.snapshot.Revisions {
				l.snapshot.InFlight.Revisions = append(l.snapshot.InFlight.Revisions, object.Name)
			}
		}, nil},
	}
	rows := uniqueRows{}
	for _, tt := range tests {
		rows.check(t, tt.name, tt.why)
		t.Run(tt.name, func(t *testing.T) {
			l := newLab(append([]kit.SpecOption{kit.Canary("1")}, tt.spec...)...).add(on("a", trialPod()), on("b", oldPod()))
			if tt.set != nil {
				tt.set(l)
			}
			plan := l.plan(t)
			if diff := cmp.Diff(tt.want, l.marks(plan)); diff != "" {
				t.Errorf("actions on revisions, -want +got:\n%s why: %s", diff, tt.why)
			}
			for _, violation := range verify.Plan(l.spec, l.snapshot, &plan) {
				t.Error(violation)
			}
		})
	}
}

// rememberedPromotion is the memory of a promotion whose mark is not seen yet.
func rememberedPromotion(l *lab) {
	l.snapshot.Memory.Version = rollout.MemoryVersion
	l.snapshot.Memory.Canary = canary.Record{
		Revision: l.update, Verdict: &canary.Finding{Phase: canary.Idle, Reason: canary.Validated, At: kit.Noon()},
	}
}

// Of several revisions with the same data one stays. What was promoted as another of them is promoted, and that one is kept
// until the mark is on the one that stays (R3, C6).
func TestCanaryPromotedDuplicate(t *testing.T) {
	promoted := func(hash string) func(*lab) { return withMark(hash, history.PromotedAnnotation, "x") }
	rejected := func(l *lab) {
		l.snapshot.Memory.Version = rollout.MemoryVersion
		l.snapshot.Memory.Canary = canary.Record{Revision: l.update, Verdict: &canary.Finding{Phase: canary.Failed, Reason: canary.TimedOut}}
	}
	sharing := func(l *lab) {
		for _, revision := range l.snapshot.Revisions {
			if history.HashOf(revision) == twin {
				revision.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] = "older"
			}
		}
	}
	tests := []struct {
		name, why string
		set       func(*lab)
		revise    string
		phase     canary.Phase
	}{
		{"the duplicate alone is promoted", "the mark is set first", promoted(twin), "annotate update 9, delete older 1, delete oldest 8", canary.Idle},
		{"both are", "then the duplicate goes", all(promoted(twin), promoted("update")), "delete twin 5, delete older 1, delete oldest 8", canary.Idle},
		{"the one that stays is", "nothing stands on the duplicate", promoted("update"), "delete twin 5, delete older 1, delete oldest 8", canary.Idle},
		{"the duplicate is promoted, the one that stays has failed", "a promotion counts more", all(promoted(twin), failedRevision),
			"annotate update 9, delete older 1, delete oldest 8", canary.Idle},
		{"the duplicate is promoted, a fail is remembered", "a promotion counts more", all(promoted(twin), rejected),
			"annotate update 9, delete older 1, delete oldest 8", canary.Idle},
		{"the duplicate alone is promoted, and has the hash of another template", "what it says counts all the same",
			all(promoted(twin), sharing), "annotate update 9, delete older 1, delete oldest 8", canary.Idle},
		{"neither is", "the revision is on trial", promoted("old"), "delete twin 5, delete older 1, delete oldest 8", canary.Running},
	}
	rows := uniqueRows{}
	for _, tt := range tests {
		rows.check(t, tt.name, tt.why)
		t.Run(tt.name, func(t *testing.T) {
			l := newLab(kit.Canary("1"), kit.HistoryLimit(0)).add(on("a", newPod()), on("b", oldPod()))
			l.numbered(t, numbered{"older", 1}, numbered{"old", 2}, numbered{"twin", 5}, numbered{"oldest", 8}, numbered{"update", 9})
			tt.set(l)
			plan := l.plan(t)
			if got := l.revise(plan); got != tt.revise || plan.Canary.Phase != tt.phase {
				t.Errorf("\n got: %s, %s\nwant: %s, %s\n why: %s", got, plan.Canary.Phase, tt.revise, tt.phase, tt.why)
			}
			for _, violation := range verify.Plan(l.spec, l.snapshot, &plan) {
				t.Error(violation)
			}
		})
	}
}

// marks writes the annotate actions of a plan, messages left out.
func (l *lab) marks(plan rollout.Plan) []string {
	var list []string
	for _, action := range plan.Revisions {
		if action.Verb != rollout.AnnotateRevision {
			continue
		}
		s := "annotate " + map[string]string{"agent-" + l.update: "update", "agent-" + l.old: "old"}[action.Name]
		for _, key := range []string{
			history.CompletedAnnotation, history.PromotedAnnotation, history.FailedAnnotation, history.RetriedAnnotation,
		} {
			if value, ok := action.Annotations[key]; ok {
				s += " set " + key[len("daemonplan.io/"):] + "=" + value
			}
		}
		for _, key := range action.RemoveAnnotations {
			s += " remove " + key[len("daemonplan.io/"):]
		}
		list = append(list, s)
	}
	return list
}

// What a frozen set has never written is nothing to go back to (C6, T4): the next template is the first installation.
func TestCanaryThawedC6(t *testing.T) {
	first := kit.Spec("agent", kit.Canary("1"), kit.Frozen(), kit.Image("agent:v1"))
	snapshot := rollout.Snapshot{Now: kit.Noon(), Nodes: kit.Nodes("a", "b")}
	snapshot.Memory = mustPlan(first, snapshot).Memory
	then := mustPlan(kit.Changed(first, objects.Rolling(), kit.Image("agent:v2")), snapshot)
	if len(then.Creates) != 2 {
		t.Errorf("%d creates, want two: %s", len(then.Creates), then.Explain("b"))
	}
}

// A fail that only the memory knows, because somebody has deleted all revisions, survives a plan of the frozen set, which writes none
// (C5, C6): otherwise the failed revision would be the first installation of the thawed set.
func TestCanaryFrozenFailC6(t *testing.T) {
	frozen := kit.Spec("agent", kit.Canary("1"), kit.Frozen())
	hash := kit.Hash(frozen)
	snapshot := rollout.Snapshot{Now: kit.Noon(), Nodes: kit.Nodes("a", "b"), Memory: rollout.Memory{
		Version: rollout.MemoryVersion, Rollout: rollout.Record{Revision: hash, Began: kit.Noon()},
		Canary: canary.Record{Revision: hash, Verdict: &canary.Finding{Phase: canary.Failed, Reason: canary.TimedOut, At: kit.Noon()}},
	}}
	plan := mustPlan(frozen, snapshot)
	for _, violation := range verify.Plan(frozen, snapshot, plan) {
		t.Error(violation)
	}
	snapshot.Memory = plan.Memory
	if thawed := mustPlan(kit.Changed(frozen, objects.Rolling()), snapshot); thawed.Canary.Phase != canary.Failed {
		t.Errorf("the canary is %v %v, want failed", thawed.Canary.Phase, thawed.Canary.Reason)
	}
}

// The stable revision of a frozen set whose revisions somebody has deleted stays remembered (C6): what a command promotes is no first
// installation in the next plan.
func TestCanaryFrozenStableC6(t *testing.T) {
	frozen := kit.Spec("agent", kit.Canary("1"), kit.Frozen(), func(s *rollout.Spec) { s.Strategy.Canary.Commands.Validate = canary.Any })
	snapshot := rollout.Snapshot{Now: kit.Noon(), Nodes: kit.Nodes("a", "b"), Memory: rollout.Memory{
		Version: rollout.MemoryVersion, Rollout: rollout.Record{Stable: "7cb9b945f9"},
	}}
	for i := range 2 {
		plan := mustPlan(frozen, snapshot)
		if plan.Canary.Phase != canary.Idle || plan.Canary.Reason != canary.Validated {
			t.Errorf("plan %d: the canary is %v %v, want idle, validated", i, plan.Canary.Phase, plan.Canary.Reason)
		}
		for _, violation := range verify.Plan(frozen, snapshot, plan) {
			t.Error(violation)
		}
		snapshot.Memory = plan.Memory
	}
}

// A first installation has no canary, and its revision is promoted as it is created (C6).
func TestCanaryFirstInstallation(t *testing.T) {
	l := newLab(kit.Canary("1")).add(on("a"), on("b"))
	l.snapshot.Revisions = nil
	plan := l.plan(t)
	if len(plan.Revisions) != 1 || plan.Revisions[0].Verb != rollout.CreateRevision || !history.Promoted(plan.Revisions[0].Object) {
		t.Errorf("got %+v, want one revision, created with the mark of a promotion", plan.Revisions)
	}
	if got, want := acts(plan), "create a Missing, create b Missing"; got != want {
		t.Errorf("got %s, want %s: a first installation needs no canary", got, want)
	}
	if plan.Canary.Phase != canary.Idle || plan.Canary.Reason != canary.FirstInstallation {
		t.Errorf("the canary is %v %v, want idle, a first installation", plan.Canary.Phase, plan.Canary.Reason)
	}
}

// The stable revision is the last promoted one, also while its mark is not written yet (C6).
func TestCanaryStable(t *testing.T) {
	third := func(l *lab) { // a third template comes while the second is on trial
		kit.Image("agent:v3")(&l.spec)
		l.snapshot.Memory.Version = rollout.MemoryVersion
		l.snapshot.Memory.Rollout = rollout.Record{Revision: l.update, Stable: l.old}
		l.snapshot.Memory.Canary = canary.Record{Revision: l.update, Nodes: []string{"b"}}
	}
	tests := []struct {
		name, why, want string
		set             func(*lab)
		fleet           []spot
	}{
		{"remembered", "a new template starts from the stable revision, not from the one on trial", "old", third,
			[]spot{on("a", oldPod()), on("b", newPod())}},
		{"marked", "with the memory lost, the mark tells", "old", func(l *lab) {
			withMark("old", history.PromotedAnnotation, "x")(l)
			third(l)
			l.snapshot.Memory = rollout.Memory{}
		}, []spot{on("a", oldPod()), on("b", newPod())}},
		{"gone from the history", "fail closed: what somebody deleted does not make the revision on trial a first installation", "old", func(l *lab) {
			third(l)
			l.snapshot.Revisions = nil
		}, []spot{on("a", oldPod()), on("b", newPod())}},
		{"marked twice", "C6: the last one", "update", func(l *lab) {
			withMark("old", history.PromotedAnnotation, "x")(l)
			withMark("update", history.PromotedAnnotation, "y")(l)
			third(l)
		}, []spot{on("a", oldPod()), on("b", newPod())}},
		{"neither", "the highest that a live pod carries", "update", func(l *lab) {
			third(l)
			l.snapshot.Memory = rollout.Memory{}
		}, []spot{on("a", oldPod()), on("b", newPod())}},
		{"neither, and failed", "a failed revision is none to go back to", "old", func(l *lab) {
			failedRevision(l)
			third(l)
			l.snapshot.Memory = rollout.Memory{}
		}, []spot{on("a", oldPod()), on("b", newPod())}},
		{"neither, and the others are empty", "the history knows what was before", "old", nil, []spot{on("a", newPod()), on("b")}},
		{"neither, and all are empty", "the history knows what was before", "old", nil, []spot{on("a"), on("b")}},
		{"neither, and it has failed", "there is something to go back to", "old", failedRevision, []spot{on("a", newPod()), on("b", newPod()), on("c")}},
		{"neither, and the others have it", "it was rolled out before revisions were tried", "update", nil,
			[]spot{on("a", newPod()), on("b", newPod()), on("c")}},
		{"neither, and it is leaving the others", "a pod on its way out shows nothing", "old", nil,
			[]spot{on("a", newPod()), on("b", newPod(terminating())), on("c")}},
		{"neither, and the one before has failed", "there is nothing to go back to", "update", withMark("old", history.FailedAnnotation, "x"),
			[]spot{on("a", newPod()), on("b")}},
	}
	rows := uniqueRows{}
	for _, tt := range tests {
		rows.check(t, tt.name, tt.why)
		t.Run(tt.name, func(t *testing.T) {
			l := newLab(kit.Canary("1")).add(tt.fleet...)
			if tt.set == nil {
				tt.set = func(*lab) {}
			}
			tt.set(l)
			plan := l.plan(t)
			if plan.Canary.Stable != l.hash(tt.want) {
				t.Errorf("stable is %s, want %s, %s: %s", plan.Canary.Stable, tt.want, l.hash(tt.want), tt.why)
			}
			for _, violation := range verify.Plan(l.spec, l.snapshot, &plan) {
				t.Error(violation)
			}
		})
	}
}

// The canary's nodes are chosen again where they have to be (C1).
func TestCanaryNodes(t *testing.T) {
	shaky := on("a", oldPod(func(p *corev1.Pod) {
		p.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "init", RestartCount: 1}}
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", RestartCount: 1}}
	}))
	shakier := on("b", oldPod(func(p *corev1.Pod) {
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", RestartCount: 3}, {Name: "side", RestartCount: -4}}
	}))
	tests := []struct {
		name, why string
		spec      []kit.SpecOption
		set       func(*lab)
		fleet     []spot
		want      []string
	}{
		{"fewest restarts", "C1", nil, nil, []spot{shaky, shakier, on("c", oldPod())}, []string{"c"}},
		{"second fewest restarts", "C1: those of all containers, init containers included", []kit.SpecOption{kit.Canary("2")}, nil,
			[]spot{shaky, shakier, on("c", oldPod())}, []string{"a", "c"}},
		{"sticky", "C1: chosen nodes stay chosen", nil, tryingOn("c"), []spot{on("a", oldPod()), on("b", oldPod()), on("c", oldPod())}, []string{"c"}},
		{"lost memory", "C6: on the nodes that have the update already", nil, nil, []spot{on("a", oldPod()), on("b", oldPod()), on("c", newPod())}, []string{"c"}},
		{"containers that never restarted", "C1: however many there are", nil, nil, []spot{on("a", oldPod(func(p *corev1.Pod) {
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", RestartCount: 1}}
		})), on("b", oldPod(func(p *corev1.Pod) {
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main"}, {Name: "side"}}
		}))}, []string{"b"}},
		{"cordoned for good", "C1: one that is no longer run is replaced", nil, tryingOn("c"),
			[]spot{on("a", oldPod()), on("b", oldPod()), on("c", newPod()).keep().with(nodeReady(corev1.ConditionTrue))}, []string{"a"}},
		{"not ready, perhaps by the pod", "C1: what its pod last said is no evidence", nil, tryingOn("c"),
			[]spot{on("a", oldPod()), on("b", oldPod()), on("c", newPod()).keep().with(nodeReady(corev1.ConditionFalse))}, []string{"c"}},
		{"failed, and none to go back to", "C7: nothing is tried, so no node is chosen", nil, func(l *lab) {
			failedRevision(l)
			l.snapshot.Revisions = l.snapshot.Revisions[1:]
		}, []spot{on("a", newPod()), on("b", newPod())}, nil},
		{"lost memory, another template", "C1: the label tells which nodes were chosen", nil, func(l *lab) { kit.Image("agent:v3")(&l.spec) },
			[]spot{on("a", oldPod()), on("b", oldPod()), on("c", trialPod())}, []string{"c"}},
		{"broken, perhaps by the pod", "C1, B2: a revision that breaks its nodes does not wander over the fleet", nil, tryingOn("c"),
			[]spot{on("a", oldPod()), on("b", oldPod()), on("c", newPod(kit.Unready())).keep()}, []string{"c"}},
		{"on its way out", "C1: what leaves is no evidence", nil, tryingOn("c"),
			[]spot{on("a", oldPod()), on("b", oldPod()), on("c", newPod(kit.Unready(), terminating())).keep()}, []string{"a"}},
		{"vanished", "C1", nil, tryingOn("x"), []spot{on("a", oldPod()), on("b", oldPod())}, []string{"a"}},
		{"percent", "C1: rounded up", []kit.SpecOption{kit.Canary("50%")}, nil,
			[]spot{on("a", oldPod()), on("b", oldPod()), on("c", oldPod())}, []string{"a", "b"}},
		{"never all by accident", "95% of two would be all", []kit.SpecOption{kit.Canary("95%")}, nil,
			[]spot{on("a", oldPod()), on("b", oldPod())}, []string{"a"}},
	}
	rows := uniqueRows{}
	for _, tt := range tests {
		rows.check(t, tt.name, tt.why)
		t.Run(tt.name, func(t *testing.T) {
			l := newLab(append([]kit.SpecOption{kit.Canary("1")}, tt.spec...)...).add(tt.fleet...)
			if tt.set != nil {
				tt.set(l)
			}
			plan := l.plan(t)
			if diff := cmp.Diff(tt.want, plan.Canary.Nodes); diff != "" {
				t.Errorf("canary nodes, -want +got:\n%s why: %s", diff, tt.why)
			}
			if diff := cmp.Diff(tt.want, plan.Memory.Canary.Nodes); diff != "" {
				t.Errorf("remembered nodes, -want +got:\n%s", diff)
			}
		})
	}
}

// Pods of canary nodes are created with the canary label, others without.
func TestCanaryPodLabel(t *testing.T) {
	l := newLab(kit.Canary("1")).add(on("a"), on("b"))
	all(withMark("old", history.PromotedAnnotation, "x"), tryingOn("a"))(l)
	planner, err := rollout.New(l.spec)
	if err != nil {
		t.Fatal(err)
	}
	plan := l.plan(t)
	got := map[string]string{}
	for _, create := range plan.Creates {
		pod, err := planner.Pod(create)
		if err != nil {
			t.Fatal(err)
		}
		got[create.Node] = pod.Labels[rollout.CanaryLabel] + " " + pod.Spec.Containers[0].Image
	}
	if diff := cmp.Diff(map[string]string{"a": "true agent:v2", "b": " agent:v1"}, got); diff != "" {
		t.Errorf("label and image, -want +got:\n%s", diff)
	}
}

// Without a canary, labels that an earlier one has left are taken off: the memory shows that there was one.
func TestCanaryLabelAfterwards(t *testing.T) {
	l := newLab().add(on("a", trialPod()), on("b", newPod()))
	tryingOn("a")(l)
	plan := l.plan(t)
	if got, want := acts(plan), "patch a0 CanaryLabel"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := plan.Memory.Canary.Nodes; len(got) != 1 {
		t.Errorf("nodes remembered: %v, want a, until the label is gone", got)
	}
	for _, pod := range l.snapshot.Pods {
		delete(pod.Labels, rollout.CanaryLabel)
	}
	if plan := l.plan(t); !plan.Empty() || plan.Memory.Canary.Nodes != nil {
		t.Errorf("got %s and %v remembered, want nothing", acts(plan), plan.Memory.Canary.Nodes)
	}
}

// A deletion that is only in flight does not make the revision of its pod one that nobody carries: with the memory lost, and
// before the first mark is seen, the update revision would be promoted without a trial (C6).
func TestCanaryDeletionInFlight(t *testing.T) {
	l := scene{spec: []kit.SpecOption{kit.Canary("1")}, fleet: []spot{on("a", oldPod())}, deleting: []string{"a0"}}.lab()
	if got := l.plan(t).Canary.Phase; got != canary.Running {
		t.Errorf("the canary is %s, want running", got)
	}
}

// The state says when nothing but a person can make a canary go on (S2).
func TestCanaryState(t *testing.T) {
	tests := []struct {
		name, why string
		spec      []kit.SpecOption
		set       func(*lab)
		want      string
	}{
		{"running", "S2", nil, tryingOn("a"), "Canary CanaryOnTrial"},
		{"paused", "S2", nil, paused("a"), "CanaryPaused CanaryOnHold"},
		{"failed", "S2", nil, failedRevision, "CanaryFailed CanaryRejected"},
		{"without nodes", "S2: a canary without nodes is stuck", []kit.SpecOption{kit.CanaryOn("canary", "yes")}, nil, "Stuck CanaryWithoutNodes"},
		{"held by the partition", "S2: its node will not be updated", []kit.SpecOption{partition("100%")}, withMark("old", history.PromotedAnnotation, "x"),
			"Stuck CanaryHeld"},
		{"held, as it cannot be in place", "S2, I1", []kit.SpecOption{kit.InPlaceOnly()}, withMark("old", history.PromotedAnnotation, "x"), "Stuck CanaryHeld"},
		{"another node uses up the budget", "P-A: nobody brings the pod that it waits for", nil, func(l *lab) {
			l.add(on("c", oldPod(kit.Unready(), unreadySince(ago(time.Hour)))).with(kit.Unreachable()))
			tryingOn("a")(l)
			withMark("old", history.PromotedAnnotation, "x")(l)
		}, "Stuck PodsNotServing"},
		{"the set is paused", "S2: that counts first", []kit.SpecOption{kit.Paused()}, tryingOn("a"), "Paused PausedBySpec"},
		{"promoted", "S2: the rollout goes on", nil, withMark("update", history.PromotedAnnotation, "x"), "Updating RolloutInProgress"},
	}
	rows := uniqueRows{}
	for _, tt := range tests {
		rows.check(t, tt.name, tt.why)
		t.Run(tt.name, func(t *testing.T) {
			l := newLab(append([]kit.SpecOption{kit.Canary("1")}, tt.spec...)...).add(on("a", oldPod()), on("b", oldPod()))
			if tt.set != nil {
				tt.set(l)
			}
			got := l.plan(t).Status
			if got := got.State.String() + " " + got.Reason.String(); got != tt.want {
				t.Errorf("got %s, want %s: %s", got, tt.want, tt.why)
			}
		})
	}
}

// What the pods of a canary had restarted before it is remembered once for each pod (C3).
func TestCanaryBaselines(t *testing.T) {
	l := newLab(kit.Canary("2")).add(on("a", newPod()), on("b", newPod()), on("c", oldPod()))
	tryingOn("a", "b")(l)
	var got []string
	for _, before := range l.plan(t).Memory.Canary.Before {
		got = append(got, string(before.UID))
	}
	if diff := cmp.Diff([]string{"pod-a0", "pod-b0"}, got); diff != "" {
		t.Errorf("pods, -want +got:\n%s", diff)
	}
}
