package objects

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/text"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/manifest"
)

// tree is a JSON object.
type tree = map[string]any

// restartedAt is the annotation that "kubectl rollout restart" puts on the pod template. No manifest has it, and whoever applies
// one leaves it there.
const restartedAt = "kubectl.kubernetes.io/restartedAt"

// Change is a set with the spec that a manifest has for it.
type Change struct {
	// Place is where the manifest is, with its kind and name.
	Place string
	// JSON is the object to send to the API server: the set as it is, with spec, labels and annotations of the manifest. Fields
	// that the manifest leaves out are not there.
	JSON []byte
	// Unknown are the fields of the manifest that nobody reads.
	Unknown []string

	of *Set
}

// ReadChange finds the manifest of the set in a file that may have many documents.
func ReadChange(of *Set, f *Files, name string) (*Change, error) {
	file, err := f.Read(name)
	if err != nil {
		return nil, err
	}
	var found *Change
	var others []string
	err = eachObject(file, func(object manifest.Object, origin string) error {
		var meta metav1.PartialObjectMetadata
		if err := object.Decode(&meta); err != nil {
			return At(origin, err)
		}
		group := groupOf(object)
		same := meta.Name == of.Spec.Name && (meta.Namespace == "" || meta.Namespace == of.Spec.Namespace)
		switch {
		case same && of.Group == GroupApps && outdated(object) != nil:
			return At(place(origin, object.Kind, of.Spec.Namespace, meta.Name), outdated(object))
		case !IsSet(object) || group != of.Group || !same:
			others = append(others, described(object, &meta))
			return nil
		case found != nil:
			return fmt.Errorf("%s: %s was there before, in %s", origin, of.FullName(), found.Place)
		}
		change, err := newChange(of, object, place(origin, KindOf(group), of.Spec.Namespace, of.Spec.Name))
		found = change
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case found == nil && len(others) == 0:
		return nil, fmt.Errorf("%s: there is no object in it; it is to have the manifest of %s %s",
			file.Name, KindOf(of.Group), text.Printable(of.FullName()))
	case found == nil:
		return nil, fmt.Errorf("%s: there is no manifest of %s %s in it; there are: %s",
			file.Name, KindOf(of.Group), text.Printable(of.FullName()), text.Some(others))
	}
	return found, nil
}

// described is an object in a list of those that there are.
func described(object manifest.Object, meta *metav1.PartialObjectMetadata) string {
	name := cmp.Or(meta.Name, "without a name")
	if meta.Namespace != "" {
		name = meta.Namespace + "/" + name
	}
	return text.Printable(kindName(object) + " " + name)
}

// newChange puts spec, labels and annotations of the manifest into the object of the set.
func newChange(of *Set, object manifest.Object, at string) (*Change, error) {
	set, err := decodeSet(object)
	if err != nil {
		return nil, At(at, err)
	}
	// A selector that is invalid has no text to show, and is refused with its field later, as all that is invalid is.
	_, invalid := metav1.LabelSelectorAsSelector(set.Spec.Selector)
	if of.Group != GroupEDS && invalid == nil && !apiequality.Semantic.DeepEqual(set.Spec.Selector, of.Spec.Selector) {
		return nil, fmt.Errorf("%s: spec.selector: Invalid value: %q: the field is immutable, and the set has %q; "+
			"the API server would refuse the change", at, metav1.FormatLabelSelector(set.Spec.Selector),
			metav1.FormatLabelSelector(of.Spec.Selector))
	}
	var there, wanted tree
	if err := json.Unmarshal(of.Object.JSON, &there); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(object.JSON, &wanted); err != nil {
		return nil, fmt.Errorf("%s: %w", at, err)
	}
	keep := child(child(child(child(there, "spec"), "template"), "metadata"), "annotations")[restartedAt]
	there["apiVersion"], there["spec"] = wanted["apiVersion"], wanted["spec"]
	for _, key := range []string{"labels", "annotations"} {
		if given := child(child(wanted, "metadata"), key); len(given) > 0 {
			metadata := child(there, "metadata")
			merged := maps.Clone(child(metadata, key))
			if merged == nil {
				merged = make(tree)
			}
			maps.Copy(merged, given)
			metadata[key] = merged
		}
	}
	if template := child(child(there, "spec"), "template"); keep != nil && template != nil {
		put(put(template, "metadata"), "annotations")[restartedAt] = keep
	}
	data, err := json.Marshal(there)
	return &Change{Place: at, JSON: data, Unknown: set.Unknown, of: of}, err
}

// child is an object within an object; nil if it is none.
func child(of tree, key string) tree {
	below, _ := of[key].(tree)
	return below
}

// put is an object within an object, which is added if it is not there.
func put(of tree, key string) tree {
	below := child(of, key)
	if below == nil {
		below = make(tree)
		of[key] = below
	}
	return below
}

// Stored is the changed set with this JSON, as the API server returned it.
func (c *Change) Stored(object []byte) (*Set, error) {
	set, err := c.of.With(object)
	if err != nil {
		return nil, At(c.Place, err)
	}
	return set, nil
}

// Defaulted is the changed set as an API server would store it, as far as that is known here: with the defaults of a pod template
// if there are any, and new generations if anything changes.
func (c *Change) Defaulted() (*Set, error) {
	set, err := c.of.With(c.JSON)
	if err != nil {
		return nil, At(c.Place, err)
	}
	var there, object tree
	if err := json.Unmarshal(c.of.Object.JSON, &there); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(c.JSON, &object); err != nil {
		return nil, err
	}
	after := set.Spec.Template.DeepCopy()
	SetDefaults(after)
	sameTemplate := c.of.hasTemplate(&set.Spec.Template)
	spec, metadata := child(object, "spec"), child(object, "metadata")
	switch {
	case sameTemplate:
		// What is there may have been stored with other defaults. A manifest that says the same does not change it.
		spec["template"] = child(there, "spec")["template"]
	case c.HasDefaults():
		spec["template"] = after
	}
	if !sameTemplate || !sameBesides(set.Spec, c.of.Spec) {
		metadata["generation"] = c.of.Spec.Generation + 1
	}
	if number := c.of.TemplateGeneration(&set.Spec.Template); number != nil {
		put(metadata, "annotations")[appsv1.DeprecatedTemplateGeneration] = strconv.FormatInt(*number, 10)
	}
	data, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	return c.Stored(data)
}

// TemplateGeneration is the number that an API server gives a set that is there when somebody sends it with this template: that
// of the set if the template is the same, with defaults, else the next one. What the sender says does not count. Nil: the set has
// no number.
func (s *Set) TemplateGeneration(template *corev1.PodTemplateSpec) *int64 {
	number := s.Spec.TemplateGeneration
	if number == nil || s.hasTemplate(template) {
		return number
	}
	return new(*number + 1)
}

// hasTemplate reports whether the template of the set is this one. Both are compared with defaults.
func (s *Set) hasTemplate(template *corev1.PodTemplateSpec) bool {
	mine, other := s.Spec.Template.DeepCopy(), template.DeepCopy()
	SetDefaults(mine)
	SetDefaults(other)
	return apiequality.Semantic.DeepEqual(mine, other)
}

// HasDefaults reports whether somebody fills defaults into the template of the set. For a DaemonSet of Kubernetes that is the API
// server. For others it depends on webhooks, and is seen by what is there.
func (c *Change) HasDefaults() bool {
	template := c.of.Spec.Template.DeepCopy()
	SetDefaults(template)
	return c.of.Group == GroupApps || apiequality.Semantic.DeepEqual(template, &c.of.Spec.Template)
}

// sameBesides reports whether two specs differ in their templates only, which are compared with defaults, or not at all.
func sameBesides(a, b rollout.Spec) bool {
	a.Template, a.Generation, a.TemplateGeneration = b.Template, b.Generation, b.TemplateGeneration
	return apiequality.Semantic.DeepEqual(a.Default(), b.Default())
}
