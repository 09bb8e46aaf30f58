package predownload_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"

	_ "github.com/daemonplan/daemonplan/internal/fixedseed"
	"github.com/daemonplan/daemonplan/internal/fuzzing"
	"github.com/daemonplan/daemonplan/predownload"
)

// property says what is wrong with what a selector does in a scenario; empty: nothing.
type property func(selector, scenario) string

var properties = map[string]property{
	"oracle": likeOracle, "parallelism": withinParallelism, "inputs": leavesInputsAlone, "order": forgetsOrder,
	"idempotent": doneOnce, "monotone": moreWithMore, "lazy": readsNoFurther, "wake": wakesInTime, "live": pullsAll,
}

func TestSelectProperties(t *testing.T) {
	for name, check := range properties {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				if wrong := check(predownload.Select, scenarioGen().Draw(t, "scenario")); wrong != "" {
					t.Fatal(wrong)
				}
			})
		})
	}
}

// FuzzSelect checks all properties of one scenario.
func FuzzSelect(f *testing.F) {
	fuzzing.Property(f, rapid.MakeFuzz(func(t *rapid.T) {
		s := scenarioGen().Draw(t, "scenario")
		for name, check := range properties {
			if wrong := check(predownload.Select, s); wrong != "" {
				t.Fatalf("%s: %s", name, wrong)
			}
		}
	}))
}

// likeOracle: the lazy selection is the naive one.
func likeOracle(choose selector, s scenario) string {
	return gocmp.Diff(oracle(s.in()), choose(s.in()), cmpopts.EquateEmpty())
}

// withinParallelism is V10: per image, pulls in flight and new ones stay within the limit, or there are no new ones.
func withinParallelism(choose selector, s scenario) string {
	underWay := make(map[string]map[string]bool)
	note := func(node, image string) (again bool) {
		image = spelledOut(image)
		if underWay[image] == nil {
			underWay[image] = make(map[string]bool)
		}
		again = underWay[image][node]
		underWay[image][node] = true
		return again
	}
	for _, r := range s.input.InFlight {
		note(r.Node, r.Image)
	}
	for _, p := range choose(s.in()).Pulls {
		flying := make(map[string]bool)
		for _, r := range s.input.InFlight {
			if spelledOut(r.Image) == spelledOut(p.Image) {
				flying[r.Node] = true
			}
		}
		if note(p.Node, p.Image) {
			return fmt.Sprintf("%s is pulled on %s twice", p.Image, p.Node)
		}
		limit := oracleLimit(s.input, p.Image, s.candidates, flying)
		if n := len(underWay[spelledOut(p.Image)]); n > limit {
			return fmt.Sprintf("%d pulls of %s under way, limit %d", n, p.Image, limit)
		}
	}
	return ""
}

// leavesInputsAlone: equal inputs give equal outputs, and nothing is written, spare capacity included.
func leavesInputsAlone(choose selector, s scenario) string {
	full := func() string {
		in := s.input
		return fmt.Sprint(in.Images[:cap(in.Images)], in.Secrets[:cap(in.Secrets)], in.InFlight[:cap(in.InFlight)],
			in.Failures[:cap(in.Failures)], s.candidates, in.Options.Parallelism, in.Options.MinUpdatedReadyPods)
	}
	before := full()
	first := choose(s.in())
	second := choose(s.in())
	if diff := gocmp.Diff(first, second); diff != "" {
		return diff
	}
	for i := range first.Pulls {
		first.Pulls[i].Node, first.Pulls[i].Image = "written", "written"
		_ = append(first.Pulls[i].Secrets, "written")
		for j := range first.Pulls[i].Secrets {
			first.Pulls[i].Secrets[j] = "written"
		}
	}
	for i := range first.Failures {
		first.Failures[i].Node = "written"
	}
	if after := full(); after != before {
		return "inputs were written:\n" + before + "\n" + after
	}
	return gocmp.Diff(second, choose(s.in()))
}

// forgetsOrder: that of requests, failures and images' names on a node says nothing, and repeating them neither.
func forgetsOrder(choose selector, s scenario) string {
	want := choose(s.in())
	in := s.in()
	in.InFlight = slices.Concat(in.InFlight, in.InFlight)
	slices.Reverse(in.InFlight)
	in.Failures = slices.Concat(in.Failures, in.Failures)
	slices.Reverse(in.Failures)
	candidates := slices.Clone(s.candidates)
	for i := range candidates {
		candidates[i].Present = slices.Clone(candidates[i].Present)
		slices.Reverse(candidates[i].Present)
		candidates[i].Uses = slices.Clone(candidates[i].Uses)
		slices.Reverse(candidates[i].Uses)
	}
	in.Candidates = slices.Values(candidates)
	return gocmp.Diff(want, choose(in), cmpopts.EquateEmpty())
}

// doneOnce is V14: with the pulls in flight there are no new ones.
func doneOnce(choose selector, s scenario) string {
	for _, p := range choose(s.in()).Pulls {
		s.input.InFlight = append(slices.Clip(s.input.InFlight), predownload.Request{Node: p.Node, Image: p.Image})
	}
	if again := choose(s.in()).Pulls; len(again) > 0 {
		return fmt.Sprintf("with the pulls in flight, new ones: %v", again)
	}
	return ""
}

// moreWithMore: a greater parallelism, or one candidate more at the end, takes back no pull.
func moreWithMore(choose selector, s scenario) string {
	less := choose(s.in()).Pulls
	greater := s
	if v := s.input.Options.Parallelism; v != nil && v.Type == intstr.Int && v.IntVal >= 0 {
		greater.input.Options.Parallelism = number(v.IntVal + 1)
	} else if v != nil && v.StrVal == "34%" {
		greater.input.Options.Parallelism = text("51%")
	}
	longer := s
	longer.candidates = append(slices.Clone(s.candidates), predownload.Candidate{Node: "one more"})
	for _, more := range []scenario{greater, longer} {
		pulls := choose(more.in()).Pulls
		for _, p := range less {
			if !slices.ContainsFunc(pulls, func(other predownload.Pull) bool { return samePull(p, other) }) {
				return fmt.Sprintf("%s on %s is no longer pulled", p.Image, p.Node)
			}
		}
	}
	return ""
}

// readsNoFurther: with an integer parallelism no candidate is read after the last place is taken, and a percentage
// takes one pass.
func readsNoFurther(choose selector, s scenario) string {
	read := 0
	in := s.in()
	in.Candidates = counting(in.Candidates, &read)
	choose(in)
	if read > len(s.candidates) {
		return fmt.Sprintf("read %d of %d candidates", read, len(s.candidates))
	}
	if v := s.input.Options.Parallelism; v != nil && v.Type == intstr.String || oracleBlock(s.input) != predownload.ReasonServed {
		return ""
	}
	if read == 0 {
		return ""
	}
	// Without the last one that was read, some image must still have had room.
	s.candidates = s.candidates[:read-1]
	for _, wait := range oracle(s.in()).Waits {
		if wait.Reason != predownload.ReasonParallelism {
			return ""
		}
	}
	return fmt.Sprintf("read %d candidates, and one less would do", read)
}

// wakesInTime is V15: before Wake the same is pulled, and at Wake something else.
func wakesInTime(choose selector, s scenario) string {
	now := choose(s.in())
	later := s
	later.input.Failures = now.Failures
	if now.Wake.IsZero() {
		later.input.Now = noon.Add(24 * time.Hour)
		if diff := gocmp.Diff(now.Pulls, choose(later.in()).Pulls, cmpopts.EquateEmpty()); diff != "" {
			return "no wake, but a day later: " + diff
		}
		return ""
	}
	if !now.Wake.After(noon) {
		return fmt.Sprintf("wake %s is not after now", now.Wake)
	}
	later.input.Now = now.Wake.Add(-1)
	if diff := gocmp.Diff(now.Pulls, choose(later.in()).Pulls, cmpopts.EquateEmpty()); diff != "" {
		return "before the wake: " + diff
	}
	later.input.Now = now.Wake
	if gocmp.Equal(now.Pulls, choose(later.in()).Pulls, cmpopts.EquateEmpty()) {
		return "nothing changes at the wake"
	}
	return ""
}

// pullsAll: if pulls end, one in three of them badly, then every node ends with the images or is given up.
func pullsAll(choose selector, s scenario) string {
	if oracleBlock(s.input) != predownload.ReasonServed {
		return ""
	}
	s.candidates = slices.Clone(s.candidates)
	s.input.InFlight = nil
	attempts := 0
	for range 1000 {
		chosen := choose(s.in())
		s.input.Failures = chosen.Failures
		if len(chosen.Pulls) == 0 && chosen.Wake.IsZero() {
			return leftOver(s)
		}
		if len(chosen.Pulls) == 0 {
			s.input.Now = chosen.Wake
		}
		for _, p := range chosen.Pulls {
			if attempts++; attempts%3 == 0 {
				count, _ := oracleFailure(s.input, p.Node, p.Image)
				s.input.Failures = append(s.input.Failures, predownload.Failure{
					Node: p.Node, Image: p.Image, Count: int32(count) + 1, At: s.input.Now,
				})
				continue
			}
			i := slices.IndexFunc(s.candidates, func(c predownload.Candidate) bool { return c.Node == p.Node })
			s.candidates[i].Present = append(slices.Clone(s.candidates[i].Present), corev1.ContainerImage{Names: []string{spelledOut(p.Image)}})
		}
	}
	return "it never ends"
}

func leftOver(s scenario) string {
	for _, c := range s.candidates {
		for _, image := range s.input.Images {
			count, _ := oracleFailure(s.input, c.Node, image)
			if image != "" && oracleNeeds(c, image) && count <= int(oracleBackoffLimit(s.input)) {
				return fmt.Sprintf("%s is never pulled on %s", image, c.Node)
			}
		}
	}
	return ""
}
