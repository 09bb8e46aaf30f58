//go:build teeth

package history_test

import (
	"bytes"
	"testing"

	apiequality "k8s.io/apimachinery/pkg/api/equality"

	"github.com/daemonplan/daemonplan/rollout/history"
)

func TestSameDataPropertySeesBugs(t *testing.T) {
	for name, mutant := range map[string]comparison{
		"bytes only":   bytes.Equal,
		"always":       func(a, b []byte) bool { return true },
		"scan only":    func(a, b []byte) bool { return history.ScanSays(a, b, false) != "different" },
		"unsure is no": func(a, b []byte) bool { return bytes.Equal(a, b) || history.ScanSays(a, b, true) == "same" },
		"unknown fields ignored": func(a, b []byte) bool {
			first, errA := understand(a)
			second, errB := understand(b)
			return errA == nil && errB == nil && apiequality.Semantic.DeepEqual(first.template, second.template)
		},
	} {
		t.Run(name, func(t *testing.T) { refutes(t, pairs(), agrees(mutant)) })
	}
}

func TestScanPropertySeesBugs(t *testing.T) {
	for name, mutant := range map[string]scanning{
		"unsure is different": func(a, b []byte, marked bool) string {
			if said := history.ScanSays(a, b, marked); said != "unsure" {
				return said
			}
			return "different"
		},
		"unsure is same": func(a, b []byte, marked bool) string {
			if said := history.ScanSays(a, b, marked); said != "unsure" {
				return said
			}
			return "same"
		},
	} {
		t.Run(name, func(t *testing.T) { refutes(t, pairs(), scanIsRight(mutant)) })
	}
}
