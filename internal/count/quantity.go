// Package count reads and scales counts that may be percentages, for all packages that take an intstr.IntOrString.
package count

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"
)

// Quantity is a count, or a percentage of one.
type Quantity struct {
	Value   int32
	Percent bool
}

// ErrTooLarge is the error for a percentage that does not fit into 32 bits.
var ErrTooLarge = errors.New("percentage is too large")

var errMalformed = errors.New(`must be an integer or a percentage such as "10%"`)

// Parse reads an integer or a percentage such as "10%". Signs, spaces and fractions in a percentage are refused, as the API
// server does; negative integers are left to the caller.
func Parse(v intstr.IntOrString) (Quantity, error) {
	switch v.Type {
	case intstr.Int:
		return Quantity{Value: v.IntVal}, nil
	case intstr.String:
		digits, ok := strings.CutSuffix(v.StrVal, "%")
		if !ok || digits == "" || strings.Trim(digits, "0123456789") != "" {
			return Quantity{}, errMalformed
		}
		n, err := strconv.ParseInt(digits, 10, 32)
		if err != nil {
			return Quantity{}, ErrTooLarge
		}
		return Quantity{Value: int32(n), Percent: true}, nil
	default:
		return Quantity{}, fmt.Errorf("must be an integer or a percentage, not a value of type %d", v.Type)
	}
}

// RoundUp is the count that q stands for out of total, a percentage rounded up. A total below 0 is 0, and the result is at most
// [math.MaxInt32]. The arithmetic is that of integers throughout: a float would round 7% of 100 up to 8.
func (q Quantity) RoundUp(total int32) int32 { return q.scale(total, 99) }

// RoundDown is [Quantity.RoundUp] with a percentage rounded down.
func (q Quantity) RoundDown(total int32) int32 { return q.scale(total, 0) }

func (q Quantity) scale(total int32, carry int64) int32 {
	if !q.Percent {
		return q.Value
	}
	return int32(min((int64(q.Value)*int64(max(total, 0))+carry)/100, math.MaxInt32))
}
