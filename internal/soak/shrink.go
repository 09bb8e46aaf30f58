package main

import (
	"maps"
	"reflect"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/internal/worlds"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/domain"
	failures "github.com/daemonplan/daemonplan/rollout/failure"
	"github.com/daemonplan/daemonplan/rollout/outage"
	"github.com/daemonplan/daemonplan/rollout/simulate"
	"github.com/daemonplan/daemonplan/rollout/stage"
)

// shrink makes a scenario smaller as long as it still fails in the same way: it drops whatever can be dropped, until
// nothing can be, or the deadline is over. The random numbers of a run do not depend on each other, so that what is
// dropped does not change what happens to the rest.
func shrink(s simulate.Scenario, f *failure, options checkOptions, deadline time.Time) (simulate.Scenario, *failure) {
	for again := true; again; {
		again = false
		for _, candidate := range candidates(s) {
			for time.Now().Before(deadline) {
				smaller, ok := candidate(s)
				if !ok || smaller.Validate() != nil {
					break
				}
				failed := check(smaller, options).failure
				if failed == nil || failed.kind != f.kind {
					break
				}
				s, f, again = smaller, failed, true
			}
		}
	}
	return s, f
}

// edit returns a smaller scenario, without writing to what the given one holds; false: it is as small as it gets.
type edit func(simulate.Scenario) (simulate.Scenario, bool)

// candidates are the edits to try, the greatest first. One that works is tried again at once.
func candidates(s simulate.Scenario) []edit {
	var list []edit
	for i := range slices.Backward(s.Events) {
		list = append(list, without(i, func(s *simulate.Scenario) *[]simulate.Event { return &s.Events }))
	}
	for i := range slices.Backward(s.Model.Kubelets) {
		list = append(list, without(i, func(s *simulate.Scenario) *[]simulate.Kubelet { return &s.Model.Kubelets }))
	}
	for i := range slices.Backward(s.Fleet.Pools) {
		list = append(list, without(i, func(s *simulate.Scenario) *[]simulate.Pool { return &s.Fleet.Pools }))
	}
	for i := range s.Fleet.Pools {
		list = append(list, poolEdits(i)...)
	}
	list = append(list, fewerNodes)
	for _, change := range controllerFields {
		list = append(list, func(s simulate.Scenario) (simulate.Scenario, bool) { return s, change(&s.Controller) })
	}
	for _, change := range modelFields {
		list = append(list, func(s simulate.Scenario) (simulate.Scenario, bool) { return s, change(&s.Model) })
	}
	for _, change := range specFields {
		list = append(list, func(s simulate.Scenario) (simulate.Scenario, bool) { return inSpecs(s, change) })
	}
	for i := range s.Model.Kubelets {
		for _, change := range kubeletFields {
			list = append(list, at(i, func(s *simulate.Scenario) *[]simulate.Kubelet { return &s.Model.Kubelets }, change))
		}
	}
	for i := range s.Events {
		for _, change := range eventFields {
			list = append(list, at(i, func(s *simulate.Scenario) *[]simulate.Event { return &s.Events }, change))
		}
	}
	return list
}

// without drops an element.
func without[T any](i int, of func(*simulate.Scenario) *[]T) edit {
	return func(s simulate.Scenario) (simulate.Scenario, bool) {
		list := of(&s)
		if i >= len(*list) {
			return s, false
		}
		*list = slices.Delete(slices.Clone(*list), i, i+1)
		return s, true
	}
}

// at changes an element.
func at[T any](i int, of func(*simulate.Scenario) *[]T, change func(*T) bool) edit {
	return func(s simulate.Scenario) (simulate.Scenario, bool) {
		list := of(&s)
		if i >= len(*list) {
			return s, false
		}
		*list = slices.Clone(*list)
		return s, change(&(*list)[i])
	}
}

// unset takes a field back to its zero value; false: it has it.
func unset[T comparable](field *T) bool {
	var zero T
	if *field == zero {
		return false
	}
	*field = zero
	return true
}

// drop does so for slices and maps.
func drop[T any](field *T, length int) bool {
	var zero T
	*field = zero
	return length > 0
}

func poolEdits(i int) []edit {
	var list []edit
	for _, change := range []func(*simulate.Pool) bool{
		func(p *simulate.Pool) bool { p.Nodes /= 2; return p.Nodes > 0 },
		func(p *simulate.Pool) bool { p.Nodes--; return p.Nodes > 0 },
		func(p *simulate.Pool) bool { return drop(&p.Zones, len(p.Zones)) },
		func(p *simulate.Pool) bool { return unset(&p.Racks) },
		func(p *simulate.Pool) bool { return drop(&p.Labels, len(p.Labels)) },
		func(p *simulate.Pool) bool { return drop(&p.Taints, len(p.Taints)) },
		func(p *simulate.Pool) bool { return drop(&p.Allocatable, len(p.Allocatable)) },
	} {
		list = append(list, at(i, func(s *simulate.Scenario) *[]simulate.Pool { return &s.Fleet.Pools }, change))
	}
	return list
}

// fewerNodes drops the last node of a snapshot, with its pods.
func fewerNodes(s simulate.Scenario) (simulate.Scenario, bool) {
	if s.Fleet.Snapshot == nil || len(s.Fleet.Snapshot.Nodes) < 2 {
		return s, false
	}
	snapshot := *s.Fleet.Snapshot
	last := len(snapshot.Nodes) - 1
	gone := snapshot.Nodes[last].Name
	snapshot.Nodes = snapshot.Nodes[:last:last]
	snapshot.Pods = slices.DeleteFunc(slices.Clone(snapshot.Pods), func(p *corev1.Pod) bool { return nodeOf(p) == gone })
	s.Fleet.Snapshot = &snapshot
	return s, true
}

var controllerFields = []func(*simulate.Controller) bool{
	func(c *simulate.Controller) bool { return unset(&c.FailedCalls) },
	func(c *simulate.Controller) bool { return unset(&c.LostAnswers) },
	func(c *simulate.Controller) bool { return unset(&c.Crash) },
	func(c *simulate.Controller) bool { return unset(&c.LosesMemory) },
	func(c *simulate.Controller) bool { return unset(&c.Restart) },
	func(c *simulate.Controller) bool { return unset(&c.CallBurst) },
	func(c *simulate.Controller) bool { return unset(&c.CallsPerSecond) },
	func(c *simulate.Controller) bool { return unset(&c.Lag) },
	func(c *simulate.Controller) bool { return unset(&c.Interval) },
	func(c *simulate.Controller) bool { return rounded(&c.Lag) },
	func(c *simulate.Controller) bool { return rounded(&c.Restart) },
}

var modelFields = []func(*simulate.Model) bool{
	func(m *simulate.Model) bool { return unset(&m.StubbornHooks) },
	func(m *simulate.Model) bool {
		r := &m.Registry
		is := len(r.Sizes) > 0 || r.Size+r.Bandwidth+r.NodeBandwidth > 0 || r.Requests+r.FailedPulls > 0 ||
			r.PeerToPeer || !r.Latency.IsZero()
		*r = simulate.Registry{}
		return is
	},
	func(m *simulate.Model) bool { return unset(&m.Registry.FailedPulls) },
	func(m *simulate.Model) bool { return unset(&m.Registry.PeerToPeer) },
	func(m *simulate.Model) bool { return unset(&m.Registry.Requests) },
	func(m *simulate.Model) bool { return unset(&m.Registry.Latency) },
	func(m *simulate.Model) bool { return unset(&m.Hooks) },
	func(m *simulate.Model) bool { return unset(&m.Schedule) },
	func(m *simulate.Model) bool { return rounded(&m.Hooks) },
	func(m *simulate.Model) bool { return rounded(&m.Schedule) },
}

// rounded makes a distribution a fixed duration of whole seconds.
func rounded(d *simulate.Distribution) bool {
	fixed := simulate.Fixed(max(d.Mean().Round(time.Second), time.Second))
	if d.IsZero() || *d == fixed {
		return false
	}
	*d = fixed
	return true
}

var kubeletFields = []func(*simulate.Kubelet) bool{
	func(k *simulate.Kubelet) bool { return unset(&k.Share) },
	func(k *simulate.Kubelet) bool { return unset(&k.Pool) },
	func(k *simulate.Kubelet) bool { return unset(&k.Image) },
	func(k *simulate.Kubelet) bool { return unset(&k.Revision) },
	func(k *simulate.Kubelet) bool { return unset(&k.Create) },
	func(k *simulate.Kubelet) bool { return unset(&k.Start) },
	func(k *simulate.Kubelet) bool { return unset(&k.Ready) },
	func(k *simulate.Kubelet) bool { return unset(&k.Stop) },
	func(k *simulate.Kubelet) bool { return unset(&k.Restart) },
	func(k *simulate.Kubelet) bool { return unset(&k.Resize) },
	func(k *simulate.Kubelet) bool {
		return slices.ContainsFunc([]*simulate.Distribution{
			&k.Create, &k.Start, &k.Ready, &k.Stop, &k.Restart, &k.Resize, &k.Crash, &k.Fail,
		}, rounded)
	},
}

var eventFields = []func(*simulate.Event) bool{
	func(e *simulate.Event) bool {
		e.Until = 0
		return unset(&e.Every)
	},
	func(e *simulate.Event) bool { return unset(&e.For) },
	func(e *simulate.Event) bool { return unset(&e.Share) },
	func(e *simulate.Event) bool { return unset(&e.Count) },
	func(e *simulate.Event) bool { return unset(&e.Pool) },
	func(e *simulate.Event) bool { return unset(&e.Behind) },
	func(e *simulate.Event) bool {
		at := e.At.Truncate(time.Minute)
		e.At, at = at, e.At
		return e.At != at
	},
}

// inSpecs changes all specs of a scenario alike.
func inSpecs(s simulate.Scenario, change func(*rollout.Spec) bool) (simulate.Scenario, bool) {
	changed := change(&s.Spec)
	if s.Fleet.Running != nil {
		running := *s.Fleet.Running
		changed = change(&running) || changed
		s.Fleet.Running = &running
	}
	s.Events = slices.Clone(s.Events)
	for i := range s.Events {
		if s.Events[i].Spec != nil {
			spec := *s.Events[i].Spec
			changed = change(&spec) || changed
			s.Events[i].Spec = &spec
		}
	}
	return s, changed
}

// specFields take a knob away, or back to what it mostly is. A spec is a copy; what it points to is not to be written to.
var specFields = []func(*rollout.Spec) bool{
	func(s *rollout.Spec) bool { return unset(&s.Strategy.Canary) },
	func(s *rollout.Spec) bool { return unset(&s.Strategy.SlowStart) },
	func(s *rollout.Spec) bool { return unset(&s.Strategy.MaxUnschedulable) },
	func(s *rollout.Spec) bool { return unset(&s.Strategy.Policy.Outages) },
	inOutages(func(o *outage.Options) bool { return unset(&o.MaxExempt) }),
	inOutages(func(o *outage.Options) bool { return unset(&o.ProvenAfter) }),
	inOutages(func(o *outage.Options) bool { return unset(&o.Touch) }),
	inOutages(func(o *outage.Options) bool { return drop(&o.Taints, len(o.Taints)) }),
	inOutages(func(o *outage.Options) bool { return drop(&o.Conditions, len(o.Conditions)) }),
	func(s *rollout.Spec) bool { return drop(&s.Strategy.Policy.Domains, len(s.Strategy.Policy.Domains)) },
	inDomains(func(list []domain.Domain) ([]domain.Domain, bool) { return list[1:], len(list) > 1 }),
	inDomains(func(list []domain.Domain) ([]domain.Domain, bool) { return list[:len(list)-1], len(list) > 1 }),
	inDomains(func(list []domain.Domain) ([]domain.Domain, bool) { return list, unset(&list[0].Selector) }),
	inDomains(func(list []domain.Domain) ([]domain.Domain, bool) { return list, unset(&list[0].Max) }),
	inDomains(func(list []domain.Domain) ([]domain.Domain, bool) { return list, unset(&list[0].AtOnce) }),
	inStages(func([]stage.Stage) ([]stage.Stage, bool) { return nil, true }),
	inStages(func(list []stage.Stage) ([]stage.Stage, bool) { return list[1:], len(list) > 1 }),
	inStages(func(list []stage.Stage) ([]stage.Stage, bool) { return list[:len(list)-1], len(list) > 1 }),
	inStages(func(list []stage.Stage) ([]stage.Stage, bool) { return list, unset(&list[0].Selector) }),
	inStages(func(list []stage.Stage) ([]stage.Stage, bool) { return list, unset(&list[0].Key) }),
	inStages(func(list []stage.Stage) ([]stage.Stage, bool) { return list, unset(&list[0].Soak) }),
	inStages(func(list []stage.Stage) ([]stage.Stage, bool) { return list, unset(&list[0].Tolerance) }),
	inStages(func(list []stage.Stage) ([]stage.Stage, bool) { return list, unset(&list[0].Approval) }),
	func(s *rollout.Spec) bool { return drop(&s.Strategy.Policy.Approved, len(s.Strategy.Policy.Approved)) },
	func(s *rollout.Spec) bool { return unset(&s.Strategy.Policy.Expedite) },
	func(s *rollout.Spec) bool { return unset(&s.Strategy.Policy.Failures) },
	inFailures(func(o *failures.Options) bool { return unset(&o.Quarantine) }),
	inFailures(func(o *failures.Options) bool { return unset(&o.Action) }),
	inFailures(func(o *failures.Options) bool { return unset(&o.MaxRestarts) }),
	inFailures(func(o *failures.Options) bool { return unset(&o.MaxFailed) && o.Quarantine == nil }),
	inFailures(func(o *failures.Options) bool { return unset(&o.Retry) }),
	func(s *rollout.Spec) bool { return unset(&s.Strategy.Partition) },
	func(s *rollout.Spec) bool { return unset(&s.Strategy.NodeSelector) },
	func(s *rollout.Spec) bool { return unset(&s.Strategy.PartitionedScaling) },
	func(s *rollout.Spec) bool { return unset(&s.Strategy.HoldRevision) },
	func(s *rollout.Spec) bool { return unset(&s.Strategy.Type) },
	func(s *rollout.Spec) bool { return unset(&s.Strategy.Paused) },
	func(s *rollout.Spec) bool { return unset(&s.Strategy.Frozen) },
	func(s *rollout.Spec) bool { return unset(&s.Strategy.Method) },
	func(s *rollout.Spec) bool {
		had := !reflect.ValueOf(s.Strategy.InPlace).IsZero()
		s.Strategy.InPlace = inplace.Options{}
		return had
	},
	func(s *rollout.Spec) bool { return unset(&s.Strategy.InPlace.GracePeriodSeconds) },
	func(s *rollout.Spec) bool { return unset(&s.Strategy.MaxSurge) },
	func(s *rollout.Spec) bool { return unset(&s.Strategy.MaxUnavailable) },
	func(s *rollout.Spec) bool { return unset(&s.MinReadySeconds) },
	func(s *rollout.Spec) bool { return unset(&s.Burst) },
	func(s *rollout.Spec) bool { return unset(&s.RevisionHistoryLimit) },
	func(s *rollout.Spec) bool { return unset(&s.PreDownload) },
	func(s *rollout.Spec) bool { return unset(&s.Predecessor) },
	func(s *rollout.Spec) bool { return drop(&s.Overrides, len(s.Overrides)) },
	func(s *rollout.Spec) bool { return unset(&s.Lifecycle.PreDelete) },
	func(s *rollout.Spec) bool { return unset(&s.Lifecycle.InPlaceUpdate) },
	func(s *rollout.Spec) bool { return unset(&s.Lifecycle.PreNormal) },
	inCanary(func(o *canary.Options) bool { return unset(&o.Commands) }),
	inCanary(func(o *canary.Options) bool { return unset(&o.AutoPause) }),
	inCanary(func(o *canary.Options) bool { return unset(&o.AutoFail) }),
	inCanary(func(o *canary.Options) bool { return unset(&o.NodeSelector) }),
	inCanary(func(o *canary.Options) bool { return drop(&o.NodeAntiAffinityKeys, len(o.NodeAntiAffinityKeys)) }),
	inCanary(func(o *canary.Options) bool { return unset(&o.Replicas) }),
	inTemplate(func(t *corev1.PodTemplateSpec) bool { return drop(&t.Finalizers, len(t.Finalizers)) }),
	inTemplate(func(t *corev1.PodTemplateSpec) bool { return drop(&t.Spec.NodeSelector, len(t.Spec.NodeSelector)) }),
	inTemplate(func(t *corev1.PodTemplateSpec) bool { return drop(&t.Spec.Tolerations, len(t.Spec.Tolerations)) }),
	inTemplate(func(t *corev1.PodTemplateSpec) bool { return unset(&t.Spec.Affinity) }),
	inTemplate(func(t *corev1.PodTemplateSpec) bool {
		before := len(t.Spec.Containers)
		t.Spec.Containers = t.Spec.Containers[:1]
		return before > 1
	}),
	inTemplate(func(t *corev1.PodTemplateSpec) bool {
		c := &t.Spec.Containers[0]
		return drop(&c.Env, len(c.Env))
	}),
	inTemplate(func(t *corev1.PodTemplateSpec) bool {
		r := &t.Spec.Containers[0].Resources
		is := len(r.Requests) > 0
		*r = corev1.ResourceRequirements{}
		return is
	}),
	inTemplate(func(t *corev1.PodTemplateSpec) bool {
		before := len(t.Labels)
		maps.DeleteFunc(t.Labels, func(key, _ string) bool {
			return slices.Contains([]string{worlds.HookLabel, worlds.UpdateLabel, "version"}, key)
		})
		return len(t.Labels) < before
	}),
}

func inCanary(change func(*canary.Options) bool) func(*rollout.Spec) bool {
	return func(s *rollout.Spec) bool {
		if s.Strategy.Canary == nil {
			return false
		}
		options := *s.Strategy.Canary
		s.Strategy.Canary = &options
		return change(&options)
	}
}

func inOutages(change func(*outage.Options) bool) func(*rollout.Spec) bool {
	return func(s *rollout.Spec) bool {
		if s.Strategy.Policy.Outages == nil {
			return false
		}
		options := *s.Strategy.Policy.Outages
		s.Strategy.Policy.Outages = &options
		return change(&options)
	}
}

// inDomains changes a copy of the list, if it is not empty.
func inDomains(change func([]domain.Domain) ([]domain.Domain, bool)) func(*rollout.Spec) bool {
	return func(s *rollout.Spec) bool {
		list := slices.Clone(s.Strategy.Policy.Domains)
		if len(list) == 0 {
			return false
		}
		list, changed := change(list)
		s.Strategy.Policy.Domains = list
		return changed
	}
}

// inStages changes a copy of the list, if it is not empty. Approvals of stages that are gone go with them.
func inStages(change func([]stage.Stage) ([]stage.Stage, bool)) func(*rollout.Spec) bool {
	return func(s *rollout.Spec) bool {
		policy := &s.Strategy.Policy
		list := slices.Clone(policy.Stages)
		if len(list) == 0 {
			return false
		}
		list, changed := change(list)
		policy.Stages = list
		policy.Approved = slices.DeleteFunc(slices.Clone(policy.Approved), func(a stage.Approval) bool {
			return !slices.ContainsFunc(list, func(of stage.Stage) bool {
				return of.Name == a.Stage && (a.Value == "" || of.Key != "")
			})
		})
		return changed
	}
}

func inFailures(change func(*failures.Options) bool) func(*rollout.Spec) bool {
	return func(s *rollout.Spec) bool {
		if s.Strategy.Policy.Failures == nil {
			return false
		}
		options := *s.Strategy.Policy.Failures
		s.Strategy.Policy.Failures = &options
		return change(&options)
	}
}

func inTemplate(change func(*corev1.PodTemplateSpec) bool) func(*rollout.Spec) bool {
	return func(s *rollout.Spec) bool {
		s.Template = *s.Template.DeepCopy()
		return change(&s.Template)
	}
}
