package manifest_test

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/manifest"
	"github.com/daemonplan/daemonplan/rollout/verify"
)

func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		valid, agent, clusterDump, valid + "---\n" + valid, "", "---", "{", "[", `{"kind":"List","items":[{}]}`, "a: &a [*a]",
		`{"apiVersion":"apps/v1","kind":"DaemonSet","metadata":{"name":"a"},"spec":{"selector":{"matchLabels":{"a":"b"}},` +
			`"updateStrategy":{"type":"OnDelete"},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"a","image":"a"}]}}}}`,
	} {
		f.Add([]byte(seed))
	}
	for _, c := range documented() {
		for _, version := range c.versions {
			f.Add([]byte(c.manifest.text(version)))
		}
	}
	for _, c := range documentedEDSs() {
		f.Add([]byte(c.manifest.text()))
	}
	f.Add([]byte(edsSetting{reference: toFoo, selector: "{matchLabels: {a: b}}", containers: "{name: daemon, resources: {limits: {cpu: 1}}}"}.text() +
		"---\n" + eds{canary: "replicas: 1", spec: "  selector: {matchLabels: {zone: a}}\n", status: "canary: {nodes: [a]}"}.text()))
	for _, text := range policied("outages:\n  maxExempt: 5%\n  provenAfter: 1h\n  taints: [a]\n  conditions: [b]\n  touch: true\n") {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		before := bytes.Clone(data)
		var settings []manifest.Setting
		for object, err := range manifest.Objects(data) {
			if err != nil {
				continue
			}
			mustBeStrict(t, object)
			setting, err := object.Setting()
			if err == nil {
				settings = append(settings, setting)
			} else if object.IsSetting() && err.Error() == "" {
				t.Fatal("an error without a message")
			}
			if set, err := object.Set(); err == nil {
				set.Spec.Overrides = manifest.Overrides(set.Spec, settings)
				mustPlan(t, set)
			}
		}
		set, err := manifest.Decode(data)
		if !bytes.Equal(before, data) {
			t.Fatal("Decode wrote to its argument")
		}
		if err != nil {
			if err.Error() == "" {
				t.Fatal("an error without a message")
			}
			return
		}
		mustPlan(t, set)
	})
}

// FuzzDecodePolicy reads the value of the annotation. A mistake in it names the annotation; what is read is what its own JSON says,
// and does not prevent a plan.
func FuzzDecodePolicy(f *testing.F) {
	for _, seed := range []string{
		"", "outages: {maxExempt: 5%, provenAfter: 1h, taints: [a], conditions: &c [b], touch: yes}", `{"outages": {"maxExempt": 1}}`, "---\noutages: {}\n---\n",
		"outages: {taints: [*a]}", "a: &a [*a]", "<<: {outages: {}}", "? [a]\n: b", "outages:\n  x: 1\n  x: 2", "outages: null", "[", "{a.b: {c[0]: 1}}",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, policy string) {
		ds := full()
		ds.Annotations[manifest.PolicyAnnotation] = policy
		spec, err := manifest.FromDaemonSet(ds)
		if err != nil {
			mistakes := rollout.FieldErrors(err)
			if len(mistakes) == 0 || !strings.HasPrefix(mistakes[0].Field, "metadata.annotations["+manifest.PolicyAnnotation+"]") {
				t.Fatalf("the error does not name the annotation: %v", err)
			}
			return
		}
		object, err := yaml.YAMLToJSON([]byte(policy))
		if err != nil {
			t.Fatalf("it was read, and is no YAML: %v", err)
		}
		ds.Annotations[manifest.PolicyAnnotation] = string(object)
		if again, err := manifest.FromDaemonSet(ds); err != nil || !reflect.DeepEqual(again, spec) {
			t.Fatalf("as JSON it is another policy: %+v instead of %+v, error %v", again.Strategy.Policy, spec.Strategy.Policy, err)
		}
		mustPlan(t, manifest.Set{Spec: spec})
	})
}

// mustPlan plans for the set if New takes it. If it does not, its error names a field.
func mustPlan(t *testing.T, set manifest.Set) {
	planner, err := rollout.New(set.Spec)
	if err != nil {
		if len(manifest.FieldErrors(set.Spec, err)) == 0 {
			t.Fatalf("New fails with an error that names no field: %v", err)
		}
		return
	}
	snapshot := smallSnapshot(set)
	plan, err := planner.Plan(snapshot)
	if err != nil {
		t.Fatalf("Plan: %v", err)
	}
	for _, violation := range verify.Plan(set.Spec, snapshot, &plan) {
		t.Errorf("%v", violation)
	}
}

// smallSnapshot has three nodes, of which one is tainted, and two pods.
func smallSnapshot(set manifest.Set) rollout.Snapshot {
	snapshot := rollout.Snapshot{Now: ready.Add(time.Second), Memory: set.Memory}
	for _, name := range []string{"a", "b", "c"} {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"kubernetes.io/os": "linux"}}}
		if name == "c" {
			node.Spec.Taints = []corev1.Taint{{Key: "gpu", Effect: corev1.TaintEffectNoSchedule}}
			snapshot.Nodes = append(snapshot.Nodes, node)
			continue
		}
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "pod-" + name, Namespace: set.Spec.Namespace}}
		pod.OwnerReferences = []metav1.OwnerReference{{UID: set.Spec.UID, Controller: new(true)}}
		pod.UID = "uid-1"
		pod.Spec.NodeName = name
		pod.Status.Phase = corev1.PodRunning
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: ready}}
		if name == "b" {
			pod.UID = "uid-2"
			pod.Status.Phase = corev1.PodFailed
		}
		snapshot.Nodes, snapshot.Pods = append(snapshot.Nodes, node), append(snapshot.Pods, pod)
	}
	return snapshot
}

var ready = metav1.Unix(1_700_000_000, 0)

// mustBeStrict compares with the strict decoder of apimachinery. Quantities that this would read for ever are left out.
func mustBeStrict(t *testing.T, object manifest.Object) {
	t.Helper()
	err := object.DecodeStrict(new(corev1.Pod))
	if err != nil && bytes.ContainsAny(object.JSON, "eE") && bytes.Contains(object.JSON, []byte("-")) && strings.Contains(err.Error(), "must be a quantity") {
		return
	}
	mistakes, theirs := kjson.UnmarshalStrict(object.JSON, new(corev1.Pod))
	if (err == nil) != (theirs == nil && len(mistakes) == 0) {
		t.Fatalf("DecodeStrict says %v, the decoder of apimachinery %v and %v", err, theirs, mistakes)
	}
}
