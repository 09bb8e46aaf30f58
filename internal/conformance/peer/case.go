package peer

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/manifest"
)

// Controller is a controller whose decisions plans are compared with.
type Controller uint8

// The controllers that the model knows.
const (
	Kubernetes Controller = iota
	Kruise
)

// Case is one whole decision of a real controller: what it saw and what it did. [Decode] reads a recorded one. A test that
// builds one from objects sets all but Features and Expect, and then calls DecodeSet.
type Case struct {
	// Name is what errors call it.
	Name string `json:"name"`
	// Peer is the controller and its version, such as "openkruise@v1.8.3". Whatever is not OpenKruise is Kubernetes.
	Peer string `json:"peer"`
	// Features say what was generated into a recorded case.
	Features []string  `json:"features"`
	Now      time.Time `json:"now"`
	// DaemonSet is the object, as the API server has it.
	DaemonSet json.RawMessage `json:"daemonSet"`
	// Revisions are the history in order. The last one is that of the template, and there always is one.
	Revisions []*appsv1.ControllerRevision `json:"revisions"`
	Nodes     []*corev1.Node               `json:"nodes"`
	// Pods are those that the selector matches, whoever controls them.
	Pods []*corev1.Pod `json:"pods"`
	// BurstReplicas is the setting of the Kubernetes controller. Nil: 250.
	BurstReplicas *int32 `json:"burstReplicas,omitempty"`
	// Expect is what was recorded. The model does not read it.
	Expect Expectation `json:"expect"`

	// Set is the part of DaemonSet that the model reads. After a change to one of the two, DecodeSet or EncodeSet makes them
	// agree.
	Set Set `json:"-"`
}

// Decode reads a case as it was recorded, one line of a file.
func Decode(line []byte) (*Case, error) {
	c := new(Case)
	if err := json.Unmarshal(line, c); err != nil {
		return nil, err
	}
	if err := c.DecodeSet(); err != nil {
		return nil, err
	}
	return c, nil
}

// DecodeSet reads Set from DaemonSet.
func (c *Case) DecodeSet() error {
	c.Set = Set{}
	if err := json.Unmarshal(c.DaemonSet, &c.Set); err != nil {
		return fmt.Errorf("%s: daemonSet: %w", c.Name, err)
	}
	return nil
}

// EncodeSet writes to DaemonSet what Set says, and drops what the model does not read of it.
func (c *Case) EncodeSet() error {
	data, err := json.Marshal(&c.Set)
	if err != nil {
		return fmt.Errorf("%s: %w", c.Name, err)
	}
	c.DaemonSet = data
	return nil
}

// Clone returns a deep copy. Of Set it has what DaemonSet says.
func (c *Case) Clone() (*Case, error) {
	data, err := json.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.Name, err)
	}
	return Decode(data)
}

// Controller returns whose decision it is.
func (c *Case) Controller() Controller {
	if strings.HasPrefix(c.Peer, "openkruise@") {
		return Kruise
	}
	return Kubernetes
}

// Spec returns what the DaemonSet says. Budgets that are both zero, which the API server refuses, make the
// controllers act as with maxUnavailable 1, which is our default.
func (c *Case) Spec() (rollout.Spec, error) {
	decoded, err := manifest.Decode(c.DaemonSet)
	if err != nil {
		return rollout.Spec{}, fmt.Errorf("%s: %w", c.Name, err)
	}
	spec := decoded.Spec
	if c.BurstReplicas != nil {
		spec.Burst = new(intstr.FromInt32(*c.BurstReplicas))
	}
	if Zero(spec.Strategy.MaxUnavailable) && (spec.Strategy.MaxSurge == nil || Zero(spec.Strategy.MaxSurge)) {
		spec.Strategy.MaxUnavailable, spec.Strategy.MaxSurge = nil, nil
	}
	return spec, nil
}

// Snapshot returns what a planner gets to see. It shares the objects of the case.
func (c *Case) Snapshot() rollout.Snapshot {
	return rollout.Snapshot{
		Now: c.Now, Nodes: c.Nodes, Pods: c.Own(), Revisions: c.Revisions,
		Memory: rollout.Memory{Version: rollout.MemoryVersion, CollisionCount: c.Set.Status.CollisionCount},
	}
}

// Own leaves out the pods of other controllers, as the real controllers do before they decide.
func (c *Case) Own() (own []*corev1.Pod) {
	for _, p := range c.Pods {
		if owner := metav1.GetControllerOf(p); owner == nil || owner.UID == c.Set.UID {
			own = append(own, p)
		}
	}
	return own
}

// Refused returns the field of the spec for which the API server would refuse it, as rollout.New does. Empty: it would not. A
// decision that a controller makes with a refused spec is not compared.
func (c *Case) Refused(spec rollout.Spec) string {
	s := spec.Strategy
	surge := s.MaxSurge != nil && !Zero(s.MaxSurge)
	switch {
	case spec.MinReadySeconds < 0:
		return "spec.minReadySeconds"
	case spec.RevisionHistoryLimit != nil && *spec.RevisionHistoryLimit < 0:
		return "spec.revisionHistoryLimit"
	case spec.Burst != nil && spec.Burst.Type == intstr.Int && spec.Burst.IntVal < 1, Unfit(spec.Burst, math.MaxInt32):
		return "spec.burst"
	case Unfit(s.Partition, math.MaxInt32):
		return "spec.strategy.partition"
	case s.Type == rollout.OnDelete:
		return ""
	case Unfit(s.MaxUnavailable, 100):
		return "spec.strategy.maxUnavailable"
	case Unfit(s.MaxSurge, 100):
		return "spec.strategy.maxSurge"
	case surge && s.MaxUnavailable != nil && !Zero(s.MaxUnavailable):
		return "spec.strategy.maxSurge"
	case surge && s.Method != "" && s.Method != inplace.Recreate:
		return "spec.strategy.maxSurge"
	default:
		return ""
	}
}
