package rollouttest

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/domain"
	"github.com/daemonplan/daemonplan/rollout/failure"
	"github.com/daemonplan/daemonplan/rollout/outage"
	"github.com/daemonplan/daemonplan/rollout/stage"
)

// Options for policies.

// MaxExempt leaves so many nodes out of the budgets that were down before their update (B9): "2", or a percentage such as "10%",
// rounded up. Departing nodes are left alone then (M8), also with "0". What was set of [Outages] before stays.
func MaxExempt(quantity string) SpecOption {
	return outages(func(o *outage.Options) { o.MaxExempt = new(intstr.Parse(quantity)) })
}

// Outages sets how nodes are dealt with that are down or departing (B9, M8).
func Outages(options outage.Options) SpecOption {
	return outages(func(o *outage.Options) { *o = options.DeepCopy() })
}

func outages(change func(*outage.Options)) SpecOption {
	return func(s *rollout.Spec) {
		var options outage.Options
		if s.Strategy.Policy.Outages != nil {
			options = s.Strategy.Policy.Outages.DeepCopy()
		}
		change(&options)
		s.Strategy.Policy.Outages = &options
	}
}

// Domains adds domains, each of which bounds how much is disturbed at once (B10).
func Domains(domains ...domain.Domain) SpecOption {
	return func(s *rollout.Spec) {
		s.Strategy.Policy.Domains = append(slices.Clip(s.Strategy.Policy.Domains), domains...)
	}
}

// Stages adds stages, which open the fleet to a new revision one after the other (T8).
func Stages(stages ...stage.Stage) SpecOption {
	return func(s *rollout.Spec) {
		s.Strategy.Policy.Stages = append(slices.Clip(s.Strategy.Policy.Stages), stages...)
	}
}

// Approve adds approvals of parts of stages (T8).
func Approve(approvals ...stage.Approval) SpecOption {
	return func(s *rollout.Spec) {
		s.Strategy.Policy.Approved = append(slices.Clip(s.Strategy.Policy.Approved), approvals...)
	}
}

// Failures sets what follows when the update revision fails on nodes (F1 to F4).
func Failures(options failure.Options) SpecOption {
	return func(s *rollout.Spec) { s.Strategy.Policy.Failures = new(options.DeepCopy()) }
}

// Expedite lets a revision pass the stages (T8): its hash, its name, or [canary.Any] for any.
func Expedite(revision string) SpecOption {
	return func(s *rollout.Spec) { s.Strategy.Policy.Expedite = revision }
}
