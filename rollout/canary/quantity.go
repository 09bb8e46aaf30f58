package canary

import (
	"errors"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"
)

// quantity is a parsed count or percentage.
type quantity struct {
	value   int32
	percent bool
}

var (
	errNotQuantity = errors.New(`must be an integer or a percentage such as "10%"`)
	errNone        = errors.New("must be at least 1, or 1%")
	errTooMany     = errors.New("must not be greater than 100%")
)

// parseReplicas reads a number of canary nodes (C1). Signs, spaces and fractions are refused, as the API server does.
func parseReplicas(v intstr.IntOrString) (quantity, error) {
	q := quantity{value: v.IntVal}
	switch v.Type {
	case intstr.Int:
	case intstr.String:
		digits, ok := strings.CutSuffix(v.StrVal, "%")
		if !ok || digits == "" || strings.Trim(digits, "0123456789") != "" {
			return quantity{}, errNotQuantity
		}
		n, err := strconv.ParseInt(digits, 10, 32)
		if err != nil || n > 100 {
			return quantity{}, errTooMany
		}
		q = quantity{value: int32(n), percent: true}
	default:
		return quantity{}, errNotQuantity
	}
	if q.value < 1 {
		return quantity{}, errNone
	}
	return q, nil
}

// of is the count that q stands for out of total, percentages rounded up (C1). Integer arithmetic throughout: a float
// would round 7% of 100 up to 8.
func (q quantity) of(total int32) int32 {
	if !q.percent {
		return q.value
	}
	return int32((int64(q.value)*int64(total) + 99) / 100)
}
