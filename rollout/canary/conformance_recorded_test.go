package canary_test

import (
	"encoding/json"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/daemonplan/daemonplan/internal/conformance"
	"github.com/daemonplan/daemonplan/rollout/canary"
)

// The recordings are of the ExtendedDaemonSet controller. It keeps a set ("daemonSet" here), and a replica set for each template.
// It writes what it finds out about a canary into the conditions of the replica set on trial.
const (
	annotationPrefix   = "extendeddaemonset.datadoghq.com/"
	validAnnotation    = annotationPrefix + "canary-valid"
	pausedAnnotation   = annotationPrefix + "canary-paused"
	reasonAnnotation   = annotationPrefix + "canary-paused-reason"
	unpausedAnnotation = annotationPrefix + "canary-unpaused"
	failedAnnotation   = annotationPrefix + "canary-failed"
	haltedAnnotation   = annotationPrefix + "rolling-update-paused"
	frozenAnnotation   = annotationPrefix + "rollout-frozen"
	hashAnnotation     = annotationPrefix + "templatehash"
)

// These are types of conditions.
const (
	beganCondition       = "Canary"
	failedCondition      = "Canary-Failed"
	pausedCondition      = "Canary-Paused"
	restartingCondition  = "PodRestarting"
	cannotStartCondition = "PodCannotStart"
)

type daemonSet struct {
	Metadata metav1.ObjectMeta
	Spec     struct {
		Strategy struct{ Canary *canarySpec }
	}
	Status setStatus
}

type canarySpec struct {
	ValidationMode               canary.Mode
	Replicas                     *intstr.IntOrString
	Duration, NoRestartsDuration *metav1.Duration
	NodeSelector                 *metav1.LabelSelector
	NodeAntiAffinityKeys         []string
	AutoPause                    *autoPause
	AutoFail                     *autoFail
}

type autoPause struct {
	Enabled              *bool
	MaxRestarts          *int32
	MaxSlowStartDuration *metav1.Duration
}

type autoFail struct {
	Enabled                            *bool
	MaxRestarts                        *int32
	MaxRestartsDuration, CanaryTimeout *metav1.Duration
}

type replicaSet struct {
	Metadata metav1.ObjectMeta
	Spec     struct {
		Template           corev1.PodTemplateSpec
		TemplateGeneration string
	}
	Status replicaSetStatus
}

type replicaSetStatus struct {
	Status                             string
	Desired, Current, Ready, Available int32
	IgnoredUnresponsiveNodes           int32
	Conditions                         []condition
}

type condition struct {
	Type, Status, Reason, Message      string
	LastTransitionTime, LastUpdateTime metav1.Time
}

// setStatus is the status of the daemonSet.
type setStatus struct {
	ActiveReplicaSet                             string
	State, Reason                                string
	Desired, Current, Ready, Available, UpToDate int32
	IgnoredUnresponsiveNodes                     int32
	Canary                                       *struct {
		ReplicaSet string
		Nodes      []string
	}
	Conditions []condition
}

// conditionOf returns the condition of the type, nil if there is none.
func conditionOf(conditions []condition, kind string) *condition {
	for i := range conditions {
		if conditions[i].Type == kind {
			return &conditions[i]
		}
	}
	return nil
}

func isTrue(conditions []condition, kind string) bool {
	c := conditionOf(conditions, kind)
	return c != nil && c.Status == "True"
}

// statusCase is a line of canary-status: what the controller finds out once from the pods of a canary.
type statusCase struct {
	Name  string
	Input struct {
		Now               time.Time
		ExtendedDaemonSet daemonSet
		ReplicaSet        replicaSet
		CanaryNodes       []string
		Nodes             []corev1.Node
		// PodByNode has a key for each node that may run the pod. The value is nil if the node has no pod.
		PodByNode     map[string]*corev1.Pod
		PodsToCleanUp []corev1.Pod
	}
	Expect struct {
		statusOutcome
		Panic string
	}
}

// statusOutcome is what the controller found out.
type statusOutcome struct {
	Failed, Paused, Unpaused          bool
	FailedReason, PausedReason        string
	Creates, Deletes                  []string
	CanaryLabelAddedTo, CleanedUpPods []string
	Status                            replicaSetStatus
	Conditions                        []condition
	RequeueAfterSeconds               float64
}

// promotionCase is a line of canary-promotion: which replica set becomes the active one.
type promotionCase struct {
	Name  string
	Input struct {
		Now                time.Time
		ExtendedDaemonSet  daemonSet
		ActiveReplicaSet   *replicaSet
		UpToDateReplicaSet replicaSet
		SameObject         bool
	}
	Expect promotionOutcome
}

type promotionOutcome struct {
	Current                                 string
	RequeueAfterSeconds, PendingSeconds     float64
	CanaryEnded, IsCanaryActive             bool
	IsFailed, IsPaused, IsUnpaused, IsValid bool
	PausedReason, RestoresTemplateOf        string
	Status                                  setStatus
}

// nodesCase is a line of canary-nodes: which nodes are chosen for the canary.
type nodesCase struct {
	Name  string
	Input struct {
		ExtendedDaemonSet  daemonSet
		ReplicaSet         replicaSet
		Nodes              []corev1.Node
		Pods               []corev1.Pod
		CurrentCanaryNodes []string
	}
	Expect struct {
		Deterministic, SizeVaries         bool
		Nodes, MustInclude, From          []string
		Count                             int
		ObservedSets                      [][]string
		ObservedSizes                     []int
		Errors                            []string
		Wanted                            *int
		ControllerWouldCallSelectNodes    bool
		ObservedCountsByAntiAffinityValue []map[string]int
	}
}

// recordings decodes a recorded file.
func recordings[C any](tb testing.TB, file string) []*C {
	tb.Helper()
	return retold[C](tb, file, func(line []byte) []byte { return line })
}

// retold decodes a recorded file after tell has changed each line.
func retold[C any](tb testing.TB, file string, tell func([]byte) []byte) []*C {
	tb.Helper()
	var all []*C
	for name, line := range conformance.Lines(tb, file) {
		c := new(C)
		if err := json.Unmarshal(tell(line), c); err != nil {
			tb.Fatalf("%s: %v", name, err)
		}
		all = append(all, c)
	}
	return all
}

func durationOf(d *metav1.Duration) *time.Duration {
	if d == nil {
		return nil
	}
	return &d.Duration
}

// options are the spec as options of this package.
func (s *canarySpec) options() canary.Options {
	o := canary.Options{
		Replicas: s.Replicas, Mode: s.ValidationMode,
		Duration: durationOf(s.Duration), NoRestartsDuration: durationOf(s.NoRestartsDuration),
		NodeSelector: s.NodeSelector, NodeAntiAffinityKeys: s.NodeAntiAffinityKeys,
	}
	off := func(enabled *bool) bool { return enabled != nil && !*enabled }
	if a := s.AutoPause; a != nil {
		o.AutoPause = canary.AutoPause{
			Disabled: off(a.Enabled), MaxRestarts: a.MaxRestarts, MaxSlowStartDuration: durationOf(a.MaxSlowStartDuration),
		}
	}
	if a := s.AutoFail; a != nil {
		o.AutoFail = canary.AutoFail{
			Disabled: off(a.Enabled), MaxRestarts: a.MaxRestarts,
			MaxRestartsDuration: durationOf(a.MaxRestartsDuration), CanaryTimeout: durationOf(a.CanaryTimeout),
		}
	}
	return o
}

// limits are the limits in a spec, with the defaults of those that are unset.
type limits struct {
	// unset reports whether a field is unset that the controller needs.
	unset                      bool
	pauses, fails              bool
	pauseRestarts, failRestart int32
	slow, goOn, timeout        *time.Duration
}

func (s *canarySpec) limits() limits {
	o := s.options().Default()
	return limits{
		unset: s.AutoPause == nil || s.AutoPause.Enabled == nil || s.AutoPause.MaxRestarts == nil ||
			s.AutoFail == nil || s.AutoFail.Enabled == nil || s.AutoFail.MaxRestarts == nil,
		pauses: !o.AutoPause.Disabled, pauseRestarts: *o.AutoPause.MaxRestarts, slow: o.AutoPause.MaxSlowStartDuration,
		fails: !o.AutoFail.Disabled, failRestart: *o.AutoFail.MaxRestarts,
		goOn: o.AutoFail.MaxRestartsDuration, timeout: o.AutoFail.CanaryTimeout,
	}
}

// startOf is when the kubelet accepted the pod.
func startOf(pod *corev1.Pod) (at time.Time, ok bool) {
	if pod.Status.StartTime == nil {
		return time.Time{}, false
	}
	return pod.Status.StartTime.Time, true
}
