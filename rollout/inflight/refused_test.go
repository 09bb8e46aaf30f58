package inflight_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/internal/apiserver"
	"github.com/daemonplan/daemonplan/internal/kubelet"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/inflight"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
	"github.com/daemonplan/daemonplan/status"
)

// errResize is what an API server says of a resize that nobody foresaw.
var errResize error = apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "agent", field.ErrorList{
	field.Forbidden(field.NewPath("spec"), "a policy of this cluster allows no resize"),
})

// stubborn is a small cluster whose API server refuses some patches.
type stubborn struct {
	// refuses reports whether the server refuses a patch of a pod that was patched so many times before.
	refuses   func(patch *rollout.Patch, before int) bool
	patched   map[types.UID]int // how many patches of it were sent, and taken
	t         *testing.T
	spec      rollout.Spec
	nodes     []*corev1.Node
	pods      []*corev1.Pod
	revisions []*appsv1.ControllerRevision
	tracker   inflight.Tracker
	carry     rollout.Carry
	now       time.Time
	refused   int // patches
	created   int
}

// begin returns three nodes whose pods are to get more cpu, which restarts their container. The server refuses that.
func begin(t *testing.T, method inplace.Method) *stubborn {
	t.Helper()
	spec := kit.Spec("agent", kit.Resize(), kit.Requests(corev1.ResourceCPU, "1"))
	spec.Strategy.Method = method
	spec.Template.Spec.Containers[0].ResizePolicy = []corev1.ContainerResizePolicy{
		{ResourceName: corev1.ResourceCPU, RestartPolicy: corev1.RestartContainer},
	}
	s := run(t, spec, func(patch *rollout.Patch, _ int) bool { return patch.Subresource == "resize" })
	kit.Requests(corev1.ResourceCPU, "2")(&s.spec)
	return s
}

// run returns three nodes with pods of the spec.
func run(t *testing.T, spec rollout.Spec, refuses func(*rollout.Patch, int) bool) *stubborn {
	t.Helper()
	s := &stubborn{t: t, spec: spec, now: noon, refuses: refuses, patched: make(map[types.UID]int)}
	for _, name := range []string{"a", "b", "c"} {
		s.nodes = append(s.nodes, kit.Node(name))
	}
	s.plan() // writes the revision
	s.plan() // makes the pods
	return s
}

// plan makes one plan and sends all of it. A minute passes.
func (s *stubborn) plan() rollout.Plan {
	s.t.Helper()
	planner, err := rollout.New(s.spec)
	if err != nil {
		s.t.Fatal(err)
	}
	asked, _ := s.tracker.Observe(s.now, s.pods, s.revisions)
	snapshot := rollout.Snapshot{Now: s.now, Nodes: s.nodes, Pods: s.pods, Revisions: s.revisions, InFlight: asked}.After(s.carry)
	plan, err := planner.Plan(snapshot)
	if err != nil {
		s.t.Fatal(err)
	}
	s.carry = plan.Carry()
	for _, action := range plan.Revisions {
		if action.Verb == rollout.CreateRevision {
			action.Object.UID = types.UID(action.Name)
			s.revisions = append(s.revisions, action.Object)
		}
	}
	for _, action := range plan.Deletes {
		s.pods = deleted(s.pods, action.UID)
	}
	for _, action := range plan.Creates {
		s.create(planner, action)
	}
	for _, pod := range s.pods {
		kubelet.SeeTo(pod, s.spec.Lifecycle, s.now)
	}
	for _, patches := range plan.PatchesByPod() {
		for _, patch := range patches {
			if !s.patch(patch) {
				break
			}
		}
	}
	s.now = s.now.Add(time.Minute)
	return plan
}

func deleted(pods []*corev1.Pod, uid types.UID) (rest []*corev1.Pod) {
	for _, pod := range pods {
		if pod.UID != uid {
			rest = append(rest, pod)
		}
	}
	return rest
}

func (s *stubborn) create(planner *rollout.Planner, action rollout.Create) {
	pod, err := planner.Pod(action)
	if err != nil {
		s.t.Fatal(err)
	}
	s.created++
	name := pod.GenerateName + string(rune('a'+s.created))
	apiserver.Admit(pod, name, types.UID("uid-"+name), s.now)
	kubelet.Bind(pod, action.Node, s.now)
	kubelet.StartContainers(pod, nil, nil, s.now)
	kubelet.SetCondition(pod, "InPlaceUpdateReady", corev1.ConditionTrue, s.now)
	kubelet.Ready(pod, s.now)
	s.pods = append(s.pods, pod)
}

// patch sends one patch, and reports whether it was taken.
func (s *stubborn) patch(patch rollout.Patch) bool {
	request := s.tracker.Patch(s.now, patch)
	for i, pod := range s.pods {
		if pod.UID != patch.UID {
			continue
		}
		if s.refuses(&patch, s.patched[pod.UID]) {
			s.refused++
			s.tracker.Answer(s.now, request, nil, errResize)
			return false
		}
		next, err := apiserver.Patch(pod, &patch)
		if err != nil {
			s.t.Fatal(err)
		}
		s.patched[pod.UID]++
		for c := range kubelet.Count(next) {
			if kubelet.Outdated(next, c, kubelet.RunningIn(pod, c), false) {
				kubelet.RestartContainer(next, c, nil, s.now)
			}
		}
		kubelet.StartContainers(next, nil, nil, s.now)
		if kubelet.GatesOpen(next) {
			kubelet.Ready(next, s.now)
		} else {
			kubelet.Unready(next, s.now)
		}
		next.ResourceVersion += "1"
		s.pods[i] = next
		s.tracker.Answer(s.now, request, next, nil)
	}
	return true
}

func (s *stubborn) serving() (n int) {
	for _, pod := range s.pods {
		if kubelet.ConditionStatus(pod, corev1.PodReady) == corev1.ConditionTrue {
			n++
		}
	}
	return n
}

// TestRefusedStepIsRecreated: with InPlaceIfPossible, a pod whose update the server refuses gets a new pod.
func TestRefusedStepIsRecreated(t *testing.T) {
	s := begin(t, inplace.IfPossible)
	for range 30 {
		s.plan()
		if s.serving() < 2 {
			t.Fatalf("%d pods serve: the budget is one", s.serving())
		}
	}
	for _, pod := range s.pods {
		if got := pod.Spec.Containers[0].Resources.Requests.Cpu(); got.String() != "2" {
			t.Errorf("pod %s requests %s of cpu", pod.Name, got)
		}
	}
	if len(s.pods) != 3 || s.refused != 3 {
		t.Errorf("%d pods, %d refused patches; want 3 of each: the server is asked once for each pod", len(s.pods), s.refused)
	}
}

// TestRefusedStepIsHeld: with InPlaceOnly, the pod is made ready again and held, the rollout says what the server said, and the
// server is asked again from time to time.
func TestRefusedStepIsHeld(t *testing.T) {
	s := begin(t, inplace.Only)
	var plan rollout.Plan
	for range 60 {
		plan = s.plan()
		if s.serving() < 2 {
			t.Fatalf("%d pods serve: the budget is one", s.serving())
		}
	}
	if plan.Status.State != status.Stuck || len(plan.Blockers) == 0 || !strings.Contains(plan.Blockers[0].Why, "allows no resize") {
		t.Errorf("%s, blockers %+v", plan.Status.State, plan.Blockers)
	}
	if s.refused < 9 || s.refused > 24 {
		t.Errorf("%d refused patches in an hour of three pods, each of which is tried again after ten minutes", s.refused)
	}
	if len(s.pods) != 3 {
		t.Errorf("%d pods", len(s.pods))
	}
}

// batches returns a spec of two containers which are updated one after the other, through a hook.
func batches(method inplace.Method) rollout.Spec {
	spec := kit.Spec("agent", kit.InPlaceUpdateHook(kit.HookLabel("example.com/drained", "no")))
	spec.Strategy.Method = method
	first := spec.Template.Spec.Containers[0]
	first.Name = "first"
	spec.Template.Spec.Containers = append(spec.Template.Spec.Containers, first)
	for i := range spec.Template.Spec.Containers {
		spec.Template.Spec.Containers[i].Env = []corev1.EnvVar{{
			Name: "KRUISE_CONTAINER_BARRIER",
			ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{
				LocalObjectReference: corev1.LocalObjectReference{Name: "barrier"}, Key: fmt.Sprintf("p_%d", i),
			}},
		}}
	}
	return spec
}

func nextImages(s *rollout.Spec) {
	for i := range s.Template.Spec.Containers {
		s.Template.Spec.Containers[i].Image = "agent:v9"
	}
}

// steps counts the patches of a pod whose update in place nobody refuses.
func steps(t *testing.T, spec rollout.Spec) int {
	t.Helper()
	s := run(t, spec, func(*rollout.Patch, int) bool { return false })
	made := s.created
	nextImages(&s.spec)
	before := s.patched[s.pods[0].UID]
	for range 60 {
		s.plan()
	}
	if s.created != made || s.outdated() > 0 || s.serving() != 3 {
		t.Fatalf("%d pods made, %d outdated, %d serve", s.created-made, s.outdated(), s.serving())
	}
	return s.patched[s.pods[0].UID] - before
}

// outdated counts containers that do not run the image of the spec.
func (s *stubborn) outdated() (n int) {
	for _, pod := range s.pods {
		for i, c := range s.spec.Template.Spec.Containers {
			if pod.Spec.Containers[i].Image != c.Image || !kubelet.SameImage(kubelet.StatusOf(pod, c.Name).Image, c.Image) {
				n++
			}
		}
	}
	return n
}

// TestAnyStepThatIsRefused: whichever step of an update the server refuses from then on, the pod is recreated, or the rollout is
// stuck with the server's words; the budget holds, and the server is not asked in every plan.
func TestAnyStepThatIsRefused(t *testing.T) {
	for _, method := range []inplace.Method{inplace.IfPossible, inplace.Only} {
		all := steps(t, batches(method))
		if all < 5 {
			t.Fatalf("%d steps: not ready, two batches, ready, and the hook", all)
		}
		for step := range all {
			t.Run(fmt.Sprint(method, " step ", step), func(t *testing.T) {
				s := run(t, batches(method), nil)
				old := make(map[types.UID]int)
				for _, pod := range s.pods {
					old[pod.UID] = s.patched[pod.UID]
				}
				s.refuses = func(patch *rollout.Patch, before int) bool {
					until, is := old[patch.UID]
					return is && before-until >= step
				}
				nextImages(&s.spec)
				stuck := 0
				for minute := range 60 {
					plan := s.plan()
					if s.serving() < 2 {
						t.Fatalf("%d pods serve: the budget is one", s.serving())
					}
					if minute < 30 || method != inplace.Only || len(plan.Patches) > 0 {
						continue // it is under way, or tried once more
					}
					stuck++
					words := len(plan.Blockers) > 0 && strings.Contains(plan.Blockers[0].Why, "allows no resize")
					if plan.Status.State != status.Stuck || !words {
						t.Fatalf("after %d minutes: %s, blockers %+v", minute, plan.Status.State, plan.Blockers)
					}
				}
				switch {
				case method == inplace.IfPossible && (s.outdated() > 0 || s.serving() != 3 || s.refused > 3):
					t.Errorf("%d outdated, %d serve, %d refused: each is asked for once", s.outdated(), s.serving(), s.refused)
				case method == inplace.Only && (stuck < 15 || s.refused > 3*3*6 || s.created > 3):
					t.Errorf("stuck in %d of 30 plans, %d refused, %d pods made: a pod is tried again after ten minutes",
						stuck, s.refused, s.created)
				}
			})
		}
	}
}

func TestIsRefused(t *testing.T) {
	tests := []struct {
		name, why string
		err       error
		want      bool
	}{
		{"invalid", "the same patch is as wrong tomorrow", errResize, true},
		{"forbidden", "a policy or a role says so", apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "p", errors.New("no")), true},
		{"wrapped", "callers add what they did", errors.Join(errors.New("patching"), errResize), true},
		{"unknown subresource", "an old server", errUnknown, true},
		{"gone", "another plan", errNotFound, false},
		{"conflict", "somebody was faster", errRefused, false},
		{"too many requests", "it passes", apierrors.NewTooManyRequests("busy", 1), false},
		{"lost", "nobody knows what was said", errLost, false},
		{"failed webhook", "it passes", apierrors.NewInternalError(errors.New("failed calling webhook")), false},
		{"namespace goes", "the set goes with it", &apierrors.StatusError{ErrStatus: metav1.Status{
			Status: metav1.StatusFailure, Code: 403, Reason: metav1.StatusReasonForbidden,
			Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}},
		}}, false},
		{"none", "it was taken", nil, false},
	}
	for _, test := range tests {
		if got := inflight.IsRefused(test.err); got != test.want {
			t.Errorf("%s: %v: %s", test.name, got, test.why)
		}
	}
}
