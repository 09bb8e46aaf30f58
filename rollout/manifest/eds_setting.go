package manifest

import (
	"cmp"
	"strings"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout"
)

// Setting is an ExtendedDaemonsetSetting: other resources for the containers of one ExtendedDaemonSet on some nodes.
type Setting struct {
	// Namespace of the setting and of the set; empty: the default namespace.
	Namespace string
	// Set is the name of the ExtendedDaemonSet.
	Set string
	// Override is the element for Spec.Overrides; [Overrides] collects them.
	Override placement.Override
	// Unknown lists the paths of fields that this API version does not know, sorted.
	Unknown []string
}

// edsSetting is an ExtendedDaemonsetSetting. Like eds it has every field that EDS knows.
type edsSetting struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Reference    *autoscalingv1.CrossVersionObjectReference `json:"reference"`
		NodeSelector metav1.LabelSelector                       `json:"nodeSelector"`
		Containers   []struct {
			Name      string                      `json:"name"`
			Resources corev1.ResourceRequirements `json:"resources"`
		} `json:"containers"`
	} `json:"spec"`
	// Status is EDS's verdict on the setting. It is not used, because it depends on the order in which EDS sees nodes and
	// settings.
	Status struct {
		Status string `json:"status"`
		Error  string `json:"error"`
	} `json:"status"`
}

// DecodeSetting reads a manifest with one ExtendedDaemonsetSetting of datadoghq.com/v1alpha1, as [Object.Setting] does.
func DecodeSetting(data []byte) (Setting, error) {
	object, err := single(data)
	if err != nil {
		return Setting{}, err
	}
	return object.Setting()
}

// IsSetting reports whether the object is an ExtendedDaemonsetSetting, which [Object.Setting] reads.
func (o Object) IsSetting() bool {
	return o.APIVersion == edsAPIVersion && o.Kind == edsSettingKind
}

// Setting reads an ExtendedDaemonsetSetting. It reports every mistake, first those in the types of values, then those in
// the values: a reference that names no ExtendedDaemonSet, a malformed selector, a container without a name or given
// twice, resources that no pod can have. A setting with a mistake gives no Override; other settings are not affected.
//
// The kind of the reference may be in upper or lower case, because EDS's own documentation has ExtendedDaemonset, and may be
// empty. A reference to another kind is an error here. It works in EDS, which ignores the kind.
func (o Object) Setting() (Setting, error) {
	if o.Kind != edsSettingKind {
		return Setting{}, field.NotSupported(field.NewPath("kind"), o.Kind, []string{edsSettingKind})
	}
	if o.APIVersion != edsAPIVersion {
		return Setting{}, field.NotSupported(field.NewPath("apiVersion"), o.APIVersion, []string{edsAPIVersion})
	}
	var given edsSetting
	unknown, err := decode(o, &given)
	if err != nil {
		return Setting{}, err
	}
	override := placement.Override{
		Name:         given.Name,
		Created:      given.CreationTimestamp.Time,
		NodeSelector: given.Spec.NodeSelector,
		Containers:   make(map[string]corev1.ResourceRequirements, len(given.Spec.Containers)),
	}
	for _, container := range given.Spec.Containers {
		override.Containers[container.Name] = container.Resources
	}
	if errs := given.mistakes(override); len(errs) > 0 {
		return Setting{}, errs.ToAggregate()
	}
	return Setting{Namespace: given.Namespace, Set: given.Spec.Reference.Name, Override: override, Unknown: unknown}, nil
}

// mistakes returns the mistakes in the values, with paths of the manifest.
func (s *edsSetting) mistakes(override placement.Override) field.ErrorList {
	const why = "says which " + edsKind + " the setting is for"
	var errs field.ErrorList
	path := field.NewPath("spec")
	if reference, at := s.Spec.Reference, path.Child("reference"); reference == nil {
		errs = append(errs, field.Required(at, why))
	} else {
		if reference.Kind != "" && !strings.EqualFold(reference.Kind, edsKind) {
			errs = append(errs, field.NotSupported(at.Child("kind"), reference.Kind, []string{edsKind}))
		}
		if reference.Name == "" {
			errs = append(errs, field.Required(at.Child("name"), why))
		}
	}
	places := [][2]string{{"overrides[0].name", "metadata.name"}, {"overrides[0].nodeSelector", "spec.nodeSelector"}}
	seen := make(map[string]bool)
	for i, container := range s.Spec.Containers {
		at := path.Child("containers").Index(i)
		switch {
		case container.Name == "":
			errs = append(errs, field.Required(at.Child("name"), "says which container"))
		case seen[container.Name]:
			// EDS creates the pod with the last one and compares it with the first, so that it recreates the pod for ever.
			errs = append(errs, field.Duplicate(at.Child("name"), container.Name))
		}
		seen[container.Name] = true
		places = append(places, [2]string{"overrides[0].containers[" + container.Name + "]", at.Child("resources").String()})
	}
	for _, e := range placement.ValidateOverrides([]placement.Override{override}, field.NewPath("overrides")) {
		e.Field = translate(e.Field, places)
		errs = append(errs, e)
	}
	return errs
}

// Overrides picks the settings that are for the set of spec, in their order, for Spec.Overrides: those of its namespace
// that name it. There are none for a set that is no ExtendedDaemonSet. The result shares memory with the settings.
func Overrides(spec rollout.Spec, settings []Setting) []placement.Override {
	if spec.APIVersion != edsAPIVersion || spec.Kind != edsKind {
		return nil
	}
	namespace := func(name string) string { return cmp.Or(name, rollout.DefaultNamespace) }
	var overrides []placement.Override
	for _, setting := range settings {
		if setting.Set == spec.Name && namespace(setting.Namespace) == namespace(spec.Namespace) {
			overrides = append(overrides, setting.Override)
		}
	}
	return overrides
}
