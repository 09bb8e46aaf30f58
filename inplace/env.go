package inplace

import (
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// barrierVariable is the environment variable through which Kruise gives a container its launch priority.
const barrierVariable = "KRUISE_CONTAINER_BARRIER"

// priority returns the launch priority of a container: the n of a key p_<n> of the barrier's config map. ok is false for a
// container that has none. A barrier that is no such reference, which makes Kruise panic, gives none either.
func priority(container *corev1.Container) (n int, ok bool) {
	for i := range container.Env {
		variable := &container.Env[i]
		if variable.Name != barrierVariable || variable.ValueFrom == nil || variable.ValueFrom.ConfigMapKeyRef == nil {
			continue
		}
		digits, found := strings.CutPrefix(variable.ValueFrom.ConfigMapKeyRef.Key, "p_")
		if !found {
			return 0, false
		}
		n, err := strconv.Atoi(digits)
		return n, err == nil
	}
	return 0, false
}

// metadataRead returns the label or annotation that an environment variable reads; ok is false if it reads none. It reads none
// if it also has a value, because kubelets take the value; the API server admits no such variable.
func metadataRead(variable *corev1.EnvVar) (key string, annotation, ok bool) {
	if variable.Value != "" || variable.ValueFrom == nil || variable.ValueFrom.FieldRef == nil {
		return "", false, false
	}
	path := variable.ValueFrom.FieldRef.FieldPath
	inner, found := strings.CutSuffix(path, "']")
	if !found {
		return "", false, false
	}
	if key, ok = strings.CutPrefix(inner, "metadata.labels['"); ok {
		return key, false, true
	}
	key, ok = strings.CutPrefix(inner, "metadata.annotations['")
	return key, true, ok
}

// readsMetadata reports whether any environment variable of the container reads a label or annotation.
func readsMetadata(container *corev1.Container) bool {
	for i := range container.Env {
		if _, _, ok := metadataRead(&container.Env[i]); ok {
			return true
		}
	}
	return false
}
