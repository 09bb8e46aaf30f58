package inplace

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
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
