package recount_test

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// How the page writes numbers: with no more digits than are of use.

// never is the time of what does not happen in a run.
const never = time.Duration(math.MaxInt64)

// clock writes a time: below ten seconds to hundredths, below an hour to seconds, below two days to minutes, else to hours.
func clock(d time.Duration) string {
	if d == never {
		return "never"
	}
	switch {
	case d < 10*time.Second:
		hundredths := (int64(d) + 5e6) / 1e7
		switch {
		case hundredths == 0:
			return "0s"
		case hundredths < 100:
			return fmt.Sprint(hundredths*10) + "ms"
		}
		return strconv.FormatFloat(float64(hundredths)/100, 'f', -1, 64) + "s"
	case d < time.Hour:
		seconds := (int64(d) + 5e8) / 1e9
		hours, minutes := seconds/3600, seconds/60%60
		seconds %= 60
		text := ""
		if hours > 0 {
			text = fmt.Sprintf("%dh", hours)
		}
		if hours > 0 || minutes > 0 {
			text += fmt.Sprintf("%dm", minutes)
		}
		if seconds == 0 && text != "" {
			return text
		}
		return text + fmt.Sprintf("%ds", seconds)
	case d >= 48*time.Hour:
		hours := (int64(d) + 18e11) / 36e11
		return fmt.Sprintf("%dd%02dh", hours/24, hours%24)
	}
	minutes := (int64(d) + 3e10) / 6e10
	return fmt.Sprintf("%dh%02dm", minutes/60, minutes%60)
}

// grouped writes a whole number with a comma before each three digits.
func grouped(n int) string {
	digits := strconv.Itoa(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// some writes a number with what is counted, as one or several.
func some(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return grouped(n) + " " + one + "s"
}

func nodes(n int) string { return some(n, "node") }

// nodeMinutes writes a time that is added up over nodes.
func nodeMinutes(d time.Duration) string {
	minutes := d.Minutes()
	if minutes < 100 {
		return fmt.Sprintf("%.1f node-minutes", minutes)
	}
	return grouped(int(math.Round(minutes))) + " node-minutes"
}

// size writes bytes in decimal units with three digits.
func size(bytes int64) string {
	value := float64(bytes)
	for _, unit := range []string{"B", "kB", "MB", "GB", "TB"} {
		if value < 999.5 || unit == "TB" {
			return strconv.FormatFloat(value, 'g', 3, 64) + " " + unit
		}
		value /= 1000
	}
	return ""
}

// middle is the smallest value that the share, in percent, of the values does not exceed.
func middle[T int | int64 | time.Duration](values []T, percent int) T {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[(percent*len(sorted)+99)/100-1]
}

// over writes what a value is in several runs: the median, and what nine of ten do not exceed, if that differs.
func over[T int | int64 | time.Duration](values []T, show func(T) string) string {
	half, most := show(middle(values, 50)), show(middle(values, 90))
	if half == most {
		return half
	}
	number, unit, _ := strings.Cut(half, " ")
	if _, other, _ := strings.Cut(most, " "); other == unit {
		half = number
	}
	return half + " .. " + most
}

// close reports whether two values are less than 5 % apart.
func near[T int | time.Duration](less, more T) bool {
	return less == more || float64(more) < 1.05*float64(less)
}
