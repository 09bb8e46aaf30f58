package draw

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/daemonplan/daemonplan/internal/harness"
	"github.com/daemonplan/daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// AnyCase generates specs as [AnySpec] does, each with a snapshot as [AnySnapshot] draws it.
func AnyCase(options ...kit.SpecOption) *rapid.Generator[harness.Case] {
	return rapid.Custom(func(t *rapid.T) harness.Case {
		spec := AnySpec(options...).Draw(t, "spec")
		return harness.Case{Spec: spec, Snapshot: AnySnapshot(spec).Draw(t, "snapshot")}
	})
}

// AnySnapshot generates snapshots at [kit.Noon] that keep the contract of [rollout.Snapshot], however unlikely a live
// cluster is to show them: up to 40 nodes with labels, taints of every effect, cordoned, not ready and unreachable
// ones; on each any number of pods of the update revision, of older, unknown or no revision, in every phase,
// terminating or not, Ready since long ago, since exactly minReadySeconds, since now or since a later instant, bound
// or only pinned; pods of nodes that are gone and of no node at all; revisions with duplicates, name collisions,
// unreadable data and a long history; requests in flight and the memory of other days.
//
// About half of them are calm: one pod per node, of the update revision or of an older one, most of them healthy.
// Empty ones are drawn as well. They shrink to few nodes named "a", "b", … with one healthy updated pod each.
//
// If the spec has what OpenKruise's Advanced DaemonSet adds, pods come with and without readiness gates, in every state of
// their hooks with the handlers on them or off, with in-place updates half done, complete, unreadable, or in the grace
// period of OpenKruise; nodes report images, and pulls are in flight or failed. Pods are what their revision says, or what
// is under way: none carries the hash of a revision whose images it does not have.
//
// If the spec has what the Datadog ExtendedDaemonSet adds, revisions are marked as promoted or failed, nodes have
// annotations that override resources, some of them malformed, pods have the resources of their node, of their template or
// of an override that is gone, have restarted, wait for one reason or another, or are unschedulable, and a canary is
// remembered, well or badly.
//
// If the spec has a policy for outages, nodes are down or departing, by every sign, since before the pods there were created, in
// the same second, or since later, and pods have been started or not.
//
// The spec must be valid. Older revisions have its template with the image agent:v2, agent:v1 or agent:v0, and differ in
// resources, labels, annotations or environment too if the spec updates in place.
func AnySnapshot(spec rollout.Spec) *rapid.Generator[rollout.Snapshot] {
	return rapid.Custom(func(t *rapid.T) rollout.Snapshot {
		f := newFleet(t, spec)
		f.messy = pick(t, "messy", false, true)
		fewest := pick(t, "fewest nodes", 1, 1, 1, 1, 1, 8, 0)
		f.settle(pick(t, "node names", letters, plainNumbers, longNumbers),
			rapid.SliceOfN(f.anyNode(), fewest, maxNodes).Draw(t, "nodes"))
		if f.messy {
			f.stray(rapid.SliceOfN(f.anyStray(), 0, 3).Draw(t, "strays"))
		}
		snapshot := rollout.Snapshot{Now: kit.Noon(), Nodes: f.nodes, Pods: f.pods, Revisions: f.drawMarks(t, f.drawRevisions(t))}
		if f.messy {
			snapshot.InFlight = f.drawInFlight(t)
			snapshot.Memory = f.drawMemory(t)
			f.drawPulls(t, &snapshot)
		}
		f.drawRecord(t, &snapshot.Memory)
		if pick(t, "reversed", false, true) {
			slices.Reverse(snapshot.Nodes)
			slices.Reverse(snapshot.Pods)
			slices.Reverse(snapshot.Revisions)
		}
		if f.messy {
			snapshot.InFlight.Refused = f.drawRefused(t)
		}
		return snapshot
	})
}

const (
	maxNodes       = 40
	olderRevisions = 2
)

// fleet is one snapshot while it is drawn.
type fleet struct {
	spec   rollout.Spec
	old    []rollout.Spec // with the same identity and other templates, the newest first
	hashes []string       // of spec, then of old
	messy  bool
	nodes  []*corev1.Node
	pods   []*corev1.Pod
}

func newFleet(t *rapid.T, spec rollout.Spec) *fleet {
	f := &fleet{spec: spec, hashes: []string{kit.Hash(spec)}}
	for i, image := range []string{"agent:v2", "agent:v1", "agent:v0", "agent:v0.0", "agent:v0.1", "agent:v0.2"} {
		old := spec
		old.Template = *spec.Template.DeepCopy()
		kit.Image(image)(&old)
		if objects.UpdatesInPlace(&spec) && i < olderRevisions {
			drawOld(t, &old)
		}
		if placement.Features(&spec.Template.Spec) != nil && i < olderRevisions && pick(t, "needed nothing", true, false) {
			old.Template.Spec.HostUsers = nil
		}
		// The spec itself may have one of these images; an invalid one has no hash at all.
		if hash := kit.Hash(old); (hash == "" || !slices.Contains(f.hashes, hash)) && len(f.old) < olderRevisions {
			f.old = append(f.old, old)
			f.hashes = append(f.hashes, hash)
		}
	}
	return f
}

// drawnNode and drawnPod have no names yet: they get them by position, so that leaving one out shrinks well.
type drawnNode struct {
	options []kit.NodeOption
	pods    []drawnPod
}

type drawnPod struct {
	where   func(node string) kit.PodOption
	options []kit.PodOption
	// revision is the hash, or whatever says which revision the pod is of; dress, motion, trial and start are for after the
	// options.
	revision, dress, motion, trial, start kit.PodOption
	resources                             resourcesKind
}

// settle names the nodes and puts the pods on them.
func (f *fleet) settle(nodeName func(int) string, nodes []drawnNode) {
	for i, n := range nodes {
		name := nodeName(i)
		f.nodes = append(f.nodes, kit.Node(name, n.options...))
		f.place(name, n.pods)
	}
}

// stray puts pods on a node that does not exist.
func (f *fleet) stray(pods []drawnPod) { f.place(vanishedNode, pods) }

func (f *fleet) place(node string, pods []drawnPod) {
	for _, p := range pods {
		pod := kit.Pod(fmt.Sprintf("%s-%s-%d", f.spec.Name, node, len(f.pods)), kit.ControlledBy(f.spec))
		p.revision(pod)
		template := f.templateOf(pod).DeepCopy()
		pod.Labels, pod.Annotations, pod.Finalizers = template.Labels, template.Annotations, template.Finalizers
		pod.Spec.Containers = template.Spec.Containers
		pod.Spec.Tolerations = template.Spec.Tolerations
		p.revision(pod)
		f.giveResources(p.resources, node, pod)
		p.dress(pod)
		p.where(node)(pod)
		for _, option := range p.options {
			option(pod)
		}
		p.motion(pod)
		p.trial(pod)
		p.start(pod)
		f.pods = append(f.pods, pod)
	}
}

// templateOf is the template that a pod was made from, as its labels say. Nobody knows of unknown revisions.
func (f *fleet) templateOf(p *corev1.Pod) *corev1.PodTemplateSpec {
	hash, labelled := p.Labels[appsv1.DefaultDaemonSetUniqueLabelKey]
	_, byGeneration := p.Labels[rollout.TemplateGenerationLabel]
	switch at := slices.Index(f.hashes, hash); {
	case hash == duplicateHash || !labelled && byGeneration:
		return &f.spec.Template
	case at > 0:
		return &f.old[at-1].Template
	case at < 0 && hash == oldHash(0):
		return ancientTemplate(f.old[0], 0)
	case at < 0:
		return &f.old[len(f.old)-1].Template
	}
	return &f.spec.Template
}

// letters names nodes a, b, … z, ba, bb, …
func letters(i int) string {
	name := string(rune('a' + i%26))
	if i < 26 {
		return name
	}
	return letters(i/26) + name
}

// plainNumbers gives names whose order is not that of their numbers.
func plainNumbers(i int) string { return "node-" + strconv.Itoa(i) }

// longNumbers gives names that differ only after more than eight equal bytes.
func longNumbers(i int) string { return fmt.Sprintf("worker-pool-eu-west-%02d.internal", i) }

const vanishedNode = "vanished"

func (f *fleet) anyNode() *rapid.Generator[drawnNode] {
	taints := [][]kit.NodeOption{
		nil, nil, nil, nil, nil, nil,
		{kit.Taint(harness.TaintKey, "x", corev1.TaintEffectNoSchedule)},
		{kit.Taint(harness.TaintKey, "x", corev1.TaintEffectNoExecute)},
		{kit.Taint(harness.TaintKey, "x", corev1.TaintEffectPreferNoSchedule)},
		{kit.Taint(harness.TaintKey, "x", "Unheard")},
		{kit.Cordoned()},
		{kit.NotReady()},
		{kit.Unreachable()},
		{kit.Cordoned(), kit.Taint(harness.TaintKey, "", corev1.TaintEffectNoSchedule)},
	}
	return rapid.Custom(func(t *rapid.T) drawnNode {
		n := drawnNode{options: []kit.NodeOption{kit.Label(harness.ZoneLabel, pick(t, "zone", "a", "a", "a", "b", "c"))}}
		if f.messy || pick(t, "special", false, false, false, true) {
			n.options = append(n.options, pick(t, "taints", taints...)...)
		}
		n.options = append(n.options, f.drawFeatures(t)...)
		n.options = append(n.options, f.drawImages(t)...)
		n.options = append(n.options, f.drawNodeOverride(t)...)
		n.options = append(n.options, f.drawOutage(t)...)
		if f.messy {
			n.pods = rapid.SliceOfN(f.anyPod(), 0, 4).Draw(t, "pods")
		} else {
			n.pods = rapid.SliceOfN(f.anyCalmPod(), pick(t, "at least", 1, 1, 1, 0), 1).Draw(t, "pods")
		}
		return n
	})
}

// drawFeatures draws whether a node declares what the pods need, if they need anything that has to be declared.
func (f *fleet) drawFeatures(t *rapid.T) []kit.NodeOption {
	features := placement.Features(&f.spec.Template.Spec)
	if features == nil || pick(t, "declares", false, true) {
		return nil
	}
	return []kit.NodeOption{kit.Kubelet("v1.37.2", features...)}
}

// anyCalmPod generates the pod of a node in an ordinary rollout.
func (f *fleet) anyCalmPod() *rapid.Generator[drawnPod] {
	healthy := kit.Ready(objects.HourAgo().Time)
	return rapid.Custom(func(t *rapid.T) drawnPod {
		return drawnPod{
			where: kit.OnNode, revision: kit.AtRevision(pick(t, "revision", f.hashes[0], f.hashes[1])),
			options: []kit.PodOption{
				pick(t, "life", healthy, healthy, healthy, healthy, kit.Unready(), kit.Ready(kit.Noon()), kit.Failed()),
			},
			dress: f.drawDress(t), motion: f.drawMotion(t), trial: f.drawTrial(t), start: f.drawStart(t),
			resources: f.drawResources(t),
		}
	})
}

// anyPod generates any pod of a node.
func (f *fleet) anyPod() *rapid.Generator[drawnPod] {
	refused := func(node string) kit.PodOption { // by the scheduler
		return func(p *corev1.Pod) {
			kit.Pending()(p)
			kit.Unscheduled(node, kit.Noon().Add(-time.Minute))(p)
		}
	}
	return f.anyPodAt(kit.OnNode, kit.OnNode, kit.OnNode, kit.PinnedTo, refused)
}

// anyStray generates a pod of a node that is gone, or that belongs to no node (P7).
func (f *fleet) anyStray() *rapid.Generator[drawnPod] {
	return f.anyPodAt(kit.OnNode, kit.PinnedTo, pinnedToTwo, func(string) kit.PodOption { return func(*corev1.Pod) {} })
}

func (f *fleet) anyPodAt(wheres ...func(string) kit.PodOption) *rapid.Generator[drawnPod] {
	unmarked := func(*corev1.Pod) {}
	return rapid.Custom(func(t *rapid.T) drawnPod {
		return drawnPod{
			where: pick(t, "where", wheres...), revision: f.drawRevision(t),
			options: []kit.PodOption{
				f.drawLife(t),
				kit.Created(kit.Noon().Add(-pick(t, "age", time.Hour, time.Minute, 2*time.Hour))),
				pick(t, "mark", unmarked, unmarked, unmarked, unmarked, kit.Terminating(kit.Noon().Add(-time.Second))),
			},
			dress: f.drawDress(t), motion: f.drawMotion(t), trial: f.drawTrial(t), start: f.drawStart(t),
			resources: f.drawResources(t),
		}
	})
}

// pinnedToTwo pins the pod to two nodes, so that it is attributable to neither (P7).
func pinnedToTwo(node string) kit.PodOption {
	return func(p *corev1.Pod) {
		kit.PinnedTo(node)(p)
		objects.RequiredAffinity(&p.Spec).NodeSelectorTerms[0].MatchFields[0].Values = []string{node, letters(0)}
	}
}

func (f *fleet) drawRevision(t *rapid.T) kit.PodOption {
	unlabelled := func(*corev1.Pod) {}
	generation := kit.PodLabel(rollout.TemplateGenerationLabel, strconv.Itoa(podGeneration))
	return pick(t, "revision",
		kit.AtRevision(f.hashes[0]), kit.AtRevision(f.hashes[0]), kit.AtRevision(f.hashes[0]), kit.AtRevision(f.hashes[1]),
		kit.AtRevision(f.hashes[1]), kit.AtRevision(f.hashes[1]), kit.AtRevision(f.hashes[2]), kit.AtRevision(duplicateHash),
		kit.AtRevision(oldHash(0)), kit.AtRevision("5f46b89dcc"), kit.AtRevision(""), unlabelled, generation,
		func(p *corev1.Pod) { generation(p); kit.AtRevision(f.hashes[1])(p) },
	)
}

// drawLife draws phase and readiness, around the edges of B5.
func (f *fleet) drawLife(t *rapid.T) kit.PodOption {
	edge := kit.Noon().Add(-time.Duration(f.spec.MinReadySeconds) * time.Second)
	keep := func(*corev1.Pod) {}
	phase := func(phase corev1.PodPhase) kit.PodOption {
		return func(p *corev1.Pod) { p.Status.Phase = phase }
	}
	return pick(t, "life",
		keep, keep, keep, keep, keep, kit.Unready(), kit.Unready(),
		kit.Ready(edge), kit.Ready(edge.Add(1)), kit.Ready(edge.Add(-1)), kit.Ready(kit.Noon()),
		kit.Ready(kit.Noon().Add(time.Minute)),
		kit.Ready(time.Time{}),
		kit.Failed(), kit.Failed(), kit.Succeeded(), kit.Pending(), phase(corev1.PodUnknown), phase(""),
		phase(corev1.PodFailed), // still Ready, as one of a node that was lost
		objects.Updating(),
	)
}
