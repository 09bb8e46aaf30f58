package simulate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/daemonplan/daemonplan/internal/quantities"
)

// Scenarios are written by hand, mostly in YAML. So durations are texts with a unit ("5m"), and sizes may be quantities
// ("300Mi"). A field that does not exist is an error: a misspelt one would leave the default in force, unnoticed.

// MarshalJSON writes durations as text ("5m0s"), and leaves Planner and History out.
func (s Scenario) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		scenarioFields
		Limit span `json:"limit,omitempty"`
	}{scenarioFields(s), span(s.Limit)})
}

// UnmarshalJSON reads what MarshalJSON wrote: durations need a unit. An unknown field is an error. Planner and History stay as
// they were. After an error the whole scenario stays as it was.
func (s *Scenario) UnmarshalJSON(data []byte) error {
	shadow := struct {
		scenarioFields
		Limit  span              `json:"limit"`
		Events []json.RawMessage `json:"events"`
	}{}
	if err := strictly(data, &shadow); err != nil {
		return err
	}
	if shadow.Events != nil {
		shadow.scenarioFields.Events = make([]Event, len(shadow.Events))
	}
	for i, text := range shadow.Events {
		// Each event is decoded by itself, because the decoder would not say which one has a mistake.
		if err := json.Unmarshal(text, &shadow.scenarioFields.Events[i]); err != nil {
			return fmt.Errorf("events[%d]: %w", i, err)
		}
	}
	shadow.Planner, shadow.History = s.Planner, s.History
	*s = Scenario(shadow.scenarioFields)
	s.Limit = time.Duration(shadow.Limit)
	return nil
}

type scenarioFields Scenario

// MarshalJSON writes durations as text ("5m0s").
func (c Controller) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		controllerFields
		Interval span `json:"interval,omitempty"`
	}{controllerFields(c), span(c.Interval)})
}

// UnmarshalJSON reads what MarshalJSON wrote. An unknown field is an error.
func (c *Controller) UnmarshalJSON(data []byte) error {
	shadow := struct {
		controllerFields
		Interval span `json:"interval"`
	}{}
	if err := strictly(data, &shadow); err != nil {
		return fmt.Errorf("controller: %w", err)
	}
	*c = Controller(shadow.controllerFields)
	c.Interval = time.Duration(shadow.Interval)
	return nil
}

type controllerFields Controller

// MarshalJSON writes durations as text ("5m0s").
func (e Event) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		eventFields
		At     span `json:"at,omitempty"`
		Until  span `json:"until,omitempty"`
		Behind span `json:"behind,omitempty"`
	}{eventFields(e), span(e.At), span(e.Until), span(e.Behind)})
}

// UnmarshalJSON reads what MarshalJSON wrote. An unknown field is an error.
func (e *Event) UnmarshalJSON(data []byte) error {
	shadow := struct {
		eventFields
		At     span `json:"at"`
		Until  span `json:"until"`
		Behind span `json:"behind"`
	}{}
	if err := strictly(data, &shadow); err != nil {
		return err
	}
	*e = Event(shadow.eventFields)
	e.At, e.Until, e.Behind = time.Duration(shadow.At), time.Duration(shadow.Until), time.Duration(shadow.Behind)
	return nil
}

type eventFields Event

// UnmarshalJSON reads a pool; the bandwidth may be a quantity such as "125M". An unknown field is an error.
func (p *Pool) UnmarshalJSON(data []byte) error {
	shadow := struct {
		poolFields
		Bandwidth size `json:"bandwidth"`
	}{}
	if err := strictly(data, &shadow); err != nil {
		return fmt.Errorf("pool: %w", err)
	}
	*p = Pool(shadow.poolFields)
	p.Bandwidth = int64(shadow.Bandwidth)
	return nil
}

type poolFields Pool

// UnmarshalJSON reads a registry; bandwidths and sizes may be quantities such as "300Mi". An unknown field is an error.
func (r *Registry) UnmarshalJSON(data []byte) error {
	shadow := struct {
		registryFields
		Bandwidth     size            `json:"bandwidth"`
		NodeBandwidth size            `json:"nodeBandwidth"`
		Sizes         map[string]size `json:"sizes"`
		Size          size            `json:"size"`
	}{}
	if err := strictly(data, &shadow); err != nil {
		return fmt.Errorf("registry: %w", err)
	}
	*r = Registry(shadow.registryFields)
	r.Bandwidth, r.NodeBandwidth, r.Size = int64(shadow.Bandwidth), int64(shadow.NodeBandwidth), int64(shadow.Size)
	if shadow.Sizes != nil {
		r.Sizes = make(map[string]int64, len(shadow.Sizes))
	}
	for image, bytes := range shadow.Sizes {
		r.Sizes[image] = int64(bytes)
	}
	return nil
}

type registryFields Registry

// span is a duration that is written as text in JSON.
type span time.Duration

// MarshalText writes the duration with units.
func (s span) MarshalText() ([]byte, error) { return []byte(time.Duration(s).String()), nil }

// UnmarshalJSON reads a text such as "5m". A number is an error, because it has no unit.
func (s *span) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		return nil
	}
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return fmt.Errorf("%s is no duration; one is a text with a unit, as 300ms, 5s, 1m30s and 2h have", excerpt(data))
	}
	d, err := parseDuration(text)
	if err == nil {
		*s = span(d)
	}
	return err
}

// size is a number of bytes, which may be written as a quantity in JSON.
type size int64

// UnmarshalJSON reads a whole number, or a quantity such as "300Mi".
func (s *size) UnmarshalJSON(data []byte) error {
	wrong := fmt.Errorf("%s is no number of bytes; one is 300000000, or a quantity such as 300Mi", excerpt(data))
	var value any
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	if err := decoder.Decode(&value); err != nil || quantities.Unbounded(value) {
		return wrong
	}
	text := ""
	switch value := value.(type) {
	case nil:
		return nil
	case string:
		text = value
	case json.Number:
		text = value.String()
	}
	quantity, err := resource.ParseQuantity(text)
	negative := quantity.Sign() < 0
	if negative { // Value is something else for most that are less than -10¹⁸
		quantity.Neg()
	}
	if err != nil || !quantities.Representable(quantity) || quantities.Fractional(quantity) ||
		quantity.CmpInt64(math.MaxInt64) > 0 {
		return wrong
	}
	*s = size(quantity.Value())
	if negative {
		*s = -*s
	}
	return nil
}

// strictly decodes JSON. It refuses fields that do not exist, text after the value, and quantities that would take without
// bound to read.
func strictly(data []byte, into any) error {
	if number := unbounded(data); number != "" {
		return fmt.Errorf("%s: a quantity with so many digits, or so small an exponent, is not read", number)
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errTrailing
	}
	return nil
}

var errTrailing = errors.New("there is text behind the end of the JSON")

// unbounded finds a number in the JSON, in quotes or not, that would take time without bound to read as a quantity, because it
// has a huge negative exponent. It returns "" if there is none. It does not ask whether anything would read the number as a
// quantity.
func unbounded(data []byte) string {
	for next := 0; ; {
		at := bytes.IndexAny(data[next:], "eE")
		if at < 0 {
			return ""
		}
		at += next
		next = at + 1
		if next == len(data) || data[next] != '-' {
			continue
		}
		begin, end := at, at
		for begin > 0 && isNumeric(data[begin-1]) {
			begin--
		}
		for end < len(data) && isNumeric(data[end]) {
			end++
		}
		// The second sign or exponent of a text that is no number, such as a UID, is refused before anything is computed.
		single := !bytes.ContainsAny(data[at+2:end], "+-eE")
		if single && isEdge(data, begin-1) && isEdge(data, end) && quantities.Unbounded(string(data[begin:end])) {
			return excerpt(data[begin:end])
		}
		next = end
	}
}

func isNumeric(b byte) bool {
	return '0' <= b && b <= '9' || b == '.' || b == '-' || b == '+' || b == 'e' || b == 'E'
}

// isEdge reports whether a number in JSON may end before byte i, or begin after it.
func isEdge(text []byte, i int) bool {
	return i < 0 || i >= len(text) || bytes.IndexByte([]byte("\":,[]{} \t\r\n"), text[i]) >= 0
}

// excerpt is the beginning of a text, for errors.
func excerpt(data []byte) string {
	const most = 40
	if len(data) > most {
		return string(data[:most]) + "…"
	}
	return string(data)
}
