package properties_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/internal/harness"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/predownload"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/verify"
)

// witnessVerify is the verifier (V1 to V15).
func witnessVerify(s *moment) error {
	var errs []error
	for _, v := range verify.Plan(s.spec, s.seen, &s.decided) {
		errs = append(errs, errors.New(v.String()))
	}
	return errors.Join(errs...)
}

// witnessBudget counts the nodes without a Ready pod (V1).
func witnessBudget(s *moment) error {
	for _, at := range []rollout.Snapshot{s.before, s.after} {
		if without := s.without(at); len(without) > s.count {
			return fmt.Errorf("V1: nodes %v have no Ready pod, %d may", without, s.count)
		}
	}
	return nil
}

// without lists the nodes without a Ready pod.
func (s *moment) without(at rollout.Snapshot) []string {
	var list []string
	for _, node := range at.Nodes {
		if !slices.ContainsFunc(onNode(at, node.Name), func(p *corev1.Pod) bool {
			return p.Status.Phase == corev1.PodRunning && isTrue(p, corev1.PodReady) && gatesOpen(p) &&
				(revisionOf(p) != s.update || asSpec(p)) // outdated pods serve while they are Ready (B2)
		}) {
			list = append(list, node.Name)
		}
	}
	return list
}

// asSpec tells whether the pod's container has the resources of its spec.
func asSpec(p *corev1.Pod) bool {
	if len(p.Status.ContainerStatuses) == 0 || p.Status.ContainerStatuses[0].Resources == nil {
		return true // nobody says
	}
	return reflect.DeepEqual(p.Spec.Containers[0].Resources, *p.Status.ContainerStatuses[0].Resources)
}

func gatesOpen(p *corev1.Pod) bool {
	return !slices.ContainsFunc(p.Spec.ReadinessGates, func(gate corev1.PodReadinessGate) bool { return !isTrue(p, gate.ConditionType) })
}

// witnessHeld sees to it that nothing is done to nodes that are held (V5, V6), nor anything begun while paused (T4).
func witnessHeld(s *moment) error {
	strategy := s.spec.Strategy
	for _, d := range s.plan.Deletes {
		if err := s.mayBegin(d.Node, d.UID, "deleted"); err != nil {
			return err
		}
	}
	for _, p := range s.before.Pods {
		if now := podWith(s.after, p.UID); now != nil && revisionOf(now) != revisionOf(p) {
			if err := s.mayBegin(nodeOf(p), p.UID, "updated"); err != nil {
				return err
			}
		}
	}
	if (strategy.Paused || strategy.Frozen) && len(s.plan.Pulls) > 0 {
		return errors.New("V6: pull while paused")
	}
	if len(s.behavior.Failing) > 0 || strategy.Type == rollout.OnDelete {
		return nil // an outdated pod that fails is lost
	}
	atFirst, still := 0, 0
	for _, node := range s.begin.Nodes {
		if s.old(s.begin, node.Name) {
			atFirst++
		}
		if s.spec.Strategy.HoldRevision && len(onNode(s.begin, node.Name)) == 0 {
			return nil // a place may be taken for a pod that is lost, and then nobody knows any more what it was
		}
		// With holdRevision a node that has lost its pod can take a place: the old one comes back.
		if s.old(s.after, node.Name) || s.spec.Strategy.HoldRevision && len(onNode(s.after, node.Name)) == 0 {
			still++
		}
	}
	if held := min(s.partition(), atFirst); still < held {
		return fmt.Errorf("V5: %d nodes are outdated still, %d are held", still, held)
	}
	return nil
}

func (s *moment) mayBegin(node string, uid types.UID, what string) error {
	i := slices.IndexFunc(s.begin.Nodes, func(n *corev1.Node) bool { return n.Name == node })
	p := podWith(s.before, uid)
	if p == nil || p.Status.Phase == corev1.PodFailed {
		return nil // gone already, or repair
	}
	first := podWith(s.begin, uid)
	switch {
	case s.outside(s.begin.Nodes[i]):
		return fmt.Errorf("V6: pod %s is %s, on a node that the selector holds", p.Name, what)
	case !s.spec.Strategy.Paused:
	case first == nil || lifecycle.StateOf(first) == lifecycle.PreparingDelete || lifecycle.StateOf(first) == lifecycle.PreparingUpdate ||
		!isTrue(first, lifecycle.InPlaceUpdateReady) && carriesGate(first):
	default:
		return fmt.Errorf("V6: pod %s is %s while paused, and was not begun before", p.Name, what)
	}
	return nil
}

func carriesGate(p *corev1.Pod) bool {
	return slices.Contains(p.Spec.ReadinessGates, corev1.PodReadinessGate{ConditionType: lifecycle.InPlaceUpdateReady})
}

// witnessIdentity sees to it that pods which can be updated in place are (V9, V17), and that what a chapter made it does
// not make again.
func witnessIdentity(s *moment) error {
	for _, d := range s.plan.Deletes {
		p := podWith(s.begin, d.UID)
		if p != nil && s.stays(p) && len(s.behavior.Failing) == 0 {
			return fmt.Errorf("V17: pod %s is deleted, and could be updated in place", d.Pod)
		}
	}
	created, deleted, updated := map[string]types.UID{}, map[types.UID]bool{}, map[types.UID]bool{}
	for _, e := range s.events {
		switch e.Kind {
		case harness.PodCreated:
			if created[e.Node] != "" && len(s.behavior.Failing) == 0 {
				return fmt.Errorf("V17: node %s gets a second pod", e.Node)
			}
			created[e.Node] = e.UID
		case harness.PodDeleted:
			if len(s.behavior.Failing) > 0 {
				continue
			}
			if deleted[e.UID] || updated[e.UID] || created[e.Node] == e.UID {
				return fmt.Errorf("V17: pod %s is deleted, which was deleted, updated or created before", e.Object)
			}
			deleted[e.UID] = true
		case harness.PodUpdated:
			if updated[e.UID] || created[e.Node] == e.UID {
				return fmt.Errorf("V17: pod %s is updated, which was updated or created before", e.Object)
			}
			updated[e.UID] = true
			if s.spec.Strategy.Method != inplace.IfPossible && s.spec.Strategy.Method != inplace.Only {
				return fmt.Errorf("V9: pod %s is updated in place, and nobody wants that", e.Object)
			}
		}
	}
	return nil
}

// stays tells whether the pod is to keep its place: it is of the update revision, or it can be brought there in place.
func (s *moment) stays(p *corev1.Pod) bool {
	if p.DeletionTimestamp != nil || p.Status.Phase != corev1.PodRunning || lifecycle.StateOf(p) == lifecycle.PreparingDelete {
		return false
	}
	if revisionOf(p) == s.update || s.spec.Strategy.Method == inplace.Only {
		return true
	}
	from := s.templates[revisionOf(p)]
	return s.spec.Strategy.Method == inplace.IfPossible && carriesGate(p) && from != nil &&
		fitsInPlace(from, &s.spec.Template)
}

// fitsInPlace: the templates of stories differ in image, label, request and environment, of which the last recreates.
func fitsInPlace(from, to *corev1.PodTemplateSpec) bool {
	return len(from.Spec.Containers[0].Env) == len(to.Spec.Containers[0].Env)
}

// witnessHooks sees to it that no pod is deleted or updated in place before its hook lets it go (V8, L3).
func witnessHooks(s *moment) error {
	for _, d := range s.plan.Deletes {
		if p := podWith(s.before, d.UID); p != nil && carries(p, s.spec.Lifecycle.PreDelete) {
			return fmt.Errorf("V8: pod %s is deleted, and its hook holds it", p.Name)
		}
	}
	for _, p := range s.before.Pods {
		if lifecycle.StateOf(p) == lifecycle.Updating {
			continue // it was let go already, whatever it carries since
		}
		if now := podWith(s.after, p.UID); now != nil && imageOf(now) != imageOf(p) && carries(p, s.spec.Lifecycle.InPlaceUpdate) {
			return fmt.Errorf("L3: pod %s is updated in place, and its hook holds it", p.Name)
		}
	}
	return nil
}

func carries(p *corev1.Pod, hook *lifecycle.Hook) bool {
	if hook == nil {
		return false
	}
	for key, value := range hook.Labels {
		if p.Labels[key] == value {
			return true
		}
	}
	return slices.ContainsFunc(hook.Finalizers, func(f string) bool { return slices.Contains(p.Finalizers, f) })
}

func imageOf(p *corev1.Pod) string { return p.Spec.Containers[0].Image }

// witnessPulls counts pulls per image, and sees to it that they are where an update waits (V10, D1).
func witnessPulls(s *moment) error {
	if s.Spec.PreDownload == nil {
		return nil
	}
	count := map[string]int{}
	for _, pull := range s.after.InFlight.Pulls {
		count[pull.Image]++
	}
	for image, n := range count {
		if most := int(s.Spec.PreDownload.Parallelism.IntVal); n > most {
			return fmt.Errorf("V10: %d pulls of %s at a time, %d may", n, image, most)
		}
	}
	for _, pull := range s.plan.Pulls {
		i := slices.IndexFunc(s.begin.Nodes, func(n *corev1.Node) bool { return n.Name == pull.Node })
		switch {
		case slices.Contains(s.before.InFlight.Pulls, predownload.Request{Node: pull.Node, Image: pull.Image}):
			return fmt.Errorf("V14: pull on node %s, which is under way", pull.Node)
		case pull.Image != s.spec.Template.Spec.Containers[0].Image:
			return fmt.Errorf("D1: pull of %s, which no update needs", pull.Image)
		case s.outside(s.begin.Nodes[i]) || s.spec.Strategy.Paused:
			return fmt.Errorf("D1: pull on node %s, which is held", pull.Node)
		case !s.old(s.before, pull.Node):
			return fmt.Errorf("D1: pull on node %s, which is not outdated", pull.Node)
		case slices.ContainsFunc(s.before.Nodes[i].Status.Images, func(c corev1.ContainerImage) bool { return slices.Contains(c.Names, pull.Image) }):
			return fmt.Errorf("D1: pull on node %s, which has the image", pull.Node)
		}
	}
	return nil
}

// witnessTruth sees to it that pods are what their revision says at any time (V9), and that containers change in pods
// that are not ready, and have not been for the grace period (I4).
func witnessTruth(s *moment) error {
	for _, p := range s.after.Pods {
		template := s.templates[revisionOf(p)]
		if template == nil {
			return fmt.Errorf("V9: pod %s is of revision %q, which never was", p.Name, revisionOf(p))
		}
		want := template.Spec.Containers[0]
		if imageOf(p) != want.Image {
			return fmt.Errorf("V9: pod %s has image %s, its revision says %s", p.Name, imageOf(p), want.Image)
		}
		if key := "tier"; p.Labels[key] != template.Labels[key] {
			return fmt.Errorf("V9: pod %s has label %q, its revision says %q", p.Name, p.Labels[key], template.Labels[key])
		}
		// A resize comes in a patch of its own, before the others.
		cpu := p.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU]
		if s.world.part == 0 && cpu.Cmp(want.Resources.Requests[corev1.ResourceCPU]) != 0 {
			return fmt.Errorf("V9: pod %s has %s of cpu, its revision says another amount", p.Name, cpu.String())
		}
		// Of images with one ID nobody can tell which one a container was started from, within a second.
		if status := p.Status.ContainerStatuses; s.behavior.SameID == nil && isTrue(p, lifecycle.InPlaceUpdateReady) && len(status) > 0 && status[0].Image != imageOf(p) {
			return fmt.Errorf("I5: pod %s is made ready, and still runs %s", p.Name, status[0].Image)
		}
		if err := s.quietly(p); err != nil {
			return err
		}
	}
	return nil
}

func (s *moment) quietly(p *corev1.Pod) error {
	was := podWith(s.before, p.UID)
	if was == nil || imageOf(was) == imageOf(p) {
		return nil
	}
	grace := time.Duration(s.spec.Strategy.InPlace.GracePeriodSeconds) * time.Second
	if isTrue(p, lifecycle.InPlaceUpdateReady) {
		return fmt.Errorf("I4: the image of pod %s changes, and it is not made unready", p.Name)
	}
	if grace == 0 {
		return nil
	}
	for _, c := range was.Status.Conditions {
		if c.Type == lifecycle.InPlaceUpdateReady && c.Status == corev1.ConditionFalse && !s.before.Now.Before(c.LastTransitionTime.Add(grace)) {
			return nil
		}
	}
	return fmt.Errorf("I4: the image of pod %s changes before its grace period of %s is over", p.Name, grace)
}

// witnessEnd sees to it that what can be updated is in the end, that nothing more is, and that nothing hangs (V16).
func witnessEnd(s *moment) error {
	at := s.after
	outside, inside := 0, []string(nil)
	for _, node := range at.Nodes {
		if !s.old(at, node.Name) {
			continue
		}
		p := onNode(at, node.Name)[0]
		switch {
		case s.outside(node):
			outside++
		case s.world.unfair && slices.Contains(s.begun(at), node.Name):
		case s.spec.Strategy.Method == inplace.Only && !s.canInPlace(p):
		default:
			inside = append(inside, node.Name)
		}
	}
	waiting := len(inside) - max(0, s.partition()-outside)
	if waiting > 0 && (!s.world.bad || len(s.begun(at)) < s.count) {
		return fmt.Errorf("V16: nodes %v are outdated, and only %d are held", inside, s.partition()-outside)
	}
	if s.world.unfair {
		return nil
	}
	without := s.without(at)
	for _, node := range at.Nodes {
		pods := onNode(at, node.Name)
		if len(pods) != 1 {
			return fmt.Errorf("V16: node %s has %d pods", node.Name, len(pods))
		}
		p := pods[0]
		switch {
		case s.old(at, node.Name) && s.world.bad:
			continue // held at what may never have been good
		case slices.Contains(without, node.Name):
			return fmt.Errorf("V16: node %s has no Ready pod", node.Name)
		}
		switch state := lifecycle.StateOf(p); state {
		case "", lifecycle.Normal:
		default:
			return fmt.Errorf("V16: pod %s is %s for ever", p.Name, state)
		}
		if completion := inplace.Completed(p); !completion.Done {
			return fmt.Errorf("V16: the update of pod %s never completes: %v", p.Name, completion.Waits)
		}
	}
	return nil
}

func (s *moment) canInPlace(p *corev1.Pod) bool {
	from := s.templates[revisionOf(p)]
	return carriesGate(p) && from != nil && fitsInPlace(from, &s.spec.Template)
}

// begun lists the nodes that use up the budget: they have no Ready pod, or one that is on its way through a hook.
func (s *moment) begun(at rollout.Snapshot) []string {
	list := s.without(at)
	for _, node := range at.Nodes {
		if !slices.Contains(list, node.Name) && slices.ContainsFunc(onNode(at, node.Name), func(p *corev1.Pod) bool {
			state := lifecycle.StateOf(p)
			return state != "" && state != lifecycle.Normal
		}) {
			list = append(list, node.Name)
		}
	}
	return list
}
