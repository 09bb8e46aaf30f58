package objects

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/text"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/history"
)

// edsTemplateHash is the annotation by which pods of an ExtendedDaemonSet say which replica set they are of.
const edsTemplateHash = "extendeddaemonset.datadoghq.com/templatehash"

// ReplicaSet is a revision of an ExtendedDaemonSet, as its own controller keeps it.
type ReplicaSet struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Template           json.RawMessage `json:"template"`
		TemplateGeneration string          `json:"templateGeneration"`
	} `json:"spec"`
	Status struct {
		Conditions []struct {
			Type               string                 `json:"type"`
			Status             metav1.ConditionStatus `json:"status"`
			Reason             string                 `json:"reason"`
			LastTransitionTime metav1.Time            `json:"lastTransitionTime"`
			LastUpdateTime     metav1.Time            `json:"lastUpdateTime"`
		} `json:"conditions"`
	} `json:"status"`
}

// ReplicaSetsOf returns the replica sets of an ExtendedDaemonSet, in the order in which they were made.
func (in *Input) ReplicaSetsOf(s *Set) []*ReplicaSet {
	var list []*ReplicaSet
	for _, r := range in.ReplicaSets {
		if s.Group == GroupEDS && r.Namespace == s.Spec.Namespace && r.Labels[edsNameLabel] == s.Spec.Name {
			list = append(list, r)
		}
	}
	slices.SortFunc(list, func(a, b *ReplicaSet) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	return list
}

// SnapshotOfReplicaSets is what the set's own controller sees: its replica sets are the revisions, and what it keeps in the
// status of these and of the set is the memory. Without replica sets it is the same as [Input.Snapshot].
func (in *Input) SnapshotOfReplicaSets(s *Set, now time.Time) (rollout.Snapshot, rollout.Claims, error) {
	list := in.ReplicaSetsOf(s)
	if len(list) == 0 {
		status, _ := s.status() // one of another form was written by somebody else
		if active := status.ActiveReplicaSet; active != "" && !s.Revised {
			return rollout.Snapshot{}, rollout.Claims{}, fmt.Errorf("%s: status.activeReplicaSet is %s, and there is no "+
				"ExtendedDaemonSetReplicaSet of the set in the input; a dump has them: kubectl get nodes,pods,eds,ers -A -o json",
				in.SetPlace(s), text.Printable(active))
		}
		return in.Snapshot(s, now)
	}
	own := *s
	uids := make(map[types.UID]bool)
	view := *in
	view.Revisions, view.Pods = nil, nil
	for i, r := range list {
		revision, err := own.revision(r, int64(i+1))
		if err != nil {
			return rollout.Snapshot{}, rollout.Claims{}, fmt.Errorf("%s: %w", in.Place(edsReplicaSetKind, r), err)
		}
		view.Revisions = append(view.Revisions, revision)
		uids[r.UID] = r.UID != ""
	}
	for _, pod := range in.Pods {
		if of := metav1.GetControllerOfNoCopy(pod); of != nil && uids[of.UID] {
			own := own.pod(pod)
			in.origins[own] = in.origins[pod]
			pod = own
		}
		view.Pods = append(view.Pods, pod)
	}
	own.Spec.Predecessor = withoutUIDs(s.Spec.Predecessor, uids)
	if err := own.recall(list); err != nil {
		return rollout.Snapshot{}, rollout.Claims{}, fmt.Errorf("%s: %w", in.SetPlace(s), err)
	}
	return view.Snapshot(&own, now)
}

// edsStatus is what the controller keeps in the status of an ExtendedDaemonSet.
type edsStatus struct {
	ActiveReplicaSet string `json:"activeReplicaSet"`
	Canary           *struct {
		ReplicaSet string   `json:"replicaSet"`
		Nodes      []string `json:"nodes"`
	} `json:"canary"`
}

// status reads the status of an ExtendedDaemonSet.
func (s *Set) status() (edsStatus, error) {
	var object struct {
		Status edsStatus `json:"status"`
	}
	err := json.Unmarshal(s.Object.JSON, &object)
	return object.Status, err
}

// edsCanaryFailed is the annotation by which the controller is told to give a canary up.
const edsCanaryFailed = "extendeddaemonset.datadoghq.com/canary-failed"

// withoutUIDs is the predecessor without those of these UIDs; nil if nothing is left.
func withoutUIDs(predecessor *rollout.Predecessor, uids map[types.UID]bool) *rollout.Predecessor {
	if predecessor == nil {
		return nil
	}
	rest := *predecessor
	rest.UIDs = slices.DeleteFunc(slices.Clone(rest.UIDs), func(uid types.UID) bool { return uids[uid] })
	if len(rest.UIDs) == 0 && rest.Selector == nil {
		return nil
	}
	return &rest
}

// revision is the ControllerRevision that has what the replica set has.
func (s *Set) revision(r *ReplicaSet, number int64) (*appsv1.ControllerRevision, error) {
	var object map[string]json.RawMessage
	if err := json.Unmarshal(s.Object.JSON, &object); err != nil {
		return nil, err
	}
	var spec map[string]json.RawMessage
	if err := json.Unmarshal(object["spec"], &spec); err != nil {
		return nil, err
	}
	spec["template"] = r.Spec.Template
	var err error
	if object["spec"], err = json.Marshal(spec); err != nil {
		return nil, err
	}
	data, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	old, err := s.With(data) // with what the controller puts on every pod
	if err != nil {
		return nil, err
	}
	stored, err := history.Data(&old.Spec.Template)
	if err != nil {
		return nil, err
	}
	return &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{
			Name: r.Name, Namespace: r.Namespace, UID: r.UID, CreationTimestamp: r.CreationTimestamp,
			Labels:          s.labelled(old.Spec.Template.Labels, r.Spec.TemplateGeneration),
			OwnerReferences: []metav1.OwnerReference{s.owner()},
		},
		Data: runtime.RawExtension{Raw: bytes.Clone(stored)}, Revision: number,
	}, nil
}

// labelled are the labels of a template with the hash of its revision.
func (s *Set) labelled(of map[string]string, hash string) map[string]string {
	labels := map[string]string{appsv1.DefaultDaemonSetUniqueLabelKey: hash}
	maps.Copy(labels, of)
	return labels
}

func (s *Set) owner() metav1.OwnerReference {
	return metav1.OwnerReference{
		APIVersion: s.Spec.APIVersion, Kind: s.Spec.Kind, Name: s.Spec.Name, UID: s.Spec.UID, Controller: new(true),
	}
}

// pod is the pod of a replica set as one of the set, with the label of its revision.
func (s *Set) pod(pod *corev1.Pod) *corev1.Pod {
	own := *pod
	own.OwnerReferences = []metav1.OwnerReference{s.owner()}
	own.Labels = s.labelled(pod.Labels, pod.Annotations[edsTemplateHash])
	return &own
}

// recall reads the memory off the status of the set and of its replica sets.
func (s *Set) recall(list []*ReplicaSet) error {
	status, err := s.status()
	if err != nil {
		return err
	}
	s.Memory = rollout.Memory{Version: rollout.MemoryVersion}
	trial := status.Canary
	for _, r := range list {
		hash := r.Spec.TemplateGeneration
		if r.Name == status.ActiveReplicaSet {
			s.Memory.Rollout.Revision = hash
		}
		tried := trial != nil && trial.ReplicaSet == r.Name
		if tried && s.Meta.Annotations[edsCanaryFailed] == "true" {
			s.Memory.Canary.Verdict = &canary.Finding{Phase: canary.Failed, Reason: canary.ByCommand}
		}
		if tried {
			s.Memory.Canary.Revision, s.Memory.Canary.Nodes = hash, trial.Nodes
		}
		for _, c := range r.Status.Conditions {
			holds := c.Status == metav1.ConditionTrue
			finding := &canary.Finding{Reason: canary.TooManyRestarts, Detail: c.Reason, At: c.LastTransitionTime.Time}
			switch record := &s.Memory.Canary; {
			case c.Type == "Active" && holds && r.Name == status.ActiveReplicaSet:
				s.Memory.Rollout.Began = c.LastTransitionTime.Time
			case c.Type == "LastFullSync", c.Type == "PodCreation", c.Type == "PodDeletion",
				c.Type == "Canary-Failed" && holds && !tried:
				s.Memory.Conditions = append(s.Memory.Conditions, metav1.Condition{
					Type: c.Type + "-" + hash, Status: metav1.ConditionTrue, Reason: c.Type, LastTransitionTime: c.LastUpdateTime,
				})
			case !tried:
			case c.Type == "Canary":
				record.Began = c.LastTransitionTime.Time
			case c.Type == "PodRestarting":
				record.Restarting, record.Restarted = c.LastTransitionTime.Time, c.LastUpdateTime.Time
			case c.Type == "Canary-Paused" && holds:
				finding.Phase, record.Pause = canary.Paused, finding
			case c.Type == "Canary-Failed" && holds:
				finding.Phase, record.Verdict = canary.Failed, finding
			}
		}
	}
	return nil
}
