package simulate

import (
	"math"
	"testing"
	"time"
)

func TestRegistryArithmetic(t *testing.T) {
	const most = math.MaxUint64
	rows := []struct {
		name, why string
		got, want any
	}{
		{"during", "7/2 bytes per second for 3 ns are 10.5 billionths, rounded down", ratio{7, 2}.during(3), nanobytes{0, 10}},
		{
			"during, much", "2⁶³ − 1 bytes per second for 2⁶² ns need both words",
			ratio{math.MaxInt64, 1}.during(1 << 62), nanobytes{1<<61 - 1, 3 << 62},
		},
		{
			"during, much shared", "what is left of the high word goes on into the low one: 3·2⁶⁴ halved",
			ratio{3 << 62, 2}.during(4), nanobytes{1, 1 << 63},
		},
		{"time", "10 billionths at 7/2 per ns take 2.86 ns, rounded up", ratio{7, 2}.timeFor(nanobytes{0, 10}), time.Duration(3)},
		{"time, exact", "what comes out even is not rounded", ratio{5, 2}.timeFor(nanobytes{0, 10}), time.Duration(4)},
		{"time for nothing", "nothing takes no time", ratio{5, 2}.timeFor(nanobytes{}), time.Duration(0)},
		{"time, high word", "2⁶⁴ at 4 per ns", ratio{4, 1}.timeFor(nanobytes{1, 0}), time.Duration(1 << 62)},
		{"time, low word carried", "(2⁶⁴ − 1)·4 / 8", ratio{8, 4}.timeFor(nanobytes{0, most}), never},
		{"longest time", "one less than never", ratio{1, 1}.timeFor(nanobytes{0, math.MaxInt64 - 1}), never - 1},
		{"time, one more", "10 billionths at 3 per ns take 3.33 ns: a rest of one is rounded up, too", ratio{3, 1}.timeFor(nanobytes{0, 10}), time.Duration(4)},
		{"never, by one word", "the product has one digit beyond 128", ratio{most, 2}.timeFor(nanobytes{1 << 63, 0}), never},
		{
			"never, by both words", "both words of the product run over: (2⁶⁵ − 2)/3 and all of the low word, three times",
			ratio{most, 3}.timeFor(nanobytes{0xaaaaaaaaaaaaaaaa, most}), never,
		},
		{"never", "as long as a Duration has", ratio{1, 1}.timeFor(nanobytes{0, math.MaxInt64}), never},
		{"never, by the quotient", "the quotient has 65 digits", ratio{1, 1}.timeFor(nanobytes{1, 0}), never},
		{"never, by the product", "the product has more than 128 digits", ratio{most, most}.timeFor(nanobytes{most, 0}), never},
		{"times", "next to 5 × 7/2 = 17.5 is 18", ratio{7, 2}.times(5), uint64(18)},
		{"times, down", "next to 4 × 7/3 = 9.33 is 9", ratio{7, 3}.times(4), uint64(9)},
		{"times, up", "next to 5 × 7/3 = 11.67 is 12", ratio{7, 3}.times(5), uint64(12)},
		{"times, carried", "next to (2⁶⁴ − 1)/4 is 2⁶²", ratio{most, 4}.times(1), uint64(1 << 62)},
		{"times, much", "what does not fit is the most that does", ratio{most, 1}.times(2), uint64(most)},
		{"times, at most", "what just fits", ratio{most, 2}.times(2), uint64(most)},
		{"compare", "7/2 is more than 10/3", ratio{7, 2}.compare(ratio{10, 3}), 1},
		{"compare, equal", "7/2 is 14/4", ratio{7, 2}.compare(ratio{14, 4}), 0},
		{"compare, high", "differs in the high word only", ratio{1 << 63, 1}.compare(ratio{1 << 63, 3}), 1},
		{"plus", "carried", nanobytes{1, most}.plus(nanobytes{2, 1}), nanobytes{4, 0}},
		{"minus", "borrowed", nanobytes{4, 0}.minus(nanobytes{2, 1}), nanobytes{1, most}},
		{"minus more", "never less than nothing", nanobytes{4, 0}.minus(nanobytes{4, 1}), nanobytes{}},
		{"minus as much", "nothing is left", nanobytes{4, 1}.minus(nanobytes{4, 1}), nanobytes{}},
		{"less, equal", "nothing is less than itself", nanobytes{4, 1}.less(nanobytes{4, 1}), false},
		{"less, high", "the high word decides", nanobytes{3, 1}.less(nanobytes{4, 0}), true},
		{"whole bytes", "a billionth more is a byte more", nanobytes{0, 2_000_000_001}.bytesUp(), uint64(3)},
		{"whole bytes, exact", "what comes out even is not rounded", nanobytes{0, 2_000_000_000}.bytesUp(), uint64(2)},
		{"as billionths and back", "nothing is lost", nanobytesOf(math.MaxInt64).bytesUp(), uint64(math.MaxInt64)},
	}
	names := map[string]bool{}
	for _, row := range rows {
		if row.name == "" || row.why == "" || names[row.name] {
			t.Fatalf("row %q: name and why must be there, and the name unique", row.name)
		}
		names[row.name] = true
		if row.got != row.want {
			t.Errorf("%s: %v, want %v: %s", row.name, row.got, row.want, row.why)
		}
	}
}
