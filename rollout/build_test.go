package rollout_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/rollout"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// uniqueRows refuses rows of a table that have no name of their own or no reason.
type uniqueRows map[string]bool

func (r uniqueRows) check(t *testing.T, name, why string) {
	t.Helper()
	if name == "" || why == "" || r[name] {
		t.Fatalf("row %q needs a unique name and a why", name)
	}
	r[name] = true
}

// scene is one row of the planner's tables: a fleet, and all that one plan says about it. The set is called
// "agent", its update revision runs agent:v2, the one before agent:v1; the snapshot holds both revisions.
type scene struct {
	name, why string
	spec      []kit.SpecOption
	fleet     []spot
	// requested are creates in flight: "a" at the update revision, "a@old" at the old one.
	requested []string
	// deleting are the names of pods whose deletion is in flight.
	deleting []string
	// patching are the names of pods with a patch in flight.
	patching []string
	// backoffs that the memory holds; a Revision of "update" or "old" stands for its hash.
	backoffs []rollout.Backoff
	// set changes what the rest does not reach: the memory, marks of revisions.
	set func(*lab)

	// acts are the actions in order: "delete a0 Failed, create b Missing". Pods of node a are a0, a1, …
	acts string
	// want is one line for each decision: see line.
	want []string
	// spent is what the plan's Budget must show: see figures. Empty where a table is about something else.
	spent string
}

// spot is a node of a scene with its pods. Without an object the node does not exist.
type spot struct {
	name   string
	object *corev1.Node
	pods   []podOf
}

type podOf func(l *lab, node, name string) *corev1.Pod

func on(node string, pods ...podOf) spot {
	return spot{name: node, object: kit.Node(node), pods: pods}
}

// with changes the node.
func (s spot) with(options ...kit.NodeOption) spot {
	for _, option := range options {
		option(s.object)
	}
	return s
}

// keep makes the node one that a running pod may stay on and a new one may not start on (P3).
func (s spot) keep() spot { return s.with(kit.Taint("full", "", corev1.TaintEffectNoSchedule)) }

// leave makes the node one that no pod may be on, because of a taint (P3).
func (s spot) leave() spot { return s.with(kit.Taint("gone", "", corev1.TaintEffectNoExecute)) }

// gone are pods of a node that does not exist; of node "" those that no node can be read off.
func gone(node string, pods ...podOf) spot { return spot{name: node, pods: pods} }

// newPod returns a pod of the update revision, healthy for an hour unless the options say otherwise.
func newPod(options ...kit.PodOption) podOf { return podAt("update", options...) }

// oldPod is newPod of the revision before.
func oldPod(options ...kit.PodOption) podOf { return podAt("old", options...) }

// podAt is newPod with any revision hash.
func podAt(revision string, options ...kit.PodOption) podOf {
	return func(l *lab, node, name string) *corev1.Pod {
		return barePod(append([]kit.PodOption{kit.AtRevision(l.hash(revision))}, options...)...)(l, node, name)
	}
}

// barePod is newPod without a revision hash.
func barePod(options ...kit.PodOption) podOf {
	return func(l *lab, node, name string) *corev1.Pod {
		first := []kit.PodOption{controlledBy(l.spec.UID)}
		if node != "" {
			first = append(first, kit.OnNode(node))
		}
		return kit.Pod(name, append(first, options...)...)
	}
}

// controlledBy makes an object of that UID the pod's controller.
func controlledBy(uid types.UID) kit.PodOption {
	return func(p *corev1.Pod) { p.OwnerReferences = []metav1.OwnerReference{{UID: uid, Controller: new(true)}} }
}

// pinned returns a pod that is to go to its node and was not bound to it yet.
func pinned(p podOf) podOf {
	return func(l *lab, node, name string) *corev1.Pod {
		pod := p(l, node, name)
		status := pod.Status
		kit.PinnedTo(node)(pod)
		pod.Status = status
		return pod
	}
}

// ago returns an instant before the one that scenes are planned at.
func ago(d time.Duration) time.Time { return kit.Noon().Add(-d) }

// young makes the pod one that was created a minute ago, so that it is waited for.
func young(p *corev1.Pod) { kit.Created(ago(time.Minute))(p) }

// crashing makes the container of the pod one that was killed three times, and waits for that reason.
func crashing(waits string) kit.PodOption {
	return func(p *corev1.Pod) {
		kit.Unready()(p)
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{
			Name: "main", RestartCount: 3, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: waits}},
			LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "OOMKilled"}},
		}}
	}
}

func readyFor(d time.Duration) kit.PodOption { return kit.Ready(ago(d)) }

func terminating() kit.PodOption { return kit.Terminating(kit.Noon()) }

func withUID(uid types.UID) kit.PodOption { return func(p *corev1.Pod) { p.UID = uid } }

// lab is a scene with objects.
type lab struct {
	spec     rollout.Spec
	update   string // hash
	old      string // hash
	snapshot rollout.Snapshot
}

func newLab(options ...kit.SpecOption) *lab {
	spec := kit.Spec("agent", options...)
	before := spec.Default()
	kit.Image("agent:v1")(&before)
	kit.Image("agent:v2")(&spec)
	return &lab{
		spec: spec, update: kit.Hash(spec), old: kit.Hash(before),
		snapshot: rollout.Snapshot{
			Now:       kit.Noon(),
			Revisions: []*appsv1.ControllerRevision{kit.Revision(before, 1), kit.Revision(spec, 2)},
		},
	}
}

// hash turns "update" and "old" into hashes and leaves all else alone.
func (l *lab) hash(revision string) string {
	switch revision {
	case "update":
		return l.update
	case "old":
		return l.old
	default:
		return revision
	}
}

func (l *lab) add(spots ...spot) *lab {
	for _, s := range spots {
		if s.object != nil {
			l.snapshot.Nodes = append(l.snapshot.Nodes, s.object)
		}
		for i, pod := range s.pods {
			name := fmt.Sprintf("%s%d", s.name, i)
			if s.name == "" {
				name = fmt.Sprintf("lost%d", i)
			}
			l.snapshot.Pods = append(l.snapshot.Pods, pod(l, s.name, name))
		}
	}
	return l
}

func (l *lab) plan(t *testing.T) rollout.Plan {
	t.Helper()
	planner, err := rollout.New(l.spec)
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	plan, err := planner.Plan(l.snapshot)
	if err != nil {
		t.Fatalf("Plan: %v", err)
	}
	return plan
}

// lab builds the objects of a scene.
func (s scene) lab() *lab {
	l := newLab(s.spec...).add(s.fleet...)
	for _, entry := range s.requested {
		node, revision, _ := strings.Cut(entry, "@")
		l.snapshot.InFlight.Creates = append(l.snapshot.InFlight.Creates,
			rollout.InFlightCreate{Node: node, Revision: l.hash(revision)})
	}
	for _, name := range s.deleting {
		l.snapshot.InFlight.Deletes = append(l.snapshot.InFlight.Deletes, types.UID("pod-"+name))
	}
	for _, name := range s.patching {
		l.snapshot.InFlight.Patches = append(l.snapshot.InFlight.Patches, types.UID("pod-"+name))
	}
	if len(s.backoffs) > 0 {
		l.snapshot.Memory.Version = rollout.MemoryVersion
	}
	for _, entry := range s.backoffs {
		entry.Revision = l.hash(entry.Revision)
		l.snapshot.Memory.Backoffs = append(l.snapshot.Memory.Backoffs, entry)
	}
	if s.set != nil {
		s.set(l)
	}
	return l
}

// playScenes plans each scene and compares all that the plan says.
func playScenes(t *testing.T, scenes []scene) {
	t.Helper()
	rows := uniqueRows{}
	for _, s := range scenes {
		rows.check(t, s.name, s.why)
		t.Run(s.name, func(t *testing.T) {
			l := s.lab()
			plan := l.plan(t)
			if got := figures(plan.Budget); s.spent != "" && got != s.spent {
				t.Errorf("budget\n got: %s\nwant: %s\n why: %s", got, s.spent, s.why)
			}
			compare(t, l, plan, s.acts, s.want, s.why)
		})
	}
}

// compare compares what a plan does and says with what it should, and checks what is true of every plan.
func compare(t *testing.T, l *lab, plan rollout.Plan, wantActs string, want []string, why string) {
	t.Helper()
	if got := acts(plan); got != wantActs {
		t.Errorf("actions\n got: %s\nwant: %s\n why: %s", got, wantActs, why)
	}
	if diff := cmp.Diff(want, lines(plan)); diff != "" {
		t.Errorf("decisions, -want +got:\n%s why: %s", diff, why)
	}
	checkActions(t, l, plan)
	l.reverse()
	if diff := cmp.Diff(plan, l.plan(t)); diff != "" {
		t.Errorf("the order of the input matters, -given +reversed:\n%s", diff)
	}
}

// reverse turns the order of all input around, which must change nothing.
func (l *lab) reverse() {
	s := &l.snapshot
	s.Nodes, s.Pods, s.Revisions = slices.Clone(s.Nodes), slices.Clone(s.Pods), slices.Clone(s.Revisions)
	slices.Reverse(s.Nodes)
	slices.Reverse(s.Pods)
	slices.Reverse(s.Revisions)
	slices.Reverse(s.InFlight.Creates)
	slices.Reverse(s.InFlight.Deletes)
	slices.Reverse(s.Memory.Backoffs)
}

// acts writes a plan's actions on nodes as a scene has them. Actions on revisions are left out.
func acts(plan rollout.Plan) string {
	var list []string
	for _, a := range plan.Patches {
		pod := a.Pod
		if a.Subresource != "" {
			pod += "/" + a.Subresource
		}
		list = append(list, fmt.Sprintf("patch %s %s", pod, a.Reason))
	}
	for _, a := range plan.Pulls {
		list = append(list, fmt.Sprintf("pull %s on %s", a.Image, a.Node))
	}
	for _, a := range plan.Deletes {
		list = append(list, fmt.Sprintf("delete %s %s", a.Pod, a.Reason))
	}
	for _, a := range plan.Creates {
		act := fmt.Sprintf("create %s %s", a.Node, a.Reason)
		if a.Template != nil {
			act += " at old"
		}
		list = append(list, act)
	}
	return strings.Join(list, ", ")
}

func lines(plan rollout.Plan) []string {
	var list []string
	for _, d := range plan.Decisions {
		list = append(list, line(d))
	}
	return list
}

// line writes a decision as "node: state>target verb Reason", then what is set of: pod, limit, until=+duration,
// U (Unavailable), S (Surging), X (Exempt), C (Canary), F (Failed).
func line(d rollout.Decision) string {
	s := fmt.Sprintf("%s: %s>%s %s %s", d.Node, d.State, d.Target, d.Verb, d.Reason)
	if d.Pod != "" {
		s += " " + d.Pod
	}
	if d.Limit != rollout.LimitNone {
		s += " " + d.Limit.String()
	}
	if !d.Until.IsZero() {
		s += " until=+" + d.Until.Sub(kit.Noon()).String()
	}
	if d.Unavailable {
		s += " U"
	}
	if d.Surging {
		s += " S"
	}
	if d.Exempt() {
		s += " X"
	}
	if d.Canary {
		s += " C"
	}
	if d.Failed {
		s += " F"
	}
	return s
}

// figures writes what is spent of the budgets.
func figures(b rollout.Budget) string {
	return fmt.Sprintf("unavailable %d of %d, surging %d of %d, waiting %d",
		b.Unavailable, b.MaxUnavailable, b.Surging, b.MaxSurge, b.Waiting)
}

// checkActions holds what is true of the actions of every plan: each is complete and belongs to one decision (V12).
func checkActions(t *testing.T, l *lab, plan rollout.Plan) {
	t.Helper()
	type counts struct{ creates, deletes, patches, pulls int32 }
	var acted, decided = map[string]counts{}, map[string]counts{}
	exists := map[string]bool{}
	for _, n := range l.snapshot.Nodes {
		exists[n.Name] = true
	}
	owner := func(node, pod string) string {
		if exists[node] {
			return node
		}
		return node + "/" + pod
	}
	pods := map[types.UID]*corev1.Pod{}
	for _, p := range l.snapshot.Pods {
		pods[p.UID] = p
	}
	for _, a := range plan.Creates {
		if a.Template == nil && a.Revision != l.update || a.Template != nil && a.Revision != l.old {
			t.Errorf("create on %s is at revision %q, with a template of its own: %t (M7)", a.Node, a.Revision, a.Template != nil)
		}
		c := acted[owner(a.Node, "")]
		c.creates++
		acted[owner(a.Node, "")] = c
	}
	for _, a := range plan.Deletes {
		if p := pods[a.UID]; p == nil || p.Name != a.Pod || p.Labels["controller-revision-hash"] != a.Revision {
			t.Errorf("delete %+v does not name a pod of the snapshot with its UID and revision", a)
		}
		c := acted[owner(a.Node, a.Pod)]
		c.deletes++
		acted[owner(a.Node, a.Pod)] = c
	}
	for _, a := range plan.Patches {
		if p := pods[a.UID]; p == nil || p.Name != a.Pod ||
			a.Revision != l.update && a.Revision != plan.Canary.Stable && a.Revision != p.Labels["controller-revision-hash"] {
			t.Errorf("patch %+v does not name a pod of the snapshot with its UID, and its, the update or the stable revision", a)
		}
		c := acted[owner(a.Node, a.Pod)]
		c.patches++
		acted[owner(a.Node, a.Pod)] = c
	}
	for _, a := range plan.Pulls {
		c := acted[owner(a.Node, "")]
		c.pulls++
		acted[owner(a.Node, "")] = c
	}
	for _, d := range plan.Decisions {
		if c := (counts{d.Creates, d.Deletes, d.Patches, d.Pulls}); c != (counts{}) {
			decided[owner(d.Node, d.Pod)] = c
		}
	}
	if diff := cmp.Diff(acted, decided, cmp.AllowUnexported(counts{})); diff != "" {
		t.Errorf("actions and the counts of decisions disagree (V12), -actions +decisions:\n%s", diff)
	}
}

// noHistory is for scenes of a first installation.
func noHistory(l *lab) { l.snapshot.Revisions = nil }
