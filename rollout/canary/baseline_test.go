package canary_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/rollout/canary"
)

// saysInPlace gives a pod the state annotation of an in-place update that was begun at an instant, or a text that cannot be read.
func saysInPlace(text string) podOption {
	return func(p *corev1.Pod) {
		p.Annotations = map[string]string{inplace.StateKey: text}
	}
}

// TestWhichRestartsCount holds that restarts from before the canary, and restarts for the in-place update itself, do not
// count for a pause (C3).
func TestWhichRestartsCount(t *testing.T) {
	updated := `{"revision":"v2","updateTimestamp":"` + ago(5*time.Minute).Format(time.RFC3339) + `"}`
	before := `{"revision":"v2","updateTimestamp":"` + ago(30*time.Minute).Format(time.RFC3339) + `"}`
	tests := []struct {
		name, why string
		change    func(*situation)
		want      canary.PhaseReason
	}{
		{"baseline of this canary", "it was there before", func(s *situation) {
			s.in.Record.Before = []canary.Baseline{{UID: "uid-a-1", Restarts: map[string]int32{"agent": 3}}}
		}, canary.Observing},
		{"baseline of another revision", "this one may have restarted it", func(s *situation) {
			s.in.Record.Before = []canary.Baseline{{UID: "uid-a-1", Restarts: map[string]int32{"agent": 3}}}
			s.in.Record.Revision = "another"
		}, canary.TooManyRestarts},
		{"record lost", "nobody knows", func(s *situation) { s.in.Record = canary.Record{} }, canary.TooManyRestarts},
		{"record lost, updated in place", "the pod says that it was there before", func(s *situation) {
			s.in.Record = canary.Record{}
			s.in.Nodes[0] = good("a", times(3), saysInPlace(updated))
		}, canary.Observing},
		{"record lost, updated before it was created", "that says nothing", func(s *situation) {
			s.in.Record = canary.Record{}
			s.in.Nodes[0] = good("a", times(3), saysInPlace(before))
		}, canary.TooManyRestarts},
		{"record lost, unreadable", "that says nothing", func(s *situation) {
			s.in.Record = canary.Record{}
			s.in.Nodes[0] = good("a", times(3), saysInPlace("{"))
		}, canary.TooManyRestarts},
		{"record there, updated in place", "it was created after the canary began, so it never ran the old revision", func(s *situation) {
			s.in.Nodes[0] = good("a", times(3), saysInPlace(updated))
		}, canary.TooManyRestarts},
		{"one restart before", "also a single one does not count", func(s *situation) {
			s.in.Record.Began = ago(10 * time.Minute)
			s.o.AutoPause.MaxRestarts = new(int32(0))
			s.in.Nodes[0] = good("a", times(1))
		}, canary.Observing},
	}
	for _, test := range tests {
		s := observing()
		s.in.Nodes[0] = good("a", times(3))
		test.change(&s)
		if got := s.judge(); got.Reason != test.want {
			t.Errorf("%s: %s, want %v: %s", test.name, say(got), test.want, test.why)
		}
	}
}
