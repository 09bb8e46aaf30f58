package placement_test

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/placement"
)

func ExampleFeatures() {
	spec := &corev1.PodSpec{HostNetwork: true, HostUsers: new(false)}
	fmt.Println(placement.Features(spec))
	// Output: [UserNamespacesHostNetworkSupport]
}

func ExampleUndeclared() {
	features := placement.Features(&corev1.PodSpec{HostNetwork: true, HostUsers: new(false)})
	old := &corev1.Node{}
	fmt.Println(placement.Undeclared(features, old))
	// Output: UserNamespacesHostNetworkSupport
}

func TestFeatures(t *testing.T) {
	tests := []struct {
		name, why string
		spec      *corev1.PodSpec
		want      []string
	}{
		{"nil", "nothing is asked for", nil, nil},
		{"empty", "most pods need nothing", &corev1.PodSpec{}, nil},
		{"host network", "every kubelet can", &corev1.PodSpec{HostNetwork: true}, nil},
		{"users of the host", "the default, said out loud", &corev1.PodSpec{HostNetwork: true, HostUsers: new(true)}, nil},
		{"users of its own", "beside the network of the host", &corev1.PodSpec{HostNetwork: true, HostUsers: new(false)},
			[]string{"UserNamespacesHostNetworkSupport"}},
		{"restarts all", "a rule of an init container", &corev1.PodSpec{InitContainers: []corev1.Container{{
			RestartPolicyRules: []corev1.ContainerRestartRule{{Action: corev1.ContainerRestartRuleActionRestartAllContainers}},
		}}}, []string{"RestartAllContainersOnContainerExits"}},
	}
	for _, test := range tests {
		if test.name == "" || test.why == "" {
			t.Fatal("a row without name or reason")
		}
		if got := placement.Features(test.spec); !slices.Equal(got, test.want) {
			t.Errorf("%s (%s): %v, want %v", test.name, test.why, got, test.want)
		}
	}
}

func TestUndeclared(t *testing.T) {
	node := &corev1.Node{Status: corev1.NodeStatus{DeclaredFeatures: []string{"A", "C"}}}
	for _, test := range []struct {
		name, why string
		features  []string
		node      *corev1.Node
		want      string
	}{
		{"all", "it declares them", []string{"A", "C"}, node, ""},
		{"the second", "one is enough", []string{"A", "B"}, node, "B"},
		{"none needed", "nothing can be missing", nil, nil, ""},
		{"no node", "nobody declares anything", []string{"A"}, nil, "A"},
	} {
		if got := placement.Undeclared(test.features, test.node); got != test.want {
			t.Errorf("%s (%s): %q, want %q", test.name, test.why, got, test.want)
		}
	}
}
