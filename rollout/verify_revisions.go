package rollout

import (
	"encoding/json"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/rollout/history"
)

// updateRevision returns the hashes of all revisions that hold the template (R2), and of these the ones
// with the highest number, of which R3 keeps one. A duplicate's hash that a revision with another template
// has too says nothing about a pod, and is left out.
//
// If no revision holds the template, it is the one that the plan creates, else what the plan calls the update
// revision, unless that is the hash of a revision with another template.
func (v *verifier) updateRevision() (all, newest map[string]bool) {
	all, newest = make(map[string]bool), make(map[string]bool)
	others := make(map[string]bool)
	var highest int64
	for _, revision := range v.snapshot.Revisions {
		hash := history.HashOf(revision)
		if !v.holdsTemplate(revision) {
			others[hash] = true
			continue
		}
		if len(newest) == 0 || revision.Revision > highest {
			highest = revision.Revision
			clear(newest)
		}
		all[hash] = true
		if revision.Revision == highest {
			newest[hash] = true
		}
	}
	if len(all) > 0 {
		maps.DeleteFunc(all, func(hash string, _ bool) bool { return others[hash] && !newest[hash] })
		return all, newest
	}
	hash := v.plan.Status.UpdateRevision
	for i := range v.plan.Revisions {
		if object := v.plan.Revisions[i].Object; object != nil && v.holdsTemplate(object) {
			hash = history.HashOf(object)
		}
	}
	if hash != "" && !others[hash] {
		all[hash], newest[hash] = true, true
	}
	return all, newest
}

func (v *verifier) holdsTemplate(revision *appsv1.ControllerRevision) bool {
	return history.SameData(revision.Data.Raw, v.template)
}

// checkRevisions is what V4, V12 and V14 say of revisions (R3, R4).
func (v *verifier) checkRevisions() {
	if hash := v.plan.Status.UpdateRevision; !v.newest[hash] {
		v.report(12, "", "R3: status.updateRevision is %q, right is the newest revision that holds the template: %q",
			hash, sortedKeys(v.newest))
	}
	known := make(map[string]*appsv1.ControllerRevision)
	for _, revision := range v.snapshot.Revisions {
		known[revision.Name] = revision
	}
	acted := make(map[string]bool)
	for _, name := range v.snapshot.InFlight.Revisions {
		acted[name] = true
	}
	for i := range v.plan.Revisions {
		action := &v.plan.Revisions[i]
		if acted[action.Name] {
			v.report(14, "", "second action on revision %s, counting what is in flight", action.Name)
			continue
		}
		acted[action.Name] = true
		revision := known[action.Name]
		switch {
		case action.Verb == CreateRevision:
			v.checkCreateRevision(action, revision != nil)
		case revision == nil || revision.UID != action.UID:
			v.report(14, "", "%s of revision %s with UID %q, which is not in the snapshot", action.Verb, action.Name, action.UID)
		case action.Verb == DeleteRevision:
			v.checkDeleteRevision(revision)
		case action.Verb != RenumberRevision:
			v.report(12, "", "revision %s: there is no verb %d", action.Name, uint8(action.Verb))
		case !v.newest[history.HashOf(revision)]:
			v.report(4, "", "R3: renumber of revision %s, which is not the update revision", action.Name)
		}
	}
	v.checkHistoryLimit()
}

func (v *verifier) checkCreateRevision(action *RevisionAction, taken bool) {
	switch {
	case action.Object == nil || action.Object.Name != action.Name || !v.holdsTemplate(action.Object):
		v.report(12, "", "R1: revision %s is to be created from an object of that name that holds the template", action.Name)
	case taken || slices.ContainsFunc(v.snapshot.Revisions, v.holdsTemplate):
		v.report(14, "", "R3: create of revision %s, but its name is taken or the template has a revision", action.Name)
	}
}

// checkDeleteRevision judges one delete. A revision that a pod carries stays even if it is a duplicate:
// without it the pod, relabelled only later, would read as outdated.
func (v *verifier) checkDeleteRevision(revision *appsv1.ControllerRevision) {
	hash := history.HashOf(revision)
	if hash == v.plan.Status.UpdateRevision {
		v.report(4, "", "R4: delete of the update revision %s", revision.Name)
	}
	carried := slices.ContainsFunc(v.snapshot.Pods, func(pod *corev1.Pod) bool {
		return pod.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] == hash
	})
	requested := slices.ContainsFunc(v.snapshot.InFlight.Creates, func(c InFlightCreate) bool { return c.Revision == hash })
	if carried || requested {
		v.report(4, "", "R4: delete of revision %s, which pods carry", revision.Name)
	}
}

// checkHistoryLimit is R4: as many old revisions stay as the limit says. Duplicates of the update revision
// are not history.
func (v *verifier) checkHistoryLimit() {
	deleted := make(map[string]bool)
	for i := range v.plan.Revisions {
		if v.plan.Revisions[i].Verb == DeleteRevision {
			deleted[v.plan.Revisions[i].Name] = true
		}
	}
	stay, gone := 0, 0
	for _, revision := range v.snapshot.Revisions {
		switch {
		case v.updates[history.HashOf(revision)]:
		case deleted[revision.Name]:
			gone++
		default:
			stay++
		}
	}
	if limit := int(*v.spec.RevisionHistoryLimit); gone > 0 && stay < limit {
		v.report(4, "", "R4: %d old revisions stay, right are %d", stay, min(limit, stay+gone))
	}
}

// checkPatches is V4 for patches, and what V12 and V14 say of one: only the labels of duplicates change (R3).
func (v *verifier) checkPatches() {
	seen := make(map[types.UID]bool)
	for _, uid := range v.snapshot.InFlight.Patches {
		seen[uid] = true
	}
	for i := range v.plan.Patches {
		patch := &v.plan.Patches[i]
		pod := v.pods[patch.UID]
		switch {
		case pod == nil:
			v.report(14, patch.Node, "patch of pod %s with UID %q, which is not in the snapshot", patch.Pod, patch.UID)
		case seen[patch.UID]:
			v.report(14, patch.Node, "second patch of pod %s, counting what is in flight", patch.Pod)
		case patch.Pod != pod.object.Name || patch.Node != pod.name:
			v.report(12, patch.Node, "patch of pod %q, but UID %q is pod %q of node %q", patch.Pod, patch.UID,
				pod.object.Name, pod.name)
		case !v.updates[pod.hash] || pod.hash == v.plan.Status.UpdateRevision:
			v.report(4, patch.Node, "R3: patch of pod %s, which carries no duplicate of the update revision; right is to "+
				"leave it alone", patch.Pod)
		case patch.Revision != v.plan.Status.UpdateRevision || !onlyRelabels(patch):
			v.report(4, patch.Node, "R3: patch of pod %s does more or other than to set label %s to %q for UID %q",
				patch.Pod, appsv1.DefaultDaemonSetUniqueLabelKey, v.plan.Status.UpdateRevision, patch.UID)
		}
		seen[patch.UID] = true
	}
}

// onlyRelabels reads a patch. One of a type that is not read here counts as doing more.
func onlyRelabels(patch *Patch) bool {
	if patch.Type != types.MergePatchType && patch.Type != types.StrategicMergePatchType || patch.Subresource != "" {
		return false
	}
	var body map[string]map[string]any
	if json.Unmarshal(patch.Data, &body) != nil || len(body) != 1 || len(body["metadata"]) != 2 {
		return false
	}
	labels, ok := body["metadata"]["labels"].(map[string]any)
	return ok && len(labels) == 1 && labels[appsv1.DefaultDaemonSetUniqueLabelKey] == patch.Revision &&
		body["metadata"]["uid"] == string(patch.UID)
}
