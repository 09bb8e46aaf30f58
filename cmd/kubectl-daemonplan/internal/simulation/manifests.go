package simulation

import (
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/controllers"
	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/text"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/simulate"
)

// candidate is one of the specs that are compared.
type candidate struct {
	// Label is the candidate's name in the table and in the pictures. It is unique.
	Label string
	// File is the file of the manifest; its text is empty if the set is that of the dump.
	File objects.File
	// Place is where in the file the set is.
	Place string
	Set   *objects.Set
	// Controller is whose behaviour is simulated.
	Controller controllers.Name
	// Fleet is the fleet that the spec is rolled out on: the same nodes for all candidates, with what runs there.
	Fleet simulate.Fleet
	// Cluster is the dump, and Running the set in it; nil: the dump has no such set, or there is none.
	Cluster *objects.Input
	Running *objects.Set
	// Installs reports whether the dump has no such set, and no pods of it.
	Installs bool
	// Derived is the world that was read off the dump; nil: it is that of the experiment.
	Derived *Derived
}

// readManifest reads the set of a manifest. If the manifest has several sets, it reads the one of that name.
func readManifest(f *objects.Files, name, set string) (*candidate, error) {
	file, err := f.Read(name)
	if err != nil {
		return nil, err
	}
	in := objects.New()
	if err := in.AddSets(file); err != nil {
		return nil, err
	}
	c, err := choose(in, file, set)
	if err != nil {
		return nil, err
	}
	if _, err := rollout.New(c.Set.Spec); err != nil {
		return nil, objects.Invalid(c.Place, c.Set.Spec, err)
	}
	// What kubectl printed of a set and somebody edited has the number of its former template, by which pods of that one would
	// count as updated. The API server does not take the number from a manifest.
	c.Set.Spec.TemplateGeneration = nil
	return c, nil
}

// choose is the only set of the input, which was read from the file, or the set of that name.
func choose(in *objects.Input, file objects.File, name string) (*candidate, error) {
	ref := objects.Ref{Name: name}
	if namespace, short, found := strings.Cut(name, "/"); found {
		ref = objects.Ref{Namespace: namespace, Name: short}
	}
	var all []string
	for _, set := range in.Sets {
		all = append(all, text.Printable(set.FullName()))
	}
	switch found := in.Find(ref); {
	case len(in.Sets) == 0 && len(in.Ignored) == 0:
		return nil, fmt.Errorf("%s: there is no set in it; a set is a DaemonSet, as kubectl apply takes it", file.Name)
	case len(in.Sets) == 0:
		return nil, fmt.Errorf("%s: there is no DaemonSet of apps/v1 or apps.kruise.io, and no ExtendedDaemonSet, in it; "+
			"it has: %s", file.Name, in.IgnoredKinds())
	case len(found) == 0:
		return nil, fmt.Errorf("%s: no set is called %s; there are: %s", file.Name, text.Printable(name), text.Some(all))
	case len(found) > 1:
		return nil, fmt.Errorf("%s: there are several sets; choose one with --name: %s", file.Name, text.Some(all))
	default:
		return &candidate{Label: text.Printable(found[0].Spec.Name), File: file, Place: in.SetPlace(found[0]), Set: found[0]}, nil
	}
}

// readCandidates reads the manifests of --spec. Each argument is a file, or a label and a file.
func readCandidates(f *objects.Files, arguments []string, name string) ([]*candidate, error) {
	var list []*candidate
	for _, argument := range arguments {
		label, file, labelled := strings.Cut(argument, "=")
		if !labelled {
			label, file = "", argument
		}
		if file == "" {
			return nil, fmt.Errorf("--spec %s: there is no file; it is FILE or LABEL=FILE", quoted(argument))
		}
		c, err := readManifest(f, file, name)
		if err != nil {
			return nil, err
		}
		if label == "" {
			base := path.Base(filepath.ToSlash(file))
			label = strings.TrimSuffix(base, path.Ext(base))
		}
		c.Label = text.Printable(label)
		if slices.ContainsFunc(list, func(other *candidate) bool { return other.Label == c.Label }) {
			return nil, fmt.Errorf("--spec %s: %s is there twice; write --spec LABEL=%s", argument, c.Label, file)
		}
		list = append(list, c)
	}
	return list, nil
}

// runs sets what runs on the generated nodes when the rollout begins: the template of an older manifest. All else is the
// candidate's, because only the template changes.
func (c *candidate) runs(old *candidate) error {
	running := c.Set.Spec
	running.Template = *old.Set.Spec.Template.DeepCopy()
	running.Template.Labels = withLabels(running.Template.Labels, c.Set.Spec)
	if _, err := rollout.New(running); err != nil {
		return objects.Invalid(fmt.Sprintf("--from %s: its template does not fit %s", old.File.Name, c.File.Name), running, err)
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
