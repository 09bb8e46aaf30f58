package canary_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/rollout/canary"
)

// The revision on trial in these tests.
const (
	onTrial     = "5d8f7b9c4"
	onTrialName = "agent-5d8f7b9c4"
)

func noon() time.Time { return time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC) }

// ago is an instant before noon.
func ago(d time.Duration) time.Time { return noon().Add(-d) }

// uniqueRows refuses rows that share a name or give no reason.
type uniqueRows map[string]bool

func (u uniqueRows) check(t *testing.T, name, why string) {
	t.Helper()
	if name == "" || why == "" || u[name] {
		t.Fatalf("row %q needs a reason and a name of its own", name)
	}
	u[name] = true
}

type podOption func(*corev1.Pod)

// podOf makes a pod that runs since it was created, a quarter of an hour before noon.
func podOf(name string, options ...podOption) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name), CreationTimestamp: metav1.NewTime(ago(15 * time.Minute))},
		Status: corev1.PodStatus{
			Phase:     corev1.PodRunning,
			StartTime: new(metav1.NewTime(ago(15 * time.Minute))),
			ContainerStatuses: []corev1.ContainerStatus{{
				Name: "agent", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(ago(15 * time.Minute))}},
			}},
		},
	}
	for _, o := range options {
		o(pod)
	}
	return pod
}

// status is that of a container of the pod, which is added if it has none.
func status(statuses *[]corev1.ContainerStatus, container string) *corev1.ContainerStatus {
	i := slices.IndexFunc(*statuses, func(s corev1.ContainerStatus) bool { return s.Name == container })
	if i < 0 {
		*statuses, i = append(*statuses, corev1.ContainerStatus{Name: container}), len(*statuses)
	}
	return &(*statuses)[i]
}

// restarted is a container that restarted n times, last at an instant and for a reason.
func restarted(container string, n int32, at time.Time, reason string) podOption {
	return func(p *corev1.Pod) {
		s := status(&p.Status.ContainerStatuses, container)
		s.RestartCount = n
		s.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{Reason: reason, FinishedAt: metav1.NewTime(at)}
	}
}

// waits is a container that waits.
func waits(container, reason string) podOption {
	return func(p *corev1.Pod) {
		status(&p.Status.ContainerStatuses, container).State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}}
	}
}

func started(at time.Time) podOption {
	return func(p *corev1.Pod) { p.Status.StartTime = new(metav1.NewTime(at)) }
}

func created(at time.Time) podOption {
	return func(p *corev1.Pod) { p.CreationTimestamp = metav1.NewTime(at) }
}

func phase(phase corev1.PodPhase) podOption {
	return func(p *corev1.Pod) { p.Status.Phase = phase }
}

func terminating(p *corev1.Pod) { p.DeletionTimestamp = new(metav1.NewTime(ago(time.Second))) }

func disrupted(value corev1.ConditionStatus) podOption {
	return func(p *corev1.Pod) {
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.DisruptionTarget, Status: value})
	}
}

// good is a canary node with an available pod; what the options do to the pod does not change that.
func good(name string, options ...podOption) canary.Node {
	return canary.Node{Name: name, Available: true, Pods: []*corev1.Pod{podOf(name+"-1", options...)}}
}

// bad is a canary node whose pod is not available.
func bad(name string, options ...podOption) canary.Node {
	n := good(name, options...)
	n.Available = false
	return n
}

// situation is the input of a judgement, with the options.
type situation struct {
	o  canary.Options
	in canary.Input
}

// observing is a canary of two nodes whose clock has run for four minutes at noon.
func observing() situation {
	return situation{in: canary.Input{
		Now: noon(), Revision: onTrial, Name: onTrialName, Wanted: 2,
		Nodes: []canary.Node{good("a"), good("b")},
		Record: canary.Record{
			Revision: onTrial, Began: ago(20 * time.Minute), Nodes: []string{"a", "b"}, Elapsed: time.Minute, Since: ago(3 * time.Minute),
		},
	}}
}

func (s situation) judge() canary.Judgement { return canary.Judge(s.o, s.in) }

// say puts a judgement into one line. Instants are relative to noon.
func say(j canary.Judgement) string {
	var parts []string
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	add("%v", sayFinding(j.Finding))
	if r := j.Record; r.Elapsed != 0 || !r.Since.IsZero() {
		running := ""
		if !r.Since.IsZero() {
			running = " running since " + sayTime(r.Since)
		}
		add("clock %v%s", r.Elapsed, running)
	}
	if !j.Record.Began.IsZero() && !j.Record.Began.Equal(ago(20*time.Minute)) {
		add("began %s", sayTime(j.Record.Began))
	}
	for _, at := range []struct {
		name string
		at   time.Time
	}{
		{"disturbed", j.Record.Disturbed}, {"restarting", j.Record.Restarting}, {"restarted", j.Record.Restarted},
		{"until", j.Until}, {"wake", j.Wake},
	} {
		if !at.at.IsZero() {
			add("%s %s", at.name, sayTime(at.at))
		}
	}
	if p := j.Record.Pause; p != nil {
		add("records %s", sayFinding(*p))
	}
	for _, key := range slices.Sorted(maps.Keys(j.Set)) {
		add("set %s=%s", strings.TrimPrefix(key, "daemonplan.io/"), j.Set[key])
	}
	for _, key := range j.Remove {
		add("remove %s", strings.TrimPrefix(key, "daemonplan.io/"))
	}
	for _, command := range j.Stale {
		add("stale %s", command)
	}
	return strings.Join(parts, "; ")
}

func sayFinding(f canary.Finding) string {
	text := f.Phase.String() + " " + f.Reason.String()
	for _, part := range []string{f.Node, f.Pod, f.Container, f.Detail} {
		if part != "" {
			text += " " + part
		}
	}
	if f.Restarts != 0 {
		text += fmt.Sprintf(" x%d", f.Restarts)
	}
	if f.Recorded != "" {
		text += fmt.Sprintf(" %q", f.Recorded)
	}
	if !f.At.IsZero() {
		text += " at " + sayTime(f.At)
	}
	return text
}

func sayTime(at time.Time) string {
	if d := at.Sub(noon()); d != 0 {
		return fmt.Sprintf("%+v", d.String())
	}
	return "now"
}
