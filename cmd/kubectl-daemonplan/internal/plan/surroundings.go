package plan

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/manifest"
)

// These are the kind of the replica sets of ExtendedDaemonSet's own controller, and the label by which their pods name the set.
const (
	edsReplicaSetKind = "ExtendedDaemonSetReplicaSet"
	edsNameLabel      = "extendeddaemonset.datadoghq.com/name"
)

// addSetting adds an ExtendedDaemonsetSetting. A setting with a mistake is ignored, and does not affect the others.
func (in *input) addSetting(object manifest.Object, origin string) error {
	setting, err := object.Setting()
	if err != nil {
		for line := range strings.Lines(at(origin, err).Error()) {
			in.warnings = append(in.warnings, "ignored setting: "+strings.TrimSuffix(line, "\n"))
		}
		return nil
	}
	meta := metav1.ObjectMeta{Name: setting.Override.Name, Namespace: setting.Namespace}
	if err := in.enter(object.Kind, &meta, origin); err != nil {
		return err
	}
	in.settings = append(in.settings, setting)
	return nil
}

// surround adds to the spec what other objects than its manifest contain.
func (in *input) surround(s *set) {
	s.Spec.Overrides = manifest.Overrides(s.Spec, in.settings)
	s.Spec.Predecessor = in.predecessor(s)
}

// predecessor is what the set takes over from; nil: nothing. It is the DaemonSet that its annotation names, even if only the pods
// of that still exist, and the replica sets of ExtendedDaemonSet's own controller.
func (in *input) predecessor(s *set) *rollout.Predecessor {
	var found rollout.Predecessor
	if s.OldDaemonSet != "" {
		for _, old := range in.sets {
			if old.group == groupApps && old.Spec.Name == s.OldDaemonSet && old.Spec.Namespace == s.Spec.Namespace {
				found = manifest.PredecessorOf(old.Spec)
			}
		}
	}
	for _, pod := range in.pods {
		of := metav1.GetControllerOfNoCopy(pod)
		if of == nil || of.UID == "" || pod.Namespace != s.Spec.Namespace || slices.Contains(found.UIDs, of.UID) {
			continue
		}
		group, _, _ := strings.Cut(of.APIVersion, "/")
		fromDaemonSet := s.OldDaemonSet != "" && of.Kind == "DaemonSet" && group == groupApps && of.Name == s.OldDaemonSet
		fromReplicaSet := s.group == groupEDS && group == groupEDS && of.Kind == edsReplicaSetKind &&
			pod.Labels[edsNameLabel] == s.Spec.Name
		if fromDaemonSet || fromReplicaSet {
			found.UIDs = append(found.UIDs, of.UID)
		}
	}
	if len(found.UIDs) == 0 && found.Selector == nil {
		return nil
	}
	return &found
}

// succeeds reports whether the set takes over the pods of that controller.
func (r *result) succeeds(uid types.UID) bool {
	predecessor := r.set.Spec.Predecessor
	return predecessor != nil && slices.Contains(predecessor.UIDs, uid)
}

// takeoverLine shows whose pods are taken over; empty if none are.
func (r *result) takeoverLine() string {
	old := len(r.claims.Old)
	if old == 0 {
		return ""
	}
	return agree(old, "pod is", "pods are") +
		" of another controller, which this set takes over from: outdated, whatever it runs there."
}

// takeoverWarnings list what would undo a takeover. A DaemonSet that still exists creates new pods in place of those that are
// replaced. A canary that another controller has begun is not continued: this set takes the template for promoted.
func (r *result) takeoverWarnings() []string {
	var lines []string
	set := r.set.Spec
	for _, old := range r.input.sets {
		name := old.Spec.Name
		if name == r.set.OldDaemonSet && name != "" && old.group == groupApps && old.Spec.Namespace == set.Namespace {
			lines = append(lines, fmt.Sprintf("DaemonSet %s, which this set takes over from, is still there and would make "+
				"new pods; delete it first, and leave its pods behind: kubectl delete ds %s -n %s --cascade=orphan",
				name, name, set.Namespace))
		}
	}
	if len(r.claims.Old) > 0 && len(r.set.Memory.Canary.Nodes) > 0 && len(r.input.revisions) == 0 {
		lines = append(lines, "A canary of another controller is under way, and none of its revisions is a ControllerRevision: "+
			"this plan takes the template for a first installation. Let the canary end before the set is taken over")
	}
	return lines
}

// readMemory reads the memory of an earlier plan, from the output of -o json or by itself.
func readMemory(file string) (rollout.Memory, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return rollout.Memory{}, reading(file, err)
	}
	var document struct {
		Memory *json.RawMessage `json:"memory"`
	}
	if err := json.Unmarshal(data, &document); err != nil {
		return rollout.Memory{}, fmt.Errorf("%s: %w", file, err)
	}
	if document.Memory != nil {
		data = *document.Memory
	}
	var memory rollout.Memory
	if err := json.Unmarshal(data, &memory); err != nil {
		return rollout.Memory{}, fmt.Errorf("%s: %w", file, err)
	}
	if memory.Version != rollout.MemoryVersion {
		return rollout.Memory{}, fmt.Errorf("%s: there is no memory of version %d in it", file, rollout.MemoryVersion)
	}
	return memory, nil
}
