package command_test

import (
	"errors"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/command"
)

// annotations returns the patch of annotations, as JSON.
func annotations(body string) string { return `{"metadata":{"annotations":{` + body + `}}}` }

func TestCommands(t *testing.T) {
	const (
		eds       = "extendeddaemonset.datadoghq.com/"
		companion = "daemonplan.io/canary-"
	)
	pausedBy := func(revision string) func(*command.View) {
		return func(v *command.View) { v.Spec.Strategy.Canary.Commands.Pause = revision }
	}
	for _, c := range []struct {
		name, why string
		command   command.Command
		phase     canary.Phase
		change    func(*command.View)
		want      string // the patch, or the refusal and its text
	}{
		{"validate", "names the revision, and takes back a pause that would meet the next canary", command.CanaryValidate, canary.Running, nil,
			annotations(`"` + companion + `pause":null,"` + companion + `unpause":null,"` + companion + `validate":"foo-xdj4b","` +
				eds + `canary-paused":null,"` + eds + `canary-paused-reason":null,"` + eds + `canary-unpaused":null,"` + eds + `canary-valid":"foo-xdj4b"`)},
		{"validate a paused one", "that is what people do who have looked into it", command.CanaryValidate, canary.Paused, pausedBy(newName),
			annotations(`"` + companion + `pause":null,"` + companion + `unpause":null,"` + companion + `validate":"foo-xdj4b","` +
				eds + `canary-paused":null,"` + eds + `canary-paused-reason":null,"` + eds + `canary-unpaused":null,"` + eds + `canary-valid":"foo-xdj4b"`)},
		{"validate a failed one", "it would have no effect (C5)", command.CanaryValidate, canary.Failed, nil,
			"has failed: revision foo-xdj4b has failed; retry revives it, and so does another template"},
		{"validate nothing", "the next canary is not to be validated ahead", command.CanaryValidate, canary.Idle, nil,
			"nothing on trial: no revision is on trial: foo-xdj4b is the active one"},

		{"pause", "takes unpause back", command.CanaryPause, canary.Running, nil,
			annotations(`"` + companion + `pause":"foo-xdj4b","` + companion + `unpause":null,"` + eds + `canary-paused":"true","` + eds + `canary-unpaused":null`)},
		{"pause what paused itself", "unpause of the automatic pause is not to start it again", command.CanaryPause, canary.Paused, nil,
			annotations(`"` + companion + `pause":"foo-xdj4b","` + companion + `unpause":null,"` + eds + `canary-paused":"true","` + eds + `canary-unpaused":null`)},
		{"pause by an old command", "it is for another revision", command.CanaryPause, canary.Running, pausedBy(oldName),
			annotations(`"` + companion + `pause":"foo-xdj4b","` + companion + `unpause":null,"` + eds + `canary-paused":"true","` + eds + `canary-unpaused":null`)},
		{"pause again", "the caller believes otherwise", command.CanaryPause, canary.Paused, pausedBy(newName),
			"already so: the canary of revision foo-xdj4b is paused already"},
		{"pause again, by hash", "commands name either", command.CanaryPause, canary.Paused, pausedBy(newHash),
			"already so: the canary of revision foo-xdj4b is paused already"},
		{"pause again, paused for whatever is on trial", "as the plugin of ExtendedDaemonSet does it", command.CanaryPause, canary.Paused, pausedBy(canary.Any),
			"already so: the canary of revision foo-xdj4b is paused already"},
		{"pause a failed one", "nothing is tried any more", command.CanaryPause, canary.Failed, nil,
			"has failed: revision foo-xdj4b has failed; retry revives it, and so does another template"},
		{"pause nothing", "the next canary is not to be paused ahead", command.CanaryPause, canary.Idle, nil,
			"nothing on trial: no revision is on trial: foo-xdj4b is the active one"},
		{"pause without the strategy", "there never is a canary", command.CanaryPause, canary.Idle, func(v *command.View) { v.Spec.Strategy.Canary = nil },
			"no canary strategy: the strategy of the set has no canary"},

		{"unpause", "takes pause back, and its reason", command.CanaryUnpause, canary.Paused, pausedBy(newName),
			annotations(`"` + companion + `pause":null,"` + companion + `unpause":"foo-xdj4b","` +
				eds + `canary-paused":null,"` + eds + `canary-paused-reason":null,"` + eds + `canary-unpaused":"true"`)},
		{"unpause ahead", "keeps automatic pauses off (C3)", command.CanaryUnpause, canary.Running, nil,
			annotations(`"` + companion + `pause":null,"` + companion + `unpause":"foo-xdj4b","` +
				eds + `canary-paused":null,"` + eds + `canary-paused-reason":null,"` + eds + `canary-unpaused":"true"`)},
		{"unpause again", "it would change nothing", command.CanaryUnpause, canary.Running,
			func(v *command.View) { v.Spec.Strategy.Canary.Commands.Unpause = newName },
			"already so: the canary of revision foo-xdj4b is unpaused already"},
		{"unpause what is both", "pause and unpause together pause", command.CanaryUnpause, canary.Paused, func(v *command.View) {
			v.Spec.Strategy.Canary.Commands.Unpause, v.Spec.Strategy.Canary.Commands.Pause = newName, newName
		}, annotations(`"` + companion + `pause":null,"` + companion + `unpause":"foo-xdj4b","` +
			eds + `canary-paused":null,"` + eds + `canary-paused-reason":null,"` + eds + `canary-unpaused":"true"`)},

		{"fail", "only a companion: the plugin writes a status", command.CanaryFail, canary.Running, nil,
			annotations(`"` + companion + `fail":"foo-xdj4b"`)},
		{"fail a paused one", "after a look at it", command.CanaryFail, canary.Paused, nil, annotations(`"` + companion + `fail":"foo-xdj4b"`)},
		{"fail again", "it has", command.CanaryFail, canary.Failed, nil, "already so: revision foo-xdj4b has failed already"},

		{"retry", "a new value each time, and nothing is left that would validate, fail or no longer watch it", command.CanaryRetry, canary.Failed, nil,
			annotations(`"` + companion + `fail":null,"` + companion + `retry":"foo-xdj4b/2026-01-01T12:00:00Z","` + companion + `unpause":null,"` +
				companion + `validate":null,"` + eds + `canary-unpaused":null,"` + eds + `canary-valid":null`)},
		{"retry what runs", "it would begin again for nothing", command.CanaryRetry, canary.Running, nil, "has not failed: revision foo-xdj4b has not failed"},
		{"revision without an object", "its hash names it too", command.CanaryFail, canary.Running, func(v *command.View) { v.Snapshot.Revisions = nil },
			annotations(`"` + companion + `fail":"xdj4b"`)},
		{"revision that the plan creates", "it has a name already", command.CanaryFail, canary.Running, func(v *command.View) {
			v.Plan.Revisions = []rollout.RevisionAction{{Object: v.Snapshot.Revisions[1]}}
			v.Snapshot.Revisions = v.Snapshot.Revisions[:1]
		}, annotations(`"` + companion + `fail":"foo-xdj4b"`)},
		{"two revisions of one hash", "the highest stays (R3)", command.CanaryFail, canary.Running, func(v *command.View) {
			twin := v.Snapshot.Revisions[1].DeepCopy()
			twin.Name, twin.Revision = "foo-twin", 1
			v.Snapshot.Revisions = append(v.Snapshot.Revisions, twin)
		}, annotations(`"` + companion + `fail":"foo-xdj4b"`)},
		{"name that is no ASCII", "no terminal turns it around", command.CanaryFail, canary.Running, func(v *command.View) {
			v.Snapshot.Revisions[1] = v.Snapshot.Revisions[1].DeepCopy()
			v.Snapshot.Revisions[1].Name = "é\u202e\U0001f4a3\x7f"
		}, annotations(`"` + companion + `fail":"\u00e9\u202e\ud83d\udca3\u007f"`)},
		{"name at the edge of UTF-16", "the last character of one unit, and the first of two", command.CanaryFail, canary.Running, func(v *command.View) {
			v.Snapshot.Revisions[1] = v.Snapshot.Revisions[1].DeepCopy()
			v.Snapshot.Revisions[1].Name = "\uffff\U00010000"
		}, annotations(`"` + companion + `fail":"\uffff\ud800\udc00"`)},

		{"rollout pause", "also while a canary runs, which it stops (C7)", command.Pause, canary.Running, nil, annotations(`"` + eds + `rolling-update-paused":"true"`)},
		{"rollout pause again", "it is", command.Pause, canary.Idle, func(v *command.View) { v.Spec.Strategy.Paused = true }, "already so: the rollout is paused already"},
		{"rollout unpause", "the annotation goes", command.Unpause, canary.Idle, func(v *command.View) { v.Spec.Strategy.Paused = true }, annotations(`"` + eds + `rolling-update-paused":null`)},
		{"rollout unpause again", "it is not", command.Unpause, canary.Idle, nil, "already so: the rollout is not paused"},
		{"freeze", "also what is paused", command.Freeze, canary.Idle, func(v *command.View) { v.Spec.Strategy.Paused = true }, annotations(`"` + eds + `rollout-frozen":"true"`)},
		{"freeze again", "it is", command.Freeze, canary.Idle, func(v *command.View) { v.Spec.Strategy.Frozen = true }, "already so: the rollout is frozen already"},
		{"unfreeze", "the annotation goes", command.Unfreeze, canary.Idle, func(v *command.View) { v.Spec.Strategy.Frozen = true }, annotations(`"` + eds + `rollout-frozen":null`)},
		{"unfreeze again", "it is not", command.Unfreeze, canary.Idle, nil, "already so: the rollout is not frozen"},

		{"kruise pause", "a field of its spec", command.Pause, canary.Idle, kruise, `{"spec":{"updateStrategy":{"rollingUpdate":{"paused":true}}}}`},
		{"kruise unpause", "says false, whatever the default", command.Unpause, canary.Idle, func(v *command.View) { kruise(v); v.Spec.Strategy.Paused = true },
			`{"spec":{"updateStrategy":{"rollingUpdate":{"paused":false}}}}`},
		{"kruise pause again", "it is", command.Pause, canary.Idle, func(v *command.View) { kruise(v); v.Spec.Strategy.Paused = true }, "already so: the rollout is paused already"},
		{"kruise OnDelete", "nothing below rollingUpdate counts", command.Pause, canary.Idle, func(v *command.View) { kruise(v); v.Spec.Strategy.Type = rollout.OnDelete },
			"not supported: with the update strategy OnDelete there is no rollout to pause"},
		{"kruise freeze", "it has no such field", command.Freeze, canary.Idle, kruise, "not supported: daemonsets.apps.kruise.io takes pause and unpause only"},
		{"kruise canary", "it has no canary", command.CanaryPause, canary.Running, kruise, "not supported: daemonsets.apps.kruise.io takes pause and unpause only"},
		{"kubernetes", "nothing in apps/v1 pauses", command.Pause, canary.Idle, func(v *command.View) { v.Spec.APIVersion, v.Spec.Kind = "apps/v1", "DaemonSet" },
			"not supported: daemonsets.apps takes no commands; extendeddaemonsets.datadoghq.com takes all of them, daemonsets.apps.kruise.io takes pause and unpause"},
		{"default kind", "is apps/v1", command.Pause, canary.Idle, func(v *command.View) { v.Spec.APIVersion, v.Spec.Kind = "", "" },
			"not supported: daemonsets.apps takes no commands; extendeddaemonsets.datadoghq.com takes all of them, daemonsets.apps.kruise.io takes pause and unpause"},
		{"another kind", "its fields are not known", command.Pause, canary.Idle, func(v *command.View) { v.Spec.APIVersion, v.Spec.Kind = "example.com/v1", "Fleet" },
			"not supported: Fleet.example.com takes no commands; extendeddaemonsets.datadoghq.com takes all of them, daemonsets.apps.kruise.io takes pause and unpause"},
		{"another kind of the core", "the same", command.Pause, canary.Idle, func(v *command.View) { v.Spec.APIVersion, v.Spec.Kind = "v1", "Fleet" },
			"not supported: Fleet takes no commands; extendeddaemonsets.datadoghq.com takes all of them, daemonsets.apps.kruise.io takes pause and unpause"},
		{"kind of the group that is no set", "a setting takes none", command.Pause, canary.Idle, func(v *command.View) { v.Spec.Kind = "ExtendedDaemonsetSetting" },
			"not supported: ExtendedDaemonsetSetting.datadoghq.com takes no commands; extendeddaemonsets.datadoghq.com takes all of them, daemonsets.apps.kruise.io takes pause and unpause"},
		{"command after the last", "it is not taken for a retry", command.Unfreeze + 1, canary.Failed, nil, "not supported: there is no such command"},
		{"no such command", "no panic", command.Command(200), canary.Running, nil, "not supported: there is no such command"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.name == "" || c.why == "" {
				t.Fatal("a row needs a name and a reason")
			}
			view := demo(c.phase)
			if c.change != nil {
				c.change(&view)
			}
			patch, err := c.command.Patch(view)
			got := string(patch.Data)
			if err != nil {
				refusal, ok := errors.AsType[*command.Error](err)
				if !ok || refusal.Command != c.command || patch.Data != nil || patch.Type != "" {
					t.Fatalf("%v (%T), patch %q", err, err, patch.Data)
				}
				got = refusal.Refusal.String() + ": " + refusal.Text
				if err.Error() != c.command.String()+": "+refusal.Text {
					t.Errorf("the error is %q", err)
				}
			} else if patch.Type != types.MergePatchType {
				t.Errorf("patch of type %q", patch.Type)
			}
			if got != c.want {
				t.Errorf("%s\n got %s\nwant %s", c.why, got, c.want)
			}
		})
	}
}

func kruise(v *command.View) { v.Spec.APIVersion, v.Spec.Kind = "apps.kruise.io/v1beta1", "DaemonSet" }

// TestNames walks the values of every enumeration: each has a name of its own, and the value after the last has none.
func TestNames(t *testing.T) {
	var all []string
	for _, c := range command.All() {
		all = append(all, c.String())
		if parsed, err := command.Parse(c.String()); parsed != c || err != nil {
			t.Errorf("Parse(%q) = %v, %v", c, parsed, err)
		}
	}
	if len(all) != 9 || command.All()[8] != command.Unfreeze {
		t.Errorf("the commands are %q", all)
	}
	for i := range uint8(6) {
		all = append(all, command.Refusal(i).String())
	}
	for i := range uint8(5) {
		all = append(all, command.Role(i).String())
	}
	seen := make(map[string]bool)
	for _, name := range all {
		if name == "" || seen[name] || strings.Contains(name, "(") {
			t.Errorf("%q is no name of its own", name)
		}
		seen[name] = true
	}
	for got, want := range map[string]string{
		command.Command(9).String(): "Command(9)", command.Refusal(6).String(): "Refusal(6)", command.Role(5).String(): "Role(5)",
		command.Command(255).String(): "Command(255)", (*command.Error)(nil).Error(): "no error",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	for _, text := range []string{"", "canary", "Canary pause", "canary  pause", "pause "} {
		if _, err := command.Parse(text); err == nil || !strings.Contains(err.Error(), `"canary retry"`) {
			t.Errorf("Parse(%q): %v", text, err)
		}
	}
}
