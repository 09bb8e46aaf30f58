package harness

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/rollout"
)

// What a scenario has of failures, in words. Without a policy for them it says nothing.

func (s Case) writeFailures(b *strings.Builder) {
	o := s.Spec.Strategy.Policy.Failures
	if o == nil {
		return
	}
	fmt.Fprintf(b, " failures{%s after %v", o.Action, o.Deadline)
	if o.MaxRestarts != nil {
		fmt.Fprintf(b, " maxRestarts=%d", *o.MaxRestarts)
	}
	if o.MaxFailed != nil {
		fmt.Fprintf(b, " maxFailed=%s", o.MaxFailed)
	}
	if o.Quarantine != nil {
		fmt.Fprintf(b, " quarantine=%s", o.Quarantine)
	}
	if o.Retry != "" {
		fmt.Fprintf(b, " retry=%s", o.Retry)
	}
	b.WriteByte('}')
}

// failing is what a pod has that makes a node a failed one.
func (w writer) failing(p *corev1.Pod) {
	if !w.failures {
		return
	}
	if start := p.Status.StartTime; start != nil {
		fmt.Fprintf(w, " started -%v", w.now.Sub(start.Time))
	}
	for _, c := range p.Status.ContainerStatuses {
		if c.RestartCount > 0 {
			fmt.Fprintf(w, " %s restarted %d times", c.Name, c.RestartCount)
		}
	}
}

// series is what a back-off says of failed pods that were deleted.
func (w writer) series(b rollout.Backoff) {
	if !b.First.IsZero() || b.Deleted != 0 {
		fmt.Fprintf(w, " %d since -%v", b.Deleted, w.now.Sub(b.First))
	}
}
