package objects

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"unicode/utf8"
)

// Files reads the files that arguments name: from the disk and standard input, or from those that are embedded in the program.
type Files struct {
	// Stdin is what is read for the name -.
	Stdin io.Reader
	// FS is what to read from; nil: the disk and standard input.
	FS fs.FS

	stdinRead bool
}

// File is a file that was read.
type File struct {
	// Name is the name in messages.
	Name string
	// Text is the content, which is UTF-8.
	Text []byte
}

// Shown is the name of a file in messages.
func Shown(name string) string {
	if name == "-" {
		return "standard input"
	}
	return name
}

// Read reads a file, or standard input. What is no text is refused.
func (f *Files) Read(name string) (File, error) {
	data, err := f.bytes(name)
	if err != nil {
		return File{}, Reading(Shown(name), err)
	}
	if err := checkText(data); err != nil {
		return File{}, fmt.Errorf("%s: %w", Shown(name), err)
	}
	return File{Name: Shown(name), Text: data}, nil
}

func (f *Files) bytes(name string) ([]byte, error) {
	switch {
	case f.FS != nil:
		return fs.ReadFile(f.FS, path.Clean(name))
	case name != "-":
		return os.ReadFile(name)
	case f.stdinRead:
		return nil, errors.New("it can be read only once, and - is given twice")
	default:
		f.stdinRead = true
		return io.ReadAll(f.Stdin)
	}
}

// Beside is the name of a file that the text of another file names, relative to the directory of that one.
func (f *Files) Beside(of File, name string) string {
	switch {
	case f.FS != nil:
		return path.Join(path.Dir(of.Name), name)
	case filepath.IsAbs(name):
		return name
	default:
		return filepath.Join(filepath.Dir(of.Name), name)
	}
}

// Reading is the error that a file could not be read or written, without the name of the system call.
func Reading(file string, err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = e.Err
	}
	return fmt.Errorf("%s: %w", file, err)
}

// checkText refuses what is no text, before a parser finds something else wrong with it.
func checkText(data []byte) error {
	switch {
	case bytes.HasPrefix(data, []byte("\xff\xfe")), bytes.HasPrefix(data, []byte("\xfe\xff")):
		return errors.New("the text is UTF-16; it must be UTF-8")
	case bytes.HasPrefix(data, []byte("\x1f\x8b")):
		return errors.New("the data is compressed with gzip; it must be plain text")
	case utf8.Valid(data):
		return nil
	}
	at := 0
	for {
		r, size := utf8.DecodeRune(data[at:])
		if r == utf8.RuneError && size == 1 {
			return fmt.Errorf("line %d: byte %d of the file is 0x%02x, which is not UTF-8; the file must be text in UTF-8",
				lineOf(data, at), at, data[at])
		}
		at += size
	}
}

// lineOf is the number of the line with the byte at that place.
func lineOf(data []byte, at int) int { return 1 + bytes.Count(data[:at], []byte("\n")) }

// TemplateError is the error that the text is a Helm template that nobody has rendered; nil: it has no action of one. It is for
// texts that could not be parsed.
func TemplateError(data []byte) error {
	start := bytes.TrimSpace(data)
	isJSON := bytes.HasPrefix(start, []byte("{")) && !bytes.HasPrefix(start, []byte("{{")) || bytes.HasPrefix(start, []byte("["))
	at := bytes.Index(data, []byte("{{"))
	if at < 0 || isJSON { // the braces may be anywhere in the strings of JSON
		return nil
	}
	return fmt.Errorf("line %d: \"{{\" begins no YAML: this looks like an unrendered Helm template; "+
		"render the chart first: helm template CHART > rendered.yaml", lineOf(data, at))
}
