// Package plan makes the plan of a set, and prints it: as a report, as the explanation of a node, as what changes in the pods,
// as a document for programs, and as the effect of a command.
package plan

import (
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/text"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/manifest"
)

// Result is a plan with what it was made from.
type Result struct {
	Set      *objects.Set
	Snapshot rollout.Snapshot
	Plan     rollout.Plan
	Input    *objects.Input

	claims rollout.Claims
	hashes map[string][]string // see pods
	begins time.Time           // when the first nodes are begun; see order
}

// Decide makes the plan. These four calls are all that a program needs of the library: New, Claim, ClaimRevisions, Plan.
func Decide(in *objects.Input, s *objects.Set, now time.Time) (*Result, error) {
	return decide(in, s, now, nil)
}

// Next makes the plan that follows this one, from what has become of the same set. It remembers what this plan remembers, and
// does not read objects again that this plan has read.
func (r *Result) Next(in *objects.Input, s *objects.Set, now time.Time) (*Result, error) {
	s.Memory = r.Plan.Memory
	return decide(in, s, now, r.Plan.Reading)
}

func decide(in *objects.Input, s *objects.Set, now time.Time, reading *rollout.Reading) (*Result, error) {
	if len(in.Nodes) == 0 {
		return nil, errors.New("there is no Node in the input; a dump has them: " +
			"kubectl get nodes,pods,controllerrevisions,ds -A -o json")
	}
	planner, err := rollout.New(s.Spec)
	if err != nil {
		return nil, Invalid(in.SetPlace(s), s, err)
	}
	claims, err := rollout.Claim(s.Spec, in.Pods)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", in.SetPlace(s), err)
	}
	if err := checkUIDs(in, claims.Pods); err != nil {
		return nil, err
	}
	revisionClaims, err := rollout.ClaimRevisions(s.Spec, in.Revisions)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", in.SetPlace(s), err)
	}
	snapshot := rollout.Snapshot{
		Now:       now,
		Nodes:     in.Nodes,
		Pods:      claims.Pods,
		Revisions: revisionClaims.Revisions,
		Memory:    s.Memory,
		Reading:   reading,
	}
	plan, err := planner.Plan(snapshot)
	if err != nil {
		return nil, err
	}
	return &Result{Set: s, Snapshot: snapshot, claims: claims, Plan: plan, Input: in}, nil
}

// checkUIDs refuses objects that the planner would refuse, because here the error can name the file.
func checkUIDs(in *objects.Input, pods []*corev1.Pod) error {
	seen := make(map[types.UID]*corev1.Pod, len(pods))
	for _, pod := range pods {
		if pod.UID == "" {
			return fmt.Errorf("%s: metadata.uid: Required value: deletes use it as precondition", in.Place("Pod", pod))
		}
		if first, taken := seen[pod.UID]; taken {
			return fmt.Errorf("%s: metadata.uid: Duplicate value: Pod %s/%s has it too, in %s", in.Place("Pod", pod),
				text.Printable(first.Namespace), text.Printable(first.Name), in.Origin(first))
		}
		seen[pod.UID] = pod
	}
	return nil
}

// Invalid lists every mistake in a spec, with the paths of its manifest.
func Invalid(place string, s *objects.Set, err error) error {
	var lines []error
	for _, mistake := range manifest.FieldErrors(s.Spec, err) {
		mistake.Detail = strings.Replace(mistake.Detail, "strategy.paused stops a rollout", stopOf(s.Group), 1)
		lines = append(lines, fmt.Errorf("%s: %w", place, mistake))
	}
	if len(lines) == 0 {
		return fmt.Errorf("%s: %w", place, err)
	}
	return errors.Join(lines...)
}

// stopOf is how a rollout of a set of the group is stopped, with fields that its manifest has.
func stopOf(group string) string {
	switch group {
	case objects.GroupKruise:
		return "updateStrategy.rollingUpdate.paused: true stops a rollout"
	case objects.GroupEDS:
		return "the annotation " + manifest.EDSRollingUpdatePausedAnnotation + ": \"true\" stops a rollout"
	default:
		return "updateStrategy.type: OnDelete stops a rollout"
	}
}

// ignoredLine lists the objects that were ignored; empty if none were.
func (r *Result) ignoredLine() string {
	total := 0
	for _, n := range r.Input.Ignored {
		total += n
	}
	if total == 0 {
		return ""
	}
	return fmt.Sprintf("ignored: %s (%s)", text.Counted(total, "object"), r.Input.IgnoredKinds())
}
