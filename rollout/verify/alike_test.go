package verify_test

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/daemonplan/daemonplan/internal/fixedseed"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
	"github.com/daemonplan/daemonplan/rollout/stage"
	"github.com/daemonplan/daemonplan/rollout/verify"
)

type checkFunc func(rollout.Spec, rollout.Snapshot, *rollout.Plan) []verify.Violation

// alikeScene is a fleet of which most nodes are like several others.
type alikeScene struct {
	name     string
	spec     rollout.Spec
	snapshot rollout.Snapshot
}

func alikeScenes() []alikeScene {
	var scenes []alikeScene
	for _, row := range []struct {
		name    string
		options []kit.SpecOption
	}{
		{"a budget", nil},
		{"surge", []kit.SpecOption{kit.MaxUnavailable("0"), kit.MaxSurge("2")}},
		{"pods that are to be ready for long", []kit.SpecOption{kit.MinReadySeconds(60)}},
		{"a node selector", []kit.SpecOption{kit.StrategyNodeSelector("pool", "one")}},
		{"updates in place", []kit.SpecOption{kit.InPlaceIfPossible()}},
		{"updates in place only", []kit.SpecOption{kit.InPlaceOnly()}},
		{"slow start", []kit.SpecOption{kit.SlowStart(time.Minute, "2", "100%")}},
		{"exemptions", []kit.SpecOption{kit.MaxUnschedulable("1")}},
		{"on delete", []kit.SpecOption{kit.OnDelete()}},
		{"paused", []kit.SpecOption{kit.Paused()}},
		{"frozen", []kit.SpecOption{kit.Frozen()}},
		{"held nodes", []kit.SpecOption{kit.Partition("3"), kit.HoldRevision()}},
		{"a canary", []kit.SpecOption{kit.Canary("2")}},
		{"stages", []kit.SpecOption{kit.Stages(stage.Stage{Name: "pools", Key: "pool"})}},
		{"stages that soak, and exemptions", []kit.SpecOption{
			kit.Stages(stage.Stage{Name: "pools", Key: "pool", Tolerance: new(intstr.FromInt32(9)), Soak: time.Hour}), kit.MaxUnschedulable("1"),
		}},
		{"stages that need an approval", []kit.SpecOption{kit.Stages(stage.Stage{Name: "pools", Key: "pool", Approval: true})}},
	} {
		old := kit.Spec("agent", append([]kit.SpecOption{kit.MaxUnavailable("2")}, row.options...)...)
		spec := kit.Changed(old, kit.Image("agent:v2"))
		s := rollout.Snapshot{Now: kit.Noon(), Revisions: []*appsv1.ControllerRevision{kit.Revision(old, 1), kit.Revision(spec, 2)}}
		for i := range 14 {
			name := fmt.Sprintf("node-%02d", i)
			options := []kit.NodeOption{kit.Label("pool", []string{"one", "two"}[i%2])}
			of, ready := old, kit.Ready(s.Now.Add(-time.Hour))
			switch {
			case i < 3:
				of = spec
			case i < 6:
			case i == 6:
				of, ready = spec, kit.Ready(s.Now.Add(-10*time.Second))
			case i == 7:
				of, ready = spec, kit.Unready()
			case i < 10:
				of = spec
				options = append(options, kit.Taint("away", "", corev1.TaintEffectNoSchedule))
			case i < 13:
				options = append(options, kit.Taint("away", "", corev1.TaintEffectNoExecute))
			case i == 13:
				options = append(options, kit.Unreachable())
			}
			s.Nodes = append(s.Nodes, kit.Node(name, options...))
			if i < 11 || i == 13 { // 11 and 12 are empty
				created := kit.Created(s.Now.Add(-time.Hour))
				s.Pods = append(s.Pods, kit.Pod("pod-"+name, kit.Of(of), kit.OnNode(name), created, ready))
			}
		}
		scenes = append(scenes, alikeScene{row.name, spec, s})
	}
	return scenes
}

// alikeDiffers tells where a check finds something else than Plan, which judges each node by itself: in right plans, in plans with
// anything wrong in one Decision or in one number, of which it takes one in every, and in plans for another snapshot. Empty: nowhere.
// wrong counts the plans that Plan finds something in.
func alikeDiffers(t *testing.T, every int, check checkFunc) (where string, wrong int) {
	t.Helper()
	for _, scene := range alikeScenes() {
		right, ok := handPlanned(scene.spec, scene.snapshot)
		if !ok {
			t.Fatal(scene.name)
		}
		differs := func(what string, s rollout.Snapshot, plan rollout.Plan) bool {
			is, should := check(scene.spec, s, &plan), verify.Plan(scene.spec, s, &plan)
			if len(should) > 0 {
				wrong++
			}
			if slices.Equal(is, should) {
				return false
			}
			where = fmt.Sprintf("%s, %s: found %v, right is %v", scene.name, what, is, should)
			return true
		}
		if differs("the plan", scene.snapshot, right) {
			return where, wrong
		}
		snapshots := alikeSnapshots(scene.snapshot)
		for _, what := range slices.Sorted(maps.Keys(snapshots)) {
			s := snapshots[what]
			if differs(what, s, right) {
				return where, wrong
			}
			if plan, ok := handPlanned(scene.spec, s); ok && differs(what+" planned", s, plan) {
				return where, wrong
			}
		}
		plans := alikePlans(right)
		for i, what := range slices.Sorted(maps.Keys(plans)) {
			if i%every == 0 && differs(what, scene.snapshot, plans[what]) {
				return where, wrong
			}
		}
	}
	return "", wrong
}

// alikeSnapshots are snapshots in which something about one pod or node is otherwise.
func alikeSnapshots(s rollout.Snapshot) map[string]rollout.Snapshot {
	all := make(map[string]rollout.Snapshot)
	put := func(what string, i int, change func(*rollout.Snapshot)) {
		other := s
		change(&other)
		all[fmt.Sprintf("%s %d", what, i)] = other
	}
	for i, pod := range s.Pods {
		put("a delete in flight", i, func(s *rollout.Snapshot) { s.InFlight.Deletes = append(s.InFlight.Deletes, pod.UID) })
		put("a patch in flight", i, func(s *rollout.Snapshot) { s.InFlight.Patches = append(s.InFlight.Patches, pod.UID) })
		put("a pod less", i, func(s *rollout.Snapshot) { s.Pods = slices.Delete(slices.Clone(s.Pods), i, i+1) })
		for what, change := range alikePods(s.Now) {
			put(what, i, func(s *rollout.Snapshot) {
				s.Pods = slices.Clone(s.Pods)
				s.Pods[i] = pod.DeepCopy()
				change(s.Pods[i])
			})
		}
		put("a second pod", i, func(s *rollout.Snapshot) {
			second := pod.DeepCopy()
			second.Name, second.UID = "second", "second"
			s.Pods = append(slices.Clone(s.Pods), second)
		})
	}
	for i, node := range s.Nodes {
		put("a create in flight", i, func(s *rollout.Snapshot) {
			s.InFlight.Creates = append(s.InFlight.Creates, rollout.InFlightCreate{Node: node.Name})
		})
		put("a node less", i, func(s *rollout.Snapshot) { s.Nodes = slices.Delete(slices.Clone(s.Nodes), i, i+1) })
		for what, change := range map[string]func(*corev1.Node){
			"an unreachable node": func(n *corev1.Node) {
				n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoExecute})
			},
			"a node of another pool": func(n *corev1.Node) { n.Labels["pool"] = "three" },
			"a node with an override": func(n *corev1.Node) {
				n.Annotations = map[string]string{
					placement.OverrideAnnotationPrefix + "default.agent.main": `{"requests":{"cpu":"300m"}}`,
				}
			},
		} {
			put(what, i, func(s *rollout.Snapshot) {
				s.Nodes = slices.Clone(s.Nodes)
				s.Nodes[i] = node.DeepCopy()
				change(s.Nodes[i])
			})
		}
	}
	for i, ago := range []time.Duration{time.Minute, time.Hour, 2 * time.Hour} {
		put("an earlier time", i, func(s *rollout.Snapshot) { s.Now = s.Now.Add(-ago) })
	}
	return all
}

// alikePods are changes of a pod that say something else than its revision.
func alikePods(now time.Time) map[string]func(*corev1.Pod) {
	return map[string]func(*corev1.Pod){
		"an unready pod": func(p *corev1.Pod) { p.Status.Conditions = nil },
		"a pod that is ready since now": func(p *corev1.Pod) {
			for i := range p.Status.Conditions {
				p.Status.Conditions[i].LastTransitionTime.Time = now
			}
		},
		"a pod that is ready since nobody knows when": func(p *corev1.Pod) {
			for i := range p.Status.Conditions {
				p.Status.Conditions[i].LastTransitionTime = metav1.Time{}
			}
		},
		"a terminating pod": func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: now} },
		"a failed pod":      func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed },
		"a pod that was never bound": func(p *corev1.Pod) {
			p.Spec.Affinity = placement.Pin(p.Spec.Affinity, p.Spec.NodeName)
			p.Spec.NodeName = ""
		},
		"a pod without gates":           func(p *corev1.Pod) { p.Spec.ReadinessGates = nil },
		"a pod of other resources":      func(p *corev1.Pod) { p.Annotations = map[string]string{placement.DigestAnnotation: "x"} },
		"a pod that leaves":             func(p *corev1.Pod) { p.Labels[lifecycle.StateLabel] = string(lifecycle.PreparingDelete) },
		"a pod that is prepared":        func(p *corev1.Pod) { p.Labels[lifecycle.StateLabel] = string(lifecycle.PreparingUpdate) },
		"a pod that waits for its hook": func(p *corev1.Pod) { p.Labels[lifecycle.StateLabel] = string(lifecycle.Updated) },
		"a pod of no revision":          func(p *corev1.Pod) { delete(p.Labels, appsv1.DefaultDaemonSetUniqueLabelKey) },
	}
}

// alikePlans are plans in which something is otherwise.
func alikePlans(right rollout.Plan) map[string]rollout.Plan {
	all := make(map[string]rollout.Plan)
	put := func(what string, change func(*rollout.Plan)) {
		plan := right
		plan.Decisions = slices.Clone(right.Decisions)
		change(&plan)
		all[what] = plan
	}
	for i := 0; i < len(right.Decisions); i += 2 { // of each class some that are not its first
		for _, field := range fieldsOf(reflect.TypeFor[rollout.Decision](), nil) {
			put(fmt.Sprintf("decision %d %v", i, field), func(p *rollout.Plan) {
				alter(reflect.ValueOf(&p.Decisions[i]).Elem().FieldByIndex(field))
			})
		}
		put(fmt.Sprintf("decision %d missing", i), func(p *rollout.Plan) { p.Decisions = slices.Delete(p.Decisions, i, i+1) })
		put(fmt.Sprintf("decision %d twice", i), func(p *rollout.Plan) {
			p.Decisions = append(p.Decisions, p.Decisions[i])
		})
		put(fmt.Sprintf("decision %d changed places", i), func(p *rollout.Plan) {
			p.Decisions[0], p.Decisions[i] = p.Decisions[i], p.Decisions[0]
		})
		put(fmt.Sprintf("decision %d of another", i), func(p *rollout.Plan) {
			name := p.Decisions[i].Node
			p.Decisions[i] = p.Decisions[(i+5)%len(p.Decisions)]
			p.Decisions[i].Node = name
		})
		put(fmt.Sprintf("a create at %d", i), func(p *rollout.Plan) {
			create := rollout.Create{Node: p.Decisions[i].Node, Revision: p.Status.UpdateRevision, Reason: rollout.ReasonMissing}
			p.Creates = append(slices.Clone(p.Creates), create)
		})
		put(fmt.Sprintf("a back-off of %d", i), func(p *rollout.Plan) {
			p.Memory.Backoffs = append(slices.Clone(p.Memory.Backoffs), rollout.Backoff{Node: p.Decisions[i].Node, Delay: time.Second})
		})
	}
	for _, field := range fieldsOf(reflect.TypeFor[rollout.Budget](), nil) {
		put(fmt.Sprintf("budget %v", field), func(p *rollout.Plan) { alter(reflect.ValueOf(&p.Budget).Elem().FieldByIndex(field)) })
	}
	for i := range right.Parts {
		for _, field := range fieldsOf(reflect.TypeFor[rollout.PartState](), nil) {
			put(fmt.Sprintf("part %d %v", i, field), func(p *rollout.Plan) {
				p.Parts = slices.Clone(p.Parts)
				alter(reflect.ValueOf(&p.Parts[i]).Elem().FieldByIndex(field))
			})
		}
	}
	put("status", func(p *rollout.Plan) { p.Status.Updated++ })
	put("no wake", func(p *rollout.Plan) { p.NextWake = time.Time{} })
	put("a later wake", func(p *rollout.Plan) { p.NextWake = p.NextWake.Add(time.Hour) })
	return all
}

// fieldsOf lists the fields of a struct, and instead of a struct its fields.
func fieldsOf(of reflect.Type, before []int) [][]int {
	var fields [][]int
	for i := range of.NumField() {
		index, field := append(slices.Clone(before), i), of.Field(i)
		switch {
		case !field.IsExported():
		case field.Type.Kind() == reflect.Struct && field.Type != reflect.TypeFor[time.Time]():
			fields = append(fields, fieldsOf(field.Type, index)...)
		default:
			fields = append(fields, index)
		}
	}
	return fields
}

// alter gives a field another value.
func alter(field reflect.Value) {
	switch value := field.Addr().Interface().(type) {
	case *time.Time:
		*value = kit.Noon().Add(time.Second)
	case *string:
		*value += "x"
	case *bool:
		*value = !*value
	case *[]string:
		*value = append(slices.Clone(*value), "node-01", "node-05", "node-10")
	case **rollout.RevisionDiff:
		*value = &rollout.RevisionDiff{To: "x"}
	default:
		if field.CanInt() {
			field.SetInt(field.Int() + 1)
		} else {
			field.SetUint(field.Uint() + 1)
		}
	}
}

// TestVerifierJudgesAlike: what a Verifier finds by judging one of several nodes that are alike, Plan finds by judging each.
func TestVerifierJudgesAlike(t *testing.T) {
	var verifier verify.Verifier
	if where, _ := alikeDiffers(t, 100/int(fixedseed.Share(100)), verifier.Plan); where != "" {
		t.Error(where)
	}
}
