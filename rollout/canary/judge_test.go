package canary_test

import (
	"testing"
	"time"
)

// judgeRow is a change to a canary that is observed, and what is judged then.
type judgeRow struct {
	name, why string
	change    func(*situation)
	want      string
}

func runJudge(t *testing.T, rows []judgeRow) {
	t.Helper()
	unique := make(uniqueRows)
	for _, row := range rows {
		unique.check(t, row.name, row.why)
		t.Run(row.name, func(t *testing.T) {
			s := observing()
			row.change(&s)
			if got := say(s.judge()); got != row.want {
				t.Errorf("%s\n got %s\nwant %s", row.why, got, row.want)
			}
		})
	}
}

// minutes is a pointer to so many minutes.
func minutes(n int) *time.Duration { return new(time.Duration(n) * time.Minute) }
