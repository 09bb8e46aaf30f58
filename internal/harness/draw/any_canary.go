package draw

import (
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/daemonplan/daemonplan/internal/harness"
	"github.com/daemonplan/daemonplan/internal/kubelet"
	"github.com/daemonplan/daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/history"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// AnyCanaryCase generates specs as [AnyCanarySpec] does, each with a snapshot as [AnySnapshot] draws it.
func AnyCanaryCase(options ...kit.SpecOption) *rapid.Generator[harness.Case] {
	return rapid.Custom(func(t *rapid.T) harness.Case {
		spec := AnyCanarySpec(options...).Draw(t, "spec")
		return harness.Case{Spec: spec, Snapshot: AnySnapshot(spec).Draw(t, "snapshot")}
	})
}

// AnyCanarySpec generates specs as [AnySpec] does with what the Datadog ExtendedDaemonSet adds: most of them with a canary,
// of all options and commands, stale ones too; some with slow start, maxUnschedulable, and overrides, also such that
// conflict or mean nothing. The options are applied to what was drawn. OnDelete turns the canary off (C7),
// and a timeout that is too short for the duration is dropped.
func AnyCanarySpec(options ...kit.SpecOption) *rapid.Generator[rollout.Spec] {
	return rapid.Custom(func(t *rapid.T) rollout.Spec {
		spec := AnySpec().Draw(t, "plain spec")
		if pick(t, "canary", true, true, true, false) {
			drawn := AnyCanary(kit.Hash(spec)).Draw(t, "canary options")
			spec.Strategy.Canary = &drawn
		}
		drawSlowStart(t, &spec)
		if quantity := pick(t, "maxUnschedulable", "", "", "1", "2", "30%", "100%", "0"); quantity != "" {
			kit.MaxUnschedulable(quantity)(&spec)
		}
		drawOverrides(t, &spec)
		for _, option := range options {
			option(&spec)
		}
		if spec.Strategy.MaxSurge != nil {
			spec.Strategy.Method = ""
		}
		if spec.Strategy.Type == rollout.OnDelete {
			spec.Strategy.Canary = nil
		}
		dropTimeout(&spec)
		return spec
	})
}

// AnyCanary generates valid options of canaries of the set "agent". Commands are for the revision of the given hash, by
// hash or by name, for any, or for another one.
func AnyCanary(hash string) *rapid.Generator[canary.Options] {
	return rapid.Custom(func(t *rapid.T) canary.Options {
		var spec rollout.Spec
		kit.Canary(pick(t, "replicas", "1", "1", "2", "3", "20", "1%", "10%", "50%", "100%"))(&spec)
		if pick(t, "default replicas", false, false, true) {
			spec.Strategy.Canary.Replicas = nil
		}
		for _, option := range pick(t, "canary nodes",
			nil, nil, nil, nil,
			[]kit.SpecOption{kit.CanaryOn(harness.ZoneLabel, "a")},
			[]kit.SpecOption{kit.CanaryOn(harness.ZoneLabel, "nowhere")},
			[]kit.SpecOption{kit.CanarySpread(harness.ZoneLabel)},
			[]kit.SpecOption{kit.CanarySpread(harness.ZoneLabel, corev1.LabelHostname)},
			[]kit.SpecOption{kit.CanaryOn(harness.ZoneLabel, "a"), kit.CanarySpread("unheard")},
		) {
			option(&spec)
		}
		longest := canary.DefaultDuration
		switch pick(t, "mode", "default", "default", "auto", "auto", "manual") {
		case "auto":
			longest = pick(t, "duration", 0, time.Second, time.Minute, 30*time.Minute)
			kit.CanaryFor(longest, pick(t, "no restarts", 0, time.Second, time.Minute, time.Hour))(&spec)
		case "manual":
			kit.CanaryManual()(&spec)
		}
		drawAutoPause(t, &spec)
		drawAutoFail(t, &spec, longest)
		kit.Command(drawCommands(t, hash))(&spec)
		return *spec.Strategy.Canary
	})
}

func drawAutoPause(t *rapid.T, spec *rollout.Spec) {
	pause := canary.AutoPause{Disabled: pick(t, "no auto-pause", false, false, false, true)}
	if restarts := pick[int32](t, "restarts to pause", -1, -1, 0, 1, 3); restarts >= 0 {
		pause.MaxRestarts = new(restarts)
	}
	if slow := pick[time.Duration](t, "slow start", -1, 0, time.Minute, 10*time.Minute); slow >= 0 {
		pause.MaxSlowStartDuration = new(slow)
	}
	kit.AutoPause(pause)(spec)
}

// drawAutoFail keeps to C7: no fewer restarts than those that pause, and more time than the duration.
func drawAutoFail(t *rapid.T, spec *rollout.Spec, duration time.Duration) {
	fail := canary.AutoFail{Disabled: pick(t, "no auto-fail", false, false, false, true)}
	least := int32(canary.DefaultAutoPauseMaxRestarts)
	if set := spec.Strategy.Canary.AutoPause.MaxRestarts; set != nil {
		least = *set
	}
	if more := pick[int32](t, "more restarts to fail", -1, -1, 0, 1, 5); more >= 0 {
		fail.MaxRestarts = new(least + more)
	}
	if goOn := pick[time.Duration](t, "restarts go on", -1, 0, time.Minute, time.Hour); goOn >= 0 {
		fail.MaxRestartsDuration = new(goOn)
	}
	if longer := pick(t, "timeout", 0, 0, 1, time.Minute, time.Hour); longer > 0 {
		fail.CanaryTimeout = new(duration + longer)
	}
	kit.AutoFail(fail)(spec)
}

// dropTimeout takes a timeout back that options have made too short (C7).
func dropTimeout(spec *rollout.Spec) {
	if spec.Strategy.Canary == nil {
		return
	}
	o := spec.Strategy.Canary.Default()
	if timeout := o.AutoFail.CanaryTimeout; timeout != nil && o.Duration != nil && *timeout <= *o.Duration {
		o := *spec.Strategy.Canary
		o.AutoFail.CanaryTimeout = nil
		spec.Strategy.Canary = &o
	}
}

func drawCommands(t *rapid.T, hash string) canary.Commands {
	var c canary.Commands
	if !pick(t, "commands", false, false, true) {
		return c
	}
	whom := []string{"", "", "", "", hash, setName + "-" + hash, canary.Any, "5f46b89dcc"}
	c.Pause = pick(t, "pause", whom...)
	c.Unpause = pick(t, "unpause", whom...)
	c.Validate = pick(t, "validate", whom...)
	c.Fail = pick(t, "fail", whom...)
	if c.Retry = pick(t, "retry", whom...); c.Retry != "" {
		c.Retry += pick(t, "again", "", "/2")
	}
	return c
}

func drawSlowStart(t *rapid.T, spec *rollout.Spec) {
	interval := pick[time.Duration](t, "slow start interval", -1, -1, -1, 0, time.Second, time.Minute)
	if interval < 0 {
		return
	}
	kit.SlowStart(interval, pick(t, "increase", "1", "2", "10%", "1%"), pick(t, "maxParallel", "1", "3", "50%", "250"))(spec)
	if pick(t, "slow start defaults", false, true) {
		spec.Strategy.SlowStart.Increase, spec.Strategy.SlowStart.MaxParallel = nil, nil
	}
}

func drawOverrides(t *rapid.T, spec *rollout.Spec) {
	if !pick(t, "overrides", false, false, true) {
		return
	}
	// Requests that the API server would default, and some that no container asks for in its template.
	amounts := func(name corev1.ResourceName, quantity string) corev1.ResourceRequirements {
		return corev1.ResourceRequirements{Requests: corev1.ResourceList{name: resource.MustParse(quantity)}}
	}
	everywhere := metav1.LabelSelector{}
	main := objects.MainContainer
	inZone := metav1.LabelSelector{MatchLabels: map[string]string{harness.ZoneLabel: "a"}}
	for i := range pick(t, "number of overrides", 1, 1, 2, 3) {
		spec.Overrides = append(spec.Overrides, placement.Override{
			Name:         letters(i),
			Created:      kit.Noon().Add(-pick(t, "override made", time.Hour, time.Hour, time.Minute)),
			NodeSelector: pick(t, "override where", inZone, everywhere),
			Containers: map[string]corev1.ResourceRequirements{
				pick(t, "container", main, main, main, "unheard"): pick(t, "amounts",
					amounts(corev1.ResourceCPU, "300m"), amounts(corev1.ResourceMemory, "300Mi"), corev1.ResourceRequirements{}),
			},
		})
	}
}

// drawNodeOverride draws annotations that override resources, also such that cannot be read.
func (f *fleet) drawNodeOverride(t *rapid.T) []kit.NodeOption {
	if !harness.Canarying(&f.spec) {
		return nil
	}
	return pick(t, "node override",
		nil, nil, nil, nil, nil,
		[]kit.NodeOption{kit.ResourcesFor(f.spec, objects.MainContainer, `{"requests":{"cpu":"400m"}}`)},
		[]kit.NodeOption{kit.ResourcesFor(f.spec, objects.MainContainer, `{}`)},
		[]kit.NodeOption{kit.ResourcesFor(f.spec, objects.MainContainer, `{"requests":`)},
		[]kit.NodeOption{kit.ResourcesFor(f.spec, "unheard", `{"requests":{"cpu":"400m"}}`)},
	)
}

// resourcesKind says whose resources a pod has.
type resourcesKind uint8

const (
	resourcesWanted resourcesKind = iota // those of its node
	resourcesPlain                       // those of its template
	resourcesOther                       // of an override that is gone
)

func (f *fleet) drawResources(t *rapid.T) resourcesKind {
	if !harness.Canarying(&f.spec) {
		return resourcesPlain
	}
	return pick(t, "resources",
		resourcesWanted, resourcesWanted, resourcesWanted, resourcesWanted, resourcesPlain, resourcesOther)
}

// giveResources overrides the resources of a pod that is to be on the node.
func (f *fleet) giveResources(kind resourcesKind, node string, p *corev1.Pod) {
	at := slices.IndexFunc(f.nodes, func(n *corev1.Node) bool { return n.Name == node })
	switch {
	case kind == resourcesWanted && at >= 0:
		objects.Effect(&f.spec, f.templateOf(p), f.nodes[at]).Apply(p)
	case kind == resourcesOther && len(p.Spec.Containers) > 0:
		gone := []placement.Resources{{Container: p.Spec.Containers[0].Name, Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("500m")},
		}, Source: "gone"}}
		placement.Overridden{Resources: gone, Digest: placement.Digest(gone)}.Apply(p)
	}
}

// drawTrial draws by what a canary is judged, and what the label says of it.
func (f *fleet) drawTrial(t *rapid.T) kit.PodOption {
	if !harness.Canarying(&f.spec) {
		return func(*corev1.Pod) {}
	}
	var options []kit.PodOption
	ago := func(d time.Duration) time.Time { return kit.Noon().Add(-d) }
	nothing := []kit.PodOption(nil)
	options = append(options, pick(t, "trouble",
		nothing, nothing, nothing, nothing, nothing, nothing,
		[]kit.PodOption{kit.Restarted(1, ago(time.Hour), "OOMKilled")},
		[]kit.PodOption{kit.Restarted(1, ago(time.Minute), "OOMKilled")},
		[]kit.PodOption{kit.Restarted(2, ago(4*time.Minute), "Error")},
		[]kit.PodOption{kit.Restarted(3, ago(time.Minute), "Error")},
		[]kit.PodOption{kit.Restarted(9, ago(time.Second), "OOMKilled")},
		[]kit.PodOption{kit.Restarted(1, ago(-time.Minute), "Error")}, // by a clock that is ahead
		[]kit.PodOption{kit.Restarted(3, ago(time.Minute), "Error"), kit.WaitingFor(kubelet.CrashLoopBackOff)},
		[]kit.PodOption{kit.WaitingFor(kubelet.ErrImagePull)},
		[]kit.PodOption{kit.WaitingFor(kubelet.ImagePullBackOff)},
		[]kit.PodOption{kit.WaitingFor("InvalidImageName")},
		[]kit.PodOption{kit.WaitingFor("CreateContainerConfigError")},
		[]kit.PodOption{kit.WaitingFor(kubelet.ContainerCreating)},
		[]kit.PodOption{kit.WaitingFor(kubelet.ContainerCreating), objects.StartedAt(ago(time.Hour))},
		[]kit.PodOption{kit.WaitingFor(kubelet.ContainerCreating), objects.StartedAt(ago(time.Hour))},
		[]kit.PodOption{objects.Evicted(ago(time.Minute))},
		[]kit.PodOption{f.unscheduled(ago(time.Minute))},
	)...)
	if started := pick[time.Duration](t, "started", 0, 0, time.Hour, time.Minute, time.Second); started > 0 {
		options = append(options, objects.StartedAt(ago(started)))
	}
	if value := pick(t, "canary label", "", "", "", "true", "other"); value != "" {
		options = append(options, kit.PodLabel(rollout.CanaryLabel, value))
	}
	return func(p *corev1.Pod) {
		for _, option := range options {
			option(p)
		}
	}
}

// unscheduled leaves bound pods alone: they have been scheduled.
func (f *fleet) unscheduled(since time.Time) kit.PodOption {
	return func(p *corev1.Pod) {
		if p.Spec.NodeName == "" {
			kubelet.Unschedulable(p, "", since)
		}
	}
}

// drawMarks draws verdicts on the revisions of the set (C6).
func (f *fleet) drawMarks(t *rapid.T, revisions []*appsv1.ControllerRevision) []*appsv1.ControllerRevision {
	if !harness.Canarying(&f.spec) {
		return revisions
	}
	promoted := map[string]string{history.PromotedAnnotation: "2026-01-01T10:00:00Z"}
	failed := map[string]string{
		history.FailedAnnotation: canary.TooManyRestarts.String(), history.FailedMessageAnnotation: "so they say",
	}
	none := map[string]string(nil)
	marked := make([]*appsv1.ControllerRevision, len(revisions))
	for i, r := range revisions {
		marks := []map[string]string{none, none, promoted, failed}
		if history.HashOf(r) == f.hashes[0] {
			marks = []map[string]string{
				none, none, none, none, none, promoted, failed,
				{history.FailedAnnotation: "because"},
				{history.FailedAnnotation: canary.TimedOut.String(), history.RetriedAnnotation: f.hashes[0]},
				{history.FailedAnnotation: canary.TimedOut.String(), history.PromotedAnnotation: "?"},
				{history.RetriedAnnotation: canary.Any},
			}
		} else if i%2 == 0 {
			marks = []map[string]string{none, promoted, promoted}
		}
		marked[i] = objects.Marked(r, pick(t, "marks", marks...))
	}
	return marked
}

// updated are the first nodes with a pod of the update revision.
func (f *fleet) updated(most int) []string {
	var nodes []string
	for _, p := range f.pods {
		node, ok := placement.TargetNode(p)
		if ok && objects.RevisionOf(p) == f.hashes[0] && !slices.Contains(nodes, node) && len(nodes) < most {
			nodes = append(nodes, node)
		}
	}
	return nodes
}

// drawRecord draws what an earlier plan could remember of a canary, and what none of this library would.
func (f *fleet) drawRecord(t *rapid.T, m *rollout.Memory) {
	if !harness.Canarying(&f.spec) || !pick(t, "canary record", false, true, true) {
		return
	}
	m.Version = max(m.Version, rollout.MemoryVersion)
	ago := func(label string, choices ...time.Duration) time.Time {
		d := pick(t, label, choices...)
		if d == 0 {
			return time.Time{}
		}
		return kit.Noon().Add(-d)
	}
	names := []string{vanishedNode}
	for _, n := range f.nodes {
		names = append(names, n.Name)
	}
	r := canary.Record{
		Revision: pick(t, "on trial", f.hashes[0], f.hashes[0], f.hashes[0], f.hashes[1], "", "5f46b89dcc"),
		Began:    ago("began", 20*time.Minute, time.Minute, 2*time.Hour, 0, -time.Hour),
		Elapsed:  pick(t, "elapsed", 0, 0, time.Minute, 9*time.Minute, 10*time.Minute, 40*time.Minute, -time.Minute),
		Since:    ago("since", time.Minute, time.Minute, time.Second, 0, -time.Hour),
	}
	r.Nodes = rapid.SliceOfN(rapid.SampledFrom(names), 0, 3).Draw(t, "canary nodes")
	if pick(t, "canary nodes by their pods", true, true, false) {
		r.Nodes = f.updated(3)
	}
	slices.Sort(r.Nodes)
	r.Disturbed = ago("disturbed", 0, time.Second, time.Minute, 30*time.Minute, -time.Hour)
	r.Restarting = ago("restarting", 0, 0, time.Minute, 2*time.Hour, 2*time.Hour, -time.Hour)
	if f.messy {
		finding := func(label string) *canary.Finding {
			return pick(t, label, nil, nil, nil, nil,
				&canary.Finding{Phase: canary.Paused, Reason: canary.CannotStart, Node: letters(0), At: objects.HourAgo().Time},
				&canary.Finding{Phase: canary.Failed, Reason: canary.TimedOut, At: objects.HourAgo().Time},
				&canary.Finding{Phase: canary.Idle, Reason: canary.Promoted, At: objects.HourAgo().Time},
				&canary.Finding{Phase: 77, Reason: 99},
			)
		}
		r.Pause, r.Verdict = finding("pause"), finding("verdict")
	} else {
		r.Nodes = slices.Compact(r.Nodes)
	}
	if pick(t, "nearly over", false, false, true) { // the clock has run, and the canary nodes are those that have the revision
		r = canary.Record{
			Revision: f.hashes[0], Began: kit.Noon().Add(-2 * time.Hour), Nodes: f.updated(maxNodes),
			Elapsed: time.Hour, Since: kit.Noon().Add(-time.Minute), Disturbed: r.Disturbed,
			Restarting: r.Restarting, Restarted: pick(t, "restarted", time.Time{}, kit.Noon().Add(-time.Second)),
		}
		slices.Sort(r.Nodes)
	}
	m.Canary = r
	m.Rollout.Stable = pick(t, "remembered stable", "", f.hashes[1], f.hashes[0], "5f46b89dcc")
	m.Rollout.Paused = pick(t, "paused for", 0, 0, time.Minute, -time.Minute)
	m.Rollout.PausedSince = ago("paused since", 0, 0, time.Minute, -time.Hour)
}
