package v1alpha1

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/predownload"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/domain"
	"github.com/daemonplan/daemonplan/rollout/failure"
	"github.com/daemonplan/daemonplan/rollout/outage"
	"github.com/daemonplan/daemonplan/rollout/stage"
	"github.com/daemonplan/daemonplan/status"
)

// RolloutSpec is the object in the library's words. It shares memory with the object.
func (s *PlannedDaemonSet) RolloutSpec() rollout.Spec {
	spec := rollout.Spec{
		Name: s.Name, Namespace: s.Namespace, UID: s.UID, Generation: s.Generation,
		APIVersion: GroupVersion.String(), Kind: Kind,
		Selector: s.Spec.Selector, Template: s.Spec.Template,
		Strategy:             s.Spec.UpdateStrategy.RolloutStrategy(),
		MinReadySeconds:      s.Spec.MinReadySeconds,
		RevisionHistoryLimit: s.Spec.RevisionHistoryLimit,
		Burst:                s.Spec.Burst,
		Lifecycle: lifecycle.Hooks{
			PreDelete: s.Spec.Lifecycle.PreDelete.hook(), InPlaceUpdate: s.Spec.Lifecycle.InPlaceUpdate.hook(),
			PreNormal: s.Spec.Lifecycle.PreNormal.hook(),
		},
	}
	for _, o := range s.Spec.Overrides {
		// They are all as old as the object, so of two that collide the one wins whose name sorts last (P8).
		spec.Overrides = append(spec.Overrides, placement.Override{
			Name: o.Name, Created: s.CreationTimestamp.Time, NodeSelector: o.NodeSelector, Containers: o.Containers,
		})
	}
	if p := s.Spec.Predecessor; p != nil {
		spec.Predecessor = &rollout.Predecessor{UIDs: p.UIDs, Selector: p.Selector}
	}
	if p := s.Spec.PreDownload; p != nil {
		spec.PreDownload = &predownload.Options{
			Parallelism: p.Parallelism, MinUpdatedReadyPods: p.MinUpdatedReadyPods,
			TimeoutSeconds: p.TimeoutSeconds, BackoffLimit: p.BackoffLimit,
		}
	}
	return spec
}

func (h *Hook) hook() *lifecycle.Hook {
	if h == nil {
		return nil
	}
	return &lifecycle.Hook{Labels: h.Labels, Finalizers: h.Finalizers, MarkPodNotReady: h.MarkPodNotReady}
}

// RolloutStrategy is the strategy in the library's words. It shares memory with the object.
func (u UpdateStrategy) RolloutStrategy() rollout.Strategy {
	s := rollout.Strategy{
		Type:           rollout.StrategyType(u.Type),
		MaxUnavailable: u.MaxUnavailable, MaxSurge: u.MaxSurge, MaxUnschedulable: u.MaxUnschedulable,
		Partition: u.Partition, NodeSelector: u.NodeSelector,
		PartitionedScaling: u.PartitionedScaling, HoldRevision: u.HoldRevision,
		Method:  inplace.Method(u.Method),
		InPlace: inplace.Options(u.InPlace),
		Paused:  u.Paused, Frozen: u.Frozen,
	}
	if u.Policy != nil {
		s.Policy = u.Policy.policy()
	}
	if c := u.Canary; c != nil {
		s.Canary = c.options()
	}
	if o := u.SlowStart; o != nil {
		s.SlowStart = &rollout.SlowStart{Increase: o.Increase, MaxParallel: o.MaxParallel}
		if o.Interval != nil {
			s.SlowStart.Interval = o.Interval.Duration.Duration
		}
	}
	return s
}

func (p *Policy) policy() rollout.Policy {
	var policy rollout.Policy
	if o := p.Outages; o != nil {
		policy.Outages = &outage.Options{MaxExempt: o.MaxExempt, Taints: o.Taints, Conditions: o.Conditions, Touch: o.Touch}
		if o.ProvenAfter != nil {
			policy.Outages.ProvenAfter = o.ProvenAfter.Duration.Duration
		}
	}
	for _, d := range p.Domains {
		policy.Domains = append(policy.Domains, domain.Domain{Selector: d.Selector, Key: d.Key, Max: d.Max, AtOnce: d.AtOnce})
	}
	for i := range p.Stages {
		policy.Stages = append(policy.Stages, p.Stages[i].stage())
	}
	for _, approval := range p.Approved {
		policy.Approved = append(policy.Approved, stage.Approval(approval))
	}
	policy.Expedite = p.Expedite
	if p.Failures != nil {
		policy.Failures = p.Failures.options()
	}
	return policy
}

func (s *Stage) stage() stage.Stage {
	converted := stage.Stage{Name: s.Name, Selector: s.Selector, Key: s.Key, Tolerance: s.Tolerance, Approval: s.Approval}
	if s.Soak != nil {
		converted.Soak = s.Soak.Duration.Duration
	}
	return converted
}

func (f *Failures) options() *failure.Options {
	o := failure.Options{
		MaxRestarts: f.MaxRestarts, MaxFailed: f.MaxFailed, Action: failure.Action(f.Action), Retry: f.Retry,
		Quarantine: f.Quarantine,
	}
	if f.Deadline != nil {
		o.Deadline = f.Deadline.Duration.Duration
	}
	return &o
}

func (c *Canary) options() *canary.Options {
	return &canary.Options{
		Replicas: c.Replicas, Mode: canary.Mode(c.ValidationMode),
		Duration: duration(c.Duration), NoRestartsDuration: duration(c.NoRestartsDuration),
		NodeSelector: c.NodeSelector, NodeAntiAffinityKeys: c.NodeAntiAffinityKeys,
		AutoPause: canary.AutoPause{
			Disabled: c.AutoPause.Disabled, MaxRestarts: c.AutoPause.MaxRestarts,
			MaxSlowStartDuration: duration(c.AutoPause.MaxSlowStartDuration),
		},
		AutoFail: canary.AutoFail{
			Disabled: c.AutoFail.Disabled, MaxRestarts: c.AutoFail.MaxRestarts,
			MaxRestartsDuration: duration(c.AutoFail.MaxRestartsDuration), CanaryTimeout: duration(c.AutoFail.CanaryTimeout),
		},
		Commands: canary.Commands(c.Commands),
	}
}

func duration(d *Duration) *time.Duration {
	if d == nil {
		return nil
	}
	return &d.Duration.Duration
}

// RolloutMemory is the memory of the planner, as the status keeps it. What cannot be read is no memory, which is always safe.
func (s *PlannedDaemonSetStatus) RolloutMemory() rollout.Memory {
	var memory rollout.Memory
	if s.Memory == nil || json.Unmarshal(s.Memory.Raw, &memory) != nil {
		return rollout.Memory{}
	}
	return memory
}

// mostMemory in bytes is what an object has room for beside the template: etcd takes 1.5 MB. Only the back-offs of failed pods
// grow with the fleet.
const mostMemory = 512 << 10

// Report fills the status in from a plan.
func (s *PlannedDaemonSetStatus) Report(plan rollout.Plan) error {
	memory, err := json.Marshal(plan.Memory)
	if err == nil && len(memory) > mostMemory { // to lose it is safe
		plan.Memory.Backoffs = nil
		memory, err = json.Marshal(plan.Memory)
	}
	if err != nil {
		return err
	}
	from := plan.Status
	*s = PlannedDaemonSetStatus{
		ObservedGeneration:     from.ObservedGeneration,
		DesiredNumberScheduled: from.Desired,
		CurrentNumberScheduled: from.Current,
		NumberMisscheduled:     from.Misscheduled,
		NumberReady:            from.Ready,
		UpdatedNumberScheduled: from.Updated,
		NumberAvailable:        from.Available,
		NumberUnavailable:      from.Unavailable,
		UpdateRevision:         from.UpdateRevision,
		StableRevision:         from.StableRevision,
		State:                  from.State.String(),
		Reason:                 from.Reason.String(),
		DisruptionsAllowed:     from.DisruptionsAllowed,
		Conditions:             slices.Concat(s.valid(), from.Conditions, status.Kstatus(from, s.Conditions, time.Now())),
		Memory:                 &runtime.RawExtension{Raw: memory},
	}
	for _, wait := range plan.Waits() {
		s.Waiting = append(s.Waiting, wait.String())
	}
	return nil
}

// Valid is the condition that says whether the spec can be planned for.
const Valid = "Valid"

// longestMessage of a condition in bytes: the API server takes 32 KiB, and nobody reads as much.
const longestMessage = 4096

// Judge sets the condition Valid: nil means yes, otherwise the error says why not, the state is Invalid, and the set is Stalled.
// All other conditions stay as the last plan saw them, and as long as there is one they are of the last valid generation.
func (s *PlannedDaemonSetStatus) Judge(err error, generation int64) {
	condition := metav1.Condition{Type: Valid, Status: metav1.ConditionTrue, Reason: "Accepted", ObservedGeneration: generation}
	if err != nil {
		condition.Status, condition.Reason, condition.Message = metav1.ConditionFalse, "Invalid", err.Error()
		if len(condition.Message) > longestMessage {
			condition.Message = strings.ToValidUTF8(condition.Message[:longestMessage], "") + " …"
		}
		s.State, s.Reason, s.Waiting = "Invalid", "SpecInvalid", nil
		s.ObservedGeneration = generation
		for _, kind := range []string{status.ConditionReady, status.ConditionReconciling, status.ConditionStalled} {
			c := metav1.Condition{
				Type: kind, Status: metav1.ConditionFalse, Reason: "SpecInvalid", Message: condition.Message,
				ObservedGeneration: generation,
			}
			if kind == status.ConditionStalled {
				c.Status = metav1.ConditionTrue
			}
			meta.SetStatusCondition(&s.Conditions, c)
		}
	}
	meta.SetStatusCondition(&s.Conditions, condition)
}

// Forget says of all conditions but Valid that they are not known: no plan was made, and what the last one saw may be long gone.
// The counts stay, and are those of ObservedGeneration.
func (s *PlannedDaemonSetStatus) Forget() {
	for _, c := range s.Conditions {
		if c.Type != Valid {
			c.Status, c.Reason, c.Message = metav1.ConditionUnknown, "SpecInvalid", "nothing is planned until the spec is valid"
			c.LastTransitionTime = metav1.Time{} // now, if it has been known
			meta.SetStatusCondition(&s.Conditions, c)
		}
	}
}

func (s *PlannedDaemonSetStatus) valid() []metav1.Condition {
	if c := meta.FindStatusCondition(s.Conditions, Valid); c != nil {
		return []metav1.Condition{*c}
	}
	return nil
}
