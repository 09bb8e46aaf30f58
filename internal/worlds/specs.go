package worlds

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// specs draws what the set was, is and may come to be. They differ in the template, and now and then in the strategy.
func (r source) specs() specs {
	base := rollouttest.Spec(Set, rollouttest.Requests(corev1.ResourceCPU, "100m"))
	if r.chance(0.25) {
		base.Template.Spec.Containers = append(base.Template.Spec.Containers, corev1.Container{Name: sidecar, Image: sidecars[0]})
	}
	r.hooks(&base)
	r.placement(&base)
	r.apply(&base, r.knobs()...)
	specs := specs{old: base, update: base, later: base}
	for i, spec := range specs.all() {
		spec.Template = *base.Template.DeepCopy()
		rollouttest.Image(images[i])(spec)
		r.change(spec, i)
	}
	specs.old.Predecessor = nil
	for _, spec := range specs.all()[1:] {
		if r.chance(0.15) {
			// The user changes how, too, not only what.
			r.apply(spec, r.knobs()...)
		}
	}
	for _, spec := range specs.all() {
		settle(spec)
	}
	return specs
}

// change changes the template beside its image.
func (r source) change(spec *rollout.Spec, generation int) {
	switch r.IntN(12) {
	case 0: // what a resize in place could do
		rollouttest.Requests(corev1.ResourceCPU, pick(r, "100m", "150m", "200m"))(spec)
	case 1: // what an update of metadata in place could do
		rollouttest.PodTemplateLabel("version", images[generation][len("agent:"):])(spec)
	case 2: // what recreates the pods
		rollouttest.Env("GENERATION", images[generation][len("agent:"):])(spec)
	case 3, 4: // what restarts another container
		if containers := spec.Template.Spec.Containers; len(containers) > 1 {
			containers[1].Image = sidecars[1]
		}
	case 5:
		if containers := spec.Template.Spec.Containers; len(containers) > 1 { // that one alone
			containers[0].Image, containers[1].Image = images[0], sidecars[generation]
		}
	}
}

// apply applies options in order.
func (r source) apply(spec *rollout.Spec, options ...rollouttest.SpecOption) {
	for _, option := range options {
		option(spec)
	}
}

// settle drops what does not go together.
func settle(spec *rollout.Spec) {
	strategy := &spec.Strategy
	if strategy.MaxSurge != nil {
		strategy.Method = ""
	}
	if strategy.Type == rollout.OnDelete {
		strategy.Canary = nil
	}
	if strategy.Canary != nil {
		o := strategy.Canary.Default()
		if t := o.AutoFail.CanaryTimeout; t != nil && o.Duration != nil && *t <= *o.Duration {
			options := *strategy.Canary
			options.AutoFail.CanaryTimeout = nil
			strategy.Canary = &options
		}
	}
}

// knobs draws how the set is rolled out: every knob of [rollout.Spec] now and then.
func (r source) knobs() []rollouttest.SpecOption {
	var list []rollouttest.SpecOption
	some := func(share float64, options ...rollouttest.SpecOption) {
		if r.chance(share) {
			list = append(list, options...)
		}
	}
	if r.chance(5.0 / 9) {
		list = append(list, rollouttest.MaxUnavailable(pick(r, "1", "2", "10%", "34%", "100%")))
	} else {
		list = append(list, rollouttest.MaxSurge(pick(r, "1", "2", "25%", "100%")))
	}
	some(0.3, rollouttest.MinReadySeconds(int32(pick(r, 1, 10, 30))))
	some(0.15, rollouttest.Burst(pick(r, "1", "2", "20%")))
	some(0.15, rollouttest.HistoryLimit(int32(r.IntN(3))))
	if r.chance(0.3) {
		list = append(list, pick(r, rollouttest.InPlaceIfPossible(), rollouttest.InPlaceIfPossible(), rollouttest.InPlaceOnly()))
		some(0.4, rollouttest.Resize())
		some(0.3, rollouttest.EnvFromMetadata())
		some(0.2, objects.CgroupV1())
		some(0.4, rollouttest.GracePeriod(int32(pick(r, 1, 5, 30))))
	}
	if r.chance(0.2) {
		list = append(list, rollouttest.PreDownload(pick(r, "1", "3", "50%", "100%")))
		some(0.3, objects.MinUpdatedReadyPods(pick(r, "1", "20%")))
	}
	if r.chance(0.2) {
		list = append(list, rollouttest.Partition(pick(r, "1", "2", "30%", "50%", "100%")))
		some(0.4, rollouttest.HoldRevision())
		some(0.3, rollouttest.PartitionedScaling())
	}
	some(0.1, rollouttest.StrategyNodeSelector(poolLabel, "a"))
	some(0.12, r.slowStart())
	some(0.12, rollouttest.MaxUnschedulable(pick(r, "1", "2", "30%")))
	some(0.12, func(s *rollout.Spec) { s.Overrides = r.overrides() })
	some(0.04, func(s *rollout.Spec) {
		s.Predecessor = &rollout.Predecessor{
			UIDs: []types.UID{"set-ancestor"}, Selector: s.Selector,
		}
	})
	switch r.IntN(16) {
	case 0:
		list = append(list, rollouttest.OnDelete())
	case 1:
		list = append(list, rollouttest.Paused())
	case 2:
		list = append(list, rollouttest.Frozen())
	}
	if r.chance(0.35) {
		list = append(list, r.canary()...)
	}
	return list
}

func (r source) slowStart() rollouttest.SpecOption {
	interval := pick(r, time.Second, 30*time.Second, 2*time.Minute)
	return rollouttest.SlowStart(interval, pick(r, "1", "2", "25%"), pick(r, "2", "5", "50%"))
}

func (r source) overrides() []placement.Override {
	var list []placement.Override
	for i := range pick(r, 1, 1, 2) {
		list = append(list, placement.Override{
			Name:         string(rune('a' + i)),
			Created:      rollouttest.Noon().Add(-time.Duration(i+1) * time.Hour),
			NodeSelector: pick(r, metav1.LabelSelector{}, metav1.LabelSelector{MatchLabels: map[string]string{poolLabel: "a"}}),
			Containers: map[string]corev1.ResourceRequirements{"main": {Requests: corev1.ResourceList{
				corev1.ResourceCPU: resource.MustParse(pick(r, "200m", "300m")),
			}}},
		})
	}
	return list
}

// canary draws the trial of new revisions, and how it comes to its end.
func (r source) canary() []rollouttest.SpecOption {
	list := []rollouttest.SpecOption{rollouttest.Canary(pick(r, "1", "1", "2", "3", "10%", "50%", "100%"))}
	switch r.IntN(5) {
	case 0:
		list = append(list, rollouttest.CanaryManual())
	default:
		list = append(list, rollouttest.CanaryFor(pick(r, 0, time.Minute, 5*time.Minute, 15*time.Minute),
			pick(r, 0, time.Minute, 5*time.Minute)))
	}
	switch r.IntN(6) {
	case 0:
		list = append(list, rollouttest.CanaryOn(poolLabel, "a"))
	case 1:
		list = append(list, rollouttest.CanarySpread(corev1.LabelTopologyZone))
	}
	if r.chance(0.3) {
		pause := canary.AutoPause{Disabled: r.chance(0.4)}
		if r.chance(0.5) {
			pause.MaxRestarts = new(int32(r.IntN(3)))
		}
		if r.chance(0.3) {
			pause.MaxSlowStartDuration = new(pick(r, time.Minute, 10*time.Minute))
		}
		list = append(list, rollouttest.AutoPause(pause))
	}
	if r.chance(0.4) {
		fail := canary.AutoFail{Disabled: r.chance(0.2)}
		if r.chance(0.5) {
			fail.MaxRestarts = new(int32(r.between(2, 5)))
		}
		if r.chance(0.3) {
			fail.MaxRestartsDuration = new(pick(r, time.Minute, 10*time.Minute))
		}
		if r.chance(0.4) {
			fail.CanaryTimeout = new(pick(r, 20*time.Minute, time.Hour))
		}
		list = append(list, rollouttest.AutoFail(fail))
	}
	if r.chance(0.15) {
		list = append(list, rollouttest.Command(r.commands()))
	}
	return list
}

// commands draws what somebody says to a canary.
func (r source) commands() canary.Commands {
	return pick(r,
		canary.Commands{Pause: canary.Any}, canary.Commands{Unpause: canary.Any},
		canary.Commands{Validate: canary.Any}, canary.Commands{Validate: canary.Any},
		canary.Commands{Fail: canary.Any}, canary.Commands{Fail: "nobody"}, canary.Commands{Retry: canary.Any + "/1"})
}

// The handlers of hooks.
const (
	HookLabel     = "drained"
	HookFinalizer = "example.com/drain"
	UpdateLabel   = "in-service"
)

// hooks draws hooks, with pods that carry their handlers.
func (r source) hooks(spec *rollout.Spec) {
	if !r.chance(0.3) {
		return
	}
	mark := func(hook lifecycle.Hook) lifecycle.Hook {
		if r.chance(0.3) {
			hook = objects.MarkPodNotReady(hook)
		}
		return hook
	}
	if r.chance(0.6) {
		if r.chance(0.6) {
			rollouttest.PodTemplateLabel(HookLabel, "no")(spec)
			rollouttest.PreDeleteHook(mark(rollouttest.HookLabel(HookLabel, "no")))(spec)
		} else {
			objects.PodTemplateFinalizer(HookFinalizer)(spec)
			rollouttest.PreDeleteHook(mark(objects.HookFinalizer(HookFinalizer)))(spec)
		}
	}
	if r.chance(0.4) {
		rollouttest.PodTemplateLabel(UpdateLabel, "yes")(spec)
		rollouttest.InPlaceUpdateHook(mark(rollouttest.HookLabel(UpdateLabel, "yes")))(spec)
	}
	if r.chance(0.3) {
		rollouttest.PreNormalHook(mark(rollouttest.HookLabel("registered", "yes")))(spec)
	}
}

// placement draws on which nodes the pods run.
func (r source) placement(spec *rollout.Spec) {
	switch r.IntN(12) {
	case 0:
		rollouttest.TemplateNodeSelector(poolLabel, "a")(spec)
	case 1:
		rollouttest.Affinity(poolLabel, "a", "b")(spec)
	}
	switch r.IntN(10) {
	case 0:
		rollouttest.Tolerating("", "")(spec)
	case 1, 2:
		rollouttest.Tolerating(taintKey, "")(spec)
	}
}
