package differential_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/daemonplan/daemonplan/internal/conformance/peer"
	"github.com/daemonplan/daemonplan/internal/differential"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/stock"
	"github.com/daemonplan/daemonplan/rollout/verify"
)

// step is a world, with what the controller and the planner make of it.
type step struct {
	world     differential.World
	input     *peer.Case
	spec      rollout.Spec
	situation *peer.Situation
	claims    rollout.Claims
	plan      rollout.Plan
	stock     rollout.Plan // of the stock planner
	// Of the controller: what each phase does alone on the unchanged world, and what one sync does of both.
	manage, roll, sync differential.Requests
	rollFailed         bool
	status             peer.Counters
}

// take runs both on the world.
func take(c *differential.Controller, w differential.World) (*step, error) {
	s := &step{world: w}
	if err := s.asController(c); err != nil {
		return nil, fmt.Errorf("the controller: %w", err)
	}
	if err := s.asPlanner(); err != nil {
		return nil, fmt.Errorf("the planner: %w", err)
	}
	var err error
	s.situation, err = peer.NewSituation(s.input, s.spec)
	return s, err
}

func (s *step) asController(c *differential.Controller) error {
	if err := c.Load(s.world); err != nil {
		return err
	}
	hash := s.world.UpdateHash()
	c.Forget()
	var err error
	if s.manage, err = c.Manage(hash); err != nil {
		return fmt.Errorf("manage: %w", err)
	}
	if s.world.Set.Spec.UpdateStrategy.Type == appsv1.RollingUpdateDaemonSetStrategyType {
		if err := c.Load(s.world); err != nil {
			return err
		}
		c.Forget()
		s.roll, err = c.RollingUpdate(hash)
		s.rollFailed = err != nil
	}
	reported, err := c.Report(hash)
	if err != nil {
		return fmt.Errorf("status: %w", err)
	}
	if s.status, err = counters(reported); err != nil {
		return err
	}
	if err := c.Load(s.world); err != nil {
		return err
	}
	c.Forget()
	s.sync, err = c.Sync()
	if failed := err != nil; failed != (s.rollFailed && !s.manage.Acts()) {
		return fmt.Errorf("sync fails: %w; but the update phase alone fails: %v", err, s.rollFailed)
	}
	return nil
}

func counters(r differential.Requests) (peer.Counters, error) {
	if r.Status == nil {
		return peer.Counters{}, errors.New("no status was stored")
	}
	return peer.Counters{
		Desired: r.Status.DesiredNumberScheduled, Current: r.Status.CurrentNumberScheduled, Misscheduled: r.Status.NumberMisscheduled,
		Ready: r.Status.NumberReady, Updated: r.Status.UpdatedNumberScheduled,
		Available: r.Status.NumberAvailable, Unavailable: r.Status.NumberUnavailable,
	}, nil
}

func (s *step) asPlanner() error {
	set, err := json.Marshal(s.world.Set)
	if err != nil {
		return err
	}
	c := &peer.Case{Peer: "kubernetes", Now: s.world.Now, DaemonSet: set, Revisions: s.world.Revisions, Nodes: s.world.Nodes}
	if s.world.Burst > 0 {
		c.BurstReplicas = new(int32(s.world.Burst))
	}
	if err := c.DecodeSet(); err != nil {
		return err
	}
	spec, err := c.Spec()
	if err != nil {
		return err
	}
	s.spec = spec
	if s.claims, err = rollout.Claim(spec, s.world.Pods); err != nil {
		return err
	}
	c.Pods = s.claims.Pods
	s.input = c
	planner, err := rollout.New(spec)
	if err != nil {
		return err
	}
	snapshot := c.Snapshot()
	if s.plan, err = planner.Plan(snapshot); err != nil {
		return err
	}
	imitation, err := stock.NewKubernetes(spec, uint64(len(snapshot.Pods)))
	if err != nil {
		return err
	}
	if s.stock, err = imitation.Plan(snapshot); err != nil {
		return err
	}
	var errs []error
	for _, v := range verify.Plan(spec, snapshot, &s.plan) {
		errs = append(errs, errors.New(v.String()))
	}
	return errors.Join(errs...)
}

// differ tells how the controller differs from the model of it, and the plan from the model with all rules. It returns
// the rules because of which the plan differs from the controller.
func (s *step) differ() (needed peer.RuleSet, err error) {
	alone := s.situation.Outcome(0, peer.Decided{})
	var errs []error
	for _, phase := range []struct {
		name string
		did  differential.Requests
		may  peer.Phase
	}{
		{"manage", s.manage, alone.Manage}, {"rollingUpdate", s.roll, alone.Roll}, {"sync", s.sync, syncOf(s, alone)},
	} {
		if !peer.Permits(phase.may.Creates, peer.Act{}, phase.did.Creates) ||
			!peer.Permits(phase.may.Fates, peer.Act{}, peer.Deleted.Of(phase.did.Deletes...)) {
			errs = append(errs, fmt.Errorf("%s creates on %v and deletes %v, which the model does not: %v",
				phase.name, phase.did.Creates, phase.did.Deletes, alone))
		}
	}
	for _, claim := range []struct {
		verb   string
		theirs []string
		ours   []*corev1.Pod
	}{
		{"adopts", s.sync.Adopts, s.claims.Adopt}, {"releases", s.sync.Releases, s.claims.Release},
	} {
		// The controller claims its pods anew in each phase, and releases terminating ones, too.
		theirs := slices.DeleteFunc(slices.Compact(slices.Sorted(slices.Values(claim.theirs))), func(name string) bool {
			return slices.ContainsFunc(s.claims.Pods, func(p *corev1.Pod) bool { return p.Name == name && p.DeletionTimestamp != nil })
		})
		if !slices.Equal(theirs, namesOf(claim.ours)) {
			errs = append(errs, fmt.Errorf("the controller %s %v, Claim %v", claim.verb, theirs, namesOf(claim.ours)))
		}
	}
	if s.rollFailed != alone.Failed {
		errs = append(errs, fmt.Errorf("rollingUpdate fails: %v; in the model: %v", s.rollFailed, alone.Failed))
	}
	stored, err := counters(s.sync)
	if err != nil && s.status != counted(s.world.Set) {
		errs = append(errs, err)
	}
	if err == nil && stored != s.status || s.status != alone.Status {
		errs = append(errs, fmt.Errorf("status %v, after a sync %v, in the model %v", s.status, stored, alone.Status))
	}
	if g := s.sync.Status; g != nil && g.ObservedGeneration != s.plan.Status.ObservedGeneration {
		errs = append(errs, fmt.Errorf("observed generation %d, in the plan %d", g.ObservedGeneration, s.plan.Status.ObservedGeneration))
	}
	imitated := peer.Outcome{Status: alone.Status, Manage: syncOf(s, alone)}
	if decided := peer.DecidedBy(s.stock); !imitated.Permits(decided) {
		errs = append(errs, fmt.Errorf("the stock planner decides %+v, the controller %v", decided, imitated))
	}
	errs = append(errs, s.otherRevisions()...)
	needed, ok := s.situation.Explain(peer.DecidedBy(s.plan))
	if !ok {
		decided := peer.DecidedBy(s.plan)
		errs = append(errs, fmt.Errorf("the plan is unexplained: %v\nmodel with all rules: %v\nmodel alone: %v",
			decided, s.situation.Outcome(peer.AllRules, decided), alone))
	}
	return needed, errors.Join(errs...)
}

// otherRevisions reports pods that either of the two makes of another revision than the set's own.
func (s *step) otherRevisions() (errs []error) {
	hash := s.world.UpdateHash()
	for _, c := range s.plan.Creates {
		if c.Revision != hash || c.Template != nil {
			errs = append(errs, fmt.Errorf("the plan creates a pod of revision %s on %s, want %s", c.Revision, c.Node, hash))
		}
	}
	for i, node := range s.sync.Creates {
		if of := s.sync.Templates[i].Labels[appsv1.DefaultDaemonSetUniqueLabelKey]; of != hash {
			errs = append(errs, fmt.Errorf("the controller creates a pod of revision %s on %s, want %s", of, node, hash))
		}
	}
	return errs
}

func namesOf(pods []*corev1.Pod) (names []string) {
	for _, p := range pods {
		names = append(names, p.Name)
	}
	return names
}

// syncOf is the phase that a sync does: the first that has something to do.
func syncOf(s *step, alone peer.Outcome) peer.Phase {
	if s.manage.Acts() {
		return alone.Manage
	}
	return alone.Roll
}

// counted is what the stored status counts.
func counted(set *appsv1.DaemonSet) peer.Counters {
	c, err := counters(differential.Requests{Status: &set.Status})
	if err != nil {
		panic(err) // there is a status
	}
	return c
}

// tally counts, for the log, what the comparison has seen. rapid runs one property at a time.
type tally struct {
	worlds, agree int
	needed        [peer.Rules]int
	creates       int
	deletes       int
	// updates are the worlds in which a sync is the update phase, choices those in which the budget lets it take some only.
	updates, choices int
}

func (n *tally) add(s *step, needed peer.RuleSet) {
	n.worlds++
	n.creates += len(s.manage.Creates) + len(s.roll.Creates)
	n.deletes += len(s.manage.Deletes) + len(s.roll.Deletes)
	if needed == 0 {
		n.agree++
	}
	if roll := s.situation.Outcome(0, peer.Decided{}).Roll; !s.manage.Acts() && s.sync.Acts() {
		n.updates++
		n.choices += min(1, len(roll.Creates.From)+len(roll.Fates.From))
	}
	for r := range peer.Rules {
		n.needed[r] += int(needed >> r & 1)
	}
}

func (n *tally) log(t *testing.T) {
	t.Helper()
	t.Logf("%d worlds: %d agree, %d explained; the controller created %d pods and deleted %d; it updated in %d worlds, in %d of them not all that it could",
		n.worlds, n.agree, n.worlds-n.agree, n.creates, n.deletes, n.updates, n.choices)
	for r, e := range peer.Entries[:] {
		if e.Of.Has(peer.Kubernetes) {
			if n.needed[r] == 0 && n.worlds >= 20000 {
				t.Errorf("no world needs %s", e.ID)
			}
			t.Logf("%7d worlds need %s (%s): %s", n.needed[r], e.ID, e.Rule, e.Why)
		}
	}
}

// TestOneStep compares what the controller does with a world with what a plan does. Whatever differs is put down to an
// entry of the table of deliberate differences, which is what the model of the controller needs to become our plan; and
// the model, alone, is held to the controller.
func TestOneStep(t *testing.T) {
	c := newController(t)
	var n tally
	check(t, 1, func(t *rapid.T) {
		w := rapid.OneOf(anyWorld(), anyWorld(), anyFleet()).Draw(t, "world")
		s, err := take(c, w)
		var needed peer.RuleSet
		if err == nil {
			needed, err = s.differ()
		}
		if err != nil {
			t.Fatal(report("TestOneStep", w, err))
		}
		n.add(s, needed)
	})
	n.log(t)
	if n.worlds == 0 || n.creates == 0 || n.deletes == 0 || n.agree == 0 {
		t.Error("the controller does nothing, or always something else")
	}
}

func newController(t testing.TB) *differential.Controller {
	t.Helper()
	c, err := differential.NewController()
	if err != nil {
		t.Fatal(err)
	}
	return c
}
