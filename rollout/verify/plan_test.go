package verify_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/history"
	"github.com/daemonplan/daemonplan/rollout/verify"
	"github.com/daemonplan/daemonplan/status"
)

const (
	freshHash = "fresh" // of the update revision
	staleHash = "stale"
)

func handNow() time.Time { return time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC) }

// handmade is a spec, a snapshot, and a plan for them that was written by hand.
type handmade struct {
	spec     rollout.Spec
	snapshot rollout.Snapshot
	plan     rollout.Plan
	planned  bool // the plan is the planner's; see replan
}

// newHandmade has an old and a new revision and no nodes. The numbers of the plan are those of an empty fleet, until spend
// changes them.
func newHandmade(maxUnavailable, maxSurge string) *handmade {
	s := &handmade{
		spec: rollout.Spec{
			Name:       "agent",
			Generation: 7,
			Selector:   &metav1.LabelSelector{MatchLabels: map[string]string{"app": "agent"}},
			Template:   handTemplate("v2"),
		},
	}
	unavailable, surge := intstr.Parse(maxUnavailable), intstr.Parse(maxSurge)
	s.spec.Strategy.MaxUnavailable, s.spec.Strategy.MaxSurge = &unavailable, &surge
	s.snapshot.Now = handNow()
	s.snapshot.Revisions = []*appsv1.ControllerRevision{
		handRevision(staleHash, 1, handTemplate("v1")), handRevision(freshHash, 2, s.spec.Template),
	}
	s.plan.Status.UpdateRevision = freshHash
	s.plan.Status.ObservedGeneration = 7
	s.plan.Budget.Burst = 250
	s.plan.Status.State = status.Updating
	return s
}

func handTemplate(tag string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "agent"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "reg.example/agent:" + tag}}},
	}
}

func handRevision(hash string, number int64, template corev1.PodTemplateSpec) *appsv1.ControllerRevision {
	data, err := history.Data(&template)
	if err != nil {
		panic(err)
	}
	return &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{
			Name: "agent-" + hash, UID: types.UID("uid-agent-" + hash),
			Labels: map[string]string{appsv1.DefaultDaemonSetUniqueLabelKey: hash},
		},
		Data:     runtime.RawExtension{Raw: data},
		Revision: number,
	}
}

// node adds a node with its pods and a decision that waits. The facts are written by hand, as their initials:
// desired, present, ready, available, updated.
func (s *handmade) node(name, facts string, pods ...*corev1.Pod) *corev1.Node {
	object := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app-node": "yes"}}}
	s.snapshot.Nodes = append(s.snapshot.Nodes, object)
	for _, pod := range pods {
		pod.Spec.NodeName = name
	}
	s.snapshot.Pods = append(s.snapshot.Pods, pods...)
	d := rollout.Decision{Node: name, State: rollout.StateUpdated, Verb: rollout.VerbWait, Reason: rollout.ReasonUpToDate}
	for i, initial := range "dprau" {
		if strings.ContainsRune(facts, initial) {
			d.Facts |= status.Facts(1) << i
		}
	}
	if d.Facts.Has(status.Desired) {
		d.Placement.Outcome = placement.Run
	}
	s.plan.Decisions = append(s.plan.Decisions, d)
	s.recount()
	return object
}

// keep and leave add a node that is not to run the pod, because of a taint. unselected adds node z, which the template's node
// selector excludes, with a pod that is available and updated.
func (s *handmade) keep(name, facts string, pods ...*corev1.Pod) {
	node := s.node(name, facts, pods...)
	node.Spec.Taints = []corev1.Taint{{Key: "drain", Effect: corev1.TaintEffectNoSchedule}}
	s.decision(name).Placement.Outcome = placement.Keep
}

func (s *handmade) leave(name, facts string, pods ...*corev1.Pod) {
	node := s.node(name, facts, pods...)
	node.Spec.Taints = []corev1.Taint{{Key: "drain", Effect: corev1.TaintEffectNoExecute}}
}

func (s *handmade) unselected(pods ...*corev1.Pod) {
	node := s.node("z", "prau", pods...)
	node.Labels = nil
	s.spec.Template.Spec.NodeSelector = map[string]string{"app-node": "yes"}
	s.snapshot.Revisions[1] = handRevision(freshHash, 2, s.spec.Template)
}

// stray adds a pod that is on no node of the snapshot, and its decision.
func (s *handmade) stray(pod *corev1.Pod, node string) {
	s.snapshot.Pods = append(s.snapshot.Pods, pod)
	d := rollout.Decision{Node: node, Pod: pod.Name, State: rollout.StateVanished, Verb: rollout.VerbWait, Reason: rollout.ReasonVanished}
	if node == "" {
		d.State = rollout.StateUnattributed
	}
	s.plan.Decisions = append(s.plan.Decisions, d)
}

// handPod is a pod that was created long ago. The state is one of available, ready (since a second), unready, failed, succeeded.
func handPod(name, hash, state string) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, UID: types.UID("uid-" + name), CreationTimestamp: metav1.NewTime(handNow().Add(-time.Hour)),
			Labels: map[string]string{"app": "agent", appsv1.DefaultDaemonSetUniqueLabelKey: hash},
		},
		Status: corev1.PodStatus{Phase: corev1.PodRunning},
	}
	condition := corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionTrue}
	switch state {
	case "available":
		condition.LastTransitionTime = metav1.NewTime(handNow().Add(-time.Hour))
	case "ready":
		condition.LastTransitionTime = metav1.NewTime(handNow().Add(-time.Second))
	case "unready":
		condition.Status = corev1.ConditionFalse
	case "failed":
		p.Status.Phase = corev1.PodFailed
	case "succeeded":
		p.Status.Phase = corev1.PodSucceeded
	default:
		panic("no such state: " + state)
	}
	p.Status.Conditions = []corev1.PodCondition{condition}
	return p
}

// handMarked marks a pod for deletion.
func handMarked(p *corev1.Pod) *corev1.Pod {
	p.DeletionTimestamp = &metav1.Time{Time: handNow().Add(-time.Second)}
	return p
}

// handPinned pins a pod that is bound to no node to one that does not exist.
func handPinned(p *corev1.Pod) *corev1.Pod {
	p.Spec.Affinity = placement.Pin(nil, "gone")
	return p
}

func handMemory(backoffs ...rollout.Backoff) rollout.Memory {
	return rollout.Memory{Version: rollout.MemoryVersion, Backoffs: backoffs}
}

func (s *handmade) decision(node string) *rollout.Decision {
	i := slices.IndexFunc(s.plan.Decisions, func(d rollout.Decision) bool { return d.Node == node })
	return &s.plan.Decisions[i]
}

func (s *handmade) pod(name string) *corev1.Pod {
	i := slices.IndexFunc(s.snapshot.Pods, func(p *corev1.Pod) bool { return p.Name == name })
	return s.snapshot.Pods[i]
}

// recount sets the counters to those of the decisions' facts.
func (s *handmade) recount() {
	s.plan.Status.Counts = status.Counts{}
	for _, d := range s.plan.Decisions {
		s.plan.Status.Add(d.Facts)
	}
	s.plan.Budget.Desired = s.plan.Status.Desired
}

// budget sets the limits, and how much of them is spent.
func (s *handmade) budget(maxUnavailable, unavailable, maxSurge, surging int32) *handmade {
	s.plan.Budget.MaxUnavailable, s.plan.Budget.MaxSurge = maxUnavailable, maxSurge
	return s.spend(unavailable, surging)
}

func (s *handmade) spend(unavailable, surging int32) *handmade {
	s.plan.Budget.Unavailable, s.plan.Budget.Surging = unavailable, surging
	s.plan.Status.DisruptionsAllowed = max(0, s.plan.Budget.MaxUnavailable-unavailable)
	return s
}

// delete adds actions, and sets their decisions.
func (s *handmade) delete(names ...string) *handmade {
	for _, name := range names {
		pod := s.pod(name)
		node := pod.Spec.NodeName
		if pod.Spec.Affinity != nil {
			node, _ = placement.TargetNode(pod)
		}
		s.plan.Deletes = append(s.plan.Deletes, rollout.Delete{
			Node: node, Pod: name, UID: pod.UID, Reason: rollout.ReasonOutdated,
			Revision: pod.Labels[appsv1.DefaultDaemonSetUniqueLabelKey],
		})
		d := s.decision(node)
		d.Deletes++
		d.Verb = rollout.VerbDelete
	}
	return s
}

func (s *handmade) create(nodes ...string) *handmade {
	for _, node := range nodes {
		s.plan.Creates = append(s.plan.Creates, rollout.Create{Node: node, Revision: freshHash, Reason: rollout.ReasonMissing})
		if !slices.ContainsFunc(s.plan.Decisions, func(d rollout.Decision) bool { return d.Node == node }) {
			continue
		}
		d := s.decision(node)
		d.Creates++
		d.Verb = rollout.VerbCreate
	}
	return s
}

// relabel adds the patch that R3 requires of a pod of a duplicate.
func (s *handmade) relabel(name string) *handmade {
	pod := s.pod(name)
	s.plan.Patches = append(s.plan.Patches, rollout.Patch{
		Node: pod.Spec.NodeName, Pod: name, UID: pod.UID, Type: types.StrategicMergePatchType, Revision: freshHash,
		Data: fmt.Appendf(nil, `{"metadata":{"uid":%q,"labels":{%q:%q}}}`, pod.UID,
			appsv1.DefaultDaemonSetUniqueLabelKey, freshHash),
		Reason: rollout.ReasonDuplicateRevision,
	})
	d := s.decision(pod.Spec.NodeName)
	d.Patches++
	d.Verb = rollout.VerbPatch
	return s
}

// handRolling is in the middle of a rollout with maxUnavailable 2. The pod of d is broken and is deleted at once, which leaves
// room for the pod of c.
func handRolling() *handmade {
	s := newHandmade("2", "0")
	s.node("a", "dprau", handPod("a-new", freshHash, "available"))
	s.node("b", "dpra", handPod("b-old", staleHash, "available"))
	s.node("c", "dpra", handPod("c-old", staleHash, "available"))
	s.node("d", "dp", handPod("d-old", staleHash, "unready"))
	return s.budget(2, 2, 0, 0).delete("d-old", "c-old")
}

// handSurging is in the middle of a rollout with maxSurge 2. The new pod of c is starting, so that one other node may begin.
func handSurging() *handmade {
	s := newHandmade("0", "2")
	s.node("a", "dprau", handPod("a-new", freshHash, "available"))
	s.node("b", "dpra", handPod("b-old", staleHash, "available"))
	s.node("c", "dprau", handPod("c-old", staleHash, "available"), handPod("c-new", freshHash, "unready"))
	s.node("d", "dpra", handPod("d-old", staleHash, "available"))
	return s.budget(0, 0, 2, 2).create("d")
}

// handStrays has three pods beside a rollout that are on no node.
func handStrays() *handmade {
	s := handRolling()
	s.stray(handPod("lost", staleHash, "unready"), "")
	s.stray(handPinned(handPod("p", staleHash, "unready")), "gone")
	s.stray(handPinned(handPod("q", staleHash, "unready")), "gone")
	return s.delete("p")
}

// handSteady has nothing to do, at maxUnavailable 1.
func handSteady() *handmade {
	s := newHandmade("1", "0")
	s.node("a", "dprau", handPod("a-new", freshHash, "available"))
	s.node("b", "dprau", handPod("b-new", freshHash, "available"))
	return s.budget(1, 0, 0, 0)
}

func handReplaced(s, old, replacement string) string {
	if !strings.Contains(s, old) {
		panic("nothing to replace in " + s)
	}
	return strings.Replace(s, old, replacement, 1)
}

func (s *handmade) withFacts(node, facts string) *handmade {
	probe := newHandmade("1", "0")
	probe.node(node, facts)
	s.decision(node).Facts = probe.decision(node).Facts
	s.recount()
	return s
}

// handNewRevision is a spec whose template has no revision yet: a plan creates it.
func handNewRevision() *handmade {
	s := newHandmade("1", "0")
	s.node("a", "dpra", handPod("a-old", staleHash, "available"))
	s.snapshot.Revisions = s.snapshot.Revisions[:1]
	s.plan.Status.UpdateRevision = handNewHash()
	return s.budget(1, 0, 0, 0)
}

// handNewHash is the hash of the revision that handNewRevision lacks.
func handNewHash() string {
	template := handTemplate("v2")
	return history.Hash(&template, nil)
}

// createRevision adds the action that R3 requires for handNewRevision.
func (s *handmade) createRevision() *handmade {
	hash := handNewHash()
	object := handRevision(hash, 2, s.spec.Template)
	object.Namespace = "default"
	s.plan.Revisions = append(s.plan.Revisions, rollout.RevisionAction{
		Verb: rollout.CreateRevision, Name: "agent-" + hash, Number: 2, Object: object,
	})
	return s
}

func (s *handmade) deleteRevision(hash string) {
	s.plan.Revisions = append(s.plan.Revisions, rollout.RevisionAction{
		Verb: rollout.DeleteRevision, Name: "agent-" + hash, UID: types.UID("uid-agent-" + hash),
	})
}

func TestViolationString(t *testing.T) {
	for _, tt := range []struct {
		name, why string
		violation verify.Violation
		want      string
	}{
		{"node", "the node comes first", verify.Violation{Invariant: 3, Node: "a", Message: "m"}, "V3: node a: m"},
		{"plan", "without a node it is about the plan", verify.Violation{Invariant: 11, Message: "m"}, "V11: m"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.violation.String(); got != tt.want {
				t.Errorf("got %q, want %q: %s", got, tt.want, tt.why)
			}
		})
	}
}

// TestVerifyOrder: violations are ordered by invariant, then node, whatever the order of the checks.
func TestVerifyOrder(t *testing.T) {
	s := handRolling()
	s.plan.NextWake = handNow()
	s.plan.Creates = []rollout.Create{{Node: "z", Revision: freshHash}, {Node: "y", Revision: freshHash}}
	s.plan.Deletes[0].UID = "uid-other"
	got := s.verify()
	for i := 1; i < len(got); i++ {
		a, b := got[i-1], got[i]
		if a.Invariant > b.Invariant || a.Invariant == b.Invariant && a.Node > b.Node {
			t.Errorf("%v comes before %v", a, b)
		}
	}
	if len(got) < 4 {
		t.Errorf("got %v, want violations of several invariants", got)
	}
}

// TestNilPlan: a nil plan is reported, without a panic.
func TestNilPlan(t *testing.T) {
	spec, snapshot := rollout.Spec{}, rollout.Snapshot{}
	if got, want := verify.Plan(spec, snapshot, nil), verify.Plan(spec, snapshot, &rollout.Plan{}); !slices.Equal(got, want) {
		t.Errorf("no plan is judged %v, an empty one %v", got, want)
	}
}
