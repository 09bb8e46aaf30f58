package placement_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/daemonplan/daemonplan/placement"
)

func TestValidate(t *testing.T) {
	// In the rows below, terms stands for this.
	const terms = "spec.template.spec.affinity.nodeAffinity." +
		"requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
	valid := label("zone", "In", "z1")
	affine := func(terms ...corev1.NodeSelectorTerm) *corev1.PodTemplateSpec {
		return &corev1.PodTemplateSpec{Spec: corev1.PodSpec{Affinity: required(terms...)}}
	}
	selecting := func(selector map[string]string) *corev1.PodTemplateSpec {
		return &corev1.PodTemplateSpec{Spec: corev1.PodSpec{NodeSelector: selector}}
	}
	tests := []struct {
		name, why string
		template  *corev1.PodTemplateSpec
		want      []string
	}{
		{"empty template", "it asks for nothing", &corev1.PodTemplateSpec{}, nil},
		{"nil template", "P4 needs one", nil, []string{"Required value spec.template"}},
		{"valid", "every operator as it should be", affine(
			valid, label("zone", "NotIn", "a", "b"), label("zone", "Exists"), label("zone", "DoesNotExist"),
			label("cores", "Gt", "0"), label("cores", "Lt", "8"), nodeField("metadata.name", "In", "a"),
			nodeField("metadata.name", "NotIn", "a"),
		), nil},
		{"empty term", "it matches nothing, and the API server takes it", affine(corev1.NodeSelectorTerm{}), nil},
		{"no terms", "the API server refuses it", affine(), []string{"Required value terms"}},
		{"no node affinity", "pod affinity places no daemon pod", &corev1.PodTemplateSpec{
			Spec: corev1.PodSpec{Affinity: &corev1.Affinity{PodAffinity: &corev1.PodAffinity{}}},
		}, nil},
		{"only preferred", "preferences place no daemon pod", &corev1.PodTemplateSpec{
			Spec: corev1.PodSpec{Affinity: &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{}}},
		}, nil},
		{
			"operator of the second requirement", "the path has both indices",
			affine(valid, corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{
				valid.MatchExpressions[0], {Key: "zone", Operator: "in", Values: []string{"z1"}},
			}}),
			[]string{"Unsupported value terms[1].matchExpressions[1].operator"},
		},
		{"negative bound", "a minus sign begins no label value", affine(label("cores", "Gt", "-1")), []string{
			"Invalid value terms[0].matchExpressions[0].values[0][cores]",
		}},
		{
			"In without values", "a set is needed",
			affine(label("zone", "In")),
			[]string{"Invalid value terms[0].matchExpressions[0].values"},
		},
		{
			"Exists with a value", "it would be ignored",
			affine(label("zone", "Exists", "x")),
			[]string{"Invalid value terms[0].matchExpressions[0].values"},
		},
		{
			"Gt with two values", "one bound",
			affine(label("cores", "Gt", "1", "2")),
			[]string{"Invalid value terms[0].matchExpressions[0].values"},
		},
		{
			"Lt without a number", "the bound is an integer",
			affine(label("cores", "Lt", "8.5")),
			[]string{"Invalid value terms[0].matchExpressions[0].values[0]"},
		},
		{
			"all mistakes of a requirement", "key and value are both no labels",
			affine(label("not a key", "In", "ok", "not a value!")),
			[]string{
				"Invalid value terms[0].matchExpressions[0].key",
				"Invalid value terms[0].matchExpressions[0].values[1][not a key]",
			},
		},
		{
			"field with two values", "exactly one",
			affine(nodeField("metadata.name", "In", "a", "b")),
			[]string{"Invalid value terms[0].matchFields[0].values"},
		},
		{
			"field without values", "exactly one",
			affine(nodeField("metadata.name", "NotIn")),
			[]string{"Invalid value terms[0].matchFields[0].values"},
		},
		{
			"field with Exists", "In and NotIn only",
			affine(nodeField("metadata.name", "Exists")),
			[]string{"Unsupported value terms[0].matchFields[0].operator"},
		},
		{
			"unknown field", "it reads as empty, which nobody means",
			affine(nodeField("spec.x", "NotIn", "X!")),
			[]string{"Unsupported value terms[0].matchFields[0].key"},
		},
		{
			"no node name", "no node can be called that",
			affine(nodeField("metadata.name", "In", "A_b")),
			[]string{"Invalid value terms[0].matchFields[0].values[0]"},
		},
		{
			"unknown field, then no node name", "the second is not hidden by the first",
			affine(corev1.NodeSelectorTerm{MatchFields: []corev1.NodeSelectorRequirement{
				{Key: "spec.x", Operator: "In", Values: []string{"x"}},
				{Key: "metadata.name", Operator: "In", Values: []string{"A_b"}},
			}}),
			[]string{
				"Unsupported value terms[0].matchFields[0].key",
				"Invalid value terms[0].matchFields[1].values[0]",
			},
		},
		{
			"selector", "sorted by key, key before value",
			selecting(map[string]string{"zone": "not a value!", "a key": "x", "b key": "no!", "fine": ""}),
			[]string{
				"Invalid value spec.template.spec.nodeSelector[a key]",
				"Invalid value spec.template.spec.nodeSelector[b key]",
				"Invalid value spec.template.spec.nodeSelector[b key]",
				"Invalid value spec.template.spec.nodeSelector[zone]",
			},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if test.name == "" || test.why == "" {
				t.Fatal("a row needs a name and a why")
			}
			var got []string
			for _, mistake := range placement.Validate(test.template, field.NewPath("spec", "template")) {
				got = append(got, mistake.Type.String()+" "+strings.Replace(mistake.Field, terms, "terms", 1))
				if mistake.Detail == "" {
					t.Errorf("%v has no detail", mistake)
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.why, diff)
			}
		})
	}
}

// TestWarnings: of a bound that is no integer the API server says nothing; of all else it does.
func TestWarnings(t *testing.T) {
	const terms = "spec.template.spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
	affine := func(terms ...corev1.NodeSelectorTerm) *corev1.PodTemplateSpec {
		return &corev1.PodTemplateSpec{Spec: corev1.PodSpec{Affinity: required(terms...)}}
	}
	tests := []struct {
		name, why string
		template  *corev1.PodTemplateSpec
		want      []string
	}{
		{"nil", "there is nothing to warn of", nil, nil},
		{"no affinity", "there is nothing to warn of", &corev1.PodTemplateSpec{}, nil},
		{"no integer", "the term matches no node", affine(label("cores", "Lt", "8.5")), []string{"terms[0].matchExpressions[0].values[0]"}},
		{"some of several", "each is looked at", affine(label("cores", "Gt", "8"), label("cores", "Lt", "a"), label("zone", "In", "a"), label("cores", "Gt", "b")),
			[]string{"terms[1].matchExpressions[0].values[0]", "terms[3].matchExpressions[0].values[0]"}},
		{"some of one term", "each is looked at", affine(corev1.NodeSelectorTerm{MatchExpressions: slices.Concat(
			label("zone", "In", "a").MatchExpressions, label("cores", "Gt", "8").MatchExpressions, label("cores", "Lt", "a").MatchExpressions)}),
			[]string{"terms[0].matchExpressions[2].values[0]"}},
		{"integer", "it is a bound", affine(label("cores", "Gt", "8")), nil},
		{"two values", "the API server refuses them", affine(label("cores", "Gt", "a", "b")), nil},
		{"no number of another operator", "it is a value", affine(label("cores", "In", "many")), nil},
		{"a key that is none, too", "that is refused, and is no warning", affine(label("not a key", "Gt", "many")),
			[]string{"terms[0].matchExpressions[0].values[0]"}},
	}
	for _, test := range tests {
		if test.name == "" || test.why == "" {
			t.Fatal("a row needs a name and a why")
		}
		var got []string
		for _, warning := range placement.Warnings(test.template, field.NewPath("spec", "template")) {
			got = append(got, strings.Replace(warning.Field, terms, "terms", 1))
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", test.name, test.why, diff)
		}
	}
}

// TestCompileError: with a nil path the template is the root, errors.As and errors.Is work, and so does the
// matcher.
func TestCompileError(t *testing.T) {
	template := &corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		NodeSelector: map[string]string{"a key": "x"},
		Affinity:     required(label("zone", "Weird"), label("zone", "In")),
	}}
	matcher, err := placement.Compile(template)
	if matcher == nil {
		t.Fatal("no matcher beside the error")
	}
	var first *field.Error
	if !errors.As(err, &first) || first.Field != "spec.nodeSelector[a key]" {
		t.Errorf("errors.As found %v", first)
	}
	if !errors.Is(err, err) || !errors.Is(err, first) {
		t.Error("errors.Is finds neither the error itself nor its first part")
	}
	aggregate, ok := errors.AsType[utilerrors.Aggregate](err)
	if !ok || len(aggregate.Errors()) != 3 {
		t.Fatalf("%v is no aggregate of 3", err)
	}
	for _, at := range []string{
		"spec.nodeSelector[a key]",
		"nodeSelectorTerms[0].matchExpressions[0].operator",
		"nodeSelectorTerms[1].matchExpressions[0].values",
	} {
		if !strings.Contains(err.Error(), at) {
			t.Errorf("%q is not in %q", at, err)
		}
	}
}
