package rollout_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/rollout"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
)

func planner(t *testing.T, spec rollout.Spec) *rollout.Planner {
	t.Helper()
	p, err := rollout.New(spec)
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	return p
}

// One pod in full: template, tolerations of P1, pin of P6, labels of R5, owner.
func TestPodInFull(t *testing.T) {
	spec := kit.Spec("agent", objects.TemplateGeneration(7), kit.TemplateNodeSelector("pool", "x"), kit.Affinity("zone", "a"))
	spec.Namespace = "system"
	spec.Template.Annotations = map[string]string{"note": "kept"}
	spec.Template.Spec.HostNetwork = true
	pod, err := planner(t, spec).Pod(rollout.Create{Node: "n1", Revision: "abc"})
	if err != nil {
		t.Fatal(err)
	}
	toleration := func(key string, effect corev1.TaintEffect) corev1.Toleration {
		return corev1.Toleration{Key: "node.kubernetes.io/" + key, Operator: corev1.TolerationOpExists, Effect: effect}
	}
	want := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			GenerateName: "agent-",
			Namespace:    "system",
			Labels: map[string]string{
				"app": "agent", "controller-revision-hash": "abc", "pod-template-generation": "7",
			},
			Annotations: map[string]string{"note": "kept"},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "apps/v1", Kind: "DaemonSet", Name: "agent", UID: "set-agent",
				Controller: new(true), BlockOwnerDeletion: new(true),
			}},
		},
		Spec: corev1.PodSpec{
			Containers:   []corev1.Container{{Name: "main", Image: "agent:v1"}},
			NodeSelector: map[string]string{"pool": "x"},
			HostNetwork:  true,
			Affinity: &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
					NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchFields: []corev1.NodeSelectorRequirement{{
						Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{"n1"},
					}}}},
				},
			}},
			Tolerations: []corev1.Toleration{
				toleration("not-ready", corev1.TaintEffectNoExecute), toleration("unreachable", corev1.TaintEffectNoExecute),
				toleration("disk-pressure", corev1.TaintEffectNoSchedule), toleration("memory-pressure", corev1.TaintEffectNoSchedule),
				toleration("pid-pressure", corev1.TaintEffectNoSchedule), toleration("unschedulable", corev1.TaintEffectNoSchedule),
				toleration("network-unavailable", corev1.TaintEffectNoSchedule),
			},
		},
	}
	if diff := cmp.Diff(want, pod); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestPodMetadata(t *testing.T) {
	long := strings.Repeat("a.", 126) + "a" // 253 characters
	tests := []struct {
		name, why string
		edit      func(*rollout.Spec)
		check     func(*corev1.Pod) (got, want any)
	}{
		{"no owner", "a set without UID does not exist yet, so nothing can refer to it",
			func(s *rollout.Spec) { s.UID = "" },
			func(p *corev1.Pod) (got, want any) { return len(p.OwnerReferences), 0 }},
		{"owner of another kind", "the set may be a custom resource",
			func(s *rollout.Spec) { s.APIVersion, s.Kind = "example.com/v1", "FleetSet" },
			func(p *corev1.Pod) (got, want any) {
				return p.OwnerReferences[0].APIVersion + " " + p.OwnerReferences[0].Kind, "example.com/v1 FleetSet"
			}},
		{"default namespace", "the default of Spec.Namespace",
			func(s *rollout.Spec) { s.Namespace = "" },
			func(p *corev1.Pod) (got, want any) { return p.Namespace, "default" }},
		{"no template generation", "R5: without it there is no such label",
			func(*rollout.Spec) {},
			func(p *corev1.Pod) (got, want any) {
				return p.Labels, map[string]string{"app": "agent", "controller-revision-hash": "abc"}
			}},
		{"template generation of 0", "R5: 0 is a value too",
			func(s *rollout.Spec) { s.TemplateGeneration = new(int64(0)) },
			func(p *corev1.Pod) (got, want any) { return p.Labels["pod-template-generation"], "0" }},
		{"template generation of 12", "R5: kube-controller-manager writes it as a decimal number",
			func(s *rollout.Spec) { s.TemplateGeneration = new(int64(12)) },
			func(p *corev1.Pod) (got, want any) { return p.Labels["pod-template-generation"], "12" }},
		{"stale hash in the template", "the label says what the pod is built from",
			func(s *rollout.Spec) { s.Template.Labels["controller-revision-hash"] = "stale" },
			func(p *corev1.Pod) (got, want any) { return p.Labels["controller-revision-hash"], "abc" }},
		{"own toleration", "P1: an equal one is kept once",
			kit.Tolerating("node.kubernetes.io/not-ready", corev1.TaintEffectNoExecute),
			func(p *corev1.Pod) (got, want any) { return len(p.Spec.Tolerations), 6 }},
		{"longest name", "the API server cuts the prefix to make room for its five characters",
			func(s *rollout.Spec) { s.Name = long },
			func(p *corev1.Pod) (got, want any) { return p.GenerateName, long + "-" }},
	}
	rows := uniqueRows{}
	for _, tt := range tests {
		rows.check(t, tt.name, tt.why)
		t.Run(tt.name, func(t *testing.T) {
			spec := kit.Spec("agent")
			tt.edit(&spec)
			pod, err := planner(t, spec).Pod(rollout.Create{Node: "n1", Revision: "abc"})
			if err != nil {
				t.Fatal(err)
			}
			got, want := tt.check(pod)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("-want +got:\n%s why: %s", diff, tt.why)
			}
		})
	}
}

func TestPodRefuses(t *testing.T) {
	p := planner(t, kit.Spec("agent"))
	for _, tt := range []struct {
		name, why string
		create    rollout.Create
		want      string
	}{
		{"no node", "a pod that is pinned nowhere could run anywhere", rollout.Create{Revision: "abc"},
			"create: node must not be empty"},
		{"no revision", "a pod without a hash is outdated from the start (R5)", rollout.Create{Node: "n1"},
			"create: revision must not be empty: take it from a plan"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			pod, err := p.Pod(tt.create)
			if pod != nil || err == nil || err.Error() != tt.want {
				t.Errorf("got %v and error %v, want no pod and %q: %s", pod, err, tt.want, tt.why)
			}
		})
	}
}

// A planner keeps what it was made from: neither a later change of the spec nor one of a pod that it built shows.
func TestPodSharesNothing(t *testing.T) {
	spec := kit.Spec("agent", kit.TemplateNodeSelector("pool", "x"))
	p := planner(t, spec)
	create := rollout.Create{Node: "n1", Revision: "abc"}
	first, err := p.Pod(create)
	if err != nil {
		t.Fatal(err)
	}
	want := first.DeepCopy()
	spec.Template.Labels["app"] = "changed"
	spec.Template.Spec.Containers[0].Image = "changed"
	spec.Template.Spec.NodeSelector["pool"] = "changed"
	first.Labels["app"] = "changed"
	first.Spec.Containers[0].Image = "changed"
	first.Spec.NodeSelector["pool"] = "changed"
	first.Spec.Tolerations[0].Key = "changed"
	second, err := p.Pod(create)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, second); diff != "" {
		t.Errorf("-before +after:\n%s", diff)
	}
}

// A pod that a plan asks for counts as the node's updated pod in the next one.
func TestPodIsRecognised(t *testing.T) {
	l := newLab().add(on("a"))
	plan := l.plan(t)
	pod, err := planner(t, l.spec).Pod(plan.Creates[0])
	if err != nil {
		t.Fatal(err)
	}
	pod.Name, pod.UID = "agent-x", "x"
	kit.Ready(ago(0))(pod)
	l.snapshot.Pods = append(l.snapshot.Pods, pod)
	next := l.plan(t)
	if got, want := line(next.Decisions[0]), "a: updated>update none UpToDate"; got != want || !next.Empty() {
		t.Errorf("got %s and %s, want %s and no action", got, acts(next), want)
	}
}

// What a set with in-place updates and hooks puts on its pods (I3, L3, L4).
func TestPodOfFeatures(t *testing.T) {
	hook := &lifecycle.Hook{Labels: map[string]string{"serving": "yes"}}
	marking := &lifecycle.Hook{Labels: map[string]string{"drain": "wanted"}, MarkPodNotReady: true}
	gate := func(conditions ...corev1.PodConditionType) (gates []corev1.PodReadinessGate) {
		for _, c := range conditions {
			gates = append(gates, corev1.PodReadinessGate{ConditionType: c})
		}
		return gates
	}
	tests := []struct {
		name, why string
		option    kit.SpecOption
		gates     []corev1.PodReadinessGate
		state     string
	}{
		{"plain", "nothing is added", func(*rollout.Spec) {}, nil, ""},
		{"in place", "I3", method(inplace.IfPossible), gate(lifecycle.InPlaceUpdateReady), ""},
		{"in place only", "I3", method(inplace.Only), gate(lifecycle.InPlaceUpdateReady), ""},
		{"in place, gate in the template", "each gate once", func(s *rollout.Spec) {
			method(inplace.Only)(s)
			s.Template.Spec.ReadinessGates = gate("other", lifecycle.InPlaceUpdateReady)
		}, gate("other", lifecycle.InPlaceUpdateReady), ""},
		{"marking hook", "L4", func(s *rollout.Spec) { s.Lifecycle.PreDelete = marking }, gate(lifecycle.PodReady), ""},
		{"preNormal", "L3: Normal when all its handlers are there", func(s *rollout.Spec) { s.Lifecycle.PreNormal = hook },
			nil, "PreparingNormal"},
		{"all", "in this order", func(s *rollout.Spec) {
			method(inplace.IfPossible)(s)
			s.Lifecycle.PreNormal, s.Lifecycle.InPlaceUpdate = hook, marking
		}, gate(lifecycle.InPlaceUpdateReady, lifecycle.PodReady), "PreparingNormal"},
	}
	rows := uniqueRows{}
	for _, tt := range tests {
		rows.check(t, tt.name, tt.why)
		t.Run(tt.name, func(t *testing.T) {
			spec := kit.Spec("agent", tt.option)
			pod, err := planner(t, spec).Pod(rollout.Create{Node: "n1", Revision: "abc"})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.gates, pod.Spec.ReadinessGates); diff != "" {
				t.Errorf("readiness gates, -want +got:\n%s why: %s", diff, tt.why)
			}
			if got := pod.Labels[lifecycle.StateLabel]; got != tt.state {
				t.Errorf("state %q, want %q: %s", got, tt.state, tt.why)
			}
		})
	}
}

// T1: a lost pod on a held node is built from its old revision.
func TestPodOfAnOlderRevision(t *testing.T) {
	l := newLab(holdRevision, partition("2")).add(on("a"), on("b", oldPod()))
	plan := l.plan(t)
	if len(plan.Creates) != 1 || plan.Creates[0].Revision != l.old {
		t.Fatalf("got %s, want one create at the old revision", acts(plan))
	}
	pod, err := planner(t, l.spec).Pod(plan.Creates[0])
	if err != nil {
		t.Fatal(err)
	}
	if image, hash := pod.Spec.Containers[0].Image, pod.Labels["controller-revision-hash"]; image != "agent:v1" || hash != l.old {
		t.Errorf("the pod runs %s at revision %s, want agent:v1 at %s", image, hash, l.old)
	}
}
