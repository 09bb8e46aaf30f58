package simulate_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/daemonplan/daemonplan/rollout/simulate"
)

// inputRows refuses rows of tables without a name of their own or without a reason.
type inputRows map[string]bool

func (r inputRows) check(t *testing.T, name, why string) {
	t.Helper()
	if name == "" || why == "" || r[name] {
		t.Fatalf("row %q: a row needs a name of its own and a reason", name)
	}
	r[name] = true
}

func TestParseDistribution(t *testing.T) {
	const s = time.Second
	tests := []struct {
		name, why, text string
		want            simulate.Distribution
		canonical       string
		err             string
	}{
		{"fixed", "a duration alone", "5s", simulate.Fixed(5 * s), "5s", ""},
		{"fixed zero", "it takes no time, which is not the same as unset", "0s", simulate.Fixed(0), "0s", ""},
		{"range", "least and most", "2s..8s", simulate.Uniform(2*s, 8*s), "2s..8s", ""},
		{"range of one", "least may be most", "2s..2s", simulate.Uniform(2*s, 2*s), "2s..2s", ""},
		{"exponential", "the mean", "exp 90s", simulate.Exponential(90 * s), "exp 1m30s", ""},
		{"lognormal", "median and 95th percentile", "lognormal 4s p95 20s", simulate.LogNormal(4*s, 20*s), "lognormal 4s p95 20s", ""},
		{"lognormal of one", "the 95th percentile may be the median", "lognormal 4s p95 4s", simulate.LogNormal(4*s, 4*s), "lognormal 4s p95 4s", ""},
		{"lognormal of nothing", "all of them take no time", "lognormal 0s p95 0s", simulate.LogNormal(0, 0), "lognormal 0s p95 0s", ""},
		{"unset", "the zero value has a text, too", "", simulate.Distribution{}, "", ""},
		{"spaces", "spaces mean nothing", "  exp   5s ", simulate.Exponential(5 * s), "exp 5s", ""},
		{"ten years", "the longest", "87600h", simulate.Fixed(simulate.Longest), "87600h0m0s", ""},

		{"no unit", "5 of what?", "5", simulate.Distribution{}, "", `distribution "5": "5" is no duration; one has a unit, as 300ms, 5s, 1m30s and 2h have`},
		{"no mean", "exp alone says nothing", "exp", simulate.Distribution{}, "", `distribution "exp": "exp" is no duration`},
		{"no median", "p95 alone is not enough", "lognormal p95 5s", simulate.Distribution{}, "", `must be a duration (5s), a range (2s..8s), "exp 5s" with the mean, or "lognormal 4s p95 20s"`},
		{"another percentile", "only p95 is known", "lognormal 4s p99 5s", simulate.Distribution{}, "", `must be a duration`},
		{"another word", "misspelt", "lognorm 4s p95 5s", simulate.Distribution{}, "", `must be a duration`},
		{"exp of two words", "too much", "exp 4s 5s", simulate.Distribution{}, "", `must be a duration`},
		{"another first word", "misspelt", "expo 4s", simulate.Distribution{}, "", `must be a duration`},
		{"range without an end", "half of it is missing", "2s..", simulate.Distribution{}, "", `"" is no duration`},
		{"range without a beginning", "half of it is missing", "..2s", simulate.Distribution{}, "", `"" is no duration`},
		{"range of three", "two ends are enough", "2s..3s..4s", simulate.Distribution{}, "", `"3s..4s" is no duration`},
		{"bad p95", "the last word is a duration", "lognormal 4s p95 x", simulate.Distribution{}, "", `"x" is no duration`},
		{"bad median", "the second word is a duration", "lognormal x p95 4s", simulate.Distribution{}, "", `"x" is no duration`},
		{"reversed range", "least comes first", "8s..2s", simulate.Distribution{}, "", `a range goes from the shorter to the longer duration: 2s..8s`},
		{"reversed lognormal", "nineteen of twenty are more than half", "lognormal 20s p95 4s", simulate.Distribution{}, "", `the 95th percentile must not be less than the median: lognormal 4s p95 20s`},
		{"lognormal from zero", "nothing times anything is nothing", "lognormal 0s p95 4s", simulate.Distribution{}, "", `the median must be positive`},
		{"lognormal from zero to next to nothing", "a nanosecond is a time, too", "lognormal 0s p95 1ns", simulate.Distribution{}, "", `the median must be positive`},
		{"negative", "time goes on", "-5s", simulate.Distribution{}, "", `durations must not be negative`},
		{"negative end", "time goes on", "-5s..-2s", simulate.Distribution{}, "", `durations must not be negative`},
		{"negative beginning", "time goes on", "-5s..2s", simulate.Distribution{}, "", `durations must not be negative`},
		{"too long", "sums of instants must not overflow", "87600h0m0.000000001s", simulate.Distribution{}, "", `must not be longer than ten years (87600h)`},
		{"too long an end", "sums of instants must not overflow", "1s..90000h", simulate.Distribution{}, "", `must not be longer than ten years (87600h)`},
	}
	rows := inputRows{}
	for _, tt := range tests {
		rows.check(t, tt.name, tt.why)
		t.Run(tt.name, func(t *testing.T) {
			got, err := simulate.ParseDistribution(tt.text)
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) || !strings.Contains(err.Error(), fmt.Sprintf("%q", tt.text)) {
					t.Errorf("error %v, want one with %s and the text: %s", err, tt.err, tt.why)
				}
				kept := simulate.Fixed(s)
				if kept.UnmarshalText([]byte(tt.text)) == nil || kept != simulate.Fixed(s) {
					t.Errorf("after an error the receiver is %v, want it as it was", kept)
				}
			} else if err != nil {
				t.Errorf("error %v: %s", err, tt.why)
			}
			if got != tt.want || got.String() != tt.canonical {
				t.Errorf("got %v, want %v: %s", got, tt.want, tt.why)
			}
		})
	}
}

// The text of a distribution is read as the same distribution.
func TestDistributionText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := inputDistribution().Draw(t, "distribution")
		text, err := d.MarshalText()
		if err != nil || string(text) != d.String() {
			t.Fatalf("text %q, error %v, but String is %q", text, err, d)
		}
		var back simulate.Distribution
		if err := back.UnmarshalText(text); err != nil || back != d {
			t.Fatalf("%q reads %v, error %v", text, back, err)
		}
		if d.IsZero() != (len(text) == 0) || d.IsSet() == d.IsZero() {
			t.Fatalf("%q: IsZero %v, isSet %v", text, d.IsZero(), d.IsSet())
		}
	})
}

func FuzzParseDistribution(f *testing.F) {
	for _, text := range []string{"5s", "2s..8s", "exp 5s", "lognormal 4s p95 20s", "lognormal 1ns p95 87600h", "-1s", ".."} {
		f.Add(text, 0.5)
	}
	f.Fuzz(func(t *testing.T, text string, u float64) {
		d, err := simulate.ParseDistribution(text)
		if err != nil {
			if d != (simulate.Distribution{}) {
				t.Fatalf("%v beside an error", d)
			}
			return
		}
		if again, err := simulate.ParseDistribution(d.String()); err != nil || again != d {
			t.Fatalf("%q reads %v, error %v", d, again, err)
		}
		inputInBounds(t, d, d.From(u))
		inputInBounds(t, d, d.Mean())
	})
}

func inputInBounds(t interface {
	Fatalf(string, ...any)
	Helper()
}, d simulate.Distribution, got time.Duration) {
	t.Helper()
	if got < 0 || got > simulate.Longest {
		t.Fatalf("%v gives %v", d, got)
	}
}

// inputDistribution draws a valid distribution.
func inputDistribution() *rapid.Generator[simulate.Distribution] {
	span := rapid.Map(rapid.Int64Range(1, int64(simulate.Longest)), func(n int64) time.Duration { return time.Duration(n) })
	small := rapid.Map(rapid.Int64Range(1, int64(time.Minute)), func(n int64) time.Duration { return time.Duration(n) })
	return rapid.Custom(func(t *rapid.T) simulate.Distribution {
		pick := rapid.OneOf(span, small)
		a, b := pick.Draw(t, "a"), pick.Draw(t, "b")
		switch rapid.IntRange(0, 4).Draw(t, "kind") {
		case 0:
			return simulate.Distribution{}
		case 1:
			return simulate.Fixed(a)
		case 2:
			return simulate.Uniform(min(a, b), max(a, b))
		case 3:
			return simulate.Exponential(a)
		default:
			return simulate.LogNormal(min(a, b), max(a, b))
		}
	})
}

// Draws stay within the bounds of the distribution, whatever its parameters, even if validation refuses those.
func TestDrawBounds(t *testing.T) {
	any64 := rapid.OneOf(rapid.Int64(), rapid.SampledFrom([]int64{math.MinInt64, -1, 0, 1, math.MaxInt64}))
	rapid.Check(t, func(t *rapid.T) {
		a, b := time.Duration(any64.Draw(t, "a")), time.Duration(any64.Draw(t, "b"))
		u := rapid.OneOf(rapid.Float64Range(0, math.Nextafter(1, 0)), rapid.SampledFrom([]float64{0, 0.5, math.Nextafter(1, 0), 1, math.NaN(), -1, 2})).Draw(t, "u")
		for _, d := range []simulate.Distribution{
			{}, simulate.Fixed(a), simulate.Uniform(a, b), simulate.Exponential(a), simulate.LogNormal(a, b),
		} {
			inputInBounds(t, d, d.From(u))
			inputInBounds(t, d, d.Mean())
			inputInBounds(t, d, d.Draw(rand.New(rand.NewPCG(uint64(a), uint64(b)))))
		}
	})
}

// The quantiles of draws are those that the names of the parameters promise.
func TestQuantiles(t *testing.T) {
	const s = time.Second
	last := math.Nextafter(1, 0)
	tests := []struct {
		name, why string
		d         simulate.Distribution
		at        float64
		want      time.Duration
	}{
		{"fixed", "always the same", simulate.Fixed(3 * s), 0.3, 3 * s},
		{"a nanosecond", "the shortest time there is", simulate.Fixed(1), 0.5, 1},
		{"least", "least is included", simulate.Uniform(2*s, 8*s), 0, 2 * s},
		{"most", "most is included", simulate.Uniform(2*s, 8*s), last, 8 * s},
		{"middle", "half of the way", simulate.Uniform(2*s, 8*s), 0.5, 5 * s},
		{"both ends of two values", "each is as likely", simulate.Uniform(1, 2), 0.49, 1},
		{"upper of two values", "each is as likely", simulate.Uniform(1, 2), 0.5, 2},
		{"exponential mean", "a share of 1-1/e is below the mean", simulate.Exponential(10 * s), 1 - 1/math.E, 10 * s},
		{"exponential least", "it may be at once", simulate.Exponential(10 * s), 0, 0},
		{"median", "half are below", simulate.LogNormal(4*s, 20*s), 0.5, 4 * s},
		{"p95", "one in twenty is above", simulate.LogNormal(4*s, 20*s), 0.95, 20 * s},
		{"p5", "the logarithm is symmetric", simulate.LogNormal(4*s, 20*s), 0.05, 800 * time.Millisecond},
		{"no spread", "p95 is the median", simulate.LogNormal(4*s, 4*s), 0.99, 4 * s},
		{"from a nanosecond", "one in five is more than 10.5 times the median, in whole nanoseconds", simulate.LogNormal(1, 100), 0.8, 10},
		{"cut off", "at 100 times p95", simulate.LogNormal(time.Millisecond, s), last, 100 * s},
		{"cut off at ten years", "sums of instants must not overflow", simulate.LogNormal(time.Hour, 80000*time.Hour), last, simulate.Longest},
		{"exponential near the end", "ten years again", simulate.Exponential(simulate.Longest), last, simulate.Longest},
		{"unset", "no time", simulate.Distribution{}, 0.5, 0},
	}
	rows := inputRows{}
	for _, tt := range tests {
		rows.check(t, tt.name, tt.why)
		t.Run(tt.name, func(t *testing.T) {
			got := tt.d.From(tt.at)
			if difference := (got - tt.want).Abs(); difference > time.Microsecond || tt.want < time.Microsecond && difference > 0 {
				t.Errorf("got %v, want %v: %s", got, tt.want, tt.why)
			}
		})
	}
}

// The means and medians of many draws are those of the parameters. The draws are the same in each run of the test.
func TestDrawsOnAverage(t *testing.T) {
	const n = 200_000
	for _, tt := range []struct {
		d      simulate.Distribution
		mean   time.Duration
		within float64
	}{
		{simulate.Fixed(5 * time.Second), 5 * time.Second, 0},
		{simulate.Uniform(2*time.Second, 8*time.Second), 5 * time.Second, 0.005},
		{simulate.Exponential(5 * time.Second), 5 * time.Second, 0.01},
		{simulate.LogNormal(4*time.Second, 20*time.Second), 6456 * time.Millisecond, 0.02},
		{simulate.LogNormal(5*time.Second, 5*time.Second), 5 * time.Second, 0},
		{simulate.LogNormal(time.Millisecond, time.Second), 0, 0.1}, // the tail is heavy enough for the cut-off to have an effect
	} {
		stream := simulate.Random(1).Stream("average", tt.d.String())
		sum, above := 0.0, 0
		for range n {
			drawn := tt.d.Draw(stream)
			sum += float64(drawn)
			if drawn > tt.d.From(0.9) {
				above++
			}
		}
		got, want := sum/n, float64(tt.d.Mean())
		if math.Abs(got/want-1) > tt.within {
			t.Errorf("%v: mean of draws %v, Mean %v", tt.d, time.Duration(got), tt.d.Mean())
		}
		if tt.mean > 0 && math.Abs(want/float64(tt.mean)-1) > 0.001 {
			t.Errorf("%v: Mean %v, computed by hand %v", tt.d, tt.d.Mean(), tt.mean)
		}
		if share := float64(above) / n; tt.within > 0 && math.Abs(share-0.1) > 0.005 {
			t.Errorf("%v: a share of %v is above the 90th percentile", tt.d, share)
		}
	}
	if got := (simulate.Distribution{}).Mean(); got != 0 {
		t.Errorf("the mean of nothing is %v", got)
	}
}

// Purpose, key and seed determine what is drawn. Each of them changes it, and nothing else does.
func TestRandomIsAFunction(t *testing.T) {
	const n = 20_000
	seen := map[uint64]string{}
	for seed := range uint64(4) {
		for _, purpose := range []string{"", "start", "starts", "stop"} {
			for i := range n / 16 {
				key := fmt.Sprintf("web-%05d", i)
				what := fmt.Sprint(seed, purpose, key)
				h := simulate.Random(seed).Hash(purpose, key)
				if other, taken := seen[h]; taken {
					t.Fatalf("%s and %s are one", what, other)
				}
				seen[h] = what
				if again := simulate.Random(seed).Hash(purpose, strings.Clone(key)); again != h {
					t.Fatalf("%s: %x, then %x", what, h, again)
				}
			}
		}
	}
	r := simulate.Random(1)
	for _, pair := range [][4]string{
		{"a", "bc", "ab", "c"}, {"", "x", "x", ""}, {"p", "12345678", "p", "12345678\x00"}, {"p", "\x00", "p", ""},
		{"p", "abcdefgh1", "p", "abcdefgh2"}, {"p", "1abcdefgh", "p", "2abcdefgh"},
	} {
		if r.Hash(pair[0], pair[1]) == r.Hash(pair[2], pair[3]) {
			t.Errorf("%q is drawn as %q", pair[:2], pair[2:])
		}
	}
	if a, b := r.Sub("event", "1").Hash("x", "y"), r.Sub("event", "2").Hash("x", "y"); a == b || a == r.Hash("x", "y") {
		t.Error("a source of its own draws what another one does")
	}
}

// Draws for keys that differ by little are independent.
func TestFractionsAreUniform(t *testing.T) {
	const n, cells = 100_000, 50
	for seed := range uint64(3) {
		var counts [cells]int
		hits, runs, previous := 0, 0, 0.0
		for i := range n {
			key := fmt.Sprintf("web-%05d", i)
			u := simulate.Random(seed).Fraction("start", key)
			if u < 0 || u >= 1 {
				t.Fatalf("%s: %v", key, u)
			}
			counts[int(u*cells)]++
			if simulate.Random(seed).Happens(0.03, "start", key) {
				hits++
			}
			if u > previous {
				runs++
			}
			previous = u
		}
		chi := 0.0
		for _, count := range counts {
			d := float64(count) - n/cells
			chi += d * d / (n / cells)
		}
		if chi > 95 { // with 49 degrees of freedom, one run in 10,000 exceeds 95
			t.Errorf("seed %d: chi square %v", seed, chi)
		}
		if hits < 2800 || hits > 3200 {
			t.Errorf("seed %d: %d of %d happened, want about 3000", seed, hits, n)
		}
		if runs < n/2-1000 || runs > n/2+1000 {
			t.Errorf("seed %d: %d of %d are above the one before", seed, runs, n)
		}
	}
}

func TestHappensAtTheEnds(t *testing.T) {
	for i := range 1000 {
		if key := fmt.Sprint(i); simulate.Random(7).Happens(0, "x", key) || !simulate.Random(7).Happens(1, "x", key) {
			t.Fatal("a share of 0 never happens, and one of 1 always")
		}
	}
}

// A draw without a generator is of the same quality as one with a generator, and allocates no memory.
func TestDurationOf(t *testing.T) {
	r := simulate.Random(3)
	for _, d := range []simulate.Distribution{
		{}, simulate.Fixed(time.Second), simulate.Uniform(1, time.Hour), simulate.Exponential(time.Hour),
		simulate.LogNormal(time.Minute, time.Hour),
	} {
		var all []time.Duration
		for i := range 2001 {
			key := fmt.Sprint(i)
			got := r.DurationOf(d, "p", key)
			if want := d.From(r.Fraction("p", key)); got != want {
				t.Fatalf("%v: %v, want %v", d, got, want)
			}
			all = append(all, got)
		}
		slices.Sort(all)
		if median := d.From(0.5); median > 0 && math.Abs(float64(all[1000])/float64(median)-1) > 0.2 {
			t.Errorf("%v: median of draws %v, want about %v", d, all[1000], median)
		}
		if n := testing.AllocsPerRun(100, func() { r.DurationOf(d, "p", "web-00017") }); n != 0 {
			t.Errorf("%v: %v allocations", d, n)
		}
	}
}

func TestStreams(t *testing.T) {
	draw := func(r *rand.Rand) [4]uint64 { return [4]uint64{r.Uint64(), r.Uint64(), r.Uint64(), r.Uint64()} }
	r := simulate.Random(1)
	if first, again := draw(r.Stream("a", "b")), draw(r.Stream("a", "b")); first != again {
		t.Error("equal streams differ")
	}
	for _, other := range []*rand.Rand{r.Stream("a", "c"), r.Stream("b", "b"), simulate.Random(2).Stream("a", "b")} {
		if draw(r.Stream("a", "b")) == draw(other) {
			t.Error("different streams are equal")
		}
	}
}

func BenchmarkRandom(b *testing.B) {
	r, d := simulate.Random(1), simulate.LogNormal(4*time.Second, 20*time.Second)
	b.Run("stream", func(b *testing.B) {
		for b.Loop() {
			r.Stream("start", "daemonset-web-00017").Uint64()
		}
	})
	b.Run("fraction", func(b *testing.B) {
		for b.Loop() {
			r.Fraction("start", "daemonset-web-00017")
		}
	})
	b.Run("durationOf", func(b *testing.B) {
		for b.Loop() {
			r.DurationOf(d, "start", "daemonset-web-00017")
		}
	})
}
