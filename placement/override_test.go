package placement_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/daemonplan/daemonplan/placement"
)

// amounts returns resources with limits, given as name and quantity in turn. A name that begins with "+" is a request.
func amounts(pairs ...string) corev1.ResourceRequirements {
	var resources corev1.ResourceRequirements
	for i := 0; i+1 < len(pairs); i += 2 {
		list, name := &resources.Limits, pairs[i]
		if name[0] == '+' {
			list, name = &resources.Requests, name[1:]
		}
		if *list == nil {
			*list = corev1.ResourceList{}
		}
		(*list)[corev1.ResourceName(name)] = resource.MustParse(pairs[i+1])
	}
	return resources
}

// agent has an init container and two containers, and one claim.
func agent() *corev1.PodTemplateSpec {
	return &corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		ResourceClaims: []corev1.PodResourceClaim{{Name: "gpu"}},
		InitContainers: []corev1.Container{{Name: "init"}},
		Containers: []corev1.Container{
			{Name: "agent", Resources: amounts("cpu", "1", "memory", "1Gi")},
			{Name: "trace"},
		},
	}}
}

// at returns an override that was made at a minute, for nodes with the labels, given as key and value in turn.
func at(name string, minute int, containers map[string]corev1.ResourceRequirements, labels ...string) placement.Override {
	override := placement.Override{Name: name, Containers: containers}
	override.Created = time.Date(2026, 1, 1, 0, minute, 0, 0, time.UTC)
	for i := 0; i+1 < len(labels); i += 2 {
		override.NodeSelector.MatchLabels = withEntries(override.NodeSelector.MatchLabels, labels[i], labels[i+1])
	}
	return override
}

// annotatedNode is in zone a, with annotations for containers of the set ns/set, given as container and text in turn.
func annotatedNode(pairs ...string) *corev1.Node {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{"zone": "a"}}}
	for i := 0; i+1 < len(pairs); i += 2 {
		node.Annotations = withEntries(node.Annotations, placement.OverrideAnnotationPrefix+"ns.set."+pairs[i], pairs[i+1])
	}
	return node
}

type byContainer = map[string]corev1.ResourceRequirements

// sketch writes an Overridden down in short: container=resources from source, container:winner>loser, container!problem.
func sketch(o placement.Overridden) string {
	var parts []string
	for _, r := range o.Resources {
		parts = append(parts, fmt.Sprintf("%s=%s from %q", r.Container, asJSON(r.Resources), r.Source))
	}
	for _, c := range o.Conflicts {
		parts = append(parts, c.Container+":"+c.Winner+">"+c.Loser)
	}
	for _, m := range o.Malformed {
		parts = append(parts, m.Container+"!"+m.Problem)
	}
	return strings.ReplaceAll(strings.Join(parts, "; "), `"`, "'")
}

func TestOverridesEvaluate(t *testing.T) {
	two, three := amounts("cpu", "2"), amounts("cpu", "3")
	tests := []struct {
		name, why string
		overrides []placement.Override
		node      *corev1.Node
		want      string
	}{
		{"nothing", "P8: no digest", nil, annotatedNode(), ""},
		{"override", "P8: whole, so memory is gone", []placement.Override{at("a", 0, byContainer{"agent": two}, "zone", "a")},
			annotatedNode(), "agent={'limits':{'cpu':'2'}} from 'a'"},
		{"other nodes", "the selector picks", []placement.Override{at("a", 0, byContainer{"agent": two}, "zone", "b")}, annotatedNode(), ""},
		{"expressions", "the selector is a whole one", []placement.Override{{Name: "a", Containers: byContainer{"agent": two},
			NodeSelector: metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
				{Key: "zone", Operator: metav1.LabelSelectorOpNotIn, Values: []string{"b"}}}}}},
			annotatedNode(), "agent={'limits':{'cpu':'2'}} from 'a'"},
		{"with nothing", "P8: whole, also with nothing", []placement.Override{at("a", 0, byContainer{"agent": {}})},
			annotatedNode(), "agent={} from 'a'"},
		{"order of containers", "init containers first, then the template's order", []placement.Override{at("a", 0,
			byContainer{"trace": two, "agent": two, "init": two})}, annotatedNode(),
			"init={'limits':{'cpu':'2'}} from 'a'; agent={'limits':{'cpu':'2'}} from 'a'; trace={'limits':{'cpu':'2'}} from 'a'"},
		{"unknown container", "it has no effect", []placement.Override{at("a", 0, byContainer{"none": two})}, annotatedNode("none", "{}", "", "{}"), ""},
		{"same as template", "nothing changes, in whatever spelling", []placement.Override{at("a", 0, byContainer{
			"agent": amounts("cpu", "1000m", "+cpu", "1", "memory", "1073741824")})}, annotatedNode(), ""},
		{"nothing for nothing", "the container has none", []placement.Override{at("a", 0, byContainer{"trace": {Limits: corev1.ResourceList{}}})}, annotatedNode(), ""},
		{"lower request", "a request counts that is not its limit", []placement.Override{at("a", 0, byContainer{
			"agent": amounts("cpu", "1", "+cpu", "500m", "memory", "1Gi")})}, annotatedNode(),
			"agent={'limits':{'cpu':'1','memory':'1Gi'},'requests':{'cpu':'500m'}} from 'a'"},
		{"newest wins", "P8", []placement.Override{at("a", 1, byContainer{"agent": two}), at("b", 0, byContainer{"agent": three})},
			annotatedNode(), "agent={'limits':{'cpu':'2'}} from 'a'; agent:a>b"},
		{"last name wins", "P8, equally old", []placement.Override{at("b", 0, byContainer{"agent": two}), at("a", 0, byContainer{"agent": three})},
			annotatedNode(), "agent={'limits':{'cpu':'2'}} from 'b'; agent:b>a"},
		{"three", "the newest against any other", []placement.Override{at("a", 2, byContainer{"agent": two}),
			at("b", 0, byContainer{"agent": three}), at("c", 1, byContainer{"agent": three})},
			annotatedNode(), "agent={'limits':{'cpu':'2'}} from 'a'; agent:a>c; agent:a>b"},
		{"different containers", "P8: a conflict is about one container", []placement.Override{
			at("a", 0, byContainer{"agent": two}), at("b", 1, byContainer{"trace": three})}, annotatedNode(),
			"agent={'limits':{'cpu':'2'}} from 'a'; trace={'limits':{'cpu':'3'}} from 'b'"},
		{"different nodes", "P8: a conflict is about one node", []placement.Override{
			at("a", 0, byContainer{"agent": two}, "zone", "a"), at("b", 1, byContainer{"agent": three}, "zone", "b")}, annotatedNode(),
			"agent={'limits':{'cpu':'2'}} from 'a'"},
		{"winner changes nothing", "the older one has lost all the same", []placement.Override{
			at("a", 0, byContainer{"trace": two}), at("b", 1, byContainer{"trace": {}})}, annotatedNode(), "trace:b>a"},
		{"annotation", "P8", nil, annotatedNode("agent", `{"limits":{"cpu":2}}`), "agent={'limits':{'cpu':'2'}} from ''"},
		{"annotation beats", "P8: also the newest, and the conflict stays one", []placement.Override{
			at("a", 0, byContainer{"agent": two, "trace": two}), at("b", 1, byContainer{"agent": two})},
			annotatedNode("agent", `{"limits":{"cpu":"3"}}`),
			"agent={'limits':{'cpu':'3'}} from ''; trace={'limits':{'cpu':'2'}} from 'a'; agent:b>a"},
		{"annotation same as template", "it beats the override, and changes nothing", []placement.Override{at("a", 0, byContainer{"agent": two})},
			annotatedNode("agent", `{"limits":{"cpu":1,"memory":"1024Mi"}}`), ""},
		{"malformed annotation", "P8: what is below it counts", []placement.Override{at("a", 0, byContainer{"agent": two})},
			annotatedNode("agent", "{"), "agent={'limits':{'cpu':'2'}} from 'a'; agent!not valid JSON"},
		{"malformed without override", "P8: the template counts", nil, annotatedNode("trace", ""), "trace!not valid JSON"},
		{"claim", "the pod has it", nil, annotatedNode("agent", `{"claims":[{"name":"gpu"}]}`), "agent={'claims':[{'name':'gpu'}]} from ''"},
		{"unknown claim", "no such pod can be created", nil, annotatedNode("agent", `{"claims":[{"name":"tpu"}]}`), "agent!claims[0].name: Not found: 'tpu'"},
		{"nil node", "it is answered", []placement.Override{at("a", 0, byContainer{"agent": two})}, nil, ""},
	}
	seen := map[string]bool{}
	for _, test := range tests {
		if test.why == "" || seen[test.name] {
			t.Fatalf("row %q needs a reason and a name of its own", test.name)
		}
		seen[test.name] = true
		t.Run(test.name, func(t *testing.T) {
			overrides, err := placement.CompileOverrides("ns", "set", agent(), test.overrides)
			if err != nil {
				t.Fatal(err)
			}
			got := overrides.Evaluate(test.node)
			if sketch(got) != test.want {
				t.Errorf("%s\n%s\nwant\n%s", test.why, sketch(got), test.want)
			}
			if got.Digest != placement.Digest(got.Resources) || (got.Digest == "") != (got.Resources == nil) {
				t.Errorf("digest %q of %d resources", got.Digest, len(got.Resources))
			}
			evaluator := overrides.Evaluator()
			for range 2 {
				if again := evaluator.Evaluate(test.node); !cmp.Equal(again, got) {
					t.Errorf("the evaluator says\n%s", sketch(again))
				}
			}
			slices.Reverse(test.overrides)
			reversed, _ := placement.CompileOverrides("ns", "set", agent(), test.overrides)
			if again := reversed.Evaluate(test.node); !cmp.Equal(again, got) {
				t.Errorf("in the reverse order\n%s", sketch(again))
			}
		})
	}
}

// TestOverridesOfOtherSets: an annotation is for one set. A container's name has no dot, so that the key is read one way.
func TestOverridesOfOtherSets(t *testing.T) {
	for _, set := range [][2]string{{"ns", "other"}, {"other", "set"}, {"ns", "set.agent"}, {"", ""}, {"ns.set", "agent"}} {
		overrides, err := placement.CompileOverrides(set[0], set[1], agent(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := overrides.Evaluate(annotatedNode("agent", "{}")); sketch(got) != "" {
			t.Errorf("%q: %s", set, sketch(got))
		}
	}
}

func TestCompileOverridesError(t *testing.T) {
	two := amounts("cpu", "2")
	tests := []struct {
		name, why string
		overrides []placement.Override
		want      string   // of a node in zone a
		mistakes  []string // their fields
	}{
		{"nameless", "it cannot be reported", []placement.Override{at("", 0, byContainer{"agent": two}), at("a", 0, byContainer{"trace": two})},
			"trace={'limits':{'cpu':'2'}} from 'a'", []string{"overrides[0].name"}},
		{"two of a name", "neither counts, whichever comes first", []placement.Override{at("a", 0, byContainer{"agent": two}),
			at("a", 1, byContainer{"trace": two})}, "", []string{"overrides[1].name"}},
		{"selector", "the override is left out", []placement.Override{{Name: "a", Containers: byContainer{"agent": two},
			NodeSelector: metav1.LabelSelector{MatchLabels: map[string]string{"zone": "a b"}}}}, "",
			[]string{"overrides[0].nodeSelector.matchLabels"}},
		{"resources", "the container is left out, and the older override counts", []placement.Override{
			at("a", 0, byContainer{"agent": two}), at("b", 1, byContainer{"agent": amounts("cpu", "1", "+cpu", "2"), "trace": two})},
			"agent={'limits':{'cpu':'2'}} from 'a'; trace={'limits':{'cpu':'2'}} from 'b'", []string{"overrides[1].containers[agent].requests[cpu]"}},
		{"claim", "the template has no such claim", []placement.Override{at("a", 0, byContainer{
			"agent": {Claims: []corev1.ResourceClaim{{Name: "gpu"}, {Name: "tpu"}}}, "trace": two})},
			"trace={'limits':{'cpu':'2'}} from 'a'", []string{"overrides[0].containers[agent].claims[1].name"}},
		{"all at once", "every mistake is told", []placement.Override{{}, {}}, "", []string{"overrides[0].name", "overrides[1].name"}},
	}
	seen := map[string]bool{}
	for _, test := range tests {
		if test.why == "" || seen[test.name] {
			t.Fatalf("row %q needs a reason and a name of its own", test.name)
		}
		seen[test.name] = true
		t.Run(test.name, func(t *testing.T) {
			overrides, err := placement.CompileOverrides("ns", "set", agent(), test.overrides)
			if fields := fieldsOf(t, err); !slices.Equal(fields, test.mistakes) {
				t.Errorf("mistakes in %q, want %q", fields, test.mistakes)
			}
			if got := sketch(overrides.Evaluate(annotatedNode())); got != test.want {
				t.Errorf("%s\n%s\nwant\n%s", test.why, got, test.want)
			}
		})
	}
}

func TestCompileOverridesOfNoTemplate(t *testing.T) {
	overrides, err := placement.CompileOverrides("ns", "set", nil, []placement.Override{at("", 0, byContainer{"agent": {}})})
	if fields := fieldsOf(t, err); !slices.Equal(fields, []string{"overrides[0].name", "template"}) {
		t.Errorf("mistakes in %q", fields)
	}
	if got := overrides.Evaluate(annotatedNode("agent", "{}")); sketch(got) != "" {
		t.Errorf("%s", sketch(got))
	}
}

// fieldsOf returns the fields of all mistakes in an error.
func fieldsOf(t *testing.T, err error) []string {
	t.Helper()
	var first *field.Error
	var all interface{ Unwrap() []error }
	if !errors.As(err, &first) || !errors.As(err, &all) {
		t.Fatalf("%v holds no field error", err)
	}
	var fields []string
	for _, part := range all.Unwrap() {
		var mistake *field.Error
		if !errors.As(part, &mistake) {
			t.Fatalf("%v is no field error", part)
		}
		fields = append(fields, mistake.Field)
	}
	return fields
}

func TestOverridesOfNothing(t *testing.T) {
	var none *placement.Overrides
	var noEvaluator *placement.Evaluator
	node := annotatedNode("agent", "{}")
	for name, got := range map[string]placement.Overridden{
		"nil Overrides":             none.Evaluate(node),
		"zero Overrides":            (&placement.Overrides{}).Evaluate(node),
		"Evaluator of nil":          none.Evaluator().Evaluate(node),
		"nil Evaluator":             noEvaluator.Evaluate(node),
		"zero Evaluator":            (&placement.Evaluator{}).Evaluate(node),
		"Evaluator, and a nil node": (&placement.Overrides{}).Evaluator().Evaluate(nil),
	} {
		if sketch(got) != "" || got.Digest != "" {
			t.Errorf("%s: %s", name, sketch(got))
		}
	}
}

func TestOverridesEvaluateDoesNotAllocate(t *testing.T) {
	overrides, err := placement.CompileOverrides("ns", "set", agent(), []placement.Override{
		at("a", 0, byContainer{"agent": {}}, "zone", "a"), at("b", 0, byContainer{"agent": {}}, "zone", "b"),
		at("c", 0, byContainer{"agent": {}, "trace": amounts("cpu", "1")}, "type", "x"),
	})
	if err != nil {
		t.Fatal(err)
	}
	other := annotatedNode("agent", "{}")
	other.Annotations = map[string]string{"a": "b"}
	both := annotatedNode()
	both.Labels["type"] = "x"
	evaluator := overrides.Evaluator()
	tests := []struct {
		name, why string
		node      *corev1.Node
		evaluate  func(*corev1.Node) placement.Overridden
		resources int
	}{
		{"no override", "most nodes", &corev1.Node{}, overrides.Evaluate, 0},
		{"no override, remembered", "most nodes", &corev1.Node{}, evaluator.Evaluate, 0},
		{"one override, other annotations", "they share its result", other, overrides.Evaluate, 1},
		{"one override, remembered", "they share its result", other, evaluator.Evaluate, 1},
		{"two overrides, remembered", "like the one before it", both, evaluator.Evaluate, 2},
		{"annotation, remembered", "like the one before it", annotatedNode("trace", `{"limits":{"cpu":"1"}}`), evaluator.Evaluate, 2},
		{"malformed, remembered", "like the one before it", annotatedNode("trace", "{"), evaluator.Evaluate, 1},
	}
	for _, test := range tests {
		if test.why == "" {
			t.Fatalf("row %q needs a reason", test.name)
		}
		t.Run(test.name, func(t *testing.T) {
			if got := len(test.evaluate(test.node).Resources); got != test.resources {
				t.Fatalf("%d resources, want %d", got, test.resources)
			}
			if allocs := testing.AllocsPerRun(100, func() { test.evaluate(test.node) }); allocs != 0 {
				t.Errorf("%v allocations per node", allocs)
			}
		})
	}
}

func TestConcurrentUseOfOverrides(t *testing.T) {
	overrides, err := placement.CompileOverrides("ns", "set", agent(), []placement.Override{
		at("a", 0, byContainer{"agent": amounts("cpu", "3")}), at("b", 0, byContainer{"agent": {}, "trace": amounts("cpu", "1")}),
	})
	if err != nil {
		t.Fatal(err)
	}
	node := annotatedNode("init", `{"limits":{"cpu":"1"}}`)
	want := sketch(overrides.Evaluate(node))
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for range 100 {
				pod := placement.Pod(agent(), "n")
				overridden := overrides.Evaluate(node)
				overridden.Apply(pod)
				if got := sketch(overridden); got != want {
					t.Errorf("%s", got)
				}
			}
		})
	}
	group.Wait()
}
