package harness

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/internal/apiserver"
	"github.com/daemonplan/daemonplan/internal/kubelet"
	"github.com/daemonplan/daemonplan/rollout"
)

func (c *Cluster) find(uid types.UID, name string) *simulated {
	i := slices.IndexFunc(c.pods, func(p *simulated) bool { return p.UID == uid && p.Name == name })
	if i < 0 {
		return nil
	}
	return c.pods[i]
}

func (c *Cluster) refuse(node, pod string, uid types.UID) {
	c.events = append(c.events, Event{At: c.now, Kind: Refused, Node: node, Object: pod, UID: uid})
}

// patch reports whether it took effect.
func (c *Cluster) patch(patch *rollout.Patch) (bool, error) {
	p := c.find(patch.UID, patch.Pod)
	if p == nil {
		c.refuse(patch.Node, patch.Pod, patch.UID)
		return false, nil
	}
	patched, err := apiserver.Patch(p.Pod, patch)
	if errors.Is(err, apiserver.ErrConflict) {
		c.refuse(patch.Node, patch.Pod, patch.UID)
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("patch of pod %s: %w", patch.Pod, err)
	}
	changesSpec := !apiequality.Semantic.DeepEqual(patched.Spec, p.Spec)
	if changesSpec && slices.Contains(c.behavior.Refusing, p.Spec.NodeName) {
		c.refuse(patch.Node, patch.Pod, patch.UID)
		const message = "denied by a webhook"
		c.refused = append(c.refused, rollout.RefusedPatch{
			UID: patch.UID, Revision: patch.Revision, Reason: patch.Reason, Message: message,
		})
		return false, nil
	}
	if changesSpec || !kubelet.SameEnvironment(patched, p.Pod) {
		p.changed = c.now
	}
	kind := PodPatched
	if apiserver.UpdatedInPlace(p.Pod, patched) {
		kind = PodUpdated
	}
	c.replace(p, patched)
	c.record(kind, p.Pod)
	if apiserver.Released(p.Pod) {
		c.remove(p)
		c.record(PodGone, p.Pod)
	}
	return true, nil
}

// revise carries out a revision action.
func (c *Cluster) revise(action *rollout.RevisionAction) error {
	uid := types.UID("revision-" + action.Name + "-" + strconv.Itoa(len(c.requests)))
	after, done, detail, err := apiserver.Revise(c.revisions, action, c.now, uid)
	if err != nil {
		return err
	}
	kind := Refused
	if done {
		kind = revisionEvent(action.Verb)
	}
	c.revisions = after
	c.events = append(c.events, Event{At: c.now, Kind: kind, Object: action.Name, UID: action.UID, Detail: detail})
	return nil
}

// revisionEvent is the event of an action that took effect.
func revisionEvent(verb rollout.RevisionVerb) EventKind {
	switch verb {
	case rollout.CreateRevision:
		return RevisionCreated
	case rollout.RenumberRevision:
		return RevisionRenumbered
	case rollout.AnnotateRevision:
		return RevisionAnnotated
	default:
		return RevisionDeleted
	}
}

// delete marks a pod, or removes it if nobody knows of it.
func (c *Cluster) delete(action *rollout.Delete) {
	p := c.find(action.UID, action.Pod)
	if p == nil {
		c.refuse(action.Node, action.Pod, action.UID)
		return
	}
	c.mark(p)
	c.record(PodDeleted, p.Pod)
}

// mark asks the API server to delete the pod.
func (c *Cluster) mark(p *simulated) {
	switch marked := apiserver.Delete(p.Pod, c.now); marked {
	case nil:
		c.remove(p)
	case p.Pod:
	default:
		c.replace(p, marked)
		p.since = c.now
	}
}

func (c *Cluster) remove(p *simulated) {
	c.pods = slices.DeleteFunc(c.pods, func(other *simulated) bool { return other == p })
}

func (c *Cluster) create(action rollout.Create) error {
	pod, err := c.planner.Pod(action)
	if err != nil {
		return err
	}
	c.created++
	number := strconv.Itoa(c.created)
	apiserver.Admit(pod, fmt.Sprintf("%sx%04d", pod.GenerateName, c.created), types.UID(createdUID+number), c.now)
	pod.ResourceVersion = c.nextVersion()
	c.pods = append(c.pods, c.newSimulated(pod))
	c.record(PodCreated, pod)
	return nil
}
