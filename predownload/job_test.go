package predownload_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/daemonplan/daemonplan/predownload"
)

// revision returns one named agent-<hash>, of a template.
func revision(hash string, template *corev1.PodTemplateSpec) *appsv1.ControllerRevision {
	data, err := json.Marshal(map[string]any{"spec": map[string]any{"template": template}})
	if err != nil {
		panic(err)
	}
	return &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{Name: "agent-" + hash, Labels: map[string]string{"controller-revision-hash": hash}},
		Data:       runtime.RawExtension{Raw: data},
	}
}

// unreadable returns a revision whose data is no template.
func unreadable(hash string) *appsv1.ControllerRevision {
	r := revision(hash, nil)
	r.Data.Raw = []byte(`{"spec":{"template":5}}`)
	return r
}

// rollout returns one of ten nodes from app:1 to app:2, whose other images stay.
func rollout() predownload.JobInput {
	return predownload.JobInput{
		Namespace: "ns",
		Selector:  &metav1.LabelSelector{MatchLabels: map[string]string{"app": "agent"}},
		Update:    revision("new", podTemplate([]string{"setup:1"}, "app:2", "side:1")),
		Old:       []*appsv1.ControllerRevision{revision("old", podTemplate([]string{"setup:1"}, "app:1", "side:1"))},
		Desired:   10,
	}
}

// summary is jobs in short: name, image, and what the selector leaves out.
func summary(jobs []predownload.Job) string {
	var parts []string
	for _, j := range jobs {
		last := j.PodSelector.MatchExpressions[len(j.PodSelector.MatchExpressions)-1]
		parts = append(parts, fmt.Sprintf("%s %s not %s", j.Name, j.Image, strings.Join(last.Values, ",")))
	}
	return strings.Join(parts, "; ")
}

func TestJobs(t *testing.T) {
	const one = "agent-new-c0 app:2 not agent-new,new"
	tests := []struct {
		name, why string
		change    func(*predownload.JobInput)
		decision  predownload.JobDecision
		jobs      string
	}{
		{name: "one image", why: "the others stay", decision: predownload.DecisionCreate, jobs: one},
		{name: "all images", why: "a job each, in the order of use", decision: predownload.DecisionCreate,
			change: func(in *predownload.JobInput) { in.Old[0] = revision("old", podTemplate(nil, "app:1")) },
			jobs:   "agent-new-i0 setup:1 not agent-new,new; " + one + "; agent-new-c1 side:1 not agent-new,new"},
		{name: "image used elsewhere", why: "the node has it, whichever container used it", decision: predownload.DecisionNotNeeded,
			change: func(in *predownload.JobInput) {
				in.Old[0] = revision("old", podTemplate([]string{"app:2"}, "setup:1", "docker.io/library/side:1"))
			}},
		{name: "image used twice", why: "one job, named after the first container", decision: predownload.DecisionCreate,
			change: func(in *predownload.JobInput) {
				in.Update = revision("new", podTemplate(nil, "side:1", "app:2", "docker.io/library/app:2"))
			},
			jobs: "agent-new-c1 app:2 not agent-new,new"},
		{name: "no old revision", why: "no pod is outdated", decision: predownload.DecisionNotNeeded,
			change: func(in *predownload.JobInput) { in.Old = nil }},
		{name: "update revision among the old", why: "its pods are updated", decision: predownload.DecisionNotNeeded,
			change: func(in *predownload.JobInput) { in.Old = []*appsv1.ControllerRevision{unreadable("new"), nil} }},
		{name: "update revision before the old", why: "what comes after it counts", decision: predownload.DecisionCreate,
			change: func(in *predownload.JobInput) {
				in.Old = []*appsv1.ControllerRevision{unreadable("new"), nil, in.Old[0]}
			},
			jobs: one},
		{name: "old revisions that use it", why: "their pods' nodes are left out, in the order of hashes, each once", decision: predownload.DecisionCreate,
			change: func(in *predownload.JobInput) {
				same := podTemplate(nil, "app:2", "side:1", "setup:1")
				in.Old = append(in.Old, revision("z", same), revision("b", same), revision("b", same))
			},
			jobs: "agent-new-c0 app:2 not agent-new,new,b,z"},
		{name: "old revision without hash", why: "its pods cannot be left out, and pulling again costs little", decision: predownload.DecisionCreate,
			change: func(in *predownload.JobInput) {
				in.Old = append(in.Old, revision("x", podTemplate(nil, "app:2", "side:1", "setup:1")))
				in.Old[1].Labels = nil
			},
			jobs: one},
		{name: "decided: created", why: "OpenKruise or an earlier call did it", decision: predownload.DecisionDecided,
			change: func(in *predownload.JobInput) { in.Update.Labels["apps.kruise.io/pre-predownload-created"] = "true" }},
		{name: "decided: ignored", why: "with whatever value", decision: predownload.DecisionDecided,
			change: func(in *predownload.JobInput) { in.Update.Labels["apps.kruise.io/image-predownload-ignored"] = "" }},
		{name: "decided, invalid by now", why: "what is decided is decided", decision: predownload.DecisionDecided,
			change: func(in *predownload.JobInput) {
				in.Update.Labels["apps.kruise.io/image-predownload-ignored"] = ""
				in.Partition = text("x")
			}},
		{name: "OnDelete", why: "T5", decision: predownload.DecisionOnDelete,
			change: func(in *predownload.JobInput) { in.OnDelete = true }},
		{name: "OnDelete, invalid budgets", why: "they are not looked at", decision: predownload.DecisionOnDelete,
			change: func(in *predownload.JobInput) { in.OnDelete, in.MaxUnavailable = true, text("x") }},
		{name: "desired unknown", why: "to be asked again", decision: predownload.DecisionNotYet,
			change: func(in *predownload.JobInput) { in.Desired = 0 }},
		{name: "desired negative", why: "no less unknown", decision: predownload.DecisionNotYet,
			change: func(in *predownload.JobInput) { in.Desired = -1 }},
		{name: "one node", why: "maxUnavailable is 1, so it is one batch", decision: predownload.DecisionOneBatch,
			change: func(in *predownload.JobInput) { in.Desired = 1 }},
		{name: "two nodes", why: "maxUnavailable is 1, so it is two batches", decision: predownload.DecisionCreate, jobs: one,
			change: func(in *predownload.JobInput) { in.Desired = 2 }},
		{name: "budget of all", why: "one batch", decision: predownload.DecisionOneBatch,
			change: func(in *predownload.JobInput) { in.MaxUnavailable = number(10) }},
		{name: "budget of all but one", why: "two batches", decision: predownload.DecisionCreate, jobs: one,
			change: func(in *predownload.JobInput) { in.MaxUnavailable = number(9) }},
		{name: "budget rounded up", why: "91% of 10 are 10 (B1)", decision: predownload.DecisionOneBatch,
			change: func(in *predownload.JobInput) { in.MaxUnavailable = text("91%") }},
		{name: "budget not quite", why: "90% of 10 are 9", decision: predownload.DecisionCreate, jobs: one,
			change: func(in *predownload.JobInput) { in.MaxUnavailable = text("90%") }},
		{name: "surge of all", why: "one batch too", decision: predownload.DecisionOneBatch,
			change: func(in *predownload.JobInput) { in.MaxSurge = text("100%") }},
		{name: "surge of one, one node", why: "with surge maxUnavailable is 0, and the surge is enough", decision: predownload.DecisionOneBatch,
			change: func(in *predownload.JobInput) { in.MaxSurge, in.Desired = number(1), 1 }},
		{name: "surge rounded to nothing", why: "0% is no surge, so that maxUnavailable is 1", decision: predownload.DecisionOneBatch,
			change: func(in *predownload.JobInput) { in.MaxSurge, in.Desired = text("0%"), 1 }},
		{name: "both zero", why: "nothing is ever updated in one batch", decision: predownload.DecisionCreate, jobs: one,
			change: func(in *predownload.JobInput) { in.MaxSurge, in.MaxUnavailable, in.Desired = number(0), number(0), 1 }},
		{name: "maxUnavailable zero", why: "without a surge nothing is ever updated", decision: predownload.DecisionCreate, jobs: one,
			change: func(in *predownload.JobInput) { in.MaxUnavailable, in.Desired = number(0), 1 }},
		{name: "partition", why: "with a node held, it is not all in one batch", decision: predownload.DecisionCreate, jobs: one,
			change: func(in *predownload.JobInput) { in.MaxUnavailable, in.Partition = number(10), number(1) }},
		{name: "partition of all but one", why: "one node is let go", decision: predownload.DecisionCreate, jobs: one,
			change: func(in *predownload.JobInput) { in.Partition = number(9) }},
		{name: "partition of all", why: "nobody is to be updated", decision: predownload.DecisionHeld,
			change: func(in *predownload.JobInput) { in.Partition = number(10) }},
		{name: "partition rounded down", why: "9% of 10 hold nobody (T2)", decision: predownload.DecisionOneBatch,
			change: func(in *predownload.JobInput) { in.MaxUnavailable, in.Partition = number(10), text("9%") }},
		{name: "partition rounded down to nothing", why: "33% of 3 are 99 hundredths of a node (T2)", decision: predownload.DecisionOneBatch,
			change: func(in *predownload.JobInput) {
				in.MaxUnavailable, in.Partition, in.Desired = number(3), text("33%"), 3
			}},
		{name: "partition of all, nothing to pull", why: "that nothing is needed is final, a partition is not", decision: predownload.DecisionNotNeeded,
			change: func(in *predownload.JobInput) { in.Partition, in.Old = text("100%"), nil }},
		{name: "not enough ready pods", why: "OpenKruise reads this and never uses it", decision: predownload.DecisionMinUpdatedReadyPods,
			change: func(in *predownload.JobInput) { in.Options.MinUpdatedReadyPods, in.UpdatedReady = text("25%"), 2 }},
		{name: "enough ready pods", why: "25% of 10 are 3", decision: predownload.DecisionCreate, jobs: one,
			change: func(in *predownload.JobInput) { in.Options.MinUpdatedReadyPods, in.UpdatedReady = text("25%"), 3 }},
		{name: "parallelism 0", why: "the job is created, and waits until somebody raises it", decision: predownload.DecisionCreate, jobs: one,
			change: func(in *predownload.JobInput) { in.Options.Parallelism = number(0) }},
		{name: "selector with both", why: "labels and expressions stay", decision: predownload.DecisionCreate, jobs: one,
			change: func(in *predownload.JobInput) {
				in.Selector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Exists"}}
			}},
		{name: "selector with an expression", why: "that will do, and it stays", decision: predownload.DecisionCreate, jobs: one,
			change: func(in *predownload.JobInput) {
				in.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Exists"}}}
			}},
	}
	rows := make(rowNames)
	for _, test := range tests {
		rows.check(t, test.name, test.why)
		t.Run(test.name, func(t *testing.T) {
			in := rollout()
			if test.change != nil {
				test.change(&in)
			}
			decision, err := predownload.Decide(in)
			if err != nil || decision != test.decision {
				t.Errorf("decision %v, %v, want %v: %s", decision, err, test.decision, test.why)
			}
			jobs, err := predownload.Jobs(in)
			if got := summary(jobs); err != nil || got != test.jobs {
				t.Errorf("jobs %q, %v, want %q: %s", got, err, test.jobs, test.why)
			}
			if len(jobs) > 0 {
				want := len(in.Selector.MatchExpressions) + 1
				if got := jobs[0].PodSelector; len(got.MatchExpressions) != want || !gocmp.Equal(got.MatchLabels, in.Selector.MatchLabels) {
					t.Errorf("the pod selector %v lost part of the set's", got)
				}
			}
		})
	}
}

func TestJobsErrors(t *testing.T) {
	tests := []struct {
		name, why string
		change    func(*predownload.JobInput)
		want      string
	}{
		{name: "no selector", why: "nil finds nothing for the API and everything for OpenKruise", change: func(in *predownload.JobInput) { in.Selector = nil }, want: "selector is empty"},
		{name: "empty selector", why: "it finds everybody's pods", change: func(in *predownload.JobInput) { in.Selector = &metav1.LabelSelector{} }, want: "selector is empty"},
		{name: "no update revision", why: "there is nothing to pull", change: func(in *predownload.JobInput) { in.Update = nil }, want: "update revision: there is none"},
		{name: "unreadable update revision", why: "there is no knowing what to pull", change: func(in *predownload.JobInput) { in.Update = unreadable("new") }, want: "update revision: json"},
		{name: "empty update revision", why: "no template is no template without images", change: func(in *predownload.JobInput) { in.Update.Data.Raw = []byte(`{"spec":{}}`) }, want: "has no template"},
		{name: "no hash", why: "updated pods could not be left out", change: func(in *predownload.JobInput) { in.Update.Labels = nil }, want: "no hash label"},
		{name: "strategy", why: "every mistake at once", change: func(in *predownload.JobInput) {
			in.Partition, in.MaxUnavailable, in.MaxSurge, in.Options.Parallelism = text("x"), text("abc"), number(-1), number(-2)
		}, want: `[options.parallelism: Invalid value: -2: must not be negative, partition: Invalid value: "x": must be an integer or a percentage such as "10%", ` +
			`maxSurge: Invalid value: -1: must not be negative, maxUnavailable: Invalid value: "abc": must be an integer or a percentage such as "10%"]`},
	}
	rows := make(rowNames)
	for _, test := range tests {
		rows.check(t, test.name, test.why)
		t.Run(test.name, func(t *testing.T) {
			in := rollout()
			test.change(&in)
			decision, err := predownload.Decide(in)
			if err == nil || decision != predownload.DecisionNone || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, %v, want an error with %q: %s", decision, err, test.want, test.why)
			}
			if jobs, again := predownload.Jobs(in); jobs != nil || fmt.Sprint(again) != fmt.Sprint(err) {
				t.Errorf("Jobs: %v, %v", jobs, again)
			}
		})
	}
}

// TestJobsCarry looks at every field of a job that carries everything.
func TestJobsCarry(t *testing.T) {
	in := rollout()
	template := podTemplate(nil, "app:2")
	template.Labels = map[string]string{"app": "agent", "controller-revision-hash": "stale"}
	template.Annotations = map[string]string{"note": "n"}
	template.Spec.ImagePullSecrets = []corev1.LocalObjectReference{{Name: "s"}, {Name: "t"}}
	in.Update = revision("new", template)
	in.Owner = metav1.OwnerReference{APIVersion: "apps.kruise.io/v1beta1", Kind: "DaemonSet", Name: "agent", UID: "1", Controller: new(true)}
	in.Options = predownload.Options{Parallelism: text("10%"), TimeoutSeconds: 60, BackoffLimit: new(int32(0))}
	want := []predownload.Job{{
		Name: "agent-new-c0", Namespace: "ns", Owner: in.Owner,
		Labels:      map[string]string{"app": "agent", "controller-revision-hash": "new"},
		Annotations: map[string]string{"note": "n"},
		Image:       "app:2",
		PodSelector: &metav1.LabelSelector{
			MatchLabels:      map[string]string{"app": "agent"},
			MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "controller-revision-hash", Operator: "NotIn", Values: []string{"agent-new", "new"}}},
		},
		Parallelism: *text("10%"), PullSecrets: []string{"s", "t"}, TimeoutSeconds: 60, BackoffLimit: 0, TTLSecondsAfterFinished: 600,
	}}
	before := fmt.Sprintf("%v %s", in, in.Update.Data.Raw)
	got, err := predownload.Jobs(in)
	if diff := gocmp.Diff(want, got); err != nil || diff != "" {
		t.Fatalf("%v (-want +got):\n%s", err, diff)
	}
	*got[0].Owner.Controller = false
	got[0].PodSelector.MatchLabels["app"] = "written"
	got[0].Labels["app"], got[0].Annotations["note"], got[0].PullSecrets[0] = "written", "written", "written"
	if after := fmt.Sprintf("%v %s", in, in.Update.Data.Raw); after != before || !*in.Owner.Controller || in.Selector.MatchLabels["app"] != "agent" {
		t.Error("a job shares memory with the input")
	}
	again, err := predownload.Jobs(in)
	if diff := gocmp.Diff(want, again); err != nil || diff != "" {
		t.Errorf("the second time: %v (-want +got):\n%s", err, diff)
	}
}

// TestJobNames: the API server refuses names of more than 253 characters, and some of 253.
func TestJobNames(t *testing.T) {
	names := make(map[string]bool)
	for _, length := range []int{248, 249, 250, 251, 253, 300} {
		for _, filler := range []string{"x", "x-", "x."} {
			in := rollout()
			in.Update.Name = strings.Repeat(filler, length)[:length]
			if strings.HasSuffix(in.Update.Name, ".") {
				in.Update.Name = in.Update.Name[:length-1] + "x"
			}
			jobs, err := predownload.Jobs(in)
			if err != nil || len(jobs) != 1 {
				t.Fatal(jobs, err)
			}
			name, whole := jobs[0].Name, in.Update.Name+"-c0"
			if msgs := validation.IsDNS1123Subdomain(name); len(msgs) > 0 || names[name] {
				t.Errorf("%d %q: %s: %v", length, filler, name, msgs)
			}
			if (name == whole) != (len(whole) <= 253) {
				t.Errorf("%s stands for %s", name, whole)
			}
			names[name] = true
		}
	}
}

func TestJobMarshalJSON(t *testing.T) {
	job := predownload.Job{Name: "j", Image: "app:2", PodSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}}
	tests := []struct {
		name, why string
		change    func(*predownload.Job)
		want      string // empty: refused
	}{
		{name: "least", why: "what is empty is left out, but for numbers, where 0 means something",
			want: `{"apiVersion":"apps.kruise.io/v1alpha1","kind":"ImagePullJob","metadata":{"name":"j"},"spec":{"image":"app:2","podSelector":{"matchLabels":{"a":"b"}},"parallelism":0,"pullPolicy":{"timeoutSeconds":0,"backoffLimit":0},"completionPolicy":{"type":"Always","ttlSecondsAfterFinished":0}}}`},
		{name: "labels", why: "the job and the runtime get them", change: func(j *predownload.Job) { j.Labels = map[string]string{"l": "m"} },
			want: `{"apiVersion":"apps.kruise.io/v1alpha1","kind":"ImagePullJob","metadata":{"name":"j","labels":{"l":"m"}},"spec":{"image":"app:2","podSelector":{"matchLabels":{"a":"b"}},"parallelism":0,"pullPolicy":{"timeoutSeconds":0,"backoffLimit":0},"completionPolicy":{"type":"Always","ttlSecondsAfterFinished":0},"sandboxConfig":{"labels":{"l":"m"}}}}`},
		{name: "everything", why: "all fields have their places", change: func(j *predownload.Job) {
			j.Namespace, j.Annotations, j.PullSecrets = "ns", map[string]string{"n": "o"}, []string{"s"}
			j.Owner = metav1.OwnerReference{APIVersion: "v", Kind: "k", Name: "o", UID: "u"}
			j.Parallelism, j.TimeoutSeconds, j.BackoffLimit, j.TTLSecondsAfterFinished = *text("5%"), 1, 2, 3
			j.PodSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "k", Operator: "NotIn", Values: []string{"v"}}}}
		}, want: `{"apiVersion":"apps.kruise.io/v1alpha1","kind":"ImagePullJob","metadata":{"name":"j","namespace":"ns","ownerReferences":[{"apiVersion":"v","kind":"k","name":"o","uid":"u"}]},"spec":{"image":"app:2","pullSecrets":["s"],"podSelector":{"matchExpressions":[{"key":"k","operator":"NotIn","values":["v"]}]},"parallelism":"5%","pullPolicy":{"timeoutSeconds":1,"backoffLimit":2},"completionPolicy":{"type":"Always","ttlSecondsAfterFinished":3},"sandboxConfig":{"annotations":{"n":"o"}}}}`},
		{name: "no selector", why: "OpenKruise would pull on every node", change: func(j *predownload.Job) { j.PodSelector = nil }},
		{name: "empty selector", why: "and here on every node with a pod", change: func(j *predownload.Job) { j.PodSelector = &metav1.LabelSelector{} }},
	}
	rows := make(rowNames)
	for _, test := range tests {
		rows.check(t, test.name, test.why)
		t.Run(test.name, func(t *testing.T) {
			j := job
			if test.change != nil {
				test.change(&j)
			}
			got, err := json.Marshal(j)
			if string(got) != test.want || (err != nil) != (test.want == "") {
				t.Errorf("got %s, %v\nwant %s: %s", got, err, test.want, test.why)
			}
		})
	}
}

// FuzzJobs: whatever a revision holds, there is an answer, and every job can be written.
func FuzzJobs(f *testing.F) {
	for _, data := range []string{`{"spec":{"template":{"spec":{"containers":[{"name":"c","image":"a:2"}]}}}}`, `{"spec":{"template":5}}`, `{}`, ``} {
		f.Add([]byte(data), []byte(data), "h", "10%", int32(3))
	}
	f.Fuzz(func(t *testing.T, update, old []byte, hash, amount string, desired int32) {
		in := rollout()
		in.Update.Data.Raw, in.Old[0].Data.Raw = update, old
		in.Update.Labels["controller-revision-hash"] = hash
		in.Partition, in.Desired = text(amount), desired
		jobs, err := predownload.Jobs(in)
		decision, again := predownload.Decide(in)
		if (err == nil) != (again == nil) || (decision == predownload.DecisionNone) != (err != nil) || (decision == predownload.DecisionCreate) != (len(jobs) > 0) {
			t.Errorf("%d jobs, %v, but %v, %v", len(jobs), err, decision, again)
		}
		var wrong *field.Error
		if errors.As(err, &wrong) && wrong.Field != "partition" {
			t.Errorf("an error in a field that is fine: %v", wrong)
		}
		for _, j := range jobs {
			if _, err := json.Marshal(j); err != nil || j.Image == "" {
				t.Errorf("%+v: %v", j, err)
			}
		}
	})
}
