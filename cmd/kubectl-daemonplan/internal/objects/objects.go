// Package objects has what a plan is made from: nodes, pods, revisions, sets and settings, each with the place that it was read
// from. It reads files, directories and standard input. Package cluster reads the same objects from an API server.
package objects

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/text"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/manifest"
)

// Input is everything that was read.
type Input struct {
	Nodes     []*corev1.Node
	Pods      []*corev1.Pod
	Revisions []*appsv1.ControllerRevision
	Claims    []*corev1.PersistentVolumeClaim
	Events    []*corev1.Event
	Sets      []*Set
	// ReplicaSets are those of ExtendedDaemonSets.
	ReplicaSets []*ReplicaSet
	// Settings are the ExtendedDaemonsetSettings.
	Settings []manifest.Setting
	// Warnings are about objects that are ignored because of a mistake, and about what makes a plan doubtful.
	Warnings []string
	// Ignored counts objects of other kinds, by apiVersion and kind.
	Ignored map[string]int
	// Bytes is how much text was read.
	Bytes int

	origins map[any]string    // where each object above was read
	places  map[*Set]string   // where the manifest of a changed set is
	seen    map[string]string // where the object of a kind, namespace and name was read
}

// New is an input without objects.
func New() *Input {
	return &Input{
		Ignored: make(map[string]int),
		origins: make(map[any]string), places: make(map[*Set]string), seen: make(map[string]string),
	}
}

// Origin is where the object was read; empty if it was not read. The object is a pointer of one of the lists of the input.
func (in *Input) Origin(object any) string { return in.origins[object] }

// Place is the origin of an object with its kind and name, as errors begin.
func (in *Input) Place(kind string, object metav1.Object) string {
	return place(in.origins[object], kind, object.GetNamespace(), object.GetName())
}

// SetPlace is the same for a set.
func (in *Input) SetPlace(s *Set) string {
	if at, ok := in.places[s]; ok {
		return at
	}
	return place(in.origins[s], KindOf(s.Group), s.Spec.Namespace, s.Spec.Name)
}

// place joins an origin with a kind and a name, as in "dump.json: document 1, item 401 (Pod web/agent-x)".
func place(origin, kind, namespace, name string) string {
	if namespace != "" && name != "" {
		name = namespace + "/" + name
	}
	return fmt.Sprintf("%s (%s)", origin, text.Printable(strings.TrimSpace(kind+" "+name)))
}

// Adopt makes the set one of the input, in the place of another one.
func (in *Input) Adopt(s, of *Set) {
	in.origins[s] = in.origins[of]
	if at, ok := in.places[of]; ok {
		in.places[s] = at
	}
}

// AdoptAt makes the set one of the input, with this place for its origin.
func (in *Input) AdoptAt(s *Set, place string) {
	if s != nil {
		in.places[s] = place
	}
}

// At puts the origin before each mistake. Each mistake is one line.
func At(origin string, err error) error {
	mistakes := rollout.FieldErrors(err)
	if len(mistakes) == 0 {
		return fmt.Errorf("%s: %w", origin, err)
	}
	var lines []error
	for _, mistake := range mistakes {
		lines = append(lines, fmt.Errorf("%s: %w", origin, mistake))
	}
	return errors.Join(lines...)
}

// AddObject adds an object that was found at the origin. Objects of kinds that no plan needs are counted.
func (in *Input) AddObject(object manifest.Object, origin string) error {
	return placed(object, origin, in.addObject(object, origin))
}

func (in *Input) addObject(object manifest.Object, origin string) error {
	switch {
	case object.Kind == "Node" && object.APIVersion == "v1":
		return take(in, object, origin, &in.Nodes)
	case object.Kind == "Pod" && object.APIVersion == "v1":
		return take(in, object, origin, &in.Pods)
	case object.Kind == "PersistentVolumeClaim" && object.APIVersion == "v1":
		return take(in, object, origin, &in.Claims)
	case object.Kind == "Event" && object.APIVersion == "v1":
		return take(in, object, origin, &in.Events)
	case object.Kind == "ControllerRevision" && groupOf(object) == GroupApps:
		return in.addRevision(object, origin)
	case outdated(object) != nil:
		return outdated(object)
	case IsSet(object):
		return in.addSet(object, origin)
	case object.Kind == edsReplicaSetKind && groupOf(object) == GroupEDS:
		return take(in, object, origin, &in.ReplicaSets)
	case object.IsSetting():
		return in.addSetting(object, origin)
	default:
		return in.ignore(object)
	}
}

// ignore counts the object. Nothing of it is used, but a file that cannot be decoded must be reported.
func (in *Input) ignore(object manifest.Object) error {
	in.Ignored[kindName(object)]++
	return object.Decode(&struct{}{})
}

// kindName is the kind with its apiVersion, except for kinds of the core with apiVersion v1.
func kindName(object manifest.Object) string {
	if object.APIVersion == "v1" {
		return object.Kind
	}
	return cmp.Or(object.APIVersion, "<no apiVersion>") + " " + object.Kind
}

// take decodes an object and appends it to the others of its kind.
func take[T any, P interface {
	*T
	metav1.Object
}](in *Input, object manifest.Object, origin string, to *[]P) error {
	value := P(new(T))
	if err := object.Decode(value); err != nil {
		return err
	}
	if object.Kind != "Node" {
		value.SetNamespace(cmp.Or(value.GetNamespace(), rollout.DefaultNamespace))
	}
	if err := in.enter(object.Kind, value, origin); err != nil {
		return err
	}
	in.origins[value] = origin
	*to = append(*to, value)
	return nil
}

// addRevision adds a ControllerRevision. Its data lose the spaces with which kubectl prints them, and are again the bytes that
// the API server stores: those are compared several times faster than data that differ in spaces.
func (in *Input) addRevision(object manifest.Object, origin string) error {
	if err := take(in, object, origin, &in.Revisions); err != nil {
		return err
	}
	data := &in.Revisions[len(in.Revisions)-1].Data
	var stored bytes.Buffer
	if err := json.Compact(&stored, data.Raw); err == nil { // a revision may have no data
		data.Raw = stored.Bytes()
	}
	return nil
}

// addSetting adds an ExtendedDaemonsetSetting. A setting with a mistake is ignored, and does not affect the others.
func (in *Input) addSetting(object manifest.Object, origin string) error {
	setting, err := object.Setting()
	if err != nil {
		for line := range strings.Lines(At(origin, err).Error()) {
			in.Warnings = append(in.Warnings, "ignored setting: "+strings.TrimSuffix(line, "\n"))
		}
		return nil
	}
	meta := metav1.ObjectMeta{Name: setting.Override.Name, Namespace: setting.Namespace}
	if err := in.enter(object.Kind, &meta, origin); err != nil {
		return err
	}
	in.Settings = append(in.Settings, setting)
	return nil
}

// enter refuses objects without a name, and a second object of the same name.
func (in *Input) enter(kind string, object metav1.Object, origin string) error {
	if object.GetName() == "" {
		return errors.New("metadata.name: Required value")
	}
	name := object.GetName()
	if kind != "Node" {
		name = cmp.Or(object.GetNamespace(), rollout.DefaultNamespace) + "/" + name
	}
	key := kind + " " + name
	if first, taken := in.seen[key]; taken {
		return fmt.Errorf("metadata.name: Duplicate value: %s was there before, in %s", text.Printable(key), first)
	}
	in.seen[key] = origin
	return nil
}

// IgnoredKinds counts the objects that were ignored, by kind, the most frequent kinds first.
func (in *Input) IgnoredKinds() string {
	kinds := slices.SortedFunc(maps.Keys(in.Ignored), func(a, b string) int {
		return cmp.Or(cmp.Compare(in.Ignored[b], in.Ignored[a]), cmp.Compare(a, b))
	})
	var counts []string
	for _, kind := range kinds {
		counts = append(counts, fmt.Sprintf("%s %d", text.Printable(kind), in.Ignored[kind]))
	}
	return text.Some(counts)
}

// FromSnapshot is the input that a snapshot was made from, as far as the snapshot has it, with its set. All of it has the origin.
func FromSnapshot(origin string, size int, spec rollout.Spec, snapshot rollout.Snapshot) (*Input, *Set) {
	group, _, _ := strings.Cut(spec.APIVersion, "/")
	s := &Set{Set: manifest.Set{Spec: spec, Memory: snapshot.Memory}, Group: group}
	in := New()
	in.Bytes = size
	in.Nodes, in.Pods, in.Revisions, in.Sets = snapshot.Nodes, snapshot.Pods, snapshot.Revisions, []*Set{s}
	in.origins[s] = origin
	for _, revision := range snapshot.Revisions {
		in.origins[revision] = origin
	}
	return in, s
}

// Hold adds objects that were read already, all from the origin.
func Hold[T metav1.Object](in *Input, origin string, to *[]T, list []T) {
	for _, object := range list {
		in.origins[object] = origin
	}
	*to = append(*to, list...)
}
