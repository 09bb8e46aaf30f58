package simulation

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/objects"
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
			"kubectl get nodes,pods,controllerrevisions,ds -A -o json", objects.Shown(name))
	}
	return in, nil
}

// place makes the candidate the set of its name in the cluster, with the pods and the revisions of that set.
func (c *candidate) place(cluster *objects.Input) error {
	spec := &c.Set.Spec
	for _, set := range cluster.Sets {
		same := set.Spec
		if same.Namespace == spec.Namespace && same.Name == spec.Name && same.Kind == spec.Kind && same.UID != "" {
			spec.UID = same.UID
			spec.Generation = max(spec.Generation, same.Generation)
		}
	}
	cluster.AdoptAt(c.Set, c.Place)
	cluster.Surround(c.Set)
	snapshot, _, err := cluster.Snapshot(c.Set, taken(cluster))
	c.Fleet = simulate.Fleet{Snapshot: &snapshot}
	return err
}

// taken is when the cluster was printed: the latest instant in any of its objects. With an earlier clock, pods would be from the
// future.
func taken(cluster *objects.Input) time.Time {
	var last time.Time
	see := func(t metav1.Time) {
		if t.After(last) {
			last = t.Time
		}
	}
	for _, node := range cluster.Nodes {
		see(node.CreationTimestamp)
		for i := range node.Status.Conditions {
			see(node.Status.Conditions[i].LastTransitionTime)
			see(node.Status.Conditions[i].LastHeartbeatTime)
		}
	}
	for _, pod := range cluster.Pods {
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
	for _, revision := range cluster.Revisions {
		see(revision.CreationTimestamp)
	}
	return last
}
