package predownload_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/daemonplan/daemonplan/internal/fixedseed"
)

// vary changes a recorded case, so that what nobody recorded comes up.
func (c *recorded) vary(r *rand.Rand) {
	set := &c.Input.DaemonSet
	rolling := &set.Spec.UpdateStrategy.RollingUpdate
	annotate := func(what string, values ...string) {
		annotations := maps.Clone(set.Metadata.Annotations)
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations["apps.kruise.io/image-predownload-"+what] = values[r.IntN(len(values))]
		set.Metadata.Annotations = annotations
	}
	olds := len(c.Input.OldRevisions)
	switch r.IntN(8) {
	case 0:
		rolling.Partition = variedQuantity(r)
	case 1:
		rolling.MaxUnavailable = variedQuantity(r)
	case 2:
		rolling.MaxSurge = variedQuantity(r)
	case 3:
		set.Status.DesiredNumberScheduled = r.Int32N(50) - 1
	case 4:
		annotate("parallelism", "1", "-1", "0", "10%", "x", "")
	case 5:
		annotate("timeout-seconds", "1", "600", "x", "")
	case 6:
		c.Input.OldRevisions = c.Input.OldRevisions[:r.IntN(olds+1)]
	case 7:
		if olds > 0 {
			c.Input.OldRevisions[r.IntN(olds)].Data = json.RawMessage("7")
		}
	}
}

func variedQuantity(r *rand.Rand) *intstr.IntOrString {
	switch r.IntN(4) {
	case 0:
		return nil
	case 1:
		return new(intstr.FromInt32(r.Int32N(12) - 1))
	case 2:
		return new(intstr.FromString([]string{"abc", "", "%", "1.5%", "+3%", "-3%"}[r.IntN(6)]))
	}
	return new(intstr.FromString(fmt.Sprintf("%d%%", r.IntN(101))))
}

// TestConformanceVariations holds decisions about varied cases to the model with all rules: together they are a second, naive
// implementation.
func TestConformanceVariations(t *testing.T) { variations(t, fixedseed.Share(10)) }

// variations makes so many of each case, and counts those that need each entry.
func variations(t *testing.T, perCase uint64) (neededBy [rules]int) {
	t.Helper()
	bad, total := 0, 0
	for seed := range perCase {
		for i, c := range cases(t) {
			r := rand.New(rand.NewPCG(seed, uint64(i)))
			for range 1 + r.IntN(4) {
				c.vary(r)
			}
			c.Name = fmt.Sprintf("%s, variation %d", c.Name, seed)
			total++
			ours := c.ours(t)
			if want := c.model(allRules); !same(ours, want) {
				if bad++; bad <= 8 {
					t.Errorf("%s: not explained (-wanted +ours):\n%s", c.Name, gocmp.Diff(want, ours, cmpopts.EquateEmpty()))
				}
				continue
			}
			if same(ours, c.model(0)) {
				continue
			}
			explanation := c.explain(ours)
			for rule := range rules {
				neededBy[rule] += int(explanation >> rule & 1)
			}
		}
	}
	t.Logf("%d variations, %d not explained; entries needed: %v", total, bad, neededBy)
	return neededBy
}
