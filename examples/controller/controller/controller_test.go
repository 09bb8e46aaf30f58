package controller

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/daemonplan/daemonplan/examples/controller/api/v1alpha1"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/domain"
	"github.com/daemonplan/daemonplan/rollout/manifest"
	"github.com/daemonplan/daemonplan/rollout/outage"
	"github.com/daemonplan/daemonplan/rollout/stage"
)

func TestIsNormal(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	invalid := func(fields ...string) error {
		var causes []metav1.StatusCause
		for _, field := range fields {
			causes = append(causes, metav1.StatusCause{Type: metav1.CauseTypeFieldValueInvalid, Field: field})
		}
		return &apierrors.StatusError{ErrStatus: metav1.Status{
			Reason: metav1.StatusReasonInvalid, Code: 422, Details: &metav1.StatusDetails{Causes: causes},
		}}
	}
	notFound, conflict := apierrors.NewNotFound(pods, "a"), apierrors.NewConflict(pods, "a", errors.New("changed"))
	unknown := apierrors.NewGenericServerResponse(404, "PATCH", pods, "a", "404 page not found", 0, true)
	forbidden := apierrors.NewForbidden(pods, "a", errors.New("no"))
	terminating := apierrors.NewForbidden(pods, "a", errors.New("no"))
	terminating.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	tests := []struct {
		name, why string
		err       error
		want      bool
	}{
		{"not found", "it went by itself", notFound, true},
		{"unknown path", "the API server has no such subresource, today or tomorrow", unknown, false},
		{"conflict", "somebody wrote it", conflict, true},
		{"exists", "it was faster", apierrors.NewAlreadyExists(pods, "a"), true},
		{"another UID", "a patch's precondition: the pod is another one", invalid("metadata.uid"), true},
		{"invalid", "the plan is wrong, or the pod cannot be so", invalid("spec.containers"), false},
		{"invalid, too", "the UID is not all", invalid("metadata.uid", "spec.containers"), false},
		{"forbidden", "rights are missing", forbidden, false},
		{"namespace goes", "nothing can be created there any more", terminating, true},
		{"lost", "the API server is away", errors.New("connection reset"), false},
		{"wrapped", "it is what is wrapped", fmt.Errorf("CreatePod: %w", conflict), true},
		{"joined", "each is", errors.Join(notFound, fmt.Errorf("x: %w", conflict)), true},
		{"joined with another", "one is not", errors.Join(notFound, forbidden), false},
		{"joined deeper", "one is not", errors.Join(notFound, fmt.Errorf("x: %w", errors.Join(conflict, forbidden))), false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := isNormal(test.err); got != test.want {
				t.Errorf("%t, want %t: %s", got, test.want, test.why)
			}
		})
	}
}

func TestNote(t *testing.T) {
	if got := note("short"); got != "short" {
		t.Errorf("%q", got)
	}
	long := note("x" + strings.Repeat("ü", 2000))
	if len(long) > 1024 || !utf8.ValidString(long) || !strings.HasSuffix(long, "…") {
		t.Errorf("%d bytes, valid %t; want at most 1,024 of whole letters", len(long), utf8.ValidString(long))
	}
}

func TestMatters(t *testing.T) {
	node := func(change func(*corev1.Node)) *corev1.Node {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "worker-1", ResourceVersion: "1"}}
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
		change(n)
		return n
	}
	tests := map[string]struct {
		change func(*corev1.Node)
		want   bool
	}{
		"heartbeat": {func(n *corev1.Node) {
			n.ResourceVersion = "2"
			n.Status.Conditions[0].LastHeartbeatTime = metav1.Now()
		}, false},
		"condition":  {func(n *corev1.Node) { n.Status.Conditions[0].Status = corev1.ConditionFalse }, true},
		"label":      {func(n *corev1.Node) { n.Labels = map[string]string{"zone": "a"} }, true},
		"annotation": {func(n *corev1.Node) { n.Annotations = map[string]string{"a": "b"} }, true},
		"taint":      {func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{{Key: "a"}} }, true},
		"cordon":     {func(n *corev1.Node) { n.Spec.Unschedulable = true }, true},
		"image":      {func(n *corev1.Node) { n.Status.Images = []corev1.ContainerImage{{Names: []string{"a"}}} }, true},
		"deletion":   {func(n *corev1.Node) { n.DeletionTimestamp = &metav1.Time{Time: time.Now()} }, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := matters(event.UpdateEvent{ObjectOld: node(func(*corev1.Node) {}), ObjectNew: node(test.change)}); got != test.want {
				t.Errorf("%t, want %t", got, test.want)
			}
		})
	}
}

func daemonSet(change ...func(*appsv1.DaemonSet)) *appsv1.DaemonSet {
	ds := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{
		Name: "agent", Namespace: "logging", UID: "set-1", Generation: 2,
		Annotations: map[string]string{StrategyAnnotation: `{"maxUnavailable":"10%"}`},
	}}
	ds.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "agent"}}
	ds.Spec.Template.Labels = map[string]string{"app": "agent"}
	ds.Spec.Template.Spec.Containers = []corev1.Container{{Name: "main", Image: "agent:v1"}}
	ds.Spec.UpdateStrategy.Type = appsv1.OnDeleteDaemonSetStrategyType
	ds.Status.ObservedGeneration, ds.Status.CollisionCount = 2, new(int32(3))
	for _, f := range change {
		f(ds)
	}
	return ds
}

func strategy(text string) func(*appsv1.DaemonSet) {
	return func(ds *appsv1.DaemonSet) { ds.Annotations[StrategyAnnotation] = text }
}

func policy(text string) func(*appsv1.DaemonSet) {
	return func(ds *appsv1.DaemonSet) { ds.Annotations[manifest.PolicyAnnotation] = text }
}

// A policy is written alike in the strategy and in the annotation for policies, and has a field for everything that the library has.
func TestPolicyForms(t *testing.T) {
	const written = `{"outages":{"maxExempt":"5%","provenAfter":"1h","taints":["a"],"conditions":["b"],"touch":true},` +
		`"domains":[{"selector":{"matchLabels":{"a":"b"}},"key":"zone","max":"10%","atOnce":1}],` +
		`"stages":[{"name":"s","selector":{"matchLabels":{"a":"b"}},"key":"zone","tolerance":"5%","soak":"1h","approval":true}],` +
		`"approved":[{"stage":"s","value":"a","revision":"r"}],"expedite":"e"}`
	selector := &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}
	want := rollout.Policy{
		Outages: &outage.Options{
			MaxExempt: new(intstr.FromString("5%")), ProvenAfter: time.Hour, Taints: []string{"a"}, Conditions: []string{"b"}, Touch: true,
		},
		Domains: []domain.Domain{{Selector: selector, Key: "zone", Max: new(intstr.FromString("10%")), AtOnce: 1}},
		Stages: []stage.Stage{{
			Name: "s", Selector: selector, Key: "zone", Tolerance: new(intstr.FromString("5%")), Soak: time.Hour, Approval: true,
		}},
		Approved: []stage.Approval{{Stage: "s", Value: "a", Revision: "r"}},
		Expedite: "e",
	}
	for name, ds := range map[string]*appsv1.DaemonSet{
		"strategy": daemonSet(strategy(`{"policy":` + written + `}`)), "annotation": daemonSet(policy(written)),
	} {
		if spec, _, err := (Annotated{}).Read(ds); err != nil || !reflect.DeepEqual(spec.Strategy.Policy, want) {
			t.Errorf("%s: %+v, %v", name, spec.Strategy.Policy, err)
		}
	}
	for _, forms := range [][2]reflect.Type{
		{reflect.TypeFor[v1alpha1.Policy](), reflect.TypeFor[rollout.Policy]()},
		{reflect.TypeFor[v1alpha1.Outages](), reflect.TypeFor[outage.Options]()},
		{reflect.TypeFor[v1alpha1.Domain](), reflect.TypeFor[domain.Domain]()},
		{reflect.TypeFor[v1alpha1.Stage](), reflect.TypeFor[stage.Stage]()},
		{reflect.TypeFor[v1alpha1.Approval](), reflect.TypeFor[stage.Approval]()},
	} {
		if forms[0].NumField() != forms[1].NumField() {
			t.Errorf("%s has %d fields, and %s has %d", forms[0], forms[0].NumField(), forms[1], forms[1].NumField())
		}
	}
}

func TestAnnotatedRead(t *testing.T) {
	spec, memory, err := (Annotated{}).Read(daemonSet())
	if err != nil || spec.Strategy.MaxUnavailable.String() != "10%" || *memory.CollisionCount != 3 || spec.Strategy.Type == rollout.OnDelete {
		t.Errorf("%+v, %v, %v; want the annotation's strategy and the status's collision count", spec.Strategy, memory.CollisionCount, err)
	}
	tests := []struct {
		name, want string
		ds         *appsv1.DaemonSet
	}{
		{"two controllers", "spec.updateStrategy.type", daemonSet(func(ds *appsv1.DaemonSet) {
			ds.Spec.UpdateStrategy.Type = appsv1.RollingUpdateDaemonSetStrategyType
		})},
		{"no JSON", StrategyAnnotation, daemonSet(strategy("maxUnavailable: 1"))},
		{"typing error", "maxUnavailabel", daemonSet(strategy(`{"maxUnavailabel":1}`))},
		{"surge", "maxSurge", daemonSet(strategy(`{"maxSurge":1}`))},
		{"canary", "canary", daemonSet(strategy(`{"canary":{}}`))},
		{"frozen", "frozen", daemonSet(strategy(`{"frozen":true}`))},
		{"hold", "holdRevision", daemonSet(strategy(`{"holdRevision":true}`))},
		{"scaling", "partitionedScaling", daemonSet(strategy(`{"partitionedScaling":true}`))},
		{"unknown rule", "policy.windows", daemonSet(strategy(`{"policy":{"windows":[]}}`))},
		{"two policies", StrategyAnnotation + "].policy", daemonSet(strategy(`{"policy":{}}`), policy("outages: {}"))},
		{"rollback", "policy.failures.action", daemonSet(strategy(`{"policy":{"failures":{"action":"Rollback"}}}`))},
		{"rollback by annotation", "policy.failures.action", daemonSet(policy("failures: {action: Rollback}"))},
		{"unreadable policy", manifest.PolicyAnnotation + "].outages.maxExempt", daemonSet(policy("outages: {maxExempt: []}"))},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if _, _, err := (Annotated{}).Read(test.ds); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one that names %s", err, test.want)
			}
		})
	}
}

// liveSet is a DaemonSet as the API server has it.
type liveSet struct {
	client.Reader
	ds *appsv1.DaemonSet
}

func (l liveSet) Get(_ context.Context, _ client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	l.ds.DeepCopyInto(object.(*appsv1.DaemonSet))
	return nil
}

func TestAnnotatedRestrict(t *testing.T) {
	whole := func() *rollout.Plan {
		return &rollout.Plan{
			Revisions: []rollout.RevisionAction{{Verb: rollout.DeleteRevision}},
			Patches:   []rollout.Patch{{Reason: rollout.ReasonOutdated}, {Reason: rollout.ReasonDuplicateRevision}},
			Pulls:     []rollout.Pull{{}},
			Deletes: []rollout.Delete{
				{Reason: rollout.ReasonOutdated}, {Reason: rollout.ReasonFailed}, {Reason: rollout.ReasonOutdatedNotReady},
				{Reason: rollout.ReasonLeaving}, {Reason: rollout.ReasonReleased},
			},
			Creates: []rollout.Create{{}},
		}
	}
	count := func(p *rollout.Plan) [5]int {
		return [5]int{len(p.Revisions), len(p.Patches), len(p.Pulls), len(p.Deletes), len(p.Creates)}
	}
	tests := []struct {
		name, why string
		ds        *appsv1.DaemonSet
		change    func(*rollout.Plan)
		want      [5]int
		live      func(*appsv1.DaemonSet) // how the cache differs from what there is
	}{
		{"seen", "what replaces is done, what repairs is the DaemonSet controller's", daemonSet(), func(*rollout.Plan) {}, [5]int{0, 1, 1, 3, 0}, nil},
		{"template not seen", "it would create pods of the old one", daemonSet(func(ds *appsv1.DaemonSet) { ds.Generation = 3 }),
			func(*rollout.Plan) {}, [5]int{}, nil},
		{"revision not written", "pods would carry a hash that there is not", daemonSet(),
			func(p *rollout.Plan) { p.Revisions[0].Verb = rollout.CreateRevision }, [5]int{}, nil},
		{"revision not renumbered", "a rollback that it has not seen", daemonSet(),
			func(p *rollout.Plan) { p.Revisions[0].Verb = rollout.RenumberRevision }, [5]int{}, nil},
		{"late cache", "the DaemonSet controller has made pods of a newer template", daemonSet(), func(*rollout.Plan) {}, [5]int{},
			func(ds *appsv1.DaemonSet) { ds.Generation++ }},
		{"namesake", "the pods are another set's", daemonSet(), func(*rollout.Plan) {}, [5]int{},
			func(ds *appsv1.DaemonSet) { ds.UID = "another" }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			plan := whole()
			test.change(plan)
			live := liveSet{ds: daemonSet()}
			if test.live != nil {
				live.ds = daemonSet(test.live)
			}
			if err := (Annotated{}).Restrict(t.Context(), live, test.ds, plan); err != nil || count(plan) != test.want {
				t.Errorf("%v revisions, patches, pulls, deletes and creates are left, want %v: %s", count(plan), test.want, test.why)
			}
		})
	}
}
