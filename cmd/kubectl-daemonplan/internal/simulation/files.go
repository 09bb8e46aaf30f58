package simulation

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
)

// files reads the files that arguments name: from the disk and standard input, or from a study that is embedded in the program.
type files struct {
	Stdin io.Reader
	// FS is what to read from; nil: the disk.
	FS fs.FS

	stdinRead bool
}

// read returns the text of a file. What is no text is refused.
func (f *files) read(name string) ([]byte, error) {
	data, err := f.bytes(name)
	if err == nil {
		err = checkText(name, data)
	}
	if err != nil {
		return nil, err
	}
	return data, nil
}

func (f *files) bytes(name string) ([]byte, error) {
	switch {
	case f.FS != nil:
		data, err := fs.ReadFile(f.FS, path.Clean(name))
		return data, reading(name, err)
	case name != "-":
		data, err := os.ReadFile(name)
		return data, reading(name, err)
	case f.stdinRead:
		return nil, errors.New("standard input can be read only once")
	default:
		f.stdinRead = true
		data, err := io.ReadAll(f.Stdin)
		return data, reading("standard input", err)
	}
}

// beside is the name of a file that another file names, relative to the directory of that one.
func (f *files) beside(of, name string) string {
	switch {
	case f.FS != nil:
		return path.Join(path.Dir(of), name)
	case filepath.IsAbs(name) || of == "-":
		return name
	default:
		return filepath.Join(filepath.Dir(of), name)
	}
}

// reading is the error that a file could not be read, without the name of the system call.
func reading(name string, err error) error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = e.Err
	}
	return fmt.Errorf("%s: %w", name, err)
}
