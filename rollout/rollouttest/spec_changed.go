package rollouttest

import (
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/daemonplan/daemonplan/rollout"
)

// Changed returns a copy of the spec with the options applied; without any a copy. Applied to the spec itself they would also
// change those that were assigned from it, which share its template. What has a default is set to it in the copy, except for
// quantities and the history limit.
func Changed(spec rollout.Spec, options ...SpecOption) rollout.Spec {
	changed := spec.Default() // which copies everything
	// The budgets exclude one another, so that a default must not be taken for a wish; the other quantities stay as they were
	// for the sake of equality.
	for _, field := range []struct{ to, from **intstr.IntOrString }{
		{&changed.Strategy.MaxUnavailable, &spec.Strategy.MaxUnavailable}, {&changed.Strategy.MaxSurge, &spec.Strategy.MaxSurge},
		{&changed.Strategy.Partition, &spec.Strategy.Partition}, {&changed.Burst, &spec.Burst},
		{&changed.Strategy.MaxUnschedulable, &spec.Strategy.MaxUnschedulable},
	} {
		if *field.from == nil {
			*field.to = nil
		}
	}
	if spec.RevisionHistoryLimit == nil {
		changed.RevisionHistoryLimit = nil
	}
	for _, option := range options {
		option(&changed)
	}
	return changed
}
