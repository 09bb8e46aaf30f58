package placement

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/component-helpers/resource"
)

// Exclusion is a reason for which the scheduler does not bind a second pod of a set to a node while the first one is there. With
// maxSurge the second comes before the first has gone, so that with an exclusion no node is ever updated.
type Exclusion struct {
	// Code is the kind of the reason.
	Code ExclusionCode
	// Path is the field of the second pod's template, such as spec.containers[agent].ports; of an anti-affinity of the first pod,
	// that of the first.
	Path string
	// Detail says what both want: 9100/TCP, kubernetes.io/hostname, the name of a claim, or the resource with its amounts.
	Detail string
}

// ExclusionCode is the kind of an [Exclusion].
type ExclusionCode uint8

// The kinds of exclusions, by the scheduler's own filters. Zero is none of them.
const (
	// HostPort: both listen on one port of the host (NodePorts).
	HostPort ExclusionCode = iota + 1
	// AntiAffinity: one of them wants no pod like the other in its place (InterPodAffinity).
	AntiAffinity
	// PodClaim: both use a claim that only one pod may use at a time, one with the access mode ReadWriteOncePod
	// (VolumeRestrictions).
	PodClaim
	// NodeRoom: the node has no room for the requests of both (NodeResourcesFit).
	NodeRoom
)

// exclusionTexts are the texts of the codes, by number.
var exclusionTexts = [...]string{
	HostPort:     "both listen on a port of the host",
	AntiAffinity: "the anti-affinity keeps them apart",
	PodClaim:     "only one pod may use the claim",
	NodeRoom:     "the node has no room for both",
}

// String returns the reason in a few words. A value that is none of the codes gives "ExclusionCode(n)".
func (c ExclusionCode) String() string {
	if c == 0 || int(c) >= len(exclusionTexts) {
		return fmt.Sprintf("ExclusionCode(%d)", uint8(c))
	}
	return exclusionTexts[c]
}

// String returns the reason with what both want, such as "both listen on a port of the host: 9100/TCP".
func (e Exclusion) String() string { return e.Code.String() + ": " + e.Detail }

// Excludes returns what keeps the scheduler of Kubernetes from binding a pod of the template second to a node on which one of the
// template first stands, both in that namespace: host ports (by port, protocol and host IP; with hostNetwork every port of a
// container), a required anti-affinity of either by a label that the node has, claims among those given that only one pod may
// use, and requests that together are more than the node has to give. It returns them in that order; nil: two can stand there, as
// far as this shows.
//
// A nil node is any node, with all labels, and of a size that is not known. Claims that are not given keep nobody apart. What
// else is on the node is not looked at. A namespaceSelector counts only if it is empty, which selects all namespaces, because the
// labels of namespaces are not known here. A nil template gives nil.
func Excludes(
	first, second *corev1.PodTemplateSpec, namespace string, node *corev1.Node, claims []*corev1.PersistentVolumeClaim,
) []Exclusion {
	if first == nil || second == nil {
		return nil
	}
	exclusions := sharedPorts(&first.Spec, &second.Spec)
	for _, two := range [][2]*corev1.PodTemplateSpec{{second, first}, {first, second}} {
		for _, found := range repelled(two[0], two[1], namespace, node) {
			if !slices.Contains(exclusions, found) {
				exclusions = append(exclusions, found)
			}
		}
	}
	exclusions = append(exclusions, sharedClaims(&first.Spec, &second.Spec, namespace, claims)...)
	return append(exclusions, lackingRoom(first, second, node)...)
}

// hostPort is a port of the host that a container listens on.
type hostPort struct {
	ip, path string
	number   int32
	protocol corev1.Protocol
}

// anyIP is the address that stands for all addresses of a host.
const anyIP = "0.0.0.0"

// hostPorts returns the ports of the host that the containers and sidecars of a pod listen on. What the API server fills in is
// filled in here, too, because templates of custom resources lack it.
func hostPorts(spec *corev1.PodSpec) []hostPort {
	var ports []hostPort
	add := func(path string, c *corev1.Container) {
		for _, p := range c.Ports {
			if spec.HostNetwork && p.HostPort == 0 {
				p.HostPort = p.ContainerPort
			}
			if p.HostPort <= 0 {
				continue
			}
			if p.HostIP == "" {
				p.HostIP = anyIP
			}
			if p.Protocol == "" {
				p.Protocol = corev1.ProtocolTCP
			}
			ports = append(ports, hostPort{p.HostIP, path + "[" + c.Name + "].ports", p.HostPort, p.Protocol})
		}
	}
	for i := range spec.InitContainers {
		if c := &spec.InitContainers[i]; c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			add("spec.initContainers", c)
		}
	}
	for i := range spec.Containers {
		add("spec.containers", &spec.Containers[i])
	}
	return ports
}

func sharedPorts(first, second *corev1.PodSpec) []Exclusion {
	taken := hostPorts(first)
	if taken == nil {
		return nil
	}
	var exclusions []Exclusion
	for _, wanted := range hostPorts(second) {
		if slices.ContainsFunc(taken, func(has hostPort) bool {
			sameIP := has.ip == wanted.ip || has.ip == anyIP || wanted.ip == anyIP
			return sameIP && has.number == wanted.number && has.protocol == wanted.protocol
		}) {
			number := fmt.Sprintf("%d/%s", wanted.number, wanted.protocol)
			exclusions = append(exclusions, Exclusion{HostPort, wanted.path, number})
		}
	}
	return exclusions
}

// repelled returns the required anti-affinities of one pod that keep the other one out of its place.
func repelled(of, other *corev1.PodTemplateSpec, namespace string, node *corev1.Node) []Exclusion {
	if of.Spec.Affinity == nil || of.Spec.Affinity.PodAntiAffinity == nil {
		return nil
	}
	var exclusions []Exclusion
	for _, term := range of.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution {
		if node != nil {
			if _, has := node.Labels[term.TopologyKey]; !has {
				continue // nodes without the label are in no place together
			}
		}
		if selectsNamespace(&term, namespace) && selectsLike(&term, of.Labels, other.Labels) {
			exclusions = append(exclusions, Exclusion{AntiAffinity, "spec.affinity.podAntiAffinity", term.TopologyKey})
		}
	}
	return exclusions
}

func selectsNamespace(term *corev1.PodAffinityTerm, namespace string) bool {
	if selector := term.NamespaceSelector; selector != nil && len(selector.MatchLabels)+len(selector.MatchExpressions) == 0 {
		return true
	}
	if len(term.Namespaces) == 0 {
		return term.NamespaceSelector == nil
	}
	return slices.Contains(term.Namespaces, namespace)
}

// selectsLike reports whether a term of a pod with these labels selects pods with the others. The API server adds what the keys
// of matchLabelKeys and mismatchLabelKeys stand for to the selector when it makes the pod; a key that the pod lacks adds nothing.
func selectsLike(term *corev1.PodAffinityTerm, own, others map[string]string) bool {
	if term.LabelSelector == nil {
		return false // selects nothing
	}
	selector, err := metav1.LabelSelectorAsSelector(term.LabelSelector)
	if err != nil || !selector.Matches(labels.Set(others)) {
		return false
	}
	for _, key := range term.MatchLabelKeys {
		if value, has := own[key]; has && !hasLabel(others, key, value) {
			return false
		}
	}
	for _, key := range term.MismatchLabelKeys {
		if value, has := own[key]; has && hasLabel(others, key, value) {
			return false
		}
	}
	return true
}

func hasLabel(of map[string]string, key, value string) bool {
	has, ok := of[key]
	return ok && has == value
}

// sharedClaims returns the claims that both use and that only one pod may use at a time.
func sharedClaims(first, second *corev1.PodSpec, namespace string, claims []*corev1.PersistentVolumeClaim) []Exclusion {
	var exclusions []Exclusion
	for _, volume := range second.Volumes {
		source := volume.PersistentVolumeClaim
		if source == nil {
			continue
		}
		used := slices.ContainsFunc(first.Volumes, func(v corev1.Volume) bool {
			return v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ClaimName == source.ClaimName
		})
		alone := slices.ContainsFunc(claims, func(claim *corev1.PersistentVolumeClaim) bool {
			return claim != nil && claim.Name == source.ClaimName && claim.Namespace == namespace &&
				slices.Contains(claim.Spec.AccessModes, corev1.ReadWriteOncePod)
		})
		if used && alone {
			exclusions = append(exclusions, Exclusion{PodClaim, "spec.volumes[" + volume.Name + "]", source.ClaimName})
		}
	}
	return exclusions
}

// lackingRoom returns the resources of which both request more than the node has to give.
func lackingRoom(first, second *corev1.PodTemplateSpec, node *corev1.Node) []Exclusion {
	if node == nil {
		return nil
	}
	requests := func(template *corev1.PodTemplateSpec) corev1.ResourceList {
		return resource.PodRequests(&corev1.Pod{Spec: template.Spec}, resource.PodResourcesOptions{})
	}
	has, wanted := requests(first), requests(second)
	var names []corev1.ResourceName
	for name := range wanted {
		names = append(names, name)
	}
	slices.Sort(names)
	var exclusions []Exclusion
	for _, name := range names {
		amount, known := node.Status.Allocatable[name]
		if more := wanted[name]; !known || more.IsZero() {
			continue
		}
		was, more := has[name], wanted[name]
		both := was.DeepCopy()
		both.Add(more)
		if both.Cmp(amount) > 0 {
			exclusions = append(exclusions, Exclusion{NodeRoom, "spec.containers", fmt.Sprintf("%s, %s and %s of %s",
				name, was.String(), more.String(), amount.String())})
		}
	}
	return exclusions
}
