package properties_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	_ "github.com/daemonplan/daemonplan/internal/fixedseed"
	"github.com/daemonplan/daemonplan/internal/harness"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/history"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// A tale is what stories are for what the Datadog ExtendedDaemonSet adds: a fleet at rest, for whose set something changes,
// and what befalls it on the way. Observers look at the objects of the cluster before each plan. They ask neither the verifier
// nor the plan what it means, and count for themselves.
type tale struct {
	harness.World
	// turns are what happens on the way.
	turns []turn
	// ill are hashes of revisions whose pods do not come up.
	ill map[string]bool
	// most is how many plans there are at most, after the turns: for tales that may have no end. 0: as many as it takes.
	most int
	// seed of the order in which nodes, pods, revisions and requests come to the planner.
	seed uint64
}

// turn is a change of the spec, or a mishap.
type turn struct {
	after  int // so many plans since the turn before
	spec   *rollout.Spec
	mishap harness.Mishap
}

// GoString keeps what rapid prints readable.
func (c tale) GoString() string {
	text := fmt.Sprintf("%#v, seed %d", c.World, c.seed)
	for _, turn := range c.turns {
		if turn.spec == nil {
			text += fmt.Sprintf("\nafter %d plans: %s", turn.after, turn.mishap.Kind)
			continue
		}
		text += fmt.Sprintf("\nafter %d plans: %s", turn.after, harness.Case{Spec: *turn.spec})
	}
	return text
}

// statement is a property of tales.
type statement struct {
	name  string
	tales *rapid.Generator[tale]
	holds func(tale, factory) error
}

func (p statement) check(t *rapid.T) {
	c := p.tales.Draw(t, "tale")
	if err := p.holds(c, rereading()); err != nil {
		t.Fatal(err)
	}
}

// testTales checks each statement as a subtest, beside other tests.
func testTales(t *testing.T, statements ...statement) {
	t.Helper()
	t.Parallel()
	for _, p := range statements {
		t.Run(p.name, rapid.MakeCheck(p.check))
	}
}

// shuffled hands the lists of every snapshot to the planner in an order of its own (V13).
func shuffled(f factory, seed uint64) factory {
	return func(spec rollout.Spec) (harness.PlanFunc, error) {
		plan, err := f(spec)
		if err != nil {
			return nil, err
		}
		random := rand.New(rand.NewPCG(seed, 0))
		return func(s rollout.Snapshot) (rollout.Plan, error) {
			s.Nodes, s.Pods, s.Revisions = mixed(random, s.Nodes), mixed(random, s.Pods), mixed(random, s.Revisions)
			s.InFlight.Creates, s.InFlight.Deletes = mixed(random, s.InFlight.Creates), mixed(random, s.InFlight.Deletes)
			s.InFlight.Patches, s.InFlight.Revisions = mixed(random, s.InFlight.Patches), mixed(random, s.InFlight.Revisions)
			return plan(s)
		}, nil
	}
}

func mixed[T any](random *rand.Rand, list []T) []T {
	list = slices.Clone(list)
	random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list
}

// inWorld makes a statement about the planner in the tale's world.
func inWorld(check func(func(rollout.Spec) (harness.PlanFunc, error), harness.World) error) func(tale, factory) error {
	return func(c tale, f factory) error { return check(shuffled(f, c.seed), c.World) }
}

// observer is given the state of the cluster before each plan, and in the end.
type observer func(*sight) error

// sight is what an observer sees, however far the controller's watch is behind.
type sight struct {
	*tale
	cluster *harness.Cluster
	// spec in force.
	spec rollout.Spec
	// of is the revision of the tale's spec, stable the one of the beginning, now that of the spec in force.
	of, stable, now revision
	// marked and failed are the revisions that were promoted, or given up and not retried, by name; when says when the
	// promoted ones were.
	marked, failed map[string]bool
	when           map[string]time.Time
	// waiting are the names of the revisions for which a request was in flight when the last plan was made: what it found about
	// one of them is remembered, and written on the revision later (C6).
	waiting map[string]bool
	// verdicts says, by the name of the revision, what may be remembered so.
	verdicts map[string]verdict
	// givenUp is the name of the revision in force if the memory knows that it has failed.
	givenUp string
	marks   int // how often a revision was promoted
	read    int // events
	// lost is when the memory was lost last; zero: never. losses is how often it was.
	lost   time.Time
	losses int
	// planned: a plan for the spec in force has just been made. over: this is the end. settled: nothing will happen any more.
	planned, over, settled bool
	plan                   rollout.Plan // the last one, for those who ask what it says of the set
}

// revision is the hash of a revision, and its name.
type revision struct{ hash, name string }

func revisionFor(spec rollout.Spec) revision {
	hash := rollouttest.Hash(spec)
	return revision{hash, spec.Name + "-" + hash}
}

// rests tells whether all has come to rest. At the end it must have.
func (s *sight) rests() (bool, error) {
	if s.over && !s.settled {
		return false, errors.New("V16: not at rest in the end")
	}
	return s.over, nil
}

// observed tells the tale to observers that are made for it. All of them see every step.
func observed(watch ...func(tale) observer) func(tale, factory) error {
	return func(c tale, f factory) error {
		_, err := c.tell(f, watch...)
		return err
	}
}

// tell runs the tale to its end, and returns what was to be seen then.
func (c tale) tell(f factory, watch ...func(tale) observer) (*sight, error) {
	cluster, err := harness.NewCluster(c.Spec, c.Snapshot, c.Behavior)
	if err != nil {
		return nil, err
	}
	var observers []observer
	for _, w := range watch {
		observers = append(observers, w(c))
	}
	s := &sight{
		tale: &c, cluster: cluster, spec: c.Spec, marked: map[string]bool{}, failed: map[string]bool{}, when: map[string]time.Time{},
		waiting: map[string]bool{}, verdicts: map[string]verdict{},
		of: revisionFor(c.Spec), stable: revisionFor(c.Stable), now: revisionFor(c.Spec),
	}
	for _, r := range c.Snapshot.Revisions {
		s.marked[r.Name] = history.Promoted(r)
	}
	look := func() error {
		s.spec = cluster.Spec()
		s.readMarks()
		for _, o := range observers {
			if err := o(s); err != nil {
				return err
			}
		}
		if s.planned {
			s.readCommands()
		}
		return nil
	}
	goOn := func(steps int) error {
		plan, err := shuffled(f, c.seed)(cluster.Spec())
		if err != nil {
			return err
		}
		r, err := cluster.Run(plan, steps, func(_ rollout.Snapshot, p rollout.Plan) error {
			s.planned, s.plan = true, p
			err := look()
			s.planned = false
			for _, a := range p.Revisions { // no event says what a revision is created with
				if a.Object == nil {
					continue
				}
				if history.Promoted(a.Object) {
					s.marked[a.Name], s.when[a.Name] = true, cluster.Now()
				}
				if _, failed := a.Object.Annotations[history.FailedAnnotation]; failed {
					s.failed[a.Name] = true
				}
			}
			return err
		})
		s.settled = r.Settled
		return err
	}
	run := func() error {
		for _, turn := range c.turns {
			if err := goOn(turn.after); err != nil {
				return err
			}
			if err := look(); err != nil { // what was done for the spec before
				return err
			}
			switch {
			case turn.spec != nil:
				if err := cluster.SetSpec(*turn.spec); err != nil {
					return err
				}
				s.now = revisionFor(*turn.spec)
				if s.now.name != s.givenUp {
					s.givenUp = ""
				}
			case turn.mishap.Kind == harness.LoseMemory:
				s.lost, s.losses, s.givenUp = cluster.Now(), s.losses+1, ""
				clear(s.verdicts)
				fallthrough
			default:
				cluster.Befall(turn.mishap)
			}
		}
		steps := 2 * cluster.Steps()
		if c.most > 0 {
			steps = min(steps, c.most)
		}
		if err := goOn(steps); err != nil {
			return err
		}
		s.over = true
		return look()
	}
	if err := run(); err != nil {
		return nil, fmt.Errorf("%w\n%s", err, s.recently())
	}
	return s, nil
}

// readMarks reads verdicts off the events: of what is on the revisions a lagging watch would say nothing yet.
func (s *sight) readMarks() {
	events := s.cluster.Events()
	for _, e := range events[s.read:] {
		if e.Kind != harness.RevisionAnnotated {
			continue
		}
		for detail := range strings.SplitSeq(e.Detail, ", ") {
			switch key, _, _ := strings.Cut(detail, "="); key {
			case history.PromotedAnnotation:
				if s.marked[e.Object] {
					s.marks++ // again
				}
				s.marked[e.Object], s.when[e.Object] = true, e.At
			case history.FailedAnnotation:
				s.failed[e.Object], s.givenUp = true, e.Object
			case history.FailedAnnotation + "-":
				s.failed[e.Object], s.givenUp = false, ""
			}
		}
	}
	s.read = len(events)
}

// verdict is what was so when some plan was made since the one that could last write on the revision: the one that writes a
// promotion may be later than the one that decided on it.
type verdict struct {
	// promotable: commands and pauses let the revision be promoted (C5).
	promotable bool
	// retry is the command retry that named the revision.
	retry string
	// unaware: the fail of the revision was neither in the memory, which was lost or is that of another revision, nor shown by a
	// lagging watch.
	unaware bool
}

// readCommands reads what the plan that has just been made was told about the revision in force.
func (s *sight) readCommands() {
	o, name, hash, seen := s.spec.Strategy.Canary, s.now.name, s.now.hash, s.cluster.Snapshot()
	var v verdict
	if s.waiting[name] {
		v = s.verdicts[name]
	}
	if s.failed[name] && slices.ContainsFunc(seen.Revisions, func(r *appsv1.ControllerRevision) bool {
		return r.Name == name && history.Failed(r)
	}) {
		s.givenUp = name
	}
	v.unaware = v.unaware || s.failed[name] && s.givenUp != name
	if o != nil {
		rests := o.Commands.Pause == hash || s.spec.Strategy.Paused || o.Mode == canary.Manual
		v.promotable = v.promotable || o.Commands.Fail != hash && (o.Commands.Validate == hash || !rests)
		if o.Commands.Retry == hash {
			v.retry = hash
		}
	}
	s.verdicts[name] = v
	clear(s.waiting)
	for _, name := range seen.InFlight.Revisions {
		s.waiting[name] = true
	}
}

func (s *sight) recently() string {
	const most = 40
	events := s.cluster.Events()
	var text strings.Builder
	for _, e := range events[max(0, len(events)-most):] {
		text.WriteString(e.String() + "\n")
	}
	return text.String()
}

// What observers count.

// alive are the pods on the node that are not on their way out and have not finished.
func (s *sight) alive(node string) []*corev1.Pod {
	return slices.DeleteFunc(slices.Clone(s.cluster.PodsOn(node)), func(p *corev1.Pod) bool {
		return p.DeletionTimestamp != nil || p.Status.Phase == corev1.PodFailed || p.Status.Phase == corev1.PodSucceeded
	})
}

// served tells whether a pod on the node is alive and Ready.
func (s *sight) served(node string) bool {
	return slices.ContainsFunc(s.alive(node), func(p *corev1.Pod) bool { return isReady(p) && gatesOpen(p) })
}

// availableSince is when the pod became available (B5); zero: it is not.
func (s *sight) availableSince(p *corev1.Pod) time.Time {
	if !isReady(p) || !gatesOpen(p) || p.DeletionTimestamp != nil {
		return time.Time{}
	}
	at := readySince(p).Add(time.Duration(s.spec.MinReadySeconds) * time.Second)
	if at.After(s.cluster.Now()) {
		return time.Time{}
	}
	return at
}

// runs tells whether the node is to run the pod. Of the taints in tales daemon pods tolerate these.
func runs(node *corev1.Node) bool {
	return !slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool {
		return t.Key != corev1.TaintNodeUnschedulable && (t.Key != corev1.TaintNodeNotReady || t.Effect != corev1.TaintEffectNoExecute)
	})
}

// running lists the nodes that are to run the pod.
func (c *tale) running() []*corev1.Node {
	var nodes []*corev1.Node
	for _, n := range c.Snapshot.Nodes {
		if runs(n) {
			nodes = append(nodes, n)
		}
	}
	return nodes
}

// inNodes resolves a quantity, percentages rounded up.
func inNodes(quantity string, of int) int {
	var n int
	if _, err := fmt.Sscanf(quantity, "%d", &n); err != nil {
		panic(err)
	}
	if strings.HasSuffix(quantity, "%") {
		return (n*of + 99) / 100
	}
	return n
}

func nameOf(spec rollout.Spec) string { return spec.Name + "-" + rollouttest.Hash(spec) }
