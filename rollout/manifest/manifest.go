package manifest

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/daemonplan/daemonplan/rollout"
)

// Set is the content of a manifest.
type Set struct {
	// Spec to pass to rollout.New. It has no defaults filled in and is not validated.
	Spec rollout.Spec
	// Memory is what the object's status remembers: the collision count, or the canary nodes of an ExtendedDaemonSet. The
	// zero value if it has neither.
	Memory rollout.Memory
	// OldDaemonSet is the name of the DaemonSet, in the same namespace, whose pods an ExtendedDaemonSet takes over. If that
	// set is there still, Spec.Predecessor is [PredecessorOf] it, for the caller to set; a manifest does not have its UID and
	// its selector. Empty: none.
	OldDaemonSet string
	// CanaryPausedReason is why somebody paused the canary of an ExtendedDaemonSet. It has no effect. Empty: none was given.
	CanaryPausedReason string
	// Unknown lists the paths of what was ignored, as the controller of the manifest ignores it too, sorted: fields that
	// this API version does not know (typing errors and newer fields), a template-generation annotation that is no
	// number, and an annotation that has an effect in another API version only.
	Unknown []string
}

// supported lists what Decode reads, for error messages.
const supported = "supported: DaemonSet of apps/v1, apps.kruise.io/v1alpha1 and apps.kruise.io/v1beta1, " +
	"ExtendedDaemonSet of datadoghq.com/v1alpha1"

// Decode reads a manifest: one YAML or JSON document with one object of a supported kind, that is DaemonSet of apps/v1,
// of apps.kruise.io/v1alpha1 or of apps.kruise.io/v1beta1, or ExtendedDaemonSet of datadoghq.com/v1alpha1.
//
// Every value of the wrong type is reported at once, as an aggregate of *field.Error with the paths of the manifest;
// [rollout.FieldErrors] lists them. So is a key that is there twice in JSON; in YAML it is an error of the syntax.
// If there are none, so is every setting that a Spec cannot express (an unreadable annotation, say), together with
// what rollout.New would report. Unknown fields are no error: see Set.Unknown.
func Decode(data []byte) (Set, error) {
	object, err := single(data)
	if err != nil {
		return Set{}, err
	}
	return object.Set()
}

// Set reads the object as [Decode] does.
func (o Object) Set() (Set, error) {
	switch o.APIVersion + " " + o.Kind {
	case daemonSetAPIVersion + " " + daemonSetKind:
		return decodeDaemonSet(o)
	case kruiseV1alpha1 + " " + daemonSetKind:
		return decodeKruiseAlpha(o)
	case kruiseV1beta1 + " " + daemonSetKind:
		return decodeKruiseBeta(o)
	case edsAPIVersion + " " + edsKind:
		return decodeEDS(o)
	default:
		return Set{}, unsupported(o)
	}
}

// FieldErrors lists the mistakes in an error of rollout.New, with the paths of the manifest that the spec came from
// instead of the library's: spec.updateStrategy.rollingUpdate.maxSurge, say, instead of spec.strategy.maxSurge. The
// spec's APIVersion and Kind say which manifest that is. The library's path stays for a field that has no place in the
// manifest, and for every field if the kind is not supported. Nil for any other error.
func FieldErrors(spec rollout.Spec, err error) field.ErrorList {
	return inManifest(spec, rollout.FieldErrors(err))
}

// inManifest returns a copy of the list with the paths of the manifest.
func inManifest(spec rollout.Spec, errs field.ErrorList) field.ErrorList {
	var list field.ErrorList
	for _, e := range errs {
		translated := *e
		translated.Field = place(spec, e.Field)
		list = append(list, &translated)
	}
	return list
}

// place is where the manifest has a field of the spec.
func place(spec rollout.Spec, path string) string {
	switch spec.APIVersion + " " + spec.Kind {
	case daemonSetAPIVersion + " " + daemonSetKind:
		return translate(path, daemonSetPaths[:])
	case kruiseV1alpha1 + " " + daemonSetKind:
		return translate(path, kruiseAlphaPaths[:], kruisePaths[:], daemonSetPaths[:])
	case kruiseV1beta1 + " " + daemonSetKind:
		return translate(path, kruiseBetaPaths[:], kruisePaths[:], daemonSetPaths[:])
	case edsAPIVersion + " " + edsKind:
		return translate(path, edsPaths[:])
	default:
		return path
	}
}

// single returns the only object in data.
func single(data []byte) (Object, error) {
	var found []Object
	for object, err := range Objects(data) {
		if err != nil {
			return Object{}, unwrapSingle(err)
		}
		if object.Item > 0 {
			return Object{}, errors.New("the manifest is a list; it must be one object: " + supported)
		}
		if found = append(found, object); len(found) > 1 {
			return Object{}, fmt.Errorf("the manifest has several documents (%s, %s, …); it must be one object: %s",
				found[0].Kind, found[1].Kind, supported)
		}
	}
	if len(found) == 0 {
		return Object{}, errors.New("the manifest holds no object; " + supported)
	}
	return found[0], nil
}

// unwrapSingle leaves out the place where there is but one.
func unwrapSingle(err error) error {
	if e, ok := errors.AsType[*DocumentError](err); ok && e.Document <= 1 && e.Item == 0 {
		return e.Err
	}
	return err
}

func unsupported(o Object) error {
	versions := []string{daemonSetAPIVersion, kruiseV1alpha1, kruiseV1beta1}
	switch {
	case o.Kind == edsKind:
		versions = []string{edsAPIVersion}
	case o.Kind != daemonSetKind:
		return field.NotSupported(field.NewPath("kind"), o.Kind, []string{daemonSetKind, edsKind})
	}
	if o.APIVersion == "" {
		return field.Required(field.NewPath("apiVersion"), supported)
	}
	return field.NotSupported(field.NewPath("apiVersion"), o.APIVersion, versions)
}

// decode reads the object strictly and tells which fields it ignored.
func decode(o Object, into any) (unknown []string, err error) {
	if err := o.Decode(into); err != nil {
		return nil, err
	}
	found := inspect(o.JSON, into, nil)
	if len(found.twice) > 0 {
		return nil, found.twice.ToAggregate()
	}
	for _, u := range found.unknown {
		unknown = append(unknown, u.path)
	}
	slices.Sort(unknown)
	return unknown, nil
}

// translate replaces the beginning of a path by the tables. The first entry that fits counts.
func translate(path string, tables ...[][2]string) string {
	for _, table := range tables {
		for _, entry := range table {
			rest, found := strings.CutPrefix(path, entry[0])
			if found && (rest == "" || rest[0] == '.' || rest[0] == '[') {
				return entry[1] + rest
			}
		}
	}
	return path
}

// memory returns what the status of an object remembers.
func memory(collisions *int32) rollout.Memory {
	if collisions == nil {
		return rollout.Memory{}
	}
	return rollout.Memory{Version: rollout.MemoryVersion, CollisionCount: collisions}
}
