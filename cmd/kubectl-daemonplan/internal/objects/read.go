package objects

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/daemonplan/daemonplan/rollout/manifest"
)

// Read adds the objects of files, of the .yaml, .yml and .json files of directories, and of standard input (-).
func (in *Input) Read(f *Files, names []string) error {
	for _, name := range names {
		if info, err := os.Stat(name); name != "-" && err == nil && info.IsDir() {
			if err := in.readDir(f, name); err != nil {
				return err
			}
			continue
		}
		if err := in.readFile(f, name); err != nil {
			return err
		}
	}
	return nil
}

func (in *Input) readFile(f *Files, name string) error {
	file, err := f.Read(name)
	if err != nil {
		return err
	}
	return in.Add(file)
}

func (in *Input) readDir(f *Files, dir string) error {
	entries, err := os.ReadDir(dir) // sorted by name
	if err != nil {
		return Reading(dir, err)
	}
	found := false
	for _, entry := range entries {
		extension := strings.ToLower(filepath.Ext(entry.Name()))
		if entry.IsDir() || !slices.Contains([]string{".yaml", ".yml", ".json"}, extension) {
			continue
		}
		found = true
		if err := in.readFile(f, filepath.Join(dir, entry.Name())); err != nil {
			return err
		}
	}
	if !found {
		return fmt.Errorf("%s: the directory has no .yaml, .yml or .json file", dir)
	}
	return nil
}

// Add adds the objects of a file.
func (in *Input) Add(file File) error {
	in.Bytes += len(file.Text)
	return eachObject(file, in.AddObject)
}

// AddSets adds the sets of a file. All other objects of it are counted, as those of other kinds.
func (in *Input) AddSets(file File) error {
	in.Bytes += len(file.Text)
	return eachObject(file, func(object manifest.Object, origin string) error {
		if IsSet(object) || outdated(object) != nil {
			return in.AddObject(object, origin)
		}
		return placed(object, origin, in.ignore(object))
	})
}

// eachObject calls do with every object of a file and its origin, until there is an error. A file without any text is one,
// because whoever names it expects some.
func eachObject(file File, do func(manifest.Object, string) error) error {
	if len(bytes.TrimSpace(file.Text)) == 0 {
		return fmt.Errorf("%s: it is empty; it is to hold objects in YAML or JSON, as kubectl get -o yaml prints them", file.Name)
	}
	for object, err := range manifest.Objects(file.Text) {
		if err != nil {
			if template := TemplateError(file.Text); template != nil {
				err = template
			}
			return fmt.Errorf("%s: %w", file.Name, err)
		}
		origin := fmt.Sprintf("%s: document %d", file.Name, object.Document)
		if object.Item > 0 {
			origin += fmt.Sprintf(", item %d", object.Item)
		}
		if err := do(object, origin); err != nil {
			return err
		}
	}
	return nil
}

// placed puts the origin of the object, and its kind and name as far as they can be read, before each mistake.
func placed(object manifest.Object, origin string, err error) error {
	if err == nil {
		return nil
	}
	var named struct {
		Metadata struct {
			Name, Namespace any
		}
	}
	_ = json.Unmarshal(object.JSON, &named) // what cannot be read has no name
	name, _ := named.Metadata.Name.(string)
	namespace, _ := named.Metadata.Namespace.(string)
	kind := object.Kind
	if IsSet(object) {
		kind = KindOf(groupOf(object))
	}
	return At(place(origin, kind, namespace, name), err)
}
