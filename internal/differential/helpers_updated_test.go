package differential_test

import (
	"fmt"
	"math"
	"reflect"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	daemonutil "k8s.io/kubernetes/pkg/controller/daemon/util"
	"pgregory.net/rapid"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/history"
	"github.com/daemonplan/daemonplan/rollout/manifest"
	"github.com/daemonplan/daemonplan/status"
)

// compareGenerations is about the deprecated template generation of a set.
func compareGenerations() comparison[*appsv1.DaemonSet, *int64] {
	const (
		absent = iota
		garbage
		number
	)
	read := func(set *appsv1.DaemonSet) *int64 {
		spec, err := manifest.FromDaemonSet(set)
		if err != nil {
			return new(int64(math.MinInt64))
		}
		return spec.TemplateGeneration
	}
	return comparison[*appsv1.DaemonSet, *int64]{
		theirs: "GetTemplateGeneration", ours: "manifest.FromDaemonSet",
		kinds: []string{absent: "absent", garbage: "no number", number: "number"},
		inputs: rapid.Custom(func(t *rapid.T) *appsv1.DaemonSet {
			set := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Annotations: anyLabels(t, 1, "annotations")}}
			if !oneIn(t, 4, "absent") {
				value := rapid.SampledFrom(append([]string{
					"1", "007", "-0", "1.0", "0x1", "1_0", " 1", "1\n", "9223372036854775807", "-9223372036854775808",
				}, append(helperOddValues, helperTexts...)...))
				metav1.SetMetaDataAnnotation(&set.ObjectMeta, appsv1.DeprecatedTemplateGeneration, value.Draw(t, "generation"))
			}
			return set
		}),
		batch: 50, answer: read,
		judge: func(set *appsv1.DaemonSet, ours *int64) judgement {
			theirs, err := daemonutil.GetTemplateGeneration(set.DeepCopy())
			j := judgement{kind: number}
			switch {
			case err != nil: // as the controller has it at every call
				theirs, j.kind = nil, garbage
			case theirs == nil:
				j.kind = absent
			}
			if !reflect.DeepEqual(theirs, ours) {
				j.err = disagree(set, theirs, ours)
			}
			return j
		},
		bugs: []plantedBug[*appsv1.DaemonSet, *int64]{
			{"garbage is 0", "it counts as absent", func(set *appsv1.DaemonSet) *int64 {
				if _, found := set.Annotations[appsv1.DeprecatedTemplateGeneration]; found && read(set) == nil {
					return new(int64(0))
				}
				return read(set)
			}},
		},
	}
}

// podReading is pods of a set at one update revision. The question is which of them are updated.
type podReading struct {
	Hash       string
	Generation *int64
	// Labels of each pod.
	Labels []map[string]string
}

// updated is what the controller says of a pod with these labels.
func (r podReading) updated(labels map[string]string) bool {
	return daemonutil.IsPodUpdated(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: labels}}, r.Hash, r.Generation)
}

func anyReading() *rapid.Generator[podReading] {
	return rapid.Custom(func(t *rapid.T) podReading {
		r := podReading{
			Hash:       rapid.SampledFrom([]string{"5d8f", "1", "é"}).Draw(t, "hash"),
			Generation: anyOptional(t, rapid.SampledFrom([]int64{0, 1, 5, -1, math.MaxInt64, math.MinInt64}), "generation"),
		}
		hashes := append([]string{r.Hash, r.Hash, "", "7c6b", r.Hash + "0"}, helperTexts...)
		generations := append([]string{"", "0", "1", "5", "-1", "01", "+1", "1 ", "9223372036854775807"}, helperTexts...)
		if r.Generation != nil {
			for range 6 {
				generations = append(generations, fmt.Sprint(*r.Generation))
			}
		}
		r.Labels = anyList(t, 8, rapid.Custom(func(t *rapid.T) map[string]string {
			have := anyLabels(t, 1, "other labels")
			if have == nil {
				have = map[string]string{}
			}
			if rapid.Bool().Draw(t, "hashed") {
				have[appsv1.DefaultDaemonSetUniqueLabelKey] = rapid.SampledFrom(hashes).Draw(t, "its hash")
			}
			if rapid.Bool().Draw(t, "generated") {
				have[rollout.TemplateGenerationLabel] = rapid.SampledFrom(generations).Draw(t, "its generation")
			}
			return have
		}), "labels")
		return r
	})
}

// planReading is what a plan says about each of the pods, or why there is no plan.
type planReading struct {
	Updated []bool
	Err     error
}

// readByPlan puts each pod on a node of its own and looks at the facts of its decision.
func readByPlan(r podReading) planReading {
	template := corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "agent"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "agent", Image: "agent:v1"}}},
	}
	data, err := history.Data(&template)
	if err != nil {
		return planReading{Err: err}
	}
	planner, err := rollout.New(rollout.Spec{
		Name: "agent", Namespace: "monitoring", UID: "set-uid", Template: template, TemplateGeneration: r.Generation,
		Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "agent"}},
	})
	if err != nil {
		return planReading{Err: err}
	}
	snapshot := rollout.Snapshot{Now: helperNow, Revisions: []*appsv1.ControllerRevision{{
		ObjectMeta: metav1.ObjectMeta{
			Name: "agent-" + r.Hash, Namespace: "monitoring", Labels: map[string]string{appsv1.DefaultDaemonSetUniqueLabelKey: r.Hash},
		},
		Data: runtime.RawExtension{Raw: data}, Revision: 1,
	}}}
	for i, have := range r.Labels {
		node := fmt.Sprintf("node-%02d", i)
		snapshot.Nodes = append(snapshot.Nodes, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}})
		snapshot.Pods = append(snapshot.Pods, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Name: "pod-" + node, Namespace: "monitoring", UID: types.UID(node), Labels: have,
				OwnerReferences: []metav1.OwnerReference{{UID: "set-uid", Controller: new(true)}},
			},
			Spec: corev1.PodSpec{NodeName: node},
		})
	}
	plan, err := planner.Plan(snapshot)
	if err != nil {
		return planReading{Err: err}
	}
	var read planReading
	for _, decision := range plan.Decisions {
		read.Updated = append(read.Updated, decision.Facts.Has(status.Updated))
	}
	return read
}

func compareUpdated() comparison[podReading, planReading] {
	const (
		none = iota
		some
	)
	return comparison[podReading, planReading]{
		theirs: "IsPodUpdated", ours: "rollout.Plan.Decisions",
		kinds: []string{none: "none updated", some: "some updated"}, deviates: []deviation{hashComesFirst},
		inputs: anyReading(), batch: 40, answer: readByPlan,
		judge: func(r podReading, ours planReading) judgement {
			var j judgement
			var theirs []bool
			for _, have := range r.Labels {
				updated := r.updated(have)
				if _, hashed := have[appsv1.DefaultDaemonSetUniqueLabelKey]; hashed {
					if byHash := (podReading{Hash: r.Hash}).updated(have); byHash != updated {
						updated, j.because = byHash, hashComesFirst
					}
				}
				if updated {
					j.kind = some
				}
				theirs = append(theirs, updated)
			}
			if ours.Err != nil || !reflect.DeepEqual(theirs, ours.Updated) {
				j.err = disagree(r, theirs, ours)
			}
			return j
		},
		bugs: []plantedBug[podReading, planReading]{
			{"ignores the generation", "pods from before there were hashes would restart", func(r podReading) planReading {
				r.Generation = nil
				return readByPlan(r)
			}},
			{"as the controller", "the deliberate difference is needed", func(r podReading) planReading {
				var read planReading
				for _, have := range r.Labels {
					read.Updated = append(read.Updated, r.updated(have))
				}
				return read
			}},
			{"an empty hash is none", "the label is there, and says another revision", func(r podReading) planReading {
				read := readByPlan(r)
				for i, have := range r.Labels {
					hash, found := have[appsv1.DefaultDaemonSetUniqueLabelKey]
					if read.Err == nil && found && hash == "" {
						read.Updated[i] = r.updated(have)
					}
				}
				return read
			}},
		},
	}
}
