package inplace_test

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/inplace"
)

func obstaclePaths(u *inplace.Update) (paths []string) {
	for _, obstacle := range u.Obstacles {
		paths = append(paths, obstacle.String())
	}
	return paths
}

// TestZeroIsNotNothing: a limit of 0 that is new, or goes, changes what a container has. Only one that goes is in the way.
func TestZeroIsNotNothing(t *testing.T) {
	without, with := agent("agent:1"), agent("agent:1")
	with.Spec.Containers[0].Resources.Limits = sized("cpu=0")
	for name, pair := range map[string][2]*corev1.PodTemplateSpec{"added": {without, with}, "removed": {with, without}} {
		u := inplace.Compare(pair[0], pair[1], inplace.Options{Resize: true})
		if u.InPlace() != (name == "added") || len(u.Obstacles)+len(u.Resources) != 1 {
			t.Errorf("%s: obstacles %q", name, obstaclePaths(u))
		}
	}
}

// TestEnvironmentReadsTheSecondResize: what is resized before it, in another container, does not hide it.
func TestEnvironmentReadsTheSecondResize(t *testing.T) {
	template := func(cpu string) *corev1.PodTemplateSpec {
		p := agent("agent:1")
		p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: "side", Image: "side:1"})
		for i := range p.Spec.Containers {
			p.Spec.Containers[i].Resources.Requests = sized("cpu=" + cpu)
		}
		p.Spec.Containers[1].Env = []corev1.EnvVar{{Name: "CPU", ValueFrom: &corev1.EnvVarSource{
			ResourceFieldRef: &corev1.ResourceFieldSelector{Resource: "requests.cpu"},
		}}}
		return p
	}
	u := inplace.Compare(template("1"), template("2"), inplace.Options{Resize: true})
	if !slices.ContainsFunc(u.Obstacles, func(o inplace.Obstacle) bool { return o.Code == inplace.ResourceInEnv }) {
		t.Errorf("obstacles %q", obstaclePaths(u))
	}
}

// TestListsWithTwins are compared by position, once.
func TestListsWithTwins(t *testing.T) {
	old, changed := agent("agent:1"), agent("agent:1")
	old.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "A", Value: "1"}, {Name: "A", Value: "2"}}
	changed.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "A", Value: "1"}, {Name: "B", Value: "2"}}
	for _, pair := range [][2]*corev1.PodTemplateSpec{{old, changed}, {changed, old}} {
		u := inplace.Compare(pair[0], pair[1], inplace.Options{})
		if len(u.Obstacles) != 1 || u.Obstacles[0].Path != "spec.containers[agent].env[1].name" {
			t.Errorf("obstacles %q, want the name of the second alone", obstaclePaths(u))
		}
	}
}
