package simulation

import (
	"fmt"
	"image/color"
	"math"
	"strings"
	"testing"

	"github.com/lucasb-eyer/go-colorful"

	"github.com/daemonplan/daemonplan/rollout/simulate"
)

func seen(c color.NRGBA) colorful.Color {
	return colorful.Color{R: float64(c.R) / 255, G: float64(c.G) / 255, B: float64(c.B) / 255}
}

// deuteranopia is the colour as people see it whose eyes do not tell green, after Machado, Oliveira and Fernandes (2009), for all of
// the deficiency.
func deuteranopia(c colorful.Color) colorful.Color {
	r, g, b := c.LinearRgb()
	return colorful.LinearRgb(
		min(1, max(0, 0.367322*r+0.860646*g-0.227968*b)),
		min(1, max(0, 0.280085*r+0.672501*g+0.047413*b)),
		min(1, max(0, -0.011820*r+0.042940*g+0.968881*b)))
}

// distance is that of CIEDE2000, for people who see all colours or for those who do not see green, whichever is less.
func distance(a, b color.NRGBA) float64 {
	x, y := seen(a), seen(b)
	return 100 * min(x.DistanceCIEDE2000(y), deuteranopia(x).DistanceCIEDE2000(deuteranopia(y)))
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

// The measure itself is right: these distances are known.
func TestDistance(t *testing.T) {
	for _, tt := range []struct {
		name     string
		a, b     uint32
		from, to float64
	}{
		{"black and white", 0x000000, 0xFFFFFF, 99.9, 100.1},
		{"nothing", 0x123456, 0x123456, 0, 0},
		{"a red and a green that look alike without green", 0xA06000, 0x608000, 0, 8},
	} {
		if got := distance(rgb(tt.a), rgb(tt.b)); got < tt.from || got > tt.to {
			t.Errorf("%s: %.1f, want %v to %v", tt.name, got, tt.from, tt.to)
		}
	}
	if red, green := seen(rgb(0xA06000)), seen(rgb(0x608000)); red.DistanceCIEDE2000(green) < 0.25 {
		t.Error("the example is alike with green, too")
	}
}

// Any two states can be told apart, by people who do not see green, too. In grey, serving is light and down is dark.
func TestStatesLookDifferent(t *testing.T) {
	lightest, darkest := 0.0, math.Inf(1)
	for i, a := range looks {
		for _, b := range looks[:i] {
			if d := distance(a.Color, b.Color); d < 10 {
				t.Errorf("%q and %q are only %.1f apart", a.Text, b.Text, d)
			}
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
				if d := distance(a, b); d < 10 {
					t.Errorf("%s: lines %d and %d are only %.1f apart", name, j, i, d)
				}
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
