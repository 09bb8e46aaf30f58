package kubelet_test

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/internal/kubelet"
	"github.com/daemonplan/daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// reads gives the first container an environment that reads a label, an annotation, and fields that are no metadata.
func reads(pod *corev1.Pod) {
	field := func(path string) *corev1.EnvVarSource {
		return &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: path}}
	}
	pod.Spec.Containers[0].Env = []corev1.EnvVar{
		{Name: "PLAIN", Value: "x"}, {Name: "KEY", ValueFrom: &corev1.EnvVarSource{}}, {Name: "NODE", ValueFrom: field("spec.nodeName")},
		{Name: "L", ValueFrom: field("metadata.labels['l']")}, {Name: "A", ValueFrom: field("metadata.annotations['a']")},
	}
}

func TestMetadataRead(t *testing.T) {
	pod := fresh()
	if got := kubelet.MetadataRead(pod, &pod.Spec.Containers[0]); got != "" {
		t.Errorf("without environment %q is read", got)
	}
	reads(pod)
	rollouttest.PodLabel("l", "1\n")(pod)
	if got := kubelet.MetadataRead(pod, &pod.Spec.Containers[0]); got != "L=\"1\\n\"\nA=\"\"\n" {
		t.Errorf("%q is read", got)
	}
	other := pod.DeepCopy()
	other.Spec.Containers[0].Image, other.Labels["x"] = "agent:v2", "y"
	if !kubelet.SameEnvironment(pod, other) {
		t.Error("what is not read makes a difference")
	}
	rollouttest.PodAnnotation("a", "2")(other)
	if kubelet.SameEnvironment(pod, other) {
		t.Error("another annotation makes no difference")
	}
}

func TestRunningIn(t *testing.T) {
	updating := func(p *corev1.Pod) {
		rollouttest.PodAnnotation(inplace.StateKey, `{"revision":"r","updateEnvFromMetadata":true}`)(p)
		objects.Updating()(p)
	}
	tests := []struct {
		name, why string
		options   []rollouttest.PodOption
		image     string
		outdated  [2]bool // without the environment, and with it
	}{
		{"nothing reported", "it is what the pod says", nil, "agent:v1", [2]bool{}},
		{"another image reported", "the kubelet is behind", []rollouttest.PodOption{objects.Containers(), func(p *corev1.Pod) {
			p.Spec.Containers[0].Image = "agent:v2"
		}}, "agent:v1", [2]bool{true, true}},
		{"the image reported in full", "it is the same", []rollouttest.PodOption{objects.Containers(), func(p *corev1.Pod) {
			p.Spec.Containers[0].Image = "docker.io/library/agent:v1"
		}}, "docker.io/library/agent:v1", [2]bool{}},
		{"no image reported", "nothing is known", []rollouttest.PodOption{objects.Containers(), func(p *corev1.Pod) {
			p.Status.ContainerStatuses[0].Image = ""
		}}, "agent:v1", [2]bool{}},
		{"environment in an update", "it waits for a restart", []rollouttest.PodOption{updating}, "agent:v1", [2]bool{false, true}},
		{"environment that is read", "it waits for a restart", []rollouttest.PodOption{reads, updating}, "agent:v1", [2]bool{false, true}},
		{"environment of before", "the update is complete", []rollouttest.PodOption{reads, updating,
			objects.Condition(lifecycle.InPlaceUpdateReady, corev1.ConditionTrue, noon())}, "agent:v1", [2]bool{}},
		{"update of something else", "the environment is what it was", []rollouttest.PodOption{
			rollouttest.PodAnnotation(inplace.StateKey, `{"revision":"r"}`), objects.Updating()}, "agent:v1", [2]bool{}},
		{"unreadable update", "nobody knows what was changed", []rollouttest.PodOption{
			rollouttest.PodAnnotation(inplace.StateKey, `{`), objects.Updating()}, "agent:v1", [2]bool{}},
		{"no update", "nothing says so", []rollouttest.PodOption{objects.Updating()}, "agent:v1", [2]bool{}},
	}
	seen := map[string]bool{}
	for _, test := range tests {
		if test.why == "" || seen[test.name] {
			t.Fatalf("row %q needs a reason and a name of its own", test.name)
		}
		seen[test.name] = true
		t.Run(test.name, func(t *testing.T) {
			pod := fresh()
			for _, option := range test.options {
				option(pod)
			}
			was := kubelet.RunningIn(pod, 0)
			outdated := [2]bool{kubelet.Outdated(pod, 0, was, false), kubelet.Outdated(pod, 0, was, true)}
			if was.Image != test.image || outdated != test.outdated {
				t.Errorf("runs %q, outdated %v: %s", was, outdated, test.why)
			}
			// A container that is made now is up to date.
			made := kubelet.StartContainer(pod, 0, nil, noon())
			if made != kubelet.Made(pod, 0) || kubelet.Outdated(pod, 0, made, true) {
				t.Errorf("made from %q, and outdated", made)
			}
		})
	}
}

func TestOutdatedByMetadata(t *testing.T) {
	pod := fresh()
	reads(pod)
	was := kubelet.Made(pod, 0)
	rollouttest.PodLabel("l", "2")(pod)
	if !kubelet.Outdated(pod, 0, was, true) || kubelet.Outdated(pod, 0, was, false) {
		t.Error("another label is to restart the container, if the set says so")
	}
	if kubelet.Outdated(pod, 1, kubelet.Made(pod, 1), true) {
		t.Error("it is to restart the other container, too")
	}
}

func TestImagesAndContainersHaveIDs(t *testing.T) {
	pod := up()
	first := *kubelet.StatusOf(pod, "main")
	if first.ImageID != kubelet.ImageID("agent:v1") || first.ContainerID != "sim://pod-p/main/0" {
		t.Errorf("got %s and %s", first.ImageID, first.ContainerID)
	}
	pod.Spec.Containers[0].Image = "agent:same"
	kubelet.RestartContainer(pod, 0, []string{"other", "agent:same"}, noon())
	if s := kubelet.StatusOf(pod, "main"); s.ImageID != first.ImageID || s.ContainerID != "sim://pod-p/main/1" {
		t.Errorf("got %s and %s", s.ImageID, s.ContainerID)
	}
	pod.Spec.Containers[0].Image = "agent:v2"
	kubelet.HoldUpContainer(pod, 0, kubelet.ErrImagePull, nil, noon())
	if s := kubelet.StatusOf(pod, "main"); s.ImageID != first.ImageID || s.ContainerID != "sim://pod-p/main/1" {
		t.Errorf("a container that waits has %s and %s", s.ImageID, s.ContainerID)
	}
	kubelet.StartContainers(pod, nil, nil, noon())
	if s := kubelet.StatusOf(pod, "main"); s.ImageID != kubelet.ImageID("agent:v2") || s.ContainerID != "sim://pod-p/main/2" {
		t.Errorf("got %s and %s", s.ImageID, s.ContainerID)
	}
	alone := fresh()
	kubelet.StartContainer(alone, 0, []string{"agent:v1"}, noon())
	if s := kubelet.StatusOf(alone, "main"); s.ImageID != kubelet.ImageID("agent:v1") {
		t.Errorf("the first image has the ID %q", s.ImageID)
	}
}

func TestStartSaysWhatContainersWereMadeFrom(t *testing.T) {
	pod := fresh()
	running := make([]kubelet.Running, 2)
	kubelet.CreateContainers(pod, running, nil, noon())
	if running[0].Image != "agent:v1" || running[1].Image != "side:v1" {
		t.Errorf("made from %v", running)
	}
	pod.Spec.Containers[0].Image, pod.Spec.Containers[1].Image = "agent:v2", "side:v2"
	kubelet.Crash(pod, 1, 1, "Error", noon())
	kubelet.StartContainers(pod, running, nil, noon())
	if running[0].Image != "agent:v1" || running[1].Image != "side:v2" {
		t.Errorf("of two, of which one runs, %v were made", running)
	}
	held := kubelet.HoldUpContainer(pod, 0, kubelet.ErrImagePull, nil, noon())
	if held.Image != "agent:v2" || kubelet.RestartContainer(pod, 0, nil, noon()).Image != "agent:v2" {
		t.Errorf("what waits is to be made from %v", held)
	}
}

func TestStatusesAreNotSharedByAppending(t *testing.T) {
	pod := fresh()
	pod.Status.ContainerStatuses = make([]corev1.ContainerStatus, 0, 9)
	shared := pod.Status.ContainerStatuses
	kubelet.StartContainer(pod, 0, nil, noon())
	if shared[:1][0].Name != "" {
		t.Error("the room behind the list was written to")
	}
}

func TestReadersOfContainers(t *testing.T) {
	crashed := up()
	kubelet.Crash(crashed, 0, 1, "Error", noon())
	creating := fresh()
	kubelet.SetWaiting(creating, kubelet.ContainerCreating)
	half := up()
	half.Status.ContainerStatuses[1].Ready = false
	partial := up()
	partial.Status.ContainerStatuses = partial.Status.ContainerStatuses[:1]
	alone := fresh()
	alone.Spec.Containers = alone.Spec.Containers[:1]
	kubelet.StartContainers(alone, nil, nil, noon())
	started := fresh()
	kubelet.StartContainers(started, nil, nil, noon())
	settled := up()
	settled.Status.ContainerStatuses = nil
	tests := []struct {
		name, why       string
		pod             *corev1.Pod
		ready, ran, yet bool
		restarts        int32
		waits           string
	}{
		{"up", "everything runs", up(), true, true, false, 0, ""},
		{"fresh", "nothing is reported", fresh(), false, false, true, 0, ""},
		{"creating", "they have never run", creating, false, false, true, 0, kubelet.ContainerCreating},
		{"crashed", "it is to start again", crashed, false, true, true, 1, kubelet.CrashLoopBackOff},
		{"half", "all have to be ready", half, false, true, false, 0, ""},
		{"partial", "all have to be reported", partial, false, true, false, 0, ""},
		{"alone", "there is but one to be ready", alone, true, true, false, 0, ""},
		{"started", "the pod is yet to be Ready", started, true, true, false, 0, ""},
		{"settled", "what is Ready has started, reported or not", settled, false, false, false, 0, ""},
	}
	seen := map[string]bool{}
	for _, test := range tests {
		if test.why == "" || seen[test.name] {
			t.Fatalf("row %q needs a reason and a name of its own", test.name)
		}
		seen[test.name] = true
		t.Run(test.name, func(t *testing.T) {
			p := test.pod
			if kubelet.ContainersReady(p) != test.ready || kubelet.HasRun(p, 0) != test.ran || kubelet.YetToStart(p) != test.yet ||
				kubelet.Restarts(p) != test.restarts || kubelet.WaitingFor(p) != test.waits {
				t.Errorf("ready %t, has run %t, yet to start %t, restarts %d, waits %q: %s", kubelet.ContainersReady(p), kubelet.HasRun(p, 0),
					kubelet.YetToStart(p), kubelet.Restarts(p), kubelet.WaitingFor(p), test.why)
			}
		})
	}
	empty := rollouttest.Pod("p", rollouttest.Pending())
	if kubelet.ContainersReady(empty) || kubelet.YetToStart(empty) || kubelet.Restarts(empty) != 0 ||
		kubelet.HasRun(empty, len(empty.Spec.Containers)) {
		t.Error("a pod without containers has some")
	}
}

func TestResizes(t *testing.T) {
	list := func(cpu, memory string) corev1.ResourceList {
		list := corev1.ResourceList{"ephemeral-storage": resource.MustParse("1Gi")}
		if cpu != "" {
			list["cpu"] = resource.MustParse(cpu)
		}
		if memory != "" {
			list["memory"] = resource.MustParse(memory)
		}
		return list
	}
	tests := []struct {
		name, why        string
		limits, requests corev1.ResourceList
		want             string
		restarts         bool
	}{
		{"as they are", "nothing is to be done", list("1", "1Gi"), list("100m", ""), "", false},
		{"written otherwise", "it is as much", list("1000m", "1024Mi"), list("0.1", ""), "", false},
		{"more cpu", "of a request", list("1", "1Gi"), list("200m", ""), "cpu ", false},
		{"less memory", "of a limit", list("1", "1Mi"), list("100m", ""), "memory ", true},
		{"both", "one each", list("2", "2Gi"), list("100m", ""), "cpu memory ", true},
		{"new", "there was none", list("1", "1Gi"), list("100m", "1Mi"), "memory ", true},
		{"no longer", "there is none now", list("", "1Gi"), list("100m", ""), "cpu ", false},
		{"others", "only cpu and memory can change", nil, nil, "cpu memory ", true},
	}
	seen := map[string]bool{}
	for _, test := range tests {
		if test.why == "" || seen[test.name] {
			t.Fatalf("row %q needs a reason and a name of its own", test.name)
		}
		seen[test.name] = true
		t.Run(test.name, func(t *testing.T) {
			pod := fresh()
			c := &pod.Spec.Containers[0]
			c.Resources.Limits, c.Resources.Requests = list("1", "1Gi"), list("100m", "")
			c.ResizePolicy = []corev1.ContainerResizePolicy{
				{ResourceName: "cpu", RestartPolicy: corev1.NotRequired}, {ResourceName: "memory", RestartPolicy: corev1.RestartContainer},
			}
			kubelet.StartContainers(pod, nil, nil, noon().Add(-time.Minute))
			c.Resources.Limits, c.Resources.Requests = test.limits, test.requests
			changed := kubelet.Resized(pod, 0)
			got := ""
			for _, name := range changed {
				got += string(name) + " "
			}
			if got != test.want || kubelet.RestartsFor(c, changed) != test.restarts {
				t.Errorf("resized %q, restarts %t: %s", got, kubelet.RestartsFor(c, changed), test.why)
			}
			kubelet.ResizeContainer(pod, 0)
			if again := kubelet.Resized(pod, 0); again != nil || kubelet.Restarts(pod) != 0 {
				t.Errorf("%v is still to be resized, after %d restarts", again, kubelet.Restarts(pod))
			}
		})
	}
}

func TestResizeOfWhatHasNotRun(t *testing.T) {
	pod := fresh()
	pod.Spec.Containers[0].Resources.Limits = corev1.ResourceList{"cpu": resource.MustParse("1")}
	kubelet.ResizeContainer(pod, 0)
	if kubelet.Resized(pod, 0) != nil || pod.Status.ContainerStatuses != nil {
		t.Error("a container that nobody reports is resized")
	}
	kubelet.StartContainers(pod, nil, nil, noon())
	main, side := kubelet.StatusOf(pod, "main"), kubelet.StatusOf(pod, "side")
	if kubelet.Resized(pod, 0) != nil || main.Resources == nil || side.Resources != nil {
		t.Errorf("started with %v and %v", main.Resources, side.Resources)
	}
	// A container whose status never had resources, and whose spec has some, does not have them yet.
	pod.Spec.Containers[1].Resources.Limits = corev1.ResourceList{"memory": resource.MustParse("1")}
	if got := kubelet.Resized(pod, 1); !slices.Equal(got, []corev1.ResourceName{"memory"}) {
		t.Errorf("resized %v", got)
	}
}

func TestContainersReportTheResourcesTheyWereStartedWith(t *testing.T) {
	pod := up()
	pod.Spec.Containers[0].Resources.Limits = corev1.ResourceList{"cpu": resource.MustParse("1")}
	kubelet.RestartContainer(pod, 0, nil, noon())
	if got := kubelet.StatusOf(pod, "main").Resources; got == nil || !got.Limits.Cpu().Equal(resource.MustParse("1")) {
		t.Errorf("a container with a limit reports %v", got)
	}
	pod.Spec.Containers[0].Resources = corev1.ResourceRequirements{}
	kubelet.RestartContainer(pod, 0, nil, noon())
	if got := kubelet.StatusOf(pod, "main").Resources; got != nil {
		t.Errorf("a container without resources reports %v", got)
	}
}
