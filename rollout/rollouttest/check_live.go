package rollouttest

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout"
)

// CheckLive checks V16, and V18 for whatever state the snapshot is in: a cluster that begins there settles within
// [Cluster.Steps], and then
//   - every node that is to run the pod has exactly one pod, at the update revision and available;
//   - no node that the pod must leave has one, and no pod is pinned to a node that does not exist;
//   - the plan stays empty, an hour and a year later, and with the memory lost.
//
// Nothing in the spec may hold nodes back (see [Released]), and the behavior must let pods of the update revision
// become Ready.
func CheckLive(spec rollout.Spec, plan PlanFunc, snapshot rollout.Snapshot, behavior Behavior) error {
	c, r, err := settle(spec, plan, snapshot, behavior)
	if err != nil {
		return fmt.Errorf("V16: %w", err)
	}
	if err := arrived(c); err != nil {
		return fmt.Errorf("V16: settled after %d steps, but %w\n%s", r.Steps, err, history(c))
	}
	for _, later := range []time.Duration{0, time.Hour, 365 * 24 * time.Hour} {
		for _, memory := range []rollout.Memory{r.Plan.Memory, {}} {
			s := c.Snapshot()
			s.Now, s.Memory = s.Now.Add(later), memory
			switch p, err := plan(s); {
			case err != nil:
				return fmt.Errorf("V16: settled, but %v later: %w", later, err)
			case !p.Empty():
				return fmt.Errorf("V16: settled, but %v later the plan has %d actions: %s", later, Actions(p), actions(p))
			}
		}
	}
	return nil
}

// CheckNoThrash checks V17 on the way that [CheckLive] takes. Since the spec stays as it is and kubelets are fair,
// whatever the state at the beginning:
//   - each node gets at most one pod;
//   - no pod that was created on the way is deleted;
//   - no pod is deleted twice.
//
// So a node is recreated at most once, and pods that were there from the beginning are deleted at most once each.
func CheckNoThrash(spec rollout.Spec, plan PlanFunc, snapshot rollout.Snapshot, behavior Behavior) error {
	c, _, err := settle(spec, plan, snapshot, behavior)
	if err != nil && !errors.Is(err, errUnsettled) {
		return fmt.Errorf("V17: %w", err)
	}
	if err := thrash(c.events); err != nil {
		return fmt.Errorf("V17: %w\n%s", err, history(c))
	}
	return nil
}

// CheckSafeAlong checks with [rollout.Verify] every plan on the way of [CheckLive], wherever it leads: the spec may
// hold nodes back, and pods may never become Ready.
func CheckSafeAlong(spec rollout.Spec, plan PlanFunc, snapshot rollout.Snapshot, behavior Behavior) error {
	c, err := NewCluster(spec, snapshot, behavior)
	if err != nil {
		return err
	}
	_, err = c.Run(plan, c.Steps(), func(s rollout.Snapshot, p rollout.Plan) error { return verify(spec, s, p) })
	if err != nil {
		return fmt.Errorf("%w\n%s", err, history(c))
	}
	return nil
}

var errUnsettled = errors.New("not settled")

func settle(spec rollout.Spec, plan PlanFunc, begin rollout.Snapshot, behavior Behavior) (*Cluster, Result, error) {
	c, err := NewCluster(spec, begin, behavior)
	if err != nil {
		return nil, Result{}, err
	}
	r, err := c.Run(plan, c.Steps(), nil)
	if err == nil && !r.Settled {
		err = fmt.Errorf("%w after %d steps; last plan: %s\n%s", errUnsettled, r.Steps, actions(r.Plan), history(c))
	}
	return c, r, err
}

// arrived looks at the objects alone, not at what a plan says about them.
func arrived(c *Cluster) error {
	matcher, err := placement.Compile(&c.spec.Template)
	if err != nil {
		return err
	}
	on := map[string][]*corev1.Pod{}
	for _, p := range c.pods {
		if node, ok := placement.TargetNode(p.Pod); ok {
			on[node] = append(on[node], p.Pod)
		}
	}
	for _, name := range sortedKeys(c.nodes) {
		pods := on[name]
		delete(on, name)
		var err error
		switch matcher.Evaluate(c.nodes[name]).Outcome {
		case placement.Run:
			err = c.runs(pods)
		case placement.Leave:
			if len(pods) > 0 {
				err = fmt.Errorf("has %d pods and should have none", len(pods))
			}
		case placement.Keep:
			if len(pods) > 2 {
				err = fmt.Errorf("has %d pods, more than one of each kind", len(pods))
			}
		}
		if err != nil {
			return fmt.Errorf("node %s %w", name, err)
		}
	}
	for _, name := range sortedKeys(on) {
		return fmt.Errorf("pod %s is still pinned to %s, which does not exist", on[name][0].Name, name)
	}
	return nil
}

// runs tells what is wrong with the pods of a node that is to run one.
func (c *Cluster) runs(pods []*corev1.Pod) error {
	if len(pods) != 1 {
		return fmt.Errorf("has %d pods instead of one", len(pods))
	}
	switch p := pods[0]; {
	case !c.updated(p):
		return fmt.Errorf("has pod %s, which is outdated", p.Name)
	case p.DeletionTimestamp != nil:
		return fmt.Errorf("has pod %s, which is terminating", p.Name)
	case !lifecycle.Available(p, c.spec.MinReadySeconds, c.now):
		return fmt.Errorf("has pod %s, which is not available", p.Name)
	}
	return nil
}

// updated tells whether the pod is at the update revision: its hash is that of a revision with the template's data,
// or it has none and its template generation is the set's (R2, R5).
func (c *Cluster) updated(p *corev1.Pod) bool {
	hash, labelled := p.Labels[appsv1.DefaultDaemonSetUniqueLabelKey]
	if !labelled {
		generation := c.spec.TemplateGeneration
		return generation != nil && p.Labels[rollout.TemplateGenerationLabel] == strconv.FormatInt(*generation, 10)
	}
	return slices.ContainsFunc(c.revisions, func(r *appsv1.ControllerRevision) bool {
		return r.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] == hash && holds(r, &c.spec.Template)
	})
}

func thrash(events []Event) error {
	created := map[string]types.UID{}
	deleted := map[types.UID]bool{}
	for _, e := range events {
		switch e.Kind {
		case PodCreated:
			if created[e.Node] != "" {
				return fmt.Errorf("node %s gets a second pod, %s", e.Node, e.Object)
			}
			created[e.Node] = e.UID
		case PodDeleted:
			switch {
			case deleted[e.UID]:
				return fmt.Errorf("pod %s is deleted twice", e.Object)
			case created[e.Node] == e.UID:
				return fmt.Errorf("pod %s is deleted, which was created on the way", e.Object)
			}
			deleted[e.UID] = true
		default: // neither makes nor ends a pod
		}
	}
	return nil
}

// actions lists the actions of a plan in a few words.
func actions(p rollout.Plan) string {
	if p.Empty() {
		return "no action"
	}
	var words []string
	for _, a := range p.Revisions {
		words = append(words, fmt.Sprintf("%s revision %s", a.Verb, a.Name))
	}
	for _, a := range p.Patches {
		words = append(words, fmt.Sprintf("patch %s (%s)", a.Pod, a.Reason))
	}
	for _, a := range p.Deletes {
		words = append(words, fmt.Sprintf("delete %s (%s)", a.Pod, a.Reason))
	}
	for _, a := range p.Creates {
		words = append(words, fmt.Sprintf("create on %s (%s)", a.Node, a.Reason))
	}
	return strings.Join(words, "; ")
}
