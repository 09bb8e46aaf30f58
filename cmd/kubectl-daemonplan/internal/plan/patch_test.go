package plan

import "testing"

// TestPatchText checks the texts of patches that the plans above do not have, and that a patch of an unknown form is printed as
// it is.
func TestPatchText(t *testing.T) {
	for patch, want := range map[string]string{
		`{"metadata":{"uid":"u","labels":{"b":"","a":null},"finalizers":["f"]}}`:                                                                   "no label a, label b=, finalizer f",
		`{"spec":{"containers":[{"name":"a","resources":{"limits":{"memory":"1Gi","cpu":"2"},"requests":{"cpu":"1"}}},{"name":"b","image":"i"}]}}`: "cpu limit of a 2, memory limit of a 1Gi, cpu request of a 1, image of b i",
		`{"metadata":{"annotations":{"apps.kruise.io/inplace-update-state":"{}","apps.kruise.io/inplace-update-grace":null,"note":"x"}}}`:          "annotation note=x",
		`{"status":{"conditions":[{"type":"A","message":"x"},{"type":"B","status":"True"}]}}`:                                                      "B True",
		`{"metadata":{"uid":"u"}}`: `{"metadata":{"uid":"u"}}`,
		`[{"op":"remove"}]`:        `[{"op":"remove"}]`,
	} {
		if got := patchText([]byte(patch)); got != want {
			t.Errorf("%s is told as %q, want %q", patch, got, want)
		}
	}
}
