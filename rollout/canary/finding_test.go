package canary_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/history"
)

// TestCodesHaveTexts walks all values of the codes. The values end where the text becomes a number.
func TestCodesHaveTexts(t *testing.T) {
	rows := []struct {
		name, why string
		count     int
		text      func(uint8) string
	}{
		{"Phase", "status and manifests show it", int(canary.Failed) + 1, func(n uint8) string { return canary.Phase(n).String() }},
		{"Reason", "the annotation of a failed revision holds it", int(canary.TimedOut) + 1, func(n uint8) string { return canary.PhaseReason(n).String() }},
		{"Class", "reports show it", int(canary.Other) + 1, func(n uint8) string { return canary.Class(n).String() }},
	}
	unique := make(uniqueRows)
	for _, row := range rows {
		unique.check(t, row.name, row.why)
		t.Run(row.name, func(t *testing.T) {
			seen := make(map[string]bool)
			for n := range 256 {
				text := row.text(uint8(n))
				if numbered := strings.HasPrefix(text, "code "); text == "" || seen[text] || numbered != (n >= row.count) {
					t.Errorf("%d has the text %q", n, text)
				}
				seen[text] = true
			}
		})
	}
	if got := canary.PhaseReason(200).String(); got != "code 200" {
		t.Errorf("an unknown reason is %q", got)
	}
}

// TestMessages holds that every reason has a sentence of its own, and which names the sentence holds.
func TestMessages(t *testing.T) {
	seen := make(map[string]canary.PhaseReason)
	for r := canary.FirstInstallation; r <= canary.TimedOut; r++ {
		message := canary.Finding{Reason: r}.Message()
		if other, ok := seen[message]; ok || message == "" || message == (canary.Finding{}).Message() {
			t.Errorf("%v says %q, as %v does", r, message, other)
		}
		seen[message] = r
	}
	rows := []struct {
		name, why string
		finding   canary.Finding
		want      string
	}{
		{"nothing", "the zero value", canary.Finding{}, "nothing is known about a canary"},
		{"paused by command", "the phase tells what was commanded", canary.Finding{Phase: canary.Paused, Reason: canary.ByCommand},
			"the canary is paused by command"},
		{"failed by command", "the phase tells what was commanded", canary.Finding{Phase: canary.Failed, Reason: canary.ByCommand},
			"the revision is given up by command"},
		{"restarts", "who, how often and why", canary.Finding{
			Reason: canary.TooManyRestarts, Node: "n", Pod: "p", Container: "c", Detail: "Error", Restarts: 3,
		}, "too many restarts: container c of pod p on node n restarted 3 times, last after Error"},
		{"one restart", "English", canary.Finding{Reason: canary.TooManyRestarts, Node: "n", Pod: "p", Restarts: 1},
			"too many restarts: pod p on node n restarted once"},
		{"restarts that go on", "the pod that restarted last", canary.Finding{Reason: canary.RestartsGoOn, Node: "n", Pod: "p", Restarts: 2},
			"restarts have gone on for too long: pod p on node n restarted 2 times"},
		{"cannot start", "who and why", canary.Finding{Reason: canary.CannotStart, Node: "n", Pod: "p", Container: "c", Detail: "ErrImagePull", Restarts: 1},
			"a pod cannot start: container c of pod p on node n waits with ErrImagePull"},
		{"slow start", "who", canary.Finding{Reason: canary.SlowStart, Node: "n", Pod: "p"}, "a pod is still being created: pod p on node n waits"},
		{"cannot start, nobody knows who", "as read off an annotation without its message", canary.Finding{Reason: canary.CannotStart},
			"a pod cannot start"},
		{"too many restarts, nobody knows whose", "the same", canary.Finding{Reason: canary.TooManyRestarts}, "too many restarts"},
		{"other", "a pod says nothing about a timeout", canary.Finding{Reason: canary.TimedOut, Pod: "p"}, "the canary has taken too long"},
		{"recorded", "what stands on the revision is all there is", canary.Finding{Reason: canary.TimedOut, Recorded: "it took an hour"}, "it took an hour"},
	}
	unique := make(uniqueRows)
	for _, row := range rows {
		unique.check(t, row.name, row.why)
		if got := row.finding.Message(); got != row.want {
			t.Errorf("%s: %s: says %q, want %q", row.name, row.why, got, row.want)
		}
	}
}

// TestFailsAreReadBack holds that every reason for a fail survives the loss of the record (C6).
func TestFailsAreReadBack(t *testing.T) {
	for reason := canary.ByCommand; reason <= canary.TimedOut; reason++ {
		s := observing()
		s.in.Record.Verdict = &canary.Finding{Phase: canary.Failed, Reason: reason, Node: "a", Pod: "a-1", Restarts: 7}
		j := s.judge()
		s.in.Record, s.in.Annotations = canary.Record{}, j.Set
		again := s.judge()
		if again.Phase != canary.Failed || again.Reason != reason || again.Message() != j.Message() || len(again.Set) > 0 {
			t.Errorf("%v became %s", reason, say(again))
		}
	}
	if len((situation{}).judge().Set) > 0 || history.FailedAnnotation == history.FailedMessageAnnotation {
		t.Error("a revision that is on trial is marked")
	}
}

// TestRecordSurvivesJSON holds that a record is the same after it was stored as JSON and read back.
func TestRecordSurvivesJSON(t *testing.T) {
	r := canary.Record{
		Revision: onTrial, Began: ago(time.Hour), Nodes: []string{"a"}, Elapsed: time.Minute, Since: ago(time.Minute), Disturbed: ago(1),
		Restarting: ago(3), Restarted: ago(2), Before: []canary.Baseline{{UID: "u", Restarts: map[string]int32{"agent": 1}}},
		Pause:   &canary.Finding{Phase: canary.Paused, Reason: canary.SlowStart, Node: "a", Pod: "b", Container: "c", Detail: "d", Restarts: 1, At: noon()},
		Verdict: &canary.Finding{Phase: canary.Failed, Reason: canary.TimedOut, Recorded: "e"},
	}
	data, err := json.Marshal(r)
	var got canary.Record
	if err == nil {
		err = json.Unmarshal(data, &got)
	}
	if err != nil || !reflect.DeepEqual(got, r) {
		t.Errorf("%s became %+v: %v", data, got, err)
	}
	if !strings.Contains(string(data), `"phase":"Paused","reason":"SlowStart"`) {
		t.Errorf("%s does not name its codes", data)
	}
	for _, text := range []string{`{"phase":"Asleep"}`, `{"reason":"Bored"}`, `{"phase":"code 9"}`} {
		var f canary.Finding
		if err := json.Unmarshal([]byte(text), &f); err == nil || f != (canary.Finding{}) {
			t.Errorf("%s is read as %+v", text, f)
		}
	}
	if data, err := json.Marshal(canary.Record{}); string(data) != "{}" {
		t.Errorf("the empty record is %s: %v", data, err)
	}
}
