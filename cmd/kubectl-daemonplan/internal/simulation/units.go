package simulation

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/text"
)

// asDuration shows a duration with no more digits than are of use.
func asDuration(nanoseconds float64) string {
	d := time.Duration(nanoseconds)
	switch {
	case d < 10*time.Second:
		d = d.Round(10 * time.Millisecond)
	case d < time.Hour:
		d = d.Round(time.Second)
	case d >= 48*time.Hour:
		hours := int(d.Round(time.Hour).Hours())
		return fmt.Sprintf("%dd%02dh", hours/24, hours%24)
	default:
		d = d.Round(time.Minute)
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	}
	return strings.Replace(d.String(), "m0s", "m", 1)
}

// counted shows whole numbers with what is counted.
func counted(one, many string) func(float64) string {
	return func(n float64) string { return text.Agree(int(n), one, many) }
}

// asNodeMinutes shows a time that is summed over nodes, in minutes.
func asNodeMinutes(minutes float64) string { return asMinutes(minutes) + " node-minutes" }

// asCount groups the digits of a whole number.
func asCount(n float64) string { return text.Number(int(n)) }

// asMinutes shows minutes, small ones with a decimal.
func asMinutes(minutes float64) string {
	if minutes < 100 {
		return strconv.FormatFloat(minutes, 'f', 1, 64)
	}
	return asCount(math.Round(minutes))
}

// asBytes shows a number of bytes in decimal units, as bandwidths have.
func asBytes(bytes float64) string {
	units := []string{"B", "kB", "MB", "GB", "TB", "PB"}
	unit := 0
	for bytes >= 999.5 && unit < len(units)-1 {
		bytes /= 1000
		unit++
	}
	return strconv.FormatFloat(bytes, 'g', 3, 64) + " " + units[unit]
}
