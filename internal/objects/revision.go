package objects

import (
	"bytes"
	"encoding/json"
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/history"
)

// Revision returns the ControllerRevision of the spec's template as the planner creates it (R1), with the given
// revision number and the UID "revision-<name>". It is nil for a spec that [rollout.New] refuses; a snapshot that
// contains it is refused in turn.
func Revision(spec rollout.Spec, number int64) *appsv1.ControllerRevision {
	// Only the template and the set's identity decide what the revision is. The rest could keep it from a plan.
	spec.Strategy = rollout.Strategy{}
	planner, err := rollout.New(spec)
	if err != nil {
		return nil
	}
	plan, err := planner.Plan(rollout.Snapshot{Now: Noon()})
	if err != nil || len(plan.Revisions) == 0 || plan.Revisions[0].Object == nil {
		return nil
	}
	revision := plan.Revisions[0].Object.DeepCopy()
	revision.Revision = number
	revision.UID = types.UID("revision-" + revision.Name)
	return revision
}

// Hash returns the hash of the spec's template, which pods of that revision carry as a label. It is empty for a spec
// that [rollout.New] refuses. It differs between versions of k8s.io/api (R1), so do not write it into a test.
func Hash(spec rollout.Spec) string {
	spec.Strategy = rollout.Strategy{} // as in Revision, which costs ten times as much
	if len(spec.Validate(nil)) > 0 {
		return ""
	}
	return history.Hash(&spec.Template, nil)
}

// Holds reports whether the revision's data is that of the template, byte by byte or in meaning (R2).
func Holds(revision *appsv1.ControllerRevision, template *corev1.PodTemplateSpec) bool {
	var data struct {
		Spec struct {
			Template *corev1.PodTemplateSpec `json:"template"`
		} `json:"spec"`
	}
	if err := json.Unmarshal(revision.Data.Raw, &data); err != nil || data.Spec.Template == nil {
		return false
	}
	// The template goes the same way, because decoding drops what the JSON does not tell apart.
	encoded, err := json.Marshal(template)
	if err != nil {
		return false
	}
	var want corev1.PodTemplateSpec
	if err := json.NewDecoder(bytes.NewReader(encoded)).Decode(&want); err != nil {
		return false
	}
	return apiequality.Semantic.DeepEqual(*data.Spec.Template, want)
}

// Marked returns a copy of the revision with these annotations added; nil of nil.
func Marked(revision *appsv1.ControllerRevision, annotations map[string]string) *appsv1.ControllerRevision {
	if revision == nil {
		return nil
	}
	revision = revision.DeepCopy()
	if revision.Annotations == nil {
		revision.Annotations = map[string]string{}
	}
	maps.Copy(revision.Annotations, annotations)
	return revision
}
