package count_test

import (
	"errors"
	"math"
	"testing"

	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"

	"github.com/daemonplan/daemonplan/internal/count"
	_ "github.com/daemonplan/daemonplan/internal/fixedseed"
)

func TestParse(t *testing.T) {
	tests := []struct {
		name, why string
		in        intstr.IntOrString
		want      count.Quantity
		err       string
	}{
		{"integer", "it is what it is", intstr.FromInt32(7), count.Quantity{Value: 7}, ""},
		{"negative", "whether it may be is the caller's to say", intstr.FromInt32(-7), count.Quantity{Value: -7}, ""},
		{"percentage", "", intstr.FromString("10%"), count.Quantity{Value: 10, Percent: true}, ""},
		{"leading zero", "the API server takes it", intstr.FromString("010%"), count.Quantity{Value: 10, Percent: true}, ""},
		{"beyond all", "more than everything is allowed here", intstr.FromString("1000%"), count.Quantity{Value: 1000, Percent: true}, ""},
		{"largest", "", intstr.FromString("2147483647%"), count.Quantity{Value: math.MaxInt32, Percent: true}, ""},
		{"too large", "it would overflow", intstr.FromString("2147483648%"), count.Quantity{}, "percentage is too large"},
		{"a number in a string", "the API server refuses it", intstr.FromString("10"), count.Quantity{}, `must be an integer or a percentage such as "10%"`},
		{"only a sign", "", intstr.FromString("%"), count.Quantity{}, `must be an integer or a percentage such as "10%"`},
		{"signed", "", intstr.FromString("-1%"), count.Quantity{}, `must be an integer or a percentage such as "10%"`},
		{"fraction", "", intstr.FromString("1.5%"), count.Quantity{}, `must be an integer or a percentage such as "10%"`},
		{"space", "", intstr.FromString("1 %"), count.Quantity{}, `must be an integer or a percentage such as "10%"`},
		{"unknown type", "", intstr.IntOrString{Type: 7}, count.Quantity{}, "must be an integer or a percentage, not a value of type 7"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := count.Parse(tt.in)
			if got != tt.want || (err == nil) != (tt.err == "") || err != nil && err.Error() != tt.err {
				t.Errorf("got %+v and %v, want %+v and %q: %s", got, err, tt.want, tt.err, tt.why)
			}
			if tt.name == "too large" && !errors.Is(err, count.ErrTooLarge) {
				t.Errorf("%v is not ErrTooLarge", err)
			}
		})
	}
}

// TestScale states both roundings by their definition: the least count that is no less than the share, and the greatest that is no
// more.
func TestScale(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := count.Quantity{Value: rapid.Int32Range(0, 1000).Draw(t, "value"), Percent: true}
		total := rapid.Int32Range(-2, 1_000_000).Draw(t, "total")
		share := int64(q.Value) * int64(max(total, 0)) // in hundredths
		up, down := int64(q.RoundUp(total)), int64(q.RoundDown(total))
		if up*100 < share || (up-1)*100 >= share {
			t.Fatalf("%d%% of %d is rounded up to %d", q.Value, total, up)
		}
		if down*100 > share || (down+1)*100 <= share {
			t.Fatalf("%d%% of %d is rounded down to %d", q.Value, total, down)
		}
	})
	huge := count.Quantity{Value: math.MaxInt32, Percent: true}
	if up := huge.RoundUp(math.MaxInt32); up != math.MaxInt32 {
		t.Errorf("the greatest share is %d", up)
	}
	if n := (count.Quantity{Value: 7}); n.RoundUp(3) != 7 || n.RoundDown(3) != 7 {
		t.Errorf("a count is scaled to %d and %d", n.RoundUp(3), n.RoundDown(3))
	}
}
