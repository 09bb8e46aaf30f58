package harness

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// What a scenario has of outages, in words. Without a policy for them it says nothing.

func (s Case) writeOutages(b *strings.Builder) {
	o := s.Spec.Strategy.Policy.Outages
	if o == nil {
		return
	}
	b.WriteString(" outages{")
	if o.MaxExempt != nil {
		fmt.Fprintf(b, "%s", o.MaxExempt)
	}
	if o.ProvenAfter != 0 {
		fmt.Fprintf(b, " provenAfter=%v", o.ProvenAfter)
	}
	if o.Touch {
		b.WriteString(" touch")
	}
	if len(o.Taints)+len(o.Conditions) > 0 {
		fmt.Fprintf(b, " signs%v%v", o.Taints, o.Conditions)
	}
	b.WriteByte('}')
}

func (w writer) outage(n *corev1.Node) {
	if !w.outages {
		return
	}
	if n.DeletionTimestamp != nil {
		fmt.Fprintf(w, " marked -%v", w.now.Sub(n.DeletionTimestamp.Time))
	}
	for _, t := range n.Spec.Taints {
		if t.TimeAdded != nil {
			fmt.Fprintf(w, " %s since -%v", t.Key, w.now.Sub(t.TimeAdded.Time))
		}
	}
	for _, c := range n.Status.Conditions {
		fmt.Fprintf(w, " %s=%s since %s", c.Type, c.Status, w.since(c.LastTransitionTime.Time))
	}
}

func (w writer) start(p *corev1.Pod) {
	if !w.outages {
		return
	}
	for _, s := range p.Status.ContainerStatuses {
		if s.State.Running != nil {
			fmt.Fprintf(w, " %s runs %s", s.Name, w.since(s.State.Running.StartedAt.Time))
		}
	}
	if p.DeletionTimestamp != nil {
		fmt.Fprintf(w, " gone by %s", w.since(p.DeletionTimestamp.Time))
		if p.DeletionGracePeriodSeconds != nil {
			fmt.Fprintf(w, " grace=%ds", *p.DeletionGracePeriodSeconds)
		}
	}
}

// since is an instant before now.
func (w writer) since(at time.Time) string {
	if at.IsZero() {
		return "ever"
	}
	return fmt.Sprintf("-%v", w.now.Sub(at))
}
