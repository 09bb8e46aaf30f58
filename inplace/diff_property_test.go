package inplace_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"pgregory.net/rapid"

	"github.com/daemonplan/daemonplan/inplace"
	_ "github.com/daemonplan/daemonplan/internal/fixedseed"
)

type diff func(old, new *corev1.PodTemplateSpec, options inplace.Options) *inplace.Update

// finding is an obstacle without its detail.
type finding struct {
	path string
	code inplace.Code
}

// oracle compares the JSON of two templates path by path and knows what may differ where. It shares no code with the
// package.
type oracle struct {
	pair     pair
	findings map[finding]bool
	changed  []string // paths of images and resources that may change
}

func (o *oracle) found(path string, code inplace.Code) { o.findings[finding{path, code}] = true }

func tree(value any) any {
	data, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	var out any
	if err := json.Unmarshal(data, &out); err != nil {
		panic(err)
	}
	return out
}

// run returns all obstacles.
func (o *oracle) run() []finding {
	o.findings = map[finding]bool{}
	o.compare("", tree(o.pair.old), tree(o.pair.new))
	o.qos()
	o.env()
	o.restarts()
	o.resized()
	o.pullPolicies()
	if o.pair.options.CgroupV1 {
		images := slices.ContainsFunc(o.changed, func(path string) bool { return strings.HasSuffix(path, ".image") })
		for _, path := range o.changed {
			if before, _, ok := strings.Cut(path, ".resources."); ok && images {
				o.found(before+".resources", inplace.ResizeWithImage)
			}
		}
	}
	return slices.SortedFunc(maps.Keys(o.findings), func(a, b finding) int {
		return cmp.Or(cmp.Compare(a.path, b.path), cmp.Compare(a.code, b.code))
	})
}

// restarts finds what asks for a restart: the only keys that are drawn are a, b and c/d.
func (o *oracle) restarts() {
	asking := map[string]string{"a": "a", "c/": "c/d"}
	for _, named := range o.pair.options.RestartKeys {
		for _, annotation := range []bool{false, true} {
			key := asking[named]
			before, had := metadataOf(*o.pair.old, annotation)[key]
			after, has := metadataOf(*o.pair.new, annotation)[key]
			if had != has || before != after {
				o.found(map[bool]string{false: "metadata.labels[", true: "metadata.annotations["}[annotation]+key+"]", inplace.RestartAsked)
			}
		}
	}
}

func (o *oracle) compare(path string, old, new any) {
	if text(old) == text(new) {
		return
	}
	switch {
	case path == "metadata.labels", path == "metadata.annotations":
		return // read by env, or free to change
	case path == "spec.tolerations" && o.onlyAdds():
		if o.pair.options.Tolerations != nil && !*o.pair.options.Tolerations {
			o.found(path, inplace.TolerationsDisabled)
		}
		o.changed = append(o.changed, path)
		return
	case path == "spec.resources":
		o.members(path, ".%s", old, new)
		return
	case strings.HasSuffix(path, ".nodeSelector"), strings.HasSuffix(path, ".limits"), strings.HasSuffix(path, ".requests"):
		o.members(path, "[%s]", old, new)
		return
	}
	_, oldObject := old.(map[string]any)
	_, newObject := new.(map[string]any)
	_, oldList := old.([]any)
	_, newList := new.([]any)
	switch {
	case oldObject && newObject:
		o.members(path, ".%s", old, new)
	case (oldList || old == nil) && (newList || new == nil):
		o.lists(path, old, new)
	default:
		o.leaf(path, old, new)
	}
}

// onlyAdds reports whether each toleration of before is there after.
func (o *oracle) onlyAdds() bool {
	for _, toleration := range o.pair.old.Spec.Tolerations {
		if !slices.Contains(o.pair.new.Spec.Tolerations, toleration) { // none that is drawn has seconds
			return false
		}
	}
	return true
}

// sidecars reports whether the init container of that path is a sidecar before and after.
func (o *oracle) sidecar(path string) bool {
	for _, template := range []*corev1.PodTemplateSpec{o.pair.old, o.pair.new} {
		for _, c := range template.Spec.InitContainers {
			if strings.HasPrefix(path, "spec.initContainers["+c.Name+"]") && c.RestartPolicy == nil {
				return false
			}
		}
	}
	return true
}

// refusesResize reports whether the API server takes no resize of the init container of that path.
func (o *oracle) refusesResize(path string) bool {
	for _, c := range o.pair.new.Spec.InitContainers {
		if strings.HasPrefix(path, "spec.initContainers["+c.Name+"]") {
			return c.RestartPolicy == nil && len(c.ResizePolicy) > 0 // the only one that is drawn restarts
		}
	}
	return false
}

// resized finds what keeps a pod from being resized at all, or in turn.
func (o *oracle) resized() {
	resizes, added := false, map[string]bool{}
	for _, path := range o.changed {
		before, what, ok := strings.Cut(path, ".resources.")
		if !ok {
			continue
		}
		resizes = true
		old := o.pair.old.Spec
		containers := append(slices.Clone(old.InitContainers), old.Containers...)
		if old.Resources != nil {
			containers = append(containers, corev1.Container{Resources: *old.Resources})
		}
		for _, c := range containers {
			if before != "spec" && !strings.HasSuffix(before, "["+c.Name+"]") || before == "spec" && c.Name != "" {
				continue
			}
			list, name, _ := strings.Cut(strings.TrimSuffix(what, "]"), "[")
			has := map[string]corev1.ResourceList{"limits": c.Resources.Limits, "requests": c.Resources.Requests}[list]
			if _, had := has[corev1.ResourceName(name)]; !had {
				added[before] = true
			}
		}
		if before == "spec" && o.pair.old.Spec.Resources == nil {
			added[before] = true
		}
	}
	if resizes && o.pair.new.Spec.OS != nil {
		o.found("spec.os.name", inplace.WindowsResize)
	}
	inTurn := slices.ContainsFunc(o.pair.new.Spec.Containers, func(c corev1.Container) bool { _, ok := launchPriority(c); return ok })
	for _, c := range append(slices.Clone(o.pair.new.Spec.InitContainers), o.pair.new.Spec.Containers...) {
		for _, name := range []corev1.ResourceName{"cpu", "memory"} {
			path := "spec.resources.limits[" + string(name) + "]"
			_, own := c.Resources.Limits[name]
			if policy := len(c.ResizePolicy) > 0 && c.ResizePolicy[0].ResourceName == name; !own && policy && slices.Contains(o.changed, path) {
				o.found(path, inplace.WholeRestarts)
			}
		}
	}
	if resizes && inTurn {
		if o.pair.new.Spec.Resources != nil {
			added["spec"] = true
		}
		for path := range added {
			o.found(path+".resources", inplace.ResizeInTurn)
		}
	}
}

// pullPolicies finds images that go to the tag latest or away from it: of those that are drawn, reg:5000/app is the only one.
func (o *oracle) pullPolicies() {
	latest := func(c corev1.Container) bool { return c.Image == "reg:5000/app" }
	for _, c := range o.pair.new.Spec.Containers {
		i := slices.IndexFunc(o.pair.old.Spec.Containers, func(other corev1.Container) bool { return other.Name == c.Name })
		if i >= 0 && latest(c) != latest(o.pair.old.Spec.Containers[i]) && c.Image != "" && o.pair.old.Spec.Containers[i].Image != "" {
			o.found("spec.containers["+c.Name+"].imagePullPolicy", inplace.Immutable)
		}
	}
}

func (o *oracle) members(path, format string, old, new any) {
	before, _ := old.(map[string]any)
	after, _ := new.(map[string]any)
	for name := range union(before, after) {
		o.compare(strings.TrimPrefix(path+fmt.Sprintf(format, name), "."), before[name], after[name])
	}
}

func (o *oracle) lists(path string, old, new any) {
	before, beforeNames := elements(old)
	after, afterNames := elements(new)
	for name := range union(before, after) {
		at := path + "[" + name + "]"
		switch {
		case before[name] != nil && after[name] != nil:
			o.compare(at, before[name], after[name])
		case path == "spec.containers" && before[name] == nil:
			o.found(at, inplace.ContainerAdded)
		case path == "spec.containers":
			o.found(at, inplace.ContainerRemoved)
		default:
			o.leaf(at, before[name], after[name])
		}
	}
	lacks := func(m map[string]any) func(string) bool { return func(name string) bool { return m[name] == nil } }
	if !slices.Equal(slices.DeleteFunc(beforeNames, lacks(after)), slices.DeleteFunc(afterNames, lacks(before))) {
		if path == "spec.containers" {
			o.found(path, inplace.ContainersReordered)
		} else {
			o.leaf(path, old, new)
		}
	}
}

// elements returns those of a list by name, or by position if they have none.
func elements(list any) (byName map[string]any, names []string) {
	byName = map[string]any{}
	elements, _ := list.([]any)
	for i, element := range elements {
		name := fmt.Sprint(i)
		if object, ok := element.(map[string]any); ok && object["name"] != nil {
			name = object["name"].(string)
		}
		byName[name] = element
		names = append(names, name)
	}
	return byName, names
}

func union[V any](a, b map[string]V) map[string]V {
	out := maps.Clone(a)
	if out == nil {
		out = map[string]V{}
	}
	maps.Copy(out, b)
	return out
}

// leaf judges two values that differ, one of which may be missing.
func (o *oracle) leaf(path string, old, new any) {
	init := strings.HasPrefix(path, "spec.initContainers[") && len(o.pair.old.Spec.InitContainers) > 0
	inContainer := strings.HasPrefix(path, "spec.containers[") || path == "spec" || strings.HasPrefix(path, "spec.resources") ||
		init && strings.Contains(path, ".resources.") && !o.refusesResize(path) || init && strings.HasSuffix(path, "].image") && o.sidecar(path)
	if init && inContainer && strings.HasSuffix(path, "].image") && o.pair.options.Sidecars != nil && !*o.pair.options.Sidecars {
		o.found(path, inplace.SidecarDisabled)
	}
	switch {
	case strings.HasPrefix(path, "spec.volumes[") && strings.HasSuffix(path, ".image.reference"):
		o.found(path, inplace.VolumeImage)
	case strings.HasPrefix(path, "spec.initContainers") && !inContainer:
		o.found(path, inplace.InitContainer)
	case inContainer && strings.HasSuffix(path, "].image"):
		o.changed = append(o.changed, path)
		if old == nil || new == nil {
			o.found(path, inplace.ImageMissing)
		}
	case inContainer && strings.Contains(path, ".resources."):
		o.resource(path, old, new)
	default:
		o.found(path, inplace.Immutable)
	}
}

func (o *oracle) resource(path string, old, new any) {
	cpuOrMemory := strings.HasSuffix(path, "[cpu]") || strings.HasSuffix(path, "[memory]")
	if old != nil && new != nil {
		before, after := resource.MustParse(old.(string)), resource.MustParse(new.(string))
		if before.Equal(after) {
			return
		}
	}
	switch {
	case !cpuOrMemory:
		o.found(path, inplace.ResourceFixed)
	case new == nil:
		o.found(path, inplace.ResourceRemoved)
	default:
		o.changed = append(o.changed, path)
		if !o.pair.options.Resize && old == nil {
			o.found(path, inplace.ResourceAdded)
		} else if !o.pair.options.Resize {
			o.found(path, inplace.ResizeDisabled)
		}
	}
}

// qos compares the QoS classes by the sums over all containers.
func (o *oracle) qos() {
	class := func(template *corev1.PodTemplateSpec) string {
		template = template.DeepCopy()
		if whole := template.Spec.Resources; whole != nil {
			// All that are drawn give cpu twice. Memory comes from the containers.
			template.Spec.InitContainers, template.Spec.Containers = nil, []corev1.Container{{Resources: o.whole(*template)}}
		}
		limits, requests := map[corev1.ResourceName]int64{}, map[corev1.ResourceName]int64{}
		limited, something := true, false
		for _, c := range append(slices.Clone(template.Spec.InitContainers), template.Spec.Containers...) {
			defaultRequests(&c)
			for _, name := range []corev1.ResourceName{"cpu", "memory"} {
				limit, request := c.Resources.Limits[name], c.Resources.Requests[name]
				limits[name] += limit.MilliValue()
				requests[name] += request.MilliValue()
				limited = limited && limit.MilliValue() > 0 && request.Cmp(limit) == 0
				something = something || limit.MilliValue()+request.MilliValue() > 0
			}
		}
		switch {
		case !something:
			return "BestEffort"
		case limited && maps.Equal(limits, requests):
			return "Guaranteed"
		}
		return "Burstable"
	}
	if class(o.pair.old) != class(o.pair.new) {
		o.found("spec", inplace.QOSClass)
	}
}

// whole returns what the API server makes of the resources of a pod as a whole, which give a request and a limit of cpu, when it
// admits it: a request of memory is that of all containers, a limit that of all containers if each has one, and at least the request.
func (o *oracle) whole(template corev1.PodTemplateSpec) corev1.ResourceRequirements {
	whole := *template.Spec.Resources.DeepCopy()
	var sum, most, limits, mostLimit resource.Quantity
	limited, requested := true, false
	add := func(into *resource.Quantity, from corev1.ResourceList) {
		amount, ok := from["memory"]
		if ok {
			into.Add(amount)
		}
	}
	for _, c := range append(slices.Clone(template.Spec.InitContainers), template.Spec.Containers...) {
		c = *c.DeepCopy()
		defaultRequests(&c)
		_, ok := c.Resources.Limits["memory"]
		_, requests := c.Resources.Requests["memory"]
		limited, requested = limited && ok, requested || requests
		if c.Name == "setup" && c.RestartPolicy == nil { // it runs before the others and not beside them
			add(&most, c.Resources.Requests)
			add(&mostLimit, c.Resources.Limits)
			continue
		}
		add(&sum, c.Resources.Requests)
		add(&limits, c.Resources.Limits)
	}
	if most.Cmp(sum) > 0 {
		sum = most
	}
	if mostLimit.Cmp(limits) > 0 {
		limits = mostLimit
	}
	if _, given := whole.Requests["memory"]; given {
		return whole // it gives both
	}
	if requested {
		whole.Requests["memory"] = sum
		if limited {
			if sum.Cmp(limits) > 0 {
				limits = sum
			}
			whole.Limits["memory"] = limits
		}
	}
	return whole
}

func (o *oracle) env() {
	check := func(list string, containers []corev1.Container) {
		for _, c := range containers {
			for _, variable := range c.Env {
				path := fmt.Sprintf("spec.%s[%s].env[%s]", list, c.Name, variable.Name)
				o.variable(path, list, c, variable)
			}
		}
	}
	check("containers", o.pair.new.Spec.Containers)
	check("initContainers", o.pair.new.Spec.InitContainers)
}

func (o *oracle) variable(path, list string, c corev1.Container, variable corev1.EnvVar) {
	if variable.ValueFrom == nil {
		return
	}
	if ref := variable.ValueFrom.ResourceFieldRef; ref != nil {
		at := fmt.Sprintf("spec.%s[%s].resources.%s]", list, c.Name, strings.Replace(ref.Resource, ".", "[", 1))
		if slices.Contains(o.changed, at) {
			o.found(path, inplace.ResourceInEnv)
		}
	}
	annotation, key, ok := readBy(variable)
	if !ok {
		return
	}
	if key == revisionLabel {
		o.found(path, inplace.UpdateInEnv)
		return
	}
	before, had := metadataOf(*o.pair.old, annotation)[key]
	after, has := metadataOf(*o.pair.new, annotation)[key]
	switch {
	case had == has && before == after:
	case list == "initContainers":
		o.found(path, inplace.MetadataInInitEnv)
	case !has:
		o.found(path, inplace.MetadataInEnvRemoved)
	case !o.pair.options.EnvFromMetadata:
		o.found(path, inplace.MetadataInEnv)
	}
}

// disagreement returns how an implementation differs from the oracle; "" if it agrees.
func disagreement(f diff, p pair) string {
	o := oracle{pair: p}
	want, got := o.run(), []finding{}
	u := f(p.old, p.new, p.options)
	for _, obstacle := range u.Obstacles { // some differ in their details only, such as for which containers they are
		if found := (finding{obstacle.Path, obstacle.Code}); !slices.Contains(got, found) {
			got = append(got, found)
		}
	}
	if len(want) == 0 {
		want = got[:0]
	}
	if difference := gocmp.Diff(want, got, gocmp.AllowUnexported(finding{})); difference != "" {
		return "obstacles (-want +got)\n" + difference
	}
	if u.InPlace() != (len(want) == 0) {
		return "InPlace disagrees with the obstacles"
	}
	changed := []string{}
	pathOf := func(container string) string {
		switch container {
		case "":
			return "spec"
		case "setup":
			return "spec.initContainers[setup]"
		}
		return "spec.containers[" + container + "]"
	}
	if len(u.Tolerations) > 0 {
		changed = append(changed, "spec.tolerations")
	}
	for _, change := range u.Images {
		changed = append(changed, pathOf(change.Container)+".image")
	}
	for _, change := range u.Resources {
		list := "requests"
		if change.Limit {
			list = "limits"
		}
		changed = append(changed, fmt.Sprintf("%s.resources.%s[%s]", pathOf(change.Container), list, change.Resource))
	}
	slices.Sort(changed)
	slices.Sort(o.changed)
	if !slices.Equal(changed, o.changed) {
		return fmt.Sprintf("changes %v, want %v", changed, o.changed)
	}
	return ""
}

func TestDiffAgreesWithOracle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		for range 20 {
			p := anyPair(t)
			before := text(p.old) + text(p.new)
			if difference := disagreement(inplace.Compare, p); difference != "" {
				t.Fatalf("%s\nold %s\nnew %s", difference, text(p.old), text(p.new))
			}
			if before != text(p.old)+text(p.new) {
				t.Fatal("Diff has written to a template")
			}
		}
	})
}
