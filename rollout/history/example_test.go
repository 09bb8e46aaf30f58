package history_test

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/daemonplan/daemonplan/rollout/history"
)

func agent(version string) *corev1.PodTemplateSpec {
	return &corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "agent"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "reg.example/agent:" + version}}},
	}
}

func stored(hash string, number int64, template *corev1.PodTemplateSpec) *appsv1.ControllerRevision {
	data, err := history.Data(template)
	if err != nil {
		panic(err)
	}
	return &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{
			Name: "agent-" + hash, Labels: map[string]string{appsv1.DefaultDaemonSetUniqueLabelKey: hash},
		},
		Data:     runtime.RawExtension{Raw: data},
		Revision: number,
	}
}

func Example() {
	resolver, err := history.Compile(history.Set{Name: "agent", Namespace: "monitoring"}, agent("v9"))
	if err != nil {
		fmt.Println(err)
		return
	}
	resolution, err := resolver.Resolve(history.Input{
		Revisions: []*appsv1.ControllerRevision{stored("a", 1, agent("v7")), stored("b", 2, agent("v8"))},
		Carriers:  []history.Carrier{{Hash: "b", Live: true}},
		Limit:     1,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("update:", resolution.Update.Name, resolution.Update.Number)
	fmt.Println("stable:", resolution.Stable.Name)
	fmt.Println("create:", resolution.Create.Namespace, resolution.Create.Name, resolution.Create.Labels)
	for _, revision := range resolution.Delete {
		fmt.Println("delete:", revision.Name)
	}
	// Output:
	// update: agent-59b76fc9cf 3
	// stable: agent-b
	// create: monitoring agent-59b76fc9cf map[app:agent controller-revision-hash:59b76fc9cf]
	// delete: agent-a
}

func ExampleData() {
	data, err := history.Data(agent("v9"))
	fmt.Println(string(data), err)
	// Output:
	// {"spec":{"template":{"$patch":"replace","metadata":{"labels":{"app":"agent"}},"spec":{"containers":[{"image":"reg.example/agent:v9","name":"main","resources":{}}]}}}} <nil>
}

func ExampleHash() {
	fmt.Println(history.Hash(agent("v9"), nil))
	fmt.Println(history.Hash(agent("v9"), new(int32(1))))
	// Output:
	// 59b76fc9cf
	// 6cbf66fdb
}

func ExampleHashOf() {
	fmt.Println(history.HashOf(stored("66f7646d9d", 1, agent("v9"))))
	// Output:
	// 66f7646d9d
}

func ExampleSameData() {
	now := []byte(`{"spec":{"template":{"$patch":"replace","metadata":{},"spec":{"containers":null}}}}`)
	old := []byte(`{"spec":{"template":{"$patch":"replace","metadata":{"creationTimestamp":null},"spec":{"containers":null}}}}`)
	fmt.Println(history.SameData(old, now))
	// Output:
	// true
}

func ExampleTemplate() {
	template, err := history.Template(stored("a", 1, agent("v7")))
	fmt.Println(template.Spec.Containers[0].Image, err)
	broken := &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Name: "agent-b"}}
	_, err = history.Template(broken)
	fmt.Println(err)
	// Output:
	// reg.example/agent:v7 <nil>
	// revision "agent-b": unreadable revision data: not valid JSON
}

func ExampleCompile() {
	_, err := history.Compile(history.Set{}, agent("v9"))
	fmt.Println(err)
	// Output:
	// set: no name
}

func ExampleResolver_Data() {
	resolver, _ := history.Compile(history.Set{Name: "agent"}, &corev1.PodTemplateSpec{})
	fmt.Println(string(resolver.Data()))
	// Output:
	// {"spec":{"template":{"$patch":"replace","metadata":{},"spec":{"containers":null}}}}
}

func ExampleResolver_Hash() {
	resolver, _ := history.Compile(history.Set{Name: "agent"}, agent("v9"))
	fmt.Println(resolver.Hash(nil))
	// Output:
	// 59b76fc9cf
}

// A rollback: the spec has the template of an older revision again.
func ExampleResolver_Resolve() {
	resolver, err := history.Compile(history.Set{Name: "agent"}, agent("v7"))
	if err != nil {
		fmt.Println(err)
		return
	}
	resolution, err := resolver.Resolve(history.Input{
		Revisions: []*appsv1.ControllerRevision{stored("a", 1, agent("v7")), stored("b", 2, agent("v8"))},
		Carriers:  []history.Carrier{{Hash: "b", Live: true}},
		Limit:     10,
	})
	fmt.Println(resolution.Renumber.Revision.Name, "becomes", resolution.Renumber.Number, err)
	// Output:
	// agent-a becomes 3 <nil>
}

func ExampleRollback() {
	revisions := []*appsv1.ControllerRevision{stored("a", 1, agent("v7")), stored("b", 2, agent("v8"))}
	plan, err := history.Rollback(revisions, agent("v8"), 0)
	fmt.Println(plan.Revision.Name, plan.Changes, err)
	_, err = history.Rollback(revisions, agent("v8"), 5)
	fmt.Println(err)
	// Output:
	// agent-a [spec.containers[main].image: "reg.example/agent:v8" -> "reg.example/agent:v7" (restarts)] <nil>
	// no such revision: 5; there are 1, 2
}

func ExampleChanges() {
	old, new := agent("v8"), agent("v9")
	new.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "LEVEL", Value: "debug"}}
	for _, change := range history.Changes(old, new) {
		fmt.Println(change)
	}
	// Output:
	// spec.containers[main].env: added [{"name":"LEVEL","value":"debug"}] (restarts)
	// spec.containers[main].image: "reg.example/agent:v8" -> "reg.example/agent:v9" (restarts)
}

func ExampleDiffData() {
	changes, err := history.DiffData(
		[]byte(`{"spec":{"template":{"spec":{}}}}`),
		[]byte(`{"spec":{"template":{"spec":{"hologram":{"size":3}}}}}`),
	)
	fmt.Println(changes, err)
	// Output:
	// [spec.hologram: added {"size":3} (restarts: unknown field)] <nil>
}

func ExampleRestarts() {
	old, new := agent("v8"), agent("v8")
	new.Labels["tier"] = "node"
	fmt.Println(history.Restarts(history.Changes(old, new)), history.Restarts(history.Changes(old, old)))
	// Output:
	// true false
}

func ExampleChange_String() {
	fmt.Println(history.Change{Path: "spec.hostPID", Op: history.Added, New: "true", Restarts: true})
	// Output:
	// spec.hostPID: added true (restarts)
}

func ExampleOp_String() {
	fmt.Println(history.Moved)
	// Output:
	// moved
}

func ExampleWhy_String() {
	fmt.Println(history.Equivalent)
	// Output:
	// equivalent
}
