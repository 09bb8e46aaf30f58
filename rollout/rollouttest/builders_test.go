package rollouttest_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/predownload"
	"github.com/daemonplan/daemonplan/rollout"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
)

func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want, +got):\n%s", what, diff)
	}
}

// TestPodsOfASet: a pod of a set is what its planner creates, and stays where it is.
func TestPodsOfASet(t *testing.T) {
	spec := kit.Spec("agent", kit.PodTemplateLabel("tier", "gold"), kit.PodTemplateAnnotation("note", "x"), func(s *rollout.Spec) {
		s.Namespace, s.Template.Finalizers = "monitoring", []string{"example.com/traffic"}
	})
	planner, err := rollout.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := planner.Plan(rollout.Snapshot{Now: kit.Noon(), Nodes: kit.Nodes("a")})
	if err != nil {
		t.Fatal(err)
	}
	made, err := planner.Pod(plan.Creates[0])
	if err != nil {
		t.Fatal(err)
	}
	pod := kit.Pod("agent-a", kit.OnNode("a"), kit.Of(spec))
	same(t, "namespace", pod.Namespace, made.Namespace)
	same(t, "labels", pod.Labels, made.Labels)
	same(t, "annotations", pod.Annotations, made.Annotations)
	same(t, "finalizers", pod.Finalizers, made.Finalizers)
	same(t, "owners", pod.OwnerReferences, made.OwnerReferences)
	same(t, "affinity", pod.Spec.Affinity, made.Spec.Affinity)
	same(t, "node", pod.Spec.NodeName, "a")
	same(t, "containers", pod.Spec.Containers, made.Spec.Containers)

	spec.UID = ""
	same(t, "owners of a set without a UID", len(kit.Pod("agent-a", kit.Of(spec)).OwnerReferences), 0)
	pod.Labels["tier"], pod.Annotations["note"], pod.Finalizers[0], pod.Spec.Containers[0].Image = "y", "y", "y", "y"
	same(t, "template of a pod that is changed", spec.Template.Labels["tier"]+spec.Template.Annotations["note"]+
		spec.Template.Finalizers[0]+spec.Template.Spec.Containers[0].Image, "goldxexample.com/trafficagent:v1")
}

func TestPodsSomewhere(t *testing.T) {
	pinned := placement.Pin(nil, "a")
	bound := kit.Pod("p", kit.PinnedTo("b"), kit.OnNode("a"))
	same(t, "affinity of a bound pod", bound.Spec.Affinity, pinned)
	same(t, "its node", bound.Spec.NodeName, "a")
	unbound := kit.Pod("p", kit.OnNode("b"), kit.PinnedTo("a"))
	same(t, "affinity of an unbound pod", unbound.Spec.Affinity, pinned)
	same(t, "its node", unbound.Spec.NodeName, "")
	same(t, "its phase", unbound.Status.Phase, corev1.PodPending)
	refused := kit.Pod("p", kit.Unscheduled("a", kit.Noon()))
	same(t, "affinity of a pod that no node has room for", refused.Spec.Affinity, pinned)
	same(t, "since when", refused.Status.Conditions[0].LastTransitionTime.Time, kit.Noon())
}

// TestPodsInTrouble: what options say of a pod's container, whatever was there before.
func TestPodsInTrouble(t *testing.T) {
	spec := kit.Spec("agent")
	at := kit.Noon().Add(-time.Minute)
	pod := kit.Pod("p", kit.Of(spec), kit.WaitingFor("ErrImagePull"), kit.Restarted(3, at, "OOMKilled"))
	status := pod.Status.ContainerStatuses[0]
	same(t, "restarts", status.RestartCount, int32(3))
	same(t, "how it ended", status.LastTerminationState.Terminated, &corev1.ContainerStateTerminated{
		ExitCode: 1, Reason: "OOMKilled", FinishedAt: metav1.NewTime(at),
	})
	same(t, "how it is", status.State, corev1.ContainerState{
		Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(at)},
	})

	type facts struct {
		Phase               corev1.PodPhase
		Ready, ContainerIDs bool
		Container, Started  bool
		Waiting             string
	}
	for reason, phase := range map[string]corev1.PodPhase{"ErrImagePull": corev1.PodPending, "CrashLoopBackOff": corev1.PodRunning} {
		for _, before := range []kit.PodOption{func(*corev1.Pod) {}, kit.Restarted(1, at, "Error")} {
			pod := kit.Pod("p", kit.Of(spec), before, kit.WaitingFor(reason))
			status := pod.Status.ContainerStatuses[0]
			same(t, reason, facts{
				Phase: pod.Status.Phase, Ready: lifecycle.Ready(pod), ContainerIDs: status.ContainerID != "" && status.ImageID != "",
				Container: status.Ready, Started: *status.Started, Waiting: status.State.Waiting.Reason,
			}, facts{Phase: phase, ContainerIDs: phase == corev1.PodRunning, Waiting: reason})
		}
	}
	again := kit.Pod("p", kit.Of(spec), kit.Restarted(3, at, "Error"), kit.WaitingFor("CrashLoopBackOff"))
	same(t, "restarts of a container that waits", again.Status.ContainerStatuses[0].RestartCount, int32(3))

	bare := kit.Pod("p", kit.Restarted(1, at, "Error"), kit.WaitingFor("ErrImagePull"))
	same(t, "statuses of a pod without containers", len(bare.Status.ContainerStatuses), 0)
	same(t, "its phase", bare.Status.Phase, corev1.PodRunning)
	same(t, "phase of a pod that started and is not ready", kit.Pod("p", kit.Pending(), kit.Unready()).Status.Phase, corev1.PodRunning)

	shared := *pod
	kit.Restarted(9, at, "Error")(&shared)
	same(t, "restarts of the pod that was copied", pod.Status.ContainerStatuses[0].RestartCount, int32(3))
	same(t, "how many restarts are kept", shared.Status.ContainerStatuses[0].RestartCount, int32(9))
}

// TestSpecOptionsAdd: options that come twice add up where they can, and none writes to what other specs share.
func TestSpecOptionsAdd(t *testing.T) {
	spec := kit.Spec("agent", kit.TemplateNodeSelector("zone", "a"), kit.TemplateNodeSelector("disk", "ssd"))
	same(t, "node selector", spec.Template.Spec.NodeSelector, map[string]string{"zone": "a", "disk": "ssd"})

	first := kit.Spec("agent", kit.StrategyNodeSelector("zone", "a"))
	first.Strategy.NodeSelector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: "x", Operator: "Exists"}}
	second := first
	kit.StrategyNodeSelector("disk", "ssd")(&second)
	kit.StrategyNodeSelector("zone", "b")(&second)
	same(t, "update selector", second.Strategy.NodeSelector, &metav1.LabelSelector{
		MatchLabels: map[string]string{"zone": "b", "disk": "ssd"}, MatchExpressions: first.Strategy.NodeSelector.MatchExpressions,
	})
	same(t, "that of the other spec", first.Strategy.NodeSelector.MatchLabels, map[string]string{"zone": "a"})

	first = kit.Spec("agent", kit.Requests("cpu", "1"), kit.Limits("cpu", "2"))
	second = first
	kit.Requests("memory", "1Gi")(&second)
	kit.Limits("memory", "2Gi")(&second)
	resources := second.Template.Spec.Containers[0].Resources
	same(t, "requests", resources.Requests.Cpu().String()+" "+resources.Requests.Memory().String(), "1 1Gi")
	same(t, "limits", resources.Limits.Cpu().String()+" "+resources.Limits.Memory().String(), "2 2Gi")
	same(t, "resources of the other spec", len(first.Template.Spec.Containers[0].Resources.Requests)+
		len(first.Template.Spec.Containers[0].Resources.Limits), 2)

	pulls := kit.Spec("agent", kit.PreDownload("1"))
	pulls.PreDownload.TimeoutSeconds = 7
	more := pulls
	kit.PreDownload("10%")(&more)
	same(t, "pulls", []any{more.PreDownload.Parallelism.String(), more.PreDownload.TimeoutSeconds}, []any{"10%", int32(7)})
	same(t, "pulls of the other spec", pulls.PreDownload.Parallelism.String(), "1")
	same(t, "pulls of no spec", kit.Spec("agent").PreDownload, (*predownload.Options)(nil))
}

// TestSpecOptionsExclude: options for what excludes one another take back what was said before.
func TestSpecOptionsExclude(t *testing.T) {
	for name, options := range map[string][]kit.SpecOption{
		"surge, and in place":       {kit.MaxSurge("2"), kit.InPlaceIfPossible()},
		"surge, and in place only":  {kit.MaxSurge("2"), kit.InPlaceOnly()},
		"unavailable, and in place": {kit.MaxUnavailable("2"), kit.InPlaceIfPossible()},
		"unavailable after surge":   {kit.MaxSurge("1"), kit.MaxUnavailable("2")},
	} {
		spec := kit.Spec("agent", options...)
		if _, err := rollout.New(spec); err != nil || spec.Strategy.MaxSurge != nil || spec.Strategy.MaxUnavailable.IntVal != 2 {
			t.Errorf("%s: surge %v, unavailable %v, %v", name, spec.Strategy.MaxSurge, spec.Strategy.MaxUnavailable, err)
		}
	}
	spec := kit.Spec("agent", kit.MaxUnavailable("1"), kit.MaxSurge("2"))
	if spec.Strategy.MaxUnavailable != nil || spec.Strategy.MaxSurge.IntVal != 2 {
		t.Errorf("surge after unavailable: %v, %v", spec.Strategy.MaxSurge, spec.Strategy.MaxUnavailable)
	}
}

// TestHooksAreCopied: a hook that a test goes on to change is none of the spec's.
func TestHooksAreCopied(t *testing.T) {
	for name, option := range map[string]func(lifecycle.Hook) kit.SpecOption{
		"preDelete": kit.PreDeleteHook, "inPlaceUpdate": kit.InPlaceUpdateHook, "preNormal": kit.PreNormalHook,
	} {
		hook := kit.HookLabel("drain", "please")
		spec := kit.Spec("agent", option(hook))
		hook.Labels["drain"] = "never"
		hooks := spec.Lifecycle
		set := map[string]*lifecycle.Hook{"preDelete": hooks.PreDelete, "inPlaceUpdate": hooks.InPlaceUpdate, "preNormal": hooks.PreNormal}
		for other, got := range set {
			if other == name && (got == nil || got.Labels["drain"] != "please") || other != name && got != nil {
				t.Errorf("%s: hook %s is %v", name, other, got)
			}
		}
	}
}

// TestChangedKeepsWhatIsNotSaid: a spec is changed by its options alone, and the one it comes from not at all.
func TestChangedKeepsWhatIsNotSaid(t *testing.T) {
	for name, spec := range map[string]rollout.Spec{
		"defaults": kit.Spec("agent"),
		"all": kit.Spec("agent", kit.MaxSurge("10%"), kit.Partition("1"), kit.Burst("3"), kit.MaxUnschedulable("2"), kit.HistoryLimit(4),
			kit.Canary("1"), kit.PreDownload("2")),
	} {
		changed := kit.Changed(spec, kit.Image("agent:v2"))
		same(t, name+": image", changed.Template.Spec.Containers[0].Image, "agent:v2")
		same(t, name+": image of before", spec.Template.Spec.Containers[0].Image, "agent:v1")
		same(t, name+": quantities", []any{
			changed.Strategy.MaxSurge, changed.Strategy.MaxUnavailable, changed.Strategy.Partition, changed.Burst,
			changed.Strategy.MaxUnschedulable, changed.RevisionHistoryLimit,
		}, []any{
			spec.Strategy.MaxSurge, spec.Strategy.MaxUnavailable, spec.Strategy.Partition, spec.Burst,
			spec.Strategy.MaxUnschedulable, spec.RevisionHistoryLimit,
		})
	}
}

// TestOptionsOfNothing: a template without containers stays one, for rollout.New to refuse.
func TestOptionsOfNothing(t *testing.T) {
	bare := func(s *rollout.Spec) { s.Template.Spec.Containers = nil }
	spec := kit.Spec("agent", bare, kit.Image("agent:v2"), kit.Requests("cpu", "1"), kit.Limits("cpu", "1"), kit.Env("A", "b"))
	same(t, "containers", len(spec.Template.Spec.Containers), 0)
	same(t, "images of a node", len(kit.Node("a", kit.Images()).Status.Images), 0)
	same(t, "nodes", len(kit.Nodes()), 0)
	same(t, "pools", len(kit.Fleet(0, kit.Labelled("k", "v")).Pools), 1)
	if kit.Revision(kit.Spec(""), 1) != nil || kit.Hash(kit.Spec("")) != "" || kit.Promoted(kit.Spec(""), 1) != nil {
		t.Error("a spec that is refused has a revision")
	}
}
