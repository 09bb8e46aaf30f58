package manifest_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/predownload"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/manifest"
)

const (
	alpha = "apps.kruise.io/v1alpha1"
	beta  = "apps.kruise.io/v1beta1"
)

// kruise is the text of an Advanced DaemonSet: one with a selector and a template, and what is said in metadata and spec.
type kruise struct {
	metadata string // lines below metadata, indented by two
	spec     string // lines below spec, indented by two
	labels   string // more labels of the template, in flow style
	resource string // resources of the container, in flow style
}

func (k kruise) text(apiVersion string) string {
	return "apiVersion: " + apiVersion + "\nkind: DaemonSet\nmetadata:\n  name: node-agent\n" + k.metadata + `spec:
  selector: {matchLabels: {app: node-agent}}
  template:
    metadata: {labels: {app: node-agent` + k.labels + `}}
    spec: {containers: [{name: agent, image: "agent:v1", resources: {` + k.resource + `}}]}
` + k.spec
}

// kruiseSpec returns what the text of the zero kruise says.
func kruiseSpec(apiVersion string) rollout.Spec {
	return rollout.Spec{
		Name: "node-agent", APIVersion: apiVersion, Kind: "DaemonSet",
		Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "node-agent"}},
		Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "node-agent"}},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "agent", Image: "agent:v1"}}},
		},
	}
}

func number(n int32) *intstr.IntOrString { return new(intstr.FromInt32(n)) }

func percent(text string) *intstr.IntOrString { return new(intstr.FromString(text)) }

// rollingUpdate returns the text of an update strategy.
func rollingUpdate(settings string) string {
	return "  updateStrategy: {type: RollingUpdate, rollingUpdate: {" + settings + "}}\n"
}

func annotated(annotations string) string { return "  annotations: {" + annotations + "}\n" }

// documented returns the settings of every example in the documentation of Advanced DaemonSet.
func documented() []documentedKruise {
	both := []string{alpha, beta}
	return []documentedKruise{
		{row{"another apiVersion", "moving from apps/v1 is one line"}, both, kruise{}, func(*rollout.Spec) {}},
		{row{"Standard", "the way of apps/v1"}, both, kruise{spec: rollingUpdate("rollingUpdateType: Standard")},
			func(s *rollout.Spec) { s.Strategy.Method = inplace.Recreate }},
		{row{"Standard with surge", "as apps/v1 spells it"}, both, kruise{spec: rollingUpdate("rollingUpdateType: Standard, maxSurge: 30%")},
			func(s *rollout.Spec) { s.Strategy.Method, s.Strategy.MaxSurge = inplace.Recreate, percent("30%") }},
		{row{"in place", "environment variables that read metadata are on by default in OpenKruise, resizing is off"}, both,
			kruise{spec: rollingUpdate("rollingUpdateType: InPlaceIfPossible, maxUnavailable: 20%")},
			func(s *rollout.Spec) {
				s.Strategy.Method, s.Strategy.InPlace = inplace.IfPossible, inplace.Options{EnvFromMetadata: true}
				s.Strategy.MaxUnavailable = percent("20%")
			}},
		{row{"canary nodes", "the selector holds the other nodes (T3)"}, both, kruise{spec: rollingUpdate("selector: {matchLabels: {nodeType: canary}}")},
			func(s *rollout.Spec) {
				s.Strategy.NodeSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"nodeType": "canary"}}
			}},
		{row{"partition", "ten nodes stay (T2)"}, both, kruise{spec: rollingUpdate("partition: 10")},
			func(s *rollout.Spec) { s.Strategy.Partition = number(10) }},
		{row{"partition in percent", "after OpenKruise v1.8, in both versions"}, both, kruise{spec: rollingUpdate("partition: 50%")},
			func(s *rollout.Spec) { s.Strategy.Partition = percent("50%") }},
		{row{"paused", "without a type: RollingUpdate is the default"}, both, kruise{spec: "  updateStrategy: {rollingUpdate: {paused: true}}\n"},
			func(s *rollout.Spec) { s.Strategy.Type, s.Strategy.Paused = "", true }},
		{row{"surging", "deprecated: Standard with a surge; maxUnavailable becomes 0"}, []string{alpha},
			kruise{spec: rollingUpdate("rollingUpdateType: Surging, maxSurge: 30%")},
			func(s *rollout.Spec) {
				s.Strategy.Method, s.Strategy.MaxSurge, s.Strategy.MaxUnavailable = inplace.Recreate, percent("30%"), number(0)
			}},
		{row{"surging without a number", "the surge becomes 1"}, []string{alpha}, kruise{spec: rollingUpdate("rollingUpdateType: Surging, partition: 0")},
			func(s *rollout.Spec) {
				s.Strategy.Method, s.Strategy.MaxSurge, s.Strategy.MaxUnavailable = inplace.Recreate, number(1), number(0)
				s.Strategy.Partition = number(0)
			}},
		{row{"partitioned scaling by annotation", "how v1alpha1 says it (T7)"}, []string{alpha},
			kruise{metadata: annotated(`daemonset.kruise.io/progressive-create-pod: "true"`), spec: rollingUpdate("partition: 10")},
			func(s *rollout.Spec) { s.Strategy.PartitionedScaling, s.Strategy.Partition = true, number(10) }},
		{row{"partitioned scaling off by annotation", "false is as good as absent"}, []string{alpha},
			kruise{metadata: annotated(`daemonset.kruise.io/progressive-create-pod: "false"`), spec: rollingUpdate("partition: 10")},
			func(s *rollout.Spec) { s.Strategy.Partition = number(10) }},
		{row{"partitioned scaling by field", "how v1beta1 says it (T7)"}, []string{beta},
			kruise{spec: rollingUpdate("partition: 10") + "  scaleStrategy: {partitionedScaling: true}\n"},
			func(s *rollout.Spec) { s.Strategy.PartitionedScaling, s.Strategy.Partition = true, number(10) }},
		{row{"partitioned scaling by field, with the annotation", "what OpenKruise makes of a v1alpha1 object"}, []string{beta},
			kruise{metadata: annotated(`daemonset.kruise.io/progressive-create-pod: "true"`), spec: "  scaleStrategy: {partitionedScaling: true}\n"},
			func(s *rollout.Spec) { s.Strategy.Type, s.Strategy.PartitionedScaling = "", true }},
		{row{"resize", "cpu and memory in the template; whether it may be in place is for the caller to say"}, both,
			kruise{spec: rollingUpdate("rollingUpdateType: InPlaceIfPossible"), resource: `requests: {cpu: "2", memory: 2Gi}, limits: {cpu: "4", memory: 4Gi}`},
			func(s *rollout.Spec) {
				s.Strategy.Method, s.Strategy.InPlace = inplace.IfPossible, inplace.Options{EnvFromMetadata: true}
				s.Template.Spec.Containers[0].Resources = corev1.ResourceRequirements{
					Requests: amounts("cpu", "2", "memory", "2Gi"), Limits: amounts("cpu", "4", "memory", "4Gi"),
				}
			}},
		{row{"GPU", "recreates the pod when it changes, which is not for the manifest to say"}, both,
			kruise{spec: rollingUpdate("rollingUpdateType: InPlaceIfPossible"), resource: `limits: {nvidia.com/gpu: 1}`},
			func(s *rollout.Spec) {
				s.Strategy.Method, s.Strategy.InPlace = inplace.IfPossible, inplace.Options{EnvFromMetadata: true}
				s.Template.Spec.Containers[0].Resources.Limits = amounts("nvidia.com/gpu", "1")
			}},
		{row{"pulls ten at a time", "with the timeout and the back-off of OpenKruise's jobs"}, both,
			kruise{metadata: annotated(`apps.kruise.io/image-predownload-parallelism: "10"`)},
			func(s *rollout.Spec) { s.Strategy.Type, s.PreDownload = "", pulls(number(10), nil, 300) }},
		{row{"pulls after three pods", "OpenKruise reads the number and does not use it"}, both,
			kruise{metadata: annotated(`apps.kruise.io/image-predownload-parallelism: "10", apps.kruise.io/image-predownload-min-updated-ready-pods: "3"`)},
			func(s *rollout.Spec) { s.Strategy.Type, s.PreDownload = "", pulls(number(10), number(3), 300) }},
		{row{"pulls after a tenth of the pods", "a percentage is allowed"}, both,
			kruise{metadata: annotated(`apps.kruise.io/image-predownload-min-updated-ready-pods: 10%`)},
			func(s *rollout.Spec) { s.Strategy.Type, s.PreDownload = "", pulls(nil, percent("10%"), 300) }},
		{row{"pulls by percentage", "OpenKruise takes one at a time instead"}, both,
			kruise{metadata: annotated(`apps.kruise.io/image-predownload-parallelism: "25%"`)},
			func(s *rollout.Spec) { s.Strategy.Type, s.PreDownload = "", pulls(percent("25%"), nil, 300) }},
		{row{"pulls paused", "0 is a number like any other (D1)"}, both, kruise{metadata: annotated(`apps.kruise.io/image-predownload-parallelism: "0"`)},
			func(s *rollout.Spec) { s.Strategy.Type, s.PreDownload = "", pulls(number(0), nil, 300) }},
		{row{"pulls with a timeout", "any one of the annotations asks for pulls"}, both,
			kruise{metadata: annotated(`apps.kruise.io/image-predownload-timeout-seconds: "1"`)},
			func(s *rollout.Spec) { s.Strategy.Type, s.PreDownload = "", pulls(nil, nil, 1) }},
		{row{"hook by label", "the label of the template hooks every pod"}, both,
			kruise{labels: `, example.io/block-deleting: "true"`, spec: "  lifecycle: {preDelete: {labelsHandler: {example.io/block-deleting: \"true\"}}}\n"},
			func(s *rollout.Spec) {
				s.Strategy.Type = ""
				s.Template.Labels["example.io/block-deleting"] = "true"
				s.Lifecycle.PreDelete = &lifecycle.Hook{Labels: map[string]string{"example.io/block-deleting": "true"}}
			}},
		{row{"hook by finalizer, not ready", "drains traffic before the containers end"}, both,
			kruise{spec: "  lifecycle: {preDelete: {markPodNotReady: true, finalizersHandler: [example.io/unready-blocker]}}\n"},
			func(s *rollout.Spec) {
				s.Strategy.Type = ""
				s.Lifecycle.PreDelete = &lifecycle.Hook{Finalizers: []string{"example.io/unready-blocker"}, MarkPodNotReady: true}
			}},
		{row{"other hooks", "their webhook refuses inPlaceUpdate, which works here"}, both,
			kruise{spec: "  lifecycle: {inPlaceUpdate: {labelsHandler: {a: b}, markPodNotReady: true}, preNormal: {finalizersHandler: [c.io/d]}}\n"},
			func(s *rollout.Spec) {
				s.Strategy.Type = ""
				s.Lifecycle.InPlaceUpdate = &lifecycle.Hook{Labels: map[string]string{"a": "b"}, MarkPodNotReady: true}
				s.Lifecycle.PreNormal = &lifecycle.Hook{Finalizers: []string{"c.io/d"}}
			}},
		{row{"burst", "bounds the creates of one plan (M6)"}, both, kruise{spec: "  burstReplicas: 100\n"},
			func(s *rollout.Spec) { s.Strategy.Type, s.Burst = "", number(100) }},
		{row{"burst in percent", "the same"}, both, kruise{spec: "  burstReplicas: 10%\n"},
			func(s *rollout.Spec) { s.Strategy.Type, s.Burst = "", percent("10%") }},
		{row{"what apps/v1 has", "in the same places"}, both,
			kruise{
				metadata: "  namespace: kube-system\n  uid: u-1\n  generation: 7\n" + annotated(`deprecated.daemonset.template.generation: "5"`),
				spec:     rollingUpdate("maxUnavailable: 2") + "  minReadySeconds: 30\n  revisionHistoryLimit: 3\n",
			},
			func(s *rollout.Spec) {
				s.Namespace, s.UID, s.Generation, s.TemplateGeneration = "kube-system", "u-1", 7, new(int64(5))
				s.Strategy.MaxUnavailable, s.MinReadySeconds, s.RevisionHistoryLimit = number(2), 30, new(int32(3))
			}},
		{row{"OnDelete", "OpenKruise looks at nothing below rollingUpdate then"}, both,
			kruise{spec: "  updateStrategy: {type: OnDelete, rollingUpdate: {rollingUpdateType: InPlaceIfPossible, maxSurge: 0, partition: 3, paused: true, selector: {}}}\n"},
			func(s *rollout.Spec) { s.Strategy.Type = rollout.OnDelete }},
	}
}

type documentedKruise struct {
	row
	versions []string
	manifest kruise
	want     func(*rollout.Spec)
}

func pulls(parallelism, minReady *intstr.IntOrString, timeout int32) *predownload.Options {
	return &predownload.Options{
		Parallelism: parallelism, MinUpdatedReadyPods: minReady, TimeoutSeconds: timeout, BackoffLimit: new(int32(1)),
	}
}

func amounts(pairs ...string) corev1.ResourceList {
	list := make(corev1.ResourceList)
	for pair := range slices.Chunk(pairs, 2) {
		list[corev1.ResourceName(pair[0])] = resource.MustParse(pair[1])
	}
	return list
}

func TestKruiseDocumented(t *testing.T) {
	each(t, documented(), func(c documentedKruise) row { return c.row }, func(t *testing.T, c documentedKruise) {
		for _, version := range c.versions {
			want := kruiseSpec(version)
			if strings.Contains(c.manifest.spec, "type: RollingUpdate") {
				want.Strategy.Type = rollout.RollingUpdate
			}
			c.want(&want)
			set, err := manifest.Decode([]byte(c.manifest.text(version)))
			if err != nil {
				t.Fatalf("%s: %v", version, err)
			}
			if diff := cmp.Diff(manifest.Set{Spec: want}, set); diff != "" {
				t.Errorf("%s (-want +got):\n%s", version, diff)
			}
			if _, err := rollout.New(set.Spec); err != nil {
				t.Errorf("%s: New refuses it: %v", version, err)
			}
		}
	})
}

// TestKruiseUnknown has manifests that are read although not all of them is understood.
func TestKruiseUnknown(t *testing.T) {
	type test struct {
		row
		version  string
		manifest kruise
		unknown  []string
	}
	each(t, []test{
		{row{"status of v1alpha1", "every field of a stored object is known"}, alpha,
			kruise{spec: "status: {daemonSetHash: a, collisionCount: 3, desiredNumberScheduled: 1, conditions: [{type: A, status: \"True\"}]}\n"}, nil},
		{row{"status of v1beta1", "the revision has another name there"}, beta,
			kruise{spec: "status: {updateRevision: a, collisionCount: 3, numberAvailable: 1, observedGeneration: 2}\n"}, nil},
		{row{"status of the other version", "the API server drops what this version does not have"}, beta,
			kruise{spec: "status: {daemonSetHash: a, collisionCount: 3}\n"}, []string{"status.daemonSetHash"}},
		{row{"revision of the other version", "the same"}, alpha,
			kruise{spec: "status: {updateRevision: a, collisionCount: 3}\n"}, []string{"status.updateRevision"}},
		{row{"scaleStrategy in v1alpha1", "only v1beta1 has it, so it has no effect there"}, alpha,
			kruise{spec: "  scaleStrategy: {partitionedScaling: true}\nstatus: {collisionCount: 3}\n"}, []string{"spec.scaleStrategy"}},
		{row{"annotation in v1beta1", "only v1alpha1 has it, so it has no effect here"}, beta,
			kruise{metadata: annotated(`daemonset.kruise.io/progressive-create-pod: "true"`), spec: "status: {collisionCount: 3}\n"},
			[]string{"metadata.annotations[daemonset.kruise.io/progressive-create-pod]"}},
		{row{"any annotation in v1beta1", "nothing is asked for that does not happen"}, beta,
			kruise{metadata: annotated(`daemonset.kruise.io/progressive-create-pod: "yes"`), spec: "status: {collisionCount: 3}\n"}, nil},
		{row{"template generation", "unreadable, as in apps/v1; the list is sorted"}, alpha,
			kruise{metadata: annotated(`deprecated.daemonset.template.generation: x`), spec: "  a: 1\nstatus: {collisionCount: 3}\n"},
			[]string{"metadata.annotations[deprecated.daemonset.template.generation]", "spec.a"}},
		{row{"fields of other workloads", "CloneSet has them, DaemonSet has not"}, beta,
			kruise{
				spec: "  updateStrategy: {inPlaceUpdateStrategy: {gracePeriodSeconds: 5}, rollingUpdate: {maxUnavailble: 1}}\n" +
					"  lifecycle: {preDelete: {labelHandler: {a: b}}}\nstatus: {collisionCount: 3}\n",
			},
			[]string{
				"spec.lifecycle.preDelete.labelHandler", "spec.updateStrategy.inPlaceUpdateStrategy",
				"spec.updateStrategy.rollingUpdate.maxUnavailble",
			}},
		{row{"no node patches", "an empty list asks for nothing"}, beta, kruise{spec: "  nodePatches: []\nstatus: {collisionCount: 3}\n"}, nil},
	}, func(c test) row { return c.row }, func(t *testing.T, c test) {
		set, err := manifest.Decode([]byte(c.manifest.text(c.version)))
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(set.Unknown, c.unknown) {
			t.Errorf("unknown fields: got %q, want %q", set.Unknown, c.unknown)
		}
		if set.Spec.Strategy.PartitionedScaling || set.Spec.TemplateGeneration != nil {
			t.Errorf("what was ignored is in the spec: %+v", set.Spec)
		}
		if m := set.Memory; m.Version != rollout.MemoryVersion || m.CollisionCount == nil || *m.CollisionCount != 3 {
			t.Errorf("memory: %+v, want 3 collisions", m)
		}
	})
}

func TestKruiseBeingDeleted(t *testing.T) {
	for _, version := range []string{alpha, beta} {
		for _, strategy := range []string{"", "  updateStrategy: {type: OnDelete}\n"} {
			text := kruise{metadata: "  deletionTimestamp: 2026-01-01T00:00:00Z\n", spec: strategy}.text(version)
			set, err := manifest.Decode([]byte(text))
			if err != nil || !set.Spec.Strategy.Frozen {
				t.Errorf("%s: frozen %t, error %v; a set that is being deleted must be left alone", version, set.Spec.Strategy.Frozen, err)
			}
		}
	}
}

// TestKruiseSharesNothing overwrites the text.
func TestKruiseSharesNothing(t *testing.T) {
	for _, version := range []string{alpha, beta} {
		data := fmt.Appendf(nil, `{"apiVersion":%q,"kind":"DaemonSet","metadata":{"name":"a","annotations":{"apps.kruise.io/image-predownload-parallelism":"5%%"}},`+
			`"spec":{"updateStrategy":{"rollingUpdate":{"partition":"5%%"}},"lifecycle":{"preDelete":{"finalizersHandler":["a/b"]}}}}`, version)
		read := func(data []byte) manifest.Set {
			set, err := manifest.Decode(data)
			if err != nil {
				t.Fatal(err)
			}
			return set
		}
		want, set := read(bytes.Clone(data)), read(data)
		for i := range data {
			data[i] = 'x'
		}
		if diff := cmp.Diff(want, set); diff != "" {
			t.Errorf("the result changed with the text (-before +after):\n%s", diff)
		}
	}
}
