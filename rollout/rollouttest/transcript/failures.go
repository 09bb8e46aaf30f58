package transcript

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/failure"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// What follows when a revision fails on nodes (F1 to F4).

// failuresOf reads a list such as deadline=10m:maxFailed=2%:action=Rollback:quarantine=1:maxRestarts=3, of which any part may be
// missing. The word default stands for no part, and none turns failures off.
func failuresOf(value string) (kit.SpecOption, error) {
	if value == none {
		return func(s *rollout.Spec) { s.Strategy.Policy.Failures = nil }, nil
	}
	var o failure.Options
	for text := range strings.SplitSeq(value, ":") {
		field, of, _ := strings.Cut(text, "=")
		var err error
		switch field {
		case "default":
		case "deadline":
			o.Deadline, err = time.ParseDuration(of)
		case "maxRestarts":
			var n int
			if n, err = strconv.Atoi(of); err == nil {
				o.MaxRestarts = new(int32(n))
			}
		case "maxFailed":
			o.MaxFailed = new(intstr.Parse(of))
		case "quarantine":
			o.Quarantine = new(intstr.Parse(of))
		case "action":
			o.Action = failure.Action(of)
		default:
			err = fmt.Errorf("there is no %s; there are deadline, maxRestarts, maxFailed, action and quarantine", field)
		}
		if err != nil {
			return nil, err
		}
	}
	return kit.Failures(o), nil
}

// retry: retry r2|none. The revision is rolled out once more after it was given up, or none is.
func (s *stage) retry(a *arguments) error {
	revision := unquoted(a.next())
	spec := s.cluster.Spec().Default()
	failures := spec.Strategy.Policy.Failures
	switch {
	case failures == nil:
		return errors.New("the set has no failures to retry after")
	case revision == "":
		return errors.New("which revision is retried is not said")
	case revision == none:
		revision = ""
	}
	failures.Retry = s.hashed(revision)
	spec.Generation++
	return s.cluster.SetSpec(spec)
}
