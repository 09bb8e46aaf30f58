package canary_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/daemonplan/daemonplan/internal/conformance"
	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/history"
)

// surprise is what we do in a situation in which the recorded controller does something surprising. What happens to pods that are
// outdated, or with the template of a canary that failed, is decided by the planner, not here.
type surprise struct {
	name string
	rule string
	why  string
	do   func(t *testing.T) string
	want string
}

var surprises = []surprise{
	{"10-timeout-without-pod", "C4", "the canary takes too long, whether it has a pod or not", func(*testing.T) string {
		o, in := watched(canary.Node{Name: "a"})
		o.AutoFail.CanaryTimeout, in.Record.Began = new(20*time.Minute), in.Now.Add(-time.Hour)
		return verdict(canary.Judge(o, in))
	}, "Failed by TimedOut"},
	{"10-timeout-with-healthy-pod", "C4", "as with a healthy pod", func(*testing.T) string {
		o, in := watched(healthy("a"))
		o.AutoFail.CanaryTimeout, in.Record.Began = new(20*time.Minute), in.Now.Add(-time.Hour)
		return verdict(canary.Judge(o, in))
	}, "Failed by TimedOut"},
	{"10-restarts-without-pod", "C4", "the pod that restarted is gone, but its restarts went on for too long", func(*testing.T) string {
		o, in := watched(canary.Node{Name: "a"})
		o.AutoFail.MaxRestartsDuration, in.Record.Began = new(5*time.Minute), in.Now.Add(-time.Hour)
		in.Record.Restarting, in.Record.Restarted = in.Now.Add(-7*time.Minute), in.Now.Add(-time.Minute)
		return verdict(canary.Judge(o, in))
	}, "Failed by RestartsGoOn"},
	{"11-failure-reason", "C6", "the reason stands on the ControllerRevision and stays there", func(t *testing.T) string {
		o, in := recordedInput(t, "canary-status/0047")
		j := canary.Judge(o, in)
		return fmt.Sprintf("%s, recorded as %s, writes %d", verdict(j), j.Recorded, len(j.Set)+len(j.Remove))
	}, "Failed by TooManyRestarts, recorded as OOMKilled, writes 0"},
	{"11-failure-reason-found", "C6", "what is found is written, and found again the next time with all that is known",
		func(*testing.T) string {
			o, in := watched(healthy("a"), restarting("b", 6, "OOMKilled"))
			j := canary.Judge(o, in)
			in.Annotations, in.Record, in.Nodes = j.Set, j.Record, nil
			return verdict(canary.Judge(o, in)) + ", marked " + j.Set[history.FailedAnnotation]
		}, "Failed by TooManyRestarts of b: OOMKilled, marked TooManyRestarts"},
	{"12-cannot-start-on-the-first-of-two", "C3", "a healthy pod on the last node hides nothing", func(*testing.T) string {
		o, in := watched(stuck("a", "ErrImagePull"), healthy("b"))
		return verdict(canary.Judge(o, in))
	}, "Paused by CannotStart of a: ErrImagePull"},
	{"12-cannot-start-in-another-order", "C3", "the order of the nodes changes nothing", func(*testing.T) string {
		o, in := watched(healthy("b"), stuck("a", "ErrImagePull"))
		return verdict(canary.Judge(o, in))
	}, "Paused by CannotStart of a: ErrImagePull"},
	{"12-two-reasons", "C3", "of several pods the one on the first node gives the reason", func(*testing.T) string {
		o, in := watched(stuck("b", "InvalidImageName"), restarting("a", 3, "Error"))
		return verdict(canary.Judge(o, in))
	}, "Paused by TooManyRestarts of a: Error"},
	{"13-restart-reason", "C3", "restarts have the reason of the restart, not of a pod that cannot start", func(*testing.T) string {
		o, in := watched(restarting("a", 4, "OOMKilled"), stuck("b", "ErrImagePull"))
		j := canary.Judge(o, in)
		return fmt.Sprintf("%s, %d restarts since %s", verdict(j), j.Restarts, j.Record.Restarting.Format(time.TimeOnly))
	}, "Paused by TooManyRestarts of a: OOMKilled, 4 restarts since 11:59:00"},
	{"14-unpause-without-pod", "C3", "unpause lifts an automatic pause at once, so that the pod can come back", func(*testing.T) string {
		o, in := watched(canary.Node{Name: "a"})
		in.Record.Pause = &canary.Finding{Phase: canary.Paused, Reason: canary.CannotStart, Detail: "ErrImagePull"}
		o.Commands.Unpause = canary.Any
		j := canary.Judge(o, in)
		return fmt.Sprintf("%s, pause on record: %t", verdict(j), j.Record.Pause != nil)
	}, "Running by Starting, pause on record: false"},
	{"14-unpause-lets-promote", "C3, C2", "a pause that was lifted does not stand in the way of the promotion", func(*testing.T) string {
		o, in := watched(healthy("a"))
		in.Record.Elapsed = 10 * time.Minute
		in.Record.Pause = &canary.Finding{Phase: canary.Paused, Reason: canary.TooManyRestarts}
		o.Commands.Unpause = canary.Any
		return verdict(canary.Judge(o, in))
	}, "Idle by Promoted"},
	{"14-pause-and-unpause", "C3, C5", "somebody paused it, and unpause does not lift that", func(t *testing.T) string {
		o, in := recordedInput(t, "canary-status/0138")
		return verdict(canary.Judge(o, in))
	}, "Paused by ByCommand"},
	{"15-no-start-time", "C3, C4", "no panic, and the pod that restarted 12 times decides", func(t *testing.T) string {
		o, in := recordedInput(t, "canary-status/0130")
		return verdict(canary.Judge(o, in))
	}, "Failed by TooManyRestarts of n03: StartError"},
	{"15-no-start-time-alone", "C3", "without a start time, creation counts", func(t *testing.T) string {
		o, in := recordedInput(t, "canary-status/0130")
		in.Nodes = slices.DeleteFunc(in.Nodes, func(n canary.Node) bool { return n.Name == "n03" })
		return verdict(canary.Judge(o, in))
	}, "Paused by SlowStart of n00: ContainerCreating"},
	{"15-last-state-that-is-not-terminated", "C3", "no panic, and the restarts count", func(*testing.T) string {
		n := restarting("a", 3, "Error")
		n.Pods[0].Status.ContainerStatuses[0].LastTerminationState = corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
		o, in := watched(n)
		return verdict(canary.Judge(o, in))
	}, "Paused by TooManyRestarts of a"},
	{"16-failed-and-over", "C4, C6", "a failed canary is not promoted when its duration is over", func(t *testing.T) string {
		o, in := recordedInput(t, "canary-promotion/0000")
		j := canary.Judge(o, in)
		return fmt.Sprintf("%s, writes %d", verdict(j), len(j.Set)+len(j.Remove))
	}, "Failed by ByCommand, writes 0"},
	{"17-at-the-very-instant", "C2", "at exactly the duration it is promoted", func(*testing.T) string {
		o, in := watched(healthy("a"))
		in.Record.Since = in.Now.Add(-10 * time.Minute)
		return verdict(canary.Judge(o, in))
	}, "Idle by Promoted"},
	{"17-a-moment-before", "C2", "what is waited for is never in the past", func(*testing.T) string {
		o, in := watched(healthy("a"))
		in.Record.Since = in.Now.Add(-10*time.Minute + 1)
		j := canary.Judge(o, in)
		return fmt.Sprintf("%s, for %v, look again in %v", verdict(j), j.Until.Sub(in.Now), j.Wake.Sub(in.Now))
	}, "Running by Observing, for 1ns, look again in 1ns"},
	{"18-outdated-pods", "C3, C4", "pods of another revision say nothing about this one, and do not hurry its canary", func(t *testing.T) string {
		o, in := watched(canary.Node{Name: "a"}, canary.Node{Name: "b"})
		in.Record.Since = in.Now.Add(-time.Hour)
		return verdict(canary.Judge(o, in))
	}, "Running by Starting"},
	{"19-unfit-nodes", "C1", "unfit nodes are no candidates, so the fit one is always found", func(t *testing.T) string {
		return nodesChosen(t, "canary-nodes/0044")
	}, "n04 of 1"},
	{"20-invalid-selector", "C1, C7", "the options are refused, and used all the same they select nothing", func(t *testing.T) string {
		f := recordedFleet(t, "canary-nodes/0186")
		return fmt.Sprintf("%v; %s", f.spec.options().Validate(nil)[0].Field, nodesChosen(t, "canary-nodes/0186"))
	}, "nodeSelector.matchExpressions[0].operator;  of 1"},
	{"21-gone-node", "C1", "a chosen node that no longer exists is replaced", func(*testing.T) string {
		return choice(canary.Options{Replicas: new(intstr.FromInt32(2))}, []string{"gone", "d"}, nodesNamed("a", "b", "c", "d")...)
	}, "a d of 2"},
	{"21-fewer-wanted", "C1", "of too many, those at the revision stay, then by name", func(*testing.T) string {
		all := nodesNamed("a", "b", "c", "d")
		all[3].Updated = true
		return choice(canary.Options{Replicas: new(intstr.FromInt32(2))}, []string{"d", "c", "b"}, all...)
	}, "b d of 2"},
	{"22-ties", "C1", "ties are broken by name, whatever the order of the list", func(*testing.T) string {
		return choice(canary.Options{}, nil, nodesNamed("c", "a", "b")...)
	}, "a of 1"},
	{"22-init-restarts", "C1", "restarts of init containers count", func(t *testing.T) string {
		f := &fleet{spec: &canarySpec{Replicas: new(intstr.FromInt32(1))}, set: "s", nodes: []corev1.Node{nodeNamed("a"), nodeNamed("b")}, pods: []corev1.Pod{{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{setLabel: "s"}}, Spec: corev1.PodSpec{NodeName: "a"},
			Status: corev1.PodStatus{InitContainerStatuses: []corev1.ContainerStatus{{RestartCount: 1}}},
		}}}
		return fmt.Sprint(peer{}.choose(f, nil).sets, " there, here ", choice(canary.Options{}, nil, slices.Collect(f.choosing(t).All)...))
	}, "[a b] there, here b of 1"},
	{"updated-first", "C1, C6", "a lost record starts again where the revision is already", func(*testing.T) string {
		all := nodesNamed("a", "b", "c")
		all[2].Updated, all[2].Restarts = true, 9
		return choice(canary.Options{}, nil, all...)
	}, "c of 1"},
	{"percent-leaves-one", "C1", "a percentage below 100% never covers every node by accident", func(*testing.T) string {
		return choice(canary.Options{Replicas: new(intstr.FromString("99%"))}, nil, nodesNamed("a", "b", "c")...)
	}, "a b of 2"},
	{"percent-of-one", "C1", "except where there is only one", func(*testing.T) string {
		return choice(canary.Options{Replicas: new(intstr.FromString("1%"))}, nil, nodesNamed("a")...)
	}, "a of 1"},
}

// TestConformanceSurprises shows what we do in each situation in which the recorded controller does something surprising.
func TestConformanceSurprises(t *testing.T) {
	t.Setenv(conformance.EnvDir, "")
	seen := make(map[string]bool)
	for _, s := range surprises {
		if s.name == "" || s.rule == "" || s.why == "" || seen[s.name] {
			t.Errorf("%q needs a name of its own, a rule and a reason", s.name)
		}
		seen[s.name] = true
		t.Run(s.name, func(t *testing.T) {
			if got := s.do(t); got != s.want {
				t.Errorf("%s: %s:\n got %s\nwant %s", s.rule, s.why, got, s.want)
			}
		})
	}
}

// verdict describes the state of a canary: the phase, the reason, the node and the detail.
func verdict(j canary.Judgement) string {
	text := fmt.Sprintf("%v by %v", j.Phase, j.Reason)
	if j.Node != "" {
		text += " of " + j.Node
	}
	if j.Detail != "" {
		text += ": " + j.Detail
	}
	return text
}

// watched is a canary in which all but the given nodes is in order, with a clock that has not begun yet.
func watched(nodes ...canary.Node) (canary.Options, canary.Input) {
	now := time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC)
	in := canary.Input{Now: now, Revision: "new", Name: "agent-new", Nodes: nodes, Wanted: int32(len(nodes))}
	in.Record = canary.Record{Revision: "new", Began: now.Add(-5 * time.Minute)}
	for _, n := range nodes {
		in.Record.Nodes = append(in.Record.Nodes, n.Name)
	}
	slices.Sort(in.Record.Nodes)
	return canary.Options{}.Default(), in
}

func healthy(name string) canary.Node {
	return canary.Node{Name: name, Available: true, Pods: []*corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Name: "pod-" + name}}}}
}

// stuck is a node whose pod waits.
func stuck(name, reason string) canary.Node {
	n := healthy(name)
	n.Available = false
	n.Pods[0].Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: "agent", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}},
	}}
	return n
}

// restarting is a node whose pod restarted, last a minute before noon.
func restarting(name string, restarts int32, reason string) canary.Node {
	n := healthy(name)
	n.Pods[0].Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: "agent", RestartCount: restarts,
		LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			Reason: reason, FinishedAt: metav1.Date(2026, 1, 15, 11, 59, 0, 0, time.UTC),
		}},
	}}
	return n
}

// recordedInput is a recorded case of a canary as input of Judge.
func recordedInput(t *testing.T, name string) (canary.Options, canary.Input) {
	t.Helper()
	if strings.HasPrefix(name, "canary-promotion/") {
		return recordedCase[promotionCase](t, name).input()
	}
	return recordedCase[statusCase](t, name).input()
}

func recordedFleet(t *testing.T, name string) *fleet {
	t.Helper()
	return recordedCase[nodesCase](t, name).fleet()
}

// recordedCase is the recorded case of that name.
func recordedCase[C any](t *testing.T, name string) *C {
	t.Helper()
	file, _, _ := strings.Cut(name, "/")
	for _, line := range conformance.Lines(t, "eds/"+file+".jsonl") {
		if !bytes.Contains(line, []byte(`"name":"`+name+`"`)) {
			continue
		}
		c := new(C)
		if err := json.Unmarshal(line, c); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return c
	}
	t.Fatalf("no case %s", name)
	return nil
}

// nodesChosen are the nodes that we choose in a recorded case.
func nodesChosen(t *testing.T, name string) string {
	t.Helper()
	f := recordedFleet(t, name)
	c := canary.Choose(f.spec.options(), f.choosing(t))
	return fmt.Sprintf("%s of %d", strings.Join(c.Nodes, " "), c.Wanted)
}

func nodeNamed(name string) corev1.Node {
	return corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

func nodesNamed(names ...string) (all []canary.Candidate) {
	for _, name := range names {
		all = append(all, canary.Candidate{Name: name})
	}
	return all
}

func choice(o canary.Options, chosen []string, all ...canary.Candidate) string {
	in := canary.Choosing{Desired: int32(len(all)), Chosen: chosen}
	offer(&in, all)
	c := canary.Choose(o, in)
	return fmt.Sprintf("%s of %d", strings.Join(c.Nodes, " "), c.Wanted)
}

// offer replaces the candidates.
func offer(in *canary.Choosing, all []canary.Candidate) {
	in.All = slices.Values(all)
	in.Find = func(name string) (canary.Candidate, bool) {
		i := slices.IndexFunc(all, func(c canary.Candidate) bool { return c.Name == name })
		if i < 0 {
			return canary.Candidate{}, false
		}
		return all[i], true
	}
}
