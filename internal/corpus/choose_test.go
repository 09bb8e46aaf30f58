package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/daemonplan/daemonplan/internal/fixedseed"
)

func TestChoose(t *testing.T) {
	in := func(data string, reaches ...string) input {
		b := blocks{}
		for _, block := range reaches {
			b[block] = true
		}
		return input{[]byte(data), b}
	}
	tests := []struct {
		name, why string
		base      []string
		inputs    []input
		limits    limits
		want      string
	}{
		{"nothing", "there is none", nil, nil, limits{9, 99}, ""},
		{"all the same", "one is enough, the smallest", nil, []input{in("bb", "1"), in("a", "1"), in("ccc", "1")}, limits{9, 99}, "a"},
		{"equally small", "the first by content, wherever it comes", nil, []input{in("b", "1"), in("a", "1")}, limits{9, 99}, "a"},
		{"the most first", "it makes the others superfluous", nil, []input{in("a", "1"), in("b", "2"), in("ccc", "1", "2")}, limits{9, 99}, "ccc"},
		{"each its own", "all are needed", nil, []input{in("a", "1"), in("b", "2")}, limits{9, 99}, "a b"},
		{"reached by the seeds", "they need no keeping", []string{"1"}, []input{in("a", "1"), in("b", "1", "2")}, limits{9, 99}, "b"},
		{"too many", "as many as may be", nil, []input{in("a", "1", "2"), in("b", "3"), in("c", "4")}, limits{2, 99}, "a b"},
		{"too large", "the next one has room", nil, []input{in("aaaa", "1", "2"), in("b", "1")}, limits{9, 3}, "b"},
		{"just large enough", "at the limit", nil, []input{in("aaa", "1")}, limits{9, 3}, "aaa"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.why == "" {
				t.Fatal("a row needs a why")
			}
			var got []string
			for _, in := range choose(in("", tt.base...).reaches, tt.inputs, tt.limits) {
				got = append(got, string(in.data))
			}
			if strings.Join(got, " ") != tt.want {
				t.Errorf("chose %v, want %s: %s", got, tt.want, tt.why)
			}
		})
	}
}

// Without limits, what is chosen reaches all that there is, and each reaches something that those before it do not.
func TestChooseReachesAll(t *testing.T) {
	block := rapid.SampledFrom(strings.Fields("a b c d e f g h"))
	rapid.Check(t, func(t *rapid.T) {
		base := toBlocks(rapid.SliceOf(block).Draw(t, "base"))
		var inputs []input
		for _, reaches := range rapid.SliceOfN(rapid.SliceOf(block), 0, 9).Draw(t, "inputs") {
			inputs = append(inputs, input{[]byte(strings.Repeat("x", len(inputs))), toBlocks(reaches)})
		}
		reached := toBlocks(nil)
		for block := range base {
			reached[block] = true
		}
		for _, in := range choose(base, inputs, limits{99, 999}) {
			news := 0
			for block := range in.reaches {
				if !reached[block] {
					news++
				}
				reached[block] = true
			}
			if news == 0 {
				t.Fatalf("%q adds nothing", in.data)
			}
		}
		for _, in := range inputs {
			for block := range in.reaches {
				if !reached[block] {
					t.Fatalf("block %s is not reached", block)
				}
			}
		}
	})
}

func toBlocks(names []string) blocks {
	b := blocks{}
	for _, name := range names {
		b[name] = true
	}
	return b
}

func TestReadProfile(t *testing.T) {
	got := readProfile("mode: count\np/a.go:1.2,3.4 2 1\np/a.go:5.6,7.8 1 0\np/b.go:1.2,3.4 1 17\n")
	if len(got) != 2 || !got["p/a.go:1.2,3.4 1"] || !got["p/b.go:1.2,3.4 5"] {
		t.Errorf("blocks %v", got)
	}
}

// Inputs that once failed a test stay where they are, and are not among those that may go.
func TestGatherAndDiscard(t *testing.T) {
	home, found := t.TempDir(), t.TempDir()
	for path, data := range map[string]string{
		filepath.Join(home, "0123456789abcdef"):                "failed once",
		filepath.Join(home, input{data: []byte("old")}.name()): "old",
		filepath.Join(found, "a"):                              "new",
		filepath.Join(found, "b"):                              "old",
	} {
		if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	inputs, err := gather(home, found)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, in := range inputs {
		got = append(got, string(in.data))
	}
	if !slices.Equal(got, []string{"old", "new"}) {
		t.Errorf("gathered %q", got)
	}
	if err := discard(home); err != nil {
		t.Fatal(err)
	}
	left, err := filepath.Glob(filepath.Join(home, "*"))
	if err != nil || len(left) != 1 || filepath.Base(left[0]) != "0123456789abcdef" {
		t.Errorf("left %v, error %v", left, err)
	}
}

// A package without fuzz targets has nothing to keep, and a wrong flag is an error.
func TestRun(t *testing.T) {
	var out strings.Builder
	if err := run([]string{"-for", "0", "-cache", t.TempDir(), "../quantities"}, &out); err != nil || out.String() != "" {
		t.Errorf("said %q, error %v", out.String(), err)
	}
	for _, args := range [][]string{{"-for", "soon"}, {"../nowhere"}} {
		if err := run(args, &out); err == nil {
			t.Errorf("%v: no error", args)
		}
	}
}
