package rollout_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/manifest"
)

// peer is a controller whose decisions were recorded.
type peer uint8

const (
	kubernetes peer = iota
	kruise
)

// recorded is one whole decision of a real controller.
type recorded struct {
	Name          string                       `json:"name"`
	Peer          string                       `json:"peer"`
	Features      []string                     `json:"features"`
	Now           time.Time                    `json:"now"`
	DaemonSet     json.RawMessage              `json:"daemonSet"`
	Revisions     []*appsv1.ControllerRevision `json:"revisions"`
	Nodes         []*corev1.Node               `json:"nodes"`
	Pods          []*corev1.Pod                `json:"pods"`
	BurstReplicas *int32                       `json:"burstReplicas,omitempty"`
	Expect        expectation                  `json:"expect"`

	set recordedSet // what DaemonSet says
}

// recordedSet is what the models read of either DaemonSet: apps/v1, or apps.kruise.io/v1beta1.
type recordedSet struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Selector             *metav1.LabelSelector  `json:"selector"`
		Template             corev1.PodTemplateSpec `json:"template"`
		MinReadySeconds      int32                  `json:"minReadySeconds,omitempty"`
		RevisionHistoryLimit *int32                 `json:"revisionHistoryLimit,omitempty"`
		UpdateStrategy       struct {
			Type          string         `json:"type"`
			RollingUpdate *rollingUpdate `json:"rollingUpdate,omitempty"`
		} `json:"updateStrategy"`
		BurstReplicas *intstr.IntOrString `json:"burstReplicas,omitempty"`
		ScaleStrategy *scaleStrategy      `json:"scaleStrategy,omitempty"`
		Lifecycle     *struct {
			PreDelete *recordedHook `json:"preDelete,omitempty"`
		} `json:"lifecycle,omitempty"`
	} `json:"spec"`
	Status struct {
		DesiredNumberScheduled int32  `json:"desiredNumberScheduled"`
		CollisionCount         *int32 `json:"collisionCount,omitempty"`
	} `json:"status"`
}

type scaleStrategy struct {
	PartitionedScaling bool `json:"partitionedScaling,omitempty"`
}

type rollingUpdate struct {
	RollingUpdateType string                `json:"rollingUpdateType,omitempty"`
	MaxUnavailable    *intstr.IntOrString   `json:"maxUnavailable,omitempty"`
	MaxSurge          *intstr.IntOrString   `json:"maxSurge,omitempty"`
	Partition         *intstr.IntOrString   `json:"partition,omitempty"`
	Selector          *metav1.LabelSelector `json:"selector,omitempty"`
	Paused            bool                  `json:"paused,omitempty"`
}

type recordedHook struct {
	LabelsHandler     map[string]string `json:"labelsHandler,omitempty"`
	FinalizersHandler []string          `json:"finalizersHandler,omitempty"`
	MarkPodNotReady   bool              `json:"markPodNotReady,omitempty"`
}

// expectation is what the real controller did.
type expectation struct {
	Status statusCounters `json:"status"`
	Phases struct {
		Manage        recordedPhase `json:"manage"`
		RollingUpdate recordedPhase `json:"rollingUpdate"`
	} `json:"phases"`
	RollingUpdateError string `json:"rollingUpdateError,omitempty"`
}

// recordedPhase is what one phase of the real controller did, to nodes and to pods.
type recordedPhase struct {
	Create                []string `json:"create,omitempty"`
	Delete                []string `json:"delete,omitempty"`
	InPlace               []string `json:"inPlace,omitempty"`
	PreparingDelete       []string `json:"preparingDelete,omitempty"`
	ChooseCreate          choice   `json:"chooseCreate"`
	ChooseDelete          choice   `json:"chooseDelete"`
	ChooseInPlace         choice   `json:"chooseInPlace"`
	ChoosePreparingDelete choice   `json:"choosePreparingDelete"`
	ChooseMixed           struct {
		FromDelete          []string `json:"fromDelete,omitempty"`
		FromInPlace         []string `json:"fromInPlace,omitempty"`
		FromPreparingDelete []string `json:"fromPreparingDelete,omitempty"`
		Count               int      `json:"count"`
	} `json:"chooseMixed"`
}

// choice is any count of from: the real controller picks in map order.
type choice struct {
	From  []string `json:"from,omitempty"`
	Count int      `json:"count"`
}

type statusCounters struct {
	Desired      int32 `json:"desiredNumberScheduled"`
	Current      int32 `json:"currentNumberScheduled"`
	Misscheduled int32 `json:"numberMisscheduled"`
	Ready        int32 `json:"numberReady"`
	Updated      int32 `json:"updatedNumberScheduled"`
	Available    int32 `json:"numberAvailable"`
	Unavailable  int32 `json:"numberUnavailable"`
}

func (c *recorded) peer() peer {
	if strings.HasPrefix(c.Peer, "openkruise@") {
		return kruise
	}
	return kubernetes
}

// spec is what the recorded DaemonSet says. Budgets that are both zero, which the API server refuses, make the
// controllers act as with maxUnavailable 1, which is our default.
func (c *recorded) spec(t *testing.T) rollout.Spec {
	t.Helper()
	decoded, err := manifest.Decode(c.DaemonSet)
	if err != nil {
		t.Fatalf("%s: %v", c.Name, err)
	}
	spec := decoded.Spec
	if c.BurstReplicas != nil {
		spec.Burst = new(intstr.FromInt32(*c.BurstReplicas))
	}
	if zero(spec.Strategy.MaxUnavailable) && (spec.Strategy.MaxSurge == nil || zero(spec.Strategy.MaxSurge)) {
		spec.Strategy.MaxUnavailable, spec.Strategy.MaxSurge = nil, nil
	}
	return spec
}

// varied takes over what was changed in the set.
func (c *recorded) varied(t *testing.T) {
	t.Helper()
	data, err := json.Marshal(&c.set)
	if err != nil {
		t.Fatal(err)
	}
	c.DaemonSet = data
}

func (c *recorded) snapshot() rollout.Snapshot {
	return rollout.Snapshot{
		Now: c.Now, Nodes: c.Nodes, Pods: c.own(), Revisions: c.Revisions,
		Memory: rollout.Memory{Version: rollout.MemoryVersion, CollisionCount: c.set.Status.CollisionCount},
	}
}

// own leaves out the pods of other controllers, as the real controllers do before they decide.
func (c *recorded) own() (own []*corev1.Pod) {
	for _, p := range c.Pods {
		if owner := metav1.GetControllerOf(p); owner == nil || owner.UID == c.set.UID {
			own = append(own, p)
		}
	}
	return own
}

// hook is the preDelete hook of the set, if any.
func (s *recordedSet) hook() *recordedHook {
	if s.Spec.Lifecycle == nil {
		return nil
	}
	return s.Spec.Lifecycle.PreDelete
}

// rolling are the settings of rolling updates; absent ones are unset.
func (s *recordedSet) rolling() rollingUpdate {
	u := s.Spec.UpdateStrategy
	if u.RollingUpdate == nil || u.Type == string(appsv1.OnDeleteDaemonSetStrategyType) {
		return rollingUpdate{}
	}
	return *u.RollingUpdate
}

func zero(v *intstr.IntOrString) bool {
	return v != nil && (v.IntValue() == 0 && v.Type == intstr.Int || v.Type == intstr.String && strings.Trim(v.StrVal, "0") == "%")
}

// hasGate tells whether the pod can be made not ready for an in-place update.
func hasGate(p *corev1.Pod) bool {
	for _, g := range p.Spec.ReadinessGates {
		if g.ConditionType == lifecycle.InPlaceUpdateReady {
			return true
		}
	}
	return false
}

func condition(p *corev1.Pod, kind corev1.PodConditionType) *corev1.PodCondition {
	for i := range p.Status.Conditions {
		if p.Status.Conditions[i].Type == kind {
			return &p.Status.Conditions[i]
		}
	}
	return nil
}
