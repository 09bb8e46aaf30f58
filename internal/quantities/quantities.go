// Package quantities looks at resource quantities before anybody computes with them: texts come from annotations and
// revisions that anybody may have written, and values from callers.
package quantities

import (
	"encoding/json"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

// Unbounded reports whether reading a JSON value, a string or a [json.Number], as a quantity could take time without
// bound: resource.ParseQuantity computes ten to the power of a negative exponent, whatever its size. Other values are
// no quantities, and a decoder refuses them at once.
func Unbounded(value any) bool {
	var text string
	switch value := value.(type) {
	case string:
		text = value
	case json.Number:
		text = string(value)
	}
	const maxLength, maxExponentLength = 128, 5 // a sign and four digits, or five digits
	if len(text) > maxLength {
		return true
	}
	e := strings.IndexAny(text, "eE")
	return e >= 0 && len(text)-e-1 > maxExponentLength
}

// Canonical returns the amount as a decimal number that is the same for all spellings of it: 1, 1000m and 0.001k are
// "1e0". It takes time by the digits of the amount, not by its scale.
func Canonical(quantity resource.Quantity) string {
	digits, exponent := parts(&quantity)
	return digits + "e" + strconv.FormatInt(exponent, 10)
}

// Representable reports whether an amount has at most 19 digits before the point, beyond which Kubernetes' 64 bits
// overflow, and 9 behind it, the finest that a text gives. To compare others could take memory without bound.
func Representable(quantity resource.Quantity) bool {
	digits, exponent := parts(&quantity)
	return exponent >= -9 && int64(len(strings.TrimPrefix(digits, "-")))+exponent <= 19
}

// parts returns an amount as an integer that does not end in zero, unless it is zero, and a power of ten.
func parts(quantity *resource.Quantity) (digits string, exponent int64) {
	decimal := quantity.AsDec()
	if decimal.Sign() == 0 {
		return "0", 0
	}
	text := decimal.UnscaledBig().String()
	digits = strings.TrimRight(text, "0")
	return digits, int64(len(text)-len(digits)) - int64(decimal.Scale())
}

// Fractional reports whether an amount is not whole.
func Fractional(quantity resource.Quantity) bool {
	_, exponent := parts(&quantity)
	return exponent < 0
}
