package podupdates

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/placement"
)

var (
	cases      = flag.Int("n", 3000, "how many cases are judged")
	kubeconfig = flag.String("kubeconfig", "", "a `file` that says where an API server runs, which judges in place of the code of one in this process: "+
		"it gets nodes and pods that nobody runs, so that it has to be a cluster for this test alone")
)

const revisionLabel = "controller-revision-hash"

// own are the reasons of the library for not doing what the API server would take, each with what would go wrong.
var own = map[inplace.Code]string{
	inplace.RestartAsked:         "the annotation asks for a restart, and a patch restarts nothing",
	inplace.MetadataInEnv:        "the variable would keep the old value",
	inplace.MetadataInEnvRemoved: "the variable would keep the old value",
	inplace.MetadataInInitEnv:    "the init container has read the old value",
	inplace.ResourceInEnv:        "the variable would keep the old value",
	inplace.UpdateInEnv:          "the variable would keep the old value",
	inplace.InitContainer:        "init containers do not run again",
	inplace.ResizeDisabled:       "the option is off",
	inplace.ResourceAdded:        "the option is off, or the pod lacks what its template has",
	inplace.WholeRestarts:        "nothing that the kubelet reports tells whether the container has restarted",
	inplace.ResizeInTurn:         "later batches are kept in Kruise's annotation, which has no room for it",
	inplace.ResourceRemoved:      "the API server fills a request in that goes from the limit, so that nothing is removed: not done in place",
	inplace.NodeUnable:           "kubelets before 1.33 do not restart sidecars; pods with resources as a whole need a server that resizes those",
	inplace.QOSClass:             "templates are compared; others may have given the pods what keeps their class",
}

// fresh returns the pod that is made of a template: by the controller, by admission, and by the server.
func (d *drawn) fresh(s server, template *corev1.PodTemplateSpec, revision string) (*corev1.Pod, error) {
	pod := placement.Pod(template, d.node.Name)
	pod.Name, pod.Namespace, pod.UID, pod.ResourceVersion = "agent-x", namespace, "uid", "1"
	pod.Labels[revisionLabel] = revision
	pod.Spec.NodeName = d.node.Name
	pod.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: lifecycle.InPlaceUpdateReady}}
	made, err := s.created(pod, d.admission...)
	if err != nil {
		return nil, err
	}
	run(made, 1)
	return s.reported(made)
}

// begin is what is judged, or a mutant of it: the first step of the update of a pod.
type begin func(d drawn, pod *corev1.Pod, now time.Time) (inplace.Step, error)

func really(d drawn, pod *corev1.Pod, now time.Time) (inplace.Step, error) {
	return inplace.Compare(d.old, d.new, d.options).Begin(pod, inplace.Target{Revision: "new", Node: d.node}, inplace.Metadata{}, now)
}

// judged returns what is wrong with an update in place; "" if nothing. kind says what became of the case.
func judged(s server, d drawn, begin begin) (kind, wrong string) {
	pod, err := d.fresh(s, d.old, "old")
	if err != nil {
		return "no such pod", ""
	}
	want, err := d.fresh(s, d.new, "new")
	if err != nil {
		return "no such pod", ""
	}
	before := pod.DeepCopy()
	for _, change := range d.later {
		change(pod)
	}
	run(pod, 1)
	if pod, err = s.reported(pod); err != nil {
		return "", err.Error()
	}
	now := time.Unix(1_800_000_000, 0)
	step, err := begin(d, pod, now)
	var obstacle *inplace.ObstacleError
	switch {
	case errors.As(err, &obstacle):
		return "obstacle", d.taken(s, pod, want, obstacle)
	case err != nil:
		return "", err.Error()
	}
	for n := 2; len(step.Patches) > 0; n++ {
		for _, patch := range step.Patches {
			next, err := s.sent(pod, patch, d.node)
			if err != nil {
				return "", fmt.Sprintf("the server refuses %s %s: %v", patch.Subresource, patch.Data, err)
			}
			pod = next
		}
		if state, err := inplace.StateOf(pod); err != nil || state != nil && state.Generation != pod.Generation {
			return "", fmt.Sprintf("the state says generation %d, and the pod has %d (%v)", state.Generation, pod.Generation, err)
		}
		run(pod, n)
		if pod, err = s.reported(pod); err != nil {
			return "", err.Error()
		}
		if step, err = inplace.Continue(pod, now.Add(time.Duration(n)*time.Minute)); err != nil {
			return "", err.Error()
		}
		if n > 9 {
			return "", "there is always more to do"
		}
	}
	if completion := inplace.Completed(pod); !completion.Done {
		return "", fmt.Sprintf("not complete: %v", completion.Waits)
	}
	return "in place", d.unlike(before, pod, want)
}

// taken returns what is wrong with an obstacle: that the server takes the whole change, and the library has no reason of its own.
func (d *drawn) taken(s server, pod, want *corev1.Pod, obstacle *inplace.ObstacleError) string {
	for _, o := range obstacle.Obstacles {
		if _, ok := own[o.Code]; ok {
			return ""
		}
		if strings.HasSuffix(o.Path, "imagePullPolicy") && o.Code == inplace.Immutable {
			return "" // the pod would keep its policy, beside the other image
		}
	}
	next := pod.DeepCopy()
	next.Labels, next.Annotations = want.Labels, want.Annotations
	next.Spec = *want.Spec.DeepCopy()
	next.Spec.Tolerations = slices.Concat(pod.Spec.Tolerations, want.Spec.Tolerations)
	sized, err := s.updated(pod, next.DeepCopy(), "resize", d.node)
	if err != nil {
		return ""
	}
	next.Spec.Resources, next.Spec.Containers, next.Spec.InitContainers = sized.Spec.Resources, sized.Spec.Containers, sized.Spec.InitContainers
	for _, lists := range [][2][]corev1.Container{
		{next.Spec.Containers, want.Spec.Containers}, {next.Spec.InitContainers, want.Spec.InitContainers},
	} {
		for i := range min(len(lists[0]), len(lists[1])) {
			lists[0][i].Image = lists[1][i].Image
		}
	}
	next.Generation, next.ResourceVersion = sized.Generation, sized.ResourceVersion
	done, err := s.updated(sized, next, "", d.node)
	if err != nil {
		return ""
	}
	if d.unlike(pod, done, want) != "" {
		return ""
	}
	return fmt.Sprintf("the server takes all of it, but: %v", obstacle)
}

// unlike returns in what a pod that was updated differs from one that is new, of all that the update changes: that is what differs
// between a new pod of the old template and one of the new one. What the pod as a whole requests follows what others have made of
// its containers.
func (d *drawn) unlike(before, is, want *corev1.Pod) string {
	var found []string
	differ := func(what string, was, is, want any) {
		if !apiequality.Semantic.DeepEqual(was, want) && !apiequality.Semantic.DeepEqual(is, want) {
			found = append(found, fmt.Sprintf("%s is %v instead of %v", what, is, want))
		}
	}
	for _, lists := range [][3][]corev1.Container{
		{before.Spec.Containers, is.Spec.Containers, want.Spec.Containers},
		{before.Spec.InitContainers, is.Spec.InitContainers, want.Spec.InitContainers},
	} {
		if len(lists[1]) != len(lists[2]) || len(lists[0]) != len(lists[1]) {
			return "other containers"
		}
		for i, w := range lists[2] {
			was, has := lists[0][i], lists[1][i]
			differ(w.Name+": image", was.Image, has.Image, w.Image)
			differ(w.Name+": pull policy", was.ImagePullPolicy, has.ImagePullPolicy, w.ImagePullPolicy)
			for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
				differ(fmt.Sprintf("%s: limit of %s", w.Name, name), text(was.Resources.Limits, name), text(has.Resources.Limits, name), text(w.Resources.Limits, name))
				differ(fmt.Sprintf("%s: request of %s", w.Name, name), text(was.Resources.Requests, name), text(has.Resources.Requests, name), text(w.Resources.Requests, name))
			}
		}
	}
	whole := func(pod *corev1.Pod) corev1.ResourceRequirements {
		if pod.Spec.Resources == nil {
			return corev1.ResourceRequirements{}
		}
		return *pod.Spec.Resources
	}
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		if len(d.later) > 0 {
			break
		}
		differ(fmt.Sprintf("the pod's limit of %s", name), text(whole(before).Limits, name), text(whole(is).Limits, name), text(whole(want).Limits, name))
		differ(fmt.Sprintf("the pod's request of %s", name), text(whole(before).Requests, name), text(whole(is).Requests, name), text(whole(want).Requests, name))
	}
	for _, toleration := range want.Spec.Tolerations {
		if !tolerates(before, toleration) && !tolerates(is, toleration) {
			found = append(found, fmt.Sprintf("the toleration %v is missing", toleration))
		}
	}
	for _, toleration := range before.Spec.Tolerations {
		if !tolerates(want, toleration) && tolerates(is, toleration) {
			found = append(found, fmt.Sprintf("the toleration %v has stayed", toleration))
		}
	}
	for key, value := range d.new.Labels {
		differ("label "+key, before.Labels[key], is.Labels[key], value)
	}
	for key, value := range d.new.Annotations {
		differ("annotation "+key, before.Annotations[key], is.Annotations[key], value)
	}
	// What may not change in a pod that runs has to be as in a new one already.
	was, now := before.Spec.DeepCopy(), want.Spec.DeepCopy()
	for _, spec := range []*corev1.PodSpec{was, now} {
		spec.Resources, spec.Tolerations = nil, nil
		for _, containers := range [][]corev1.Container{spec.Containers, spec.InitContainers} {
			for i := range containers {
				containers[i].Image, containers[i].Resources = "", corev1.ResourceRequirements{}
			}
		}
	}
	if !apiequality.Semantic.DeepEqual(was, now) {
		found = append(found, "more of the spec differs")
	}
	return strings.Join(found, "; ")
}

func tolerates(pod *corev1.Pod, toleration corev1.Toleration) bool {
	plain := func(t corev1.Toleration) corev1.Toleration {
		if t.Operator == "" {
			t.Operator = corev1.TolerationOpEqual
		}
		return t
	}
	return slices.ContainsFunc(pod.Spec.Tolerations, func(other corev1.Toleration) bool {
		return apiequality.Semantic.DeepEqual(plain(toleration), plain(other))
	})
}

func text(list corev1.ResourceList, name corev1.ResourceName) string {
	quantity, ok := list[name]
	if !ok {
		return "none"
	}
	return fmt.Sprint(quantity.MilliValue(), "m")
}

// TestUpdates has the API server judge updates in place.
func TestUpdates(t *testing.T) {
	kinds, bad := map[string]int{}, 0
	var server server = strategies{}
	adapt := func(*drawn) {}
	if *kubeconfig != "" {
		cluster, err := connect(t.Context(), *kubeconfig, *cases)
		if err != nil {
			t.Fatal(err)
		}
		server, adapt = cluster, cluster.adapt
	}
	for seed := range *cases {
		d := draw(uint64(seed))
		adapt(&d)
		kind, wrong := judged(server, d, really)
		kinds[kind]++
		if wrong != "" {
			if bad++; bad <= 10 {
				t.Errorf("case %d: %s\nfrom %s\nto   %s\non   %s", seed, wrong, plainText(d.old), plainText(d.new), plainText(d.node.Status))
			}
		}
	}
	if bad > 0 {
		t.Errorf("%d of %d cases are wrong", bad, *cases)
	}
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		t.Logf("%6d %s", kinds[kind], kind)
	}
}
