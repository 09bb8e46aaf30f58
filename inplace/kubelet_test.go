package inplace_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/lifecycle"
)

// instance is a container that runs: what it was made from.
type instance struct {
	image     string
	env       map[string]string
	resources corev1.ResourceRequirements
	id        int
	since     time.Time
}

// kubelet brings the containers of one pod to their spec, each in its own time. It restarts those whose environment is
// out of date, too, as Kruise's daemon does.
type kubelet struct {
	runs map[string]*instance
	last int
	// oneID: all images have one ID, and the status names the first one: pulled by another name, nothing changes but
	// the container.
	oneID bool
	// noContainerIDs: a runtime that reports none.
	noContainerIDs bool
	// noResources: an old kubelet that reports none.
	noResources bool
	// broken images cannot be pulled.
	broken map[string]bool
}

// environment is what the variables of a container read from a pod.
func environment(pod *corev1.Pod, c corev1.Container) map[string]string {
	values := map[string]string{}
	reads(corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{c}}}, func(_ string, annotation bool, key string) {
		if annotation {
			values["annotation "+key] = pod.Annotations[key]
		} else {
			values["label "+key] = pod.Labels[key]
		}
	})
	return values
}

// sync brings one container to its spec, if it can. It returns whether the container was restarted.
func (k *kubelet) sync(pod *corev1.Pod, c corev1.Container, now time.Time) (restarted bool) {
	i := k.runs[c.Name]
	restart := i == nil || i.image != c.Image || !maps.Equal(i.env, environment(pod, c))
	if !restart && !equality.Semantic.DeepEqual(i.resources, c.Resources) {
		for _, policy := range c.ResizePolicy {
			before, after := i.resources.Limits[policy.ResourceName], c.Resources.Limits[policy.ResourceName]
			requested, requests := i.resources.Requests[policy.ResourceName], c.Resources.Requests[policy.ResourceName]
			if policy.RestartPolicy == corev1.RestartContainer && (before.Cmp(after) != 0 || requested.Cmp(requests) != 0) {
				restart = true
			}
		}
	}
	if restart && k.broken[c.Image] {
		return false
	}
	if restart {
		k.last++
		i = &instance{image: c.Image, env: environment(pod, c), id: k.last, since: now}
		k.runs[c.Name] = i
	}
	i.resources = *c.Resources.DeepCopy()
	return restart
}

// report writes the status of the pod.
func (k *kubelet) report(pod *corev1.Pod, now time.Time) {
	pod.Status.ContainerStatuses = nil
	ready := true
	for _, c := range pod.Spec.Containers {
		i := k.runs[c.Name]
		if i == nil {
			ready = false
			continue
		}
		status := corev1.ContainerStatus{Name: c.Name, Image: i.image, ImageID: "id-of-" + i.image, Ready: now.After(i.since), State: running(i.since)}
		if k.oneID {
			status.Image, status.ImageID = "first:name", "id"
		}
		if !k.noContainerIDs {
			status.ContainerID = "containerd://" + strconv.Itoa(i.id)
		}
		if !k.noResources {
			status.Resources = i.resources.DeepCopy()
		}
		ready = ready && status.Ready
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, status)
	}
	wanted := corev1.ConditionFalse
	if ready && condition(pod) == corev1.ConditionTrue {
		wanted = corev1.ConditionTrue
	}
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == corev1.PodReady && c.Status != wanted {
			c.Status, c.LastTransitionTime = wanted, metav1.NewTime(now)
		}
	}
}

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
	r.options = inplace.Options{Resize: true, EnvFromMetadata: true, GracePeriodSeconds: rapid.SampledFrom([]int32{0, 0, 3}).Draw(t, "grace")}
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
	for _, c := range r.pod.Spec.Containers {
		r.kubelet.sync(r.pod, c, start.Add(-minutes(1)))
	}
	r.kubelet.report(r.pod, r.now)
	return r
}

func (r *rollout) inPlaceWithAll(next *corev1.PodTemplateSpec) bool {
	for _, other := range r.templates {
		if !inplace.Diff(other, next, r.options).InPlace() || !inplace.Diff(next, other, r.options).InPlace() {
			return false
		}
	}
	return true
}

// shortest is how many seconds pass at least: without container IDs, starts in one second cannot be told apart.
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
		u := inplace.Diff(r.templates[current], r.templates[r.target], r.options)
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
	for _, c := range r.pod.Spec.Containers {
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
	if step.Begun && !r.unreadyAt.IsZero() && u.Restarts() && r.now.Before(r.unreadyAt.Add(grace)) && len(step.Patches) > 0 {
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
		return
	}
	for _, c := range r.pod.Spec.Containers {
		if i := r.kubelet.runs[c.Name]; i.image != c.Image || !maps.Equal(i.env, environment(r.pod, c)) {
			r.Fatalf("complete, but container %s runs %s with %v", c.Name, i.image, i.env)
		}
	}
}

// work lets the kubelet bring some containers to their spec.
func (r *rollout) work(all bool) {
	for _, c := range r.pod.Spec.Containers {
		if all || rapid.IntRange(0, 2).Draw(r.t, "kubelet") == 0 {
			if r.kubelet.sync(r.pod, c, r.now) && condition(r.pod) == corev1.ConditionTrue {
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

// violation moves a pod through revisions: users change their mind mid-way and roll back, kubelets are late, patches get
// lost. Once users and images are at rest, the pod gets where it should be. It returns what went wrong; "" if nothing.
func violation(t *rapid.T, steps steps) (text string) {
	defer func() {
		if f := recover(); f != nil {
			failed, ok := f.(failure)
			if !ok {
				panic(f)
			}
			text = string(failed)
		}
	}()
	r := newRollout(t, steps)
	for range rapid.IntRange(1, 25).Draw(t, "steps") {
		r.now = r.now.Add(time.Duration(rapid.IntRange(r.shortest(), 2).Draw(t, "seconds")) * time.Second)
		// A resize whose spec patch was lost shows nowhere: it is made good by the same update only.
		if rapid.IntRange(0, 4).Draw(t, "change") == 0 && !r.halfSent {
			r.target = rapid.IntRange(0, len(r.templates)-1).Draw(t, "target")
		}
		if rapid.IntRange(0, 5).Draw(t, "break") == 0 {
			image := rapid.SampledFrom([]string{"app:1", "app:2"}).Draw(t, "image")
			r.kubelet.broken[image] = !r.kubelet.broken[image]
		}
		r.control()
		r.truthful()
		r.work(false)
		r.truthful()
	}
	clear(r.kubelet.broken)
	r.calm = true
	for range 40 {
		if r.converged() {
			return ""
		}
		r.now = r.now.Add(2 * time.Second)
		r.control()
		r.truthful()
		r.work(true)
	}
	r.Fatalf("still not there: %v, ready %v", inplace.Completed(r.pod), lifecycle.Ready(r.pod))
	return ""
}

func rollouts(t *rapid.T) {
	if text := violation(t, realSteps); text != "" {
		t.Fatal(text)
	}
}

func TestRollouts(t *testing.T) { rapid.Check(t, rollouts) }
func FuzzRollouts(f *testing.F) { f.Fuzz(rapid.MakeFuzz(rollouts)) }

// Steps with a planted bug, which the property must reject.
func TestRolloutsHaveTeeth(t *testing.T) {
	// without leaves out patches of a subresource.
	without := func(step inplace.Step, subresource string) inplace.Step {
		step.Patches = slices.DeleteFunc(slices.Clone(step.Patches), func(p lifecycle.Patch) bool { return p.Subresource == subresource })
		return step
	}
	// edited changes the pod that a step is computed from.
	edited := func(pod *corev1.Pod, edit func(*corev1.Pod)) *corev1.Pod {
		pod = pod.DeepCopy()
		edit(pod)
		return pod
	}
	forget := func(field string) func(*corev1.Pod) {
		return func(pod *corev1.Pod) {
			var state map[string]any
			if json.Unmarshal([]byte(pod.Annotations[inplace.StateKey]), &state) == nil {
				delete(state, field)
				pod.Annotations[inplace.StateKey] = text(state)
			}
		}
	}
	begin := func(change func(*corev1.Pod)) steps {
		return steps{advance: inplace.Continue, begin: func(u *inplace.Update, pod *corev1.Pod, target inplace.Target, metadata inplace.Metadata, now time.Time) (inplace.Step, error) {
			return u.Begin(edited(pod, change), target, metadata, now)
		}}
	}
	advance := func(change func(*corev1.Pod)) steps {
		return steps{begin: realSteps.begin, advance: func(pod *corev1.Pod, now time.Time) (inplace.Step, error) {
			return inplace.Continue(edited(pod, change), now)
		}}
	}
	mutants := []struct {
		name, why string
		steps     steps
	}{
		{"never not ready", "containers restart in a pod that is ready", steps{advance: inplace.Continue, begin: func(u *inplace.Update, pod *corev1.Pod, target inplace.Target, metadata inplace.Metadata, now time.Time) (inplace.Step, error) {
			step, err := u.Begin(pod, target, metadata, now)
			return without(step, "status"), err
		}}},
		{"no resize", "the label claims resources that the spec does not have", steps{advance: inplace.Continue, begin: func(u *inplace.Update, pod *corev1.Pod, target inplace.Target, metadata inplace.Metadata, now time.Time) (inplace.Step, error) {
			step, err := u.Begin(pod, target, metadata, now)
			return without(step, "resize"), err
		}}},
		{"never ready again", "the pod stays out of service", steps{begin: realSteps.begin, advance: func(pod *corev1.Pod, now time.Time) (inplace.Step, error) {
			step, err := inplace.Continue(pod, now)
			return without(step, "status"), err
		}}},
		{"never advances", "later batches do not come", steps{begin: realSteps.begin, advance: func(*corev1.Pod, time.Time) (inplace.Step, error) {
			return inplace.Step{}, nil
		}}},
		{"grace period skipped", "the next look is taken for one of tomorrow", steps{advance: inplace.Continue, begin: func(u *inplace.Update, pod *corev1.Pod, target inplace.Target, metadata inplace.Metadata, now time.Time) (inplace.Step, error) {
			if condition(pod) == corev1.ConditionFalse {
				now = now.Add(24 * time.Hour)
			}
			return u.Begin(pod, target, metadata, now)
		}}},
		{"earlier update forgotten", "its later batches never come", begin(func(pod *corev1.Pod) { delete(pod.Annotations, inplace.StateKey) })},
		{"later images forgotten", "they never come", begin(forget("nextContainerImages"))},
		{"records forgotten", "what is back at what it runs is waited for", begin(forget("daemonplanRecords"))},
		{"nothing waited for", "ready too early, and batches at once", advance(func(pod *corev1.Pod) {
			forget("lastContainerStatuses")(pod)
			forget("daemonplanRecords")(pod)
		})},
	}
	for _, m := range mutants {
		t.Run(m.name, func(t *testing.T) {
			generate := rapid.Custom(func(t *rapid.T) string { return violation(t, m.steps) })
			for seed := range 3000 {
				if text := generate.Example(seed); text != "" {
					t.Log(seed, text)
					return
				}
			}
			t.Errorf("the property accepts it, although %s", m.why)
		})
	}
}
