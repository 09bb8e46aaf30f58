package simulation

import (
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/manifest"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
	"github.com/daemonplan/daemonplan/rollout/simulate"
)

// TestRestartless: what changes annotations and restarts nothing is said first.
func TestRestartless(t *testing.T) {
	old := kit.Spec("agent", kit.InPlaceIfPossible(), kit.PodTemplateAnnotation("checksum/config", "1"))
	note := []string{
		"a: no container restarts: what reads its configuration when it starts goes on with the old one (checksum/config)",
	}
	tests := []struct {
		name, why string
		change    kit.SpecOption
		want      []string
	}{
		{"another checksum", "the pods take it in place, and go on", kit.PodTemplateAnnotation("checksum/config", "2"), note},
		{"recreated", "new pods read it", func(s *rollout.Spec) {
			s.Strategy.Method = ""
			kit.PodTemplateAnnotation("checksum/config", "2")(s)
		}, nil},
		{"a restart is asked for", "new pods read it", func(s *rollout.Spec) {
			kit.RestartKeys("checksum/")(s)
			kit.PodTemplateAnnotation("checksum/config", "2")(s)
		}, nil},
		{"another image, too", "the containers restart", func(s *rollout.Spec) {
			kit.Image("agent:v2")(s)
			kit.PodTemplateAnnotation("checksum/config", "2")(s)
		}, nil},
		{"a label", "nobody reads a configuration for it", kit.PodTemplateLabel("tier", "b"), nil},
	}
	for _, test := range tests {
		spec := kit.Changed(old, test.change)
		running := simulate.Fleet{Running: &old}
		dump := simulate.Fleet{Snapshot: &rollout.Snapshot{
			Pods:      []*corev1.Pod{kit.Pod("p", kit.Of(old))},
			Revisions: []*appsv1.ControllerRevision{kit.Revision(old, 1), kit.Revision(spec, 2)},
		}}
		for _, fleet := range []simulate.Fleet{running, dump} {
			set := &objects.Set{Set: manifest.Set{Spec: spec}}
			e := &experiment{Candidates: []*candidate{{Label: "a", Set: set, Fleet: fleet}}}
			if got := e.restartless(); !slices.Equal(got, test.want) {
				t.Errorf("%s (%s): %q, want %q", test.name, test.why, got, test.want)
			}
		}
	}
}

// TestExcluded: a maxSurge that cannot end is told before anything is simulated.
func TestExcluded(t *testing.T) {
	port := func(s *rollout.Spec) {
		s.Template.Spec.Containers = slices.Clone(s.Template.Spec.Containers)
		s.Template.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 80, HostPort: 9100}}
	}
	old := kit.Spec("agent", port)
	for _, test := range []struct {
		name, why string
		change    kit.SpecOption
		want      []string
	}{
		{"surge", "both pods listen on the port", kit.MaxSurge("1"), []string{
			"a: with maxSurge no new pod can be bound beside one that runs: both listen on a port of the host: 9100/TCP (spec.containers[main].ports)",
		}},
		{"in turn", "the old pod goes first", kit.MaxUnavailable("1"), nil},
	} {
		set := &objects.Set{Set: manifest.Set{Spec: kit.Changed(old, test.change)}}
		e := &experiment{Candidates: []*candidate{{Label: "a", Set: set, Fleet: simulate.Fleet{Running: &old}}}}
		if got := e.excluded(); !slices.Equal(got, test.want) {
			t.Errorf("%s (%s): %q, want %q", test.name, test.why, got, test.want)
		}
	}
}
