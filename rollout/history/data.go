package history

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"reflect"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/dump"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/rand"
)

// These errors say what is wrong with a template or with a revision's data. The errors of this package wrap them.
var (
	// ErrNoTemplate: a template was needed and nil was given.
	ErrNoTemplate = errors.New("no pod template")
	// ErrUnreadable: a revision's data cannot be understood in full as a pod template of this API version.
	ErrUnreadable = errors.New("unreadable revision data")
)

const (
	patchKey     = "$patch"
	patchReplace = "replace"
)

// envelope is what a revision's data decodes to (R1), after the $patch directive was removed.
type envelope struct {
	Spec struct {
		Template corev1.PodTemplateSpec `json:"template"`
	} `json:"spec"`
}

// document is a revision's data, understood.
type document struct {
	template *corev1.PodTemplateSpec
	unknown  []finding // the fields that this API version does not have and that are not empty
}

// Data returns what a revision of the template stores (R1): the JSON of
// {"spec":{"template":{…,"$patch":"replace"}}} with sorted keys and HTML characters escaped, byte for byte what
// kube-controller-manager v1.37 stores. A nil template is ErrNoTemplate; a template that JSON cannot express
// (invalid raw managed fields) is an error too.
func Data(template *corev1.PodTemplateSpec) ([]byte, error) {
	if template == nil {
		return nil, ErrNoTemplate
	}
	typed, err := json.Marshal(template)
	if err != nil {
		return nil, fmt.Errorf("encoding the pod template: %w", err)
	}
	// The detour through a map sorts the keys. This decoder keeps integers exact; encoding/json would round them.
	var fields map[string]any
	if err := utiljson.Unmarshal(typed, &fields); err != nil {
		return nil, fmt.Errorf("encoding the pod template: %w", err)
	}
	fields[patchKey] = patchReplace
	return json.Marshal(map[string]any{"spec": map[string]any{"template": fields}})
}

// Hash returns the hash of a template (R1), the value of the label controller-revision-hash. A nil collision count
// gives another hash than a count of 0. The hash depends on the version of k8s.io/api that this library is built with,
// because it is made from a dump that shows fields that are nil. So never compute the hash of a revision that exists: use
// [HashOf]. A nil template has the hash "".
func Hash(template *corev1.PodTemplateSpec, collisionCount *int32) string {
	if template == nil {
		return ""
	}
	return encodeHash(templateSum(template), collisionCount)
}

// SameData reports whether two revisions' data are the same revision (R2): byte-equal or, decoded, semantically
// equal, so that an empty field that another API version adds, or a quantity spelled otherwise, is no difference.
// Data that does not decode, and data in which a field appears twice, equals only the same bytes. Non-empty fields that
// this API version does not know must be equal, too.
func SameData(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	verdict := scan(a, b, nil)
	if verdict == different {
		return false
	}
	first, err := decode(a)
	if err != nil {
		return false
	}
	// The scan only compares texts. Whether the first one can be read was left to find out, which the decoding above did.
	return verdict == same || sameAs(first, b)
}

// Template decodes the template of a revision. The error wraps ErrUnreadable and names the revision and what is
// wrong: no JSON, no template, a field that appears twice, a value of a wrong type, or a non-empty field that this API
// version does not know. Decoding would drop such a field, and pods made from the result would not be of that revision. A
// nil revision is an ErrUnreadable.
func Template(revision *appsv1.ControllerRevision) (*corev1.PodTemplateSpec, error) {
	if revision == nil {
		return nil, fmt.Errorf("%w: nil revision", ErrUnreadable)
	}
	doc, err := decode(revision.Data.Raw)
	if err != nil {
		return nil, fmt.Errorf("revision %q: %w", revision.Name, err)
	}
	if len(doc.unknown) > 0 {
		paths := make([]string, len(doc.unknown))
		for i, found := range doc.unknown {
			paths[i] = found.path
		}
		return nil, fmt.Errorf("revision %q: %w: fields unknown to this API version: %s",
			revision.Name, ErrUnreadable, strings.Join(paths, ", "))
	}
	return doc.template, nil
}

// HashOf returns the hash that pods of a revision carry: its label controller-revision-hash or, without one, its
// name, which is what the Kubernetes controller labels such a revision with. A nil revision has the hash "".
func HashOf(revision *appsv1.ControllerRevision) string {
	if revision == nil {
		return ""
	}
	// An empty label counts as none: every pod without the label would match it.
	if hash := revision.Labels[appsv1.DefaultDaemonSetUniqueLabelKey]; hash != "" {
		return hash
	}
	return revision.Name
}

// templateSum is FNV-32a over the dump of the template, before a collision count is added.
func templateSum(template *corev1.PodTemplateSpec) uint32 {
	hasher := fnv.New32a()
	//nolint:govet,staticcheck // to use its replacement, k8s.io/utils would have to become a direct dependency
	text := dump.ForHash(*template)
	_, _ = io.WriteString(hasher, text) // hash.Hash documents that writing never fails
	return hasher.Sum32()
}

// encodeHash continues FNV-32a over the collision count, so that trying another count needs no new dump.
func encodeHash(sum uint32, collisionCount *int32) string {
	const prime = 16777619
	if collisionCount != nil {
		var count [8]byte
		binary.LittleEndian.PutUint32(count[:], uint32(*collisionCount))
		for _, b := range count {
			sum = (sum ^ uint32(b)) * prime
		}
	}
	return rand.SafeEncodeString(fmt.Sprint(sum))
}

// decode decodes a revision's data in full, or returns why it cannot.
func decode(data []byte) (*document, error) {
	root, template, err := parseEnvelope(data)
	if err != nil {
		return nil, err
	}
	if directive, ok := template[patchKey]; ok {
		if directive != patchReplace {
			return nil, fmt.Errorf("%w: spec.template.%s is %s: not a whole template",
				ErrUnreadable, patchKey, compact(directive))
		}
		delete(template, patchKey)
	}
	unknown, err := readable(reflect.TypeFor[envelope](), root)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	var typed envelope
	if err := convert(root, &typed); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	return &document{template: &typed.Spec.Template, unknown: unknown}, nil
}

// sameAs reports whether data decodes to the same as a document (R2). It is the slow way, for data that is not byte-equal.
func sameAs(doc *document, data []byte) bool {
	other, err := decode(data)
	return err == nil &&
		apiequality.Semantic.DeepEqual(doc.template, other.template) &&
		sameFindings(doc.unknown, other.unknown)
}

// parseEnvelope returns the data as a tree, and the template in it.
func parseEnvelope(data []byte) (root, template map[string]any, err error) {
	tree, err := parse(data)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	root, _ = tree.(map[string]any)
	spec, _ := root["spec"].(map[string]any)
	template, ok := spec["template"].(map[string]any)
	if !ok {
		return nil, nil, fmt.Errorf("%w: no spec.template", ErrUnreadable)
	}
	return root, template, nil
}
