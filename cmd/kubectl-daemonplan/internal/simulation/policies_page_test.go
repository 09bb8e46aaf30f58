package simulation

import (
	"strings"
	"testing"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/objects"
)

// The events that the page of policies shows are those of a world.
func TestEventsOfPoliciesPage(t *testing.T) {
	found := 0
	for _, match := range block.FindAllStringSubmatch(read(t, "../../../../docs/policies-for-fleets.md"), -1) {
		if match[2] != "yaml" || !strings.HasPrefix(match[3], "events:") {
			continue
		}
		w, err := readWorld(&objects.Files{}, opened(t, write(t, "world.yaml", match[3])))
		if err != nil {
			t.Error(err)
			continue
		}
		found += len(w.Events)
	}
	if found != 3 {
		t.Errorf("the page has %d events, want those that approve, expedite and retry", found)
	}
}
