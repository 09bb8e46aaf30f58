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
	inContainer := strings.HasPrefix(path, "spec.containers[")
	switch {
	case strings.HasPrefix(path, "spec.initContainers"):
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
	case old == nil:
		o.found(path, inplace.ResourceAdded)
	case new == nil:
		o.found(path, inplace.ResourceRemoved)
	default:
		o.changed = append(o.changed, path)
		if !o.pair.options.Resize {
			o.found(path, inplace.ResizeDisabled)
		}
	}
}

// qos compares the QoS classes by the sums over all containers.
func (o *oracle) qos() {
	class := func(template *corev1.PodTemplateSpec) string {
		template = template.DeepCopy()
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
	for _, obstacle := range u.Obstacles {
		got = append(got, finding{obstacle.Path, obstacle.Code})
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
	for _, change := range u.Images {
		changed = append(changed, "spec.containers["+change.Container+"].image")
	}
	for _, change := range u.Resources {
		list := "requests"
		if change.Limit {
			list = "limits"
		}
		changed = append(changed, fmt.Sprintf("spec.containers[%s].resources.%s[%s]", change.Container, list, change.Resource))
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
