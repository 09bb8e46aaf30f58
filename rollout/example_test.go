package rollout_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// A set written out, without the help of package rollouttest.
func agent() rollout.Spec {
	return rollout.Spec{
		Name:     "agent",
		Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "agent"}},
		Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "agent"}},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "agent:v2"}}},
		},
	}
}

// three returns a rollout under way: n1 runs the new template, n2 and n3 run an older one.
func three(options ...rollouttest.SpecOption) (rollout.Spec, rollout.Snapshot) {
	spec := rollouttest.Spec("agent", options...)
	pod := func(node string, options ...rollouttest.PodOption) *corev1.Pod {
		options = append([]rollouttest.PodOption{rollouttest.Of(spec), rollouttest.OnNode(node)}, options...)
		return rollouttest.Pod("agent-"+node, options...)
	}
	return spec, rollout.Snapshot{
		Now:   rollouttest.Noon(),
		Nodes: rollouttest.Nodes("n1", "n2", "n3"),
		Pods: []*corev1.Pod{
			pod("n1"), pod("n2", rollouttest.AtRevision("old")), pod("n3", rollouttest.AtRevision("old")),
		},
		Revisions: []*appsv1.ControllerRevision{rollouttest.Revision(spec, 2)},
	}
}

func mustPlan(spec rollout.Spec, snapshot rollout.Snapshot) *rollout.Plan {
	planner, err := rollout.New(spec)
	if err != nil {
		panic(err)
	}
	plan, err := planner.Plan(snapshot)
	if err != nil {
		panic(err)
	}
	return &plan
}

// Observe, plan, execute, repeat: the plan says what to do next, and why.
func Example() {
	planner, err := rollout.New(agent())
	if err != nil {
		fmt.Println(err)
		return
	}
	plan, err := planner.Plan(rollout.Snapshot{
		Now:   time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC),
		Nodes: []*corev1.Node{{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}, {ObjectMeta: metav1.ObjectMeta{Name: "n2"}}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, action := range plan.Revisions {
		fmt.Println(action.Verb, "revision", action.Number)
	}
	for _, create := range plan.Creates {
		fmt.Println("create a pod on", create.Node, "because", create.Reason)
	}
	fmt.Println(plan.Status.State, plan.Status.Desired, plan.Status.Available)
	// Output:
	// create revision 1
	// create a pod on n1 because Missing
	// create a pod on n2 because Missing
	// Updating 2 0
}

// Every mistake is reported at once.
func ExampleNew() {
	spec := agent()
	spec.Name = "Agent!"
	spec.Strategy.MaxUnavailable = new(intstr.FromString("half"))
	_, err := rollout.New(spec)
	for _, mistake := range rollout.FieldErrors(err) {
		fmt.Println(mistake.Field)
	}

	var first *field.Error
	fmt.Println(errors.As(err, &first))
	// Output:
	// spec.name
	// spec.strategy.maxUnavailable
	// true
}

func ExampleFieldErrors() {
	spec := agent()
	spec.MinReadySeconds = -1
	_, err := rollout.New(spec)
	for _, mistake := range rollout.FieldErrors(err) {
		fmt.Println(mistake.Field, mistake.BadValue)
	}
	fmt.Println(rollout.FieldErrors(errors.New("something else")) == nil)
	// Output:
	// spec.minReadySeconds -1
	// true
}

// One node at a time by default: n3 is replaced, n2 waits.
func ExamplePlanner_Plan() {
	spec, snapshot := three()
	planner, err := rollout.New(spec)
	if err != nil {
		fmt.Println(err)
		return
	}
	plan, err := planner.Plan(snapshot)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, d := range plan.Deletes {
		fmt.Printf("delete %s on %s: %s\n", d.Pod, d.Node, d.Reason)
	}
	for _, d := range plan.Decisions {
		fmt.Println(d.Node, d.State, d.Verb, d.Reason, d.Limit)
	}

	snapshot.Now = time.Time{}
	_, err = planner.Plan(snapshot)
	fmt.Println(err)
	// Output:
	// delete agent-n3 on n3: Outdated
	// n1 updated none UpToDate none
	// n2 outdated wait Budget maxUnavailable
	// n3 outdated replace Outdated none
	// snapshot.Now: must be set: the planner has no clock of its own
}

// Creates carry no object; the planner builds it when it is about to be sent.
// A bound that is no integer is taken by the API server, and its term matches no node.
func ExamplePlanner_Warnings() {
	spec := rollouttest.Spec("agent", rollouttest.Affinity("cores", "many"))
	required := spec.Template.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	required.NodeSelectorTerms[0].MatchExpressions[0].Operator = corev1.NodeSelectorOpGt
	planner, err := rollout.New(spec)
	if err != nil {
		panic(err)
	}
	for _, warning := range planner.Warnings() {
		fmt.Println(warning.BadValue)
	}
	// Output: many
}

// A set that is updated with maxSurge needs room for two pods on a node. Where both listen on a port of the host there is none.
func ExamplePlanner_Exclusions() {
	spec := rollouttest.Spec("exporter", rollouttest.MaxSurge("1"))
	spec.Template.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 9100, HostPort: 9100}}
	planner, err := rollout.New(spec)
	if err != nil {
		panic(err)
	}
	for _, exclusion := range planner.Exclusions(&spec.Template, nil) {
		fmt.Println(exclusion)
	}
	// Output: both listen on a port of the host: 9100/TCP
}

func ExamplePlanner_Pod() {
	planner, err := rollout.New(agent())
	if err != nil {
		fmt.Println(err)
		return
	}
	pod, err := planner.Pod(rollout.Create{Node: "n1", Revision: "5c8f6d7b9"})
	if err != nil {
		fmt.Println(err)
		return
	}
	pin := pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms[0].MatchFields[0]
	fmt.Println(pod.GenerateName, pod.Labels)
	fmt.Println(pin.Key, pin.Operator, pin.Values)
	// Output:
	// agent- map[app:agent controller-revision-hash:5c8f6d7b9]
	// metadata.name In [n1]
}

// Of the pods of a namespace, which are the set's?
func ExampleClaim() {
	spec := rollouttest.Spec("agent")
	controlledBy := func(uid types.UID) rollouttest.PodOption {
		return func(p *corev1.Pod) { p.OwnerReferences = []metav1.OwnerReference{{UID: uid, Controller: new(true)}} }
	}
	labelled := rollouttest.PodLabel("app", "agent")
	claims, err := rollout.Claim(spec, []*corev1.Pod{
		rollouttest.Pod("own", labelled, controlledBy(spec.UID)),
		rollouttest.Pod("orphan", labelled),
		rollouttest.Pod("relabelled", controlledBy(spec.UID)),
		rollouttest.Pod("foreign", labelled, controlledBy("another")),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	names := func(pods []*corev1.Pod) (names []string) {
		for _, p := range pods {
			names = append(names, p.Name)
		}
		return names
	}
	fmt.Println("plan with", names(claims.Pods))
	fmt.Println("adopt", names(claims.Adopt))
	fmt.Println("release", names(claims.Release))
	// Output:
	// plan with [orphan own]
	// adopt [orphan]
	// release [relabelled]
}

// Of the revisions of a namespace, which are the set's?
func ExampleClaimRevisions() {
	spec, other := rollouttest.Spec("agent"), rollouttest.Spec("proxy")
	own, err := rollout.ClaimRevisions(spec, []*appsv1.ControllerRevision{
		rollouttest.Revision(other, 1), rollouttest.Revision(spec, 1),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, revision := range own.Revisions {
		fmt.Println(revision.Labels["app"], revision.Revision)
	}
	// Output: agent 1
}

func ExampleSpec_Default() {
	spec := agent().Default()
	fmt.Println(spec.Namespace, spec.Strategy.Type, spec.Strategy.MaxUnavailable, *spec.RevisionHistoryLimit, spec.Burst)

	spec.Strategy = rollout.Strategy{MaxSurge: new(intstr.FromString("10%"))}
	fmt.Println(spec.Default().Strategy.MaxUnavailable)
	// Output:
	// default RollingUpdate 1 10 250
	// 0
}

func ExampleSpec_Validate() {
	spec := agent()
	spec.Strategy.MaxUnavailable = new(intstr.FromInt32(1))
	spec.Strategy.MaxSurge = new(intstr.FromInt32(1))
	for _, mistake := range spec.Validate(field.NewPath("spec")) {
		fmt.Println(mistake)
	}
	// Output:
	// spec.strategy.maxSurge: Invalid value: "1": must be 0 or unset while maxUnavailable is not 0: only one of the two budgets can be in use
}

func ExamplePlan_Explain() {
	plan := mustPlan(three())
	for _, node := range []string{"n1", "n2", "n3", "n4"} {
		fmt.Println(plan.Explain(node))
	}
	// Output:
	// n1: updated; nothing to do: its pod is at the update revision and available
	// n2: outdated; waits: its pod agent-n2 is outdated, but maxUnavailable 1 is used up by n3
	// n3: outdated; replace pod agent-n3: the pod is outdated, and the budget allows it; counts against maxUnavailable
	// n4: the snapshot has no such node, and no pod that belongs there
}

// The reason alone, for an event or a table of one's own.
func ExamplePlan_Because() {
	plan := mustPlan(three())
	for i := range plan.Decisions {
		d := &plan.Decisions[i]
		fmt.Printf("%s|%s|%s\n", d.Node, d.Reason, plan.Because(d))
	}
	// Output:
	// n1|UpToDate|its pod is at the update revision and available
	// n2|Budget|its pod agent-n2 is outdated, but maxUnavailable 1 is used up by n3
	// n3|Outdated|the pod is outdated, and the budget allows it
}

// Why does the rest wait?
func ExamplePlan_Waits() {
	for _, wait := range mustPlan(three(rollouttest.MaxSurge("1"))).Waits() {
		fmt.Println(wait.Limit, wait.Size, wait.Nodes, "because of", wait.Because)
	}
	// Output: maxSurge 1 [n2] because of [n3]
}

func ExampleWaitingNodes_String() {
	for _, wait := range mustPlan(three()).Waits() {
		fmt.Println(wait)
	}
	for _, wait := range mustPlan(three(rollouttest.Paused())).Waits() {
		fmt.Println(wait)
	}
	// Output:
	// 1 node waits: maxUnavailable 1 is used up by n3 (n2)
	// 2 nodes are held at their old revision: the rollout is paused (n2, n3)
}

// Send one batch in parallel, and the next only if none of it failed.
func ExamplePlan_Batches() {
	plan := mustPlan(agent(), rollout.Snapshot{
		Now: rollouttest.Noon(), Nodes: rollouttest.Nodes("n1", "n2", "n3", "n4", "n5"),
	})
	for _, batch := range plan.Batches() {
		var nodes []string
		for _, create := range batch {
			nodes = append(nodes, create.Node)
		}
		fmt.Println(nodes)
	}
	// Output:
	// [n1]
	// [n2 n3]
	// [n4 n5]
}

// An empty plan and no NextWake: nothing is left to do until the cluster or the spec changes.
func ExamplePlan_Empty() {
	spec, snapshot := three()
	fmt.Println(mustPlan(spec, snapshot).Empty())

	for _, pod := range snapshot.Pods {
		rollouttest.AtRevision(rollouttest.Hash(spec))(pod)
	}
	plan := mustPlan(spec, snapshot)
	fmt.Println(plan.Empty(), plan.NextWake.IsZero())
	// Output:
	// false
	// true true
}

// Until the effects of a plan are seen in the snapshot, its actions are passed along, and are not planned again.
func ExampleInFlight_With() {
	spec, snapshot := three()
	plan := mustPlan(spec, snapshot)
	fmt.Println(len(plan.Deletes))

	snapshot.InFlight = snapshot.InFlight.With(plan)
	plan = mustPlan(spec, snapshot)
	fmt.Println(len(plan.Deletes), plan.Explain("n3"))
	// Output:
	// 1
	// 0 n3: terminating; waits: the node's pods are terminating; counts against maxUnavailable
}

// Memory travels as JSON, in the status of a custom resource, say.
func ExampleMemory() {
	spec, snapshot := three()
	rollouttest.Failed()(snapshot.Pods[0])
	stored, err := json.Marshal(mustPlan(spec, snapshot).Memory)
	if err != nil {
		fmt.Println(err)
		return
	}

	var memory rollout.Memory
	if err := json.Unmarshal(stored, &memory); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(memory.Version, memory.Backoffs[0].Node, memory.Backoffs[0].Delay)
	// Output: 1 n1 1s
}

func ExampleSnapshotError_Error() {
	_, snapshot := three()
	snapshot.Nodes = append(snapshot.Nodes, nil)
	planner, err := rollout.New(agent())
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = planner.Plan(snapshot)
	var contract *rollout.SnapshotError
	fmt.Println(errors.As(err, &contract))
	fmt.Println(contract.Error())
	// Output:
	// true
	// snapshot.Nodes[3]: must not be nil
}

func ExampleNodeState_String() {
	fmt.Println(rollout.StateOutdated, rollout.StateSurging)
	// Output: outdated surging
}

func ExampleTarget_String() {
	fmt.Println(rollout.TargetNone, rollout.TargetUpdate, rollout.TargetHeld)
	// Output: none update held
}

func ExampleVerb_String() {
	fmt.Println(rollout.VerbWait, rollout.VerbReplace)
	// Output: wait replace
}

func ExampleReason_String() {
	fmt.Println(rollout.ReasonMissing, rollout.ReasonOutdatedNotReady)
	// Output: Missing OutdatedNotReady
}

func ExampleLimit_String() {
	fmt.Println(rollout.LimitMaxUnavailable, rollout.LimitBurst)
	// Output: maxUnavailable burst
}

func ExampleRevisionVerb_String() {
	fmt.Println(rollout.CreateRevision, rollout.RenumberRevision, rollout.DeleteRevision)
	// Output: create renumber delete
}

// printJSON shows the JSON of a value that has a text form.
func printJSON(v any) {
	data, err := json.Marshal(v)
	fmt.Println(string(data), err)
}

func ExampleNodeState_MarshalText() {
	printJSON(rollout.StateSurging)
	// Output: "surging" <nil>
}

func ExampleTarget_MarshalText() {
	printJSON(rollout.TargetHeld)
	// Output: "held" <nil>
}

func ExampleVerb_MarshalText() {
	printJSON(rollout.VerbReplace)
	// Output: "replace" <nil>
}

func ExampleLimit_MarshalText() {
	printJSON(rollout.LimitMaxSurge)
	// Output: "maxSurge" <nil>
}

func ExampleReason_MarshalText() {
	printJSON(rollout.ReasonBudget)
	// Output: "Budget" <nil>
}

func ExampleReason_UnmarshalText() {
	var reason rollout.Reason
	fmt.Println(reason.UnmarshalText([]byte("TakenBack")), reason)
	fmt.Println(reason.UnmarshalText([]byte("Whim")))
	// Output:
	// <nil> TakenBack
	// "Whim" is no reason
}

func ExampleRevisionVerb_MarshalText() {
	printJSON(rollout.RenumberRevision)
	// Output: "renumber" <nil>
}

func ExampleMemory_Collided() {
	var memory rollout.Memory
	memory = memory.Collided()
	fmt.Println(*memory.CollisionCount)
	memory = memory.Collided()
	fmt.Println(*memory.CollisionCount)
	// Output:
	// 1
	// 2
}

// The patches of one pod are sent one after the other, until one fails; those of different pods in parallel.
func ExamplePlan_PatchesByPod() {
	plan := rollout.Plan{Patches: []rollout.Patch{
		{Pod: "agent-b", UID: "b", Subresource: "status"}, {Pod: "agent-a", UID: "a"}, {Pod: "agent-b", UID: "b"},
	}}
	for _, patches := range plan.PatchesByPod() {
		fmt.Print(patches[0].Pod, ":")
		for _, patch := range patches {
			fmt.Printf(" %q", patch.Subresource)
		}
		fmt.Println()
	}
	// Output:
	// agent-b: "status" ""
	// agent-a: ""
}

// A rollback makes an old revision the newest again.
func ExampleRevisionAction_Patch() {
	action := rollout.RevisionAction{Verb: rollout.RenumberRevision, Name: "agent-84b74", UID: "r1", Number: 7}
	fmt.Println(string(action.Patch()))
	action = rollout.RevisionAction{
		Verb: rollout.AnnotateRevision, Name: "agent-84b74", UID: "r1",
		Annotations: map[string]string{"promoted": "yes"}, RemoveAnnotations: []string{"failed"},
	}
	fmt.Println(string(action.Patch()))
	// Output:
	// {"metadata":{"uid":"r1"},"revision":7}
	// {"metadata":{"annotations":{"failed":null,"promoted":"yes"},"uid":"r1"}}
}

// An orphan that the selector matches becomes the set's, unless it has changed since.
func ExampleAdoptPatch() {
	spec := agent()
	spec.UID = "set"
	orphan := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "agent-x", UID: "u1", ResourceVersion: "12", Labels: map[string]string{"app": "agent"}}}
	claims, err := rollout.Claim(spec, []*corev1.Pod{orphan})
	if err != nil {
		panic(err)
	}
	for _, pod := range claims.Adopt {
		fmt.Println(string(rollout.AdoptPatch(spec, &pod.ObjectMeta)))
	}
	// Output: {"metadata":{"ownerReferences":[{"apiVersion":"apps/v1","kind":"DaemonSet","name":"agent","uid":"set","controller":true,"blockOwnerDeletion":true}],"resourceVersion":"12","uid":"u1"}}
}

// A pod that the selector does not match any more is let go.
func ExampleReleasePatch() {
	spec := agent()
	spec.UID = "set"
	pod := &metav1.ObjectMeta{Name: "agent-x", UID: "u1", ResourceVersion: "12", OwnerReferences: []metav1.OwnerReference{
		{APIVersion: "apps/v1", Kind: "DaemonSet", Name: "agent", UID: "set", Controller: new(true)},
	}}
	fmt.Println(string(rollout.ReleasePatch(spec, pod)))
	// Output: {"metadata":{"ownerReferences":[],"resourceVersion":"12","uid":"u1"}}
}
