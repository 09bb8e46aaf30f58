package harness

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daemonplan/daemonplan/rollout"
)

// What a scenario has of stages, in words. Without stages it says nothing.

func (s Case) writeStages(b *strings.Builder) {
	policy := s.Spec.Strategy.Policy
	for _, stage := range policy.Stages {
		fmt.Fprintf(b, " stage %s{%s", stage.Name, metav1.FormatLabelSelector(stage.Selector))
		if stage.Key != "" {
			fmt.Fprintf(b, " by %s", stage.Key)
		}
		if stage.Tolerance != nil {
			fmt.Fprintf(b, " tolerance=%s", stage.Tolerance)
		}
		if stage.Soak != 0 {
			fmt.Fprintf(b, " soak=%v", stage.Soak)
		}
		if stage.Approval {
			b.WriteString(" approval")
		}
		b.WriteByte('}')
	}
	for _, a := range policy.Approved {
		fmt.Fprintf(b, " approved{%s %q %s}", a.Stage, a.Value, a.Revision)
	}
	if policy.Expedite != "" {
		fmt.Fprintf(b, " expedite=%s", policy.Expedite)
	}
}

func (w writer) frontier(r rollout.Record) {
	if f := r.Frontier; !f.At.IsZero() {
		fmt.Fprintf(w, " frontier{%q %q since -%v}", f.Stage, f.Value, w.now.Sub(f.At))
	}
}
