package placement

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/internal/quantities"
)

// canonicalResources are resources in the one spelling that digests are made from. Its fields, their order and their
// JSON names are part of every digest that a pod carries, so that they never change.
type canonicalResources struct {
	Limits   map[corev1.ResourceName]string `json:"limits,omitempty"`
	Requests map[corev1.ResourceName]string `json:"requests,omitempty"`
	Claims   []canonicalClaim               `json:"claims,omitempty"`
}

type canonicalClaim struct {
	Name    string `json:"name"`
	Request string `json:"request,omitempty"`
}

// canonicalContainer is one element of the list that a digest is made from.
type canonicalContainer struct {
	Name string `json:"name"`
	canonicalResources
}

// Digest returns the digest of resources; "" if there are none. Equal effects on a template have equal digests. The digest
// depends on the containers' names, in this order, and on the amounts, whatever their spelling ("1" is "1000m"). A limit
// stands for a request that is not there, as the API server fills it in. Source has no influence. The digest is the first
// 20 hexadecimal digits of the SHA-256 of a canonical JSON form. It stays the same in all versions of this library, because
// another form would restart every pod whose resources are overridden.
func Digest(resources []Resources) string {
	if len(resources) == 0 {
		return ""
	}
	containers := make([]canonicalContainer, len(resources))
	for i := range resources {
		containers[i] = canonicalContainer{resources[i].Container, canonicalOf(&resources[i].Resources)}
	}
	sum := sha256.Sum256([]byte(jsonOf(containers)))
	return hex.EncodeToString(sum[:10])
}

// Apply replaces the resources of the pod's containers and records the digest on the pod (P8): the Digest of o or, if that
// is empty, that of its Resources. Containers that the pod does not have are ignored. Without Resources, the pod's
// containers stay as they are, and a digest that it already has is removed: it can only come from the template by mistake,
// and no pod would ever be up to date with it. The pod shares no memory with o. A nil pod is ignored.
func (o Overridden) Apply(pod *corev1.Pod) {
	if pod == nil {
		return
	}
	if len(o.Resources) == 0 {
		delete(pod.Annotations, DigestAnnotation)
		return
	}
	for i := range o.Resources {
		for _, containers := range [...][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
			for j := range containers {
				if containers[j].Name == o.Resources[i].Container {
					containers[j].Resources = *o.Resources[i].Resources.DeepCopy()
				}
			}
		}
	}
	if pod.Annotations == nil {
		pod.Annotations = map[string]string{}
	}
	pod.Annotations[DigestAnnotation] = cmp.Or(o.Digest, Digest(o.Resources))
}

// canonical returns the same text for all resources that mean the same.
func canonical(resources *corev1.ResourceRequirements) string { return jsonOf(canonicalOf(resources)) }

func canonicalOf(resources *corev1.ResourceRequirements) canonicalResources {
	form := canonicalResources{
		Limits:   canonicalList(resources.Limits),
		Requests: canonicalList(resources.Requests),
	}
	for name, limit := range form.Limits {
		if _, ok := form.Requests[name]; !ok {
			form.Requests[name] = limit
		}
	}
	for _, claim := range resources.Claims {
		form.Claims = append(form.Claims, canonicalClaim{claim.Name, claim.Request})
	}
	slices.SortFunc(form.Claims, func(a, b canonicalClaim) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Request, b.Request))
	})
	return form
}

func canonicalList(list corev1.ResourceList) map[corev1.ResourceName]string {
	form := map[corev1.ResourceName]string{}
	for name, quantity := range list {
		form[name] = quantities.Canonical(quantity)
	}
	return form
}

// jsonOf encodes a form. It cannot fail, because forms hold only strings, and lists and maps of them.
func jsonOf(form any) string {
	text, err := json.Marshal(form)
	if err != nil {
		return ""
	}
	return string(text)
}
