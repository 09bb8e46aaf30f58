package selectors_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/daemonplan/daemonplan/internal/selectors"
)

// Every mistake is told that apimachinery tells, in an order that does not change.
func TestValidate(t *testing.T) {
	expression := metav1.LabelSelectorRequirement{Key: "zone", Operator: "Near", Values: []string{"a"}}
	table := []struct {
		name, why string
		selector  *metav1.LabelSelector
		want      []string
	}{
		{"nil", "selects nothing, and is no mistake", nil, nil},
		{"empty", "selects everything", &metav1.LabelSelector{}, nil},
		{"good", "nothing to say", &metav1.LabelSelector{MatchLabels: map[string]string{"app": "agent"}}, nil},
		{
			"several labels", "ascending by key, names before values",
			&metav1.LabelSelector{MatchLabels: map[string]string{"z z": "1", "b b": "2 2", "app": "a a", "a a": "0", "m m": "x", "ok": "ok"}},
			[]string{`at.matchLabels: "a a"`, `at.matchLabels: "a a"`, `at.matchLabels: "b b"`, `at.matchLabels: "2 2"`, `at.matchLabels: "m m"`, `at.matchLabels: "z z"`},
		},
		{
			"labels and expressions", "labels first",
			&metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{expression}, MatchLabels: map[string]string{"a a": ""}},
			[]string{`at.matchLabels: "a a"`, `at.matchExpressions[0].operator: "Near"`},
		},
	}
	for _, row := range table {
		t.Run(row.name, func(t *testing.T) {
			theirs := validation.ValidateLabelSelector(row.selector, validation.LabelSelectorValidationOptions{}, field.NewPath("at"))
			if len(theirs) != len(row.want) {
				t.Fatalf("apimachinery finds %d mistakes, want %d: %v", len(theirs), len(row.want), theirs)
			}
			for range 20 {
				got := selectors.Validate(row.selector, field.NewPath("at"))
				if len(got) != len(row.want) {
					t.Fatalf("%v, want %v: %s", got, row.want, row.why)
				}
				for i, mistake := range got {
					if text := strings.Replace(mistake.Error(), "Invalid value: ", "", 1); !strings.HasPrefix(text, row.want[i]) {
						t.Fatalf("mistake %d is %v, want %s: %s", i, mistake, row.want[i], row.why)
					}
				}
			}
		})
	}
}

func TestCompile(t *testing.T) {
	table := []struct {
		name, why string
		selector  *metav1.LabelSelector
		matches   bool   // {"app": "agent"}
		mistake   string // in the error
	}{
		{"nil", "selects nothing", nil, false, ""},
		{"empty", "selects everything", &metav1.LabelSelector{}, true, ""},
		{"label", "as asked for", &metav1.LabelSelector{MatchLabels: map[string]string{"app": "agent"}}, true, ""},
		{"another", "as asked for", &metav1.LabelSelector{MatchLabels: map[string]string{"app": "proxy"}}, false, ""},
		{
			"several mistakes", "the first by key",
			&metav1.LabelSelector{MatchLabels: map[string]string{"f f": "", "e e": "", "b b": "", "d d": "", "c c": "", "a": ""}}, false, `"b b"`,
		},
		{
			"an expression", "no label is wrong",
			&metav1.LabelSelector{
				MatchLabels:      map[string]string{"app": "agent"},
				MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "zone", Operator: "Near"}},
			}, false, `"Near" is not a valid label selector operator`,
		},
	}
	for _, row := range table {
		t.Run(row.name, func(t *testing.T) {
			for range 20 {
				got, err := selectors.Compile(row.selector)
				if row.mistake != "" {
					if err == nil || !strings.Contains(err.Error(), row.mistake) {
						t.Fatalf("%v, want an error with %s: %s", err, row.mistake, row.why)
					}
					continue
				}
				if err != nil || got.Matches(labels.Set{"app": "agent"}) != row.matches {
					t.Fatalf("%v, %v, want one that matches: %v: %s", got, err, row.matches, row.why)
				}
			}
		})
	}
}
