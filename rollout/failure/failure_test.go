package failure_test

import (
	"math"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/rollout/failure"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func ago(d time.Duration) metav1.Time { return metav1.NewTime(noon.Add(-d)) }

// pod is one that was created so long ago, started a second later, and is not ready since then.
func pod(age time.Duration, changes ...func(*corev1.Pod)) *corev1.Pod {
	start := ago(age - time.Second)
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{CreationTimestamp: ago(age)},
		Status: corev1.PodStatus{StartTime: &start, Conditions: []corev1.PodCondition{
			{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: ago(age)},
			{Type: corev1.PodReady, Status: corev1.ConditionFalse, LastTransitionTime: start},
		}},
	}
	for _, change := range changes {
		change(p)
	}
	return p
}

// A pod that is available in between has failed its node by its restarts.
func TestRestarting(t *testing.T) {
	restarted := pod(time.Hour, func(p *corev1.Pod) { p.Status.ContainerStatuses = []corev1.ContainerStatus{{RestartCount: 3}} })
	updated := restarted.DeepCopy()
	updated.Annotations = map[string]string{inplace.StateKey: `{"revision":"x"}`}
	ended := restarted.DeepCopy()
	ended.Status.ContainerStatuses[0].LastTerminationState.Terminated = &corev1.ContainerStateTerminated{FinishedAt: ago(20 * time.Minute)}
	twice := failure.Options{MaxRestarts: new(int32(2))}
	up := func(d time.Duration) failure.Series { return failure.Series{Up: noon.Add(-d)} }
	for _, tt := range []struct {
		why     string
		options failure.Options
		pod     *corev1.Pod
		series  failure.Series
		want    bool
	}{
		{"one more than twice", twice, restarted, failure.Series{}, true},
		{"three are allowed", failure.Options{MaxRestarts: new(int32(3))}, restarted, failure.Series{}, false},
		{"restarts are not looked at", failure.Options{}, restarted, failure.Series{}, false},
		{"the update restarts containers", twice, updated, failure.Series{}, false},
		{"there is no pod", failure.Options{MaxRestarts: new(int32(0))}, nil, failure.Series{}, false},
		{"the node has been Ready since before", twice, ended, up(30 * time.Minute), true},
		{"the node was Ready again in the instant of the end", twice, ended, up(20 * time.Minute), false},
		{"the node became Ready after the end", twice, ended, up(10 * time.Minute), false},
		{"nobody knows when it ended", twice, restarted, up(10 * time.Minute), true},
		{"the node does not say since when it is Ready", twice, ended, failure.Series{}, true},
		{"a retry after the last end", twice, ended, failure.Series{Retried: noon.Add(-10 * time.Minute)}, false},
	} {
		if got := tt.options.Restarting(tt.pod, tt.series); got != tt.want {
			t.Errorf("%t, want %t: %s", got, tt.want, tt.why)
		}
	}
}

func TestOf(t *testing.T) {
	notReadySince := func(d time.Duration) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.Status.Conditions[1].LastTransitionTime = ago(d) }
	}
	ready := func(p *corev1.Pod) { p.Status.Conditions[1].Status = corev1.ConditionTrue }
	unstarted := func(p *corev1.Pod) { p.Status.StartTime = nil }
	restarted := func(times int32) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Status.InitContainerStatuses = []corev1.ContainerStatus{{RestartCount: 1}}
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{RestartCount: times}, {RestartCount: 1}}
		}
	}
	initRestarted := func(times int32) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.Status.InitContainerStatuses = []corev1.ContainerStatus{{RestartCount: times}} }
	}
	inPlace := func(d time.Duration) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Annotations = map[string]string{inplace.StateKey: `{"revision":"x","updateTimestamp":"` + ago(d).UTC().Format(time.RFC3339) + `"}`}
		}
	}
	endedAt := func(at time.Time) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Status.ContainerStatuses[0].LastTerminationState.Terminated = &corev1.ContainerStateTerminated{FinishedAt: metav1.NewTime(at)}
		}
	}
	const deadline, minute, hour = 10 * time.Minute, time.Minute, time.Hour
	twice := failure.Options{Deadline: deadline, MaxRestarts: new(int32(2))}
	plain := failure.Options{Deadline: deadline}
	const failed, never = -1, 0 // else: when the clock makes it a failed one, from noon
	tests := []struct {
		name, why string
		options   failure.Options
		pod       *corev1.Pod
		series    failure.Series
		want      time.Duration
	}{
		{"young", "F1: the deadline runs from the creation", plain, pod(minute), failure.Series{}, 9 * minute},
		{"at the deadline", "F1: then it has passed", plain, pod(deadline), failure.Series{}, failed},
		{"a second before", "F1: it has not", plain, pod(deadline - time.Second), failure.Series{}, time.Second},
		{"stopped to be ready", "F1: the deadline runs from then on", plain, pod(hour, notReadySince(minute)), failure.Series{}, 9 * minute},
		{"stopped to be ready, never started", "F1: a pod that never started was never ready", plain, pod(hour, notReadySince(minute), unstarted), failure.Series{}, failed},
		{"not ready since two seconds after its start", "F1: it was ready then", plain, pod(deadline, notReadySince(deadline-3*time.Second)), failure.Series{}, 3 * time.Second},
		{"not ready since a second after its start", "F1: that is what a kubelet writes at the start", plain, pod(deadline, notReadySince(deadline-2*time.Second)), failure.Series{}, failed},
		{"ready and not available for an hour", "F1: nothing else is known", plain, pod(hour, ready), failure.Series{}, failed},
		{"ready and not available yet", "F1: it was out of service for less than the deadline, and is on its way back", plain, pod(hour, notReadySince(minute), ready), failure.Series{}, 9 * minute},
		{"ready when it ended", "F1: that says nothing of when it stopped", plain, pod(hour, notReadySince(minute), ready, func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }), failure.Series{}, failed},
		{"not started before the node was back", "F1: nothing of the revision ran", plain, pod(hour, unstarted), failure.Series{Back: noon.Add(-minute)}, 9 * minute},
		{"the node was back before the pod came", "F1: since its creation", plain, pod(minute), failure.Series{Back: noon.Add(-hour)}, 9 * minute},
		{"updated in place", "F1: the deadline runs from the update", plain, pod(hour, inPlace(minute)), failure.Series{}, 9 * minute},
		{"updated in place long ago", "F1", plain, pod(2*hour, inPlace(hour)), failure.Series{}, failed},
		{"the second of a series", "F1: the deadline runs from the first", plain, pod(minute), failure.Series{First: noon.Add(-hour), Deleted: 1}, failed},
		{"a series in the future", "F1: a clock was set back; the pod tells", plain, pod(minute), failure.Series{First: noon.Add(hour), Deleted: 1}, 9 * minute},
		{"the second of a series was ready", "F1: and stopped to be a minute ago", plain, pod(hour, notReadySince(minute)), failure.Series{First: noon.Add(-2 * hour), Deleted: 1}, 9 * minute},
		{"no pod, a series", "F1: a failed pod was deleted, and no other is there yet", plain, nil, failure.Series{First: noon.Add(-minute), Deleted: 1}, 9 * minute},
		{"no pod, an old series", "F1", plain, nil, failure.Series{First: noon.Add(-hour), Deleted: 1}, failed},
		{"retried", "F3: what was before the retry says nothing", plain, pod(hour), failure.Series{First: noon.Add(-hour), Retried: noon.Add(-minute)}, 9 * minute},
		{"retried long ago", "F3: since then the deadline has passed", plain, pod(2 * hour), failure.Series{Retried: noon.Add(-hour)}, failed},
		{"retried, a younger pod", "F1: since its creation", plain, pod(minute), failure.Series{Retried: noon.Add(-hour)}, 9 * minute},
		{"retried, restarted before", "F3: that was judged already", twice, pod(hour, restarted(9)), failure.Series{Retried: noon.Add(-minute)}, 9 * minute},
		{"retried, ended with the retry", "F3: that was judged already", twice, pod(hour, restarted(9), endedAt(noon.Add(-minute))), failure.Series{Retried: noon.Add(-minute)}, 9 * minute},
		{"retried, ended since", "F3: it crashes as before", twice, pod(hour, restarted(9), endedAt(noon.Add(1-minute))), failure.Series{Retried: noon.Add(-minute)}, failed},
		{"retried, a younger pod restarts", "F1: it is of the new try", twice, pod(minute, restarted(3)), failure.Series{Retried: noon.Add(-hour)}, failed},
		{"retried, no pod", "F3: it may never have been there", plain, nil, failure.Series{Retried: noon.Add(-hour)}, never},
		{"no pod, nothing known", "F1: nothing says that it has failed", plain, nil, failure.Series{}, never},
		{"restarts", "F1: one more than twice", twice, pod(minute, restarted(3)), failure.Series{}, failed},
		{"few restarts", "F1: twice is allowed", twice, pod(minute, restarted(2)), failure.Series{}, 9 * minute},
		{"restarts of an init container", "F1: it is one of the pod", twice, pod(minute, initRestarted(3)), failure.Series{}, failed},
		{"restarts are not looked at", "F1: maxRestarts is unset", plain, pod(minute, restarted(99)), failure.Series{}, 9 * minute},
		{"deleted pods are restarts", "F1: two and one", twice, pod(minute, restarted(1)), failure.Series{First: noon.Add(-minute), Deleted: 2}, failed},
		{"deleted pods, none there", "F1", twice, nil, failure.Series{First: noon.Add(-minute), Deleted: 3}, failed},
		{"restarts of a pod updated in place", "F1: the update restarts containers", twice, pod(hour, inPlace(minute), restarted(9)), failure.Series{}, 9 * minute},
		{"more than fits", "numbers of a damaged status do not wrap around", twice, pod(minute, restarted(math.MaxInt32)), failure.Series{Deleted: math.MaxInt32}, failed},
		{"a negative count", "a damaged memory takes no restart away", twice, pod(minute, restarted(3)), failure.Series{Deleted: -7}, failed},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			want := failure.Verdict{}
			switch tt.want {
			case failed:
				want.Failed = true
			case never:
			default:
				want.At = noon.Add(tt.want)
			}
			if got := tt.options.Of(tt.pod, tt.series, noon); got.Failed != want.Failed || !got.At.Equal(want.At) {
				t.Errorf("%+v, want %+v: %s", got, want, tt.why)
			}
		})
	}
}

func TestStartedSince(t *testing.T) {
	node := func(status corev1.ConditionStatus) *corev1.Node {
		return &corev1.Node{Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{
			{Type: corev1.NodeDiskPressure, Status: corev1.ConditionTrue, LastTransitionTime: ago(time.Second)},
			{Type: corev1.NodeReady, Status: status, LastTransitionTime: ago(time.Minute)},
		}}}
	}
	started := func(d time.Duration) func(*corev1.Pod) {
		return func(p *corev1.Pod) { start := ago(d); p.Status.StartTime = &start }
	}
	unstarted := func(p *corev1.Pod) { p.Status.StartTime = nil }
	back := noon.Add(-time.Minute)
	for name, tt := range map[string]struct {
		node *corev1.Node
		pod  *corev1.Pod
		want time.Time
	}{
		"never started":             {node(corev1.ConditionTrue), pod(time.Hour, unstarted), back},
		"started when it came back": {node(corev1.ConditionTrue), pod(time.Hour, started(time.Minute)), back},
		"started before":            {node(corev1.ConditionTrue), pod(time.Hour, started(time.Minute+time.Second)), time.Time{}},
		"still down":                {node(corev1.ConditionFalse), pod(time.Hour, unstarted), time.Time{}},
		"nobody knows":              {node(corev1.ConditionUnknown), pod(time.Hour, unstarted), time.Time{}},
		"no condition":              {&corev1.Node{}, pod(time.Hour, unstarted), time.Time{}},
	} {
		if got := failure.StartedSince(tt.node, tt.pod); !got.Equal(tt.want) {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
		trouble := noon.Add(-time.Hour) // since it was created, but for the time that its node was down
		if !tt.want.IsZero() {
			trouble = tt.want
		}
		if got := failure.TroubleSince(tt.node, tt.pod); !got.Equal(trouble) {
			t.Errorf("%s: in trouble since %v, want %v", name, got, trouble)
		}
	}
}

func TestTroubleSince(t *testing.T) {
	back := &corev1.Node{Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{
		{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastTransitionTime: ago(time.Hour)},
	}}}
	young := pod(time.Minute, func(p *corev1.Pod) { p.Status.StartTime = nil })
	for name, node := range map[string]*corev1.Node{"the pod came after the node": back, "no node": nil} {
		if got, want := failure.TroubleSince(node, young), noon.Add(-time.Minute); !got.Equal(want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

// A pod that crashes again and again is nobody to wait for, although it is Ready for seconds in between.
func TestCrashing(t *testing.T) {
	const minute, hour = time.Minute, time.Hour
	ran := func(from, until time.Duration) func(*corev1.Pod) { // and it stopped to be Ready then
		return func(p *corev1.Pod) {
			p.Status.Conditions[1].LastTransitionTime = ago(until)
			ended := &corev1.ContainerStateTerminated{StartedAt: ago(from), FinishedAt: ago(until)}
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{Ready: true}, {
				RestartCount: 7, LastTerminationState: corev1.ContainerState{Terminated: ended},
			}}
		}
	}
	waits := func(reason string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{RestartCount: 6, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}}}}
		}
	}
	stopped := func(d time.Duration) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.Status.Conditions[1].LastTransitionTime = ago(d) }
	}
	ready := func(p *corev1.Pod) {
		p.Status.Conditions[1].Status = corev1.ConditionTrue
		p.Status.Phase = corev1.PodRunning
	}
	now := failure.Verdict{Failed: true}
	for name, tt := range map[string]struct {
		pod  *corev1.Pod
		want failure.Verdict
	}{
		"a short run":                          {pod(hour, ran(2*minute, minute)), now},
		"young":                                {pod(9*minute, ran(2*minute, minute)), failure.Verdict{At: noon.Add(minute)}},
		"a long run":                           {pod(hour, ran(50*minute, minute)), failure.Verdict{}},
		"a short run long ago":                 {pod(hour, ran(50*minute, 45*minute), stopped(minute)), failure.Verdict{}},
		"a few restarts":                       {pod(hour, ran(2*minute, minute), func(p *corev1.Pod) { p.Status.ContainerStatuses[1].RestartCount = 5 }), failure.Verdict{}},
		"it is Ready":                          {pod(hour, ran(2*minute, minute), ready), failure.Verdict{}},
		"it waits, and nobody says how it ran": {pod(hour, waits("CrashLoopBackOff")), now},
		"it waits for something else":          {pod(hour, waits("ContainerCreating")), failure.Verdict{}},
		"it never ended":                       {pod(hour), failure.Verdict{}},
	} {
		got := failure.Options{Deadline: 10 * minute}.Crashing(tt.pod, noon)
		if got.Failed != tt.want.Failed || !got.At.Equal(tt.want.At) {
			t.Errorf("%s: %+v, want %+v", name, got, tt.want)
		}
	}
}
