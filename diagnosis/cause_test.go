package diagnosis_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daemonplan/daemonplan/diagnosis"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func ago(d time.Duration) metav1.Time { return metav1.NewTime(noon.Add(-d)) }

// bound is a pod that was bound an hour ago, and is not Ready since ten minutes ago.
func bound(change ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", CreationTimestamp: ago(time.Hour)}, Spec: corev1.PodSpec{NodeName: "n"}}
	p.Status.Phase = corev1.PodRunning
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse, LastTransitionTime: ago(10 * time.Minute)}}
	for _, f := range change {
		f(p)
	}
	return p
}

func statuses(list ...corev1.ContainerStatus) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Status.ContainerStatuses = list }
}

func waiting(reason, message string) corev1.ContainerState {
	return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}
}

func ended(code int32, reason string) corev1.ContainerState {
	return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason}}
}

func running() corev1.ContainerState {
	return corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
}

func node(status corev1.ConditionStatus) *corev1.Node {
	return &corev1.Node{Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{
		{Type: corev1.NodeMemoryPressure, Status: corev1.ConditionFalse},
		{Type: corev1.NodeReady, Status: status, Reason: "NodeStatusUnknown", Message: "Kubelet stopped posting node status.", LastTransitionTime: ago(time.Minute)},
	}}}
}

func ready(p *corev1.Pod) { p.Status.Conditions[0].Status = corev1.ConditionTrue }

func going(in time.Duration, finalizers ...string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		at := ago(-in)
		p.DeletionTimestamp, p.DeletionGracePeriodSeconds, p.Finalizers = &at, new(int64(30)), finalizers
	}
}

func TestOf(t *testing.T) {
	crash := corev1.ContainerStatus{Name: "main", RestartCount: 33, State: waiting("CrashLoopBackOff", ""), LastTerminationState: ended(137, "OOMKilled")}
	unscheduled := func(p *corev1.Pod) {
		p.Spec.NodeName = ""
		p.Status.Conditions = []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "1 Insufficient memory.", LastTransitionTime: ago(time.Hour),
		}}
	}
	gated := func(p *corev1.Pod) {
		p.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: "open"}, {ConditionType: "shut"}}
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: "open", Status: corev1.ConditionTrue})
	}
	for _, tt := range []struct {
		name, why string
		pod       *corev1.Pod
		node      *corev1.Node
		want      string // reason, words, since when, ordinary; empty: it serves
	}{
		{"nothing", "nothing is known of it", nil, nil, ""},
		{"ready", "it serves", bound(ready, statuses(crash)), node(corev1.ConditionTrue), ""},
		{"crashes", "why, how it ended, how often", bound(statuses(crash)), nil, "CrashLoopBackOff|container main: CrashLoopBackOff, last OOMKilled with exit code 137, 33 restarts|11:50:00|false"},
		{"crashed", "it waits for nothing yet", bound(statuses(corev1.ContainerStatus{Name: "main", State: ended(2, "")})), nil, "Crashed|container main: Crashed, last exit code 2|11:50:00|false"},
		{"restarted", "it runs, and is not ready", bound(statuses(corev1.ContainerStatus{Name: "main", RestartCount: 1, State: running()})), nil, "NotReady|container main runs, and is not ready, 1 restart|11:50:00|false"},
		{"image", "which one", bound(statuses(corev1.ContainerStatus{Name: "main", Image: "a:1", State: waiting("ErrImagePull", "")})), nil, "ErrImagePull|container main: ErrImagePull: image a:1|11:50:00|false"},
		{"image, said", "not twice", bound(statuses(corev1.ContainerStatus{Name: "main", Image: "a:1", State: waiting("ImagePullBackOff", `pulling "a:1": unauthorized`)})), nil,
			`ImagePullBackOff|container main: ImagePullBackOff: pulling "a:1": unauthorized|11:50:00|false`},
		{"being created", "as every pod is", bound(statuses(corev1.ContainerStatus{Name: "main", State: waiting("ContainerCreating", "")})), nil, "ContainerCreating|container main: ContainerCreating|11:50:00|true"},
		{"trouble before a start", "what says more comes first", bound(statuses(corev1.ContainerStatus{Name: "side", State: waiting("ContainerCreating", "")}, crash)), nil,
			"CrashLoopBackOff|container main: CrashLoopBackOff, last OOMKilled with exit code 137, 33 restarts|11:50:00|false"},
		{"init container", "the others wait for it", bound(statuses(corev1.ContainerStatus{Name: "main", State: waiting("PodInitializing", "")}), func(p *corev1.Pod) {
			p.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "setup", State: ended(1, "Error")}}
		}), nil, "Crashed|container setup: Crashed, last Error with exit code 1|11:50:00|false"},
		{"unschedulable", "what the scheduler says", bound(unscheduled), nil, "Unschedulable|Unschedulable: 1 Insufficient memory|11:00:00|false"},
		{"not looked at", "the scheduler has not come to it", bound(func(p *corev1.Pod) { p.Spec.NodeName, p.Status = "", corev1.PodStatus{} }), nil, "NotScheduled|it is not scheduled yet|11:00:00|true"},
		{"evicted", "what the kubelet says", bound(func(p *corev1.Pod) {
			p.Status.Phase, p.Status.Reason, p.Status.Message = corev1.PodFailed, "Evicted", "The node was low on memory."
		}), nil, "Evicted|Evicted: The node was low on memory|11:50:00|false"},
		{"failed", "the container that failed", bound(func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }, statuses(corev1.ContainerStatus{Name: "main", State: ended(3, "Error")})), nil,
			"Failed|container main: Failed, last Error with exit code 3|11:50:00|false"},
		{"terminating", "since it was asked for", bound(going(10*time.Second, "x/y")), nil, "Terminating|Terminating|11:59:40|true"},
		{"overdue", "who holds it", bound(going(-time.Minute, "x/y", "z/w")), nil, "DeletionOverdue|its deletion is overdue, held by finalizer x/y, z/w|11:59:00|false"},
		{"overdue on a node that is down", "its kubelet does not answer", bound(going(-time.Minute)), node(corev1.ConditionUnknown),
			"DeletionOverdue|its deletion is overdue: the node is not Ready: NodeStatusUnknown: Kubelet stopped posting node status|11:59:00|false"},
		{"node down", "its status is old", bound(ready), node(corev1.ConditionUnknown), "NodeNotReady|the node is not Ready: NodeStatusUnknown: Kubelet stopped posting node status|11:59:00|false"},
		{"gate", "the first that is not open", bound(gated), nil, "ReadinessGatesNotReady|ReadinessGatesNotReady: readiness gate shut is not True|11:50:00|true"},
		{"nobody says", "honest", bound(), nil, "NotReady|it is not Ready, and nothing says why|11:50:00|true"},
		{"damaged counts", "they are none", bound(statuses(corev1.ContainerStatus{Name: "main", RestartCount: math.MinInt32, State: waiting("CrashLoopBackOff", "")})), nil,
			"CrashLoopBackOff|container main: CrashLoopBackOff|11:50:00|false"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.why == "" {
				t.Fatal("a row needs a why")
			}
			cause, found := diagnosis.Of(tt.pod, tt.node, noon)
			got := ""
			if found {
				got = fmt.Sprintf("%s|%s|%s|%t", cause.Reason, cause, cause.Since.Format(time.TimeOnly), cause.Ordinary())
			}
			if diff := cmp.Diff(tt.want, got); diff != "" || found != (tt.want != "") {
				t.Errorf("%s, -want +got:\n%s", tt.why, diff)
			}
		})
	}
}

// TestBrief: pods that differ in restarts alone are one group.
func TestBrief(t *testing.T) {
	one := diagnosis.Cause{Reason: "CrashLoopBackOff", Container: "main", Restarts: 1}
	two := one
	two.Restarts = 2
	if one.Brief() != two.Brief() || one.String() == two.String() || (diagnosis.Cause{}).String() != "" {
		t.Errorf("%q and %q, in full %q and %q", one.Brief(), two.Brief(), one, two)
	}
}
