package conformance_test

import (
	"encoding/json"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/daemonplan/daemonplan/internal/conformance"
	"github.com/daemonplan/daemonplan/internal/conformance/peer"
)

// These are names that the ExtendedDaemonSet controller uses.
const (
	edsHash     = "extendeddaemonset.datadoghq.com/templatehash"
	edsNodeHash = "extendeddaemonset.datadoghq.com/nodehash"
	edsPaused   = "extendeddaemonset.datadoghq.com/rolling-update-paused"
	edsFrozen   = "extendeddaemonset.datadoghq.com/rollout-frozen"
	edsName     = "extendeddaemonset.datadoghq.com/name"
)

// edsNow is the time of recordings that have none.
var edsNow = time.Date(2026, time.January, 15, 12, 0, 0, 0, time.UTC)

// edsSet is a recorded ExtendedDaemonSet.
type edsSet struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Template corev1.PodTemplateSpec `json:"template"`
		Strategy struct {
			ReconcileFrequency *metav1.Duration `json:"reconcileFrequency"`
			RollingUpdate      edsRolling       `json:"rollingUpdate"`
			Canary             *edsCanary       `json:"canary"`
		} `json:"strategy"`
	} `json:"spec"`
	Status struct {
		ActiveReplicaSet string           `json:"activeReplicaSet"`
		State            string           `json:"state"`
		Desired          int32            `json:"desired"`
		Canary           *edsCanaryStatus `json:"canary"`
	} `json:"status"`
}

type edsRolling struct {
	MaxUnavailable            *intstr.IntOrString `json:"maxUnavailable"`
	MaxPodSchedulerFailure    *intstr.IntOrString `json:"maxPodSchedulerFailure"`
	MaxParallelPodCreation    *int32              `json:"maxParallelPodCreation"`
	SlowStartIntervalDuration *metav1.Duration    `json:"slowStartIntervalDuration"`
	SlowStartAdditiveIncrease *intstr.IntOrString `json:"slowStartAdditiveIncrease"`
}

type edsCanary struct {
	Replicas             *intstr.IntOrString   `json:"replicas"`
	ValidationMode       string                `json:"validationMode"`
	Duration             *metav1.Duration      `json:"duration"`
	NoRestartsDuration   *metav1.Duration      `json:"noRestartsDuration"`
	NodeSelector         *metav1.LabelSelector `json:"nodeSelector"`
	NodeAntiAffinityKeys []string              `json:"nodeAntiAffinityKeys"`
	AutoPause            *edsAutoPause         `json:"autoPause"`
	AutoFail             *edsAutoFail          `json:"autoFail"`
}

type edsAutoPause struct {
	Enabled              *bool            `json:"enabled"`
	MaxRestarts          *int32           `json:"maxRestarts"`
	MaxSlowStartDuration *metav1.Duration `json:"maxSlowStartDuration"`
}

type edsAutoFail struct {
	Enabled             *bool            `json:"enabled"`
	MaxRestarts         *int32           `json:"maxRestarts"`
	MaxRestartsDuration *metav1.Duration `json:"maxRestartsDuration"`
	CanaryTimeout       *metav1.Duration `json:"canaryTimeout"`
}

type edsCanaryStatus struct {
	ReplicaSet string   `json:"replicaSet"`
	Nodes      []string `json:"nodes"`
}

// edsReplicaSet is one revision of an ExtendedDaemonSet.
type edsReplicaSet struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Selector           *metav1.LabelSelector  `json:"selector"`
		Template           corev1.PodTemplateSpec `json:"template"`
		TemplateGeneration string                 `json:"templateGeneration"`
	} `json:"spec"`
	Status struct {
		Desired    int32          `json:"desired"`
		Conditions []edsCondition `json:"conditions"`
	} `json:"status"`
}

type edsCondition struct {
	Type               string                 `json:"type"`
	Status             corev1.ConditionStatus `json:"status"`
	Reason             string                 `json:"reason"`
	LastTransitionTime metav1.Time            `json:"lastTransitionTime"`
	LastUpdateTime     metav1.Time            `json:"lastUpdateTime"`
}

// condition returns the condition of that type; nil if there is none.
func (r *edsReplicaSet) condition(kind string) *edsCondition {
	for i := range r.Status.Conditions {
		if r.Status.Conditions[i].Type == kind {
			return &r.Status.Conditions[i]
		}
	}
	return nil
}

// holds reports whether the condition exists and is True.
func (r *edsReplicaSet) holds(kind string) bool {
	c := r.condition(kind)
	return c != nil && c.Status == corev1.ConditionTrue
}

// edsSetting gives containers other resources on some nodes.
type edsSetting struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		NodeSelector metav1.LabelSelector `json:"nodeSelector"`
		Containers   []struct {
			Name      string                      `json:"name"`
			Resources corev1.ResourceRequirements `json:"resources"`
		} `json:"containers"`
	} `json:"spec"`
}

// edsCase is a recording of what the controller does with pods: one of filter, rolling or ers-reconcile.
type edsCase struct {
	Name     string   `json:"name"`
	Features []string `json:"features"`
	Input    struct {
		Now                 *time.Time             `json:"now"`
		Set                 edsSet                 `json:"extendedDaemonSet"`
		Replica             edsReplicaSet          `json:"replicaSet"`
		Nodes               []*corev1.Node         `json:"nodes"`
		Pods                []*corev1.Pod          `json:"pods"`
		Settings            []*edsSetting          `json:"settings"`
		PodByNode           map[string]*corev1.Pod `json:"podByNode"`
		PodsToCleanUp       []*corev1.Pod          `json:"podsToCleanUp"`
		SettingByNode       map[string]*edsSetting `json:"settingByNode"`
		CanaryNodes         []string               `json:"canaryNodes"`
		IgnoredNodes        []string               `json:"ignoredNodes"`
		LaterCallsAtSeconds []float64              `json:"laterCallsAtSeconds"`
	} `json:"input"`
	Expect edsExpectation `json:"expect"`
}

// edsExpectation is what the controller did.
type edsExpectation struct {
	edsFiltered                  // filter
	Later          []edsFiltered `json:"later"`
	CreateFrom     []string      `json:"createFrom"` // rolling
	CreateCount    int           `json:"createCount"`
	DeleteFrom     []string      `json:"deleteFrom"`
	DeleteCount    int           `json:"deleteCount"`
	CleanedUpPods  []string      `json:"cleanedUpPods"`
	Status         edsCounters   `json:"status"`
	Create         []string      `json:"create"` // ers-reconcile
	Delete         []string      `json:"delete"`
	ChooseCreate   peer.Choice   `json:"chooseCreate"`
	ChooseDelete   peer.Choice   `json:"chooseDelete"`
	ReplicaSetStat edsCounters   `json:"replicaSetStatus"`
	LabelChanged   []string      `json:"canaryLabelChanged"`
	LabelRemoved   []string      `json:"canaryLabelRemovedFrom"`
	Error          string        `json:"error"`
	Panic          string        `json:"panic"`
}

type edsFiltered struct {
	PodByNode    map[string]*string `json:"podByNode"`
	PodsToDelete []string           `json:"podsToDelete"`
}

type edsCounters struct {
	Desired   int32 `json:"desired"`
	Current   int32 `json:"current"`
	Ready     int32 `json:"ready"`
	Available int32 `json:"available"`
	Ignored   int32 `json:"ignoredUnresponsiveNodes"`
}

// edsLines decodes the cases of a file.
func edsLines[T any](t *testing.T, file string) (all []*T) {
	t.Helper()
	for name, line := range conformance.Lines(t, "eds/"+file+".jsonl") {
		c := new(T)
		if err := json.Unmarshal(line, c); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		all = append(all, c)
	}
	return all
}

func (c *edsCase) now() time.Time {
	if c.Input.Now != nil {
		return *c.Input.Now
	}
	return edsNow
}

func edsSeconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
