package inplace_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// vary changes the annotations of a pod, and the statuses of its containers.
func (c *completedCase) vary(r *rand.Rand) {
	pod := &c.Input.Pod
	if r.IntN(4) == 0 {
		c.Input.FeatureGates.InPlaceWorkloadVerticalScaling = !c.Input.FeatureGates.InPlaceWorkloadVerticalScaling
	}
	value, key := annotationOf(pod, stateKeys)
	state := map[string]any{}
	if json.Unmarshal([]byte(value), &state) == nil && key != "" {
		for range r.IntN(3) {
			varyState(r, pod, state)
		}
		if _, ok := state["updateTimestamp"]; ok {
			pod.Annotations[key] = text(state)
		}
	}
	for range 1 + r.IntN(3) {
		if n := len(pod.Status.ContainerStatuses); n > 0 {
			varyStatus(r, &pod.Status.ContainerStatuses[r.IntN(n)])
		}
		if n := len(pod.Spec.Containers); n > 0 {
			c.varyContainer(r, &pod.Spec.Containers[r.IntN(n)])
		}
	}
	switch n := len(pod.Status.ContainerStatuses); r.IntN(12) {
	case 0:
		if n > 0 {
			pod.Status.ContainerStatuses = pod.Status.ContainerStatuses[:n-1]
		}
	case 1:
		if n > 0 {
			i := r.IntN(n)
			pod.Status.ContainerStatuses[0], pod.Status.ContainerStatuses[i] = pod.Status.ContainerStatuses[i], pod.Status.ContainerStatuses[0]
		}
	case 2:
		pod.Spec.Containers = pod.Spec.Containers[:len(pod.Spec.Containers)-1]
	case 3, 4, 5: // the daemon has seen the containers as they are, or all but one
		c.seen(r)
	case 6:
		delete(pod.Annotations, runtimeKeys[0])
	}
}

// seen writes the annotation of Kruise's daemon.
func (c *completedCase) seen(r *rand.Rand) {
	p := completing{Pod: &c.Input.Pod}
	all := []any{}
	for _, container := range p.Spec.Containers {
		status := p.status(container.Name)
		if status == nil {
			continue
		}
		plain, env := hashOf(map[string]string{"name": container.Name, "image": container.Image}), p.envHash(container)
		if r.IntN(8) == 0 {
			plain++
		}
		if r.IntN(8) == 0 {
			env++
		}
		all = append(all, map[string]any{
			"name": container.Name, "containerID": status.ContainerID,
			"hashes": map[string]any{"plainHash": plain, "extractedEnvFromMetadataHash": env},
		})
	}
	if p.Annotations == nil {
		p.Annotations = map[string]string{}
	}
	p.Annotations[runtimeKeys[0]] = text(map[string]any{"containers": all})
}

func varyState(r *rand.Rand, pod *corev1.Pod, state map[string]any) {
	name := "gone"
	if n := len(pod.Spec.Containers); n > 0 && r.IntN(6) > 0 {
		name = pod.Spec.Containers[r.IntN(n)].Name
	}
	switch r.IntN(8) {
	case 0:
		state["updateEnvFromMetadata"] = r.IntN(2) == 0
	case 1:
		state["updateResources"] = r.IntN(2) == 0
	case 2, 3:
		last, ok := state["lastContainerStatuses"].(map[string]any)
		if !ok {
			last = map[string]any{}
			state["lastContainerStatuses"] = last
		}
		last[name] = map[string]any{"imageID": []string{"", "docker.io/repo/app@sha256:old", "docker.io/repo/app@sha256:1111"}[r.IntN(3)]}
	case 4:
		state["nextContainerImages"] = map[string]any{name: "repo/app:v3"}
	case 5:
		delete(state, "nextContainerImages")
		delete(state, "nextContainerRefMetadata")
		delete(state, "nextContainerResources")
	case 6:
		state["nextContainerResources"] = map[string]any{name: map[string]any{"limits": map[string]any{"cpu": "1"}}}
	case 7:
		state["containerBatchesRecord"] = []any{map[string]any{
			"timestamp": "2026-01-15T12:00:30Z", "containers": []any{name},
		}}
	}
}

var variedImages = []string{
	"app", "app:latest", "app:latest:latest", "library/app:latest", "docker.io/app:latest", "docker.io/app", "index.docker.io/library/app",
	"repo/app", "repo/app:v2", "docker.io/repo/app:v2", "repo/app@sha256:1111", "repo/app:v2@sha256:1111", "localhost/app",
	"reg.example.com:5000/app", "reg.example.com:5000/app:latest", "reg.example.com:5000/app:v2", "",
}

func varyStatus(r *rand.Rand, status *corev1.ContainerStatus) {
	switch r.IntN(7) {
	case 0, 1:
		status.Image = variedImages[r.IntN(len(variedImages))]
	case 2:
		status.ImageID = []string{"", "docker.io/repo/app@sha256:old", "docker.io/repo/app@sha256:new", "docker.io/repo/app@sha256:1111"}[r.IntN(4)]
	case 3:
		at := time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC).Add(time.Duration(r.IntN(5)-2) * 20 * time.Second)
		status.State.Running = &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(at)}
	case 4:
		status.ContainerID = fmt.Sprintf("containerd://%d", r.IntN(3))
	case 5:
		status.Resources = nil
	case 6:
		status.Resources = &corev1.ResourceRequirements{}
		if r.IntN(2) == 0 {
			status.Resources.Limits = corev1.ResourceList{"cpu": resource.MustParse([]string{"1", "500m"}[r.IntN(2)])}
		}
	}
}

func (c *completedCase) varyContainer(r *rand.Rand, container *corev1.Container) {
	switch r.IntN(6) {
	case 0, 1:
		container.Image = variedImages[r.IntN(len(variedImages))]
	case 2:
		container.Env = []corev1.EnvVar{fieldRef([]string{"metadata.labels['tier']", "metadata.annotations['cfg']", "metadata.name"}[r.IntN(3)])}
		container.Env[0].Name = []string{"T", "SIDECARSET_VERSION"}[r.IntN(2)]
	case 3:
		container.Env = nil
	case 4:
		container.Resources = corev1.ResourceRequirements{}
		if r.IntN(2) == 0 {
			container.Resources.Limits = corev1.ResourceList{"cpu": resource.MustParse([]string{"1", "500m"}[r.IntN(2)])}
		}
		if r.IntN(2) == 0 {
			container.Resources.Requests = corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("1")}
		}
	}
}
