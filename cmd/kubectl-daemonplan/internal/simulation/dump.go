package simulation

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/manifest"
	"github.com/daemonplan/daemonplan/rollout/simulate"
)

// dump is a cluster as kubectl printed it.
type dump struct {
	Nodes     []*corev1.Node
	Pods      []*corev1.Pod
	Revisions []*appsv1.ControllerRevision
	Sets      []manifest.Set
	Settings  []manifest.Setting
}

func (f *files) readDump(name string) (*dump, error) {
	data, err := f.read(name)
	if err != nil {
		return nil, err
	}
	name = shownName(name)
	var d dump
	for object, err := range manifest.Objects(data) {
		if err == nil {
			err = d.add(object)
		}
		if err != nil {
			return nil, placed(shownName(name), data, object, err)
		}
	}
	if len(d.Nodes) == 0 {
		return nil, fmt.Errorf("%s: there is no node in the file; it is what this prints: "+
			"kubectl get nodes,pods,controllerrevisions,ds -A -o json", name)
	}
	return &d, nil
}

func (d *dump) add(object manifest.Object) error {
	switch err := outdatedAPI(object); {
	case err != nil:
		return err
	case object.Kind == "Node" && object.APIVersion == "v1":
		return take(object, &d.Nodes)
	case object.Kind == "Pod" && object.APIVersion == "v1":
		return take(object, &d.Pods)
	case object.Kind == "ControllerRevision" && object.APIVersion == "apps/v1":
		return take(object, &d.Revisions)
	case object.IsSetting():
		if setting, err := object.Setting(); err == nil { // a setting with a mistake has no effect, as in the cluster
			d.Settings = append(d.Settings, setting)
		}
		return nil
	case isSet(object):
		set, err := object.Set()
		if err == nil {
			d.Sets = append(d.Sets, set)
		}
		return err
	default:
		return nil
	}
}

// take decodes an object and appends it to the others of its kind.
func take[T any, P interface {
	*T
	metav1.Object
}](object manifest.Object, to *[]P) error {
	value := P(new(T))
	if err := object.Decode(value); err != nil {
		return err
	}
	if object.Kind != "Node" {
		value.SetNamespace(cmp.Or(value.GetNamespace(), rollout.DefaultNamespace))
	}
	*to = append(*to, value)
	return nil
}

// set is the only set of the dump, or the set of that name.
func (d *dump) set(file, name string) (*candidate, error) {
	var found []manifest.Set
	var all []string
	for _, set := range d.Sets {
		spec := set.Spec.Default()
		all = append(all, printable(spec.Namespace+"/"+spec.Name))
		if name == "" || meant(spec, name) {
			found = append(found, set)
		}
	}
	switch {
	case len(d.Sets) == 0:
		return nil, fmt.Errorf("%s: there is no set in the file; give one with --spec", file)
	case len(found) == 0:
		return nil, fmt.Errorf("%s: no set is called %s; there are: %s", file, printable(name), strings.Join(all, ", "))
	case len(found) > 1:
		return nil, fmt.Errorf("%s: there are several sets; choose one with --name, or give one with --spec: %s",
			file, strings.Join(all, ", "))
	}
	return &candidate{Label: printable(found[0].Spec.Name), File: file, Set: found[0]}, nil
}

// place makes the candidate the set of its name in the cluster of the dump, with the pods and the revisions of that set.
func (d *dump) place(c *candidate) error {
	spec := &c.Set.Spec
	for _, set := range d.Sets {
		if same := set.Spec.Default(); meant(same, spec.Default().Namespace+"/"+spec.Name) &&
			same.Kind == spec.Default().Kind && same.UID != "" {
			spec.UID = same.UID
			spec.Generation = max(spec.Generation, same.Generation)
		}
	}
	spec.Overrides = manifest.Overrides(*spec, d.Settings)
	spec.Predecessor = d.predecessor(&c.Set)
	claims, err := rollout.Claim(*spec, d.Pods)
	if err != nil {
		return fmt.Errorf("%s: %w", c.File, err)
	}
	history, err := rollout.ClaimRevisions(*spec, d.Revisions)
	if err != nil {
		return fmt.Errorf("%s: %w", c.File, err)
	}
	c.Fleet = simulate.Fleet{Snapshot: &rollout.Snapshot{
		Now:   d.taken(),
		Nodes: d.Nodes, Pods: claims.Pods, Revisions: history.Revisions, Memory: c.Set.Memory,
	}}
	return nil
}

// taken is when the dump was made: the latest instant in any of its objects. With an earlier clock, pods would be from the
// future.
func (d *dump) taken() time.Time {
	var last time.Time
	see := func(t metav1.Time) {
		if t.After(last) {
			last = t.Time
		}
	}
	for _, node := range d.Nodes {
		see(node.CreationTimestamp)
		for i := range node.Status.Conditions {
			see(node.Status.Conditions[i].LastTransitionTime)
			see(node.Status.Conditions[i].LastHeartbeatTime)
		}
	}
	for _, pod := range d.Pods {
		see(pod.CreationTimestamp)
		for i := range pod.Status.Conditions {
			see(pod.Status.Conditions[i].LastTransitionTime)
		}
		for i := range pod.Status.ContainerStatuses {
			if running := pod.Status.ContainerStatuses[i].State.Running; running != nil {
				see(running.StartedAt)
			}
		}
	}
	for _, revision := range d.Revisions {
		see(revision.CreationTimestamp)
	}
	return last
}

// These are the kind of the replica sets of ExtendedDaemonSet's own controller, and the label by which their pods name the set.
const (
	edsReplicaSetKind = "ExtendedDaemonSetReplicaSet"
	edsNameLabel      = "extendeddaemonset.datadoghq.com/name"
)

// predecessor is what the set takes over from; nil: nothing. It is the DaemonSet that its annotation names, even if only the pods
// of that still exist, and the replica sets of ExtendedDaemonSet's own controller.
func (d *dump) predecessor(set *manifest.Set) *rollout.Predecessor {
	spec := set.Spec.Default()
	var found rollout.Predecessor
	for _, old := range d.Sets {
		other := old.Spec.Default()
		named := set.OldDaemonSet != "" && other.Name == set.OldDaemonSet && other.Namespace == spec.Namespace
		if named && other.APIVersion == "apps/v1" {
			found = manifest.PredecessorOf(old.Spec)
		}
	}
	for _, pod := range d.Pods {
		of := metav1.GetControllerOfNoCopy(pod)
		if of == nil || of.UID == "" || pod.Namespace != spec.Namespace || slices.Contains(found.UIDs, of.UID) {
			continue
		}
		fromDaemonSet := set.OldDaemonSet != "" && of.Name == set.OldDaemonSet &&
			of.APIVersion == "apps/v1" && of.Kind == "DaemonSet"
		fromReplicaSet := spec.Kind == "ExtendedDaemonSet" && of.Kind == edsReplicaSetKind &&
			pod.Labels[edsNameLabel] == spec.Name
		if fromDaemonSet || fromReplicaSet {
			found.UIDs = append(found.UIDs, of.UID)
		}
	}
	if len(found.UIDs) == 0 && found.Selector == nil {
		return nil
	}
	return &found
}
