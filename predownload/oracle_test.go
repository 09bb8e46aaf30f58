package predownload_test

import (
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/daemonplan/daemonplan/predownload"
)

// selector is anything that selects pulls: Select, the oracle, a planted bug.
type selector func(predownload.Input) predownload.Selection

var imagePattern = regexp.MustCompile(`^(?:((?:[^/@]*[.:A-Z][^/@]*)|localhost)/)?([^@]*?)(?::([^:/@]*))?(?:@(.*))?$`)

// spelledOut writes an image name in full: registry, repository, and digest or tag. Only ASCII is understood.
func spelledOut(image string) string {
	parts := imagePattern.FindStringSubmatch(image)
	if parts == nil {
		return "?" + image
	}
	registry, repository, tag, digest := parts[1], parts[2], parts[3], parts[4]
	if registry == "" || registry == "index.docker.io" {
		registry = "docker.io"
	}
	if registry == "docker.io" && !strings.Contains(repository, "/") {
		repository = "library/" + repository
	}
	if strings.Contains(image, "@") {
		return registry + "/" + repository + "@" + digest
	}
	name, _, _ := strings.Cut(image, "@")
	if tag == "" && !strings.HasSuffix(name, ":") {
		tag = "latest"
	}
	return registry + "/" + repository + ":" + tag
}

// oracle is Select once more: it reads everything, sorts nothing, counts with big numbers, and finds the wake by
// trying the instants at which a back-off ends.
func oracle(in predownload.Input) predownload.Selection {
	s := oracleAt(in, in.Now)
	s.Failures = oracleFailures(in)
	var ends []time.Time
	for _, f := range s.Failures {
		ends = append(ends, oracleUntil(f))
	}
	slices.SortFunc(ends, time.Time.Compare)
	settled := in
	settled.Failures = s.Failures
	for _, end := range ends {
		if end.After(in.Now) && !slices.EqualFunc(oracleAt(settled, end).Pulls, s.Pulls, samePull) {
			s.Wake = end
			break
		}
	}
	return s
}

func samePull(a, b predownload.Pull) bool { return a.Node == b.Node && a.Image == b.Image }

func oracleAt(in predownload.Input, now time.Time) predownload.Selection {
	in.Now = now
	var s predownload.Selection
	var candidates []predownload.Candidate
	if in.Candidates != nil {
		candidates = slices.Collect(in.Candidates)
	}
	type chosen struct{ node, image int }
	pulled := make(map[chosen]bool)
	seen := make(map[string]bool)
	var images []string
	for _, image := range in.Images {
		if image == "" || seen[spelledOut(image)] {
			continue
		}
		seen[spelledOut(image)] = true
		wait := predownload.ImageWait{Image: image, Reason: oracleBlock(in)}
		flying := make(map[string]bool)
		for _, request := range in.InFlight {
			if spelledOut(request.Image) == spelledOut(image) {
				flying[request.Node] = true
			}
		}
		wait.InFlight = int32(len(flying))
		if wait.Reason == predownload.ReasonServed {
			limit := oracleLimit(in, image, candidates, flying)
			wait.Limit = int32(limit)
			room := limit - len(flying)
			var backingOff, givenUp, left int
			for n, c := range candidates {
				if c.Node == "" || flying[c.Node] || !oracleNeeds(c, image) {
					continue
				}
				switch count, until := oracleFailure(in, c.Node, image); {
				case count > int(oracleBackoffLimit(in)):
					givenUp++
				case until.After(now):
					backingOff++
				case room <= 0:
					left++
				default:
					room--
					pulled[chosen{n, len(images)}] = true
				}
			}
			percent := in.Options.Parallelism != nil && in.Options.Parallelism.Type == intstr.String
			switch {
			case room <= 0 && (!percent || left > 0 || backingOff > 0):
				wait.Reason = predownload.ReasonParallelism
			case backingOff > 0:
				wait.Reason = predownload.ReasonBackOff
			case givenUp > 0:
				wait.Reason = predownload.ReasonGivenUp
			}
		}
		images = append(images, image)
		s.Waits = append(s.Waits, wait)
	}
	timeout := in.Options.TimeoutSeconds
	if timeout == 0 {
		timeout = 600
	}
	for n, c := range candidates {
		for i, image := range images {
			if pulled[chosen{n, i}] {
				s.Pulls = append(s.Pulls, predownload.Pull{
					Node: c.Node, Image: image, Secrets: in.Secrets, BackoffLimit: oracleBackoffLimit(in),
					Timeout: time.Duration(timeout) * time.Second,
				})
			}
		}
	}
	return s
}

func oracleBackoffLimit(in predownload.Input) int32 {
	if in.Options.BackoffLimit == nil {
		return 3
	}
	return *in.Options.BackoffLimit
}

// oracleBlock returns why no candidate is looked at, or ReasonServed.
func oracleBlock(in predownload.Input) predownload.WaitReason {
	parallelism, ok := oracleCount(in.Options.Parallelism, 1, 1000)
	minReady, okReady := oracleCount(in.Options.MinUpdatedReadyPods, 0, int64(max(in.Desired, 0)))
	if v := in.Options.MinUpdatedReadyPods; okReady && v != nil && v.Type == intstr.String {
		whole, _ := oracleCount(v, 0, 100)
		okReady = whole.Cmp(big.NewInt(100)) <= 0
	}
	switch {
	case !ok || !okReady || in.Options.TimeoutSeconds < 0 || oracleBackoffLimit(in) < 0:
		return predownload.ReasonInvalidOptions
	case parallelism.Sign() == 0:
		return predownload.ReasonPaused
	case big.NewInt(int64(in.UpdatedReady)).Cmp(minReady) < 0:
		return predownload.ReasonMinUpdatedReadyPods
	default:
		return predownload.ReasonServed
	}
}

// oracleCount returns a count, or a percentage of total rounded up.
func oracleCount(v *intstr.IntOrString, fallback, total int64) (*big.Int, bool) {
	if v == nil {
		return big.NewInt(fallback), true
	}
	if v.Type == intstr.Int {
		return big.NewInt(int64(v.IntVal)), v.IntVal >= 0
	}
	if !regexp.MustCompile(`^[0-9]+%$`).MatchString(v.StrVal) {
		return nil, false
	}
	percent, err := strconv.ParseInt(strings.TrimSuffix(v.StrVal, "%"), 10, 32)
	count := new(big.Rat).Mul(big.NewRat(percent, 100), new(big.Rat).SetInt64(total))
	rest := new(big.Int)
	whole, rest := new(big.Int).QuoRem(count.Num(), count.Denom(), rest)
	if rest.Sign() > 0 {
		whole.Add(whole, big.NewInt(1))
	}
	return whole, err == nil
}

func oracleLimit(in predownload.Input, image string, candidates []predownload.Candidate, flying map[string]bool) int {
	needing := make(map[string]bool)
	for node := range flying {
		needing[node] = true
	}
	for _, c := range candidates {
		if c.Node != "" && oracleNeeds(c, image) {
			needing[c.Node] = true
		}
	}
	limit, _ := oracleCount(in.Options.Parallelism, 1, int64(len(needing)))
	return int(limit.Int64())
}

func oracleNeeds(c predownload.Candidate, image string) bool {
	names := slices.Clone(c.Uses)
	for _, present := range c.Present {
		names = append(names, present.Names...)
	}
	return !slices.ContainsFunc(names, func(name string) bool { return spelledOut(name) == spelledOut(image) })
}

// oracleFailure returns how often pulls failed, and when the next one may begin.
func oracleFailure(in predownload.Input, node, image string) (int, time.Time) {
	count, last := 0, time.Time{}
	for _, f := range in.Failures {
		if f.Node != node || spelledOut(f.Image) != spelledOut(image) {
			continue
		}
		at := f.At
		if at.After(in.Now) {
			at = in.Now
		}
		if count == 0 || at.After(last) {
			last = at
		}
		count = max(count, int(f.Count), 1)
	}
	if count == 0 {
		return 0, time.Time{}
	}
	return count, oracleUntil(predownload.Failure{Count: int32(count), At: last})
}

func oracleUntil(f predownload.Failure) time.Time {
	seconds := []int{0, 10, 20, 40, 80, 160, 300}
	return f.At.Add(time.Duration(seconds[min(int(f.Count), len(seconds)-1)]) * time.Second)
}

func oracleFailures(in predownload.Input) []predownload.Failure {
	var all []predownload.Failure
	for _, f := range in.Failures {
		f.Count = max(f.Count, 1)
		if f.At.After(in.Now) {
			f.At = in.Now
		}
		same := func(other predownload.Failure) bool {
			return other.Node == f.Node && spelledOut(other.Image) == spelledOut(f.Image)
		}
		if i := slices.IndexFunc(all, same); i >= 0 {
			all[i].Count = max(all[i].Count, f.Count)
			all[i].Image = min(all[i].Image, f.Image)
			if f.At.After(all[i].At) {
				all[i].At = f.At
			}
			continue
		}
		all = append(all, f)
	}
	slices.SortFunc(all, func(a, b predownload.Failure) int {
		return strings.Compare(a.Node+" "+spelledOut(a.Image), b.Node+" "+spelledOut(b.Image))
	})
	return all
}
