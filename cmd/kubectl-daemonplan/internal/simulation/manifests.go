package simulation

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/manifest"
	"github.com/daemonplan/daemonplan/rollout/simulate"
)

// candidate is one of the specs that are compared.
type candidate struct {
	// Label is the candidate's name in the table and in the pictures. It is unique.
	Label string
	// File is the file of the manifest, and Text its content.
	File string
	Text []byte
	Set  manifest.Set
	// Fleet is the fleet that the spec is rolled out on: the same nodes for all candidates, with what runs there.
	Fleet simulate.Fleet
	// Derived is the world that was read off the dump; nil: it is that of the experiment.
	Derived *Derived
}

// readManifest reads the set of a manifest. If the manifest has several sets, it reads the one of that name. It ignores all other
// objects.
func (f *files) readManifest(file, name string) (manifest.Set, []byte, error) {
	data, err := f.read(file)
	if err != nil {
		return manifest.Set{}, nil, err
	}
	file = shownName(file)
	if documents(data) == 0 {
		return manifest.Set{}, nil, fmt.Errorf("%s: the file is empty; it is to have a DaemonSet, as kubectl apply takes it",
			file)
	}
	var found []manifest.Set
	var all, others []string
	for object, err := range manifest.Objects(data) {
		if err == nil {
			err = outdatedAPI(object)
		}
		if err != nil {
			return manifest.Set{}, nil, placed(file, data, object, err)
		}
		if !isSet(object) {
			others = append(others, printable(object.Kind+" of "+object.APIVersion))
			continue
		}
		set, err := object.Set()
		if err != nil {
			return manifest.Set{}, nil, placed(file, data, object, err)
		}
		all = append(all, printable(set.Spec.Name))
		if name == "" || meant(set.Spec, name) {
			found = append(found, set)
		}
	}
	switch {
	case len(all) == 0:
		return manifest.Set{}, nil, fmt.Errorf("%s: there is no DaemonSet of apps/v1 or apps.kruise.io, "+
			"and no ExtendedDaemonSet, in the file; it has: %s", file, shortList(others))
	case len(found) == 0:
		return manifest.Set{}, nil, fmt.Errorf("%s: no set is called %s; there are: %s", file, printable(name),
			strings.Join(all, ", "))
	case len(found) > 1:
		return manifest.Set{}, nil, fmt.Errorf("%s: there are several sets; choose one with --name: %s",
			file, strings.Join(all, ", "))
	}
	set := found[0]
	if _, err := rollout.New(set.Spec); err != nil {
		return manifest.Set{}, nil, located(file, translated(set.Spec, err))
	}
	return set, data, nil
}

// isSet reports whether a controller of daemon pods would handle the object.
func isSet(object manifest.Object) bool {
	group, _, _ := strings.Cut(object.APIVersion, "/")
	return object.Kind == "DaemonSet" && (group == "apps" || group == "apps.kruise.io") ||
		object.Kind == "ExtendedDaemonSet" && group == "datadoghq.com"
}

// shortList joins the different texts, at most five of them.
func shortList(texts []string) string {
	slices.Sort(texts)
	texts = slices.Compact(texts)
	if more := len(texts) - 5; more > 0 {
		texts = append(texts[:5], fmt.Sprintf("and %d more", more))
	}
	if len(texts) == 0 {
		return "nothing"
	}
	return strings.Join(texts, ", ")
}

// meant reports whether the name, with or without the namespace, is that of the set.
func meant(spec rollout.Spec, name string) bool {
	spec = spec.Default()
	return name == spec.Name || name == spec.Namespace+"/"+spec.Name
}

// translated replaces the paths of the mistakes by those of the manifest.
func translated(spec rollout.Spec, err error) error {
	if list := manifest.FieldErrors(spec, err); len(list) > 0 {
		return list.ToAggregate()
	}
	return err
}

// located puts the name of the file before each mistake. Each mistake is one line.
func located(file string, err error) error {
	mistakes := rollout.FieldErrors(err)
	if len(mistakes) == 0 {
		return fmt.Errorf("%s: %w", file, err)
	}
	var lines []error
	for _, mistake := range mistakes {
		lines = append(lines, fmt.Errorf("%s: %w", file, mistake))
	}
	return errors.Join(lines...)
}

// readCandidates reads the manifests of --spec. Each argument is a file, or a label and a file.
func (f *files) readCandidates(arguments []string, name string) ([]*candidate, error) {
	var list []*candidate
	for _, argument := range arguments {
		label, file, labelled := strings.Cut(argument, "=")
		if !labelled {
			label, file = "", argument
		}
		if file == "" {
			return nil, fmt.Errorf("--spec %s: there is no file; it is FILE or LABEL=FILE", quoted(argument))
		}
		set, text, err := f.readManifest(file, name)
		if err != nil {
			return nil, err
		}
		if label == "" {
			base := path.Base(filepath.ToSlash(file))
			label = strings.TrimSuffix(base, path.Ext(base))
		}
		label = printable(label)
		if slices.ContainsFunc(list, func(c *candidate) bool { return c.Label == label }) {
			return nil, fmt.Errorf("--spec %s: %s is there twice; write --spec LABEL=%s", argument, label, file)
		}
		list = append(list, &candidate{Label: label, File: file, Text: text, Set: set})
	}
	return list, nil
}

// runs sets what runs on the generated nodes when the rollout begins: the template of an older manifest. All else is the
// candidate's, because only the template changes.
func (c *candidate) runs(file string, old rollout.Spec) error {
	running := c.Set.Spec
	running.Template = *old.Template.DeepCopy()
	running.Template.Labels = withLabels(old.Template.Labels, c.Set.Spec)
	if _, err := rollout.New(running); err != nil {
		return fmt.Errorf("--from %s: its template does not fit %s: %w", file, c.File, translated(running, err))
	}
	c.Fleet.Running = &running
	return nil
}

// withLabels are the labels of the old template. If the selector does not match them, as with another kind of set, the labels
// that it requires are added.
func withLabels(old map[string]string, spec rollout.Spec) map[string]string {
	selector, err := metav1.LabelSelectorAsSelector(spec.Selector)
	if err != nil || selector.Matches(labels.Set(old)) {
		return old
	}
	merged := make(map[string]string, len(old)+len(spec.Selector.MatchLabels))
	maps.Copy(merged, old)
	maps.Copy(merged, spec.Selector.MatchLabels)
	return merged
}
