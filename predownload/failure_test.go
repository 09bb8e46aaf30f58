package predownload_test

import (
	"math"
	"testing"
	"time"

	"github.com/daemonplan/daemonplan/predownload"
)

func TestFailureUntil(t *testing.T) {
	tests := []struct {
		name, why string
		count     int32
		at        time.Duration
		want      time.Duration
	}{
		{name: "first", why: "the back-off begins with 10 s", count: 1, want: 10 * time.Second},
		{name: "second", why: "and doubles", count: 2, want: 20 * time.Second},
		{name: "fifth", why: "four doublings", count: 5, want: 160 * time.Second},
		{name: "sixth", why: "320 s would be longer than the longest", count: 6, want: 5 * time.Minute},
		{name: "seventh", why: "it stays there", count: 7, want: 5 * time.Minute},
		{name: "countless", why: "no overflow", count: math.MaxInt32, want: 5 * time.Minute},
		{name: "no count", why: "a failure failed at least once", count: 0, want: 10 * time.Second},
		{name: "negative count", why: "nor less often", count: math.MinInt32, want: 10 * time.Second},
		{name: "in the past", why: "it counts from the failure", count: 1, at: -time.Minute, want: -50 * time.Second},
		{name: "in the future", why: "a clock was set back: it begins now", count: 1, at: time.Hour, want: 10 * time.Second},
	}
	rows := make(rowNames)
	for _, test := range tests {
		rows.check(t, test.name, test.why)
		t.Run(test.name, func(t *testing.T) {
			f := predownload.Failure{Node: "n", Image: "a", Count: test.count, At: noon.Add(test.at)}
			if got := f.Until(noon).Sub(noon); got != test.want {
				t.Errorf("%s from now, want %s: %s", got, test.want, test.why)
			}
		})
	}
}
