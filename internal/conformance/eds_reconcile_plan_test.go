package conformance_test

import (
	"cmp"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/history"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
	"github.com/daemonplan/daemonplan/status"
)

// edsDecisionOf returns what the plan decides about the set: the revision that all nodes but the canary's are to end at, and the
// revision on trial.
func edsDecisionOf(c *edsReconcile, plan rollout.Plan, images map[string]string) edsDecision {
	trial := plan.Canary
	d := edsDecision{active: edsImage(c.Input.Set.Spec.Template), image: edsImage(c.Input.Set.Spec.Template)}
	for _, a := range plan.Revisions {
		d.created += int(count(a.Verb == rollout.CreateRevision))
		d.deleted += int(count(a.Verb == rollout.DeleteRevision))
	}
	switch trial.Phase {
	case canary.Running, canary.Paused:
		d.active, d.trial = images[trial.Stable], edsImage(c.Input.Set.Spec.Template)
		d.state = map[canary.Phase]string{canary.Running: "Canary", canary.Paused: "Canary Paused"}[trial.Phase]
		return d
	case canary.Failed:
		d.active, d.state = images[trial.Stable], "Canary Failed"
		return d
	}
	d.state = "Running"
	switch plan.Status.State {
	case status.Paused:
		d.state = "RollingUpdate Paused"
	case status.Frozen:
		d.state = "Rollout frozen"
	}
	return d
}

// cluster makes up a cluster in which the set's pods are where its status shows them. The canary nodes have had healthy pods of
// the replica set on trial since it was created. All other nodes have healthy pods of the active replica set.
func (c *edsReconcile) cluster(t *testing.T, spec rollout.Spec) (rollout.Snapshot, map[string]string) {
	t.Helper()
	s := rollout.Snapshot{Now: c.Input.Now, Nodes: c.Input.Nodes, Memory: rollout.Memory{Version: rollout.MemoryVersion}}
	images, hashes := make(map[string]string), make(map[*edsReplicaSet]string)
	update, active := c.upToDate(), c.replica(c.Input.Set.Status.ActiveReplicaSet)
	for i, r := range c.Input.ReplicaSets {
		of := spec
		of.Template = *r.Spec.Template.DeepCopy()
		of.Template.Labels, of.Template.Annotations = spec.Template.Labels, spec.Template.Annotations
		object := kit.Revision(of, int64(i+1))
		hash := object.Labels[appsv1.DefaultDaemonSetUniqueLabelKey]
		images[hash], hashes[r] = edsImage(r.Spec.Template), hash
		if r == active && spec.Strategy.Canary != nil {
			object.Annotations = map[string]string{history.PromotedAnnotation: "2026-01-01T00:00:00Z"}
		}
		if r == update && r.holds("Canary-Failed") {
			if object.Annotations == nil {
				object.Annotations = make(map[string]string)
			}
			object.Annotations[history.FailedAnnotation] = "TooManyRestarts"
		}
		if options := spec.Strategy.Canary; options != nil && options.Commands.Validate == r.Name {
			options.Commands.Validate = object.Name
		}
		s.Revisions = append(s.Revisions, object)
	}
	runs := active
	if runs == nil {
		runs = c.carried()
	}
	chosen := make(map[string]bool)
	if update != nil && update != runs {
		record := &s.Memory.Canary
		*record = canary.Record{Revision: hashes[update], Began: update.CreationTimestamp.Time, Nodes: c.chosen(update)}
		for _, name := range record.Nodes {
			chosen[name] = true
		}
		switch {
		case update.holds("Canary-Paused"):
			record.Pause = &canary.Finding{Phase: canary.Paused, Reason: canary.TooManyRestarts, At: c.Input.Now}
		case c.ran(update):
			record.Since = update.CreationTimestamp.Time
		}
		if restart := update.condition("PodRestarting"); restart != nil {
			record.Disturbed = restart.LastUpdateTime.Time
		}
	}
	for _, n := range c.Input.Nodes {
		of, since := runs, c.Input.Now.Add(-1)
		if chosen[n.Name] {
			of, since = update, update.CreationTimestamp.Time
		}
		if of != nil && len(n.Spec.Taints) == 0 {
			s.Pods = append(s.Pods, kit.Pod("pod-"+n.Name, kit.OnNode(n.Name), kit.AtRevision(hashes[of]),
				kit.Created(since), kit.Ready(since), kit.ControlledBy(spec)))
		}
	}
	return s, images
}

// TestConformanceEDSReconcile compares what is decided about the set: which revision is active, which is on trial, whether that
// is paused, has failed or is promoted, and what a failed canary restores.
func TestConformanceEDSReconcile(t *testing.T) {
	agree, explained, refused := 0, 0, 0
	needed, seen := make(map[int]int), make(map[int]int)
	for _, c := range edsLines[edsReconcile](t, "eds-reconcile") {
		spec, err := edsSpec(c.Input.Set, nil)
		if o := c.options(); o != nil && *o.AutoFail.MaxRestarts <= *o.AutoPause.MaxRestarts {
			refused++
			assertEDSRefused(t, c.Name, err, "spec.strategy.canary.autoFail.maxRestarts")
			continue
		}
		if path := edsRefused(&c.Input.Set); path != "" {
			refused++
			assertEDSRefused(t, c.Name, err, path)
			continue
		}
		if err != nil {
			t.Fatalf("%s: %v", c.Name, err)
		}
		if o := spec.Strategy.Canary; o != nil && o.Mode == "" {
			o.Mode = canary.Mode(c.Input.DefaultMode)
		}
		plan, images := c.plan(t, spec)
		for r, holds := range edsSetInvariants {
			there, problem := holds(c, spec, plan)
			if seen[r] += int(count(there)); problem != "" {
				t.Errorf("%s: %s (%s): %s", c.Name, edsSetEntries[r].id, edsSetEntries[r].rule, problem)
			}
		}
		got := edsDecisionOf(c, plan, images)
		rules := edsSetRules - 1
		if want := c.outcome(rules); got != want {
			t.Errorf("%s %v: unexplained:\n     plan %+v %v\n    rules %+v\ncontroller %+v", c.Name, c.Features, got,
				plan.Canary, want, c.recorded())
			continue
		}
		for r := edsSetRules >> 1; r > 0; r >>= 1 {
			if c.outcome(rules&^r) == got {
				rules &^= r
			}
		}
		for r := range edsSetEntries {
			needed[r] += (rules & r) / r
		}
		if rules == 0 {
			agree++
		} else {
			explained++
		}
	}
	t.Logf("%d agree, %d explained, %d refused", agree, explained, refused)
	for r := 1; r < edsSetRules; r <<= 1 {
		e := edsSetEntries[r]
		t.Logf("%4d cases need it, its assertion sees %d: %s (%s): %s", needed[r], seen[r], e.id, e.rule, e.why)
		if (needed[r] == 0 || seen[r] == 0) != edsSetUnrecorded[r] && !edsElsewhere() {
			t.Errorf("no case needs %s, or nothing is to be seen of it, unrecorded: %v", e.id, edsSetUnrecorded[r])
		}
	}
}

func (c *edsReconcile) plan(t *testing.T, spec rollout.Spec) (rollout.Plan, map[string]string) {
	t.Helper()
	spec.UID = cmp.Or(spec.UID, "uid-set")
	snapshot, images := c.cluster(t, spec)
	planner, err := rollout.New(spec)
	if err != nil {
		t.Fatalf("%s: New: %v", c.Name, err)
	}
	plan, err := planner.Plan(snapshot)
	if err != nil {
		t.Fatalf("%s: Plan: %v", c.Name, err)
	}
	verifyEDS(t, c.Name, spec, snapshot, plan)
	return plan, images
}

// edsSetInvariants assert what each entry about the set says of our plans, without the model.
var edsSetInvariants = map[int]func(c *edsReconcile, spec rollout.Spec, plan rollout.Plan) (seen bool, problem string){
	edsOneCall: func(c *edsReconcile, spec rollout.Spec, plan rollout.Plan) (bool, string) {
		fresh := c.upToDate() == nil && !spec.Strategy.Frozen
		created := slices.ContainsFunc(plan.Revisions,
			func(a rollout.RevisionAction) bool { return a.Verb == rollout.CreateRevision })
		tried := plan.Canary.Phase != canary.Running || len(plan.Canary.Nodes) > 0
		return fresh, edsProblem(fresh && (!created || !tried), "the new revision is created: %v, tried at once: %v",
			created, tried)
	},
	edsTooFew: func(c *edsReconcile, spec rollout.Spec, plan rollout.Plan) (bool, string) {
		o := spec.Strategy.Canary
		few := plan.Canary.Phase == canary.Running && o.Replicas != nil && o.Replicas.IntValue() > len(c.Input.Nodes)-c.tainted()
		return few, edsProblem(few && len(plan.Canary.Nodes) != len(c.Input.Nodes)-c.tainted(),
			"not all nodes there are: %v", plan.Canary.Nodes)
	},
	edsMustRun: func(c *edsReconcile, _ rollout.Spec, plan rollout.Plan) (bool, string) {
		promoted := plan.Canary.Reason == canary.Promoted
		return promoted, edsProblem(promoted && !c.ran(c.upToDate()), "promoted, but never ran on all canary nodes")
	},
	edsHaltedRests: func(_ *edsReconcile, spec rollout.Spec, plan rollout.Plan) (bool, string) {
		frozen := spec.Strategy.Frozen
		rests := !slices.ContainsFunc(plan.Revisions,
			func(a rollout.RevisionAction) bool { return a.Verb != rollout.AnnotateRevision })
		return frozen, edsProblem(frozen && (!rests || plan.Canary.Reason == canary.Promoted),
			"frozen, but not at rest: %v", plan.Revisions)
	},
	edsFailedStays: func(c *edsReconcile, spec rollout.Spec, plan rollout.Plan) (bool, string) {
		update, active := c.upToDate(), c.replica(c.Input.Set.Status.ActiveReplicaSet)
		failed := spec.Strategy.Canary != nil && update != nil && active != nil &&
			update != active && update.holds("Canary-Failed")
		return failed, edsProblem(failed && plan.Canary.Phase != canary.Failed, "a failed revision is %v", plan.Canary.Phase)
	},
	edsPromotedIsGood: func(c *edsReconcile, spec rollout.Spec, plan rollout.Plan) (bool, string) {
		update := c.upToDate()
		good := spec.Strategy.Canary != nil && update != nil && update == c.replica(c.Input.Set.Status.ActiveReplicaSet)
		return good, edsProblem(good && plan.Canary.Phase != canary.Idle, "a promoted revision is %v", plan.Canary.Phase)
	},
	edsLostActive: func(c *edsReconcile, spec rollout.Spec, plan rollout.Plan) (bool, string) {
		lost := spec.Strategy.Canary != nil && c.replica(c.Input.Set.Status.ActiveReplicaSet) == nil && c.carried() != nil
		return lost, edsProblem(lost && plan.Canary.Revision == plan.Canary.Stable, "no revision to go back to")
	},
	edsHistoryLimit: func(c *edsReconcile, _ rollout.Spec, plan rollout.Plan) (bool, string) {
		deletes := slices.ContainsFunc(plan.Revisions,
			func(a rollout.RevisionAction) bool { return a.Verb == rollout.DeleteRevision })
		few := len(c.Input.ReplicaSets) <= rollout.DefaultRevisionHistoryLimit
		return few && len(c.Input.ReplicaSets) > 2, edsProblem(few && deletes, "a revision within the limit is deleted")
	},
	edsLeftInStatus: func(c *edsReconcile, spec rollout.Spec, plan rollout.Plan) (bool, string) {
		left := spec.Strategy.Canary == nil && c.Input.Set.Status.Canary != nil
		return left, edsProblem(left && plan.Canary.Phase != canary.Idle, "without a canary there is one that is %v", plan.Canary.Phase)
	},
	edsSpecIsTheUsers: func(_ *edsReconcile, _ rollout.Spec, plan rollout.Plan) (bool, string) {
		failed := plan.Canary.Phase == canary.Failed
		return failed, edsProblem(failed && slices.ContainsFunc(plan.Decisions, func(d rollout.Decision) bool {
			return d.Target == rollout.TargetUpdate && plan.Canary.Stable != plan.Canary.Revision
		}), "a node is to end at a failed revision")
	},
}

// TestConformanceEDSLeftInStatus: a set that has no canary any more keeps in its status the one that it had, and here nothing is on
// trial. Each recording of a set with a canary in its status is one of that, once the canary is taken out of the spec.
func TestConformanceEDSLeftInStatus(t *testing.T) {
	left := 0
	for _, c := range edsLines[edsReconcile](t, "eds-reconcile") {
		if c.Input.Set.Status.Canary == nil || c.undefaulted() || edsRefused(&c.Input.Set) != "" {
			continue
		}
		c.Input.Set.Spec.Strategy.Canary = nil
		spec, err := edsSpec(c.Input.Set, nil)
		if err != nil {
			t.Fatalf("%s: %v", c.Name, err)
		}
		if c.upToDate() == nil {
			continue // the controller does nothing else in that call
		}
		theirs := c.outcome(edsSetRules - 1 - edsLeftInStatus)
		if want := c.imageOf(c.Input.Set.Status.Canary.ReplicaSet); theirs.trial != want {
			t.Errorf("%s: by the model %q is on trial, want %q", c.Name, theirs.trial, want)
		}
		plan, images := c.plan(t, spec)
		if got, want := edsDecisionOf(c, plan, images), c.outcome(edsSetRules-1); got != want || got.trial != "" {
			t.Errorf("%s: the plan %+v, right is %+v", c.Name, got, want)
		}
		left++
	}
	if left == 0 && !edsElsewhere() {
		t.Error("no recording has a canary in the status of a set")
	}
}

// TestConformanceEDSTooFew: whether the controller finds enough canary nodes, whatever their order.
func TestConformanceEDSTooFew(t *testing.T) {
	node := func(name, zone string, taints ...corev1.Taint) *corev1.Node {
		n := new(corev1.Node)
		n.Name, n.Labels, n.Spec.Taints = name, map[string]string{"zone": zone}, taints
		return n
	}
	tainted := corev1.Taint{Key: "k", Effect: corev1.TaintEffectNoSchedule}
	zones := []string{"zone"}
	tests := []struct {
		name, why string
		nodes     []*corev1.Node
		keys      []string
		selector  *metav1.LabelSelector
		chosen    []string
		want      bool
	}{
		{"enough", "two nodes for two", []*corev1.Node{node("a", "x"), node("b", "x")}, nil, nil, nil, false},
		{"too few", "there is one", []*corev1.Node{node("a", "x")}, nil, nil, nil, true},
		{"tainted", "one of two runs the pod", []*corev1.Node{node("a", "x"), node("b", "x", tainted)}, nil, nil, nil, true},
		{"not selected", "one of two is selected", []*corev1.Node{node("a", "x"), node("b", "y")}, nil,
			&metav1.LabelSelector{MatchLabels: map[string]string{"zone": "x"}}, nil, true},
		{"two of one zone", "one zone has both", []*corev1.Node{node("a", "x"), node("b", "x")}, zones, nil, nil, false},
		{"one of each zone", "two zones have one each", []*corev1.Node{node("a", "x"), node("b", "x"), node("c", "y")}, zones, nil, nil, false},
		{"a zone that runs none", "it has its share of the canary all the same", []*corev1.Node{node("a", "x"), node("b", "x"), node("c", "y", tainted)}, zones, nil, nil, true},
		{"chosen", "they are as many as there are to be", []*corev1.Node{node("a", "x")}, nil, nil, []string{"a", "gone"}, false},
		{"chosen and gone", "it stays chosen", []*corev1.Node{node("a", "x")}, nil, nil, []string{"gone"}, false},
		{"chosen and tainted", "it is chosen no more", []*corev1.Node{node("a", "x", tainted), node("b", "x")}, nil, nil, []string{"a"}, true},
	}
	for _, test := range tests {
		c := new(edsReconcile)
		c.Input.Nodes = test.nodes
		c.Input.Set.Spec.Strategy.Canary = &edsCanary{
			Replicas: new(intstr.FromInt32(2)), NodeAntiAffinityKeys: test.keys, NodeSelector: test.selector,
		}
		if test.chosen != nil {
			c.Input.Set.Status.Canary = &edsCanaryStatus{Nodes: test.chosen}
		}
		if got := c.tooFew(new(edsReplicaSet)); got != test.want {
			t.Errorf("%s: too few: %v, want %v: %s", test.name, got, test.want, test.why)
		}
	}
}

// TestConformanceEDSCanaryOfNoNode: a canary of no node is refused, whatever the status says of one. The controller runs one, which
// nothing can fail.
func TestConformanceEDSCanaryOfNoNode(t *testing.T) {
	canaries := 0
	for _, c := range edsLines[edsReconcile](t, "eds-reconcile") {
		strategy := c.Input.Set.Spec.Strategy.Canary
		if strategy == nil || c.Input.Set.Status.Canary == nil || edsRefused(&c.Input.Set) != "" {
			continue
		}
		for _, none := range []intstr.IntOrString{intstr.FromInt32(0), intstr.FromString("0%"), intstr.FromInt32(-1)} {
			strategy.Replicas = &none
			_, err := edsSpec(c.Input.Set, nil)
			assertEDSRefused(t, c.Name+", "+none.String(), err, edsRefused(&c.Input.Set))
		}
		canaries++
	}
	if canaries == 0 && !edsElsewhere() {
		t.Error("no recording has a canary in the status of a set")
	}
}
