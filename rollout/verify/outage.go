package verify

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/history"
	"github.com/daemonplan/daemonplan/rollout/outage"
)

// outageFacts are what the object of a node says of outages (B9, M8). They are zero where the spec asks for no such policy.
type outageFacts struct {
	out      bool      // it is departing, or not Ready
	outSince time.Time // zero: unknown
	// leftAlone: it departs, so that nothing is created, deleted or begun there.
	leftAlone bool
	// drained: it is being drained, or has been, so that no update is begun there.
	drained bool
}

// departs names what the policy goes by beside the deletion mark (M8).
var (
	departingTaints = []string{
		"ToBeDeletedByClusterAutoscaler", "karpenter.sh/disrupted", "node.kubernetes.io/out-of-service",
	}
	departingConditions = []corev1.NodeConditionType{"GracefulNodeShutdownInProgress", "MaintenanceInProgress"}
	drainConditions     = []corev1.NodeConditionType{"DrainInProgress", "Drained"}
)

func (t *terms) readOutage(node *corev1.Node) outageFacts {
	options := t.spec.Strategy.Policy.Outages
	if t.spec.Strategy.Type != rollout.RollingUpdate || options == nil && t.spec.Strategy.Policy.Failures == nil {
		return outageFacts{}
	}
	if options == nil {
		options = &outage.Options{Touch: true} // what takes nodes down is evidence all the same
	}
	var signs []time.Time
	if mark := node.DeletionTimestamp; mark != nil {
		signs = append(signs, deletionRequested(node.DeletionTimestamp.Time, node.DeletionGracePeriodSeconds))
	}
	for _, taint := range node.Spec.Taints {
		if slices.Contains(departingTaints, taint.Key) || slices.Contains(options.Taints, taint.Key) {
			at := time.Time{}
			if taint.TimeAdded != nil {
				at = taint.TimeAdded.Time
			}
			signs = append(signs, at)
		}
	}
	ready, drained := false, false
	var notReady []time.Time
	for _, c := range node.Status.Conditions {
		departs := slices.Contains(departingConditions, c.Type) || slices.Contains(options.Conditions, string(c.Type))
		isTrue := c.Status == corev1.ConditionTrue
		if c.Type == corev1.NodeReady {
			ready = ready || isTrue
			if !isTrue {
				notReady = append(notReady, c.LastTransitionTime.Time)
			}
		} else if departs && isTrue {
			signs = append(signs, c.LastTransitionTime.Time)
		}
		drained = drained || isTrue && slices.Contains(drainConditions, c.Type)
	}
	facts := outageFacts{
		out: !ready || len(signs)+len(notReady) > 0, leftAlone: len(signs) > 0 && !options.Touch,
		drained: drained && len(signs) == 0 && !options.Touch,
	}
	known := slices.DeleteFunc(append(signs, notReady...), time.Time.IsZero)
	if len(known) > 0 {
		facts.outSince = slices.MinFunc(known, time.Time.Compare)
	}
	return facts
}

// deletionRequested is when a deletion was asked for: the mark is at the end of the grace period.
func deletionRequested(mark time.Time, grace *int64) time.Time {
	if grace == nil || *grace < 0 {
		return mark
	}
	return mark.Add(-time.Duration(min(*grace, 1<<32)) * time.Second)
}

// excused is B9: the node is out, and what its pods show is that the update has not taken it down.
func (v *verifier) excused(node *node) bool {
	excused, _ := v.evidence(node)
	return excused
}

// evidence is excused, and the instant from which a request that is not seen yet is later than the outage; zero: there is none.
func (v *verifier) evidence(node *node) (excused bool, tie time.Time) {
	if !node.out {
		return v.inherits(node), tie
	}
	return v.innocence(node, true)
}

// isNews reports whether the pod is of a revision that may have taken its node down: that where the node is to end, the update
// revision, or if asked for one that was given up.
func (v *verifier) isNews(p *pod, givenUp bool) bool {
	return p.atGoal || p.atUpdate || givenUp && slices.ContainsFunc(v.history.byHash[p.hash], history.Failed)
}

// inherits reports whether the node's pods were not available before anything was begun there, and nothing may be begun.
func (v *verifier) inherits(node *node) bool {
	closed := node.closed == rollout.LimitStage || node.closed == rollout.LimitSoak || node.closed == rollout.LimitApproval
	held := node.hold == rollout.LimitPartition || node.hold == rollout.LimitNodeSelector || node.hold == rollout.LimitUndeclared
	elsewhere := node.goesStable && v.onTrial()
	if node.outcome != placement.Run || len(node.pods) == 0 || !closed && !held && !elsewhere || node.requestsGoal {
		return false
	}
	return !slices.ContainsFunc(slices.Concat(node.pods, node.ignored), func(p *pod) bool {
		_, inHook := hookAsked(p.object)
		return v.isNews(p, true) || p.marked || inHook || p.patched || p.active() && p.avail && !p.leaving
	})
}

// innocence is whether a node that is out was down before its update began, or long enough after it. To be left out, that has to
// be so whatever is not seen yet, and also of a revision that was given up (givenUp); nobody is blamed for what is not seen.
func (v *verifier) innocence(node *node, givenUp bool) (innocent bool, tie time.Time) {
	var begins []time.Time
	var news []*pod
	started, requested, hooked := false, false, false
	for _, p := range slices.Concat(node.pods, node.ignored) {
		asked, inHook := hookAsked(p.object)
		isNew := v.isNews(p, givenUp)
		hooked = hooked || inHook && (isNew || !p.isDeleted)
		if inHook && !isNew {
			begins = append(begins, asked)
		}
		switch at, seen := v.updateSeen(p, givenUp); {
		case isNew:
			news = append(news, p)
			begins, started = append(begins, at), started || seen
		case p.isDeleted:
			begins = append(begins, at)
		case p.marked:
			requested = true
		}
		if givenUp && !isNew && p.patched {
			begins = append(begins, time.Time{}) // it may run the new revision by now, since nobody knows when
		}
	}
	if givenUp && node.requestsGoal {
		begins = append(begins, time.Time{}) // so may the pod that is not seen yet
	}
	unseen := givenUp && (node.requestsGoal ||
		slices.ContainsFunc(node.pods, func(p *pod) bool { return !v.isNews(p, givenUp) && p.patched }))
	if requested {
		begins = append(begins, v.snapshot.Now)
		tie = node.outSince.Truncate(time.Second).Add(time.Second)
	}
	if len(begins) == 0 && len(node.pods) == 0 {
		begins = append(begins, v.begunUnseen(node)...)
	}
	if len(begins) == 0 {
		return true, tie
	}
	if node.outSince.IsZero() {
		return false, time.Time{}
	}
	first := slices.MinFunc(begins, time.Time.Compare)
	if update := v.history.update; update != nil && !unseen { // nothing began before there was a revision
		first = latest(first, update.CreationTimestamp.Time)
	}
	sameSecond := node.outSince.Unix() == first.Unix() && !givenUp // which is no evidence for anybody
	if (node.outSince.Unix() < first.Unix() || sameSecond) && !started {
		return true, tie
	}
	options := v.spec.Strategy.Policy.Outages
	if options != nil && options.ProvenAfter > 0 && len(news) == 1 && !hooked {
		ran := ranSince(news[0].object)
		return !ran.IsZero() && node.outSince.Sub(ran) >= options.ProvenAfter, tie
	}
	return false, tie
}

// begunUnseen is when the update of a node without pods began, by the memory: at an instant that is zero if nobody knows.
func (v *verifier) begunUnseen(node *node) []time.Time {
	update, record := v.history.update, v.rolloutRecord()
	i := slices.IndexFunc(record.Begun, func(b rollout.Begun) bool { return b.Node == node.name })
	switch {
	case i >= 0 && !record.Begun[i].At.IsZero():
		return []time.Time{record.Begun[i].At}
	case update != nil && (record.Lost || v.remembered.Rollout.Revision == ""):
		return []time.Time{{}}
	default:
		return nil
	}
}

// hookAsked is since when the pod is in a hook, or made unready for its update in place, if it is; zero: nobody knows.
func hookAsked(pod *corev1.Pod) (at time.Time, inHook bool) {
	if state := lifecycle.StateOf(pod); state != "" && state != lifecycle.Normal {
		if at, err := time.Parse(time.RFC3339, pod.Annotations[lifecycle.TimestampAnnotation]); err == nil {
			return at, true
		}
		return time.Time{}, true
	}
	if condition := conditionOf(pod, lifecycle.InPlaceUpdateReady); condition != nil && inplace.Preparing(pod) {
		return condition.LastTransitionTime.Time, true
	}
	return time.Time{}, false
}

// updateSeen is when the pod of a node shows that the node's update began, and whether a kubelet has started the new revision:
// for a pod of another revision when its deletion was requested.
func (v *verifier) updateSeen(p *pod, givenUp bool) (at time.Time, started bool) {
	if !v.isNews(p, givenUp) {
		if p.isDeleted {
			at = deletionRequested(p.gone, p.object.DeletionGracePeriodSeconds)
		}
		return at, false
	}
	state, err := inplace.StateOf(p.object)
	if err != nil {
		return time.Time{}, true
	}
	if state == nil {
		return p.object.CreationTimestamp.Time, p.object.Status.StartTime != nil
	}
	at = state.UpdateTimestamp.Time
	for _, s := range slices.Concat(p.object.Status.InitContainerStatuses, p.object.Status.ContainerStatuses) {
		for _, of := range []corev1.ContainerState{s.State, s.LastTerminationState} {
			if begin := containerBegan(of); !begin.IsZero() && begin.Unix() >= at.Unix() {
				started = true
			}
		}
	}
	return at, started || inplace.Completed(p.object).Done
}

// ranSince is when the last container of a pod started, or the update in place that all of them have gone through since; zero:
// one has not started, or that update cannot be read.
func ranSince(pod *corev1.Pod) time.Time {
	var last time.Time
	for _, c := range pod.Spec.Containers {
		i := slices.IndexFunc(pod.Status.ContainerStatuses, func(s corev1.ContainerStatus) bool { return s.Name == c.Name })
		if i < 0 {
			return time.Time{}
		}
		began := containerBegan(pod.Status.ContainerStatuses[i].State)
		if began.IsZero() {
			return time.Time{}
		}
		last = latest(last, began)
	}
	state, err := inplace.StateOf(pod)
	if err != nil {
		return time.Time{}
	}
	if state != nil && !last.IsZero() {
		last = latest(last, state.UpdateTimestamp.Time)
	}
	return last
}

func containerBegan(state corev1.ContainerState) time.Time {
	if state.Running != nil {
		return state.Running.StartedAt.Time
	}
	if state.Terminated != nil {
		return state.Terminated.StartedAt.Time
	}
	return time.Time{}
}

// checkDeparting is the part of V26 about departing nodes: nothing is created, deleted or begun there, and no deletion is
// prepared (M8). That nothing is pulled there is a part of D1, because such a node does not wait.
func (v *verifier) checkDeparting() {
	for i := range v.plan.Creates {
		name := v.plan.Creates[i].Node
		if node := v.nodeOf(name); node != nil && node.leftAlone {
			v.report(26, name, "M8: create on a node that departs")
		}
	}
	for _, p := range v.pods {
		switch {
		case p.node == nil || !p.node.leftAlone:
		case p.deleted:
			v.report(26, p.name, "M8: delete of pod %s on a node that departs", p.object.Name)
		case p.dismissed:
			v.report(26, p.name, "M8: patch of pod %s begins a deletion on a node that departs", p.object.Name)
		case p.begun:
			v.report(26, p.name, "M8: update in place of pod %s on a node that departs", p.object.Name)
		}
	}
	for _, d := range v.statements {
		departs := d.Limit == rollout.LimitDeparting || d.Reason == rollout.ReasonDeparting
		if departs && (d.node == nil || !d.node.leftAlone) {
			v.report(26, d.Node, "M8: the plan says that the node departs, and it does not")
		}
		if d.Limit == rollout.LimitDraining && (d.node == nil || !d.node.drained) {
			v.report(26, d.Node, "M8: the plan says that the node is drained, and it is not")
		}
	}
}

// checkOutageWake is the part of V15 about B9: a request that is not seen yet is later than the outage from the next second on.
func (v *verifier) checkOutageWake() {
	if v.count(func(n *node) bool { return n.exemption == rollout.ExemptionOut }) >= v.limits.maxExempt {
		return
	}
	for _, node := range v.nodes {
		untouched := len(node.creates) == 0 && !node.any(func(p *pod) bool { return p.goes() || p.begun })
		if node.exempt || !untouched || !node.unavailable && !node.surging {
			continue
		}
		if excused, tie := v.evidence(node); !excused {
			v.checkWake(node.name, tie, "B9: what was requested is later than the outage")
		}
	}
}
