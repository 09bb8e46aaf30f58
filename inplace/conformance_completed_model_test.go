package inplace_test

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/inplace"
)

// completedState is the state that Kruise keeps on a pod.
type completedState struct {
	Revision                               string
	UpdateTimestamp                        time.Time
	LastContainerStatuses                  map[string]struct{ ImageID string }
	UpdateEnvFromMetadata, UpdateResources bool
	NextContainerImages                    map[string]string
	NextContainerRefMetadata               map[string]inplace.RefMetadata
	NextContainerResources                 map[string]corev1.ResourceRequirements
	ContainerBatchesRecord                 []struct {
		Timestamp  time.Time
		Containers []string
	}
}

// completing is a pod with the decoded annotations.
type completing struct {
	*corev1.Pod
	state  completedState
	hashes map[string]runtimeHashes
}

type runtimeHashes struct {
	ContainerID string
	Hashes      struct{ PlainHash, ExtractedEnvFromMetadataHash uint64 }
}

// model is what Kruise returns. It checks in the order of Kruise.
func (c *completedCase) model(on rules) bool {
	p := completing{Pod: &c.Input.Pod}
	if _, key := annotationOf(p.Pod, graceKeys); key != "" {
		return false
	}
	value, key := annotationOf(p.Pod, stateKeys)
	if key == "" {
		return true
	}
	if json.Unmarshal([]byte(value), &p.state) != nil || p.hasNext(on) {
		return false
	}
	readable, known := p.readHashes()
	if !readable && !on.has(hashesUnreadable) {
		return false
	}
	if p.state.UpdateEnvFromMetadata {
		done := known && p.consistent(true)
		if on.has(envRestarted) {
			done = p.envRestarted()
		}
		if !done {
			return false
		}
	}
	if c.Input.FeatureGates.InPlaceWorkloadVerticalScaling && p.state.UpdateResources {
		done := p.resourcesEqual
		if on.has(resourcesUnreported) {
			done = p.resourcesThere
		}
		if !done() {
			return false
		}
	}
	return known && p.consistent(false) && !on.has(hashesAgree) || p.imagesChanged(on)
}

func (p *completing) hasNext(on rules) bool {
	names := involved(p.state.NextContainerImages, p.state.NextContainerRefMetadata, p.state.NextContainerResources)
	return slices.ContainsFunc(names, func(name string) bool { return !on.has(nextOfNobody) || p.container(name) != nil })
}

func (p *completing) container(name string) *corev1.Container {
	for i := range p.Spec.Containers {
		if p.Spec.Containers[i].Name == name {
			return &p.Spec.Containers[i]
		}
	}
	return nil
}

func (p *completing) status(name string) *corev1.ContainerStatus {
	for i := range p.Status.ContainerStatuses {
		if p.Status.ContainerStatuses[i].Name == name {
			return &p.Status.ContainerStatuses[i]
		}
	}
	return nil
}

// readHashes reads what Kruise's daemon has found. If there are several entries for a container, the last one counts.
func (p *completing) readHashes() (readable, known bool) {
	value, key := annotationOf(p.Pod, runtimeKeys)
	if key == "" {
		return true, false
	}
	var set struct {
		Containers []struct {
			Name string
			runtimeHashes
		}
	}
	if json.Unmarshal([]byte(value), &set) != nil {
		return false, false
	}
	p.hashes = map[string]runtimeHashes{}
	for _, container := range set.Containers {
		p.hashes[container.Name] = container.runtimeHashes
	}
	return true, true
}

// consistent reports whether the daemon has seen each container as it is now: with the environment that it reads from metadata if
// env is true, else with the name and image of its spec. Kubelets before 1.31 make the hash from the whole container.
func (p *completing) consistent(env bool) bool {
	for _, container := range p.Spec.Containers {
		status := p.status(container.Name)
		seen, ok := p.hashes[container.Name]
		if status == nil || !ok || seen.ContainerID != status.ContainerID {
			return false
		}
		plain := []uint64{hashOf(map[string]string{"name": container.Name, "image": container.Image}), hashOf(container)}
		if env && seen.Hashes.ExtractedEnvFromMetadataHash != p.envHash(container) || !env && !slices.Contains(plain, seen.Hashes.PlainHash) {
			return false
		}
	}
	return true
}

// hashOf returns the hash that Kubernetes makes of the JSON of a value: the hash of its bytes, printed as Go prints a slice.
func hashOf(value any) uint64 {
	hash := fnv.New32a()
	fmt.Fprintf(hash, "([]uint8)%d", []byte(text(value)))
	return uint64(hash.Sum32())
}

func (p *completing) envHash(container corev1.Container) uint64 {
	var read []corev1.EnvVar
	for _, variable := range container.Env {
		annotation, key, ok := readBy(variable)
		if !ok || !readsKey(corev1.Container{Env: []corev1.EnvVar{variable}}, annotation, key, 0) {
			continue
		}
		value := p.Labels[key]
		if annotation {
			value = p.Annotations[key]
		}
		read = append(read, corev1.EnvVar{Name: variable.Name, Value: value})
	}
	slices.SortStableFunc(read, func(a, b corev1.EnvVar) int { return strings.Compare(a.Name, b.Name) })
	return hashOf(read)
}

// resourcesEqual reports whether each container has a status with exactly the resources of its spec.
func (p *completing) resourcesEqual() bool {
	if len(p.Status.ContainerStatuses) != len(p.Spec.Containers) {
		return false
	}
	for _, status := range p.Status.ContainerStatuses {
		container := p.container(status.Name)
		if container == nil || status.Resources == nil || !cmp.Equal(container.Resources.Limits, status.Resources.Limits) ||
			!cmp.Equal(container.Resources.Requests, status.Resources.Requests) {
			return false
		}
	}
	return true
}

// resourcesThere is what I5 requires of resources: the containers of the batches report the cpu and memory of their spec. If a
// container reports none, it must have been replaced since.
func (p *completing) resourcesThere() bool {
	for name := range p.involved() {
		container, status := p.container(name), p.status(name)
		if container == nil || status == nil {
			return false
		}
		for _, what := range []corev1.ResourceName{"cpu", "memory"} {
			for _, limit := range []bool{false, true} {
				list := func(r *corev1.ResourceRequirements) corev1.ResourceList {
					if limit {
						return r.Limits
					}
					return r.Requests
				}
				wanted, ok := list(&container.Resources)[what]
				if !ok {
					continue
				}
				if status.Resources == nil {
					if !p.replaced(name, ^rules(0)) {
						return false
					}
				} else if has, ok := list(status.Resources)[what]; !ok || has.Cmp(wanted) != 0 {
					return false
				}
			}
		}
	}
	return true
}

// batched are the containers of the batches so far, or all containers if Kruise lists none.
func (p *completing) batched() map[string]bool {
	names := map[string]bool{}
	for _, batch := range p.state.ContainerBatchesRecord {
		for _, name := range batch.Containers {
			names[name] = true
		}
	}
	if len(names) == 0 {
		for _, container := range p.Spec.Containers {
			names[container.Name] = true
		}
	}
	return names
}

func (p *completing) involved() map[string]bool {
	names := p.batched()
	for name := range p.state.LastContainerStatuses {
		names[name] = true
	}
	return names
}

// envRestarted is what I5 requires of environments: the containers of the batches that read metadata have been replaced. If none
// of them reads any, all of them have.
func (p *completing) envRestarted() bool {
	var all, readers []string
	for name := range p.batched() {
		all = append(all, name)
		container := p.container(name)
		if container != nil && slices.ContainsFunc(container.Env, func(v corev1.EnvVar) bool { _, _, ok := readBy(v); return ok }) {
			readers = append(readers, name)
		}
	}
	if len(readers) == 0 {
		readers = all
	}
	return !slices.ContainsFunc(readers, func(name string) bool {
		return p.container(name) == nil || p.status(name) == nil || !p.replaced(name, ^rules(0))
	})
}

// replaced reports whether the container has been replaced since its last update.
func (p *completing) replaced(name string, on rules) bool {
	status, last := p.status(name), p.state.LastContainerStatuses[name].ImageID
	if status == nil {
		return false
	}
	if status.ImageID != last && (!on.has(emptyID) || last != "" && status.ImageID != "") {
		return true
	}
	updated := p.state.UpdateTimestamp
	for _, batch := range p.state.ContainerBatchesRecord {
		if slices.Contains(batch.Containers, name) && batch.Timestamp.After(updated) {
			updated = batch.Timestamp
		}
	}
	return on.has(startedSince) && status.State.Running != nil && status.State.Running.StartedAt.After(updated)
}

// imagesChanged reports whether each container whose image was changed runs another image than before, or the wanted one.
func (p *completing) imagesChanged(on rules) bool {
	for name := range p.state.LastContainerStatuses {
		status, container := p.status(name), p.container(name)
		if status == nil || container == nil && on.has(containerGone) {
			return false
		}
		if p.replaced(name, on) {
			continue
		}
		wanted := ""
		if container != nil {
			wanted = container.Image
		}
		same := status.Image == wanted
		if !strings.Contains(wanted, ":") {
			same = status.Image == wanted+":latest"
		}
		if on.has(imageSpelling) {
			_, digest, pinned := strings.Cut(wanted, "@")
			same = status.Image != "" && spellOut(status.Image) == spellOut(wanted) || pinned && strings.HasSuffix(status.ImageID, "@"+digest)
		}
		if !same || on.has(emptyID) && status.ImageID == "" {
			return false
		}
	}
	return true
}

// spellOut writes an image name in full: with the registry docker.io and its folder library, and with the tag latest. A tag
// beside a digest has no meaning, and is dropped.
func spellOut(image string) string {
	name, digest, pinned := strings.Cut(image, "@")
	parts := strings.Split(name, "/")
	if first := parts[0]; len(parts) == 1 || !strings.ContainsAny(first, ".:") && first != "localhost" {
		parts = append([]string{"docker.io"}, parts...)
	}
	if parts[0] == "index.docker.io" {
		parts[0] = "docker.io"
	}
	if parts[0] == "docker.io" && len(parts) == 2 {
		parts = []string{"docker.io", "library", parts[1]}
	}
	last := &parts[len(parts)-1]
	if i := strings.LastIndex(*last, ":"); i < 0 && !pinned {
		*last += ":latest"
	} else if i >= 0 && pinned {
		*last = (*last)[:i]
	}
	return strings.Join(append(parts, digest), "/")
}
