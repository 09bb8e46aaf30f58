package manifest_test

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/manifest"
)

const extended = `
apiVersion: datadoghq.com/v1alpha1
kind: ExtendedDaemonSet
metadata:
  name: foo
  annotations:
    extendeddaemonset.datadoghq.com/old-daemonset: foo-before
    extendeddaemonset.datadoghq.com/canary-paused: "true"
    daemonplan.io/canary-pause: foo-5d8f7b9c4
spec:
  strategy:
    canary:
      replicas: 1
      duration: 5m
    rollingUpdate:
      maxPodSchedulerFailure: 10%
      slowStartAdditiveIncrease: 5
  template:
    spec:
      containers:
      - name: daemon
        image: example.com/agent:v2
`

func ExampleDecode_extendedDaemonSet() {
	set, err := manifest.Decode([]byte(extended))
	if err != nil {
		fmt.Println(err)
		return
	}
	strategy := set.Spec.Default().Strategy
	fmt.Println("canary:", strategy.Canary.Replicas, *strategy.Canary.Duration, *strategy.Canary.NoRestartsDuration)
	fmt.Println("paused:", strategy.Canary.Commands.Pause)
	fmt.Println("slow start:", strategy.SlowStart.Interval, strategy.SlowStart.Increase, strategy.SlowStart.MaxParallel)
	fmt.Println("follows:", set.OldDaemonSet)
	// Output:
	// canary: 1 5m0s 5m0s
	// paused: foo-5d8f7b9c4
	// slow start: 1m0s 5 250
	// follows: foo-before
}

func ExampleFieldErrors_extendedDaemonSet() {
	set, err := manifest.Decode([]byte(`
apiVersion: datadoghq.com/v1alpha1
kind: ExtendedDaemonSet
metadata: {name: foo}
spec:
  strategy:
    rollingUpdate: {maxParallelPodCreation: 0}
    canary: {validationMode: manual, duration: 5m}
  template: {spec: {containers: [{name: daemon, image: "example.com/agent:v2"}]}}
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = rollout.New(set.Spec)
	for _, e := range manifest.FieldErrors(set.Spec, err) {
		fmt.Println(e.Field, e.Type)
	}
	// Output:
	// spec.strategy.rollingUpdate.maxParallelPodCreation Invalid value
	// spec.strategy.canary.duration Forbidden
}

const largeNodes = `
apiVersion: datadoghq.com/v1alpha1
kind: ExtendedDaemonsetSetting
metadata: {name: large-nodes}
spec:
  reference: {kind: ExtendedDaemonset, name: foo}
  nodeSelector: {matchLabels: {node-type: xxl}}
  containers:
  - name: daemon
    resources: {limits: {cpu: 500m}}
`

func ExampleDecodeSetting() {
	setting, err := manifest.DecodeSetting([]byte(largeNodes))
	if err != nil {
		fmt.Println(err)
		return
	}
	limits := setting.Override.Containers["daemon"].Limits
	fmt.Println(setting.Set, setting.Override.Name, limits.Cpu())
	// Output: foo large-nodes 500m
}

func ExampleOverrides() {
	// One invalid setting does not keep the others from counting.
	dump := extended + "---" + largeNodes + `---
apiVersion: datadoghq.com/v1alpha1
kind: ExtendedDaemonsetSetting
metadata: {name: nobodys}
`
	var set manifest.Set
	var settings []manifest.Setting
	for object, err := range manifest.Objects([]byte(dump)) {
		if err != nil {
			fmt.Println(err)
			return
		}
		if !object.IsSetting() {
			if set, err = object.Set(); err != nil {
				fmt.Println(err)
				return
			}
			continue
		}
		setting, err := object.Setting()
		if err != nil {
			fmt.Println("left out:", err)
			continue
		}
		settings = append(settings, setting)
	}
	set.Spec.Overrides = manifest.Overrides(set.Spec, settings)
	fmt.Println(len(set.Spec.Overrides), set.Spec.Overrides[0].Name)
	// Output:
	// left out: spec.reference: Required value: says which ExtendedDaemonSet the setting is for
	// 1 large-nodes
}

func ExampleObject_Setting() {
	for object, err := range manifest.Objects([]byte(largeNodes)) {
		if err != nil {
			fmt.Println(err)
			return
		}
		setting, err := object.Setting()
		fmt.Println(setting.Set, err)
	}
	// Output: foo <nil>
}

func ExampleObject_IsSetting() {
	for object, err := range manifest.Objects([]byte(extended + "---" + largeNodes)) {
		fmt.Println(object.Kind, object.IsSetting(), err)
	}
	// Output:
	// ExtendedDaemonSet false <nil>
	// ExtendedDaemonsetSetting true <nil>
}

func ExamplePredecessorOf() {
	set, err := manifest.Decode([]byte(extended))
	if err != nil {
		fmt.Println(err)
		return
	}
	old := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Name: set.OldDaemonSet, UID: "6a3b"}}
	old.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "foo"}}
	before, err := manifest.FromDaemonSet(old)
	if err != nil {
		fmt.Println(err)
		return
	}
	set.Spec.Predecessor = new(manifest.PredecessorOf(before))
	fmt.Println(set.Spec.Predecessor.UIDs, set.Spec.Predecessor.Selector.MatchLabels)
	// Output: [6a3b] map[app:foo]
}
