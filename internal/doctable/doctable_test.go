package doctable_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/daemonplan/daemonplan/internal/doctable"
)

const document = "above\n<!-- table: a -->\nold a\n<!-- end -->\nbetween\n<!-- table: b -->\nold b\n<!-- end -->\nbelow\n"

func TestReplace(t *testing.T) {
	for _, row := range []struct {
		name, why string
		tables    map[string]string
		want      string
	}{
		{"both", "each at its own place", map[string]string{"a": "new a\n", "b": "new b\n"},
			"above\n<!-- table: a -->\nnew a\n<!-- end -->\nbetween\n<!-- table: b -->\nnew b\n<!-- end -->\nbelow\n"},
		{"none", "nothing changes", nil, document},
		{"empty", "the marks stay", map[string]string{"a": ""},
			"above\n<!-- table: a -->\n<!-- end -->\nbetween\n<!-- table: b -->\nold b\n<!-- end -->\nbelow\n"},
		{"unknown", "a table that nobody has room for", map[string]string{"c": "x\n"}, `the document has no table "c" between its marks`},
	} {
		t.Run(row.name, func(t *testing.T) {
			got, err := doctable.Replace(document, row.tables)
			if err != nil {
				got = err.Error()
			}
			if got != row.want {
				t.Errorf("%s: got %q, want %q", row.why, got, row.want)
			}
		})
	}
	if _, err := doctable.Replace("<!-- table: a -->\nwithout end\n", map[string]string{"a": ""}); err == nil {
		t.Error("a table without end is replaced")
	}
}

func TestWrite(t *testing.T) {
	file := filepath.Join(t.TempDir(), "document.md")
	if err := os.WriteFile(file, []byte(document), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := doctable.Write(file, map[string]string{"b": "new b\n"}); err != nil {
		t.Fatal(err)
	}
	is, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"not in the document: new b", "not so any more: old b"}
	if got := doctable.Differences(document, string(is)); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if err := doctable.Write(file+".gone", nil); err == nil {
		t.Error("a file that is not there is written")
	}
}
