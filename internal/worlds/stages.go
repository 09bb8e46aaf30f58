package worlds

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/failure"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
	"github.com/daemonplan/daemonplan/rollout/simulate"
	"github.com/daemonplan/daemonplan/rollout/stage"
)

// ringLabel is on the nodes of most pools.
const ringLabel = "ring"

// stagesAndFailures adds stages and failures to the policies of the specs, and what they are about: rings, approvals that come
// and are taken back, images that break nodes. It has a source of its own, so that outages and domains are drawn as without it;
// some worlds have neither.
func (r source) stagesAndFailures(s *simulate.Scenario, specs []*rollout.Spec) {
	what := r.IntN(5)
	if what == 0 {
		return
	}
	for i := range s.Fleet.Pools {
		if ring := pick(r, "0", "0", "1", "1", "10", ""); ring != "" {
			s.Fleet.Pools[i].Labels[ringLabel] = ring // pools that join have the same map
		}
	}
	var stages []stage.Stage
	var failures *failure.Options
	if what != 1 {
		stages = r.stages()
	}
	if what != 2 {
		failures = r.failures()
	}
	for _, spec := range specs {
		policy := &spec.Strategy.Policy
		policy.Stages, policy.Failures = stages, failures
		if r.chance(0.1) { // the user changes them, too
			policy.Stages, policy.Failures = r.stages(), r.failures()
		}
		if r.chance(0.3) {
			policy.Approved = r.approvals(policy.Stages, rollouttest.Hash(*spec))
		}
		if r.chance(0.04) {
			policy.Expedite = pick(r, canary.Any, rollouttest.Hash(*spec))
		}
	}
	if r.chance(0.5) {
		s.Model.Kubelets = append(s.Model.Kubelets, r.badImage())
	}
	s.Events = append(s.Events, r.orders(stages, specs)...)
}

// stages draws rings, keyed zones, both, or one stage that has to be approved.
func (r source) stages() []stage.Stage {
	finish := func(s stage.Stage) stage.Stage {
		s.Soak = pick(r, 0, 0, time.Second, time.Minute, 10*time.Minute, 30*time.Minute)
		s.Approval = r.chance(0.25)
		if t := pick(r, "", "", "1", "34%", "99%"); t != "" {
			s.Tolerance = new(intstr.Parse(t))
		}
		return s
	}
	ring := func(value string) stage.Stage {
		selector := &metav1.LabelSelector{MatchLabels: map[string]string{ringLabel: value}}
		return finish(stage.Stage{Name: "ring-" + value, Selector: selector})
	}
	keyed := func() stage.Stage {
		key := pick(r, corev1.LabelTopologyZone, corev1.LabelTopologyZone, simulate.RackLabel, poolLabel, ringLabel)
		return finish(stage.Stage{Name: "keyed", Key: key})
	}
	switch r.IntN(5) {
	case 0:
		return []stage.Stage{ring("0"), ring("1")}
	case 1:
		return []stage.Stage{ring("0"), keyed()}
	case 2:
		s := keyed()
		s.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{poolLabel: pick(r, "a", "b")}}
		return []stage.Stage{ring("1"), s}
	case 3:
		return []stage.Stage{finish(stage.Stage{Name: "all"})}
	default:
		return []stage.Stage{keyed()}
	}
}

// failures draws when nodes have failed and what follows. Deadlines are above all minReadySeconds of these worlds.
func (r source) failures() *failure.Options {
	o := &failure.Options{
		Deadline: pick(r, 0, 31*time.Second, time.Minute, time.Minute, 5*time.Minute),
		Action:   pick(r, failure.Pause, failure.Rollback),
	}
	if r.chance(0.5) {
		o.MaxRestarts = new(int32(r.IntN(4)))
	}
	most := pick(r, "", "0", "1", "2", "20%", "50%")
	if most != "" {
		o.MaxFailed = new(intstr.Parse(most))
	}
	if quarantine := pick(r, "", "1", "2", "20%", "50%"); quarantine != "" && r.chance(0.7) {
		o.Quarantine = new(intstr.Parse(quarantine))
	}
	if o.Validate(0, nil) != nil {
		o.Quarantine = o.MaxFailed
	}
	return o
}

// approvals of the stages that need one.
func (r source) approvals(stages []stage.Stage, revision string) []stage.Approval {
	var list []stage.Approval
	for i := range stages {
		if s := &stages[i]; s.Approval {
			a := stage.Approval{Stage: s.Name, Revision: revision}
			if s.Key == corev1.LabelTopologyZone && r.chance(0.3) {
				a.Value = pick(r, "z1", "z2", "z3")
			}
			list = append(list, a)
		}
	}
	return list
}

// badImage breaks the nodes that get it: all, or some.
func (r source) badImage() simulate.Kubelet {
	k := simulate.Kubelet{Image: pick(r, images[1], images[1], images[2])}
	switch r.IntN(5) {
	case 0:
		k.NoImage = new(true)
	case 1:
		k.Crash = r.seconds(30)
	case 2:
		k.Fail = r.seconds(60)
	default:
		k.NeverReady = new(true)
	}
	k.Share = pick(r, 0, 0.1, 0.3, 0.6)
	return k
}

// orders draws approvals that come, are taken back or name what is not rolled out, revisions that are expedited, and retries.
func (r source) orders(stages []stage.Stage, specs []*rollout.Spec) []simulate.Event {
	var events []simulate.Event
	for i := range stages {
		for stages[i].Approval && r.chance(0.7) {
			e := simulate.Event{At: r.at(), What: simulate.ApproveStage}
			e.Approval = stage.Approval{Stage: stages[i].Name}
			if stages[i].Key == corev1.LabelTopologyZone && r.chance(0.4) {
				e.Approval.Value = pick(r, "z1", "z2", "z3")
			}
			if r.chance(0.1) {
				e.Approval.Revision = "no-revision"
			}
			events = append(events, e)
		}
	}
	if r.chance(0.06) {
		events = append(events, simulate.Event{At: r.at(), What: simulate.ExpediteRevision})
	}
	for r.chance(0.25) {
		spec := *pick(r, specs...)
		if spec.Name != Set { // the set that came before
			continue
		}
		policy := &spec.Strategy.Policy
		policy.Approved = nil
		if f := policy.Failures; f != nil && r.chance(0.6) {
			options := f.DeepCopy()
			options.Retry = canary.Any + pick(r, "", "/1", "/2")
			policy.Failures = &options
		}
		spec.Overrides = slices.Clone(spec.Overrides)
		events = append(events, simulate.Event{At: r.at(), What: simulate.SetSpec, Spec: &spec})
	}
	return events
}
