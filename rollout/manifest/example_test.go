package manifest_test

import (
	"errors"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/manifest"
)

const agent = `
apiVersion: apps/v1
kind: DaemonSet
metadata:
  name: node-agent
  namespace: kube-system
spec:
  selector:
    matchLabels: {app: node-agent}
  minReadySecond: 10
  updateStrategy:
    rollingUpdate: {maxUnavailable: 10%}
  template:
    metadata:
      labels: {app: node-agent}
    spec:
      containers:
      - name: agent
        image: example.com/agent:v2
status:
  collisionCount: 1
`

func ExampleDecode() {
	set, err := manifest.Decode([]byte(agent))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(set.Spec.Namespace, set.Spec.Name, set.Spec.Strategy.MaxUnavailable)
	fmt.Println("collisions:", *set.Memory.CollisionCount)
	fmt.Println("ignored:", set.Unknown)
	// Output:
	// kube-system node-agent 10%
	// collisions: 1
	// ignored: [spec.minReadySecond]
}

const advanced = `
apiVersion: apps.kruise.io/v1beta1
kind: DaemonSet
metadata:
  name: node-agent
  annotations:
    apps.kruise.io/image-predownload-parallelism: "10"
spec:
  selector:
    matchLabels: {app: node-agent}
  updateStrategy:
    rollingUpdate:
      rollingUpdateType: InPlaceIfPossible
      maxUnavailable: 20%
      partition: 50%
      selector:
        matchLabels: {nodeType: canary}
  lifecycle:
    preDelete:
      labelsHandler: {example.com/draining: "true"}
  template:
    metadata:
      labels: {app: node-agent}
    spec:
      containers:
      - name: agent
        image: example.com/agent:v2
`

func ExampleDecode_advancedDaemonSet() {
	set, err := manifest.Decode([]byte(advanced))
	if err != nil {
		fmt.Println(err)
		return
	}
	strategy := set.Spec.Strategy
	fmt.Println(strategy.Method, strategy.MaxUnavailable, strategy.Partition, metav1.FormatLabelSelector(strategy.NodeSelector))
	fmt.Println(set.Spec.Lifecycle.PreDelete.Labels)
	fmt.Println("pulls at a time:", set.Spec.PreDownload.Parallelism)

	// A feature gate of OpenKruise, which is not in the manifest. The caller knows.
	set.Spec.Strategy.InPlace.Resize = true
	_, err = rollout.New(set.Spec)
	fmt.Println(err)
	// Output:
	// InPlaceIfPossible 20% 50% nodeType=canary
	// map[example.com/draining:true]
	// pulls at a time: 10
	// <nil>
}

func ExampleDecode_unreadableSettings() {
	_, err := manifest.Decode([]byte(`{
		"apiVersion": "apps.kruise.io/v1alpha1", "kind": "DaemonSet",
		"metadata": {"name": "node-agent", "annotations": {"apps.kruise.io/image-predownload-parallelism": "ten"}},
		"spec": {
			"selector": {"matchLabels": {"app": "node-agent"}},
			"updateStrategy": {"rollingUpdate": {"rollingUpdateType": "InPlaceOnly", "maxUnavailable": "120%"}},
			"template": {
				"metadata": {"labels": {"app": "node-agent"}},
				"spec": {"containers": [{"name": "agent", "image": "agent"}]}
			}
		}
	}`))
	for _, mistake := range rollout.FieldErrors(err) {
		fmt.Println(mistake.Field, mistake.Type)
	}
	// Output:
	// spec.updateStrategy.rollingUpdate.rollingUpdateType Unsupported value
	// metadata.annotations[apps.kruise.io/image-predownload-parallelism] Invalid value
	// spec.updateStrategy.rollingUpdate.maxUnavailable Invalid value
}

func ExampleDecode_errors() {
	_, err := manifest.Decode([]byte(`{
		"apiVersion": "apps/v1", "kind": "DaemonSet",
		"spec": {"minReadySeconds": "soon", "template": {"spec": {"containers": [{"name": 1}]}}}
	}`))
	for _, mistake := range rollout.FieldErrors(err) {
		fmt.Println(mistake)
	}
	// Output:
	// spec.minReadySeconds: Invalid value: "soon": must be a number
	// spec.template.spec.containers[0].name: Invalid value: 1: must be a string
}

func ExampleFromDaemonSet() {
	ds := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Name: "node-agent", Generation: 4}}
	ds.Spec.UpdateStrategy.Type = appsv1.RollingUpdateDaemonSetStrategyType
	ds.Spec.UpdateStrategy.RollingUpdate = &appsv1.RollingUpdateDaemonSet{MaxSurge: new(intstr.FromString("25%"))}
	spec, err := manifest.FromDaemonSet(ds)
	fmt.Println(spec.Name, spec.Generation, spec.Strategy.Type, spec.Strategy.MaxSurge, err)
	// Output: node-agent 4 RollingUpdate 25% <nil>
}

func ExampleFieldErrors() {
	set, err := manifest.Decode([]byte(`
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: node-agent}
spec:
  selector: {matchLabels: {app: node-agent}}
  updateStrategy: {rollingUpdate: {maxSurge: 120%}}
  template:
    metadata: {labels: {app: node-agent}}
    spec: {containers: [{name: agent, image: agent}]}
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = rollout.New(set.Spec)
	fmt.Println(err)
	fmt.Println(manifest.FieldErrors(set.Spec, err).ToAggregate())
	// Output:
	// spec.strategy.maxSurge: Invalid value: "120%": must not be more than 100%
	// spec.updateStrategy.rollingUpdate.maxSurge: Invalid value: "120%": must not be more than 100%
}

func ExampleFieldErrors_advancedDaemonSet() {
	set, err := manifest.Decode([]byte(strings.Replace(advanced, "maxUnavailable: 20%", "maxSurge: 20%", 1)))
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = rollout.New(set.Spec)
	for _, mistake := range manifest.FieldErrors(set.Spec, err) {
		fmt.Println(mistake.Field, mistake.Type)
	}
	// Output: spec.updateStrategy.rollingUpdate.maxSurge Invalid value
}

const clusterDump = `{
	"apiVersion": "v1", "kind": "List", "items": [
		{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a"}},
		{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "b"}}
	]
}
---
apiVersion: apps/v1
kind: DaemonSet
`

func ExampleObjects() {
	for object, err := range manifest.Objects([]byte(clusterDump)) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(object.Document, object.Item, object.APIVersion, object.Kind)
	}
	// Output:
	// 1 1 v1 Node
	// 1 2 v1 Node
	// 2 0 apps/v1 DaemonSet
}

func ExampleObject_Decode() {
	var nodes []*corev1.Node
	for object, err := range manifest.Objects([]byte(clusterDump)) {
		if err != nil || object.Kind != "Node" {
			continue
		}
		var node corev1.Node
		if err := object.Decode(&node); err != nil {
			fmt.Println(err)
			return
		}
		nodes = append(nodes, &node)
	}
	fmt.Println(len(nodes), nodes[0].Name)
	// Output: 2 a
}

func ExampleObject_Set() {
	for object, err := range manifest.Objects([]byte(agent)) {
		if err != nil || object.Kind != "DaemonSet" {
			continue
		}
		set, err := object.Set()
		fmt.Println(set.Spec.Name, err)
	}
	// Output: node-agent <nil>
}

func ExampleDocumentError() {
	for _, err := range manifest.Objects([]byte("kind: Node\n---\nname: a\nname: b\n")) {
		if e, ok := errors.AsType[*manifest.DocumentError](err); ok {
			fmt.Println(e.Document, e.Unwrap())
			fmt.Println(e.Error())
		}
	}
	// Output:
	// 2 line 4: key "name" already set in map
	// document 2: line 4: key "name" already set in map
}

func ExampleDocumentError_Error() {
	err := &manifest.DocumentError{Document: 2, Item: 5, Err: errors.New("kind: Required value")}
	fmt.Println(err.Error())
	// Output: document 2, item 5: kind: Required value
}

func ExampleDocumentError_Unwrap() {
	for _, err := range manifest.Objects([]byte(`{"apiVersion": "v1", "items": [], "kind": 5}`)) {
		mistake, ok := errors.AsType[*field.Error](err) // finds it by way of Unwrap
		fmt.Println(ok, mistake.Field)
	}
	// Output: true kind
}
