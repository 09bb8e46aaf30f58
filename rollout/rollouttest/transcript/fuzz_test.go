package transcript_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/daemonplan/daemonplan/rollout/rollouttest/transcript"
)

// printed is what is written below commands.
var printed = regexp.MustCompile(`\n----\n(?:[^\n]+\n)*`)

// FuzzPlay: no text makes a transcript panic, and one that comes back is stable.
func FuzzPlay(f *testing.F) {
	files, err := filepath.Glob(filepath.Join("testdata", "*.txt"))
	if err != nil || len(files) == 0 {
		f.Fatalf("no transcripts found (error %v)", err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(printed.ReplaceAllString(string(data), "\n----\n"))
	}
	// Thousands of nodes or hours take their time, and show nothing.
	large := regexp.MustCompile(`\d{4,}|\d{3,}m|\d{2,}h`)
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 4000 || large.MatchString(text) {
			t.Skip()
		}
		played, err := transcript.Play(text)
		if err != nil || played == "" {
			return
		}
		if again, err := transcript.Play(played); err != nil || again != played {
			t.Errorf("played again it is not the same (error %v):\n%s\n%s", err, played, again)
		}
	})
}
