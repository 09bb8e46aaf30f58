package simulation

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/text"
	"github.com/daemonplan/daemonplan/rollout/simulate"
)

// readDump reads a cluster as kubectl printed it.
func readDump(f *objects.Files, name string) (*objects.Input, error) {
	in := objects.New()
	if err := in.Read(f, []string{name}); err != nil {
		return nil, err
	}
	if len(in.Nodes) == 0 {
		return nil, fmt.Errorf("%s: there is no node in it; it is what this prints: "+
			"kubectl get nodes,pods,controllerrevisions,ds,events -A -o json", objects.Shown(name))
	}
	return in, nil
}

// place makes the candidate the set of its name in the cluster, with the pods and the revisions of that set.
func (c *candidate) place(cluster *objects.Input) error {
	if err := c.settle(cluster); err != nil {
		return err
	}
	spec := &c.Set.Spec
	there := false
	for _, set := range cluster.Sets {
		same := set.Spec
		if same.Namespace != spec.Namespace || same.Name != spec.Name || same.Kind != spec.Kind {
			continue
		}
		there, c.Cluster, c.Running = true, cluster, set
		spec.TemplateGeneration = set.TemplateGeneration(&spec.Template)
		if same.UID != "" {
			spec.UID = same.UID
			spec.Generation = max(spec.Generation, same.Generation)
		}
	}
	cluster.AdoptAt(c.Set, c.Place)
	cluster.Surround(c.Set)
	snapshot, _, err := cluster.Snapshot(c.Set, cluster.Printed())
	c.Fleet = simulate.Fleet{Snapshot: &snapshot, Claims: cluster.Claims}
	c.Installs = !there && len(snapshot.Pods) == 0 && spec.Predecessor == nil
	return err
}

// settle gives a set whose manifest has no namespace, as "helm template" prints it, that of the set of its name in the cluster. A
// set of another kind counts only if there is none of the same kind.
func (c *candidate) settle(cluster *objects.Input) error {
	if len(c.File.Text) == 0 || c.Set.Meta.Namespace != "" {
		return nil
	}
	found := cluster.Find(objects.Ref{Group: c.Set.Group, Name: c.Set.Spec.Name})
	if len(found) == 0 {
		found = cluster.Find(objects.Ref{Name: c.Set.Spec.Name})
	}
	var namespaces []string
	for _, set := range found {
		namespaces = append(namespaces, text.Printable(set.Spec.Namespace))
	}
	slices.Sort(namespaces)
	switch namespaces = slices.Compact(namespaces); len(namespaces) {
	case 0:
	case 1:
		c.Set.Spec.Namespace = found[0].Spec.Namespace
	default:
		return fmt.Errorf("%s: metadata.namespace: Required value: the dump has sets of this name in the namespaces %s",
			c.Place, text.Some(namespaces))
	}
	return nil
}

// installs says that the cluster has no such set, so that nothing is replaced, and which sets it has.
func (c *candidate) installs(cluster *objects.Input) string {
	var all []string
	for _, set := range cluster.Sets {
		all = append(all, text.Printable(set.FullName()))
	}
	slices.Sort(all)
	return fmt.Sprintf("there is no %s %s in it: this is a first installation; sets in it: %s",
		objects.KindOf(c.Set.Group), text.Printable(c.Set.FullName()), cmp.Or(text.Some(all), "none"))
}
