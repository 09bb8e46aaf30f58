package transcript

import (
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/history"
	"github.com/daemonplan/daemonplan/rollout/manifest"
)

// applySet: apply <<EOF, apply FILE, apply spec=NAME. What kubectl apply does: the manifest is the set's from now on. Of one
// that is refused the mistakes are printed, and the set stays as it was; of one that is not, the fields that have no effect.
//
// What a manifest cannot say stays as the command spec has set it: what may be resized, cgroup v1, the grace period of
// in-place updates, holdRevision.
func (s *stage) applySet(a *arguments) error {
	if name := a.named("spec"); name != "" {
		spec, err := s.specCalled(name)
		if err != nil {
			return err
		}
		spec.Generation = s.cluster.Spec().Generation + 1
		s.applied = nil // there is no manifest to edit any more
		return s.cluster.SetSpec(spec)
	}
	if file := a.next(); file != "" {
		return s.applyFile(file)
	}
	text, err := s.takeText()
	if err != nil {
		return err
	}
	return s.apply(text)
}

// applyFile applies the set of a file, and the ExtendedDaemonsetSettings in it; other objects are of no interest.
func (s *stage) applyFile(file string) error {
	data, err := s.read(file)
	if err != nil {
		return err
	}
	var set []byte
	var given []manifest.Setting
	for object, err := range manifest.Objects(data) {
		switch {
		case err != nil:
			return fmt.Errorf("%s: %w", file, err)
		case object.IsSetting():
			setting, err := object.Setting()
			if err != nil {
				return fmt.Errorf("%s: document %d: %w", file, object.Document, err)
			}
			given = append(given, setting)
		case object.Kind == "DaemonSet" || object.Kind == "ExtendedDaemonSet":
			if set != nil {
				return fmt.Errorf("%s: document %d: there is a set already", file, object.Document)
			}
			set = object.JSON
		}
	}
	if set == nil {
		return fmt.Errorf("%s holds no set", file)
	}
	if given != nil {
		s.given = given
	}
	return s.apply(set)
}

func (s *stage) apply(text []byte) error {
	set, err := manifest.Decode(text)
	if err != nil {
		return s.refused(set.Spec, err)
	}
	spec, before := set.Spec, s.cluster.Spec()
	spec.Generation = before.Generation + 1
	switch {
	case s.applied != nil: // the object is the same, whatever it says now
		spec.UID, spec.Predecessor = before.UID, before.Predecessor
	case spec.UID == "": // the API server gives it one
		spec.UID = types.UID("set-" + spec.Name)
	}
	spec.Strategy.HoldRevision = before.Strategy.HoldRevision
	kept := before.Strategy.InPlace
	kept.EnvFromMetadata = spec.Strategy.InPlace.EnvFromMetadata
	spec.Strategy.InPlace = kept
	spec.Overrides = manifest.Overrides(spec, s.given)
	if _, err := rollout.New(spec); err != nil {
		return s.refused(spec, err)
	}
	for _, field := range set.Unknown {
		s.printf("warning: %s has no effect", field)
	}
	s.applied, s.kept = text, set.Memory
	return s.cluster.SetSpec(spec)
}

// refused prints the mistakes of a manifest; an error that is none of those is returned.
func (s *stage) refused(spec rollout.Spec, err error) error {
	list := manifest.FieldErrors(spec, err)
	if len(list) == 0 {
		return err
	}
	for _, mistake := range list {
		s.printf("refused: %s", mistake)
	}
	return nil
}

// objects: objects <<EOF. Pods and revisions of the set that another controller has left: the text is what kubectl get -o
// yaml prints of them. The cluster begins anew with the nodes and the spec that it has, and without any memory but what the
// status in the manifest remembers. Revisions are called by their hash, which the text has. The replica sets of an
// ExtendedDaemonSet are the predecessor.
func (s *stage) objects(*arguments) error {
	text, err := s.takeText()
	if err != nil {
		return err
	}
	snapshot := rollout.Snapshot{Now: s.cluster.Now(), Memory: s.kept}
	spec := s.cluster.Spec()
	for object, err := range manifest.Objects(text) {
		if err != nil {
			return err
		}
		switch object.Kind {
		case "Pod":
			p := &corev1.Pod{}
			err = object.Decode(p)
			snapshot.Pods = append(snapshot.Pods, p)
		case "ControllerRevision":
			revision := &appsv1.ControllerRevision{}
			err = object.Decode(revision)
			snapshot.Revisions = append(snapshot.Revisions, revision)
			hash := history.HashOf(revision)
			s.hashes[hash] = hash
		case "ExtendedDaemonSetReplicaSet":
			replicaSet := &metav1.PartialObjectMetadata{}
			err = object.Decode(replicaSet)
			if spec.Predecessor == nil {
				spec.Predecessor = &rollout.Predecessor{}
			}
			spec.Predecessor.UIDs = append(spec.Predecessor.UIDs, replicaSet.UID)
		default:
			err = fmt.Errorf("a %s is neither a Pod nor a ControllerRevision", object.Kind)
		}
		if err != nil {
			return err
		}
	}
	return s.begin(spec, snapshot)
}

// named replaces the hashes of revisions, which differ between versions of k8s.io/api, by their names.
func (s *stage) named(text string) string {
	for hash, name := range s.hashes {
		text = strings.ReplaceAll(text, hash, name)
	}
	return text
}
