package history_test

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/daemonplan/daemonplan/rollout/history"
)

// TestListWithTwins: of equal elements that follow each other one that comes or goes is a change, at the last place.
func TestListWithTwins(t *testing.T) {
	shorter, longer := markTemplate("a"), markTemplate("a")
	shorter.Spec.Containers[0].Args = []string{"-v"}
	longer.Spec.Containers[0].Args = []string{"-v", "-v"}
	for name, changes := range map[string][]history.Change{
		"removed": history.Changes(longer, shorter), "added": history.Changes(shorter, longer),
	} {
		if len(changes) != 1 || !strings.HasSuffix(changes[0].Path, ".args[1]") || changes[0].Op.String() != name {
			t.Errorf("%s: %+v", name, changes)
		}
	}
}

// TestUnknownFieldsAreNamed by their places, whatever stands before them.
func TestUnknownFieldsAreNamed(t *testing.T) {
	revision := &appsv1.ControllerRevision{}
	revision.Data.Raw = []byte(`{"spec":{"template":{"$patch":"replace","spec":{"containers":[` +
		`{"name":"a","image":"a:1"},{"name":"b","new":1},{"name":"c","newer":2}]}}}}`)
	_, err := history.Template(revision)
	if err == nil || !strings.HasSuffix(err.Error(), ": spec.template.spec.containers[1].new, spec.template.spec.containers[2].newer") {
		t.Errorf("%v", err)
	}
}
