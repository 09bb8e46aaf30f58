package rollout

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"
)

// quantity is a parsed count or percentage.
type quantity struct {
	value   int32
	percent bool
}

// parseQuantity reads an integer or a percentage such as "10%". Signs, spaces and fractions are refused, as the
// API server does; a percentage beyond int32 is refused too.
func parseQuantity(v intstr.IntOrString) (quantity, error) {
	switch v.Type {
	case intstr.Int:
		return quantity{value: v.IntVal}, nil
	case intstr.String:
		digits, ok := strings.CutSuffix(v.StrVal, "%")
		if !ok || digits == "" || strings.Trim(digits, "0123456789") != "" {
			return quantity{}, fmt.Errorf(`must be an integer or a percentage such as "10%%"`)
		}
		n, err := strconv.ParseInt(digits, 10, 32)
		if err != nil {
			return quantity{}, fmt.Errorf("percentage is too large")
		}
		return quantity{value: int32(n), percent: true}, nil
	default:
		return quantity{}, fmt.Errorf("must be an integer or a percentage, not a value of type %d", v.Type)
	}
}

// roundUp is the count that q stands for out of total, percentages rounded up (B1). Integer arithmetic throughout:
// a float would round 7% of 100 up to 8.
func (q quantity) roundUp(total int32) int32 {
	return q.scale(total, 99)
}

// roundDown is roundUp with percentages rounded down (M6).
func (q quantity) roundDown(total int32) int32 {
	return q.scale(total, 0)
}

func (q quantity) scale(total int32, carry int64) int32 {
	if !q.percent {
		return q.value
	}
	return int32(min((int64(q.value)*int64(total)+carry)/100, math.MaxInt32))
}

// isZero reports whether v plainly stands for nothing: 0 or "0%". What cannot be read is not zero.
func isZero(v intstr.IntOrString) bool {
	q, err := parseQuantity(v)
	return err == nil && q.value == 0
}
