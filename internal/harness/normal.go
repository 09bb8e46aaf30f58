package harness

import (
	"bytes"
	"encoding/json"
	"maps"
	"time"

	"github.com/daemonplan/daemonplan/rollout"
)

// What is written into patches depends on when and to which version of a pod they are sent. Where only what they do
// matters, they are compared without.

// dateless replaces the given instants in the data of patches, wherever they stand, by one word.
func dateless(patches []rollout.Patch, instants ...time.Time) []rollout.Patch {
	list := make([]rollout.Patch, len(patches))
	for i, patch := range patches {
		for _, at := range instants {
			patch.Data = bytes.ReplaceAll(patch.Data, []byte(at.UTC().Format(time.RFC3339)), []byte("then"))
		}
		list[i] = patch
	}
	return list
}

// unmarked replaces the given instants in the annotations that revisions get.
func unmarked(actions []rollout.RevisionAction, instants ...time.Time) []rollout.RevisionAction {
	list := make([]rollout.RevisionAction, len(actions))
	then := func(marks map[string]string) map[string]string {
		marks = maps.Clone(marks)
		for key, value := range marks {
			for _, at := range instants {
				if value == at.UTC().Format(time.RFC3339) {
					marks[key] = "then"
				}
			}
		}
		return marks
	}
	for i, action := range actions {
		action.Annotations = then(action.Annotations)
		if action.Object != nil {
			action.Object = action.Object.DeepCopy()
			action.Object.Annotations = then(action.Object.Annotations)
		}
		list[i] = action
	}
	return list
}

// versionless is the data of a patch for whatever version of its pod.
func versionless(patch rollout.Patch) string {
	var data map[string]any
	if err := json.Unmarshal(patch.Data, &data); err != nil {
		return string(patch.Data)
	}
	if metadata, ok := data["metadata"].(map[string]any); ok {
		delete(metadata, "resourceVersion")
	}
	text, err := json.Marshal(data)
	if err != nil {
		return string(patch.Data)
	}
	return string(text)
}
