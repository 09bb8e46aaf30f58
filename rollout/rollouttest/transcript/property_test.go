package transcript_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/daemonplan/daemonplan/internal/fixedseed"
	"github.com/daemonplan/daemonplan/rollout/rollouttest/transcript"
)

// TestAnyCommands: commands of all transcripts in any order, some with a word left out or put elsewhere, never panic; a
// story that can be played is told the same way again.
func TestAnyCommands(t *testing.T) {
	lines := slices.DeleteFunc(usedLines(t), func(line string) bool {
		return line == "" || strings.HasPrefix(line, "#") || strings.Contains(line, "<<EOF")
	})
	slices.Sort(lines)
	lines = slices.Compact(lines)
	command := rapid.Custom(func(t *rapid.T) string {
		words := strings.Fields(rapid.SampledFrom(lines).Draw(t, "line"))
		switch i := rapid.IntRange(0, len(words)-1).Draw(t, "word"); rapid.IntRange(0, 5).Draw(t, "change") {
		case 0:
			words = slices.Delete(words, i, i+1)
		case 1:
			words[i] = rapid.SampledFrom([]string{"a", "b", "none", "-", "=", "0", "-1", "1s", "update", `"`}).Draw(t, "other")
		}
		return strings.Join(words, " ")
	})
	played := 0
	rapid.Check(t, func(t *rapid.T) {
		story := "# Any story.\n\n# Begun.\ncluster nodes=a,b image=v1\n"
		if rapid.Bool().Draw(t, "installed") {
			story += "install\n"
		}
		story += "----\n"
		for _, line := range rapid.SliceOfN(command, 1, 6).Draw(t, "commands") {
			if line == "" {
				continue
			}
			next := story + "\n# Why.\n" + line + "\n----\n"
			text, err := transcript.Play(next)
			if text == "" {
				continue // such a command cannot be played here
			}
			story = text
			if again, err2 := transcript.Play(text); again != text || (err == nil) != (err2 == nil) {
				t.Fatalf("played again it is not the same (%v, %v):\n%s\n%s", err, err2, text, again)
			}
			played++
		}
	})
	if played == 0 {
		t.Error("no command could be played")
	}
}
