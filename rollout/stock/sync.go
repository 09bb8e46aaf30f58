package stock

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/status"
)

// round is one sync of the controller.
type round struct {
	*planner
	now    time.Time
	plan   *rollout.Plan
	hash   string // of the update revision
	random *rand.Rand
	// requested: pods were asked for, created or deleted, that the caches do not show yet. The controller then asks for nothing.
	requested bool
	// asked: this sync has created or deleted pods, so that it does not update any.
	asked     bool
	previous  []metav1.Condition
	backoffs  backoffs
	revisions []*appsv1.ControllerRevision
	updates   map[string]*inplace.Update // to the update revision, from the one of a hash; compared when it is asked for

	// nodes in ascending order of their names, with those that do not exist but are named by pods. strays are the decisions about
	// pods of the latter.
	nodes    []*node
	strays   []rollout.Decision
	selector labels.Selector

	desired, maxUnavailable, maxSurge, partition int32
	burst                                        int

	// creates and deletes are what the phase wants that is under way, sentCreates and sentDeletes what of it burst allowed.
	creates, sentCreates []create
	deletes, sentDeletes []deletion
	// lent are lists of an earlier round, of which the memory is used; nil: there are none.
	lent *changes
	// unavailable and surging are how much of the budgets is used up, as the update counts it, and users the nodes that do that.
	unavailable, surging int32
	users                []string
	// trialStatus and stable are what the status says of a canary.
	trialStatus status.Trial
	stable      string
	wake        time.Time
}

// node is a node with the pods of the set.
type node struct {
	name string
	// decision of the plan; nil for a node that does not exist.
	decision *rollout.Decision
	object   *corev1.Node // nil for such a one, too
	// placement is the verdict of package rollout, and relabelled how many pods it relabels.
	placement  placement.Verdict
	relabelled int32
	// shouldRun: it is to run the pod. mayRun: it may go on to run the one that it has.
	shouldRun, mayRun bool
	// pods that count: the first one is the oldest that is bound.
	pods []*member
	// waits is what keeps it from being updated now. uses reports whether it takes a place of the budget, begun whether the
	// spec lets it be updated.
	waits rollout.Limit
	uses  bool
	begun bool
	// facts are what the status counts of it.
	facts status.Facts
	// target is the revision that it is to have, if it is to run the pod.
	target rollout.Target
	// patches is how many there are of its pods.
	patches int32
	// chance orders what the controller's maps leave open; 0: it is not drawn yet, see mix.
	chance uint64
}

// member is a pod of the set, with what was read off it once.
type member struct {
	*corev1.Pod
	name string
	// marked: for deletion. ended: it has Failed or Succeeded; failed: it has Failed.
	marked, ended, failed bool
	// updated: it counts as updated, because it has the hash of the revision or the generation of the template. atHash: it has
	// the hash.
	updated, atHash  bool
	ready, available bool
}

type create struct {
	node *node
	verb rollout.Verb
	asks rollout.Create
}

type deletion struct {
	node   *node
	pod    *member
	reason rollout.Reason
	verb   rollout.Verb
	// fate of the pod, and the patches by which it comes about.
	fate    fate
	patches []lifecycle.Patch
}

// startRound is a round that has read nothing of the nodes and pods yet.
func (p *planner) startRound(snapshot rollout.Snapshot, plan *rollout.Plan) *round {
	s := &round{
		planner: p, now: snapshot.Now, plan: plan, hash: plan.Status.UpdateRevision,
		requested: len(snapshot.InFlight.Creates)+len(snapshot.InFlight.Deletes) > 0 ||
			p.kruise && len(snapshot.InFlight.Patches) > 0,
		previous: snapshot.Memory.Conditions, revisions: snapshot.Revisions, updates: make(map[string]*inplace.Update),
		random: rand.New(rand.NewPCG(p.seed, uint64(snapshot.Now.UnixNano()))),
	}
	plan.Creates, plan.Deletes, plan.Blockers, plan.BudgetUsers = nil, nil, nil, nil
	s.selector, _ = metav1.LabelSelectorAsSelector(s.spec.Selector) // New has validated it
	s.backoffs = newBackoffs(snapshot, strconv.FormatInt(p.spec.Generation, 10), time.Second)
	return s
}

// newRound reads the snapshot as the controller does, and takes out of the plan what package rollout decided about pods.
func (p *planner) newRound(snapshot rollout.Snapshot, plan *rollout.Plan) *round {
	s := p.startRound(snapshot, plan)
	plan.Decisions = slices.Clone(plan.Decisions) // a Reading may share them with earlier plans
	plan.Revisions = slices.DeleteFunc(slices.Clone(plan.Revisions), func(a rollout.RevisionAction) bool {
		return a.Verb == rollout.AnnotateRevision // the marks are those of package rollout
	})
	plan.Patches = slices.DeleteFunc(plan.Patches, func(p rollout.Patch) bool {
		return p.Reason != rollout.ReasonDuplicateRevision
	})
	s.readNodes(snapshot)
	s.scale()
	return s
}

// scale turns the budgets into numbers of nodes. Both are rounded up, and a set whose budgets come to 0 may lose one pod.
func (s *round) scale() {
	strategy := &s.spec.Strategy
	for _, n := range s.nodes {
		s.desired += count(n.shouldRun)
	}
	s.burst = int(scaled(s.spec.Burst, s.desired))
	if s.kruise {
		stored := s.desired
		if s.stored != nil {
			stored = *s.stored
		}
		s.burst = int(scaledDown(s.spec.Burst, stored))
		if s.spec.Strategy.Partition != nil {
			s.partition = scaledDown(s.spec.Strategy.Partition, stored)
		}
	}
	if strategy.Type != rollout.RollingUpdate {
		return
	}
	s.maxSurge = scaled(strategy.MaxSurge, s.desired)
	s.maxUnavailable = scaled(strategy.MaxUnavailable, s.desired)
	if s.desired > 0 && s.maxSurge == 0 && s.maxUnavailable == 0 {
		s.maxUnavailable = 1
	}
}

// surges reports whether the strategy has a maxSurge, whatever it comes to.
func (s *round) surges() bool {
	return s.spec.Strategy.Type == rollout.RollingUpdate && scaled(s.spec.Strategy.MaxSurge, 1) > 0
}

// scaled is the quantity, of which a percentage is of so many nodes, rounded up; nil: 0.
func scaled(quantity *intstr.IntOrString, of int32) int32 { return scaledTo(quantity, of, true) }

func scaledDown(quantity *intstr.IntOrString, of int32) int32 { return scaledTo(quantity, of, false) }

func scaledTo(quantity *intstr.IntOrString, of int32, up bool) int32 {
	if quantity == nil {
		return 0
	}
	n, err := intstr.GetScaledValueFromIntOrPercent(quantity, int(of), up)
	if err != nil {
		return 0
	}
	return int32(n)
}

func count(yes bool) int32 {
	if yes {
		return 1
	}
	return 0
}

// mix puts what is to be done into the order in which this sync goes over nodes, which is chance: the controller's maps have
// none. What is done on one node stays in its order, and nodes that do not exist come last.
func mix[T any](s *round, list []T, of func(T) *node) {
	for _, one := range list {
		if n := of(one); n.chance == 0 {
			n.chance = s.random.Uint64() | 1
		}
	}
	slices.SortStableFunc(list, func(a, b T) int {
		return cmp.Or(
			cmp.Compare(count(of(a).decision == nil), count(of(b).decision == nil)),
			cmp.Compare(of(a).chance, of(b).chance),
		)
	})
}

func nodeOfCreate(c create) *node     { return c.node }
func nodeOfDeletion(d deletion) *node { return d.node }

// readNodes joins nodes and pods. The decisions about nodes are in the order of their names.
func (s *round) readNodes(snapshot rollout.Snapshot) {
	known := make([]node, len(snapshot.Nodes))
	s.strays = s.plan.Decisions[len(known):]
	s.nodes = make([]*node, len(known))
	names := make([]string, len(known))
	for i := range known {
		d := &s.plan.Decisions[i]
		known[i] = node{name: d.Node, decision: d, relabelled: d.Patches, target: rollout.TargetUpdate}
		known[i].place(d.Placement)
		s.nodes[i], names[i] = &known[i], d.Node
	}
	gone := make(map[string]*node)
	next := 0 // pods are mostly in the order of their nodes
	find := func(name string) *node {
		if next >= len(names) || names[next] != name {
			i, found := slices.BinarySearch(names, name)
			if !found {
				return gone[name]
			}
			next = i
		}
		next++
		return &known[next-1]
	}
	for _, object := range snapshot.Nodes {
		find(object.Name).object = object
	}
	all := make([]member, len(snapshot.Pods))
	for i, pod := range snapshot.Pods {
		name, ok := placement.TargetNode(pod)
		if !ok || s.ignores(pod) {
			continue
		}
		n := find(name)
		if n == nil {
			n = &node{name: name}
			gone[name] = n
			s.nodes = append(s.nodes, n)
		}
		all[i] = s.read(pod)
		n.pods = append(n.pods, &all[i])
	}
	for _, n := range s.nodes {
		if len(n.pods) > 1 {
			slices.SortFunc(n.pods, oldestFirst)
		}
	}
	if len(gone) > 0 {
		slices.SortFunc(s.nodes, func(a, b *node) int { return cmp.Compare(a.name, b.name) })
	}
}

// place sets what the verdict says of the node.
func (n *node) place(verdict placement.Verdict) {
	n.placement, n.shouldRun, n.mayRun = verdict, verdict.Outcome == placement.Run, verdict.Outcome != placement.Leave
}

// read reads off a pod what the sync asks for again and again.
func (s *round) read(object *corev1.Pod) member {
	m := member{
		Pod: object, name: object.Name, marked: object.DeletionTimestamp != nil, ended: lifecycle.Terminal(object),
		failed: object.Status.Phase == corev1.PodFailed,
		atHash: object.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] == s.hash,
	}
	m.ready = s.isReady(&m)
	m.updated = m.atHash || s.isOfGeneration(object)
	if m.ready {
		at := s.availableAt(&m)
		m.available = !at.IsZero() && !at.After(s.now)
	}
	return m
}

// ignores reports whether a pod that is marked for deletion counts for nothing: one that has ended, and one that the selector no
// longer matches. Only the controller of Kubernetes does not wait for both.
func (s *round) ignores(pod *corev1.Pod) bool {
	return !s.kruise && !s.extended && pod.DeletionTimestamp != nil &&
		(lifecycle.Terminal(pod) || !s.selector.Matches(labels.Set(pod.Labels)))
}

// oldestFirst orders the pods of a node: those that are not bound come last.
func oldestFirst(a, b *member) int {
	return cmp.Or(
		cmp.Compare(count(a.Spec.NodeName == ""), count(b.Spec.NodeName == "")),
		a.CreationTimestamp.Compare(b.CreationTimestamp.Time),
		cmp.Compare(a.Name, b.Name),
	)
}

// isReady looks at the condition alone: pods that have ended may keep it. To OpenKruise's controller they are not ready.
func (s *round) isReady(pod *member) bool {
	if s.kruise && pod.ended {
		return false
	}
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// availableAt returns when a pod that is Ready is available; zero: never. OpenKruise's controller wants more than
// minReadySeconds.
func (s *round) availableAt(pod *member) time.Time {
	if s.spec.MinReadySeconds == 0 {
		return s.now
	}
	for i := range pod.Status.Conditions {
		c := &pod.Status.Conditions[i]
		if c.Type == corev1.PodReady && !c.LastTransitionTime.IsZero() {
			wanted := time.Duration(s.spec.MinReadySeconds) * time.Second
			if s.kruise {
				wanted++
			}
			return c.LastTransitionTime.Add(wanted)
		}
	}
	return time.Time{}
}

// isOfGeneration reports whether the pod has the generation of the template, which counts as updated, too.
func (s *round) isOfGeneration(pod *corev1.Pod) bool {
	generation := s.spec.TemplateGeneration
	return generation != nil && pod.Labels[rollout.TemplateGenerationLabel] == strconv.FormatInt(*generation, 10)
}
