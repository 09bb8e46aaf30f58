package transcript

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/domain"
	"github.com/daemonplan/daemonplan/rollout/outage"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// specOptions takes what the command says about the spec.
func specOptions(a *arguments) ([]kit.SpecOption, error) {
	var options []kit.SpecOption
	for _, known := range specArguments() {
		value := a.named(known.key)
		if value == "" {
			continue
		}
		option, err := known.option(value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", known.key, err)
		}
		options = append(options, option)
	}
	return options, nil
}

// specArgument is what can be said about a spec.
type specArgument struct {
	key    string
	option func(string) (kit.SpecOption, error)
}

func specArguments() []specArgument {
	return []specArgument{
		{"image", sure(func(image string) kit.SpecOption {
			return func(s *rollout.Spec) { kit.Image(tagged(s, image))(s) }
		})},
		{"maxUnavailable", sure(kit.MaxUnavailable)},
		{"maxSurge", sure(kit.MaxSurge)},
		{"burst", sure(kit.Burst)},
		{"minReadySeconds", number(kit.MinReadySeconds)},
		{"historyLimit", number(kit.HistoryLimit)},
		{"type", sure(func(name string) kit.SpecOption {
			return func(s *rollout.Spec) { s.Strategy.Type = rollout.StrategyType(name) }
		})},
		{"paused", truth(func(s *rollout.Spec) *bool { return &s.Strategy.Paused })},
		{"frozen", truth(func(s *rollout.Spec) *bool { return &s.Strategy.Frozen })},
		{"nodeSelector", selecting(
			func(s *rollout.Spec) { s.Template.Spec.NodeSelector = nil }, kit.TemplateNodeSelector)},
		{"tolerate", tolerating},
		{"partition", sure(kit.Partition)},
		{"selector", selecting(
			func(s *rollout.Spec) { s.Strategy.NodeSelector = nil }, kit.StrategyNodeSelector)},
		{"partitionedScaling", truth(func(s *rollout.Spec) *bool { return &s.Strategy.PartitionedScaling })},
		{"holdRevision", truth(func(s *rollout.Spec) *bool { return &s.Strategy.HoldRevision })},
		{"method", sure(func(name string) kit.SpecOption {
			return func(s *rollout.Spec) { s.Strategy.Method = inplace.Method(name) }
		})},
		{"resize", truth(func(s *rollout.Spec) *bool { return &s.Strategy.InPlace.Resize })},
		{"sidecars", choice(kit.Sidecars)},
		{"addedTolerations", choice(kit.AddedTolerations)},
		{"cgroupV1", truth(func(s *rollout.Spec) *bool { return &s.Strategy.InPlace.CgroupV1 })},
		{"restartKeys", sure(func(keys string) kit.SpecOption { return kit.RestartKeys(strings.Split(keys, ",")...) })},
		{"serveOn", sure(func(names string) kit.SpecOption { return kit.ServeOn(strings.Split(names, ",")...) })},
		{"envFromMetadata", truth(func(s *rollout.Spec) *bool { return &s.Strategy.InPlace.EnvFromMetadata })},
		{"gracePeriod", number(kit.GracePeriod)},
		{"parallelism", sure(kit.PreDownload)},
		{"minUpdatedReadyPods", sure(func(q string) kit.SpecOption { return objects.MinUpdatedReadyPods(q) })},
		{"requests", amounts(kit.Requests)},
		{"limits", amounts(kit.Limits)},
		{"restartToResize", sure(func(name string) kit.SpecOption { return objects.RestartToResize(corev1.ResourceName(name)) })},
		{"env", pair(setting)},
		{"label", pair(kit.PodTemplateLabel)},
		{"annotation", pair(kit.PodTemplateAnnotation)},

		{"canary", canaries},
		{"duration", period(func(o *canary.Options) **time.Duration { return &o.Duration })},
		{"noRestarts", period(func(o *canary.Options) **time.Duration { return &o.NoRestartsDuration })},
		{"canaryTimeout", period(func(o *canary.Options) **time.Duration { return &o.AutoFail.CanaryTimeout })},
		{"maxRestartsDuration", period(func(o *canary.Options) **time.Duration { return &o.AutoFail.MaxRestartsDuration })},
		{"maxSlowStart", period(func(o *canary.Options) **time.Duration { return &o.AutoPause.MaxSlowStartDuration })},
		{"validation", sure(validating)},
		{"canarySelector", pair(kit.CanaryOn)},
		{"spread", sure(func(key string) kit.SpecOption { return kit.CanarySpread(key) })},
		{"slowStart", slowStart},
		{"maxUnschedulable", sure(kit.MaxUnschedulable)},

		{"maxExempt", sure(kit.MaxExempt)},
		{"domains", domains},
		{"stages", stagesOf},
		{"failures", failuresOf},
		{"provenAfter", outages(func(o *outage.Options, value string) (err error) {
			o.ProvenAfter, err = time.ParseDuration(value)
			return err
		})},
		{"touch", outages(func(o *outage.Options, value string) (err error) {
			o.Touch, err = strconv.ParseBool(value)
			return err
		})},
	}
}

func sure(option func(string) kit.SpecOption) func(string) (kit.SpecOption, error) {
	return func(value string) (kit.SpecOption, error) { return option(value), nil }
}

func choice(option func(bool) kit.SpecOption) func(string) (kit.SpecOption, error) {
	return func(value string) (kit.SpecOption, error) {
		is, err := strconv.ParseBool(value)
		return option(is), err
	}
}

func number(option func(int32) kit.SpecOption) func(string) (kit.SpecOption, error) {
	return func(value string) (kit.SpecOption, error) {
		n, err := strconv.ParseInt(value, 10, 32)
		return option(int32(n)), err
	}
}

func truth(field func(*rollout.Spec) *bool) func(string) (kit.SpecOption, error) {
	return func(value string) (kit.SpecOption, error) {
		b, err := strconv.ParseBool(value)
		return func(s *rollout.Spec) { *field(s) = b }, err
	}
}

// domains reads a list such as rack:2,zone::1: a key, how many nodes of a value may be disturbed, and in how many values. A
// number that is left out is no bound. The word none takes the domains away.
func domains(value string) (kit.SpecOption, error) {
	var list []domain.Domain
	for text := range strings.SplitSeq(value, ",") {
		if value == "none" {
			break
		}
		key, bounds, _ := strings.Cut(text, ":")
		most, atOnce, _ := strings.Cut(bounds, ":")
		d := domain.Domain{Key: key}
		if most != "" {
			d.Max = new(intstr.Parse(most))
		}
		if atOnce != "" {
			n, err := strconv.ParseInt(atOnce, 10, 32)
			if err != nil {
				return nil, fmt.Errorf("%s: the number of values must be an integer, as in zone::1", text)
			}
			d.AtOnce = int32(n)
		}
		list = append(list, d)
	}
	return func(s *rollout.Spec) { s.Strategy.Policy.Domains = list }, nil
}

// outages changes the policy for outages, which is then in force.
func outages(set func(*outage.Options, string) error) func(string) (kit.SpecOption, error) {
	return func(value string) (kit.SpecOption, error) {
		err := set(new(outage.Options), value)
		return func(s *rollout.Spec) {
			var options outage.Options
			if s.Strategy.Policy.Outages != nil {
				options = *s.Strategy.Policy.Outages
			}
			_ = set(&options, value) // it was tried above
			kit.Outages(options)(s)
		}, err
	}
}

// selecting replaces a node selector by that of one label; none is no selector.
func selecting(none kit.SpecOption, choose func(key, value string) kit.SpecOption) func(string) (kit.SpecOption, error) {
	return func(label string) (kit.SpecOption, error) {
		key, value, ok := strings.Cut(label, "=")
		switch {
		case label == "none":
			return none, nil
		case !ok || key == "":
			return nil, fmt.Errorf("%s must be key=value or none", label)
		}
		return func(s *rollout.Spec) {
			none(s)
			choose(key, value)(s)
		}, nil
	}
}

// tolerating adds a toleration to the template: of everything, or of one taint.
func tolerating(taint string) (kit.SpecOption, error) {
	if taint == "everything" {
		return kit.Tolerating("", ""), nil
	}
	key, effect, ok := strings.Cut(taint, ":")
	if !ok {
		return nil, fmt.Errorf("%s must be key:Effect or everything", taint)
	}
	return kit.Tolerating(key, corev1.TaintEffect(effect)), nil
}

func pair(option func(key, value string) kit.SpecOption) func(string) (kit.SpecOption, error) {
	return func(text string) (kit.SpecOption, error) {
		key, value, ok := strings.Cut(text, ":")
		if !ok {
			return nil, fmt.Errorf("%s must be key:value", text)
		}
		return option(key, value), nil
	}
}

// amounts sets requests or limits, such as cpu:1,memory:1Gi.
func amounts(option func(corev1.ResourceName, string) kit.SpecOption) func(string) (kit.SpecOption, error) {
	return func(text string) (kit.SpecOption, error) {
		var options []kit.SpecOption
		for amount := range strings.SplitSeq(text, ",") {
			name, quantity, _ := strings.Cut(amount, ":")
			if _, err := resource.ParseQuantity(quantity); err != nil {
				return nil, fmt.Errorf("%s must be name:quantity", amount)
			}
			options = append(options, option(corev1.ResourceName(name), quantity))
		}
		return func(s *rollout.Spec) {
			for _, option := range options {
				option(s)
			}
		}, nil
	}
}

// setting replaces or adds an environment variable of the first container.
func setting(name, value string) kit.SpecOption {
	return func(s *rollout.Spec) {
		if len(s.Template.Spec.Containers) == 0 {
			return // the spec will be refused for that
		}
		container := &s.Template.Spec.Containers[0]
		container.Env = slices.DeleteFunc(slices.Clone(container.Env), func(e corev1.EnvVar) bool { return e.Name == name })
		kit.Env(name, value)(s)
	}
}

// canaries is the number of canary nodes; none turns the canary off.
func canaries(replicas string) (kit.SpecOption, error) {
	if replicas == "none" {
		return func(s *rollout.Spec) { s.Strategy.Canary = nil }, nil
	}
	return kit.Canary(replicas), nil
}

// validating is the way of promotion: auto, or manual, which has no durations.
func validating(mode string) kit.SpecOption {
	if mode == string(canary.Manual) {
		return kit.CanaryManual()
	}
	return ofCanary(func(o *canary.Options) { o.Mode = canary.Mode(mode) })
}

// period sets a duration of the canary; none takes it away.
func period(field func(*canary.Options) **time.Duration) func(string) (kit.SpecOption, error) {
	return func(text string) (kit.SpecOption, error) {
		if text == "none" {
			return ofCanary(func(o *canary.Options) { *field(o) = nil }), nil
		}
		d, err := time.ParseDuration(text)
		return ofCanary(func(o *canary.Options) { *field(o) = new(d) }), err
	}
}

func ofCanary(change func(*canary.Options)) kit.SpecOption {
	return func(s *rollout.Spec) {
		var options canary.Options
		if s.Strategy.Canary != nil {
			options = s.Strategy.Canary.DeepCopy()
		}
		change(&options)
		s.Strategy.Canary = &options
	}
}

// slowStart is interval,increase,maxParallel; none turns it off.
func slowStart(text string) (kit.SpecOption, error) {
	if text == "none" {
		return func(s *rollout.Spec) { s.Strategy.SlowStart = nil }, nil
	}
	parts := strings.Split(text, ",")
	if len(parts) != 3 {
		return nil, fmt.Errorf("%s must be interval,increase,maxParallel", text)
	}
	interval, err := time.ParseDuration(parts[0])
	return kit.SlowStart(interval, parts[1], parts[2]), err
}
