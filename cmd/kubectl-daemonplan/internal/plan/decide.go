package plan

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/manifest"
)

// result is a plan with what it was made from.
type result struct {
	set      *set
	snapshot rollout.Snapshot
	claims   rollout.Claims
	plan     rollout.Plan
	input    *input
}

// decide makes the plan. These four calls are all that a program needs of the library: New, Claim, ClaimRevisions, Plan.
func (in *input) decide(s *set, now time.Time) (*result, error) {
	if len(in.nodes) == 0 {
		return nil, errors.New("there is no Node in the input")
	}
	planner, err := rollout.New(s.Spec)
	if err != nil {
		return nil, invalid(in.origins[s], s.Spec, err)
	}
	claims, err := rollout.Claim(s.Spec, in.pods)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", in.origins[s], err)
	}
	if err := in.checkUIDs(claims.Pods); err != nil {
		return nil, err
	}
	revisionClaims, err := rollout.ClaimRevisions(s.Spec, in.revisions)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", in.origins[s], err)
	}
	snapshot := rollout.Snapshot{
		Now:       now,
		Nodes:     in.nodes,
		Pods:      claims.Pods,
		Revisions: revisionClaims.Revisions,
		Memory:    s.Memory,
	}
	plan, err := planner.Plan(snapshot)
	if err != nil {
		return nil, err
	}
	return &result{set: s, snapshot: snapshot, claims: claims, plan: plan, input: in}, nil
}

// checkUIDs refuses objects that the planner would refuse, because here the error can name the file.
func (in *input) checkUIDs(pods []*corev1.Pod) error {
	seen := make(map[types.UID]*corev1.Pod, len(pods))
	for _, pod := range pods {
		if pod.UID == "" {
			return fmt.Errorf("%s: metadata.uid: Required value: deletes use it as precondition", in.origins[pod])
		}
		if first, taken := seen[pod.UID]; taken {
			return fmt.Errorf("%s: metadata.uid: Duplicate value: Pod %s/%s has it too, in %s", in.origins[pod],
				printable(first.Namespace), printable(first.Name), in.origins[first])
		}
		seen[pod.UID] = pod
	}
	return nil
}

// invalid lists every mistake in a spec, with the paths of its manifest.
func invalid(origin string, spec rollout.Spec, err error) error {
	var lines []error
	for _, mistake := range manifest.FieldErrors(spec, err) {
		lines = append(lines, fmt.Errorf("%s: %w", origin, mistake))
	}
	if len(lines) == 0 {
		return fmt.Errorf("%s: %w", origin, err)
	}
	return errors.Join(lines...)
}

// ignoredLine lists the objects that were ignored; empty if none were.
func (r *result) ignoredLine() string {
	total := 0
	for _, n := range r.input.ignored {
		total += n
	}
	if total == 0 {
		return ""
	}
	return fmt.Sprintf("ignored: %s (%s)", counted(total, "object"), ignoredKinds(r.input.ignored))
}

// ignoredKinds counts the objects that were ignored, the most frequent kind first.
func ignoredKinds(ignored map[string]int) string {
	kinds := slices.SortedFunc(maps.Keys(ignored), func(a, b string) int {
		return cmp.Or(cmp.Compare(ignored[b], ignored[a]), cmp.Compare(a, b))
	})
	var counts []string
	for _, kind := range kinds {
		counts = append(counts, fmt.Sprintf("%s %d", printable(kind), ignored[kind]))
	}
	return strings.Join(counts, ", ")
}

// counted puts the number before the noun, which gets an s in the plural.
func counted(n int, noun string) string {
	return agree(n, noun, noun+"s")
}

// agree puts the number before the words that agree with it.
func agree(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
