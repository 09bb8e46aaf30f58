package canary_test

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/daemonplan/daemonplan/rollout/canary"
)

// Two nodes of five, in different zones; node-3 was chosen before and stays.
func ExampleChoose() {
	zone := func(z string) map[string]string { return map[string]string{"zone": z} }
	candidates := []canary.Candidate{
		{Name: "node-1", Labels: zone("a")},
		{Name: "node-2", Labels: zone("b"), Restarts: 4},
		{Name: "node-3", Labels: zone("a"), Restarts: 9},
		{Name: "node-4", Labels: zone("b"), Restarts: 1},
		{Name: "node-5", Labels: zone("a")},
	}
	options := canary.Options{
		Replicas:             new(intstr.FromString("40%")),
		NodeAntiAffinityKeys: []string{"zone"},
	}
	choice := canary.Choose(options, canary.Choosing{
		Desired: 5,
		Chosen:  []string{"node-3"},
		All:     slices.Values(candidates),
		Find: func(name string) (canary.Candidate, bool) {
			i := slices.IndexFunc(candidates, func(c canary.Candidate) bool { return c.Name == name })
			if i < 0 {
				return canary.Candidate{}, false
			}
			return candidates[i], true
		},
	})
	fmt.Println(choice.Nodes, "of", choice.Wanted)
	// Output: [node-3 node-4] of 2
}

func ExampleSize() {
	percent := func(p string) canary.Options { return canary.Options{Replicas: new(intstr.FromString(p))} }
	fmt.Println(canary.Size(canary.Options{}, 200))
	fmt.Println(canary.Size(percent("1%"), 20))
	fmt.Println(canary.Size(percent("99%"), 20))
	// Output:
	// 1
	// 1
	// 19
}

// A canary of one node is watched until it is promoted.
func ExampleJudge() {
	noon := time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC)
	in := canary.Input{
		Now: noon, Revision: "5d8f7b9c4", Name: "agent-5d8f7b9c4", Wanted: 1,
		Nodes: []canary.Node{{Name: "node-1"}},
	}
	options := canary.Options{Duration: new(3 * time.Minute)}
	for range 3 {
		j := canary.Judge(options, in)
		fmt.Println(in.Now.Format(time.TimeOnly), j.Phase, "-", j.Message())
		for key, value := range j.Set {
			fmt.Println(key, "=", value)
		}
		// The pod becomes available within a minute; then the judgement says when to come back.
		in.Record, in.Nodes[0].Available, in.Now = j.Record, true, in.Now.Add(time.Minute)
		if !j.Wake.IsZero() {
			in.Now = j.Wake
		}
	}
	// Output:
	// 12:00:00 Running - not every canary node has an available pod of the revision
	// 12:01:00 Running - every canary node has an available pod, and the canary goes on until its duration has passed
	// 12:04:00 Idle - the canary has passed, and the revision is promoted
	// daemonplan.io/promoted = 2026-01-15T12:04:00Z
}

func ExampleExamine() {
	pod := &corev1.Pod{Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{
		{Name: "agent", RestartCount: 3, LastTerminationState: corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{Reason: "OOMKilled"},
		}},
		{Name: "trace", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull"}}},
	}}}
	r := canary.Examine(pod)
	fmt.Println(r.Restarted, "restarted", r.Restarts, "times, last after", r.Terminated)
	fmt.Println(r.Container, "waits with", r.Waiting+":", r.Class)
	// Output:
	// agent restarted 3 times, last after OOMKilled
	// trace waits with ErrImagePull: Transient
}

func ExampleClassify() {
	fmt.Println(canary.Classify("ContainerCreating"), canary.Classify("ImagePullBackOff"), canary.Classify("InvalidImageName"),
		canary.Classify("CrashLoopBackOff"))
	// Output: Creating Transient Permanent Other
}

func ExampleFinding_Message() {
	f := canary.Finding{
		Phase: canary.Paused, Reason: canary.CannotStart, Node: "node-1", Pod: "agent-x7f2k", Container: "agent", Detail: "ErrImagePull",
	}
	fmt.Println(f.Message())
	// Output: a pod cannot start: container agent of pod agent-x7f2k on node node-1 waits with ErrImagePull
}

func ExampleOptions_Default() {
	o := canary.Options{Mode: canary.Manual}.Default()
	fmt.Println(o.Replicas, o.Mode, o.Duration, *o.AutoPause.MaxRestarts, *o.AutoFail.MaxRestarts)
	// Output: 1 manual <nil> 2 5
}

func ExampleOptions_DeepCopy() {
	o := canary.Options{NodeSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"canary": "yes"}}}
	c := o.DeepCopy()
	c.NodeSelector.MatchLabels["canary"] = "no"
	fmt.Println(o.NodeSelector.MatchLabels["canary"])
	// Output: yes
}

func ExampleOptions_Validate() {
	o := canary.Options{
		Replicas: new(intstr.FromString("0%")),
		AutoFail: canary.AutoFail{CanaryTimeout: new(5 * time.Minute)},
	}
	for _, err := range o.Validate(field.NewPath("spec", "strategy", "canary")) {
		fmt.Println(err)
	}
	// Output:
	// spec.strategy.canary.replicas: Invalid value: "0%": must be at least 1, or 1%
	// spec.strategy.canary.autoFail.canaryTimeout: Invalid value: "5m0s": must be more than duration (10m0s), or the canary would fail before it is promoted
}

func ExamplePhase_String() {
	fmt.Println(canary.Idle, canary.Running, canary.Paused, canary.Failed)
	// Output: Idle Running Paused Failed
}

func ExamplePhaseReason_String() {
	fmt.Println(canary.Observing, canary.CannotStart, canary.TimedOut)
	// Output: Observing CannotStart TimedOut
}

func ExampleClass_String() {
	fmt.Println(canary.Transient, canary.Permanent)
	// Output: Transient Permanent
}

func ExamplePhase_MarshalText() {
	text, err := canary.Paused.MarshalText()
	fmt.Println(string(text), err)
	// Output: Paused <nil>
}

func ExamplePhase_UnmarshalText() {
	var p canary.Phase
	fmt.Println(p.UnmarshalText([]byte("Failed")), p)
	fmt.Println(p.UnmarshalText([]byte("Asleep")))
	// Output:
	// <nil> Failed
	// "Asleep" is no code of a canary
}

func ExamplePhaseReason_MarshalText() {
	text, err := canary.SlowStart.MarshalText()
	fmt.Println(string(text), err)
	// Output: SlowStart <nil>
}

func ExamplePhaseReason_UnmarshalText() {
	var r canary.PhaseReason
	fmt.Println(r.UnmarshalText([]byte("TimedOut")), r)
	// Output: <nil> TimedOut
}
