package predownload_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/daemonplan/daemonplan/predownload"
)

// old is n candidates a, b, c, … whose pods use app:1.
func old(n int) []predownload.Candidate {
	var candidates []predownload.Candidate
	for i := range n {
		candidates = append(candidates, predownload.Candidate{Node: string(rune('a' + i)), Uses: []string{"app:1"}})
	}
	return candidates
}

func parallel(v int32) predownload.Options { return predownload.Options{Parallelism: number(v)} }
func percent(v string) predownload.Options { return predownload.Options{Parallelism: text(v)} }
func flying(nodes ...string) (r []predownload.Request) {
	for _, node := range nodes {
		r = append(r, predownload.Request{Node: node, Image: "app:2"})
	}
	return r
}

func failed(node string, count int32, ago time.Duration) predownload.Failure {
	return predownload.Failure{Node: node, Image: "app:2", Count: count, At: noon.Add(-ago)}
}

func TestSelect(t *testing.T) {
	tests := []struct {
		name, why  string
		options    predownload.Options
		candidates []predownload.Candidate
		images     []string // default: app:2
		in         predownload.Input
		pulls      string // node:image of each, images other than app:2 only
		reasons    []predownload.WaitReason
		limit      int32
		inFlight   int32
		wake       time.Duration // from now; 0: none
	}{
		{name: "default", why: "parallelism is 1", candidates: old(3), pulls: "a", reasons: waits(predownload.ReasonParallelism), limit: 1},
		{name: "three at a time", why: "in the order of admission", options: parallel(3), candidates: old(5), pulls: "a b c", reasons: waits(predownload.ReasonParallelism), limit: 3},
		{name: "fewer than allowed", why: "all are asked, none is left", options: parallel(3), candidates: old(2), pulls: "a b", reasons: waits(predownload.ReasonServed), limit: 3},
		{name: "no candidates", why: "nothing to update", reasons: waits(predownload.ReasonServed), limit: 1},
		{name: "no images", why: "nothing to pull", images: []string{}, candidates: old(3)},
		{name: "image used", why: "the old pod has it", images: []string{"app:1"}, candidates: old(3), reasons: waits(predownload.ReasonServed), limit: 1},
		{name: "order of admission", why: "not that of names", options: parallel(2), candidates: reversed(old(3)), pulls: "c b", reasons: waits(predownload.ReasonParallelism), limit: 2},
		{name: "nameless candidate", why: "nobody could be asked", candidates: append([]predownload.Candidate{{}}, old(1)...), pulls: "a", reasons: waits(predownload.ReasonParallelism), limit: 1},
		{name: "node listed twice", why: "it is asked once and may cost a place", options: parallel(2), candidates: slices.Concat(old(1), old(3)), pulls: "a", reasons: waits(predownload.ReasonParallelism), limit: 2},
		{name: "candidate that has it", why: "it is passed over", candidates: append([]predownload.Candidate{{Node: "x", Present: reporting("docker.io/library/app:2")}}, old(1)...), pulls: "a", reasons: waits(predownload.ReasonParallelism), limit: 1},

		{name: "in flight counts", why: "V10", options: parallel(2), candidates: old(3), in: predownload.Input{InFlight: flying("a")}, pulls: "b", reasons: waits(predownload.ReasonParallelism), limit: 2, inFlight: 1},
		{name: "in flight fills", why: "V10", options: parallel(2), candidates: old(3), in: predownload.Input{InFlight: flying("a", "b")}, reasons: waits(predownload.ReasonParallelism), limit: 2, inFlight: 2},
		{name: "in flight overflows", why: "a parallelism that was lowered stops nothing, and begins nothing", options: parallel(1), candidates: old(3), in: predownload.Input{InFlight: flying("a", "b")}, reasons: waits(predownload.ReasonParallelism), limit: 1, inFlight: 2},
		{name: "in flight listed twice", why: "it is one pull", options: parallel(2), candidates: old(3), in: predownload.Input{InFlight: flying("a", "a")}, pulls: "b", reasons: waits(predownload.ReasonParallelism), limit: 2, inFlight: 1},
		{name: "in flight in another spelling", why: "it is one image", options: parallel(2), candidates: old(3), in: predownload.Input{InFlight: []predownload.Request{{Node: "a", Image: "docker.io/library/app:2"}}}, pulls: "b", reasons: waits(predownload.ReasonParallelism), limit: 2, inFlight: 1},
		{name: "in flight elsewhere", why: "a node that is no candidate any more still pulls", options: parallel(2), candidates: old(3), in: predownload.Input{InFlight: flying("gone")}, pulls: "a", reasons: waits(predownload.ReasonParallelism), limit: 2, inFlight: 1},
		{name: "in flight and there", why: "while it is listed it counts, even if the node has the image by now", options: parallel(2), candidates: []predownload.Candidate{{Node: "a", Present: reporting("app:2")}, {Node: "b"}, {Node: "c"}}, in: predownload.Input{InFlight: flying("a")}, pulls: "b", reasons: waits(predownload.ReasonParallelism), limit: 2, inFlight: 1},
		{name: "other image in flight", why: "each image has its own limit", candidates: old(3), in: predownload.Input{InFlight: []predownload.Request{{Node: "a", Image: "other:1"}}}, pulls: "a", reasons: waits(predownload.ReasonParallelism), limit: 1},
		{name: "the rest is in flight", why: "nothing more is needed", options: parallel(3), candidates: old(2), in: predownload.Input{InFlight: flying("b")}, pulls: "a", reasons: waits(predownload.ReasonServed), limit: 3, inFlight: 1},

		{name: "percent", why: "34% of 5 is 1.7, rounded up (D2)", options: percent("34%"), candidates: old(5), pulls: "a b", reasons: waits(predownload.ReasonParallelism), limit: 2},
		{name: "percent of those that need it", why: "nodes that have the image do not count", options: percent("50%"), candidates: append(old(2), predownload.Candidate{Node: "x", Uses: []string{"app:2"}}), pulls: "a", reasons: waits(predownload.ReasonParallelism), limit: 1},
		{name: "percent with in flight", why: "they need it: 50% of 4 are 2", options: percent("50%"), candidates: old(4), in: predownload.Input{InFlight: flying("a")}, pulls: "b", reasons: waits(predownload.ReasonParallelism), limit: 2, inFlight: 1},
		{name: "percent with in flight elsewhere", why: "50% of 4 and one more is 2.5, rounded up", options: percent("50%"), candidates: old(4), in: predownload.Input{InFlight: flying("gone")}, pulls: "a b", reasons: waits(predownload.ReasonParallelism), limit: 3, inFlight: 1},
		{name: "1%", why: "rounded up it is never nothing", options: percent("1%"), candidates: old(2), pulls: "a", reasons: waits(predownload.ReasonParallelism), limit: 1},
		{name: "100%", why: "all at once, and none is left", options: percent("100%"), candidates: old(3), pulls: "a b c", reasons: waits(predownload.ReasonServed), limit: 3},
		{name: "more than 100%", why: "all at once too", options: percent("2147483647%"), candidates: old(3), pulls: "a b c", reasons: waits(predownload.ReasonServed), limit: 64424510},
		{name: "percent of none", why: "nobody needs it, so the limit is 0 and binds nobody", options: percent("50%"), reasons: waits(predownload.ReasonServed)},
		{name: "percent, overflowing", why: "50% of 2 is 1, and that many are under way", options: percent("50%"), candidates: old(2), in: predownload.Input{InFlight: flying("a", "b")}, reasons: waits(predownload.ReasonServed), limit: 1, inFlight: 2},
		{name: "percent, backing off behind", why: "its turn does not come when the back-off ends", options: percent("50%"), candidates: old(2), in: predownload.Input{Failures: []predownload.Failure{failed("b", 1, 0)}}, pulls: "a", reasons: waits(predownload.ReasonParallelism), limit: 1},

		{name: "zero", why: "parallelism 0 pauses", options: parallel(0), candidates: old(3), reasons: waits(predownload.ReasonPaused)},
		{name: "zero percent", why: "so does 0%", options: percent("0%"), candidates: old(3), in: predownload.Input{InFlight: flying("a")}, reasons: waits(predownload.ReasonPaused), inFlight: 1},
		{name: "invalid options", why: "unreadable never means unlimited", options: percent("all"), candidates: old(3), reasons: waits(predownload.ReasonInvalidOptions)},
		{name: "negative timeout", why: "nothing is pulled by half-understood options", options: predownload.Options{TimeoutSeconds: -1}, candidates: old(3), reasons: waits(predownload.ReasonInvalidOptions)},

		{name: "not enough ready pods", why: "D1: the first updated pods show whether the image is any good", options: predownload.Options{MinUpdatedReadyPods: number(2)}, candidates: old(3), in: predownload.Input{Desired: 5, UpdatedReady: 1}, reasons: waits(predownload.ReasonMinUpdatedReadyPods)},
		{name: "enough ready pods", why: "2 of 2", options: predownload.Options{MinUpdatedReadyPods: number(2)}, candidates: old(3), in: predownload.Input{Desired: 5, UpdatedReady: 2}, pulls: "a", reasons: waits(predownload.ReasonParallelism), limit: 1},
		{name: "ready percent not reached", why: "D1: 10% of 11 is 1.1, rounded up", options: predownload.Options{MinUpdatedReadyPods: text("10%")}, candidates: old(3), in: predownload.Input{Desired: 11, UpdatedReady: 1}, reasons: waits(predownload.ReasonMinUpdatedReadyPods)},
		{name: "ready percent reached", why: "10% of 10 is 1", options: predownload.Options{MinUpdatedReadyPods: text("10%")}, candidates: old(3), in: predownload.Input{Desired: 10, UpdatedReady: 1}, pulls: "a", reasons: waits(predownload.ReasonParallelism), limit: 1},
		{name: "negative desired", why: "a percentage of less than nothing is nothing", options: predownload.Options{MinUpdatedReadyPods: text("10%")}, candidates: old(1), in: predownload.Input{Desired: math.MinInt32}, pulls: "a", reasons: waits(predownload.ReasonParallelism), limit: 1},

		{name: "backing off", why: "the next node takes the place, until the first may again", candidates: old(3), in: predownload.Input{Failures: []predownload.Failure{failed("a", 1, time.Second)}}, pulls: "b", reasons: waits(predownload.ReasonParallelism), limit: 1, wake: 9 * time.Second},
		{name: "back-off over", why: "at that very instant", candidates: old(3), in: predownload.Input{Failures: []predownload.Failure{failed("a", 1, 10*time.Second)}}, pulls: "a", reasons: waits(predownload.ReasonParallelism), limit: 1},
		{name: "back-off not quite over", why: "a nanosecond is missing", candidates: old(1), in: predownload.Input{Failures: []predownload.Failure{failed("a", 1, 10*time.Second-1)}}, reasons: waits(predownload.ReasonBackOff), limit: 1, wake: 1},
		{name: "all backing off", why: "the first to end wakes", options: parallel(2), candidates: old(3), in: predownload.Input{Failures: []predownload.Failure{failed("a", 3, 0), failed("b", 1, 0), failed("c", 2, 0)}}, reasons: waits(predownload.ReasonBackOff), limit: 2, wake: 10 * time.Second},
		{name: "backing off behind", why: "with all places taken before it, its end changes nothing", options: parallel(2), candidates: old(3), in: predownload.Input{Failures: []predownload.Failure{failed("c", 1, 0)}}, pulls: "a b", reasons: waits(predownload.ReasonParallelism), limit: 2},
		{name: "backing off at the last place", why: "with one place left, its end changes the choice", options: parallel(2), candidates: old(3), in: predownload.Input{Failures: []predownload.Failure{failed("b", 1, 0)}}, pulls: "a c", reasons: waits(predownload.ReasonParallelism), limit: 2, wake: 10 * time.Second},
		{name: "other node failed", why: "back-off is per node", candidates: old(1), in: predownload.Input{Failures: []predownload.Failure{failed("b", 1, 0)}}, pulls: "a", reasons: waits(predownload.ReasonParallelism), limit: 1},
		{name: "other image failed", why: "and per image", candidates: old(1), in: predownload.Input{Failures: []predownload.Failure{{Node: "a", Image: "app:3", Count: 9, At: noon}}}, pulls: "a", reasons: waits(predownload.ReasonParallelism), limit: 1},
		{name: "failed in another spelling", why: "it is one image", candidates: old(1), in: predownload.Input{Failures: []predownload.Failure{{Node: "a", Image: "docker.io/app:2", Count: 1, At: noon}}}, reasons: waits(predownload.ReasonBackOff), limit: 1, wake: 10 * time.Second},
		{name: "clock set back", why: "a failure of the future begins now", candidates: old(1), in: predownload.Input{Failures: []predownload.Failure{failed("a", 1, -time.Hour)}}, reasons: waits(predownload.ReasonBackOff), limit: 1, wake: 10 * time.Second},
		{name: "last retry", why: "3 retries are 4 pulls", candidates: old(1), in: predownload.Input{Failures: []predownload.Failure{failed("a", 3, time.Hour)}}, pulls: "a", reasons: waits(predownload.ReasonParallelism), limit: 1},
		{name: "given up", why: "the fourth failure was the last", candidates: old(1), in: predownload.Input{Failures: []predownload.Failure{failed("a", 4, time.Hour)}}, reasons: waits(predownload.ReasonGivenUp), limit: 1},
		{name: "given up, others go on", why: "one node's trouble is its own", candidates: old(2), in: predownload.Input{Failures: []predownload.Failure{failed("a", 4, 0)}}, pulls: "b", reasons: waits(predownload.ReasonParallelism), limit: 1},
		{name: "given up and backing off", why: "there is something to wait for", candidates: old(2), in: predownload.Input{Failures: []predownload.Failure{failed("a", 4, 0), failed("b", 1, 0)}}, reasons: waits(predownload.ReasonBackOff), limit: 1, wake: 10 * time.Second},
		{name: "no retries", why: "a limit of 0 gives up after the first", options: predownload.Options{BackoffLimit: new(int32(0))}, candidates: old(1), in: predownload.Input{Failures: []predownload.Failure{failed("a", 1, time.Hour)}}, reasons: waits(predownload.ReasonGivenUp), limit: 1},
		{name: "two records", why: "the higher count and the later instant", candidates: old(1), in: predownload.Input{Failures: []predownload.Failure{failed("a", 2, time.Hour), failed("a", 1, 5*time.Second)}}, reasons: waits(predownload.ReasonBackOff), limit: 1, wake: 15 * time.Second},
		{name: "failure in flight", why: "the retry is under way", candidates: old(1), in: predownload.Input{InFlight: flying("a"), Failures: []predownload.Failure{failed("a", 1, 0)}}, reasons: waits(predownload.ReasonParallelism), limit: 1, inFlight: 1},

		{name: "two images", why: "each has its own limit", images: []string{"app:2", "side:2"}, candidates: old(2), pulls: "a a:side:2", reasons: waits(predownload.ReasonParallelism, predownload.ReasonParallelism), limit: 1},
		{name: "two images, one full", why: "the other goes on, node by node", options: parallel(2), images: []string{"app:2", "side:2"}, candidates: old(2), in: predownload.Input{InFlight: flying("x")}, pulls: "a a:side:2 b:side:2", reasons: waits(predownload.ReasonParallelism, predownload.ReasonParallelism), limit: 2, inFlight: 1},
		{name: "two images, one given up", why: "one image's trouble is its own", images: []string{"app:2", "side:2"}, candidates: old(1), in: predownload.Input{Failures: []predownload.Failure{failed("a", 4, 0)}}, pulls: "a:side:2", reasons: waits(predownload.ReasonGivenUp, predownload.ReasonParallelism), limit: 1},
		{name: "two images, one backing off", why: "the same", images: []string{"app:2", "side:2"}, candidates: old(1), in: predownload.Input{Failures: []predownload.Failure{failed("a", 1, 0)}}, pulls: "a:side:2", reasons: waits(predownload.ReasonBackOff, predownload.ReasonParallelism), limit: 1, wake: 10 * time.Second},
		{name: "two images by percent", why: "pulls follow the candidates, not the images", options: percent("100%"), images: []string{"app:2", "side:2"}, candidates: old(2), pulls: "a a:side:2 b b:side:2", reasons: waits(predownload.ReasonServed, predownload.ReasonServed), limit: 2},
		{name: "one image twice", why: "it is one pull, as it is spelled first", options: parallel(2), images: []string{"app:2", "library/app:2", ""}, candidates: old(1), pulls: "a", reasons: waits(predownload.ReasonServed), limit: 2},
	}
	rows := make(rowNames)
	for _, test := range tests {
		rows.check(t, test.name, test.why)
		t.Run(test.name, func(t *testing.T) {
			in := test.in
			in.Now, in.Options, in.Images = noon, test.options, []string{"app:2"}
			if test.images != nil {
				in.Images = test.images
			}
			in.Candidates = slices.Values(test.candidates)
			got := predownload.Select(in)
			var pulls []string
			for _, p := range got.Pulls {
				pulls = append(pulls, strings.TrimSuffix(p.Node+":"+p.Image, ":app:2"))
			}
			if joined := strings.Join(pulls, " "); joined != test.pulls {
				t.Errorf("pulls %q, want %q: %s", joined, test.pulls, test.why)
			}
			var reasons []predownload.WaitReason
			for _, w := range got.Waits {
				reasons = append(reasons, w.Reason)
			}
			if !slices.Equal(reasons, test.reasons) {
				t.Errorf("reasons %v, want %v: %s", reasons, test.reasons, test.why)
			}
			if len(got.Waits) > 0 && (got.Waits[0].Limit != test.limit || got.Waits[0].InFlight != test.inFlight) {
				t.Errorf("limit %d with %d in flight, want %d with %d: %s", got.Waits[0].Limit, got.Waits[0].InFlight, test.limit, test.inFlight, test.why)
			}
			wake := got.Wake.Sub(noon)
			if got.Wake.IsZero() {
				wake = 0
			}
			if wake != test.wake {
				t.Errorf("wake after %s, want %s: %s", wake, test.wake, test.why)
			}
		})
	}
}

func waits(reasons ...predownload.WaitReason) []predownload.WaitReason { return reasons }

func reversed(candidates []predownload.Candidate) []predownload.Candidate {
	slices.Reverse(candidates)
	return candidates
}

// TestSelectCarries: timeout, back-off limit and secrets go with each pull.
func TestSelectCarries(t *testing.T) {
	in := predownload.Input{
		Options: predownload.Options{TimeoutSeconds: 30, BackoffLimit: new(int32(7))}, Secrets: []string{"s", "t"},
		Images: []string{"app:2"}, Candidates: slices.Values(old(1)),
	}
	want := []predownload.Pull{{Node: "a", Image: "app:2", Secrets: []string{"s", "t"}, Timeout: 30 * time.Second, BackoffLimit: 7}}
	if diff := gocmp.Diff(want, predownload.Select(in).Pulls); diff != "" {
		t.Errorf("set (-want +got):\n%s", diff)
	}
	in.Options, in.Secrets = predownload.Options{}, nil
	want = []predownload.Pull{{Node: "a", Image: "app:2", Timeout: 10 * time.Minute, BackoffLimit: 3}}
	if diff := gocmp.Diff(want, predownload.Select(in).Pulls); diff != "" {
		t.Errorf("defaults (-want +got):\n%s", diff)
	}
}

// TestSelectFailures: what to keep of the failures is one record per node and image, as cautious as all of them.
func TestSelectFailures(t *testing.T) {
	at := func(seconds int) time.Time { return noon.Add(time.Duration(seconds) * time.Second) }
	in := predownload.Input{Now: noon, Failures: []predownload.Failure{
		{Node: "n", Image: "x:a", Count: 1, At: at(-5)},
		{Node: "n", Image: "x@a", Count: 7, At: at(-70)}, // a digest is another image than a tag of that text
		{Node: "n", Image: "docker.io/x:a", Count: 2, At: at(-9)},
		{Node: "n", Image: "docker.io/library/x@a", Count: 0, At: at(-60)},
		{Node: "n", Image: "x:b", Count: -1, At: at(60)},
		{Node: "n", Image: "reg.io/x:a", Count: 1, At: at(-1)},
		{Node: "n", Image: "team/x:a", Count: 1, At: at(-2)},
		{Node: "m", Image: "x:a", Count: 3, At: at(-4)},
	}}
	want := []predownload.Failure{
		{Node: "m", Image: "x:a", Count: 3, At: at(-4)},
		{Node: "n", Image: "team/x:a", Count: 1, At: at(-2)},
		{Node: "n", Image: "docker.io/x:a", Count: 2, At: at(-5)},
		{Node: "n", Image: "docker.io/library/x@a", Count: 7, At: at(-60)},
		{Node: "n", Image: "x:b", Count: 1, At: noon},
		{Node: "n", Image: "reg.io/x:a", Count: 1, At: at(-1)},
	}
	for range 2 { // the second time from the end
		if diff := gocmp.Diff(want, predownload.Select(in).Failures); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		slices.Reverse(in.Failures)
	}
	in.Failures = want
	if diff := gocmp.Diff(want, predownload.Select(in).Failures); diff != "" {
		t.Errorf("what was kept is not kept (-want +got):\n%s", diff)
	}
}

func TestSelectZeroInput(t *testing.T) {
	if diff := gocmp.Diff(predownload.Selection{}, predownload.Select(predownload.Input{})); diff != "" {
		t.Errorf("the zero input selects something:\n%s", diff)
	}
	got := predownload.Select(predownload.Input{Images: []string{"a"}})
	want := predownload.Selection{Waits: []predownload.ImageWait{{Image: "a", Limit: 1}}}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("nil candidates (-want +got):\n%s", diff)
	}
}

// TestSelectReads: how far the candidates are read, which on a large fleet is what Select costs.
func TestSelectReads(t *testing.T) {
	tests := []struct {
		name, why string
		in        predownload.Input
		want      int
	}{
		{name: "one", why: "the first takes the place", want: 1},
		{name: "three", why: "the third takes the last place", in: predownload.Input{Options: parallel(3)}, want: 3},
		{name: "in flight", why: "it is passed, and there are two places left", in: predownload.Input{Options: parallel(3), InFlight: flying("a")}, want: 3},
		{name: "full", why: "there is nobody to look for", in: predownload.Input{InFlight: flying("a")}, want: 0},
		{name: "paused", why: "nor here", in: predownload.Input{Options: parallel(0)}, want: 0},
		{name: "waiting", why: "nor here", in: predownload.Input{Options: predownload.Options{MinUpdatedReadyPods: number(1)}}, want: 0},
		{name: "no image", why: "nor here", in: predownload.Input{Images: []string{""}}, want: 0},
		{name: "percent", why: "the number of nodes must be known", in: predownload.Input{Options: percent("1%")}, want: 26},
		{name: "second image not needed", why: "only the end shows that nobody needs it", in: predownload.Input{Images: []string{"app:2", "app:1"}}, want: 26},
	}
	rows := make(rowNames)
	for _, test := range tests {
		rows.check(t, test.name, test.why)
		t.Run(test.name, func(t *testing.T) {
			read := 0
			in := test.in
			if in.Images == nil {
				in.Images = []string{"app:2"}
			}
			in.Candidates = counting(slices.Values(old(26)), &read)
			predownload.Select(in)
			if read != test.want {
				t.Errorf("read %d candidates, want %d: %s", read, test.want, test.why)
			}
		})
	}
}

// TestSelectRollout follows a rollout of one node at a time whose second node cannot pull.
func TestSelectRollout(t *testing.T) {
	candidates := old(3)
	in := predownload.Input{Now: noon, Options: predownload.Options{BackoffLimit: new(int32(1))}, Images: []string{"app:2"}, Candidates: slices.Values(candidates)}
	var log []string
	for {
		s := predownload.Select(in)
		in.Failures = s.Failures
		if len(s.Pulls) == 0 {
			log = append(log, fmt.Sprintf("%s after %s", s.Waits[0].Reason, in.Now.Sub(noon)))
			if s.Wake.IsZero() {
				break
			}
			in.Now = s.Wake
			continue
		}
		node := s.Pulls[0].Node
		log = append(log, node)
		i := slices.IndexFunc(candidates, func(c predownload.Candidate) bool { return c.Node == node })
		if node != "b" {
			candidates[i].Present = reporting("app:2")
			continue
		}
		count := int32(1)
		if len(in.Failures) > 0 {
			count += in.Failures[0].Count
		}
		in.Failures = append(in.Failures, failed("b", count, -in.Now.Sub(noon)))
	}
	want := []string{"a", "b", "c", "backing off after failed pulls after 0s", "b", "given up after failed pulls after 10s"}
	if !slices.Equal(log, want) {
		t.Errorf("got %q, want %q", log, want)
	}
}
