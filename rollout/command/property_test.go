package command_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/daemonplan/daemonplan/internal/fuzzing"
	"github.com/daemonplan/daemonplan/internal/harness/draw"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/command"
	"github.com/daemonplan/daemonplan/rollout/manifest"
)

// viewOf plans a scenario of the kind that takes every command.
func viewOf(t *rapid.T, spec rollout.Spec, snapshot rollout.Snapshot) command.View {
	planner, err := rollout.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := planner.Plan(snapshot)
	if err != nil {
		t.Fatal(err)
	}
	spec.APIVersion, spec.Kind = "datadoghq.com/v1alpha1", "ExtendedDaemonSet" // after planning: owner references have the old one
	return command.View{Spec: spec, Snapshot: snapshot, Plan: plan}
}

// tables is everything that can be printed of a view.
func tables(v command.View) string {
	text := command.Table(command.Get(v)) + command.Table(command.Revisions(v)...) + command.Table(command.CanaryPods(v)...) +
		command.Table(command.NotReadyPods(v)...)
	for _, c := range command.All() {
		patch, err := c.Patch(v)
		text += string(patch.Data)
		if err != nil {
			text += err.Error()
		}
	}
	return text
}

// TestTablesFit holds the tables of any plan against each other and against its status.
func TestTablesFit(t *testing.T) { rapid.Check(t, tablesFit) }

func FuzzTablesFit(f *testing.F) { fuzzing.Property(f, rapid.MakeFuzz(tablesFit)) }

func tablesFit(t *rapid.T) {
	s := draw.AnyCanaryCase().Draw(t, "scenario")
	v := viewOf(t, s.Spec, s.Snapshot)
	row := command.Get(v)
	if err := checkTables(row, command.Revisions(v), v.Plan); err != nil {
		t.Fatalf("%v\n%s", err, tables(v))
	}
	before := tables(v)
	slices.Reverse(v.Snapshot.Pods)
	slices.Reverse(v.Snapshot.Nodes)
	slices.Reverse(v.Snapshot.Revisions)
	if after := tables(v); after != before {
		t.Fatalf("the order of the input changes\n%s\ninto\n%s", before, after)
	}
}

// checkTables returns an error that says what does not fit in the tables.
func checkTables(row command.Row, revisions []command.Revision, plan rollout.Plan) error {
	idle := plan.Canary.Phase == canary.Idle
	switch {
	case row.UpToDate > row.Current || row.Current > row.Desired || row.UpToDate < 0:
		return fmt.Errorf("0 <= up to date %d <= current %d <= desired %d is wrong", row.UpToDate, row.Current, row.Desired)
	case idle && (row.UpToDate != row.Updated || row.Canary != ""):
		return fmt.Errorf("without a canary %d of %d updated nodes are up to date, canary %q", row.UpToDate, row.Updated, row.Canary)
	case row.Active == row.Canary && plan.Canary.Stable != plan.Canary.Revision, !idle && row.Canary == "": // it may be all there is
		return fmt.Errorf("active %q, canary %q", row.Active, row.Canary)
	}
	var trials int
	for _, one := range revisions {
		if one.Available > one.Ready || one.Ready > one.Current || one.Current > row.Desired || one.Desired > row.Desired {
			return fmt.Errorf("%s: available %d <= ready %d <= current %d <= %d nodes is wrong, desired %d",
				one.Name, one.Available, one.Ready, one.Current, row.Desired, one.Desired)
		}
		if one.Ready > row.Ready || one.Available > row.Available {
			return fmt.Errorf("%s: %d ready, %d available, but the set only %d and %d", one.Name, one.Ready, one.Available, row.Ready, row.Available)
		}
		if one.Role == command.OnTrial || one.Role == command.TrialPaused || one.Role == command.TrialFailed {
			trials++
		}
	}
	if idle && trials > 0 {
		return fmt.Errorf("%d revisions on trial, and no canary", trials)
	}
	return nil
}

// TestCommandsAreObeyed gives commands that are not refused in any situation, and looks whether the next plan obeys.
func TestCommandsAreObeyed(t *testing.T) { rapid.Check(t, commandsAreObeyed) }

func FuzzCommandsAreObeyed(f *testing.F) { fuzzing.Property(f, rapid.MakeFuzz(commandsAreObeyed)) }

func commandsAreObeyed(t *rapid.T) {
	s := draw.AnyCanaryCase().Draw(t, "scenario")
	if s.Spec.Strategy.Canary == nil {
		return
	}
	before := viewOf(t, s.Spec, s.Snapshot)
	c := rapid.SampledFrom(command.All()).Draw(t, "command")
	patch, err := c.Patch(before)
	if err != nil {
		if refusal, ok := errors.AsType[*command.Error](err); !ok || refusal.Refusal == command.NotSupported {
			t.Fatal(err)
		}
		return
	}
	spec := s.Spec
	obey(t, &spec, patch)
	after := viewOf(t, spec, s.Snapshot)
	if err := checkObeyed(c, after); err != nil {
		t.Fatalf("%s: %v\nbefore: %s\nafter:  %s", c, err, before.Plan.Canary.Message(), after.Plan.Canary.Message())
	}
}

// checkObeyed returns an error that says what of a command has had no effect. Reasons that count more (C5) may hide a pause.
func checkObeyed(c command.Command, after command.View) error {
	now := after.Plan.Canary
	switch c {
	case command.CanaryValidate:
		if now.Phase != canary.Idle || now.Reason != canary.Validated {
			return errors.New("the revision is not promoted")
		}
	case command.CanaryPause:
		if now.Phase == canary.Idle || now.Phase == canary.Running {
			return errors.New("the canary goes on")
		}
	case command.CanaryUnpause:
		if now.Phase == canary.Paused {
			return errors.New("the canary is paused")
		}
	case command.CanaryFail:
		if now.Phase != canary.Failed {
			return errors.New("the revision is not given up")
		}
	case command.CanaryRetry:
		// What failed it may still be seen, and fails it anew, at this instant.
		if now.Phase == canary.Failed && !now.At.Equal(after.Snapshot.Now) {
			return errors.New("the revision is not revived")
		}
	case command.Freeze:
		if len(after.Plan.Creates)+len(after.Plan.Deletes) > 0 {
			return errors.New("pods are created or deleted")
		}
	}
	return nil
}

// obey reads the annotations of a patch into the spec, as manifest.Decode does it with the whole object.
func obey(t *rapid.T, spec *rollout.Spec, patch command.Patch) {
	var change struct {
		Metadata struct {
			Annotations map[string]*string `json:"annotations"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(patch.Data, &change); err != nil {
		t.Fatal(err)
	}
	options := spec.Strategy.Canary.DeepCopy()
	spec.Strategy.Canary = &options
	commands := &options.Commands
	for key, value := range change.Metadata.Annotations {
		text := ""
		if value != nil {
			text = *value
		}
		switch key {
		case manifest.CanaryPauseAnnotation:
			commands.Pause = text
		case manifest.CanaryUnpauseAnnotation:
			commands.Unpause = text
		case manifest.CanaryValidateAnnotation:
			commands.Validate = text
		case manifest.CanaryFailAnnotation:
			commands.Fail = text
		case manifest.CanaryRetryAnnotation:
			commands.Retry = text
		case manifest.EDSRollingUpdatePausedAnnotation:
			spec.Strategy.Paused = text == "true"
		case manifest.EDSRolloutFrozenAnnotation:
			spec.Strategy.Frozen = text == "true"
		}
	}
}
