package predownload_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/daemonplan/daemonplan/predownload"
)

func ExampleSelect() {
	selection := predownload.Select(predownload.Input{
		Now:     time.Date(2026, 7, 2, 12, 0, 0, 0, time.UTC),
		Options: predownload.Options{Parallelism: new(intstr.FromInt32(2))},
		Images:  []string{"agent:v2"},
		// In the order in which the nodes will be updated.
		Candidates: slices.Values([]predownload.Candidate{
			{Node: "a", Uses: []string{"agent:v1"}},
			{Node: "b", Uses: []string{"agent:v1"}, Present: []corev1.ContainerImage{{Names: []string{"docker.io/library/agent:v2"}}}},
			{Node: "c", Uses: []string{"agent:v1"}},
			{Node: "d", Uses: []string{"agent:v1"}},
		}),
		InFlight: []predownload.Request{{Node: "a", Image: "agent:v2"}},
	})
	for _, pull := range selection.Pulls {
		fmt.Println("pull", pull.Image, "on", pull.Node, "within", pull.Timeout)
	}
	for _, wait := range selection.Waits {
		fmt.Println(wait.Image, "no more:", wait.Reason)
	}
	// Output:
	// pull agent:v2 on c within 10m0s
	// agent:v2 no more: parallelism is used up
}

// A pull that failed is tried again when its back-off is over.
func ExampleSelect_backOff() {
	now := time.Date(2026, 7, 2, 12, 0, 0, 0, time.UTC)
	in := predownload.Input{
		Now:        now,
		Images:     []string{"agent:v2"},
		Candidates: slices.Values([]predownload.Candidate{{Node: "a"}}),
		Failures:   []predownload.Failure{{Node: "a", Image: "agent:v2", Count: 2, At: now}},
	}
	selection := predownload.Select(in)
	fmt.Println(len(selection.Pulls), selection.Waits[0].Reason, "until", selection.Wake.Format(time.TimeOnly))

	in.Now, in.Failures = selection.Wake, selection.Failures
	fmt.Println(len(predownload.Select(in).Pulls))
	// Output:
	// 0 backing off after failed pulls until 12:00:20
	// 1
}

func ExampleImages() {
	fmt.Println(predownload.Images(&corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		InitContainers: []corev1.Container{{Name: "setup", Image: "busybox"}},
		Containers:     []corev1.Container{{Name: "agent", Image: "agent:v2"}, {Name: "side", Image: "busybox:latest"}},
	}}))
	// Output: [busybox agent:v2]
}

func ExamplePodImages() {
	spec := &corev1.PodSpec{
		Containers: []corev1.Container{{Name: "agent", Image: "agent:v2"}},
		Volumes: []corev1.Volume{{Name: "models", VolumeSource: corev1.VolumeSource{
			Image: &corev1.ImageVolumeSource{Reference: "models:v7"},
		}}},
	}
	fmt.Println(predownload.PodImages(nil, spec))
	// Output: [models:v7 agent:v2]
}

func ExampleNeeds() {
	node := predownload.Candidate{
		Node:    "a",
		Present: []corev1.ContainerImage{{Names: []string{"registry:5000/log@sha256:4f1d", "registry:5000/log:v3"}}},
		Uses:    []string{"agent:v1", "side:v1"},
	}
	fmt.Println(predownload.Needs(node, []string{"agent:v2", "side:v1", "registry:5000/log:v3"}))
	// Output: [agent:v2]
}

func ExampleReported() {
	present := []corev1.ContainerImage{{Names: []string{
		"docker.io/library/nginx@sha256:8adb", "docker.io/library/nginx:latest",
	}}}
	fmt.Println(predownload.Reported(present, "nginx"))
	fmt.Println(predownload.Reported(present, "nginx:1.29@sha256:8adb"))
	fmt.Println(predownload.Reported(present, "nginx:1.29"))
	// Output:
	// true
	// true
	// false
}

func ExampleFailure_Until() {
	now := time.Date(2026, 7, 2, 12, 0, 0, 0, time.UTC)
	for count := range int32(6) {
		failure := predownload.Failure{Node: "a", Image: "agent:v2", Count: count + 1, At: now}
		fmt.Print(failure.Until(now).Sub(now), " ")
	}
	// Output: 10s 20s 40s 1m20s 2m40s 5m0s
}

func ExampleOptions_Default() {
	o := predownload.Options{TimeoutSeconds: 300}.Default()
	fmt.Println(o.Parallelism, o.MinUpdatedReadyPods, o.TimeoutSeconds, *o.BackoffLimit)
	// Output: 1 0 300 3
}

func ExampleOptions_Validate() {
	o := predownload.Options{Parallelism: new(intstr.FromString("+10%")), TimeoutSeconds: -1}
	for _, err := range o.Validate(field.NewPath("spec", "preDownload")) {
		fmt.Println(err)
	}
	// Output:
	// spec.preDownload.parallelism: Invalid value: "+10%": must be an integer or a percentage such as "10%"
	// spec.preDownload.timeoutSeconds: Invalid value: -1: must not be negative
}

func ExampleWaitReason_String() {
	fmt.Println(predownload.ReasonPaused)
	fmt.Println(predownload.ReasonGivenUp)
	// Output:
	// paused: parallelism is 0
	// given up after failed pulls
}

func ExampleJobDecision_String() {
	fmt.Println(predownload.DecisionCreate)
	fmt.Println(predownload.DecisionNotYet)
	// Output:
	// create the jobs
	// desired is not known yet
}

// exampleRevision returns a revision of a set called agent.
func exampleRevision(hash, image string) *appsv1.ControllerRevision {
	return &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{
			Name:   "agent-" + hash,
			Labels: map[string]string{"app": "agent", appsv1.ControllerRevisionHashLabelKey: hash},
		},
		Data: runtime.RawExtension{Raw: fmt.Appendf(nil,
			`{"spec":{"template":{"spec":{"containers":[{"name":"main","image":%q}]}}}}`, image)},
	}
}

func ExampleDecide() {
	in := predownload.JobInput{
		Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "agent"}},
		Update:   exampleRevision("6b7c", "agent:v2"),
		Old:      []*appsv1.ControllerRevision{exampleRevision("5d9f", "agent:v1")},
		Desired:  10,
	}
	fmt.Println(predownload.Decide(in))

	in.MaxUnavailable = new(intstr.FromString("100%"))
	fmt.Println(predownload.Decide(in))
	// Output:
	// create the jobs <nil>
	// all nodes may update in one batch <nil>
}

func ExampleJobs() {
	jobs, err := predownload.Jobs(predownload.JobInput{
		Namespace: "kube-system",
		Selector:  &metav1.LabelSelector{MatchLabels: map[string]string{"app": "agent"}},
		Update:    exampleRevision("6b7c", "agent:v2"),
		Old:       []*appsv1.ControllerRevision{exampleRevision("5d9f", "agent:v1")},
		Options:   predownload.Options{Parallelism: new(intstr.FromInt32(10))},
		Desired:   200,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, job := range jobs {
		fmt.Println(job.Name, job.Image, job.Parallelism.String(), job.PodSelector.MatchExpressions)
	}
	// Output:
	// agent-6b7c-main agent:v2 10 [{controller-revision-hash NotIn [agent-6b7c 6b7c]}]
}

func ExampleJob_MarshalJSON() {
	jobs, err := predownload.Jobs(predownload.JobInput{
		Namespace: "kube-system",
		Selector:  &metav1.LabelSelector{MatchLabels: map[string]string{"app": "agent"}},
		Update:    exampleRevision("6b7c", "agent:v2"),
		Old:       []*appsv1.ControllerRevision{exampleRevision("5d9f", "agent:v1")},
		Desired:   200,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	object, err := json.MarshalIndent(jobs[0], "", "  ")
	fmt.Println(string(object), err)
	// Output:
	// {
	//   "apiVersion": "apps.kruise.io/v1alpha1",
	//   "kind": "ImagePullJob",
	//   "metadata": {
	//     "name": "agent-6b7c-main",
	//     "namespace": "kube-system",
	//     "labels": {
	//       "controller-revision-hash": "6b7c"
	//     }
	//   },
	//   "spec": {
	//     "image": "agent:v2",
	//     "podSelector": {
	//       "matchLabels": {
	//         "app": "agent"
	//       },
	//       "matchExpressions": [
	//         {
	//           "key": "controller-revision-hash",
	//           "operator": "NotIn",
	//           "values": [
	//             "agent-6b7c",
	//             "6b7c"
	//           ]
	//         }
	//       ]
	//     },
	//     "parallelism": 1,
	//     "pullPolicy": {
	//       "timeoutSeconds": 600,
	//       "backoffLimit": 3
	//     },
	//     "completionPolicy": {
	//       "type": "Always",
	//       "ttlSecondsAfterFinished": 600
	//     },
	//     "sandboxConfig": {
	//       "labels": {
	//         "controller-revision-hash": "6b7c"
	//       }
	//     }
	//   }
	// } <nil>
}
