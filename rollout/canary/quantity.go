package canary

import (
	"errors"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/daemonplan/daemonplan/internal/count"
)

var (
	errNone    = errors.New("must be at least 1, or 1%")
	errTooMany = errors.New("must not be greater than 100%")
)

// parseReplicas reads the number of canary nodes: at least 1, or 1% to 100% (C1).
func parseReplicas(v intstr.IntOrString) (count.Quantity, error) {
	q, err := count.Parse(v)
	switch {
	case errors.Is(err, count.ErrTooLarge), q.Percent && q.Value > 100:
		return count.Quantity{}, errTooMany
	case err != nil:
		return count.Quantity{}, err
	case q.Value < 1:
		return count.Quantity{}, errNone
	}
	return q, nil
}
