package predownload

import (
	"fmt"
	"hash/fnv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/daemonplan/daemonplan/placement"
)

// The label and annotations of the objects that pull.
const (
	// SetLabel is the label with the UID of the set.
	SetLabel = "daemonplan.io/pulls-for"
	// NodeAnnotation has the name of the node, ImageAnnotation the image that is pulled there.
	NodeAnnotation  = "daemonplan.io/node"
	ImageAnnotation = "daemonplan.io/image"
)

// PullJobKind returns the group, version and kind of the object of [PullJob], for watches.
func PullJobKind() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "apps.kruise.io", Version: "v1alpha1", Kind: "ImagePullJob"}
}

// nobody is the user that no file belongs to.
const nobody = 65534

// nothing is a command that exists in no image, because /dev/null is no folder: the kubelet pulls the image, and then fails to
// start the container.
const nothing = "/dev/null/nothing"

// PullPod returns a short-lived pod that pulls the image on the node and runs nothing of it. It ends as Failed, soon after the
// image was pulled or at the time-out, which counts from when a kubelet has taken the pod. [AttemptOf] returns which of the two
// it was, and by when the pod should have ended. The pod is pinned like a daemon pod and has the tolerations of daemon pods and
// the given ones. It requests no resources, and meets the Pod Security Standard "restricted".
//
// Its name follows from set, node and image, so that a pod that is there already is not made twice. The owner, whose UID is
// the set's, is there for the garbage collector only. It is not the controller, because the pod would then count among those
// of the set. Leave pods with [SetLabel] out of rollout.Claim all the same, because a selector may match them.
func PullPod(pull Pull, namespace string, owner metav1.OwnerReference, tolerations []corev1.Toleration) *corev1.Pod {
	template := &corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		Containers: []corev1.Container{{
			Name: "pull", Image: pull.Image, ImagePullPolicy: corev1.PullIfNotPresent, Command: []string{nothing},
			SecurityContext: &corev1.SecurityContext{
				AllowPrivilegeEscalation: new(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
			},
		}},
		RestartPolicy:         corev1.RestartPolicyNever,
		ActiveDeadlineSeconds: new(seconds(pull.Timeout)), TerminationGracePeriodSeconds: new(int64(0)),
		AutomountServiceAccountToken: new(false), EnableServiceLinks: new(false),
		Tolerations: tolerations,
		SecurityContext: &corev1.PodSecurityContext{
			RunAsNonRoot: new(true), RunAsUser: new(int64(nobody)),
			SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		},
	}}
	for _, secret := range pull.Secrets {
		template.Spec.ImagePullSecrets = append(template.Spec.ImagePullSecrets, corev1.LocalObjectReference{Name: secret})
	}
	pod := placement.Pod(template, pull.Node)
	mark(pod, pull, namespace, owner)
	return pod
}

// PullJob returns an ImagePullJob of OpenKruise (apps.kruise.io/v1alpha1) that pulls the image on the node, once, because the
// planner spaces attempts. Name, owner and label are those of [PullPod].
func PullJob(pull Pull, namespace string, owner metav1.OwnerReference) *unstructured.Unstructured {
	timeout := seconds(pull.Timeout)
	spec := map[string]any{
		"image": pull.Image, "parallelism": int64(1),
		"selector":         map[string]any{"names": []any{pull.Node}},
		"pullPolicy":       map[string]any{"timeoutSeconds": timeout, "backoffLimit": int64(0)},
		"completionPolicy": map[string]any{"type": "Always", "activeDeadlineSeconds": 2 * timeout},
	}
	if len(pull.Secrets) > 0 {
		var secrets []any
		for _, secret := range pull.Secrets {
			secrets = append(secrets, secret)
		}
		spec["pullSecrets"] = secrets
	}
	job := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	job.SetGroupVersionKind(PullJobKind())
	mark(job, pull, namespace, owner)
	return job
}

func mark(object metav1.Object, pull Pull, namespace string, owner metav1.OwnerReference) {
	owner.Controller, owner.BlockOwnerDeletion = nil, nil
	hash := fnv.New64a()
	fmt.Fprintf(hash, "%q %q %q", owner.UID, pull.Node, pull.Image)
	object.SetNamespace(namespace)
	object.SetName(fmt.Sprintf("pull-%016x", hash.Sum64()))
	object.SetLabels(map[string]string{SetLabel: string(owner.UID)})
	object.SetAnnotations(map[string]string{NodeAnnotation: pull.Node, ImageAnnotation: pull.Image})
	object.SetOwnerReferences([]metav1.OwnerReference{owner})
}

// seconds returns a time-out in seconds, at least one. A pull without a time-out gets the default.
func seconds(timeout time.Duration) int64 {
	if timeout <= 0 {
		return defaultTimeoutSeconds
	}
	return max(int64(timeout/time.Second), 1)
}
