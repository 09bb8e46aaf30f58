package status_test

import (
	"encoding"
	"fmt"
	"math"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/daemonplan/daemonplan/status"
)

var stateNames = []string{
	"Unknown", "Running", "Updating", "Paused", "Frozen", "Canary", "CanaryPaused", "CanaryFailed", "RolledBack", "Stuck",
}

var reasonNames = []string{
	"None", "RolloutComplete", "RolloutInProgress", "WaitingForAvailability", "RolloutHeld", "OnDelete", "PausedBySpec",
	"FrozenBySpec", "HeldPodsUseUpBudget", "EnoughNodesAvailable", "TooFewNodesAvailable",
	"CanaryOnTrial", "CanaryOnHold", "CanaryRejected", "CanaryWithoutNodes", "CanaryHeld", "CanaryPromoted",
	"StageSoaking", "ApprovalNeeded", "StageWithoutEvidence", "TooManyFailures", "FailedNodesUseUpBudget", "FailedNodesLeft",
	"PodsNotServing", "InPlaceNotPossible", "NodesLackFeatures", "NothingMoves",
}

// Every value a uint8 can have, named or not.
func TestStateWords(t *testing.T) {
	for i := range math.MaxUint8 + 1 {
		s, back := status.SetState(i), status.SetState(77)
		checkWord(t, "SetState", i, stateNames, s.String(), s, &back)
		if i < len(stateNames) && back != s {
			t.Errorf("SetState(%d) comes back as %d", i, back)
		}
	}
}

func TestReasonWords(t *testing.T) {
	for i := range math.MaxUint8 + 1 {
		r, back := status.ConditionReason(i), status.ConditionReason(77)
		checkWord(t, "ConditionReason", i, reasonNames, r.String(), r, &back)
		if i < len(reasonNames) && back != r {
			t.Errorf("ConditionReason(%d) comes back as %d", i, back)
		}
	}
}

func checkWord(t *testing.T, kind string, i int, names []string, got string, m encoding.TextMarshaler, u encoding.TextUnmarshaler) {
	t.Helper()
	data, err := m.MarshalText()
	if i >= len(names) {
		if want := fmt.Sprintf("%s(%d)", kind, i); got != want {
			t.Errorf("%s %d: String() = %q, want %q", kind, i, got, want)
		}
		if err == nil {
			t.Errorf("%s %d has no name, but marshals as %q", kind, i, data)
		}
		if err := u.UnmarshalText([]byte(got)); err == nil {
			t.Errorf("%q is no name, but is read", got)
		}
		return
	}
	if got != names[i] || err != nil || string(data) != got {
		t.Errorf("%s %d: String() = %q, MarshalText() = %q, %v; want %q", kind, i, got, data, err, names[i])
	}
	if err := u.UnmarshalText(data); err != nil {
		t.Errorf("%q is not read: %v", data, err)
	}
}

func TestUnmarshalTextErrors(t *testing.T) {
	for _, word := range []string{"", "running", "Running ", "RolloutCompleteX", "SetState(1)"} {
		s, r := status.Stuck, status.OnDelete
		if err := s.UnmarshalText([]byte(word)); err == nil || s != status.Stuck {
			t.Errorf("State from %q: error %v, value %v; want an error and Stuck as before", word, err, s)
		}
		if err := r.UnmarshalText([]byte(word)); err == nil || r != status.OnDelete {
			t.Errorf("Reason from %q: error %v, value %v; want an error and OnDelete as before", word, err, r)
		}
	}
	if err := (*status.SetState)(nil).UnmarshalText([]byte("Running")); err == nil {
		t.Error("a nil State cannot be read into")
	}
	if err := (*status.ConditionReason)(nil).UnmarshalText([]byte("OnDelete")); err == nil {
		t.Error("a nil Reason cannot be read into")
	}
}

// Names of reasons become reasons of conditions, which the API server checks.
func TestReasonsAreValidInConditions(t *testing.T) {
	for i := range reasonNames {
		c := metav1.Condition{
			Type: status.ConditionProgressing, Status: metav1.ConditionTrue, LastTransitionTime: metav1.NewTime(noon),
			Reason: status.ConditionReason(i).String(),
		}
		if errs := validation.ValidateCondition(c, field.NewPath("condition")); len(errs) > 0 {
			t.Errorf("%v: %v", status.ConditionReason(i), errs)
		}
	}
}
