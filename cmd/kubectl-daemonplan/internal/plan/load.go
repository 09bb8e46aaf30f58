package plan

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/manifest"
)

// input is everything that was read.
type input struct {
	nodes     []*corev1.Node
	pods      []*corev1.Pod
	revisions []*appsv1.ControllerRevision
	sets      []*set
	settings  []manifest.Setting // ExtendedDaemonsetSettings
	warnings  []string           // about objects that are ignored because of a mistake
	ignored   map[string]int     // objects of other kinds, by apiVersion and kind
	bytes     int

	origins map[any]string    // where each object above was read
	seen    map[string]string // where the object of a kind, namespace and name was read
}

func newInput() *input {
	return &input{ignored: make(map[string]int), origins: make(map[any]string), seen: make(map[string]string)}
}

// readAll reads the files.
func (in *input) readAll(files []string, stdin io.Reader) error {
	for i, file := range files {
		if file == "-" && slices.Contains(files[:i], "-") {
			return errors.New("standard input can be read only once")
		}
		if err := in.read(file, stdin); err != nil {
			return err
		}
	}
	return nil
}

func (in *input) read(file string, stdin io.Reader) error {
	if file == "-" {
		data, err := io.ReadAll(stdin)
		if err != nil {
			return fmt.Errorf("standard input: %w", err)
		}
		return in.add("standard input", data)
	}
	info, err := os.Stat(file)
	if err != nil {
		return reading(file, err)
	}
	if info.IsDir() {
		return in.readDir(file)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return reading(file, err)
	}
	return in.add(file, data)
}

func (in *input) readDir(dir string) error {
	entries, err := os.ReadDir(dir) // sorted by name
	if err != nil {
		return reading(dir, err)
	}
	found := false
	for _, entry := range entries {
		extension := strings.ToLower(filepath.Ext(entry.Name()))
		if entry.IsDir() || !slices.Contains([]string{".yaml", ".yml", ".json"}, extension) {
			continue
		}
		found = true
		file := filepath.Join(dir, entry.Name())
		data, err := os.ReadFile(file)
		if err != nil {
			return reading(file, err)
		}
		if err := in.add(file, data); err != nil {
			return err
		}
	}
	if !found {
		return fmt.Errorf("%s: the directory has no .yaml, .yml or .json file", dir)
	}
	return nil
}

// reading is the error that a file could not be read, without the name of the system call.
func reading(file string, err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = e.Err
	}
	return fmt.Errorf("%s: %w", file, err)
}

// add adds the objects of one file.
func (in *input) add(file string, data []byte) error {
	in.bytes += len(data)
	for object, err := range manifest.Objects(data) {
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		origin := fmt.Sprintf("%s: document %d", file, object.Document)
		if object.Item > 0 {
			origin += fmt.Sprintf(", item %d", object.Item)
		}
		if err := in.addObject(object, origin); err != nil {
			return at(origin, err)
		}
	}
	return nil
}

// at puts the origin before each mistake. Each mistake is one line.
func at(origin string, err error) error {
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

func (in *input) addObject(object manifest.Object, origin string) error {
	group, _, _ := strings.Cut(object.APIVersion, "/")
	switch {
	case object.Kind == "Node" && object.APIVersion == "v1":
		return take(in, object, origin, &in.nodes)
	case object.Kind == "Pod" && object.APIVersion == "v1":
		return take(in, object, origin, &in.pods)
	case object.Kind == "ControllerRevision" && group == groupApps:
		return take(in, object, origin, &in.revisions)
	case object.Kind == "DaemonSet" && (group == groupApps || group == groupKruise):
		return in.addSet(object, group, origin)
	case object.Kind == "ExtendedDaemonSet" && group == groupEDS:
		return in.addSet(object, group, origin)
	case object.IsSetting():
		return in.addSetting(object, origin)
	default:
		in.ignored[kindName(object)]++
		// Nothing of the object is used, but a file that cannot be decoded must be reported.
		return object.Decode(&struct{}{})
	}
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
}](in *input, object manifest.Object, origin string, to *[]P) error {
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

func (in *input) addSet(object manifest.Object, group, origin string) error {
	decoded, err := object.Set()
	if err != nil {
		return err
	}
	s := &set{Set: decoded, group: group, object: object}
	var meta metav1.PartialObjectMetadata
	if err := object.Decode(&meta); err != nil {
		return err
	}
	s.meta = meta.ObjectMeta
	s.Spec.Namespace = cmp.Or(s.Spec.Namespace, rollout.DefaultNamespace)
	if err := in.enter(kindOf(group), &s.meta, origin); err != nil {
		return err
	}
	in.origins[s] = origin
	in.sets = append(in.sets, s)
	return nil
}

// enter refuses objects without a name, and a second object of the same name.
func (in *input) enter(kind string, object metav1.Object, origin string) error {
	if object.GetName() == "" {
		return errors.New("metadata.name: Required value")
	}
	name := object.GetName()
	if kind != "Node" {
		name = cmp.Or(object.GetNamespace(), rollout.DefaultNamespace) + "/" + name
	}
	key := kind + " " + name
	if first, taken := in.seen[key]; taken {
		return fmt.Errorf("metadata.name: Duplicate value: %s was there before, in %s", printable(key), first)
	}
	in.seen[key] = origin
	return nil
}
