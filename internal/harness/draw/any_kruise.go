package draw

import (
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/internal/harness"
	"github.com/daemonplan/daemonplan/internal/kubelet"
	"github.com/daemonplan/daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/predownload"
	"github.com/daemonplan/daemonplan/rollout"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// The vocabulary of hooks: what they look for on pods.
const (
	deleteHook = "agent.io/delete"
	updateHook = "agent.io/update"
	normalHook = "agent.io/normal"
	hookOn     = "true"

	tierLabel = "tier"
)

// drawKruise draws what OpenKruise's Advanced DaemonSet adds, for about half of the specs.
func drawKruise(t *rapid.T, spec *rollout.Spec) {
	if !pick(t, "more than a DaemonSet", false, true) {
		return
	}
	drawTargets(t, spec)
	drawInPlace(t, spec)
	drawHooks(t, spec)
	drawPreDownload(t, spec)
}

func drawTargets(t *rapid.T, spec *rollout.Spec) {
	if partition := pick(t, "partition", "", "", "", "1", "2", "10%", "50%", "100%"); partition != "" {
		kit.Partition(partition)(spec)
	}
	if zone := pick(t, "update selector", "", "", "", "", "a", "b", "nowhere"); zone != "" {
		kit.StrategyNodeSelector(harness.ZoneLabel, zone)(spec)
	}
	spec.Strategy.PartitionedScaling = pick(t, "partitioned scaling", false, false, true)
	spec.Strategy.HoldRevision = pick(t, "hold revision", false, true)
}

func drawInPlace(t *rapid.T, spec *rollout.Spec) {
	for _, option := range pick(t, "template",
		nil, nil, nil,
		[]kit.SpecOption{kit.Requests(corev1.ResourceCPU, "200m")},
		[]kit.SpecOption{kit.Requests(corev1.ResourceCPU, "200m"), kit.Limits(corev1.ResourceMemory, "200Mi")},
		[]kit.SpecOption{kit.Requests(corev1.ResourceCPU, "200m"), objects.RestartToResize(corev1.ResourceCPU)},
		[]kit.SpecOption{kit.PodTemplateLabel(tierLabel, "new")},
		[]kit.SpecOption{kit.PodTemplateLabel(tierLabel, "new"), objects.EnvFromLabel("TIER", tierLabel)},
		[]kit.SpecOption{kit.PodTemplateAnnotation(tierLabel, "new"), kit.Env("LEVEL", "new")},
	) {
		option(spec)
	}
	switch pick(t, "method", "recreate", "if possible", "if possible", "if possible", "only") {
	case "if possible":
		kit.InPlaceIfPossible()(spec)
	case "only":
		kit.InPlaceOnly()(spec)
	default:
		return
	}
	spec.Strategy.InPlace = inplace.Options{
		Resize:             pick(t, "resize", true, false),
		EnvFromMetadata:    pick(t, "env from metadata", true, false),
		CgroupV1:           pick(t, "cgroup v1", false, false, true),
		GracePeriodSeconds: pick[int32](t, "grace period", 0, 0, grace, grace, 1),
		ServeOn:            pick(t, "serve on", nil, nil, nil, nil, []string{spec.Template.Spec.Containers[0].Name}),
	}
}

const grace = 10

func drawHooks(t *rapid.T, spec *rollout.Spec) {
	for _, h := range []struct {
		name, handler string
		set           func(lifecycle.Hook) kit.SpecOption
		carried       bool
	}{
		{"preDelete", deleteHook, kit.PreDeleteHook, true},
		{"inPlaceUpdate", updateHook, kit.InPlaceUpdateHook, true},
		{"preNormal", normalHook, kit.PreNormalHook, false},
	} {
		kinds := []string{"none", "none", "none", "label", "label", "finalizer", "both", "empty"}
		if h.handler == updateHook && objects.UpdatesInPlace(spec) {
			kinds = kinds[3:]
		}
		kind := pick(t, h.name, kinds...)
		if kind == "none" {
			continue
		}
		hook := lifecycle.Hook{MarkPodNotReady: pick(t, h.name+" marks", false, true)}
		if kind == "label" || kind == "both" {
			hook.Labels = map[string]string{h.handler: hookOn}
		}
		if kind == "finalizer" || kind == "both" {
			hook.Finalizers = []string{h.handler}
		}
		h.set(hook)(spec)
		if carried := pick(t, h.name+" carried", h.carried, h.carried, h.carried, !h.carried); !carried {
			continue
		}
		if len(hook.Labels) > 0 {
			kit.PodTemplateLabel(h.handler, hookOn)(spec)
		}
		if len(hook.Finalizers) > 0 {
			objects.PodTemplateFinalizer(h.handler)(spec)
		}
	}
}

func drawPreDownload(t *rapid.T, spec *rollout.Spec) {
	parallelism := pick(t, "parallelism", "", "", "1", "2", "50%", "0")
	if parallelism == "" {
		return
	}
	kit.PreDownload(parallelism)(spec)
	if ready := pick(t, "minUpdatedReadyPods", "", "", "1", "50%"); ready != "" {
		objects.MinUpdatedReadyPods(ready)(spec)
	}
	spec.PreDownload.TimeoutSeconds = pick[int32](t, "timeout", 0, 0, 5)
	if limit := pick[int32](t, "back-off limit", -1, 0, 1); limit >= 0 {
		spec.PreDownload.BackoffLimit = new(limit)
	}
}

// drawOld draws in what else than its image an older revision differs, for sets that update in place. Some of it can be
// taken in place and some not.
func drawOld(t *rapid.T, old *rollout.Spec) {
	image := old.Template.Spec.Containers[0].Image
	for _, option := range pick(t, "older by",
		nil, nil, nil,
		[]kit.SpecOption{kit.Requests(corev1.ResourceCPU, "100m")},
		[]kit.SpecOption{kit.Requests(corev1.ResourceCPU, "100m"), kit.Image(updateImage)},
		[]kit.SpecOption{kit.Limits(corev1.ResourceMemory, "100Mi"), kit.Image(updateImage)},
		[]kit.SpecOption{kit.PodTemplateLabel(tierLabel, "old")},
		[]kit.SpecOption{kit.PodTemplateLabel(tierLabel, "old")},
		[]kit.SpecOption{kit.PodTemplateLabel(tierLabel, "old"), kit.Image(updateImage)},
		[]kit.SpecOption{kit.PodTemplateAnnotation(tierLabel, "old"), kit.Image(updateImage)},
		[]kit.SpecOption{func(s *rollout.Spec) { s.Template.Spec.Containers[0].Resources = corev1.ResourceRequirements{} }},
		[]kit.SpecOption{kit.Env("LEVEL", image)},
		[]kit.SpecOption{kit.Env("LEVEL", image), kit.Image(updateImage)},
	) {
		option(old)
	}
}

// drawDress draws what a pod has of what the planner of the spec gives to new ones.
func (f *fleet) drawDress(t *rapid.T) kit.PodOption {
	whole := func(p *corev1.Pod) { objects.Dress(p, &f.spec) }
	if !harness.Kruise(&f.spec) {
		return whole // which gives nothing
	}
	return pick(t, "dress", whole, whole, whole, whole, whole, whole,
		func(*corev1.Pod) {}, // of the days before
		func(p *corev1.Pod) { // just admitted
			whole(p)
			p.Status.Conditions = slices.DeleteFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
				return c.Type != corev1.PodReady
			})
			p.Status.ContainerStatuses = nil
		},
	)
}

// drawMotion draws what hooks and in-place updates have begun on a pod, and what no controller would have written.
func (f *fleet) drawMotion(t *rapid.T) kit.PodOption {
	nothing := func(*corev1.Pod) {}
	if !harness.Kruise(&f.spec) {
		return nothing
	}
	moves := []bool{false, false, false, true}
	if f.messy {
		moves = moves[2:]
	}
	var options []kit.PodOption
	if pick(t, "in motion", moves...) {
		options = append(options, pick(t, "in place", f.inPlaceMotions()...))
	}
	if pick(t, "hooked", append(slices.Clone(moves), true)...) {
		options = append(options, pick(t, "hooks", f.hookMotions()...))
	}
	return func(p *corev1.Pod) {
		for _, option := range options {
			option(p)
		}
	}
}

// inPlaceMotions are in-place updates half done, and otherwise than anybody does them.
func (f *fleet) inPlaceMotions() []kit.PodOption {
	if !objects.UpdatesInPlace(&f.spec) {
		return []kit.PodOption{func(*corev1.Pod) {}}
	}
	second := kit.Noon().Add(-time.Second)
	closed := func(since time.Time) kit.PodOption {
		return func(p *corev1.Pod) {
			objects.Gated(lifecycle.InPlaceUpdateReady)(p)
			kubelet.SetCondition(p, lifecycle.InPlaceUpdateReady, corev1.ConditionFalse, since)
			kubelet.SetCondition(p, corev1.PodReady, corev1.ConditionFalse, since)
		}
	}
	then := func(options ...kit.PodOption) kit.PodOption {
		return func(p *corev1.Pod) {
			for _, option := range options {
				option(p)
			}
		}
	}
	updating := f.updatingTo(f.spec, second)
	older := f.updatingTo(f.old[0], second)
	return []kit.PodOption{
		// In the grace period.
		closed(second), closed(second), closed(second), closed(kit.Noon()), closed(kit.Noon().Add(-time.Minute)),
		closed(kit.Noon().Add(time.Minute)),
		updating, updating,
		then(updating, objects.Containers()), // complete, and nobody has said so
		then(updating, objects.Containers(), objects.Gated(lifecycle.InPlaceUpdateReady), kit.Ready(second)), // complete
		older,
		then(older, objects.Containers(), objects.Gated(lifecycle.InPlaceUpdateReady), kit.Ready(second)),
		f.inGracePeriod(f.spec, second),
		kit.PodAnnotation(inplace.StateKey, "{"),
		then(closed(second), kit.PodAnnotation(inplace.StateKey, `{"revision":7}`)),
		kit.PodAnnotation(inplace.GraceKey, "?"),
	}
}

// updatingTo leaves pods without a revision of the set alone: nobody updates those in place.
func (f *fleet) updatingTo(spec rollout.Spec, at time.Time) kit.PodOption {
	update := objects.UpdatingTo(spec, at)
	return func(p *corev1.Pod) {
		known := slices.Contains(f.hashes, p.Labels[appsv1.DefaultDaemonSetUniqueLabelKey])
		if known && p.Spec.NodeName != "" && !lifecycle.Terminal(p) {
			update(p)
		}
	}
}

// inGracePeriod is how OpenKruise keeps an update of images that is yet to come.
func (f *fleet) inGracePeriod(spec rollout.Spec, at time.Time) kit.PodOption {
	return func(p *corev1.Pod) {
		container := spec.Template.Spec.Containers[0]
		if p.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] != f.hashes[1] || p.Spec.NodeName == "" || lifecycle.Terminal(p) ||
			p.Spec.Containers[0].Image == container.Image {
			return
		}
		objects.MetadataOf(spec)(p)
		p.Spec.Containers = slices.Clone(p.Spec.Containers)
		if _, overridden := p.Annotations[placement.DigestAnnotation]; !overridden {
			p.Spec.Containers[0].Resources = *container.Resources.DeepCopy() // OpenKruise has more to come than images, we do not
		}
		kit.AtRevision(kit.Hash(spec))(p)
		stamp := at.UTC().Format(time.RFC3339)
		kit.PodAnnotation(inplace.StateKey, fmt.Sprintf(`{"revision":%q,"updateTimestamp":%q,"lastContainerStatuses":null}`,
			kit.Hash(spec), stamp))(p)
		kit.PodAnnotation(inplace.GraceKey, fmt.Sprintf(`{"revision":%q,"containerImages":{%q:%q},"graceSeconds":%d}`,
			kit.Hash(spec), container.Name, container.Image, grace))(p)
		objects.Gated(lifecycle.InPlaceUpdateReady)(p)
		kubelet.SetCondition(p, lifecycle.InPlaceUpdateReady, corev1.ConditionFalse, at)
		kubelet.SetCondition(p, corev1.PodReady, corev1.ConditionFalse, at)
	}
}

// hookMotions are pods in every state, with the handlers of all hooks on them or off.
func (f *fleet) hookMotions() []kit.PodOption {
	var list []kit.PodOption
	hooks := f.spec.Lifecycle
	for _, state := range []lifecycle.State{
		lifecycle.PreparingDelete, lifecycle.PreparingDelete, lifecycle.PreparingUpdate, lifecycle.PreparingUpdate,
		lifecycle.Updating, lifecycle.Updated, lifecycle.PreparingNormal, lifecycle.Normal, "Unheard",
	} {
		list = append(list, objects.InState(state), func(p *corev1.Pod) {
			objects.InState(state)(p)
			for _, hook := range []*lifecycle.Hook{hooks.PreDelete, hooks.InPlaceUpdate, hooks.PreNormal} {
				takeOff(p, hook)
			}
		})
	}
	if objects.UpdatesInPlace(&f.spec) && hooks.InPlaceUpdate != nil {
		wait := func(p *corev1.Pod) { // as its template has it, before anybody has done anything about it
			objects.InState(lifecycle.PreparingUpdate)(p)
			for key, value := range hooks.InPlaceUpdate.Labels {
				kit.PodLabel(key, value)(p)
			}
		}
		list = append(list, wait, wait, wait, wait, wait, wait, wait, wait, wait, wait, wait, wait, wait, wait, wait, wait)
	}
	if !hooks.MarksNotReady() {
		return list
	}
	if hook := hooks.PreNormal; hook != nil && hook.MarkPodNotReady {
		fresh := func(p *corev1.Pod) { // marked, and waiting for whoever puts the handlers on it
			takeOff(p, hook)
			objects.InState(lifecycle.PreparingNormal)(p)
			objects.MarkedNotReady(lifecycle.Message{UserAgent: "Lifecycle", Key: "preNormalHook"})(p)
		}
		list = append(list, fresh, fresh, fresh)
	}
	return append(list,
		objects.MarkedNotReady(lifecycle.Message{UserAgent: "Lifecycle", Key: "preDeleteHook"}),
		objects.MarkedNotReady(
			lifecycle.Message{UserAgent: "Lifecycle", Key: "preUpdateHook"}, lifecycle.Message{UserAgent: "other"}),
		objects.MarkedNotReady(lifecycle.Message{UserAgent: "other", Key: "x"}),
		func(p *corev1.Pod) {
			objects.MarkedNotReady()(p)
			p.Status.Conditions[slices.IndexFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
				return c.Type == lifecycle.PodReady
			})].Message = "because"
		},
	)
}

// takeOff removes the handlers of a hook from the pod.
func takeOff(p *corev1.Pod, hook *lifecycle.Hook) {
	if hook == nil {
		return
	}
	for key := range hook.Labels {
		delete(p.Labels, key)
	}
	handled := func(f string) bool { return slices.Contains(hook.Finalizers, f) }
	p.Finalizers = slices.DeleteFunc(slices.Clone(p.Finalizers), handled)
}

// drawImages draws which images a node reports.
func (f *fleet) drawImages(t *rapid.T) []kit.NodeOption {
	if f.spec.PreDownload == nil {
		return nil
	}
	return pick(t, "images", nil, nil, nil, []kit.NodeOption{kit.Images(updateImage)},
		[]kit.NodeOption{kit.Images("docker.io/library/" + updateImage)}, []kit.NodeOption{kit.Images("agent:v2", "other:v3")})
}

// drawPulls draws pulls in flight and pulls that failed.
func (f *fleet) drawPulls(t *rapid.T, snapshot *rollout.Snapshot) {
	if f.spec.PreDownload == nil {
		return
	}
	nodes := []string{vanishedNode}
	for _, n := range f.nodes {
		nodes = append(nodes, n.Name)
	}
	images := []string{updateImage, "docker.io/library/" + updateImage, "other:v1"}
	snapshot.InFlight.Pulls = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) predownload.Request {
		return predownload.Request{Node: pick(t, "node", nodes...), Image: pick(t, "image", images...)}
	}), 0, 2).Draw(t, "pulls")
	snapshot.FailedPulls = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) predownload.Failure {
		return predownload.Failure{
			Node: pick(t, "node", nodes...), Image: pick(t, "image", images...), Count: pick[int32](t, "count", 1, 2, 5, 0),
			At: kit.Noon().Add(-pick(t, "ago", time.Second, time.Minute, time.Hour, -time.Minute)),
		}
	}), 0, 3).Draw(t, "failed pulls")
}
