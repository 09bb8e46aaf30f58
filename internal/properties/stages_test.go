package properties_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"pgregory.net/rapid"

	"github.com/daemonplan/daemonplan/internal/harness"
	"github.com/daemonplan/daemonplan/internal/harness/draw"
	"github.com/daemonplan/daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/history"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
	"github.com/daemonplan/daemonplan/rollout/stage"
	"github.com/daemonplan/daemonplan/status"
)

// Stages (T8): on any snapshot as the verifier sees it, and in whole rollouts as an observer does that keeps an account of its own of
// which parts were seen to be done, and since when. It asks neither the verifier nor package stage.

var (
	stagesPure   = property{"V13 with stages", stagePlans(), once(checkPure)}
	stagesSafe   = property{"V1 to V21 with stages", stagePlans(), once(checkSafe)}
	stagesHold   = property{"V20 nothing new in parts that are not open", stagePlans(), once(checkStagesHold)}
	passesStages = statement{"V20, V21 part by part, all the way", stageWorlds(), observed(observeStages)}
	breaksStages = statement{"V20 no further than what the revision breaks", breakingStageWorlds(), observed(observeStages)}
	endsStages   = statement{"V16, V18 with approvals and time every part is done", quietStageWorlds(), observed(observeStages, observeRolledOut)}
	losesNothing = statement{"V16 a rollout whose memory is lost again and again ends as if it was not", approvedWorlds(), checkForgetfulStages}
	keepsOpen    = statement{"V16 a part that is done is so for good", growingStageWorlds(), observed(observeStages, observeOpenParts)}
)

func TestStagesAreSafe(t *testing.T) { test(t, stagesPure, stagesSafe, stagesHold) }

func TestStagesAllTheWay(t *testing.T) {
	testTales(t, passesStages, breaksStages, endsStages, losesNothing, keepsOpen)
}

// stagePlans generates trials of one snapshot with stages, mostly with a budget that leaves them the say.
func stagePlans() *rapid.Generator[trial] {
	return rapid.Custom(func(t *rapid.T) trial {
		options := rapid.SampledFrom([][]rollouttest.SpecOption{
			nil, {objects.Released(), rollouttest.MaxUnavailable("100%")}, {objects.Released(), rollouttest.MaxUnavailable("100%")},
			{objects.Released(), rollouttest.MaxSurge("100%")},
		}).Draw(t, "budget of its own")
		cases := draw.AnyCase(options...)
		if rapid.SampledFrom([]bool{false, false, true}).Draw(t, "canary") {
			cases = draw.AnyCanaryCase(options...)
		}
		return trial{Case: draw.InStages(cases).Draw(t, "scenario")}
	})
}

// Where nodes are, in words of this file's own.

// spotOf is the part of a node: the place of its stage, and the value of the stage's key.
type spotOf struct {
	stage int
	value string
}

func spot(stages []stage.Stage, n *corev1.Node) spotOf {
	for i, s := range stages {
		if selector, err := metav1.LabelSelectorAsSelector(s.Selector); s.Selector != nil && (err != nil || !selector.Matches(labels.Set(n.Labels))) {
			continue
		}
		if s.Key == "" {
			return spotOf{stage: i}
		}
		return spotOf{i, n.Labels[s.Key]}
	}
	return spotOf{stage: len(stages)}
}

// compareSpots: by stage, then numbers, then texts, then nothing.
func compareSpots(a, b spotOf) int {
	rank := func(s string) (int, *big.Int) {
		n, isNumber := new(big.Int).SetString(s, 10)
		switch {
		case s == "":
			return 2, new(big.Int)
		case isNumber && n.Sign() >= 0:
			return 0, n
		default:
			return 1, new(big.Int)
		}
	}
	rankA, numberA := rank(a.value)
	rankB, numberB := rank(b.value)
	return cmp.Or(cmp.Compare(a.stage, b.stage), cmp.Compare(rankA, rankB), numberA.Cmp(numberB), cmp.Compare(a.value, b.value))
}

// tally is how the nodes of a part stand. Those that are barred by taints count nowhere else.
type tally struct{ nodes, settled, arrived, behind, barred int }

// account says how the nodes of each part stand, as the snapshot shows it.
type account struct {
	spec   *rollout.Spec
	hash   string
	seen   rollout.Snapshot
	tally  map[spotOf]*tally
	spots  []spotOf // in order
	ofNode map[string]spotOf
	trial  bool // the revision may be on trial
}

func takeAccount(spec *rollout.Spec, seen rollout.Snapshot) *account {
	a := &account{spec: spec, hash: rollouttest.Hash(*spec), seen: seen, tally: map[spotOf]*tally{}, ofNode: map[string]spotOf{}}
	for _, n := range seen.Nodes {
		at := spot(spec.Strategy.Policy.Stages, n)
		a.ofNode[n.Name] = at
		if a.tally[at] == nil {
			a.tally[at] = &tally{}
			a.spots = append(a.spots, at)
		}
		a.count(n, a.tally[at])
	}
	slices.SortFunc(a.spots, compareSpots)
	return a
}

func (a *account) count(n *corev1.Node, in *tally) {
	selected := true
	for key, value := range matchLabels(a.spec.Strategy.NodeSelector) {
		selected = selected && n.Labels[key] == value
	}
	if !selected {
		return
	}
	settled, arrived := a.standing(n)
	switch {
	case !runs(n):
		if arrived && !settled && !mustLeave(n) { // the revision may have broken it
			in.arrived++
			return
		}
		in.barred++
	case settled:
		in.nodes++
		in.settled++
	case arrived:
		in.nodes++
		in.arrived++
	default:
		in.nodes++
		in.behind++
	}
}

// mustLeave tells whether the pods of such worlds must leave the node.
func mustLeave(n *corev1.Node) bool {
	return slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == harness.TaintKey && t.Effect == corev1.TaintEffectNoExecute })
}

// standing tells whether the node has a pod of the revision, with the resources that it is to have, that is available, and whether it
// has any.
func (a *account) standing(n *corev1.Node) (settled, arrived bool) {
	node := n.Name
	cpu := cmp.Or(wantedCPU(*a.spec, n), a.spec.Template.Spec.Containers[0].Resources.Requests.Cpu().String())
	for _, p := range a.seen.Pods {
		overdue := p.DeletionTimestamp != nil && !p.DeletionTimestamp.After(a.seen.Now)
		if overdue && nodeOfAny(p) == node && runs(n) && !lifecycle.Terminal(p) {
			arrived = true // nobody ends it, so that the node is down, and not behind; of a tainted node it says nothing about the revision
		}
		if nodeOfAny(p) != node || p.Spec.Containers[0].Resources.Requests.Cpu().String() != cpu || revisionOf(p) != a.hash || p.DeletionTimestamp != nil || slices.Contains(a.seen.InFlight.Deletes, p.UID) {
			continue
		}
		arrived = true
		if state := lifecycle.StateOf(p); state == lifecycle.PreparingNormal || state == lifecycle.Updated {
			continue // its hook keeps it out of service
		}
		ripe := readySince(p).Add(time.Duration(a.spec.MinReadySeconds) * time.Second)
		if p.Status.Phase == corev1.PodRunning && isReady(p) && gatesOpen(p) && asSpec(p) && !ripe.After(a.seen.Now) {
			settled = true
		}
	}
	for _, create := range a.seen.InFlight.Creates {
		arrived = arrived || create.Node == node && create.Revision == a.hash
	}
	return settled, arrived
}

// spotNamed is the part of a stage of that name, or of the nodes that are in none.
func (a *account) spotNamed(name, value string) spotOf {
	stages := a.spec.Strategy.Policy.Stages
	for i, of := range stages {
		if of.Name == name {
			return spotOf{i, value}
		}
	}
	return spotOf{len(stages), value}
}

// marked is the last part that is done by what is written on the revision, as it has its number now.
func (a *account) marked() spotOf {
	for _, r := range a.seen.Revisions {
		var mark struct {
			Revision     int64
			Stage, Value string
		}
		if r.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] == a.hash &&
			json.Unmarshal([]byte(r.Annotations[history.FrontierAnnotation]), &mark) == nil && mark.Revision == r.Revision {
			return a.spotNamed(mark.Stage, mark.Value)
		}
	}
	return spotOf{stage: -1}
}

func (a *account) stageOf(at spotOf) stage.Stage {
	if stages := a.spec.Strategy.Policy.Stages; at.stage < len(stages) {
		return stages[at.stage]
	}
	return stage.Stage{}
}

func (a *account) skipped(at spotOf) bool { n := a.tally[at]; return n.nodes == 0 && n.arrived == 0 }

func (a *account) looksDone(at spotOf) bool {
	n := a.tally[at]
	tolerated := quantity(a.stageOf(at).Tolerance, n.settled+n.arrived+n.behind)
	if failures := a.spec.Strategy.Policy.Failures; failures != nil { // what is in quarantine is not asked
		tolerated += quantity(failures.Quarantine, len(a.seen.Nodes))
	}
	return n.settled > 0 && n.behind == 0 && n.arrived <= tolerated
}

func (a *account) approved(at spotOf) bool {
	s := a.stageOf(at)
	return !s.Approval || slices.ContainsFunc(a.spec.Strategy.Policy.Approved, func(by stage.Approval) bool {
		return by.Stage == s.Name && (by.Value == "" || by.Value == at.value) && (by.Revision == a.hash || by.Revision == a.spec.Name+"-"+a.hash)
	})
}

func (a *account) expedited() bool {
	return slices.Contains([]string{canary.Any, a.hash, a.spec.Name + "-" + a.hash}, a.spec.Strategy.Policy.Expedite)
}

func (a *account) completed() bool {
	return slices.ContainsFunc(a.seen.Revisions, func(r *appsv1.ControllerRevision) bool {
		return r.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] == a.hash && r.Annotations[history.CompletedAnnotation] != ""
	})
}

// progress is what was seen to be done of the rollout of one revision: the last part, and since when. Nil: none.
type progress struct {
	hash  string
	last  *spotOf
	since time.Time
}

// follow moves on as far as the account says, and returns the parts that are open. A loss of the memory moves nothing (P-C): that
// a part was open is not to be seen from pods. Nor does anything that is seen during a trial.
func (p *progress) follow(a *account) map[spotOf]bool {
	if p.hash != a.hash || a.completed() || mayBeTried(a) {
		*p = progress{hash: a.hash}
	}
	open := map[spotOf]bool{}
	going := true
	for _, at := range a.spots {
		switch {
		case p.last != nil && compareSpots(at, *p.last) <= 0:
			open[at] = true
		case a.skipped(at): // what its nodes lose comes back at the update revision, as without stages (T1)
			open[at] = true
		case a.expedited():
			open[at] = true
			if going = going && a.looksDone(at); going {
				p.last, p.since = &at, a.seen.Now
			}
		case !going:
		case p.last != nil && p.since.Add(a.stageOf(*p.last).Soak).After(a.seen.Now) || !a.approved(at):
			going = false
		default:
			open[at] = true
			if going = a.looksDone(at); going {
				p.last, p.since = &at, a.seen.Now
			}
		}
	}
	return open
}

// checkStagesHold: where a part has a node without any pod of the update revision, nothing is begun in the parts after it.
func checkStagesHold(c trial, plan harness.PlanFunc) error {
	p, err := plan(c.Snapshot)
	if err != nil {
		return err
	}
	return nothingNew(&c.Spec, c.Snapshot, &p)
}

// nothingNew judges one plan by what is certain whatever else the snapshot has.
func nothingNew(spec *rollout.Spec, s rollout.Snapshot, p *rollout.Plan) error {
	first := !slices.ContainsFunc(s.Revisions, func(r *appsv1.ControllerRevision) bool { return !objects.Holds(r, &spec.Template) })
	if first || len(p.Parts) == 0 { // there is none either after a rollback, in a trial, or with OnDelete
		return nil
	}
	a := takeAccount(spec, s)
	if a.expedited() {
		return nil
	}
	remembered := spotOf{stage: -1}
	if f := s.Memory.Rollout.Frontier; s.Memory.Version == rollout.MemoryVersion && !f.At.IsZero() {
		remembered = a.spotNamed(f.Stage, f.Value)
	}
	if marked := a.marked(); compareSpots(marked, remembered) > 0 {
		remembered = marked
	}
	// The first part that is certainly not done: a node of it is to have the revision, and no pod of it.
	var undone *spotOf
	for _, d := range p.Decisions {
		at := a.ofNode[d.Node]
		if compareSpots(at, remembered) <= 0 || (undone != nil && compareSpots(*undone, at) <= 0) {
			continue
		}
		expected := slices.ContainsFunc(s.InFlight.Creates, func(c rollout.InFlightCreate) bool { return c.Node == d.Node })
		if d.Target == rollout.TargetUpdate && d.Facts&status.Updated == 0 && !expected && !d.Exempt() {
			undone = &at
		}
	}
	if undone == nil {
		return nil
	}
	for _, d := range p.Deletes {
		if d.Reason == rollout.ReasonOutdated && compareSpots(a.ofNode[d.Node], *undone) > 0 {
			return fmt.Errorf("V20: the pod on %s is replaced, and part %v is not done", d.Node, *undone)
		}
	}
	for _, create := range p.Creates {
		if create.Reason == rollout.ReasonOutdated && compareSpots(a.ofNode[create.Node], *undone) > 0 {
			return fmt.Errorf("V20: a pod is created on %s beside the one there, and part %v is not done", create.Node, *undone)
		}
	}
	for _, patch := range p.Patches {
		if patch.Reason == rollout.ReasonOutdated && compareSpots(a.ofNode[patch.Node], *undone) > 0 {
			return fmt.Errorf("V20: the pod on %s is begun, and part %v is not done", patch.Node, *undone)
		}
	}
	return nil
}

// observeStages keeps account of the parts before each plan, and sees to it that in parts which are not open no pod comes at the
// update revision, none is begun, and what is lost comes back as it was, or at a revision that was rolled out before.
func observeStages(tale) observer {
	var p progress
	var made *account // before the last plan
	var open map[spotOf]bool
	read := 0
	base := map[string]bool{}
	return func(s *sight) error {
		events := s.cluster.Events()
		if made != nil {
			for _, e := range events[read:] {
				if err := made.allows(e, open, base); err != nil {
					return err
				}
			}
		}
		base[s.stable.hash] = true
		for _, e := range events[read:] {
			if e.Kind == harness.RevisionAnnotated && strings.Contains(e.Detail, history.CompletedAnnotation) {
				base[e.Revision] = true
			}
		}
		read, made = len(events), nil
		if !s.planned {
			return nil
		}
		spec := s.spec
		a := takeAccount(&spec, s.cluster.Snapshot())
		open = p.follow(a)
		if a.trial = mayBeTried(a); a.trial || !a.completed() && !a.expedited() {
			made = a
		}
		return nil
	}
}

// mayBeTried reports whether the revision may be on trial.
func mayBeTried(a *account) bool {
	return a.spec.Strategy.Canary != nil && !slices.ContainsFunc(a.seen.Revisions, func(r *appsv1.ControllerRevision) bool {
		return r.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] == a.hash && history.Promoted(r)
	})
}

// allows judges what the controller did.
func (a *account) allows(e harness.Event, open map[spotOf]bool, base map[string]bool) error {
	at, known := a.ofNode[e.Node]
	if !known || open[at] && !a.trial {
		return nil
	}
	before, live, ran := (*corev1.Pod)(nil), 0, map[string]bool{}
	for _, p := range a.seen.Pods {
		if nodeOf(p) != e.Node {
			continue
		}
		ran[revisionOf(p)] = true
		if p.UID == e.UID {
			before = p
		}
		if p.DeletionTimestamp == nil && p.Status.Phase != corev1.PodFailed {
			live++
		}
	}
	for _, create := range a.seen.InFlight.Creates {
		ran[create.Revision] = ran[create.Revision] || create.Node == e.Node
	}
	if a.trial { // the canary decides about the revision (T6); one that was rolled out in stages before gets no further
		if (e.Kind == harness.PodCreated || e.Kind == harness.PodUpdated) && e.Revision != a.hash && !ran[e.Revision] && !base[e.Revision] {
			return fmt.Errorf("V20: %s: a pod of %s, which was not rolled out, comes during a trial; the node ran %v", e, e.Revision, ran)
		}
		return nil
	}
	switch e.Kind {
	case harness.PodCreated:
		if !ran[e.Revision] && !base[e.Revision] {
			return fmt.Errorf("V20: %s: a pod of %s comes to part %v, which is not open; the node ran %v", e, e.Revision, at, ran)
		}
	case harness.PodUpdated:
		if e.Revision == a.hash && before != nil && !isBegun(before) && !slices.Contains(a.seen.InFlight.Patches, e.UID) {
			return fmt.Errorf("V20: %s: in part %v, which is not open", e, at)
		}
	case harness.PodDeleted:
		broken := before != nil && !isReady(before) && !base[revisionOf(before)] // it goes back to what was good (P-E)
		if before != nil && live == 1 && before.Status.Phase != corev1.PodFailed && revisionOf(before) != a.hash && isRun(a, e.Node) && !broken {
			return fmt.Errorf("V20: %s: in part %v, which is not open", e, at)
		}
	default: // brings no pod
	}
	return nil
}

func isBegun(p *corev1.Pod) bool {
	state := lifecycle.StateOf(p)
	return state == lifecycle.PreparingUpdate || state == lifecycle.Updating ||
		carriesGate(p) && !isTrue(p, lifecycle.InPlaceUpdateReady)
}

func isRun(a *account, node string) bool {
	return slices.ContainsFunc(a.seen.Nodes, func(n *corev1.Node) bool { return n.Name == node && runs(n) })
}

// observeRolledOut sees to it that in the end all nodes have the revision, and that the revision is marked.
func observeRolledOut(tale) observer {
	return func(s *sight) error {
		if rests, err := s.rests(); !rests {
			return err
		}
		spec := s.spec
		a := takeAccount(&spec, s.cluster.Snapshot())
		some := false
		for _, at := range a.spots {
			n := a.tally[at]
			if n.nodes+n.arrived == 0 && n.barred > 0 {
				return nil // who is tainted has his turn when he is not any more, and those behind him wait
			}
			if some = some || n.settled > 0; n.settled < n.nodes {
				return fmt.Errorf("V16: in the end part %v has %+v", at, *n)
			}
		}
		if some && !a.completed() {
			return fmt.Errorf("V18: in the end revision %s is not marked as rolled out", a.hash)
		}
		return nil
	}
}

// checkForgetfulStages loses the memory before every third plan. The rollout is over at the same time, and each node got the revision as
// often: the mark on the revision says how far the stages are.
func checkForgetfulStages(c tale, f factory) error {
	forgetful := func(spec rollout.Spec) (harness.PlanFunc, error) {
		plan, err := f(spec)
		plans := 0
		return func(s rollout.Snapshot) (rollout.Plan, error) {
			if plans++; plans%3 == 0 {
				s.Memory = rollout.Memory{}
			}
			return plan(s)
		}, err
	}
	with, err := c.tell(f, observeStages, observeRolledOut)
	if err != nil {
		return err
	}
	without, err := c.tell(forgetful, observeStages, observeRolledOut)
	if err != nil {
		return fmt.Errorf("with losses: %w", err)
	}
	got := func(s *sight) map[string]int {
		times := map[string]int{}
		for _, e := range s.cluster.Events() {
			if (e.Kind == harness.PodCreated || e.Kind == harness.PodUpdated) && e.Revision == s.of.hash {
				times[e.Node]++
			}
		}
		return times
	}
	if before, after := got(with), got(without); !maps.Equal(before, after) {
		return fmt.Errorf("V16: the nodes got the revision %v times, and with losses %v times\n%s", before, after, without.recently())
	}
	if before, after := with.cluster.Now(), without.cluster.Now(); after.After(before) {
		return fmt.Errorf("V16: it is over at %s, and with losses at %s\n%s", before, after, without.recently())
	}
	return nil
}

// observeOpenParts sees to it that in the end no node of an open part is behind, whatever has become of the others.
func observeOpenParts(tale) observer {
	var p progress
	var open map[spotOf]bool
	return func(s *sight) error {
		spec := s.spec
		a := takeAccount(&spec, s.cluster.Snapshot())
		if s.planned {
			open = p.follow(a)
		}
		if rests, err := s.rests(); !rests {
			return err
		}
		for _, n := range a.seen.Nodes {
			settled, arrived := a.standing(n)
			if at := a.ofNode[n.Name]; open[at] && !settled && !arrived && !slices.Contains(s.Behavior.Silent, n.Name) {
				return fmt.Errorf("V16: part %v is open, and node %s is not updated in the end", at, n.Name)
			}
		}
		return nil
	}
}

// Worlds.

// stageTale draws a fleet at rest with rings and zones, for whose set a revision comes that is rolled out in stages.
func stageTale(t *rapid.T, options ...rollouttest.SpecOption) tale {
	spec := rollouttest.Spec("agent", rollouttest.Requests(corev1.ResourceCPU, "100m"), rapid.SampledFrom([]rollouttest.SpecOption{
		rollouttest.MaxUnavailable("1"), rollouttest.MaxUnavailable("2"), rollouttest.MaxUnavailable("100%"),
		rollouttest.MaxSurge("1"), rollouttest.MaxSurge("100%"),
	}).Draw(t, "budget"))
	for _, option := range options {
		option(&spec)
	}
	switch rapid.SampledFrom([]string{"plain", "plain", "in place", "hook", "first hook", "both"}).Draw(t, "method") {
	case "in place":
		rollouttest.InPlaceIfPossible()(&spec)
	case "hook":
		rollouttest.PreDeleteHook(rollouttest.HookLabel("hook", "on"))(&spec)
		rollouttest.PodTemplateLabel("hook", "on")(&spec)
	case "first hook":
		rollouttest.PreNormalHook(rollouttest.HookLabel("hook", "on"))(&spec)
	case "both":
		rollouttest.InPlaceIfPossible()(&spec)
		rollouttest.InPlaceUpdateHook(rollouttest.HookLabel("hook", "on"))(&spec)
		rollouttest.PodTemplateLabel("hook", "on")(&spec)
	}
	if spec.Strategy.MaxSurge != nil {
		spec.Strategy.Method = ""
	}
	spec.MinReadySeconds = rapid.SampledFrom([]int32{0, 0, 30}).Draw(t, "minReadySeconds")
	if rapid.SampledFrom([]bool{false, false, true}).Draw(t, "overridden") {
		rollouttest.Override(cpuFor("more", "a", "200m"))(&spec)
	}
	rollouttest.Stages(draw.AnyStages().Draw(t, "stages")...)(&spec)
	c := calmWorld(t, spec)
	for _, n := range c.Snapshot.Nodes {
		if ring := rapid.SampledFrom(draw.Rings()).Draw(t, "ring"); ring != "" {
			rollouttest.Label(harness.RingLabel, ring)(n)
		}
	}
	c.Behavior.SameID = nil
	c.Spec = altered(spec, rollouttest.Image(nextImage))
	if rapid.Bool().Draw(t, "rolled out before") {
		c.Snapshot.Revisions = []*appsv1.ControllerRevision{rollouttest.RolledOut(spec, 1)}
	}
	return c
}

// approve changes the approvals of a spec.
func approve(list []stage.Approval) rollouttest.SpecOption {
	return func(s *rollout.Spec) { s.Strategy.Policy.Approved = list }
}

// all are approvals of all stages.
func all(spec rollout.Spec) rollouttest.SpecOption {
	var list []stage.Approval
	for _, s := range spec.Strategy.Policy.Stages {
		list = append(list, stage.Approval{Stage: s.Name, Revision: rollouttest.Hash(spec)})
	}
	return approve(list)
}

// drawStageTurns draws what users do on the way, and what befalls the fleet.
func drawStageTurns(t *rapid.T, c *tale) {
	now := c.Spec
	last := len(c.Snapshot.Nodes) - 1
	for range rapid.IntRange(0, 6).Draw(t, "turns") {
		next := turn{after: rapid.IntRange(0, 10).Draw(t, "after")}
		switch rapid.SampledFrom([]string{"approvals", "approvals", "all approvals", "mishap", "mishap", "mishap", "revision", "back", "expedite", "pause"}).Draw(t, "turn") {
		case "approvals":
			now = altered(now, approve(draw.AnyApprovals(now.Strategy.Policy.Stages, rollouttest.Hash(now)).Draw(t, "approvals")))
		case "all approvals":
			now = altered(now, all(now))
		case "revision":
			now = altered(now, rollouttest.Image(rapid.SampledFrom([]string{"agent:v5", "agent:v6", nextImage}).Draw(t, "image")))
		case "back":
			now = altered(now, func(s *rollout.Spec) { s.Template = *c.Stable.Template.DeepCopy() })
		case "expedite":
			now = altered(now, rollouttest.Expedite(rapid.SampledFrom([]string{"", rollouttest.Hash(now), canary.Any}).Draw(t, "expedite")))
		case "pause":
			now = altered(now, func(s *rollout.Spec) { s.Strategy.Paused = !s.Strategy.Paused })
		case "mishap":
			next.mishap = harness.Mishap{
				Kind: rapid.SampledFrom([]harness.MishapKind{
					harness.LoseMemory, harness.LoseMemory, harness.EvictPods, harness.EvictPods, harness.CrashPods, harness.MoveNode,
					harness.AddNode, harness.CordonNode, harness.DeleteNode, harness.TaintNode,
				}).Draw(t, "kind"),
				Node: c.Snapshot.Nodes[rapid.IntRange(0, last).Draw(t, "node")].Name,
			}
			c.turns = append(c.turns, next)
			continue
		}
		next.spec = &now
		c.turns = append(c.turns, next)
	}
	now.Strategy.Paused = false
	c.turns = append(c.turns, turn{after: 1, spec: new(altered(now, func(s *rollout.Spec) { s.Strategy.Paused = false }))})
}

var stageMore = []rollouttest.SpecOption{
	func(*rollout.Spec) {}, func(*rollout.Spec) {}, func(*rollout.Spec) {}, rollouttest.Partition("1"), rollouttest.Partition("50%"),
	rollouttest.StrategyNodeSelector(zoneKey, "a"), rollouttest.SlowStart(time.Minute, "1", "10"), rollouttest.Burst("1"),
	func(s *rollout.Spec) {
		rollouttest.Canary("1")(s)
		rollouttest.CanaryFor(time.Minute, 0)(s)
	},
}

func stageWorlds() *rapid.Generator[tale] {
	return rapid.Custom(func(t *rapid.T) tale {
		c := stageTale(t)
		rapid.SampledFrom(stageMore).Draw(t, "more")(&c.Spec)
		if rapid.Bool().Draw(t, "approved at once") {
			all(c.Spec)(&c.Spec)
		}
		drawStageTurns(t, &c)
		c.most = enough
		return c
	})
}

// breakingStageWorlds generates tales of a revision that takes nodes down, which then need only keep their pods.
func breakingStageWorlds() *rapid.Generator[tale] {
	return rapid.Custom(func(t *rapid.T) tale {
		c := stageTale(t, rollouttest.MaxUnavailable("100%"))
		c.Spec.Strategy.MaxSurge = nil
		all(c.Spec)(&c.Spec)
		c.Behavior.Breaking = []string{nextImage}
		for _, n := range c.Snapshot.Nodes {
			if rapid.SampledFrom([]bool{true, true, false}).Draw(t, "robust") {
				c.Behavior.Robust = append(c.Behavior.Robust, n.Name)
			}
		}
		c.most = enough
		return c
	})
}

// quietStageWorlds generates tales in which in the end everything is approved, and nothing holds any node.
func quietStageWorlds() *rapid.Generator[tale] {
	return rapid.Custom(func(t *rapid.T) tale {
		c := stageTale(t)
		rapid.SampledFrom(stageMore).Draw(t, "more")(&c.Spec)
		drawStageTurns(t, &c)
		end := altered(*c.turns[len(c.turns)-1].spec, func(s *rollout.Spec) { s.Strategy.Partition = nil })
		all(end)(&end)
		c.turns[len(c.turns)-1].spec = &end
		return c
	})
}

// approvedWorlds generates tales of stages that are all approved, and in which nothing else happens.
func approvedWorlds() *rapid.Generator[tale] {
	return rapid.Custom(func(t *rapid.T) tale {
		c := stageTale(t)
		all(c.Spec)(&c.Spec)
		return c
	})
}

// growingStageWorlds generates tales of fleets in which nodes join that never come up, and others move to other zones. The budget
// stops nobody.
func growingStageWorlds() *rapid.Generator[tale] {
	return rapid.Custom(func(t *rapid.T) tale {
		everything := rapid.SampledFrom([]rollouttest.SpecOption{rollouttest.MaxUnavailable("100%"), rollouttest.MaxSurge("100%")}).Draw(t, "everything")
		c := stageTale(t, func(s *rollout.Spec) { s.Strategy.MaxUnavailable, s.Strategy.MaxSurge = nil, nil }, everything)
		if rapid.Bool().Draw(t, "approved") {
			all(c.Spec)(&c.Spec)
		}
		for range rapid.IntRange(1, 4).Draw(t, "turns") {
			node := rapid.SampledFrom(c.Snapshot.Nodes).Draw(t, "node").Name
			kind := rapid.SampledFrom([]harness.MishapKind{harness.AddNode, harness.AddNode, harness.MoveNode, harness.EvictPods}).Draw(t, "kind")
			c.turns = append(c.turns, turn{after: rapid.IntRange(1, 15).Draw(t, "after"), mishap: harness.Mishap{Kind: kind, Node: node}})
			c.Behavior.Silent = append(c.Behavior.Silent, node+"-new")
		}
		return c
	})
}
