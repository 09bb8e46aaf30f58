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
	commands := anyCommands(usedLines(t))
	rapid.Check(t, func(t *rapid.T) {
		story := "# Any story.\n\n# Begun.\ncluster nodes=a,b image=v1\n"
		if rapid.Bool().Draw(t, "installed") {
			story += "install\n"
		}
		story += "----\n"
		for _, line := range commands.Draw(t, "commands") {
			text, err := playNext(story, line)
			if text == "" {
				continue // such a command cannot be played here
			}
			story = text
			if again, err2 := transcript.Play(text); again != text || (err == nil) != (err2 == nil) {
				t.Fatalf("played again it is not the same (%v, %v):\n%s\n%s", err, err2, text, again)
			}
		}
	})
}

// playNext plays a story and one command more. The text is "" if that cannot be played.
func playNext(story, line string) (text string, err error) {
	if line == "" {
		return "", nil
	}
	return transcript.Play(story + "\n# Why.\n" + line + "\n----\n")
}

// anyCommands draws a few of the commands, some of them with a word left out or put elsewhere.
func anyCommands(used []string) *rapid.Generator[[]string] {
	lines := slices.DeleteFunc(used, func(line string) bool {
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
	return rapid.SliceOfN(command, 1, 6)
}
