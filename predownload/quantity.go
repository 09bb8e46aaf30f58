package predownload

import (
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// quantity is a count or a percentage, never negative.
type quantity struct {
	value   int64
	percent bool
}

// readQuantity parses an integer or a percentage such as "10%" and adds to errs why it cannot. Signs, spaces and
// fractions are refused, as the API server does.
func readQuantity(v intstr.IntOrString, path *field.Path, errs *field.ErrorList) quantity {
	switch v.Type {
	case intstr.Int:
		if v.IntVal < 0 {
			*errs = append(*errs, field.Invalid(path, v.IntVal, "must not be negative"))
			return quantity{}
		}
		return quantity{value: int64(v.IntVal)}
	case intstr.String:
		digits, ok := strings.CutSuffix(v.StrVal, "%")
		if !ok || digits == "" || strings.Trim(digits, "0123456789") != "" {
			*errs = append(*errs, field.Invalid(path, v.StrVal, `must be an integer or a percentage such as "10%"`))
			return quantity{}
		}
		n, err := strconv.ParseInt(digits, 10, 32)
		if err != nil {
			*errs = append(*errs, field.Invalid(path, v.StrVal, "percentage is too large"))
			return quantity{}
		}
		return quantity{value: n, percent: true}
	default:
		*errs = append(*errs, field.Invalid(path, v.Type, "must be an integer or a percentage"))
		return quantity{}
	}
}

// roundUp is the count that q stands for out of total, percentages rounded up (B1, D2). A total below 0 is 0. The
// product of two int32 fits in 64 bits.
func (q quantity) roundUp(total int32) int64 {
	return q.scale(total, 99)
}

// roundDown is roundUp with percentages rounded down (T2).
func (q quantity) roundDown(total int32) int64 {
	return q.scale(total, 0)
}

func (q quantity) scale(total int32, carry int64) int64 {
	if !q.percent {
		return q.value
	}
	return (q.value*int64(max(total, 0)) + carry) / 100
}
