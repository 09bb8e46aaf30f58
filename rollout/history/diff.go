package history

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
)

// Changes returns what differs between two templates, sorted by path, nil if nothing does. Fields that revisions do not
// store (nil and empty ones that are omitted) do not show. Some change restarts if and only if the two are not the
// same revision (R2). A nil template is none at all: the other one is then Added or Removed as a whole. If a
// template cannot be expressed as JSON there is one change of the path ".", without values.
func Changes(old, new *corev1.PodTemplateSpec) []Change {
	before, errBefore := templateTree(old)
	after, errAfter := templateTree(new)
	if errBefore != nil || errAfter != nil {
		if apiequality.Semantic.DeepEqual(old, new) {
			return nil
		}
		return []Change{{Path: ".", Restarts: true, Why: Invalid}}
	}
	var d differ
	d.compare("", reflect.TypeFor[*corev1.PodTemplateSpec](), before, after)
	return d.sorted()
}

// DiffData returns what differs between the data of two revisions, as Changes does. Unlike decoded templates the data
// shows fields that this API version does not know. Values that are not of their field's type count as different
// unless they are equal. Errors: ErrUnreadable if either is not JSON, has a field twice, or has no template.
func DiffData(old, new []byte) ([]Change, error) {
	rootOld, templateOld, err := parseEnvelope(old)
	if err != nil {
		return nil, fmt.Errorf("old: %w", err)
	}
	rootNew, templateNew, err := parseEnvelope(new)
	if err != nil {
		return nil, fmt.Errorf("new: %w", err)
	}
	var d differ
	// A missing directive means what decode takes it to mean.
	patchOld, patchNew := takeDirective(templateOld), takeDirective(templateNew)
	d.compare(`$.spec.template["$patch"]`, reflect.TypeFor[string](), patchOld, patchNew)
	d.compare("", reflect.TypeFor[*corev1.PodTemplateSpec](), node{templateOld, true}, node{templateNew, true})

	// Beside the template, data may have fields that no controller of daemon pods writes.
	specOld, _ := rootOld["spec"].(map[string]any)
	specNew, _ := rootNew["spec"].(map[string]any)
	for _, key := range unionKeys(rootOld, rootNew) {
		if key != "spec" {
			d.compare(memberPath("$", nil, key), nil, memberOf(rootOld, key), memberOf(rootNew, key))
		}
	}
	for _, key := range unionKeys(specOld, specNew) {
		if key != "template" {
			d.compare(memberPath("$.spec", nil, key), nil, memberOf(specOld, key), memberOf(specNew, key))
		}
	}
	return d.sorted(), nil
}

// node is a value in a tree, or its absence.
type node struct {
	value   any
	present bool
}

// differ collects the changes between two trees.
type differ struct {
	changes []Change
}

// compare walks two trees, along with the type that they decode to, and records the values that differ. The type is nil where it
// is not known.
func (d *differ) compare(path string, typ reflect.Type, old, new node) {
	if old.present == new.present && reflect.DeepEqual(old.value, new.value) {
		return
	}
	inner := pointee(typ)
	if inner == nil || !isLeaf(inner) {
		objectOld, isOld := old.value.(map[string]any)
		objectNew, isNew := new.value.(map[string]any)
		if isOld && isNew && (inner == nil || inner.Kind() == reflect.Struct || inner.Kind() == reflect.Map) {
			d.compareObjects(path, inner, objectOld, objectNew)
			return
		}
		listOld, isOld := old.value.([]any)
		listNew, isNew := new.value.([]any)
		if isOld && isNew && (inner == nil || inner.Kind() == reflect.Slice) {
			d.compareLists(path, inner, listOld, listNew)
			return
		}
	}
	d.add(path, old, new, meaning(typ, old, new))
}

func (d *differ) compareObjects(path string, typ reflect.Type, old, new map[string]any) {
	for _, key := range unionKeys(old, new) {
		memberType, _ := memberType(typ, key)
		before, after := memberOf(old, key), memberOf(new, key)
		at := memberPath(path, typ, key)
		if typ != nil && typ.Kind() == reflect.Map && before.present != after.present {
			// In a map an entry with an empty value counts as an entry.
			d.add(at, before, after, Different)
			continue
		}
		d.compare(at, memberType, before, after)
	}
}

// compareLists pairs elements by what identifies them. If nothing does, it skips what both lists begin and end with in common,
// and pairs the rest by place.
func (d *differ) compareLists(path string, typ reflect.Type, old, new []any) {
	var element reflect.Type
	why := Unknown
	if typ != nil {
		element, why = typ.Elem(), Different
	}
	idsOld, idsNew := identify(old, new)
	if idsOld == nil {
		d.compareByIndex(path, element, why, old, new)
		return
	}
	var commonOld, commonNew []string
	for i, id := range idsOld {
		at := elementPath(path, quoted(id))
		j := slices.Index(idsNew, id)
		if j < 0 {
			d.add(at, node{old[i], true}, node{}, why)
			continue
		}
		commonOld = append(commonOld, id)
		d.compare(at, element, node{old[i], true}, node{new[j], true})
	}
	for j, id := range idsNew {
		if slices.Contains(idsOld, id) {
			commonNew = append(commonNew, id)
		} else {
			d.add(elementPath(path, quoted(id)), node{}, node{new[j], true}, why)
		}
	}
	if !slices.Equal(commonOld, commonNew) {
		d.changes = append(d.changes, Change{
			Path: path, Op: Moved, Old: compact(commonOld), New: compact(commonNew), Restarts: true, Why: Order,
		})
	}
}

func (d *differ) compareByIndex(path string, element reflect.Type, why Why, old, new []any) {
	start := 0
	for start < len(old) && start < len(new) && reflect.DeepEqual(old[start], new[start]) {
		start++
	}
	endOld, endNew := len(old), len(new)
	for endOld > start && endNew > start && reflect.DeepEqual(old[endOld-1], new[endNew-1]) {
		endOld, endNew = endOld-1, endNew-1
	}
	for i := start; i < max(endOld, endNew); i++ {
		at := elementPath(path, strconv.Itoa(i))
		switch {
		case i >= endOld:
			d.add(at, node{}, node{new[i], true}, why)
		case i >= endNew:
			d.add(at, node{old[i], true}, node{}, why)
		default:
			d.compare(at, element, node{old[i], true}, node{new[i], true})
		}
	}
}

func (d *differ) add(path string, old, new node, why Why) {
	change := Change{Path: cmp.Or(path, "."), Restarts: why != Equivalent, Why: why}
	switch {
	case !old.present:
		change.Op = Added
	case !new.present:
		change.Op = Removed
	}
	if old.present {
		change.Old = compact(old.value)
	}
	if new.present {
		change.New = compact(new.value)
	}
	d.changes = append(d.changes, change)
}

func (d *differ) sorted() []Change {
	slices.SortFunc(d.changes, func(a, b Change) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Op, b.Op),
			cmp.Compare(a.Old, b.Old), cmp.Compare(a.New, b.New))
	})
	return d.changes
}

// meaning returns what the difference of two values in spelling means, by what they decode to.
func meaning(typ reflect.Type, old, new node) Why {
	if typ == nil {
		if reflect.DeepEqual(normal(old.value), normal(new.value)) {
			return Equivalent
		}
		return Unknown
	}
	before, unknownBefore, errBefore := decodeNode(typ, old)
	after, unknownAfter, errAfter := decodeNode(typ, new)
	switch {
	case errBefore != nil || errAfter != nil:
		return Invalid
	case !apiequality.Semantic.DeepEqual(before, after):
		return Different
	case !sameFindings(unknownBefore, unknownAfter):
		return Unknown
	}
	return Equivalent
}

// decodeNode decodes one value as its field would be; an absent one is the zero value.
func decodeNode(typ reflect.Type, n node) (value any, unknown []finding, err error) {
	target := reflect.New(typ)
	if !n.present {
		return target.Elem().Interface(), nil, nil
	}
	if unknown, err = readable(typ, n.value); err != nil {
		return nil, nil, err
	}
	err = convert(n.value, target.Interface())
	return target.Elem().Interface(), unknown, err
}

// identify returns what identifies each element of two lists, nil if nothing does without ambiguity.
func identify(old, new []any) (idsOld, idsNew []string) {
	// In this order: a mount has a path and a name, and the name may occur twice.
	for _, first := range []string{
		"containerPort", "mountPath", "devicePath", "topologyKey", "ip", "name", "key", "path",
	} {
		for _, second := range []string{"", "protocol", "whenUnsatisfiable", "effect", "operator"} {
			idsOld, idsNew = idsBy(old, first, second), idsBy(new, first, second)
			if idsOld != nil && idsNew != nil {
				return idsOld, idsNew
			}
		}
	}
	return nil, nil
}

// idsBy identifies elements by one or two of their members, nil if some have none or two have the same.
func idsBy(list []any, first, second string) []string {
	ids := make([]string, len(list))
	seen := make(map[string]bool, len(list))
	for i, element := range list {
		object, _ := element.(map[string]any)
		id, ok := idOf(object[first])
		if ok && second != "" {
			var more string
			more, ok = idOf(object[second])
			id += "/" + more
		}
		if !ok || seen[id] {
			return nil
		}
		ids[i], seen[id] = id, true
	}
	return ids
}

func idOf(value any) (string, bool) {
	switch value := value.(type) {
	case string:
		return value, value != ""
	case json.Number:
		number, err := value.Int64()
		return strconv.FormatInt(number, 10), err == nil
	}
	return "", false
}

func templateTree(template *corev1.PodTemplateSpec) (node, error) {
	if template == nil {
		return node{}, nil
	}
	text, err := json.Marshal(template)
	if err != nil {
		return node{}, err
	}
	tree, err := parse(text)
	return node{tree, true}, err
}

func takeDirective(template map[string]any) node {
	directive := memberOf(template, patchKey)
	delete(template, patchKey)
	if !directive.present {
		return node{patchReplace, true}
	}
	return directive
}

func memberOf(object map[string]any, key string) node {
	value, ok := object[key]
	return node{value, ok}
}

func unionKeys(a, b map[string]any) []string {
	all := make([]string, 0, len(a)+len(b))
	all = slices.AppendSeq(slices.AppendSeq(all, maps.Keys(a)), maps.Keys(b))
	slices.Sort(all)
	return slices.Compact(all)
}
