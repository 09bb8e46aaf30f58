package placement

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/daemonplan/daemonplan/internal/quantities"
)

// readResources decodes the value of an annotation as encoding/json does, which is how the ExtendedDaemonSet reads it, so
// that nobody's override is lost: fields in any case count, unknown ones do not, null is nothing, and of several the last
// counts. Two values are errors nevertheless: a quantity that would take an unbounded time to read, and an object that has
// only unknown fields, because it gives nothing although something was meant.
func readResources(text string) (*corev1.ResourceRequirements, error) {
	if !json.Valid([]byte(text)) {
		return nil, errors.New("not valid JSON")
	}
	if err := checkResources(text); err != nil {
		return nil, err
	}
	resources := &corev1.ResourceRequirements{}
	var mistyped *json.UnmarshalTypeError
	if err := json.Unmarshal([]byte(text), resources); errors.As(err, &mistyped) {
		kind, _, _ := strings.Cut(mistyped.Value, " ") // a number comes with its digits
		return nil, problem(mistyped.Field, kind+" is the wrong type")
	} else if err != nil {
		return nil, errors.New("not resources")
	}
	return resources, nil
}

// checkResources checks valid JSON token by token, before any quantity is computed with.
func checkResources(text string) error {
	r := reader{json.NewDecoder(strings.NewReader(text))}
	known, unknown := false, ""
	err := r.object("", func(key string) error {
		switch {
		case strings.EqualFold(key, "limits"), strings.EqualFold(key, "requests"):
			known = true
			return r.amounts(key)
		case strings.EqualFold(key, "claims"):
			known = true
		case unknown == "":
			unknown = quoted(key)
		}
		_, err := r.value()
		return err
	})
	if err == nil && !known && unknown != "" {
		return problem("", "field "+unknown+" is unknown")
	}
	return err
}

// reader takes valid JSON apart.
type reader struct{ *json.Decoder }

// object calls member at each key of the object that comes next; member reads the value. Null is an object without any.
func (r reader) object(path string, member func(key string) error) error {
	token, err := r.Token()
	if err != nil || token == nil {
		return err
	}
	if token != json.Delim('{') {
		return problem(path, "not an object")
	}
	for r.More() {
		token, err := r.Token()
		if err != nil {
			return err
		}
		key, _ := token.(string)
		if err := member(key); err != nil {
			return err
		}
	}
	_, err = r.Token()
	return err
}

// amounts checks the quantities of limits or requests.
func (r reader) amounts(path string) error {
	return r.object(path, func(key string) error {
		at := path + "[" + quoted(key) + "]"
		value, err := r.value()
		if err != nil || value == "null" {
			return err
		}
		// The decoder of a quantity gets the text between the quotes.
		text := strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(value, `"`), `"`))
		switch {
		case strings.HasPrefix(value, "{"), strings.HasPrefix(value, "["):
		case quantities.Unbounded(text):
			return problem(at, "too long a quantity")
		default:
			if _, err := resource.ParseQuantity(text); err == nil {
				return nil
			}
		}
		return problem(at, "not a quantity")
	})
}

// value returns the text of a value.
func (r reader) value() (string, error) {
	var value json.RawMessage
	err := r.Decode(&value)
	return string(value), err
}

func problem(path, what string) error { return errors.New(strings.TrimPrefix(path+": "+what, ": ")) }

// quoted quotes a key and shortens it, because anybody may have written it.
func quoted(key string) string { return fmt.Sprintf("%.80q", key) }
