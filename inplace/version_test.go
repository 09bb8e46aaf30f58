package inplace_test

import (
	"strings"
	"testing"
	"time"

	"github.com/daemonplan/daemonplan/inplace"
)

// A second update that meets an unfinished first one is for the very pod that was seen: what the first brings meanwhile
// would pass for what the second has brought. Only the first patch can say so, because each changes the pod's version.
func TestSecondUpdateIsForThePodThatWasSeen(t *testing.T) {
	old, first, second := agent("agent:1"), agent("agent:2"), agent("agent:3")
	at := time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC)
	pod := podOf(old, "v1")
	pod.ResourceVersion = "7"

	step, err := inplace.Diff(old, first, inplace.Options{}).Begin(pod, to("v2"), inplace.Metadata{}, at)
	if err != nil {
		t.Fatal(err)
	}
	for _, patch := range step.Patches {
		if strings.Contains(string(patch.Data), "resourceVersion") {
			t.Errorf("%s: nothing is under way, so no version is asked for", patch.Data)
		}
	}
	pod = apply(t, pod, step.Patches...)
	step, err = inplace.Diff(first, second, inplace.Options{}).Begin(pod, to("v3"), inplace.Metadata{}, at.Add(time.Second))
	if err != nil {
		t.Fatal(err)
	}
	for i, patch := range step.Patches {
		if got, want := strings.Contains(string(patch.Data), `"resourceVersion":"7"`), i == 0; got != want {
			t.Errorf("patch %d asks for the version: %t, want %t: %s", i, got, want, patch.Data)
		}
	}
	if len(step.Patches) == 0 {
		t.Error("the second update has no patch")
	}
}
