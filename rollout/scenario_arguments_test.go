package rollout_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/rollout"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// arguments of a command that no one has taken yet: words, and values given as key=value.
type arguments []string

// next takes the next one, whatever it is; empty if there is none.
func (a *arguments) next() string {
	if len(*a) == 0 {
		return ""
	}
	word := (*a)[0]
	*a = (*a)[1:]
	return word
}

// named takes the value of the key; empty if there is none.
func (a *arguments) named(key string) string {
	for i, word := range *a {
		if value, ok := strings.CutPrefix(word, key+"="); ok {
			*a = slices.Delete(*a, i, i+1)
			return value
		}
	}
	return ""
}

func (a *arguments) list(key string) []string {
	if value := a.named(key); value != "" {
		return strings.Split(value, ",")
	}
	return nil
}

func (a *arguments) integer(key string) (int, error) {
	if value := a.named(key); value != "" {
		return strconv.Atoi(value)
	}
	return 0, nil
}

func (a *arguments) duration(key string) (time.Duration, error) {
	if value := a.named(key); value != "" {
		return time.ParseDuration(value)
	}
	return 0, nil
}

// rest reports what no command took.
func (a *arguments) rest() error {
	if len(*a) > 0 {
		return fmt.Errorf("unknown argument %s", (*a)[0])
	}
	return nil
}

// specOptions takes what the command says about the spec.
func specOptions(a *arguments) ([]kit.SpecOption, error) {
	var options []kit.SpecOption
	for _, known := range []struct {
		key    string
		option func(string) (kit.SpecOption, error)
	}{
		{"image", sure(func(image string) kit.SpecOption { return kit.Image("agent:" + image) })},
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
		{"nodeSelector", sure(selecting)},
		{"tolerate", sure(tolerating)},
	} {
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

func sure(option func(string) kit.SpecOption) func(string) (kit.SpecOption, error) {
	return func(value string) (kit.SpecOption, error) { return option(value), nil }
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

// selecting replaces the template's node selector.
func selecting(label string) kit.SpecOption {
	return func(s *rollout.Spec) {
		s.Template.Spec.NodeSelector = nil
		if key, value, ok := strings.Cut(label, "="); ok {
			kit.NodeSelector(key, value)(s)
		}
	}
}

// tolerating adds a toleration to the template: of everything, or of one taint.
func tolerating(taint string) kit.SpecOption {
	if taint == "everything" {
		return kit.Tolerating("", "")
	}
	key, effect, _ := strings.Cut(taint, ":")
	return kit.Tolerating(key, corev1.TaintEffect(effect))
}
