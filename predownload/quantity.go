package predownload

import (
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/daemonplan/daemonplan/internal/count"
)

// readQuantity parses a count or a percentage. If it cannot be read, or is not allowed, it adds the reason to errs.
func readQuantity(v intstr.IntOrString, path *field.Path, errs *field.ErrorList) count.Quantity {
	q, err := count.Parse(v)
	switch {
	case err != nil:
		*errs = append(*errs, field.Invalid(path, v.String(), err.Error()))
		return count.Quantity{}
	case q.Value < 0:
		*errs = append(*errs, field.Invalid(path, q.Value, "must not be negative"))
		return count.Quantity{}
	}
	return q
}
