package plan

import (
	"encoding/json"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daemonplan/daemonplan/predownload"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/history"
	"github.com/daemonplan/daemonplan/status"
)

// imagePullJobs are the jobs that pull ahead what the rollout needs, as JSON. There are none if the set does not pre-download, or
// is paused or frozen.
func (r *Result) imagePullJobs() ([]json.RawMessage, error) {
	spec := r.Spec.Default()
	if spec.PreDownload == nil || spec.Strategy.Paused || spec.Strategy.Frozen {
		return nil, nil
	}
	input := predownload.JobInput{
		Namespace:      spec.Namespace,
		Selector:       spec.Selector,
		Options:        *spec.PreDownload,
		OnDelete:       spec.Strategy.Type == rollout.OnDelete,
		Partition:      spec.Strategy.Partition,
		MaxUnavailable: spec.Strategy.MaxUnavailable,
		MaxSurge:       spec.Strategy.MaxSurge,
		Desired:        r.Plan.Budget.Desired,
		UpdatedReady:   r.updatedReady(),
	}
	if spec.UID != "" {
		input.Owner = metav1.OwnerReference{
			APIVersion: spec.APIVersion, Kind: spec.Kind, Name: spec.Name, UID: spec.UID,
			Controller: new(true), BlockOwnerDeletion: new(true),
		}
	}
	carried := make(map[string]bool)
	for _, pod := range r.Snapshot.Pods {
		carried[pod.Labels[appsv1.ControllerRevisionHashLabelKey]] = true
	}
	for _, object := range r.revisionObjects() {
		hash := history.HashOf(object)
		if object.Labels[appsv1.ControllerRevisionHashLabelKey] != hash {
			// A revision without its label is known by its name, but the jobs need the label.
			object = object.DeepCopy()
			object.Labels = map[string]string{appsv1.ControllerRevisionHashLabelKey: hash}
		}
		switch {
		case hash == r.Plan.Status.UpdateRevision:
			input.Update = object
		case carried[hash]:
			input.Old = append(input.Old, object)
		}
	}
	if input.Update == nil { // another controller is creating it
		return nil, nil
	}
	jobs, err := predownload.Jobs(input)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.Input.SetPlace(r.Set), err)
	}
	var list []json.RawMessage
	for _, job := range jobs {
		text, err := json.Marshal(job)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", r.Input.SetPlace(r.Set), err)
		}
		list = append(list, text)
	}
	return list, nil
}

// updatedReady counts the nodes that are to run the pod and have a ready one of the update revision.
func (r *Result) updatedReady() int32 {
	var count int32
	for i := range r.Plan.Decisions {
		d := &r.Plan.Decisions[i]
		current := d.State == rollout.StateUpdated || d.State == rollout.StateStarting
		if current && d.Facts.Has(status.Desired|status.Ready|status.Updated) {
			count++
		}
	}
	return count
}
