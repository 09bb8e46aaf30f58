package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestSurfaceIsWrittenDown: whoever changes what the library exports writes it down, and sees there what users will see.
func TestSurfaceIsWrittenDown(t *testing.T) {
	root := filepath.Join("..", "..")
	want, err := surfaces(root)
	if err != nil {
		t.Fatal(err)
	}
	if len(want) < 10 {
		t.Fatalf("there are %d packages", len(want))
	}
	got := map[string]string{}
	paths, err := filepath.Glob(filepath.Join(root, "api", "*.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		got[filepath.Base(path)] = string(data)
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("the folder api says something else than the code (-folder +code); if that is meant, run make api:\n%s", diff)
	}
}

// TestSurface lists a package in which there is one of each kind.
func TestSurface(t *testing.T) {
	folder := t.TempDir()
	source := `// Package p is an example.
package p

import "time"

// Limit is untyped.
const Limit = 1 << 3

// The kinds.
const (
	A Kind = iota
	B
	c
)

// Zero is a variable, hidden is not there.
var Zero, hidden int

// Kind is a code.
type Kind uint8

// String has a body that nobody sees.
func (k Kind) String() string { return "" }

// Of is generic.
type Of[T any] struct {
	// At has a tag.
	At time.Time ` + "`json:\"at\"`" + `
	not int
	Kind
}

// Doer is an interface.
type Doer interface {
	Do(what string) (done bool, err error)
}

// Alias is one.
type Alias = Kind

// New is a function.
func New(a, b int, more ...string) *Of[int] { return nil }

func unseen() {}

type unseen2 struct{ Seen int }
`
	if err := os.WriteFile(filepath.Join(folder, "p.go"), []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := surface(folder)
	if err != nil {
		t.Fatal(err)
	}
	want := `const A Kind
const B Kind
const Limit = 1 << 3
field Of embeds Kind
field Of.At time.Time ` + "`json:\"at\"`" + `
func (k Kind) String() string
func New(a, b int, more ...string) *Of[int]
method Doer.Do func(what string) (done bool, err error)
type Alias = Kind
type Doer interface
type Kind uint8
type Of[T any] struct
var Zero int`
	if diff := cmp.Diff(want, strings.Join(got, "\n")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
