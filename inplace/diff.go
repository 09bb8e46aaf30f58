package inplace

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"

	"github.com/daemonplan/daemonplan/lifecycle"
)

// Compare compares two templates. The result has what changes, and the obstacles that keep a running pod of the old template from
// taking the change in place (I2). Templates that are semantically equal give an update without changes, which is in place, if no
// environment variable reads the label of the revision. A nil template is an obstacle. The result is never nil.
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
	d.initContainers()
	d.containers()
	d.resources("spec.resources", "", resourcesOf(old), resourcesOf(new))
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
	d.fixedAnnotations()
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

// fixedAnnotations records an obstacle for each annotation that the API server does not let change in a running pod.
func (d *differ) fixedAnnotations() {
	for _, change := range d.update.Annotations {
		appArmor := strings.HasPrefix(change.Key, corev1.DeprecatedAppArmorBetaContainerAnnotationKeyPrefix)
		if appArmor || change.Key == corev1.MirrorPodAnnotationKey {
			d.obstacle(Immutable, elementPath("metadata.annotations", change.Key), "")
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

// spec compares what is not in the containers, and no resource.
func (d *differ) spec() {
	old, new := d.old.Spec, d.new.Spec
	if d.tolerations() {
		old.Tolerations, new.Tolerations = nil, nil
	}
	old.Resources, new.Resources = withoutSizes(old.Resources), withoutSizes(new.Resources)
	old.Volumes, new.Volumes = d.imageVolumes(old.Volumes, new.Volumes)
	old.Containers, old.InitContainers, new.Containers, new.InitContainers = nil, nil, nil, nil
	d.compare(Immutable, "spec", old, new)
}

// imageVolumes records an obstacle for each volume that becomes another image, and returns the volumes without what it has
// recorded.
func (d *differ) imageVolumes(old, new []corev1.Volume) (before, after []corev1.Volume) {
	before, after = slices.Clone(old), slices.Clone(new)
	for i := range before {
		j := slices.IndexFunc(after, func(v corev1.Volume) bool { return v.Name == before[i].Name })
		if j < 0 || before[i].Image == nil || after[j].Image == nil || before[i].Image.Reference == after[j].Image.Reference {
			continue
		}
		d.obstacle(VolumeImage, elementPath("spec.volumes", before[i].Name)+".image.reference", "")
		was, is := *before[i].Image, *after[j].Image
		was.Reference, is.Reference = "", ""
		before[i].Image, after[j].Image = &was, &is
	}
	return before, after
}

// resourcesOf returns the resources of the pod as a whole.
func resourcesOf(template *corev1.PodTemplateSpec) corev1.ResourceRequirements {
	if template.Spec.Resources == nil {
		return corev1.ResourceRequirements{}
	}
	return *template.Spec.Resources
}

// withoutSizes returns what is left of resources without requests and limits; nil if there is nothing.
func withoutSizes(resources *corev1.ResourceRequirements) *corev1.ResourceRequirements {
	if resources == nil || len(resources.Claims) == 0 {
		return nil
	}
	return &corev1.ResourceRequirements{Claims: resources.Claims}
}

// tolerations finds those that are added. It reports whether that is all that becomes of the tolerations: the API server allows
// nothing else in a running pod but other seconds.
func (d *differ) tolerations() bool {
	if !tolerateAll(d.new.Spec.Tolerations, d.old.Spec.Tolerations) {
		return false
	}
	d.update.Tolerations = missing(d.new.Spec.Tolerations, d.old.Spec.Tolerations)
	if len(d.update.Tolerations) > 0 && !allowed(d.update.options.Tolerations) {
		d.obstacle(TolerationsDisabled, "spec.tolerations", "")
	}
	return true
}

// tolerateAll reports whether a list has each of the tolerations.
func tolerateAll(list, tolerations []corev1.Toleration) bool {
	return len(missing(tolerations, list)) == 0
}

// missing returns the tolerations that a list lacks, each once.
func missing(tolerations, list []corev1.Toleration) []corev1.Toleration {
	var lacking []corev1.Toleration
	for i := range tolerations {
		same := func(other corev1.Toleration) bool {
			return apiequality.Semantic.DeepEqual(plain(tolerations[i]), plain(other))
		}
		if !slices.ContainsFunc(list, same) && !slices.ContainsFunc(lacking, same) {
			lacking = append(lacking, *tolerations[i].DeepCopy())
		}
	}
	return lacking
}

// plain returns a toleration with the operator written out that is meant by none.
func plain(toleration corev1.Toleration) corev1.Toleration {
	if toleration.Operator == "" {
		toleration.Operator = corev1.TolerationOpEqual
	}
	return toleration
}

// initContainers compares those that run before the others: native sidecars, which go on beside them, and those that have ended.
func (d *differ) initContainers() {
	const path = "spec.initContainers"
	old, new := d.old.Spec.InitContainers, d.new.Spec.InitContainers
	before, after := namesOf(reflect.ValueOf(old)), namesOf(reflect.ValueOf(new))
	if before == nil || !slices.Equal(before, after) {
		d.compare(InitContainer, path, old, new)
		return
	}
	for i, name := range before {
		d.initContainer(elementPath(path, name), old[i], new[i])
	}
}

// initContainer compares two init containers of one name. A sidecar can change its image. The resources of one that has ended are
// only counted, and the API server takes no change of them if their resize policy says that it restarts the container.
func (d *differ) initContainer(path string, old, new corev1.Container) {
	if isSidecar(&old) && isSidecar(&new) {
		d.image(path, &old, &new)
		d.pullPolicy(path, &old, &new)
		if old.Image != new.Image && !allowed(d.update.options.Sidecars) {
			d.obstacle(SidecarDisabled, path+".image", "")
		}
		old.Image, new.Image = "", ""
	}
	if !isSidecar(&new) && restartsWhenResized(&new) {
		d.compare(InitContainer, path, old, new)
		return
	}
	d.resources(path+".resources", old.Name, old.Resources, new.Resources)
	old.Resources.Limits, old.Resources.Requests, new.Resources.Limits, new.Resources.Requests = nil, nil, nil, nil
	d.compare(InitContainer, path, old, new)
}

// isSidecar reports whether an init container is a native sidecar.
func isSidecar(container *corev1.Container) bool {
	return container.RestartPolicy != nil && *container.RestartPolicy == corev1.ContainerRestartPolicyAlways
}

func restartsWhenResized(container *corev1.Container) bool {
	return slices.ContainsFunc(container.ResizePolicy, func(p corev1.ContainerResizePolicy) bool {
		return p.RestartPolicy == corev1.RestartContainer
	})
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
	d.image(path, &old, &new)
	d.resources(path+".resources", old.Name, old.Resources, new.Resources)
	d.pullPolicy(path, &old, &new)
	old.Image, new.Image = "", ""
	old.Resources.Limits, old.Resources.Requests, new.Resources.Limits, new.Resources.Requests = nil, nil, nil, nil
	d.compare(Immutable, path, old, new)
}

func (d *differ) image(path string, old, new *corev1.Container) {
	if old.Image == new.Image {
		return
	}
	d.update.Images = append(d.update.Images, ImageChange{Container: old.Name, Old: old.Image, New: new.Image})
	if old.Image == "" || new.Image == "" {
		d.obstacle(ImageMissing, path+".image", "")
	}
}

// pullPolicy finds a policy that would have to change. The API server gives a pod one that the template leaves out by the tag of
// the image, and a running pod keeps it: with IfNotPresent and the tag latest it would run the image that its node happens to
// have. If both policies mean the same, they are made the same for what is compared next.
func (d *differ) pullPolicy(path string, old, new *corev1.Container) {
	switch before, after := pullPolicyOf(old), pullPolicyOf(new); {
	case old.Image == "" || new.Image == "":
	case before == after:
		old.ImagePullPolicy, new.ImagePullPolicy = before, after
	case old.ImagePullPolicy == new.ImagePullPolicy:
		d.obstacle(Immutable, path+".imagePullPolicy", fmt.Sprintf("by the tag of the image %s becomes %s", before, after))
	}
}

func pullPolicyOf(container *corev1.Container) corev1.PullPolicy {
	switch {
	case container.ImagePullPolicy != "" || container.Image == "":
		return container.ImagePullPolicy
	case pullsLatest(container.Image):
		return corev1.PullAlways
	}
	return corev1.PullIfNotPresent
}

// resources compares the sizes of a container, or of the pod as a whole, which has no name.
func (d *differ) resources(path, container string, old, new corev1.ResourceRequirements) {
	d.resourceList(path+".limits", true, container, old.Limits, new.Limits)
	d.resourceList(path+".requests", false, container, old.Requests, new.Requests)
}

func (d *differ) resourceList(path string, limit bool, container string, old, new corev1.ResourceList) {
	for _, name := range resourceNames(old, new) {
		before, had := old[name]
		after, has := new[name]
		at := elementPath(path, string(name))
		switch {
		case had && has && before.Cmp(after) == 0:
			continue
		case !isResizable(name):
			d.obstacle(ResourceFixed, at, "")
		case !has:
			d.obstacle(ResourceRemoved, at, "")
		default:
			switch {
			case d.update.options.Resize:
			case had:
				d.obstacle(ResizeDisabled, at, "")
			default:
				d.obstacle(ResourceAdded, at, "")
			}
			d.update.Resources = append(d.update.Resources, ResourceChange{
				Container: container, Limit: limit, Resource: name, Old: before.DeepCopy(), New: after.DeepCopy(), Added: !had,
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

// resourcesAsAWhole checks what a resize means for the pod.
func (d *differ) resourcesAsAWhole() {
	if len(d.update.Resources) > 0 {
		if os := d.new.Spec.OS; os != nil && os.Name == corev1.Windows {
			d.obstacle(WindowsResize, "spec.os.name", "")
		}
		d.resizeInTurn()
		d.wholeRestarts()
	}
	if before, after := qosClass(&d.old.Spec), qosClass(&d.new.Spec); before != after {
		d.obstacle(QOSClass, "spec", fmt.Sprintf("%s becomes %s", before, after))
	}
	if d.update.options.CgroupV1 && len(d.update.Images) > 0 {
		for _, change := range d.update.Resources {
			d.obstacle(ResizeWithImage, d.containerPath(change.Container)+".resources", "")
		}
	}
}

// resizeInTurn records an obstacle for what cannot be changed in containers that are updated one after the other.
func (d *differ) resizeInTurn() {
	if !slices.ContainsFunc(d.new.Spec.Containers, func(c corev1.Container) bool { _, ok := priority(&c); return ok }) {
		return
	}
	if hasWhole(&d.new.Spec) {
		d.obstacle(ResizeInTurn, "spec.resources", "")
	}
	for _, change := range d.update.Resources {
		if change.Added {
			d.obstacle(ResizeInTurn, d.containerPath(change.Container)+".resources", "")
		}
	}
}

// wholeRestarts records an obstacle for each limit of the pod as a whole that a container gets, and for which it would restart.
func (d *differ) wholeRestarts() {
	for _, change := range d.update.Resources {
		if change.Container != "" || !change.Limit {
			continue
		}
		for _, containers := range [][]corev1.Container{d.new.Spec.InitContainers, d.new.Spec.Containers} {
			for i := range containers {
				_, own := containers[i].Resources.Limits[change.Resource]
				restarts := slices.Contains(containers[i].ResizePolicy, corev1.ContainerResizePolicy{
					ResourceName: change.Resource, RestartPolicy: corev1.RestartContainer,
				})
				if !own && restarts {
					d.obstacle(WholeRestarts, elementPath("spec.resources.limits", string(change.Resource)), containers[i].Name)
				}
			}
		}
	}
}

// containerPath returns the path of a container in the templates, or that of the pod as a whole.
func (d *differ) containerPath(name string) string {
	if name == "" {
		return "spec"
	}
	for i := range d.new.Spec.InitContainers {
		if d.new.Spec.InitContainers[i].Name == name {
			return elementPath("spec.initContainers", name)
		}
	}
	return elementPath("spec.containers", name)
}

// compile prepares what all pods have in common.
func (d *differ) compile() {
	u := d.update
	u.work = work{}
	for _, change := range u.Images {
		u.work.setImage(change.Container, change.New)
	}
	if hasWhole(&d.new.Spec) && len(u.Resources) > 0 {
		u.whole = d.new.Spec.Resources.DeepCopy()
	}
	for _, change := range u.Resources {
		if change.Container == "" {
			continue // what the whole gets is found for each pod, because it follows what others gave the pod's containers
		}
		c := u.work.of(change.Container)
		c.resized = true
		if !change.Limit {
			c.requests[change.Resource] = change.New
			continue
		}
		c.limits[change.Resource] = change.New
		// The API server has set requests that the template does not give to the limits: they move together. It gives a request
		// to a limit that is new, too.
		switch {
		case !d.requestFollows(change):
		case change.Added:
			c.requests[change.Resource] = change.New
		default:
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
	for name, c := range u.work {
		if container := containerIn(&d.new.Spec, name); container != nil && c.resizeRestarts(container) {
			u.resizeRestarts = true
		}
	}
	if u.InPlace() {
		d.needs()
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
