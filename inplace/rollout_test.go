package inplace_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"pgregory.net/rapid"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/lifecycle"
)

// steps are what is tested, or a mutant of it.
type steps struct {
	begin   func(*inplace.Update, *corev1.Pod, inplace.Target, inplace.Metadata, time.Time) (inplace.Step, error)
	advance func(*corev1.Pod, time.Time) (inplace.Step, error)
}

var realSteps = steps{begin: (*inplace.Update).Begin, advance: inplace.Continue}

// failure is what a rollout panics with: a mutant has to be caught without failing the test.
type failure string

func (r *rollout) Helper()                      {}
func (r *rollout) Fatal(args ...any)            { panic(failure(fmt.Sprint(args...))) }
func (r *rollout) Fatalf(f string, args ...any) { panic(failure(fmt.Sprintf(f, args...))) }

// rollout is one pod on its way through revisions.
type rollout struct {
	t         *rapid.T
	steps     steps
	templates []*corev1.PodTemplateSpec
	options   inplace.Options
	kubelet   kubelet
	pod       *corev1.Pod
	target    int
	now       time.Time
	unreadyAt time.Time
	calm      bool // no patch gets lost any more
	halfSent  bool // the resize is sent, the patch of the spec is not
}

func newRollout(t *rapid.T, steps steps) *rollout {
	r := &rollout{t: t, steps: steps, now: start}
	r.options = inplace.Options{
		Resize: true, EnvFromMetadata: true, GracePeriodSeconds: rapid.SampledFrom([]int32{0, 0, 3}).Draw(t, "grace"),
		ServeOn: rapid.SampledFrom([][]string{nil, nil, {"c1"}, {"c2", "setup"}, {"c0", "c1", "c2", "c3", "setup"}}).Draw(t, "serve on"),
	}
	r.templates = []*corev1.PodTemplateSpec{template(t)}
	for range rapid.IntRange(1, 3).Draw(t, "revisions") {
		for range 20 {
			next := mutated(t, r.templates[0], inPlaceMutations)
			if r.inPlaceWithAll(next) {
				r.templates = append(r.templates, next)
				break
			}
		}
	}
	r.kubelet = kubelet{
		runs: map[string]*instance{}, oneID: rapid.Bool().Draw(t, "oneID"), broken: map[string]bool{},
		noContainerIDs: rapid.Bool().Draw(t, "noContainerIDs"), noResources: rapid.IntRange(0, 3).Draw(t, "noResources") == 0,
	}
	r.pod = podOf(r.templates[0], "0")
	for _, c := range serving(r.pod) {
		r.kubelet.sync(r.pod, c, start.Add(-minutes(1)))
	}
	r.kubelet.report(r.pod, r.now)
	return r
}

func (r *rollout) inPlaceWithAll(next *corev1.PodTemplateSpec) bool {
	for _, other := range r.templates {
		if !inplace.Compare(other, next, r.options).InPlace() || !inplace.Compare(next, other, r.options).InPlace() {
			return false
		}
	}
	return true
}

// shortest returns how many seconds pass at least: without container IDs, starts in one second cannot be told apart.
func (r *rollout) shortest() int {
	if r.kubelet.noContainerIDs {
		return 1
	}
	return 0
}

// control is one look at the pod: what a planner would do. The last patches may get lost.
func (r *rollout) control() {
	if !inplace.Unfinished(r.pod) {
		step, err := inplace.Continue(r.pod, r.now)
		if err != nil || len(step.Patches) > 0 {
			r.Fatalf("Unfinished says no, but %v, %v", step, err)
		}
	}
	current, err := strconv.Atoi(r.pod.Labels[revisionLabel])
	if err != nil {
		r.Fatal(err)
	}
	var step inplace.Step
	switch {
	case current != r.target:
		u := inplace.Compare(r.templates[current], r.templates[r.target], r.options)
		step, err = r.steps.begin(u, r.pod, inplace.Target{Revision: strconv.Itoa(r.target)}, inplace.Metadata{}, r.now)
		if errors.Is(err, inplace.ErrObstacle) && r.kubelet.noResources && len(u.Resources) > 0 {
			r.recreate()
			return
		}
		r.gracePeriod(u, step)
	case inplace.Preparing(r.pod):
		step, err = inplace.Cancel(r.pod, r.now)
		if len(step.Patches) == 0 {
			r.Fatal("nothing to cancel")
		}
	default:
		step, err = r.steps.advance(r.pod, r.now)
	}
	if err != nil {
		r.Fatal(err)
	}
	sent := len(step.Patches)
	if !r.calm {
		sent = rapid.IntRange(0, sent).Draw(r.t, "sent")
	}
	for _, patch := range step.Patches[:sent] {
		r.halfSent = patch.Subresource == "resize" || r.halfSent && patch.Subresource == "status"
		before := r.pod
		r.pod = apply(r, r.pod, patch)
		r.orderOfBatches(before)
	}
	if condition(r.pod) == corev1.ConditionTrue {
		r.unreadyAt = time.Time{}
	} else if r.unreadyAt.IsZero() {
		r.unreadyAt = r.now
	}
}

// recreate is what is left for a pod that cannot be updated in place.
func (r *rollout) recreate() {
	r.pod = podOf(r.templates[r.target], strconv.Itoa(r.target))
	clear(r.kubelet.runs)
	clear(r.kubelet.broken)
	for _, c := range serving(r.pod) {
		r.kubelet.sync(r.pod, c, r.now)
	}
	r.kubelet.report(r.pod, r.now)
	r.unreadyAt, r.halfSent = time.Time{}, false
}

// gracePeriod fails if an update begins before its grace period is over.
func (r *rollout) gracePeriod(u *inplace.Update, step inplace.Step) {
	grace := time.Duration(r.options.GracePeriodSeconds) * time.Second
	if step.Begun && step.Until.IsZero() && u.Restarts() && len(step.Patches) > 0 && step.Patches[0].Subresource == "status" && grace > 0 {
		r.Fatal("no grace period")
	}
	if !step.Until.IsZero() {
		if step.Begun || !step.Until.After(r.now) || step.Until.After(r.now.Add(grace)) {
			r.Fatalf("%+v at %s", step, r.now)
		}
		if !r.unreadyAt.IsZero() && !step.Until.Equal(r.unreadyAt.Add(grace)) {
			r.Fatalf("grace period until %s, not ready since %s", step.Until, r.unreadyAt)
		}
	}
	waits := slices.ContainsFunc(u.Images, func(c inplace.ImageChange) bool { return !slices.Contains(r.options.ServeOn, c.Container) })
	if step.Begun && !r.unreadyAt.IsZero() && waits && r.now.Before(r.unreadyAt.Add(grace)) && len(step.Patches) > 0 {
		// What restarts already may be left out; nothing else may begin within the period.
		for _, patch := range step.Patches {
			if patch.Subresource == "" && strings.Contains(string(patch.Data), `"image"`) {
				r.Fatal("begun within the grace period")
			}
		}
	}
}

// orderOfBatches fails if a container's image changes while one of a higher launch priority is not up to date.
func (r *rollout) orderOfBatches(before *corev1.Pod) {
	for i, c := range r.pod.Spec.Containers {
		mine, ok := launchPriority(c)
		if !ok || before.Spec.Containers[i].Image == c.Image {
			continue
		}
		for j, other := range r.pod.Spec.Containers {
			theirs, ok := launchPriority(other)
			shared := before.Spec.Containers[j].Image != other.Image || !maps.Equal(environment(before, other), environment(r.pod, other))
			if ok && theirs > mine && !shared && r.kubelet.runs[other.Name].image != other.Image {
				r.Fatalf("container %s goes before %s", c.Name, other.Name)
			}
		}
	}
}

func launchPriority(c corev1.Container) (int, bool) {
	for _, variable := range c.Env {
		if variable.Name == "KRUISE_CONTAINER_BARRIER" {
			n, err := strconv.Atoi(strings.TrimPrefix(variable.ValueFrom.ConfigMapKeyRef.Key, "p_"))
			return n, err == nil
		}
	}
	return 0, false
}

// truthful fails if the pod claims what is not so.
func (r *rollout) truthful() {
	current, _ := strconv.Atoi(r.pod.Labels[revisionLabel])
	state, err := inplace.StateOf(r.pod)
	if err != nil {
		r.Fatal(err)
	}
	for i, c := range r.pod.Spec.Containers {
		image := r.templates[current].Spec.Containers[i].Image
		if c.Image != image && (state == nil || state.NextContainerImages[c.Name] != image) {
			r.Fatalf("revision %d with image %s of container %s", current, c.Image, c.Name)
		}
	}
	if r.pod.Labels["foreign"] != "label" || r.pod.Annotations["cni.example.com/ip"] != "10.0.0.1" {
		r.Fatal("metadata of others is gone")
	}
	if !inplace.Completed(r.pod).Done || inplace.Preparing(r.pod) {
		if !inplace.Unfinished(r.pod) && !inplace.UnderWay(r.pod) {
			r.Fatalf("%v, of which the quick questions know nothing", inplace.Completed(r.pod))
		}
		return
	}
	for _, c := range serving(r.pod) {
		if i := r.kubelet.runs[c.Name]; i.image != c.Image || !maps.Equal(i.env, environment(r.pod, c)) {
			r.Fatalf("complete, but container %s runs %s with %v", c.Name, i.image, i.env)
		}
	}
}

// work lets the kubelet bring some containers to their spec.
func (r *rollout) work(all bool) {
	for _, c := range serving(r.pod) {
		if all || rapid.IntRange(0, 2).Draw(r.t, "kubelet") == 0 {
			// A pod serves on without some containers, but is made not ready where others restart beside them.
			if r.kubelet.sync(r.pod, c, r.now) && condition(r.pod) == corev1.ConditionTrue && !slices.Contains(r.options.ServeOn, c.Name) {
				r.Fatalf("container %s restarts in a pod that is ready", c.Name)
			}
		}
	}
	r.kubelet.report(r.pod, r.now)
	if lifecycle.Ready(r.pod) && condition(r.pod) != corev1.ConditionTrue {
		r.Fatal("ready in the middle of an update")
	}
}

// converged reports whether the pod is what the target wants, and says so.
func (r *rollout) converged() bool {
	want := wanted(r.templates[r.target], r.pod, strconv.Itoa(r.target))
	return equality.Semantic.DeepEqual(want, r.pod) && lifecycle.Ready(r.pod) && inplace.Completed(r.pod).Done &&
		!inplace.Preparing(r.pod)
}
