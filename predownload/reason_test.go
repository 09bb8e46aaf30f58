package predownload_test

import (
	"strings"
	"testing"

	"github.com/daemonplan/daemonplan/predownload"
)

// TestCodesHaveTexts walks all values: they end where the text becomes a number.
func TestCodesHaveTexts(t *testing.T) {
	tests := []struct {
		name, why, number string
		count             int
		text              func(uint8) string
	}{
		{
			name: "Reason", why: "each wait must be explained", number: "reason ", count: int(predownload.ReasonGivenUp) + 1,
			text: func(n uint8) string { return predownload.WaitReason(n).String() },
		},
		{
			name: "Decision", why: "each decision must be explained", number: "decision ", count: int(predownload.DecisionMinUpdatedReadyPods) + 1,
			text: func(n uint8) string { return predownload.JobDecision(n).String() },
		},
	}
	rows := make(rowNames)
	for _, test := range tests {
		rows.check(t, test.name, test.why)
		t.Run(test.name, func(t *testing.T) {
			seen := make(map[string]bool)
			for n := range 256 {
				text := test.text(uint8(n))
				if numbered := strings.HasPrefix(text, test.number); text == "" || seen[text] || numbered != (n >= test.count) {
					t.Errorf("%d has the text %q", n, text)
				}
				seen[text] = true
			}
		})
	}
	if got := predownload.WaitReason(200).String() + predownload.JobDecision(200).String(); got != "reason 200decision 200" {
		t.Errorf("unknown values are %q", got)
	}
}
