package outage_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"pgregory.net/rapid"

	_ "github.com/daemonplan/daemonplan/internal/fixedseed"
	"github.com/daemonplan/daemonplan/rollout/outage"
)

// anyOf draws a few of the choices, in any order.
func anyOf[T any](t *rapid.T, label string, choices ...T) []T {
	return rapid.SliceOfN(rapid.SampledFrom(choices), 0, 4).Draw(t, label)
}

func drawNode(t *rapid.T) *corev1.Node {
	ages := rapid.SampledFrom([]time.Duration{-1, 0, time.Second, time.Minute, time.Hour, 2 * time.Hour})
	var options []nodeOption
	for _, kind := range anyOf(t, "conditions", "Ready", "MaintenanceInProgress", "Drained", "MemoryPressure") {
		status := rapid.SampledFrom([]corev1.ConditionStatus{corev1.ConditionTrue, corev1.ConditionFalse, corev1.ConditionUnknown}).Draw(t, "status")
		if !slices.ContainsFunc(nodeOf(options...).Status.Conditions, func(c corev1.NodeCondition) bool { return string(c.Type) == kind }) {
			options = append(options, condition(kind, status, ages.Draw(t, "age")))
		}
	}
	for _, key := range anyOf(t, "taints", "karpenter.sh/disrupted", "example.com/drained", "other") {
		options = append(options, taint(key, ages.Draw(t, "age")))
	}
	if rapid.Bool().Draw(t, "deleted") {
		options = append(options, deletedNode(ages.Draw(t, "age")))
	}
	return nodeOf(options...)
}

func drawPod(t *rapid.T) *corev1.Pod {
	var options []podOption
	age := rapid.SampledFrom([]time.Duration{0, time.Second, time.Minute, time.Hour, 2 * time.Hour})
	return podOf(append(options, anyOf(t, "pod",
		created(age.Draw(t, "age")), noticed, needsMore, ran("main", age.Draw(t, "age")), ran("more", age.Draw(t, "age")),
		ended("main", age.Draw(t, "age")), restarted("main", age.Draw(t, "age")), initially(ran("init", age.Draw(t, "age"))),
		updatedInPlace(age.Draw(t, "age")), annotation("apps.kruise.io/inplace-update-state", "["), deleted(age.Draw(t, "age")),
		asked(age.Draw(t, "age")), inState("PreparingUpdate"), inState("Normal"), preparing,
	)...)...)
}

// TestOrderDoesNotMatter hands over taints, conditions and pods in two orders.
func TestOrderDoesNotMatter(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		options := everything()
		node := drawNode(t)
		turned := node.DeepCopy()
		slices.Reverse(turned.Spec.Taints)
		slices.Reverse(turned.Status.Conditions)
		out := options.Of(node)
		if again := options.Of(turned); again != out {
			t.Fatalf("%s, and with its lists turned %s", sayOutage(out), sayOutage(again))
		}
		var calls []change
		for _, pod := range rapid.SliceOfN(rapid.Custom(drawPod), 0, 3).Draw(t, "new pods") {
			calls = append(calls, func(u *outage.Update) { u.NewPod(pod) })
		}
		for _, pod := range rapid.SliceOfN(rapid.Custom(drawPod), 0, 3).Draw(t, "outdated pods") {
			calls = append(calls, func(u *outage.Update) { u.OutdatedPod(pod) })
		}
		if rapid.Bool().Draw(t, "requested") {
			calls = append(calls, requested)
		}
		one, other := updateOf(calls...), updateOf(rapid.Permutation(calls).Draw(t, "order")...)
		at, ok := one.Began()
		if again, too := other.Began(); !again.Equal(at) || too != ok {
			t.Fatalf("began %v %t, and in another order %v %t", at, ok, again, too)
		}
		if options.Excuses(out, one) != options.Excuses(out, other) {
			t.Fatalf("excused %t, and in another order not so", options.Excuses(out, one))
		}
	})
}

// TestMoreIsNoExcuse holds that a pod more excuses nothing that was not excused, but for the proof that a new pod is.
func TestMoreIsNoExcuse(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var options outage.Options
		out := options.Of(drawNode(t))
		pods := rapid.SliceOfN(rapid.Custom(drawPod), 1, 4).Draw(t, "pods")
		var less, more outage.Update
		for i, pod := range pods {
			for _, u := range []*outage.Update{&less, &more} {
				switch {
				case u == &less && i == 0:
				case i%2 == 0:
					u.NewPod(pod)
				default:
					u.OutdatedPod(pod)
				}
			}
		}
		if options.Excuses(out, &more) && !options.Excuses(out, &less) {
			t.Fatal("a pod more is an excuse")
		}
	})
}

// FuzzHostile reads options, nodes and pods that nobody has validated.
func FuzzHostile(f *testing.F) {
	f.Add(asJSON(everything()), asJSON(nodeOf(up, deletedNode(0))), asJSON(podOf(ran("main", time.Hour), updatedInPlace(time.Minute))), int64(0))
	f.Add(`{"MaxExempt":"x%","ProvenAfter":-9223372036854775808,"Conditions":["Ready"]}`,
		`{"metadata":{"deletionTimestamp":"0001-01-01T00:00:00Z","deletionGracePeriodSeconds":9223372036854775807},
		"status":{"conditions":[{"type":"Ready"},{"type":"Ready","status":"True"}]}}`,
		`{"metadata":{"deletionTimestamp":"9999-01-01T00:00:00Z","deletionGracePeriodSeconds":-9223372036854775808},
		"spec":{"containers":[{"name":"a"},{"name":"a"}]},"status":{"containerStatuses":[{"name":"a","state":{"running":{}}}]}}`, int64(-1)<<62)
	f.Fuzz(func(t *testing.T, options, node, pod string, seconds int64) {
		var o outage.Options
		var n corev1.Node
		var p corev1.Pod
		// What cannot be decoded stays as far as it was.
		_ = json.Unmarshal([]byte(options), &o)
		_ = json.Unmarshal([]byte(node), &n)
		_ = json.Unmarshal([]byte(pod), &p)
		out := o.Of(&n)
		if out.Departing && !out.Out {
			t.Errorf("the node is %s", sayOutage(out))
		}
		var u outage.Update
		u.NewPod(&p)
		u.OutdatedPod(&p)
		u.Requested(time.Unix(seconds, 0))
		if _, ok := u.Began(); !ok || out.Since.IsZero() && o.Excuses(out, &u) {
			t.Error("an update that began is excused without evidence")
		}
		if got := o.Default().Of(&n); got != out {
			t.Errorf("the node is %s, and with the defaults %s", sayOutage(out), sayOutage(got))
		}
		for _, e := range o.Validate(field.NewPath("outages")) {
			_ = e.Error()
		}
	})
}

func asJSON(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(data)
}
