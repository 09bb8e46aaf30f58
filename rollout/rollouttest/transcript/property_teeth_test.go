//go:build teeth

package transcript_test

import "testing"

// TestAnyCommandsArePlayed: of the commands that TestAnyCommands draws some can be played.
func TestAnyCommandsArePlayed(t *testing.T) {
	const examples = 100
	commands, played, refused := anyCommands(usedLines(t)), 0, 0
	for seed := range examples {
		for _, line := range commands.Example(seed) {
			if text, _ := playNext("# Any story.\n\n# Begun.\ncluster nodes=a,b image=v1\ninstall\n----\n", line); text != "" {
				played++
			} else {
				refused++
			}
		}
	}
	if played < examples/10 || refused < examples/10 {
		t.Errorf("of the commands of %d examples %d are played and %d refused", examples, played, refused)
	}
}
