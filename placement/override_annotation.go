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

// readResources decodes the value of an annotation. It is strict where a decoder of Kubernetes objects is not, because
// an annotation passes no API server that would warn: a field that is misspelt, in the wrong case or there twice does
// not do what was meant.
func readResources(text string) (*corev1.ResourceRequirements, error) {
	if !json.Valid([]byte(text)) {
		return nil, errors.New("not valid JSON")
	}
	r := reader{json.NewDecoder(strings.NewReader(text))}
	r.UseNumber()
	resources := &corev1.ResourceRequirements{}
	err := r.object("", func(key string) (err error) {
		switch key {
		case "limits":
			resources.Limits, err = r.list(key)
		case "requests":
			resources.Requests, err = r.list(key)
		case "claims":
			resources.Claims, err = r.claims(key)
		default:
			err = problem("", "field "+quoted(key)+" is unknown")
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return resources, nil
}

// reader takes valid JSON apart, token by token, so that nothing is computed before it was looked at.
type reader struct{ *json.Decoder }

// object calls member at each key of the object that comes next; member reads the value.
func (r reader) object(path string, member func(key string) error) error {
	token, err := r.Token()
	if err != nil {
		return err
	}
	if token != json.Delim('{') {
		return problem(path, "not an object")
	}
	seen := map[string]bool{}
	for r.More() {
		token, err := r.Token()
		if err != nil {
			return err
		}
		key, _ := token.(string)
		if seen[key] {
			return problem(path, "field "+quoted(key)+" is there twice")
		}
		seen[key] = true
		if err := member(key); err != nil {
			return err
		}
	}
	_, err = r.Token()
	return err
}

// list reads the amounts of limits or requests.
func (r reader) list(path string) (corev1.ResourceList, error) {
	list := corev1.ResourceList{}
	err := r.object(path, func(key string) error {
		at := path + "[" + quoted(key) + "]"
		token, err := r.Token()
		if err != nil {
			return err
		}
		if quantities.Unbounded(token) {
			return problem(at, "too long a quantity")
		}
		var text string
		switch token := token.(type) {
		case string:
			text = token
		case json.Number:
			text = string(token)
		default:
			return problem(at, "not a quantity")
		}
		quantity, err := resource.ParseQuantity(text)
		if err != nil {
			return problem(at, "not a quantity")
		}
		list[corev1.ResourceName(key)] = quantity
		return nil
	})
	return list, err
}

func (r reader) claims(path string) ([]corev1.ResourceClaim, error) {
	token, err := r.Token()
	if err != nil {
		return nil, err
	}
	if token != json.Delim('[') {
		return nil, problem(path, "not a list")
	}
	var claims []corev1.ResourceClaim
	for r.More() {
		at := fmt.Sprintf("%s[%d]", path, len(claims))
		var claim corev1.ResourceClaim
		if err := r.object(at, func(key string) error {
			token, err := r.Token()
			if err != nil {
				return err
			}
			text, ok := token.(string)
			switch {
			case !ok:
				return problem(at, "field "+quoted(key)+" is not a string")
			case key == "name":
				claim.Name = text
			case key == "request":
				claim.Request = text
			default:
				return problem(at, "field "+quoted(key)+" is unknown")
			}
			return nil
		}); err != nil {
			return nil, err
		}
		claims = append(claims, claim)
	}
	_, err = r.Token()
	return claims, err
}

func problem(path, what string) error { return errors.New(strings.TrimPrefix(path+": "+what, ": ")) }

// quoted shortens what anybody may have written.
func quoted(key string) string { return fmt.Sprintf("%.80q", key) }
