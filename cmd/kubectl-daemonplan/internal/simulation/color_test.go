package simulation

import (
	"fmt"
	"image/color"
	"math"
	"strings"
	"testing"

	"github.com/lucasb-eyer/go-colorful"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/vision"
	"github.com/daemonplan/daemonplan/rollout/simulate"
)

func seen(c color.NRGBA) colorful.Color {
	return colorful.Color{R: float64(c.R) / 255, G: float64(c.G) / 255, B: float64(c.B) / 255}
}

// lookDifferent fails a test if two colours look alike to people who see all colours, or to people who do not see red or green.
func lookDifferent(t *testing.T, a, b color.NRGBA, what string, args ...any) {
	t.Helper()
	const least76, least2000 = 20, 10
	if cie76, ciede2000 := vision.Apart(a, b); cie76 < least76 || ciede2000 < least2000 {
		t.Errorf("%s are only %.1f (CIE76) and %.1f (CIEDE2000) apart", fmt.Sprintf(what, args...), cie76, ciede2000)
	}
}

// luminance is the share of white's light, and what contrast in the sense of WCAG 2 compares.
func luminance(c color.NRGBA) float64 {
	r, g, b := seen(c).LinearRgb()
	return 0.2126*r + 0.7152*g + 0.0722*b
}

func contrast(a, b color.NRGBA) float64 {
	x, y := luminance(a)+0.05, luminance(b)+0.05
	return max(x, y) / min(x, y)
}

// The papers of the page, which page.html has as --paper.
var paper, darkPaper = white, rgb(0x1C1E21)

// Any two states can be told apart, by people who do not see red or green, too. In grey, serving is light and down is dark.
func TestStatesLookDifferent(t *testing.T) {
	lightest, darkest := 0.0, math.Inf(1)
	for i, a := range looks {
		for _, b := range looks[:i] {
			lookDifferent(t, a.Color, b.Color, "%q and %q", a.Text, b.Text)
		}
		lightness, _, _ := seen(a.Color).Lab()
		switch {
		case a.State.Serving():
			darkest = min(darkest, lightness)
		case down(a.State):
			lightest = max(lightest, lightness)
		}
	}
	if darkest < 0.75 || lightest > 0.55 {
		t.Errorf("what serves has a lightness of at least %.2f, what is down up to %.2f", darkest, lightest)
	}
	outside, _, _ := seen(lookOf(simulate.NodeOutside).Color).Lab()
	if outside < lightest+0.05 || outside > darkest-0.05 {
		t.Errorf("a node that needs no pod has a lightness of %.2f, and is neither down nor serves", outside)
	}
}

// Lines stand out from the paper and from each other, on a light page and on a dark one.
func TestLinesLookDifferent(t *testing.T) {
	for name, tt := range map[string]struct {
		paper  color.NRGBA
		colors []color.NRGBA
	}{
		"light": {paper, lineColors[:]}, "dark": {darkPaper, darkLineColors[:]},
	} {
		for i, a := range tt.colors {
			if c := contrast(a, tt.paper); c < 3 {
				t.Errorf("%s: line %d has a contrast of only %.1f", name, i, c)
			}
			for j, b := range tt.colors[:i] {
				lookDifferent(t, a, b, "%s: lines %d and %d", name, j, i)
			}
		}
	}
}

// No two of many candidates have both the same colour and the same dashes.
func TestManyLinesLookDifferent(t *testing.T) {
	seen := make(map[string]int)
	for i := range 20 {
		key := fmt.Sprint(colorOf(i), dashesOf(i))
		if other, ok := seen[key]; ok {
			t.Errorf("lines %d and %d look alike", other, i)
		}
		seen[key] = i
	}
}

// The page uses the colours that were measured.
func TestPageUsesThePapers(t *testing.T) {
	for _, want := range []string{"--paper: #fff;", fmt.Sprintf("--paper: #%02x%02x%02x;", darkPaper.R, darkPaper.G, darkPaper.B)} {
		if !strings.Contains(pageText, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	for _, tt := range []struct{ ink, paper uint32 }{{0x111111, 0xFFFFFF}, {0x444444, 0xFFFFFF}, {0xE6E6E6, 0x1C1E21}, {0xBBBBBB, 0x1C1E21}, {0xE6E6E6, 0x17402F}} {
		if c := contrast(rgb(tt.ink), rgb(tt.paper)); c < 7 {
			t.Errorf("text #%06x on #%06x has a contrast of %.1f", tt.ink, tt.paper, c)
		}
	}
}
