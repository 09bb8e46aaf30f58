package simulation

import (
	"bytes"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/yaml"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/text"
	"github.com/daemonplan/daemonplan/internal/quantities"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/simulate"
)

// decoder reads fleets and worlds: YAML into the types of package simulate. The name of a field is its Go name in lower camel
// case. Durations are text ("90s"), and numbers of bytes ("800M", "1Gi") and shares ("3%") can be, too. All mistakes are reported
// at once, each with its place and with what would be right.
type decoder struct {
	// Spec reads the manifest that a field of type *rollout.Spec names.
	Spec func(file string) (*rollout.Spec, error)

	mistakes []error
}

// decode reads the only document of the file into the value that into points to.
func (d *decoder) decode(read objects.File, into any) error {
	file, data := read.Name, read.Text
	if n := documents(data); n > 1 {
		return fmt.Errorf("%s: there are %d documents in the file; it is to have one, with: %s",
			file, n, names(reflect.TypeOf(into).Elem()))
	}
	text, err := yaml.YAMLToJSONStrict(data)
	if err != nil {
		return fmt.Errorf("%s: %w", file, unparsed(data, err))
	}
	var tree any
	reader := json.NewDecoder(bytes.NewReader(text))
	reader.UseNumber()
	if err := reader.Decode(&tree); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if tree == nil {
		return fmt.Errorf("%s: the file is empty; it may have: %s", file, names(reflect.TypeOf(into).Elem()))
	}
	d.mistakes = nil
	d.value("", tree, reflect.ValueOf(into).Elem())
	for i, mistake := range d.mistakes {
		d.mistakes[i] = fmt.Errorf("%s: %w", file, mistake)
	}
	return errors.Join(d.mistakes...)
}

func (d *decoder) wrong(path, format string, arguments ...any) {
	if path == "" {
		path = "the document"
	}
	d.mistakes = append(d.mistakes, fmt.Errorf("%s: %s", path, fmt.Sprintf(format, arguments...)))
}

// These types have readers of their own.
var (
	durationType  = reflect.TypeFor[time.Duration]()
	timeType      = reflect.TypeFor[time.Time]()
	specType      = reflect.TypeFor[*rollout.Spec]()
	resourcesType = reflect.TypeFor[corev1.ResourceList]()
	ownPackage    = reflect.TypeFor[simulate.Fleet]().PkgPath()
)

func (d *decoder) value(path string, tree any, v reflect.Value) {
	if tree == nil {
		return // null means the same as no value
	}
	t := v.Type()
	switch {
	case t == durationType:
		d.duration(path, tree, v)
	case t == timeType:
		at, err := time.Parse(time.RFC3339, fmt.Sprint(tree))
		if err != nil {
			d.wrong(path, "%s is no time such as 2026-03-02T09:15:00Z", show(tree))
			return
		}
		v.Set(reflect.ValueOf(at))
	case t == specType:
		d.spec(path, tree, v)
	case t == resourcesType:
		d.resources(path, tree, v)
	case t.Kind() == reflect.Uint8 && isOwn(t):
		d.enumeration(path, tree, v)
	case isText(v) && isOwn(t):
		text, ok := tree.(string)
		if number, is := tree.(json.Number); is {
			text, ok = number.String(), true
		}
		if !ok {
			d.wrong(path, "%s is no text", show(tree))
			return
		}
		if into, is := reflect.TypeAssert[encoding.TextUnmarshaler](v.Addr()); is {
			if err := into.UnmarshalText([]byte(text)); err != nil {
				d.wrong(path, "%s", trimmed(err))
			}
		}
	case t.Kind() == reflect.Struct && isOwn(t):
		d.fields(path, tree, v)
	case t.Kind() == reflect.Slice && (isOwn(t.Elem()) || t.Elem().PkgPath() == ""):
		d.list(path, tree, v)
	case t.Kind() == reflect.Pointer && (t.Elem().PkgPath() == "" || t.Elem().Kind() == reflect.Struct && isOwn(t.Elem())):
		v.Set(reflect.New(t.Elem()))
		d.value(path, tree, v.Elem())
	case t.PkgPath() == "" && t.Kind() == reflect.Map && t.Elem().PkgPath() == "":
		d.table(path, tree, v)
	case t.PkgPath() == "" && t.Kind() != reflect.Map:
		d.plain(path, tree, v)
	default:
		d.foreign(path, tree, v)
	}
}

func (d *decoder) fields(path string, tree any, v reflect.Value) {
	table, ok := tree.(map[string]any)
	if !ok {
		d.wrong(path, "%s is no table; it may have: %s", show(tree), names(v.Type()))
		return
	}
	known := fieldNames(v.Type())
	for _, key := range slices.Sorted(maps.Keys(table)) {
		index, ok := known[key]
		if !ok {
			d.wrong(join(path, key), "there is no such field; there are: %s", names(v.Type()))
			continue
		}
		d.value(join(path, key), table[key], v.Field(index))
	}
}

func (d *decoder) list(path string, tree any, v reflect.Value) {
	items, ok := tree.([]any)
	if !ok {
		d.wrong(path, "%s is no list such as [a, b], or lines that begin with a dash", show(tree))
		return
	}
	list := reflect.MakeSlice(v.Type(), len(items), len(items))
	for i, item := range items {
		d.value(fmt.Sprintf("%s[%d]", path, i), item, list.Index(i))
	}
	v.Set(list)
}

func (d *decoder) table(path string, tree any, v reflect.Value) {
	table, ok := tree.(map[string]any)
	if !ok {
		d.wrong(path, "%s is no table", show(tree))
		return
	}
	out := reflect.MakeMapWithSize(v.Type(), len(table))
	for _, key := range slices.Sorted(maps.Keys(table)) {
		value := reflect.New(v.Type().Elem()).Elem()
		d.value(fmt.Sprintf("%s[%s]", path, text.Printable(key)), table[key], value)
		out.SetMapIndex(reflect.ValueOf(key), value)
	}
	v.Set(out)
}

func (d *decoder) plain(path string, tree any, v reflect.Value) {
	text, isString := tree.(string)
	number, isNumber := tree.(json.Number)
	switch v.Kind() {
	case reflect.String:
		if !isString {
			d.wrong(path, "%s is no text; put it in quotes", show(tree))
			return
		}
		v.SetString(text)
	case reflect.Bool:
		yes, ok := tree.(bool)
		if !ok {
			d.wrong(path, "%s is neither true nor false", show(tree))
			return
		}
		v.SetBool(yes)
	case reflect.Int, reflect.Int64, reflect.Int32:
		if isNumber {
			text = number.String()
		}
		quantity, err := parseQuantity(tree, text)
		if !isNumber && !isString || err != nil || quantity.CmpInt64(quantity.Value()) != 0 || v.OverflowInt(quantity.Value()) {
			d.wrong(path, "%s is no whole number such as 12, 800M or 1Gi", show(tree))
			return
		}
		v.SetInt(quantity.Value())
	case reflect.Float64:
		scale := 1.0
		if isNumber {
			text = number.String()
		} else if share, percent := strings.CutSuffix(text, "%"); percent {
			text, scale = strings.TrimSpace(share), 100
		}
		value, err := strconv.ParseFloat(text, 64)
		if !isNumber && !isString || err != nil {
			d.wrong(path, "%s is no number such as 0.5 or 3%%", show(tree))
			return
		}
		v.SetFloat(value / scale)
	default:
		d.foreign(path, tree, v)
	}
}

func (d *decoder) duration(path string, tree any, v reflect.Value) {
	text, _ := tree.(string)
	if number, ok := tree.(json.Number); ok && number == "0" {
		text = "0s"
	}
	duration, err := time.ParseDuration(text)
	if err != nil {
		d.wrong(path, "%s is no duration such as 90s, 5m or 2h30m", show(tree))
		return
	}
	v.SetInt(int64(duration))
}

func (d *decoder) spec(path string, tree any, v reflect.Value) {
	file, ok := tree.(string)
	if !ok || d.Spec == nil {
		d.wrong(path, "%s is not the name of a manifest", show(tree))
		return
	}
	spec, err := d.Spec(file)
	if err != nil {
		d.wrong(path, "%s", err)
		return
	}
	v.Set(reflect.ValueOf(spec))
}

// parseQuantity reads the text of a value as a quantity, unless that could take time without bound.
func parseQuantity(tree any, text string) (resource.Quantity, error) {
	if quantities.Unbounded(tree) {
		return resource.Quantity{}, errUnbounded
	}
	return resource.ParseQuantity(text)
}

var errUnbounded = errors.New("it has too many digits, or too small an exponent")

// resources reads amounts of resources by name.
func (d *decoder) resources(path string, tree any, v reflect.Value) {
	table, ok := tree.(map[string]any)
	if !ok {
		d.wrong(path, "%s is no table of amounts such as {cpu: 4, memory: 16Gi}", show(tree))
		return
	}
	list := make(corev1.ResourceList, len(table))
	for _, key := range slices.Sorted(maps.Keys(table)) {
		quantity, err := parseQuantity(table[key], strings.Trim(show(table[key]), `"`))
		if err != nil || quantity.Sign() < 0 {
			d.wrong(fmt.Sprintf("%s[%s]", path, text.Printable(key)), "%s is no amount such as 500m, 4 or 16Gi", show(table[key]))
			continue
		}
		list[corev1.ResourceName(key)] = quantity
	}
	v.Set(reflect.ValueOf(list))
}

// enumeration reads the name of a constant, in Go's spelling or in that of its String method.
func (d *decoder) enumeration(path string, tree any, v reflect.Value) {
	text, _ := tree.(string)
	var all []string
	for value := uint64(1); value < 256; value++ {
		v.SetUint(value)
		name := fmt.Sprint(v.Interface())
		if name == "unknown" || name == strconv.FormatUint(value, 10) {
			break
		}
		if folded(name) == folded(text) {
			return
		}
		all = append(all, name)
	}
	v.SetUint(0)
	d.wrong(path, "%s is none of: %s", show(tree), strings.Join(all, ", "))
}

// foreign reads types that Kubernetes or another package of the library defines.
func (d *decoder) foreign(path string, tree any, v reflect.Value) {
	text, err := json.Marshal(tree)
	if err == nil {
		reader := json.NewDecoder(bytes.NewReader(text))
		reader.DisallowUnknownFields()
		err = reader.Decode(v.Addr().Interface())
	}
	if err != nil {
		d.wrong(path, "%s", trimmed(err))
	}
}

// fieldNames are the fields that may be set, by name.
func fieldNames(t reflect.Type) map[string]int {
	found := make(map[string]int)
	for i := range t.NumField() {
		field := t.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if !field.IsExported() || name == "-" || field.Type.Kind() == reflect.Func {
			continue
		}
		if name == "" {
			name = lowerCamel(field.Name)
		}
		found[name] = i
	}
	return found
}

// names lists the fields in the order of the declaration.
func names(t reflect.Type) string {
	if t.Kind() != reflect.Struct {
		return "nothing"
	}
	known := fieldNames(t)
	list := slices.SortedFunc(maps.Keys(known), func(a, b string) int { return known[a] - known[b] })
	return strings.Join(list, ", ")
}

func lowerCamel(name string) string {
	runes := []rune(name)
	runes[0] = unicode.ToLower(runes[0])
	return string(runes)
}

func folded(name string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsLetter(r) {
			return -1
		}
		return unicode.ToLower(r)
	}, name)
}

// isOwn reports whether the type is read field by field, because it is of package simulate or of this command.
func isOwn(t reflect.Type) bool {
	return t.PkgPath() == ownPackage || t == reflect.TypeFor[world]() || t == reflect.TypeFor[fleetFile]()
}

func isText(v reflect.Value) bool {
	_, ok := reflect.TypeAssert[encoding.TextUnmarshaler](v.Addr())
	return ok
}

func join(path, key string) string {
	if path == "" {
		return text.Printable(key)
	}
	return path + "." + text.Printable(key)
}

// show prints a value for a message, on one line.
func show(tree any) string {
	text, err := json.Marshal(tree)
	if err != nil {
		return "this"
	}
	if len(text) > 60 {
		return strings.ToValidUTF8(string(text[:57]), "") + "..."
	}
	return string(text)
}

// trimmed is the message without the name of the package that it comes from.
func trimmed(err error) string {
	text := err.Error()
	for _, prefix := range []string{"json: ", "simulate: "} {
		text = strings.TrimPrefix(text, prefix)
	}
	return text
}

// unparsed explains why a text could not be parsed, if the reason is a common one that parsers have no words for.
func unparsed(data []byte, err error) error {
	if template := objects.TemplateError(data); template != nil {
		return template
	}
	if at := notFinite.FindIndex(data); at != nil {
		found := bytes.Trim(data[at[0]:at[1]], " \t:,[-")
		line := 1 + bytes.Count(data[:at[1]-1], []byte("\n"))
		return fmt.Errorf("line %d: %s is no number that can be used here; one is 0.5 or 3%%", line, found)
	}
	err = errors.New(strings.TrimPrefix(err.Error(), "yaml: "))
	if tabbed.Match(data) && strings.HasSuffix(err.Error(), "found character that cannot start any token") {
		return fmt.Errorf("%w; a tab may be one: YAML is indented with spaces", err)
	}
	return err
}

var (
	tabbed    = regexp.MustCompile(`(?m)^ *\t`)
	notFinite = regexp.MustCompile(`[:,\[\s-]\s*[-+]?\.(nan|NaN|NAN|inf|Inf|INF)\b`)
	separator = regexp.MustCompile(`(?m)^---([ \t].*)?$`)
	content   = regexp.MustCompile(`(?m)^\s*[^\s#]`)
)

// documents is how many YAML documents are in the text that are not empty.
func documents(data []byte) int {
	n := 0
	for _, part := range separator.Split(string(data), -1) {
		n += one(content.MatchString(part))
	}
	return n
}
