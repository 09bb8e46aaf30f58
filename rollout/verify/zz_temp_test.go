package verify_test

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"github.com/daemonplan/daemonplan/internal/harness"
	"github.com/daemonplan/daemonplan/internal/harness/draw"
	"github.com/daemonplan/daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
	"github.com/daemonplan/daemonplan/rollout/verify"
)

func TestZZ(t *testing.T) {
	gen := rapid.Custom(func(t *rapid.T) harness.Case {
		options := rapid.SampledFrom([][]rollouttest.SpecOption{
			nil, {objects.Released(), rollouttest.MaxUnavailable("100%")}, {objects.Released(), rollouttest.MaxSurge("100%")},
		}).Draw(t, "budget of its own")
		cases := draw.AnyCase(options...)
		if rapid.SampledFrom([]bool{false, false, true}).Draw(t, "canary") {
			cases = draw.AnyCanaryCase(options...)
		}
		if rapid.SampledFrom([]bool{false, false, true}).Draw(t, "stages") {
			cases = draw.InStages(cases)
		}
		return draw.InFailures(cases).Draw(t, "scenario")
	})
	n, _ := strconv.Atoi(os.Getenv("N"))
	off, _ := strconv.Atoi(os.Getenv("OFF"))
	digits := regexp.MustCompile(`[0-9]+|"[^"]*"|agent-\S+|node \S+:`)
	counts, ex := map[string]int{}, map[string]string{}
	reach := map[string]int{}
	for seed := off; seed < off+n; seed++ {
		c := gen.Example(seed)
		planner, err := rollout.New(c.Spec)
		if err != nil {
			t.Fatal(err)
		}
		plan, err := planner.Plan(c.Snapshot)
		if err != nil {
			t.Fatal(err)
		}
		var verifier verify.Verifier
		found := verify.Plan(c.Spec, c.Snapshot, &plan)
		alike := verifier.Plan(c.Spec, c.Snapshot, &plan)
		if fmt.Sprint(found) != fmt.Sprint(alike) {
			found = append(found, verify.Violation{Message: fmt.Sprint("alike differs")})
		}
		if plan.Budget.Failed > 0 { reach["failed"]++ }
		if plan.GaveUp != "" { reach["gaveup"]++ }
		if plan.Budget.Quarantined > 0 { reach["quarantined"]++ }
		if plan.Budget.Failed > plan.Budget.MaxFailed { reach["toomany"]++ }
		if plan.Status.StableRevision != plan.Status.UpdateRevision && plan.GaveUp != "" { reach["back"]++ }
		for _, v := range found {
			key := digits.ReplaceAllString(v.String(), "#")
			if len(key) > 140 {
				key = key[:140]
			}
			counts[key]++
			if ex[key] == "" || len(c.String()) < len(ex[key]) {
				ex[key] = fmt.Sprint(v, "\n", c)
			}
		}
	}
	for k, c := range counts {
		fmt.Println("#####", c, k, "\n", ex[k])
	}
	fmt.Println(reach)
}
