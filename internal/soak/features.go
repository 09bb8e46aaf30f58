package main

import (
	"strings"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/simulate"
	"github.com/daemonplan/daemonplan/status"
)

// features are what a run had, in words: they show what the generator reaches.
type features map[string]bool

func (f features) add(is bool, name string) {
	if is {
		f[name] = true
	}
}

func (f features) ofScenario(s *simulate.Scenario) {
	f.ofSpec(&s.Spec)
	if s.Fleet.Running != nil {
		f.ofSpec(s.Fleet.Running)
	}
	f.add(s.Fleet.Running == nil && s.Fleet.Snapshot == nil, "first installation")
	for i := range s.Fleet.Pools {
		f.add(s.Fleet.Pools[i].Allocatable != nil, "little room")
		f.add(len(s.Fleet.Pools[i].Taints) > 0, "tainted pool")
	}
	for i := range s.Events {
		e := &s.Events[i]
		f.add(true, "event "+e.What.String())
		f.add(!e.Every.IsZero(), "recurring event")
		f.add(e.At == 0 && e.What == simulate.NodeNotReady, "down from the beginning")
		if e.Spec != nil {
			f.ofSpec(e.Spec)
		}
	}
	m, c := &s.Model, &s.Controller
	for i := range m.Kubelets {
		k := &m.Kubelets[i]
		f.add(!k.Crash.IsZero(), "crashing pods")
		f.add(!k.Fail.IsZero(), "failing pods")
		f.add(k.NeverReady != nil, "pods never ready")
		f.add(k.NoImage != nil, "no image")
	}
	f.add(m.Registry.FailedPulls > 0, "failed pulls")
	f.add(m.Registry.PeerToPeer, "peer-to-peer")
	f.add(m.StubbornHooks > 0, "stubborn hooks")
	f.add(!c.Lag.IsZero(), "lag")
	f.add(c.CallsPerSecond > 0, "limited calls")
	f.add(c.FailedCalls > 0, "failed calls")
	f.add(c.LostAnswers > 0, "lost answers")
	f.add(c.LosesMemory, "memory lost in crashes")
	specs := 0
	for i := range s.Events {
		if s.Events[i].What == simulate.SetSpec {
			specs++
		}
	}
	f.add(specs >= 3, "spec changed again and again")
}

func (f features) ofSpec(spec *rollout.Spec) {
	s := &spec.Strategy
	f.add(s.MaxSurge != nil, "maxSurge")
	f.add(s.MaxUnavailable != nil && s.MaxUnavailable.StrVal != "", "maxUnavailable in percent")
	f.add(s.Type == rollout.OnDelete, "OnDelete")
	f.add(s.Partition != nil, "partition")
	f.add(s.NodeSelector != nil, "update selector")
	f.add(s.HoldRevision, "holdRevision")
	f.add(s.PartitionedScaling, "partitioned scaling")
	f.add(s.Paused, "paused")
	f.add(s.Frozen, "frozen")
	f.add(s.Method != "", "method "+string(s.Method))
	f.add(s.InPlace.Resize, "resize")
	f.add(s.InPlace.EnvFromMetadata, "envFromMetadata")
	f.add(s.InPlace.GracePeriodSeconds > 0, "grace period")
	f.add(s.SlowStart != nil, "slow start")
	f.add(s.MaxUnschedulable != nil, "maxUnschedulable")
	f.add(s.Policy.Outages != nil, "outages")
	f.add(s.Policy.Outages != nil && s.Policy.Outages.Touch, "departing nodes touched")
	for i := range s.Policy.Domains {
		f.add(s.Policy.Domains[i].Max != nil, "domain with max")
		f.add(s.Policy.Domains[i].AtOnce > 0, "domain with atOnce")
		f.add(s.Policy.Domains[i].Selector != nil, "domain with a selector")
	}
	for i := range s.Policy.Stages {
		of := &s.Policy.Stages[i]
		f.add(of.Key != "", "stage with a key")
		f.add(of.Selector != nil, "stage with a selector")
		f.add(of.Soak > 0, "stage that soaks")
		f.add(of.Tolerance != nil, "stage with tolerance")
		f.add(of.Approval, "stage that is approved")
	}
	if o := s.Policy.Failures; o != nil {
		f.add(true, "failures "+string(o.Default().Action))
		f.add(o.MaxRestarts != nil, "failures by restarts")
		f.add(o.Quarantine != nil, "quarantine")
	}
	f.add(spec.MinReadySeconds > 0, "minReadySeconds")
	f.add(spec.Burst != nil, "burst")
	f.add(spec.RevisionHistoryLimit != nil, "history limit")
	f.add(spec.PreDownload != nil, "pre-download")
	f.add(len(spec.Overrides) > 0, "overrides")
	f.add(spec.Predecessor != nil, "predecessor")
	f.add(len(spec.Template.Spec.Containers) > 1, "sidecar")
	f.add(spec.Lifecycle.PreDelete != nil, "preDelete hook")
	f.add(spec.Lifecycle.InPlaceUpdate != nil, "inPlaceUpdate hook")
	f.add(spec.Lifecycle.PreNormal != nil, "preNormal hook")
	f.add(s.Canary != nil, "canary")
	f.add(s.Canary != nil && s.Canary.Mode == canary.Manual, "manual canary")
}

func (f features) ofStep(step *simulate.Step) {
	for i := range step.Plan.Decisions {
		d := &step.Plan.Decisions[i]
		f.add(d.Verb == rollout.VerbUpdate, "updated in place")
		f.add(d.Verb == rollout.VerbSurge, "surged")
		f.add(d.Reason == rollout.ReasonBackoff, "waited for a back-off")
		f.add(d.Reason == rollout.ReasonPreDelete, "waited for preDelete")
		f.add(d.Reason == rollout.ReasonTakenBack, "taken back")
		f.add(d.Exemption == rollout.ExemptionOut, "left out because it was down")
		f.add(d.Exemption == rollout.ExemptionQuarantined, "left out because it has failed")
		f.add(d.Failed, "node has failed")
		f.add(d.Limit == rollout.LimitStage, "waited for a stage")
		f.add(d.Limit == rollout.LimitSoak, "waited for a soak")
		f.add(d.Limit == rollout.LimitApproval, "waited for an approval")
		f.add(d.Limit == rollout.LimitFailures, "stopped by failures")
		f.add(d.Limit == rollout.LimitDeparting || d.Reason == rollout.ReasonDeparting, "left alone")
		f.add(d.Limit == rollout.LimitDomain, "waited for a domain")
		f.add(d.Limit == rollout.LimitDomain && d.Reason == rollout.ReasonPrepared, "prepared, waited for a domain")
	}
	f.add(step.Plan.GaveUp != "", "given up")
	f.add(len(step.Plan.StaleApprovals) > 0, "stale approvals")
	f.add(step.Plan.Status.State == status.RolledBack, "rolled back")
	f.add(step.Plan.Canary.Phase == canary.Paused, "canary paused")
	f.add(step.Plan.Canary.Phase == canary.Failed, "canary failed")
}

func (f features) ofRecord(r *simulate.Record) {
	switch r.Kind {
	case simulate.ControllerCrashed:
		f.add(true, "controller crashed")
	case simulate.PullStarted:
		f.add(true, "pulled ahead")
	case simulate.CanaryChanged:
		f.add(strings.Contains(r.Detail, canary.Promoted.String()), "canary promoted")
	default:
	}
}

func (f features) ofReport(r *simulate.Report) {
	f.add(true, "ended "+r.End.String())
}
