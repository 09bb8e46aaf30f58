package lifecycle_test

import (
	"encoding/json"
	"os"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/internal/conformance"
	"github.com/daemonplan/daemonplan/lifecycle"
)

// recordedHook is one case: what OpenKruise makes of a hook and a pod.
type recordedHook struct {
	Input struct {
		Hook *struct {
			LabelsHandler     map[string]string `json:"labelsHandler"`
			FinalizersHandler []string          `json:"finalizersHandler"`
			MarkPodNotReady   bool              `json:"markPodNotReady"`
		} `json:"hook"`
		Pod *corev1.Pod `json:"pod"`
	} `json:"input"`
	Expect hookAnswers `json:"expect"`
}

type hookAnswers struct {
	Matches    bool            `json:"isPodHooked"`
	MatchesAll bool            `json:"isPodAllHooked"`
	State      lifecycle.State `json:"lifecycleState"`
	Marks      bool            `json:"markPodNotReady"`
}

func (r recordedHook) hook() *lifecycle.Hook {
	in := r.Input.Hook
	if in == nil {
		return nil
	}
	return &lifecycle.Hook{
		Labels: in.LabelsHandler, Finalizers: in.FinalizersHandler, MarkPodNotReady: in.MarkPodNotReady,
	}
}

// missingEmpty reports whether a handler has the value "" and the pod lacks the label.
func (r recordedHook) missingEmpty() bool {
	if r.Input.Hook == nil || r.Input.Pod == nil {
		return false
	}
	for key, value := range r.Input.Hook.LabelsHandler {
		if _, there := r.Input.Pod.Labels[key]; value == "" && !there {
			return true
		}
	}
	return false
}

// hookEntry is one deliberate difference: predict turns OpenKruise's answers into ours.
type hookEntry struct {
	id, rule, why string
	predict       func(recordedHook, hookAnswers) hookAnswers
}

var hookEntries = []hookEntry{
	{
		"empty-value-needs-the-label", "L2, section 7",
		"OpenKruise takes a missing label for one with the value \"\", so a pod without it is hooked for ever",
		func(r recordedHook, a hookAnswers) hookAnswers {
			if !r.missingEmpty() {
				return a
			}
			// A missing label matches nothing, so all is out of the question; of the others, any one will do.
			a.MatchesAll, a.Matches = false, false
			for _, f := range r.Input.Hook.FinalizersHandler {
				for _, g := range r.Input.Pod.Finalizers {
					a.Matches = a.Matches || f == g
				}
			}
			for key, value := range r.Input.Hook.LabelsHandler {
				got, there := r.Input.Pod.Labels[key]
				a.Matches = a.Matches || there && got == value
			}
			return a
		},
	},
	{
		"no-hook-is-not-waited-for", "L3",
		"OpenKruise says that a pod does not match all of a hook that is not there; its callers have to ask before",
		func(r recordedHook, a hookAnswers) hookAnswers {
			a.MatchesAll = a.MatchesAll || r.Input.Hook == nil && r.Input.Pod != nil
			return a
		},
	},
}

// TestConformanceHooks compares with what OpenKruise's own functions said of 150 hooks and pods.
func TestConformanceHooks(t *testing.T) {
	var total, agree, explained int
	byEntry := map[string]int{}
	elsewhere := os.Getenv(conformance.EnvDir) != "" // other recordings need not show each situation
	for name, line := range conformance.Lines(t, "kruise-inplace/hooks.jsonl") {
		var r recordedHook
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		total++
		hook := r.hook()
		got := hookAnswers{
			Matches: hook.Matches(r.Input.Pod), MatchesAll: hook.MatchesAll(r.Input.Pod),
			State: lifecycle.StateOf(r.Input.Pod), Marks: lifecycle.Hooks{PreDelete: hook}.MarksNotReady(),
		}
		if got == r.Expect {
			agree++
			continue
		}
		used := ""
		for _, entry := range hookEntries {
			if entry.predict(r, r.Expect) == got {
				used = entry.id
				byEntry[used]++
				break
			}
		}
		if used == "" {
			t.Errorf("%s: %+v, OpenKruise: %+v; no entry explains it", name, got, r.Expect)
			continue
		}
		explained++
	}
	for _, entry := range hookEntries {
		if entry.id == "" || entry.rule == "" || entry.why == "" {
			t.Errorf("entry %+v lacks something", entry.id)
		}
		if byEntry[entry.id] == 0 && !elsewhere {
			t.Errorf("entry %s explains nothing", entry.id)
		}
		t.Logf("%-28s %-14s %3d cases", entry.id, entry.rule, byEntry[entry.id])
	}
	if 10*explained >= total && !elsewhere {
		t.Errorf("%d of %d cases are explained, want under 10%%", explained, total)
	}
	t.Logf("%d cases: %d agree, %d explained", total, agree, explained)
}
