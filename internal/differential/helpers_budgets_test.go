package differential_test

import (
	"errors"
	"fmt"
	"math"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kubernetes/pkg/apis/apps"
	defaults "k8s.io/kubernetes/pkg/apis/apps/v1"
	"k8s.io/kubernetes/pkg/apis/apps/validation"
	daemonutil "k8s.io/kubernetes/pkg/controller/daemon/util"
	"pgregory.net/rapid"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/manifest"
)

// budgeting is an update strategy as users write it, and the number of nodes that are to run the pod.
type budgeting struct {
	Strategy appsv1.DaemonSetUpdateStrategy
	Nodes    int
}

// budgets are the limits in nodes.
type budgets struct {
	Refused            bool
	Unavailable, Surge int
	Surges             bool
	Err                error // anything but a refused strategy
}

const helperMostNodes = 300

func anyBudgeting() *rapid.Generator[budgeting] {
	quantity := rapid.Custom(func(t *rapid.T) intstr.IntOrString {
		switch rapid.IntRange(0, 9).Draw(t, "form") {
		case 0, 1:
			return intstr.FromInt32(rapid.SampledFrom([]int32{0, 0, 1, 2, 299, 301, -1, math.MaxInt32, math.MinInt32}).Draw(t, "number"))
		case 2, 3, 4, 5, 6:
			return intstr.FromString(fmt.Sprintf("%d%%", rapid.IntRange(0, 100).Draw(t, "percentage")))
		case 7:
			return intstr.IntOrString{Type: intstr.Type(rapid.IntRange(0, 4).Draw(t, "type") - 1), IntVal: 1, StrVal: "1%"}
		default:
			return intstr.FromString(rapid.SampledFrom([]string{
				"0%", "00%", "007%", "101%", "-1%", "+1%", "1", "0", "", "%", "1%%", "1 %", " 1%", "1.5%", "1e1%", "0x1%", "٣%", "1％",
				"\xff%", "abc",
				"2147483647%", "2147483648%", "9223372036854775808%", "99999999999999999999999999%", "00000000000000000000000000000005%",
			}).Draw(t, "text"))
		}
	})
	return rapid.Custom(func(t *rapid.T) budgeting {
		b := budgeting{Nodes: rapid.SampledFrom([]int{0, 1, 2, 3, 7, 10, 33, 99, 100, 101, 150, helperMostNodes}).Draw(t, "nodes")}
		b.Strategy.Type = mostly(t, 12, []appsv1.DaemonSetUpdateStrategyType{"RollingUpdate", ""},
			[]appsv1.DaemonSetUpdateStrategyType{"OnDelete", "rollingUpdate", "Weird", "\xff"}, "type")
		if oneIn(t, 10, "no rollingUpdate") {
			return b
		}
		update := &appsv1.RollingUpdateDaemonSet{}
		switch rapid.IntRange(0, 4).Draw(t, "which") {
		case 0:
			update.MaxUnavailable = new(quantity.Draw(t, "maxUnavailable"))
		case 1:
			update.MaxSurge = new(quantity.Draw(t, "maxSurge"))
		case 2:
			update.MaxUnavailable, update.MaxSurge = new(intstr.FromInt32(0)), new(quantity.Draw(t, "maxSurge"))
		default:
			update.MaxUnavailable, update.MaxSurge = new(quantity.Draw(t, "maxUnavailable")), new(quantity.Draw(t, "maxSurge"))
		}
		b.Strategy.RollingUpdate = update
		return b
	})
}

// set is a set with the strategy, and nothing else of interest.
func (b budgeting) set() *appsv1.DaemonSet {
	labels := map[string]string{"app": "agent"}
	return &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Name: "agent", Namespace: "monitoring", UID: "set-uid"},
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "agent", Image: "agent:v1"}}},
			},
			UpdateStrategy: *b.Strategy.DeepCopy(),
		},
	}
}

// compareBudgets takes the limits off plans for empty nodes. Which strategies there are at all the API server decides, so
// that its defaults and validation come before the controller's functions.
func compareBudgets() comparison[budgeting, budgets] {
	const (
		refused = iota
		onDelete
		unavailable
		surge
	)
	nodes := make([]*corev1.Node, helperMostNodes)
	for i := range nodes {
		nodes[i] = &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("node-%03d", i)}}
	}
	plan := func(b budgeting) budgets { return plannedBudgets(b, nodes) }
	instead := func(change func(*budgets)) func(budgeting) budgets {
		return func(b budgeting) budgets {
			out := plan(b)
			if !out.Refused {
				change(&out)
			}
			return out
		}
	}
	return comparison[budgeting, budgets]{
		theirs: "UnavailableCount, SurgeCount, AllowsSurge", ours: "rollout.Plan.Budget",
		kinds:    []string{refused: "refused", onDelete: "OnDelete", unavailable: "maxUnavailable", surge: "maxSurge"},
		deviates: []deviation{surgeAlone}, inputs: anyBudgeting(), batch: 25, answer: plan,
		judge: func(b budgeting, ours budgets) judgement {
			var j judgement
			set := b.set()
			if defaults.SetDefaults_DaemonSet(set); !accepted(set) {
				// Once more, as if the user had written what ours takes maxUnavailable for.
				if set = b.set(); b.Strategy.RollingUpdate != nil && b.Strategy.RollingUpdate.MaxUnavailable == nil {
					set.Spec.UpdateStrategy.RollingUpdate.MaxUnavailable = new(intstr.FromInt32(0))
					if defaults.SetDefaults_DaemonSet(set); accepted(set) {
						j.because = surgeAlone
					}
				}
			}
			theirs := budgets{Refused: !accepted(set)}
			if !theirs.Refused {
				var errU, errS error
				theirs.Unavailable, errU = daemonutil.UnavailableCount(set, b.Nodes)
				theirs.Surge, errS = daemonutil.SurgeCount(set, b.Nodes)
				theirs.Surges, theirs.Err = daemonutil.AllowsSurge(set), errors.Join(errU, errS)
			}
			switch {
			case theirs.Refused:
				j.kind = refused
			case set.Spec.UpdateStrategy.Type == appsv1.OnDeleteDaemonSetStrategyType:
				j.kind = onDelete
			case theirs.Surges:
				j.kind = surge
			default:
				j.kind = unavailable
			}
			if theirs.Err != nil || ours.Err != nil || theirs != ours {
				j.err = disagree(b, theirs, ours)
			}
			return j
		},
		bugs: []plantedBug[budgeting, budgets]{
			{"rounds down", "percentages are rounded up", instead(func(b *budgets) { b.Unavailable = max(0, b.Unavailable-1) })},
			{"one more to surge", "a rounding error", instead(func(b *budgets) {
				if b.Surge > 100 {
					b.Surge++
				}
			})},
			{"accepts everything", "the API server refuses what a controller could not read", func(b budgeting) budgets {
				b.Strategy.RollingUpdate = nil
				return plan(b)
			}},
			{"both at once", "only one of the two can be in use", instead(func(b *budgets) { b.Surges = b.Unavailable > 0 })},
		},
	}
}

// accepted tells whether the API server takes the set's strategy.
func accepted(set *appsv1.DaemonSet) bool {
	strategy := apps.DaemonSetUpdateStrategy{Type: apps.DaemonSetUpdateStrategyType(set.Spec.UpdateStrategy.Type)}
	if update := set.Spec.UpdateStrategy.RollingUpdate; update != nil {
		strategy.RollingUpdate = &apps.RollingUpdateDaemonSet{}
		convert := defaults.Convert_v1_RollingUpdateDaemonSet_To_apps_RollingUpdateDaemonSet
		if err := convert(update, strategy.RollingUpdate, nil); err != nil {
			return false
		}
	}
	return len(validation.ValidateDaemonSetUpdateStrategy(&strategy, field.NewPath("strategy"))) == 0
}

func plannedBudgets(b budgeting, nodes []*corev1.Node) budgets {
	spec, err := manifest.FromDaemonSet(b.set())
	if err != nil {
		return budgets{Err: err}
	}
	planner, err := rollout.New(spec)
	if err != nil {
		for _, mistake := range rollout.FieldErrors(err) {
			if !strings.HasPrefix(mistake.Field, "spec.strategy.") {
				return budgets{Err: mistake}
			}
		}
		return budgets{Refused: true}
	}
	plan, errN := planner.Plan(rollout.Snapshot{Now: helperNow, Nodes: nodes[:b.Nodes]})
	single, err1 := planner.Plan(rollout.Snapshot{Now: helperNow, Nodes: nodes[:1]})
	return budgets{
		Unavailable: int(plan.Budget.MaxUnavailable), Surge: int(plan.Budget.MaxSurge), Surges: single.Budget.MaxSurge > 0,
		Err: errors.Join(errN, err1),
	}
}
