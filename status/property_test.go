package status_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"pgregory.net/rapid"

	"github.com/daemonplan/daemonplan/internal/fuzzing"
	"github.com/daemonplan/daemonplan/status"
)

// node is one node of a model fleet. The oracle looks at nodes, Summarize at the numbers derived from them.
type node struct {
	desired           bool
	old, oldAvailable bool // a live pod of an older revision
	upd, updAvailable bool // a live pod of the update revision
	held, waits       bool
}

func (n node) settled() bool  { return n.upd && n.updAvailable }
func (n node) outdated() bool { return n.old && !n.upd }

// scene is a fleet and all that Summarize needs besides.
type scene struct {
	nodes []node
	in    status.Input // counters filled in from nodes
}

func newScene(nodes []node, in status.Input) scene {
	for _, n := range nodes {
		var f status.Facts
		for bit, is := range map[status.Facts]bool{
			status.Desired:   n.desired,
			status.Present:   n.old || n.upd,
			status.Ready:     n.old && n.oldAvailable || n.settled(),
			status.Available: n.old && n.oldAvailable || n.settled(),
			status.Updated:   n.upd,
		} {
			if is {
				f |= bit
			}
		}
		in.Counts.Add(f)
		if !n.desired {
			continue
		}
		if n.settled() {
			in.Settled++
		}
		if n.outdated() {
			in.Outdated++
			if n.held {
				in.Held++
			} else if n.waits {
				in.Waiting++
			}
		}
	}
	return scene{nodes, in}
}

var revisions = rapid.SampledFrom([]string{"r1", "r1", "r2", ""})

var scenes = rapid.Custom(func(t *rapid.T) scene {
	flag := func(name string, oneIn int) bool { return rapid.IntRange(1, oneIn).Draw(t, name) == oneIn }
	// Most fleets are alike in some way; without that, hardly any would be complete or held throughout.
	var all node
	all.desired, all.upd, all.updAvailable = !flag("none desired", 8), flag("all new", 2), flag("all available", 2)
	allHeld := flag("all held", 3)
	nodes := make([]node, rapid.IntRange(0, 5).Draw(t, "nodes"))
	for i := range nodes {
		n := all
		n.desired = n.desired && !flag("not desired", 5)
		n.old, n.oldAvailable = flag("old", 2), flag("old available", 2)
		n.upd, n.updAvailable = n.upd || flag("new", 3), n.updAvailable || flag("new available", 3)
		n.held, n.waits = allHeld || flag("held", 4), flag("waits", 2)
		nodes[i] = n
	}
	small := rapid.Int32Range(0, 3)
	previous := rapid.Custom(func(t *rapid.T) metav1.Condition {
		return metav1.Condition{
			Type:   rapid.SampledFrom([]string{"Available", "Progressing", "Canary", "Other"}).Draw(t, "type"),
			Status: rapid.SampledFrom([]metav1.ConditionStatus{"True", "False", "Unknown"}).Draw(t, "status"),
			LastTransitionTime: rapid.SampledFrom([]metav1.Time{
				{}, metav1.NewTime(noon.Add(-time.Hour)), metav1.NewTime(noon.Add(time.Hour)),
			}).Draw(t, "since"),
		}
	})
	return newScene(nodes, status.Input{
		Now:               noon,
		UpdateRevision:    revisions.Draw(t, "update revision"),
		CompletedRevision: revisions.Draw(t, "completed revision"),
		Paused:            flag("paused", 5), Frozen: flag("frozen", 5), OnDelete: flag("onDelete", 5), Acting: flag("acting", 2), Moving: flag("moving", 2),
		MaxUnavailable:  small.Draw(t, "maxUnavailable"),
		Unavailable:     small.Draw(t, "unavailable"),
		MaxSurge:        rapid.SampledFrom([]int32{0, 0, 1, 2}).Draw(t, "maxSurge"),
		HeldUnavailable: small.Draw(t, "held unavailable"),
		Trial: status.Trial{
			State:    rapid.SampledFrom(trialStates).Draw(t, "trial"),
			Promoted: flag("promoted", 3),
			Reason:   rapid.SampledFrom(trialReasons).Draw(t, "trial reason"),
			Message:  rapid.SampledFrom([]string{"", "pod agent-x1 restarted 6 times"}).Draw(t, "trial message"),
		},
		Previous: rapid.SliceOfN(previous, 0, 3).Draw(t, "previous"),
	})
})

// Half of the sets have nothing on trial. Those of a trial that are no states of one count as that.
var trialStates = []status.SetState{
	status.Unknown, status.Unknown, status.Unknown, status.Unknown, status.Running, 77,
	status.Canary, status.CanaryPaused, status.CanaryFailed, status.Stuck,
}

var trialReasons = []string{"", "TooManyRestarts", "too many restarts"}

type summarize func(status.Input) status.Status

// trialOf returns what the oracle says of the condition Canary: its status and reason, empty if there is none.
func trialOf(trial status.Trial) string {
	var word, reason string
	switch trial.State {
	case status.Canary:
		word, reason = "True", "CanaryOnTrial"
	case status.CanaryPaused:
		word, reason = "True", "CanaryOnHold"
	case status.Stuck:
		word, reason = "True", "CanaryWithoutNodes"
	case status.CanaryFailed:
		word, reason = "False", "CanaryRejected"
	default:
		if !trial.Promoted {
			return ""
		}
		word, reason = "False", "CanaryPromoted"
	}
	if trial.Reason == trialReasons[1] {
		reason = trial.Reason
	}
	return word + " " + reason
}

// verdict returns what the oracle says: S2, S3 and the latch, node by node.
func verdict(s scene) seen {
	in := s.in
	complete, reached, free, held, none := true, true, false, false, true
	for _, n := range s.nodes {
		if !n.desired {
			none = none && !n.old && !n.upd
			continue
		}
		keeps := n.outdated() && (n.held || in.OnDelete)
		complete = complete && n.settled()
		reached = reached && (n.settled() || keeps)
		free = free || n.outdated() && !keeps
		held = held || keeps
	}
	trial := in.Trial.State
	tried := trial == status.Canary || trial == status.CanaryPaused || trial == status.CanaryFailed || trial == status.Stuck
	complete, reached = complete && !tried, reached && !tried
	recordable := in.Counts.Desired > 0 || none
	latched := !tried && in.UpdateRevision != "" && (in.CompletedRevision == in.UpdateRevision || complete && recordable)

	var v seen
	if latched {
		v.Completed = in.UpdateRevision
	}
	rest := status.RolloutComplete
	if held {
		rest = status.RolloutHeld
		if in.OnDelete {
			rest = status.OnDelete
		}
	}
	budget := in.MaxUnavailable
	if in.MaxSurge != 0 {
		budget = in.MaxSurge
	}
	blocked := in.HeldUnavailable > 0 && budget-in.HeldUnavailable < 1
	switch {
	case in.Frozen:
		v.State, v.Reason = status.Frozen, status.FrozenBySpec
	case in.Paused:
		v.State, v.Reason = status.Paused, status.PausedBySpec
	case trial == status.CanaryFailed:
		v.State, v.Reason = status.CanaryFailed, status.CanaryRejected
	case trial == status.CanaryPaused:
		v.State, v.Reason = status.CanaryPaused, status.CanaryOnHold
	case trial == status.Stuck:
		v.State, v.Reason = status.Stuck, status.CanaryWithoutNodes
	case blocked && in.Waiting != 0 && !in.Acting:
		v.State, v.Reason = status.Stuck, status.HeldPodsUseUpBudget
	case trial == status.Canary:
		v.State, v.Reason = status.Canary, status.CanaryOnTrial
	case !free && (reached || latched):
		v.State, v.Reason = status.Running, rest
	case !in.Acting && !in.Moving: // P-A
		v.State, v.Reason = status.Stuck, status.NothingMoves
	case in.Acting || free && in.Waiting == 0:
		v.State, v.Reason = status.Updating, status.RolloutInProgress
	default:
		v.State, v.Reason = status.Updating, status.WaitingForAvailability
	}
	switch {
	case latched || complete:
		v.Progressing = "False " + status.RolloutComplete.String()
	case reached:
		v.Progressing = "False " + rest.String()
	case v.State == status.Updating || v.State == status.Canary:
		v.Progressing = "True " + v.Reason.String()
	default:
		v.Progressing = "Unknown " + v.Reason.String()
	}
	return v
}

// sceneViolation returns how f breaks the guarantees of the package; nil if it keeps them.
func sceneViolation(f summarize, s scene) error {
	got := f(s.in)
	if errs := validation.ValidateConditions(got.Conditions, field.NewPath("conditions")); len(errs) > 0 {
		return errs.ToAggregate()
	}
	var types []string
	canary := ""
	for _, c := range got.Conditions {
		if types = append(types, c.Type); c.Type == "Canary" {
			if canary = string(c.Status) + " " + c.Reason; c.Message != s.in.Trial.Message {
				return fmt.Errorf("the condition Canary says %q, the trial %q", c.Message, s.in.Trial.Message)
			}
		}
	}
	if want := trialOf(s.in.Trial); canary != want {
		return fmt.Errorf("the condition Canary is %q, want %q", canary, want)
	}
	if want := []string{"Available", "Progressing", "Canary"}; !slices.Equal(types, want[:min(len(types), 3)]) || len(types) < 2 {
		return fmt.Errorf("conditions are not %v: %v", want, types)
	}
	if want := verdict(s); look(got) != want {
		return fmt.Errorf("got %v, the oracle says %v", look(got), want)
	}
	if diff := cmp.Diff(s.in.Counts, got.Counts); diff != "" {
		return fmt.Errorf("counters changed (-in +out):\n%s", diff)
	}
	if look(got).Completed != "" && s.in.CompletedRevision != s.in.UpdateRevision &&
		(got.Updated < got.Desired || got.Available < got.Desired) {
		return fmt.Errorf("complete, but kubectl rollout status would wait: %+v", got.Counts)
	}
	if wantFalse := got.Unavailable > s.in.MaxUnavailable; wantFalse != (got.Conditions[0].Status == "False") {
		return fmt.Errorf("Available is %s, %d unavailable of at most %d",
			got.Conditions[0].Status, got.Unavailable, s.in.MaxUnavailable)
	}
	for _, c := range got.Conditions {
		since := noon
		i := slices.IndexFunc(s.in.Previous, func(p metav1.Condition) bool { return p.Type == c.Type })
		if i >= 0 && s.in.Previous[i].Status == c.Status && !s.in.Previous[i].LastTransitionTime.IsZero() {
			since = s.in.Previous[i].LastTransitionTime.Time
		}
		if !c.LastTransitionTime.Time.Equal(since) {
			return fmt.Errorf("%s is %s since %v, want %v", c.Type, c.Status, c.LastTransitionTime, since)
		}
	}
	// A canary node that is away, or back, is no news of the trial (S3).
	away := s.in
	away.Settled, away.Counts.Available, away.Counts.Ready = 0, 0, 0
	away.Acting, away.Moving, away.Waiting = !away.Acting, true, 0
	if other := f(away); s.in.Trial.State != status.Unknown && s.in.HeldUnavailable == 0 &&
		trialOf(s.in.Trial) != "" && !s.in.Trial.Promoted && look(other) != look(got) {
		return fmt.Errorf("%v while nodes are away, %v before", look(other), look(got))
	}
	next := s.in
	next.Now, next.Previous, next.CompletedRevision = noon.Add(time.Hour), got.Conditions, got.CompletedRevision
	if diff := cmp.Diff(got, f(next)); diff != "" {
		return fmt.Errorf("the same an hour later is not the same (-now +later):\n%s", diff)
	}
	return nil
}

func sceneProperty(t *rapid.T) {
	s := scenes.Draw(t, "scene")
	s.in.Previous = slices.Grow(s.in.Previous, 4) // spare room would show an append to the input
	before := slices.Clone(s.in.Previous[:cap(s.in.Previous)])
	if err := sceneViolation(status.Summarize, s); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, s.in.Previous[:cap(s.in.Previous)]); diff != "" {
		t.Fatalf("Previous was written (-before +after):\n%s", diff)
	}
}

func TestSummarizeProperty(t *testing.T) { rapid.Check(t, sceneProperty) }

func FuzzSummarize(f *testing.F) { fuzzing.Property(f, rapid.MakeFuzz(sceneProperty)) }

// Numbers that no fleet gives must neither panic nor complete a rollout that the counters deny.
func arbitraryProperty(t *rapid.T) {
	number := rapid.OneOf(rapid.Int32(), rapid.SampledFrom([]int32{-1 << 31, -1, 0, 1, 1<<31 - 1}))
	n := func(name string) int32 { return number.Draw(t, name) }
	in := status.Input{
		Now: noon,
		Counts: status.Counts{
			Desired: n("desired"), Current: n("current"), Misscheduled: n("misscheduled"), Ready: n("ready"),
			Available: n("available"), Unavailable: n("unavailable"), Updated: n("updated"),
		},
		UpdateRevision: "r1", OnDelete: rapid.Bool().Draw(t, "onDelete"),
		Settled: n("settled"), Outdated: n("outdated"), Held: n("held"), Waiting: n("waiting"),
		MaxUnavailable: n("maxUnavailable"), Unavailable: n("spent"), MaxSurge: n("maxSurge"),
		HeldUnavailable: n("held unavailable"),
		Trial: status.Trial{
			State:    status.SetState(rapid.Uint8().Draw(t, "trial")),
			Promoted: rapid.Bool().Draw(t, "promoted"),
			Reason:   rapid.OneOf(rapid.String(), rapid.StringMatching(`[A-Za-z0-9_,:]{0,4}`)).Draw(t, "reason"),
			Message:  rapid.String().Draw(t, "message"),
		},
	}
	s := status.Summarize(in)
	if s.State == status.Unknown || s.Reason == status.ReasonNone {
		t.Fatalf("state %v, reason %v", s.State, s.Reason)
	}
	if s.DisruptionsAllowed < 0 || s.Unavailable < 0 {
		t.Fatalf("disruptions allowed %d, unavailable %d", s.DisruptionsAllowed, s.Unavailable)
	}
	if s.CompletedRevision != "" && s.Desired > 0 && (s.Updated < s.Desired || s.Available < s.Desired || in.Outdated > 0) {
		t.Fatalf("complete with %+v, %d outdated", s.Counts, in.Outdated)
	}
	if errs := validation.ValidateConditions(s.Conditions, field.NewPath("conditions")); len(errs) > 0 {
		t.Fatal(errs.ToAggregate())
	}
}

func TestSummarizeArbitrary(t *testing.T) { rapid.Check(t, arbitraryProperty) }

func FuzzSummarizeArbitrary(f *testing.F) { fuzzing.Property(f, rapid.MakeFuzz(arbitraryProperty)) }

// TestScenesAreVaried holds the generator: a property over scenes that are never stuck proves nothing about Stuck.
func TestScenesAreVaried(t *testing.T) {
	found := map[seen]bool{}
	for seed := range 3000 {
		v := verdict(scenes.Example(seed))
		v.Completed = ""
		found[v] = true
	}
	for _, want := range []seen{
		{status.Running, status.RolloutComplete, "False RolloutComplete", ""},
		{status.Running, status.RolloutHeld, "False RolloutHeld", ""},
		{status.Running, status.RolloutHeld, "False RolloutComplete", ""},
		{status.Running, status.OnDelete, "False OnDelete", ""},
		{status.Updating, status.RolloutInProgress, "True RolloutInProgress", ""},
		{status.Updating, status.RolloutInProgress, "False RolloutComplete", ""},
		{status.Updating, status.WaitingForAvailability, "True WaitingForAvailability", ""},
		{status.Stuck, status.HeldPodsUseUpBudget, "Unknown HeldPodsUseUpBudget", ""},
		{status.Paused, status.PausedBySpec, "Unknown PausedBySpec", ""},
		{status.Paused, status.PausedBySpec, "False RolloutComplete", ""},
		{status.Frozen, status.FrozenBySpec, "Unknown FrozenBySpec", ""},
		{status.Canary, status.CanaryOnTrial, "True CanaryOnTrial", ""},
		{status.CanaryPaused, status.CanaryOnHold, "Unknown CanaryOnHold", ""},
		{status.CanaryFailed, status.CanaryRejected, "Unknown CanaryRejected", ""},
		{status.Stuck, status.CanaryWithoutNodes, "Unknown CanaryWithoutNodes", ""},
	} {
		if !found[want] {
			t.Errorf("no scene is %v", want)
		}
	}
}
