package predownload_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/predownload"
)

var (
	setOwner = metav1.OwnerReference{
		APIVersion: "apps/v1", Kind: "DaemonSet", Name: "agent", UID: "set-1", Controller: new(true), BlockOwnerDeletion: new(true),
	}
	onePull = predownload.Pull{Node: "worker-1", Image: "agent:v2", Secrets: []string{"registry"}, Timeout: 90 * time.Second}
)

func TestPullPod(t *testing.T) {
	own := corev1.Toleration{Key: "dedicated", Operator: corev1.TolerationOpExists}
	pod := predownload.PullPod(onePull, "logging", setOwner, []corev1.Toleration{own})
	if node, ok := placement.TargetNode(pod); !ok || node != "worker-1" || pod.Namespace != "logging" {
		t.Errorf("pinned to %s in namespace %s, want worker-1 in logging", node, pod.Namespace)
	}
	if got := pod.Spec.Containers[0].Command; len(got) != 1 || got[0] != "/dev/null/nothing" {
		t.Errorf("it runs %q, want what can exist in no image", got)
	}
	if *pod.Spec.ActiveDeadlineSeconds != 90 || pod.Spec.RestartPolicy != corev1.RestartPolicyNever || *pod.Spec.AutomountServiceAccountToken {
		t.Errorf("deadline %d, restart policy %s, token %t; want 90, Never and no token", *pod.Spec.ActiveDeadlineSeconds,
			pod.Spec.RestartPolicy, *pod.Spec.AutomountServiceAccountToken)
	}
	if diff := cmp.Diff([]corev1.LocalObjectReference{{Name: "registry"}}, pod.Spec.ImagePullSecrets); diff != "" {
		t.Error(diff)
	}
	if !tolerates(pod, own) || !tolerates(pod, corev1.Toleration{
		Key: corev1.TaintNodeUnschedulable, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule,
	}) {
		t.Errorf("it tolerates %v, want what is given and what daemon pods tolerate", pod.Spec.Tolerations)
	}
	if metav1.GetControllerOf(pod) != nil || len(pod.OwnerReferences) != 1 || pod.OwnerReferences[0].UID != "set-1" {
		t.Errorf("owners %v, want the set, not as controller: it would count the pod as its own", pod.OwnerReferences)
	}
	if *setOwner.Controller != true {
		t.Error("the owner that was passed in was changed")
	}
}

func tolerates(pod *corev1.Pod, want corev1.Toleration) bool {
	return slices.Contains(pod.Spec.Tolerations, want)
}

func TestPullNames(t *testing.T) {
	name := func(pull predownload.Pull, set types.UID) string {
		return predownload.PullPod(pull, "logging", metav1.OwnerReference{UID: set}, nil).Name
	}
	first := name(onePull, "set-1")
	if again := name(onePull, "set-1"); again != first {
		t.Errorf("names %s and %s of one pull differ", first, again)
	}
	if job := predownload.PullJob(onePull, "logging", setOwner); job.GetName() != first {
		t.Errorf("the job is %s, the pod %s", job.GetName(), first)
	}
	others := map[string]string{
		"another node":  name(predownload.Pull{Node: "worker-2", Image: "agent:v2"}, "set-1"),
		"another image": name(predownload.Pull{Node: "worker-1", Image: "agent:v3"}, "set-1"),
		"another set":   name(onePull, "set-2"),
		"a space moved": name(predownload.Pull{Node: "worker-1 agent:v2", Image: ""}, "set-1"),
	}
	for what, other := range others {
		if other == first {
			t.Errorf("%s has the same name %s", what, first)
		}
	}
}

func TestPullTimeouts(t *testing.T) {
	tests := []struct {
		name, why string
		timeout   time.Duration
		want      int64
	}{
		{name: "none", why: "the default of Options", want: 600},
		{name: "negative", why: "none", timeout: -time.Second, want: 600},
		{name: "less than a second", why: "the API knows none shorter", timeout: time.Millisecond, want: 1},
		{name: "fraction", why: "whole seconds", timeout: 2500 * time.Millisecond, want: 2},
	}
	rows := make(rowNames)
	for _, test := range tests {
		rows.check(t, test.name, test.why)
		t.Run(test.name, func(t *testing.T) {
			pod := predownload.PullPod(predownload.Pull{Timeout: test.timeout}, "", setOwner, nil)
			job := predownload.PullJob(predownload.Pull{Timeout: test.timeout}, "", setOwner)
			seconds, _, _ := unstructured.NestedInt64(job.Object, "spec", "pullPolicy", "timeoutSeconds")
			if got := *pod.Spec.ActiveDeadlineSeconds; got != test.want || seconds != test.want {
				t.Errorf("%d and %d s, want %d: %s", got, seconds, test.want, test.why)
			}
		})
	}
}

func TestAttemptOf(t *testing.T) {
	pod := func(status corev1.PodStatus) *corev1.Pod {
		p := predownload.PullPod(onePull, "logging", setOwner, nil)
		p.UID, p.Status = "pod-1", status
		return p
	}
	container := func(c corev1.ContainerStatus) corev1.PodStatus {
		return corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{c}}
	}
	waiting := func(reason string) corev1.PodStatus {
		return container(corev1.ContainerStatus{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}}})
	}
	failedWith := func(status corev1.PodStatus) corev1.PodStatus {
		status.Phase = corev1.PodFailed
		return status
	}
	job := func(status map[string]any) *unstructured.Unstructured {
		j := predownload.PullJob(onePull, "logging", setOwner)
		j.SetUID("pod-1")
		j.Object["status"] = status
		return j
	}
	otherKind := job(nil)
	otherKind.SetKind("NodeImage")
	unlabelled := pod(corev1.PodStatus{})
	unlabelled.Labels = nil
	controlled := pod(corev1.PodStatus{})
	controlled.OwnerReferences[0].Controller = new(true)
	notOwned := pod(corev1.PodStatus{})
	notOwned.OwnerReferences = nil
	ofAnother := pod(corev1.PodStatus{})
	ofAnother.OwnerReferences[0].UID = "set-2"
	const none = predownload.PullOutcome(99)
	tests := []struct {
		name, why string
		object    metav1.Object
		want      predownload.PullOutcome
	}{
		{name: "pending", why: "nothing has happened", object: pod(corev1.PodStatus{Phase: corev1.PodPending}), want: predownload.Running},
		{name: "pulling", why: "the kubelet tries again until the deadline", object: pod(waiting("ImagePullBackOff")), want: predownload.Running},
		{name: "not started", why: "the image was needed for it", object: pod(waiting("RunContainerError")), want: predownload.Pulled},
		{name: "not created", why: "so it was here", object: pod(waiting("CreateContainerError")), want: predownload.Pulled},
		{name: "image ID", why: "it is known on the node", object: pod(failedWith(container(corev1.ContainerStatus{ImageID: "sha256:1"}))),
			want: predownload.Pulled},
		{name: "deadline", why: "no image was pulled by then", object: pod(failedWith(waiting("ErrImagePull"))), want: predownload.Failed},
		{name: "evicted", why: "it has ended without an image", object: pod(corev1.PodStatus{Phase: corev1.PodFailed}), want: predownload.Failed},
		{name: "job without a status", why: "OpenKruise has not seen it", object: job(nil), want: predownload.Running},
		{name: "job active", why: "it counts what it does", object: job(map[string]any{"active": int64(1)}), want: predownload.Running},
		{name: "job succeeded", why: "on its one node", object: job(map[string]any{"succeeded": int64(1), "completionTime": "x"}), want: predownload.Pulled},
		{name: "job failed", why: "on its one node", object: job(map[string]any{"failed": int64(1)}), want: predownload.Failed},
		{name: "job over", why: "its node is not there any more", object: job(map[string]any{"completionTime": "x"}), want: predownload.Failed},
		{name: "status of another type", why: "what cannot be read has not ended", object: job(map[string]any{"failed": "1"}), want: predownload.Running},
		{name: "another kind", why: "it pulls nothing", object: otherKind, want: none},
		{name: "a pod of a set", why: "it has no label", object: unlabelled, want: none},
		{name: "a pod of a set that somebody has labelled", why: "it runs, and is not to be deleted as one that has pulled", object: controlled, want: none},
		{name: "an orphan that somebody has labelled", why: "no set has made it", object: notOwned, want: none},
		{name: "a label that names another set", why: "the owner says whose it is", object: ofAnother, want: none},
		{name: "another type", why: "it pulls nothing", object: &appsv1.DaemonSet{}, want: none},
		{name: "nil", why: "nothing is there", object: nil, want: none},
		{name: "nil pod", why: "nothing is there", object: (*corev1.Pod)(nil), want: none},
		{name: "nil job", why: "nothing is there", object: (*unstructured.Unstructured)(nil), want: none},
	}
	rows := make(rowNames)
	for _, test := range tests {
		rows.check(t, test.name, test.why)
		t.Run(test.name, func(t *testing.T) {
			got, ok := predownload.AttemptOf(test.object)
			want := predownload.Attempt{
				Request: predownload.Request{Node: "worker-1", Image: "agent:v2"}, Set: "set-1", UID: "pod-1", Outcome: test.want,
			}
			if test.want == none {
				want = predownload.Attempt{}
			}
			if ok != (test.want != none) || got != want {
				t.Errorf("%+v, %t; want %+v: %s", got, ok, want, test.why)
			}
		})
	}
}

func TestTrack(t *testing.T) {
	attempt := func(uid, node string, outcome predownload.PullOutcome) predownload.Attempt {
		return predownload.Attempt{Request: predownload.Request{Node: node, Image: "agent:v2"}, Set: "set-1", UID: types.UID(uid), Outcome: outcome}
	}
	attempts := []predownload.Attempt{
		attempt("1", "a", predownload.Running), attempt("2", "b", predownload.Pulled), attempt("3", "c", predownload.Failed),
		attempt("4", "d", predownload.Failed),
	}
	before := []predownload.Failure{{Node: "c", Image: "agent:v2", Count: 2, At: noon.Add(-time.Minute)}}
	first := predownload.Track(noon, attempts, before, nil)
	want := predownload.Progress{
		InFlight: []predownload.Request{{Node: "a", Image: "agent:v2"}},
		Failures: []predownload.Failure{{Node: "c", Image: "agent:v2", Count: 3, At: noon}, {Node: "d", Image: "agent:v2", Count: 1, At: noon}},
		Counted:  []types.UID{"3", "4"},
		Pulled:   map[string][]string{"b": {"agent:v2"}},
	}
	if diff := cmp.Diff(want, first); diff != "" {
		t.Error(diff)
	}
	if before[0].Count != 2 {
		t.Error("the failures that were passed in were changed")
	}
	later := predownload.Track(noon.Add(time.Second), attempts, first.Failures, first.Counted)
	if diff := cmp.Diff(first, later); diff != "" {
		t.Errorf("a failure is counted once, however often it is seen: %s", diff)
	}
	if gone := predownload.Track(noon, nil, first.Failures, first.Counted); len(gone.Counted) != 0 || len(gone.Failures) != 2 {
		t.Errorf("%+v: what is gone need not be known any more, what has failed is kept", gone)
	}
}

func TestProgressWithImages(t *testing.T) {
	nodes := []*corev1.Node{{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, nil, {ObjectMeta: metav1.ObjectMeta{Name: "b"}}}
	got := predownload.Progress{Pulled: map[string][]string{"b": {"agent:v2"}, "gone": {"agent:v2"}}}.WithImages(nodes)
	if got[0] != nodes[0] || got[1] != nil || !predownload.Reported(got[2].Status.Images, "agent:v2") {
		t.Errorf("%v, want node b alone to report the image", got)
	}
	if len(nodes[2].Status.Images) != 0 {
		t.Error("a node that was passed in was changed")
	}
	if same := (predownload.Progress{}).WithImages(nodes); &same[0] != &nodes[0] {
		t.Error("without pulls nothing is copied")
	}
}

func TestOutcomeString(t *testing.T) {
	for outcome, want := range map[predownload.PullOutcome]string{
		predownload.Running: "running", predownload.Pulled: "pulled", predownload.Failed: "failed", 99: "unknown",
	} {
		if got := outcome.String(); got != want {
			t.Errorf("%d is %q, want %q", outcome, got, want)
		}
	}
}

func TestAttemptsAreDue(t *testing.T) {
	pod := predownload.PullPod(onePull, "logging", setOwner, nil)
	job := predownload.PullJob(onePull, "logging", setOwner)
	pod.CreationTimestamp = metav1.NewTime(noon)
	job.SetCreationTimestamp(metav1.NewTime(noon))
	for object, due := range map[metav1.Object]time.Time{
		pod: noon.Add(150 * time.Second), // a minute to begin, and its 90 s
		job: noon.Add(240 * time.Second), // OpenKruise may take twice the timeout
	} {
		attempt, _ := predownload.AttemptOf(object)
		if !attempt.Due.Equal(due) {
			t.Errorf("due at %v, want %v", attempt.Due, due)
		}
		before := predownload.Track(due.Add(-1), []predownload.Attempt{attempt}, nil, nil)
		if len(before.InFlight) != 1 || !before.Wake.Equal(due) {
			t.Errorf("%+v, want it in flight until it is due", before)
		}
		after := predownload.Track(due, []predownload.Attempt{attempt}, nil, nil)
		if len(after.InFlight) != 0 || len(after.Failures) != 1 || !after.Wake.IsZero() {
			t.Errorf("%+v, want it to have failed when it is due: it may hold its place for ever", after)
		}
	}
	done := predownload.Attempt{Outcome: predownload.Pulled, Due: noon}
	if got := done.At(noon.Add(time.Hour)); got != predownload.Pulled {
		t.Errorf("what has ended is %s later", got)
	}
	if attempt, _ := predownload.AttemptOf(predownload.PullPod(onePull, "logging", setOwner, nil)); !attempt.Due.IsZero() {
		t.Errorf("without a creation time it is due at %v, want never", attempt.Due)
	}
	pod.Spec.ActiveDeadlineSeconds = new(int64(math.MaxInt64))
	if attempt, _ := predownload.AttemptOf(pod); !attempt.Due.After(noon) {
		t.Errorf("a deadline out of range is due at %v", attempt.Due)
	}
}
