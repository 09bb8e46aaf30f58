package kubelet_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/internal/kubelet"
	"github.com/daemonplan/daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
)

func TestBindGivesThePodItsNode(t *testing.T) {
	pod := fresh()
	kubelet.Bind(pod, "a", noon())
	if pod.Spec.NodeName != "a" || pod.Status.StartTime != nil {
		t.Errorf("on %q since %v; the kubelet may be down", pod.Spec.NodeName, pod.Status.StartTime)
	}
	if kubelet.Notice(pod, noon()); !pod.Status.StartTime.Time.Equal(noon()) {
		t.Errorf("since %v", pod.Status.StartTime)
	}
}

func TestSetConditionLeavesTheListAlone(t *testing.T) {
	pod := up()
	pod.Status.Conditions = append(make([]corev1.PodCondition, 0, 9), pod.Status.Conditions...)
	shared := pod.Status.Conditions
	kubelet.SetCondition(pod, corev1.PodReady, corev1.ConditionFalse, noon()).Reason = "why"
	kubelet.SetCondition(pod, "x", corev1.ConditionTrue, noon())
	if len(shared) != 1 || shared[0].Status != corev1.ConditionTrue || shared[:2][1].Type != "" {
		t.Errorf("the list that the pod had is %v", shared[:2])
	}
	if got := describe(pod); got[:57] != "Running, Ready=False 12:00:00 why, x=True 12:00:00, main " {
		t.Errorf("got %s", got)
	}
}

func TestReadyCompletesUpdatesThatHaveNoGate(t *testing.T) {
	for why, test := range map[string]struct {
		options []rollouttest.PodOption
		want    corev1.ConditionStatus
	}{
		"nobody else does":           {[]rollouttest.PodOption{objects.Updating()}, corev1.ConditionTrue},
		"the planner does":           {[]rollouttest.PodOption{objects.Gated(lifecycle.InPlaceUpdateReady), objects.Updating()}, corev1.ConditionFalse},
		"there is nothing to finish": {nil, ""},
	} {
		pod := rollouttest.Pod("p", test.options...)
		kubelet.Ready(pod, noon())
		if got := kubelet.ConditionStatus(pod, lifecycle.InPlaceUpdateReady); got != test.want {
			t.Errorf("the condition is %q, want %q: %s", got, test.want, why)
		}
	}
}

func TestSettled(t *testing.T) {
	for why, test := range map[string]struct {
		options []rollouttest.PodOption
		want    bool
	}{
		"it is Ready and says since when":       {nil, true},
		"another condition does not count":      {[]rollouttest.PodOption{objects.Condition("x", corev1.ConditionFalse, noon())}, true},
		"it does not say since when":            {[]rollouttest.PodOption{rollouttest.Ready(time.Time{})}, false},
		"it is not Ready":                       {[]rollouttest.PodOption{rollouttest.Unready()}, false},
		"it says nothing":                       {[]rollouttest.PodOption{rollouttest.Pending()}, false},
		"it has Failed, whatever it says":       {[]rollouttest.PodOption{func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }}, false},
		"it is in the middle of an update (B5)": {[]rollouttest.PodOption{objects.Gated(lifecycle.InPlaceUpdateReady), objects.Updating()}, false},
	} {
		if got := kubelet.Settled(rollouttest.Pod("p", test.options...)); got != test.want {
			t.Errorf("settled %t: %s", got, why)
		}
	}
}

func TestGates(t *testing.T) {
	pod := rollouttest.Pod("p")
	if !kubelet.GatesOpen(pod) || kubelet.HasGate(pod, "x") {
		t.Error("a pod without gates waits for one")
	}
	objects.Gated("x")(pod)
	objects.Gated("y")(pod)
	if !kubelet.GatesOpen(pod) || !kubelet.HasGate(pod, "x") || kubelet.HasGate(pod, corev1.PodReady) {
		t.Error("two gates are True, and the pod waits")
	}
	kubelet.SetCondition(pod, "y", corev1.ConditionUnknown, noon())
	if kubelet.GatesOpen(pod) {
		t.Error("Unknown is not open")
	}
	pod.Status.Conditions = nil
	if kubelet.GatesOpen(pod) || kubelet.ConditionStatus(pod, "x") != "" {
		t.Error("a condition that nobody reports is open")
	}
}

func TestBackOff(t *testing.T) {
	for failures, want := range map[int32]time.Duration{
		-1: 0, 0: 0, 1: 10 * time.Second, 2: 20 * time.Second, 3: 40 * time.Second, 5: 160 * time.Second,
		6: 5 * time.Minute, 7: 5 * time.Minute, 1<<31 - 1: 5 * time.Minute,
	} {
		if got := kubelet.BackOff(failures); got != want {
			t.Errorf("after %d failures %v, want %v", failures, got, want)
		}
	}
}

// TestExcluded: the scheduler binds no pod beside one with which it cannot share the node, once that is bound and as long as it
// runs. A claim that only one pod may use is held on every node.
func TestExcluded(t *testing.T) {
	wants := func(p *corev1.Pod) {
		p.Spec.Containers = []corev1.Container{{Name: "main", Ports: []corev1.ContainerPort{{HostPort: 9100}}}}
		p.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "own"},
		}}}
	}
	claim := func(mode corev1.PersistentVolumeAccessMode) []*corev1.PersistentVolumeClaim {
		c := new(corev1.PersistentVolumeClaim)
		c.Name, c.Namespace, c.Spec.AccessModes = "own", rollouttest.Pod("p").Namespace, []corev1.PersistentVolumeAccessMode{mode}
		return []*corev1.PersistentVolumeClaim{c}
	}
	node := rollouttest.Node("a")
	for why, test := range map[string]struct {
		other  *corev1.Pod
		claims []*corev1.PersistentVolumeClaim
		want   string
	}{
		"both want the port": {
			rollouttest.Pod("o", wants, rollouttest.OnNode("a")), nil,
			"a pod of the set is there: both listen on a port of the host: 9100/TCP",
		},
		"it does not want a port": {rollouttest.Pod("o", rollouttest.OnNode("a")), nil, ""},
		"it is not bound either":  {rollouttest.Pod("o", wants, rollouttest.PinnedTo("a")), claim(corev1.ReadWriteOncePod), ""},
		"it has ended": {
			rollouttest.Pod("o", wants, rollouttest.OnNode("b"), rollouttest.Failed()), claim(corev1.ReadWriteOncePod), "",
		},
		"it has the claim elsewhere, and only one pod may": {
			rollouttest.Pod("o", wants, rollouttest.OnNode("b")), claim(corev1.ReadWriteOncePod),
			"a pod of the set is on another node: only one pod may use the claim: own",
		},
		"it has the claim and the port elsewhere": {rollouttest.Pod("o", wants, rollouttest.OnNode("b")), claim(corev1.ReadWriteOnce), ""},
	} {
		got := kubelet.Excluded(rollouttest.Pod("p", wants, rollouttest.PinnedTo("a")), test.other, node, test.claims)
		if got != test.want {
			t.Errorf("%q, want %q: %s", got, test.want, why)
		}
	}
}
