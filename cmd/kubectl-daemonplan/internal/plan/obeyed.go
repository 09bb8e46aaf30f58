package plan

import (
	"encoding/json"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/rollout/command"
	"github.com/daemonplan/daemonplan/rollout/manifest"
)

// edsCanaryFailed is the annotation by which Datadog's own controller is told to give a canary up. The library does not read it.
const edsCanaryFailed = "extendeddaemonset.datadoghq.com/canary-failed"

// edsStatus is what Datadog's own controller writes into the status of an ExtendedDaemonSet that it runs.
type edsStatus struct {
	ActiveReplicaSet string `json:"activeReplicaSet"`
	Canary           struct {
		ReplicaSet string `json:"replicaSet"`
	} `json:"canary"`
}

func statusOf(set *objects.Set) edsStatus {
	var object struct {
		Status edsStatus `json:"status"`
	}
	if set.Group == objects.GroupEDS {
		_ = json.Unmarshal(set.Object.JSON, &object) // a status of another form was written by somebody else
	}
	return object.Status
}

// RunByDatadog reports whether Datadog's own controller runs the set: only that one makes replica sets.
func RunByDatadog(set *objects.Set) bool { return statusOf(set).ActiveReplicaSet != "" }

// NativePatch is the patch by which Datadog's own controller is given the command. The error says why there is none.
func NativePatch(c command.Command, set *objects.Set) (command.Patch, error) {
	tried := statusOf(set).Canary.ReplicaSet
	annotations := make(map[string]any)
	switch c {
	case command.Pause:
		annotations[manifest.EDSRollingUpdatePausedAnnotation] = "true"
	case command.Unpause:
		annotations[manifest.EDSRollingUpdatePausedAnnotation] = nil
	case command.Freeze:
		annotations[manifest.EDSRolloutFrozenAnnotation] = "true"
	case command.Unfreeze:
		annotations[manifest.EDSRolloutFrozenAnnotation] = nil
	case command.CanaryValidate:
		annotations[manifest.EDSCanaryValidAnnotation] = tried
	case command.CanaryFail:
		annotations[edsCanaryFailed] = "true"
	case command.CanaryPause:
		annotations[manifest.EDSCanaryPausedAnnotation] = "true"
		annotations[manifest.EDSCanaryUnpausedAnnotation] = nil
	case command.CanaryUnpause:
		annotations[manifest.EDSCanaryUnpausedAnnotation] = "true"
		annotations[manifest.EDSCanaryPausedAnnotation] = nil
		annotations[manifest.EDSCanaryPausedReasonAnnotation] = nil
	default:
		return command.Patch{}, fmt.Errorf("%s: Datadog's own controller has no such command; it takes another template", c)
	}
	if tried == "" && strings.HasPrefix(c.String(), "canary ") {
		return command.Patch{}, fmt.Errorf("%s: no canary is under way: status.canary of %s names no replica set",
			c, set.FullName())
	}
	data, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": annotations}})
	return command.Patch{Type: types.MergePatchType, Data: data}, err
}

// annotated is the patch that sets an annotation to a plain word.
func annotated(key, word string) command.Patch {
	return command.Patch{
		Type: types.MergePatchType, Data: fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, key, word),
	}
}

// ObeyedBy says which controllers obey the patch of a command, and how the others are told.
func ObeyedBy(c command.Command, set *objects.Set) string {
	const ours = "controllers that plan with daemonplan"
	switch {
	case set.Group == objects.GroupKruise:
		return "Obeyed by OpenKruise's controller, and by " + ours + "."
	case c == command.CanaryFail:
		return "Obeyed by " + ours + ". Datadog's own controller obeys this instead:\n" +
			annotated(edsCanaryFailed, "true").Kubectl(set.Spec)
	case c == command.CanaryRetry:
		return "Obeyed by " + ours + ". Datadog's own controller has no such command; it takes another template."
	case c == command.CanaryValidate:
		return "Obeyed by " + ours + ". Datadog's own controller wants the name of its replica set, " +
			"which status.canary has:\n" + annotated(manifest.EDSCanaryValidAnnotation, "REPLICASET").Kubectl(set.Spec)
	default:
		return "Obeyed by Datadog's own controller, and by " + ours + "."
	}
}
