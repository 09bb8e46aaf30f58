package daemon

// Compiled in the controller's package: what takes the place of its decisions.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	apps "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/klog/v2"
	testingclock "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"

	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/verify"
	"k8s.io/kubernetes/pkg/controller/daemon/util"
)

// plans is what the controller remembers from sync to sync, by the UID of the set.
type plans struct {
	mu     sync.Mutex
	memory map[types.UID]rollout.Memory
	// current revision of the template. The informer may not show it yet.
	current map[types.UID]*apps.ControllerRevision
}

// plan is made of what the informers show now, and says what stays the same until the controller acts.
func (dsc *DaemonSetsController) plan(
	ctx context.Context, ds *apps.DaemonSet, nodes []*v1.Node, revisions []*apps.ControllerRevision,
) (rollout.Plan, error) {
	pods, err := dsc.getDaemonPods(ctx, ds)
	if err != nil {
		return rollout.Plan{}, err
	}
	return dsc.planFor(ds, nodes, revisions, pods)
}

// planFor plans, and has the verifier look at the plan.
func (dsc *DaemonSetsController) planFor(
	ds *apps.DaemonSet, nodes []*v1.Node, revisions []*apps.ControllerRevision, pods []*v1.Pod,
) (plan rollout.Plan, err error) {
	defer func() { util.Asked("Plan", err) }()
	spec, err := dsc.specOf(ds)
	if err != nil {
		return rollout.Plan{}, err
	}
	planner, err := rollout.New(spec)
	if err != nil {
		return rollout.Plan{}, err
	}
	memory := dsc.memoryOf(ds)
	snapshot := rollout.Snapshot{
		Now: dsc.failedPodsBackoff.Clock.Now(), Nodes: nodes, Pods: pods, Revisions: util.Filled(revisions), Memory: memory,
	}
	if plan, err = planner.Plan(snapshot); err != nil {
		return rollout.Plan{}, err
	}
	for _, violation := range verify.Plan(spec, snapshot, &plan) { // noted, and done all the same: the tests are to judge it
		util.Asked("verify.Plan", errors.New(violation.String()))
	}
	return plan, nil
}

// memoryOf is that of the plan before. Collisions are in the status, too, which may lag behind.
func (dsc *DaemonSetsController) memoryOf(ds *apps.DaemonSet) rollout.Memory {
	dsc.planned.mu.Lock()
	defer dsc.planned.mu.Unlock()
	memory := dsc.planned.memory[ds.UID]
	memory.Version = rollout.MemoryVersion
	if stored := ds.Status.CollisionCount; stored != nil && *stored > ptr.Deref(memory.CollisionCount, 0) {
		memory.CollisionCount = stored
	}
	return memory
}

// specOf is what the set says. Budgets that are both 0, which the API server refuses, are unset: that is how the controller
// takes them.
func (dsc *DaemonSetsController) specOf(ds *apps.DaemonSet) (rollout.Spec, error) {
	spec, err := util.SpecOf(ds)
	if err != nil {
		return rollout.Spec{}, err
	}
	spec.Burst = new(intstr.FromInt(dsc.burstReplicas))
	zero := func(v *intstr.IntOrString) bool { return v != nil && *v == intstr.FromInt32(0) }
	if s := &spec.Strategy; zero(s.MaxUnavailable) && (s.MaxSurge == nil || zero(s.MaxSurge)) {
		s.MaxUnavailable, s.MaxSurge = nil, nil
	}
	return spec, nil
}

// planHere plans for the revision that constructHistory has found or made.
func (dsc *DaemonSetsController) planHere(
	ctx context.Context, ds *apps.DaemonSet, nodes []*v1.Node, hash string,
) (rollout.Plan, error) {
	revisions, err := dsc.controlledHistories(ctx, ds)
	if err != nil {
		return rollout.Plan{}, err
	}
	dsc.planned.mu.Lock()
	current := dsc.planned.current[ds.UID]
	dsc.planned.mu.Unlock()
	isCurrent := func(r *apps.ControllerRevision) bool { return r.Name == current.Name }
	if current != nil && !slices.ContainsFunc(revisions, isCurrent) {
		revisions = append(revisions, current)
	}
	plan, err := dsc.plan(ctx, ds, nodes, revisions)
	if err == nil && plan.Status.UpdateRevision != hash {
		err = fmt.Errorf("the plan is for revision %s, the sync for %s", plan.Status.UpdateRevision, hash)
		util.Asked("Plan", err)
	}
	return plan, err
}

// manage does what the plan says about pods, the update included.
func (dsc *DaemonSetsController) manage(ctx context.Context, ds *apps.DaemonSet, nodes []*v1.Node, hash string) error {
	plan, err := dsc.planHere(ctx, ds, nodes, hash)
	if err != nil {
		return err
	}
	dsc.remember(ds, plan.Memory)
	var deletes, creates []string
	for _, d := range plan.Deletes {
		deletes = append(deletes, d.Pod)
		switch d.Reason {
		case rollout.ReasonFailed, rollout.ReasonOutdatedFailed:
			dsc.eventRecorder.Eventf(ds, v1.EventTypeWarning, FailedDaemonPodReason, "%s on %s: %v", d.Pod, d.Node, d.Reason)
		case rollout.ReasonSucceeded:
			dsc.eventRecorder.Eventf(ds, v1.EventTypeNormal, SucceededDaemonPodReason, "%s on %s: %v", d.Pod, d.Node, d.Reason)
		}
	}
	for _, c := range plan.Creates {
		if c.Revision != hash || c.Template != nil {
			err := fmt.Errorf("%s is to get revision %s, not %s", c.Node, c.Revision, hash)
			util.Asked("Plan", err)
			return err
		}
		creates = append(creates, c.Node)
	}
	return dsc.syncNodes(ctx, ds, deletes, creates, hash)
}

// rollingUpdate has nothing left to do: a plan holds the update as well.
func (dsc *DaemonSetsController) rollingUpdate(context.Context, *apps.DaemonSet, []*v1.Node, string) error {
	return nil
}

// remember keeps the memory for the next plan, and shows its back-offs where the controller has its own: the tests ask there.
func (dsc *DaemonSetsController) remember(ds *apps.DaemonSet, memory rollout.Memory) {
	dsc.planned.mu.Lock()
	defer dsc.planned.mu.Unlock()
	if dsc.planned.memory == nil {
		dsc.planned.memory = make(map[types.UID]rollout.Memory)
	}
	dsc.planned.memory[ds.UID] = memory
	const initial, most = time.Second, 15 * time.Minute
	shown := flowcontrol.NewBackOff(initial, most)
	for _, b := range memory.Backoffs {
		shown.Clock = testingclock.NewFakeClock(b.Since)
		for key := failedPodsBackoffKey(ds, b.Node); shown.Get(key) < min(b.Delay, most); {
			shown.Next(key, b.Since)
		}
	}
	shown.Clock = dsc.failedPodsBackoff.Clock
	dsc.failedPodsBackoff = shown
}

// updateDaemonSetStatus stores the counters of a plan, and comes back when that plan says so.
func (dsc *DaemonSetsController) updateDaemonSetStatus(
	ctx context.Context, ds *apps.DaemonSet, nodes []*v1.Node, hash string, observed bool,
) error {
	if benchmarked != "" {
		return dsc.planStatus(ctx, ds, nodes, observed)
	}
	plan, err := dsc.planHere(ctx, ds, nodes, hash)
	if err != nil {
		return err
	}
	if err := dsc.store(ctx, ds, plan.Status.DaemonSetStatus(), observed); err != nil {
		return err
	}
	if !plan.NextWake.IsZero() {
		dsc.enqueueDaemonSetAfter(ds, plan.RequeueAfter(dsc.failedPodsBackoff.Clock.Now()))
	}
	return nil
}

// store stores a status.
func (dsc *DaemonSetsController) store(ctx context.Context, ds *apps.DaemonSet, s apps.DaemonSetStatus, observed bool) error {
	if s.CollisionCount != ds.Status.CollisionCount {
		ds = ds.DeepCopy()
		ds.Status.CollisionCount = s.CollisionCount
	}
	_, err := storeDaemonSetStatus(ctx, dsc.kubeClient.AppsV1().DaemonSets(ds.Namespace), ds,
		int(s.DesiredNumberScheduled), int(s.CurrentNumberScheduled), int(s.NumberMisscheduled), int(s.NumberReady),
		int(s.UpdatedNumberScheduled), int(s.NumberAvailable), int(s.NumberUnavailable), observed)
	if err != nil {
		return fmt.Errorf("status: %w", err)
	}
	return nil
}

// constructHistory writes what the plan says about revisions, up to those to be deleted, and relabels pods of duplicates.
func (dsc *DaemonSetsController) constructHistory(
	ctx context.Context, ds *apps.DaemonSet,
) (current *apps.ControllerRevision, old []*apps.ControllerRevision, err error) {
	nodes, err := dsc.nodeLister.List(labels.Everything())
	if err != nil {
		return nil, nil, err
	}
	revisions, err := dsc.controlledHistories(ctx, ds)
	if err != nil {
		return nil, nil, err
	}
	plan, err := dsc.plan(ctx, ds, nodes, revisions)
	if err != nil {
		return nil, nil, err
	}
	client := dsc.kubeClient.AppsV1().ControllerRevisions(ds.Namespace)
	for _, action := range plan.Revisions {
		switch action.Verb {
		case rollout.CreateRevision:
			current, err = dsc.createRevision(ctx, ds, action)
		case rollout.RenumberRevision:
			current, err = client.Patch(ctx, action.Name, types.MergePatchType, action.Patch(), metav1.PatchOptions{})
		}
		if err != nil {
			return nil, nil, err
		}
	}
	for _, p := range plan.Patches {
		if p.Reason != rollout.ReasonDuplicateRevision {
			err = fmt.Errorf("%s is to be patched: %v", p.Pod, p.Reason)
			util.Asked("Plan", err)
			return nil, nil, err
		}
		if _, err = dsc.kubeClient.CoreV1().Pods(ds.Namespace).Patch(ctx, p.Pod, p.Type, p.Data, metav1.PatchOptions{}); err != nil {
			return nil, nil, err
		}
	}
	for _, r := range revisions {
		switch {
		case current == nil && r.Labels[apps.DefaultDaemonSetUniqueLabelKey] == plan.Status.UpdateRevision:
			current = r
		case current == nil || r.Name != current.Name:
			old = append(old, r)
		}
	}
	if current == nil {
		return nil, nil, fmt.Errorf("no revision %s", plan.Status.UpdateRevision)
	}
	dsc.planned.mu.Lock()
	defer dsc.planned.mu.Unlock()
	if dsc.planned.current == nil {
		dsc.planned.current = make(map[types.UID]*apps.ControllerRevision)
	}
	dsc.planned.current[ds.UID] = current
	return current, old, nil
}

// createRevision creates it, or finds that it is there. If the name is taken by a revision that is not the set's, the plan is made
// again with another one.
func (dsc *DaemonSetsController) createRevision(
	ctx context.Context, ds *apps.DaemonSet, action rollout.RevisionAction,
) (*apps.ControllerRevision, error) {
	memory := dsc.memoryOf(ds)
	object, err := util.AsWritten(action.Object, ds, memory.CollisionCount)
	if err != nil {
		return nil, err
	}
	client := dsc.kubeClient.AppsV1().ControllerRevisions(ds.Namespace)
	made, err := client.Create(ctx, object, metav1.CreateOptions{})
	if !apierrors.IsAlreadyExists(err) {
		return made, err
	}
	if made, err = client.Get(ctx, object.Name, metav1.GetOptions{}); err != nil {
		return nil, err
	}
	if metav1.IsControlledBy(made, ds) && bytes.Equal(made.Data.Raw, object.Data.Raw) {
		return made, nil
	}
	dsc.remember(ds, memory.Collided())
	current, _, err := dsc.constructHistory(ctx, ds)
	return current, err
}

// cleanupHistory deletes the revisions that the plan does not need any more.
func (dsc *DaemonSetsController) cleanupHistory(ctx context.Context, ds *apps.DaemonSet, _ []*apps.ControllerRevision) error {
	nodes, err := dsc.nodeLister.List(labels.Everything())
	if err != nil {
		return err
	}
	dsc.planned.mu.Lock()
	hash := dsc.planned.current[ds.UID].Labels[apps.DefaultDaemonSetUniqueLabelKey]
	dsc.planned.mu.Unlock()
	plan, err := dsc.planHere(ctx, ds, nodes, hash)
	if err != nil {
		return err
	}
	for _, action := range plan.Revisions {
		if action.Verb == rollout.DeleteRevision {
			err := dsc.kubeClient.AppsV1().ControllerRevisions(ds.Namespace).Delete(ctx, action.Name, metav1.DeleteOptions{})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// NodeShouldRunDaemonPod is the verdict of the placement.
func NodeShouldRunDaemonPod(_ klog.Logger, node *v1.Node, ds *apps.DaemonSet) (run, stay bool) {
	matcher, err := placement.Compile(&ds.Spec.Template)
	util.Asked("placement", err)
	outcome := matcher.Evaluate(node).Outcome
	return outcome == placement.Run, outcome != placement.Leave
}

// updatedDesiredNodeCounts are the budgets of a plan.
func (dsc *DaemonSetsController) updatedDesiredNodeCounts(
	_ context.Context, ds *apps.DaemonSet, nodes []*v1.Node, podsOf map[string][]*v1.Pod,
) (maxSurge, maxUnavailable, desired int, err error) {
	var pods []*v1.Pod
	for _, of := range podsOf {
		pods = append(pods, util.Identified(of)...)
	}
	plan, err := dsc.planFor(ds, nodes, nil, pods)
	if err != nil {
		return 0, 0, 0, err
	}
	for i := range plan.Decisions {
		if d := &plan.Decisions[i]; d.Placement.Outcome == placement.Run && podsOf[d.Node] == nil {
			podsOf[d.Node] = nil
		}
	}
	return int(plan.Budget.MaxSurge), int(plan.Budget.MaxUnavailable), int(plan.Budget.Desired), nil
}
