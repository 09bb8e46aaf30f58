package v1alpha1_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	lua "github.com/yuin/gopher-lua"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	kstatus "sigs.k8s.io/cli-utils/pkg/kstatus/status"
	"sigs.k8s.io/yaml"

	"github.com/daemonplan/daemonplan/examples/controller/api/v1alpha1"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/status"
)

// waitedFor is what the tools make of an object with that status, in this generation.
func waitedFor(t *testing.T, s any, generation int64) kstatus.Status {
	t.Helper()
	content := map[string]any{
		"apiVersion": v1alpha1.GroupVersion.String(), "kind": v1alpha1.Kind,
		"metadata": map[string]any{"name": "agent", "namespace": "web", "generation": generation},
	}
	object := &unstructured.Unstructured{Object: content}
	switch s := s.(type) {
	case *v1alpha1.PlannedDaemonSetStatus:
		written, err := runtime.DefaultUnstructuredConverter.ToUnstructured(s)
		if err != nil {
			t.Fatal(err)
		}
		content["status"] = written
	default:
		content["status"] = s
	}
	result, err := kstatus.Compute(object)
	if err != nil {
		t.Fatal(err)
	}
	return result.Status
}

// healthFor is what Argo CD is to say where kstatus says that.
func healthFor(waited kstatus.Status, state status.SetState) string {
	switch {
	case waited == kstatus.FailedStatus:
		return "Degraded"
	case waited == kstatus.CurrentStatus:
		return "Healthy"
	case state == status.Paused || state == status.Frozen || state == status.CanaryPaused:
		return "Suspended"
	default:
		return "Progressing"
	}
}

// healthOf runs the health check of Argo CD on an object with that status, in this generation.
func healthOf(t *testing.T, s *v1alpha1.PlannedDaemonSetStatus, generation int64) string {
	t.Helper()
	written, err := runtime.DefaultUnstructuredConverter.ToUnstructured(s)
	if err != nil {
		t.Fatal(err)
	}
	state := lua.NewState(lua.Options{SkipOpenLibs: false})
	defer state.Close()
	state.SetGlobal("obj", inLua(state, map[string]any{
		"metadata": map[string]any{"generation": generation}, "status": written,
	}))
	if err := state.DoFile(filepath.Join("..", "..", "config", "argocd-health.lua")); err != nil {
		t.Fatal(err)
	}
	table, ok := state.Get(-1).(*lua.LTable)
	if !ok || table.RawGetString("message").Type() != lua.LTString {
		t.Fatalf("the check returns %v", state.Get(-1))
	}
	return table.RawGetString("status").String()
}

// inLua is a value of JSON as Lua has it.
func inLua(state *lua.LState, value any) lua.LValue {
	switch value := value.(type) {
	case map[string]any:
		table := state.NewTable()
		for key, field := range value {
			table.RawSetString(key, inLua(state, field))
		}
		return table
	case []any:
		table := state.NewTable()
		for _, item := range value {
			table.Append(inLua(state, item))
		}
		return table
	case string:
		return lua.LString(value)
	case bool:
		return lua.LBool(value)
	case int64:
		return lua.LNumber(value)
	case float64:
		return lua.LNumber(value)
	default:
		return lua.LNil
	}
}

// Tools that wait for a release go on waiting while the rollout goes on, give up when it cannot come to its end, and are content
// when all is done: kstatus itself is asked in every state.
func TestKstatus(t *testing.T) {
	now := time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC)
	half := status.Input{
		Now: now, Generation: 3, UpdateRevision: "7d9f", Settled: 2, Outdated: 2, Acting: true, MaxUnavailable: 1,
		Counts: status.Counts{Desired: 4, Current: 4, Ready: 4, Available: 4, Updated: 2},
	}
	seen := make(map[status.SetState]bool)
	for _, tt := range []struct {
		name   string
		change func(in *status.Input)
		want   kstatus.Status
	}{
		{"updating", func(*status.Input) {}, kstatus.InProgressStatus},
		{"soaking", func(in *status.Input) { in.Gated, in.Gate = 2, status.GateSoak }, kstatus.InProgressStatus},
		{"approval", func(in *status.Input) { in.Gated, in.Gate = 2, status.GateApproval }, kstatus.InProgressStatus},
		{"on trial", func(in *status.Input) { in.Trial.State = status.Canary }, kstatus.InProgressStatus},
		{"trial paused", func(in *status.Input) { in.Trial.State = status.CanaryPaused }, kstatus.InProgressStatus},
		{"paused", func(in *status.Input) { in.Paused = true }, kstatus.InProgressStatus},
		{"frozen", func(in *status.Input) { in.Frozen = true }, kstatus.InProgressStatus},
		{"stuck", func(in *status.Input) { in.Acting = false }, kstatus.FailedStatus},
		{"rolled back", func(in *status.Input) { in.Trial.State = status.RolledBack }, kstatus.FailedStatus},
		{"trial failed", func(in *status.Input) { in.Trial.State = status.CanaryFailed }, kstatus.FailedStatus},
		{"held", func(in *status.Input) { in.Held, in.Acting = 2, false }, kstatus.CurrentStatus},
		{"complete", func(in *status.Input) { in.Counts.Updated, in.Settled, in.Outdated = 4, 4, 0 }, kstatus.CurrentStatus},
	} {
		in := half
		tt.change(&in)
		summary := status.Summarize(in)
		seen[summary.State] = true
		var written v1alpha1.PlannedDaemonSetStatus
		if err := written.Report(rollout.Plan{Status: summary}); err != nil {
			t.Fatal(err)
		}
		written.Judge(nil, 3)
		if got := waitedFor(t, &written, 3); got != tt.want {
			t.Errorf("%s: %s, want %s: %+v", tt.name, got, tt.want, written.Conditions)
		}
		if got := waitedFor(t, &written, 4); got != kstatus.InProgressStatus {
			t.Errorf("%s, of the generation before: %s", tt.name, got)
		}
		if got, want := healthOf(t, &written, 3), healthFor(tt.want, summary.State); got != want {
			t.Errorf("%s: Argo CD says %s, want %s", tt.name, got, want)
		}
		if got := healthOf(t, &written, 4); got != "Progressing" {
			t.Errorf("%s, of the generation before: Argo CD says %s", tt.name, got)
		}
		// A spec that is invalid is a failure, whatever the last valid one has come to, and a valid one mends that.
		written.Judge(errors.New("spec.selector: Required value"), 4)
		if got := waitedFor(t, &written, 4); got != kstatus.FailedStatus {
			t.Errorf("%s, then invalid: %s: %+v", tt.name, got, written.Conditions)
		}
		if err := written.Report(rollout.Plan{Status: summary}); err != nil {
			t.Fatal(err)
		}
		if written.Judge(nil, 3); waitedFor(t, &written, 3) != tt.want {
			t.Errorf("%s, after a spec that was invalid: %+v", tt.name, written.Conditions)
		}
	}
	for state := status.Running; state <= status.Stuck; state++ {
		if !seen[state] {
			t.Errorf("no row is in state %v", state)
		}
	}
	var forgotten v1alpha1.PlannedDaemonSetStatus
	forgotten.Forget()
	forgotten.Judge(errors.New("spec.selector: Required value"), 1)
	if got := healthOf(t, new(v1alpha1.PlannedDaemonSetStatus), 1); got != "Progressing" {
		t.Errorf("before the first plan Argo CD says %s", got)
	}
	if got := healthOf(t, &forgotten, 1); got != "Degraded" {
		t.Errorf("invalid from the beginning: Argo CD says %s", got)
	}
	if got := waitedFor(t, &forgotten, 1); got != kstatus.FailedStatus {
		t.Errorf("invalid from the beginning: %s", got)
	}
}

// Between the creation of an object and its first plan the tools wait, because of the default of the status.
func TestKstatusBeforeTheFirstPlan(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "..", "config", "crd", "daemonplan.io_planneddaemonsets.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var crd struct {
		Spec struct {
			Versions []struct {
				Schema struct {
					OpenAPIV3Schema struct {
						Properties map[string]struct {
							Default map[string]any `json:"default"`
						} `json:"properties"`
					} `json:"openAPIV3Schema"`
				} `json:"schema"`
			} `json:"versions"`
		} `json:"spec"`
	}
	if err := yaml.Unmarshal(data, &crd); err != nil {
		t.Fatal(err)
	}
	first := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["status"].Default
	generation, _ := first["observedGeneration"].(float64)
	if got := waitedFor(t, map[string]any{"observedGeneration": int64(generation)}, 1); generation != -1 || got != kstatus.InProgressStatus {
		t.Errorf("default %v: %s", first, got)
	}
	if got := waitedFor(t, map[string]any{}, 1); got != kstatus.CurrentStatus {
		t.Errorf("without the default the test shows nothing: %s", got)
	}
}
