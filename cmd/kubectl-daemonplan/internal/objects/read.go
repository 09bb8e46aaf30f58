package objects

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/daemonplan/daemonplan/rollout/manifest"
)

// stdinName is the name of standard input in messages.
const stdinName = "standard input"

// ReadFiles reads files, the .yaml, .yml and .json files of directories, and standard input (-).
func (in *Input) ReadFiles(files []string, stdin io.Reader) error {
	for i, file := range files {
		if file == "-" && slices.Contains(files[:i], "-") {
			return errors.New("standard input can be read only once")
		}
		if err := in.readPath(file, stdin); err != nil {
			return err
		}
	}
	return nil
}

func (in *Input) readPath(path string, stdin io.Reader) error {
	info, err := os.Stat(path)
	if path != "-" && err == nil && info.IsDir() {
		return in.readDir(path)
	}
	name, data, err := readFile(path, stdin)
	if err != nil {
		return err
	}
	return in.Add(name, data)
}

func (in *Input) readDir(dir string) error {
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
		if err := in.readPath(filepath.Join(dir, entry.Name()), nil); err != nil {
			return err
		}
	}
	if !found {
		return fmt.Errorf("%s: the directory has no .yaml, .yml or .json file", dir)
	}
	return nil
}

// readFile reads a file or standard input, and returns its name in messages, too.
func readFile(file string, stdin io.Reader) (name string, data []byte, err error) {
	if file == "-" {
		if data, err = io.ReadAll(stdin); err != nil {
			return "", nil, fmt.Errorf("%s: %w", stdinName, err)
		}
		return stdinName, data, nil
	}
	if data, err = os.ReadFile(file); err != nil {
		return "", nil, Reading(file, err)
	}
	return file, data, nil
}

// Reading is the error that a file could not be read, without the name of the system call.
func Reading(file string, err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = e.Err
	}
	return fmt.Errorf("%s: %w", file, err)
}

// Add adds the objects of one file.
func (in *Input) Add(file string, data []byte) error {
	in.Bytes += len(data)
	return eachObject(file, data, func(object manifest.Object, origin string) error {
		return in.AddObject(object, origin)
	})
}

// eachObject calls do with every object of a file and its origin, until there is an error. A file without objects is one, because
// whoever names it expects some.
func eachObject(file string, data []byte, do func(manifest.Object, string) error) error {
	if len(bytes.TrimSpace(data)) == 0 {
		return fmt.Errorf("%s: it is empty; it is to hold objects in YAML or JSON, as kubectl get -o yaml prints them", file)
	}
	if err := checkText(data); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	for object, err := range manifest.Objects(data) {
		if err != nil {
			if line := templateLine(data); line > 0 {
				return fmt.Errorf("%s: line %d: \"{{\" begins no YAML: this looks like an unrendered Helm template; "+
					"render the chart first: helm template CHART > rendered.yaml", file, line)
			}
			return fmt.Errorf("%s: %w", file, err)
		}
		origin := fmt.Sprintf("%s: document %d", file, object.Document)
		if object.Item > 0 {
			origin += fmt.Sprintf(", item %d", object.Item)
		}
		if err := do(object, origin); err != nil {
			return err
		}
	}
	return nil
}

// checkText finds the first byte that is not UTF-8. Package manifest knows the usual reasons better: UTF-16, and gzip.
func checkText(data []byte) error {
	for _, start := range []string{"\xff\xfe", "\xfe\xff", "\x1f\x8b"} {
		if bytes.HasPrefix(data, []byte(start)) {
			return nil
		}
	}
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && size == 1 {
			return fmt.Errorf("byte %d (line %d) is 0x%02x, which is not UTF-8 text", i, lineAt(data[:i]), data[i])
		}
		i += size
	}
	return nil
}

// templateLine is the first line that has an action of a Helm template; 0 if none has.
func templateLine(data []byte) int {
	before, _, found := bytes.Cut(data, []byte("{{"))
	if !found {
		return 0
	}
	return lineAt(before)
}

// lineAt is the number of the line that begins, or goes on, after the text.
func lineAt(before []byte) int { return 1 + bytes.Count(before, []byte("\n")) }
