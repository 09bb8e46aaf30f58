package simulate

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// Distribution is a distribution of durations, of which one is drawn each time. The zero value is unset; what that means is
// documented at the field that has it.
//
// As text it is a duration ("5s"), a range ("2s..8s"), "exp 5s" with the mean, or "lognormal 4s p95 20s" with the median
// and the 95th percentile. The empty text is the zero value.
//
// No draw is negative or longer than ten years. [Scenario.Validate] refuses parameters that are.
type Distribution struct {
	kind distributionKind
	// a and b are the parameters: the least and the greatest value, the mean (a only), or the median and the 95th percentile.
	a, b time.Duration
}

type distributionKind uint8

const (
	unset distributionKind = iota
	fixed
	uniform
	exponential
	logNormal
)

// longest is the longest duration that is drawn. Instants are sums of a few of them, and int64 nanoseconds hold 292 years.
const longest = 10 * 365 * 24 * time.Hour

// cutOff bounds long tails: no draw is longer than that many times the mean, or the 95th percentile.
const cutOff = 100

// Fixed returns the distribution of which every draw is d.
func Fixed(d time.Duration) Distribution { return Distribution{fixed, d, d} }

// Uniform returns the distribution over least to most, both included, in which each value is as likely as any other.
func Uniform(least, most time.Duration) Distribution { return Distribution{uniform, least, most} }

// Exponential returns the distribution of the time between events that come at random, with the mean time between two of
// them. Draws are cut off at 100 times the mean.
func Exponential(mean time.Duration) Distribution { return Distribution{exponential, mean, 0} }

// LogNormal returns a distribution like that of times that work takes: half of the draws are below the median, one in twenty
// is longer than p95, and a few are much longer. Draws are cut off at 100 times p95.
func LogNormal(median, p95 time.Duration) Distribution { return Distribution{logNormal, median, p95} }

// IsZero reports whether the distribution is unset.
func (d Distribution) IsZero() bool { return d.kind == unset }

func (d Distribution) isSet() bool { return d.kind != unset }

// Mean returns the mean of the draws, which are cut off; 0 for the zero value.
func (d Distribution) Mean() time.Duration {
	switch d.kind {
	case unset:
	case fixed:
		return bounded(float64(d.a))
	case uniform:
		return d.from(0.5)
	case exponential:
		return bounded(float64(d.a) * (1 - math.Exp(-cutOff)))
	case logNormal:
		return d.logNormalMean()
	}
	return 0
}

// logNormalMean is the mean of a log-normal distribution whose draws above the limit count as the limit.
func (d Distribution) logNormalMean() time.Duration {
	sigma, limit := d.sigma(), d.limit()
	if sigma == 0 {
		return d.from(0.5)
	}
	mu, end := math.Log(float64(d.a)), math.Log(limit)
	below := math.Exp(mu+sigma*sigma/2) * normalShare((end-mu)/sigma-sigma)
	return bounded(below + limit*normalShare((mu-end)/sigma))
}

// String returns the text that [ParseDistribution] reads; "" for the zero value.
func (d Distribution) String() string {
	switch d.kind {
	case unset:
	case fixed:
		return d.a.String()
	case uniform:
		return d.a.String() + ".." + d.b.String()
	case exponential:
		return "exp " + d.a.String()
	case logNormal:
		return "lognormal " + d.a.String() + " p95 " + d.b.String()
	}
	return ""
}

// MarshalText returns what String returns. It never fails.
func (d Distribution) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads what [ParseDistribution] reads. On error the receiver is left as it was.
func (d *Distribution) UnmarshalText(text []byte) error {
	parsed, err := ParseDistribution(string(text))
	if err == nil {
		*d = parsed
	}
	return err
}

// ParseDistribution reads a distribution: "5s", "2s..8s", "exp 5s", "lognormal 4s p95 20s", or "" for the zero value.
// Durations are as [time.ParseDuration] reads them, and not negative. The error says what would be right.
func ParseDistribution(text string) (Distribution, error) {
	d, err := parseDistribution(strings.Fields(text))
	if err != nil {
		return Distribution{}, fmt.Errorf("distribution %q: %w", text, err)
	}
	if problem := d.problem(); problem != "" {
		return Distribution{}, fmt.Errorf("distribution %q: %s", text, problem)
	}
	return d, nil
}

func parseDistribution(words []string) (d Distribution, err error) {
	switch {
	case len(words) == 0:
		return d, nil
	case len(words) == 1 && !strings.Contains(words[0], ".."):
		d.kind = fixed
		d.a, err = parseDuration(words[0])
		d.b = d.a
	case len(words) == 1:
		d.kind = uniform
		least, most, _ := strings.Cut(words[0], "..")
		if d.a, err = parseDuration(least); err == nil {
			d.b, err = parseDuration(most)
		}
	case len(words) == 2 && words[0] == "exp":
		d.kind = exponential
		d.a, err = parseDuration(words[1])
	case len(words) == 4 && words[0] == "lognormal" && words[2] == "p95":
		d.kind = logNormal
		if d.a, err = parseDuration(words[1]); err == nil {
			d.b, err = parseDuration(words[3])
		}
	default:
		err = errDistribution
	}
	return d, err
}

var errDistribution = fmt.Errorf(`must be a duration (5s), a range (2s..8s), "exp 5s" with the mean, ` +
	`or "lognormal 4s p95 20s" with the median and the 95th percentile`)

func parseDuration(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, fmt.Errorf("%q is no duration; one has a unit, as 300ms, 5s, 1m30s and 2h have", text)
	}
	return d, nil
}

// problem says what is wrong with the parameters; empty: nothing.
func (d Distribution) problem() string {
	switch {
	case d.a < 0 || d.b < 0:
		return "durations must not be negative"
	case d.a > longest || d.b > longest:
		return "durations must not be longer than ten years (87600h)"
	case d.kind == uniform && d.a > d.b:
		return fmt.Sprintf("a range goes from the shorter to the longer duration: %v..%v", d.b, d.a)
	case d.kind == logNormal && d.a > d.b:
		return fmt.Sprintf("the 95th percentile must not be less than the median: lognormal %v p95 %v", d.b, d.a)
	case d.kind == logNormal && d.a == 0 && d.b > 0:
		return "the median must be positive"
	}
	return ""
}

// from is the value that a share u of all draws does not exceed. A draw needs only one number between 0 and 1, so it can be
// made without a generator; see [random.durationOf].
func (d Distribution) from(u float64) time.Duration {
	switch d.kind {
	case unset:
	case fixed:
		return bounded(float64(d.a))
	case uniform:
		return min(bounded(float64(d.a)+float64(u*(float64(d.b)-float64(d.a)+1))), bounded(float64(d.b)))
	case exponential:
		return bounded(min(-math.Log1p(-u)*float64(d.a), cutOff*float64(d.a)))
	case logNormal:
		z := math.Sqrt2 * math.Erfinv(2*u-1)
		return bounded(min(float64(d.a)*math.Exp(d.sigma()*z), d.limit()))
	}
	return 0
}

// sigma is the standard deviation of the logarithm. 0: all draws are the median.
func (d Distribution) sigma() float64 {
	if d.a <= 0 || d.b <= d.a {
		return 0
	}
	const z95 = 1.6448536269514722 // a share of 0.95 of the standard normal distribution is below
	return math.Log(float64(d.b)/float64(d.a)) / z95
}

// limit is what no draw of a log-normal distribution exceeds.
func (d Distribution) limit() float64 {
	return min(cutOff*float64(d.b), float64(longest))
}

// normalShare is the share of the standard normal distribution below z.
func normalShare(z float64) float64 { return math.Erfc(-z/math.Sqrt2) / 2 }

// bounded turns nanoseconds into a duration that is not negative, and at most the longest.
func bounded(nanoseconds float64) time.Duration {
	if !(nanoseconds > 0) { // NaN too
		return 0
	}
	return time.Duration(min(nanoseconds, float64(longest)))
}
