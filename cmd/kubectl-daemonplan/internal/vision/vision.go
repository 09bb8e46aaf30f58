// Package vision measures how different colours look, to people who do not see all of them, too. Tests of pictures and screens
// use it.
package vision

import (
	"image/color"

	"github.com/lucasb-eyer/go-colorful"
)

// Sight is a way of seeing colours.
type Sight struct {
	Name string
	// matrix makes of red, green and blue light what is seen of it.
	matrix [3][3]float64
}

// Sights are normal sight, and that of people whose eyes do not tell red (protanopia) or green (deuteranopia). The matrices are
// those of Machado, Oliveira and Fernandes (2009) for all of the deficiency.
var Sights = [...]Sight{
	{"normal sight", [3][3]float64{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}},
	{"protanopia", [3][3]float64{
		{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998},
	}},
	{"deuteranopia", [3][3]float64{
		{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881},
	}},
}

// See is what a colour looks like. An alpha is left out of account.
func (s *Sight) See(c color.NRGBA) colorful.Color {
	r, g, b := colorful.Color{R: float64(c.R) / 255, G: float64(c.G) / 255, B: float64(c.B) / 255}.LinearRgb()
	light := func(row [3]float64) float64 { return min(1, max(0, row[0]*r+row[1]*g+row[2]*b)) }
	return colorful.LinearRgb(light(s.matrix[0]), light(s.matrix[1]), light(s.matrix[2]))
}

// Apart returns how far apart two colours are for the sight to which they look most alike, as CIE76 and as CIEDE2000 measure it,
// which takes into account that small differences between greys are seen better. Black and white are 100 apart in both.
func Apart(a, b color.NRGBA) (cie76, ciede2000 float64) {
	for i := range Sights {
		x, y := Sights[i].See(a), Sights[i].See(b)
		if d := 100 * x.DistanceLab(y); i == 0 || d < cie76 {
			cie76 = d
		}
		if d := 100 * x.DistanceCIEDE2000(y); i == 0 || d < ciede2000 {
			ciede2000 = d
		}
	}
	return cie76, ciede2000
}
