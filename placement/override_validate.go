package placement

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/daemonplan/daemonplan/internal/quantities"
	"github.com/daemonplan/daemonplan/internal/selectors"
)

// ValidateOverrides reports every mistake in overrides, in their order, with field paths below path; a nil path stands
// for overrides. No overrides have none. Mistakes are
//
//   - no name, or one that an earlier override has;
//   - a node selector that is not valid;
//   - resources for which the API server refuses every pod, whatever its template: a name that no container may ask for;
//     a negative amount; a fraction of a device or of a huge page; a request above its limit; a device or huge page whose
//     request is not its limit; a claim without a name, or with that of another;
//   - an amount with more than 19 digits before the point or 9 behind it, which overflows where it is computed with.
//
// The API server further requires that huge pages are a multiple of their size and not asked for alone; that is not checked
// here. Names of containers are not checked either, because those that a template lacks have no effect.
func ValidateOverrides(overrides []Override, path *field.Path) field.ErrorList {
	if path == nil {
		path = field.NewPath("overrides")
	}
	var mistakes field.ErrorList
	names := map[string]bool{}
	for i := range overrides {
		override, at := &overrides[i], path.Index(i)
		switch {
		case override.Name == "":
			mistakes = append(mistakes, field.Required(at.Child("name"), "conflicts are decided and reported by name"))
		case names[override.Name]:
			mistakes = append(mistakes, field.Duplicate(at.Child("name"), override.Name))
		}
		names[override.Name] = true
		mistakes = append(mistakes, selectors.Validate(&override.NodeSelector, at.Child("nodeSelector"))...)
		for _, name := range slices.Sorted(maps.Keys(override.Containers)) {
			resources := override.Containers[name]
			mistakes = append(mistakes, validateResources(&resources, at.Child("containers").Key(name))...)
		}
	}
	return mistakes
}

// validateResources reports what no pod can have, in the order limits, requests, claims.
func validateResources(resources *corev1.ResourceRequirements, path *field.Path) field.ErrorList {
	mistakes := validateAmounts(resources.Limits, path.Child("limits"))
	requests := path.Child("requests")
	mistakes = append(mistakes, validateAmounts(resources.Requests, requests)...)
	for _, name := range slices.Sorted(maps.Keys(resources.Requests)) {
		request := resources.Requests[name]
		limit, limited := resources.Limits[name]
		// Amounts that are not representable are reported already, and comparing them could take memory without bound.
		if !quantities.Representable(request) || !quantities.Representable(limit) {
			continue
		}
		switch at := requests.Key(string(name)); {
		case limited && exceeds(request, limit):
			mistakes = append(mistakes, field.Invalid(at, text(request), "exceeds the limit "+text(limit)))
		case wholeOnly(name) && (!limited || exceeds(limit, request)):
			mistakes = append(mistakes, field.Invalid(at, text(request), "must have an equal limit: it cannot be overcommitted"))
		}
	}
	names := map[string]bool{}
	for i := range resources.Claims {
		at := path.Child("claims").Index(i).Child("name")
		switch name := resources.Claims[i].Name; {
		case name == "":
			mistakes = append(mistakes, field.Required(at, "a claim is known by its name"))
		case names[name]:
			mistakes = append(mistakes, field.Duplicate(at, name))
		default:
			names[name] = true
		}
	}
	return mistakes
}

func validateAmounts(list corev1.ResourceList, path *field.Path) field.ErrorList {
	var mistakes field.ErrorList
	for _, name := range slices.Sorted(maps.Keys(list)) {
		at, quantity := path.Key(string(name)), list[name]
		if message := unknownResource(string(name)); message != "" {
			mistakes = append(mistakes, field.Invalid(at, string(name), message))
		}
		switch {
		case !quantities.Representable(quantity):
			mistakes = append(mistakes, field.Invalid(at, "", "must have at most 19 digits before the point and 9 behind it"))
		case quantity.Sign() < 0:
			mistakes = append(mistakes, field.Invalid(at, text(quantity), "must not be negative"))
		case wholeOnly(name) && quantities.Fractional(quantity):
			mistakes = append(mistakes, field.Invalid(at, text(quantity), "must be whole"))
		}
	}
	return mistakes
}

// unknownResource returns why a container cannot ask for a resource; "" if it can.
func unknownResource(name string) string {
	domain, _, qualified := strings.Cut(name, "/")
	switch {
	case !qualified && !standard(name):
		return "must be cpu, memory, ephemeral-storage, hugepages-<size>, or have a domain"
	case qualified && strings.HasPrefix(domain, "requests."):
		return "must not begin with requests., which is for quotas"
	}
	return strings.Join(validation.IsQualifiedName(name), ", ")
}

func standard(name string) bool {
	switch corev1.ResourceName(name) {
	case corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage:
		return true
	}
	return strings.HasPrefix(name, corev1.ResourceHugePagesPrefix)
}

// wholeOnly reports whether a resource comes in whole pieces that cannot be overcommitted: devices and huge pages.
func wholeOnly(name corev1.ResourceName) bool {
	return strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix) ||
		strings.Contains(string(name), "/") && !strings.Contains(string(name), corev1.ResourceDefaultNamespacePrefix)
}

// exceeds reports whether a is more than b. A zero is not given to Cmp, because its scale may be anything.
func exceeds(a, b resource.Quantity) bool {
	if a.Sign() == 0 || b.Sign() == 0 {
		return a.Sign() > b.Sign()
	}
	return a.Cmp(b) > 0
}

// text returns the text of a quantity. It works on a copy, because String stores what it returns in the quantity.
func text(quantity resource.Quantity) string { return quantity.String() }
