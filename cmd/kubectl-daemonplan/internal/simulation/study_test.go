package simulation

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var whole = flag.Bool("studies", false, "run the studies in full, which takes minutes; with -update write their tables and pictures")

// table is the block of a README that has the comparison.
var table = regexp.MustCompile("(?s)```text\n.*?```\n")

// A README shows what its command prints, and the pictures that it draws.
func TestStudyReadmes(t *testing.T) {
	for _, name := range studyNames() {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join("..", "..", "studies", name)
			readme := read(t, filepath.Join(dir, "README.md"))
			for _, want := range []string{"**Finding.**", command + " study " + name, "```text\n"} {
				if !strings.Contains(readme, want) {
					t.Errorf("the README lacks %q", want)
				}
			}
			links := regexp.MustCompile(`\]\(([^)]+)\)`).FindAllStringSubmatch(readme, -1)
			var pictures int
			for _, link := range links {
				info, err := os.Stat(filepath.Join(dir, link[1]))
				picture := strings.HasSuffix(link[1], ".svg") || strings.HasSuffix(link[1], ".png")
				switch {
				case err != nil && !*update:
					t.Errorf("the README links to %s: %v", link[1], err)
				case picture:
					pictures++
					if err == nil && info.Size() > 200_000 {
						t.Errorf("%s has %d bytes", link[1], info.Size())
					}
				}
			}
			if pictures == 0 {
				t.Error("the README shows no picture")
			}
			if !*whole {
				return
			}
			out := t.TempDir()
			block := "```text\n" + answer(t, "study", name, "--out", out) + "```\n"
			if *update {
				text := table.ReplaceAllLiteralString(readme, block)
				if err := os.WriteFile(filepath.Join(dir, "README.md"), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if !strings.Contains(readme, block) {
				t.Errorf("the table of the README is not what the command prints:\n%s", block)
			}
			for _, link := range links {
				drawn, err := os.ReadFile(filepath.Join(out, link[1]))
				if err != nil {
					continue // not a picture
				}
				file := filepath.Join(dir, link[1])
				if *update {
					if err := os.WriteFile(file, drawn, 0o644); err != nil {
						t.Fatal(err)
					}
				} else if read(t, file) != string(drawn) {
					t.Errorf("%s is not what the command draws", file)
				}
			}
		})
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestListStudies(t *testing.T) {
	list := answer(t, "study")
	for _, name := range []string{
		"bad-version", "broken-nodes", "how-many-at-once", "leaving-nodes", "not-ready-nodes", "racks-and-zones", "rings-and-zones",
		"security-fix", "slow-registry", "three-broken-nodes",
	} {
		if !strings.Contains(list, "\n"+name+" ") && !strings.HasPrefix(list, name+" ") {
			t.Errorf("the list lacks %s:\n%s", name, list)
		}
	}
}
