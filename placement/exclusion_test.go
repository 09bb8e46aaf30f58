package placement_test

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daemonplan/daemonplan/placement"
)

// daemon is a template with one container, changed.
func daemon(changes ...func(*corev1.PodTemplateSpec)) *corev1.PodTemplateSpec {
	p := &corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "agent"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "agent"}}},
	}
	for _, change := range changes {
		change(p)
	}
	return p
}

func port(p corev1.ContainerPort) func(*corev1.PodTemplateSpec) {
	return func(t *corev1.PodTemplateSpec) { t.Spec.Containers[0].Ports = append(t.Spec.Containers[0].Ports, p) }
}

func hostNetwork(t *corev1.PodTemplateSpec) { t.Spec.HostNetwork = true }

// onInit moves the ports to an init container, which is a sidecar or ends.
func onInit(sidecar bool) func(*corev1.PodTemplateSpec) {
	return func(t *corev1.PodTemplateSpec) {
		init := corev1.Container{Name: "side", Ports: t.Spec.Containers[0].Ports}
		if t.Spec.Containers[0].Ports = nil; sidecar {
			init.RestartPolicy = new(corev1.ContainerRestartPolicyAlways)
		}
		t.Spec.InitContainers = []corev1.Container{init}
	}
}

func labelled(key, value string) func(*corev1.PodTemplateSpec) {
	return func(t *corev1.PodTemplateSpec) { t.Labels[key] = value }
}

// apart gives the pod a required anti-affinity to app=agent by host, changed.
func apart(change func(*corev1.PodAffinityTerm)) func(*corev1.PodTemplateSpec) {
	return func(t *corev1.PodTemplateSpec) {
		term := corev1.PodAffinityTerm{
			TopologyKey: corev1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "agent"}},
		}
		change(&term)
		t.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{term},
		}}
	}
}

func claiming(claim string) func(*corev1.PodTemplateSpec) {
	return func(t *corev1.PodTemplateSpec) {
		t.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim},
		}}}
	}
}

func requesting(cpu string) func(*corev1.PodTemplateSpec) {
	return func(t *corev1.PodTemplateSpec) {
		t.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}
	}
}

func claim(namespace, name string, mode corev1.PersistentVolumeAccessMode) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       corev1.PersistentVolumeClaimSpec{AccessModes: []corev1.PersistentVolumeAccessMode{mode}},
	}
}

func TestExcludes(t *testing.T) {
	as := func(term *corev1.PodAffinityTerm) {}
	node := func(change func(*corev1.Node)) *corev1.Node {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{corev1.LabelHostname: "a"}}}
		n.Status.Allocatable = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}
		change(n)
		return n
	}
	plain := node(func(*corev1.Node) {})
	claims := []*corev1.PersistentVolumeClaim{
		nil, claim("other", "data", corev1.ReadWriteOncePod), claim("ns", "data", corev1.ReadWriteOncePod), claim("ns", "shared", corev1.ReadWriteMany),
	}
	tests := []struct {
		name, why     string
		first, second *corev1.PodTemplateSpec
		node          *corev1.Node
		want          []string
	}{
		{"nothing", "two containers do not mind", daemon(), daemon(), plain, nil},
		{"no template", "nobody is kept off", nil, daemon(), plain, nil},
		{"no second template", "nobody is kept off", daemon(), nil, plain, nil},
		{"a port", "one port, one listener", daemon(port(corev1.ContainerPort{HostPort: 9100})), daemon(port(corev1.ContainerPort{HostPort: 9100})), nil,
			[]string{"both listen on a port of the host: 9100/TCP at spec.containers[agent].ports"}},
		{"a port that changes", "the old one keeps its own", daemon(port(corev1.ContainerPort{HostPort: 9100})), daemon(port(corev1.ContainerPort{HostPort: 9101})), nil, nil},
		{"a port of a protocol", "UDP is another port", daemon(port(corev1.ContainerPort{HostPort: 53, Protocol: "UDP"})), daemon(port(corev1.ContainerPort{HostPort: 53})), nil, nil},
		{"two addresses", "each listens on its own", daemon(port(corev1.ContainerPort{HostPort: 1, HostIP: "10.0.0.1"})),
			daemon(port(corev1.ContainerPort{HostPort: 1, HostIP: "10.0.0.2"})), nil, nil},
		{"one address", "it is the same", daemon(port(corev1.ContainerPort{HostPort: 1, HostIP: "10.0.0.1"})),
			daemon(port(corev1.ContainerPort{HostPort: 1, HostIP: "10.0.0.1"})), nil, []string{"both listen on a port of the host: 1/TCP at spec.containers[agent].ports"}},
		{"an address that is all", "all have that one, too", daemon(port(corev1.ContainerPort{HostPort: 1})),
			daemon(port(corev1.ContainerPort{HostPort: 1, HostIP: "10.0.0.2"})), nil, []string{"both listen on a port of the host: 1/TCP at spec.containers[agent].ports"}},
		{"a second address that is all", "the same the other way round", daemon(port(corev1.ContainerPort{HostPort: 1, HostIP: "10.0.0.1"})),
			daemon(port(corev1.ContainerPort{HostPort: 1, HostIP: "0.0.0.0"})), nil, []string{"both listen on a port of the host: 1/TCP at spec.containers[agent].ports"}},
		{"a port of the pod", "each pod has an address of its own", daemon(port(corev1.ContainerPort{ContainerPort: 80})), daemon(port(corev1.ContainerPort{ContainerPort: 80})), nil, nil},
		{"the network of the host", "a port of the pod is one of the host", daemon(hostNetwork, port(corev1.ContainerPort{ContainerPort: 80})),
			daemon(hostNetwork, port(corev1.ContainerPort{ContainerPort: 80})), nil, []string{"both listen on a port of the host: 80/TCP at spec.containers[agent].ports"}},
		{"the network of the host and of the pod", "only one of them listens there", daemon(hostNetwork, port(corev1.ContainerPort{ContainerPort: 80})),
			daemon(port(corev1.ContainerPort{ContainerPort: 80})), nil, nil},
		{"a port of a sidecar", "it listens as long as the pod runs", daemon(port(corev1.ContainerPort{HostPort: 1}), onInit(true)),
			daemon(port(corev1.ContainerPort{HostPort: 1}), onInit(true)), nil, []string{"both listen on a port of the host: 1/TCP at spec.initContainers[side].ports"}},
		{"a port of an init container", "it has ended", daemon(port(corev1.ContainerPort{HostPort: 1}), onInit(false)), daemon(port(corev1.ContainerPort{HostPort: 1})), nil, nil},

		{"an anti-affinity", "it wants no other of its kind", daemon(), daemon(apart(as)), plain,
			[]string{"the anti-affinity keeps them apart: kubernetes.io/hostname at spec.affinity.podAntiAffinity"}},
		{"an anti-affinity of the first", "it counts for whoever comes", daemon(apart(as)), daemon(), plain,
			[]string{"the anti-affinity keeps them apart: kubernetes.io/hostname at spec.affinity.podAntiAffinity"}},
		{"an anti-affinity of both", "it is said once", daemon(apart(as)), daemon(apart(as)), nil,
			[]string{"the anti-affinity keeps them apart: kubernetes.io/hostname at spec.affinity.podAntiAffinity"}},
		{"an anti-affinity to others", "this pod is none of them", daemon(labelled("app", "other")), daemon(apart(as)), plain, nil},
		{"an anti-affinity by a label that the node lacks", "the node is in no such place", daemon(),
			daemon(apart(func(term *corev1.PodAffinityTerm) { term.TopologyKey = "rack" })), plain, nil},
		{"an anti-affinity by a label of some nodes", "a node that is not known may have it", daemon(),
			daemon(apart(func(term *corev1.PodAffinityTerm) { term.TopologyKey = "rack" })), nil, []string{"the anti-affinity keeps them apart: rack at spec.affinity.podAntiAffinity"}},
		{"an anti-affinity in another namespace", "the set is not there", daemon(),
			daemon(apart(func(term *corev1.PodAffinityTerm) { term.Namespaces = []string{"other"} })), plain, nil},
		{"an anti-affinity in this namespace", "it is named", daemon(),
			daemon(apart(func(term *corev1.PodAffinityTerm) { term.Namespaces = []string{"other", "ns"} })), plain,
			[]string{"the anti-affinity keeps them apart: kubernetes.io/hostname at spec.affinity.podAntiAffinity"}},
		{"an anti-affinity in all namespaces", "an empty selector selects all", daemon(), daemon(apart(func(term *corev1.PodAffinityTerm) {
			term.NamespaceSelector = &metav1.LabelSelector{}
		})), plain, []string{"the anti-affinity keeps them apart: kubernetes.io/hostname at spec.affinity.podAntiAffinity"}},
		{"an anti-affinity in selected namespaces", "their labels are not known", daemon(), daemon(apart(func(term *corev1.PodAffinityTerm) {
			term.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}
		})), plain, nil},
		{"an anti-affinity to nobody", "no selector selects nothing", daemon(), daemon(apart(func(term *corev1.PodAffinityTerm) { term.LabelSelector = nil })), plain, nil},
		{"an anti-affinity that cannot be read", "the API server lets none in", daemon(), daemon(apart(func(term *corev1.PodAffinityTerm) {
			term.LabelSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "?"}}}
		})), plain, nil},
		{"an anti-affinity within a revision", "the other is of another one", daemon(labelled("controller-revision-hash", "v1")),
			daemon(labelled("controller-revision-hash", "v2"), apart(func(term *corev1.PodAffinityTerm) { term.MatchLabelKeys = []string{"controller-revision-hash"} })), plain, nil},
		{"an anti-affinity within a tier", "both are of it", daemon(labelled("tier", "x")),
			daemon(labelled("tier", "x"), apart(func(term *corev1.PodAffinityTerm) { term.MatchLabelKeys = []string{"tier", "none"} })), plain,
			[]string{"the anti-affinity keeps them apart: kubernetes.io/hostname at spec.affinity.podAntiAffinity"}},
		{"an anti-affinity to other tiers", "both are of one", daemon(labelled("tier", "x")),
			daemon(labelled("tier", "x"), apart(func(term *corev1.PodAffinityTerm) { term.MismatchLabelKeys = []string{"none", "tier"} })), plain, nil},
		{"an anti-affinity to another tier", "it is another", daemon(labelled("tier", "y")),
			daemon(labelled("tier", "x"), apart(func(term *corev1.PodAffinityTerm) { term.MismatchLabelKeys = []string{"tier"} })), plain,
			[]string{"the anti-affinity keeps them apart: kubernetes.io/hostname at spec.affinity.podAntiAffinity"}},
		{"an affinity to others only", "it keeps nobody off", daemon(), daemon(func(t *corev1.PodTemplateSpec) { t.Spec.Affinity = &corev1.Affinity{} }), plain, nil},

		{"a claim of one pod", "ReadWriteOncePod", daemon(claiming("data")), daemon(claiming("data")), plain, []string{"only one pod may use the claim: data at spec.volumes[data]"}},
		{"a claim of many pods", "ReadWriteMany", daemon(claiming("shared")), daemon(claiming("shared")), plain, nil},
		{"a claim that is not known", "it may be of many", daemon(claiming("unknown")), daemon(claiming("unknown")), plain, nil},
		{"a claim that only the second uses", "it has it for itself", daemon(), daemon(claiming("data")), plain, nil},
		{"another claim", "each has its own", daemon(claiming("shared")), daemon(claiming("data")), plain, nil},
		{"a volume without a claim", "nobody shares it", daemon(claiming("data")), daemon(func(t *corev1.PodTemplateSpec) {
			t.Spec.Volumes = []corev1.Volume{{Name: "data"}}
		}), plain, nil},

		{"no room", "600m twice is more than 1", daemon(requesting("600m")), daemon(requesting("600m")), plain,
			[]string{"the node has no room for both: cpu, 600m and 600m of 1 at spec.containers"}},
		{"just enough room", "500m twice is 1", daemon(requesting("500m")), daemon(requesting("500m")), plain, nil},
		{"room that is not known", "any node may be large", daemon(requesting("600m")), daemon(requesting("600m")), nil, nil},
		{"a resource that the node does not report", "it is not known", daemon(requesting("600m")), daemon(requesting("600m")),
			node(func(n *corev1.Node) { n.Status.Allocatable = nil }), nil},
		{"a second one that asks for nothing", "there is room for that", daemon(requesting("2")), daemon(requesting("0")), plain, nil},
		{"all at once", "in the order of the codes", daemon(port(corev1.ContainerPort{HostPort: 1}), apart(as), claiming("data"), requesting("1")),
			daemon(port(corev1.ContainerPort{HostPort: 1}), apart(as), claiming("data"), requesting("1")), plain, []string{
				"both listen on a port of the host: 1/TCP at spec.containers[agent].ports",
				"the anti-affinity keeps them apart: kubernetes.io/hostname at spec.affinity.podAntiAffinity",
				"only one pod may use the claim: data at spec.volumes[data]",
				"the node has no room for both: cpu, 1 and 1 of 1 at spec.containers",
			}},
	}
	seen := map[string]bool{}
	for _, test := range tests {
		if test.why == "" || seen[test.name] {
			t.Fatalf("row %q needs a reason and a name of its own", test.name)
		}
		seen[test.name] = true
		t.Run(test.name, func(t *testing.T) {
			var got []string
			for _, e := range placement.Excludes(test.first, test.second, "ns", test.node, claims) {
				got = append(got, e.String()+" at "+e.Path)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q: %s", got, test.want, test.why)
			}
		})
	}
}

func TestExclusionCodes(t *testing.T) {
	for code, want := range map[placement.ExclusionCode]string{
		0: "ExclusionCode(0)", placement.HostPort: "both listen on a port of the host", placement.NodeRoom: "the node has no room for both", 200: "ExclusionCode(200)",
	} {
		if code.String() != want {
			t.Errorf("%d reads %q, want %q", uint8(code), code, want)
		}
	}
}

// Before its new pod can be bound, a set with maxSurge needs room for two pods on a node. A node exporter has a port of the host.
func ExampleExcludes() {
	template := &corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{
		Name: "exporter", Ports: []corev1.ContainerPort{{ContainerPort: 9100, HostPort: 9100}},
	}}}}
	for _, exclusion := range placement.Excludes(template, template, "monitoring", nil, nil) {
		fmt.Println(exclusion)
	}
	// Output: both listen on a port of the host: 9100/TCP
}
