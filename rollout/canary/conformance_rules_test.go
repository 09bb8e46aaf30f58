package canary_test

import (
	"os"
	"slices"
	"testing"

	"github.com/daemonplan/daemonplan/internal/conformance"
)

// rule is one deliberate difference from the recorded controller. It is a switch of the model.
type rule uint8

const (
	unfitUsesNoQuota rule = iota
	rarestValueFirst
	initRestartsCount
	goneIsReplaced
	deselectedIsReplaced
	surplusIsDropped
	desiredIsCounted
	someNodeAtLeast
	desiredAtMost
	pidPressureIsTolerated
	someNodeIsLeftOut

	failKeepsReason
	timeoutsNeedNoPod
	timeoutsWaitForPauseCommand
	restartsAreDatedAsSeen
	startTimeElseCreation
	initializingIsCreating
	firstReasonCounts
	pauseKeepsReason
	pauseCommandComesFirst
	unpauseLiftsAutomaticPauses
	leavingPodsDisturb
	lastStateIsAny
	unsetIsDefault
	restartsAreDatedAnyhow
	ephemeralsDoNotCount
	endedPodsArePassedOver

	failedIsNotPromoted
	validateDoesNotRevive
	haltedPromotesNothing
	exactlyLongEnough
	futureIsNow
	stableCannotFail

	rules // count
)

// ruleSet holds the rules that are switched on, one bit each.
type ruleSet uint64

const allRules ruleSet = 1<<rules - 1

// These are the rules by what they are about: Choose, what Judge concludes from pods, and what it concludes from the clock.
var (
	chooseRules = rulesUpTo(0, failKeepsReason)
	watchRules  = rulesUpTo(failKeepsReason, failedIsNotPromoted)
	clockRules  = rulesUpTo(failedIsNotPromoted, rules)
	judgeRules  = slices.Concat(watchRules, clockRules)
)

func rulesUpTo(first, end rule) (list []rule) {
	for r := first; r < end; r++ {
		list = append(list, r)
	}
	return list
}

// entry is one row of the table of deliberate differences.
type entry struct{ id, rule, why string }

// entries is the table of deliberate differences. A difference is explained by those entries whose rules the model of the
// controller needs to come to our result.
var entries = [rules]entry{
	unfitUsesNoQuota: {"unfit-uses-no-quota", "C1",
		"nodes that may not run the pod use up the controller's share of their label value"},
	rarestValueFirst: {"rarest-value-first", "C1",
		"the controller goes by restarts and only keeps each label value from its share; then it may find too few"},
	initRestartsCount: {"init-restarts-count", "C1",
		"the controller does not count restarts of init containers"},
	goneIsReplaced: {"gone-is-replaced", "C1",
		"a chosen node that no longer exists stays chosen, and counts"},
	deselectedIsReplaced: {"deselected-is-replaced", "C1",
		"a chosen node that the selector no longer matches stays chosen, fit or not"},
	surplusIsDropped: {"surplus-is-dropped", "C1",
		"the controller unselects nothing when fewer nodes are wanted"},
	desiredIsCounted: {"desired-is-counted", "B1, C1",
		"the controller takes percentages of its last stored status"},
	someNodeAtLeast: {"some-node-at-least", "C1",
		"a percentage of no nodes skips the controller's canary"},
	desiredAtMost: {"desired-at-most", "C1",
		"the controller wants more nodes than there are, which is an error"},
	pidPressureIsTolerated: {"pid-pressure-is-tolerated", "P1",
		"the controller's pods do not tolerate pid-pressure"},
	someNodeIsLeftOut: {"some-node-is-left-out", "C1",
		"a percentage below 100% may be all of the controller's nodes"},

	failKeepsReason: {"fail-keeps-reason", "C6",
		"the controller forgets at its next sync why a canary failed"},
	timeoutsNeedNoPod: {"timeouts-need-no-pod", "C4, C5",
		"the controller looks at its timeouts only while it looks at a pod, and before it looks at the next"},
	timeoutsWaitForPauseCommand: {"timeouts-wait-for-pause-command", "C5",
		"the controller fails a canary that somebody paused because it takes too long"},
	restartsAreDatedAsSeen: {"restarts-are-dated-as-seen", "C4",
		"restarts begin for the controller with the last one that it finds, and count from its next sync on"},
	startTimeElseCreation: {"start-time-else-creation", "C3",
		"the controller panics if a pod that does not start has no start time"},
	initializingIsCreating: {"initializing-is-creating", "C3",
		"the controller waits for ever for a pod with init containers to be created"},
	firstReasonCounts: {"first-reason-counts", "C3",
		"the controller reports the reason of the last canary node, in the order in which they were chosen"},
	pauseKeepsReason: {"pause-keeps-reason", "C3",
		"the controller gives a pause another reason when another pod comes into trouble"},
	pauseCommandComesFirst: {"pause-command-comes-first", "C5",
		"the controller calls a pause by command automatic if there is a reason for that, too"},
	unpauseLiftsAutomaticPauses: {"unpause-lifts-automatic-pauses", "C3",
		"the controller's canary-unpaused lifts a pause by command, too, and any only while it looks at a pod"},
	leavingPodsDisturb: {"leaving-pods-disturb", "C2",
		"the controller does not see the restarts of a pod that is being deleted"},
	lastStateIsAny: {"last-state-is-any", "C3",
		"the controller panics if the last state of a container that restarted is not that it terminated"},
	unsetIsDefault: {"unset-is-default", "C3, C4",
		"the controller panics if autoPause or autoFail is not set"},
	restartsAreDatedAnyhow: {"restarts-are-dated-anyhow", "C2",
		"the controller dates only restarts that are counted and whose end is known, not by the start that followed"},
	ephemeralsDoNotCount: {"ephemerals-do-not-count", "C3",
		"the controller looks at ephemeral containers as at others"},
	endedPodsArePassedOver: {"ended-pods-are-passed-over", "C2, C3",
		"the controller judges a pod that has Failed or Succeeded like one that runs"},

	failedIsNotPromoted: {"failed-is-not-promoted", "C4, C6",
		"the controller promotes a failed canary once its duration is over"},
	validateDoesNotRevive: {"validate-does-not-revive", "C5",
		"the controller promotes a failed canary by command"},
	haltedPromotesNothing: {"halted-promotes-nothing", "C2, C7",
		"the controller's clock runs, and promotes, while the set is paused or frozen"},
	exactlyLongEnough: {"exactly-long-enough", "C2",
		"the controller wants more than the duration to have passed"},
	futureIsNow: {"future-is-now", "C2",
		"the controller waits longer if its clock was set back to before the replica set was created"},
	stableCannotFail: {"stable-cannot-fail", "C6",
		"the controller's canary-failed fails a replica set that is active already"},
}

// variedOnly are the entries that no recorded case needs, but variations do.
var variedOnly = []rule{
	someNodeIsLeftOut, lastStateIsAny, unsetIsDefault, restartsAreDatedAnyhow, ephemeralsDoNotCount, endedPodsArePassedOver,
	futureIsNow, stableCannotFail,
}

// recordedOnly returns those of the rules that recorded cases need.
func recordedOnly(of []rule) []rule {
	return slices.DeleteFunc(slices.Clone(of), func(r rule) bool { return slices.Contains(variedOnly, r) })
}

// explain finds a set of rules with which the model agrees, and from which no rule can be left out. Where one rule can replace
// another one, the earlier one of the table is taken.
func explain(of []rule, agrees func(peer) bool) (needed ruleSet, ok bool) {
	var p peer
	for _, r := range of {
		p.rules |= 1 << r
	}
	if !agrees(p) {
		return 0, false
	}
	if agrees(peer{}) {
		return 0, true
	}
	for _, r := range slices.Backward(of) {
		before := p.rules
		if p.rules &^= 1 << r; !agrees(p) {
			p.rules = before
		}
	}
	return p.rules, true
}

// tally counts the results of comparing the cases of a file.
type tally struct {
	file                                    string
	of                                      []rule // rules that cases may need
	own                                     []rule // rules that some case needs
	cases, agree, explained, refused, aside int
	needed                                  [rules]int
}

// add counts a case for the rules that it needs, and reports whether they explain it.
func (c *tally) add(agrees func(peer) bool) bool {
	needed, ok := explain(c.of, agrees)
	switch {
	case !ok:
		return false
	case needed == 0:
		c.agree++
	default:
		c.explained++
	}
	for r := range rules {
		c.needed[r] += int(needed >> r & 1)
	}
	return true
}

// report prints the counts. An entry that no recorded case needs is an error, because it is out of date.
func (c *tally) report(t *testing.T) {
	t.Helper()
	t.Logf("%s: %d cases: %d agree, %d explained, %d refused as invalid, %d aside",
		c.file, c.cases, c.agree, c.explained, c.refused, c.aside)
	if c.agree+c.explained+c.refused+c.aside != c.cases {
		t.Errorf("%s: %d cases unexplained", c.file, c.cases-c.agree-c.explained-c.refused-c.aside)
	}
	for _, r := range c.own {
		e := entries[r]
		t.Logf("%4d cases need %s (%s): %s", c.needed[r], e.id, e.rule, e.why)
		if c.needed[r] == 0 && os.Getenv(conformance.EnvDir) == "" {
			t.Errorf("no case of %s needs %s", c.file, e.id)
		}
	}
}
