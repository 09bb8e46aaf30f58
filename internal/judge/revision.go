package judge

import (
	"encoding/json"
	"reflect"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/history"
)

// revision is a ControllerRevision that can be read.
type revision struct {
	hash, name       string
	number           int64
	template         *corev1.PodTemplateSpec
	promoted, failed bool
	// completed: it was rolled out everywhere (T8). givenUp: it failed because too many nodes did, and retried is the last retry
	// that was obeyed (F3).
	completed, givenUp bool
	retried            string
	created            time.Time
}

// reader reads revisions, each data once.
type reader struct {
	templates map[string]*corev1.PodTemplateSpec
	// same says of data whether its template is that of wanted.
	wanted *corev1.PodTemplateSpec
	same   map[string]bool
}

// read returns the revisions by hash, and the hash of the highest one that has the template of the spec (R2, R3).
func (r *reader) read(spec *rollout.Spec, list []*appsv1.ControllerRevision) (map[string]*revision, string) {
	if r.wanted == nil || !equality.Semantic.DeepEqual(r.wanted, &spec.Template) {
		r.wanted, r.same = spec.Template.DeepCopy(), map[string]bool{}
	}
	all, update := make(map[string]*revision, len(list)), ""
	for _, object := range list {
		raw := string(object.Data.Raw)
		template := r.template(object.Data.Raw)
		if template == nil {
			continue
		}
		hash := object.Labels[hashLabel]
		_, promoted := object.Annotations[history.PromotedAnnotation]
		_, failed := object.Annotations[history.FailedAnnotation]
		_, completed := object.Annotations[history.CompletedAnnotation]
		all[hash] = &revision{
			hash: hash, name: object.Name, number: object.Revision, template: template, promoted: promoted, failed: failed,
			completed: completed, givenUp: object.Annotations[history.FailedAnnotation] == "TooManyFailures",
			retried: object.Annotations[history.RetriedAnnotation], created: object.CreationTimestamp.Time,
		}
		same, known := r.same[raw]
		if !known {
			same = equality.Semantic.DeepEqual(template, r.wanted)
			r.same[raw] = same
		}
		if same && (update == "" || all[update].number < object.Revision) {
			update = hash
		}
	}
	return all, update
}

// template of the data; nil: it cannot be read.
func (r *reader) template(raw []byte) *corev1.PodTemplateSpec {
	template, known := r.templates[string(raw)]
	if !known {
		template = decode(raw)
		if r.templates == nil {
			r.templates = map[string]*corev1.PodTemplateSpec{}
		}
		r.templates[string(raw)] = template
	}
	return template
}

// decode reads the template of a revision; nil: it cannot be read.
func decode(raw []byte) *corev1.PodTemplateSpec {
	var data struct {
		Spec struct {
			Template *corev1.PodTemplateSpec `json:"template"`
		} `json:"spec"`
	}
	if json.Unmarshal(raw, &data) != nil {
		return nil
	}
	return data.Spec.Template
}

// sameSpec reports whether two specs, with their defaults, ask for the same.
func sameSpec(a, b *rollout.Spec) bool { return reflect.DeepEqual(a, b) }
