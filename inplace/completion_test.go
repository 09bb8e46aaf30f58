package inplace_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/lifecycle"
)

// stateOf returns a state annotation as Kruise writes it, begun at noon, with more members.
func stateOf(members string) map[string]string {
	if members != "" {
		members = "," + members
	}
	return map[string]string{inplace.StateKey: `{"revision":"v2","updateTimestamp":"2026-01-15T12:00:00Z"` + members + `}`}
}

const lastOne = `"lastContainerStatuses":{"agent":{"imageID":"sha256:1"}}`

// status changes what the container agent reports.
func status(change func(*corev1.ContainerStatus)) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { change(&pod.Status.ContainerStatuses[0]) }
}

func startedAt(at time.Time) func(*corev1.Pod) {
	return status(func(s *corev1.ContainerStatus) { s.State = running(at) })
}

func TestCompletedI5(t *testing.T) {
	second := noon.Add(time.Second)
	sizedAgent := func(has *corev1.ResourceRequirements) func(*corev1.Pod) {
		return func(pod *corev1.Pod) {
			pod.Spec.Containers[0].Resources = corev1.ResourceRequirements{Limits: sized("cpu=2"), Requests: sized("cpu=1", "example.com/gpu=1")}
			pod.Status.ContainerStatuses[0].Resources = has
		}
	}
	pending := func(reason string, status corev1.ConditionStatus) func(*corev1.Pod) {
		return func(pod *corev1.Pod) {
			sizedAgent(&corev1.ResourceRequirements{})(pod)
			pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: corev1.PodResizePending, Reason: reason, Status: status})
		}
	}
	otherID := status(func(s *corev1.ContainerStatus) { s.ImageID = "sha256:2" })
	generations := func(spec, seen int64) func(*corev1.Pod) {
		return func(pod *corev1.Pod) { pod.Generation, pod.Status.ObservedGeneration = spec, seen }
	}
	reader := func(pod *corev1.Pod) {
		pod.Spec.Containers[0].Env = []corev1.EnvVar{fieldRef("metadata.labels['app']")}
	}
	sidecar := func(pod *corev1.Pod) {
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: "sidecar", Image: "sidecar:1"})
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{Name: "sidecar", ImageID: "sha256:s"})
	}
	const resizedAgent = `"daemonplanRecords":{"agent":{"timestamp":"2026-01-15T12:00:00Z","resized":true}}`
	tests := []struct {
		name, why   string
		annotations map[string]string
		pod         []func(*corev1.Pod)
		want        string // the waits, by code; empty: done
	}{
		{"never updated", "nothing to wait for", nil, nil, ""},
		{"metadata only", "nothing restarts", stateOf(`"lastContainerStatuses":null`), nil, ""},
		{"new ID", "the plain case", stateOf(lastOne), []func(*corev1.Pod){status(func(s *corev1.ContainerStatus) { s.ImageID = "sha256:2" })}, ""},
		{"no ID", "a container that does not run has no new image", stateOf(lastOne), []func(*corev1.Pod){status(func(s *corev1.ContainerStatus) { s.ImageID, s.Image = "", "agent:2" })}, "agent ImageUnchanged"},
		{"same ID", "the kubelet has not done it", stateOf(lastOne), nil, "agent ImageUnchanged"},
		{"same ID, wanted name", "both names are one image", stateOf(lastOne), []func(*corev1.Pod){status(func(s *corev1.ContainerStatus) { s.Image = "docker.io/library/agent:2" })}, ""},
		{"same ID, started before", "that is the container of before", stateOf(lastOne), []func(*corev1.Pod){startedAt(noon)}, "agent ImageUnchanged"},
		{"same ID, started since", "a change that changes nothing", stateOf(lastOne), []func(*corev1.Pod){startedAt(second)}, ""},
		{"same ID, started before its batch", "a crash before the batch is no update", stateOf(lastOne + `,"containerBatchesRecord":[{"timestamp":"2026-01-15T12:00:05Z","containers":["agent"]},{"timestamp":"2026-01-15T12:00:09Z","containers":["other"]}]`), []func(*corev1.Pod){startedAt(noon.Add(5 * time.Second))}, "agent ImageUnchanged"},
		{"same ID, started after its batch", "later batches are not its own", stateOf(lastOne + `,"containerBatchesRecord":[{"timestamp":"2026-01-15T12:00:05Z","containers":["agent"]},{"timestamp":"2026-01-15T12:00:09Z","containers":["other"]}]`), []func(*corev1.Pod){startedAt(noon.Add(6 * time.Second))}, ""},
		{"no status", "unreported is not done", stateOf(lastOne), []func(*corev1.Pod){func(p *corev1.Pod) { p.Status.ContainerStatuses = nil }}, "agent StatusMissing"},
		{"no container", "whoever wrote it has to put it right", stateOf(`"lastContainerStatuses":{"gone":{"imageID":"x"}}`), nil, "gone StatusMissing"},
		{"older key", "Kruise before 1.0", map[string]string{"inplace-update-state": stateOf(lastOne)[inplace.StateKey]}, nil, "agent ImageUnchanged"},
		{"both keys", "the newer one counts", map[string]string{"inplace-update-state": "{", inplace.StateKey: stateOf("")[inplace.StateKey]}, nil, ""},
		{"another container ID", "it is another container", stateOf(lastOne + `,"daemonplanRecords":{"agent":{"containerID":"a"}}`), []func(*corev1.Pod){status(func(s *corev1.ContainerStatus) { s.ContainerID = "b" })}, ""},
		{"the same container ID", "tells more than times", stateOf(lastOne + `,"daemonplanRecords":{"agent":{"containerID":"a"}}`), []func(*corev1.Pod){status(func(s *corev1.ContainerStatus) { s.ContainerID = "a"; s.State = running(second) })}, "agent ImageUnchanged"},
		{"started as recorded", "it has not started since", stateOf(lastOne + `,"daemonplanRecords":{"agent":{"timestamp":"2026-01-15T12:00:00Z","startedAt":"2026-01-15T12:00:01Z"}}`), []func(*corev1.Pod){startedAt(second)}, "agent ImageUnchanged"},
		{"started in the second of the update", "but not as recorded", stateOf(lastOne + `,"daemonplanRecords":{"agent":{"timestamp":"2026-01-15T12:00:00Z","startedAt":"2026-01-15T11:00:00Z"}}`), []func(*corev1.Pod){startedAt(noon)}, ""},
		{"back at what it runs", "taken back before the kubelet saw it", stateOf(lastOne + `,"daemonplanRecords":{"agent":{"image":"agent:2"}}`), nil, ""},
		{"recorded image is another", "it has to go", stateOf(lastOne + `,"daemonplanRecords":{"agent":{"image":"agent:1"}}`), nil, "agent ImageUnchanged"},
		{"env as it was", "the running container has read that already", stateOf(`"updateEnvFromMetadata":true,"daemonplanRecords":{"agent":{"metadata":{"labels":{"app":"agent"},"annotations":{"none":""}}}}`), nil, ""},
		{"env label differs", "the container holds the old one", stateOf(`"daemonplanRecords":{"agent":{"metadata":{"labels":{"app":"old"}}}}`), nil, "agent NotRestarted"},
		{"env annotation differs", "the container holds the old one", stateOf(`"daemonplanRecords":{"agent":{"metadata":{"annotations":{"app":"old"}}}}`), nil, "agent NotRestarted"},
		{"env unknown", "nothing recorded is nothing known", stateOf(`"daemonplanRecords":{"agent":{"metadata":{}}}`), nil, "agent NotRestarted"},
		{"env restarted", "it reads the new one", stateOf(`"daemonplanRecords":{"agent":{"timestamp":"2026-01-15T12:00:00Z","metadata":{"labels":{"app":"old"}}}}`), []func(*corev1.Pod){startedAt(second)}, ""},
		{"env and image", "the new image has read it", stateOf(lastOne + `,"daemonplanRecords":{"agent":{"metadata":{"labels":{"app":"old"}}}}`), []func(*corev1.Pod){status(func(s *corev1.ContainerStatus) { s.ImageID = "sha256:2" })}, ""},
		{"env of Kruise", "the one that reads, not the sidecar", stateOf(`"updateEnvFromMetadata":true`), []func(*corev1.Pod){sidecar, reader}, "agent NotRestarted"},
		{"env of Kruise, nobody reads", "it cannot be told which", stateOf(`"updateEnvFromMetadata":true`), []func(*corev1.Pod){sidecar}, "agent NotRestarted, sidecar NotRestarted"},
		{"env of Kruise, batches", "only those of the batches", stateOf(`"updateEnvFromMetadata":true,"containerBatchesRecord":[{"containers":["sidecar"]}]`), []func(*corev1.Pod){sidecar, reader}, "sidecar NotRestarted"},
		{"env of Kruise, restarted", "that is all there is to see", stateOf(`"updateEnvFromMetadata":true`), []func(*corev1.Pod){reader, startedAt(second)}, ""},
		{"resources as wanted", "by value, cpu and memory only", stateOf(resizedAgent), []func(*corev1.Pod){sizedAgent(&corev1.ResourceRequirements{Limits: sized("cpu=2000m", "memory=1"), Requests: sized("cpu=1")})}, ""},
		{"other limit", "not resized yet", stateOf(resizedAgent), []func(*corev1.Pod){sizedAgent(&corev1.ResourceRequirements{Limits: sized("cpu=1"), Requests: sized("cpu=1")})}, "agent ResourcesDiffer"},
		{"other request", "not resized yet", stateOf(resizedAgent), []func(*corev1.Pod){sizedAgent(&corev1.ResourceRequirements{Limits: sized("cpu=2"), Requests: sized("cpu=2")})}, "agent ResourcesDiffer"},
		{"missing limit", "not resized yet", stateOf(resizedAgent), []func(*corev1.Pod){sizedAgent(&corev1.ResourceRequirements{Requests: sized("cpu=1")})}, "agent ResourcesDiffer"},
		{"resources unreported", "nothing says that it was done", stateOf(resizedAgent), []func(*corev1.Pod){sizedAgent(nil)}, "agent ResourcesUnreported"},
		{"resources unreported, restarted", "it was made with them", stateOf(resizedAgent), []func(*corev1.Pod){sizedAgent(nil), startedAt(second)}, ""},
		{"no resources, unreported", "there is nothing to report", stateOf(resizedAgent), nil, ""},
		{"deferred", "the node has no room now", stateOf(resizedAgent), []func(*corev1.Pod){pending("Deferred", "True")}, "agent ResizeDeferred"},
		{"infeasible", "the node never has", stateOf(resizedAgent), []func(*corev1.Pod){pending("Infeasible", "True")}, "agent ResizeInfeasible"},
		{"pending no more", "the condition is not true", stateOf(resizedAgent), []func(*corev1.Pod){pending("Infeasible", "False")}, "agent ResourcesDiffer"},
		{"pending for another reason", "newer kubelets may have more", stateOf(resizedAgent), []func(*corev1.Pod){pending("Other", "True")}, "agent ResourcesDiffer"},
		{"not seen", "what the status says is of the spec before", stateOf(lastOne + `,"daemonplanGeneration":5`), []func(*corev1.Pod){otherID, generations(5, 4)}, "agent NotSeen"},
		{"not seen, nor done", "one reason is enough", stateOf(lastOne + `,"daemonplanGeneration":5`), []func(*corev1.Pod){generations(5, 4)}, "agent ImageUnchanged"},
		{"seen", "and done", stateOf(lastOne + `,"daemonplanGeneration":5`), []func(*corev1.Pod){otherID, generations(6, 5)}, ""},
		{"patched with nothing", "the pod has no such generation, and the kubelet has seen what there is", stateOf(lastOne + `,"daemonplanGeneration":5`), []func(*corev1.Pod){otherID, generations(4, 4)}, ""},
		{"a kubelet that does not say", "older ones report no generation", stateOf(lastOne + `,"daemonplanGeneration":5`), []func(*corev1.Pod){otherID, generations(5, 0)}, ""},
		{"a state without", "of Kruise, or of an older server", stateOf(lastOne), []func(*corev1.Pod){otherID, generations(5, 4)}, ""},
		{"resized by others since", "an autoscaler: its resize is not ours to wait for", stateOf(`"daemonplanRecords":{"agent":{"resized":true,"resources":{"limits":{"cpu":"3"},"requests":{"cpu":"1"}}}}`),
			[]func(*corev1.Pod){sizedAgent(&corev1.ResourceRequirements{Limits: sized("cpu=1"), Requests: sized("cpu=1")})}, ""},
		{"requests changed by others since", "an autoscaler: its resize is not ours to wait for", stateOf(`"daemonplanRecords":{"agent":{"resized":true,"resources":{"limits":{"cpu":"2"},"requests":{"cpu":"2"}}}}`),
			[]func(*corev1.Pod){sizedAgent(&corev1.ResourceRequirements{Limits: sized("cpu=1"), Requests: sized("cpu=1")})}, ""},
		{"still as we resized it", "it is ours to wait for", stateOf(`"daemonplanRecords":{"agent":{"resized":true,"resources":{"limits":{"cpu":"2000m"},"requests":{"cpu":"1"}}}}`),
			[]func(*corev1.Pod){sizedAgent(&corev1.ResourceRequirements{Limits: sized("cpu=1"), Requests: sized("cpu=1")})}, "agent ResourcesDiffer"},
		{"unbounded resources of a record", "must not be read", stateOf(`"daemonplanRecords":{"agent":{"resources":{"limits":{"cpu":"1e-30000000"}}}}`), nil, " UnreadableState"},
		{"not resized", "whatever it reports", stateOf(`"updateResources":true,"daemonplanRecords":{"agent":{}}`), []func(*corev1.Pod){sizedAgent(nil)}, ""},
		{"resources of Kruise", "those of the batches", stateOf(`"updateResources":true,"containerBatchesRecord":[{"containers":["sidecar"]}]`), []func(*corev1.Pod){sidecar, sizedAgent(nil)}, ""},
		{"resources of Kruise, no batches", "all", stateOf(`"updateResources":true`), []func(*corev1.Pod){sidecar, sizedAgent(nil)}, "agent ResourcesUnreported"},
		{"next batch", "not all is done", stateOf(`"nextContainerImages":{"agent":"agent:3"}`), nil, "agent NextBatch"},
		{"next resources", "not all is done", stateOf(`"nextContainerResources":{"agent":{"limits":{"cpu":"1"}}}`), nil, "agent NextBatch"},
		{"next metadata", "not all is done", stateOf(`"nextContainerRefMetadata":{"agent":{"creationTimestamp":null,"labels":{"a":"b"}}}`), nil, "agent NextBatch"},
		{"next batch of a container that is not there", "nobody can update it", stateOf(`"nextContainerImages":{"gone":"gone:3"}`), nil, ""},
		{"next batch waits", "for those before it to be ready", stateOf(`"nextContainerImages":{"agent":"agent:3"},"preCheckBeforeNext":{"containersRequiredReady":["sidecar","agent"]}`), []func(*corev1.Pod){sidecar}, "agent NextBatch, sidecar NotReady"},
		{"ready required, no next", "it is for the next batch only", stateOf(`"preCheckBeforeNext":{"containersRequiredReady":["sidecar"]}`), []func(*corev1.Pod){sidecar}, ""},
		{"grace period", "Kruise has not changed the pod yet", map[string]string{inplace.StateKey: stateOf("")[inplace.StateKey], inplace.GraceKey: `{}`}, nil, " GracePeriod"},
		{"older grace period", "the key of before", map[string]string{inplace.StateKey: stateOf("")[inplace.StateKey], "inplace-update-grace": ``}, nil, " GracePeriod"},
		{"grace period without state", "nobody knows when it began", map[string]string{inplace.GraceKey: `{}`}, nil, " UnreadableState"},
		{"no JSON", "not done", map[string]string{inplace.StateKey: ""}, nil, " UnreadableState"},
		{"wrong type", "not done", stateOf(`"nextContainerImages":7`), nil, " UnreadableState"},
		{"quantity without bound", "must not be read", stateOf(`"nextContainerResources":{"agent":{"limits":{"cpu":"1e-30000000"}}}`), nil, " UnreadableState"},
		{"grace period unreadable", "not done", map[string]string{inplace.StateKey: stateOf("")[inplace.StateKey], inplace.GraceKey: `{"graceSeconds":""}`}, nil, " UnreadableState"},
		{"grace metadata unreadable", "not done", map[string]string{inplace.StateKey: stateOf("")[inplace.StateKey], inplace.GraceKey: `{"metaDataPatch":"eA=="}`}, nil, " UnreadableState"},
	}
	names := map[inplace.WaitCode]string{}
	for code, name := range []string{
		"", "UnreadableState", "GracePeriod", "NextBatch", "NotReady", "StatusMissing", "ImageUnchanged", "NotRestarted", "ResourcesDiffer",
		"ResourcesUnreported", "ResizeDeferred", "ResizeInfeasible", "NotSeen",
	} {
		names[inplace.WaitCode(code)] = name
	}
	seen := map[string]bool{}
	for _, test := range tests {
		if test.name == "" || test.why == "" || seen[test.name] {
			t.Fatalf("row %q needs a name of its own and a reason", test.name)
		}
		seen[test.name] = true
		t.Run(test.name, func(t *testing.T) {
			pod := agentPod()
			pod.Annotations = test.annotations
			pod.Spec.Containers[0].Image = "agent:2"
			for _, change := range test.pod {
				change(pod)
			}
			before := text(pod)
			completion := inplace.Completed(pod)
			got := []string{}
			for _, wait := range completion.Waits {
				got = append(got, fmt.Sprintf("%s %s", wait.Container, names[wait.Code]))
			}
			if strings.Join(got, ", ") != test.want || completion.Done != (test.want == "") {
				t.Errorf("%s: done %v, waits %q, want %q", test.why, completion.Done, got, test.want)
			}
			if text(pod) != before {
				t.Error("the pod was written to")
			}
		})
	}
	if completion := inplace.Completed(nil); !completion.Done {
		t.Errorf("no pod: %v", completion.Waits)
	}
}

// Image names, seen through Completed: the ID has not changed, so the name decides.
func TestCompletedImageNames(t *testing.T) {
	tests := []struct {
		wanted, reported, id, why string
		same                      bool
	}{
		{"app", "docker.io/library/app:latest", "id", "all that may be left out", true},
		{"app", "app:v1", "id", "another tag", false},
		{"team/app", "docker.io/team/app:latest", "id", "no library with a team", true},
		{"team/app", "docker.io/library/team/app:latest", "id", "no library with a team", false},
		{"docker.io/app:v1", "app:v1", "id", "library under the default registry", true},
		{"index.docker.io/library/app:v1", "app:v1", "id", "the other name of the default registry", true},
		{"reg:5000/app", "reg:5000/app:latest", "id", "a port is no tag", true},
		{"reg:5000/app:v1", "reg:5000/app", "id", "a tag after a port", false},
		{"localhost/app", "localhost/app:latest", "id", "localhost is a registry", true},
		{"localhost/app", "docker.io/localhost/app:latest", "id", "localhost is a registry", false},
		{"reg.io/app", "app:latest", "id", "another registry", false},
		{"app@sha256:1", "docker.io/library/app@sha256:1", "id", "by digest", true},
		{"app:v1@sha256:1", "app@sha256:1", "id", "the digest outranks the tag", true},
		{"app@sha256:1", "app@sha256:2", "id", "another digest", false},
		{"app@sha256:1", "app:v1", "docker.io/library/app@sha256:1", "the ID tells the digest", true},
		{"app@sha256:1", "app:v1", "docker.io/library/app@sha256:2", "another digest in the ID", false},
		{"app:v1", "", "app", "no name, no digest", false},
		{"", "", "id", "nothing is wanted", false},
		{"app:v1:latest", "app:v1:latest", "id", "what is no reference equals itself", true},
	}
	for _, test := range tests {
		pod := agentPod()
		pod.Annotations = stateOf(`"lastContainerStatuses":{"agent":{"imageID":"` + test.id + `"}}`)
		pod.Spec.Containers[0].Image = test.wanted
		pod.Status.ContainerStatuses[0].Image, pod.Status.ContainerStatuses[0].ImageID = test.reported, test.id
		if got := inplace.Completed(pod).Done; got != test.same {
			t.Errorf("%s reported as %s (%s): done %v (%s)", test.wanted, test.reported, test.id, got, test.why)
		}
	}
}

func TestObstruct(t *testing.T) {
	tests := []struct {
		name, why string
		change    func(*corev1.Pod)
		want      inplace.Obstruction
	}{
		{"none", "the plain case", func(*corev1.Pod) {}, 0},
		{"deleting", "it goes anyway", func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{}; p.Spec.NodeName = "" }, inplace.Deleting},
		{"failed", "it does not run", func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }, inplace.Ended},
		{"succeeded", "it does not run", func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }, inplace.Ended},
		{"unbound", "no kubelet sees it", func(p *corev1.Pod) { p.Spec.NodeName = "" }, inplace.Unbound},
		{"no gate", "I3", func(p *corev1.Pod) { p.Spec.ReadinessGates = nil }, inplace.NoReadinessGate},
		{"other gate", "I3", func(p *corev1.Pod) { p.Spec.ReadinessGates[0].ConditionType = "other" }, inplace.NoReadinessGate},
		{"second gate", "any of them", func(p *corev1.Pod) {
			p.Spec.ReadinessGates = slices.Insert(p.Spec.ReadinessGates, 0, corev1.PodReadinessGate{ConditionType: "other"})
		}, 0},
		{"no revision", "I3", func(p *corev1.Pod) { p.Labels = nil }, inplace.NoRevision},
		{"pending", "its image may be what is wrong", func(p *corev1.Pod) { p.Status.Phase = corev1.PodPending }, 0},
	}
	u := inplace.Compare(agent("agent:1"), agent("agent:2"), inplace.Options{})
	for _, test := range tests {
		pod := agentPod()
		test.change(pod)
		if got := inplace.Obstruct(pod); got != test.want {
			t.Errorf("%s (%s): %q, want %q", test.name, test.why, got, test.want)
		}
		step, err := u.Begin(pod, inplace.Target{Revision: "v2"}, inplace.Metadata{}, noon)
		if (err != nil) != (test.want != 0) || err != nil && (len(step.Patches) > 0 || !strings.Contains(err.Error(), test.want.String())) {
			t.Errorf("%s: Begin gives %v", test.name, err)
		}
	}
	if inplace.Obstruct(nil) != inplace.NoPod {
		t.Error("no pod")
	}
	if n := testing.AllocsPerRun(10, func() { inplace.Obstruct(idle) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

var idle = agentPod()

func TestUnfinished(t *testing.T) {
	gateless := func(p *corev1.Pod) { p.Spec.ReadinessGates = nil }
	tests := []struct {
		name, why string
		change    func(*corev1.Pod)
		want      bool
	}{
		{"at rest", "nothing to do", func(*corev1.Pod) {}, false},
		{"completed before", "most pods of a fleet", func(p *corev1.Pod) { p.Annotations = stateOf(lastOne) }, false},
		{"condition false", "under way, or to be taken back", func(p *corev1.Pod) { p.Status.Conditions[0].Status = corev1.ConditionFalse }, true},
		{"condition unknown", "not True", func(p *corev1.Pod) { p.Status.Conditions[0].Status = corev1.ConditionUnknown }, true},
		{"no condition", "a new pod", func(p *corev1.Pod) { p.Status.Conditions = nil }, true},
		{"no gate, no condition", "not updated in place", func(p *corev1.Pod) { p.Status.Conditions = nil; gateless(p) }, false},
		{"grace period", "of Kruise", func(p *corev1.Pod) { p.Annotations = map[string]string{inplace.GraceKey: ""} }, true},
		{"older grace period", "of Kruise", func(p *corev1.Pod) { p.Annotations = map[string]string{"inplace-update-grace": ""} }, true},
		{"later batch", "though it is ready", func(p *corev1.Pod) {
			p.Annotations = stateOf(`"nextContainerResources":{"agent":{}}`)
			gateless(p)
		}, true},
		{"later batch, older key", "though it is ready", func(p *corev1.Pod) {
			p.Annotations = map[string]string{"inplace-update-state": stateOf(`"nextContainerImages":{}`)[inplace.StateKey]}
		}, true},
		{"escaped", "may be anything", func(p *corev1.Pod) { p.Annotations = map[string]string{inplace.StateKey: `{"\u006eext":{}}`} }, true},
		{"escaped otherwise", "it may be any letter", func(p *corev1.Pod) { p.Annotations = map[string]string{inplace.StateKey: `{"\u003e":"\u006e"}`} }, true},
		{"escapes of values", "writers escape what may end a script, in either case", func(p *corev1.Pod) {
			p.Annotations = stateOf(lastOne + `,"of":"\u003c\u003E\u0026\u2028\\"`)
		}, false},
		{"the name in a value", "it is quoted there", func(p *corev1.Pod) { p.Annotations = stateOf(lastOne + `,"of":"\"nextContainerImages\""`) }, false},
		{"later batch behind an escape", "though it is ready", func(p *corev1.Pod) {
			p.Annotations = stateOf(`"of":"\u003c","nextContainerImages":{}`)
		}, true},
		{"the beginning of an escape", "it is no JSON, and nothing is missed", func(p *corev1.Pod) { p.Annotations = map[string]string{inplace.StateKey: `{"\u00`} }, true},
		{"a backslash alone", "it is no JSON", func(p *corev1.Pod) { p.Annotations = map[string]string{inplace.StateKey: `\`} }, false},
		{"deleting", "left alone", func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{}; p.Status.Conditions = nil }, false},
		{"ended", "left alone", func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed; p.Status.Conditions = nil }, false},
	}
	for _, test := range tests {
		pod := agentPod()
		test.change(pod)
		if got := inplace.Unfinished(pod); got != test.want {
			t.Errorf("%s (%s): %v", test.name, test.why, got)
		}
		if n := testing.AllocsPerRun(10, func() { inplace.Unfinished(pod) }); n != 0 {
			t.Errorf("%s: %v allocations", test.name, n)
		}
	}
	if inplace.Unfinished(nil) {
		t.Error("no pod")
	}
}

func BenchmarkUnfinished(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000} {
		pods := make([]*corev1.Pod, n)
		for i := range pods {
			pods[i] = agentPod()
			pods[i].Annotations = stateOf(lastOne)
			pods[i].Status.Conditions = append(pods[i].Status.Conditions, corev1.PodCondition{Type: lifecycle.PodReady})
		}
		b.Run(fmt.Sprintf("pods=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				for _, pod := range pods {
					if inplace.Unfinished(pod) {
						b.Fatal("unfinished")
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/pod")
		})
	}
}
