package properties_test

import (
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/internal/harness"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// A story is what befalls an orderly fleet while its users change their minds: every node runs one healthy pod at the
// beginning, and a cluster that is slow, or never done, carries out the plans. Witnesses look at the objects of the
// cluster after each step. They ask neither the verifier nor the plan what it means, and compute from the spec what may be.

// world is what a story's controller and users are like.
type world struct {
	// lag is how many steps the controller's watch is behind.
	lag int
	// part: of each plan a few actions are carried out only, as it stops over and over again.
	part int
	// forgetful: the controller loses its memory all the time.
	forgetful bool
	// hook is how long users take to see to the hooks of a pod.
	hook time.Duration
	// stubborn are nodes on which nobody ever sees to the hooks.
	stubborn []string
	// bad: some revisions, nodes or users never let updates finish. unfair: the last revision is such.
	bad, unfair bool
}

// moment is one step of a story, as the cluster itself knows it, however far behind the controller's watch is.
type moment struct {
	trial
	// spec in force, and the number of its change.
	spec    rollout.Spec
	chapter int
	// update is the hash of its revision; templates are those of all revisions of the story, by hash.
	update    string
	templates map[string]*corev1.PodTemplateSpec
	// begin is when the spec came into force; before and after are from around the carrying out of the plan.
	begin, before, after rollout.Snapshot
	// seen is what the controller sees, decided its plan, and plan what is carried out of it.
	seen          rollout.Snapshot
	decided, plan rollout.Plan
	// events since the spec came into force.
	events []harness.Event
}

// witness reports what must not be at a moment. At the end of the story, when all has come to rest, the plan is empty.
type witness struct {
	at, end func(*moment) error
}

// tell runs the story of a trial.
func tell(w witness) func(trial, factory) error {
	return func(c trial, f factory) error {
		cluster, err := harness.NewCluster(c.changes[0].Spec, c.Snapshot, c.behavior)
		if err != nil {
			return err
		}
		n := &narrator{trial: c, cluster: cluster, witness: w, asked: map[string]time.Time{}}
		templates := map[string]*corev1.PodTemplateSpec{rollouttest.Hash(c.Spec): &c.Spec.Template}
		for i, change := range c.changes {
			hash := rollouttest.Hash(change.Spec)
			templates[hash] = &change.Spec.Template
			if err := cluster.SetSpec(change.Spec); err != nil {
				return err
			}
			plan, err := f(change.Spec)
			if err != nil {
				return err
			}
			steps, last := n.enough(), i == len(c.changes)-1
			if !last {
				steps = c.changes[i+1].After
			}
			// Patches say to the second when they were made: what follows within one cannot be told apart.
			cluster.Tick(time.Second)
			const forGood = 80
			fails := len(c.behavior.Failing) > 0 // which goes on for ever
			if fails {
				steps = min(steps, forGood)
			}
			n.now = moment{
				trial: c, spec: change.Spec, chapter: i, update: hash, templates: templates, begin: cluster.Snapshot(),
			}
			n.told = len(cluster.Events())
			rests, err := n.chapter(plan, steps)
			switch {
			case err != nil:
				return fmt.Errorf("with spec %d of %d, step %d: %w\n%s", i+1, len(c.changes), n.steps, err, n.recent())
			case last && !rests && !fails:
				return fmt.Errorf("V16: not at rest after %d steps\n%s", n.steps, n.recent())
			case last && !fails && w.end != nil:
				if err := w.end(&n.now); err != nil {
					return fmt.Errorf("in the end, after %d steps: %w\n%s", n.steps, err, n.recent())
				}
			}
		}
		return nil
	}
}

// narrator runs one story.
type narrator struct {
	trial
	cluster *harness.Cluster
	witness witness
	now     moment
	told    int // events before this chapter
	steps   int

	// views are what the cluster showed at the steps so far, sent what was requested then.
	views []rollout.Snapshot
	sent  []rollout.Plan
	// asked is when the hooks of a pod were given something to do.
	asked map[string]time.Time
	// quiet is for how many steps nothing has happened.
	quiet int
}

// enough is a bound on the steps that it takes to come to rest.
func (n *narrator) enough() int {
	steps := 50 + 40*len(n.Snapshot.Nodes)
	if n.world.part > 0 {
		steps *= 2
	}
	return steps * (1 + n.world.lag)
}

// chapter goes on for so many steps, or until nothing happens any more.
func (n *narrator) chapter(plan harness.PlanFunc, steps int) (rests bool, err error) {
	n.quiet = 0
	for range steps {
		if rests, err := n.step(plan); rests || err != nil {
			return rests, err
		}
	}
	return false, nil
}

func (n *narrator) step(plan harness.PlanFunc) (rests bool, err error) {
	n.steps++
	if n.world.forgetful {
		n.cluster.LoseMemory()
	}
	n.see()
	s := &n.now
	s.before = n.cluster.Snapshot()
	s.seen = n.seen()
	whole, err := plan(s.seen)
	if err != nil {
		return false, err
	}
	s.decided, s.plan = whole, whole
	if n.world.part > 0 {
		s.plan = harness.Prefix(whole, 1+n.steps*n.world.part%5)
	}
	if err := n.cluster.Apply(s.plan); err != nil {
		return false, err
	}
	n.views, n.sent = append(n.views, s.before), append(n.sent, s.plan)
	s.after = n.cluster.Snapshot()
	s.events = n.cluster.Events()[n.told:]
	if n.witness.at != nil {
		if err := n.witness.at(s); err != nil {
			return false, err
		}
	}
	return !n.goOn(whole), nil
}

// seen is what the controller sees: pods and revisions of some steps ago, what it requested since in flight.
func (n *narrator) seen() rollout.Snapshot {
	s := n.cluster.Snapshot()
	if behind := min(n.world.lag, len(n.views)); behind > 0 {
		old := n.views[len(n.views)-behind]
		s.Pods, s.Revisions = old.Pods, old.Revisions
		pulls := s.InFlight.Pulls
		for _, plan := range n.sent[len(n.sent)-behind:] {
			s.InFlight = s.InFlight.With(&plan)
		}
		s.InFlight.Pulls = pulls
	}
	return s
}

// goOn lets time pass; false if there is nothing to wait for.
func (n *narrator) goOn(plan rollout.Plan) bool {
	next := plan.NextWake
	for _, at := range []time.Time{n.cluster.Next(), n.nextHook()} {
		if !at.IsZero() && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	switch {
	case !plan.Empty():
		n.quiet = 0
		n.cluster.Tick(0)
	case n.quiet < n.world.lag:
		n.quiet++
		n.cluster.Tick(0)
	case next.IsZero():
		return false
	default:
		n.quiet = 0
		n.cluster.Tick(next.Sub(n.cluster.Now()))
	}
	return true
}

// nextHook is when a user sees to a hook next; zero: never.
func (n *narrator) nextHook() time.Time {
	var next time.Time
	for _, p := range n.cluster.Snapshot().Pods {
		if at := n.due(p); !at.IsZero() && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	return next
}

// due is when the users see to the hooks of the pod; zero if they are not asked to, or never do.
func (n *narrator) due(p *corev1.Pod) time.Time {
	if len(n.handlers(p)) == 0 || slices.Contains(n.world.stubborn, nodeOf(p)) && p.DeletionTimestamp == nil {
		return time.Time{}
	}
	key := fmt.Sprint(p.UID, lifecycle.StateOf(p), p.DeletionTimestamp != nil)
	if _, known := n.asked[key]; !known {
		n.asked[key] = n.cluster.Now()
	}
	return n.asked[key].Add(n.world.hook)
}

// handlers are those that the users are to take off the pod, or put on it.
func (n *narrator) handlers(p *corev1.Pod) []lifecycle.Handler {
	hooks := n.now.spec.Lifecycle
	if p.DeletionTimestamp != nil {
		var list []lifecycle.Handler
		for _, name := range p.Finalizers {
			list = append(list, lifecycle.Handler{Finalizer: name})
		}
		return list
	}
	switch lifecycle.StateOf(p) {
	case lifecycle.PreparingDelete:
		return hooks.Pending(p, lifecycle.WaitPreDelete)
	case lifecycle.PreparingUpdate:
		return hooks.Pending(p, lifecycle.WaitInPlaceUpdate)
	case lifecycle.Updated:
		return hooks.Pending(p, lifecycle.WaitUpdated)
	case lifecycle.PreparingNormal:
		return hooks.Pending(p, lifecycle.WaitPreNormal)
	default:
		return nil
	}
}

// see lets the users see to the hooks that are due.
func (n *narrator) see() {
	for _, p := range n.cluster.Snapshot().Pods {
		if at := n.due(p); at.IsZero() || at.After(n.cluster.Now()) {
			continue
		}
		changed := p.DeepCopy()
		puts := lifecycle.StateOf(p) == lifecycle.Updated || lifecycle.StateOf(p) == lifecycle.PreparingNormal
		for _, h := range n.handlers(p) {
			switch {
			case h.Finalizer != "" && puts && p.DeletionTimestamp == nil:
				changed.Finalizers = append(changed.Finalizers, h.Finalizer)
			case h.Finalizer != "":
				changed.Finalizers = slices.DeleteFunc(changed.Finalizers, func(f string) bool { return f == h.Finalizer })
			case puts:
				changed.Labels[h.Label] = h.Value
			default:
				delete(changed.Labels, h.Label)
			}
		}
		n.cluster.SetPod(changed)
	}
}

// recent lists the last events.
func (n *narrator) recent() string {
	const most = 30
	events := n.cluster.Events()
	text := ""
	for _, e := range events[max(0, len(events)-most):] {
		text += e.String() + "\n"
	}
	for _, p := range n.cluster.Snapshot().Pods {
		text += fmt.Sprintf("%s: %s %v %v\n", p.Name, p.Labels, p.Finalizers, p.Status.Conditions)
	}
	return text
}

// What witnesses look at.

// podWith is the pod of that UID; nil if there is none.
func podWith(s rollout.Snapshot, uid types.UID) *corev1.Pod {
	for _, p := range s.Pods {
		if p.UID == uid {
			return p
		}
	}
	return nil
}

// onNode are the pods of the node that are not marked for deletion.
func onNode(s rollout.Snapshot, node string) []*corev1.Pod {
	var list []*corev1.Pod
	for _, p := range s.Pods {
		if p.DeletionTimestamp == nil && nodeOf(p) == node {
			list = append(list, p)
		}
	}
	return list
}

func revisionOf(p *corev1.Pod) string { return p.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] }

// old tells whether the node runs pods, and none of the update revision.
func (s *moment) old(in rollout.Snapshot, node string) bool {
	pods := onNode(in, node)
	return len(pods) > 0 && !slices.ContainsFunc(pods, func(p *corev1.Pod) bool { return revisionOf(p) == s.update })
}

// outside tells whether the strategy's selector does not match the node.
func (s *moment) outside(node *corev1.Node) bool {
	selector := s.spec.Strategy.NodeSelector
	if selector == nil {
		return false
	}
	for key, value := range selector.MatchLabels {
		if node.Labels[key] != value {
			return true
		}
	}
	return false
}

// partition in nodes, all of which are to run the pod.
func (s *moment) partition() int {
	q := s.spec.Strategy.Partition
	switch {
	case q == nil:
		return 0
	case q.Type == 0:
		return int(q.IntVal)
	}
	var percent int
	if _, err := fmt.Sscanf(q.StrVal, "%d%%", &percent); err != nil {
		panic(err)
	}
	return percent * len(s.begin.Nodes) / 100
}

func isTrue(p *corev1.Pod, kind corev1.PodConditionType) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == kind && c.Status == corev1.ConditionTrue
	})
}
