package harness_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/internal/harness"
	"github.com/daemonplan/daemonplan/internal/kubelet"
	"github.com/daemonplan/daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// send applies patches to the pod p on node a.
func send(t *testing.T, c *harness.Cluster, patches ...string) {
	t.Helper()
	var plan rollout.Plan
	for _, data := range patches {
		subresource, body, _ := strings.Cut(data, " ")
		plan.Patches = append(plan.Patches, rollout.Patch{
			Node: "a", Pod: "p", UID: "pod-p", Type: types.StrategicMergePatchType, Subresource: strings.TrimPrefix(subresource, "pod"), Data: []byte(body),
		})
	}
	if err := c.Apply(plan); err != nil {
		t.Fatal(err)
	}
}

// status is what the kubelet reports of the only container, in a few words.
func status(t *testing.T, c *harness.Cluster) (corev1.ContainerStatus, bool) {
	t.Helper()
	p := c.Snapshot().Pods[0]
	if len(p.Status.ContainerStatuses) != 1 {
		t.Fatalf("%d containers are reported", len(p.Status.ContainerStatuses))
	}
	return p.Status.ContainerStatuses[0], lifecycle.Ready(p)
}

const (
	closeGate = `status {"status":{"conditions":[{"type":"InPlaceUpdateReady","status":"False"},{"type":"Ready","status":"False"}]}}`
	openGate  = `status {"status":{"conditions":[{"type":"InPlaceUpdateReady","status":"True"}]}}`
	newImage  = `pod {"spec":{"containers":[{"name":"main","image":"agent:v2"}]}}`
	newCPU    = `resize {"spec":{"containers":[{"name":"main","resources":{"requests":{"cpu":"200m"}}}]}}`
)

// What a kubelet does about the containers of one pod that was updated in place: what happens, and what it reports then.
func TestKubeletMovesContainers(t *testing.T) {
	inPlace := func(options ...rollouttest.SpecOption) []rollouttest.SpecOption {
		return append([]rollouttest.SpecOption{rollouttest.InPlaceIfPossible(), rollouttest.Requests(corev1.ResourceCPU, "100m")}, options...)
	}
	tests := []struct {
		name, why string
		spec      []rollouttest.SpecOption
		behavior  harness.Behavior
		patches   []string
		want      string
		image, id string
		ready     bool
		restarts  int32
		cpu       string
	}{
		{
			"nothing", "there is nothing to be done", inPlace(), harness.Behavior{}, nil,
			"", "agent:v1", "agent:v1", true, 0, "100m",
		},
		{
			"image", "the container restarts after 3 s, and the gate keeps the pod from being Ready", inPlace(), harness.Behavior{},
			[]string{closeGate, newImage},
			"12:00:00 patched p on a\n12:00:00 patched p on a\n12:00:03 restarted p on a (main)\n12:00:08 started p on a",
			"agent:v2", "agent:v2", false, 1, "100m",
		},
		{
			"image, gate open", "who leaves the gate open is not Ready only while the container is not", inPlace(), harness.Behavior{},
			[]string{newImage},
			"12:00:00 patched p on a\n12:00:03 restarted p on a (main)\n12:00:08 ready p on a",
			"agent:v2", "agent:v2", true, 1, "100m",
		},
		{
			"image, slowly", "the delay is the configured one", inPlace(), harness.Behavior{Restart: time.Minute, Start: time.Second},
			[]string{newImage},
			"12:00:00 patched p on a\n12:01:00 restarted p on a (main)\n12:01:01 ready p on a",
			"agent:v2", "agent:v2", true, 1, "100m",
		},
		{
			"image, never", "the kubelet is dead", inPlace(), harness.Behavior{Restart: -1}, []string{newImage},
			"12:00:00 patched p on a", "agent:v1", "agent:v1", true, 0, "100m",
		},
		{
			"image that cannot be pulled", "the container goes on as it is", inPlace(), harness.Behavior{Stuck: []string{"agent:v2"}},
			[]string{newImage}, "12:00:00 patched p on a", "agent:v1", "agent:v1", true, 0, "100m",
		},
		{
			"image of the same ID", "another name for the same thing", inPlace(), harness.Behavior{SameID: []string{"agent:v2"}},
			[]string{newImage},
			"12:00:00 patched p on a\n12:00:03 restarted p on a (main)\n12:00:08 ready p on a",
			"agent:v2", "agent:v1", true, 1, "100m",
		},
		{
			"image in another spelling", "kubelets compare the text", inPlace(), harness.Behavior{},
			[]string{`pod {"spec":{"containers":[{"name":"main","image":"docker.io/library/agent:v1"}]}}`},
			"12:00:00 patched p on a\n12:00:03 restarted p on a (main)\n12:00:08 ready p on a",
			"docker.io/library/agent:v1", "docker.io/library/agent:v1", true, 1, "100m",
		},
		{
			"image there and back", "the kubelet has seen neither", inPlace(), harness.Behavior{},
			[]string{newImage, `pod {"spec":{"containers":[{"name":"main","image":"agent:v1"}]}}`},
			"12:00:00 patched p on a\n12:00:00 patched p on a", "agent:v1", "agent:v1", true, 0, "100m",
		},
		{
			"resources", "the container goes on running", inPlace(), harness.Behavior{}, []string{newCPU},
			"12:00:00 patched p on a\n12:00:01 resized p on a (main)", "agent:v1", "agent:v1", true, 0, "200m",
		},
		{
			"resources, slowly", "the delay is the configured one", inPlace(), harness.Behavior{Resize: time.Minute}, []string{newCPU},
			"12:00:00 patched p on a\n12:01:00 resized p on a (main)", "agent:v1", "agent:v1", true, 0, "200m",
		},
		{
			"resources, never", "the node has no room", inPlace(), harness.Behavior{Resize: -1}, []string{newCPU},
			"12:00:00 patched p on a", "agent:v1", "agent:v1", true, 0, "100m",
		},
		{
			"resources with a restart", "the container's policy wants it", inPlace(objects.RestartToResize(corev1.ResourceCPU)),
			harness.Behavior{}, []string{newCPU},
			"12:00:00 patched p on a\n12:00:01 restarted p on a (main)\n12:00:06 ready p on a",
			"agent:v1", "agent:v1", true, 1, "200m",
		},
		{
			"resources with a policy for others", "only the resource that changes counts",
			inPlace(objects.RestartToResize(corev1.ResourceMemory)), harness.Behavior{}, []string{newCPU},
			"12:00:00 patched p on a\n12:00:01 resized p on a (main)", "agent:v1", "agent:v1", true, 0, "200m",
		},
		{
			"both", "a container that restarts has its resources at once", inPlace(), harness.Behavior{Resize: time.Minute},
			[]string{newCPU, newImage},
			"12:00:00 patched p on a\n12:00:00 patched p on a\n12:00:03 restarted p on a (main)\n12:00:08 ready p on a",
			"agent:v2", "agent:v2", true, 1, "200m",
		},
		{
			"label that is read", "a kubelet with Kruise's daemon beside it restarts the container",
			inPlace(rollouttest.EnvFromMetadata(), objects.EnvFromLabel("TIER", "tier")), harness.Behavior{},
			[]string{`pod {"metadata":{"labels":{"tier":"new"}}}`},
			"12:00:00 patched p on a\n12:00:03 restarted p on a (main)\n12:00:08 ready p on a",
			"agent:v1", "agent:v1", true, 1, "100m",
		},
		{
			"label that is read, alone", "a kubelet by itself does not", inPlace(objects.EnvFromLabel("TIER", "tier")), harness.Behavior{},
			[]string{`pod {"metadata":{"labels":{"tier":"new"}}}`}, "12:00:00 patched p on a", "agent:v1", "agent:v1", true, 0, "100m",
		},
		{
			"label that nobody reads", "nothing restarts",
			inPlace(rollouttest.EnvFromMetadata(), objects.EnvFromLabel("TIER", "tier")), harness.Behavior{},
			[]string{`pod {"metadata":{"labels":{"other":"new"}}}`}, "12:00:00 patched p on a", "agent:v1", "agent:v1", true, 0, "100m",
		},
		{
			"gate closed by somebody", "the kubelet makes the pod not Ready by itself", inPlace(), harness.Behavior{},
			[]string{`status {"status":{"conditions":[{"type":"InPlaceUpdateReady","status":"False"}]}}`},
			"12:00:00 patched p on a\n12:00:00 unready p on a", "agent:v1", "agent:v1", false, 0, "100m",
		},
		{
			"gate closed and open again", "the containers were ready all the time", inPlace(), harness.Behavior{},
			[]string{closeGate, openGate},
			"12:00:00 patched p on a\n12:00:00 patched p on a\n12:00:00 ready p on a", "agent:v1", "agent:v1", true, 0, "100m",
		},
	}
	seen := map[string]bool{}
	for _, test := range tests {
		if test.why == "" || seen[test.name] {
			t.Fatalf("row %q needs a reason and a name of its own", test.name)
		}
		seen[test.name] = true
		t.Run(test.name, func(t *testing.T) {
			spec := rollouttest.Spec("agent", test.spec...)
			c, err := harness.NewCluster(spec, rollout.Snapshot{
				Now: rollouttest.Noon(), Nodes: rollouttest.Nodes("a"),
				Pods:      []*corev1.Pod{rollouttest.Pod("p", rollouttest.OnNode("a"), rollouttest.Of(spec))},
				Revisions: []*appsv1.ControllerRevision{rollouttest.Revision(spec, 1)},
			}, test.behavior)
			if err != nil {
				t.Fatal(err)
			}
			send(t, c, test.patches...)
			c.Tick(time.Hour)
			if got := told(c); got != test.want {
				t.Errorf("got\n%s\nwant\n%s", got, test.want)
			}
			s, ready := status(t, c)
			cpu := s.Resources.Requests[corev1.ResourceCPU]
			if s.Image != test.image || s.ImageID != kubelet.ImageID(test.id) || ready != test.ready ||
				s.RestartCount != test.restarts || cpu.String() != test.cpu {
				t.Errorf("reported: %s (%s), pod ready %v, %d restarts, cpu %s", s.Image, s.ImageID, ready, s.RestartCount, cpu.String())
			}
			if s.RestartCount == 0 != s.State.Running.StartedAt.Time.Equal(rollouttest.Noon().Add(-time.Hour)) {
				t.Errorf("%d restarts, but started at %v", s.RestartCount, s.State.Running.StartedAt)
			}
			if !strings.HasSuffix(s.ContainerID, []string{"/0", "/1"}[test.restarts]) {
				t.Errorf("%d restarts, but the container's ID is %s", test.restarts, s.ContainerID)
			}
		})
	}
}

// A kubelet that is behind when the cluster begins goes on from there.
func TestKubeletsThatAreBehind(t *testing.T) {
	old := rollouttest.Spec("agent", rollouttest.InPlaceIfPossible(), rollouttest.EnvFromMetadata(), objects.EnvFromLabel("TIER", "tier"))
	spec := rollouttest.Spec("agent", rollouttest.InPlaceIfPossible(), rollouttest.EnvFromMetadata(), objects.EnvFromLabel("TIER", "tier"),
		rollouttest.Image("agent:v2"))
	second := rollouttest.Noon().Add(-time.Second)
	env, err := json.Marshal(inplace.UpdateState{UpdateEnvFromMetadata: true})
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, why string
		pod       []rollouttest.PodOption
		want      string
	}{
		{
			"image", "the status names the image that runs",
			[]rollouttest.PodOption{rollouttest.Of(old), objects.UpdatingTo(spec, second)},
			"12:00:03 restarted p on a (main)\n12:00:08 started p on a",
		},
		{
			"no status", "the kubelet has yet to report",
			[]rollouttest.PodOption{rollouttest.Of(spec), func(p *corev1.Pod) { p.Status.ContainerStatuses = nil }},
			"12:00:05 started p on a",
		},
		{
			"no status and not ready", "it reports when the container is ready",
			[]rollouttest.PodOption{rollouttest.Of(spec), rollouttest.Unready(), func(p *corev1.Pod) { p.Status.ContainerStatuses = nil }},
			"12:00:05 ready p on a",
		},
		{
			"environment", "what it holds cannot be seen, and the update waits for a restart",
			[]rollouttest.PodOption{rollouttest.Of(spec), rollouttest.PodAnnotation(inplace.StateKey, string(env)),
				objects.Condition(lifecycle.InPlaceUpdateReady, corev1.ConditionFalse, second), rollouttest.Unready()},
			"12:00:03 restarted p on a (main)\n12:00:08 started p on a",
		},
		{
			"environment of an update that is complete", "nothing waits for a restart",
			[]rollouttest.PodOption{rollouttest.Of(spec), rollouttest.PodAnnotation(inplace.StateKey, string(env))}, "",
		},
		{
			"unreadable state", "nobody knows what was changed",
			[]rollouttest.PodOption{rollouttest.Of(spec), rollouttest.PodAnnotation(inplace.StateKey, "{"),
				objects.Condition(lifecycle.InPlaceUpdateReady, corev1.ConditionFalse, second), rollouttest.Unready()},
			"",
		},
		{
			"terminating", "it will not start anything",
			[]rollouttest.PodOption{rollouttest.Of(old), objects.UpdatingTo(spec, second), rollouttest.Terminating(second)},
			"12:00:02 gone p on a",
		},
		{
			"failed", "it will not start anything",
			[]rollouttest.PodOption{rollouttest.Of(old), objects.UpdatingTo(spec, second), rollouttest.Failed()}, "",
		},
		{
			"without gate", "such a pod is not updated in place",
			[]rollouttest.PodOption{rollouttest.Of(old), objects.UpdatingTo(spec, second), rollouttest.Ready(second), func(p *corev1.Pod) {
				p.Spec.ReadinessGates = nil
			}}, "12:00:05 ready p on a",
		},
	}
	seen := map[string]bool{}
	for _, test := range tests {
		if test.why == "" || seen[test.name] {
			t.Fatalf("row %q needs a reason and a name of its own", test.name)
		}
		seen[test.name] = true
		t.Run(test.name, func(t *testing.T) {
			pod := rollouttest.Pod("p", append([]rollouttest.PodOption{rollouttest.OnNode("a")}, test.pod...)...)
			c, err := harness.NewCluster(spec, rollout.Snapshot{
				Now: rollouttest.Noon(), Nodes: rollouttest.Nodes("a"), Pods: []*corev1.Pod{pod},
			}, harness.Behavior{})
			if err != nil {
				t.Fatal(err)
			}
			c.Tick(time.Hour)
			if got := told(c); got != test.want {
				t.Errorf("got\n%s\nwant\n%s", got, test.want)
			}
		})
	}
}

// New pods of an in-place set wait for their readiness gates, with containers that run.
func TestNewPodsWaitForTheirGates(t *testing.T) {
	spec := rollouttest.Spec("agent", rollouttest.InPlaceIfPossible(), rollouttest.Limits(corev1.ResourceCPU, "1"))
	c, err := harness.NewCluster(spec, rollout.Snapshot{Now: rollouttest.Noon(), Nodes: rollouttest.Nodes("a")}, harness.Behavior{})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Apply(rollout.Plan{Creates: []rollout.Create{{Node: "a", Revision: rollouttest.Hash(spec)}}}); err != nil {
		t.Fatal(err)
	}
	c.Tick(time.Minute)
	if want := "12:00:00 created agent-x0001 on a\n12:00:00 bound agent-x0001 on a\n12:00:05 started agent-x0001 on a"; told(c) != want {
		t.Errorf("got\n%s\nwant\n%s", told(c), want)
	}
	p := c.Snapshot().Pods[0]
	if cpu := p.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU]; cpu.String() != "1" {
		t.Errorf("the request that is not given is %s, not the limit", cpu.String())
	}
	s, ready := status(t, c)
	if ready || !s.Ready || s.RestartCount != 0 || !s.State.Running.StartedAt.Time.Equal(rollouttest.Noon().Add(5*time.Second)) {
		t.Errorf("pod ready %v, container %+v", ready, s)
	}
	if !slices.Contains(p.Spec.ReadinessGates, corev1.PodReadinessGate{ConditionType: lifecycle.InPlaceUpdateReady}) {
		t.Error("the pod has no readiness gate")
	}
}

// A failing revision fails when its containers should become ready, not while those of before still run.
func TestFailingRevisionsInPlace(t *testing.T) {
	old, spec := rollouttest.Spec("agent", rollouttest.InPlaceIfPossible()), rollouttest.Spec("agent", rollouttest.InPlaceIfPossible(), rollouttest.Image("agent:v2"))
	for behavior, want := range map[string]string{
		"failing":     "12:00:03 restarted p on a (main)\n12:00:08 failed p on a",
		"never ready": "12:00:03 restarted p on a (main)",
	} {
		b := harness.Behavior{NeverReady: []string{rollouttest.Hash(spec)}}
		if behavior == "failing" {
			b = harness.Behavior{Failing: []string{rollouttest.Hash(spec)}}
		}
		c, err := harness.NewCluster(spec, rollout.Snapshot{
			Now: rollouttest.Noon(), Nodes: rollouttest.Nodes("a"),
			Pods: []*corev1.Pod{rollouttest.Pod("p", rollouttest.OnNode("a"), rollouttest.Of(old),
				objects.UpdatingTo(spec, rollouttest.Noon().Add(-time.Second)))},
		}, b)
		if err != nil {
			t.Fatal(err)
		}
		c.Tick(time.Hour)
		if got := told(c); got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", behavior, got, want)
		}
	}
}
