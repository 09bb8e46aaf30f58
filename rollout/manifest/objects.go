package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"strings"
	"unicode/utf8"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Object is one API object of a manifest or dump: found, and not decoded yet.
type Object struct {
	// Document is the number of the document that holds the object, from 1. Documents are what "---" separates
	// in YAML, and every top-level value in JSON; empty ones are not counted.
	Document int
	// Item is the number of the object in the list that the document is, from 1; 0 if the document is the object.
	Item int
	// APIVersion and Kind as the object states them. Items of a typed list (NodeList, say) need not state
	// them: theirs follow from the list.
	APIVersion, Kind string
	// JSON text of the object. It may share memory with what was passed to [Objects]. Its syntax is known to be
	// right only as far as finding the object needed it; [Object.Decode] checks all of it.
	JSON []byte

	// lead is the text before JSON where that is part of the input, to tell line numbers by.
	lead   []byte
	isLead bool
}

// DocumentError says in which part of the input a mistake is.
type DocumentError struct {
	// Document and Item as in [Object].
	Document, Item int
	// Err is the mistake.
	Err error
}

// Error joins place and mistake, as in "document 2, item 5: kind: Required value".
func (e *DocumentError) Error() string {
	if e.Item > 0 {
		return fmt.Sprintf("document %d, item %d: %v", e.Document, e.Item, e.Err)
	}
	return fmt.Sprintf("document %d: %v", e.Document, e.Err)
}

// Unwrap is Err.
func (e *DocumentError) Unwrap() error { return e.Err }

// Objects yields the API objects in data, in order: one or several YAML documents, a stream of JSON values, or both,
// each being an object, a list of objects as "kubectl get -o yaml" and "-o json" print it, or a plain array of
// objects. Empty documents, empty lists and empty data yield nothing. The data may begin with the directive %YAML 1.1 or
// %YAML 1.2, and with no other.
//
// JSON is split without being parsed, so that a large dump is parsed once, by [Object.Decode]. YAML is parsed here;
// a key that is there twice in one mapping is an error.
//
// The error of a pair is always a *[DocumentError], it is the last pair, and its Object names no more than the place.
func Objects(data []byte) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) {
		w := walker{data: data, yield: yield}
		if err := w.walk(); err != nil {
			yield(Object{Document: w.document, Item: w.item}, &DocumentError{Document: w.document, Item: w.item, Err: err})
		}
	}
}

// Decode reads the object into the struct that into points to. Field names are case-sensitive, as they are for the
// API server, and unknown ones are ignored. It reports every value of the wrong type at once, as an aggregate of
// *field.Error as rollout.New does; [rollout.FieldErrors] lists them. It is an error if into is no pointer.
func (o Object) Decode(into any) error {
	if mayBeUnbounded(o.JSON) && o.syntaxError() == nil {
		if found := inspect(o.JSON, into, nil); len(found.mistyped) > 0 {
			return found.mistyped.ToAggregate()
		}
	}
	err := utiljson.Unmarshal(unindent(o.JSON), into)
	if err == nil {
		return nil
	}
	if syntax := o.syntaxError(); syntax != nil {
		return syntax
	}
	if to := reflect.ValueOf(into); to.Kind() != reflect.Pointer || to.IsNil() {
		return err
	}
	// The decoder's own message names Go types and at most one field, without indices.
	if found := inspect(o.JSON, into, nil); len(found.mistyped) > 0 {
		return found.mistyped.ToAggregate()
	}
	return err
}

// DecodeStrict is [Object.Decode] for objects that nobody has looked at before, such as those of a CRD whose schema leaves
// the pod template open: a field that the struct does not have and a key that is there twice are mistakes, too. All are
// reported at once: wrong types, then unknown fields, then repeated keys, each in the order of the text.
func (o Object) DecodeStrict(into any) error {
	if to := reflect.ValueOf(into); to.Kind() != reflect.Pointer || to.IsNil() {
		return o.Decode(into)
	}
	if err := o.syntaxError(); err != nil {
		return err
	}
	found := inspect(o.JSON, into, nil)
	mistakes := found.mistyped
	for _, u := range found.unknown {
		mistakes = append(mistakes, &field.Error{Type: field.ErrorTypeForbidden, Field: u.path, Detail: "unknown field"})
	}
	if mistakes = append(mistakes, found.twice...); len(mistakes) > 0 {
		return mistakes.ToAggregate()
	}
	return o.Decode(into)
}

// mayBeUnbounded reports whether the text has what looks like a number with a huge negative exponent. As a quantity it would
// take for ever to read; most objects have none, and are not looked at closer.
func mayBeUnbounded(text []byte) bool {
	const minDigits = 5
	isDigit := func(b byte) bool { return b >= '0' && b <= '9' }
	for _, exponent := range [...]string{"e-", "E-"} {
		for rest := text; ; {
			at := bytes.Index(rest, []byte(exponent))
			if at < 0 {
				break
			}
			digits := 0
			for _, b := range rest[at+len(exponent):] {
				if !isDigit(b) {
					break
				}
				digits++
			}
			if at > 0 && (isDigit(rest[at-1]) || rest[at-1] == '.') && digits >= minDigits {
				return true
			}
			rest = rest[at+len(exponent):]
		}
	}
	return false
}

// syntaxError is nil if the text is JSON.
func (o Object) syntaxError() error {
	err := json.Unmarshal(o.JSON, new(json.RawMessage))
	syntax, ok := errors.AsType[*json.SyntaxError](err)
	if !ok || !o.isLead {
		return err
	}
	offset := min(max(syntax.Offset-1, 0), int64(len(o.JSON)))
	return fmt.Errorf("line %d: %w", lineAfter(o.lead)+bytes.Count(o.JSON[:offset], newline), err)
}

// errStop ends a walk whose consumer wants no more.
var errStop = errors.New("stop")

var newline = []byte("\n")

// walker finds the objects in data.
type walker struct {
	data           []byte
	yield          func(Object, error) bool
	document, item int
}

func (w *walker) walk() error {
	w.document = 1 // if it is not text at all, the first document is as good a place as any
	if err := checkText(w.data); err != nil {
		return err
	}
	w.document = 0
	rest := bytes.TrimPrefix(w.data, byteOrderMark)
	for len(rest) > 0 {
		at := len(w.data) - len(rest)
		var piece []byte
		piece, rest = cutDocument(rest)
		if err := w.piece(piece, w.data[:at]); err != nil {
			if errors.Is(err, errStop) {
				return nil
			}
			return err
		}
	}
	return nil
}

// piece walks what stands between two separators; lead is what comes before it.
func (w *walker) piece(piece, lead []byte) error {
	w.item = 0
	if looksLikeJSON(piece) {
		return w.stream(piece, lead, true)
	}
	w.document++
	if isFirst := len(bytes.TrimPrefix(lead, byteOrderMark)) == 0; isFirst {
		skip, err := directives(piece, len(lead)+len(piece) == len(w.data))
		if err != nil {
			return err
		}
		if skip {
			w.document--
			return nil
		}
	}
	text, err := yamlToJSON(piece, lead)
	if err != nil {
		return err
	}
	w.document--
	if string(text) == "null" {
		return nil
	}
	return w.stream(text, nil, false)
}

// stream walks JSON values that follow one another.
func (w *walker) stream(text, lead []byte, isLead bool) error {
	for i := skipSpace(text, 0); i < len(text); i = skipSpace(text, i) {
		w.document++
		w.item = 0
		if text[i] != '{' && text[i] != '[' {
			return w.notObject(text[i:], lead, text[:i], isLead)
		}
		end, err := valueEnd(text, i)
		if err != nil {
			if isLead {
				return w.unclosed(text, lead, i)
			}
			return err
		}
		value := Object{Document: w.document, JSON: text[i:end], isLead: isLead}
		if isLead {
			value.lead = w.data[:len(lead)+i]
		}
		if err := w.value(value); err != nil {
			return err
		}
		i = end
	}
	return nil
}

// unclosed says why the JSON value at text[i:] has no end: because of a mistake in its syntax, or because the text was
// cut off. Dumps are cut off when a disk is full or a pipe breaks, so it names the item in which that happened.
func (w *walker) unclosed(text, lead []byte, i int) error {
	line := func(at int) int { return lineAfter(lead) + bytes.Count(text[:at], newline) }
	err := json.Unmarshal(text[i:], new(json.RawMessage))
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok && err.Error() != cutOff {
		return fmt.Errorf("line %d: %w", line(i+int(max(syntax.Offset-1, 0))), err)
	}
	number, begin, closed := openItem(text[i:])
	w.item = number
	if closed {
		return fmt.Errorf("line %d: %w", line(i+begin), errCutAfter)
	}
	return fmt.Errorf("line %d: %w", line(i+begin), errNotClosed)
}

// cutOff is what encoding/json says of a text that is correct as far as it goes.
const cutOff = "unexpected end of JSON input"

func (w *walker) notObject(rest, lead, before []byte, isLead bool) error {
	if isLead {
		line := lineAfter(lead) + bytes.Count(before, newline)
		return fmt.Errorf("line %d: an object must begin with {, not with %.20q", line, firstLine(rest))
	}
	return fmt.Errorf("must be an object with apiVersion and kind, not %.40s", rest)
}

// value walks one JSON value: an object, a list, or an array.
func (w *walker) value(o Object) error {
	if o.JSON[0] == '[' {
		return w.items(o, o.JSON, header{})
	}
	h, err := readHeader(o.JSON)
	if err != nil {
		return o.headerError(err)
	}
	if h.items != nil && strings.HasSuffix(h.kind, "List") {
		return w.items(o, h.items, h)
	}
	return w.object(o, h)
}

func (w *walker) items(list Object, text []byte, of header) error {
	// text is a part of list.JSON.
	start := cap(list.JSON) - cap(text)
	for i := skipSpace(text, 1); i < len(text) && text[i] != ']'; {
		w.item++
		end, err := valueEnd(text, i)
		if err != nil {
			return list.headerError(err)
		}
		o := Object{Document: w.document, Item: w.item, JSON: text[i:end], isLead: list.isLead}
		if o.isLead {
			o.lead = w.data[:len(list.lead)+start+i]
		}
		if text[i] != '{' {
			return fmt.Errorf("must be an object with apiVersion and kind, not %.40s", o.JSON)
		}
		h, err := readHeader(o.JSON)
		if err != nil {
			return o.headerError(err)
		}
		if singular := strings.TrimSuffix(of.kind, "List"); h.kind == "" && h.apiVersion == "" && singular != "" {
			h.kind, h.apiVersion = singular, of.apiVersion
		}
		if err := w.object(o, h); err != nil {
			return err
		}
		if i, err = nextItem(text, end); err != nil {
			return list.headerError(err)
		}
	}
	return nil
}

// nextItem goes from the end of an item to the beginning of the next one, or to the end of the list.
func nextItem(text []byte, end int) (int, error) {
	i := skipSpace(text, end)
	switch {
	case i < len(text) && text[i] == ']':
		return i, nil
	case i == len(text) || text[i] != ',':
		return 0, errNoComma
	}
	if i = skipSpace(text, i+1); i < len(text) && text[i] == ']' {
		return 0, errNoComma
	}
	return i, nil
}

// headerError prefers what the JSON parser says about the text over what the search for the header stumbled upon.
func (o Object) headerError(err error) error {
	if _, ok := errors.AsType[*field.Error](err); ok {
		return err
	}
	if syntax := o.syntaxError(); syntax != nil {
		return syntax
	}
	return err
}

func (w *walker) object(o Object, h header) error {
	if h.kind == "" {
		// A missing key may be due to a mistake in the syntax, on which the search for it gave up.
		if err := o.syntaxError(); err != nil {
			return err
		}
		return field.Required(field.NewPath("kind"), "says what the object is")
	}
	o.APIVersion, o.Kind = h.apiVersion, h.kind
	if !w.yield(o, nil) {
		return errStop
	}
	return nil
}

var byteOrderMark = []byte("\xef\xbb\xbf")

// checkText refuses what is no UTF-8 text, and names the usual reason: a Windows shell wrote the file.
func checkText(data []byte) error {
	switch {
	case bytes.HasPrefix(data, []byte("\xff\xfe")), bytes.HasPrefix(data, []byte("\xfe\xff")):
		return errors.New("the text is UTF-16; it must be UTF-8")
	case bytes.HasPrefix(data, []byte("\x1f\x8b")):
		return errors.New("the data is compressed with gzip; it must be plain text")
	case !utf8.Valid(data):
		return errors.New("the data is not UTF-8 text")
	}
	return nil
}

func firstLine(text []byte) []byte {
	line, _, _ := bytes.Cut(text, newline)
	return line
}

// lineAfter returns the number of the line that begins, or goes on, after lead.
func lineAfter(lead []byte) int {
	return bytes.Count(lead, newline) + 1
}
