package transcript_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/daemonplan/daemonplan/rollout/rollouttest/transcript"
)

// story is a transcript of two stanzas: a cluster with everything installed, and the commands.
func story(commands string) string {
	return "# Expectations.\n\n# Three nodes, installed.\ncluster nodes=a,b,c image=v1\ninstall\n----\n\n# Why.\n" + commands + "\n----\n"
}

// TestExpectationsFail: each expectation fails where it does not hold, and says what was, what was expected, and what the plan
// has to say about the nodes that make the difference.
func TestExpectationsFail(t *testing.T) {
	const begun = "spec image=v2\nstep\n"
	const updating, running = "\n\tat 12:00:16: Updating (RolloutInProgress)", "\n\tat 12:00:16: Running (RolloutComplete)"
	const explainA = "\n\ta: outdated; waits: its pod agent-x0001 is outdated, but maxUnavailable 1 is used up by c"
	const explainB = "\n\tb: outdated; waits: its pod agent-x0002 is outdated, but maxUnavailable 1 is used up by c"
	const explainC = "\n\tc: outdated; replace pod agent-x0003: the pod is outdated, and the budget allows it; counts against maxUnavailable"
	tests := []struct{ name, why, before, expect, want string }{
		{"too few", "the nodes that lack it are shown", "node add d\nstep\ntick 1s\n", "status ready=4", "ready is 3, not 4\n\tat 12:00:17: Running (RolloutComplete)\n\td: starting; "},
		{"too many", "the nodes that have it are shown", "node label a x=y\n", "status ready<=2", "ready is 3, more than 2" + running + "\n\ta: updated; "},
		{"less than at least", "as few", begun, "status updated>=2", "updated is 0, less than 2" + updating + explainA + explainB + explainC},
		{"unavailable", "it counts what available does not", begun + "tick 1s\n", "status unavailable=0", "unavailable is 1, not 0\n\tat 12:00:17: Updating (WaitingForAvailability)\n\tc: terminating; "},
		{"misscheduled", "nodes that have a pod and are not to", "node taint b x=y:NoSchedule\n", "status misscheduled=0", "misscheduled is 1, not 0" + running + "\n\tb: kept; "},
		{"state", "those nodes are shown that have something before them", begun, "status state=Running", "state is Updating, not Running" + updating + explainA},
		{"several", "all that is wrong is said", begun, "status state=Running current=3 reason=RolloutComplete", "state is Updating, not Running; reason is RolloutInProgress, not RolloutComplete" + updating},
		{"wake", "no node makes it", "", "status wake=30s", "wake is none, not 30s" + running},
		{"missing action", "what was done is shown, and who waits", begun, "actions deletes=2", "deletes is 1, not 2\n\tcreate revision r2 as number 2\n\tdelete agent-x0003 at r1 on c (Outdated)" + updating + explainA + explainB},
		{"an action too many", "the nodes are shown that had it", begun, "actions deletes=0", "deletes is 1, not 0\n\tcreate revision r2 as number 2\n\tdelete agent-x0003 at r1 on c (Outdated)" + updating + explainC},
		{"no actions", "none is nothing of each kind", begun, "actions none", "deletes is 1, not 0; revisions is 1, not 0\n\t"},
		{"actions of a plan that is not made", "they are those that there would be", "spec image=v2\n", "actions deletes=0", "deletes is 1, not 0\n\tcreate revision r2 as number 2\n\tdelete"},
		{"decision", "the node's explanation", begun, "decision a state=outdated verb=replace reason=Outdated limit=none", "verb is wait, not replace; reason is Budget, not Outdated; limit is maxUnavailable, not none" + updating + explainA},
		{"truth", "each can be asked for", begun, "decision c unavailable=false surging=true exempt=true canary=true", "unavailable is true, not false; surging is false, not true; exempt is false, not true; canary is false, not true" + updating + explainC},
		{"target and pod", "each can be asked for", begun, "decision c target=held pod=agent-x0001", "target is update, not held; pod is agent-x0003, not agent-x0001"},
		{"explanation without the words", "the explanation is shown", begun, `explain a contains "used up by c" contains "by d"`, `the explanation lacks "by d"` + updating + explainA},
		{"explanation with the words", "the explanation is shown", begun, `explain a lacks "used up"`, `the explanation contains "used up"` + updating + explainA},
		{"canary", "what the canary says is shown", "spec canary=1 duration=5m\nspec image=v2\nrun 1m\n", "canary phase=Paused reason=ByCommand nodes=b revision=r1 stable=r2",
			"phase is Running, not Paused; reason is Observing, not ByCommand; nodes is a, not b; revision is r2, not r1; stable is r1, not r2\n\tat 12:01:16: Canary (CanaryOnTrial)\n\ta: updated; "},
		{"part", "the nodes that keep it and those that wait for it are shown, and all parts", "node label a x=y\nspec stages=first:selector=x=y\n" + begun, "part rest phase=Done nodes=3 behind=1 keptBy=b",
			"phase is Waiting, not Done; nodes is 2, not 3; behind is 2, not 1; keptBy is none, not b" + updating + "\n\tb: outdated; waits: its pod agent-x0002 is outdated, but the last stage"},
		{"parts", "they are shown", "node label a x=y\nspec stages=first:selector=x=y\n" + begun, "parts none", "parts are judged: first Open, rest Waiting" + updating},
		{"part of a decision", "it is called as in expect part", "node label a x=y\nspec stages=first:selector=x=y\n" + begun, "decision b part=first", "part is rest, not first" + updating},
		{"pod", "its node's explanation", begun, "pod a revision=update status=Failed restarts=1 image=agent:v2",
			"revision is r1, not r2; status is Ready, not Failed; restarts is 0, not 1; image is agent:v1, not agent:v2" + updating + explainA},
		{"no such event", "what has happened is shown", "crash a\n", "event crashed node=b", "crashed is 0, less than 1\n\t12:00:16 crashed agent-x0001 on a (main)\n\tat 12:00:16: Running (RolloutComplete)\n\tb: updated; "},
		{"of another object", "a name can be asked for", "crash a\n", "event crashed node=a object=agent-x0002", "crashed is 0, less than 1"},
		{"an event too many", "none was expected", "crash a\n", "no event crashed", "crashed is 1, not 0\n\t12:00:16 crashed agent-x0001 on a (main)"},
		{"another number of events", "they are counted", "crash a\ncrash b\n", "event crashed count<=1", "crashed is 2, more than 1\n\t12:00:16 crashed agent-x0001 on a (main)\n\t12:00:16 crashed agent-x0002 on b (main)"},
		{"an event of the stanza before", "it was told there", "", "event created", "created is 0, less than 1\n\tat 12:00:16:"},
		{"many nodes", "a few of them are enough", "fleet 7\n", "status ready=10", "ready is 3, not 10\n\tat 12:00:16: Running (RolloutComplete)\n\tn001: missing; "},
	}
	seen := map[string]bool{}
	for _, tt := range tests {
		if tt.name == "" || tt.why == "" || seen[tt.name] {
			t.Fatalf("row %q: needs a name of its own and a reason", tt.name)
		}
		seen[tt.name] = true
		t.Run(tt.name, func(t *testing.T) {
			text, err := transcript.Play(story(tt.before + "expect " + tt.expect))
			var failure *transcript.LineError
			if text == "" || !errors.As(err, &failure) {
				t.Fatalf("played %q with error %v, want a failed expectation: %s", text, err, tt.why)
			}
			if !strings.HasPrefix(failure.Err.Error(), tt.want) {
				t.Errorf("failed with\n%v\nwant what begins with\n%s\n%s", failure.Err, tt.want, tt.why)
			}
			line := 9 + strings.Count(tt.before, "\n")
			if failure.Line != line || failure.Command != "expect "+tt.expect ||
				!strings.HasPrefix(failure.Error(), fmt.Sprintf("%d: expect %s: %s", line, tt.expect, tt.want)) {
				t.Errorf("the failure is %q in line %d: %v", failure.Command, failure.Line, failure)
			}
		})
	}
}

// TestManyNodesAreCutShort: a large fleet does not flood the failure.
func TestManyNodesAreCutShort(t *testing.T) {
	for joined, more := range map[int]string{4: "", 5: "", 6: "\n\tand 1 more nodes", 7: "\n\tand 2 more nodes"} {
		_, err := transcript.Play(story(fmt.Sprintf("fleet %d\nexpect status ready=%d", joined, joined+3)))
		if err == nil || !strings.HasSuffix(err.Error(), more) || strings.Count(err.Error(), ": missing; ") != min(joined, 5) ||
			strings.Contains(err.Error(), "more nodes") != (more != "") {
			t.Errorf("the failure with %d nodes shows other than five: %v", joined, err)
		}
	}
}

// TestFailuresShowNoMore: what a failed expectation shows, to its last word.
func TestFailuresShowNoMore(t *testing.T) {
	tests := []struct{ name, commands, want string }{
		{"explanation", `expect explain a contains "used up"`, "9: expect explain a contains \"used up\": the explanation lacks \"used up\"\n" +
			"\tat 12:00:16: Running (RolloutComplete)\n\ta: updated; nothing to do: its pod is at the update revision and available"},
		{"canary", "spec canary=1 duration=5m\nspec image=v2\nexpect canary phase=Idle", "11: expect canary phase=Idle: phase is Running, not Idle\n" +
			"\tat 12:00:16: Canary (CanaryOnTrial)\n" +
			"\ta: outdated; replace pod agent-x0001: the pod is outdated, and the budget allows it; counts against maxUnavailable; " +
			"is a canary node\n\tcanary: not every canary node has an available pod of the revision"},
		{"no canary", "expect canary phase=Running", "9: expect canary phase=Running: phase is Idle, not Running\n" +
			"\tat 12:00:16: Running (RolloutComplete)\n\tcanary: nothing is known about a canary"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := transcript.Play(story(tt.commands)); err == nil || err.Error() != tt.want {
				t.Errorf("failed with\n%v\nwant\n%s", err, tt.want)
			}
		})
	}
}

// TestExpectationsGoOn: all that does not hold is reported, and what is printed is not lost.
func TestExpectationsGoOn(t *testing.T) {
	text, err := transcript.Play(story("expect status ready=2\nstatus\nexpect status updated=2\nexpect status ready=3"))
	want := []string{"9: expect status ready=2: ready is 3", "11: expect status updated=2: updated is 3"}
	for _, line := range want {
		if err == nil || !strings.Contains(err.Error(), line) {
			t.Errorf("the error lacks %q: %v", line, err)
		}
	}
	if strings.Count(fmt.Sprint(err), "expect ") != len(want) {
		t.Errorf("more was reported: %v", err)
	}
	if strings.Count(text, "Running (RolloutComplete)") != 2 {
		t.Errorf("the answers are not there:\n%s", text)
	}
}

// TestExpectationsThatCannotBe: what could never hold, or never fail, is a mistake and no failed expectation; the story ends
// there.
func TestExpectationsThatCannotBe(t *testing.T) {
	tests := []struct{ name, why, expect, want string }{
		{"nothing", "it would always hold", "", `nothing can be expected of ""`},
		{"of nothing", "a typo", "stats ready=3", `nothing can be expected of "stats"`},
		{"of nothing known", "it would always hold", "status", "nothing is expected; there is desired, current, ready"},
		{"unknown key", "a typo must not hold", "status redy=3", "there is no redy to expect; there is desired"},
		{"no pair", "a typo must not hold", "status ready", "ready must be key=value"},
		{"no key", "a typo must not hold", "status =3", "=3 must be key=value"},
		{"no comparison", "a typo must not hold", "status ready<3", "ready<3 must be key=value"},
		{"a short key", "it is one all the same", "status x=3", "there is no x to expect"},
		{"a state without a name", "there is none", "status state=SetState(99)", `state: "SetState(99)" cannot be; there is Unknown, Running`},
		{"a verb without a name", "there is none", "decision a verb=unknown", `verb: "unknown" cannot be; there is none, `},
		{"a phase without a name", "there is none", `canary phase="code 99"`, `phase: "code 99" cannot be; there is Idle, Running, Paused, Failed`},
		{"an event without a name", "there is none", "event unknown", `there is no event "unknown"; there are revision-created`},
		{"no number", "a typo must not fail as a difference", "status ready=three", `ready: "three" is no number`},
		{"unknown state", "a typo must not fail as a difference", "status state=running", `state: "running" cannot be; there is Unknown, Running`},
		{"unknown reason", "as above", "decision a reason=Budgets", `reason: "Budgets" cannot be; there is None`},
		{"a truth", "as above", "decision a canary=yes", `canary: "yes" cannot be; there is true, false`},
		{"words are not ordered", "it would mean nothing", "status state<=Running", "state: <= is for numbers"},
		{"no such node", "nothing is decided about it", "decision d verb=none", `nothing is decided about a node "d"`},
		{"no node", "nothing is decided about it", "decision", `nothing is decided about a node ""`},
		{"no words", "it would always hold", "explain a", "what the explanation contains or lacks is not said"},
		{"empty words", "they would always be there", `explain a contains ""`, "the words after contains are missing"},
		{"no verb for words", "a typo", `explain a has "x"`, `an explanation contains or lacks words, it does not "has"`},
		{"no such part", "those that there are", "part zones=a phase=Open", `there is no part "zones=a"; there is none`},
		{"all parts", "only none says something of all", "parts Done", `of all parts only none can be expected, not "Done"`},
		{"no such pod", "nothing runs there", "pod d status=Ready", "0 pods are called so"},
		{"no such kind", "it never happens", "event melted", `there is no event "melted"; there are revision-created`},
		{"no count of none", "none is a count", "no event crashed count=1", "unknown argument count=1"},
		{"no not", "it would say little", "no status ready=3", "only events can be expected not to be"},
		{"trailing word", "a typo", "event gone twice", "unknown argument twice"},
		{"unpaired quotes", "they mean nothing", `explain a contains "a b`, `an explanation contains or lacks words, it does not "b"`},
	}
	seen := map[string]bool{}
	for _, tt := range tests {
		if tt.name == "" || tt.why == "" || seen[tt.name] {
			t.Fatalf("row %q: needs a name of its own and a reason", tt.name)
		}
		seen[tt.name] = true
		t.Run(tt.name, func(t *testing.T) {
			text, err := transcript.Play(story(strings.TrimSpace("expect " + tt.expect)))
			var failure *transcript.LineError
			if text != "" || !errors.As(err, &failure) || !strings.HasPrefix(failure.Err.Error(), tt.want) {
				t.Errorf("played %q with error %v, want none and an error that begins with %q: %s", text, err, tt.want, tt.why)
			}
		})
	}
}

// TestExpectationsAreAboutTheLastPlan: which plan an expectation is about, command by command.
func TestExpectationsAreAboutTheLastPlan(t *testing.T) {
	tests := []struct{ name, why, commands string }{
		{"the plan of a step", "it shows the plan, and what comes of it is not seen yet", "spec image=v2\nstep\nexpect actions deletes=1\nexpect decision c state=outdated verb=replace"},
		{"shown between", "what changes nothing changes no expectation", "spec image=v2\nstep\npods\nfleet\nmarks\nexpect decision c state=outdated"},
		{"explained", "it is about what was explained", "spec image=v2\nstep\nexplain c\nexpect decision c state=terminating\nexpect actions deletes=1"},
		{"after a change", "the plan is of now", "spec image=v2\nstep\nnode label a x=y\nexpect decision c state=terminating\nexpect actions deletes=1"},
		{"after time", "the plan is of now", "spec image=v2\nstep\ntick 2s\nexpect decision c state=missing verb=create"},
		{"nothing made in this stanza", "it is about what a plan would do", "spec image=v2\nexpect actions deletes=1 revisions=1\nexpect status updated=0"},
		{"not executed by expecting", "asking changes nothing", "spec image=v2\nexpect actions deletes=1\nexpect no event deleted\nexpect actions deletes=1"},
		{"a whole run", "the actions of all its plans", "spec image=v2\nrun\nexpect actions deletes=3 creates=3\nexpect decision c state=updated verb=none"},
		{"a whole ramp", "the actions of all its plans", "spec image=v2\nramp 5m\nexpect actions deletes=3 creates=3"},
		{"a second later", "the plan is of now", "spec image=v2\nstep\ntick\nadvance 1s\ntick 1ns\nexpect decision c state=missing verb=create"},
		{"a node more", "the plan is of now", "status\nfleet 1\nexpect status desired=4"},
		{"a node by its number", "one is a number, too", "node add 1\nexpect status desired=4"},
		{"pods of two revisions", "one that is not said is the current one", "spec image=v2\nrun\npod add a name=x revision=r1\npod add a name=y\n" +
			"expect pod x revision=r1\nexpect pod y revision=r2"},
		{"pods of two ages", "one that has just started is not available yet", "cluster nodes=a,b minReadySeconds=30\n" +
			"pod add a name=x state=started\npod add b name=y\nexpect status ready=2 available=1"},
		{"a pod seen late", "a lag is for what is told of pods, too", "cluster nodes=a lag=3\ninstall\nfail a\nexpect pod a status=Ready\n" +
			"tick 5s\nexpect pod a status=Failed"},
		{"a drain seen late", "a lag is for it, too", "cluster nodes=a lag=3\ninstall\nnode drain a\nexpect pod a status=Ready"},
		{"silence seen late", "a lag is for it, too", "cluster nodes=a lag=3\ninstall\nnode unreachable a\nexpect pod a status=Ready"},
		{"failed and unready", "what has failed does not run again", "unready a\nfail a\ntick\nexpect pod a status=Failed"},
		{"failed and down", "what has failed does not run again", "fail a\nnode down a\ntick\nexpect pod a status=Failed"},
		{"drained by half", "the rest is, too", "pod add a name=x\npod delete agent-x0001\nnode drain a\nexpect pod x status=Terminating"},
		{"unreachable with a pod that does not run", "the others become unready", "cluster nodes=a\npod add a name=x state=pending\n" +
			"pod add a name=y\nnode unreachable a\nexpect pod x status=Pending\nexpect pod y status=NotReady"},
		{"a node that comes back", "its kubelet is a new one", "node down a\nnode remove a\ntick 5s\nnode add a\nrun\nexpect status ready=3"},
		{"no delay, no lag, no crash", "none is a number, too", "cluster nodes=a lag=0 failedPulls=0 start=0s\nbehave crashes=0 stop=0s\ninstall"},
		{"after forgetting", "the plan is of now", "spec image=v2\nstep\nforget\nexpect decision c state=terminating"},
		{"quotes within quotes", "they are part of the words", `spec nodeSelector=pool=main` + "\n" + `expect explain a contains "is not \"main" contains "is not \"main\""`},
		{"spaces between words", "they mean nothing", "  node \t label   a  x=y  \nexpect  status\tready=3  "},
		{"another cluster", "nothing has happened there yet", "spec image=v2\nrun\n" + text("takeover orphans=true", simple("b")) +
			"\nexpect no event deleted\nnode add d\ntick 2s\nfail agent-x0004\nexpect event failed count=0"},
		{"orphaned revisions", "they are claimed as the pods are", text("takeover orphans=true", strings.NewReplacer(
			"app: b", "app: agent", "image: a", "image: agent:v1").Replace(simple("b"))) +
			"\nexpect actions none\nexpect status updated=3"},
		{"the last of two", "the command before counts", "spec image=v2\nrun\nstep\nexpect actions none"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := transcript.Play(story(tt.commands)); err != nil {
				t.Errorf("%v: %s", err, tt.why)
			}
		})
	}
}

// TestOrdersThatCannotBe: an approval and an order that say nothing are mistakes.
func TestOrdersThatCannotBe(t *testing.T) {
	tests := []struct{ command, want string }{
		{"approve", "which stage is approved for which revision is not said, as in approve zones=b r2"},
		{"approve zones=b", "which stage is approved for which revision is not said, as in approve zones=b r2"},
		{"approve zones r2", "policy.approved[0].stage"},
		{"approve none r1", "unknown argument r1"},
		{"expedite", "which revision is expedited is not said"},
		{"expedite r1 r2", "unknown argument r2"},
	}
	for _, tt := range tests {
		t.Run(tt.command, func(t *testing.T) {
			if _, err := transcript.Play(story(tt.command)); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
		})
	}
}
