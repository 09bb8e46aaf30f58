package quantities_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
	"pgregory.net/rapid"

	_ "github.com/daemonplan/daemonplan/internal/fixedseed"
	"github.com/daemonplan/daemonplan/internal/quantities"
)

func TestUnbounded(t *testing.T) {
	tests := []struct {
		name, why string
		value     any
		want      bool
	}{
		{"short", "as people write them", "100m", false},
		{"no quantity", "a decoder refuses it at once", "abc", false},
		{"nil", "no text", nil, false},
		{"bool", "no text", true, false},
		{"number", "JSON numbers are read, too", json.Number("1e-30000000"), true},
		{"exponent", "what this is about", "1e-30000000", true},
		{"nothing before the exponent", "a reader may look at the exponent first", "e-30000000", true},
		{"upper case", "it is an exponent, too", "1E-30000000", true},
		{"five characters", "the longest that is read", "1e-9999", false},
		{"five digits", "the longest that is read", json.Number("1e99999"), false},
		{"six characters", "one more", "1e-99999", true},
		{"first exponent", "what is behind it counts", "1e1e99999", true},
		{"binary suffix", "exa looks like an exponent", "1Ei", false},
		{"128 characters", "the longest that is read", strings.Repeat("1", 128), false},
		{"129 characters", "one more", strings.Repeat("1", 129), true},
	}
	seen := map[string]bool{}
	for _, test := range tests {
		if test.why == "" || seen[test.name] {
			t.Fatalf("row %q needs a reason and a name of its own", test.name)
		}
		seen[test.name] = true
		if got := quantities.Unbounded(test.value); got != test.want {
			t.Errorf("%s: %v; %s", test.name, got, test.why)
		}
	}
}

// TestBoundedIsRead: what is let through can be read. What takes without bound would never end here.
func TestBoundedIsRead(t *testing.T) {
	for _, text := range []string{"1e-9999", "1e99999", strings.Repeat("9", 128), "0." + strings.Repeat("0", 120) + "1e-999"} {
		if quantities.Unbounded(text) {
			t.Errorf("%.20s is not let through", text)
		}
		quantity, err := resource.ParseQuantity(text)
		if err != nil {
			t.Errorf("%.20s: %v", text, err)
		}
		quantities.Canonical(quantity)
	}
}

func TestCanonicalRepresentableFractional(t *testing.T) {
	tests := []struct {
		name, why              string
		quantity               resource.Quantity
		want                   string
		unreadable, fractional bool
	}{
		{"zero value", "an amount of nothing", resource.Quantity{}, "0e0", false, false},
		{"one", "the plainest", resource.MustParse("1"), "1e0", false, false},
		{"milli", "another spelling of one", resource.MustParse("1000m"), "1e0", false, false},
		{"kilo", "another spelling of one", resource.MustParse("0.001k"), "1e0", false, false},
		{"ten", "zeros at the end are the exponent", resource.MustParse("10"), "1e1", false, false},
		{"inner zero", "only those at the end", resource.MustParse("1010"), "101e1", false, false},
		{"half", "a fraction", resource.MustParse("500m"), "5e-1", false, true},
		{"negative", "with its sign", resource.MustParse("-1.5"), "-15e-1", false, true},
		{"nano", "the smallest", resource.MustParse("1n"), "1e-9", false, true},
		{"binary", "as a decimal", resource.MustParse("1Ki"), "1024e0", false, false},
		{"largest", "19 digits", *resource.NewScaledQuantity(1, 18), "1e18", false, false},
		{"largest integer", "19 digits", *resource.NewQuantity(math.MaxInt64, resource.DecimalSI), "9223372036854775807e0", false, false},
		{"smallest integer", "the sign is no digit", *resource.NewQuantity(math.MinInt64, resource.DecimalSI), "-9223372036854775808e0", false, false},
		{"too large", "20 digits", *resource.NewScaledQuantity(1, 19), "1e19", true, false},
		{"too small", "10 behind the point", *resource.NewScaledQuantity(1, -10), "1e-10", true, true},
		{"hostile", "to write it out would take for ever", *resource.NewScaledQuantity(12, math.MaxInt32), "12e2147483647", true, false},
		{"hostile zero", "it is nothing", *resource.NewScaledQuantity(0, math.MaxInt32), "0e0", false, false},
	}
	seen := map[string]bool{}
	for _, test := range tests {
		if test.why == "" || seen[test.name] {
			t.Fatalf("row %q needs a reason and a name of its own", test.name)
		}
		seen[test.name] = true
		before := test.quantity.DeepCopy()
		if got := quantities.Canonical(test.quantity); got != test.want {
			t.Errorf("%s: %s, want %s; %s", test.name, got, test.want, test.why)
		}
		if got := quantities.Representable(test.quantity); got == test.unreadable {
			t.Errorf("%s: representable: %v; %s", test.name, got, test.why)
		}
		if got := quantities.Fractional(test.quantity); got != test.fractional {
			t.Errorf("%s: fractional: %v; %s", test.name, got, test.why)
		}
		if test.quantity != before {
			t.Errorf("%s: the quantity was written", test.name)
		}
	}
}

// TestCanonicalIsTheAmount: two amounts have one form if and only if they are equal.
func TestCanonicalIsTheAmount(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(label string) resource.Quantity {
			text := rapid.StringMatching(`-?[0-9]{1,3}(\.[0-9]{1,2})?(n|u|m||k|M|Ki|Mi|e-?[0-3])`).Draw(t, label)
			quantity, err := resource.ParseQuantity(text)
			if err != nil {
				t.Skip(text)
			}
			return quantity
		}
		a, b := draw("a"), draw("b")
		if same := quantities.Canonical(a) == quantities.Canonical(b); same != (a.Cmp(b) == 0) {
			t.Fatalf("%s and %s: the same form: %v", a.String(), b.String(), same)
		}
		again, err := resource.ParseQuantity(quantities.Canonical(a))
		if err != nil || again.Cmp(a) != 0 {
			t.Fatalf("%s is read back as %s, %v", a.String(), again.String(), err)
		}
	})
}
