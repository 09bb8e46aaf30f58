package vision

import (
	"image/color"
	"math"
	"testing"
)

func rgb(n uint32) color.NRGBA {
	return color.NRGBA{R: uint8(n >> 16), G: uint8(n >> 8), B: uint8(n), A: 0xFF}
}

// The measure itself is right: these distances are known.
func TestApart(t *testing.T) {
	for _, tt := range []struct {
		name     string
		a, b     uint32
		from, to float64
	}{
		{"black and white", 0x000000, 0xFFFFFF, 99.9, 100.1},
		{"nothing", 0x123456, 0x123456, 0, 0},
		{"a red and a green that look alike without green", 0xA06000, 0x608000, 0, 14},
		{"a red and a dark grey that look alike without red", 0xB54352, 0x666D6E, 0, 10},
	} {
		cie76, ciede2000 := Apart(rgb(tt.a), rgb(tt.b))
		if cie76 < tt.from || cie76 > tt.to || ciede2000 < tt.from || ciede2000 > tt.to {
			t.Errorf("%s: %.1f and %.1f, want %v to %v", tt.name, cie76, ciede2000, tt.from, tt.to)
		}
	}
	if normal := &Sights[0]; normal.See(rgb(0xA06000)).DistanceLab(normal.See(rgb(0x608000))) < 0.4 {
		t.Error("the example is alike with green, too")
	}
}

// The matrices are those that were published: greys stay grey, and without the cones for red a pure red is dark.
func TestSights(t *testing.T) {
	for i := range Sights {
		s := &Sights[i]
		for _, row := range s.matrix {
			if sum := row[0] + row[1] + row[2]; math.Abs(sum-1) > 1e-5 {
				t.Errorf("%s: a row has the sum %v", s.Name, sum)
			}
		}
		lightness, _, _ := s.See(rgb(0xFF0000)).Lab()
		want := map[string]float64{"normal sight": 0.53, "protanopia": 0.40, "deuteranopia": 0.61}[s.Name]
		if math.Abs(lightness-want) > 0.03 {
			t.Errorf("%s: red has the lightness %.2f, want %.2f", s.Name, lightness, want)
		}
	}
}
