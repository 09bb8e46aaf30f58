package command

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf16"

	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/rollout"
)

// Patch changes the object of a set.
type Patch struct {
	// Type of the patch: types.MergePatchType.
	Type types.PatchType
	// Data is the patch, ready for a client's Patch call: JSON in ASCII, with sorted keys.
	Data []byte
}

// The kinds that commands know.
const (
	edsAPIGroup        = "datadoghq.com"
	edsKind            = "ExtendedDaemonSet"
	edsResource        = "extendeddaemonsets." + edsAPIGroup
	kruiseAPIGroup     = "apps.kruise.io"
	daemonSetKind      = "DaemonSet"
	kruiseResource     = "daemonsets." + kruiseAPIGroup
	daemonSetsResource = "daemonsets.apps"
)

// object is JSON: nil removes what is there (RFC 7386).
type object = map[string]any

var errNoObject = errors.New("the object to patch must be one JSON object")

// Apply returns the JSON of an object after the patch, with sorted keys. [manifest.Decode] reads the set for the next plan from
// it. The argument is not written to. Data that is no JSON object is an error, and so is a patch that is none or is of another
// type.
//
// [manifest.Decode]: https://pkg.go.dev/github.com/daemonplan/daemonplan/rollout/manifest#Decode
func (p Patch) Apply(data []byte) ([]byte, error) {
	if p.Type != types.MergePatchType {
		return nil, fmt.Errorf("the patch must be of the type %s, not %q", types.MergePatchType, string(p.Type))
	}
	patch, err := parseObject(p.Data)
	if err != nil {
		return nil, fmt.Errorf("patch: %w", err)
	}
	target, err := parseObject(data)
	if err != nil {
		return nil, err
	}
	return json.Marshal(mergeInto(target, patch))
}

// Kubectl returns a line for a shell that sends the patch: kubectl patch … --type merge -p '…'. Namespace and name are the
// spec's.
func (p Patch) Kubectl(spec rollout.Spec) string {
	namespace := spec.Namespace
	if namespace == "" {
		namespace = rollout.DefaultNamespace
	}
	return fmt.Sprintf("kubectl patch %s %s -n %s --type %s -p %s",
		quoted(resourceOf(spec)), quoted(spec.Name), quoted(namespace), quoted(typeOf(p.Type)), quoted(string(p.Data)))
}

// typeOf returns how kubectl calls a type of patches.
func typeOf(t types.PatchType) string {
	if t == types.MergePatchType {
		return "merge"
	}
	return string(t)
}

// resourceOf returns how kubectl calls the kind of a set.
func resourceOf(spec rollout.Spec) string {
	group, _, found := strings.Cut(spec.APIVersion, "/")
	if !found { // the core group, or no apiVersion
		group = ""
	}
	switch {
	case group == edsAPIGroup && spec.Kind == edsKind:
		return edsResource
	case group == kruiseAPIGroup && spec.Kind == daemonSetKind:
		return kruiseResource
	case spec.APIVersion == "" && spec.Kind == "", group == "apps" && spec.Kind == daemonSetKind:
		return daemonSetsResource
	case group == "":
		return spec.Kind
	default:
		return spec.Kind + "." + group
	}
}

// quoted returns a word of a shell's line.
func quoted(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-._/", r)
	}
	if word != "" && strings.TrimFunc(word, plain) == "" && word[0] != '-' {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

func annotate(annotations object) Patch {
	return merge(object{"metadata": object{"annotations": annotations}})
}

func merge(patch object) Patch {
	data, err := json.Marshal(patch)
	if err != nil { // strings, booleans and nil only
		return Patch{Type: types.MergePatchType}
	}
	return Patch{Type: types.MergePatchType, Data: ascii(data)}
}

// ascii escapes what is not ASCII in JSON, where it can stand in strings only, so that no terminal and no shell changes it.
func ascii(data []byte) []byte {
	var out bytes.Buffer
	for _, r := range string(data) {
		switch {
		case r < 0x7f:
			out.WriteByte(byte(r))
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&out, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&out, `\u%04x`, r)
		}
	}
	return out.Bytes()
}

// parseObject reads one JSON object; numbers stay as they are written.
func parseObject(data []byte) (object, error) {
	if !json.Valid(data) { // that nothing follows the object, too
		return nil, errNoObject
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, errNoObject
	}
	parsed, ok := value.(object)
	if !ok {
		return nil, errNoObject
	}
	return parsed, nil
}

// mergeInto applies a merge patch (RFC 7386). Both are the caller's own.
func mergeInto(target, patch object) object {
	for key, value := range patch {
		below, isObject := value.(object)
		switch {
		case value == nil:
			delete(target, key)
		case isObject:
			old, _ := target[key].(object)
			if old == nil {
				old = object{}
			}
			target[key] = mergeInto(old, below)
		default:
			target[key] = value
		}
	}
	return target
}
