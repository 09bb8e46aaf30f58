package watch

import (
	"image/color"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/plan"
	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/vision"
)

// Terminals have palettes of their own. In those of xterm and of the VGA, what the colours of the screen say can be told apart by
// people who do not see red or green, too.
func TestColorsLookDifferent(t *testing.T) {
	palettes := map[string]map[ansi.BasicColor]color.NRGBA{
		"xterm": {ansi.Red: {205, 0, 0, 255}, ansi.Green: {0, 205, 0, 255}, ansi.Cyan: {0, 205, 205, 255}},
		"VGA":   {ansi.Red: {170, 0, 0, 255}, ansi.Green: {0, 170, 0, 255}, ansi.Cyan: {0, 170, 170, 255}},
	}
	for name, palette := range palettes {
		for i, a := range colors {
			for _, b := range colors[:i] {
				if d, _ := vision.Apart(palette[a], palette[b]); d < 20 {
					t.Errorf("%s: colours %d and %d are only %.1f apart", name, a, b, d)
				}
			}
		}
	}
}

// What the colour of a line says is said by the line, too: what is wrong has a mark, and states have words.
func TestColorsAreNotAlone(t *testing.T) {
	o := &plan.Overview{Troubles: []plan.Trouble{{Node: "a", What: "x"}, {Node: "b", What: "x", Starting: true}}}
	lines := troubleLines(o, 80)
	if len(lines) != 4 || lines[2].text != "  ! a: x" || lines[3].text != "  b: x" {
		t.Errorf("%v", lines)
	}
}
