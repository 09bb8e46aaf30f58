package draw

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/daemonplan/daemonplan/internal/harness"
	"github.com/daemonplan/daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/rollout"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// The vocabulary of generated scenarios. It is small on purpose: what is drawn must meet.
const (
	setName     = "agent"
	updateImage = "agent:v3"
)

// AnySpec generates valid specs of the set "agent" with every knob: both budgets as integers and percentages, OnDelete,
// paused, frozen, minReadySeconds, burst, history limit, template generation, and the placement fields of the template; and,
// for every other one, partition, node selector, partitioned scaling, hold of revisions, in-place updates with all their
// options, hooks and pulls of images ahead; and, for every third one, a policy for outages. The options are applied to what
// was drawn; [objects.Released] gives specs that hold no node back. With maxSurge among them, no spec updates in place.
func AnySpec(options ...kit.SpecOption) *rapid.Generator[rollout.Spec] {
	return rapid.Custom(func(t *rapid.T) rollout.Spec {
		spec := kit.Spec(setName, kit.Image(updateImage))
		drawBudget(t, &spec)
		drawHolds(t, &spec)
		drawTiming(t, &spec)
		drawPlacement(t, &spec)
		drawKruise(t, &spec)
		drawOutages(t, &spec)
		for _, option := range options {
			option(&spec)
		}
		if spec.Strategy.MaxSurge != nil {
			spec.Strategy.Method = ""
		}
		return spec
	})
}

func drawBudget(t *rapid.T, spec *rollout.Spec) {
	option := pick(t, "budget",
		func(*rollout.Spec) {},
		kit.MaxUnavailable("2"), kit.MaxUnavailable("1%"), kit.MaxUnavailable("34%"),
		kit.MaxUnavailable("100%"), kit.MaxUnavailable("5"),
		kit.MaxSurge("1"), kit.MaxSurge("2"), kit.MaxSurge("10%"), kit.MaxSurge("50%"), kit.MaxSurge("100%"),
	)
	option(spec)
	if burst := pick(t, "burst", "", "", "", "", "1", "2", "10%", "50%", "1%"); burst != "" {
		kit.Burst(burst)(spec)
	}
}

func drawHolds(t *rapid.T, spec *rollout.Spec) {
	for _, option := range pick(t, "holds",
		nil, nil, nil, nil, nil, nil, nil,
		[]kit.SpecOption{kit.Paused()}, []kit.SpecOption{kit.OnDelete()}, []kit.SpecOption{kit.Frozen()},
		[]kit.SpecOption{kit.OnDelete(), kit.Paused()},
		[]kit.SpecOption{kit.Paused(), kit.Frozen()},
	) {
		option(spec)
	}
}

func drawTiming(t *rapid.T, spec *rollout.Spec) {
	spec.MinReadySeconds = pick[int32](t, "minReadySeconds", 0, 0, minReady, 1)
	if limit := pick[int32](t, "historyLimit", -1, -1, 0, 1, 3); limit >= 0 {
		kit.HistoryLimit(limit)(spec)
	}
	if generation := pick[int64](t, "templateGeneration", 0, 0, 0, podGeneration); generation > 0 {
		objects.TemplateGeneration(generation)(spec)
	}
}

const (
	minReady      = 30
	podGeneration = 7
)

func drawPlacement(t *rapid.T, spec *rollout.Spec) {
	option := pick(t, "placement",
		func(*rollout.Spec) {}, func(*rollout.Spec) {}, func(*rollout.Spec) {},
		kit.TemplateNodeSelector(harness.ZoneLabel, "a"),
		kit.Affinity(harness.ZoneLabel, "a", "b"),
		func(s *rollout.Spec) {
			kit.Affinity(harness.ZoneLabel, "c")(s)
			kit.Affinity(harness.ZoneLabel, "a")(s)
		},
		notOnNode(letters(0)),
		func(s *rollout.Spec) { s.Template.Spec.NodeName = letters(1) },
		func(s *rollout.Spec) {
			s.Template.Spec.HostNetwork = true
			if pick(t, "user namespace", false, true) { // nodes have to declare that they can do both
				s.Template.Spec.HostUsers = new(false)
			}
		},
	)
	option(spec)
	tolerate := pick(t, "tolerations",
		func(*rollout.Spec) {}, func(*rollout.Spec) {}, func(*rollout.Spec) {},
		kit.Tolerating(harness.TaintKey, corev1.TaintEffectNoSchedule),
		kit.Tolerating(harness.TaintKey, ""),
		kit.Tolerating("", ""),
		kit.Tolerating(corev1.TaintNodeNotReady, corev1.TaintEffectNoSchedule),
	)
	tolerate(spec)
}

// notOnNode excludes one node by its name, the way a field selector does it.
func notOnNode(name string) kit.SpecOption {
	return func(s *rollout.Spec) {
		required := objects.RequiredAffinity(&s.Template.Spec)
		required.NodeSelectorTerms = append(required.NodeSelectorTerms, corev1.NodeSelectorTerm{
			MatchFields: []corev1.NodeSelectorRequirement{
				{Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpNotIn, Values: []string{name}},
			},
		})
	}
}

// pick draws one of the choices; it shrinks to the first one.
func pick[T any](t *rapid.T, label string, choices ...T) T {
	return rapid.SampledFrom(choices).Draw(t, label)
}
