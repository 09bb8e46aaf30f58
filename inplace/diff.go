package inplace

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
)

// Compare compares two templates. The result has what changes, and the obstacles that keep a running pod of the old template from
// taking the change in place (I2). Templates that are semantically equal give an update without changes, which is in place. A
// nil template is an obstacle. The result is never nil.
//
// It is meant to be called once per pair of revisions, not once per pod.
func Compare(old, new *corev1.PodTemplateSpec, options Options) *Update {
	u := &Update{options: options.DeepCopy(), compiled: true}
	if old == nil || new == nil {
		u.Obstacles = []Obstacle{{Code: NoTemplate}}
		return u
	}
	d := differ{update: u, old: old, new: new}
	d.metadata()
	d.spec()
	d.containers()
	d.env()
	d.resourcesAsAWhole()
	u.Obstacles = sortObstacles(d.obstacles)
	d.compile()
	return u
}

// differ computes one Update. Containers are matched by name.
type differ struct {
	update    *Update
	old, new  *corev1.PodTemplateSpec
	obstacles []Obstacle
}

func (d *differ) obstacle(code Code, path, detail string) {
	d.obstacles = append(d.obstacles, Obstacle{Path: path, Code: code, Detail: detail})
}

// compare records an obstacle for each path at which two values differ.
func (d *differ) compare(code Code, path string, old, new any) {
	c := comparison{code: code}
	c.values(path, reflect.ValueOf(old), reflect.ValueOf(new))
	d.obstacles = append(d.obstacles, c.obstacles...)
}

func (d *differ) metadata() {
	d.update.Labels = metadataChanges(d.old.Labels, d.new.Labels)
	d.update.Annotations = metadataChanges(d.old.Annotations, d.new.Annotations)
	d.restarts("metadata.labels", d.update.Labels)
	d.restarts("metadata.annotations", d.update.Annotations)
	old, new := d.old.ObjectMeta, d.new.ObjectMeta
	old.Labels, old.Annotations, new.Labels, new.Annotations = nil, nil, nil, nil
	d.compare(Immutable, "metadata", old, new)
}

// restarts records an obstacle for each change that asks for a restart.
func (d *differ) restarts(path string, changes []MetadataChange) {
	for _, change := range changes {
		if d.update.options.asksForRestart(change.Key) {
			d.obstacle(RestartAsked, elementPath(path, change.Key), "")
		}
	}
}

func metadataChanges(old, new map[string]string) []MetadataChange {
	keys := map[string]bool{}
	for key := range old {
		keys[key] = true
	}
	for key := range new {
		keys[key] = true
	}
	var changes []MetadataChange
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		before, had := old[key]
		after, has := new[key]
		if had != has || before != after {
			changes = append(changes, MetadataChange{Key: key, Old: before, New: after, Added: !had, Dropped: !has})
		}
	}
	return changes
}

// spec compares what is not in the containers.
func (d *differ) spec() {
	old, new := d.old.Spec, d.new.Spec
	d.compare(InitContainer, "spec.initContainers", old.InitContainers, new.InitContainers)
	old.Containers, old.InitContainers, new.Containers, new.InitContainers = nil, nil, nil, nil
	d.compare(Immutable, "spec", old, new)
}

func (d *differ) containers() {
	const path = "spec.containers"
	before, after := namesOf(reflect.ValueOf(d.old.Spec.Containers)), namesOf(reflect.ValueOf(d.new.Spec.Containers))
	if before == nil || after == nil {
		// Containers without names of their own can be compared only all together. The API server admits no such template.
		if !apiequality.Semantic.DeepEqual(d.old.Spec.Containers, d.new.Spec.Containers) {
			d.obstacle(Immutable, path, "a container without a name of its own")
		}
		return
	}
	if reordered(before, after) {
		d.obstacle(ContainersReordered, path, "")
	}
	for i, name := range before {
		if j := slices.Index(after, name); j < 0 {
			d.obstacle(ContainerRemoved, elementPath(path, name), "")
		} else {
			d.container(elementPath(path, name), d.old.Spec.Containers[i], d.new.Spec.Containers[j])
		}
	}
	for _, name := range after {
		if !slices.Contains(before, name) {
			d.obstacle(ContainerAdded, elementPath(path, name), "")
		}
	}
}

// container compares two containers of one name.
func (d *differ) container(path string, old, new corev1.Container) {
	if old.Image != new.Image {
		d.update.Images = append(d.update.Images, ImageChange{Container: old.Name, Old: old.Image, New: new.Image})
		if old.Image == "" || new.Image == "" {
			d.obstacle(ImageMissing, path+".image", "")
		}
	}
	d.resources(path+".resources.limits", true, old.Name, old.Resources.Limits, new.Resources.Limits)
	d.resources(path+".resources.requests", false, old.Name, old.Resources.Requests, new.Resources.Requests)
	old.Image, new.Image = "", ""
	old.Resources.Limits, old.Resources.Requests, new.Resources.Limits, new.Resources.Requests = nil, nil, nil, nil
	d.compare(Immutable, path, old, new)
}

func (d *differ) resources(path string, limit bool, container string, old, new corev1.ResourceList) {
	for _, name := range resourceNames(old, new) {
		before, had := old[name]
		after, has := new[name]
		at := elementPath(path, string(name))
		switch {
		case had && has && before.Cmp(after) == 0:
			continue
		case !isResizable(name):
			d.obstacle(ResourceFixed, at, "")
		case !had:
			d.obstacle(ResourceAdded, at, "")
		case !has:
			d.obstacle(ResourceRemoved, at, "")
		default:
			if !d.update.options.Resize {
				d.obstacle(ResizeDisabled, at, "")
			}
			d.update.Resources = append(d.update.Resources, ResourceChange{
				Container: container, Limit: limit, Resource: name, Old: before.DeepCopy(), New: after.DeepCopy(),
			})
		}
	}
}

// resourceNames returns the names in either list, sorted; cpu comes before memory.
func resourceNames(lists ...corev1.ResourceList) []corev1.ResourceName {
	names := map[corev1.ResourceName]bool{}
	for _, list := range lists {
		for name := range list {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
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
	for i := range d.new.Spec.Containers {
		if container := &d.new.Spec.Containers[i]; container.Name == change.Container {
			_, given := container.Resources.Requests[change.Resource]
			return !given
		}
	}
	return false
}

// resourcesAsAWhole checks what a resize means for the pod.
func (d *differ) resourcesAsAWhole() {
	if before, after := qosClass(&d.old.Spec), qosClass(&d.new.Spec); before != after {
		d.obstacle(QOSClass, "spec", fmt.Sprintf("%s becomes %s", before, after))
	}
	if d.update.options.CgroupV1 && len(d.update.Images) > 0 {
		for _, change := range d.update.Resources {
			d.obstacle(ResizeWithImage, elementPath("spec.containers", change.Container)+".resources", "")
		}
	}
}

// compile prepares what all pods have in common.
func (d *differ) compile() {
	u := d.update
	u.work = work{}
	for _, change := range u.Images {
		u.work.setImage(change.Container, change.New)
	}
	for _, change := range u.Resources {
		c := u.work.of(change.Container)
		c.resized = true
		if !change.Limit {
			c.requests[change.Resource] = change.New
			continue
		}
		c.limits[change.Resource] = change.New
		// The API server has set requests that the template does not give to the limits: they move together.
		if d.requestFollows(change) {
			c.implied[change.Resource] = change.New
		}
	}
	u.metadata = changedMetadata{labels: newValues(u.Labels), annotations: newValues(u.Annotations)}
	for _, ref := range u.Env {
		c := u.work.of(ref.Container)
		if ref.Annotation {
			c.annotations[ref.Key] = d.new.Annotations[ref.Key]
			delete(u.metadata.annotations, ref.Key)
		} else {
			c.labels[ref.Key] = d.new.Labels[ref.Key]
			delete(u.metadata.labels, ref.Key)
		}
	}
	for i := range d.new.Spec.Containers {
		container := &d.new.Spec.Containers[i]
		if c := u.work[container.Name]; c != nil && c.resizeRestarts(container) {
			u.resizeRestarts = true
		}
	}
}

// newValues returns what to write under each changed key; nil: the key is dropped.
func newValues(changes []MetadataChange) map[string]*string {
	values := map[string]*string{}
	for _, change := range changes {
		values[change.Key] = nil
		if !change.Dropped {
			values[change.Key] = &change.New
		}
	}
	return values
}
