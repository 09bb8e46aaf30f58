package inplace

import (
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/lifecycle"
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

// env looks for environment variables that read what changes. Those of both templates are the same, or there is an
// obstacle already.
func (d *differ) env() {
	for i := range d.new.Spec.InitContainers {
		container := &d.new.Spec.InitContainers[i]
		d.envOf(elementPath("spec.initContainers", container.Name), container, true)
	}
	for i := range d.new.Spec.Containers {
		container := &d.new.Spec.Containers[i]
		d.envOf(elementPath("spec.containers", container.Name), container, false)
	}
}

func (d *differ) envOf(path string, container *corev1.Container, init bool) {
	for i := range container.Env {
		variable := &container.Env[i]
		at := elementPath(path+".env", variable.Name)
		if key, annotation, ok := metadataRead(variable); ok {
			if isWrittenByUpdates(key) {
				d.obstacle(UpdateInEnv, at, key)
				continue
			}
			ref := EnvReference{Container: container.Name, Variable: variable.Name, Annotation: annotation, Key: key}
			d.envFromMetadata(at, ref, init)
		}
		if variable.ValueFrom != nil && variable.ValueFrom.ResourceFieldRef != nil {
			d.envFromResource(at, container, variable.ValueFrom.ResourceFieldRef)
		}
	}
}

func (d *differ) envFromMetadata(at string, ref EnvReference, init bool) {
	changes, what := d.update.Labels, "label "+ref.Key
	if ref.Annotation {
		changes, what = d.update.Annotations, "annotation "+ref.Key
	}
	i := slices.IndexFunc(changes, func(change MetadataChange) bool { return change.Key == ref.Key })
	if i < 0 {
		return
	}
	switch {
	case init:
		d.obstacle(MetadataInInitEnv, at, what)
	case changes[i].Dropped:
		d.obstacle(MetadataInEnvRemoved, at, what)
	default:
		if !d.update.options.EnvFromMetadata {
			d.obstacle(MetadataInEnv, at, what)
		}
		d.update.Env = append(d.update.Env, ref)
	}
}

// envFromResource finds a change of the resource that a variable reads. A request that is not given follows its limit.
func (d *differ) envFromResource(at string, container *corev1.Container, ref *corev1.ResourceFieldSelector) {
	read := ref.ContainerName
	if read == "" {
		read = container.Name
	}
	for _, change := range d.update.Resources {
		if change.Container != read {
			continue
		}
		direct := "requests." + string(change.Resource)
		if change.Limit {
			direct = "limits." + string(change.Resource)
		}
		follows := change.Limit && ref.Resource == "requests."+string(change.Resource) && d.requestFollows(change)
		if ref.Resource == direct || follows {
			d.obstacle(ResourceInEnv, at, ref.Resource+" of "+read)
		}
	}
}

func (d *differ) requestFollows(change ResourceChange) bool {
	container := containerIn(&d.new.Spec, change.Container)
	if container == nil {
		return false
	}
	_, given := container.Resources.Requests[change.Resource]
	return !given
}

// isWrittenByUpdates reports whether the label or annotation is one that every update in place writes, whatever the templates
// say. A container that reads it keeps what it was when it started.
func isWrittenByUpdates(key string) bool {
	switch key {
	case appsv1.DefaultDaemonSetUniqueLabelKey, lifecycle.StateLabel, lifecycle.TimestampAnnotation, StateKey, GraceKey:
		return true
	}
	return false
}
