package simulate

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/daemonplan/daemonplan/internal/quantities"
	"github.com/daemonplan/daemonplan/rollout"
)

// mostNodes is how many nodes a fleet may have, and how many may join at one time. More would need too much memory.
const mostNodes = 1_000_000

func (f *Fleet) validate(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if y := f.Now.Year(); !f.Now.IsZero() && (y < 1970 || y > 9000) {
		errs = append(errs, field.Invalid(path.Child("now"), f.Now.Format(time.RFC3339),
			"must be between the years 1970 and 9000"))
	}
	if f.Snapshot != nil {
		errs = append(errs, validateSnapshot(path.Child("snapshot"), f.Snapshot)...)
	}
	names, total := map[string]bool{}, 0
	for i := range f.Pools {
		pool, at := &f.Pools[i], path.Child("pools").Index(i)
		errs = append(errs, pool.validate(at)...)
		if pool.Name != "" && names[pool.Name] {
			errs = append(errs, field.Duplicate(at.Child("name"), pool.Name))
		}
		names[pool.Name] = true
		total = min(total+min(max(pool.Nodes, 0), mostNodes), mostNodes+1)
	}
	if total > mostNodes {
		errs = append(errs, field.Invalid(path.Child("pools"), "too many nodes", "must have at most 1000000 nodes together"))
	}
	if f.Running != nil {
		errs = append(errs, validateSpec(path.Child("running"), f.Running)...)
	}
	return errs
}

// validateSnapshot looks for nil objects, and for names of nodes and UIDs of pods that are empty or not unique. The planner
// finds the other mistakes.
func validateSnapshot(path *field.Path, snapshot *rollout.Snapshot) field.ErrorList {
	var errs field.ErrorList
	names := make(map[string]bool, len(snapshot.Nodes))
	for i, node := range snapshot.Nodes {
		at := path.Child("nodes").Index(i)
		switch {
		case node == nil:
			errs = append(errs, field.Required(at, "must not be null"))
		case node.Name == "":
			errs = append(errs, field.Required(at.Child("metadata", "name"), ""))
		case names[node.Name]:
			errs = append(errs, field.Duplicate(at.Child("metadata", "name"), node.Name))
		default:
			names[node.Name] = true
		}
	}
	uids := make(map[string]bool, len(snapshot.Pods))
	for i, pod := range snapshot.Pods {
		at := path.Child("pods").Index(i)
		switch {
		case pod == nil:
			errs = append(errs, field.Required(at, "must not be null"))
		case pod.UID == "":
			errs = append(errs, field.Required(at.Child("metadata", "uid"), ""))
		case uids[string(pod.UID)]:
			errs = append(errs, field.Duplicate(at.Child("metadata", "uid"), pod.UID))
		default:
			uids[string(pod.UID)] = true
		}
	}
	revisions := map[string]bool{}
	for i, revision := range snapshot.Revisions {
		at := path.Child("revisions").Index(i)
		switch {
		case revision == nil:
			errs = append(errs, field.Required(at, "must not be null"))
		case revision.Name == "":
			errs = append(errs, field.Required(at.Child("metadata", "name"), ""))
		case revisions[revision.Name]:
			errs = append(errs, field.Duplicate(at.Child("metadata", "name"), revision.Name))
		default:
			revisions[revision.Name] = true
		}
	}
	return errs
}

func (p *Pool) validate(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if p.Name == "" {
		errs = append(errs, field.Required(path.Child("name"), "nodes are named after their pool"))
	} else {
		// The last node has the longest name.
		for _, msg := range utilvalidation.IsDNS1123Label(nodeName(p.Name, mostNodes)) {
			errs = append(errs, field.Invalid(path.Child("name"), p.Name, "with six digits behind it: "+msg))
		}
	}
	errs = append(errs, validateCount(path.Child("nodes"), int64(p.Nodes))...)
	if p.Nodes > mostNodes {
		errs = append(errs, field.Invalid(path.Child("nodes"), p.Nodes, "must be at most 1000000"))
	}
	errs = append(errs, p.validateZones(path)...)
	errs = append(errs, p.validateLabels(path.Child("labels"))...)
	for i := range p.Taints {
		errs = append(errs, validateTaint(path.Child("taints").Index(i), &p.Taints[i])...)
	}
	errs = append(errs, validateResources(path.Child("allocatable"), p.Allocatable)...)
	errs = append(errs, validateResources(path.Child("used"), p.Used)...)
	errs = append(errs, validateCount(path.Child("bandwidth"), p.Bandwidth)...)
	for i, image := range p.Images {
		if image == "" {
			errs = append(errs, field.Required(path.Child("images").Index(i), "must be the name of an image"))
		}
	}
	return errs
}

func (p *Pool) validateZones(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, zone := range p.Zones {
		at := path.Child("zones").Index(i)
		if zone == "" {
			errs = append(errs, field.Required(at, "must be the name of a zone"))
		}
		for _, msg := range utilvalidation.IsValidLabelValue(zone) {
			errs = append(errs, field.Invalid(at, zone, msg))
		}
		if slices.Contains(p.Zones[:i], zone) {
			errs = append(errs, field.Duplicate(at, zone))
		}
	}
	errs = append(errs, validateCount(path.Child("racks"), int64(p.Racks))...)
	if p.Racks > 0 && len(errs) == 0 {
		longestPrefix := ""
		for _, zone := range p.Zones {
			if len(zone) >= len(longestPrefix) {
				longestPrefix = zone + "-"
			}
		}
		label := rackName(longestPrefix, p.Racks-1)
		for _, msg := range utilvalidation.IsValidLabelValue(label) {
			errs = append(errs, field.Invalid(path.Child("racks"), p.Racks, "racks are labelled as in "+label+": "+msg))
		}
	}
	return errs
}

func (p *Pool) validateLabels(path *field.Path) field.ErrorList {
	errs := validateLabels(path, p.Labels)
	own := map[string]string{
		corev1.LabelHostname: "is the name of the node",
		PoolLabel:            "is the name of the pool",
	}
	if len(p.Zones) > 0 {
		own[corev1.LabelTopologyZone] = "is given by zones"
	}
	if p.Racks > 0 {
		own[RackLabel] = "is given by racks"
	}
	for _, key := range slices.Sorted(maps.Keys(own)) {
		if value, ok := p.Labels[key]; ok {
			errs = append(errs, field.Invalid(path.Key(key), value, own[key]))
		}
	}
	return errs
}

// validateResources checks quantities before anybody computes with them, because with some of them that takes memory without
// bound.
func validateResources(path *field.Path, list corev1.ResourceList) field.ErrorList {
	var errs field.ErrorList
	for _, name := range slices.Sorted(maps.Keys(list)) {
		quantity := list[name]
		switch at := path.Key(string(name)); {
		case name == "":
			errs = append(errs, field.Required(at, "must be the name of a resource"))
		case !quantities.Representable(quantity):
			errs = append(errs, field.Invalid(at, "", "must have at most 19 digits before the point and 9 behind it"))
		case quantity.Sign() < 0:
			errs = append(errs, field.Invalid(at, quantity.String(), "must not be negative"))
		}
	}
	return errs
}
